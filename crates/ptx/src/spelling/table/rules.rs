//! Rules for an instruction's modifiers beyond their kinds.

use ir::mods::Kind as IrKind;

use crate::ast::Type::{self, *};
use crate::spelling::{Kind, Spelled};

pub(super) fn lo(s: &Spelled) -> bool {
    s.word(Kind::Half).or(s.word(Kind::LoHi)) == Some("lo")
}
pub(super) fn hi(s: &Spelled) -> bool {
    s.word(Kind::Half).or(s.word(Kind::LoHi)) == Some("hi")
}
pub(super) fn wide(s: &Spelled) -> bool {
    s.word(Kind::Half) == Some("wide")
}
pub(super) fn left(s: &Spelled) -> bool {
    s.word(Kind::Direction) == Some("l")
}
pub(super) fn right(s: &Spelled) -> bool {
    s.word(Kind::Direction) == Some("r")
}
pub(super) fn ballot(s: &Spelled) -> bool {
    s.word(Kind::Ir(IrKind::Vote)) == Some("ballot")
}
pub(super) fn not_ballot(s: &Spelled) -> bool {
    !ballot(s)
}
pub(super) fn match_any(s: &Spelled) -> bool {
    s.word(Kind::Match) == Some("any")
}
pub(super) fn match_all(s: &Spelled) -> bool {
    s.word(Kind::Match) == Some("all")
}
pub(super) fn arrives(s: &Spelled) -> bool {
    s.word(Kind::Barrier) == Some("arrive")
}
pub(super) fn syncs(s: &Spelled) -> bool {
    s.word(Kind::Barrier) == Some("sync")
}
pub(super) fn counts(s: &Spelled) -> bool {
    s.word(Kind::Barrier) == Some("red") && s.word(Kind::RedOp) == Some("popc")
}
pub(super) fn asks(s: &Spelled) -> bool {
    s.word(Kind::Barrier) == Some("red") && s.word(Kind::RedOp) != Some("popc")
}
pub(super) fn xorsign(s: &Spelled) -> bool {
    s.has(Kind::XorSign) == s.has(Kind::Abs)
}

/// Comparisons that go with the type compared.
pub(super) fn comparable(s: &Spelled) -> bool {
    let ty = s.source_ty();
    let cmp = s.word(Kind::Cmp).unwrap_or("eq");
    let signed = matches!(ty, S16 | S32 | S64);
    let unsigned = matches!(ty, U16 | U32 | U64);
    let flushed = matches!(ty, F32 | F16 | F16x2) && s.ty() != Bf16;
    if s.has(Kind::Ftz) && !flushed {
        return false;
    }
    match cmp {
        "eq" | "ne" => true,
        "lt" | "le" | "gt" | "ge" => !matches!(ty, B16 | B32 | B64),
        "lo" | "ls" | "hi" | "hs" => unsigned,
        _ => !signed && !unsigned && !matches!(ty, B16 | B32 | B64),
    }
}

/// Operations of `atom` and `red` that go with the type. Formats of 16 bits keep subnormals, and
/// must say so.
pub(super) fn combinable(s: &Spelled) -> bool {
    let half = matches!(s.ty(), F16 | F16x2 | Bf16 | Bf16x2);
    let float = half || matches!(s.ty(), F32 | F64);
    let int = matches!(s.ty(), U32 | U64 | S32 | S64);
    let right = match s.word(Kind::Ir(IrKind::AtomOp)).unwrap_or("") {
        "add" => (int && s.ty() != S64) || float,
        "min" | "max" => int || (half && s.has(Kind::Vector)),
        "and" | "or" | "xor" => matches!(s.ty(), B32 | B64),
        "inc" | "dec" => s.ty() == U32,
        "exch" => matches!(s.ty(), B32 | B64 | B128),
        _ => matches!(s.ty(), B16 | B32 | B64 | B128),
    };
    // For single precision `ptxas` takes `.noftz`, too.
    let single = s.ty() == F32 && s.word(Kind::Ir(IrKind::AtomOp)) == Some("add");
    right && (single || half == s.has(Kind::NoFtz))
}

