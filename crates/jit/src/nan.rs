//! Where the bits of a NaN can be seen.
//!
//! An operation makes PTX's canonical NaN. Whether a NaN is the canonical one cannot be told from the results of further float
//! arithmetic and comparisons: so what only they read need not be made canonical.

use crate::rows::operands;
use fast::code::{Code, Kind, Src};
use fast::ops::{Op32, Test};

/// What reads the rows of 32-bit values.
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
    pub(crate) fn new(code: &Code) -> Self {
        let mut this = Self { seen: vec![false; code.narrow as usize] };
        for step in &code.steps {
            match &step.kind {
                Kind::Narrow { op, .. } if blind(*op) => {}
                Kind::Test { test: Test::F(_), wide: false, .. } => {}
                _ => operands(step, &mut |src| this.sees(src)),
            }
        }
        for block in &code.blocks {
            if let fast::code::End::Switch(index, _) = &block.end {
                this.sees(*index);
            }
        }
        this
    }

    fn sees(&mut self, src: Src) {
        if let Src::Narrow(i) = src {
            self.seen[i as usize] = true;
        }
    }

    /// Whether somebody can see the bits of a row's NaNs.
    pub(crate) fn seen(&self, row: u32) -> bool {
        self.seen[row as usize]
    }
}
