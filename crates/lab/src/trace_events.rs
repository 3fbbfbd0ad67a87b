//! Documents in the Trace Event format, which Perfetto and Chrome read.

use std::fmt::Write as _;

use serde_json::json;

use crate::stats::RunStats;

/// Wraps comma-separated events into a document in the Trace Event format.
#[must_use]
pub fn wrap(other: &serde_json::Value, events: &str) -> String {
    format!("{{\"displayTimeUnit\":\"ms\",\"otherData\":{other},\"traceEvents\":[\n{events}\n]}}\n")
}

/// Joins the timelines that a machine recorded of a run's launches into one document, with a
/// process for each launch.
#[must_use]
pub fn document(run: &RunStats) -> String {
    let mut text = String::new();
    for (index, launch) in run.launches.iter().enumerate() {
        for event in &launch.timeline {
            let mut event = event.clone();
            event["pid"] = json!(index + 1);
            if event["name"] == "process_name" {
                event["args"]["name"] = json!(format!("{} (launch {index})", launch.kernel));
            }
            text.push_str(if text.is_empty() { "" } else { ",\n" });
            let _ = write!(text, "{event}");
        }
    }
    wrap(&json!({ "about": run.module, "unit": "cycles" }), &text)
}
