//! PTX text to tokens.
//!
//! Tokens carry no payload: their text is the source at their byte range. White space, comments
//! (`//` and `/* */`), `#` lines left by a C preprocessor, `@@DWARF` lines of old compilers and NUL
//! padding are skipped. Text that is not a token becomes a diagnostic, and lexing continues after
//! it. Source: PTX ISA 9.1, chapter 4.

use isa::{Diagnostic, Diagnostics, FileId, Span};

/// The kinds of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// A name: `foo`, `%r1`, `$L__BB0_1`, `_`.
    Ident,
    /// `.global`, `.2d`, `.L2::128B`: a directive, a modifier, a member, a type.
    Dotted,
    /// An integer: decimal, `0x`, `0b` or octal, with an optional `U`.
    Int,
    /// `0f3F800000`: the bits of an f32.
    HexF32,
    /// `0d3FF0000000000000`: the bits of an f64.
    HexF64,
    /// A decimal floating-point number.
    Float,
    /// Digits that are not a number, such as `09` or `0f3F8`.
    BadNumber,
    /// A string with its quotes.
    Text,
    /// `,`
    Comma,
    /// `;`
    Semi,
    /// `:`
    Colon,
    /// `{`
    OpenBrace,
    /// `}`
    CloseBrace,
    /// `(`
    OpenParen,
    /// `)`
    CloseParen,
    /// `[`
    OpenBracket,
    /// `]`
    CloseBracket,
    /// `<`
    Less,
    /// `>`
    Greater,
    /// `<=`
    LessEqual,
    /// `>=`
    GreaterEqual,
    /// `==`
    EqualEqual,
    /// `!=`
    NotEqual,
    /// `<<`
    ShiftLeft,
    /// `>>`
    ShiftRight,
    /// `&&`
    AndAnd,
    /// `||`
    OrOr,
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `*`
    Star,
    /// `/`
    Slash,
    /// `%` between spaces; next to a letter or digit it begins a name.
    Percent,
    /// `!`
    Bang,
    /// `~`
    Tilde,
    /// `&`
    And,
    /// `|`
    Or,
    /// `^`
    Caret,
    /// `?`
    Question,
    /// `=`
    Equal,
    /// `@`
    At,
    /// The end of the text.
    End,
}

impl TokenKind {
    /// The token's name in a message, where that does not depend on its text.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::Ident => "a name",
            Self::Dotted => "a dotted word",
            Self::Int | Self::HexF32 | Self::HexF64 | Self::Float | Self::BadNumber => "a number",
            Self::Text => "a string",
            Self::Comma => "`,`",
            Self::Semi => "`;`",
            Self::Colon => "`:`",
            Self::OpenBrace => "`{`",
            Self::CloseBrace => "`}`",
            Self::OpenParen => "`(`",
            Self::CloseParen => "`)`",
            Self::OpenBracket => "`[`",
            Self::CloseBracket => "`]`",
            Self::Less => "`<`",
            Self::Greater => "`>`",
            Self::Equal => "`=`",
            Self::At => "`@`",
            Self::End => "the end of the file",
            _ => "an operator",
        }
    }
}

/// The mark that some editors put in front of a file in UTF-8.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// A token and its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// Its kind.
    pub kind: TokenKind,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// What a byte may be in a token.
mod class {
    /// Decimal digits.
    pub(super) const DIGIT: u8 = 1;
    /// Letters, digits, `_` and `$`: the rest of a name.
    pub(super) const NAME: u8 = 2;
    /// Letters and `_`: the first byte of a name, as are `%` and `$` before another of [`NAME`].
    pub(super) const FIRST: u8 = 4;
    /// White space and the NUL padding of texts that a compiler embedded.
    pub(super) const SPACE: u8 = 8;

    /// The classes of each byte.
    pub(super) const OF: [u8; 256] = {
        let mut of = [0; 256];
        let mut byte = 0;
        while byte < 256 {
            of[byte] = match byte as u8 {
                b'0'..=b'9' => DIGIT | NAME,
                b'a'..=b'z' | b'A'..=b'Z' | b'_' => NAME | FIRST,
                b'$' => NAME,
                b' ' | b'\t' | b'\r' | b'\n' | 0x0b | 0x0c | 0 => SPACE,
                _ => 0,
            };
            byte += 1;
        }
        of
    };
}

/// Returns the first place from `at` on whose byte has none of some classes.
#[inline]
fn skip(text: &[u8], mut at: usize, classes: u8) -> usize {
    while text.get(at).is_some_and(|&b| class::OF[usize::from(b)] & classes != 0) {
        at += 1;
    }
    at
}

