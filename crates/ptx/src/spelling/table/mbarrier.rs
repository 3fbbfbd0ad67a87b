//! Barriers in memory of devices since sm_80.

use super::Arg::{A, D, Ds, O, Rest, S};
use super::Val::{P, T};
use super::sets::special;
use super::{Arg, Form, Special, Val};
use crate::ast::Type::B64;
use crate::spelling::Kind;

const fn mbarrier(args: &'static [Arg], needs: &'static [Kind]) -> Form {
    special("mbarrier", Special::Mbarrier, args).ty(&[B64]).need(needs).opt(&[Kind::OwnShared])
}

/// Forms that reach barriers of the cluster.
const fn remote(args: &'static [Arg], needs: &'static [Kind]) -> Form {
    special("mbarrier", Special::Mbarrier, args).ty(&[B64]).need(needs).opt(&[Kind::MbarSpace])
}

const EXPECT: &[Arg] = &[A, S(Val::B32)];
const ARRIVE: &[Arg] = &[Ds(T), A];
const ARRIVE_COUNT: &[Arg] = &[Ds(T), A, S(Val::B32)];
const TEST: &[Arg] = &[D(P), A, S(T)];
const TEST_PARITY: &[Arg] = &[D(P), A, S(Val::B32)];
const TRY: &[Arg] = &[D(P), A, S(T), O(Val::B32)];
const TRY_PARITY: &[Arg] = &[D(P), A, S(Val::B32), O(Val::B32)];

/// Whether the phase has completed, and perhaps `|` whether operations have reported, and what.
const PHASE: &[Arg] = &[Rest];

