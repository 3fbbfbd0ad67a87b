//! Runs one instruction over many values.

use converge::Entry;
use ir::testing::Rng;
use ir::{RegTy, Ty};
use simt::machine::{Machine, Step};
use simt::memory::Addr;
use vm::{Engine, Launch, Program, State, catalogued};

/// Threads, each with its own operand values.
const THREADS: usize = 96;
/// Bytes of a thread's operands, and of its results.
pub(super) const STRIDE: usize = 64;
/// Threads whose values are also tried as immediates.
const IMMEDIATES: usize = 6;

/// Values of integer types that tend to go wrong.
fn integer(rng: &mut Rng, bits: u32) -> u64 {
    let mask = u64::MAX >> (64 - bits);
    let top = 1u64 << (bits - 1);
    let value = match rng.below(8) {
        0 => 0,
        1 => rng.below(70) as u64,
        2 => top,
        3 => top - 1,
        4 => mask,
        5 => top | rng.below(70) as u64,
        6 => rng.value(),
        _ => rng.bits(),
    };
    value & mask
}

/// Values of floating-point types that tend to go wrong: all exponents at the edges, and small
/// integers.
fn float(rng: &mut Rng, exponent: u32, fraction: u32) -> u64 {
    let (all_ones, fraction_mask) = ((1u64 << exponent) - 1, (1u64 << fraction) - 1);
    let bias = all_ones / 2;
    let e = match rng.below(6) {
        0 => 0,
        1 => all_ones,
        2 => all_ones - 1,
        3 | 4 => bias - 2 + rng.below(6) as u64,
        _ => rng.bits() & all_ones,
    };
    let f = match rng.below(4) {
        0 => 0,
        1 => 1 << rng.below(fraction as usize),
        2 => fraction_mask,
        _ => rng.bits(),
    };
    let sign = rng.bits() & 1;
    sign << (exponent + fraction) | e << fraction | f & fraction_mask
}

/// A value of a type.
pub(crate) fn value(rng: &mut Rng, ty: Ty) -> u64 {
    match ty {
        Ty::Pred => rng.bits() & 1,
        Ty::F16 => float(rng, 5, 10),
        Ty::Bf16 => float(rng, 8, 7),
        Ty::F32 => float(rng, 8, 23),
        Ty::F64 => float(rng, 11, 52),
        Ty::F16x2 => float(rng, 5, 10) << 16 | float(rng, 5, 10),
        Ty::Bf16x2 => float(rng, 8, 7) << 16 | float(rng, 8, 7),
        Ty::F32x2 => float(rng, 8, 23) << 32 | float(rng, 8, 23),
        Ty::U16x2 | Ty::S16x2 => integer(rng, 16) << 16 | integer(rng, 16),
        other => integer(rng, other.bits()),
    }
}

fn load(name: char, ty: RegTy, slot: usize) -> String {
    let at = 8 * slot;
    match ty {
        RegTy::Pred => format!("%t = ld.global.b32 [%in + {at}]\n%{name} = setp.ne.u32 %t, 0\n"),
        _ => format!("%{name} = ld.global.{ty} [%in + {at}]\n"),
    }
}

fn store(name: &str, ty: RegTy, at: usize) -> String {
    match ty {
        RegTy::Pred => format!("%z = selp.b64 1, 0, {name}\nst.global.b64 [%out + {at}], %z\n"),
        _ => format!("st.global.{ty} [%out + {at}], {name}\n"),
    }
}

/// A value that results have before: no case gives it.
fn before(ty: RegTy) -> u64 {
    let mask = u64::MAX >> (64 - ty.bits());
    if ty == RegTy::Pred { 0 } else { 0x5a5a_a5a5_5a5a_a5a5 & mask }
}

fn preset(name: char, ty: RegTy) -> String {
    let literal = if ty == RegTy::Pred { "false".to_owned() } else { before(ty).to_string() };
    format!("%{name} = mov.{ty} {literal}\n")
}

