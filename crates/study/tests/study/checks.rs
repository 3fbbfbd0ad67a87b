//! Checks on the bundled kernels: those that synchronise rightly are silent, and those that race
//! on purpose are found.

use std::path::Path;

use checks::Checker;
use findings::CheckSet;
use inputs::launch::{Located, MachineOption, OptionValue};
use isa::SourceMap;
use lab::run::{Job, JobParts, Settings, Verdict};
use machines::{ProbedMonitor, Unmonitored};

/// Kernels with barriers, collectives, shared memory, asynchronous copies and atomics.
const SILENT: [&str; 17] = [
    "bitonic_sort",
    "cluster_reduce",
    "dynamic_shared",
    "early_exit",
    "histogram",
    "hgemm_mma",
    "hgemm_wmma",
    "kmeans",
    "match_any",
    "multicast_copy",
    "reduce",
    "scan",
    "sgemm_tiled",
    "spinlock",
    "stencil2d",
    "transpose",
    "wgmma_gemm",
];

/// The kinds of findings of a bundled kernel, each once.
fn found(name: &str) -> Vec<&'static str> {
    found_in_order(name, None)
}

/// The same, with asynchronous steps in an order.
fn found_in_order(name: &str, order: Option<&str>) -> Vec<&'static str> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels").join(name);
    let mut sources = SourceMap::new();
    let parts = JobParts::from_launch_file(&path.join("launch.toml"), None, &mut sources);
    let mut parts = parts.unwrap_or_else(|d| panic!("{name}: {d:?}"));
    let nowhere = parts.module_span;
    parts.options.extend(order.map(|order| MachineOption {
        key: Located { value: "async".to_owned(), span: nowhere },
        value: Located { value: OptionValue::String(order.to_owned()), span: nowhere },
    }));
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

/// Kernels with asynchronous steps, which give the same in every order and wait for what they read.
#[test]
fn kernels_with_asynchronous_steps_allow_every_order() {
    for name in ["wgmma_gemm", "cluster_reduce", "multicast_copy", "hgemm_mma"] {
        for order in ["early", "late", "random:1", "random:2", "random:3"] {
            assert_eq!(found_in_order(name, Some(order)), [""; 0], "{name}, {order}");
        }
    }
}

/// `bfs` reads a distance that others change by `atomicCAS`, and `atomic128` the first value of its
/// loop: plain reads, which race with the atomic operations.
#[test]
fn plain_reads_of_words_that_atomics_change_race() {
    assert_eq!(found("bfs"), ["race-between-blocks", "race-in-block", "race-in-warp"]);
    assert_eq!(found("atomic128"), ["race-in-warp"]);
}
