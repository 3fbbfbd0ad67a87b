//! Linking: from an IR module to code that the engine executes.
//!
//! Functions are laid out one after another, blocks in layout order; a place ([`Pc`]) is an index into that code. An end of
//! block that only falls through takes no place. Rows of a function's frame: its registers in order (128-bit ones take two),
//! one row for each address of a local variable that is used, one scratch row.

use crate::code::{
    AtomicOp, CallOp, CallTarget, Code, CollectiveKind, CollectiveOp, Exec, GuardRow, LaneOp,
    MaskBrSrc, MaskOp, MaskSrc, MemOp, Src,
};
use crate::compute::{self, Rows};
use converge::plan::{Plan, PlanError};
use converge::planner::{self, FunctionFlow, Priorities};
use flow::{Cfg, CfgBuilder, GraphError};
use ir::mods::{Flag, Order, Scope, Space};
use ir::module::{MaskRef, Signature, TermKind};
use ir::{
    BlockId, Function, Guard, Inst, LaneReg, LocId, Module, Op, Operand, Origin, Reg, RegTy,
    Symbol, Term, Ty,
};
use rustc_hash::FxHashMap;
use simt::Pc;
use simt::memory::Width;
use smallvec::{SmallVec, smallvec};
use thiserror::Error;

/// First address of functions: function `i` is at `FUNCTION_BASE + 16 * i`. Nothing is mapped there.
pub const FUNCTION_BASE: u64 = 0x2_0000;

/// Why an instruction cannot be linked.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LinkErrorKind {
    /// The engine has no function for this operation with these types and modifiers.
    #[error("`{0}` is not supported with these types and modifiers")]
    Unsupported(&'static str),
    /// An operand is not of a kind that the operation takes.
    #[error("operand {1} of `{0}` is not of a kind that it takes")]
    Operand(&'static str, usize),
    /// The function's flow graph is broken.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// The program's plan is broken.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// More code, rows or blocks than indices can count.
    #[error("the program is too large: {0}")]
    TooLarge(&'static str),
}

/// An instruction that cannot be linked, with its place.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{kind} (in function `{function}`)")]
pub struct LinkError {
    /// The function.
    pub function: String,
    /// The instruction's place in the module's text.
    pub loc: LocId,
    /// What is wrong.
    pub kind: LinkErrorKind,
}

/// Why the text form of a module cannot be loaded.
#[derive(Clone, Debug, Error)]
pub enum LoadError {
    /// It is not UTF-8.
    #[error("not a text: a byte is not UTF-8")]
    NotText,
    /// The text has errors.
    #[error("the text has {} errors", .0.error_count())]
    Text(isa::Diagnostics),
    /// The module cannot be linked.
    #[error("{} instructions cannot be linked", .0.len())]
    Link(Vec<LinkError>),
}

/// What the engine knows of a function.
#[derive(Clone, Debug)]
pub(crate) struct FuncInfo {
    pub(crate) entry: Pc,
    pub(crate) end: Pc,
    /// Rows of a frame.
    pub(crate) rows: u32,
    /// Bytes of local variables in a frame, a multiple of 16.
    pub(crate) local_bytes: u32,
    /// Rows that hold addresses of local variables: row, offset in the frame.
    pub(crate) local_rows: Vec<(u32, i64)>,
    /// Rows that receive arguments, 128-bit ones as two.
    pub(crate) params: Rows,
    /// Rows that are returned.
    pub(crate) results: Rows,
    pub(crate) kernel: bool,
    /// Functions that it calls directly; all functions whose address is taken, if it calls indirectly.
    pub(crate) callees: Vec<u32>,
    /// Shared variables that it names.
    pub(crate) shared: Vec<u32>,
}

/// A linked program: immutable, shared by all launches.
#[derive(Clone, Debug)]
pub struct Program {
    pub(crate) module: Module,
    pub(crate) code: Vec<Code>,
    pub(crate) functions: Vec<FuncInfo>,
    pub(crate) plan: Plan,
    /// Sizes of the group's files: scalars, masks, spill slots.
    pub(crate) scalars: u32,
    pub(crate) masks: u32,
    pub(crate) spills: u32,
    /// Whether some instruction reads a clock: then equal states need not repeat.
    pub(crate) reads_clock: bool,
}

impl Program {
    /// Links a verified module.
    ///
    /// # Errors
    /// Everything that the engine has no execution for, all of it.
    pub fn link(module: Module) -> Result<Self, Vec<LinkError>> {
        Linker::new(&module).run().map(|mut program| {
            program.module = module;
            program
        })
    }

    /// The module it was linked from.
    #[must_use]
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// All code in order of places.
    #[must_use]
    pub fn code(&self) -> &[Code] {
        &self.code
    }

    /// The static plan of its control flow.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The instruction at a place.
    #[must_use]
    pub fn at(&self, pc: Pc) -> Option<&Code> {
        self.code.get(usize::try_from(pc.0).ok()?)
    }

    /// The entry of a function, by index.
    #[must_use]
    pub fn entry(&self, function: usize) -> Option<Pc> {
        self.functions.get(function).map(|f| f.entry)
    }
}

/// Links one module.
struct Linker<'m> {
    module: &'m Module,
    errors: Vec<LinkError>,
    code: Vec<Code>,
    functions: Vec<FuncInfo>,
    flows: Vec<(Cfg, Vec<std::ops::Range<u64>>)>,
    scalars: u32,
    masks: u32,
    spills: u32,
    /// Functions whose address is taken.
    addressed: Vec<u32>,
}

/// What is known of the function being linked.
struct Frame<'m> {
    function: &'m Function,
    /// First row of each register.
    rows: Vec<u32>,
    next_row: u32,
    local_rows: FxHashMap<i64, u32>,
    scratch: u32,
    /// Index of each warp register in its file.
    warp: Vec<u32>,
    spill_base: u32,
    block_pcs: Vec<Pc>,
    callees: Vec<u32>,
    shared: Vec<u32>,
    indirect: bool,
}

