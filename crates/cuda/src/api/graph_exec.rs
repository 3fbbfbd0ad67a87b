//! Executable graphs.

use std::mem::offset_of;
use std::sync::Arc;

use cuda_abi::host::{Ptr, get, put, put_i32, put_u64, put_u64_if};
use cuda_abi::{
    Abi as _, CUDA_GRAPH_INSTANTIATE_PARAMS, CUgraphExecUpdateResult, CUgraphExecUpdateResultInfo,
    CUgraphInstantiateResult, Outcome, Status,
};

use super::capture;
use super::graph::NodeKind;
use crate::execution::act;
use crate::state::Driver;
use crate::state::action::{Action, Actions};
use crate::state::graph::GraphExec;

pub(crate) fn instantiate(d: &mut Driver, out: Ptr, graph: u64) -> Outcome {
    d.usable()?;
    let actions = d.graphs.get(&graph).ok_or(Status::INVALID_VALUE)?.ordered()?;
    let handle = d.handle();
    put_u64(out, handle)?;
    d.graph_execs.insert(handle, GraphExec { actions });
    Ok(())
}

/// Instantiates a graph with parameters, whose last fields receive the outcome.
pub(crate) fn instantiate_with(d: &mut Driver, out: Ptr, graph: u64, params: Ptr) -> Outcome {
    get::<CUDA_GRAPH_INSTANTIATE_PARAMS>(params)?;
    let end = instantiate(d, out, graph);
    let outcome = match end {
        Ok(()) => CUgraphInstantiateResult::SUCCESS,
        Err(_) => CUgraphInstantiateResult::ERROR,
    };
    put_u64(params + offset_of!(CUDA_GRAPH_INSTANTIATE_PARAMS, hErrNode_out), 0)?;
    put_i32(params + offset_of!(CUDA_GRAPH_INSTANTIATE_PARAMS, result_out), outcome as i32)?;
    end
}

pub(crate) fn destroy(d: &mut Driver, exec: u64) -> Outcome {
    d.graph_execs.remove(&exec).map(drop).ok_or(Status::INVALID_VALUE)
}

fn find(d: &mut Driver, exec: u64) -> Outcome<&mut GraphExec> {
    d.graph_execs.get_mut(&exec).ok_or(Status::INVALID_VALUE)
}

/// Changes the action of a node of an executable graph.
pub(crate) fn set(d: &mut Driver, exec: u64, node: u64, kind: NodeKind, params: Ptr) -> Outcome {
    let action = kind.read(d, params)?;
    let actions = Arc::make_mut(&mut find(d, exec)?.actions);
    let found = actions.iter_mut().find(|(handle, _)| *handle == node && node != 0);
    found.ok_or(Status::INVALID_VALUE)?.1 = action;
    Ok(())
}

/// Replaces all actions by those of a graph with as many nodes, of the same types. `result`
/// receives the outcome.
fn update(
    d: &mut Driver,
    exec: u64,
    graph: u64,
    result: impl FnOnce(CUgraphExecUpdateResult) -> Outcome,
) -> Outcome {
    let new = d.graphs.get(&graph).ok_or(Status::INVALID_VALUE)?.ordered()?;
    let exec = find(d, exec)?;
    let mut types = exec.actions.iter().zip(new.iter());
    let refused = if exec.actions.len() != new.len() {
        Some(CUgraphExecUpdateResult::ERROR_TOPOLOGY_CHANGED)
    } else if types.any(|((_, old), (_, new))| old.kind() != new.kind()) {
        Some(CUgraphExecUpdateResult::ERROR_NODE_TYPE_CHANGED)
    } else {
        None
    };
    if let Some(refused) = refused {
        result(refused)?;
        return Err(Status::GRAPH_EXEC_UPDATE_FAILURE);
    }
    // The handles of the original nodes remain valid.
    let nodes = exec.actions.iter().map(|(node, _)| *node);
    exec.actions =
        nodes.zip(new.iter()).map(|(node, (_, action))| (node, action.clone())).collect();
    result(CUgraphExecUpdateResult::SUCCESS)
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

/// Begins a launch of a graph: returns the context and the actions to do. If the stream captures,
/// the graph becomes a node and there is nothing to do.
pub(crate) fn begin(d: &mut Driver, exec: u64, stream: u64) -> Outcome<Option<(u64, Actions)>> {
    let context = d.stream_context(stream)?;
    let actions = Arc::clone(&find(d, exec)?.actions);
    if capture::is_captured(d, stream)? {
        capture::submit(d, stream, Action::Graph(actions))?;
        return Ok(None);
    }
    Ok(Some((context, actions)))
}

/// Does the actions up to the next call of the client; returns how many these were.
pub(crate) fn run_until_call(
    d: &mut Driver,
    context: u64,
    actions: &[(u64, Action)],
) -> Outcome<usize> {
    let calls = |(_, action): &(u64, Action)| matches!(action, Action::Call { .. });
    let end = actions.iter().position(calls).unwrap_or(actions.len());
    actions[..end].iter().try_for_each(|(_, action)| act(d, context, action))?;
    Ok(end)
}
