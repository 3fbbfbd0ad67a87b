//! Random functions that call each other and themselves, by name and by address, against the exact
//! engine.

use crate::harness::common::calls::RECURSIVE;
use crate::harness::common::launches::{number, with_buffers};
use crate::harness::common::observed::{Exact, HashingObserver};
use crate::harness::{Count, compare_tiers, differs, supported};
use fast::Level;
use ir::testing::Rng;
use jit::Compiled;
use simt::machine::Machine;
use std::fmt::Write as _;
use vm::{Engine, Launch, Program};

/// Registers of each function; calls, branches and loops change any of them. More of them are kept
/// in memory in compiled code.
const REGS: [usize; 2] = [5, 60];

struct Writer {
    rng: Rng,
    text: String,
    functions: usize,
    registers: usize,
    labels: usize,
    /// Whether the function that is being written may be entered again.
    may_recurse: bool,
    /// Bytes of its variable, if it has one.
    variable: usize,
}

impl Writer {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "  {line}");
    }

    fn label(&mut self) -> String {
        self.labels += 1;
        format!("l{}", self.labels)
    }

    fn reg(&mut self) -> String {
        format!("%r{}", self.rng.below(self.registers))
    }

    fn compute(&mut self) {
        let (to, a, b) = (self.reg(), self.reg(), self.reg());
        let op = ["add", "sub", "mul", "xor.b32", "min", "mad"][self.rng.below(6)];
        let guard = if self.rng.one_in(4) { "@%q " } else { "" };
        match op {
            "mad" => self.line(&format!("{guard}{to} = mad.u32 {a}, 3, {b}")),
            "xor.b32" => self.line(&format!("{guard}{to} = xor.b32 {a}, {b}")),
            op => self.line(&format!("{guard}{to} = {op}.u32 {a}, {b}")),
        }
        if self.rng.one_in(4) {
            let value = self.reg();
            self.line(&format!("%q = setp.gt.u32 {value}, {to}"));
        }
    }

    fn call(&mut self) {
        let (to, a, b) = (self.reg(), self.reg(), self.reg());
        let by_address = self.rng.one_in(3);
        let result = if self.rng.one_in(6) { "_".to_owned() } else { to };
        let callee = self.rng.below(self.functions);
        if by_address {
            let index = self.reg();
            let count = self.functions;
            self.line(&format!("%j = rem.u32 {index}, {count}"));
            self.line("%o = mulwide.u32 %j, 8");
            self.line("%f = mov.u64 @@table");
            self.line("%f = add.u64 %f, %o");
            self.line("%f = ld.global.u64 [%f]");
            self.line(&format!("{result}, %q = calli %f({a}, {b}, %fuel, %w)"));
        } else {
            self.line(&format!("{result}, %q = call @f{callee}({a}, {b}, %fuel, %w)"));
        }
    }

    /// Accesses the variable, at a constant place or at one by lane; or what others have left
    /// behind it.
    fn access(&mut self) {
        let (value, index) = (self.reg(), self.reg());
        let at = match self.rng.below(8) {
            0..4 => format!("@v + {}", 4 * self.rng.below(self.variable / 4)),
            4 => format!("@v + {}", 4 * self.rng.below(60)),
            kind => {
                let words = self.variable / 4;
                self.line(&format!("%j = rem.u32 {index}, {words}"));
                self.line("%o = mulwide.u32 %j, 4");
                self.line("%f = mov.u64 @v");
                self.line("%f = add.u64 %f, %o");
                if kind == 5 { "%f + 16".to_owned() } else { "%f".to_owned() }
            }
        };
        match self.rng.one_in(2) {
            true => self.line(&format!("st.local.u32 [{at}], {value}")),
            false => self.line(&format!("{value} = ld.local.u32 [{at}]")),
        }
    }

    fn side(&mut self, depth: usize) {
        for _ in 0..1 + self.rng.below(3) {
            self.part(depth);
        }
    }

    fn part(&mut self, depth: usize) {
        if self.variable > 0 && self.rng.one_in(3) {
            return self.access();
        }
        match self.rng.below(if depth == 0 { 3 } else { 8 }) {
            0 | 1 => self.compute(),
            2 | 3 => self.call(),
            4 | 5 => {
                let (other, join, value) = (self.label(), self.label(), self.reg());
                self.line(&format!("%q = setp.lt.s32 {value}, 7"));
                self.line(&format!("@%q br {other}"));
                self.line_label();
                self.side(depth - 1);
                self.line(&format!("br {join}"));
                let _ = writeln!(self.text, "{other}:");
                self.side(depth - 1);
                self.line(&format!("br {join}"));
                let _ = writeln!(self.text, "{join}:");
            }
            6 if self.may_recurse => {
                self.line("@%q ret");
                self.line_label();
            }
            _ => {
                let value = self.reg();
                self.line(&format!("st.global.u32 [%w], {value}"));
            }
        }
    }

    /// A label for what follows the end of a block.
    fn line_label(&mut self) {
        let label = self.label();
        let _ = writeln!(self.text, "{label}:");
    }

    fn function(&mut self, number: usize) {
        self.variable = if self.rng.one_in(2) { 0 } else { 4 * (1 + self.rng.below(12)) };
        let local = match self.variable {
            0 => String::new(),
            bytes => format!("  local @v size {bytes} align 4\n"),
        };
        let _ = writeln!(
            self.text,
            "func @f{number}(%r0: b32, %r1: b32, %fuel: b32, %w: b64) -> (%r2: b32, %q: pred) {{
{local}  reg {}, %j: b32
  reg %f, %o: b64
  reg %stop: pred
entry:
  %stop = setp.eq.u32 %fuel, 0
  %r2 = add.u32 %r0, {number}
  @%stop ret
more:
  %fuel = sub.u32 %fuel, 1",
            registers(3, self.registers)
        );
        self.side(2);
        self.line("ret");
        self.text.push_str("}\n");
    }
}

