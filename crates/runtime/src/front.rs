//! Where texts are read: on a stack and in memory that suffice for any text.

use std::thread::Builder;

/// Bytes of stack for reading and linking a text: clients load modules from threads of their own, whose stacks may be small. What
/// nests is limited by [`ptx::ast::MAX_DEPTH`], so this is enough for any text.
const STACK: usize = 16 << 20;

/// Bytes that reading, lowering and linking take for a byte of text, at most: about 30 were measured for the texts of large libraries.
const BYTES_PER_BYTE: u64 = 48;
/// Bytes that they take beside that.
const BASE: u64 = (STACK as u64) + (16 << 20);

/// Whether the process has memory to load texts of so many bytes together, as far as its system limits it: what reads texts
/// allocates as it needs, and has no answer but abort when there is no more.
#[must_use]
pub fn room_for_text(bytes: usize) -> bool {
    let needed = BYTES_PER_BYTE.saturating_mul(bytes as u64).saturating_add(BASE);
    hostmem::room().is_none_or(|room| room >= needed)
}

/// Runs work on a stack of a known size; `None` if there is no thread to be had for it.
pub(crate) fn on_own_stack<T: Send>(work: impl FnOnce() -> T + Send) -> Option<T> {
    std::thread::scope(|scope| {
        let thread = Builder::new().name("simtlab-load".to_owned()).stack_size(STACK);
        let thread = thread.spawn_scoped(scope, work).ok()?;
        match thread.join() {
            Ok(done) => Some(done),
            // A mistake here is told as one, where the caller can catch it.
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}
