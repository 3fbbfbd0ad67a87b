//! A flat, owned, zero-initialised byte array with checked little-endian access: what global
//! regions, shared memory, local memory and parameters are all made of.
//!
//! Bytes live in 64-bit words, byte `i` of a word in bits `8i..8i + 8`, on every host. Through
//! `&mut` words are plain memory. Through `&` every access is a relaxed atomic of a whole word (a
//! store of part of a word is a compare-exchange loop), so host threads may share a block whatever
//! a racing guest does: all accesses are atomics of one size, which is defined behaviour. Words
//! that the host lends are accessed in this way through `&mut`, too, because threads of the host
//! may access them at the same time.
//!
//! Always holds: a block of `len` bytes has `len.div_ceil(8)` words, and bytes of the last word
//! beyond `len` are zero.

use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use super::words::{self, Cells, Exclusive, Shared};
use super::zeroed::{Retired, Words};
use super::{HostRange, OutOfHostMemory, Violation};

/// The size of a scalar access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Width {
    /// One byte.
    B1,
    /// Two bytes.
    B2,
    /// Four bytes.
    B4,
    /// Eight bytes.
    B8,
}

impl Width {
    /// The width of this many bytes, if there is one. 16-byte accesses have functions of their own.
    #[must_use]
    pub const fn from_bytes(bytes: u64) -> Option<Self> {
        match bytes {
            1 => Some(Self::B1),
            2 => Some(Self::B2),
            4 => Some(Self::B4),
            8 => Some(Self::B8),
            _ => None,
        }
    }

    /// Number of bytes.
    #[must_use]
    #[inline]
    pub const fn bytes(self) -> u64 {
        1 << self as u64
    }

    /// Number of bits.
    #[must_use]
    #[inline]
    pub const fn bits(self) -> u32 {
        8 << self as u32
    }

    /// The bits that a value of this width may use.
    #[must_use]
    #[inline]
    pub const fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }
}

/// An owned array of bytes, zero at first. See the module's text for the rules.
pub struct Block {
    words: Words,
    len: u64,
}

/// The word that holds byte `offset`, and the shift of that byte in it.
#[inline]
const fn place(offset: u64) -> (usize, u32) {
    ((offset / 8) as usize, (offset % 8 * 8) as u32)
}

impl Block {
    /// Returns a block of `len` zero bytes. The host commits its pages when they are first written.
    ///
    /// # Errors
    /// Returns [`OutOfHostMemory`] if the host does not have that much memory.
    pub fn zeroed(len: u64) -> Result<Self, OutOfHostMemory> {
        Self::zeroed_from(&mut Retired::default(), len)
    }

    /// Returns a block of `len` zero bytes, on retired storage if there is any of this length.
    pub(super) fn zeroed_from(retired: &mut Retired, len: u64) -> Result<Self, OutOfHostMemory> {
        let words = usize::try_from(len.div_ceil(8)).map_err(|_| OutOfHostMemory { bytes: len })?;
        Ok(Self { words: retired.words(words)?, len })
    }

    /// Returns the block of a host range, whose start and length are multiples of 8.
    pub(super) fn of_host(range: HostRange) -> Self {
        let len = range.len() as u64;
        Self { words: Words::of_host(range), len }
    }

    /// Returns whether its bytes are those of a host range.
    pub(super) fn is_host(&self) -> bool {
        self.words.is_host()
    }

    /// Ends the use of a block most of which was written.
    pub(super) fn retire(self, retired: &mut Retired) {
        retired.keep(self.words);
    }

