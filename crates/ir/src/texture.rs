//! How many registers operations on textures and surfaces take.
//!
//! Source: PTX ISA 9.1, "Texture Instructions" and "Surface Instructions". Coordinates here are
//! those that mean something: vectors of PTX have ignored elements behind them.

use crate::mods::{AtomOp, Flag, Geometry, LevelMode, Query};
use crate::module::Inst;
use crate::op::Op;
use crate::ty::Ty;

/// Bytes of a texture or surface object, and of a variable that stands for one.
pub const OBJECT_BYTES: usize = 128;

/// Operands in front of the coordinates of a texture: its handle and that of the sampler.
pub const HANDLES: usize = 2;

impl Geometry {
    /// Whether the first coordinate is that of a layer.
    #[must_use]
    pub const fn is_layered(self) -> bool {
        matches!(self, Self::D1Layered | Self::D2Layered | Self::CubeLayered)
    }

    /// Whether it has the faces of a cube.
    #[must_use]
    pub const fn is_cube(self) -> bool {
        matches!(self, Self::Cube | Self::CubeLayered)
    }

    /// Coordinates of a place in a layer.
    #[must_use]
    pub const fn dimensions(self) -> usize {
        match self {
            Self::D1 | Self::D1Layered => 1,
            Self::D2 | Self::D2Layered => 2,
            Self::D3 | Self::Cube | Self::CubeLayered => 3,
        }
    }

    /// All coordinates.
    #[must_use]
    pub const fn coordinates(self) -> usize {
        self.dimensions() + self.is_layered() as usize
    }
}

/// Operands behind the coordinates of `tex` that say which level is sampled.
#[must_use]
pub const fn level_operands(lod: Option<LevelMode>, geometry: Geometry) -> usize {
    match lod {
        Some(LevelMode::Level) => 1,
        Some(LevelMode::Grad) => 2 * geometry.dimensions(),
        Some(LevelMode::Base) | None => 0,
    }
}

/// The rule that the numbers of results and operands break.
pub(crate) fn parts(inst: &Inst) -> Option<&'static str> {
    let (results, operands) = (inst.results.len(), inst.operands.len());
    let says = |holds: bool, why: &'static str| (!holds).then_some(why);
    match inst.op {
        Op::Tex => sampled(inst),
        Op::TexGather => {
            let geometry = inst.mods.geometry?;
            if !matches!(
                geometry,
                Geometry::D2 | Geometry::D2Layered | Geometry::Cube | Geometry::CubeLayered
            ) {
                return Some("elements are gathered from two dimensions");
            }
            if results != 4 {
                return Some("four elements are gathered");
            }
            operands_fit(inst, geometry, 0)
        }
        Op::TexQuery => says(
            operands == 1
                || matches!(
                    inst.mods.query,
                    Some(Query::Width | Query::Height | Query::Depth) | None
                ),
            "only sizes are those of a level",
        ),
        Op::SurfLoad => surface(inst, results),
        Op::SurfStore => {
            let formatted = inst.mods.flags.has(Flag::Formatted);
            if formatted && inst.ty != Some(Ty::B32) {
                return Some("values that are converted to a format have 32 bits");
            }
            surface(inst, operands.saturating_sub(4))
        }
        Op::SurfReduce => {
            let combines = matches!(
                inst.mods.atom,
                Some(AtomOp::Add | AtomOp::Min | AtomOp::Max | AtomOp::And | AtomOp::Or) | None
            );
            if !combines {
                return Some("a surface has the reductions `add`, `min`, `max`, `and` and `or`");
            }
            surface(inst, 1)
        }
        _ => None,
    }
}

fn sampled(inst: &Inst) -> Option<&'static str> {
    let geometry = inst.mods.geometry?;
    let components = if inst.ty == Some(Ty::F16x2) { 2 } else { 4 };
    if inst.results.len() != components {
        return Some("a texture gives four components, as pairs in two registers");
    }
    let whole = inst.ty2 == Some(Ty::S32);
    if whole && (geometry.is_cube() || inst.mods.lod == Some(LevelMode::Grad)) {
        return Some("directions and derivatives are floats");
    }
    operands_fit(inst, geometry, level_operands(inst.mods.lod, geometry))
}

fn operands_fit(inst: &Inst, geometry: Geometry, level: usize) -> Option<&'static str> {
    let offset = inst.mods.flags.has(Flag::Offset);
    if offset && geometry.is_cube() {
        return Some("the faces of a cube have no offsets");
    }
    let offsets = if offset { geometry.dimensions() } else { 0 };
    let needed = HANDLES + geometry.coordinates() + level + offsets;
    (inst.operands.len() != needed)
        .then_some("the number of coordinates is not that of the geometry")
}

fn surface(inst: &Inst, elements: usize) -> Option<&'static str> {
    if inst.mods.geometry.is_some_and(Geometry::is_cube) {
        return Some("a surface has no faces of a cube");
    }
    let bits = inst.ty.map_or(0, Ty::bits) as usize * elements;
    (!matches!(elements, 1 | 2 | 4) || bits > 128)
        .then_some("a surface is accessed by 1, 2 or 4 elements and at most 128 bits")
}
