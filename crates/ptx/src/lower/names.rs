//! Names of a function: scopes, registers, labels.
//!
//! A table holds the current meaning of each name, and a record its meaning outside the scope:
//! finding a name takes the same time at any depth. Names like `%r17` are found by their stem if a
//! range `%r<N>` is declared.

use isa::Span;
use rustc_hash::FxHashMap;

use crate::ast::{Module, Statement, Type};
use crate::names::Symbol;
use crate::pool::Run;

/// The meaning of a name of a function.
#[derive(Clone, Copy, Debug)]
pub(super) enum Meaning {
    /// A register of this type, by index in the function's list of register families; with elements
    /// of a vector.
    Register { family: u32, ty: Type, vector: u8 },
    /// A variable of the thread, by index.
    Local { index: u32, element: u64 },
    /// A variable of the module that is declared in the function.
    Variable { id: ir::VarId, element: u64 },
    /// A parameter of a kernel, by index.
    KernelParam { index: u32, element: u64 },
    /// A parameter of a call or device function, by index in the function's list of those.
    Param(u32),
}

/// A label of a function, by index in its list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Label(pub(super) u32);

/// The kinds of labels.
#[derive(Clone, Copy, Debug)]
pub(super) enum LabelMeaning {
    /// A place.
    Place(Label),
    /// `.branchtargets`, `.calltargets` or `.callprototype`: the statement, by index in the tree.
    Statement(usize),
}

#[derive(Clone, Copy, Debug)]
struct Entry<T> {
    meaning: T,
    span: Span,
    depth: u32,
}

/// One name space with scopes.
#[derive(Debug)]
struct Table<T> {
    now: FxHashMap<Symbol, Entry<T>>,
    before: Vec<(Symbol, Option<Entry<T>>)>,
}

impl<T: Copy> Table<T> {
    fn new() -> Self {
        Self { now: FxHashMap::default(), before: Vec::new() }
    }

    /// Declares a name; returns the place of an earlier declaration in the same scope.
    fn declare(&mut self, name: Symbol, entry: Entry<T>) -> Option<Span> {
        let old = self.now.insert(name, entry);
        self.before.push((name, old));
        old.filter(|o| o.depth == entry.depth).map(|o| o.span)
    }

    fn leave(&mut self, mark: usize) {
        while self.before.len() > mark {
            match self.before.pop() {
                Some((name, Some(old))) => {
                    self.now.insert(name, old);
                }
                Some((name, None)) => {
                    self.now.remove(&name);
                }
                None => return,
            }
        }
    }
}

/// The scopes of a function.
#[derive(Debug)]
pub(super) struct Scopes {
    values: Table<Meaning>,
    /// Ranges of registers by their stem, which is not a name itself: `a<2>` declares `a0` and
    /// `a1`.
    ranges: Table<Range>,
    /// Lengths of the stems that have been declared, as bits; those of 63 bytes and more share one.
    stem_lengths: u64,
    labels: Table<LabelMeaning>,
    marks: Vec<[usize; 3]>,
}

/// Registers `name0` to `nameN-1`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub(super) family: u32,
    pub(super) ty: Type,
    pub(super) count: u64,
    pub(super) vector: u8,
}

/// A register: its family, and its number in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct RegisterKey {
    pub(super) family: u32,
    pub(super) index: u64,
}

/// The result of looking up a value's name.
#[derive(Clone, Copy, Debug)]
pub(super) enum Found {
    /// A register, with its type, elements of a vector, and the place of its declaration.
    Register(RegisterKey, Type, u8, Span),
    /// Something else.
    Other(Meaning, Span),
}

impl Scopes {
    pub(super) fn new() -> Self {
        Self {
            values: Table::new(),
            ranges: Table::new(),
            stem_lengths: 0,
            labels: Table::new(),
            marks: Vec::new(),
        }
    }

    fn depth(&self) -> u32 {
        self.marks.len() as u32
    }

    pub(super) fn enter(&mut self) {
        let Self { values, ranges, labels, .. } = self;
        self.marks.push([values.before.len(), ranges.before.len(), labels.before.len()]);
    }

    pub(super) fn leave(&mut self) {
        if let Some([values, ranges, labels]) = self.marks.pop() {
            self.values.leave(values);
            self.ranges.leave(ranges);
            self.labels.leave(labels);
        }
    }

    /// Declares a value; returns the place of an earlier declaration in the same scope.
    pub(super) fn declare(&mut self, name: Symbol, meaning: Meaning, span: Span) -> Option<Span> {
        let depth = self.depth();
        self.values.declare(name, Entry { meaning, span, depth })
    }

    /// Declares a range of registers; returns the place of an earlier one of the same stem and
    /// scope.
    pub(super) fn declare_range(&mut self, stem: Symbol, range: Range, span: Span) -> Option<Span> {
        let depth = self.depth();
        self.stem_lengths |= stem_bit((span.end - span.start) as usize);
        self.ranges.declare(stem, Entry { meaning: range, span, depth })
    }

