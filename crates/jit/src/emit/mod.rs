//! Emission of x86-64 code from a decoded kernel, for one warp of 32 lanes in lockstep.
//!
//! Rows, masks and scalars live where the interpreter keeps them, or are written back there before
//! the interpreter can read them. A step without code is a call of the interpreter, so every kernel
//! can be compiled.
//!
//! Everything that general registers do is here, once: entry and exit, ends of blocks, counts,
//! predicates, scalars, checks of addresses, the loop of atomics over lanes. Work on vectors
//! belongs to a level ([`Vectors`]), each in a folder of its own.
//!
//! | register | contents |
//! |---|---|
//! | `rbx` | the running lanes; `r9` their number |
//! | `r10` | the active lanes of a guarded step |
//! | `rbp` | the frame |
//! | `r11` | the constant pool |
//! | `r12` .. `r15` | 32-bit rows, 64-bit rows, masks, scalars |
//! | vectors, mask registers | the level's |
//! | others | scratch within a step |

mod atomic;
mod avx2;
mod avx512;
mod collective;
mod control;
mod convert;
mod counting;
mod forms;
mod memory;
mod noting;
mod predicate;
mod recipe;
mod scalar;
mod short;
mod stubs;
mod together;
mod turns;

use crate::Refused;
use crate::asm::{Asm, Encoded, Label, V, at};
use crate::counters::{AlignmentCounters, IssueSpan};
use crate::features::Features;
use crate::frame::Frame;
use crate::nan::Nan;
use crate::patterns::PatternSite;
use crate::pool::{Pool, PoolRow};
use crate::rows::{Liveness, Uses};
use avx2::Avx2;
use avx512::{Assignment, Avx512};
use fast::Level;
use fast::code::{Block, Code, Collective, Dst, Generic, Guard, Kind, Memory, Src, Step};
use iced_x86::{Code as Op, MemoryOperand, Register};
use memory::Access;
use recipe::Recipe;
use rustc_hash::FxHashMap;
pub(crate) use scalar::is_by_warp;
use std::rc::Rc;
pub(crate) use stubs::Stubs;
use together::Words;

/// The active lanes of a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct On {
    /// The general register that holds them as a mask.
    pub(super) lanes: Register,
}

const ALL: On = On { lanes: Register::EBX };
const GUARDED: On = On { lanes: Register::R10D };

