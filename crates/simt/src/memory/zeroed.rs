//! Zero-filled word storage: fallible, and untouched, so that the host commits no page before the
//! guest writes it. The standard library offers either of the two in safe code, not both.
//!
//! Long storage has pages of its own, large ones where the host has them: one fault and one
//! page-table entry instead of hundreds, which are most of the cost of filling a buffer once and
//! reading it once.
#![allow(
    unsafe_code,
    reason = "a fallible zeroed allocation has no safe form in the standard library, and pages are bytes"
)]

use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

use memmap2::{MmapMut, MmapOptions};

use super::HostRange;

/// Bytes of a large page; the least length of storage with pages of its own; and the greatest of
/// storage with large pages, of which a single written word commits all.
const LARGE: usize = 2 << 20;
const LONG: usize = 2 * LARGE;
const LONGEST: usize = 1 << 30;

/// Most bytes of [`Retired`] storage.
const MOST_RETIRED: usize = 1 << 30;

/// The host has no memory left for a guest allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the host cannot provide {bytes} bytes of memory")]
pub struct OutOfHostMemory {
    /// The bytes asked for.
    pub bytes: u64,
}

impl OutOfHostMemory {
    /// Ends the process as an infallible allocation does: for `Clone`, which has no other way to
    /// fail.
    pub(super) fn abort(self) -> ! {
        let bytes = usize::try_from(self.bytes).unwrap_or(isize::MAX as usize);
        handle_alloc_error(Layout::from_size_align(bytes, 1).unwrap_or(Layout::new::<u64>()))
    }
}

/// Words, initially zero.
pub(super) struct Words {
    start: NonNull<AtomicU64>,
    count: usize,
    owner: Owner,
}

/// The owner of the memory that `start` points to.
enum Owner {
    /// A `Box<[AtomicU64]>` as a raw pointer: a box would have to be the only way to its words.
    Allocator,
    Pages(MmapMut),
    /// Somebody else, who lets the words be used.
    Host,
    /// The pages are [retired](Retired).
    Nobody,
}

impl Drop for Words {
    fn drop(&mut self) {
        if let Owner::Allocator = self.owner {
            let words = std::ptr::slice_from_raw_parts_mut(self.start.as_ptr(), self.count);
            // SAFETY: `of` made the pointer from a box of this length, and nobody else frees it.
            drop(unsafe { Box::from_raw(words) });
        }
    }
}

// SAFETY: the words are owned, or lent as [`HostRange::new`] says, and accessed only through
// borrows of this value, like those of a `Box<[AtomicU64]>`, which may be sent.
unsafe impl Send for Words {}
// SAFETY: likewise, and shared.
unsafe impl Sync for Words {}

impl Deref for Words {
    type Target = [AtomicU64];

    #[inline]
    fn deref(&self) -> &[AtomicU64] {
        // SAFETY: `start` points to `count` words that live as long as `self`, and nothing else
        // accesses them meanwhile; the borrow of `self` excludes mutable ones.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.count) }
    }
}

impl DerefMut for Words {
    #[inline]
    fn deref_mut(&mut self) -> &mut [AtomicU64] {
        // SAFETY: as above, and the borrow of `self` excludes all others.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.count) }
    }
}

impl<'a> IntoIterator for &'a Words {
    type Item = &'a AtomicU64;
    type IntoIter = std::slice::Iter<'a, AtomicU64>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Debug for Words {
    /// Prints only their number: there may be many.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Words").field("count", &self.count).finish_non_exhaustive()
    }
}

impl Default for Words {
    /// No words.
    fn default() -> Self {
        Self::of(Box::default())
    }
}

impl Words {
    fn of(words: Box<[AtomicU64]>) -> Self {
        let count = words.len();
        let start = NonNull::from(Box::leak(words)).cast();
        Self { start, count, owner: Owner::Allocator }
    }

    /// The words of a host range, whose start and length are multiples of 8.
    pub(super) fn of_host(range: HostRange) -> Self {
        let count = range.len() / 8;
        Self { start: range.into_start().cast(), count, owner: Owner::Host }
    }

    /// Returns whether they are those of a host range.
    pub(super) fn is_host(&self) -> bool {
        matches!(self.owner, Owner::Host)
    }

    /// `count` words of zero.
    pub(super) fn zeroed(count: usize) -> Result<Self, OutOfHostMemory> {
        let bytes = count.saturating_mul(8);
        // Miri has no mappings without reserved memory.
        if cfg!(miri) || bytes < LONG || bytes > isize::MAX as usize - LARGE {
            return Ok(Self::of(allocated(count)?));
        }
        let error = OutOfHostMemory { bytes: bytes as u64 };
        // Memory that is never written is not reserved either: clients may have more device memory
        // than the host has memory.
        let mut options = MmapOptions::new();
        let pages = options.len(bytes + LARGE).no_reserve_swap().map_anon().map_err(|_| error)?;
        #[cfg(target_os = "linux")]
        if bytes <= LONGEST {
            let first = first_large(&pages);
            // A host without large pages ignores the advice.
            let _ = pages.advise_range(
                memmap2::Advice::HugePage,
                first,
                bytes.next_multiple_of(LARGE).min(pages.len() - first),
            );
        }
        Ok(Self::on_pages(count, pages))
    }