type Linked<T> = Result<T, LinkErrorKind>;

impl<'m> Linker<'m> {
    fn new(module: &'m Module) -> Self {
        Self {
            module,
            errors: Vec::new(),
            code: Vec::new(),
            functions: Vec::new(),
            flows: Vec::new(),
            scalars: 0,
            masks: 0,
            spills: 0,
            addressed: Vec::new(),
        }
    }

    fn run(mut self) -> Result<Program, Vec<LinkError>> {
        let mut indirect = Vec::new();
        for (i, function) in self.module.functions.iter().enumerate() {
            indirect.push(self.function(i as u32, function));
        }
        self.addressed.sort_unstable();
        self.addressed.dedup();
        for (info, indirect) in self.functions.iter_mut().zip(indirect) {
            if indirect {
                info.callees.extend(&self.addressed);
            }
            info.callees.sort_unstable();
            info.callees.dedup();
            info.shared.sort_unstable();
            info.shared.dedup();
        }
        let flows: Vec<_> =
            self.flows.iter().map(|(cfg, places)| FunctionFlow { cfg, places }).collect();
        let plan = match planner::plan(&flows, Priorities::Layout) {
            Ok(plan) => plan,
            Err(error) => {
                self.error("", LocId(0), error.into());
                Plan::default()
            }
        };
        if !self.errors.is_empty() {
            return Err(self.errors);
        }
        let reads_clock = self
            .code
            .iter()
            .any(|c| matches!(&c.exec, Exec::Sreg { reg, .. } if reg.observes_schedule()));
        Ok(Program {
            module: Module::new(),
            code: self.code,
            functions: self.functions,
            plan,
            scalars: self.scalars,
            masks: self.masks,
            spills: self.spills,
            reads_clock,
        })
    }

    fn error(&mut self, function: &str, loc: LocId, kind: LinkErrorKind) {
        if self.errors.len() < 1000 {
            self.errors.push(LinkError { function: function.to_owned(), loc, kind });
        }
    }