/// The part of the emitter that each level of vector instructions implements.
trait Vectors: Sync {
    /// Derives the level's masks from the running lanes in `ebx`. `r9` is set afterwards.
    fn running(&self, e: &mut Emitter<'_>);

    /// Derives the level's masks from the active lanes of a guarded step in `r10d`.
    fn guarded(&self, e: &mut Emitter<'_>);

    /// Stores the rows in registers to memory.
    fn spill(&self, e: &mut Emitter<'_>);

    /// Loads the rows that registers are assigned to. Preserves `rax`.
    fn reload(&self, e: &mut Emitter<'_>);

    /// Initialises registers at the kernel's entry, where rows that may be read before they are
    /// written are 0.
    fn begin(&self, e: &mut Emitter<'_>) {
        self.reload(e);
    }

    /// Compiles a run of a block's steps, from `first` on, as one group; returns their number, 0 if
    /// there is no such group.
    fn group(&self, _: &mut Emitter<'_>, _block: usize, _first: usize) -> usize {
        0
    }

    /// Compiles a step on rows; returns whether there is code for it.
    fn execute(&self, e: &mut Emitter<'_>, kind: &Kind, on: On) -> bool;

    /// Broadcasts the value in `rax` to all active lanes of `dst`.
    fn splat(&self, e: &mut Emitter<'_>, dst: Dst, on: On);

    /// Broadcasts a 32-bit word in memory to all active lanes of a 32-bit row.
    fn splat_word(&self, e: &mut Emitter<'_>, row: u32, from: MemoryOperand, on: On);

    /// Copies 32 words at `rdi` into a 32-bit row.
    fn copy_row(&self, e: &mut Emitter<'_>, row: u32, on: On);

    /// Loads words into rows. For adjacent words, `rdi` points to lane 0's word and the access has
    /// been checked.
    fn load(&self, e: &mut Emitter<'_>, access: &Access<'_>, on: On, cold: Label);

    /// Stores words of rows, as [`Self::load`] does.
    fn store(&self, e: &mut Emitter<'_>, access: &Access<'_>, on: On, cold: Label);

    /// Writes checked offsets and operands by lane, as 64-bit values, to the frame's `lane_room`;
    /// sets `rdi` to the base of the offsets.
    fn atomic_operands(&self, e: &mut Emitter<'_>, access: &Access<'_>, on: On, cold: Label);

    /// Moves the fourth of these values to the result.
    fn atomic_result(&self, e: &mut Emitter<'_>, dst: Dst, on: On);

    /// Leaves the offset of each lane's address from that of the first active lane in scratch
    /// vectors, without the instruction's constant offset; inactive lanes are undefined. Sets `rax`
    /// to the first active lane's address. Preserves all other general registers but `rcx` and
    /// `rdx`.
    fn apart(&self, e: &mut Emitter<'_>, memory: &Memory, wide: bool, on: On);

    /// Compares the active lanes' offsets, left in scratch vectors by [`Self::apart`], with the
    /// pattern at `rsi`; jumps to `to` if any differs. `on` names a guarded step's lanes, all
    /// running lanes, or those in `edx`. Preserves all general registers.
    fn unlike(&self, e: &mut Emitter<'_>, wide: bool, on: On, to: Label);

    /// Stores all lanes' addresses, without the instruction's offset, at `rdi + to`: 64 bits each,
    /// or 32. Preserves all general registers.
    fn put_addresses(&self, e: &mut Emitter<'_>, memory: &Memory, wide: bool, to: i64);

    /// Number of vectors in a 32-bit row if accesses to shared memory may share classified layouts,
    /// else 0.
    fn parts(&self) -> usize {
        0
    }

    /// Whether classifying a layout costs so much less than an access at arbitrary addresses that
    /// it pays for a single one.
    fn lays_once(&self) -> bool {
        false
    }

    /// Whether rows are loaded and stored under masks at no cost.
    fn has_masks(&self) -> bool {
        false
    }

    /// Classifies the layout of the words at a row of addresses in a window. Stores the address of
    /// each part's first lane in an entry of the frame; jumps to the first label if the words of
    /// each part are contiguous, to the second if each part has one address. All lanes run unless
    /// the level [has masks](Self::has_masks).
    fn lay(&self, _: &mut Emitter<'_>, _addr: Src, _entry: usize, _to: (Label, Label)) {}

    /// Loads a part of a 32-bit row.
    fn load_part(&self, _: &mut Emitter<'_>, _row: (u32, usize), _: MemoryOperand, _: Words) {}

    /// Stores a part of a 32-bit operand at an entry's address plus an offset: all lanes, or the
    /// running ones only.
    fn store_part(&self, _: &mut Emitter<'_>, _: Src, _part: usize, _to: (usize, i64), _: bool) {}

    /// Compiles a shuffle or a reduction whose member lanes are all active.
    fn collective(&self, e: &mut Emitter<'_>, what: &Collective, on: On);
}

/// The contents of `rax` after the last store from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    Pred(u32),
    Scalar(u32),
}

/// A step that the interpreter executes, out of line.
struct Cold {
    from: Label,
    back: Label,
    step: u32,
    on: Register,
    /// Whether the run of steps counts the access at its end, although the interpreter counts it as
    /// well.
    counted: bool,
}

/// Compiled code before it is placed in memory.
pub(crate) struct Emitted {
    pub(crate) code: Encoded,
    pub(crate) pool: Box<[PoolRow]>,
    /// The entry point, and the code that takes a warp.
    pub(crate) stubs: Stubs,
    /// The beginning of each block.
    pub(crate) blocks: Vec<Label>,
    /// The code after each barrier, by step.
    pub(crate) resumes: Vec<(u32, Label)>,
    /// The block of each step.
    pub(crate) block_of: Vec<u32>,
    /// Steps that read special registers into scalars, in the frame's order.
    pub(crate) sregs: Vec<u32>,
    /// Steps that read special registers that differ by lane into rows, in the contexts' order.
    pub(crate) sreg_rows: Vec<u32>,
    /// Steps that keep the region of their last global access, in the frame's order, which need not
    /// be the steps' order.
    pub(crate) nears: Vec<u32>,
    /// Places where launches in detail count issues and accesses.
    pub(crate) places: Vec<IssueSpan>,
    pub(crate) stretches: Vec<AlignmentCounters>,
    pub(crate) notes: Vec<PatternSite>,
    /// Steps that always call the interpreter.
    pub(crate) left: Vec<u32>,
}

pub(super) struct Emitter<'c> {
    vectors: &'static dyn Vectors,
    pub(super) asm: Asm,
    pub(super) pool: Pool,
    pub(super) code: &'c Code,
    pub(super) features: Features,
    pub(super) assignment: Assignment,
    /// The block and the step being compiled.
    pub(super) block: u32,
    pub(super) now: u32,
    pub(super) blend: bool,
    blocks: Vec<Label>,
    resumes: Vec<(u32, Label)>,
    /// Blocks that are reconvergence points.
    waits: Vec<bool>,
    pub(super) nan: Nan,
    /// Liveness of rows, at levels that store rows only when they must.
    pub(super) liveness: Liveness,
    pub(super) uses: Uses,
    /// Steps that keep the region of their last global access.
    pub(super) nears: Vec<u32>,
    /// Steps that read special registers into scalars.
    pub(super) sregs: Vec<u32>,
    /// Steps that read special registers that differ by lane into rows.
    pub(super) sreg_rows: Vec<u32>,
    /// Whether to count everything that a launch in detail counts.
    pub(super) detailed: bool,
    pub(super) places: Vec<IssueSpan>,
    pub(super) stretches: Vec<AlignmentCounters>,
    pub(super) notes: Vec<PatternSite>,
    /// Accesses of all running lanes since the last flush of their count.
    accesses: i32,
    /// Rows of shared-memory addresses with a classified layout, and accesses that take the slow
    /// path.
    known: Vec<together::Known>,
    elsewhere: Vec<together::Elsewhere>,
    /// Loop depth of each block.
    depths: Vec<u32>,
    /// Steps that always call the interpreter. A branch may be emitted twice, so steps may repeat.
    pub(super) left: Vec<u32>,
    told: Vec<counting::Told>,
    gone: Vec<counting::Gone>,
    unlike: Vec<noting::Unlike>,
    /// Flags in the step's number that say whether its access has been counted.
    pub(super) told_as: u32,
    /// Recipes by the address of their operation; `None` for operations without one.
    recipes: FxHashMap<usize, Option<Rc<Recipe>>>,
    cold: Vec<Cold>,
    /// The value that `rax` still holds, and the index of the instruction after its store.
    held: Option<(Held, usize)>,
    parts: Vec<memory::Part>,
    /// Ends of blocks and jumps, out of line.
    away: Vec<control::Away>,
    stubs: Stubs,
}

/// Most x86-64 instructions of a kernel.
const MOST: usize = 2_000_000;

/// Compiles a kernel; `detailed` adds the counts of launches in detail.
pub(crate) fn emit(
    code: &Code,
    nan: Nan,
    features: Features,
    detailed: bool,
) -> Result<Emitted, Refused> {
    let mut asm = Asm::default();
    let blocks = code.blocks.iter().map(|_| asm.label()).collect();
    let stubs = Stubs::new(&mut asm);
    let narrow = features.level != Level::Avx512;
    let mut emitter = Emitter {
        vectors: if narrow { &Avx2 } else { &Avx512 },
        asm,
        pool: Pool::default(),
        code,
        features,
        assignment: if narrow { Assignment::default() } else { Assignment::new(code) },
        block: 0,
        now: 0,
        blend: false,
        blocks,
        resumes: Vec::new(),
        waits: control::waits(code),
        nan,
        liveness: if narrow { Liveness::new(code) } else { Liveness::default() },
        uses: Uses::default(),
        nears: Vec::new(),
        sregs: Vec::new(),
        sreg_rows: Vec::new(),
        detailed,
        places: Vec::new(),
        stretches: Vec::new(),
        notes: Vec::new(),
        accesses: 0,
        known: Vec::new(),
        elsewhere: Vec::new(),
        depths: code.loop_depths(),
        left: Vec::new(),
        told: Vec::new(),
        gone: Vec::new(),
        unlike: Vec::new(),
        told_as: 0,
        recipes: FxHashMap::default(),
        cold: Vec::new(),
        held: None,
        parts: Vec::new(),
        away: Vec::new(),
        stubs,
    };
    emitter.stubs();
    let mut block_of = vec![0; code.steps.len()];
    for (b, block) in code.blocks.iter().enumerate() {
        block_of[block.steps.clone()].fill(b as u32);
        emitter.block(b, block);
        if emitter.asm.len() > MOST {
            return Err(Refused::TooLarge);
        }
    }
    emitter.out_of_line();
    let Emitter {
        asm,
        pool,
        blocks,
        resumes,
        stubs,
        nears,
        sregs,
        sreg_rows,
        places,
        stretches,
        notes,
        mut left,
        ..
    } = emitter;
    left.sort_unstable();
    left.dedup();
    let code_bytes = asm.encode().map_err(Refused::Encoding)?;
    Ok(Emitted {
        code: code_bytes,
        pool: pool.finish(),
        stubs,
        blocks,
        resumes,
        block_of,
        nears,
        sregs,
        sreg_rows,
        places,
        stretches,
        notes,
        left,
    })
}

impl Emitter<'_> {
    fn block(&mut self, b: usize, block: &Block) {
        let label = self.blocks[b];
        self.asm.bind(label);
        self.steps(b, block);
        self.end(b as u32, block);
    }

    /// Compiles a block without its end.
    fn steps(&mut self, b: usize, block: &Block) {
        self.block = b as u32;
        self.count(b as u32, block, 0);
        self.begin_together();
        let mut next = block.steps.start;
        while next < block.steps.end {
            let together = self.vectors.group(self, b, next);
            if together > 0 {
                for step in &self.code.steps[next..next + together] {
                    self.written_together(step);
                }
                next += together;
                continue;
            }
            let index = next;
            next += 1;
            let step = &self.code.steps[index];
            self.now = index as u32;
            if let Kind::Barrier { .. } = step.kind {
                self.count_accesses();
            }
            self.step(step);
            self.written_together(step);
            if let Kind::Barrier { .. } = step.kind {
                let resume = self.asm.label();
                self.asm.bind(resume);
                self.begin_together();
                self.resumes.push((index as u32 + 1, resume));
                self.count(b as u32, block, index + 1 - block.steps.start);
            }
        }
        self.count_accesses();
    }

    fn step(&mut self, step: &Step) {
        self.blend = step.blend;
        self.told_as = 0;
        if matches!(step.kind, Kind::Nothing | Kind::Fence) && step.guard.is_none() {
            return;
        }
        let skip = self.asm.label();
        let on = match &step.guard {
            None => ALL,
            Some(guard) => {
                self.guard(guard, skip);
                GUARDED
            }
        };
        let native = match step.kind {
            Kind::Barrier { .. } => self.barrier(step, on),
            _ => self.execute(&step.kind, on),
        };
        if !native {
            self.left.push(self.now);
            self.call(on);
        }
        if step.guard.is_some() {
            self.asm.bind(skip);
        }
    }

    fn execute(&mut self, kind: &Kind, on: On) -> bool {
        match kind {
            Kind::Logic { op, dst, src } => self.logic(*op, *dst, *src, on),
            Kind::Scalar { native, dst, src } => self.scalar(*native, *dst, src),
            Kind::Widen { signed, dst, base, stride, factor, addend } => {
                self.widen((*signed, *dst, *base), *stride, *factor, *addend, on)
            }
            Kind::Load(memory) => self.load(memory, on),
            Kind::Store(memory) => self.store(memory, on),
            Kind::Sreg { reg, dst: Dst::Scalar(dst), .. } => {
                self.sreg(*reg, *dst);
                true
            }
            Kind::Sreg { reg, dst: Dst::Narrow(row), .. } => self.sreg_row(*reg, *row, on),
            Kind::Collective(collective) => self.collective(collective, on),
            Kind::Atomic(atomic) => self.atomic(atomic, on),
            Kind::Nothing | Kind::Fence => true,
            kind => self.vectors.execute(self, kind, on),
        }
    }

    /// Computes the active lanes of a guarded step; jumps to `skip` if there are none.
    fn guard(&mut self, guard: &Guard, skip: Label) {
        use Register::{EAX, EBX, R10D, RAX, RBP};
        self.guarded_lanes(guard, R10D);
        self.asm.rr(Op::Mov_r32_rm32, EAX, EBX);
        self.asm.rr(Op::Xor_r32_rm32, EAX, R10D);
        self.asm.rr(Op::Popcnt_r32_rm32, EAX, EAX);
        self.asm.mr(Op::Add_rm64_r64, at(RBP, Frame::OFF), RAX);
        self.count_off();
        self.asm.rr(Op::Test_rm32_r32, R10D, R10D);
        self.asm.jump(Op::Je_rel32_64, skip);
        self.vectors.guarded(self);
    }

    /// Computes the running lanes in which a guard holds.
    pub(super) fn guarded_lanes(&mut self, guard: &Guard, to: Register) {
        self.predicate(guard.pred, to);
        if guard.negated {
            self.asm.r(Op::Not_rm32, to);
        }
        self.asm.rr(Op::And_r32_rm32, to, Register::EBX);
    }

    /// Emits a call of the interpreter for the step.
    pub(super) fn call(&mut self, on: On) {
        self.asm.rr(Op::Mov_r32_rm32, Register::EDX, on.lanes);
        self.asm.ri64(Register::RSI, self.now.into());
        let stub = self.stubs.step;
        self.asm.jump(Op::Call_rel32_64, stub);
    }

    /// Adds an out-of-line call of the interpreter for the step; returns its label and the label,
    /// to be bound by the caller, to which it returns.
    pub(super) fn cold(&mut self, on: On) -> (Label, Label) {
        let (from, back) = (self.asm.label(), self.asm.label());
        let step = self.now | self.told_as;
        self.cold.push(Cold { from, back, step, on: on.lanes, counted: false });
        (from, back)
    }

    /// Returns the recipe of an operation that the interpreter executes by the exact engine's
    /// function.
    fn recipe_of(&mut self, generic: &Generic) -> Option<Rc<Recipe>> {
        // Steps do not move while they are compiled.
        let key = std::ptr::from_ref(generic).addr();
        self.recipes.entry(key).or_insert_with(|| Recipe::of(generic).map(Rc::new)).clone()
    }

    fn out_of_line(&mut self) {
        self.elsewhere_out_of_line();
        for cold in std::mem::take(&mut self.cold) {
            self.asm.bind(cold.from);
            if cold.counted {
                self.asm.m(Op::Dec_rm64, at(Register::RBP, Frame::MEMORY));
            }
            self.asm.rr(Op::Mov_r32_rm32, Register::EDX, cold.on);
            self.asm.ri64(Register::RSI, cold.step.into());
            let stub = self.stubs.step;
            self.asm.jump(Op::Call_rel32_64, stub);
            self.asm.jump(Op::Jmp_rel32_64, cold.back);
        }
        self.parts_out_of_line();
        self.told_out_of_line();
        self.unlike_out_of_line();
        self.ends_out_of_line();
        self.gone_out_of_line();
    }

    /// Records that the last instruction stored `rax` to `what`.
    fn hold(&mut self, what: Held) {
        self.held = self.asm.mark().map(|at| (what, at));
    }

    /// Returns whether `rax` still holds `what`.
    fn holds(&self, what: Held) -> bool {
        self.held.is_some_and(|(held, at)| held == what && self.asm.mark() == Some(at))
    }

    /// Returns a 32-bit constant, broadcast to all lanes.
    pub(super) fn bits32(&mut self, bits: u32) -> V {
        V::B(Register::R11, self.pool.word(bits.into()))
    }

    /// Returns a 64-bit constant, broadcast to all lanes.
    pub(super) fn bits64(&mut self, bits: u64) -> V {
        V::B(Register::R11, self.pool.word(bits))
    }
}
