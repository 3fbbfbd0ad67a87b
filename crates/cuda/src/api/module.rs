//! Modules and libraries.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cuda_abi::host::{Ptr, name, put_i32, put_u64, put_u64_if};
use cuda_abi::{CUmoduleLoadingMode, Outcome, Status};
use images::Text;
use runtime::{DEVICE_ATTRIBUTES, Event, KernelId, Module, SymbolKind};

use crate::api::{device, reference};
use crate::errors::{of_context, of_map};
use crate::execution::order::{self, BLOCKED};
use crate::state::Driver;
use crate::state::current::top;
use crate::state::function::Function;
use crate::state::linker::JitOptions;
use crate::state::module::LoadedModule;
use crate::state::page::Pages;

fn report_load_error(d: &Driver, text: &str) {
    d.log(&Event::Refused { process: std::process::id(), text: text.to_owned() });
    d.print_error(text);
}

/// Links texts into a module, with CUDA's device runtime if `runtime`; reports the reason if that
/// fails.
pub(crate) fn build(
    d: &Driver,
    texts: &[Text],
    runtime: bool,
) -> Result<Arc<Module>, (Status, String)> {
    let texts: Vec<(&str, &str)> = texts.iter().map(|(n, t)| (n.as_str(), t.as_str())).collect();
    if !runtime::room_for_text(texts.iter().map(|(_, text)| text.len()).sum()) {
        let text =
            "a module cannot be loaded: the process may not have as much memory as its text takes";
        report_load_error(d, text);
        return Err((Status::OUT_OF_MEMORY, text.to_owned()));
    }
    match Module::link_with(&texts, runtime) {
        // Unusable kernels are reported when they are looked up, because most programs load many
        // that they never call.
        Ok(module) => Ok(module),
        Err(error) => {
            let text = error.to_string();
            report_load_error(d, &format!("a module cannot be loaded:\n{text}"));
            Err((Status::INVALID_PTX, text))
        }
    }
}

pub(crate) fn load(d: &mut Driver, out: Ptr, image: Ptr) -> Outcome {
    let context = d.usable()?;
    load_image(d, out, image, &JitOptions::default(), (context, false))
}

/// Loads an image into a context, as a module or as a library. The options say where the text of
/// errors goes.
fn load_image(
    d: &mut Driver,
    out: Ptr,
    image: Ptr,
    options: &JitOptions,
    (context, library): (u64, bool),
) -> Outcome {
    let texts = read_image(d, image)?;
    let code = build(d, &texts, true).map_err(|(status, text)| {
        options.error(&text);
        status
    })?;
    insert(d, out, context, code, library)
}

fn read_image(d: &Driver, image: Ptr) -> Outcome<Vec<Text>> {
    let texts = images::read(image, d.settings.capability);
    if texts == Err(Status::NO_BINARY_FOR_GPU) {
        d.print_error("an image has machine code only; the virtual device runs PTX: have the client keep or make PTX");
    }
    texts
}

fn insert(d: &mut Driver, out: Ptr, context: u64, code: Arc<Module>, library: bool) -> Outcome {
    d.allocate_for(context)?;
    let mut pages = Vec::new();
    let loaded = d.device.load_managed(&code, &mut |size| {
        let new = Pages::new(usize::try_from(size).ok()?)?;
        let address = new.address();
        pages.push((size, new));
        Some(address)
    });
    let id = loaded.map_err(|e| of_map(&e))?;
    let attributes: Vec<i32> =
        (0..DEVICE_ATTRIBUTES as i32).map(|a| device::attribute_value(d, a)).collect();
    d.device.describe_device(id, d.settings.version, &attributes);
    let handle = d.handle();
    if let Err(status) = put_u64(out, handle) {
        // The module has just been loaded, so it can be unloaded.
        let _ = d.device.unload(id);
        return Err(status);
    }
    let managed = pages.iter().map(|(_, pages)| pages.address()).collect();
    for (size, pages) in pages {
        d.memory.insert_variable(size, context, pages);
    }
    let (functions, reported) = (BTreeMap::new(), BTreeSet::new());
    let module = None;
    let loaded = LoadedModule { context, code, id, library, module, functions, managed, reported };
    d.modules.insert(handle, loaded);
    Ok(())
}

pub(crate) fn load_ex(
    d: &mut Driver,
    out: Ptr,
    image: Ptr,
    count: u32,
    options: Ptr,
    values: Ptr,
) -> Outcome {
    let context = d.usable()?;
    let options = JitOptions::read(count, options, values)?;
    load_image(d, out, image, &options, (context, false))
}

