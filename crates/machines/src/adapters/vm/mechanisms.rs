//! The mechanisms of `converge`'s catalogue.

use converge::CATALOGUE;

use super::super::shared::named;
use crate::interface::{Named, Reference};

/// The mechanisms that run any program: `convergence-barriers` merges paths only where a program
/// has barriers, and `uniform` requires a pass that makes control flow uniform.
pub(in super::super) const USUAL_MECHANISMS: &[&str] = &["serial", "ipdom", "min-pc"];

/// The option `forward-progress` runs a launch that hangs again under this mechanism.
pub(in super::super) const RETRY_MECHANISM: &str = ::vm::Retry::MECHANISM;

/// Comparisons compare with fair serial execution.
pub(in super::super) const REFERENCE: Reference =
    Reference { mechanism: "serial", warp_size: 32, settings: &[] };

/// All run-time mechanisms, the default one first.
pub(in super::super) const MECHANISMS: [Named; CATALOGUE.len()] = default_first();

/// The default mechanism.
const DEFAULT_MECHANISM: &str = "ipdom";

/// Moves the default mechanism to the front and keeps the order of the others.
const fn default_first() -> [Named; CATALOGUE.len()] {
    let mut all: [Named; CATALOGUE.len()] = named!(CATALOGUE, summary);
    let mut at = 0;
    while !equal(all[at].name, DEFAULT_MECHANISM) {
        at += 1;
    }
    let default = all[at];
    while at > 0 {
        all[at] = all[at - 1];
        at -= 1;
    }
    all[0] = default;
    all
}

/// Compares strings at compile time.
const fn equal(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}
