//! `cargo xtask width`: whether lines have at most 100 columns.
//!
//! rustfmt formats neither comments nor the bodies of most macros. A longer line is allowed if a
//! string literal extends beyond column 100, as rustfmt does, and in a comment that is a row of a
//! table.

#![allow(clippy::print_stdout, reason = "a command's output")]

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::tree;

/// Columns of a line, as in `rustfmt.toml`.
const WIDTH: usize = 100;

/// Prints the lines that are too long, and fails if there are any.
pub(crate) fn run() -> Result<()> {
    let lines = long_lines()?;
    for line in &lines {
        println!("{line}");
    }
    ensure!(lines.is_empty(), "{} lines have more than {WIDTH} columns", lines.len());
    println!("all lines have at most {WIDTH} columns, literals and tables aside");
    Ok(())
}

/// Returns the places of all lines of the project's Rust files that are too long.
fn long_lines() -> Result<Vec<String>> {
    let mut found = Vec::new();
    for folder in ["crates", "fuzz/fuzz_targets"] {
        collect(&tree::root().join(folder), &mut found)?;
    }
    Ok(found)
}

fn collect(folder: &Path, found: &mut Vec<String>) -> Result<()> {
    for path in tree::entries(folder)? {
        if path.is_dir() {
            collect(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).with_context(|| tree::shown(&path))?;
            let numbers = too_long(&text).into_iter();
            found.extend(numbers.map(|number| format!("{}:{number}", tree::shown(&path))));
        }
    }
    Ok(())
}

/// What a character of a Rust file belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Token {
    Code,
    LineComment,
    /// A block comment, with the number of comments around it.
    BlockComment(usize),
    String,
    /// A raw string, with its number of `#`.
    RawString(usize),
}

/// Returns the numbers of the lines that are too long.
fn too_long(text: &str) -> Vec<usize> {
    let chars: Vec<char> = text.chars().collect();
    let (mut token, mut i) = (Token::Code, 0);
    // The current line: its number, where it begins, and whether it may be long.
    let (mut number, mut begin, mut allowed) = (1, 0, false);
    let mut found = Vec::new();
    let mut end_line = |number, len, allowed: bool| {
        if len > WIDTH && !allowed {
            found.push(number);
        }
    };
    while i < chars.len() {
        let (next, len) = step(token, &chars[i..]);
        if chars[i] == '\n' {
            end_line(number, i - begin, allowed);
            (number, begin, allowed) = (number + 1, i + 1, false);
        } else {
            let literal = |token| matches!(token, Token::String | Token::RawString(_));
            let row = token == Token::LineComment && i - begin == WIDTH && is_row(&chars[begin..]);
            allowed |= row || (i + len - begin >= WIDTH && (literal(token) || literal(next)));
        }
        (token, i) = (next, i + len);
    }
    end_line(number, chars.len() - begin, allowed);
    found
}

/// Whether a line is a comment and a row of a table.
fn is_row(line: &[char]) -> bool {
    let text: String = line.iter().take(WIDTH).collect();
    let text = text.trim_start().trim_start_matches(['/', '!']);
    text.trim_start().starts_with('|')
}

/// Returns the token after the first characters of `rest`, and their number.
fn step(token: Token, rest: &[char]) -> (Token, usize) {
    let starts = |with: &str| with.chars().enumerate().all(|(i, c)| rest.get(i) == Some(&c));
    match token {
        Token::LineComment if rest[0] == '\n' => (Token::Code, 1),
        Token::LineComment => (Token::LineComment, 1),
        Token::BlockComment(depth) if starts("/*") => (Token::BlockComment(depth + 1), 2),
        Token::BlockComment(0) if starts("*/") => (Token::Code, 2),
        Token::BlockComment(depth) if starts("*/") => (Token::BlockComment(depth - 1), 2),
        Token::BlockComment(depth) => (Token::BlockComment(depth), 1),
        // The second character of an escape can be a newline, which the caller must see alone.
        Token::String if starts("\\\"") || starts("\\\\") => (Token::String, 2),
        Token::String if rest[0] == '"' => (Token::Code, 1),
        Token::String => (Token::String, 1),
        Token::RawString(hashes) => {
            let closes = rest[0] == '"' && (1..=hashes).all(|i| rest.get(i) == Some(&'#'));
            if closes { (Token::Code, 1 + hashes) } else { (Token::RawString(hashes), 1) }
        }
        Token::Code if starts("//") => (Token::LineComment, 2),
        Token::Code if starts("/*") => (Token::BlockComment(0), 2),
        Token::Code if rest[0] == '"' => (Token::String, 1),
        Token::Code if starts("r\"") || starts("r#") => raw_string(rest),
        Token::Code if starts("'\\") => (Token::Code, 3),
        Token::Code if rest[0] == '\'' && rest.get(2) == Some(&'\'') => (Token::Code, 3),
        Token::Code => (Token::Code, 1),
    }
}

/// Returns the token after `r` and its `#`, which may also begin a raw identifier.
fn raw_string(rest: &[char]) -> (Token, usize) {
    let hashes = rest[1..].iter().take_while(|&&c| c == '#').count();
    if rest.get(1 + hashes) == Some(&'"') {
        (Token::RawString(hashes), 2 + hashes)
    } else {
        (Token::Code, 1)
    }
}

#[cfg(test)]
mod tests {
    use super::{WIDTH, long_lines, too_long};

    #[test]
    fn lines_of_the_project_are_short() {
        let found = long_lines().expect("files");
        assert!(found.is_empty(), "{found:#?}");
    }

    #[test]
    fn code_and_comments_are_limited() {
        let (short, long) = ("a".repeat(WIDTH), "a".repeat(WIDTH + 1));
        assert_eq!(too_long(&format!("{short}\n{long}\n{long}")), [2, 3]);
        let comment = format!("// {}\n/* {long}\n{long} /* */ {short}\n*/ {short}", &short[3..]);
        assert_eq!(too_long(&comment), [2, 3, 4]);
        assert_eq!(too_long(&format!("//! | {long} |\n/// {long} |")), [2]);
    }

    #[test]
    fn literals_are_not() {
        let long = "a".repeat(WIDTH);
        assert_eq!(too_long(&format!("f(\"{long}\");\n\"\\\\\" + {long}")), [2]);
        assert_eq!(too_long(&format!("{long}(\"a\");\n{long}();")), [2]);
        assert_eq!(too_long(&format!("r#\"\n{long}a \" {long}\"#;\n{long}a")), [3]);
        assert_eq!(too_long(&format!("'\"'; {long}\n'\\''; \"{long}\"\n'a, {long}")), [1, 3]);
        assert_eq!(too_long(&format!("\"\\\n{long}\\\"{long}\"; r#type; {long}")), [0; 0]);
    }
}