    /// Links a function; whether it calls indirectly.
    fn function(&mut self, index: u32, function: &'m Function) -> bool {
        let mut frame = self.frame(function);
        let entry = Pc(self.code.len() as u64);
        for (i, block) in function.blocks.iter().enumerate() {
            let mut head = true;
            for inst in &block.insts {
                match self.inst(&mut frame, inst) {
                    Ok(exec) => {
                        let guard = inst.guard.map(|g| frame.guard(g));
                        self.push(
                            exec,
                            guard,
                            Some(inst.op),
                            &mut head,
                            index,
                            (inst.origin, inst.loc),
                        );
                    }
                    Err(kind) => self.error(&function.name, inst.loc, kind),
                }
            }
            if block.term.issues() {
                match frame.term(&block.term) {
                    Ok((exec, guard)) => {
                        let term = &block.term;
                        self.push(exec, guard, None, &mut head, index, (term.origin, term.loc));
                    }
                    Err(kind) => self.error(&function.name, block.term.loc, kind),
                }
            }
            // Instructions with errors left holes: places are right only if there were none.
            debug_assert!(
                !self.errors.is_empty()
                    || frame.block_pcs.get(i + 1).is_none_or(|p| p.0 == self.code.len() as u64)
            );
        }
        if let Err(kind) = self.flow(&frame) {
            self.error(&function.name, function.loc, kind);
        }
        let (params, results, kernel) = match &function.signature {
            Signature::Kernel { .. } => (Rows::new(), Rows::new(), true),
            Signature::Device { params, results } => {
                (frame.all_rows(params), frame.all_rows(results), false)
            }
        };
        let mut local_rows: Vec<(u32, i64)> =
            frame.local_rows.iter().map(|(&o, &r)| (r, o)).collect();
        local_rows.sort_unstable();
        self.functions.push(FuncInfo {
            entry,
            end: Pc(self.code.len() as u64),
            rows: frame.next_row,
            local_bytes: function.frame_size().next_multiple_of(16),
            local_rows,
            params,
            results,
            kernel,
            callees: frame.callees,
            shared: frame.shared,
        });
        frame.indirect
    }

    fn push(
        &mut self,
        exec: Exec,
        guard: Option<GuardRow>,
        op: Option<Op>,
        head: &mut bool,
        function: u32,
        (origin, loc): (Origin, LocId),
    ) {
        let block_head = std::mem::replace(head, false);
        self.code.push(Code { exec, guard, op, block_head, function, origin, loc });
    }

