//! Bundled kernels, compiled: compared with the exact engine at small sizes, and benchmarks of
//! compilation and of execution.

use crate::harness::{Count, compare};
use converge::catalogue::Entry;
use fast::Level;
use ir::FuncId;
use jit::Compiled;
use simt::machine::Machine;
use simt::slots::SlotCause;
use std::io::Write;
use std::time::Instant;
use vm::{Engine, Launch, Program, catalogued, load_variables};

/// An argument: a number, or a buffer of bytes filled with a 32-bit word.
#[derive(Clone, Copy)]
enum Arg {
    Word(u32),
    Buffer(u64, u32),
}

pub(crate) struct Case {
    pub(crate) name: &'static str,
    text: &'static str,
    grid: [u32; 3],
    block: [u32; 3],
    args: Vec<Arg>,
}

macro_rules! bundled {
    ($name:literal) => {
        include_str!(concat!("../../../../kernels/", $name, "/", $name, ".ptx"))
    };
}

/// Kernels of the benchmark. `n`, a multiple of 32, is a side length or the square root of a size.
pub(crate) fn cases(n: u32) -> Vec<Case> {
    let mut cases = plain(n);
    cases.extend(together(n));
    cases
}

/// Kernels whose warps cooperate, or that call device functions.
fn together(n: u32) -> Vec<Case> {
    use Arg::{Buffer, Word};
    let float = |x: f32| Word(x.to_bits());
    let one = 1f32.to_bits();
    let square = u64::from(n) * u64::from(n);
    let elements = n * n;
    vec![
        Case {
            name: "sgemm_tiled",
            text: bundled!("sgemm_tiled"),
            grid: [n / 16, n / 16, 1],
            block: [16, 16, 1],
            args: vec![
                Word(n),
                Word(n),
                Word(n),
                Buffer(4 * square, one),
                Buffer(4 * square, 0x3f9d_70a4),
                Buffer(4 * square, 0),
            ],
        },
        Case {
            name: "bitonic_sort",
            text: bundled!("bitonic_sort"),
            grid: [elements / 1024, 1, 1],
            block: [512, 1, 1],
            args: vec![Buffer(4 * square, 7), Buffer(4 * square, 9)],
        },
        Case {
            name: "histogram_shared",
            text: bundled!("histogram"),
            grid: [64, 1, 1],
            block: [256, 1, 1],
            args: vec![Buffer(square, 0x3057_91c3), Word(elements), Buffer(1024, 0)],
        },
        Case {
            name: "black_scholes",
            text: bundled!("black_scholes"),
            grid: [elements.div_ceil(128), 1, 1],
            block: [128, 1, 1],
            args: vec![
                Buffer(16 * square, 0x3f9d_70a4),
                Word(elements),
                float(0.02),
                Buffer(4 * square, 0),
                Buffer(4 * square, 0),
            ],
        },
        // Angles that a function reduces; it does not write all of its return value.
        Case {
            name: "sine",
            text: include_str!(
                "../../../filetests/tests/compilers/data/nvrtc-12.9.86-sm_80-trigonometry.ptx"
            ),
            grid: [elements / 256, 1, 1],
            block: [128, 1, 1],
            args: vec![Buffer(4 * square, 0), Buffer(4 * square, 0x4567_8901)],
        },
        Case {
            name: "nbody",
            text: bundled!("nbody"),
            grid: [n / 8, 1, 1],
            block: [64, 1, 1],
            args: vec![
                Buffer(16 * u64::from(n) * 8, one),
                Buffer(16 * u64::from(n) * 8, 0),
                Buffer(16 * u64::from(n) * 8, 0),
                Word(n * 8),
                float(0.01),
                float(0.05),
            ],
        },
    ]
}

