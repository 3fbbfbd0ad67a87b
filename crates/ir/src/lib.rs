//! The kernel IR: types, operations, text form, verifier.
//!
//! A [`Module`] holds functions and variables. A [`Function`] has two register files (per-lane
//! values; warp values: masks and warp-uniform scalars) and blocks in layout order. An [`Inst`] is
//! a row of the operation table ([`Op`], about 110 rows) with a type, modifiers, operands and a
//! guard. What a front end or a pass produces is checked by the verifier before anything runs it.

pub mod device;
pub mod docs;
pub mod layout;
pub mod matrix;
pub mod mods;
pub mod module;
pub mod op;
pub mod slots;
pub mod sreg;
pub mod testing;
pub mod text;
pub mod texture;
pub mod ty;
pub mod verify;

pub use mods::Mods;
pub use module::{
    Block, BlockId, FuncId, Function, Guard, InlinedId, Inst, LaneReg, LocId, Module, Operand,
    Origin, Reg, Symbol, Term, TermKind, VarId, WarpReg,
};
pub use op::{Op, OpInfo};
pub use sreg::Sreg;
pub use ty::{RegTy, Ty};
pub use verify::{VerifiedModule, VerifyErrors, verify};
