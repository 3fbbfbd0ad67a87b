//! Options that must not matter, crossed with the bundled kernels: whatever a machine's options
//! are, buffers are those of the engine.
//!
//! The test takes some of the pairs; `campaign` takes all.

#![allow(clippy::print_stderr, reason = "the campaign tells how many pairs were compared")]

use super::{kernels, linx, on_prf, pmask};
use crate::bundled::{Buffers, Run, count_equal};
use ::linx::{Inactive, Options, Region};

/// Launch files of short launches, whose results no order of threads changes.
const SHORT: [&str; 12] = [
    "compaction",
    "divergence/nested",
    "divergence/partition",
    "divergence/short_circuit",
    "divergence/trip_count",
    "dot_f64",
    "dp4a",
    "match_any",
    "norm_bf16",
    "saxpy",
    "spmv",
    "transpose",
];

/// Results depend on the order of threads.
const ORDERED: [&str; 2] = ["hash_table", "spinlock"];

/// All options of LinxISA's bodies together.
fn of_linx() -> Vec<Options> {
    let mut out = Vec::new();
    for group_width in [64, 32, 16, 4, 1] {
        for inactive in [Inactive::Merge, Inactive::Poison, Inactive::Zero] {
            for region in [Region::FirstTerminator, Region::TakenPath] {
                out.push(Options { group_width, inactive, region, ..Options::default() });
            }
        }
    }
    out
}

/// One machine with one choice of its options.
enum Choice {
    Linx(Options),
    Pmask(lower::pmask::Options),
    /// Predicate registers, and whether cycle by cycle under each policy.
    Prf(u32, bool),
}

fn choices() -> Vec<Choice> {
    let linx = of_linx().into_iter().map(Choice::Linx);
    let pmask = pmask::options().map(Choice::Pmask);
    let prf = [3, 5, 8, 16, 32].map(|predicates| Choice::Prf(predicates, false));
    linx.chain(pmask).chain(prf).chain([Choice::Prf(32, true)]).collect()
}

impl Choice {
    fn outcome(&self, run: &Run<'_>, after: Option<&Buffers>) -> Result<usize, String> {
        match *self {
            Self::Linx(options) => linx::outcome(run, after, options).map(|made| made.instructions),
            Self::Pmask(options) => {
                kernels::outcome(run, after, options).map(|made| made.instructions)
            }
            Self::Prf(predicates, timed) => on_prf::outcome_with(run, after, predicates, timed),
        }
    }
}

/// Compares each launch under the choices that are picked for it; returns how many were compared.
fn compare(asked: impl Fn(&str) -> bool, picks: impl Fn(usize, usize) -> bool) -> usize {
    let choices = choices();
    let (launch, compared) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
    count_equal(&ORDERED, asked, |run, after| {
        launch.set(launch.get() + 1);
        let mut last = Ok(0);
        for (index, choice) in choices.iter().enumerate() {
            if !picks(launch.get(), index) {
                continue;
            }
            last = choice.outcome(run, after);
            match &last {
                Ok(_) => compared.set(compared.get() + 1),
                Err(why) if why.starts_with("WRONG") || why.starts_with("FAULT") => {
                    return Err(format!("{why} (choice {index})"));
                }
                Err(_) => {}
            }
        }
        last
    });
    compared.get()
}

#[test]
fn options_do_not_matter_to_short_launches() {
    let asked = |name: &str| SHORT.iter().any(|short| name.contains(short));
    let count = choices().len() - 1;
    let compared =
        compare(asked, |launch, index| ((index + launch * 5) % count).is_multiple_of(12));
    assert!(compared >= 30 || std::env::var_os("ONLY").is_some(), "{compared}");
}

/// This kernel has more live values than rows: a test without lane forms makes place for a row.
#[test]
fn options_of_pmask_do_not_matter_where_rows_are_few() {
    let asked = |name: &str| name.contains("divergence/short_circuit");
    let choices = choices();
    let compared = compare(asked, |_, index| matches!(choices[index], Choice::Pmask(_)));
    assert_eq!(compared, pmask::options().count());
}

/// All pairs; `ONLY` names a folder, `CHOICES` takes some of the options: `37..43` are those of the
/// predicate-register-file GPU.
#[test]
#[ignore = "an hour"]
fn campaign() {
    let taken = std::env::var("CHOICES").unwrap_or_else(|_| format!("0..{}", choices().len()));
    let ends = taken.split_once("..").expect("a range");
    let taken = ends.0.parse::<usize>().expect("a number")..ends.1.parse().expect("a number");
    let compared = compare(|_| true, |_, index| taken.contains(&index));
    eprintln!("{compared} pairs of a launch and an option compared");
}
