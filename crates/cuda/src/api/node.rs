//! Parameters of nodes: how calls give them, and how they are shown.

use std::mem::offset_of;

use cuda_abi::host::{Ptr, get, put, put_u64};
use cuda_abi::{
    Abi as _, CUDA_CHILD_GRAPH_NODE_PARAMS, CUDA_CONDITIONAL_NODE_PARAMS,
    CUDA_EVENT_RECORD_NODE_PARAMS, CUDA_EVENT_WAIT_NODE_PARAMS, CUDA_HOST_NODE_PARAMS,
    CUDA_KERNEL_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS_v1, CUDA_MEM_ALLOC_NODE_PARAMS,
    CUDA_MEM_FREE_NODE_PARAMS, CUDA_MEMCPY_NODE_PARAMS, CUDA_MEMCPY3D, CUDA_MEMSET_NODE_PARAMS,
    CUgraphChildGraphNodeOwnership, CUgraphNodeParams, CUgraphNodeType, CUlaunchAttribute,
    CUlaunchAttributeID, CUmemAllocationType, CUmemLocation, CUmemLocationType, CUmemPoolProps,
    CUmemorytype, CUsharedMemoryMode, Outcome, Status,
};
use runtime::Shape;

use super::edges::{Dependencies, insert};
use super::launch::{attributes as launch_attributes, params};
use super::{condition, copy, event, graph, graph_memory};
use crate::state::Driver;
use crate::state::action::{Action, BoxCopy, Copy, Corner, Endpoint, Fill, Launch};

/// A kind of node, which says how its parameters are given.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NodeKind {
    Kernel,
    Copy,
    Fill,
    Host,
    /// A copy of another graph, given by its handle rather than by a structure.
    Child(u64),
    /// Another graph, which becomes the node's.
    Moved(u64),
    Empty,
    Wait(u64),
    Record(u64),
    Allocate,
    Free(u64),
    Conditional,
}

impl NodeKind {
    /// Returns the kind of parameters of any kind, and the address of the kind's structure.
    fn of(d: &Driver, at: Ptr) -> Outcome<(Self, Ptr)> {
        use CUgraphNodeType as T;
        let inside = at + offset_of!(CUgraphNodeParams, reserved1);
        let refused = |d: &Driver| d.unsupported("nodes of semaphores or batches in a graph");
        let kind = T::of(get(at)?).map_err(|_| refused(d))?;
        let kind = match kind {
            T::BATCH_MEM_OP => return Err(refused(d)),
            T::KERNEL => Self::Kernel,
            T::MEMCPY => {
                return Ok((Self::Copy, inside + offset_of!(CUDA_MEMCPY_NODE_PARAMS, copyParams)));
            }
            T::MEMSET => Self::Fill,
            T::HOST => Self::Host,
            T::GRAPH => Self::of_child(inside)?,
            T::EMPTY => Self::Empty,
            T::WAIT_EVENT => Self::Wait(get::<CUDA_EVENT_WAIT_NODE_PARAMS>(inside)?.event),
            T::EVENT_RECORD => Self::Record(get::<CUDA_EVENT_RECORD_NODE_PARAMS>(inside)?.event),
            T::MEM_ALLOC => Self::Allocate,
            T::MEM_FREE => Self::Free(get::<CUDA_MEM_FREE_NODE_PARAMS>(inside)?.dptr),
            T::CONDITIONAL => Self::Conditional,
        };
        Ok((kind, inside))
    }

    /// Reads a graph, and whether the node is to own it rather than a copy.
    fn of_child(at: Ptr) -> Outcome<Self> {
        let graph = get::<CUDA_CHILD_GRAPH_NODE_PARAMS>(at)?.graph;
        // The field is padding, which is zero, before version 13.
        let ownership = get(at + size_of::<CUDA_CHILD_GRAPH_NODE_PARAMS>())?;
        Ok(match CUgraphChildGraphNodeOwnership::of(ownership)? {
            CUgraphChildGraphNodeOwnership::CLONE => Self::Child(graph),
            CUgraphChildGraphNodeOwnership::MOVE => Self::Moved(graph),
        })
    }

