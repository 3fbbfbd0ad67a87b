//! The page and the schema that are made from the table of kinds.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::kind::{Check, KINDS};
use crate::report::{FINDINGS_SCHEMA_NAME, FINDINGS_VERSION};

/// The section of docs/checks.md on the kinds of findings.
#[must_use]
pub fn kinds() -> String {
    let mut out = String::from("| kind | check | exit code | |\n|---|---|---|---|\n");
    for row in KINDS {
        let (name, check) = (row.name, row.check.name());
        let _ = writeln!(
            out,
            "| [`{name}`](#{name}) | `{check}` | {} | {} |",
            row.exit_code, row.about
        );
    }
    for row in KINDS {
        let link = |path: &str| {
            let file = path.rsplit('/').next().unwrap_or(path);
            format!("[{file}](../crates/filetests/tests/{path})")
        };
        let examples = match row.examples {
            Some([bad, good]) => format!("{}; without the defect: {}", link(bad), link(good)),
            None => "[exec_checks.rs](../crates/cli/tests/cli/exec_checks.rs)".to_owned(),
        };
        let _ = write!(
            out,
            "\n### {}\n\n{}\n\n- Cause: {}\n- Cure: {}\n- Example: {examples}\n",
            row.name, row.about, row.cause, row.cure
        );
    }
    out
}

/// The JSON Schema of reports.
#[must_use]
pub fn schema() -> Value {
    let names: Vec<&str> = KINDS.iter().map(|row| row.name).collect();
    let checks: Vec<&str> = Check::ALL.iter().map(|check| check.name()).collect();
    let text = json!({ "type": "string" });
    let count = json!({ "type": "integer", "minimum": 0 });
    let point = json!({ "type": "array", "items": count, "minItems": 3, "maxItems": 3 });
    let list = |of: &str| json!({ "type": "array", "items": { "$ref": format!("#/$defs/{of}") } });
    let object = |required: &[&str], properties: Value| json!({ "type": "object", "required": required, "properties": properties });
    let check_list = json!({ "type": "array", "items": { "enum": checks } });
    let inlined = object(
        &["function", "file", "line"],
        json!({ "function": text, "file": text, "line": count }),
    );
    let source = object(
        &["file", "line", "inlined"],
        json!({ "file": text, "line": count, "inlined": { "type": "array", "items": inlined } }),
    );
    let threads = object(
        &["block", "warp", "lanes", "threads"],
        json!({
            "block": point,
            "warp": count,
            "lanes": { "type": "array", "items": count },
            "threads": {
                "description": "The first and the last thread.",
                "type": ["array", "null"],
                "items": point,
            },
        }),
    );
    let access = object(
        &["access", "space", "address", "threads", "place"],
        json!({
            "access": { "enum": ["read", "write", "atomic"] },
            "space": { "enum": ["global", "shared", "local"] },
            "address": text,
            "value": text,
            "threads": { "$ref": "#/$defs/threads" },
            "place": { "$ref": "#/$defs/place" },
        }),
    );
    let place = object(
        &["text", "line"],
        json!({ "text": text, "line": { "type": ["integer", "null"] }, "source": source }),
    );
    let related = object(
        &["place", "message"],
        json!({ "place": { "$ref": "#/$defs/place" }, "message": text }),
    );
    let finding = object(
        &[
            "kind", "check", "severity", "kernel", "launch", "message", "place", "accesses",
            "causes", "cure", "count",
        ],
        json!({
            "kind": { "enum": names },
            "code": { "type": "string", "description": "The code of a fault or hang." },
            "check": { "enum": checks },
            "severity": { "enum": ["error", "warning", "note"] },
            "kernel": text,
            "launch": { "type": ["integer", "null"] },
            "message": text,
            "place": { "$ref": "#/$defs/place" },
            "threads": { "$ref": "#/$defs/threads" },
            "accesses": list("access"),
            "related": related,
            "causes": { "type": "array", "items": text },
            "cure": text,
            "count": count,
        }),
    );
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://simtlab.github.io/schemas/findings-1.json",
        "title": "Findings of a simtlab run",
        "description": "What `--report json` writes. Within a version keys are only ever added.",
        "type": "object",
        "required": [
            "schema", "version", "simtlab", "program", "checks", "incomplete", "exit_code", "findings",
            "suppressed", "omitted",
        ],
        "properties": {
            "schema": { "const": FINDINGS_SCHEMA_NAME },
            "version": { "const": FINDINGS_VERSION },
            "simtlab": text,
            "program": text,
            "checks": check_list,
            "incomplete": {
                "description": "Checks that could not follow everything.",
                "type": "array",
                "items": { "enum": checks },
            },
            "exit_code": count,
            "findings": list("finding"),
            "suppressed": list("finding"),
            "omitted": {
                "description": "Findings beyond those that are kept, by kind.",
                "type": "object",
                "propertyNames": { "enum": names },
                "additionalProperties": count,
            },
        },
        "$defs": { "finding": finding, "access": access, "place": place, "threads": threads },
    })
}
