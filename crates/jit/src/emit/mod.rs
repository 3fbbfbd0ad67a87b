//! From a decoded kernel to x86-64 code with AVX-512, one warp of 32 lanes in lock-step.
//!
//! A row of 32-bit values is two vectors, one of 64-bit values four. Rows, masks and scalars live where the interpreter has them;
//! rows that are used most in registers (`assign`), brought back to memory whenever somebody else may look. What is not
//! compiled is a call of the interpreter for that step, so that the code is complete from the first operation on.
//!
//! | register | what |
//! |---|---|
//! | `rbx` | lanes that run; `k1`, `k2` its halves; `r9` their number |
//! | `r10` | lanes that are on in a guarded step; `k3`, `k4` its halves |
//! | `rbp` | the frame |
//! | `r11` | constants |
//! | `r12` .. `r15` | rows of 32 bits, rows of 64 bits, masks, scalars |
//! | `zmm0` .. `zmm7`, `k5` .. `k7`, others | scratch within a step |
//! | `zmm8` .. `zmm31` | assigned rows |

mod approx;
mod atomic;
mod collective;
mod control;
mod counting;
mod float;
mod gather;
mod memory;
mod narrow;
mod operand;
mod scalar;
mod stubs;
mod test;
mod wide;

use crate::Refused;
use crate::asm::{Asm, Encoded, Label, V, at};
use crate::assign::Assignment;
use crate::counts::{Place, Stretch};
use crate::features::Features;
use crate::frame::Frame;
use crate::nan::Nan;
use crate::pool::{Line, Pool};
use fast::code::{Block, Code, Dst, Guard, Kind, Src, Step};
use iced_x86::{Code as Op, Register};
use stubs::Stubs;

/// Scratch vectors.
pub(super) const T: [Register; 8] = [
    Register::ZMM0,
    Register::ZMM1,
    Register::ZMM2,
    Register::ZMM3,
    Register::ZMM4,
    Register::ZMM5,
    Register::ZMM6,
    Register::ZMM7,
];

/// Lanes that a step is executed for.
#[derive(Clone, Copy, Debug)]
pub(super) struct On {
    /// As a mask in a general register.
    pub(super) lanes: Register,
    /// Its halves.
    pub(super) halves: [Register; 2],
}

const ALL: On = On { lanes: Register::EBX, halves: [Register::K1, Register::K2] };
const GUARDED: On = On { lanes: Register::R10D, halves: [Register::K3, Register::K4] };

/// A step that the interpreter executes, out of line.
struct Cold {
    from: Label,
    back: Label,
    step: u32,
    on: Register,
}

/// Compiled code before it has a place.
pub(crate) struct Emitted {
    pub(crate) code: Encoded,
    pub(crate) pool: Box<[Line]>,
    /// Where the code is entered.
    pub(crate) enter: Label,
    /// Where each block begins.
    pub(crate) blocks: Vec<Label>,
    /// Where steps after barriers begin, by step.
    pub(crate) resumes: Vec<(u32, Label)>,
    /// The block of each step.
    pub(crate) block_of: Vec<u32>,
    /// Steps that read special registers into scalars, in the frame's order.
    pub(crate) sregs: Vec<u32>,
    /// Steps that keep where they accessed global memory last, in the frame's order.
    pub(crate) nears: Vec<u32>,
    /// Where issues are counted in detail, and accesses.
    pub(crate) places: Vec<Place>,
    pub(crate) stretches: Vec<Stretch>,
    /// Steps that run compiled, and all.
    pub(crate) native: (usize, usize),
}

pub(super) struct Emitter<'c> {
    pub(super) asm: Asm,
    pub(super) pool: Pool,
    pub(super) code: &'c Code,
    pub(super) features: Features,
    pub(super) assignment: Assignment,
    /// The step being compiled, and its number.
    pub(super) now: u32,
    pub(super) blend: bool,
    pub(super) guarded: bool,
    blocks: Vec<Label>,
    resumes: Vec<(u32, Label)>,
    /// Blocks at which lanes may wait for others.
    waits: Vec<bool>,
    pub(super) nan: Nan,
    /// Steps that keep where they accessed global memory last.
    pub(super) nears: Vec<u32>,
    /// Steps that read special registers into scalars.
    pub(super) sregs: Vec<u32>,
    /// Whether everything is counted that a launch in detail counts.
    pub(super) detailed: bool,
    pub(super) places: Vec<Place>,
    pub(super) stretches: Vec<Stretch>,
    told: Vec<counting::Told>,
    /// What the interpreter has to know of the step being compiled, with its number.
    pub(super) told_as: u32,
    cold: Vec<Cold>,
    /// Ends and gos, out of line.
    away: Vec<control::Away>,
    stubs: Stubs,
}

/// Instructions of x86-64 that a kernel may take.
const MOST: usize = 2_000_000;

/// Compiles a kernel; `detailed` if it is to count what launches in detail count.
pub(crate) fn emit(code: &Code, features: Features, detailed: bool) -> Result<Emitted, Refused> {
    let mut asm = Asm::default();
    let blocks = code.blocks.iter().map(|_| asm.label()).collect();
    let stubs = Stubs::new(&mut asm);
    let mut emitter = Emitter {
        asm,
        pool: Pool::default(),
        code,
        features,
        assignment: Assignment::new(code),
        now: 0,
        blend: false,
        guarded: false,
        blocks,
        resumes: Vec::new(),
        waits: control::waits(code),
        nan: Nan::new(code),
        nears: Vec::new(),
        sregs: Vec::new(),
        detailed,
        places: Vec::new(),
        stretches: Vec::new(),
        told: Vec::new(),
        told_as: 0,
        cold: Vec::new(),
        away: Vec::new(),
        stubs,
    };
    emitter.stubs();
    let (mut native, mut block_of) = (0, vec![0; code.steps.len()]);
    for (b, block) in code.blocks.iter().enumerate() {
        block_of[block.steps.clone()].fill(b as u32);
        native += emitter.block(b, block);
        if emitter.asm.len() > MOST {
            return Err(Refused::TooLarge);
        }
    }
    emitter.out_of_line();
    let Emitter { asm, pool, blocks, resumes, stubs, nears, sregs, places, stretches, .. } =
        emitter;
    let code_bytes = asm.encode().map_err(Refused::Encoding)?;
    Ok(Emitted {
        code: code_bytes,
        pool: pool.finish(),
        enter: stubs.enter,
        blocks,
        resumes,
        block_of,
        nears,
        sregs,
        places,
        stretches,
        native: (native, code.steps.len()),
    })
}

