//! Random PTX kernels, for tests of the engines and for comparisons with a device.
//!
//! Kernels are made from the front end's table of forms ([`ptx::testing::instructions`]), by a
//! generator that is independent of the engines. A kernel depends only on its seed.
//!
//! | module | |
//! |---|---|
//! | [`asynchronous`] | kernels of asynchronous operations, with the memory that they leave |
//! | [`templates`] | instructions with slots for operands |
//! | [`operands`] | registers, constants and addresses for these slots |
//! | [`random`] | statements, functions, kernels |
//! | [`frame`] | the common beginning and end of all kernels |
//! | [`kernel`] | a kernel as a tree of statements, and its text |

pub mod asynchronous;
mod determinate;
pub mod flow;
pub mod frame;
pub mod kernel;
pub mod operands;
pub mod random;
pub mod templates;
