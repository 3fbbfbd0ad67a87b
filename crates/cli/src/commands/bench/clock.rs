//! The time of this thread on a processor, which other programs on the host do not lengthen.
#![cfg_attr(unix, allow(unsafe_code, reason = "the standard library does not tell it"))]

use std::time::Duration;

/// The time that this thread has run.
#[cfg(unix)]
pub(super) fn thread_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock exists, and the pointer is to a place for its time.
    match unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) } {
        0 => Duration::new(time.tv_sec as u64, time.tv_nsec as u32),
        _ => lab::run::wall_time(),
    }
}

/// The time that has passed: nothing tells more.
#[cfg(not(unix))]
pub(super) fn thread_time() -> Duration {
    lab::run::wall_time()
}
