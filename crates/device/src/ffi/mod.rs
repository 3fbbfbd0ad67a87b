//! The driver's functions as safe calls.
//!
//! Handles are values with lifetimes: a module cannot outlive its context, nor a function its
//! module. What is dropped is given back to the driver. All unsafe code of this crate is here.
#![allow(unsafe_code, reason = "functions of the driver are called by address")]

mod calls;
mod library;

use std::ffi::{CStr, CString, c_int, c_void};
use std::marker::PhantomData;

use crate::error::DeviceError;
use calls::Status;
pub use library::Library;

type Result<T> = std::result::Result<T, DeviceError>;

/// `CUDA_ERROR_OUT_OF_MEMORY`.
const OUT_OF_MEMORY: Status = 2;
/// `CUDA_ERROR_NO_DEVICE`.
const NO_DEVICE: Status = 100;
/// `CUDA_ERROR_UNSUPPORTED_PTX_VERSION`.
const UNSUPPORTED_PTX_VERSION: Status = 222;

/// Attributes of devices, by their numbers in the public interface.
#[derive(Clone, Copy, Debug)]
pub enum Attribute {
    /// Lanes of a warp.
    WarpSize = 10,
    /// Clock rate in kHz.
    ClockRate = 13,
    /// Streaming multiprocessors.
    Multiprocessors = 16,
    /// Capability before the dot.
    Major = 75,
    /// Capability behind the dot.
    Minor = 76,
    /// Bytes of shared memory that a block may ask for.
    SharedOptIn = 97,
}

/// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`.
const MAX_DYNAMIC_SHARED: c_int = 8;
/// Bytes of dynamic shared memory that need no attribute.
const SHARED_WITHOUT_ASKING: u32 = 48 << 10;

/// Bytes of the compiler's messages that are kept.
const LOG_BYTES: usize = 16 << 10;

impl Library {
    /// The error for a call's result.
    fn error(&self, call: &str, code: Status) -> DeviceError {
        let text = |function: calls::ErrorText| {
            let mut at = std::ptr::null();
            // SAFETY: the function has this type by the public interface, and `at` is a place for
            // its answer.
            let status = unsafe { function(code, &raw mut at) };
            if status != 0 || at.is_null() {
                return None;
            }
            // SAFETY: the driver gives a C string that lives as long as the library, which is never
            // closed.
            Some(unsafe { CStr::from_ptr(at) }.to_string_lossy().into_owned())
        };
        let calls = self.calls();
        DeviceError::Call {
            call: call.to_owned(),
            code,
            name: text(calls.cuGetErrorName).unwrap_or_else(|| "an unknown error".to_owned()),
            about: text(calls.cuGetErrorString).unwrap_or_default(),
        }
    }

    fn check(&self, call: &str, code: Status) -> Result<()> {
        if code == 0 { Ok(()) } else { Err(self.error(call, code)) }
    }

    /// Initialises the driver; gives its CUDA version, 12090 for 12.9.
    ///
    /// # Errors
    /// If there is no device, or the driver does not start.
    pub fn initialise(&self) -> Result<i32> {
        // SAFETY: the type is the public interface's; 0 is the only value of the flags.
        let code = unsafe { (self.calls().cuInit)(0) };
        if code == NO_DEVICE {
            return Err(DeviceError::NoDevice { ordinal: 0, count: 0 });
        }
        self.check("cuInit", code)?;
        let mut version = 0;
        // SAFETY: as above, with a place for the answer.
        let code = unsafe { (self.calls().cuDriverGetVersion)(&raw mut version) };
        self.check("cuDriverGetVersion", code)?;
        Ok(version)
    }

    /// The device of this number.
    ///
    /// # Errors
    /// If there is none.
    pub fn device(&self, ordinal: i32) -> Result<Device<'_>> {
        let (mut count, mut id) = (0, 0);
        // SAFETY: the type is the public interface's, with a place for the answer.
        let code = unsafe { (self.calls().cuDeviceGetCount)(&raw mut count) };
        self.check("cuDeviceGetCount", code)?;
        if !(0..count).contains(&ordinal) {
            return Err(DeviceError::NoDevice { ordinal, count });
        }
        // SAFETY: as above.
        let code = unsafe { (self.calls().cuDeviceGet)(&raw mut id, ordinal) };
        self.check("cuDeviceGet", code)?;
        Ok(Device { library: self, id })
    }
}

