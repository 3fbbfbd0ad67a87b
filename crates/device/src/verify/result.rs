//! What came of a case, as a line of `results.jsonl`.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Case, VerifyError, at};
use crate::compare::{BufferComparison, Comparison};
use crate::record::{RunEnd, RunRecord};

/// The file in a folder of results.
pub(crate) const FILE: &str = "results.jsonl";

/// A case in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// All bits agree.
    Agrees,
    /// Bits differ, and no instruction showed the program its schedule.
    Differs,
    /// Bits differ, and the program may have seen its schedule.
    DiffersBySchedule,
    /// One of the two faulted, hung or ended, and the other did not.
    EndsDiffer,
    /// The device or its driver does not take the program.
    Refused,
    /// The case cannot be run here.
    NotRun,
    /// It has run, and its numbers are reported. Those that are compared are near to ours.
    Measured,
    /// It has run, and a ratio of its times is far from that of our issues.
    TimingDiffers,
}

impl Verdict {
    /// Its name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Differs => "differs",
            Self::DiffersBySchedule => "differs by schedule",
            Self::EndsDiffer => "ends differ",
            Self::Refused => "refused",
            Self::NotRun => "not run",
            Self::Measured => "measured",
            Self::TimingDiffers => "timing differs",
        }
    }

    /// Whether device and simulator contradict each other.
    #[must_use]
    pub const fn is_difference(self) -> bool {
        matches!(self, Self::Differs | Self::DiffersBySchedule | Self::EndsDiffer)
    }

    /// Whether reports list it among the differences: times far from ours, too, although no result
    /// is wrong.
    #[must_use]
    pub const fn is_listed(self) -> bool {
        self.is_difference() || matches!(self, Self::TimingDiffers)
    }

    /// How much a difference says: what cannot be explained by a schedule comes first, times come
    /// last. A share of up to 1000 is added.
    const fn weight(self) -> u64 {
        match self {
            Self::EndsDiffer => 6000,
            Self::Differs => 4000,
            Self::DiffersBySchedule => 2000,
            Self::TimingDiffers => 500,
            Self::Agrees | Self::Refused | Self::NotRun | Self::Measured => 0,
        }
    }
}

/// What differs in one buffer of a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Differing {
    /// The buffer, or the instruction that it stands for.
    pub what: String,
    /// Elements compared.
    pub elements: usize,
    /// How many differ.
    pub differing: usize,
    /// The largest distance in units in the last place, of floats.
    pub max_ulp: Option<u64>,
    /// The first differences, in words.
    pub text: String,
}

/// What came of a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseResult {
    /// The case.
    pub name: String,
    /// Its suite.
    pub suite: String,
    /// In one word.
    pub verdict: Verdict,
    /// Buffers, or instructions, compared.
    pub compared: usize,
    /// Elements compared.
    pub elements: usize,
    /// How many differ.
    pub differing: usize,
    /// Where reports list it: the larger the earlier.
    pub rank: u64,
    /// How it ended on both sides, where not all launches ended by themselves.
    pub end: Option<String>,
    /// How it ended on the device, if not by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// What differs: what a run has explained first, then by the number of elements.
    pub differences: Vec<Differing>,
    /// What else was found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Milliseconds in launches.
    pub ms: f32,
}

impl Differing {
    /// One number that differs, with both values in words.
    pub(super) fn number(what: String, values: &str) -> Self {
        let text = format!("{what}\n{values}");
        Self { what, elements: 1, differing: 1, max_ulp: None, text }
    }
}

impl CaseResult {
    pub(super) fn new(case: &Case, verdict: Verdict) -> Self {
        Self {
            name: case.name.clone(),
            suite: case.suite.name().to_owned(),
            verdict,
            compared: 0,
            elements: 0,
            differing: 0,
            rank: 0,
            end: None,
            device: None,
            differences: Vec::new(),
            notes: Vec::new(),
            ms: 0.0,
        }
    }

