//! What a machine tells the assembler and disassembler about its text.

use crate::asm::{Cursor, Expr, Fail};
use crate::table::{Form, Kind, Table};

/// A machine's assembly language: its table, its own operand kinds, and the conventions of its
/// text.
#[derive(Clone, Copy)]
pub struct Dialect<'a> {
    /// The instructions.
    pub table: &'a Table,
    /// What custom operand kinds look like.
    pub operands: &'a dyn Operands,
    /// Comment signs, sections and the like.
    pub syntax: &'a Syntax,
}

impl Dialect<'_> {
    /// Whether a word cannot be a symbol, since it is a register.
    pub(crate) fn is_reserved(&self, word: &str) -> bool {
        let fold = self.syntax.fold_case;
        let register = |kind: &Kind| match kind {
            Kind::Names(names) => names.reserved && names.value(word, fold).is_some(),
            _ => false,
        };
        self.table.kinds().iter().any(|k| register(&k.kind)) || self.operands.is_reserved(word)
    }
}

/// An operand of a custom kind: what is to be read or printed.
#[derive(Clone, Copy, Debug)]
pub struct OperandSlot<'a> {
    /// Name of the kind.
    pub kind: &'a str,
    /// The form that it is an operand of.
    pub form: &'a Form,
    /// The fields that it sets, as indices into [`Form::fields`].
    pub fields: &'a [usize],
}

/// Where an instruction that is printed stands.
#[derive(Clone, Copy)]
pub struct PrintContext<'a> {
    /// Its address.
    pub address: u64,
    /// The label at an address, if there is one.
    pub label: &'a dyn Fn(u64) -> Option<String>,
}

impl PrintContext<'_> {
    /// The address at a distance from the instruction: its label, or a hexadecimal number.
    #[must_use]
    pub fn target(&self, distance: i64) -> String {
        let target = self.address.wrapping_add_signed(distance);
        (self.label)(target).unwrap_or_else(|| format!("{target:#x}"))
    }
}

/// What a field is to hold.
#[derive(Clone, Debug)]
pub enum OperandValue {
    /// This value.
    Now(i64),
    /// What an expression will turn out to be.
    Later(Expr, Relation),
}

/// How the value of an expression becomes that of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// As it is.
    Absolute,
    /// It is an address; the field holds how far that is from the instruction.
    Target,
    /// A [`Relation::Target`] if it contains a label or `.`, else as it is.
    Distance,
}

/// A machine's own part of reading and printing operands. A machine whose operands are registers,
/// names, numbers and targets needs none of it: see [`PlainOperands`].
pub trait Operands: Sync {
    /// Reads an operand of a custom kind and sets one value for each of its fields (`out` is as
    /// long as `slot.fields`).
    ///
    /// # Errors
    /// What was expected and where, from [`Cursor::expected`] or [`Cursor::fail`]; the cursor may
    /// be left anywhere.
    fn parse(
        &self,
        slot: OperandSlot<'_>,
        cursor: &mut Cursor<'_>,
        out: &mut [OperandValue],
    ) -> Result<(), Fail> {
        let _ = out;
        Err(cursor
            .fail("asm::operand-kind", format!("operand kind `{}` cannot be read", slot.kind)))
    }

    /// Prints an operand of a custom kind so that it reads back to the same values.
    fn print(
        &self,
        slot: OperandSlot<'_>,
        values: &[i64],
        at: &PrintContext<'_>,
        out: &mut String,
    ) {
        let _ = (slot, values, at, out);
    }

    /// Whether a word cannot be a symbol (registers that are not in the table's sets of names).
    fn is_reserved(&self, word: &str) -> bool {
        let _ = word;
        false
    }

    /// The machine's function `%name(argument)` in expressions, as an expression of its argument.
    fn function(&self, name: &str, argument: Expr) -> Option<Expr> {
        let _ = (name, argument);
        None
    }

    /// The statements that a pseudo-instruction stands for; `None` if it is none of this machine's.
    ///
    /// # Errors
    /// What is wrong with its operands.
    fn expand(&self, pseudo: &Pseudo<'_>) -> Option<Result<Vec<String>, String>> {
        let _ = pseudo;
        None
    }
}

/// No custom kinds.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlainOperands;

impl Operands for PlainOperands {}

/// A statement whose mnemonic is not in the table.
#[derive(Clone, Debug)]
pub struct Pseudo<'a> {
    /// The mnemonic as written.
    pub mnemonic: &'a str,
    /// The text between its commas, and the value where that is an expression whose value is known
    /// already.
    pub operands: Vec<(&'a str, Option<i128>)>,
    /// The address of the statement.
    pub address: u64,
}

/// A section of the dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section {
    /// With its dot, such as `.text`.
    pub name: &'static str,
    /// Where it starts.
    pub base: u64,
    /// Whether alignment fills it with [`Syntax::code_fill`].
    pub code: bool,
}

/// Conventions of a machine's text.
#[derive(Clone, Copy, Debug)]
pub struct Syntax {
    /// What starts a comment up to the end of the line.
    pub line_comments: &'static [&'static str],
    /// Whether a `#` between a letter and a digit is part of a name (`t#1`) rather than a comment
    /// sign.
    pub hash_in_names: bool,
    /// What ends a statement before the end of the line, if anything.
    pub separator: Option<char>,
    /// Whether upper and lower case are the same in mnemonics, names and literal words of
    /// templates.
    pub fold_case: bool,
    /// The sections; text starts in the first.
    pub sections: &'static [Section],
    /// What alignment fills code with, repeated; zeros where it does not fit.
    pub code_fill: &'static [u8],
    /// The machine's own directives, with their dots; they are handed on in [`Image::directives`].
    ///
    /// [`Image::directives`]: crate::asm::Image::directives
    pub directives: &'static [&'static str],
    /// Directives that the machine's texts write without a dot: the word, and the directive. A
    /// mnemonic of the table takes precedence.
    pub bare_directives: &'static [(&'static str, &'static str)],
    /// Bounds on what a text can ask for.
    pub limits: Limits,
}

impl Syntax {
    /// Comments `#` and `//`, statements separated by `;`, lower and upper case the same, code at
    /// 0, data at 64 KiB.
    pub const DEFAULT: Self = Self {
        line_comments: &["#", "//"],
        hash_in_names: false,
        separator: Some(';'),
        fold_case: true,
        sections: &[
            Section { name: ".text", base: 0, code: true },
            Section { name: ".data", base: 0x1_0000, code: false },
        ],
        code_fill: &[],
        directives: &[],
        bare_directives: &[],
        limits: Limits::DEFAULT,
    };
}

impl Default for Syntax {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Bounds on what a text can ask for; going beyond is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of text.
    pub source_bytes: usize,
    /// Bytes of the image, all segments together.
    pub image_bytes: u64,
    /// Parentheses inside one another.
    pub nesting: u32,
    /// Statements that one pseudo-instruction may stand for.
    pub expansion: usize,
}

impl Limits {
    /// 64 MiB of text, 64 MiB of image, 100 parentheses, 64 statements.
    pub const DEFAULT: Self =
        Self { source_bytes: 64 << 20, image_bytes: 64 << 20, nesting: 100, expansion: 64 };
}
