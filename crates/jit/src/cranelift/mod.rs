//! Code by Cranelift, for hosts whose instructions `select` has no patterns for.
//!
//! A function of the vector IR becomes one of Cranelift's IR that runs the turn of a warp: it has
//! the frame and the warp's context as arguments, and begins at the kernel's entry or where the
//! warp has stopped. Where a warp may stop, the values that live there are stored in its seat, and
//! loaded again from there. A row is vectors of 128 bits, a mask is the bits of a word. What has no
//! form here is left to the interpreter, as what fails a check is.

mod arithmetic;
mod atomics;
mod bits;
mod calls;
mod collective;
mod control;
mod conversions;
mod counts;
mod floats;
mod liveness;
mod log;
mod masks;
mod memory;
mod rare;
mod scalars;
mod scattered;
mod standing;
mod target;
mod values;

pub(crate) use collective::match_lanes;
pub(crate) use rare::RareOperation;

use crate::Refused;
use crate::machine_code::{Entries, Facts, MachineCode, ResumePoint};
use crate::pool::Pool;
use crate::screen_log::{ExemptSite, LogSite};
use crate::translated::{interpreted, translate};
use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{self, AbiParam, Signature, UserFuncName, types};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use fast::Order;
use fast::code::{Code, Kind};
use liveness::Liveness;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use target::Registers;
use values::Place;
use vector::{BlockCounts, Type, Value};

/// In place of the code that takes a warp: it is at the kernel's entry, or it continues.
pub(crate) const FRESH: u64 = 1;
pub(crate) const AGAIN: u64 = 2;

/// What the function returns if the host wants it to return; else 0.
pub(crate) const STOPPED: u32 = 1;

/// Most instructions of Cranelift's IR for which registers are allocated by the better algorithm,
/// and of those that are compiled.
const MOST_BACKTRACKING: usize = 20_000;
const MOST_INSTRUCTIONS: usize = 500_000;

/// Most bytes of the host's stack that code may take.
const MOST_FRAME_BYTES: u32 = 512 << 10;

/// A value of Cranelift's IR.
type Val = ir::Value;

/// Some of them.
type Vals = SmallVec<[Val; 16]>;

/// Addresses of functions that code calls.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Helpers {
    /// Releases warps from a barrier; in screened launches, too.
    pub(crate) release: u64,
    pub(crate) release_screened: u64,
    /// Executes an operation on rows in the frame.
    pub(crate) rare: u64,
    /// Finds the lanes that have the same values.
    pub(crate) match_lanes: u64,
}

/// The translation of a function.
struct Lowering<'a> {
    b: FunctionBuilder<'a>,
    source: &'a vector::Function,
    code: &'a Code,
    helpers: Helpers,
    /// Whether vectors are compared as unsigned integers of 64 bits by one instruction.
    compares_unsigned: bool,
    /// Whether the kernel reads clocks.
    reads_clock: bool,
    frame: Val,
    context: Val,
    places: Vec<Option<Place>>,
    /// Number of uses of each value.
    uses: Vec<u32>,
    /// The instruction that defines a value.
    defined: Vec<Option<vector::Inst>>,
    /// By value, whether a mask is needed as bits.
    needs_bits: Vec<bool>,
    blocks: Vec<ir::Block>,
    live: Liveness,
    /// By block, the jumps to it that are still to come, and whether it has been begun.
    edges_left: Vec<u32>,
    is_begun: Vec<bool>,
    /// The block that is translated.
    current: vector::Block,
    /// Masks as vectors of 32-bit lanes, of 64-bit lanes, on all ways to the current place.
    lanes: FxHashMap<(Value, bool), Vals>,
    /// Returns that the host wants code to return.
    stop: ir::Block,
    /// Where warps continue, by number.
    resumes: Vec<ir::Block>,
    lowered: Lowered,
    refused: Option<Refused>,
}

/// What the host has to know of a translated function.
#[derive(Default)]
struct Lowered {
    points: Vec<ResumePoint>,
    seat_bytes: usize,
    counts: Vec<BlockCounts>,
    sregs: Vec<u32>,
    sreg_rows: Vec<u32>,
    region_steps: Vec<u32>,
    log_sites: Vec<LogSite>,
    exempt_sites: Vec<ExemptSite>,
    /// Steps that the interpreter executes because they have no form here.
    left: Vec<u32>,
}

