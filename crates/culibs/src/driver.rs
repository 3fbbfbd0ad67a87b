//! The driver API, opened by name on first use. Its functions are safe to call: they take addresses
//! as numbers, and check them as they check those of any client.
#![allow(unsafe_code, reason = "functions of another library are found by name")]
#![allow(non_snake_case, reason = "names as the driver API writes them")]
#![allow(missing_docs, reason = "the public documentation of these functions is CUDA's")]

use std::ffi::{CStr, CString};
use std::path::Path;
use std::sync::OnceLock;

use cuda_abi::host::Ptr;
use cuda_abi::{Outcome, Status, c_str};

/// Returns the dynamic linker's handle of the driver library; 0 if there is none.
fn library() -> usize {
    static LIBRARY: OnceLock<usize> = OnceLock::new();
    *LIBRARY.get_or_init(|| open(c"libcuda.so.1"))
}

fn open(name: &CStr) -> usize {
    // SAFETY: the name is a C string. The library's initialisers are trusted.
    unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) }.addr()
}

/// Loads a file as the driver library, which is found by its soname from then on: for programs
/// without a search path for it, such as tests. Returns whether that worked.
#[must_use]
pub fn load(file: &Path) -> bool {
    let name = CString::new(file.as_os_str().as_encoded_bytes());
    name.is_ok_and(|name| open(&name) != 0)
}

/// Returns the address of a driver function; 0 if it does not exist.
fn address(name: &CStr) -> usize {
    match library() {
        0 => 0,
        // SAFETY: `dlopen` returned the handle, which is never closed; the name is a C string.
        library => unsafe { libc::dlsym(library as *mut libc::c_void, name.as_ptr()) }.addr(),
    }
}

/// Returns whether a library with this name is loaded, and has a function that says yes to a
/// handle. The function has the type `int(uint64_t)`.
#[must_use]
pub fn other_library_knows(library: &CStr, function: &CStr, handle: u64) -> bool {
    // SAFETY: the names are C strings. A library that is not loaded is not loaded now.
    let found = unsafe {
        let library = libc::dlopen(library.as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD);
        if library.is_null() {
            return false;
        }
        libc::dlsym(library, function.as_ptr())
    };
    if found.is_null() {
        return false;
    }
    // SAFETY: by the contract of this function, that is its type.
    let knows =
        unsafe { std::mem::transmute::<*mut libc::c_void, extern "C" fn(u64) -> i32>(found) };
    knows(handle) != 0
}

/// Returns the version in the soname of the file from which this library was loaded:
/// 12 for `libcublas.so.12`.
#[must_use]
pub fn own_version() -> Option<u32> {
    let mut info = libc::Dl_info {
        dli_fname: std::ptr::null(),
        dli_fbase: std::ptr::null_mut(),
        dli_sname: std::ptr::null(),
        dli_saddr: std::ptr::null_mut(),
    };
    let here = own_version as *const () as *const libc::c_void;
    // SAFETY: `here` is an address in this library, and `info` is valid for writes.
    if unsafe { libc::dladdr(here, &raw mut info) } == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the dynamic linker's name of a loaded file is a C string that lives as long as the
    // file is loaded.
    let file = unsafe { CStr::from_ptr(info.dli_fname) }.to_string_lossy().into_owned();
    let (_, version) = file.rsplit_once(".so.")?;
    version.split('.').next()?.parse().ok()
}

/// Records an unsupported call in the driver's event log.
pub(crate) fn note_unsupported(name: &CStr) {
    let _ = cuInit(0);
    let note = address(c"simtlab_unsupported");
    if note != 0 {
        // SAFETY: our driver library's function of this name has this type.
        let note = unsafe { std::mem::transmute::<usize, extern "C" fn(Ptr) -> i32>(note) };
        note(name.as_ptr().expose_provenance());
    }
}

/// Marks a call of this library while it lives: the driver does not take calls in the meantime for
/// the client's, and does not record their failures.
pub(crate) struct OuterCall;

impl OuterCall {
    /// A call of the function of this name.
    pub(crate) fn enter(name: &'static CStr) -> Self {
        announce(name.as_ptr().expose_provenance());
        Self
    }
}

