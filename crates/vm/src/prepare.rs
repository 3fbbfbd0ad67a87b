//! The passes that mechanisms ask for.

use converge::Pass;
use flow::passes::PassError;
use flow::passes::barriers::{Yields, place_barriers};
use flow::passes::exec_mask::{Options, exec_mask};
use flow::passes::predicate::split_join::split_join;
use flow::passes::predicate::{Options as Predicates, predicate};
use ir::{FuncId, Module, VerifiedModule};

/// The module with a kernel and what it calls put through the pass of a mechanism
/// ([`Entry::pass`](converge::Entry::pass)), with the pass's default settings. Functions, variables and places keep their numbers.
///
/// # Errors
/// [`PassError`], with function and place, if the pass cannot take the kernel.
pub fn prepare(
    module: &VerifiedModule,
    kernel: FuncId,
    pass: Option<Pass>,
) -> Result<Module, PassError> {
    let prepared = match pass {
        None => return Ok(Module::clone(module)),
        Some(Pass::ExecMask) => exec_mask(module, kernel, Options::default())?.0,
        Some(Pass::Predication) => predicate(module, kernel, Predicates::default())?.0,
        Some(Pass::SplitJoin) => split_join(module, kernel)?.0,
        Some(Pass::MaskedBanks) => predicate(module, kernel, Predicates::banks())?.0,
        Some(Pass::ConvergenceBarriers) => place_barriers(module, kernel, Yields::default())?.0,
    };
    Ok(prepared.into_inner())
}