    /// Returns a block with these bytes.
    ///
    /// # Errors
    /// Returns [`OutOfHostMemory`] if the host does not have that much memory.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, OutOfHostMemory> {
        let mut block = Self::zeroed(bytes.len() as u64)?;
        block.put_bytes(0, bytes);
        Ok(block)
    }

    /// Returns a deep copy; reports a lack of memory.
    ///
    /// # Errors
    /// Returns [`OutOfHostMemory`] if the host does not have that much memory.
    pub fn try_clone(&self) -> Result<Self, OutOfHostMemory> {
        let mut copy = Self::zeroed(self.len)?;
        for (to, from) in copy.words.iter_mut().zip(&self.words) {
            let word = from.load(Relaxed);
            // Untouched pages of the copy stay untouched.
            if word != 0 {
                *to.get_mut() = word;
            }
        }
        Ok(copy)
    }

    /// Length in bytes.
    #[must_use]
    #[inline]
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// Returns whether the block has no bytes.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The words, byte 0 in the low byte of word 0.
    #[must_use]
    pub fn words(&self) -> &[AtomicU64] {
        &self.words
    }

    /// Checks that `size` bytes at `offset` are inside the block, at a multiple of `align` from its
    /// start.
    ///
    /// # Errors
    /// Returns [`Violation::Misaligned`], else [`Violation::OutOfBounds`].
    #[inline]
    pub fn check(&self, offset: u64, size: u64, align: u64) -> Result<(), Violation> {
        if offset & align.wrapping_sub(1) != 0 {
            Err(Violation::Misaligned)
        } else if offset > self.len || size > self.len - offset {
            Err(Violation::OutOfBounds)
        } else {
            Ok(())
        }
    }

    /// The value at `offset`, zero-extended.
    ///
    /// # Errors
    /// If the access is misaligned or not wholly inside.
    #[inline]
    pub fn load(&self, offset: u64, width: Width) -> Result<u64, Violation> {
        self.check(offset, width.bytes(), width.bytes())?;
        Ok(self.get(offset, width))
    }

    /// Stores the low bits of `value` at `offset`.
    ///
    /// # Errors
    /// If the access is misaligned or not wholly inside.
    #[inline]
    pub fn store(&mut self, offset: u64, width: Width, value: u64) -> Result<(), Violation> {
        self.check(offset, width.bytes(), width.bytes())?;
        self.put(offset, width, value);
        Ok(())
    }

    /// Replaces the value at `offset` by `f` of it and returns the value before. In memory of the
    /// host `f` may be called several times; the last call counts.
    ///
    /// # Errors
    /// If the access is misaligned or not wholly inside; then `f` is not called.
    #[inline]
    pub fn atomic(
        &mut self,
        offset: u64,
        width: Width,
        f: impl FnMut(u64) -> u64,
    ) -> Result<u64, Violation> {
        self.check(offset, width.bytes(), width.bytes())?;
        Ok(self.update(offset, width, f))
    }

    /// The 16-byte value at `offset`.
    ///
    /// # Errors
    /// If the access is misaligned or not wholly inside.
    #[inline]
    pub fn load_u128(&self, offset: u64) -> Result<u128, Violation> {
        self.check(offset, 16, 16)?;
        Ok(self.get_u128(offset))
    }

    /// Stores 16 bytes at `offset`.
    ///
    /// # Errors
    /// If the access is misaligned or not wholly inside.
    #[inline]
    pub fn store_u128(&mut self, offset: u64, value: u128) -> Result<(), Violation> {
        self.check(offset, 16, 16)?;
        self.put_u128(offset, value);
        Ok(())
    }

    /// Replaces the 16-byte value at `offset` by `f` of it and returns the value before.
    ///
    /// # Errors
    /// If the access is misaligned or not wholly inside; then `f` is not called.
    pub fn atomic_u128(
        &mut self,
        offset: u64,
        f: impl FnOnce(u128) -> u128,
    ) -> Result<u128, Violation> {
        self.check(offset, 16, 16)?;
        let old = self.get_u128(offset);
        self.put_u128(offset, f(old));
        Ok(old)
    }

    /// Copies bytes out, from `offset` on.
    ///
    /// # Errors
    /// If they are not all inside.
    pub fn read_bytes(&self, offset: u64, out: &mut [u8]) -> Result<(), Violation> {
        self.check(offset, out.len() as u64, 1)?;
        self.get_bytes(offset, out);
        Ok(())
    }

    /// Copies bytes in, from `offset` on.
    ///
    /// # Errors
    /// If they are not all inside; then nothing is written.
    pub fn write_bytes(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Violation> {
        self.check(offset, bytes.len() as u64, 1)?;
        self.put_bytes(offset, bytes);
        Ok(())
    }

    /// Sets `len` bytes from `offset` on to `byte`.
    ///
    /// # Errors
    /// If they are not all inside; then nothing is written.
    pub fn fill(&mut self, offset: u64, len: u64, byte: u8) -> Result<(), Violation> {
        self.check(offset, len, 1)?;
        self.put_fill(offset, len, byte);
        Ok(())
    }

    /// All bytes as a vector.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u8> {
        let mut out: Vec<u8> =
            self.words.iter().flat_map(|w| w.load(Relaxed).to_le_bytes()).collect();
        out.truncate(self.len as usize);
        out
    }
}

/// Accesses that a caller has checked. A wrong offset panics at worst: there is no unsafe code
/// here.
impl Block {
    #[inline]
    pub(super) fn get(&self, offset: u64, width: Width) -> u64 {
        let (word, shift) = place(offset);
        self.words[word].load(Relaxed) >> shift & width.mask()
    }

