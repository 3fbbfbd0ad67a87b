//! The JSON report. `docs/stats-json.md` documents its versioned form, together with a JSON Schema.
//!
//! Within a version keys are only ever added. Counts are integers; means and percentages are
//! floating-point numbers.

use machines::stats::{AccessSite, LaunchStats};
use serde_json::{Map, Value, json};
use simt::counts::{Counter, Counts, Unit};
use simt::slots::LaneSlots;

use super::run_stats::{ReconvergenceTimes, RunStats};

/// The value of `schema` in every report.
pub const JSON_SCHEMA_NAME: &str = "simtlab-stats";

/// The version of the form.
pub const JSON_VERSION: u64 = 1;

/// Renders the report as JSON.
#[must_use]
pub fn to_json(run: &RunStats) -> Value {
    let times = run.times.as_ref();
    let of_launch = |index: usize| times.and_then(|t| t.launches.get(index));
    let launches: Vec<Value> =
        run.launches.iter().enumerate().map(|(at, l)| launch(l, of_launch(at))).collect();
    let total = run.total();
    json!({
        "schema": JSON_SCHEMA_NAME,
        "version": JSON_VERSION,
        "simtlab": env!("CARGO_PKG_VERSION"),
        "machine": run.machine,
        "module": run.module,
        "mechanism": run.mechanism,
        "warp_size": run.warp_size,
        "seed": run.seed,
        "launches": launches,
        "total": {
            "metrics": metrics(&total.counts),
            "divergence": divergence(&total, times.map(|t| &t.total)),
        },
    })
}

/// Returns the divergence numbers of older tools, as `docs/divergence-numbers.md` defines them. The
/// impact factor, a comparison with the best mechanism, is null because a single run does not yield
/// it.
fn divergence(launch: &LaunchStats, times: Option<&ReconvergenceTimes>) -> Value {
    let counts = &launch.counts;
    let depth = counts.max_depth.saturating_sub(1);
    let rate = counts.metric("average_divergence_rate").unwrap_or_default();
    json!({
        "divergent_branches": counts.divergent_branches,
        "divergent_paths": counts.divergent_paths,
        "max_divergence_depth": depth,
        "average_divergence_rate": rate,
        "reconvergence_time": times.map(times_json),
        "divergence_impact_factor": null,
        "legacy_impact": times.and_then(|t| Some(t.mean? * depth as f64 / 100.0)),
    })
}

/// Renders reconvergence times, in issues of the group.
#[must_use]
pub fn times_json(times: &ReconvergenceTimes) -> Value {
    json!({
        "mean": times.mean, "p50": times.p50, "p99": times.p99,
        "rejoined": times.rejoined, "never": times.never,
    })
}

fn launch(launch: &LaunchStats, times: Option<&ReconvergenceTimes>) -> Value {
    let lines: Vec<Value> = launch
        .lines
        .iter()
        .map(|l| {
            json!({
                "file": l.file,
                "line": l.line,
                "issues": l.slots.issues(),
                "lane_slots": slots_json(&l.slots),
            })
        })
        .collect();
    let sites: Vec<Value> = launch.sites.iter().map(site).collect();
    let mut report = json!({
        "kernel": launch.kernel,
        "grid": launch.grid,
        "block": launch.block,
        "shared": launch.shared,
        "outcome": launch.outcome,
        "metrics": metrics(&launch.counts),
        "divergence": divergence(launch, times),
        "active_lanes": launch.active_lanes,
        "lines": lines,
        "accesses": sites,
    });
    if !launch.engine.is_empty() {
        report["engine"] = json!(launch.engine);
    }
    if let Some(mechanism) = launch.retried {
        report["retried"] = json!(mechanism);
    }
    if !launch.own.is_empty() {
        let own = launch.own.iter().map(|(name, count)| (name.clone(), json!(count)));
        report["own"] = Value::Object(own.collect::<Map<_, _>>());
    }
    report
}

fn site(site: &AccessSite) -> Value {
    let (file, source_line) = site.source.clone().unzip();
    let mut report = json!({
        "line": site.line,
        "file": file,
        "source_line": source_line,
        "text": site.text,
    });
    for (counter, count) in site.traffic.counters() {
        report[counter.name] = json!(count);
    }
    report
}

fn metrics(counts: &Counts) -> Value {
    let values = counts.metrics().into_iter().map(|(metric, value)| {
        let value = match metric.unit {
            // Exact up to 2^53, as counts come from integers; beyond, the nearest f64.
            Unit::Count => json!(value as u64),
            Unit::Mean | Unit::Percent => json!(value),
        };
        (metric.name.to_owned(), value)
    });
    Value::Object(values.collect::<Map<_, _>>())
}

/// Renders counters by name.
#[must_use]
pub fn counters_json(counters: Vec<(Counter, u64)>) -> Value {
    let counters = counters.into_iter().map(|(counter, n)| (counter.name.to_owned(), json!(n)));
    Value::Object(counters.collect())
}

/// Renders lane slots by cause.
#[must_use]
pub fn slots_json(slots: &LaneSlots) -> Value {
    let causes = slots.by_cause().iter();
    Value::Object(causes.map(|(cause, n)| (cause.name().to_owned(), json!(n))).collect())
}
