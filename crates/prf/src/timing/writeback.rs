//! Write-back: one result in a cycle for each register bank and for the predicate file.
//!
//! The mux after the result queues: results of comparisons and predicate loads go to the predicate
//! file, all others to the bank of their warp. In the published model the predicate port looks for
//! the identifier of register bank 0; then both choose the same queue, and two of its results are
//! written, or one.

use crate::timing::execute::Execute;
use crate::timing::flight::Flight;

/// Where the mux behind the result queues sends a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Port {
    /// The register bank of even warps.
    Even,
    /// That of odd ones.
    Odd,
    /// The predicate file.
    Predicate,
}

impl Port {
    /// All ports.
    pub const ALL: [Self; 3] = [Self::Even, Self::Odd, Self::Predicate];

    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Even => "even bank",
            Self::Odd => "odd bank",
            Self::Predicate => "predicate file",
        }
    }

    /// The port of an instruction's result.
    pub(crate) fn of(flight: &Flight) -> Self {
        match (flight.insn.writes_predicate(), flight.slot % 2) {
            (true, _) => Self::Predicate,
            (false, 0) => Self::Even,
            (false, _) => Self::Odd,
        }
    }
}

/// The identifier by which ports look for an instruction's result.
fn port(flight: &Flight, shared: bool) -> Port {
    match Port::of(flight) {
        Port::Predicate if shared => Port::Even,
        port => port,
    }
}

/// The results that are written in the next cycle, and how many heads of queues have to wait.
#[allow(clippy::vec_box, reason = "instructions move between stages as one pointer")]
pub(crate) fn select(execute: &mut Execute, shared: bool) -> (Vec<Box<Flight>>, u64) {
    let predicate = if shared { Port::Even } else { Port::Predicate };
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
    let chosen = [Port::Even, Port::Odd, predicate].map(choose);
    let lost = heads.iter().filter(|(unit, ..)| !chosen.contains(&Some(*unit))).count();
    let selected = chosen.into_iter().flatten().filter_map(|unit| execute.pop(unit)).collect();
    (selected, lost as u64)
}
