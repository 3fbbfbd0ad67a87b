//! Integers and bits.

use ir::Op;
use ir::mods::Kind as IrKind;

use super::Arg::{D, Dpp, S};
use super::Val::{Imm, PNot, T, T2, Wide};
use super::rules::{hi, left, lo, right, wide};
use super::sets::{
    BITS, BITS_PRED, BITS32, DS1, DS2, DS3, INT, INT_16_32, INT_32_64, INT_PAIRS, ONLY_B32,
    ONLY_S32, ONLY32, SIGNED, op, special,
};
use super::{Form, Special, Val};
use crate::ast::Type::{B16, B32, B64, S16, S16x2, S32, S64, U16, U32, U64};
use crate::spelling::Kind;

pub(super) static ROWS: &[Form] = &[
    // Integer arithmetic.
    op("add", Op::Add, DS2).ty(ONLY_S32).need(&[Kind::Sat]),
    op("add", Op::Add, DS2).ty(INT),
    op("add", Op::Add, DS2).ty(INT_PAIRS).since(8, 0, 90),
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
    op("min", Op::Min, DS2).ty(INT_PAIRS).since(8, 0, 90),
    op("min", Op::Min, DS2).ty(&[S32, S16x2]).need(&[Kind::Relu]).since(8, 0, 90),
    op("max", Op::Max, DS2).ty(INT),
    op("max", Op::Max, DS2).ty(INT_PAIRS).since(8, 0, 90),
    op("max", Op::Max, DS2).ty(&[S32, S16x2]).need(&[Kind::Relu]).since(8, 0, 90),
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
    special("sub", Special::Carry(Op::SubCarry, false), DS2).ty(INT_32_64).need(&[Kind::Carry]),
    special("subc", Special::Carry(Op::SubCarry, true), DS2).ty(INT_32_64).opt(&[Kind::Carry]),
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
        .opt(&[Kind::Ir(IrKind::Permute)])
        .since(2, 0, 20),
];
