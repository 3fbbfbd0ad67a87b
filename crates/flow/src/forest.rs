//! Rooted forests given by parent pointers, with constant-time ancestry and logarithmic common
//! ancestors.
//!
//! Ancestors are found with skew-binary jump pointers (Myers, "An applicative random-access stack",
//! 1983): two pointers per node, no tables, O(log n) a query.

use crate::graph::{Adjacency, DepthFirst, NONE, Node};

/// A forest over nodes `0..n`; nodes that are in no tree have no depth.
#[derive(Clone, Debug)]
pub(crate) struct Forest {
    parent: Vec<u32>,
    jump: Vec<u32>,
    depth: Vec<u32>,
    /// Preorder number, or [`NONE`] for a node in no tree.
    first: Vec<u32>,
    /// One more than the largest preorder number in the node's subtree.
    end: Vec<u32>,
    preorder: Vec<Node>,
}

impl Forest {
    /// From each node's parent ([`NONE`] for a root) and the roots.
    pub(crate) fn new(parent: Vec<u32>, roots: &[Node]) -> Self {
        let n = parent.len();
        // Children in decreasing order, since the walk takes the last first.
        let edges = (0..n).rev().filter(|&i| parent[i] != NONE);
        let children = edges.map(|i| (Node::new(parent[i]), Node::at(i)));
        let children = Adjacency::from_edges(n, children);
        let mut end = vec![0u32; n];
        let mut left = 0u32;
        let walk = DepthFirst::visit(
            &children,
            roots.iter().copied(),
            |_, _, _| {},
            |node, _| {
                left += 1;
                end[node.index()] = left;
            },
        );
        // `end` holds postorder ranks: a subtree of s nodes that starts at preorder f ends at f +
        // s, and s = rank - (nodes finished before it was entered) = rank - (first - depth).
        let mut depth = vec![NONE; n];
        let mut jump = vec![NONE; n];
        for &node in &walk.preorder {
            let i = node.index();
            let p = parent[i];
            if p == NONE {
                depth[i] = 0;
                jump[i] = node.get();
            } else {
                let p = p as usize;
                depth[i] = depth[p] + 1;
                let pj = jump[p] as usize;
                let same = depth[p] - depth[pj] == depth[pj] - depth[jump[pj] as usize];
                jump[i] = if same { jump[pj] } else { parent[i] };
            }
            end[i] += depth[i];
        }
        Self { parent, jump, depth, first: walk.number, end, preorder: walk.preorder }
    }

    pub(crate) fn parent(&self, node: Node) -> Option<Node> {
        let p = self.parent[node.index()];
        (p != NONE).then(|| Node::new(p))
    }

    pub(crate) fn contains(&self, node: Node) -> bool {
        self.first[node.index()] != NONE
    }

    pub(crate) fn depth(&self, node: Node) -> Option<u32> {
        let d = self.depth[node.index()];
        (d != NONE).then_some(d)
    }

    /// Nodes of all trees in preorder.
    pub(crate) fn preorder(&self) -> &[Node] {
        &self.preorder
    }

    /// Position in [`Self::preorder`] and one past the subtree's last.
    pub(crate) fn range(&self, node: Node) -> std::ops::Range<usize> {
        let i = node.index();
        if self.first[i] == NONE {
            return 0..0;
        }
        self.first[i] as usize..self.end[i] as usize
    }

    /// Whether `a` is `b` or above it.
    pub(crate) fn is_ancestor(&self, a: Node, b: Node) -> bool {
        let at = self.first[b.index()];
        at != NONE && self.range(a).contains(&(at as usize))
    }

    /// The ancestor (or self) of `node` at `depth`; `node` itself if it is not deeper.
    pub(crate) fn ancestor_at(&self, node: Node, depth: u32) -> Node {
        let mut i = node.index();
        while self.depth[i] != NONE && self.depth[i] > depth {
            let j = self.jump[i] as usize;
            i = if self.depth[j] >= depth { j } else { self.parent[i] as usize };
        }
        Node::at(i)
    }

    /// The deepest node that is above or equal to both, if they are in one tree.
    pub(crate) fn common(&self, a: Node, b: Node) -> Option<Node> {
        let (da, db) = (self.depth(a)?, self.depth(b)?);
        let mut a = self.ancestor_at(a, da.min(db)).index();
        let mut b = self.ancestor_at(b, da.min(db)).index();
        while a != b {
            if self.parent[a] == NONE {
                return None;
            }
            if self.jump[a] == self.jump[b] {
                a = self.parent[a] as usize;
                b = self.parent[b] as usize;
            } else {
                a = self.jump[a] as usize;
                b = self.jump[b] as usize;
            }
        }
        Some(Node::at(a))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ancestors(parent: &[u32], mut i: usize) -> Vec<usize> {
        let mut out = vec![i];
        while parent[i] != NONE {
            i = parent[i] as usize;
            out.push(i);
        }
        out
    }

    proptest! {
        #[test]
        fn agrees_with_walking_up(picks in prop::collection::vec((any::<u32>(), 0u32..8), 1..60)) {
            let parent: Vec<u32> = picks.iter().enumerate()
                .map(|(i, &(p, root))| match i {
                    0 => NONE,
                    _ if root == 0 => NONE,
                    _ => p % u32::try_from(i).unwrap(),
                })
                .collect();
            let roots = (0..parent.len()).filter(|&i| parent[i] == NONE);
            let roots: Vec<Node> = roots.map(Node::at).collect();
            let f = Forest::new(parent.clone(), &roots);
            for a in 0..parent.len() {
                let ups = ancestors(&parent, a);
                prop_assert_eq!(f.depth(Node::at(a)).unwrap() as usize, ups.len() - 1);
                for d in 0..ups.len() {
                    let got = f.ancestor_at(Node::at(a), u32::try_from(d).unwrap());
                    prop_assert_eq!(got.index(), ups[ups.len() - 1 - d]);
                }
                for b in 0..parent.len() {
                    prop_assert_eq!(f.is_ancestor(Node::at(b), Node::at(a)), ups.contains(&b));
                    let other = ancestors(&parent, b);
                    let common = ups.iter().find(|x| other.contains(x)).copied();
                    prop_assert_eq!(f.common(Node::at(a), Node::at(b)).map(Node::index), common);
                }
            }
        }
    }
}
