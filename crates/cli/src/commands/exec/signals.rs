//! Signals that ask a process to end: this one notes them, for whoever passes them on.
#![allow(unsafe_code, reason = "the standard library has neither handlers of signals nor `kill`")]

/// A signal that a process was sent, or is to be sent.
pub(super) type Signal = i32;

#[cfg(unix)]
mod unix {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::Signal;

    /// The signals that were noted, by number as bits.
    static NOTED: AtomicU32 = AtomicU32::new(0);

    /// Those that ask a process to end.
    const ENDING: [Signal; 4] = [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM];

    extern "C" fn note(signal: libc::c_int) {
        NOTED.fetch_or(1 << signal, Ordering::SeqCst);
    }

    /// Notes signals from now on that ask this process to end. Those that it was started to ignore
    /// stay ignored. Programs that it starts have no handler of them, as any other.
    pub(in super::super) fn catch() {
        for signal in ENDING {
            // SAFETY: the handler only sets a bit of an atomic word, which a handler may.
            let before = unsafe { libc::signal(signal, note as *const () as libc::sighandler_t) };
            if before == libc::SIG_IGN {
                // SAFETY: as it was a moment ago.
                unsafe { libc::signal(signal, libc::SIG_IGN) };
            }
        }
    }

    /// The signals noted since the last call.
    pub(in super::super) fn take() -> impl Iterator<Item = Signal> {
        let noted = NOTED.swap(0, Ordering::SeqCst);
        ENDING.into_iter().filter(move |signal| noted & (1 << signal) != 0)
    }

    /// Whether a terminal sends a signal to all processes of its foreground job.
    pub(in super::super) fn is_of_terminals(signal: Signal) -> bool {
        matches!(signal, libc::SIGINT | libc::SIGQUIT | libc::SIGHUP)
    }

    /// Sends a signal to a process, or to a group if the number is negative; 0 only asks. Whether
    /// there is one.
    pub(in super::super) fn send(process: i32, signal: Signal) -> bool {
        // SAFETY: the call has no memory of this process's to go wrong with.
        unsafe { libc::kill(process, signal) == 0 }
    }

    /// The signal that no process can refuse.
    pub(in super::super) const KILL: Signal = libc::SIGKILL;

    /// The name of a signal, where it has one that users know.
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

/// Elsewhere the program gets an interrupt, too, and this process stays.
#[cfg(not(unix))]
pub(super) fn catch() {
    let _ = ctrlc::set_handler(|| {});
}

#[cfg(not(unix))]
pub(super) fn name(_: Signal) -> &'static str {
    "a signal"
}