    /// Rows, warp registers and places of a function.
    fn frame(&mut self, function: &'m Function) -> Frame<'m> {
        let mut next_row = 0;
        let rows = function.regs.iter().map(|r| {
            let row = next_row;
            next_row += if r.ty == RegTy::B128 { 2 } else { 1 };
            row
        });
        let rows = rows.collect();
        let warp = function.warp_regs.iter().map(|r| {
            let counter = if r.ty == RegTy::Mask { &mut self.masks } else { &mut self.scalars };
            *counter += 1;
            *counter - 1
        });
        let warp = warp.collect();
        let spill_base = self.spills;
        self.spills += function.spill_slots;
        let mut pc = self.code.len() as u64;
        let mut block_pcs = Vec::with_capacity(function.blocks.len());
        for block in &function.blocks {
            block_pcs.push(Pc(pc));
            pc += block.insts.len() as u64 + u64::from(block.term.issues());
        }
        Frame {
            function,
            rows,
            scratch: next_row,
            next_row: next_row + 2,
            local_rows: FxHashMap::default(),
            warp,
            spill_base,
            block_pcs,
            callees: Vec::new(),
            shared: Vec::new(),
            indirect: false,
        }
    }

    /// The flow graph of a function with the places of its blocks.
    fn flow(&mut self, frame: &Frame<'_>) -> Linked<()> {
        let function = frame.function;
        let mut builder = CfgBuilder::new();
        for (i, block) in function.blocks.iter().enumerate() {
            let successors = function.successors(BlockId(i as u32));
            let successors = successors.iter().map(|b| b.0);
            match block.term.kind {
                TermKind::Ret(Some(_)) | TermKind::Exit(Some(_)) => {
                    builder.exiting_block(successors)?
                }
                _ => builder.block(successors)?,
            };
        }
        let ends = frame.block_pcs.iter().skip(1).copied().chain([self.functions_end(frame)]);
        let places = frame.block_pcs.iter().zip(ends).map(|(first, end)| first.0..end.0).collect();
        self.flows.push((builder.build(0)?, places));
        Ok(())
    }

    fn functions_end(&self, frame: &Frame<'_>) -> Pc {
        let last = frame.function.blocks.last();
        let length = last.map_or(0, |b| b.insts.len() as u64 + u64::from(b.term.issues()));
        Pc(frame.block_pcs.last().map_or(0, |p| p.0) + length)
    }

    fn inst(&mut self, frame: &mut Frame<'m>, inst: &Inst) -> Linked<Exec> {
        use ir::op::Class;
        for operand in &inst.operands {
            match *operand {
                Operand::Symbol(Symbol::Var(v), _)
                    if self
                        .module
                        .vars
                        .get(v.index())
                        .is_some_and(|v| v.space == Space::Shared) =>
                {
                    frame.shared.push(v.0);
                }
                Operand::Symbol(Symbol::Func(f), _) => self.addressed.push(f.0),
                _ => {}
            }
        }
        match inst.op.info().class {
            Class::Compute if inst.op == Op::Sreg => frame.sreg(inst),
            Class::Compute if frame.is_mask_op(inst) => frame.mask_logic(inst),
            Class::Compute => self.lanes(frame, inst),
            Class::Memory => frame.memory(inst),
            Class::Collective => frame.collective(inst),
            Class::Barrier => frame.barrier(inst),
            Class::Exec => frame.exec_mask(inst),
            Class::Converge => frame.converge(inst),
            Class::Call => self.call(frame, inst),
            Class::System => frame.system(inst),
        }
    }

    fn lanes(&mut self, frame: &mut Frame<'m>, inst: &Inst) -> Linked<Exec> {
        let run = compute::resolve(inst).ok_or(LinkErrorKind::Unsupported(inst.op.name()))?;
        let mut src = SmallVec::new();
        for (i, operand) in inst.operands.iter().enumerate() {
            frame.flatten(operand, inst.ty, &mut src).map_err(|()| operand_error(inst, i))?;
        }
        let uniform = matches!(inst.results.first(), Some(Some(Reg::Warp(_))));
        let dst = frame.results(inst)?;
        Ok(Exec::Lanes(LaneOp {
            run,
            dst,
            src,
            env: compute::environment(inst),
            mods: inst.mods,
            extra: compute::extra(inst, frame.result_ty(inst)),
            uniform,
        }))
    }

    fn call(&mut self, frame: &mut Frame<'m>, inst: &Inst) -> Linked<Exec> {
        let target = match inst.operands.first() {
            Some(Operand::Func(f)) if f.index() < self.module.functions.len() => {
                frame.callees.push(f.0);
                CallTarget::Func(f.0)
            }
            Some(other) if inst.op == Op::CallInd => {
                frame.indirect = true;
                CallTarget::Address(frame.src(other).ok_or_else(|| operand_error(inst, 0))?)
            }
            _ => return Err(operand_error(inst, 0)),
        };
        let mut args = SmallVec::new();
        for (i, operand) in inst.operands.iter().enumerate().skip(1) {
            frame.flatten(operand, None, &mut args).map_err(|()| operand_error(inst, i))?;
        }
        Ok(Exec::Call(CallOp { target, args, results: frame.results(inst)? }))
    }
}

fn operand_error(inst: &Inst, index: usize) -> LinkErrorKind {
    LinkErrorKind::Operand(inst.op.name(), index)
}

impl Frame<'_> {
    fn guard(&self, guard: Guard) -> GuardRow {
        GuardRow { row: self.rows[guard.pred.index()], negated: guard.negated }
    }

    fn reg_ty(&self, reg: LaneReg) -> RegTy {
        self.function.regs.get(reg.index()).map_or(RegTy::B64, |r| r.ty)
    }

    /// Rows of a register: one, or low and high.
    fn rows_of(&self, reg: LaneReg) -> Rows {
        let row = self.rows[reg.index()];
        if self.reg_ty(reg) == RegTy::B128 { smallvec![row, row + 1] } else { smallvec![row] }
    }

    fn all_rows(&self, regs: &[LaneReg]) -> Rows {
        regs.iter().flat_map(|&r| self.rows_of(r)).collect()
    }