    #[inline]
    pub(super) fn put(&mut self, offset: u64, width: Width, value: u64) {
        if self.is_host() {
            return self.put_shared(offset, width, value);
        }
        let (word, shift) = place(offset);
        let word = self.words[word].get_mut();
        let mask = width.mask() << shift;
        *word = *word & !mask | value << shift & mask;
    }

    #[inline]
    pub(super) fn update(
        &mut self,
        offset: u64,
        width: Width,
        mut f: impl FnMut(u64) -> u64,
    ) -> u64 {
        if self.is_host() {
            return self.atomic_shared(offset, width, f);
        }
        let old = self.get(offset, width);
        self.put(offset, width, f(old));
        old
    }

    #[inline]
    pub(super) fn get_u128(&self, offset: u64) -> u128 {
        let (word, _) = place(offset);
        u128::from(self.words[word].load(Relaxed))
            | u128::from(self.words[word + 1].load(Relaxed)) << 64
    }

    #[inline]
    pub(super) fn put_u128(&mut self, offset: u64, value: u128) {
        self.put(offset, Width::B8, value as u64);
        self.put(offset + 8, Width::B8, (value >> 64) as u64);
    }

    pub(super) fn get_bytes(&self, offset: u64, out: &mut [u8]) {
        words::read_bytes(&self.words, offset, out);
    }

    pub(super) fn put_bytes(&mut self, offset: u64, bytes: &[u8]) {
        if self.is_host() {
            return self.put_bytes_shared(offset, bytes);
        }
        words::write_bytes(&mut Exclusive(&mut self.words), offset, bytes);
    }

    pub(super) fn put_fill(&mut self, offset: u64, len: u64, byte: u8) {
        if self.is_host() {
            return self.put_fill_shared(offset, len, byte);
        }
        words::fill(&mut Exclusive(&mut self.words), offset, len, byte);
    }

    /// The words to change while only exclusively borrowed.
    pub(super) fn words_mut(&mut self) -> &mut [AtomicU64] {
        &mut self.words
    }
}

/// The same for a block shared by host threads: relaxed atomics of whole words.
impl Block {
    #[inline]
    pub(super) fn put_shared(&self, offset: u64, width: Width, value: u64) {
        let (word, shift) = place(offset);
        Shared(&self.words).merge(word, value << shift, width.mask() << shift);
    }

    /// `f` may be called several times; the last call counts.
    #[inline]
    pub(super) fn atomic_shared(
        &self,
        offset: u64,
        width: Width,
        mut f: impl FnMut(u64) -> u64,
    ) -> u64 {
        let (word, shift) = place(offset);
        let mask = width.mask() << shift;
        let cell = &self.words[word];
        let mut old = cell.load(Relaxed);
        loop {
            let value = old >> shift & width.mask();
            let new = old & !mask | f(value) << shift & mask;
            match cell.compare_exchange_weak(old, new, Relaxed, Relaxed) {
                Ok(_) => return value,
                Err(now) => old = now,
            }
        }
    }

    pub(super) fn put_bytes_shared(&self, offset: u64, bytes: &[u8]) {
        words::write_bytes(&mut Shared(&self.words), offset, bytes);
    }

    pub(super) fn put_fill_shared(&self, offset: u64, len: u64, byte: u8) {
        words::fill(&mut Shared(&self.words), offset, len, byte);
    }
}

impl Clone for Block {
    fn clone(&self) -> Self {
        self.try_clone().unwrap_or_else(|error| error.abort())
    }
}

impl Default for Block {
    /// A block without bytes.
    fn default() -> Self {
        Self { words: Words::default(), len: 0 }
    }
}

/// Equal bytes.
impl PartialEq for Block {
    fn eq(&self, other: &Self) -> bool {
        let pairs = || self.words.iter().zip(&other.words);
        self.len == other.len && pairs().all(|(a, b)| a.load(Relaxed) == b.load(Relaxed))
    }
}

impl Eq for Block {}