fn plain(n: u32) -> Vec<Case> {
    use Arg::{Buffer, Word};
    let float = |x: f32| Word(x.to_bits());
    let one = 1f32.to_bits();
    let square = u64::from(n) * u64::from(n);
    let elements = n * n;
    vec![
        Case {
            name: "saxpy",
            text: bundled!("saxpy"),
            grid: [elements.div_ceil(256), 1, 1],
            block: [256, 1, 1],
            args: vec![
                Word(elements - 5),
                float(2.5),
                Buffer(4 * square, one),
                Buffer(4 * square, one),
            ],
        },
        Case {
            name: "mandelbrot",
            text: bundled!("mandelbrot"),
            grid: [n / 32, n / 8, 1],
            block: [32, 8, 1],
            args: vec![
                Buffer(2 * square, 0),
                Word(n),
                Word(n),
                float(-2.0),
                float(-1.25),
                float(2.5 / n as f32),
                Word(256),
            ],
        },
        Case {
            name: "sgemm",
            text: bundled!("sgemm"),
            grid: [n / 32, n / 8, 1],
            block: [32, 8, 1],
            args: vec![
                Word(n),
                Word(n),
                Word(n),
                float(1.5),
                Buffer(4 * square, one),
                Buffer(4 * square, 0x3f9d_70a4),
                float(-0.3),
                Buffer(4 * square, one),
            ],
        },
        Case {
            name: "reduce",
            text: bundled!("reduce"),
            grid: [n, 1, 1],
            block: [256, 1, 1],
            args: vec![Buffer(4 * square, one), Word(elements), Buffer(4 * u64::from(n), 0)],
        },
        Case {
            name: "collatz",
            text: bundled!("collatz"),
            grid: [elements.div_ceil(128), 1, 1],
            block: [128, 1, 1],
            args: vec![Word(elements), Buffer(4 * square, 0), Buffer(8 * square, 0)],
        },
    ]
}

/// Returns the kernels of a PTX file.
fn program(text: &str) -> Option<Program> {
    let (tree, _) = ptx::parse(isa::FileId::default(), text);
    let (module, _) = ptx::lower(&tree, ptx::Select::All);
    Program::link(module?).ok()
}

fn launch(program: &Program, kernel: usize) -> Launch<1> {
    let entry = Entry::find("ipdom").expect("it is in the catalogue");
    let mut launch = Launch::new(FuncId(kernel as u32), catalogued(entry));
    launch.variables = load_variables(program, &mut launch.memory).expect("room");
    let params = program.module().functions[kernel].params();
    let size = params.iter().map(|p| p.offset + p.size).max().unwrap_or(0);
    launch.params = vec![0; size as usize];
    launch
}

pub(crate) fn prepared(case: &Case) -> (Program, Launch<1>) {
    let program = program(case.text).expect("it is supported");
    let is_it = |f: &ir::Function| f.name == case.name;
    let kernel = program.module().functions.iter().position(is_it).expect("it is there");
    let mut launch = launch(&program, kernel);
    (launch.grid, launch.block) = (case.grid, case.block);
    for (param, arg) in program.module().functions[kernel].params().iter().zip(&case.args) {
        let bytes = match *arg {
            Arg::Word(word) => word.to_le_bytes().to_vec(),
            Arg::Buffer(bytes, fill) => {
                let buffer = launch.memory.allocate("buffer", bytes).expect("room");
                // Words differ in their low bits.
                let word = |i: u64| {
                    fill ^ if fill > 1 { i.wrapping_mul(0x9e37_79b1) as u32 & 0xfff } else { 0 }
                };
                let words = (0..bytes.div_ceil(4)).flat_map(|i| word(i).to_le_bytes());
                let content: Vec<u8> = words.take(bytes as usize).collect();
                launch.memory.host_write(buffer, &content).expect("it is there");
                buffer.0.to_le_bytes().to_vec()
            }
        };
        launch.params[param.offset as usize..][..bytes.len()].copy_from_slice(&bytes);
    }
    (program, launch)
}

#[test]
fn bundled_kernels_end_the_same() {
    let mut count = Count::default();
    for case in cases(64) {
        let (program, launch) = prepared(&case);
        if let Err(what) = compare(&program, &launch, &mut count) {
            panic!("{}: {what}", case.name);
        }
    }
    assert!(count.compared >= 5 && count.refused == 0 || count.steps == 0, "{count:?}");
}

