//! Memory of graphs: its address is reserved with the node that allocates it, and it lives from
//! that node's run to its release, by a node or by a call.

use cuda_abi::host::{Ptr, get, put_u64};
use cuda_abi::{
    CUDA_MEM_ALLOC_NODE_PARAMS, CUgraphMem_attribute, CUmemLocationType, Outcome, Status,
};

use super::pool::changed;
use crate::errors::of_map;
use crate::execution::allocation::{allocations, forget_unused};
use crate::state::Driver;
use crate::state::action::Action;
use crate::state::plan::Plan;

/// Reads the parameters of an allocation, and reserves its address.
pub(super) fn allocation(d: &mut Driver, at: Ptr) -> Outcome<Action> {
    let p = get::<CUDA_MEM_ALLOC_NODE_PARAMS>(at)?;
    if p.poolProps.handleTypes != 0
        || p.poolProps.location.r#type != CUmemLocationType::DEVICE as i32
    {
        return Err(Status::NOT_SUPPORTED);
    }
    let device = d.device(p.poolProps.location.id)?;
    let devices = match p.accessDescCount as usize {
        0 => 1 << device,
        count => changed(d, 1 << device, p.accessDescs, count)? | 1 << device,
    };
    reserve(d, p.bytesize, device, devices)
}

/// Reserves the address of an allocation of a graph: memory of a device that a set of devices may
/// access.
pub(super) fn reserve(d: &mut Driver, len: u64, device: i32, devices: u16) -> Outcome<Action> {
    let (_, limit) = d.memory_use(device);
    if len == 0 {
        return Err(Status::INVALID_VALUE);
    }
    if len > limit {
        return Err(Status::OUT_OF_MEMORY);
    }
    let room = len.checked_next_multiple_of(d.settings.padding).ok_or(Status::OUT_OF_MEMORY)?;
    let address = d.device.reserve(room, 1).map_err(|error| of_map(&error))?.0;
    d.memory.of_graphs.insert(address, 1);
    Ok(Action::Allocate { address, len, device, devices })
}

/// Creates the release of an allocation of a graph. In one graph there is one release of each.
pub(super) fn release_of(d: &mut Driver, graph: u64, address: u64) -> Outcome<Action> {
    let is_release = |action: &Action| matches!(action, Action::Free(at) if *at == address);
    let released = d.graphs.find(graph)?.nodes.values().any(|node| is_release(&node.action));
    if released || !d.memory.of_graphs.contains_key(&address) {
        return Err(Status::INVALID_VALUE);
    }
    Ok(Action::Free(address))
}

/// Gives up the address of an allocation whose node is removed. It stays as long as other graphs
/// have it, or memory lives there.
pub(super) fn forget(d: &mut Driver, action: &Action) {
    if let Action::Allocate { address, .. } = action {
        forget_address(d, *address);
    }
}

fn forget_address(d: &mut Driver, address: u64) {
    let Some(holders) = d.memory.of_graphs.get_mut(&address) else { return };
    *holders = holders.saturating_sub(1);
    forget_unused(d, address);
}

/// Keeps the addresses of a plan's allocations.
pub(super) fn hold(d: &mut Driver, plan: &Plan) {
    for address in allocations(plan) {
        if let Some(holders) = d.memory.of_graphs.get_mut(&address) {
            *holders += 1;
        }
    }
}

/// Gives up the addresses of a plan's allocations.
pub(super) fn forget_all(d: &mut Driver, plan: &Plan) {
    for address in allocations(plan) {
        forget_address(d, address);
    }
}

/// Refuses to remove nodes or edges of a graph that allocates or frees memory.
pub(super) fn refuse_removal(d: &Driver, graph: u64) -> Outcome {
    let is_memory = |action: &Action| matches!(action, Action::Allocate { .. } | Action::Free(_));
    let has = d.graphs.find(graph)?.nodes.values().any(|node| is_memory(&node.action));
    if has { Err(Status::NOT_SUPPORTED) } else { Ok(()) }
}

/// Writes a count of the memory of graphs.
pub(crate) fn attribute(d: &mut Driver, device: i32, attribute: i32, out: Ptr) -> Outcome {
    use CUgraphMem_attribute as A;
    d.device(device)?;
    // What is free is given back at once, so that no more is reserved than is used.
    put_u64(
        out,
        match A::of(attribute)? {
            A::USED_MEM_CURRENT | A::RESERVED_MEM_CURRENT => d.memory.used_by_graphs,
            A::USED_MEM_HIGH | A::RESERVED_MEM_HIGH => d.memory.most_of_graphs,
        },
    )
}

/// Resets a high watermark, which is all that can be set.
pub(crate) fn set_attribute(d: &mut Driver, device: i32, attribute: i32, at: Ptr) -> Outcome {
    use CUgraphMem_attribute as A;
    d.device(device)?;
    match A::of(attribute)? {
        A::USED_MEM_HIGH | A::RESERVED_MEM_HIGH if get::<u64>(at)? == 0 => {
            d.memory.most_of_graphs = d.memory.used_by_graphs;
            Ok(())
        }
        _ => Err(Status::INVALID_VALUE),
    }
}

/// Checks its argument: unused memory is always given back.
pub(crate) fn trim(d: &mut Driver, device: i32) -> Outcome {
    d.device(device).map(drop)
}
