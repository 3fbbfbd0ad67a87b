//! Reads tokens of one statement. Machines' operand kinds are read through it as well.

use super::expr::Expr;
use super::syntax::Dialect;
use crate::diag::Diagnostic;
use crate::span::{FileId, Span};

/// A place in the text of a statement.
#[derive(Clone)]
pub struct Cursor<'a> {
    /// The statement.
    text: &'a str,
    at: usize,
    file: FileId,
    /// Where the statement starts in the file.
    base: u32,
    /// The one span of all tokens, if the text is not from the file but from a pseudo-instruction
    /// there.
    fixed: Option<Span>,
    dialect: Dialect<'a>,
}

/// What was not as expected, and where. Of several ways to read a statement, the failure furthest
/// on is the one told.
#[derive(Clone, Debug)]
pub struct Fail {
    at: usize,
    span: Span,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    Expected(Vec<String>),
    Other { code: &'static str, message: String },
}

impl Fail {
    /// The failure that is further on; if both are at one place and name what was expected, both
    /// together.
    #[must_use]
    pub fn further(self, other: Self) -> Self {
        if self.at != other.at {
            return if self.at > other.at { self } else { other };
        }
        match (self.what, other.what) {
            (What::Expected(mut a), What::Expected(b)) => {
                for expected in b {
                    if !a.contains(&expected) {
                        a.push(expected);
                    }
                }
                Self { what: What::Expected(a), ..other }
            }
            (What::Expected(_), what) | (what, _) => Self { what, ..other },
        }
    }

    /// As a finding.
    #[must_use]
    pub fn into_diagnostic(self) -> Diagnostic {
        match self.what {
            What::Expected(list) => {
                let list = match list.as_slice() {
                    [init @ .., last] if !init.is_empty() => {
                        format!("{} or {last}", init.join(", "))
                    }
                    _ => list.concat(),
                };
                let ends = self.span.start == self.span.end;
                Diagnostic::error("asm::syntax", format!("expected {list}"))
                    .at(self.span, if ends { "the statement ends here" } else { "not understood" })
            }
            What::Other { code, message } => Diagnostic::error(code, message).at(self.span, ""),
        }
    }
}

/// May start an identifier.
fn is_word_start(c: char) -> bool {
    c.is_ascii_alphabetic() || matches!(c, '_' | '.' | '$')
}

/// May go on in an identifier.
fn is_word(c: char) -> bool {
    is_word_start(c) || c.is_ascii_digit()
}

impl<'a> Cursor<'a> {
    pub(super) fn new(dialect: Dialect<'a>, file: FileId, text: &'a str, base: u32) -> Self {
        Self { text, at: 0, file, base, fixed: None, dialect }
    }

    /// A cursor in text that a pseudo-instruction at `span` stands for.
    pub(super) fn fixed(dialect: Dialect<'a>, text: &'a str, span: Span) -> Self {
        Self { text, at: 0, file: span.file, base: span.start, fixed: Some(span), dialect }
    }

    /// The dialect that is read.
    #[must_use]
    pub fn dialect(&self) -> Dialect<'a> {
        self.dialect
    }

