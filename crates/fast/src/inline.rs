//! Makes one function of a kernel and the functions that it calls: each call gets a copy of its
//! callee.
//!
//! What the exact engine does at a call is spread over three blocks. The calling block ends with
//! the call ([`Sort::Call`]), which takes its issue. A block of moves follows, without issues: it
//! copies arguments to the copy's parameters and clears registers that the copy may read before it
//! writes them. Lanes that return from the copy ([`Sort::Return`]) wait at a second block of moves
//! for all lanes that were called with them; this block copies results to the caller's registers.
//! So lanes that wait for a call to return stand at a block that nothing else leads to.
//!
//! The flow graph is that of one function: a call goes to its copy, a return to the moves after the
//! call. Lanes that diverge in a copy and return at different places merge at these moves, as under
//! the mechanism. Lanes that *end* in a function would have another reconvergence point than the
//! caller's plan says, so kernels that call such functions are declined.

use crate::Declined;
use flow::analysis::unwritten;
use ir::module::{LocalVar, Signature, Term, TermKind};
use ir::{
    Block, BlockId, FuncId, Function, Guard, Inst, LaneReg, Op, Operand, Reg, RegTy, Symbol, Ty,
};
use std::borrow::Cow;
use std::ops::Range;
use vm::{Program, Setup};

/// The maximum number of instructions, and of registers, of the resulting function.
const MOST: usize = 1 << 16;
/// The maximum nesting depth of calls.
const DEEPEST: usize = 64;

/// The kind of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    /// A block of a function, or a part of one.
    Plain,
    /// Moves that belong to a call; they take no issues.
    Moves,
    /// Ends with a call. Lanes wait for its return at this block.
    Call(u32),
    /// Ends with a return to this block, where the caller's lanes wait.
    Return(u32),
}

/// The origin of a block.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) sort: Sort,
    /// The places of its instructions and of its end.
    pub(crate) places: Range<u64>,
    /// The number of the copy that the block belongs to; the kernel is 0.
    pub(crate) copy: u32,
    /// The block that the copy returns to.
    pub(crate) back: Option<u32>,
    /// Whether the block begins where a block of the original function begins.
    pub(crate) is_head: bool,
}

/// A kernel with all functions that it calls.
pub(crate) struct Inlined<'p> {
    pub(crate) function: Cow<'p, Function>,
    /// The origins of its blocks.
    pub(crate) parts: Vec<Part>,
    /// Bytes of local memory per thread.
    pub(crate) local_bytes: u32,
    /// Whether the kernel calls functions.
    pub(crate) has_calls: bool,
}

impl<'p> Inlined<'p> {
    /// Inlines all calls of a launch's kernel.
    pub(crate) fn new(program: &'p Program, setup: &Setup<'_>) -> Result<Self, Declined> {
        let function = &program.module().functions[setup.kernel as usize];
        let frame = program.frame_size(setup.kernel as usize).unwrap_or_default();
        if !function.blocks.iter().flat_map(|b| &b.insts).any(|i| i.op == Op::Call) {
            let entry = program.entry(setup.kernel as usize).map_or(0, |pc| pc.0);
            let part =
                |places| Part { sort: Sort::Plain, places, copy: 0, back: None, is_head: true };
            let parts = flow::kernel::block_places(function, entry).into_iter().map(part);
            return Ok(Self {
                function: Cow::Borrowed(function),
                parts: parts.collect(),
                local_bytes: frame.local_bytes,
                has_calls: false,
            });
        }
        let mut whole = Function::new(function.name.clone(), function.signature.clone());
        whole.locals.clone_from(&function.locals);
        let whole = Builder {
            program,
            stack_limit: setup.stack_limit,
            whole,
            parts: Vec::new(),
            copies: 0,
            insts: 0,
            local_bytes: frame.local_bytes,
            chain: Vec::new(),
        };
        whole.run(setup.kernel)
    }
}

/// A call that has not been inlined yet.
struct Pending {
    /// The block that ends with the call, and the block after it.
    from: u32,
    behind: u32,
    call: Inst,
    /// The place of the call.
    at: u64,
}

