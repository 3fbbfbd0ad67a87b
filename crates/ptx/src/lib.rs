//! NVIDIA PTX: text to syntax tree to kernel IR, and back to text.

pub mod ast;
pub mod lexer;
pub mod names;
mod parse;
pub mod pool;
pub mod print;
mod spanless;

pub use ast::Module;
pub use names::{Names, Symbol};
pub use parse::parse;