/// The length only: contents may be large.
impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Block").field("len", &self.len).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counting(len: u8) -> Block {
        Block::from_bytes(&(0..len).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn scalars_are_little_endian() {
        let mut block = counting(32);
        assert_eq!(block.load(3, Width::B1), Ok(3));
        assert_eq!(block.load(2, Width::B2), Ok(0x0302));
        assert_eq!(block.load(12, Width::B4), Ok(0x0f0e_0d0c));
        assert_eq!(block.load(8, Width::B8), Ok(0x0f0e_0d0c_0b0a_0908));
        assert_eq!(block.load_u128(16), Ok(0x1f1e_1d1c_1b1a_1918_1716_1514_1312_1110));
        block.store(12, Width::B4, 0xffff_ffff_dead_beef).unwrap();
        assert_eq!(block.load(8, Width::B8), Ok(0xdead_beef_0b0a_0908));
        assert_eq!(block.load(16, Width::B1), Ok(16));
        block.store_u128(0, 1 << 127 | 5).unwrap();
        assert_eq!((block.load(0, Width::B8), block.load(8, Width::B8)), (Ok(5), Ok(1 << 63)));
    }

    #[test]
    fn atomics_return_the_value_before() {
        let mut block = counting(32);
        assert_eq!(block.atomic(2, Width::B2, |v| v + 0x1_0001), Ok(0x0302));
        assert_eq!(block.load(0, Width::B8), Ok(0x0706_0504_0303_0100));
        assert_eq!(
            block.atomic_u128(16, |v| v << 8),
            Ok(0x1f1e_1d1c_1b1a_1918_1716_1514_1312_1110)
        );
        assert_eq!(block.load(16, Width::B2), Ok(0x1000));
    }

    #[test]
    fn accesses_outside_or_misaligned_are_refused_and_change_nothing() {
        let mut block = counting(30);
        let before = block.clone();
        assert_eq!(block.load(30, Width::B1), Err(Violation::OutOfBounds));
        assert_eq!(block.store(28, Width::B4, 0), Err(Violation::OutOfBounds));
        assert_eq!(block.store(u64::MAX - 7, Width::B8, 0), Err(Violation::OutOfBounds));
        assert_eq!(block.load(2, Width::B4), Err(Violation::Misaligned));
        assert_eq!(block.load_u128(8), Err(Violation::Misaligned));
        assert_eq!(block.load_u128(16), Err(Violation::OutOfBounds));
        assert_eq!(block.atomic(30, Width::B2, |_| unreachable!()), Err(Violation::OutOfBounds));
        assert_eq!(block.write_bytes(25, &[0; 6]), Err(Violation::OutOfBounds));
        assert_eq!(block.fill(0, 31, 9), Err(Violation::OutOfBounds));
        assert_eq!(block.read_bytes(31, &mut []), Err(Violation::OutOfBounds));
        assert_eq!(block.read_bytes(30, &mut []), Ok(()));
        assert_eq!(block, before);
    }

    #[test]
    fn bulk_access_matches_bytes_at_every_offset_and_length() {
        for offset in 0..17 {
            for len in 0..=40 - offset {
                let mut expected: Vec<u8> = (0..40).collect();
                let fresh: Vec<u8> = (100..100 + len as u8).collect();
                let mut block = Block::from_bytes(&expected).unwrap();
                expected[offset..offset + len].copy_from_slice(&fresh);
                block.write_bytes(offset as u64, &fresh).unwrap();
                assert_eq!(block.to_vec(), expected);
                block.put_bytes_shared(offset as u64, &fresh);
                assert_eq!(block.to_vec(), expected);
                let mut out = vec![0; len];
                block.read_bytes(offset as u64, &mut out).unwrap();
                assert_eq!(out, fresh);
                expected[offset..offset + len].fill(7);
                block.fill(offset as u64, len as u64, 7).unwrap();
                assert_eq!(block.to_vec(), expected);
            }
        }
    }

    #[test]
    fn widths() {
        for (width, bytes, mask) in [
            (Width::B1, 1, 0xff),
            (Width::B2, 2, 0xffff),
            (Width::B4, 4, 0xffff_ffff),
            (Width::B8, 8, u64::MAX),
        ] {
            assert_eq!((width.bytes(), width.mask()), (bytes, mask));
            assert_eq!(u64::from(width.bits()), 8 * bytes);
            assert_eq!(Width::from_bytes(bytes), Some(width));
        }
        assert_eq!(Width::from_bytes(16), None);
        assert_eq!(Width::from_bytes(3), None);
    }

    #[test]
    #[cfg_attr(miri, ignore = "the pages of a huge block are not mapped under Miri")]
    fn a_huge_block_costs_nothing_until_written() {
        let mut block = Block::zeroed(1 << 36).unwrap_or_default();
        if !block.is_empty() {
            block.store((1 << 36) - 8, Width::B8, 3).unwrap();
            assert_eq!(block.load((1 << 36) - 8, Width::B8), Ok(3));
        }
        assert!(Block::zeroed(u64::MAX).is_err());
    }
}
