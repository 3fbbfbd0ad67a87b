//! Runs the PTX front end with enough stack and memory for any text.

use std::thread::Builder;

use crate::room;

/// Bytes of stack for reading and linking a text. Clients load modules from threads of their own,
/// whose stacks may be small. Parsers limit nesting, so this is enough for any text.
const STACK: usize = 16 << 20;

/// An upper bound of the bytes that reading, lowering and linking allocate per byte of text. Texts
/// of large libraries take about 30.
const BYTES_PER_BYTE: u64 = 48;
/// Bytes that they allocate for any text.
const BASE: u64 = (STACK as u64) + (16 << 20);

/// Returns whether the process can allocate the memory to load texts of `bytes` bytes in all, as
/// far as the system limits it. The front end aborts the process if an allocation fails.
#[must_use]
pub fn room_for_text(bytes: usize) -> bool {
    let needed = BYTES_PER_BYTE.saturating_mul(bytes as u64).saturating_add(BASE);
    room().is_none_or(|room| room >= needed)
}

/// Runs work on a stack of a known size; `None` if there is no thread to be had for it.
pub fn on_own_stack<T: Send>(work: impl FnOnce() -> T + Send) -> Option<T> {
    std::thread::scope(|scope| {
        let thread = Builder::new().name("simtlab-load".to_owned()).stack_size(STACK);
        let thread = thread.spawn_scoped(scope, work).ok()?;
        match thread.join() {
            Ok(done) => Some(done),
            // The caller may catch it.
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}
