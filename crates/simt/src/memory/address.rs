//! Guest addresses, state spaces, and the layout of the one 64-bit address map.
//!
//! Global and constant memory are addressed by their generic address. Shared, local and parameter
//! memory are *windows*: the generic address is the window's base plus the offset in the block that
//! the thread's CTA (shared), the thread (local) or the launch (param) owns, so equal generic
//! addresses mean different bytes in different CTAs or threads. Each window is 4 GiB, so the upper
//! half of an address alone tells its space.
//!
//! | from | to (exclusive) | what |
//! |---|---|---|
//! | `0` | `0x1_0000` | null guard: never allocated; a fault here is reported as a null pointer |
//! | `0x1_0000` | `0x1_0000_0000` | free for [`map_at`](super::MemoryMap::map_at): images |
//! | `0x1_0000_0000` | `0x2_0000_0000` | shared window |
//! | `0x2_0000_0000` | `0x3_0000_0000` | local window |
//! | `0x3_0000_0000` | `0x4_0000_0000` | kernel parameter window |
//! | `0x4_0000_0000` | `0x7_0000_0000` | constant heap |
//! | `0x7_0000_0000` | `0x8000_0000_0000` | global heap |
//! | `0x8000_0000_0000` | 2^64 | free for `map_at` |
//!
//! Heaps are filled upwards from their base, so a program that allocates the same sizes in the same
//! order gets the same addresses on every host.

use std::fmt;
use std::ops::Range;

/// Addresses below this are unmapped unless a machine maps them on purpose: a fault here is a null
/// pointer.
pub const NULL_GUARD: u64 = 0x1_0000;
/// Generic addresses of shared memory.
pub const SHARED_WINDOW: Range<u64> = 0x1_0000_0000..0x2_0000_0000;
/// Generic addresses of local (per-thread) memory.
pub const LOCAL_WINDOW: Range<u64> = 0x2_0000_0000..0x3_0000_0000;
/// Generic addresses of kernel parameters.
pub const PARAM_WINDOW: Range<u64> = 0x3_0000_0000..0x4_0000_0000;
/// Where constants are allocated.
pub const CONST_HEAP: Range<u64> = 0x4_0000_0000..0x7_0000_0000;
/// Where buffers and global variables are allocated.
pub const GLOBAL_HEAP: Range<u64> = 0x7_0000_0000..0x8000_0000_0000;

/// A guest address: generic unless said otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Addr(pub u64);

impl Addr {
    /// The null pointer.
    pub const NULL: Self = Self(0);

    /// The address `bytes` further on, unless that leaves the 64-bit address space.
    #[must_use]
    pub const fn checked_add(self, bytes: u64) -> Option<Self> {
        match self.0.checked_add(bytes) {
            Some(addr) => Some(Self(addr)),
            None => None,
        }
    }

    /// The address `bytes` further on modulo 2^64, as guest address arithmetic does it.
    #[must_use]
    #[inline]
    pub const fn wrapping_add(self, bytes: u64) -> Self {
        Self(self.0.wrapping_add(bytes))
    }

    /// Returns whether the address is a multiple of `align`, which must be a power of two.
    #[must_use]
    #[inline]
    pub const fn is_aligned(self, align: u64) -> bool {
        self.0 & align.wrapping_sub(1) == 0
    }
}

/// Hexadecimal with `0x`, no padding: `0x700000404`.
impl fmt::Display for Addr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl fmt::LowerHex for Addr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::LowerHex::fmt(&self.0, f)
    }
}

impl From<u64> for Addr {
    fn from(addr: u64) -> Self {
        Self(addr)
    }
}

crate::word_enums! {
    /// A state space: which memory an address means.
    pub enum Space {
        /// Any of the others, as the address says.
        Generic "generic",
        /// Global memory, one per context.
        Global "global",
        /// Constant memory, one per context, read-only to kernels.
        Const "const",
        /// Shared memory, one block per CTA.
        Shared "shared",
        /// Local memory, one block per thread.
        Local "local",
        /// Kernel parameters, one read-only block per launch.
        Param "param",
    }
}

