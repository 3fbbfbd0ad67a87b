//! Reserved ranges of addresses, into which clients map memory later.

use std::collections::BTreeMap;
use std::ops::Range;

/// The addresses of reservations: a part of the global heap that allocations, which begin at its
/// start, do not reach.
const ADDRESSES: Range<u64> = 0x1000_0000_0000..0x5000_0000_0000;
/// Free bytes between reservations, so that an access beyond one does not meet the next.
const GAP: u64 = 2 << 20;
/// The least alignment of a reservation.
const ALIGN: u64 = 256;

/// The live reservations: lengths by start.
#[derive(Debug, Default)]
pub(crate) struct Reservations {
    live: BTreeMap<u64, u64>,
    /// Where the next reservation is tried.
    next: u64,
}

impl Reservations {
    /// Reserves `len` bytes at a multiple of `align`, a power of two. Returns `None` if there is no
    /// room.
    pub(crate) fn reserve(&mut self, len: u64, align: u64) -> Option<u64> {
        let align = align.max(ALIGN);
        let from = self.next.max(ADDRESSES.start);
        let start = self.gap(from, len, align).or_else(|| self.gap(ADDRESSES.start, len, align))?;
        self.live.insert(start, len);
        self.next = start + len + GAP;
        Some(start)
    }

    /// Reserves `len` bytes at an address, if they are free.
    pub(crate) fn reserve_at(&mut self, start: u64, len: u64) -> Option<u64> {
        let is_inside = ADDRESSES.contains(&start) && start.checked_add(len)? <= ADDRESSES.end;
        let before = self.live.range(..=start).next_back();
        let is_free = before.is_none_or(|(&at, &other)| at + other <= start)
            && self.live.range(start..).next().is_none_or(|(&at, _)| start + len <= at);
        if !is_inside || !is_free {
            return None;
        }
        self.live.insert(start, len);
        Some(start)
    }

    /// Returns the lowest address from `from` on with room for `len` bytes.
    fn gap(&self, from: u64, len: u64, align: u64) -> Option<u64> {
        let mut start = from.checked_next_multiple_of(align)?;
        if let Some((&at, &other)) = self.live.range(..=start).next_back() {
            start = start.max((at + other + GAP).checked_next_multiple_of(align)?);
        }
        for (&at, &other) in self.live.range(start..) {
            if start.checked_add(len)?.checked_add(GAP)? <= at {
                break;
            }
            start = (at + other + GAP).checked_next_multiple_of(align)?;
        }
        (start.checked_add(len)? <= ADDRESSES.end).then_some(start)
    }

    /// Returns the start and length of the reservation around an address.
    pub(crate) fn around(&self, address: u64) -> Option<(u64, u64)> {
        let (&start, &len) = self.live.range(..=address).next_back()?;
        (address - start < len).then_some((start, len))
    }

    /// Gives up the reservation that starts at an address; returns its length.
    pub(crate) fn release(&mut self, start: u64) -> Option<u64> {
        self.live.remove(&start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reservations_do_not_meet() {
        let mut all = Reservations::default();
        let first = all.reserve(1 << 30, 1).unwrap();
        assert_eq!(first, ADDRESSES.start);
        let second = all.reserve(100, 1 << 21).unwrap();
        assert!(second >= first + (1 << 30) + GAP && second.is_multiple_of(1 << 21));
        assert_eq!(all.around(second + 99), Some((second, 100)));
        assert_eq!(all.around(second + 100), None);
        assert_eq!(all.reserve_at(second + 50, 10), None);
        assert_eq!(all.reserve_at(first - 10, 10), None);
        assert_eq!(all.reserve_at(second + 4096, 10), Some(second + 4096));
        assert_eq!(all.release(first), Some(1 << 30));
        assert_eq!(all.release(first), None);
        // The freed addresses are not used again as long as there are others.
        assert!(all.reserve(100, 1).unwrap() > second);
    }

    #[test]
    fn freed_addresses_are_used_when_there_are_no_others() {
        let mut all = Reservations::default();
        let all_of_it = ADDRESSES.end - ADDRESSES.start;
        assert_eq!(all.reserve(all_of_it + 1, 1), None);
        let first = all.reserve(all_of_it / 2, 1).unwrap();
        all.reserve(all_of_it / 2 - GAP, 1).unwrap();
        assert_eq!(all.reserve(all_of_it / 4, 1), None);
        all.release(first);
        assert_eq!(all.reserve(all_of_it / 4, 1), Some(first));
    }
}
