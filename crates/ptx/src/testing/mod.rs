//! PTX for tests and for comparisons with an assembler: every form of the table as text, its
//! neighbours, and slightly broken files.

mod examples;
mod mutate;
mod neighbours;

pub use examples::{file, instructions, instructions_of};
pub use mutate::{Random, mutate};
pub use neighbours::neighbours;
