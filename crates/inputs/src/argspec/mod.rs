//! Argument specifications: the scalars and buffers of `--arg` and of launch files.
//!
//! ```text
//! argument  = [ name "=" ] value
//! value     = type ":" literal                      a scalar               n=u32:1024
//!           | "bytes[" hexadecimal digits "]"       raw bytes by value     p=bytes[01 00 00 00]
//!           | "&" name [ "+" bytes ]                address of a buffer    &counts
//!           | "&" name [ "+" bytes ] ":tensormap(" option { "," option } ")"   a tensor map of it
//!           | buffer
//! buffer    = type "[" extent { "," extent } "]" [ ":" contents ]     x=f32[64,64]:random(seed=1)
//!           | "@" path                              an .npy file           m=@matrix.npy
//! contents  = "zeros" | "ones" | "fill(" literal ")" | "[" literal { "," literal } "]"
//!           | "iota" [ "(" [ "start=" n ] [ "," "step=" n ] ")" ]
//!           | "random" [ "(" [ "seed=" n ] [ "," "lo=" v ] [ "," "hi=" v ] ")" ]
//!           | "@" path                              of this type and shape
//! option    = "box=" list | "steps=" list | "swizzle=" name | "fill=" ( "zeros" | "nan" )
//! list      = "[" n { "," n } "]"
//! ```
//!
//! A buffer without contents holds zeros. [`random`] documents the generator of `random`, so that
//! other programs can reproduce its numbers.
//!
//! Parsing only reads text; [`BufferSpec::build`] opens files and allocates, within
//! [`Limits`](crate::limits::Limits).

mod build;
mod contents;
mod parse;
pub mod random;
mod tensor;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use isa::Span;

use crate::elem::{ElemType, Scalar};
pub use build::BuildContext;
pub use parse::{parse_argument, parse_buffer};
pub use tensor::TensorSpec;

/// One argument of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct ArgSpec {
    /// The name before `=`, if there is one.
    pub name: Option<String>,
    /// The value that is passed.
    pub value: ArgValue,
    /// The whole specification.
    pub span: Span,
}

/// The value of an argument.
#[derive(Clone, Debug, PartialEq)]
pub enum ArgValue {
    /// A typed number.
    Scalar(Scalar),
    /// Bytes by value, for parameters that are structures or arrays.
    Bytes(Vec<u8>),
    /// The address of a buffer made for this argument.
    Buffer(BufferSpec),
    /// The address of a named buffer, plus an offset.
    Reference(BufferRef),
    /// A tensor map of a named buffer.
    Tensor(TensorSpec),
}

impl ArgValue {
    /// The named buffer that the argument refers to.
    #[must_use]
    pub fn buffer(&self) -> Option<&BufferRef> {
        match self {
            Self::Reference(buffer) => Some(buffer),
            Self::Tensor(spec) => Some(&spec.buffer),
            Self::Scalar(_) | Self::Bytes(_) | Self::Buffer(_) => None,
        }
    }
}

/// A reference to a named buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BufferRef {
    /// The buffer's name.
    pub name: String,
    /// Offset from its start in bytes.
    pub offset: u64,
}

/// The specification of a buffer.
#[derive(Clone, Debug, PartialEq)]
pub struct BufferSpec {
    /// Element type; a file has its own.
    pub ty: Option<ElemType>,
    /// Extents, slowest first; a file has its own.
    pub shape: Option<Vec<u64>>,
    /// The initial contents.
    pub contents: Contents,
    /// The whole specification.
    pub span: Span,
}

/// The initial contents of a buffer.
#[derive(Clone, Debug, PartialEq)]
pub enum Contents {
    /// All bits zero.
    Zeros,
    /// The same bit pattern in all elements.
    Fill(u64),
    /// `start + step * i` at flat index `i`; integers wrap, floats are computed in `f64` and then
    /// rounded to the type.
    Iota(Progression),
    /// Random numbers.
    Random {
        /// The seed; if `None`, it is derived from the run's seed and the buffer's name.
        seed: Option<u64>,
        /// The range of the numbers.
        range: random::Range,
    },
    /// A bit pattern for each element.
    Values(Vec<u64>),
    /// The elements of an `.npy` file, relative to the specification's folder.
    File(PathBuf),
}

/// An arithmetic progression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Progression {
    /// For integer and untyped elements.
    Int {
        /// First element.
        start: i128,
        /// Difference between adjacent elements.
        step: i128,
    },
    /// For float elements.
    Float {
        /// First element.
        start: f64,
        /// Difference between adjacent elements.
        step: f64,
    },
}
