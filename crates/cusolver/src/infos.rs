//! Objects with parameters of solvers. They change nothing: methods here need no tolerance and no
//! sweeps, and values are always sorted. The residual of the last method is kept with them.

use culibs::device::put_host;
use culibs::handles::Handles;
use culibs::{Error, Outcome, Ptr};

use crate::handle::get;

/// The parameters of a Jacobi method, or of the generic interface, with the residual of the last
/// method.
static OBJECTS: Handles<f64> = Handles::new(0x56_0000_0000);

/// Where the residual of a method goes.
#[derive(Clone, Copy)]
pub(crate) enum Residual {
    Nowhere,
    /// To an object with parameters, unless it is destroyed meanwhile.
    Object(u64),
    /// To the host.
    Host(Ptr),
}

impl Residual {
    pub(crate) fn is_wanted(self) -> bool {
        !matches!(self, Self::Nowhere | Self::Host(0))
    }

    pub(crate) fn tell(self, residual: impl FnOnce() -> f64) -> Outcome {
        match self {
            Self::Nowhere | Self::Host(0) => {}
            Self::Object(object) => {
                let residual = residual();
                let _ = OBJECTS.with(object, |kept| {
                    *kept = residual;
                    Ok(())
                });
            }
            Self::Host(at) => put_host(at, residual())?,
        }
        Ok(())
    }
}

pub(crate) fn create(out: Ptr) -> Outcome {
    let object = OBJECTS.add(0.0);
    put_host(out, object).inspect_err(|_| {
        let _ = OBJECTS.remove(object);
    })
}

pub(crate) fn destroy(object: u64) -> Outcome {
    OBJECTS.remove(object).map(drop).map_err(|_| Error::InvalidValue)
}

/// Accepts a parameter.
pub(crate) fn set(object: u64, valid: bool) -> Outcome {
    if valid && OBJECTS.has(object) { Ok(()) } else { Err(Error::InvalidValue) }
}

/// Tells the residual of the last method.
pub(crate) fn residual(handle: u64, object: u64, out: Ptr) -> Outcome {
    get(handle)?;
    let residual = OBJECTS.get(object).map_err(|_| Error::InvalidValue)?;
    put_host(out, residual)
}

/// Tells the number of sweeps of the last method.
pub(crate) fn sweeps(handle: u64, object: u64, out: Ptr) -> Outcome {
    get(handle)?;
    set(object, true)?;
    put_host(out, 1_i32)
}
