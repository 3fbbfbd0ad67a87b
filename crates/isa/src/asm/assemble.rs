//! The two passes.

use std::sync::Arc;

use super::cursor::{Cursor, Fail};
use super::expr::{EvalError, Expr, SymbolError, Value};
use super::image::{Image, Line, MachineDirective, SymbolEntry};
use super::layout::{Layout, Spot};
use super::split::Statements;
use super::symbols::{Place, Symbols};
use super::syntax::{Dialect, Relation};
use crate::diag::{Diagnostic, Diagnostics};
use crate::span::{FileId, Span};
use crate::suggest::nearest;
use crate::table::FormId;

/// Assembles a text. Spans of findings refer to `file`.
///
/// # Errors
/// Everything that is wrong with the text, and warnings, in the order of the text.
pub fn assemble(dialect: Dialect<'_>, file: FileId, text: &str) -> Result<Image, Diagnostics> {
    let mut assembler = Assembler::new(dialect, file);
    assembler.first_pass(text);
    assembler.second_pass();
    assembler.finish()
}

/// Findings that may come with a suggestion, which costs more than the finding.
const MOST_SUGGESTIONS: usize = 100;

/// What is wrong with a statement. Boxed, since it is large and rare.
pub(super) type Problem = Box<Diagnostic>;

impl From<Fail> for Problem {
    fn from(fail: Fail) -> Self {
        fail.into_diagnostic().into()
    }
}

/// The state of assembling one text.
pub(super) struct Assembler<'a> {
    pub(super) dialect: Dialect<'a>,
    pub(super) file: FileId,
    pub(super) symbols: Symbols,
    pub(super) layout: Layout<'a>,
    pub(super) directives: Vec<MachineDirective>,
    pub(super) diagnostics: Diagnostics,
    fixups: Vec<Fixup>,
    lines: Vec<Line>,
    /// Number of the statement that is read.
    pub(super) statement: u32,
    /// Whether the statement only said where to go on.
    pub(super) moved: bool,
}

/// Bytes that wait for the value of an expression.
pub(super) struct Fixup {
    pub(super) spot: Spot,
    pub(super) place: Place,
    pub(super) patch: Patch,
    pub(super) expr: Expr,
}

/// What the value of a fixup goes into.
#[derive(Clone, Copy)]
pub(super) enum Patch {
    /// A field of the instruction there.
    Field { form: FormId, field: usize, relation: Relation },
    /// So many bytes.
    Data(u8),
}

impl<'a> Assembler<'a> {
    fn new(dialect: Dialect<'a>, file: FileId) -> Self {
        Self {
            dialect,
            file,
            symbols: Symbols::default(),
            layout: Layout::new(dialect),
            directives: Vec::new(),
            diagnostics: Diagnostics::new(),
            fixups: Vec::new(),
            lines: Vec::new(),
            statement: 0,
            moved: false,
        }
    }

    /// Where the statement that is read stands.
    pub(super) fn place(&self) -> Place {
        Place { statement: self.statement, address: self.layout.address() }
    }

    fn first_pass(&mut self, text: &str) {
        let limit = self.dialect.syntax.limits.source_bytes.min(u32::MAX as usize);
        if text.len() > limit {
            let message = format!("a text of {} bytes; the limit is {limit}", text.len());
            self.diagnostics.push(Diagnostic::error("asm::too-large", message));
            return;
        }
        let mut statements = Statements::new(text, self.dialect.syntax);
        for range in statements.by_ref() {
            let base = range.start as u32;
            let mut cursor = Cursor::new(self.dialect, self.file, &text[range], base);
            if let Err(problem) = self.statement(&mut cursor) {
                self.diagnostics.push(*problem);
            }
            self.statement += 1;
        }
        if let Some(start) = statements.open_comment() {
            // The text is shorter than 4 GiB.
            let span = Span::new(self.file, start as u32, start as u32 + 2);
            let error = Diagnostic::error("asm::comment", "the comment does not end");
            self.diagnostics.push(error.at(span, "it starts here").help("end it with `*/`"));
        }
    }

