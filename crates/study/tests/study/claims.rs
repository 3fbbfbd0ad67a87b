//! Measurement of the claims on overhead, accuracy and complexity of mechanisms: the tables of
//! `docs/divergence-numbers.md`.
//!
//! `SIMTLAB_BLESS=1` rewrites them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use isa::SourceMap;
use lab::run::{Job, JobParts, Settings, Variant};
use machines::probe::{EventSink, LaunchStart, Probe, ProbePair};
use machines::{ProbedMonitor, Unmonitored};
use probes::{MissedRejoins, SplitCounts};
use simt::observe::Events;
use study::divergence::{Plan, Row, Verdict, compare};

/// Bundled kernels with few issues.
const KERNELS: [&str; 11] = [
    "divergence/mandelbrot_goto",
    "divergence/nested",
    "divergence/partition",
    "divergence/short_circuit",
    "divergence/switch_k",
    "divergence/trip_count",
    "axpy_f16",
    "dot_f64",
    "match_any",
    "nqueens",
    "saxpy",
];
const WARP: u64 = 32;
const BEGIN: &str =
    "<!-- generated: SIMTLAB_BLESS=1 cargo test -p simtlab-study --test study claims:: -->\n";
const END: &str = "<!-- end -->\n";
/// The mechanisms of the claims, with their names there.
const CLAIMED: [(&str, &str); 3] =
    [("basic", "basic"), ("ipdom", "CFG-based"), ("predicated-stack", "stack-based predication")];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn job(kernel: &str) -> Job {
    let mut sources = SourceMap::new();
    let file = root().join("kernels").join(kernel).join("launch.toml");
    let parts = JobParts::from_launch_file(&file, None, &mut sources).expect("reads");
    Job::prepare(parts, &Settings::default(), &mut sources).expect("is ready")
}

/// Counts the operations that a pass inserted into the executed code.
#[derive(Default)]
struct Added(u64);

impl Probe for Added {
    fn begin(&mut self, launch: &LaunchStart<'_>) {
        let places = Arc::clone(launch.places);
        let added = places.iter().filter(|place| !place.origin.is_empty()).count();
        self.0 = self.0.max(added as u64);
    }
}

impl EventSink for Added {
    fn events(&self) -> Events {
        Events::NONE
    }
}

/// The measurements of a mechanism over all kernels.
#[derive(Default)]
struct Measured {
    /// Logarithms of the issues divided by the best mechanism's.
    logs: Vec<f64>,
    worst: (f64, &'static str),
    early: u64,
    missed: u64,
    equal: usize,
    ran: usize,
    bits: u64,
    added: u64,
    nodes_and_edges: u64,
}

impl Measured {
    fn overhead(&self) -> f64 {
        let n = self.logs.len().max(1) as f64;
        100.0 * ((self.logs.iter().sum::<f64>() / n).exp() - 1.0)
    }

    fn accuracy(&self) -> f64 {
        let all = self.early + self.missed;
        if all == 0 { 100.0 } else { 100.0 * self.early as f64 / all as f64 }
    }