pub(crate) fn load_file(d: &mut Driver, out: Ptr, path: Ptr) -> Outcome {
    let context = d.usable()?;
    let texts = file(d, path)?;
    let code = build(d, &texts, true).map_err(|e| e.0)?;
    insert(d, out, context, code, false)
}

/// Reads the texts of a file.
pub(crate) fn file(d: &Driver, path: Ptr) -> Outcome<Vec<Text>> {
    let path = name(path)?;
    let bytes = std::fs::read(&path).map_err(|_| Status::FILE_NOT_FOUND)?;
    let mut texts = images::from_bytes(&bytes, d.settings.capability).inspect_err(|_| {
        d.print_error(&format!("the file {path} holds no PTX that can run"));
    })?;
    if let [(name, _)] = &mut texts[..] {
        name.clone_from(&path);
    }
    Ok(texts)
}

pub(crate) fn unload(d: &mut Driver, handle: u64) -> Outcome {
    let context = find(d, handle, false)?.context;
    order::drained(d, context)?;
    remove(d, handle)
}

pub(crate) fn remove(d: &mut Driver, handle: u64) -> Outcome {
    let module = d.modules.remove(&handle).ok_or(Status::INVALID_HANDLE)?;
    d.functions.retain(|_, f| f.module != handle);
    reference::forget_module(d, handle);
    let end = d.device.unload(module.id).map_err(|e| of_context(&e));
    // The pages are freed after they have been unmapped.
    module.managed.iter().for_each(|&address| d.memory.forget(address));
    end
}

fn find(d: &Driver, handle: u64, library: bool) -> Outcome<&LoadedModule> {
    d.modules.get(&handle).filter(|m| m.library == library).ok_or(Status::INVALID_HANDLE)
}

/// Returns the handle of what was loaded, for that of a module: it is another one if the module is
/// a library's.
pub(crate) fn loaded(d: &Driver, module: u64) -> Outcome<u64> {
    if find(d, module, false).is_ok() {
        return Ok(module);
    }
    let mut libraries = d.modules.iter().filter(|(_, m)| m.module == Some(module));
    libraries.next().map(|(&handle, _)| handle).ok_or(Status::INVALID_HANDLE)
}

/// Returns the handle of the module of what was loaded.
pub(crate) fn module_of(d: &mut Driver, loaded: u64) -> Outcome<u64> {
    let new = d.handle();
    let found = d.modules.get_mut(&loaded).ok_or(Status::INVALID_HANDLE)?;
    Ok(if found.library { *found.module.get_or_insert(new) } else { loaded })
}

pub(crate) fn function(d: &mut Driver, out: Ptr, module: u64, text: Ptr) -> Outcome {
    d.usable()?;
    let module = loaded(d, module)?;
    let handle = function_of(d, module, &name(text)?)?;
    put_u64(out, handle)
}

/// Returns the handle of a kernel by name.
fn function_of(d: &mut Driver, handle: u64, name: &str) -> Outcome<u64> {
    let module = d.modules.get(&handle).ok_or(Status::INVALID_HANDLE)?;
    if let Some(&known) = module.functions.get(name) {
        return Ok(known);
    }
    let Some(kernel) = module.code.kernel(name) else {
        return Err(missing_symbol(d, handle, SymbolKind::Kernel, name));
    };
    new_function(d, handle, name, kernel)
}

/// Returns the status for a name that is missing. If the text has it but it is unusable, reports
/// the reason once.
fn missing_symbol(d: &mut Driver, handle: u64, kind: SymbolKind, name: &str) -> Status {
    let Some(module) = d.modules.get_mut(&handle) else { return Status::INVALID_HANDLE };
    let mut refused = module.code.refused().iter().filter(|r| r.kind == kind && r.name == name);
    let Some(refused) = refused.next() else { return Status::NOT_FOUND };
    let text = refused.to_string();
    if module.reported.insert(name.to_owned()) {
        report_load_error(d, &text);
    }
    Status::NOT_SUPPORTED
}

fn new_function(d: &mut Driver, module: u64, name: &str, kernel: KernelId) -> Outcome<u64> {
    let handle = d.handle();
    let found = d.modules.get_mut(&module).ok_or(Status::INVALID_HANDLE)?;
    let function = Function::new(module, Arc::clone(&found.code), found.id, kernel);
    found.functions.insert(name.to_owned(), handle);
    d.functions.insert(handle, function);
    Ok(handle)
}

pub(crate) fn function_count(d: &mut Driver, out: Ptr, module: u64) -> Outcome {
    let module = loaded(d, module)?;
    let found = d.modules.get(&module).ok_or(Status::INVALID_HANDLE)?;
    put_i32(out, found.code.kernels().count() as i32)
}

