//! Ctrl-C while a launch runs.

use std::time::{Duration, Instant};

use machines::{LaunchMonitor, Progress};
use pyo3::prelude::*;

/// Time between two looks for signals.
const EVERY: Duration = Duration::from_millis(50);

/// Asks the interpreter for signals now and then; stops the launch if a handler raises. Notes which
/// engine runs.
pub(crate) struct Signals {
    next: Instant,
    /// What a handler has raised.
    pub(crate) raised: Option<PyErr>,
    /// The engine of the last launch, as it is told to people.
    pub(crate) engine: String,
}

impl Signals {
    pub(crate) fn new() -> Self {
        Self { next: Instant::now() + EVERY, raised: None, engine: String::new() }
    }
}

impl LaunchMonitor for Signals {
    fn poll(&mut self, _progress: Progress) -> bool {
        if self.raised.is_none() && Instant::now() >= self.next {
            self.raised = Python::attach(asked).err();
            self.next = Instant::now() + EVERY;
        }
        self.raised.is_none()
    }

    fn engine_selected(&mut self, engine: &str) {
        engine.clone_into(&mut self.engine);
    }
}

/// Lets handlers of signals run; gives what one of them raises.
pub(crate) fn asked(py: Python<'_>) -> PyResult<()> {
    py.check_signals()
}
