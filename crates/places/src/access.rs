//! Refused accesses, explained.

use std::ops::Range;

use simt::memory::{AccessError, NULL_GUARD, Nearest, Position, Violation};

use crate::names::shown;

/// Distances from which on an allocation tells nothing of where a pointer came from: more bytes
/// than any allocation has.
const FAR: u64 = 1 << 40;

/// Addresses that programs, their stacks and what they map have on hosts of 64 bits.
const HOST_LIKE: Range<u64> = 0x5500_0000_0000..0x1_0000_0000_0000;

/// Offsets of a window that are negative numbers of 32 bits.
const NEGATIVE: Range<u64> = 1 << 31..1 << 32;

/// Whether an access has nothing to do with the allocation nearest to it, if there is one.
#[must_use]
pub fn is_far(error: &AccessError) -> bool {
    let near = |nearest: &Nearest| nearest.distance() < FAR;
    error.space.window().is_none() && !error.nearest.as_ref().is_some_and(near)
}

/// A refused access in a sentence: with names as the source has them, negative indices as such, and
/// without distances that tell nothing.
#[must_use]
pub fn explain(error: &AccessError) -> String {
    let AccessError { violation, access, addr, size, .. } = error;
    if *violation == Violation::NotMapped && is_far(error) {
        let below_null = addr.wrapping_neg();
        let what = match addr {
            _ if below_null <= NULL_GUARD => {
                format!("dereferences a null pointer minus {below_null}")
            }
            addr if HOST_LIKE.contains(addr) => {
                "is not in any allocation: it looks like a pointer to host memory".to_owned()
            }
            _ => "is not in any allocation, and far from all of them".to_owned(),
        };
        return format!("{size}-byte {access} at {addr:#x} {what}");
    }
    let mut error = error.clone();
    if let Some(nearest) = &mut error.nearest {
        if error.space.window().is_some() && NEGATIVE.contains(&error.addr) {
            *nearest = before_window(nearest, error.space.name(), error.addr);
        } else {
            nearest.name = shown(&nearest.name).into();
        }
    }
    error.to_string()
}

/// What an offset that has wrapped around lies before: the variable that stands first in the
/// window, or all of the window if that is another.
fn before_window(nearest: &Nearest, space: &str, offset: u64) -> Nearest {
    let position = Position::Before(NEGATIVE.end - offset);
    let len = nearest.base.saturating_add(nearest.len);
    match nearest.base {
        0 => Nearest { name: shown(&nearest.name).into(), position, ..nearest.clone() },
        _ => Nearest {
            name: format!("{space} memory").into(),
            base: 0,
            len,
            position,
            ..nearest.clone()
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use simt::memory::{AccessKind, Addr, BlockInfo, MemoryMap, Request, Space, Symbol};

    fn in_shared(symbols: &[(&str, u64, u64)], offset: u64) -> String {
        let symbol =
            |&(name, offset, len): &(&str, u64, u64)| Symbol { name: name.into(), offset, len };
        let symbols: Vec<Symbol> = symbols.iter().map(symbol).collect();
        let info = BlockInfo { space: Space::Shared, len: 256, symbols: &symbols };
        explain(&info.error(Violation::OutOfBounds, AccessKind::Load, offset, 4, 4))
    }

    #[test]
    fn shared_arrays_and_negative_indices() {
        let one = ("_ZZ10oob_sharedPiiE1s", 0, 128);
        assert_eq!(
            in_shared(&[one], 128),
            "4-byte load at shared address 0x80 is right past the end of \
             \"oob_shared(int*, int)::s\" (128 bytes at shared address 0x0)"
        );
        assert_eq!(
            in_shared(&[one], 0xffff_fffc),
            "4-byte load at shared address 0xfffffffc is 4 bytes before the start of \
             \"oob_shared(int*, int)::s\" (128 bytes at shared address 0x0)"
        );
        assert_eq!(
            in_shared(&[one, ("t", 128, 128)], 0xffff_fffc),
            "4-byte load at shared address 0xfffffffc is 4 bytes before the start of \
             \"shared memory\" (256 bytes at shared address 0x0)"
        );
    }

    #[test]
    fn addresses_far_from_everything() {
        let mut map = MemoryMap::new();
        map.allocate_with(Request::global("a", 64)).unwrap();
        let text = |addr| explain(&map.check(AccessKind::Store, Addr(addr), 4, 4).unwrap_err());
        assert_eq!(
            text(0x7ffd_1234_5670),
            "4-byte store at 0x7ffd12345670 is not in any allocation: it looks like a pointer to \
             host memory"
        );
        assert_eq!(
            text(0x1234_5678_9abc),
            "4-byte store at 0x123456789abc is not in any allocation, and far from all of them"
        );
        assert_eq!(
            text(u64::MAX - 3),
            "4-byte store at 0xfffffffffffffffc dereferences a null pointer minus 4"
        );
        assert!(text(0x8_0000_0000).contains("bytes past the end of \"a\""));
    }
}
