//! Studies of divergence: comparisons of mechanisms, races, detailed records of runs, and their
//! reports.

pub mod divergence;
pub mod html;
pub mod predicate;
pub mod probes;
pub mod race;
mod slot_columns;
