//! A reader for TOML tables that locates everything and reports all errors at once.
//!
//! A derived deserialiser would stop at the first error and could not locate parts of strings. This
//! reader continues after errors, suggests the nearest key for unknown ones, and provides the spans
//! to which diagnostics about argument specifications refer.

use std::ops::Range;

use isa::{Diagnostic, Diagnostics, FileId, Span};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::elem::shortened;
use isa::suggest::nearest;

/// A value with its span.
#[derive(Clone, Debug, PartialEq)]
pub struct Located<T> {
    /// The value.
    pub value: T,
    /// Its span.
    pub span: Span,
}

/// The state of reading one file.
pub(crate) struct Reader<'d> {
    pub(crate) file: FileId,
    pub(crate) found: &'d mut Diagnostics,
    /// Diagnostic code for a value of the wrong type or out of range.
    pub(crate) value_code: &'static str,
    /// Diagnostic code for an unknown or missing key.
    pub(crate) key_code: &'static str,
}

/// One entry of a table.
pub(crate) struct Entry<'t> {
    pub(crate) key: &'t str,
    pub(crate) key_span: Span,
    pub(crate) value: &'t DeValue<'t>,
    pub(crate) span: Span,
}

/// An opened table.
pub(crate) struct Table<'t> {
    /// Its name in messages.
    pub(crate) what: &'static str,
    pub(crate) span: Span,
    entries: Vec<Entry<'t>>,
}

impl<'t> Table<'t> {
    /// Returns the entries in the order in which they are written.
    pub(crate) fn entries(&self) -> &[Entry<'t>] {
        &self.entries
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Entry<'t>> {
        self.entries.iter().find(|e| e.key == key)
    }
}

/// Returns the name of a value's type in messages.
fn type_name(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a float",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    }
}

