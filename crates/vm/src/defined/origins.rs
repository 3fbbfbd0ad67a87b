//! Where undefined values come from, and what they decide.

use super::Definedness;
use ir::mods::Space;
use simt::Pc;
use simt::memory::AccessKind;

/// The origin of undefined values: an instruction that read what nobody has written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OriginId(pub(super) u32);

impl OriginId {
    /// A register that was never written, or memory whose reader is not known.
    pub const UNWRITTEN: Self = Self(0);
}

/// Where undefined values come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The launch: see [`Definedness::launch`].
    pub launch: usize,
    /// The instruction that read them; `None` for registers, which have no first reader.
    pub pc: Option<Pc>,
    /// The space that it read from.
    pub space: Space,
    /// The kind of the access.
    pub kind: AccessKind,
    /// The first address: a guest address, or an offset in shared or local memory.
    pub address: u64,
    /// The CTA, and the thread in it, that read it first.
    pub thread: (u64, u32),
    /// How often the instruction has read undefined bits.
    pub count: u64,
}

/// What an undefined value decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Decides {
    /// Which lanes execute something, or where they go.
    Branch,
    /// Which memory is accessed, or which function is called.
    Address,
    /// What a kernel prints.
    Output,
}

/// An instruction for which an undefined value decides something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UndefinedUse {
    /// Where the value comes from; `None` for a register that was never written.
    pub origin: Option<Origin>,
    /// The launch.
    pub launch: usize,
    /// The instruction.
    pub pc: Pc,
    /// What is decided.
    pub decides: Decides,
    /// The CTA, and the thread in it, of the first such value.
    pub thread: (u64, u32),
    /// How often it was so.
    pub count: u64,
}

/// Most origins and most uses that are kept.
pub(super) const MOST: usize = 1 << 14;

impl Definedness {
    /// Removes and returns what undefined values have decided.
    pub fn take_uses(&mut self) -> Vec<UndefinedUse> {
        self.used.clear();
        let mut uses = std::mem::take(&mut self.uses);
        for used in &mut uses {
            // Read again since.
            used.origin = used.origin.map(|origin| self.current(origin));
        }
        uses
    }

    fn current(&self, origin: Origin) -> Origin {
        let same =
            |o: &&Origin| (o.launch, o.pc, o.space) == (origin.launch, origin.pc, origin.space);
        self.origins.iter().find(same).copied().unwrap_or(origin)
    }

    /// Returns whether undefined values were read first in a launch.
    #[must_use]
    pub fn has_origins(&self, launch: usize) -> bool {
        self.origins.iter().rev().any(|origin| origin.launch == launch)
    }

    /// Returns where values come from.
    #[must_use]
    pub fn origin(&self, id: OriginId) -> Option<Origin> {
        self.origins.get((id.0 as usize).checked_sub(1)?).copied()
    }

    /// Returns where the undefined values come from that stand in memory because they were stored.
    #[must_use]
    pub fn stored(&self) -> Vec<Origin> {
        let mut ids: Vec<OriginId> = self.memory.origins().into_iter().collect();
        ids.sort_unstable();
        ids.into_iter().filter_map(|id| self.origin(id)).collect()
    }
}
