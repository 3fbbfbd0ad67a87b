//! Loops, branches, register pressure, constraints.

use super::super::{Block, Mem, Part, VReg, View};
use super::harness::{Test, data, is_available};
use iced_x86::Code as Op;
use regalloc2::Algorithm;

const ADD: Op = Op::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32;
const XOR: Op = Op::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32;
const LOAD: Op = Op::EVEX_Vmovdqu32_zmm_k1z_zmmm512;
const STORE: Op = Op::EVEX_Vmovdqu32_zmmm512_k1z_zmm;

fn load(t: &mut Test, offset: i64) -> VReg {
    t.f.v2(LOAD, data(offset))
}

fn store(t: &mut Test, offset: i64, value: VReg) {
    t.f.store(STORE, data(offset), value);
}

fn int(t: &mut Test, offset: i64) -> VReg {
    t.f.int(Op::Mov_r32_rm32, View::R32, (data(offset),))
}

fn begin(t: &mut Test) -> Block {
    let entry = t.f.block(&[]);
    t.f.begin(entry);
    entry
}

/// Rows of sixteen words.
fn rows<const N: usize>(value: impl Fn(usize, usize) -> u32) -> Vec<u32> {
    (0..N).flat_map(|row| (0..16).map(move |lane| (row, lane))).map(|(r, l)| value(r, l)).collect()
}

#[test]
fn loop_adds_rows_under_a_mask() {
    let build = |t: &mut Test| {
        begin(t);
        let (head, done) = (t.f.block(&[View::V, View::R64, View::R64]), t.f.block(&[View::V]));
        let k = t.f.def(Op::VEX_Kmovw_kr_km16, View::K, (data(0),));
        let n = int(t, 4);
        let p = t.f.lea(data(64));
        let zero = t.f.same(XOR, View::V, 2);
        t.f.jump((head, &[zero, p, n]));
        t.f.begin(head);
        let [acc, p, n] = [0, 1, 2].map(|i| t.f.param(head, i));
        let sum = t.f.merge(k, acc).v3(ADD, acc, Mem::at(p, 0));
        let p = t.f.lea(Mem::at(p, 64));
        let n = t.f.alu(Op::Sub_rm64_imm32, View::R64, n, (1,));
        let test = (Op::Test_rm64_r64, View::R64);
        t.f.branch(test, (n, n), Op::Jne_rel32_64, (head, &[sum, p, n]), (done, &[sum]));
        t.f.begin(done);
        let sum = t.f.param(done, 0);
        store(t, 0, sum);
        t.f.exit(t.stubs.done);
    };
    let mut words = rows::<5>(|row, lane| (100 * row + lane) as u32);
    (words[0], words[1]) = (0x8005, 4);
    let mut expected = words.clone();
    for lane in 0..16 {
        let sum: u32 = (1..5).map(|row| words[16 * row + lane]).sum();
        expected[lane] = if 0x8005 >> lane & 1 != 0 { sum } else { 0 };
    }
    Test::check(build, &words, &expected);
}

#[test]
fn diamonds_pass_values_on() {
    // |a - b|, and which was greater.
    let build = |t: &mut Test| {
        begin(t);
        let (a, b) = (int(t, 0), int(t, 4));
        let (less, more) = (t.f.cold_block(&[]), t.f.block(&[]));
        let join = t.f.block(&[View::R32, View::R32]);
        let compare = (Op::Cmp_r32_rm32, View::R32);
        t.f.branch(compare, (a, b), Op::Jb_rel32_64, (less, &[]), (more, &[]));
        t.f.begin(less);
        let d = t.f.alu(Op::Sub_r32_rm32, View::R32, b, (a,));
        t.f.jump((join, &[d, a]));
        t.f.begin(more);
        let d = t.f.alu(Op::Sub_r32_rm32, View::R32, a, (b,));
        t.f.jump((join, &[d, b]));
        t.f.begin(join);
        let [d, x] = [0, 1].map(|i| t.f.param(join, i));
        t.f.store(Op::Mov_rm32_r32, data(0), d.d());
        t.f.store(Op::Mov_rm32_r32, data(4), x.d());
        t.f.exit(t.stubs.done);
    };
    Test::check(build, &[3, 10], &[7, 3]);
    Test::check(build, &[10, 3], &[7, 3]);
}

