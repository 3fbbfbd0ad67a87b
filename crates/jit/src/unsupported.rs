//! A stand-in for the compiled tier on hosts that have none.

use crate::{Coverage, Refused};
use fast::{Declined, Finished, Kernel, LaunchObserver, Level};
use std::borrow::BorrowMut;
use vm::State;

/// A compiled kernel; has no values on this host.
#[derive(Debug)]
pub enum Compiled {}

impl Compiled {
    /// Returns the kernel.
    ///
    /// # Errors
    /// Always fails with [`Refused::Host`].
    pub fn new(kernel: Kernel, _: bool) -> Result<Self, (Kernel, Refused)> {
        Err((kernel, Refused::Host))
    }

    /// Returns the kernel.
    ///
    /// # Errors
    /// Always fails with [`Refused::Host`].
    pub fn at(kernel: Kernel, _: Level, _: bool) -> Result<Self, (Kernel, Refused)> {
        Err((kernel, Refused::Host))
    }

    /// Returns the kernel.
    ///
    /// # Errors
    /// Always fails with [`Refused::Host`].
    pub fn deferred(kernel: Kernel, _: Level, _: bool) -> Result<Self, (Kernel, Refused)> {
        Err((kernel, Refused::Host))
    }

    /// Never called.
    #[must_use]
    pub fn outcome(&self) -> Option<Result<Coverage, &Refused>> {
        match *self {}
    }

    /// Never called.
    ///
    /// # Errors
    /// Never fails.
    pub fn interpret(
        &self,
        _: impl BorrowMut<State<1>>,
        _: &mut dyn LaunchObserver,
        _: u64,
    ) -> Result<Finished, Declined> {
        match *self {}
    }

    /// Returns nothing.
    ///
    /// # Errors
    /// Always fails with [`Refused::Host`].
    pub fn listing(_: &Kernel, _: Level) -> Result<String, Refused> {
        Err(Refused::Host)
    }

    /// Returns nothing.
    ///
    /// # Errors
    /// Always fails with [`Refused::Host`].
    pub fn steps_left(_: &Kernel) -> Result<Vec<usize>, Refused> {
        Err(Refused::Host)
    }

    /// Never called.
    #[must_use]
    pub fn coverage(&self) -> Coverage {
        match *self {}
    }

    /// Never called.
    pub fn interpreted_steps(&self) -> impl Iterator<Item = (usize, &fast::code::Step)> {
        std::iter::empty()
    }

    /// Never called.
    #[must_use]
    pub fn code(&self) -> &[u8] {
        match *self {}
    }

    /// Never called.
    ///
    /// # Errors
    /// Never fails.
    pub fn run(
        &self,
        _: impl BorrowMut<State<1>>,
        _: &mut dyn LaunchObserver,
    ) -> Result<Finished, Declined> {
        match *self {}
    }
}
