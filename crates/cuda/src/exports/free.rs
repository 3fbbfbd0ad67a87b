//! Functions that need no lock: initialisation, errors, versions; and notes of a library on top of
//! this one.

use cuda_abi::host::{Ptr, name as read_name, put, put_i32, put_u64};
use cuda_abi::{Outcome, Status};
use runtime::{Addr, Check, Event};

use crate::api::{device, library};
use crate::entry::{self, outside};
use crate::errors::of_context;
use crate::execution::transfer::device_endpoint;
use crate::failure;
use crate::profile;
use crate::state::action::Endpoint;
use crate::state::calls;
use crate::state::memory::Allocation;

#[unsafe(no_mangle)]
pub extern "C" fn cuInit(flags: u32) -> i32 {
    entry::initialise(flags)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDriverGetVersion(out: Ptr) -> i32 {
    outside(|| {
        let version = entry::settings().version;
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

/// Registers a function for messages of the driver's log, which has none: it is never called.
#[unsafe(no_mangle)]
pub extern "C" fn cuLogsRegisterCallback(function: Ptr, _data: Ptr, out: Ptr) -> i32 {
    outside(
        || if function == 0 { Err(Status::INVALID_VALUE) } else { put_u64(out, function as u64) },
    )
}

/// Ends a registration.
#[unsafe(no_mangle)]
pub extern "C" fn cuLogsUnregisterCallback(registered: u64) -> i32 {
    outside(|| if registered == 0 { Err(Status::INVALID_VALUE) } else { Ok(()) })
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
    let before = calls::depth();
    calls::within(name);
    if name != 0 {
        failure::clear();
    }
    if before == 0 && name != 0 {
        profile::library_begins(name);
    } else if before == 1 && name == 0 {
        profile::library_ends();
    }
}

/// Notes where the arguments of the next call of a library on top of this one are, in the layout of
/// C and as long as it lasts, and returns whether anybody wants to know. Not part of CUDA's
/// interface.
#[unsafe(no_mangle)]
pub extern "C" fn simtlab_arguments(block: Ptr) -> i32 {
    profile::give_arguments(block).into()
}

/// Notes what the call of a library on top of this one, in which the thread is, will return, if it
/// is an error. Not part of CUDA's interface.
#[unsafe(no_mangle)]
pub extern "C" fn simtlab_returns(status: i32) {
    profile::library_returns(status);
}

/// Sets the function that is told what happens: `uint64_t (*)(const DriverEvent *)`, which returns
/// the time; 0 for none. Not part of CUDA's interface.
#[unsafe(no_mangle)]
pub extern "C" fn simtlab_listen(function: Ptr) -> i32 {
    profile::listen(function);
    Status::SUCCESS.0
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

/// Describes a device and its use by this process (`cuda_abi::DeviceStatus`): before the driver is
/// initialised, too, while a kernel runs, and in a child of `fork`, which uses none. Not part of
/// CUDA's interface.
#[unsafe(no_mangle)]
pub extern "C" fn simtlab_device(out: Ptr, device: i32) -> i32 {
    outside(|| put(out, &device::status(&entry::settings(), device, entry::is_child())?))
}

/// An access for which memory is exposed: the host writes the bytes.
const WRITES: i32 = 1;
/// The host reads the bytes; checks treat that as a copy to the host.
const READS: i32 = 2;

/// Writes to `out` where `len` bytes of device memory are in this process. `access` is 1 if the
/// host writes the bytes, 2 if it reads all of them, 0 if neither is to be noted. A plug-in that
/// computes operators of a framework on the host works on them there. Not part of CUDA's interface.
#[unsafe(no_mangle)]
pub extern "C" fn simtlab_expose(out: Ptr, address: u64, len: u64, access: i32) -> i32 {
    entry::enter("simtlab_expose", |d| {
        let at = match device_endpoint(d, address)? {
            Endpoint::Host(at) => {
                let fits = |(start, a): (u64, &Allocation)| len <= start + a.len - at;
                let fits = d.memory.around(at).is_some_and(fits);
                if fits { at } else { return Err(Status::INVALID_VALUE) }
            }
            Endpoint::Device(at) => {
                let exposed = d.device.expose(Addr(at), len, access == WRITES);
                let exposed = exposed.map_err(|e| of_context(&e))?;
                if access == READS && d.settings.checks.has(Check::Init) {
                    d.device.note_copied_to_host(Addr(at), len, &d.calls.current());
                    d.log_findings();
                }
                exposed
            }
        };
        put_u64(out, at)
    })
}

/// Writes the first `room` counts of all launches of this process that have ended, in the order of
/// `runtime::LaunchTotals::COUNTS`, as words of 64 bits. Returns how many it has written, none if
/// the driver is not initialised. Not part of CUDA's interface.
#[unsafe(no_mangle)]
pub extern "C" fn simtlab_counts(out: Ptr, room: i32) -> i32 {
    let mut written = 0;
    entry::enter("simtlab_counts", |d| {
        for (index, value) in d.totals.values().into_iter().take(room.max(0) as usize).enumerate() {
            put_u64(out.wrapping_add(8 * index), value)?;
            written += 1;
        }
        Ok(())
    });
    written
}

/// Notes that a plug-in has computed an operator on the host: its name as a C string, the number of
/// calls, their nanoseconds. Not part of CUDA's interface.
#[unsafe(no_mangle)]
pub extern "C" fn simtlab_host_work(operator: Ptr, calls: u64, nanoseconds: u64) -> i32 {
    entry::enter("simtlab_host_work", |d| {
        let (process, operator) = (std::process::id(), read_name(operator)?);
        let seconds = nanoseconds as f64 / 1e9;
        d.log(&Event::HostWork { process, operator, calls, seconds });
        Ok(())
    })
}

/// Notes, for profiling tools, that a plug-in begins to compute an operator on the host; its name
/// is a C string. Not part of CUDA's interface.
#[unsafe(no_mangle)]
pub extern "C" fn simtlab_operator_begins(operator: Ptr) -> i32 {
    outside(|| {
        profile::operator_begins(&read_name(operator)?);
        Ok(())
    })
}

/// The same for its end. Not part of CUDA's interface.
#[unsafe(no_mangle)]
pub extern "C" fn simtlab_operator_ends(operator: Ptr) -> i32 {
    entry::enter("simtlab_operator_ends", |d| {
        profile::operator_ends(d, &format!("{} (host)", read_name(operator)?));
        Ok(())
    })
}

/// Copies rows of device memory for a library on top of this one, to the host, or from it if
/// `store` is not 0: `height` rows of `width` bytes, `pitch` bytes apart, without gaps on the host.
/// With a null `host`, checks the access alone. `function` is the name of the library's function,
/// to which a refused access belongs; the status is then -1. Not part of CUDA's interface.
#[unsafe(no_mangle)]
pub extern "C" fn simtlab_transfer(
    function: Ptr,
    device: u64,
    host: Ptr,
    width: u64,
    height: u64,
    pitch: u64,
    store: i32,
) -> i32 {
    entry::enter("simtlab_transfer", |d| {
        let store = store != 0;
        library::transfer(d, function, library::Rows { device, host, width, height, pitch, store })
    })
}

cuda_abi::exports_list! {
    cuInit cuDriverGetVersion cuGetErrorString cuGetErrorName cuGetExportTable
    cuLogsRegisterCallback cuLogsUnregisterCallback
}
