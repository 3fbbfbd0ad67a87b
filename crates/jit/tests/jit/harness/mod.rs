//! Runs launches on compiled code and on the exact engine, and compares memory and all statistics.

#[allow(dead_code, reason = "the interpreter's own tests use the rest")]
#[path = "../../../../fast/tests/fast/common/mod.rs"]
pub(crate) mod common;

use common::observed::{Exact, HashingObserver, bytes, of_fast};
use common::resumed::resumed;
use fast::{Declined, Finished, Kernel, Level, Threads};
use ir::testing::Rng;
use jit::{Compiled, Refused};
use simt::machine::{Machine, Step};
use std::collections::HashMap;
use vm::{Engine, Launch, Program};

/// Counts of launches by outcome.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Count {
    pub(crate) compared: u64,
    pub(crate) refused: u64,
    pub(crate) stopped: u64,
    /// Launches that several host threads ran to the end.
    pub(crate) parallel: u64,
    /// Launches that the exact engine resumed after a commit.
    pub(crate) resumed: u64,
    pub(crate) native: usize,
    pub(crate) steps: usize,
}

/// Returns the first instruction that a host of a level may lack. With AVX-512, those that count
/// the bits of lanes may be allowed.
#[cfg(all(target_arch = "x86_64", unix))]
pub(crate) fn beyond(level: Level, counts_bits: bool, code: &[u8]) -> Option<String> {
    use iced_x86::{CpuidFeature, Decoder, DecoderOptions, EncodingKind};
    const AVX2: [CpuidFeature; 15] = [
        CpuidFeature::INTEL8086,
        CpuidFeature::INTEL186,
        CpuidFeature::INTEL386,
        CpuidFeature::X64,
        CpuidFeature::CMOV,
        CpuidFeature::MULTIBYTENOP,
        CpuidFeature::SSE,
        CpuidFeature::AVX,
        CpuidFeature::AVX2,
        CpuidFeature::FMA,
        CpuidFeature::F16C,
        CpuidFeature::BMI1,
        CpuidFeature::BMI2,
        CpuidFeature::LZCNT,
        CpuidFeature::POPCNT,
    ];
    const AVX512: [CpuidFeature; 5] = [
        CpuidFeature::AVX512F,
        CpuidFeature::AVX512BW,
        CpuidFeature::AVX512CD,
        CpuidFeature::AVX512DQ,
        CpuidFeature::AVX512VL,
    ];
    let wide = level == Level::Avx512;
    let has = |f: &CpuidFeature| {
        let counts = counts_bits && *f == CpuidFeature::AVX512_VPOPCNTDQ;
        AVX2.contains(f) || wide && (AVX512.contains(f) || counts)
    };
    let found = Decoder::new(64, code, DecoderOptions::NONE).into_iter().find(|instruction| {
        instruction.is_invalid()
            || instruction.encoding() == EncodingKind::EVEX && !wide
            || !instruction.cpuid_features().iter().all(has)
    });
    found.map(|i| format!("{:?} needs {:?}", i.code(), i.cpuid_features()))
}

#[cfg(not(all(target_arch = "x86_64", unix)))]
pub(crate) fn beyond(_: Level, _: bool, _: &[u8]) -> Option<String> {
    None
}

/// Returns whether the host has no compiled tier, so that there is nothing to compare.
fn is_unsupported(refused: &Refused) -> bool {
    *refused == Refused::Host
}

/// The levels that have code.
#[cfg(target_arch = "x86_64")]
pub(crate) const LEVELS: [Level; 2] = [Level::Avx512, Level::Avx2];
#[cfg(not(target_arch = "x86_64"))]
pub(crate) const LEVELS: [Level; 1] = [Level::Portable];

/// The levels to test: `LEVEL=avx2` or `LEVEL=avx512` selects one, `LEVEL=portable` the code by
/// Cranelift, which on x86-64 exists for tests alone.
pub(crate) fn levels() -> impl Iterator<Item = Level> {
    let wanted = std::env::var("LEVEL").ok();
    if wanted.as_deref() == Some("portable") {
        jit::allow_portable_code();
    }
    let all = match wanted.as_deref() {
        Some("portable") => &[Level::Portable][..],
        _ => &LEVELS,
    };
    all.iter().copied().filter(move |l| wanted.as_ref().is_none_or(|w| w == l.name()))
}

/// Returns how many launches of so many with all code there are at least with the code that is
/// tested.
pub(crate) fn at_least(all: u64) -> u64 {
    if levels().eq([Level::Portable]) { all / 3 } else { all }
}

/// Returns how many launches there are if each level that the host has makes so many.
pub(crate) fn per_level(launches: u64) -> u64 {
    launches * supported().count() as u64
}

