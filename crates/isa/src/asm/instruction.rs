//! Instructions: which form a statement is, by the templates of the table.

use super::assemble::{Assembler, Fixup, Patch, Problem};
use super::cursor::{Cursor, Fail};
use super::expr::Value;
use super::layout::Spot;
use super::syntax::{OperandSlot, OperandValue, Pseudo, Relation};
use crate::diag::Diagnostic;
use crate::span::Span;
use crate::table::{Form, FormId, Kind, Names, Part, Spelling};

/// A form with the values that its text gives: one slot for each field.
struct Match {
    form: FormId,
    fields: Vec<Option<(OperandValue, Span)>>,
}

/// An instruction whose known fields are filled in.
struct Built {
    form: FormId,
    word: u64,
    later: Vec<(usize, super::expr::Expr, Relation)>,
}

/// Pseudo-instructions inside one another.
const MOST_EXPANSIONS: u32 = 8;

impl Assembler<'_> {
    /// A statement that starts with a mnemonic at `mark`.
    pub(super) fn instruction(
        &mut self,
        word: &str,
        mark: usize,
        cursor: &mut Cursor<'_>,
    ) -> Result<(), Problem> {
        self.instruction_at(word, mark, cursor, 0)
    }

    fn instruction_at(
        &mut self,
        word: &str,
        mark: usize,
        cursor: &mut Cursor<'_>,
        depth: u32,
    ) -> Result<(), Problem> {
        let behind_word = mark + word.len();
        let failure = match self.by_table(word, mark, cursor) {
            Ok(built) => return self.put(&built, cursor.span_from(mark)),
            Err(failure) => failure,
        };
        cursor.back_to(behind_word);
        if let Some(result) = self.expand(word, mark, cursor, depth) {
            return result;
        }
        Err(failure.unwrap_or_else(|| {
            cursor.back_to(behind_word);
            self.unknown_mnemonic(word, cursor.span_from(mark))
        }))
    }

    /// The first form that fits. `Err(None)`: no form has this mnemonic.
    fn by_table(
        &mut self,
        word: &str,
        mark: usize,
        cursor: &mut Cursor<'_>,
    ) -> Result<Built, Option<Problem>> {
        let table = self.dialect.table;
        let lower = word.to_ascii_lowercase();
        let mut furthest: Option<Fail> = None;
        let mut misfit: Option<Problem> = None;
        // A suffix that the template reads begins with a dot: try the whole word, then up to each
        // dot from the end.
        let dots = lower.match_indices('.').map(|(i, _)| i).rev();
        for end in std::iter::once(lower.len()).chain(dots) {
            for &spelling in table.spellings(&lower[..end]) {
                let written = &table.template(spelling).mnemonic;
                if !self.dialect.syntax.fold_case && *written != word[..end] {
                    continue;
                }
                cursor.back_to(mark + end);
                match match_spelling(spelling, cursor) {
                    Ok(found) => match self.build(found) {
                        Ok(built) => return Ok(built),
                        Err(problem) => misfit = misfit.or(Some(problem)),
                    },
                    Err(fail) => {
                        furthest = Some(match furthest.take() {
                            Some(other) => other.further(fail),
                            None => fail,
                        });
                    }
                }
            }
        }
        Err(misfit.or_else(|| furthest.map(Into::into)))
    }

    fn unknown_mnemonic(&self, word: &str, span: Span) -> Problem {
        let isa = self.dialect.table.name();
        let message = format!("{isa} has no instruction `{word}`");
        let error = Diagnostic::error("asm::unknown-mnemonic", message).at(span, "");
        match self.suggest(word, self.dialect.table.mnemonics()) {
            Some(near) => error.help(format!("there is `{near}`")).into(),
            None => error.into(),
        }
    }

    /// Fills in what is known by now.
    fn build(&self, found: Match) -> Result<Built, Problem> {
        let form = self.dialect.table.form(found.form);
        let place = self.place();
        let mut word = form.default_word();
        let mut later = Vec::new();
        for (field, value) in found.fields.into_iter().enumerate() {
            let Some((value, span)) = value else { continue };
            let (value, relation, span) = match value {
                OperandValue::Now(value) => {
                    let number = i128::from(value);
                    (Value { number, address: false }, Relation::Absolute, span)
                }
                OperandValue::Later(expr, relation) => match self.value_now(&expr, place)? {
                    Some(value) => (value, relation, expr.span()),
                    None => {
                        later.push((field, expr, relation));
                        continue;
                    }
                },
            };
            word = self.insert(found.form, field, word, value, relation, place.address, span)?;
        }
        Ok(Built { form: found.form, word, later })
    }

    /// The word with a field set to a value; the error says what fits.
    #[allow(clippy::too_many_arguments, reason = "the parts of one fixup, in use at two places")]
    pub(super) fn insert(
        &self,
        form: FormId,
        field: usize,
        word: u64,
        value: Value,
        relation: Relation,
        address: u64,
        span: Span,
    ) -> Result<u64, Problem> {
        let form = self.dialect.table.form(form);
        let field = &form.fields[field];
        let relative = match relation {
            Relation::Absolute => false,
            Relation::Target => true,
            Relation::Distance => value.address,
        };
        // Addresses wrap around, as the machine's do.
        let number = if relative {
            i128::from((value.number as u64).wrapping_sub(address) as i64)
        } else {
            value.number
        };
        let fits = i64::try_from(number).map(|number| field.insert(word, number));
        let message = match fits {
            Ok(Ok(word)) => return Ok(word),
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("{number} does not fit `{}`", field.name),
        };
        let mut error = Diagnostic::error("asm::out-of-range", message)
            .at(span, if relative { "this is too far, or between instructions" } else { "" });
        if relative {
            let target = value.number as u64;
            error = error.note(format!("{target:#x} is {number} bytes from here, {address:#x}"));
        }
        Err(error.note(format!("syntax: {}", form.syntax.text)).into())
    }

    /// Gives a built instruction its place.
    fn put(&mut self, built: &Built, span: Span) -> Result<(), Problem> {
        let table = self.dialect.table;
        let unit = u64::from(table.unit_bits() / 8);
        let address = self.layout.address();
        if !address.is_multiple_of(unit) {
            let message = format!("an instruction at {address:#x}, not a multiple of {unit}");
            return Err(Diagnostic::error("asm::misaligned", message)
                .at(span, "")
                .help(format!("put `.balign {unit}` before it"))
                .into());
        }
        let form = table.form(built.form);
        let place = self.place();
        let spot = self.layout.reserve(form.bytes() as u64, span)?;
        self.write_word(spot, built.form, built.word);
        for (field, expr, relation) in &built.later {
            let patch = Patch::Field { form: built.form, field: *field, relation: *relation };
            self.fill_in(Fixup { spot, place, patch, expr: expr.clone() })?;
        }
        Ok(())
    }

    pub(super) fn word_at(&mut self, spot: Spot, form: FormId) -> u64 {
        let bytes = self.dialect.table.form(form).bytes();
        crate::table::decode::window(&self.layout.at(spot)[..bytes]).0
    }

    pub(super) fn write_word(&mut self, spot: Spot, form: FormId, word: u64) {
        let bytes = self.dialect.table.form(form).bytes();
        self.layout.at(spot)[..bytes].copy_from_slice(&word.to_le_bytes()[..bytes]);
    }

    /// The statements that a pseudo-instruction stands for; `None` if it is none.
    fn expand(
        &mut self,
        word: &str,
        mark: usize,
        cursor: &mut Cursor<'_>,
        depth: u32,
    ) -> Option<Result<(), Problem>> {
        let place = self.place();
        let text = cursor.rest();
        let operands = split_operands(text).into_iter().map(|(offset, operand)| {
            let mut inner = cursor.clone();
            let start = inner.mark() + offset;
            inner.back_to(start);
            let value = inner.expr().ok().and_then(|e| self.symbols.eval_now(&e, place).ok());
            (operand.trim(), value.map(|v| v.number))
        });
        let pseudo =
            Pseudo { mnemonic: word, operands: operands.collect(), address: place.address };
        let lines = self.dialect.operands.expand(&pseudo)?;
        cursor.back_to(usize::MAX);
        let span = cursor.span_from(mark);
        let limit = self.dialect.syntax.limits.expansion;
        let message = match &lines {
            Err(message) => message.clone(),
            Ok(lines) if lines.len() > limit || depth >= MOST_EXPANSIONS => {
                format!("`{word}` stands for too many instructions")
            }
            Ok(lines) => {
                let mut each = lines.iter();
                return Some(each.try_for_each(|line| self.expanded(line, span, depth)));
            }
        };
        Some(Err(Diagnostic::error("asm::pseudo", message).at(span, "").into()))
    }

    fn expanded(&mut self, line: &str, span: Span, depth: u32) -> Result<(), Problem> {
        let mut cursor = Cursor::fixed(self.dialect, line, span);
        let mark = cursor.mark();
        let result = match cursor.word() {
            Some(word) => self.instruction_at(word, mark, &mut cursor, depth + 1),
            None => Err(cursor.expected("a mnemonic").into()),
        };
        result.map_err(|p| Problem::new(p.note(format!("this stands for: {line}"))))
    }
}

