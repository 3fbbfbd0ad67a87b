//! Calls of the host and ends of turns.

use super::super::{Mem, Part, StubArgument, VReg, View};
use super::harness::{Test, data, is_available};
use fast::Level;
use iced_x86::{Code as Op, Register};
use regalloc2::Algorithm;

const ADD: Op = Op::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32;
const LOAD: Op = Op::EVEX_Vmovdqu32_zmm_k1z_zmmm512;
const STORE: Op = Op::EVEX_Vmovdqu32_zmmm512_k1z_zmm;

/// Values of all classes that are live over a place: vectors, masks, numbers.
struct Live {
    vectors: Vec<VReg>,
    masks: Vec<VReg>,
    ints: Vec<VReg>,
}

impl Live {
    /// Makes values from the first rows of the data.
    fn new(t: &mut Test, [vectors, masks, ints]: [i64; 3]) -> Self {
        let vectors: Vec<VReg> = (0..vectors).map(|i| t.f.v2(LOAD, data(64 * i))).collect();
        let compare = Op::EVEX_Vpcmpud_kr_k1_zmm_zmmm512b32_imm8;
        let mut mask = |i: i64| {
            let word = t.pool.word(i as u64);
            t.f.compare(compare, vectors[0], Mem::pool(word).broadcast(), 6)
        };
        let masks = (0..masks).map(&mut mask).collect();
        let ints =
            (0..ints).map(|i| t.f.int(Op::Mov_r32_rm32, View::R32, (data(64 + 4 * i),))).collect();
        Self { vectors, masks, ints }
    }

    /// Stores the sum of all of them to the first row: ints and masks to its first lane.
    fn sum(&self, t: &mut Test) {
        let mut sum = self.vectors[0];
        for &v in &self.vectors[1..] {
            sum = t.f.v3(ADD, sum, v);
        }
        for &k in &self.masks {
            let n = t.f.int(Op::VEX_Kmovw_r32_kr, View::R32, (k,));
            let n = t.f.def(Op::EVEX_Vmovd_xmm_rm32, View::X, (n.d(),));
            sum = t.f.v3(ADD, sum, n);
        }
        for &n in &self.ints {
            let n = t.f.def(Op::EVEX_Vmovd_xmm_rm32, View::X, (n.d(),));
            sum = t.f.v3(ADD, sum, n);
        }
        t.f.store(STORE, data(0), sum);
    }

    /// What [`Self::sum`] stores.
    fn expected(words: &[u32], [vectors, masks, ints]: [usize; 3]) -> [u32; 16] {
        let mut sum: [u32; 16] =
            std::array::from_fn(|lane| (0..vectors).map(|row| words[16 * row + lane]).sum());
        for i in 0..masks {
            sum[0] += (0..16).filter(|&l| words[l] > i as u32).map(|l| 1 << l).sum::<u32>();
        }
        sum[0] += words[16..16 + ints].iter().sum::<u32>();
        sum
    }
}

fn words(rows: usize) -> Vec<u32> {
    (0..16 * rows as u32).map(|i| i * 7 % 31).collect()
}

#[test]
fn calls_out_of_line_preserve_all_that_is_live() {
    for counts in [[3, 2, 4], [31, 6, 10], [40, 9, 14]] {
        let build = |t: &mut Test| {
            let entry = t.f.block(&[]);
            t.f.begin(entry);
            let live = Live::new(t, counts);
            let [flag, x] = [0, 4].map(|at| t.f.int(Op::Mov_r32_rm32, View::R32, (data(at),)));
            // A load that is left to the host if the first word is not 0. The host adds its
            // arguments to the first word; the code after the call doubles the sum.
            let mut p = t.f.pseudo();
            let result = p.output(View::R32);
            let (slow, back) = (p.label(), p.label());
            p.int(Op::Test_rm32_r32, View::R32, (flag, flag)).jump(Op::Jne_rel32_64, slow);
            p.op(Op::Mov_r32_rm32, (result.d(), x.d()));
            p.bind(back);
            p.out_of_line();
            p.bind(slow);
            p.op(Op::Mov_rm32_r32, (data(0), x.d()));
            let [step, zero] = [1000, 0].map(StubArgument::Imm);
            let arguments = [step, StubArgument::Reg(x), zero, zero];
            p.call(t.stubs.call, &arguments, &[result]);
            p.op(Op::Mov_r32_rm32, (result.d(), data(0)));
            p.op(Op::Add_r32_rm32, (result.d(), data(0)));
            p.op(Op::Sub_r32_rm32, (result.d(), x.d()));
            p.jump(Op::Jmp_rel32_64, back);
            p.end();
            live.sum(t);
            t.f.store(Op::Mov_rm32_r32, data(64), result.d());
            t.f.exit(t.stubs.done);
        };
        for flag in [0, 1] {
            let mut words = words(40);
            words[0] = flag;
            let mut expected = words.clone();
            expected[..16].copy_from_slice(&Live::expected(&words, counts.map(|n| n as usize)));
            let x = words[1];
            expected[16] = if flag == 0 { x } else { 2 * (x + 1000 + 2 * x) - x };
            Test::check(build, &words, &expected);
        }
    }
}

