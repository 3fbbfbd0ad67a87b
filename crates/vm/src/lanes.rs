//! Per-lane and uniform computations.
//!
//! The sources of the lanes that are on are copied from the register file into rows without gaps,
//! the computation runs on these, and its results are copied back.

use crate::code::{LaneOp, Src};
use crate::engine::Now;
use crate::state::{Cta, State};
use compute::LANES;
use simt::LaneMask;
use smallvec::SmallVec;

/// The lanes of a computation that are on, from a thread of the CTA on.
struct Lanes {
    first: usize,
    on: LaneMask<1>,
    /// Whether their values of a row stand side by side: no lane before the last one is off, and
    /// all are in the same frame.
    adjoin: bool,
}

impl Lanes {
    /// Copies their values of a row.
    fn read<const N: usize>(&self, cta: &Cta<N>, row: u32, to: &mut [u64]) {
        if self.adjoin {
            return to.copy_from_slice(&cta.file[cta.at(row, self.first)..][..to.len()]);
        }
        for (to, lane) in to.iter_mut().zip(self.on) {
            *to = cta.row(row, self.first + lane);
        }
    }

    /// Sets their values of a row.
    fn write<const N: usize>(&self, cta: &mut Cta<N>, row: u32, from: &[u64]) {
        if self.adjoin {
            let at = cta.at(row, self.first);
            return cta.file[at..][..from.len()].copy_from_slice(from);
        }
        for (&value, lane) in from.iter().zip(self.on) {
            cta.set_row(row, self.first + lane, value);
        }
    }
}

/// Executes a per-lane or uniform computation.
pub(crate) fn execute<const N: usize>(state: &mut State<N>, now: &Now<N>, op: &LaneOp) {
    let Some(cta) = state.resident[now.slot].as_deref_mut() else { return };
    let vars = &state.info.vars;
    if op.uniform {
        let vars = cta.vars.as_deref().unwrap_or(vars);
        return uniform(&mut cta.groups[now.group].scalars, vars, op);
    }
    let group = &cta.groups[now.group];
    let (width, first) = (group.launched.count() as usize, group.first_thread as usize);
    for chunk in (0..width).step_by(LANES) {
        let on = LaneMask::<1>::from_bits(now.on.window(chunk));
        let Some(leader) = on.lowest() else { continue };
        let (first, count) = (first + chunk, on.count() as usize);
        let base = |lane: usize| cta.frames.base[first + lane];
        let alike = !cta.frames.called || on.iter().all(|lane| base(lane) == base(leader));
        let lanes = Lanes { first, on, adjoin: alike && on == LaneMask::first(count) };
        let rows = &mut state.scratch.rows;
        let words = (op.src.len() + op.dst.len()) * count;
        if rows.len() < words {
            rows.resize(words, 0);
        }
        let (sources, results) = rows[..words].split_at_mut(op.src.len() * count);
        for (to, &src) in sources.chunks_exact_mut(count).zip(&op.src) {
            match src {
                Src::Row(row) => lanes.read(cta, row, to),
                other => {
                    let vars = cta.variables(vars);
                    to.fill(constant(other, &cta.groups[now.group].scalars, vars));
                }
            }
        }
        op.computation.run(sources, results, count);
        // The first result is written last: it wins where two name one register.
        for (from, &row) in results.chunks_exact(count).zip(&op.dst).rev() {
            lanes.write(cta, row, from);
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