#[test]
fn edges_of_branches_may_have_arguments() {
    // Both sides go to one block, which is the loop's head as well: Fibonacci numbers, whose
    // parameters are exchanged in each round.
    let build = |t: &mut Test| {
        begin(t);
        let [zero, one] = [0, 1].map(|n| t.f.constant(n));
        let n = int(t, 0);
        let head = t.f.block(&[View::R64, View::R64, View::R64]);
        let done = t.f.block(&[View::R64]);
        t.f.jump((head, &[zero, one, n]));
        t.f.begin(head);
        let [a, b, n] = [0, 1, 2].map(|i| t.f.param(head, i));
        let sum = t.f.lea(Mem::at(a, 0).index(b, 1));
        let left = t.f.alu(Op::Sub_rm64_imm32, View::R64, n, (1,));
        let test = (Op::Test_rm64_r64, View::R64);
        t.f.branch(test, (left, left), Op::Jne_rel32_64, (head, &[b, sum, left]), (done, &[b]));
        t.f.begin(done);
        let b = t.f.param(done, 0);
        let (x, join) = (t.f.constant(40), t.f.block(&[View::R64, View::R64]));
        let compare = (Op::Cmp_r64_rm64, View::R64);
        t.f.branch(compare, (b, x), Op::Ja_rel32_64, (join, &[b, x]), (join, &[x, b]));
        t.f.begin(join);
        let [most, least] = [0, 1].map(|i| t.f.param(join, i));
        t.f.store(Op::Mov_rm64_r64, data(0), most);
        t.f.store(Op::Mov_rm64_r64, data(8), least);
        t.f.exit(t.stubs.done);
    };
    Test::check(build, &[10, 0, 0, 0], &[55, 0, 40, 0]);
    Test::check(build, &[8, 0, 0, 0], &[40, 0, 21, 0]);
}

#[test]
fn blocks_without_parameters_may_be_reached_by_several_branches() {
    // Counts down by 1 or 2 in memory: a loop whose head only jumps, with two ways back to it and
    // three ways out, all of them branches.
    let build = |t: &mut Test| {
        begin(t);
        let [head, body, even, odd, done] = [(); 5].map(|()| t.f.block(&[]));
        let test = (Op::Test_rm32_imm32, View::R32);
        t.f.jump((head, &[]));
        t.f.begin(head);
        t.f.jump((body, &[]));
        t.f.begin(body);
        t.f.effect(Op::Inc_rm32, (data(4),));
        let n = int(t, 0);
        let zero = (Op::Test_rm32_r32, View::R32);
        let next = t.f.block(&[]);
        t.f.branch(zero, (n, n), Op::Je_rel32_64, (done, &[]), (next, &[]));
        t.f.begin(next);
        t.f.branch(test, (n, 1), Op::Je_rel32_64, (even, &[]), (odd, &[]));
        t.f.begin(odd);
        let compare = (Op::Sub_rm32_imm32, View::R32);
        t.f.branch(compare, (data(0), 1), Op::Je_rel32_64, (done, &[]), (head, &[]));
        t.f.begin(even);
        t.f.branch(compare, (data(0), 2), Op::Je_rel32_64, (done, &[]), (head, &[]));
        t.f.begin(done);
        t.f.exit(t.stubs.done);
    };
    Test::check(build, &[0, 0], &[0, 1]);
    Test::check(build, &[6, 0], &[0, 3]);
    Test::check(build, &[7, 0], &[0, 4]);
}

