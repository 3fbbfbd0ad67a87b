//! `libcupti.so.12` and `.13`: the callback and activity interfaces of CUDA's profiling tools
//! (`cupti_callbacks.h`, `cupti_activity.h`), as far as PyTorch's profiler uses them.
//!
//! The driver library tells what happens while somebody listens (`listener`): calls of the driver
//! and the runtime with their arguments, kernels, copies and fills. That becomes records
//! (`activity`), some by what calls do (`operations`) and some of devices (`devices`), which the
//! client gets in buffers of its own, and calls of its function (`callbacks`). Times are those of
//! the host: a kernel lasts as long as the virtual device takes.

mod activity;
mod callbacks;
mod client;
mod devices;
pub mod exports;
mod listener;
mod names;
mod operations;
pub mod records;
mod state;
mod status;

pub use status::{Outcome, Status};
