//! A launch under the debugger, whatever its machine.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use simt::inspect::{
    BarrierView, Effects, FramePlace, GroupView, InspectError, MechanismRow, Register,
    RegisterOwner, Upcoming, VariableView,
};
use simt::memory::{AccessKind, Space};
use simt::observe::{GroupId, SyncKind};
use simt::{CtaMask, Pc};
use thiserror::Error;

use crate::code::Code;
use crate::companion::{Found, Search};

/// A lane set of any group.
pub type Lanes = CtaMask;

/// How a launch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndKind {
    /// All threads ended.
    Done,
    /// A fault.
    Fault,
    /// No lane can ever continue.
    Hang,
}

/// The end of a launch.
#[derive(Clone, Debug, PartialEq)]
pub struct End {
    /// How.
    pub kind: EndKind,
    /// A short name: that of the trap, or `deadlock`, `repeats`, `limit`.
    pub code: &'static str,
    /// What happened, in a sentence.
    pub message: String,
    /// The lanes at fault, or those of the first path that waits.
    pub place: Option<(GroupId, Pc, Lanes)>,
}

/// Memory that an address is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// The space.
    pub space: Space,
    /// The thread whose memory it is, for shared and local memory.
    pub at: FramePlace,
}

/// A branch of the recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchView {
    /// Its number; the launch as it was begun is 0.
    pub number: usize,
    /// The branch and position at which it begins.
    pub parent: Option<(usize, u64)>,
    /// What was changed there.
    pub edits: Vec<String>,
    /// The furthest position that was reached.
    pub reached: u64,
}

/// What the launches of a machine have of what steps and events need.
#[derive(Clone, Copy, Debug, Default)]
pub struct Abilities {
    /// The machine turns lanes off by a mask of its own: in it they part and meet.
    pub masks: bool,
    /// Registers belong to lanes and groups, not to frames: functions share them.
    pub one_file: bool,
    /// Why lanes never part, on machines on which they do not.
    pub no_parting: Option<&'static str>,
    /// Why no barrier is ever released, on machines that have none.
    pub no_barriers: Option<&'static str>,
}

/// Reads the state at the present position.
pub trait Look {
    /// The position: issues made.
    fn position(&self) -> u64;
    /// The end of the launch, if it is reached.
    fn end(&self) -> Option<&End>;
    /// The issue that is made next, if there is one.
    fn upcoming(&self) -> Option<Upcoming<16>>;
    /// The code.
    fn code(&self) -> &Code;
    /// The kernel's name.
    fn kernel(&self) -> &str;
    /// Extents of the grid in blocks, and of a block in threads.
    fn extents(&self) -> ([u64; 3], [u64; 3]);
    /// The name of the mechanism.
    fn mechanism_name(&self) -> &str;
    /// What launches of the machine have.
    fn abilities(&self) -> Abilities;
    /// The lanes for which an issue is made: on machines with a mask of lanes those that it leaves
    /// on.
    fn on(&self, next: &Upcoming<16>) -> Lanes {
        match self.group(next.group).filter(|_| self.abilities().masks) {
            Some(group) => next.lanes & group.enabled,
            None => next.lanes,
        }
    }
    /// The resident groups.
    fn groups(&self) -> Vec<GroupView<16>>;
    /// One of them.
    fn group(&self, id: GroupId) -> Option<GroupView<16>> {
        self.groups().into_iter().find(|g| (g.id.cta, g.id.group) == (id.cta, id.group))
    }
    /// The registers of frames of the function at a place.
    fn registers(&self, pc: Pc) -> Vec<Register>;
    /// The value of a register.
    ///
    /// # Errors
    /// If the place is not resident or has no such register.
    fn register(&self, at: FramePlace, index: u32) -> Result<u128, InspectError>;
    /// The places of a thread's frames, the running function first.
    fn frames(&self, at: FramePlace) -> Vec<Pc>;
    /// The state of a group's mechanism.
    fn mechanism(&self, group: GroupId) -> Vec<MechanismRow<16>>;
    /// The barriers of a CTA with arrivals.
    fn barriers(&self, cta: u64) -> Vec<BarrierView>;
    /// What an instruction would read and write for a lane if it were issued now, if the machine
    /// tells.
    fn effects(&self, pc: Pc, lane: u32) -> Option<Effects>;
    /// The program's variables.
    fn variables(&self) -> Vec<VariableView>;
    /// The variables of a frame in the thread's local memory.
    fn frame_variables(&self, at: FramePlace) -> Vec<VariableView>;
    /// Allocations of global memory: name, first address, length.
    fn allocations(&self) -> Vec<(Arc<str>, u64, u64)>;
    /// The length of shared, local or parameter memory of a thread.
    fn block_bytes(&self, memory: Memory) -> Option<u64>;
    /// Reads memory.
    ///
    /// # Errors
    /// If some of it is not mapped.
    fn read(&self, memory: Memory, address: u64, out: &mut [u8]) -> Result<(), InspectError>;
    /// What the program has printed so far.
    fn output(&self) -> Vec<u8>;
    /// The code with which the program has ended itself, on machines whose programs can.
    fn exit_code(&self) -> Option<i64>;
    /// A digest of the state.
    fn digest(&self) -> u64;
}

