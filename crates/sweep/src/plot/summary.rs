//! What plots and reports show of a sweep, read in one pass: of each launch, seed, mechanism and
//! setting the issues, the efficiency and the verdict.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::ByLaunch;
use crate::record::Record;
use crate::store::{StoreError, each_row};

/// The reference of relative costs.
const BASE: &str = "ipdom";
/// Verdicts of runs that ended; their costs are compared.
const ENDED: [&str; 4] = ["ok", "racy", "order-dependent", "unsound"];

/// One run.
#[derive(Clone, Debug)]
struct Run {
    launch: String,
    seed: u64,
    name: String,
    width: u64,
    verdict: String,
    message: String,
    issues: f64,
    useful: Option<f64>,
}

/// A sweep in short.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    runs: Vec<Run>,
}

/// Verdicts by launch and mechanism.
#[derive(Clone, Debug, Default)]
pub struct Verdicts {
    /// The launches, sorted.
    pub launches: Vec<String>,
    /// The mechanisms, in the order of first rows.
    pub columns: Vec<String>,
    /// How often each verdict was given.
    pub cells: ByLaunch<BTreeMap<String, usize>>,
}

impl Verdicts {
    /// Returns the number of runs, and of those that are `ok`.
    #[must_use]
    pub fn totals(&self) -> (usize, usize) {
        let all = self.cells.values().flat_map(BTreeMap::values).sum();
        let ok = self.cells.values().filter_map(|found| found.get("ok")).sum();
        (all, ok)
    }
}

impl Summary {
    /// Reads the rows of a directory.
    ///
    /// # Errors
    /// Returns an error if they cannot be read.
    pub fn read(folder: &Path) -> Result<Self, StoreError> {
        let mut this = Self::default();
        each_row(folder, |record| this.runs.push(run(&record)))?;
        this.runs.sort_by(|a, b| {
            (&a.launch, a.seed, a.width, &a.name).cmp(&(&b.launch, b.seed, b.width, &b.name))
        });
        Ok(this)
    }