/// Compiles a kernel for launches that run the sides of branches in an order.
///
/// # Errors
/// Returns [`Refused`] if there is no code for the kernel.
pub(crate) fn compile(
    code: &Code,
    order: Order,
    detailed: bool,
    helpers: Helpers,
) -> Result<MachineCode, Refused> {
    if detailed {
        return Err(Refused::Form("launches in detail have no code on this host".to_owned()));
    }
    let source = translate(code, order, detailed)?;
    let mut context = Context::for_function(empty(target::isa(Registers::Backtracking)?));
    let lowered = lower(&mut context.func, &source, code, helpers)?;
    let isa = target::isa(registers(context.func.dfg.num_insts())?)?;
    let failed = |error: &dyn std::fmt::Debug| Refused::Encoding(format!("{error:?}"));
    let compiled =
        context.compile(isa, &mut ControlPlane::default()).map_err(|error| failed(&error.inner))?;
    if !compiled.buffer.relocs().is_empty() {
        return Err(Refused::Encoding("code refers to a library".to_owned()));
    }
    let frame = compiled.buffer.frame_layout().map_or(0, |layout| layout.frame_to_fp_offset);
    if frame > MOST_FRAME_BYTES {
        return Err(Refused::TooLarge);
    }
    let mut left = interpreted(&source, code);
    left.extend(lowered.left);
    left.sort_unstable();
    left.dedup();
    Ok(MachineCode {
        bytes: compiled.code_buffer().to_vec(),
        pool: Pool::default().finish(),
        entries: Entries::Turn(0),
        facts: Facts {
            block_of: code.block_of_steps(),
            interpreted: left,
            sregs: lowered.sregs,
            sreg_rows: lowered.sreg_rows,
            region_steps: lowered.region_steps,
            layout_sites: Vec::new(),
            seat_bytes: lowered.seat_bytes,
            block_counts: lowered.counts,
            resume_points: lowered.points,
            issue_cells: Vec::new(),
            access_groups: Vec::new(),
            log_sites: lowered.log_sites,
            exempt_sites: lowered.exempt_sites,
        },
    })
}

/// Returns how registers are allocated for a function of so many instructions.
fn registers(instructions: usize) -> Result<Registers, Refused> {
    if instructions > MOST_INSTRUCTIONS {
        return Err(Refused::TooLarge);
    }
    let few = instructions <= MOST_BACKTRACKING;
    Ok(if few { Registers::Backtracking } else { Registers::SinglePass })
}

/// Returns Cranelift's IR of a kernel.
///
/// # Errors
/// Returns [`Refused`] if there is none.
pub(crate) fn listing(code: &Code) -> Result<String, Refused> {
    let source = translate(code, Order::Taken, false)?;
    let mut function = empty(target::isa(Registers::Backtracking)?);
    lower(&mut function, &source, code, Helpers::default())?;
    Ok(function.display().to_string())
}

/// Returns a function without instructions.
fn empty(isa: &dyn cranelift_codegen::isa::TargetIsa) -> ir::Function {
    let mut signature = Signature::new(isa.default_call_conv());
    signature.params = vec![AbiParam::new(types::I64); 2];
    signature.returns = vec![AbiParam::new(types::I32)];
    ir::Function::with_name_signature(UserFuncName::default(), signature)
}

/// Translates a function.
fn lower(
    to: &mut ir::Function,
    source: &vector::Function,
    code: &Code,
    helpers: Helpers,
) -> Result<Lowered, Refused> {
    let mut builder = FunctionBuilderContext::new();
    let mut b = FunctionBuilder::new(to, &mut builder);
    let entry = b.create_block();
    b.append_block_params_for_function_params(entry);
    b.switch_to_block(entry);
    b.seal_block(entry);
    let [frame, context] = [0, 1].map(|i| b.block_params(entry)[i]);
    let stop = b.create_block();
    let mut this = Lowering {
        source,
        code,
        helpers,
        compares_unsigned: cfg!(target_arch = "aarch64"),
        reads_clock: code.steps.iter().any(|step| matches!(step.kind, Kind::Clock { .. })),
        frame,
        context,
        places: vec![None; source.value_count()],
        uses: vec![0; source.value_count()],
        defined: source.definitions(),
        needs_bits: vec![false; source.value_count()],
        blocks: Vec::new(),
        live: Liveness::new(source)?,
        current: vector::Function::ENTRY,
        edges_left: vec![0; source.block_count()],
        is_begun: vec![false; source.block_count()],
        lanes: FxHashMap::default(),
        stop,
        resumes: Vec::new(),
        lowered: Lowered::default(),
        refused: None,
        b,
    };
    this.function();
    let Lowering { b, refused, lowered, .. } = this;
    b.finalize(target::isa(Registers::Backtracking)?.frontend_config());
    refused.map_or(Ok(lowered), Err)
}

