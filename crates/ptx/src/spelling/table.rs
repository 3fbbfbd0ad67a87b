//! The forms: one row for each opcode and group of types that takes the same modifiers and operands.
//!
//! A row names the opcode, its types, the kinds of modifiers that it needs and may have, its operands, and what it
//! becomes. Source: PTX ISA 9.1, chapter 9; where the manual is silent, what `ptxas` 13.5 takes. Adding an opcode
//! that the kernel IR has takes one row here.

use ir::Op;
use ir::mods::{Flag, Flags};

use super::kind::{Kind, Kinds};
use super::{Spelled, Tier, family};
use crate::ast::Type::{self, *};

/// What an operand is read or written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Val {
    /// The first type.
    T,
    /// The second type.
    T2,
    /// An integer of twice the width of the first type.
    Wide,
    /// A predicate.
    P,
    /// A predicate, perhaps with `!`.
    PNot,
    /// 32 bits.
    B32,
    /// 64 bits.
    B64,
    /// An integer constant.
    Imm,
}

/// An operand of a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arg {
    /// A destination.
    D(Val),
    /// A destination that may be `_`.
    Ds(Val),
    /// A destination, with `|p` for a second one that is a predicate.
    Dp(Val),
    /// A destination with a second one that must be there.
    Dpp(Val),
    /// A source.
    S(Val),
    /// A source that may be left out.
    O(Val),
    /// `[address]`
    A,
    /// As many sources or destinations as the vector modifier says.
    V,
    /// Anything: the special rule looks at it.
    Any,
    /// Any number of operands; the special rule looks at them.
    Rest,
}

/// Forms that are more than one operation with its operands in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    /// `mov`, with packing, unpacking, addresses and special registers.
    Mov,
    /// `ld`, `ldu`
    Ld,
    /// `st`
    St,
    /// `atom`
    Atom,
    /// `red`
    Red,
    /// `add.cc` and the like: the operation, and whether it reads the carry flag.
    Carry(Op, bool),
    /// `bra`
    Bra,
    /// `brx.idx`
    Brx,
    /// `call`
    Call,
    /// `ret`
    Ret,
    /// `exit`
    Exit,
    /// Takes an issue and does nothing.
    Nop,
}

/// What a form becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// One operation, operands in order.
    Op(Op),
    /// See [`Special`].
    Special(Special),
}

/// One row.
#[derive(Debug)]
pub struct Form {
    /// The first word.
    pub opcode: &'static str,
    /// How many types are written.
    pub types: usize,
    sets: [&'static [Type]; 3],
    /// Kinds that must be there.
    pub required: Kinds,
    /// Kinds that may be there, in order of preference for words that belong to several.
    pub optional: &'static [Kind],
    /// Required kinds in order of preference.
    needs: &'static [Kind],
    /// Whether cache hints may be there.
    pub hints: bool,
    /// The operands.
    pub args: &'static [Arg],
    /// What it becomes.
    pub target: Target,
    /// Flags that the operation gets.
    pub flags: Flags,
    /// The operation's type where none is written.
    pub ir_ty: Option<ir::Ty>,
    /// What else must hold of the modifiers.
    pub rule: fn(&Spelled) -> bool,
    /// The rule in words: what is missing if it does not hold.
    pub rule_text: &'static str,
    /// PTX version from which on it is there.
    pub ptx: (u32, u32),
    /// Target from which on it is there.
    pub sm: u32,
}

fn always(_: &Spelled) -> bool {
    true
}

impl Form {
    const fn new(opcode: &'static str, target: Target, args: &'static [Arg]) -> Self {
        Self {
            opcode,
            types: 0,
            sets: [&[], &[], &[]],
            required: Kinds::of(&[]),
            optional: &[],
            needs: &[],
            hints: false,
            args,
            target,
            flags: Flags::NONE,
            ir_ty: None,
            rule: always,
            rule_text: "",
            ptx: (1, 0),
            sm: 0,
        }
    }

    const fn ty(mut self, types: &'static [Type]) -> Self {
        self.sets[self.types] = types;
        self.types += 1;
        self
    }

    const fn need(mut self, kinds: &'static [Kind]) -> Self {
        self.required = Kinds::of(kinds);
        self.needs = kinds;
        self
    }

    const fn opt(mut self, kinds: &'static [Kind]) -> Self {
        self.optional = kinds;
        self
    }

    const fn hints(mut self) -> Self {
        self.hints = true;
        self
    }

    const fn flag(mut self, flag: Flag) -> Self {
        self.flags = self.flags.with(flag);
        self
    }

    const fn reads(mut self, ty: ir::Ty) -> Self {
        self.ir_ty = Some(ty);
        self
    }

    const fn rule(mut self, rule: fn(&Spelled) -> bool, text: &'static str) -> Self {
        self.rule = rule;
        self.rule_text = text;
        self
    }

    const fn since(mut self, major: u32, minor: u32, sm: u32) -> Self {
        self.ptx = (major, minor);
        self.sm = sm;
        self
    }

    /// The types possible at a position.
    #[must_use]
    pub fn type_set(&self, position: usize) -> &'static [Type] {
        self.sets.get(position).copied().unwrap_or(&[])
    }

    /// All kinds that it takes, in order of preference.
    pub fn kinds(&self) -> impl Iterator<Item = Kind> {
        self.needs.iter().chain(self.optional).copied()
    }

    /// The tier of its opcode.
    #[must_use]
    pub fn tier(&self) -> Tier {
        family(self.opcode).map_or(Tier::One, |f| f.tier)
    }
}

