//! Positive controls of the checks: mutants of the bundled kernels, each with a defect of a known
//! class. The check for that class finds those that change what the kernel means. Stores that are
//! dropped escape where they update what was written before: nothing is read then that nobody has
//! written.
//!
//! It takes half a minute:
//! `cargo test --workspace --test study -- --ignored --nocapture check_mutants::`. `MUTANTS`
//! says how many of each class and kernel are tried (3), and `KERNEL` which kernel alone.

#![allow(clippy::print_stdout, reason = "the table of what became of the mutants")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use checks::Checker;
use findings::{Check, CheckSet};
use isa::SourceMap;
use lab::run::{Job, JobParts, Settings, Verdict};
use machines::{ProbedMonitor, Unmonitored};
use study::checks::conclude;

/// Kernels with findings of their own, or too long for many runs on the exact engine.
const LEFT_OUT: [&str; 12] = [
    "atomic128",
    "bfs",
    "mandelbrot",
    "nbody",
    "raymarch",
    "sgemm",
    "black_scholes",
    "monte_carlo_pi",
    "edit_distance",
    "nqueens",
    "sha256",
    "hash_table",
];

/// What is done to a line of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Defect {
    /// A barrier is dropped.
    Barrier,
    /// An atomic update becomes a load, an addition and a store.
    Atomic,
    /// An access reaches far beyond its place.
    Index,
    /// A store to shared or local memory is dropped.
    Initialisation,
    /// A collective is executed by half of its lanes.
    Collective,
}

impl Defect {
    const ALL: [Self; 5] =
        [Self::Barrier, Self::Atomic, Self::Index, Self::Initialisation, Self::Collective];

    /// The checks that are made for it.
    fn checks(self) -> &'static [Check] {
        match self {
            Self::Barrier => &[Check::Race],
            Self::Atomic => &[Check::Race],
            Self::Index => &[Check::Memory],
            Self::Initialisation => &[Check::Init],
            Self::Collective => &[Check::Sync],
        }
    }

    /// The lines that take the place of a line; `None` if the defect does not apply to it.
    fn apply(self, line: &str) -> Option<String> {
        let text = line.trim();
        let plain = !text.starts_with('@') && !text.starts_with("//");
        match self {
            Self::Barrier => {
                let barrier = ["bar.sync", "barrier.sync", "bar.warp.sync"];
                barrier.iter().any(|b| text.starts_with(b)).then(String::new)
            }
            Self::Atomic => {
                // `atom.global.add.u32 %old, [%at], %value;`
                let rest = text.strip_prefix("atom.").filter(|_| plain)?;
                let (space, rest) = rest.split_once(".add.")?;
                let (ty, operands) = rest.split_once(char::is_whitespace)?;
                let (old, operands) = operands.trim().trim_end_matches(';').split_once(", ")?;
                let (address, value) = operands.split_once("], ")?;
                let ty = ty.replace('u', "b");
                let (add, rounds) = match ty.strip_prefix('b') {
                    Some(bits) => (format!("u{bits}"), ""),
                    None => (ty.clone(), ".rn"),
                };
                Some(format!(
                    "{{ .reg .{ty} %mutant; ld.{space}.{ty} {old}, {address}]; \
                     add{rounds}.{add} %mutant, {old}, {value}; \
                     st.{space}.{ty} {address}], %mutant; }}"
                ))
            }
            Self::Index => {
                let access = ["ld.global.", "st.global.", "ld.shared.", "st.shared."];
                let applies = plain && access.iter().any(|start| text.starts_with(start));
                let (head, rest) = line.split_once('[').filter(|_| applies)?;
                let (address, tail) = rest.split_once(']')?;
                let base = address.split('+').next()?;
                let own: i64 = address.split_once('+').map_or(Some(0), |(_, n)| n.parse().ok())?;
                Some(format!("{head}[{base}+{}]{tail}", own + (1 << 20)))
            }
            Self::Initialisation => {
                let store = ["st.shared.", "st.local."];
                (plain && store.iter().any(|start| text.starts_with(start))).then(String::new)
            }
            Self::Collective => {
                let collectives = ["shfl.sync.", "vote.sync.", "match."];
                let applies = plain && collectives.iter().any(|start| text.starts_with(start));
                applies.then(|| {
                    format!(
                        "{{ .reg .pred %half; .reg .b32 %lane; mov.u32 %lane, %laneid; \
                         setp.lt.u32 %half, %lane, 16; @!%half bra skip_mutant; {text} \
                         skip_mutant: }}"
                    )
                })
            }
        }
    }
}

