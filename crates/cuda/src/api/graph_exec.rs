//! Executable graphs.

use std::mem::offset_of;
use std::sync::Arc;

use cuda_abi::host::{Ptr, get, put, put_i32, put_u64, put_u64_if};
use cuda_abi::{
    Abi as _, CUDA_GRAPH_INSTANTIATE_PARAMS, CUgraphExecUpdateResult, CUgraphExecUpdateResultInfo,
    CUgraphInstantiateResult, CUgraphNodeType, Outcome, Status,
};

use super::node::{self, NodeKind};
use super::{capture, condition, edges, graph, graph_memory, user_object};
use crate::execution::order;
use crate::state::Driver;
use crate::state::action::Action;
use crate::state::pending::Work;
use crate::state::plan::{self, Difference, GraphExec, Plan, Run};

/// All flags of instantiation.
const FLAGS: u64 = 15;

pub(crate) fn instantiate(d: &mut Driver, out: Ptr, graph: u64, flags: u64) -> Outcome {
    d.usable()?;
    if flags & !FLAGS != 0 || d.graphs.find(graph)?.owner.is_some() {
        return Err(Status::INVALID_VALUE);
    }
    // What exists once is in one executable graph at a time.
    let other = d.graph_execs.values().any(|exec| exec.graph == graph);
    if other && d.graphs.is_unique(graph) {
        return Err(Status::INVALID_VALUE);
    }
    let plan = plan::plan(&d.graphs, graph)?;
    check_bodies(&plan)?;
    let within = d.graphs.within(graph);
    let found = |g: &u64| d.graphs.live.get(g);
    let conditions: Vec<u64> =
        within.iter().filter_map(found).flat_map(|g| &g.conditions).copied().collect();
    let objects = d.graphs.find(graph)?.objects.clone();
    let handle = d.handle();
    put_u64(out, handle)?;
    condition::retain(d, &conditions);
    user_object::retain_all(d, &objects);
    graph_memory::hold(d, &plan);
    let id = d.graphs.next_id();
    d.graph_execs.insert(handle, GraphExec { plan, graph, flags, conditions, objects, id });
    Ok(())
}

/// Checks that the bodies of conditional nodes have work that can be there: kernels, copies, fills,
/// and graphs of these.
fn check_bodies(plan: &Plan) -> Outcome {
    use CUgraphNodeType as T;
    let mut refused = false;
    plan::visit(plan, &mut |step| {
        if matches!(step.action, Action::Conditional(_)) {
            for body in &step.inner {
                plan::visit(body, &mut |step| {
                    let kind = step.action.kind();
                    refused |= matches!(
                        kind,
                        T::HOST | T::WAIT_EVENT | T::EVENT_RECORD | T::MEM_ALLOC | T::MEM_FREE
                    );
                });
            }
        }
    });
    if refused { Err(Status::INVALID_VALUE) } else { Ok(()) }
}

/// Instantiates a graph with parameters, whose last fields receive the outcome.
pub(crate) fn instantiate_with(d: &mut Driver, out: Ptr, graph: u64, params: Ptr) -> Outcome {
    let flags = get::<CUDA_GRAPH_INSTANTIATE_PARAMS>(params)?.flags;
    let end = instantiate(d, out, graph, flags);
    let outcome = match end {
        Ok(()) => CUgraphInstantiateResult::SUCCESS,
        Err(_) => CUgraphInstantiateResult::ERROR,
    };
    put_u64(params + offset_of!(CUDA_GRAPH_INSTANTIATE_PARAMS, hErrNode_out), 0)?;
    put_i32(params + offset_of!(CUDA_GRAPH_INSTANTIATE_PARAMS, result_out), outcome as i32)?;
    end
}

pub(crate) fn destroy(d: &mut Driver, exec: u64) -> Outcome {
    let removed = d.graph_execs.remove(&exec).ok_or(Status::INVALID_VALUE)?;
    condition::release(d, &removed.conditions);
    user_object::release_all(d, &removed.objects);
    graph_memory::forget_all(d, &removed.plan);
    Ok(())
}

fn find(d: &mut Driver, exec: u64) -> Outcome<&mut GraphExec> {
    d.graph_execs.get_mut(&exec).ok_or(Status::INVALID_VALUE)
}

/// Changes the work of a node of an executable graph.
pub(crate) fn set(d: &mut Driver, exec: u64, node: u64, kind: NodeKind, params: Ptr) -> Outcome {
    let action = kind.read(d, params)?;
    set_action(d, exec, node, action)
}

/// Does the same with parameters of any kind.
pub(crate) fn set_any(d: &mut Driver, exec: u64, node: u64, params: Ptr) -> Outcome {
    if get::<i32>(params)? == CUgraphNodeType::GRAPH as i32 {
        let child = node::child_of(params)?;
        return set_child(d, exec, node, child);
    }
    let action = node::read_any(d, params)?;
    set_action(d, exec, node, action)
}

fn set_action(d: &mut Driver, exec: u64, node: u64, action: Action) -> Outcome {
    let step = plan::step_mut(&mut find(d, exec)?.plan, node)?;
    if step.action.kind() != action.kind() {
        return Err(Status::INVALID_VALUE);
    }
    step.action = action;
    Ok(())
}

