//! Cases whose schedules are explored (`explore:`).

use explore::{Ending, Exploration, How, Plan};
use findings::Findings;
use inputs::launch::Located;
use isa::{Diagnostics, FileId, Span};
use machines::{Choice, HostThreads, Unmonitored};

use crate::file::{ExploreWords, TestFile};
use crate::runner::{Case, as_expected, in_short};

/// Schedules that a case may take under a mechanism and an order.
const MOST: u64 = 4_000;

impl Case {
    /// Explores, compares with what the case expects, and replays the schedules that were found.
    pub(crate) fn explore(
        &self,
        file: &TestFile,
        words: &ExploreWords,
    ) -> Result<Result<(), String>, Diagnostics> {
        let nowhere = Span::new(FileId::default(), 0, 0);
        let run = |mechanism: &str| {
            let mechanism = Located { value: mechanism.to_owned(), span: nowhere };
            let size = Located { value: self.isa().default_warp_size, span: nowhere };
            self.job(file, mechanism, size, (Choice::Exact, None, HostThreads::up_to(1)))
        };
        let mut job = run(self.isa().mechanisms[0].name)?;
        let mechanisms = match words.mechanisms.is_empty() {
            true => explore::default_mechanisms(&job),
            false => words.mechanisms.clone(),
        };
        let how = match words.exhaustive {
            true => How::Exhaustive(words.preemptions),
            false => How::Random,
        };
        let schedules = words.schedules.unwrap_or(MOST);
        let plan = Plan { mechanisms, order: None, how, schedules, seed: 0 };
        let Some(found) = explore::explore(&mut job, &plan, &mut Unmonitored)? else {
            return Ok(Err("the exploration was interrupted".to_owned()));
        };
        let table = explore::to_text(&found);
        let findings: Findings = explore::conclude(&found);
        if let Some(expected) = &file.findings {
            let found = in_short(&findings);
            if !as_expected(&found, expected) {
                let message = format!("exploration finds {found:?}, expected {expected:?}");
                return Ok(Err(format!("{message}\n{table}")));
            }
        }
        if let Some(expected) = &words.outcomes {
            let outcomes = outcomes(&found);
            if outcomes != *expected {
                return Ok(Err(format!(
                    "outcomes are `{outcomes}`, expected `{expected}`\n{table}"
                )));
            }
        }
        for schedule in found.witnesses() {
            let text = schedule.to_string();
            let read = explore::RecordedSchedule::parse(FileId::default(), &text)?;
            if read != *schedule {
                return Ok(Err(format!("the text form is not read back as it was:\n{text}")));
            }
            let again = found.agrees(&mut job, &read, &mut Unmonitored)?;
            if !again {
                return Ok(Err(format!("replayed, the schedule ends otherwise:\n{text}")));
            }
        }
        Ok(Ok(()))
    }
}

/// How many different results, hangs and faults there are.
fn outcomes(found: &Exploration) -> String {
    let classes = || found.rows.iter().flat_map(|row| &row.classes).map(|class| class.outcome);
    let count = |ending: Ending| {
        let mut all: Vec<_> = classes()
            .filter(|outcome| outcome.ending == ending)
            .map(|outcome| (outcome.code, outcome.line, outcome.result))
            .collect();
        all.sort_unstable();
        all.dedup();
        all.len()
    };
    let mut parts = vec![format!("{} results", count(Ending::Done))];
    for (ending, name) in [(Ending::Hang, "hangs"), (Ending::Fault, "faults")] {
        if count(ending) > 0 {
            parts.push(format!("{} {name}", count(ending)));
        }
    }
    if found.rows.iter().all(|row| row.complete) {
        parts.push("complete".to_owned());
    }
    parts.join(", ")
}
