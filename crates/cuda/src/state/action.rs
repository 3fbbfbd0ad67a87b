//! Work of streams and graphs as data, which can be done now or kept for later.

use std::fmt;

use cuda_abi::host::Ptr;
use cuda_abi::{CUgraphConditionalNodeType, CUgraphNodeType, CUsharedMemoryMode, Outcome, Status};
use runtime::Shape;

/// A kernel launch as the client asks for it.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    pub(crate) function: u64,
    pub(crate) shape: Shape,
    pub(crate) params: Vec<u8>,
    pub(crate) shared_mode: CUsharedMemoryMode,
}

/// One side of a copy.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Endpoint {
    Device(u64),
    Host(u64),
}

impl Endpoint {
    /// Returns the side from a byte on.
    pub(crate) fn plus(self, bytes: u64) -> Self {
        match self {
            Self::Device(at) => Self::Device(at.wrapping_add(bytes)),
            Self::Host(at) => Self::Host(at.wrapping_add(bytes)),
        }
    }
}

/// A copy of adjacent bytes.
#[derive(Clone, Debug)]
pub(crate) struct Copy {
    pub(crate) to: Endpoint,
    pub(crate) from: Endpoint,
    pub(crate) len: u64,
}

/// One side of a copy of a box.
#[derive(Clone, Debug)]
pub(crate) struct Corner {
    pub(crate) side: Endpoint,
    pub(crate) pitch: u64,
    pub(crate) height: u64,
    pub(crate) offset: [u64; 3],
}

impl Corner {
    /// Returns the address of a row's first byte.
    pub(crate) fn row(&self, y: u64, z: u64) -> Outcome<Endpoint> {
        let [x0, y0, z0] = self.offset;
        let at = || {
            let plane = z.checked_add(z0)?.checked_mul(self.height)?;
            let rows = plane.checked_add(y)?.checked_add(y0)?;
            rows.checked_mul(self.pitch)?.checked_add(x0)
        };
        Ok(self.side.plus(at().ok_or(Status::INVALID_VALUE)?))
    }
}

/// A copy of a box of bytes.
#[derive(Clone, Debug)]
pub(crate) struct BoxCopy {
    pub(crate) to: Corner,
    pub(crate) from: Corner,
    pub(crate) width: u64,
    pub(crate) height: u64,
    pub(crate) depth: u64,
}

/// A fill of rows with a pattern. `width` counts patterns, `pitch` bytes.
#[derive(Clone, Debug)]
pub(crate) struct Fill {
    pub(crate) to: u64,
    pub(crate) pitch: u64,
    pub(crate) pattern: Vec<u8>,
    pub(crate) width: u64,
    pub(crate) height: u64,
}

/// How a value is compared with the one that a stream waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueTest {
    /// It is not less, cyclically.
    AtLeast,
    Equal,
    /// They have a bit in common.
    And,
    /// There is a bit that neither has.
    Nor,
}

/// A value of memory for which a stream waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ValueCondition {
    pub(crate) address: u64,
    /// 4 or 8.
    pub(crate) bytes: u64,
    pub(crate) value: u64,
    pub(crate) test: ValueTest,
}

impl fmt::Display for ValueCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { address, bytes, value, test } = self;
        let text = match test {
            ValueTest::AtLeast => "is at least (cyclically)",
            ValueTest::Equal => "is",
            ValueTest::And => "has a bit of",
            ValueTest::Nor => "misses a bit of",
        };
        write!(f, "the value of {bytes} bytes at {address:#x} {text} {value:#x}")
    }
}

/// Work in a graph that depends on the value of a condition.
#[derive(Clone, Debug)]
pub(crate) struct Conditional {
    /// The address of the value, which is the condition's handle.
    pub(crate) condition: u64,
    pub(crate) kind: CUgraphConditionalNodeType,
    /// Handles of the graphs of which the value chooses one.
    pub(crate) bodies: Vec<u64>,
}

impl Conditional {
    /// Returns the number of the body that runs for a value of the condition.
    pub(crate) fn chosen(&self, value: u32) -> Option<usize> {
        let index = match self.kind {
            CUgraphConditionalNodeType::IF => usize::from(value == 0),
            CUgraphConditionalNodeType::WHILE if value == 0 => return None,
            CUgraphConditionalNodeType::WHILE => 0,
            CUgraphConditionalNodeType::SWITCH => value as usize,
        };
        (index < self.bodies.len()).then_some(index)
    }
}

/// A piece of work submitted to a stream.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    Launch(Launch),
    Copy(Copy),
    Box(BoxCopy),
    /// One copy whose parts are in different rows of an array.
    Boxes(Vec<BoxCopy>),
    Fill(Fill),
    /// A call of the client's function with its data.
    Call {
        function: Ptr,
        data: Ptr,
    },
    /// All work of another graph, which belongs to the node.
    Graph(u64),
    Conditional(Conditional),
    /// Allocates memory of a device, of `len` bytes at a reserved address, which the devices of the
    /// set bits may access.
    Allocate {
        address: u64,
        len: u64,
        device: i32,
        devices: u16,
    },
    /// Frees memory that a graph has allocated.
    Free(u64),
    /// Records an event.
    Record(u64),
    /// Waits for an event.
    Wait(u64),
    /// Waits for a value of memory.
    WaitValue(ValueCondition),
    Nothing,
}

impl Action {
    /// Returns the type of a node with this work.
    pub(crate) fn kind(&self) -> CUgraphNodeType {
        match self {
            Self::Launch(_) => CUgraphNodeType::KERNEL,
            Self::Copy(_) | Self::Box(_) | Self::Boxes(_) => CUgraphNodeType::MEMCPY,
            Self::Fill(_) => CUgraphNodeType::MEMSET,
            Self::Call { .. } => CUgraphNodeType::HOST,
            Self::Graph(_) => CUgraphNodeType::GRAPH,
            Self::Nothing => CUgraphNodeType::EMPTY,
            Self::Wait(_) => CUgraphNodeType::WAIT_EVENT,
            Self::WaitValue(_) => CUgraphNodeType::BATCH_MEM_OP,
            Self::Record(_) => CUgraphNodeType::EVENT_RECORD,
            Self::Conditional(_) => CUgraphNodeType::CONDITIONAL,
            Self::Allocate { .. } => CUgraphNodeType::MEM_ALLOC,
            Self::Free(_) => CUgraphNodeType::MEM_FREE,
        }
    }

    /// Returns the handles of the graphs that a node with this work owns.
    pub(crate) fn graphs(&self) -> &[u64] {
        match self {
            Self::Graph(graph) => std::slice::from_ref(graph),
            Self::Conditional(work) => &work.bodies,
            _ => &[],
        }
    }

    /// Returns whether this work exists once, so that no copy of its graph can be made.
    pub(crate) fn is_unique(&self) -> bool {
        matches!(self, Self::Conditional(_) | Self::Allocate { .. } | Self::Free(_))
    }
}
