//! `predicate`: branches become predicates; straight code in which only loops jump, and the result
//! runs under `uniform`.
//!
//! **Source.** A GPU whose control flow is a file of predicate registers alone, a mask of the
//! warp's lanes each: every instruction names one, a branch writes `child = parent and condition`,
//! and the only conditional jump is taken while some lane of a predicate is left. Its compiler has
//! to find the predicates, and to spill them when they run out. The conversion itself is
//! if-conversion by control dependence (Park and Schlansker, 1991), on reducible graphs; others are
//! made so by node splitting.
//!
//! ```text
//! if/else: p1 = p0 & c; then @p1;  p1 = p0 & ~c; else @p1
//! loop:    p1 = p0; again: head @p1; p1 = p1 & ~leave; body @p1; jump to again while any p1
//! ```
//!
//! What always holds of the result: each instruction is on in the lanes of one predicate register
//! (or of EXEC, which stands for predicate 0: all lanes that came in), at most `predicates - 1`
//! registers are written, and a register's bits outside the predicate it was made from are 0. All
//! lanes take every jump together. A loop whose lanes have left is run once more without lanes at
//! most. Calls take their predicate along as EXEC.
//!
//! Refused: graphs whose splitting needs too many copies, calls through addresses, recursion, and
//! functions that use masks or convergence operations already.

mod allocate;
mod emit;
pub(in crate::passes) mod graph;
pub(in crate::passes) mod regions;
mod report;
pub(in crate::passes) mod shape;
mod split;
pub mod split_join;
mod steps;

use self::graph::Graph;
use self::regions::Regions;
use self::shape::Shape;
use super::{PassError, Reason, at_block, blame, called_from, finish, refuse_masks};
use ir::{FuncId, Function, Module, VerifiedModule};

pub use report::{Held, Predicated, Where};

/// Settings of the pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Options {
    /// Predicate registers of a warp, the one of all lanes counted: [`FEWEST`] to [`MOST`].
    pub predicates: u32,
    /// Node splitting may copy so many times the instructions of the function, and 256 more.
    pub growth: u32,
}

/// Fewest predicate registers that code can be made for.
pub const FEWEST: u32 = 3;
/// Most predicate registers.
pub const MOST: u32 = 1024;

impl Default for Options {
    fn default() -> Self {
        Self { predicates: 16, growth: 16 }
    }
}

impl Options {
    /// For a machine with three programmable mask banks beside the one that is all ones.
    #[must_use]
    pub fn banks() -> Self {
        Self { predicates: 4, ..Self::default() }
    }
}

/// Rewrites a kernel and the functions it calls.
///
/// # Errors
/// [`PassError`], with the function and block, if one of them cannot be put under predicates, or if
/// there are too few or too many registers.
pub fn predicate(
    module: &VerifiedModule,
    kernel: FuncId,
    options: Options,
) -> Result<(VerifiedModule, Vec<Predicated>), PassError> {
    let mut done = Vec::new();
    let mut report = Vec::new();
    for id in called_from(module, kernel)? {
        if !(FEWEST..=MOST).contains(&options.predicates) {
            return Err(blame(module, id, Reason::Predicates(options.predicates)));
        }
        let (after, about) = rewrite(module, id, options)?;
        report.push(about);
        done.push((id, after));
    }
    let module = finish(Module::clone(module), done)?;
    Ok((module, report))
}

fn rewrite(
    module: &Module,
    id: FuncId,
    options: Options,
) -> Result<(Function, Predicated), PassError> {
    let function = &module.functions[id.index()];
    let shape = structure(module, id, options.growth, false)?;
    let steps = steps::steps(function, &shape);
    let registers = options.predicates - 1;
    let allocation = allocate::allocate(&steps.steps, steps.preds.len(), registers);
    let (after, file) = emit::emit(function, &shape.graph, &steps, &allocation);
    let about = report::report(id, (function, &after, file), &shape, &steps, &allocation);
    Ok((after, about))
}

/// A function as structured code. With `ends_last`, threads that end early go to the end of the
/// function instead.
pub(in crate::passes) fn structure(
    module: &Module,
    id: FuncId,
    growth: u32,
    ends_last: bool,
) -> Result<Shape, PassError> {
    let function = &module.functions[id.index()];
    refuse_masks(module, id)?;
    let graph_error = |e| blame(module, id, Reason::Graph(e));
    let graph = Graph::new(function, ends_last);
    let cfg = graph.cfg().map_err(graph_error)?;
    let size: u64 = function.blocks.iter().map(|b| b.insts.len() as u64 + 1).sum();
    let limit = size.saturating_mul(u64::from(growth)).saturating_add(256);
    let (graph, cfg, loops) = split::split(function, graph, cfg, limit).map_err(|e| {
        let source = function.blocks.get(e.block.saturating_sub(1) as usize);
        let block = source.map_or_else(String::new, |b| b.name.clone());
        let loc = source.map_or(function.loc, |b| b.term.loc);
        let reason = Reason::Exploded { block: block.clone(), limit };
        at_block(module, id, &block, loc, reason)
    })?;
    let regions = Regions::new(&graph, &cfg, &loops).map_err(graph_error)?;
    Ok(Shape::new(function, graph, regions))
}
