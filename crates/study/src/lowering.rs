//! The command `lower`: a kernel as assembly of another machine.

use std::fmt::Write as _;

use ir::{LocId, Module, VerifiedModule};
use isa::{Diagnostic, Span};
use lower::Request;
pub use lower::{BACKENDS, Backend, Lowered, Settings};

use crate::predicate::place;

/// Lowers a kernel to the assembly of a machine; `line` describes the line of the program at a
/// place, for comments.
///
/// # Errors
/// Returns a diagnostic with what the kernel needs and the machine lacks, and the place.
pub fn lowered(
    module: &Module,
    kernel: &str,
    (backend, settings): (&Backend, &Settings),
    line: &dyn Fn(Span) -> Option<String>,
) -> Result<Lowered, Diagnostic> {
    let invalid = |why: String| Diagnostic::error("lower::refused", why);
    let id = module.function(kernel);
    let id = id.ok_or_else(|| invalid(format!("there is no kernel `{kernel}`")))?;
    let verified = VerifiedModule::new(module.clone()).map_err(|e| invalid(e.to_string()))?;
    let at = |loc: LocId| (loc != LocId(0)).then(|| line(module.loc(loc).span)).flatten();
    let request = Request { module: &verified, kernel: id, settings, line: &at };
    (backend.lower)(&request).map_err(|refused| {
        let finding = place(invalid(refused.to_string()), module, refused.loc());
        finding.help(refused.advice())
    })
}

/// Renders what a program takes.
#[must_use]
pub fn report(kernel: &str, machine: &str, lowered: &Lowered) -> String {
    let mut out = format!("{kernel} on {machine}:\n");
    for (name, figure) in &lowered.figures {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "  {name:<28}{figure}");
    }
    out
}
