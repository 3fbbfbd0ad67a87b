//! Runs a kernel on every engine, and names the instruction whose results differ from those of
//! the exact engine.

use super::kernel::{END, GLOBAL, Kernel, ROWS, THREADS, UNIFORM};
use super::values::value;
use crate::harness::common::observed::{Exact, HashingObserver, bytes};
use crate::harness::{differs, has_code, levels};
use converge::catalogue::Entry;
use fast::{Declined, Finished, Level};
use ir::FuncId;
use ir::testing::Rng;
use jit::{Compiled, Refused};
use simt::machine::{Machine, Step};
use std::fmt;
use vm::{Engine, Launch, Program, catalogued, load_variables};

/// How much was compared.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Count {
    kernels: usize,
    instructions: usize,
    interpreted: usize,
    compiled: usize,
    steps: usize,
    native: usize,
}

impl Count {
    pub(super) fn add(&mut self, other: &Self) {
        self.kernels += other.kernels;
        self.instructions += other.instructions;
        self.interpreted += other.interpreted;
        self.compiled += other.compiled;
        self.steps += other.steps;
        self.native += other.native;
    }
}

/// Why a kernel was not compared, or how it differs.
#[derive(Clone, Debug)]
pub(super) enum Problem {
    /// The front end, the verifier or the linker refuses it.
    Refused(String),
    /// It does not end on the exact engine.
    Stopped(String),
    /// Another engine declines it.
    Declined(String),
    /// Another engine's results differ.
    Differs(String),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(what) => write!(f, "refused: {what}"),
            Self::Stopped(what) => write!(f, "stopped: {what}"),
            Self::Declined(what) => write!(f, "declined: {what}"),
            Self::Differs(what) => write!(f, "differs: {what}"),
        }
    }
}

pub(super) fn program(kernel: &Kernel) -> Result<Program, Problem> {
    let (tree, mut found) = ptx::parse(isa::FileId(0), &kernel.text);
    let (module, more) = ptx::lower(&tree, ptx::Select::All);
    found.append(more);
    let messages = || found.iter().map(|d| &*d.message).collect::<Vec<_>>().join("; ");
    let module = module.ok_or_else(|| Problem::Refused(messages()))?;
    Program::link(module).map_err(|what| Problem::Refused(format!("{what:?}")))
}

/// The regions of a launch that hold results and global memory.
pub(super) struct Regions {
    out: usize,
    memory: usize,
}

pub(super) fn launch(program: &Program, kernel: &Kernel, seed: u64) -> (Launch<1>, Regions) {
    let mut rng = Rng::new(!seed);
    let entry = Entry::find("ipdom").expect("it is in the catalogue");
    let mut launch = Launch::<1>::new(FuncId(0), catalogued(entry));
    launch.variables = load_variables(program, &mut launch.memory).expect("room");
    (launch.grid, launch.block) = ([2, 1, 1], [kernel.block, 1, 1]);
    launch.limit = 1_000_000;
    let of_bits = |bits: u32, words: u64, rng: &mut Rng| -> Vec<u8> {
        (0..words).flat_map(|_| value(bits, rng).to_le_bytes()).collect()
    };
    let out = vec![0x5a; kernel.results.len() * THREADS as usize * 8];
    let data: Vec<u8> =
        [16, 32, 64].iter().flat_map(|&bits| of_bits(bits, ROWS * THREADS, &mut rng)).collect();
    // An access may begin 64 bytes before its part of memory, and a matrix may extend beyond it.
    let words = kernel.parts.len() as u64 * GLOBAL / 8 + 2048;
    let bits = [16, 32, 64][rng.below(3)];
    let memory = of_bits(bits, words, &mut rng);
    let first = launch.memory.regions().len();
    launch.params.clear();
    for (name, content) in [("out", &out), ("data", &data), ("memory", &memory)] {
        let buffer = launch.memory.allocate(name, content.len() as u64).expect("room");
        launch.memory.host_write(buffer, content).expect("it is there");
        launch.params.extend(buffer.0.to_le_bytes());
    }
    launch.params.resize(32, 0);
    for _ in 0..UNIFORM / 16 {
        launch.params.extend(of_bits(32, 1, &mut rng));
        launch.params.extend(of_bits(64, 1, &mut rng));
    }
    (launch, Regions { out: first, memory: first + 2 })
}

