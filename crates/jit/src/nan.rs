//! Analysis of where the bits of a NaN are visible.
//!
//! An operation makes PTX's canonical NaN. Float arithmetic and comparisons give the same results
//! for every NaN, so a NaN that only they read need not be made canonical.

use fast::code::{Code, Dst, Kind, Src, Step};
use fast::ops::{Op32, Test};

/// Steps whose NaNs are visible.
#[derive(Debug)]
pub(crate) struct Nan {
    seen: Vec<bool>,
}

/// Returns whether an operation gives the same result for every NaN operand.
fn blind(op: Op32) -> bool {
    matches!(
        op,
        Op32::FAdd | Op32::FSub | Op32::FMul | Op32::FFma | Op32::FDiv | Op32::FRcp | Op32::FSqrt
    )
}

impl Nan {
    /// Analyses a kernel before rows are shared: there each row holds one value, which is visible
    /// or not on its own.
    pub(crate) fn new(code: &Code) -> Self {
        let mut rows = vec![false; code.narrow as usize];
        let mut sees = |src| {
            if let Src::Narrow(i) = src {
                rows[i as usize] = true;
            }
        };
        for step in &code.steps {
            match &step.kind {
                Kind::Narrow { op, .. } if blind(*op) => {}
                Kind::Test { test: Test::F(_), wide: false, .. } => {}
                _ => step.operands(&mut sees),
            }
        }
        for block in &code.blocks {
            if let fast::code::End::Switch(index, _) = &block.end {
                sees(*index);
            }
        }
        let seen = |step: &Step| match &step.kind {
            Kind::Narrow { dst, .. } | Kind::Rare { dst, .. } => rows[*dst as usize],
            Kind::Generic(generic) => match *generic.dst.as_slice() {
                [Dst::Narrow(dst)] => rows[dst as usize],
                _ => true,
            },
            _ => true,
        };
        Self { seen: code.steps.iter().map(seen).collect() }
    }

    /// Returns whether the bits of a step's NaN results are visible.
    pub(crate) fn seen(&self, step: usize) -> bool {
        self.seen.get(step).is_none_or(|&seen| seen)
    }
}
