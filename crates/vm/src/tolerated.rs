//! Accesses that a tolerant launch was refused, and went on from.
//!
//! A lane whose access of memory is refused reads zero, or stores nothing, and continues; the other
//! lanes of the instruction are as without it.

use simt::trap::Fault;

use crate::cause::Cause;
use crate::engine::Failure;

/// Most instructions whose refused accesses are kept apart.
const MOST_PLACES: usize = 64;

/// The refused accesses of a launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Tolerated<const N: usize> {
    /// Of each instruction the first one, and the number of issues with refused accesses.
    places: Vec<(Fault<Cause, N>, u64)>,
    /// The number of issues at instructions beyond the first [`MOST_PLACES`].
    others: u64,
    /// Accesses of the instruction at hand, still without a place.
    pub(crate) pending: Option<Failure<N>>,
}

impl<const N: usize> Default for Tolerated<N> {
    fn default() -> Self {
        Self { places: Vec::new(), others: 0, pending: None }
    }
}

impl<const N: usize> Tolerated<N> {
    /// Iterates over the first refused access of each instruction, in the order of their
    /// occurrence, with the number of issues in which the instruction was refused accesses.
    pub fn places(&self) -> impl Iterator<Item = (&Fault<Cause, N>, u64)> {
        self.places.iter().map(|(fault, count)| (fault, *count))
    }

    /// Returns the number of issues with refused accesses that [`Self::places`] does not have.
    #[must_use]
    pub fn others(&self) -> u64 {
        self.others
    }

    pub(crate) fn add(&mut self, fault: Fault<Cause, N>) {
        match self.places.iter().position(|(known, _)| known.pc == fault.pc) {
            Some(index) => self.places[index].1 += 1,
            None if self.places.len() < MOST_PLACES => self.places.push((fault, 1)),
            None => self.others += 1,
        }
    }
}
