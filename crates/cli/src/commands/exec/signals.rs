//! Signals that ask a process to end. This process records them, so that it can forward them.
#![allow(unsafe_code, reason = "the standard library has neither handlers of signals nor `kill`")]

/// The number of a signal.
pub(super) type Signal = i32;

#[cfg(unix)]
mod unix {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::Signal;

    /// The recorded signals, as a bit set by number.
    static RECEIVED: AtomicU32 = AtomicU32::new(0);

    /// Signals that ask a process to end.
    const ENDING: [Signal; 4] = [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM];

    extern "C" fn record(signal: libc::c_int) {
        RECEIVED.fetch_or(1 << signal, Ordering::SeqCst);
    }

    /// Starts recording signals that ask this process to end. Signals that were ignored at its
    /// start remain ignored. Programs that it starts do not inherit the handler.
    pub(in super::super) fn catch() {
        for signal in ENDING {
            // SAFETY: the handler only sets a bit of an atomic word, which is async-signal-safe.
            let before = unsafe { libc::signal(signal, record as *const () as libc::sighandler_t) };
            if before == libc::SIG_IGN {
                // SAFETY: restores the disposition that was in effect before the call above.
                unsafe { libc::signal(signal, libc::SIG_IGN) };
            }
        }
    }

    /// Returns the signals recorded since the last call.
    pub(in super::super) fn take() -> impl Iterator<Item = Signal> {
        let noted = RECEIVED.swap(0, Ordering::SeqCst);
        ENDING.into_iter().filter(move |signal| noted & (1 << signal) != 0)
    }

    /// Returns whether a terminal sends this signal to all processes of its foreground job.
    pub(in super::super) fn is_of_terminals(signal: Signal) -> bool {
        matches!(signal, libc::SIGINT | libc::SIGQUIT | libc::SIGHUP)
    }

    /// Sends a signal to a process, or to a process group if the number is negative; signal 0 only
    /// checks. Returns whether the process or group exists.
    pub(in super::super) fn send(process: i32, signal: Signal) -> bool {
        // SAFETY: the call accesses no memory of this process.
        unsafe { libc::kill(process, signal) == 0 }
    }

    /// The signal that no process can ignore.
    pub(in super::super) const KILL: Signal = libc::SIGKILL;

    /// Returns the name of a signal.
    pub(in super::super) fn name(signal: Signal) -> &'static str {
        match signal {
            libc::SIGABRT => "SIGABRT",
            libc::SIGBUS => "SIGBUS",
            libc::SIGFPE => "SIGFPE",
            libc::SIGHUP => "SIGHUP",
            libc::SIGILL => "SIGILL",
            libc::SIGINT => "SIGINT",
            libc::SIGKILL => "SIGKILL",
            libc::SIGQUIT => "SIGQUIT",
            libc::SIGSEGV => "SIGSEGV",
            libc::SIGTERM => "SIGTERM",
            _ => "a signal",
        }
    }
}

#[cfg(unix)]
pub(super) use unix::{KILL, catch, is_of_terminals, name, send, take};

/// On other systems the program receives the interrupt too; this process has to survive it.
#[cfg(not(unix))]
pub(super) fn catch() {
    let _ = ctrlc::set_handler(|| {});
}

#[cfg(not(unix))]
pub(super) fn name(_: Signal) -> &'static str {
    "a signal"
}
