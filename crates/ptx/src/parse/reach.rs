//! Reads the bodies of some kernels and of what they can reach, and skips all others.
//!
//! A launch needs one kernel, and a file may have thousands. A function counts as reachable if its
//! name stands in a body that is read, or in a module variable or alias: more than can be called,
//! never less.

use isa::{Diagnostics, FileId, Span};
use rustc_hash::FxHashMap;

use super::{Parser, parse};
use crate::ast::{Function, FunctionKind, Item, Module, Statement};
use crate::lexer::{Lexer, Token, TokenKind, closing};
use crate::names::Symbol;
use crate::pool::{Id, Run};

/// A function whose body has been skipped, and the place of the opening brace.
pub(super) type Skipped = (Id<Function>, u32);

/// Reads a PTX file as [`parse`] does, but skips bodies that kernels of these names cannot reach.
/// Errors in these are not reported.
///
/// A kernel whose body was skipped has an empty one, any other function none.
#[must_use]
pub fn parse_kernels(file: FileId, text: &str, kernels: &[&str]) -> (Module, Diagnostics) {
    // The whole file tells best what is wrong.
    parse_some(file, text, kernels).unwrap_or_else(|| parse(file, text))
}

fn parse_some(file: FileId, text: &str, kernels: &[&str]) -> Option<(Module, Diagnostics)> {
    u32::try_from(text.len()).ok()?;
    let mut parser = Parser::new(file, text);
    parser.skipped = Some(Vec::new());
    parser.module();
    let skipped = parser.skipped.take()?;
    let mut unread: FxHashMap<Symbol, Skipped> = FxHashMap::default();
    for (id, brace) in skipped {
        let name = parser.module.functions[id].signature.name.symbol;
        if unread.insert(name, (id, brace)).is_some() {
            return None;
        }
    }
    let mut reached: Vec<Symbol> =
        kernels.iter().filter_map(|name| parser.module.names.find(name)).collect();
    let items = parser.module.items.iter().filter_map(|item| match item {
        Item::Variable(id) => Some(parser.module.declarations[*id].span),
        Item::Alias { span, .. } => Some(*span),
        _ => None,
    });
    for span in items.collect::<Vec<_>>() {
        parser.names_in(span, &mut reached);
    }
    while let Some(name) = reached.pop() {
        let Some((id, brace)) = unread.remove(&name) else { continue };
        parser.jump(brace);
        let body = parser.body();
        parser.module.functions[id].body = Some(body);
        let span = Span::new(file, brace, parser.prev_end);
        parser.names_in(span, &mut reached);
    }
    (!parser.diagnostics.has_errors()).then_some((parser.module, parser.diagnostics))
}

impl Parser<'_> {
    /// Skips the body that begins here, if bodies are to be skipped and it has an end. Returns what
    /// takes its place, and the place of its opening brace.
    pub(super) fn skip_body(
        &mut self,
        kind: FunctionKind,
    ) -> Option<(Option<Run<Statement>>, u32)> {
        self.skipped.as_ref()?;
        let brace = self.token.start;
        let end = closing(self.text, brace)?;
        self.jump(end);
        Some(((kind == FunctionKind::Entry).then(Run::empty), brace))
    }

    /// Goes on at a place in the text.
    fn jump(&mut self, to: u32) {
        self.lexer.seek(to);
        self.token = Token { kind: TokenKind::End, start: to, end: to };
        self.bump();
    }

    /// Adds the names in a part of the text that stand somewhere else, too.
    fn names_in(&self, span: Span, to: &mut Vec<Symbol>) {
        let mut lexer = Lexer::new(span.file, self.text);
        lexer.seek(span.start);
        loop {
            let token = lexer.next_token();
            if token.kind == TokenKind::End || token.start >= span.end {
                return;
            }
            if token.kind == TokenKind::Ident {
                let word = &self.text[token.start as usize..token.end as usize];
                to.extend(self.module.names.find(word));
            }
        }
    }
}
