//! Allocations of device and host memory.

use cuda_abi::host::{Ptr, put_i32, put_u64, put_u64_if};
use cuda_abi::{CUmemAttach_flags, Outcome, Status};
use runtime::{Addr, Event, HostOwner, MapError, read_host};

use crate::errors::of_map;
use crate::execution::allocation::{drop_allocation, note_allocated, release};
use crate::execution::order;
use crate::failure;
use crate::state::Driver;
use crate::state::memory::{Allocation, AllocationKind};
use crate::state::page::{LARGE_PAGE, Pages};

/// The alignment of rows in pitched memory.
const PITCH: u64 = 512;

pub(crate) fn alloc(d: &mut Driver, out: Ptr, len: usize) -> Outcome {
    let context = d.usable()?;
    let device = d.context(context)?.device;
    let address = alloc_in(d, (context, device), len as u64, 0)?;
    let written = put_u64(out, address);
    kept(d, address, written)
}

/// Frees an allocation if its address could not be written.
pub(crate) fn kept(d: &mut Driver, address: u64, written: Outcome) -> Outcome {
    written.inspect_err(|_| release(d, address))
}

/// Allocates memory of a device.
pub(crate) fn alloc_in(
    d: &mut Driver,
    (context, device): (u64, i32),
    len: u64,
    pool: u64,
) -> Outcome<u64> {
    if len == 0 {
        return Err(Status::INVALID_VALUE);
    }
    let name = format!("device memory #{}", d.memory.count + 1);
    let room = len.checked_next_multiple_of(d.settings.padding).ok_or(Status::OUT_OF_MEMORY)?;
    let align = if room >= LARGE_PAGE { LARGE_PAGE } else { 1 };
    d.device.set_device(device as u8);
    let found = d.device.allocate_aligned(&name, room, align);
    let address = found.map_err(|error| refused(d, device, len, &error))?.0;
    d.memory.insert(address, len, context, AllocationKind::Device, pool);
    note_allocated(d, address, len);
    Ok(address)
}

pub(crate) fn alloc_pitch(
    d: &mut Driver,
    out: Ptr,
    pitch: Ptr,
    width: usize,
    height: usize,
    element: u32,
) -> Outcome {
    let context = d.usable()?;
    if !matches!(element, 4 | 8 | 16) || width == 0 || height == 0 || pitch == 0 {
        return Err(Status::INVALID_VALUE);
    }
    let row = (width as u64).checked_next_multiple_of(PITCH).ok_or(Status::OUT_OF_MEMORY)?;
    let len = row.checked_mul(height as u64).ok_or(Status::OUT_OF_MEMORY)?;
    let device = d.context(context)?.device;
    let address = alloc_in(d, (context, device), len, 0)?;
    let written = put_u64(out, address).and_then(|()| put_u64(pitch, row));
    kept(d, address, written)
}

pub(crate) fn alloc_managed(d: &mut Driver, out: Ptr, len: usize, flags: u32) -> Outcome {
    let context = d.usable()?;
    if len == 0 {
        return Err(Status::INVALID_VALUE);
    }
    CUmemAttach_flags::of(flags as i32)?;
    let device = d.allocate_for(context)?;
    let pages = host_pages(d, device, len)?;
    let address = pages.address();
    let (name, owner) = ("managed memory", HostOwner::Caller);
    d.device.map_host(name, address, pages.len(), owner).map_err(|e| of_map(&e))?;
    d.memory.insert(address, len as u64, context, AllocationKind::Managed(pages), 0);
    note_allocated(d, address, len as u64);
    let written = put_u64(out, address);
    kept(d, address, written)
}

