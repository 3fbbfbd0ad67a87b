//! Warp collectives, barriers, control flow, the system.

use ir::Op;
use ir::mods::{Flag, Kind as IrKind};

use super::Arg::{Any, D, Dp, Dpp, O, Rest, S};
use super::Val::{P, PNot, T};
use super::rules::{
    REDUX_TEXT, arrives, asks, ballot, counts, match_all, match_any, not_ballot, reducible, syncs,
};
use super::sets::{BITS32, D_T, ONLY_B32, ONLY_PRED, ONLY_U32, op, special};
use super::{Form, Special, Val};
use crate::ast::Type::{B32, F32, S32, U32};
use crate::spelling::Kind;

pub(super) static ROWS: &[Form] = &[
    // Warp collectives.
    op("shfl", Op::Shfl, &[Dp(T), S(T), S(Val::B32), S(Val::B32), S(Val::B32)])
        .ty(ONLY_B32)
        .need(&[Kind::Sync, Kind::Ir(IrKind::Shuffle)])
        .since(6, 0, 30),
    op("shfl", Op::Shfl, &[Dp(T), S(T), S(Val::B32), S(Val::B32)])
        .ty(ONLY_B32)
        .need(&[Kind::Ir(IrKind::Shuffle)])
        .flag(Flag::NoMask)
        .since(3, 0, 30),
    op("vote", Op::Vote, &[D(P), S(PNot), S(Val::B32)])
        .ty(ONLY_PRED)
        .need(&[Kind::Sync, Kind::Ir(IrKind::Vote)])
        .rule(not_ballot, "`.all`, `.any` or `.uni`")
        .since(6, 0, 30),
    op("vote", Op::Ballot, &[D(Val::B32), S(PNot), S(Val::B32)])
        .ty(ONLY_B32)
        .need(&[Kind::Sync, Kind::Ir(IrKind::Vote)])
        .rule(ballot, "`.ballot`")
        .since(6, 0, 30),
    op("vote", Op::Vote, &[D(P), S(PNot)])
        .ty(ONLY_PRED)
        .need(&[Kind::Ir(IrKind::Vote)])
        .rule(not_ballot, "`.all`, `.any` or `.uni`")
        .flag(Flag::NoMask)
        .since(1, 2, 12),
    op("vote", Op::Ballot, &[D(Val::B32), S(PNot)])
        .ty(ONLY_B32)
        .need(&[Kind::Ir(IrKind::Vote)])
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
        .need(&[Kind::Sync, Kind::Ir(IrKind::AtomOp)])
        .opt(&[Kind::Nan])
        .rule(reducible, REDUX_TEXT)
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
    special("setmaxnreg", Special::RegisterCount, &[Rest])
        .ty(ONLY_U32)
        .need(&[Kind::RegisterCount, Kind::Sync, Kind::Aligned])
        .since(8, 0, 90),
];
