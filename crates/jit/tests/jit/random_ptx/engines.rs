//! Runs a kernel on the exact engine and on all others, and reports differences.

use converge::catalogue::Entry;
use fast::{Declined, Finished, Level, Threads};
use ir::FuncId;
use ir::testing::Rng;
use isa::FileId;
use jit::Compiled;
use simt::machine::{Machine, Step};
use simt::memory::MemoryMap;
use simt::observe::AnyObserver;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;
use std::time::Instant;
use vm::{
    Counts, Engine, FactCheck, Launch, Program, State, begin_bare, catalogued, load_variables,
};

use super::frame::meaning;
use super::kernel::{Kernel, Shape};
use super::operands::{IN_BYTES, OWN_BYTES, RACY_BYTES, WIDE_BYTES, eight_bytes, long, word};
use crate::harness::common::launches::number;
use crate::harness::common::observed::{Counted, HashingObserver, Observed, of_fast};
use crate::harness::has_code;

/// Issues per block after which a kernel is assumed to hang.
const LIMIT: u64 = 300_000;

/// Counts of launches by outcome.
#[derive(Clone, Debug, Default)]
pub(crate) struct Count {
    pub(crate) launches: u64,
    /// Those that ended without a fault on the exact engine.
    pub(crate) done: u64,
    pub(crate) faults: u64,
    pub(crate) hangs: u64,
    /// Launches compared with the exact engine's.
    pub(crate) compared: u64,
    /// Launches that an engine declined before they began, and while they ran.
    pub(crate) declined: BTreeMap<String, u64>,
    pub(crate) left: BTreeMap<String, u64>,
    /// Launches that several host threads ran to the end.
    pub(crate) parallel: u64,
    /// Statements that the front end refuses in their place.
    pub(crate) refused: BTreeMap<String, u64>,
    /// Seconds, by activity.
    pub(crate) seconds: BTreeMap<&'static str, f64>,
    /// Steps with code, and all steps.
    pub(crate) native: usize,
    pub(crate) steps: usize,
    /// Bytes of code.
    pub(crate) bytes: usize,
}

/// A way to run a launch on the fast engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RunConfig {
    level: Level,
    compile: bool,
    assume: bool,
    detailed: bool,
    threads: usize,
    /// Whether each block's effects are committed, so that the exact engine resumes after it.
    commits: bool,
}

impl fmt::Display for RunConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { level, compile, assume, detailed, threads, commits } = self;
        let engine = if *compile { "compiled" } else { "interpreter" };
        write!(f, "{engine}, {level}, {threads} threads")?;
        for (word, on) in [("assume", assume), ("detailed", detailed), ("commits", commits)] {
            write!(f, "{}", if *on { format!(", {word}") } else { String::new() })?;
        }
        Ok(())
    }
}

/// Returns the ways of a seed: the interpreter, and compiled code at each level of the host; at
/// least one of them on several threads.
pub(crate) fn configs(seed: u64) -> Vec<RunConfig> {
    let mut rng = Rng::new(seed ^ 0x5eed);
    let assume = !rng.one_in(4);
    let interpreted = [Level::Portable, Level::Avx2, Level::Avx512][rng.below(3)].or_less();
    let mut levels = vec![(interpreted, false)];
    levels.extend([Level::Avx2, Level::Avx512].map(|level| (level, true)));
    if crate::harness::levels().eq([Level::Portable]) {
        levels = vec![(interpreted, false), (Level::Portable, true)];
    }
    let together = rng.below(levels.len());
    let mut all: Vec<RunConfig> = (0..levels.len())
        .map(|k| {
            let (level, compile) = levels[k];
            let threads = if k == together || rng.one_in(4) { 2 + rng.below(3) } else { 1 };
            let (detailed, commits) = (rng.one_in(2), rng.one_in(8));
            let detailed = detailed && (!compile || has_code(level, detailed));
            RunConfig { level, compile, assume, detailed, threads, commits }
        })
        .collect();
    all.retain(|w| w.level.is_available());
    all
}

