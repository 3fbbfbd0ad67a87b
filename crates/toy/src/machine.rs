//! Loading and launching: what the toy machine is beside its instructions.
//!
//! Always holds for a [`State`]: at most one group exists at a time (groups run one after another,
//! in order of their threads); its registers are columns of `width` lanes; live lanes are launched
//! lanes.

use std::sync::LazyLock;

use simt::machine::{Machine, Step};
use simt::mask::WarpMask;
use simt::memory::{AccessError, Addr, MapError, MemoryMap, Permission};
use simt::observe::{GroupId, Observer};
use simt::slots::LaneSlots;
use simt::trap::{Cause, Fault};

use crate::exec::{Insn, OPS};

/// The toy machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Toy;

/// Where `.data` lies in guest memory; code is shorter than this.
pub(crate) const DATA: u64 = 0x1_0000;
/// The name of the program's data in guest memory.
const DATA_NAME: &str = ".data";
/// The longest image.
pub(crate) const IMAGE_LIMIT: usize = 16 << 20;

/// A loaded program.
#[derive(Clone, Debug)]
pub struct Program {
    /// The instruction at each half-word of the code, if there is one.
    code: Vec<Option<Insn>>,
    data: Vec<u8>,
}

impl Program {
    /// Bytes of code: program counters lie below.
    #[must_use]
    pub fn code_bytes(&self) -> usize {
        2 * self.code.len()
    }

    /// Maps the program's data into guest memory, unless it is there already (from an earlier
    /// launch).
    fn map_data(&self, memory: &mut MemoryMap) -> Result<(), LaunchError> {
        let length = self.data.len() as u64;
        let there = memory.region_at(Addr(DATA)).is_some_and(|r| {
            r.base() == Addr(DATA) && &**r.name() == DATA_NAME && r.len() == length
        });
        if there || self.data.is_empty() {
            return Ok(());
        }
        memory.map_at(DATA_NAME, Addr(DATA), length, Permission::ReadWrite)?;
        memory.write_bytes(Addr(DATA), &self.data).map_err(LaunchError::Data)
    }

    pub(crate) fn at(&self, pc: u64) -> Option<Insn> {
        let index = usize::try_from(pc / 2).ok().filter(|_| pc.is_multiple_of(2))?;
        self.code.get(index).copied().flatten()
    }
}

/// Why an image is not loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// Too long.
    #[error("an image of {0} bytes; the longest is {IMAGE_LIMIT}")]
    TooLong(u64),
    /// A part of the program that starts as code reaches this address.
    #[error("code goes up to {0:#x}; data starts at {DATA:#x}")]
    CodeInData(u64),
    /// No code.
    #[error("the image has no code")]
    Empty,
}

/// What a launch needs.
#[derive(Clone, Debug)]
pub struct Launch {
    /// How many threads; at least one.
    pub threads: u32,
    /// Lanes of a group: 1 to 64.
    pub width: u32,
    /// What uniform registers `s0`, `s1`, ... of every group start with; the others start with 0.
    pub arguments: Vec<u64>,
    /// Guest memory with its buffers; the program's data is added unless it is there from an
    /// earlier launch.
    pub memory: MemoryMap,
}

/// Why a launch is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// Not 1 to 64 lanes.
    #[error("groups of {0} lanes; possible are 1 to 64")]
    Width(u32),
    /// No thread.
    #[error("a launch of no threads")]
    NoThreads,
    /// More arguments than uniform registers.
    #[error("{0} arguments; there are 8 uniform registers")]
    Arguments(usize),
    /// The program's data has no place.
    #[error(transparent)]
    Memory(#[from] MapError),
    /// The program's data cannot be written.
    #[error(transparent)]
    Data(Box<AccessError>),
}

/// Why the machine stops.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trap {
    /// Not an instruction, or not code at all.
    #[error("no instruction at {0:#x}")]
    NoInstruction(u64),
    /// The instruction `trap`.
    #[error("trap {0}")]
    Trap(i64),
    /// A load or store that memory refuses, of the lowest lane at fault.
    #[error(transparent)]
    Access(Box<AccessError>),
}

impl Cause for Trap {
    fn code(&self) -> &'static str {
        match self {
            Self::NoInstruction(_) => "no-instruction",
            Self::Trap(_) => "trap",
            Self::Access(error) => error.violation.code(),
        }
    }
}