/// Returns whether a level has code for launches, or for launches in detail.
pub(crate) fn has_code(level: Level, detailed: bool) -> bool {
    level != Level::Portable || !detailed
}

/// Those of these levels that the host has.
pub(crate) fn supported() -> impl Iterator<Item = Level> {
    levels().filter(|level| *level <= Level::best())
}

/// One way for the fast engine to run a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunConfig {
    pub(crate) compiled: bool,
    pub(crate) level: Level,
    pub(crate) assume: bool,
    pub(crate) detailed: bool,
    pub(crate) threads: usize,
}

impl RunConfig {
    /// The ways on compiled code that every launch is run in.
    fn all() -> impl Iterator<Item = Self> {
        Self::at(levels())
    }

    /// The same at some levels.
    pub(crate) fn at(levels: impl Iterator<Item = Level>) -> impl Iterator<Item = Self> {
        let shapes = [(true, false), (true, true), (false, false)];
        levels.flat_map(move |level| {
            shapes.into_iter().flat_map(move |(assume, detailed)| {
                [1, 3].map(|threads| Self { compiled: true, level, assume, detailed, threads })
            })
        })
    }
}

/// Compares a launch on the interpreter and on compiled code with the exact engine; returns the
/// first difference.
pub(crate) fn compare_tiers(
    program: &Program,
    launch: &Launch<1>,
    count: &mut Count,
) -> Result<(), String> {
    let interpreted = [(false, 1), (true, 1), (true, 3)].map(|(detailed, threads)| {
        let (compiled, level, assume) = (false, Level::Avx2, true);
        RunConfig { compiled, level, assume, detailed, threads }
    });
    compare_in(interpreted.into_iter().chain(RunConfig::all()), program, launch, count)
}

/// Compares a launch on compiled code, at each level of the host, with the exact engine; returns
/// the first difference.
pub(crate) fn compare(
    program: &Program,
    launch: &Launch<1>,
    count: &mut Count,
) -> Result<(), String> {
    compare_in(RunConfig::all(), program, launch, count)
}

/// Compares a launch in some ways with the exact engine; returns the first difference.
pub(crate) fn compare_in(
    configs: impl Iterator<Item = RunConfig>,
    program: &Program,
    launch: &Launch<1>,
    count: &mut Count,
) -> Result<(), String> {
    if Engine::<1>.launch(program, launch.clone()).is_err() {
        return Ok(());
    }
    let mut done = Done::default();
    for config in configs.filter(|c| !c.compiled || has_code(c.level, c.detailed)) {
        run_in(config, program, launch, &mut done, count)
            .map_err(|what| format!("{config:?}: {what}"))?;
    }
    Ok(())
}

/// What the ways to run a launch share.
#[derive(Default)]
struct Done {
    /// The result of the exact engine, which runs when it is first needed.
    exact: Option<Exact>,
    /// Code, by level, assumption and detail.
    compiled: HashMap<(Level, bool, bool), Compiled>,
}

impl Done {
    fn exact(&mut self, program: &Program, launch: &Launch<1>) -> &Exact {
        self.exact.get_or_insert_with(|| Exact::new(program, launch))
    }

    /// Returns the code for a way; `None` if the host lacks its level.
    fn code(&mut self, config: RunConfig, kernel: Kernel) -> Result<Option<Compiled>, String> {
        let RunConfig { level, assume, detailed, .. } = config;
        if let Some(compiled) = self.compiled.remove(&(level, assume, detailed)) {
            return Ok(Some(compiled));
        }
        let compiled = match Compiled::at(kernel, level, detailed) {
            Ok(compiled) => compiled,
            Err((_, refused)) if is_unsupported(&refused) => return Ok(None),
            // Vectors are shorter there, and so functions are longer.
            Err((_, Refused::TooLarge)) if level == Level::Portable => return Ok(None),
            Err((_, refused)) => return Err(refused.to_string()),
        };
        // Code by Cranelift has its constants in it.
        let code = if level == Level::Portable { &[] } else { compiled.code() };
        match beyond(level, true, code) {
            Some(beyond) => Err(format!("code for {level}: {beyond}")),
            None => Ok(Some(compiled)),
        }
    }

    fn keep(&mut self, config: RunConfig, compiled: Compiled) {
        self.compiled.insert((config.level, config.assume, config.detailed), compiled);
    }
}

