//! Verdicts on runs under a mechanism.
//!
//! The reference is fair serial execution: every thread executes its own program, and none waits
//! for ever for its turn. A mechanism has to leave the same memory, unless the kernel races or
//! observes the schedule.

use converge::Charges;
use inputs::array::Array;
use inputs::elem::format_bits;
use isa::Diagnostic;
use lab::run::VariantRun;
use machines::End;

/// The overall result of a run under a mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// Completed, with the results of the reference.
    Ok,
    /// Completed with other memory or output, and the kernel executed instructions that expose the
    /// schedule.
    OrderDependent,
    /// The kernel has a data race, so mechanisms may legitimately differ.
    Racy,
    /// Did not end.
    Hang,
    /// Faulted.
    Fault,
    /// Completed with other memory or output although the kernel neither races nor observes the
    /// schedule: the mechanism is wrong for it. Or completed with the same results, but the
    /// mechanism used rejoin points that some lanes do not pass.
    Unsound,
    /// The mechanism or the warp size does not support the kernel.
    Unsupported,
}

impl Verdict {
    /// All verdicts.
    pub const ALL: [Self; 7] = [
        Self::Ok,
        Self::OrderDependent,
        Self::Racy,
        Self::Hang,
        Self::Fault,
        Self::Unsound,
        Self::Unsupported,
    ];

    /// Returns the name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::OrderDependent => "order-dependent",
            Self::Racy => "racy",
            Self::Hang => "hang",
            Self::Fault => "fault",
            Self::Unsound => "unsound",
            Self::Unsupported => "unsupported",
        }
    }
}

/// Codes of faults by which a mechanism rejects a kernel.
const REFUSALS: [&str; 2] = ["lanes-part", "mechanism"];

/// Describes splits whose rejoin point not all paths pass, if there were any.
pub(super) fn expectation(charges: &Charges) -> Option<Diagnostic> {
    if charges.unsound_splits == 0 {
        return None;
    }
    let message = format!(
        "at {} of {} splits lanes are expected to meet at the next instruction, which not all ways from there pass",
        charges.unsound_splits, charges.splits
    );
    let note = "the lanes that jump over it run apart to their end; a barrier or collective that they reach would hang";
    Some(Diagnostic::error("compare::rejoin", message).note(note))
}

/// Returns the verdict that follows from the end of a run, with its diagnostic; `None` if all
/// launches completed.
pub(super) fn of_end(run: &VariantRun) -> Option<(Verdict, Diagnostic)> {
    match run.ends.last() {
        Some(End::Hang(stop)) => Some((Verdict::Hang, stop.report.clone())),
        Some(End::Fault(stop)) if REFUSALS.contains(&stop.code) => {
            Some((Verdict::Unsupported, stop.report.clone()))
        }
        Some(End::Fault(stop)) => Some((Verdict::Fault, stop.report.clone())),
        _ => None,
    }
}

/// A difference of memory or output from the reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The buffer or variable, or `output`.
    pub what: String,
    /// Place and kind of the difference, in one line.
    pub text: String,
}

/// Returns all differences between two completed runs, the second of which is called `of`. Buffers
/// in `multisets` are compared as multisets.
#[must_use]
pub fn differences(
    run: &VariantRun,
    reference: &VariantRun,
    multisets: &[String],
    of: &str,
) -> Vec<Difference> {
    let mut out = Vec::new();
    for (got, want) in run.buffers.iter().zip(&reference.buffers) {
        let loose = multisets.contains(&got.name);
        if let Some(text) = buffers_differ(&got.contents, &want.contents, loose, of) {
            out.push(Difference { what: got.name.clone(), text });
        }
    }
    for ((name, got), (_, want)) in run.variables.iter().zip(&reference.variables) {
        if let Some(at) = got.iter().zip(want).position(|(a, b)| a != b) {
            out.push(Difference { what: name.clone(), text: format!("first at byte {at}") });
        }
    }
    if run.output != reference.output {
        let sorted = |output: &[u8]| {
            let mut lines: Vec<Vec<u8>> =
                output.split(|&b| b == b'\n').map(<[u8]>::to_vec).collect();
            lines.sort_unstable();
            lines
        };
        let same = sorted(&run.output) == sorted(&reference.output);
        let text = if same { "the same lines in another order" } else { "other text" };
        out.push(Difference { what: "output".to_owned(), text: text.to_owned() });
    }
    out
}

fn buffers_differ(got: &Array, want: &Array, multiset: bool, of: &str) -> Option<String> {
    if got.data() == want.data() {
        return None;
    }
    if multiset {
        let sorted = |array: &Array| {
            let mut all: Vec<u64> = array.iter().collect();
            all.sort_unstable();
            all
        };
        return (sorted(got) != sorted(want)).then(|| "other elements".to_owned());
    }
    let show = |bits| format_bits(got.ty(), bits);
    let mut parted = (0..).zip(got.iter().zip(want.iter())).filter(|(_, (a, b))| a != b);
    let Some((at, (a, b))): Option<(u64, (u64, u64))> = parted.next() else {
        return Some("bytes beyond whole elements".to_owned());
    };
    let more = parted.count();
    let more = if more == 0 { String::new() } else { format!(", and {more} more") };
    Some(format!("[{at}] is {}, {of} {}{more}", show(a), show(b)))
}
