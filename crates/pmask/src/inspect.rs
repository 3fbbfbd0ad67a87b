//! What a debugger sees of the hart.
//!
//! It is one group. Its lanes are those of RSV while that is enabled, else one. Registers are those
//! of the hart: a lane has no file of its own, but windows into it.

use std::fmt::Write as _;

use simt::LaneMask;
use simt::inspect::{
    Digest, Effects, FramePlace, GroupView, Inspect, InspectError, MechanismRow, PathView,
    Register, RegisterKind, RegisterOwner, Upcoming,
};
use simt::machine::Step;
use simt::memory::MemoryMap;
use simt::observe::{GroupId, Pc};

use crate::code::Decoded;
use crate::effects;
use crate::exec::GROUP;
use crate::machine::Pmask;
use crate::program::Program;
use crate::state::{State, ones};
use crate::trap::StopCause;

/// Index of the first floating-point register.
pub(crate) const FLOATS: u32 = 32;
/// Index of the program counter.
const PC: u32 = 64;
/// Index of P0; the banks follow.
pub(crate) const P0: u32 = 65;
/// Index of SVSTATE.
pub(crate) const SVSTATE: u32 = 69;

/// The names that the calling convention gives.
const NAMES: [&str; 32] = [
    "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3", "a4",
    "a5", "a6", "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4",
    "t5", "t6",
];

/// Why frames of callers have no registers.
const CALLER: &str = "the hart has one register file: registers of callers are not known";

/// The lanes that there are, and those that the bank leaves on.
fn lanes(state: &State) -> (LaneMask<1>, LaneMask<1>) {
    let count = if state.rsv.enabled { state.rsv.vl.max(1) } else { 1 };
    let all = LaneMask::from_bits(ones(count));
    let on = match state.rsv.enabled {
        true => all & LaneMask::from_bits(state.lanes(state.rsv.pbank)),
        false => all,
    };
    (all, on)
}

impl Inspect for Pmask {
    fn upcoming(&self, _: &Program, state: &mut State) -> Result<Upcoming, Step<StopCause>> {
        match state.host.exit {
            Some(_) => Err(Step::Done),
            None => Ok(Upcoming { group: GROUP, pc: Pc(state.pc), lanes: lanes(state).0 }),
        }
    }

    fn groups(&self, _: &Program, state: &State) -> Vec<GroupView> {
        if state.host.exit.is_some() {
            return Vec::new();
        }
        let (all, on) = lanes(state);
        let path = PathView { pc: Pc(state.pc), lanes: all };
        vec![GroupView {
            id: GROUP,
            width: all.count(),
            launched: all,
            exited: LaneMask::EMPTY,
            waiting: LaneMask::EMPTY,
            enabled: on,
            paths: vec![path],
            next: Some(path),
        }]
    }

    fn registers(&self, _: &Program, _: Pc) -> Vec<Register> {
        let register = |index, name: &str, bits, kind| Register {
            index,
            name: name.into(),
            bits,
            kind,
            owner: RegisterOwner::Group,
        };
        let (number, mask) = (RegisterKind::Number, RegisterKind::Mask);
        let mut out = vec![register(PC, "pc", 64, number)];
        let whole = NAMES.iter().zip(0..).map(|(name, index)| register(index, name, 64, number));
        out.extend(whole);
        let floats = (0..32).map(|i| register(FLOATS + i, &format!("f{i}"), 64, number));
        out.extend(floats);
        out.push(register(P0, "p0", 1, number));
        out.extend((1..4).map(|bank| register(P0 + bank, &format!("bank{bank}"), 64, mask)));
        out.push(register(SVSTATE, "svstate", 64, number));
        out
    }

