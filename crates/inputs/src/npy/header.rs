//! The header of an `.npy` file: a Python dictionary literal with three known keys.

use super::NpyError;
use crate::elem::{ElemType, shortened};

/// Most dimensions, as in NumPy.
const MAX_DIMS: usize = 64;

/// The contents of a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Element type.
    pub ty: ElemType,
    /// Whether elements are stored in big-endian order.
    pub big_endian: bool,
    /// Whether the first index varies fastest.
    pub fortran_order: bool,
    /// Extents, in the order of the indices.
    pub shape: Vec<u64>,
}

impl Header {
    /// Parses the dictionary.
    ///
    /// # Errors
    /// Returns an error if the dictionary is malformed or no element type corresponds to `descr`.
    pub fn parse(text: &str) -> Result<Self, NpyError> {
        let mut cursor = Cursor { text, at: 0 };
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        cursor.expect('{', "`{`")?;
        while !cursor.eat('}') {
            let key = cursor.string()?;
            cursor.expect(':', "`:`")?;
            match key {
                "descr" if descr.is_none() => descr = Some(cursor.descr()?),
                "fortran_order" if fortran_order.is_none() => {
                    fortran_order = Some(cursor.boolean()?);
                }
                "shape" if shape.is_none() => shape = Some(cursor.tuple()?),
                _ => return Err(NpyError::Key(shortened(key))),
            }
            if !cursor.eat(',') {
                cursor.expect('}', "`,` or `}`")?;
                break;
            }
        }
        cursor.end()?;
        let (ty, big_endian) = element_type(descr.ok_or(NpyError::MissingKey("descr"))?)?;
        Ok(Self {
            ty,
            big_endian,
            fortran_order: fortran_order.ok_or(NpyError::MissingKey("fortran_order"))?,
            shape: shape.ok_or(NpyError::MissingKey("shape"))?,
        })
    }

    /// Formats the dictionary as NumPy writes it, with keys in alphabetical order, without the
    /// padding.
    #[must_use]
    pub fn to_text(&self) -> String {
        let extents: Vec<String> = self.shape.iter().map(u64::to_string).collect();
        let shape = match extents.as_slice() {
            [one] => format!("({one},)"),
            all => format!("({})", all.join(", ")),
        };
        let order = if self.fortran_order { "True" } else { "False" };
        let descr = type_string(self.ty, self.big_endian);
        format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}")
    }
}

/// Returns NumPy's type string. Untyped elements are written as unsigned integers, `bf16` as two
/// untyped bytes.
fn type_string(ty: ElemType, big_endian: bool) -> String {
    let order = match (ty.bytes(), big_endian) {
        (1, _) => '|',
        (_, true) => '>',
        (_, false) => '<',
    };
    let kind = match ty {
        ElemType::Bf16 => 'V',
        ElemType::F16 | ElemType::F32 | ElemType::F64 => 'f',
        ElemType::S8 | ElemType::S16 | ElemType::S32 | ElemType::S64 => 'i',
        _ => 'u',
    };
    format!("{order}{kind}{}", ty.bytes())
}

/// Returns the element type and byte order of a NumPy type string.
fn element_type(descr: &str) -> Result<(ElemType, bool), NpyError> {
    let refuse = |reason| Err(NpyError::Type { descr: shortened(descr), reason });
    let (big_endian, rest) = match descr.chars().next() {
        Some('<' | '|') => (false, &descr[1..]),
        Some('>') => (true, &descr[1..]),
        // `=` is the byte order of the writing host, which the file does not state.
        Some('=') => return refuse("its byte order is not stated"),
        Some('[') => return refuse("it is a record of several fields"),
        _ => (false, descr),
    };
    let ty = match rest {
        "u1" | "b1" | "?" => ElemType::U8,
        "u2" => ElemType::U16,
        "u4" => ElemType::U32,
        "u8" => ElemType::U64,
        "i1" => ElemType::S8,
        "i2" => ElemType::S16,
        "i4" => ElemType::S32,
        "i8" => ElemType::S64,
        "f2" => ElemType::F16,
        "f4" => ElemType::F32,
        "f8" => ElemType::F64,
        "V1" => ElemType::B8,
        "V2" => ElemType::B16,
        "V4" => ElemType::B32,
        "V8" => ElemType::B64,
        _ => {
            return refuse(match rest.chars().next() {
                Some('O') => "it holds pickled Python objects",
                Some('c') => "complex numbers have no counterpart",
                Some('S' | 'U' | 'a') => "text has no counterpart",
                Some('M' | 'm') => "dates and times have no counterpart",
                Some('f') => "only floats of 2, 4 and 8 bytes have a counterpart",
                _ => "it has no counterpart",
            });
        }
    };
    Ok((ty, big_endian))
}

/// A parser of the Python literals that occur in headers.
struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn skip_space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\n', '\t', '\r']).len();
    }

    fn eat(&mut self, wanted: char) -> bool {
        self.skip_space();
        let found = self.rest().starts_with(wanted);
        if found {
            self.at += wanted.len_utf8();
        }
        found
    }

    fn fail<T>(&self, expected: &'static str) -> Result<T, NpyError> {
        Err(NpyError::Header { at: self.at, expected })
    }

    fn expect(&mut self, wanted: char, expected: &'static str) -> Result<(), NpyError> {
        if self.eat(wanted) { Ok(()) } else { self.fail(expected) }
    }

    fn end(&mut self) -> Result<(), NpyError> {
        self.skip_space();
        if self.rest().is_empty() { Ok(()) } else { self.fail("the end of the header") }
    }

    /// Parses a quoted string without escapes; no key or type string contains one.
    fn string(&mut self) -> Result<&'a str, NpyError> {
        self.skip_space();
        let Some(quote) = self.rest().chars().next().filter(|c| matches!(c, '\'' | '"')) else {
            return self.fail("a quoted string");
        };
        let body = &self.rest()[1..];
        match body.find([quote, '\\']) {
            Some(end) if body[end..].starts_with(quote) => {
                self.at += end + 2;
                Ok(&body[..end])
            }
            _ => self.fail("a quoted string without escapes"),
        }
    }

    /// Parses a type string; rejects record types by their first character.
    fn descr(&mut self) -> Result<&'a str, NpyError> {
        self.skip_space();
        match self.rest().starts_with('[') {
            true => Err(NpyError::Type {
                descr: shortened(self.rest()),
                reason: "it is a record of several fields",
            }),
            false => self.string(),
        }
    }

    fn boolean(&mut self) -> Result<bool, NpyError> {
        self.skip_space();
        for (word, value) in [("True", true), ("False", false)] {
            if self.rest().starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        self.fail("True or False")
    }

    fn tuple(&mut self) -> Result<Vec<u64>, NpyError> {
        let mut extents = Vec::new();
        self.expect('(', "`(`")?;
        while !self.eat(')') {
            if extents.len() == MAX_DIMS {
                return self.fail("at most 64 extents");
            }
            extents.push(self.extent()?);
            if !self.eat(',') {
                self.expect(')', "`,` or `)`")?;
                break;
            }
        }
        Ok(extents)
    }

    fn extent(&mut self) -> Result<u64, NpyError> {
        self.skip_space();
        let rest = self.rest();
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        match rest[..digits].parse() {
            Ok(value) => {
                self.at += digits;
                // Python 2 wrote a long as `3L`.
                if self.rest().starts_with('L') {
                    self.at += 1;
                }
                Ok(value)
            }
            Err(_) => self.fail("an extent that fits 64 bits"),
        }
    }
}
