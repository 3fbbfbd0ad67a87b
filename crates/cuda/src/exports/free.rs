//! Functions that need no lock: initialisation, errors, versions; and notes of a library on top of
//! this one.

use cuda_abi::host::{Ptr, name as read_name, put_i32, put_u64};
use cuda_abi::{Outcome, Status};

use crate::entry::{self, outside};
use crate::failure;
use crate::state::calls;

#[unsafe(no_mangle)]
pub extern "C" fn cuInit(flags: u32) -> i32 {
    entry::initialise(flags)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDriverGetVersion(out: Ptr) -> i32 {
    outside(|| {
        let version = entry::version();
        put_i32(out, version)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGetErrorString(status: i32, out: Ptr) -> i32 {
    outside(|| text(Status(status).driver_text(), out))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGetErrorName(status: i32, out: Ptr) -> i32 {
    outside(|| text(Status(status).driver_name(), out))
}

/// Returns a static text; null and an error for an unknown code.
fn text(text: Option<&'static std::ffi::CStr>, out: Ptr) -> Outcome {
    put_u64(out, text.map_or(0, |t| t.as_ptr().addr() as u64))?;
    text.map(drop).ok_or(Status::INVALID_VALUE)
}

/// The event log's text for programs that ask for undocumented tables.
const TABLES: &str = "cuGetExportTable (undocumented: compilers do without it; NVIDIA's static CUDA runtime cannot: build what \
    carries it by `simtlab exec -- make`, or with `nvcc -cudart shared`)";

/// Returns no table: tables of unnamed functions are not part of the public interface.
#[unsafe(no_mangle)]
pub extern "C" fn cuGetExportTable(out: Ptr, _id: Ptr) -> i32 {
    entry::unsupported(TABLES);
    outside(|| {
        if out != 0 {
            put_u64(out, 0)?;
        }
        Err(Status::NOT_FOUND)
    })
}

/// Records a call that a library on top of this one does not support; `name` is a C string. Not
/// part of CUDA's interface.
#[unsafe(no_mangle)]
pub extern "C" fn simtlab_unsupported(name: Ptr) -> i32 {
    match read_name(name) {
        Ok(name) => entry::unsupported(&name),
        Err(status) => status.0,
    }
}

/// Notes that a library on top of this one enters (1) or leaves (0) a call of its own, so that its
/// calls here are not taken for the client's. Not part of CUDA's interface.
#[unsafe(no_mangle)]
pub extern "C" fn simtlab_within(name: Ptr) {
    calls::within(name);
    if name != 0 {
        failure::clear();
    }
}

/// Records a failed call of a library on top of this one: the function, the status, its name, and
/// the arguments as text, all but the status as C strings. Not part of CUDA's interface.
#[unsafe(no_mangle)]
pub extern "C" fn simtlab_failed(call: Ptr, status: i32, name: Ptr, arguments: Ptr) -> i32 {
    entry::enter("simtlab_failed", |d| {
        let (call, name, arguments) = (read_name(call)?, read_name(name)?, read_name(arguments)?);
        failure::record_call(d, call, status, name, arguments);
        Ok(())
    })
}

cuda_abi::exports_list! {
    cuInit cuDriverGetVersion cuGetErrorString cuGetErrorName cuGetExportTable
}
