//! The parser: recursive descent that always returns a tree.
//!
//! For every text, [`parse`] returns a [`Module`] and the errors. After an error it continues at
//! the next statement or directive and marks the tree as incomplete. Opcodes are not looked up: an
//! instruction is a name, dotted words and operands in their general form. Grammar: PTX ISA 9.1,
//! chapters 4, 5, 10 and 11.
//!
//! Always holds: recursion is limited by [`MAX_DEPTH`]; every loop consumes a token or ends; the
//! lexer's last token repeats, so nothing reads beyond the end.

mod declaration;
mod directive;
mod instruction;
mod operand;
mod outline;

pub use outline::parse_kernels;
pub(crate) use outline::{BytesRead, Definition, Outline, STRINGS};

use isa::{Diagnostic, Diagnostics, FileId, Span};

use crate::ast::{MAX_DEPTH, Module, Name, Operand};
use crate::lexer::{Lexer, Token, TokenKind};
use crate::names::Symbol;

/// An error that was reported; the caller only has to continue somewhere.
struct Failed;

type Parsed<T> = Result<T, Failed>;

/// Reads a PTX file.
///
/// Never fails: the tree holds all that could be read, and [`Module::incomplete`] says whether
/// something is missing. Errors have the codes `ptx::...` and places in `file`.
#[must_use]
pub fn parse(file: FileId, text: &str) -> (Module, Diagnostics) {
    if u32::try_from(text.len()).is_err() {
        let mut diagnostics = Diagnostics::new();
        let message = format!("the file has {} bytes; the limit is 4 GiB", text.len());
        diagnostics.push(Diagnostic::error("ptx::too-large", message));
        let mut module = Module::new(file);
        module.incomplete = true;
        return (module, diagnostics);
    }
    let mut parser = Parser::new(file, text);
    parser.module();
    parser.module.incomplete = parser.diagnostics.has_errors();
    (parser.module, parser.diagnostics)
}

#[derive(Clone)]
struct Parser<'a> {
    text: &'a str,
    lexer: Lexer<'a>,
    /// The current token.
    token: Token,
    /// End of the token before it.
    prev_end: u32,
    module: Module,
    diagnostics: Diagnostics,
    /// Operands of lists that are not finished.
    scratch: Vec<Operand>,
    skipping: outline::Skipping,
    /// Nesting of operands and expressions.
    depth: u16,
    /// Open braces inside the statement being read, so that recovery does not take theirs for a
    /// scope's.
    braces: u32,
}

impl<'a> Parser<'a> {
    fn new(file: FileId, text: &'a str) -> Self {
        let mut parser = Self {
            text,
            lexer: Lexer::new(file, text),
            token: Token { kind: TokenKind::End, start: 0, end: 0 },
            prev_end: 0,
            module: Module::new(file),
            diagnostics: Diagnostics::new(),
            scratch: Vec::new(),
            skipping: outline::Skipping::default(),
            depth: 0,
            braces: 0,
        };
        parser.bump();
        parser
    }

    // Tokens.

    #[inline]
    fn kind(&self) -> TokenKind {
        self.token.kind
    }

    #[inline]
    fn bump(&mut self) {
        self.prev_end = self.token.end;
        self.token = self.lexer.next_token();
        if !self.lexer.diagnostics.is_empty() {
            self.diagnostics.append(std::mem::take(&mut self.lexer.diagnostics));
        }
    }

    /// Takes the token if it is of this kind.
    #[inline]
    fn eat(&mut self, kind: TokenKind) -> bool {
        let there = self.kind() == kind;
        if there {
            self.bump();
        }
        there
    }

