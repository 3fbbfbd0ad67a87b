//! Passes: from verified IR to verified IR.
//!
//! Each operation that a pass inserts is tagged with its [`Origin`](ir::Origin), so that what a
//! pass costs can be told apart from what the program does. A pass that cannot take a function says
//! why and where.

pub mod barriers;
mod early_exit;
mod emit;
pub mod exec_mask;
mod masked;
mod pending;
mod place;
pub mod predicate;
mod switches;

use crate::graph::GraphError;
use crate::structure::Unstructured;
use ir::op::Class;
use ir::{FuncId, LocId, Module, Op, TermKind, VerifiedModule, VerifyErrors};
use thiserror::Error;

pub use early_exit::early_exit;

/// Why a pass did not take a function.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("function `{function}`: {reason}")]
pub struct PassError {
    /// The function.
    pub function: String,
    /// The block, if one is to blame.
    pub block: Option<String>,
    /// Its place.
    pub loc: LocId,
    /// Why.
    pub reason: Reason,
}

/// The reasons of a [`PassError`].
#[derive(Clone, Debug, PartialEq, Error)]
pub enum Reason {
    /// There is no such function.
    #[error("it does not exist")]
    NoFunction,
    /// No flow graph.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// The function handles masks or convergence itself.
    #[error("block `{block}` uses `{what}`: the function handles masks or convergence already")]
    Masked {
        /// Where.
        block: String,
        /// The operation.
        what: &'static str,
    },
    /// A call whose target lanes choose.
    #[error(
        "block `{0}` calls through an address: lanes may call different functions, and a mask cannot"
    )]
    IndirectCall(String),
    /// A call of a function that leads to this one.
    #[error("block `{block}` calls `{callee}` from within: recursion would overwrite saved masks")]
    Recursive {
        /// Where.
        block: String,
        /// The function that is running already.
        callee: String,
    },
    /// Not structured, where only structured code was asked for.
    #[error("not structured at block `{block}`: {why}")]
    Unstructured {
        /// Where.
        block: String,
        /// Why.
        why: Unstructured,
    },
    /// Threads that end inside a called function.
    #[error(
        "block `{0}` ends threads in a called function, where they stand inside their caller's splits"
    )]
    EndsInCall(String),
    /// Node splitting makes too many copies.
    #[error(
        "the cycle at block `{block}` is entered at several places, and to copy blocks until it is not would take more than {limit} instructions"
    )]
    Exploded {
        /// A block of the cycle.
        block: String,
        /// Most instructions that may be copied.
        limit: u64,
    },
    /// A machine with so many predicate registers is beyond the pass.
    #[error(
        "predicated code needs {fewest} to {most} predicate registers, not {0}",
        fewest = predicate::FEWEST,
        most = predicate::MOST
    )]
    Predicates(u32),
    /// The result breaks a rule of the verifier, which is a fault of the pass (or of a limit, such
    /// as the number of registers).
    #[error("the result is not valid: {0}")]
    Invalid(String),
}

/// What a pass did to one function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rewritten {
    /// The function.
    pub function: FuncId,
    /// How it was done.
    pub style: Style,
    /// Issued operations before, ends of blocks included.
    pub before: u64,
    /// And after.
    pub after: u64,
    /// Mask registers added.
    pub masks: u32,
}

/// How a function was put under masks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Style {
    /// Save, narrow and restore, along the region tree.
    Structured,
    /// A mask of waiting lanes for each block.
    Pending,
}

/// The module with functions replaced, verified.
fn finish(
    mut module: Module,
    done: Vec<(FuncId, ir::Function)>,
) -> Result<VerifiedModule, PassError> {
    for (id, function) in done {
        module.functions[id.index()] = function;
    }
    VerifiedModule::new(module).map_err(|e| invalid(&e))
}

fn invalid(errors: &VerifyErrors) -> PassError {
    let first = errors.iter().next();
    PassError {
        function: String::new(),
        block: None,
        loc: LocId(0),
        reason: Reason::Invalid(first.map_or_else(String::new, ToString::to_string)),
    }
}

/// The kernel and the functions that it calls, directly or not, callers after callees.
///
/// # Errors
/// A call through an address, or a recursive call.
fn called_from(module: &Module, root: FuncId) -> Result<Vec<FuncId>, PassError> {
    const ENTERED: u8 = 1;
    const LEFT: u8 = 2;
    let mut state = vec![0u8; module.functions.len()];
    let mut out = Vec::new();
    let known = module.functions.get(root.index()).is_some();
    if !known {
        let function = format!("#{}", root.0);
        return Err(PassError { function, block: None, loc: LocId(0), reason: Reason::NoFunction });
    }
    let mut stack = vec![(root, false)];
    while let Some((id, leave)) = stack.pop() {
        if leave {
            state[id.index()] = LEFT;
            out.push(id);
            continue;
        }
        if state[id.index()] != 0 {
            continue;
        }
        state[id.index()] = ENTERED;
        stack.push((id, true));
        for call in calls(module, id)? {
            match state[call.callee.index()] {
                0 => stack.push((call.callee, false)),
                ENTERED => return Err(recursive(module, id, call)),
                _ => {}
            }
        }
    }
    Ok(out)
}

/// A call of a function known by name.
#[derive(Clone, Copy)]
struct Call<'a> {
    callee: FuncId,
    block: &'a str,
    loc: LocId,
}

fn calls(module: &Module, id: FuncId) -> Result<Vec<Call<'_>>, PassError> {
    let function = &module.functions[id.index()];
    let mut out = Vec::new();
    for block in &function.blocks {
        for inst in &block.insts {
            if inst.op == Op::CallInd {
                let reason = Reason::IndirectCall(block.name.clone());
                return Err(at_block(module, id, &block.name, inst.loc, reason));
            }
            if inst.op == Op::Call
                && let Some(&ir::Operand::Func(callee)) = inst.operands.first()
            {
                out.push(Call { callee, block: &block.name, loc: inst.loc });
            }
        }
    }
    Ok(out)
}

fn recursive(module: &Module, id: FuncId, call: Call<'_>) -> PassError {
    let callee = module.functions[call.callee.index()].name.clone();
    let reason = Reason::Recursive { block: call.block.to_owned(), callee };
    at_block(module, id, call.block, call.loc, reason)
}

fn blame(module: &Module, id: FuncId, reason: Reason) -> PassError {
    let function = &module.functions[id.index()];
    PassError { function: function.name.clone(), block: None, loc: function.loc, reason }
}

fn at_block(module: &Module, id: FuncId, block: &str, loc: LocId, reason: Reason) -> PassError {
    PassError { block: Some(block.to_owned()), loc, ..blame(module, id, reason) }
}

/// Refuses a function that handles masks or convergence itself.
fn refuse_masks(module: &Module, id: FuncId) -> Result<(), PassError> {
    for block in &module.functions[id.index()].blocks {
        let refuse = |loc, what| {
            let reason = Reason::Masked { block: block.name.clone(), what };
            Err(at_block(module, id, &block.name, loc, reason))
        };
        for inst in &block.insts {
            let info = inst.op.info();
            if matches!(info.class, Class::Exec | Class::Converge) {
                return refuse(inst.loc, info.name);
            }
        }
        if matches!(block.term.kind, TermKind::MaskBr(..)) {
            return refuse(block.term.loc, "maskbr");
        }
    }
    Ok(())
}
