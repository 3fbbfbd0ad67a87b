//! Argument specifications: what `--arg` and launch files say about scalars and buffers.
//!
//! ```text
//! argument  = [ name "=" ] value
//! value     = type ":" literal                      a scalar               n=u32:1024
//!           | "bytes[" hexadecimal digits "]"       raw bytes by value     p=bytes[01 00 00 00]
//!           | "&" name [ "+" bytes ]                address of a buffer    &counts
//!           | buffer
//! buffer    = type "[" extent { "," extent } "]" [ ":" contents ]          x=f32[64,64]:random(seed=1)
//!           | "@" path                              an .npy file           m=@matrix.npy
//! contents  = "zeros" | "ones" | "fill(" literal ")" | "[" literal { "," literal } "]"
//!           | "iota" [ "(" [ "start=" n ] [ "," "step=" n ] ")" ]
//!           | "random" [ "(" [ "seed=" n ] [ "," "lo=" v ] [ "," "hi=" v ] ")" ]
//!           | "@" path                              of this type and shape
//! ```
//!
//! A buffer without contents holds zeros. How `random` makes its numbers is written at [`random`], so
//! that any other program can make the same ones.
//!
//! Parsing reads text only; [`BufferSpec::build`] opens files and allocates, within [`Limits`](crate::Limits).

mod build;
mod parse;
pub mod random;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use isa::Span;

pub use build::BuildContext;
pub use parse::{parse_argument, parse_buffer};

use crate::elem::{ElemType, Scalar};

/// One argument of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct ArgSpec {
    /// The name before `=`, if there is one.
    pub name: Option<String>,
    /// What is passed.
    pub value: ArgValue,
    /// The whole specification.
    pub span: Span,
}

/// What an argument passes.
#[derive(Clone, Debug, PartialEq)]
pub enum ArgValue {
    /// A number.
    Scalar(Scalar),
    /// Bytes by value, for parameters that are structures or arrays.
    Bytes(Vec<u8>),
    /// The address of a buffer made for this argument.
    Buffer(BufferSpec),
    /// The address of a buffer that has a name, or of a place in it.
    Reference(BufferRef),
}

/// A buffer by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BufferRef {
    /// The buffer's name.
    pub name: String,
    /// Bytes from its start.
    pub offset: u64,
}

/// How to make a buffer.
#[derive(Clone, Debug, PartialEq)]
pub struct BufferSpec {
    /// Element type; a file tells its own.
    pub ty: Option<ElemType>,
    /// Extents, slowest first; a file tells its own.
    pub shape: Option<Vec<u64>>,
    /// What it holds at the start.
    pub contents: Contents,
    /// The whole specification.
    pub span: Span,
}

/// What a buffer holds at the start.
#[derive(Clone, Debug, PartialEq)]
pub enum Contents {
    /// All bits zero.
    Zeros,
    /// The same bit pattern everywhere.
    Fill(u64),
    /// `start + step * i` at flat index `i`: integers wrap, floats are computed in `f64` and rounded once.
    Iota(Progression),
    /// Random numbers.
    Random {
        /// The seed, if the specification names one; else it comes from the run's seed and the buffer's name.
        seed: Option<u64>,
        /// Where the numbers lie.
        range: random::Range,
    },
    /// These bit patterns, as many as the shape has elements.
    Values(Vec<u64>),
    /// The elements of an `.npy` file, relative to the specification's directory.
    File(PathBuf),
}

/// An arithmetic progression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Progression {
    /// For integer and untyped elements.
    Int {
        /// First element.
        start: i128,
        /// Difference of neighbours.
        step: i128,
    },
    /// For float elements.
    Float {
        /// First element.
        start: f64,
        /// Difference of neighbours.
        step: f64,
    },
}
