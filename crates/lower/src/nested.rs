//! Nested conditionals of any depth: the kernel that shows what predicates cost.

use crate::Refused;
use crate::prf::{Assembly, prf};
use flow::passes::predicate::Predicated;
use ir::{FuncId, Module, VerifiedModule};
use std::fmt::Write;

/// Deepest nest that is written.
pub const DEEPEST: u32 = 1000;

/// The kernel as IR: `depth` conditionals, each inside the one before, with work before and after
/// the inner one, so that every predicate is needed again. Thread `t` goes as deep as `t % 64`, and
/// stores how far it came and how much it did.
#[must_use]
pub fn text(depth: u32) -> String {
    let depth = depth.min(DEEPEST);
    let mut out = "kernel @nested(out: u64 global) {
  reg %at, %wide: b64
  reg %t, %d, %sum: b32
  reg %p: pred
entry:
  %at = ld.param.u64 [@out]
  %t = sreg.u32 tid.x
  %wide = mulwide.u32 %t, 4
  %at = add.u64 %at, %wide
  %d = and.b32 %t, 63
  %sum = mov.u32 0
"
    .to_owned();
    for i in 1..=depth {
        let _ = write!(
            out,
            "  %p = setp.lt.u32 %d, {i}\n  @%p br join{i}\nthen{i}:\n  %sum = add.u32 %sum, {i}\n"
        );
    }
    for i in (1..=depth).rev() {
        let _ = write!(out, "  %sum = add.u32 %sum, 1\njoin{i}:\n");
    }
    out.push_str("  st.global.u32 [%at], %sum\n  ret\n}\n");
    out
}

/// What thread `t` stores, computed by the formula rather than by running.
#[must_use]
pub fn stored(depth: u32, t: u32) -> u32 {
    let deep = depth.min(DEEPEST).min(t % 64);
    deep * (deep + 1) / 2 + deep
}

/// The kernel as a program for the predicate-register-file GPU with so many predicates, and what
/// the pass did.
///
/// # Errors
/// If there are too few or too many registers.
///
/// # Panics
/// Never: the text is an IR kernel.
pub fn nested(depth: u32, predicates: u32) -> Result<(Assembly, Predicated), Refused> {
    prf(&module(&text(depth)), FuncId(0), predicates)
}

fn module(text: &str) -> VerifiedModule {
    let module = ir::text::parse(isa::FileId::default(), text).unwrap_or_else(|_| Module::new());
    match VerifiedModule::new(module) {
        Ok(module) => module,
        Err(errors) => unreachable!("the text is a kernel: {errors}"),
    }
}
