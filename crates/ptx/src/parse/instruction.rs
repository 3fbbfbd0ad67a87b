//! Bodies: statements, scopes, labels, instructions.

use isa::{Diagnostic, Span};

use super::{Parsed, Parser};
use crate::ast::{
    Guard, Instruction, Linkage, Loc, Name, OperandKind, Prototype, Space, Statement, Targets,
};
use crate::lexer::TokenKind;
use crate::names::kw;
use crate::pool::{Id, Run};

impl Parser<'_> {
    /// Parses a body, from its opening brace to the end of its closing one. Nested scopes take no
    /// stack.
    pub(super) fn body(&mut self) -> Run<Statement> {
        let first = self.module.statements.len();
        let mut open = vec![self.span()];
        let mut loc = None;
        self.bump();
        loop {
            match self.kind() {
                TokenKind::OpenBrace => {
                    open.push(self.span());
                    self.module.statements.push(Statement::Open(self.span()));
                    self.bump();
                }
                TokenKind::CloseBrace => {
                    let span = self.span();
                    open.pop();
                    self.bump();
                    if open.is_empty() {
                        break;
                    }
                    self.module.statements.push(Statement::Close(span));
                }
                TokenKind::Semi => self.bump(),
                TokenKind::End => {
                    self.unclosed(&open);
                    break;
                }
                // A function cannot begin in a body: a closing brace is missing.
                TokenKind::Dotted if self.at_function() => {
                    self.unclosed(&open);
                    break;
                }
                _ => {
                    let before = self.token;
                    if self.statement(&mut loc).is_err() {
                        if self.token == before {
                            self.bump();
                        }
                        self.skip_statement();
                    }
                }
            }
        }
        self.module.statements.run_from(first)
    }

    #[cold]
    fn unclosed(&mut self, open: &[Span]) {
        let end = self.span();
        for &span in open.iter().skip(1) {
            let close = Span::new(span.file, end.start, end.start);
            self.module.statements.push(Statement::Close(close));
        }
        if let Some(&span) = open.last() {
            let message = format!("a body without end: {} follows", self.found());
            self.report(
                Diagnostic::error("ptx::unclosed", message)
                    .at(span, "opened here")
                    .also(end, "still open here")
                    .help("close it with `}`"),
            );
        }
    }

    /// Returns whether a function begins here: `.entry` or `.func`, perhaps after its linkage.
    fn at_function(&self) -> bool {
        let rest = match self.slice() {
            ".entry" | ".func" => return true,
            ".visible" | ".extern" | ".weak" | ".common" => {
                self.text.get(self.token.end as usize..).unwrap_or("").trim_start()
            }
            _ => return false,
        };
        [".entry", ".func"].iter().any(|word| {
            let behind = rest.strip_prefix(word).and_then(|r| r.chars().next());
            behind.is_some_and(|c| !c.is_ascii_alphanumeric() && !"_$:".contains(c))
        })
    }

    fn statement(&mut self, loc: &mut Option<Id<Loc>>) -> Parsed<()> {
        let start = self.token.start;
        match self.kind() {
            TokenKind::Ident => {
                let name = self.take_name();
                if self.eat(TokenKind::Colon) {
                    return self.labelled(name);
                }
                self.instruction(start, None, name, *loc)
            }
            TokenKind::At => {
                self.bump();
                let negated = self.eat(TokenKind::Bang);
                let register = self.name("a predicate register")?;
                let guard = Some(Guard { negated, register });
                let opcode = self.name("an opcode")?;
                self.instruction(start, guard, opcode, *loc)
            }
            TokenKind::Dotted => self.body_directive(loc),
            _ => Err(self.misplaced("an instruction, a directive or `}`")),
        }
    }

    /// Parses the text after `name:`. A list or prototype takes the name; otherwise it is a label.
    fn labelled(&mut self, label: Name) -> Parsed<()> {
        let start = label.span.start;
        let word = if self.kind() == TokenKind::Dotted { self.symbol() } else { kw::SINK };
        let statement = match word {
            kw::BRANCHTARGETS | kw::CALLTARGETS => {
                let calls = word == kw::CALLTARGETS;
                self.bump();
                let targets = self.target_list()?;
                let span = self.since(start);
                Statement::Targets(Box::new(Targets { label, calls, targets, span }))
            }
            kw::CALLPROTOTYPE => {
                self.bump();
                let signature = self.signature()?;
                let directives = self.function_directives()?;
                self.expect(TokenKind::Semi)?;
                let span = self.since(start);
                Statement::Prototype(Box::new(Prototype { label, signature, directives, span }))
            }
            _ => Statement::Label(label),
        };
        self.module.statements.push(statement);
        Ok(())
    }

    fn body_directive(&mut self, loc: &mut Option<Id<Loc>>) -> Parsed<()> {
        let start = self.token.start;
        let word = self.symbol();
        let statement = match word {
            kw::LOC => {
                let id = self.loc()?;
                *loc = Some(id);
                Statement::Loc(id)
            }
            kw::FILE => Statement::File(Box::new(self.file()?)),
            kw::SECTION => Statement::Section(Box::new(self.section()?)),
            kw::BRANCHTARGETS | kw::CALLTARGETS | kw::CALLPROTOTYPE => {
                let shown = self.slice();
                let diagnostic =
                    Diagnostic::error("ptx::syntax", format!("`{shown}` without a label"))
                        .at(self.span(), "nothing can refer to this")
                        .help(format!("write `name: {shown} ...;`"));
                return Err(self.report(diagnostic));
            }
            kw::EXTERN | kw::VISIBLE | kw::WEAK | kw::COMMON => {
                let linkage = self.linkage();
                self.body_declaration(linkage, start)?
            }
            _ if Space::from_symbol(word).is_some() => self.body_declaration(None, start)?,
            _ => {
                let directive = self.directive()?;
                self.expect(TokenKind::Semi)?;
                Statement::Directive(self.module.directives.push(directive))
            }
        };
        self.module.statements.push(statement);
        Ok(())
    }

    fn body_declaration(&mut self, linkage: Option<Linkage>, start: u32) -> Parsed<Statement> {
        let declaration = self.declaration(linkage, start)?;
        Ok(Statement::Declaration(self.module.declarations.push(declaration)))
    }

    /// Modifiers, operands and the semicolon.
    fn instruction(
        &mut self,
        start: u32,
        guard: Option<Guard>,
        opcode: Name,
        loc: Option<Id<Loc>>,
    ) -> Parsed<()> {
        let modifiers = self.modifiers()?;
        let operands = self.instruction_operands(opcode.symbol == kw::CALL)?;
        let span = self.since(start);
        let instruction = Instruction { guard, opcode, modifiers, operands, loc, span };
        let id = self.module.instructions.push(instruction);
        self.module.statements.push(Statement::Instruction(id));
        Ok(())
    }

    fn modifiers(&mut self) -> Parsed<Run<Name>> {
        let first = self.module.modifiers.len();
        while self.kind() == TokenKind::Dotted {
            let mut name = self.take_name();
            if name.symbol == kw::CONST && self.kind() == TokenKind::OpenBracket {
                let bank = self.bank()?;
                name.symbol = self.module.names.intern(&format!("const[{bank}]"));
                name.span = self.since(name.span.start);
            }
            self.module.modifiers.push(name);
        }
        Ok(self.module.modifiers.run_from(first))
    }

    fn instruction_operands(&mut self, call: bool) -> Parsed<Run<crate::ast::Operand>> {
        if self.eat(TokenKind::Semi) {
            return Ok(Run::empty());
        }
        let first = self.scratch.len();
        loop {
            let operand = self.operand(call)?;
            self.scratch.push(operand);
            match self.kind() {
                TokenKind::Comma => self.bump(),
                TokenKind::Semi => {
                    self.bump();
                    return Ok(self.pool_from(first));
                }
                _ if self.at_line_start() => {
                    let diagnostic =
                        self.expected("`,` or `;`").help("end the instruction with `;`");
                    return Err(self.report(diagnostic));
                }
                _ => return Err(self.fail("`,` or `;`")),
            }
        }
    }

    /// `.loc file line column [, function_name label [+ n], inlined_at file line column]`
    fn loc(&mut self) -> Parsed<Id<Loc>> {
        let start = self.token.start;
        self.bump();
        let file = self.small_count("a file number")?;
        let line = self.small_count("a line number")?;
        let column = self.small_count("a column number")?;
        let inlined = if self.eat(TokenKind::Comma) { Some(self.inlined_at()?) } else { None };
        let span = self.since(start);
        Ok(self.module.locs.push(Loc { file, line, column, inlined, span }))
    }

    fn inlined_at(&mut self) -> Parsed<crate::ast::InlinedAt> {
        let mut function = None;
        let mut place = None;
        loop {
            let word = if self.kind() == TokenKind::Ident { self.symbol() } else { kw::SINK };
            match word {
                kw::FUNCTION_NAME => {
                    self.bump();
                    function = Some(self.function_name()?);
                }
                kw::INLINED_AT => {
                    self.bump();
                    let file = self.small_count("a file number")?;
                    let line = self.small_count("a line number")?;
                    place = Some((file, line, self.small_count("a column number")?));
                }
                _ => return Err(self.fail("`function_name` or `inlined_at`")),
            }
            if let (Some((function, offset)), Some((file, line, column))) = (function, place) {
                return Ok(crate::ast::InlinedAt { function, offset, file, line, column });
            }
            self.expect(TokenKind::Comma)?;
        }
    }

    fn function_name(&mut self) -> Parsed<(Name, u64)> {
        let operand = self.operand(false)?;
        match operand.kind {
            OperandKind::Name(symbol) => Ok((Name { symbol, span: operand.span }, 0)),
            OperandKind::Sum(symbol, offset) if offset >= 0 => {
                Ok((Name { symbol, span: operand.span }, offset.unsigned_abs()))
            }
            _ => Err(self.fail("a label in `.debug_str`")),
        }
    }

    /// A number of 32 bits.
    pub(super) fn small_count(&mut self, what: &str) -> Parsed<u32> {
        let span = self.span();
        let value = self.count(what)?;
        u32::try_from(value).map_err(|_| {
            let message = format!("{what} of more than 32 bits");
            self.report(Diagnostic::error("ptx::integer-range", message).at(span, "too large"))
        })
    }
}
