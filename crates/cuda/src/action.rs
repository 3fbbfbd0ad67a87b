//! Work of streams and graphs as data, which can be done now or kept for later.

use std::sync::Arc;

use crate::copy::{BoxCopy, Copy, Fill};
use crate::driver::Driver;
use crate::host::Ptr;
use crate::launch::Launch;
use crate::status::Outcome;

/// A piece of work submitted to a stream.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    Launch(Launch),
    Copy(Copy),
    Box(BoxCopy),
    Fill(Fill),
    /// A call of the client's function with its data.
    Call {
        function: Ptr,
        data: Ptr,
    },
    /// All work of another graph, in this order.
    Graph(Arc<[(u64, Action)]>),
    /// Records an event.
    Record(u64),
    /// Waits for an event. The work before the event is always done already.
    Wait,
    Nothing,
}

impl Action {
    /// Does the work, except calls of the client: these are made without the driver's lock
    /// (`exports::free`).
    pub(crate) fn act(&self, d: &mut Driver, context: u64) -> Outcome {
        match self {
            Self::Launch(launch) => crate::launch::run(d, context, launch),
            Self::Copy(copy) => copy.run(d),
            Self::Box(copy) => copy.run(d),
            Self::Fill(fill) => fill.run(d),
            Self::Graph(actions) => actions.iter().try_for_each(|(_, a)| a.act(d, context)),
            Self::Record(event) => crate::event::record_now(d, *event),
            Self::Call { .. } | Self::Wait | Self::Nothing => Ok(()),
        }
    }

    /// Returns the `CUgraphNodeType` of a node with this work.
    pub(crate) fn kind(&self) -> i32 {
        match self {
            Self::Launch(_) => 0,
            Self::Copy(_) | Self::Box(_) => 1,
            Self::Fill(_) => 2,
            Self::Call { .. } => 3,
            Self::Graph(_) => 4,
            Self::Nothing => 5,
            Self::Wait => 6,
            Self::Record(_) => 7,
        }
    }
}
