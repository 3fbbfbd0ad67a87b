//! Graphs.

use crate::graph;
use crate::host::Ptr;

exports! {
    cuGraphCreate(out: Ptr, flags: u32) => |d| graph::create(d, out, flags);
    cuGraphDestroy(graph: u64) => |d| graph::destroy(d, graph);
    cuGraphClone(out: Ptr, graph: u64) => |d| graph::clone(d, out, graph);
    cuGraphAddKernelNode | cuGraphAddKernelNode_v2 (out: Ptr, graph: u64, after: Ptr, count: usize, params: Ptr) => |d| graph::add_kernel(d, out, graph, (after, count), params);
    cuGraphAddMemcpyNode(out: Ptr, graph: u64, after: Ptr, count: usize, params: Ptr, _context: u64) => |d| graph::add_copy(d, out, graph, (after, count), params);
    cuGraphAddMemsetNode(out: Ptr, graph: u64, after: Ptr, count: usize, params: Ptr, _context: u64) => |d| graph::add_fill(d, out, graph, (after, count), params);
    cuGraphAddEmptyNode(out: Ptr, graph: u64, after: Ptr, count: usize) => |d| graph::add_empty(d, out, graph, (after, count), 0);
    cuGraphAddDependencies(graph: u64, from: Ptr, to: Ptr, count: usize) => |d| graph::add_dependencies(d, graph, from, to, count);
    cuGraphGetNodes(graph: u64, out: Ptr, count: Ptr) => |d| graph::nodes(d, graph, out, count);
    cuGraphNodeGetType(node: u64, out: Ptr) => |d| graph::node_kind(d, node, out);
    cuGraphDestroyNode(node: u64) => |d| graph::destroy_node(d, node);
    cuGraphKernelNodeSetParams | cuGraphKernelNodeSetParams_v2 (node: u64, params: Ptr) => |d| graph::set_kernel(d, node, params);
    cuGraphMemcpyNodeSetParams(node: u64, params: Ptr) => |d| graph::set_copy(d, node, params);
    cuGraphMemsetNodeSetParams(node: u64, params: Ptr) => |d| graph::set_fill(d, node, params);
    cuGraphInstantiate | cuGraphInstantiate_v2 (out: Ptr, graph: u64, _node: Ptr, _log: Ptr, _room: usize) => |d| graph::instantiate(d, out, graph);
    cuGraphInstantiateWithFlags(out: Ptr, graph: u64, _flags: u64) => |d| graph::instantiate(d, out, graph);
    cuGraphExecDestroy(exec: u64) => |d| graph::exec_destroy(d, exec);
    cuGraphExecKernelNodeSetParams | cuGraphExecKernelNodeSetParams_v2 (exec: u64, node: u64, params: Ptr) => |d| graph::exec_set_kernel(d, exec, node, params);
    cuGraphExecMemcpyNodeSetParams(exec: u64, node: u64, params: Ptr, _context: u64) => |d| graph::exec_set_copy(d, exec, node, params);
    cuGraphExecMemsetNodeSetParams(exec: u64, node: u64, params: Ptr, _context: u64) => |d| graph::exec_set_fill(d, exec, node, params);
    cuGraphUpload | cuGraphUpload_ptsz (exec: u64, stream: u64) => |d| graph::upload(d, exec, stream);
    cuGraphLaunch | cuGraphLaunch_ptsz (exec: u64, stream: u64) => |d| graph::launch(d, exec, stream);
}
