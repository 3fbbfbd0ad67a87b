//! Instructions: guards, forms, and operations with operands in order.

use ir::module::TermKind;
use ir::{Guard, Inst, LocId, Op, Origin, Reg};
use isa::Diagnostic;

use super::function::Body;
use super::modifiers::ir_mods;
use super::names::Found;
use super::operand::Special as SpecialRegister;
use super::{Failed, Lowering};
use crate::ast::{Instruction, Operand, OperandKind, Type};
use crate::spelling::{Arg, Kind, Special, Spelled, Target, Val};

/// The guard and place that an instruction's operations share.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Context {
    pub(super) guard: Option<Guard>,
    pub(super) loc: LocId,
}

impl Body<'_, '_> {
    /// Adds an instruction under the guard of the one being lowered.
    pub(super) fn emit(&mut self, mut inst: Inst, origin: Origin) {
        inst.guard = self.context.guard;
        inst.loc = self.context.loc;
        inst.origin = origin;
        self.code.push(inst);
    }

    /// Ends the block with the place of the instruction being lowered.
    pub(super) fn end(&mut self, kind: TermKind, origin: Origin) {
        self.code.end(kind, origin, self.context.loc);
    }

    pub(super) fn instruction(&mut self, i: &Instruction) -> Lowering<()> {
        let guard = self.guard(i);
        let loc = self.cx.loc(i.span, self.line.clone());
        let spelled = self.cx.spelled(i)?;
        self.context = Context { guard: guard?, loc };
        match spelled.form.target {
            Target::Op(op) => self.operation(op, &spelled, i),
            Target::Special(special) => self.special_form(special, &spelled, i),
        }
    }

    fn guard(&mut self, i: &Instruction) -> Lowering<Option<Guard>> {
        let Some(guard) = i.guard else { return Ok(None) };
        let tree = self.cx.tree;
        let name = guard.register;
        match self.scopes.find(tree, name.symbol) {
            Some(Found::Register(key, Type::Pred, 1, _)) => {
                let pred = self.register(key, 0, Type::Pred, name.symbol);
                Ok(Some(Guard { pred, negated: guard.negated }))
            }
            Some(Found::Register(_, ty, _, declared)) => {
                let text = tree.name(name.symbol);
                let message = format!("the guard `{text}` is declared `.{}`", ty.word());
                let diagnostic = Diagnostic::error("ptx::guard", message)
                    .at(name.span, "a predicate is needed")
                    .also(declared, "declared here");
                Err(self.cx.fail(diagnostic))
            }
            Some(_) => {
                let text = tree.name(name.symbol);
                let message = format!("the guard `{text}` is not a register");
                self.cx.error("ptx::guard", message, name.span, "a predicate is needed")
            }
            None => Err(self.undefined(name.symbol, name.span)),
        }
    }

    fn special_form(&mut self, special: Special, s: &Spelled, i: &Instruction) -> Lowering<()> {
        match special {
            Special::Mov => self.mov(s, i),
            Special::Ld => self.load(s, i),
            Special::St => self.store(s, i),
            Special::Atom => self.atomic(s, i, true),
            Special::Red => self.atomic(s, i, false),
            Special::Carry(op, reads) => self.carry(op, reads, s, i),
            Special::Bra => self.branch(i),
            Special::Brx => self.indexed_branch(i),
            Special::Call => self.call(i),
            Special::Multimem => self.multimem(s, i),
            Special::Copy => self.copy(s, i),
            Special::CopyGroup => self.copy_group(s, i),
            Special::Policy => self.cache_policy_of(s, i),
            Special::Mbarrier => self.mbarrier(s, i),
            Special::Bulk => self.bulk(s, i),
            Special::Tensor => self.tensor(s, i),
            Special::ReplaceField => self.replace_field(s, i),
            Special::CopyMap => self.copy_map(s, i),
            Special::AsyncStore => self.async_store(s, i),
            Special::Texture => self.texture(s, i),
            Special::TextureQuery => self.texture_query(s, i),
            Special::Surface => self.surface(s, i),
            Special::ProxyFence => self.proxy_fence(s, i),
            Special::Video => self.video(s, i),
            Special::Mma => self.mma(s, i),
            Special::LdMatrix | Special::StMatrix => self.tiles(s, i),
            Special::WmmaLoad | Special::WmmaStore => self.fragment_access(s, i),
            Special::Wgmma => self.warp_group(s, i),
            Special::Ret => self.ret(i),
            Special::Exit => {
                self.count(i, 0, 0)?;
                let guard = self.context.guard;
                self.end(TermKind::Exit(guard), Origin::Source);
                Ok(())
            }
            Special::RegisterCount => self.register_count(i),
            Special::Nop => {
                self.emit(Inst::new(Op::Nop), Origin::Source);
                Ok(())
            }
        }
    }

