//! Contexts that outlive launches, on which the library interfaces to the virtual machine are
//! built.
//!
//! A [`Module`] is PTX that can run. A [`Context`] owns guest memory: buffers outlive launches,
//! modules allocate their variables in it, and memory of the host process can be mapped into it at
//! its own addresses. A launch runs on the fast engine, or on the exact engine where the fast one
//! cannot run it; both give the same results. A launch that is stopped returns the cause as data,
//! with the place in the PTX and the source line that it comes from ([`Stop`]).
//!
//! Launches are synchronous: all effects are visible when [`Context::launch`] returns. Nothing here
//! reads the environment or prints.

mod blocks;
mod checks;
mod context;
mod debugger;
mod device_launches;
mod event_log;
mod faults;
mod host_atomics;
mod host_mappings;
mod launch;
#[cfg(test)]
mod linked;
mod mirror;
mod origin;
mod paging;
mod reservations;
mod status;
mod stop;
mod unmapped;

pub use crate::checks::FindingLog;
pub use context::{Context, ContextError, ModuleId, Settings};
pub use device_launches::{ChildLaunch, DEVICE_ATTRIBUTES};
pub use engine::{Choice, EngineUsed, Level, host_threads};
pub use events::{DIFFERENCE, Event, EventLog, Instruction, LaunchTotals};
pub use faults::{Faults, ToleratedAccess};
pub use findings::{Check, CheckSet, Findings};
pub use host_atomics::{AtomicTargets, pointer_words};
pub use host_mappings::MappingHints;
pub use hostmem::{host_string, read_host, room_for_text, write_host};
pub use ir::FuncId as KernelId;
pub use ir::device;
pub use launch::{Failure, Launched, Report, Shape, WaitingLaunch};
pub use mirror::{HostActivity, HostOwner};
pub use modules::{LoadError, Module, ReferenceKind, Refused, SymbolKind, is_device_runtime};
pub use origin::Parameter;
pub use paging::HostMemoryModule;
pub use places::{ApiCall, BlockHistory, InlinedCall, Place, Site, Source, TextLine};
pub use simt::memory::{Accessing, Addr, MAX_DEVICES, MapError, Sharing};
pub use simt::tensor;
pub use status::{LaunchStatus, OccupiedPlace};
pub use stop::{Stop, StopKind};
pub use texture;
pub use vm::{Asynchrony, MAX_CLUSTER, MatrixSums};
pub use vm::{Counts, Heap, LaunchError, WARP_SIZE};
