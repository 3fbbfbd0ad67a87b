//! Rows as tables have them: one record for each run, one column for each number.
//!
//! The columns are one list, from which CSV, Parquet, their schema and the page follow. All rows
//! have all columns; what a run has not is null.

use serde_json::{Map, Value, json};
use simt::counts::{METRICS, Unit};
use study::divergence::{Cell, Row};

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// Text.
    Text,
    /// `true` or `false`.
    Bool,
    /// A whole number of 64 bits.
    Int,
    /// A number of double precision.
    Float,
}

impl Type {
    /// Returns its name in schemas.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Bool => "bool",
            Self::Int => "int64",
            Self::Float => "float64",
        }
    }
}

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub ty: Type,
    /// The unit; empty for names.
    pub unit: &'static str,
    /// What it is, in one sentence.
    pub about: &'static str,
}

const fn column(name: &'static str, ty: Type, unit: &'static str, about: &'static str) -> Column {
    Column { name, ty, unit, about }
}

/// The columns but for the metrics of docs/statistics.md, which come before the last one.
pub const COLUMNS: &[Column] = &[
    column("key", Type::Text, "", "Hash of program, inputs, settings and versions; names the row."),
    column("suite", Type::Text, "", "The suite's name."),
    column("launch", Type::Text, "", "The launch file, from the suite file's folder."),
    column("machine", Type::Text, "", "The machine."),
    column("kernels", Type::Text, "", "The kernels of the launches, with + between them."),
    column("seed", Type::Int, "", "The seed of random inputs."),
    column("mechanism", Type::Text, "", "The convergence mechanism."),
    column("profile", Type::Text, "", "The profile of a real machine, if the row is one's."),
    column("warp_size", Type::Int, "lanes", "Width of an issue group."),
    column("order", Type::Text, "", "Side of a branch that runs first, if it was chosen."),
    column("settings", Type::Text, "", "Options that differ from the defaults, as name=value."),
    column(
        "verdict",
        Type::Text,
        "",
        "docs/compare.md, or `error` for a run that could not begin.",
    ),
    column("message", Type::Text, "", "Why a run hangs, faults, differs or cannot begin."),
    column("equal_to_reference", Type::Bool, "", "Whether memory and output are the reference's."),
    column(
        "useful_lane_efficiency",
        Type::Float,
        "percent",
        "Thread instructions that serial execution needs, of all lanes of all issues.",
    ),
    column(
        "least_issues_within_warps",
        Type::Int,
        "issues",
        "Issues that no mechanism saves where lanes of one warp issue together.",
    ),
    column(
        "least_issues_within_blocks",
        Type::Int,
        "issues",
        "Issues that no mechanism saves where lanes of a block issue together.",
    ),
    column("races", Type::Int, "pairs", "Pairs of instructions that race."),
    column("rejoined", Type::Int, "splits", "Splits that rejoined."),
    column("never_rejoined", Type::Int, "splits", "Splits that never did."),
    column(
        "reconvergence_time_mean",
        Type::Float,
        "issues",
        "Issues of the group from a split to its own rejoin.",
    ),
    column("reconvergence_time_p50", Type::Int, "issues", "The median of that time."),
    column("reconvergence_time_p99", Type::Int, "issues", "Its 99th percentile."),
    column("state_bits", Type::Int, "bits", "State that the mechanism kept for a group, at most."),
    column("code_before", Type::Int, "instructions", "Instructions before the mechanism's pass."),
    column("code_after", Type::Int, "instructions", "Instructions after it."),
    column("time_seconds", Type::Float, "seconds", "Time of the run on the host; no result."),
];

/// The names of columns of time, which differ from run to run.
pub(crate) const TIMES: &[&str] = &["time_seconds"];

/// Returns all columns, in their order.
#[must_use]
pub fn columns() -> Vec<Column> {
    let metrics = METRICS.iter().map(|metric| {
        let (ty, unit) = match metric.unit {
            Unit::Count => (Type::Int, "count"),
            Unit::Mean => (Type::Float, "mean"),
            Unit::Percent => (Type::Float, "percent"),
        };
        column(metric.name, ty, unit, metric.definition)
    });
    let (last, rest) = COLUMNS.split_last().expect("there are columns");
    rest.iter().copied().chain(metrics).chain([*last]).collect()
}

/// A row: its values by column.
#[derive(Clone, Debug, PartialEq)]
pub struct Record(pub Map<String, Value>);

/// What a row belongs to.
pub(crate) struct RowPlace<'a> {
    pub(crate) key: &'a str,
    pub(crate) suite: &'a str,
    pub(crate) launch: &'a str,
    pub(crate) machine: &'a str,
    pub(crate) kernels: &'a str,
    pub(crate) seed: u64,
}

