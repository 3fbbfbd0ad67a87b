//! The module's own directives and names.

use isa::{Diagnostic, Span};
use rustc_hash::FxHashMap;

use super::{Global, Lowerer};
use crate::Symbol;
use crate::ast::{Declarator, Directive, Function, Item, Linkage, Name, Statement};
use crate::names::kw;
use crate::pool::Id;

impl Lowerer<'_> {
    /// `.version`, `.target`, `.address_size`, `.file`.
    pub(super) fn header(&mut self) {
        let tree = self.tree;
        for item in &tree.items {
            match item {
                Item::Version { major, minor, span } => {
                    self.version = (*major, *minor);
                    self.known_version(*span);
                }
                Item::Target { words, .. } => {
                    self.target_words(&tree.name_lists[*words]);
                    let words = tree.name_lists[*words].iter();
                    let numbers =
                        words.filter_map(|w| super::device::target_number(tree.name(w.symbol)));
                    self.sm = numbers.min().unwrap_or(self.sm);
                }
                Item::AddressSize { bits, span } => self.address_size(*bits, *span),
                Item::File(file) => self.file(file.index, file.path),
                Item::Directive(id) => self.directive(&tree.directives[*id]),
                _ => {}
            }
        }
        for statement in &tree.statements {
            if let Statement::File(file) = statement {
                self.file(file.index, file.path);
            }
        }
        self.debug_strings();
        if !tree.incomplete {
            self.header_order();
        }
    }

    /// Checks that a file begins with `.version`, then `.target`.
    fn header_order(&mut self) {
        let tree = self.tree;
        let help = "begin the file with `.version 8.0`, `.target sm_80` and `.address_size 64`";
        let first = |is: fn(&Item) -> bool| tree.items.iter().position(is);
        let version = first(|item| matches!(item, Item::Version { .. }));
        let target = first(|item| matches!(item, Item::Target { .. }));
        let missing = match (version, target) {
            (Some(0), Some(1)) => return,
            (None, _) => Diagnostic::error("ptx::no-version", "the file has no `.version`"),
            (_, None) => Diagnostic::error("ptx::no-target", "the file has no `.target`"),
            (Some(version), Some(target)) => {
                let at = if version > 0 { version } else { target };
                let span = match &tree.items[at] {
                    Item::Version { span, .. } | Item::Target { span, .. } => *span,
                    _ => Span::default(),
                };
                let message = "the file does not begin with `.version` and `.target`";
                Diagnostic::error("ptx::header-order", message).at(span, "too late here")
            }
        };
        self.diagnostics.push(missing.help(help));
    }

    /// Reports a version that does not exist.
    fn known_version(&mut self, span: Span) {
        let (major, minor) = self.version;
        let all = super::device::versions;
        if all().any(|known| known == self.version) {
            return;
        }
        let before = all().take_while(|known| *known < self.version).last();
        let after = all().find(|known| *known > self.version);
        let label = match (before, after) {
            (Some((a, b)), Some((c, d))) => format!("between the versions {a}.{b} and {c}.{d}"),
            (Some((a, b)), None) => format!("the newest version known here is {a}.{b}"),
            (None, _) => "the first version is 1.0".to_owned(),
        };
        let message = format!("there is no PTX version {major}.{minor}");
        self.diagnostics.push(
            Diagnostic::error("ptx::version", message)
                .at(span, label)
                .help("write the version whose instructions the file uses, such as `.version 8.0`"),
        );
    }

    fn target_words(&mut self, words: &[Name]) {
        for word in words {
            let text = self.tree.name(word.symbol);
            let digits = text.strip_prefix("sm_").or(text.strip_prefix("compute_")).unwrap_or("");
            let number = digits.trim_end_matches(['a', 'f']);
            let device = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
            let option = matches!(
                text,
                "texmode_unified" | "texmode_independent" | "debug" | "map_f64_to_f32"
            );
            if !(device || option) {
                let message = format!("there is no target `{text}`");
                let diagnostic = Diagnostic::error("ptx::target", message)
                    .at(word.span, "unknown")
                    .help("write one such as `sm_80`");
                self.diagnostics.push(diagnostic);
            }
        }
    }

    /// Reports a directive without a form of its own: `.pragma`, or an unknown one. A known word
    /// here is a mistake; any other may come from a newer version of PTX.
    pub(super) fn directive(&mut self, directive: &Directive) {
        let name = directive.name;
        let text = self.tree.name(name.symbol);
        let diagnostic = match name.symbol {
            kw::PRAGMA => return,
            symbol if symbol.index() < kw::ALL.len() => {
                let message = format!("`.{text}` begins no statement here");
                Diagnostic::error("ptx::directive", message).at(name.span, "not expected here")
            }
            _ => {
                let message = format!("the directive `.{text}` is not known");
                Diagnostic::warning("ptx::unknown-directive", message).at(name.span, "ignored")
            }
        };
        self.diagnostics.push(diagnostic);
    }

    fn address_size(&mut self, bits: u64, span: Span) {
        if bits == 64 {
            return;
        }
        let what = if bits == 32 { "32-bit addresses are not supported" } else { "no such size" };
        self.diagnostics.push(
            Diagnostic::error("ptx::address-size", what)
                .at(span, "addresses have 64 bits")
                .help("write `.address_size 64` and keep addresses in 64-bit registers"),
        );
    }

    /// All names of the module.
    pub(super) fn collect(&mut self) {
        let tree = self.tree;
        let mut places: FxHashMap<Symbol, Span> = FxHashMap::default();
        for item in &tree.items {
            match item {
                Item::Function(id) => self.collect_function(*id, &mut places),
                Item::Variable(id) => {
                    let linkage = tree.declarations[*id].linkage;
                    for declarator in tree.declarations[*id].declarators.ids() {
                        let global = Global::Variable(*id, declarator);
                        self.collect_variable(global, declarator, linkage, &mut places);
                    }
                }
                _ => {}
            }
        }
        for item in &tree.items {
            if let Item::Alias { alias, aliasee, .. } = item {
                self.collect_alias(*alias, *aliasee);
            }
        }
    }

    fn collect_function(&mut self, id: Id<Function>, places: &mut FxHashMap<Symbol, Span>) {
        let tree = self.tree;
        let function = &tree.functions[id];
        let Name { symbol, span } = function.signature.name;
        match self.globals.get(&symbol).copied() {
            Some(Global::Function(other)) => {
                let other = &tree.functions[other];
                if function.body.is_some() && other.body.is_some() {
                    self.twice(symbol, span, places.get(&symbol).copied());
                    return;
                }
                if function.body.is_none() {
                    return;
                }
            }
            Some(_) => return self.twice(symbol, span, places.get(&symbol).copied()),
            None => {}
        }
        places.insert(symbol, span);
        self.taken.insert(tree.name(symbol).to_owned());
        self.globals.insert(symbol, Global::Function(id));
    }

    fn collect_variable(
        &mut self,
        global: Global,
        declarator: Id<Declarator>,
        linkage: Option<Linkage>,
        places: &mut FxHashMap<Symbol, Span>,
    ) {
        let tree = self.tree;
        let Name { symbol, span } = tree.declarators[declarator].name;
        match self.globals.get(&symbol).copied() {
            None => {}
            Some(_) if linkage == Some(Linkage::Extern) => return,
            Some(Global::Variable(other, _))
                if tree.declarations[other].linkage == Some(Linkage::Extern) => {}
            Some(_) => return self.twice(symbol, span, places.get(&symbol).copied()),
        }
        places.insert(symbol, span);
        self.globals.insert(symbol, global);
    }

    fn collect_alias(&mut self, alias: Name, aliasee: Name) {
        match self.globals.get(&aliasee.symbol).copied() {
            Some(global @ Global::Function(_)) => {
                self.globals.insert(alias.symbol, global);
            }
            _ => {
                let name = self.tree.name(aliasee.symbol);
                let message = format!("there is no function `{name}`");
                self.diagnostics.push(
                    Diagnostic::error("ptx::undefined", message).at(aliasee.span, "not declared"),
                );
            }
        }
    }

    /// Reports a name that is defined a second time.
    pub(super) fn twice(&mut self, symbol: Symbol, span: Span, first: Option<Span>) {
        let message = format!("`{}` is defined twice", self.tree.name(symbol));
        let mut diagnostic =
            Diagnostic::error("ptx::redefined", message).at(span, "the second definition");
        if let Some(first) = first {
            diagnostic = diagnostic.also(first, "the first");
        }
        self.diagnostics.push(diagnostic.help("rename one of the two"));
    }

    /// Functions in order of the file, each name once.
    pub(super) fn all_functions(&self) -> Vec<Id<Function>> {
        let tree = self.tree;
        let functions = tree.items.iter().filter_map(|item| match item {
            Item::Function(id) => Some(*id),
            _ => None,
        });
        functions
            .filter(|id| {
                let symbol = tree.functions[*id].signature.name.symbol;
                matches!(self.globals.get(&symbol), Some(Global::Function(known)) if known == id)
            })
            .collect()
    }

    /// Makes all variables that the file defines.
    pub(super) fn all_variables(&mut self) {
        let tree = self.tree;
        for item in &tree.items {
            let Item::Variable(id) = item else { continue };
            if tree.declarations[*id].linkage == Some(Linkage::Extern) {
                continue;
            }
            for declarator in tree.declarations[*id].declarators.ids() {
                // Errors have been reported.
                let _ = self.variable(*id, declarator, None);
            }
        }
    }
}
