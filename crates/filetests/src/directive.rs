//! Directives: comments that tell the runner something.
//!
//! A directive is a line that begins (after spaces) with the comment sign of the file's language
//! and a colon: `//: run: ...`. A line with the sign and a bar, `//| text`, belongs to the
//! directive before it. All other comments are for people.

use std::ffi::OsStr;
use std::ops::Range;

/// The comment sign of files with this extension; none if they are not cases.
#[must_use]
pub(crate) fn marker(extension: &OsStr) -> Option<&'static str> {
    match extension.to_str()? {
        "ptx" | "ir" | "vir" => Some("//"),
        "toml" | "toys" | "s" | "prf" => Some("#"),
        _ => None,
    }
}

/// One directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directive {
    /// What it is about: `run`, `expect`, ...
    pub name: String,
    /// What stands in parentheses after the name: mechanisms and warp sizes.
    pub filter: Vec<String>,
    /// What follows the colon, trimmed.
    pub value: String,
    /// Where the value stands in the file, in bytes.
    pub value_range: Range<usize>,
    /// Index of its line, from 0.
    pub line: usize,
    /// The lines that belong to it, without sign, bar and the space after them.
    pub block: Vec<String>,
}

/// All directives of a text.
///
/// # Errors
/// If one is malformed; the message has its line.
pub fn directives(text: &str, marker: &str) -> Result<Vec<Directive>, String> {
    let mut found: Vec<Directive> = Vec::new();
    let mut offset = 0;
    for (number, line) in text.split('\n').enumerate() {
        let start = offset;
        offset += line.len() + 1;
        let line = line.strip_suffix('\r').unwrap_or(line);
        let indent = line.len() - line.trim_start().len();
        let Some(rest) = line[indent..].strip_prefix(marker) else { continue };
        if let Some(block) = rest.strip_prefix('|') {
            let block = block.strip_prefix(' ').unwrap_or(block);
            let last = found.last_mut();
            let last =
                last.ok_or_else(|| at(number, "a `|` line without a directive before it"))?;
            last.block.push(block.to_owned());
        } else if let Some(body) = rest.strip_prefix(':') {
            let body_start = start + indent + marker.len() + 1;
            found.push(parse(body, body_start, number)?);
        }
    }
    Ok(found)
}

/// A message about a line.
pub(crate) fn at(line: usize, message: impl std::fmt::Display) -> String {
    format!("line {}: {message}", line + 1)
}

/// `name[(filter)]: value`.
fn parse(body: &str, start: usize, line: usize) -> Result<Directive, String> {
    let (head, value) = body
        .split_once(':')
        .ok_or_else(|| at(line, "a directive is `name: value`; the second colon is missing"))?;
    let (name, filter) = match head.split_once('(') {
        None => (head.trim(), Vec::new()),
        Some((name, filter)) => {
            let filter = filter.trim_end().strip_suffix(')');
            let filter = filter.ok_or_else(|| at(line, "the filter's `)` is missing"))?;
            (name.trim(), filter.split(',').map(|w| w.trim().to_owned()).collect())
        }
    };
    let lead = value.len() - value.trim_start().len();
    let value_start = start + head.len() + 1 + lead;
    let value = value.trim();
    Ok(Directive {
        name: name.to_owned(),
        filter,
        value: value.to_owned(),
        value_range: value_start..value_start + value.len(),
        line,
        block: Vec::new(),
    })
}

/// Words of a value, separated by spaces, with quotes around what holds spaces; each with its place
/// in the value.
///
/// # Errors
/// If a quote is not closed.
pub(crate) fn words(value: &str) -> Result<Vec<(String, Range<usize>)>, String> {
    let mut words = Vec::new();
    let mut chars = value.char_indices().peekable();
    while let Some(&(start, c)) = chars.peek() {
        if c.is_whitespace() {
            chars.next();
            continue;
        }
        if c == '\'' || c == '"' {
            let inner = start + 1;
            let length = value[inner..].find(c).ok_or("a quote is not closed")?;
            words.push((value[inner..inner + length].to_owned(), inner..inner + length));
            while chars.peek().is_some_and(|&(at, _)| at <= inner + length) {
                chars.next();
            }
        } else {
            let length = value[start..].find(char::is_whitespace).unwrap_or(value.len() - start);
            words.push((value[start..start + length].to_owned(), start..start + length));
            while chars.peek().is_some_and(|&(at, _)| at < start + length) {
                chars.next();
            }
        }
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_are_found_among_comments() {
        let text = "// people\n  //: run: --grid 1\n//: expect(ipdom, 32): x = [1]\ncode // not: one\n//: fails 2:\n//| a\n//|\n//|  b\n";
        let found = directives(text, "//").expect("well-formed");
        let names: Vec<&str> = found.iter().map(|d| d.name.as_str()).collect();
        assert_eq!(names, ["run", "expect", "fails 2"]);
        assert_eq!(&text[found[0].value_range.clone()], "--grid 1");
        assert_eq!(found[1].filter, ["ipdom", "32"]);
        assert_eq!(found[2].block, ["a", "", " b"]);
        assert_eq!(
            directives("//: nonsense\n", "//"),
            Err("line 1: a directive is `name: value`; the second colon is missing".to_owned())
        );
        assert!(directives("//| alone\n", "//").is_err());
    }

    #[test]
    fn words_with_quotes_keep_their_places() {
        let value = "--arg 'x=u8[2]:[1, 2]'  n=u32:1 \"q\"";
        let found = words(value).expect("closed");
        let texts: Vec<&str> = found.iter().map(|(w, _)| w.as_str()).collect();
        assert_eq!(texts, ["--arg", "x=u8[2]:[1, 2]", "n=u32:1", "q"]);
        for (word, range) in &found {
            assert_eq!(&value[range.clone()], word);
        }
        assert!(words("'open").is_err());
    }
}