    /// `setmaxnreg`: the number is checked, and registers are as many as the kernel names.
    fn register_count(&mut self, i: &Instruction) -> Lowering<()> {
        self.count(i, 1, 1)?;
        let operand = &self.cx.tree.operands[i.operands][0];
        let possible = |count: u128| (24..=256).contains(&count) && count.is_multiple_of(8);
        match self.source(operand, Type::U32, false)? {
            ir::Operand::Imm(count) if possible(count) => {
                self.emit(Inst::new(Op::Nop), Origin::Source);
                Ok(())
            }
            _ => {
                let message = "a number of registers is a constant from 24 to 256, a multiple of 8";
                self.cx.error("ptx::constant-range", message, operand.span, "another number")
            }
        }
    }

    /// Checks the number of operands.
    pub(super) fn count(&mut self, i: &Instruction, least: usize, most: usize) -> Lowering<()> {
        let given = i.operands.len();
        if (least..=most).contains(&given) {
            return Ok(());
        }
        let text = self.cx.spelling_of(i);
        let takes = match (least, most) {
            (0, 0) => "no operands".to_owned(),
            (1, 1) => "1 operand".to_owned(),
            _ if least == most => format!("{least} operands"),
            _ => format!("{least} to {most} operands"),
        };
        let message = format!("`{text}` takes {takes}, {given} given");
        let label = if given < least { "some missing" } else { "too many" };
        self.cx.error("ptx::operand-count", message, i.span, label)
    }

    /// The type that a value of a form has.
    pub(super) fn value_ty(s: &Spelled, val: Val) -> Type {
        match val {
            Val::T => s.ty(),
            Val::T2 => s.types.get(1).copied().unwrap_or(Type::B32),
            Val::Wide => match s.ty() {
                Type::U16 => Type::U32,
                Type::S16 => Type::S32,
                Type::S32 => Type::S64,
                _ => Type::U64,
            },
            Val::P | Val::PNot => Type::Pred,
            Val::B32 | Val::Imm => Type::U32,
            Val::B64 => Type::U64,
        }
    }

    /// An operation with operands in order.
    fn operation(&mut self, op: Op, s: &Spelled, i: &Instruction) -> Lowering<()> {
        let tree = self.cx.tree;
        let args = s.form.args;
        let optional = args.iter().filter(|a| matches!(a, Arg::O(_))).count();
        self.count(i, args.len() - optional, args.len())?;
        let mut spare = i.operands.len() + optional - args.len();
        let mut inst = Inst::new(op);
        inst.mods = ir_mods(s, op);
        self.types(&mut inst, s);
        let mut given = tree.operands[i.operands].iter();
        let mut wrong = false;
        for arg in args {
            if matches!(arg, Arg::O(_)) {
                if spare == 0 {
                    continue;
                }
                spare -= 1;
            }
            let Some(operand) = given.next() else { break };
            // All operands are checked, so that every error is found.
            wrong |= self.argument(&mut inst, s, *arg, operand).is_err();
        }
        if wrong {
            return Err(Failed);
        }
        self.arguments_rules(&mut inst, i)?;
        let own = matches!(s.word(Kind::Space), Some("shared" | "shared::cta"));
        if op == Op::IsSpace && own && self.cx.has_clusters() {
            self.own_shared(inst);
            return Ok(());
        }
        self.emit(inst, Origin::Source);
        Ok(())
    }

