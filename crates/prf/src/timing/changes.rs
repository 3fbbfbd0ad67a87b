//! What changes in the registers and the predicate file, cycle by cycle: as a text, and as a value
//! change dump (IEEE 1364) beside the pipeline's stages, for comparison with other implementations.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use simt::mask::WarpMask;

use crate::exec::{Effect, LANES, Lanes};
use crate::timing::flight::{Record, Stage};
use crate::timing::writeback::Port;

/// A change of a warp's state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The cycle at whose end it holds.
    pub cycle: u64,
    /// The warp's slot on the multiprocessor.
    pub slot: u32,
    /// What changes.
    pub what: Changed,
}

/// What changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Changed {
    /// A warp gets the slot: p0 has all lanes, everything else is zero.
    Start {
        /// Its block.
        block: u32,
        /// Its index in the block.
        warp: u32,
        /// Its lanes.
        live: WarpMask,
    },
    /// A predicate register.
    Predicate {
        /// Its number.
        number: u8,
        /// Its value.
        mask: WarpMask,
    },
    /// A register.
    Register {
        /// Its number.
        number: u8,
        /// The lanes that are written.
        lanes: WarpMask,
        /// Their values.
        values: Box<[u32; LANES]>,
    },
    /// The lanes that have not ended.
    Live(WarpMask),
}

impl Changed {
    /// What an effect has changed, given the predicate and the live lanes after it.
    pub(crate) fn by(
        effect: &Effect,
        predicate: impl Fn(u8) -> WarpMask,
        live: WarpMask,
    ) -> Option<Self> {
        Some(match effect {
            Effect::None | Effect::Store { .. } | Effect::Register { rd: 0, .. } => return None,
            Effect::Register { rd, values, lanes } => {
                Self::Register { number: *rd, lanes: *lanes, values: values.clone() }
            }
            Effect::Predicate { pdst, .. } | Effect::Mask { pdst, .. } => {
                Self::Predicate { number: *pdst, mask: predicate(*pdst) }
            }
            Effect::Retire(_) => Self::Live(live),
        })
    }
}

/// Changes as text, one a line: cycle, slot, what.
#[must_use]
pub fn to_text(changes: &[Change], missed: u64) -> String {
    let mut out = String::from("# cycle slot change\n");
    for Change { cycle, slot, what } in changes {
        let _ = write!(out, "{cycle} {slot} ");
        let _ = match what {
            Changed::Start { block, warp, live } => {
                writeln!(out, "start block={block} warp={warp} live={:08x}", live.bits())
            }
            Changed::Predicate { number, mask } => writeln!(out, "p{number}={:08x}", mask.bits()),
            Changed::Live(mask) => writeln!(out, "live={:08x}", mask.bits()),
            Changed::Register { number, lanes, values } => {
                let _ = write!(out, "x{number} lanes={:08x}", lanes.bits());
                lanes.iter().for_each(|lane| {
                    let _ = write!(out, " {lane}:{:08x}", values[lane]);
                });
                writeln!(out)
            }
        };
    }
    if missed > 0 {
        let _ = writeln!(out, "# {missed} more changes are left out");
    }
    out
}

/// A signal of a dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Signal {
    /// A stage of the pipeline, and one of its fields.
    Stage(usize, usize),
    Live(u32),
    Predicate(u32, u8),
    Register(u32, u8),
}

/// The stages with signals, and how they are told from records.
const STAGES: [(&str, Stage, Option<Port>); 6] = [
    ("fetch", Stage::Fetch, None),
    ("decode", Stage::Decode, None),
    ("dispatch", Stage::Dispatch, None),
    ("write_even", Stage::Written, Some(Port::Even)),
    ("write_odd", Stage::Written, Some(Port::Odd)),
    ("write_predicate", Stage::Written, Some(Port::Predicate)),
];
/// Their fields, with the widths in bits.
const FIELDS: [(&str, usize); 4] = [("valid", 1), ("slot", 8), ("pc", 32), ("mask", 32)];

/// The value changes of a run: for each warp slot its live lanes, predicates, and the registers
/// that are written, 32 lanes side by side with lane 0 in the low bits; for each stage whether it
/// has an instruction, and which. A cycle is a nanosecond.
#[must_use]
pub fn to_vcd(changes: &[Change], records: &[Record], predicates: u8) -> String {
    let signals = signals(changes, predicates);
    let names: BTreeMap<Signal, String> =
        signals.iter().enumerate().map(|(index, signal)| (*signal, identifier(index))).collect();
    let mut out = String::from("$version Simtlab, prf $end\n$timescale 1 ns $end\n");
    declare(&mut out, &names);
    let mut events: BTreeMap<u64, BTreeMap<Signal, String>> = BTreeMap::new();
    stages(records, &mut events);
    let mut columns: BTreeMap<(u32, u8), Box<Lanes>> = BTreeMap::new();
    for change in changes {
        let at = events.entry(change.cycle).or_default();
        state(change, &mut columns, predicates, at);
    }
    out.push_str("$dumpvars\n");
    for name in names.values() {
        let _ = writeln!(out, "b0 {name}");
    }
    out.push_str("$end\n");
    for (cycle, values) in events {
        let _ = writeln!(out, "#{cycle}");
        for (signal, bits) in values {
            if let Some(name) = names.get(&signal) {
                let _ = writeln!(out, "b{bits} {name}");
            }
        }
    }
    out
}