    /// Reads the parameters of a node that is to be added to a graph. Graphs, addresses and
    /// conditions that the node is to own are created.
    pub(super) fn create(self, d: &mut Driver, graph: u64, at: Ptr) -> Outcome<Action> {
        match self {
            Self::Child(child) => graph::embed(d, graph, child),
            Self::Moved(child) => graph::take(d, graph, child),
            Self::Allocate => graph_memory::allocation(d, at),
            Self::Free(address) => graph_memory::release_of(d, graph, address),
            Self::Conditional => condition::conditional(d, graph, at),
            _ => self.read(d, at),
        }
    }

    /// Reads new parameters of a node.
    pub(super) fn read(self, d: &Driver, at: Ptr) -> Outcome<Action> {
        match self {
            Self::Kernel => launch_of(d, at),
            Self::Copy => copy::three(d, at),
            Self::Fill => fill_of(at),
            Self::Host => {
                let params = get::<CUDA_HOST_NODE_PARAMS>(at)?;
                let (function, data) = (params.r#fn, params.userData);
                if function == 0 {
                    Err(Status::INVALID_VALUE)
                } else {
                    Ok(Action::Call { function, data })
                }
            }
            Self::Empty => Ok(Action::Nothing),
            Self::Wait(event) => event::recording(d, event).map(|_| Action::Wait(event)),
            Self::Record(event) => event::recording(d, event),
            // What such a node owns stays as it is.
            Self::Child(_)
            | Self::Moved(_)
            | Self::Allocate
            | Self::Free(_)
            | Self::Conditional => Err(Status::INVALID_VALUE),
        }
    }

    /// Writes what the client is to know of a new node into its parameters.
    fn answer(self, d: &mut Driver, node: u64, at: Ptr) -> Outcome {
        match (self, d.graphs.node(node)?.action.clone()) {
            (Self::Allocate, Action::Allocate { address, .. }) => {
                put_u64(at + offset_of!(CUDA_MEM_ALLOC_NODE_PARAMS, dptr), address)
            }
            (Self::Conditional, Action::Conditional(work)) => {
                let bodies = show(d, node, work.bodies)?;
                put_u64(at + offset_of!(CUDA_CONDITIONAL_NODE_PARAMS, phGraph_out), bodies)
            }
            _ => Ok(()),
        }
    }
}

/// Adds a node of a kind, with its dependencies.
pub(crate) fn add(
    d: &mut Driver,
    out: Ptr,
    graph: u64,
    after: Dependencies,
    kind: NodeKind,
    params: Ptr,
) -> Outcome {
    d.usable()?;
    let after = after.read(d)?;
    d.graphs.find(graph)?;
    let action = kind.create(d, graph, params)?;
    let node = insert(d, graph, after, action)?;
    let end = put_u64(out, node).and_then(|()| kind.answer(d, node, params));
    end.inspect_err(|_| {
        // The client has no handle of the node.
        graph::remove_node(d, node);
    })
}

/// Adds a node of the kind that `CUgraphNodeParams` says.
pub(crate) fn add_any(
    d: &mut Driver,
    out: Ptr,
    graph: u64,
    after: Dependencies,
    params: Ptr,
) -> Outcome {
    let (kind, at) = NodeKind::of(d, params)?;
    add(d, out, graph, after, kind, at)
}

/// Changes the work of a node of a modifiable graph.
pub(crate) fn set(d: &mut Driver, node: u64, kind: NodeKind, params: Ptr) -> Outcome {
    let action = kind.read(d, params)?;
    let node = d.graphs.node_mut(node)?;
    if node.action.kind() != action.kind() {
        return Err(Status::INVALID_VALUE);
    }
    node.action = action;
    Ok(())
}

/// Does the same with parameters of any kind.
pub(crate) fn set_any(d: &mut Driver, node: u64, params: Ptr) -> Outcome {
    let (kind, at) = NodeKind::of(d, params)?;
    set(d, node, kind, at)
}

/// Reads new parameters of any kind for a node of an executable graph.
pub(super) fn read_any(d: &Driver, params: Ptr) -> Outcome<Action> {
    let (kind, at) = NodeKind::of(d, params)?;
    kind.read(d, at)
}

// Attributes of launches.

/// Bytes of a launch attribute's value.
const VALUE: usize = 64;

/// Returns the launch of a node, to be changed.
fn launch_mut(d: &mut Driver, node: u64) -> Outcome<&mut Launch> {
    match &mut d.graphs.node_mut(node)?.action {
        Action::Launch(launch) => Ok(launch),
        _ => Err(Status::INVALID_VALUE),
    }
}

/// Sets an attribute of a launch; those without an effect here are accepted.
pub(crate) fn set_attribute(d: &mut Driver, node: u64, attribute: i32, value: Ptr) -> Outcome {
    let value = get::<[u32; VALUE / 4]>(value)?;
    let launch = launch_mut(d, node)?;
    let attributes = [CUlaunchAttribute { id: attribute, pad: [0; 4], value }];
    match CUlaunchAttributeID::of(attribute) {
        Ok(CUlaunchAttributeID::CLUSTER_DIMENSION) => {
            launch.shape.cluster = launch_attributes(&attributes)?.cluster;
        }
        Ok(CUlaunchAttributeID::COOPERATIVE) => {
            launch.shape.cooperative = launch_attributes(&attributes)?.cooperative;
        }
        Ok(CUlaunchAttributeID::SHARED_MEMORY_MODE) => {
            launch.shared_mode = launch_attributes(&attributes)?.shared_mode;
        }
        Err(_) => {}
    }
    Ok(())
}

/// Writes an attribute of a launch; those without an effect here are zero.
pub(crate) fn attribute(d: &mut Driver, node: u64, attribute: i32, out: Ptr) -> Outcome {
    let Launch { shape, shared_mode, .. } = *launch_mut(d, node)?;
    let mut value = [0_u32; VALUE / 4];
    match CUlaunchAttributeID::of(attribute) {
        Ok(CUlaunchAttributeID::CLUSTER_DIMENSION) => {
            value[..3].copy_from_slice(&shape.cluster.unwrap_or_default());
        }
        Ok(CUlaunchAttributeID::COOPERATIVE) => value[0] = shape.cooperative.into(),
        Ok(CUlaunchAttributeID::SHARED_MEMORY_MODE) => value[0] = shared_mode as u32,
        Err(_) => {}
    }
    put(out, &value)
}

pub(crate) fn copy_attributes(d: &mut Driver, to: u64, from: u64) -> Outcome {
    let Launch { shape: from, shared_mode, .. } = *launch_mut(d, from)?;
    let launch = launch_mut(d, to)?;
    (launch.shape.cooperative, launch.shape.cluster) = (from.cooperative, from.cluster);
    launch.shared_mode = shared_mode;
    Ok(())
}

/// Reads the graph from the parameters of a node that has one.
pub(super) fn child_of(params: Ptr) -> Outcome<u64> {
    get(params + offset_of!(CUgraphNodeParams, reserved1))
}

/// Reads the parameters of a launch. The kernel's parameters are copied now.
fn launch_of(d: &Driver, at: Ptr) -> Outcome<Action> {
    let p = get::<CUDA_KERNEL_NODE_PARAMS_v1>(at)?;
    let function = match p.func {
        // The second version of the structure names a kernel instead.
        0 => get::<CUDA_KERNEL_NODE_PARAMS>(at)?.kern,
        function => function,
    };
    let params = params(d, function, p.kernelParams, p.extra)?;
    let shape = Shape {
        grid: [p.gridDimX, p.gridDimY, p.gridDimZ],
        block: [p.blockDimX, p.blockDimY, p.blockDimZ],
        shared: p.sharedMemBytes.into(),
        cooperative: false,
        cluster: None,
    };
    let shared_mode = CUsharedMemoryMode::DEFAULT;
    Ok(Action::Launch(Launch { function, shape, params, shared_mode }))
}

/// Reads the parameters of a fill.
fn fill_of(at: Ptr) -> Outcome<Action> {
    let p = get::<CUDA_MEMSET_NODE_PARAMS>(at)?;
    let size = p.elementSize as usize;
    if !matches!(size, 1 | 2 | 4) {
        return Err(Status::INVALID_VALUE);
    }
    let pattern = p.value.to_ne_bytes()[..size].to_vec();
    let CUDA_MEMSET_NODE_PARAMS { dst: to, pitch, width, height, .. } = p;
    Ok(Action::Fill(Fill { to, pitch, pattern, width, height }))
}

// Showing parameters.

/// Keeps words as long as a node, and returns their address.
fn show(d: &mut Driver, node: u64, words: Vec<u64>) -> Outcome<u64> {
    let words = words.into_boxed_slice();
    let at = words.as_ptr().expose_provenance() as u64;
    d.graphs.node_mut(node)?.shown.push(words);
    Ok(at)
}

/// Writes the parameters of a node of this type.
pub(crate) fn parameters(d: &mut Driver, node: u64, kind: CUgraphNodeType, out: Ptr) -> Outcome {
    use CUgraphNodeType as T;
    let action = d.graphs.node(node)?.action.clone();
    if action.kind() != kind {
        return Err(Status::INVALID_VALUE);
    }
    match action {
        Action::Launch(launch) => put(out, &shown_launch(d, node, &launch)?),
        Action::Copy(copy) => put(out, &shown_copy(&in_one_row(&copy))),
        Action::Box(copy) => put(out, &shown_copy(&copy)),
        Action::Boxes(copies) => match copies.first() {
            Some(copy) => put(out, &shown_copy(copy)),
            None => Err(Status::INVALID_VALUE),
        },
        Action::Fill(fill) => put(out, &shown_fill(&fill)),
        Action::Call { function, data } => {
            put(out, &CUDA_HOST_NODE_PARAMS { r#fn: function, userData: data })
        }
        Action::Allocate { address, len, device, .. } => {
            put(out, &shown_allocation(address, len, device))
        }
        Action::Conditional(work) => {
            let size = work.bodies.len() as u32;
            let (handle, kind) = (work.condition, work.kind as i32);
            let bodies = show(d, node, work.bodies)? as Ptr;
            put(
                out,
                &CUDA_CONDITIONAL_NODE_PARAMS {
                    handle,
                    r#type: kind,
                    size,
                    phGraph_out: bodies,
                    ctx: d.current()?,
                },
            )
        }
        Action::Graph(word) | Action::Wait(word) | Action::Record(word) | Action::Free(word) => {
            put_u64(out, word)
        }
        Action::WaitValue(_) => Err(d.unsupported("parameters of batches in a graph")),
        Action::Nothing if kind == T::EMPTY => Ok(()),
        Action::Nothing => Err(Status::INVALID_VALUE),
    }
}

/// Writes the parameters of a launch in the first version of their structure.
pub(crate) fn launch_parameters(d: &mut Driver, node: u64, out: Ptr) -> Outcome {
    let Action::Launch(launch) = d.graphs.node(node)?.action.clone() else {
        return Err(Status::INVALID_VALUE);
    };
    let p = shown_launch(d, node, &launch)?;
    let first = CUDA_KERNEL_NODE_PARAMS_v1 {
        func: p.func,
        gridDimX: p.gridDimX,
        gridDimY: p.gridDimY,
        gridDimZ: p.gridDimZ,
        blockDimX: p.blockDimX,
        blockDimY: p.blockDimY,
        blockDimZ: p.blockDimZ,
        sharedMemBytes: p.sharedMemBytes,
        kernelParams: p.kernelParams,
        extra: p.extra,
    };
    put(out, &first)
}

/// Writes the parameters of a node with its type.
pub(crate) fn any_parameters(d: &mut Driver, node: u64, out: Ptr) -> Outcome {
    let kind = d.graphs.node(node)?.action.kind();
    put(out, &CUgraphNodeParams { r#type: kind as i32, ..CUgraphNodeParams::zeroed() })?;
    let mut inside = out + offset_of!(CUgraphNodeParams, reserved1);
    if kind == CUgraphNodeType::MEMCPY {
        inside += offset_of!(CUDA_MEMCPY_NODE_PARAMS, copyParams);
    }
    parameters(d, node, kind, inside)
}

/// Shows a launch. The arguments, and pointers to each, are kept with the node.
fn shown_launch(d: &mut Driver, node: u64, launch: &Launch) -> Outcome<CUDA_KERNEL_NODE_PARAMS> {
    let f = d.functions.get(&launch.function).ok_or(Status::INVALID_HANDLE)?;
    let params = f.code.params(f.kernel);
    let offsets: Vec<u64> = params.iter().map(|p| p.offset.into()).collect();
    let mut bytes = launch.params.clone();
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    let words = bytes.chunks_exact(8).map(u64::from_bytes).collect();
    let values = show(d, node, words)?;
    let pointers = show(d, node, offsets.iter().map(|offset| values + offset).collect())?;
    let ([gx, gy, gz], [bx, by, bz]) = (launch.shape.grid, launch.shape.block);
    Ok(CUDA_KERNEL_NODE_PARAMS {
        func: launch.function,
        gridDimX: gx,
        gridDimY: gy,
        gridDimZ: gz,
        blockDimX: bx,
        blockDimY: by,
        blockDimZ: bz,
        sharedMemBytes: launch.shape.shared as u32,
        kernelParams: pointers as Ptr,
        extra: 0,
        kern: 0,
        ctx: 0,
    })
}

fn in_one_row(copy: &Copy) -> BoxCopy {
    let side = |side: Endpoint| Corner { side, pitch: copy.len, height: 1, offset: [0; 3] };
    BoxCopy { to: side(copy.to), from: side(copy.from), width: copy.len, height: 1, depth: 1 }
}

fn shown_copy(copy: &BoxCopy) -> CUDA_MEMCPY3D {
    let side = |corner: &Corner| match corner.side {
        Endpoint::Device(at) => (CUmemorytype::DEVICE as u32, 0, at),
        Endpoint::Host(at) => (CUmemorytype::HOST as u32, at, 0),
    };
    let (from_type, from_host, from_device) = side(&copy.from);
    let (to_type, to_host, to_device) = side(&copy.to);
    CUDA_MEMCPY3D {
        srcXInBytes: copy.from.offset[0],
        srcY: copy.from.offset[1],
        srcZ: copy.from.offset[2],
        srcMemoryType: from_type,
        srcHost: from_host,
        srcDevice: from_device,
        srcPitch: copy.from.pitch,
        srcHeight: copy.from.height,
        dstXInBytes: copy.to.offset[0],
        dstY: copy.to.offset[1],
        dstZ: copy.to.offset[2],
        dstMemoryType: to_type,
        dstHost: to_host,
        dstDevice: to_device,
        dstPitch: copy.to.pitch,
        dstHeight: copy.to.height,
        WidthInBytes: copy.width,
        Height: copy.height,
        Depth: copy.depth,
        ..CUDA_MEMCPY3D::zeroed()
    }
}

fn shown_fill(fill: &Fill) -> CUDA_MEMSET_NODE_PARAMS {
    let mut value = [0; 4];
    let size = fill.pattern.len().min(4);
    value[..size].copy_from_slice(&fill.pattern[..size]);
    CUDA_MEMSET_NODE_PARAMS {
        dst: fill.to,
        pitch: fill.pitch,
        value: u32::from_ne_bytes(value),
        elementSize: size as u32,
        width: fill.width,
        height: fill.height,
    }
}

fn shown_allocation(address: u64, len: u64, id: i32) -> CUDA_MEM_ALLOC_NODE_PARAMS {
    let location = CUmemLocation { r#type: CUmemLocationType::DEVICE as i32, id };
    let pinned = CUmemAllocationType::PINNED as i32;
    CUDA_MEM_ALLOC_NODE_PARAMS {
        poolProps: CUmemPoolProps { allocType: pinned, location, ..CUmemPoolProps::zeroed() },
        accessDescs: 0,
        accessDescCount: 0,
        bytesize: len,
        dptr: address,
    }
}