/// Where the registers, variables and memory of a copy begin.
#[derive(Clone, Copy)]
struct Base {
    /// Its first register.
    regs: u32,
    /// Its first local variable, and the address of that.
    locals: u32,
    local_bytes: u32,
    /// Rows of the frames of all callers.
    rows: u64,
}

struct Builder<'p> {
    program: &'p Program,
    stack_limit: u64,
    whole: Function,
    parts: Vec<Part>,
    copies: u32,
    insts: usize,
    local_bytes: u32,
    /// The functions that are being copied, outermost first.
    chain: Vec<u32>,
}

impl<'p> Builder<'p> {
    fn run(mut self, kernel: u32) -> Result<Inlined<'p>, Declined> {
        let regs = &self.program.module().functions[kernel as usize].regs;
        self.whole.regs.clone_from(regs);
        self.copy(kernel, Base { regs: 0, locals: 0, local_bytes: 0, rows: 0 }, None)?;
        Ok(Inlined {
            function: Cow::Owned(self.whole),
            parts: self.parts,
            local_bytes: self.local_bytes,
            has_calls: true,
        })
    }

    /// Copies a function and all functions that it calls. Its returns lead to the block `back`.
    fn copy(&mut self, index: u32, base: Base, back: Option<u32>) -> Result<(), Declined> {
        if self.chain.contains(&index) {
            return Err(Declined::Kernel("it calls functions that call themselves"));
        }
        if self.chain.len() > DEEPEST {
            return Err(Declined::Kernel("its calls are nested too deeply"));
        }
        self.chain.push(index);
        let function = &self.program.module().functions[index as usize];
        let entry = self.program.entry(index as usize).map_or(0, |pc| pc.0);
        let places = flow::kernel::block_places(function, entry);
        let copy = self.copies;
        self.copies += 1;
        let numbers = self.numbers(function);
        let mut pending = Vec::new();
        for (block, places) in function.blocks.iter().zip(places) {
            self.block(block, places, (copy, base, back), &numbers, &mut pending)?;
        }
        for call in pending {
            self.call(call, index, base)?;
        }
        self.chain.pop();
        Ok(())
    }

    /// Numbers the blocks of a function: each call splits a block in two.
    fn numbers(&self, function: &Function) -> Vec<u32> {
        let mut next = self.whole.blocks.len() as u32;
        let number = |block: &Block| {
            let first = next;
            next += 1 + block.insts.iter().filter(|i| i.op == Op::Call).count() as u32;
            first
        };
        function.blocks.iter().map(number).collect()
    }

    fn block(
        &mut self,
        block: &Block,
        places: Range<u64>,
        (copy, base, back): (u32, Base, Option<u32>),
        numbers: &[u32],
        pending: &mut Vec<Pending>,
    ) -> Result<(), Declined> {
        self.insts += block.insts.len() + 1;
        if self.insts > MOST {
            return Err(Declined::Kernel("it becomes too large with what it calls"));
        }
        let (mut insts, mut is_head) = (Vec::new(), true);
        let (mut first, mut at) = (places.start, places.start);
        for inst in &block.insts {
            let inst = rebased(inst, base);
            if inst.op == Op::Call {
                let from = self.whole.blocks.len() as u32;
                pending.push(Pending { from, behind: from + 1, call: inst, at });
                // The target is filled in once the copy exists.
                let places = first..at + 1;
                let part = Part { sort: Sort::Call(0), places, copy, back, is_head };
                self.push(std::mem::take(&mut insts), TermKind::Br(BlockId(from)), part);
                (first, is_head) = (at + 1, false);
            } else {
                insts.push(inst);
            }
            at += 1;
        }
        let (sort, end) = end(&block.term, base, numbers, back);
        let part = Part { sort, places: first..places.end, copy, back, is_head };
        self.push(insts, end, part);
        Ok(())
    }

    fn push(&mut self, insts: Vec<Inst>, end: TermKind, part: Part) {
        self.whole.blocks.push(Block { name: String::new(), insts, term: Term::new(end) });
        self.parts.push(part);
    }

    /// Inlines a call: moves of arguments, the copy, moves of results.
    fn call(&mut self, pending: Pending, caller: u32, base: Base) -> Result<(), Declined> {
        let Pending { from, behind, call, at } = pending;
        let Some(&Operand::Func(FuncId(callee))) = call.operands.first() else {
            return Err(Declined::Kernel("it calls what is not a function"));
        };
        let function = &self.program.module().functions[callee as usize];
        let Signature::Device { params, results } = &function.signature else {
            return Err(Declined::Kernel("it calls a kernel"));
        };
        let cleared = can_be_copied(function)?;
        let own = self.base_of(caller, callee, base)?;
        let arguments = params.iter().zip(call.operands[1..].iter().copied());
        let cleared = cleared.iter().map(|reg| (reg, Operand::Imm(0)));
        let arguments = arguments
            .chain(cleared)
            .map(|(&reg, operand)| {
                let (to, ty) = moved(function, reg, own)?;
                Ok(movement(Reg::Lane(to), ty, operand))
            })
            .collect::<Result<Vec<_>, _>>()?;
        let returned = results.iter().zip(&call.results);
        let returned = returned.filter_map(|(from, to)| Some((from, (*to)?)));
        let returned = returned
            .map(|(&from, to)| {
                let (from, ty) = moved(function, from, own)?;
                Ok(movement(to, ty, Operand::Reg(Reg::Lane(from))))
            })
            .collect::<Result<Vec<_>, _>>()?;
        let entry = self.program.entry(callee as usize).map_or(0, |pc| pc.0);
        let moves = |at| Part {
            sort: Sort::Moves,
            places: at..at,
            copy: u32::MAX,
            back: None,
            is_head: false,
        };
        let first = self.whole.blocks.len() as u32;
        self.push(arguments, TermKind::Fall, moves(entry));
        let copied = self.whole.blocks.len();
        // The block of result moves has no number before the copy is made; returns are patched
        // below.
        self.copy(callee, own, Some(u32::MAX))?;
        let back = self.whole.blocks.len() as u32;
        for (block, part) in self.whole.blocks[copied..].iter_mut().zip(&mut self.parts[copied..]) {
            if part.back == Some(u32::MAX) {
                part.back = Some(back);
            }
            if part.sort == Sort::Return(u32::MAX) {
                part.sort = Sort::Return(back);
                block.term.targets_mut().fill(BlockId(back));
            }
        }
        self.push(returned, TermKind::Br(BlockId(behind)), moves(at + 1));
        self.whole.blocks[from as usize].term.targets_mut().fill(BlockId(first));
        self.parts[from as usize].sort = Sort::Call(back);
        Ok(())
    }

    /// Allocates a frame with the stack check of the exact engine. Without recursion, each call has
    /// one depth, so the check can be made here.
    fn base_of(&mut self, caller: u32, callee: u32, base: Base) -> Result<Base, Declined> {
        let size = |index: u32| self.program.frame_size(index as usize).unwrap_or_default();
        let (caller, frame) = (size(caller), size(callee));
        let rows = base.rows + u64::from(caller.rows);
        let below = base.local_bytes + caller.local_bytes;
        let local_bytes = u64::from(below) + u64::from(frame.local_bytes);
        if 8 * (rows + u64::from(frame.rows)) + local_bytes > self.stack_limit {
            return Err(Declined::Kernel("its calls need more stack than there is"));
        }
        let function = &self.program.module().functions[callee as usize];
        let own = Base {
            regs: self.whole.regs.len() as u32,
            locals: self.whole.locals.len() as u32,
            local_bytes: below,
            rows,
        };
        self.whole.regs.extend_from_slice(&function.regs);
        if self.whole.regs.len() > MOST {
            return Err(Declined::Kernel("it has too many registers with what it calls"));
        }
        let placed = function
            .locals
            .iter()
            .map(|local| LocalVar { offset: local.offset.saturating_add(below), ..local.clone() });
        self.whole.locals.extend(placed);
        self.local_bytes = self.local_bytes.max(u32::try_from(local_bytes).unwrap_or(u32::MAX));
        Ok(own)
    }
}

