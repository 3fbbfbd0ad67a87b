//! Runs of executable graphs.

use std::sync::Arc;

use cuda_abi::{CUgraphConditionalNodeType, Outcome, Status};

use super::{Step as End, act, allocation, condition};
use crate::failure;
use crate::state::Driver;
use crate::state::action::Action;
use crate::state::pending::{ClientCall, Work};
use crate::state::plan::{Frame, Run, Step};

/// The maximum number of rounds of a loop; one with more is taken to hang.
const MOST_ROUNDS: u32 = 1 << 22;

/// Does the work of a run up to its end, to a call of the client, or to work that waits.
pub(super) fn proceed(d: &mut Driver, context: u64, mut run: Run) -> Outcome<End> {
    if let Some((conditions, frees)) = run.start.take()
        && let Some(frame) = run.frames.first()
    {
        allocation::begin(d, &frame.plan, frees)?;
        condition::begin(d, &conditions)?;
    }
    if let Some(held) = run.held.take() {
        match super::start(d, context, *held)? {
            End::Done => {}
            other => return Ok(hold(run, other)),
        }
    }
    while let Some(frame) = run.frames.last_mut() {
        let plan = Arc::clone(&frame.plan);
        let Some(step) = plan.get(frame.next) else {
            leave(d, context, &mut run)?;
            continue;
        };
        frame.next += 1;
        if !step.enabled {
            continue;
        }
        match &step.action {
            Action::Call { function, data } => {
                let call = ClientCall::Host { function: *function, data: *data };
                return Ok(End::Calls { call, then: Some(Work::Run(run)) });
            }
            Action::Graph(_) => enter(&mut run, step, 0, None),
            Action::Conditional(work) => {
                let value = condition::value(d, work.condition)?;
                let repeats = work.kind == CUgraphConditionalNodeType::WHILE;
                if let Some(body) = work.chosen(value) {
                    enter(&mut run, step, body, repeats.then_some(work.condition));
                }
            }
            action => match act(d, context, action)? {
                End::Done => {}
                other => return Ok(hold(run, other)),
            },
        }
    }
    Ok(End::Done)
}

/// Keeps work of a step that has not been done.
fn hold(mut run: Run, end: End) -> End {
    match end {
        End::Done => End::Done,
        End::Waits(work) => {
            run.held = Some(Box::new(work));
            End::Waits(Work::Run(run))
        }
        End::Calls { call, then } => {
            run.held = then.map(Box::new);
            End::Calls { call, then: Some(Work::Run(run)) }
        }
    }
}

/// Begins one of the plans of a step.
fn enter(run: &mut Run, step: &Step, index: usize, repeats: Option<u64>) {
    if let Some(plan) = step.inner.get(index) {
        let plan = Arc::clone(plan);
        run.frames.push(Frame { plan, next: 0, repeats, rounds: 0 });
    }
}

/// Ends the innermost plan, or begins its next round.
fn leave(d: &mut Driver, context: u64, run: &mut Run) -> Outcome {
    let Some(mut frame) = run.frames.pop() else { return Ok(()) };
    let Some(condition) = frame.repeats else { return Ok(()) };
    if condition::value(d, condition)? == 0 {
        return Ok(());
    }
    if frame.rounds == MOST_ROUNDS {
        return Err(hangs(d, context));
    }
    (frame.next, frame.rounds) = (0, frame.rounds + 1);
    run.frames.push(frame);
    Ok(())
}

/// Makes the context fail because a loop does not end.
fn hangs(d: &mut Driver, context: u64) -> Status {
    let text = format!(
        "the condition of a graph's loop is still not 0 after {MOST_ROUNDS} rounds, \
         so that the graph is taken to hang"
    );
    d.print_error(&text);
    failure::explain(text);
    if let Some(context) = d.contexts.get_mut(&context) {
        context.failed = Some(Status::LAUNCH_TIMEOUT);
    }
    Status::LAUNCH_TIMEOUT
}
