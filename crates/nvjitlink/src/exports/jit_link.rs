//! `nvJitLink.h`. Programs call the functions with a version in their name
//! (`__nvJitLinkCreate_13_5`), which `crates/culibs/link/nvjitlink.c` forwards to these.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cuda_abi::host::{Ptr, get, put_bytes, put_u64};
use culibs::handles::Handles;

use super::{enter, input, text, words};
use crate::LinkResult;
use crate::jit_link::{Link, Outcome, Part};

/// Links by handle.
static LINKS: Handles<Arc<Mutex<Link>>> = Handles::new(0x6c6e_6b00_0000);

/// The version by the name of the library: that of the newest one of CUDA 12, and of CUDA 13.
const VERSIONS: [(u32, u32); 2] = [(12, 9), (13, 5)];

/// Exports functions, and declares `link_functions`.
macro_rules! functions {
    ($($name:ident($($arg:ident: $ty:ty),* $(,)?) => $body:expr;)+) => {
        $(
            #[unsafe(no_mangle)]
            pub extern "C" fn $name($($arg: $ty),*) -> i32 {
                enter(LinkResult::ERROR_INTERNAL.0, || {
                    let end: Outcome = $body;
                    end.map_err(|status| status.0)
                })
            }
        )+

        /// Returns the names of the functions.
        #[must_use]
        pub fn link_functions() -> Vec<&'static str> {
            vec![$(stringify!($name)),+]
        }
    };
}

functions! {
    nvJitLinkCreate(out: Ptr, count: u32, options: Ptr) => create(out, count, options);
    nvJitLinkDestroy(handle: Ptr) => destroy(handle);
    nvJitLinkAddData(handle: u64, kind: i32, data: Ptr, len: usize, name: Ptr)
        => add(handle, kind, data, len, name);
    nvJitLinkAddFile(handle: u64, kind: i32, path: Ptr) => add_file(handle, kind, path);
    nvJitLinkComplete(handle: u64) => with(handle, Link::complete);
    nvJitLinkGetLinkedCubinSize(handle: u64, out: Ptr) => size(handle, Part::Cubin, out);
    nvJitLinkGetLinkedCubin(handle: u64, out: Ptr) => copy(handle, Part::Cubin, out);
    nvJitLinkGetLinkedPtxSize(handle: u64, out: Ptr) => size(handle, Part::Ptx, out);
    nvJitLinkGetLinkedPtx(handle: u64, out: Ptr) => copy(handle, Part::Ptx, out);
    nvJitLinkGetLinkedLTOIRSize(handle: u64, out: Ptr) => size(handle, Part::LtoIr, out);
    nvJitLinkGetLinkedLTOIR(handle: u64, out: Ptr) => copy(handle, Part::LtoIr, out);
    nvJitLinkGetErrorLogSize(handle: u64, out: Ptr) => size(handle, Part::Errors, out);
    nvJitLinkGetErrorLog(handle: u64, out: Ptr) => copy(handle, Part::Errors, out);
    nvJitLinkGetInfoLogSize(handle: u64, out: Ptr) => size(handle, Part::Info, out);
    nvJitLinkGetInfoLog(handle: u64, out: Ptr) => copy(handle, Part::Info, out);
    nvJitLinkVersion(major: Ptr, minor: Ptr) => version(major, minor);
}

/// The status of an access to the client's memory that is not possible.
fn invalid(_: cuda_abi::Status) -> LinkResult {
    LinkResult::ERROR_INVALID_INPUT
}

/// Refuses null pointers.
fn given(pointer: Ptr) -> Outcome {
    if pointer == 0 { Err(LinkResult::ERROR_NULL_INPUT) } else { Ok(()) }
}

fn with<R>(handle: u64, body: impl FnOnce(&mut Link) -> Outcome<R>) -> Outcome<R> {
    given(handle as Ptr)?;
    let link = LINKS.get(handle).map_err(|_| LinkResult::ERROR_INVALID_INPUT)?;
    let mut link: MutexGuard<'_, Link> = link.lock().unwrap_or_else(PoisonError::into_inner);
    body(&mut link)
}

fn create(out: Ptr, count: u32, options: Ptr) -> Outcome {
    given(out)?;
    if count > 0 {
        given(options)?;
    }
    let words = words(count as usize, options).map_err(|_| LinkResult::ERROR_NULL_INPUT)?;
    let (link, end) = Link::new(words);
    let handle = LINKS.add(Arc::new(Mutex::new(link)));
    if put_u64(out, handle).is_err() {
        // It has just been added.
        let _ = LINKS.remove(handle);
        return Err(LinkResult::ERROR_INVALID_INPUT);
    }
    end
}

fn destroy(at: Ptr) -> Outcome {
    given(at)?;
    let handle: u64 = get(at).map_err(invalid)?;
    given(handle as Ptr)?;
    LINKS.remove(handle).map_err(|_| LinkResult::ERROR_INVALID_INPUT)?;
    put_u64(at, 0).map_err(invalid)
}

fn add(handle: u64, kind: i32, data: Ptr, len: usize, name: Ptr) -> Outcome {
    with(handle, |_| Ok(()))?;
    let name = if name == 0 { "(null)".to_owned() } else { text(name).map_err(invalid)? };
    let bytes = input(data, len).map_err(invalid)?;
    with(handle, |link| link.add(kind, bytes, &name))
}

fn add_file(handle: u64, kind: i32, path: Ptr) -> Outcome {
    given(path)?;
    with(handle, |_| Ok(()))?;
    let path = text(path).map_err(invalid)?;
    with(handle, |link| link.add_file(kind, &path))
}

fn size(handle: u64, part: Part, out: Ptr) -> Outcome {
    given(out)?;
    let bytes = with(handle, |link| link.part(part))?;
    put_u64(out, bytes.len() as u64).map_err(invalid)
}

fn copy(handle: u64, part: Part, out: Ptr) -> Outcome {
    given(out)?;
    let bytes = with(handle, |link| link.part(part))?;
    if bytes.is_empty() {
        return Ok(());
    }
    put_bytes(out, &bytes).map_err(invalid)
}

fn version(major: Ptr, minor: Ptr) -> Outcome {
    given(major)?;
    given(minor)?;
    let (number, last) = own_version();
    cuda_abi::host::put(major, &number).map_err(invalid)?;
    cuda_abi::host::put(minor, &last).map_err(invalid)
}

/// Returns the version, which follows the name of the file from which this library was loaded.
pub(super) fn own_version() -> (u32, u32) {
    let own = culibs::driver::own_version();
    VERSIONS.into_iter().find(|&(major, _)| Some(major) == own).unwrap_or(VERSIONS[1])
}
