//! Linking of operations on textures and surfaces.

use super::frame::Frame;
use super::{Linked, operand_error};
use crate::code::{MemOp, TextureAccess};
use crate::program::LinkErrorKind;
use ir::Inst;
use ir::mods::{Order, Scope, Space};
use simt::memory::Width;
use smallvec::SmallVec;

impl Frame<'_> {
    /// An instruction on a texture or a surface.
    pub(super) fn texture(&mut self, inst: &Inst) -> Linked<TextureAccess> {
        let op = crate::texture::texture_op(inst, |i| self.operand(inst, i))?;
        let op = op.ok_or(LinkErrorKind::Unsupported(inst.op.name()))?;
        let mem = MemOp {
            space: Space::Global,
            addr: op.handle,
            offset: 0,
            size: op.width as u32,
            width: Width::from_bytes(op.width as u64).ok_or_else(|| operand_error(inst, 0))?,
            extend: None,
            rows: self.results(inst)?.iter().copied().collect(),
            values: SmallVec::new(),
            order: Order::Weak,
            scope: Scope::Gpu,
            cluster: false,
        };
        Ok(TextureAccess { mem, op })
    }
}