/// Which issues are told before they are made.
#[derive(Clone, Debug, Default)]
pub enum Before {
    /// None.
    #[default]
    None,
    /// Those at these places, ascending.
    At(Vec<Pc>),
    /// All.
    Every,
}

/// A range of memory whose accesses are told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessWatch {
    /// Space of the range; global memory includes constant memory.
    pub space: Space,
    /// Addresses in the space.
    pub range: Range<u64>,
    /// The CTA, for shared memory.
    pub cta: Option<u64>,
    /// Whether reads are told.
    pub reads: bool,
    /// Whether writes are told.
    pub writes: bool,
    /// The thread as which the contents are read before and after, if they are told.
    pub at: Option<FramePlace>,
}

/// A register whose changes or uses are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisterWatch {
    /// The lane; its frame is counted from the outermost one, which is 0.
    pub at: FramePlace,
    /// Who has the register.
    pub owner: RegisterOwner,
    /// The register.
    pub index: u32,
    /// Whether instructions that read it are told, on machines that tell what they read.
    pub reads: bool,
    /// Whether those that write it are told, even if its value stays.
    pub writes: bool,
}

impl RegisterWatch {
    /// The changes of a register.
    #[must_use]
    pub const fn changes(at: FramePlace, index: u32) -> Self {
        Self { at, owner: RegisterOwner::Lane, index, reads: false, writes: false }
    }

    /// Whether instructions are told, not changes.
    #[must_use]
    pub const fn uses(&self) -> bool {
        self.reads || self.writes
    }
}

/// What is told of a run.
#[derive(Clone, Debug, Default)]
pub struct Stops {
    /// Issues before they are made.
    pub before: Before,
    /// Every issue after it was made.
    pub issued: bool,
    /// Issues that access these ranges.
    pub accesses: Vec<AccessWatch>,
    /// Issues that change these registers.
    pub registers: Vec<RegisterWatch>,
    /// Issues in which lanes part.
    pub splits: bool,
    /// Issues after which paths have merged.
    pub merges: bool,
    /// Issues with events of barriers and collectives.
    pub syncs: bool,
    /// Issues that these searches find; [`Target::prepare`] has begun them.
    pub searches: Vec<Search>,
}

impl Stops {
    /// Returns whether events of an issue are needed.
    pub(crate) fn observes(&self) -> bool {
        self.issued
            || self.splits
            || self.merges
            || self.syncs
            || !self.accesses.is_empty()
            || !self.registers.is_empty()
            || !self.searches.is_empty()
    }
}

/// An access that is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accessed {
    /// The index in [`Stops::accesses`].
    pub watch: usize,
    /// The kind.
    pub kind: AccessKind,
    /// Lanes and addresses in the range.
    pub lanes: Vec<(u16, u64)>,
    /// Bytes for each lane.
    pub size: u32,
    /// The contents of the range before, if they are told.
    pub old: Vec<u8>,
    /// The contents after.
    pub new: Vec<u8>,
}

/// A change of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changed {
    /// The index in [`Stops::registers`].
    pub watch: usize,
    /// The value before; `None` if the register was not there.
    pub old: Option<u128>,
    /// The value after.
    pub new: Option<u128>,
}

/// A use of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Used {
    /// The index in [`Stops::registers`].
    pub watch: usize,
    /// Whether it was read.
    pub read: bool,
    /// Whether it was written.
    pub written: bool,
    /// Its value afterwards.
    pub value: Option<u128>,
}

/// Paths that have become one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merge {
    /// Where they met.
    pub pc: Pc,
    /// All lanes of the new path.
    pub lanes: Lanes,
    /// The parts.
    pub parts: Vec<Lanes>,
}

/// An issue that was made, with what was asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Issued {
    /// The issue group.
    pub group: GroupId,
    /// The instruction.
    pub pc: Pc,
    /// The active mask.
    pub active: Lanes,
    /// Lanes that executed it.
    pub on: Lanes,
    /// Accesses of watched ranges.
    pub accesses: Vec<Accessed>,
    /// Changes of watched registers.
    pub changes: Vec<Changed>,
    /// Uses of registers whose uses are watched.
    pub uses: Vec<Used>,
    /// Next places, if there are several.
    pub split: Vec<(Pc, Lanes)>,
    /// Paths that merged.
    pub merges: Vec<Merge>,
    /// Synchronisation: kind, barrier, group and lanes.
    pub syncs: Vec<(SyncKind, u32, GroupId, Lanes)>,
    /// What searches have found.
    pub found: Vec<(Search, Found)>,
}