    /// Returns the mechanisms, settings and profiles, `ipdom` first.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let names: BTreeSet<&String> = self.runs.iter().map(|run| &run.name).collect();
        let mut names: Vec<String> = names.into_iter().filter(|n| !n.is_empty()).cloned().collect();
        names.sort_by_key(|name| (name != BASE, name.clone()));
        names
    }

    /// Returns the warp sizes.
    #[must_use]
    pub fn widths(&self) -> Vec<u64> {
        let widths: BTreeSet<u64> = self.runs.iter().map(|run| run.width).collect();
        widths.into_iter().filter(|w| *w > 0).collect()
    }

    /// Returns the mechanisms that are compared: those that end on at least half of the launches.
    fn usual(&self) -> Vec<String> {
        let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        for run in &self.runs {
            let count = counts.entry(&run.name).or_default();
            count.0 += 1;
            count.1 += usize::from(run.ended());
        }
        let usual =
            |name: &String| counts.get(name.as_str()).is_some_and(|(all, ended)| 2 * ended >= *all);
        self.names().into_iter().filter(usual).collect()
    }

    /// Returns the launches and seeds that end under all mechanisms that are compared, at all
    /// widths that these have.
    #[must_use]
    pub fn compared(&self) -> BTreeSet<(String, u64)> {
        let usual = self.usual();
        let mut all: BTreeSet<(String, u64)> = BTreeSet::new();
        let mut failed: BTreeSet<(String, u64)> = BTreeSet::new();
        for run in self.runs.iter().filter(|run| usual.contains(&run.name)) {
            let place = (run.launch.clone(), run.seed);
            if !run.ended() {
                failed.insert(place.clone());
            }
            all.insert(place);
        }
        all.difference(&failed).cloned().collect()
    }

    /// Returns geometric means of useful lane efficiency by mechanism and width, in percent.
    #[must_use]
    pub fn efficiency(&self) -> Vec<(String, Vec<(u64, f64)>)> {
        let means = self.means(|run, _| run.useful.map(|useful| useful.max(1e-3)));
        means.into_iter().map(|(name, values)| (name, values.into_iter().collect())).collect()
    }

    /// Returns geometric means of issues relative to `ipdom` by mechanism and width.
    #[must_use]
    pub fn relative(&self) -> Vec<(String, BTreeMap<u64, f64>)> {
        let bases: BTreeMap<(&str, u64, u64), f64> = self
            .runs
            .iter()
            .filter(|run| run.name == BASE && run.ended())
            .map(|run| ((run.launch.as_str(), run.seed, run.width), run.issues))
            .collect();
        let factor = |run: &Run, _: &()| {
            let base = bases.get(&(run.launch.as_str(), run.seed, run.width))?;
            (*base > 0.0 && run.issues > 0.0).then(|| run.issues / base)
        };
        let mut means = self.means(factor);
        means.retain(|(name, values)| name != BASE && !values.is_empty());
        means
    }

    fn means(&self, value: impl Fn(&Run, &()) -> Option<f64>) -> Vec<(String, BTreeMap<u64, f64>)> {
        let compared = self.compared();
        let mut sums: BTreeMap<(&str, u64), (f64, usize)> = BTreeMap::new();
        for run in self.runs.iter().filter(|run| run.ended()) {
            if !compared.contains(&(run.launch.clone(), run.seed)) {
                continue;
            }
            if let Some(value) = value(run, &()) {
                let sum = sums.entry((&run.name, run.width)).or_default();
                sum.0 += value.ln();
                sum.1 += 1;
            }
        }
        let of = |name: &String| {
            let values = sums.iter().filter(|((n, _), _)| n == name);
            values.map(|((_, w), (sum, n))| (*w, (sum / *n as f64).exp())).collect()
        };
        self.usual().into_iter().map(|name| (name.clone(), of(&name))).collect()
    }

    /// Returns the verdicts, over widths, orders, options and seeds.
    #[must_use]
    pub fn verdicts(&self) -> Verdicts {
        let mut out = Verdicts { columns: self.names(), ..Verdicts::default() };
        let launches: BTreeSet<&String> = self.runs.iter().map(|run| &run.launch).collect();
        out.launches = launches.into_iter().cloned().collect();
        for run in &self.runs {
            let cell = out.cells.entry((run.launch.clone(), run.name.clone())).or_default();
            *cell.entry(run.verdict.clone()).or_default() += 1;
        }
        out
    }

    /// Returns useful lane efficiency by launch and name, at the width of most rows.
    #[must_use]
    pub fn heat(&self) -> Option<(u64, ByLaunch<f64>)> {
        let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
        for run in self.runs.iter().filter(|run| run.useful.is_some()) {
            *counts.entry(run.width).or_default() += 1;
        }
        let width = counts.iter().max_by_key(|(_, n)| **n).map(|(w, _)| *w)?;
        let of_width = self.runs.iter().filter(|run| run.width == width);
        let values =
            of_width.filter_map(|run| Some(((run.launch.clone(), run.name.clone()), run.useful?)));
        Some((width, values.collect()))
    }

    /// Returns how many runs have each verdict and message, most frequent first; without `ok`.
    #[must_use]
    pub fn messages(&self) -> Vec<(String, String, usize, String)> {
        let mut counts: BTreeMap<(&str, &str), (usize, &str)> = BTreeMap::new();
        for run in self.runs.iter().filter(|run| run.verdict != "ok") {
            let count = counts.entry((&run.verdict, &run.message)).or_insert((0, &run.launch));
            count.0 += 1;
        }
        let mut out: Vec<_> = counts
            .into_iter()
            .map(|((verdict, message), (n, first))| {
                (verdict.to_owned(), message.to_owned(), n, first.to_owned())
            })
            .collect();
        out.sort_by(|a, b| b.2.cmp(&a.2).then_with(|| a.cmp(b)));
        out
    }

    /// Returns the number of runs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.runs.len()
    }

    /// Returns whether there is no run.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }
}

impl Run {
    fn ended(&self) -> bool {
        ENDED.contains(&self.verdict.as_str())
    }
}

fn run(record: &Record) -> Run {
    let mut name = match record.text("profile") {
        "" => record.text("mechanism").to_owned(),
        profile => profile.to_owned(),
    };
    if record.text("profile").is_empty() {
        for part in [record.text("order"), record.text("settings")] {
            if !part.is_empty() {
                name = format!("{name} {part}");
            }
        }
    }
    let whole = |column: &str| record.number(column).map_or(0, |n| n as u64);
    Run {
        launch: record.text("launch").to_owned(),
        seed: whole("seed"),
        name,
        width: whole("warp_size"),
        verdict: record.text("verdict").to_owned(),
        message: record.text("message").to_owned(),
        issues: record.number("inst_executed").unwrap_or(0.0),
        useful: record.number("useful_lane_efficiency"),
    }
}