/// Returns the seconds for which this thread has run, where the host reports them; else wall-clock
/// seconds.
fn clock(start: Instant) -> f64 {
    // The scheduler updates a thread's time when it switches.
    std::thread::yield_now();
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = told.and_then(|t| t.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.map_or_else(|| start.elapsed().as_secs_f64(), |n| n * 1e-9)
}

/// Returns the median seconds of some runs.
fn median(mut run: impl FnMut() -> f64) -> f64 {
    let mut times: Vec<f64> = (0..7).map(|_| run()).collect();
    times.sort_by(f64::total_cmp);
    times[3]
}

/// The levels whose code is timed.
const BENCHED: [Level; 3] = [Level::Avx512, Level::Avx2, Level::Portable];

/// `N=256 cargo test -p simtlab-jit --release --test jit kernels::speed -- --ignored --nocapture`:
/// processor milliseconds of launches, without the copy of memory before them.
#[test]
#[ignore = "a benchmark"]
fn speed() {
    jit::allow_portable_code();
    let n = std::env::var("N").ok().and_then(|n| n.parse().ok()).unwrap_or(256);
    let only = std::env::var("ONLY").unwrap_or_default();
    let (mut out, begin) = (std::io::stdout(), Instant::now());
    let _ = writeln!(
        out,
        "kernel         exact  interpreted   AVX-512      AVX2  portable  AVX2/AVX-512  thread-inst/s  compiling  (AVX2) (portable)"
    );
    for case in cases(n).iter().filter(|c| c.name.contains(&only)) {
        let (program, launch) = prepared(case);
        let engine = Engine::<1>;
        let state = || engine.launch(&program, launch.clone()).expect("it launches");
        let kernel = || fast::prepare(&program, &state(), true).expect("it is decoded");
        let exact = if std::env::var_os("NO_EXACT").is_some() {
            0.0
        } else {
            let mut state = state();
            let start = clock(begin);
            engine.run_unobserved(&program, &mut state, u64::MAX);
            clock(begin) - start
        };
        let interpreted = median(|| {
            if std::env::var_os("NO_INTERPRETER").is_some() {
                return 0.0;
            }
            let (kernel, state) = (kernel(), state());
            let start = clock(begin);
            fast::run(&kernel, state, Level::best(), false, &mut |_, _| true).expect("it runs");
            clock(begin) - start
        });
        let mut lanes = 0;
        let compiled = BENCHED.map(|level| {
            median(|| {
                let Ok(compiled) = Compiled::at(kernel(), level, false) else { return f64::NAN };
                let state = state();
                let start = clock(begin);
                let finished = compiled.run(state, &mut |_, _| true).expect("it runs");
                lanes = finished.stats.slots.of(SlotCause::On);
                clock(begin) - start
            })
        });
        let compiling = BENCHED.map(|level| {
            median(|| {
                let kernel = kernel();
                let start = Instant::now();
                let done = Compiled::at(kernel, level, false);
                let seconds = start.elapsed().as_secs_f64();
                drop(done);
                seconds
            })
        });
        let _ = writeln!(
            out,
            "{:<12} {:>8.2} {:>11.3} {:>9.3} {:>9.3} {:>9.3} {:>13.2} {:>11.1} G {:>8.3} {:>8.3} {:>8.3}",
            case.name,
            exact * 1e3,
            interpreted * 1e3,
            compiled[0] * 1e3,
            compiled[1] * 1e3,
            compiled[2] * 1e3,
            compiled[1] / compiled[0],
            lanes as f64 / compiled[0] / 1e9,
            compiling[0] * 1e3,
            compiling[1] * 1e3,
            compiling[2] * 1e3
        );
    }
}

/// `cargo test -p simtlab-jit --release --test jit compile_times -- --ignored --nocapture`.
#[test]
#[ignore = "a benchmark"]
fn compile_times() {
    let mut out = std::io::stdout();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels");
    let mut times = Vec::new();
    for entry in std::fs::read_dir(folder).expect("kernels").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Ok(text) = std::fs::read_to_string(entry.path().join(format!("{name}.ptx"))) else {
            continue;
        };
        let Some(program) = program(&text) else { continue };
        for (index, function) in program.module().functions.iter().enumerate() {
            if function.params().is_empty() {
                continue;
            }
            let mut launch = launch(&program, index);
            launch.block = [128, 1, 1];
            let Ok(state) = Engine::<1>.launch(&program, launch) else { continue };
            let Ok(kernel) = fast::prepare(&program, &state, true) else { continue };
            let Ok(compiled) = Compiled::new(kernel, false) else { continue };
            let coverage = compiled.coverage();
            let seconds = median(|| {
                let Ok(kernel) = fast::prepare(&program, &state, true) else { return 0.0 };
                let start = Instant::now();
                let done = Compiled::new(kernel, false);
                let seconds = start.elapsed().as_secs_f64();
                drop(done);
                seconds
            });
            times.push(seconds);
            let _ = writeln!(
                out,
                "{:<24} {:>5} of {:>5} steps, {:>7} bytes, {:.3} ms",
                function.name,
                coverage.native,
                coverage.steps,
                coverage.bytes,
                seconds * 1e3
            );
        }
    }
    times.sort_by(f64::total_cmp);
    if let Some(middle) = times.get(times.len() / 2) {
        let _ = writeln!(out, "median of {}: {:.3} ms", times.len(), middle * 1e3);
    }
}
