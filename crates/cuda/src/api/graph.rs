//! Graphs, their nodes and the dependencies between them.

use std::collections::BTreeMap;

use cuda_abi::host::{Ptr, get, get_list, put_bytes, put_i32, put_u64};
use cuda_abi::{Outcome, Status};

use super::edges::{insert, refuse_data};
use super::{condition, graph_memory, user_object};
use crate::state::Driver;
use crate::state::action::Action;
use crate::state::graph::MAX_DEPTH;

pub(crate) fn create(d: &mut Driver, out: Ptr, flags: u32) -> Outcome {
    d.usable()?;
    if flags != 0 {
        return Err(Status::INVALID_VALUE);
    }
    let handle = d.handle();
    put_u64(out, handle)?;
    d.graphs.add(handle);
    Ok(())
}

pub(crate) fn destroy(d: &mut Driver, graph: u64) -> Outcome {
    if d.graphs.find(graph)?.owner.is_some() {
        return Err(Status::INVALID_VALUE);
    }
    remove(d, graph);
    Ok(())
}

/// Removes a graph with those in its nodes, and what they hold.
pub(crate) fn remove(d: &mut Driver, graph: u64) {
    for graph in d.graphs.within(graph) {
        let Some(removed) = d.graphs.live.remove(&graph) else { continue };
        for node in removed.nodes.values() {
            graph_memory::forget(d, &node.action);
        }
        condition::release(d, &removed.conditions);
        user_object::release_all(d, &removed.objects);
    }
}

/// Copies a graph and those in its nodes; returns the copy.
fn copy(d: &mut Driver, graph: u64) -> Outcome<u64> {
    let order = d.graphs.find(graph)?.order()?;
    let new = d.handle();
    d.graphs.add(new);
    let mut clones: BTreeMap<u64, u64> = BTreeMap::new();
    for node in order {
        let (action, after) = match d.graphs.find(graph)?.nodes.get(&node) {
            Some(node) => (node.action.clone(), node.after.clone()),
            None => continue,
        };
        let action = match action {
            Action::Graph(child) => Action::Graph(copy(d, child)?),
            action => action,
        };
        let after = after.iter().filter_map(|node| clones.get(node).copied()).collect();
        let clone = insert(d, new, after, action)?;
        clones.insert(node, clone);
    }
    let objects = d.graphs.find(graph)?.objects.clone();
    user_object::retain_all(d, &objects);
    let copy = d.graphs.find_mut(new)?;
    (copy.clones, copy.objects) = (clones, objects);
    Ok(new)
}

pub(crate) fn clone(d: &mut Driver, out: Ptr, graph: u64) -> Outcome {
    d.graphs.find(graph)?;
    if d.graphs.is_unique(graph) {
        return Err(Status::NOT_SUPPORTED);
    }
    let copy = copy(d, graph)?;
    put_u64(out, copy).inspect_err(|_| remove(d, copy))
}

/// Returns the node of a clone that stands for a node of the original.
pub(crate) fn find_clone(d: &mut Driver, out: Ptr, node: u64, clone: u64) -> Outcome {
    let graph = d.graphs.find(clone)?;
    let found = graph.clones.get(&node).filter(|n| graph.nodes.contains_key(n));
    put_u64(out, *found.ok_or(Status::INVALID_VALUE)?)
}

/// Creates the work of a node that has a copy of another graph.
pub(super) fn embed(d: &mut Driver, graph: u64, child: u64) -> Outcome<Action> {
    d.graphs.find(child)?;
    if d.graphs.is_unique(child) {
        return Err(Status::NOT_SUPPORTED);
    }
    check_depth(d, graph, child)?;
    copy(d, child).map(Action::Graph)
}

/// Creates the work of a node that gets another graph.
pub(super) fn take(d: &mut Driver, graph: u64, child: u64) -> Outcome<Action> {
    let is_free = d.graphs.find(child)?.owner.is_none();
    if !is_free || d.graphs.within(child).contains(&graph) {
        return Err(Status::INVALID_VALUE);
    }
    check_depth(d, graph, child)?;
    Ok(Action::Graph(child))
}

/// Checks that a graph in a node of another is not too deep.
fn check_depth(d: &Driver, graph: u64, child: u64) -> Outcome {
    let is_deep = d.graphs.depth(graph) + d.graphs.height(child) >= MAX_DEPTH;
    if is_deep { Err(Status::INVALID_VALUE) } else { Ok(()) }
}

/// Changes dependencies between nodes.
fn change_edges(
    d: &mut Driver,
    graph: u64,
    (from, to): (Ptr, Ptr),
    (edges, count): (Ptr, usize),
    change: impl Fn(&mut Vec<u64>, u64) -> Outcome,
) -> Outcome {
    refuse_data(d, edges, count)?;
    let (from, to) = (get_list::<u64>(from, count)?, get_list::<u64>(to, count)?);
    let graph = d.graphs.find_mut(graph)?;
    if !graph.has(&from) || !graph.has(&to) {
        return Err(Status::INVALID_VALUE);
    }
    from.iter().zip(&to).try_for_each(|(&from, to)| {
        change(&mut graph.nodes.get_mut(to).ok_or(Status::INVALID_VALUE)?.after, from)
    })
}