/// An operation under test. Its text names operands `%a` to `%d` and results `%x` and `%y`.
pub(crate) struct Case<'a> {
    pub(crate) inst: &'a str,
    pub(crate) operands: &'a [Ty],
    pub(crate) results: &'a [RegTy],
    /// Whether it is tried with immediates and as a uniform operation, too.
    pub(crate) constants: bool,
}

const OPERANDS: [char; 4] = ['a', 'b', 'c', 'd'];
const RESULTS: [char; 2] = ['x', 'y'];

impl Case<'_> {
    fn text(&self, rows: &[[u64; 4]]) -> String {
        let mut body = String::new();
        for (slot, (name, ty)) in OPERANDS.iter().zip(self.operands).enumerate() {
            body += &load(*name, ty.reg(), slot);
        }
        let results = || RESULTS.iter().zip(self.results);
        let presets: String = results().map(|(n, ty)| preset(*n, *ty)).collect();
        let stores = |base: usize, prefix: &str| -> String {
            let store = |(i, (n, ty)): (usize, (&char, &RegTy))| {
                store(&format!("%{prefix}{n}"), *ty, base + 8 * i)
            };
            results().enumerate().map(store).collect()
        };
        body += &format!("{presets}{}\n{}", self.inst, stores(0, ""));
        body += &format!("{presets}@%g {}\n{}", self.inst, stores(16, ""));
        body += "%out = ld.param.u64 [@consts]\n@!%first br done\nconstants:\n";
        let tried = if self.constants { IMMEDIATES } else { 0 };
        for (i, row) in rows.iter().take(tried).enumerate() {
            let with_constants = self.with_constants(row);
            body += &format!("{presets}{with_constants}\n{}", stores(32 * i, ""));
            body += &with_constants.replace("%x", "%ux").replace("%y", "%uy");
            for (n, ty) in results() {
                body += &format!("\n%{n} = mov.{ty} %u{n}");
            }
            body += &format!("\n{}", stores(32 * i + 16, ""));
        }
        let declare = |names: &[char], ty: RegTy, file: &str, prefix: &str| -> String {
            names.first().map(|n| format!("  {file} %{prefix}{n}: {ty}\n")).unwrap_or_default()
        };
        let mut registers = String::new();
        for (name, ty) in OPERANDS.iter().zip(self.operands) {
            registers += &declare(&[*name], ty.reg(), "reg", "");
        }
        for (name, ty) in results() {
            registers += &declare(&[*name], *ty, "reg", "");
            registers += &declare(&[*name], *ty, "warp", "u");
        }
        format!(
            "kernel @k(in: u64 global, out: u64 global, consts: u64 global) {{
{registers}  reg %tid, %t: b32
  reg %in, %out, %wide, %z: b64
  reg %g, %first: pred
entry:
  %tid = sreg.u32 tid.x
  %wide = mulwide.u32 %tid, {STRIDE}
  %in = ld.param.u64 [@in]
  %in = add.u64 %in, %wide
  %out = ld.param.u64 [@out]
  %out = add.u64 %out, %wide
  %first = setp.eq.u32 %tid, 0
  %t = and.b32 %tid, 1
  %g = setp.ne.u32 %t, 0
{body}
done:
  ret
}}
"
        )
    }

    /// The instruction with the values of a row in place of its operands.
    fn with_constants(&self, row: &[u64; 4]) -> String {
        let mut inst = self.inst.to_owned();
        for ((name, ty), value) in OPERANDS.iter().zip(self.operands).zip(row) {
            let literal = match ty {
                Ty::Pred => (*value != 0).to_string(),
                _ => format!("{value:#x}"),
            };
            inst = inst.replace(&format!("%{name}"), &literal);
        }
        inst
    }

    /// Runs it on random values and compares every result with `expected`. Not generic: there are
    /// some 150 expectations, and copies for each would be half of what is compiled here.
    #[track_caller]
    pub(crate) fn check(&self, expected: &dyn Fn([u64; 4]) -> [u64; 2]) {
        let mut rng =
            Rng::new(self.inst.bytes().fold(7, |h: u64, b| h.wrapping_mul(31) + u64::from(b)));
        let row = |rng: &mut Rng| {
            let mut row = [0; 4];
            for (v, ty) in row.iter_mut().zip(self.operands) {
                *v = value(rng, *ty);
            }
            row
        };
        let rows: Vec<_> = (0..THREADS).map(|_| row(&mut rng)).collect();
        let text = self.text(&rows);
        let (out, constants) = run(&text, &rows, 32);
        let masks: Vec<_> = self.results.iter().map(|t| u64::MAX >> (64 - t.bits())).collect();
        let word =
            |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        for (i, row) in rows.iter().enumerate() {
            let wanted = expected(*row);
            for (r, mask) in masks.iter().enumerate() {
                let about =
                    || format!("{}: result {r} of {:x?}", self.inst, &row[..self.operands.len()]);
                let at = STRIDE * i + 8 * r;
                let all = wanted[r] & mask;
                assert_eq!(format!("{:x}", word(&out, at)), format!("{all:x}"), "{}", about());
                let guarded = if i % 2 == 1 { all } else { before(self.results[r]) };
                assert_eq!(word(&out, at + 16), guarded, "guarded: {}", about());
                if self.constants && i < IMMEDIATES {
                    let at = 32 * i + 8 * r;
                    assert_eq!(word(&constants, at), all, "immediates: {}", about());
                    assert_eq!(word(&constants, at + 16), all, "uniform: {}", about());
                }
            }
        }
    }
}

