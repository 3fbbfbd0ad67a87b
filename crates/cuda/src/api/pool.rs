//! Memory pools, and allocation in stream order, which is the order of calls here.

use cuda_abi::host::{Ptr, get, get_list, put_i32, put_u64};
use cuda_abi::{
    CUmemAccess_flags, CUmemAccessDesc, CUmemAllocationType, CUmemLocation, CUmemLocationType,
    CUmemPool_attribute, CUmemPoolProps, Outcome, Status,
};

use super::memory::{alloc_in, free, kept};
use super::{capture, graph_memory};
use crate::execution::allocation::share;
use crate::execution::order;
use crate::state::Driver;
use crate::state::action::Action;
use crate::state::pool::Pool;
use crate::state::process::{FILE_DESCRIPTOR, Shareable, put_descriptor};

/// Returns the default and the current pool of a device; creates the default pool on first use.
fn pools_of(d: &mut Driver, device: i32) -> Outcome<(u64, u64)> {
    let device = d.device(device)?;
    if let Some(&known) = d.pools.of_device.get(&device) {
        return Ok(known);
    }
    let handle = d.handle();
    d.pools.pools.insert(handle, Pool { default: true, ..Pool::of(device) });
    d.pools.of_device.insert(device, (handle, handle));
    Ok((handle, handle))
}

pub(crate) fn default_of(d: &mut Driver, out: Ptr, device: i32) -> Outcome {
    let (default, _) = pools_of(d, device)?;
    put_u64(out, default)
}

pub(crate) fn current_of(d: &mut Driver, out: Ptr, device: i32) -> Outcome {
    let (_, current) = pools_of(d, device)?;
    put_u64(out, current)
}

pub(crate) fn set_current(d: &mut Driver, device: i32, pool: u64) -> Outcome {
    let (default, _) = pools_of(d, device)?;
    if d.pools.pools.get(&pool).is_none_or(|p| p.device != device || p.imported) {
        return Err(Status::INVALID_VALUE);
    }
    d.pools.of_device.insert(device, (default, pool));
    Ok(())
}

/// Returns the device of a location that has pools; other places and managed memory have none here.
fn device_at(d: &mut Driver, location: Ptr, kind: i32) -> Outcome<i32> {
    let at = get::<CUmemLocation>(location)?;
    if kind != CUmemAllocationType::PINNED as i32 {
        return Err(d.unsupported("pools of managed memory"));
    }
    if at.r#type != CUmemLocationType::DEVICE as i32 {
        return Err(d.unsupported("pools of the host's memory"));
    }
    Ok(at.id)
}

pub(crate) fn default_at(d: &mut Driver, out: Ptr, location: Ptr, kind: i32) -> Outcome {
    let device = device_at(d, location, kind)?;
    default_of(d, out, device)
}

pub(crate) fn current_at(d: &mut Driver, out: Ptr, location: Ptr, kind: i32) -> Outcome {
    let device = device_at(d, location, kind)?;
    current_of(d, out, device)
}

pub(crate) fn set_current_at(d: &mut Driver, location: Ptr, kind: i32, pool: u64) -> Outcome {
    let device = device_at(d, location, kind)?;
    set_current(d, device, pool)
}

pub(crate) fn create(d: &mut Driver, out: Ptr, properties: Ptr) -> Outcome {
    let p = get::<CUmemPoolProps>(properties)?;
    if p.allocType != CUmemAllocationType::PINNED as i32
        || p.location.r#type != CUmemLocationType::DEVICE as i32
    {
        return Err(d.unsupported("cuMemPoolCreate of other memory than a device's"));
    }
    if !matches!(p.handleTypes, 0 | FILE_DESCRIPTOR) {
        return Err(d.unsupported("cuMemPoolCreate with other handles than file descriptors"));
    }
    let device = d.device(p.location.id)?;
    let is_shared = p.handleTypes == FILE_DESCRIPTOR;
    // Nothing is in the file: allocations have files of their own.
    let shared = is_shared.then(|| Shareable::Pool.create(0, device)).transpose()?;
    add(d, out, Pool { shared, ..Pool::of(device) })
}

fn add(d: &mut Driver, out: Ptr, pool: Pool) -> Outcome {
    let handle = d.handle();
    put_u64(out, handle)?;
    d.pools.pools.insert(handle, pool);
    Ok(())
}

