//! NVIDIA PTX: text to syntax tree to kernel IR, and back to text.

pub mod ast;
pub mod lexer;
pub mod lower;
pub mod names;
mod parse;
pub mod pool;
pub mod print;
mod spanless;
pub mod spelling;

pub use ast::Module;
pub use lower::{Select, check, lower};
pub use names::{Names, Symbol};
pub use parse::parse;