    /// The words of a mapping that has room for them after its first large page begins.
    fn on_pages(count: usize, mut pages: MmapMut) -> Self {
        let first = first_large(&pages);
        let start = NonNull::from(&mut pages[first..]).cast();
        Self { start, count, owner: Owner::Pages(pages) }
    }
}

/// Long storage that is no longer used, the latest last, with the number of its words. To fill its
/// pages with zeros takes a fraction of the time in which a host, above all a virtual machine,
/// provides new ones.
#[derive(Debug, Default)]
pub(super) struct Retired(Vec<(usize, MmapMut)>);

impl Retired {
    /// Returns `count` words of zero: in storage that had as many words, if there is any.
    pub(super) fn words(&mut self, count: usize) -> Result<Words, OutOfHostMemory> {
        if let Some(index) = self.0.iter().rposition(|(words, _)| *words == count) {
            let (_, mut pages) = self.0.remove(index);
            let first = first_large(&pages);
            pages[first..first + 8 * count].fill(0);
            return Ok(Words::on_pages(count, pages));
        }
        Words::zeroed(count).or_else(|_| {
            self.0.clear();
            Words::zeroed(count)
        })
    }

    /// Takes words most of whose pages were written, in place of those that were taken long before.
    /// Short storage is the allocator's.
    pub(super) fn keep(&mut self, mut words: Words) {
        if !matches!(&words.owner, Owner::Pages(pages) if pages.len() <= MOST_RETIRED) {
            return;
        }
        let owner = std::mem::replace(&mut words.owner, Owner::Nobody);
        let Owner::Pages(pages) = owner else { return };
        self.0.push((words.count, pages));
        while self.0.iter().map(|(_, pages)| pages.len()).sum::<usize>() > MOST_RETIRED {
            self.0.remove(0);
        }
    }
}

/// The offset of the first large page in a mapping.
fn first_large(pages: &MmapMut) -> usize {
    pages.as_ptr().align_offset(LARGE).min(LARGE)
}

/// `count` words of zero from the allocator.
fn allocated(count: usize) -> Result<Box<[AtomicU64]>, OutOfHostMemory> {
    let error = OutOfHostMemory { bytes: (count as u64).saturating_mul(8) };
    if count == 0 {
        return Ok(Box::default());
    }
    let layout = Layout::array::<AtomicU64>(count).map_err(|_| error)?;
    // SAFETY: the layout's size is not zero, since `count` is not.
    let words = unsafe { alloc_zeroed(layout) }.cast::<AtomicU64>();
    if words.is_null() {
        return Err(error);
    }
    // SAFETY: the pointer comes from the global allocator with the layout of `[AtomicU64; count]`,
    // nobody else has it, and all-zero bytes are a valid `AtomicU64`.
    Ok(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(words, count)) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn retired_words_are_zero_again() {
        let mut retired = Retired::default();
        let counts = [LONG / 8 + 5, LONG / 8 + 6];
        let mut starts = Vec::new();
        for count in counts {
            let mut words = Words::zeroed(count).unwrap();
            *words[count - 1].get_mut() = 7;
            starts.push(words.start);
            retired.keep(words);
        }
        for (count, start) in counts.into_iter().zip(starts) {
            let words = retired.words(count).unwrap();
            assert!(words.iter().all(|word| word.load(Relaxed) == 0));
            // Miri has storage of the allocator alone.
            assert!(cfg!(miri) || words.start == start);
        }
        assert!(retired.0.is_empty());
    }

    #[test]
    fn words_are_zero_and_writable() {
        // Miri reads some words alone: all of them would take it many minutes.
        let stride = if cfg!(miri) { 4099 } else { 1 };
        for count in [1000, LONG / 8 - 1, LONG / 8, LONG / 8 + 1, 3 * LONG / 8 + 77] {
            let mut words = Words::zeroed(count).unwrap();
            assert_eq!(words.len(), count);
            assert!(words.iter().step_by(stride).all(|w| w.load(Relaxed) == 0));
            *words[0].get_mut() = 6;
            *words[count - 1].get_mut() = 7;
            assert_eq!((words[0].load(Relaxed), words[count - 1].load(Relaxed)), (6, 7));
        }
        assert_eq!(Words::zeroed(0).unwrap().len(), 0);
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri ends where the host refuses memory")]
    fn impossible_sizes_are_errors() {
        assert_eq!(Words::zeroed(usize::MAX).map(|_| ()).unwrap_err().bytes, u64::MAX);
        assert!(Words::zeroed(isize::MAX as usize / 8).is_err());
    }
}
