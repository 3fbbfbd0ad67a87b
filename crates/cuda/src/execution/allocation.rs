//! Allocations as they come and go, and those of graphs, which live from a node's run to their
//! release.

use cuda_abi::{Outcome, Status};
use runtime::{Addr, Context, Event, Sharing};

use crate::errors::of_map;
use crate::state::Driver;
use crate::state::action::Action;
use crate::state::memory::AllocationKind;
use crate::state::plan::{Plan, visit};

/// Notes the client's call that has allocated memory.
pub(crate) fn note_allocated(d: &mut Driver, address: u64, bytes: u64) {
    let call = d.calls.current();
    d.log_for_leaks(|process| {
        let call = call.to_string();
        Event::Allocated { process, address, bytes, call }
    });
    d.device.note_allocated(Addr(address), bytes, call);
}

/// Frees an allocation.
pub(crate) fn release(d: &mut Driver, address: u64) {
    d.log_for_leaks(|process| Event::Freed { process, address });
    drop_allocation(d, address);
}

pub(crate) fn drop_allocation(d: &mut Driver, address: u64) {
    let Some(allocation) = d.memory.remove(address) else { return };
    // The table and the memory map agree, so this cannot fail.
    let freed = match allocation.kind {
        AllocationKind::Device | AllocationKind::Mapped => d.device.free(Addr(address)),
        AllocationKind::Managed(_)
        | AllocationKind::Exported(_)
        | AllocationKind::Imported(..)
        | AllocationKind::MappedShared => d.device.unmap_host(address),
        AllocationKind::Variable(_) | AllocationKind::Host(..) | AllocationKind::Registered(_) => {
            Ok(())
        }
    };
    debug_assert!(freed.is_ok());
    d.device.note_freed(Addr(address), d.calls.current());
    forget_unused(d, address);
}

/// Gives up an address that no graph has and at which no memory lives.
pub(crate) fn forget_unused(d: &mut Driver, address: u64) {
    if d.memory.of_graphs.get(&address) == Some(&0) && !d.memory.live.contains_key(&address) {
        d.memory.of_graphs.remove(&address);
        d.device.release_reservation(Addr(address));
    }
}

// Memory of graphs.

/// Lists the addresses that the steps of a plan allocate.
pub(crate) fn allocations(plan: &Plan) -> Vec<u64> {
    let mut found = Vec::new();
    visit(plan, &mut |step| {
        if let Action::Allocate { address, .. } = step.action {
            found.push(address);
        }
    });
    found
}

/// Lets a set of devices access an allocation.
pub(crate) fn share(device: &mut Context, address: u64, devices: u16) -> Outcome {
    device.set_sharing(Addr(address), Sharing::Devices(devices)).map_err(|error| of_map(&error))
}

/// Allocates memory of a device at its reserved address, which a set of devices may access.
pub(super) fn allocate(
    d: &mut Driver,
    context: u64,
    (address, len): (u64, u64),
    (device, devices): (i32, u16),
) -> Outcome {
    d.device.set_device(device as u8);
    let room = len.checked_next_multiple_of(d.settings.padding).ok_or(Status::OUT_OF_MEMORY)?;
    let name = format!("memory of a graph #{}", d.memory.count + 1);
    d.device.allocate_at(&name, Addr(address), room).map_err(|error| of_map(&error))?;
    share(&mut d.device, address, devices)?;
    d.memory.insert(address, len, context, AllocationKind::Device, 0);
    note_allocated(d, address, len);
    Ok(())
}

/// Frees memory that a graph has allocated.
pub(super) fn free(d: &mut Driver, address: u64) -> Outcome {
    if !d.memory.live.contains_key(&address) {
        return Err(Status::INVALID_VALUE);
    }
    release(d, address);
    Ok(())
}

/// Prepares the memory of a launch: what the last launch has allocated must have been freed, unless
/// the graph frees it itself.
pub(super) fn begin(d: &mut Driver, plan: &Plan, frees: bool) -> Outcome {
    let mut left = allocations(plan);
    left.retain(|address| d.memory.live.contains_key(address));
    if !left.is_empty() && !frees {
        return Err(Status::INVALID_VALUE);
    }
    for address in left {
        release(d, address);
    }
    Ok(())
}
