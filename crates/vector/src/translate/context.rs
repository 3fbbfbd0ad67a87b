//! Contexts: where the lanes of a warp wait while others run.
//!
//! A context is what the stack of the mechanism `ipdom` holds below the running lanes, without the
//! lanes themselves: a list of nodes, the innermost first. Lanes are values of the function, by the
//! depth of their node.

use rustc_hash::FxHashMap;

/// A context, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Ctx(u32);

/// What some lanes wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Wait {
    /// Others, at this reconvergence point. If no branch has split lanes that meet there, the stack
    /// has no such entry.
    Join(u32),
    /// Their turn: a side of a branch that begins at this block. If it is uncertain, it may have no
    /// lanes, and the stack then has no such entry.
    Side(u32, bool),
    /// The return of a call to this block.
    Call(u32),
}

/// The innermost node of a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Node {
    /// The context without the node.
    pub(super) parent: Ctx,
    pub(super) wait: Wait,
    /// The number of nodes around it.
    pub(super) depth: u32,
}

/// Whether lanes meet others at a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meets {
    /// They do.
    Here,
    /// They do if no branch has split lanes that meet at the innermost reconvergence point.
    Perhaps,
    /// They do not.
    No,
}

impl Ctx {
    /// No lanes wait.
    pub(super) const BASE: Self = Self(0);
}

/// All contexts of a translation.
#[derive(Debug, Default)]
pub(super) struct Contexts {
    nodes: Vec<Node>,
    numbers: FxHashMap<Node, Ctx>,
}

impl Contexts {
    /// Returns the innermost node.
    pub(super) fn top(&self, ctx: Ctx) -> Option<Node> {
        ctx.0.checked_sub(1).map(|index| self.nodes[index as usize])
    }

    /// Adds a node.
    pub(super) fn push(&mut self, parent: Ctx, wait: Wait) -> Ctx {
        let node = Node { parent, wait, depth: self.depth(parent) };
        let next = Ctx(self.nodes.len() as u32 + 1);
        let nodes = &mut self.nodes;
        *self.numbers.entry(node).or_insert_with(|| {
            nodes.push(node);
            next
        })
    }

    /// Returns the number of nodes.
    pub(super) fn depth(&self, ctx: Ctx) -> u32 {
        self.top(ctx).map_or(0, |node| node.depth + 1)
    }

    /// Returns the nodes, from the innermost on.
    pub(super) fn nodes(&self, ctx: Ctx) -> impl Iterator<Item = Node> {
        std::iter::successors(self.top(ctx), |node| self.top(node.parent))
    }

    /// Returns the nodes within the innermost call, from the innermost on.
    pub(super) fn in_call(&self, ctx: Ctx) -> impl Iterator<Item = Node> {
        self.nodes(ctx).take_while(|node| !matches!(node.wait, Wait::Call(_)))
    }

    /// Returns whether lanes wait, or may wait, at a reconvergence point within the innermost call.
    pub(super) fn has_join(&self, ctx: Ctx, block: u32) -> bool {
        self.in_call(ctx).any(|node| node.wait == Wait::Join(block))
    }

    /// Returns the innermost reconvergence point and the depth of its node.
    pub(super) fn join(&self, ctx: Ctx) -> Option<(u32, u32)> {
        self.in_call(ctx).find_map(|node| match node.wait {
            Wait::Join(block) => Some((block, node.depth)),
            _ => None,
        })
    }

    /// Returns whether lanes that come to a block meet others there.
    pub(super) fn meets(&self, ctx: Ctx, block: u32) -> Meets {
        // Sides are left only where a branch has split lanes, so the reconvergence point around a
        // side is certain.
        let (mut certain, mut first) = (false, true);
        for node in self.in_call(ctx) {
            match node.wait {
                Wait::Join(at) if at == block => {
                    return if first { Meets::Here } else { Meets::Perhaps };
                }
                Wait::Join(_) if certain => return Meets::No,
                Wait::Join(_) => first = false,
                Wait::Side(..) => certain = true,
                Wait::Call(_) => {}
            }
        }
        Meets::No
    }
}
