//! Legalised instructions give what the engine gives for the instructions themselves.
//!
//! Every computation of the IR's table in every type, with every modifier that the verifier takes,
//! runs on special and random values, once as it is and once as sequences for a machine that has
//! only what every machine has.

use converge::catalogue::Entry;
use ir::mods::{Flags, Kind, Rounding};
use ir::module::{Block, Function, Module, Param, Signature, Term, TermKind};
use ir::op::{Arity, Class, OPS, OpInfo};
use ir::testing::Rng;
use ir::{FuncId, Inst, LaneReg, Op, Operand, Reg, RegTy, Sreg, Ty, VerifiedModule};
use isa as _;
use lower::legal::{Layout, Target, legalise, legalise_wide_for};
use simt::machine::{Machine, Step};
use simt::memory::{Addr, Permission};
use simt::observe::Space;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use vm::{Engine, Launch, Program, catalogued};

/// Threads, each with operands of its own.
const THREADS: u32 = 128;
/// Bytes of an operand or result of a thread.
const CELL: u32 = 8;
const IN: u64 = 0x1000_0000;
const OUT: u64 = 0x2000_0000;
/// Most operands and results of a computation.
const CELLS: u32 = 8;

/// What every machine with words has.
fn least(inst: &Inst) -> bool {
    let ty = inst.ty.unwrap_or(Ty::B32);
    if inst.mods.flags != Flags::NONE {
        return false;
    }
    let nearest = matches!(inst.mods.rounding, None | Some(Rounding::Rn));
    match inst.op {
        _ if inst.op.info().class != Class::Compute => true,
        Op::Mov | Op::Selp | Op::Sreg | Op::Setp => true,
        Op::And | Op::Or | Op::Xor | Op::Not if ty == Ty::Pred => true,
        Op::Add | Op::Sub | Op::Mul if ty == Ty::F32 => nearest,
        Op::Add | Op::Sub | Op::Mul | Op::And | Op::Or | Op::Xor | Op::Shl | Op::Shr => true,
        Op::Div => ty == Ty::S32,
        Op::Cvt => match (ty, inst.ty2) {
            (Ty::F32, Some(Ty::S32)) => nearest,
            (Ty::S32, Some(Ty::F32)) => inst.mods.rounding == Some(Rounding::Rzi),
            _ => false,
        },
        _ => false,
    }
}

/// As [`least`], without arithmetic on floats.
fn least_without_floats(inst: &Inst) -> bool {
    let arithmetic = matches!(inst.op, Op::Add | Op::Sub | Op::Mul);
    least(inst) && !(inst.ty == Some(Ty::F32) && arithmetic)
}

/// Builds the kernel of one instruction: operands from memory, results to memory.
struct Kernel {
    function: Function,
    insts: Vec<Inst>,
}

impl Kernel {
    fn new() -> Self {
        let param = |name: &str, offset| Param {
            name: name.to_owned(),
            ty: Ty::U64,
            offset,
            size: 8,
            align: 8,
            pointer: Some(Space::Global),
        };
        let params = vec![param("in", 0), param("out", 8)];
        let signature = Signature::Kernel { params, bounds: Default::default() };
        let mut this = Self { function: Function::new("k", signature), insts: Vec::new() };
        let tid = this.reg(RegTy::B32);
        this.push(Inst::new(Op::Sreg).ty(Ty::U32).operand(Operand::Sreg(Sreg::TidX)), Some(tid));
        for (index, _) in [IN, OUT].iter().enumerate() {
            let base = this.reg(RegTy::B64);
            let symbol = Operand::Symbol(ir::module::Symbol::Param(index as u32), 0);
            let mut load = Inst::new(Op::Ld).ty(Ty::U64).operand(symbol);
            load.mods.space = Some(Space::Param);
            this.push(load, Some(base));
            let mut scale = Inst::new(Op::MadWide).ty(Ty::U32).operand(Operand::lane(tid));
            scale.operands.push(Operand::Imm(u128::from(CELL * CELLS)));
            this.push(scale.operand(Operand::lane(base)), Some(base));
        }
        this
    }

    fn reg(&mut self, ty: RegTy) -> LaneReg {
        let name = format!("r{}", self.function.regs.len());
        self.function.new_reg(name, ty)
    }

