//! The constant pool of compiled code; each constant is stored once.

use rustc_hash::FxHashMap;

/// A row of the pool, as wide as the widest vector load.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct PoolRow(pub(crate) [u64; 8]);

/// Constants, addressed by byte offset from the pool's beginning.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    rows: Vec<PoolRow>,
    words: usize,
    offsets: FxHashMap<u64, i64>,
    vectors: FxHashMap<[u64; 8], i64>,
}

impl Pool {
    /// Returns the offset of a 64-bit word, whose low half also serves as a 32-bit word.
    pub(crate) fn word(&mut self, bits: u64) -> i64 {
        if let Some(&at) = self.offsets.get(&bits) {
            return at;
        }
        if self.words.is_multiple_of(8) {
            self.rows.push(PoolRow([0; 8]));
            self.words = 8 * (self.rows.len() - 1);
        }
        let at = self.words;
        self.rows[at / 8].0[at % 8] = bits;
        self.words += 1;
        self.offsets.insert(bits, 8 * at as i64);
        8 * at as i64
    }

    /// Returns the offset of a vector.
    pub(crate) fn vector(&mut self, words: [u64; 8]) -> i64 {
        if let Some(&at) = self.vectors.get(&words) {
            return at;
        }
        let filled = self.words;
        self.rows.push(PoolRow(words));
        let at = 64 * (self.rows.len() as i64 - 1);
        // A partly filled row of words stays as it is: the next word begins a new row.
        self.words = if filled.is_multiple_of(8) { filled } else { 0 };
        self.vectors.insert(words, at);
        at
    }

    /// Returns the offset of `lane * stride` for sixteen 32-bit lanes from `first` on.
    pub(crate) fn line32(&mut self, first: u32, stride: u32) -> i64 {
        let value = |lane: u32| u64::from((first + lane).wrapping_mul(stride));
        self.vector(std::array::from_fn(|i| {
            let lane = 2 * i as u32;
            value(lane) | value(lane + 1) << 32
        }))
    }

    /// Returns the offset of `lane * stride` for eight 64-bit lanes from `first` on.
    pub(crate) fn line64(&mut self, first: u64, stride: u64) -> i64 {
        self.vector(std::array::from_fn(|i| (first + i as u64).wrapping_mul(stride)))
    }

    pub(crate) fn finish(mut self) -> Box<[PoolRow]> {
        if self.rows.is_empty() {
            self.rows.push(PoolRow([0; 8]));
        }
        self.rows.into_boxed_slice()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_vectors_do_not_overlap() {
        let mut pool = Pool::default();
        let a = pool.word(7);
        let v = pool.line32(0, 4);
        let b = pool.word(9);
        assert_eq!(pool.word(7), a);
        assert_eq!(pool.line32(0, 4), v);
        let rows = pool.finish();
        let word = |at: i64| rows[at as usize / 64].0[at as usize % 64 / 8];
        assert_eq!((word(a), word(b), word(v), word(v + 8)), (7, 9, 4 << 32, 12 << 32 | 8));
    }
}
