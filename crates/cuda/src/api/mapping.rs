//! Virtual memory management: reserved addresses, physical memory, and mappings of one to the
//! other.
//!
//! A device can access a mapping once the client has allowed it. Physical memory can be mapped once
//! at a time. Memory and addresses are the process's: they need no context.

use cuda_abi::host::{Ptr, get, put, put_u64};
use cuda_abi::{
    Abi as _, CUmemAllocationGranularity_flags, CUmemAllocationProp, CUmemAllocationType,
    CUmemLocation, CUmemLocationType, Outcome, Status,
};
use runtime::Addr;

use super::pool::{changed, flags};
use crate::errors::{of_context, of_map};
use crate::execution::allocation::share;
use crate::execution::order;
use crate::state::Driver;
use crate::state::mapping::{Mapping, Physical};
use crate::state::memory::AllocationKind;
use crate::state::process::{FILE_DESCRIPTOR, Shareable, SharedMemory, put_descriptor};

/// The unit of sizes of physical memory, mappings and reservations.
const GRANULARITY: u64 = 2 << 20;

/// Mapped memory belongs to no context; [`Driver::contexts`] has no handle 0.
const NO_CONTEXT: u64 = 0;

/// Checks the properties of physical memory.
fn checked(d: &Driver, at: Ptr) -> Outcome<CUmemAllocationProp> {
    let p = get::<CUmemAllocationProp>(at)?;
    if p.r#type != CUmemAllocationType::PINNED as i32 {
        return Err(Status::INVALID_VALUE);
    }
    if p.location.r#type != CUmemLocationType::DEVICE as i32 {
        return Err(d.unsupported("physical memory of the host"));
    }
    if !matches!(p.requestedHandleTypes, 0 | FILE_DESCRIPTOR) {
        return Err(d.unsupported("physical memory with other handles than file descriptors"));
    }
    d.device(p.location.id)?;
    Ok(p)
}

pub(crate) fn granularity(d: &mut Driver, out: Ptr, properties: Ptr, option: i32) -> Outcome {
    checked(d, properties)?;
    CUmemAllocationGranularity_flags::of(option)?;
    put_u64(out, GRANULARITY)
}

/// Returns a length that is not zero and a multiple of the granularity.
fn whole(len: usize) -> Outcome<u64> {
    let len = len as u64;
    let is_whole = len > 0 && len.is_multiple_of(GRANULARITY);
    if is_whole { Ok(len) } else { Err(Status::INVALID_VALUE) }
}

/// Reserves addresses, at the ones that the client would like if they are free.
pub(crate) fn reserve(
    d: &mut Driver,
    out: Ptr,
    len: usize,
    align: usize,
    wanted: u64,
    flags: u64,
) -> Outcome {
    d.not_failed()?;
    let len = whole(len)?;
    let align = (align as u64).max(GRANULARITY);
    if flags != 0 || !align.is_power_of_two() {
        return Err(Status::INVALID_VALUE);
    }
    let is_possible = wanted != 0 && wanted.is_multiple_of(align);
    let there = if is_possible { d.device.reserve_at(Addr(wanted), len) } else { None };
    let address = match there {
        Some(address) => address,
        None => d.device.reserve(len, align).map_err(|error| of_map(&error))?,
    };
    put_u64(out, address.0).inspect_err(|_| d.device.release_reservation(address))
}

pub(crate) fn free(d: &mut Driver, address: u64, len: usize) -> Outcome {
    order::all_settled(d)?;
    let reserved = d.device.reservation(Addr(address));
    let of_graph = d.memory.of_graphs.contains_key(&address);
    if of_graph || reserved != Some((Addr(address), len as u64)) {
        return Err(Status::INVALID_VALUE);
    }
    if d.mappings.meets(address, len as u64) {
        return Err(Status::INVALID_VALUE);
    }
    d.device.release_reservation(Addr(address));
    Ok(())
}

pub(crate) fn create(d: &mut Driver, out: Ptr, len: usize, at: Ptr, flags: u64) -> Outcome {
    d.not_failed()?;
    let properties = checked(d, at)?;
    let len = whole(len)?;
    if flags != 0 {
        return Err(Status::INVALID_VALUE);
    }
    let device = properties.location.id;
    check_room(d, device, len)?;
    let is_shared = properties.requestedHandleTypes == FILE_DESCRIPTOR;
    let shared = is_shared.then(|| Shareable::Physical.create(len, device)).transpose()?;
    add(d, out, Physical { len, properties, references: 1, mapped: None, content: None, shared })
}

