//! The vector IR of the fast engine.
//!
//! A function of this IR is a kernel as one warp executes it: values are scalars, rows of 32 lanes
//! and masks of 32 lanes, in SSA form with block parameters. Control flow is the warp's, not the
//! threads'. [`translate`] makes it from a decoded kernel: a branch that may split lanes becomes a
//! computation of masks, and both sides follow each other under their masks, in the order of the
//! mechanism `ipdom`. Arithmetic is not masked. A mask is an operand of what has an effect or
//! counts: accesses, exits, counters, and the selection between a new value and an old one that is
//! still read in lanes that are off.
//!
//! [`Function::verify`] checks the types of operands and that definitions dominate their uses; the
//! text form is for readers and tests: [`Function`] implements `Display`, and [`parse`] reads it.

mod function;
mod op;
pub mod passes;
mod recipe;
mod text;
pub mod translate;
mod verify;

pub use function::{
    Block, BlockData, Condition, Function, Inst, InstData, Target, Terminator, Type, Value,
};
pub use op::{
    Access, Arith, Atomic, Await, Barrier, BlockCounts, Conversion, Copy, Counter, Extend, Home,
    Interpreted, InterpretedEnd, LaneOp, MaskOp, Op, Rounding, Scale, Shape, Sreg, StackOp,
    Standing,
};
pub use text::{ParseError, ParseErrorKind, parse};
pub use verify::VerifyError;
