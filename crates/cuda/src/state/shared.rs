//! What graphs and executable graphs hold together: conditions, and objects of the client.

use std::collections::BTreeMap;

use cuda_abi::host::Ptr;
use cuda_abi::{Outcome, Status};

use super::pending::ClientCall;

/// A condition of a graph. Its handle is the address of its value in device memory.
#[derive(Debug)]
pub(crate) struct Condition {
    /// The value at the beginning of each launch, if it has one.
    pub(crate) default: Option<u32>,
    /// Whether a node has it.
    pub(crate) used: bool,
    /// The graphs and executable graphs that hold it.
    pub(crate) holders: u32,
}

/// An object of the client, which is told when nobody holds it any more.
#[derive(Debug)]
pub(crate) struct UserObject {
    pub(crate) data: Ptr,
    pub(crate) destroy: Ptr,
    pub(crate) references: u64,
}

/// All conditions and objects by handle.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    pub(crate) conditions: BTreeMap<u64, Condition>,
    pub(crate) objects: BTreeMap<u64, UserObject>,
    /// Calls of the client to make when the driver's lock is free.
    pub(crate) calls: Vec<ClientCall>,
}

impl Shared {
    /// Adds references to an object.
    pub(crate) fn retain(&mut self, object: u64, count: u32) -> Outcome {
        let found = self.objects.get_mut(&object).ok_or(Status::INVALID_VALUE)?;
        found.references += u64::from(count);
        Ok(())
    }

    /// Removes references to an object, which is destroyed with the last one.
    pub(crate) fn release(&mut self, object: u64, count: u32) -> Outcome {
        let found = self.objects.get_mut(&object).ok_or(Status::INVALID_VALUE)?;
        let left = found.references.checked_sub(count.into()).ok_or(Status::INVALID_VALUE)?;
        found.references = left;
        if left == 0 {
            self.calls.push(ClientCall::Host { function: found.destroy, data: found.data });
            self.objects.remove(&object);
        }
        Ok(())
    }
}
