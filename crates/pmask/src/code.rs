//! A cache of decoded instructions by address.
//!
//! It affects only time. An entry holds what memory holds at its address: every write to guest
//! memory goes through [`State`](crate::state::State) and forgets the entries that it overlaps, so
//! fetches see all earlier stores.

use crate::decode::Inst;

/// Base-2 logarithm of the number of instructions kept.
const BITS: u32 = 12;
const COUNT: usize = 1 << BITS;

/// No instruction starts at an odd address.
const NOWHERE: u64 = 1;

/// Decoded instructions, each at the index that its address gives.
#[derive(Debug)]
pub(crate) struct Decoded {
    entries: Box<[(u64, Inst); COUNT]>,
    /// All entries lie from `low` to before `high`: most stores are elsewhere.
    low: u64,
    high: u64,
}

impl Default for Decoded {
    fn default() -> Self {
        let empty = vec![(NOWHERE, Inst::illegal(0, 2)); COUNT].into_boxed_slice();
        // The array has this many entries.
        let entries = empty.try_into().unwrap_or_else(|_| unreachable!());
        Self { entries, low: u64::MAX, high: 0 }
    }
}

/// Not worth copying.
impl Clone for Decoded {
    fn clone(&self) -> Self {
        Self::default()
    }
}

fn place(pc: u64) -> usize {
    (pc >> 1) as usize % COUNT
}

impl Decoded {
    /// Returns whether the instruction at an address is known.
    #[inline]
    pub(crate) fn knows(&self, pc: u64) -> bool {
        self.entries[place(pc)].0 == pc
    }

    /// Returns the cached instruction at an address. (Not an `Option`: testing one costs more than
    /// all else here.)
    #[inline]
    pub(crate) fn at(&self, pc: u64) -> Inst {
        self.entries[place(pc)].1
    }

    /// Keeps the instruction at an address.
    pub(crate) fn keep(&mut self, pc: u64, inst: Inst) {
        self.low = self.low.min(pc);
        self.high = self.high.max(pc.saturating_add(inst.len.into()));
        self.entries[place(pc)] = (pc, inst);
    }

    /// Forgets all instructions that overlap `size` bytes at an address.
    #[inline]
    pub(crate) fn forget(&mut self, addr: u64, size: u64) {
        if addr < self.high && addr.saturating_add(size) > self.low {
            self.forget_known(addr, size);
        }
    }

    #[cold]
    fn forget_known(&mut self, addr: u64, size: u64) {
        if size > COUNT as u64 {
            *self = Self::default();
            return;
        }
        // An instruction of four bytes may begin up to three bytes earlier.
        let first = addr.saturating_sub(3).next_multiple_of(2);
        for pc in (first..addr.saturating_add(size)).step_by(2) {
            let entry = &mut self.entries[place(pc)];
            if entry.0 == pc {
                entry.0 = NOWHERE;
            }
        }
    }
}
