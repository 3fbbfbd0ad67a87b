//! The syntax tree back to text.
//!
//! Always holds: parsing what is printed gives the same tree, but for spans; printing that again
//! gives the same text. Numbers are printed in one form each (decimal integers, hexadecimal
//! floats), parentheses only where the tree needs them.

use std::fmt::{self, Write};

use crate::ast::{
    Declaration, Declarator, Directive, File, Function, FunctionKind, Init, InitKind, Instruction,
    Integer, Item, Linkage, Loc, Module, Name, Operand, OperandKind, Operator, Prototype, Section,
    SectionLine, Statement, Targets,
};
use crate::names::Symbol;
use crate::pool::Run;

impl fmt::Display for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Printer { module: self, out: f }.items()
    }
}

/// The text of one operand, as a message shows it: floats in decimal.
#[must_use]
pub fn operand_text(module: &Module, operand: &Operand) -> String {
    let mut text = String::new();
    if let OperandKind::F64(bits) = operand.kind
        && f64::from_bits(bits).is_finite()
    {
        return format!("{:?}", f64::from_bits(bits));
    }
    let _ = Printer { module, out: &mut text }.operand(&operand.kind);
    text
}

struct Printer<'a, W> {
    module: &'a Module,
    out: &'a mut W,
}

fn linkage_text(linkage: Option<Linkage>) -> &'static str {
    match linkage {
        None => "",
        Some(Linkage::Extern) => ".extern ",
        Some(Linkage::Visible) => ".visible ",
        Some(Linkage::Weak) => ".weak ",
        Some(Linkage::Common) => ".common ",
    }
}

