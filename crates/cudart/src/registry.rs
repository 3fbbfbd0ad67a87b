//! Registrations of programs before `main`: fat binaries, and the host addresses that stand for
//! their kernels and variables.
//!
//! A fat binary is loaded into a context on first use there, and again after a reset.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cuda_abi::host::{Ptr, name_bytes, put_u64, written};
use cuda_abi::{Outcome, Status};

use crate::driver::{
    cuFuncGetName, cuModuleGetFunction, cuModuleGetGlobal_v2, cuModuleLoadData, cuModuleUnload,
};
use crate::state::context;

/// A kernel or variable of a fat binary.
struct Symbol {
    /// The handle of the fat binary.
    binary: u64,
    /// The name in PTX, with its null byte.
    name: Vec<u8>,
    /// The context in which it has this address; `None` for an address in the host's program.
    context: Option<u64>,
}

/// A fat binary.
struct Binary {
    image: Ptr,
    /// The binary's module in each context.
    modules: BTreeMap<u64, u64>,
}

/// All registrations.
struct Registry {
    next: u64,
    binaries: BTreeMap<u64, Binary>,
    kernels: BTreeMap<Ptr, Symbol>,
    variables: BTreeMap<Ptr, Symbol>,
    /// Managed variables: the host pointer that receives the address, and the symbol.
    managed: Vec<(Ptr, Symbol)>,
    /// Functions found so far, by context and host address.
    functions: BTreeMap<(u64, Ptr), u64>,
}

static REGISTRY: Mutex<Registry> = Mutex::new(Registry {
    next: 0,
    binaries: BTreeMap::new(),
    kernels: BTreeMap::new(),
    variables: BTreeMap::new(),
    managed: Vec::new(),
    functions: BTreeMap::new(),
});

fn registry() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Registers a fat binary without reading it; returns its handle.
pub(crate) fn add_binary(image: Ptr) -> u64 {
    let mut r = registry();
    r.next += 16;
    let handle = r.next;
    r.binaries.insert(handle, Binary { image, modules: BTreeMap::new() });
    handle
}

/// Removes a fat binary with all its registrations.
pub(crate) fn remove_binary(handle: u64) {
    let modules = {
        let mut r = registry();
        let Some(binary) = r.binaries.remove(&handle) else { return };
        r.kernels.retain(|_, k| k.binary != handle);
        r.variables.retain(|_, v| v.binary != handle);
        r.managed.retain(|(_, v)| v.binary != handle);
        let kept: BTreeMap<_, _> = std::mem::take(&mut r.functions);
        r.functions = kept.into_iter().filter(|((_, at), _)| r.kernels.contains_key(at)).collect();
        binary.modules
    };
    for module in modules.into_values() {
        // This fails if the process is ending and its contexts are gone.
        let _ = cuModuleUnload(module);
    }
}

fn symbol(binary: u64, at: Ptr) -> Option<Symbol> {
    let mut name = name_bytes(at).ok()?;
    name.push(0);
    Some(Symbol { binary, name, context: None })
}

/// Registers a kernel under a host address.
pub(crate) fn add_kernel(binary: u64, host: Ptr, name: Ptr) {
    if let Some(symbol) = symbol(binary, name) {
        registry().kernels.insert(host, symbol);
    }
}

/// Registers a variable under a host address.
pub(crate) fn add_variable(binary: u64, host: Ptr, name: Ptr) {
    if let Some(symbol) = symbol(binary, name) {
        registry().variables.insert(host, symbol);
    }
}

/// Registers a managed variable. Its address is written to `pointer` when the module is loaded.
pub(crate) fn add_managed(binary: u64, pointer: Ptr, name: Ptr) {
    if let Some(symbol) = symbol(binary, name) {
        registry().managed.push((pointer, symbol));
    }
}

/// Loads a fat binary into the current context, so that the host can access its managed variables.
pub(crate) fn load_binary(binary: u64) -> Outcome {
    let context = context()?;
    module(&mut registry(), binary, context).map(drop)
}

