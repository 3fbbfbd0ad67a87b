//! Textures and surfaces.

use ir::mods::{AtomOp, Flag, Geometry, LevelMode, Space as IrSpace};
use ir::texture::level_operands;
use ir::{Inst, Mods, Op, Operand as Value, Origin, Reg, Ty};

use super::Lowering;
use super::address::Address;
use super::function::Body;
use super::modifiers::ir_mods;
use super::names::Found;
use crate::ast::{Instruction, Operand, OperandKind, Type};
use crate::spelling::{Kind, Spelled};

/// Elements of a vector of so many coordinates: vectors have 1, 2 or 4.
const fn padded(coordinates: usize) -> usize {
    if coordinates == 3 { 4 } else { coordinates }
}

/// The type in which elements are combined; whether they have signs, the format says.
fn element_type(s: &Spelled, mods: &Mods) -> Ty {
    let bits = matches!(mods.atom, Some(AtomOp::And | AtomOp::Or));
    match (bits, s.ty() == Type::B64) {
        (true, _) => Ty::B32,
        (false, true) => Ty::U64,
        (false, false) => Ty::U32,
    }
}

impl<'t> Body<'t, '_> {
    /// `tex` and `tld4`
    pub(super) fn texture(&mut self, s: &Spelled, i: &Instruction) -> Lowering<()> {
        let all = &self.cx.tree.operands[i.operands];
        let op = if s.form.opcode == "tex" { Op::Tex } else { Op::TexGather };
        let mut inst = Inst::new(op);
        inst.mods = ir_mods(s, op);
        let geometry = inst.mods.geometry.unwrap_or(Geometry::D1);
        let levels = match inst.mods.lod {
            Some(LevelMode::Level) => 1,
            Some(LevelMode::Grad) => 2,
            _ => 0,
        };
        let fixed = 2 + levels;
        self.count(i, fixed, fixed + 2)?;
        let results = self.loaded(s, &all[0], false)?;
        inst.results.extend(results.iter().map(|reg| reg.map(Reg::Lane)));
        inst.ty = Ty::from_name(s.ty().word());
        inst.ty2 = Ty::from_name(s.source_ty().word());
        let (handles, at) = self.texture_place(&all[1])?;
        inst.operands.extend(handles);
        let at = self.coordinates(at, geometry, s.source_ty())?;
        inst.operands.extend(at);
        let dimensions = geometry.dimensions();
        match inst.mods.lod {
            Some(LevelMode::Level) => {
                let level = self.source(&all[2], s.source_ty(), false)?;
                inst.operands.push(level);
            }
            Some(LevelMode::Grad) => {
                for derivatives in &all[2..4] {
                    let given = self.vector_of(derivatives, dimensions, Type::F32)?;
                    inst.operands.extend(given);
                }
            }
            _ => {}
        }
        debug_assert_eq!(
            inst.operands.len(),
            2 + geometry.coordinates() + level_operands(inst.mods.lod, geometry)
        );
        if let Some(offsets) = self.offsets(&all[fixed..], geometry)? {
            inst.mods.flags = inst.mods.flags.with(Flag::Offset);
            inst.operands.extend(offsets);
        }
        self.emit(inst, Origin::Source);
        Ok(())
    }

    /// `txq` and `suq`
    pub(super) fn texture_query(&mut self, s: &Spelled, i: &Instruction) -> Lowering<()> {
        let level = s.has(Kind::QueryLevel);
        let count = 2 + usize::from(level);
        self.count(i, count, count)?;
        let all = &self.cx.tree.operands[i.operands];
        let mut inst = Inst::new(Op::TexQuery);
        inst.mods = ir_mods(s, Op::TexQuery);
        let to = self.destination(&all[0], Type::B32, false, false)?;
        inst.results.push(to.map(Reg::Lane));
        let object = self.object(&all[1])?;
        inst.operands.push(object);
        if level {
            inst.operands.push(self.source(&all[2], Type::B32, false)?);
        }
        self.emit(inst, Origin::Source);
        Ok(())
    }

    /// `suld`, `sust` and `sured`
    pub(super) fn surface(&mut self, s: &Spelled, i: &Instruction) -> Lowering<()> {
        self.count(i, 2, 2)?;
        let all = &self.cx.tree.operands[i.operands];
        let op = match s.form.opcode {
            "suld" => Op::SurfLoad,
            "sust" => Op::SurfStore,
            _ => Op::SurfReduce,
        };
        let mut inst = Inst::new(op);
        inst.mods = ir_mods(s, op);
        let formatted = s.has(Kind::SurfaceElements);
        if formatted {
            inst.mods.flags = inst.mods.flags.with(Flag::Formatted);
        }
        let ty = Ty::from_name(s.ty().word());
        inst.ty = match op {
            Op::SurfStore if formatted => Some(Ty::B32),
            Op::SurfReduce if formatted => Some(element_type(s, &inst.mods)),
            _ => ty,
        };
        let geometry = inst.mods.geometry.unwrap_or(Geometry::D1);
        let (place, value) =
            if op == Op::SurfLoad { (&all[1], &all[0]) } else { (&all[0], &all[1]) };
        let (handles, at) = self.texture_place(place)?;
        inst.operands.push(handles[0]);
        let at = self.coordinates(at, geometry, Type::S32)?;
        let missing = 3 - at.len();
        inst.operands.extend(at);
        inst.operands.extend((0..missing).map(|_| Value::Imm(0)));
        match op {
            Op::SurfLoad => {
                let results = self.loaded(s, value, true)?;
                inst.results.extend(results.iter().map(|reg| reg.map(Reg::Lane)));
            }
            _ => {
                let values = self.stored(s, value, op == Op::SurfStore && !formatted)?;
                inst.operands.extend(values);
            }
        }
        self.emit(inst, Origin::Source);
        Ok(())
    }

    /// The handles of texture and sampler, and the coordinates, in `[a, {x}]` or `[a, b, {x}]`.
    fn texture_place(&mut self, operand: &Operand) -> Lowering<([Value; 2], &'t Operand)> {
        let tree = self.cx.tree;
        let parts = match operand.kind {
            OperandKind::Bracket(parts) => &tree.operands[parts],
            _ => &[],
        };
        let (texture, sampler, at) = match parts {
            [texture, at] => (texture, None, at),
            [texture, sampler, at] => (texture, Some(sampler), at),
            _ => {
                let message = "a texture or surface and coordinates are needed";
                let label = "write `[handle, {x, y}]`";
                return self.cx.error("ptx::address", message, operand.span, label);
            }
        };
        let texture = self.handle(texture)?;
        let sampler = sampler.map_or(Ok(texture), |sampler| self.handle(sampler))?;
        Ok(([texture, sampler], at))
    }

    /// A handle in a register, or the address of a reference.
    fn handle(&mut self, operand: &Operand) -> Lowering<Value> {
        let OperandKind::Name(name) = operand.kind else {
            return self.source(operand, Type::B64, false);
        };
        if let Some(Found::Register(..)) = self.scopes.find(self.cx.tree, name) {
            return self.source(operand, Type::B64, false);
        }
        let place = Operand { kind: OperandKind::Address(name, 0), span: operand.span };
        match self.address(&place)? {
            Address::Memory { base, offset: 0, space: Some(IrSpace::Global) } => Ok(base),
            _ => self.no_handle(operand),
        }
    }

    /// A handle in brackets.
    fn object(&mut self, place: &Operand) -> Lowering<Value> {
        match place.kind {
            OperandKind::Address(name, 0) => {
                let name = Operand { kind: OperandKind::Name(name), span: place.span };
                self.handle(&name)
            }
            OperandKind::Bracket(parts) if parts.len() == 1 => {
                self.handle(&self.cx.tree.operands[parts][0])
            }
            _ => self.no_handle(place),
        }
    }

    fn no_handle<T>(&mut self, operand: &Operand) -> Lowering<T> {
        let message = "a texture or surface is named by a register or a reference";
        self.cx.error("ptx::address", message, operand.span, "neither")
    }

    /// The coordinates of a geometry: the layer is a number whatever the others are.
    fn coordinates(
        &mut self,
        operand: &'t Operand,
        geometry: Geometry,
        ty: Type,
    ) -> Lowering<Vec<Value>> {
        let count = geometry.coordinates();
        let parts = self.listed(operand, padded(count))?;
        let mut out = Vec::new();
        for (i, part) in parts.iter().enumerate() {
            let any = geometry.is_layered() && i == 0 || i >= count;
            let value = self.source(part, if any { Type::B32 } else { ty }, false)?;
            if i < count {
                out.push(value);
            }
        }
        Ok(out)
    }

    fn vector_of(&mut self, operand: &'t Operand, count: usize, ty: Type) -> Lowering<Vec<Value>> {
        let parts = self.listed(operand, padded(count))?;
        let mut out = Vec::new();
        for (i, part) in parts.iter().enumerate() {
            let value = self.source(part, if i < count { ty } else { Type::B32 }, false)?;
            if i < count {
                out.push(value);
            }
        }
        Ok(out)
    }

    /// Offsets in elements behind the other operands.
    fn offsets(&mut self, rest: &'t [Operand], geometry: Geometry) -> Lowering<Option<Vec<Value>>> {
        let Some(first) = rest.first() else { return Ok(None) };
        let one = geometry.dimensions() == 1;
        let vector = matches!(first.kind, OperandKind::Vector(_));
        let depth = if vector || one { rest.get(1) } else { Some(first) };
        if let Some(depth) = depth {
            let message = "textures of depths, which are compared, are not supported";
            return self.cx.error("ptx::unsupported", message, depth.span, "not supported");
        }
        if geometry.is_cube() {
            let message = "the faces of a cube have no offsets";
            return self.cx.error("ptx::operand", message, first.span, "leave it out");
        }
        self.vector_of(first, geometry.dimensions(), Type::S32).map(Some)
    }
}
