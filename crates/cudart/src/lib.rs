//! `libcudart.so.12` and `libcudart.so.13`: the public CUDA runtime API, on the public driver API.
//!
//! The driver library does all work. It is opened by name, as other runtimes open it, so programs
//! can use both APIs at once. This crate adds what the runtime adds: contexts that are created
//! implicitly, kernels and variables identified by host addresses, launch configurations, and
//! errors that persist until they are read.
//!
//! One library provides both versions of the interface: structures and arguments that differ follow
//! the name under which it was loaded. Functions that are not implemented are exported, too; they
//! return `cudaErrorNotSupported` and are recorded in the driver's event log.
//!
//! As on hardware, a launch that faults succeeds as a call; the next call that waits returns the
//! fault.

mod array;
mod channels;
mod copy;
mod device;
mod driver;
pub mod exports;
mod function;
mod graph;
mod launch;
mod memory;
mod properties;
mod registry;
mod state;
mod version;
