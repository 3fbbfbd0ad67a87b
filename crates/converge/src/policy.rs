//! Which of the runnable paths runs.

use crate::mechanism::Path;

/// Picks one of the paths that a mechanism offers. Deterministic: the seed and the calls so far
/// decide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// The mechanism's preferred path.
    #[default]
    First,
    /// Each in turn.
    RoundRobin {
        /// Picks made so far.
        turn: u64,
    },
    /// Any, by a seeded generator (SplitMix64).
    Random {
        /// The generator's state; start it with the seed.
        state: u64,
    },
}

impl Policy {
    /// The index of the path to run, of a non-empty list.
    pub fn pick<const N: usize>(&mut self, paths: &[Path<N>]) -> usize {
        let n = paths.len().max(1) as u64;
        let index = match self {
            Self::First => 0,
            Self::RoundRobin { turn } => {
                *turn += 1;
                (*turn - 1) % n
            }
            Self::Random { state } => split_mix(state) % n,
        };
        index as usize
    }

    /// Everything on which its picks depend, for comparing states.
    #[must_use]
    pub fn image(&self) -> u64 {
        match *self {
            Self::First => 0,
            Self::RoundRobin { turn } => turn,
            Self::Random { state } => state,
        }
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014): one step.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}
