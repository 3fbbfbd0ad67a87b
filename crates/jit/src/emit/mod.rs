//! From a decoded kernel to x86-64 code, one warp of 32 lanes in lock-step.
//!
//! Rows, masks and scalars live where the interpreter has them, or are brought back there whenever somebody else may look. What is not
//! compiled is a call of the interpreter for that step, so that the code is complete from the first operation on.
//!
//! Everything that general registers do is here, once: entry and exit, ends of blocks, counts, predicates, scalars, checks of addresses,
//! the loop of atomics over lanes. What is done with vectors is a level's ([`Vectors`]), each in a folder of its own.
//!
//! | register | what |
//! |---|---|
//! | `rbx` | lanes that run; `r9` their number |
//! | `r10` | lanes that are on in a guarded step |
//! | `rbp` | the frame |
//! | `r11` | constants |
//! | `r12` .. `r15` | rows of 32 bits, rows of 64 bits, masks, scalars |
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
use crate::counts::{Place, Stretch};
use crate::features::Features;
use crate::frame::Frame;
use crate::nan::Nan;
use crate::notes::NotePlace;
use crate::pool::{Line, Pool};
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

/// Lanes that a step is executed for.
#[derive(Clone, Copy, Debug)]
pub(super) struct On {
    /// As a mask in a general register.
    pub(super) lanes: Register,
}

const ALL: On = On { lanes: Register::EBX };
const GUARDED: On = On { lanes: Register::R10D };

