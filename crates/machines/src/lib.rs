//! The machines behind one interface: programs, launches, and what observes them.
//!
//! [`Isa`] is a machine, [`Program`] what it has loaded, [`Context`] the memory in which kernels
//! run. [`all`] lists the machines; no other crate names one. The crate never prints.

mod adapters;
mod catalogue;
mod graph;
mod interface;
mod launch;
mod mechanisms;
mod monitor;
mod program;
pub mod stats;
mod summary;

pub use checks::probe;

pub use catalogue::{all, by_extension, configured, find, load, unsupported};
pub use graph::{ControlFlow, FlowBlock, PostDominator};
pub use interface::{
    Axis, Command, Configuration, ConformCase, ConformTable, Image, Isa, Load, Named, Profile,
    Reference, Summary, Tools, Variant,
};
pub use launch::{
    Choice, End, HANGS, HostThreads, LaunchProblem, LaunchRequest, LaunchResult, Level, Schedule,
    Stop, Subject, host_threads,
};
pub use mechanisms::{mechanisms_named, one_mechanism};
pub use monitor::{
    Attached, DebuggedMonitor, LaunchMonitor, ProbedMonitor, Progress, ScheduledMonitor,
    Unmonitored,
};
pub use program::{Context, ContextState, Dependence, MemoryRange, Program};
pub use summary::{KernelDependence, ProgramSummary, SummaryParts, summary};
pub use vm::{Asynchrony, MatrixSums};
