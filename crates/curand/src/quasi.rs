//! States of quasirandom generators: points of a Sobol sequence, written dimension by dimension.
//!
//! A call for `n` numbers in `d` dimensions gives the next `n / d` points: first what all of them
//! have in the first dimension, then in the second.

use culibs::Outcome;

use crate::engine::sobol::{Walk, directions};

/// A generator's dimensions and the number of the next point.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quasi {
    dimensions: usize,
    next: u64,
}

impl Quasi {
    pub(crate) fn new(dimensions: usize, offset: u64) -> Self {
        Self { dimensions, next: offset }
    }

    /// Hands over `count` coordinates, a multiple of the dimensions, in parts of `most` at most.
    ///
    /// # Errors
    /// Those of `put`.
    pub(crate) fn parts(
        &mut self,
        count: usize,
        most: usize,
        mut put: impl FnMut(&[u64]) -> Outcome,
    ) -> Outcome {
        let points = count / self.dimensions;
        for directions in &directions()[..self.dimensions] {
            let mut walk = Walk::new(directions, self.next);
            let mut left = points;
            while left > 0 {
                let part: Vec<u64> = (0..left.min(most)).map(|_| walk.next()).collect();
                put(&part)?;
                left -= part.len();
            }
        }
        self.next = self.next.wrapping_add(points as u64);
        Ok(())
    }
}