const INT: &[Type] = &[U16, U32, U64, S16, S32, S64];
const INT_16_32: &[Type] = &[U16, U32, S16, S32];
const INT_32_64: &[Type] = &[U32, U64, S32, S64];
const ONLY32: &[Type] = &[U32, S32];
const SIGNED: &[Type] = &[S16, S32, S64];
const ONLY_S32: &[Type] = &[S32];
const BITS: &[Type] = &[B16, B32, B64];
const BITS_PRED: &[Type] = &[Pred, B16, B32, B64];
const BITS32: &[Type] = &[B32, B64];
const ONLY_B32: &[Type] = &[B32];
const ONLY_U32: &[Type] = &[U32];
const ONLY_PRED: &[Type] = &[Pred];
const PTR: &[Type] = &[U64, U32];
const ONLY_F32: &[Type] = &[F32];
const ONLY_F64: &[Type] = &[F64];
const FLOAT: &[Type] = &[F32, F64];
const HALF: &[Type] = &[F16, F16x2];
const BHALF: &[Type] = &[Bf16, Bf16x2];
const MOVABLE: &[Type] = &[Pred, B16, B32, B64, B128, U16, U32, U64, S16, S32, S64, F32, F64];
const MEMORY: &[Type] = &[B8, B16, B32, B64, B128, U8, U16, U32, U64, S8, S16, S32, S64, F32, F64];
const SELECTABLE: &[Type] = &[B16, B32, B64, U16, U32, U64, S16, S32, S64, F32, F64];
const COMPARED: &[Type] = &[B16, B32, B64, U16, U32, U64, S16, S32, S64, F32, F64];
const HALF_SCALARS: &[Type] = &[F16, Bf16];
const INTEGERS: &[Type] = &[U8, U16, U32, U64, S8, S16, S32, S64];
const FLOATS: &[Type] = &[F16, Bf16, F32, F64];
const F8X2: &[Type] = &[E4m3x2, E5m2x2];
const ATOMIC: &[Type] =
    &[B16, B32, B64, B128, U32, U64, S32, S64, F32, F64, F16, F16x2, Bf16, Bf16x2];
const NARROW: &[Type] = &[U16, S16, U8, S8];

use Arg::{A, Any, D, Dp, Dpp, Ds, O, Rest, S, V};
use Val::{Imm, P, PNot, T, T2, Wide};

const D_T: &[Arg] = &[D(T)];
const DS1: &[Arg] = &[D(T), S(T)];
const DS2: &[Arg] = &[D(T), S(T), S(T)];
const DS3: &[Arg] = &[D(T), S(T), S(T), S(T)];
const CVT1: &[Arg] = &[D(T), S(T2)];
const CVT2: &[Arg] = &[D(T), S(T2), S(T2)];
const MINMAX: &[Arg] = &[D(T), S(T), S(T), O(T)];

const fn op(opcode: &'static str, op: Op, args: &'static [Arg]) -> Form {
    Form::new(opcode, Target::Op(op), args)
}

const fn special(opcode: &'static str, special: Special, args: &'static [Arg]) -> Form {
    Form::new(opcode, Target::Special(special), args)
}

fn lo(s: &Spelled) -> bool {
    s.word(Kind::Half).or(s.word(Kind::LoHi)) == Some("lo")
}
fn hi(s: &Spelled) -> bool {
    s.word(Kind::Half).or(s.word(Kind::LoHi)) == Some("hi")
}
fn wide(s: &Spelled) -> bool {
    s.word(Kind::Half) == Some("wide")
}
fn left(s: &Spelled) -> bool {
    s.word(Kind::Direction) == Some("l")
}
fn right(s: &Spelled) -> bool {
    s.word(Kind::Direction) == Some("r")
}
fn ballot(s: &Spelled) -> bool {
    s.word(Kind::Vote) == Some("ballot")
}
fn not_ballot(s: &Spelled) -> bool {
    !ballot(s)
}
fn match_any(s: &Spelled) -> bool {
    s.word(Kind::Match) == Some("any")
}
fn match_all(s: &Spelled) -> bool {
    s.word(Kind::Match) == Some("all")
}
fn arrives(s: &Spelled) -> bool {
    s.word(Kind::Barrier) == Some("arrive")
}
fn syncs(s: &Spelled) -> bool {
    s.word(Kind::Barrier) == Some("sync")
}
fn counts(s: &Spelled) -> bool {
    s.word(Kind::Barrier) == Some("red") && s.word(Kind::RedOp) == Some("popc")
}
fn asks(s: &Spelled) -> bool {
    s.word(Kind::Barrier) == Some("red") && s.word(Kind::RedOp) != Some("popc")
}
fn xorsign(s: &Spelled) -> bool {
    s.has(Kind::XorSign) == s.has(Kind::Abs)
}

/// Comparisons that go with the type compared.
fn comparable(s: &Spelled) -> bool {
    let ty = s.source_ty();
    let cmp = s.word(Kind::Cmp).unwrap_or("eq");
    let signed = matches!(ty, S16 | S32 | S64);
    let unsigned = matches!(ty, U16 | U32 | U64);
    if s.has(Kind::Ftz) && !matches!(ty, F32 | F16 | F16x2) {
        return false;
    }
    match cmp {
        "eq" | "ne" => true,
        "lt" | "le" | "gt" | "ge" => !matches!(ty, B16 | B32 | B64),
        "lo" | "ls" | "hi" | "hs" => unsigned,
        _ => !signed && !unsigned && !matches!(ty, B16 | B32 | B64),
    }
}

/// Operations of `atom` and `red` that go with the type. Formats of 16 bits keep subnormals, and say so.
fn combinable(s: &Spelled) -> bool {
    let half = matches!(s.ty(), F16 | F16x2 | Bf16 | Bf16x2);
    let float = half || matches!(s.ty(), F32 | F64);
    let int = matches!(s.ty(), U32 | U64 | S32 | S64);
    let right = match s.word(Kind::Atom).unwrap_or("") {
        "add" => (int && s.ty() != S64) || float,
        "min" | "max" => int || (half && s.has(Kind::Vector)),
        "and" | "or" | "xor" => matches!(s.ty(), B32 | B64),
        "inc" | "dec" => s.ty() == U32,
        "exch" => matches!(s.ty(), B32 | B64 | B128),
        _ => matches!(s.ty(), B16 | B32 | B64 | B128),
    };
    right && half == s.has(Kind::NoFtz)
}

/// `red` gives nothing back, so it neither exchanges nor compares and swaps.
fn reducible_in_memory(s: &Spelled) -> bool {
    let gives = matches!(s.word(Kind::Atom), Some("exch" | "cas"));
    let acquires = matches!(s.word(Kind::AtomOrder), Some("acquire" | "acq_rel"));
    combinable(s) && !gives && !acquires
}

fn vector_combinable(s: &Spelled) -> bool {
    let bits = match s.word(Kind::Vector) {
        Some("v2") => 2 * s.ty().bits(),
        Some("v4") => 4 * s.ty().bits(),
        _ => 8 * s.ty().bits(),
    };
    matches!(s.word(Kind::Atom), Some("add" | "min" | "max")) && combinable(s) && bits <= 128
}

fn vector_reducible(s: &Spelled) -> bool {
    vector_combinable(s) && reducible_in_memory(s)
}

fn vector_of_128(s: &Spelled) -> bool {
    vector_bits(s) <= 128
}