    /// Whether an address is in the shared memory of the CTA itself: in the window, and of its
    /// rank.
    fn own_shared(&mut self, mut inst: Inst) {
        let (result, address) = (inst.results.clone(), inst.operands[0]);
        let [window, own] = std::array::from_fn(|_| self.code.temporary(ir::RegTy::Pred));
        let [found, rank] = std::array::from_fn(|_| self.code.temporary(ir::RegTy::B32));
        inst.results = smallvec::smallvec![Some(Reg::Lane(window))];
        self.emit(inst, Origin::Source);
        let found_rank = Inst::new(Op::CtaRank).ty(ir::Ty::U64).result(Reg::Lane(found));
        self.emit(found_rank.operand(address), Origin::Lowering);
        let own_rank = Inst::new(Op::Sreg).ty(ir::Ty::U32).result(Reg::Lane(rank));
        let register = ir::Operand::Sreg(ir::Sreg::ClusterCtaRank);
        self.emit(own_rank.operand(register), Origin::Lowering);
        let mut same = Inst::new(Op::Setp).ty(ir::Ty::U32).result(Reg::Lane(own));
        same.mods.cmp = Some(ir::mods::Cmp::Eq);
        same.operands.extend([ir::Operand::lane(found), ir::Operand::lane(rank)]);
        self.emit(same, Origin::Lowering);
        let mut both = Inst::new(Op::And).ty(ir::Ty::Pred);
        both.results = result;
        both.operands.extend([ir::Operand::lane(window), ir::Operand::lane(own)]);
        self.emit(both, Origin::Lowering);
    }

    fn types(&self, inst: &mut Inst, s: &Spelled) {
        let row = inst.op.info();
        let ty = |index: usize| s.types.get(index).and_then(|t| ir::Ty::from_name(t.word()));
        let (first, second) = if inst.op == Op::Set { (ty(1), ty(0)) } else { (ty(0), ty(1)) };
        inst.ty = s.form.ir_ty.or(first).filter(|_| !row.types.is_empty());
        inst.ty2 = second.filter(|_| !row.types2.is_empty());
    }

    fn argument(
        &mut self,
        inst: &mut Inst,
        s: &Spelled,
        arg: Arg,
        operand: &Operand,
    ) -> Lowering<()> {
        let wider = inst.op == Op::Cvt;
        let lane = |reg: Option<ir::LaneReg>| reg.map(Reg::Lane);
        match arg {
            Arg::D(val) | Arg::Ds(val) => {
                let ty = Self::value_ty(s, val);
                let reg = self.destination(operand, ty, wider, matches!(arg, Arg::Ds(_)))?;
                inst.results.push(lane(reg));
            }
            Arg::Dp(val) | Arg::Dpp(val) => {
                let ty = Self::value_ty(s, val);
                let (first, second) = self.pair(operand, ty, matches!(arg, Arg::Dpp(_)))?;
                inst.results.push(lane(first));
                if let Some(second) = second {
                    inst.results.push(lane(second));
                }
            }
            Arg::S(val) | Arg::O(val) => {
                let value = match val {
                    Val::Imm => self.immediate(operand)?,
                    Val::T2 if mixed(inst.op, s) => self.widened(s, operand)?,
                    _ => self.value(operand, Self::value_ty(s, val), val, wider)?,
                };
                inst.operands.push(value);
            }
            Arg::A | Arg::V | Arg::Any | Arg::Rest => {}
        }
        Ok(())
    }

    /// The half-precision operand of an operation in single precision: converting it is exact.
    fn widened(&mut self, s: &Spelled, operand: &Operand) -> Lowering<ir::Operand> {
        let narrow = self.value(operand, s.source_ty(), Val::T2, false)?;
        let wide = self.code.temporary(super::function::register_ty(s.ty()));
        let mut inst = Inst::new(Op::Cvt).result(Reg::Lane(wide)).operand(narrow);
        inst.ty = ir::Ty::from_name(s.ty().word());
        inst.ty2 = ir::Ty::from_name(s.source_ty().word());
        self.emit(inst, Origin::Lowering);
        Ok(ir::Operand::lane(wide))
    }

    pub(super) fn value(
        &mut self,
        operand: &Operand,
        ty: Type,
        val: Val,
        wider: bool,
    ) -> Lowering<ir::Operand> {
        if matches!(operand.kind, OperandKind::Not(_)) && val != Val::PNot {
            let message = "this operand cannot be complemented";
            return self.cx.error("ptx::operand", message, operand.span, "remove the `!`");
        }
        // Conversions read special registers.
        if wider
            && let Some((special, from)) = self.special(operand)
            && self.scopes_do_not_have(operand)
        {
            return self.special_value(special, from, ty, operand);
        }
        self.source(operand, ty, wider)
    }

    /// Returns whether an operand's name is not declared in the function.
    pub(super) fn scopes_do_not_have(&self, operand: &Operand) -> bool {
        match operand.kind {
            OperandKind::Name(name) | OperandKind::Member(name, _) => {
                self.scopes.find(self.cx.tree, name).is_none()
            }
            _ => false,
        }
    }

