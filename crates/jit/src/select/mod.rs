//! Instruction selection: functions of the vector IR as machine instructions on virtual registers.
//!
//! A row is some vectors, a mask some registers. Constants have no registers: they are operands in
//! the constant pool. What depends on the level of vector instructions is behind the traits of
//! `level`; everything else is here, once.

mod avx2;
mod avx512;
mod barriers;
mod counts;
mod detail;
mod level;
mod masks;
mod memory;
mod notes;
mod rows;
mod scalars;
mod screened;
mod stack;
mod stubs;
mod turns;

use crate::Refused;
use crate::access_groups::AccessGroup;
use crate::asm::{Asm, Encoded, Label};
use crate::features::Features;
use crate::frame::Frame;
use crate::histograms::IssueCells;
use crate::layout::LayoutSite;
use crate::machine_code::{Entries, Facts, KeptAt, MachineCode, ResumePoint};
use crate::pool::Pool;
use crate::screen_log::{ExemptSite, LogSite};
use crate::translated::{interpreted, translate};
use crate::vcode::{Block, Compiler, Function, Mem, Resume, VReg, View};
use avx2::{Avx2, Waiting};
use avx512::Avx512;
use fast::code::{Code, Kind};
use fast::{Level, Order};
use iced_x86::Code as Op;
use ir::mods::Space;
use level::{Codes, Patterns};
use rustc_hash::{FxHashMap, FxHashSet};
use screened::{ExemptGroup, ExemptLoads};
use smallvec::SmallVec;
pub(crate) use stubs::{CtaBegin, Shared};
use turns::{Kept, Point};
use vector::{BlockCounts, Condition, Scale, Sreg, Terminator, Type, Value};

/// Code outside of functions that they go to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outside {
    /// The turn of the warp is over, and its state is in its seat.
    pub(crate) next: Label,
    /// Calls: of the interpreter for a step and for the end of a block, for the exit of lanes, to
    /// release a barrier.
    pub(crate) step: Label,
    pub(crate) end: Label,
    pub(crate) exit: Label,
    pub(crate) release: Label,
    /// Call: of the host to find a layout.
    pub(crate) find: Label,
    /// Calls that count an access by its pattern and preserve all registers.
    pub(crate) notes: [Label; 4],
    /// Call that has the host judge the log of a screened launch and preserves all registers.
    pub(crate) judge: Label,
    /// Ends of turns: at a back-edge, at a barrier.
    pub(crate) turn_end: Label,
    pub(crate) barrier_wait: Label,
}

/// A selected function.
pub(crate) struct Selected {
    pub(crate) function: Function,
    /// Counts of the executions of blocks, by number of their counter.
    pub(crate) counts: Vec<BlockCounts>,
    /// Steps that read special registers into scalars, and into rows.
    pub(crate) sregs: Vec<u32>,
    pub(crate) sreg_rows: Vec<u32>,
    /// Steps that keep the region of their last global access, in the order of its entries.
    pub(crate) region_steps: Vec<u32>,
    /// Rows of addresses whose layouts are kept.
    pub(crate) layout_sites: Vec<LayoutSite>,
    /// What launches in detail count by place, and accesses that they count together.
    issue_cells: Vec<IssueCells>,
    access_groups: Vec<AccessGroup>,
    /// Places where screened launches log accesses, and which of these are exempt together.
    log_sites: Vec<LogSite>,
    exempt_sites: Vec<ExemptSite>,
    /// Points where warps stand between turns.
    points: Vec<Point>,
    /// Blocks of the kernel's steps.
    block_of: Vec<u32>,
}

/// The registers of a mask.
type Mask = SmallVec<[VReg; 2]>;

/// What accesses have in common whose words lie at the same addresses but for constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct LocatedBy {
    lanes: Value,
    base: Value,
    numbers: Value,
    scale: Option<Scale>,
    space: Space,
    bytes: u8,
    /// The step, if no other one may access the words there.
    step: Option<u32>,
    /// Whether the accesses have footprints: others may not access regions without claims.
    has_footprint: bool,
}

