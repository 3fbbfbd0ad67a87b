//! The driver library: found by name or path, opened, never closed.
#![allow(unsafe_code, reason = "functions of the dynamic linker")]

use std::ffi::{CStr, CString};
use std::path::Path;

use super::calls::Calls;
use super::{DeviceError, Result};

/// The name under which NVIDIA's driver is installed.
const NAME: &str = "libcuda.so.1";

/// A function that our own driver library has, and no other.
const OUR_MARK: &CStr = c"simtlab_unsupported";

/// An open driver library.
#[derive(Debug)]
pub struct Library {
    calls: Calls,
    path: String,
    marked: bool,
}

impl Library {
    /// Opens the library at a path, or the one that the system finds by its name.
    ///
    /// # Errors
    /// If there is none, or it lacks functions.
    pub fn open(path: Option<&Path>) -> Result<Self> {
        let name = path.map_or_else(|| NAME.to_owned(), |p| p.display().to_string());
        let handle = open(&name)?;
        let address = |function: &CStr| symbol(handle, function);
        let path = file_of(address(c"cuInit")).unwrap_or_else(|| name.clone());
        let calls = Calls::load(&address).map_err(|function| DeviceError::Function {
            path: path.clone(),
            function: function.to_owned(),
        })?;
        Ok(Self { calls, path, marked: address(OUR_MARK) != 0 })
    }

    pub(super) fn calls(&self) -> &Calls {
        &self.calls
    }

    /// The file that it was loaded from.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Whether it is Simtlab's own library: it has a function of its own, or the device has an
    /// identity of its own.
    ///
    /// # Errors
    /// If the device does not give its identity.
    pub fn simulated(&self, device: &super::Device<'_>) -> Result<bool> {
        Ok(self.marked || device.uuid()?.starts_with(b"simtlab-device-"))
    }

    /// Whether it has the function that only Simtlab's own library has. Can be asked before the
    /// driver is initialised.
    #[must_use]
    pub fn marked(&self) -> bool {
        self.marked
    }
}

#[cfg(unix)]
fn open(name: &str) -> Result<usize> {
    let failed = |reason: String| DeviceError::Library { path: name.to_owned(), reason };
    let text = CString::new(name).map_err(|_| failed("it is not a file name".to_owned()))?;
    // SAFETY: the name is a C string; the library's initialisers are its own.
    let handle = unsafe { libc::dlopen(text.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if !handle.is_null() {
        return Ok(handle.expose_provenance());
    }
    // SAFETY: the linker gives a C string for this thread, or null.
    let said = unsafe { libc::dlerror() };
    if said.is_null() {
        return Err(failed("the dynamic linker gives no reason".to_owned()));
    }
    // SAFETY: as above; it is copied before the linker is called again.
    let said = unsafe { CStr::from_ptr(said) };
    Err(failed(said.to_string_lossy().into_owned()))
}

#[cfg(not(unix))]
fn open(name: &str) -> Result<usize> {
    let reason = "drivers are opened on Unix systems alone".to_owned();
    Err(DeviceError::Library { path: name.to_owned(), reason })
}

/// The address of a function; 0 if there is none.
#[cfg(unix)]
fn symbol(handle: usize, name: &CStr) -> usize {
    // SAFETY: the handle is one that `dlopen` has given and nobody closes; the name is a C string.
    unsafe { libc::dlsym(std::ptr::with_exposed_provenance_mut(handle), name.as_ptr()) }.addr()
}

#[cfg(not(unix))]
fn symbol(_handle: usize, _name: &CStr) -> usize {
    0
}

/// The file that an address was loaded from.
#[cfg(unix)]
fn file_of(address: usize) -> Option<String> {
    let mut info = libc::Dl_info {
        dli_fname: std::ptr::null(),
        dli_fbase: std::ptr::null_mut(),
        dli_sname: std::ptr::null(),
        dli_saddr: std::ptr::null_mut(),
    };
    // SAFETY: `info` is a place for the answer; an address that belongs to no file gives 0.
    let found = unsafe { libc::dladdr(std::ptr::without_provenance(address), &raw mut info) };
    if found == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the linker's name of a loaded file is a C string that lives as long as the file is
    // loaded.
    Some(unsafe { CStr::from_ptr(info.dli_fname) }.to_string_lossy().into_owned())
}

#[cfg(not(unix))]
fn file_of(_address: usize) -> Option<String> {
    None
}