#[test]
fn bytes_of_all_general_registers_have_names() {
    // Twelve conditions are live at once: bit i of the result is whether the number is above i.
    let build = |t: &mut Test| {
        begin(t);
        let n = int(t, 0);
        let above: Vec<VReg> = (0..12)
            .map(|i| {
                let mut p = t.f.pseudo();
                let above = p.output(View::R32);
                p.int(Op::Cmp_rm32_imm32, View::R32, (n, i)).op(Op::Seta_rm8, (above.b(),));
                p.op(Op::Movzx_r32_rm8, (above.d(), above.b()));
                p.end();
                above
            })
            .collect();
        for (i, &above) in above.iter().enumerate() {
            let bit = t.f.alu(Op::Shl_rm32_imm8, View::R32, above, (i as i32,));
            t.f.store(Op::Or_rm32_r32, data(4), bit.d());
        }
        t.f.exit(t.stubs.done);
    };
    Test::check(build, &[7, 0], &[7, 0x7f]);
    Test::check(build, &[100, 0], &[100, 0xfff]);
}

#[test]
fn forty_live_vectors_are_spilled() {
    let build = |t: &mut Test| {
        begin(t);
        let rows: Vec<VReg> = (0..40).map(|i| load(t, 64 * i)).collect();
        // Each row plus the row before it, and plus the row opposite, while all are live.
        let sums: Vec<VReg> = (0..40).map(|i| t.f.v3(ADD, rows[i], rows[(i + 39) % 40])).collect();
        for i in 0..40 {
            let sum = t.f.v3(ADD, sums[i], rows[39 - i]);
            let sum = t.f.v3(XOR, sum, sums[39 - i]);
            store(t, 64 * i as i64, sum);
        }
        t.f.exit(t.stubs.done);
    };
    let words = rows::<40>(|row, lane| (row * row * 77 + lane * 1000) as u32);
    let mut expected = words.clone();
    for lane in 0..16 {
        let row = |i: usize| words[16 * i + lane];
        let sum = |i: usize| row(i) + row((i + 39) % 40);
        for i in 0..40 {
            expected[16 * i + lane] = (sum(i) + row(39 - i)) ^ sum(39 - i);
        }
    }
    Test::check(build, &words, &expected);
}

#[test]
fn twelve_live_masks_are_spilled() {
    // Bit i of lane l of the result is whether words i and i + 1 (mod 12) of the lane are equal.
    let build = |t: &mut Test| {
        begin(t);
        let rows: Vec<VReg> = (0..12).map(|i| load(t, 64 * i)).collect();
        let equal: Vec<VReg> = (0..12)
            .map(|i| {
                let op = Op::EVEX_Vpcmpud_kr_k1_zmm_zmmm512b32_imm8;
                t.f.compare(op, rows[i], rows[(i + 1) % 12], 0)
            })
            .collect();
        let mut sum = t.f.same(XOR, View::V, 2);
        for (i, &mask) in equal.iter().enumerate() {
            let both = t.f.k3(Op::VEX_Korw_kr_kr_kr, mask, equal[(i + 5) % 12]);
            let one = t.pool.word(1 << i);
            sum = t.f.merge(mask, sum).v3(ADD, sum, Mem::pool(one).broadcast());
            let both = t.f.int(Op::VEX_Kmovw_r32_kr, View::R32, (both,));
            t.f.store(Op::Mov_rm32_r32, data(64 + 4 * i as i64), both.d());
        }
        store(t, 0, sum);
        t.f.exit(t.stubs.done);
    };
    let words = rows::<12>(|row, lane| ((row * 7 + lane * 3) % 5 / 2) as u32);
    let mut expected = words.clone();
    let equal = |i: usize, lane: usize| {
        u32::from(words[16 * i + lane] == words[16 * ((i + 1) % 12) + lane])
    };
    for (lane, bits) in expected[..16].iter_mut().enumerate() {
        *bits = (0..12).map(|i| equal(i, lane) << i).sum();
    }
    for i in 0..12 {
        let either = |lane| (equal(i, lane) | equal((i + 5) % 12, lane)) << lane;
        expected[16 + i] = (0..16).map(either).sum();
    }
    Test::check(build, &words, &expected);
}

