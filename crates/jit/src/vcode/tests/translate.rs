//! From programs to functions.

use super::super::{Block, Function, Mem, Part, Source, StubArgument, VReg, View};
use super::harness::{Test, data};
use super::program::{Binary, Counts, Lanes, Logic, ROWS, Second, Statement};
use iced_x86::Code as Op;

/// The virtual registers of variables.
#[derive(Clone, Debug)]
struct Names {
    vectors: Vec<VReg>,
    masks: Vec<VReg>,
    ints: Vec<VReg>,
}

impl Names {
    fn all(&self) -> Vec<VReg> {
        [&self.vectors[..], &self.masks, &self.ints].concat()
    }

    fn views(&self) -> Vec<View> {
        let count = |view: View, list: &[VReg]| vec![view; list.len()];
        let (v, k) = (count(View::V, &self.vectors), count(View::K, &self.masks));
        [v, k, count(View::R64, &self.ints)].concat()
    }

    fn params(&self, f: &Function, block: Block) -> Self {
        let (v, k) = (self.vectors.len(), self.masks.len());
        let all: Vec<VReg> = (0..self.all().len()).map(|i| f.param(block, i)).collect();
        let [vectors, masks, ints] = [&all[..v], &all[v..v + k], &all[v + k..]].map(<[_]>::to_vec);
        Self { vectors, masks, ints }
    }
}

/// Adds a program to a test.
pub(super) fn translate(t: &mut Test, counts: Counts, statements: &[Statement]) {
    let entry = t.f.block(&[]);
    t.f.begin(entry);
    let load = Op::EVEX_Vmovdqu32_zmm_k1z_zmmm512;
    let word = |i: usize| data(4 * i as i64);
    let mut names = Names {
        vectors: (0..counts.vectors).map(|i| t.f.v2(load, row(i))).collect(),
        masks: (0..counts.masks)
            .map(|i| t.f.def(Op::VEX_Kmovw_kr_km16, View::K, (word(i),)))
            .collect(),
        ints: (0..counts.ints)
            .map(|i| t.f.int(Op::Mov_r32_rm32, View::R32, (word(16 + i),)))
            .collect(),
    };
    list(t, &mut names, statements);
    for (i, &v) in names.vectors.iter().enumerate() {
        t.f.store(Op::EVEX_Vmovdqu32_zmmm512_k1z_zmm, row(i), v);
    }
    for (i, &k) in names.masks.iter().enumerate() {
        let bits = t.f.int(Op::VEX_Kmovw_r32_kr, View::R32, (k,));
        t.f.store(Op::Mov_rm32_r32, word(16 * (ROWS - 2) + i), bits.d());
    }
    for (i, &n) in names.ints.iter().enumerate() {
        t.f.store(Op::Mov_rm32_r32, word(16 * (ROWS - 1) + i), n.d());
    }
    t.f.exit(t.stubs.done);
}

fn row(row: usize) -> Mem {
    data(64 * row as i64)
}

fn list(t: &mut Test, names: &mut Names, statements: &[Statement]) {
    for statement in statements {
        match statement {
            Statement::If(a, b, yes, no) => branch(t, names, (*a, *b), (yes, no)),
            Statement::Loop(rounds, body) => repeat(t, names, *rounds, body),
            Statement::Call(to, a, b) => call(t, names, (*to, *a, *b)),
            Statement::Replace(to, a, rows) => replace(t, names, *to, *a, *rows),
            Statement::Less(to, a, b) => less(t, names, (*to, *a, *b)),
            Statement::Switch(a) => switch(t, names.ints[*a]),
            Statement::Always => {
                let mut p = t.f.pseudo();
                p.switch(t.stubs.next, &[StubArgument::Imm(1)], 1, &[]);
                p.end();
            }
            _ => plain(t, names, statement),
        }
    }
}

fn second(t: &mut Test, names: &Names, second: Second) -> Source {
    match second {
        Second::Vector(v) => names.vectors[v].into(),
        Second::Row(at) => row(at).into(),
        Second::Splat(value) => Mem::pool(t.pool.word(value.into())).broadcast().into(),
    }
}