/// `red` returns nothing, so it neither exchanges nor compares and swaps.
pub(super) fn reducible_in_memory(s: &Spelled) -> bool {
    let gives = matches!(s.word(Kind::Ir(IrKind::AtomOp)), Some("exch" | "cas"));
    let acquires = matches!(s.word(Kind::AtomOrder), Some("acquire" | "acq_rel"));
    combinable(s) && !gives && !acquires
}

/// Dimensions that a tensor copy may have, and the operation of one that combines.
pub(super) fn tensor_rank(s: &Spelled) -> bool {
    let kinds = [Kind::TensorLoad, Kind::TensorStore, Kind::TensorWide];
    let mode = kinds.into_iter().find_map(|kind| s.word(kind));
    let rows = s.has(Kind::TensorGather) || s.has(Kind::TensorScatter);
    if rows && s.word(Kind::TensorRank) != Some("2d") {
        return false;
    }
    let flat = matches!(s.word(Kind::TensorRank), Some("1d" | "2d"));
    let combines = !matches!(s.word(Kind::Ir(IrKind::AtomOp)), Some("exch" | "cas"));
    combines && !(flat && mode.is_some_and(|mode| mode.starts_with("im2col")))
}

/// The type of a field of a tensor map.
pub(super) fn map_field(s: &Spelled) -> bool {
    let long = matches!(s.word(Kind::MapField), Some("global_address" | "global_stride"));
    long == (s.ty() == B64)
}

/// Operations of bulk reductions that go with the type.
pub(super) fn bulk_reducible(s: &Spelled) -> bool {
    let half = matches!(s.ty(), F16 | Bf16);
    let right = match s.word(Kind::Ir(IrKind::AtomOp)).unwrap_or("") {
        "add" => !matches!(s.ty(), B32 | B64) && (s.ty() != S64 || s.has(Kind::BulkGroup)),
        "min" | "max" => match s.has(Kind::BulkGroup) {
            true => half || matches!(s.ty(), U32 | S32 | U64 | S64),
            false => matches!(s.ty(), U32 | S32),
        },
        "and" | "or" | "xor" => s.ty() == B32 || (s.ty() == B64 && s.has(Kind::BulkGroup)),
        "inc" | "dec" => s.ty() == U32,
        _ => false,
    };
    let adds = s.word(Kind::Ir(IrKind::AtomOp)) == Some("add");
    right && s.has(Kind::NoFtz) == (half && adds)
}

/// Reductions in shared memory of the cluster have one order and scope.
pub(super) fn relaxed_cluster(s: &Spelled) -> bool {
    let right = match s.word(Kind::Ir(IrKind::AtomOp)).unwrap_or("") {
        "add" => s.ty() != B32,
        "min" | "max" => matches!(s.ty(), U32 | S32),
        "and" | "or" | "xor" => s.ty() == B32,
        "inc" | "dec" => s.ty() == U32,
        _ => false,
    };
    let relaxed = s.word(Kind::AtomOrder) == Some("relaxed");
    right && relaxed && s.word(Kind::Scope) == Some("cluster")
}

/// Asynchronous stores have no order, and one scope.
pub(super) fn weak(s: &Spelled) -> bool {
    matches!(s.word(Kind::Order), None | Some("weak"))
        && matches!(s.word(Kind::Scope), None | Some("cluster"))
        && vector_bits(s) <= 128
        && s.word(Kind::Vector) != Some("v8")
}

pub(super) fn vector_combinable(s: &Spelled) -> bool {
    let bits = match s.word(Kind::Vector) {
        Some("v2") => 2 * s.ty().bits(),
        Some("v4") => 4 * s.ty().bits(),
        _ => 8 * s.ty().bits(),
    };
    matches!(s.word(Kind::Ir(IrKind::AtomOp)), Some("add" | "min" | "max"))
        && combinable(s)
        && bits <= 128
}

pub(super) fn vector_reducible(s: &Spelled) -> bool {
    vector_combinable(s) && reducible_in_memory(s)
}

pub(super) fn vector_of_128(s: &Spelled) -> bool {
    vector_bits(s) <= 128 && s.word(Kind::Vector) != Some("v8")
}

/// Copies go to the block's own shared memory.
pub(super) fn copyable(s: &Spelled) -> bool {
    matches!(s.word(Kind::Space), Some("shared" | "shared::cta"))
}

pub(super) fn global_or_local(s: &Spelled) -> bool {
    matches!(s.word(Kind::Space), None | Some("global" | "local"))
}

