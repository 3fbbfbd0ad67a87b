//! Pages as they were before a launch wrote them, in chunks of host memory that outlive the launch.
//!
//! Each handle to a memory has a [`Journal`] of its own and takes chunks out of the map's
//! [`Stock`], so that keeping a page needs no lock, no allocation and no page fault of the host.
//! The stock is bounded, and shrinks while launches write less.

use std::sync::{Mutex, PoisonError};

use super::snapshot::PAGE_BYTES;

const PAGE: usize = PAGE_BYTES as usize;

/// Pages of a chunk.
const PAGES: usize = 64;

/// Most chunks that a map keeps between launches: 32 MiB, and few under Miri.
const MOST_SPARE: usize = if cfg!(miri) { 4 } else { 128 };

/// Room for [`PAGES`] pages.
#[derive(Debug)]
struct Chunk {
    /// The pages whose bytes follow each other: region, and page in it.
    pages: Vec<(u32, u32)>,
    /// A page of bytes for each; the last page of a region may use less.
    bytes: Vec<u8>,
}

impl Chunk {
    fn new() -> Option<Self> {
        let (mut pages, mut bytes) = (Vec::new(), Vec::new());
        pages.try_reserve_exact(PAGES).ok()?;
        bytes.try_reserve_exact(PAGES * PAGE).ok()?;
        Some(Self { pages, bytes })
    }

    fn clear(&mut self) {
        self.pages.clear();
        self.bytes.clear();
    }
}

/// Chunks that no launch uses.
#[derive(Debug, Default)]
pub(super) struct Stock(Mutex<Vec<Chunk>>);

impl Stock {
    fn take(&self) -> Option<Chunk> {
        let spare = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        spare.or_else(Chunk::new)
    }