impl Record {
    /// Returns the row's key.
    #[must_use]
    pub fn key(&self) -> &str {
        self.text("key")
    }

    /// Returns a text; empty if it is null.
    #[must_use]
    pub fn text(&self, column: &str) -> &str {
        self.0.get(column).and_then(Value::as_str).unwrap_or("")
    }

    /// Returns a number.
    #[must_use]
    pub fn number(&self, column: &str) -> Option<f64> {
        self.0.get(column).and_then(Value::as_f64)
    }

    /// Parses a line of a store; `None` if it is no row.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let Ok(Value::Object(map)) = serde_json::from_str(line) else { return None };
        let record = Self(map);
        (!record.key().is_empty()).then_some(record)
    }

    /// Renders the line of a store.
    #[must_use]
    pub fn line(&self) -> String {
        Value::Object(self.0.clone()).to_string()
    }

    fn new(
        place: &RowPlace<'_>,
        cell: (&str, Option<&str>, u64),
        settings: &[(String, String)],
    ) -> Self {
        let (mechanism, profile, warp_size) = cell;
        let order = settings.iter().find(|(name, _)| name == "order").map(|(_, value)| value);
        let others = settings.iter().filter(|(name, _)| name != "order");
        let others: Vec<String> = others.map(|(name, value)| format!("{name}={value}")).collect();
        let mut map: Map<String, Value> =
            columns().iter().map(|column| (column.name.to_owned(), Value::Null)).collect();
        let mut put = |column: &str, value: Value| {
            map.insert(column.to_owned(), value);
        };
        put("key", json!(place.key));
        put("suite", json!(place.suite));
        put("launch", json!(place.launch));
        put("machine", json!(place.machine));
        put("kernels", json!(place.kernels));
        put("seed", json!(place.seed));
        put("mechanism", json!(mechanism));
        put("profile", json!(profile));
        put("warp_size", json!(warp_size));
        put("order", json!(order));
        put("settings", json!(others.join(" ")));
        Self(map)
    }

    fn put(&mut self, column: &str, value: Value) {
        self.0.insert(column.to_owned(), value);
    }

    /// The row of a run.
    pub(crate) fn of(place: &RowPlace<'_>, row: &Row, seconds: f64) -> Self {
        let cell = (row.mechanism.as_str(), row.profile.as_deref(), row.warp_size);
        let mut out = Self::new(place, cell, &row.settings);
        let report = row.report.as_ref().map(|report| report.message.as_str());
        let difference = row.differences.first().map(|d| format!("{}: {}", d.what, d.text));
        let message = row.sentence.clone().or(report.map(str::to_owned)).or(difference);
        out.put("verdict", json!(row.verdict.name()));
        out.put("message", json!(message));
        out.put("equal_to_reference", json!(row.equal));
        out.put("useful_lane_efficiency", json!(row.useful));
        out.put("least_issues_within_warps", json!(row.least.map(|least| least.within_warps)));
        out.put("least_issues_within_blocks", json!(row.least.map(|least| least.within_blocks)));
        out.put("races", json!(row.races.len()));
        out.put("time_seconds", json!(seconds));
        let Some(stats) = &row.stats else { return out };
        out.put("rejoined", json!(row.times.rejoined));
        out.put("never_rejoined", json!(row.times.never));
        out.put("reconvergence_time_mean", json!(row.times.mean));
        out.put("reconvergence_time_p50", json!(row.times.p50));
        out.put("reconvergence_time_p99", json!(row.times.p99));
        out.put("state_bits", json!((stats.state_bits > 0).then_some(stats.state_bits)));
        out.put("code_before", json!(stats.code.as_ref().map(|code| code.pass.before)));
        out.put("code_after", json!(stats.code.as_ref().map(|code| code.pass.after)));
        for (metric, value) in stats.counts.metrics() {
            let value = match metric.unit {
                Unit::Count => json!(value as u64),
                Unit::Mean | Unit::Percent => json!(value),
            };
            out.put(metric.name, value);
        }
        out
    }

    /// The row of a run that could not begin.
    pub(crate) fn failed(place: &RowPlace<'_>, cell: &Cell, message: &str, seconds: f64) -> Self {
        let of = (cell.mechanism.as_str(), cell.profile.as_deref(), cell.warp_size);
        let mut out = Self::new(place, of, &cell.settings);
        out.put("verdict", json!("error"));
        out.put("message", json!(message));
        out.put("time_seconds", json!(seconds));
        out
    }
}
