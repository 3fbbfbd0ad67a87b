//! The tests of the crate, as one program.

mod analysis_scale;
mod footprints;
mod naive;
mod scale;
mod spin;
