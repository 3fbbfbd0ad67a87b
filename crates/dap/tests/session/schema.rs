//! The published schema of the protocol: every message is held against it.

use std::collections::BTreeMap;

use jsonschema::Validator;
use serde_json::{Value, json};

/// The definitions of messages; `schema/NOTICE` says where they are from.
const PROTOCOL: &str = include_str!("../schema/protocol.json");

/// Validators by the name of a definition.
pub(crate) struct Schema {
    definitions: Value,
    validators: BTreeMap<String, Validator>,
}

impl Schema {
    pub(crate) fn new() -> Self {
        let schema: Value = serde_json::from_str(PROTOCOL).expect("JSON");
        Self { definitions: schema["definitions"].clone(), validators: BTreeMap::new() }
    }

    /// Panics if a message is none of the protocol.
    pub(crate) fn check(&mut self, message: &Value) {
        let name = definition(message);
        let validator = self.validators.entry(name.clone()).or_insert_with(|| {
            assert!(self.definitions.get(&name).is_some(), "the protocol has no {name}: {message}");
            let schema = json!({
                "$schema": "http://json-schema.org/draft-04/schema#",
                "$ref": format!("#/definitions/{name}"),
                "definitions": self.definitions,
            });
            jsonschema::validator_for(&schema).expect("a usable schema")
        });
        let errors: Vec<String> = validator
            .iter_errors(message)
            .map(|error| format!("{} at {}", error, error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{name}: {errors:#?}\nin {message:#}");
    }
}

/// The name of the definition of a message: `setBreakpoints` is `SetBreakpointsRequest`.
fn definition(message: &Value) -> String {
    let text = |name: &str| message[name].as_str().unwrap_or_default();
    let (name, kind) = match text("type") {
        "request" => (text("command"), "Request"),
        "event" => (text("event"), "Event"),
        "response" if message["success"] == false => ("Error", "Response"),
        "response" => (text("command"), "Response"),
        other => panic!("`{other}` is no type of messages: {message}"),
    };
    let (first, rest) = name.split_at(name.chars().next().map_or(0, char::len_utf8));
    format!("{}{rest}{kind}", first.to_uppercase())
}

#[test]
fn messages_that_are_none_are_found() {
    let rejected = |message: Value| {
        let check = move || Schema::new().check(&message);
        std::panic::catch_unwind(check).is_err()
    };
    let stopped =
        |body: Value| json!({"seq": 1, "type": "event", "event": "stopped", "body": body});
    assert!(!rejected(stopped(json!({"reason": "step", "threadId": 1}))));
    assert!(rejected(stopped(json!({"threadId": 1}))));
    assert!(rejected(stopped(json!({"reason": "step", "threadID": 1}))));
    assert!(rejected(json!({"seq": 1, "type": "event", "event": "halted", "body": {}})));
}
