//! The first stage for a launch: what depends on how many threads there are and where their memory
//! lies.
//!
//! What always holds after it, beside what the target has itself:
//!
//! - special registers are `tid.x` and `ctaid.x`, the numbers of a thread in its block and of a
//!   block in its grid, counted over all dimensions;
//! - all accesses are global ones or to parameters. Shared memory is a region of each block, local
//!   memory one of each thread, of variables that are added to the module. Generic addresses are
//!   those of the regions;
//! - there are no calls, collectives, barriers and atomics.
//!
//! A machine runs no more than [`Layout::blocks`] blocks at a time, consecutive ones; block `n` has
//! the regions of `n` modulo that.

use super::Target;
use super::barrier::Peers;
use super::build::{Builder, word};
use super::flow::Flow;
use super::gather::GATHERED;
use super::inline::inline;
use super::spin;
use super::words::missing;
use crate::Missing;
use ir::mods::{Barrier, Space};
use ir::module::{Var, VarId};
use ir::op::Class;
use ir::{
    BlockId, FuncId, Function, Guard, Inst, LaneReg, LocId, Module, Op, Operand, Reg, RegTy, Sreg,
    Symbol, Term, TermKind, Ty,
};
use rustc_hash::FxHashMap;

/// The dimensions of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared: u32,
}

impl Launch {
    /// Threads of a block.
    #[must_use]
    pub fn threads(&self) -> u32 {
        self.block.iter().fold(1, |all: u32, &n| all.saturating_mul(n))
    }

    /// Blocks of the grid.
    #[must_use]
    pub fn blocks(&self) -> u32 {
        self.grid.iter().fold(1, |all: u32, &n| all.saturating_mul(n))
    }

    /// Blocks are numbered by words.
    pub(super) fn check_blocks(&self) -> Result<(), Missing> {
        let blocks = self.grid.iter().fold(1u128, |all, &n| all * u128::from(n));
        if blocks < 1 << 32 {
            return Ok(());
        }
        let what = format!("grids of {blocks} blocks (at most {})", u32::MAX);
        Err(Missing { what, loc: LocId(0) })
    }

    /// Warps of a block.
    #[must_use]
    pub fn warps(&self) -> u32 {
        self.threads().div_ceil(LANES)
    }
}

/// Lanes of a warp.
pub const LANES: u32 = 32;

/// Where a machine runs the blocks of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Blocks that have memory of their own at a time: a power of two.
    pub blocks: u32,
    /// Most bytes of the regions of all blocks.
    pub bytes: u32,
    /// Lanes that run in step: those of the machine's own warps, a power of two up to [`LANES`].
    pub lanes: u32,
    /// Whether warps of a block run in turns, each until it ends or comes to a `nanosleep`.
    pub turns: bool,
    /// Whether the machine has address spaces, atomics and barriers of its own, `warpsync` of all
    /// lanes among them, and runs one block after the other: collectives alone are expanded, and
    /// special registers. No two lanes need run in step.
    pub collectives: bool,
}

impl Layout {
    /// Blocks of a launch that have memory of their own.
    pub(crate) fn slots(&self, launch: &Launch) -> u32 {
        launch.blocks().checked_next_power_of_two().map_or(self.blocks, |n| n.min(self.blocks))
    }
}

/// Rewrites a kernel for a launch; the module gains the variables that it needs.
pub(super) fn launched(
    module: &mut Module,
    kernel: FuncId,
    target: Target,
    launch: &Launch,
    layout: Layout,
) -> Result<(), Missing> {
    let source = inline(module, kernel)?;
    let mut stage = Stage::new(&source, module, target, *launch, layout)?;
    // Where warps run in turns, one that waits for what others store lets them have theirs.
    let waits = match layout.turns && stage.groups() > 1 {
        true => spin::waits(&source),
        false => FxHashMap::default(),
    };
    for (index, block) in (0u32..).zip(&source.blocks) {
        stage.flow.place(super::flow::Label(BlockId(index)));
        stage.flow.name(&block.name);
        for inst in &block.insts {
            stage.builder.stand_for(inst);
            stage.inst(inst)?;
        }
        if let Some(&guard) = waits.get(&BlockId(index)) {
            let mut sleep = Inst::new(Op::Nanosleep).operand(word(0));
            (sleep.guard, sleep.loc) = (guard, block.term.loc);
            stage.builder.keep(sleep);
        }
        stage.finish_block(&block.term);
    }
    let function = stage.finish()?;
    module.functions[kernel.index()] = function;
    Ok(())
}

