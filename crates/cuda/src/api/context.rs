//! Contexts: creation, primary contexts, the current context of each thread, limits.

use cuda_abi::host::{Ptr, get, put_i32, put_u64, put_u64_if};
use cuda_abi::{
    CUctx_flags, CUctxCreateParams, CUfunc_cache, CUlimit, CUsharedconfig, Outcome, Status,
};
use runtime::Heap;

use super::{array, capture, memory, module, stream};
use crate::execution::order;
use crate::profile;
use crate::state::Driver;
use crate::state::context::Ctx;
use crate::state::current::{pop, push, set_top, top};

pub(crate) fn create(d: &mut Driver, out: Ptr, flags: u32, device: i32) -> Outcome {
    let device = d.device(device)?;
    if flags & !CUctx_flags::MASK != 0 || out == 0 {
        return Err(Status::INVALID_VALUE);
    }
    let handle = d.handle();
    put_u64(out, handle)?;
    d.contexts.insert(handle, Ctx { device, flags, ..Ctx::default() });
    profile::note_context(handle, device);
    push(handle);
    Ok(())
}

/// Creates a context with options, none of which is supported.
pub(crate) fn create_with(
    d: &mut Driver,
    out: Ptr,
    extra: Ptr,
    flags: u32,
    device: i32,
) -> Outcome {
    if extra != 0 {
        let extra = get::<CUctxCreateParams>(extra)?;
        if extra.cigParams != 0 {
            return Err(d.unsupported("cuCtxCreate with data of a graphics client"));
        }
        if extra.execAffinityParams != 0 {
            return Err(d.unsupported("cuCtxCreate with affinities"));
        }
        if extra.numExecAffinityParams != 0 {
            return Err(Status::INVALID_VALUE);
        }
    }
    create(d, out, flags, device)
}

pub(crate) fn create_with_affinity(
    d: &mut Driver,
    out: Ptr,
    affinities: Ptr,
    count: i32,
    flags: u32,
    device: i32,
) -> Outcome {
    if affinities != 0 || count != 0 {
        return Err(d.unsupported("cuCtxCreate with affinities"));
    }
    create(d, out, flags, device)
}

/// Destroys a context with its memory, modules, streams and events.
pub(crate) fn destroy(d: &mut Driver, handle: u64) -> Outcome {
    d.context(handle)?;
    if d.primary.values().any(|p| p.0 == handle) {
        return Err(Status::INVALID_CONTEXT);
    }
    order::drained(d, handle)?;
    end(d, handle);
    if top() == handle {
        pop();
    }
    Ok(())
}

fn end(d: &mut Driver, handle: u64) {
    profile::forget_context(handle);
    if let Some(mut context) = d.contexts.remove(&handle) {
        d.device.clear_heap(&mut context.heap);
    }
    array::free_all(d, handle);
    memory::free_all(d, handle);
    let gone: Vec<u64> =
        d.modules.iter().filter(|(_, m)| m.context == handle).map(|(&h, _)| h).collect();
    for module in gone {
        // The module exists, so it can be unloaded.
        let _ = module::remove(d, module);
    }
    let streams = d.streams.iter().filter(|(_, s)| s.context == handle);
    for stream in streams.map(|(&s, _)| s).collect::<Vec<_>>() {
        // The stream exists.
        let _ = stream::destroy(d, stream);
    }
    d.events.retain(|_, e| e.context != handle);
}

pub(crate) fn push_current(d: &mut Driver, handle: u64) -> Outcome {
    d.context(handle)?;
    push(handle);
    Ok(())
}

pub(crate) fn pop_current(_d: &mut Driver, out: Ptr) -> Outcome {
    if top() == 0 {
        return Err(Status::INVALID_CONTEXT);
    }
    put_u64_if(out, top())?;
    pop();
    Ok(())
}

pub(crate) fn set_current(d: &mut Driver, handle: u64) -> Outcome {
    if handle != 0 {
        d.context(handle)?;
    }
    set_top(handle);
    Ok(())
}

pub(crate) fn get_current(d: &mut Driver, out: Ptr) -> Outcome {
    let context = top();
    put_u64(out, if d.contexts.contains_key(&context) { context } else { 0 })
}

