//! PTX for tests and for comparisons with an assembler: every form of the table as text, and files that are a little broken.

mod examples;
mod mutate;

pub use examples::{file, instructions};
pub use mutate::{Random, mutate};