    /// A special register as an operand, by way of a register.
    fn special_value(
        &mut self,
        special: SpecialRegister,
        from: Type,
        ty: Type,
        operand: &Operand,
    ) -> Lowering<ir::Operand> {
        if from.bits() < ty.bits() {
            return Err(self.not_a_value(operand));
        }
        match special {
            SpecialRegister::Constant(value) => Ok(ir::Operand::Imm(value.into())),
            SpecialRegister::Register(sreg) => {
                let reg_ty = super::function::register_ty(from);
                let reg = self.code.temporary(reg_ty);
                let mut inst = Inst::new(Op::Sreg).result(Reg::Lane(reg));
                inst.ty = Some(reg_ty.ty());
                inst.operands.push(ir::Operand::Sreg(sreg));
                self.emit(inst, Origin::Lowering);
                Ok(ir::Operand::lane(reg))
            }
        }
    }

    pub(super) fn immediate(&mut self, operand: &Operand) -> Lowering<ir::Operand> {
        match self.source(operand, Type::U32, false)? {
            imm @ ir::Operand::Imm(_) => Ok(imm),
            _ => {
                let message = "a constant is needed here";
                self.cx.error("ptx::operand", message, operand.span, "not a constant")
            }
        }
    }

    /// Checks the operands of particular operations beyond their types.
    fn arguments_rules(&mut self, inst: &mut Inst, i: &Instruction) -> Lowering<()> {
        let tree = self.cx.tree;
        let span_of = |from_end: usize| {
            let all = &tree.operands[i.operands];
            all.len().checked_sub(from_end).and_then(|k| all.get(k)).map_or(i.span, |o| o.span)
        };
        match inst.op {
            Op::Lop3 => {
                // The assembler takes the low 8 bits.
                if let Some(ir::Operand::Imm(table)) = inst.operands.get_mut(3) {
                    *table &= 0xff;
                }
            }
            Op::Bar => {
                if let Some(&ir::Operand::Imm(barrier)) = inst.operands.first()
                    && barrier > 15
                {
                    let message = format!("there is no barrier {barrier}");
                    let at = span_of(i.operands.len().saturating_sub(inst.results.len()));
                    return self.cx.error("ptx::barrier", message, at, "barriers are 0 to 15");
                }
                let counts = inst.operand_slot(1) == Some(ir::op::Slot::B32);
                if let Some(&ir::Operand::Imm(threads)) = inst.operands.get(1).filter(|_| counts)
                    && (threads == 0 || threads % 32 != 0)
                {
                    let message = format!("a barrier of {threads} threads");
                    let label = "whole warps are needed: a multiple of 32";
                    return self.cx.error("ptx::barrier", message, i.span, label);
                }
            }
            Op::Alloca => {
                if inst.operands.len() == 1 {
                    inst.operands.push(ir::Operand::Imm(8));
                }
                let aligned =
                    matches!(inst.operands[1], ir::Operand::Imm(a) if a.is_power_of_two());
                if !aligned {
                    let message = "an alignment must be a power of two";
                    return self.cx.error("ptx::alignment", message, span_of(1), "not one");
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Additions with carry: the flag is a predicate of the function. A difference adds the
    /// complement, so one that reads no flag has a carry in.
    fn carry(&mut self, op: Op, reads: bool, s: &Spelled, i: &Instruction) -> Lowering<()> {
        let tree = self.cx.tree;
        self.count(i, s.form.args.len(), s.form.args.len())?;
        let flag = match self.carry {
            Some(flag) => flag,
            None => self.code.register("cc".to_owned(), ir::RegTy::Pred),
        };
        self.carry = Some(flag);
        let mut inst = Inst::new(op);
        inst.ty = ir::Ty::from_name(s.ty().word());
        for (arg, operand) in s.form.args.iter().zip(&tree.operands[i.operands]) {
            self.argument(&mut inst, s, *arg, operand)?;
        }
        inst.results.push(s.has(Kind::Carry).then_some(Reg::Lane(flag)));
        let first = ir::Operand::Imm(u128::from(op == Op::SubCarry));
        inst.operands.push(if reads { ir::Operand::lane(flag) } else { first });
        self.emit(inst, Origin::Source);
        Ok(())
    }
}

/// Returns whether an operation of one type is written with a second one, for operands that are
/// converted first.
fn mixed(op: Op, s: &Spelled) -> bool {
    s.types.len() == 2 && op.info().types2.is_empty()
}
