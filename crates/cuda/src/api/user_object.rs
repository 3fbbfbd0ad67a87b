//! Objects of the client that graphs hold, and that are destroyed with their last reference.

use std::collections::BTreeMap;

use cuda_abi::host::{Ptr, put_u64};
use cuda_abi::{Outcome, Status};

use crate::state::Driver;
use crate::state::shared::UserObject;

/// The flag that every object has: no call waits for its destruction.
const NO_DESTRUCTOR_SYNC: u32 = 1;
/// The flag of references that the client gives to a graph.
const MOVE: u32 = 1;

/// Checks a number of references.
fn references(count: u32) -> Outcome<u32> {
    if (1..=i32::MAX as u32).contains(&count) { Ok(count) } else { Err(Status::INVALID_VALUE) }
}

pub(crate) fn create(
    d: &mut Driver,
    out: Ptr,
    data: Ptr,
    destroy: Ptr,
    count: u32,
    flags: u32,
) -> Outcome {
    let references = references(count)?.into();
    if destroy == 0 || flags != NO_DESTRUCTOR_SYNC {
        return Err(Status::INVALID_VALUE);
    }
    let handle = d.handle();
    put_u64(out, handle)?;
    d.shared.objects.insert(handle, UserObject { data, destroy, references });
    Ok(())
}

pub(crate) fn retain(d: &mut Driver, object: u64, count: u32) -> Outcome {
    d.shared.retain(object, references(count)?)
}

pub(crate) fn release(d: &mut Driver, object: u64, count: u32) -> Outcome {
    d.shared.release(object, references(count)?)
}

/// Adds references that a graph holds, or moves those of the client to it.
pub(crate) fn retain_by(
    d: &mut Driver,
    graph: u64,
    object: u64,
    count: u32,
    flags: u32,
) -> Outcome {
    let count = references(count)?;
    if flags & !MOVE != 0 || d.graphs.find(graph)?.owner.is_some() {
        return Err(Status::INVALID_VALUE);
    }
    if flags & MOVE == 0 {
        d.shared.retain(object, count)?;
    } else if !d.shared.objects.contains_key(&object) {
        return Err(Status::INVALID_VALUE);
    }
    let held = d.graphs.find_mut(graph)?.objects.entry(object).or_default();
    *held = held.saturating_add(count);
    Ok(())
}

/// Removes references that a graph holds.
pub(crate) fn release_by(d: &mut Driver, graph: u64, object: u64, count: u32) -> Outcome {
    let count = references(count)?;
    let objects = &mut d.graphs.find_mut(graph)?.objects;
    let held = objects.get_mut(&object).ok_or(Status::INVALID_VALUE)?;
    *held = held.checked_sub(count).ok_or(Status::INVALID_VALUE)?;
    if *held == 0 {
        objects.remove(&object);
    }
    d.shared.release(object, count)
}

/// Holds what another graph holds.
pub(super) fn retain_all(d: &mut Driver, objects: &BTreeMap<u64, u32>) {
    for (&object, &count) in objects {
        // The other graph's references keep the object.
        let _ = d.shared.retain(object, count);
    }
}

/// Gives up what a graph holds.
pub(super) fn release_all(d: &mut Driver, objects: &BTreeMap<u64, u32>) {
    for (&object, &count) in objects {
        // The graph's references have kept the object.
        let _ = d.shared.release(object, count);
    }
}
