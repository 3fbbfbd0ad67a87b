//! Calls that fail: the journal is told of each, by the name that the client called.
//!
//! What a library above this one calls here is its own business: of its calls it tells by itself.

use std::cell::RefCell;

use runtime::Event;

use crate::call::is_within;
use crate::driver::{Driver, top};
use crate::status::Status;

thread_local! {
    /// What there is to say about the failure of the call that this thread is in.
    static NOTE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// A call begins, about which nothing is to be said yet.
pub(crate) fn clear() {
    NOTE.with_borrow_mut(|note| *note = None);
}

/// Says more about why the call fails.
pub(crate) fn explain(text: String) {
    NOTE.with_borrow_mut(|note| *note = Some(text));
}

/// Whether a status is an answer of a call rather than its failure: questions that may be asked,
/// what is told elsewhere, and what a fault before has left.
fn is_answer(d: &Driver, call: &str, status: Status) -> bool {
    let left = d.context(top()).ok().and_then(|context| context.failed);
    match status {
        Status::SUCCESS | Status::NOT_READY | Status::NOT_SUPPORTED => true,
        Status::INVALID_VALUE => call.starts_with("cuPointerGetAttribute"),
        Status::INVALID_CONTEXT => call == "cuCtxGetDevice",
        _ => left == Some(status),
    }
}

/// Tells of a call of this library that has failed.
pub(crate) fn tell(d: &Driver, call: &str, status: Status, arguments: &dyn Fn() -> String) {
    if !is_within() && d.has_journal() && !is_answer(d, call, status) {
        let name = status.name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        tell_of(d, call.to_owned(), status.0, name, arguments());
    }
}

/// Tells of a call of a library above this one.
pub(crate) fn tell_of(d: &Driver, call: String, status: i32, name: String, arguments: String) {
    let note = NOTE.with_borrow_mut(Option::take);
    let process = std::process::id();
    d.tell(&Event::Failed { process, call, arguments, status, name, note });
}
