//! Scalar video instructions.

use super::Arg::Rest;
use super::sets::{ONLY_U32, ONLY32, special};
use super::{Form, Special};
use crate::spelling::Kind;

const fn video(opcode: &'static str) -> Form {
    special(opcode, Special::Video, &[Rest]).ty(ONLY32).ty(ONLY32).since(2, 0, 20)
}

const fn sum(opcode: &'static str) -> Form {
    video(opcode).ty(ONLY32).opt(&[Kind::Sat, Kind::SecondaryOp])
}

const fn shift(opcode: &'static str) -> Form {
    video(opcode).ty(ONLY_U32).need(&[Kind::ShiftMode]).opt(&[Kind::Sat, Kind::SecondaryOp])
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
];
