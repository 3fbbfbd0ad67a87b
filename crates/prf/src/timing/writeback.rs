//! Write-back: one result in a cycle for each register bank and for the predicate file.
//!
//! The mux after the result queues: results of comparisons and predicate loads go to the predicate
//! file, all others to the bank of their warp. In the published model the predicate port looks for
//! the identifier of register bank 0; then both choose the same queue, and two of its results are
//! written, or one.

use crate::timing::execute::Execute;
use crate::timing::flight::Flight;

/// The results that a port accepts from the heads of queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Port {
    Bank(usize),
    Predicate,
}

/// The port that an instruction needs.
fn port(flight: &Flight, shared: bool) -> Port {
    match (flight.insn.writes_predicate(), shared) {
        (true, true) => Port::Bank(0),
        (true, false) => Port::Predicate,
        (false, _) => Port::Bank(flight.slot % 2),
    }
}

/// The results that are written in the next cycle, and how many heads of queues have to wait.
#[allow(clippy::vec_box, reason = "instructions move between stages as one pointer")]
pub(crate) fn select(execute: &mut Execute, shared: bool) -> (Vec<Box<Flight>>, u64) {
    let predicate = if shared { Port::Bank(0) } else { Port::Predicate };
    let heads: Vec<(usize, usize, u64, Port)> = execute
        .heads()
        .map(|(unit, length, head)| (unit, length, head.times.0[6], port(head, shared)))
        .collect();
    if heads.is_empty() {
        return (Vec::new(), 0);
    }
    // The longest queue; of those the one whose head was dispatched first.
    let choose = |wanted: Port| {
        let fitting = heads.iter().filter(|(.., port)| *port == wanted);
        let best = fitting
            .min_by_key(|(_, length, dispatched, _)| (std::cmp::Reverse(*length), *dispatched));
        best.map(|(unit, ..)| *unit)
    };
    let chosen = [Port::Bank(0), Port::Bank(1), predicate].map(choose);
    let lost = heads.iter().filter(|(unit, ..)| !chosen.contains(&Some(*unit))).count();
    let selected = chosen.into_iter().flatten().filter_map(|unit| execute.pop(unit)).collect();
    (selected, lost as u64)
}
