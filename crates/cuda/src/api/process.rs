//! Memory and events that processes share (`cuIpcGetMemHandle` and its kin).
//!
//! A handle names an anonymous file. Memory whose handle was asked for moves there, and keeps its
//! address; in a process that opens it, it has the address at which the file is mapped. So kernels
//! see it as they see managed memory: it is copied in before a launch, and what the launch has
//! changed is copied back. Records of an event are counted in such a file.

use cuda_abi::host::{Ptr, get_bytes, put, put_bytes, put_u64};
use cuda_abi::{CUipcEventHandle, CUipcMem_flags, CUipcMemHandle, Outcome, Status};
use runtime::{Addr, HostOwner, Sharing};

use super::event::SHARED;
use crate::errors::of_map;
use crate::execution::allocation::{note_allocated, release, share};
use crate::execution::order;
use crate::state::Driver;
use crate::state::memory::AllocationKind;
use crate::state::process::{
    HANDLE, SharedCounts, SharedKind, SharedMemory, SharedName, handle, handle_within, named,
    named_within,
};
use crate::state::stream::EventState;

/// Writes the handle of an allocation, by its first address.
pub(crate) fn memory_handle(d: &mut Driver, out: Ptr, address: u64) -> Outcome {
    let context = d.usable()?;
    order::settled(d, context)?;
    let found = d.memory.live.get(&address).filter(|a| a.pool == 0);
    let len = found.ok_or(Status::INVALID_VALUE)?.len;
    let name = exported(d, address)?;
    put(out, &CUipcMemHandle { reserved: handle(SharedKind::Memory, name, len) })
}

/// Moves an allocation to memory that others can map, and returns its name.
fn exported(d: &mut Driver, address: u64) -> Outcome<SharedName> {
    let allocation = d.memory.live.get(&address).ok_or(Status::INVALID_VALUE)?;
    match &allocation.kind {
        AllocationKind::Exported(shared) => Ok(shared.name()),
        AllocationKind::Device if !d.memory.of_graphs.contains_key(&address) => {
            let (_, room) = d.device.allocation(Addr(address)).ok_or(Status::INVALID_VALUE)?;
            let shared = SharedMemory::new(room).ok_or(Status::OUT_OF_MEMORY)?;
            let backed = d.device.back_by_host(Addr(address), shared.address());
            backed.map_err(|_| Status::OUT_OF_MEMORY)?;
            let name = shared.name();
            if let Some(allocation) = d.memory.live.get_mut(&address) {
                allocation.kind = AllocationKind::Exported(shared);
            }
            Ok(name)
        }
        _ => Err(Status::INVALID_VALUE),
    }
}

/// Writes what others find an allocation of a pool by: 64 bytes.
pub(crate) fn export_pointer(d: &mut Driver, out: Ptr, address: u64) -> Outcome {
    let context = d.usable()?;
    order::settled(d, context)?;
    let allocation = d.memory.live.get(&address).ok_or(Status::INVALID_VALUE)?;
    let (pool, len) = (d.pools.find(allocation.pool)?, allocation.len);
    let number = pool.number().filter(|_| !pool.imported).ok_or(Status::INVALID_VALUE)?;
    let name = exported(d, address)?;
    put_bytes(out, &handle_within(SharedKind::Pointer, name, len, number))
}

/// Maps an allocation of a pool of another process. It is freed like one of this process.
pub(crate) fn import_pointer(d: &mut Driver, out: Ptr, pool: u64, data: Ptr) -> Outcome {
    let context = d.usable()?;
    let found = d.pools.find(pool)?;
    let number = found.number().filter(|_| found.imported).ok_or(Status::INVALID_VALUE)?;
    let (device, devices) = (found.device, found.devices);
    let mut handle = [0; HANDLE];
    get_bytes(data, &mut handle)?;
    let named = named_within(SharedKind::Pointer, &handle, number);
    let (name, len) = named.ok_or(Status::INVALID_VALUE)?;
    if name.process == std::process::id() {
        return Err(Status::INVALID_VALUE);
    }
    let shared = SharedMemory::open(name).ok_or(Status::INVALID_VALUE)?;
    d.device.set_device(device as u8);
    let address = map_shared(d, context, (shared, len), pool)?;
    share(&mut d.device, address, devices).and_then(|()| put_u64(out, address)).inspect_err(|_| {
        release(d, address);
    })
}

