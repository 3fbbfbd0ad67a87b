//! Symbols: labels, local labels and symbols with assigned values.
//!
//! Every definition remembers the statement that it is in. An assigned value is evaluated as soon
//! as all that it names is known; what is left after the first pass is resolved with an explicit
//! stack, so that neither long chains nor cycles recurse.

use std::collections::BTreeMap;
use std::sync::Arc;

use indexmap::IndexMap;

use super::expr::{EvalError, Expr, Op, SymbolError, Value};
use crate::diag::Diagnostic;
use crate::span::Span;

/// All symbols of a text.
#[derive(Default)]
pub(super) struct Symbols {
    names: IndexMap<Arc<str>, Symbol>,
    definitions: Vec<Definition>,
    /// Statement and address of each definition of a local label, in order.
    locals: BTreeMap<u64, Vec<(u32, u64)>>,
}

#[derive(Default)]
struct Symbol {
    /// Indices into `definitions`, in order of the text.
    definitions: Vec<usize>,
    /// Where it was first marked as global.
    global: Option<Span>,
    label: bool,
}

struct Definition {
    name: Arc<str>,
    statement: u32,
    span: Span,
    state: State,
}

enum State {
    Known(Value),
    /// The expression and the address of its statement.
    Waiting(Expr, u64),
    /// Being resolved: reaching it again is a cycle.
    Busy(Expr, u64),
    /// Its error has been reported.
    Failed,
}

/// Where an expression stands: which definitions it sees.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) statement: u32,
    pub(super) address: u64,
}

fn address(value: u64) -> Value {
    Value { number: i128::from(value), address: true }
}

impl Symbols {
    /// Defines a label.
    pub(super) fn label(
        &mut self,
        name: &str,
        span: Span,
        place: Place,
    ) -> Result<(), Box<Diagnostic>> {
        if let Some(symbol) = self.names.get(name)
            && let Some(&first) = symbol.definitions.first()
        {
            return Err(duplicate(name, span, self.definitions[first].span));
        }
        self.define(name, span, place.statement, State::Known(address(place.address)));
        self.names.entry(name.into()).or_default().label = true;
        Ok(())
    }

    /// Defines a local label.
    pub(super) fn local(&mut self, number: u64, place: Place) {
        self.locals.entry(number).or_default().push((place.statement, place.address));
    }

    /// Gives a symbol a value.
    pub(super) fn assign(
        &mut self,
        name: &str,
        span: Span,
        place: Place,
        value: Expr,
    ) -> Result<(), Box<Diagnostic>> {
        if let Some(symbol) = self.names.get(name)
            && symbol.label
            && let Some(&first) = symbol.definitions.first()
        {
            return Err(duplicate(name, span, self.definitions[first].span));
        }
        let state = match self.eval_now(&value, place) {
            Ok(value) => State::Known(value),
            Err(_) => State::Waiting(value, place.address),
        };
        self.define(name, span, place.statement, state);
        Ok(())
    }

    fn define(&mut self, name: &str, span: Span, statement: u32, state: State) {
        let name: Arc<str> = name.into();
        let symbol = self.names.entry(Arc::clone(&name)).or_default();
        symbol.definitions.push(self.definitions.len());
        self.definitions.push(Definition { name, statement, span, state });
    }

    /// Marks a symbol as global.
    pub(super) fn mark_global(&mut self, name: &str, span: Span) {
        self.names.entry(name.into()).or_default().global.get_or_insert(span);
    }

    /// Symbols that are marked as global, but not defined.
    pub(super) fn undefined_globals(&self) -> impl Iterator<Item = (&Arc<str>, Span)> {
        let undefined = self.names.iter().filter(|(_, s)| s.definitions.is_empty());
        undefined.filter_map(|(name, s)| Some((name, s.global?)))
    }

