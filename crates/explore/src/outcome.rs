//! How runs end, and which end alike.

use std::hash::{Hash, Hasher};

use lab::run::VariantRun;
use machines::End;
use rustc_hash::FxHasher;

/// How a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ending {
    /// All launches end.
    Done,
    /// A launch faults.
    Fault,
    /// A launch hangs.
    Hang,
}

/// What tells runs apart: how the last launch ended and where, and what the run left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Outcome {
    /// How it ends.
    pub ending: Ending,
    /// Short name of the end: `done`, a trap's name, `deadlock`, `repeats`, `limit`.
    pub code: &'static str,
    /// The launch, from 0.
    pub launch: usize,
    /// The line of the program where it stops; that of the first waiting path, if it hangs.
    pub line: Option<u64>,
    /// A hash of buffers, variables and output of a run that ends.
    pub result: u64,
}

impl Outcome {
    /// Returns the outcome of a run; `None` if it was interrupted. Buffers in `multisets` count as
    /// sets of elements, and output as a set of lines.
    pub(crate) fn of(run: &VariantRun, multisets: &[String]) -> Option<Self> {
        let launch = run.ends.len().saturating_sub(1);
        let (ending, code, line) = match run.ends.last() {
            None | Some(End::Done) => (Ending::Done, "done", None),
            Some(End::Fault(stop)) => (Ending::Fault, stop.code, stop.line),
            Some(End::Hang(stop)) => (Ending::Hang, stop.code, None),
            Some(End::Differs(_) | End::Interrupted) => return None,
        };
        let result = if ending == Ending::Done { result(run, multisets) } else { 0 };
        Some(Self { ending, code, launch, line, result })
    }
}

impl Outcome {
    /// The outcome of a run whose last launch was stopped as all its paths spin.
    pub(crate) fn spun(run: &VariantRun) -> Self {
        let launch = run.ends.len().saturating_sub(1);
        Self { ending: Ending::Hang, code: "repeats", launch, line: None, result: 0 }
    }
}

fn result(run: &VariantRun, multisets: &[String]) -> u64 {
    let mut hasher = FxHasher::default();
    for buffer in &run.buffers {
        if multisets.contains(&buffer.name) {
            let mut elements: Vec<u64> = buffer.contents.iter().collect();
            elements.sort_unstable();
            elements.hash(&mut hasher);
        } else {
            buffer.contents.data().hash(&mut hasher);
        }
    }
    run.variables.iter().for_each(|(_, bytes)| bytes.hash(&mut hasher));
    let mut lines: Vec<&[u8]> = run.output.split(|&byte| byte == b'\n').collect();
    lines.sort_unstable();
    lines.hash(&mut hasher);
    hasher.finish()
}
