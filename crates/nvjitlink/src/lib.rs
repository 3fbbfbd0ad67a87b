//! `libnvJitLink.so` (`nvJitLink.h`) and NVIDIA's PTX compiler (`nvPTXCompiler.h`) for the virtual
//! device.
//!
//! The device runs PTX, so what these interfaces call a cubin or a compiled program is an image of
//! PTX here ([`images::link`]), which the driver loads like any other. PTX is checked when it is
//! added, names are resolved by the rules and in the words of `nvlink` when a link is completed.
//! Statuses, and what each error log begins with, are those of NVIDIA's libraries of CUDA 13.5.
//!
//! LTO-IR is NVIDIA's own. Its library of the same name compiles it to PTX (`lto`), if the
//! process can load it; otherwise the link fails with `NVJITLINK_ERROR_NVVM_COMPILE`.
//!
//! Handles are numbers, never addresses, so an invalid one is an error.

pub mod exports;
mod jit_link;
mod lto;
mod ptx_compiler;
mod ptxas;
mod status;

pub use status::{CompileResult, LinkResult};