/// The text between top-level commas with its offset; nothing if there is no text.
fn split_operands(text: &str) -> Vec<(usize, &str)> {
    let (mut depth, mut quote, mut start) = (0u32, None, 0);
    let mut out = Vec::new();
    for (i, c) in text.char_indices() {
        match (quote, c) {
            (Some(q), _) if q == c => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '(' | '[' | '{') => depth = depth.saturating_add(1),
            (None, ')' | ']' | '}') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 0 => {
                out.push((start, &text[start..i]));
                start = i + 1;
            }
            _ => {}
        }
    }
    if !text.trim().is_empty() {
        out.push((start, &text[start..]));
    }
    out
}

/// Reads what follows the mnemonic of a spelling, to the end of the statement.
fn match_spelling(spelling: Spelling, cursor: &mut Cursor<'_>) -> Result<Match, Fail> {
    let table = cursor.dialect().table;
    let form = table.form(spelling.form);
    let mut matcher =
        Matcher { form, fields: vec![None; form.fields.len()], cursor, furthest: None };
    if let Some(alias) = spelling.alias.and_then(|i| form.aliases.get(i)) {
        let span = matcher.cursor.next_span();
        for &(field, value) in &alias.fixed {
            matcher.fields[field] = Some((OperandValue::Now(value), span));
        }
    }
    let parts = &table.template(spelling).parts;
    let result = matcher.parts(parts).and_then(|()| matcher.cursor.expect_end());
    match result {
        Ok(()) => Ok(Match { form: spelling.form, fields: matcher.fields }),
        Err(fail) => Err(match matcher.furthest {
            Some(other) => other.further(fail),
            None => fail,
        }),
    }
}