pub(crate) fn device(d: &mut Driver, out: Ptr) -> Outcome {
    let context = d.current()?;
    put_i32(out, d.context(context)?.device)
}

/// Returns the given context, or the current one if the handle is null.
fn chosen(d: &Driver, handle: u64) -> Outcome<u64> {
    if handle == 0 { d.current() } else { d.context(handle).map(|_| handle) }
}

pub(crate) fn device_of(d: &mut Driver, out: Ptr, handle: u64) -> Outcome {
    let context = chosen(d, handle)?;
    put_i32(out, d.context(context)?.device)
}

pub(crate) fn flags(d: &mut Driver, out: Ptr) -> Outcome {
    let context = d.current()?;
    put_i32(out, d.context(context)?.flags as i32)
}

pub(crate) fn set_flags(d: &mut Driver, flags: u32) -> Outcome {
    let context = d.current()?;
    if flags & !CUctx_flags::MASK != 0 {
        return Err(Status::INVALID_VALUE);
    }
    change(d, context, |c| c.flags = flags)
}

fn change(d: &mut Driver, handle: u64, change: impl FnOnce(&mut Ctx)) -> Outcome {
    change(d.contexts.get_mut(&handle).ok_or(Status::INVALID_CONTEXT)?);
    Ok(())
}

pub(crate) fn id(d: &mut Driver, handle: u64, out: Ptr) -> Outcome {
    let context = chosen(d, handle)?;
    put_u64(out, context)
}

pub(crate) fn api_version(d: &mut Driver, handle: u64, out: Ptr) -> Outcome {
    chosen(d, handle)?;
    put_i32(out, 3020)
}

pub(crate) fn attach(d: &mut Driver, out: Ptr, _flags: u32) -> Outcome {
    let context = d.current()?;
    put_u64(out, context)
}

pub(crate) fn synchronize(d: &mut Driver) -> Outcome {
    let context = d.usable()?;
    capture::refuse_synchronization(d, None)?;
    order::settled(d, context)
}

pub(crate) fn synchronize_one(d: &mut Driver, handle: u64) -> Outcome {
    let context = chosen(d, handle)?;
    d.context(context)?.failed.map_or(Ok(()), Err)?;
    order::settled(d, context)
}

/// Returns the default of a limit.
fn default_limit(limit: CUlimit) -> u64 {
    match limit {
        CUlimit::STACK_SIZE => 1024,
        CUlimit::PRINTF_FIFO_SIZE => 1 << 20,
        CUlimit::MALLOC_HEAP_SIZE => Heap::default().limit(),
        CUlimit::DEV_RUNTIME_SYNC_DEPTH => 2,
        CUlimit::DEV_RUNTIME_PENDING_LAUNCH_COUNT => 2048,
        CUlimit::MAX_L2_FETCH_GRANULARITY => 128,
        CUlimit::PERSISTING_L2_CACHE_SIZE => 0,
    }
}

pub(crate) fn get_limit(d: &mut Driver, out: Ptr, limit: i32) -> Outcome {
    let limit = CUlimit::of(limit)?;
    let context = d.current()?;
    let set = d.context(context)?.limits.get(&limit).copied();
    put_u64(out, set.unwrap_or_else(|| default_limit(limit)))
}

pub(crate) fn set_limit(d: &mut Driver, limit: i32, value: u64) -> Outcome {
    let limit = CUlimit::of(limit)?;
    let context = d.current()?;
    let c = d.contexts.get_mut(&context).ok_or(Status::INVALID_CONTEXT)?;
    if limit == CUlimit::MALLOC_HEAP_SIZE && value != c.heap.limit() {
        // The limit is fixed once a kernel has used the heap.
        if c.heap.was_used() {
            return Err(Status::INVALID_VALUE);
        }
        c.heap = Heap::new(value);
    }
    c.limits.insert(limit, value);
    Ok(())
}

pub(crate) fn get_cache_config(d: &mut Driver, out: Ptr) -> Outcome {
    let context = d.current()?;
    put_i32(out, d.context(context)?.cache_config)
}

pub(crate) fn set_cache_config(d: &mut Driver, config: i32) -> Outcome {
    let context = d.current()?;
    CUfunc_cache::of(config)?;
    change(d, context, |c| c.cache_config = config)
}