    fn push(&mut self, mut inst: Inst, to: Option<LaneReg>) {
        inst.results.extend(to.map(|to| Some(Reg::Lane(to))));
        self.insts.push(inst);
    }

    fn memory(op: Op, ty: Ty, cell: u32) -> Inst {
        let base = LaneReg(if op == Op::Ld { 1 } else { 2 });
        let mut inst = Inst::new(op).ty(ty).operand(Operand::lane(base));
        (inst.offset, inst.mods.space) = (i64::from(cell * CELL), Some(Space::Global));
        inst
    }

    fn input(&mut self, ty: Ty, cell: u32) -> LaneReg {
        let to = self.reg(ty.reg());
        let bits = if ty.reg() == RegTy::Pred { Ty::B32 } else { ty.reg().ty() };
        if bits != ty.reg().ty() {
            let (word, bit) = (self.reg(RegTy::B32), self.reg(RegTy::B32));
            self.push(Self::memory(Op::Ld, bits, cell), Some(word));
            let and = Inst::new(Op::And).ty(Ty::B32).operand(Operand::lane(word));
            self.push(and.operand(Operand::Imm(1)), Some(bit));
            let mut test = Inst::new(Op::Setp).ty(Ty::U32).operand(Operand::lane(bit));
            test.mods.set_word(Kind::Cmp, "ne");
            self.push(test.operand(Operand::Imm(0)), Some(to));
        } else {
            self.push(Self::memory(Op::Ld, bits, cell), Some(to));
        }
        to
    }

    fn output(&mut self, reg: LaneReg, ty: RegTy, cell: u32) {
        let mut value = reg;
        let mut bits = ty.ty();
        if ty == RegTy::Pred {
            value = self.reg(RegTy::B32);
            bits = Ty::B32;
            let select = Inst::new(Op::Selp).ty(Ty::B32).operand(Operand::Imm(1));
            let select = select.operand(Operand::Imm(0)).operand(Operand::lane(reg));
            self.push(select, Some(value));
        }
        self.insts.push(Self::memory(Op::St, bits, cell).operand(Operand::lane(value)));
    }

    fn finish(mut self) -> Option<VerifiedModule> {
        let term = Term::new(TermKind::Ret(None));
        self.function.blocks.push(Block { name: "b".to_owned(), insts: self.insts, term });
        let module = Module { functions: vec![self.function], ..Module::default() };
        VerifiedModule::new(module).ok()
    }
}

/// How many operands or results an instruction may have here.
fn count(arities: &[Arity], optional: bool, many: usize) -> usize {
    arities
        .iter()
        .map(|arity| match arity {
            Arity::One(_) => 1,
            Arity::Opt(_) => usize::from(optional),
            Arity::Many(_) => many,
            Arity::Some(_) => 0,
        })
        .sum()
}

/// A kernel with an instruction; the last operand is a constant if that is asked for. `alias`
/// makes the first operand's register the first result's, too.
fn kernel(inst: &Inst, shape: &Shape, rng: &mut Rng) -> Option<VerifiedModule> {
    let mut kernel = Kernel::new();
    let mut inst = inst.clone();
    let mut outputs = Vec::new();
    let mut first = None;
    for index in 0..count(inst.op.info().operands, shape.optional, shape.many) {
        let slot = inst.operand_slot(index)?;
        let Some(ty) = inst.slot_ty(slot) else {
            inst.operands.push(match inst.op {
                Op::Sreg => Operand::Sreg(Sreg::TidX),
                _ => Operand::Imm(u128::from(rng.bits() & 0xff)),
            });
            continue;
        };
        let last = index + 1 == count(inst.op.info().operands, shape.optional, shape.many);
        if shape.constant && last && ty.reg() != RegTy::Pred && ty.bits() <= 64 {
            let value = special(rng, ty.bits());
            let bits = if ty.bits() == 64 { value } else { value & ((1 << ty.bits()) - 1) };
            inst.operands.push(Operand::Imm(u128::from(bits)));
            continue;
        }
        let reg = kernel.input(ty, index as u32);
        first = first.or(Some((reg, ty.reg())));
        inst.operands.push(Operand::lane(reg));
    }
    if shape.guarded {
        let pred = kernel.input(Ty::Pred, CELLS - 1);
        inst.guard = Some(ir::Guard { pred, negated: shape.constant });
    }
    for index in 0..count(inst.op.info().results, shape.optional, shape.many) {
        let slot = inst.result_slot(index)?;
        let ty = inst.slot_ty(slot)?.reg();
        let reg = match first {
            Some((reg, found)) if shape.alias && index == 0 && found == ty => reg,
            _ => kernel.reg(ty),
        };
        inst.results.push(Some(Reg::Lane(reg)));
        outputs.push((reg, ty));
    }
    kernel.insts.push(inst);
    for (cell, &(reg, ty)) in (0u32..).zip(&outputs) {
        kernel.output(reg, ty, cell);
    }
    kernel.finish()
}

