//! The bundled programs, each with its own data and with random data, against plain Rust.

use isa::testing::Rng;
use pmask::run::{End, run};
use pmask::{Config, Launch, Pmask, Program, State};
use simt::machine::{Machine, Step};
use simt::memory::Addr;

fn source(name: &str) -> Program {
    let path = format!("{}/../../kernels/pmask/{name}/{name}.s", env!("CARGO_MANIFEST_DIR"));
    crate::common::program(&std::fs::read_to_string(path).unwrap())
}

/// A program with data of the test's own.
struct Run {
    program: Program,
    state: State,
}

impl Run {
    fn new(program: &Program) -> Self {
        let state = Pmask::default().launch(program, Launch::default()).unwrap();
        Self { program: program.clone(), state }
    }

    fn at(&self, symbol: &str) -> u64 {
        self.program.symbol(symbol).unwrap()
    }

    fn put(&mut self, symbol: &str, bytes: impl IntoIterator<Item = Vec<u8>>) {
        let bytes: Vec<u8> = bytes.into_iter().flatten().collect();
        self.state.memory.host_write(Addr(self.at(symbol)), &bytes).unwrap();
    }

    fn put_u64(&mut self, symbol: &str, value: u64) {
        self.put(symbol, [value.to_le_bytes().to_vec()]);
    }

    fn get<const N: usize>(&self, symbol: &str, count: usize) -> Vec<[u8; N]> {
        let mut bytes = vec![0; N * count];
        self.state.memory.read_bytes(Addr(self.at(symbol)), &mut bytes).unwrap();
        bytes.chunks_exact(N).map(|c| c.try_into().unwrap()).collect()
    }

    fn u64s(&self, symbol: &str, count: usize) -> Vec<u64> {
        self.get::<8>(symbol, count).into_iter().map(u64::from_le_bytes).collect()
    }

    fn go(&mut self) {
        let end =
            Pmask::default().run_unobserved(&self.program, &mut self.state, crate::common::LIMIT);
        assert_eq!(end, Step::Done);
        assert_eq!(self.state.host.exit, Some(0));
        assert!(self.state.slots.identity_holds());
    }
}

/// As it stands in the file, a program ends with code 0, twice alike. Checks PM-5-a.
#[test]
fn all_end_and_do_so_twice_alike() {
    let names = [
        "saxpy",
        "collatz",
        "strlen",
        "filter",
        "mandelbrot",
        "stencil2d",
        "sparse_dot",
        "histogram",
        "string_search",
    ];
    for name in names {
        let program = source(name);
        let once = || {
            let mut run = Run::new(&program);
            run.go();
            (run.state.x, run.state.f, run.state.masks, run.state.retired, run.state.slots)
        };
        assert_eq!(once(), once(), "{name}");
    }
}

#[test]
fn saxpy() {
    let program = source("saxpy");
    let mut rng = Rng::new(1);
    for n in [0, 1, 7, 8, 9, 23, 40, 64] {
        let mut number = || (rng.bits() as i16) as f32 / 64.0;
        let (a, x): (f32, Vec<f32>) = (number(), (0..n).map(|_| number()).collect());
        let y: Vec<f32> = (0..64).map(|_| number()).collect();
        let mut run = Run::new(&program);
        run.put_u64("n", n);
        run.put("a", [a.to_le_bytes().to_vec()]);
        run.put("x", x.iter().map(|v| v.to_le_bytes().to_vec()));
        run.put("y", y.iter().map(|v| v.to_le_bytes().to_vec()));
        run.go();
        let got: Vec<f32> = run.get::<4>("y", 64).into_iter().map(f32::from_le_bytes).collect();
        let expected: Vec<f32> =
            (0..64).map(|i| x.get(i).map_or(y[i], |x| a.mul_add(*x, y[i]))).collect();
        assert_eq!(got, expected, "{n}");
    }
}