    /// Rows, or warp-file indices, of an instruction's results; discarded ones go to the scratch rows.
    fn results(&self, inst: &Inst) -> Linked<Rows> {
        let mut out = Rows::new();
        for result in &inst.results {
            match *result {
                Some(Reg::Lane(reg)) => out.extend(self.rows_of(reg)),
                Some(Reg::Warp(reg)) => out.push(self.warp[reg.index()]),
                None => {
                    out.push(self.scratch);
                    if inst.ty == Some(Ty::B128) {
                        out.push(self.scratch + 1);
                    }
                }
            }
        }
        Ok(out)
    }

    /// The type of the first result's register.
    fn result_ty(&self, inst: &Inst) -> RegTy {
        match inst.results.first() {
            Some(Some(Reg::Lane(reg))) => self.reg_ty(*reg),
            Some(Some(Reg::Warp(reg))) => {
                self.function.warp_regs.get(reg.index()).map_or(RegTy::B64, |r| r.ty)
            }
            _ => RegTy::B64,
        }
    }

    /// An operand of up to 64 bits.
    fn src(&mut self, operand: &Operand) -> Option<Src> {
        Some(match *operand {
            Operand::Reg(Reg::Lane(reg)) => Src::Row(self.rows[reg.index()]),
            Operand::Reg(Reg::Warp(reg)) => Src::Scalar(self.warp[reg.index()]),
            Operand::Imm(bits) => Src::Const(bits as u64),
            Operand::Symbol(Symbol::Var(v), offset) => Src::Var(v.0, offset),
            Operand::Symbol(Symbol::Func(f), offset) => {
                Src::Const((FUNCTION_BASE + 16 * u64::from(f.0)).wrapping_add_signed(offset))
            }
            Operand::Symbol(Symbol::Param(p), offset) => {
                let Signature::Kernel { params, .. } = &self.function.signature else {
                    return None;
                };
                Src::Const(u64::from(params.get(p as usize)?.offset).wrapping_add_signed(offset))
            }
            Operand::Symbol(Symbol::Local(l), offset) => {
                let at =
                    i64::from(self.function.locals.get(l as usize)?.offset).checked_add(offset)?;
                let next_row = &mut self.next_row;
                let row = *self.local_rows.entry(at).or_insert_with(|| {
                    *next_row += 1;
                    *next_row - 1
                });
                Src::Row(row)
            }
            Operand::Sreg(_) | Operand::Func(_) | Operand::Block(_) => return None,
        })
    }

    /// An operand as one source, or two if it is of 128 bits.
    fn flatten(
        &mut self,
        operand: &Operand,
        ty: Option<Ty>,
        out: &mut SmallVec<[Src; 4]>,
    ) -> Result<(), ()> {
        match *operand {
            Operand::Reg(Reg::Lane(reg)) => out.extend(self.rows_of(reg).into_iter().map(Src::Row)),
            Operand::Imm(bits) if ty == Some(Ty::B128) => {
                out.extend([Src::Const(bits as u64), Src::Const((bits >> 64) as u64)]);
            }
            _ => out.push(self.src(operand).ok_or(())?),
        }
        Ok(())
    }

    fn operand(&mut self, inst: &Inst, index: usize) -> Linked<Src> {
        let operand = inst.operands.get(index).ok_or_else(|| operand_error(inst, index))?;
        self.src(operand).ok_or_else(|| operand_error(inst, index))
    }

    fn immediate(&self, inst: &Inst, index: usize) -> Linked<u32> {
        match inst.operands.get(index) {
            Some(Operand::Imm(bits)) => {
                u32::try_from(*bits).map_err(|_| operand_error(inst, index))
            }
            _ => Err(operand_error(inst, index)),
        }
    }

    fn sreg(&mut self, inst: &Inst) -> Linked<Exec> {
        let Some(Operand::Sreg(reg)) = inst.operands.first() else {
            return Err(operand_error(inst, 0));
        };
        let dst = self.results(inst)?[0];
        Ok(Exec::Sreg { reg: *reg, dst, bits: self.result_ty(inst).bits() })
    }

