//! Instructions that the test does not run, with the reasons.

use super::engines::Problem;
use super::form::{Form, Threads};

/// The outcome if an excluded instruction is run all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is refused with a message that contains this.
    Refused(&'static str),
    /// It does not end on the exact engine.
    Stopped,
    /// The fast engine declines it.
    Declined,
}

/// A set of excluded instructions.
pub(super) struct Exclusion {
    /// Returns whether a form belongs to the set.
    pub(super) covers: fn(&Form) -> bool,
    /// The reason for the exclusion.
    pub(super) reason: &'static str,
    fate: Fate,
}

impl Exclusion {
    pub(super) fn expects(&self, problem: &Problem) -> bool {
        match (self.fate, problem) {
            (Fate::Refused(part), Problem::Refused(what)) => what.contains(part),
            (Fate::Stopped, Problem::Stopped(_)) | (Fate::Declined, Problem::Declined(_)) => true,
            _ => false,
        }
    }
}

/// Returns whether an instruction is an atomic operation.
fn is_atomic(form: &Form) -> bool {
    matches!(form.opcode.as_str(), "atom" | "red")
}

/// Returns whether it accesses memory that cannot be written.
fn is_read_only(form: &Form) -> bool {
    ["const", "param", "param::entry"].iter().any(|space| form.has(space))
}

/// Returns whether it is an atomic operation in a state space that has them.
fn is_possible_atomic(form: &Form) -> bool {
    let nowhere = form.has("local") || form.has("param::func") || is_read_only(form);
    is_atomic(form) && !nowhere
}

pub(super) const EXCLUSIONS: &[Exclusion] = &[
    Exclusion {
        covers: |f| f.opcode == "bra",
        reason: "the example names a label that the kernel has not",
        fate: Fate::Refused("is not defined"),
    },
    Exclusion {
        covers: |f| f.opcode == "brx",
        reason: "the example names a table that the kernel has not",
        fate: Fate::Refused("the name of a `.branchtargets` list is needed"),
    },
    Exclusion {
        covers: |f| f.opcode == "call",
        reason: "the example names a function that is not there",
        fate: Fate::Refused("is not declared"),
    },
    Exclusion {
        covers: |f| ["ret", "exit", "trap", "brkpt"].contains(&f.opcode.as_str()),
        reason: "it ends the thread or the launch",
        fate: Fate::Stopped,
    },
    Exclusion {
        covers: |f| f.opcode == "alloca",
        reason: "the exact engine alone allocates local memory",
        fate: Fate::Declined,
    },
    Exclusion {
        covers: |f| f.has("param::func"),
        reason: "a kernel has no parameters of a function",
        fate: Fate::Refused("a kernel has no parameters of a function"),
    },
    Exclusion {
        covers: |f| is_atomic(f) && (is_read_only(f) || f.has("local")),
        reason: "no atomic operation works there",
        fate: Fate::Refused("atomic operations work on"),
    },
    Exclusion {
        covers: |f| f.opcode == "st" && is_read_only(f),
        reason: "this memory cannot be written",
        fate: Fate::Refused("cannot be written"),
    },
    Exclusion {
        covers: |f| is_possible_atomic(f) && f.operands.iter().any(|o| o.starts_with('{')),
        reason: "the exact engine alone has vector atomics",
        fate: Fate::Declined,
    },
    Exclusion {
        covers: |f| is_possible_atomic(f) && f.has("b128"),
        reason: "the exact engine alone has 128-bit atomics",
        fate: Fate::Declined,
    },
    Exclusion {
        covers: |f| f.opcode == "wgmma" && !f.has("wait_group"),
        reason: "some lanes of a warp alone wait for the others",
        fate: Fate::Stopped,
    },
    Exclusion {
        covers: |f| f.opcode == "barrier" && f.has("cluster"),
        reason: "a thread arrives once and waits once in each phase of the barrier of a cluster",
        fate: Fate::Stopped,
    },
    Exclusion {
        covers: |f| {
            let operands = f.operands.len() - usize::from(f.result().is_some());
            f.threads() == Threads::Block && !f.has("cluster") && f.has("red") && operands > 2
        },
        reason: "the exact engine alone has reductions at barriers of some threads",
        fate: Fate::Declined,
    },
];
