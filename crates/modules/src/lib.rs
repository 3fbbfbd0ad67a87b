//! Modules: programs linked from PTX texts, and CUDA's device runtime, which is linked with those
//! that refer to it.

mod device_runtime;
mod module;

pub use device_runtime::is_device_runtime;
pub use module::{LoadError, Module, ReferenceKind, Refused, SymbolKind};