/// What each level of vector instructions has its own code for.
trait Vectors: Sync {
    /// The lanes that run are in `ebx`: takes note of them in registers of its own. Their number, in `r9`, follows.
    fn running(&self, e: &mut Emitter<'_>);

    /// The same of the lanes that are on in a guarded step, in `r10d`.
    fn guarded(&self, e: &mut Emitter<'_>);

    /// Brings rows in registers back to memory.
    fn spill(&self, e: &mut Emitter<'_>);

    /// Loads rows that are in registers; keeps `rax`.
    fn reload(&self, e: &mut Emitter<'_>);

    /// The same at the kernel's beginning, where rows are 0 that may be read before they are written.
    fn begin(&self, e: &mut Emitter<'_>) {
        self.reload(e);
    }

    /// Compiles steps of a block together, from one on: how many.
    fn group(&self, _: &mut Emitter<'_>, _block: usize, _first: usize) -> usize {
        0
    }

    /// Compiles a step on rows, if there is code for it.
    fn execute(&self, e: &mut Emitter<'_>, kind: &Kind, on: On) -> bool;

    /// The value in `rax` becomes that of all lanes that are on.
    fn splat(&self, e: &mut Emitter<'_>, dst: Dst, on: On);

    /// The same of a 32-bit word in memory and a row of 32-bit values.
    fn splat_word(&self, e: &mut Emitter<'_>, row: u32, from: MemoryOperand, on: On);

    /// 32 words at `rdi` become a row of 32-bit values.
    fn copy_row(&self, e: &mut Emitter<'_>, row: u32, on: On);

    /// Loads words into rows: of adjacent ones that of lane 0 is at `rdi`, and they have been checked.
    fn load(&self, e: &mut Emitter<'_>, access: &Access<'_>, on: On, cold: Label);

    /// Stores words of rows, as [`Self::load`].
    fn store(&self, e: &mut Emitter<'_>, access: &Access<'_>, on: On, cold: Label);

    /// Checked offsets and operands by lane, as 64-bit values in the frame's room for lanes; `rdi` is what offsets count from.
    fn atomic_operands(&self, e: &mut Emitter<'_>, access: &Access<'_>, on: On, cold: Label);

    /// The fourth of these values becomes the result.
    fn atomic_result(&self, e: &mut Emitter<'_>, dst: Dst, on: On);

    /// Distances of all lanes' addresses, without the offset, from that of the first lane that is on, in scratch vectors: what they
    /// are in lanes that are off does not matter. That one's address becomes `rax`. Keeps all general registers but `rcx` and `rdx`.
    fn apart(&self, e: &mut Emitter<'_>, memory: &Memory, wide: bool, on: On);

    /// Goes to a label if distances in scratch vectors differ from those at `rsi` in lanes that are on: those of a guarded step, all that run,
    /// or those in `edx`. Keeps all general registers.
    fn unlike(&self, e: &mut Emitter<'_>, wide: bool, on: On, to: Label);

    /// Stores all lanes' addresses, without the offset, so many bytes behind `rdi`: 64 bits each, or 32. Keeps all general registers.
    fn put_addresses(&self, e: &mut Emitter<'_>, memory: &Memory, wide: bool, to: i64);

    /// Vectors that a row of 32-bit values is, if accesses of shared memory may share what is known of their addresses.
    fn parts(&self) -> usize {
        0
    }

    /// Whether finding out how words lie costs so much less than any access that it is worth it for one.
    fn lays_once(&self) -> bool {
        false
    }

    /// Whether rows are loaded and stored under masks at no cost.
    fn has_masks(&self) -> bool {
        false
    }

    /// Of addresses in a window, whose lanes are all on unless there are masks: puts that of each part's first lane into an entry of the frame, and goes to the first label
    /// if words of each part lie side by side, to the second one if each part has one address.
    fn lay(&self, _: &mut Emitter<'_>, _addr: Src, _entry: usize, _to: (Label, Label)) {}

    /// Loads a part of a row of 32-bit values.
    fn load_part(&self, _: &mut Emitter<'_>, _row: (u32, usize), _: MemoryOperand, _: Words) {}

    /// Stores a part of an operand of 32-bit values, by the entry and what is added to its addresses: of all lanes, or of those that run.
    fn store_part(&self, _: &mut Emitter<'_>, _: Src, _part: usize, _to: (usize, i64), _: bool) {}

    /// Compiles a shuffle or a reduction of lanes that are all here.
    fn collective(&self, e: &mut Emitter<'_>, what: &Collective, on: On);
}

/// What has been written to memory last, from `rax`.
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
    /// Whether it is an access that is counted where the run of steps ends, though the interpreter counts it as well.
    counted: bool,
}

/// Compiled code before it has a place.
pub(crate) struct Emitted {
    pub(crate) code: Encoded,
    pub(crate) pool: Box<[Line]>,
    /// Where the code is entered, and where warps begin.
    pub(crate) stubs: Stubs,
    /// Where each block begins.
    pub(crate) blocks: Vec<Label>,
    /// Where steps after barriers begin, by step.
    pub(crate) resumes: Vec<(u32, Label)>,
    /// The block of each step.
    pub(crate) block_of: Vec<u32>,
    /// Steps that read special registers into scalars, in the frame's order.
    pub(crate) sregs: Vec<u32>,
    /// Steps that read those that differ by lane into rows, in the seats' order.
    pub(crate) sreg_rows: Vec<u32>,
    /// Steps that keep where they accessed global memory last, in the frame's order, which need not be theirs.
    pub(crate) nears: Vec<u32>,
    /// Where issues are counted in detail, and accesses.
    pub(crate) places: Vec<Place>,
    pub(crate) stretches: Vec<Stretch>,
    pub(crate) notes: Vec<NotePlace>,
    /// Steps that the interpreter is called for, whatever they meet.
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
    /// Blocks at which lanes may wait for others.
    waits: Vec<bool>,
    pub(super) nan: Nan,
    /// Who reads rows; asked for at the levels that bring rows back when they have to.
    pub(super) liveness: Liveness,
    pub(super) uses: Uses,
    /// Steps that keep where they accessed global memory last.
    pub(super) nears: Vec<u32>,
    /// Steps that read special registers into scalars.
    pub(super) sregs: Vec<u32>,
    /// Steps that read those that differ by lane into rows.
    pub(super) sreg_rows: Vec<u32>,
    /// Whether everything is counted that a launch in detail counts.
    pub(super) detailed: bool,
    pub(super) places: Vec<Place>,
    pub(super) stretches: Vec<Stretch>,
    pub(super) notes: Vec<NotePlace>,
    /// Accesses of all lanes that run, since they were counted last.
    accesses: i32,
    /// Addresses in shared memory of which something is known, and accesses that go another way.
    known: Vec<together::Known>,
    elsewhere: Vec<together::Elsewhere>,
    /// Loops around each block.
    depths: Vec<u32>,
    /// Steps that the interpreter is called for, whatever they meet. Branches may be emitted twice.
    pub(super) left: Vec<u32>,
    told: Vec<counting::Told>,
    gone: Vec<counting::Gone>,
    unlike: Vec<noting::Unlike>,
    /// What the interpreter has to know of the step being compiled, with its number.
    pub(super) told_as: u32,
    /// Recipes by the place of what they are of; `None` if it has none.
    recipes: FxHashMap<usize, Option<Rc<Recipe>>>,
    cold: Vec<Cold>,
    /// What is in `rax`, too, if nothing has come since.
    held: Option<(Held, usize)>,
    parts: Vec<memory::Part>,
    /// Ends and gos, out of line.
    away: Vec<control::Away>,
    stubs: Stubs,
}

/// Instructions of x86-64 that a kernel may take.
const MOST: usize = 2_000_000;

/// Compiles a kernel; `detailed` if it is to count what launches in detail count.
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
        depths: code.depths(),
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

    /// Compiles all of a block but its end.
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

    /// The lanes of a guarded step; goes to a label if there is none.
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

    /// The lanes that run and in which a guard holds.
    pub(super) fn guarded_lanes(&mut self, guard: &Guard, to: Register) {
        self.predicate(guard.pred, to);
        if guard.negated {
            self.asm.r(Op::Not_rm32, to);
        }
        self.asm.rr(Op::And_r32_rm32, to, Register::EBX);
    }

    /// Has the interpreter execute the step, here.
    pub(super) fn call(&mut self, on: On) {
        self.asm.rr(Op::Mov_r32_rm32, Register::EDX, on.lanes);
        self.asm.ri64(Register::RSI, self.now.into());
        let stub = self.stubs.step;
        self.asm.jump(Op::Call_rel32_64, stub);
    }

    /// Has the interpreter execute the step if a condition holds: the step ends at the second label.
    pub(super) fn cold(&mut self, on: On) -> (Label, Label) {
        let (from, back) = (self.asm.label(), self.asm.label());
        let step = self.now | self.told_as;
        self.cold.push(Cold { from, back, step, on: on.lanes, counted: false });
        (from, back)
    }

    /// The recipe of an operation that the interpreter leaves to the exact engine's function.
    fn recipe_of(&mut self, generic: &Generic) -> Option<Rc<Recipe>> {
        // Steps stay where they are as long as they are compiled.
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

    /// Takes note that the last instruction wrote what is in `rax`.
    fn hold(&mut self, what: Held) {
        self.held = self.asm.mark().map(|at| (what, at));
    }

    /// Whether something is in `rax`, because the last instruction wrote it from there.
    fn holds(&self, what: Held) -> bool {
        self.held.is_some_and(|(held, at)| held == what && self.asm.mark() == Some(at))
    }

    /// A constant for all lanes.
    pub(super) fn bits32(&mut self, bits: u32) -> V {
        V::B(Register::R11, self.pool.word(bits.into()))
    }

    /// A 64-bit constant for all lanes.
    pub(super) fn bits64(&mut self, bits: u64) -> V {
        V::B(Register::R11, self.pool.word(bits))
    }
}