/// What is told while a target runs.
#[derive(Debug)]
pub enum Event<'e> {
    /// An issue is made next.
    Before(&'e Upcoming<16>),
    /// An issue was made.
    Issued(&'e Issued),
}

/// Why a target stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// The judge said so.
    Judged,
    /// The position is reached.
    Reached,
    /// The launch has ended.
    Ended,
    /// It was interrupted.
    Interrupted,
}

/// Why a target cannot do something.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TargetError {
    /// The state has no such thing.
    #[error(transparent)]
    Inspect(#[from] InspectError),
    /// Memory of the host, or a snapshot that cannot be restored.
    #[error("{0}")]
    Host(String),
    /// There is no such branch.
    #[error("there is no branch {0}")]
    NoBranch(usize),
    /// Why a search, or the launch under another mechanism, cannot begin.
    #[error("{0}")]
    Search(String),
}

/// Says whether to stop at an event.
pub type Judge<'j> = &'j mut dyn FnMut(&dyn Look, Event<'_>) -> bool;

/// A launch that can be run forwards and put to any position.
pub trait Target: Look {
    /// The state, to be read.
    fn look(&self) -> &dyn Look;
    /// Runs until `judge` says stop, the launch ends, or the position is reached. With `skip` the
    /// first issue is not told before it is made.
    fn run(&mut self, until: u64, stops: &Stops, skip: bool, judge: Judge<'_>) -> Stopped;
    /// Runs ahead on a faster engine to the last place before these instructions that it can, and
    /// says where that is, or why it has not.
    fn run_ahead(&mut self, places: &[Pc]) -> &Result<u64, String>;
    /// How the last run ahead went; `None` if none was tried.
    fn ran_ahead(&self) -> Option<&Result<u64, String>>;
    /// Begins a search, unless that has been done.
    ///
    /// # Errors
    /// If there is no such search on this machine.
    fn prepare(&mut self, search: &Search) -> Result<(), TargetError>;
    /// Lets the launch begin again, as it was launched, under another mechanism, or under the one
    /// that is known to let all lanes go on: a client that leaves it with
    /// [`After::Again`](crate::After::Again) receives it once more.
    ///
    /// # Errors
    /// If the machine has no such mechanism.
    fn retry(&mut self, mechanism: Option<&str>) -> Result<(), TargetError>;
    /// The mechanism under which the launch is to begin again.
    fn again(&self) -> Option<&str>;
    /// Goes to a position of the current branch.
    ///
    /// # Errors
    /// If a snapshot cannot be restored.
    fn seek(&mut self, position: u64) -> Result<Stopped, TargetError>;
    /// The positions of snapshots up to the present position, ascending; the first is 0.
    fn marks(&self) -> Vec<u64>;
    /// A flag that stops what runs.
    fn set_interrupt(&mut self, flag: Arc<AtomicBool>);
    /// Sets the memory that snapshots may take, in bytes.
    fn set_budget(&mut self, bytes: usize);
    /// Bytes that snapshots take, and how many there are.
    fn recorded(&self) -> (usize, usize);
    /// Sets a register.
    ///
    /// # Errors
    /// If it is not there.
    fn set_register(
        &mut self,
        at: FramePlace,
        index: u32,
        value: u128,
        what: &str,
    ) -> Result<(), TargetError>;
    /// Sets the machine's mask of a group.
    ///
    /// # Errors
    /// If it has none.
    fn set_mask(&mut self, group: GroupId, lanes: Lanes, what: &str) -> Result<(), TargetError>;
    /// Writes memory.
    ///
    /// # Errors
    /// If it is not mapped.
    fn write(
        &mut self,
        memory: Memory,
        address: u64,
        bytes: &[u8],
        what: &str,
    ) -> Result<(), TargetError>;
    /// Allocates global memory and returns its address.
    ///
    /// # Errors
    /// If there is no room.
    fn allocate(&mut self, name: &str, bytes: u64) -> Result<u64, TargetError>;
    /// The branches of the recording, and the number of the current one.
    fn branches(&self) -> (Vec<BranchView>, usize);
    /// Goes to the begin of a branch.
    ///
    /// # Errors
    /// If there is none, or a snapshot cannot be restored.
    fn switch(&mut self, branch: usize) -> Result<(), TargetError>;
}
