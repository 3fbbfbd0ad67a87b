//! Does the work of streams and graphs.

pub(crate) mod allocation;
pub(crate) mod condition;
mod launch;
pub(crate) mod order;
mod pinned;
mod run;
pub(crate) mod transfer;
mod wait_value;

use std::time::Instant;

use cuda_abi::{Outcome, Status};

use crate::profile;
use crate::state::Driver;
use crate::state::action::Action;
use crate::state::pending::{ClientCall, Work};
use crate::state::stream::EventState;

/// How far work has come.
pub(crate) enum Step {
    Done,
    /// It waits for memory to change; this is what is left.
    Waits(Work),
    /// The client's function is to be called, without the driver's lock, and then the rest done.
    Calls {
        call: ClientCall,
        then: Option<Work>,
    },
}

/// Does work as far as it goes now.
pub(crate) fn start(d: &mut Driver, context: u64, work: Work) -> Outcome<Step> {
    match work {
        Work::Action(action) => act(d, context, &action),
        Work::Run(run) => run::proceed(d, context, run),
        Work::Launch(held) => launch::resume(d, context, held),
        Work::Record { event, number } => {
            // The client may have destroyed the event.
            if let Some(event) = d.events.get_mut(&event) {
                event.finish(number);
            }
            Ok(Step::Done)
        }
        Work::Await { event, number } => {
            let is_done = d.events.get(&event).is_none_or(|event| event.is_done(number));
            Ok(if is_done { Step::Done } else { Step::Waits(Work::Await { event, number }) })
        }
        Work::Call(call) => Ok(Step::Calls { call, then: None }),
        Work::Calling { .. } => Ok(Step::Waits(work)),
    }
}

/// Does an action as far as it goes now.
fn act(d: &mut Driver, context: u64, action: &Action) -> Outcome<Step> {
    let begun = profile::now();
    match action {
        Action::Launch(launch) => return launch::run(d, context, launch),
        Action::Copy(copy) => {
            transfer::copy_bytes(d, copy.to, copy.from, copy.len)?;
            profile::copied(d, context, (copy.to, copy.from), copy.len, begun);
        }
        Action::Box(copy) => {
            transfer::copy_box(d, copy)?;
            profile::copied_box(d, context, copy, begun);
        }
        Action::Fill(rows) => {
            transfer::fill_rows(d, rows)?;
            profile::filled(d, context, rows, begun);
        }
        Action::Boxes(copies) => {
            for copy in copies {
                let begun = profile::now();
                transfer::copy_box(d, copy)?;
                profile::copied_box(d, context, copy, begun);
            }
        }
        Action::Allocate { address, len, device, devices } => {
            allocation::allocate(d, context, (*address, *len), (*device, *devices))?;
        }
        Action::Free(address) => allocation::free(d, *address)?,
        Action::Record(event) => record(d, *event)?,
        Action::Wait(event) => {
            let number = d.events.get(event).map_or(0, EventState::requested);
            return start(d, context, Work::Await { event: *event, number });
        }
        Action::WaitValue(condition) => {
            if !wait_value::holds(d, condition)? {
                return Ok(Step::Waits(Work::Action(action.clone())));
            }
        }
        Action::Call { function, data } => {
            let call = ClientCall::Host { function: *function, data: *data };
            return Ok(Step::Calls { call, then: None });
        }
        // The run of a graph chooses the work of graphs in nodes.
        Action::Graph(_) | Action::Conditional(_) | Action::Nothing => {}
    }
    Ok(Step::Done)
}

/// Records an event now.
fn record(d: &mut Driver, event: u64) -> Outcome {
    let event = d.events.get_mut(&event).ok_or(Status::INVALID_HANDLE)?;
    (event.at, event.point) = (Some(Instant::now()), None);
    Ok(())
}
