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

mod addresses;

use self::addresses::FrameRegisters;
use crate::Declined;
use crate::call_graph::CallGraph;
use crate::frames::StackBytes;
use flow::analysis::unwritten;
use ir::mods::Cmp;
use ir::module::{LocalVar, RegInfo, Signature, Term, TermKind};
use ir::{Block, BlockId, Function, Guard, Inst, LaneReg, Op, Operand, Reg, RegTy, Symbol, Ty};
use std::borrow::Cow;
use std::ops::Range;
use vm::{Program, Setup};

/// The maximum number of instructions, and of registers, of the resulting function.
const MOST: usize = 1 << 16;
/// The maximum nesting depth of calls, but for those of functions that call themselves.
pub const MAX_CALL_DEPTH: usize = 64;

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
    /// In place of the block that a function returns to, if it is called from several.
    Dispatch,
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
    /// For a call by address, the addresses of its targets.
    pub(crate) addresses: Vec<u64>,
}

impl Part {
    /// A block at a place, without instructions of the program.
    pub(crate) fn free(sort: Sort, at: u64) -> Self {
        let (copy, back, is_head, addresses) = (u32::MAX, None, false, Vec::new());
        Self { sort, places: at..at, copy, back, is_head, addresses }
    }

    /// Returns whether it has no instructions of the program.
    pub(crate) fn is_free(&self) -> bool {
        matches!(self.sort, Sort::Moves | Sort::Dispatch)
    }
}

/// A kernel with all functions that it calls.
pub(crate) struct Inlined<'p> {
    pub(crate) function: Cow<'p, Function>,
    /// The origins of its blocks.
    pub(crate) parts: Vec<Part>,
    /// Bytes of local memory per thread, and how many of them are in use before functions that have
    /// variables are entered again.
    pub(crate) local_bytes: u32,
    pub(crate) local_reach: u32,
    /// Whether the kernel calls functions.
    pub(crate) has_calls: bool,
}

impl<'p> Inlined<'p> {
    /// Inlines all calls of a launch's kernel.
    pub(crate) fn new(program: &'p Program, setup: &Setup<'_>) -> Result<Self, Declined> {
        let function = &program.module().functions[setup.kernel as usize];
        let frame = program.frame_size(setup.kernel as usize).unwrap_or_default();
        let local_bytes = program.local_bytes(setup.kernel, setup.stack_limit);
        if !function.blocks.iter().flat_map(|b| &b.insts).any(is_call) {
            let entry = program.entry(setup.kernel as usize).map_or(0, |pc| pc.0);
            let part =
                |places| Part { places, copy: 0, is_head: true, ..Part::free(Sort::Plain, 0) };
            let parts = flow::kernel::block_places(function, entry).into_iter().map(part);
            return Ok(Self {
                function: Cow::Borrowed(function),
                parts: parts.collect(),
                local_bytes,
                local_reach: local_bytes,
                has_calls: false,
            });
        }
        let mut whole = Function::new(function.name.clone(), function.signature.clone());
        whole.locals.clone_from(&function.locals);
        let whole = Builder {
            program,
            calls: CallGraph::new(program, setup.kernel),
            stack_limit: setup.stack_limit,
            whole,
            parts: Vec::new(),
            copies: 0,
            insts: 0,
            local_bytes,
            local_reach: frame.local_bytes,
            depth: 0,
            groups: Vec::new(),
            frames: Vec::new(),
        };
        whole.run(setup.kernel)
    }
}

impl Inlined<'_> {
    /// Returns, by block, whether it belongs to a function that may be entered again before it
    /// returns.
    pub(crate) fn reentrant_blocks(&self) -> Vec<bool> {
        let is_dispatch = |back: u32| self.parts[back as usize].sort == Sort::Dispatch;
        self.parts.iter().map(|part| part.back.is_some_and(is_dispatch)).collect()
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
    /// Its block and its index in the original function.
    within: (usize, usize),
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
    /// The registers with addresses in its frame, if the frame has no fixed address because it may
    /// be entered again: an index into [`Builder::frames`].
    frame: Option<usize>,
}

