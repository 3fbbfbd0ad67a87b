//! Graphs and stream capture.

use cuda_abi::host::{Ptr, address};

use crate::copy::{of_layers, of_line, part};
use crate::driver::*;
use crate::graph;
use crate::state::context;

exports! {
    cudaGraphCreate(out: Ptr, flags: u32) => { context()?; cuGraphCreate(out, flags) };
    cudaGraphDestroy(graph: u64) => { context()?; cuGraphDestroy(graph) };
    cudaGraphClone(out: Ptr, graph: u64) => { context()?; cuGraphClone(out, graph) };

    // Nodes.
    cudaGraphAddKernelNode(out: Ptr, graph: u64, after: Ptr, count: usize, params: Ptr)
        => graph::add_kernel(out, graph, (after, count), params);
    cudaGraphAddMemcpyNode(out: Ptr, graph: u64, after: Ptr, count: usize, params: Ptr)
        => graph::add_copy(out, graph, (after, count), params);
    cudaGraphAddMemcpyNode1D(out: Ptr, graph: u64, after: Ptr, count: usize, to: u64, from: u64,
        len: usize, kind: i32)
        => graph::add_line(out, graph, (after, count), (to, from, len), kind);
    cudaGraphAddMemsetNode(out: Ptr, graph: u64, after: Ptr, count: usize, params: Ptr)
        => { context()?; cuGraphAddMemsetNode(out, graph, after, count, params, 0) };
    cudaGraphAddHostNode(out: Ptr, graph: u64, after: Ptr, count: usize, params: Ptr)
        => { context()?; cuGraphAddHostNode(out, graph, after, count, params) };
    cudaGraphAddChildGraphNode(out: Ptr, graph: u64, after: Ptr, count: usize, child: u64)
        => { context()?; cuGraphAddChildGraphNode(out, graph, after, count, child) };
    cudaGraphAddEmptyNode(out: Ptr, graph: u64, after: Ptr, count: usize)
        => { context()?; cuGraphAddEmptyNode(out, graph, after, count) };
    cudaGraphAddEventRecordNode(out: Ptr, graph: u64, after: Ptr, count: usize, event: u64)
        => { context()?; cuGraphAddEventRecordNode(out, graph, after, count, event) };
    cudaGraphAddEventWaitNode(out: Ptr, graph: u64, after: Ptr, count: usize, event: u64)
        => { context()?; cuGraphAddEventWaitNode(out, graph, after, count, event) };
    cudaGraphKernelNodeSetParams(node: u64, params: Ptr)
        => cuGraphKernelNodeSetParams_v2(node, address(&graph::kernel(params)?));
    cudaGraphMemcpyNodeSetParams(node: u64, params: Ptr)
        => { context()?; cuGraphMemcpyNodeSetParams(node, address(&of_layers(params)?)) };
    cudaGraphMemsetNodeSetParams(node: u64, params: Ptr)
        => { context()?; cuGraphMemsetNodeSetParams(node, params) };
    cudaGraphHostNodeSetParams(node: u64, params: Ptr)
        => { context()?; cuGraphHostNodeSetParams(node, params) };
    cudaGraphAddMemcpyNodeToSymbol(out: Ptr, graph: u64, after: Ptr, count: usize, symbol: Ptr,
        from: u64, len: usize, offset: usize, kind: i32)
        => graph::add_line(out, graph, (after, count),
            (part(symbol, len, offset)?, from, len), kind);
    cudaGraphAddMemcpyNodeFromSymbol(out: Ptr, graph: u64, after: Ptr, count: usize, to: u64,
        symbol: Ptr, len: usize, offset: usize, kind: i32)
        => graph::add_line(out, graph, (after, count), (to, part(symbol, len, offset)?, len), kind);
    cudaGraphAddMemAllocNode(out: Ptr, graph: u64, after: Ptr, count: usize, params: Ptr)
        => { context()?; cuGraphAddMemAllocNode(out, graph, after, count, params) };
    cudaGraphAddMemFreeNode(out: Ptr, graph: u64, after: Ptr, count: usize, address: u64)
        => { context()?; cuGraphAddMemFreeNode(out, graph, after, count, address) };
    // Since version 13, edge data comes before the count.
    cudaGraphAddNode(out: Ptr, graph: u64, after: Ptr, fourth: usize, fifth: usize, sixth: usize)
        => graph::add_any_by_version(out, graph, after, [fourth, fifth, sixth]);
    cudaGraphAddNode_v2(out: Ptr, graph: u64, after: Ptr, edges: Ptr, count: usize, params: Ptr)
        => graph::add_any(out, graph, after, (edges, count), params);
    cudaGraphConditionalHandleCreate(out: Ptr, graph: u64, default: u32, flags: u32)
        => { context()?; cuGraphConditionalHandleCreate(out, graph, 0, default, flags) };
    cudaGraphConditionalHandleCreate_v2(out: Ptr, graph: u64, _context: u64, default: u32,
        flags: u32)
        => { context()?; cuGraphConditionalHandleCreate(out, graph, 0, default, flags) };
    cudaGraphNodeSetParams(node: u64, params: Ptr)
        => graph::with_driver_params(params, |at| cuGraphNodeSetParams(node, at));
    cudaGraphMemcpyNodeSetParams1D(node: u64, to: u64, from: u64, len: usize, kind: i32)
        => { context()?; cuGraphMemcpyNodeSetParams(node,
            address(&of_line(to, from, len, kind)?)) };
    cudaGraphMemcpyNodeSetParamsToSymbol(node: u64, symbol: Ptr, from: u64, len: usize,
        offset: usize, kind: i32)
        => cuGraphMemcpyNodeSetParams(node,
            address(&of_line(part(symbol, len, offset)?, from, len, kind)?));
    cudaGraphMemcpyNodeSetParamsFromSymbol(node: u64, to: u64, symbol: Ptr, len: usize,
        offset: usize, kind: i32)
        => cuGraphMemcpyNodeSetParams(node,
            address(&of_line(to, part(symbol, len, offset)?, len, kind)?));
    cudaGraphEventRecordNodeSetEvent(node: u64, event: u64)
        => { context()?; cuGraphEventRecordNodeSetEvent(node, event) };
    cudaGraphEventWaitNodeSetEvent(node: u64, event: u64)
        => { context()?; cuGraphEventWaitNodeSetEvent(node, event) };
    cudaGraphKernelNodeSetAttribute(node: u64, attribute: i32, value: Ptr)
        => { context()?; cuGraphKernelNodeSetAttribute(node, attribute, value) };
    cudaGraphKernelNodeCopyAttributes(to: u64, from: u64)
        => { context()?; cuGraphKernelNodeCopyAttributes(to, from) };

    // Parameters of nodes.
    cudaGraphNodeGetParams(node: u64, out: Ptr) => graph::any_parameters(node, out);
    cudaGraphKernelNodeGetParams(node: u64, out: Ptr) => graph::kernel_parameters(node, out);
    cudaGraphKernelNodeGetAttribute(node: u64, attribute: i32, out: Ptr)
        => { context()?; cuGraphKernelNodeGetAttribute(node, attribute, out) };
    cudaGraphMemcpyNodeGetParams(node: u64, out: Ptr) => graph::copy_parameters(node, out);
    cudaGraphMemsetNodeGetParams(node: u64, out: Ptr)
        => { context()?; cuGraphMemsetNodeGetParams(node, out) };
    cudaGraphHostNodeGetParams(node: u64, out: Ptr)
        => { context()?; cuGraphHostNodeGetParams(node, out) };
    cudaGraphMemAllocNodeGetParams(node: u64, out: Ptr)
        => { context()?; cuGraphMemAllocNodeGetParams(node, out) };
    cudaGraphMemFreeNodeGetParams(node: u64, out: Ptr)
        => { context()?; cuGraphMemFreeNodeGetParams(node, out) };
    cudaGraphChildGraphNodeGetGraph(node: u64, out: Ptr)
        => { context()?; cuGraphChildGraphNodeGetGraph(node, out) };
    cudaGraphEventRecordNodeGetEvent(node: u64, out: Ptr)
        => { context()?; cuGraphEventRecordNodeGetEvent(node, out) };
    cudaGraphEventWaitNodeGetEvent(node: u64, out: Ptr)
        => { context()?; cuGraphEventWaitNodeGetEvent(node, out) };
    cudaGraphNodeFindInClone(out: Ptr, node: u64, clone: u64)
        => { context()?; cuGraphNodeFindInClone(out, node, clone) };
    cudaGraphNodeGetContainingGraph(node: u64, out: Ptr)
        => { context()?; cuGraphNodeGetContainingGraph(node, out) };
    cudaGraphNodeGetLocalId(node: u64, out: Ptr)
        => { context()?; cuGraphNodeGetLocalId(node, out) };
    cudaGraphNodeGetToolsId(node: u64, out: Ptr)
        => { context()?; cuGraphNodeGetToolsId(node, out) };
    cudaGraphGetId(graph: u64, out: Ptr) => { context()?; cuGraphGetId(graph, out) };
    cudaGraphDebugDotPrint(graph: u64, path: Ptr, flags: u32)
        => { context()?; cuGraphDebugDotPrint(graph, path, flags) };

    // Objects of the client, and memory.
    cudaUserObjectCreate(out: Ptr, data: Ptr, destroy: Ptr, count: u32, flags: u32)
        => { context()?; cuUserObjectCreate(out, data, destroy, count, flags) };
    cudaUserObjectRetain(object: u64, count: u32)
        => { context()?; cuUserObjectRetain(object, count) };
    cudaUserObjectRelease(object: u64, count: u32)
        => { context()?; cuUserObjectRelease(object, count) };
    cudaGraphRetainUserObject(graph: u64, object: u64, count: u32, flags: u32)
        => { context()?; cuGraphRetainUserObject(graph, object, count, flags) };
    cudaGraphReleaseUserObject(graph: u64, object: u64, count: u32)
        => { context()?; cuGraphReleaseUserObject(graph, object, count) };
    cudaDeviceGetGraphMemAttribute(device: i32, attribute: i32, out: Ptr)
        => { context()?; cuDeviceGetGraphMemAttribute(device, attribute, out) };
    cudaDeviceSetGraphMemAttribute(device: i32, attribute: i32, value: Ptr)
        => { context()?; cuDeviceSetGraphMemAttribute(device, attribute, value) };
    cudaDeviceGraphMemTrim(device: i32) => { context()?; cuDeviceGraphMemTrim(device) };

    cudaGraphDestroyNode(node: u64) => { context()?; cuGraphDestroyNode(node) };

    // Dependencies. Since version 13, edge data comes before each count.
    cudaGraphAddDependencies(graph: u64, from: Ptr, to: Ptr, third: usize, fourth: usize)
        => graph::add_edges(graph, from, to, third, fourth);
    cudaGraphAddDependencies_v2(graph: u64, from: Ptr, to: Ptr, edges: Ptr, count: usize)
        => { context()?; cuGraphAddDependencies_v2(graph, from, to, edges, count) };
    cudaGraphRemoveDependencies(graph: u64, from: Ptr, to: Ptr, third: usize, fourth: usize)
        => graph::remove_edges(graph, from, to, third, fourth);
    cudaGraphRemoveDependencies_v2(graph: u64, from: Ptr, to: Ptr, edges: Ptr, count: usize)
        => { context()?; cuGraphRemoveDependencies_v2(graph, from, to, edges, count) };
    cudaGraphGetNodes(graph: u64, out: Ptr, count: Ptr)
        => { context()?; cuGraphGetNodes(graph, out, count) };
    cudaGraphGetRootNodes(graph: u64, out: Ptr, count: Ptr)
        => { context()?; cuGraphGetRootNodes(graph, out, count) };
    cudaGraphGetEdges(graph: u64, from: Ptr, to: Ptr, third: usize, fourth: usize)
        => graph::edges(graph, from, to, third, fourth);
    cudaGraphGetEdges_v2(graph: u64, from: Ptr, to: Ptr, edges: Ptr, count: Ptr)
        => { context()?; cuGraphGetEdges_v2(graph, from, to, edges, count) };
    cudaGraphNodeGetDependencies(node: u64, out: Ptr, third: usize, fourth: usize)
        => graph::neighbours(node, out, third, fourth, true);
    cudaGraphNodeGetDependencies_v2(node: u64, out: Ptr, edges: Ptr, count: Ptr)
        => { context()?; cuGraphNodeGetDependencies_v2(node, out, edges, count) };
    cudaGraphNodeGetDependentNodes(node: u64, out: Ptr, third: usize, fourth: usize)
        => graph::neighbours(node, out, third, fourth, false);
    cudaGraphNodeGetDependentNodes_v2(node: u64, out: Ptr, edges: Ptr, count: Ptr)
        => { context()?; cuGraphNodeGetDependentNodes_v2(node, out, edges, count) };
    cudaGraphNodeGetType(node: u64, out: Ptr) => { context()?; cuGraphNodeGetType(node, out) };

    // Executable graphs.
    cudaGraphInstantiate | cudaGraphInstantiateWithFlags (out: Ptr, graph: u64, flags: u64)
        => { context()?; cuGraphInstantiateWithFlags(out, graph, flags) };
    cudaGraphInstantiateWithParams | cudaGraphInstantiateWithParams_ptsz
        (out: Ptr, graph: u64, params: Ptr)
        => { context()?; cuGraphInstantiateWithParams(out, graph, params) };
    cudaGraphExecDestroy(exec: u64) => { context()?; cuGraphExecDestroy(exec) };
    cudaGraphExecUpdate(exec: u64, graph: u64, info: Ptr)
        => { context()?; cuGraphExecUpdate_v2(exec, graph, info) };
    cudaGraphExecKernelNodeSetParams(exec: u64, node: u64, params: Ptr)
        => cuGraphExecKernelNodeSetParams_v2(exec, node, address(&graph::kernel(params)?));
    cudaGraphExecMemcpyNodeSetParams(exec: u64, node: u64, params: Ptr)
        => { context()?; cuGraphExecMemcpyNodeSetParams(exec, node,
            address(&of_layers(params)?), 0) };
    cudaGraphExecMemsetNodeSetParams(exec: u64, node: u64, params: Ptr)
        => { context()?; cuGraphExecMemsetNodeSetParams(exec, node, params, 0) };
    cudaGraphExecHostNodeSetParams(exec: u64, node: u64, params: Ptr)
        => { context()?; cuGraphExecHostNodeSetParams(exec, node, params) };
    cudaGraphExecMemcpyNodeSetParams1D(exec: u64, node: u64, to: u64, from: u64, len: usize,
        kind: i32)
        => { context()?; cuGraphExecMemcpyNodeSetParams(exec, node,
            address(&of_line(to, from, len, kind)?), 0) };
    cudaGraphExecMemcpyNodeSetParamsToSymbol(exec: u64, node: u64, symbol: Ptr, from: u64,
        len: usize, offset: usize, kind: i32)
        => cuGraphExecMemcpyNodeSetParams(exec, node,
            address(&of_line(part(symbol, len, offset)?, from, len, kind)?), 0);
    cudaGraphExecMemcpyNodeSetParamsFromSymbol(exec: u64, node: u64, to: u64, symbol: Ptr,
        len: usize, offset: usize, kind: i32)
        => cuGraphExecMemcpyNodeSetParams(exec, node,
            address(&of_line(to, part(symbol, len, offset)?, len, kind)?), 0);
    cudaGraphExecEventRecordNodeSetEvent(exec: u64, node: u64, event: u64)
        => { context()?; cuGraphExecEventRecordNodeSetEvent(exec, node, event) };
    cudaGraphExecEventWaitNodeSetEvent(exec: u64, node: u64, event: u64)
        => { context()?; cuGraphExecEventWaitNodeSetEvent(exec, node, event) };
    cudaGraphExecChildGraphNodeSetParams(exec: u64, node: u64, child: u64)
        => { context()?; cuGraphExecChildGraphNodeSetParams(exec, node, child) };
    cudaGraphExecNodeSetParams(exec: u64, node: u64, params: Ptr)
        => graph::with_driver_params(params, |at| cuGraphExecNodeSetParams(exec, node, at));
    cudaGraphNodeSetEnabled(exec: u64, node: u64, enabled: u32)
        => { context()?; cuGraphNodeSetEnabled(exec, node, enabled) };
    cudaGraphNodeGetEnabled(exec: u64, node: u64, out: Ptr)
        => { context()?; cuGraphNodeGetEnabled(exec, node, out) };
    cudaGraphExecGetFlags(exec: u64, out: Ptr) => { context()?; cuGraphExecGetFlags(exec, out) };
    cudaGraphExecGetId(exec: u64, out: Ptr) => { context()?; cuGraphExecGetId(exec, out) };
    cudaGraphUpload | cudaGraphUpload_ptsz (exec: u64, stream: u64)
        => { context()?; cuGraphUpload(exec, stream) };
    cudaGraphLaunch | cudaGraphLaunch_ptsz (exec: u64, stream: u64)
        => { context()?; cuGraphLaunch(exec, stream) };

    // Capture.
    cudaStreamBeginCapture | cudaStreamBeginCapture_ptsz (stream: u64, mode: i32)
        => { context()?; cuStreamBeginCapture_v2(stream, mode) };
    cudaStreamBeginCaptureToGraph | cudaStreamBeginCaptureToGraph_ptsz
        (stream: u64, graph: u64, after: Ptr, edges: Ptr, count: usize, mode: i32)
        => { context()?; cuStreamBeginCaptureToGraph(stream, graph, after, edges, count, mode) };
    cudaStreamEndCapture | cudaStreamEndCapture_ptsz (stream: u64, out: Ptr)
        => { context()?; cuStreamEndCapture(stream, out) };
    cudaStreamIsCapturing | cudaStreamIsCapturing_ptsz (stream: u64, out: Ptr)
        => { context()?; cuStreamIsCapturing(stream, out) };
    cudaStreamGetCaptureInfo | cudaStreamGetCaptureInfo_ptsz
        (stream: u64, status: Ptr, id: Ptr, graph: Ptr, after: Ptr, edges: Ptr, count: Ptr)
        => graph::capture_info(stream, status, id, (graph, after, edges, count));
    cudaStreamGetCaptureInfo_v2 | cudaStreamGetCaptureInfo_v2_ptsz
        (stream: u64, status: Ptr, id: Ptr, graph: Ptr, after: Ptr, count: Ptr)
        => { context()?; cuStreamGetCaptureInfo_v3(stream, status, id, graph, after, 0, count) };
    cudaStreamGetCaptureInfo_v3 | cudaStreamGetCaptureInfo_v3_ptsz
        (stream: u64, status: Ptr, id: Ptr, graph: Ptr, after: Ptr, edges: Ptr, count: Ptr)
        => { context()?; cuStreamGetCaptureInfo_v3(stream, status, id, graph, after, edges,
            count) };
    cudaStreamUpdateCaptureDependencies | cudaStreamUpdateCaptureDependencies_ptsz
        (stream: u64, after: Ptr, second: usize, third: usize, fourth: usize)
        => graph::update(stream, after, [second, third, fourth]);
    cudaStreamUpdateCaptureDependencies_v2 | cudaStreamUpdateCaptureDependencies_v2_ptsz
        (stream: u64, after: Ptr, edges: Ptr, count: usize, flags: u32)
        => { context()?; cuStreamUpdateCaptureDependencies_v2(stream, after, edges, count, flags) };
    cudaThreadExchangeStreamCaptureMode(mode: Ptr)
        => { context()?; cuThreadExchangeStreamCaptureMode(mode) };
}
