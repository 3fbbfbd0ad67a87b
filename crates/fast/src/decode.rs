//! Decodes a linked kernel and the facts about its values to steps.

use crate::Declined;
use crate::code::{
    AsyncOp, AsyncStore, Asynchronous, Atomic, Block, Bulk as Fragments, Code, Collective, Copy,
    Direct, Dst, End, Generic, Guard, Kind, Memory, Print, Rejoin, SaveFrame, Src, Step, Texture,
};
use crate::frames::StackBytes;
use crate::inline::{Inlined, Part, Sort};
use crate::ops::{Native, Op64, native, rare};
use crate::storage::Storage;
use converge::plan::Rejoin as Planned;
use flow::analysis::{Facts, Options, Shape};
use flow::footprint::Footprints;
use flow::kernel::graph_of;
use ir::mods::{Barrier, Bulk, Flag, Order, Scope, Space};
use ir::module::TermKind;
use ir::op::Class;
use ir::{Function, Inst, Op, Operand, Reg, Sreg, Symbol, Ty};
use simt::Pc;
use std::cell::OnceCell;
use std::collections::HashMap;
use vm::{Program, Setup};

/// Decodes the kernel of a launch.
pub(crate) fn decode(program: &Program, setup: &Setup<'_>, assume: bool) -> Result<Code, Declined> {
    for function in program.reachable(setup.kernel) {
        supported(&program.module().functions[function as usize])?;
    }
    let whole = Inlined::new(program, setup)?;
    let is_clustered = setup.clusters.size() > 1;
    let whole = match is_clustered {
        true => whole.with_shared_addresses(program.module())?,
        false => whole,
    };
    let (function, parts) = (&*whole.function, whole.parts.as_slice());
    let shape = Shape { grid: setup.grid, block: setup.block, width: setup.width };
    let cfg = graph_of(function).map_err(|_| Declined::Kernel("it has no flow graph"))?;
    let reentrant = whole.reentrant_blocks();
    let options = Options { assume, reentrant: &reentrant };
    let facts = Facts::with_graph(function, &cfg, shape, options);
    let footprints = Footprints::new(function, &cfg, facts.webs());
    let storage = Storage::new(function, &facts);
    // A CTA of a cluster may have ended.
    let (steps, may_decline) = (Vec::new(), is_clustered);
    let at = places(parts);
    let facts = &facts;
    let footprints = &footprints;
    let mut decoder = Decoder {
        program,
        setup,
        function,
        parts,
        at,
        facts,
        footprints,
        storage,
        steps,
        may_decline,
        plain: OnceCell::new(),
        read: OnceCell::new(),
    };
    let mut storage = decoder.storage.clone();
    storage.find_constants(function, facts, |operand| decoder.constant(operand));
    decoder.storage = storage;
    let mut blocks = Vec::with_capacity(function.blocks.len());
    for b in 0..function.blocks.len() {
        blocks.push(decoder.block(b)?);
    }
    let Decoder { steps, storage, may_decline, .. } = decoder;
    let canon = canonical(parts);
    let has_cluster_barriers = steps.iter().any(|step| match &step.kind {
        Kind::Asynchronous(op) => matches!(op.what, AsyncOp::ClusterBarrier { .. }),
        _ => false,
    });
    for block in &mut blocks {
        match &mut block.end {
            // The block of moves after a call belongs to that call alone.
            End::Call(..) | End::CallByAddress(..) | End::ReturnBy(..) => {}
            End::Go(to) | End::Exit(_, to) | End::Return(_, to, _) => *to = canon[*to as usize],
            End::Branch(_, a, b) => {
                *a = canon[*a as usize];
                *b = canon[*b as usize];
            }
            End::Switch(_, targets) => targets.iter_mut().for_each(|t| *t = canon[*t as usize]),
        }
        if let Rejoin::At(to) = &mut block.rejoin {
            *to = canon[*to as usize];
        }
    }
    let is_rank = |step: &Step| {
        matches!(step.kind, Kind::Sreg { reg: Sreg::ClusterCtaRank, dst: Dst::Scalar(_), .. })
    };
    if is_clustered && !steps.first().is_some_and(is_rank) {
        return Err(Declined::Kernel("it does not read the ranks of blocks"));
    }
    Ok(Code {
        blocks,
        steps,
        entry: canon[0],
        narrow: storage.narrow,
        wide: storage.wide,
        preds: storage.preds,
        scalars: storage.scalars,
        cleared: {
            let webs = facts.webs().live_into(0).iter().map(|&web| storage.operand(web));
            webs.chain(storage.rows_in_flight()).collect()
        },
        screened: None,
        has_calls: whole.has_calls,
        has_cluster_barriers,
        rank_step: is_clustered.then_some(0),
        param_bytes: setup.params.len(),
        local_bytes: whole.local_bytes as usize,
        local_reach: whole.local_reach as usize,
        footprints: Box::new(footprints.clone()),
        may_decline,
    })
}