/// A device.
#[derive(Clone, Copy, Debug)]
pub struct Device<'l> {
    library: &'l Library,
    id: c_int,
}

impl<'l> Device<'l> {
    /// Its name, as the driver gives it.
    ///
    /// # Errors
    /// If the call fails.
    pub fn name(&self) -> Result<String> {
        let mut text = [0_u8; 256];
        let room = text.len() as c_int - 1;
        // SAFETY: the type is the public interface's; the driver writes at most `room` bytes.
        let code = unsafe {
            (self.library.calls().cuDeviceGetName)(text.as_mut_ptr().cast(), room, self.id)
        };
        self.library.check("cuDeviceGetName", code)?;
        let end = text.iter().position(|&b| b == 0).unwrap_or(0);
        Ok(String::from_utf8_lossy(&text[..end]).into_owned())
    }

    /// Its identity, 16 bytes.
    ///
    /// # Errors
    /// If the call fails.
    pub fn uuid(&self) -> Result<[u8; 16]> {
        let mut uuid = [0_u8; 16];
        // SAFETY: the type is the public interface's; the answer has 16 bytes.
        let code = unsafe { (self.library.calls().cuDeviceGetUuid)(uuid.as_mut_ptr(), self.id) };
        self.library.check("cuDeviceGetUuid", code)?;
        Ok(uuid)
    }

    /// Bytes of memory.
    ///
    /// # Errors
    /// If the call fails.
    pub fn memory(&self) -> Result<u64> {
        let mut bytes = 0;
        // SAFETY: the type is the public interface's, with a place for the answer.
        let code = unsafe { (self.library.calls().cuDeviceTotalMem_v2)(&raw mut bytes, self.id) };
        self.library.check("cuDeviceTotalMem", code)?;
        Ok(bytes as u64)
    }

    /// An attribute.
    ///
    /// # Errors
    /// If the call fails.
    pub fn attribute(&self, attribute: Attribute) -> Result<i32> {
        let mut value = 0;
        // SAFETY: the type is the public interface's, with a place for the answer.
        let code = unsafe {
            (self.library.calls().cuDeviceGetAttribute)(&raw mut value, attribute as c_int, self.id)
        };
        self.library.check("cuDeviceGetAttribute", code)?;
        Ok(value)
    }

    /// The device's primary context, made current in this thread.
    ///
    /// # Errors
    /// If the device refuses, for instance because another process has it for itself.
    pub fn context(&self) -> Result<Context<'l>> {
        let mut handle = std::ptr::null_mut();
        let calls = self.library.calls();
        // SAFETY: the type is the public interface's, with a place for the answer.
        let code = unsafe { (calls.cuDevicePrimaryCtxRetain)(&raw mut handle, self.id) };
        self.library.check("cuDevicePrimaryCtxRetain", code)?;
        let context = Context { library: self.library, device: self.id, only: PhantomData };
        // SAFETY: the handle has just been given by the driver.
        let code = unsafe { (calls.cuCtxSetCurrent)(handle) };
        self.library.check("cuCtxSetCurrent", code)?;
        Ok(context)
    }
}

/// A context, current in the thread that made it.
#[derive(Debug)]
pub struct Context<'l> {
    library: &'l Library,
    device: c_int,
    /// Contexts are current in one thread.
    only: PhantomData<*const ()>,
}

impl Drop for Context<'_> {
    fn drop(&mut self) {
        // SAFETY: the context was retained once. What fails here has nobody to hear of it.
        let _ = unsafe { (self.library.calls().cuDevicePrimaryCtxRelease_v2)(self.device) };
    }
}