/// Writes a handle of a pool for other processes.
pub(crate) fn export(d: &mut Driver, out: Ptr, pool: u64, kind: i32, flags: u64) -> Outcome {
    let shared = d.pools.find(pool)?.shared.as_ref();
    let shared = shared.filter(|_| kind == FILE_DESCRIPTOR && flags == 0);
    put_descriptor(out, shared.ok_or(Status::INVALID_VALUE)?)
}

/// Creates a pool that stands for one of another process.
pub(crate) fn import(d: &mut Driver, out: Ptr, descriptor: u64, kind: i32, flags: u64) -> Outcome {
    if kind != FILE_DESCRIPTOR || flags != 0 {
        return Err(Status::INVALID_VALUE);
    }
    let (shared, device) = Shareable::Pool.open(descriptor as i32)?;
    let device = d.device(device)?;
    add(d, out, Pool { shared: Some(shared), imported: true, ..Pool::of(device) })
}

pub(crate) fn destroy(d: &mut Driver, pool: u64) -> Outcome {
    match d.pools.pools.get(&pool) {
        Some(found) if !found.default => {
            let device = found.device;
            d.pools.pools.remove(&pool);
            if let Some(pools) = d.pools.of_device.get_mut(&device).filter(|p| p.1 == pool) {
                pools.1 = pools.0;
            }
            Ok(())
        }
        _ => Err(Status::INVALID_VALUE),
    }
}

pub(crate) fn get_attribute(d: &mut Driver, pool: u64, attribute: i32, out: Ptr) -> Outcome {
    use CUmemPool_attribute as A;
    let pool = d.pools.find(pool)?;
    let attribute = CUmemPool_attribute::of(attribute)?;
    let set = pool.attributes.get(&attribute).copied();
    match attribute {
        A::REUSE_FOLLOW_EVENT_DEPENDENCIES
        | A::REUSE_ALLOW_OPPORTUNISTIC
        | A::REUSE_ALLOW_INTERNAL_DEPENDENCIES => put_i32(out, set.unwrap_or(1) as i32),
        A::RELEASE_THRESHOLD => put_u64(out, set.unwrap_or(0)),
        A::RESERVED_MEM_CURRENT | A::USED_MEM_CURRENT => put_u64(out, pool.used),
        A::RESERVED_MEM_HIGH | A::USED_MEM_HIGH => put_u64(out, pool.most),
    }
}

pub(crate) fn set_attribute(d: &mut Driver, pool: u64, attribute: i32, value: Ptr) -> Outcome {
    use CUmemPool_attribute as A;
    let pool = d.pools.pools.get_mut(&pool).ok_or(Status::INVALID_VALUE)?;
    let attribute = CUmemPool_attribute::of(attribute)?;
    match attribute {
        A::REUSE_FOLLOW_EVENT_DEPENDENCIES
        | A::REUSE_ALLOW_OPPORTUNISTIC
        | A::REUSE_ALLOW_INTERNAL_DEPENDENCIES => {
            pool.attributes.insert(attribute, get::<u32>(value)?.into());
        }
        A::RELEASE_THRESHOLD => {
            pool.attributes.insert(attribute, get(value)?);
        }
        // High watermarks can be reset.
        A::RESERVED_MEM_HIGH | A::USED_MEM_HIGH if get::<u64>(value)? == 0 => pool.most = pool.used,
        _ => return Err(Status::INVALID_VALUE),
    }
    Ok(())
}

pub(crate) fn trim(d: &mut Driver, pool: u64, _keep: usize) -> Outcome {
    d.pools.find(pool).map(drop)
}

/// Changes which devices may access the memory of a pool, also that which is allocated already.
pub(crate) fn set_access(d: &mut Driver, pool: u64, list: Ptr, count: usize) -> Outcome {
    let &Pool { device, devices, .. } = d.pools.find(pool)?;
    // The pool's own device may always access it.
    let devices = changed(d, devices, list, count)? | 1 << device;
    if let Some(pool) = d.pools.pools.get_mut(&pool) {
        pool.devices = devices;
    }
    let theirs = d.memory.live.iter().filter(|(_, a)| a.pool == pool);
    for &address in theirs.map(|(address, _)| address) {
        share(&mut d.device, address, devices)?;
    }
    Ok(())
}