    fn add(&mut self, kernel: &'static str, row: &Row, splits: (SplitCounts, u64), graph: u64) {
        self.ran += 1;
        self.equal += usize::from(row.equal == Some(true));
        (self.early, self.missed) = (self.early + splits.0.early, self.missed + splits.0.missed);
        self.added += splits.1;
        let Ok(entry) = converge::Entry::find(&row.mechanism) else { return };
        let depth = row.stats.as_ref().map_or(0, |s| s.counts.charges.max_depth).max(1);
        self.bits = self.bits.max(entry.state_bits(WARP, depth));
        self.nodes_and_edges += graph * analyses(&row.mechanism);
        if let Some(factor) = row.impact.divergence_impact_factor {
            self.logs.push(factor.ln());
            if factor > self.worst.0 {
                self.worst = (factor, kernel);
            }
        }
    }
}

/// Returns the number of traversals of the flow graph before a run: one for post-dominators, or one
/// each for priorities and frontiers.
fn analyses(mechanism: &str) -> u64 {
    match mechanism {
        "ipdom" | "predicated-stack" | "multi-path" | "convergence-barriers" => 1,
        "tf-stack" | "tf-sandy" => 2,
        _ => 0,
    }
}

fn study_splits(job: &Job, mechanism: &str) -> (SplitCounts, u64) {
    let variant = Variant { limit: Some(1 << 24), ..Variant::of(mechanism, WARP) };
    let (mut earliest, mut added) = (MissedRejoins::default(), Added::default());
    let mut monitor = Unmonitored;
    let mut probe = ProbePair(&mut earliest, &mut added);
    let mut probed = ProbedMonitor { monitor: &mut monitor, probe: &mut probe };
    job.run_variant(&variant, &mut probed).expect("ran before");
    (earliest.splits(), added.0)
}

fn measure() -> Vec<(String, Measured)> {
    let names: Vec<String> = job(KERNELS[0])
        .machine()
        .mechanisms
        .iter()
        .map(|m| m.name.to_owned())
        .filter(|name| name != "uniform")
        .collect();
    let mut all: Vec<(String, Measured)> =
        names.iter().map(|n| (n.clone(), Measured::default())).collect();
    for kernel in KERNELS {
        let job = job(kernel);
        let plan = Plan {
            mechanisms: names.clone(),
            warp_sizes: vec![WARP],
            order: None,
            settings: vec![Vec::new()],
            star: false,
            record_views: false,
            profiles: Vec::new(),
            jobs: 0,
        };
        let compared = compare(&job, &plan, &mut Unmonitored).expect("begins").expect("ends");
        let graph: u64 = compared
            .kernels
            .iter()
            .filter_map(|k| job.control_flow(k))
            .flat_map(|flow| flow.blocks)
            .map(|block| 1 + block.successors.len() as u64)
            .sum();
        for (row, (_, measured)) in compared.rows.iter().zip(&mut all) {
            if !matches!(row.verdict, Verdict::Unsupported) {
                let splits = study_splits(&job, &row.mechanism);
                measured.add(kernel, row, splits, graph);
            }
        }
    }
    all
}

fn tables(all: &[(String, Measured)]) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "Kernels: {}.\n", KERNELS.join(", "));
    out.push_str(
        "| mechanism | overhead | worst | rejoins at the earliest point | equal to serial | state, bits | graph nodes and edges | operations added |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for (name, m) in all {
        let worst = match m.worst {
            (factor, kernel) if factor > 1.0 => {
                format!("{:.1}% ({kernel})", 100.0 * (factor - 1.0))
            }
            _ => "–".to_owned(),
        };
        let _ = writeln!(
            out,
            "| `{name}` | {:.1}% | {worst} | {:.1}% | {} of {} | {} | {} | {} |",
            m.overhead(),
            m.accuracy(),
            m.equal,
            m.ran,
            m.bits,
            m.nodes_and_edges,
            m.added
        );
    }
    let of = |name: &str| all.iter().find(|(n, _)| n == name).map(|(_, m)| m);
    out.push_str("\n| claim | holds | measured |\n|---|---|---|\n");
    let mut claim = |text: &str, measure: &dyn Fn(&Measured) -> f64, rises: bool, unit: &str| {
        let values: Vec<Option<f64>> = CLAIMED.iter().map(|(n, _)| of(n).map(measure)).collect();
        let holds = values.windows(2).all(|w| if rises { w[0] < w[1] } else { w[0] > w[1] });
        let figures: Vec<String> = CLAIMED
            .iter()
            .zip(&values)
            .map(|((_, called), v)| format!("{called} {:.1}{unit}", v.unwrap_or(f64::NAN)))
            .collect();
        let holds = if holds { "yes" } else { "no" };
        let _ = writeln!(out, "| {text} | {holds} | {} |", figures.join(", "));
    };
    let overhead = "overhead falls from basic over CFG-based to stack-based predication";
    claim(overhead, &Measured::overhead, false, "%");
    claim("accuracy rises the same way", &Measured::accuracy, true, "%");
    claim("complexity rises the same way", &|m| m.bits as f64, true, " bits");
    out
}

#[test]
fn the_page_states_the_measured_figures() {
    let path = root().join("docs/divergence-numbers.md");
    let page = std::fs::read_to_string(&path).expect("is there");
    let (before, rest) = page.split_once(BEGIN).expect("the mark");
    let (now, after) = rest.split_once(END).expect("the end");
    let measured = tables(&measure());
    if std::env::var_os("SIMTLAB_BLESS").is_some() {
        std::fs::write(&path, format!("{before}{BEGIN}{measured}{END}{after}")).expect("can write");
        return;
    }
    assert_eq!(now, measured, "SIMTLAB_BLESS=1 renews docs/divergence-numbers.md");
}