/// A kernel that can be launched.
pub(crate) struct Launchable {
    program: Arc<Program>,
    launch: Launch<1>,
}

/// The end of a launch.
struct Ended {
    end: Step<vm::Cause, 1>,
    memory: Vec<Region>,
    stats: Counts,
}

/// Name, first address, and bytes.
type Region = (String, u64, Vec<u8>);

/// The reason that a kernel cannot be launched.
pub(crate) enum NotReady {
    /// Statements that the front end refuses.
    Statements(BTreeMap<usize, String>),
    /// Something else.
    Other(String),
}

/// The prefix of a message for a kernel that the front end accepts and the linker refuses; there
/// should be none.
pub(crate) const LINK: &str = "link: ";

/// Prepares a kernel for launches.
pub(crate) fn ready(kernel: &Kernel) -> Result<Launchable, NotReady> {
    let text = kernel.text();
    let (tree, mut found) = ptx::parse(FileId(0), &text.ptx);
    let (module, more) = ptx::lower(&tree, ptx::Select::Kernel("k"));
    found.append(more);
    let other = |what: String| NotReady::Other(what);
    let mut wrong = BTreeMap::new();
    let mut add = |span: isa::Span, message: String| {
        let line = text.ptx[..span.range().start].matches('\n').count();
        match text.statements.get(line) {
            Some(Some(statement)) => drop(wrong.insert(*statement, message)),
            _ => return Err(NotReady::Other(message)),
        }
        Ok(())
    };
    for diagnostic in found.iter().filter(|d| d.severity == isa::Severity::Error) {
        if let Some(label) = &diagnostic.primary {
            add(label.span, diagnostic.message.clone())?;
        }
    }
    if found.has_errors() {
        return Err(NotReady::Statements(wrong));
    }
    let module = module.ok_or_else(|| other("there is no module".to_owned()))?;
    let places = module.locs.clone();
    let program = match Program::link(module) {
        Ok(program) => program,
        Err(errors) => {
            for error in errors {
                let place = places.get(error.loc.index()).cloned().unwrap_or_default();
                add(place.span, format!("{LINK}{}", error.kind))?;
            }
            return Err(NotReady::Statements(wrong));
        }
    };
    let launch = launch(&program, kernel, 0).map_err(other)?;
    Ok(Launchable { program: Arc::new(program), launch })
}

/// Returns the launch of a kernel, with buffers and parameters from its seed and another number.
fn launch(program: &Program, kernel: &Kernel, data: u64) -> Result<Launch<1>, String> {
    let module = program.module();
    let number = module.functions.iter().position(|f| f.name == "k").ok_or("no kernel")?;
    let entry = Entry::find("ipdom").map_err(|e| e.to_string())?;
    let mut launch = Launch::new(FuncId(number as u32), catalogued(entry));
    let Shape { grid, block } = kernel.shape;
    (launch.grid, launch.block, launch.limit) = ([grid, 1, 1], block, LIMIT);
    launch.variables = load_variables(program, &mut launch.memory).map_err(|e| e.to_string())?;
    let mut rng = Rng::new(kernel.seed ^ 0xdead_beef ^ data << 40);
    let mut values = Vec::new();
    let threads = u64::from(grid * block.iter().product::<u32>());
    for (name, bytes, random) in [
        ("in", IN_BYTES, true),
        ("out", OWN_BYTES * threads, false),
        ("racy", RACY_BYTES, kernel.seed.is_multiple_of(2)),
        ("wide", WIDE_BYTES, kernel.seed.is_multiple_of(4)),
    ] {
        let at = launch.memory.allocate(name, bytes).map_err(|e| e.to_string())?;
        if random {
            let content: Vec<u8> = (0..bytes / 8).flat_map(|_| eight_bytes(&mut rng)).collect();
            launch.memory.host_write(at, &content).map_err(|e| e.to_string())?;
        }
        values.push(at.0.to_le_bytes().to_vec());
    }
    values.extend([0, 1].map(|_| word(&mut rng).to_le_bytes().to_vec()));
    values.push(long(&mut rng).to_le_bytes().to_vec());
    values.push((0..8).flat_map(|_| eight_bytes(&mut rng)).collect());
    let params = module.functions[number].params();
    let size = params.iter().map(|p| p.offset + p.size).max().unwrap_or(0);
    launch.params = vec![0; size as usize];
    for (param, value) in params.iter().zip(&values) {
        let from = param.offset as usize;
        launch.params[from..from + value.len()].copy_from_slice(value);
    }
    Ok(launch)
}

