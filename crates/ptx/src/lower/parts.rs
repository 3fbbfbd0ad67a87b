//! Lowers a file part by part, so that little of it is in memory at a time.
//!
//! A part is some kernels with all that they reach, or functions that no kernel reaches, or
//! variables that no function names. What parts share is lowered once for each of them; where they
//! share much they are larger, so that all parts together are at most three times the file.
//!
//! There are no errors and no warnings here: a file that gives any is to be read and lowered as a
//! whole, which tells them in order, each once. So whatever is limited for a whole file is limited
//! for all parts together.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, ScopedJoinHandle};

use ir::Operand;
use ir::device::{CONSTANT, Limits};
use ir::mods::Space as IrSpace;
use isa::FileId;
use rustc_hash::FxHashMap;

use super::{BUDGET, Lowerer};
use crate::ast::{Declaration, Function, FunctionKind, Item, Linkage, Module};
use crate::parse::{BytesRead, Definition, Outline};
use crate::pool::Id;

/// Least bytes of text of a part, and the most parts, but for what parts share.
const PART_BYTES: usize = 1 << 18;
const PARTS: usize = 64;

/// Stack of a thread, which suffices for any text.
const STACK: usize = 16 << 20;

/// Bytes of text that a variable without an initialiser counts as.
const DECLARATION_BYTES: usize = 64;

/// A lowered part of a file.
#[derive(Clone, Debug)]
pub struct Part {
    /// The functions and variables of the part, with all that they name.
    pub module: ir::Module,
    /// How many of its functions, from the first one on, are the kernels that it was made for. They
    /// are in order of the text; others may be there as well if these name them.
    pub kernels: usize,
    /// Whether it calls functions by their address: these may be in any part.
    pub calls_by_address: bool,
    /// Whether an instruction takes the address of a function.
    pub takes_addresses: bool,
}

impl Part {
    fn new(module: ir::Module, kernels: usize) -> Self {
        let (mut calls_by_address, mut takes_addresses) = (false, false);
        for inst in module.functions.iter().flat_map(|f| &f.blocks).flat_map(|b| &b.insts) {
            calls_by_address |= inst.op == ir::Op::CallInd;
            let is_function = |o: &Operand| matches!(o, Operand::Symbol(ir::Symbol::Func(_), _));
            takes_addresses |= inst.operands.iter().any(is_function);
        }
        Self { module, kernels, calls_by_address, takes_addresses }
    }
}

/// Lowers a whole file for devices with these limits, as [`lower_for`](super::lower_for) does, but
/// hands out one part after the other. Kernels come in the order of the text, each once.
///
/// Up to `threads` threads take slices of the kernels, each with a state of its own that `take`
/// changes; the states are returned in the order of the text. All other functions come last, and
/// to the first state.
///
/// Returns `None` as soon as there is something to tell, an error or a warning, or `take` returns
/// `None`: then the whole file must be parsed and lowered.
pub fn lower_parts<S: Default + Send>(
    file: FileId,
    text: &str,
    limits: Limits,
    threads: usize,
    take: impl Fn(&mut S, Part) -> Option<()> + Sync,
) -> Option<Vec<S>> {
    let threads = threads.min(text.len() / (4 * PART_BYTES)).max(1);
    let least = (text.len() / (PARTS * threads)).max(PART_BYTES);
    lower_parts_of(file, text, limits, (threads, least), take)
}

