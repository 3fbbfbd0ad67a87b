//! Memory pools, and allocation in stream order, which is the order of calls here.

use std::collections::BTreeMap;

use crate::action::Action;
use crate::driver::Driver;
use crate::host::{Ptr, put, put_i32, put_u64, structure};
use crate::memory::{alloc_in, free, kept};
use crate::status::{Outcome, Status};
use crate::stream::context_of;

/// The last pool attribute. Attributes 1 to 3 are switches, 4 is the release threshold, 5 to 8 are
/// sizes in bytes.
const LAST_ATTRIBUTE: i32 = 8;

/// A memory pool.
#[derive(Debug, Default)]
struct Pool {
    device: i32,
    /// Attributes that were set, by number.
    attributes: BTreeMap<i32, u64>,
    used: u64,
    most: u64,
    /// Whether it is a device's default pool.
    default: bool,
}

/// All pools.
#[derive(Debug, Default)]
pub(crate) struct Pools {
    pools: BTreeMap<u64, Pool>,
    /// The default and the current pool of each device.
    of_device: BTreeMap<i32, (u64, u64)>,
}

/// Returns the default and the current pool of a device; creates the default pool on first use.
fn pools_of(d: &mut Driver, device: i32) -> Outcome<(u64, u64)> {
    let device = d.device(device)?;
    if let Some(&known) = d.pools.of_device.get(&device) {
        return Ok(known);
    }
    let handle = d.handle();
    d.pools.pools.insert(handle, Pool { device, default: true, ..Pool::default() });
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
    if d.pools.pools.get(&pool).is_none_or(|p| p.device != device) {
        return Err(Status::INVALID_VALUE);
    }
    d.pools.of_device.insert(device, (default, pool));
    Ok(())
}

pub(crate) fn create(d: &mut Driver, out: Ptr, properties: Ptr) -> Outcome {
    let s = structure(properties, 16)?;
    // Pinned memory on a device, without handles for other processes.
    if s.u32(0) != 1 || s.u32(8) != 1 {
        return Err(d.unsupported("cuMemPoolCreate of other memory than a device's"));
    }
    if s.u32(4) != 0 {
        return Err(d.unsupported("cuMemPoolCreate with handles for other processes"));
    }
    let device = d.device(s.u32(12) as i32)?;
    let handle = d.handle();
    put_u64(out, handle)?;
    d.pools.pools.insert(handle, Pool { device, ..Pool::default() });
    Ok(())
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

fn find(d: &Driver, pool: u64) -> Outcome<&Pool> {
    d.pools.pools.get(&pool).ok_or(Status::INVALID_VALUE)
}

pub(crate) fn get_attribute(d: &mut Driver, pool: u64, attribute: i32, out: Ptr) -> Outcome {
    let pool = find(d, pool)?;
    match attribute {
        1..=3 => put_i32(out, pool.attributes.get(&attribute).map_or(1, |&v| v as i32)),
        4 => put_u64(out, pool.attributes.get(&4).copied().unwrap_or(0)),
        5 | 7 => put_u64(out, pool.used),
        6 | 8 => put_u64(out, pool.most),
        _ => Err(Status::INVALID_VALUE),
    }
}

pub(crate) fn set_attribute(d: &mut Driver, pool: u64, attribute: i32, value: Ptr) -> Outcome {
    find(d, pool)?;
    let wide = if attribute <= 3 { 4 } else { 8 };
    let s = structure(value, wide)?;
    let value = if wide == 4 { s.u32(0).into() } else { s.u64(0) };
    let pool = d.pools.pools.get_mut(&pool).ok_or(Status::INVALID_VALUE)?;
    match attribute {
        1..=4 => {
            pool.attributes.insert(attribute, value);
            Ok(())
        }
        // High watermarks can be reset.
        6 | LAST_ATTRIBUTE if value == 0 => {
            pool.most = pool.used;
            Ok(())
        }
        _ => Err(Status::INVALID_VALUE),
    }
}

pub(crate) fn trim(d: &mut Driver, pool: u64, _keep: usize) -> Outcome {
    find(d, pool).map(drop)
}

pub(crate) fn set_access(d: &mut Driver, pool: u64, _list: Ptr, _count: usize) -> Outcome {
    find(d, pool).map(drop)
}

/// Returns that all devices can read and write.
pub(crate) fn get_access(d: &mut Driver, out: Ptr, pool: u64, _location: Ptr) -> Outcome {
    find(d, pool)?;
    put(out, &3_i32.to_ne_bytes())
}

pub(crate) fn alloc_async(d: &mut Driver, out: Ptr, len: usize, stream: u64) -> Outcome {
    let context = context_of(d, stream)?;
    let (_, pool) = pools_of(d, d.context(context)?.device)?;
    alloc_from(d, out, len, pool, stream)
}

pub(crate) fn alloc_from(d: &mut Driver, out: Ptr, len: usize, pool: u64, stream: u64) -> Outcome {
    let context = context_of(d, stream)?;
    find(d, pool)?;
    let address = alloc_in(d, context, len as u64, pool)?;
    let told = put_u64(out, address);
    kept(d, address, told)?;
    if let Some(pool) = d.pools.pools.get_mut(&pool) {
        pool.used += len as u64;
        pool.most = pool.most.max(pool.used);
    }
    Ok(())
}

pub(crate) fn free_async(d: &mut Driver, address: u64, stream: u64) -> Outcome {
    context_of(d, stream)?;
    if crate::capture::is_captured(d, stream)? {
        // Each launch of the graph uses the allocation, so it stays as long as its context.
        return crate::capture::add(d, stream, Action::Nothing);
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