/// Where the words of accesses lie.
#[derive(Clone, Copy, Debug)]
struct Located {
    /// The host addresses of the first words of both halves at the least of the accesses' offsets;
    /// 0 if they are not known.
    halves: [VReg; 2],
    /// The number of the layout.
    site: usize,
    /// The least and the greatest of the accesses' offsets.
    first: i64,
    last: i64,
    expected: Option<Expected>,
}

/// How words are expected to be accessed.
#[derive(Clone, Copy, Debug)]
struct Expected {
    /// One of [`crate::layout::kind`], of loads or of stores.
    kind: u32,
    stores: bool,
    /// Not 0 if the words are located, and accessed so.
    is_met: VReg,
}

/// A value in registers.
#[derive(Clone, Debug)]
enum Place {
    Scalar(VReg),
    Row(SmallVec<[VReg; 4]>),
    Mask(Mask),
    /// A constant: a scalar, all lanes of a row, or a mask.
    Const(u64),
}

struct Selector<'c> {
    codes: &'static Codes,
    f: Function,
    pool: &'c mut Pool,
    code: &'c Code,
    source: &'c vector::Function,
    features: Features,
    /// Whether launches run in detail.
    detailed: bool,
    /// Whether the kernel reads clocks.
    reads_clock: bool,
    outside: Outside,
    places: Vec<Option<Place>>,
    /// Number of uses of each value.
    uses: Vec<u32>,
    /// By value, whether it is the same in all lanes by what it is computed from: one part of it is
    /// computed, and serves as the others.
    uniform: Vec<bool>,
    /// By value and width of lanes (32, 64 bits), whether something else than splats into such
    /// lanes uses it: otherwise a load can broadcast it.
    not_splat: Vec<[bool; 2]>,
    broadcasts: FxHashMap<Value, VReg>,
    /// By value, whether it is an operation that the selection which uses it carries out.
    masked: Vec<bool>,
    /// The mask of the selection that the next operation is a part of, and what other lanes keep;
    /// zeros if there is nothing.
    under: Option<(VReg, Option<VReg>)>,
    /// The instruction that defines a value.
    defined: Vec<Option<vector::Inst>>,
    blocks: Vec<Block>,
    /// Blocks of the kernel's steps, and loop depths of these.
    block_of: Vec<u32>,
    depths: Vec<u32>,
    /// Quarters of masks, in the current block: each in the low 8 bits, others may be anything.
    quarters: FxHashMap<Value, [VReg; 4]>,
    /// Operations that are not selected yet.
    waiting: Waiting,
    counts: Vec<BlockCounts>,
    sregs: Vec<u32>,
    sreg_rows: Vec<u32>,
    region_steps: Vec<u32>,
    layout_sites: Vec<LayoutSite>,
    issue_cells: Vec<IssueCells>,
    access_groups: Vec<AccessGroup>,
    log_sites: Vec<LogSite>,
    exempt_sites: Vec<ExemptSite>,
    /// Loads of which is known since the beginning of the block, or of the turn, whether they are
    /// exempt.
    exempt_loads: FxHashMap<ExemptLoads, ExemptGroup>,
    /// Steps in the current block whose accesses are counted with those of other ones.
    grouped: FxHashSet<u32>,
    /// The lanes of masks in general registers, for counts of accesses in the current block.
    lane_bits: FxHashMap<Value, VReg>,
    /// Words that are located since the turn began, on all paths to the current place.
    located: FxHashMap<LocatedBy, Located>,
    /// The same at the end of each block that has been selected.
    located_after: Vec<Option<FxHashMap<LocatedBy, Located>>>,
    /// The offsets of accesses to shared memory and parameters, by what they are located by.
    offsets: FxHashMap<(Value, Space, u8), Vec<i64>>,
    /// By block: the blocks before it.
    predecessors: Vec<Vec<vector::Block>>,
    /// The block and the index of parameters that are masks.
    mask_params: FxHashMap<Value, (vector::Block, usize)>,
    /// By block, whether a loop begins with it, or it is the entry.
    is_header: Vec<bool>,
    /// The instructions that follow in the block.
    ahead: &'c [vector::Inst],
    points: Vec<Point>,
    refused: Option<Refused>,
}

