//! Conditions of graphs, and nodes whose work depends on one.
//!
//! The handle of a condition is the address of its value in device memory, so that kernels set it
//! by a store (`cudaGraphSetConditional`).

use cuda_abi::host::{Ptr, get, put_u64};
use cuda_abi::{CUDA_CONDITIONAL_NODE_PARAMS, CUgraphConditionalNodeType, Outcome, Status};
use runtime::{Addr, Sharing};

use crate::errors::of_map;
use crate::execution::condition::set_value;
use crate::state::Driver;
use crate::state::action::{Action, Conditional};
use crate::state::graph::MAX_DEPTH;
use crate::state::shared::Condition;

/// The flag of conditions that have a value at the beginning of each launch.
const ASSIGN_DEFAULT: u32 = 1;
/// The maximum number of bodies of a node.
const MAX_BODIES: u32 = 1 << 16;

pub(crate) fn create(
    d: &mut Driver,
    out: Ptr,
    graph: u64,
    context: u64,
    default: u32,
    flags: u32,
) -> Outcome {
    d.usable()?;
    if context != 0 {
        d.context(context)?;
    }
    if flags & !ASSIGN_DEFAULT != 0 {
        return Err(Status::INVALID_VALUE);
    }
    d.graphs.find(graph)?;
    let address = d.device.allocate("condition of a graph", 4).map_err(|error| of_map(&error))?;
    // Kernels of all devices can set it.
    d.device.set_sharing(address, Sharing::All).map_err(|error| of_map(&error))?;
    let default = (flags & ASSIGN_DEFAULT != 0).then_some(default);
    let new = Condition { default, used: false, holders: 1 };
    d.shared.conditions.insert(address.0, new);
    d.graphs.find_mut(graph)?.conditions.push(address.0);
    // Without a default, the value of the first launch is 0.
    set_value(d, address.0, 0)?;
    put_u64(out, address.0)
}

/// Creates the work of a conditional node, with graphs without nodes as its bodies.
pub(super) fn conditional(d: &mut Driver, graph: u64, at: Ptr) -> Outcome<Action> {
    use CUgraphConditionalNodeType as T;
    let p = get::<CUDA_CONDITIONAL_NODE_PARAMS>(at)?;
    let kind = T::of(p.r#type)?;
    let most = match kind {
        T::IF => 2,
        T::WHILE => 1,
        T::SWITCH => MAX_BODIES,
    };
    if !(1..=most).contains(&p.size) || d.graphs.depth(graph) + 1 >= MAX_DEPTH {
        return Err(Status::INVALID_VALUE);
    }
    let condition = d.shared.conditions.get_mut(&p.handle).filter(|found| !found.used);
    condition.ok_or(Status::INVALID_VALUE)?.used = true;
    let bodies: Vec<u64> = (0..p.size).map(|_| d.handle()).collect();
    for &body in &bodies {
        d.graphs.add(body);
    }
    Ok(Action::Conditional(Conditional { condition: p.handle, kind, bodies }))
}

/// Holds conditions once more.
pub(super) fn retain(d: &mut Driver, conditions: &[u64]) {
    for handle in conditions {
        if let Some(found) = d.shared.conditions.get_mut(handle) {
            found.holders += 1;
        }
    }
}

/// Gives up conditions; those that nobody holds are freed.
pub(super) fn release(d: &mut Driver, conditions: &[u64]) {
    for handle in conditions {
        let Some(found) = d.shared.conditions.get_mut(handle) else { continue };
        found.holders -= 1;
        if found.holders == 0 {
            d.shared.conditions.remove(handle);
            // The memory was allocated with the condition.
            let _ = d.device.free(Addr(*handle));
        }
    }
}
