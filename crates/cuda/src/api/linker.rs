//! Links several PTX texts (`cuLink*`).

use cuda_abi::host::{Ptr, get_bytes, name, put_u64, put_u64_if};
use cuda_abi::{CUjitInputType, Outcome, Status};

use super::module;
use crate::state::Driver;
use crate::state::linker::{JitOptions, Linker};

pub(crate) fn create(d: &mut Driver, count: u32, options: Ptr, values: Ptr, out: Ptr) -> Outcome {
    d.usable()?;
    let options = JitOptions::read(count, options, values)?;
    let handle = d.handle();
    put_u64(out, handle)?;
    d.linkers
        .insert(handle, Linker { texts: Vec::new(), runtime: false, options, image: Vec::new() });
    Ok(())
}

/// Adds an input. Message lengths are reported as 0; the text of errors ends with a null byte.
pub(crate) fn add(
    d: &mut Driver,
    linker: u64,
    kind: i32,
    data: Ptr,
    len: usize,
    text: Ptr,
    _options: (u32, Ptr, Ptr),
) -> Outcome {
    d.linkers.get(&linker).ok_or(Status::INVALID_HANDLE)?;
    let called = if text == 0 { "ptx".to_owned() } else { name(text)? };
    if data == 0 || len == 0 || len > 256 << 20 {
        return Err(Status::INVALID_VALUE);
    }
    let mut bytes = vec![0; len];
    get_bytes(data, &mut bytes)?;
    add_bytes(d, linker, kind, &bytes, &called)
}

pub(crate) fn add_file(
    d: &mut Driver,
    linker: u64,
    kind: i32,
    path: Ptr,
    _options: (u32, Ptr, Ptr),
) -> Outcome {
    d.linkers.get(&linker).ok_or(Status::INVALID_HANDLE)?;
    let path = name(path)?;
    let bytes = std::fs::read(&path).map_err(|_| Status::FILE_NOT_FOUND)?;
    add_bytes(d, linker, kind, &bytes, &path)
}

fn add_bytes(d: &mut Driver, linker: u64, kind: i32, bytes: &[u8], called: &str) -> Outcome {
    let Ok(kind) = CUjitInputType::of(kind) else {
        return Err(d.unsupported("cuLinkAddData of a kind other than PTX"));
    };
    // Ours stands in for it.
    if kind == CUjitInputType::LIBRARY && called.contains("cudadevrt") {
        d.linkers.get_mut(&linker).ok_or(Status::INVALID_HANDLE)?.runtime = true;
        return Ok(());
    }
    let texts = images::from_bytes(bytes, d.settings.capability);
    let mut texts = texts.map_err(|status| {
        d.print_error(&format!(
            "cuLinkAddData: `{called}` holds no PTX; machine code cannot be linked"
        ));
        let is_container = !matches!(kind, CUjitInputType::CUBIN | CUjitInputType::PTX);
        if is_container && status == Status::INVALID_IMAGE {
            Status::NO_BINARY_FOR_GPU
        } else {
            status
        }
    })?;
    if let [(name, text)] = &mut texts[..] {
        called.clone_into(name);
        // PTX is checked when it is added, so that the error belongs to this call.
        if kind == CUjitInputType::PTX
            && let Err(findings) = runtime::Module::check(called, text)
        {
            d.print_error(&format!("cuLinkAddData:\n{findings}"));
            if let Some(l) = d.linkers.get(&linker) {
                l.options.error(&findings.to_string());
            }
            return Err(Status::INVALID_PTX);
        }
    }
    d.linkers.get_mut(&linker).ok_or(Status::INVALID_HANDLE)?.texts.extend(texts);
    Ok(())
}

/// Links all inputs. The image is valid as long as the linker.
pub(crate) fn complete(d: &mut Driver, linker: u64, out: Ptr, len: Ptr) -> Outcome {
    let found = d.linkers.get(&linker).ok_or(Status::INVALID_HANDLE)?;
    if found.texts.is_empty() {
        return Err(Status::INVALID_VALUE);
    }
    if let Err((status, text)) = module::build(d, &found.texts, found.runtime) {
        found.options.error(&text);
        return Err(status);
    }
    let image = images::link(&found.texts);
    put_u64(out, image.as_ptr().addr() as u64)?;
    put_u64_if(len, image.len() as u64)?;
    found.options.no_texts();
    d.linkers.get_mut(&linker).ok_or(Status::INVALID_HANDLE)?.image = image;
    Ok(())
}

pub(crate) fn destroy(d: &mut Driver, linker: u64) -> Outcome {
    d.linkers.remove(&linker).map(drop).ok_or(Status::INVALID_HANDLE)
}
