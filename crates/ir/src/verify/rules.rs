//! Rules of particular operations and modifiers: V16, V17, V20, V23, V25.

use super::inst::holds;
use super::{At, BARRIERS, Checker, Violation};
use crate::mods::{AtomOp, Barrier, Cmp, Flag, Kind, Mods, Precision, Rounding, Vote};
use crate::module::{FuncId, Inst, Operand, Signature};
use crate::op::{Class, Op};
use crate::ty::{BITS, FLOAT, HALF, INT, INT32, PAIR, RegTy, Ty};

/// Types in which only floating-point values are stored, beside those that arithmetic works on.
fn is_float(ty: Ty) -> bool {
    let storage = matches!(ty, Ty::Tf32 | Ty::E4m3 | Ty::E5m2 | Ty::E4m3x2 | Ty::E5m2x2);
    FLOAT.or(PAIR).has(ty) || storage
}

impl Checker<'_> {
    pub(super) fn modifiers(&mut self, at: &At<'_>, inst: &Inst) {
        let row = inst.op.info();
        let op = row.name;
        for &kind in Kind::ALL {
            match inst.mods.word(kind) {
                None if row.required.has(kind) => {
                    let what = kind.what();
                    self.report(at, Violation::ModifierMissing { op, what });
                }
                Some(word) if !row.kinds.has(kind) => {
                    self.report(at, Violation::ModifierNotTaken { op, word });
                }
                _ => {}
            }
        }
        for flag in inst.mods.flags.iter().filter(|&f| !row.flags.has(f)) {
            let word = flag.word();
            self.report(at, Violation::ModifierNotTaken { op, word });
        }
        if let Some(word) = refused_word(inst) {
            self.report(at, Violation::ModifierNotTaken { op, word });
        }
        if let (Some(ty), Some(word)) = (inst.ty, ill_typed_word(inst)) {
            self.report(at, Violation::ModifierType { word, ty });
        }
    }

    pub(super) fn op_rules(&mut self, at: &At<'_>, inst: &Inst) {
        if let Some(why) = parts(inst) {
            self.report(at, Violation::Parts { why });
        }
        if let Some((index, what)) = narrow_immediate(inst) {
            let Operand::Imm(value) = inst.operands[index] else { return };
            self.report(at, Violation::Immediate { index, value, what: what.to_owned() });
        }
        match inst.op {
            Op::Call | Op::CallInd => self.call(at, inst),
            Op::Bar => self.barrier(at, inst),
            Op::Ld => self.loaded(at, inst),
            Op::PredSpill | Op::PredFill => {
                if let Some(&Operand::Imm(slot)) = inst.operands.first() {
                    let slots = at.function.spill_slots;
                    let known = slot < u128::from(slots);
                    self.check(at, known, || Violation::SpillSlot { slot, slots });
                }
            }
            _ => {}
        }
    }

    /// The registers of a vector have one type: values are extended to its width.
    fn loaded(&mut self, at: &At<'_>, inst: &Inst) {
        let mut types = inst.results.iter().flatten().filter_map(|&reg| at.reg_ty(reg));
        if let Some(first) = types.next() {
            let why = "the registers of a vector have different types";
            self.check(at, types.all(|ty| ty == first), || Violation::Parts { why });
        }
    }

    /// A reduction gives a count or a predicate.
    fn barrier(&mut self, at: &At<'_>, inst: &Inst) {
        let Some(&Some(reg)) = inst.results.first() else { return };
        let ty = match inst.mods.barrier {
            Some(Barrier::RedPopc) => Ty::B32,
            Some(Barrier::RedAnd | Barrier::RedOr) => Ty::Pred,
            _ => return,
        };
        if let Some(found) = at.reg_ty(reg) {
            let fits = found == ty.reg();
            self.check(at, fits, || Violation::ResultType { index: 0, ty, found });
        }
    }

    fn call(&mut self, at: &At<'_>, inst: &Inst) {
        match inst.operands.first() {
            Some(Operand::Func(id)) => self.direct_call(at, inst, *id),
            _ => self.indirect_call(at, inst),
        }
    }

    fn direct_call(&mut self, at: &At<'_>, inst: &Inst, id: FuncId) {
        let Some(callee) = self.module.functions.get(id.index()) else {
            return self.report(at, Violation::Call { why: "there is no such function" });
        };
        let Signature::Device { params, results } = &callee.signature else {
            return self.report(at, Violation::Call { why: "a kernel cannot be called" });
        };
        let arguments = inst.operands.len() - 1;
        let why = "the number of arguments is not the function's";
        self.check(at, arguments == params.len(), || Violation::Call { why });
        let why = "the number of results is not the function's";
        self.check(at, inst.results.len() == results.len(), || Violation::Call { why });
        let ty_of = |reg: &crate::LaneReg| callee.regs.get(reg.index()).map(|i| i.ty);
        for (i, ty) in params.iter().map(ty_of).enumerate() {
            if let (Some(ty), Some(&operand)) = (ty, inst.operands.get(i + 1)) {
                self.argument(at, i + 1, operand, ty);
            }
        }
        for (index, ty) in results.iter().map(ty_of).enumerate() {
            let found = inst.results.get(index).copied().flatten().and_then(|r| at.reg_ty(r));
            let alike = found.is_none() || ty.is_none() || found == ty;
            self.check(at, alike, || Violation::CallResultType { index });
        }
    }

    fn argument(&mut self, at: &At<'_>, index: usize, operand: Operand, ty: RegTy) {
        match operand {
            Operand::Reg(reg) => {
                let alike = at.reg_ty(reg).is_none_or(|found| holds(found, ty.ty(), false));
                self.check(at, alike, || Violation::ArgumentType { index });
            }
            _ => self.value(at, index, operand, ty.ty(), false),
        }
    }

    fn indirect_call(&mut self, at: &At<'_>, inst: &Inst) {
        for (index, &operand) in inst.operands.iter().enumerate().skip(1) {
            let mask = |reg| at.reg_ty(reg) == Some(RegTy::Mask);
            match operand {
                Operand::Reg(reg) if mask(reg) => {
                    self.report(at, Violation::ArgumentType { index });
                }
                Operand::Symbol(symbol, _) => self.symbol(at, index, symbol),
                _ => {}
            }
        }
    }
}