fn vector_bits(s: &Spelled) -> u32 {
    let length = match s.word(Kind::Vector) {
        Some("v2") => 2,
        Some("v4") => 4,
        Some("v8") => 8,
        _ => 1,
    };
    length * s.ty().bits()
}

/// Vectors beyond 128 bits have elements of 32 or 64 bits; ordered accesses have a scope, and only those.
fn accessible(s: &Spelled) -> bool {
    let ordered = matches!(s.word(Kind::Order), Some("relaxed" | "acquire" | "release"));
    let most = if matches!(s.ty().bits(), 32 | 64) { 256 } else { 128 };
    vector_bits(s) <= most && ordered == s.has(Kind::Scope)
}

fn loadable(s: &Spelled) -> bool {
    let global = s.word(Kind::Space) == Some("global");
    accessible(s) && s.word(Kind::Order) != Some("release") && (global || !s.has(Kind::NonCoherent))
}

fn storable(s: &Spelled) -> bool {
    let read_only = matches!(s.word(Kind::Space), Some("const" | "param::entry"));
    accessible(s) && s.word(Kind::Order) != Some("acquire") && !read_only
}

/// Saturation by `.sat` or by `.relu`.
fn one_bound(s: &Spelled) -> bool {
    !(s.has(Kind::Sat) && s.has(Kind::Relu))
}

/// Where the type that is converted to cannot hold every value.
fn saturable(s: &Spelled) -> bool {
    let (to, from) = (s.ty(), s.source_ty());
    let signed = |t: Type| matches!(t, S8 | S16 | S32 | S64);
    let holds = match (signed(to), signed(from)) {
        (true, false) => to.bits() > from.bits(),
        (false, true) => false,
        _ => to.bits() >= from.bits(),
    };
    !(s.has(Kind::Sat) && holds)
}

fn bounded_rounding(s: &Spelled) -> bool {
    let bounded = s.has(Kind::Relu) || s.has(Kind::SatFinite);
    !bounded || nearest_or_zero(s)
}

/// `redux` adds and compares integers, combines bits, compares floats.
fn reducible(s: &Spelled) -> bool {
    if s.has(Kind::Nan) && s.ty() != F32 {
        return false;
    }
    match s.word(Kind::Atom).unwrap_or("") {
        "add" => matches!(s.ty(), U32 | S32),
        "min" | "max" => matches!(s.ty(), U32 | S32 | F32),
        "and" | "or" | "xor" => s.ty() == B32,
        _ => false,
    }
}

/// Only f32 is flushed, and bf16 does not saturate.
fn flushable(s: &Spelled) -> bool {
    let flushes = !s.has(Kind::Ftz) || s.types.contains(&F32);
    flushes && !(s.has(Kind::Sat) && s.types.contains(&Bf16))
}

fn nearest(s: &Spelled) -> bool {
    s.word(Kind::Rounding) == Some("rn")
}

fn nearest_or_zero(s: &Spelled) -> bool {
    matches!(s.word(Kind::Rounding), Some("rn" | "rz"))
}

/// Conversions that lose precision say how they round; those to the same format may round to an integral value.
fn convertible(s: &Spelled) -> bool {
    let (to, from) = (s.ty(), s.source_ty());
    let (rounding, integral) = (s.has(Kind::Rounding), s.has(Kind::Integral));
    let precision = |t: Type| match t {
        F16 | Bf16 => 1,
        F32 => 2,
        _ => 3,
    };
    let right = if to == from {
        !rounding
    } else if precision(to) > precision(from) {
        !integral && !rounding
    } else {
        rounding && !integral
    };
    right && flushable(s)
}

const FTZ_TEXT: &str = "`.f32` as one of its types for `.ftz`, and no `.bf16` for `.sat`";
const CMP_TEXT: &str =
    "a comparison that goes with the type (and `.ftz` only with `.f32` and `.f16`)";
const ATOM_TEXT: &str =
    "an operation that goes with the type, and `.noftz` for 16-bit formats and only there";
const ACCESS_TEXT: &str = "a scope with `.relaxed`, `.acquire` or `.release` and only there, `.global` with `.nc`, at most 128 bits (256 of 32-bit or 64-bit elements), a space that can be written";

