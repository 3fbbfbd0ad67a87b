//! Source spans, diagnostics, assembler core and instruction tables.
//!
//! Everything that reads text or encodes instructions stands on this crate: the PTX front end, the
//! IR's text form and the assemblers of the machines. It knows nothing of execution.
//!
//! A machine's encoding is one [`Table`]; decoder, encoder, assembler, disassembler and reference
//! page follow from it:
//!
//! ```
//! use isa::asm::{Dialect, PlainOperands, Syntax, assemble};
//! use isa::{FileId, Table};
//!
//! let table = Table::parse(
//!     "@isa tiny\n\
//!      @kind r registers r0..r7\n\
//!      add\t16\t007f\t0002\trd=7:3;ra=10:3;rb=13:3\tadd {rd:r}, {ra:r}, {rb:r}\n\
//!      bz\t16\t007f\t0004\tra=7:3;off=10:6@1 signed\tbz {ra:r}, {off:target}\n",
//! )?;
//! let tiny = Dialect { table: &table, operands: &PlainOperands, syntax: &Syntax::DEFAULT };
//! let image = assemble(tiny, FileId(0), "loop: add r1, r2, r3\n bz r1, loop").unwrap();
//! assert_eq!(image.segments[0].bytes, [0x82, 0x68, 0x84, 0xfc]);
//!
//! let found = table.decode_bytes(&image.segments[0].bytes)?;
//! assert_eq!(table.form(found.form).name, "add");
//! assert_eq!(table.values(found), [1, 2, 3]);
//! assert_eq!(tiny.print(found, 0), "add r1, r2, r3");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod asm;
pub mod conform;
pub mod diag;
pub mod disasm;
pub mod docs;
pub mod elf;
pub mod encode;
pub mod span;
pub mod suggest;
pub mod table;
pub mod testing;

pub use diag::{Diagnostic, Diagnostics, Label, Severity};
pub use encode::EncodeError;
pub use span::{FileId, LineCol, SourceFile, SourceMap, Span};
pub use table::decode::{self, DecodeError, Instruction};
pub use table::{Field, FieldError, Form, FormId, Table};
