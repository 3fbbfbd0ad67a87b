//! Bulk copies, asynchronous stores and barriers of clusters, of devices since sm_90.

use ir::Op;
use ir::mods::Kind as IrKind;

use super::Arg::{A, D, Rest, S, V};
use super::Val::T;
use super::rules::{bulk_reducible, relaxed_cluster, weak};
use super::sets::{PTR, op, special};
use super::{Form, Special, Val};
use crate::ast::Type::{self, *};
use crate::spelling::Kind;

const REDUCED: &[Type] = &[U32, S32, U64, S64, B32, B64, F16, Bf16, F32, F64];
const SENT: &[Type] = &[U32, S32, U64, B32, B64];
const STORED: &[Type] = &[B32, B64, U32, U64, S32, S64, F32, F64];
const ADDED: &[Type] = &[U32, S32, U64, B32];

pub(super) static ROWS: &[Form] = &[
    // Clusters.
    op("mapa", Op::Mapa, &[D(T), S(T), S(Val::B32)])
        .ty(PTR)
        .opt(&[Kind::ClusterShared])
        .since(7, 8, 90),
    op("getctarank", Op::CtaRank, &[D(Val::B32), S(T)])
        .ty(PTR)
        .opt(&[Kind::ClusterShared])
        .since(7, 8, 90),
    op("barrier", Op::ClusterArrive, &[])
        .need(&[Kind::Cluster, Kind::Arrive])
        .opt(&[Kind::ArriveOrders, Kind::Aligned])
        .since(7, 8, 90),
    op("barrier", Op::ClusterWait, &[])
        .need(&[Kind::Cluster, Kind::ClusterWait])
        .opt(&[Kind::TestOrder, Kind::Aligned])
        .since(7, 8, 90),
    // Bulk copies.
    special("cp", Special::Bulk, &[Rest])
        .need(&[
            Kind::Async,
            Kind::Bulk,
            Kind::ClusterShared,
            Kind::GlobalSpace,
            Kind::Transactions,
        ])
        .opt(&[Kind::Multicast])
        .hints()
        .since(8, 0, 90),
    special("cp", Special::Bulk, &[Rest])
        .need(&[Kind::Async, Kind::Bulk, Kind::CtaShared, Kind::GlobalSpace, Kind::Transactions])
        .hints()
        .since(8, 6, 90),
    special("cp", Special::Bulk, &[Rest])
        .need(&[
            Kind::Async,
            Kind::Bulk,
            Kind::CtaShared,
            Kind::GlobalSpace,
            Kind::Transactions,
            Kind::Trimmed,
        ])
        .hints()
        .since(9, 2, 90),
    special("cp", Special::Bulk, &[Rest])
        .need(&[Kind::Async, Kind::Bulk, Kind::ClusterShared, Kind::CtaShared, Kind::Transactions])
        .since(8, 0, 90),
    special("cp", Special::Bulk, &[Rest])
        .need(&[Kind::Async, Kind::Bulk, Kind::GlobalSpace, Kind::CtaShared, Kind::BulkGroup])
        .hints()
        .since(8, 0, 90),
    special("cp", Special::Bulk, &[Rest])
        .need(&[
            Kind::Async,
            Kind::Bulk,
            Kind::GlobalSpace,
            Kind::CtaShared,
            Kind::BulkGroup,
            Kind::ByteMask,
        ])
        .hints()
        .since(8, 6, 100),
    special("cp", Special::Bulk, &[Rest])
        .ty(SENT)
        .need(&[
            Kind::Reduce,
            Kind::Async,
            Kind::Bulk,
            Kind::ClusterShared,
            Kind::CtaShared,
            Kind::Transactions,
            Kind::Ir(IrKind::AtomOp),
        ])
        .rule(bulk_reducible, BULK_TEXT)
        .since(8, 0, 90),
    special("cp", Special::Bulk, &[Rest])
        .ty(REDUCED)
        .need(&[
            Kind::Reduce,
            Kind::Async,
            Kind::Bulk,
            Kind::GlobalSpace,
            Kind::CtaShared,
            Kind::BulkGroup,
            Kind::Ir(IrKind::AtomOp),
        ])
        .opt(&[Kind::NoFtz])
        .hints()
        .rule(bulk_reducible, BULK_TEXT)
        .since(8, 0, 90),
    special("cp", Special::Nop, &[Rest])
        .need(&[Kind::Async, Kind::Bulk, Kind::Prefetch, Kind::SecondLevel, Kind::GlobalSpace])
        .hints()
        .since(8, 0, 90),
    special("cp", Special::CopyGroup, &[Rest])
        .need(&[Kind::Async, Kind::Bulk, Kind::CopyGroup])
        .opt(&[Kind::ReadOnly])
        .since(8, 0, 90),
    // Asynchronous stores.
    special("st", Special::AsyncStore, &[A, V, A])
        .ty(STORED)
        .need(&[Kind::Async, Kind::Transactions])
        .opt(&[Kind::Order, Kind::Scope, Kind::ClusterShared, Kind::Vector])
        .rule(weak, "no more than `.weak` and `.cluster`")
        .since(8, 1, 90),
    special("red", Special::AsyncStore, &[A, S(T), A])
        .ty(ADDED)
        .need(&[
            Kind::Async,
            Kind::AtomOrder,
            Kind::Scope,
            Kind::Transactions,
            Kind::Ir(IrKind::AtomOp),
        ])
        .opt(&[Kind::ClusterShared])
        .rule(relaxed_cluster, "`.relaxed.cluster`, and an operation that goes with the type")
        .since(8, 1, 90),
    // Fences.
    special("fence", Special::ProxyFence, &[]).need(&[Kind::Proxy, Kind::Alias]).since(7, 5, 70),
    special("fence", Special::ProxyFence, &[])
        .need(&[Kind::Proxy, Kind::Async])
        .opt(&[Kind::MbarSpace])
        .since(8, 0, 90),
    special("fence", Special::ProxyFence, &[])
        .need(&[Kind::Proxy, Kind::Async, Kind::GlobalSpace])
        .since(8, 0, 90),
    special("fence", Special::ProxyFence, &[])
        .need(&[Kind::Proxy, Kind::AsyncGeneric, Kind::OneWay, Kind::SyncRestrict, Kind::Cluster])
        .since(8, 6, 90),
    special("fence", Special::ProxyFence, &[])
        .need(&[Kind::OneWay, Kind::SyncRestrict, Kind::Cluster])
        .since(8, 6, 90),
    special("fence", Special::ProxyFence, &[])
        .need(&[Kind::BarrierInit, Kind::ArriveOrder, Kind::Cluster])
        .since(8, 0, 90),
];

const BULK_TEXT: &str = "an operation that goes with the type, and `.noftz` for 16-bit additions";
