//! Timeline of a run of the cycle-level model, in the Trace Event format.
//!
//! The process is the multiprocessor. Each warp slot has tracks, and each instruction is a slice
//! from fetch to write-back that contains a slice for each stage. Time is in cycles, which viewers
//! show as microseconds. A warp has several instructions in flight, so its slot gets as many tracks
//! as it needs: a slice goes to the first free one.

use ::prf::Op;
use ::prf::timing::State;
use ::prf::timing::flight::Stage;
use serde_json::{Value, json};

use super::super::listing::Listing;

/// Most tracks of a warp slot. More instructions are rarely in flight; the last track takes them.
const TRACKS: usize = 16;

/// The stages with a slice inside the instruction's slice.
const SLICES: [(&str, Stage, Stage); 5] = [
    ("fetch", Stage::Fetch, Stage::Cache),
    ("decode", Stage::Cache, Stage::Buffered),
    ("buffer", Stage::Buffered, Stage::Collecting),
    ("operands", Stage::Collecting, Stage::Dispatch),
    ("execute", Stage::Dispatch, Stage::Result),
];

/// Returns the events of a run.
pub(super) fn events(state: &State, listing: &Listing) -> Vec<Value> {
    let mut events = vec![json!({
        "ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": { "name": "multiprocessor" }
    })];
    let mut records: Vec<_> = state.records().iter().collect();
    records.sort_by_key(|r| r.times.at(Stage::Fetch));
    let mut free: Vec<Vec<u64>> = Vec::new();
    for record in records {
        let slot = record.slot as usize;
        if free.len() <= slot {
            free.resize(slot + 1, Vec::new());
        }
        let (from, to) = (record.times.at(Stage::Fetch), record.times.at(Stage::Written));
        let tracks = &mut free[slot];
        let track = match tracks.iter().position(|&until| until <= from) {
            Some(track) => track,
            None if tracks.len() < TRACKS => {
                tracks.push(0);
                let tid = slot * TRACKS + tracks.len() - 1;
                let name = format!("warp place {slot}");
                events.push(json!({
                    "ph": "M", "name": "thread_name", "pid": 1, "tid": tid, "args": { "name": name }
                }));
                tracks.len() - 1
            }
            None => TRACKS - 1,
        };
        tracks[track] = to;
        let tid = slot * TRACKS + track;
        let span = listing.span(record.pc.into());
        let text = span.and_then(|s| {
            let text = listing.text.as_ref()?.text();
            text.get(s.start as usize..s.end as usize).map(str::to_owned)
        });
        let name = text.unwrap_or_else(|| format!("{:?}", record.insn.op).to_lowercase());
        events.push(json!({
            "ph": "X", "name": name, "cat": "instruction", "pid": 1, "tid": tid,
            "ts": from, "dur": to - from,
            "args": {
                "pc": format!("{:#x}", record.pc),
                "line": span.and_then(|s| listing.line(s)),
                "block": record.block,
                "warp": record.warp,
                "unit": record.insn.op.unit().name(),
                "mask": format!("{:#x}", record.on.bits()),
                "lanes on": record.on.count(),
                "mux": match record.insn.op {
                    Op::Prsw => "predicate file to store data",
                    _ => "registers",
                },
                "write-back": record.port.name(),
            },
        }));
        for (name, begin, end) in SLICES {
            let (begin, end) = (record.times.at(begin), record.times.at(end));
            events.push(json!({
                "ph": "X", "name": name, "cat": "stage", "pid": 1, "tid": tid,
                "ts": begin, "dur": end - begin,
            }));
        }
        let (begin, end) = (record.times.at(Stage::Result), to);
        events.push(json!({
            "ph": "X", "name": "write-back", "cat": "stage", "pid": 1, "tid": tid,
            "ts": begin, "dur": end - begin,
        }));
    }
    if state.records_missed() > 0 {
        let name = format!("{} more instructions are left out", state.records_missed());
        let at = events.last().and_then(|e| e["ts"].as_u64()).unwrap_or(0);
        events.push(json!({ "ph": "i", "s": "g", "name": name, "pid": 1, "tid": 0, "ts": at }));
    }
    events
}
