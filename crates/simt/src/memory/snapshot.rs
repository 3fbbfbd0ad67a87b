//! Copy-on-write snapshots at page granularity.
//!
//! Live storage stays flat, accompanied by a byte per page that says whether the page was written
//! since the last snapshot, and by the page table of that snapshot. Taking a snapshot copies the
//! pages written since then and shares all others; pages that are all zero are not stored at all.

use std::sync::Arc;
use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering::Relaxed;

use super::zeroed::Retired;
use super::{Block, HostRange, OutOfHostMemory};

/// Bytes of a page: the granularity at which snapshots share memory.
pub const PAGE_BYTES: u64 = 4096;

pub(super) const PAGE_WORDS: usize = (PAGE_BYTES / 8) as usize;

pub(super) type Page = [u64; PAGE_WORDS];

/// The contents of one block at one time. A page that is absent is all zero, and so are those
/// beyond the end.
///
/// Always holds: no stored page is all zero, so that equal contents have pages at the same places.
#[derive(Clone, Debug, Default)]
pub(super) struct Pages(Vec<Option<Arc<Page>>>);

impl Pages {
    pub(super) fn get(&self, index: usize) -> Option<&Arc<Page>> {
        self.0.get(index).and_then(Option::as_ref)
    }

    fn set(&mut self, index: usize, page: Option<Arc<Page>>) {
        if self.0.len() <= index {
            self.0.resize(index + 1, None);
        }
        self.0[index] = page;
    }

    /// Number of stored pages.
    pub(super) fn stored(&self) -> usize {
        self.0.iter().flatten().count()
    }

    /// Number of stored pages that both share.
    pub(super) fn shared_with(&self, other: &Self) -> usize {
        let pairs = self.0.iter().zip(&other.0);
        pairs
            .filter(|(a, b)| a.as_ref().zip(b.as_ref()).is_some_and(|(a, b)| Arc::ptr_eq(a, b)))
            .count()
    }

    /// The table with page `index` now holding `words` (fewer than a page at the end of a block);
    /// the old page is kept if it is equal.
    pub(super) fn update(table: &mut Arc<Self>, index: usize, words: impl Iterator<Item = u64>) {
        let mut page = [0; PAGE_WORDS];
        for (to, from) in page.iter_mut().zip(words) {
            *to = from;
        }
        let zero = page.iter().all(|&w| w == 0);
        let unchanged = match table.get(index) {
            Some(old) => **old == page,
            None => zero,
        };
        if !unchanged {
            Arc::make_mut(table).set(index, (!zero).then(|| Arc::new(page)));
        }
    }
}

/// Equal contents.
impl PartialEq for Pages {
    fn eq(&self, other: &Self) -> bool {
        let same = |i| match (self.get(i), other.get(i)) {
            (None, None) => true,
            (Some(a), Some(b)) => Arc::ptr_eq(a, b) || a == b,
            _ => false,
        };
        (0..self.0.len().max(other.0.len())).all(same)
    }
}

impl Eq for Pages {}

/// Returns whether two pages are the same memory (or both absent, hence zero).
fn identical(a: Option<&Arc<Page>>, b: Option<&Arc<Page>>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => Arc::ptr_eq(a, b),
        _ => false,
    }
}

/// A block that knows which of its pages were written since its last snapshot.
///
/// Always holds: a page that is not marked equals that page of `base`, but for blocks that show a
/// host range, which others write.
#[derive(Debug)]
pub(super) struct Tracked {
    /// The live bytes. Whoever writes them marks their pages.
    pub(super) block: Block,
    dirty: Box<[AtomicU8]>,
    base: Arc<Pages>,
}

impl Tracked {
    /// `len` zero bytes.
    pub(super) fn zeroed(len: u64) -> Result<Self, OutOfHostMemory> {
        Self::of(Block::zeroed(len)?)
    }

    /// As [`Self::zeroed`], on retired storage if there is any of this length.
    pub(super) fn zeroed_from(retired: &mut Retired, len: u64) -> Result<Self, OutOfHostMemory> {
        Self::of(Block::zeroed_from(retired, len)?)
    }

    /// A host range, whose start and length are multiples of 8, with all pages marked.
    pub(super) fn of_host(range: HostRange) -> Result<Self, OutOfHostMemory> {
        let mut tracked = Self::of(Block::of_host(range))?;
        tracked.mark_all();
        Ok(tracked)
    }

    /// Returns whether it shows a host range.
    pub(super) fn is_host(&self) -> bool {
        self.block.is_host()
    }

