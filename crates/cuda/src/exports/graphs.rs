//! Graphs and stream capture.

use cuda_abi::host::Ptr;

use crate::api::capture::{self, InfoPointers};
use crate::api::edges::Dependencies;
use crate::api::graph::{self, NodeKind};
use crate::api::graph_exec;

exports! {
    cuGraphCreate(out: Ptr, flags: u32) => |d| graph::create(d, out, flags);
    cuGraphDestroy(graph: u64) => |d| graph::destroy(d, graph);
    cuGraphClone(out: Ptr, graph: u64) => |d| graph::clone(d, out, graph);

    // Nodes.
    cuGraphAddKernelNode | cuGraphAddKernelNode_v2
        (out: Ptr, graph: u64, after: Ptr, count: usize, params: Ptr)
        => |d| graph::add(
            d, out, graph, Dependencies::plain(after, count), NodeKind::Kernel, params
        );
    cuGraphAddMemcpyNode(out: Ptr, graph: u64, after: Ptr, count: usize, params: Ptr, _context: u64)
        => |d| graph::add(d, out, graph, Dependencies::plain(after, count), NodeKind::Copy, params);
    cuGraphAddMemsetNode(out: Ptr, graph: u64, after: Ptr, count: usize, params: Ptr, _context: u64)
        => |d| graph::add(d, out, graph, Dependencies::plain(after, count), NodeKind::Fill, params);
    cuGraphAddHostNode(out: Ptr, graph: u64, after: Ptr, count: usize, params: Ptr)
        => |d| graph::add(d, out, graph, Dependencies::plain(after, count), NodeKind::Host, params);
    cuGraphAddChildGraphNode(out: Ptr, graph: u64, after: Ptr, count: usize, child: u64)
        => |d| graph::add(
            d, out, graph, Dependencies::plain(after, count), NodeKind::Child(child), 0
        );
    cuGraphAddEmptyNode(out: Ptr, graph: u64, after: Ptr, count: usize)
        => |d| graph::add(d, out, graph, Dependencies::plain(after, count), NodeKind::Empty, 0);
    cuGraphAddEventRecordNode(out: Ptr, graph: u64, after: Ptr, count: usize, event: u64)
        => |d| graph::add(
            d, out, graph, Dependencies::plain(after, count), NodeKind::Record(event), 0
        );
    cuGraphAddEventWaitNode(out: Ptr, graph: u64, after: Ptr, count: usize, event: u64)
        => |d| graph::add(
            d, out, graph, Dependencies::plain(after, count), NodeKind::Wait(event), 0
        );
    cuGraphAddNode(out: Ptr, graph: u64, after: Ptr, count: usize, params: Ptr)
        => |d| graph::add_any(d, out, graph, Dependencies::plain(after, count), params);
    cuGraphAddNode_v2(out: Ptr, graph: u64, after: Ptr, edges: Ptr, count: usize, params: Ptr)
        => |d| graph::add_any(d, out, graph, Dependencies { after, edges, count }, params);
    cuGraphKernelNodeSetParams | cuGraphKernelNodeSetParams_v2 (node: u64, params: Ptr)
        => |d| graph::set(d, node, NodeKind::Kernel, params);
    cuGraphMemcpyNodeSetParams(node: u64, params: Ptr)
        => |d| graph::set(d, node, NodeKind::Copy, params);
    cuGraphMemsetNodeSetParams(node: u64, params: Ptr)
        => |d| graph::set(d, node, NodeKind::Fill, params);
    cuGraphHostNodeSetParams(node: u64, params: Ptr)
        => |d| graph::set(d, node, NodeKind::Host, params);
    cuGraphDestroyNode(node: u64) => |d| graph::destroy_node(d, node);

    // Dependencies.
    cuGraphAddDependencies(graph: u64, from: Ptr, to: Ptr, count: usize)
        => |d| graph::add_edges(d, graph, (from, to), (0, count));
    cuGraphAddDependencies_v2(graph: u64, from: Ptr, to: Ptr, edges: Ptr, count: usize)
        => |d| graph::add_edges(d, graph, (from, to), (edges, count));
    cuGraphRemoveDependencies(graph: u64, from: Ptr, to: Ptr, count: usize)
        => |d| graph::remove_edges(d, graph, (from, to), (0, count));
    cuGraphRemoveDependencies_v2(graph: u64, from: Ptr, to: Ptr, edges: Ptr, count: usize)
        => |d| graph::remove_edges(d, graph, (from, to), (edges, count));
    cuGraphGetNodes(graph: u64, out: Ptr, count: Ptr)
        => |d| graph::nodes(d, graph, out, count, false);
    cuGraphGetRootNodes(graph: u64, out: Ptr, count: Ptr)
        => |d| graph::nodes(d, graph, out, count, true);
    cuGraphGetEdges(graph: u64, from: Ptr, to: Ptr, count: Ptr)
        => |d| graph::edges(d, graph, (from, to), (0, count));
    cuGraphGetEdges_v2(graph: u64, from: Ptr, to: Ptr, edges: Ptr, count: Ptr)
        => |d| graph::edges(d, graph, (from, to), (edges, count));
    cuGraphNodeGetDependencies(node: u64, out: Ptr, count: Ptr)
        => |d| graph::neighbours(d, node, out, (0, count), true);
    cuGraphNodeGetDependencies_v2(node: u64, out: Ptr, edges: Ptr, count: Ptr)
        => |d| graph::neighbours(d, node, out, (edges, count), true);
    cuGraphNodeGetDependentNodes(node: u64, out: Ptr, count: Ptr)
        => |d| graph::neighbours(d, node, out, (0, count), false);
    cuGraphNodeGetDependentNodes_v2(node: u64, out: Ptr, edges: Ptr, count: Ptr)
        => |d| graph::neighbours(d, node, out, (edges, count), false);
    cuGraphNodeGetContainingGraph(node: u64, out: Ptr) => |d| graph::containing(d, node, out);
    cuGraphNodeGetType(node: u64, out: Ptr) => |d| graph::node_kind(d, node, out);

    // Executable graphs. `cuGraphLaunch` is among the functions that call the client back.
    cuGraphInstantiate | cuGraphInstantiate_v2
        (out: Ptr, graph: u64, _node: Ptr, _log: Ptr, _room: usize)
        => |d| graph_exec::instantiate(d, out, graph);
    cuGraphInstantiateWithFlags(out: Ptr, graph: u64, _flags: u64)
        => |d| graph_exec::instantiate(d, out, graph);
    cuGraphInstantiateWithParams | cuGraphInstantiateWithParams_ptsz
        (out: Ptr, graph: u64, params: Ptr)
        => |d| graph_exec::instantiate_with(d, out, graph, params);
    cuGraphExecDestroy(exec: u64) => |d| graph_exec::destroy(d, exec);
    cuGraphExecUpdate(exec: u64, graph: u64, node: Ptr, result: Ptr)
        => |d| graph_exec::update_first(d, exec, graph, node, result);
    cuGraphExecUpdate_v2(exec: u64, graph: u64, info: Ptr)
        => |d| graph_exec::update_info(d, exec, graph, info);
    cuGraphExecKernelNodeSetParams | cuGraphExecKernelNodeSetParams_v2
        (exec: u64, node: u64, params: Ptr)
        => |d| graph_exec::set(d, exec, node, NodeKind::Kernel, params);
    cuGraphExecMemcpyNodeSetParams(exec: u64, node: u64, params: Ptr, _context: u64)
        => |d| graph_exec::set(d, exec, node, NodeKind::Copy, params);
    cuGraphExecMemsetNodeSetParams(exec: u64, node: u64, params: Ptr, _context: u64)
        => |d| graph_exec::set(d, exec, node, NodeKind::Fill, params);
    cuGraphExecHostNodeSetParams(exec: u64, node: u64, params: Ptr)
        => |d| graph_exec::set(d, exec, node, NodeKind::Host, params);
    cuGraphUpload | cuGraphUpload_ptsz (exec: u64, stream: u64)
        => |d| graph_exec::upload(d, exec, stream);

    // Capture.
    cuStreamBeginCapture | cuStreamBeginCapture_ptsz (stream: u64)
        => |d| capture::begin(d, stream, 0);
    cuStreamBeginCapture_v2 | cuStreamBeginCapture_v2_ptsz (stream: u64, mode: i32)
        => |d| capture::begin(d, stream, mode);
    cuStreamBeginCaptureToGraph | cuStreamBeginCaptureToGraph_ptsz
        (stream: u64, graph: u64, after: Ptr, edges: Ptr, count: usize, mode: i32)
        => |d| capture::begin_in(d, stream, graph, Dependencies { after, edges, count }, mode);
    cuStreamEndCapture | cuStreamEndCapture_ptsz (stream: u64, out: Ptr)
        => |d| capture::end(d, stream, out);
    cuStreamIsCapturing | cuStreamIsCapturing_ptsz (stream: u64, out: Ptr)
        => |d| capture::is_capturing(d, stream, out);
    cuStreamGetCaptureInfo | cuStreamGetCaptureInfo_ptsz (stream: u64, status: Ptr, id: Ptr)
        => |d| capture::info(d, stream, status, InfoPointers { id, ..InfoPointers::default() });
    cuStreamGetCaptureInfo_v2 | cuStreamGetCaptureInfo_v2_ptsz
        (stream: u64, status: Ptr, id: Ptr, graph: Ptr, after: Ptr, count: Ptr)
        => |d| capture::info(d, stream, status, InfoPointers { id, graph, after, edges: 0, count });
    cuStreamGetCaptureInfo_v3 | cuStreamGetCaptureInfo_v3_ptsz
        (stream: u64, status: Ptr, id: Ptr, graph: Ptr, after: Ptr, edges: Ptr, count: Ptr)
        => |d| capture::info(d, stream, status, InfoPointers { id, graph, after, edges, count });
    cuStreamUpdateCaptureDependencies | cuStreamUpdateCaptureDependencies_ptsz
        (stream: u64, after: Ptr, count: usize, flags: u32)
        => |d| capture::update(d, stream, Dependencies::plain(after, count), flags);
    cuStreamUpdateCaptureDependencies_v2 | cuStreamUpdateCaptureDependencies_v2_ptsz
        (stream: u64, after: Ptr, edges: Ptr, count: usize, flags: u32)
        => |d| capture::update(d, stream, Dependencies { after, edges, count }, flags);
    cuThreadExchangeStreamCaptureMode(mode: Ptr) => |d| capture::exchange_mode(d, mode);
}
