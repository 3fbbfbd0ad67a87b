//! `libcudart.so.12` and `libcudart.so.13`: the public CUDA runtime API, on the public driver API.
//!
//! Everything is done by the driver library, which is opened by name as other runtimes open it, so programs may use both at once. What is
//! here is what the runtime adds: a context without being asked, kernels and variables that are known by addresses of the
//! host program, launch configurations, and errors that stay until they are asked for.
//!
//! Two versions of the interface are one library: structures and arguments that differ follow the name under which it was loaded. Functions
//! that nobody implements exist, answer `cudaErrorNotSupported`, and are named in the journal of the driver.
//!
//! As on hardware, a launch that faults has begun well: the fault is the answer of the next call that waits.

mod copy;
mod device;
mod driver;
mod error;
pub mod exports;
mod function;
mod graph;
mod host;
mod launch;
mod memory;
mod properties;
mod registry;
mod state;
mod version;

pub use error::Error;
