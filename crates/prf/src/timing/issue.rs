//! ISSUE: instruction buffers, operand collectors, dispatch; the scoreboard where there is one.
//!
//! Each group has a buffer. An even and an odd collector take instructions from them, one in a
//! cycle, and read one operand from their register bank in each of two cycles. Instructions with
//! all operands go to their units in order.

use std::collections::VecDeque;

use simt::mask::WarpMask;

use crate::op::Insn;
use crate::timing::fetch::Scheduler;
use crate::timing::flight::{Flight, Stage};
use crate::timing::stats::Stall;

/// Registers and predicates that are not written yet, for each warp. Empty in the faithful mode.
#[derive(Clone, Debug, PartialEq)]
struct Scoreboard {
    registers: Vec<u64>,
    predicates: Vec<u32>,
}

impl Scoreboard {
    /// Returns why an instruction has to wait.
    fn blocks(&self, slot: usize, insn: &Insn) -> Option<Stall> {
        let (registers, predicates) = (self.registers[slot], self.predicates[slot]);
        let written = insn.writes_register().then_some(insn.rd);
        if insn.sources().chain(written).any(|r| registers >> (r & 63) & 1 == 1) {
            return Some(Stall::DataHazard);
        }
        let read = insn.reads_predicate().then_some(insn.pred);
        let written = insn.writes_predicate().then_some(insn.pdst);
        let waits = read.into_iter().chain(written).any(|p| predicates >> (p & 31) & 1 == 1);
        waits.then_some(Stall::PredicateHazard)
    }