/// Returns the end of the line that `at` is in: its line feed, or the end of the text.
fn line_end(text: &[u8], at: usize) -> usize {
    text[at..].iter().position(|&b| b == b'\n').map_or(text.len(), |n| at + n)
}

/// Returns the end of an exponent at `at`: `e` or `E`, a sign, digits.
fn exponent(text: &[u8], at: usize, needs_sign: bool) -> Option<usize> {
    let is = |at: usize, bytes: &[u8]| text.get(at).is_some_and(|b| bytes.contains(b));
    let sign = usize::from(is(at + 1, b"+-"));
    let digits = at + 1 + sign;
    let end = skip(text, digits, class::DIGIT);
    (is(at, b"eE") && sign >= usize::from(needs_sign) && end > digits).then_some(end)
}

/// Reads a number, or a word that begins with a digit and is not one.
fn number(text: &[u8], start: usize) -> (TokenKind, usize) {
    let word = skip(text, start, class::NAME);
    let digits = skip(text, start, class::DIGIT);
    let float = if text.get(digits) == Some(&b'.') {
        let fraction = skip(text, digits + 1, class::DIGIT);
        exponent(text, fraction, false).unwrap_or(fraction)
    } else {
        exponent(text, digits, false).unwrap_or(start)
    };
    // The longest token counts: `1e+5` and `1.5` are longer than the words `1e` and `1`.
    if float >= word {
        return (TokenKind::Float, float);
    }
    (number_kind(&text[start..word]), word)
}

/// Returns what a word that begins with a digit is.
fn number_kind(word: &[u8]) -> TokenKind {
    let all = |digits: &[u8], such: fn(&u8) -> bool| digits.iter().all(such);
    let integer = word.strip_suffix(b"U").unwrap_or(word);
    let is_integer = match integer {
        [b'0', b'x' | b'X', digits @ ..] => {
            !digits.is_empty() && all(digits, u8::is_ascii_hexdigit)
        }
        [b'0', b'b' | b'B', digits @ ..] => {
            !digits.is_empty() && all(digits, |b| matches!(b, b'0' | b'1'))
        }
        [b'0', digits @ ..] => all(digits, |b| (b'0'..=b'7').contains(b)),
        digits => all(digits, u8::is_ascii_digit),
    };
    match word {
        _ if is_integer => TokenKind::Int,
        [b'0', b'f' | b'F', bits @ ..] if bits.len() == 8 && all(bits, u8::is_ascii_hexdigit) => {
            TokenKind::HexF32
        }
        [b'0', b'd' | b'D', bits @ ..] if bits.len() == 16 && all(bits, u8::is_ascii_hexdigit) => {
            TokenKind::HexF64
        }
        _ => TokenKind::BadNumber,
    }
}

/// Reads what begins with a dot: a dotted word, or a fraction with an exponent and its sign. So
/// `.5e3` is a word.
fn dotted(text: &[u8], start: usize) -> Option<(TokenKind, usize)> {
    let digits = skip(text, start + 1, class::DIGIT);
    if digits > start + 1
        && let Some(end) = exponent(text, digits, true)
    {
        return Some((TokenKind::Float, end));
    }
    let mut end = skip(text, start + 1, class::NAME);
    if end == start + 1 {
        return None;
    }
    while text[end..].starts_with(b"::") {
        let part = end + 2;
        let mut next = part;
        while text.get(next).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_') {
            next += 1;
        }
        if next == part {
            break;
        }
        end = next;
    }
    Some((TokenKind::Dotted, end))
}

/// Returns the end of a string, its closing quote included, if its line has one. A backslash takes
/// the next character along, but not the end of the line.
fn string(text: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        at += match text.get(at)? {
            b'"' => return Some(at + 1),
            b'\n' => return None,
            b'\\' if text.get(at + 1)? == &b'\n' => return None,
            b'\\' => 2,
            _ => 1,
        };
    }
}

/// Bytes that [`closing`] looks at together.
const BLOCK: usize = 32;

/// Whether there is a whole block, and nothing in it that [`closing`] looks at.
#[inline]
fn is_plain(text: &[u8], at: usize) -> bool {
    let (Some(block), Some(before)) = (text.get(at..at + BLOCK), text.get(at - 1..)) else {
        return false;
    };
    let mut special = false;
    for (&byte, &before) in block.iter().zip(before) {
        special |= (byte == b'{') | (byte == b'}') | (byte == b'"') | (byte == b'#');
        special |= (byte == b'/') | (byte == b'@') | ((byte == b'.') & (before <= b' '));
    }
    !special
}

