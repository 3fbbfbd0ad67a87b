//! Lines of assembly, with jumps as near or far as they have to be.

use ir::LocId;
use rustc_hash::FxHashMap;
use std::fmt::Write;

/// Spill slots that one base register reaches: offsets are -32 to 31.
pub(super) const SLOTS_OF_BASE: u32 = 16;
/// Words that `jpnz` reaches in either direction, with a margin.
const REACH: usize = 1000;

/// An instruction.
#[derive(Clone, Debug)]
pub(super) struct Code {
    /// Without its predicate.
    pub(super) text: String,
    pub(super) pred: u8,
    /// The instruction of the IR that it stands for.
    pub(super) loc: LocId,
    /// Whether its packet goes on.
    pub(super) open: bool,
}

/// A line.
#[derive(Clone, Debug)]
pub(super) enum Line {
    Label(u32, String),
    Code(Code),
    /// To a label while the predicate has lanes.
    Jump(u8, u32),
}

/// The lines as text, and how many instructions they are; `source` is the line of the program at a
/// place, for comments.
pub(super) fn text(lines: &[Line], source: &dyn Fn(LocId) -> Option<String>) -> (String, usize) {
    let mut far = vec![false; lines.len()];
    loop {
        let places = places(lines, &far);
        let mut changed = false;
        for (i, line) in lines.iter().enumerate() {
            if let Line::Jump(_, to) = line
                && !far[i]
                && places.at[i].abs_diff(places.label.get(to).copied().unwrap_or(0)) > REACH
            {
                (far[i], changed) = (true, true);
            }
        }
        if !changed {
            return (print(lines, &far, source), places.end);
        }
    }
}

struct Places {
    at: Vec<usize>,
    label: FxHashMap<u32, usize>,
    end: usize,
}

fn places(lines: &[Line], far: &[bool]) -> Places {
    let mut places = Places { at: Vec::new(), label: FxHashMap::default(), end: 0 };
    for (line, &far) in lines.iter().zip(far) {
        places.at.push(places.end);
        match line {
            Line::Label(id, _) => {
                places.label.insert(*id, places.end);
            }
            Line::Code(..) => places.end += 1,
            Line::Jump(..) => places.end += if far { 3 } else { 1 },
        }
    }
    places
}

fn print(lines: &[Line], far: &[bool], source: &dyn Fn(LocId) -> Option<String>) -> String {
    let mut out = String::new();
    let mut last = LocId(0);
    for (i, (line, &far)) in lines.iter().zip(far).enumerate() {
        let _ = match line {
            Line::Label(id, name) => writeln!(out, "L{id}:    # {name}"),
            Line::Code(Code { text, pred, loc, open }) => {
                if *loc != last {
                    last = *loc;
                    if let Some(line) = source(*loc) {
                        let _ = writeln!(out, "    # {line}");
                    }
                }
                let guard = if *pred == 0 { String::new() } else { format!(" @p{pred}") };
                let packet = if *open { " !0,0" } else { "" };
                writeln!(out, "    {text}{guard}{packet}")
            }
            Line::Jump(pred, to) if !far => writeln!(out, "    jpnz p{pred}, L{to}"),
            // Over a jump that reaches further.
            Line::Jump(pred, to) => writeln!(
                out,
                "    jpnz p{pred}, F{i}\n    jal x0, G{i}\nF{i}:\n    jal x0, L{to}\nG{i}:"
            ),
        };
    }
    out
}
