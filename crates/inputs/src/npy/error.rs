//! Errors of the reader.

use crate::array::ShapeError;
use crate::file::io_reason;

/// Size limit of headers in bytes. NumPy's own safety limit is 10,000.
pub(super) const MAX_HEADER: u64 = 64 * 1024;

/// The reason why a file cannot be read as an array.
#[derive(Debug, thiserror::Error)]
pub enum NpyError {
    /// An error of the operating system.
    #[error("{}", io_reason(.0))]
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
    #[error("the header claims {length} bytes; at most {} are read", MAX_HEADER)]
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
