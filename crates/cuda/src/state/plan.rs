//! Executable graphs: their work in order.

use std::collections::BTreeMap;
use std::sync::Arc;

use cuda_abi::{CUgraphInstantiate_flags, Outcome, Status};

use super::action::Action;
use super::graph::Graphs;
use super::pending::Work;

/// The steps of a graph, in an order that respects dependencies.
pub(crate) type Plan = Arc<[Step]>;

/// The work of a node.
#[derive(Clone)]
pub(crate) struct Step {
    pub(crate) node: u64,
    pub(crate) action: Action,
    pub(crate) enabled: bool,
    /// The steps of the graphs that the node owns.
    pub(crate) inner: Vec<Plan>,
}

/// An executable graph.
pub(crate) struct GraphExec {
    pub(crate) plan: Plan,
    /// The graph from which it was instantiated.
    pub(crate) graph: u64,
    pub(crate) flags: u64,
    /// Handles of the conditions in it.
    pub(crate) conditions: Vec<u64>,
    /// References to objects of the client, by handle.
    pub(crate) objects: BTreeMap<u64, u32>,
    /// A number that no other executable graph gets.
    pub(crate) id: u32,
}

impl GraphExec {
    /// Returns whether a launch frees what the last one has allocated and nobody has freed.
    pub(crate) fn frees_on_launch(&self) -> bool {
        self.flags & CUgraphInstantiate_flags::AUTO_FREE_ON_LAUNCH as u64 != 0
    }
}

/// A plan that a run is in.
pub(crate) struct Frame {
    pub(crate) plan: Plan,
    /// The index of the next step.
    pub(crate) next: usize,
    /// The condition of the loop whose body the plan is.
    pub(crate) repeats: Option<u64>,
    pub(crate) rounds: u32,
}

/// A run of an executable graph.
pub(crate) struct Run {
    /// The plans that have begun and not ended, the outermost first.
    pub(crate) frames: Vec<Frame>,
    /// Work of the last step that waits.
    pub(crate) held: Option<Box<Work>>,
    /// The conditions that get their values when the run begins, and whether it frees the memory
    /// of the last one then; `None` once it has begun.
    pub(crate) start: Option<(Vec<u64>, bool)>,
}

impl Run {
    /// Creates a run that has not begun.
    pub(crate) fn new(plan: Plan, conditions: Vec<u64>, frees: bool) -> Self {
        let frames = vec![Frame { plan, next: 0, repeats: None, rounds: 0 }];
        Self { frames, held: None, start: Some((conditions, frees)) }
    }
}

/// Orders the work of a graph and of those in its nodes. A cycle is an invalid value.
pub(crate) fn plan(graphs: &Graphs, graph: u64) -> Outcome<Plan> {
    let graph = graphs.find(graph)?;
    let step = |node: u64| {
        let action = graph.nodes.get(&node).map_or(Action::Nothing, |n| n.action.clone());
        let inner = action.graphs().iter().map(|&g| plan(graphs, g)).collect::<Outcome<_>>()?;
        Ok(Step { node, action, enabled: true, inner })
    };
    graph.order()?.into_iter().map(step).collect()
}

/// Finds the step of a node, in a plan or in one that its steps own, to be changed.
pub(crate) fn step_mut(plan: &mut Plan, node: u64) -> Outcome<&mut Step> {
    let steps = Arc::make_mut(plan);
    let index = steps.iter().position(|step| has_node(step, node));
    let step = &mut steps[index.ok_or(Status::INVALID_VALUE)?];
    if step.node == node {
        return Ok(step);
    }
    let inner = step.inner.iter_mut().find(|plan| plan.iter().any(|step| has_node(step, node)));
    step_mut(inner.ok_or(Status::INVALID_VALUE)?, node)
}

/// Finds the step of a node.
pub(crate) fn step(plan: &Plan, node: u64) -> Outcome<&Step> {
    let mut found = None;
    visit(plan, &mut |step| {
        if step.node == node {
            found = Some(step);
        }
    });
    found.ok_or(Status::INVALID_VALUE)
}

fn has_node(step: &Step, node: u64) -> bool {
    step.node == node || step.inner.iter().flat_map(|plan| plan.iter()).any(|s| has_node(s, node))
}

/// Visits all steps, each before those of the plans that it owns.
pub(crate) fn visit<'p>(plan: &'p Plan, see: &mut impl FnMut(&'p Step)) {
    for step in plan.iter() {
        see(step);
        for inner in &step.inner {
            visit(inner, see);
        }
    }
}

/// Why a plan cannot take the place of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Difference {
    /// There are more or fewer steps.
    Topology,
    /// A step has another kind of work.
    Kind,
}

/// Replaces the work of a plan by that of a plan with steps of the same kinds; handles of nodes
/// stay, and so do disabled steps.
pub(crate) fn replace(plan: &mut Plan, new: &Plan) -> Result<(), Difference> {
    compare(plan, new)?;
    take(plan, new);
    Ok(())
}

fn compare(old: &Plan, new: &Plan) -> Result<(), Difference> {
    if old.len() != new.len() {
        return Err(Difference::Topology);
    }
    old.iter().zip(new.iter()).try_for_each(|(old, new)| {
        if old.action.kind() != new.action.kind() {
            return Err(Difference::Kind);
        }
        if old.inner.len() != new.inner.len() {
            return Err(Difference::Topology);
        }
        old.inner.iter().zip(&new.inner).try_for_each(|(old, new)| compare(old, new))
    })
}

fn take(plan: &mut Plan, new: &Plan) {
    for (step, new) in Arc::make_mut(plan).iter_mut().zip(new.iter()) {
        // A node keeps the graphs that it owns; their steps change.
        if step.inner.is_empty() {
            step.action = new.action.clone();
        }
        for (inner, new) in step.inner.iter_mut().zip(&new.inner) {
            take(inner, new);
        }
    }
}
