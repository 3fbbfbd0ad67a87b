//! Handles. Those of cuBLAS are valid here, too.

use culibs::device::put_host;
use culibs::driver::other_library_knows;
use culibs::handles::Handles;
use culibs::stream::{check_context, context};
use culibs::{Error, Outcome, Ptr};

/// Contexts of handles.
static HANDLES: Handles<u64> = Handles::new(0x5f_0000_0000);

pub(crate) fn create(out: Ptr) -> Outcome {
    if out == 0 {
        return Err(Error::InvalidValue);
    }
    let handle = HANDLES.add(context()?);
    put_host(out, handle).inspect_err(|_| {
        let _ = HANDLES.remove(handle);
    })
}

pub(crate) fn destroy(handle: u64) -> Outcome {
    HANDLES.remove(handle).map(drop)
}

/// Checks a handle.
pub(crate) fn check(handle: u64) -> Outcome {
    match HANDLES.get(handle) {
        Ok(context) => check_context(context),
        Err(error) => {
            let known = |library| other_library_knows(library, c"simtlab_cublas_handle", handle);
            if known(c"libcublas.so.12") || known(c"libcublas.so.13") { Ok(()) } else { Err(error) }
        }
    }
}
