//! Places of code as JSON.

use machines::probe::Place;
use places::{InlinedCall, Source, shown_file};
use serde_json::{Value, json};

/// Renders a place: its text, line, and source line.
#[must_use]
pub fn place_json(place: &Place) -> Value {
    json!({
        "text": &*place.text,
        "line": place.line,
        "source": place.source.as_ref().map(source),
    })
}

/// Renders a source line with its inlined calls; files as reports show them.
fn source(source: &Source) -> Value {
    let call = |c: &InlinedCall| json!({ "function": &*c.function, "file": shown_file(&c.file), "line": c.line });
    let inlined: Value = source.inlined.iter().map(call).collect();
    json!({ "file": shown_file(&source.file), "line": source.line, "inlined": inlined })
}
