//! `ld`, `st`, `atom`, `red`, and accesses to parameters that are in registers.

use ir::mods::{AtomOp, Order, Space as IrSpace};
use ir::{Inst, LaneReg, Op, Origin, Reg};
use smallvec::SmallVec;

use super::address::Address;
use super::emit::inst;
use super::function::Body;
use super::modifiers::{ir_mods, is_cas};
use super::moves::bits_type;
use super::params::Chunk;
use super::{Failed, Lowering};
use crate::ast::{Instruction, Operand, OperandKind, Type};
use crate::spelling::{Kind, Spelled};

impl<'t> Body<'_, 't> {
    fn vector_length(s: &Spelled) -> usize {
        match s.word(Kind::Vector) {
            Some("v2") => 2,
            Some("v4") => 4,
            Some("v8") => 8,
            _ => 1,
        }
    }

    /// Registers that an access, or a move of a vector, writes.
    pub(super) fn loaded(
        &mut self,
        s: &Spelled,
        operand: &Operand,
        wider: bool,
    ) -> Lowering<SmallVec<[Option<LaneReg>; 4]>> {
        let tree = self.cx.tree;
        let length = Self::vector_length(s);
        self.vector_size(s, operand)?;
        if length == 1 {
            let operand = match operand.kind {
                OperandKind::Vector(parts) if parts.len() == 1 => &tree.operands[parts][0],
                _ => operand,
            };
            return Ok(SmallVec::from_elem(self.destination(operand, s.ty(), wider, false)?, 1));
        }
        if let Some(parts) = self.vector_register(operand, s.ty())?
            && parts.len() == length
        {
            return Ok(parts.into_iter().map(Some).collect());
        }
        let parts = self.vector_parts(operand, length)?;
        let mut out = SmallVec::new();
        for part in parts {
            let reg = self.destination(part, s.ty(), wider, true)?;
            for earlier in out.iter_mut().filter(|r| **r == reg) {
                *earlier = None;
            }
            out.push(reg);
        }
        self.same_widths(operand, out.iter().copied().flatten())?;
        Ok(out)
    }

    /// Checks that the registers of a vector have one width.
    fn same_widths(
        &mut self,
        operand: &Operand,
        mut regs: impl Iterator<Item = LaneReg>,
    ) -> Lowering<()> {
        let Some(first) = regs.next().map(|reg| self.code.reg_ty(reg)) else { return Ok(()) };
        if regs.all(|reg| self.code.reg_ty(reg) == first) {
            return Ok(());
        }
        let message = "the registers of a vector have different widths";
        self.cx.error("ptx::vector", message, operand.span, "registers of one width are needed")
    }

    /// Values that an access, or a move of a vector, reads.
    pub(super) fn stored(
        &mut self,
        s: &Spelled,
        operand: &Operand,
        wider: bool,
    ) -> Lowering<SmallVec<[ir::Operand; 4]>> {
        let tree = self.cx.tree;
        let length = Self::vector_length(s);
        self.vector_size(s, operand)?;
        if length == 1 {
            let operand = match operand.kind {
                OperandKind::Vector(parts) if parts.len() == 1 => &tree.operands[parts][0],
                _ => operand,
            };
            return Ok(SmallVec::from_elem(self.source(operand, s.ty(), wider)?, 1));
        }
        if let Some(parts) = self.vector_register(operand, s.ty())?
            && parts.len() == length
        {
            return Ok(parts.into_iter().map(ir::Operand::lane).collect());
        }
        let parts = self.vector_parts(operand, length)?;
        let values = parts.iter().map(|part| self.source(part, s.ty(), wider));
        let values: SmallVec<[ir::Operand; 4]> = values.collect::<Lowering<_>>()?;
        let register = |value: &ir::Operand| match *value {
            ir::Operand::Reg(Reg::Lane(reg)) => Some(reg),
            _ => None,
        };
        self.same_widths(operand, values.iter().filter_map(register))?;
        Ok(values)
    }

    fn vector_size(&mut self, s: &Spelled, operand: &Operand) -> Lowering<()> {
        let bits = Self::vector_length(s) as u32 * s.ty().bits();
        if bits <= 256 {
            return Ok(());
        }
        let message = format!("an access of {bits} bits");
        self.cx.error("ptx::vector", message, operand.span, "256 bits are the most")
    }

    /// The elements of `{a, b}`, if there are as many as the access has.
    fn vector_parts(&mut self, operand: &Operand, length: usize) -> Lowering<&'t [Operand]> {
        let tree = self.cx.tree;
        match operand.kind {
            OperandKind::Vector(parts) if parts.len() == length => Ok(&tree.operands[parts]),
            _ => {
                let message = format!("a vector of {length} elements is needed");
                self.cx.error("ptx::vector", message, operand.span, "not that many elements")
            }
        }
    }

    pub(super) fn load(&mut self, s: &Spelled, i: &Instruction) -> Lowering<()> {
        self.count(i, 2, 3)?;
        let tree = self.cx.tree;
        let all = &tree.operands[i.operands];
        let (to, from) = (&all[0], &all[1]);
        self.cache_policy(i, all.get(2))?;
        let results = self.loaded(s, to, true);
        let address = self.address(from)?;
        let results = results?;
        match address {
            Address::Param(index, offset) => {
                self.param_space(s, from)?;
                self.load_param(s, index, offset, from, &results)
            }
            Address::Memory { base, offset, space } => {
                let mut inst = self.access(Op::Ld, s, from, base, offset, space)?;
                inst.results.extend(results.iter().map(|r| r.map(Reg::Lane)));
                if matches!(inst.mods.order, Some(Order::Release)) {
                    return self.bad_order(i, "`ld` does not release");
                }
                self.emit(inst, Origin::Source);
                Ok(())
            }
        }
    }

    pub(super) fn store(&mut self, s: &Spelled, i: &Instruction) -> Lowering<()> {
        self.count(i, 2, 3)?;
        let tree = self.cx.tree;
        let all = &tree.operands[i.operands];
        let (to, from) = (&all[0], &all[1]);
        self.cache_policy(i, all.get(2))?;
        let values = self.stored(s, from, true);
        let address = self.address(to)?;
        let values = values?;
        match address {
            Address::Param(index, offset) => {
                self.param_space(s, to)?;
                self.store_param(s, index, offset, to, &values)
            }
            Address::Memory { base, offset, space } => {
                let mut inst = self.access(Op::St, s, to, base, offset, space)?;
                if matches!(inst.mods.space, Some(IrSpace::Const | IrSpace::Param)) {
                    let message = "constants and a kernel's parameters cannot be written";
                    return self.cx.error("ptx::space", message, to.span, "read-only");
                }
                if matches!(inst.mods.order, Some(Order::Acquire)) {
                    return self.bad_order(i, "`st` does not acquire");
                }
                inst.operands.extend(values);
                self.emit(inst, Origin::Source);
                Ok(())
            }
        }
    }

    fn bad_order(&mut self, i: &Instruction, label: &str) -> Lowering<()> {
        let message = "this memory order is not possible here";
        self.cx.error("ptx::modifier", message, i.opcode.span, label)
    }

    /// Checks the last operand of accesses with `.L2::cache_hint`; no result depends on it.
    fn cache_policy(&mut self, i: &Instruction, operand: Option<&Operand>) -> Lowering<()> {
        let Some(policy) = operand else { return Ok(()) };
        if !self.has_cache_policy(i) {
            let message = "a cache policy needs `.L2::cache_hint`";
            return self.cx.error(
                "ptx::operand-count",
                message,
                policy.span,
                "one operand too many",
            );
        }
        self.source(policy, Type::B64, false).map(|_| ())
    }

    /// Returns whether the last operand is a cache policy.
    pub(super) fn has_cache_policy(&self, i: &Instruction) -> bool {
        let tree = self.cx.tree;
        tree.modifiers[i.modifiers].iter().any(|m| tree.name(m.symbol) == "L2::cache_hint")
    }

    /// An access with its type, modifiers and address.
    fn access(
        &mut self,
        op: Op,
        s: &Spelled,
        operand: &Operand,
        base: ir::Operand,
        offset: i64,
        found: Option<IrSpace>,
    ) -> Lowering<Inst> {
        let mut inst = Inst::new(op);
        inst.ty = Some(self.ir_ty(s.ty(), operand.span)?);
        inst.mods = ir_mods(s, op);
        let word = s.word(Kind::Space);
        if word == Some("param::func") && found.is_none() && self.kernel {
            let message = "a kernel has no parameters of a function";
            return self.cx.error("ptx::space", message, operand.span, "not a parameter's name");
        }
        inst.mods.space = self.access_space(operand, inst.mods.space, found)?;
        // In a function, a register that points to a parameter holds the address of its copy.
        let own = matches!(word, Some("param" | "param::func"));
        if own && found.is_none() && !self.kernel {
            inst.mods.space = Some(IrSpace::Local);
        }
        let ordered = !matches!(inst.mods.order, None | Some(Order::Weak | Order::Volatile));
        if inst.mods.scope.is_some() && !ordered && matches!(op, Op::Ld | Op::St) {
            let message = "a scope without a memory order";
            return self.cx.error(
                "ptx::modifier",
                message,
                operand.span,
                "add `.relaxed`, for one",
            );
        }
        self.address_width(base, inst.mods.space, operand.span)?;
        inst.operands.push(base);
        inst.offset = offset;
        Ok(inst)
    }

    pub(super) fn atomic(&mut self, s: &Spelled, i: &Instruction, result: bool) -> Lowering<()> {
        let tree = self.cx.tree;
        let vector = s.has(Kind::Vector);
        let op = if vector { Op::AtomVec } else { Op::Atom };
        let cas = is_cas(&ir_mods(s, op));
        let least = 2 + usize::from(result) + usize::from(cas);
        self.count(i, least, least + 1)?;
        let all = &tree.operands[i.operands];
        let (to, rest) = if result { (all.first(), &all[1..]) } else { (None, all) };
        let (place, values) = (&rest[0], &rest[1..]);
        let results = match to {
            None => SmallVec::new(),
            Some(to) if vector => self.loaded(s, to, false)?,
            Some(to) => SmallVec::from_elem(self.destination(to, s.ty(), false, true)?, 1),
        };
        let Address::Memory { base, offset, space } = self.address(place)? else {
            let message = "parameters cannot be changed atomically";
            return self.cx.error("ptx::space", message, place.span, "not possible");
        };
        let mut inst = self.access(op, s, place, base, offset, space)?;
        let reachable = matches!(
            inst.mods.space,
            None | Some(IrSpace::Generic | IrSpace::Global | IrSpace::Shared)
        );
        if !reachable {
            let message = "atomic operations work on `.global` and `.shared`";
            return self.cx.error("ptx::space", message, place.span, "in another state space");
        }
        if matches!(inst.mods.atom, Some(AtomOp::Exch | AtomOp::Cas)) {
            inst.ty = bits_type(s.ty().bits()).and_then(|t| ir::Ty::from_name(t.word()));
        }
        inst.results.extend(results.iter().map(|r| r.map(Reg::Lane)));
        if vector {
            let stored = self.stored(s, &values[0], false)?;
            inst.operands.extend(stored);
        } else {
            for value in values.iter().take(1 + usize::from(cas)) {
                let value = self.source(value, s.ty(), false)?;
                inst.operands.push(value);
            }
        }
        self.cache_policy(i, values.get(1 + usize::from(cas)))?;
        self.emit(inst, Origin::Source);
        Ok(())
    }

    /// `multimem`: of one device, an access to the address itself.
    pub(super) fn multimem(&mut self, s: &Spelled, i: &Instruction) -> Lowering<()> {
        if s.word(Kind::Multimem) == Some("red") {
            return self.atomic(s, i, false);
        }
        // What is moved does not depend on what it means.
        let mut bits = s.clone();
        bits.types = s.types.iter().map(|ty| bits_type(ty.bits()).unwrap_or(*ty)).collect();
        match s.word(Kind::Multimem) {
            Some("st") => self.store(&bits, i),
            _ => self.load(&bits, i),
        }
    }

    // Parameters in registers.

    fn param_space(&mut self, s: &Spelled, operand: &Operand) -> Lowering<()> {
        match s.word(Kind::Space) {
            None | Some("param" | "param::func") => Ok(()),
            Some(word) => {
                let message = format!("a parameter is not in `.{word}`");
                self.cx.error("ptx::space", message, operand.span, "use `.param`")
            }
        }
    }

    /// Returns the chunks that an access covers.
    fn chunks(
        &mut self,
        index: u32,
        at: i64,
        bytes: u64,
        operand: &Operand,
    ) -> Lowering<SmallVec<[Chunk; 2]>> {
        let Some(param) = self.params.get(index as usize) else { return Err(Failed) };
        let (size, declared) = (param.size, param.span);
        let covered = u64::try_from(at).ok().filter(|at| at.saturating_add(bytes) <= size);
        let mut out: SmallVec<[Chunk; 2]> = SmallVec::new();
        if let Some(start) = covered {
            let mut next = start;
            while next < start + bytes {
                let Some(&chunk) = param.chunk_at(next).and_then(|k| param.chunks.get(k)) else {
                    break;
                };
                out.push(chunk);
                next = chunk.offset + chunk.bytes;
            }
            // An access covers whole chunks, or lies in one at a multiple of its size.
            let whole = out.first().is_some_and(|c| c.offset == start) && next == start + bytes;
            let inside = out.len() == 1 && (start - out[0].offset).is_multiple_of(bytes);
            if whole || inside {
                return Ok(out);
            }
        }
        let text = crate::print::operand_text(self.cx.tree, operand);
        let (message, label) = if covered.is_none() {
            (format!("`{text}` is outside of the parameter's {size} bytes"), "outside")
        } else {
            (format!("`{text}` is not aligned to the access"), "misaligned")
        };
        let diagnostic = isa::Diagnostic::error("ptx::parameter", message)
            .at(operand.span, label)
            .also(declared, "declared here");
        Err(self.cx.fail(diagnostic))
    }

    fn load_param(
        &mut self,
        s: &Spelled,
        index: u32,
        offset: i64,
        operand: &Operand,
        results: &[Option<LaneReg>],
    ) -> Lowering<()> {
        let bytes = u64::from(s.ty().bits() / 8);
        let mut origin = Origin::Source;
        for (k, result) in results.iter().enumerate() {
            let at = offset.saturating_add((k as u64 * bytes) as i64);
            let chunks = self.chunks(index, at, bytes, operand)?;
            let Some(result) = *result else { continue };
            let whole = matches!(chunks.as_slice(), [chunk] if chunk.bytes == bytes);
            let same_width = u64::from(self.code.reg_ty(result).bits()) == 8 * bytes;
            // A value that is packed or unpacked goes straight to its destination.
            let into = Some(result).filter(|_| same_width && !whole);
            let value = self.part(&chunks, at as u64, bytes, into, &mut origin)?;
            if into.is_some() {
                continue;
            }
            self.narrow_move(
                s.ty(),
                result,
                value,
                std::mem::replace(&mut origin, Origin::Lowering),
            );
        }
        Ok(())
    }

    /// The bytes of an access in a register of their width: `into`, or a new one.
    fn part(
        &mut self,
        chunks: &[Chunk],
        at: u64,
        bytes: u64,
        into: Option<LaneReg>,
        origin: &mut Origin,
    ) -> Lowering<LaneReg> {
        let reg_ty = super::params::register_of(bytes);
        if let [chunk] = chunks {
            if chunk.bytes == bytes {
                return Ok(chunk.reg);
            }
            let part = into.unwrap_or_else(|| self.code.temporary(reg_ty));
            let mut unpack = self.packing_of(Op::Unpack, chunk.bytes, bytes)?;
            let wanted = (at - chunk.offset) / bytes;
            let parts = chunk.bytes / bytes;
            let results = (0..parts).map(|k| (k == wanted).then_some(Reg::Lane(part)));
            unpack.results.extend(results);
            unpack.operands.push(ir::Operand::lane(chunk.reg));
            self.emit(unpack, *origin);
            *origin = Origin::Lowering;
            return Ok(part);
        }
        let whole = into.unwrap_or_else(|| self.code.temporary(reg_ty));
        let each = chunks.first().map_or(1, |c| c.bytes);
        let mut pack = self.packing_of(Op::Pack, bytes, each)?;
        pack.results.push(Some(Reg::Lane(whole)));
        pack.operands.extend(chunks.iter().map(|c| ir::Operand::lane(c.reg)));
        self.emit(pack, *origin);
        *origin = Origin::Lowering;
        Ok(whole)
    }

    fn packing_of(&mut self, op: Op, whole: u64, part: u64) -> Lowering<Inst> {
        let ty = |bytes: u64| bits_type(bytes as u32 * 8).and_then(|t| ir::Ty::from_name(t.word()));
        let mut inst = Inst::new(op);
        (inst.ty, inst.ty2) = (ty(whole), ty(part));
        Ok(inst)
    }

    /// Moves a value of a type to a register that may be wider.
    fn narrow_move(&mut self, ty: Type, to: LaneReg, from: LaneReg, origin: Origin) {
        let (wide, narrow) = (self.code.reg_ty(to), self.code.reg_ty(from));
        if wide == narrow {
            let mov = inst(Op::Mov, Some(wide.ty()), to, &[ir::Operand::lane(from)]);
            return self.emit(mov, origin);
        }
        let signed = matches!(ty, Type::S8 | Type::S16 | Type::S32 | Type::S64);
        let mut cvt = inst(Op::Cvt, None, to, &[ir::Operand::lane(from)]);
        cvt.ty = int_type(wide.bits(), signed);
        cvt.ty2 = int_type(narrow.bits(), signed);
        self.emit(cvt, origin);
    }

    fn store_param(
        &mut self,
        s: &Spelled,
        index: u32,
        offset: i64,
        operand: &Operand,
        values: &[ir::Operand],
    ) -> Lowering<()> {
        let bytes = u64::from(s.ty().bits() / 8);
        let mut origin = Origin::Source;
        for (k, value) in values.iter().enumerate() {
            let at = offset.saturating_add((k as u64 * bytes) as i64);
            let chunks = self.chunks(index, at, bytes, operand)?;
            let value = self.narrowed(*value, bytes, &mut origin);
            self.put_part(&chunks, at as u64, bytes, value, origin)?;
            origin = Origin::Lowering;
        }
        Ok(())
    }

    /// The low bytes of a value that may be wider.
    fn narrowed(&mut self, value: ir::Operand, bytes: u64, origin: &mut Origin) -> ir::Operand {
        let ir::Operand::Reg(Reg::Lane(reg)) = value else { return value };
        let wide = self.code.reg_ty(reg);
        if u64::from(wide.bits()) <= bytes * 8 {
            return value;
        }
        let to = self.code.temporary(super::params::register_of(bytes));
        let mut cvt = inst(Op::Cvt, None, to, &[value]);
        cvt.ty = int_type(bytes as u32 * 8, false);
        cvt.ty2 = int_type(wide.bits(), false);
        self.emit(cvt, *origin);
        *origin = Origin::Lowering;
        ir::Operand::lane(to)
    }

    fn put_part(
        &mut self,
        chunks: &[Chunk],
        at: u64,
        bytes: u64,
        value: ir::Operand,
        origin: Origin,
    ) -> Lowering<()> {
        if let [chunk] = chunks {
            if chunk.bytes == bytes {
                let ty = self.code.reg_ty(chunk.reg).ty();
                self.emit(inst(Op::Mov, Some(ty), chunk.reg, &[value]), origin);
                return Ok(());
            }
            // The other parts stay as they are.
            let reg_ty = super::params::register_of(bytes);
            let count = chunk.bytes / bytes;
            let wanted = (at - chunk.offset) / bytes;
            let mut parts: SmallVec<[Option<LaneReg>; 8]> = SmallVec::new();
            for k in 0..count {
                parts.push((k != wanted).then(|| self.code.temporary(reg_ty)));
            }
            let mut unpack = self.packing_of(Op::Unpack, chunk.bytes, bytes)?;
            unpack.results.extend(parts.iter().map(|r| r.map(Reg::Lane)));
            unpack.operands.push(ir::Operand::lane(chunk.reg));
            self.emit(unpack, Origin::Lowering);
            let mut pack = self.packing_of(Op::Pack, chunk.bytes, bytes)?;
            pack.results.push(Some(Reg::Lane(chunk.reg)));
            pack.operands.extend(parts.iter().map(|r| r.map_or(value, ir::Operand::lane)));
            self.emit(pack, origin);
            return Ok(());
        }
        let each = chunks.first().map_or(1, |c| c.bytes);
        let mut unpack = self.packing_of(Op::Unpack, bytes, each)?;
        unpack.results.extend(chunks.iter().map(|c| Some(Reg::Lane(c.reg))));
        unpack.operands.push(value);
        self.emit(unpack, origin);
        Ok(())
    }
}

/// The integer type of a width.
fn int_type(bits: u32, signed: bool) -> Option<ir::Ty> {
    Some(match (bits, signed) {
        (8, false) => ir::Ty::U8,
        (16, false) => ir::Ty::U16,
        (32, false) => ir::Ty::U32,
        (64, false) => ir::Ty::U64,
        (8, true) => ir::Ty::S8,
        (16, true) => ir::Ty::S16,
        (32, true) => ir::Ty::S32,
        (64, true) => ir::Ty::S64,
        _ => return None,
    })
}