#[test]
fn collatz() {
    fn steps(mut n: u64) -> u64 {
        let mut count = 0;
        while n != 1 {
            n = if n.is_multiple_of(2) { n / 2 } else { 3 * n + 1 };
            count += 1;
        }
        count
    }
    let program = source("collatz");
    let mut rng = Rng::new(2);
    for round in 0..5 {
        let mut run = Run::new(&program);
        if round > 0 {
            let numbers: Vec<u64> = (0..8).map(|_| 1 + rng.below(100_000)).collect();
            run.put("input", numbers.iter().map(|n| n.to_le_bytes().to_vec()));
        }
        let input = run.u64s("input", 8);
        run.go();
        let expected: Vec<u64> = input.into_iter().map(steps).collect();
        assert_eq!(run.u64s("steps", 8), expected);
    }
}

/// Strings that end right before the end of memory; one without an end traps at the first byte
/// beyond, as lane 0. Checks XM-N3.
#[test]
fn strlen() {
    let program = source("strlen");
    let end = pmask::machine::RAM_BASE + pmask::machine::DEFAULT_RAM;
    for length in [0, 1, 5, 7, 8, 9, 31, 100] {
        let mut run = Run::new(&program);
        let text = vec![b'x'; length as usize];
        let at = end - length - 1;
        run.state.memory.host_write(Addr(at), &text).unwrap();
        run.put_u64("pointer", at);
        run.go();
        assert_eq!(run.u64s("length", 1), [length]);
    }
    let mut run = Run::new(&program);
    run.state.memory.host_write(Addr(end - 20), &[b'x'; 20]).unwrap();
    run.put_u64("pointer", end - 20);
    let stopped =
        Pmask::default().run_unobserved(&run.program, &mut run.state, crate::common::LIMIT);
    let Step::Fault(fault) = stopped else { panic!("{stopped:?}") };
    let pmask::trap::StopCause::Trap { trap, .. } = fault.cause else { panic!() };
    assert_eq!((trap.cause.number(), trap.value), (5, end));
    assert_eq!(run.state.rsv.fault_index, 0);
}

#[test]
fn filter() {
    let program = source("filter");
    let mut rng = Rng::new(3);
    for n in [0, 1, 8, 13, 40] {
        let mut run = Run::new(&program);
        let input: Vec<i64> = (0..n).map(|_| rng.below(21) as i64 - 10).collect();
        run.put_u64("n", n);
        run.put("input", input.iter().map(|v| v.to_le_bytes().to_vec()));
        run.go();
        let kept: Vec<u64> = input.iter().filter(|v| **v > 0).map(|v| *v as u64).collect();
        assert_eq!(run.u64s("kept", 1), [kept.len() as u64]);
        let mut expected = kept;
        expected.resize(40, 0);
        assert_eq!(run.u64s("output", 40), expected, "nothing is written past what was kept");
    }
}

#[test]
fn mandelbrot() {
    let mut run = Run::new(&source("mandelbrot"));
    let floats = |run: &Run, symbol, count| -> Vec<f32> {
        run.get::<4>(symbol, count).into_iter().map(f32::from_le_bytes).collect()
    };
    let (xs, ys) = (floats(&run, "xs", 16), floats(&run, "ys", 8));
    run.go();
    let mut expected = Vec::new();
    for cy in &ys {
        for cx in &xs {
            let (mut zx, mut zy, mut count) = (0f32, 0f32, 0u32);
            while count < 64 && zx * zx + zy * zy <= 4.0 {
                let next = zx * zx - zy * zy + cx;
                let product = zx * zy;
                zy = product + product + cy;
                zx = next;
                count += 1;
            }
            expected.push(count);
        }
    }
    let got: Vec<u32> = run.get::<4>("counts", 128).into_iter().map(u32::from_le_bytes).collect();
    assert_eq!(got, expected);
    assert!(expected.contains(&64) && expected.contains(&1));
}

#[test]
fn stencil2d() {
    let program = source("stencil2d");
    let mut rng = Rng::new(5);
    for (w, h) in [(11, 5), (1, 1), (2, 9), (8, 8), (9, 3), (16, 15), (17, 4)] {
        let mut run = Run::new(&program);
        let grid: Vec<i32> = (0..w * h).map(|_| rng.bits() as i32).collect();
        run.put_u64("w", w as u64);
        run.put_u64("h", h as u64);
        run.put("grid", grid.iter().map(|v| v.to_le_bytes().to_vec()));
        run.go();
        let at = |r: usize, c: usize| grid[r * w + c];
        let mut expected = grid.clone();
        for r in 1..h.max(1) - 1 {
            for c in 1..w.max(1) - 1 {
                let around = [at(r, c - 1), at(r, c + 1), at(r - 1, c), at(r + 1, c)];
                expected[r * w + c] = around.iter().fold(at(r, c), |a, b| a.wrapping_add(*b));
            }
        }
        let got: Vec<i32> =
            run.get::<4>("result", w * h).into_iter().map(i32::from_le_bytes).collect();
        assert_eq!(got, expected, "{w} x {h}");
    }
}

