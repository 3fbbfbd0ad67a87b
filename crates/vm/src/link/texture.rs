//! Linking of operations on textures and surfaces.

use super::frame::Frame;
use super::{Linked, operand_error};
use crate::code::{MemOp, Src, TextureKind, TextureOp};
use crate::program::LinkErrorKind;
use ir::mods::{Flag, Geometry, Order, Scope, Space};
use ir::texture::HANDLES;
use ir::{Inst, Op, Ty};
use simt::memory::Width;
use smallvec::SmallVec;

impl Frame<'_> {
    /// `tex`, `tld4` or `txq`.
    pub(super) fn texture(&mut self, inst: &Inst) -> Linked<TextureOp> {
        let unsupported = || LinkErrorKind::Unsupported(inst.op.name());
        let mods = &inst.mods;
        let offset = mods.flags.has(Flag::Offset);
        let (kind, handles) = match inst.op {
            Op::TexQuery => (TextureKind::Query(mods.query.ok_or_else(unsupported)?), 1),
            Op::TexGather => {
                let component = mods.component.ok_or_else(unsupported)?;
                (TextureKind::Gather { component, offset }, HANDLES)
            }
            _ => {
                let (whole, lod) = (inst.ty2 == Some(Ty::S32), mods.lod);
                let ty = inst.ty.ok_or_else(unsupported)?;
                (TextureKind::Sample { whole, lod, offset, ty }, HANDLES)
            }
        };
        let mem = self.texture_access(inst, 4)?;
        Ok(TextureOp {
            sampler: self.operand(inst, handles - 1)?,
            at: self.operands_from(inst, handles..inst.operands.len())?,
            geometry: mods.geometry.unwrap_or(Geometry::D1),
            mem,
            kind,
        })
    }

    /// `suld`, `sust` or `sured`.
    pub(super) fn surface(&mut self, inst: &Inst) -> Linked<TextureOp> {
        let unsupported = || LinkErrorKind::Unsupported(inst.op.name());
        let mods = &inst.mods;
        let bounds = mods.bounds.ok_or_else(unsupported)?;
        let ty = inst.ty.ok_or_else(unsupported)?;
        let formatted = mods.flags.has(Flag::Formatted);
        let kind = match inst.op {
            Op::SurfLoad => TextureKind::Load(bounds),
            Op::SurfStore => TextureKind::Store { bounds, formatted },
            _ => {
                let op = mods.atom.ok_or_else(unsupported)?;
                // Untyped minima are those of elements' integers, which a formatted one has.
                if !formatted && !crate::atomic::supported(op, ty) {
                    return Err(unsupported());
                }
                TextureKind::Reduce { bounds, formatted, op, ty }
            }
        };
        let mut mem = self.texture_access(inst, ty.bytes())?;
        for i in 4..inst.operands.len() {
            let value = self.operand(inst, i)?;
            mem.values.push(value);
        }
        Ok(TextureOp {
            sampler: mem.addr,
            at: self.operands_from(inst, 1..4)?,
            geometry: mods.geometry.ok_or_else(unsupported)?,
            mem,
            kind,
        })
    }

    fn operands_from(
        &mut self,
        inst: &Inst,
        range: std::ops::Range<usize>,
    ) -> Linked<SmallVec<[Src; 8]>> {
        range.map(|i| self.operand(inst, i)).collect()
    }

    fn texture_access(&mut self, inst: &Inst, size: u32) -> Linked<MemOp> {
        Ok(MemOp {
            space: Space::Global,
            addr: self.operand(inst, 0)?,
            offset: 0,
            size,
            width: Width::from_bytes(size.into()).ok_or_else(|| operand_error(inst, 0))?,
            extend: None,
            rows: self.results(inst)?.iter().copied().collect(),
            values: SmallVec::new(),
            order: Order::Weak,
            scope: Scope::Gpu,
            cluster: false,
        })
    }
}
