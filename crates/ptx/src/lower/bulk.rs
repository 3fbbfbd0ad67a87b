//! Bulk copies, asynchronous stores, and fences between proxies.

use ir::mods::{Bulk, Flag, Order, Proxy, Scope, Space as IrSpace};
use ir::{Inst, Op, Origin, Reg};

use super::Lowering;
use super::address::Address;
use super::function::Body;
use super::modifiers::{ir_mods, scope};
use crate::ast::{Instruction, Operand, Type};
use crate::spelling::{Kind, Spelled};

impl Body<'_, '_> {
    /// The base, in 64 bits, and offset of an address in a space.
    pub(super) fn bulk_place(
        &mut self,
        operand: &Operand,
        space: IrSpace,
    ) -> Lowering<(ir::Operand, i64)> {
        let Address::Memory { base, offset, space: found } = self.address(operand)? else {
            let message = "asynchronous operations work on `.global` and `.shared`";
            return self.cx.error("ptx::space", message, operand.span, "a parameter is in neither");
        };
        self.access_space(operand, Some(space), found)?;
        if space == IrSpace::Global {
            self.address_width(base, Some(space), operand.span)?;
        }
        Ok((self.zero_extended(base), offset))
    }

    /// The same as one operand.
    pub(super) fn bulk_address(
        &mut self,
        operand: &Operand,
        space: IrSpace,
    ) -> Lowering<ir::Operand> {
        let (base, offset) = self.bulk_place(operand, space)?;
        Ok(match base {
            _ if offset == 0 => base,
            ir::Operand::Symbol(symbol, at) => ir::Operand::Symbol(symbol, at + offset),
            ir::Operand::Imm(at) => {
                ir::Operand::Imm(u128::from((at as u64).wrapping_add_signed(offset)))
            }
            _ => {
                let sum = self.code.temporary(ir::RegTy::B64);
                let mut add = Inst::new(Op::Add).ty(ir::Ty::U64).result(Reg::Lane(sum));
                add.operands.extend([base, ir::Operand::Imm(u128::from(offset as u64))]);
                self.emit(add, Origin::Lowering);
                ir::Operand::lane(sum)
            }
        })
    }

    /// `cp.async.bulk` and `cp.reduce.async.bulk`.
    pub(super) fn bulk(&mut self, s: &Spelled, i: &Instruction) -> Lowering<()> {
        let tree = self.cx.tree;
        let hinted = usize::from(self.has_cache_policy(i));
        let mut words = tree.modifiers[i.modifiers].iter().map(|m| tree.name(m.symbol));
        let spaces = ["global", "shared::cta", "shared::cluster"];
        let (to, from) = (words.find(|w| spaces.contains(w)), words.find(|w| spaces.contains(w)));
        let kind = match (to, from, s.has(Kind::BulkGroup)) {
            (Some("global"), Some("shared::cta"), true) => Bulk::Store,
            (Some("shared::cluster"), Some("shared::cta"), false) => Bulk::Send,
            (Some("shared::cluster" | "shared::cta"), Some("global"), false) => Bulk::Load,
            _ => {
                let message = "a bulk copy does not go from and to these state spaces";
                let label = "first where to, then where from";
                return self.cx.error("ptx::space", message, i.opcode.span, label);
            }
        };
        let masked = s.has(Kind::Multicast) || s.has(Kind::ByteMask);
        let trimmed = s.has(Kind::Trimmed);
        let least = 3 + usize::from(kind != Bulk::Store) + 2 * usize::from(trimmed);
        let most = least + usize::from(masked) + hinted;
        self.count(i, most, most)?;
        let all = &tree.operands[i.operands];
        let (to_space, from_space) = match kind {
            Bulk::Load => (IrSpace::Shared, IrSpace::Global),
            Bulk::Send => (IrSpace::Shared, IrSpace::Shared),
            Bulk::Store => (IrSpace::Global, IrSpace::Shared),
        };
        let mut inst = Inst::new(Op::BulkCopy);
        inst.mods = ir_mods(s, Op::BulkCopy);
        (inst.mods.space, inst.mods.order, inst.mods.scope) = (None, None, None);
        inst.mods.bulk = Some(kind);
        inst.ty = Some(match s.types.first() {
            Some(ty) => self.ir_ty(*ty, i.span)?,
            None => ir::Ty::B8,
        });
        let (base, offset) = self.bulk_place(&all[0], to_space)?;
        inst.operands.push(base);
        inst.offset = offset;
        let from = self.bulk_address(&all[1], from_space)?;
        inst.operands.push(from);
        let size = self.source(&all[2], Type::U32, false)?;
        if let ir::Operand::Imm(bytes) = size
            && !bytes.is_multiple_of(16)
        {
            let message = format!("a bulk copy of {bytes} bytes");
            let label = "a multiple of 16 is needed";
            return self.cx.error("ptx::copy", message, all[2].span, label);
        }
        inst.operands.push(size);
        if kind != Bulk::Store {
            let barrier = self.bulk_address(&all[3 + 2 * usize::from(trimmed)], IrSpace::Shared)?;
            inst.operands.push(barrier);
        }
        if trimmed {
            for end in &all[3..5] {
                let bytes = self.source(end, Type::U32, false)?;
                inst.operands.push(bytes);
            }
            inst.mods.flags = inst.mods.flags.with(Flag::Trimmed);
        }
        if masked {
            let mask = self.source(&all[least], Type::B16, false)?;
            let mask = self.word_of_half(mask);
            // Where there is no barrier, the mask is in its place and of its type.
            let mask = if kind == Bulk::Store { self.zero_extended(mask) } else { mask };
            inst.operands.push(mask);
            let flag = if s.has(Kind::Multicast) { Flag::Multicast } else { Flag::Masked };
            inst.mods.flags = inst.mods.flags.with(flag);
        }
        if hinted != 0 {
            self.source(&all[most - 1], Type::B64, false)?;
        }
        self.emit(inst, Origin::Source);
        Ok(())
    }

