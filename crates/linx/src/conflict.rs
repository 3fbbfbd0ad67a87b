//! The conflict check: pairs of groups of a parallel kernel whose order matters.
//!
//! Groups share memory, tiles, exports and general registers. Two of them conflict in a place if
//! one writes it and the other uses it, or if both update it and the updates do not commute or
//! return the old value. Writes of equal bytes do not conflict with each other. Groups run one
//! after another, so the first group that has used a place in some way stands for all of them: if
//! it is the group that runs, there is no other.

use std::collections::BTreeMap;
use std::fmt;

use crate::action::{Reduce, Rmw};

/// A place that groups share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shared {
    /// A byte of memory.
    Memory(u64),
    /// A byte of a tile: the tile's storage, and the offset.
    Tile(u8, u64),
    /// An export, from 0.
    Export(u8),
    /// A general register.
    Register(u8),
}

impl fmt::Display for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Memory(address) => write!(f, "{address:#x}"),
            Self::Tile(_, offset) => write!(f, "byte {offset} of a tile"),
            Self::Export(index) => write!(f, "the export ro{index}"),
            Self::Register(code) => {
                let name = crate::names::REGISTERS.get(usize::from(code));
                write!(f, "the register {}", name.unwrap_or(&"?"))
            }
        }
    }
}

/// Two groups of a parallel kernel whose order matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The place that both use and one of them changes.
    pub shared: Shared,
    /// The group that came first.
    pub first: u64,
    /// The other group.
    pub second: u64,
    /// The instructions of both.
    pub places: [u64; 2],
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { shared, first, second, places: [a, b] } = self;
        write!(
            f,
            "groups {first} (at {a:#x}) and {second} (at {b:#x}) both access {shared}, \
             and their order shows"
        )
    }
}

/// An update whose order among others of its kind does not matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Commuting {
    /// An atomic without a result.
    Atomic(Rmw),
    /// A reduction of integers, or of extremes, into an export.
    Reduction(Reduce),
}

/// The way in which a group uses a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Usage {
    Read,
    /// Writes a byte; `None` if its value does not matter.
    Write(Option<u8>),
    /// Updates the old value to a new one; `None` if it commutes with no update.
    Update(Option<Commuting>),
}

/// A group and the instruction with which it uses a place.
type User = (u64, u64);

/// The first groups that have used a place.
#[derive(Clone, Copy, Debug, Default)]
struct Touched {
    reader: Option<User>,
    writer: Option<User>,
    /// What the writers have written, if all have written the same.
    written: Option<u8>,
    updater: Option<(User, Option<Commuting>)>,
}

/// Most places that are remembered.
const MOST: usize = 1 << 20;

/// The places that the groups of the running kernel have used.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conflicts {
    touched: BTreeMap<Shared, Touched>,
    pub(crate) first: Option<Conflict>,
    /// Whether some places have not been compared because there are too many.
    pub(crate) incomplete: bool,
}

impl Conflicts {
    /// Forgets all places, because another kernel starts.
    pub(crate) fn forget(&mut self) {
        self.touched.clear();
    }

    /// Compares a use with those of other groups, and remembers it.
    pub(crate) fn note(&mut self, shared: Shared, usage: Usage, user: User) {
        if self.first.is_some() {
            return;
        }
        if self.touched.len() >= MOST && !self.touched.contains_key(&shared) {
            self.incomplete = true;
            return;
        }
        let seen = self.touched.entry(shared).or_default();
        if let Some((first, place)) = seen.rival(usage, user.0) {
            self.first = Some(Conflict { shared, first, second: user.0, places: [place, user.1] });
            return;
        }
        match (usage, &mut seen.updater) {
            (Usage::Read, _) => seen.reader = seen.reader.or(Some(user)),
            (Usage::Write(byte), _) => (seen.writer, seen.written) = (Some(user), byte),
            (Usage::Update(way), None) => seen.updater = Some((user, way)),
            // One group updates in several ways: an update that commutes with one of them does not
            // commute with all.
            (Usage::Update(way), Some((_, before))) if *before != way => *before = None,
            (Usage::Update(_), Some(_)) => {}
        }
    }
}