struct Shape {
    optional: bool,
    constant: bool,
    guarded: bool,
    alias: bool,
    many: usize,
}

/// A value that is often at an edge, of integers or of floats.
fn special(rng: &mut Rng, bits: u32) -> u64 {
    const WORDS: [u32; 22] = [
        0,
        1,
        2,
        31,
        32,
        33,
        63,
        64,
        0x7fff_ffff,
        0x8000_0000,
        0x8000_0001,
        0xffff_ffff,
        0x3f80_0000,
        0xbf80_0000,
        0x7f80_0000,
        0xff80_0000,
        0x7fc0_0000,
        0x0080_0000,
        0x007f_ffff,
        0x7f7f_ffff,
        0x4b00_0001,
        0x3f00_0000,
    ];
    let word = |rng: &mut Rng| match rng.below(4) {
        0 => u64::from(WORDS[rng.below(WORDS.len())]),
        1 => rng.bits() & 0xffff_ffff,
        2 => (rng.bits() & 0xffff_ffff) >> rng.below(32),
        // A float near one, so that sums cancel and quotients round.
        _ => 0x3f00_0000 + (rng.bits() & 0x81ff_ffff),
    };
    match bits {
        64 if rng.one_in(2) => double(rng),
        64 => word(rng) | word(rng) << 32,
        16 if rng.one_in(3) => [0, 1, 0x7fff, 0x8000, 0xffff][rng.below(5)],
        _ => word(rng),
    }
}

/// A binary64, or bits around one.
fn double(rng: &mut Rng) -> u64 {
    const NUMBERS: [f64; 17] = [
        0.0,
        0.5,
        1.0,
        1.5,
        2.5,
        f64::INFINITY,
        f64::NAN,
        f64::MAX,
        f64::MIN_POSITIVE,
        5e-324,
        1e-310,
        4_503_599_627_370_496.5,
        9_007_199_254_740_993.0,
        2_147_483_647.5,
        4_294_967_295.5,
        9_223_372_036_854_775_807.0,
        1e-45,
    ];
    let sign = rng.bits() & 1 << 63;
    match rng.below(5) {
        0 => sign | NUMBERS[rng.below(NUMBERS.len())].to_bits(),
        1 => {
            let near = NUMBERS[rng.below(NUMBERS.len())].to_bits();
            sign | near.wrapping_add(rng.bits() % 5).wrapping_sub(2)
        }
        // Numbers near one, so that sums cancel and quotients round.
        2 => sign | (0x3fe0_0000_0000_0000 + (rng.bits() & 0x003f_ffff_ffff_ffff)),
        // Of any exponent that integers and binary32 have.
        3 => sign | (1023 - 160 + rng.bits() % 320) << 52 | rng.bits() & ((1 << 52) - 1),
        // With few digits, so that products are exact or ties.
        _ => sign | (1010 + rng.bits() % 80) << 52 | (rng.bits() & 0xfff) << 40,
    }
}