pub(super) static ROWS: &[Form] = &[
    mbarrier(&[A, S(Val::B32)], &[Kind::MbarInit]).since(7, 0, 80),
    mbarrier(&[A], &[Kind::MbarInval]).since(7, 0, 80),
    // An arrival that may complete the phase has a count since sm_90, and one that may not has one
    // since sm_80.
    mbarrier(ARRIVE, &[Kind::MbarArrive]).since(7, 0, 80),
    mbarrier(ARRIVE_COUNT, &[Kind::MbarArrive]).since(7, 8, 90),
    mbarrier(ARRIVE, &[Kind::MbarArrive, Kind::ArriveOrder, Kind::Cta]).since(8, 0, 80),
    mbarrier(ARRIVE_COUNT, &[Kind::MbarArrive, Kind::ArriveOrder, Kind::Cta]).since(8, 0, 90),
    mbarrier(ARRIVE, &[Kind::MbarArrive, Kind::ArriveOrders, Kind::MbarScope]).since(8, 0, 90),
    mbarrier(ARRIVE_COUNT, &[Kind::MbarArrive, Kind::ArriveOrders, Kind::MbarScope])
        .since(8, 0, 90),
    mbarrier(ARRIVE_COUNT, &[Kind::MbarArrive, Kind::NoComplete]).since(7, 0, 80),
    mbarrier(ARRIVE_COUNT, &[Kind::MbarArrive, Kind::NoComplete, Kind::ArriveOrder, Kind::Cta])
        .since(8, 0, 80),
    mbarrier(TEST, &[Kind::MbarTest]).since(7, 0, 80),
    mbarrier(TEST, &[Kind::MbarTest, Kind::TestOrder, Kind::Cta]).since(8, 0, 80),
    mbarrier(TEST, &[Kind::MbarTest, Kind::TestOrders, Kind::MbarScope]).since(8, 0, 90),
    mbarrier(TEST_PARITY, &[Kind::MbarTest, Kind::Parity]).since(7, 1, 80),
    mbarrier(TEST_PARITY, &[Kind::MbarTest, Kind::Parity, Kind::TestOrder, Kind::Cta])
        .since(8, 0, 80),
    mbarrier(TEST_PARITY, &[Kind::MbarTest, Kind::Parity, Kind::TestOrders, Kind::MbarScope])
        .since(8, 0, 90),
    // Since sm_90: barriers of other CTAs, bytes, waits.
    remote(ARRIVE, &[Kind::MbarArrive]).since(8, 0, 90),
    remote(ARRIVE_COUNT, &[Kind::MbarArrive]).since(8, 0, 90),
    remote(ARRIVE, &[Kind::MbarArrive, Kind::ArriveOrders, Kind::MbarScope]).since(8, 0, 90),
    remote(ARRIVE_COUNT, &[Kind::MbarArrive, Kind::ArriveOrders, Kind::MbarScope]).since(8, 0, 90),
    remote(ARRIVE_COUNT, &[Kind::MbarArrive, Kind::ExpectTx]).since(8, 0, 90),
    remote(ARRIVE_COUNT, &[Kind::MbarArrive, Kind::ExpectTx, Kind::ArriveOrders, Kind::MbarScope])
        .since(8, 0, 90),
    remote(EXPECT, &[Kind::ExpectTx]).since(8, 0, 90),
    remote(EXPECT, &[Kind::ExpectTx, Kind::Relaxed, Kind::MbarScope]).since(8, 0, 90),
    remote(EXPECT, &[Kind::CompleteTx]).since(8, 0, 90),
    remote(EXPECT, &[Kind::CompleteTx, Kind::Relaxed, Kind::MbarScope]).since(8, 0, 90),
    mbarrier(TRY, &[Kind::MbarTry]).since(7, 8, 90),
    mbarrier(TRY, &[Kind::MbarTry, Kind::TestOrders, Kind::MbarScope]).since(8, 0, 90),
    mbarrier(TRY_PARITY, &[Kind::MbarTry, Kind::Parity]).since(7, 8, 90),
    mbarrier(TRY_PARITY, &[Kind::MbarTry, Kind::Parity, Kind::TestOrders, Kind::MbarScope])
        .since(8, 0, 90),
    // Layouts, phases and reports.
    mbarrier(&[A, S(Val::B32)], &[Kind::MbarInit, Kind::MbarLayout]).since(9, 3, 90),
    mbarrier(&[D(P), A], &[Kind::MbarCheck, Kind::MbarLayout]).since(9, 3, 90),
    mbarrier(PHASE, &[Kind::MbarTest, Kind::PrimaryPhase]).since(9, 3, 90),
    mbarrier(PHASE, &[Kind::MbarTest, Kind::PrimaryPhase, Kind::TestOrders, Kind::MbarScope])
        .since(9, 3, 90),
    mbarrier(PHASE, &[Kind::MbarTest, Kind::Parity, Kind::PhaseType]).since(9, 3, 90),
    mbarrier(
        PHASE,
        &[Kind::MbarTest, Kind::Parity, Kind::PhaseType, Kind::TestOrders, Kind::MbarScope],
    )
    .since(9, 3, 90),
    mbarrier(PHASE, &[Kind::MbarTry, Kind::PrimaryPhase]).since(9, 3, 90),
    mbarrier(PHASE, &[Kind::MbarTry, Kind::PrimaryPhase, Kind::TestOrders, Kind::MbarScope])
        .since(9, 3, 90),
    mbarrier(PHASE, &[Kind::MbarTry, Kind::Parity, Kind::PhaseType]).since(9, 3, 90),
    mbarrier(
        PHASE,
        &[Kind::MbarTry, Kind::Parity, Kind::PhaseType, Kind::TestOrders, Kind::MbarScope],
    )
    .since(9, 3, 90),
    special("mbarrier", Special::Mbarrier, &[D(Val::B32), S(T)])
        .ty(&[B64])
        .need(&[Kind::MbarPending])
        .since(7, 0, 80),
    special("cp", Special::Mbarrier, &[A])
        .ty(&[B64])
        .need(&[Kind::Async, Kind::Mbarrier, Kind::Arrive])
        .opt(&[Kind::NoIncrement, Kind::OwnShared])
        .since(7, 0, 80),
];