/// Whether a function has something that this stage expands for a machine whose collectives alone
/// are to be expanded.
pub(super) fn has_collectives(function: &Function, target: Target) -> bool {
    let expands = |inst: &Inst| match inst.op {
        Op::CpAsync => true,
        Op::Sreg => !(target.has)(inst),
        Op::Bar => inst.mods.barrier != Some(Barrier::Sync) || inst.guard.is_some(),
        op => op.info().class == Class::Collective,
    };
    function.blocks.iter().flat_map(|block| &block.insts).any(expands)
}

/// A value that the code computes once, when a thread begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Value {
    /// The thread's number in its block.
    Thread,
    /// The lane in the warp.
    Lane,
    /// The block's number modulo [`Layout::blocks`].
    Slot,
    /// The number of the warp among those of all slots.
    Warp,
    /// The address of the block's shared memory.
    Shared,
    /// The address of the thread's local memory.
    Local,
    /// The address of the words that the lanes of the warp exchange.
    Exchange,
    /// The address of the block's words for barriers.
    Barrier,
    /// The address of what lanes of the warp, or warps of the block, put together.
    Gather(Peers),
    /// How often lanes have exchanged or put together something.
    Round(Peers),
}

impl Value {
    fn name(self) -> String {
        match self {
            Self::Gather(peers) => format!("gather.{peers:?}").to_lowercase(),
            Self::Round(peers) => format!("round.{peers:?}").to_lowercase(),
            other => format!("{other:?}").to_lowercase(),
        }
    }
}

pub(super) struct Stage<'a> {
    pub(super) builder: Builder,
    pub(super) flow: Flow,
    pub(super) module: &'a mut Module,
    pub(super) target: Target,
    pub(super) launch: Launch,
    pub(super) layout: Layout,
    /// Offsets of shared variables, by number, and the bytes of all.
    shared: FxHashMap<VarId, u32>,
    shared_bytes: u32,
    frame_bytes: u32,
    values: FxHashMap<Value, LaneReg>,
    /// The values in the order in which they are computed.
    order: Vec<Value>,
    /// Registers that hold one constant.
    pub(super) constants: FxHashMap<LaneReg, u32>,
    /// Added variables.
    added: FxHashMap<&'static str, (VarId, u32)>,
    /// Where threads end, if a warp has something left to do then.
    pub(super) last: Option<super::flow::Label>,
}

impl<'a> Stage<'a> {
    fn new(
        source: &Function,
        module: &'a mut Module,
        target: Target,
        launch: Launch,
        layout: Layout,
    ) -> Result<Self, Missing> {
        let (shared, shared_bytes) = shared(source, module, launch.shared)?;
        let frame_bytes = source.frame_size().next_multiple_of(16);
        let function = Function { blocks: Vec::new(), ..source.clone() };
        let mut stage = Self {
            builder: Builder::new(function),
            flow: Flow::new(source.blocks.len()),
            module,
            target,
            launch,
            layout,
            shared,
            shared_bytes,
            frame_bytes,
            values: FxHashMap::default(),
            order: Vec::new(),
            constants: constants(source),
            added: FxHashMap::default(),
            last: None,
        };
        if stage.waits(source) {
            stage.last = Some(stage.flow.label());
        }
        Ok(stage)
    }

    fn inst(&mut self, inst: &Inst) -> Result<(), Missing> {
        if matches!(inst.op, Op::CopyCommit | Op::CopyWait) {
            // Copies are done at their place.
            let mut nothing = Inst::new(Op::Nop);
            nothing.guard = inst.guard;
            return self.inst(&nothing);
        }
        if inst.op == Op::Sreg {
            return self.special(inst);
        }
        if let Some(done) = self.collective(inst) {
            return done;
        }
        if self.layout.collectives {
            return self.machines_own(inst);
        }
        match inst.op {
            Op::Ld | Op::St => self.access(inst),
            Op::Atom => self.atomic(inst),
            Op::Fence if !(self.target.has)(inst) => Ok(()),
            Op::CvtaTo | Op::CvtaFrom | Op::IsSpace => self.convert_address(inst),
            Op::Bar => self.barrier(inst),
            Op::CpAsync => self.copy(inst),
            Op::Printf
            | Op::AssertFail
            | Op::Malloc
            | Op::Free
            | Op::Alloca
            | Op::AtomVec
            | Op::BulkCopy
            | Op::TensorCopy
            | Op::BulkCommit
            | Op::BulkWait
            | Op::StAsync
            | Op::RedAsync
            | Op::Tex
            | Op::TexGather
            | Op::TexQuery
            | Op::SurfLoad
            | Op::SurfStore
            | Op::SurfReduce
            | Op::ClusterArrive
            | Op::ClusterWait
            | Op::CallInd => Err(missing(inst, &format!("operation `{}`", inst.op.name()))),
            op if op.is_mbarrier() => Err(missing(inst, &format!("operation `{}`", op.name()))),
            _ => self.keep(inst),
        }
    }