fn signals(changes: &[Change], predicates: u8) -> BTreeSet<Signal> {
    let stages =
        (0..STAGES.len()).flat_map(|s| (0..FIELDS.len()).map(move |f| Signal::Stage(s, f)));
    let mut signals: BTreeSet<Signal> = stages.collect();
    for Change { slot, what, .. } in changes {
        signals.insert(Signal::Live(*slot));
        signals.extend((0..predicates).map(|number| Signal::Predicate(*slot, number)));
        if let Changed::Register { number, .. } = what {
            signals.insert(Signal::Register(*slot, *number));
        }
    }
    signals
}

/// A short name of printable characters.
fn identifier(mut index: usize) -> String {
    let mut name = String::new();
    loop {
        name.push(char::from(b'!' + (index % 94) as u8));
        index /= 94;
        if index == 0 {
            return name;
        }
    }
}

fn declare(out: &mut String, names: &BTreeMap<Signal, String>) {
    let mut open: Option<String> = None;
    for (signal, name) in names {
        let (scope, what, width) = match signal {
            Signal::Stage(stage, field) => {
                let (field, width) = FIELDS[*field];
                (STAGES[*stage].0.to_owned(), field.to_owned(), width)
            }
            Signal::Live(slot) => (format!("live{slot}"), "lanes".to_owned(), LANES),
            Signal::Predicate(slot, p) => (format!("predicates{slot}"), format!("p{p}"), LANES),
            Signal::Register(slot, x) => (format!("registers{slot}"), format!("x{x}"), 32 * LANES),
        };
        if open.as_ref() != Some(&scope) {
            if open.is_some() {
                out.push_str("$upscope $end\n");
            }
            let _ = writeln!(out, "$scope module {scope} $end");
            open = Some(scope);
        }
        let _ = writeln!(out, "$var wire {width} {name} {what} $end");
    }
    if open.is_some() {
        out.push_str("$upscope $end\n");
    }
    out.push_str("$enddefinitions $end\n");
}

/// What the stages hold: a stage without an instruction is not valid.
fn stages(records: &[Record], events: &mut BTreeMap<u64, BTreeMap<Signal, String>>) {
    for (stage, (_, passed, port)) in STAGES.iter().enumerate() {
        let there = records.iter().filter(|r| port.is_none_or(|port| r.port == port));
        let mut by_cycle: BTreeMap<u64, &Record> = BTreeMap::new();
        there.for_each(|record| {
            by_cycle.insert(record.times.at(*passed), record);
        });
        for (&cycle, record) in &by_cycle {
            let values = [1, u64::from(record.slot), u64::from(record.pc), record.on.bits()];
            for (field, value) in values.into_iter().enumerate() {
                let at = events.entry(cycle).or_default();
                at.insert(Signal::Stage(stage, field), format!("{value:b}"));
            }
            if !by_cycle.contains_key(&(cycle + 1)) {
                let at = events.entry(cycle + 1).or_default();
                at.insert(Signal::Stage(stage, 0), "0".to_owned());
            }
        }
    }
}

fn state(
    change: &Change,
    columns: &mut BTreeMap<(u32, u8), Box<Lanes>>,
    predicates: u8,
    at: &mut BTreeMap<Signal, String>,
) {
    let slot = change.slot;
    match &change.what {
        Changed::Start { live, .. } => {
            at.insert(Signal::Live(slot), format!("{:b}", live.bits()));
            for number in 0..predicates {
                let mask = if number == 0 { u32::MAX } else { 0 };
                at.insert(Signal::Predicate(slot, number), format!("{mask:b}"));
            }
            for (key, column) in columns.iter_mut().filter(|((of, _), _)| *of == slot) {
                **column = [0; LANES];
                at.insert(Signal::Register(slot, key.1), "0".to_owned());
            }
        }
        Changed::Predicate { number, mask } => {
            at.insert(Signal::Predicate(slot, *number), format!("{:b}", mask.bits()));
        }
        Changed::Live(mask) => {
            at.insert(Signal::Live(slot), format!("{:b}", mask.bits()));
        }
        Changed::Register { number, lanes, values } => {
            let column = columns.entry((slot, *number)).or_insert_with(|| Box::new([0; LANES]));
            lanes.iter().for_each(|lane| column[lane] = values[lane]);
            let bits: String = column.iter().rev().map(|value| format!("{value:032b}")).collect();
            at.insert(Signal::Register(slot, *number), bits);
        }
    }
}