struct Matcher<'m, 'a> {
    form: &'a Form,
    fields: Vec<Option<(OperandValue, Span)>>,
    cursor: &'m mut Cursor<'a>,
    /// Why the optional part that came furthest was taken as absent.
    furthest: Option<Fail>,
}

impl<'a> Matcher<'_, 'a> {
    fn parts(&mut self, parts: &'a [Part]) -> Result<(), Fail> {
        for (i, part) in parts.iter().enumerate() {
            match part {
                Part::Literal(text) => {
                    // `x{n}` is a word of both: the operand may start right behind the letter.
                    let open = !text.ends_with(char::is_whitespace) && i + 1 < parts.len();
                    self.literal(text, open)?;
                }
                Part::Operand { fields, kind } => {
                    let kind = self.cursor.dialect().table.kind(*kind);
                    self.operand(&kind.name, &kind.kind, fields)?;
                }
                Part::Optional(inner) => {
                    let mark = self.cursor.mark();
                    // The table bounds how deep optional parts lie inside one another.
                    if let Err(fail) = self.parts(inner) {
                        self.furthest = Some(match self.furthest.take() {
                            Some(other) => other.further(fail),
                            None => fail,
                        });
                        self.cursor.back_to(mark);
                        crate::table::for_each_field(inner, &mut |i| self.fields[i] = None);
                    }
                }
            }
        }
        Ok(())
    }

    /// The tokens of a literal; with `open`, something may directly follow the last one.
    fn literal(&mut self, text: &str, open: bool) -> Result<(), Fail> {
        let mut tokens = literal_tokens(text).peekable();
        while let Some(token) = tokens.next() {
            let last = tokens.peek().is_none();
            if !(open && last && self.cursor.eat_prefix(token)) {
                self.cursor.expect(token)?;
            }
        }
        Ok(())
    }

    fn operand(&mut self, name: &'a str, kind: &Kind, fields: &'a [usize]) -> Result<(), Fail> {
        let mark = self.cursor.mark();
        let later = |m: &mut Self, relation| Ok(OperandValue::Later(m.cursor.expr()?, relation));
        let value = match kind {
            Kind::Int | Kind::Hex => later(self, Relation::Absolute)?,
            Kind::Target => later(self, Relation::Target)?,
            Kind::Distance => later(self, Relation::Distance)?,
            Kind::Names(names) => OperandValue::Now(self.name(names)?),
            Kind::Custom => return self.custom(name, fields, mark),
        };
        let span = self.cursor.span_from(mark);
        for &field in fields {
            self.fields[field] = Some((value.clone(), span));
        }
        Ok(())
    }

    fn name(&mut self, names: &Names) -> Result<i64, Fail> {
        let fold = self.cursor.dialect().syntax.fold_case;
        match names.prefix(self.cursor.rest(), fold) {
            Some((length, value)) => {
                let mark = self.cursor.mark();
                self.cursor.back_to(mark + length);
                Ok(value)
            }
            None => Err(self.cursor.expected(names.describe())),
        }
    }

    fn custom(&mut self, kind: &'a str, fields: &'a [usize], mark: usize) -> Result<(), Fail> {
        let default = |&i: &usize| OperandValue::Now(self.form.fields[i].default_value());
        let mut out: Vec<OperandValue> = fields.iter().map(default).collect();
        let slot = OperandSlot { kind, form: self.form, fields };
        self.cursor.dialect().operands.parse(slot, self.cursor, &mut out)?;
        let span = self.cursor.span_from(mark);
        for (&field, value) in fields.iter().zip(out) {
            self.fields[field] = Some((value, span));
        }
        Ok(())
    }
}

/// Signs of more than one character in templates.
const LONG_SIGNS: [&str; 3] = ["->", "<<", ">>"];

/// The tokens of a literal: words and signs, between which text may have blanks.
fn literal_tokens(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        let first = rest.chars().next()?;
        let wordy = |c: char| c.is_alphanumeric() || c == '_';
        let long = LONG_SIGNS.iter().find(|sign| rest.starts_with(*sign));
        let length = match long {
            Some(sign) => sign.len(),
            None if wordy(first) => rest.find(|c| !wordy(c)).unwrap_or(rest.len()),
            None => first.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        rest = after;
        Some(token)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_words_and_signs() {
        let tokens: Vec<&str> = literal_tokens(" [a0],->t .local<<").collect();
        assert_eq!(tokens, ["[", "a0", "]", ",", "->", "t", ".", "local", "<<"]);
    }

    #[test]
    fn operands_split_at_outer_commas() {
        let split = |text| -> Vec<&str> { split_operands(text).into_iter().map(|o| o.1).collect() };
        assert_eq!(split("a, f(b, c), ','"), ["a", " f(b, c)", " ','"]);
        assert_eq!(split("  "), [""; 0]);
        assert_eq!(split("))),"), [")))", ""]);
    }
}
