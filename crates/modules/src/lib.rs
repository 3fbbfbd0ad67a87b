//! Modules: programs linked from PTX texts, and CUDA's device runtime, which is linked with those
//! that refer to it.

mod device_runtime;
mod module;

pub use device_runtime::is_device_runtime;
pub use module::{Header, LoadError, Module, ReferenceKind, Refused, SymbolKind};
pub use ptx::versions as ptx_versions;
