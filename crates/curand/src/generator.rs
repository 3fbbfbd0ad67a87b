//! Generators: their handles, what they are set to, and the calls that ask for numbers.

use culibs::device::{put_host_list, write};
use culibs::handles::Handles;
use culibs::stream::{check_context, check_stream, context, submit};
use culibs::{Error, Outcome, Pod, Ptr};
use std::sync::{Arc, Mutex, PoisonError};

use crate::distribution as to;
use crate::engine::sobol;
use crate::poisson::{LARGEST, inverse, poisson};
use crate::quasi::Quasi;
use crate::state::{Group, Order, Pseudo, State};
use crate::status::{
    CURAND_STATUS_LENGTH_NOT_MULTIPLE, CURAND_STATUS_OUT_OF_RANGE, CURAND_STATUS_TYPE_ERROR,
};

/// Numbers that are made between writes.
const CHUNK: usize = 1 << 20;

/// A kind of generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GeneratorKind {
    Pseudo(Pseudo),
    Sobol32,
    Sobol64,
}

impl GeneratorKind {
    fn quasi(self) -> bool {
        matches!(self, Self::Sobol32 | Self::Sobol64)
    }
}

/// What the next numbers come of.
enum Source {
    Pseudo(State),
    Quasi(Quasi),
}

/// What a generator's handle stands for.
#[derive(Clone)]
struct Generator {
    kind: GeneratorKind,
    /// Whether numbers go to the host.
    on_host: bool,
    context: u64,
    stream: u64,
    seed: u64,
    offset: u64,
    order: Order,
    /// Of quasirandom numbers.
    dimensions: u32,
    /// Made when numbers are asked for, after seed and offset.
    source: Arc<Mutex<Option<Source>>>,
}

impl Generator {
    fn make(&self) -> Source {
        match self.kind {
            GeneratorKind::Pseudo(kind) => {
                Source::Pseudo(State::new(kind, self.order, self.seed, self.offset))
            }
            _ => Source::Quasi(Quasi::new(self.dimensions as usize, self.offset)),
        }
    }
}

static GENERATORS: Handles<Generator> = Handles::new(0x54_0000_0000);

/// Why scrambled Sobol numbers are refused.
pub(crate) const SCRAMBLED: Error = Error::Refused(
    c"of scrambled Sobol numbers, whose constants only NVIDIA's library has; Sobol numbers that \
      are not scrambled are there",
);

