//! Copies and fills.

use cuda_abi::{Outcome, Status};
use runtime::{Addr, Check, ContextError, read_host, write_host};

use crate::errors::of_context;
use crate::failure;
use crate::state::Driver;
use crate::state::action::{BoxCopy, Endpoint, Fill};
use crate::state::memory::Allocation;

/// Returns the side that an address belongs to. Pinned and managed memory belong to the host.
pub(crate) fn endpoint(d: &Driver, address: u64) -> Endpoint {
    match d.memory.around(address) {
        Some((_, a)) if !a.is_on_device() => Endpoint::Host(address),
        Some(_) => Endpoint::Device(address),
        None if is_on_device(d, address) => Endpoint::Device(address),
        None => Endpoint::Host(address),
    }
}

/// Returns whether an address is of the device, now or when a graph will have allocated it.
fn is_on_device(d: &Driver, address: u64) -> bool {
    let address = Addr(address);
    d.device.allocation(address).is_some() || d.device.reservation(address).is_some()
}

/// Returns the side of an address that must be valid on the device.
pub(crate) fn device_endpoint(d: &Driver, address: u64) -> Outcome<Endpoint> {
    match endpoint(d, address) {
        Endpoint::Host(at) if d.memory.around(at).is_none() => Err(Status::INVALID_VALUE),
        side => Ok(side),
    }
}

/// Returns the bytes from an address of a mapping to its end, where another may follow; for other
/// addresses, all that there may be.
fn room(d: &Driver, side: Endpoint) -> u64 {
    match side {
        Endpoint::Device(at) => {
            let found = d.mappings.around(at);
            found.map_or(u64::MAX, |(start, mapping)| start + mapping.len - at)
        }
        Endpoint::Host(_) => u64::MAX,
    }
}

/// Copies adjacent bytes, which may lie in several mappings.
pub(super) fn copy_bytes(d: &mut Driver, to: Endpoint, from: Endpoint, len: u64) -> Outcome {
    let mut done = 0;
    while done < len {
        let (to, from) = (to.plus(done), from.plus(done));
        let part = (len - done).min(room(d, to)).min(room(d, from));
        copy_part(d, to, from, part)?;
        done += part;
    }
    Ok(())
}

/// Copies adjacent bytes inside one allocation on each side.
fn copy_part(d: &mut Driver, to: Endpoint, from: Endpoint, len: u64) -> Outcome {
    let end = match (to, from) {
        (Endpoint::Device(to), Endpoint::Host(from)) => {
            d.device.write_from_host(Addr(to), from, len)
        }
        (Endpoint::Host(to), Endpoint::Device(from)) => {
            let end = d.device.read_to_host(to, Addr(from), len);
            if end.is_ok() && d.settings.checks.has(Check::Init) {
                d.device.note_copied_to_host(Addr(from), len, &d.calls.current());
                d.log_findings();
            }
            end
        }
        (Endpoint::Device(to), Endpoint::Device(from)) => d.device.copy(Addr(to), Addr(from), len),
        (Endpoint::Host(to), Endpoint::Host(from)) => return between_hosts(to, from, len),
    };
    end.map_err(|e| explained(d, &e))
}

/// Returns the status of a failed operation on memory, and explains it.
fn explained(d: &Driver, error: &ContextError) -> Status {
    if let Some(text) = d.device.explain(error) {
        failure::explain(text);
    }
    of_context(error)
}

/// The most bytes of the host that are written at once. Whole patterns fit.
const CHUNK: u64 = 1 << 20;

fn between_hosts(to: u64, from: u64, len: u64) -> Outcome {
    let mut buffer = vec![0; len.min(CHUNK) as usize];
    let mut done = 0;
    while done < len {
        let part = &mut buffer[..(len - done).min(CHUNK) as usize];
        let whole = read_host(from.wrapping_add(done), part) == part.len()
            && write_host(to.wrapping_add(done), part) == part.len();
        if !whole {
            return Err(Status::INVALID_VALUE);
        }
        done += part.len() as u64;
    }
    Ok(())
}

/// Copies a box row by row, or plane by plane if there are no gaps between rows.
pub(super) fn copy_box(d: &mut Driver, copy: &BoxCopy) -> Outcome {
    let (mut width, mut height) = (copy.width, copy.height);
    if width == 0 || height == 0 {
        return Ok(());
    }
    let dense = copy.to.pitch == width && copy.from.pitch == width;
    if dense && let Some(all) = width.checked_mul(height) {
        (width, height) = (all, height.min(1));
    }
    for z in 0..copy.depth {
        for y in 0..height {
            copy_bytes(d, copy.to.row(y, z)?, copy.from.row(y, z)?, width)?;
        }
    }
    Ok(())
}

/// Fills adjacent patterns.
fn fill(d: &mut Driver, to: u64, pattern: &[u8], count: u64) -> Outcome {
    if !to.is_multiple_of(pattern.len() as u64) {
        return Err(Status::INVALID_VALUE);
    }
    if count == 0 {
        return Ok(());
    }
    match device_endpoint(d, to)? {
        Endpoint::Device(mut at) => {
            let mut left = count;
            while left > 0 {
                let size = pattern.len() as u64;
                let part = left.min(room(d, Endpoint::Device(at)) / size);
                d.device.fill(Addr(at), pattern, part).map_err(|e| explained(d, &e))?;
                (at, left) = (at + part * size, left - part);
            }
            Ok(())
        }
        Endpoint::Host(at) => {
            let len = count.saturating_mul(pattern.len() as u64);
            let fits = |(start, a): (u64, &Allocation)| len <= start + a.len - at;
            if !d.memory.around(at).is_some_and(fits) {
                return Err(Status::INVALID_VALUE);
            }
            // A client may have registered more than can be written.
            let bytes = pattern.repeat(count.min(CHUNK / pattern.len() as u64) as usize);
            for done in (0..len).step_by(CHUNK as usize) {
                let part = &bytes[..(len - done).min(CHUNK) as usize];
                if write_host(at + done, part) < part.len() {
                    return Err(Status::INVALID_VALUE);
                }
            }
            Ok(())
        }
    }
}

/// Fills rows.
pub(super) fn fill_rows(d: &mut Driver, rows: &Fill) -> Outcome {
    let row_bytes = rows.width.saturating_mul(rows.pattern.len() as u64);
    if rows.height > 1 && rows.pitch < row_bytes {
        return Err(Status::INVALID_VALUE);
    }
    if rows.width == 0 {
        return Ok(());
    }
    for y in 0..rows.height {
        let row = rows.pitch.checked_mul(y).and_then(|o| rows.to.checked_add(o));
        fill(d, row.ok_or(Status::INVALID_VALUE)?, &rows.pattern, rows.width)?;
    }
    Ok(())
}