    fn is_mask_op(&self, inst: &Inst) -> bool {
        inst.ty == Some(Ty::Mask)
    }

    fn mask_src(&self, inst: &Inst, index: usize) -> Linked<MaskSrc> {
        match inst.operands.get(index) {
            Some(Operand::Reg(Reg::Warp(reg))) => Ok(MaskSrc::Reg(self.warp[reg.index()])),
            Some(Operand::Imm(bits)) => Ok(MaskSrc::Const(*bits as u64)),
            _ => Err(operand_error(inst, index)),
        }
    }

    fn mask_dst(&self, inst: &Inst) -> Linked<u32> {
        match inst.results.first() {
            Some(Some(Reg::Warp(reg))) => Ok(self.warp[reg.index()]),
            _ => Err(LinkErrorKind::Unsupported(inst.op.name())),
        }
    }

    /// Moves and logic on masks.
    fn mask_logic(&mut self, inst: &Inst) -> Linked<Exec> {
        let known = matches!(inst.op, Op::Mov | Op::Not | Op::And | Op::Or | Op::Xor | Op::AndNot);
        if !known {
            return Err(LinkErrorKind::Unsupported(inst.op.name()));
        }
        let a = self.mask_src(inst, 0)?;
        let b = if inst.operands.len() > 1 { self.mask_src(inst, 1)? } else { MaskSrc::Const(0) };
        Ok(Exec::Mask(MaskOp::Logic { op: inst.op, dst: self.mask_dst(inst)?, a, b }))
    }

    fn exec_mask(&mut self, inst: &Inst) -> Linked<Exec> {
        Ok(Exec::Mask(match inst.op {
            Op::ExecRead => MaskOp::Read(self.mask_dst(inst)?),
            Op::ExecWrite => MaskOp::Write(self.mask_src(inst, 0)?),
            Op::ExecAndSave => {
                MaskOp::AndSave { save: self.mask_dst(inst)?, pred: self.operand(inst, 0)? }
            }
            Op::ExecAndNot => MaskOp::AndNot(self.operand(inst, 0)?),
            Op::ExecXor => MaskOp::Xor(self.mask_src(inst, 0)?),
            Op::ExecOr => MaskOp::Or(self.mask_src(inst, 0)?),
            Op::MaskOf => MaskOp::Of { dst: self.mask_dst(inst)?, pred: self.operand(inst, 0)? },
            Op::PredOf => {
                MaskOp::PredOf { dst: self.results(inst)?[0], mask: self.mask_src(inst, 0)? }
            }
            Op::PredSpill => MaskOp::Spill {
                slot: self.spill_base + self.immediate(inst, 0)?,
                pred: self.operand(inst, 1)?,
            },
            Op::PredFill => MaskOp::Fill {
                slot: self.spill_base + self.immediate(inst, 0)?,
                dst: self.results(inst)?[0],
            },
            _ => return Err(LinkErrorKind::Unsupported(inst.op.name())),
        }))
    }

    fn converge(&mut self, inst: &Inst) -> Linked<Exec> {
        let barrier = |frame: &Self| {
            let index = frame.immediate(inst, 0)?;
            u16::try_from(index).map_err(|_| operand_error(inst, 0))
        };
        Ok(match inst.op {
            Op::Split => Exec::Split(self.operand(inst, 0)?),
            Op::Join => Exec::Join,
            Op::CbSet => {
                let Some(Operand::Block(block)) = inst.operands.get(1) else {
                    return Err(operand_error(inst, 1));
                };
                Exec::BarrierSet { barrier: barrier(self)?, rejoin: self.pc(*block) }
            }
            Op::CbWait => Exec::BarrierWait(barrier(self)?),
            Op::CbBreak => Exec::BarrierBreak(barrier(self)?),
            Op::Yield => Exec::Yield,
            _ => return Err(LinkErrorKind::Unsupported(inst.op.name())),
        })
    }

    fn pc(&self, block: BlockId) -> Pc {
        self.block_pcs.get(block.index()).copied().unwrap_or_default()
    }

