//! Reader and writer of NumPy's `.npy` files.
//!
//! The format is NumPy's own (`numpy.lib.format`): the magic bytes `\x93NUMPY`, a version, the
//! length of a header, the header (a Python dictionary with `descr`, `fortran_order` and `shape`,
//! nothing else), then the elements. The reader supports versions 1.0, 2.0 and 3.0, both byte
//! orders, C and Fortran order. The writer's output equals NumPy's byte for byte.
//!
//! | `descr` | element type |
//! |---|---|
//! | `u1` `u2` `u4` `u8` | `u8` to `u64` |
//! | `i1` `i2` `i4` `i8` | `s8` to `s64` |
//! | `f2` `f4` `f8` | `f16` `f32` `f64` |
//! | `b1` | `u8` (0 and 1) |
//! | `V1` `V2` `V4` `V8` | `b8` to `b64`; `V2` is how bfloat16 arrays are stored |
//!
//! Invariant: memory is allocated for bytes that were read, never for a size in a header alone, and
//! only up to the caller's cap.

mod header;
mod read;
mod write;

pub use header::Header;
pub use read::{load, read};
pub use write::{save, write};

use crate::array::ShapeError;

/// The reason why a file cannot be read as an array.
#[derive(Debug, thiserror::Error)]
pub enum NpyError {
    /// An error of the operating system.
    #[error("{}", crate::run::io_reason(.0))]
    Io(#[from] std::io::Error),
    /// The magic bytes are missing.
    #[error("not an .npy file: it does not start with \\x93NUMPY")]
    Magic,
    /// An unknown version of the format.
    #[error("version {major}.{minor} of the .npy format is not known")]
    Version {
        /// Major version.
        major: u8,
        /// Minor version.
        minor: u8,
    },
    /// The header exceeds the size limit.
    #[error("the header claims {length} bytes; at most {} are read", header::MAX_HEADER)]
    HeaderTooLong {
        /// Length that the file states, in bytes.
        length: u64,
    },
    /// The header is not a valid dictionary.
    #[error("the header is malformed at byte {at}: expected {expected}")]
    Header {
        /// Byte offset in the header text.
        at: usize,
        /// The expected text.
        expected: &'static str,
    },
    /// A key is missing.
    #[error("the header has no `{0}`")]
    MissingKey(&'static str),
    /// An unknown or repeated key.
    #[error("the header has an unknown or repeated key `{0}`")]
    Key(String),
    /// An element type without counterpart.
    #[error("elements of type `{descr}` cannot be read: {reason}")]
    Type {
        /// NumPy's type string (shortened).
        descr: String,
        /// The reason.
        reason: &'static str,
    },
    /// A shape that is too large.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// The file is truncated.
    #[error("the file ends after {got} of {needed} bytes of {part}")]
    Truncated {
        /// The part that is incomplete.
        part: &'static str,
        /// Required bytes.
        needed: u64,
        /// Available bytes.
        got: u64,
    },
    /// Bytes follow the last element.
    #[error("there are bytes after the last element, which ends at byte {end} of the file")]
    Trailing {
        /// Offset at which the file should end.
        end: u64,
    },
}

impl NpyError {
    /// Returns the help text of a diagnostic.
    #[must_use]
    pub fn help(&self) -> &'static str {
        match self {
            Self::Io(_) => "check the path and its permissions",
            Self::Magic => "write the file with numpy.save",
            Self::Version { .. } => {
                "save it with numpy.save, which writes version 1.0 where it can"
            }
            Self::Type { .. } => {
                "convert it first, for instance with numpy.save(file, a.astype('<f4'))"
            }
            Self::Shape(ShapeError::TooLarge { .. } | ShapeError::NoMemory { .. }) => {
                "use a smaller array"
            }
            Self::HeaderTooLong { .. }
            | Self::Header { .. }
            | Self::MissingKey(_)
            | Self::Key(_)
            | Self::Shape(_)
            | Self::Truncated { .. }
            | Self::Trailing { .. } => "the file is damaged; save it again with numpy.save",
        }
    }
}

#[cfg(test)]
mod tests;
