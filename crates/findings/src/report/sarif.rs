//! Findings as SARIF 2.1.0 (Static Analysis Results Interchange Format, OASIS).

use serde_json::{Value, json};

use super::json::severity_name;
use super::sentence;
use crate::finding::{Finding, Location};
use crate::found::Findings;
use crate::kind::KINDS;

/// The schema that the form follows.
const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

pub(super) fn to_sarif(findings: &Findings) -> Value {
    let rules: Vec<Value> = KINDS
        .iter()
        .map(|row| {
            json!({
                "id": row.name,
                "shortDescription": { "text": row.about },
                "fullDescription": { "text": row.cause },
                "help": { "text": row.cure },
                "defaultConfiguration": { "level": severity_name(row.severity) },
                "properties": { "check": row.check.name() },
            })
        })
        .collect();
    let program = &findings.program;
    let open = findings.iter().map(|finding| result(finding, program));
    let accepted = findings.suppressed().map(|(_, finding)| {
        let mut result = result(finding, program);
        result["suppressions"] = json!([{ "kind": "external" }]);
        result
    });
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "simtlab",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            } },
            "results": open.chain(accepted).collect::<Vec<_>>(),
        }],
    })
}

fn result(finding: &Finding, program: &str) -> Value {
    let row = finding.kind.row();
    let mut result = json!({
        "ruleId": row.name,
        "ruleIndex": finding.kind as usize,
        "level": severity_name(row.severity),
        "message": { "text": sentence(finding) },
        "locations": [location(&finding.location, program, None)],
        "occurrenceCount": finding.count,
    });
    let accesses = finding.accesses.iter().skip(1);
    let accesses = accesses.map(|a| location(&a.location, program, Some(a.name())));
    let related = finding.related.iter().map(|(at, text)| location(at, program, Some(text)));
    let related: Vec<Value> = accesses.chain(related).collect();
    if !related.is_empty() {
        result["relatedLocations"] = json!(related);
    }
    result
}

fn location(at: &Location, program: &str, message: Option<&str>) -> Value {
    let (file, line) = at.file_line(program);
    let mut physical = json!({ "artifactLocation": { "uri": uri(file) } });
    if let Some(line) = line.filter(|&line| line > 0) {
        physical["region"] = json!({ "startLine": line });
    }
    let mut location = json!({ "physicalLocation": physical });
    if let Some(message) = message {
        location["message"] = json!({ "text": message });
    }
    location
}

/// A path as a relative reference or a URI (RFC 3986).
fn uri(path: &str) -> String {
    let mut out = String::new();
    if path.starts_with('/') {
        out.push_str("file://");
    }
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' | b'~' => {
                out.push(char::from(byte));
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}
