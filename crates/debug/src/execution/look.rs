//! What is to be seen of the state.

use std::sync::Arc;

use simt::Pc;
use simt::inspect::{
    BarrierView, Effects, FramePlace, GroupView, Inspect, InspectError, MechanismRow, PathView,
    Register, Upcoming, VariableView,
};
use simt::memory::{Addr, Space};
use simt::observe::GroupId;

use super::Execution;
use crate::code::Code;
use crate::target::{Abilities, End, Look, Memory};

impl<M: Inspect<N>, const N: usize> Look for Execution<'_, M, N> {
    fn position(&self) -> u64 {
        self.at
    }

    fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    fn upcoming(&self) -> Option<Upcoming<16>> {
        self.upcoming
    }

    fn code(&self) -> &Code {
        &self.about.code
    }

    fn kernel(&self) -> &str {
        &self.about.kernel
    }

    fn extents(&self) -> ([u64; 3], [u64; 3]) {
        (self.about.grid, self.about.block)
    }

    fn mechanism_name(&self) -> &str {
        &self.about.mechanism
    }

    fn abilities(&self) -> Abilities {
        self.about.abilities
    }

    fn groups(&self) -> Vec<GroupView<16>> {
        let groups = self.machine.groups(self.program, &self.state).into_iter();
        let path = |p: &PathView<N>| PathView { pc: p.pc, lanes: p.lanes.resized() };
        // A policy may pick another path than the one that the mechanism prefers.
        let picked = |id: GroupId| {
            let next = self.upcoming.filter(|n| (n.group.cta, n.group.group) == (id.cta, id.group));
            next.map(|next| PathView { pc: next.pc, lanes: next.lanes })
        };
        groups
            .map(|g| GroupView {
                id: g.id,
                width: g.width,
                launched: g.launched.resized(),
                exited: g.exited.resized(),
                waiting: g.waiting.resized(),
                enabled: g.enabled.resized(),
                paths: g.paths.iter().map(path).collect(),
                next: picked(g.id).or(g.next.as_ref().map(path)),
            })
            .collect()
    }

    fn registers(&self, pc: Pc) -> Vec<Register> {
        self.machine.registers(self.program, pc)
    }

    fn register(&self, at: FramePlace, index: u32) -> Result<u128, InspectError> {
        self.machine.register(self.program, &self.state, at, index)
    }

    fn frames(&self, at: FramePlace) -> Vec<Pc> {
        self.machine.frames(self.program, &self.state, at)
    }

    fn mechanism(&self, group: GroupId) -> Vec<MechanismRow<16>> {
        let rows = self.machine.mechanism(&self.state, group).into_iter();
        rows.map(|row| MechanismRow {
            what: row.what,
            pc: row.pc,
            rejoin: row.rejoin,
            lanes: row.lanes.resized(),
        })
        .collect()
    }

    fn barriers(&self, cta: u64) -> Vec<BarrierView> {
        self.machine.barriers(&self.state, cta)
    }

    fn effects(&self, pc: Pc, lane: u32) -> Option<Effects> {
        self.machine.effects(self.program, &self.state, (pc, lane))
    }

    fn variables(&self) -> Vec<VariableView> {
        self.machine.variables(self.program, &self.state)
    }

    fn frame_variables(&self, at: FramePlace) -> Vec<VariableView> {
        self.machine.frame_variables(self.program, &self.state, at)
    }

    fn allocations(&self) -> Vec<(Arc<str>, u64, u64)> {
        let regions = self.machine.memory(&self.state).regions().iter();
        let live = regions.filter(|region| region.is_live());
        live.map(|region| (Arc::clone(region.name()), region.base().0, region.len())).collect()
    }

    fn block_bytes(&self, memory: Memory) -> Option<u64> {
        self.machine.block(&self.state, memory.space, memory.at).map(simt::memory::Block::len)
    }

    fn read(&self, memory: Memory, address: u64, out: &mut [u8]) -> Result<(), InspectError> {
        let refused = |why: String| InspectError::Access(why);
        if matches!(memory.space, Space::Shared | Space::Local | Space::Param) {
            self.space(memory)?;
            let block = self.machine.block(&self.state, memory.space, memory.at);
            let block = block.ok_or(InspectError::NoMemory(memory.space))?;
            return block.read_bytes(address, out).map_err(|_| {
                refused(format!(
                    "{} memory has {} bytes; {} at {address:#x} are not in it",
                    memory.space.name(),
                    block.len(),
                    out.len()
                ))
            });
        }
        let map = self.machine.memory(&self.state);
        map.read_bytes(Addr(address), out).map_err(|error| refused(places::explain(&error)))
    }

    fn output(&self) -> Vec<u8> {
        self.machine.output(&self.state).to_vec()
    }

    fn exit_code(&self) -> Option<i64> {
        (self.exit)(&self.state)
    }

    fn digest(&self) -> u64 {
        self.machine.digest(&self.state)
    }
}