fn plain(t: &mut Test, names: &mut Names, statement: &Statement) {
    match *statement {
        Statement::Vector(to, op, a, b, lanes) => {
            let op = match op {
                Binary::Add => Op::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32,
                Binary::Sub => Op::EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32,
                Binary::Xor => Op::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32,
                Binary::Mul => Op::EVEX_Vpmulld_zmm_k1z_zmm_zmmm512b32,
                Binary::Min => Op::EVEX_Vpminud_zmm_k1z_zmm_zmmm512b32,
            };
            let b = second(t, names, b);
            let f = match lanes {
                Lanes::All => &mut t.f,
                Lanes::Merge(k) => t.f.merge(names.masks[k], names.vectors[to]),
                Lanes::Zero(k) => t.f.zero(names.masks[k]),
            };
            names.vectors[to] = f.v3(op, names.vectors[a], b);
        }
        Statement::Three(to, sources) => {
            let [a, b, c] = sources.map(|v| names.vectors[v]);
            let op = Op::EVEX_Vpternlogd_zmm_k1z_zmm_zmmm512b32_imm8;
            names.vectors[to] = t.f.v4i(op, a, b, c, 0x96);
        }
        Statement::Gather(to, index, k) => {
            let low = t.pool.word(15);
            let op = Op::EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32;
            let index = t.f.v3(op, names.vectors[index], Mem::pool(low).broadcast());
            let base = t.f.lea(data(0));
            let from = Mem::at(base, 0).index(index, 4);
            let (k, old) = (names.masks[k], names.vectors[to]);
            names.vectors[to] = t.f.gather(Op::EVEX_Vpgatherdd_zmm_k1_vm32z, View::V, from, k, old);
        }
        Statement::Compare(to, a, b, predicate, under) => {
            let b = second(t, names, b);
            if let Some(k) = under {
                t.f.masked(names.masks[k]);
            }
            let op = Op::EVEX_Vpcmpud_kr_k1_zmm_zmmm512b32_imm8;
            let predicate = if predicate == 3 { 6 } else { predicate as i32 };
            names.masks[to] = t.f.compare(op, names.vectors[a], b, predicate);
        }
        Statement::Mask(to, op, a, b) => {
            let op = match op {
                Logic::And => Op::VEX_Kandw_kr_kr_kr,
                Logic::Or => Op::VEX_Korw_kr_kr_kr,
                Logic::Xor => Op::VEX_Kxorw_kr_kr_kr,
            };
            names.masks[to] = t.f.k3(op, names.masks[a], names.masks[b]);
        }
        Statement::Int(to, op, a, b) => {
            let op = match op {
                Logic::And => Op::And_r32_rm32,
                Logic::Or => Op::Or_r32_rm32,
                Logic::Xor => Op::Xor_r32_rm32,
            };
            let b = names.ints[b].any();
            names.ints[to] = t.f.alu(op, View::R32, names.ints[a], (b,));
        }
        Statement::Lea(to, a, b, d) => {
            let address = Mem::at(names.ints[a], d.into()).index(names.ints[b], 4);
            names.ints[to] = t.f.def(Op::Lea_r32_m, View::R32, (address,));
        }
        Statement::Shift(to, a, by) => {
            let by = names.ints[by].cl();
            names.ints[to] = t.f.alu(Op::Shl_rm32_CL, View::R32, names.ints[a], (by,));
        }
        Statement::Splat(to, from) => {
            let from = names.ints[from].d();
            names.vectors[to] = t.f.v2(Op::EVEX_Vpbroadcastd_zmm_k1z_r32, from);
        }
        Statement::FromMask(to, from) => {
            let from = names.masks[from];
            names.ints[to] = t.f.int(Op::VEX_Kmovw_r32_kr, View::R32, (from,));
        }
        Statement::ToMask(to, from) => {
            names.masks[to] = t.f.k2(Op::VEX_Kmovw_kr_r32, names.ints[from].d());
        }
        Statement::Store(at, from) => {
            t.f.store(Op::EVEX_Vmovdqu32_zmmm512_k1z_zmm, row(at), names.vectors[from]);
        }
        Statement::Load(to, at) => {
            names.vectors[to] = t.f.v2(Op::EVEX_Vmovdqu32_zmm_k1z_zmmm512, row(at));
        }
        _ => unreachable!("handled by the caller"),
    }
}

