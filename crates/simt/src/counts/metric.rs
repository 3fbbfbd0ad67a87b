//! Metrics: the numbers that reports show.

use std::sync::LazyLock;

use super::Counts;

/// The kind of value of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// An integer, in the unit that the definition names.
    Count,
    /// An average, in the unit that the definition names.
    Mean,
    /// Percent of a whole.
    Percent,
}

impl Unit {
    /// Returns the unit's name in the JSON report's documentation.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Mean => "mean",
            Self::Percent => "percent",
        }
    }
}

/// A metric: a counter that reports show, or a number computed from counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// The name in all reports and expectations.
    pub name: &'static str,
    /// The kind of its value.
    pub unit: Unit,
    /// What it counts, or the formula that computes it.
    pub definition: &'static str,
}

impl Metric {
    /// Compares a value with an expected one. Counts have to be equal; means and percentages may
    /// differ by 0.005, the precision of a report's two decimals.
    #[must_use]
    pub fn equals(&self, value: f64, expected: f64) -> bool {
        match self.unit {
            Unit::Count => value == expected,
            Unit::Mean | Unit::Percent => (value - expected).abs() <= 0.005 + 1e-9,
        }
    }
}

/// A number of a struct of counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// The field's name.
    pub name: &'static str,
    /// What it counts, in one sentence.
    pub about: &'static str,
}

/// All metrics, in the order of reports.
pub static METRICS: LazyLock<Vec<Metric>> =
    LazyLock::new(|| Counts::default().metrics().into_iter().map(|(metric, _)| metric).collect());

/// Returns the metric of this name.
#[must_use]
pub fn metric(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.name == name)
}

impl Counts {
    /// Returns the value of the metric of this name, if there is one.
    #[must_use]
    pub fn metric(&self, name: &str) -> Option<f64> {
        self.metrics().into_iter().find(|(metric, _)| metric.name == name).map(|(_, value)| value)
    }
}

/// The value of a metric: counts beyond 2^53 are rounded.
pub(super) struct Value(pub(super) f64);

impl From<u64> for Value {
    fn from(count: u64) -> Self {
        Self(count as f64)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self(value)
    }
}