/// Checks that a device has room for physical memory.
fn check_room(d: &Driver, device: i32, len: u64) -> Outcome {
    let (used, limit) = d.memory_use(device);
    let free = limit.saturating_sub(used).saturating_sub(d.mappings.hidden(device));
    if len <= free { Ok(()) } else { Err(Status::OUT_OF_MEMORY) }
}

fn add(d: &mut Driver, out: Ptr, physical: Physical) -> Outcome {
    let handle = d.handle();
    put_u64(out, handle)?;
    d.mappings.physical.insert(handle, physical);
    Ok(())
}

/// Writes a handle for other processes.
pub(crate) fn export(d: &mut Driver, out: Ptr, handle: u64, kind: i32, flags: u64) -> Outcome {
    d.not_failed()?;
    let shared = d.mappings.find_mut(handle)?.shared.as_ref();
    let shared = shared.filter(|_| kind == FILE_DESCRIPTOR && flags == 0);
    put_descriptor(out, shared.ok_or(Status::INVALID_VALUE)?)
}

/// Creates a handle of physical memory that another process, or this one, has exported. All handles
/// of one memory in a process are one, with several references.
pub(crate) fn import(d: &mut Driver, out: Ptr, descriptor: u64, kind: i32) -> Outcome {
    d.not_failed()?;
    if kind != FILE_DESCRIPTOR {
        return Err(Status::INVALID_VALUE);
    }
    let (shared, device) = Shareable::Physical.open(descriptor as i32)?;
    let token = shared.name().token;
    let is_it = |p: &Physical| p.shared.as_ref().is_some_and(|s| s.name().token == token);
    if let Some((&handle, physical)) = d.mappings.physical.iter_mut().find(|(_, p)| is_it(p)) {
        put_u64(out, handle)?;
        physical.references += 1;
        return Ok(());
    }
    let len = whole(shared.len() as usize)?;
    let location =
        CUmemLocation { r#type: CUmemLocationType::DEVICE as i32, id: d.device(device)? };
    check_room(d, device, len)?;
    let properties = CUmemAllocationProp {
        r#type: CUmemAllocationType::PINNED as i32,
        requestedHandleTypes: FILE_DESCRIPTOR,
        location,
        ..CUmemAllocationProp::zeroed()
    };
    let (content, shared) = (None, Some(shared));
    add(d, out, Physical { len, properties, references: 1, mapped: None, content, shared })
}

pub(crate) fn release(d: &mut Driver, handle: u64) -> Outcome {
    let physical = d.mappings.find_mut(handle)?;
    physical.references = physical.references.checked_sub(1).ok_or(Status::INVALID_VALUE)?;
    d.mappings.forget_unused(handle);
    Ok(())
}

/// Returns the handle of the memory that is mapped around an address, with another reference.
pub(crate) fn retain(d: &mut Driver, out: Ptr, address: u64) -> Outcome {
    let (_, mapping) = d.mappings.around(address).ok_or(Status::INVALID_VALUE)?;
    put_u64(out, mapping.handle)?;
    d.mappings.find_mut(mapping.handle)?.references += 1;
    Ok(())
}

pub(crate) fn properties(d: &mut Driver, out: Ptr, handle: u64) -> Outcome {
    let properties = d.mappings.find_mut(handle)?.properties;
    put(out, &properties)
}

pub(crate) fn map(
    d: &mut Driver,
    address: u64,
    len: usize,
    offset: usize,
    handle: u64,
    flags: u64,
) -> Outcome {
    d.not_failed()?;
    let len = whole(len)?;
    let reserved = d.device.reservation(Addr(address));
    let is_reserved = reserved.is_some_and(|(start, all)| {
        len <= all - (address - start.0) && !d.memory.of_graphs.contains_key(&start.0)
    });
    if flags != 0
        || offset != 0
        || !address.is_multiple_of(GRANULARITY)
        || !is_reserved
        || d.mappings.meets(address, len)
    {
        return Err(Status::INVALID_VALUE);
    }
    let physical = d.mappings.find_mut(handle)?;
    if physical.len != len || physical.references == 0 {
        return Err(Status::INVALID_VALUE);
    }
    if physical.mapped.is_some() {
        return Err(d.unsupported("memory that is mapped twice"));
    }
    physical.mapped = Some(address);
    d.mappings.mapped.insert(address, Mapping { len, handle, devices: 0 });
    Ok(())
}

pub(crate) fn unmap(d: &mut Driver, address: u64, len: usize) -> Outcome {
    order::all_settled(d)?;
    for start in d.mappings.within(address, len as u64)? {
        allow(d, start, 0)?;
        if let Some(mapping) = d.mappings.mapped.remove(&start) {
            d.mappings.find_mut(mapping.handle)?.mapped = None;
            d.mappings.forget_unused(mapping.handle);
        }
    }
    Ok(())
}

/// Changes what devices can do with mappings.
pub(crate) fn set_access(
    d: &mut Driver,
    address: u64,
    len: usize,
    list: Ptr,
    count: usize,
) -> Outcome {
    d.not_failed()?;
    let mappings = d.mappings.within(address, len as u64)?;
    if count == 0 {
        return Err(Status::INVALID_VALUE);
    }
    for start in mappings {
        let before = d.mappings.mapped.get(&start).map_or(0, |mapping| mapping.devices);
        let devices = changed(d, before, list, count)?;
        allow(d, start, devices)?;
    }
    Ok(())
}

/// Writes what devices can do with the memory around an address.
pub(crate) fn access(d: &mut Driver, out: Ptr, location: Ptr, address: u64) -> Outcome {
    let location = get::<CUmemLocation>(location)?;
    let device = d.device(location.id)?;
    let (_, mapping) = d.mappings.around(address).ok_or(Status::INVALID_VALUE)?;
    put_u64(out, flags(mapping.devices, device) as u64)
}

/// Lets a set of devices access a mapping, and no others.
fn allow(d: &mut Driver, start: u64, devices: u16) -> Outcome {
    let before = d.mappings.mapped.get(&start).map_or(0, |mapping| mapping.devices);
    match (before, devices) {
        (0, 0) => return Ok(()),
        (0, _) => show(d, start)?,
        (_, 0) => hide(d, start)?,
        _ => {}
    }
    if devices != 0 {
        share(&mut d.device, start, devices)?;
    }
    if let Some(mapping) = d.mappings.mapped.get_mut(&start) {
        mapping.devices = devices;
    }
    Ok(())
}

/// Makes the memory of a mapping accessible.
fn show(d: &mut Driver, start: u64) -> Outcome {
    let mapping = d.mappings.mapped.get(&start).copied().ok_or(Status::INVALID_VALUE)?;
    let location = d.mappings.find_mut(mapping.handle)?.properties.location;
    d.device.set_device(location.id as u8);
    let name = format!("mapped memory #{}", d.memory.count + 1);
    let shown = d.device.allocate_at(&name, Addr(start), mapping.len);
    shown.map_err(|error| of_map(&error))?;
    let shared = d.mappings.find_mut(mapping.handle)?.shared.as_ref().map(SharedMemory::address);
    let kind = match shared {
        Some(host) => {
            d.device.show_host(Addr(start), host).map_err(|error| of_map(&error))?;
            AllocationKind::MappedShared
        }
        None => AllocationKind::Mapped,
    };
    d.memory.insert(start, mapping.len, NO_CONTEXT, kind, 0);
    if let Some(content) = d.mappings.find_mut(mapping.handle)?.content.take() {
        d.device.write(Addr(start), &content).map_err(|error| of_context(&error))?;
    }
    Ok(())
}

/// Hides a mapping from all devices. The content stays if the client can map it again.
fn hide(d: &mut Driver, start: u64) -> Outcome {
    let mapping = d.mappings.mapped.get(&start).copied().ok_or(Status::INVALID_VALUE)?;
    let physical = d.mappings.find_mut(mapping.handle)?;
    if physical.shared.is_some() {
        d.memory.remove(start);
        return d.device.unmap_host(start).map_err(|error| of_map(&error));
    }
    if physical.references > 0 {
        let mut content = vec![0; mapping.len as usize];
        d.device.read(Addr(start), &mut content).map_err(|error| of_context(&error))?;
        d.mappings.find_mut(mapping.handle)?.content = Some(content);
    }
    d.memory.remove(start);
    d.device.free(Addr(start)).map_err(|error| of_map(&error))
}