/// Selects instructions for a function.
///
/// # Errors
/// Returns [`Refused`] if the host lacks an instruction that the function needs.
pub(crate) fn select(
    source: &vector::Function,
    code: &Code,
    (features, detailed): (Features, bool),
    pool: &mut Pool,
    outside: Outside,
) -> Result<Selected, Refused> {
    let codes = match features.level {
        Level::Avx512 => &avx512::CODES,
        _ => &avx2::CODES,
    };
    let mut selector = Selector {
        codes,
        f: Function::new(codes.level),
        pool,
        code,
        source,
        features,
        detailed,
        reads_clock: code.steps.iter().any(|step| matches!(step.kind, Kind::Clock { .. })),
        outside,
        places: vec![None; source.value_count()],
        uses: vec![0; source.value_count()],
        uniform: vec![false; source.value_count()],
        not_splat: vec![[false; 2]; source.value_count()],
        broadcasts: FxHashMap::default(),
        masked: vec![false; source.value_count()],
        under: None,
        defined: vec![None; source.value_count()],
        blocks: Vec::new(),
        block_of: code.block_of_steps(),
        depths: code.loop_depths(),
        quarters: FxHashMap::default(),
        waiting: Waiting::default(),
        counts: Vec::new(),
        sregs: Vec::new(),
        sreg_rows: Vec::new(),
        region_steps: Vec::new(),
        layout_sites: Vec::new(),
        issue_cells: Vec::new(),
        access_groups: Vec::new(),
        log_sites: Vec::new(),
        exempt_sites: Vec::new(),
        exempt_loads: FxHashMap::default(),
        grouped: FxHashSet::default(),
        lane_bits: FxHashMap::default(),
        located: FxHashMap::default(),
        located_after: vec![None; source.block_count()],
        offsets: FxHashMap::default(),
        predecessors: vec![Vec::new(); source.block_count()],
        mask_params: FxHashMap::default(),
        is_header: vec![false; source.block_count()],
        ahead: &[],
        points: Vec::new(),
        refused: None,
    };
    selector.function();
    if let Some(refused) = selector.refused.take() {
        return Err(refused);
    }
    Ok(Selected {
        function: selector.f,
        counts: selector.counts,
        sregs: selector.sregs,
        sreg_rows: selector.sreg_rows,
        region_steps: selector.region_steps,
        layout_sites: selector.layout_sites,
        issue_cells: selector.issue_cells,
        access_groups: selector.access_groups,
        log_sites: selector.log_sites,
        exempt_sites: selector.exempt_sites,
        points: selector.points,
        block_of: selector.block_of,
    })
}

/// Compiles a kernel for launches that run the sides of branches in an order.
///
/// # Errors
/// Returns [`Refused`] if there is no code for the kernel.
pub(crate) fn compile(
    code: &Code,
    features: Features,
    order: Order,
    detailed: bool,
) -> Result<MachineCode, Refused> {
    let source = translate(code, order, detailed)?;
    let (mut asm, mut pool) = (Asm::default(), Pool::default());
    let shared = Shared::new(&mut asm);
    let levels = (features, detailed);
    let selected = select(&source, code, levels, &mut pool, shared.outside)?;
    let compiled = Compiler::new(features.level).compile(&selected.function, &mut asm)?;
    let sregs_bytes = (8 * selected.sregs.len()) as i32;
    let begin = CtaBegin { entry: code.entry, sregs_bytes };
    let entry = (compiled.entry, &begin);
    shared.emit(&mut asm, entry, features.level, (detailed, code.screened.is_some()));
    let encoded = asm.encode().map_err(Refused::Encoding)?;
    let entries = entries(&encoded, &shared)?;
    Ok(MachineCode {
        bytes: encoded.bytes,
        pool: pool.finish(),
        entries,
        facts: Facts {
            block_of: selected.block_of,
            interpreted: interpreted(&source, code),
            sregs: selected.sregs,
            sreg_rows: selected.sreg_rows,
            region_steps: selected.region_steps,
            layout_sites: selected.layout_sites,
            seat_bytes: compiled.seat_bytes,
            block_counts: selected.counts,
            resume_points: resume_points(&selected.points, &compiled.resumes),
            issue_cells: selected.issue_cells,
            access_groups: selected.access_groups,
            log_sites: selected.log_sites,
            exempt_sites: selected.exempt_sites,
        },
    })
}

