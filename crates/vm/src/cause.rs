//! Faults: why a launch stops.

use converge::Refusal;
use simt::memory::AccessError;
use simt::trap::Cause as IsCause;
use thiserror::Error;

/// The reason of a fault. [`IsCause::code`] gives the stable short name.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum Cause {
    /// A memory access that is not allowed.
    #[error(transparent)]
    Access(#[from] Box<AccessError>),
    /// The convergence mechanism does not support what the program does.
    #[error(transparent)]
    Mechanism(#[from] Refusal),
    /// Calls nest too deeply.
    #[error("guest stack overflow: {depth} nested calls need more than {limit} bytes a thread")]
    StackOverflow {
        /// Calls on the lane's stack.
        depth: u32,
        /// Bytes of registers and local variables that a thread may have.
        limit: u64,
    },
    /// An indirect call to an address at which no function begins, or one of another signature.
    #[error("indirect call to {address:#x}, {what}")]
    CallTarget {
        /// The address called.
        address: u64,
        /// A description of what is at the address.
        what: &'static str,
    },
    /// A switch index beyond its table.
    #[error("branch index {index} is beyond the table of {len} targets")]
    SwitchIndex {
        /// The index.
        index: u64,
        /// Targets in the table.
        len: usize,
    },
    /// A collective executed by a lane that its member mask leaves out.
    #[error("lane {lane} executes a collective whose member mask {members:#010x} leaves it out")]
    NotMember {
        /// Lane in the architectural warp.
        lane: u32,
        /// The member mask.
        members: u32,
    },
    /// An instruction of the whole warp that some of its lanes can never execute.
    #[error(
        "an instruction of all 32 lanes of a warp, of which {missing:#010x} are not there or have exited"
    )]
    PartialWarp {
        /// The lanes that are missing.
        missing: u32,
    },
    /// Metadata of a sparse matrix that the PTX ISA leaves undefined.
    #[error("sparsity metadata {word:#010x}: {misuse}")]
    SparsityMetadata {
        /// The lane's word.
        word: u32,
        /// What is wrong with it.
        misuse: simt::matrix::Misuse,
    },
    /// An instruction of a warp group some of whose threads can never execute it.
    #[error(
        "an instruction of the four warps of a warp group, of which {missing:#06b} have threads that are not there or have exited"
    )]
    PartialWarpGroup {
        /// The warps, as bits.
        missing: u32,
    },
    /// A descriptor of a matrix that the PTX ISA leaves undefined.
    #[error("the matrix descriptor {bits:#018x}: {misuse}")]
    MatrixDescriptor {
        /// The descriptor.
        bits: u64,
        /// What is wrong with it.
        misuse: simt::matrix::DescriptorMisuse,
    },
    /// Warps of a warp group that do not execute the same product.
    #[error("a warp group must execute one product together, but {what}")]
    WarpGroupDiffers {
        /// What differs.
        what: &'static str,
    },
    /// A barrier number that does not exist.
    #[error("barrier {id} does not exist: a CTA has 16, numbered from 0")]
    BarrierId {
        /// The number.
        id: u64,
    },
    /// A thread count that a barrier cannot have.
    #[error(
        "a barrier of {count} threads: the count must be a positive multiple of the warp size, {warp}, and at most {threads}"
    )]
    BarrierCount {
        /// The count.
        count: u64,
        /// The architectural warp size.
        warp: u32,
        /// Threads of the CTA, in whole warps.
        threads: u32,
    },
    /// A barrier in memory that is used in a way that the PTX ISA leaves undefined.
    #[error("the barrier at shared address {offset:#x}: {misuse}")]
    Mbarrier {
        /// Offset of the barrier in the CTA's shared memory.
        offset: u64,
        /// The rule that the use breaks.
        misuse: simt::mbarrier::Misuse,
    },
    /// A barrier in memory whose address is not in shared memory.
    #[error("the barrier at {address:#x} is not in shared memory")]
    MbarrierSpace {
        /// The generic address.
        address: u64,
    },
    /// A shared address of a CTA that the access cannot have.
    #[error("{} {address:#x}: {misuse}", match misuse {
        crate::cluster::ClusterMisuse::Elsewhere => "address",
        _ => "shared address",
    })]
    ClusterAddress {
        /// The address in the window of the cluster.
        address: u64,
        /// The rule that it breaks.
        misuse: crate::cluster::ClusterMisuse,
    },
    /// A wait at the barrier of the cluster without an arrival, or a second arrival without a wait.
    #[error("{}", match waits {
        true => "a wait at the barrier of the cluster without an arrival before it",
        false => "a second arrival at the barrier of the cluster without a wait between them",
    })]
    ClusterBarrier {
        /// Whether it is the wait.
        waits: bool,
    },
    /// A bulk copy that the PTX ISA leaves undefined.
    #[error("a bulk copy: {0}")]
    Bulk(#[from] crate::bulk::BulkMisuse),
    /// A tensor copy that cannot be done.
    #[error("a tensor copy: {0}")]
    Tensor(#[from] crate::tensor::TensorMisuse),
    /// A texture or surface that cannot be used so.
    #[error("the texture or surface object {handle:#x}: {misuse}")]
    Texture {
        /// Its handle.
        handle: u64,
        /// What is wrong.
        misuse: crate::texture::TextureMisuse,
    },
    /// `free` of an address that `malloc` did not return, or that was freed before.
    #[error("free of {address:#x}: {why}")]
    BadFree {
        /// The address.
        address: u64,
        /// The rule that the address breaks.
        why: String,
    },
    /// `trap`.
    #[error("the kernel executed a trap")]
    Trap,
    /// `brkpt` without a debugger.
    #[error("the kernel stopped at a breakpoint, and no debugger is attached")]
    Breakpoint,
    /// A failed assertion.
    #[error("{file}:{line}: {function}: assertion `{message}` failed")]
    Assert {
        /// The asserted expression.
        message: String,
        /// Source file.
        file: String,
        /// Source line.
        line: u32,
        /// Function.
        function: String,
    },
    /// The host has no memory for the guest's state.
    #[error("no host memory: {0}")]
    HostMemory(String),
}

impl IsCause for Cause {
    fn code(&self) -> &'static str {
        match self {
            Self::Access(error) => error.violation.code(),
            Self::Mechanism(Refusal::Parted { .. }) => "lanes-part",
            Self::Mechanism(_) => "mechanism",
            Self::StackOverflow { .. } => "stack-overflow",
            Self::CallTarget { .. } => "call-target",
            Self::SwitchIndex { .. } => "branch-index",
            Self::NotMember { .. } => "not-a-member",
            Self::PartialWarp { .. } => "partial-warp",
            Self::SparsityMetadata { .. } => "sparsity-metadata",
            Self::PartialWarpGroup { .. } => "partial-warp-group",
            Self::MatrixDescriptor { .. } => "matrix-descriptor",
            Self::WarpGroupDiffers { .. } => "warp-group-differs",
            Self::BarrierId { .. } => "barrier-id",
            Self::BarrierCount { .. } => "barrier-count",
            Self::Mbarrier { .. } => "mbarrier",
            Self::MbarrierSpace { .. } => "mbarrier-space",
            Self::ClusterAddress { .. } => "cluster-address",
            Self::ClusterBarrier { .. } => "cluster-barrier",
            Self::Bulk(_) => "bulk-copy",
            Self::Tensor(_) => "tensor-copy",
            Self::Texture { .. } => "texture",
            Self::BadFree { .. } => "bad-free",
            Self::Trap => "trap",
            Self::Breakpoint => "breakpoint",
            Self::Assert { .. } => "assertion",
            Self::HostMemory(_) => "host-memory",
        }
    }
}
