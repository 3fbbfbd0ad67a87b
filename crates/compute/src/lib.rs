//! Per-lane computations: from an instruction to the function that executes it.
//!
//! [`Computation::new`] picks, once at link time, the function for an operation, its types and
//! modifiers. The arithmetic is `simt::arith`'s; this crate only decides which of its functions an
//! operation means. A new per-lane operation is one arm in the file of its family.
//!
//! A function computes all lanes that it is given, in rows without gaps: whoever has lanes that are
//! off leaves them out. One loop a function keeps the crate quick to compile, for it has several
//! thousand of them.

mod bits;
mod compare;
mod convert;
mod float;
mod integer;
mod movement;

use ir::mods::{Flag, Mods};
use ir::{Inst, Op, RegTy, Ty};
use simt::arith::{Format, FpEnv, NanRule, Rounding};

pub use movement::space_of;

/// Most lanes of one call.
pub const LANES: usize = 64;

/// Computes the results of some lanes. Row `i` of `lanes` words is source `i`, and result `i`.
type LaneFn = fn(&Settings, &[u64], &mut [u64], usize);

/// What a function reads beside its sources.
#[derive(Clone, Debug)]
struct Settings {
    env: FpEnv,
    mods: Mods,
    /// A constant of the operation, whose meaning its function defines (the width of a part, a
    /// window's base, a mask).
    extra: u64,
    /// Rows of sources.
    sources: usize,
    /// Rows of results.
    results: usize,
}

/// The computation of an instruction in each lane.
#[derive(Clone, Debug)]
pub struct Computation {
    run: LaneFn,
    settings: Settings,
}

impl Computation {
    /// The computation of an instruction that writes a register of type `result`, with this many
    /// rows of sources and results: 128-bit values take two, low and high. `None` if there is no
    /// function for its operation, types and modifiers.
    #[must_use]
    pub fn new(inst: &Inst, result: RegTy, sources: usize, results: usize) -> Option<Self> {
        let (env, extra) = (environment(inst), extra(inst, result));
        let settings = Settings { env, mods: inst.mods, extra, sources, results };
        Some(Self { run: resolve(inst)?, settings })
    }

    /// Rows of sources.
    #[must_use]
    pub fn sources(&self) -> usize {
        self.settings.sources
    }

    /// Rows of results.
    #[must_use]
    pub fn results(&self) -> usize {
        self.settings.results
    }

    /// Computes the results of `lanes` lanes. `sources` and `results` hold a row of `lanes` words
    /// for each source and result.
    ///
    /// # Panics
    /// Panics if there are more than [`LANES`] lanes, or rows are missing.
    pub fn run(&self, sources: &[u64], results: &mut [u64], lanes: usize) {
        (self.run)(&self.settings, sources, results, lanes);
    }
}

/// What missing sources read.
const ZEROS: [u64; LANES] = [0; LANES];

/// The rows of the first `K` sources.
#[inline]
fn rows<const K: usize>(sources: &[u64], lanes: usize) -> [&[u64]; K] {
    std::array::from_fn(|i| sources.get(i * lanes..(i + 1) * lanes).unwrap_or(&ZEROS[..lanes]))
}

/// The sources of one lane. A loop and no `map`, which each of thousands of callers would compile.
#[inline]
fn sources_of<const K: usize>(rows: &[&[u64]; K], lane: usize) -> [u64; K] {
    let mut sources = [0; K];
    for (source, row) in sources.iter_mut().zip(rows) {
        *source = row[lane];
    }
    sources
}

/// Sets the result of each lane to `f` of its sources.
#[inline]
fn map<const K: usize>(
    sources: &[u64],
    results: &mut [u64],
    lanes: usize,
    f: impl Fn([u64; K]) -> u64,
) {
    let rows = rows::<K>(sources, lanes);
    for (lane, result) in results[..lanes].iter_mut().enumerate() {
        *result = f(sources_of(&rows, lane));
    }
}

/// Sets two results of each lane.
#[inline]
fn map2<const K: usize>(
    sources: &[u64],
    results: &mut [u64],
    lanes: usize,
    f: impl Fn([u64; K]) -> (u64, u64),
) {
    let rows = rows::<K>(sources, lanes);
    let (first, second) = results.split_at_mut(lanes);
    for (lane, (first, second)) in first.iter_mut().zip(&mut second[..lanes]).enumerate() {
        (*first, *second) = f(sources_of(&rows, lane));
    }
}

/// Saturates or clamps a float at zero, by the flags.
#[inline]
fn finish<F: Format>(e: &Settings, value: u64) -> u64 {
    if e.mods.flags.has(Flag::Sat) {
        simt::arith::float::saturate::<F>(value)
    } else if e.mods.flags.has(Flag::Relu) {
        simt::arith::float::relu::<F>(value, e.env)
    } else {
        value
    }
}