impl Lowering<'_> {
    /// Refuses the function.
    fn refuse(&mut self, refused: Refused) {
        self.refused.get_or_insert(refused);
    }

    fn function(&mut self) {
        let order = self.source.reverse_postorder();
        self.find_uses(&order);
        self.make_blocks(&order);
        let dispatch = self.b.create_block();
        self.begin(dispatch);
        for &block in &order {
            self.block(block);
        }
        self.finish(dispatch);
    }

    /// Translates a block.
    fn block(&mut self, block: vector::Block) {
        let source = self.source;
        let data = source.block(block);
        self.current = block;
        self.lanes.clear();
        self.enter_block(block);
        self.is_begun[block.index()] = true;
        for &inst in &data.insts {
            self.inst(inst);
        }
        self.end(&data.end);
        self.seal_targets(&data.end);
    }

    fn inst(&mut self, inst: vector::Inst) {
        use vector::Op as V;
        let source = self.source;
        let data = source.inst(inst);
        let (args, results) = (&data.args[..], &data.results[..]);
        let result = results.first().copied();
        if data.op.is_pure() && result.is_some_and(|r| self.uses[r.index()] == 0) {
            return;
        }
        match &data.op {
            V::Const(bits) => self.put(result, Place::Const(*bits)),
            V::MaskConst(bits) => self.put(result, Place::Const((*bits).into())),
            V::Splat => self.splat(args[0], result),
            V::Line(stride) => self.line(*stride, args[0], result),
            V::Sreg(sreg) => self.sreg(*sreg, result),
            V::Lanes(op) => self.lanes_of(*op, args, result),
            V::Convert(conversion) => self.convert(*conversion, args[0], result),
            V::Test(test) => self.test(*test, args, result),
            V::Unordered => self.unordered(args, result),
            V::Select => self.select(args, result),
            V::Low => self.low(args[0], result),
            V::ZeroExtend => self.extend(args[0], false, result),
            V::SignExtend => self.extend(args[0], true, result),
            V::RowOfMask => self.row_of_mask(args[0], result),
            V::First => self.first(args[0], result),
            V::LaneConst(lanes) => self.lane_const(lanes, result),
            V::Permute => self.permute(args, result),
            V::Reduce(op) => self.reduce(*op, args[0], result),
            V::Match => self.match_rows(args, result),
            V::Live => self.live(result),
            V::LowestBit => self.lowest_bit(args[0], result),
            V::MaskOfScalar => self.mask_of_scalar(args[0], result),
            V::Mask(op) => self.mask_logic(*op, args, result),
            V::Population => self.population(args[0], result),
            V::PopulationIfAny => self.population_if_any(args[0], result),
            V::IsNonzero => self.is_nonzero(args[0], result),
            V::Bits => self.bits_of_mask(args[0], result),
            V::MaskOfBits => self.mask_of_bits(args[0], result),
            V::Scalar(native) => self.scalar(*native, args, result),
            V::Wraps(signed, stride) => self.wraps(*signed, *stride, args[0], result),
            V::FirstLane => self.first_lane(args, result),
            V::Clock(ahead) => self.clock(*ahead, result),
            _ => self.effect(inst, data),
        }
    }

    /// Translates an instruction that has an effect.
    fn effect(&mut self, inst: vector::Inst, data: &vector::InstData) {
        use vector::Op as V;
        let (args, results) = (&data.args[..], &data.results[..]);
        let result = results.first().copied();
        match &data.op {
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
            V::Barrier(barrier) => self.barrier(inst, barrier, args, result),
            V::LoadHome(home) => self.load_home(*home, result),
            V::StoreHome(home) => self.store_home(*home, args[0]),
            V::Await(wait) => self.wait_after_step(inst, wait, args, results),
            V::BackEdge(standing) => self.back_edge(inst, standing, args),
            V::Exit => self.exit(args[0]),
            V::Count(counts) => self.count(*counts, args),
            V::CountOff(_) => self.count_off(args),
            V::Bump(counter, by) => self.add_constant_to(*counter, *by),
            V::BumpBy(counter) => self.add_scalar(*counter, args[0]),
            V::Height(known) => self.raise(crate::frame::Frame::MAX_HEIGHT, *known, args),
            // Of launches in detail.
            V::CountEndOff(_) | V::Depth(_) => {}
            other => self.refuse(Refused::Form(format!("{other:?} has no form"))),
        }
    }

    /// Counts uses, and finds the masks that are needed as bits: those that are more than operands
    /// of selections in their block, and those of blocks where the warp may stop.
    fn find_uses(&mut self, order: &[vector::Block]) {
        let source = self.source;
        let mut block_of = vec![None; source.value_count()];
        for &block in order {
            let data = source.block(block);
            let stops = data.insts.iter().any(|&inst| liveness::may_stop(&source.inst(inst).op));
            for &inst in &data.insts {
                let inst = source.inst(inst);
                for result in &inst.results {
                    block_of[result.index()] = Some(block);
                    self.needs_bits[result.index()] = stops;
                }
            }
        }
        for &block in order {
            let data = source.block(block);
            for &inst in &data.insts {
                let inst = source.inst(inst);
                let selects = matches!(inst.op, vector::Op::Select | vector::Op::RowOfMask);
                for arg in &inst.args {
                    self.uses[arg.index()] += 1;
                    self.needs_bits[arg.index()] |=
                        !selects || block_of[arg.index()] != Some(block);
                }
            }
            data.end.uses(|v| {
                self.uses[v.index()] += 1;
                self.needs_bits[v.index()] = true;
            });
        }
    }

    fn is_used(&self, value: Value) -> bool {
        self.uses[value.index()] > 0
    }

    fn is_wide(&self, value: Value) -> bool {
        self.source.ty(value) == Type::Row64
    }
}

/// Returns the index of a step in a list, to which it is added if it is not there.
fn index_of(list: &mut Vec<u32>, step: u32) -> usize {
    list.iter().position(|&s| s == step).unwrap_or_else(|| {
        list.push(step);
        list.len() - 1
    })
}