/// A modifier that the row's kind has but the operation cannot use.
fn refused_word(inst: &Inst) -> Option<&'static str> {
    let Mods { rounding, precision, vote, atom, .. } = inst.mods;
    let only_cvt = |r: &Rounding| {
        matches!(r, Rounding::Rna | Rounding::Rni | Rounding::Rzi | Rounding::Rmi | Rounding::Rpi)
    };
    let rounding = rounding.filter(|r| inst.op != Op::Cvt && only_cvt(r)).map(Rounding::word);
    // What is approximate is not rounded in one way or another.
    let rounding =
        rounding.or(inst.mods.rounding.filter(|_| precision.is_some()).map(Rounding::word));
    let vote = vote.filter(|&v| v == Vote::Ballot).map(Vote::word);
    let exchange = |a: &AtomOp| matches!(a, AtomOp::Exch | AtomOp::Cas | AtomOp::Inc | AtomOp::Dec);
    let reduces = matches!(inst.op, Op::Redux | Op::AtomVec);
    let atom = atom.filter(|a| reduces && exchange(a)).map(AtomOp::word);
    rounding.or(vote).or(atom)
}

/// A modifier that does not go with the instruction's types.
fn ill_typed_word(inst: &Inst) -> Option<&'static str> {
    let ty = inst.ty?;
    let mods = &inst.mods;
    if matches!(inst.op, Op::Mma | Op::Wgmma | Op::WgmmaReg) {
        // Its type is that of registers; what they hold is `elements`.
        return crate::matrix::ill_typed_word(mods);
    }
    let float = is_float(ty) || inst.ty2.is_some_and(is_float);
    if let Some(rounding) = mods.rounding.filter(|_| !float) {
        return Some(rounding.word());
    }
    let exact = |p: &Precision| !float || !approximates(inst.op, *p, ty);
    if let Some(precision) = mods.precision.filter(exact) {
        return Some(precision.word());
    }
    let float_flags = [Flag::Ftz, Flag::Nan, Flag::Relu, Flag::XorSignAbs, Flag::SatFinite];
    // PTX clamps minima and maxima of some signed integers at zero, too.
    let clamps = matches!(inst.op, Op::Min | Op::Max) && matches!(ty, Ty::S32 | Ty::S16x2);
    let fits = |f: Flag| float || f == Flag::Relu && clamps;
    if let Some(flag) = float_flags.into_iter().find(|&f| mods.flags.has(f) && !fits(f)) {
        return Some(flag.word());
    }
    let converts = matches!(inst.op, Op::Cvt | Op::CvtPack);
    let saturates =
        converts || ty == Ty::S32 || (is_float(ty) && !matches!(ty, Ty::F64 | Ty::F32x2));
    if mods.flags.has(Flag::Sat) && !saturates {
        return Some(Flag::Sat.word());
    }
    if let Some(cmp) = mods.cmp.filter(|&c| !compares(c, ty)) {
        return Some(cmp.word());
    }
    mods.atom.filter(|&a| !combines(inst.op, a, ty)).map(AtomOp::word)
}