/// A [`LaneFn`] from an expression over the environment `e` (the [`Settings`]) and operand values,
/// generic over types if given.
macro_rules! lane {
    ($($rest:tt)*) => { $crate::lane_function!(map; $($rest)*) };
}

/// The same with two results.
macro_rules! lane2 {
    ($($rest:tt)*) => { $crate::lane_function!(map2; $($rest)*) };
}

macro_rules! lane_function {
    ($map:ident; $([$($g:ident: $bound:path),+];)? |$e:ident $(, $a:ident)*| $body:expr) => {{
        fn run$(<$($g: $bound),+>)?(
            e: &$crate::Settings,
            sources: &[u64],
            results: &mut [u64],
            lanes: usize,
        ) {
            let $e = e;
            let _ = &$e;
            $crate::$map(sources, results, lanes, |[$($a),*]| $body);
        }
        run$(::<$($g),+>)? as $crate::LaneFn
    }};
}

/// Instantiates a generic function for the Rust integer of an IR type; other types give `None`.
macro_rules! by_int {
    ($ty:expr, $f:ident) => {
        by_int!($ty, $f())
    };
    ($ty:expr, $f:ident($($arg:expr),*)) => {
        match $ty {
            ir::Ty::U8 | ir::Ty::B8 => Some($f::<u8>($($arg),*)),
            ir::Ty::U16 | ir::Ty::B16 => Some($f::<u16>($($arg),*)),
            ir::Ty::U32 | ir::Ty::B32 => Some($f::<u32>($($arg),*)),
            ir::Ty::U64 | ir::Ty::B64 => Some($f::<u64>($($arg),*)),
            ir::Ty::S8 => Some($f::<i8>($($arg),*)),
            ir::Ty::S16 => Some($f::<i16>($($arg),*)),
            ir::Ty::S32 => Some($f::<i32>($($arg),*)),
            ir::Ty::S64 => Some($f::<i64>($($arg),*)),
            _ => None,
        }
    };
}

/// Instantiates a generic function for the format of an IR type; other types give `None`.
macro_rules! by_format {
    ($ty:expr, $f:ident($($arg:expr),*)) => {
        match $ty {
            ir::Ty::F16 => Some($f::<simt::arith::F16>($($arg),*)),
            ir::Ty::Bf16 => Some($f::<simt::arith::BF16>($($arg),*)),
            ir::Ty::F32 => Some($f::<simt::arith::F32>($($arg),*)),
            ir::Ty::F64 => Some($f::<simt::arith::F64>($($arg),*)),
            _ => None,
        }
    };
}

use {by_format, by_int, lane, lane_function, lane2};

/// The function of an instruction, or `None` if this engine has none for its operation, types and
/// modifiers.
fn resolve(inst: &Inst) -> Option<LaneFn> {
    let ty = inst.ty.unwrap_or(Ty::B32);
    let found = movement::resolve(inst, ty)
        .or_else(|| compare::resolve(inst, ty))
        .or_else(|| convert::resolve(inst, ty));
    found.or_else(|| match ty.is_float() {
        true => float::resolve(inst, ty),
        false => integer::resolve(inst, ty).or_else(|| bits::resolve(inst, ty)),
    })
}

/// The floating-point environment that an instruction's modifiers ask for.
fn environment(inst: &Inst) -> FpEnv {
    use ir::mods::Rounding as R;
    if let Some(rounding) = convert::default_rounding(inst) {
        return FpEnv::PTX.with_rounding(rounding).with_ftz(inst.mods.flags.has(Flag::Ftz));
    }
    let rounding = match inst.mods.rounding {
        None | Some(R::Rn | R::Rni) => Rounding::NearestEven,
        Some(R::Rz | R::Rzi) => Rounding::TowardZero,
        Some(R::Rm | R::Rmi) => Rounding::TowardNegative,
        Some(R::Rp | R::Rpi) => Rounding::TowardPositive,
        Some(R::Rna) => Rounding::NearestAway,
    };
    FpEnv { rounding, ftz: inst.mods.flags.has(Flag::Ftz), nan: NanRule::Ptx }
}

/// The constant that an operation's function reads as `extra`. `result` is the register it writes.
fn extra(inst: &Inst, result: RegTy) -> u64 {
    match inst.op {
        Op::Set => compare::truth_of(inst.ty2.unwrap_or(Ty::U32)),
        Op::CvtaTo | Op::CvtaFrom => inst.mods.space.and_then(movement::window).unwrap_or(0),
        Op::Pack | Op::Unpack => u64::from(inst.ty2.map_or(32, Ty::bits)),
        _ => u64::MAX >> (64 - result.bits().min(64)),
    }
}
