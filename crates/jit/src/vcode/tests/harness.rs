//! Functions in executable memory, with stubs in place of a host.

use super::super::{Compiled, Compiler, Function, Mem};
use crate::asm::{Asm, Label, at};
use crate::frame::Frame;
use crate::native::execute::execute;
use crate::pool::{Pool, PoolRow};
use crate::warp_context::WarpContext;
use fast::Level;
use iced_x86::{Code as Op, Instruction, Register};
use regalloc2::Algorithm;

use Register::{EAX, ECX, EDX, ESI, R8, R9, R11, R12, R13, R14, R15, RAX, RBP, RBX, RCX, RDI, RDX};
use Register::{RSI, RSP};

/// Where the data of tests begin in the frame.
const DATA: i64 = 8 * 1024;
const CONTEXT: i64 = 12 * 1024;
/// What the stubs of tests keep in the frame: the pool, the seat, the number of calls.
const POOL_AT: i64 = CONTEXT + 4096;
const SEAT_AT: i64 = POOL_AT + 8;
const CALLS: i64 = POOL_AT + 16;
const BYTES: usize = 20 * 1024;

const SAVED: [Register; 6] = [RBX, RBP, R12, R13, R14, R15];

/// Memory of the test at a byte offset.
pub(super) fn data(offset: i64) -> Mem {
    Mem::frame(DATA + offset)
}

/// Labels of the stubs.
pub(super) struct Stubs {
    /// Returns to the test.
    pub(super) done: Label,
    /// Adds `rsi + 2 rdx + 3 rcx + 4 r9` to the first eight bytes of the data and destroys what a
    /// call may destroy.
    pub(super) call: Label,
    /// Destroys all registers and continues the warp.
    pub(super) next: Label,
}

/// A test: a function, its pool, and the stubs that it may use.
pub(super) struct Test {
    pub(super) f: Function,
    pub(super) pool: Pool,
    pub(super) stubs: Stubs,
    asm: Asm,
}

impl Test {
    pub(super) fn new() -> Self {
        Self::with(Level::Avx512)
    }

    /// A test with the vectors of a level.
    pub(super) fn with(level: Level) -> Self {
        let mut asm = Asm::default();
        let [done, call, next] = [(); 3].map(|()| asm.label());
        let stubs = Stubs { done, call, next };
        Self { f: Function::new(level), pool: Pool::default(), stubs, asm }
    }

    /// Runs the function on data, with registers allocated in both ways.
    pub(super) fn run(build: impl Fn(&mut Self), data: &[u32]) -> [Vec<u32>; 2] {
        [Algorithm::Ion, Algorithm::Fastalloc].map(|algorithm| {
            let mut test = Self::new();
            build(&mut test);
            test.finish(algorithm, data).0
        })
    }

    /// Runs the function, and compares what it leaves in the data.
    #[track_caller]
    pub(super) fn check(build: impl Fn(&mut Self), data: &[u32], expected: &[u32]) {
        if !is_available() {
            return;
        }
        for (result, by) in Self::run(build, data).into_iter().zip(["Ion", "Fastalloc"]) {
            assert_eq!(result, expected, "{by}");
        }
    }

    pub(super) fn finish(mut self, algorithm: Algorithm, data: &[u32]) -> (Vec<u32>, Compiled) {
        let mut compiler = Compiler::new(self.f.level);
        let compiled = compiler.compile_by(&self.f, &mut self.asm, algorithm).unwrap();
        let enter = self.stubs(compiled.entry);
        let code = self.asm.encode().unwrap();
        // For a disassembler.
        if std::env::var_os("VCODE_DUMP").is_some() {
            std::fs::write(format!("vcode-{algorithm:?}.bin"), &code.bytes).unwrap();
        }
        let mut frame = vec![PoolRow([0; 8]); BYTES / 64];
        let context = frame.as_ptr() as u64 + CONTEXT as u64;
        let word = |at: i64| (at as usize / 64, at as usize % 64 / 8);
        let (row, column) = word(Frame::WARP);
        frame[row].0[column] = context;
        for (i, pair) in data.chunks(2).enumerate() {
            let (row, column) = word(DATA + 8 * i as i64);
            let high = pair.get(1).copied().unwrap_or(0);
            frame[row].0[column] = u64::from(pair[0]) | u64::from(high) << 32;
        }
        let pool = self.pool.finish();
        // A row beyond the end shows stores past it.
        let mut seat = vec![PoolRow([0xa5; 8]); compiled.seat_bytes / 64 + 1];
        execute(&code, enter, &mut frame, &pool, &mut seat);
        assert_eq!(seat[compiled.seat_bytes / 64].0, [0xa5; 8], "the seat is longer");
        let result = (0..data.len()).map(|i| {
            let (row, column) = word((DATA + 4 * i as i64) / 8 * 8);
            (frame[row].0[column] >> (32 * (i % 2))) as u32
        });
        (result.collect(), compiled)
    }