impl Emitter<'_> {
    /// Compiles a block; how many of its steps the interpreter is not needed for.
    fn block(&mut self, b: usize, block: &Block) -> usize {
        let label = self.blocks[b];
        self.asm.bind(label);
        self.count(b as u32, block, 0);
        let mut native = 0;
        for index in block.steps.clone() {
            let step = &self.code.steps[index];
            self.now = index as u32;
            native += usize::from(self.step(step));
            if let Kind::Barrier { .. } = step.kind {
                let resume = self.asm.label();
                self.asm.bind(resume);
                self.resumes.push((index as u32 + 1, resume));
                self.count(b as u32, block, index + 1 - block.steps.start);
            }
        }
        self.end(b as u32, block);
        native
    }

    /// Compiles a step; whether the interpreter is needed for faults at most.
    fn step(&mut self, step: &Step) -> bool {
        self.blend = step.blend;
        self.told_as = 0;
        self.guarded = step.guard.is_some();
        if matches!(step.kind, Kind::Nothing | Kind::Fence) && step.guard.is_none() {
            return true;
        }
        let skip = self.asm.label();
        let on = match &step.guard {
            None => ALL,
            Some(guard) => {
                self.guard(guard, skip);
                GUARDED
            }
        };
        let native = self.execute(&step.kind, on);
        if !native {
            self.call(on);
        }
        if step.guard.is_some() {
            self.asm.bind(skip);
        }
        native
    }

    fn execute(&mut self, kind: &Kind, on: On) -> bool {
        match kind {
            Kind::Narrow { op, dst, src } => self.narrow(*op, *dst, src, on),
            Kind::Wide { op, dst, src } => self.wide(*op, *dst, src, on),
            Kind::Low { dst, src } => self.low(*dst, *src, on),
            Kind::Test { test, wide, combine, dst, src } => {
                self.test(*test, *wide, *combine, *dst, src, on)
            }
            Kind::Select { wide, dst, src } => self.select(*wide, *dst, src, on),
            Kind::Logic { op, dst, src } => self.logic(*op, *dst, *src, on),
            Kind::Scalar { native, dst, src } => self.scalar(*native, *dst, src),
            Kind::Widen { signed, dst, base, stride, factor, addend } => {
                self.widen((*signed, *dst, *base), *stride, *factor, *addend, on)
            }
            Kind::Load(memory) => self.load(memory, on),
            Kind::Store(memory) => self.store(memory, on),
            Kind::Sreg { dst: Dst::Scalar(dst), .. } => {
                self.sreg(*dst, on);
                true
            }
            Kind::Generic(generic) => self.generic(generic, on),
            Kind::Rare { op, dst, src } => self.rare(*op, *dst, src, on),
            Kind::Collective(collective) => self.collective(collective, on),
            Kind::Atomic(atomic) => self.atomic(atomic, on),
            Kind::Nothing | Kind::Fence => true,
            _ => false,
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
        self.asm.rr(Op::VEX_Kmovd_kr_r32, Register::K3, R10D);
        self.asm.rri(Op::VEX_Kshiftrd_kr_kr_imm8, Register::K4, Register::K3, 16);
    }

    /// The lanes that run and in which a guard holds.
    pub(super) fn guarded_lanes(&mut self, guard: &Guard, to: Register) {
        self.predicate(guard.pred, to);
        if guard.negated {
            self.asm.r(Op::Not_rm32, to);
        }
        self.asm.rr(Op::And_r32_rm32, to, Register::EBX);
    }

    /// A predicate as a mask.
    pub(super) fn predicate(&mut self, src: Src, to: Register) {
        match src {
            Src::Pred(i) => {
                self.asm.rm(Op::Mov_r32_rm32, to, at(Register::R14, 4 * i64::from(i)));
            }
            Src::Line(i, ..) => {
                self.asm.rm(Op::Mov_r32_rm32, to, at(Register::R15, 8 * i64::from(i)));
                self.asm.ri(Op::And_rm32_imm8, to, 1);
                self.asm.r(Op::Neg_rm32, to);
            }
            Src::Const(bits) => {
                let all = if bits & 1 != 0 { -1 } else { 0 };
                self.asm.ri(Op::Mov_r32_imm32, to, all);
            }
            _ => self.asm.ri(Op::Mov_r32_imm32, to, 0),
        }
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
        self.cold.push(Cold { from, back, step: self.now | self.told_as, on: on.lanes });
        (from, back)
    }

    fn out_of_line(&mut self) {
        for cold in std::mem::take(&mut self.cold) {
            self.asm.bind(cold.from);
            self.asm.rr(Op::Mov_r32_rm32, Register::EDX, cold.on);
            self.asm.ri64(Register::RSI, cold.step.into());
            let stub = self.stubs.step;
            self.asm.jump(Op::Call_rel32_64, stub);
            self.asm.jump(Op::Jmp_rel32_64, cold.back);
        }
        self.told_out_of_line();
        self.ends_out_of_line();
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