    /// Takes back the chunks of a launch's journals. An eighth of the chunks that it did not need
    /// returns to the host.
    pub(super) fn put(&self, journals: impl IntoIterator<Item = Journal>) {
        let mut spare = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let unused = spare.len();
        spare.truncate(unused * 7 / 8);
        for mut chunk in journals.into_iter().flat_map(|j| j.spare.into_iter().chain(j.chunks)) {
            if spare.len() >= MOST_SPARE || spare.try_reserve(1).is_err() {
                break;
            }
            chunk.clear();
            spare.push(chunk);
        }
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

/// A page of zeros.
const ZEROS: &[u8] = &[0; PAGE];

/// Pages that one handle has kept.
#[derive(Debug, Default)]
pub(super) struct Journal {
    chunks: Vec<Chunk>,
    /// Pages that were all zero, of which no bytes are kept: region, and page in it.
    zero: Vec<(u32, u32)>,
    /// Chunks without pages.
    spare: Vec<Chunk>,
}

impl Journal {
    /// Keeps the bytes of a page; returns whether there was memory for them.
    pub(super) fn keep(&mut self, stock: &Stock, region: u32, page: u32, bytes: &[u8]) -> bool {
        let full = |chunk: &Chunk| chunk.pages.len() == PAGES;
        if self.chunks.last().is_none_or(full) {
            if self.chunks.try_reserve(1).is_err() {
                return false;
            }
            let Some(chunk) = self.spare.pop().or_else(|| stock.take()) else { return false };
            self.chunks.push(chunk);
        }
        let Some(chunk) = self.chunks.last_mut() else { return false };
        // There is capacity for both: nothing is allocated.
        chunk.bytes.resize(chunk.pages.len() * PAGE, 0);
        chunk.bytes.extend_from_slice(bytes);
        chunk.pages.push((region, page));
        true
    }

    /// Keeps a page whose bytes are all zero; returns whether there was memory for its number.
    pub(super) fn keep_zero(&mut self, region: u32, page: u32) -> bool {
        if self.zero.try_reserve(1).is_err() {
            return false;
        }
        self.zero.push((region, page));
        true
    }

    /// Returns the bytes of the pages that it has kept, but for pages that were all zero.
    pub(super) fn bytes(&self) -> usize {
        let last = self.chunks.last().map_or(0, |chunk| chunk.pages.len());
        (self.chunks.len().saturating_sub(1) * PAGES + last) * PAGE
    }

    /// Forgets all pages.
    pub(super) fn clear(&mut self) {
        self.zero.clear();
        self.chunks.iter_mut().for_each(Chunk::clear);
        if self.spare.is_empty() {
            std::mem::swap(&mut self.chunks, &mut self.spare);
        } else if self.spare.try_reserve(self.chunks.len()).is_ok() {
            self.spare.append(&mut self.chunks);
        } else {
            self.chunks.clear();
        }
    }

    /// Calls `back` with the region, number and old bytes of each page. For a short page at the end
    /// of a region, only the bytes that it has count.
    pub(super) fn replay(&self, mut back: impl FnMut(u32, u32, &[u8])) {
        for &(region, page) in &self.zero {
            back(region, page, ZEROS);
        }
        for chunk in &self.chunks {
            for (&(region, page), bytes) in chunk.pages.iter().zip(chunk.bytes.chunks(PAGE)) {
                back(region, page, bytes);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replayed(journal: &Journal) -> Vec<(u32, u32, usize, u8)> {
        let mut all = Vec::new();
        journal.replay(|region, page, bytes| all.push((region, page, bytes.len(), bytes[0])));
        all
    }

    #[test]
    fn pages_come_back_in_their_length() {
        let (stock, mut journal) = (Stock::default(), Journal::default());
        for page in 0..200u32 {
            let bytes = [page as u8; PAGE];
            let len = if page == 199 { 5 } else { PAGE };
            assert!(journal.keep(&stock, 3, page, &bytes[..len]));
        }
        let pages = replayed(&journal);
        assert_eq!(pages.len(), 200);
        for (i, page) in pages.into_iter().enumerate() {
            assert_eq!(page, (3, i as u32, if i == 199 { 5 } else { PAGE }, i as u8));
        }
        // A short page in between is padded to a whole one.
        assert!(journal.keep(&stock, 4, 0, &[9; PAGE]));
        assert_eq!(replayed(&journal)[199..], [(3, 199, PAGE, 199), (4, 0, PAGE, 9)]);
        assert_eq!(journal.bytes(), 201 * PAGE);
        journal.clear();
        assert_eq!((journal.bytes(), replayed(&journal)), (0, Vec::new()));
        assert!(journal.keep(&stock, 5, 1, &[4; PAGE]));
        assert_eq!((journal.bytes(), replayed(&journal)), (PAGE, vec![(5, 1, PAGE, 4)]));
        // No bytes are kept of a page of zeros.
        assert!(journal.keep_zero(6, 2));
        let pages = vec![(6, 2, PAGE, 0), (5, 1, PAGE, 4)];
        assert_eq!((journal.bytes(), replayed(&journal)), (PAGE, pages));
        journal.clear();
        assert_eq!(replayed(&journal), Vec::new());
    }

    #[test]
    fn chunks_are_used_again_and_given_back() {
        let (stock, mut journal) = (Stock::default(), Journal::default());
        for page in 0..(PAGES * (MOST_SPARE + 3)) as u32 {
            assert!(journal.keep(&stock, 0, page, &[1; PAGE]));
        }
        stock.put([journal]);
        assert_eq!(stock.len(), MOST_SPARE);
        let mut journal = Journal::default();
        assert!(journal.keep(&stock, 1, 2, &[7; PAGE]));
        assert_eq!((stock.len(), replayed(&journal)), (MOST_SPARE - 1, vec![(1, 2, PAGE, 7)]));
        for _ in 0..60 {
            stock.put([std::mem::take(&mut journal)]);
        }
        assert_eq!(stock.len(), 0);
    }
}
