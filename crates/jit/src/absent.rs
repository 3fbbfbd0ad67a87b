//! In the place of the compiled tier on hosts that have none.

use crate::{Coverage, Refused};
use fast::{Declined, Finished, GoOn, Kernel, Level};
use std::borrow::BorrowMut;
use vm::State;

/// A compiled kernel: there is none on this host.
#[derive(Debug)]
pub enum Compiled {}

impl Compiled {
    /// Gives the kernel back.
    ///
    /// # Errors
    /// Always.
    pub fn new(kernel: Kernel, _: bool) -> Result<Self, (Kernel, Refused)> {
        Err((kernel, Refused::Host))
    }

    /// Gives the kernel back.
    ///
    /// # Errors
    /// Always.
    pub fn at(kernel: Kernel, _: Level, _: bool) -> Result<Self, (Kernel, Refused)> {
        Err((kernel, Refused::Host))
    }

    /// Never called.
    #[must_use]
    pub fn coverage(&self) -> Coverage {
        match *self {}
    }

    /// Never called.
    pub fn left(&self) -> impl Iterator<Item = &fast::code::Step> {
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
    /// None.
    pub fn run(&self, _: impl BorrowMut<State<1>>, _: &mut dyn GoOn) -> Result<Finished, Declined> {
        match *self {}
    }
}
