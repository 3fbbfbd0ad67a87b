//! FETCH: resident warps, block admission and the warp scheduler.
//!
//! Two neighbouring slots, an even and an odd warp, are a group. A warp fetches while it is ready:
//! in the faithful mode up to the end of its packet, after which it waits until everything it has
//! in flight is written; interlocked, up to an instruction that control depends on. Slots are freed
//! only when all resident blocks have ended.

use std::collections::VecDeque;

use crate::exec::Warp;
use crate::launch::Header;
use crate::op::Op;
use crate::program::Program;
use crate::timing::flight::{Flight, Stage};
use crate::timing::stats::Stall;
use prf_parameters::Policy;

/// A warp on the multiprocessor.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Resident {
    pub(crate) warp: Warp,
    pub(crate) ready: bool,
    pub(crate) halted: bool,
    /// The last instruction of its packet has been fetched.
    pub(crate) complete: bool,
    pub(crate) in_flight: u32,
}

/// Events of a cycle that the later stages report to the scheduler.
#[derive(Clone, Debug, Default)]
pub(crate) struct News {
    /// The cache can take a fetch.
    pub(crate) may_fetch: bool,
    /// The warp whose packet has ended.
    pub(crate) last: Option<usize>,
    /// A jump that was resolved: its warp, and its target if it is taken.
    pub(crate) resolved: Option<(usize, Option<u32>)>,
    /// Warps of which an instruction was written, and whether it was a `halt`.
    pub(crate) written: Vec<(usize, bool)>,
    /// Groups whose buffers count as full.
    pub(crate) full: Vec<bool>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scheduler {
    policy: Policy,
    interlocked: bool,
    groups: usize,
    pub(crate) warps: Vec<Option<Resident>>,
    /// Round robin: the group whose turn it is. Both: whether the odd warp of a group is next.
    turn: usize,
    odd_next: Vec<bool>,
    /// Greedy: the group at hand, those started, the others.
    current: usize,
    started: Vec<usize>,
    others: Vec<usize>,
    /// Blocks that are to be admitted, and the next block.
    waiting: VecDeque<u32>,
    next_block: u32,
    next_slot: usize,
    /// Slots that have got warps since they were last asked for.
    pub(crate) admitted: Vec<usize>,
    /// Slots that blocks occupy or wait for.
    taken: usize,
    /// The cycle from which the slots of resident blocks that have all ended are free.
    free_at: Option<u64>,
    finish: u64,
    pub(crate) blocks_done: u32,
}

impl Scheduler {
    pub(crate) fn new(policy: Policy, interlocked: bool, warps: u32, finish: u32) -> Self {
        let groups = warps as usize / 2;
        Self {
            policy,
            interlocked,
            groups,
            warps: vec![None; warps as usize],
            turn: 0,
            odd_next: vec![false; groups],
            current: 0,
            started: Vec::new(),
            others: (0..groups).collect(),
            waiting: VecDeque::new(),
            next_block: 0,
            next_slot: 0,
            admitted: Vec::new(),
            taken: 0,
            free_at: None,
            finish: finish.into(),
            blocks_done: 0,
        }
    }

    pub(crate) fn resident(&self, slot: usize) -> Option<&Resident> {
        self.warps.get(slot)?.as_ref()
    }

    pub(crate) fn resident_mut(&mut self, slot: usize) -> Option<&mut Resident> {
        self.warps.get_mut(slot)?.as_mut()
    }

    /// Counts times from a cycle on, so that states of different cycles can be compared.
    pub(crate) fn count_from(&mut self, cycle: u64) {
        self.free_at = self.free_at.map(|at| at.saturating_sub(cycle));
    }

    /// Returns whether all warps stand where those of another state do.
    pub(crate) fn stands_as(&self, other: &Self) -> bool {
        let at = |r: &Option<Resident>| r.as_ref().map(|r| (r.warp.pc, r.in_flight, r.ready));
        self.turn == other.turn && self.warps.iter().map(at).eq(other.warps.iter().map(at))
    }

    fn pair(&self, group: usize) -> impl Iterator<Item = &Resident> {
        self.warps.iter().skip(2 * group).take(2).flatten()
    }

    fn eligible(&self, group: usize) -> bool {
        self.pair(group).any(|r| r.ready)
    }

    /// Both live masks are empty and nothing is in flight.
    fn finished(&self, group: usize) -> bool {
        self.pair(group).all(|r| r.halted && r.in_flight == 0)
    }

    /// Runs one cycle: processes the events, then offers a fetch to a warp. Without a fetch it
    /// returns the reason.
    pub(crate) fn cycle(
        &mut self,
        cycle: u64,
        news: &News,
        program: &Program,
        header: &Header,
    ) -> (Option<Box<Flight>>, Option<Stall>) {
        self.take(news);
        if !news.may_fetch {
            return (None, Some(Stall::CacheMiss));
        }
        let offered = match self.policy {
            Policy::RoundRobin => self.round_robin(),
            Policy::GreedyThenOldest => self.greedy(),
        };
        let fetched = offered.and_then(|slot| self.fetch(slot, cycle, program));
        let lost = match (&fetched, offered) {
            (Some(_), _) => None,
            (None, Some(_)) => Some(Stall::LostTurn),
            (None, None) => Some(self.why_none(&news.full)),
        };
        self.admit(header);
        (fetched, lost)
    }

