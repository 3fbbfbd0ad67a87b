//! `libcuda.so.1`: the public CUDA driver API on the virtual machine.
//!
//! Programs that bring PTX run unmodified on hosts without a GPU. What is implemented is in the `exports` modules; every other function of
//! the public interface exists, answers `CUDA_ERROR_NOT_SUPPORTED` and is named in the journal. There is no machine code here:
//! images of it are answered with `CUDA_ERROR_NO_BINARY_FOR_GPU`. Nothing imitates undocumented interfaces.
//!
//! Everything is synchronous: streams are numbers, events are times, and when a call returns its work is done. A kernel that faults
//! makes its context fail for good, as on hardware, and the place is told on the standard error stream.

mod action;
mod call;
mod capture;
mod context;
mod copy;
mod device;
mod driver;
mod event;
pub mod exports;
mod failure;
mod fat;
mod function;
mod graph;
mod host;
mod image;
mod launch;
mod linker;
mod memory;
mod module;
mod page;
mod pointer;
mod pool;
mod proc_address;
mod settings;
mod status;
mod stream;

#[doc(hidden)]
pub use fat::fat_binary_texts;
pub use proc_address::symbols;
pub use status::Status;
