//! An instruction on its way through the pipeline.

use simt::mask::WarpMask;

use crate::exec::{Effect, LANES, Lanes, Trap};
use crate::op::Insn;
use crate::timing::writeback::Port;

/// A stage of an instruction; each is passed in one cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Fetched.
    Fetch,
    /// Output by the instruction cache.
    Cache,
    /// Decoded; its predicate read.
    Decode,
    /// In the instruction buffer of its group.
    Buffered,
    /// In an operand collector.
    Collecting,
    /// All operands read.
    Ready,
    /// Dispatched to its functional unit.
    Dispatch,
    /// The unit has output the result.
    Result,
    /// Written to registers or the predicate file.
    Written,
}

impl Stage {
    /// All, in order.
    pub const ALL: [Self; 9] = [
        Self::Fetch,
        Self::Cache,
        Self::Decode,
        Self::Buffered,
        Self::Collecting,
        Self::Ready,
        Self::Dispatch,
        Self::Result,
        Self::Written,
    ];
}

/// The cycle of each stage, in the order of [`Stage::ALL`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times(pub [u64; 9]);

impl Times {
    /// The cycle of a stage.
    #[must_use]
    pub fn at(&self, stage: Stage) -> u64 {
        self.0[stage as usize]
    }
}

/// An instruction that has been written, for timelines and conformance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Block.
    pub block: u32,
    /// Index of the warp in its block.
    pub warp: u32,
    /// The warp's slot on the multiprocessor.
    pub slot: u32,
    /// Address.
    pub pc: u32,
    /// The instruction.
    pub insn: Insn,
    /// Lanes that participated.
    pub on: WarpMask,
    /// Where its result went.
    pub port: Port,
    /// The cycles of its stages.
    pub times: Times,
}

/// The instruction with the inputs collected so far.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Flight {
    /// The slot of its warp.
    pub(crate) slot: usize,
    pub(crate) pc: u32,
    /// The fetched instruction; a `halt` of no lane if none could be fetched.
    pub(crate) insn: Insn,
    /// The reason that nothing could be fetched. It takes effect when the instruction would be
    /// written, if its warp still has live lanes then.
    pub(crate) fault: Option<Trap>,
    /// The warp's live lanes at fetch.
    pub(crate) live: WarpMask,
    pub(crate) predicate: WarpMask,
    pub(crate) a: Box<Lanes>,
    pub(crate) b: Box<Lanes>,
    pub(crate) effect: Effect,
    /// The effect was forwarded: registers and predicates have it already.
    pub(crate) forwarded: bool,
    pub(crate) times: Times,
}

impl Flight {
    pub(crate) fn new(slot: usize, pc: u32, fetched: Result<Insn, Trap>, live: WarpMask) -> Self {
        let nothing = Insn {
            op: crate::op::Op::Halt,
            rd: 0,
            rs1: 0,
            rs2: 0,
            pred: 0,
            pdst: 0,
            imm: 0,
            start: false,
            end: false,
            by_register: false,
        };
        let (insn, fault) = match fetched {
            Ok(insn) => (insn, None),
            Err(trap) => (nothing, Some(trap)),
        };
        Self {
            slot,
            pc,
            insn,
            fault,
            live,
            predicate: WarpMask::EMPTY,
            a: Box::new([0; LANES]),
            b: Box::new([0; LANES]),
            effect: Effect::None,
            forwarded: false,
            times: Times::default(),
        }
    }

    pub(crate) fn pass(&mut self, stage: Stage, cycle: u64) {
        self.times.0[stage as usize] = cycle;
    }

    /// Keeps of its times what decides anything: how long ago it was dispatched.
    pub(crate) fn count_from(&mut self, cycle: u64) {
        let dispatched = self.times.at(Stage::Dispatch);
        self.times = Times::default();
        if dispatched > 0 {
            self.pass(Stage::Dispatch, cycle.saturating_sub(dispatched) + 1);
        }
    }

    /// Returns whether control depends on it, so that its warp cannot fetch until it has taken
    /// effect.
    pub(crate) fn controls(&self) -> bool {
        self.fault.is_some() || self.insn.jumps() || self.insn.op == crate::op::Op::Halt
    }
}
