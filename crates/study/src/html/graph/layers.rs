//! Layers of a graph: the layer of each node and the order within each layer.
//!
//! The method is that of Sugiyama, Tagawa and Toda (1981). Back-edges are set aside. The layer of a
//! node is the length of the longest path from the entry. An edge across several layers gets a
//! *dummy* in each layer between. The nodes of a layer are ordered by the barycentres of their
//! neighbours; of all orders tried, the one with the fewest crossings is kept.

/// A node of the drawing: a block, or a dummy of an edge.
pub(super) type Slot = usize;

/// Number of sweeps over the layers.
const SWEEPS: usize = 12;

/// A layered graph.
#[derive(Clone, Debug, Default)]
pub(super) struct Layered {
    /// Slots by layer, in order.
    pub(super) layers: Vec<Vec<Slot>>,
    /// Layer of each slot. The first slots are blocks, the rest dummies.
    pub(super) layer_of: Vec<usize>,
    /// Each forward edge as a list of slots: source, dummies, target.
    pub(super) chains: Vec<Vec<Slot>>,
    /// Edge index of each chain.
    pub(super) chain_edge: Vec<usize>,
    /// Indices of the back-edges.
    pub(super) back: Vec<usize>,
    /// Neighbours of each slot in the previous layer.
    pub(super) up: Vec<Vec<Slot>>,
    /// Neighbours of each slot in the next layer.
    pub(super) down: Vec<Vec<Slot>>,
}

impl Layered {
    /// Layers a graph of `n` nodes whose entry is node 0.
    pub(super) fn new(n: usize, edges: &[(usize, usize)]) -> Self {
        let back = back_edges(n, edges);
        let forward: Vec<usize> = (0..edges.len()).filter(|e| !back[*e]).collect();
        let mut layer_of = longest_paths(n, edges, &forward);
        let mut out =
            Self { back: (0..edges.len()).filter(|e| back[*e]).collect(), ..Self::default() };
        for &edge in &forward {
            let (from, to) = edges[edge];
            let mut chain = vec![from];
            for layer in layer_of[from] + 1..layer_of[to] {
                chain.push(layer_of.len());
                layer_of.push(layer);
            }
            chain.push(to);
            out.chains.push(chain);
            out.chain_edge.push(edge);
        }
        out.up = vec![Vec::new(); layer_of.len()];
        out.down = vec![Vec::new(); layer_of.len()];
        for chain in &out.chains {
            for pair in chain.windows(2) {
                out.down[pair[0]].push(pair[1]);
                out.up[pair[1]].push(pair[0]);
            }
        }
        let depth = layer_of.iter().max().map_or(0, |most| most + 1);
        out.layers = vec![Vec::new(); depth];
        for (slot, &layer) in layer_of.iter().enumerate() {
            out.layers[layer].push(slot);
        }
        out.layer_of = layer_of;
        out.order();
        out
    }

    /// Orders the slots within each layer.
    fn order(&mut self) {
        let mut best = (self.crossings(), self.layers.clone());
        let mut position = vec![0; self.layer_of.len()];
        for sweep in 0..SWEEPS {
            let depth = self.layers.len();
            for step in 1..depth {
                let downwards = sweep % 2 == 0;
                let layer = if downwards { step } else { depth - 1 - step };
                self.order_layer(layer, downwards, &mut position);
            }
            let crossings = self.crossings();
            if crossings < best.0 {
                best = (crossings, self.layers.clone());
            }
        }
        self.layers = best.1;
    }

    fn order_layer(&mut self, layer: usize, downwards: bool, position: &mut [usize]) {
        let fixed = if downwards { layer - 1 } else { layer + 1 };
        for (at, &slot) in self.layers[fixed].iter().enumerate() {
            position[slot] = at;
        }
        let neighbours = if downwards { &self.up } else { &self.down };
        let mut keyed: Vec<(f64, usize, Slot)> = self.layers[layer]
            .iter()
            .enumerate()
            .map(|(at, &slot)| {
                let near = &neighbours[slot];
                let sum: usize = near.iter().map(|s| position[*s]).sum();
                let key = if near.is_empty() { at as f64 } else { sum as f64 / near.len() as f64 };
                (key, at, slot)
            })
            .collect();
        keyed.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        self.layers[layer] = keyed.into_iter().map(|k| k.2).collect();
    }