    fn statement(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Problem> {
        self.labels(cursor)?;
        if cursor.at_end() {
            return Ok(());
        }
        let mark = cursor.mark();
        let address = self.layout.address();
        self.moved = false;
        let result = self.unlabelled(cursor);
        let length = self.layout.address().wrapping_sub(address);
        if result.is_ok() && !self.moved && length > 0 {
            cursor.back_to(usize::MAX);
            self.lines.push(Line { address, length, span: cursor.span_from(mark) });
        }
        result
    }

    /// Labels at the start of a statement.
    fn labels(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Problem> {
        loop {
            if let Some(number) = cursor.local_label() {
                self.symbols.local(number, self.place());
                continue;
            }
            let mark = cursor.mark();
            let word = cursor.word();
            let span = cursor.span_from(mark);
            match word {
                Some(name) if cursor.eat(":") => {
                    self.check_name(name, span)?;
                    self.symbols.label(name, span, self.place())?;
                }
                _ => {
                    cursor.back_to(mark);
                    return Ok(());
                }
            }
        }
    }

    /// A name that a symbol may have.
    pub(super) fn check_name(&self, name: &str, span: Span) -> Result<(), Problem> {
        if name == "." || self.dialect.is_reserved(name) {
            let message = format!("`{name}` cannot be a symbol: it has a meaning of its own");
            return Err(Diagnostic::error("asm::reserved-name", message).at(span, "").into());
        }
        Ok(())
    }

    /// A statement behind its labels; also one that a pseudo-instruction stands for.
    pub(super) fn unlabelled(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Problem> {
        let mark = cursor.mark();
        let word =
            cursor.word().ok_or_else(|| cursor.expected("a label, directive or mnemonic"))?;
        let span = cursor.span_from(mark);
        if cursor.rest().starts_with('=') && !cursor.rest().starts_with("==") {
            cursor.eat("=");
            self.check_name(word, span)?;
            return self.assign(word, span, cursor);
        }
        // A table may have forms whose mnemonic looks like a directive, such as `.insn`.
        let mnemonic = || !self.dialect.table.spellings(&word.to_ascii_lowercase()).is_empty();
        if word.starts_with('.') && !mnemonic() {
            return self.directive(word, span, cursor);
        }
        let bare = self.dialect.syntax.bare_directives.iter();
        let named = { bare }.find(|(bare, _)| bare.eq_ignore_ascii_case(word));
        if let Some((_, directive)) = named.filter(|_| !mnemonic()) {
            return self.directive(directive, span, cursor);
        }
        self.instruction(word, mark, cursor)
    }

    /// `NAME = EXPR` from the expression on.
    pub(super) fn assign(
        &mut self,
        name: &str,
        span: Span,
        cursor: &mut Cursor<'_>,
    ) -> Result<(), Problem> {
        let value = cursor.expr()?;
        cursor.expect_end()?;
        self.symbols.assign(name, span, self.place(), value)
    }

    /// The value of an expression, if it is known by now.
    pub(super) fn value_now(&self, expr: &Expr, place: Place) -> Result<Option<Value>, Problem> {
        match self.symbols.eval_now(expr, place) {
            Ok(value) => Ok(Some(value)),
            Err(EvalError::Symbol(SymbolError::NotYet(_), _)) => Ok(None),
            Err(error) => Err(self.diagnose(error).into()),
        }
    }

    /// The number that decides how much room a statement takes, or where it lies.
    pub(super) fn needed_now(&self, expr: &Expr) -> Result<i128, Problem> {
        match self.symbols.eval_now(expr, self.place()) {
            Ok(value) => Ok(value.number),
            Err(error) => Err(self.diagnose(error).into()),
        }
    }

    /// Fills in a value now if it is known, else in the second pass.
    pub(super) fn fill_in(&mut self, fixup: Fixup) -> Result<(), Problem> {
        match self.value_now(&fixup.expr, fixup.place)? {
            Some(value) => self.apply(&fixup, value),
            None => {
                self.fixups.push(fixup);
                Ok(())
            }
        }
    }

    fn apply(&mut self, fixup: &Fixup, value: Value) -> Result<(), Problem> {
        match fixup.patch {
            Patch::Data(bytes) => self.apply_data(fixup, bytes, value),
            Patch::Field { form, field, relation } => {
                let word = self.word_at(fixup.spot, form);
                let place = fixup.place;
                let span = fixup.expr.span();
                let word = self.insert(form, field, word, value, relation, place.address, span)?;
                self.write_word(fixup.spot, form, word);
                Ok(())
            }
        }
    }

    fn second_pass(&mut self) {
        let mut errors = Vec::new();
        self.symbols.resolve(&mut |error| errors.push(error));
        for error in errors {
            let finding = self.diagnose(error);
            self.diagnostics.push(finding);
        }
        for fixup in std::mem::take(&mut self.fixups) {
            let result = match self.symbols.eval(&fixup.expr, fixup.place) {
                Ok(value) => self.apply(&fixup, value),
                Err(EvalError::Symbol(SymbolError::Reported, _)) => Ok(()),
                Err(error) => Err(self.diagnose(error).into()),
            };
            if let Err(problem) = result {
                self.diagnostics.push(*problem);
            }
        }
    }

    fn finish(mut self) -> Result<Image, Diagnostics> {
        let segments = match self.layout.finish() {
            Ok(segments) => segments,
            Err(problem) => {
                self.diagnostics.push(*problem);
                Vec::new()
            }
        };
        for (name, span) in self.symbols.undefined_globals() {
            let message = format!("`{name}` is marked as global, but not defined");
            let warning = Diagnostic::warning("asm::undefined-global", message);
            self.diagnostics.push(warning.at(span, "marked here"));
        }
        self.diagnostics.sort_by_place();
        if self.diagnostics.has_errors() {
            return Err(self.diagnostics);
        }
        let symbol = |(name, value, global): (&Arc<str>, Value, bool)| SymbolEntry {
            name: name.to_string(),
            value: value.number as u64,
            address: value.address,
            global,
        };
        let symbols = self.symbols.values().map(symbol).collect();
        self.lines.sort_by_key(|line| line.address);
        let (lines, directives, warnings) = (self.lines, self.directives, self.diagnostics);
        Ok(Image { segments, symbols, lines, directives, warnings })
    }

    /// An evaluation error as a finding.
    pub(super) fn diagnose(&self, error: EvalError) -> Diagnostic {
        let finding = |code, message: String, span| Diagnostic::error(code, message).at(span, "");
        match error {
            EvalError::DivisionByZero(span) => {
                finding("asm::division-by-zero", "division by zero".to_owned(), span)
            }
            EvalError::Overflow(sign, span) => {
                let message = if sign.is_empty() {
                    "the value exceeds 64 bits".to_owned()
                } else {
                    format!("the result of `{sign}` exceeds 64 bits")
                };
                finding("asm::overflow", message, span).note("values go from -2^63 to 2^64-1")
            }
            EvalError::Shift(amount, span) => {
                finding("asm::shift", format!("a shift by {amount}; possible are 0 to 63"), span)
            }
            EvalError::Symbol(error, span) => self.diagnose_symbol(error, span),
        }
    }

    /// The known name nearest to a wrong one. A text with very many mistakes gets no more
    /// suggestions.
    pub(super) fn suggest<'n>(
        &self,
        wrong: &str,
        names: impl IntoIterator<Item = &'n str>,
    ) -> Option<&'n str> {
        if self.diagnostics.error_count() < MOST_SUGGESTIONS { nearest(wrong, names) } else { None }
    }

    fn diagnose_symbol(&self, error: SymbolError, span: Span) -> Diagnostic {
        let finding =
            |code, message: String, at: &str| Diagnostic::error(code, message).at(span, at);
        match error {
            SymbolError::Undefined(name) => {
                let code = "asm::undefined-symbol";
                let error = finding(code, format!("`{name}` is not defined"), "used here");
                match self.suggest(&name, self.symbols.names()) {
                    Some(near) => error.help(format!("`{near}` is defined")),
                    None => error,
                }
            }
            SymbolError::NoLocal(number, forward) => {
                let (sign, side) = if forward { ('f', "after") } else { ('b', "before") };
                let message =
                    format!("`{number}{sign}`: there is no label `{number}:` {side} this");
                finding("asm::undefined-symbol", message, "used here")
            }
            SymbolError::NotYet(name) => {
                let message = format!("`{name}` must be known here, but is not yet");
                finding("asm::not-yet-known", message, "used here")
                    .note("this value decides where the following statements lie")
                    .help("define it above")
            }
            SymbolError::Ambiguous(name) => {
                let message = format!("`{name}` has several values, all given after this");
                finding("asm::ambiguous-symbol", message, "used here")
            }
            SymbolError::Cycle(names) => {
                let shown: Vec<String> = match names.as_slice() {
                    [first, .., last] if names.len() > 8 => {
                        vec![format!("{first} -> ... -> {last}")]
                    }
                    _ => names.iter().map(ToString::to_string).collect(),
                };
                let first = names.first().map_or("", |n| n);
                let path = shown.join(" -> ");
                finding("asm::cycle", format!("the value of `{first}` needs itself"), "used here")
                    .note(format!("{path} -> {first}"))
            }
            SymbolError::Reported => finding("asm::undefined-symbol", "no value".to_owned(), ""),
        }
    }
}