    /// What a machine has that leaves collectives alone to this stage.
    fn machines_own(&mut self, inst: &Inst) -> Result<(), Missing> {
        match inst.op {
            Op::Bar => return self.barrier(inst),
            Op::CpAsync => return self.copy(inst),
            _ => {}
        }
        self.builder.keep(inst.clone());
        Ok(())
    }

    /// The instruction with addresses of variables as they are now.
    fn keep(&mut self, inst: &Inst) -> Result<(), Missing> {
        let inst = self.resolved(inst)?;
        self.builder.keep(inst);
        Ok(())
    }

    /// Addresses of variables among the operands become values.
    pub(super) fn resolved(&mut self, inst: &Inst) -> Result<Inst, Missing> {
        let mut inst = inst.clone();
        for index in 0..inst.operands.len() {
            let Operand::Symbol(symbol, at) = inst.operands[index] else { continue };
            inst.operands[index] = match self.offset(symbol, at) {
                Some(offset) => word(offset),
                None if inst.op == Op::Mov => continue,
                None if matches!(symbol, Symbol::Var(_)) => {
                    let to = self.builder.function.new_reg("address", RegTy::B64);
                    let mov = Inst::new(Op::Mov).ty(Ty::B64).operand(inst.operands[index]);
                    self.builder.emit(mov.result(Reg::Lane(to)));
                    Operand::lane(to)
                }
                None => return Err(missing(&inst, "addresses of functions and parameters")),
            };
        }
        Ok(inst)
    }

    /// The address of a variable in a window.
    pub(super) fn offset(&self, symbol: Symbol, at: i64) -> Option<u32> {
        let base = match symbol {
            Symbol::Var(id) => *self.shared.get(&id)?,
            Symbol::Local(index) => self.builder.function.locals.get(index as usize)?.offset,
            _ => return None,
        };
        Some(base.wrapping_add(at as u32))
    }

    pub(super) fn sizes(&self) -> (u32, u32) {
        (self.shared_bytes, self.frame_bytes)
    }

    /// A value that is computed when a thread begins.
    pub(super) fn begin_with(&mut self, value: Value) -> Operand {
        if let Some(&reg) = self.values.get(&value) {
            return Operand::lane(reg);
        }
        let needs: &[Value] = match value {
            Value::Thread | Value::Slot | Value::Gather(Peers::Block) | Value::Round(_) => &[],
            Value::Lane => &[Value::Thread],
            Value::Warp | Value::Local => &[Value::Thread, Value::Slot],
            Value::Shared | Value::Barrier => &[Value::Slot],
            Value::Exchange | Value::Gather(Peers::Warp) => &[Value::Warp],
        };
        for &need in needs {
            self.begin_with(need);
        }
        let reg = self.builder.function.new_reg(value.name(), RegTy::B32);
        self.values.insert(value, reg);
        self.order.push(value);
        Operand::lane(reg)
    }

    /// Whether the code computes a value when a thread begins.
    pub(super) fn begins_with(&self, value: Value) -> bool {
        self.values.contains_key(&value)
    }

    /// The address of a variable of the module that is added: so many bytes for each of `count`.
    pub(super) fn region(&mut self, name: &'static str, each: u32, count: u32) -> Operand {
        let bytes = each.saturating_mul(count);
        let module = &mut *self.module;
        let entry = self.added.entry(name).or_insert_with(|| {
            module.vars.push(Var {
                name: format!("lowered.{name}"),
                space: Space::Global,
                size: u64::from(bytes),
                align: 16,
                init: Vec::new(),
                relocs: Vec::new(),
                dynamic: false,
            });
            (VarId(module.vars.len() as u32 - 1), bytes)
        });
        Operand::Symbol(Symbol::Var(entry.0), 0)
    }

