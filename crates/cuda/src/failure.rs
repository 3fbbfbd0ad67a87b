//! Records failed calls in the event log, by the name of the function that the client called.
//!
//! A library on top of this one, such as the CUDA runtime's, announces when it enters and leaves a
//! call of its own. Failures of its calls of this library are not recorded; it reports its own call
//! instead.

use std::cell::RefCell;
use std::mem::ManuallyDrop;

use cuda_abi::{Arguments, Status};
use runtime::{Event, Faults};

use crate::state::Driver;
use crate::state::calls::is_within;
use crate::state::current::top;

thread_local! {
    /// An explanation of the failure of the call that this thread is in. It is never destroyed:
    /// destructors of a C++ program call this library when the thread's variables are gone.
    static EXPLANATION: RefCell<ManuallyDrop<Option<String>>> =
        const { RefCell::new(ManuallyDrop::new(None)) };
}

/// Drops the explanation, because a call begins.
pub(crate) fn clear() {
    EXPLANATION.with_borrow_mut(|note| **note = None);
}

/// Sets an explanation of the call's failure.
pub(crate) fn explain(text: String) {
    EXPLANATION.with_borrow_mut(|note| **note = Some(text));
}

/// Returns whether a status is a regular answer rather than a failure: a query that may miss, an
/// error that is recorded elsewhere, or one left by an earlier fault.
fn is_answer(d: &Driver, call: &str, status: Status) -> bool {
    let left = d.context(top()).ok().and_then(|context| context.failed);
    match status {
        Status::SUCCESS | Status::NOT_READY | Status::NOT_SUPPORTED => true,
        Status::INVALID_VALUE => call.starts_with("cuPointerGetAttribute"),
        Status::INVALID_CONTEXT => call == "cuCtxGetDevice",
        _ => left == Some(status) || d.settings.faults == Faults::Launch && status.is_sticky(),
    }
}

/// Records a failed call of this library.
pub(crate) fn record(d: &Driver, call: &str, status: Status, arguments: Arguments<'_>) {
    if !is_within() && d.has_event_log() && !is_answer(d, call, status) {
        let name =
            status.driver_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        record_call(d, call.to_owned(), status.0, name, arguments.text());
    }
}

/// Records a failed call of a library on top of this one.
pub(crate) fn record_call(d: &Driver, call: String, status: i32, name: String, arguments: String) {
    let note = EXPLANATION.with_borrow_mut(|note| note.take());
    let process = std::process::id();
    d.log(&Event::Failed { process, call, arguments, status, name, note });
}