/// What a kernel stores; `None` if the engine does not take it.
fn results(module: &VerifiedModule, seed: u64) -> Option<Vec<u8>> {
    let program = Program::link((**module).clone()).ok()?;
    let serial = Entry::find("ipdom").expect("it is there");
    let mut launch = Launch::<1>::new(FuncId(0), catalogued(serial));
    let bytes = u64::from(THREADS * CELLS * CELL);
    for (name, at) in [("in", IN), ("out", OUT)] {
        launch.memory.map_at(name, Addr(at), bytes, Permission::ReadWrite).expect("it is free");
        launch.params.extend(at.to_le_bytes());
    }
    let mut rng = Rng::new(seed);
    let values: Vec<u8> =
        (0..THREADS * CELLS).flat_map(|_| special(&mut rng, 64).to_le_bytes()).collect();
    launch.memory.host_write(Addr(IN), &values).expect("it is there");
    (launch.grid, launch.block) = ([1, 1, 1], [THREADS, 1, 1]);
    let mut state = Engine::<1>.launch(&program, launch).expect("it launches");
    assert_eq!(Engine::<1>.run_unobserved(&program, &mut state, u64::MAX), Step::Done);
    let mut out = vec![0; bytes as usize];
    state.memory().read_bytes(Addr(OUT), &mut out).expect("it is there");
    Some(out)
}

/// The instructions of a row: types and modifiers, of which the verifier takes some.
fn instructions(row: &OpInfo) -> Vec<Inst> {
    let mut out: Vec<Inst> = Vec::new();
    for ty in Ty::all().filter(|&ty| row.types.has(ty)) {
        let second: Vec<Option<Ty>> = match row.types2.is_empty() {
            true => vec![None],
            false => Ty::all().filter(|&ty| row.types2.has(ty)).map(Some).collect(),
        };
        for ty2 in second {
            let mut inst = Inst::new(row.op).ty(ty);
            inst.ty2 = ty2;
            out.push(inst);
        }
    }
    for kind in row.kinds.iter() {
        let required = row.required.has(kind);
        let with = |inst: &Inst, word: &str| {
            let mut inst = inst.clone();
            inst.mods.set_word(kind, word);
            inst
        };
        out = out
            .iter()
            .flat_map(|inst| {
                let plain = (!required).then(|| inst.clone());
                plain.into_iter().chain(kind.words().iter().map(|word| with(inst, word)))
            })
            .collect();
    }
    let flags: Vec<Flags> =
        row.flags.iter().map(|flag| Flags::of(&[flag])).chain([Flags::NONE]).collect();
    let with = |inst: &Inst, flags: Flags| {
        let mut inst = inst.clone();
        inst.mods.flags = flags;
        inst
    };
    out.iter().flat_map(|inst| flags.iter().map(|&flags| with(inst, flags))).collect()
}

/// Outcomes by name and type of an instruction.
#[derive(Default)]
struct Outcome {
    compared: usize,
    taken: BTreeMap<&'static str, BTreeSet<&'static str>>,
    refused: BTreeMap<&'static str, BTreeSet<&'static str>>,
    wrong: Vec<String>,
}

impl Outcome {
    fn compare(&mut self, inst: &Inst, shape: &Shape, legal: Legal<'_>, rng: &mut Rng) {
        let Some(module) = kernel(inst, shape, rng) else { return };
        let (op, ty) = (inst.op.name(), inst.ty.map_or("", Ty::name));
        let legal = match legal(&module) {
            Ok(legal) => legal,
            Err(missing) if missing.what.starts_with("valid form") => {
                self.wrong.push(format!("{missing}\n{}", ir::text::print(&module)));
                return;
            }
            Err(_) => {
                self.refused.entry(op).or_default().insert(ty);
                return;
            }
        };
        let seed = rng.bits();
        // Modifiers that the verifier takes and the engine does not.
        let Some(expected) = results(&module, seed) else { return };
        let found = results(&legal, seed).expect("it links");
        self.taken.entry(op).or_default().insert(ty);
        self.compared += 1;
        if let Some(at) = expected.iter().zip(&found).position(|(a, b)| a != b) {
            let cell = at / CELL as usize * CELL as usize;
            let mut text = format!("thread {}\n", at as u32 / (CELL * CELLS));
            let _ = writeln!(text, "expected {:02x?}", &expected[cell..cell + 8]);
            let _ = writeln!(text, "found    {:02x?}", &found[cell..cell + 8]);
            let _ = write!(text, "{}", ir::text::print(&module));
            self.wrong.push(text);
        }
    }
}

impl Outcome {
    #[track_caller]
    fn expect_none_wrong(&self) {
        let line = |text: &String| text.lines().rev().nth(3).unwrap_or_default().to_owned();
        let lines: Vec<String> = self.wrong.iter().map(line).collect();
        let first = self.wrong.first().map_or("", |text| text);
        assert!(lines.is_empty(), "{} wrong\n{}\n{first}", lines.len(), lines.join("\n"));
    }
}

