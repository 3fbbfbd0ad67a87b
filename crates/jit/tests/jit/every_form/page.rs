//! The page of operations by engine: for each operation of the IR, which engine executes it by code
//! of its own, and the test that holds this code against the exact engine.
//!
//! The facts are those of the kernels of this test, decoded and compiled: an operation's variants
//! are its types, modifiers and numbers of operands that occur in them.

use super::engines::{Problem, launch, program};
use super::form::Form;
use super::kernel::{ExecMode, Kernel, kernel};
use super::others::OTHERS;
use crate::operations::table::{MIXED, NARROW, WIDE};
use fast::code::{End, Kind};
use ir::op::{Class, OPS};
use ir::{Inst, Op};
use jit::Compiled;
use simt::Pc;
use simt::machine::Machine;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use vm::{Code, Engine, Launch, Program};

/// Varying and uniform operands: who executes an operation does not depend on the active mask.
const MODES: [ExecMode; 2] = [ExecMode::All, ExecMode::Uniform];

/// The same for all kernels, so that a new form changes only its own row.
const SEED: u64 = 1;

const INTRODUCTION: &str = "\
# Operations by engine

<!-- Made from the kernels of crates/jit/tests/jit/every_form (SIMTLAB_BLESS=1 writes it anew); do not edit. -->

Which code executes an operation of the kernel IR, and what holds it to the exact engine. *Variants* are the types and modifiers of an
operation that occur in `every_form`, a test that runs each instruction form of PTX on special values, in convergent, guarded and divergent
lanes, on all engines, and compares bit by bit.

- The exact engine is tested in `crates/vm/tests/operations`, by definitions that do not use it. That test fails if an operation does not occur in it
  (`split` and `join` aside, which no mechanism of the catalogue takes).
- *Interpreter*: code of its own, or the exact engine's function on the rows of a warp. Then both are the same by **construction**.
- *Code*: compiled, at all levels alike, or left to the interpreter by a call.
- A number counts the variants of which this is true wherever they occur.
- `operations` and `patterns` are the tests of compiled code in `crates/jit/tests`, `calls` is that of inlined functions in `crates/fast/tests`.
  No form of PTX yields `andn` or a call without its function: their rows are made from kernels in `crates/jit/tests/jit/every_form/others.rs`.
- A **declined** launch runs on the exact engine.
";

/// What the engines do with a variant of an operation, in all places where it occurs.
#[derive(Clone, Copy, Debug, Default)]
struct Variant {
    /// The interpreter has code of its own for it.
    own: bool,
    /// The interpreter executes the exact engine's function.
    function: bool,
    /// Code calls the interpreter.
    calls: bool,
}

impl Variant {
    /// Adds what is known from another occurrence.
    fn join(&mut self, other: Self) {
        self.own |= other.own;
        self.function |= other.function;
        self.calls |= other.calls;
    }
}

/// The variants of operations, and why launches with others are declined.
#[derive(Default)]
pub(super) struct Operations {
    variants: BTreeMap<Op, BTreeMap<String, Variant>>,
    declined: BTreeMap<Op, String>,
}

fn text(inst: &Inst) -> String {
    let Inst { ty, ty2, mods, results, operands, .. } = inst;
    format!("{ty:?} {ty2:?} {mods:?} {} {}", results.len(), operands.len())
}

impl Operations {
    pub(super) fn add(&mut self, other: Self) {
        for (op, variants) in other.variants {
            let all = self.variants.entry(op).or_default();
            for (text, more) in variants {
                all.entry(text).or_default().join(more);
            }
        }
        self.declined.extend(other.declined);
    }

    /// Returns what a kernel of some forms contains.
    pub(super) fn of(forms: &[&Form]) -> Self {
        let mut this = Self::default();
        let kernel = kernel(forms, &MODES, SEED);
        let program = match program(&kernel) {
            Ok(program) => program,
            Err(Problem::Refused(_)) => return this,
            Err(problem) => panic!("{problem}"),
        };
        this.see(&program, launch(&program, &kernel, SEED).0);
        this
    }

    /// Returns what the kernels of [`OTHERS`] contain.
    pub(super) fn others() -> Self {
        let mut this = Self::default();
        for other in OTHERS {
            let mut found = Self::default();
            let (text, block) = (String::new(), 64);
            let (items, results, parts) = (Vec::new(), Vec::new(), Vec::new());
            let program = other.program();
            let (mut launch, _) =
                launch(&program, &Kernel { text, block, items, results, parts }, SEED);
            launch.params.truncate(8);
            found.see(&program, launch);
            found.variants.retain(|op, _| *op == other.op);
            found.declined.retain(|op, _| *op == other.op);
            this.add(found);
        }
        this
    }