impl Touched {
    /// Another group whose use of the place does not commute with this one.
    fn rival(&self, usage: Usage, group: u64) -> Option<User> {
        let updater = self.updater.map(|(by, _)| by);
        let clashing = self.updater.filter(|&(_, before)| match usage {
            Usage::Update(way) => way.is_none() || way != before,
            _ => true,
        });
        let rivals = match usage {
            Usage::Read => [self.writer, updater, None],
            // Equal bytes: whoever comes last leaves the same.
            Usage::Write(Some(byte)) if self.written == Some(byte) => [self.reader, updater, None],
            Usage::Write(_) => [self.writer, self.reader, updater],
            Usage::Update(_) => [self.writer, self.reader, clashing.map(|(by, _)| by)],
        };
        rivals.into_iter().flatten().find(|&(by, _)| by != group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADD: Usage = Usage::Update(Some(Commuting::Atomic(Rmw::Add)));
    const XOR: Usage = Usage::Update(Some(Commuting::Atomic(Rmw::Xor)));
    const ANY: Usage = Usage::Update(None);

    /// Returns the conflict that is found when groups use one place in this order.
    fn found(uses: &[(u64, Usage)]) -> Option<(u64, u64)> {
        let mut check = Conflicts::default();
        uses.iter().for_each(|&(group, usage)| check.note(Shared::Memory(0), usage, (group, 0)));
        check.first.map(|c| (c.first, c.second))
    }

    #[test]
    fn what_commutes_is_no_conflict() {
        use Usage::Read;
        const WRITE: Usage = Usage::Write(None);
        const ONE: Usage = Usage::Write(Some(1));
        assert_eq!(found(&[(0, ONE), (1, ONE), (2, ONE)]), None);
        assert_eq!(found(&[(0, ONE), (1, ONE), (2, Usage::Write(Some(2)))]), Some((1, 2)));
        assert_eq!(found(&[(0, ONE), (1, Read)]), Some((0, 1)));
        assert_eq!(found(&[(0, Read), (1, ONE)]), Some((0, 1)));
        assert_eq!(found(&[(0, Read), (1, Read), (2, Read)]), None);
        assert_eq!(found(&[(0, WRITE), (0, Read), (0, ADD), (0, WRITE)]), None);
        assert_eq!(found(&[(0, ADD), (1, ADD), (2, ADD)]), None);
        assert_eq!(found(&[(3, WRITE), (1, WRITE)]), Some((3, 1)));
        assert_eq!(found(&[(3, WRITE), (1, Read)]), Some((3, 1)));
        // The group that writes has read as well: the other reader is the one that it conflicts
        // with.
        assert_eq!(found(&[(0, Read), (1, Read), (1, WRITE)]), Some((0, 1)));
        assert_eq!(found(&[(0, ADD), (1, Read)]), Some((0, 1)));
        assert_eq!(found(&[(0, ADD), (1, WRITE)]), Some((0, 1)));
        assert_eq!(found(&[(0, ADD), (1, XOR)]), Some((0, 1)));
        assert_eq!(found(&[(0, ADD), (0, XOR), (1, ADD)]), Some((0, 1)));
        assert_eq!(found(&[(0, ADD), (1, ANY)]), Some((0, 1)));
        assert_eq!(found(&[(0, ANY), (1, ANY)]), Some((0, 1)));
    }

    #[test]
    fn a_conflict_says_what_is_shared() {
        let says = |shared| Conflict { shared, first: 1, second: 2, places: [8, 12] }.to_string();
        assert!(
            says(Shared::Memory(64))
                .starts_with("groups 1 (at 0x8) and 2 (at 0xc) both access 0x40, and")
        );
        assert!(says(Shared::Register(9)).contains("the register a7"));
        assert!(says(Shared::Export(1)).contains("the export ro1"));
        assert!(says(Shared::Tile(3, 12)).contains("byte 12 of a tile"));
    }
}
