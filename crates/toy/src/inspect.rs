//! What a debugger sees of the machine.

use simt::inspect::{
    Digest, Effects, FramePlace, GroupView, Inspect, InspectError, MechanismRow, PathView,
    Register, RegisterKind, RegisterOwner, Upcoming,
};
use simt::machine::Step;
use simt::memory::MemoryMap;
use simt::observe::{GroupId, Pc};

use crate::machine::{Group, Program, State, Toy, Trap};

/// Index of the first predicate, after the registers of lanes.
const PREDICATES: u32 = 8;
/// Index of the first uniform register.
const UNIFORM: u32 = 16;

impl Inspect for Toy {
    fn upcoming(&self, _: &Program, state: &mut State) -> Result<Upcoming, Step<Trap>> {
        let group = state.group.as_ref().ok_or(Step::Done)?;
        Ok(Upcoming { group: group.id, pc: Pc(group.pc), lanes: group.live })
    }

    fn groups(&self, _: &Program, state: &State) -> Vec<GroupView> {
        let view = |group: &Group| {
            let path = PathView { pc: Pc(group.pc), lanes: group.live };
            GroupView {
                id: group.id,
                width: state.width,
                launched: group.launched,
                exited: group.launched - group.live,
                waiting: Default::default(),
                enabled: group.launched,
                paths: vec![path],
                next: Some(path),
            }
        };
        state.group.iter().map(view).collect()
    }

    fn registers(&self, _: &Program, _: Pc) -> Vec<Register> {
        let register = |index, name: String, bits, kind, owner| Register {
            index,
            name: name.into(),
            bits,
            kind,
            owner,
        };
        let (number, predicate) = (RegisterKind::Number, RegisterKind::Predicate);
        let (lane, group) = (RegisterOwner::Lane, RegisterOwner::Group);
        let lanes = (0..8).map(|i| register(i, format!("r{i}"), 64, number, lane));
        let predicates =
            (0..4).map(|i| register(PREDICATES + i, format!("p{i}"), 1, predicate, lane));
        let uniform = (0..8).map(|i| register(UNIFORM + i, format!("s{i}"), 64, number, group));
        lanes.chain(predicates).chain(uniform).collect()
    }

    fn register(
        &self,
        _: &Program,
        state: &State,
        at: FramePlace,
        index: u32,
    ) -> Result<u128, InspectError> {
        let group = resident(state.group.as_ref(), at)?;
        let lane = at.lane as usize;
        Ok(match index {
            0..PREDICATES => group.r[index as usize * state.width as usize + lane].into(),
            PREDICATES..12 => group.p[(index - PREDICATES) as usize].contains(lane).into(),
            UNIFORM..24 => group.s[(index - UNIFORM) as usize].into(),
            _ => return Err(InspectError::NoRegister),
        })
    }

    fn set_register(
        &self,
        _: &Program,
        state: &mut State,
        at: FramePlace,
        index: u32,
        value: u128,
    ) -> Result<(), InspectError> {
        let width = state.width as usize;
        resident(state.group.as_ref(), at)?;
        let group = state.group.as_mut().ok_or(InspectError::NotResident)?;
        let lane = at.lane as usize;
        match index {
            0..=7 => group.r[index as usize * width + lane] = value as u64,
            // Predicate 0 is always true.
            9..12 => group.p[(index - PREDICATES) as usize].set(lane, value & 1 != 0),
            UNIFORM..24 => group.s[(index - UNIFORM) as usize] = value as u64,
            _ => return Err(InspectError::NoRegister),
        }
        Ok(())
    }

    fn frames(&self, _: &Program, state: &State, at: FramePlace) -> Vec<Pc> {
        let group = resident(state.group.as_ref(), at).ok();
        let alive = group.filter(|group| group.live.contains(at.lane as usize));
        alive.map(|group| Pc(group.pc)).into_iter().collect()
    }

    fn mechanism(&self, state: &State, id: GroupId) -> Vec<MechanismRow> {
        let group = state.group.iter().filter(|group| group.id.group == id.group);
        let rows = group.flat_map(|group| {
            group.p.iter().enumerate().map(|(number, lanes)| MechanismRow {
                what: format!("p{number}"),
                pc: None,
                rejoin: None,
                lanes: *lanes,
            })
        });
        rows.collect()
    }

    fn effects(&self, program: &Program, _: &State, (pc, _): (Pc, u32)) -> Option<Effects> {
        let (reads, writes) = program.at(pc.0)?.registers();
        let index = |register: crate::exec::Named| match register {
            crate::exec::Named::Lane(i) => i,
            crate::exec::Named::Predicate(i) => PREDICATES + i,
            crate::exec::Named::Uniform(i) => UNIFORM + i,
        };
        let reads = reads.into_iter().map(index).collect();
        let writes = writes.into_iter().map(index).collect();
        Some(Effects { reads, writes, ..Effects::default() })
    }

    fn memory<'s>(&self, state: &'s State) -> &'s MemoryMap {
        &state.memory
    }

    fn memory_mut<'s>(&self, state: &'s mut State) -> &'s mut MemoryMap {
        &mut state.memory
    }

    fn digest(&self, state: &State) -> u64 {
        let mut digest = Digest::default();
        if let Some(group) = &state.group {
            digest.words([group.id.group.into(), group.pc, group.live.bits()]);
            digest.words(group.r.iter().copied());
            digest.words(group.p.iter().map(simt::LaneMask::bits));
            digest.words(group.s);
        }
        digest.memory(&state.memory);
        digest.finish()
    }

    fn bytes(&self, state: &State) -> usize {
        size_of::<State>() + state.group.as_ref().map_or(0, |group| group.r.len() * 8)
    }
}

/// The running group, if the lane is one of it.
fn resident(group: Option<&Group>, at: FramePlace) -> Result<&Group, InspectError> {
    let own = |group: &&Group| {
        group.id.group == at.group.group && group.launched.contains(at.lane as usize)
    };
    group.filter(own).filter(|_| at.frame == 0).ok_or(InspectError::NotResident)
}
