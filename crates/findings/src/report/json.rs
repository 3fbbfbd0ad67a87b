//! Findings as JSON. docs/checks.md documents the form, docs/schemas/findings.schema.json is its
//! schema.

use isa::Severity;
use places::{InlinedCall, Site};
use serde_json::{Value, json};

use crate::finding::{AccessRecord, Finding, Location};
use crate::found::Findings;
use crate::kind::{Check, KINDS};

/// The value of `schema` in every report.
pub const FINDINGS_SCHEMA_NAME: &str = "simtlab-findings";

/// The version of the form. Within a version keys are only ever added.
pub const FINDINGS_VERSION: u64 = 1;

/// Renders findings as JSON.
#[must_use]
pub fn to_json(findings: &Findings) -> Value {
    let checks: Vec<&str> = Check::ALL
        .iter()
        .filter(|check| **check == Check::Memory || findings.checks.has(**check))
        .map(|check| check.name())
        .collect();
    let omitted: serde_json::Map<String, Value> = KINDS
        .iter()
        .filter(|row| findings.omitted(row.kind) > 0)
        .map(|row| (row.name.to_owned(), json!(findings.omitted(row.kind))))
        .collect();
    let suppressed: Vec<_> =
        findings.suppressed().map(|(_, found)| finding_to_json(found)).collect();
    json!({
        "schema": FINDINGS_SCHEMA_NAME,
        "version": FINDINGS_VERSION,
        "simtlab": env!("CARGO_PKG_VERSION"),
        "program": findings.program,
        "checks": checks,
        "incomplete": findings.incomplete().iter().map(|check| check.name()).collect::<Vec<_>>(),
        "exit_code": findings.exit_code(),
        "findings": findings.iter().map(finding_to_json).collect::<Vec<_>>(),
        "suppressed": suppressed,
        "omitted": omitted,
    })
}

/// Names a severity, as SARIF does.
pub(super) const fn severity_name(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}

/// Renders one finding.
#[must_use]
pub fn finding_to_json(found: &Finding) -> Value {
    let mut value = json!({
        "kind": found.kind.name(),
        "check": found.kind.row().check.name(),
        "severity": severity_name(found.kind.row().severity),
        "kernel": found.kernel,
        "launch": found.launch,
        "message": found.message,
        "place": location(&found.location),
        "accesses": found.accesses.iter().map(access).collect::<Vec<_>>(),
        "causes": found.causes,
        "cure": found.cure,
        "count": found.count,
    });
    if !found.code.is_empty() {
        value["code"] = json!(found.code);
    }
    if let Some(threads) = &found.site {
        value["threads"] = site(threads);
    }
    if let Some((place, text)) = &found.related {
        value["related"] = json!({ "place": location(place), "message": text });
    }
    value
}

fn location(at: &Location) -> Value {
    let mut value = json!({ "text": &*at.text, "line": at.line });
    if let Some(source) = &at.source {
        let calls = source.inlined.iter().map(|InlinedCall { function, file, line }| {
            json!({ "function": &**function, "file": &**file, "line": line })
        });
        value["source"] = json!({
            "file": &*source.file,
            "line": source.line,
            "inlined": calls.collect::<Vec<_>>(),
        });
    }
    value
}

fn site(site: &Site) -> Value {
    json!({ "block": site.block, "warp": site.warp, "lanes": site.lanes, "threads": site.threads })
}

fn access(access: &AccessRecord) -> Value {
    let mut value = json!({
        "access": access.name(),
        "space": access.space_name(),
        "address": format!("{:#x}", access.address),
        "threads": site(&access.site),
        "place": location(&access.location),
    });
    if let Some(bits) = access.value {
        value["value"] = json!(format!("{bits:#x}"));
    }
    value
}