struct Builder<'p> {
    program: &'p Program,
    calls: CallGraph<'p>,
    stack_limit: u64,
    whole: Function,
    parts: Vec<Part>,
    copies: u32,
    insts: usize,
    local_bytes: u32,
    local_reach: u32,
    /// The number of copies that are being made inside each other.
    depth: usize,
    /// The groups of functions that are being copied, outermost first.
    groups: Vec<Vec<Member>>,
    frames: Vec<FrameRegisters>,
}

/// The one copy of a function that its own group calls.
struct Member {
    function: u32,
    base: Base,
    /// The register with the number of the call that its lanes return to.
    site: LaneReg,
    /// The block in place of the one that it returns to.
    dispatch: u32,
    entry: u32,
    /// Blocks of moves from which the copy is entered.
    heads: Vec<u32>,
}

/// A callee of a call, and where its copy is.
struct Callee {
    index: u32,
    own: Base,
    /// The block of moves before the copy.
    head: u32,
    /// For a call from inside the callee's group: the block in place of the one it returns to.
    dispatch: Option<u32>,
}

/// The block that calls return to, until it exists.
const UNKNOWN: u32 = u32::MAX;

impl<'p> Builder<'p> {
    fn run(mut self, kernel: u32) -> Result<Inlined<'p>, Declined> {
        let regs = &self.program.module().functions[kernel as usize].regs;
        self.whole.regs.clone_from(regs);
        let base = Base { regs: 0, locals: 0, local_bytes: 0, rows: 0, frame: None };
        self.copy(kernel, base, None)?;
        Ok(Inlined {
            function: Cow::Owned(self.whole),
            parts: self.parts,
            local_bytes: self.local_bytes,
            // No variables are entered again in frames at fixed addresses.
            local_reach: match self.frames.is_empty() {
                true => self.local_bytes,
                false => self.local_reach.min(self.local_bytes),
            },
            has_calls: true,
        })
    }

    /// Copies a function and all functions that it calls. Its returns lead to the block `back`.
    fn copy(&mut self, index: u32, base: Base, back: Option<u32>) -> Result<(), Declined> {
        for pending in self.body(index, base, back)? {
            self.call(&pending, index, base)?;
        }
        Ok(())
    }

    /// Copies a function; its calls are still to be inlined.
    fn body(
        &mut self,
        index: u32,
        base: Base,
        back: Option<u32>,
    ) -> Result<Vec<Pending>, Declined> {
        let function = &self.program.module().functions[index as usize];
        let entry = self.program.entry(index as usize).map_or(0, |pc| pc.0);
        let places = flow::kernel::block_places(function, entry);
        let copy = self.copies;
        self.copies += 1;
        let numbers = self.numbers(function);
        let mut pending = Vec::new();
        for (b, places) in places.into_iter().enumerate() {
            let block = (function, b, &function.blocks[b]);
            self.block(block, places, (copy, base, back), &numbers, &mut pending)?;
        }
        Ok(pending)
    }

    /// Numbers the blocks of a function: each call splits a block in two.
    fn numbers(&self, function: &Function) -> Vec<u32> {
        let mut next = self.whole.blocks.len() as u32;
        let number = |block: &Block| {
            let first = next;
            next += 1 + block.insts.iter().filter(|i| is_call(i)).count() as u32;
            first
        };
        function.blocks.iter().map(number).collect()
    }

    fn block(
        &mut self,
        (function, number, block): (&Function, usize, &Block),
        places: Range<u64>,
        (copy, base, back): (u32, Base, Option<u32>),
        numbers: &[u32],
        pending: &mut Vec<Pending>,
    ) -> Result<(), Declined> {
        self.grow(block.insts.len() + 1)?;
        let (mut insts, mut is_head) = (Vec::new(), true);
        let (mut first, mut at) = (places.start, places.start);
        for (i, inst) in block.insts.iter().enumerate() {
            let is_call = is_call(inst);
            let inst = self.rebased((function, inst), base);
            if is_call {
                let from = self.whole.blocks.len() as u32;
                let within = (number, i);
                pending.push(Pending { from, behind: from + 1, call: inst, at, within });
                // The target is filled in once the copy exists.
                let places = first..at + 1;
                let sort = Sort::Call(UNKNOWN);
                let part = Part { sort, places, copy, back, is_head, addresses: Vec::new() };
                self.push(std::mem::take(&mut insts), TermKind::Br(BlockId(from)), part);
                (first, is_head) = (at + 1, false);
            } else {
                insts.push(inst);
            }
            at += 1;
        }
        let (sort, end) = end(&block.term, base, numbers, back);
        let places = first..places.end;
        let part = Part { sort, places, copy, back, is_head, addresses: Vec::new() };
        self.push(insts, end, part);
        Ok(())
    }

    /// Counts instructions of the resulting function.
    fn grow(&mut self, insts: usize) -> Result<(), Declined> {
        self.insts += insts;
        match self.insts > MOST {
            true => Err(Declined::Kernel("it becomes too large with what it calls")),
            false => Ok(()),
        }
    }

    fn push(&mut self, insts: Vec<Inst>, end: TermKind, part: Part) {
        self.whole.blocks.push(Block { name: String::new(), insts, term: Term::new(end) });
        self.parts.push(part);
    }

    fn register(&mut self, ty: RegTy) -> LaneReg {
        self.whole.regs.push(RegInfo { name: String::new(), ty });
        LaneReg(self.whole.regs.len() as u32 - 1)
    }

    /// Inlines a call: for each function that it may lead to, moves of arguments and the copy, then
    /// moves of results.
    fn call(&mut self, pending: &Pending, caller: u32, base: Base) -> Result<(), Declined> {
        self.depth += 1;
        if self.depth > MAX_CALL_DEPTH {
            return Err(Declined::Kernel("its calls are nested too deeply"));
        }
        let indices = self.calls.callees(&pending.call);
        // Each callee has moves of arguments and of results.
        self.grow(indices.len() * (pending.call.operands.len() + pending.call.results.len()))?;
        let by_address = pending.call.op == Op::CallInd;
        if indices.is_empty() {
            return Err(Declined::Kernel(match by_address {
                true => "its calls by address may lead to no function, or to too many",
                false => "it calls what is not a function",
            }));
        }
        let selector = by_address.then(|| self.register(RegTy::B32));
        let kept = match indices.iter().any(|&callee| self.is_inner(caller, callee)) {
            true => self.kept(pending, caller, base, selector)?,
            false => Vec::new(),
        };
        let first = self.whole.blocks.len();
        let mut callees = Vec::with_capacity(indices.len());
        for (number, index) in indices.into_iter().enumerate() {
            let selector = selector.map(|reg| (reg, number as u64));
            callees.push(self.callee(pending, (caller, base), index, selector, &kept)?);
        }
        let back = self.whole.blocks.len() as u32;
        let blocks = self.whole.blocks[first..].iter_mut().zip(&mut self.parts[first..]);
        for (block, part) in blocks {
            let targets = block.term.targets_mut().iter_mut();
            targets.filter(|to| to.0 == UNKNOWN).for_each(|to| to.0 = back);
            part.back = part.back.map(|to| if to == UNKNOWN { back } else { to });
            if part.sort == Sort::Return(UNKNOWN) {
                part.sort = Sort::Return(back);
            }
        }
        for callee in &callees {
            if let Some(dispatch) = callee.dispatch {
                self.add_site(dispatch, back);
            }
        }
        let insts = self.results((&pending.call, base), &callees, selector, &kept)?;
        let at = pending.at + 1;
        self.push(insts, TermKind::Br(BlockId(pending.behind)), Part::free(Sort::Moves, at));
        let heads = callees.iter().map(|callee| BlockId(callee.head));
        let (block, part) =
            (&mut self.whole.blocks[pending.from as usize], &mut self.parts[pending.from as usize]);
        part.sort = Sort::Call(back);
        if by_address {
            let address = pending.call.operands[0];
            block.term.kind = TermKind::Switch(address, heads.collect());
            part.addresses =
                callees.iter().map(|callee| vm::function_address(callee.index)).collect();
        } else {
            block.term.targets_mut().fill(BlockId(callees[0].head));
        }
        self.depth -= 1;
        Ok(())
    }

    /// Adds a block that a function may return to.
    fn add_site(&mut self, dispatch: u32, back: u32) {
        if let TermKind::Switch(_, sites) = &mut self.whole.blocks[dispatch as usize].term.kind {
            sites.push(BlockId(back));
        }
    }

    /// Returns whether a call from one function to another stays in the group that is being copied.
    fn is_inner(&self, caller: u32, callee: u32) -> bool {
        let group = self.calls.group(callee);
        group.is_some() && group == self.calls.group(caller)
    }

    fn member(&mut self, function: u32) -> Option<&mut Member> {
        self.groups.last_mut()?.iter_mut().find(|member| member.function == function)
    }

    /// Returns the registers that a caller keeps while its group runs: those that are live behind
    /// the call, the number of the call that it returns to itself, and that of the callee.
    fn kept(
        &mut self,
        pending: &Pending,
        caller: u32,
        base: Base,
        selector: Option<LaneReg>,
    ) -> Result<Vec<LaneReg>, Declined> {
        let function = &self.program.module().functions[caller as usize];
        let live = self.calls.live_after(caller, pending.within)?;
        if live.iter().any(|reg| function.regs[reg.index()].ty == RegTy::B128) {
            return Err(Declined::Kernel("it keeps 128-bit values in calls of themselves"));
        }
        let site = self.member(caller).map(|member| member.site);
        let frame = base.frame.map(|frame| self.frames[frame].start);
        let live = live.into_iter().map(|reg| LaneReg(base.regs + reg.0));
        Ok(live.chain(site).chain(selector).chain(frame).collect())
    }

    /// Adds moves of arguments to a function, and its copy unless its group has one.
    fn callee(
        &mut self,
        pending: &Pending,
        (caller, base): (u32, Base),
        index: u32,
        selector: Option<(LaneReg, u64)>,
        kept: &[LaneReg],
    ) -> Result<Callee, Declined> {
        let function = &self.program.module().functions[index as usize];
        let Signature::Device { params, .. } = &function.signature else {
            return Err(Declined::Kernel("it calls a kernel"));
        };
        let cleared = self.calls.registers_to_clear(index)?;
        let inner = self.is_inner(caller, index);
        let own = match self.member(index).filter(|_| inner) {
            Some(member) => member.base,
            None => self.base_of(caller, index, base)?,
        };
        let mut insts = Vec::new();
        insts.extend(selector.map(|(reg, number)| constant(reg, number)));
        // Registers are kept where any callee of the call is in the caller's group.
        if !kept.is_empty() {
            insts.push(self.save(kept, caller, index, base));
        }
        let arguments = params.iter().zip(pending.call.operands[1..].iter().copied());
        // They may be computed from the parameters themselves.
        let mut late = Vec::new();
        for (&reg, operand) in arguments {
            let (to, ty) = moved(function, reg, own)?;
            if inner {
                let between = self.register(function.regs[reg.index()].ty);
                insts.push(movement(Reg::Lane(between), ty, operand));
                late.push(movement(Reg::Lane(to), ty, Operand::Reg(Reg::Lane(between))));
            } else {
                insts.push(movement(Reg::Lane(to), ty, operand));
            }
        }
        insts.append(&mut late);
        insts.extend(self.enter_frame((caller, base), own)?);
        for &reg in &*cleared {
            let (to, ty) = moved(function, reg, own)?;
            insts.push(movement(Reg::Lane(to), ty, Operand::Imm(0)));
        }
        let head = self.whole.blocks.len() as u32;
        let entry = self.program.entry(index as usize).map_or(0, |pc| pc.0);
        let part = Part::free(Sort::Moves, entry);
        if inner {
            return self.enter_again(index, own, (insts, part));
        }
        self.push(insts, TermKind::Br(BlockId(head + 1)), part);
        if self.calls.group(index).is_some() {
            self.group(index, own, head)?;
        } else {
            self.copy(index, own, Some(UNKNOWN))?;
        }
        Ok(Callee { index, own, head, dispatch: None })
    }

    /// Adds the moves of a call to a function of the group that is being copied.
    fn enter_again(
        &mut self,
        index: u32,
        own: Base,
        (mut insts, part): (Vec<Inst>, Part),
    ) -> Result<Callee, Declined> {
        let head = self.whole.blocks.len() as u32;
        let missing = Declined::Kernel("it calls what is not copied");
        let member = self.member(index).ok_or(missing)?;
        member.heads.push(head);
        let (site, dispatch) = (member.site, member.dispatch);
        let number = self.whole.blocks[dispatch as usize].term.targets().len() as u64;
        insts.push(constant(site, number));
        self.push(insts, TermKind::Br(BlockId(head)), part);
        Ok(Callee { index, own, head, dispatch: Some(dispatch) })
    }

    /// Returns the instruction that keeps registers before a call.
    fn save(&self, kept: &[LaneReg], caller: u32, callee: u32, base: Base) -> Inst {
        let below = StackBytes::of(base.rows, base.local_bytes.into());
        let sizes = [below, self.calls.frame_bytes(caller), self.calls.stack_bytes(callee)];
        let sizes = sizes.into_iter().flat_map(|StackBytes { all, local }| [all, local]);
        let sizes = sizes.map(|bytes| Operand::Imm(bytes.into()));
        let registers = kept.iter().map(|&reg| Operand::Reg(Reg::Lane(reg)));
        sizes.chain(registers).fold(Inst::new(Op::Call), Inst::operand)
    }

    /// Copies a function that calls itself, with all that it calls and that call it: once each.
    /// The moves of the call from outside are in the block `head`.
    fn group(&mut self, entry: u32, own: Base, head: u32) -> Result<(), Declined> {
        let Some(number) = self.calls.group(entry) else { return Ok(()) };
        let mut members = Vec::new();
        for function in self.calls.members(number) {
            let what = &self.program.module().functions[function as usize];
            self.calls.registers_to_clear(function)?;
            let base = match function == entry {
                true => own,
                false => Base {
                    regs: self.registers_of(what)?,
                    frame: own.frame.map(|_| self.frame_registers(what)).transpose()?,
                    ..own
                },
            };
            let site = self.register(RegTy::B32);
            let dispatch = self.whole.blocks.len() as u32;
            let end = TermKind::Switch(Operand::Reg(Reg::Lane(site)), Vec::new());
            let at = self.program.entry(function as usize).map_or(0, |pc| pc.0);
            self.push(Vec::new(), end, Part::free(Sort::Dispatch, at));
            let heads = Vec::new();
            members.push(Member { function, base, site, dispatch, entry: 0, heads });
        }
        if let Some(member) = members.iter_mut().find(|member| member.function == entry) {
            member.heads.push(head);
            let (site, dispatch) = (member.site, member.dispatch);
            self.whole.blocks[head as usize].insts.push(constant(site, 0));
            self.add_site(dispatch, UNKNOWN);
        }
        let list: Vec<_> = members.iter().map(|m| (m.function, m.base, m.dispatch)).collect();
        self.groups.push(members);
        let mut pending = Vec::new();
        for &(function, base, dispatch) in &list {
            let first = self.whole.blocks.len() as u32;
            if let Some(member) = self.member(function) {
                member.entry = first;
            }
            pending.push(self.body(function, base, Some(dispatch))?);
        }
        for ((function, base, _), pending) in list.into_iter().zip(pending) {
            for call in pending {
                self.call(&call, function, base)?;
            }
        }
        for member in self.groups.pop().unwrap_or_default() {
            for head in member.heads {
                let targets = self.whole.blocks[head as usize].term.targets_mut();
                targets.fill(BlockId(member.entry));
            }
        }
        Ok(())
    }

    /// Returns the moves of results behind a call. Those of a copy that may be the caller's own are
    /// taken before the caller's registers are put back.
    fn results(
        &mut self,
        (call, caller): (&Inst, Base),
        callees: &[Callee],
        selector: Option<LaneReg>,
        kept: &[LaneReg],
    ) -> Result<Vec<Inst>, Declined> {
        let (mut early, mut late) = (Vec::new(), Vec::new());
        for (k, to) in call.results.iter().enumerate() {
            let &Some(to) = to else { continue };
            let mut so_far: Option<(LaneReg, Ty)> = None;
            for (number, callee) in callees.iter().enumerate() {
                let function = &self.program.module().functions[callee.index as usize];
                let Signature::Device { results, .. } = &function.signature else { continue };
                let Some(&reg) = results.get(k) else { continue };
                let (from, ty) = moved(function, reg, callee.own)?;
                let between = self.register(function.regs[reg.index()].ty);
                early.push(movement(Reg::Lane(between), ty, Operand::Reg(Reg::Lane(from))));
                so_far = Some(match (so_far, selector) {
                    (Some((other, of)), Some(selector)) if of == ty => {
                        let result = self.register(function.regs[reg.index()].ty);
                        let values = (between, other);
                        late.extend(self.select(selector, number as u64, (result, ty), values));
                        (result, ty)
                    }
                    (Some(_), _) => {
                        return Err(Declined::Kernel("its calls have results of different types"));
                    }
                    (None, _) => (between, ty),
                });
            }
            if let Some((from, ty)) = so_far {
                late.push(movement(to, ty, Operand::Reg(Reg::Lane(from))));
            }
        }
        if !kept.is_empty() {
            let results = kept.iter().map(|&reg| Reg::Lane(reg));
            early.push(results.fold(Inst::new(Op::Call), Inst::result));
            early.extend(self.addresses(caller)?);
        }
        early.append(&mut late);
        Ok(early)
    }

    /// Returns what computes one value where the selector has a number, and another one elsewhere.
    fn select(
        &mut self,
        selector: LaneReg,
        number: u64,
        (to, ty): (LaneReg, Ty),
        (yes, no): (LaneReg, LaneReg),
    ) -> Vec<Inst> {
        let holds = self.register(RegTy::Pred);
        let reg = |reg| Operand::Reg(Reg::Lane(reg));
        let mut test = Inst::new(Op::Setp).ty(Ty::U32).result(Reg::Lane(holds));
        test = test.operand(reg(selector)).operand(Operand::Imm(number.into()));
        test.mods.cmp = Some(Cmp::Eq);
        let compute = |op, a, b| {
            let inst = Inst::new(op).ty(ty).result(Reg::Lane(to));
            inst.operand(reg(a)).operand(reg(b))
        };
        if ty == Ty::Pred {
            let differs = compute(Op::Xor, yes, no);
            return vec![test, differs, compute(Op::And, to, holds), compute(Op::Xor, to, no)];
        }
        vec![test, compute(Op::Selp, yes, no).operand(reg(holds))]
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
        let locals = self.whole.locals.len() as u32;
        let regs = self.registers_of(function)?;
        let frame = match base.frame.is_some() || self.has_frames(callee) {
            true => Some(self.frame_registers(function)?),
            false => None,
        };
        let own = Base { regs, locals, local_bytes: below, rows, frame };
        if frame.is_some() {
            return Ok(Base { locals: 0, ..own });
        }
        let placed = function
            .locals
            .iter()
            .map(|local| LocalVar { offset: local.offset.saturating_add(below), ..local.clone() });
        self.whole.locals.extend(placed);
        let reach = u32::try_from(local_bytes).unwrap_or(u32::MAX);
        debug_assert!(reach <= self.local_bytes, "more than the exact engine has");
        self.local_reach = self.local_reach.max(reach);
        Ok(own)
    }

    /// Adds the registers of a function, and returns the number of the first one.
    fn registers_of(&mut self, function: &Function) -> Result<u32, Declined> {
        let first = self.whole.regs.len() as u32;
        self.whole.regs.extend_from_slice(&function.regs);
        if self.whole.regs.len() > MOST {
            return Err(Declined::Kernel("it has too many registers with what it calls"));
        }
        Ok(first)
    }
}

/// Returns whether an instruction calls a function.
pub(crate) fn is_call(inst: &Inst) -> bool {
    matches!(inst.op, Op::Call | Op::CallInd)
}

fn constant(to: LaneReg, value: u64) -> Inst {
    movement(Reg::Lane(to), Ty::B32, Operand::Imm(value.into()))
}

/// Checks that calls of a function can be inlined. Returns the registers that must be cleared at
/// the call.
pub(crate) fn can_be_copied(function: &Function) -> Result<Vec<LaneReg>, Declined> {
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
