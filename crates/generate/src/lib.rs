//! Random PTX kernels, for tests of the engines and for comparisons with a device.
//!
//! Kernels are made from the front end's table of forms ([`ptx::testing::instructions`]), by a
//! generator that knows nothing of the engines. A seed alone says what a kernel is.
//!
//! | module | |
//! |---|---|
//! | [`templates`] | instructions with places for operands |
//! | [`operands`] | registers, constants and addresses for these places |
//! | [`random`] | statements, functions, kernels |
//! | [`frame`] | what every kernel begins and ends with |
//! | [`kernel`] | a kernel as a tree of statements, and its text |

pub mod frame;
pub mod kernel;
pub mod operands;
pub mod random;
pub mod templates;
