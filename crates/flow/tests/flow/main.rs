//! The tests of the crate, as one program.

mod analysis_scale;
mod counting_loops;
mod footprints;
mod naive;
mod scale;
mod spin;
mod system_atomics;
