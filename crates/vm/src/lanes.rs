//! Per-lane and uniform computations.
//!
//! The sources of the lanes that are on are copied from the register file into rows without gaps,
//! the computation runs on these, and its results are copied back.

use crate::code::{LaneOp, Src};
use crate::engine::Now;
use crate::state::State;
use compute::LANES;
use simt::LaneMask;
use smallvec::SmallVec;

/// The lanes of a computation in the register file: row `r` of lane `i` is `file[(base + r) *
/// stride + first + i]`.
struct Lanes<'a> {
    stride: usize,
    first: usize,
    on: LaneMask<1>,
    /// Whether all of the group are on, up to the highest one.
    dense: bool,
    /// The frame base of each lane, by lane, or that of all.
    bases: &'a [u32],
}

impl Lanes<'_> {
    /// The column of a row, if it has no gaps.
    fn column(&self, row: u32, count: usize) -> Option<std::ops::Range<usize>> {
        let &[base] = self.bases else { return None };
        let at = (base as usize + row as usize) * self.stride + self.first;
        self.dense.then_some(at..at + count)
    }

    /// The index of a row of a lane.
    fn at(&self, row: u32, lane: usize) -> usize {
        let base = self.bases[if self.bases.len() == 1 { 0 } else { lane }];
        (base as usize + row as usize) * self.stride + self.first + lane
    }

    fn read(&self, file: &[u64], row: u32, to: &mut [u64]) {
        if let Some(column) = self.column(row, to.len()) {
            return to.copy_from_slice(&file[column]);
        }
        for (to, lane) in to.iter_mut().zip(self.on) {
            *to = file[self.at(row, lane)];
        }
    }

    fn write(&self, file: &mut [u64], row: u32, from: &[u64]) {
        if let Some(column) = self.column(row, from.len()) {
            return file[column].copy_from_slice(from);
        }
        for (&value, lane) in from.iter().zip(self.on) {
            file[self.at(row, lane)] = value;
        }
    }
}

/// Executes a per-lane or uniform computation.
pub(crate) fn execute<const N: usize>(state: &mut State<N>, now: &Now<N>, op: &LaneOp) {
    let Some(cta) = state.resident[now.slot].as_deref_mut() else { return };
    let (group, vars) = (&mut cta.groups[now.group], &state.info.vars);
    if op.uniform {
        return uniform(&mut group.scalars, vars, op);
    }
    let constant = |src| constant(src, &group.scalars, vars);
    let width = group.launched.count() as usize;
    for chunk in (0..width).step_by(LANES) {
        let on = LaneMask::<1>::from_bits(now.on.window(chunk));
        let Some(leader) = on.lowest() else { continue };
        let (first, count) = (group.first_thread as usize + chunk, on.count() as usize);
        let bases = &cta.frames.base[first..first + (width - chunk).min(LANES)];
        let alike = !cta.frames.called || on.iter().all(|l| bases[l] == bases[leader]);
        let lanes = Lanes {
            stride: cta.parked.len(),
            first,
            on,
            dense: on == LaneMask::first(count),
            bases: if alike { &bases[leader..=leader] } else { bases },
        };
        let rows = &mut state.scratch.rows;
        let words = (op.src.len() + op.dst.len()) * count;
        if rows.len() < words {
            rows.resize(words, 0);
        }
        let (sources, results) = rows[..words].split_at_mut(op.src.len() * count);
        for (to, &src) in sources.chunks_exact_mut(count).zip(&op.src) {
            match src {
                Src::Row(row) => lanes.read(&cta.file, row, to),
                other => to.fill(constant(other)),
            }
        }
        op.computation.run(sources, results, count);
        // The first result is written last: it wins where two name one register.
        for (from, &row) in results.chunks_exact(count).zip(&op.dst).rev() {
            lanes.write(&mut cta.file, row, from);
        }
    }
}

/// The value of an operand that is the same in all lanes; 0 for a row.
fn constant(src: Src, scalars: &[u64], vars: &[u64]) -> u64 {
    match src {
        Src::Row(_) => 0,
        Src::Const(bits) => bits,
        Src::Scalar(index) => scalars[index as usize],
        Src::Var(index, offset) => vars[index as usize].wrapping_add_signed(offset),
    }
}

/// A computation on the group's scalars, once for the group.
fn uniform(scalars: &mut [u64], vars: &[u64], op: &LaneOp) {
    let sources: SmallVec<[u64; 8]> =
        op.src.iter().map(|&src| constant(src, scalars, vars)).collect();
    let mut results: SmallVec<[u64; 2]> = SmallVec::from_elem(0, op.dst.len());
    op.computation.run(&sources, &mut results, 1);
    for (&value, &index) in results.iter().zip(&op.dst).rev() {
        scalars[index as usize] = value;
    }
}
