//! Runs a kernel on all engines, and compares what it leaves with its model.

use std::collections::BTreeMap;

use checks::Checker;
use checks::probe::{LaunchStart, Probe as _, Shape};
use converge::catalogue::Entry;
use engine::{End, EventSink, ExactLaunch, Guest, Monitor, Progress, run_exact};
use fast::{Declined, Level, Threads};
use findings::CheckSet;
use generate::asynchronous::Kernel;
use ir::FuncId;
use isa::SourceMap;
use jit::Compiled;
use simt::machine::{Machine, Step};
use simt::memory::{Addr, MemoryMap};
use vm::{Asynchrony, Engine, Launch, Program, State, catalogued, load_variables};

#[allow(dead_code, reason = "the interpreter's own tests use the rest")]
#[path = "../../../fast/tests/fast/common/observed.rs"]
mod observed;

use observed::{Exact, HashingObserver, of_fast};

/// Issues after which a launch is taken to hang.
const LIMIT: u64 = 4_000_000;

/// What was run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Count {
    pub(crate) kernels: u64,
    /// Kernels by their parts.
    pub(crate) parts: BTreeMap<&'static str, u64>,
    /// Launches on the exact engine whose memory is that of the model.
    pub(crate) exact: u64,
    /// Launches in which no check finds anything.
    pub(crate) silent: u64,
    /// Launches on the fast engine with the memory and the statistics of the exact one.
    pub(crate) compared: u64,
    /// Those that several host threads ran.
    pub(crate) parallel: u64,
    /// Launches that the fast engine leaves to the exact one, by reason, before it begins and while
    /// it runs: these are no comparisons.
    pub(crate) declined: BTreeMap<String, u64>,
    pub(crate) left: BTreeMap<String, u64>,
}

/// A kernel that can be run.
struct Ready<'k> {
    kernel: &'k Kernel,
    sources: SourceMap,
    program: Program,
    launch: Launch<1>,
    buffers: Vec<Addr>,
}

impl<'k> Ready<'k> {
    fn new(kernel: &'k Kernel) -> Result<Self, String> {
        let mut sources = SourceMap::new();
        let file = sources.add("k.ptx", kernel.ptx.as_str());
        let (tree, _) = ptx::parse(file, &kernel.ptx);
        let (module, found) = ptx::lower(&tree, ptx::Select::All);
        let module = module.ok_or_else(|| format!("{found:#?}"))?;
        let program = Program::link(module).map_err(|e| format!("{e:?}"))?;
        let entry = Entry::find("ipdom").map_err(|e| e.to_string())?;
        let mut launch: Launch<1> = Launch::new(FuncId(0), catalogued(entry));
        launch.variables =
            load_variables(&program, &mut launch.memory).map_err(|e| e.to_string())?;
        (launch.grid, launch.block) = ([kernel.grid, 1, 1], [kernel.block, 1, 1]);
        launch.limit = LIMIT;
        let mut buffers = Vec::new();
        for buffer in &kernel.buffers {
            let bytes = (buffer.before.len() as u64).max(16);
            let at = launch.memory.allocate(buffer.name, bytes).map_err(|e| e.to_string())?;
            launch.memory.host_write(at, &buffer.before).map_err(|e| e.to_string())?;
            buffers.push(at);
            launch.params.extend(at.0.to_le_bytes());
        }
        for (buffer, &at) in kernel.buffers.iter().zip(&buffers) {
            for &(place, of, byte) in &buffer.addresses {
                let address = (buffers[of].0 + byte).to_le_bytes();
                let place = Addr(at.0 + place as u64);
                launch.memory.host_write(place, &address).map_err(|e| e.to_string())?;
            }
        }
        Ok(Self { kernel, sources, program, launch, buffers })
    }

    fn begin(&self, asynchrony: Asynchrony, guard: u64) -> Result<State<1>, String> {
        let launch = Launch { asynchrony: Some(asynchrony), guard, ..self.launch.clone() };
        Engine::<1>.launch(&self.program, launch).map_err(|e| e.to_string())
    }

    /// Compares memory with the model.
    fn compare(&self, memory: &MemoryMap) -> Result<(), String> {
        for (buffer, &at) in self.kernel.buffers.iter().zip(&self.buffers) {
            let mut found = vec![0; buffer.after.len()];
            memory.read_bytes(at, &mut found).map_err(|e| e.to_string())?;
            let mut expected = buffer.after.clone();
            for &(place, of, byte) in &buffer.addresses {
                let address = (self.buffers[of].0 + byte).to_le_bytes();
                expected[place..place + 8].copy_from_slice(&address);
            }
            let differs = found.iter().zip(&expected).position(|(a, b)| a != b);
            if let Some(at) = differs {
                let word = at / 4 * 4;
                let end = expected.len().min(word + 4);
                return Err(format!(
                    "{}+{word}: {:x?}, the model says {:x?}",
                    buffer.name,
                    &found[word..end],
                    &expected[word..end]
                ));
            }
        }
        Ok(())
    }
}

/// Runs a kernel in all ways. The error is the first difference, with the kernel's text.
pub(crate) fn check(kernel: &Kernel, count: &mut Count) -> Result<(), String> {
    let ready = Ready::new(kernel).map_err(|e| format!("{e}\n{}", kernel.ptx))?;
    count.kernels += 1;
    for part in &kernel.parts {
        *count.parts.entry(part).or_default() += 1;
    }
    all(&ready, count).map_err(|what| {
        let Kernel { grid, block, .. } = kernel;
        format!("{what}\ngrid {grid}, block {block}\n{}", kernel.ptx)
    })
}

