//! The parser of argument specifications.
//!
//! It reads the text once from left to right, and every error refers to the bytes that cause it. If
//! the specification is a string in a launch file, these are bytes of that file, unless the string
//! contains escapes: then errors refer to the whole string.

use std::path::PathBuf;

use isa::suggest::nearest;
use isa::{Diagnostic, Span};

use super::{ArgSpec, ArgValue, BufferRef, BufferSpec, Contents};
use crate::array::byte_size;
use crate::elem::{self, ElemType, LiteralError, Scalar, shortened};

pub(super) type Result<T> = std::result::Result<T, Diagnostic>;

/// Most dimensions of a buffer.
const MAX_DIMS: usize = 32;

/// Parses an argument, `[name=]value`; `span` is the place of the text.
///
/// # Errors
/// Returns a diagnostic with the place, the reason and a remedy.
pub fn parse_argument(text: &str, span: Span) -> Result<ArgSpec> {
    let mut parser = Parser { text, at: 0, span };
    let name = parser.name_before_equals()?;
    let value = parser.value()?;
    parser.end()?;
    Ok(ArgSpec { name, value, span })
}

/// Parses a buffer, `type[extents][:contents]` or `@file`; `span` is the place of the text.
///
/// # Errors
/// Returns diagnostics like [`parse_argument`].
pub fn parse_buffer(text: &str, span: Span) -> Result<BufferSpec> {
    let mut parser = Parser { text, at: 0, span };
    let start = parser.at;
    match parser.value()? {
        ArgValue::Buffer(buffer) => {
            parser.end()?;
            Ok(buffer)
        }
        _ => Err(parser
            .error("arg::buffer", start..text.len(), "this makes no buffer", "")
            .help("write type[extents]:contents, for instance f32[1024]:zeros, or @file.npy")),
    }
}

pub(super) struct Parser<'a> {
    text: &'a str,
    pub(super) at: usize,
    span: Span,
}

