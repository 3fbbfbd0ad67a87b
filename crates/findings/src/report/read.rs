//! Reads findings from their form in JSON reports. Spans are not part of it.

use places::{InlinedCall, Site, Source};
use serde_json::Value;
use simt::observe::{AccessKind, Space};

use crate::finding::{AccessRecord, Finding, Location};
use crate::kind::Kind;

/// Reads a finding as [`finding_to_json`](super::finding_to_json) writes it; `None` if the value
/// has another form.
#[must_use]
pub fn finding_from_json(value: &Value) -> Option<Finding> {
    let related = value.get("related");
    Some(Finding {
        kind: Kind::find(text(value, "kind")?).ok()?,
        code: text(value, "code").unwrap_or_default().to_owned().into(),
        kernel: text(value, "kernel")?.to_owned(),
        launch: value.get("launch")?.as_u64().and_then(|index| usize::try_from(index).ok()),
        message: text(value, "message")?.to_owned(),
        location: location(value.get("place")?)?,
        site: value.get("threads").and_then(site),
        accesses: list(value, "accesses")?.iter().map(access).collect::<Option<_>>()?,
        related: match related {
            Some(related) => {
                Some((location(related.get("place")?)?, text(related, "message")?.to_owned()))
            }
            None => None,
        },
        causes: list(value, "causes")?
            .iter()
            .map(|cause| cause.as_str().map(str::to_owned))
            .collect::<Option<_>>()?,
        cure: text(value, "cure")?.to_owned(),
        count: value.get("count")?.as_u64()?,
    })
}

fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key)?.as_str()
}

fn list<'v>(value: &'v Value, key: &str) -> Option<&'v Vec<Value>> {
    value.get(key)?.as_array()
}

fn number(value: &Value) -> Option<u32> {
    u32::try_from(value.as_u64()?).ok()
}

fn location(value: &Value) -> Option<Location> {
    let source = value.get("source").map(source);
    Some(Location {
        text: text(value, "text")?.into(),
        line: value.get("line").and_then(number),
        span: None,
        source: match source {
            Some(source) => Some(source?),
            None => None,
        },
    })
}

fn source(value: &Value) -> Option<Source> {
    let call = |call: &Value| {
        Some(InlinedCall {
            function: text(call, "function")?.into(),
            file: text(call, "file")?.into(),
            line: number(call.get("line")?)?,
        })
    };
    Some(Source {
        file: text(value, "file")?.into(),
        line: number(value.get("line")?)?,
        inlined: list(value, "inlined")?.iter().map(call).collect::<Option<_>>()?,
    })
}

fn point(value: &Value) -> Option<[u64; 3]> {
    let list: Vec<u64> = value.as_array()?.iter().map(Value::as_u64).collect::<Option<_>>()?;
    list.try_into().ok()
}

fn site(value: &Value) -> Option<Site> {
    let threads = match value.get("threads").and_then(Value::as_array).map(Vec::as_slice) {
        Some([first, last]) => Some([point(first)?, point(last)?]),
        _ => None,
    };
    Some(Site {
        block: point(value.get("block")?)?,
        warp: number(value.get("warp")?)?,
        lanes: list(value, "lanes")?.iter().map(number).collect::<Option<_>>()?,
        threads,
    })
}

/// Reads a number as `{:#x}` writes it.
fn bits(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

fn access(value: &Value) -> Option<AccessRecord> {
    Some(AccessRecord {
        kind: match text(value, "access")? {
            "read" => AccessKind::Load,
            "write" => AccessKind::Store,
            _ => AccessKind::Atomic,
        },
        space: match text(value, "space")? {
            "shared" => Space::Shared,
            "local" => Space::Local,
            _ => Space::Global,
        },
        address: bits(text(value, "address")?)?,
        value: text(value, "value").and_then(bits),
        site: site(value.get("threads")?)?,
        location: location(value.get("place")?)?,
    })
}