    /// Counts the crossings of edges between adjacent layers.
    fn crossings(&self) -> u64 {
        let mut position = vec![0usize; self.layer_of.len()];
        for layer in &self.layers {
            for (at, &slot) in layer.iter().enumerate() {
                position[slot] = at;
            }
        }
        self.layers
            .iter()
            .map(|layer| {
                let mut ends: Vec<(usize, usize)> = layer
                    .iter()
                    .flat_map(|&s| self.down[s].iter().map(move |&d| (s, d)))
                    .map(|(s, d)| (position[s], position[d]))
                    .collect();
                ends.sort_unstable();
                inversions(&mut ends.iter().map(|e| e.1).collect::<Vec<_>>())
            })
            .sum()
    }
}

/// Counts the inversions of a list, and sorts it.
fn inversions(list: &mut [usize]) -> u64 {
    if list.len() < 2 {
        return 0;
    }
    let middle = list.len() / 2;
    let mut count = inversions(&mut list[..middle]) + inversions(&mut list[middle..]);
    let mut merged = Vec::with_capacity(list.len());
    let (mut a, mut b) = (0, middle);
    while a < middle || b < list.len() {
        if b == list.len() || (a < middle && list[a] <= list[b]) {
            merged.push(list[a]);
            a += 1;
        } else {
            merged.push(list[b]);
            count += (middle - a) as u64;
            b += 1;
        }
    }
    list.copy_from_slice(&merged);
    count
}

/// Marks the edges whose target is an ancestor of their source, in a depth-first search from the
/// entry and from each node that it does not reach.
fn back_edges(n: usize, edges: &[(usize, usize)]) -> Vec<bool> {
    let mut out = vec![Vec::new(); n];
    for (index, &(from, _)) in edges.iter().enumerate() {
        out[from].push(index);
    }
    let (mut state, mut back) = (vec![0u8; n], vec![false; edges.len()]);
    for root in 0..n {
        if state[root] != 0 {
            continue;
        }
        state[root] = 1;
        let mut stack = vec![(root, 0)];
        while let Some((node, next)) = stack.last_mut() {
            let Some(&edge) = out[*node].get(*next) else {
                state[*node] = 2;
                stack.pop();
                continue;
            };
            *next += 1;
            let to = edges[edge].1;
            match state[to] {
                0 => {
                    state[to] = 1;
                    stack.push((to, 0));
                }
                1 => back[edge] = true,
                _ => {}
            }
        }
    }
    back
}

/// Returns the length of the longest path to each node along forward edges.
fn longest_paths(n: usize, edges: &[(usize, usize)], forward: &[usize]) -> Vec<usize> {
    let mut out = vec![Vec::new(); n];
    let mut entering = vec![0usize; n];
    for &edge in forward {
        let (from, to) = edges[edge];
        out[from].push(to);
        entering[to] += 1;
    }
    let mut layer = vec![0; n];
    let mut ready: Vec<usize> = (0..n).filter(|v| entering[*v] == 0).collect();
    while let Some(node) = ready.pop() {
        for &to in &out[node] {
            layer[to] = layer[to].max(layer[node] + 1);
            entering[to] -= 1;
            if entering[to] == 0 {
                ready.push(to);
            }
        }
    }
    layer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_with_a_branch_is_layered_by_longest_paths() {
        // 0 -> 1 -> {2, 3} -> 4 -> 1 (back-edge), 4 -> 5, 0 -> 5 through three dummies.
        let edges = [(0, 1), (1, 2), (1, 3), (2, 4), (3, 4), (4, 1), (4, 5), (0, 5)];
        let graph = Layered::new(6, &edges);
        assert_eq!(graph.layer_of[..6], [0, 1, 2, 2, 3, 4]);
        assert_eq!(graph.back, [5]);
        assert_eq!(graph.layer_of.len(), 6 + 3);
        assert_eq!(graph.crossings(), 0);
        let slots: usize = graph.layers.iter().map(Vec::len).sum();
        assert_eq!(slots, graph.layer_of.len(), "each slot stands once");
    }

    #[test]
    fn crossings_are_inversions() {
        assert_eq!(inversions(&mut [2, 1, 0]), 3);
        assert_eq!(inversions(&mut [0, 0, 1]), 0);
        // Two edges that cross in numbering order are untangled.
        assert_eq!(Layered::new(5, &[(0, 1), (0, 2), (1, 4), (2, 3)]).crossings(), 0);
    }

    #[test]
    fn self_loops_and_nodes_without_edges_have_a_layer() {
        let graph = Layered::new(3, &[(0, 0), (0, 1)]);
        assert_eq!(graph.back, [0]);
        assert_eq!(graph.layer_of, [0, 1, 0]);
        assert!(Layered::new(0, &[]).layers.is_empty());
    }
}