    /// A value of 16 bits in 32 bits.
    pub(super) fn word_of_half(&mut self, value: ir::Operand) -> ir::Operand {
        let ir::Operand::Reg(Reg::Lane(reg)) = value else { return value };
        if self.code.reg_ty(reg) != ir::RegTy::B16 {
            return value;
        }
        let wide = self.code.temporary(ir::RegTy::B32);
        let mut inst = Inst::new(Op::Cvt).ty(ir::Ty::U32).result(Reg::Lane(wide)).operand(value);
        inst.ty2 = Some(ir::Ty::U16);
        self.emit(inst, Origin::Lowering);
        ir::Operand::lane(wide)
    }

    /// `cp.async.bulk.commit_group` and `.wait_group`.
    pub(super) fn bulk_group(&mut self, s: &Spelled, i: &Instruction) -> Lowering<()> {
        let waits = s.word(Kind::CopyGroup) == Some("wait_group");
        self.count(i, usize::from(waits), usize::from(waits))?;
        if s.word(Kind::CopyGroup) == Some("wait_all") {
            let message = "bulk copies have no `.wait_all`";
            return self.cx.error("ptx::modifier", message, i.opcode.span, "use `.wait_group 0`");
        }
        let mut inst = Inst::new(if waits { Op::BulkWait } else { Op::BulkCommit });
        if let Some(pending) = self.cx.tree.operands[i.operands].first() {
            let pending = self.immediate(pending)?;
            inst.operands.push(pending);
        }
        if s.has(Kind::ReadOnly) {
            if !waits {
                let message = "only waits have `.read`";
                return self.cx.error("ptx::modifier", message, i.opcode.span, "not possible here");
            }
            inst.mods.flags = inst.mods.flags.with(Flag::Read);
        }
        self.emit(inst, Origin::Source);
        Ok(())
    }

    /// A generic address, also of a shared variable that is named.
    fn generic_place(&mut self, operand: &Operand) -> Lowering<ir::Operand> {
        let Address::Memory { base, offset, space } = self.address(operand)? else {
            let message = "asynchronous stores are to shared memory";
            return self.cx.error("ptx::space", message, operand.span, "a parameter is elsewhere");
        };
        let result = self.code.temporary(ir::RegTy::B64);
        let mut inst = Inst::new(Op::Add).ty(ir::Ty::U64).result(Reg::Lane(result));
        if space == Some(IrSpace::Shared) {
            inst.op = Op::CvtaTo;
            inst.mods.space = space;
            inst.operands.push(self.bulk_address(operand, IrSpace::Shared)?);
        } else {
            self.address_width(base, None, operand.span)?;
            inst.operands.extend([base, ir::Operand::Imm(u128::from(offset as u64))]);
        }
        self.emit(inst, Origin::Lowering);
        Ok(ir::Operand::lane(result))
    }

    /// `st.async` and `red.async`. Without a state space, addresses are generic.
    pub(super) fn async_store(&mut self, s: &Spelled, i: &Instruction) -> Lowering<()> {
        self.count(i, 3, 3)?;
        let all = &self.cx.tree.operands[i.operands];
        let reduces = s.form.opcode == "red";
        let mut inst = Inst::new(if reduces { Op::RedAsync } else { Op::StAsync });
        inst.ty = Some(self.ir_ty(s.ty(), i.span)?);
        inst.mods.atom = ir_mods(s, Op::RedAsync).atom.filter(|_| reduces);
        let named = s.has(Kind::ClusterShared);
        inst.mods.space = named.then_some(IrSpace::Shared);
        let (base, offset) = match named {
            true => self.bulk_place(&all[0], IrSpace::Shared)?,
            false => (self.generic_place(&all[0])?, 0),
        };
        inst.operands.push(base);
        inst.offset = offset;
        let values = self.stored(s, &all[1], false)?;
        let barrier = match named {
            true => self.bulk_address(&all[2], IrSpace::Shared)?,
            false => self.generic_place(&all[2])?,
        };
        inst.operands.push(barrier);
        inst.operands.extend(values);
        self.emit(inst, Origin::Source);
        Ok(())
    }

    /// Fences between proxies, and fences that take effect on some memory alone.
    pub(super) fn proxy_fence(&mut self, s: &Spelled, i: &Instruction) -> Lowering<()> {
        let map = s.has(Kind::MapGeneric);
        if map && s.word(Kind::OneWay) == Some("acquire") {
            self.acquired_map(i)?;
        } else {
            self.count(i, 0, 0)?;
        }
        let mut inst = Inst::new(Op::Fence);
        if map {
            inst.mods.order = s.word(Kind::OneWay).and_then(Order::from_word);
            inst.mods.scope = s.word(Kind::Scope).and_then(scope);
        } else if s.has(Kind::Proxy) {
            inst.mods.proxy = Some(match () {
                () if s.has(Kind::Alias) => Proxy::Alias,
                () if s.has(Kind::GlobalSpace) => Proxy::AsyncGlobal,
                () if s.has(Kind::MbarSpace) || s.has(Kind::SyncRestrict) => Proxy::AsyncShared,
                () => Proxy::Async,
            });
        } else {
            let order = s.word(Kind::OneWay).or(s.word(Kind::ArriveOrder));
            inst.mods.order = order.and_then(Order::from_word);
            inst.mods.scope = Some(Scope::Cluster);
        }
        self.emit(inst, Origin::Source);
        Ok(())
    }
}
