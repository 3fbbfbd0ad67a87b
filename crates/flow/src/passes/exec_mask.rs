//! `exec-mask`: divergent branches become operations on the EXEC mask; the result runs under the
//! mechanism `uniform`.
//!
//! **Source.** The way AMD GPUs run divergent code, as LLVM's `SILowerControlFlow` writes it:
//!
//! ```text
//! if:    save = EXEC; EXEC &= c; skip if none;  then;
//!        EXEC = save & ~EXEC; skip if none;  else;  EXEC |= save
//! while: save = EXEC; head; EXEC &= ~leave; out if none;  body; again;  out: EXEC |= save
//! ```
//!
//! Functions whose graph reduces to sequences, branches and single-exit loops are rewritten along
//! their region tree ([`Style::Structured`]). For any other graph (break, continue, early return,
//! goto, irreducible loops) each block gets a mask of the lanes that wait to enter it
//! ([`Style::Pending`]): blocks stand in an order in which only edges to loop headers go back; a
//! block runs with the lanes that wait for it, adds them to the masks of the blocks they go to, and
//! a loop is repeated while lanes wait for its header. No code is copied. Tables of branches are
//! comparisons and branches first.
//!
//! What always holds of the result: all lanes take every jump together; lanes that are off do
//! nothing; at the end of a function EXEC is what it was at its start, less the lanes that have
//! ended. Lanes of a kernel that return or exit early end there. Refused: calls through addresses,
//! recursion, and functions that use masks or convergence operations already.

pub use super::masked::Skip;
use super::masked::structured;
use super::pending::pending;
use super::switches::without_switches;
use super::{
    PassError, Reason, Rewritten, Style, at_block, blame, called_from, finish, refuse_masks,
};
use crate::kernel::{block_lengths, graph_for_masks};
use crate::structure::{Structure, Unstructured};
use ir::{FuncId, Function, Module, VerifiedModule};

/// Settings of the pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Options {
    /// When to jump over code that no lane takes.
    pub skip: Skip,
    /// Refuse functions that are not structured.
    pub structured_only: bool,
}

/// Rewrites a kernel and the functions it calls.
///
/// # Errors
/// [`PassError`], with the function and block, if one of them cannot be put under masks.
pub fn exec_mask(
    module: &VerifiedModule,
    kernel: FuncId,
    options: Options,
) -> Result<(VerifiedModule, Vec<Rewritten>), PassError> {
    let mut done = Vec::new();
    let mut report = Vec::new();
    for id in called_from(module, kernel)? {
        let before = &module.functions[id.index()];
        let (after, style) = rewrite(module, id, options)?;
        report.push(Rewritten {
            function: id,
            style,
            before: block_lengths(before).sum(),
            after: block_lengths(&after).sum(),
            masks: u32::try_from(after.warp_regs.len() - before.warp_regs.len())
                .unwrap_or(u32::MAX),
        });
        done.push((id, after));
    }
    let module = finish(Module::clone(module), done)?;
    Ok((module, report))
}

fn rewrite(module: &Module, id: FuncId, options: Options) -> Result<(Function, Style), PassError> {
    refuse_masks(module, id)?;
    let function = &*without_switches(&module.functions[id.index()]);
    let graph = |e| blame(module, id, Reason::Graph(e));
    let cfg = graph_for_masks(function).map_err(graph)?;
    match Structure::new(&cfg) {
        Ok(tree) => Ok((structured(function, &tree, options.skip), Style::Structured)),
        Err(why) if options.structured_only => {
            let (Unstructured::Branch { at } | Unstructured::Endless { at }) = why;
            let block = &function.blocks[at.index()];
            let reason = Reason::Unstructured { block: block.name.clone(), why };
            Err(at_block(module, id, &block.name, block.term.loc, reason))
        }
        Err(_) => Ok((pending(function, &cfg), Style::Pending)),
    }
}