/// A call out of line, as loads have that fail a check.
fn call(t: &mut Test, names: &mut Names, (to, a, b): (usize, usize, usize)) {
    let (a, b) = (names.ints[a], names.ints[b]);
    let mut p = t.f.pseudo();
    let result = p.output(View::R32);
    let (slow, back) = (p.label(), p.label());
    p.op(Op::Test_rm32_imm32, (a.d(), 1)).jump(Op::Jne_rel32_64, slow);
    p.op(Op::Mov_r32_rm32, (result.d(), a.d()));
    p.bind(back).out_of_line().bind(slow);
    let zero = StubArgument::Imm(0);
    let arguments = [StubArgument::Reg(a), StubArgument::Reg(b), zero, zero];
    p.call(t.stubs.call, &arguments, &[result]);
    p.op(Op::Mov_r32_rm32, (result.d(), data(0)));
    p.jump(Op::Jmp_rel32_64, back);
    p.end();
    names.ints[to] = result;
}

/// Results in the registers of sources, that are written out of line only.
fn replace(t: &mut Test, names: &mut Names, to: [usize; 2], a: usize, rows: [usize; 2]) {
    let a = names.ints[a];
    let mut p = t.f.pseudo();
    let results = to.map(|v| p.output_tied(View::V, names.vectors[v]));
    let (slow, back) = (p.label(), p.label());
    p.op(Op::Test_rm32_imm32, (a.d(), 1)).jump(Op::Jne_rel32_64, slow);
    p.bind(back).out_of_line().bind(slow);
    for (result, at) in results.into_iter().zip(rows) {
        p.op(Op::EVEX_Vmovdqu32_zmm_k1z_zmmm512, (result, row(at)));
    }
    p.jump(Op::Jmp_rel32_64, back);
    p.end();
    for (to, result) in to.into_iter().zip(results) {
        names.vectors[to] = result;
    }
}

fn less(t: &mut Test, names: &mut Names, (to, a, b): (usize, usize, usize)) {
    let (a, b) = (names.ints[a], names.ints[b]);
    let mut p = t.f.pseudo();
    p.early(a).early(b);
    let less = p.output(View::R32);
    p.int(Op::Cmp_r32_rm32, View::R32, (a, b)).op(Op::Setb_rm8, (less.b(),));
    p.op(Op::Movzx_r32_rm8, (less.d(), less.b()));
    p.end();
    names.ints[to] = less;
}

fn switch(t: &mut Test, a: VReg) {
    let mut p = t.f.pseudo();
    let (slow, back) = (p.label(), p.label());
    p.op(Op::Test_rm32_imm32, (a.d(), 1)).jump(Op::Jne_rel32_64, slow);
    p.bind(back).out_of_line().bind(slow);
    p.switch(t.stubs.next, &[], 0, &[]).jump(Op::Jmp_rel32_64, back);
    p.end();
}

fn branch(
    t: &mut Test,
    names: &mut Names,
    (a, b): (usize, usize),
    (yes, no): (&[Statement], &[Statement]),
) {
    let join = t.f.block(&names.views());
    let [then, other] = [(); 2].map(|()| t.f.block(&[]));
    // An empty side is a critical edge with arguments.
    let before = names.clone();
    let all = names.all();
    let to_no = if no.is_empty() { (join, &all[..]) } else { (other, &[][..]) };
    let (a, b) = (names.ints[a], names.ints[b]);
    let mut p = t.f.pseudo();
    let difference = p.temp(View::R32);
    p.op(Op::Mov_r32_rm32, (difference.d(), a.d()));
    p.op(Op::Sub_r32_rm32, (difference.d(), b.d()));
    p.branch(Op::Jb_rel32_64, (then, &[]), to_no);
    t.f.begin(then);
    list(t, names, yes);
    t.f.jump((join, &names.all()));
    if !no.is_empty() {
        *names = before;
        t.f.begin(other);
        list(t, names, no);
        t.f.jump((join, &names.all()));
    }
    t.f.begin(join);
    *names = names.params(&t.f, join);
}

fn repeat(t: &mut Test, names: &mut Names, rounds: u32, body: &[Statement]) {
    let views = [names.views(), vec![View::R64]].concat();
    let (head, done) = (t.f.block(&views), t.f.block(&[]));
    let left = t.f.constant(rounds.into());
    t.f.jump((head, &[names.all(), vec![left]].concat()));
    t.f.begin(head);
    *names = names.params(&t.f, head);
    let left = t.f.param(head, views.len() - 1);
    list(t, names, body);
    let next = t.f.alu(Op::Sub_rm64_imm32, View::R64, left, (1,));
    let again = [names.all(), vec![next]].concat();
    let test = (Op::Test_rm64_r64, View::R64);
    t.f.branch(test, (next, next), Op::Jne_rel32_64, (head, &again), (done, &[]));
    t.f.begin(done);
}
