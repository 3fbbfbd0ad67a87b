//! The statuses of errors that the virtual machine returns.

use cuda_abi::Status;
use runtime::{ContextError, LaunchError, MapError, StopKind};

/// Returns the status of a failed change of the memory map.
pub(crate) fn of_map(error: &MapError) -> Status {
    match error {
        MapError::NotAllocated { .. } | MapError::AlreadyFreed { .. } => Status::INVALID_VALUE,
        MapError::Overlap { .. } => Status::HOST_MEMORY_ALREADY_REGISTERED,
        _ => Status::OUT_OF_MEMORY,
    }
}

/// Returns the status of a failed operation on the memory or on the modules of the device.
pub(crate) fn of_context(error: &ContextError) -> Status {
    match error {
        ContextError::Map(error) => of_map(error),
        ContextError::Module => Status::INVALID_HANDLE,
        ContextError::Access(_) | ContextError::Host(_) | ContextError::HostUnmapped(_) => {
            Status::INVALID_VALUE
        }
    }
}

/// Returns the status that hardware reports for a fault.
pub(crate) fn of_stop(kind: StopKind, code: &str) -> Status {
    match (kind, code) {
        (StopKind::Hang, _) => Status::LAUNCH_TIMEOUT,
        (_, "misaligned") => Status::MISALIGNED_ADDRESS,
        (_, "assertion") => Status::ASSERT,
        (_, "wrong-space") => Status::INVALID_ADDRESS_SPACE,
        (_, "stack-overflow") => Status::HARDWARE_STACK_ERROR,
        (_, "call-target" | "branch-index") => Status::INVALID_PC,
        (
            _,
            "null-pointer" | "use-after-free" | "read-only" | "out-of-bounds" | "not-mapped"
            | "other-device",
        ) => Status::ILLEGAL_ADDRESS,
        _ => Status::LAUNCH_FAILED,
    }
}

/// Returns the status of a launch that cannot begin.
pub(crate) fn of_launch(error: &LaunchError) -> Status {
    match error {
        LaunchError::Host(_) => Status::OUT_OF_MEMORY,
        LaunchError::Cluster(_) => Status::INVALID_CLUSTER_SIZE,
        LaunchError::Shared { .. } => Status::OUT_OF_RESOURCES,
        _ => Status::INVALID_VALUE,
    }
}
