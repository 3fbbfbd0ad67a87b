//! Asynchronous operations and barriers in shared memory in the order of accesses.
//!
//! An operation accesses memory as *agents*, threads of their own: one for what it reads and one
//! for what it writes. An agent knows what happened before the operation was issued, and what an
//! agent does happens before what follows the wait for the operation:
//!
//! - the operation completes bytes at a barrier, and a thread finds the phase completed;
//! - the issuing thread waits for the operation's group, or for its reads alone.
//!
//! The warps of a product each issue it, and nothing in that orders them: the product knows what
//! all of them know. Lanes of one warp issue together, so that a warp knows what any lane knows.
//!
//! Arrivals at a barrier in shared memory happen before the waits that find their phase completed,
//! and not before those that find an earlier one completed.
//!
//! What threads write happens before what an operation reads through the async proxy only if a
//! proxy fence is between them (PTX ISA, "Causality Order").
//!
//! Agents are numbered again after [`MOST`] operations of a block: a thread that knows a later
//! operation then seems to know the one before, and a race may be missed.

use std::collections::VecDeque;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use simt::mbarrier::Mbarrier;
use simt::observe::AsyncGroups;

use super::vector_clock::{Thread, VectorClock};

/// Set in the number of a block of agents.
const AGENTS: u64 = 1 << 63;

/// Operations of a block whose agents are told apart.
const MOST: u64 = 1024;

/// Returns whether a thread of a clock is an agent.
pub(super) fn is_agent(thread: Thread) -> bool {
    thread.cta & AGENTS != 0
}

/// An operation that has not completed.
#[derive(Clone, Debug)]
pub(super) struct Operation {
    /// The agent of its reads; that of its writes follows.
    reads: Thread,
    epoch: u32,
    pub(super) pc: u64,
    pub(super) generic: bool,
    /// What happened before, as every warp knows that takes part.
    pub(super) known: Arc<VectorClock>,
    /// Whether it belongs to a group, and so stays until that is waited for.
    grouped: bool,
}

impl Operation {
    /// The agent of its reads, or of its writes, and their epoch.
    pub(super) fn agent(&self, writes: bool) -> (Thread, u32) {
        let index = self.reads.index + u32::from(writes);
        (Thread { index, ..self.reads }, self.epoch)
    }
}

/// What stays known of an agent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Agent {
    /// The first thread that issued its operation.
    pub(super) issuer: Thread,
    /// When it did, in events of the launch.
    pub(super) issued: u64,
    /// The barrier at which the operation completes: its block and offset.
    pub(super) barrier: Option<(u64, u64)>,
    /// Whether several warps have issued it.
    pub(super) joint: bool,
}

/// Groups of operations that a thread, or a warp, commits and waits for.
#[derive(Clone, Debug, Default)]
struct Groups {
    open: Vec<u64>,
    committed: VecDeque<Vec<u64>>,
    /// The agents of groups that have been waited for.
    done: VectorClock,
}

/// The operations of a launch.
#[derive(Debug, Default)]
pub(super) struct Operations {
    /// Those that have not completed, and those of groups that have not been waited for.
    all: FxHashMap<u64, Operation>,
    agents: FxHashMap<Thread, Agent>,
    groups: FxHashMap<(Thread, AsyncGroups), Groups>,
    /// Operations issued by each block.
    issued: FxHashMap<u64, u64>,
}

impl Operations {
    /// Issues an operation, or lets another warp take part in it. `known` is what the warp knows.
    pub(super) fn issue(
        &mut self,
        number: u64,
        (pc, generic): (u64, bool),
        agent: Agent,
        known: Arc<VectorClock>,
    ) {
        if let Some(operation) = self.all.get_mut(&number) {
            Arc::make_mut(&mut operation.known).meet(&known);
            for thread in [false, true].map(|writes| operation.agent(writes).0) {
                self.agents.entry(thread).and_modify(|agent| agent.joint = true);
            }
            return;
        }
        let cta = agent.issuer.cta;
        let count = self.issued.entry(cta).or_default();
        let (slot, epoch) = ((*count % MOST) as u32, (*count / MOST) as u32 + 1);
        *count += 1;
        let reads = Thread { cta: cta | AGENTS, index: 2 * slot };
        let operation = Operation { reads, epoch, pc, generic, known, grouped: false };
        for writes in [false, true] {
            self.agents.insert(operation.agent(writes).0, agent);
        }
        self.all.insert(number, operation);
    }

    pub(super) fn get(&self, number: u64) -> Option<&Operation> {
        self.all.get(&number)
    }

    pub(super) fn agent(&self, thread: Thread) -> Option<&Agent> {
        self.agents.get(&thread)
    }

    /// Enters an operation in the open group of a thread or warp.
    pub(super) fn enter(&mut self, by: Thread, groups: AsyncGroups, number: u64) {
        self.groups.entry((by, groups)).or_default().open.push(number);
        if let Some(operation) = self.all.get_mut(&number) {
            operation.grouped = true;
        }
    }

    pub(super) fn commit(&mut self, by: Thread, groups: AsyncGroups) {
        let groups = self.groups.entry((by, groups)).or_default();
        groups.committed.push_back(std::mem::take(&mut groups.open));
    }

    /// Returns what a wait for all but the last `pending` groups has seen happen.
    pub(super) fn wait(
        &mut self,
        (by, groups): (Thread, AsyncGroups),
        pending: u64,
        only_reads: bool,
    ) -> VectorClock {
        let Some(groups) = self.groups.get_mut(&(by, groups)) else {
            return VectorClock::default();
        };
        let count = groups.committed.len().saturating_sub(pending as usize);
        let mut seen = std::mem::take(&mut groups.done);
        for number in groups.committed.iter().take(count).flatten() {
            let Some(operation) = self.all.get(number) else { continue };
            let (reads, epoch) = operation.agent(false);
            seen.advance(reads, epoch);
            if !only_reads {
                seen.advance(operation.agent(true).0, epoch);
            }
        }
        if !only_reads {
            for number in groups.committed.drain(..count).flatten() {
                self.all.remove(&number);
            }
        }
        groups.done = seen.clone();
        seen
    }

    /// Drops an operation that has completed at its barriers.
    pub(super) fn complete(&mut self, number: u64) {
        if self.all.get(&number).is_some_and(|operation| !operation.grouped) {
            self.all.remove(&number);
        }
    }
}

/// A barrier in shared memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Barrier {
    /// What happens before the end of the current phase.
    pending: VectorClock,
    /// What happened before the end of the phases that have completed.
    completed: VectorClock,
}

impl Barrier {
    /// Adds to what the end of the current phase comes after.
    pub(super) fn join(&mut self, published: &VectorClock) {
        self.pending.join(published);
    }

    /// Adds the accesses of an operation.
    pub(super) fn join_operation(&mut self, operation: &Operation) {
        for writes in [false, true] {
            let (agent, epoch) = operation.agent(writes);
            self.pending.advance(agent, epoch);
        }
    }

    /// Applies a change of the barrier's word.
    pub(super) fn change(&mut self, words: [u64; 2]) {
        let [before, after] = words.map(|word| Mbarrier::load(word).map(Mbarrier::phase).ok());
        if before != after {
            self.completed.join(&std::mem::take(&mut self.pending));
        }
    }

    /// What a thread knows that finds a phase completed.
    pub(super) fn completed(&self) -> &VectorClock {
        &self.completed
    }
}
