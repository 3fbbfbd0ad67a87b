//! Graphs and stream capture.

use cuda_abi::CUgraphNodeType;
use cuda_abi::host::Ptr;

use crate::api::capture::{self, InfoPointers};
use crate::api::edges::Dependencies;
use crate::api::node::{self, NodeKind};
use crate::api::{condition, graph, graph_dot, graph_exec, graph_memory, user_object};

exports! {
    cuGraphCreate(out: Ptr, flags: u32) => |d| graph::create(d, out, flags);
    cuGraphDestroy(graph: u64) => |d| graph::destroy(d, graph);
    cuGraphClone(out: Ptr, graph: u64) => |d| graph::clone(d, out, graph);

    // Nodes.
    cuGraphAddKernelNode | cuGraphAddKernelNode_v2
        (out: Ptr, graph: u64, after: Ptr, count: usize, params: Ptr)
        => |d| node::add(
            d, out, graph, Dependencies::plain(after, count), NodeKind::Kernel, params
        );
    cuGraphAddMemcpyNode(out: Ptr, graph: u64, after: Ptr, count: usize, params: Ptr, _context: u64)
        => |d| node::add(d, out, graph, Dependencies::plain(after, count), NodeKind::Copy, params);
    cuGraphAddMemsetNode(out: Ptr, graph: u64, after: Ptr, count: usize, params: Ptr, _context: u64)
        => |d| node::add(d, out, graph, Dependencies::plain(after, count), NodeKind::Fill, params);
    cuGraphAddHostNode(out: Ptr, graph: u64, after: Ptr, count: usize, params: Ptr)
        => |d| node::add(d, out, graph, Dependencies::plain(after, count), NodeKind::Host, params);
    cuGraphAddChildGraphNode(out: Ptr, graph: u64, after: Ptr, count: usize, child: u64)
        => |d| node::add(
            d, out, graph, Dependencies::plain(after, count), NodeKind::Child(child), 0
        );
    cuGraphAddEmptyNode(out: Ptr, graph: u64, after: Ptr, count: usize)
        => |d| node::add(d, out, graph, Dependencies::plain(after, count), NodeKind::Empty, 0);
    cuGraphAddEventRecordNode(out: Ptr, graph: u64, after: Ptr, count: usize, event: u64)
        => |d| node::add(
            d, out, graph, Dependencies::plain(after, count), NodeKind::Record(event), 0
        );
    cuGraphAddEventWaitNode(out: Ptr, graph: u64, after: Ptr, count: usize, event: u64)
        => |d| node::add(
            d, out, graph, Dependencies::plain(after, count), NodeKind::Wait(event), 0
        );
    cuGraphAddNode(out: Ptr, graph: u64, after: Ptr, count: usize, params: Ptr)
        => |d| node::add_any(d, out, graph, Dependencies::plain(after, count), params);
    cuGraphAddNode_v2(out: Ptr, graph: u64, after: Ptr, edges: Ptr, count: usize, params: Ptr)
        => |d| node::add_any(d, out, graph, Dependencies { after, edges, count }, params);
    cuGraphKernelNodeSetParams | cuGraphKernelNodeSetParams_v2 (node: u64, params: Ptr)
        => |d| node::set(d, node, NodeKind::Kernel, params);
    cuGraphMemcpyNodeSetParams(node: u64, params: Ptr)
        => |d| node::set(d, node, NodeKind::Copy, params);
    cuGraphMemsetNodeSetParams(node: u64, params: Ptr)
        => |d| node::set(d, node, NodeKind::Fill, params);
    cuGraphHostNodeSetParams(node: u64, params: Ptr)
        => |d| node::set(d, node, NodeKind::Host, params);
    cuGraphNodeSetParams | cuGraphNodeSetParams_v2 (node: u64, params: Ptr)
        => |d| node::set_any(d, node, params);
    cuGraphEventRecordNodeSetEvent(node: u64, event: u64)
        => |d| node::set(d, node, NodeKind::Record(event), 0);
    cuGraphEventWaitNodeSetEvent(node: u64, event: u64)
        => |d| node::set(d, node, NodeKind::Wait(event), 0);
    cuGraphKernelNodeSetAttribute(node: u64, attribute: i32, value: Ptr)
        => |d| node::set_attribute(d, node, attribute, value);
    cuGraphKernelNodeCopyAttributes(to: u64, from: u64) => |d| node::copy_attributes(d, to, from);
    cuGraphAddMemAllocNode(out: Ptr, graph: u64, after: Ptr, count: usize, params: Ptr)
        => |d| node::add(
            d, out, graph, Dependencies::plain(after, count), NodeKind::Allocate, params
        );
    cuGraphAddMemFreeNode(out: Ptr, graph: u64, after: Ptr, count: usize, address: u64)
        => |d| node::add(
            d, out, graph, Dependencies::plain(after, count), NodeKind::Free(address), 0
        );
    cuGraphConditionalHandleCreate(out: Ptr, graph: u64, context: u64, default: u32, flags: u32)
        => |d| condition::create(d, out, graph, context, default, flags);

    // Parameters of nodes.
    cuGraphNodeGetParams(node: u64, out: Ptr) => |d| node::any_parameters(d, node, out);
    cuGraphKernelNodeGetParams(node: u64, out: Ptr) => |d| node::launch_parameters(d, node, out);
    cuGraphKernelNodeGetParams_v2(node: u64, out: Ptr)
        => |d| node::parameters(d, node, CUgraphNodeType::KERNEL, out);
    cuGraphKernelNodeGetAttribute(node: u64, attribute: i32, out: Ptr)
        => |d| node::attribute(d, node, attribute, out);
    cuGraphMemcpyNodeGetParams(node: u64, out: Ptr)
        => |d| node::parameters(d, node, CUgraphNodeType::MEMCPY, out);
    cuGraphMemsetNodeGetParams(node: u64, out: Ptr)
        => |d| node::parameters(d, node, CUgraphNodeType::MEMSET, out);
    cuGraphHostNodeGetParams(node: u64, out: Ptr)
        => |d| node::parameters(d, node, CUgraphNodeType::HOST, out);
    cuGraphChildGraphNodeGetGraph(node: u64, out: Ptr)
        => |d| node::parameters(d, node, CUgraphNodeType::GRAPH, out);
    cuGraphEventRecordNodeGetEvent(node: u64, out: Ptr)
        => |d| node::parameters(d, node, CUgraphNodeType::EVENT_RECORD, out);
    cuGraphEventWaitNodeGetEvent(node: u64, out: Ptr)
        => |d| node::parameters(d, node, CUgraphNodeType::WAIT_EVENT, out);
    cuGraphMemAllocNodeGetParams(node: u64, out: Ptr)
        => |d| node::parameters(d, node, CUgraphNodeType::MEM_ALLOC, out);
    cuGraphMemFreeNodeGetParams(node: u64, out: Ptr)
        => |d| node::parameters(d, node, CUgraphNodeType::MEM_FREE, out);

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
    cuGraphNodeFindInClone(out: Ptr, node: u64, clone: u64)
        => |d| graph::find_clone(d, out, node, clone);
    cuGraphGetId(graph: u64, out: Ptr) => |d| graph::id(d, graph, out);
    cuGraphNodeGetLocalId(node: u64, out: Ptr) => |d| graph::local_id(d, node, out);
    cuGraphNodeGetToolsId(node: u64, out: Ptr) => |d| graph::tools_id(d, node, out);
    cuGraphDebugDotPrint(graph: u64, path: Ptr, flags: u32)
        => |d| graph_dot::print(d, graph, path, flags);

    // Objects of the client, and memory.
    cuUserObjectCreate(out: Ptr, data: Ptr, destroy: Ptr, count: u32, flags: u32)
        => |d| user_object::create(d, out, data, destroy, count, flags);
    cuUserObjectRetain(object: u64, count: u32) => |d| user_object::retain(d, object, count);
    cuUserObjectRelease(object: u64, count: u32) => |d| user_object::release(d, object, count);
    cuGraphRetainUserObject(graph: u64, object: u64, count: u32, flags: u32)
        => |d| user_object::retain_by(d, graph, object, count, flags);
    cuGraphReleaseUserObject(graph: u64, object: u64, count: u32)
        => |d| user_object::release_by(d, graph, object, count);
    cuDeviceGetGraphMemAttribute(device: i32, attribute: i32, out: Ptr)
        => |d| graph_memory::attribute(d, device, attribute, out);
    cuDeviceSetGraphMemAttribute(device: i32, attribute: i32, value: Ptr)
        => |d| graph_memory::set_attribute(d, device, attribute, value);
    cuDeviceGraphMemTrim(device: i32) => |d| graph_memory::trim(d, device);

    // Executable graphs. `cuGraphLaunch` is among the functions that call the client back.
    cuGraphInstantiate | cuGraphInstantiate_v2
        (out: Ptr, graph: u64, _node: Ptr, _log: Ptr, _room: usize)
        => |d| graph_exec::instantiate(d, out, graph, 0);
    cuGraphInstantiateWithFlags(out: Ptr, graph: u64, flags: u64)
        => |d| graph_exec::instantiate(d, out, graph, flags);
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
    cuGraphExecEventRecordNodeSetEvent(exec: u64, node: u64, event: u64)
        => |d| graph_exec::set(d, exec, node, NodeKind::Record(event), 0);
    cuGraphExecEventWaitNodeSetEvent(exec: u64, node: u64, event: u64)
        => |d| graph_exec::set(d, exec, node, NodeKind::Wait(event), 0);
    cuGraphExecChildGraphNodeSetParams(exec: u64, node: u64, child: u64)
        => |d| graph_exec::set_child(d, exec, node, child);
    cuGraphExecNodeSetParams(exec: u64, node: u64, params: Ptr)
        => |d| graph_exec::set_any(d, exec, node, params);
    cuGraphNodeSetEnabled(exec: u64, node: u64, enabled: u32)
        => |d| graph_exec::set_enabled(d, exec, node, enabled);
    cuGraphNodeGetEnabled(exec: u64, node: u64, out: Ptr)
        => |d| graph_exec::is_enabled(d, exec, node, out);
    cuGraphExecGetFlags(exec: u64, out: Ptr) => |d| graph_exec::flags(d, exec, out);
    cuGraphExecGetId(exec: u64, out: Ptr) => |d| graph_exec::id(d, exec, out);
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
