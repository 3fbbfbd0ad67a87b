//! Where the bits of a NaN can be seen.
//!
//! An operation makes PTX's canonical NaN. Whether a NaN is the canonical one cannot be told from the results of further float
//! arithmetic and comparisons: so what only they read need not be made canonical.

use fast::code::{Code, Dst, Kind, Src, Step};
use fast::ops::{Op32, Test};

/// Whose results anybody can see the bits of, by step.
#[derive(Debug)]
pub(crate) struct Nan {
    seen: Vec<bool>,
}

/// Whether an operation on floats does not show which NaN an operand is.
fn blind(op: Op32) -> bool {
    matches!(
        op,
        Op32::FAdd | Op32::FSub | Op32::FMul | Op32::FFma | Op32::FDiv | Op32::FRcp | Op32::FSqrt
    )
}

impl Nan {
    /// Of a kernel each of whose rows is one value still: rows that share a place are seen or not each by itself.
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

    /// Whether somebody can see the bits of a step's NaNs.
    pub(crate) fn seen(&self, step: usize) -> bool {
        self.seen.get(step).is_none_or(|&seen| seen)
    }
}
