//! Rules of functions and of the ends of blocks: V5 to V12.

use super::{
    At, Checker, MAX_BLOCKS, MAX_FRAME_BYTES, MAX_PARAM_BYTES, MAX_REGS, MAX_SPILL_SLOTS, Place,
    Violation,
};
use crate::module::{
    BlockId, FuncId, Function, Guard, LaneReg, LaunchBounds, LocId, MaskRef, Operand, Param, Reg,
    Signature, Term, TermKind,
};
use crate::ty::{RegTy, Ty};
use rustc_hash::FxHashSet;

impl Checker<'_> {
    pub(super) fn function(&mut self, id: FuncId, function: &Function) {
        let at = At { function, place: Place::Function(id), loc: function.loc };
        self.loc(&at);
        self.param_names(at.place, &function.signature);
        match &function.signature {
            Signature::Kernel { params, bounds } => self.kernel(&at, params, *bounds),
            Signature::Device { params, results } => self.device(&at, params, results),
        }
        self.locals(&at);
        self.limits(&at);
        for (index, info) in function.regs.iter().enumerate() {
            let holds = info.ty != RegTy::Mask;
            self.check(&at, holds, || Violation::RegisterType { index });
        }
        match function.blocks.last() {
            None => self.report(&at, Violation::NoEntry),
            Some(last) if last.term.falls() => {
                let place = Place::End(id, BlockId(function.blocks.len() as u32 - 1));
                // A fall-through that is not written has no place of its own.
                let written = last.insts.last().map_or(function.loc, |i| i.loc);
                let loc = if last.term.loc == LocId(0) { written } else { last.term.loc };
                self.report(&At { function, place, loc }, Violation::FallsOff);
            }
            Some(_) => {}
        }
    }

    fn limits(&mut self, at: &At<'_>) {
        let f = at.function;
        for (what, count, limit) in [
            ("per-lane registers", f.regs.len(), MAX_REGS),
            ("warp registers", f.warp_regs.len(), MAX_REGS),
            ("blocks", f.blocks.len(), MAX_BLOCKS),
            ("spill slots", f.spill_slots as usize, MAX_SPILL_SLOTS as usize),
        ] {
            self.check(at, count <= limit, || Violation::Limit { what, count, limit });
        }
    }

    fn device(&mut self, at: &At<'_>, params: &[LaneReg], results: &[LaneReg]) {
        let mut seen = FxHashSet::default();
        let params = params.iter().map(|r| ("parameter", r));
        let results = results.iter().map(|r| ("result", r));
        for (index, (what, reg)) in params.enumerate().chain(results.enumerate()) {
            let why = "is not a register of it";
            let known = reg.index() < at.function.regs.len();
            self.check(at, known, || Violation::Signature { what, index, why });
            if what == "parameter" {
                let why = "is the same register as another";
                let fresh = seen.insert(*reg);
                self.check(at, fresh, || Violation::Signature { what, index, why });
            }
        }
    }

    fn kernel(&mut self, at: &At<'_>, params: &[Param], bounds: LaunchBounds) {
        let sizes = [bounds.max, bounds.required, bounds.cluster];
        let mut dimensions = sizes.iter().flatten().flatten().chain(&bounds.max_cluster);
        self.check(at, dimensions.all(|&d| d > 0), || Violation::Bounds);
        let mut end = 0;
        for (index, p) in params.iter().enumerate() {
            let scalar_size = p.ty == Ty::B8 || p.size == p.ty.bytes();
            let wide = matches!(p.ty.bits(), 32 | 64) && p.ty != Ty::Mask;
            let no_param = matches!(p.ty, Ty::Pred | Ty::Mask);
            let problems = [
                layout(&mut end, p.offset, p.size, p.align, MAX_PARAM_BYTES),
                (!scalar_size).then_some("has another size than its type"),
                (p.pointer.is_some() && !wide).then_some("is a pointer but has not 32 or 64 bits"),
                no_param.then_some("has a type that memory cannot hold"),
            ];
            for why in problems.into_iter().flatten() {
                self.report(at, Violation::Parameter { index, why });
            }
        }
    }

    fn locals(&mut self, at: &At<'_>) {
        let mut end = 0;
        for (index, l) in at.function.locals.iter().enumerate() {
            if let Some(why) = layout(&mut end, l.offset, l.size, l.align, MAX_FRAME_BYTES) {
                self.report(at, Violation::Local { index, why });
            }
        }
    }

    /// The end of a block.
    pub(super) fn end(&mut self, at: &At<'_>, _block: BlockId, term: &Term) {
        self.loc(at);
        for &target in term.targets() {
            let known = target.index() < at.function.blocks.len();
            self.check(at, known, || Violation::NoSuchBlock { target });
        }
        match &term.kind {
            TermKind::Fall | TermKind::Br(_) | TermKind::Ret(None) | TermKind::Exit(None) => {}
            TermKind::CondBr(guard, _)
            | TermKind::Ret(Some(guard))
            | TermKind::Exit(Some(guard)) => {
                self.guard_reg(at, *guard);
            }
            TermKind::Switch(index, targets) => {
                self.check(at, !targets.is_empty(), || Violation::EmptySwitch);
                match index {
                    Operand::Reg(_) | Operand::Imm(_) => self.value(at, 0, *index, Ty::B32, false),
                    _ => {
                        let expected = "a register or an immediate";
                        self.report(at, Violation::OperandKind { index: 0, expected });
                    }
                }
            }
            TermKind::MaskBr(_, MaskRef::Exec, _) => {}
            TermKind::MaskBr(_, MaskRef::Reg(reg), _) => {
                self.value(at, 0, Operand::warp(*reg), Ty::Mask, false);
            }
            TermKind::MaskBr(_, MaskRef::Pred(reg), _) => {
                self.value(at, 0, Operand::lane(*reg), Ty::Pred, false);
            }
        }
    }

    /// A guard's register.
    pub(super) fn guard_reg(&mut self, at: &At<'_>, guard: Guard) {
        let reg = Reg::Lane(guard.pred);
        match at.reg_ty(reg) {
            None => self.report(at, Violation::NoSuchRegister { reg }),
            Some(ty) => self.check(at, ty == RegTy::Pred, || Violation::GuardType),
        }
    }
}

/// What is wrong with something placed after `end`, which is moved behind it.
fn layout(end: &mut u32, offset: u32, size: u32, align: u32, most: u32) -> Option<&'static str> {
    let before = std::mem::replace(end, offset.saturating_add(size));
    if !align.is_power_of_two() {
        Some("is not aligned to a power of two")
    } else if !offset.is_multiple_of(align) {
        Some("does not lie at a multiple of its alignment")
    } else if offset < before {
        Some("overlaps the one before it")
    } else if size == 0 {
        Some("is empty")
    } else if *end > most {
        Some("lies beyond the limit")
    } else {
        None
    }
}