/// Whether values of a type can be compared so.
fn compares(cmp: Cmp, ty: Ty) -> bool {
    let unsigned = INT.has(ty) && !ty.is_signed();
    match cmp {
        Cmp::Eq | Cmp::Ne => true,
        Cmp::Lt | Cmp::Le | Cmp::Gt | Cmp::Ge => !BITS.has(ty),
        Cmp::Lo | Cmp::Ls | Cmp::Hi | Cmp::Hs => unsigned,
        Cmp::Equ | Cmp::Neu | Cmp::Ltu | Cmp::Leu | Cmp::Gtu | Cmp::Geu | Cmp::Num | Cmp::Nan => {
            is_float(ty)
        }
    }
}

/// Whether values of a type can be combined so, as the PTX ISA has it for `atom` and `redux`.
fn combines(op: Op, atom: AtomOp, ty: Ty) -> bool {
    let integer = INT32.has(ty);
    match atom {
        AtomOp::Add => integer || FLOAT.has(ty),
        AtomOp::Min | AtomOp::Max => integer || HALF.has(ty) || op == Op::Redux && ty == Ty::F32,
        AtomOp::And | AtomOp::Or | AtomOp::Xor => matches!(ty, Ty::B32 | Ty::B64),
        AtomOp::Exch | AtomOp::Cas => BITS.has(ty) || ty == Ty::B128,
        AtomOp::Inc | AtomOp::Dec => ty == Ty::U32,
    }
}

/// Whether an approximation of this kind exists.
fn approximates(op: Op, precision: Precision, ty: Ty) -> bool {
    let single = ty == Ty::F32 || HALF.has(ty);
    match precision {
        Precision::Approx => single || matches!(op, Op::Rcp | Op::Rsqrt),
        Precision::Full => single && op == Op::Div,
    }
}