    /// Emits the stubs and the way in.
    fn stubs(&mut self, entry: Label) -> Label {
        const { assert!(Frame::WARP < DATA) };
        let asm = &mut self.asm;
        let enter = asm.label();
        asm.bind(enter);
        SAVED.into_iter().for_each(|r| asm.r(Op::Push_r64, r));
        asm.ri(Op::Sub_rm64_imm8, RSP, 8);
        asm.rr(Op::Mov_r64_rm64, RBP, RDI);
        asm.rr(Op::Mov_r64_rm64, R11, RSI);
        asm.rr(Op::Mov_r64_rm64, R15, RDX);
        asm.mr(Op::Mov_rm64_r64, at(RBP, POOL_AT), R11);
        asm.mr(Op::Mov_rm64_r64, at(RBP, SEAT_AT), R15);
        asm.jump(Op::Jmp_rel32_64, entry);
        asm.bind(self.stubs.done);
        asm.ri(Op::Add_rm64_imm8, RSP, 8);
        SAVED.into_iter().rev().for_each(|r| asm.r(Op::Pop_r64, r));
        asm.op0(Op::VEX_Vzeroupper);
        asm.op0(Op::Retnq);
        asm.bind(self.stubs.call);
        asm.rr(Op::Mov_r32_rm32, EAX, ESI);
        for (register, times) in [(EDX, 2), (ECX, 3), (Register::R9D, 4)] {
            let product = Instruction::with3(Op::Imul_r32_rm32_imm32, register, register, times);
            asm.instruction(product);
            asm.rr(Op::Add_r32_rm32, EAX, register);
        }
        asm.mr(Op::Add_rm32_r32, at(RBP, DATA), EAX);
        asm.m(Op::Inc_rm64, at(RBP, CALLS));
        destroy(asm, &[RAX, RCX, RDX, RSI, RDI, R8, R9, Register::R10]);
        asm.rm(Op::Mov_r64_rm64, R11, at(RBP, POOL_AT));
        asm.op0(Op::Retnq);
        asm.bind(self.stubs.next);
        destroy(asm, &[RAX, RCX, RDX, RSI, RDI, R9, Register::R10, RBX, R12, R13, R14, R15]);
        asm.rm(Op::Mov_r64_rm64, R11, at(RBP, POOL_AT));
        asm.rm(Op::Mov_r64_rm64, R15, at(RBP, SEAT_AT));
        asm.rm(Op::Mov_r64_rm64, R8, at(RBP, Frame::WARP));
        asm.m(Op::Jmp_rm64, at(R8, WarpContext::AT));
        enter
    }
}

/// Whether the host can run the tests' code.
pub(super) fn is_available() -> bool {
    Level::Avx512.is_available()
}

/// Overwrites general registers, and all vector and mask registers.
fn destroy(asm: &mut Asm, ints: &[Register]) {
    for (i, &register) in ints.iter().enumerate() {
        let value = 0xdead_0000 + i as u64;
        asm.instruction(Instruction::with2(Op::Mov_r64_imm64, register, value));
    }
    for number in 0..32 {
        asm.rr(Op::EVEX_Vpbroadcastd_zmm_k1z_r32, Register::ZMM0 + number, EAX);
    }
    for number in 1..8 {
        asm.rr(Op::VEX_Kmovd_kr_r32, Register::K0 + number, EAX);
    }
}