fn all(ready: &Ready<'_>, count: &mut Count) -> Result<(), String> {
    let seed = ready.kernel.seed;
    for order in [Asynchrony::Early, Asynchrony::Late, Asynchrony::Random(seed)] {
        let run = || {
            let mut state = ready.begin(order, 0)?;
            match Engine::<1>.run_unobserved(&ready.program, &mut state, u64::MAX) {
                Step::Done => ready.compare(&state.into_memory()),
                end => Err(format!("it ends with {end:?}")),
            }
        };
        run().map_err(|what| format!("exact engine, {order}: {what}"))?;
        count.exact += 1;
    }
    checked(ready).map_err(|what| format!("checks: {what}"))?;
    count.silent += 1;
    let exact = Exact::new(&ready.program, &ready.launch);
    for level in [None, Some(Level::Avx512), Some(Level::Avx2)] {
        for detailed in [false, true] {
            fast_runs(ready, (level, detailed), &exact, count)
                .map_err(|what| format!("{level:?}, detailed: {detailed}: {what}"))?;
        }
    }
    Ok(())
}

/// Runs a kernel on the interpreter, or on compiled code of a level.
fn fast_runs(
    ready: &Ready<'_>,
    (level, detailed): (Option<Level>, bool),
    exact: &Exact,
    count: &mut Count,
) -> Result<(), String> {
    let state = ready.begin(Asynchrony::Early, 0)?;
    let kernel = match fast::prepare(&ready.program, &state, true) {
        Ok(kernel) => kernel,
        Err(declined) => {
            *count.declined.entry(declined.to_string()).or_default() += 1;
            return Ok(());
        }
    };
    let mut interpreted = None;
    let mut compiled = None;
    match level {
        None => interpreted = Some(kernel),
        Some(level) => match Compiled::at(kernel, level, detailed) {
            Ok(code) => compiled = Some(code),
            Err((_, jit::Refused::Host)) => return Ok(()),
            Err((_, refused)) => return Err(refused.to_string()),
        },
    }
    for threads in [1, 2 + ready.kernel.seed as usize % 7] {
        let mut state = ready.begin(Asynchrony::Early, 0)?;
        let mut observer = HashingObserver::default();
        let ran = if let Some(kernel) = interpreted.take() {
            let kernel = kernel.on_threads(threads).eagerly();
            let ran = fast::run(&kernel, &mut state, Level::best(), detailed, &mut observer);
            interpreted = Some(kernel);
            ran
        } else if let Some(code) = compiled.take() {
            let code = code.on_threads(threads).eagerly();
            let ran = code.run(&mut state, &mut observer);
            compiled = Some(code);
            ran
        } else {
            return Ok(());
        };
        let finished = match ran {
            Ok(finished) => finished,
            Err(declined) => {
                if declined == Declined::Wrapped {
                    return Err(declined.to_string());
                }
                *count.left.entry(declined.to_string()).or_default() += 1;
                continue;
            }
        };
        ready.compare(&finished.memory).map_err(|what| format!("{threads} threads: {what}"))?;
        if finished.stats != exact.stats {
            return Err(format!("{:#?}\nexact: {:#?}", finished.stats, exact.stats));
        }
        if let Some(detail) = &finished.detail {
            let counted = of_fast(detail);
            if counted != exact.observed.counted {
                return Err(format!("{counted:#?}\nexact: {:#?}", exact.observed.counted));
            }
            if !observer.accesses.are_congruent(&exact.observed.accesses) {
                return Err("its accesses differ".to_owned());
            }
        }
        count.compared += 1;
        count.parallel += u64::from(matches!(finished.threads, Threads::Many(_)));
    }
    Ok(())
}

/// Has a checker observe a launch.
struct Checked<'c>(&'c mut Checker);

impl Monitor for Checked<'_> {
    fn poll(&mut self, _: Progress) -> bool {
        true
    }

    fn sink(&mut self) -> Option<&mut dyn EventSink> {
        Some(self.0)
    }
}

/// Runs a kernel under all checks, late; the error is what they find.
fn checked(ready: &Ready<'_>) -> Result<(), String> {
    let all = CheckSet::parse("all").map_err(|e| format!("{e:?}"))?;
    let mut checker = Checker::new("k", all);
    let mut state = ready.begin(Asynchrony::Late, checks::GUARD)?;
    let places = checks::code::places(&ready.program, &|span| ready.sources.get(span.file));
    let Kernel { grid, block, .. } = *ready.kernel;
    let shape = Shape { grid: [grid.into(), 1, 1], block: [block.into(), 1, 1], width: 32 };
    checker.begin(&LaunchStart { kernel: "k", shape, places: &places });
    let mut memory = std::mem::take(state.memory_mut());
    let mut guest = Guest { memory: &mut memory, heap: None };
    let launch = ExactLaunch { program: &ready.program, state, counters: None };
    let run = run_exact::<1, std::fmt::Error>(
        launch,
        &mut guest,
        None,
        false,
        &mut Checked(&mut checker),
    );
    match run.map_err(|e| e.to_string())?.end {
        End::Done => {}
        end => return Err(format!("it ends with {end:?}")),
    }
    ready.compare(&memory)?;
    let findings = checker.take();
    if !findings.incomplete().is_empty() {
        return Err(format!("incomplete: {:?}", findings.incomplete()));
    }
    let say = |finding: &findings::Finding| format!("{finding:#?}");
    match findings.iter().map(say).next() {
        None => Ok(()),
        Some(found) => Err(found),
    }
}
