//! Control-flow analyses and passes on the kernel IR.
//!
//! The analyses work on a plain [`Cfg`] and are usable on their own: [`Dominators`] and
//! [`PostDominators`], [`Loops`], [`BlockOrder`] (priorities), [`Frontiers`] (thread frontiers),
//! [`ControlDependence`], [`components`], and [`Structure`] (the region tree of a structured
//! graph). All are iterative and near-linear in time and memory. [`kernel`] makes the graph of an
//! IR function, [`passes`] rewrite functions, [`analysis`] finds what is known of its values in the
//! lanes of a group, [`params`] what is accessed through a kernel's parameters, [`footprint`] which
//! bytes each CTA accesses.

pub mod analysis;
mod components;
mod control;
mod dom;
pub mod footprint;
mod forest;
mod frontier;
mod graph;
pub mod kernel;
mod loops;
mod order;
pub mod params;
pub mod passes;
mod spin;
mod structure;
pub mod waits;

pub use components::{Component, components};
pub use control::ControlDependence;
pub use dom::{Dominators, PostDominator, PostDominators};
pub use frontier::{FrontierRule, Frontiers};
pub use graph::{Cfg, CfgBuilder, GraphError, MAX_SIZE, Node};
pub use loops::{LoopId, Loops};
pub use order::{BlockOrder, OrderError};
pub use spin::{SpinWait, SpinWaits, WriteIs, spin_waits};
pub use structure::{Region, RegionId, Structure, Unstructured};
