//! Accesses to all replicas of an address. One device has one replica: the address itself.

use ir::mods::Kind as IrKind;

use super::Arg::{A, S, V};
use super::Val::T;
use super::rules::vector_bits;
use super::sets::special;
use super::{Form, Special};
use crate::ast::Type::{self, *};
use crate::spelling::{Kind, Spelled};

const REDUCED: &[Type] = &[U32, S32, U64, S64, B32, B64, F16x2, Bf16x2, F32, F64];
const STORED: &[Type] = &[B32, B64, U32, U64, S32, S64, F16x2, Bf16x2, F32, F64];
const VECTORS: &[Type] = &[F16, F16x2, Bf16, Bf16x2, F32];

const ORDER_TEXT: &str = "a memory order of the action with a scope, or neither";
const REDUCE_TEXT: &str = "an operation that goes with the type";

/// `.weak` or no order without a scope, else one of these with one.
fn ordered(s: &Spelled, action: &str, orders: &[&str]) -> bool {
    let order = s.word(Kind::Order);
    let strong = order.is_some_and(|order| orders.contains(&order));
    let plain = matches!(order, None | Some("weak"));
    s.word(Kind::Multimem) == Some(action) && if s.has(Kind::Scope) { strong } else { plain }
}

fn loads(s: &Spelled) -> bool {
    ordered(s, "ld_reduce", &["relaxed", "acquire"])
}

fn stores(s: &Spelled) -> bool {
    ordered(s, "st", &["relaxed", "release"]) && vector_bits(s) <= 128
}

fn reduces(s: &Spelled) -> bool {
    ordered(s, "red", &["relaxed", "release"]) && s.word(Kind::Order) != Some("weak")
}

fn combines(s: &Spelled) -> bool {
    let half = matches!(s.ty(), F16 | F16x2 | Bf16 | Bf16x2);
    let right = match s.word(Kind::Ir(IrKind::AtomOp)).unwrap_or("") {
        "add" => !matches!(s.ty(), S64 | B32 | B64),
        "min" | "max" => half || matches!(s.ty(), U32 | S32 | U64 | S64),
        "and" | "or" | "xor" => matches!(s.ty(), B32 | B64),
        _ => false,
    };
    let adds = s.word(Kind::Ir(IrKind::AtomOp)) == Some("add");
    let precise =
        !s.has(Kind::Accumulator) || half && adds && s.word(Kind::Accumulator) == Some("acc::f32");
    right && precise && vector_bits(s) <= 128
}

const fn row(types: &'static [Type], args: &'static [super::Arg], needs: &'static [Kind]) -> Form {
    special("multimem", Special::Multimem, args).ty(types).need(needs)
}

const REDUCTION: &[Kind] = &[Kind::Multimem, Kind::Ir(IrKind::AtomOp)];
const REDUCTIONS: &[Kind] = &[Kind::Multimem, Kind::Ir(IrKind::AtomOp), Kind::Vector];
const ACCESS: &[Kind] = &[Kind::Order, Kind::Scope, Kind::GlobalSpace];
const SUMS: &[Kind] = &[Kind::Order, Kind::Scope, Kind::GlobalSpace, Kind::Accumulator];

pub(super) static ROWS: &[Form] = &[
    row(REDUCED, &[V, A], REDUCTION)
        .opt(SUMS)
        .rule(loads, ORDER_TEXT)
        .then_rule(combines, REDUCE_TEXT)
        .since(8, 1, 90),
    row(VECTORS, &[V, A], REDUCTIONS)
        .opt(SUMS)
        .rule(loads, ORDER_TEXT)
        .then_rule(combines, REDUCE_TEXT)
        .since(8, 1, 90),
    row(STORED, &[A, V], &[Kind::Multimem]).opt(ACCESS).rule(stores, ORDER_TEXT).since(8, 1, 90),
    row(VECTORS, &[A, V], &[Kind::Multimem, Kind::Vector])
        .opt(ACCESS)
        .rule(stores, ORDER_TEXT)
        .since(8, 1, 90),
    row(REDUCED, &[A, S(T)], REDUCTION)
        .opt(ACCESS)
        .rule(reduces, ORDER_TEXT)
        .then_rule(combines, REDUCE_TEXT)
        .since(8, 1, 90),
    row(VECTORS, &[A, V], REDUCTIONS)
        .opt(ACCESS)
        .rule(reduces, ORDER_TEXT)
        .then_rule(combines, REDUCE_TEXT)
        .since(8, 1, 90),
];
