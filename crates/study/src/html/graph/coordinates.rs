//! Horizontal placement of nodes. The slots of a layer keep their order and a minimum distance, and
//! are moved as near to their neighbours as that allows.

use super::layers::Layered;

/// Width of a block's box, and of an edge that passes a layer.
pub(super) const BOX: f64 = 190.0;
const WAY: f64 = 18.0;
/// Least distance between slots.
const GAP: f64 = 26.0;
/// Number of rounds over the layers.
const ROUNDS: usize = 24;

/// Returns the horizontal centre of each slot, from 0, and the total width.
pub(super) fn middles(graph: &Layered, blocks: usize) -> (Vec<f64>, f64) {
    let half = |slot: usize| if slot < blocks { BOX / 2.0 } else { WAY / 2.0 };
    let mut x = vec![0.0; graph.layer_of.len()];
    for layer in &graph.layers {
        let mut at = 0.0;
        for &slot in layer {
            x[slot] = at + half(slot);
            at += 2.0 * half(slot) + GAP;
        }
    }
    for round in 0..ROUNDS {
        let depth = graph.layers.len();
        for step in 0..depth {
            let layer = if round % 2 == 0 { step } else { depth - 1 - step };
            let wanted: Vec<f64> =
                graph.layers[layer].iter().map(|&slot| wanted(graph, &x, slot, round)).collect();
            place_layer(&graph.layers[layer], &wanted, &half, &mut x);
        }
    }
    let left = |slot: usize, x: &[f64]| x[slot] - half(slot);
    let least = (0..x.len()).map(|s| left(s, &x)).fold(f64::INFINITY, f64::min);
    let least = if least.is_finite() { least } else { 0.0 };
    x.iter_mut().for_each(|x| *x -= least);
    let width = (0..x.len()).map(|s| x[s] + half(s)).fold(0.0, f64::max);
    (x, width)
}

/// Returns the mean position of a slot's neighbours: above in even rounds, below in odd ones, and
/// both in the last four.
fn wanted(graph: &Layered, x: &[f64], slot: usize, round: usize) -> f64 {
    let (up, down) = (&graph.up[slot], &graph.down[slot]);
    let both = round + 4 >= ROUNDS;
    let above = if round.is_multiple_of(2) || both { up.as_slice() } else { &[] };
    let below = if !round.is_multiple_of(2) || both { down.as_slice() } else { &[] };
    let n = above.len() + below.len();
    if n == 0 {
        return x[slot];
    }
    above.iter().chain(below).map(|s| x[*s]).sum::<f64>() / n as f64
}

/// Places the slots of a layer as near to their wanted positions as order and distance allow, in
/// the sense of least squares (pool adjacent violators).
fn place_layer(layer: &[usize], wanted: &[f64], half: &dyn Fn(usize) -> f64, x: &mut [f64]) {
    let mut offsets = Vec::with_capacity(layer.len());
    let mut at = 0.0;
    for (index, &slot) in layer.iter().enumerate() {
        if index > 0 {
            at += half(layer[index - 1]) + GAP + half(slot);
        }
        offsets.push(at);
    }
    // Pools of adjacent slots: mean and number of members.
    let mut pools: Vec<(f64, usize)> = Vec::new();
    for (want, offset) in wanted.iter().zip(&offsets) {
        pools.push((want - offset, 1));
        while let [.., a, b] = pools.as_slice()
            && a.0 > b.0
        {
            let n = a.1 + b.1;
            let mean = (a.0 * a.1 as f64 + b.0 * b.1 as f64) / n as f64;
            pools.truncate(pools.len() - 2);
            pools.push((mean, n));
        }
    }
    let means = pools.iter().flat_map(|&(mean, n)| std::iter::repeat_n(mean, n));
    for ((&slot, offset), mean) in layer.iter().zip(&offsets).zip(means) {
        x[slot] = mean + offset;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_never_overlap_and_a_diamond_is_symmetric() {
        let edges = [(0, 1), (0, 2), (1, 3), (2, 3)];
        let graph = Layered::new(4, &edges);
        let (x, width) = middles(&graph, 4);
        assert!((x[1] - x[2]).abs() >= BOX + GAP - 1e-6);
        assert!((x[0] - (x[1] + x[2]) / 2.0).abs() < 1e-6 && (x[0] - x[3]).abs() < 1e-6);
        assert!((width - (2.0 * BOX + GAP)).abs() < 1e-6);
    }
}