    fn memory(&mut self, inst: &Inst) -> Linked<Exec> {
        match inst.op {
            Op::Fence => {
                let order = inst.mods.order.unwrap_or(Order::SeqCst);
                return Ok(Exec::Fence(order, inst.mods.scope.unwrap_or(Scope::Gpu)));
            }
            Op::Alloca => {
                let (dst, size) = (self.results(inst)?[0], self.operand(inst, 0)?);
                return Ok(Exec::Alloca { dst, size, align: self.immediate(inst, 1)? });
            }
            _ => {}
        }
        let ty = inst.ty.ok_or(LinkErrorKind::Unsupported(inst.op.name()))?;
        let addr = self.operand(inst, 0)?;
        let mut values = SmallVec::new();
        for (i, operand) in inst.operands.iter().enumerate().skip(1) {
            self.flatten(operand, Some(ty), &mut values).map_err(|()| operand_error(inst, i))?;
        }
        let size = ty.bytes();
        let signed_load = inst.op == Op::Ld && ty.is_signed();
        let mem = MemOp {
            space: inst.mods.space.unwrap_or(Space::Generic),
            addr,
            offset: inst.offset,
            size,
            width: Width::from_bytes(u64::from(size.min(8)))
                .ok_or(LinkErrorKind::Unsupported(inst.op.name()))?,
            extend: signed_load.then(|| (ty, self.result_ty(inst).bits())),
            rows: self.results(inst)?.iter().copied().collect(),
            values,
            order: inst.mods.order.unwrap_or(Order::Weak),
            scope: inst.mods.scope.unwrap_or(Scope::Gpu),
        };
        Ok(match inst.op {
            Op::Ld => Exec::Load(mem),
            Op::St => Exec::Store(mem),
            Op::Atom | Op::AtomVec => {
                let op = inst.mods.atom.ok_or(LinkErrorKind::Unsupported(inst.op.name()))?;
                let elements =
                    if inst.op == Op::AtomVec { inst.operands.len() as u32 - 1 } else { 1 };
                if !crate::atomic::supported(op, ty) {
                    return Err(LinkErrorKind::Unsupported(inst.op.name()));
                }
                let mem = MemOp { order: inst.mods.order.unwrap_or(Order::Relaxed), ..mem };
                Exec::Atomic(AtomicOp { mem, op, ty, elements })
            }
            _ => return Err(LinkErrorKind::Unsupported(inst.op.name())),
        })
    }

    fn collective(&mut self, inst: &Inst) -> Linked<Exec> {
        let mods = &inst.mods;
        let unsupported = || LinkErrorKind::Unsupported(inst.op.name());
        // Where the member mask stands among the operands.
        let (kind, members_at) = match inst.op {
            Op::Shfl => (CollectiveKind::Shuffle(mods.shuffle.ok_or_else(unsupported)?), Some(3)),
            Op::Vote => (CollectiveKind::Vote(mods.vote.ok_or_else(unsupported)?), Some(1)),
            Op::Ballot => (CollectiveKind::Vote(ir::mods::Vote::Ballot), Some(1)),
            Op::Match => {
                let bits = inst.ty.map_or(32, Ty::bits);
                (CollectiveKind::Match { all: mods.flags.has(Flag::All), bits }, Some(1))
            }
            Op::Redux => {
                let op = mods.atom.ok_or_else(unsupported)?;
                let ty = inst.ty.ok_or_else(unsupported)?;
                (CollectiveKind::Redux { op, ty, nan: mods.flags.has(Flag::Nan) }, Some(1))
            }
            Op::Elect => (CollectiveKind::Elect, Some(0)),
            Op::ActiveMask => (CollectiveKind::ActiveMask, None),
            Op::WarpSync => (CollectiveKind::Sync, Some(0)),
            _ => return Err(unsupported()),
        };
        let together = mods.flags.has(Flag::NoMask) || members_at.is_none();
        let members = match members_at {
            Some(at) if !together => Some(self.operand(inst, at)?),
            _ => None,
        };
        let values = members_at.unwrap_or(0).min(inst.operands.len());
        let src = (0..values).map(|i| self.operand(inst, i)).collect::<Linked<_>>()?;
        Ok(Exec::Collective(CollectiveOp { kind, members, dst: self.results(inst)?, src }))
    }

