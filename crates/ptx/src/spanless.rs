//! Trees without places, to compare the contents of two texts.

use isa::Span;

use crate::ast::{Declaration, File, Init, Item, Module, Name, Operand, Section, Statement};

fn name(name: &mut Name) {
    name.span = Span::default();
}

fn file(file: &mut File) {
    file.span = Span::default();
}

fn section(section: &mut Section) {
    section.span = Span::default();
}

impl Module {
    /// The same tree with all spans, the file's number and [`Module::incomplete`] reset: equal for
    /// two texts if and only if they have the same contents.
    #[must_use]
    pub fn without_spans(mut self) -> Self {
        self.file = isa::FileId::default();
        self.incomplete = false;
        self.items.iter_mut().for_each(item);
        for f in self.functions.iter_mut() {
            (f.head, f.span) = Default::default();
            name(&mut f.signature.name);
        }
        self.declarations.iter_mut().for_each(declaration);
        self.declarators.iter_mut().for_each(|d| name(&mut d.name));
        self.inits.iter_mut().for_each(|Init { span, .. }| *span = Span::default());
        self.directives.iter_mut().for_each(|d| name(&mut d.name));
        self.statements.iter_mut().for_each(statement);
        for i in self.instructions.iter_mut() {
            i.span = Span::default();
            name(&mut i.opcode);
            if let Some(guard) = &mut i.guard {
                name(&mut guard.register);
            }
        }
        self.modifiers.iter_mut().for_each(name);
        self.operands.iter_mut().for_each(|Operand { span, .. }| *span = Span::default());
        for loc in self.locs.iter_mut() {
            loc.span = Span::default();
            if let Some(inlined) = &mut loc.inlined {
                name(&mut inlined.function);
            }
        }
        self.name_lists.iter_mut().for_each(name);
        for line in self.section_lines.iter_mut() {
            match line {
                crate::ast::SectionLine::Label(label) => name(label),
                crate::ast::SectionLine::Data { ty, .. } => name(ty),
            }
        }
        self
    }
}

fn item(item: &mut Item) {
    match item {
        Item::Version { span, .. } | Item::Target { span, .. } | Item::AddressSize { span, .. } => {
            *span = Span::default();
        }
        Item::File(f) => file(f),
        Item::Alias { alias, aliasee, span } => {
            name(alias);
            name(aliasee);
            *span = Span::default();
        }
        Item::Section(s) => section(s),
        Item::Variable(_) | Item::Function(_) | Item::Directive(_) => {}
    }
}

fn declaration(d: &mut Declaration) {
    d.span = Span::default();
    if let Some((_, span)) = &mut d.align {
        *span = Span::default();
    }
    d.ty.iter_mut().for_each(name);
    if let Some(space) = d.ptr.as_mut().and_then(|p| p.space.as_mut()) {
        name(space);
    }
}

fn statement(statement: &mut Statement) {
    match statement {
        Statement::Open(span) | Statement::Close(span) => *span = Span::default(),
        Statement::Label(label) => name(label),
        Statement::File(f) => file(f),
        Statement::Section(s) => section(s),
        Statement::Targets(t) => {
            name(&mut t.label);
            t.span = Span::default();
        }
        Statement::Prototype(p) => {
            name(&mut p.label);
            name(&mut p.signature.name);
            p.span = Span::default();
        }
        Statement::Instruction(_)
        | Statement::Declaration(_)
        | Statement::Loc(_)
        | Statement::Directive(_) => {}
    }
}