    fn slice(&self) -> &'a str {
        self.text.get(self.token.start as usize..self.token.end as usize).unwrap_or("")
    }

    fn span(&self) -> Span {
        Span::new(self.module.file, self.token.start, self.token.end)
    }

    /// From `start` to the end of the token taken last.
    fn since(&self, start: u32) -> Span {
        Span::new(self.module.file, start, self.prev_end.max(start))
    }

    /// The symbol of the token, without its dot if it is a dotted word.
    #[inline]
    fn symbol(&mut self) -> Symbol {
        let slice = self.slice();
        let word = slice.strip_prefix('.').unwrap_or(slice);
        self.module.names.intern(word)
    }

    /// Takes an identifier or dotted word.
    #[inline]
    fn take_name(&mut self) -> Name {
        let name = Name { symbol: self.symbol(), span: self.span() };
        self.skipping.note(name.symbol);
        self.bump();
        name
    }

    fn name(&mut self, what: &str) -> Parsed<Name> {
        if self.kind() == TokenKind::Ident {
            return Ok(self.take_name());
        }
        Err(self.fail(what))
    }

    fn expect(&mut self, kind: TokenKind) -> Parsed<()> {
        if self.eat(kind) { Ok(()) } else { Err(self.fail(kind.describe())) }
    }

    /// Returns whether the token is the first of its line. Called only after an error.
    fn at_line_start(&self) -> bool {
        let gap = self.text.get(self.prev_end as usize..self.token.start as usize).unwrap_or("");
        gap.contains('\n') || self.kind() == TokenKind::End
    }

    // Errors.

    fn found(&self) -> String {
        match self.kind() {
            TokenKind::End => "the end of the file".to_owned(),
            _ => {
                let slice = self.slice();
                match slice.char_indices().nth(40) {
                    Some((at, _)) => format!("`{}...`", &slice[..at]),
                    None => format!("`{slice}`"),
                }
            }
        }
    }

    /// Reports an error at the token: something else was expected. A token that is missing at the
    /// end of a line is shown there.
    #[cold]
    fn expected(&self, what: &str) -> Diagnostic {
        let message = format!("expected {what}, found {}", self.found());
        let span = if self.at_line_start() && self.prev_end > 0 {
            Span::new(self.module.file, self.prev_end, self.prev_end)
        } else {
            self.span()
        };
        Diagnostic::error("ptx::syntax", message).at(span, format!("{what} expected here"))
    }

    #[cold]
    fn fail(&mut self, what: &str) -> Failed {
        let diagnostic = self.expected(what);
        self.report(diagnostic)
    }

    /// The same where nothing is missing: the token itself must not be here.
    #[cold]
    fn misplaced(&mut self, what: &str) -> Failed {
        let message = format!("expected {what}, found {}", self.found());
        let at = self.span();
        self.report(Diagnostic::error("ptx::syntax", message).at(at, "not expected here"))
    }

    #[cold]
    fn report(&mut self, diagnostic: Diagnostic) -> Failed {
        self.diagnostics.push(diagnostic);
        Failed
    }

    // Depth.

    fn enter(&mut self) -> Parsed<()> {
        if self.depth >= MAX_DEPTH {
            let diagnostic = Diagnostic::error("ptx::nesting", "nested too deeply")
                .at(self.span(), format!("more than {MAX_DEPTH} levels"));
            return Err(self.report(diagnostic));
        }
        self.depth += 1;
        Ok(())
    }

    fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    // Recovery.

    /// Discards the unfinished parts of a statement with an error.
    fn abandon(&mut self) -> u32 {
        self.scratch.clear();
        self.depth = 0;
        std::mem::take(&mut self.braces)
    }

    /// Returns whether the token looks like the first of a statement: it begins a line and is a
    /// directive, a guard, an opcode with modifiers, a label, or a brace.
    fn begins_statement(&self) -> bool {
        if !self.at_line_start() {
            return false;
        }
        match self.kind() {
            TokenKind::Dotted | TokenKind::At | TokenKind::OpenBrace | TokenKind::CloseBrace => {
                true
            }
            TokenKind::Ident => {
                let rest = self.text.get(self.token.end as usize..).unwrap_or("");
                rest.starts_with(['.', ':', ';']) || rest.trim_start().starts_with(':')
            }
            _ => self.kind() == TokenKind::End,
        }
    }

    /// Skips the rest of a statement in a body.
    #[cold]
    fn skip_statement(&mut self) {
        let mut braces = self.abandon();
        if self.begins_statement() {
            return;
        }
        let (stop, semicolon) = self.rest_of_line();
        while self.token.start < stop && self.kind() != TokenKind::End {
            if self.kind() == TokenKind::CloseBrace && !semicolon {
                if braces == 0 {
                    return;
                }
                braces -= 1;
            }
            self.bump();
        }
        loop {
            match self.kind() {
                TokenKind::Semi => return self.bump(),
                TokenKind::End => return,
                _ if self.begins_statement() => return,
                _ => self.bump(),
            }
        }
    }

    /// Returns the position of the next `;` or of the line's end, whichever comes first, and
    /// whether it is the `;`. (One in a comment counts; that only shortens the text that is
    /// skipped.)
    fn rest_of_line(&self) -> (u32, bool) {
        let rest = self.text.get(self.token.start as usize..).unwrap_or("");
        let length = rest.find([';', '\n']).unwrap_or(rest.len());
        (self.token.start + length as u32, rest[length..].starts_with(';'))
    }

    /// Skips to a directive that begins a line outside of braces, or to the end of the next
    /// semicolon.
    #[cold]
    fn skip_item(&mut self) {
        self.abandon();
        let mut open = 0_u32;
        loop {
            match self.kind() {
                TokenKind::End => return,
                TokenKind::OpenBrace => open += 1,
                TokenKind::CloseBrace if open <= 1 => return self.bump(),
                TokenKind::CloseBrace => open -= 1,
                TokenKind::Semi if open == 0 => return self.bump(),
                TokenKind::Dotted if open == 0 && self.at_line_start() => return,
                _ => {}
            }
            self.bump();
        }
    }

    /// Skips until one of `stops` or the end; takes none of them.
    #[cold]
    fn skip_until(&mut self, stops: &[TokenKind]) {
        self.abandon();
        while self.kind() != TokenKind::End && !stops.contains(&self.kind()) {
            self.bump();
        }
    }
}
