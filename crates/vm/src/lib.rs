//! Runs the kernel IR: grids, CTAs, warps, barriers; the exact engine.
//!
//! [`Program::link`] turns a verified module into code; [`Launch`] says how to run a kernel of it;
//! [`Engine`] is the [`Machine`](simt::machine::Machine) that executes one issue at a time. The
//! exact engine defines results, faults, statistics and the order in which things happen; whatever
//! is faster has to agree with it.

mod access;
mod announce;
mod asynchronous;
mod atomic;
mod barrier;
mod bulk;
mod calls;
mod cause;
mod cluster;
mod code;
mod collective;
mod compiled;
mod control;
mod copies;
mod defined;
mod detached;
mod engine;
mod facts;
mod fragments;
mod frames;
mod groups;
mod heap;
mod inspect;
mod lanes;
mod launch;
mod link;
mod masks;
mod matrix;
mod mbarrier;
mod prepare;
mod printf;
mod program;
mod recheck;
mod retry;
mod schedule;
mod shared;
mod slice;
mod spin;
mod sreg;
mod state;
mod system;
mod tensor;
mod texture;
mod tolerated;
mod warp_group;
mod watch;

pub use asynchronous::{Asynchrony, NotAnOrder};
pub use atomic::apply as atomic_result;
pub use bulk::BulkMisuse;
pub use calls::RECURSION_BYTES;
pub use cause::Cause;
pub use cluster::{CTA_WINDOW, ClusterMisuse, Clusters, MAX_CLUSTER, rank_in};
pub use code::{
    BulkOp, Code, CollectiveKind, MbarrierKind, ScheduleDependence, TensorOp, WarpGroupOp,
    bulk_copy, mbarrier_kind, tensor_copy,
};
pub use compiled::{Compiled, run_scheduled};
pub use defined::{
    CopiedBits, Decides, Definedness, Origin, OriginId, UndefinedMemory, UndefinedUse,
};
pub use detached::DetachedCollective;
pub use engine::{BACK_EDGES, Engine, STALLED_ROUNDS};
pub use facts::{FactCheck, Violation};
pub use heap::Heap;
pub use launch::{
    ClusterError, Launch, LaunchError, MAX_BLOCK, MAX_GRID, MAX_SHARED, MAX_THREADS, MakeMechanism,
    Resident, Variables, WARP_SIZE, begin_bare, catalogued, defaults, load_variables,
    load_variables_as, load_variables_at,
};
pub use matrix::{Matrix, Piece, Pieces, Registers, Values};
pub use mbarrier::{apply as mbarrier_effect, awaited_phase};
pub use prepare::{PassCost, PredicateCost, prepare, prepare_counted};
pub use printf::print_formatted;
pub use program::{
    FUNCTION_BASE, FrameSize, LinkError, LinkErrorKind, LoadError, Program, function_address,
};
pub use recheck::{
    Claim, DIFFER, Difference, Recheck, RecheckError, Writer, first_difference, recheck,
};
pub use retry::Retry;
pub use schedule::{
    Alternative, Canonical, Choice, ChoicePoint, NotAChoice, Position, Schedule, Scheduler,
    SchedulerState, SharedStrategy, Strategy, StrategyObserver, run as run_schedule,
};
pub use shared::SharedLayout;
pub use simt::counts::Counts;
pub use simt::matrix::{MatrixSums, NotMatrixSums};
pub use state::{Setup, State};
pub use tensor::{TensorMisuse, TensorPlan, combined as tensor_reduction, plan_copy};
pub use texture::{
    TextureEffect, TextureKind, TextureMisuse, TextureOp, TexturePiece, TextureThread, misfit,
    texture_accesses, texture_effect, texture_op,
};
pub use tolerated::Tolerated;
pub use warp_group::WarpGroup;
pub use watch::quiet_rounds;
