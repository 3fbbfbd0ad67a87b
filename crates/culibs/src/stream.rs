//! Contexts and streams: where work is done, and when.

use std::ffi::CStr;
use std::sync::Arc;

use cuda_abi::CUstreamCaptureStatus;
use cuda_abi::host::{Ptr, written};

use crate::call::{current, within};
use crate::driver::{
    cuCtxGetCurrent, cuCtxSetCurrent, cuDevicePrimaryCtxRetain, cuInit, cuLaunchHostFunc,
    cuStreamIsCapturing, note_failed,
};
use crate::error::{Error, Outcome};

/// Returns this thread's context: the current one, or the primary context of the first device,
/// which then becomes current.
///
/// # Errors
/// [`Error::Handle`] without a driver: no handle can be valid then.
pub fn context() -> Outcome<u64> {
    let found = || {
        cuInit(0)?;
        let current = written(0, cuCtxGetCurrent)?;
        if current != 0 {
            return Ok(current);
        }
        let primary = written(0, |at| cuDevicePrimaryCtxRetain(at, 0))?;
        cuCtxSetCurrent(primary)?;
        Ok(primary)
    };
    found().map_err(|_: cuda_abi::Status| Error::Handle)
}

/// Checks that a handle's context is the current one.
///
/// # Errors
/// [`Error::Handle`] if it is not.
pub fn check_context(of_handle: u64) -> Outcome {
    if context()? == of_handle { Ok(()) } else { Err(Error::Handle) }
}

/// Checks a stream that a client passes.
///
/// # Errors
/// [`Error::InvalidValue`] if there is no such stream.
pub fn check_stream(stream: u64) -> Outcome {
    use crate::driver::cuStreamGetFlags;
    context()?;
    written(0_u32, |at| cuStreamGetFlags(stream, at)).map(drop).map_err(|_| Error::InvalidValue)
}

/// Work of a call, which a graph can do again.
type Work = Arc<dyn Fn() -> Outcome + Send + Sync>;

struct Node {
    function: &'static CStr,
    work: Work,
}

/// Does work in a stream's order: now, for all work before it is done; or, if the stream captures,
/// whenever the graph is launched, as a host node.
///
/// # Errors
/// Those of the work, if it is done now; [`Error::Execution`] if the stream takes no work.
pub fn submit(stream: u64, work: impl Fn() -> Outcome + Send + Sync + 'static) -> Outcome {
    let capturing = written(0_i32, |at| cuStreamIsCapturing(stream, at));
    if capturing.map_err(|_| Error::Execution)? == CUstreamCaptureStatus::NONE as i32 {
        return work();
    }
    // The driver does not tell when a graph is gone: the node's work stays for good.
    let node: &'static Node =
        Box::leak(Box::new(Node { function: current(), work: Arc::new(work) }));
    let data = std::ptr::from_ref(node).expose_provenance();
    let function = run as extern "C" fn(Ptr) as *const () as usize;
    cuLaunchHostFunc(stream, function, data).map_err(|_| Error::Execution)
}

/// A host node's function.
#[allow(unsafe_code, reason = "the driver passes the address that it was given")]
extern "C" fn run(data: Ptr) {
    // SAFETY: `submit` passed the address of a node that lives for good.
    let node = unsafe { &*std::ptr::with_exposed_provenance::<Node>(data) };
    let end = within(node.function, || {
        context()?;
        (node.work)()
    });
    if let Err(error) = end
        && error != Error::Fault
    {
        note_failed(node.function, -1, c"", format!("in a graph: {error}"));
    }
}

/// Waits for all work of the context. Everything before has been done: this tells what has failed.
///
/// # Errors
/// [`Error::Execution`] if the context has failed.
pub fn synchronize() -> Outcome {
    crate::driver::cuCtxSynchronize().map_err(|_| Error::Execution)
}