/// Maps memory of another process. A handle that was opened before has the same address again.
pub(crate) fn open_memory(d: &mut Driver, out: Ptr, handle: CUipcMemHandle, flags: u32) -> Outcome {
    let context = d.usable()?;
    CUipcMem_flags::of(flags as i32)?;
    let (name, len) = named(SharedKind::Memory, &handle.reserved).ok_or(Status::INVALID_HANDLE)?;
    if name.process == std::process::id() {
        return Err(Status::INVALID_CONTEXT);
    }
    for (&address, allocation) in &mut d.memory.live {
        if let AllocationKind::Imported(shared, opened) = &mut allocation.kind
            && allocation.pool == 0
            && shared.name() == name
        {
            put_u64(out, address)?;
            *opened += 1;
            return Ok(());
        }
    }
    let shared = SharedMemory::open(name).ok_or(Status::INVALID_HANDLE)?;
    d.allocate_for(context)?;
    let address = map_shared(d, context, (shared, len), 0)?;
    put_u64(out, address).inspect_err(|_| release(d, address))
}

/// Maps memory of another process, and returns its address.
fn map_shared(
    d: &mut Driver,
    context: u64,
    (shared, len): (SharedMemory, u64),
    pool: u64,
) -> Outcome<u64> {
    let address = shared.address();
    let name = format!("memory of process {}", shared.name().process);
    let mapped = d.device.map_host(&name, address, shared.len(), HostOwner::Others);
    mapped.map_err(|error| of_map(&error))?;
    d.device.set_sharing(Addr(address), Sharing::Peers).map_err(|error| of_map(&error))?;
    d.memory.insert(address, len, context, AllocationKind::Imported(shared, 1), pool);
    note_allocated(d, address, len);
    Ok(address)
}

/// Unmaps memory of another process, once for each time that it was opened.
pub(crate) fn close_memory(d: &mut Driver, address: u64) -> Outcome {
    let context = d.usable()?;
    order::settled(d, context)?;
    let found = d.memory.live.get_mut(&address).filter(|a| a.pool == 0).map(|a| &mut a.kind);
    let Some(AllocationKind::Imported(_, opened)) = found else {
        return Err(Status::INVALID_VALUE);
    };
    *opened -= 1;
    if *opened == 0 {
        release(d, address);
    }
    Ok(())
}

/// Writes the handle of an event.
pub(crate) fn event_handle(d: &mut Driver, out: Ptr, event: u64) -> Outcome {
    let event = d.events.get_mut(&event).ok_or(Status::INVALID_HANDLE)?;
    if event.flags & SHARED != SHARED {
        return Err(Status::INVALID_HANDLE);
    }
    let counts = match event.shared.take() {
        Some(counts) => counts,
        None => {
            let memory = SharedMemory::new(SharedCounts::LEN).ok_or(Status::OUT_OF_MEMORY)?;
            let counts = SharedCounts::new(memory);
            for (index, count) in (0..).zip(event.own) {
                counts.set(index, count);
            }
            counts
        }
    };
    let name = event.shared.insert(counts).name();
    put(out, &CUipcEventHandle { reserved: handle(SharedKind::Event, name, SharedCounts::LEN) })
}

/// Creates an event that is recorded with one of another process.
pub(crate) fn open_event(d: &mut Driver, out: Ptr, handle: CUipcEventHandle) -> Outcome {
    let context = d.usable()?;
    let (name, len) = named(SharedKind::Event, &handle.reserved).ok_or(Status::INVALID_HANDLE)?;
    if name.process == std::process::id() {
        return Err(Status::INVALID_CONTEXT);
    }
    let memory = SharedMemory::open(name).filter(|_| len == SharedCounts::LEN);
    let memory = memory.ok_or(Status::INVALID_HANDLE)?;
    let event = d.handle();
    put_u64(out, event)?;
    let mut state = EventState::new(context, SHARED);
    state.shared = Some(SharedCounts::new(memory));
    d.events.insert(event, state);
    Ok(())
}
