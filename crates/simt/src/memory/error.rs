//! Errors of guest memory: of accesses ([`AccessError`]) and of changes of the map ([`MapError`]).

use std::fmt;
use std::sync::Arc;

use super::{Addr, OutOfHostMemory, Space};

/// The rule that an access broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, thiserror::Error)]
pub enum Violation {
    /// The address lies in the null guard, [`NULL_GUARD`](super::NULL_GUARD).
    #[error("null pointer")]
    Null,
    /// The address is not a multiple of the access's natural alignment.
    #[error("misaligned")]
    Misaligned,
    /// The allocation has been freed.
    #[error("use after free")]
    Freed,
    /// A store or an atomic on read-only memory.
    #[error("read-only")]
    ReadOnly,
    /// Not wholly inside an allocation, but close to one.
    #[error("out of bounds")]
    OutOfBounds,
    /// Nowhere near an allocation.
    #[error("not mapped")]
    NotMapped,
    /// Memory of a device that another one may not access.
    #[error("memory of another device")]
    OtherDevice {
        /// The device that accesses it.
        by: u8,
        /// The device whose memory it is.
        owner: u8,
        /// Whether peer access would allow it.
        peers: bool,
    },
    /// A generic address of a window (shared, local, param), used where only global and constant
    /// memory is meant.
    #[error("wrong state space")]
    WrongSpace,
}

impl Violation {
    /// A stable short name, as launch files and tests refer to it.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Null => "null-pointer",
            Self::Misaligned => "misaligned",
            Self::Freed => "use-after-free",
            Self::ReadOnly => "read-only",
            Self::OutOfBounds => "out-of-bounds",
            Self::NotMapped => "not-mapped",
            Self::OtherDevice { .. } => "other-device",
            Self::WrongSpace => "wrong-space",
        }
    }
}

/// The kind of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AccessKind {
    /// Reads.
    Load,
    /// Writes.
    Store,
    /// Reads and writes as one.
    Atomic,
}

impl AccessKind {
    /// Returns whether read-only memory refuses it.
    #[must_use]
    #[inline]
    pub const fn writes(self) -> bool {
        !matches!(self, Self::Load)
    }
}

impl fmt::Display for AccessKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Load => "load",
            Self::Store => "store",
            Self::Atomic => "atomic",
        })
    }
}

/// The position of an access relative to an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// It starts this many bytes before the first byte.
    Before(u64),
    /// It starts at this byte of the allocation.
    At(u64),
    /// It starts this many bytes past the end; 0 is the first byte after it.
    Past(u64),
}

/// The allocation closest to a failed access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nearest {
    /// Its name.
    pub name: Arc<str>,
    /// Its first byte: an address, or an offset in a window.
    pub base: u64,
    /// Its length in bytes.
    pub len: u64,
    /// Whether it has been freed.
    pub freed: bool,
    /// The position of the access.
    pub position: Position,
}

/// A named part of a window's block, such as a shared variable: for error texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Its name.
    pub name: Arc<str>,
    /// Its first byte in the block.
    pub offset: u64,
    /// Its length in bytes.
    pub len: u64,
}

/// An access that was refused. It has changed nothing.
///
/// It names the place in memory; whoever executes adds machine, launch, CTA, warp, lanes and pc.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct AccessError {
    /// The rule it broke.
    pub violation: Violation,
    /// The kind of the access.
    pub access: AccessKind,
    /// The space that `addr` is an address of: [`Space::Generic`] for the map, or the space of a
    /// block.
    pub space: Space,
    /// The first byte: a generic address, or an offset if `space` has a window.
    pub addr: u64,
    /// Number of bytes.
    pub size: u64,
    /// The alignment it needed, in bytes.
    pub align: u64,
    /// The closest allocation, if there is any at all.
    pub nearest: Option<Nearest>,
}

/// The outcome of an access to the map; the error is boxed to keep the good path short.
pub type AccessResult<T> = Result<T, Box<AccessError>>;

