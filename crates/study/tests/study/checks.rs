//! Checks on the bundled kernels: those that synchronise rightly are silent, and those that race
//! on purpose are found.

use std::path::Path;

use checks::Checker;
use findings::CheckSet;
use isa::SourceMap;
use lab::run::{Job, JobParts, Settings, Verdict};
use machines::{ProbedMonitor, Unmonitored};

/// Kernels with barriers, collectives, shared memory, asynchronous copies and atomics.
const SILENT: [&str; 14] = [
    "bitonic_sort",
    "dynamic_shared",
    "early_exit",
    "histogram",
    "hgemm_mma",
    "hgemm_wmma",
    "kmeans",
    "match_any",
    "reduce",
    "scan",
    "sgemm_tiled",
    "spinlock",
    "stencil2d",
    "transpose",
];

/// The kinds of findings of a bundled kernel, each once.
fn found(name: &str) -> Vec<&'static str> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels").join(name);
    let mut sources = SourceMap::new();
    let parts = JobParts::from_launch_file(&path.join("launch.toml"), None, &mut sources);
    let parts = parts.unwrap_or_else(|d| panic!("{name}: {d:?}"));
    let job = Job::prepare(parts, &Settings::default(), &mut sources);
    let job = job.unwrap_or_else(|d| panic!("{name}: {d:?}"));
    let mut checker = Checker::new(name, CheckSet::parse("all").expect("it is a set"));
    let mut monitor = ProbedMonitor { monitor: &mut Unmonitored, probe: &mut checker };
    let report = job.run(false, &mut monitor).unwrap_or_else(|d| panic!("{name}: {d:?}"));
    assert_eq!(report.verdict(), Verdict::Met, "{name}");
    let findings = study::checks::conclude(checker, &report);
    assert!(findings.incomplete().is_empty(), "{name}: {:?}", findings.incomplete());
    let mut kinds: Vec<&str> = findings.iter().map(|finding| finding.kind.name()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

#[test]
fn kernels_that_synchronise_are_silent() {
    for name in SILENT {
        assert_eq!(found(name), [""; 0], "{name}");
    }
}

/// `bfs` reads a distance that others change by `atomicCAS`, and `atomic128` the first value of its
/// loop: plain reads, which race with the atomic operations.
#[test]
fn plain_reads_of_words_that_atomics_change_race() {
    assert_eq!(found("bfs"), ["race-between-blocks", "race-in-block", "race-in-warp"]);
    assert_eq!(found("atomic128"), ["race-in-warp"]);
}