/// Returns the names of registers from one to before another.
fn registers(first: usize, end: usize) -> String {
    (first..end).map(|i| format!("%r{i}")).collect::<Vec<_>>().join(", ")
}

fn kernel(seed: u64) -> String {
    let mut rng = Rng::new(seed);
    let (functions, registers_each) = (1 + rng.below(4), REGS[seed as usize % 2]);
    let (text, labels) = (String::new(), 0);
    let mut writer = Writer {
        rng,
        text,
        functions,
        registers: registers_each,
        labels,
        may_recurse: false,
        variable: 0,
    };
    let _ = writeln!(writer.text, "global @table size {} align 8", 8 * functions);
    for number in 0..functions {
        let _ = writeln!(writer.text, "  reloc {}: u64 @f{number}", 8 * number);
    }
    let _ = writeln!(
        writer.text,
        "kernel @k(n: u32, a: u64 global, b: u64 global) {{
  reg {}, %j, %fuel: b32
  reg %w, %o, %f: b64
  reg %q: pred
entry:
  %r0 = sreg.u32 tid.x
  %r1 = sreg.u32 ctaid.x
  %r2 = sreg.u32 ntid.x
  %r2 = mad.u32 %r1, %r2, %r0
  %r2 = and.b32 %r2, 4095
  %w = ld.param.u64 [@b]
  %o = mulwide.u32 %r2, 4
  %w = add.u64 %w, %o
  %r3 = ld.global.u32 [%w]
  %fuel = and.b32 %r3, 3
  %r4 = sreg.u32 laneid",
        registers(0, registers_each)
    );
    for other in 5..registers_each {
        let _ = writeln!(writer.text, "  %r{other} = mad.u32 %r4, {other}, %r3");
    }
    writer.side(2);
    writer.call();
    writer.text.push_str("  st.global.u32 [%w], %r2\n  st.global.u32 [%w], %r4\n  ret\n}\n");
    writer.may_recurse = true;
    (0..functions).for_each(|number| writer.function(number));
    writer.text
}

#[test]
fn nested_calls_are_left_to_the_interpreter() {
    // More than 128 of them.
    let text = RECURSIVE.replace("call @down(%lane)", "call @down(%t)");
    let text = text.replace("  %v = call", "  %t = mad.u32 %t, 4, 140\n  %v = call");
    let mut one = |program: &Program, launch: &Launch<1>| {
        let exact = Exact::new(program, launch);
        let begin = || Engine::<1>.launch(program, launch.clone()).expect("it launches");
        let (mut state, mut observer) = (begin(), HashingObserver::default());
        let kernel = fast::prepare(program, &state, true).expect("it is taken");
        let ended = fast::run(&kernel, &mut state, Level::best(), false, &mut observer);
        differs(&ended.expect("it ends"), &observer, &exact)?;
        for level in supported().filter(|&level| level != Level::Portable) {
            let kernel = fast::prepare(program, &begin(), true).expect("it is taken");
            let compiled =
                Compiled::at(kernel, level, false).map_err(|(_, why)| why.to_string())?;
            let ended = compiled.run(begin(), &mut observer).map(|_| ());
            assert_eq!(ended, Err(fast::DEPTH_LIMIT), "{level}");
        }
        Ok(())
    };
    with_buffers(&text, &mut Rng::new(0), 0, &mut one);
}

fn run(seeds: std::ops::Range<u64>) -> Count {
    let mut count = Count::default();
    for seed in seeds {
        let text = kernel(seed);
        let mut one = |program: &_, launch: &_| compare_tiers(program, launch, &mut count);
        with_buffers(&text, &mut Rng::new(seed), seed, &mut one);
    }
    count
}

#[test]
fn random_functions_call_each_other() {
    let count = run(0..12);
    assert!(count.compared > 10 * (count.refused + count.stopped), "{count:?}");
}

/// `KERNELS=300 SEED=7` sets how many, and where to begin.
#[test]
#[ignore = "a campaign"]
fn campaign() {
    let seed = number("SEED", 0);
    let count = run(seed..seed + number("KERNELS", 300));
    assert!(count.compared > 10 * (count.refused + count.stopped), "{count:?}");
}
