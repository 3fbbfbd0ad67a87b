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
//! A product that takes a factor or its metadata from registers has what its warps have read
//! before: whoever waits for it knows their reads, and what they loaded may be written again.
//!
//! What threads write happens before what an operation reads through the async proxy only if a
//! proxy fence is between them (PTX ISA, "Causality Order").
//!
//! Of the copies that are not bulk copies (`cp.async`) each thread has agents of its own, whose
//! epochs its commits end: a wait for its groups knows the agents up to the last of these. An
//! arrival after copies publishes what the thread knew, and its copies until then.
//!
//! Other agents are numbered again after [`MOST`] operations of a block: a thread that knows a
//! later operation then seems to know the one before, and a race may be missed.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use simt::mbarrier::Mbarrier;
use simt::observe::AsyncGroups;

use super::vector_clock::{Thread, VectorClock};

/// Set in the number of a block of agents.
const AGENTS: u64 = 1 << 63;

/// Set in the number of a block of agents of threads' copies.
const COPIES: u64 = 1 << 61;

/// Operations of a block whose agents are told apart.
const MOST: u64 = 1024;

/// Returns whether a thread of a clock is an agent.
pub(super) fn is_agent(thread: Thread) -> bool {
    thread.cta & AGENTS != 0
}

/// Returns whether both are agents of copies, of two threads.
pub(super) fn copy_for_others(a: Thread, b: Thread) -> bool {
    copies_for(a).zip(copies_for(b)).is_some_and(|(a, b)| a != b)
}

/// The thread for which an agent copies.
pub(super) fn copies_for(agent: Thread) -> Option<Thread> {
    let is_copy = is_agent(agent) && agent.cta & COPIES != 0;
    is_copy.then_some(Thread { cta: agent.cta & !(AGENTS | COPIES), index: agent.index / 2 })
}

/// The agent of the reads of a thread's copies.
fn copy_agent(thread: Thread) -> Thread {
    Thread { cta: thread.cta | AGENTS | COPIES, index: 2 * thread.index }
}

/// An operation that has not completed.
#[derive(Clone, Debug)]
pub(super) struct Operation {
    /// The agent of its reads; that of its writes follows.
    reads: Thread,
    epoch: u32,
    pub(super) pc: u64,
    /// When it was issued, in events of the launch.
    pub(super) issued: u64,
    pub(super) generic: bool,
    /// What happened before, as every warp knows that takes part.
    pub(super) known: Arc<VectorClock>,
    /// Reads whose values it takes from registers.
    taken: VectorClock,
    /// Threads, or warps, in whose groups it is and which have not waited for it: it stays for
    /// them.
    waiters: usize,
}

impl Operation {
    /// A copy of a thread, or an arrival after its copies.
    fn of_copies(
        thread: Thread,
        epoch: u32,
        (pc, issued): (u64, u64),
        known: Arc<VectorClock>,
    ) -> Self {
        let reads = copy_agent(thread);
        let taken = VectorClock::default();
        Self { reads, epoch, pc, issued, generic: true, known, taken, waiters: 0 }
    }

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
    /// The barrier at which the operation completes: its block and offset.
    pub(super) barrier: Option<(u64, u64)>,
    /// Whether several warps have issued it.
    pub(super) joint: bool,
}

/// The copies of a thread.
#[derive(Clone, Debug)]
struct Copies {
    /// The epoch of the next copy, from 1.
    epoch: u32,
    /// The last epochs of the groups that have been committed and not waited for.
    committed: VecDeque<u32>,
}

impl Default for Copies {
    fn default() -> Self {
        Self { epoch: 1, committed: VecDeque::new() }
    }
}

/// What a wait of a thread for its copies up to an epoch has seen happen.
fn copies_until(thread: Thread, epoch: u32, seen: &mut VectorClock) {
    let reads = copy_agent(thread);
    seen.advance(reads, epoch);
    seen.advance(Thread { index: reads.index + 1, ..reads }, epoch);
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
    copies: FxHashMap<Thread, Copies>,
    /// Operations issued by each block.
    issued: FxHashMap<u64, u64>,
}

