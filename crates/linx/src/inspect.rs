//! What a debugger sees of the machine.
//!
//! Outside kernels there is one group of one lane. Registers of lanes are the entries of the lane
//! queues; all others belong to the group.

use std::fmt::Write as _;

use simt::inspect::{
    Digest, Effects, FramePlace, GroupView, Inspect, InspectError, MechanismRow, PathView,
    Register, RegisterKind, RegisterOwner, Upcoming,
};
use simt::machine::{Machine as _, Step};
use simt::mask::WarpMask;
use simt::memory::MemoryMap;
use simt::observe::{GroupId, Pc};

use crate::effects;
use crate::machine::Linx;
use crate::names::REGISTERS;
use crate::program::{Fetched, Program};
use crate::state::{Group, Phase, State};
use crate::trap::Trap;

/// General registers.
const GENERAL: u32 = 24;
/// Index of the queue `t`.
pub(crate) const T: u32 = 24;
/// Index of the queue `u`.
pub(crate) const U: u32 = 28;
/// Index of the EXEC mask.
pub(crate) const P: u32 = 32;
/// Index of the first lane queue; each has four entries.
pub(crate) const LANES: u32 = 64;

const HANDS: [&str; 4] = ["vt", "vu", "vm", "vn"];

fn group(state: &State) -> Option<&Group> {
    match &state.phase {
        Phase::Body(body) => body.group.as_deref(),
        _ => None,
    }
}

/// Where the machine stands, as a group: that of a kernel, else one of one lane.
fn standing(state: &State) -> Option<(GroupId, Pc, WarpMask, WarpMask)> {
    let one = WarpMask::first(1);
    let alone = |pc| Some((GroupId::default(), Pc(pc), one, one));
    match &state.phase {
        Phase::Done(_) => None,
        Phase::Between { pc, .. } => alone(*pc),
        Phase::Block(block) => alone(block.pc),
        Phase::Header(header) => alone(header.pc),
        Phase::Body(body) => match &body.group {
            Some(group) => Some((group.id, Pc(group.pc), group.valid, group.p)),
            None => alone(body.entry),
        },
    }
}

impl Inspect for Linx {
    fn upcoming(&self, program: &Program, state: &mut State) -> Result<Upcoming, Step<Trap>> {
        // A trap is one of the step.
        let _ = state.approach(program);
        match standing(state) {
            Some((group, pc, lanes, _)) => Ok(Upcoming { group, pc, lanes }),
            // A program that has ended makes no step.
            None => Err(self.run_unobserved(program, state, 1)),
        }
    }

    fn groups(&self, _: &Program, state: &State) -> Vec<GroupView> {
        let view = |(id, pc, lanes, enabled): (GroupId, Pc, WarpMask, WarpMask)| {
            let path = PathView { pc, lanes };
            GroupView {
                id,
                width: lanes.highest().map_or(1, |lane| lane as u32 + 1),
                launched: lanes,
                exited: WarpMask::EMPTY,
                waiting: WarpMask::EMPTY,
                enabled,
                paths: vec![path],
                next: Some(path),
            }
        };
        standing(state).map(view).into_iter().collect()
    }

    fn registers(&self, _: &Program, _: Pc) -> Vec<Register> {
        // General registers outlive groups, which have queues of their own.
        let of_group = |index: u32, name: String, kind| Register {
            index,
            name: name.into(),
            bits: 64,
            kind,
            owner: if index < GENERAL { RegisterOwner::Machine } else { RegisterOwner::Group },
        };
        let number = RegisterKind::Number;
        let general = REGISTERS.iter().zip(0..P);
        let general = general.map(|(name, index)| of_group(index, (*name).to_owned(), number));
        let mask = of_group(P, "p".to_owned(), RegisterKind::Mask);
        let lanes = (0..16).map(|i| Register {
            index: LANES + i,
            name: format!("{}#{}", HANDS[i as usize / 4], i % 4 + 1).into(),
            bits: 64,
            kind: number,
            owner: RegisterOwner::Lane,
        });
        general.chain([mask]).chain(lanes).collect()
    }