/// Runs a kernel in all ways; returns the first difference from the exact engine.
pub(crate) fn compare(
    kernel: &Kernel,
    ready: &Launchable,
    configs: &[RunConfig],
    count: &mut Count,
) -> Result<(), Difference> {
    let mut made = Made::default();
    compare_launch(kernel, ready, configs, &mut made, count)?;
    for data in 1..number("LAUNCHES", 2) {
        let again = ready.with_data(kernel, data);
        let again = again.map_err(|what| Difference { config: None, what })?;
        compare_launch(kernel, &again, configs, &mut made, count)?;
    }
    Ok(())
}

/// Runs a launch in all ways; returns the first difference from the exact engine.
fn compare_launch(
    kernel: &Kernel,
    ready: &Launchable,
    configs: &[RunConfig],
    made: &mut Made,
    count: &mut Count,
) -> Result<(), Difference> {
    let failed = |what: String| Difference { config: None, what };
    let exact = count.time("exact engine", || ready.checked()).map_err(failed)?;
    count.launches += 1;
    match &exact.end {
        Step::Done => count.done += 1,
        Step::Hang(_) => count.hangs += 1,
        _ => count.faults += 1,
    }
    let mut observed = None;
    for &config in configs {
        let other = run_config(ready, config, (&mut *made, &mut observed), count);
        let other = other.map_err(|what| Difference { config: Some(config), what })?;
        let Some(other) = other else { continue };
        if let Some(what) = differs(kernel, &exact, &other) {
            return Err(Difference { config: Some(config), what });
        }
        count.compared += 1;
    }
    Ok(())
}

impl Count {
    /// Runs a function and adds its time.
    pub(crate) fn time<T>(&mut self, what: &'static str, f: impl FnOnce() -> T) -> T {
        let begin = Instant::now();
        let out = f();
        *self.seconds.entry(what).or_default() += begin.elapsed().as_secs_f64();
        out
    }
}

impl Launchable {
    /// The same kernel with other buffers and parameters.
    fn with_data(&self, kernel: &Kernel, data: u64) -> Result<Self, String> {
        let launch = launch(&self.program, kernel, data)?;
        Ok(Self { program: self.program.clone(), launch })
    }

    fn begin(&self) -> Result<State<1>, String> {
        begin_bare(&self.program, self.launch.clone()).map_err(|e| e.to_string())
    }

    /// Runs the launch on the exact engine, and checks the facts of the analyses at each issue.
    fn checked(&self) -> Result<Ended, String> {
        let mut state = self.begin()?;
        let Launch { grid, block, width, .. } = self.launch;
        let shape = flow::analysis::Shape { grid, block, width };
        let facts = FactCheck::new(&self.program, shape, flow::analysis::Options::default());
        let mut facts = facts.map_err(|e| e.to_string())?;
        let end = loop {
            match facts.step(&self.program, &mut state) {
                Ok(Step::Issued) => {}
                Ok(end) => break end,
                Err(violation) => return Err(format!("a fact is wrong: {violation}")),
            }
        };
        let stats = *state.stats();
        Ok(Ended { end, memory: bytes(&state.into_memory()), stats })
    }
}

impl Launchable {
    /// Counts all events of a launch on the exact engine.
    fn observed(&self) -> Observed {
        let mut observed = Observed::default();
        if let Ok(mut state) = self.begin() {
            Engine::<1>.run_observed(
                &self.program,
                &mut state,
                &mut AnyObserver::new(&mut observed),
                u64::MAX,
            );
        }
        observed
    }
}

