//! Module items, functions, debug sections.

use isa::Diagnostic;

use super::outline::Owner;
use super::{Parsed, Parser};
use crate::ast::{
    Directive, File, Function, FunctionKind, Init, InitKind, Item, Linkage, Name, Operand,
    OperandKind, Section, SectionLine, Signature, Space,
};
use crate::lexer::TokenKind;
use crate::names::kw;
use crate::pool::Run;

impl Parser<'_> {
    /// The whole file.
    pub(super) fn module(&mut self) {
        loop {
            match self.kind() {
                TokenKind::End => return,
                TokenKind::Semi => self.bump(),
                TokenKind::Dotted => {
                    let before = self.token;
                    if self.item().is_err() {
                        if self.token == before {
                            self.bump();
                        }
                        self.skip_item();
                    }
                }
                TokenKind::CloseBrace => {
                    let diagnostic = Diagnostic::error("ptx::syntax", "`}` without `{`")
                        .at(self.span(), "closes nothing")
                        .help("remove it, or look for a `}` too many before it");
                    self.report(diagnostic);
                    self.bump();
                }
                _ => {
                    self.misplaced("a directive such as `.visible .entry`");
                    self.bump();
                    self.skip_item();
                }
            }
        }
    }

    fn item(&mut self) -> Parsed<()> {
        let start = self.token.start;
        let linkage = self.linkage();
        if self.kind() != TokenKind::Dotted {
            return Err(self.fail("`.func`, `.entry` or a state space"));
        }
        let word = self.symbol();
        let item = match word {
            kw::ENTRY => self.function(linkage, FunctionKind::Entry, start)?,
            kw::FUNC => self.function(linkage, FunctionKind::Func, start)?,
            kw::VERSION => self.version()?,
            kw::TARGET => self.target()?,
            kw::ADDRESS_SIZE => {
                self.bump();
                let bits = self.count("32 or 64")?;
                Item::AddressSize { bits, span: self.since(start) }
            }
            kw::FILE => Item::File(self.file()?),
            kw::SECTION => Item::Section(self.section()?),
            kw::ALIAS => self.alias()?,
            _ if Space::from_symbol(word).is_some() => {
                let declaration = self.declaration(linkage, start)?;
                Item::Variable(self.module.declarations.push(declaration))
            }
            _ => {
                let directive = self.directive()?;
                self.eat(TokenKind::Semi);
                Item::Directive(self.module.directives.push(directive))
            }
        };
        self.module.items.push(item);
        Ok(())
    }

    /// Takes `.visible` and the like.
    pub(super) fn linkage(&mut self) -> Option<Linkage> {
        let mut linkage = None;
        while self.kind() == TokenKind::Dotted {
            let next = match self.symbol() {
                kw::EXTERN => Linkage::Extern,
                kw::VISIBLE => Linkage::Visible,
                kw::WEAK => Linkage::Weak,
                kw::COMMON => Linkage::Common,
                _ => break,
            };
            if linkage.is_some() {
                let diagnostic = Diagnostic::error("ptx::linkage", "more than one linkage")
                    .at(self.span(), "the second")
                    .help("keep one of `.extern`, `.visible`, `.weak`, `.common`");
                self.report(diagnostic);
            }
            linkage = Some(next);
            self.bump();
        }
        linkage
    }

    fn version(&mut self) -> Parsed<Item> {
        let start = self.token.start;
        self.bump();
        let parts = self.slice().split_once('.');
        let numbers = parts.and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
        match numbers {
            Some((major, minor)) if self.kind() == TokenKind::Float => {
                self.bump();
                Ok(Item::Version { major, minor, span: self.since(start) })
            }
            _ => Err(self.fail("a version such as `8.5`")),
        }
    }

    fn target(&mut self) -> Parsed<Item> {
        let start = self.token.start;
        self.bump();
        let mut words = Vec::new();
        loop {
            words.push(self.name("a target such as `sm_80`")?);
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        let words = self.module.name_lists.push_all(words);
        Ok(Item::Target { words, span: self.since(start) })
    }

    fn alias(&mut self) -> Parsed<Item> {
        let start = self.token.start;
        self.bump();
        let alias = self.name("a function's new name")?;
        self.expect(TokenKind::Comma)?;
        let aliasee = self.name("a function")?;
        self.expect(TokenKind::Semi)?;
        Ok(Item::Alias { alias, aliasee, span: self.since(start) })
    }

    pub(super) fn file(&mut self) -> Parsed<File> {
        let start = self.token.start;
        self.bump();
        let index = self.count("a file number")?;
        if self.kind() != TokenKind::Text {
            return Err(self.fail("a file name in quotes"));
        }
        let slice = self.slice();
        let path = slice.get(1..slice.len().saturating_sub(1)).unwrap_or("");
        let path = self.module.names.intern(path);
        self.bump();
        let mut stamp = None;
        if self.eat(TokenKind::Comma) {
            let time = self.count("a time stamp")?;
            self.expect(TokenKind::Comma)?;
            stamp = Some((time, self.count("a file size")?));
        }
        Ok(File { index, path, stamp, span: self.since(start) })
    }

    /// A directive without a form of its own.
    pub(super) fn directive(&mut self) -> Parsed<Directive> {
        let name = self.take_name();
        let first = self.scratch.len();
        let stop = |kind| {
            matches!(
                kind,
                TokenKind::Dotted
                    | TokenKind::OpenBrace
                    | TokenKind::CloseBrace
                    | TokenKind::Semi
                    | TokenKind::End
            )
        };
        if !stop(self.kind()) {
            loop {
                let operand = self.operand(false)?;
                self.scratch.push(operand);
                if !self.eat(TokenKind::Comma) {
                    break;
                }
            }
        }
        Ok(Directive { name, args: self.pool_from(first) })
    }

    /// `.maxntid 256` and the like, up to a body or semicolon.
    pub(super) fn function_directives(&mut self) -> Parsed<Run<Directive>> {
        let mut directives = Vec::new();
        while self.kind() == TokenKind::Dotted {
            let directive = self.directive()?;
            if directive.name.symbol == kw::PRAGMA {
                self.eat(TokenKind::Semi);
            }
            directives.push(directive);
        }
        Ok(self.module.directives.push_all(directives))
    }

    fn function(
        &mut self,
        linkage: Option<Linkage>,
        kind: FunctionKind,
        start: u32,
    ) -> Parsed<Item> {
        self.bump();
        let attributes = self.attributes()?;
        let signature = self.signature()?;
        let head = self.since(start);
        let directives = match self.function_directives() {
            Ok(run) => run,
            Err(_) => {
                self.skip_until(&[TokenKind::OpenBrace, TokenKind::Semi]);
                Run::empty()
            }
        };
        let body = match self.kind() {
            TokenKind::OpenBrace if self.skip_part() => {
                (kind == FunctionKind::Entry).then(Run::empty)
            }
            TokenKind::OpenBrace => Some(self.body()),
            TokenKind::Semi => {
                self.bump();
                None
            }
            _ => {
                let diagnostic = self
                    .expected("`{` or `;`")
                    .help("a body stands in braces; a prototype ends with `;`");
                return Err(self.report(diagnostic));
            }
        };
        let span = self.since(start);
        let function =
            Function { kind, linkage, attributes, signature, directives, body, head, span };
        let id = self.module.functions.push(function);
        self.skipping.owner(Owner::Body(id));
        Ok(Item::Function(id))
    }

    /// `(returns) name (parameters)`. Errors inside parentheses cost only those.
    pub(super) fn signature(&mut self) -> Parsed<Signature> {
        let returns = self.parameters()?;
        let name = self.name("a function's name")?;
        let params = self.parameters()?;
        Ok(Signature { returns, name, params })
    }

    /// `.section NAME { label: .b8 1, 2 ... }`
    pub(super) fn section(&mut self) -> Parsed<Section> {
        let start = self.token.start;
        self.bump();
        if !matches!(self.kind(), TokenKind::Dotted | TokenKind::Ident) {
            return Err(self.fail("a section's name such as `.debug_info`"));
        }
        let slice = self.slice();
        let name = self.module.names.intern(slice);
        self.bump();
        let open = self.span();
        self.expect(TokenKind::OpenBrace)?;
        let mut lines = Vec::new();
        let keep = self.skipping.keeps_section(slice);
        let values = self.module.inits.len();
        loop {
            if !keep {
                lines.clear();
                self.module.inits.truncate(values);
            }
            match self.kind() {
                TokenKind::CloseBrace => break self.bump(),
                TokenKind::Semi => self.bump(),
                TokenKind::Ident => {
                    let label = self.take_name();
                    self.expect(TokenKind::Colon)?;
                    lines.push(SectionLine::Label(label));
                }
                TokenKind::Dotted => lines.push(self.section_data()?),
                TokenKind::End => {
                    let diagnostic = Diagnostic::error("ptx::unclosed", "a section without end")
                        .at(open, "opened here")
                        .help("close it with `}`");
                    return Err(self.report(diagnostic));
                }
                _ => return Err(self.fail("a label, data such as `.b8 1`, or `}`")),
            }
        }
        let lines = self.module.section_lines.push_all(lines);
        Ok(Section { name, lines, span: self.since(start) })
    }

    fn section_data(&mut self) -> Parsed<SectionLine> {
        let ty: Name = self.take_name();
        let first = self.module.inits.len();
        loop {
            let value = self.section_value()?;
            self.module.inits.push(Init { kind: InitKind::Value(value.kind), span: value.span });
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        Ok(SectionLine::Data { ty, values: self.module.inits.run_from(first) })
    }

    /// A value in a section; unlike others it may be a section's name, which keeps its dot.
    fn section_value(&mut self) -> Parsed<Operand> {
        let second = self.slice().as_bytes().get(1);
        if self.kind() != TokenKind::Dotted || second.is_some_and(u8::is_ascii_digit) {
            return self.operand(false);
        }
        let span = self.span();
        let slice = self.slice();
        let kind = OperandKind::Name(self.module.names.intern(slice));
        self.bump();
        self.behind(Operand { kind, span }, 0)
    }
}
