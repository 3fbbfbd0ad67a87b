//! Textures and surfaces.

use ir::mods::Kind as IrKind;

use super::Arg::Rest;
use super::rules::{
    gathered, level_sized, sampled, surface_coordinates, surface_query, surface_reducible,
    surface_reduction, texture_query, texture_vector,
};
use super::sets::special;
use super::{Form, Special};
use crate::ast::Type::{B8, B16, B32, B64, F16, F16x2, F32, S32, S64, U32, U64};
use crate::spelling::Kind;

const SURFACE_TEXT: &str = "`.1d`, `.2d`, `.3d`, `.a1d` or `.a2d`, at most 128 bits, no `.lu`";

pub(super) static ROWS: &[Form] = &[
    special("tex", Special::Texture, &[Rest])
        .ty(&[U32, S32, F32, F16, F16x2])
        .ty(&[S32, F32])
        .need(&[Kind::Ir(IrKind::Geometry), Kind::Vector])
        .opt(&[Kind::Ir(IrKind::Lod)])
        .rule(texture_vector, "`.v4`, of `.f16x2` `.v2`")
        .then_rule(sampled, "coordinates in cubes and with `.grad` are `.f32`")
        .since(1, 0, 0),
    special("tld4", Special::Texture, &[Rest])
        .ty(&[U32, S32, F32])
        .ty(&[F32])
        .need(&[Kind::Ir(IrKind::Component), Kind::Ir(IrKind::Geometry), Kind::Vector])
        .rule(gathered, "`.2d`, `.a2d`, `.cube` or `.acube`")
        .then_rule(texture_vector, "`.v4`")
        .since(2, 2, 20),
    special("txq", Special::TextureQuery, &[Rest])
        .ty(&[B32])
        .need(&[Kind::Ir(IrKind::Query)])
        .rule(texture_query, "an attribute of textures or samplers")
        .since(1, 5, 0),
    special("txq", Special::TextureQuery, &[Rest])
        .ty(&[B32])
        .need(&[Kind::QueryLevel, Kind::Ir(IrKind::Query)])
        .rule(level_sized, "`.width`, `.height` or `.depth`")
        .since(4, 3, 30),
    special("suq", Special::TextureQuery, &[Rest])
        .ty(&[B32])
        .need(&[Kind::Ir(IrKind::Query)])
        .rule(surface_query, "an attribute of surfaces")
        .since(1, 5, 0),
    special("suld", Special::Surface, &[Rest])
        .ty(&[B8, B16, B32, B64])
        .need(&[Kind::SurfaceBytes, Kind::Ir(IrKind::Geometry), Kind::Ir(IrKind::Bounds)])
        .opt(&[Kind::Cache, Kind::Vector])
        .rule(surface_coordinates, SURFACE_TEXT)
        .since(1, 5, 20),
    special("sust", Special::Surface, &[Rest])
        .ty(&[B8, B16, B32, B64])
        .need(&[Kind::SurfaceBytes, Kind::Ir(IrKind::Geometry), Kind::Ir(IrKind::Bounds)])
        .opt(&[Kind::StCache, Kind::Vector])
        .rule(surface_coordinates, SURFACE_TEXT)
        .since(1, 5, 20),
    special("sust", Special::Surface, &[Rest])
        .ty(&[B32])
        .need(&[Kind::SurfaceElements, Kind::Ir(IrKind::Geometry), Kind::Ir(IrKind::Bounds)])
        .opt(&[Kind::Vector])
        .rule(surface_coordinates, SURFACE_TEXT)
        .since(2, 0, 20),
    special("sured", Special::Surface, &[Rest])
        .ty(&[U32, U64, S32, B32, S64])
        .need(&[
            Kind::SurfaceBytes,
            Kind::Ir(IrKind::AtomOp),
            Kind::Ir(IrKind::Geometry),
            Kind::Ir(IrKind::Bounds),
        ])
        .rule(surface_reducible, "`.1d`, `.2d` or `.3d`")
        .then_rule(surface_reduction, "a reduction of the type")
        .since(3, 0, 20),
    special("sured", Special::Surface, &[Rest])
        .ty(&[B32, B64])
        .need(&[
            Kind::SurfaceElements,
            Kind::Ir(IrKind::AtomOp),
            Kind::Ir(IrKind::Geometry),
            Kind::Ir(IrKind::Bounds),
        ])
        .rule(surface_reducible, "`.1d`, `.2d` or `.3d`")
        .then_rule(surface_reduction, "a reduction of the type")
        .since(3, 0, 20),
];
