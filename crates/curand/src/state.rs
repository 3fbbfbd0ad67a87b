//! States of pseudorandom generators: subsequences that take turns, each giving one group of
//! numbers at a time.
//!
//! The number at place `n` is from subsequence `n mod 4096` of XORWOW and MRG32k3a; Philox has
//! 65536 subsequences, each of which gives four numbers at a time. Numbers that take several draws
//! take them from one subsequence. Calls continue where the last one ended.

use crate::distribution as to;
use crate::engine::{Mrg32k3a, Mt19937, Xorwow, philox4x32_10};

/// A kind of pseudorandom generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pseudo {
    Xorwow,
    Mrg32k3a,
    Mt19937,
    Philox,
}

/// How subsequences are seeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// They are far apart in one sequence.
    Legacy,
    /// Each has a seed of its own.
    Seeded,
}

/// Subsequences of XORWOW and MRG32k3a.
const THREADS: usize = 4096;

/// Subsequences of Philox.
const PHILOX_THREADS: usize = 65_536;

/// The states of all subsequences.
enum Engine {
    Xorwow(Vec<Xorwow>),
    Mrg32k3a(Vec<Mrg32k3a>),
    Mt19937(Mt19937),
    /// Groups of four that each subsequence has given.
    Philox(Vec<u64>),
}

/// The numbers of one turn, and how many there are.
pub(crate) type Group<T> = ([T; 4], usize);

/// The state of a generator.
pub(crate) struct State {
    engine: Engine,
    /// The subsequence whose turn is next.
    turn: usize,
    seed: u64,
    /// Bits of the last group that no call has taken.
    pub(crate) left: Vec<u32>,
}

fn skipped<T>(mut states: Vec<T>, offset: u64, skip: fn(&mut T, u64)) -> Vec<T> {
    let (rounds, rest) = (offset / THREADS as u64, (offset % THREADS as u64) as usize);
    for (i, state) in states.iter_mut().enumerate() {
        skip(state, rounds + u64::from(i < rest));
    }
    states
}

