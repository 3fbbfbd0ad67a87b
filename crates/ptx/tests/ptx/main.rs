//! The tests of the crate, as one program.

mod errors;
mod forms;
mod kernels;
mod lines;
mod mutate;
mod object;
mod outline;
mod parse;
mod run;
mod simd_video;
mod support;
mod video;