fn check(target: Target, only: impl Fn(&OpInfo) -> bool) -> Outcome {
    let legal = |module: &VerifiedModule| legalise(module, FuncId(0), target);
    let share = if std::env::var_os("ONLY").is_some() { 1 } else { 8 };
    check_each(&legal, share, |inst| only(inst.op.info()))
}

/// What makes a kernel legal.
type Legal<'a> = &'a dyn Fn(&VerifiedModule) -> Result<VerifiedModule, lower::Missing>;

/// Checks the forms of the instructions that are asked for: each without modifiers, and of those
/// with flags or a rounding one in `share`.
fn check_each(legal: Legal<'_>, share: usize, only: impl Fn(&Inst) -> bool) -> Outcome {
    let mut outcome = Outcome::default();
    let mut rng = Rng::new(1);
    for row in OPS.iter().filter(|row| row.class == Class::Compute) {
        for inst in instructions(row).into_iter().filter(&only) {
            for optional in [true, false] {
                let many = match (inst.ty, inst.ty2) {
                    (Some(ty), Some(part)) => (ty.bits() / part.bits().max(1)) as usize,
                    _ => 1,
                };
                let shape = Shape { optional, constant: false, guarded: false, alias: false, many };
                let plain = inst.mods.flags == Flags::NONE && inst.mods.rounding.is_none();
                if plain || rng.one_in(share) {
                    outcome.compare(&inst, &shape, legal, &mut rng);
                }
                let shape = Shape { constant: true, guarded: true, alias: true, ..shape };
                if plain || rng.one_in(share) {
                    outcome.compare(&inst, &shape, legal, &mut rng);
                }
            }
        }
    }
    outcome
}

#[test]
fn sequences_give_what_instructions_give() {
    let only = std::env::var("ONLY").unwrap_or_default();
    let outcome = check(Target { has: least }, |row| row.name.starts_with(&only));
    if std::env::var_os("LIST").is_some() {
        let mut text = format!("{} compared\n", outcome.compared);
        for (op, types) in &outcome.refused {
            let taken = outcome.taken.get(op).cloned().unwrap_or_default();
            let _ = writeln!(text, "{op}: refused in {types:?}, taken in {taken:?}");
        }
        panic!("{text}");
    }
    outcome.expect_none_wrong();
    assert!(!only.is_empty() || outcome.compared > 1000, "{}", outcome.compared);
}

/// Roundings of binary64 that LinxISA, whose registers have 64 bits, does not have.
#[test]
fn doubles_in_registers_of_64_bits_are_rounded_in_every_direction() {
    let launch = lower::legal::Launch { grid: [1; 3], block: [THREADS, 1, 1], shared: 0 };
    let layout = Layout { blocks: 1, bytes: 1 << 20, lanes: 1, turns: false, collectives: true };
    let legal = |module: &VerifiedModule| {
        let made = legalise_wide_for(module, FuncId(0), lower::linx::TARGET, launch, layout);
        made.map(|(module, _)| module)
    };
    let only = |inst: &Inst| {
        let double = inst.ty == Some(Ty::F64) || inst.ty2 == Some(Ty::F64);
        double && inst.mods.rounding.is_some() && inst.mods.flags == Flags::NONE
    };
    let outcome = check_each(&legal, 2, only);
    outcome.expect_none_wrong();
    for op in ["add", "sub", "mul", "fma", "div", "rcp", "sqrt", "cvt"] {
        assert!(outcome.taken[op].contains("f64"), "{op}");
        let refused = outcome.refused.get(op).is_some_and(|types| types.contains("f64"));
        // Numbers of 16 bits have one rounding.
        assert!(!refused || op == "cvt", "{op}");
    }
    assert!(outcome.compared > 100, "{}", outcome.compared);
}

#[test]
fn floats_on_integers_give_what_instructions_give() {
    let arithmetic = [Op::Add, Op::Sub, Op::Mul];
    let outcome = check(Target { has: least_without_floats }, |row| arithmetic.contains(&row.op));
    outcome.expect_none_wrong();
}
