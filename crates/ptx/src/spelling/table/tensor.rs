//! Tensor copies and changes of tensor maps, of devices since sm_90.

use ir::mods::Kind as IrKind;

use super::Arg::Rest;
use super::rules::{map_field, tensor_rank};
use super::sets::{BITS32, special};
use super::{Form, Special};
use crate::spelling::Kind;

const RANK_TEXT: &str = "three dimensions at least in im2col modes, two of which rows are taken";

/// Tensor copies of devices since sm_100.
const fn newer(needs: &'static [Kind]) -> Form {
    special("cp", Special::Tensor, &[Rest])
        .need(needs)
        .hints()
        .rule(tensor_rank, RANK_TEXT)
        .since(8, 6, 100)
}

/// The words of a load into a space in a mode.
macro_rules! load {
    ($to:ident, $mode:ident) => {
        &[
            Kind::Async,
            Kind::Bulk,
            Kind::Tensor,
            Kind::TensorRank,
            Kind::$to,
            Kind::GlobalSpace,
            Kind::$mode,
            Kind::Transactions,
        ]
    };
}

/// The words of a fetch in a mode.
macro_rules! fetch {
    ($mode:ident) => {
        &[
            Kind::Async,
            Kind::Bulk,
            Kind::Prefetch,
            Kind::Tensor,
            Kind::TensorRank,
            Kind::SecondLevel,
            Kind::GlobalSpace,
            Kind::$mode,
        ]
    };
}

pub(super) static ROWS: &[Form] = &[
    special("cp", Special::Tensor, &[Rest])
        .need(&[
            Kind::Async,
            Kind::Bulk,
            Kind::Tensor,
            Kind::TensorRank,
            Kind::ClusterShared,
            Kind::GlobalSpace,
            Kind::Transactions,
        ])
        .opt(&[Kind::TensorLoad, Kind::Multicast])
        .hints()
        .rule(tensor_rank, RANK_TEXT)
        .since(8, 0, 90),
    special("cp", Special::Tensor, &[Rest])
        .need(&[
            Kind::Async,
            Kind::Bulk,
            Kind::Tensor,
            Kind::TensorRank,
            Kind::CtaShared,
            Kind::GlobalSpace,
            Kind::Transactions,
        ])
        .opt(&[Kind::TensorLoad])
        .hints()
        .rule(tensor_rank, RANK_TEXT)
        .since(8, 6, 90),
    special("cp", Special::Tensor, &[Rest])
        .need(&[
            Kind::Async,
            Kind::Bulk,
            Kind::Tensor,
            Kind::TensorRank,
            Kind::GlobalSpace,
            Kind::CtaShared,
            Kind::BulkGroup,
        ])
        .opt(&[Kind::TensorStore])
        .hints()
        .rule(tensor_rank, RANK_TEXT)
        .since(8, 0, 90),
    special("cp", Special::Tensor, &[Rest])
        .need(&[
            Kind::Reduce,
            Kind::Async,
            Kind::Bulk,
            Kind::Tensor,
            Kind::TensorRank,
            Kind::GlobalSpace,
            Kind::CtaShared,
            Kind::BulkGroup,
            Kind::Ir(IrKind::AtomOp),
        ])
        .opt(&[Kind::TensorStore])
        .hints()
        .rule(tensor_rank, RANK_TEXT)
        .since(8, 0, 90),
    special("cp", Special::Tensor, &[Rest])
        .need(&[
            Kind::Async,
            Kind::Bulk,
            Kind::Prefetch,
            Kind::Tensor,
            Kind::TensorRank,
            Kind::SecondLevel,
            Kind::GlobalSpace,
        ])
        .opt(&[Kind::TensorLoad])
        .hints()
        .rule(tensor_rank, RANK_TEXT)
        .since(8, 0, 90),
    newer(load!(ClusterShared, TensorGather)).opt(&[Kind::Multicast]),
    newer(load!(ClusterShared, TensorWide)).opt(&[Kind::Multicast]),
    newer(load!(CtaShared, TensorGather)),
    newer(load!(CtaShared, TensorWide)),
    newer(fetch!(TensorGather)),
    newer(fetch!(TensorWide)),
    newer(&[
        Kind::Async,
        Kind::Bulk,
        Kind::Tensor,
        Kind::TensorRank,
        Kind::GlobalSpace,
        Kind::CtaShared,
        Kind::TensorScatter,
        Kind::BulkGroup,
    ]),
    newer(&[
        Kind::Reduce,
        Kind::Async,
        Kind::Bulk,
        Kind::Tensor,
        Kind::TensorRank,
        Kind::GlobalSpace,
        Kind::CtaShared,
        Kind::TensorScatter,
        Kind::BulkGroup,
        Kind::Ir(IrKind::AtomOp),
    ]),
    // Tensor maps.
    special("tensormap", Special::ReplaceField, &[Rest])
        .ty(BITS32)
        .need(&[Kind::Replace, Kind::Tile, Kind::MapField, Kind::MapSize])
        .opt(&[Kind::MapSpace])
        .rule(map_field, "`.b64` for an address or a stride, `.b32` for all else")
        .since(8, 3, 90),
    special("tensormap", Special::CopyMap, &[Rest])
        .need(&[
            Kind::CopyFence,
            Kind::GlobalSpace,
            Kind::CtaShared,
            Kind::MapGeneric,
            Kind::ArriveOrder,
            Kind::Scope,
            Kind::Sync,
            Kind::Aligned,
        ])
        .since(8, 3, 90),
    special("fence", Special::ProxyFence, &[Rest])
        .need(&[Kind::Proxy, Kind::MapGeneric, Kind::OneWay, Kind::Scope])
        .since(8, 3, 90),
    special("prefetch", Special::Nop, &[Rest]).need(&[Kind::TensorMap]).since(8, 0, 90),
    special("prefetch", Special::Nop, &[Rest])
        .need(&[Kind::MapConst, Kind::TensorMap])
        .since(8, 0, 90),
];