    /// Adds what the fast engine does with the instructions of a program's first function.
    fn see(&mut self, program: &Program, launch: Launch<1>) {
        let state = Engine::<1>.launch(program, launch).expect("it can begin");
        let decoded = match fast::prepare(program, &state, true) {
            Ok(decoded) => decoded,
            Err(declined) => {
                let ops = insts(program).map(|inst| (inst.op, declined.to_string()));
                self.declined.extend(ops);
                return;
            }
        };
        let called = Compiled::steps_left(&decoded).unwrap_or_else(|refused| panic!("{refused}"));
        let called: BTreeSet<usize> = called.into_iter().collect();
        let places = places(program);
        for block in &decoded.code().blocks {
            if let End::Call(..) = block.end {
                self.count(places[&block.pc], Variant { own: true, ..Variant::default() });
            }
            if block.is_free {
                continue;
            }
            for (i, index) in block.steps.clone().enumerate() {
                let at = block.first + i as u64;
                let Some(inst) = places.get(&at) else { continue };
                let op = program.at(Pc(at)).and_then(Code::op);
                assert_eq!(op, Some(inst.op), "a step is an instruction of its block");
                let calls = called.contains(&index);
                let (own, function) = match &decoded.code().steps[index].kind {
                    Kind::Leave(what) => {
                        self.declined.insert(inst.op, format!("`{what}` ends a kernel's run"));
                        continue;
                    }
                    Kind::Matrix(matrix) if matrix.direct.is_some() => (true, false),
                    Kind::Generic(_) | Kind::Collective(_) | Kind::Matrix(_) => (false, true),
                    _ => (true, false),
                };
                self.count(inst, Variant { own, function, calls });
            }
        }
    }

    /// Adds an occurrence of an instruction.
    fn count(&mut self, inst: &Inst, more: Variant) {
        let variants = self.variants.entry(inst.op).or_default();
        variants.entry(text(inst)).or_default().join(more);
    }

    /// The page.
    pub(super) fn page(&self) -> String {
        let mut out = INTRODUCTION.to_owned();

        for (class, heading) in Class::ALL {
            let _ = writeln!(
                out,
                "\n## {heading}\n\n| operation | variants | interpreter | code | held by |\n\
                 |---|---|---|---|---|"
            );
            for row in OPS.iter().filter(|row| row.class == class) {
                let _ = writeln!(out, "| `{}` | {} |", row.name, self.cells(row.op));
            }
        }
        out
    }

    /// The cells of an operation behind its name.
    fn cells(&self, op: Op) -> String {
        let none = BTreeMap::new();
        let variants = self.variants.get(&op).unwrap_or(&none);
        if variants.is_empty() {
            let why =
                fast::decline_reason(op).or_else(|| self.declined.get(&op).map(String::as_str));
            let why =
                why.map_or("not in `every_form`".to_owned(), |why| format!("declined: {why}"));
            return format!("0 | | | {why}");
        }
        let count = |such: &dyn Fn(&Variant) -> bool| variants.values().filter(|v| such(v)).count();
        let all = variants.len();
        let share = |part: usize, whole: &str, none: &str| match part {
            0 => none.to_owned(),
            part if part == all => whole.to_owned(),
            part => format!("{whole}: {part}"),
        };
        let own = count(&|v| !v.function);
        let interpreter = share(own, "own code", "exact engine's function");
        let compiled = count(&|v| !v.calls);
        let code = share(compiled, "compiled", "call");
        let other = OTHERS.iter().find(|other| other.op == op);
        let held = if let Some(other) = other {
            other.held.to_owned()
        } else if own == 0 && compiled == 0 {
            "construction".to_owned()
        } else {
            let listed =
                NARROW.iter().chain(&WIDE).map(|row| row.0).chain(MIXED.iter().map(|m| m.1));
            let named = |text: &str| text.split('.').next() == Some(op.name());
            let more = if listed.into_iter().any(named) { ", `operations`" } else { "" };
            format!("`every_form`{more}")
        };
        format!("{all} | {interpreter} | {code} | {held}")
    }
}

fn insts(program: &Program) -> impl Iterator<Item = &Inst> {
    program.module().functions.iter().flat_map(|f| &f.blocks).flat_map(|block| &block.insts)
}

/// The instructions of a program's first function, by place.
fn places(program: &Program) -> BTreeMap<u64, &Inst> {
    let function = &program.module().functions[0];
    let entry = program.entry(0).map_or(0, |pc| pc.0);
    let blocks = flow::kernel::block_places(function, entry).into_iter().zip(&function.blocks);
    blocks.flat_map(|(places, block)| places.zip(&block.insts)).collect()
}