    /// Declares a label; returns the place of an earlier one in the same scope.
    pub(super) fn declare_label(
        &mut self,
        name: Symbol,
        meaning: LabelMeaning,
        span: Span,
    ) -> Option<Span> {
        let depth = self.depth();
        self.labels.declare(name, Entry { meaning, span, depth })
    }

    pub(super) fn label(&self, name: Symbol) -> Option<LabelMeaning> {
        self.labels.now.get(&name).map(|e| e.meaning)
    }

    /// Returns the meaning of a name here.
    pub(super) fn find(&self, tree: &Module, name: Symbol) -> Option<Found> {
        let exact = self.values.now.get(&name);
        let ranged = self.find_in_range(tree, name);
        match (exact, ranged) {
            (Some(exact), Some((depth, found))) if depth > exact.depth => Some(found),
            (None, Some((_, found))) => Some(found),
            (Some(Entry { meaning, span, .. }), _) => match *meaning {
                Meaning::Register { family, ty, vector } => {
                    let key = RegisterKey { family, index: 0 };
                    Some(Found::Register(key, ty, vector, *span))
                }
                other => Some(Found::Other(other, *span)),
            },
            (None, None) => None,
        }
    }

    fn find_in_range(&self, tree: &Module, name: Symbol) -> Option<(u32, Found)> {
        let text = tree.name(name);
        let digits = text.len() - text.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        // A stem may end in digits itself: `%r1<4>` declares `%r10` to `%r13`.
        let mut best: Option<(u32, Found)> = None;
        for length in 1..=digits.min(20) {
            let (stem, number) = text.split_at(text.len() - length);
            if self.stem_lengths & stem_bit(stem.len()) == 0 {
                continue;
            }
            if number.len() > 1 && number.starts_with('0') {
                continue;
            }
            let Some(entry) = tree.names.find(stem).and_then(|s| self.ranges.now.get(&s)) else {
                continue;
            };
            let Range { family, ty, count, vector } = entry.meaning;
            let Ok(index) = number.parse() else { continue };
            if index < count && best.is_none_or(|(depth, _)| entry.depth > depth) {
                let key = RegisterKey { family, index };
                best = Some((entry.depth, Found::Register(key, ty, vector, entry.span)));
            }
        }
        best
    }

    /// Returns the range that a name is beyond: its stem, and its number of registers.
    pub(super) fn range_of<'t>(&self, tree: &'t Module, name: Symbol) -> Option<(&'t str, u64)> {
        let text = tree.name(name);
        let stem = text.trim_end_matches(|c: char| c.is_ascii_digit());
        let symbol = tree.names.find(stem).filter(|_| stem.len() < text.len())?;
        Some((stem, self.ranges.now.get(&symbol)?.meaning.count))
    }

    /// Returns the number of registers in the range of a stem.
    pub(super) fn registers_of(&self, stem: Symbol) -> Option<u64> {
        self.ranges.now.get(&stem).map(|entry| entry.meaning.count)
    }

    /// Returns a declared name that resembles an undeclared one.
    pub(super) fn nearest<'t>(&self, tree: &'t Module, name: Symbol) -> Option<&'t str> {
        let wrong = tree.name(name);
        let names = self.values.now.keys().chain(self.ranges.now.keys());
        let mut names: Vec<&str> = names.map(|s| tree.name(*s)).collect();
        names.sort_unstable();
        names.truncate(1000);
        isa::suggest::nearest(wrong, names)
    }
}

/// The bit of a stem's length in bytes.
fn stem_bit(length: usize) -> u64 {
    1 << length.min(63)
}

/// The labels of each scope of a body: of the body itself first, then of each `{` in order.
pub(super) fn labels_by_scope(tree: &Module, body: Run<Statement>) -> Vec<Vec<ScopeLabel>> {
    let mut scopes = vec![Vec::new()];
    let mut open = vec![0];
    for (index, statement) in body.ids().zip(&tree.statements[body]) {
        let here = open.last().copied().unwrap_or(0);
        let (name, place) = match statement {
            Statement::Open(_) => {
                open.push(scopes.len());
                scopes.push(Vec::new());
                continue;
            }
            Statement::Close(_) => {
                open.pop();
                continue;
            }
            Statement::Label(name) => (*name, true),
            Statement::Targets(targets) => (targets.label, false),
            Statement::Prototype(prototype) => (prototype.label, false),
            _ => continue,
        };
        scopes[here].push(ScopeLabel {
            name: name.symbol,
            span: name.span,
            place,
            statement: index.index(),
        });
    }
    scopes
}

/// A label of a scope.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScopeLabel {
    pub(super) name: Symbol,
    pub(super) span: Span,
    /// Whether it is a place, not a list or prototype.
    pub(super) place: bool,
    /// The statement's index in the tree.
    pub(super) statement: usize,
}