    fn register(
        &self,
        _: &Program,
        state: &State,
        at: FramePlace,
        index: u32,
    ) -> Result<u128, InspectError> {
        if at.frame > 0 {
            return Err(InspectError::Access(CALLER.to_owned()));
        }
        let masks = &state.masks;
        Ok(match index {
            0..FLOATS => state.x[index as usize],
            FLOATS..PC => state.f[(index - FLOATS) as usize],
            PC => state.pc,
            P0 => masks.p0.into(),
            66..SVSTATE => masks.banks[(index - P0 - 1) as usize],
            SVSTATE => state.rsv.svstate(),
            _ => return Err(InspectError::NoRegister),
        }
        .into())
    }

    fn set_register(
        &self,
        _: &Program,
        state: &mut State,
        at: FramePlace,
        index: u32,
        value: u128,
    ) -> Result<(), InspectError> {
        if at.frame > 0 {
            return Err(InspectError::Access(CALLER.to_owned()));
        }
        let value = value as u64;
        match index {
            0 => return Err(InspectError::Access("`zero` is always 0".to_owned())),
            1..FLOATS => state.x[index as usize] = value,
            FLOATS..PC => state.f[(index - FLOATS) as usize] = value,
            PC => state.pc = value & !1,
            P0 => state.masks.p0 = value & 1 != 0,
            66..SVSTATE => {
                let bank = (index - P0) as u8;
                let there = self.config.pmask && bank < self.config.banks;
                let bits = if there { value & ones(self.config.maskw) } else { 0 };
                state.masks.banks[usize::from(bank) - 1] = bits;
            }
            SVSTATE => {
                let config = state.config;
                state.rsv.set_svstate(value, &config);
            }
            _ => return Err(InspectError::NoRegister),
        }
        Ok(())
    }

    /// Sets the bank that predicates lanes.
    fn set_mask(&self, state: &mut State, _: GroupId, on: LaneMask<1>) -> Result<(), InspectError> {
        if !state.rsv.enabled || state.rsv.pbank == 0 {
            return Err(InspectError::NoMask);
        }
        state.set_bank(state.rsv.pbank, on.bits());
        Ok(())
    }

    fn frames(&self, _: &Program, state: &State, at: FramePlace) -> Vec<Pc> {
        let there = state.host.exit.is_none() && lanes(state).0.contains(at.lane as usize);
        if there { state.calls.frames(state.pc) } else { Vec::new() }
    }

    fn mechanism(&self, state: &State, _: GroupId) -> Vec<MechanismRow> {
        let row = |what: String, bits| MechanismRow {
            what,
            pc: None,
            rejoin: None,
            lanes: LaneMask::from_bits(bits),
        };
        let banks = state.masks.banks.iter().zip(1..);
        let mut out = vec![row("p0".to_owned(), state.masks.p0.into())];
        out.extend(banks.map(|(&bits, bank)| row(format!("bank{bank}"), bits)));
        out
    }

    fn effects(&self, _: &Program, state: &State, (pc, lane): (Pc, u32)) -> Option<Effects> {
        Some(effects::of(state, pc.0, lane))
    }

    fn memory<'s>(&self, state: &'s State) -> &'s MemoryMap {
        &state.memory
    }

    fn memory_mut<'s>(&self, state: &'s mut State) -> &'s mut MemoryMap {
        &mut state.memory
    }

    fn memory_changed(&self, state: &mut State) {
        state.decoded = Decoded::default();
    }

    fn output<'s>(&self, state: &'s State) -> &'s [u8] {
        &state.host.console.output
    }

    fn digest(&self, state: &State) -> u64 {
        let mut digest = Digest::default();
        digest.words(state.x);
        digest.words(state.f);
        digest.words([state.pc, state.retired, state.cycles]);
        let mut rest = String::new();
        let State { mode, csr, masks, rsv, host, reservation, stuck, .. } = state;
        // Writing to a string cannot fail.
        let _ = write!(rest, "{mode:?}{csr:?}{masks:?}{rsv:?}{host:?}{reservation:?}{stuck:?}");
        digest.words(rest.bytes().map(u64::from));
        digest.memory(&state.memory);
        digest.finish()
    }

    fn bytes(&self, state: &State) -> usize {
        size_of::<State>() + (1 << 16) + state.calls.bytes() + state.host.console.output.len()
    }
}