/// Compares a launch in one way with the exact engine.
fn run_in(
    config: RunConfig,
    program: &Program,
    launch: &Launch<1>,
    done: &mut Done,
    count: &mut Count,
) -> Result<(), String> {
    let begin = || Engine::<1>.launch(program, launch.clone()).map_err(|e| e.to_string());
    let mut state = begin()?;
    let Ok(kernel) = fast::prepare(program, &state, config.assume) else {
        count.refused += 1;
        return Ok(());
    };
    let mut observer = HashingObserver::default();
    let run = if config.compiled {
        let Some(compiled) = done.code(config, kernel)? else { return Ok(()) };
        let mut compiled = compiled.on_threads(config.threads).eagerly();
        let coverage = compiled.coverage();
        count.native += coverage.native;
        count.steps += coverage.steps;
        if config.threads == 1 {
            // First one CTA after the other, as far as they do not meet, then in the canonical
            // schedule. The second launch begins with the layouts of the first.
            let mut first = HashingObserver::default();
            if let Ok(finished) = compiled.run(begin()?, &mut first) {
                differs(&finished, &first, done.exact(program, launch))?;
            }
            compiled = compiled.on_threads(1);
        }
        let run = compiled.run(state, &mut observer);
        done.keep(config, compiled);
        run
    } else {
        let kernel = kernel.on_threads(config.threads).eagerly();
        fast::run(&kernel, &mut state, config.level, config.detailed, &mut observer)
    };
    match run {
        Ok(finished) => {
            differs(&finished, &observer, done.exact(program, launch))?;
            count.compared += 1;
            count.parallel += u64::from(matches!(finished.threads, Threads::Many(_)));
        }
        Err(Declined::Wrapped) if config.assume => {
            let config = RunConfig { assume: false, ..config };
            return run_in(config, program, launch, done, count);
        }
        // A fault or a hang, which the exact engine reports; or CTAs on several threads that access
        // the same memory.
        Err(declined @ (Declined::Running(_) | Declined::Wrapped)) => {
            if config.threads == 1 && done.exact(program, launch).end == Step::Done {
                return Err(format!("{declined}, but the launch ends"));
            }
            count.stopped += 1;
        }
        Err(_) => count.refused += 1,
    }
    if config.threads == 1 {
        count.resumed += u64::from(run_committing(config, program, launch, done)?);
    }
    Ok(())
}

/// Runs a launch in a way that commits each CTA, and the rest of it on the exact engine; returns
/// whether there was a rest.
fn run_committing(
    config: RunConfig,
    program: &Program,
    launch: &Launch<1>,
    done: &mut Done,
) -> Result<bool, String> {
    let RunConfig { level, assume, detailed, .. } = config;
    let compiled = done.compiled.remove(&(level, assume, detailed));
    let compiled = compiled.map(|compiled| compiled.on_threads(1).commit_after(0));
    let exact = done.exact(program, launch);
    let resumed = resumed(program, launch, exact, detailed, |state: &mut _, observer| {
        if let Some(compiled) = &compiled {
            return compiled.run(state, observer);
        }
        let kernel = fast::prepare(program, state, assume)?.commit_after(0);
        fast::run(&kernel, state, level, detailed, observer)
    });
    if let Some(compiled) = compiled {
        done.keep(config, compiled);
    }
    resumed
}

/// Returns the difference from the exact engine's result.
pub(crate) fn differs(
    finished: &Finished,
    observer: &HashingObserver,
    exact: &Exact,
) -> Result<(), String> {
    if exact.end != Step::Done {
        return Err(format!("it ends, the exact engine says {:?}", exact.end));
    }
    let memory = bytes(&finished.memory);
    if memory != exact.memory {
        let at = memory.iter().zip(&exact.memory).enumerate().find_map(|(r, (a, b))| {
            let byte = a.iter().zip(b).position(|(a, b)| a != b)?;
            let word = byte / 4 * 4;
            Some((r, word, a[word..word + 4].to_vec(), b[word..word + 4].to_vec()))
        });
        return Err(format!("memory differs: {at:x?}"));
    }
    if finished.output != exact.output {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (ours, theirs) = (text(&finished.output), text(&exact.output));
        return Err(format!("it prints\n{ours}\nexact:\n{theirs}"));
    }
    if finished.stats != exact.stats {
        return Err(format!("{:#?}\nexact: {:#?}", finished.stats, exact.stats));
    }
    if let Some(detail) = &finished.detail {
        let counted = of_fast(detail);
        if counted != exact.observed.counted {
            return Err(format!("{counted:#?}\nexact: {:#?}", exact.observed.counted));
        }
        if !observer.accesses.are_congruent(&exact.observed.accesses) {
            let (fast, exact) = (&observer.accesses, &exact.observed.accesses);
            return Err(format!("its accesses differ: {fast:?}\nexact: {exact:?}"));
        }
    }
    Ok(())
}

/// Compares a kernel with parameters `n`, `a`, `b`, with buffers of random words.
pub(crate) fn with_buffers(text: &str, rng: &mut Rng, seed: u64, count: &mut Count) {
    let mut one = |program: &_, launch: &_| compare(program, launch, count);
    common::launches::with_buffers(text, rng, seed, &mut one);
}
