//! Random programs for tests, here and in other crates.
//!
//! - [`random_module`]: any verified module, of every operation; for printers, parsers, passes.
//! - [`random_kernel`]: a kernel that ends and has no race, with branches, loops, switches and
//!   early exits, structured or not; [`expected`] computes what it stores, thread by thread,
//!   independently of any engine.
//! - [`mutate_text`], [`mutate_module`]: what is almost right.
//!
//! Everything is a function of the generator's state: equal seeds, equal programs, on any host.

mod any;
mod kernel;
mod mutate;

pub use any::random_module;
pub use kernel::{KERNEL_WORDS, KernelShape, Unfinished, expected, random_kernel};
pub use mutate::{mutate_module, mutate_text};

/// A small generator of random numbers (SplitMix64; Steele, Lea, Flood 2014).
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// The generator of a seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `n`, or 0 if `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        if n == 0 { 0 } else { (self.bits() % n as u64) as usize }
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// One of a list, unless it is empty.
    pub fn pick<'a, T>(&mut self, list: &'a [T]) -> Option<&'a T> {
        list.get(self.below(list.len()))
    }

    /// A number that is often small or at an edge.
    pub fn value(&mut self) -> u64 {
        match self.below(6) {
            0 => 0,
            1 => self.below(8) as u64,
            2 => u64::MAX,
            3 => 1 << self.below(64),
            4 => (1 << self.below(64)) - 1,
            _ => self.bits(),
        }
    }
}