impl Space {
    /// The space that a generic address lies in; never [`Space::Generic`].
    ///
    /// Everything that is in no window and not in the constant heap counts as global, mapped or
    /// not.
    #[must_use]
    #[inline]
    pub const fn of(generic: Addr) -> Self {
        match generic.0 >> 32 {
            1 => Self::Shared,
            2 => Self::Local,
            3 => Self::Param,
            4..=6 => Self::Const,
            _ => Self::Global,
        }
    }

    /// The window of a space whose addresses are offsets; `None` for generic, global and constant
    /// memory, whose addresses are generic addresses.
    #[must_use]
    pub const fn window(self) -> Option<Range<u64>> {
        match self {
            Self::Shared => Some(SHARED_WINDOW),
            Self::Local => Some(LOCAL_WINDOW),
            Self::Param => Some(PARAM_WINDOW),
            Self::Generic | Self::Global | Self::Const => None,
        }
    }

    /// The lower-case name, as PTX writes it (without its dot).
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Generic => "generic",
            Self::Global => "global",
            Self::Const => "const",
            Self::Shared => "shared",
            Self::Local => "local",
            Self::Param => "param",
        }
    }
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Splits a generic address into its space and the address in that space: the offset for a window,
/// the address itself for global and constant memory.
#[must_use]
#[inline]
pub const fn resolve(generic: Addr) -> (Space, u64) {
    match Space::of(generic) {
        space @ (Space::Shared | Space::Local | Space::Param) => (space, generic.0 & 0xffff_ffff),
        space => (space, generic.0),
    }
}

/// The generic address of an address in a space: the inverse of [`resolve`].
///
/// `None` where there is none: an offset of 4 GiB or more in a window, or an "address in the
/// constant heap" of another space.
#[must_use]
#[inline]
pub const fn generic(space: Space, addr: u64) -> Option<Addr> {
    match space.window() {
        Some(window) if addr >> 32 == 0 => Some(Addr(window.start + addr)),
        Some(_) => None,
        None => match (space, Space::of(Addr(addr))) {
            (Space::Generic, _) | (Space::Global, Space::Global) | (Space::Const, Space::Const) => {
                Some(Addr(addr))
            }
            _ => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_and_heaps_tile_without_overlap() {
        let parts =
            [0..NULL_GUARD, SHARED_WINDOW, LOCAL_WINDOW, PARAM_WINDOW, CONST_HEAP, GLOBAL_HEAP];
        assert!(parts.windows(2).all(|p| p[0].end <= p[1].start && p[1].start < p[1].end));
    }

    #[test]
    fn resolve_agrees_with_the_ranges() {
        let ranges = [
            (Space::Shared, SHARED_WINDOW),
            (Space::Local, LOCAL_WINDOW),
            (Space::Param, PARAM_WINDOW),
            (Space::Const, CONST_HEAP),
            (Space::Global, GLOBAL_HEAP),
        ];
        for (space, range) in ranges {
            for addr in [range.start, range.start + 4, range.end - 1] {
                assert_eq!(Space::of(Addr(addr)), space);
                let (found, inside) = resolve(Addr(addr));
                assert_eq!(found, space);
                assert_eq!(
                    inside,
                    if space.window().is_some() { addr - range.start } else { addr }
                );
                assert_eq!(generic(space, inside), Some(Addr(addr)));
            }
        }
        assert_eq!(Space::of(Addr(0)), Space::Global);
        assert_eq!(Space::of(Addr(u64::MAX)), Space::Global);
    }

    #[test]
    fn generic_refuses_what_resolve_would_not_give_back() {
        assert_eq!(generic(Space::Shared, 1 << 32), None);
        assert_eq!(generic(Space::Const, GLOBAL_HEAP.start), None);
        assert_eq!(generic(Space::Global, SHARED_WINDOW.start), None);
        assert_eq!(generic(Space::Generic, SHARED_WINDOW.start), Some(Addr(SHARED_WINDOW.start)));
    }

    #[test]
    fn address_arithmetic() {
        assert_eq!(Addr(u64::MAX).checked_add(1), None);
        assert_eq!(Addr(u64::MAX).wrapping_add(1), Addr::NULL);
        assert!(Addr(16).is_aligned(16) && !Addr(8).is_aligned(16) && Addr(3).is_aligned(1));
        assert_eq!(Addr(0x7_0000_0404).to_string(), "0x700000404");
    }
}