/// All forms, those of one opcode side by side.
pub static FORMS: &[Form] = &[
    // Moves and conversions.
    special("mov", Special::Mov, &[Any, Any]).ty(MOVABLE),
    op("selp", Op::Selp, &[D(T), S(T), S(T), S(PNot)]).ty(SELECTABLE),
    op("slct", Op::Slct, &[D(T), S(T), S(T), S(T2)]).ty(SELECTABLE).ty(ONLY_S32),
    op("slct", Op::Slct, &[D(T), S(T), S(T), S(T2)]).ty(SELECTABLE).ty(ONLY_F32).opt(&[Kind::Ftz]),
    // Integers to integers, floats to integers, integers to floats, floats to floats, floats to packed formats.
    op("cvt", Op::Cvt, CVT1)
        .ty(INTEGERS)
        .ty(INTEGERS)
        .opt(&[Kind::Sat])
        .rule(saturable, "no `.sat`: the type holds every value"),
    op("cvt", Op::Cvt, CVT1)
        .ty(INTEGERS)
        .ty(FLOATS)
        .need(&[Kind::Integral])
        .opt(&[Kind::Ftz, Kind::Sat])
        .rule(flushable, FTZ_TEXT),
    op("cvt", Op::Cvt, CVT1)
        .ty(FLOATS)
        .ty(INTEGERS)
        .need(&[Kind::Rounding])
        .opt(&[Kind::Ftz, Kind::Sat])
        .rule(flushable, FTZ_TEXT),
    op("cvt", Op::Cvt, CVT1)
        .ty(FLOATS)
        .ty(FLOATS)
        .opt(&[Kind::Rounding, Kind::Integral, Kind::Ftz, Kind::Sat])
        .rule(convertible, "a rounding mode that goes with the types"),
    op("cvt", Op::Cvt, CVT1)
        .ty(HALF_SCALARS)
        .ty(ONLY_F32)
        .need(&[Kind::Rounding])
        .opt(&[Kind::Relu, Kind::SatFinite])
        .rule(bounded_rounding, "`.rn` or `.rz`")
        .since(7, 0, 80),
    op("cvt", Op::Cvt, CVT2)
        .ty(&[F16x2, Bf16x2])
        .ty(ONLY_F32)
        .need(&[Kind::Rounding])
        .opt(&[Kind::Relu, Kind::SatFinite])
        .rule(nearest_or_zero, "`.rn` or `.rz`")
        .since(7, 0, 80),
    op("cvt", Op::Cvt, CVT1)
        .ty(&[Tf32])
        .ty(ONLY_F32)
        .need(&[Kind::Away])
        .opt(&[Kind::SatFinite])
        .since(7, 0, 80),
    op("cvt", Op::Cvt, CVT1)
        .ty(&[Tf32])
        .ty(ONLY_F32)
        .need(&[Kind::Rounding])
        .opt(&[Kind::Relu, Kind::SatFinite])
        .rule(nearest_or_zero, "`.rn` or `.rz`")
        .since(7, 8, 90),
    op("cvt", Op::Cvt, CVT2)
        .ty(F8X2)
        .ty(ONLY_F32)
        .need(&[Kind::Rounding, Kind::SatFinite])
        .opt(&[Kind::Relu])
        .rule(nearest, "`.rn`")
        .since(8, 1, 89),
    op("cvt", Op::Cvt, CVT1)
        .ty(F8X2)
        .ty(&[F16x2])
        .need(&[Kind::Rounding, Kind::SatFinite])
        .opt(&[Kind::Relu])
        .rule(nearest, "`.rn`")
        .since(8, 1, 89),
    op("cvt", Op::Cvt, CVT1)
        .ty(&[F16x2])
        .ty(F8X2)
        .need(&[Kind::Rounding])
        .opt(&[Kind::Relu])
        .rule(nearest, "`.rn`")
        .since(8, 1, 89),
    op("cvt", Op::CvtPack, &[D(Val::B32), S(T2), S(T2)])
        .ty(NARROW)
        .ty(ONLY_S32)
        .need(&[Kind::Pack, Kind::Sat])
        .since(6, 5, 72),
    op("cvt", Op::CvtPack, &[D(Val::B32), S(T2), S(T2), S(Val::B32)])
        .ty(NARROW)
        .ty(ONLY_S32)
        .ty(ONLY_B32)
        .need(&[Kind::Pack, Kind::Sat])
        .since(6, 5, 72),
    op("cvta", Op::CvtaFrom, DS1).ty(PTR).need(&[Kind::To, Kind::Space]).since(2, 0, 20),
    op("cvta", Op::CvtaTo, DS1).ty(PTR).need(&[Kind::Space]).since(2, 0, 20),
    op("isspacep", Op::IsSpace, &[D(P), S(Val::B64)])
        .need(&[Kind::Space])
        .reads(ir::Ty::U64)
        .since(2, 0, 20),
    // Integer arithmetic.
    op("add", Op::Add, DS2).ty(ONLY_S32).need(&[Kind::Sat]),
    op("add", Op::Add, DS2).ty(INT),
    op("sub", Op::Sub, DS2).ty(ONLY_S32).need(&[Kind::Sat]),
    op("sub", Op::Sub, DS2).ty(INT),
    op("mul", Op::Mul, DS2).ty(INT).need(&[Kind::Half]).rule(lo, "`.lo`"),
    op("mul", Op::MulHi, DS2).ty(INT).need(&[Kind::Half]).rule(hi, "`.hi`"),
    op("mul", Op::MulWide, &[D(Wide), S(T), S(T)])
        .ty(INT_16_32)
        .need(&[Kind::Half])
        .rule(wide, "`.wide`"),
    op("mad", Op::Mad, DS3).ty(INT).need(&[Kind::Half]).rule(lo, "`.lo`"),
    op("mad", Op::MadHi, DS3).ty(ONLY_S32).need(&[Kind::Half, Kind::Sat]).rule(hi, "`.hi`"),
    op("mad", Op::MadHi, DS3).ty(INT).need(&[Kind::Half]).rule(hi, "`.hi`"),
    op("mad", Op::MadWide, &[D(Wide), S(T), S(T), S(Wide)])
        .ty(INT_16_32)
        .need(&[Kind::Half])
        .rule(wide, "`.wide`"),
    op("mul24", Op::Mul24, DS2).ty(ONLY32).need(&[Kind::LoHi]).rule(lo, "`.lo`"),
    op("mul24", Op::Mul24Hi, DS2).ty(ONLY32).need(&[Kind::LoHi]).rule(hi, "`.hi`"),
    op("mad24", Op::Mad24, DS3).ty(ONLY32).need(&[Kind::LoHi]).rule(lo, "`.lo`"),
    op("mad24", Op::Mad24Hi, DS3).ty(ONLY_S32).need(&[Kind::LoHi, Kind::Sat]).rule(hi, "`.hi`"),
    op("mad24", Op::Mad24Hi, DS3).ty(ONLY32).need(&[Kind::LoHi]).rule(hi, "`.hi`"),
    op("sad", Op::Sad, DS3).ty(INT),
    op("div", Op::Div, DS2).ty(INT),
    op("rem", Op::Rem, DS2).ty(INT),
    op("abs", Op::Abs, DS1).ty(SIGNED),
    op("neg", Op::Neg, DS1).ty(SIGNED),
    op("min", Op::Min, DS2).ty(INT),
    op("max", Op::Max, DS2).ty(INT),
    op("popc", Op::Popc, &[D(Val::B32), S(T)]).ty(BITS32).since(2, 0, 20),
    op("clz", Op::Clz, &[D(Val::B32), S(T)]).ty(BITS32).since(2, 0, 20),
    op("bfind", Op::Bfind, &[D(Val::B32), S(T)])
        .ty(INT_32_64)
        .opt(&[Kind::ShiftAmt])
        .since(2, 0, 20),
    op("brev", Op::Brev, DS1).ty(BITS32).since(2, 0, 20),
    op("bfe", Op::Bfe, &[D(T), S(T), S(Val::B32), S(Val::B32)]).ty(INT_32_64).since(2, 0, 20),
    op("bfi", Op::Bfi, &[D(T), S(T), S(T), S(Val::B32), S(Val::B32)]).ty(BITS32).since(2, 0, 20),
    op("szext", Op::Szext, &[D(T), S(T), S(Val::B32)])
        .ty(ONLY32)
        .need(&[Kind::ShiftMode])
        .since(7, 6, 70),
    op("bmsk", Op::Bmsk, DS2).ty(ONLY_B32).need(&[Kind::ShiftMode]).since(7, 6, 70),
    op("fns", Op::Fns, &[D(T), S(T), S(Val::B32), S(Val::B32)]).ty(ONLY_B32).since(6, 0, 30),
    op("dp4a", Op::Dp4a, &[D(Val::B32), S(T), S(T2), S(Val::B32)])
        .ty(ONLY32)
        .ty(ONLY32)
        .since(5, 0, 61),
    op("dp2a", Op::Dp2a, &[D(Val::B32), S(T), S(T2), S(Val::B32)])
        .ty(ONLY32)
        .ty(ONLY32)
        .need(&[Kind::LoHi])
        .since(5, 0, 61),
    special("add", Special::Carry(Op::AddCarry, false), DS2).ty(INT_32_64).need(&[Kind::Carry]),
    special("addc", Special::Carry(Op::AddCarry, true), DS2).ty(INT_32_64).opt(&[Kind::Carry]),
    special("sub", Special::Carry(Op::SubBorrow, false), DS2).ty(INT_32_64).need(&[Kind::Carry]),
    special("subc", Special::Carry(Op::SubBorrow, true), DS2).ty(INT_32_64).opt(&[Kind::Carry]),
    special("mad", Special::Carry(Op::MadCarry, false), DS3)
        .ty(INT_32_64)
        .need(&[Kind::Half, Kind::Carry])
        .rule(lo, "`.lo`"),
    special("mad", Special::Carry(Op::MadHiCarry, false), DS3)
        .ty(INT_32_64)
        .need(&[Kind::Half, Kind::Carry])
        .rule(hi, "`.hi`"),
    special("madc", Special::Carry(Op::MadCarry, true), DS3)
        .ty(INT_32_64)
        .need(&[Kind::LoHi])
        .opt(&[Kind::Carry])
        .rule(lo, "`.lo`"),
    special("madc", Special::Carry(Op::MadHiCarry, true), DS3)
        .ty(INT_32_64)
        .need(&[Kind::LoHi])
        .opt(&[Kind::Carry])
        .rule(hi, "`.hi`"),
    // Bits.
    op("and", Op::And, DS2).ty(BITS_PRED),
    op("or", Op::Or, DS2).ty(BITS_PRED),
    op("xor", Op::Xor, DS2).ty(BITS_PRED),
    op("not", Op::Not, DS1).ty(BITS_PRED),
    op("cnot", Op::Cnot, DS1).ty(BITS),
    op("lop3", Op::Lop3, &[D(T), S(T), S(T), S(T), S(Imm)]).ty(ONLY_B32).since(4, 3, 50),
    op("lop3", Op::Lop3, &[Dpp(T), S(T), S(T), S(T), S(Imm), S(PNot)])
        .ty(ONLY_B32)
        .need(&[Kind::AndOr])
        .since(8, 2, 70),
    op("shl", Op::Shl, &[D(T), S(T), S(Val::B32)]).ty(BITS),
    op("shr", Op::Shr, &[D(T), S(T), S(Val::B32)])
        .ty(&[B16, B32, B64, U16, U32, U64, S16, S32, S64]),
    op("shf", Op::ShfL, &[D(T), S(T), S(T), S(Val::B32)])
        .ty(ONLY_B32)
        .need(&[Kind::Direction, Kind::ShiftMode])
        .rule(left, "`.l`")
        .since(3, 1, 32),
    op("shf", Op::ShfR, &[D(T), S(T), S(T), S(Val::B32)])
        .ty(ONLY_B32)
        .need(&[Kind::Direction, Kind::ShiftMode])
        .rule(right, "`.r`")
        .since(3, 1, 32),
    op("prmt", Op::Prmt, &[D(T), S(T), S(T), S(Val::B32)])
        .ty(ONLY_B32)
        .opt(&[Kind::Prmt])
        .since(2, 0, 20),
    // Floating point.
    op("add", Op::Add, DS2).ty(ONLY_F32).opt(&[Kind::Rounding, Kind::Ftz, Kind::Sat]),
    op("add", Op::Add, DS2).ty(ONLY_F64).opt(&[Kind::Rounding]),
    op("add", Op::Add, DS2).ty(HALF).opt(&[Kind::Nearest, Kind::Ftz, Kind::Sat]).since(4, 2, 53),
    op("add", Op::Add, DS2).ty(BHALF).opt(&[Kind::Nearest]).since(7, 8, 90),
    op("sub", Op::Sub, DS2).ty(ONLY_F32).opt(&[Kind::Rounding, Kind::Ftz, Kind::Sat]),
    op("sub", Op::Sub, DS2).ty(ONLY_F64).opt(&[Kind::Rounding]),
    op("sub", Op::Sub, DS2).ty(HALF).opt(&[Kind::Nearest, Kind::Ftz, Kind::Sat]).since(4, 2, 53),
    op("sub", Op::Sub, DS2).ty(BHALF).opt(&[Kind::Nearest]).since(7, 8, 90),
    op("mul", Op::Mul, DS2).ty(ONLY_F32).opt(&[Kind::Rounding, Kind::Ftz, Kind::Sat]),
    op("mul", Op::Mul, DS2).ty(ONLY_F64).opt(&[Kind::Rounding]),
    op("mul", Op::Mul, DS2).ty(HALF).opt(&[Kind::Nearest, Kind::Ftz, Kind::Sat]).since(4, 2, 53),
    op("mul", Op::Mul, DS2).ty(BHALF).opt(&[Kind::Nearest]).since(7, 8, 90),
    op("fma", Op::Fma, DS3)
        .ty(ONLY_F32)
        .need(&[Kind::Rounding])
        .opt(&[Kind::Ftz, Kind::Sat])
        .since(2, 0, 20),
    op("fma", Op::Fma, DS3).ty(ONLY_F64).need(&[Kind::Rounding]),
    op("fma", Op::Fma, DS3)
        .ty(HALF)
        .need(&[Kind::Nearest])
        .opt(&[Kind::Ftz, Kind::Sat, Kind::Relu])
        .rule(one_bound, "`.sat` or `.relu`, not both")
        .since(4, 2, 53),
    op("fma", Op::Fma, DS3).ty(BHALF).need(&[Kind::Nearest]).opt(&[Kind::Relu]).since(7, 0, 80),
    op("mad", Op::Fma, DS3).ty(ONLY_F32).need(&[Kind::Rounding]).opt(&[Kind::Ftz, Kind::Sat]),
    op("mad", Op::Fma, DS3).ty(ONLY_F64).need(&[Kind::Rounding]),
    op("div", Op::Div, DS2).ty(ONLY_F32).need(&[Kind::Approx]).opt(&[Kind::Ftz]),
    op("div", Op::Div, DS2).ty(ONLY_F32).need(&[Kind::Full]).opt(&[Kind::Ftz]),
    op("div", Op::Div, DS2).ty(ONLY_F32).need(&[Kind::Rounding]).opt(&[Kind::Ftz]).since(2, 0, 20),
    op("div", Op::Div, DS2).ty(ONLY_F64).need(&[Kind::Rounding]),
    op("abs", Op::Abs, DS1).ty(ONLY_F32).opt(&[Kind::Ftz]),
    op("abs", Op::Abs, DS1).ty(ONLY_F64),
    op("abs", Op::Abs, DS1).ty(HALF).opt(&[Kind::Ftz]).since(6, 5, 53),
    op("abs", Op::Abs, DS1).ty(BHALF).since(7, 0, 80),
    op("neg", Op::Neg, DS1).ty(ONLY_F32).opt(&[Kind::Ftz]),
    op("neg", Op::Neg, DS1).ty(ONLY_F64),
    op("neg", Op::Neg, DS1).ty(HALF).opt(&[Kind::Ftz]).since(6, 0, 53),
    op("neg", Op::Neg, DS1).ty(BHALF).since(7, 0, 80),
    op("min", Op::Min, MINMAX)
        .ty(ONLY_F32)
        .opt(&[Kind::Ftz, Kind::Nan, Kind::XorSign, Kind::Abs])
        .rule(xorsign, "`.xorsign.abs`, both words"),
    op("min", Op::Min, DS2).ty(ONLY_F64),
    op("min", Op::Min, DS2)
        .ty(HALF)
        .opt(&[Kind::Ftz, Kind::Nan, Kind::XorSign, Kind::Abs])
        .rule(xorsign, "`.xorsign.abs`, both words")
        .since(7, 0, 80),
    op("min", Op::Min, DS2)
        .ty(BHALF)
        .opt(&[Kind::Nan, Kind::XorSign, Kind::Abs])
        .rule(xorsign, "`.xorsign.abs`, both words")
        .since(7, 0, 80),
    op("max", Op::Max, MINMAX)
        .ty(ONLY_F32)
        .opt(&[Kind::Ftz, Kind::Nan, Kind::XorSign, Kind::Abs])
        .rule(xorsign, "`.xorsign.abs`, both words"),
    op("max", Op::Max, DS2).ty(ONLY_F64),
    op("max", Op::Max, DS2)
        .ty(HALF)
        .opt(&[Kind::Ftz, Kind::Nan, Kind::XorSign, Kind::Abs])
        .rule(xorsign, "`.xorsign.abs`, both words")
        .since(7, 0, 80),
    op("max", Op::Max, DS2)
        .ty(BHALF)
        .opt(&[Kind::Nan, Kind::XorSign, Kind::Abs])
        .rule(xorsign, "`.xorsign.abs`, both words")
        .since(7, 0, 80),
    op("rcp", Op::Rcp, DS1).ty(ONLY_F32).need(&[Kind::Approx]).opt(&[Kind::Ftz]),
    op("rcp", Op::Rcp, DS1).ty(ONLY_F64).need(&[Kind::Approx, Kind::Ftz]),
    op("rcp", Op::Rcp, DS1).ty(ONLY_F32).need(&[Kind::Rounding]).opt(&[Kind::Ftz]).since(2, 0, 20),
    op("rcp", Op::Rcp, DS1).ty(ONLY_F64).need(&[Kind::Rounding]),
    op("sqrt", Op::Sqrt, DS1).ty(ONLY_F32).need(&[Kind::Approx]).opt(&[Kind::Ftz]),
    op("sqrt", Op::Sqrt, DS1)
        .ty(ONLY_F32)
        .need(&[Kind::Rounding])
        .opt(&[Kind::Ftz])
        .since(2, 0, 20),
    op("sqrt", Op::Sqrt, DS1).ty(ONLY_F64).need(&[Kind::Rounding]),
    op("rsqrt", Op::Rsqrt, DS1).ty(FLOAT).need(&[Kind::Approx]).opt(&[Kind::Ftz]),
    op("sin", Op::Sin, DS1).ty(ONLY_F32).need(&[Kind::Approx]).opt(&[Kind::Ftz]),
    op("cos", Op::Cos, DS1).ty(ONLY_F32).need(&[Kind::Approx]).opt(&[Kind::Ftz]),
    op("lg2", Op::Lg2, DS1).ty(ONLY_F32).need(&[Kind::Approx]).opt(&[Kind::Ftz]),
    op("ex2", Op::Ex2, DS1).ty(ONLY_F32).need(&[Kind::Approx]).opt(&[Kind::Ftz]),
    op("ex2", Op::Ex2, DS1).ty(HALF).need(&[Kind::Approx]).since(7, 0, 75),
    op("ex2", Op::Ex2, DS1).ty(BHALF).need(&[Kind::Approx, Kind::Ftz]).since(7, 8, 90),
    op("tanh", Op::Tanh, DS1).ty(&[F32, F16, F16x2]).need(&[Kind::Approx]).since(7, 0, 75),
    op("tanh", Op::Tanh, DS1).ty(BHALF).need(&[Kind::Approx]).since(7, 8, 90),
    op("copysign", Op::Copysign, DS2).ty(FLOAT).since(2, 0, 20),
    op("testp", Op::Testp, &[D(P), S(T)]).ty(FLOAT).need(&[Kind::TestP]).since(2, 0, 20),
    // Comparison.
    op("setp", Op::Setp, &[Dp(P), S(T), S(T)])
        .ty(COMPARED)
        .need(&[Kind::Cmp])
        .opt(&[Kind::Ftz])
        .rule(comparable, CMP_TEXT),
    op("setp", Op::Setp, &[Dp(P), S(T), S(T), S(PNot)])
        .ty(COMPARED)
        .need(&[Kind::Cmp, Kind::BoolOp])
        .opt(&[Kind::Ftz])
        .rule(comparable, CMP_TEXT),
    op("setp", Op::Setp, &[D(P), S(T), S(T)])
        .ty(HALF_SCALARS)
        .need(&[Kind::Cmp])
        .opt(&[Kind::Ftz])
        .rule(comparable, CMP_TEXT)
        .since(4, 2, 53),
    op("setp", Op::Setp, &[D(P), S(T), S(T), S(PNot)])
        .ty(HALF_SCALARS)
        .need(&[Kind::Cmp, Kind::BoolOp])
        .opt(&[Kind::Ftz])
        .rule(comparable, CMP_TEXT)
        .since(4, 2, 53),
    op("set", Op::Set, &[D(T), S(T2), S(T2)])
        .ty(&[U32, S32, F32])
        .ty(&[B16, B32, B64, U16, U32, U64, S16, S32, S64, F32, F64])
        .need(&[Kind::Cmp])
        .opt(&[Kind::Ftz])
        .rule(comparable, CMP_TEXT),
    op("set", Op::Set, &[D(T), S(T2), S(T2), S(PNot)])
        .ty(&[U32, S32, F32])
        .ty(&[B16, B32, B64, U16, U32, U64, S16, S32, S64, F32, F64])
        .need(&[Kind::Cmp, Kind::BoolOp])
        .opt(&[Kind::Ftz])
        .rule(comparable, CMP_TEXT),
    op("set", Op::Set, &[D(T), S(T2), S(T2)])
        .ty(&[U16, S16, U32, S32, F16])
        .ty(&[F16])
        .need(&[Kind::Cmp])
        .opt(&[Kind::Ftz])
        .rule(comparable, CMP_TEXT),
    op("set", Op::Set, &[D(T), S(T2), S(T2), S(PNot)])
        .ty(&[U16, S16, U32, S32, F16])
        .ty(&[F16])
        .need(&[Kind::Cmp, Kind::BoolOp])
        .opt(&[Kind::Ftz])
        .rule(comparable, CMP_TEXT),
    op("set", Op::Set, &[D(T), S(T2), S(T2)])
        .ty(&[U16, S16, U32, S32, Bf16])
        .ty(&[Bf16])
        .need(&[Kind::Cmp])
        .opt(&[Kind::Ftz])
        .rule(comparable, CMP_TEXT),
    op("set", Op::Set, &[D(T), S(T2), S(T2), S(PNot)])
        .ty(&[U16, S16, U32, S32, Bf16])
        .ty(&[Bf16])
        .need(&[Kind::Cmp, Kind::BoolOp])
        .opt(&[Kind::Ftz])
        .rule(comparable, CMP_TEXT),
    op("set", Op::Set, &[D(T), S(T2), S(T2)])
        .ty(&[F16x2])
        .ty(&[F16x2])
        .need(&[Kind::Cmp])
        .opt(&[Kind::Ftz])
        .rule(comparable, CMP_TEXT),
    op("set", Op::Set, &[D(T), S(T2), S(T2), S(PNot)])
        .ty(&[F16x2])
        .ty(&[F16x2])
        .need(&[Kind::Cmp, Kind::BoolOp])
        .opt(&[Kind::Ftz])
        .rule(comparable, CMP_TEXT),
    op("set", Op::Set, &[D(T), S(T2), S(T2)])
        .ty(&[Bf16x2])
        .ty(&[Bf16x2])
        .need(&[Kind::Cmp])
        .opt(&[Kind::Ftz])
        .rule(comparable, CMP_TEXT),
    op("set", Op::Set, &[D(T), S(T2), S(T2), S(PNot)])
        .ty(&[Bf16x2])
        .ty(&[Bf16x2])
        .need(&[Kind::Cmp, Kind::BoolOp])
        .opt(&[Kind::Ftz])
        .rule(comparable, CMP_TEXT),
    // Memory.
    special("ld", Special::Ld, &[V, A, O(Val::B64)])
        .ty(MEMORY)
        .opt(&[Kind::Order, Kind::Scope, Kind::Space, Kind::Cache, Kind::NonCoherent, Kind::Vector])
        .hints()
        .rule(loadable, ACCESS_TEXT),
    special("ldu", Special::Ld, &[V, A])
        .ty(MEMORY)
        .opt(&[Kind::GlobalSpace, Kind::Vector])
        .rule(vector_of_128, "a vector of at most 128 bits")
        .since(2, 0, 20),
    special("st", Special::St, &[A, V, O(Val::B64)])
        .ty(MEMORY)
        .opt(&[Kind::Order, Kind::Scope, Kind::Space, Kind::StCache, Kind::Vector])
        .hints()
        .rule(storable, ACCESS_TEXT),
    special("atom", Special::Atom, &[Ds(T), A, S(T), O(T), O(Val::B64)])
        .ty(ATOMIC)
        .need(&[Kind::Atom])
        .opt(&[Kind::AtomOrder, Kind::Scope, Kind::Space, Kind::NoFtz])
        .hints()
        .rule(combinable, ATOM_TEXT),
    special("atom", Special::Atom, &[V, A, V, O(Val::B64)])
        .ty(&[F32, F16, F16x2, Bf16, Bf16x2])
        .need(&[Kind::Atom, Kind::Vector])
        .opt(&[Kind::AtomOrder, Kind::Scope, Kind::GlobalSpace, Kind::NoFtz])
        .hints()
        .rule(vector_combinable, ATOM_TEXT)
        .since(8, 1, 90),
    special("red", Special::Red, &[A, S(T), O(Val::B64)])
        .ty(ATOMIC)
        .need(&[Kind::Atom])
        .opt(&[Kind::AtomOrder, Kind::Scope, Kind::Space, Kind::NoFtz])
        .hints()
        .rule(reducible_in_memory, ATOM_TEXT),
    special("red", Special::Red, &[A, V, O(Val::B64)])
        .ty(&[F32, F16, F16x2, Bf16, Bf16x2])
        .need(&[Kind::Atom, Kind::Vector])
        .opt(&[Kind::AtomOrder, Kind::Scope, Kind::GlobalSpace, Kind::NoFtz])
        .hints()
        .rule(vector_reducible, ATOM_TEXT)
        .since(8, 1, 90),
    op("fence", Op::Fence, &[]).need(&[Kind::FenceOrder, Kind::Scope]).since(6, 0, 70),
    op("membar", Op::Fence, &[]).need(&[Kind::Level]),
    special("prefetch", Special::Nop, &[Rest])
        .need(&[Kind::CacheLevel])
        .opt(&[Kind::Space])
        .hints()
        .since(2, 0, 20),
    special("prefetchu", Special::Nop, &[Rest]).need(&[Kind::CacheLevel]).since(2, 0, 20),
    special("applypriority", Special::Nop, &[Rest]).opt(&[Kind::Space]).hints().since(7, 4, 80),
    special("discard", Special::Nop, &[Rest])
        .need(&[Kind::CacheLevel])
        .opt(&[Kind::Space])
        .since(7, 4, 80),
    op("alloca", Op::Alloca, &[D(T), S(T), O(Imm)]).ty(PTR).since(7, 3, 52),
    // Warp collectives.
    op("shfl", Op::Shfl, &[Dp(T), S(T), S(Val::B32), S(Val::B32), S(Val::B32)])
        .ty(ONLY_B32)
        .need(&[Kind::Sync, Kind::Shuffle])
        .since(6, 0, 30),
    op("shfl", Op::Shfl, &[Dp(T), S(T), S(Val::B32), S(Val::B32)])
        .ty(ONLY_B32)
        .need(&[Kind::Shuffle])
        .flag(Flag::NoMask)
        .since(3, 0, 30),
    op("vote", Op::Vote, &[D(P), S(PNot), S(Val::B32)])
        .ty(ONLY_PRED)
        .need(&[Kind::Sync, Kind::Vote])
        .rule(not_ballot, "`.all`, `.any` or `.uni`")
        .since(6, 0, 30),
    op("vote", Op::Ballot, &[D(Val::B32), S(PNot), S(Val::B32)])
        .ty(ONLY_B32)
        .need(&[Kind::Sync, Kind::Vote])
        .rule(ballot, "`.ballot`")
        .since(6, 0, 30),
    op("vote", Op::Vote, &[D(P), S(PNot)])
        .ty(ONLY_PRED)
        .need(&[Kind::Vote])
        .rule(not_ballot, "`.all`, `.any` or `.uni`")
        .flag(Flag::NoMask)
        .since(1, 2, 12),
    op("vote", Op::Ballot, &[D(Val::B32), S(PNot)])
        .ty(ONLY_B32)
        .need(&[Kind::Vote])
        .rule(ballot, "`.ballot`")
        .flag(Flag::NoMask)
        .since(2, 0, 20),
    op("match", Op::Match, &[D(Val::B32), S(T), S(Val::B32)])
        .ty(BITS32)
        .need(&[Kind::Match, Kind::Sync])
        .rule(match_any, "`.any`")
        .since(6, 0, 70),
    op("match", Op::Match, &[Dp(Val::B32), S(T), S(Val::B32)])
        .ty(BITS32)
        .need(&[Kind::Match, Kind::Sync])
        .rule(match_all, "`.all`")
        .flag(Flag::All)
        .since(6, 0, 70),
    op("redux", Op::Redux, &[D(T), S(T), S(Val::B32)])
        .ty(&[U32, S32, B32, F32])
        .need(&[Kind::Sync, Kind::Atom])
        .opt(&[Kind::Nan])
        .rule(reducible, ATOM_TEXT)
        .since(7, 0, 80),
    op("elect", Op::Elect, &[Dpp(Val::B32), S(Val::B32)]).need(&[Kind::Sync]).since(8, 0, 90),
    op("activemask", Op::ActiveMask, D_T).ty(ONLY_B32).since(6, 2, 30),
    // Barriers.
    op("bar", Op::WarpSync, &[S(Val::B32)]).need(&[Kind::Warp, Kind::Sync]).since(6, 0, 30),
    op("bar", Op::Bar, &[S(Val::B32), O(Val::B32)])
        .need(&[Kind::Barrier])
        .opt(&[Kind::Cta])
        .rule(syncs, "`.sync`")
        .flag(Flag::Aligned),
    op("bar", Op::Bar, &[S(Val::B32), S(Val::B32)])
        .need(&[Kind::Barrier])
        .opt(&[Kind::Cta])
        .rule(arrives, "`.arrive`")
        .flag(Flag::Aligned)
        .since(2, 0, 20),
    op("bar", Op::Bar, &[D(T), S(Val::B32), O(Val::B32), S(PNot)])
        .ty(ONLY_U32)
        .need(&[Kind::Barrier, Kind::RedOp])
        .opt(&[Kind::Cta])
        .rule(counts, "`.red.popc`")
        .flag(Flag::Aligned)
        .since(2, 0, 20),
    op("bar", Op::Bar, &[D(T), S(Val::B32), O(Val::B32), S(PNot)])
        .ty(ONLY_PRED)
        .need(&[Kind::Barrier, Kind::RedOp])
        .opt(&[Kind::Cta])
        .rule(asks, "`.red.and` or `.red.or`")
        .flag(Flag::Aligned)
        .since(2, 0, 20),
    op("barrier", Op::Bar, &[S(Val::B32), O(Val::B32)])
        .need(&[Kind::Barrier])
        .opt(&[Kind::Cta, Kind::Aligned])
        .rule(syncs, "`.sync`")
        .since(6, 0, 30),
    op("barrier", Op::Bar, &[S(Val::B32), S(Val::B32)])
        .need(&[Kind::Barrier])
        .opt(&[Kind::Cta, Kind::Aligned])
        .rule(arrives, "`.arrive`")
        .since(6, 0, 30),
    op("barrier", Op::Bar, &[D(T), S(Val::B32), O(Val::B32), S(PNot)])
        .ty(ONLY_U32)
        .need(&[Kind::Barrier, Kind::RedOp])
        .opt(&[Kind::Cta, Kind::Aligned])
        .rule(counts, "`.red.popc`")
        .since(6, 0, 30),
    op("barrier", Op::Bar, &[D(T), S(Val::B32), O(Val::B32), S(PNot)])
        .ty(ONLY_PRED)
        .need(&[Kind::Barrier, Kind::RedOp])
        .opt(&[Kind::Cta, Kind::Aligned])
        .rule(asks, "`.red.and` or `.red.or`")
        .since(6, 0, 30),
    // Control flow and the system.
    special("bra", Special::Bra, &[Any]).opt(&[Kind::Uni]),
    special("brx", Special::Brx, &[Any, Any]).need(&[Kind::Idx]).opt(&[Kind::Uni]).since(6, 0, 30),
    special("call", Special::Call, &[Rest]).opt(&[Kind::Uni]),
    special("ret", Special::Ret, &[]).opt(&[Kind::Uni]),
    special("exit", Special::Exit, &[]),
    op("trap", Op::Trap, &[]),
    op("brkpt", Op::Brkpt, &[]),
    op("nanosleep", Op::Nanosleep, &[S(Val::B32)]).ty(ONLY_U32).since(6, 3, 70),
    special("pmevent", Special::Nop, &[Rest]),
    special("griddepcontrol", Special::Nop, &[Rest]).need(&[Kind::Dependence]).since(7, 8, 90),
    special("setmaxnreg", Special::Nop, &[Rest])
        .ty(ONLY_U32)
        .need(&[Kind::RegisterCount, Kind::Sync, Kind::Aligned])
        .since(8, 0, 90),
];

/// The forms of an opcode; empty for one without any.
#[must_use]
pub fn forms(opcode: &str) -> Vec<&'static Form> {
    FORMS.iter().filter(|f| f.opcode == opcode).collect()
}