impl<'a> Parser<'a> {
    pub(super) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    pub(super) fn text_of(&self, range: std::ops::Range<usize>) -> &'a str {
        self.text.get(range).unwrap_or("")
    }

    /// Returns the span of a part of the text.
    pub(super) fn place(&self, range: std::ops::Range<usize>) -> Span {
        let exact = (self.span.end - self.span.start) as usize == self.text.len();
        if !exact {
            return self.span;
        }
        let start = self.span.start;
        Span::new(self.span.file, start + range.start as u32, start + range.end as u32)
    }

    pub(super) fn error(
        &self,
        code: &'static str,
        range: std::ops::Range<usize>,
        message: impl Into<String>,
        label: impl Into<String>,
    ) -> Diagnostic {
        Diagnostic::error(code, message).at(self.place(range), label)
    }

    /// Returns an error at the next character, or at the end of the text.
    pub(super) fn unexpected(&self, message: impl Into<String>, expected: &str) -> Diagnostic {
        let width = self.rest().chars().next().map_or(0, char::len_utf8);
        self.error("arg::syntax", self.at..self.at + width, message, format!("expected {expected}"))
    }

    pub(super) fn skip_space(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    pub(super) fn consume(&mut self, wanted: char) -> bool {
        self.skip_space();
        let found = self.rest().starts_with(wanted);
        if found {
            self.at += wanted.len_utf8();
        }
        found
    }

    pub(super) fn expect(&mut self, wanted: char, message: &str) -> Result<()> {
        if self.consume(wanted) {
            Ok(())
        } else {
            Err(self.unexpected(message, &format!("`{wanted}`")))
        }
    }

    fn end(&mut self) -> Result<()> {
        self.skip_space();
        if self.rest().is_empty() {
            return Ok(());
        }
        let range = self.at..self.text.len();
        Err(self
            .error("arg::syntax", range, "there is more after the argument", "not expected")
            .help("quote the argument if the shell took it apart"))
    }

    /// Takes the longest sequence of characters that may occur in names.
    pub(super) fn word(&mut self) -> (&'a str, std::ops::Range<usize>) {
        self.skip_space();
        let in_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '.' | '%' | '-');
        let length = self.rest().find(|c| !in_word(c)).unwrap_or(self.rest().len());
        let range = self.at..self.at + length;
        self.at = range.end;
        (&self.text[range.clone()], range)
    }

    /// Parses `name=` at the start. The `=` must precede all other punctuation, because options in
    /// parentheses contain it too.
    fn name_before_equals(&mut self) -> Result<Option<String>> {
        let Some(sign) = self.text.find(['=', ':', '[', '(', '@', '&']) else { return Ok(None) };
        if !self.text[sign..].starts_with('=') {
            return Ok(None);
        }
        let (name, range) = self.word();
        let whole = self.text[..sign].trim();
        if name.is_empty() || name != whole {
            let range = if whole.is_empty() { 0..1 } else { 0..sign };
            return Err(self
                .error("arg::name", range, "this is not a parameter's name", "")
                .help("write name=value, or the value alone"));
        }
        self.at = range.end;
        self.expect('=', "the name is not followed by its value")?;
        Ok(Some(name.to_owned()))
    }

    fn value(&mut self) -> Result<ArgValue> {
        self.skip_space();
        let start = self.at;
        if self.consume('&') {
            return self.reference();
        }
        if self.consume('@') {
            let contents = self.file()?;
            let span = self.place(start..self.text.len());
            return Ok(ArgValue::Buffer(BufferSpec { ty: None, shape: None, contents, span }));
        }
        let (word, range) = self.word();
        if word == "bytes" && self.rest().starts_with('[') {
            return self.bytes();
        }
        let ty = self.element_type(word, range)?;
        if self.consume('[') {
            return self.buffer(ty, start);
        }
        self.expect(':', "a type is not yet a value").map_err(|e| {
            e.help(format!("write {ty}:0 for a scalar or {ty}[16]:zeros for a buffer"))
        })?;
        let range = self.at..self.text.len();
        self.at = range.end;
        let bits = self.literal(ty, range)?;
        Ok(ArgValue::Scalar(Scalar { ty, bits }))
    }

    fn element_type(&self, word: &str, range: std::ops::Range<usize>) -> Result<ElemType> {
        if let Some(ty) = ElemType::from_name(word) {
            return Ok(ty);
        }
        if word.is_empty() {
            return Err(self
                .unexpected("the value is missing", "a type, `&` or `@`")
                .help("write type:value, type[extents]:contents, &buffer or @file.npy"));
        }
        if elem::parse_any_integer(word).is_some() || word.parse::<f64>().is_ok() {
            let ty = if elem::parse_any_integer(word).is_some() { "u32" } else { "f32" };
            return Err(self
                .error("arg::untyped", range, "the number has no type", "its size is not known")
                .help(format!("write {ty}:{} or another type", shortened(word))));
        }
        let names = ElemType::ALL.iter().map(|t| t.name());
        let guess = ElemType::from_foreign_name(word).map(ElemType::name);
        let help = match guess.or_else(|| nearest(word, names.clone())) {
            Some(name) => format!("did you mean {name}?"),
            None => format!("types are {}", names.collect::<Vec<_>>().join(", ")),
        };
        let message = format!("`{}` is not a type", shortened(word));
        Err(self.error("arg::unknown-type", range, message, "unknown type").help(help))
    }

    pub(super) fn literal(&self, ty: ElemType, range: std::ops::Range<usize>) -> Result<u64> {
        let text = self.text_of(range.clone());
        elem::parse_literal(ty, text).map_err(|error| {
            let start = range.start + (text.len() - text.trim_start().len());
            let end = (start + text.trim().len()).max(start);
            self.error("arg::value", start..end, error.to_string(), "")
                .help(LiteralError::help(&error))
        })
    }

    fn reference(&mut self) -> Result<ArgValue> {
        let (name, range) = self.word();
        if name.is_empty() {
            return Err(self
                .error("arg::syntax", range, "the buffer's name is missing", "expected a name")
                .help("write &name, with the name of a buffer made before"));
        }
        let mut offset = 0;
        if self.consume('+') {
            let (digits, range) = self.word();
            let value = elem::parse_any_integer(digits).and_then(|v| u64::try_from(v).ok());
            offset = value.ok_or_else(|| {
                self.error("arg::value", range, "the offset is not a number of bytes", "")
                    .help("write &name+16 for a place 16 bytes into the buffer")
            })?;
        }
        let buffer = BufferRef { name: name.to_owned(), offset };
        if self.consume(':') { self.tensor(buffer) } else { Ok(ArgValue::Reference(buffer)) }
    }

    pub(super) fn file(&mut self) -> Result<Contents> {
        let path = self.rest().trim();
        if path.is_empty() {
            return Err(self.unexpected("the file's name is missing", "a path after `@`"));
        }
        self.at = self.text.len();
        Ok(Contents::File(PathBuf::from(path)))
    }

    fn bytes(&mut self) -> Result<ArgValue> {
        self.expect('[', "raw bytes stand in brackets")?;
        let mut bytes = Vec::new();
        while !self.consume(']') {
            let (digits, range) = self.word();
            if digits.is_empty() {
                return Err(
                    self.unexpected("raw bytes are not closed", "hexadecimal digits or `]`")
                );
            }
            let pairs = (0..digits.len())
                .step_by(2)
                .map(|i| digits.get(i..i + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok()));
            let word: Option<Vec<u8>> = pairs.collect();
            bytes.extend(word.ok_or_else(|| {
                self.error("arg::value", range, "these are not bytes", "")
                    .help("write two hexadecimal digits a byte: bytes[01 00 00 ff]")
            })?);
        }
        Ok(ArgValue::Bytes(bytes))
    }

    /// Parses a buffer after `type[`; `start` is the offset of the type.
    fn buffer(&mut self, ty: ElemType, start: usize) -> Result<ArgValue> {
        let shape = self.extents(ty)?;
        let shape_end = self.at;
        let size = byte_size(ty, &shape, u64::MAX).map_err(|error| {
            self.error("arg::too-large", start..shape_end, error.to_string(), "")
                .help("use smaller extents")
        })?;
        let count = size / ty.bytes() as u64;
        let contents = if self.consume(':') {
            self.contents(ty, count, start..shape_end)?
        } else {
            Contents::Zeros
        };
        let span = self.place(start..self.at);
        Ok(ArgValue::Buffer(BufferSpec { ty: Some(ty), shape: Some(shape), contents, span }))
    }

    fn extents(&mut self, ty: ElemType) -> Result<Vec<u64>> {
        let mut shape = Vec::new();
        loop {
            let (word, range) = self.word();
            if word.is_empty() {
                return Err(self
                    .unexpected("an extent is missing", "a number of elements")
                    .help(format!("write {ty}[1024], or {ty}[64,64] for two dimensions")));
            }
            let value = elem::parse_any_integer(word);
            let extent = value.and_then(|v| u64::try_from(v).ok()).ok_or_else(|| {
                let message = match value {
                    Some(v) if v < 0 => "an extent cannot be negative".to_owned(),
                    Some(_) => "the extent does not fit 64 bits".to_owned(),
                    None => format!("`{}` is not an extent", shortened(word)),
                };
                self.error("arg::shape", range.clone(), message, "")
                    .help("write a whole number of elements")
            })?;
            if shape.len() == MAX_DIMS {
                let message = format!("a buffer has at most {MAX_DIMS} dimensions");
                return Err(self.error("arg::shape", range, message, ""));
            }
            shape.push(extent);
            if !self.consume(',') {
                break;
            }
        }
        self.expect(']', "the extents are not closed")?;
        Ok(shape)
    }
}