impl Drop for OuterCall {
    fn drop(&mut self) {
        announce(0);
    }
}

fn announce(name: Ptr) {
    static ANNOUNCE: OnceLock<usize> = OnceLock::new();
    let announce = *ANNOUNCE.get_or_init(|| address(c"simtlab_within"));
    if announce != 0 {
        // SAFETY: this is the type of our driver library's function of this name.
        let announce = unsafe { std::mem::transmute::<usize, extern "C" fn(Ptr)>(announce) };
        announce(name);
    }
}

/// Records a failed call in the driver's event log.
pub(crate) fn note_failed(name: &CStr, status: i32, status_name: &CStr, arguments: String) {
    static NOTE: OnceLock<usize> = OnceLock::new();
    let note = *NOTE.get_or_init(|| address(c"simtlab_failed"));
    let Ok(arguments) = CString::new(arguments) else { return };
    if note != 0 {
        // SAFETY: our driver library's function of this name has this type.
        let note =
            unsafe { std::mem::transmute::<usize, extern "C" fn(Ptr, i32, Ptr, Ptr) -> i32>(note) };
        let at = |text: &CStr| text.as_ptr().expose_provenance();
        note(at(name), status, at(status_name), at(&arguments));
    }
}

macro_rules! driver {
    ($($name:ident($($arg:ident: $ty:ty),* $(,)?);)+) => {
        $(
            /// A function of the driver library.
            ///
            /// # Errors
            /// Its status; `CUDA_ERROR_NOT_FOUND` if there is no driver library of ours.
            pub fn $name($($arg: $ty),*) -> Outcome {
                type Function = extern "C" fn($($ty),*) -> i32;
                static ADDRESS: OnceLock<usize> = OnceLock::new();
                let at = *ADDRESS.get_or_init(|| address(c_str!(stringify!($name))));
                if at == 0 {
                    return Err(Status::NOT_FOUND);
                }
                // SAFETY: the function of this name has this type.
                let function = unsafe { std::mem::transmute::<usize, Function>(at) };
                match function($($arg),*) {
                    0 => Ok(()),
                    status => Err(Status(status)),
                }
            }
        )+
    };
}

driver! {
    cuInit(flags: u32);
    cuDriverGetVersion(out: Ptr);
    cuDeviceGetCount(out: Ptr);
    cuDeviceGetAttribute(out: Ptr, attribute: i32, device: i32);
    cuDeviceGetName(out: Ptr, len: i32, device: i32);
    cuDeviceGetUuid_v2(out: Ptr, device: i32);
    cuDeviceTotalMem_v2(out: Ptr, device: i32);
    cuDevicePrimaryCtxRetain(out: Ptr, device: i32);
    cuCtxGetCurrent(out: Ptr);
    cuCtxSetCurrent(context: u64);
    cuCtxGetDevice(out: Ptr);
    cuCtxSynchronize();
    cuStreamCreate(out: Ptr, flags: u32);
    cuStreamGetFlags(stream: u64, out: Ptr);
    cuStreamIsCapturing(stream: u64, out: Ptr);
    cuStreamBeginCapture_v2(stream: u64, mode: i32);
    cuStreamEndCapture(stream: u64, out: Ptr);
    cuGraphInstantiateWithFlags(out: Ptr, graph: u64, flags: u64);
    cuGraphLaunch(exec: u64, stream: u64);
    cuLaunchHostFunc(stream: u64, function: Ptr, data: Ptr);
    cuMemAlloc_v2(out: Ptr, len: usize);
    cuMemPoolGetAttribute(pool: u64, attribute: i32, out: Ptr);
    cuMemFree_v2(address: u64);
    cuMemcpyHtoD_v2(to: u64, from: Ptr, len: usize);
    cuMemcpyDtoH_v2(to: Ptr, from: u64, len: usize);
    cuPointerGetAttribute(out: Ptr, attribute: i32, address: u64);
    simtlab_listen(function: Ptr);
    simtlab_device(out: Ptr, device: i32);
    simtlab_transfer(function: Ptr, device: u64, host: Ptr, width: u64, height: u64, pitch: u64,
        store: i32);
}
