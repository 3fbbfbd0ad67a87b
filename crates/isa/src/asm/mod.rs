//! The assembler core: assembly text to bytes at addresses, symbols and a listing, for any
//! instruction table.
//!
//! A machine gives a [`Dialect`]: its table, its [`Operands`] (what the table's custom operand
//! kinds look like) and its [`Syntax`] (comment signs, sections, the machine's own directives).
//! Instructions are read by the templates of the table, so that assembler and disassembler cannot
//! disagree.
//!
//! # Text
//!
//! A line holds statements (`label: mnemonic operands`), separated by the dialect's separator if it
//! has one; blanks and `/* ... */` may stand between any two tokens. Labels are `name:` or local
//! `1:`, to which `1b` (the last one before) and `1f` (the next one) refer. Expressions have the
//! operators of C with C's precedence: `* / %`, `+ -`, `<< >>`, `&`, `^`, `|`, unary `- + ~`,
//! parentheses; operands are integers (decimal, `0x`, `0o`, `0b`, `'c'`), symbols and `.`, the
//! address of the statement. Values are 64 bits, signed or unsigned: a result below -2^63 or above
//! 2^64-1 is an error. `>>` keeps the sign; division truncates. `name(...)` after `%` is a function
//! of the machine, as in `%lo(x)`.
//!
//! # Directives
//!
//! | directive | meaning |
//! |---|---|
//! | `.text`, `.data`, ..., `.section NAME` | go on in that section of the dialect |
//! | `.org ADDRESS` | go on at that address |
//! | `.align N`, `.p2align N` | go on at the next multiple of 2^N |
//! | `.balign N` | go on at the next multiple of N, a power of two |
//! | `.byte`, `.half`, `.word`, `.dword` (also `.short`, `.2byte`, `.long`, `.4byte`, `.quad`, `.8byte`) | integers, little-endian |
//! | `.float`, `.double` | IEEE 754 numbers |
//! | `.ascii`, `.asciz`, `.string` | strings in quotes; the latter two with a zero byte after each |
//! | `.zero N`, `.space N[, BYTE]`, `.skip N[, BYTE]`, `.fill N, SIZE, VALUE` | N times a byte or value |
//! | `.equ NAME, EXPR`, `.set NAME, EXPR`, `NAME = EXPR` | give a symbol a value; may be repeated |
//! | `.globl NAME`, `.global NAME` | marks a symbol |
//! | `.type`, `.size`, `.file`, `.ident` | accepted, without effect |
//!
//! Sections lie at fixed addresses of the dialect, so every label has its address when it is read;
//! what decides how much room a statement takes (`.org`, `.space`, `.align`) must be known where it
//! stands. A symbol that is given several values has, at each use, the last one before it.
//!
//! # Passes
//!
//! Pass one reads each statement once, chooses the form and places it; pass two fills in what was
//! not known then. A form is never replaced by a longer one when its target turns out to be too far
//! (relaxation): that is an error that names the distance. Where several forms fit the text, the
//! first whose values are known to fit is taken.
//!
//! # Always holds
//!
//! Any text gives an [`Image`] or at least one error, in time and memory linear in the text and the
//! image ([`Limits`]); nothing recurses without bound. Each statement reports its first error only,
//! and the next statement is read. The same text gives the same image.

mod assemble;
mod cursor;
mod data;
mod directive;
mod expr;
mod image;
mod instruction;
mod layout;
mod split;
mod symbols;
mod syntax;

pub use self::assemble::assemble;
pub use self::cursor::{Cursor, Fail};
pub use self::expr::{Expr, Op};
pub use self::image::{Image, Line, MachineDirective, Segment, SymbolEntry};
pub use self::syntax::{
    Dialect, Limits, OperandSlot, OperandValue, Operands, PlainOperands, PrintContext, Pseudo,
    Relation, Section, Syntax,
};
