//! Comparisons as JSON. `docs/compare.md` documents the versioned form, together with a JSON
//! Schema.

use isa::Diagnostic;
use lab::stats::{counters_json, slots_json, times_json};
use machines::stats::{CodeCost, INSERTED, LaunchStats};
use places::Site;
use serde_json::{Map, Value, json};
use simt::counts::Counts;

use super::comparison::{Comparison, Row, max_divergence_depth};
use checks::race::{Race, RacingAccess, access_name, space_name};
use probes::place_json;

/// The value of `schema` in every report.
pub const COMPARE_SCHEMA_NAME: &str = "simtlab-compare";

/// The version of the form. Within a version keys are only ever added. Version 2 has rows that
/// cannot run in `unsupported`, and null for times of which there is none.
pub const COMPARE_VERSION: u64 = 2;

/// Renders a comparison as JSON.
#[must_use]
pub fn to_json(comparison: &Comparison) -> Value {
    let rows: Vec<Value> = comparison.rows.iter().map(row).collect();
    let refused: Vec<Value> = comparison.unsupported.iter().map(unsupported).collect();
    let reference = match &comparison.reference {
        Ok(()) => json!({ "mechanism": comparison.reference_name, "outcome": "done" }),
        Err(report) => {
            json!({
                "mechanism": comparison.reference_name,
                "outcome": report.code,
                "message": report.message,
            })
        }
    };
    let dependent: Vec<Value> = comparison
        .warp_size_dependent
        .iter()
        .map(|(kernel, first, count)| {
            json!({ "kernel": kernel, "text": first.text, "line": first.line, "count": count })
        })
        .collect();
    json!({
        "schema": COMPARE_SCHEMA_NAME,
        "version": COMPARE_VERSION,
        "simtlab": env!("CARGO_PKG_VERSION"),
        "machine": comparison.machine,
        "module": comparison.module,
        "kernels": comparison.kernels,
        "seed": comparison.seed,
        "order": comparison.order,
        "warnings": comparison.warnings.iter().map(warning).collect::<Vec<_>>(),
        "races_complete": comparison.races_complete,
        "warp_size_dependent": dependent,
        "reference": reference,
        "rows": rows,
        "unsupported": refused,
    })
}

/// Renders a row that could not run.
fn unsupported(row: &Row) -> Value {
    let settings = row.settings.iter().map(|(name, value)| (name.clone(), json!(value)));
    let report = row.report.as_ref();
    json!({
        "mechanism": row.mechanism,
        "warp_size": row.warp_size,
        "settings": Value::Object(settings.collect()),
        "profile": row.profile,
        "message": report.map(|r| r.message.as_str()),
    })
}