/// Returns where the code of a kernel begins.
fn entries(code: &Encoded, shared: &Shared) -> Result<Entries, Refused> {
    let lost = || Refused::Encoding("a label was lost".to_owned());
    let offset = |label| code.offset(label).ok_or_else(lost);
    Ok(Entries::Visit {
        enter: offset(shared.enter)?,
        first: offset(shared.first)?,
        fresh: offset(shared.fresh)?,
        again: offset(shared.again)?,
    })
}

/// Returns the machine instructions, with virtual registers, of a kernel by way of the vector IR.
///
/// # Errors
/// Returns [`Refused`] if there is no such code for the kernel.
pub(crate) fn listing(code: &Code, features: Features) -> Result<String, Refused> {
    let source = translate(code, Order::Taken, false)?;
    let (mut asm, mut pool) = (Asm::default(), Pool::default());
    let shared = Shared::new(&mut asm);
    let selected = select(&source, code, (features, false), &mut pool, shared.outside)?;
    Ok(selected.function.to_string())
}

/// Returns the points where warps stand, with the places of values there.
fn resume_points(points: &[Point], resumes: &[Resume]) -> Vec<ResumePoint> {
    let point = |point: &Point| ResumePoint { after: point.step, kept: Vec::new() };
    let mut list: Vec<ResumePoint> = points.iter().map(point).collect();
    for resume in resumes {
        let point = resume.name as usize;
        let mut places = resume.recorded.iter().copied();
        for (home, kept) in &points[point].values {
            let at = match kept {
                Kept::Const(bits) => KeptAt::Const(*bits),
                Kept::Parts(count) => KeptAt::Seat(places.by_ref().take(*count).collect()),
            };
            list[point].kept.push((*home, at));
        }
    }
    list
}