    fn barrier(&mut self, inst: &Inst) -> Linked<Exec> {
        let kind = inst.mods.barrier.ok_or(LinkErrorKind::Unsupported(inst.op.name()))?;
        // The predicate of a reduction is the last operand; the count before it is optional.
        let is_pred = |o: &Operand| match o {
            Operand::Reg(Reg::Lane(r)) => {
                (self.reg_ty(*r) == RegTy::Pred).then(|| self.rows[r.index()])
            }
            _ => None,
        };
        let pred = inst.operands.iter().skip(1).find_map(is_pred);
        let has_count = inst.operands.len() > 1 + usize::from(pred.is_some());
        let count = if has_count { Some(self.operand(inst, 1)?) } else { None };
        let dst = self.results(inst)?.first().copied();
        let pred = pred.map(|row| GuardRow { row, negated: false });
        Ok(Exec::Bar { kind, dst, id: self.operand(inst, 0)?, count, pred })
    }

    fn system(&mut self, inst: &Inst) -> Linked<Exec> {
        let dst = self.results(inst)?.first().copied();
        Ok(match inst.op {
            Op::Nop | Op::Nanosleep => Exec::Nop,
            Op::Printf => {
                Exec::Printf { dst, format: self.operand(inst, 0)?, args: self.operand(inst, 1)? }
            }
            Op::AssertFail => Exec::AssertFail {
                message: self.operand(inst, 0)?,
                file: self.operand(inst, 1)?,
                line: self.operand(inst, 2)?,
                function: self.operand(inst, 3)?,
            },
            Op::Malloc => {
                Exec::Malloc { dst: dst.unwrap_or(self.scratch), size: self.operand(inst, 0)? }
            }
            Op::Free => Exec::Free(self.operand(inst, 0)?),
            Op::Trap => Exec::Trap,
            Op::Brkpt => Exec::Breakpoint,
            _ => return Err(LinkErrorKind::Unsupported(inst.op.name())),
        })
    }

    fn term(&mut self, term: &Term) -> Linked<(Exec, Option<GuardRow>)> {
        let guard = |frame: &Self, g: Option<Guard>| g.map(|g| frame.guard(g));
        Ok(match &term.kind {
            TermKind::Fall => (Exec::Nop, None),
            TermKind::Br(b) => (Exec::Br(self.pc(*b)), None),
            TermKind::CondBr(g, b) => (Exec::CondBr(self.pc(*b)), guard(self, Some(*g))),
            TermKind::Switch(index, targets) => {
                let index = self.src(index).ok_or(LinkErrorKind::Operand("switch", 0))?;
                let targets = targets.iter().map(|&b| self.pc(b)).collect();
                (Exec::Switch { index, targets }, None)
            }
            TermKind::MaskBr(test, mask, target) => {
                let mask = match *mask {
                    MaskRef::Exec => MaskBrSrc::Exec,
                    MaskRef::Reg(r) => MaskBrSrc::Reg(self.warp[r.index()]),
                    MaskRef::Pred(r) => MaskBrSrc::Pred(self.rows[r.index()]),
                };
                (Exec::MaskBr { test: *test, mask, target: self.pc(*target) }, None)
            }
            TermKind::Ret(g) => (Exec::Ret, guard(self, *g)),
            TermKind::Exit(g) => (Exec::Exit, guard(self, *g)),
        })
    }
}

impl Program {
    /// A function and all that it may call, each once, itself first.
    pub(crate) fn reachable(&self, function: u32) -> impl Iterator<Item = u32> + use<> {
        let mut found = vec![function];
        let mut seen = vec![false; self.functions.len()];
        let mut next = 0;
        while let Some(&f) = found.get(next) {
            next += 1;
            let Some(info) = self.functions.get(f as usize) else { continue };
            seen[f as usize] = true;
            for &callee in &info.callees {
                if !std::mem::replace(&mut seen[callee as usize], true) {
                    found.push(callee);
                }
            }
        }
        found.into_iter()
    }

    /// The code of a function, by index.
    pub(crate) fn code_of(&self, function: u32) -> &[Code] {
        let Some(info) = self.functions.get(function as usize) else { return &[] };
        &self.code[info.entry.0 as usize..info.end.0 as usize]
    }
}
