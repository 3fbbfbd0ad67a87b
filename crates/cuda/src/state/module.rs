//! Loaded modules and libraries.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use runtime::{Module, ModuleId};

/// A loaded module or library.
#[derive(Debug)]
pub(crate) struct LoadedModule {
    pub(crate) context: u64,
    pub(crate) code: Arc<Module>,
    pub(crate) id: ModuleId,
    pub(crate) library: bool,
    /// The handle of a library's module, if the client has asked for it.
    pub(crate) module: Option<u64>,
    /// Handles of the functions that the client has looked up, by name.
    pub(crate) functions: BTreeMap<String, u64>,
    /// Addresses of the module's managed variables.
    pub(crate) managed: Vec<u64>,
    /// Names of unusable kernels and variables whose reason has been reported.
    pub(crate) reported: BTreeSet<String>,
}
