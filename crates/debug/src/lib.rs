//! Debugging of launches, forwards and backwards, on every machine.
//!
//! An [`Execution`] is a launch that can be run to any issue: it keeps snapshots of the state and
//! replays what lies between them, for launches are deterministic. Front ends know it as a
//! [`Target`]. A [`Session`] has what users work with: breakpoints, watches, steps, the focus on a
//! lane, queries such as "who wrote this?", and a command language ([`Session::command`]).
//! [`Client`]s receive launches to be debugged from whatever runs them.
//!
//! A position is a number of issues. At position `n` the first `n` issues of the launch have been
//! made. Changes by the user begin a new branch of the recording; the old one stays.
//!
//! Nothing here prints or knows a terminal.

mod client;
mod code;
mod commands;
mod companion;
mod execution;
mod expr;
mod recording;
mod session;
mod target;
mod timeline;
mod variables;
mod view;
mod watcher;

pub use client::{After, At, Client, Console, Shown};
pub use code::{Code, Function, Instruction, LineKey, Parameter};
pub use commands::{Reply, stopped, summary};
pub use companion::{Ahead, Companion, Found, Goal, Search, Searcher, Segment};
pub use execution::{Execution, Explain};
pub use expr::{Expr, ExprError, Type as WatchedType, Value};
pub use recording::{Change, LanePlace, LaunchRecord, changes};
pub use session::breakpoint::{Breakpoint, Catch, Location, What, locate};
pub use session::motion::{Direction, Reason, Step, StopReport};
pub use session::writers::{Dependence, Writer, Written};
pub use session::{Debugger, Evaluated, Follow, Session};
pub use target::{
    Abilities, AccessWatch, Accessed, Before, BranchView, Changed, End, EndKind, Event, Issued,
    Judge, Lanes, Look, Memory, Merge, RegisterWatch, Stopped, Stops, Target, TargetError, Used,
};
pub use variables::{Home, Shape, ShownVariable, Variable, VariableType, variables};
pub use view::{Pane, ProgramLine, View, Wanted};