/// Replaces the work of the graph in a node by that of a graph with nodes of the same kinds.
pub(crate) fn set_child(d: &mut Driver, exec: u64, node: u64, child: u64) -> Outcome {
    let new = plan::plan(&d.graphs, child)?;
    let step = plan::step_mut(&mut find(d, exec)?.plan, node)?;
    match (&step.action, &mut step.inner[..]) {
        (Action::Graph(_), [plan]) => {
            plan::replace(plan, &new).map_err(|_| Status::GRAPH_EXEC_UPDATE_FAILURE)
        }
        _ => Err(Status::INVALID_VALUE),
    }
}

/// Enables or disables a node. Only kernels, copies and fills can be disabled.
pub(crate) fn set_enabled(d: &mut Driver, exec: u64, node: u64, enabled: u32) -> Outcome {
    let step = plan::step_mut(&mut find(d, exec)?.plan, node)?;
    if !can_be_disabled(&step.action) {
        return Err(Status::INVALID_VALUE);
    }
    step.enabled = enabled != 0;
    Ok(())
}

pub(crate) fn is_enabled(d: &mut Driver, exec: u64, node: u64, out: Ptr) -> Outcome {
    let step = plan::step(&find(d, exec)?.plan, node)?;
    if can_be_disabled(&step.action) {
        put_i32(out, step.enabled.into())
    } else {
        Err(Status::INVALID_VALUE)
    }
}

fn can_be_disabled(action: &Action) -> bool {
    use CUgraphNodeType as T;
    matches!(action.kind(), T::KERNEL | T::MEMCPY | T::MEMSET)
}

pub(crate) fn flags(d: &mut Driver, exec: u64, out: Ptr) -> Outcome {
    put_u64(out, find(d, exec)?.flags)
}

pub(crate) fn id(d: &mut Driver, exec: u64, out: Ptr) -> Outcome {
    put_i32(out, find(d, exec)?.id as i32)
}

/// Replaces all work by that of a graph with as many nodes, of the same types. `result` receives
/// the outcome.
fn update(
    d: &mut Driver,
    exec: u64,
    graph: u64,
    result: impl FnOnce(CUgraphExecUpdateResult) -> Outcome,
) -> Outcome {
    let new = plan::plan(&d.graphs, graph)?;
    match plan::replace(&mut find(d, exec)?.plan, &new) {
        Ok(()) => result(CUgraphExecUpdateResult::SUCCESS),
        Err(difference) => {
            result(match difference {
                Difference::Topology => CUgraphExecUpdateResult::ERROR_TOPOLOGY_CHANGED,
                Difference::Kind => CUgraphExecUpdateResult::ERROR_NODE_TYPE_CHANGED,
            })?;
            Err(Status::GRAPH_EXEC_UPDATE_FAILURE)
        }
    }
}

/// Updates an executable graph for the second version of the call.
pub(crate) fn update_info(d: &mut Driver, exec: u64, graph: u64, info: Ptr) -> Outcome {
    update(d, exec, graph, |result| {
        let nodes = CUgraphExecUpdateResultInfo::zeroed();
        put(info, &CUgraphExecUpdateResultInfo { result: result as i32, ..nodes })
    })
}

/// Updates an executable graph for the first version of the call.
pub(crate) fn update_first(
    d: &mut Driver,
    exec: u64,
    graph: u64,
    node: Ptr,
    result: Ptr,
) -> Outcome {
    update(d, exec, graph, |code| {
        put_u64_if(node, 0)?;
        put_i32(result, code as i32)
    })
}

/// Checks its arguments; there is nothing to upload.
pub(crate) fn upload(d: &mut Driver, exec: u64, stream: u64) -> Outcome {
    d.stream_context(stream)?;
    find(d, exec).map(drop)
}

/// Launches a graph. If the stream captures, the graph becomes a node.
pub(crate) fn launch(d: &mut Driver, exec: u64, stream: u64) -> Outcome {
    let context = d.stream_context(stream)?;
    let found = find(d, exec)?;
    let (plan, frees) = (Arc::clone(&found.plan), found.frees_on_launch());
    let conditions = found.conditions.clone();
    if capture::is_captured(d, stream)? {
        let child = graph_of(d, &plan)?;
        return capture::submit(d, stream, Action::Graph(child));
    }
    order::submit(d, context, stream, Work::Run(Run::new(plan, conditions, frees)))
}

/// Creates a graph that does the work of a plan in its order.
fn graph_of(d: &mut Driver, plan: &Plan) -> Outcome<u64> {
    let handle = d.handle();
    d.graphs.add(handle);
    let mut last = Vec::new();
    for step in plan.iter() {
        let action = match &step.action {
            _ if !step.enabled => Ok(Action::Nothing),
            Action::Graph(_) => match step.inner.first() {
                Some(inner) => graph_of(d, inner).map(Action::Graph),
                None => Ok(Action::Nothing),
            },
            action if action.is_unique() => Err(Status::NOT_SUPPORTED),
            action => Ok(action.clone()),
        };
        let added = action.and_then(|action| edges::insert(d, handle, last, action));
        last = vec![added.inspect_err(|_| graph::remove(d, handle))?];
    }
    Ok(handle)
}