pub(crate) fn add_edges(
    d: &mut Driver,
    graph: u64,
    ends: (Ptr, Ptr),
    list: (Ptr, usize),
) -> Outcome {
    change_edges(d, graph, ends, list, |after, from| {
        after.push(from);
        Ok(())
    })
}

pub(crate) fn remove_edges(
    d: &mut Driver,
    graph: u64,
    ends: (Ptr, Ptr),
    list: (Ptr, usize),
) -> Outcome {
    if list.1 > 0 {
        graph_memory::refuse_removal(d, graph)?;
    }
    change_edges(d, graph, ends, list, |after, from| {
        let at = after.iter().position(|&n| n == from).ok_or(Status::INVALID_VALUE)?;
        after.remove(at);
        Ok(())
    })
}

pub(crate) fn destroy_node(d: &mut Driver, node: u64) -> Outcome {
    let (graph, _) = d.graphs.of_node(node)?;
    graph_memory::refuse_removal(d, graph)?;
    remove_node(d, node);
    Ok(())
}

/// Removes a node with the graphs that it owns.
pub(super) fn remove_node(d: &mut Driver, node: u64) {
    let Some(graph) = d.graphs.live.values_mut().find(|g| g.nodes.contains_key(&node)) else {
        return;
    };
    let removed = graph.nodes.remove(&node);
    graph.nodes.values_mut().for_each(|n| n.after.retain(|&a| a != node));
    if let Some(removed) = removed {
        drop_owned(d, &removed.action);
    }
}

/// Removes what the work of a node owns.
pub(super) fn drop_owned(d: &mut Driver, action: &Action) {
    graph_memory::forget(d, action);
    for &graph in action.graphs() {
        remove(d, graph);
    }
}

// Queries.

/// Writes lists of handles, as far as there is room, and their full length.
fn lists(lists: &[(Ptr, Vec<u64>)], edges: Ptr, count: Ptr) -> Outcome {
    let all = lists.first().map_or(0, |(_, list)| list.len());
    if lists.iter().any(|(at, _)| *at != 0) {
        let room = (get::<u64>(count)? as usize).min(all);
        for (at, list) in lists {
            let bytes: Vec<u8> = list[..room].iter().flat_map(|h| h.to_ne_bytes()).collect();
            if *at != 0 {
                put_bytes(*at, &bytes)?;
            }
        }
        if edges != 0 {
            put_bytes(edges, &vec![0; 8 * room])?;
        }
    }
    put_u64(count, all as u64)
}

/// Returns all nodes, or those without dependencies.
pub(crate) fn nodes(d: &mut Driver, graph: u64, out: Ptr, count: Ptr, roots: bool) -> Outcome {
    let graph = d.graphs.find(graph)?;
    let wanted = graph.nodes.iter().filter(|(_, n)| !roots || n.after.is_empty());
    lists(&[(out, wanted.map(|(&h, _)| h).collect())], 0, count)
}

pub(crate) fn edges(
    d: &mut Driver,
    graph: u64,
    (from, to): (Ptr, Ptr),
    (edges, count): (Ptr, Ptr),
) -> Outcome {
    let all = d.graphs.find(graph)?.edges();
    let (first, second) = all.into_iter().unzip();
    lists(&[(from, first), (to, second)], edges, count)
}

/// Returns the direct dependencies of a node, or its direct dependents.
pub(crate) fn neighbours(
    d: &mut Driver,
    node: u64,
    out: Ptr,
    (edges, count): (Ptr, Ptr),
    before: bool,
) -> Outcome {
    let (_, graph) = d.graphs.of_node(node)?;
    let pairs = graph.edges().into_iter();
    let found = pairs.filter_map(|(from, to)| match before {
        true => (to == node).then_some(from),
        false => (from == node).then_some(to),
    });
    lists(&[(out, found.collect())], edges, count)
}

pub(crate) fn containing(d: &mut Driver, node: u64, out: Ptr) -> Outcome {
    let (graph, _) = d.graphs.of_node(node)?;
    put_u64(out, graph)
}

pub(crate) fn node_kind(d: &mut Driver, node: u64, out: Ptr) -> Outcome {
    put_i32(out, d.graphs.node(node)?.action.kind() as i32)
}

/// Writes a graph's number.
pub(crate) fn id(d: &mut Driver, graph: u64, out: Ptr) -> Outcome {
    put_i32(out, d.graphs.find(graph)?.id as i32)
}

/// Writes a node's number in its graph.
pub(crate) fn local_id(d: &mut Driver, node: u64, out: Ptr) -> Outcome {
    put_i32(out, d.graphs.node(node)?.number as i32)
}

/// Writes a number of a node that no other node has.
pub(crate) fn tools_id(d: &mut Driver, node: u64, out: Ptr) -> Outcome {
    let (_, graph) = d.graphs.of_node(node)?;
    let number = graph.nodes.get(&node).map_or(0, |n| n.number);
    put_u64(out, u64::from(graph.id) << 32 | u64::from(number))
}