pub(super) fn first_level(s: &Spelled) -> bool {
    s.word(Kind::CacheLevel) == Some("L1")
}

pub(super) fn second_level(s: &Spelled) -> bool {
    s.word(Kind::CacheLevel) == Some("L2")
}

/// Parameters of functions have no generic address.
pub(super) fn addressable(s: &Spelled) -> bool {
    s.word(Kind::Space) != Some("param::func")
}

pub(super) fn vector_bits(s: &Spelled) -> u32 {
    let length = match s.word(Kind::Vector) {
        Some("v2") => 2,
        Some("v4") => 4,
        Some("v8") => 8,
        _ => 1,
    };
    length * s.ty().bits()
}

/// Vectors beyond 128 bits have elements of 32 or 64 bits; ordered accesses have a scope, and only
/// those.
pub(super) fn accessible(s: &Spelled) -> bool {
    let ordered = matches!(s.word(Kind::Order), Some("relaxed" | "acquire" | "release"));
    let most = if matches!(s.ty().bits(), 32 | 64) { 256 } else { 128 };
    vector_bits(s) <= most && ordered == s.has(Kind::Scope)
}

pub(super) fn loadable(s: &Spelled) -> bool {
    accessible(s) && s.word(Kind::Order) != Some("release")
}

pub(super) fn coherent_or_global(s: &Spelled) -> bool {
    s.word(Kind::Space) == Some("global") || !s.has(Kind::NonCoherent)
}

pub(super) fn storable(s: &Spelled) -> bool {
    accessible(s) && s.word(Kind::Order) != Some("acquire")
}

pub(super) fn writable(s: &Spelled) -> bool {
    !matches!(s.word(Kind::Space), Some("const" | "param::entry"))
}

/// Memory-mapped input and output is accessed in one order and scope.
pub(super) fn mmio(s: &Spelled) -> bool {
    s.word(Kind::Order) == Some("relaxed") && s.word(Kind::Scope) == Some("sys")
}

/// Saturation by `.sat` or by `.relu`.
pub(super) fn one_bound(s: &Spelled) -> bool {
    !(s.has(Kind::Sat) && s.has(Kind::Relu))
}

/// Saturation, if the target type cannot hold every value.
pub(super) fn saturable(s: &Spelled) -> bool {
    let (to, from) = (s.ty(), s.source_ty());
    let signed = |t: Type| matches!(t, S8 | S16 | S32 | S64);
    let holds = match (signed(to), signed(from)) {
        (true, false) => to.bits() > from.bits(),
        (false, true) => false,
        _ => to.bits() >= from.bits(),
    };
    !(s.has(Kind::Sat) && holds)
}

pub(super) fn bounded_rounding(s: &Spelled) -> bool {
    let bounded = s.has(Kind::Relu) || s.has(Kind::SatFinite);
    !bounded || nearest_or_zero(s)
}

/// `redux` adds and compares integers, combines bits, compares floats.
pub(super) fn reducible(s: &Spelled) -> bool {
    if s.has(Kind::Nan) && s.ty() != F32 {
        return false;
    }
    match s.word(Kind::Ir(IrKind::AtomOp)).unwrap_or("") {
        "add" => matches!(s.ty(), U32 | S32),
        "min" | "max" => matches!(s.ty(), U32 | S32 | F32),
        "and" | "or" | "xor" => s.ty() == B32,
        _ => false,
    }
}

/// Only f32 is flushed, and bf16 does not saturate.
pub(super) fn flushable(s: &Spelled) -> bool {
    let flushes = !s.has(Kind::Ftz) || s.types.contains(&F32);
    flushes && !(s.has(Kind::Sat) && s.types.contains(&Bf16))
}

pub(super) fn nearest(s: &Spelled) -> bool {
    s.word(Kind::Rounding) == Some("rn")
}

pub(super) fn nearest_or_zero(s: &Spelled) -> bool {
    matches!(s.word(Kind::Rounding), Some("rn" | "rz"))
}