/// A block as error texts name it: its space, and the variables in it.
#[derive(Clone, Copy, Debug)]
pub struct BlockInfo<'a> {
    /// The space whose window shows it.
    pub space: Space,
    /// Its length in bytes.
    pub len: u64,
    /// Its named parts, in any order; without any the block itself is named.
    pub symbols: &'a [Symbol],
}

impl BlockInfo<'_> {
    /// The error for an access of `size` bytes at `offset` that a [`Block`](super::Block) refused.
    #[must_use]
    #[cold]
    pub fn error(
        &self,
        violation: Violation,
        access: AccessKind,
        offset: u64,
        size: u64,
        align: u64,
    ) -> Box<AccessError> {
        let named = |s: &Symbol| Nearest::new(&s.name, s.offset, s.len, false, offset);
        let whole = || {
            let name = format!("{} memory", self.space).into();
            Nearest::new(&name, 0, self.len, false, offset)
        };
        let nearest = self.symbols.iter().map(named).min_by_key(Nearest::distance);
        let nearest = Some(nearest.unwrap_or_else(whole));
        Box::new(AccessError {
            violation,
            access,
            space: self.space,
            addr: offset,
            size,
            align,
            nearest,
        })
    }
}

impl Nearest {
    pub(super) fn new(name: &Arc<str>, base: u64, len: u64, freed: bool, addr: u64) -> Self {
        let position = match addr.checked_sub(base) {
            None => Position::Before(base - addr),
            Some(at) if at < len => Position::At(at),
            Some(at) => Position::Past(at - len),
        };
        Self { name: Arc::clone(name), base, len, freed, position }
    }

    /// Bytes between the access's first byte and the allocation; an access at the very end counts
    /// as one byte away.
    #[must_use]
    pub fn distance(&self) -> u64 {
        match self.position {
            Position::Before(bytes) => bytes,
            Position::At(_) => 0,
            Position::Past(bytes) => bytes.saturating_add(1),
        }
    }
}

/// `"y" (1024 bytes at 0x700000000)`, in a window `"tile" (1024 bytes at shared address 0x0)`.
struct Named<'a>(&'a Nearest, Space);

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Nearest { name, base, len, freed, .. } = self.0;
        let freed = if *freed { ", freed" } else { "" };
        write!(f, "\"{name}\" ({len} byte{} at {}{freed})", plural(*len), Located(*base, self.1))
    }
}

/// `0x700000000`, in a window `shared address 0x0`.
struct Located(u64, Space);

impl fmt::Display for Located {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.1.window().is_some() {
            write!(f, "{} address ", self.1)?;
        }
        write!(f, "{:#x}", self.0)
    }
}

const fn plural(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { violation, access, space, addr, size, align, .. } = self;
        write!(f, "{size}-byte {access} at {} ", Located(*addr, *space))?;
        match violation {
            Violation::Null if *addr == 0 => f.write_str("dereferences a null pointer"),
            Violation::Null => write!(f, "dereferences a null pointer plus {addr}"),
            Violation::WrongSpace => {
                let found = Space::of(Addr(*addr));
                write!(f, "is in the {found} window, not in global or constant memory")
            }
            Violation::Misaligned => {
                write!(f, "is misaligned: it needs a multiple of {align}")?;
                self.place(f, "; it is")
            }
            Violation::Freed => {
                f.write_str("is a use after free: it")?;
                self.place(f, " is")
            }
            Violation::ReadOnly => {
                f.write_str("writes read-only memory: it")?;
                self.place(f, " is")
            }
            Violation::OutOfBounds => self.place(f, "is"),
            Violation::NotMapped => {
                f.write_str("is not in any allocation")?;
                self.place(f, "; it is")
            }
            Violation::OtherDevice { by, owner, peers } => {
                write!(f, "is in memory of device {owner}, which device {by} may not access: it")?;
                self.place(f, " is")?;
                match peers {
                    true => write!(f, "; device {by} has to enable peer access to device {owner}"),
                    false => write!(f, "; device {by} needs access to the pool or the mapping"),
                }
            }
        }
    }
}