    /// The text that is left, blanks and comments before it skipped.
    pub fn rest(&mut self) -> &'a str {
        loop {
            let rest = &self.text[self.at..];
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            let Some(comment) = trimmed.strip_prefix("/*") else { return trimmed };
            self.at += 2 + comment.find("*/").map_or(comment.len(), |i| i + 2);
        }
    }

    /// Whether nothing is left.
    pub fn at_end(&mut self) -> bool {
        self.rest().is_empty()
    }

    /// The next character.
    pub fn peek(&mut self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Where the next token starts, for [`Self::span_from`] and to go back by [`Self::back_to`].
    pub fn mark(&mut self) -> usize {
        self.rest();
        self.at
    }

    /// Goes back to a mark.
    pub fn back_to(&mut self, mark: usize) {
        self.at = mark.min(self.text.len());
    }

    /// The span from a mark to the end of the last token.
    #[must_use]
    pub fn span_from(&self, mark: usize) -> Span {
        let read = self.text[mark.min(self.at)..self.at].trim_end().len();
        self.span(mark, mark.min(self.at) + read)
    }

    fn span(&self, start: usize, end: usize) -> Span {
        // Statements lie in a text of less than 4 GiB: the offsets fit.
        let at = |offset: usize| self.base.saturating_add(offset as u32);
        self.fixed.unwrap_or_else(|| Span::new(self.file, at(start), at(end.max(start))))
    }

    /// The span of the next token, or of the end.
    pub fn next_span(&mut self) -> Span {
        let start = self.mark();
        let rest = self.rest();
        let word = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let length = if word > 0 { word } else { rest.chars().next().map_or(0, char::len_utf8) };
        self.span(start, start + length)
    }

    /// The failure "expected ..." at the next token.
    pub fn expected(&mut self, what: impl Into<String>) -> Fail {
        let span = self.next_span();
        Fail { at: self.at, span, what: What::Expected(vec![what.into()]) }
    }

    /// Another failure, at the next token.
    pub fn fail(&mut self, code: &'static str, message: impl Into<String>) -> Fail {
        let span = self.next_span();
        Fail { at: self.at, span, what: What::Other { code, message: message.into() } }
    }

    /// Another failure, of what was read from a mark on.
    pub fn fail_from(&self, mark: usize, code: &'static str, message: impl Into<String>) -> Fail {
        let what = What::Other { code, message: message.into() };
        Fail { at: self.at, span: self.span_from(mark), what }
    }

    /// Takes `token` if it comes next. A token that ends like a word must end there; letters
    /// compare by the dialect's rule on case.
    pub fn eat(&mut self, token: &str) -> bool {
        let wordy = |c: char| is_word(c) && c != '.';
        let rest = self.rest();
        let ends_inside = token.ends_with(wordy)
            && rest.get(token.len()..).is_some_and(|after| after.starts_with(wordy));
        !ends_inside && self.eat_prefix(token)
    }

    /// Takes `token` if it comes next, whatever follows it.
    pub fn eat_prefix(&mut self, token: &str) -> bool {
        let rest = self.rest();
        let Some(start) = rest.get(..token.len()) else { return false };
        let same = if self.dialect.syntax.fold_case {
            start.eq_ignore_ascii_case(token)
        } else {
            start == token
        };
        self.at += if same { token.len() } else { 0 };
        same
    }

    /// Takes `token`.
    ///
    /// # Errors
    /// If something else comes next.
    pub fn expect(&mut self, token: &str) -> Result<(), Fail> {
        if self.eat(token) { Ok(()) } else { Err(self.expected(format!("`{token}`"))) }
    }

    /// Nothing may be left.
    ///
    /// # Errors
    /// If something is.
    pub fn expect_end(&mut self) -> Result<(), Fail> {
        if self.at_end() { Ok(()) } else { Err(self.expected("the end of the statement")) }
    }

    /// Takes an identifier: letters, digits, `_`, `.`, `$`, not starting with a digit.
    pub fn word(&mut self) -> Option<&'a str> {
        let rest = self.rest();
        if !rest.starts_with(is_word_start) {
            return None;
        }
        let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        self.at += end;
        Some(&rest[..end])
    }

    /// Takes as many characters as `accept` says yes to, if any.
    pub fn take_while(&mut self, accept: impl Fn(char) -> bool) -> Option<&'a str> {
        let rest = self.rest();
        let end = rest.find(|c| !accept(c)).unwrap_or(rest.len());
        self.at += end;
        (end > 0).then(|| &rest[..end])
    }

    /// Takes a decimal label number followed by a colon.
    pub(super) fn local_label(&mut self) -> Option<u64> {
        let mark = self.mark();
        let number = self.take_while(|c| c.is_ascii_digit()).and_then(|n| n.parse().ok());
        if number.is_some() && self.eat(":") {
            return number;
        }
        self.back_to(mark);
        None
    }

    /// Takes a reference to a local label: `1b` or `1f`, and whether it is forward.
    pub(super) fn local_reference(&mut self) -> Option<(u64, bool)> {
        let mark = self.mark();
        let number = self.take_while(|c| c.is_ascii_digit()).and_then(|n| n.parse().ok());
        let mut rest = self.text[self.at..].chars();
        let (direction, after) = (rest.next(), rest.next());
        if let (Some(number), Some('b' | 'f')) = (number, direction)
            && !after.is_some_and(is_word)
        {
            self.at += 1;
            return Some((number, direction == Some('f')));
        }
        self.back_to(mark);
        None
    }

    /// Takes an integer: decimal, `0x`, `0o` or `0b`, with `_` between digits, or a character in
    /// quotes.
    ///
    /// # Errors
    /// If it does not fit 64 bits, has no digits, or the character is none.
    pub fn integer(&mut self) -> Result<Option<u64>, Fail> {
        let mark = self.mark();
        if self.peek() == Some('\'') {
            return self.character().map(Some);
        }
        let Some(text) = self.rest().chars().next().filter(char::is_ascii_digit) else {
            return Ok(None);
        };
        let token = self.take_while(is_word).unwrap_or_default().to_ascii_lowercase();
        let (digits, radix) = match token.get(..2) {
            Some("0x") => (&token[2..], 16),
            Some("0o") => (&token[2..], 8),
            Some("0b") => (&token[2..], 2),
            _ => (token.as_str(), 10),
        };
        debug_assert!(token.starts_with(text));
        let digits: String = digits.chars().filter(|&c| c != '_').collect();
        if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
            return Err(self.fail_from(mark, "asm::number", format!("`{token}` is not a number")));
        }
        let value = u64::from_str_radix(&digits, radix);
        let too_big = |_| self.fail_from(mark, "asm::number", format!("{token} exceeds 64 bits"));
        value.map(Some).map_err(too_big)
    }

    /// Takes an IEEE number in decimal, `inf` or `nan`.
    ///
    /// # Errors
    /// If something else comes next.
    pub fn float(&mut self) -> Result<f64, Fail> {
        let mark = self.mark();
        let end = |c: char| c == ',' || c.is_whitespace();
        let token = self.take_while(|c| !end(c)).unwrap_or_default();
        token.parse().map_err(|_| {
            self.back_to(mark);
            self.expected("a decimal number")
        })
    }

    fn character(&mut self) -> Result<u64, Fail> {
        let mark = self.mark();
        self.at += 1;
        let bytes = self.quoted_char('\'', mark)?;
        if bytes.is_empty() || !self.text[self.at..].starts_with('\'') {
            return Err(self.fail_from(
                mark,
                "asm::number",
                "a character in quotes is one character",
            ));
        }
        self.at += 1;
        let mut value = 0u64;
        // A character beyond ASCII has the value of its code point, an escaped byte that of the
        // byte.
        match std::str::from_utf8(&bytes) {
            Ok(text) => text.chars().for_each(|c| value = u64::from(u32::from(c))),
            Err(_) => bytes.iter().for_each(|&b| value = u64::from(b)),
        }
        Ok(value)
    }

    /// One character or escape of a text quoted from `open` on, as bytes; empty at the closing
    /// quote.
    fn quoted_char(&mut self, quote: char, open: usize) -> Result<Vec<u8>, Fail> {
        let mark = self.at;
        let mut rest = self.text[self.at..].chars();
        let unfinished =
            |s: &Self| s.fail_from(open, "asm::string", "the closing quote is missing");
        let c = rest.next().ok_or_else(|| unfinished(self))?;
        if c == quote {
            return Ok(Vec::new());
        }
        self.at += c.len_utf8();
        if c != '\\' {
            return Ok(c.to_string().into_bytes());
        }
        let escape = rest.next().ok_or_else(|| unfinished(self))?;
        self.at += escape.len_utf8();
        let byte = match escape {
            'n' => b'\n',
            't' => b'\t',
            'r' => b'\r',
            '0' => 0,
            '\\' | '\'' | '"' => escape as u8,
            'x' => {
                let hex = self.text.get(self.at..self.at + 2);
                let hex = hex.filter(|h| h.bytes().all(|b| b.is_ascii_hexdigit()));
                let byte = hex.and_then(|h| u8::from_str_radix(h, 16).ok());
                self.at += if byte.is_some() { 2 } else { 0 };
                byte.ok_or_else(|| {
                    self.fail_from(mark, "asm::string", "`\\x` needs two hexadecimal digits")
                })?
            }
            _ => {
                let message = format!(
                    "`\\{escape}` is not an escape; there are \\n \\t \\r \\0 \\\\ \\\" \\' \\xHH"
                );
                return Err(self.fail_from(mark, "asm::string", message));
            }
        };
        Ok(vec![byte])
    }

    /// Takes a string in double quotes.
    ///
    /// # Errors
    /// If something else comes next, or it does not end.
    pub fn string(&mut self) -> Result<Vec<u8>, Fail> {
        let open = self.mark();
        self.expect("\"").map_err(|_| self.expected("a string in quotes"))?;
        let mut out = Vec::new();
        loop {
            let bytes = self.quoted_char('"', open)?;
            if bytes.is_empty() {
                self.at += 1;
                return Ok(out);
            }
            out.extend(bytes);
        }
    }

    /// Takes an expression.
    ///
    /// # Errors
    /// If there is none, or it is wrong.
    pub fn expr(&mut self) -> Result<Expr, Fail> {
        super::expr::parse(self)
    }
}
