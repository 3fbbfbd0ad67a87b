//! Kernels in the vector IR, and what of them is left to the interpreter.

use crate::Refused;
use fast::Order;
use fast::code::Code;

/// Returns the function of a kernel after all passes.
pub(crate) fn translate(
    code: &Code,
    order: Order,
    detailed: bool,
) -> Result<vector::Function, Refused> {
    let other = |error: vector::translate::Untranslated| Refused::Form(error.to_string());
    let mut source = vector::translate::translate(code, order, detailed).map_err(other)?;
    vector::passes::optimize(&mut source);
    debug_assert_eq!(source.verify(), Ok(()));
    Ok(source)
}

/// Returns the steps of a kernel that the interpreter always executes.
///
/// # Errors
/// Returns [`Refused`] if the kernel has no form in the vector IR.
pub(crate) fn steps_left(code: &Code) -> Result<Vec<u32>, Refused> {
    Ok(interpreted(&translate(code, Order::Taken, false)?, code))
}

/// Returns the steps that the interpreter always executes.
pub(crate) fn interpreted(source: &vector::Function, code: &Code) -> Vec<u32> {
    let insts = source.blocks().flat_map(|(_, block)| &block.insts);
    let mut steps: Vec<u32> = insts
        .filter_map(|&inst| match &source.inst(inst).op {
            vector::Op::Interpret(step) => Some(step.step),
            _ => None,
        })
        // Some operands of other steps are left to it: lines that wrap around, far angles.
        .filter(|&step| !vector::translate::has_own_form(&code.steps[step as usize].kind))
        .collect();
    steps.sort_unstable();
    steps.dedup();
    steps
}