/// Returns a set of devices with the changes of a list of descriptors.
pub(super) fn changed(d: &Driver, mut devices: u16, list: Ptr, count: usize) -> Outcome<u16> {
    use CUmemAccess_flags as F;
    for access in get_list::<CUmemAccessDesc>(list, count)? {
        if access.location.r#type != CUmemLocationType::DEVICE as i32 {
            return Err(d.unsupported("access of the host to memory of a device"));
        }
        let bit = 1 << d.device(access.location.id)?;
        match F::of(access.flags)? {
            F::READWRITE => devices |= bit,
            F::NONE => devices &= !bit,
            F::READ => return Err(d.unsupported("memory that devices can only read")),
        }
    }
    Ok(devices)
}

/// Returns what a device may do with memory that a set of devices may access.
pub(super) fn flags(devices: u16, device: i32) -> CUmemAccess_flags {
    match devices >> device & 1 {
        0 => CUmemAccess_flags::NONE,
        _ => CUmemAccess_flags::READWRITE,
    }
}

pub(crate) fn get_access(d: &mut Driver, out: Ptr, pool: u64, location: Ptr) -> Outcome {
    let devices = d.pools.find(pool)?.devices;
    let location = get::<CUmemLocation>(location)?;
    if location.r#type != CUmemLocationType::DEVICE as i32 {
        return Err(Status::INVALID_VALUE);
    }
    let device = d.device(location.id)?;
    put_i32(out, flags(devices, device) as i32)
}

pub(crate) fn alloc_async(d: &mut Driver, out: Ptr, len: usize, stream: u64) -> Outcome {
    let context = d.stream_context(stream)?;
    let (_, pool) = pools_of(d, d.context(context)?.device)?;
    alloc_from(d, out, len, pool, stream)
}

pub(crate) fn alloc_from(d: &mut Driver, out: Ptr, len: usize, pool: u64, stream: u64) -> Outcome {
    let context = d.stream_context(stream)?;
    let &Pool { device, devices, imported, .. } = d.pools.find(pool)?;
    if imported {
        return Err(Status::INVALID_VALUE);
    }
    if capture::is_captured(d, stream)? {
        return alloc_captured(d, out, len, (stream, device, devices));
    }
    let address = alloc_in(d, (context, device), len as u64, pool)?;
    share(&mut d.device, address, devices)?;
    let written = put_u64(out, address);
    kept(d, address, written)?;
    if let Some(pool) = d.pools.pools.get_mut(&pool) {
        pool.used += len as u64;
        pool.most = pool.most.max(pool.used);
    }
    Ok(())
}

/// Adds an allocation to the graph that a stream captures: memory of a device that a set of devices
/// may access.
fn alloc_captured(
    d: &mut Driver,
    out: Ptr,
    len: usize,
    (stream, device, devices): (u64, i32, u16),
) -> Outcome {
    let action = graph_memory::reserve(d, len as u64, device, devices)?;
    let Action::Allocate { address, .. } = action else { return Err(Status::UNKNOWN) };
    let kept = put_u64(out, address).and_then(|()| capture::add(d, stream, action.clone()));
    kept.inspect_err(|_| graph_memory::forget(d, &action))
}

pub(crate) fn free_async(d: &mut Driver, address: u64, stream: u64) -> Outcome {
    let context = d.stream_context(stream)?;
    if capture::is_captured(d, stream)? {
        // Each launch of the graph uses memory that no graph has allocated, so it stays as long as
        // its context.
        let of_graph = d.memory.of_graphs.contains_key(&address);
        let action = if of_graph { Action::Free(address) } else { Action::Nothing };
        return capture::add(d, stream, action);
    }
    if order::is_held(d, context, stream) {
        return capture::submit(d, stream, Action::Free(address));
    }
    let known = d.memory.around(address).filter(|(start, _)| *start == address);
    let known = known.map(|(_, a)| (a.pool, a.len));
    free(d, address)?;
    if let Some((pool, len)) = known
        && let Some(pool) = d.pools.pools.get_mut(&pool)
    {
        pool.used = pool.used.saturating_sub(len);
    }
    Ok(())
}