impl AccessError {
    /// Says where the access lies relative to the nearest allocation: `is 4 bytes past the end of
    /// "y" (...)`.
    fn place(&self, f: &mut fmt::Formatter<'_>, is: &str) -> fmt::Result {
        let Some(nearest) = &self.nearest else { return Ok(()) };
        let named = Named(nearest, self.space);
        match nearest.position {
            Position::Before(n) => {
                write!(f, "{is} {n} byte{} before the start of {named}", plural(n))
            }
            Position::Past(0) => write!(f, "{is} right past the end of {named}"),
            Position::Past(n) => write!(f, "{is} {n} byte{} past the end of {named}", plural(n)),
            Position::At(at) => {
                write!(f, "{is} at byte {at} of {named}")?;
                match (at.saturating_add(self.size)).checked_sub(nearest.len) {
                    None | Some(0) => Ok(()),
                    Some(n) => write!(f, " and reaches {n} byte{} past its end", plural(n)),
                }
            }
        }
    }
}

/// A change of the address map that was refused. It has changed nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MapError {
    /// The configured limit of mapped bytes.
    #[error(
        "cannot allocate {len} bytes for \"{name}\": {mapped} of at most {limit} bytes of guest memory are in use"
    )]
    Limit {
        /// The allocation's name.
        name: Arc<str>,
        /// The bytes asked for.
        len: u64,
        /// The bytes in use.
        mapped: u64,
        /// The limit.
        limit: u64,
    },
    /// The host has no memory left.
    #[error("cannot allocate \"{name}\": {error}")]
    Host {
        /// The allocation's name.
        name: Arc<str>,
        /// The allocation that the host refused.
        error: OutOfHostMemory,
    },
    /// No gap of the heap is long enough.
    #[error(
        "cannot allocate {len} bytes for \"{name}\": no gap in the {heap} address range is long enough"
    )]
    AddressSpace {
        /// The allocation's name.
        name: Arc<str>,
        /// The bytes asked for.
        len: u64,
        /// The full heap.
        heap: Space,
    },
    /// An alignment that is not a power of two, or an address that does not have it.
    #[error("cannot allocate \"{name}\": an alignment of {align} bytes is not possible here")]
    Alignment {
        /// The allocation's name.
        name: Arc<str>,
        /// The alignment asked for.
        align: u64,
    },
    /// A fixed address range that is taken, reserved for a window, or beyond the end of the address
    /// space.
    #[error("cannot map \"{name}\" ({len} bytes at {base}): the range meets {with}")]
    Overlap {
        /// The region's name.
        name: Arc<str>,
        /// The requested address.
        base: Addr,
        /// The bytes asked for.
        len: u64,
        /// The region or window that is already there.
        with: String,
    },
    /// An address at which no allocation starts.
    #[error("no allocation starts at {addr}{}", .inside.as_ref().map_or_else(String::new, |name| format!(": it is inside \"{name}\"")))]
    NotAllocated {
        /// The address.
        addr: Addr,
        /// The allocation around the address, if there is one.
        inside: Option<Arc<str>>,
    },
    /// An allocation that has been freed already.
    #[error("\"{name}\" at {addr} has been freed already")]
    AlreadyFreed {
        /// The address.
        addr: Addr,
        /// The allocation's name.
        name: Arc<str>,
    },
    /// A host range that cannot be the bytes of a region.
    #[error("\"{name}\" can only show {len} bytes of aligned little-endian words")]
    HostRangeShape {
        /// The region's name.
        name: Arc<str>,
        /// Its length in bytes.
        len: u64,
    },
    /// A snapshot holds a host range that no region shows any more.
    #[error("cannot restore the snapshot: its host range \"{name}\" is not there any more")]
    HostRangeGone {
        /// The range's name.
        name: Arc<str>,
    },
}