    /// As [`Stage::region`], with contents.
    pub(super) fn table(&mut self, name: &'static str, bytes: Vec<u8>) -> Operand {
        let operand = self.region(name, bytes.len() as u32, 1);
        if let Operand::Symbol(Symbol::Var(id), _) = operand {
            self.module.vars[id.index()].init = bytes;
        }
        operand
    }

    /// A symbol's address as a word.
    pub(super) fn address(&mut self, symbol: Operand) -> Operand {
        self.builder.op(Op::Mov, Ty::B32, &[symbol])
    }

    fn finish_block(&mut self, term: &Term) {
        let mut term = term.clone();
        let insts = std::mem::take(&mut self.builder.insts);
        if let Some(last) = self.last {
            term.kind = match term.kind {
                TermKind::Ret(None) | TermKind::Exit(None) => TermKind::Br(last.0),
                TermKind::Ret(Some(guard)) | TermKind::Exit(Some(guard)) => {
                    TermKind::CondBr(guard, last.0)
                }
                other => other,
            };
        }
        self.flow.end(insts, term);
    }

    /// Ends the block inside of what stands for an instruction.
    pub(super) fn cut(&mut self, kind: TermKind) {
        let insts = std::mem::take(&mut self.builder.insts);
        self.flow.cut(insts, kind, self.builder.loc());
    }

    /// Lanes where the instruction is off go to a label behind what stands for it.
    pub(super) fn skip(&mut self, inst: &Inst) -> Option<super::flow::Label> {
        let guard = inst.guard?;
        let behind = self.flow.label();
        let not = Guard { negated: !guard.negated, ..guard };
        self.cut(TermKind::CondBr(not, behind.0));
        let plain = Inst { guard: None, ..inst.clone() };
        self.builder.stand_for(&plain);
        Some(behind)
    }

    /// Ends what [`Stage::skip`] began.
    pub(super) fn rejoin(&mut self, behind: Option<super::flow::Label>) {
        if let Some(behind) = behind {
            self.cut(TermKind::Fall);
            self.flow.place(behind);
        }
    }

    fn finish(mut self) -> Result<Function, Missing> {
        let start = Inst::new(Op::Nop);
        self.builder.stand_for(&start);
        if let Some(last) = self.last {
            self.flow.place(last);
            self.flow.name("last");
            self.leave();
            self.cut(TermKind::Ret(None));
        }
        let mut at = 0;
        while let Some(&value) = self.order.get(at) {
            self.compute(value);
            at += 1;
        }
        if self.last.is_some() {
            self.enter();
        }
        self.begin_gathering();
        // What was entered may need more of them.
        let entered = std::mem::take(&mut self.builder.insts);
        let mut before = Vec::new();
        while let Some(&value) = self.order.get(at) {
            self.compute(value);
            at += 1;
        }
        before.append(&mut self.builder.insts);
        before.extend(entered);
        let all: u64 = self.added.values().map(|&(_, bytes)| u64::from(bytes)).sum();
        if all > u64::from(self.layout.bytes) {
            let what = format!(
                "{all} bytes for the memory of the blocks that run at a time (at most {})",
                self.layout.bytes
            );
            return Err(Missing { what, loc: LocId(0) });
        }
        let mut function = self.builder.function;
        if !self.layout.collectives {
            function.locals.clear();
        }
        function.blocks = self.flow.finish(before);
        Ok(function)
    }

