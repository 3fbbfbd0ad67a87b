//! Memory.

use ir::Op;
use ir::mods::Kind as IrKind;

use super::Arg::{A, D, Ds, O, Rest, S, V};
use super::Val::{Imm, T};
use super::rules::{
    ACCESS_TEXT, ATOM_TEXT, LOAD_TEXT, WRITABLE_TEXT, coherent_or_global, combinable, copyable,
    first_level, global_or_local, loadable, mmio, reducible_in_memory, second_level, storable,
    vector_combinable, vector_of_128, vector_reducible, writable,
};
use super::sets::{ATOMIC, MEMORY, PTR, op, special};
use super::{Form, Special, Val};
use crate::ast::Type::{B64, Bf16, Bf16x2, F16, F16x2, F32};
use crate::spelling::Kind;

pub(super) static ROWS: &[Form] = &[
    special("ld", Special::Ld, &[V, A, O(Val::B64)])
        .ty(MEMORY)
        .opt(&[Kind::Order, Kind::Scope, Kind::Space, Kind::Cache, Kind::NonCoherent, Kind::Vector])
        .hints()
        .rule(coherent_or_global, LOAD_TEXT)
        .then_rule(loadable, ACCESS_TEXT),
    special("ld", Special::Ld, &[V, A])
        .ty(MEMORY)
        .need(&[Kind::Mmio, Kind::Order, Kind::Scope])
        .opt(&[Kind::GlobalSpace])
        .rule(mmio, "`.relaxed.sys`")
        .since(8, 2, 70),
    special("ldu", Special::Ld, &[V, A])
        .ty(MEMORY)
        .opt(&[Kind::GlobalSpace, Kind::Vector])
        .rule(vector_of_128, "`.v2` or `.v4`, and at most 128 bits")
        .since(2, 0, 20),
    special("st", Special::St, &[A, V, O(Val::B64)])
        .ty(MEMORY)
        .opt(&[Kind::Order, Kind::Scope, Kind::Space, Kind::StCache, Kind::Vector])
        .hints()
        .rule(writable, WRITABLE_TEXT)
        .then_rule(storable, ACCESS_TEXT),
    special("st", Special::St, &[A, V])
        .ty(MEMORY)
        .need(&[Kind::Mmio, Kind::Order, Kind::Scope])
        .opt(&[Kind::GlobalSpace])
        .rule(mmio, "`.relaxed.sys`")
        .since(8, 2, 70),
    special("atom", Special::Atom, &[Ds(T), A, S(T), O(T), O(Val::B64)])
        .ty(ATOMIC)
        .need(&[Kind::Ir(IrKind::AtomOp)])
        .opt(&[Kind::AtomOrder, Kind::Scope, Kind::Space, Kind::NoFtz])
        .hints()
        .rule(combinable, ATOM_TEXT),
    special("atom", Special::Atom, &[V, A, V, O(Val::B64)])
        .ty(&[F32, F16, F16x2, Bf16, Bf16x2])
        .need(&[Kind::Ir(IrKind::AtomOp), Kind::Vector])
        .opt(&[Kind::AtomOrder, Kind::Scope, Kind::GlobalSpace, Kind::NoFtz])
        .hints()
        .rule(vector_combinable, ATOM_TEXT)
        .since(8, 1, 90),
    special("red", Special::Red, &[A, S(T), O(Val::B64)])
        .ty(ATOMIC)
        .need(&[Kind::Ir(IrKind::AtomOp)])
        .opt(&[Kind::AtomOrder, Kind::Scope, Kind::Space, Kind::NoFtz])
        .hints()
        .rule(reducible_in_memory, ATOM_TEXT),
    special("red", Special::Red, &[A, V, O(Val::B64)])
        .ty(&[F32, F16, F16x2, Bf16, Bf16x2])
        .need(&[Kind::Ir(IrKind::AtomOp), Kind::Vector])
        .opt(&[Kind::AtomOrder, Kind::Scope, Kind::GlobalSpace, Kind::NoFtz])
        .hints()
        .rule(vector_reducible, ATOM_TEXT)
        .since(8, 1, 90),
    special("cp", Special::Copy, &[Rest])
        .need(&[Kind::Async, Kind::CopyCache, Kind::GlobalSpace, Kind::Space])
        .hints()
        .rule(copyable, "`.shared.global`")
        .since(7, 0, 80),
    special("cp", Special::CopyGroup, &[Rest])
        .need(&[Kind::Async, Kind::CopyGroup])
        .since(7, 0, 80),
    special("createpolicy", Special::Policy, &[Rest])
        .ty(&[B64])
        .need(&[Kind::Fractional, Kind::Eviction])
        .opt(&[Kind::OtherEviction])
        .since(7, 4, 80),
    special("createpolicy", Special::Policy, &[Rest])
        .ty(&[B64])
        .need(&[Kind::Range, Kind::Eviction])
        .opt(&[Kind::OtherEviction, Kind::GlobalSpace])
        .since(7, 4, 80),
    special("createpolicy", Special::Policy, &[Rest])
        .ty(&[B64])
        .need(&[Kind::PolicyCvt, Kind::SecondLevel])
        .since(7, 4, 80),
    op("fence", Op::Fence, &[]).need(&[Kind::Scope]).opt(&[Kind::FenceOrder]).since(6, 0, 70),
    op("membar", Op::Fence, &[]).need(&[Kind::Level]),
    special("prefetch", Special::Nop, &[Rest])
        .need(&[Kind::CacheLevel])
        .opt(&[Kind::Space])
        .hints()
        .rule(global_or_local, "`.global`, `.local`, or no space")
        .since(2, 0, 20),
    special("prefetch", Special::Nop, &[Rest])
        .need(&[Kind::GlobalSpace, Kind::FetchPriority])
        .since(7, 4, 80),
    special("prefetchu", Special::Nop, &[Rest])
        .need(&[Kind::CacheLevel])
        .rule(first_level, "`.L1`")
        .since(2, 0, 20),
    special("applypriority", Special::Nop, &[Rest])
        .opt(&[Kind::GlobalSpace])
        .hints()
        .since(7, 4, 80),
    special("discard", Special::Nop, &[Rest])
        .need(&[Kind::CacheLevel])
        .opt(&[Kind::GlobalSpace])
        .rule(second_level, "`.L2`")
        .since(7, 4, 80),
    op("alloca", Op::Alloca, &[D(T), S(T), O(Imm)]).ty(PTR).since(7, 3, 52),
];