/// Runs the rest of a launch on the exact engine.
fn on_exact(program: &Program, mut state: State<1>) -> Ended {
    let end = loop {
        match Engine::<1>.run_unobserved(program, &mut state, 1 << 20) {
            Step::Issued => {}
            end => break end,
        }
    };
    let stats = *state.stats();
    Ended { end, memory: bytes(&state.into_memory()), stats }
}

/// What the launches of a kernel share: the decoded kernel, and code by level, assumption and
/// detail. Decoding and compiling take most of the time.
#[derive(Default)]
struct Made {
    decoded: Option<(bool, fast::Kernel)>,
    compiled: HashMap<(Level, bool, bool), Compiled>,
}

impl Made {
    /// Takes the decoded kernel, which may be kept again.
    fn decoded(
        &mut self,
        program: &Program,
        state: &State<1>,
        assume: bool,
        count: &mut Count,
    ) -> Result<fast::Kernel, Declined> {
        match self.decoded.take() {
            Some((assumed, kernel)) if assumed == assume => Ok(kernel),
            _ => count.time("decoding", || fast::prepare(program, state, assume)),
        }
    }

    /// Takes code, which may be kept again; the kernel without code if there can be none.
    fn compiled(
        &mut self,
        (program, state): (&Program, &State<1>),
        (config, assume): (RunConfig, bool),
        count: &mut Count,
    ) -> Result<Result<Compiled, fast::Kernel>, Declined> {
        let RunConfig { level, detailed, .. } = config;
        if let Some(compiled) = self.compiled.remove(&(level, assume, detailed)) {
            return Ok(Ok(compiled));
        }
        let kernel = self.decoded(program, state, assume, count)?;
        let compiled = count.time("compiling", || Compiled::at(kernel, level, detailed));
        let compiled = compiled.map_err(|(kernel, _)| kernel);
        if let Ok(compiled) = &compiled {
            let coverage = compiled.coverage();
            count.native += coverage.native;
            count.steps += coverage.steps;
            count.bytes += coverage.bytes;
        }
        Ok(compiled)
    }
}

/// Runs a launch in a way, and keeps what other launches can use.
fn run_fast(
    ready: &Launchable,
    state: &mut State<1>,
    (config, assume): (RunConfig, bool),
    (made, observer): (&mut Made, &mut HashingObserver),
    count: &mut Count,
) -> Result<Result<Finished, Declined>, Declined> {
    let RunConfig { level, detailed, threads, commits, .. } = config;
    let found = match config.compile {
        true => made.compiled((&ready.program, state), (config, assume), count)?,
        false => Err(made.decoded(&ready.program, state, assume, count)?),
    };
    match found {
        Ok(mut code) => {
            code = code.on_threads(threads);
            code = if threads > 1 { code.eagerly() } else { code };
            code = if commits { code.commit_after(0) } else { code };
            let ran = count.time("compiled code", || code.run(state, observer));
            made.compiled.insert((level, assume, detailed), code);
            Ok(ran)
        }
        Err(mut kernel) => {
            kernel = kernel.on_threads(threads);
            kernel = if threads > 1 { kernel.eagerly() } else { kernel };
            kernel = if commits { kernel.commit_after(0) } else { kernel };
            let run = || fast::run(&kernel, state, level, detailed, observer);
            let ran = count.time("interpreter", run);
            made.decoded = Some((assume, kernel));
            Ok(ran)
        }
    }
}