    /// A block without marks, of zeros or of others.
    fn of(block: Block) -> Result<Self, OutOfHostMemory> {
        let count = block.words().len().div_ceil(PAGE_WORDS);
        let mut dirty = Vec::new();
        dirty.try_reserve_exact(count).map_err(|_| OutOfHostMemory { bytes: count as u64 })?;
        dirty.resize_with(count, AtomicU8::default);
        Ok(Self { block, dirty: dirty.into_boxed_slice(), base: Arc::default() })
    }

    /// Returns the live bytes, by page whether it was written since the last snapshot, and that
    /// snapshot. Whoever writes the bytes sets the flags.
    pub(super) fn parts(&mut self) -> (&mut Block, &[AtomicU8], &Pages) {
        (&mut self.block, &self.dirty, &self.base)
    }

    /// Ends the use of the bytes. Storage that was written for the most part is kept for the next
    /// of the same length.
    pub(super) fn retire(self, retired: &mut Retired) {
        let written = self.dirty.iter().filter(|page| page.load(Relaxed) != 0).count();
        if 2 * (written + self.base.stored()) >= self.dirty.len() {
            self.block.retire(retired);
        }
    }

    /// Marks the page of an aligned scalar as written.
    #[inline]
    pub(super) fn mark(&mut self, offset: u64) {
        *self.dirty[(offset / PAGE_BYTES) as usize].get_mut() = 1;
    }

    /// The same while other host threads may mark pages too.
    #[inline]
    pub(super) fn mark_shared(&self, offset: u64) {
        self.dirty[(offset / PAGE_BYTES) as usize].store(1, Relaxed);
    }

    /// Marks all pages as written.
    pub(super) fn mark_all(&mut self) {
        self.dirty.iter_mut().for_each(|page| *page.get_mut() = 1);
    }

    /// Marks the pages of a byte range as written.
    pub(super) fn mark_range(&self, offset: u64, len: u64) {
        if len > 0 {
            for page in offset / PAGE_BYTES..=(offset + len - 1) / PAGE_BYTES {
                self.dirty[page as usize].store(1, Relaxed);
            }
        }
    }

    /// The contents as pages, shared with the last snapshot where nothing was written since.
    pub(super) fn snapshot(&mut self) -> Arc<Pages> {
        let is_host = self.is_host();
        let words = self.block.words();
        for (index, dirty) in self.dirty.iter_mut().enumerate() {
            if std::mem::take(dirty.get_mut()) != 0 || is_host {
                let words = words[index * PAGE_WORDS..].iter().take(PAGE_WORDS);
                Pages::update(&mut self.base, index, words.map(|w| w.load(Relaxed)));
            }
        }
        Arc::clone(&self.base)
    }

    /// Returns the numbers of the pages that may differ from a snapshot of this block.
    pub(super) fn changed_since<'a>(
        &'a self,
        pages: &'a Pages,
    ) -> impl Iterator<Item = usize> + 'a {
        let may_differ = |&index: &usize| {
            let is_marked = self.is_host() || self.dirty[index].load(Relaxed) != 0;
            is_marked || !identical(self.base.get(index), pages.get(index))
        };
        (0..self.dirty.len()).filter(may_differ)
    }

    /// Makes the contents those of a snapshot of a block of the same length, touching only pages
    /// that may differ.
    pub(super) fn restore(&mut self, pages: &Arc<Pages>) {
        let is_host = self.is_host();
        let words = self.block.words_mut();
        for (index, dirty) in self.dirty.iter_mut().enumerate() {
            let wanted = pages.get(index);
            let is_marked = std::mem::take(dirty.get_mut()) != 0 || is_host;
            if !is_marked && identical(self.base.get(index), wanted) {
                continue;
            }
            let words = words[index * PAGE_WORDS..].iter_mut().take(PAGE_WORDS);
            for (i, word) in words.enumerate() {
                *word.get_mut() = wanted.map_or(0, |page| page[i]);
            }
        }
        self.base = Arc::clone(pages);
    }

    /// A deep copy of the live bytes, of its own, that shares its last snapshot's pages with the
    /// original.
    pub(super) fn try_clone(&self) -> Result<Self, OutOfHostMemory> {
        let mut copy = Self::zeroed(self.block.len())?;
        for (index, dirty) in self.dirty.iter().enumerate() {
            let marked = if self.is_host() { 1 } else { dirty.load(Relaxed) };
            if marked == 0 && self.base.get(index).is_none() {
                continue;
            }
            *copy.dirty[index].get_mut() = marked;
            let range =
                index * PAGE_WORDS..((index + 1) * PAGE_WORDS).min(self.block.words().len());
            for (to, from) in
                copy.block.words_mut()[range.clone()].iter_mut().zip(&self.block.words()[range])
            {
                *to.get_mut() = from.load(Relaxed);
            }
        }
        copy.base = Arc::clone(&self.base);
        Ok(copy)
    }
}