/// Returns the place after the brace that closes the one at `open`, without reading what is between
/// them. `None` if there is none, or a function begins before it.
pub(crate) fn closing(text: &str, open: u32) -> Option<u32> {
    let text = text.as_bytes();
    let (mut at, mut depth) = (open as usize, 0_u32);
    // The end of the block in which there is something to be looked at.
    let mut looked = 0;
    loop {
        if at >= looked && at > 0 {
            while is_plain(text, at) {
                at += BLOCK;
            }
            looked = at + BLOCK;
        }
        let byte = *text.get(at)?;
        at += 1;
        match byte {
            b'{' => depth += 1,
            b'}' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at as u32);
                }
            }
            b'"' => at = string(text, at - 1)?,
            b'#' => at = line_end(text, at),
            b'/' if text.get(at) == Some(&b'/') => at = line_end(text, at),
            b'@' if text.get(at) == Some(&b'@') => at = line_end(text, at),
            b'/' if text.get(at) == Some(&b'*') => {
                let end = text[at + 1..].windows(2).position(|pair| pair == b"*/")?;
                at += 1 + end + 2;
            }
            b'.' if text[at..].starts_with(b"entry") || text[at..].starts_with(b"func") => {
                let before = class::OF[usize::from(text[at.saturating_sub(2)])];
                if before & class::SPACE != 0 {
                    return None;
                }
            }
            _ => {}
        }
    }
}

/// Reads an operator or a punctuation mark.
fn mark(text: &[u8], start: usize) -> Option<(TokenKind, usize)> {
    use TokenKind as T;
    let two = match (text[start], text.get(start + 1)) {
        (b'<', Some(b'=')) => Some(T::LessEqual),
        (b'>', Some(b'=')) => Some(T::GreaterEqual),
        (b'=', Some(b'=')) => Some(T::EqualEqual),
        (b'!', Some(b'=')) => Some(T::NotEqual),
        (b'<', Some(b'<')) => Some(T::ShiftLeft),
        (b'>', Some(b'>')) => Some(T::ShiftRight),
        (b'&', Some(b'&')) => Some(T::AndAnd),
        (b'|', Some(b'|')) => Some(T::OrOr),
        _ => None,
    };
    if let Some(kind) = two {
        return Some((kind, start + 2));
    }
    let kind = match text[start] {
        b',' => T::Comma,
        b';' => T::Semi,
        b':' => T::Colon,
        b'{' => T::OpenBrace,
        b'}' => T::CloseBrace,
        b'(' => T::OpenParen,
        b')' => T::CloseParen,
        b'[' => T::OpenBracket,
        b']' => T::CloseBracket,
        b'<' => T::Less,
        b'>' => T::Greater,
        b'+' => T::Plus,
        b'-' => T::Minus,
        b'*' => T::Star,
        b'/' => T::Slash,
        b'%' => T::Percent,
        b'!' => T::Bang,
        b'~' => T::Tilde,
        b'&' => T::And,
        b'|' => T::Or,
        b'^' => T::Caret,
        b'?' => T::Question,
        b'=' => T::Equal,
        b'@' => T::At,
        _ => return None,
    };
    Some((kind, start + 1))
}

/// A stream of tokens that ends with [`TokenKind::End`], again and again.
#[derive(Clone)]
pub struct Lexer<'a> {
    text: &'a str,
    /// The first byte that has not been read.
    at: usize,
    file: FileId,
    /// Text that is not a token.
    pub diagnostics: Diagnostics,
}

