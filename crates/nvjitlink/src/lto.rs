//! LTO-IR, which NVIDIA's library compiles to PTX.
//!
//! That library has the name of this one, so the dynamic linker cannot tell them apart by name.
//! `crates/culibs/link/nvjitlink.c` looks for it, and gives this module its functions when the
//! shared library is loaded.
#![allow(unsafe_code, reason = "functions of another library are found by name")]

use std::ffi::{CStr, CString, c_char, c_void};
use std::sync::OnceLock;

use crate::LinkResult;

/// Finds a function of NVIDIA's library by name; null if there is no such library.
type Finder = extern "C" fn(*const c_char) -> *mut c_void;

static FINDER: OnceLock<Finder> = OnceLock::new();

/// Takes the function that finds those of NVIDIA's library.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn simtlab_nvjitlink_provide(finder: Finder) {
    // The first is kept.
    let _ = FINDER.set(finder);
}

type Create = unsafe extern "C" fn(*mut usize, u32, *const *const c_char) -> i32;
type Destroy = unsafe extern "C" fn(*mut usize) -> i32;
type AddData = unsafe extern "C" fn(usize, i32, *const c_void, usize, *const c_char) -> i32;
type Complete = unsafe extern "C" fn(usize) -> i32;
type Size = unsafe extern "C" fn(usize, *mut usize) -> i32;
type Copy = unsafe extern "C" fn(usize, *mut u8) -> i32;

/// The functions of NVIDIA's library.
struct Functions {
    create: Create,
    destroy: Destroy,
    add: AddData,
    complete: Complete,
    ptx: (Size, Copy),
    errors: (Size, Copy),
    info: (Size, Copy),
}

impl Functions {
    fn find() -> Option<Self> {
        let finder = FINDER.get()?;
        let find = |name: &CStr| {
            let found = finder(name.as_ptr());
            (!found.is_null()).then_some(found)
        };
        let pair = |size, copy| Some((find(size)?, find(copy)?));
        let ptx = pair(c"nvJitLinkGetLinkedPtxSize", c"nvJitLinkGetLinkedPtx")?;
        let errors = pair(c"nvJitLinkGetErrorLogSize", c"nvJitLinkGetErrorLog")?;
        let info = pair(c"nvJitLinkGetInfoLogSize", c"nvJitLinkGetInfoLog")?;
        // SAFETY: NVIDIA's functions of these names have these types (`nvJitLink.h`), in all
        // versions.
        unsafe {
            let pair = |(size, copy)| {
                (
                    std::mem::transmute::<*mut c_void, Size>(size),
                    std::mem::transmute::<*mut c_void, Copy>(copy),
                )
            };
            Some(Self {
                create: std::mem::transmute::<*mut c_void, Create>(find(c"nvJitLinkCreate")?),
                destroy: std::mem::transmute::<*mut c_void, Destroy>(find(c"nvJitLinkDestroy")?),
                add: std::mem::transmute::<*mut c_void, AddData>(find(c"nvJitLinkAddData")?),
                complete: std::mem::transmute::<*mut c_void, Complete>(find(c"nvJitLinkComplete")?),
                ptx: pair(ptx),
                errors: pair(errors),
                info: pair(info),
            })
        }
    }
}

/// An input that holds LTO-IR, with the number of its kind.
#[derive(Clone, Debug)]
pub(crate) struct LtoInput {
    pub(crate) kind: i32,
    pub(crate) bytes: Vec<u8>,
    pub(crate) name: String,
}

/// What NVIDIA's library has made of inputs.
pub(crate) struct Compiled {
    pub(crate) text: String,
    pub(crate) info: String,
}

/// A link of NVIDIA's library, destroyed on drop.
struct Other<'f> {
    functions: &'f Functions,
    handle: usize,
}

impl Drop for Other<'_> {
    fn drop(&mut self) {
        // SAFETY: the library has made the handle, and nobody else has it.
        let _ = unsafe { (self.functions.destroy)(&raw mut self.handle) };
    }
}

impl Other<'_> {
    /// Returns what a pair of functions gives: a text with its length.
    fn text(&self, (size, copy): (Size, Copy)) -> Option<String> {
        let mut len = 0;
        // SAFETY: the handle is the library's, and `len` is valid for writes.
        if unsafe { size(self.handle, &raw mut len) } != 0 {
            return None;
        }
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(len).ok()?;
        bytes.resize(len, 0_u8);
        // SAFETY: the handle is the library's, and `bytes` has as many bytes as it asked for.
        if len > 0 && unsafe { copy(self.handle, bytes.as_mut_ptr()) } != 0 {
            return None;
        }
        let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(len);
        Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
    }

    fn add(&self, input: &LtoInput) -> i32 {
        let name = CString::new(input.name.as_str()).unwrap_or_default();
        let data = input.bytes.as_ptr().cast();
        // SAFETY: the handle is the library's; data and name live during the call, which copies
        // them.
        unsafe {
            (self.functions.add)(self.handle, input.kind, data, input.bytes.len(), name.as_ptr())
        }
    }

    fn result(&self, status: i32) -> Result<(), (LinkResult, String)> {
        match status {
            0 => Ok(()),
            status => {
                let log = self.text(self.functions.errors).unwrap_or_default();
                Err((LinkResult(status), log))
            }
        }
    }
}

/// Compiles LTO-IR to PTX with the options of a link.
///
/// # Errors
/// Returns the status and the lines of the error log: those of NVIDIA's library, or that it is not
/// there.
pub(crate) fn compile(
    options: &[String],
    inputs: &[LtoInput],
) -> Result<Compiled, (LinkResult, String)> {
    let functions = Functions::find().ok_or_else(|| {
        let text = "LTO-IR is compiled by NVIDIA's libnvJitLink, which is not found: put its \
             folder on LD_LIBRARY_PATH, or name the file with SIMTLAB_NVJITLINK \
             (pip install nvidia-nvjitlink has it)";
        (LinkResult::ERROR_NVVM_COMPILE, format!("ERROR NVJITLINK_ERROR_NVVM_COMPILE: {text}\n"))
    })?;
    // The result is PTX, with names that other inputs define.
    let kept = options.iter().filter(|o| !matches!(o.as_str(), "-r" | "-ptx"));
    let mut words: Vec<CString> =
        kept.filter_map(|option| CString::new(option.as_str()).ok()).collect();
    words.push(c"-ptx".to_owned());
    let addresses: Vec<*const c_char> = words.iter().map(|word| word.as_ptr()).collect();
    let mut handle = 0;
    // SAFETY: `handle` is valid for writes, and the list has as many C strings as it says.
    let status =
        unsafe { (functions.create)(&raw mut handle, addresses.len() as u32, addresses.as_ptr()) };
    if handle == 0 {
        let text = "ERROR NVJITLINK_ERROR_INTERNAL: NVIDIA's library makes no link\n";
        return Err((LinkResult::ERROR_INTERNAL, text.to_owned()));
    }
    let other = Other { functions: &functions, handle };
    other.result(status)?;
    for input in inputs {
        other.result(other.add(input))?;
    }
    // SAFETY: the handle is the library's.
    other.result(unsafe { (functions.complete)(handle) })?;
    let text = other.text(functions.ptx).ok_or((LinkResult::ERROR_INTERNAL, String::new()))?;
    let info = other.text(functions.info).unwrap_or_default();
    Ok(Compiled { text, info })
}