    fn register(
        &self,
        _: &Program,
        state: &State,
        at: FramePlace,
        index: u32,
    ) -> Result<u128, InspectError> {
        let standing = standing(state).ok_or(InspectError::NotResident)?;
        if at.frame > 0 || !standing.2.contains(at.lane as usize) {
            return Err(InspectError::NotResident);
        }
        if index >= GENERAL && (at.group.cta, at.group.group) != (standing.0.cta, standing.0.group)
        {
            return Err(InspectError::NotResident);
        }
        let inside = group(state);
        let queue =
            |index: usize, scalar: [u64; 4], own: Option<[u64; 4]>| own.unwrap_or(scalar)[index];
        Ok(match index {
            0..GENERAL => state.gpr[index as usize],
            T..U => queue((index - T) as usize, state.t, inside.map(|g| g.t)),
            U..P => queue((index - U) as usize, state.u, inside.map(|g| g.u)),
            P => standing.3.bits(),
            LANES..80 => {
                let entry = (index - LANES) as usize;
                let group = inside.ok_or(InspectError::NoRegister)?;
                group.lanes[entry / 4][entry % 4][at.lane as usize]
            }
            _ => return Err(InspectError::NoRegister),
        }
        .into())
    }

    fn set_register(
        &self,
        program: &Program,
        state: &mut State,
        at: FramePlace,
        index: u32,
        value: u128,
    ) -> Result<(), InspectError> {
        self.register(program, state, at, index)?;
        let value = value as u64;
        let inside = match &mut state.phase {
            Phase::Body(body) => body.group.as_deref_mut(),
            _ => None,
        };
        match (index, inside) {
            (0, _) => return Err(InspectError::Access("`zero` is always 0".to_owned())),
            (1..GENERAL, _) => state.gpr[index as usize] = value,
            (T..U, None) => state.t[(index - T) as usize] = value,
            (U..P, None) => state.u[(index - U) as usize] = value,
            (T..U, Some(group)) => group.t[(index - T) as usize] = value,
            (U..P, Some(group)) => group.u[(index - U) as usize] = value,
            (P, Some(group)) => group.p = WarpMask::from_bits(value) & group.valid,
            (LANES..80, Some(group)) => {
                let entry = (index - LANES) as usize;
                group.lanes[entry / 4][entry % 4][at.lane as usize] = value;
            }
            _ => return Err(InspectError::NoRegister),
        }
        Ok(())
    }

    fn set_mask(&self, state: &mut State, _: GroupId, lanes: WarpMask) -> Result<(), InspectError> {
        let Phase::Body(body) = &mut state.phase else { return Err(InspectError::NoMask) };
        let group = body.group.as_mut().ok_or(InspectError::NoMask)?;
        group.p = lanes & group.valid;
        Ok(())
    }

    fn frames(&self, _: &Program, state: &State, at: FramePlace) -> Vec<Pc> {
        let here = standing(state);
        let here = here.filter(|(_, _, lanes, _)| lanes.contains(at.lane as usize));
        let Some((_, pc, ..)) = here else { return Vec::new() };
        // A kernel is called by no function of the program.
        if group(state).is_some() { vec![pc] } else { state.calls.frames(pc.0) }
    }

    fn mechanism(&self, state: &State, _: GroupId) -> Vec<MechanismRow> {
        let row = |what: &str, pc, lanes| MechanismRow {
            what: what.to_owned(),
            pc: Some(pc),
            rejoin: None,
            lanes,
        };
        let Some((_, pc, lanes, p)) = standing(state) else { return Vec::new() };
        vec![row("valid", pc, lanes), row("p", pc, p)]
    }

    fn effects(&self, program: &Program, state: &State, (pc, _): (Pc, u32)) -> Option<Effects> {
        match state.fetch(program, pc.0) {
            Fetched::Insn(insn) => effects::of(&insn),
            Fetched::Illegal | Fetched::Unmapped(_) => None,
        }
    }

    fn memory<'s>(&self, state: &'s State) -> &'s MemoryMap {
        &state.memory
    }

    fn memory_mut<'s>(&self, state: &'s mut State) -> &'s mut MemoryMap {
        &mut state.memory
    }

    fn output<'s>(&self, state: &'s State) -> &'s [u8] {
        &state.host.console.output
    }

    fn digest(&self, state: &State) -> u64 {
        let mut digest = Digest::default();
        digest.words(state.gpr);
        digest.words(state.t.into_iter().chain(state.u));
        digest.words([state.flags, state.frm, state.ring, state.issues]);
        let mut rest = String::new();
        let State { ssr, phase, tiles, saved, dead, host, .. } = state;
        // Writing to a string cannot fail.
        let _ = write!(rest, "{ssr:?}{phase:?}{tiles:?}{saved:?}{dead:?}{host:?}");
        digest.words(rest.bytes().map(u64::from));
        digest.memory(&state.memory);
        digest.finish()
    }

    fn bytes(&self, state: &State) -> usize {
        size_of::<State>() + (1 << 14) + state.calls.bytes()
    }
}
