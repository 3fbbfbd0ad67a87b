//! Work of streams and graphs as data, which can be done now or kept for later.

use std::sync::Arc;

use cuda_abi::host::Ptr;
use cuda_abi::{CUgraphNodeType, Outcome, Status};
use runtime::Shape;

/// A kernel launch as the client asks for it.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    pub(crate) function: u64,
    pub(crate) shape: Shape,
    pub(crate) params: Vec<u8>,
}

/// One side of a copy.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Endpoint {
    Device(u64),
    Host(u64),
}

impl Endpoint {
    fn plus(self, bytes: u64) -> Self {
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

/// The actions of a graph with their nodes, in an order that respects dependencies.
pub(crate) type Actions = Arc<[(u64, Action)]>;

/// A piece of work submitted to a stream.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    Launch(Launch),
    Copy(Copy),
    Box(BoxCopy),
    Fill(Fill),
    /// A call of the client's function with its data.
    Call {
        function: Ptr,
        data: Ptr,
    },
    /// All work of another graph, in this order.
    Graph(Actions),
    /// Records an event.
    Record(u64),
    /// Waits for an event. The work before the event is always done already.
    Wait,
    Nothing,
}

impl Action {
    /// Returns the type of a node with this work.
    pub(crate) fn kind(&self) -> CUgraphNodeType {
        match self {
            Self::Launch(_) => CUgraphNodeType::KERNEL,
            Self::Copy(_) | Self::Box(_) => CUgraphNodeType::MEMCPY,
            Self::Fill(_) => CUgraphNodeType::MEMSET,
            Self::Call { .. } => CUgraphNodeType::HOST,
            Self::Graph(_) => CUgraphNodeType::GRAPH,
            Self::Nothing => CUgraphNodeType::EMPTY,
            Self::Wait => CUgraphNodeType::WAIT_EVENT,
            Self::Record(_) => CUgraphNodeType::EVENT_RECORD,
        }
    }
}
