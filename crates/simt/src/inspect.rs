//! What a debugger sees of a machine's state between two issues, and what it may change.
//!
//! [`Inspect`] stands beside [`Machine`]: registers, lane sets, the state of the mechanism,
//! barriers, memory, and which instruction is issued next. Nothing here prints. Reading never
//! changes a state, but for [`Inspect::upcoming`], which does what the next step would do first.

use crate::machine::{Machine, Step};
use crate::mask::{CtaMask, LaneMask};
use crate::memory::{Block, MemoryMap, Space};
use crate::observe::{GroupId, Pc};
use std::sync::Arc;

/// The issue that a machine makes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Upcoming<const N: usize = 1> {
    /// The issue group.
    pub group: GroupId,
    /// The instruction.
    pub pc: Pc,
    /// Its active mask.
    pub lanes: LaneMask<N>,
}

/// Lanes of a group that stand at one place together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathView<const N: usize = 1> {
    /// Where they stand.
    pub pc: Pc,
    /// The lanes.
    pub lanes: LaneMask<N>,
}

/// An issue group as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupView<const N: usize = 1> {
    /// Its identity.
    pub id: GroupId,
    /// Lanes of the group.
    pub width: u32,
    /// Lanes that have a thread.
    pub launched: LaneMask<N>,
    /// Lanes whose thread has ended.
    pub exited: LaneMask<N>,
    /// Lanes that wait at a barrier or a collective.
    pub waiting: LaneMask<N>,
    /// Lanes that the machine's own mask leaves on; all lanes on machines without one.
    pub enabled: LaneMask<N>,
    /// The paths; disjoint, together the lanes that have not exited.
    pub paths: Vec<PathView<N>>,
    /// The path that runs when the group has its turn; `None` if none can run.
    pub next: Option<PathView<N>>,
}

/// The values that a register holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegisterKind {
    /// A number or an address.
    Number,
    /// One bit.
    Predicate,
    /// A bit for each lane.
    Mask,
}

/// The owner of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegisterOwner {
    /// Each lane has one.
    Lane,
    /// The group has one.
    Group,
    /// There is one, whichever group runs.
    Machine,
}

/// A register of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Register {
    /// The number that names it in the other functions of [`Inspect`].
    pub index: u32,
    /// Its name, as the program writes it.
    pub name: Arc<str>,
    /// Its size in bits.
    pub bits: u32,
    /// What it holds.
    pub kind: RegisterKind,
    /// Who owns it.
    pub owner: RegisterOwner,
}

/// A frame of a thread: 0 is the function that it executes, 1 that one's caller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FramePlace {
    /// The thread's issue group.
    pub group: GroupId,
    /// The lane in the group.
    pub lane: u32,
    /// The frame.
    pub frame: u32,
}

/// A row of a mechanism's state: an entry of a stack, a barrier register, a mask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MechanismRow<const N: usize = 1> {
    /// What the row is: `entry`, `path`, `barrier 3`.
    pub what: String,
    /// The place where its lanes stand or go on.
    pub pc: Option<Pc>,
    /// The place where they meet others.
    pub rejoin: Option<Pc>,
    /// The lanes.
    pub lanes: LaneMask<N>,
}

/// A barrier of a CTA with arrivals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BarrierView {
    /// Its number.
    pub id: u32,
    /// Threads of the CTA that have arrived.
    pub arrived: CtaMask,
    /// Those of them that wait.
    pub waiting: CtaMask,
    /// Arrivals that it counts, which may be several of a thread.
    pub arrivals: u32,
    /// Arrivals that it takes.
    pub expected: u32,
}

/// The registers that an instruction reads and writes for a lane, by index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// Registers that it reads, the guard included.
    pub reads: Vec<u32>,
    /// Registers that it writes.
    pub writes: Vec<u32>,
    /// Registers that take the value of another one, in all lanes of the group: to and from.
    /// Entries of a queue move so.
    pub moves: Vec<(u32, u32)>,
    /// Whether it writes for lanes that are off, too.
    pub unmasked: bool,
    /// Whether another state, or another lane, may have others.
    pub momentary: bool,
}

/// Why something cannot be read or changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InspectError {
    /// The CTA, group or lane is not resident.
    #[error("it is not resident now")]
    NotResident,
    /// No such register, or none of that frame.
    #[error("there is no such register in this frame")]
    NoRegister,
    /// The machine has no such memory.
    #[error("there is no {} memory here", .0.name())]
    NoMemory(Space),
    /// The machine has no such mask.
    #[error("the machine has no mask that can be set: lanes are on by their paths alone")]
    NoMask,
    /// Memory that is not mapped, or another reason, as text.
    #[error("{0}")]
    Access(String),
}

/// A machine whose states can be inspected.
pub trait Inspect<const N: usize = 1>: Machine<N> {
    /// Does what the next step does before it issues an instruction, and returns that issue. A
    /// step afterwards makes it.
    ///
    /// # Errors
    /// Returns the end of the launch if there is no such issue.
    fn upcoming(
        &self,
        program: &Self::Program,
        state: &mut Self::State,
    ) -> Result<Upcoming<N>, Step<Self::Cause, N>>;

    /// Returns the resident groups, by CTA and group.
    fn groups(&self, program: &Self::Program, state: &Self::State) -> Vec<GroupView<N>>;

    /// Returns the registers of frames of the function at a place.
    fn registers(&self, program: &Self::Program, pc: Pc) -> Vec<Register>;

