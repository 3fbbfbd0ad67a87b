//! Sobol sequences in the order of Gray codes (Antonov and Saleev, 1979), with the direction
//! numbers of Joe and Kuo (SIAM Journal on Scientific Computing 30, 2008), which cuRAND has, too.
//!
//! Numbers have 64 bits. Those of 32 bits are the upper halves: a direction number of fewer bits is
//! the same one, cut off.

use std::sync::LazyLock;

/// cuRAND's dimensions. The table has more.
pub const DIMENSIONS: usize = 20_000;

/// What each bit of the Gray code adds to a number, the lowest bit first.
pub type Directions = [u64; 64];

/// Direction numbers of a primitive polynomial, whose inner coefficients are the bits of
/// `coefficients`, the first highest, and of the first numbers of its recurrence.
fn of_polynomial(coefficients: u32, first: &[u32]) -> Directions {
    let degree = first.len();
    let mut v = [0; 64];
    for (k, number) in first.iter().enumerate() {
        v[k] = u64::from(*number) << (63 - k);
    }
    for k in degree..64 {
        v[k] = v[k - degree] ^ v[k - degree] >> degree;
        for j in 1..degree {
            if coefficients >> (degree - 1 - j) & 1 == 1 {
                v[k] ^= v[k - j];
            }
        }
    }
    v
}

/// Returns the direction numbers of all dimensions. The first is van der Corput's sequence.
#[must_use]
pub fn directions() -> &'static [Directions] {
    static TABLE: LazyLock<Vec<Directions>> = LazyLock::new(|| {
        let first = std::array::from_fn(|k| 1 << (63 - k));
        let numbers = ::sobol::params::JoeKuoD6::extended();
        let others = numbers.dim_params.iter().map(|of| of_polynomial(of.a, &of.m));
        std::iter::once(first).chain(others).take(DIMENSIONS).collect()
    });
    &TABLE
}

/// Returns the direction numbers of 32 bits.
#[must_use]
pub fn directions_32() -> &'static [[u32; 32]] {
    static TABLE: LazyLock<Vec<[u32; 32]>> = LazyLock::new(|| {
        let half = |v: &Directions| std::array::from_fn(|k| (v[k] >> 32) as u32);
        directions().iter().map(half).collect()
    });
    &TABLE
}

/// A walk along one dimension of the sequence.
#[derive(Clone, Copy, Debug)]
pub struct Walk {
    directions: &'static Directions,
    index: u64,
    number: u64,
}

impl Walk {
    /// A walk that begins at the point of this number.
    #[must_use]
    pub fn new(directions: &'static Directions, index: u64) -> Self {
        let code = index ^ index >> 1;
        let bits = (0..64).filter(|bit| code >> bit & 1 == 1);
        let number = bits.fold(0, |number, bit| number ^ directions[bit]);
        Self { directions, index, number }
    }

    /// Returns the number of this point, and goes on to the next.
    #[allow(clippy::should_implement_trait, reason = "it never ends")]
    pub fn next(&mut self) -> u64 {
        let number = self.number;
        let bit = self.index.trailing_ones().min(63) as usize;
        self.number ^= self.directions[bit];
        self.index = self.index.wrapping_add(1);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_points_of_the_authors() {
        // The first eight points of three dimensions, in eighths, from Joe and Kuo's program.
        let expected = [[0, 0, 0], [4, 4, 4], [6, 2, 2], [2, 6, 6], [3, 3, 5], [7, 7, 1]];
        let mut walks = [0, 1, 2].map(|d| Walk::new(&directions()[d], 0));
        for point in expected {
            let got: Vec<u64> = walks.iter_mut().map(|walk| walk.next() >> 61).collect();
            assert_eq!(got, point);
        }
    }

    #[test]
    fn a_walk_that_begins_later_goes_on_alike() {
        let all = &directions()[DIMENSIONS - 1];
        let mut walk = Walk::new(all, 0);
        for index in 0..1000 {
            assert_eq!(Walk::new(all, index).next(), walk.next(), "{index}");
        }
    }

    #[test]
    fn each_prefix_of_a_power_of_two_fills_all_intervals() {
        for directions in directions().iter().step_by(997) {
            let mut walk = Walk::new(directions, 0);
            let mut seen: Vec<u64> = (0..1024).map(|_| walk.next() >> 54).collect();
            seen.sort_unstable();
            assert_eq!(seen, (0..1024).collect::<Vec<_>>());
        }
    }
}