#[test]
fn rounding_and_flags_of_one_instruction_are_set() {
    use iced_x86::RoundingControl::{RoundDown, RoundUp};
    // 1 + tiny in three ways, with and without a mask, and a comparison with a quiet NaN.
    let build = |t: &mut Test| {
        begin(t);
        let [one, tiny] = [0, 64].map(|at| load(t, at));
        let add = Op::EVEX_Vaddps_zmm_k1z_zmm_zmmm512b32_er;
        let k = t.f.def(Op::VEX_Kmovw_kr_km16, View::K, (data(128),));
        let up = t.f.round(RoundUp).v3(add, one, tiny);
        let down = t.f.zero(k).round(RoundDown).v3(add, one, tiny);
        let near = t.f.merge(k, up).v3(add, one, tiny);
        let compare = Op::EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae;
        let same = t.f.masked(k).quiet().compare(compare, near, down, 0);
        let bits = t.f.int(Op::VEX_Kmovw_r32_kr, View::R32, (same,));
        store(t, 0, up);
        store(t, 64, near);
        t.f.store(Op::Mov_rm32_r32, data(128), bits.d());
        t.f.exit(t.stubs.done);
    };
    let (one, next) = (1.0_f32.to_bits(), 1.0_f32.to_bits() + 1);
    let tiny = 1e-20_f32.to_bits();
    let mask = 0x00f5;
    let words = [[one; 16], [tiny; 16], [mask; 16]].concat();
    let mut expected = [[next; 16], [next; 16], [mask; 16]].concat();
    for lane in 0..16 {
        if mask >> lane & 1 != 0 {
            expected[16 + lane] = one;
        }
    }
    Test::check(build, &words, &expected);
}

#[test]
fn spill_slots_are_shared() {
    // Four hundred values, of which no more than 40 are live at once; and twenty numbers that are
    // live through a loop.
    let build = |t: &mut Test| {
        begin(t);
        let numbers: Vec<VReg> = (0..20).map(|i| int(t, 4 * i)).collect();
        let n = t.f.constant(3);
        let (head, done) = (t.f.block(&[View::R64]), t.f.block(&[]));
        t.f.jump((head, &[n]));
        t.f.begin(head);
        let n = t.f.param(head, 0);
        for _ in 0..10 {
            let rows: Vec<VReg> = (0..40).map(|i| load(t, 64 * i)).collect();
            for i in 0..40 {
                let sum = t.f.v3(ADD, rows[i], rows[39 - i]);
                store(t, 64 * i as i64, sum);
            }
        }
        let n = t.f.alu(Op::Sub_rm64_imm32, View::R64, n, (1,));
        let test = (Op::Test_rm64_r64, View::R64);
        t.f.branch(test, (n, n), Op::Jne_rel32_64, (head, &[n]), (done, &[]));
        t.f.begin(done);
        for (i, &number) in numbers.iter().enumerate() {
            t.f.store(Op::Add_rm32_r32, data(4 * i as i64), number.d());
        }
        t.f.exit(t.stubs.done);
    };
    let words = rows::<40>(|row, lane| (row * 31 + lane) as u32);
    let mut expected = words.clone();
    for _ in 0..30 {
        let before = expected.clone();
        for (i, word) in expected.iter_mut().enumerate() {
            *word = before[i].wrapping_add(before[16 * (39 - i / 16) + i % 16]);
        }
    }
    for (word, number) in expected[..20].iter_mut().zip(&words) {
        *word = word.wrapping_add(*number);
    }
    Test::check(build, &words, &expected);
    if !is_available() {
        return;
    }
    for algorithm in [Algorithm::Ion, Algorithm::Fastalloc] {
        let mut test = Test::new();
        build(&mut test);
        let (_, compiled) = test.finish(algorithm, &words);
        assert!(compiled.seat_bytes <= 45 * 64, "{algorithm:?}: {}", compiled.seat_bytes);
    }
}