/// Checks that calls of a function can be inlined. Returns the registers that must be cleared at
/// the call.
fn can_be_copied(function: &Function) -> Result<Vec<LaneReg>, Declined> {
    let graph = flow::kernel::graph_of(function)
        .map_err(|_| Declined::Kernel("it calls a function that has no flow graph"))?;
    let mut returns = false;
    for (b, block) in function.blocks.iter().enumerate() {
        match block.term.kind {
            TermKind::Exit(_) => {
                return Err(Declined::Kernel("it calls functions that end threads"));
            }
            TermKind::Ret(_) => returns |= flow::analysis::Facts::covers(&graph, b),
            _ => {}
        }
    }
    if !returns {
        return Err(Declined::Kernel("it calls functions that do not return"));
    }
    Ok(unwritten(function, &graph))
}

/// Returns the number of a register in a copy, and the type of a move of all its bits.
fn moved(function: &Function, reg: LaneReg, base: Base) -> Result<(LaneReg, Ty), Declined> {
    let ty = match function.regs.get(reg.index()).map(|info| info.ty) {
        Some(RegTy::Pred) => Ty::Pred,
        Some(RegTy::B64) => Ty::B64,
        // Narrower registers are held in 32 bits.
        Some(RegTy::B8 | RegTy::B16 | RegTy::B32) => Ty::B32,
        _ => return Err(Declined::Kernel("it calls functions that need 128-bit values moved")),
    };
    Ok((LaneReg(base.regs + reg.0), ty))
}