/// A kernel that loads four 64-bit operands into `%a` to `%d`, runs some lines, and stores `%x` and
/// `%y`, 64-bit registers too. `%cell` is the address of [`STRIDE`] bytes for each thread, which
/// hold 0.
pub(crate) fn kernel(variables: &str, declarations: &str, lines: &str) -> String {
    let loads: String = OPERANDS.iter().enumerate().map(|(i, n)| load(*n, RegTy::B64, i)).collect();
    format!(
        "{variables}
kernel @k(in: u64 global, out: u64 global, cell: u64 global) {{
  reg %a, %b, %c, %d, %x, %y, %in, %out, %wide, %cell: b64
  reg %tid, %t: b32
{declarations}
entry:
  %tid = sreg.u32 tid.x
  %wide = mulwide.u32 %tid, {STRIDE}
  %in = ld.param.u64 [@in]
  %in = add.u64 %in, %wide
  %out = ld.param.u64 [@out]
  %out = add.u64 %out, %wide
  %cell = ld.param.u64 [@cell]
{loads}  %x = mov.b64 0
  %y = mov.b64 0
{lines}
  st.global.b64 [%out], %x, %y
  ret
}}
"
    )
}

/// Rows of operand values, and what [`kernel`] stored for each; then the bytes of the cells.
pub(crate) struct Run {
    pub(crate) rows: Vec<[u64; 4]>,
    pub(crate) results: Vec<[u64; 2]>,
    pub(crate) cells: Vec<u8>,
}

/// Runs a kernel made by [`kernel`] on random operands of these types, one for each thread.
#[track_caller]
pub(crate) fn run_kernel(text: &str, types: [Ty; 4], threads: usize, width: u32) -> Run {
    let mut rng = Rng::new(threads as u64 + 11);
    let rows: Vec<_> = (0..threads).map(|_| types.map(|ty| value(&mut rng, ty))).collect();
    let (out, cells) = run(text, &rows, width);
    let word = |at: usize| u64::from_le_bytes(out[at..at + 8].try_into().unwrap());
    let results = (0..threads).map(|i| [word(STRIDE * i), word(STRIDE * i + 8)]).collect();
    Run { rows, results, cells }
}

/// The code of the fault with which a kernel made by [`kernel`] ends.
#[track_caller]
pub(crate) fn fault(text: &str) -> &'static str {
    use simt::trap::Cause;
    match launch(text, &[[1, 2, 3, 4]; 40], 32, "uniform").1 {
        Step::Fault(fault) => fault.cause.code(),
        end => panic!("{text}: {end:?}"),
    }
}