impl Reader<'_> {
    pub(crate) fn span(&self, range: &Range<usize>) -> Span {
        Span::new(self.file, range.start as u32, range.end as u32)
    }

    /// Returns the span of a string's text without its quotes, or the whole span if the string
    /// contains escapes or has quotes of several characters.
    pub(crate) fn text_span(&self, span: Span, text: &str) -> Span {
        let inner = (span.end - span.start) as usize;
        if inner == text.len() + 2 {
            Span::new(span.file, span.start + 1, span.end - 1)
        } else {
            span
        }
    }

    pub(crate) fn wrong(
        &mut self,
        span: Span,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.found.push(Diagnostic::error(self.value_code, message).at(span, "").help(help));
    }

    /// Opens a table without checking its keys.
    pub(crate) fn open<'t>(
        &self,
        what: &'static str,
        table: &'t DeTable<'t>,
        span: Span,
    ) -> Table<'t> {
        let mut entries: Vec<Entry<'t>> = table
            .iter()
            .map(|(key, value)| Entry {
                key: key.get_ref(),
                key_span: self.span(&key.span()),
                value: value.get_ref(),
                span: self.span(&value.span()),
            })
            .collect();
        entries.sort_by_key(|e| e.key_span.start);
        Table { what, span, entries }
    }

    /// Opens a table and reports every key that is not in `known`.
    pub(crate) fn open_known<'t>(
        &mut self,
        what: &'static str,
        table: &'t DeTable<'t>,
        span: Span,
        known: &[&'static str],
    ) -> Table<'t> {
        let table = self.open(what, table, span);
        for entry in table.entries() {
            if known.contains(&entry.key) {
                continue;
            }
            let help = match nearest(entry.key, known.iter().copied()) {
                Some(name) => format!("did you mean `{name}`?"),
                None => format!("{what} takes {}", known.join(", ")),
            };
            let message = format!("{what} has no key `{}`", shortened(entry.key));
            let finding = Diagnostic::error(self.key_code, message);
            self.found.push(finding.at(entry.key_span, "unknown key").help(help));
        }
        table
    }

    pub(crate) fn missing(&mut self, table: &Table<'_>, key: &str, example: &str) {
        // The span of the root table is the whole file, so only its start is marked.
        let start = Span { end: table.span.start, ..table.span };
        let message = format!("{} needs `{key}`", table.what);
        let finding = Diagnostic::error(self.key_code, message).at(start, "missing here");
        self.found.push(finding.help(format!("write {example}")));
    }

    fn mistyped(&mut self, entry: &Entry<'_>, wanted: &str) {
        let message =
            format!("`{}` takes {}, not {}", shortened(entry.key), wanted, type_name(entry.value));
        let finding = Diagnostic::error(self.value_code, message);
        self.found.push(finding.at(entry.span, format!("expected {wanted}")));
    }

    pub(crate) fn string(&mut self, table: &Table<'_>, key: &str) -> Option<Located<String>> {
        let entry = table.get(key)?;
        if let DeValue::String(text) = entry.value {
            let span = self.text_span(entry.span, text);
            return Some(Located { value: text.to_string(), span });
        }
        self.mistyped(entry, "a string");
        None
    }

    /// Reads an integer from `lo` to `hi`.
    pub(crate) fn integer(
        &mut self,
        table: &Table<'_>,
        key: &str,
        lo: u64,
        hi: u64,
    ) -> Option<Located<u64>> {
        let entry = table.get(key)?;
        match entry.value {
            DeValue::Integer(_) => self.integer_value(key, entry.value, entry.span, lo, hi),
            _ => {
                self.mistyped(entry, "an integer");
                None
            }
        }
    }

    fn integer_value(
        &mut self,
        key: &str,
        value: &DeValue<'_>,
        span: Span,
        lo: u64,
        hi: u64,
    ) -> Option<Located<u64>> {
        let DeValue::Integer(number) = value else {
            let message = format!("`{key}` is made of integers, not {}", type_name(value));
            self.found
                .push(Diagnostic::error(self.value_code, message).at(span, "expected an integer"));
            return None;
        };
        let parsed = u64::from_str_radix(number.as_str(), number.radix()).ok();
        match parsed.filter(|n| (lo..=hi).contains(n)) {
            Some(value) => Some(Located { value, span }),
            None => {
                self.wrong(
                    span,
                    format!("`{key}` is out of range"),
                    format!("it takes {lo} to {hi}"),
                );
                None
            }
        }
    }

    /// Reads an array whose length is in `counts`; a single integer counts as an array of one.
    pub(crate) fn integers(
        &mut self,
        table: &Table<'_>,
        key: &str,
        counts: std::ops::RangeInclusive<usize>,
        lo: u64,
        hi: u64,
    ) -> Option<Located<Vec<u64>>> {
        let entry = table.get(key)?;
        let DeValue::Array(array) = entry.value else {
            if matches!(entry.value, DeValue::Integer(_)) && counts.contains(&1) {
                let one = self.integer_value(key, entry.value, entry.span, lo, hi)?;
                return Some(Located { value: vec![one.value], span: one.span });
            }
            self.mistyped(entry, "an array of integers");
            return None;
        };
        if !counts.contains(&array.len()) {
            let wanted = format!("it takes {} to {} integers", counts.start(), counts.end());
            self.wrong(entry.span, format!("`{key}` has {} integers", array.len()), wanted);
            return None;
        }
        let values: Vec<_> = array
            .iter()
            .map(|v| {
                let span = self.span(&v.span());
                self.integer_value(key, v.get_ref(), span, lo, hi).map(|v| v.value)
            })
            .collect();
        let value = values.into_iter().collect::<Option<Vec<u64>>>()?;
        Some(Located { value, span: entry.span })
    }

    /// Reads an integer or a float.
    pub(crate) fn number(&mut self, table: &Table<'_>, key: &str) -> Option<Located<f64>> {
        let entry = table.get(key)?;
        let value = match entry.value {
            DeValue::Integer(n) => {
                i128::from_str_radix(n.as_str(), n.radix()).ok().map(|n| n as f64)
            }
            DeValue::Float(x) => x.as_str().parse().ok(),
            _ => {
                self.mistyped(entry, "a number");
                return None;
            }
        };
        if value.is_none() {
            self.wrong(entry.span, format!("`{key}` is out of range"), "write a smaller number");
        }
        value.map(|value| Located { value, span: entry.span })
    }

    pub(crate) fn boolean(&mut self, table: &Table<'_>, key: &str) -> Option<Located<bool>> {
        let entry = table.get(key)?;
        if let DeValue::Boolean(value) = entry.value {
            return Some(Located { value: *value, span: entry.span });
        }
        self.mistyped(entry, "a boolean");
        None
    }

    pub(crate) fn table<'t>(
        &mut self,
        table: &Table<'t>,
        key: &str,
    ) -> Option<(&'t DeTable<'t>, Span)> {
        let entry = table.get(key)?;
        if let DeValue::Table(inner) = entry.value {
            return Some((inner, entry.span));
        }
        self.mistyped(entry, "a table");
        None
    }

    /// Reads an array of tables, as `[[key]]` creates it.
    pub(crate) fn tables<'t>(
        &mut self,
        table: &Table<'t>,
        key: &str,
    ) -> Vec<(&'t DeTable<'t>, Span)> {
        let Some(entry) = table.get(key) else { return Vec::new() };
        let DeValue::Array(array) = entry.value else {
            let message =
                format!("`{key}` takes an array of tables, not {}", type_name(entry.value));
            self.found.push(
                Diagnostic::error(self.value_code, message)
                    .at(entry.span, "expected an array of tables")
                    .help(format!("start each with [[{key}]]")),
            );
            return Vec::new();
        };
        let mut tables = Vec::new();
        for item in array {
            let span = self.span(&item.span());
            match item.get_ref() {
                DeValue::Table(inner) => tables.push((inner, span)),
                other => {
                    let message = format!("`{key}` is made of tables, not {}", type_name(other));
                    self.wrong(span, message, format!("start each with [[{key}]]"));
                }
            }
        }
        tables
    }

    /// Reads an array of strings; a single string counts as an array of one.
    pub(crate) fn strings(&mut self, table: &Table<'_>, key: &str) -> Option<Vec<Located<String>>> {
        let entry = table.get(key)?;
        let items: &[Spanned<DeValue<'_>>] = match entry.value {
            DeValue::String(text) => {
                let span = self.text_span(entry.span, text);
                return Some(vec![Located { value: text.to_string(), span }]);
            }
            DeValue::Array(array) => array,
            _ => {
                self.mistyped(entry, "an array of strings");
                return None;
            }
        };
        let mut strings = Vec::with_capacity(items.len());
        for item in items {
            let span = self.span(&item.span());
            match item.get_ref() {
                DeValue::String(text) => {
                    let span = self.text_span(span, text);
                    strings.push(Located { value: text.to_string(), span });
                }
                other => {
                    let message = format!("`{key}` is made of strings, not {}", type_name(other));
                    self.wrong(span, message, "put it in quotes");
                }
            }
        }
        Some(strings)
    }

    /// Reads the text of a literal: a string, or a number as written.
    pub(crate) fn literal(
        &mut self,
        key: &str,
        value: &DeValue<'_>,
        span: Span,
    ) -> Option<Located<String>> {
        match value {
            DeValue::String(text) => {
                Some(Located { value: text.to_string(), span: self.text_span(span, text) })
            }
            DeValue::Integer(number) => Some(Located { value: number.to_string(), span }),
            DeValue::Float(number) => Some(Located { value: number.as_str().to_owned(), span }),
            other => {
                let message = format!("`{key}` is made of numbers, not {}", type_name(other));
                self.wrong(span, message, "write a number, or one in quotes: \"0x7fc00000\"");
                None
            }
        }
    }
}
