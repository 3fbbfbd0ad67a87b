//! Work that streams have not done yet, because something before it waits: for memory that the host
//! or another stream is to change.
//!
//! All other work is done when the call that submits it returns.

use std::collections::BTreeMap;
use std::thread::ThreadId;

use cuda_abi::host::Ptr;
use cuda_abi::{Outcome, Status};
use runtime::{Shape, WaitingLaunch};

use super::action::Action;
use super::plan::Run;
use super::stream::LEGACY;

/// A call of the client's function.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ClientCall {
    /// A function with its data.
    Host { function: Ptr, data: Ptr },
    /// A function that receives the status of a stream, too.
    Stream { stream: u64, function: Ptr, data: Ptr },
}

/// A launch whose threads wait for memory to change.
#[derive(Debug)]
pub(crate) struct HeldLaunch {
    pub(crate) waiting: Box<WaitingLaunch>,
    pub(crate) function: u64,
    pub(crate) name: String,
    pub(crate) shape: Shape,
    /// Host memory that is mapped for the launch.
    pub(crate) shown: Vec<u64>,
    /// When it began, as the listener of a profiling tool says.
    pub(crate) begun: u64,
}

/// Work of a stream.
pub(crate) enum Work {
    Action(Action),
    /// A run of an executable graph.
    Run(Run),
    /// A launch that goes on when memory has changed.
    Launch(HeldLaunch),
    /// Records an event; its records are counted.
    Record {
        event: u64,
        number: u64,
    },
    /// Waits for a record of an event.
    Await {
        event: u64,
        number: u64,
    },
    /// A call of the client.
    Call(ClientCall),
    /// A call that runs now, with the work after it.
    Calling {
        ticket: u64,
        then: Option<Box<Self>>,
    },
}

/// Work in the order in which it was submitted.
pub(crate) struct Item {
    pub(crate) context: u64,
    pub(crate) stream: u64,
    /// Whether the stream and the null stream wait for each other.
    pub(crate) blocking: bool,
    pub(crate) work: Work,
}

impl Item {
    /// Returns whether work on a stream has to wait for this.
    pub(crate) fn holds(&self, context: u64, stream: u64, blocking: bool) -> bool {
        let is_null = |stream: u64| stream <= LEGACY;
        self.context == context
            && (self.stream == stream
                || is_null(self.stream) && is_null(stream)
                || is_null(self.stream) && blocking
                || is_null(stream) && self.blocking)
    }
}

/// All work that waits.
#[derive(Default)]
pub(crate) struct Pending {
    pub(crate) items: Vec<Item>,
    /// Errors of work that was done later, by context, until a call returns them.
    pub(crate) errors: BTreeMap<u64, Status>,
    /// The number of items that were done, so that a change can be seen.
    pub(crate) done: u64,
    /// Calls of the client, with their tickets, to make when the driver's lock is free.
    pub(crate) due: Vec<(ClientCall, u64)>,
    /// The thread that looks after the items.
    pub(crate) thread: Option<ThreadId>,
    next_ticket: u64,
}

impl Pending {
    /// Returns whether work on a stream has to wait.
    pub(crate) fn holds(&self, context: u64, stream: u64, blocking: bool) -> bool {
        self.items.iter().any(|item| item.holds(context, stream, blocking))
    }

    /// Returns whether a context has work that waits.
    pub(crate) fn has(&self, context: u64) -> bool {
        self.items.iter().any(|item| item.context == context)
    }

    /// Returns whether this thread is the only one of the process but for the one that looks after
    /// the items, and not that one.
    pub(crate) fn is_only_client(&self) -> bool {
        let is_client = self.thread != Some(std::thread::current().id());
        is_client && threads() <= 1 + usize::from(self.thread.is_some())
    }

    /// Returns a number for a call of the client.
    pub(crate) fn ticket(&mut self) -> u64 {
        self.next_ticket += 1;
        self.next_ticket
    }

    /// Returns the error of work that was done later, once.
    pub(crate) fn take_error(&mut self, context: u64) -> Outcome {
        self.errors.remove(&context).map_or(Ok(()), Err)
    }
}

/// Returns the number of threads of this process.
fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(usize::MAX, Iterator::count)
}