#[test]
fn calls_save_only_what_is_live() {
    // Of twenty vectors, two are read after the call, and one number in a register that a call
    // need not preserve.
    let build = |t: &mut Test| {
        let entry = t.f.block(&[]);
        t.f.begin(entry);
        let live = Live::new(t, [20, 0, 0]);
        let n = t.f.int(Op::Mov_r32_rm32, View::R32, (data(0),));
        live.sum(t);
        let mut p = t.f.pseudo();
        p.fixed(n, Register::RDI);
        p.call(t.stubs.call, &[StubArgument::Imm(0); 4], &[]);
        p.end();
        let sum = t.f.v3(ADD, live.vectors[3], live.vectors[4]);
        t.f.store(STORE, data(64), sum);
        t.f.store(Op::Mov_rm32_r32, data(64), n.d());
        t.f.exit(t.stubs.done);
    };
    let words = words(20);
    let mut expected = words.clone();
    expected[..16].copy_from_slice(&Live::expected(&words, [20, 0, 0]));
    for lane in 0..16 {
        expected[16 + lane] = words[48 + lane] + words[64 + lane];
    }
    expected[16] = words[0];
    Test::check(build, &words, &expected);
    if !is_available() {
        return;
    }
    let mut test = Test::new();
    build(&mut test);
    // Two vectors, and a number that takes no more than a vector's place.
    let (_, compiled) = test.finish(Algorithm::Ion, &words);
    assert_eq!(compiled.seat_bytes, 3 * 64);
}

#[test]
fn calls_in_loops_out_of_line_keep_what_the_next_round_reads() {
    let build = |t: &mut Test| {
        let entry = t.f.block(&[]);
        t.f.begin(entry);
        let [x, n] = [0, 4].map(|at| t.f.int(Op::Mov_r32_rm32, View::R32, (data(at),)));
        let mut p = t.f.pseudo();
        // Named before the call only, in a register that a call need not preserve.
        p.fixed(x, Register::RDI);
        let result = p.output(View::R32);
        let left = p.temp(View::R32);
        let (slow, again, back) = (p.label(), p.label(), p.label());
        p.op(Op::Mov_r32_imm32, (result.d(), 0));
        p.op(Op::Mov_r32_rm32, (left.d(), n.d()));
        p.int(Op::Test_rm32_r32, View::R32, (n, n)).jump(Op::Jne_rel32_64, slow);
        p.bind(back).out_of_line().bind(slow).bind(again);
        p.op(Op::Add_r32_rm32, (result.d(), x.d()));
        p.call(t.stubs.call, &[StubArgument::Imm(0); 4], &[]);
        p.op(Op::Sub_rm32_imm32, (left.d(), 1)).jump(Op::Jne_rel32_64, again);
        p.jump(Op::Jmp_rel32_64, back);
        p.end();
        t.f.store(Op::Mov_rm32_r32, data(0), result.d());
        t.f.exit(t.stubs.done);
    };
    Test::check(build, &[7, 0], &[0, 0]);
    Test::check(build, &[7, 5], &[35, 5]);
}

#[test]
fn arguments_of_calls_may_be_exchanged() {
    let build = |t: &mut Test| {
        let entry = t.f.block(&[]);
        t.f.begin(entry);
        let [a, b, c, d] =
            [0, 4, 8, 12].map(|at| t.f.int(Op::Mov_r32_rm32, View::R32, (data(at),)));
        let mut p = t.f.pseudo();
        // A cycle of three, and one that stays.
        p.fixed(a, Register::RDX).fixed(b, Register::RCX).fixed(c, Register::RSI);
        p.fixed(d, Register::R9);
        let zero = p.temp(View::R32);
        p.int(Op::Xor_r32_rm32, View::R32, (zero, zero));
        p.op(Op::Mov_rm32_r32, (data(0), zero.d()));
        p.call(t.stubs.call, &[a, b, c, d].map(StubArgument::Reg), &[]);
        p.end();
        t.f.store(Op::Mov_rm32_r32, data(4), c.d());
        t.f.exit(t.stubs.done);
    };
    Test::check(build, &[3, 50, 700, 9000], &[3 + 100 + 2100 + 36000, 700, 700, 9000]);
}