/// The group that runs.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) id: GroupId,
    pub(crate) pc: u64,
    pub(crate) launched: WarpMask,
    pub(crate) live: WarpMask,
    /// Eight columns of `width` lanes.
    pub(crate) r: Vec<u64>,
    pub(crate) p: [WarpMask; 4],
    pub(crate) s: [u64; 8],
}

/// Everything that changes while a launch runs.
#[derive(Clone, Debug)]
pub struct State {
    /// Guest memory.
    pub memory: MemoryMap,
    pub(crate) slots: LaneSlots,
    pub(crate) width: u32,
    pub(crate) group: Option<Group>,
    threads: u32,
    arguments: [u64; 8],
}

impl State {
    /// The group whose first thread is this one, if there is such a thread.
    fn group_from(&self, first_thread: u32) -> Option<Group> {
        let threads = self.threads.checked_sub(first_thread).filter(|&n| n > 0)?;
        let launched = WarpMask::first(threads.min(self.width) as usize);
        let id = GroupId { cta: 0, group: first_thread / self.width, first_thread };
        let p = [launched, WarpMask::EMPTY, WarpMask::EMPTY, WarpMask::EMPTY];
        let r = vec![0; 8 * self.width as usize];
        Some(Group { id, pc: 0, launched, live: launched, r, p, s: self.arguments })
    }

    /// Goes on with the next group once the threads of this one have ended.
    pub(crate) fn next_group(&mut self) {
        if let Some(group) = self.group.as_ref().filter(|g| g.live.is_empty()) {
            let next = group.id.first_thread.checked_add(self.width);
            self.group = next.and_then(|first| self.group_from(first));
        }
    }
}

impl Machine for Toy {
    const NAME: &'static str = "toy";
    type Program = Program;
    type LoadError = LoadError;
    type Launch = Launch;
    type LaunchError = LaunchError;
    type State = State;
    type Cause = Trap;

    /// Reads a flat image: code from address 0 up to `0x1_0000`, data from there on.
    fn load(&self, image: &[u8]) -> Result<Program, LoadError> {
        if image.len() > IMAGE_LIMIT {
            return Err(LoadError::TooLong(image.len() as u64));
        }
        let (code, data) = image.split_at(image.len().min(DATA as usize));
        let code = &code[..crate::trimmed(code)];
        if code.is_empty() {
            return Err(LoadError::Empty);
        }
        LazyLock::force(&OPS);
        let insn = |at: usize| Insn::decode(&image[at..image.len().min(at + 4).min(DATA as usize)]);
        let code = (0..code.len()).step_by(2).map(insn).collect();
        Ok(Program { code, data: data.to_vec() })
    }

    fn launch(&self, program: &Program, launch: Launch) -> Result<State, LaunchError> {
        let Launch { threads, width, arguments: given, mut memory } = launch;
        let mut arguments = [0; 8];
        if !(1..=64).contains(&width) {
            return Err(LaunchError::Width(width));
        }
        if threads == 0 {
            return Err(LaunchError::NoThreads);
        }
        let places = arguments.get_mut(..given.len()).ok_or(LaunchError::Arguments(given.len()))?;
        places.copy_from_slice(&given);
        program.map_data(&mut memory)?;
        let slots = LaneSlots::default();
        let mut state = State { memory, slots, width, group: None, threads, arguments };
        state.group = state.group_from(0);
        Ok(state)
    }

    fn step<O: Observer<1>>(
        &self,
        program: &Program,
        state: &mut State,
        observer: &mut O,
    ) -> Step<Trap> {
        let Some((id, pc, live)) = state.group.as_ref().map(|g| (g.id, g.pc, g.live)) else {
            return Step::Done;
        };
        let insn = program.at(pc).ok_or((Trap::NoInstruction(pc), live));
        match insn.and_then(|insn| state.issue(insn, observer)) {
            Ok(()) => {
                state.next_group();
                Step::Issued
            }
            Err((cause, lanes)) => {
                Step::Fault(Box::new(Fault { cause, group: id, pc: simt::Pc(pc), lanes }))
            }
        }
    }

    simt::compiled_runs!();

    fn slots<'s>(&self, state: &'s State) -> &'s LaneSlots {
        &state.slots
    }
}