fn row(row: &Row) -> Value {
    let mut out = Map::new();
    let mut put = |key: &str, value: Value| {
        out.insert(key.to_owned(), value);
    };
    put("mechanism", json!(row.mechanism));
    put("warp_size", json!(row.warp_size));
    let settings = row.settings.iter().map(|(name, value)| (name.clone(), json!(value)));
    put("settings", Value::Object(settings.collect()));
    put("profile", json!(row.profile));
    put("verdict", json!(row.verdict.name()));
    put("equal_to_serial", json!(row.equal));
    put("sentence", json!(row.sentence));
    let orders =
        row.orders.iter().map(|(name, verdict)| ((*name).to_owned(), json!(verdict.name())));
    put("orders", Value::Object(orders.collect()));
    put("useful_lane_efficiency", json!(row.useful));
    let least = row.least.map(
        |least| json!({ "within_warps": least.within_warps, "within_blocks": least.within_blocks }),
    );
    put("least_issues", least.unwrap_or(Value::Null));
    let zero = LaunchStats::default();
    let stats = row.stats.as_ref().unwrap_or(&zero);
    let (ran, counts) = (row.stats.is_some(), &stats.counts);
    for name in COUNTS {
        put(name, if ran { number(counts, name, true) } else { Value::Null });
    }
    for name in SHARES {
        put(name, if ran { number(counts, name, false) } else { Value::Null });
    }
    put("lane_slots", if ran { slots_json(&counts.slots) } else { Value::Null });
    let masked = counts.slots.masked_off;
    put("slots_masked_off", if ran { json!(masked) } else { Value::Null });
    put("charges", if ran { counters_json(counts.charges.counters()) } else { Value::Null });
    let bits = (stats.state_bits > 0).then_some(stats.state_bits);
    put("state_bits", json!(bits));
    put("cycles", json!((counts.cycles > 0).then_some(counts.cycles)));
    put("code", stats.code.as_ref().map_or(Value::Null, code));
    put("divergent_paths", if ran { json!(counts.divergent_paths) } else { Value::Null });
    let depth = max_divergence_depth(stats);
    put("max_divergence_depth", if ran { json!(depth) } else { Value::Null });
    let rate = counts.metric("average_divergence_rate").unwrap_or_default();
    put("average_divergence_rate", if ran { json!(rate) } else { Value::Null });
    let time = times_json(&row.times);
    put("reconvergence_time", if ran { time } else { Value::Null });
    put("divergence_impact_factor", json!(row.impact.divergence_impact_factor));
    put("legacy_impact", json!(row.impact.legacy));
    let differences = row.differences.iter();
    let differences = differences.map(|d| json!({ "what": d.what, "text": d.text }));
    put("differences", differences.collect());
    let witnesses = row.witnesses.iter();
    let observers = witnesses.map(|(dependence, place)| {
        let mut value = place_json(place);
        value["observes"] = json!(dependence.name());
        value
    });
    put("observers", observers.collect());
    put("races", row.races.iter().map(race).collect());
    let message = row
        .report
        .as_ref()
        .map(|r| json!({ "code": r.code, "message": r.message, "notes": r.notes }));
    put("report", message.unwrap_or(Value::Null));
    Value::Object(out)
}

fn warning(warning: &Diagnostic) -> Value {
    json!({ "code": warning.code, "message": warning.message, "notes": warning.notes })
}

fn race(race: &Race) -> Value {
    json!({
        "space": space_name(race.space),
        "address": race.address,
        "count": race.count,
        "first": side(&race.first),
        "second": side(&race.second),
    })
}

fn side(side: &RacingAccess) -> Value {
    let mut value = place_json(&side.place);
    value["access"] = json!(access_name(side.kind));
    value["block"] = json!(side.thread.cta);
    value["thread"] = json!(side.thread.index);
    value["site"] = site(&side.site);
    value
}

/// Renders the coordinates of threads in a launch.
fn site(site: &Site) -> Value {
    let Site { block, warp, lanes, threads } = site;
    json!({ "block": block, "warp": warp, "lanes": lanes, "threads": threads })
}

/// Metrics of a row that are counts.
const COUNTS: [&str; 7] = [
    "inst_executed",
    "block_issues",
    "thread_inst_executed",
    "idle_issues",
    "branches",
    "divergent_branches",
    "max_depth",
];

/// Metrics of a row that are percentages.
const SHARES: [&str; 3] =
    ["warp_execution_efficiency", "warp_nonpred_execution_efficiency", "branch_efficiency"];

fn number(counts: &Counts, name: &str, count: bool) -> Value {
    let value = counts.metric(name).unwrap_or_default();
    if count { json!(value as u64) } else { json!(value) }
}

fn code(code: &CodeCost) -> Value {
    let inserted = INSERTED.iter().zip(code.inserted);
    let inserted = inserted.map(|((_, name), count)| ((*name).to_owned(), json!(count)));
    let predicates = code.pass.predicates;
    json!({
        "instructions_before": code.pass.before,
        "instructions_after": code.pass.after,
        "saved_masks": code.pass.saved_masks,
        "predicates_needed": predicates.map(|p| p.needed),
        "predicates_spilled": predicates.map(|p| p.spilled),
        "spill_stores": predicates.map(|p| p.stores),
        "spill_loads": predicates.map(|p| p.loads),
        "inserted_issues": Value::Object(inserted.collect()),
    })
}