    pub(super) fn unprepared(case: &Case, why: String) -> Self {
        Self { end: Some(why), ..Self::new(case, Verdict::NotRun) }
    }

    pub(super) fn refused(case: &Case, end: &RunEnd) -> Self {
        let parts = case.parts.iter().map(|part| format!("{part} "));
        let end = parts.collect::<String>() + &end.line();
        Self { end: Some(end), ..Self::new(case, Verdict::Refused) }
    }

    pub(super) fn measured(case: &Case, record: &RunRecord, notes: Vec<String>) -> Self {
        let ms = record.launches.iter().map(|l| l.ms).sum();
        let device = (record.end != RunEnd::Done).then(|| record.end.line());
        Self { notes, ms, device, ..Self::new(case, Verdict::Measured) }
    }

    /// A result with other differences than those of buffers, of so many numbers compared.
    pub(super) fn with_differences(
        self,
        verdict: Verdict,
        compared: usize,
        differences: Vec<Differing>,
    ) -> Self {
        let differing = differences.len();
        let share = (1000 * differing as u64).checked_div(compared as u64).unwrap_or(0);
        let verdict = if differing == 0 { self.verdict } else { verdict };
        let rank = if differing == 0 { 0 } else { verdict.weight() + share };
        Self { verdict, compared, elements: compared, differing, rank, differences, ..self }
    }

    pub(super) fn compared(case: &Case, record: &RunRecord, comparison: &Comparison) -> Self {
        let verdict = match comparison {
            c if c.agrees() => Verdict::Agrees,
            c if !c.ends_agree => Verdict::EndsDiffer,
            c if !c.schedule.is_empty() && !case.suite.is_determinate() => {
                Verdict::DiffersBySchedule
            }
            _ => Verdict::Differs,
        };
        let (elements, differing) = comparison.elements();
        // A share of all elements in thousandths: what is wrong everywhere is found before what is
        // wrong in one place.
        let share = (1000 * differing as u64).checked_div(elements as u64).unwrap_or(0);
        let ended = record.end == RunEnd::Done && comparison.ends_agree;
        let end = format!("device: {}; ours: {}", record.end.line(), comparison.ours);
        let end = if ended { comparison.hung.clone() } else { Some(end) };
        let mut differ: Vec<_> = comparison.buffers.iter().filter(|b| !b.agrees()).collect();
        differ.sort_by_key(|b| std::cmp::Reverse((b.is_explained(), b.differing)));
        Self {
            compared: comparison.buffers.len(),
            elements,
            differing,
            rank: verdict.weight() + share,
            end,
            device: (record.end != RunEnd::Done).then(|| record.end.line()),
            differences: differ.into_iter().map(|buffer| differing_of(case, buffer)).collect(),
            ms: record.launches.iter().map(|l| l.ms).sum(),
            ..Self::new(case, verdict)
        }
    }
}

fn differing_of(case: &Case, buffer: &BufferComparison) -> Differing {
    let label = case.labels.iter().find(|(name, _)| *name == buffer.name);
    Differing {
        what: label.map_or(&buffer.name, |(_, label)| label).clone(),
        elements: buffer.elements,
        differing: buffer.differing,
        max_ulp: buffer.max_ulp,
        text: buffer.text(),
    }
}

/// The results in a folder. A last line that was cut short is left out: its case is run again.
pub(crate) fn read(folder: &Path) -> Result<Vec<CaseResult>, VerifyError> {
    let path = folder.join(FILE);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(at(&path)(error)),
    };
    let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
    if whole.len() < text.len() {
        std::fs::write(&path, whole).map_err(at(&path))?;
    }
    let parse = |(number, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|e| VerifyError::Damaged {
            path: path.display().to_string(),
            why: format!("line {}: {e}", number + 1),
        })
    };
    whole.lines().enumerate().map(parse).collect()
}