/// Reads `curandRngType_t`.
fn kind(value: i32) -> Outcome<GeneratorKind> {
    match value {
        100 | 101 => Ok(GeneratorKind::Pseudo(Pseudo::Xorwow)),
        121 => Ok(GeneratorKind::Pseudo(Pseudo::Mrg32k3a)),
        142 => Ok(GeneratorKind::Pseudo(Pseudo::Mt19937)),
        161 => Ok(GeneratorKind::Pseudo(Pseudo::Philox)),
        200 | 201 => Ok(GeneratorKind::Sobol32),
        203 => Ok(GeneratorKind::Sobol64),
        141 => Err(Error::Refused(
            c"of MTGP32, whose parameters come with NVIDIA's toolkit; other pseudorandom \
              generators are there",
        )),
        202 | 204 => Err(SCRAMBLED),
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
        order: Order::Legacy,
        dimensions: 1,
        source: Arc::default(),
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
            generator.source = Arc::default();
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

/// Refuses what the kind does not have: seeds are of pseudorandom generators, dimensions of others.
fn only(handle: u64, has: fn(GeneratorKind) -> bool) -> Outcome {
    match has(get(handle)?.kind) {
        true => Ok(()),
        false => Err(Error::Status(CURAND_STATUS_TYPE_ERROR)),
    }
}

pub(crate) fn set_seed(handle: u64, seed: u64) -> Outcome {
    only(handle, |kind| !kind.quasi())?;
    change(handle, true, |g| g.seed = seed)
}

pub(crate) fn set_offset(handle: u64, offset: u64) -> Outcome {
    only(handle, |kind| kind != GeneratorKind::Pseudo(Pseudo::Mt19937))?;
    change(handle, true, |g| g.offset = offset)
}

pub(crate) fn set_ordering(handle: u64, ordering: i32) -> Outcome {
    let kind = get(handle)?.kind;
    use Pseudo::{Mrg32k3a, Philox, Xorwow};
    let order = match (kind, ordering) {
        (GeneratorKind::Sobol32 | GeneratorKind::Sobol64, 201) => Order::Legacy,
        (GeneratorKind::Pseudo(_), 100 | 101 | 103) => Order::Legacy,
        (GeneratorKind::Pseudo(Xorwow), 102) => Order::Seeded,
        // The order that suits the device best: ours is the legacy one.
        (GeneratorKind::Pseudo(Xorwow | Mrg32k3a | Philox), 104) => Order::Legacy,
        _ => return Err(Error::Status(CURAND_STATUS_OUT_OF_RANGE)),
    };
    change(handle, true, |g| g.order = order)
}

pub(crate) fn set_dimensions(handle: u64, dimensions: u32) -> Outcome {
    only(handle, GeneratorKind::quasi)?;
    if dimensions == 0 || dimensions as usize > sobol::DIMENSIONS {
        return Err(Error::Status(CURAND_STATUS_OUT_OF_RANGE));
    }
    change(handle, true, |g| g.dimensions = dimensions)
}

/// Makes the states now rather than with the first numbers.
pub(crate) fn make_states(handle: u64) -> Outcome {
    let g = get(handle)?;
    let mut source = g.source.lock().unwrap_or_else(PoisonError::into_inner);
    source.get_or_insert_with(|| g.make());
    Ok(())
}

/// Where numbers go.
struct Sink {
    at: Ptr,
    on_host: bool,
}

impl Sink {
    fn put<T: Pod>(&mut self, numbers: &[T]) -> Outcome {
        match self.on_host {
            true => put_host_list(self.at, numbers)?,
            false => write(self.at as u64, numbers)?,
        }
        self.at += size_of_val(numbers);
        Ok(())
    }

    /// Writes `count` numbers that come group by group.
    fn groups<T: Pod>(&mut self, count: usize, mut give: impl FnMut() -> Group<T>) -> Outcome {
        let (mut numbers, mut left) = (Vec::with_capacity(CHUNK.min(count) + 4), count);
        while left > 0 {
            numbers.clear();
            while numbers.len() < CHUNK.min(left) {
                let (group, len) = give();
                numbers.extend_from_slice(&group[..len]);
            }
            numbers.truncate(left);
            self.put(&numbers)?;
            left -= numbers.len();
        }
        Ok(())
    }
}

/// Generates `count` numbers to an address: by groups of a pseudorandom generator's state, or each
/// of 64 bits of a quasirandom one, the first 32 of which are those of a generator of 32 bits.
fn generate<T: Pod + Send + Sync>(
    handle: u64,
    out: Ptr,
    count: usize,
    give: impl Fn(&mut State) -> Group<T> + Send + Sync + 'static,
    each: impl Fn(u64, GeneratorKind) -> T + Send + Sync + 'static,
) -> Outcome {
    let g = get(handle)?;
    if g.kind.quasi() && !count.is_multiple_of(g.dimensions as usize) {
        return Err(Error::Status(CURAND_STATUS_LENGTH_NOT_MULTIPLE));
    }
    if out == 0 && count > 0 {
        return Err(Error::Status(CURAND_STATUS_OUT_OF_RANGE));
    }
    let (stream, on_host) = (g.stream, g.on_host);
    let work = move || {
        let mut source = g.source.lock().unwrap_or_else(PoisonError::into_inner);
        if !on_host {
            culibs::device::Rows::flat(out as u64, count).check_write::<T>()?;
        }
        let mut sink = Sink { at: out, on_host };
        match source.get_or_insert_with(|| g.make()) {
            Source::Pseudo(state) => sink.groups(count, || give(state)),
            Source::Quasi(quasi) => quasi.parts(count, CHUNK, |bits| {
                sink.put(&bits.iter().map(|bits| each(*bits, g.kind)).collect::<Vec<T>>())
            }),
        }
    };
    if on_host { work() } else { submit(stream, work) }
}

/// Numbers of 32 bits. Those of a group that no call has taken are the next call's.
pub(crate) fn bits(handle: u64, out: Ptr, count: usize) -> Outcome {
    only(handle, |kind| kind != GeneratorKind::Sobol64)?;
    let give = |s: &mut State| {
        if s.left.is_empty() {
            return s.turn(State::bits);
        }
        let rest = std::mem::take(&mut s.left);
        let mut group = [0; 4];
        group[..rest.len()].copy_from_slice(&rest);
        (group, rest.len())
    };
    generate(handle, out, count, give, |bits, _| high(bits))
}

/// The first 32 of 64 bits.
fn high(bits: u64) -> u32 {
    (bits >> 32) as u32
}

/// Numbers of 64 bits.
pub(crate) fn long_bits(handle: u64, out: Ptr, count: usize) -> Outcome {
    only(handle, |kind| kind == GeneratorKind::Sobol64)?;
    generate(handle, out, count, |_| ([0; 4], 1), |bits, _| bits)
}

pub(crate) fn uniform(handle: u64, out: Ptr, count: usize) -> Outcome {
    let give = |s: &mut State| {
        if s.left.is_empty() {
            return s.turn(State::uniform);
        }
        let rest = std::mem::take(&mut s.left);
        let mut group = [0.0; 4];
        for (number, bits) in group.iter_mut().zip(&rest) {
            *number = to::uniform(*bits);
        }
        (group, rest.len())
    };
    generate(handle, out, count, give, |bits, _| to::uniform(high(bits)))
}

/// A uniform number of a quasirandom one.
fn uniform_of(bits: u64, kind: GeneratorKind) -> f64 {
    match kind {
        GeneratorKind::Sobol64 => to::uniform_of_long(bits),
        _ => to::uniform_of_one(high(bits)),
    }
}

pub(crate) fn uniform_double(handle: u64, out: Ptr, count: usize) -> Outcome {
    generate(handle, out, count, |s| s.turn(State::uniform_double), uniform_of)
}

/// Pseudorandom normal numbers come in pairs.
fn even(handle: u64, count: usize) -> Outcome {
    match count.is_multiple_of(2) || get(handle)?.kind.quasi() {
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
    even(handle, count)?;
    let one = move |z: f32| {
        let x = deviation.mul_add(z, mean);
        if log { libm::exp(x.into()) as f32 } else { x }
    };
    let give = move |s: &mut State| {
        let (group, len) = s.turn(State::normal);
        (group.map(one), len)
    };
    generate(handle, out, count, give, move |bits, _| one(to::normal_of_one(high(bits))))
}

pub(crate) fn normal_double(
    handle: u64,
    out: Ptr,
    count: usize,
    [mean, deviation]: [f64; 2],
    log: bool,
) -> Outcome {
    even(handle, count)?;
    let one = move |z: f64| {
        let x = deviation.mul_add(z, mean);
        if log { libm::exp(x) } else { x }
    };
    let give = move |s: &mut State| {
        let (group, len) = s.turn(State::normal_double);
        (group.map(one), len)
    };
    generate(handle, out, count, give, move |bits, kind| one(normal_of(bits, kind)))
}

/// A normal number of a quasirandom one.
fn normal_of(bits: u64, kind: GeneratorKind) -> f64 {
    match kind {
        GeneratorKind::Sobol64 => to::normal_of_bits(bits >> 11, 53),
        _ => to::normal_of_bits(high(bits).into(), 32),
    }
}

pub(crate) fn poisson_numbers(handle: u64, out: Ptr, count: usize, mean: f64) -> Outcome {
    get(handle)?;
    if !(mean > 0.0 && mean <= LARGEST) {
        return Err(Error::Status(CURAND_STATUS_OUT_OF_RANGE));
    }
    let give = move |s: &mut State| {
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
    };
    let each = move |bits, kind| inverse(mean, uniform_of(bits, kind), || normal_of(bits, kind));
    generate(handle, out, count, give, each)
}
