//! The parser of argument specifications.
//!
//! It reads the text once from left to right, and every error refers to the bytes that cause it. If
//! the specification is a string in a launch file, these are bytes of that file, unless the string
//! contains escapes: then errors refer to the whole string.

use std::path::PathBuf;

use isa::suggest::nearest;
use isa::{Diagnostic, Span};

use super::random::Range;
use super::{ArgSpec, ArgValue, BufferRef, BufferSpec, Contents, Progression};
use crate::array::byte_size;
use crate::elem::{self, ElemKind, ElemType, LiteralError, Scalar, shortened};

type Result<T> = std::result::Result<T, Diagnostic>;

/// Most dimensions of a buffer.
const MAX_DIMS: usize = 32;

/// The kinds of contents, for suggestions.
const CONTENTS: [&str; 5] = ["zeros", "ones", "fill", "iota", "random"];

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

struct Parser<'a> {
    text: &'a str,
    at: usize,
    span: Span,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    /// Returns the span of a part of the text.
    fn place(&self, range: std::ops::Range<usize>) -> Span {
        let exact = (self.span.end - self.span.start) as usize == self.text.len();
        if !exact {
            return self.span;
        }
        let start = self.span.start;
        Span::new(self.span.file, start + range.start as u32, start + range.end as u32)
    }

    fn error(
        &self,
        code: &'static str,
        range: std::ops::Range<usize>,
        message: impl Into<String>,
        label: impl Into<String>,
    ) -> Diagnostic {
        Diagnostic::error(code, message).at(self.place(range), label)
    }

    /// Returns an error at the next character, or at the end of the text.
    fn unexpected(&self, message: impl Into<String>, expected: &str) -> Diagnostic {
        let width = self.rest().chars().next().map_or(0, char::len_utf8);
        self.error("arg::syntax", self.at..self.at + width, message, format!("expected {expected}"))
    }

    fn skip_space(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    fn eat(&mut self, wanted: char) -> bool {
        self.skip_space();
        let found = self.rest().starts_with(wanted);
        if found {
            self.at += wanted.len_utf8();
        }
        found
    }

    fn expect(&mut self, wanted: char, message: &str) -> Result<()> {
        if self.eat(wanted) {
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
    fn word(&mut self) -> (&'a str, std::ops::Range<usize>) {
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
        if self.eat('&') {
            return self.reference();
        }
        if self.eat('@') {
            let contents = self.file()?;
            let span = self.place(start..self.text.len());
            return Ok(ArgValue::Buffer(BufferSpec { ty: None, shape: None, contents, span }));
        }
        let (word, range) = self.word();
        if word == "bytes" && self.rest().starts_with('[') {
            return self.bytes();
        }
        let ty = self.element_type(word, range)?;
        if self.eat('[') {
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

    fn literal(&self, ty: ElemType, range: std::ops::Range<usize>) -> Result<u64> {
        let text = self.text.get(range.clone()).unwrap_or("");
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
        if self.eat('+') {
            let (digits, range) = self.word();
            let value = elem::parse_any_integer(digits).and_then(|v| u64::try_from(v).ok());
            offset = value.ok_or_else(|| {
                self.error("arg::value", range, "the offset is not a number of bytes", "")
                    .help("write &name+16 for a place 16 bytes into the buffer")
            })?;
        }
        Ok(ArgValue::Reference(BufferRef { name: name.to_owned(), offset }))
    }

    fn file(&mut self) -> Result<Contents> {
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
        while !self.eat(']') {
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
        let contents = if self.eat(':') {
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
            if !self.eat(',') {
                break;
            }
        }
        self.expect(']', "the extents are not closed")?;
        Ok(shape)
    }

    fn contents(
        &mut self,
        ty: ElemType,
        count: u64,
        declared: std::ops::Range<usize>,
    ) -> Result<Contents> {
        if self.eat('@') {
            return self.file();
        }
        if self.eat('[') {
            return self.values(ty, count, declared);
        }
        let (word, range) = self.word();
        match word {
            "zeros" => Ok(Contents::Zeros),
            "ones" => Ok(Contents::Fill(ty.round(1.0).unwrap_or(1))),
            "fill" => self.fill_value(ty),
            "iota" => self.iota(ty),
            "random" => self.random(ty),
            "" => Err(self
                .unexpected("the contents are missing", "what the buffer holds")
                .help("write zeros, ones, fill(v), iota, random, [v, v, ...] or @file.npy")),
            _ => {
                let help = match nearest(word, CONTENTS) {
                    Some(name) => format!("did you mean {name}?"),
                    None => {
                        "contents are zeros, ones, fill(v), iota, random, [v, v, ...] or @file.npy"
                            .to_owned()
                    }
                };
                let message = format!("`{}` is not a way to fill a buffer", shortened(word));
                Err(self.error("arg::contents", range, message, "").help(help))
            }
        }
    }

    /// Parses a literal up to one of the characters in `ends`, which is not consumed.
    fn literal_until(&mut self, ty: ElemType, ends: &[char]) -> Result<u64> {
        self.skip_space();
        let length = self.rest().find(ends).unwrap_or(self.rest().len());
        let range = self.at..self.at + length;
        self.at = range.end;
        self.literal(ty, range)
    }

    fn fill_value(&mut self, ty: ElemType) -> Result<Contents> {
        self.expect('(', "fill needs the value")
            .map_err(|e| e.help("write fill(7), or zeros or ones"))?;
        let bits = self.literal_until(ty, &[')'])?;
        self.expect(')', "fill is not closed")?;
        Ok(Contents::Fill(bits))
    }

    fn values(
        &mut self,
        ty: ElemType,
        count: u64,
        declared: std::ops::Range<usize>,
    ) -> Result<Contents> {
        let start = self.at - 1;
        let mut values = Vec::new();
        while !self.eat(']') {
            values.push(self.literal_until(ty, &[',', ']'])?);
            if !self.eat(',') {
                self.expect(']', "the list of values is not closed")?;
                break;
            }
        }
        if values.len() as u64 != count {
            let message = format!("there are {} values for {count} elements", values.len());
            return Err(self
                .error("arg::shape", start..self.at, message, "")
                .also(self.place(declared), format!("{count} elements here"))
                .help("give as many values as the shape has elements"));
        }
        Ok(Contents::Values(values))
    }

    /// Parses `(key=text, ...)`, where all keys are optional and listed in `known`. Returns the
    /// range of each key's text.
    fn options<const N: usize>(
        &mut self,
        of: &str,
        known: [&'static str; N],
    ) -> Result<[Option<std::ops::Range<usize>>; N]> {
        let mut found = [const { None }; N];
        if !self.eat('(') {
            return Ok(found);
        }
        while !self.eat(')') {
            let (key, range) = self.word();
            let Some(index) = known.iter().position(|k| *k == key) else {
                let help = match nearest(key, known) {
                    Some(name) => format!("did you mean {name}?"),
                    None => format!("{of} takes {}", known.join(", ")),
                };
                let message = format!("{of} has no option `{}`", shortened(key));
                return Err(self.error("arg::option", range, message, "").help(help));
            };
            if found[index].is_some() {
                let message = format!("{key} is given twice");
                return Err(self.error("arg::option", range, message, "second time here"));
            }
            self.expect('=', "an option needs its value")?;
            self.skip_space();
            let length = self.rest().find([',', ')']).unwrap_or(self.rest().len());
            found[index] = Some(self.at..self.at + length);
            self.at += length;
            if !self.eat(',') {
                self.expect(')', "the options are not closed")?;
                break;
            }
        }
        Ok(found)
    }

    fn iota(&mut self, ty: ElemType) -> Result<Contents> {
        let [start, step] = self.options("iota", ["start", "step"])?;
        Ok(Contents::Iota(if ty.kind() == ElemKind::Float {
            Progression::Float {
                start: self.float_option(start, 0.0)?,
                step: self.float_option(step, 1.0)?,
            }
        } else {
            Progression::Int {
                start: self.int_option(ty, start, 0)?,
                step: self.int_option(ElemType::S64, step, 1)?,
            }
        }))
    }

    fn random(&mut self, ty: ElemType) -> Result<Contents> {
        let [seed, lo, hi] = self.options("random", ["seed", "lo", "hi"])?;
        let bounds = lo.clone().or(hi.clone()).unwrap_or(0..0);
        let seed = match seed {
            Some(range) => Some(self.literal(ElemType::U64, range)?),
            None => None,
        };
        let range = if let Some((least, most)) = ty.integer_range() {
            let lo = self.int_option(ty, lo, least)?;
            Range::Int { lo, hi: self.int_option(ty, hi, most)? }
        } else {
            let lo = self.float_option(lo, 0.0)?;
            Range::Float { lo, hi: self.float_option(hi, 1.0)? }
        };
        let (fits, rule) = match range {
            Range::Int { lo, hi } => (lo <= hi, "lo must not be above hi"),
            Range::Float { lo, hi } => {
                (self.float_range_fits(ty, lo, hi), "lo must be below hi, and both must be finite")
            }
        };
        if !fits {
            return Err(self
                .error("arg::value", bounds, "no number lies in this range", "")
                .help(rule));
        }
        Ok(Contents::Random { seed, range })
    }

    /// Returns whether the type can represent both bounds, and `lo < hi` at a finite distance.
    fn float_range_fits(&self, ty: ElemType, lo: f64, hi: f64) -> bool {
        let held = |value: f64| {
            ty.round(value).and_then(|bits| ty.to_f64(bits)).is_some_and(f64::is_finite)
        };
        lo < hi && (hi - lo).is_finite() && held(lo) && held(hi)
    }

    fn int_option(
        &self,
        ty: ElemType,
        range: Option<std::ops::Range<usize>>,
        default: i128,
    ) -> Result<i128> {
        let Some(range) = range else { return Ok(default) };
        let bits = self.literal(ty, range)?;
        Ok(ty.to_int(bits).unwrap_or(0))
    }

    fn float_option(&self, range: Option<std::ops::Range<usize>>, default: f64) -> Result<f64> {
        let Some(range) = range else { return Ok(default) };
        let value = f64::from_bits(self.literal(ElemType::F64, range.clone())?);
        if value.is_finite() {
            return Ok(value);
        }
        Err(self
            .error("arg::value", range, "the value is not finite", "")
            .help("write a finite number"))
    }
}