#[test]
fn sparse_dot() {
    let program = source("sparse_dot");
    let mut rng = Rng::new(6);
    for n in [0usize, 1, 8, 11, 32] {
        let mut run = Run::new(&program);
        let index: Vec<u32> = (0..n).map(|_| rng.below(16) as u32).collect();
        let value: Vec<f64> = (0..n).map(|_| rng.bits() as i32 as f64 / 3.0).collect();
        let dense: Vec<f64> = (0..16).map(|_| rng.bits() as i32 as f64 / 7.0).collect();
        run.put_u64("n", n as u64);
        run.put("index", index.iter().map(|v| v.to_le_bytes().to_vec()));
        run.put("value", value.iter().map(|v| v.to_le_bytes().to_vec()));
        run.put("dense", dense.iter().map(|v| v.to_le_bytes().to_vec()));
        run.go();
        let mut lanes = [0f64; 8];
        for (i, value) in value.iter().enumerate() {
            lanes[i % 8] = value.mul_add(dense[index[i] as usize], lanes[i % 8]);
        }
        let expected = lanes[1..].iter().fold(lanes[0], |a, b| a + b);
        assert_eq!(run.u64s("sum", 1), [expected.to_bits()], "{n}");
    }
}

#[test]
fn histogram() {
    let program = source("histogram");
    let mut rng = Rng::new(7);
    for n in [0usize, 1, 8, 21, 100, 256] {
        let mut run = Run::new(&program);
        let input: Vec<u8> = (0..n).map(|_| rng.below(16) as u8).collect();
        run.put_u64("n", n as u64);
        run.put("input", [input.clone()]);
        run.go();
        let expected: Vec<u64> =
            (0..16).map(|bin| input.iter().filter(|v| **v == bin).count() as u64).collect();
        assert_eq!(run.u64s("bins", 16), expected);
    }
}

#[test]
fn string_search() {
    let program = source("string_search");
    let mut rng = Rng::new(8);
    for _ in 0..200 {
        let mut letters = |most: u64| -> Vec<u8> {
            (0..1 + rng.below(most)).map(|_| b'a' + rng.below(2) as u8).collect()
        };
        let (text, pattern) = (letters(60), letters(7));
        let mut run = Run::new(&program);
        run.put_u64("text_length", text.len() as u64);
        run.put_u64("pattern_length", pattern.len() as u64);
        run.put("text", [text.clone()]);
        run.put("pattern", [pattern.clone()]);
        run.go();
        let found = text.windows(pattern.len()).position(|w| w == pattern);
        assert_eq!(run.u64s("found", 1), [found.map_or(u64::MAX, |at| at as u64)]);
    }
}

/// The C program, as compiled by GNU C with the header of intrinsics.
#[test]
fn the_c_program_with_the_header() {
    let path = format!("{}/../../kernels/pmask/sieve/sieve.elf", env!("CARGO_MANIFEST_DIR"));
    let program = Program::from_elf(&std::fs::read(path).unwrap()).unwrap();
    let outcome =
        run(&Pmask::default(), &program, Launch::default(), crate::common::LIMIT).unwrap();
    assert_eq!(
        String::from_utf8_lossy(&outcome.state.host.console.output),
        "primes 18\nsum 10100101\n"
    );
    assert_eq!(outcome.end, End::Exit(0));
    // Without PMASK its first operation on a bank is not an instruction.
    let machine = Pmask { config: Config { pmask: false, ..Config::default() } };
    let outcome = run(&machine, &program, Launch::default(), crate::common::LIMIT).unwrap();
    let End::Fault(fault) = outcome.end else { panic!("{:?}", outcome.end) };
    assert!(fault.to_string().contains("`pmset` is not offered by this machine"), "{fault}");
}