pub(crate) fn get_shared_config(d: &mut Driver, out: Ptr) -> Outcome {
    let context = d.current()?;
    put_i32(out, d.context(context)?.shared_config)
}

pub(crate) fn set_shared_config(d: &mut Driver, config: i32) -> Outcome {
    let context = d.current()?;
    CUsharedconfig::of(config)?;
    change(d, context, |c| c.shared_config = config)
}

pub(crate) fn priority_range(d: &mut Driver, least: Ptr, greatest: Ptr) -> Outcome {
    d.current()?;
    if least != 0 {
        put_i32(least, 0)?;
    }
    if greatest != 0 {
        put_i32(greatest, stream::GREATEST_PRIORITY)?;
    }
    Ok(())
}

pub(crate) fn reset_l2(d: &mut Driver) -> Outcome {
    d.usable().map(drop)
}

pub(crate) fn enable_peer(d: &mut Driver, peer: u64, flags: u32) -> Outcome {
    let context = d.usable()?;
    if flags != 0 {
        return Err(Status::INVALID_VALUE);
    }
    if d.context(peer)?.device == d.context(context)?.device {
        return Err(Status::INVALID_DEVICE);
    }
    if d.context(context)?.peers.contains(&peer) {
        return Err(Status::PEER_ACCESS_ALREADY_ENABLED);
    }
    change(d, context, |c| c.peers.push(peer))
}

pub(crate) fn disable_peer(d: &mut Driver, peer: u64) -> Outcome {
    let context = d.usable()?;
    if !d.context(context)?.peers.contains(&peer) {
        return Err(Status::PEER_ACCESS_NOT_ENABLED);
    }
    change(d, context, |c| c.peers.retain(|&p| p != peer))
}

// Primary contexts.

pub(crate) fn retain_primary(d: &mut Driver, out: Ptr, device: i32) -> Outcome {
    let device = d.device(device)?;
    let (mut handle, count, flags) = d.primary.get(&device).copied().unwrap_or((0, 0, 0));
    if handle == 0 {
        handle = d.handle();
    }
    put_u64(out, handle)?;
    d.contexts.entry(handle).or_insert_with(|| Ctx { device, flags, ..Ctx::default() });
    profile::note_context(handle, device);
    d.primary.insert(device, (handle, count.saturating_add(1), flags));
    Ok(())
}

pub(crate) fn release_primary(d: &mut Driver, device: i32) -> Outcome {
    let device = d.device(device)?;
    match d.primary.get(&device).copied() {
        Some((handle, count, flags)) if count > 0 => {
            if count == 1 {
                order::drained(d, handle)?;
            }
            d.primary.insert(device, (handle, count - 1, flags));
            if count == 1 {
                end(d, handle);
            }
            Ok(())
        }
        _ => Err(Status::INVALID_CONTEXT),
    }
}

/// Destroys what the primary context owns. If it is retained, it stays, empty and without its
/// failure.
pub(crate) fn reset_primary(d: &mut Driver, device: i32) -> Outcome {
    let device = d.device(device)?;
    if let Some((handle, count, flags)) = d.primary.get(&device).copied() {
        order::drained(d, handle)?;
        end(d, handle);
        if count > 0 {
            d.contexts.insert(handle, Ctx { device, flags, ..Ctx::default() });
            profile::note_context(handle, device);
        }
    }
    Ok(())
}

pub(crate) fn primary_state(d: &mut Driver, device: i32, flags: Ptr, active: Ptr) -> Outcome {
    let device = d.device(device)?;
    let (_, count, set) = d.primary.get(&device).copied().unwrap_or((0, 0, 0));
    put_i32(flags, set as i32)?;
    put_i32(active, i32::from(count > 0))
}

pub(crate) fn set_primary_flags(d: &mut Driver, device: i32, flags: u32) -> Outcome {
    let device = d.device(device)?;
    if flags & !CUctx_flags::MASK != 0 {
        return Err(Status::INVALID_VALUE);
    }
    let known = d.primary.get(&device).copied().unwrap_or((0, 0, 0));
    d.primary.insert(device, (known.0, known.1, flags));
    Ok(())
}
