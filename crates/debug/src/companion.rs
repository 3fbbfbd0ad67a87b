//! What the one who hands a launch over can add: a faster engine, and searches through all that a
//! launch has done.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use simt::Pc;
use simt::observe::GroupId;

use crate::target::Lanes;

/// Where a run ahead has to stop at the latest.
#[derive(Clone, Copy, Debug)]
pub struct Goal<'g> {
    /// The position.
    pub until: u64,
    /// Instructions before which the launch is to stop.
    pub places: &'g [Pc],
    /// Stops the run.
    pub interrupt: &'g AtomicBool,
}

/// How far a launch has run ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ahead {
    /// The state is that of this position.
    Reached(u64),
    /// The launch has ended at this position; what is left of its state is void.
    Ended(u64),
}

/// Events of a launch that depend on all that was before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Search {
    /// Accesses that race.
    Race,
    /// The first issue that differs under another mechanism.
    Difference(Arc<str>),
}

/// An event that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The position of the issue.
    pub position: u64,
    /// Its group.
    pub group: GroupId,
    /// Lanes that take part.
    pub lanes: Lanes,
    /// What happened, in a sentence.
    pub text: String,
}

/// A search that follows a launch from its start.
pub trait Searcher {
    /// Goes on up to a position; returns `false` if it was interrupted before.
    fn advance(&mut self, position: u64, interrupt: &AtomicBool) -> bool;
    /// What was found so far, by position.
    fn found(&self) -> &[Found];
}

/// A state of a recording, with its memory, and its position: the start, or one that was changed.
pub type Segment<S> = (u64, S);

/// What can be added to the launches of a machine.
pub trait Companion<'p, S> {
    /// Returns whether a state can run ahead.
    fn may_run_ahead(&self, state: &S) -> bool;

    /// Runs a state ahead, to a position before the goal.
    ///
    /// # Errors
    /// Returns why it cannot.
    fn run_ahead(&self, state: &mut S, goal: &Goal<'_>) -> Result<Ahead, String>;

    /// Returns the mechanism of this name, or the one with forward progress, if a launch can begin
    /// again under it.
    ///
    /// # Errors
    /// Returns why it cannot.
    fn other(&self, mechanism: Option<&str>) -> Result<String, String>;

    /// Begins a search through a recording, whose segments follow each other.
    ///
    /// # Errors
    /// Returns why there is no such search.
    fn search(
        &self,
        search: &Search,
        segments: Vec<Segment<S>>,
    ) -> Result<Box<dyn Searcher + 'p>, String>;
}