/// The same with so many threads and parts of at least so many bytes.
#[doc(hidden)]
pub fn lower_parts_of<S: Default + Send>(
    file: FileId,
    text: &str,
    limits: Limits,
    (threads, least): (usize, usize),
    take: impl Fn(&mut S, Part) -> Option<()> + Sync,
) -> Option<Vec<S>> {
    let outline = Outline::new(file, text, false)?;
    let definitions = outline.definitions();
    let tree = outline.tree();
    let kernel = |d: &&Definition| {
        d.function.is_some_and(|id| tree.functions[id].kind == FunctionKind::Entry)
    };
    let kernels: Vec<Definition> = definitions.iter().filter(kernel).copied().collect();
    let totals = Totals {
        budget: BUDGET,
        constants: FxHashMap::default(),
        functions: vec![false; tree.functions.len()],
        variables: vec![false; tree.declarators.len()],
    };
    let stop = AtomicBool::new(false);
    let (fresh, before, state) = Default::default();
    let make = |outline, totals, state| Parts {
        outline,
        limits,
        least,
        totals,
        fresh,
        before,
        state,
        take: &take,
        stop: &stop,
    };
    let mut rest = make(outline, totals, state);
    // A file without anything else is checked in any case.
    rest.prototypes(&definitions)?;
    let slices = slices(&kernels, threads);
    let others = slices.iter().skip(1);
    let others: Vec<_> = others
        .map(|slice| (make(rest.outline.clone(), rest.totals.clone(), S::default()), *slice))
        .collect();
    let first = || rest.functions(slices.first()?, FunctionKind::Entry);
    let work = |(mut worker, slice): (Parts<'_, S, _>, &[Definition])| {
        let done = worker.functions(slice, FunctionKind::Entry);
        done.map(|()| (worker.totals, worker.state))
    };
    let (first, others) = on_threads(first, others, work);
    if !slices.is_empty() {
        first?;
    }
    let mut states = Vec::new();
    for done in others {
        let (totals, state) = done?;
        rest.totals.add(totals)?;
        states.push(state);
    }
    rest.functions(&definitions, FunctionKind::Func)?;
    rest.variables()?;
    states.insert(0, rest.state);
    let constants = rest.totals.constants.values().copied().fold(0, u64::saturating_add);
    (limits == Limits::None || constants <= CONSTANT).then_some(states)
}

/// Splits definitions into slices with about as many bytes.
fn slices(all: &[Definition], most: usize) -> Vec<&[Definition]> {
    let bytes: usize = all.iter().map(|d| d.bytes as usize).sum();
    let mut slices = Vec::new();
    let (mut rest, mut taken) = (all, 0);
    for number in 1..=most {
        let mut length = 0;
        while length < rest.len() && (number == most || taken < bytes / most * number) {
            taken += rest[length].bytes as usize;
            length += 1;
        }
        let (slice, others) = rest.split_at(length);
        rest = others;
        if !slice.is_empty() {
            slices.push(slice);
        }
    }
    slices
}

/// Does the first work on this thread and all other on threads of their own. Where the host has no
/// thread, what should be done there is not done.
fn on_threads<T, I: Send, O: Send>(
    first: impl FnOnce() -> T,
    others: Vec<I>,
    work: impl Fn(I) -> Option<O> + Sync,
) -> (T, Vec<Option<O>>) {
    let work = &work;
    std::thread::scope(|scope| {
        let builder = || Builder::new().name("simtlab-parts".to_owned()).stack_size(STACK);
        let start = |item| builder().spawn_scoped(scope, move || work(item)).ok();
        let others: Vec<_> = others.into_iter().map(start).collect();
        let first = first();
        let join = |thread: Option<ScopedJoinHandle<'_, Option<O>>>| match thread?.join() {
            Ok(done) => done,
            // The caller may catch it.
            Err(panic) => std::panic::resume_unwind(panic),
        };
        (first, others.into_iter().map(join).collect())
    })
}

/// What is limited or known for the whole file.
#[derive(Clone)]
struct Totals {
    /// What is left of the budget.
    budget: usize,
    /// Sizes of constant variables, by the place of their declaration.
    constants: FxHashMap<u32, u64>,
    /// By function, and by declared name outside of functions: whether a part had it.
    functions: Vec<bool>,
    variables: Vec<bool>,
}

/// What a part is made for.
#[derive(Default)]
struct Roots {
    /// Functions that have no body in the file, of which only the signature is looked at.
    prototypes: Vec<Id<Function>>,
    functions: Vec<Id<Function>>,
    variables: Vec<Id<Declaration>>,
}

struct Parts<'a, S, F> {
    outline: Outline<'a>,
    limits: Limits,
    least: usize,
    totals: Totals,
    /// What has been read for the next part, and for those before it.
    fresh: BytesRead,
    before: BytesRead,
    state: S,
    take: &'a F,
    /// Set when something is to be told.
    stop: &'a AtomicBool,
}