/// What became of a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    /// The check for its defect finds it.
    Found,
    /// Another check finds it.
    FoundOtherwise,
    /// Nothing is found, and the results are right.
    Same,
    /// Nothing is found, and the results are wrong.
    Escaped,
    /// It cannot be run.
    Invalid,
}

fn kernels() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels")
}

/// A copy of a kernel's folder, whose program is still to be written.
fn copy(name: &str) -> PathBuf {
    let to = Path::new(env!("CARGO_TARGET_TMPDIR")).join("check-mutants").join(name);
    fs::create_dir_all(&to).expect("room");
    for entry in fs::read_dir(kernels().join(name)).expect("a kernel").flatten() {
        if entry.path().is_file() {
            fs::copy(entry.path(), to.join(entry.file_name())).expect("room");
        }
    }
    to
}

/// Runs a kernel with all checks: its verdict, and the checks that have found something.
fn run(folder: &Path) -> Option<(Verdict, Vec<Check>)> {
    let mut sources = SourceMap::new();
    let parts = JobParts::from_launch_file(&folder.join("launch.toml"), None, &mut sources).ok()?;
    let settings = Settings { limit: Some(20_000_000), ..Settings::default() };
    let job = Job::prepare(parts, &settings, &mut sources).ok()?;
    let mut checker = Checker::new("mutant", CheckSet::parse("all").expect("it is a set"));
    let mut monitor = ProbedMonitor { monitor: &mut Unmonitored, probe: &mut checker };
    let report = job.run(false, &mut monitor).ok()?;
    let found = conclude(checker, &report);
    let mut checks: Vec<Check> = found.iter().map(|f| f.kind.row().check).collect();
    checks.sort_unstable();
    checks.dedup();
    Some((report.verdict(), checks))
}

fn fate(folder: &Path, defect: Defect) -> Fate {
    match run(folder) {
        None => Fate::Invalid,
        Some((_, found)) if found.iter().any(|f| defect.checks().contains(f)) => Fate::Found,
        Some((_, found)) if !found.is_empty() => Fate::FoundOtherwise,
        Some((Verdict::Met, _)) => Fate::Same,
        Some(_) => Fate::Escaped,
    }
}

#[test]
#[ignore = "takes a minute"]
fn mutants_of_the_bundled_kernels_are_found() {
    let variable = |name: &str| std::env::var(name).ok();
    let most: usize = variable("MUTANTS").and_then(|n| n.parse().ok()).unwrap_or(3);
    let only = variable("KERNEL");
    let mut names: Vec<String> = fs::read_dir(kernels())
        .expect("kernels")
        .flatten()
        .filter(|entry| entry.path().join("launch.toml").is_file())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| only.as_ref().is_none_or(|only| only == name))
        .filter(|name| only.is_some() || !LEFT_OUT.contains(&&**name))
        .collect();
    names.sort_unstable();
    let mut counts: BTreeMap<(Defect, Fate), usize> = BTreeMap::new();
    let mut escaped = Vec::new();
    for name in &names {
        let program = fs::read_dir(kernels().join(name)).expect("a folder").flatten();
        let program = program.map(|entry| entry.path());
        let Some(program) = program.into_iter().find(|p| p.extension().is_some_and(|e| e == "ptx"))
        else {
            continue;
        };
        let text = fs::read_to_string(&program).expect("a program");
        let folder = copy(name);
        let own = folder.join(program.file_name().expect("a name"));
        for defect in Defect::ALL {
            let lines: Vec<&str> = text.lines().collect();
            let places: Vec<(usize, String)> = lines
                .iter()
                .enumerate()
                .filter_map(|(i, line)| Some((i, defect.apply(line)?)))
                .collect();
            // Evenly over the program.
            let step = places.len().div_ceil(most).max(1);
            for (at, line) in places.iter().step_by(step) {
                let mut mutant: Vec<&str> = lines.clone();
                mutant[*at] = line;
                fs::write(&own, mutant.join("\n")).expect("room");
                let fate = fate(&folder, defect);
                *counts.entry((defect, fate)).or_default() += 1;
                println!("{name}:{} {defect:?} {fate:?} {}", at + 1, lines[*at].trim());
                if fate == Fate::Escaped {
                    escaped.push((defect, format!("{name}:{}", at + 1)));
                }
            }
        }
    }
    for ((defect, fate), count) in &counts {
        println!("{defect:?} {fate:?}: {count}");
    }
    println!("escaped: {escaped:#?}");
    escaped.retain(|(defect, _)| *defect != Defect::Initialisation);
    assert!(escaped.is_empty(), "{escaped:?}");
    if only.is_none() {
        for defect in Defect::ALL {
            assert!(counts.contains_key(&(defect, Fate::Found)), "{defect:?} is never found");
        }
    }
}