#[test]
fn switches_in_loops_keep_what_is_live() {
    for counts in [[2, 1, 2], [36, 8, 12]] {
        let build = |t: &mut Test| {
            let entry = t.f.block(&[]);
            t.f.begin(entry);
            let live = Live::new(t, counts);
            let n = t.f.int(Op::Mov_r32_rm32, View::R32, (data(0),));
            let (head, done) = (t.f.block(&[View::V, View::R64]), t.f.block(&[]));
            t.f.jump((head, &[live.vectors[0], n]));
            t.f.begin(head);
            let (acc, n) = (t.f.param(head, 0), t.f.param(head, 1));
            let acc = t.f.v3(ADD, acc, live.vectors[1]);
            // The turn ends in each round in line, and in odd rounds out of line as well.
            let mut p = t.f.pseudo();
            let (slow, back) = (p.label(), p.label());
            p.op(Op::Test_rm32_imm32, (n.d(), 1)).jump(Op::Jne_rel32_64, slow);
            p.bind(back);
            p.out_of_line();
            p.bind(slow).switch(t.stubs.next, &[StubArgument::Imm(5)], 1, &[]);
            p.jump(Op::Jmp_rel32_64, back);
            p.end();
            let acc = t.f.v3(ADD, acc, live.vectors[1]);
            let mut p = t.f.pseudo();
            p.switch(t.stubs.next, &[], 2, &[]);
            p.end();
            t.f.store(STORE, data(64 * 40), acc);
            let n = t.f.alu(Op::Sub_rm64_imm32, View::R64, n, (1,));
            let test = (Op::Test_rm64_r64, View::R64);
            t.f.branch(test, (n, n), Op::Jne_rel32_64, (head, &[acc, n]), (done, &[]));
            t.f.begin(done);
            live.sum(t);
            t.f.exit(t.stubs.done);
        };
        let mut words = words(41);
        words[0] = 5;
        let mut expected = words.clone();
        expected[..16].copy_from_slice(&Live::expected(&words, counts.map(|n| n as usize)));
        for lane in 0..16 {
            expected[640 + lane] = words[lane] + 10 * words[16 + lane];
        }
        Test::check(build, &words, &expected);
    }
}

#[test]
fn vectors_of_avx2_are_spilled_and_saved() {
    if !is_available() {
        return;
    }
    let words = words(16);
    let mut expected = words.clone();
    for (i, word) in expected[..128].iter_mut().enumerate() {
        // Each vector is added to the one opposite.
        *word = words[i] + words[8 * (15 - i / 8) + i % 8];
    }
    expected[128..].fill(0);
    for algorithm in [Algorithm::Ion, Algorithm::Fastalloc] {
        let mut t = Test::with(Level::Avx2);
        let entry = t.f.block(&[]);
        t.f.begin(entry);
        let vectors: Vec<VReg> =
            (0..32).map(|i| t.f.v2(Op::VEX_Vmovdqu_ymm_ymmm256, data(32 * i))).collect();
        let mut p = t.f.pseudo();
        p.call(t.stubs.call, &[StubArgument::Imm(0); 4], &[]).switch(t.stubs.next, &[], 0, &[]);
        p.end();
        for i in 0..32 {
            let op = Op::VEX_Vpaddd_ymm_ymm_ymmm256;
            let sum = if i < 16 {
                t.f.v3(op, vectors[i], vectors[15 - i])
            } else {
                t.f.v3(Op::VEX_Vpsubd_ymm_ymm_ymmm256, vectors[i], vectors[i])
            };
            t.f.store(Op::VEX_Vmovdqu_ymmm256_ymm, data(32 * i as i64), sum);
        }
        t.f.exit(t.stubs.done);
        let (result, compiled) = t.finish(algorithm, &words);
        assert_eq!(result, expected, "{algorithm:?}");
        // Sixteen registers are saved once, and the other vectors have spill slots.
        assert!(compiled.seat_bytes >= 32 * 32 && compiled.moves[1] >= 16);
    }
}
