//! Generators: subsequences that take turns, each giving one group of numbers at a time.
//!
//! The number at place `n` is from subsequence `n mod 4096` of XORWOW and MRG32k3a; Philox has
//! 65536 subsequences, each of which gives four numbers at a time. Numbers that take several draws
//! take them from one subsequence. Calls continue where the last one ended.

use culibs::device::{put_host_list, write};
use culibs::handles::Handles;
use culibs::stream::{check_context, check_stream, context, submit};
use culibs::{Error, Outcome, Pod, Ptr};
use std::sync::{Arc, Mutex, PoisonError};

use crate::distribution as to;
use crate::engine::{Mrg32k3a, Mt19937, Xorwow, philox4x32_10};
use crate::poisson::{LARGEST, poisson};
use crate::status::{
    CURAND_STATUS_LENGTH_NOT_MULTIPLE, CURAND_STATUS_OUT_OF_RANGE, CURAND_STATUS_TYPE_ERROR,
};

/// Subsequences of XORWOW and MRG32k3a.
const THREADS: usize = 4096;

/// Subsequences of Philox.
const PHILOX_THREADS: usize = 65_536;

/// Numbers that are made between writes.
const CHUNK: usize = 1 << 20;

/// A kind of generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Xorwow,
    Mrg32k3a,
    Mt19937,
    Philox,
}

/// The states of all subsequences.
enum Engine {
    Xorwow(Vec<Xorwow>),
    Mrg32k3a(Vec<Mrg32k3a>),
    Mt19937(Mt19937),
    /// Groups of four that each subsequence has given.
    Philox(Vec<u64>),
}

/// The numbers of one turn, and how many there are.
type Group<T> = ([T; 4], usize);

struct State {
    engine: Engine,
    /// The subsequence whose turn is next.
    turn: usize,
    seed: u64,
    /// Bits of the last group that no call has taken.
    left: Vec<u32>,
}

