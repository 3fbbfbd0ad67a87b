//! What a debugger sees of the functional model.

use simt::inspect::{
    Digest, Effects, FramePlace, GroupView, Inspect, InspectError, MechanismRow, PathView,
    Register, RegisterKind, RegisterOwner, Upcoming,
};
use simt::machine::Step;
use simt::memory::MemoryMap;
use simt::observe::{GroupId, Pc};

use crate::config::PredicateWrites;
use crate::exec::{Trap, Warp};
use crate::machine::{Prf, State};
use crate::op::Op;
use crate::program::Program;

/// Registers of a lane.
const REGISTERS: u32 = 64;

impl Inspect for Prf {
    fn upcoming(&self, _: &Program, state: &mut State) -> Result<Upcoming, Step<Trap>> {
        let warp = state.warp().ok_or(Step::Done)?;
        Ok(Upcoming { group: warp.id, pc: Pc(warp.pc.into()), lanes: warp.live })
    }

    fn groups(&self, _: &Program, state: &State) -> Vec<GroupView> {
        let view = |warp: &Warp| {
            let path = PathView { pc: Pc(warp.pc.into()), lanes: warp.live };
            GroupView {
                id: warp.id,
                width: warp.launched.highest().map_or(1, |lane| lane as u32 + 1),
                launched: warp.launched,
                exited: warp.launched - warp.live,
                waiting: Default::default(),
                enabled: warp.launched,
                paths: vec![path],
                next: Some(path),
            }
        };
        state.warps.iter().map(view).collect()
    }

    fn registers(&self, _: &Program, _: Pc) -> Vec<Register> {
        let number = |index: u32| Register {
            index,
            name: format!("x{index}").into(),
            bits: 32,
            kind: RegisterKind::Number,
            owner: RegisterOwner::Lane,
        };
        let predicate = |index: u32| Register {
            index: REGISTERS + index,
            name: format!("p{index}").into(),
            bits: 1,
            kind: RegisterKind::Predicate,
            owner: RegisterOwner::Lane,
        };
        (0..REGISTERS).map(number).chain((0..32).map(predicate)).collect()
    }

    fn register(
        &self,
        _: &Program,
        state: &State,
        at: FramePlace,
        index: u32,
    ) -> Result<u128, InspectError> {
        let warp = resident(&state.warps, at)?;
        let lane = at.lane as usize;
        if let Some(predicate) = index.checked_sub(REGISTERS) {
            let lanes = warp.predicates.get(predicate as usize).ok_or(InspectError::NoRegister)?;
            return Ok(lanes.contains(lane).into());
        }
        Ok(warp.registers[index as usize][lane].into())
    }

    fn set_register(
        &self,
        _: &Program,
        state: &mut State,
        at: FramePlace,
        index: u32,
        value: u128,
    ) -> Result<(), InspectError> {
        if index == 0 {
            return Err(InspectError::Access("`x0` is always 0".to_owned()));
        }
        let own = index_of(&state.warps, at).ok_or(InspectError::NotResident)?;
        let warp = &mut state.warps[own];
        let lane = at.lane as usize;
        if let Some(predicate) = index.checked_sub(REGISTERS) {
            let lanes = warp.predicates.get_mut(predicate as usize);
            lanes.ok_or(InspectError::NoRegister)?.set(lane, value & 1 != 0);
        } else {
            warp.registers[index as usize][lane] = value as u32;
        }
        Ok(())
    }

    fn frames(&self, _: &Program, state: &State, at: FramePlace) -> Vec<Pc> {
        let warp = resident(&state.warps, at).ok();
        let alive = warp.filter(|warp| warp.live.contains(at.lane as usize));
        alive.map(|warp| warp.calls.frames(warp.pc.into())).unwrap_or_default()
    }

    /// The predicate registers that hold lanes.
    fn mechanism(&self, state: &State, id: GroupId) -> Vec<MechanismRow> {
        let own = |warp: &&Warp| (warp.id.cta, warp.id.group) == (id.cta, id.group);
        let Some(warp) = state.warps.iter().find(own) else { return Vec::new() };
        let rows = warp.predicates.iter().enumerate().filter(|(_, lanes)| lanes.any());
        rows.map(|(number, lanes)| MechanismRow {
            what: format!("p{number}"),
            pc: None,
            rejoin: None,
            lanes: *lanes,
        })
        .collect()
    }

    fn effects(&self, program: &Program, _: &State, (pc, _): (Pc, u32)) -> Option<Effects> {
        let insn = program.fetch(u32::try_from(pc.0).ok()?).ok()?;
        let predicate = |number: u8| REGISTERS + u32::from(number);
        let guard = insn.reads_predicate().then_some(predicate(insn.pred));
        let reads = insn.sources().map(u32::from).chain(guard).collect();
        let register = insn.writes_register().then_some(u32::from(insn.rd));
        let compared = insn.writes_predicate().then_some(predicate(insn.pdst));
        let writes = register.into_iter().chain(compared).collect();
        // A predicate that is loaded has all lanes, and so has one that is compared with `And`.
        let whole = insn.op == Op::Prlw || self.config.writes == PredicateWrites::And;
        let unmasked = compared.is_some() && whole;
        Some(Effects { reads, writes, unmasked, ..Effects::default() })
    }

    fn memory<'s>(&self, state: &'s State) -> &'s MemoryMap {
        &state.memory
    }

    fn memory_mut<'s>(&self, state: &'s mut State) -> &'s mut MemoryMap {
        &mut state.memory
    }

    fn digest(&self, state: &State) -> u64 {
        let mut digest = Digest::default();
        digest.word(state.blocks_done().into());
        digest.word(state.turn as u64);
        for warp in &state.warps {
            digest.words([warp.id.cta, warp.id.group.into(), warp.pc.into(), warp.live.bits()]);
            for lanes in warp.registers.iter() {
                digest.words(lanes.iter().map(|&value| u64::from(value)));
            }
            digest.words(warp.predicates.iter().map(simt::LaneMask::bits));
        }
        digest.memory(&state.memory);
        digest.finish()
    }

    fn bytes(&self, state: &State) -> usize {
        size_of::<State>() + state.warps.len() * (size_of::<Warp>() + 64 * 32 * 4)
    }
}

fn index_of(warps: &[Warp], at: FramePlace) -> Option<usize> {
    let own = |warp: &Warp| {
        (warp.id.cta, warp.id.group) == (at.group.cta, at.group.group)
            && warp.launched.contains(at.lane as usize)
    };
    warps.iter().position(own).filter(|_| at.frame == 0)
}

fn resident(warps: &[Warp], at: FramePlace) -> Result<&Warp, InspectError> {
    index_of(warps, at).map(|index| &warps[index]).ok_or(InspectError::NotResident)
}