/// What does not add up in an instruction whose counts its row allows.
fn parts(inst: &Inst) -> Option<&'static str> {
    let (results, operands) = (inst.results.len(), inst.operands.len());
    let width = |n: usize, ty: Option<Ty>| ty.map_or(0, |t| n as u64 * u64::from(t.bits()));
    let whole = inst.ty.map_or(0, Ty::bits).into();
    let no_members = inst.mods.flags.has(Flag::NoMask);
    let vector = |n: usize| matches!(n, 1 | 2 | 4 | 8) && width(n, inst.ty) <= 256;
    let says = |holds: bool, why: &'static str| (!holds).then_some(why);
    match inst.op {
        Op::Pack => says(width(operands, inst.ty2) == whole, "the parts do not make up the whole"),
        Op::Unpack => says(width(results, inst.ty2) == whole, "the parts do not make up the whole"),
        Op::Ld => says(vector(results), "a vector has 1, 2, 4 or 8 elements and at most 256 bits"),
        Op::St => {
            let elements = operands.saturating_sub(1);
            says(vector(elements), "a vector has 1, 2, 4 or 8 elements and at most 256 bits")
        }
        Op::AtomVec => {
            let elements = operands.saturating_sub(1);
            let fits = vector(elements) && (results == 0 || results == elements);
            says(fits, "a vector has 1, 2, 4 or 8 elements, and as many results or none")
        }
        Op::Atom => {
            let cas = inst.mods.atom == Some(AtomOp::Cas);
            says((operands == 3) == cas, "`cas` takes two values, the others one")
        }
        Op::Shfl => says((operands == 3) == no_members, "a member mask or `nomask`, not both"),
        Op::Vote | Op::Ballot => {
            says((operands == 1) == no_members, "a member mask or `nomask`, not both")
        }
        Op::Match => {
            let all = inst.mods.flags.has(Flag::All);
            says(all || results == 1, "only `all_equal` gives a predicate")
        }
        Op::Lop3 => {
            let combines = inst.mods.bool_op.is_some();
            let fits = combines == (operands == 5) && combines == (results == 2);
            says(fits, "a predicate result, a predicate operand and how they combine go together")
        }
        Op::Setp | Op::Set => {
            let fits = inst.mods.bool_op.is_some() == (operands == 3);
            says(fits, "a predicate operand and how it combines go together")
        }
        Op::Cvt => {
            let pair = |ty| matches!(ty, Some(Ty::F16x2 | Ty::Bf16x2 | Ty::E4m3x2 | Ty::E5m2x2));
            let fits = match operands {
                2 => pair(inst.ty) && !pair(inst.ty2),
                _ => pair(inst.ty) == pair(inst.ty2),
            };
            says(
                fits,
                "a packed pair is made of two values or of another pair, and makes another pair only",
            )
        }
        Op::Min | Op::Max => says(
            operands == 2 || inst.ty == Some(Ty::F32),
            "only of f32 there is one of three operands",
        ),
        Op::Mma
        | Op::LdMatrix
        | Op::StMatrix
        | Op::WmmaLoad
        | Op::WmmaStore
        | Op::Wgmma
        | Op::WgmmaReg => crate::matrix::parts(inst),
        Op::Tex | Op::TexGather | Op::TexQuery | Op::SurfLoad | Op::SurfStore | Op::SurfReduce => {
            crate::texture::parts(inst)
        }
        Op::Bar => barrier_parts(inst.mods.barrier?, results, operands),
        _ => None,
    }
}

fn barrier_parts(barrier: Barrier, results: usize, operands: usize) -> Option<&'static str> {
    let why = match barrier {
        Barrier::Sync if results > 0 || operands > 2 => {
            "`sync` gives nothing and takes no predicate"
        }
        Barrier::Arrive if results > 0 || operands != 2 => {
            "`arrive` gives nothing and takes a count"
        }
        b if b.reduces() && operands < 2 => "a reduction takes a predicate",
        _ => return None,
    };
    Some(why)
}

/// An immediate that must be smaller than its slot allows: its index and what it does not fit.
fn narrow_immediate(inst: &Inst) -> Option<(usize, &'static str)> {
    let (index, most, what) = match inst.op {
        Op::Lop3 => (3, 0xff, "a truth table of 8 bits"),
        Op::Bar => (0, BARRIERS - 1, "a CTA barrier: there are 16"),
        _ if inst.op.info().class == Class::Converge => {
            (0, 0xffff, "a convergence barrier's 16 bits")
        }
        Op::Alloca => {
            let &Operand::Imm(align) = inst.operands.get(1)? else { return None };
            return (!align.is_power_of_two()).then_some((1, "an alignment: a power of two"));
        }
        _ => return None,
    };
    let &Operand::Imm(value) = inst.operands.get(index)? else { return None };
    (value > most).then_some((index, what))
}