/// Conversions that lose precision say how they round; those to the same format may round to an
/// integral value. From bfloat16 to wider formats `ptxas` takes a rounding that never comes into
/// effect.
pub(super) fn convertible(s: &Spelled) -> bool {
    let (to, from) = (s.ty(), s.source_ty());
    let (rounding, integral) = (s.has(Kind::Rounding), s.has(Kind::Integral));
    let precision = |t: Type| match t {
        F16 | Bf16 => 1,
        F32 => 2,
        _ => 3,
    };
    let right = if to == from {
        !rounding
    } else if matches!((to, from), (F16, Bf16) | (Bf16, F16)) {
        // To nearest even without a modifier; `ptxas` takes no other modifier.
        return !integral && !s.has(Kind::Ftz) && !s.has(Kind::Sat);
    } else if precision(to) > precision(from) {
        !integral && (!rounding || from == Bf16)
    } else {
        rounding && !integral
    };
    right && flushable(s)
}

pub(super) const FTZ_TEXT: &str =
    "`.f32` as one of its types for `.ftz`, and no `.bf16` for `.sat`";
pub(super) const CMP_TEXT: &str =
    "a comparison that goes with the type (and `.ftz` only with `.f32` and `.f16`)";
pub(super) const ATOM_TEXT: &str =
    "an operation that goes with the type, and `.noftz` for 16-bit formats and only there";
pub(super) const REDUX_TEXT: &str = "`.add` with `.u32` or `.s32`; `.min` or `.max` with these or `.f32`; `.and`, `.or` or `.xor` with `.b32`";
pub(super) const ACCESS_TEXT: &str = "a scope with `.relaxed`, `.acquire` or `.release` and only there, at most 128 bits (256 of 32-bit or 64-bit elements)";
pub(super) const LOAD_TEXT: &str = "`.global` with `.nc`";
pub(super) const WRITABLE_TEXT: &str =
    "a state space that can be written: `.const` and `.param::entry` are read-only";

fn geometry(s: &Spelled) -> &'static str {
    s.word(Kind::Ir(IrKind::Geometry)).unwrap_or_default()
}

fn asked(s: &Spelled) -> &'static str {
    s.word(Kind::Ir(IrKind::Query)).unwrap_or_default()
}

/// Four components, or two pairs.
pub(super) fn texture_vector(s: &Spelled) -> bool {
    s.word(Kind::Vector) == Some(if s.ty() == F16x2 { "v2" } else { "v4" })
}

/// Coordinates that are integers name elements.
pub(super) fn sampled(s: &Spelled) -> bool {
    let directed = matches!(geometry(s), "cube" | "acube");
    s.source_ty() == F32 || !directed && s.word(Kind::Ir(IrKind::Lod)) != Some("grad")
}

/// Geometries of which four elements are gathered.
pub(super) fn gathered(s: &Spelled) -> bool {
    matches!(geometry(s), "2d" | "a2d" | "cube" | "acube")
}

/// Geometries whose elements are combined.
pub(super) fn surface_reducible(s: &Spelled) -> bool {
    matches!(geometry(s), "1d" | "2d" | "3d")
}

/// Geometries of surfaces, vectors of at most 128 bits, and the cache operators of surfaces.
pub(super) fn surface_coordinates(s: &Spelled) -> bool {
    let fits = match s.word(Kind::Vector) {
        Some("v8") => false,
        Some("v4") => s.ty().bits() <= 32,
        _ => true,
    };
    let cached = s.word(Kind::Cache) != Some("lu");
    fits && cached && !matches!(geometry(s), "cube" | "acube")
}

pub(super) fn texture_query(s: &Spelled) -> bool {
    asked(s) != "memory_layout"
}

pub(super) fn level_sized(s: &Spelled) -> bool {
    matches!(asked(s), "width" | "height" | "depth")
}

pub(super) fn surface_query(s: &Spelled) -> bool {
    let channels = matches!(asked(s), "channel_data_type" | "channel_order");
    level_sized(s) || channels || matches!(asked(s), "array_size" | "memory_layout")
}

/// Reductions by type: of elements, the type is that of the format.
pub(super) fn surface_reduction(s: &Spelled) -> bool {
    let elements = s.has(Kind::SurfaceElements);
    match s.word(Kind::Ir(IrKind::AtomOp)) {
        Some("add") => matches!(s.ty(), U32 | U64 | S32) || elements && s.ty() == B32,
        Some("min" | "max") => elements || s.ty() != B32,
        Some("and" | "or") => s.ty() == B32,
        _ => false,
    }
}