    /// Emits the computation of a value.
    fn compute(&mut self, value: Value) {
        let result = self.values[&value];
        let get = |stage: &Self, value: Value| Operand::lane(stage.values[&value]);
        let (threads, warps, slots) =
            (self.launch.threads(), self.launch.warps(), self.layout.blocks);
        let computed = match value {
            Value::Thread => self.builder.op(Op::Sreg, Ty::U32, &[Operand::Sreg(Sreg::TidX)]),
            Value::Lane => {
                let thread = get(self, Value::Thread);
                self.builder.and(thread, word(LANES - 1))
            }
            Value::Slot if self.slots() == 1 => word(0),
            Value::Slot => {
                let block = self.builder.op(Op::Sreg, Ty::U32, &[Operand::Sreg(Sreg::CtaidX)]);
                self.builder.and(block, word(slots - 1))
            }
            Value::Warp => {
                let (thread, slot) = (get(self, Value::Thread), get(self, Value::Slot));
                let first = self.builder.mul(slot, word(warps));
                let within = self.builder.shr(thread, word(5));
                self.builder.add(first, within)
            }
            Value::Shared => {
                let region = self.region("shared", self.shared_bytes, self.slots());
                self.part(region, Value::Slot, self.shared_bytes)
            }
            Value::Local => {
                let (thread, slot) = (get(self, Value::Thread), get(self, Value::Slot));
                let first = self.builder.mul(slot, word(threads));
                let number = self.builder.add(first, thread);
                let at = self.builder.mul(number, word(self.frame_bytes));
                let count = self.slots().saturating_mul(threads);
                let region = self.region("local", self.frame_bytes, count);
                let region = self.address(region);
                self.builder.add(region, at)
            }
            Value::Exchange => {
                let count = self.slots().saturating_mul(warps);
                let bytes = self.exchange_bytes();
                let region = self.region("exchange", bytes, count);
                self.part(region, Value::Warp, bytes)
            }
            Value::Barrier => {
                let bytes = self.barrier_bytes();
                let region = self.region("barrier", bytes, self.slots());
                self.part(region, Value::Slot, bytes)
            }
            Value::Round(_) => word(0),
            Value::Gather(Peers::Block) => {
                let region = self.region("counts", GATHERED, 1);
                self.address(region)
            }
            Value::Gather(Peers::Warp) => {
                let region = self.region("votes", GATHERED, warps);
                self.part(region, Value::Warp, GATHERED)
            }
        };
        self.builder.put(Some(result), computed);
    }

    /// Blocks of the launch that have memory of their own.
    pub(super) fn slots(&self) -> u32 {
        self.layout.slots(&self.launch)
    }

    fn part(&mut self, region: Operand, number: Value, bytes: u32) -> Operand {
        let number = Operand::lane(self.values[&number]);
        let at = self.builder.mul(number, word(bytes));
        let region = self.address(region);
        self.builder.add(region, at)
    }
}

/// Registers of words that one unguarded move of a constant alone writes.
fn constants(function: &Function) -> FxHashMap<LaneReg, u32> {
    let mut out: FxHashMap<LaneReg, Option<u32>> = FxHashMap::default();
    for inst in function.blocks.iter().flat_map(|block| &block.insts) {
        let value = match inst.operands.first() {
            Some(&Operand::Imm(value)) if inst.op == Op::Mov && inst.guard.is_none() => {
                Some(value as u32)
            }
            _ => None,
        };
        for result in inst.results.iter().flatten() {
            if let Reg::Lane(reg) = result {
                out.entry(*reg).and_modify(|known| *known = None).or_insert(value);
            }
        }
    }
    out.into_iter().filter_map(|(reg, value)| Some((reg, value?))).collect()
}

/// Offsets of the shared variables that a kernel names, and the bytes of all: those whose size the
/// launch gives lie behind the others, all at one place.
fn shared(
    function: &Function,
    module: &Module,
    dynamic: u32,
) -> Result<(FxHashMap<VarId, u32>, u32), Missing> {
    let mut offsets = FxHashMap::default();
    let mut end: u64 = 0;
    let operands = || function.blocks.iter().flat_map(|b| &b.insts).flat_map(|i| &i.operands);
    let named = |sized: bool| {
        operands()
            .filter_map(move |operand| match operand {
                Operand::Symbol(Symbol::Var(id), _) => Some(*id),
                _ => None,
            })
            .filter(move |id| {
                let var = &module.vars[id.index()];
                var.space == Space::Shared && var.dynamic != sized
            })
    };
    for id in named(true) {
        let var = &module.vars[id.index()];
        if let std::collections::hash_map::Entry::Vacant(entry) = offsets.entry(id) {
            end = end.next_multiple_of(u64::from(var.align.max(1)));
            entry.insert(end as u32);
            end += var.size;
        }
    }
    end = end.next_multiple_of(16);
    for id in named(false) {
        offsets.insert(id, end as u32);
    }
    end = (end + u64::from(dynamic)).next_multiple_of(16);
    match u32::try_from(end) {
        Ok(end) => Ok((offsets, end)),
        Err(_) => {
            let what = format!("room for {end} bytes of shared memory");
            Err(Missing { what, loc: function.loc })
        }
    }
}
