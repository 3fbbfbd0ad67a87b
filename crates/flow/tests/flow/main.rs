//! The tests of the crate, as one program.

mod analysis_scale;
mod naive;
mod scale;
mod spin;
