//! Source spans, diagnostics, assembler core and instruction tables.
//!
//! Everything that reads text or encodes instructions stands on this crate: the PTX front end, the IR's
//! text form and the assemblers of the machines. It knows nothing of execution.

pub mod diag;
pub mod span;

pub use diag::{Diagnostic, Diagnostics, Label, Severity};
pub use span::{FileId, LineCol, SourceFile, SourceMap, Span};
