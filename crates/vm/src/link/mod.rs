//! Linking: from an IR module to code that the engine executes.
//!
//! Functions are laid out one after another, kernels first ([`layout`]), blocks in layout order; a
//! place ([`Pc`]) is an index into that code. An end of block that only falls through takes no
//! place. Rows of a function's frame: its registers in order (128-bit ones take two), one row for
//! each address of a local variable that is used, two scratch rows for discarded results.

mod frame;
mod operations;
mod texture;

use self::frame::Frame;
use crate::calls;
use crate::code::{CallOp, CallTarget, Code, Exec, GuardRow, LaneOp, Rows, Src};
use crate::program::{FuncInfo, LinkError, LinkErrorKind, Program};
use compute::Computation;
use converge::plan::Plan;
use converge::planner::{self, FunctionFlow};
use flow::Cfg;
use flow::analysis::unwritten;
use ir::mods::Space;
use ir::module::Signature;
use ir::{Function, Inst, LocId, Module, Op, Operand, Origin, RegTy, Symbol};
use rustc_hash::FxHashMap;
use simt::Pc;
use smallvec::SmallVec;

impl Program {
    /// Verifies and links a module.
    ///
    /// # Errors
    /// Returns violations of the IR's rules; if there are none, every instruction that the engine
    /// cannot execute.
    pub fn link(module: Module) -> Result<Self, Vec<LinkError>> {
        ir::verify(&module).map_err(|errors| invalid(&module, &errors))?;
        Linker::new(&module).run().map(|mut program| {
            program.module = module;
            program
        })
    }
}

/// Violations as errors of the linker.
fn invalid(module: &Module, errors: &ir::VerifyErrors) -> Vec<LinkError> {
    let error = |e: &ir::verify::VerifyError| {
        let function = e.place.function().and_then(|f| module.functions.get(f.index()));
        LinkError {
            function: function.map(|f| f.name.clone()).unwrap_or_default(),
            loc: e.loc,
            kind: LinkErrorKind::Invalid(Box::new(e.clone())),
        }
    };
    errors.iter().map(error).collect()
}

/// The functions by index in the order of their places: kernels, then the others, both in the order
/// of the file. So the places that mechanisms compare do not depend on which kernels of a file were
/// lowered, nor on whether a compiler wrote callees first.
fn layout(module: &Module) -> Vec<usize> {
    let mut order: Vec<usize> = (0..module.functions.len()).collect();
    order.sort_by_key(|&f| {
        let function = &module.functions[f];
        let kernel = matches!(function.signature, Signature::Kernel { .. });
        (!kernel, module.loc(function.loc).span.start)
    });
    order
}

/// Links one module.
struct Linker<'m> {
    module: &'m Module,
    errors: Vec<LinkError>,
    code: Vec<Code>,
    flows: Vec<(Cfg, Vec<std::ops::Range<u64>>)>,
    scalars: u32,
    masks: u32,
    spills: u32,
    /// Functions whose address is taken.
    addressed: Vec<u32>,
}

type Linked<T> = Result<T, LinkErrorKind>;

impl<'m> Linker<'m> {
    fn new(module: &'m Module) -> Self {
        Self {
            module,
            errors: Vec::new(),
            code: Vec::new(),
            flows: Vec::new(),
            scalars: 0,
            masks: 0,
            spills: 0,
            addressed: Vec::new(),
        }
    }