impl Operations {
    /// Issues an operation, or lets another warp take part in it. `known` is what the warp knows,
    /// `taken` the reads whose values the operation takes from registers.
    pub(super) fn issue(
        &mut self,
        number: u64,
        (pc, issued, generic): (u64, u64, bool),
        agent: Agent,
        (known, taken): (Arc<VectorClock>, VectorClock),
    ) {
        if let Some(operation) = self.all.get_mut(&number) {
            Arc::make_mut(&mut operation.known).meet(&known);
            operation.taken.join(&taken);
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
        let operation = Operation { reads, epoch, pc, issued, generic, known, taken, waiters: 0 };
        for writes in [false, true] {
            self.agents.insert(operation.agent(writes).0, agent);
        }
        self.all.insert(number, operation);
    }

    /// Issues a copy of a thread, which knows so much.
    pub(super) fn issue_copy(
        &mut self,
        number: u64,
        (pc, issued): (u64, u64),
        thread: Thread,
        known: Arc<VectorClock>,
    ) {
        let epoch = self.copies.entry(thread).or_default().epoch;
        self.all.insert(number, Operation::of_copies(thread, epoch, (pc, issued), known));
    }

    /// Issues an arrival of a thread after its copies.
    pub(super) fn issue_arrival(
        &mut self,
        number: u64,
        (pc, issued): (u64, u64),
        thread: Thread,
        mut known: Arc<VectorClock>,
    ) {
        let copies = self.copies.entry(thread).or_default();
        let epoch = copies.epoch;
        copies.epoch += 1;
        copies_until(thread, epoch, Arc::make_mut(&mut known));
        self.all.insert(number, Operation::of_copies(thread, epoch, (pc, issued), known));
    }

    pub(super) fn get(&self, number: u64) -> Option<&Operation> {
        self.all.get(&number)
    }

    pub(super) fn agent(&self, thread: Thread) -> Option<Agent> {
        let copies = copies_for(thread);
        let copies = copies.map(|issuer| Agent { issuer, barrier: None, joint: false });
        copies.or_else(|| self.agents.get(&thread).copied())
    }

    /// Enters an operation in the open group of a thread or warp.
    pub(super) fn enter(&mut self, by: Thread, groups: AsyncGroups, number: u64) {
        self.groups.entry((by, groups)).or_default().open.push(number);
        if let Some(operation) = self.all.get_mut(&number) {
            operation.waiters += 1;
        }
    }

    pub(super) fn commit(&mut self, by: Thread, groups: AsyncGroups) {
        if groups == AsyncGroups::Copies {
            let copies = self.copies.entry(by).or_default();
            copies.committed.push_back(copies.epoch);
            copies.epoch += 1;
            return;
        }
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
        if groups == AsyncGroups::Copies {
            let mut seen = VectorClock::default();
            let copies = self.copies.entry(by).or_default();
            let count = copies.committed.len().saturating_sub(pending as usize);
            if let Some(epoch) = copies.committed.drain(..count).next_back() {
                copies_until(by, epoch, &mut seen);
            }
            return seen;
        }
        let Some(groups) = self.groups.get_mut(&(by, groups)) else {
            return VectorClock::default();
        };
        let count = groups.committed.len().saturating_sub(pending as usize);
        let mut seen = std::mem::take(&mut groups.done);
        for number in groups.committed.iter().take(count).flatten() {
            let Some(operation) = self.all.get(number) else { continue };
            let (reads, epoch) = operation.agent(false);
            seen.advance(reads, epoch);
            seen.join(&operation.taken);
            if !only_reads {
                seen.advance(operation.agent(true).0, epoch);
            }
        }
        if !only_reads {
            for number in groups.committed.drain(..count).flatten() {
                let Entry::Occupied(mut operation) = self.all.entry(number) else { continue };
                operation.get_mut().waiters -= 1;
                if operation.get().waiters == 0 {
                    operation.remove();
                }
            }
        }
        groups.done = seen.clone();
        seen
    }

    /// Drops an operation that has completed at its barriers.
    pub(super) fn complete(&mut self, number: u64) {
        if self.all.get(&number).is_some_and(|operation| operation.waiters == 0) {
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

    /// Adds what an arrival after copies publishes.
    pub(super) fn join_arrival(&mut self, arrival: &Operation) {
        self.pending.join(&arrival.known);
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