impl<W: Write> Printer<'_, W> {
    fn name(&self, symbol: Symbol) -> &str {
        self.module.names.get(symbol)
    }

    fn put(&mut self, symbol: Symbol) -> fmt::Result {
        let module = self.module;
        self.out.write_str(module.names.get(symbol))
    }

    /// Writes `parts` with commas between them.
    fn commas<T>(
        &mut self,
        parts: &[T],
        mut each: impl FnMut(&mut Self, &T) -> fmt::Result,
    ) -> fmt::Result {
        for (i, part) in parts.iter().enumerate() {
            if i > 0 {
                self.out.write_str(", ")?;
            }
            each(self, part)?;
        }
        Ok(())
    }

    // Items.

    fn items(&mut self) -> fmt::Result {
        let module = self.module;
        for item in &module.items {
            self.item(item)?;
        }
        Ok(())
    }

    fn item(&mut self, item: &Item) -> fmt::Result {
        let module = self.module;
        match item {
            Item::Version { major, minor, .. } => writeln!(self.out, ".version {major}.{minor}"),
            Item::Target { words, .. } => {
                self.out.write_str(".target ")?;
                self.commas(&module.name_lists[*words], |p, n| p.put(n.symbol))?;
                self.out.write_char('\n')
            }
            Item::AddressSize { bits, .. } => writeln!(self.out, ".address_size {bits}"),
            Item::File(file) => self.file(file),
            Item::Variable(id) => {
                self.declaration(&module.declarations[*id])?;
                self.out.write_str(";\n")
            }
            Item::Function(id) => self.function(&module.functions[*id]),
            Item::Alias { alias, aliasee, .. } => {
                let (alias, aliasee) = (self.name(alias.symbol), self.name(aliasee.symbol));
                let text = format!(".alias {alias}, {aliasee};\n");
                self.out.write_str(&text)
            }
            Item::Section(section) => self.section(section),
            Item::Directive(id) => {
                self.directive(&module.directives[*id])?;
                self.out.write_str(";\n")
            }
        }
    }

    fn file(&mut self, file: &File) -> fmt::Result {
        write!(self.out, ".file {} \"", file.index)?;
        self.put(file.path)?;
        self.out.write_char('"')?;
        if let Some((time, size)) = file.stamp {
            write!(self.out, ", {time}, {size}")?;
        }
        self.out.write_char('\n')
    }

    fn section(&mut self, section: &Section) -> fmt::Result {
        let module = self.module;
        self.out.write_str(".section ")?;
        self.put(section.name)?;
        self.out.write_str("\n{\n")?;
        for line in &module.section_lines[section.lines] {
            match line {
                SectionLine::Label(label) => {
                    self.put(label.symbol)?;
                    self.out.write_str(":\n")?;
                }
                SectionLine::Data { ty, values } => {
                    self.out.write_char('.')?;
                    self.put(ty.symbol)?;
                    self.out.write_char(' ')?;
                    self.commas(&module.inits[*values], Self::init)?;
                    self.out.write_char('\n')?;
                }
            }
        }
        self.out.write_str("}\n")
    }

    fn directive(&mut self, directive: &Directive) -> fmt::Result {
        let module = self.module;
        self.out.write_char('.')?;
        self.put(directive.name.symbol)?;
        let args = &module.operands[directive.args];
        if !args.is_empty() {
            self.out.write_char(' ')?;
        }
        self.commas(args, |p, a| p.operand(&a.kind))
    }

    fn attributes(&mut self, attributes: Run<Directive>) -> fmt::Result {
        let module = self.module;
        if attributes.is_empty() {
            return Ok(());
        }
        self.out.write_str(" .attribute(")?;
        self.commas(&module.directives[attributes], |p, a| {
            p.out.write_char('.')?;
            p.put(a.name.symbol)?;
            let args = &module.operands[a.args];
            if args.is_empty() {
                return Ok(());
            }
            p.out.write_char('(')?;
            p.commas(args, |p, a| p.operand(&a.kind))?;
            p.out.write_char(')')
        })?;
        self.out.write_char(')')
    }

    // Functions.

    fn function(&mut self, function: &Function) -> fmt::Result {
        let module = self.module;
        self.out.write_str(linkage_text(function.linkage))?;
        self.out.write_str(match function.kind {
            FunctionKind::Entry => ".entry",
            FunctionKind::Func => ".func",
        })?;
        self.attributes(function.attributes)?;
        self.signature(&function.signature)?;
        for directive in &module.directives[function.directives] {
            self.out.write_char('\n')?;
            self.directive(directive)?;
        }
        match function.body {
            None => self.out.write_str(";\n"),
            Some(body) => {
                self.out.write_str("\n{\n")?;
                for statement in &module.statements[body] {
                    self.statement(statement)?;
                }
                self.out.write_str("}\n")
            }
        }
    }

    fn signature(&mut self, signature: &crate::ast::Signature) -> fmt::Result {
        let module = self.module;
        let returns = &module.declarations[signature.returns];
        if !returns.is_empty() {
            self.out.write_str(" (")?;
            self.commas(returns, Self::declaration)?;
            self.out.write_char(')')?;
        }
        self.out.write_char(' ')?;
        self.put(signature.name.symbol)?;
        self.out.write_char('(')?;
        self.commas(&module.declarations[signature.params], Self::declaration)?;
        self.out.write_char(')')
    }

    fn declaration(&mut self, d: &Declaration) -> fmt::Result {
        let module = self.module;
        write!(self.out, "{}.{}", linkage_text(d.linkage), d.space.word())?;
        if let Some(bank) = d.bank {
            write!(self.out, "[{bank}]")?;
        }
        self.attributes(d.attributes)?;
        if let Some((align, _)) = d.align {
            write!(self.out, " .align {align}")?;
        }
        if let Some(elements) = d.vector {
            write!(self.out, " .v{elements}")?;
        }
        if let Some(Name { symbol, .. }) = d.ty {
            self.out.write_str(" .")?;
            self.put(symbol)?;
        }
        if let Some(ptr) = d.ptr {
            self.out.write_str(" .ptr")?;
            if let Some(Name { symbol, .. }) = ptr.space {
                self.out.write_str(" .")?;
                self.put(symbol)?;
            }
            if let Some(align) = ptr.align {
                write!(self.out, " .align {align}")?;
            }
        }
        self.out.write_char(' ')?;
        self.commas(&module.declarators[d.declarators], Self::declarator)
    }

    fn declarator(&mut self, d: &Declarator) -> fmt::Result {
        let module = self.module;
        self.put(d.name.symbol)?;
        if let Some(count) = d.count {
            write!(self.out, "<{count}>")?;
        }
        for dim in &module.operands[d.dims] {
            self.out.write_char('[')?;
            self.operand(&dim.kind)?;
            self.out.write_char(']')?;
        }
        if d.init.is_empty() {
            return Ok(());
        }
        self.out.write_str(" = ")?;
        // A comma precedes everything but `}` and the text after `{` or a field's name.
        let mut comma = false;
        for init in &module.inits[d.init] {
            if comma && init.kind != InitKind::Close {
                self.out.write_str(", ")?;
            }
            self.init(init)?;
            comma = !matches!(init.kind, InitKind::Open | InitKind::Field(_));
        }
        Ok(())
    }

    fn init(&mut self, init: &Init) -> fmt::Result {
        match &init.kind {
            InitKind::Open => self.out.write_char('{'),
            InitKind::Close => self.out.write_char('}'),
            InitKind::Field(name) => {
                self.put(*name)?;
                self.out.write_str(" = ")
            }
            InitKind::Value(kind) => self.operand(kind),
        }
    }

    // Statements.

    fn statement(&mut self, statement: &Statement) -> fmt::Result {
        let module = self.module;
        match statement {
            Statement::Open(_) => self.out.write_str("\t{\n"),
            Statement::Close(_) => self.out.write_str("\t}\n"),
            Statement::Label(name) => {
                self.put(name.symbol)?;
                self.out.write_str(":\n")
            }
            Statement::Instruction(id) => self.instruction(&module.instructions[*id]),
            Statement::Declaration(id) => {
                self.out.write_char('\t')?;
                self.declaration(&module.declarations[*id])?;
                self.out.write_str(";\n")
            }
            Statement::Loc(id) => self.loc(&module.locs[*id]),
            Statement::File(file) => self.file(file),
            Statement::Section(section) => self.section(section),
            Statement::Targets(targets) => self.targets(targets),
            Statement::Prototype(prototype) => self.prototype(prototype),
            Statement::Directive(id) => {
                self.out.write_char('\t')?;
                self.directive(&module.directives[*id])?;
                self.out.write_str(";\n")
            }
        }
    }

    fn instruction(&mut self, instruction: &Instruction) -> fmt::Result {
        self.out.write_char('\t')?;
        if let Some(guard) = instruction.guard {
            self.out.write_str(if guard.negated { "@!" } else { "@" })?;
            self.put(guard.register.symbol)?;
            self.out.write_char(' ')?;
        }
        self.instruction_body(instruction)?;
        self.out.write_str(";\n")
    }

    fn instruction_body(&mut self, instruction: &Instruction) -> fmt::Result {
        let module = self.module;
        self.put(instruction.opcode.symbol)?;
        for modifier in &module.modifiers[instruction.modifiers] {
            self.out.write_char('.')?;
            self.put(modifier.symbol)?;
        }
        let operands = &module.operands[instruction.operands];
        if !operands.is_empty() {
            self.out.write_char(' ')?;
        }
        self.commas(operands, |p, o| p.operand(&o.kind))
    }

    fn loc(&mut self, loc: &Loc) -> fmt::Result {
        write!(self.out, "\t.loc {} {} {}", loc.file, loc.line, loc.column)?;
        if let Some(at) = loc.inlined {
            self.out.write_str(", function_name ")?;
            self.put(at.function.symbol)?;
            if at.offset > 0 {
                write!(self.out, "+{}", at.offset)?;
            }
            write!(self.out, ", inlined_at {} {} {}", at.file, at.line, at.column)?;
        }
        self.out.write_char('\n')
    }

    fn targets(&mut self, targets: &Targets) -> fmt::Result {
        let module = self.module;
        self.put(targets.label.symbol)?;
        self.out.write_str(if targets.calls { ": .calltargets " } else { ": .branchtargets " })?;
        self.commas(&module.declarators[targets.targets], Self::declarator)?;
        self.out.write_str(";\n")
    }

    fn prototype(&mut self, prototype: &Prototype) -> fmt::Result {
        let module = self.module;
        self.put(prototype.label.symbol)?;
        self.out.write_str(": .callprototype")?;
        self.signature(&prototype.signature)?;
        for directive in &module.directives[prototype.directives] {
            self.out.write_char(' ')?;
            self.directive(directive)?;
        }
        self.out.write_str(";\n")
    }

    // Operands.

    fn offset(&mut self, name: Symbol, offset: i64) -> fmt::Result {
        self.put(name)?;
        if offset == 0 { Ok(()) } else { write!(self.out, "+{offset}") }
    }

    fn enclosed(&mut self, open: char, parts: Run<Operand>, close: char) -> fmt::Result {
        let module = self.module;
        self.out.write_char(open)?;
        self.commas(&module.operands[parts], |p, o| p.operand(&o.kind))?;
        self.out.write_char(close)
    }

    fn operand(&mut self, kind: &OperandKind) -> fmt::Result {
        let module = self.module;
        match *kind {
            OperandKind::Absent => Ok(()),
            OperandKind::Sink => self.out.write_char('_'),
            OperandKind::Name(name) => self.put(name),
            OperandKind::Member(name, member) => {
                self.put(name)?;
                self.out.write_char('.')?;
                self.put(member)
            }
            OperandKind::Not(name) => {
                self.out.write_char('!')?;
                self.put(name)
            }
            OperandKind::Neg(name) => {
                self.out.write_char('-')?;
                self.put(name)
            }
            OperandKind::Pair(a, b) => {
                self.put(a)?;
                self.out.write_char('|')?;
                self.put(b)
            }
            OperandKind::Integer(integer) => self.integer(integer),
            OperandKind::F32(bits) => write!(self.out, "0f{bits:08X}"),
            OperandKind::F64(bits) => write!(self.out, "0d{bits:016X}"),
            OperandKind::Text(text) => {
                self.out.write_char('"')?;
                self.put(text)?;
                self.out.write_char('"')
            }
            // An offset of zero is written out, so that the form is the same when read again.
            OperandKind::Sum(name, 0) => {
                self.put(name)?;
                self.out.write_str("+0")
            }
            OperandKind::Sum(name, offset) => self.offset(name, offset),
            OperandKind::Element(name, index) => {
                self.put(name)?;
                self.out.write_char('[')?;
                self.operand(&module.operands[index].kind)?;
                self.out.write_char(']')
            }
            OperandKind::Address(name, offset) => {
                self.out.write_char('[')?;
                self.offset(name, offset)?;
                self.out.write_char(']')
            }
            OperandKind::Bracket(parts) => self.enclosed('[', parts, ']'),
            OperandKind::Suffixed(inner, word) => {
                self.operand(&module.operands[inner].kind)?;
                self.out.write_char('.')?;
                self.put(word)
            }
            OperandKind::Vector(parts) => self.enclosed('{', parts, '}'),
            OperandKind::List(parts) => self.enclosed('(', parts, ')'),
            OperandKind::Expression(id) => {
                let expression = &module.expressions[id];
                self.expression(expression.op, &module.operands[expression.args])
            }
        }
    }

    fn integer(&mut self, Integer { bits, unsigned }: Integer) -> fmt::Result {
        match (unsigned, i64::try_from(bits)) {
            (false, _) => write!(self.out, "{}", bits as i64),
            (true, Ok(_)) => write!(self.out, "{bits}U"),
            (true, Err(_)) => write!(self.out, "{bits}"),
        }
    }

    fn expression(&mut self, op: Operator, args: &[Operand]) -> fmt::Result {
        match (op, args) {
            (Operator::Apply, [function, argument]) => {
                self.operand(&function.kind)?;
                self.out.write_char('(')?;
                self.operand(&argument.kind)?;
                self.out.write_char(')')
            }
            (Operator::Choose, [condition, yes, no]) => {
                self.part(condition)?;
                self.out.write_str(" ? ")?;
                self.part(yes)?;
                self.out.write_str(" : ")?;
                self.part(no)
            }
            (_, [a, b]) => {
                self.part(a)?;
                write!(self.out, " {} ", op.text())?;
                self.part(b)
            }
            (_, [a]) => {
                self.out.write_str(op.text())?;
                // A chain of unary operators needs no parentheses, and with them would nest twice
                // as deep as it was read.
                if self.is_unary(a) { self.operand(&a.kind) } else { self.part(a) }
            }
            _ => Ok(()),
        }
    }

    /// Returns whether an operand is a unary operator's expression.
    fn is_unary(&self, operand: &Operand) -> bool {
        let OperandKind::Expression(id) = operand.kind else { return false };
        let expression = &self.module.expressions[id];
        expression.op != Operator::Apply && self.module.operands[expression.args].len() == 1
    }

    /// An operand of an operator: in parentheses when it has operators of its own.
    fn part(&mut self, operand: &Operand) -> fmt::Result {
        let simple = match operand.kind {
            OperandKind::Expression(id) => self.module.expressions[id].op == Operator::Apply,
            OperandKind::Sum(..) | OperandKind::Pair(..) => false,
            _ => true,
        };
        if simple {
            return self.operand(&operand.kind);
        }
        self.out.write_char('(')?;
        self.operand(&operand.kind)?;
        self.out.write_char(')')
    }
}
