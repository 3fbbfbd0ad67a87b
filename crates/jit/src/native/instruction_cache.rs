//! Instructions that have just been written, for processors whose caches do not know of them.

use std::arch::asm;

/// Bytes of the shortest cache line that a processor of this architecture may have.
const LINE: usize = 16;

/// Has all processors of this process fetch instructions from memory again. Code is at addresses
/// that no thread has executed, and threads come to it by way of a lock, so that none has fetched
/// other instructions from there.
pub(super) fn clear(code: &[u8]) {
    for at in code.iter().step_by(LINE) {
        // SAFETY: the address is one of memory that is mapped; the instruction changes no contents.
        unsafe { asm!("dc cvau, {}", in(reg) at, options(nostack, preserves_flags)) };
    }
    // SAFETY: barriers.
    unsafe { asm!("dsb ish", options(nostack, preserves_flags)) };
    for at in code.iter().step_by(LINE) {
        // SAFETY: as above.
        unsafe { asm!("ic ivau, {}", in(reg) at, options(nostack, preserves_flags)) };
    }
    // SAFETY: barriers.
    unsafe { asm!("dsb ish", "isb", options(nostack, preserves_flags)) };
}