impl Selector<'_> {
    /// Calls a function with the patterns of the level.
    fn level<R>(&mut self, f: impl FnOnce(&mut dyn Patterns) -> R) -> R {
        match self.codes.level {
            Level::Avx512 => f(&mut Avx512(self)),
            _ => f(&mut Avx2(self)),
        }
    }

    fn function(&mut self) {
        let source = self.source;
        let order = source.reverse_postorder();
        for &block in &order {
            let data = source.block(block);
            for &inst in &data.insts {
                let data = source.inst(inst);
                data.args.iter().for_each(|v| self.uses[v.index()] += 1);
                let splat = data.op == vector::Op::Splat;
                let wide = splat && source.ty(data.results[0]) == Type::Row64;
                for arg in &data.args {
                    let other = &mut self.not_splat[arg.index()];
                    *other = [other[0] || !splat || wide, other[1] || !splat || !wide];
                }
                data.results.iter().for_each(|v| self.defined[v.index()] = Some(inst));
            }
            data.end.uses(|v| {
                self.uses[v.index()] += 1;
                self.not_splat[v.index()] = [true; 2];
            });
        }
        for &block in &order {
            self.find_masked(&source.block(block).insts);
            for &inst in &source.block(block).insts {
                // Such a conjunction is a part of the comparison.
                let data = source.inst(inst);
                if let vector::Op::Test(test) = data.op
                    && self.uses[data.args[0].index()] == 1
                    && self.bit_test(test, &data.args).is_some()
                {
                    self.uses[data.args[0].index()] = 0;
                }
            }
        }
        for &block in &order {
            if let Terminator::Branch(Condition::Bit(bit), ..) = source.block(block).end {
                self.leave_to_branch(bit);
            }
        }
        if self.codes.level == Level::Avx2 {
            self.find_uses_of_masks();
        }
        self.find_predecessors(&order);
        self.find_offsets();
        let entry = vector::Function::ENTRY;
        let start = self.f.block(&[]);
        for (block, data) in source.blocks() {
            if block == entry {
                self.blocks.push(start);
                continue;
            }
            let list: SmallVec<[View; 16]> =
                data.params.iter().flat_map(|&p| self.codes.views(source.ty(p))).copied().collect();
            let new =
                if self.is_cold(data) { self.f.cold_block(&list) } else { self.f.block(&list) };
            self.blocks.push(new);
            let mut next = 0;
            for &param in &data.params {
                let count = self.codes.views(source.ty(param)).len();
                let list: SmallVec<[VReg; 4]> =
                    (next..next + count).map(|i| self.f.param(new, i)).collect();
                next += count;
                self.places[param.index()] = Some(self.place(source.ty(param), list));
            }
        }
        for &block in &order {
            self.f.begin(self.blocks[block.index()]);
            self.quarters.clear();
            self.lane_bits.clear();
            self.grouped.clear();
            self.located = self.located_before(block);
            self.exempt_loads.clear();
            self.begin_block(block);
            if block == entry {
                self.launched(source.block(block).params[0]);
            }
            let insts = &source.block(block).insts;
            for (index, &inst) in insts.iter().enumerate() {
                self.ahead = &insts[index + 1..];
                self.inst(inst);
            }
            self.select_waiting();
            self.end(&source.block(block).end);
            self.located_after[block.index()] = Some(std::mem::take(&mut self.located));
        }
    }

    fn place(&self, ty: Type, list: SmallVec<[VReg; 4]>) -> Place {
        match ty {
            Type::Scalar => Place::Scalar(list[0]),
            Type::Mask => Place::Mask(list.into_iter().collect()),
            _ => Place::Row(list),
        }
    }

    /// Returns whether a block is left to the interpreter for the most part.
    fn is_cold(&self, data: &vector::BlockData) -> bool {
        let step = |&i: &vector::Inst| match &self.source.inst(i).op {
            vector::Op::Interpret(step) => Some(step.step as usize),
            _ => None,
        };
        data.insts
            .iter()
            .filter_map(step)
            .any(|step| vector::translate::has_own_form(&self.code.steps[step].kind))
    }

    fn inst(&mut self, inst: vector::Inst) {
        let data = self.source.inst(inst);
        let result = data.results.first().copied();
        if data.op.is_pure() && result.is_some_and(|r| self.uses[r.index()] == 0) {
            return;
        }
        if self.codes.level == Level::Avx2 && self.wait(inst) {
            return;
        }
        self.select_now(inst);
    }

    fn select_now(&mut self, inst: vector::Inst) {
        use vector::Op as V;
        let data = self.source.inst(inst);
        let (args, results) = (&data.args, &data.results);
        let result = results.first().copied();
        self.note_uniform(data);
        match &data.op {
            V::Line(_)
            | V::Lanes(_)
            | V::Convert(_)
            | V::Test(_)
            | V::Unordered
            | V::Select
            | V::Low
            | V::ZeroExtend
            | V::SignExtend
            | V::RowOfMask => self.level(|l| l.operation(data)),
            V::Const(bits) => self.put(result, Place::Const(*bits)),
            V::MaskConst(bits) => self.put(result, Place::Const((*bits).into())),
            V::Splat => self.splat(args[0], result),
            V::Sreg(sreg) => self.sreg(*sreg, result),
            V::Clock(ahead) => self.clock(*ahead, result),
            V::First => self.first(args[0], result),
            V::LaneConst(lanes) => self.level(|l| l.lane_const(lanes, result)),
            V::Permute => self.level(|l| l.permute(args, result)),
            V::Reduce(op) => self.level(|l| l.reduce(*op, args[0], result)),
            V::Match => self.level(|l| l.match_lanes(args, result)),
            V::Live => self.live(result),
            V::LowestBit => self.lowest_bit(args[0], result),
            V::MaskOfScalar => self.mask_of_scalar(args[0], result),
            V::Mask(op) => self.mask_logic(*op, args, result),
            V::Population => self.population(args[0], result),
            V::PopulationIfAny => self.population_if_any(args[0], result),
            V::IsNonzero => self.is_nonzero(args[0], result),
            V::Bits => {
                let bits = self.mask_bits(args[0]);
                self.put_scalar(result, bits);
            }
            V::MaskOfBits => {
                let bits = self.s(args[0]);
                let mask = self.level(|l| l.mask_of(bits));
                self.put(result, Place::Mask(mask));
            }
            V::Scalar(native) => self.scalar_op(*native, args, result),
            V::Wraps(signed, stride) => self.wraps(*signed, *stride, args[0], result),
            V::Load(access) => {
                self.log_access(access, args);
                self.load(access, args, results);
            }
            V::Store(access) => {
                self.log_access(access, args);
                self.store(access, args);
            }
            V::Atomic(atomic) => {
                self.log_access(&atomic.access, args);
                self.atomic(atomic, args, results);
            }
            V::AtomicTotal(atomic) => {
                self.log_access(&atomic.access, args);
                self.atomic_total(atomic, args);
            }
            V::Copy(copy) => self.copy(copy, args),
            V::Interpret(step) => self.interpret(step, args, results),
            V::InterpretEnd(end) => self.interpret_end(end, args, results),
            V::Stack(op) => self.stack(*op, args, results),
            V::FirstLane => self.first_lane(args, result),
            V::Barrier(barrier) => {
                self.located.clear();
                self.exempt_loads.clear();
                self.barrier(barrier, args, result);
            }
            V::LoadHome(home) => {
                if let Some(result) = result {
                    self.load_home(*home, result);
                }
            }
            V::StoreHome(home) => self.store_home(*home, args[0]),
            V::Await(wait) => {
                self.located.clear();
                self.exempt_loads.clear();
                self.wait_after_step(wait, args, results);
            }
            V::BackEdge(standing) => {
                self.located.clear();
                self.exempt_loads.clear();
                self.back_edge(standing, args);
            }
            V::Exit => self.exit(args[0]),
            V::Count(counts) => self.count(*counts, args),
            V::CountOff(step) => self.count_off(*step, args),
            V::CountEndOff(steps) => self.count_end_off(*steps, args),
            V::Bump(counter, by) => self.add_constant_to(*counter, *by),
            V::BumpBy(counter) => self.add_scalar(*counter, args[0]),
            V::Height(known) => self.raise(Frame::MAX_HEIGHT, *known, args),
            V::Depth(known) => self.raise(Frame::MAX_DEPTH, *known, args),
        }
    }

    fn put(&mut self, result: Option<Value>, place: Place) {
        if let Some(result) = result {
            self.places[result.index()] = Some(place);
        }
    }

    fn put_row(&mut self, result: Option<Value>, list: impl IntoIterator<Item = VReg>) {
        let Some(value) = result else { return };
        let mut list: SmallVec<[VReg; 4]> = list.into_iter().collect();
        // Of a row that is the same in all lanes, there may be one part.
        if let &[only] = &list[..] {
            list = SmallVec::from_elem(only, self.parts(value));
        }
        self.put(result, Place::Row(list));
    }

    fn put_scalar(&mut self, result: Option<Value>, register: VReg) {
        self.put(result, Place::Scalar(register));
    }

    /// Refuses the function.
    fn refuse(&mut self, refused: Refused) {
        self.refused.get_or_insert(refused);
    }

    /// Returns a constant scalar or row, if the value is one.
    fn known(&self, value: Value) -> Option<u64> {
        match self.places[value.index()] {
            Some(Place::Const(bits)) => Some(bits),
            _ => None,
        }
    }

    /// Returns a scalar in a register.
    fn s(&mut self, value: Value) -> VReg {
        if self.is_waiting(value) {
            self.select_waiting();
        }
        match self.places[value.index()] {
            Some(Place::Scalar(register)) => register,
            Some(Place::Const(bits)) => self.f.constant(bits),
            _ => {
                self.refuse(Refused::Unsound);
                self.f.constant(0)
            }
        }
    }

    /// Returns a mask in registers.
    fn mask(&mut self, value: Value) -> Mask {
        if self.is_waiting(value) {
            self.select_waiting();
        }
        match &self.places[value.index()] {
            Some(Place::Mask(mask)) => mask.clone(),
            Some(Place::Const(bits)) => {
                let bits = *bits as u32;
                self.level(|l| l.mask_const(bits))
            }
            _ => {
                self.refuse(Refused::Unsound);
                self.level(|l| l.mask_const(0))
            }
        }
    }

    /// Returns the lanes of a mask in a general register.
    fn mask_bits(&mut self, value: Value) -> VReg {
        if let Some(bits) = self.known(value) {
            return self.f.constant(bits & 0xffff_ffff);
        }
        let mask = self.mask(value);
        self.level(|l| l.bits_of(mask))
    }

    /// Returns the registers of a value, for a block parameter.
    fn registers(&mut self, value: Value) -> SmallVec<[VReg; 4]> {
        match self.source.ty(value) {
            Type::Scalar => SmallVec::from_slice(&[self.s(value)]),
            Type::Mask => self.mask(value).into_iter().collect(),
            _ => (0..self.parts(value)).map(|part| self.v(value, part)).collect(),
        }
    }

    /// The lanes that were launched, at the entry.
    fn launched(&mut self, value: Value) {
        let context = self.f.def(Op::Mov_r64_rm64, View::R64, (Mem::frame(Frame::WARP),));
        let live = Mem::at(context, crate::warp_context::WarpContext::LIVE);
        let live = self.f.def(Op::Mov_r32_rm32, View::R32, (live,));
        let mask = self.level(|l| l.mask_of(live));
        self.put(Some(value), Place::Mask(mask));
    }

    fn sreg(&mut self, sreg: Sreg, result: Option<Value>) {
        use crate::warp_context::WarpContext;
        let Some(value) = result else { return };
        if self.source.ty(value) == Type::Scalar {
            let index = index_of(&mut self.sregs, sreg.step);
            let by_warp = vector::translate::is_by_warp(sreg.reg);
            let list = if by_warp { Frame::WARP } else { Frame::CTA_SREGS };
            let mut list = self.f.def(Op::Mov_r64_rm64, View::R64, (Mem::frame(list),));
            if by_warp {
                let of_warp = Mem::at(list, WarpContext::SREGS);
                list = self.f.def(Op::Mov_r64_rm64, View::R64, (of_warp,));
            }
            let from = Mem::at(list, 8 * index as i64);
            let register = self.f.def(Op::Mov_r64_rm64, View::R64, (from,));
            return self.put_scalar(result, register);
        }
        let index = index_of(&mut self.sreg_rows, sreg.step);
        let context = self.f.def(Op::Mov_r64_rm64, View::R64, (Mem::frame(Frame::WARP),));
        let rows = Mem::at(context, WarpContext::SREG_ROWS);
        let rows = self.f.def(Op::Mov_r64_rm64, View::R64, (rows,));
        let parts: Vec<VReg> = (0..self.parts(value) as i64)
            .map(|part| {
                let from = Mem::at(rows, 128 * index as i64 + self.codes.vector_bytes * part);
                self.f.v2(self.codes.load_unaligned, from)
            })
            .collect();
        self.put_row(result, parts);
    }

    fn arguments(&mut self, target: &vector::Target) -> Vec<VReg> {
        target.args.iter().flat_map(|&v| self.registers(v)).collect()
    }

    fn end(&mut self, end: &Terminator) {
        match end {
            Terminator::Jump(to) => {
                let list = self.arguments(to);
                self.f.jump((self.blocks[to.block.index()], &list));
            }
            Terminator::Branch(condition, yes, no) => {
                let (a, b) = (self.arguments(yes), self.arguments(no));
                let yes = (self.blocks[yes.block.index()], a.as_slice());
                let no = (self.blocks[no.block.index()], b.as_slice());
                match *condition {
                    Condition::Any(mask) => {
                        let mask = self.mask(mask);
                        self.level(|l| l.branch_on_any(mask, yes, no));
                    }
                    Condition::Bit(scalar) => self.branch_on_bit(scalar, yes, no),
                }
            }
            Terminator::Switch(scalar, cases, default) => self.switch(*scalar, cases, default),
            Terminator::End => self.f.exit(self.outside.next),
        }
    }
}

fn index_of(list: &mut Vec<u32>, step: u32) -> usize {
    list.iter().position(|&s| s == step).unwrap_or_else(|| {
        list.push(step);
        list.len() - 1
    })
}