    fn run(mut self) -> Result<Program, Vec<LinkError>> {
        let module = self.module;
        let order = layout(module);
        let mut linked: Vec<(usize, FuncInfo, bool)> = Vec::with_capacity(order.len());
        for &f in &order {
            let (info, indirect) = self.function(f as u32, &module.functions[f]);
            linked.push((f, info, indirect));
        }
        linked.sort_by_key(|(f, ..)| *f);
        let mut functions = self.complete(linked);
        // An instruction that could not be linked leaves a hole, over which no plan can be made.
        if !self.errors.is_empty() {
            return Err(self.errors);
        }
        calls::set_local_needs(module, &self.addressed, &mut functions);
        let waits = flow::waits::Notes::new(module);
        let notes: Vec<_> = order.iter().map(|&f| waits.blocks(&module.functions[f])).collect();
        let flows: Vec<_> = std::iter::zip(&self.flows, &notes)
            .zip(&order)
            .map(|(((cfg, places), notes), &f)| {
                let written = module.loc(module.functions[f].loc).span.start;
                FunctionFlow { cfg, places, notes, written }
            })
            .collect();
        let plan = match planner::plan(&flows) {
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
            functions,
            plan,
            scalars: self.scalars,
            masks: self.masks,
            spills: self.spills,
            reads_clock,
            addressed: self.addressed,
        })
    }

    /// Says of each function, in order of index, what it calls and names, each once.
    fn complete(&mut self, linked: Vec<(usize, FuncInfo, bool)>) -> Vec<FuncInfo> {
        // Tables of functions, such as those of virtual ones, have their addresses, too.
        let relocs = self.module.vars.iter().flat_map(|var| &var.relocs);
        self.addressed.extend(relocs.filter_map(|reloc| match reloc.symbol {
            Symbol::Func(f) if f.index() < self.module.functions.len() => Some(f.0),
            _ => None,
        }));
        self.addressed.sort_unstable();
        self.addressed.dedup();
        let complete = |(_, mut info, indirect): (usize, FuncInfo, bool)| {
            if indirect {
                info.callees.extend(&self.addressed);
            }
            info.callees.sort_unstable();
            info.callees.dedup();
            info.shared.sort_unstable();
            info.shared.dedup();
            info
        };
        linked.into_iter().map(complete).collect()
    }

    fn error(&mut self, function: &str, loc: LocId, kind: LinkErrorKind) {
        if self.errors.len() < 1000 {
            self.errors.push(LinkError { function: function.to_owned(), loc, kind });
        }
    }

    /// Links a function; returns whether it calls indirectly.
    fn function(&mut self, index: u32, function: &'m Function) -> (FuncInfo, bool) {
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
        let graph = flow::kernel::graph_of(function);
        let (params, results, kernel) = match &function.signature {
            Signature::Kernel { .. } => (Rows::new(), Rows::new(), true),
            Signature::Device { params, results } => {
                (frame.all_rows(params), frame.all_rows(results), false)
            }
        };
        // The file of a kernel is 0 in the beginning.
        let cleared = match &graph {
            Ok(graph) if !kernel => frame.all_rows(&unwritten(function, graph)),
            _ => Rows::new(),
        };
        let ends = frame.block_pcs.iter().skip(1).copied().chain([self.functions_end(&frame)]);
        let places = frame.block_pcs.iter().zip(ends).map(|(first, end)| first.0..end.0).collect();
        match graph {
            Ok(graph) => self.flows.push((graph, places)),
            Err(error) => self.error(&function.name, function.loc, error.into()),
        }
        let mut local_rows: Vec<(u32, i64)> =
            frame.local_rows.iter().map(|(&o, &r)| (r, o)).collect();
        local_rows.sort_unstable();
        let info = FuncInfo {
            entry,
            end: Pc(self.code.len() as u64),
            rows: frame.next_row,
            local_bytes: function.frame_size().next_multiple_of(16),
            local_need: 0,
            local_rows,
            params,
            cleared,
            results,
            kernel,
            callees: frame.callees,
            shared: frame.shared,
            reserved_shared: frame.reserved_shared,
        };
        (info, frame.indirect)
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
            let first = *counter;
            *counter += if r.ty == RegTy::B128 { 2 } else { 1 };
            first
        });
        let warp: Vec<u32> = warp.collect();
        let warp_scratch = self.scalars;
        if !warp.is_empty() {
            self.scalars += 2;
        }
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
            warp_scratch,
            spill_base,
            block_pcs,
            callees: Vec::new(),
            shared: Vec::new(),
            reserved_shared: false,
            indirect: false,
        }
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
                Operand::Sreg(reg) => frame.reserved_shared |= reg.locates_reserved_shared(),
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
        let mut src: SmallVec<[Src; 4]> = SmallVec::new();
        for (i, operand) in inst.operands.iter().enumerate() {
            let ty = inst.operand_slot(i).and_then(|slot| inst.slot_ty(slot));
            frame.flatten(operand, ty, &mut src).map_err(|()| operand_error(inst, i))?;
        }
        let uniform = inst.is_uniform();
        let dst = frame.results(inst)?;
        let computation = Computation::new(inst, frame.result_ty(inst), src.len(), dst.len())
            .ok_or(LinkErrorKind::Unsupported(inst.op.name()))?;
        Ok(Exec::Lanes(LaneOp { computation, dst, src, uniform }))
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
