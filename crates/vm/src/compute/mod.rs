//! Per-lane computations: from an instruction to the function that executes it.
//!
//! [`resolve`] picks, once at link time, a [`LaneFn`] for an operation, its types and modifiers.
//! The functions themselves are `simt::arith`'s; this module only decides which of them an
//! operation means. A new per-lane operation is one arm in the file of its family.

mod bits;
mod compare;
mod convert;
mod float;
mod integer;
mod movement;

use crate::code::{LaneOp, Src};
use ir::{Inst, Op, Ty};
use simt::LaneMask;
use simt::arith::lanes::{self, Inactive, Operand};
use simt::arith::{FpEnv, NanRule, Rounding};
use smallvec::SmallVec;

pub(crate) use movement::space_of;

/// Executes a computation for up to 64 lanes.
pub(crate) type LaneFn = fn(&mut Columns<'_>, &LaneOp);

/// Most lanes that a [`LaneFn`] is called for.
pub(crate) const CHUNK: usize = 64;

/// The registers that lane operations access: row `r` of lane `i` is `file[(base + r) * stride +
/// first + i]`.
pub(crate) struct Columns<'a> {
    pub(crate) file: &'a mut [u64],
    pub(crate) stride: usize,
    pub(crate) first: usize,
    /// Lanes that have a thread, from `first` on; at most [`CHUNK`].
    pub(crate) lanes: usize,
    /// Lanes that are on.
    pub(crate) on: LaneMask<1>,
    pub(crate) base: Bases<'a>,
    pub(crate) scalars: &'a [u64],
    pub(crate) vars: &'a [u64],
}

/// Frame bases of the lanes.
#[derive(Clone, Copy)]
pub(crate) enum Bases<'a> {
    /// All lanes that are on are in the same frame.
    Uniform(u32),
    /// Each lane its own, by lane.
    PerLane(&'a [u32]),
}

impl Bases<'_> {
    pub(crate) fn of(&self, lane: usize) -> usize {
        match self {
            Self::Uniform(base) => *base as usize,
            Self::PerLane(bases) => bases[lane] as usize,
        }
    }
}

impl Columns<'_> {
    /// Index in the file of a row of a lane.
    #[inline]
    pub(crate) fn at(&self, row: u32, lane: usize) -> usize {
        (self.base.of(lane) + row as usize) * self.stride + self.first + lane
    }

    /// The value of an operand in a lane.
    #[inline]
    pub(crate) fn get(&self, src: Src, lane: usize) -> u64 {
        match src {
            Src::Row(row) => self.file[self.at(row, lane)],
            _ => self.constant(src),
        }
    }

    /// The value of an operand that is the same in all lanes; 0 for a row.
    #[inline]
    fn constant(&self, src: Src) -> u64 {
        match src {
            Src::Row(_) => 0,
            Src::Const(bits) => bits,
            Src::Scalar(index) => self.scalars[index as usize],
            Src::Var(index, offset) => self.vars[index as usize].wrapping_add_signed(offset),
        }
    }

    /// Sets `dst` of every lane that is on to `f` of its sources.
    #[inline]
    fn map<const K: usize>(&mut self, dst: u32, src: [Src; K], mut f: impl FnMut([u64; K]) -> u64) {
        let Bases::Uniform(base) = self.base else {
            for lane in self.on {
                let value = f(src.map(|s| self.get(s, lane)));
                let at = self.at(dst, lane);
                self.file[at] = value;
            }
            return;
        };
        let column = |row: u32| (base as usize + row as usize) * self.stride + self.first;
        let operands = src.map(|s| match s {
            Src::Row(row) => Operand::Column(column(row)),
            other => Operand::Uniform(self.constant(other)),
        });
        let (to, on) = (column(dst), self.on);
        lanes::map_columns(&on, Inactive::Merge, self.lanes, self.file, to, operands, f);
    }

    /// Sets two results of every lane that is on. All sources of a lane are read before it is
    /// written.
    #[inline]
    fn map2<const K: usize>(
        &mut self,
        dst: [u32; 2],
        src: [Src; K],
        mut f: impl FnMut([u64; K]) -> (u64, u64),
    ) {
        for lane in self.on {
            let (first, second) = f(src.map(|s| self.get(s, lane)));
            let at = dst.map(|row| self.at(row, lane));
            // The first result is written last: it wins where both name one register.
            self.file[at[1]] = second;
            self.file[at[0]] = first;
        }
    }
}

/// The first `K` sources of an operation; missing ones read as zero.
#[inline]
fn sources<const K: usize>(op: &LaneOp) -> [Src; K] {
    std::array::from_fn(|i| op.src.get(i).copied().unwrap_or(Src::Const(0)))
}

/// A [`LaneFn`] from an expression over the environment `e` (a [`LaneOp`]) and operand values,
/// generic over types if given.
macro_rules! lane {
    ($([$($g:ident: $bound:path),+];)? |$e:ident $(, $a:ident)*| $body:expr) => {{
        fn run$(<$($g: $bound),+>)?(
            columns: &mut $crate::compute::Columns<'_>,
            op: &$crate::code::LaneOp,
        ) {
            let $e = op;
            let _ = &$e;
            columns.map(op.dst[0], $crate::compute::sources(op), |[$($a),*]| $body);
        }
        run$(::<$($g),+>)? as $crate::compute::LaneFn
    }};
}

/// The same with two results.
macro_rules! lane2 {
    ($([$($g:ident: $bound:path),+];)? |$e:ident $(, $a:ident)*| $body:expr) => {{
        fn run$(<$($g: $bound),+>)?(
            columns: &mut $crate::compute::Columns<'_>,
            op: &$crate::code::LaneOp,
        ) {
            let $e = op;
            let _ = &$e;
            columns.map2([op.dst[0], op.dst[1]], $crate::compute::sources(op), |[$($a),*]| $body);
        }
        run$(::<$($g),+>)? as $crate::compute::LaneFn
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

use {by_format, by_int, lane, lane2};

/// The function of an instruction, or `None` if this engine has none for its operation, types and
/// modifiers.
pub(crate) fn resolve(inst: &Inst) -> Option<LaneFn> {
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
pub(crate) fn environment(inst: &Inst) -> FpEnv {
    use ir::mods::{Flag, Rounding as R};
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

/// Rows of a register: one, or low and high of a 128-bit one.
pub(crate) type Rows = SmallVec<[u32; 2]>;

/// The constant that an operation's function reads as `extra`. `result` is the register it writes.
pub(crate) fn extra(inst: &Inst, result: ir::RegTy) -> u64 {
    match inst.op {
        Op::Set => compare::truth_of(inst.ty2.unwrap_or(Ty::U32)),
        Op::CvtaTo | Op::CvtaFrom => inst.mods.space.and_then(movement::window).unwrap_or(0),
        Op::Pack | Op::Unpack => u64::from(inst.ty2.map_or(32, Ty::bits)),
        _ => u64::MAX >> (64 - result.bits().min(64)),
    }
}