/// Runs a launch in a way, and the rest of it on the exact engine; `None` if that is all of it.
fn run_config(
    ready: &Launchable,
    config: RunConfig,
    (made, observed): (&mut Made, &mut Option<Observed>),
    count: &mut Count,
) -> Result<Option<Ended>, String> {
    let mut state = ready.begin()?;
    let mut assume = config.assume;
    loop {
        let mut observer = HashingObserver::default();
        let ran = run_fast(ready, &mut state, (config, assume), (&mut *made, &mut observer), count);
        let ran = match ran {
            Ok(ran) => ran,
            Err(declined) => {
                *count.declined.entry(declined.to_string()).or_default() += 1;
                return Ok(None);
            }
        };
        match ran {
            Ok(finished) => {
                count.parallel += u64::from(matches!(finished.threads, Threads::Many(_)));
                if let Some(detail) = &finished.detail {
                    let exact = observed.get_or_insert_with(|| {
                        count.time("exact engine, observed", || ready.observed())
                    });
                    compare_details(&of_fast(detail), &observer, exact)?;
                }
                let memory = bytes(&finished.memory);
                return Ok(Some(Ended { end: Step::Done, memory, stats: finished.stats }));
            }
            Err(Declined::Wrapped) if assume => assume = false,
            Err(declined) => {
                *count.left.entry(declined.to_string()).or_default() += 1;
                let ended = on_exact(&ready.program, state);
                // CTAs on several threads may access the same memory.
                if config.threads == 1 && ended.end == Step::Done {
                    return Err(format!("{declined}, but the launch ends"));
                }
                return Ok(Some(ended));
            }
        }
    }
}

/// Compares the details of a launch with those of the exact engine.
fn compare_details(
    counted: &Counted,
    observer: &HashingObserver,
    exact: &Observed,
) -> Result<(), String> {
    if *counted != exact.counted {
        return Err(format!("details: {counted:#?}\non the exact engine {:#?}", exact.counted));
    }
    match observer.accesses.are_congruent(&exact.accesses) {
        true => Ok(()),
        false => Err(format!("accesses: {observer:?}\non the exact engine {exact:?}")),
    }
}

fn bytes(memory: &MemoryMap) -> Vec<Region> {
    let read = |region: &simt::memory::Region| {
        let mut bytes = vec![0; region.len() as usize];
        // A region that cannot be read is compared by its length.
        if memory.read_bytes(region.base(), &mut bytes).is_err() {
            bytes.clear();
        }
        (region.name().to_string(), region.base().0, bytes)
    };
    memory.regions().iter().map(read).collect()
}

/// A difference between two engines.
#[derive(Clone, Debug)]
pub(crate) struct Difference {
    pub(crate) config: Option<RunConfig>,
    pub(crate) what: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.config {
            Some(config) => write!(f, "{config}: {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

/// Describes the first difference.
fn differs(kernel: &Kernel, exact: &Ended, other: &Ended) -> Option<String> {
    if exact.end != other.end {
        return Some(format!(
            "it ends with {:?}, the exact engine with {:?}",
            other.end, exact.end
        ));
    }
    if exact.memory.len() != other.memory.len() {
        return Some("there are other regions of memory".to_owned());
    }
    for ((name, base, a), (.., b)) in exact.memory.iter().zip(&other.memory) {
        if a.len() != b.len() {
            return Some(format!("{name} is {} bytes long, not {}", b.len(), a.len()));
        }
        let Some(at) = a.iter().zip(b).position(|(a, b)| a != b) else { continue };
        let word = at / 4 * 4;
        let value = |bytes: &[u8]| {
            let end = bytes.len().min(word + 4);
            bytes[word..end].iter().rev().map(|b| format!("{b:02x}")).collect::<String>()
        };
        let place = place(kernel, name, at as u64);
        let address = base + word as u64;
        return Some(format!(
            "at {address:#x}, {name}+{word} ({place}): 0x{}, on the exact engine 0x{}",
            value(b),
            value(a)
        ));
    }
    // Engines may count never-resident blocks differently when a launch stops.
    let counted = matches!(exact.end, Step::Done);
    (counted && exact.stats != other.stats)
        .then(|| format!("statistics: {:#?}\non the exact engine {:#?}", other.stats, exact.stats))
}

/// Returns the thread that owns a place in memory.
fn place(kernel: &Kernel, name: &str, offset: u64) -> String {
    if name != "out" {
        return "shared by all threads".to_owned();
    }
    let threads = u64::from(kernel.shape.block.iter().product::<u32>());
    let (thread, offset) = (offset / OWN_BYTES, offset % OWN_BYTES);
    let (block, thread) = (thread / threads, thread % threads);
    let (warp, lane, what) = (thread / 32, thread % 32, meaning(offset));
    format!("block {block}, warp {warp}, lane {lane}: {what}")
}
