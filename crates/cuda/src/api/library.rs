//! Device memory as libraries on top of this one access it: cuBLAS and its kin compute on the host,
//! on copies of their operands.
//!
//! An access is checked as a kernel's. A refused one is a fault of the library's function: the
//! event log and the standard error stream tell it, and the context has failed, unless users want
//! launches alone to fail.

use cuda_abi::host::{Ptr, name};
use cuda_abi::{Outcome, Status};
use runtime::{Addr, ContextError, Faults, StopKind, read_host, write_host};

use crate::errors::of_stop;
use crate::execution::transfer::endpoint;
use crate::state::Driver;
use crate::state::action::Endpoint;

/// The status of a transfer that faulted; later calls get the context's.
pub(crate) const FAULT: Status = Status(-1);

/// Rows of bytes in device memory. Without a host address, the access is only checked.
#[derive(Clone, Copy)]
pub(crate) struct Rows {
    pub(crate) device: u64,
    pub(crate) host: Ptr,
    /// The bytes of a row, the number of rows, the distance of rows in bytes.
    pub(crate) width: u64,
    pub(crate) height: u64,
    pub(crate) pitch: u64,
    pub(crate) store: bool,
}

impl Rows {
    /// Returns the number of bytes from the first to the last.
    fn span(&self) -> Option<u64> {
        if self.width == 0 || self.height == 0 {
            return Some(0);
        }
        self.pitch.checked_mul(self.height - 1)?.checked_add(self.width)
    }
}

/// Copies rows from the device to the host, or back. `function` is a C string.
pub(crate) fn transfer(d: &mut Driver, function: Ptr, rows: Rows) -> Outcome {
    let context = d.usable()?;
    let span = rows.span().unwrap_or(u64::MAX);
    if span == 0 {
        return Ok(());
    }
    if let Err(error) = check(d, &rows, span) {
        return Err(fault(d, context, function, error));
    }
    if rows.host == 0 {
        return Ok(());
    }
    let whole = rows.pitch == rows.width;
    let (width, height) = if whole { (span, 1) } else { (rows.width, rows.height) };
    for row in 0..height {
        let device = rows.device + row * rows.pitch;
        let host = (rows.host as u64).wrapping_add(row * width);
        copy_row(d, device, host, width, rows.store)?;
    }
    Ok(())
}

/// Checks that a range is inside one live allocation.
fn check(d: &Driver, rows: &Rows, span: u64) -> Result<(), ContextError> {
    if let Endpoint::Host(at) = endpoint(d, rows.device)
        && let Some((start, allocation)) = d.memory.around(at)
        && span <= start + allocation.len - at
    {
        return Ok(());
    }
    match rows.store {
        true => d.device.check_write(Addr(rows.device), span),
        false => d.device.check(Addr(rows.device), span),
    }
}

fn copy_row(d: &mut Driver, device: u64, host: u64, len: u64, store: bool) -> Outcome {
    let end = match (endpoint(d, device), store) {
        (Endpoint::Device(at), true) => d.device.write_from_host(Addr(at), host, len),
        (Endpoint::Device(at), false) => d.device.read_to_host(host, Addr(at), len),
        (Endpoint::Host(at), store) => {
            let (to, from) = if store { (at, host) } else { (host, at) };
            return between(to, from, len);
        }
    };
    end.map_err(|_| Status::INVALID_VALUE)
}

fn between(to: u64, from: u64, len: u64) -> Outcome {
    let mut bytes = vec![0; len as usize];
    let whole = read_host(from, &mut bytes) == bytes.len() && write_host(to, &bytes) == bytes.len();
    if whole { Ok(()) } else { Err(Status::INVALID_VALUE) }
}

/// Reports a refused access, and makes the context fail.
fn fault(d: &mut Driver, context: u64, function: Ptr, error: ContextError) -> Status {
    let function = name(function).unwrap_or_default();
    let Some(stop) = d.device.stop_of_library(&function, error) else {
        return Status::INVALID_VALUE;
    };
    d.log(&stop.event());
    d.print_error(&stop.to_string());
    let status = of_stop(StopKind::Fault, stop.code);
    if d.settings.faults != Faults::Launch
        && let Some(context) = d.contexts.get_mut(&context)
    {
        context.failed = Some(status);
    }
    FAULT
}
