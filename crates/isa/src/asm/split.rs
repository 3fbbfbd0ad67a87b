//! Cuts a text into statements.

use super::syntax::Syntax;

/// The statements of a text as byte ranges, comments at their ends left out. A separator, newline
/// or comment sign inside a string, a character or a block comment ends nothing; strings and
/// characters end with their line at the latest.
pub(super) struct Statements<'a> {
    text: &'a str,
    syntax: &'a Syntax,
    at: usize,
    /// Where a block comment starts that does not end.
    open_comment: Option<usize>,
}

impl<'a> Statements<'a> {
    pub(super) fn new(text: &'a str, syntax: &'a Syntax) -> Self {
        Self { text, syntax, at: 0, open_comment: None }
    }

    /// Where a block comment starts that does not end, once all statements have been taken.
    pub(super) fn open_comment(&self) -> Option<usize> {
        self.open_comment
    }

    fn starts_comment(&self, at: usize) -> bool {
        !(self.syntax.hash_in_names && self.hash_in_name(at))
            && self.syntax.line_comments.iter().any(|sign| self.text[at..].starts_with(sign))
    }

    /// Whether `at` is a `#` between a letter and a digit.
    fn hash_in_name(&self, at: usize) -> bool {
        let before = self.text[..at].ends_with(|c: char| c.is_ascii_alphabetic());
        let mut rest = self.text[at..].chars();
        before && rest.next() == Some('#') && rest.next().is_some_and(|c| c.is_ascii_digit())
    }

    /// End of the line that holds `at`: its newline or the end of the text.
    fn line_end(&self, at: usize) -> usize {
        self.text[at..].find('\n').map_or(self.text.len(), |i| at + i)
    }
}

impl Iterator for Statements<'_> {
    type Item = std::ops::Range<usize>;

    fn next(&mut self) -> Option<Self::Item> {
        let start = self.at;
        if start >= self.text.len() {
            return None;
        }
        let mut quote: Option<char> = None;
        let mut at = start;
        while let Some(c) = self.text[at..].chars().next() {
            let next = at + c.len_utf8();
            if let Some(q) = quote {
                if c == '\\' && !self.text[next..].starts_with('\n') {
                    at = next + self.text[next..].chars().next().map_or(0, char::len_utf8);
                    continue;
                }
                if c == q || c == '\n' {
                    quote = None;
                }
                if c != '\n' {
                    at = next;
                    continue;
                }
            }
            if self.text[at..].starts_with("/*") {
                let end = self.text[at + 2..].find("*/").map(|i| at + 2 + i + 2);
                self.open_comment = if end.is_none() { Some(at) } else { None };
                at = end.unwrap_or(self.text.len());
                continue;
            }
            if self.starts_comment(at) {
                self.at = (self.line_end(at) + 1).min(self.text.len());
                return Some(start..at);
            }
            if c == '\n' || Some(c) == self.syntax.separator {
                self.at = next;
                return Some(start..at);
            }
            if c == '"' || c == '\'' {
                quote = Some(c);
            }
            at = next;
        }
        self.at = self.text.len();
        Some(start..at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<&str> {
        Statements::new(text, &Syntax::DEFAULT).map(|r| &text[r]).collect()
    }

    #[test]
    fn strings_and_comments_hide_what_they_hold() {
        assert_eq!(split("a; b # c; d\ne"), ["a", " b ", "e"]);
        assert_eq!(split(".ascii \"#;\\\"//\" // x\ny"), [".ascii \"#;\\\"//\" ", "y"]);
        assert_eq!(split("a ';' b\n'\nc"), ["a ';' b", "'", "c"]);
        assert_eq!(split("a /* ; \n # */ b\nc"), ["a /* ; \n # */ b", "c"]);
        assert_eq!(split("a /* never ends\n b"), ["a /* never ends\n b"]);
        assert_eq!(split("\"\\\nb"), ["\"\\", "b"]);
        assert_eq!(split(""), Vec::<&str>::new());
    }

    #[test]
    fn a_hash_may_be_part_of_a_name() {
        let syntax = Syntax { hash_in_names: true, ..Syntax::DEFAULT };
        let text = "add t#1, x#y # t#2\n#3";
        let cut: Vec<&str> = Statements::new(text, &syntax).map(|r| &text[r]).collect();
        assert_eq!(cut, ["add t#1, x", ""]);
    }
}