/// Maps each place, by copy, to the block with instructions that begins there.
fn places(parts: &[Part]) -> HashMap<(u32, u64), u32> {
    let takes = parts.iter().enumerate().filter(|(_, part)| !part.places.is_empty());
    // If several blocks begin at a place, the first one counts.
    takes.rev().map(|(b, part)| ((part.copy, part.places.start), b as u32)).collect()
}

/// Maps each block to the block that runs in its place: a block without places to the next one that
/// has some.
fn canonical(parts: &[Part]) -> Vec<u32> {
    let mut canon: Vec<u32> = (0..parts.len() as u32).collect();
    for b in (0..parts.len().saturating_sub(1)).rev() {
        if parts[b].places.is_empty() && parts[b].sort == Sort::Plain {
            canon[b] = canon[b + 1];
        }
    }
    canon
}

/// Declines functions with operations that only the exact engine has.
fn supported(function: &Function) -> Result<(), Declined> {
    let refuse = |what| Err(Declined::Kernel(what));
    if !function.warp_regs.is_empty() {
        return refuse("it has warp registers");
    }
    for block in &function.blocks {
        if matches!(block.term.kind, TermKind::MaskBr(..)) {
            return refuse("it branches on masks");
        }
        for inst in &block.insts {
            if let Some(what) = decline_reason(inst.op) {
                return refuse(what);
            }
            match inst.op {
                Op::Atom if inst.ty == Some(Ty::B128) => return refuse("it has 128-bit atomics"),
                Op::Bar if counts_threads(inst) && reduces(inst) => {
                    return refuse("it has reductions at barriers of some threads");
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// Returns why kernels with this operation are declined, whatever its types and modifiers; `None`
/// if they are not.
#[must_use]
pub fn decline_reason(op: Op) -> Option<&'static str> {
    match op {
        Op::Malloc | Op::Free => Some("it allocates memory"),
        Op::Alloca => Some("it allocates local memory"),
        Op::AtomVec => Some("it has vector atomics"),
        _ => matches!(op.info().class, Class::Exec | Class::Converge)
            .then_some("it steers EXEC or its mechanism"),
    }
}

/// Returns whether a barrier waits for a number of threads that it names.
fn counts_threads(inst: &Inst) -> bool {
    inst.op == Op::Bar && inst.operands.len() > if reduces(inst) { 2 } else { 1 }
}

/// Returns whether a barrier has a result.
fn reduces(inst: &Inst) -> bool {
    inst.mods.barrier.is_some_and(Barrier::reduces)
}

struct Decoder<'a> {
    program: &'a Program,
    setup: &'a Setup<'a>,
    function: &'a Function,
    parts: &'a [Part],
    /// The block that begins at each place, by copy and place.
    at: HashMap<(u32, u64), u32>,
    facts: &'a Facts,
    footprints: &'a Footprints,
    storage: Storage,
    steps: Vec<Step>,
    /// Whether a step or an end so far may decline a launch ([`crate::ends`]).
    may_decline: bool,
    /// What [`Decoder::plain_barriers`] has found.
    plain: OnceCell<u16>,
    /// By web, whether something reads it.
    read: OnceCell<Vec<bool>>,
}

impl Decoder<'_> {
    fn block(&mut self, b: usize) -> Result<Block, Declined> {
        let (block, part) = (&self.function.blocks[b], &self.parts[b]);
        let places = &part.places;
        let first = self.steps.len();
        for (i, inst) in block.insts.iter().enumerate() {
            let step = self.step(b, i, inst, places.start + i as u64)?;
            // A move that belongs to a call is not an instruction of the program, so the exact
            // engine has no function for it.
            if part.sort == Sort::Moves && matches!(step.kind, Kind::Generic(_) | Kind::Rare { .. })
            {
                return Err(Declined::Kernel("it passes values that cannot be moved"));
            }
            let follows = self.footprints.follows_widening(b, i);
            self.may_decline |=
                crate::ends::may_decline(&step.kind, follows, self.setup.params.len());
            self.steps.push(step);
        }
        crate::group_products::find_chains(&mut self.steps[first..]);
        let end = self.end(b, block)?;
        self.may_decline |= matches!(
            end,
            End::Switch(..) | End::Call(..) | End::CallByAddress(..) | End::Return(..)
        );
        let pc = places.end.saturating_sub(1);
        Ok(Block {
            steps: first..self.steps.len(),
            end_issues: !part.is_free() && block.term.issues(),
            end,
            rejoin: self.rejoin(part, pc),
            pc,
            first: places.start,
            is_free: part.is_free(),
            is_head: part.is_head,
        })
    }

    fn end(&self, b: usize, block: &ir::Block) -> Result<End, Declined> {
        let next = b as u32 + 1;
        let insts = block.insts.len();
        let condition = || self.facts.webs().condition(b, insts).map(|w| self.storage.operand(w));
        let guard = |negated| condition().map(|pred| Guard { pred, negated });
        let after = next.min(self.function.blocks.len() as u32 - 1);
        match (self.parts[b].sort, &block.term.kind) {
            (Sort::Call(back), TermKind::Br(to)) => return Ok(End::Call(to.0, back)),
            (Sort::Call(back), TermKind::Switch(address, targets)) => {
                let address = self.index(address, condition)?;
                let targets = targets.iter().map(|to| to.0);
                let callees = self.parts[b].addresses.iter().copied().zip(targets).collect();
                return Ok(End::CallByAddress(address, callees, back));
            }
            (Sort::Dispatch, TermKind::Switch(site, backs)) => {
                let site = self.index(site, condition)?;
                return Ok(End::ReturnBy(site, backs.iter().map(|to| to.0).collect()));
            }
            (Sort::Return(to), TermKind::CondBr(g, _)) => match guard(g.negated) {
                Some(guard) => return Ok(End::Return(Some(guard), after, to)),
                None => return Err(Declined::Kernel("a return has no condition")),
            },
            (Sort::Return(to), _) => return Ok(End::Return(None, after, to)),
            _ => {}
        }
        Ok(match &block.term.kind {
            TermKind::Fall => End::Go(next),
            TermKind::Br(to) => End::Go(to.0),
            TermKind::CondBr(g, to) => match guard(g.negated) {
                Some(guard) => End::Branch(guard, to.0, next),
                None => return Err(Declined::Kernel("a branch has no condition")),
            },
            TermKind::Switch(index, targets) => {
                let index = self.index(index, condition)?;
                End::Switch(index, targets.iter().map(|t| t.0).collect())
            }
            TermKind::Ret(g) | TermKind::Exit(g) => {
                let guard = g.and_then(|g| guard(g.negated));
                End::Exit(guard, after)
            }
            TermKind::MaskBr(..) => return Err(Declined::Kernel("it branches on masks")),
        })
    }

    /// Decodes what decides where the lanes of a switch go.
    fn index(
        &self,
        index: &Operand,
        condition: impl FnOnce() -> Option<Src>,
    ) -> Result<Src, Declined> {
        let src = match index {
            Operand::Reg(_) => condition(),
            other => self.constant(other),
        };
        src.ok_or(Declined::Kernel("a switch has no index"))
    }

    /// Returns the reconvergence point of the branch at place `at`.
    fn rejoin(&self, part: &Part, at: u64) -> Rejoin {
        let last = part.back.map_or(Rejoin::Enclosing, Rejoin::Return);
        let to = match self.program.plan().rejoin(Pc(at)) {
            Planned::At(to) if !matches!(part.sort, Sort::Return(_)) => to,
            _ => return last,
        };
        self.at.get(&(part.copy, to.0)).map_or(last, |&b| Rejoin::At(b))
    }

    /// Decodes an operand that is not a register.
    fn constant(&self, operand: &Operand) -> Option<Src> {
        Some(Src::Const(match *operand {
            Operand::Imm(bits) => match u64::try_from(bits) {
                Ok(bits) => bits,
                Err(_) => return Some(Src::ConstPair(bits as u64, (bits >> 64) as u64)),
            },
            Operand::Symbol(Symbol::Var(v), offset) => {
                self.setup.variables[v.index()].wrapping_add_signed(offset)
            }
            Operand::Symbol(Symbol::Func(f), offset) => {
                vm::function_address(f.0).wrapping_add_signed(offset)
            }
            Operand::Symbol(Symbol::Param(p), offset) => {
                let param = self.function.params().get(p as usize)?;
                u64::from(param.offset).wrapping_add_signed(offset)
            }
            Operand::Symbol(Symbol::Local(l), offset) => {
                let at = i64::from(self.function.locals.get(l as usize)?.offset);
                at.checked_add(offset)? as u64
            }
            _ => return None,
        }))
    }

    fn operand(&self, b: usize, i: usize, inst: &Inst, index: usize) -> Option<Src> {
        match inst.operands.get(index)? {
            Operand::Reg(Reg::Lane(_)) => {
                let web = self.facts.webs().operand(b, i, inst.results.len(), index)?;
                Some(self.storage.operand(web))
            }
            other => self.constant(other),
        }
    }

    fn reg_bits(&self, reg: Option<Reg>) -> u32 {
        match reg {
            Some(Reg::Lane(reg)) => self.function.regs[reg.index()].ty.bits(),
            _ => 64,
        }
    }

    fn result(&self, b: usize, i: usize, inst: &Inst, index: usize) -> Dst {
        match inst.results.get(index) {
            Some(Some(Reg::Lane(_))) => self.storage.result(self.facts.webs().result(b, i, index)),
            _ => Dst::None,
        }
    }

    fn step(&self, b: usize, i: usize, inst: &Inst, pc: u64) -> Result<Step, Declined> {
        let guard = inst.guard.and_then(|g| {
            let pred = self.storage.operand(self.facts.webs().guard(b, i)?);
            Some(Guard { pred, negated: g.negated })
        });
        // What one web leaves in the row of such a register is another's.
        let shared = inst.results.iter().any(|&result| match result {
            Some(Reg::Lane(reg)) => self.storage.is_in_flight(reg),
            _ => false,
        });
        let blend = shared || (0..inst.results.len()).any(|r| self.facts.blends(b, i, r));
        let kind = match inst.op.info().class {
            _ if inst.op == Op::Fence => Kind::Fence,
            // Copies are done at their place.
            _ if is_wait_for_copies(inst.op) || matches!(inst.op, Op::Nop | Op::Nanosleep) => {
                Kind::Nothing
            }
            Class::Compute if inst.op == Op::Sreg => self.sreg(b, i, inst)?,
            Class::Compute => self.compute(b, i, inst, pc)?,
            Class::Memory if inst.op == Op::CpAsync => self.copy(b, i, inst)?,
            _ if is_asynchronous(inst.op) => self.asynchronous(b, i, inst, pc)?,
            _ if inst.op == Op::Printf => self.print(b, i, inst)?,
            // All calls of the program are ends of blocks.
            Class::Call => self.frame(b, i, inst)?,
            _ if is_texture(inst.op) => self.texture(b, i, inst)?,
            Class::Memory => self.memory(b, i, inst)?,
            Class::Collective if self.matrix_at(pc).is_some() => self.matrix(b, i, inst, pc)?,
            Class::Collective => self.collective(b, i, inst, pc)?,
            Class::Barrier if matches!(inst.op, Op::ClusterArrive | Op::ClusterWait) => {
                self.asynchronous(b, i, inst, pc)?
            }
            Class::Barrier if counts_threads(inst) => self.asynchronous(b, i, inst, pc)?,
            Class::Barrier => self.barrier(b, i, inst)?,
            _ => Kind::Leave(inst.op.name()),
        };
        Ok(Step { guard, blend, kind })
    }

    fn sreg(&self, b: usize, i: usize, inst: &Inst) -> Result<Kind, Declined> {
        let Some(Operand::Sreg(reg)) = inst.operands.first() else {
            return Err(Declined::Kernel("a special register is missing"));
        };
        let (dst, bits) = (self.result(b, i, inst, 0), self.reg_bits(inst.results[0]));
        Ok(match reg {
            Sreg::Clock | Sreg::Clock64 | Sreg::GlobalTimer | Sreg::GlobalTimerLo => {
                Kind::Clock { high: false, dst, bits }
            }
            Sreg::ClockHi | Sreg::GlobalTimerHi => Kind::Clock { high: true, dst, bits },
            reg => Kind::Sreg { reg: *reg, dst, bits },
        })
    }

    /// Returns whether registers are as wide as the instruction's types. Only loads, stores and
    /// conversions may differ.
    fn exact_widths(&self, inst: &Inst) -> bool {
        if inst.op != Op::Cvt {
            return true;
        }
        let result = inst.ty.is_some_and(|t| t.bits() == self.reg_bits(inst.results[0]));
        let operand = match inst.operands.first() {
            Some(Operand::Reg(reg)) => {
                inst.ty2.is_some_and(|t| t.bits() == self.reg_bits(Some(*reg)))
            }
            _ => true,
        };
        result && operand
    }

    fn compute(&self, b: usize, i: usize, inst: &Inst, pc: u64) -> Result<Kind, Declined> {
        let dst = self.result(b, i, inst, 0);
        let native = native(inst).filter(|_| self.exact_widths(inst));
        let sources: Option<Vec<Src>> =
            (0..inst.operands.len().min(3)).map(|k| self.operand(b, i, inst, k)).collect();
        let (native, mut src) = match (native, sources) {
            (Some(native), Some(src)) => (native, src),
            (None, Some(src)) => return self.rare(b, i, inst, (pc, dst), src),
            _ => return self.generic(b, i, inst, pc),
        };
        src.resize(3, Src::Const(0));
        let src = [src[0], src[1], src[2]];
        if let Dst::Scalar(dst) = dst {
            return self.scalar(native, dst, src);
        }
        Ok(match (native, dst) {
            (_, Dst::None) => Kind::Nothing,
            (Native::Narrow(op), Dst::Narrow(dst)) => Kind::Narrow { op, dst, src },
            (Native::Wide(op), Dst::Wide(dst)) => Kind::Wide { op, dst, src },
            (Native::Low, Dst::Narrow(dst)) => Kind::Low { dst, src: src[0] },
            (Native::Test { test, wide, combine }, Dst::Pred(dst)) => {
                Kind::Test { test, wide, combine, dst, src }
            }
            (Native::Select { wide: false }, Dst::Narrow(dst)) => {
                Kind::Select { wide: false, dst, src }
            }
            (Native::Select { wide: true }, Dst::Wide(dst)) => {
                Kind::Select { wide: true, dst, src }
            }
            (Native::Logic(op), Dst::Pred(dst)) => Kind::Logic { op, dst, src: [src[0], src[1]] },
            _ => return self.generic(b, i, inst, pc),
        })
    }

    /// Decodes an operation that is not a [`Native`] one: as a rare one, or as a generic one.
    fn rare(
        &self,
        b: usize,
        i: usize,
        inst: &Inst,
        (pc, dst): (u64, Dst),
        mut src: Vec<Src>,
    ) -> Result<Kind, Declined> {
        match (rare(inst), dst) {
            (Some(op), Dst::Narrow(dst)) => {
                src.resize(3, Src::Const(0));
                Ok(Kind::Rare { op, dst, src: [src[0], src[1], src[2]] })
            }
            _ => self.generic(b, i, inst, pc),
        }
    }

    /// Decodes an operation with a scalar result. All its operands are scalars, too.
    fn scalar(&self, native: Native, dst: u32, src: [Src; 3]) -> Result<Kind, Declined> {
        let line = |s: &Src| matches!(s, Src::Line(_, stride, _) if *stride != 0);
        let widen = match native {
            Native::Wide(Op64::Zext32) => Some((false, false)),
            Native::Wide(Op64::Sext32) => Some((true, false)),
            Native::Wide(Op64::MulWideU | Op64::MadWideU) => Some((false, true)),
            Native::Wide(Op64::MulWideS | Op64::MadWideS) => Some((true, true)),
            _ => None,
        };
        let Some((signed, product)) = widen.filter(|_| line(&src[0]) || line(&src[1])) else {
            return Ok(Kind::Scalar { native, dst, src });
        };
        let (moving, fixed) = if line(&src[0]) { (src[0], src[1]) } else { (src[1], src[0]) };
        let (Src::Line(base, stride, _), factor) = (moving, fixed) else {
            return Err(Declined::Kernel("a widened value is not a line"));
        };
        let factor = match (product, factor) {
            (false, _) => 1,
            (true, Src::Const(bits)) if signed => i64::from(bits as i32) as u64,
            (true, Src::Const(bits)) => bits,
            _ => return Err(Declined::Kernel("a line is multiplied by what is not known")),
        };
        let addend = if product { src[2] } else { Src::Const(0) };
        Ok(Kind::Widen { signed, dst, base, stride, factor, addend })
    }

    fn generic(&self, b: usize, i: usize, inst: &Inst, pc: u64) -> Result<Kind, Declined> {
        let missing = || Declined::Kernel("an operation is not known");
        let code = self.program.at(Pc(pc)).ok_or_else(missing)?;
        let computation = code.computation().ok_or_else(missing)?.clone();
        let mut src = Vec::new();
        for (k, operand) in inst.operands.iter().enumerate() {
            let ty = inst.operand_slot(k).and_then(|slot| inst.slot_ty(slot));
            match self.operand(b, i, inst, k).ok_or_else(missing)? {
                Src::Pair(low, high) => src.extend([Src::Wide(low), Src::Wide(high)]),
                Src::ConstPair(low, high) => src.extend([Src::Const(low), Src::Const(high)]),
                Src::Const(bits) if ty == Some(Ty::B128) && matches!(operand, Operand::Imm(_)) => {
                    src.extend([Src::Const(bits), Src::Const(0)]);
                }
                other => src.push(other),
            }
        }
        let mut dst = Vec::new();
        for k in 0..inst.results.len() {
            match self.result(b, i, inst, k) {
                Dst::Pair(low, high) => dst.extend([Dst::Wide(low), Dst::Wide(high)]),
                Dst::None => {
                    let ty = inst.result_slot(k).and_then(|slot| inst.slot_ty(slot));
                    dst.push(Dst::None);
                    if ty == Some(Ty::B128) {
                        dst.push(Dst::None);
                    }
                }
                other => dst.push(other),
            }
        }
        if src.len() != computation.sources() || dst.len() != computation.results() {
            return Err(missing());
        }
        let bits = self.reg_bits(inst.results.first().copied().flatten());
        Ok(Kind::Generic(Box::new(Generic { inst: inst.clone(), computation, bits, src, dst })))
    }

    /// Returns whether nothing reads a result. Compilers leave it to the assembler to make
    /// reductions of such atomic operations.
    fn is_unread(&self, b: usize, i: usize, index: usize) -> bool {
        let webs = self.facts.webs();
        let read = self.read.get_or_init(|| webs.readers(self.function));
        webs.result(b, i, index).is_none_or(|web| !read[web.index()])
    }

    fn memory(&self, b: usize, i: usize, inst: &Inst) -> Result<Kind, Declined> {
        let missing = || Declined::Kernel("a memory operand is not known");
        let ty = inst.ty.ok_or_else(missing)?;
        let mut src = Vec::new();
        for k in 1..inst.operands.len() {
            match self.operand(b, i, inst, k).ok_or_else(missing)? {
                Src::Pair(low, high) => src.extend([Src::Wide(low), Src::Wide(high)]),
                Src::ConstPair(low, high) => src.extend([Src::Const(low), Src::Const(high)]),
                Src::Const(bits) if ty == Ty::B128 => {
                    src.extend([Src::Const(bits), Src::Const(0)]);
                }
                other => src.push(other),
            }
        }
        let mut dst = Vec::new();
        for k in 0..inst.results.len() {
            if inst.op == Op::Atom && self.is_unread(b, i, k) {
                continue;
            }
            match self.result(b, i, inst, k) {
                Dst::Pair(low, high) => dst.extend([Dst::Wide(low), Dst::Wide(high)]),
                Dst::None if ty == Ty::B128 => dst.extend([Dst::None, Dst::None]),
                other => dst.push(other),
            }
        }
        let words = match inst.op {
            Op::Ld => dst.len(),
            Op::St => src.len(),
            _ => 1,
        };
        let signed = inst.op == Op::Ld && ty.is_signed();
        // The registers of a vector have one type.
        let result = inst.first_written();
        let memory = Memory {
            space: inst.mods.space.unwrap_or(Space::Generic),
            address: self.operand(b, i, inst, 0).ok_or_else(missing)?,
            offset: inst.offset,
            word: ty.bytes().min(8),
            words: words as u32,
            extend: signed.then(|| (ty.bits(), self.reg_bits(result).clamp(1, 64))),
            dst,
            src,
            order: inst.mods.order.unwrap_or(match inst.op {
                Op::Atom => Order::Relaxed,
                _ => Order::Weak,
            }),
            scope: inst.mods.scope.unwrap_or(Scope::Gpu),
            reaches_cluster: inst.mods.flags.has(Flag::Cluster),
            hint: crate::code::Hint::default(),
            has_footprint: self.footprints.has(b, i),
        };
        Ok(match inst.op {
            Op::Ld => Kind::Load(Box::new(memory)),
            Op::St => Kind::Store(Box::new(memory)),
            Op::Atom => {
                let op = inst.mods.atom.ok_or_else(missing)?;
                Kind::Atomic(Box::new(Atomic { memory, op, ty }))
            }
            _ => Kind::Leave(inst.op.name()),
        })
    }

    fn collective(&self, b: usize, i: usize, inst: &Inst, pc: u64) -> Result<Kind, Declined> {
        let missing = || Declined::Kernel("a collective is not known");
        let what = self.program.at(Pc(pc)).and_then(vm::Code::detached_collective);
        let what = what.ok_or_else(missing)?;
        let members_at = match inst.op {
            Op::Shfl => Some(3),
            Op::Vote | Op::Ballot | Op::Match | Op::Redux => Some(1),
            Op::Elect | Op::WarpSync => Some(0),
            _ => None,
        };
        let values = members_at.unwrap_or(0).min(inst.operands.len());
        let src: Option<Vec<Src>> = (0..values).map(|k| self.operand(b, i, inst, k)).collect();
        let members = match members_at {
            Some(at) if what.names_members() => {
                Some(self.operand(b, i, inst, at).ok_or_else(missing)?)
            }
            _ => None,
        };
        let dst = (0..inst.results.len()).map(|k| self.result(b, i, inst, k)).collect();
        let src = src.ok_or_else(missing)?;
        let pattern = match src.as_slice() {
            [_, Src::Const(b), Src::Const(c)] => what.pattern(*b, *c),
            _ => None,
        };
        Ok(Kind::Collective(Box::new(Collective { what, pattern, members, src, dst })))
    }

    fn matrix_at(&self, pc: u64) -> Option<vm::Matrix> {
        self.program.at(Pc(pc)).and_then(vm::Code::detached_matrix)
    }

    /// Builds an access without data operands.
    fn access(&self, space: Space, address: Src, offset: i64) -> Memory {
        Memory {
            space,
            address,
            offset,
            word: 1,
            words: 1,
            extend: None,
            dst: Vec::new(),
            src: Vec::new(),
            order: Order::Weak,
            scope: Scope::Gpu,
            reaches_cluster: false,
            hint: crate::code::Hint::default(),
            has_footprint: false,
        }
    }

    fn matrix(&self, b: usize, i: usize, inst: &Inst, pc: u64) -> Result<Kind, Declined> {
        let missing = || Declined::Kernel("an operand of a matrix instruction is not known");
        let what = self.matrix_at(pc).ok_or_else(missing)?;
        let operand = |k| self.operand(b, i, inst, k).ok_or_else(missing);
        let memory = match what.is_memory() {
            true => {
                let space = inst.mods.space.unwrap_or(Space::Generic);
                Some(self.access(space, operand(0)?, inst.offset))
            }
            false => None,
        };
        let sources = usize::from(memory.is_some())..inst.operands.len();
        let src = sources.map(operand).collect::<Result<_, _>>()?;
        let dst = (0..inst.results.len()).map(|k| self.result(b, i, inst, k)).collect();
        let direct = Direct::new(what);
        Ok(Kind::Matrix(Box::new(Fragments { what, direct, memory, src, dst })))
    }

    fn copy(&self, b: usize, i: usize, inst: &Inst) -> Result<Kind, Declined> {
        let missing = || Declined::Kernel("an operand of a copy is not known");
        let operand = |k| self.operand(b, i, inst, k).ok_or_else(missing);
        let Some(&Operand::Imm(offset)) = inst.operands.get(2) else { return Err(missing()) };
        let to = self.access(Space::Shared, operand(0)?, inst.offset);
        let from = self.access(Space::Global, operand(1)?, offset as i64);
        let size = inst.ty.ok_or_else(missing)?.bytes();
        let bytes = if inst.operands.len() > 3 { Some(operand(3)?) } else { None };
        Ok(Kind::Copy(Box::new(Copy { from, to, size, bytes })))
    }

    fn texture(&self, b: usize, i: usize, inst: &Inst) -> Result<Kind, Declined> {
        let missing = || Declined::Kernel("an operand of a texture or surface is not known");
        let op = vm::texture_op(inst, |k| self.operand(b, i, inst, k).ok_or_else(missing))?;
        let dst = (0..inst.results.len()).map(|k| self.result(b, i, inst, k)).collect();
        let memory = || self.access(Space::Global, Src::Const(0), 0);
        let accesses = [memory(), memory()];
        Ok(Kind::Texture(Box::new(Texture { op: op.ok_or_else(missing)?, dst, accesses })))
    }

    fn print(&self, b: usize, i: usize, inst: &Inst) -> Result<Kind, Declined> {
        let missing = || Declined::Kernel("an operand of an output is not known");
        let operand = |k| self.operand(b, i, inst, k).ok_or_else(missing);
        let (format, args) = (operand(0)?, operand(1)?);
        let dst = self.result(b, i, inst, 0);
        let memory = self.access(Space::Generic, Src::Const(0), 0);
        Ok(Kind::Print(Box::new(Print { format, args, dst, memory })))
    }

    /// Decodes what keeps the registers of a frame, or puts them back.
    fn frame(&self, b: usize, i: usize, inst: &Inst) -> Result<Kind, Declined> {
        if !inst.results.is_empty() {
            let dst = (0..inst.results.len()).map(|k| self.result(b, i, inst, k)).collect();
            return Ok(Kind::RestoreFrame(dst));
        }
        let missing = || Declined::Kernel("a register of a caller is not known");
        let size = |k| match inst.operands.get(k..k + 2) {
            Some(&[Operand::Imm(all), Operand::Imm(local)]) => {
                Ok(StackBytes { all: all as u64, local: local as u64 })
            }
            _ => Err(missing()),
        };
        let (below, caller, callee) = (size(0)?, size(2)?, size(4)?);
        let registers = (6..inst.operands.len()).map(|k| self.operand(b, i, inst, k));
        let src = registers.collect::<Option<_>>().ok_or_else(missing)?;
        let limit = self.setup.stack_limit;
        Ok(Kind::SaveFrame(Box::new(SaveFrame { src, below, caller, callee, limit })))
    }

    /// Decodes an operation whose steps are all done where it stands.
    fn asynchronous(&self, b: usize, i: usize, inst: &Inst, pc: u64) -> Result<Kind, Declined> {
        let missing = || Declined::Kernel("an operand of an asynchronous operation is not known");
        let operand = |k| self.operand(b, i, inst, k).ok_or_else(missing);
        let space = inst.mods.space.unwrap_or(Space::Generic);
        let what = match inst.op {
            Op::BulkCopy => {
                let op = vm::bulk_copy(inst, operand)?.ok_or_else(missing)?;
                let (to, from) = match op.kind {
                    Bulk::Load => (Space::Shared, Space::Global),
                    Bulk::Send => (Space::Shared, Space::Shared),
                    Bulk::Store => (Space::Global, Space::Shared),
                };
                let mut to = self.access(to, op.to, op.offset);
                to.reaches_cluster = op.kind != Bulk::Store;
                let from = self.access(from, op.from, 0);
                AsyncOp::Bulk(op, [to, from])
            }
            Op::TensorCopy => {
                let op = vm::tensor_copy(inst, operand)?.ok_or_else(missing)?;
                let map = self.access(Space::Generic, op.map, 0);
                AsyncOp::Tensor(op, [map, self.access(Space::Global, Src::Const(0), 0)])
            }
            Op::StAsync | Op::RedAsync => self.async_store(inst, space, operand(0)?, operand)?,
            Op::ClusterArrive => AsyncOp::ClusterBarrier { waits: false },
            Op::ClusterWait => AsyncOp::ClusterBarrier { waits: true },
            Op::Bar => {
                let waits = inst.mods.barrier != Some(Barrier::Arrive);
                let plain = self.plain_barriers();
                let is_plain = |id| id < 16 && plain >> id & 1 != 0;
                if plain == u16::MAX || matches!(operand(0)?, Src::Const(id) if is_plain(id)) {
                    return Err(Declined::Kernel("a barrier is of all threads, and of some"));
                }
                AsyncOp::CountedBarrier { waits, plain }
            }
            Op::WgmmaWait => match inst.operands.first() {
                Some(&Operand::Imm(most)) => AsyncOp::WaitProducts(most as u32),
                _ => return Err(missing()),
            },
            Op::WgmmaFence | Op::Wgmma | Op::WgmmaReg | Op::WgmmaCommit => {
                let code = self.program.at(Pc(pc)).and_then(vm::Code::warp_group_operation);
                AsyncOp::WarpGroup(code.ok_or_else(missing)?)
            }
            _ => {
                let kind = vm::mbarrier_kind(inst).ok_or_else(missing)?;
                let mut memory = self.access(space, operand(0)?, inst.offset);
                (memory.word, memory.words) = (8, 1);
                memory.order = inst.mods.order.unwrap_or(kind.order());
                memory.scope = inst.mods.scope.unwrap_or(Scope::Cta);
                memory.reaches_cluster = inst.mods.flags.has(Flag::Cluster);
                AsyncOp::Mbarrier(kind, memory)
            }
        };
        let src = match what {
            AsyncOp::WaitProducts(_) => Vec::new(),
            _ => (0..inst.operands.len()).map(operand).collect::<Result<_, _>>()?,
        };
        let dst = (0..inst.results.len()).map(|k| self.result(b, i, inst, k)).collect();
        let is_followed = false;
        Ok(Kind::Asynchronous(Box::new(Asynchronous { what, src, dst, is_followed })))
    }

    /// Decodes an asynchronous store, or a reduction, in the shared memory of the cluster.
    fn async_store(
        &self,
        inst: &Inst,
        space: Space,
        address: Src,
        operand: impl Fn(usize) -> Result<Src, Declined>,
    ) -> Result<AsyncOp, Declined> {
        let ty = inst.ty.filter(|ty| ty.bits() <= 64);
        let ty = ty.ok_or(Declined::Kernel("it has asynchronous stores of 128-bit values"))?;
        let values = (2..inst.operands.len()).map(&operand).collect::<Result<Vec<_>, _>>()?;
        let mut memory = self.access(space, address, inst.offset);
        (memory.word, memory.words) = (ty.bytes(), values.len() as u32);
        memory.reaches_cluster = true;
        let combine = inst.mods.atom.map(|op| (op, ty));
        Ok(AsyncOp::Store(AsyncStore { memory, barrier: operand(1)?, values, combine }))
    }

    /// Returns the barriers that wait for all threads of the CTA, as bits; all, if a register names
    /// one.
    fn plain_barriers(&self) -> u16 {
        *self.plain.get_or_init(|| {
            let mut plain = 0;
            for (b, block) in self.function.blocks.iter().enumerate() {
                for (i, inst) in block.insts.iter().enumerate() {
                    if inst.op == Op::Bar && !counts_threads(inst) {
                        plain |= match self.operand(b, i, inst, 0) {
                            Some(Src::Const(id)) => 1u16.checked_shl(id as u32).unwrap_or(0),
                            _ => u16::MAX,
                        };
                    }
                }
            }
            plain
        })
    }

    fn barrier(&self, b: usize, i: usize, inst: &Inst) -> Result<Kind, Declined> {
        let missing = || Declined::Kernel("a barrier is not known");
        let kind = inst.mods.barrier.ok_or_else(missing)?;
        let id = self.operand(b, i, inst, 0).ok_or_else(missing)?;
        let pred = if kind.reduces() { self.operand(b, i, inst, 1) } else { None };
        Ok(Kind::Barrier { kind, id, pred, dst: self.result(b, i, inst, 0) })
    }
}

/// Whether an operation commits or awaits copies, which are done at their place.
fn is_wait_for_copies(op: Op) -> bool {
    matches!(op, Op::CopyCommit | Op::CopyWait | Op::BulkCommit | Op::BulkWait)
}

fn is_texture(op: Op) -> bool {
    matches!(
        op,
        Op::Tex | Op::TexGather | Op::TexQuery | Op::SurfLoad | Op::SurfStore | Op::SurfReduce
    )
}

/// Whether an operation is on barriers in shared memory, on products of warp groups, or a bulk
/// copy.
fn is_asynchronous(op: Op) -> bool {
    op.is_mbarrier()
        || matches!(
            op,
            Op::BulkCopy
                | Op::TensorCopy
                | Op::StAsync
                | Op::RedAsync
                | Op::WgmmaFence
                | Op::Wgmma
                | Op::WgmmaReg
                | Op::WgmmaCommit
                | Op::WgmmaWait
        )
}