    fn take(&mut self, news: &News) {
        if let Some(resident) = news.last.and_then(|slot| self.resident_mut(slot)) {
            (resident.ready, resident.complete) = (false, true);
        }
        let interlocked = self.interlocked;
        if let Some((slot, target)) = news.resolved
            && let Some(resident) = self.resident_mut(slot)
        {
            resident.warp.pc = target.unwrap_or(resident.warp.pc);
            // Nothing else stands between the jump and what follows it.
            resident.complete &= !interlocked;
        }
        for group in 0..self.groups {
            if self.finished(group) {
                continue;
            }
            let full = news.full.get(group).copied().unwrap_or(false);
            for resident in self.warps.iter_mut().skip(2 * group).take(2).flatten() {
                if resident.halted {
                    continue;
                }
                resident.ready = !full && (resident.ready || !resident.complete);
            }
        }
        for &(slot, halt) in &news.written {
            let Some(resident) = self.resident_mut(slot) else { continue };
            resident.in_flight = resident.in_flight.saturating_sub(1);
            if resident.warp.live.is_empty() {
                (resident.halted, resident.ready) = (true, false);
            } else if resident.in_flight == 0 || interlocked && halt {
                (resident.ready, resident.complete) = (true, false);
            }
        }
    }

    /// The warp of a group whose turn it is; the other one is next.
    fn offer(&mut self, group: usize) -> usize {
        let odd = self.odd_next[group];
        self.odd_next[group] = !odd;
        2 * group + usize::from(odd)
    }

    fn round_robin(&mut self) -> Option<usize> {
        for _ in 0..self.groups {
            let group = self.turn;
            let next = (group + 1) % self.groups;
            if !self.eligible(group) {
                self.turn = next;
                continue;
            }
            let slot = self.offer(group);
            if slot % 2 == 1 {
                self.turn = next;
            }
            return Some(slot);
        }
        None
    }

    fn greedy(&mut self) -> Option<usize> {
        let (mut old, mut new) = (0usize, 0usize);
        for _ in 0..self.groups {
            let all_old = old >= self.started.len();
            if self.eligible(self.current) {
                let slot = self.offer(self.current);
                if all_old && !self.others.is_empty() {
                    let last = self.others.len() - 1;
                    let tried = new.checked_sub(1).unwrap_or(last).min(last);
                    let moved = self.others.remove(tried);
                    self.started.push(moved);
                }
                return Some(slot);
            }
            if !all_old {
                self.current = self.started[old];
                old += 1;
            } else if let Some(&group) = self.others.get(new) {
                self.current = group;
                new += 1;
            } else {
                return None;
            }
        }
        None
    }

    fn fetch(&mut self, slot: usize, cycle: u64, program: &Program) -> Option<Box<Flight>> {
        let resident = self.resident_mut(slot).filter(|r| r.ready)?;
        let pc = resident.warp.pc;
        let mut flight = Flight::new(slot, pc, program.fetch(pc), resident.warp.live);
        flight.pass(Stage::Fetch, cycle);
        resident.warp.pc = pc.wrapping_add(4);
        resident.in_flight += 1;
        Some(Box::new(flight))
    }

    /// Returns why no warp was offered a fetch.
    fn why_none(&self, full: &[bool]) -> Stall {
        let mut waits = Stall::Idle;
        for (slot, resident) in self.warps.iter().enumerate() {
            let Some(resident) = resident.as_ref().filter(|r| !r.halted) else { continue };
            if full.get(slot / 2).copied().unwrap_or(false) && !resident.complete {
                return Stall::QueueFull;
            }
            waits = if self.interlocked { Stall::Control } else { Stall::Drain };
        }
        waits
    }

    /// A waiting block gets its slots; its warps are ready from the next cycle on.
    fn admit(&mut self, header: &Header) {
        let Some(block) = self.waiting.pop_front() else { return };
        for warp in header.warps(block) {
            let slot = self.next_slot % self.warps.len();
            self.next_slot += 1;
            let (in_flight, halted, complete) = (0, false, false);
            self.admitted.push(slot);
            self.warps[slot] = Some(Resident { warp, ready: true, halted, complete, in_flight });
        }
        if !self.others.is_empty() {
            let head = self.others.remove(0);
            self.started.push(head);
        }
    }

    /// The block scheduler: admits blocks while slots suffice, frees slots once the data cache has
    /// been flushed. Returns whether the kernel has ended.
    pub(crate) fn blocks(
        &mut self,
        cycle: u64,
        header: &Header,
        flush: impl FnOnce() -> u64,
    ) -> bool {
        let all_ended = self.waiting.is_empty()
            && self.warps.iter().flatten().all(|r| r.halted && r.in_flight == 0);
        if all_ended && self.taken > 0 {
            let free = *self.free_at.get_or_insert_with(|| cycle + self.finish + flush());
            if cycle + 1 < free {
                return false;
            }
            self.blocks_done = self.next_block;
            self.warps.fill(None);
            (self.taken, self.next_slot, self.free_at) = (0, 0, None);
        }
        while self.next_block < header.blocks {
            let warps = header.threads_of(self.next_block).div_ceil(32) as usize;
            if self.taken + warps > self.warps.len() {
                break;
            }
            self.taken += warps;
            self.waiting.push_back(self.next_block);
            self.next_block += 1;
        }
        self.taken == 0
    }
}

/// Returns whether an instruction is the last that its warp may fetch for now.
pub(crate) fn is_last(flight: &Flight, interlocked: bool) -> bool {
    if interlocked { flight.controls() } else { flight.insn.end }
}

/// Returns whether writing the instruction ends lanes, or ends the wait for one that might have.
pub(crate) fn is_halt(flight: &Flight) -> bool {
    flight.insn.op == Op::Halt
}
