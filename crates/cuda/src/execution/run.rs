//! Runs of executable graphs.

use std::sync::Arc;

use cuda_abi::host::Ptr;
use cuda_abi::{CUgraphConditionalNodeType, Outcome, Status};

use super::act;
use crate::api::condition;
use crate::failure;
use crate::state::Driver;
use crate::state::action::Action;
use crate::state::plan::{Plan, Step};

/// The maximum number of rounds of a loop; one with more is taken to hang.
const MOST_ROUNDS: u32 = 1 << 22;

/// A plan that a run is in.
struct Frame {
    plan: Plan,
    /// The index of the next step.
    next: usize,
    /// The condition of the loop whose body the plan is.
    repeats: Option<u64>,
    rounds: u32,
}

/// A run of an executable graph in a context.
pub(crate) struct Run {
    context: u64,
    /// The plans that have begun and not ended, the outermost first.
    frames: Vec<Frame>,
}

impl Run {
    /// Begins a run.
    pub(crate) fn new(context: u64, plan: Plan) -> Self {
        Self { context, frames: vec![Frame { plan, next: 0, repeats: None, rounds: 0 }] }
    }

    /// Does the work up to the next call of the client, and returns its function and data; `None`
    /// at the end.
    pub(crate) fn proceed(&mut self, d: &mut Driver) -> Outcome<Option<(Ptr, Ptr)>> {
        while let Some(frame) = self.frames.last_mut() {
            let plan = Arc::clone(&frame.plan);
            let Some(step) = plan.get(frame.next) else {
                self.leave(d)?;
                continue;
            };
            frame.next += 1;
            if !step.enabled {
                continue;
            }
            match &step.action {
                Action::Call { function, data } => return Ok(Some((*function, *data))),
                Action::Graph(_) => self.enter(step, 0, None),
                Action::Conditional(work) => {
                    let value = condition::value(d, work.condition)?;
                    let repeats = work.kind == CUgraphConditionalNodeType::WHILE;
                    if let Some(body) = work.chosen(value) {
                        self.enter(step, body, repeats.then_some(work.condition));
                    }
                }
                action => act(d, self.context, action)?,
            }
        }
        Ok(None)
    }

    /// Begins one of the plans of a step.
    fn enter(&mut self, step: &Step, index: usize, repeats: Option<u64>) {
        if let Some(plan) = step.inner.get(index) {
            let plan = Arc::clone(plan);
            self.frames.push(Frame { plan, next: 0, repeats, rounds: 0 });
        }
    }

    /// Ends the innermost plan, or begins its next round.
    fn leave(&mut self, d: &mut Driver) -> Outcome {
        let Some(mut frame) = self.frames.pop() else { return Ok(()) };
        let Some(condition) = frame.repeats else { return Ok(()) };
        if condition::value(d, condition)? == 0 {
            return Ok(());
        }
        if frame.rounds == MOST_ROUNDS {
            return Err(self.hangs(d));
        }
        (frame.next, frame.rounds) = (0, frame.rounds + 1);
        self.frames.push(frame);
        Ok(())
    }

    /// Makes the context fail because a loop does not end.
    fn hangs(&self, d: &mut Driver) -> Status {
        let text = format!(
            "the condition of a graph's loop is still not 0 after {MOST_ROUNDS} rounds, so that the graph is taken to hang"
        );
        d.print_error(&text);
        failure::explain(text);
        if let Some(context) = d.contexts.get_mut(&self.context) {
            context.failed = Some(Status::LAUNCH_TIMEOUT);
        }
        Status::LAUNCH_TIMEOUT
    }
}