fn skipped<T>(mut states: Vec<T>, offset: u64, skip: fn(&mut T, u64)) -> Vec<T> {
    let (rounds, rest) = (offset / THREADS as u64, (offset % THREADS as u64) as usize);
    for (i, state) in states.iter_mut().enumerate() {
        skip(state, rounds + u64::from(i < rest));
    }
    states
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
    fn new(kind: Kind, seed: u64, offset: u64) -> Self {
        let engine = match kind {
            Kind::Xorwow => {
                let all = subsequences(Xorwow::new(seed, 0), Xorwow::next_subsequence);
                Engine::Xorwow(skipped(all, offset, Xorwow::skip))
            }
            Kind::Mrg32k3a => {
                let all = subsequences(Mrg32k3a::new(seed), Mrg32k3a::next_subsequence);
                Engine::Mrg32k3a(skipped(all, offset, Mrg32k3a::skip))
            }
            Kind::Mt19937 => Engine::Mt19937(Mt19937::new(seed as u32)),
            Kind::Philox => {
                let groups = offset / 4;
                let (rounds, rest) =
                    (groups / PHILOX_THREADS as u64, (groups % PHILOX_THREADS as u64) as usize);
                let given = |i| rounds + u64::from(i < rest);
                Engine::Philox((0..PHILOX_THREADS).map(given).collect())
            }
        };
        let mut new = Self { engine, turn: 0, seed, left: Vec::new() };
        match kind {
            Kind::Philox => {
                new.turn = (offset / 4 % PHILOX_THREADS as u64) as usize;
                let inside = (offset % 4) as usize;
                if inside > 0 {
                    new.left = new.turn(State::bits).0[inside..].to_vec();
                }
            }
            Kind::Mt19937 => {}
            _ => new.turn = (offset % THREADS as u64) as usize,
        }
        new
    }

    /// Has the next subsequence give a group.
    fn turn<T>(&mut self, give: impl Fn(&mut Self, usize) -> Group<T>) -> Group<T> {
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

    fn bits(&mut self, at: usize) -> Group<u32> {
        match &self.engine {
            Engine::Philox(_) => (self.four(at), 4),
            _ => ([self.one(at), 0, 0, 0], 1),
        }
    }

    fn uniform(&mut self, at: usize) -> Group<f32> {
        match &mut self.engine {
            Engine::Philox(_) => (self.four(at).map(to::uniform), 4),
            Engine::Mrg32k3a(all) => ([all[at].uniform() as f32, 0.0, 0.0, 0.0], 1),
            _ => ([to::uniform(self.one(at)), 0.0, 0.0, 0.0], 1),
        }
    }

    fn uniform_double(&mut self, at: usize) -> Group<f64> {
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

    fn normal(&mut self, at: usize) -> Group<f32> {
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

    fn normal_double(&mut self, at: usize) -> Group<f64> {
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

/// What a generator's handle stands for.
#[derive(Clone)]
struct Generator {
    kind: Kind,
    /// Whether numbers go to the host.
    on_host: bool,
    context: u64,
    stream: u64,
    seed: u64,
    offset: u64,
    /// Made when numbers are asked for, after seed and offset.
    state: Arc<Mutex<Option<State>>>,
}

static GENERATORS: Handles<Generator> = Handles::new(0x54_0000_0000);

/// Reads `curandRngType_t`.
fn kind(value: i32) -> Outcome<Kind> {
    match value {
        100 | 101 => Ok(Kind::Xorwow),
        121 => Ok(Kind::Mrg32k3a),
        142 => Ok(Kind::Mt19937),
        161 => Ok(Kind::Philox),
        // MTGP32 and Sobol generators.
        141 | 200..=204 => Err(Error::NotSupported),
        _ => Err(Error::Status(CURAND_STATUS_TYPE_ERROR)),
    }
}

pub(crate) fn create(out: Ptr, rng: i32, on_host: bool) -> Outcome {
    let kind = kind(rng)?;
    let context = if on_host { 0 } else { context()? };
    let handle = GENERATORS.add(Generator {
        kind,
        on_host,
        context,
        stream: 0,
        seed: 0,
        offset: 0,
        state: Arc::default(),
    });
    culibs::device::put_host(out, handle).inspect_err(|_| drop(GENERATORS.remove(handle)))
}

pub(crate) fn destroy(handle: u64) -> Outcome {
    GENERATORS.remove(handle).map(drop)
}

fn get(handle: u64) -> Outcome<Generator> {
    let generator = GENERATORS.get(handle)?;
    if !generator.on_host {
        check_context(generator.context)?;
    }
    Ok(generator)
}

/// Changes a generator, which begins anew if `again`.
fn change(handle: u64, again: bool, to: impl FnOnce(&mut Generator)) -> Outcome {
    get(handle)?;
    GENERATORS.with(handle, |generator| {
        if again {
            generator.state = Arc::default();
        }
        to(generator);
        Ok(())
    })
}

pub(crate) fn set_stream(handle: u64, stream: u64) -> Outcome {
    if !get(handle)?.on_host {
        check_stream(stream)?;
    }
    change(handle, false, |g| g.stream = stream)
}

pub(crate) fn set_seed(handle: u64, seed: u64) -> Outcome {
    change(handle, true, |g| g.seed = seed)
}

pub(crate) fn set_offset(handle: u64, offset: u64) -> Outcome {
    if get(handle)?.kind == Kind::Mt19937 {
        return Err(Error::Status(CURAND_STATUS_TYPE_ERROR));
    }
    change(handle, true, |g| g.offset = offset)
}

pub(crate) fn set_ordering(handle: u64, ordering: i32) -> Outcome {
    get(handle)?;
    match ordering {
        100 | 101 | 103 => change(handle, true, |_| ()),
        // Orders that depend on the device or on seeds of each thread.
        102 | 104 => Err(Error::NotSupported),
        201 => Err(Error::Status(CURAND_STATUS_TYPE_ERROR)),
        _ => Err(Error::Status(CURAND_STATUS_OUT_OF_RANGE)),
    }
}

/// Dimensions are those of quasirandom generators.
pub(crate) fn set_dimensions(handle: u64) -> Outcome {
    get(handle)?;
    Err(Error::Status(CURAND_STATUS_TYPE_ERROR))
}

/// Makes the states now rather than with the first numbers.
pub(crate) fn make_states(handle: u64) -> Outcome {
    let g = get(handle)?;
    let mut state = g.state.lock().unwrap_or_else(PoisonError::into_inner);
    state.get_or_insert_with(|| State::new(g.kind, g.seed, g.offset));
    Ok(())
}

/// Generates `count` numbers to an address, group by group.
fn generate<T: Pod + Send + Sync>(
    handle: u64,
    out: Ptr,
    count: usize,
    give: impl Fn(&mut State) -> Group<T> + Send + Sync + 'static,
) -> Outcome {
    let g = get(handle)?;
    if out == 0 && count > 0 {
        return Err(Error::Status(CURAND_STATUS_OUT_OF_RANGE));
    }
    let (stream, on_host) = (g.stream, g.on_host);
    let work = move || {
        let mut state = g.state.lock().unwrap_or_else(PoisonError::into_inner);
        let state = state.get_or_insert_with(|| State::new(g.kind, g.seed, g.offset));
        if !on_host {
            culibs::device::Rows::flat(out as u64, count).check_write::<T>()?;
        }
        let (mut at, mut numbers) = (out, Vec::with_capacity(CHUNK.min(count) + 4));
        let mut left = count;
        while left > 0 {
            numbers.clear();
            while numbers.len() < CHUNK.min(left) {
                let (group, len) = give(state);
                numbers.extend_from_slice(&group[..len]);
            }
            numbers.truncate(left);
            match on_host {
                true => put_host_list(at, &numbers)?,
                false => write(at as u64, &numbers)?,
            }
            left -= numbers.len();
            at += size_of_val(&*numbers);
        }
        Ok(())
    };
    if on_host { work() } else { submit(stream, work) }
}

/// Numbers of 32 bits. Those of a group that no call has taken are the next call's.
pub(crate) fn bits(handle: u64, out: Ptr, count: usize) -> Outcome {
    generate(handle, out, count, |s| {
        if s.left.is_empty() {
            return s.turn(State::bits);
        }
        let rest = std::mem::take(&mut s.left);
        let mut group = [0; 4];
        group[..rest.len()].copy_from_slice(&rest);
        (group, rest.len())
    })
}

/// Numbers of 64 bits are Sobol64's.
pub(crate) fn long_bits(handle: u64) -> Outcome {
    get(handle)?;
    Err(Error::Status(CURAND_STATUS_TYPE_ERROR))
}

pub(crate) fn uniform(handle: u64, out: Ptr, count: usize) -> Outcome {
    generate(handle, out, count, |s| {
        if s.left.is_empty() {
            return s.turn(State::uniform);
        }
        let rest = std::mem::take(&mut s.left);
        let mut group = [0.0; 4];
        for (number, bits) in group.iter_mut().zip(&rest) {
            *number = to::uniform(*bits);
        }
        (group, rest.len())
    })
}

pub(crate) fn uniform_double(handle: u64, out: Ptr, count: usize) -> Outcome {
    generate(handle, out, count, |s| s.turn(State::uniform_double))
}

/// Normal numbers come in pairs.
fn even(count: usize) -> Outcome {
    match count.is_multiple_of(2) {
        true => Ok(()),
        false => Err(Error::Status(CURAND_STATUS_LENGTH_NOT_MULTIPLE)),
    }
}

pub(crate) fn normal(
    handle: u64,
    out: Ptr,
    count: usize,
    [mean, deviation]: [f32; 2],
    log: bool,
) -> Outcome {
    get(handle)?;
    even(count)?;
    generate(handle, out, count, move |s| {
        let (group, len) = s.turn(State::normal);
        let one = |z: f32| {
            let x = deviation.mul_add(z, mean);
            if log { libm::exp(x.into()) as f32 } else { x }
        };
        (group.map(one), len)
    })
}

pub(crate) fn normal_double(
    handle: u64,
    out: Ptr,
    count: usize,
    [mean, deviation]: [f64; 2],
    log: bool,
) -> Outcome {
    get(handle)?;
    even(count)?;
    generate(handle, out, count, move |s| {
        let (group, len) = s.turn(State::normal_double);
        let one = |z: f64| {
            let x = deviation.mul_add(z, mean);
            if log { libm::exp(x) } else { x }
        };
        (group.map(one), len)
    })
}

pub(crate) fn poisson_numbers(handle: u64, out: Ptr, count: usize, mean: f64) -> Outcome {
    get(handle)?;
    if !(mean > 0.0 && mean <= LARGEST) {
        return Err(Error::Status(CURAND_STATUS_OUT_OF_RANGE));
    }
    generate(handle, out, count, move |s| {
        let (group, _) = s.turn(|s, at| {
            let mut spare: Vec<f64> = Vec::new();
            let mut uniform = || {
                if spare.is_empty() {
                    let (group, len) = s.uniform_double(at);
                    spare.extend(group[..len].iter().rev());
                }
                spare.pop().unwrap_or(0.5)
            };
            ([poisson(mean, &mut uniform), 0, 0, 0], 1)
        });
        (group, 1)
    })
}