/// The seed of a subsequence in the order `SEEDED`, whose combination of both NVIDIA does not
/// publish: a step of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
fn mixed(seed: u64, subsequence: u64) -> u64 {
    let mut z = seed.wrapping_add((subsequence + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

fn subsequences<T: Copy>(first: T, next: fn(&mut T)) -> Vec<T> {
    let mut state = first;
    let list = (0..THREADS).map(|_| {
        let this = state;
        next(&mut state);
        this
    });
    list.collect()
}

impl State {
    /// The state after `offset` numbers.
    pub(crate) fn new(kind: Pseudo, order: Order, seed: u64, offset: u64) -> Self {
        let engine = match kind {
            Pseudo::Xorwow if order == Order::Seeded => {
                let all = (0..THREADS as u64).map(|i| Xorwow::new(mixed(seed, i), 0)).collect();
                Engine::Xorwow(skipped(all, offset, Xorwow::skip))
            }
            Pseudo::Xorwow => {
                let all = subsequences(Xorwow::new(seed, 0), Xorwow::next_subsequence);
                Engine::Xorwow(skipped(all, offset, Xorwow::skip))
            }
            Pseudo::Mrg32k3a => {
                let all = subsequences(Mrg32k3a::new(seed), Mrg32k3a::next_subsequence);
                Engine::Mrg32k3a(skipped(all, offset, Mrg32k3a::skip))
            }
            Pseudo::Mt19937 => Engine::Mt19937(Mt19937::new(seed as u32)),
            Pseudo::Philox => {
                let groups = offset / 4;
                let (rounds, rest) =
                    (groups / PHILOX_THREADS as u64, (groups % PHILOX_THREADS as u64) as usize);
                let given = |i| rounds + u64::from(i < rest);
                Engine::Philox((0..PHILOX_THREADS).map(given).collect())
            }
        };
        let mut new = Self { engine, turn: 0, seed, left: Vec::new() };
        match kind {
            Pseudo::Philox => {
                new.turn = (offset / 4 % PHILOX_THREADS as u64) as usize;
                let inside = (offset % 4) as usize;
                if inside > 0 {
                    new.left = new.turn(State::bits).0[inside..].to_vec();
                }
            }
            Pseudo::Mt19937 => {}
            _ => new.turn = (offset % THREADS as u64) as usize,
        }
        new
    }

    /// Has the next subsequence give a group.
    pub(crate) fn turn<T>(&mut self, give: impl Fn(&mut Self, usize) -> Group<T>) -> Group<T> {
        let threads = match &self.engine {
            Engine::Philox(_) => PHILOX_THREADS,
            Engine::Mt19937(_) => 1,
            _ => THREADS,
        };
        let at = self.turn;
        self.turn = (at + 1) % threads;
        give(self, at)
    }

    fn four(&mut self, at: usize) -> [u32; 4] {
        let Engine::Philox(given) = &mut self.engine else { return [0; 4] };
        let count = given[at];
        given[at] += 1;
        philox4x32_10([count as u32, (count >> 32) as u32, at as u32, 0], self.seed)
    }

    /// The next number of 32 bits of a subsequence that gives one at a time.
    fn one(&mut self, at: usize) -> u32 {
        match &mut self.engine {
            Engine::Xorwow(all) => all[at].next(),
            Engine::Mrg32k3a(all) => all[at].next(),
            Engine::Mt19937(generator) => generator.next(),
            Engine::Philox(_) => 0,
        }
    }

    pub(crate) fn bits(&mut self, at: usize) -> Group<u32> {
        match &self.engine {
            Engine::Philox(_) => (self.four(at), 4),
            _ => ([self.one(at), 0, 0, 0], 1),
        }
    }

    pub(crate) fn uniform(&mut self, at: usize) -> Group<f32> {
        match &mut self.engine {
            Engine::Philox(_) => (self.four(at).map(to::uniform), 4),
            Engine::Mrg32k3a(all) => ([all[at].uniform() as f32, 0.0, 0.0, 0.0], 1),
            _ => ([to::uniform(self.one(at)), 0.0, 0.0, 0.0], 1),
        }
    }

    pub(crate) fn uniform_double(&mut self, at: usize) -> Group<f64> {
        match &mut self.engine {
            Engine::Philox(_) => {
                let ([a, b, c, d], [e, f, g, h]) = (self.four(at), self.four(at));
                let two = to::uniform_of_two;
                ([two(a, b), two(c, d), two(e, f), two(g, h)], 4)
            }
            Engine::Mrg32k3a(all) => ([all[at].uniform(), 0.0, 0.0, 0.0], 1),
            Engine::Mt19937(generator) => {
                ([to::uniform_of_one(generator.next()), 0.0, 0.0, 0.0], 1)
            }
            Engine::Xorwow(_) => {
                let (x, y) = (self.one(at), self.one(at));
                ([to::uniform_of_two(x, y), 0.0, 0.0, 0.0], 1)
            }
        }
    }

    pub(crate) fn normal(&mut self, at: usize) -> Group<f32> {
        match &mut self.engine {
            Engine::Philox(_) => {
                let [x, y, z, w] = self.four(at);
                let ([a, b], [c, d]) = (to::normal(x, y), to::normal(z, w));
                ([a, b, c, d], 4)
            }
            Engine::Mrg32k3a(all) => {
                let (x, y) = (all[at].uniform() as f32, all[at].uniform() as f32);
                let [a, b] = to::normal_of_uniform(x, y);
                ([a, b, 0.0, 0.0], 2)
            }
            _ => {
                let (x, y) = (self.one(at), self.one(at));
                let [a, b] = to::normal(x, y);
                ([a, b, 0.0, 0.0], 2)
            }
        }
    }

    pub(crate) fn normal_double(&mut self, at: usize) -> Group<f64> {
        match &mut self.engine {
            Engine::Philox(_) => {
                let (x, y) = (self.four(at), self.four(at));
                let pair = |[a, b, c, d]: [u32; 4]| {
                    to::normal_double(to::uniform_of_two(a, b), to::uniform_of_two(c, d))
                };
                let ([a, b], [c, d]) = (pair(x), pair(y));
                ([a, b, c, d], 4)
            }
            Engine::Mrg32k3a(all) => {
                let (x, y) = (all[at].uniform(), all[at].uniform());
                let [a, b] = to::normal_double(x, y);
                ([a, b, 0.0, 0.0], 2)
            }
            _ => {
                let draws = [self.one(at), self.one(at), self.one(at), self.one(at)];
                let [x0, x1, y0, y1] = draws;
                let (u, v) = (to::uniform_of_two(x0, x1), to::uniform_of_two(y0, y1));
                let [a, b] = to::normal_double(u, v);
                ([a, b, 0.0, 0.0], 2)
            }
        }
    }
}
