//! The shape of a launch, and what special registers are in a group of it.
//!
//! A *group* is a run of `width` threads of a CTA that begins at a multiple of `width`, as the
//! engines form issue groups; the last one of a CTA may be shorter. Thread numbers run through x
//! first, then y, then z.

use super::value::Value;
use ir::Sreg;

/// Threads of an architectural warp.
const WARP: u64 = 32;

/// Sizes that facts are specialised for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// CTAs in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a CTA in x, y, z.
    pub block: [u32; 3],
    /// Lanes of a group: 32 for a warp, or more, up to a whole CTA.
    pub width: u32,
}

impl Shape {
    /// Threads of a CTA.
    #[must_use]
    pub fn threads(&self) -> u64 {
        self.block.iter().map(|&b| u64::from(b)).product()
    }

    /// The highest lane number of a group.
    pub(super) fn last_lane(&self) -> u64 {
        u64::from(self.width).min(self.threads()).max(1) - 1
    }

    /// Whether no group has threads on both sides of a multiple of `n` threads.
    fn aligned(&self, n: u64) -> bool {
        n != 0 && (n.is_multiple_of(u64::from(self.width.max(1))) || self.threads() <= n)
    }

    /// What `thread / divide % modulus` is in the lanes of a group, where `threads` of the CTA have
    /// another quotient only beyond `modulus`.
    fn coordinate(&self, divide: u64, modulus: u64) -> Value {
        let max = modulus.max(1) - 1;
        if max == 0 {
            return Value::constant(0);
        }
        let width = u64::from(self.width.max(1));
        if divide == 1 && self.aligned(modulus) {
            // Groups begin at multiples of their width; where the rows are shorter there is one
            // group, at 0.
            let zeros = if self.threads() <= width { 64 } else { width.trailing_zeros() };
            return Value::affine(1).with_zeros(zeros).with_max(max);
        }
        if divide > 1 && self.aligned(divide) {
            return Value::uniform().with_max(max);
        }
        Value::varying().with_max(max)
    }

    /// A special register, cut to `bits`.
    pub(super) fn sreg(&self, reg: Sreg, bits: u32) -> Value {
        let [x, y, z] = self.block.map(u64::from);
        let width = u64::from(self.width.max(1));
        let one_warp = self.threads() <= WARP;
        let below = |n: u32| Value::uniform().with_max(u64::from(n.max(1)) - 1);
        let value = match reg {
            Sreg::TidX => self.coordinate(1, x),
            Sreg::TidY => self.coordinate(x, y),
            Sreg::TidZ => self.coordinate(x * y, z),
            Sreg::NtidX => Value::constant(x),
            Sreg::NtidY => Value::constant(y),
            Sreg::NtidZ => Value::constant(z),
            Sreg::CtaidX => below(self.grid[0]),
            Sreg::CtaidY => below(self.grid[1]),
            Sreg::CtaidZ => below(self.grid[2]),
            Sreg::NctaidX => Value::constant(u64::from(self.grid[0])),
            Sreg::NctaidY => Value::constant(u64::from(self.grid[1])),
            Sreg::NctaidZ => Value::constant(u64::from(self.grid[2])),
            Sreg::LaneId if WARP.is_multiple_of(width) || one_warp => {
                let zeros = if width >= WARP { 64 } else { width.trailing_zeros() };
                Value::affine(1).with_zeros(zeros).with_max(WARP - 1)
            }
            Sreg::LaneId => Value::varying().with_max(WARP - 1),
            Sreg::WarpId if WARP.is_multiple_of(width) || one_warp => {
                Value::uniform().with_max(self.threads().div_ceil(WARP).max(1) - 1)
            }
            Sreg::WarpId => Value::varying().with_max(self.threads().div_ceil(WARP)),
            Sreg::LaneMaskEq
            | Sreg::LaneMaskLe
            | Sreg::LaneMaskLt
            | Sreg::LaneMaskGe
            | Sreg::LaneMaskGt => Value::varying(),
            _ => Value::uniform(),
        };
        value.truncated(bits)
    }
}

#[cfg(test)]
mod tests {
    use super::super::value::Class;
    use super::*;

    fn class(block: [u32; 3], width: u32, reg: Sreg) -> Class {
        Shape { grid: [4, 1, 1], block, width }.sreg(reg, 32).class
    }

    #[test]
    fn thread_coordinates() {
        let (u, v, a) = (Class::Uniform, Class::Varying, Class::Affine(1));
        for (block, width, expected) in [
            ([256, 1, 1], 32, [a, u, u]),
            ([100, 1, 1], 32, [a, u, u]),
            ([64, 4, 1], 32, [a, u, u]),
            ([16, 16, 1], 32, [v, v, u]),
            ([8, 4, 3], 32, [v, v, u]),
            ([1, 64, 1], 32, [u, a, u]),
            ([16, 2, 1], 32, [v, v, u]),
            ([16, 16, 1], 256, [v, v, u]),
            ([16, 16, 1], 16, [a, u, u]),
        ] {
            let found = [Sreg::TidX, Sreg::TidY, Sreg::TidZ].map(|r| class(block, width, r));
            assert_eq!(found, expected, "{block:?} {width}");
        }
    }

    #[test]
    fn every_class_holds_of_every_thread() {
        for block in [[7, 5, 3], [32, 2, 2], [16, 4, 1], [1, 1, 64], [96, 2, 1], [4, 8, 6]] {
            for width in [4, 8, 16, 32, 64, 256] {
                let shape = Shape { grid: [1; 3], block, width };
                let threads = shape.threads();
                let of = |reg, t: u64| {
                    let [x, y] = [u64::from(block[0]), u64::from(block[1])];
                    match reg {
                        Sreg::TidX => t % x,
                        Sreg::TidY => t / x % y,
                        Sreg::TidZ => t / x / y,
                        Sreg::LaneId => t % 32,
                        _ => t / 32,
                    }
                };
                for reg in [Sreg::TidX, Sreg::TidY, Sreg::TidZ, Sreg::LaneId, Sreg::WarpId] {
                    let value = shape.sreg(reg, 32);
                    for first in (0..threads).step_by(width as usize) {
                        let lanes: Vec<(u64, u64)> = (first
                            ..(first + u64::from(width)).min(threads))
                            .map(|t| (t - first, of(reg, t)))
                            .collect();
                        assert!(value.holds(&lanes, 32), "{reg:?} {block:?} {width} {value:?}");
                    }
                }
            }
        }
    }
}
