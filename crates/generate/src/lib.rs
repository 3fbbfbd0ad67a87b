//! Random PTX kernels, for tests of the engines and for comparisons with a device.
//!
//! There are two generators. [`random`] makes kernels from the front end's table of forms
//! ([`ptx::testing::instructions`]) and knows nothing of the engines. [`flow`] writes the kernels
//! of [`ir::testing`] as PTX. A seed alone says what a kernel is.
//!
//! | module | |
//! |---|---|
//! | [`templates`] | instructions with places for operands |
//! | [`operands`] | registers, constants and addresses for these places |
//! | [`flow`] | integer kernels with structured control flow, early exits, or any graph |
//! | [`random`] | statements, functions, kernels |
//! | [`frame`] | what every kernel begins and ends with |
//! | [`kernel`] | a kernel as a tree of statements, and its text |

mod determinate;
pub mod flow;
pub mod frame;
pub mod kernel;
pub mod operands;
pub mod random;
pub mod templates;
