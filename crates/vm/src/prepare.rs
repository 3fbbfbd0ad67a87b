//! The passes that mechanisms ask for.

use converge::Pass;
use flow::passes::barriers::{Yields, place_barriers};
use flow::passes::exec_mask::{Options, exec_mask};
use flow::passes::predicate::split_join::split_join;
use flow::passes::predicate::{Options as Predicates, Predicated, predicate};
use flow::passes::{PassError, Rewritten, early_exit};
use ir::{FuncId, Module, VerifiedModule};

/// The cost of a pass over a kernel and the functions that it calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PassCost {
    /// Instructions before, ends of blocks included.
    pub before: u64,
    /// And after.
    pub after: u64,
    /// Registers of saved masks that were added.
    pub saved_masks: u64,
    /// The cost of predicates, if the pass replaces branches by them.
    pub predicates: Option<PredicateCost>,
}

/// The cost of predicates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PredicateCost {
    /// Most predicates of a function live at once, that of all lanes included: the number of
    /// registers that suffice without spills.
    pub needed: u64,
    /// Predicates that were given a spill slot.
    pub spilled: u64,
    /// Stores to spill slots in the code.
    pub stores: u64,
    /// Loads from them.
    pub loads: u64,
}

/// Returns the module with a kernel and its callees transformed by the pass of a mechanism
/// ([`Entry::pass`](converge::Entry::pass)), with the pass's default settings. Functions, variables
/// and places keep their numbers. Branches that only end lanes while others may wait for them are
/// first turned into guarded exits ([`early_exit`]).
///
/// # Errors
/// Returns [`PassError`], with function and place, if the pass cannot transform the kernel.
pub fn prepare(
    module: &VerifiedModule,
    kernel: FuncId,
    pass: Option<Pass>,
) -> Result<Module, PassError> {
    match pass {
        None => Ok(Module::clone(module)),
        Some(pass) => prepare_counted(module, kernel, pass).map(|(module, _)| module),
    }
}

/// As [`prepare`], with what the pass cost.
///
/// # Errors
/// As [`prepare`].
pub fn prepare_counted(
    module: &VerifiedModule,
    kernel: FuncId,
    pass: Pass,
) -> Result<(Module, PassCost), PassError> {
    let early = early_exit(module, kernel)?;
    let module = early.as_ref().unwrap_or(module);
    let (prepared, cost) = match pass {
        Pass::ExecMask => {
            let (made, report) = exec_mask(module, kernel, Options::default())?;
            (made, of_masks(&report))
        }
        Pass::SplitJoin => {
            let (made, report) = split_join(module, kernel)?;
            (made, of_masks(&report))
        }
        Pass::Predication => {
            let (made, report) = predicate(module, kernel, Predicates::default())?;
            (made, of_predicates(&report))
        }
        Pass::MaskedBanks => {
            let (made, report) = predicate(module, kernel, Predicates::banks())?;
            (made, of_predicates(&report))
        }
        Pass::ConvergenceBarriers => {
            let (made, report) = place_barriers(module, kernel, Yields::default())?;
            let inserted: u64 = report.iter().map(|r| r.inserted).sum();
            let length = |id: FuncId| -> u64 {
                flow::kernel::block_lengths(&module.functions[id.index()]).sum()
            };
            let before = report.iter().map(|r| length(r.function)).sum();
            (made, PassCost { before, after: before + inserted, ..PassCost::default() })
        }
    };
    Ok((prepared.into_inner(), cost))
}

fn of_masks(report: &[Rewritten]) -> PassCost {
    PassCost {
        before: report.iter().map(|r| r.before).sum(),
        after: report.iter().map(|r| r.after).sum(),
        saved_masks: report.iter().map(|r| u64::from(r.masks)).sum(),
        predicates: None,
    }
}

fn of_predicates(report: &[Predicated]) -> PassCost {
    PassCost {
        before: report.iter().map(|r| r.before).sum(),
        after: report.iter().map(|r| r.after).sum(),
        saved_masks: 0,
        predicates: Some(PredicateCost {
            needed: report.iter().map(|r| u64::from(r.peak)).max().unwrap_or(0),
            spilled: report.iter().map(|r| u64::from(r.spilled)).sum(),
            stores: report.iter().map(|r| r.spills).sum(),
            loads: report.iter().map(|r| r.fills).sum(),
        }),
    }
}