fn movement(to: Reg, ty: Ty, from: Operand) -> Inst {
    Inst::new(Op::Mov).ty(ty).result(to).operand(from)
}

/// Renumbers the registers and variables of an instruction for a copy.
fn rebased(inst: &Inst, base: Base) -> Inst {
    let mut inst = inst.clone();
    let lane = |reg: LaneReg| LaneReg(base.regs + reg.0);
    inst.guard = inst.guard.map(|g| Guard { pred: lane(g.pred), ..g });
    for reg in inst.results.iter_mut().flatten() {
        if let Reg::Lane(reg) = reg {
            *reg = lane(*reg);
        }
    }
    inst.operands.iter_mut().for_each(|operand| rebase(operand, base));
    inst
}

fn rebase(operand: &mut Operand, base: Base) {
    match operand {
        Operand::Reg(Reg::Lane(reg)) => reg.0 += base.regs,
        Operand::Symbol(Symbol::Local(local), _) => *local += base.locals,
        _ => {}
    }
}

/// Builds the end of a block of a copy.
fn end(term: &Term, base: Base, numbers: &[u32], back: Option<u32>) -> (Sort, TermKind) {
    let guarded = |g: Guard| Guard { pred: LaneReg(base.regs + g.pred.0), ..g };
    let block = |id: BlockId| BlockId(numbers[id.index()]);
    let kind = match (&term.kind, back) {
        (TermKind::Ret(guard), Some(back)) => {
            let to = BlockId(back);
            let end = guard.map_or(TermKind::Br(to), |g| TermKind::CondBr(guarded(g), to));
            return (Sort::Return(back), end);
        }
        (TermKind::Ret(guard), None) => TermKind::Ret(guard.map(guarded)),
        (TermKind::Exit(guard), _) => TermKind::Exit(guard.map(guarded)),
        (TermKind::Br(to), _) => TermKind::Br(block(*to)),
        (TermKind::CondBr(guard, to), _) => TermKind::CondBr(guarded(*guard), block(*to)),
        (TermKind::Switch(index, targets), _) => {
            let mut index = *index;
            rebase(&mut index, base);
            TermKind::Switch(index, targets.iter().copied().map(block).collect())
        }
        // Kernels that branch on masks are declined before.
        (other, _) => other.clone(),
    };
    (Sort::Plain, kind)
}
