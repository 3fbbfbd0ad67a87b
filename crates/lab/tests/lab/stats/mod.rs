//! What pages and schemas say of counters and metrics is made from their declaration.
//!
//! `SIMTLAB_BLESS=1` rewrites it.

mod reports;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use simt::counts::{Counter, Counts, METRICS, Unit};
use simt::slots::SlotCause;

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// Compares a file with what it should be, or rewrites it.
fn check(name: &str, expected: &str) {
    let path = docs().join(name);
    if std::env::var_os("SIMTLAB_BLESS").is_some() {
        std::fs::write(&path, expected).expect("can write");
    }
    let kept = std::fs::read_to_string(&path).expect("is there");
    assert!(kept == expected, "docs/{name} is not current: run this test with SIMTLAB_BLESS=1");
}

/// Compares a schema with the same one after a change, or rewrites it.
fn check_schema(name: &str, change: impl FnOnce(&mut Value)) {
    let name = format!("schemas/{name}.schema.json");
    let kept = std::fs::read_to_string(docs().join(&name)).expect("is there");
    let mut schema = serde_json::from_str(&kept).expect("JSON");
    change(&mut schema);
    check(&name, &format!("{schema:#}\n"));
}

fn names() -> Vec<&'static str> {
    METRICS.iter().map(|metric| metric.name).collect()
}

/// Adds properties to a schema of an object; those that are there keep their places.
fn add(object: &mut Value, name: &str, property: Value) {
    object["properties"][name] = property;
}

/// Requires a property of an object.
fn require(object: &mut Value, name: &str) {
    let required = object["required"].as_array_mut().expect("a list");
    if !required.iter().any(|known| known == name) {
        required.push(json!(name));
    }
}

fn count() -> Value {
    json!({ "type": "integer", "minimum": 0 })
}

fn count_of(counter: Counter) -> Value {
    let mut count = count();
    count["description"] = json!(counter.about);
    count
}

#[test]
fn the_page_lists_every_metric() {
    const HEAD: &str = "| name | unit | definition |\n|---|---|---|\n";
    let page = std::fs::read_to_string(docs().join("statistics.md")).expect("is there");
    let (before, rest) = page.split_once(HEAD).expect("a table");
    let (_, after) = rest.split_once("\n\n").expect("text below the table");
    let mut table = String::new();
    for metric in METRICS.iter() {
        let (name, unit) = (metric.name, metric.unit.name());
        writeln!(table, "| `{name}` | {unit} | {} |", metric.definition).expect("a string");
    }
    check("statistics.md", &format!("{before}{HEAD}{table}\n{after}"));
}

#[test]
fn the_stats_schema_has_every_metric() {
    check_schema("stats", |schema| {
        let mut properties = Map::new();
        for metric in METRICS.iter() {
            let kind = if metric.unit == Unit::Count { "integer" } else { "number" };
            let mut property =
                json!({ "description": metric.definition, "type": kind, "minimum": 0 });
            if metric.unit == Unit::Percent {
                property["maximum"] = json!(100);
            }
            properties.insert(metric.name.to_owned(), property);
        }
        schema["$defs"]["metrics"]["properties"] = properties.into();
        schema["$defs"]["metrics"]["required"] = json!(names());
        let access = &mut schema["$defs"]["access"];
        for (counter, _) in Counts::default().traffic.counters() {
            add(access, counter.name, count_of(counter));
            require(access, counter.name);
        }
        for cause in SlotCause::ALL {
            add(&mut schema["$defs"]["lane_slots"], cause.name(), count());
            require(&mut schema["$defs"]["lane_slots"], cause.name());
        }
    });
}

#[test]
fn the_launch_schema_has_every_metric() {
    check_schema("launch", |schema| {
        schema["$defs"]["expect"]["properties"]["statistic"]["enum"] = json!(names());
    });
}

#[test]
fn the_compare_schema_has_every_charge() {
    check_schema("compare", |schema| {
        let row = &mut schema["$defs"]["row"]["properties"];
        for (counter, _) in Counts::default().charges.counters() {
            add(&mut row["charges"], counter.name, count());
        }
        for cause in SlotCause::ALL {
            add(&mut row["lane_slots"], cause.name(), count());
            require(&mut row["lane_slots"], cause.name());
        }
    });
}