    fn mark(&mut self, slot: usize, insn: &Insn, pending: bool) {
        if insn.writes_register() {
            let bit = 1 << (insn.rd & 63);
            let word = &mut self.registers[slot];
            *word = if pending { *word | bit } else { *word & !bit };
        }
        if insn.writes_predicate() {
            let bit = 1 << (insn.pdst & 31);
            let word = &mut self.predicates[slot];
            *word = if pending { *word | bit } else { *word & !bit };
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Issue {
    full_from: usize,
    buffers: Vec<VecDeque<Box<Flight>>>,
    /// The buffer at which searches start.
    start: usize,
    /// Even and odd; how many operands were read.
    collectors: [Option<(Box<Flight>, u32)>; 2],
    ready: VecDeque<Box<Flight>>,
    scoreboard: Option<Scoreboard>,
    /// Operands that a collector reads in a cycle.
    read_ports: u32,
    /// The reason that no buffer could fill a collector in this cycle.
    blocked: Option<Stall>,
    pub(crate) predicate_reads: u64,
}

impl Issue {
    pub(crate) fn new(warps: u32, full_from: u32, interlocked: bool, read_ports: u32) -> Self {
        let warps = warps as usize;
        let scoreboard = || Scoreboard { registers: vec![0; warps], predicates: vec![0; warps] };
        Self {
            full_from: full_from as usize,
            buffers: vec![VecDeque::new(); warps / 2],
            start: 0,
            collectors: [None, None],
            ready: VecDeque::new(),
            scoreboard: interlocked.then(scoreboard),
            read_ports,
            blocked: None,
            predicate_reads: 0,
        }
    }

    /// Counts times from a cycle on and forgets the counts, so that states of different cycles can
    /// be compared.
    pub(crate) fn count_from(&mut self, cycle: u64) {
        self.predicate_reads = 0;
        let collecting = self.collectors.iter_mut().flatten().map(|(flight, _)| flight);
        let waiting = self.buffers.iter_mut().flatten().chain(&mut self.ready);
        collecting.chain(waiting).for_each(|flight| flight.count_from(cycle));
    }

    /// Clears what an instruction that has been written occupied.
    pub(crate) fn written(&mut self, flight: &Flight) {
        if let Some(board) = &mut self.scoreboard {
            board.mark(flight.slot, &flight.insn, false);
        }
    }

    /// Groups whose buffers count as full.
    pub(crate) fn full(&self) -> Vec<bool> {
        self.buffers.iter().map(|b| b.len() >= self.full_from).collect()
    }

    /// Runs one cycle. `takes` returns why a unit does not take the oldest ready instruction.
    pub(crate) fn cycle(
        &mut self,
        cycle: u64,
        decoded: Option<Box<Flight>>,
        scheduler: &Scheduler,
        takes: impl FnOnce(&Flight) -> Option<Stall>,
    ) -> Result<Box<Flight>, Option<Stall>> {
        if let Some(flight) = &decoded {
            self.start = flight.slot / 2;
        }
        self.blocked = None;
        let busy = self.ready.front().and_then(|flight| takes(flight));
        let mut dispatched = None;
        if busy.is_none() {
            dispatched = self.ready.pop_front();
            let waited = dispatched.is_none().then(|| self.waiting()).flatten();
            self.collect(cycle, scheduler);
            let filled = self.fill(cycle, scheduler).then_some(Stall::OperandPort);
            if dispatched.is_none() {
                self.append(cycle, decoded);
                // The scoreboard may be why collectors are empty.
                return Err(waited.or(filled).or(self.blocked));
            }
        }
        self.append(cycle, decoded);
        match dispatched {
            Some(mut flight) => {
                flight.pass(Stage::Dispatch, cycle);
                Ok(flight)
            }
            None => Err(busy),
        }
    }

    /// Returns what keeps the stage busy when nothing is ready, the scoreboard aside.
    fn waiting(&self) -> Option<Stall> {
        let collecting = self.collectors.iter().any(Option::is_some);
        let free = self.scoreboard.is_none() && self.buffers.iter().any(|b| !b.is_empty());
        (collecting || free).then_some(Stall::OperandPort)
    }

    fn append(&mut self, cycle: u64, decoded: Option<Box<Flight>>) {
        if let Some(mut flight) = decoded {
            flight.pass(Stage::Buffered, cycle);
            self.buffers[flight.slot / 2].push_back(flight);
        }
    }

    /// Reads an operand in each occupied collector: the first, then the second; with two read ports
    /// of each bank both at once.
    fn collect(&mut self, cycle: u64, scheduler: &Scheduler) {
        for collector in &mut self.collectors {
            let Some((mut flight, read)) = collector.take() else { continue };
            let [first, second] = flight.insn.operands();
            if let Some(resident) = scheduler.resident(flight.slot) {
                if read == 0 {
                    *flight.a = *resident.warp.operand(first);
                }
                if read == 1 || self.read_ports > 1 {
                    *flight.b = *resident.warp.operand(second);
                }
            }
            if read == 0 && self.read_ports < 2 {
                *collector = Some((flight, 1));
            } else {
                flight.pass(Stage::Ready, cycle);
                self.ready.push_back(flight);
            }
        }
    }

    /// Fills the even collector or, if that got nothing, the odd one. Returns whether one was
    /// filled.
    fn fill(&mut self, cycle: u64, scheduler: &Scheduler) -> bool {
        for parity in 0..2 {
            if self.collectors[parity].is_some() {
                continue;
            }
            let groups = self.buffers.len();
            for step in 0..groups {
                let group = (self.start + step) % groups;
                let head = self.buffers[group].front().filter(|f| f.slot % 2 == parity);
                let Some(head) = head else { continue };
                let board = self.scoreboard.as_ref();
                if let Some(stall) = board.and_then(|b| b.blocks(head.slot, &head.insn)) {
                    self.blocked = self.blocked.or(Some(stall));
                    continue;
                }
                let Some(mut flight) = self.buffers[group].pop_front() else { continue };
                self.take(&mut flight, scheduler);
                flight.pass(Stage::Collecting, cycle);
                self.collectors[parity] = Some((flight, 0));
                return true;
            }
        }
        false
    }

    /// With a scoreboard, masks are read here rather than at decode.
    fn take(&mut self, flight: &mut Flight, scheduler: &Scheduler) {
        let Some(board) = &mut self.scoreboard else { return };
        board.mark(flight.slot, &flight.insn, true);
        if let Some(resident) = scheduler.resident(flight.slot) {
            let predicate = resident.warp.predicate(flight.insn.pred);
            self.predicate_reads += 1;
            (flight.predicate, flight.live) = (predicate, resident.warp.live);
        }
    }
}

/// The mask of the faithful mode: read at decode, with the live mask of the fetch.
pub(crate) fn decode(flight: &mut Flight, cycle: u64, scheduler: &Scheduler) {
    flight.pass(Stage::Decode, cycle);
    flight.predicate = scheduler
        .resident(flight.slot)
        .map_or(WarpMask::EMPTY, |r| r.warp.predicate(flight.insn.pred));
}