impl<'a> Lexer<'a> {
    /// Returns a lexer over a whole file of less than 4 GiB. A byte order mark in front is skipped.
    #[must_use]
    pub fn new(file: FileId, text: &'a str) -> Self {
        let at = if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len_utf8() } else { 0 };
        Self { text, at, file, diagnostics: Diagnostics::new() }
    }

    /// Goes on at a place in the text.
    pub(crate) fn seek(&mut self, at: u32) {
        self.at = at as usize;
    }

    /// The next token.
    #[inline]
    pub fn next_token(&mut self) -> Token {
        loop {
            self.skip_blanks();
            let start = self.at;
            let bytes = self.text.as_bytes();
            let Some(&first) = bytes.get(start) else {
                let end = bytes.len() as u32;
                return Token { kind: TokenKind::End, start: end, end };
            };
            let classes = class::OF[usize::from(first)];
            let is_name = classes & class::FIRST != 0
                || matches!(first, b'%' | b'$') && skip(bytes, start + 1, class::NAME) > start + 1;
            let token = match first {
                _ if is_name => Some((TokenKind::Ident, skip(bytes, start + 1, class::NAME))),
                _ if classes & class::DIGIT != 0 => Some(number(bytes, start)),
                b'.' => dotted(bytes, start),
                b'"' => string(bytes, start).map(|end| (TokenKind::Text, end)),
                _ => mark(bytes, start),
            };
            if let Some((kind, end)) = token {
                self.at = end;
                return Token { kind, start: start as u32, end: end as u32 };
            }
            self.no_token();
        }
    }

    /// Skips white space, comments, and lines that are not PTX.
    #[inline]
    fn skip_blanks(&mut self) {
        let bytes = self.text.as_bytes();
        loop {
            self.at = skip(bytes, self.at, class::SPACE);
            match bytes[self.at..] {
                [b'#', ..] | [b'/', b'/', ..] | [b'@', b'@', ..] => {
                    self.at = line_end(bytes, self.at);
                }
                [b'/', b'*', ..] => self.skip_comment(),
                _ => return,
            }
        }
    }

    /// Skips to the end of the comment; one that never ends takes the rest of the text.
    fn skip_comment(&mut self) {
        let start = self.at;
        match self.text[start + 2..].find("*/") {
            Some(length) => self.at = start + 2 + length + 2,
            None => {
                self.at = self.text.len();
                self.diagnostics.push(
                    Diagnostic::error("ptx::unterminated-comment", "a comment without end")
                        .at(self.span(start, start + 2), "opened here")
                        .help("close it with `*/`"),
                );
            }
        }
    }

    fn span(&self, start: usize, end: usize) -> Span {
        Span::new(self.file, start as u32, end as u32)
    }

    /// Reports and skips a string without end, with its line, or a character.
    #[cold]
    fn no_token(&mut self) {
        let start = self.at;
        let first = self.text[start..].chars().next().unwrap_or_default();
        let found = if first == '"' {
            self.at = line_end(self.text.as_bytes(), start);
            Diagnostic::error("ptx::unterminated-string", "a string without end")
                .at(self.span(start, start + 1), "opened here")
                .help("close it with `\"` on the same line")
        } else {
            self.at = start + first.len_utf8();
            let shown = first.escape_debug();
            Diagnostic::error("ptx::stray-character", format!("`{shown}` means nothing in PTX"))
                .at(self.span(start, self.at), "skipped")
                .note("PTX text outside comments and strings is ASCII")
        };
        self.diagnostics.push(found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use TokenKind::*;

    fn kinds(text: &str) -> (Vec<TokenKind>, usize) {
        let mut lexer = Lexer::new(FileId(0), text);
        let mut kinds = Vec::new();
        loop {
            match lexer.next_token().kind {
                End => break,
                kind => kinds.push(kind),
            }
        }
        (kinds, lexer.diagnostics.error_count())
    }

    fn clean(text: &str) -> Vec<TokenKind> {
        let (kinds, errors) = kinds(text);
        assert_eq!(errors, 0, "{text}");
        kinds
    }

    #[test]
    fn an_instruction() {
        assert_eq!(
            clean("@!%p1 add.s32 %r1, %tid.x, -4; // x"),
            [At, Bang, Ident, Ident, Dotted, Ident, Comma, Ident, Dotted, Comma, Minus, Int, Semi]
        );
    }

    #[test]
    fn a_byte_order_mark_is_skipped_in_front_and_only_there() {
        assert_eq!(kinds("\u{feff}a"), (vec![Ident], 0));
        assert_eq!(Lexer::new(FileId(0), "\u{feff}a").next_token().start, 3);
        assert_eq!(kinds("a \u{feff}b"), (vec![Ident, Ident], 1));
    }

    #[test]
    fn modifiers_with_colons_and_digits() {
        assert_eq!(clean("ld.L2::128B tex.2d a:").len(), 6);
        assert_eq!(clean(".mbarrier::complete_tx::bytes"), [Dotted]);
    }

    #[test]
    fn numbers() {
        assert_eq!(clean("0 7 017 0x1fU 0B101 9U"), [Int; 6]);
        assert_eq!(clean("0f3F800000 0d3FF0000000000000"), [HexF32, HexF64]);
        assert_eq!(clean("1.5 1. 1e3 2.5E-7 .5e-3"), [Float; 5]);
        assert_eq!(clean("09 0f3F8 0x 12ab"), [BadNumber; 4]);
    }

    #[test]
    fn comments_and_left_overs_are_skipped() {
        assert_eq!(clean("/* a * / ; */ a /**/ b\n# 1 \"x.c\"\n@@DWARF .b8 1\nc\0\0"), [Ident; 3]);
    }

    #[test]
    fn errors_do_not_stop_it() {
        assert_eq!(kinds("a ` é b"), (vec![Ident, Ident], 2));
        assert_eq!(kinds("a \"xy\nb"), (vec![Ident, Ident], 1));
        assert_eq!(kinds("a /* b"), (vec![Ident], 1));
        assert_eq!(kinds("% %r % 3"), (vec![Percent, Ident, Percent, Int], 0));
    }
}