/// Returns the instruction whose results differ in memory.
fn place(kernel: &Kernel, regions: &Regions, one: &[Vec<u8>], other: &[Vec<u8>]) -> Option<String> {
    let mut found = one
        .iter()
        .zip(other)
        .enumerate()
        .filter_map(|(r, (a, b))| Some((r, a.iter().zip(b).position(|(a, b)| a != b)?)));
    let (region, byte) = found.next()?;
    let at = |of: &[Vec<u8>]| {
        let from = byte / 8 * 8;
        of[region][from..from + 8].iter().rev().map(|b| format!("{b:02x}")).collect::<String>()
    };
    let row = THREADS as usize * 8;
    let (item, what) = match region {
        r if r == regions.out => {
            let (item, what) = &kernel.results[byte / row];
            (*item, format!("{what} of thread {}", byte % row / 8))
        }
        r if r == regions.memory => {
            let part = (byte / GLOBAL as usize).min(kernel.parts.len() - 1);
            (kernel.parts[part], format!("byte {} of its memory", byte - part * GLOBAL as usize))
        }
        _ => return Some(format!("region {region}, byte {byte}")),
    };
    let item = &kernel.items[item];
    let (got, exact) = (at(one), at(other));
    Some(format!("`{}` ({:?}), {what}: {got}, exact {exact}", item.line, item.mode))
}

/// Compares a kernel on all engines.
pub(super) fn run(kernel: &Kernel, seed: u64, count: &mut Count) -> Result<(), Problem> {
    let program = program(kernel)?;
    let (launch, regions) = launch(&program, kernel, seed);
    let exact = Exact::new(&program, &launch);
    if exact.end != Step::Done {
        return Err(Problem::Stopped(format!("{:?}", exact.end)));
    }
    let row = THREADS as usize * 8;
    let threads = exact.memory[regions.out].rchunks(row).next().unwrap_or(&[]).chunks(8);
    let ended = threads.filter(|w| w[..4] == (END as u32).to_le_bytes()).count();
    if ended != 2 * kernel.block as usize {
        return Err(Problem::Stopped(format!("{ended} threads come to the end")));
    }
    count.kernels += 1;
    count.instructions += kernel.items.len();
    let mut wrong = Vec::new();
    let compiled = match levels().eq([Level::Portable]) {
        true => vec![Level::Portable],
        false => vec![Level::Avx2, Level::Avx512],
    };
    let compiled = compiled.into_iter().map(|level| (true, level));
    for (compiled, level) in std::iter::once((false, Level::Portable)).chain(compiled) {
        let detailed = seed.is_multiple_of(2) && (!compiled || has_code(level, true));
        let config = EngineConfig { compiled, level, detailed, assume: true };
        let Some((finished, observer)) = config.run(&program, &launch, count)? else { continue };
        let memory = bytes(&finished.memory);
        if let Some(what) = place(kernel, &regions, &memory, &exact.memory) {
            wrong.push(format!("{level}: {what}"));
        } else if let Err(what) = differs(&finished, &observer, &exact) {
            wrong.push(format!("{level}: {what}"));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(Problem::Differs(wrong.join("\n        "))) }
}

/// One way for the fast engine to run a kernel.
#[derive(Clone, Copy)]
struct EngineConfig {
    compiled: bool,
    level: Level,
    detailed: bool,
    assume: bool,
}

impl EngineConfig {
    /// Runs a launch; returns `None` if the host has no compiled tier of the level.
    fn run(
        self,
        program: &Program,
        launch: &Launch<1>,
        count: &mut Count,
    ) -> Result<Option<(Finished, HashingObserver)>, Problem> {
        let Self { compiled, level, detailed, assume } = self;
        let mut state = Engine::<1>
            .launch(program, launch.clone())
            .map_err(|what| Problem::Refused(what.to_string()))?;
        let declined = |what: Declined| Problem::Declined(what.to_string());
        let decoded = fast::prepare(program, &state, assume).map_err(declined)?;
        let mut observer = HashingObserver::default();
        let finished = if compiled {
            let code = match Compiled::at(decoded, level, detailed) {
                Ok(code) => code,
                Err((_, Refused::Host)) => return Ok(None),
                Err((_, refused)) => return Err(Problem::Declined(refused.to_string())),
            };
            count.compiled += 1;
            count.native += code.coverage().native;
            count.steps += code.coverage().steps;
            code.run(state, &mut observer)
        } else {
            count.interpreted += 1;
            fast::run(&decoded, &mut state, level, detailed, &mut observer)
        };
        match finished {
            Err(Declined::Wrapped) if assume => {
                Self { assume: false, ..self }.run(program, launch, count)
            }
            finished => Ok(Some((finished.map_err(declined)?, observer))),
        }
    }
}
