//! Run-time convergence mechanisms: which path of a diverged group runs next, and where paths meet
//! again.
//!
//! A [`Mechanism`] watches one issue group (a warp, or a whole CTA). It is told what happened as
//! typed [`Event`]s, knows a static [`Plan`] of the program (rejoin points, priorities), and
//! answers with the *set* of paths that may run next; a separate, seeded [`Policy`] picks one. It
//! never looks at what instructions compute, and whoever executes never looks into a mechanism:
//! everything that verdicts, traces and a hand-over to another mechanism need is exported as
//! [`Path`]s and [`Charges`].
//!
//! Nothing here depends on the engine of this project: any interpreter can drive a mechanism by its
//! events, or a [`Session`], which chooses one by name, checks the flow graph and every mask, and
//! keeps statistics.

pub mod barrier_only;
pub mod basic;
pub mod catalogue;
pub mod compaction;
pub mod convergence_barriers;
pub mod event;
pub mod ipdom;
mod lanes;
pub mod listing;
mod lockstep;
pub mod max_pc;
pub mod mechanism;
pub mod min_pc;
pub mod min_sp_pc;
pub mod multi_path;
pub mod plan;
pub mod planner;
pub mod policy;
pub mod predicated_stack;
mod ranked;
pub mod serial;
pub mod session;
pub mod split_join;
mod stack;
mod stacked;
pub mod tf_sandy;
pub mod tf_stack;
pub mod uniform;

pub use catalogue::{BuildMechanism, CATALOGUE, Entry, Idle, Pass, UnknownMechanism};
pub use event::{Event, SyncOp};
pub use listing::{Flow, Listing, ListingError};
pub use mechanism::{Charges, Knobs, Mechanism, Order, Path, PathId, Refusal, Scope, Start};
pub use plan::{Layout, Plan, Priorities, Rejoin};
pub use policy::Policy;
pub use session::{Session, SessionError, Statistics};
