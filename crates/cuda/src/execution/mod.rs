//! Does the work of streams and graphs.

mod launch;
pub(crate) mod run;
pub(crate) mod transfer;

use std::time::Instant;

use cuda_abi::{Outcome, Status};

use crate::api::graph_memory;
use crate::state::Driver;
use crate::state::action::Action;

/// Does an action, except calls of the client: these are made without the driver's lock
/// (`exports::callbacks`).
pub(crate) fn act(d: &mut Driver, context: u64, action: &Action) -> Outcome {
    match action {
        Action::Launch(launch) => launch::run(d, context, launch),
        Action::Copy(copy) => transfer::copy_bytes(d, copy.to, copy.from, copy.len),
        Action::Box(copy) => transfer::copy_box(d, copy),
        Action::Fill(rows) => transfer::fill_rows(d, rows),
        Action::Boxes(copies) => copies.iter().try_for_each(|copy| transfer::copy_box(d, copy)),
        Action::Allocate { address, len } => graph_memory::allocate(d, context, *address, *len),
        Action::Free(address) => graph_memory::free(d, *address),
        Action::Record(event) => record(d, *event),
        // The run of a graph chooses the work of graphs in nodes.
        Action::Graph(_) | Action::Conditional(_) => Ok(()),
        Action::Call { .. } | Action::Wait(_) | Action::Nothing => Ok(()),
    }
}

/// Records an event now.
fn record(d: &mut Driver, event: u64) -> Outcome {
    let event = d.events.get_mut(&event).ok_or(Status::INVALID_HANDLE)?;
    (event.at, event.point) = (Some(Instant::now()), None);
    Ok(())
}
