//! Modules of random kernels: several at once, each with a worker of its own, because a driver's
//! compiler takes most of the time and uses one thread.

use isa::Diagnostics;
use machines::Unmonitored;

use super::{Session, keep_differing, prepare};
use crate::compare::{Comparison, compare, outline};
use crate::record::{RunEnd, RunRecord};
use crate::request::Request;
use crate::supervise;
use crate::verify::split::Blame;
use crate::verify::{Case, CaseResult, Plan, Suite, Verdict, VerifyError, random};

/// What came of a module.
enum Outcome {
    /// It cannot be run here, for this reason.
    Unprepared(String),
    /// It has run on the device, and here if there is something to compare.
    Ran(Box<RunRecord>, Option<Result<Comparison, Diagnostics>>),
}

impl Session<'_> {
    /// Runs the next modules, as many as the plan allows at once, and judges them in order.
    pub(super) fn modules(&mut self) -> Result<(), VerifyError> {
        let most = self.plan.jobs.max(1).min(self.plan.most.saturating_sub(self.recorded));
        let mut cases = Vec::with_capacity(most);
        while cases.len() < most
            && let Some(case) = self.cases.pop_front_if(|case| case.suite == Suite::Random)
        {
            cases.push(case);
        }
        self.pending = cases.len();
        let (plan, maker) = (self.plan, &self.maker);
        let outcomes: Vec<Result<Outcome, VerifyError>> = std::thread::scope(|scope| {
            let start = |case| scope.spawn(move || run(plan, maker, case));
            let threads: Vec<_> = cases.iter().map(start).collect();
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(panicked)).collect()
        });
        let mut failed = None;
        for (case, outcome) in cases.into_iter().zip(outcomes) {
            self.pending -= 1;
            let judged = match outcome {
                Ok(outcome) if failed.is_none() => self.judge_module(&case, outcome),
                Ok(_) => Ok(()),
                Err(error) => Err(error),
            };
            if let Err(error) = judged {
                failed.get_or_insert(error);
            }
        }
        failed.map_or(Ok(()), Err)
    }

    fn judge_module(&mut self, case: &Case, outcome: Outcome) -> Result<(), VerifyError> {
        let (mut record, comparison) = match outcome {
            Outcome::Ran(record, comparison) => (*record, comparison),
            Outcome::Unprepared(_) if self.split(case, Blame::Unknown)? => return Ok(()),
            Outcome::Unprepared(why) => return self.record(&CaseResult::unprepared(case, why)),
        };
        if self.set_apart(case, &record)? {
            return Ok(());
        }
        let result = match (&record.end, comparison) {
            (RunEnd::Refused { .. }, _) | (_, None) => CaseResult::refused(case, &record.end),
            (_, Some(Err(found))) => CaseResult::unprepared(case, super::text_of(&found)),
            (_, Some(Ok(mut comparison))) => {
                if !comparison.agrees() {
                    self.explain(case, &record, &mut comparison)?;
                }
                CaseResult::compared(case, &record, &comparison)
            }
        };
        keep_differing(case, &result, &mut record);
        if result.verdict == Verdict::Agrees {
            random::remove(case)?;
        }
        self.save(case, record)?;
        self.record(&result)
    }

    /// Looks at the first kernels that differ in a case of their own, which stays in the folder.
    fn explain(
        &mut self,
        case: &Case,
        record: &RunRecord,
        comparison: &mut Comparison,
    ) -> Result<(), VerifyError> {
        let (small, record) = random::differing(case, record, comparison);
        self.maker.write(&small)?;
        if let Ok((mut job, _)) = prepare(&small)
            && let Ok(found) = compare(&record, &mut job, self.monitor)
        {
            for buffer in found.buffers {
                let known = comparison.buffers.iter_mut().find(|b| b.name == buffer.name);
                if let Some(known) = known {
                    *known = buffer;
                }
            }
        }
        Ok(())
    }
}

/// The error for a thread that panicked.
fn panicked(_: Box<dyn std::any::Any + Send>) -> Result<Outcome, VerifyError> {
    Ok(Outcome::Unprepared("the comparison failed".to_owned()))
}

/// Makes a module, runs it on the device, and compares it.
fn run(plan: &Plan, maker: &random::Maker, case: &Case) -> Result<Outcome, VerifyError> {
    maker.write(case)?;
    let (mut job, run) = match prepare(case) {
        Ok(ready) => ready,
        Err(why) => return Ok(Outcome::Unprepared(why)),
    };
    let request = Request { choice: plan.choice.clone(), runs: vec![run] };
    let mut ended = None;
    supervise::run(&request, &plan.worker, plan.patience, &mut |_, record| {
        ended = Some(record);
        true
    })?;
    let Some(record) = ended else {
        return Ok(Outcome::Unprepared("the device gave nothing".to_owned()));
    };
    // A module that did not end is parted before it is compared.
    let is_compared = match record.end {
        RunEnd::Done => true,
        RunEnd::Refused { .. } => false,
        _ => case.parts.len() == 1,
    };
    let comparison = is_compared.then(|| outline(&record, &mut job, &mut Unmonitored));
    Ok(Outcome::Ran(Box::new(record), comparison))
}
