//! Byte ranges laid over 64-bit words, for words held exclusively and for words shared by host threads.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Words that can be written, one way or the other.
pub(super) trait Cells {
    /// Writes a whole word.
    fn set(&mut self, index: usize, word: u64);
    /// Writes the bits of `mask`, taken from `bits`.
    fn merge(&mut self, index: usize, bits: u64, mask: u64);
}

/// Words nobody else can see: plain writes.
pub(super) struct Exclusive<'a>(pub(super) &'a mut [AtomicU64]);

impl Cells for Exclusive<'_> {
    #[inline]
    fn set(&mut self, index: usize, word: u64) {
        *self.0[index].get_mut() = word;
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
    fn set(&mut self, index: usize, word: u64) {
        self.0[index].store(word, Relaxed);
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

/// The part of one word that a byte range covers.
struct Piece {
    /// Which word.
    word: usize,
    /// The first byte covered, 0 to 7.
    first: usize,
    /// How many bytes are covered, 1 to 8.
    bytes: usize,
    /// Where in the range that byte is.
    at: usize,
}

impl Piece {
    /// The bits of the word that are covered.
    fn mask(&self) -> u64 {
        u64::MAX >> (64 - 8 * self.bytes) << (8 * self.first)
    }
}

/// The pieces of `len` bytes from `offset` on, in order. `offset + len` must fit, which every checked access does.
#[inline]
fn pieces(offset: u64, len: usize, mut each: impl FnMut(Piece)) {
    let mut word = (offset / 8) as usize;
    let mut first = (offset % 8) as usize;
    let mut at = 0;
    while at < len {
        let bytes = (8 - first).min(len - at);
        each(Piece { word, first, bytes, at });
        word += 1;
        first = 0;
        at += bytes;
    }
}

/// Copies the bytes from `offset` on into `out`.
pub(super) fn read_bytes(words: &[AtomicU64], offset: u64, out: &mut [u8]) {
    pieces(offset, out.len(), |piece| {
        let word = words[piece.word].load(Relaxed);
        let out = &mut out[piece.at..piece.at + piece.bytes];
        if let Ok(whole) = <&mut [u8; 8]>::try_from(&mut *out) {
            *whole = word.to_le_bytes();
        } else {
            out.copy_from_slice(&word.to_le_bytes()[piece.first..piece.first + piece.bytes]);
        }
    });
}

/// Copies `bytes` to `offset` on.
pub(super) fn write_bytes(cells: &mut impl Cells, offset: u64, bytes: &[u8]) {
    pieces(offset, bytes.len(), |piece| {
        let bytes = &bytes[piece.at..piece.at + piece.bytes];
        match <[u8; 8]>::try_from(bytes) {
            Ok(whole) => cells.set(piece.word, u64::from_le_bytes(whole)),
            Err(_) => {
                let mut part = [0; 8];
                part[piece.first..piece.first + piece.bytes].copy_from_slice(bytes);
                cells.merge(piece.word, u64::from_le_bytes(part), piece.mask());
            }
        }
    });
}

/// Sets `len` bytes from `offset` on to `byte`.
pub(super) fn fill(cells: &mut impl Cells, offset: u64, len: u64, byte: u8) {
    let word = u64::from_le_bytes([byte; 8]);
    pieces(offset, len as usize, |piece| match piece.bytes {
        8 => cells.set(piece.word, word),
        _ => cells.merge(piece.word, word, piece.mask()),
    });
}
