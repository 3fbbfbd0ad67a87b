//! Statistics of runs, and reports.
//!
//! [`LaunchStats`](machines::stats::LaunchStats) holds the counts of one launch, [`RunStats`] those
//! of a run. [`METRICS`](simt::counts::METRICS) is the only list of metrics: the text report, the
//! JSON report, `statistic` expectations and `docs/statistics.md` take names and definitions from
//! it. A metric has the name that NVIDIA's profilers give it, if they have it.

mod json;
mod run_stats;
mod text;

pub use json::{JSON_SCHEMA_NAME, JSON_VERSION, counters_json, slots_json, times_json, to_json};
pub use run_stats::{ReconvergenceTimes, RunStats, RunTimes};
pub use text::to_text;