#[test]
fn tied_sources_survive_if_they_are_read_later() {
    let build = |t: &mut Test| {
        begin(t);
        let [a, b, c] = [0, 64, 128].map(|at| load(t, at));
        // a ^ b ^ c; then all three are read again.
        let op = Op::EVEX_Vpternlogd_zmm_k1z_zmm_zmmm512b32_imm8;
        let x = t.f.v4i(op, a, b, c, 0x96);
        let y = t.f.v4i(op, b, b, a, 0x96);
        let sum = t.f.v3(ADD, a, b);
        let sum = t.f.v3(ADD, sum, c);
        store(t, 0, x);
        store(t, 64, y);
        store(t, 128, sum);
        t.f.exit(t.stubs.done);
    };
    let words = rows::<3>(|row, lane| (row * 1000 + lane * 37) as u32);
    let mut expected = words.clone();
    for lane in 0..16 {
        let [a, b, c] = [0, 1, 2].map(|row| words[16 * row + lane]);
        expected[lane] = a ^ b ^ c;
        expected[16 + lane] = a;
        expected[32 + lane] = a + b + c;
    }
    Test::check(build, &words, &expected);
}

#[test]
fn fixed_registers_hold_counts_and_products() {
    // Shifts by two counts in turn, and the high half of a product.
    let build = |t: &mut Test| {
        begin(t);
        let [x, m, n] = [0, 4, 8].map(|at| int(t, at));
        let a = t.f.alu(Op::Shl_rm32_CL, View::R32, x, (m.cl(),));
        let b = t.f.alu(Op::Shr_rm32_CL, View::R32, x, (n.cl(),));
        let c = t.f.alu(Op::Rol_rm32_CL, View::R32, m, (m.cl(),));
        use iced_x86::Register::{RAX, RDX};
        let mut p = t.f.pseudo();
        p.early_fixed(a, RAX);
        let low = p.output_fixed(RAX);
        let high = p.output_fixed(RDX);
        p.op(Op::Mul_rm32, (b.d(),));
        p.end();
        for (i, value) in [a, b, c, low, high].into_iter().enumerate() {
            t.f.store(Op::Mov_rm32_r32, data(4 * i as i64), value.d());
        }
        t.f.exit(t.stubs.done);
    };
    let (x, m, n) = (0x8765_4321_u32, 3_u32, 5_u32);
    let (a, b) = (x << m, x >> n);
    let product = u64::from(a) * u64::from(b);
    let expected = [a, b, m.rotate_left(m), product as u32, (product >> 32) as u32];
    Test::check(build, &[x, m, n, 0, 0], &expected);
}

#[test]
fn gathers_keep_their_mask_and_other_lanes() {
    let build = |t: &mut Test| {
        begin(t);
        let index = load(t, 0);
        let old = load(t, 64);
        let k = t.f.def(Op::VEX_Kmovw_kr_km16, View::K, (data(128),));
        let base = t.f.lea(data(0));
        let op = Op::EVEX_Vpgatherdd_zmm_k1_vm32z;
        let x = t.f.gather(op, View::V, Mem::at(base, 64).index(index, 4), k, old);
        // The mask, the index and the old values are read again.
        let y = t.f.gather(op, View::V, Mem::at(base, 64).index(index, 4), k, index);
        let sum = t.f.v3(ADD, old, index);
        let bits = t.f.int(Op::VEX_Kmovw_r32_kr, View::R32, (k,));
        store(t, 0, x);
        store(t, 64, y);
        let op = Op::EVEX_Vpscatterdd_vm32z_k1_zmm;
        t.f.scatter(op, Mem::at(base, 256).index(index, 4), k, sum);
        t.f.store(Op::Mov_rm32_r32, data(128), bits.d());
        t.f.exit(t.stubs.done);
    };
    let mut words = rows::<6>(|row, lane| (row * 1000 + (15 - lane)) as u32);
    let mask = 0x1234_u32;
    words[32] = mask;
    let mut expected = words.clone();
    for lane in 0..16 {
        let (on, index, old) = (mask >> lane & 1 != 0, 15 - lane, words[16 + lane]);
        expected[lane] = if on { words[16 + index] } else { old };
        expected[16 + lane] = if on { words[16 + index] } else { index as u32 };
        if on {
            expected[64 + index] = old + index as u32;
        }
    }
    Test::check(build, &words, &expected);
}
