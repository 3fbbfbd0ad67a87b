//! A launch as what sessions drive.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use simt::Pc;
use simt::inspect::{FramePlace, Inspect, InspectError};
use simt::memory::{Addr, Space};
use simt::observe::GroupId;

use super::Execution;
use crate::companion::Search;
use crate::target::{BranchView, Judge, Lanes, Look, Memory, Stopped, Stops, Target, TargetError};

impl<M: Inspect<N>, const N: usize> Target for Execution<'_, M, N> {
    fn look(&self) -> &dyn Look {
        self
    }

    fn run(&mut self, until: u64, stops: &Stops, skip: bool, judge: Judge<'_>) -> Stopped {
        if self.end.is_some() {
            return Stopped::Ended;
        }
        if self.at >= until {
            return Stopped::Reached;
        }
        let stopped = self.observe(until, stops, skip, judge);
        self.timeline.reach(self.at);
        stopped
    }

    fn seek(&mut self, position: u64) -> Result<Stopped, TargetError> {
        if position == self.at {
            return Ok(Stopped::Reached);
        }
        let nearest = self.timeline.nearest(position);
        let mark = nearest.map_or(0, |(b, m)| self.timeline.branches[b].marks[m].at);
        if position < self.at || mark > self.at {
            self.restore(position)?;
        } else if self.end.is_some() {
            return Ok(Stopped::Ended);
        }
        if position - self.at > self.far {
            self.ahead = Some(self.leap(position, &[]));
        }
        Ok(self.replay(position))
    }

    fn run_ahead(&mut self, places: &[Pc]) -> &Result<u64, String> {
        let leapt = match self.end {
            Some(_) => Err("the launch has ended".to_owned()),
            None => self.leap(u64::MAX, places),
        };
        self.ahead.insert(leapt)
    }

    fn ran_ahead(&self) -> Option<&Result<u64, String>> {
        self.ahead.as_ref()
    }

    fn prepare(&mut self, search: &Search) -> Result<(), TargetError> {
        let branch = self.timeline.current;
        if self.searches.iter().any(|(b, s, _)| *b == branch && s == search) {
            return Ok(());
        }
        let Some(companion) = self.companion.as_deref() else {
            return Err(TargetError::Search("this machine has no such search".to_owned()));
        };
        let segments = self.segments().map_err(TargetError::Host)?;
        let searcher = companion.search(search, segments).map_err(TargetError::Search)?;
        self.searches.push((branch, search.clone(), searcher));
        Ok(())
    }

    fn retry(&mut self, mechanism: Option<&str>) -> Result<(), TargetError> {
        let Some(companion) = self.companion.as_deref() else {
            let name = &self.about.mechanism;
            let why = format!("launches of this machine run under `{name}` alone");
            return Err(TargetError::Search(why));
        };
        let name = companion.other(mechanism).map_err(TargetError::Search)?;
        let first = self.state_of((0, 0)).map_err(TargetError::Host)?;
        self.again = Some((name, first));
        Ok(())
    }

    fn again(&self) -> Option<&str> {
        self.again.as_ref().map(|(name, _)| name.as_str())
    }

    fn marks(&self) -> Vec<u64> {
        self.timeline.positions(self.at)
    }

    fn set_interrupt(&mut self, flag: Arc<AtomicBool>) {
        self.interrupt = flag;
    }

    fn set_budget(&mut self, bytes: usize) {
        self.timeline.budget = bytes;
    }

    fn recorded(&self) -> (usize, usize) {
        self.timeline.recorded()
    }

    fn set_register(
        &mut self,
        at: FramePlace,
        index: u32,
        value: u128,
        what: &str,
    ) -> Result<(), TargetError> {
        let machine = self.machine;
        machine.set_register(self.program, &mut self.state, at, index, value)?;
        self.changed(what);
        Ok(())
    }

    fn set_mask(&mut self, group: GroupId, lanes: Lanes, what: &str) -> Result<(), TargetError> {
        self.machine.set_mask(&mut self.state, group, lanes.resized())?;
        self.changed(what);
        Ok(())
    }

    fn write(
        &mut self,
        memory: Memory,
        address: u64,
        bytes: &[u8],
        what: &str,
    ) -> Result<(), TargetError> {
        if matches!(memory.space, Space::Shared | Space::Local | Space::Param) {
            let block = self.machine.block_mut(&mut self.state, memory.space, memory.at);
            let block = block.ok_or(InspectError::NoMemory(memory.space))?;
            block.write_bytes(address, bytes).map_err(|_| {
                let space = memory.space.name();
                InspectError::Access(format!("{address:#x} is not in {space} memory"))
            })?;
        } else {
            let map = self.machine.memory_mut(&mut self.state);
            let written = map.host_write(Addr(address), bytes);
            written.map_err(|error| InspectError::Access(places::explain(&error)))?;
        }
        self.machine.memory_changed(&mut self.state);
        self.changed(what);
        Ok(())
    }

    fn allocate(&mut self, name: &str, bytes: u64) -> Result<u64, TargetError> {
        let address = self.machine.memory_mut(&mut self.state).allocate(name, bytes);
        let address = address.map_err(|error| TargetError::Host(error.to_string()))?.0;
        self.changed(&format!("allocate {bytes} {name}"));
        Ok(address)
    }

    fn branches(&self) -> (Vec<BranchView>, usize) {
        let view = |(number, branch): (usize, &crate::timeline::Branch<M::State>)| BranchView {
            number,
            parent: branch.parent,
            edits: branch.edits.clone(),
            reached: branch.reached,
        };
        let all = self.timeline.branches.iter().enumerate().map(view).collect();
        (all, self.timeline.current)
    }

    fn switch(&mut self, branch: usize) -> Result<(), TargetError> {
        let start = self.timeline.branches.get(branch).ok_or(TargetError::NoBranch(branch))?;
        let start = start.start;
        self.timeline.current = branch;
        self.restore(start)?;
        self.look_ahead();
        Ok(())
    }
}
