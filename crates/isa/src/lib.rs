//! Source spans, diagnostics, assembler core and instruction tables.
//!
//! Everything that reads text or encodes instructions stands on this crate: the PTX front end, the IR's
//! text form and the assemblers of the machines. It knows nothing of execution.

pub mod asm;
pub mod conform;
pub mod decode;
pub mod diag;
pub mod disasm;
pub mod docs;
pub mod encode;
pub mod span;
pub mod suggest;
pub mod table;
pub mod testing;

pub use decode::{DecodeError, Instruction};
pub use diag::{Diagnostic, Diagnostics, Label, Severity};
pub use encode::EncodeError;
pub use span::{FileId, LineCol, SourceFile, SourceMap, Span};
pub use table::{Field, FieldError, Form, FormId, Table};
