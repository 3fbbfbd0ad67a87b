//! Studies of divergence: comparisons of mechanisms, races and other checks, detailed records of
//! runs, and their reports.

pub mod checks;
pub mod divergence;
pub mod html;
pub mod lowering;
pub mod machines;
pub mod plots;
pub mod predicate;
mod source_texts;
pub mod svg;