/// Returns the status of a failed allocation, and reports the reason once: programs that ignore the
/// status continue with an invalid pointer.
fn refused(d: &mut Driver, device: i32, len: u64, error: &MapError) -> Status {
    let status = of_map(error);
    if status == Status::OUT_OF_MEMORY {
        let (used, limit) = d.memory_use(device);
        let why = if len > limit.saturating_sub(used) {
            "SIMTLAB_DEVICE_MEMORY says how many there are"
        } else {
            "the host has no more"
        };
        let text = format!(
            "{len} bytes of device memory were asked for; of {limit} there are, {used} are in use ({why})"
        );
        failure::explain(text.clone());
        if !std::mem::replace(&mut d.reported_out_of_memory, true) {
            d.print_error(&text);
        }
    }
    status
}

/// Allocates host pages, if device memory of this size is free.
fn host_pages(d: &mut Driver, device: i32, len: usize) -> Outcome<Pages> {
    let (used, limit) = d.memory_use(device);
    let bytes = len as u64;
    let none = MapError::Limit { name: "pages".into(), len: bytes, mapped: used, limit };
    let pages = if bytes > limit.saturating_sub(used) { None } else { Pages::new(len) };
    pages.ok_or_else(|| refused(d, device, bytes, &none))
}

pub(crate) fn free(d: &mut Driver, address: u64) -> Outcome {
    if address == 0 {
        return Ok(());
    }
    let context = d.usable()?;
    order::settled(d, context)?;
    use AllocationKind as K;
    match d.memory.live.get(&address).map(|a| (&a.kind, a.pool)) {
        Some((K::Device | K::Managed(_) | K::Exported(_), _)) => {
            release(d, address);
            Ok(())
        }
        // Of another process's pool: memory that was opened by itself is closed.
        Some((K::Imported(..), pool)) if pool != 0 => {
            release(d, address);
            Ok(())
        }
        _ => {
            if let Some(history) = d.device.freed_block(Addr(address)) {
                failure::explain(format!("the memory at {address:#x} was {history}"));
            } else if let Some((start, _)) = d.memory.around(address)
                && let Some(history) = d.device.block(Addr(start))
            {
                let inside = address - start;
                failure::explain(format!(
                    "{address:#x} is {inside} bytes inside memory that was {history}"
                ));
            }
            Err(Status::INVALID_VALUE)
        }
    }
}

/// Frees all allocations of a context, except pool allocations and managed variables.
pub(crate) fn free_all(d: &mut Driver, context: u64) {
    let theirs = d.memory.live.iter().filter(|(_, a)| {
        let stays = matches!(a.kind, AllocationKind::Variable(_));
        a.context == context && a.pool == 0 && !stays
    });
    let theirs: Vec<u64> = theirs.map(|(&at, _)| at).collect();
    if !theirs.is_empty() {
        let addresses = theirs.clone();
        d.log_for_leaks(|process| Event::Abandoned { process, addresses });
    }
    for address in theirs {
        drop_allocation(d, address);
    }
}

pub(crate) fn info(d: &mut Driver, free: Ptr, total: Ptr) -> Outcome {
    let context = d.usable()?;
    let (used, limit) = d.memory_use(d.context(context)?.device);
    put_u64_if(free, limit.saturating_sub(used))?;
    put_u64_if(total, limit)
}

/// Returns the range of the allocation or variable around an address.
pub(crate) fn address_range(d: &mut Driver, base: Ptr, len: Ptr, address: u64) -> Outcome {
    d.usable()?;
    let (start, bytes) = match d.memory.around(address) {
        Some((start, allocation)) => (start, allocation.len),
        None => {
            let (start, len) = d.device.allocation(Addr(address)).ok_or(Status::NOT_FOUND)?;
            (start.0, len)
        }
    };
    put_u64_if(base, start)?;
    put_u64_if(len, bytes)
}

// Host memory.

pub(crate) fn host_alloc(d: &mut Driver, out: Ptr, len: usize, flags: u32) -> Outcome {
    let context = d.usable()?;
    if len == 0 || flags > 7 {
        return Err(Status::INVALID_VALUE);
    }
    let device = d.context(context)?.device;
    let pages = host_pages(d, device, len)?;
    put_u64(out, pages.address())?;
    d.memory.insert(pages.address(), len as u64, context, AllocationKind::Host(pages, flags), 0);
    Ok(())
}

