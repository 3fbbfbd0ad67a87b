//! Video instructions: scalar, and on several elements of a word.

use super::Arg::Rest;
use super::sets::{ONLY_U32, ONLY32, special};
use super::{Form, Special};
use crate::spelling::{Kind, Spelled};

const fn video(opcode: &'static str) -> Form {
    special(opcode, Special::Video, &[Rest]).ty(ONLY32).ty(ONLY32).since(2, 0, 20)
}

const fn sum(opcode: &'static str) -> Form {
    video(opcode).ty(ONLY32).opt(&[Kind::Sat, Kind::SecondaryOp])
}

const fn shift(opcode: &'static str) -> Form {
    video(opcode).ty(ONLY_U32).need(&[Kind::ShiftMode]).opt(&[Kind::Sat, Kind::SecondaryOp])
}

const fn elements(opcode: &'static str) -> Form {
    special(opcode, Special::Video, &[Rest]).ty(ONLY32).ty(ONLY32).since(3, 0, 30)
}

/// Whether at most one of `.sat` and `.add` is there.
fn one_of_both(s: &Spelled) -> bool {
    !(s.has(Kind::Sat) && s.has(Kind::Accumulate))
}

const fn sums(opcode: &'static str) -> Form {
    elements(opcode)
        .ty(ONLY32)
        .opt(&[Kind::Sat, Kind::Accumulate])
        .rule(one_of_both, "`.sat` or `.add`, not both")
}

const fn comparisons(opcode: &'static str) -> Form {
    elements(opcode).need(&[Kind::IntegerCmp]).opt(&[Kind::Accumulate])
}

pub(super) static ROWS: &[Form] = &[
    sum("vadd"),
    sum("vsub"),
    sum("vabsdiff"),
    sum("vmin"),
    sum("vmax"),
    shift("vshl"),
    shift("vshr"),
    video("vmad").ty(ONLY32).opt(&[Kind::Sat, Kind::PlusOne, Kind::Scale]),
    video("vset").need(&[Kind::IntegerCmp]).opt(&[Kind::SecondaryOp]),
    sums("vadd2"),
    sums("vadd4"),
    sums("vsub2"),
    sums("vsub4"),
    sums("vavrg2"),
    sums("vavrg4"),
    sums("vabsdiff2"),
    sums("vabsdiff4"),
    sums("vmin2"),
    sums("vmin4"),
    sums("vmax2"),
    sums("vmax4"),
    comparisons("vset2"),
    comparisons("vset4"),
];
