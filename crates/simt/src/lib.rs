//! Masks, lane arithmetic, guest memory, traps, lane slots and observers: what every SIMT machine
//! shares.
//!
//! A machine is an encoding, an architectural state, and a mapping of its instructions to four
//! questions, each of which has one home here or in `converge`: which lanes are on ([`mask`]),
//! which path runs next (`converge`), what an instruction does to the lanes that are on ([`arith`],
//! [`memory`]), and what that cost ([`slots`], [`counts`],
//! [`observe`]).

pub mod arith;
pub mod console;
pub mod counts;
pub mod inspect;
pub mod machine;
pub mod mask;
pub mod matrix;
pub mod mbarrier;
pub mod memory;
pub mod observe;
pub mod slots;
pub mod tensor;
pub mod trap;
mod words;

pub use mask::{CtaMask, LaneMask, WarpMask};
pub use observe::{GroupId, Pc};
