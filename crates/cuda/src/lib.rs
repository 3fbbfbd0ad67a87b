//! `libcuda.so.1`: the public CUDA driver API on the virtual machine.
//!
//! Programs that contain PTX run unmodified on hosts without a GPU. The `exports` modules list the
//! implemented functions. Every other function of the public interface is exported, too; it returns
//! `CUDA_ERROR_NOT_SUPPORTED` and is recorded in the event log. Machine code cannot run: images
//! that hold nothing else are refused with `CUDA_ERROR_NO_BINARY_FOR_GPU`. Undocumented interfaces
//! are not imitated.
//!
//! Work on a stream is done when the call that submits it returns, unless it waits for memory that
//! the host or another stream is to change; then it is done later, in the order of the streams
//! (`execution::order`). A kernel that faults makes its context fail for good, as on hardware, and
//! the place of the fault is printed to the standard error stream.

mod api;
mod client;
mod entry;
mod errors;
mod execution;
pub mod exports;
mod failure;
mod proc_address;
mod profile;
mod settings;
mod state;
mod visible;

pub use cuda_abi::Status;
pub use proc_address::symbols;
