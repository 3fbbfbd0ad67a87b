//! PTX text to tokens.
//!
//! Tokens carry no payload: their text is the source at their byte range. White space, comments
//! (`//` and `/* */`), `#` lines left by a C preprocessor, `@@DWARF` lines of old compilers and NUL
//! padding are skipped. Text that is not a token becomes a diagnostic, and lexing continues after
//! it. Source: PTX ISA 9.1, chapter 4.

use isa::{Diagnostic, Diagnostics, FileId, Span};
use logos::{Filter, Lexer as Logos, Logos as _};

/// The kinds of tokens.
#[derive(logos::Logos, Clone, Copy, Debug, PartialEq, Eq)]
#[logos(skip r"[ \t\r\n\f\x0b\x00]+")]
#[logos(skip(r"(//|@@|#)[^\n]*", allow_greedy = true))]
pub enum TokenKind {
    /// `foo`, `%r1`, `$L__BB0_1`, `_`.
    #[regex(r"[A-Za-z_][A-Za-z0-9_$]*")]
    #[regex(r"[%$][A-Za-z0-9_$]+")]
    Ident,
    /// `.global`, `.2d`, `.L2::128B`: a directive, a modifier, a member, a type.
    #[regex(r"\.[A-Za-z0-9_$]+(::[A-Za-z0-9_]+)*")]
    Dotted,
    /// An integer: decimal, `0x`, `0b` or octal, with an optional `U`.
    #[regex(r"0[xX][0-9a-fA-F]+U?", priority = 10)]
    #[regex(r"0[bB][01]+U?", priority = 10)]
    #[regex(r"0[0-7]*U?", priority = 10)]
    #[regex(r"[1-9][0-9]*U?", priority = 10)]
    Int,
    /// `0f3F800000`: the bits of an f32.
    #[regex(r"0[fF][0-9a-fA-F]{8}", priority = 10)]
    HexF32,
    /// `0d3FF0000000000000`: the bits of an f64.
    #[regex(r"0[dD][0-9a-fA-F]{16}", priority = 10)]
    HexF64,
    /// A decimal floating-point number.
    #[regex(r"[0-9]+\.[0-9]*([eE][+-]?[0-9]+)?", priority = 9)]
    #[regex(r"[0-9]+[eE][+-]?[0-9]+", priority = 9)]
    #[regex(r"\.[0-9]+[eE][+-][0-9]+", priority = 20)]
    Float,
    /// Digits that are not a number, such as `09` or `0f3F8`.
    #[regex(r"[0-9][A-Za-z0-9_$]*", priority = 1)]
    BadNumber,
    /// A string with its quotes.
    #[regex(r#""([^"\\\n]|\\[^\n])*""#)]
    Text,
    /// `,`
    #[token(",")]
    Comma,
    /// `;`
    #[token(";")]
    Semi,
    /// `:`
    #[token(":")]
    Colon,
    /// `{`
    #[token("{")]
    OpenBrace,
    /// `}`
    #[token("}")]
    CloseBrace,
    /// `(`
    #[token("(")]
    OpenParen,
    /// `)`
    #[token(")")]
    CloseParen,
    /// `[`
    #[token("[")]
    OpenBracket,
    /// `]`
    #[token("]")]
    CloseBracket,
    /// `<`
    #[token("<")]
    Less,
    /// `>`
    #[token(">")]
    Greater,
    /// `<=`
    #[token("<=")]
    LessEqual,
    /// `>=`
    #[token(">=")]
    GreaterEqual,
    /// `==`
    #[token("==")]
    EqualEqual,
    /// `!=`
    #[token("!=")]
    NotEqual,
    /// `<<`
    #[token("<<")]
    ShiftLeft,
    /// `>>`
    #[token(">>")]
    ShiftRight,
    /// `&&`
    #[token("&&")]
    AndAnd,
    /// `||`
    #[token("||")]
    OrOr,
    /// `+`
    #[token("+")]
    Plus,
    /// `-`
    #[token("-")]
    Minus,
    /// `*`
    #[token("*")]
    Star,
    /// `/`
    #[token("/")]
    Slash,
    /// `%` between spaces; next to a letter or digit it begins a name.
    #[token("%")]
    Percent,
    /// `!`
    #[token("!")]
    Bang,
    /// `~`
    #[token("~")]
    Tilde,
    /// `&`
    #[token("&")]
    And,
    /// `|`
    #[token("|")]
    Or,
    /// `^`
    #[token("^")]
    Caret,
    /// `?`
    #[token("?")]
    Question,
    /// `=`
    #[token("=")]
    Equal,
    /// `@`
    #[token("@")]
    At,
    /// A comment; never returned, it is skipped.
    #[token("/*", block_comment)]
    Comment,
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

/// Skips to the end of the comment; one that never ends takes the rest of the text.
fn block_comment(lexer: &mut Logos<'_, TokenKind>) -> Filter<()> {
    match lexer.remainder().find("*/") {
        Some(at) => {
            lexer.bump(at + 2);
            Filter::Skip
        }
        None => {
            lexer.bump(lexer.remainder().len());
            // Distinguished from a whole comment by its missing `*/`; see `Lexer::next`.
            Filter::Emit(())
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

/// A stream of tokens that ends with [`TokenKind::End`], again and again.
pub struct Lexer<'a> {
    inner: Logos<'a, TokenKind>,
    file: FileId,
    /// Text that is not a token.
    pub diagnostics: Diagnostics,
}

impl<'a> Lexer<'a> {
    /// Returns a lexer over a whole file of less than 4 GiB. A byte order mark in front is skipped.
    #[must_use]
    pub fn new(file: FileId, text: &'a str) -> Self {
        let mut inner = TokenKind::lexer(text);
        if text.starts_with(BYTE_ORDER_MARK) {
            inner.bump(BYTE_ORDER_MARK.len_utf8());
        }
        Self { inner, file, diagnostics: Diagnostics::new() }
    }

    /// The next token.
    #[inline]
    pub fn next_token(&mut self) -> Token {
        loop {
            match self.inner.next() {
                Some(Ok(TokenKind::Comment)) => self.unterminated_comment(),
                Some(Ok(kind)) => {
                    let span = self.inner.span();
                    return Token { kind, start: span.start as u32, end: span.end as u32 };
                }
                Some(Err(())) => self.no_token(),
                None => {
                    let end = self.inner.source().len() as u32;
                    return Token { kind: TokenKind::End, start: end, end };
                }
            }
        }
    }

    fn span(&self) -> Span {
        let span = self.inner.span();
        Span::new(self.file, span.start as u32, span.end as u32)
    }

    #[cold]
    fn unterminated_comment(&mut self) {
        let span = self.span();
        let opening = Span::new(span.file, span.start, span.start + 2);
        self.diagnostics.push(
            Diagnostic::error("ptx::unterminated-comment", "a comment without end")
                .at(opening, "opened here")
                .help("close it with `*/`"),
        );
    }

    #[cold]
    fn no_token(&mut self) {
        let span = self.span();
        let slice = self.inner.slice();
        let found = if slice.starts_with('"') {
            // The string's regular expression stopped at the end of the line; so does this.
            let rest = self.inner.remainder();
            let line = rest.find('\n').unwrap_or(rest.len());
            self.inner.bump(line);
            Diagnostic::error("ptx::unterminated-string", "a string without end")
                .at(Span::new(span.file, span.start, span.start + 1), "opened here")
                .help("close it with `\"` on the same line")
        } else {
            let shown =
                slice.chars().next().map_or_else(String::new, |c| c.escape_debug().to_string());
            Diagnostic::error("ptx::stray-character", format!("`{shown}` means nothing in PTX"))
                .at(span, "skipped")
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