/// Writes the addresses of a module's managed variables to the host's pointers.
fn set_pointers(r: &mut Registry, binary: u64, context: u64, module: u64) -> Outcome {
    let mut found = Vec::new();
    for (pointer, symbol) in r.managed.iter().filter(|(_, s)| s.binary == binary) {
        let (address, _) = global(module, &symbol.name)?;
        put_u64(*pointer, address)?;
        let (binary, name) = (symbol.binary, symbol.name.clone());
        found.push((address as Ptr, Symbol { binary, name, context: Some(context) }));
    }
    // Programs use these addresses as symbols, too.
    r.variables.extend(found);
    Ok(())
}

/// Returns the address and size of a module's variable.
fn global(module: u64, name: &[u8]) -> Outcome<(u64, usize)> {
    let mut size = 0_usize;
    let size_at = (&raw mut size).expose_provenance();
    let name = name.as_ptr().expose_provenance();
    let found = written(0, |at| cuModuleGetGlobal_v2(at, size_at, module, name));
    let address =
        found.map_err(|e| if e == Status::NOT_FOUND { Status::INVALID_SYMBOL } else { e })?;
    Ok((address, size))
}

/// Returns the module of a fat binary in a context; loads it on first use.
fn module(r: &mut Registry, handle: u64, context: u64) -> Outcome<u64> {
    let binary = r.binaries.get_mut(&handle).ok_or(Status::INVALID_IMAGE)?;
    if let Some(&module) = binary.modules.get(&context) {
        return Ok(module);
    }
    let module = written(0, |at| cuModuleLoadData(at, binary.image))?;
    if let Err(error) = set_pointers(r, handle, context, module) {
        // A module whose variables the host cannot reach is not kept.
        let _ = cuModuleUnload(module);
        return Err(error);
    }
    if let Some(binary) = r.binaries.get_mut(&handle) {
        binary.modules.insert(context, module);
    }
    Ok(module)
}

/// Returns the function that `host` denotes in the current context: a registered kernel, or a
/// handle that the driver knows.
pub(crate) fn function(host: Ptr) -> Outcome<u64> {
    let context = context()?;
    let mut r = registry();
    if let Some(&known) = r.functions.get(&(context, host)) {
        return Ok(known);
    }
    let Some(kernel) = r.kernels.get(&host) else {
        drop(r);
        let known = host != 0 && written(0_u64, |at| cuFuncGetName(at, host as u64)).is_ok();
        return if known { Ok(host as u64) } else { Err(Status::INVALID_DEVICE_FUNCTION) };
    };
    let (binary, name) = (kernel.binary, kernel.name.clone());
    let module = module(&mut r, binary, context)?;
    let found = written(0, |at| cuModuleGetFunction(at, module, name.as_ptr().expose_provenance()));
    let found = found
        .map_err(|e| if e == Status::NOT_FOUND { Status::INVALID_DEVICE_FUNCTION } else { e })?;
    r.functions.insert((context, host), found);
    Ok(found)
}

/// Returns the host address that denotes a function, or the function's own handle.
pub(crate) fn host_address(function: u64) -> Ptr {
    let r = registry();
    let found = r.functions.iter().find(|(_, found)| **found == function);
    found.map_or(function as Ptr, |((_, host), _)| *host)
}

/// Returns whether a kernel is registered under an address.
pub(crate) fn is_kernel(host: Ptr) -> bool {
    registry().kernels.contains_key(&host)
}

/// Returns the address and size, in the current context, of the variable that `host` denotes.
pub(crate) fn variable(host: Ptr) -> Outcome<(u64, usize)> {
    let context = context()?;
    let mut r = registry();
    let variable = r.variables.get(&host).ok_or(Status::INVALID_SYMBOL)?;
    let (binary, name) = (variable.binary, variable.name.clone());
    let module = module(&mut r, binary, context)?;
    global(module, &name)
}

/// Forgets the modules of a context that was reset.
pub(crate) fn forget(context: u64) {
    let mut r = registry();
    r.functions.retain(|(of, _), _| *of != context);
    r.variables.retain(|_, v| v.context != Some(context));
    for binary in r.binaries.values_mut() {
        binary.modules.remove(&context);
    }
}