impl Context<'_> {
    /// Free and total bytes of the device's memory.
    ///
    /// # Errors
    /// If the call fails.
    pub fn memory(&self) -> Result<(u64, u64)> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: the type is the public interface's, with places for the answers.
        let code = unsafe { (self.library.calls().cuMemGetInfo_v2)(&raw mut free, &raw mut total) };
        self.library.check("cuMemGetInfo", code)?;
        Ok((free as u64, total as u64))
    }

    /// Memory with these contents. Empty memory has an address, too.
    ///
    /// # Errors
    /// If there is no room.
    pub fn allocate(&self, contents: &[u8]) -> Result<Memory<'_>> {
        let mut address = 0;
        // SAFETY: the type is the public interface's, with a place for the answer.
        let code = unsafe {
            (self.library.calls().cuMemAlloc_v2)(&raw mut address, contents.len().max(1))
        };
        if code == OUT_OF_MEMORY {
            let (free, total) = self.memory()?;
            return Err(DeviceError::Memory { needed: contents.len() as u64, free, total });
        }
        self.library.check("cuMemAlloc", code)?;
        let memory = Memory { context: self, address, length: contents.len() };
        if !contents.is_empty() {
            // SAFETY: the memory was allocated with this length; the source is as long.
            let code = unsafe {
                let copy = self.library.calls().cuMemcpyHtoD_v2;
                copy(address, contents.as_ptr().cast(), contents.len())
            };
            self.library.check("cuMemcpyHtoD", code)?;
        }
        Ok(memory)
    }

    /// Compiles and loads a program.
    ///
    /// # Errors
    /// If the driver's compiler refuses it; with its messages.
    pub fn load(&self, text: &CStr) -> Result<Module<'_>> {
        let mut log = vec![0_u8; LOG_BYTES];
        let mut handle = std::ptr::null_mut();
        // CU_JIT_ERROR_LOG_BUFFER and CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES.
        let mut options: [c_int; 2] = [5, 6];
        let mut values: [*mut c_void; 2] =
            [log.as_mut_ptr().cast(), std::ptr::without_provenance_mut(LOG_BYTES - 1)];
        // SAFETY: the text ends with a null byte; options and values are as many as is said, and
        // the buffer of messages is as long as its option says.
        let code = unsafe {
            (self.library.calls().cuModuleLoadDataEx)(
                &raw mut handle,
                text.as_ptr().cast(),
                options.len() as u32,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        if code == 0 {
            return Ok(Module { context: self, handle });
        }
        let end = log.iter().position(|&b| b == 0).unwrap_or(0);
        let log = String::from_utf8_lossy(&log[..end]).trim().to_owned();
        Err(match self.library.error("cuModuleLoadDataEx", code) {
            DeviceError::Call { code: UNSUPPORTED_PTX_VERSION, .. } => {
                DeviceError::PtxVersion { text: String::new(), driver: String::new(), most: None }
            }
            DeviceError::Call { code, name, .. } if (200..=299).contains(&code) => {
                DeviceError::Compile { code, name, log }
            }
            other => other,
        })
    }

    /// Waits for all launches.
    ///
    /// # Errors
    /// What a launch has done wrong.
    pub fn synchronise(&self) -> Result<()> {
        // SAFETY: the type is the public interface's.
        let code = unsafe { (self.library.calls().cuCtxSynchronize)() };
        self.library.check("cuCtxSynchronize", code)
    }

    /// A point in the order of launches whose time is taken.
    ///
    /// # Errors
    /// If the call fails.
    pub fn event(&self) -> Result<Event<'_>> {
        let mut handle = std::ptr::null_mut();
        let calls = self.library.calls();
        // SAFETY: the type is the public interface's, with a place for the answer.
        let code = unsafe { (calls.cuEventCreate)(&raw mut handle, 0) };
        self.library.check("cuEventCreate", code)?;
        let event = Event { context: self, handle };
        // SAFETY: the event has just been made; the null stream is the default one.
        let code = unsafe { (calls.cuEventRecord)(handle, std::ptr::null_mut()) };
        self.library.check("cuEventRecord", code)?;
        Ok(event)
    }
}

/// A point in the order of launches.
#[derive(Debug)]
pub struct Event<'c> {
    context: &'c Context<'c>,
    handle: *mut c_void,
}

impl Event<'_> {
    /// Milliseconds from an earlier event to this one; both have happened.
    ///
    /// # Errors
    /// If the call fails.
    pub fn since(&self, earlier: &Event<'_>) -> Result<f32> {
        let mut ms = 0.0;
        let library = self.context.library;
        // SAFETY: both events are alive, and there is a place for the answer.
        let code = unsafe {
            (library.calls().cuEventElapsedTime)(&raw mut ms, earlier.handle, self.handle)
        };
        library.check("cuEventElapsedTime", code)?;
        Ok(ms)
    }
}

impl Drop for Event<'_> {
    fn drop(&mut self) {
        // SAFETY: the event was made once and is not used again. What fails here has nobody to hear
        // of it.
        let _ = unsafe { (self.context.library.calls().cuEventDestroy_v2)(self.handle) };
    }
}

