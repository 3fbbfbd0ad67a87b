//! The results of runs.

use inputs::array::Array;
use isa::{Diagnostic, Diagnostics, Span};
use machines::{End, Schedule};

use super::memory::MemoryContents;
use crate::stats::RunStats;

/// A buffer after a run.
#[derive(Clone, Debug, PartialEq)]
pub struct FinalBuffer {
    /// Its name.
    pub name: String,
    /// Its contents.
    pub contents: Array,
}

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Report {
    /// Warnings about arguments.
    pub warnings: Vec<Diagnostic>,
    /// Statistics of all launches that were started.
    pub stats: RunStats,
    /// The schedule of each of them.
    pub schedules: Vec<Schedule>,
    /// The end of each of them.
    pub ends: Vec<End>,
    /// All buffers, including those created for arguments.
    pub buffers: Vec<FinalBuffer>,
    /// The parts of guest memory that were requested, in the order of the requests; the error is
    /// the reason that a part is not there.
    pub memory: Vec<Result<MemoryContents, String>>,
    /// Output that the kernels printed.
    pub output: Vec<u8>,
    /// The results of the applicable expectations. Empty if the run was interrupted, the engines
    /// differ, or a fault or hang was not expected.
    pub checks: Vec<CheckOutcome>,
    /// Number of expectations for other mechanisms or warp sizes.
    pub skipped_checks: usize,
    /// Whether an expectation names the fault or hang in which the last launch ended.
    pub expected_end: bool,
}

/// The overall result of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All launches ended as expected, and all expectations are met.
    Met,
    /// An expectation is not met, or the result depends on an order that the machine leaves open.
    Unmet,
    /// A fault or hang that no expectation names.
    Stopped,
    /// The results of the machine's engines differ.
    Differs,
    /// Stopped by the user.
    Interrupted,
}

impl Report {
    /// Returns everything that was not as expected: warnings about arguments, launches that hung
    /// and were run again, an unexpected fault or hang, differences between the engines, and unmet
    /// expectations.
    #[must_use]
    pub fn findings(&self) -> Diagnostics {
        let mut found = Diagnostics::new();
        self.warnings.iter().for_each(|warning| found.push(warning.clone()));
        for launch in &self.stats.launches {
            if let Some(again) = launch.retried {
                let message = format!(
                    "kernel `{}` hangs under {}; it has run again under {again}, where every lane goes on",
                    launch.kernel, self.stats.mechanism
                );
                found.push(Diagnostic::warning("run::retried", message));
            }
        }
        if let (false, Some(End::Fault(stop) | End::Hang(stop))) =
            (self.expected_end, self.ends.last())
        {
            found.push(stop.report.clone());
        }
        if let Some(End::Differs(stop)) = self.ends.last() {
            found.push(stop.report.clone());
        }
        self.checks.iter().filter(|c| !c.passed).for_each(|c| found.push(unmet(c)));
        found
    }

    /// Returns the overall result.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match self.ends.last() {
            Some(End::Interrupted) => Verdict::Interrupted,
            Some(End::Differs(_)) => Verdict::Differs,
            Some(End::Fault(stop)) if !self.expected_end && stop.is_verdict() => Verdict::Unmet,
            Some(End::Fault(_) | End::Hang(_)) if !self.expected_end => Verdict::Stopped,
            _ if self.checks.iter().all(|c| c.passed) => Verdict::Met,
            _ => Verdict::Unmet,
        }
    }

    /// Returns the buffer of this name.
    #[must_use]
    pub fn buffer(&self, name: &str) -> Option<&Array> {
        self.buffers.iter().find(|b| b.name == name).map(|b| &b.contents)
    }
}

/// The result of checking an expectation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckOutcome {
    /// Whether the expectation is met.
    pub passed: bool,
    /// What was checked, or, in one or more lines, what differs.
    pub text: String,
    /// The expectation's place in the launch file.
    pub span: Span,
}

/// Turns an unmet expectation into a diagnostic at its place in the launch file.
#[must_use]
fn unmet(check: &CheckOutcome) -> Diagnostic {
    let mut lines = check.text.lines();
    let message = lines.next().unwrap_or("an expectation is not met");
    let mut finding = Diagnostic::error("expect::unmet", message).at(check.span, "expected here");
    let rest: Vec<&str> = lines.map(str::trim_start).collect();
    if !rest.is_empty() {
        finding = finding.note(rest.join("\n"));
    }
    finding
}
