//! Random schedules.
//!
//! Probabilistic concurrency testing (Burckhardt, Kothari, Musuvathi and Nagarakatte, ASPLOS 2010):
//! paths have random priorities, the highest runs, and at `depth - 1` random points the running
//! path falls behind all others. A defect that needs `depth` choices in order among `n` paths and
//! `k` points shows in a schedule with a probability of at least 1 / (n k^(depth - 1)).

use rustc_hash::FxHashMap;
use vm::Choice;

use crate::recorder::{Picker, Point};

/// The most ordering choices of a defect for which schedules are made; depths take turns.
const MOST_DEPTH: u64 = 4;

/// `SplitMix64` (Steele, Lea, Flood 2014).
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64, number: u64) -> Self {
        Self(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
}

/// Chooses by random priorities.
#[derive(Debug)]
pub(crate) struct Priorities {
    random: Random,
    /// Higher ones run first; those that have fallen behind have less than [`Self::INITIAL`].
    priorities: FxHashMap<(usize, Choice), u64>,
    /// Points at which the running path falls behind, the next one last.
    changes: Vec<u64>,
    fallen: u64,
    /// Points so far.
    pub(crate) points: u64,
}

impl Priorities {
    const INITIAL: u64 = 1 << 32;

    /// Returns the schedule of a number. `points` is how many points a run is expected to have.
    pub(crate) fn new(seed: u64, number: u64, points: u64) -> Self {
        let mut random = Random::new(seed, number);
        let depth = number % MOST_DEPTH;
        let mut changes: Vec<u64> = (0..depth).map(|_| random.next() % points.max(1)).collect();
        changes.sort_unstable_by(|a, b| b.cmp(a));
        Self { random, priorities: FxHashMap::default(), changes, fallen: Self::INITIAL, points: 0 }
    }

    fn priority(&mut self, key: (usize, Choice)) -> u64 {
        let random = &mut self.random;
        *self.priorities.entry(key).or_insert_with(|| random.next() | Self::INITIAL)
    }
}

impl Picker for Priorities {
    fn pick(&mut self, point: &Point<'_>) -> Option<usize> {
        let highest = |this: &mut Self| {
            let awake = point.alternatives.iter().enumerate().filter(|(_, a)| !a.spins);
            awake
                .max_by_key(|(_, a)| this.priority((point.launch, a.choice)))
                .map(|(index, _)| index)
        };
        let mut index = highest(self)?;
        if self.changes.last() == Some(&self.points) {
            while self.changes.last() == Some(&self.points) {
                self.changes.pop();
            }
            self.fallen -= 1;
            let behind = self.fallen;
            self.priorities.insert((point.launch, point.alternatives[index].choice), behind);
            index = highest(self)?;
        }
        self.points += 1;
        Some(index)
    }
}