/// Memory of a device.
#[derive(Debug)]
pub struct Memory<'c> {
    context: &'c Context<'c>,
    address: u64,
    length: usize,
}

impl Memory<'_> {
    /// Its address on the device.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Its contents.
    ///
    /// # Errors
    /// If a launch before has failed, or the host has no room.
    pub fn read(&self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(self.length).map_err(|e| DeviceError::Request(e.to_string()))?;
        bytes.resize(self.length, 0);
        if self.length > 0 {
            let library = self.context.library;
            // SAFETY: the destination and the memory have this length.
            let code = unsafe {
                let copy = library.calls().cuMemcpyDtoH_v2;
                copy(bytes.as_mut_ptr().cast(), self.address, self.length)
            };
            library.check("cuMemcpyDtoH", code)?;
        }
        Ok(bytes)
    }
}

impl Drop for Memory<'_> {
    fn drop(&mut self) {
        // SAFETY: the memory was allocated once and is not used again; the driver waits for
        // launches that may use it.
        let _ = unsafe { (self.context.library.calls().cuMemFree_v2)(self.address) };
    }
}

/// A loaded program.
#[derive(Debug)]
pub struct Module<'c> {
    context: &'c Context<'c>,
    handle: *mut c_void,
}

impl Drop for Module<'_> {
    fn drop(&mut self) {
        // SAFETY: the module was loaded once, and its functions cannot outlive it.
        let _ = unsafe { (self.context.library.calls().cuModuleUnload)(self.handle) };
    }
}

impl Module<'_> {
    /// A kernel by its name.
    ///
    /// # Errors
    /// If the program has none of this name.
    pub fn kernel(&self, name: &str) -> Result<Kernel<'_>> {
        let library = self.context.library;
        let wanted = CString::new(name)
            .map_err(|_| DeviceError::Request(format!("`{name:?}` is not a kernel's name")))?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: the module is alive, the name a C string, and there is a place for the answer.
        let code = unsafe {
            (library.calls().cuModuleGetFunction)(&raw mut handle, self.handle, wanted.as_ptr())
        };
        library.check("cuModuleGetFunction", code)?;
        Ok(Kernel { module: self, handle })
    }
}

/// A kernel.
#[derive(Debug)]
pub struct Kernel<'m> {
    module: &'m Module<'m>,
    handle: *mut c_void,
}

/// The extents of a launch.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared: u32,
}

impl Kernel<'_> {
    /// Launches it with this parameter block. The launch may still run when this returns.
    ///
    /// # Errors
    /// What the driver refuses.
    pub fn launch(&self, shape: &Shape, params: &[u8]) -> Result<()> {
        let library = self.module.context.library;
        let calls = library.calls();
        if shape.shared > SHARED_WITHOUT_ASKING {
            // SAFETY: the kernel is alive. The driver refuses sizes that the device does not have.
            let code = unsafe {
                let set = calls.cuFuncSetAttribute;
                set(self.handle, MAX_DYNAMIC_SHARED, shape.shared as c_int)
            };
            library.check("cuFuncSetAttribute", code)?;
        }
        let mut length = params.len();
        // CU_LAUNCH_PARAM_BUFFER_POINTER, CU_LAUNCH_PARAM_BUFFER_SIZE, CU_LAUNCH_PARAM_END.
        let mut extra: [*mut c_void; 5] = [
            std::ptr::without_provenance_mut(1),
            params.as_ptr().cast_mut().cast(),
            std::ptr::without_provenance_mut(2),
            (&raw mut length).cast(),
            std::ptr::null_mut(),
        ];
        let extra = if params.is_empty() { std::ptr::null_mut() } else { extra.as_mut_ptr() };
        let ([gx, gy, gz], [bx, by, bz]) = (shape.grid, shape.block);
        let (stream, pointers) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the kernel is alive; the driver copies the parameters, which are as many bytes as
        // is said, before it returns, and refuses a block that is not as long as the kernel's. The
        // kernel may touch any memory that the process shows the device: whoever calls this runs in
        // a process that exists for it (see `worker`).
        let code = unsafe {
            (calls.cuLaunchKernel)(
                self.handle,
                gx,
                gy,
                gz,
                bx,
                by,
                bz,
                shape.shared,
                stream,
                pointers,
                extra,
            )
        };
        library.check("cuLaunchKernel", code)
    }
}