/// What a kernel made by [`kernel`] printed, and the results of its threads; no lanes may part.
#[track_caller]
pub(crate) fn run_uniform(text: &str, threads: usize) -> (String, Run) {
    run_under("uniform", text, threads)
}

/// The same under a mechanism.
#[track_caller]
pub(crate) fn run_under(mechanism: &str, text: &str, threads: usize) -> (String, Run) {
    let mut rng = Rng::new(5);
    let rows: Vec<_> = (0..threads).map(|_| [0; 4].map(|_| rng.bits())).collect();
    let (state, end, [_, out, cells]) = launch(text, &rows, 32, mechanism);
    assert_eq!(end, Step::Done, "{text}");
    let (out, cells) = (read(&state, out, rows.len()), read(&state, cells, rows.len()));
    let word = |at: usize| u64::from_le_bytes(out[at..at + 8].try_into().unwrap());
    let results = (0..threads).map(|i| [word(STRIDE * i), word(STRIDE * i + 8)]).collect();
    (String::from_utf8(state.output().to_vec()).unwrap(), Run { rows, results, cells })
}

/// Runs a kernel; what it stored for all threads, and for the immediates.
#[track_caller]
fn run(text: &str, rows: &[[u64; 4]], width: u32) -> (Vec<u8>, Vec<u8>) {
    let (state, end, [_, out, constants]) = launch(text, rows, width, "ipdom");
    assert_eq!(end, Step::Done, "{text}");
    (read(&state, out, rows.len()), read(&state, constants, rows.len()))
}

fn read(state: &State<1>, at: Addr, threads: usize) -> Vec<u8> {
    let mut bytes = vec![0; STRIDE * threads];
    state.memory().read_bytes(at, &mut bytes).unwrap();
    bytes
}

/// Launches a kernel with three buffers; its last state, how it ended, and the buffers.
#[track_caller]
fn launch(
    text: &str,
    rows: &[[u64; 4]],
    width: u32,
    mechanism: &str,
) -> (State<1>, Step<vm::Cause, 1>, [Addr; 3]) {
    let module = ir::text::parse(isa::FileId(0), text)
        .unwrap_or_else(|e| panic!("{text}\n{:?}", e.iter().collect::<Vec<_>>()));
    ir::verify(&module).unwrap_or_else(|e| panic!("{text}\n{e}"));
    let program = Program::link(module).unwrap_or_else(|e| panic!("{text}\n{e:?}"));
    let entry = Entry::find(mechanism).unwrap();
    let mut launch = Launch::<1>::new(program.module().function("k").unwrap(), catalogued(entry));
    let size = STRIDE * rows.len();
    let mut buffer = |name: &str| launch.memory.allocate(name, size as u64).unwrap();
    let [input, out, constants] = ["in", "out", "consts"].map(&mut buffer);
    for (i, row) in rows.iter().enumerate() {
        for (j, value) in row.iter().enumerate() {
            let at = Addr(input.0 + (STRIDE * i + 8 * j) as u64);
            launch.memory.write_bytes(at, &value.to_le_bytes()).unwrap();
        }
    }
    launch.params = [input, out, constants].iter().flat_map(|a| a.0.to_le_bytes()).collect();
    launch.block = [rows.len() as u32, 1, 1];
    launch.width = width;
    launch.variables = vm::load_variables(&program, &mut launch.memory).unwrap();
    let mut state = Engine::<1>.launch(&program, launch).unwrap();
    let end = Engine::<1>.run_unobserved(&program, &mut state, 1_000_000);
    (state, end, [input, out, constants])
}

/// One result.
#[track_caller]
pub(crate) fn check(inst: &str, operands: &[Ty], result: RegTy, f: impl Fn([u64; 4]) -> u64) {
    Case { inst, operands, results: &[result], constants: true }.check(&|row| [f(row), 0]);
}

/// Two results.
#[track_caller]
pub(crate) fn check2(
    inst: &str,
    operands: &[Ty],
    results: [RegTy; 2],
    f: impl Fn([u64; 4]) -> [u64; 2],
) {
    Case { inst, operands, results: &results, constants: true }.check(&f);
}
