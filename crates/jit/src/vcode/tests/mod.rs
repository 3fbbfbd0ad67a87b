//! Functions that are compiled and executed.

mod harness;
mod leaves;
mod program;
mod random;
mod registers;
mod rules;
mod translate;
