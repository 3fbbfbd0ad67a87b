//! Tokens of the text form. Lexing never fails: what is not a token becomes one of kind `Bad`,
//! which the parser reports.

use isa::{FileId, Span};

/// Kinds of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tok {
    /// A word, dots included: `ld.param.u32`.
    Word,
    /// Begins with a digit.
    Number,
    /// `%name` or `%"name"`.
    Reg,
    /// `@name` or `@"name"`.
    Sym,
    /// `@@name`: a symbol of the module.
    ModuleSym,
    /// `"..."`.
    Str,
    /// A single character, or `>` of `->` after its `-`.
    Punct(u8),
    /// The end of a line.
    Newline,
    /// A string without its closing quote.
    Unterminated,
    /// A character that begins no token.
    Bad,
    /// The end of the text.
    End,
}

/// A token.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    /// What.
    pub(super) kind: Tok,
    /// Where, sigils and quotes included.
    pub(super) span: Span,
}

/// Whether a byte may stand in an unquoted name.
fn in_name(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'.')
}

/// Whether a name can be written without quotes after a sigil.
pub(super) fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(in_name)
}

/// Whether a name can be written without quotes and without a sigil.
pub(super) fn is_word(name: &str) -> bool {
    is_plain(name) && !name.as_bytes()[0].is_ascii_digit()
}

struct Lexer<'t> {
    bytes: &'t [u8],
    at: usize,
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn name(&mut self) {
        while in_name(self.peek(0)) {
            self.at += 1;
        }
    }

    /// Number characters, and the sign of a decimal exponent.
    fn number(&mut self) {
        let hex = self.peek(0) == b'0' && matches!(self.peek(1), b'x' | b'X');
        loop {
            let exponent = !hex && matches!(self.peek(0), b'e' | b'E');
            if exponent && matches!(self.peek(1), b'+' | b'-') && self.peek(2).is_ascii_digit() {
                self.at += 2;
            } else if in_name(self.peek(0)) {
                self.at += 1;
            } else {
                return;
            }
        }
    }

    /// From the opening quote. Whether it is closed on its line.
    fn string(&mut self) -> bool {
        self.at += 1;
        loop {
            match self.peek(0) {
                b'"' => {
                    self.at += 1;
                    return true;
                }
                b'\\' if !matches!(self.peek(1), b'\n' | 0) => self.at += 2,
                b'\n' => return false,
                0 if self.at >= self.bytes.len() => return false,
                _ => self.at += 1,
            }
        }
    }

    /// A name or string after a sigil of `sigil` bytes.
    fn after_sigil(&mut self, sigil: usize, kind: Tok) -> Tok {
        self.at += sigil;
        if self.peek(0) != b'"' {
            self.name();
            kind
        } else if self.string() {
            kind
        } else {
            Tok::Unterminated
        }
    }

    fn token(&mut self) -> Tok {
        let named = |b: u8| in_name(b) || b == b'"';
        match self.peek(0) {
            b'\n' => {
                self.at += 1;
                Tok::Newline
            }
            b'%' if named(self.peek(1)) => self.after_sigil(1, Tok::Reg),
            b'@' if named(self.peek(1)) => self.after_sigil(1, Tok::Sym),
            b'@' if self.peek(1) == b'@' && named(self.peek(2)) => {
                self.after_sigil(2, Tok::ModuleSym)
            }
            b'"' => self.after_sigil(0, Tok::Str),
            b if b.is_ascii_digit() => {
                self.number();
                Tok::Number
            }
            b if in_name(b) => {
                self.name();
                Tok::Word
            }
            b if b"()[]{},:=+-!@<>".contains(&b) => {
                self.at += 1;
                Tok::Punct(b)
            }
            _ => {
                self.at += 1;
                while self.at < self.bytes.len() && self.bytes[self.at] & 0xc0 == 0x80 {
                    self.at += 1;
                }
                Tok::Bad
            }
        }
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(0), b' ' | b'\t' | b'\r') {
            self.at += 1;
        }
        if self.peek(0) == b'/' && self.peek(1) == b'/' {
            while self.at < self.bytes.len() && self.bytes[self.at] != b'\n' {
                self.at += 1;
            }
        }
    }
}

/// All tokens of a text of less than 2^32 bytes, the last one of kind `End`.
pub(super) fn lex(file: FileId, text: &str) -> Vec<Token> {
    let mut lexer = Lexer { bytes: text.as_bytes(), at: 0 };
    let mut out = Vec::new();
    loop {
        lexer.skip_blanks();
        let start = lexer.at;
        let kind = if start >= text.len() { Tok::End } else { lexer.token() };
        out.push(Token { kind, span: Span::new(file, start as u32, lexer.at as u32) });
        if kind == Tok::End {
            return out;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(Tok, &str)> {
        let tokens = lex(FileId(0), text);
        tokens.iter().map(|t| (t.kind, &text[t.span.range()])).collect()
    }

    #[test]
    fn sigils_guards_and_numbers() {
        use Tok::*;
        assert_eq!(
            kinds("@!%p @f @@\"a b\" 1e-5+0xe-1 // c"),
            [
                (Punct(b'@'), "@"),
                (Punct(b'!'), "!"),
                (Reg, "%p"),
                (Sym, "@f"),
                (ModuleSym, "@@\"a b\""),
                (Number, "1e-5"),
                (Punct(b'+'), "+"),
                (Number, "0xe"),
                (Punct(b'-'), "-"),
                (Number, "1"),
                (End, ""),
            ]
        );
    }

    #[test]
    fn what_is_no_token_is_kept_whole() {
        assert_eq!(
            kinds("ü\"x\n\\"),
            [
                (Tok::Bad, "ü"),
                (Tok::Unterminated, "\"x"),
                (Tok::Newline, "\n"),
                (Tok::Bad, "\\"),
                (Tok::End, "")
            ]
        );
    }
}
