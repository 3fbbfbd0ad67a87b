//! Objects with parameters of solvers: they are kept, and change nothing but whether eigenvalues of
//! `syevj` are sorted, which they always are.

use culibs::device::put_host;
use culibs::handles::Handles;
use culibs::{Error, Outcome, Ptr};

use crate::handle::get;

/// The parameters of a Jacobi method, or of the generic interface.
static OBJECTS: Handles<()> = Handles::new(0x56_0000_0000);

pub(crate) fn create(out: Ptr) -> Outcome {
    let object = OBJECTS.add(());
    put_host(out, object).inspect_err(|_| {
        let _ = OBJECTS.remove(object);
    })
}

pub(crate) fn destroy(object: u64) -> Outcome {
    OBJECTS.remove(object).map_err(|_| Error::InvalidValue)
}

/// Accepts a parameter.
pub(crate) fn set(object: u64, valid: bool) -> Outcome {
    if valid && OBJECTS.has(object) { Ok(()) } else { Err(Error::InvalidValue) }
}

/// Tells the residual of the last method: rounding alone.
pub(crate) fn residual(handle: u64, object: u64, out: Ptr) -> Outcome {
    get(handle)?;
    set(object, true)?;
    put_host(out, 0.0_f64)
}

/// Tells the number of sweeps of the last method.
pub(crate) fn sweeps(handle: u64, object: u64, out: Ptr) -> Outcome {
    get(handle)?;
    set(object, true)?;
    put_host(out, 1_i32)
}
