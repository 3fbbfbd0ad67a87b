//! Byte ranges laid over 64-bit words, for words held exclusively and for words shared by host
//! threads.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Words that can be written, one way or the other.
pub(super) trait Cells {
    /// Writes the bits of `mask`, taken from `bits`.
    fn merge(&mut self, index: usize, bits: u64, mask: u64);
    /// Writes whole words from one on.
    fn set(&mut self, first: usize, words: impl ExactSizeIterator<Item = u64>);
}

/// Words that nobody else can see: plain writes.
pub(super) struct Exclusive<'a>(pub(super) &'a mut [AtomicU64]);

impl Cells for Exclusive<'_> {
    #[inline]
    fn set(&mut self, first: usize, words: impl ExactSizeIterator<Item = u64>) {
        let cells = &mut self.0[first..][..words.len()];
        cells.iter_mut().zip(words).for_each(|(cell, word)| *cell.get_mut() = word);
    }

    #[inline]
    fn merge(&mut self, index: usize, bits: u64, mask: u64) {
        let word = self.0[index].get_mut();
        *word = *word & !mask | bits & mask;
    }
}

/// Words that other host threads may be reading and writing: relaxed atomics.
pub(super) struct Shared<'a>(pub(super) &'a [AtomicU64]);

impl Cells for Shared<'_> {
    #[inline]
    fn set(&mut self, first: usize, words: impl ExactSizeIterator<Item = u64>) {
        let cells = &self.0[first..][..words.len()];
        cells.iter().zip(words).for_each(|(cell, word)| cell.store(word, Relaxed));
    }

    #[inline]
    fn merge(&mut self, index: usize, bits: u64, mask: u64) {
        let cell = &self.0[index];
        if mask == u64::MAX {
            return cell.store(bits, Relaxed);
        }
        let mut old = cell.load(Relaxed);
        while let Err(now) =
            cell.compare_exchange_weak(old, old & !mask | bits & mask, Relaxed, Relaxed)
        {
            old = now;
        }
    }
}

/// A byte range laid over words: part of one, whole ones, part of one. Each may be empty.
struct Laid {
    /// The first byte's word.
    word: usize,
    /// The first byte's place in it.
    first: usize,
    /// Bytes in that word if they do not begin it; whole words after them; bytes in the word after
    /// those.
    head: usize,
    words: usize,
    tail: usize,
}

impl Laid {
    /// `len` bytes from `offset` on. Their sum must fit, which every checked access does.
    #[inline]
    fn new(offset: u64, len: usize) -> Self {
        let (word, first) = ((offset / 8) as usize, (offset % 8) as usize);
        let head = if first == 0 { 0 } else { len.min(8 - first) };
        let (words, tail) = ((len - head) / 8, (len - head) % 8);
        Self { word, first, head, words, tail }
    }

    /// The first whole word.
    const fn whole(&self) -> usize {
        self.word + (self.head > 0) as usize
    }
}

/// The bits of a word that `bytes` bytes, at least one, from byte `first` on have.
const fn mask(first: usize, bytes: usize) -> u64 {
    u64::MAX >> (64 - 8 * bytes) << (8 * first)
}

/// Up to 8 bytes as a word's, from byte `first` on.
fn word_of(first: usize, bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[first..first + bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

/// Copies the bytes from `offset` on into `out`.
pub(super) fn read_bytes(words: &[AtomicU64], offset: u64, out: &mut [u8]) {
    let laid = Laid::new(offset, out.len());
    let (head, out) = out.split_at_mut(laid.head);
    let (whole, tail) = out.split_at_mut(8 * laid.words);
    let part = |word: usize| words[word].load(Relaxed).to_le_bytes();
    if !head.is_empty() {
        head.copy_from_slice(&part(laid.word)[laid.first..laid.first + laid.head]);
    }
    let first = laid.whole();
    let from = words[first..].iter().take(laid.words);
    for (to, word) in whole.chunks_exact_mut(8).zip(from) {
        to.copy_from_slice(&word.load(Relaxed).to_le_bytes());
    }
    if !tail.is_empty() {
        tail.copy_from_slice(&part(first + laid.words)[..laid.tail]);
    }
}

/// Copies `bytes` to `offset` on.
pub(super) fn write_bytes(cells: &mut impl Cells, offset: u64, bytes: &[u8]) {
    let laid = Laid::new(offset, bytes.len());
    let (head, bytes) = bytes.split_at(laid.head);
    let (whole, tail) = bytes.split_at(8 * laid.words);
    if !head.is_empty() {
        cells.merge(laid.word, word_of(laid.first, head), mask(laid.first, laid.head));
    }
    cells.set(laid.whole(), whole.chunks_exact(8).map(|word| word_of(0, word)));
    if !tail.is_empty() {
        cells.merge(laid.whole() + laid.words, word_of(0, tail), mask(0, laid.tail));
    }
}

/// Sets `len` bytes from `offset` on to `byte`.
pub(super) fn fill(cells: &mut impl Cells, offset: u64, len: u64, byte: u8) {
    let word = u64::from_le_bytes([byte; 8]);
    let laid = Laid::new(offset, len as usize);
    if laid.head > 0 {
        cells.merge(laid.word, word, mask(laid.first, laid.head));
    }
    cells.set(laid.whole(), (0..laid.words).map(|_| word));
    if laid.tail > 0 {
        cells.merge(laid.whole() + laid.words, word, mask(0, laid.tail));
    }
}