/// Writes the handles of the first `count` kernels.
pub(crate) fn functions(d: &mut Driver, out: Ptr, count: u32, module: u64) -> Outcome {
    let module = loaded(d, module)?;
    all_functions(d, out, count, module)
}

fn all_functions(d: &mut Driver, out: Ptr, count: u32, module: u64) -> Outcome {
    let found = d.modules.get(&module).ok_or(Status::INVALID_HANDLE)?;
    let names: Vec<String> = found.code.kernels().map(|(_, f)| f.name.clone()).collect();
    for (i, name) in names.iter().take(count as usize).enumerate() {
        let handle = function_of(d, module, name)?;
        put_u64(out + 8 * i, handle)?;
    }
    Ok(())
}

fn variable(d: &mut Driver, address: Ptr, len: Ptr, handle: u64, text: Ptr) -> Outcome {
    let module = d.modules.get(&handle).ok_or(Status::INVALID_HANDLE)?;
    let name = name(text)?;
    let Some((at, bytes)) = d.device.variable(module.id, &name) else {
        return Err(missing_symbol(d, handle, SymbolKind::Variable, &name));
    };
    put_u64_if(address, at.0)?;
    put_u64_if(len, bytes)
}

pub(crate) fn global(d: &mut Driver, address: Ptr, len: Ptr, module: u64, name: Ptr) -> Outcome {
    d.usable()?;
    let module = loaded(d, module)?;
    variable(d, address, len, module, name)
}

/// All code is loaded at once.
pub(crate) fn loading_mode(_d: &mut Driver, out: Ptr) -> Outcome {
    put_i32(out, CUmoduleLoadingMode::EAGER_LOADING as i32)
}

// Libraries: modules that belong to no context. Because all contexts of a process share a device's
// memory here, a library belongs to the context that was current when it was loaded.

pub(crate) fn library_load(
    d: &mut Driver,
    out: Ptr,
    image: Ptr,
    options: (Ptr, Ptr, u32),
    _library: (Ptr, Ptr, u32),
) -> Outcome {
    let context = top();
    let options = JitOptions::read(options.2, options.0, options.1)?;
    load_image(d, out, image, &options, (context, true))
}

pub(crate) fn library_load_file(d: &mut Driver, out: Ptr, path: Ptr) -> Outcome {
    let texts = file(d, path)?;
    let code = build(d, &texts, true).map_err(|e| e.0)?;
    insert(d, out, top(), code, true)
}

pub(crate) fn library_unload(d: &mut Driver, library: u64) -> Outcome {
    find(d, library, true)?;
    // Its kernels may run in any context.
    if !d.pending.items.is_empty() {
        return Err(BLOCKED);
    }
    remove(d, library)
}

pub(crate) fn library_kernel(d: &mut Driver, out: Ptr, library: u64, text: Ptr) -> Outcome {
    find(d, library, true)?;
    let handle = function_of(d, library, &name(text)?)?;
    put_u64(out, handle)
}

pub(crate) fn library_kernel_count(d: &mut Driver, out: Ptr, library: u64) -> Outcome {
    let count = find(d, library, true)?.code.kernels().count();
    put_i32(out, count as i32)
}

pub(crate) fn library_kernels(d: &mut Driver, out: Ptr, count: u32, library: u64) -> Outcome {
    find(d, library, true)?;
    all_functions(d, out, count, library)
}

/// Writes the handle of a library's module, which lives as long as the library and cannot be
/// unloaded by itself.
pub(crate) fn library_module(d: &mut Driver, out: Ptr, library: u64) -> Outcome {
    d.usable()?;
    find(d, library, true)?;
    let module = module_of(d, library)?;
    put_u64(out, module)
}

pub(crate) fn library_global(
    d: &mut Driver,
    address: Ptr,
    len: Ptr,
    library: u64,
    name: Ptr,
) -> Outcome {
    find(d, library, true)?;
    variable(d, address, len, library, name)
}

/// Returns the function of a kernel, which has the same handle.
pub(crate) fn kernel_function(d: &mut Driver, out: Ptr, kernel: u64) -> Outcome {
    d.functions.get(&kernel).ok_or(Status::INVALID_HANDLE)?;
    put_u64(out, kernel)
}

pub(crate) fn kernel_library(d: &mut Driver, out: Ptr, kernel: u64) -> Outcome {
    let module = d.functions.get(&kernel).ok_or(Status::INVALID_HANDLE)?.module;
    find(d, module, true)?;
    put_u64(out, module)
}