    /// Returns the value of a register, low word first.
    ///
    /// # Errors
    /// If the place is not resident, or has no such register.
    fn register(
        &self,
        program: &Self::Program,
        state: &Self::State,
        at: FramePlace,
        index: u32,
    ) -> Result<u128, InspectError>;

    /// Sets a register.
    ///
    /// # Errors
    /// If the place is not resident, or has no such register.
    fn set_register(
        &self,
        program: &Self::Program,
        state: &mut Self::State,
        at: FramePlace,
        index: u32,
        value: u128,
    ) -> Result<(), InspectError>;

    /// Sets the machine's own mask of lanes that are on.
    ///
    /// # Errors
    /// If the group is not resident or the machine has no such mask.
    fn set_mask(
        &self,
        _state: &mut Self::State,
        _group: GroupId,
        _lanes: LaneMask<N>,
    ) -> Result<(), InspectError> {
        Err(InspectError::NoMask)
    }

    /// Returns the places of a thread's frames, the running function first: where it executes, then
    /// the places to which its callers' calls return. Empty if it is not resident.
    fn frames(&self, program: &Self::Program, state: &Self::State, at: FramePlace) -> Vec<Pc>;

    /// Returns the state of the group's mechanism, what runs next last.
    fn mechanism(&self, state: &Self::State, group: GroupId) -> Vec<MechanismRow<N>>;

    /// Returns the barriers of a CTA with arrivals.
    fn barriers(&self, _state: &Self::State, _cta: u64) -> Vec<BarrierView> {
        Vec::new()
    }

    /// Returns what the instruction at a place would read and write for a lane that takes part, if
    /// it were issued in this state; `None` if the machine does not tell.
    fn effects(
        &self,
        _program: &Self::Program,
        _state: &Self::State,
        _: (Pc, u32),
    ) -> Option<Effects> {
        None
    }

    /// Guest memory that all threads share.
    fn memory<'s>(&self, state: &'s Self::State) -> &'s MemoryMap;

    /// The same, to be changed or taken out for a while.
    fn memory_mut<'s>(&self, state: &'s mut Self::State) -> &'s mut MemoryMap;

    /// Called after memory was changed from outside: drops what the machine knows of it.
    fn memory_changed(&self, _state: &mut Self::State) {}

    /// Memory of a CTA or a thread: shared, local, parameters. `None` if there is none.
    fn block<'s>(&self, _state: &'s Self::State, _: Space, _: FramePlace) -> Option<&'s Block> {
        None
    }

    /// The same, to be changed.
    fn block_mut<'s>(
        &self,
        _state: &'s mut Self::State,
        _: Space,
        _: FramePlace,
    ) -> Option<&'s mut Block> {
        None
    }

    /// The variables of the program by name: space, address, bytes.
    fn variables(&self, _program: &Self::Program, _state: &Self::State) -> Vec<VariableView> {
        Vec::new()
    }

    /// The variables of a frame, which lie in the thread's local memory.
    fn frame_variables(
        &self,
        _program: &Self::Program,
        _state: &Self::State,
        _at: FramePlace,
    ) -> Vec<VariableView> {
        Vec::new()
    }

    /// What the program has printed so far.
    fn output<'s>(&self, _state: &'s Self::State) -> &'s [u8] {
        &[]
    }

    /// A digest of everything on which the rest of the launch depends, guest memory included.
    fn digest(&self, state: &Self::State) -> u64;

    /// Bytes of host memory that a copy of the state takes, guest memory aside, roughly.
    fn bytes(&self, state: &Self::State) -> usize;
}

/// A variable of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariableView {
    /// Its name.
    pub name: Arc<str>,
    /// Where it lies.
    pub space: Space,
    /// Its address in that space.
    pub address: u64,
    /// Its length in bytes.
    pub bytes: u64,
}

/// A digest under construction: FNV-1a over words.
#[derive(Clone, Copy, Debug)]
pub struct Digest(u64);

impl Default for Digest {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Digest {
    /// Adds a word.
    #[inline]
    pub fn word(&mut self, word: u64) {
        // A rotation spreads high bits, which multiplication alone moves up and out.
        self.0 = (self.0 ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
    }

    /// Adds words, and how many there are.
    pub fn words(&mut self, words: impl IntoIterator<Item = u64>) {
        let mut count = 0;
        for word in words {
            self.word(word);
            count += 1;
        }
        self.word(count);
    }

    /// Adds the contents of a block.
    pub fn block(&mut self, block: &Block) {
        self.word(block.len());
        for word in block.words() {
            self.word(word.load(std::sync::atomic::Ordering::Relaxed));
        }
    }

    /// Adds a memory map: its live regions and their bytes.
    pub fn memory(&mut self, memory: &MemoryMap) {
        let mut page = vec![0u8; 4096];
        for region in memory.regions().iter().filter(|region| region.is_live()) {
            self.words([region.base().0, region.len()]);
            let mut at = region.base();
            while at < region.end() {
                let length = (region.end().0 - at.0).min(page.len() as u64) as usize;
                if memory.read_bytes(at, &mut page[..length]).is_ok() {
                    for chunk in page[..length].chunks(8) {
                        let mut word = [0; 8];
                        word[..chunk.len()].copy_from_slice(chunk);
                        self.word(u64::from_le_bytes(word));
                    }
                }
                at.0 += length as u64;
            }
        }
    }

    /// The digest.
    #[must_use]
    pub fn finish(self) -> u64 {
        self.0
    }
}