    /// Names, for suggestions.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().filter(|(_, s)| !s.definitions.is_empty()).map(|(name, _)| &**name)
    }

    /// The definition that a use in a statement sees: the last one before it; if there is none, the
    /// only one.
    fn seen_by(&self, name: &str, statement: u32) -> Result<usize, SymbolError> {
        let definitions = self.names.get(name).map_or(&[][..], |s| &s.definitions);
        let before = definitions.partition_point(|&d| self.definitions[d].statement < statement);
        match (before.checked_sub(1).and_then(|i| definitions.get(i)), definitions) {
            (Some(&last), _) => Ok(last),
            (None, &[only]) => Ok(only),
            (None, []) => Err(SymbolError::Undefined(name.into())),
            (None, _) => Err(SymbolError::Ambiguous(name.into())),
        }
    }

    fn local_at(&self, number: u64, forward: bool, statement: u32) -> Result<Value, SymbolError> {
        let definitions = self.locals.get(&number).map_or(&[][..], Vec::as_slice);
        let next = definitions.partition_point(|&(s, _)| s <= statement);
        let index = if forward { Some(next) } else { next.checked_sub(1) };
        let found = index.and_then(|i| definitions.get(i));
        found.map(|&(_, at)| address(at)).ok_or(SymbolError::NoLocal(number, forward))
    }

    fn eval_with(
        &self,
        expr: &Expr,
        place: Place,
        unknown: &mut dyn FnMut(usize) -> SymbolError,
    ) -> Result<Value, EvalError> {
        expr.eval(&mut |op| match op {
            Op::Symbol(name) => {
                let index = self.seen_by(name, place.statement)?;
                match &self.definitions[index].state {
                    State::Known(value) => Ok(*value),
                    _ => Err(unknown(index)),
                }
            }
            Op::Local(number, forward) => self.local_at(*number, *forward, place.statement),
            _ => Ok(address(place.address)),
        })
    }

    /// The value, if everything that it names is known by now. During the first pass, a symbol or
    /// local label that only comes later is not yet known.
    pub(super) fn eval_now(&self, expr: &Expr, place: Place) -> Result<Value, EvalError> {
        let not_yet = |index: usize| SymbolError::NotYet(Arc::clone(&self.definitions[index].name));
        self.eval_with(expr, place, &mut { not_yet }).map_err(|error| match error {
            EvalError::Symbol(SymbolError::Undefined(name), span) => {
                EvalError::Symbol(SymbolError::NotYet(name), span)
            }
            EvalError::Symbol(SymbolError::NoLocal(number, true), span) => {
                EvalError::Symbol(SymbolError::NotYet(format!("{number}f").into()), span)
            }
            other => other,
        })
    }

    /// The value after the first pass, when every symbol is either resolved or has failed.
    pub(super) fn eval(&self, expr: &Expr, place: Place) -> Result<Value, EvalError> {
        self.eval_with(expr, place, &mut |_| SymbolError::Reported)
    }

    /// Resolves all assigned values after the first pass; reports those that have none.
    pub(super) fn resolve(&mut self, report: &mut dyn FnMut(EvalError)) {
        for index in 0..self.definitions.len() {
            self.resolve_one(index, report);
        }
    }

    /// Depth-first over what a definition names, with an explicit stack: a definition is visited
    /// once before and once after those that it names.
    fn resolve_one(&mut self, start: usize, report: &mut dyn FnMut(EvalError)) {
        let mut stack = vec![(start, false)];
        let mut path: Vec<usize> = Vec::new();
        while let Some((index, named_are_done)) = stack.pop() {
            let statement = self.definitions[index].statement;
            let state = std::mem::replace(&mut self.definitions[index].state, State::Failed);
            match state {
                State::Waiting(expr, dot) if !named_are_done => {
                    stack.push((index, true));
                    path.push(index);
                    for name in expr.symbols() {
                        if let Ok(next) = self.seen_by(name, statement)
                            && next != index
                        {
                            stack.push((next, false));
                        }
                    }
                    self.definitions[index].state = State::Busy(expr, dot);
                }
                State::Busy(expr, dot) if named_are_done => {
                    path.pop();
                    let place = Place { statement, address: dot };
                    // What is unknown now is either busy, and so this is a cycle, or has failed.
                    let mut cycle = None;
                    let mut unknown = |other: usize| {
                        if other == index
                            || matches!(self.definitions[other].state, State::Busy(..))
                        {
                            cycle = Some(other);
                        }
                        SymbolError::Reported
                    };
                    let value = self.eval_with(&expr, place, &mut unknown);
                    self.definitions[index].state = match value {
                        Ok(value) => State::Known(value),
                        Err(error) => {
                            match (cycle, &error) {
                                (Some(to), _) => report(self.cycle(&path, to, index, &error)),
                                (None, EvalError::Symbol(SymbolError::Reported, _)) => {}
                                (None, _) => report(error),
                            }
                            State::Failed
                        }
                    };
                }
                other => self.definitions[index].state = other,
            }
        }
    }

    /// The error of a cycle that goes from `to` along the path to `from` and back.
    fn cycle(&self, path: &[usize], to: usize, from: usize, error: &EvalError) -> EvalError {
        let span = match error {
            EvalError::Symbol(_, span) => *span,
            _ => self.definitions[from].span,
        };
        let start = path.iter().position(|&i| i == to).unwrap_or(path.len());
        let mut names: Vec<Arc<str>> =
            path[start..].iter().map(|&i| Arc::clone(&self.definitions[i].name)).collect();
        names.push(Arc::clone(&self.definitions[from].name));
        EvalError::Symbol(SymbolError::Cycle(names), span)
    }

    /// Name, last value, whether it is an address and whether it is global, in order of first
    /// mention.
    pub(super) fn values(&self) -> impl Iterator<Item = (&Arc<str>, Value, bool)> {
        self.names.iter().filter_map(|(name, symbol)| {
            let last = symbol.definitions.last()?;
            match self.definitions[*last].state {
                State::Known(value) => Some((name, value, symbol.global.is_some())),
                _ => None,
            }
        })
    }
}

fn duplicate(name: &str, span: Span, first: Span) -> Box<Diagnostic> {
    let help =
        "rename one of them; labels that only jumps near them use can be local, `1:` and `1b`";
    let error = Diagnostic::error("asm::duplicate-symbol", format!("`{name}` is defined twice"));
    error.at(span, "defined again here").also(first, "first defined here").help(help).into()
}
