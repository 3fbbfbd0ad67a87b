//! The text form of functions: a printer and a parser, each the other's inverse.

mod names;
mod parse;
mod parts;
mod print;

pub use parse::{ParseError, ParseErrorKind, parse};
