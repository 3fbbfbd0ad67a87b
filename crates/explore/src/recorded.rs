//! Recorded schedules: where a launch goes on otherwise than in the canonical schedule.
//!
//! The text form, which `simtlab run --schedule FILE` reads:
//!
//! ```text
//! simtlab-schedule 1
//! mechanism serial
//! warp-size 32
//! order taken
//! launch 0 block 0 thread 3 step 5 -> block 0 thread 32
//! ```
//!
//! The last line says: before the path with thread 3 of block 0 executes its sixth instruction
//! through which threads affect each other, in the first launch, the path with thread 32 runs. `#`
//! begins a comment. Everything that is not said is as in the canonical schedule.

use std::fmt;

use isa::{Diagnostic, Diagnostics, FileId, Span};
use vm::Choice;

/// Most lines of a schedule.
const MOST_LINES: usize = 1 << 20;

/// A choice other than that of the canonical schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Deviation {
    /// The launch, from 0.
    pub launch: usize,
    /// What the canonical schedule would do.
    pub instead_of: Choice,
    /// Interacting instructions that this path has executed before, in this launch.
    pub step: u64,
    /// What is done.
    pub choice: Choice,
}

impl fmt::Display for Deviation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { launch, instead_of, step, choice } = self;
        write!(f, "launch {launch} {instead_of} step {step} -> {choice}")
    }
}

/// A recorded schedule of the launches of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedSchedule {
    /// The convergence mechanism.
    pub mechanism: String,
    /// Lanes of an issue group.
    pub warp_size: u64,
    /// Which side of a divergent branch runs first, if it is not the mechanism's default.
    pub order: Option<String>,
    /// The choices, in the order in which they are made.
    pub deviations: Vec<Deviation>,
}

impl fmt::Display for RecordedSchedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "simtlab-schedule 1")?;
        writeln!(f, "mechanism {}", self.mechanism)?;
        writeln!(f, "warp-size {}", self.warp_size)?;
        if let Some(order) = &self.order {
            writeln!(f, "order {order}")?;
        }
        self.deviations.iter().try_for_each(|deviation| writeln!(f, "{deviation}"))
    }
}

impl RecordedSchedule {
    /// Reads the text form.
    ///
    /// # Errors
    /// Returns a diagnostic for the first line that is not of it.
    pub fn parse(file: FileId, text: &str) -> Result<Self, Diagnostics> {
        let mut out = Self::default();
        let mut start = 0;
        let mut version = false;
        for (number, line) in text.split_inclusive('\n').enumerate() {
            let content = line.split('#').next().unwrap_or_default().trim();
            let span = Span::new(file, start, start + line.trim_end().len() as u32);
            start += line.len() as u32;
            let read = match content {
                "" => Ok(()),
                _ if number >= MOST_LINES => Err(format!("more than {MOST_LINES} lines")),
                "simtlab-schedule 1" if !version => {
                    version = true;
                    Ok(())
                }
                _ if !version => Err("the first line is `simtlab-schedule 1`".to_owned()),
                content => out.line(content),
            };
            if let Err(message) = read {
                return Err(wrong(Diagnostic::error("schedule::form", message).at(span, "")));
            }
        }
        if out.mechanism.is_empty() || out.warp_size == 0 {
            let message = "a schedule has lines `mechanism NAME` and `warp-size N`";
            return Err(wrong(Diagnostic::error("schedule::form", message)));
        }
        Ok(out)
    }

    fn line(&mut self, content: &str) -> Result<(), String> {
        let (word, rest) = content.split_once(' ').unwrap_or((content, ""));
        let rest = rest.trim();
        match word {
            "mechanism" => rest.clone_into(&mut self.mechanism),
            "warp-size" => {
                self.warp_size = rest.parse().map_err(|_| "`warp-size` takes a number")?;
            }
            "order" => self.order = Some(rest.to_owned()),
            "launch" => self.deviations.push(
                deviation(rest)
                    .ok_or("a choice is `launch N block N thread N step N -> block N thread N`")?,
            ),
            _ => return Err("a line is a `launch`, `mechanism`, `warp-size` or `order`".to_owned()),
        }
        Ok(())
    }
}

fn deviation(text: &str) -> Option<Deviation> {
    let (before, choice) = text.split_once("->")?;
    let (before, step) = before.split_once(" step ")?;
    let (launch, instead_of) = before.trim().split_once(' ')?;
    Some(Deviation {
        launch: launch.parse().ok()?,
        instead_of: instead_of.parse().ok()?,
        step: step.trim().parse().ok()?,
        choice: choice.parse().ok()?,
    })
}

fn wrong(finding: Diagnostic) -> Diagnostics {
    let mut found = Diagnostics::new();
    found.push(finding);
    found
}
