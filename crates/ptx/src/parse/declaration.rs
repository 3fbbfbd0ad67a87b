//! Declarations: parameters, registers, variables, initialisers, lists of targets.

use isa::Diagnostic;

use super::outline::Owner;
use super::{Parsed, Parser};
use crate::ast::{
    Declaration, Declarator, Directive, Init, InitKind, Linkage, MAX_DEPTH, Operand, OperandKind,
    PtrQualifier, Space,
};
use crate::lexer::TokenKind;
use crate::names::kw;
use crate::pool::Run;

impl Parser<'_> {
    pub(super) fn parameters(&mut self) -> Parsed<Run<Declaration>> {
        let mut params = Vec::new();
        if !self.eat(TokenKind::OpenParen) || self.eat(TokenKind::CloseParen) {
            return Ok(Run::empty());
        }
        loop {
            match self.parameter() {
                Ok(parameter) => params.push(parameter),
                Err(_) => {
                    let stops = [
                        TokenKind::Comma,
                        TokenKind::CloseParen,
                        TokenKind::OpenBrace,
                        TokenKind::Semi,
                    ];
                    self.skip_until(&stops);
                }
            }
            if self.eat(TokenKind::Comma) {
                continue;
            }
            if !self.eat(TokenKind::CloseParen) {
                self.fail("`,` or `)`");
                self.skip_until(&[TokenKind::OpenBrace, TokenKind::Semi]);
            }
            return Ok(self.module.declarations.push_all(params));
        }
    }

    fn parameter(&mut self) -> Parsed<Declaration> {
        let start = self.token.start;
        let is_space =
            self.kind() == TokenKind::Dotted && Space::from_symbol(self.symbol()).is_some();
        if !is_space {
            return Err(self.fail("a parameter such as `.param .u64 a`"));
        }
        let mut declaration = self.declaration_head(None)?;
        let declarator = self.declarator(false)?;
        declaration.declarators = self.module.declarators.push_all([declarator]);
        declaration.span = self.since(start);
        Ok(declaration)
    }

    /// A declaration with its semicolon.
    pub(super) fn declaration(
        &mut self,
        linkage: Option<Linkage>,
        start: u32,
    ) -> Parsed<Declaration> {
        let mut declaration = self.declaration_head(linkage)?;
        let mut declarators = Vec::with_capacity(1);
        let mut skipped = Vec::new();
        loop {
            declarators.push(self.declarator(true)?);
            if let Some(part) = self.skipping.take_pending() {
                skipped.push((declarators.len() - 1, part));
            }
            if self.eat(TokenKind::Comma) {
                continue;
            }
            if self.eat(TokenKind::Semi) {
                break;
            }
            return Err(self.fail("`,` or `;`"));
        }
        declaration.declarators = self.module.declarators.push_all(declarators);
        for (index, part) in skipped {
            if let Some(id) = declaration.declarators.ids().nth(index) {
                self.skipping.own(part, Owner::Init(id));
            }
        }
        declaration.span = self.since(start);
        Ok(declaration)
    }

    /// The dotted words of a declaration, in any order after the space.
    fn declaration_head(&mut self, linkage: Option<Linkage>) -> Parsed<Declaration> {
        let start = self.token.start;
        let Some(space) =
            (self.kind() == TokenKind::Dotted).then(|| self.symbol()).and_then(Space::from_symbol)
        else {
            return Err(self.fail("a state space such as `.global`"));
        };
        self.bump();
        let mut d = Declaration {
            linkage,
            space,
            bank: None,
            align: None,
            attributes: Run::empty(),
            vector: None,
            ty: None,
            ptr: None,
            declarators: Run::empty(),
            span: self.since(start),
        };
        if self.kind() == TokenKind::OpenBracket {
            d.bank = Some(self.bank()?);
        }
        while self.kind() == TokenKind::Dotted {
            self.declaration_word(&mut d)?;
        }
        Ok(d)
    }

    fn declaration_word(&mut self, d: &mut Declaration) -> Parsed<()> {
        let start = self.token.start;
        match self.symbol() {
            kw::ALIGN => {
                self.bump();
                let value = self.count("an alignment in bytes")?;
                match &mut d.ptr {
                    Some(ptr) => ptr.align = Some(value),
                    None => d.align = Some((value, self.since(start))),
                }
            }
            kw::PTR => {
                self.bump();
                d.ptr = Some(PtrQualifier { space: None, align: None });
            }
            kw::ATTRIBUTE => d.attributes = self.attributes()?,
            kw::V2 => self.vector(d, 2),
            kw::V4 => self.vector(d, 4),
            kw::V8 => self.vector(d, 8),
            word => match (&mut d.ptr, Space::from_symbol(word)) {
                (Some(ptr), Some(_)) => ptr.space = Some(self.take_name()),
                _ if d.ty.is_none() => d.ty = Some(self.take_name()),
                _ => return Err(self.fail("a name (the type is there already)")),
            },
        }
        Ok(())
    }

    fn vector(&mut self, d: &mut Declaration, elements: u8) {
        self.bump();
        d.vector = Some(elements);
    }

    /// `[2]` after `.const`.
    pub(super) fn bank(&mut self) -> Parsed<u64> {
        self.bump();
        let bank = self.count("the number of a constant bank")?;
        self.expect(TokenKind::CloseBracket)?;
        Ok(bank)
    }

    /// `.attribute(.managed, .unified(1, 2))`, if it is there.
    pub(super) fn attributes(&mut self) -> Parsed<Run<Directive>> {
        if self.kind() != TokenKind::Dotted || self.symbol() != kw::ATTRIBUTE {
            return Ok(Run::empty());
        }
        self.bump();
        self.expect(TokenKind::OpenParen)?;
        let mut attributes = Vec::new();
        loop {
            if self.kind() != TokenKind::Dotted {
                return Err(self.fail("an attribute such as `.managed`"));
            }
            let name = self.take_name();
            let args = if self.eat(TokenKind::OpenParen) {
                self.operands_until(TokenKind::CloseParen)?
            } else {
                Run::empty()
            };
            attributes.push(Directive { name, args });
            if self.eat(TokenKind::Comma) {
                continue;
            }
            self.expect(TokenKind::CloseParen)?;
            return Ok(self.module.directives.push_all(attributes));
        }
    }

    /// A name, dimensions and an initialiser, which may be skipped.
    fn declarator(&mut self, skip: bool) -> Parsed<Declarator> {
        let mut declarator = self.counted_name("a name")?;
        let mut dims = Vec::new();
        while self.kind() == TokenKind::OpenBracket {
            let start = self.token.start;
            self.bump();
            if self.eat(TokenKind::CloseBracket) {
                dims.push(Operand { kind: OperandKind::Absent, span: self.since(start) });
                continue;
            }
            dims.push(self.operand(false)?);
            self.expect(TokenKind::CloseBracket)?;
        }
        declarator.dims = self.module.operands.push_all(dims);
        if self.eat(TokenKind::Equal) && !(skip && self.skip_part()) {
            declarator.init = self.initialiser()?;
        }
        Ok(declarator)
    }

    /// `name` or `name<count>`.
    fn counted_name(&mut self, what: &str) -> Parsed<Declarator> {
        let name = self.name(what)?;
        let mut count = None;
        if self.eat(TokenKind::Less) {
            count = Some(self.count("how many registers")?);
            self.expect(TokenKind::Greater)?;
        }
        Ok(Declarator { name, count, dims: Run::empty(), init: Run::empty() })
    }

    /// The names after `.branchtargets`, with the semicolon.
    pub(super) fn target_list(&mut self) -> Parsed<Run<Declarator>> {
        let mut targets = Vec::new();
        loop {
            targets.push(self.counted_name("a label or function")?);
            if self.eat(TokenKind::Comma) {
                continue;
            }
            self.expect(TokenKind::Semi)?;
            return Ok(self.module.declarators.push_all(targets));
        }
    }

    /// A value or a list of lists of values, flat. Its braces are counted, not recursed into.
    pub(super) fn initialiser(&mut self) -> Parsed<Run<Init>> {
        let first = self.module.inits.len();
        let mut open = 0_u16;
        loop {
            let span = self.span();
            if self.eat(TokenKind::OpenBrace) {
                open += 1;
                self.braces += 1;
                if open > MAX_DEPTH {
                    let diagnostic = Diagnostic::error("ptx::nesting", "nested too deeply")
                        .at(span, format!("more than {MAX_DEPTH} levels"));
                    return Err(self.report(diagnostic));
                }
                self.module.inits.push(Init { kind: InitKind::Open, span });
                if self.kind() != TokenKind::CloseBrace {
                    continue;
                }
            } else {
                self.init_value(open > 0)?;
            }
            while open > 0 && self.kind() == TokenKind::CloseBrace {
                let span = self.span();
                self.bump();
                self.module.inits.push(Init { kind: InitKind::Close, span });
                open -= 1;
                self.braces = self.braces.saturating_sub(1);
            }
            if open == 0 {
                return Ok(self.module.inits.run_from(first));
            }
            if !self.eat(TokenKind::Comma) {
                return Err(self.fail("`,` or `}`"));
            }
        }
    }

    fn init_value(&mut self, in_list: bool) -> Parsed<()> {
        let value = self.operand(false)?;
        if in_list
            && self.kind() == TokenKind::Equal
            && let OperandKind::Name(field) = value.kind
        {
            self.bump();
            self.module.inits.push(Init { kind: InitKind::Field(field), span: value.span });
            let value = self.operand(false)?;
            self.module.inits.push(Init { kind: InitKind::Value(value.kind), span: value.span });
            return Ok(());
        }
        self.module.inits.push(Init { kind: InitKind::Value(value.kind), span: value.span });
        Ok(())
    }
}