impl<S, F: Fn(&mut S, Part) -> Option<()>> Parts<'_, S, F> {
    /// What the file begins with, and signatures of functions without a body in the file.
    fn prototypes(&mut self, definitions: &[Definition]) -> Option<()> {
        let defined: Vec<Id<Function>> = definitions.iter().filter_map(|d| d.function).collect();
        let prototypes = self.outline.tree().items.iter().filter_map(|item| match item {
            Item::Function(id) => defined.binary_search(id).is_err().then_some(*id),
            _ => None,
        });
        let prototypes = prototypes.collect();
        self.part(&Roots { prototypes, ..Roots::default() })
    }

    /// All functions of a kind, without those that other functions had in their parts: kernels are
    /// had only by their own.
    fn functions(&mut self, definitions: &[Definition], kind: FunctionKind) -> Option<()> {
        let mut roots = Roots::default();
        for definition in definitions {
            let Some(id) = definition.function else { continue };
            let known = kind == FunctionKind::Func && self.totals.functions[id.index()];
            if self.outline.tree().functions[id].kind != kind || known {
                continue;
            }
            self.fresh += self.outline.read(definition.name)?;
            roots.functions.push(id);
            if self.is_enough() {
                self.part(&std::mem::take(&mut roots))?;
            }
        }
        if roots.functions.is_empty() { Some(()) } else { self.part(&roots) }
    }

    /// All variables that the file defines and no function has named.
    fn variables(&mut self) -> Option<()> {
        let tree = self.outline.tree();
        let declarations = tree.items.iter().filter_map(|item| match item {
            Item::Variable(id) => Some(*id),
            _ => None,
        });
        let defined = declarations.filter(|&id| {
            let d = &tree.declarations[id];
            let known = |declarator: Id<_>| self.totals.variables[declarator.index()];
            d.linkage != Some(Linkage::Extern) && !d.declarators.ids().all(known)
        });
        let mut roots = Roots::default();
        for id in defined.collect::<Vec<_>>() {
            let tree = self.outline.tree();
            let declared = &tree.declarators[tree.declarations[id].declarators];
            for name in declared.iter().map(|d| d.name.symbol).collect::<Vec<_>>() {
                self.fresh.first += DECLARATION_BYTES;
                self.fresh += self.outline.read(name)?;
            }
            roots.variables.push(id);
            if self.is_enough() {
                self.part(&std::mem::take(&mut roots))?;
            }
        }
        if roots.variables.is_empty() { Some(()) } else { self.part(&roots) }
    }

    /// Whether what has been read may be a part: if parts share much, they have to be larger.
    fn is_enough(&self) -> bool {
        let (here, before) = (self.fresh, self.before);
        here.first >= self.least && here.again + before.again <= 2 * (here.first + before.first)
    }

    /// Lowers what has been read for some roots, and forgets it.
    fn part(&mut self, roots: &Roots) -> Option<()> {
        let tree = self.outline.tree();
        let is_kernel = |id: &&Id<Function>| tree.functions[**id].kind == FunctionKind::Entry;
        let kernels = roots.functions.iter().filter(is_kernel).count();
        let module = self.totals.lower(tree, roots, self.limits);
        self.outline.forget();
        self.before += std::mem::take(&mut self.fresh);
        let take = |module| (self.take)(&mut self.state, Part::new(module, kernels));
        let taken = module.and_then(take);
        if taken.is_none() {
            self.stop.store(true, Ordering::Relaxed);
        }
        taken.filter(|()| !self.stop.load(Ordering::Relaxed))
    }
}

impl Totals {
    /// Adds what parts of another thread took. `None` if the budget does not suffice.
    fn add(&mut self, other: Self) -> Option<()> {
        self.budget = self.budget.checked_sub(BUDGET - other.budget)?;
        self.constants.extend(other.constants);
        let or = |(known, is): (&mut bool, bool)| *known |= is;
        self.functions.iter_mut().zip(other.functions).for_each(or);
        self.variables.iter_mut().zip(other.variables).for_each(or);
        Some(())
    }

    fn lower(&mut self, tree: &Module, roots: &Roots, limits: Limits) -> Option<ir::Module> {
        let mut lowerer = Lowerer::new(tree);
        lowerer.limits = limits;
        lowerer.budget = self.budget;
        lowerer.header();
        lowerer.collect();
        for &id in &roots.prototypes {
            let _ = lowerer.signature_widths(&tree.functions[id].signature);
        }
        for &id in &roots.functions {
            lowerer.function_id(id);
        }
        for &id in &roots.variables {
            for declarator in tree.declarations[id].declarators.ids() {
                let _ = lowerer.variable(id, declarator, None);
            }
        }
        lowerer.run(super::Select::Kernels(&[]));
        lowerer.device_limits();
        if !lowerer.diagnostics.is_empty() {
            return None;
        }
        self.budget = lowerer.budget;
        for id in &lowerer.queue {
            self.functions[id.index()] = true;
        }
        for id in lowerer.variable_ids.keys() {
            self.variables[id.index()] = true;
        }
        for (var, span) in lowerer.out.vars.iter().zip(&lowerer.var_spans) {
            if var.space == IrSpace::Const {
                self.constants.insert(span.start, var.size);
            }
        }
        Some(lowerer.out)
    }
}