pub(crate) fn host_alloc_plain(d: &mut Driver, out: Ptr, len: usize) -> Outcome {
    host_alloc(d, out, len, 0)
}

pub(crate) fn host_free(d: &mut Driver, address: Ptr) -> Outcome {
    let context = d.usable()?;
    order::settled(d, context)?;
    match d.memory.live.get(&(address as u64)).map(|a| &a.kind) {
        Some(AllocationKind::Host(..)) => {
            release(d, address as u64);
            Ok(())
        }
        _ => Err(Status::INVALID_VALUE),
    }
}

pub(crate) fn host_register(d: &mut Driver, address: Ptr, len: usize, flags: u32) -> Outcome {
    let context = d.usable()?;
    let address = address as u64;
    if address == 0 || len == 0 || flags & !0xf != 0 || address.checked_add(len as u64).is_none() {
        return Err(Status::INVALID_VALUE);
    }
    let mut byte = [0];
    let last = address + len as u64 - 1;
    if read_host(address, &mut byte) == 0 || read_host(last, &mut byte) == 0 {
        return Err(Status::INVALID_VALUE);
    }
    let meets = |at: u64, a: &Allocation| at <= last && address < at + a.len;
    if d.memory.live.iter().any(|(&at, a)| meets(at, a)) {
        return Err(Status::HOST_MEMORY_ALREADY_REGISTERED);
    }
    d.memory.insert(address, len as u64, context, AllocationKind::Registered(flags), 0);
    Ok(())
}

pub(crate) fn host_unregister(d: &mut Driver, address: Ptr) -> Outcome {
    let context = d.usable()?;
    order::settled(d, context)?;
    match d.memory.live.get(&(address as u64)).map(|a| &a.kind) {
        Some(AllocationKind::Registered(_)) => {
            release(d, address as u64);
            Ok(())
        }
        Some(_) => Err(Status::INVALID_VALUE),
        None => Err(Status::HOST_MEMORY_NOT_REGISTERED),
    }
}

/// Returns the device address of host memory, which is the host's.
pub(crate) fn host_device_pointer(d: &mut Driver, out: Ptr, address: Ptr, flags: u32) -> Outcome {
    d.usable()?;
    let host = |(_, a): (u64, &Allocation)| !a.is_on_device();
    if flags != 0 || !d.memory.around(address as u64).is_some_and(host) {
        return Err(Status::INVALID_VALUE);
    }
    put_u64(out, address as u64)
}

pub(crate) fn host_flags(d: &mut Driver, out: Ptr, address: Ptr) -> Outcome {
    d.usable()?;
    let flags = match d.memory.around(address as u64).map(|(_, a)| &a.kind) {
        Some(AllocationKind::Host(_, flags) | AllocationKind::Registered(flags)) => *flags,
        _ => return Err(Status::INVALID_VALUE),
    };
    put_i32(out, flags as i32)
}

// Hints, which have no effect.

pub(crate) fn advise(
    d: &mut Driver,
    address: u64,
    len: usize,
    _advice: i32,
    _device: i32,
) -> Outcome {
    hint(d, address, len)
}

pub(crate) fn prefetch(
    d: &mut Driver,
    address: u64,
    len: usize,
    _device: i32,
    stream: u64,
) -> Outcome {
    d.stream_context(stream)?;
    hint(d, address, len)
}

fn hint(d: &mut Driver, address: u64, len: usize) -> Outcome {
    d.usable()?;
    match d.memory.around(address) {
        Some((at, a)) if a.is_managed() && len as u64 <= at + a.len - address => Ok(()),
        _ => Err(Status::INVALID_VALUE),
    }
}
