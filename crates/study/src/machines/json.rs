//! Comparisons of machines as JSON; `docs/schemas/machines.schema.json` is its schema.

use lab::stats::slots_json;
use serde_json::{Map, Value, json};

use super::{Equality, Figures, MachineComparison, MachineRow, Outcome};

/// The value of `schema` in every report.
pub const MACHINES_SCHEMA_NAME: &str = "simtlab-machines";

/// The version of the form. Within a version keys are only ever added.
pub const MACHINES_VERSION: u64 = 1;

/// Renders a comparison as JSON.
#[must_use]
pub fn to_json(comparison: &MachineComparison) -> Value {
    json!({
        "schema": MACHINES_SCHEMA_NAME,
        "version": MACHINES_VERSION,
        "simtlab": env!("CARGO_PKG_VERSION"),
        "machine": comparison.machine,
        "module": comparison.module,
        "kernels": comparison.kernels,
        "rows": comparison.rows.iter().map(row).collect::<Vec<_>>(),
    })
}

fn row(row: &MachineRow) -> Value {
    let mut value = json!({ "machine": row.machine });
    let more = match &row.outcome {
        Outcome::Ran(figures) => json!({ "outcome": "ran", "figures": self::figures(figures) }),
        Outcome::Refused { kernel, message, line, source } => json!({
            "outcome": "refused",
            "kernel": kernel,
            "message": message,
            "line": line,
            "source": source,
        }),
        Outcome::Stopped { message } => json!({ "outcome": "stopped", "message": message }),
    };
    if let (Value::Object(value), Value::Object(more)) = (&mut value, more) {
        value.extend(more);
    }
    value
}

fn figures(figures: &Figures) -> Value {
    let equal = match &figures.equality {
        Equality::Reference => json!({ "equal": null }),
        Equality::Equal => json!({ "equal": true }),
        Equality::Differs { buffer, element, count, order } => json!({
            "equal": false,
            "buffer": buffer,
            "element": element,
            "count": count,
            "as_expected": order.expected,
            "other_mechanism": order.mechanism,
            "order": order.explains(),
        }),
    };
    let lowering: Map<String, Value> =
        figures.lowering.iter().map(|(name, figure)| (name.clone(), json!(figure))).collect();
    let lines: Vec<Value> = figures
        .lines
        .iter()
        .map(|cost| json!({ "line": cost.line, "instructions": cost.instructions }))
        .collect();
    json!({
        "width": figures.width,
        "instructions": figures.instructions,
        "code_bytes": figures.code_bytes,
        "masks": figures.masks,
        "spills": figures.spills,
        "issues": figures.slots.issues(),
        "uniform_issues": figures.slots.uniform_issues,
        "lane_slots": slots_json(&figures.slots),
        "results": equal,
        "lowering": lowering,
        "lines": lines,
    })
}
