//! Orders of rows and columns in which factors of a sparse matrix have few entries.
//!
//! They are computed from the graph of the matrix and its transpose: vertices are rows, edges are
//! entries outside the diagonal. The interface fixes no order, so these need not be a device's.
//! Cuthill and McKee, *Reducing the bandwidth of sparse symmetric matrices* (1969), reversed;
//! minimum degree with elements in place of what has been eliminated (George and Liu, *The
//! evolution of the minimum degree ordering algorithm*, 1989); nested dissection by levels of a
//! search.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// The neighbours of each vertex, in increasing order.
pub(crate) type Graph = Vec<Vec<usize>>;

/// Creates the graph of a matrix of order `n` with entries at these places.
pub(crate) fn graph(n: usize, entries: impl Iterator<Item = (usize, usize)>) -> Graph {
    let mut graph = vec![Vec::new(); n];
    for (i, j) in entries.filter(|(i, j)| i != j) {
        graph[i].push(j);
        graph[j].push(i);
    }
    for list in &mut graph {
        list.sort_unstable();
        list.dedup();
    }
    graph
}

/// Returns the levels of a breadth-first search among vertices with a mark.
fn levels(graph: &Graph, marks: &[usize], mark: usize, root: usize) -> Vec<Vec<usize>> {
    let mut seen = BTreeSet::from([root]);
    let mut levels = vec![vec![root]];
    while let Some(last) = levels.last() {
        let mut next = Vec::new();
        for &v in last {
            let mut found: Vec<usize> =
                graph[v].iter().copied().filter(|&w| marks[w] == mark && seen.insert(w)).collect();
            found.sort_by_key(|&w| graph[w].len());
            next.extend(found);
        }
        if next.is_empty() {
            break;
        }
        levels.push(next);
    }
    levels
}

/// Returns the levels from a vertex that is far from others.
fn long_levels(graph: &Graph, marks: &[usize], mark: usize, root: usize) -> Vec<Vec<usize>> {
    let mut best = levels(graph, marks, mark, root);
    loop {
        let last = best.last().into_iter().flatten().copied();
        let Some(end) = last.min_by_key(|&v| graph[v].len()) else { return best };
        let longer = levels(graph, marks, mark, end);
        if longer.len() <= best.len() {
            return best;
        }
        best = longer;
    }
}

/// The reversed order of Cuthill and McKee.
pub(crate) fn reverse_cuthill_mckee(graph: &Graph) -> Vec<usize> {
    let mut marks = vec![0; graph.len()];
    let mut order = Vec::with_capacity(graph.len());
    for v in 0..graph.len() {
        if marks[v] == 0 {
            for w in long_levels(graph, &marks, 0, v).into_iter().flatten() {
                marks[w] = 1;
                order.push(w);
            }
        }
    }
    order.reverse();
    order
}

/// The order in which a vertex of least degree is eliminated at each step.
pub(crate) fn minimum_degree(graph: &Graph) -> Vec<usize> {
    let mut state = Elimination::new(graph);
    let mut heap: BinaryHeap<_> =
        graph.iter().enumerate().map(|(v, list)| Reverse((list.len(), v))).collect();
    let mut order = Vec::with_capacity(graph.len());
    while let Some(Reverse((degree, v))) = heap.pop() {
        // Entries that are not of now were replaced by later ones.
        if state.done[v] || state.degree[v] != degree {
            continue;
        }
        order.push(v);
        for w in state.eliminate(v) {
            heap.push(Reverse((state.degree[w], w)));
        }
    }
    order
}

/// A graph in which eliminated vertices are elements: sets of vertices that are all neighbours.
struct Elimination {
    neighbours: Vec<BTreeSet<usize>>,
    /// The elements that a vertex is in.
    elements: Vec<BTreeSet<usize>>,
    /// The vertices of an element, by the vertex whose elimination made it.
    members: Vec<BTreeSet<usize>>,
    degree: Vec<usize>,
    done: Vec<bool>,
}

impl Elimination {
    fn new(graph: &Graph) -> Self {
        let n = graph.len();
        Self {
            neighbours: graph.iter().map(|list| list.iter().copied().collect()).collect(),
            elements: vec![BTreeSet::new(); n],
            members: vec![BTreeSet::new(); n],
            degree: graph.iter().map(Vec::len).collect(),
            done: vec![false; n],
        }
    }

    /// Eliminates a vertex. Returns the vertices whose degree may be another now.
    fn eliminate(&mut self, v: usize) -> Vec<usize> {
        self.done[v] = true;
        let merged = std::mem::take(&mut self.elements[v]);
        let mut members = std::mem::take(&mut self.neighbours[v]);
        for &e in &merged {
            members.append(&mut self.members[e]);
        }
        members.remove(&v);
        for &w in &members {
            self.elements[w].retain(|e| !merged.contains(e));
            self.elements[w].insert(v);
            // The element stands for edges between its members.
            self.neighbours[w].retain(|x| *x != v && !members.contains(x));
        }
        for &w in &members {
            // As in approximate minimum degree: vertices of several elements count several times.
            let others = self.elements[w].iter().filter(|&&e| e != v);
            let others: usize = others.map(|&e| self.members[e].len() - 1).sum();
            let degree = self.neighbours[w].len() + members.len() - 1 + others;
            self.degree[w] = degree.min(self.done.len());
        }
        let changed = members.iter().copied().collect();
        self.members[v] = members;
        changed
    }
}

/// Vertices that are not dissected any more.
const SMALL: usize = 32;

/// Nested dissection: both sides of a separator come before it.
pub(crate) fn nested_dissection(graph: &Graph) -> Vec<usize> {
    let mut marks = vec![0; graph.len()];
    let mut next = 1;
    let mut order = Vec::with_capacity(graph.len());
    let mut open: Vec<Vec<usize>> = vec![(0..graph.len()).collect()];
    // The last parts come first, so the order is built from its end.
    while let Some(part) = open.pop() {
        let Some(&root) = part.first() else { continue };
        let mark = marks[root];
        let found = long_levels(graph, &marks, mark, root);
        if found.iter().map(Vec::len).sum::<usize>() < part.len() {
            // Components are parts of their own.
            for v in part {
                if marks[v] == mark {
                    let component: Vec<usize> =
                        levels(graph, &marks, mark, v).into_iter().flatten().collect();
                    for &w in &component {
                        marks[w] = next;
                    }
                    next += 1;
                    open.push(component);
                }
            }
            continue;
        }
        if part.len() <= SMALL || found.len() < 3 {
            order.extend(part);
            continue;
        }
        let middle = found.len() / 2;
        let separator = &found[middle];
        order.extend(separator);
        for (side, levels) in [&found[..middle], &found[middle + 1..]].into_iter().enumerate() {
            for &v in levels.iter().flatten() {
                marks[v] = next + side;
            }
            open.push(levels.iter().flatten().copied().collect());
        }
        for &v in separator {
            marks[v] = usize::MAX;
        }
        next += 2;
    }
    order.reverse();
    order
}
