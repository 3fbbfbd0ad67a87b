//! PTX for tests and for comparisons with an assembler: every form of the table as text, what is near to it, and files that are a
//! little broken.

mod examples;
mod mutate;
mod neighbours;

pub use examples::{file, instructions};
pub use mutate::{Random, mutate};
pub use neighbours::neighbours;
