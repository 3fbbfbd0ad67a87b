//! The tests of the crate, as one program.

mod axes;
mod check_mutants;
mod checks;
mod claims;
mod divergence;
mod html;
mod machines;
mod plots;
