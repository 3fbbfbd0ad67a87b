//! Parsing of warp sizes and orders.

use converge::Order;
use inputs::elem::{parse_any_integer, shortened};
use isa::suggest::nearest;
use isa::{Diagnostic, Span};
use machines::{Isa, Profile};

/// Largest issue group in lanes.
const WIDEST: u64 = 1024;

/// Parses a list of warp sizes such as `8,16,32`; returns each once.
///
/// # Errors
/// Returns a diagnostic if an element is not a whole number from 1 to 1024.
pub fn numbers_named(list: &str, span: Span) -> Result<Vec<u64>, Diagnostic> {
    let mut out = Vec::new();
    for part in list.split(',').map(str::trim) {
        let value = parse_any_integer(part).and_then(|v| u64::try_from(v).ok());
        let Some(value) = value.filter(|v| (1..=WIDEST).contains(v)) else {
            let message = format!("`{}` is not a warp size", shortened(part));
            return Err(Diagnostic::error("run::number", message)
                .at(span, "")
                .help(format!("write whole numbers from 1 to {WIDEST}, with commas")));
        };
        if !out.contains(&value) {
            out.push(value);
        }
    }
    Ok(out)
}

/// Parses a list of profiles of a machine such as `pascal,turing`; `all` means all of them. Returns
/// each once.
///
/// # Errors
/// Returns a diagnostic with the nearest known name if there is no such profile.
pub fn profiles_named(
    machine: &Isa,
    list: &str,
    span: Span,
) -> Result<Vec<&'static Profile>, Diagnostic> {
    let mut out: Vec<&'static Profile> = Vec::new();
    for name in list.split(',').map(str::trim) {
        let found: Vec<&'static Profile> =
            machine.profiles.iter().filter(|p| name == "all" || p.name == name).collect();
        if found.is_empty() {
            let message = format!("{} has no profile `{}`", machine.name, shortened(name));
            let names = || machine.profiles.iter().map(|p| p.name);
            let help = match nearest(name, names()) {
                Some(near) => format!("did you mean {near}?"),
                None if machine.profiles.is_empty() => "ptx has some".to_owned(),
                None => format!("profiles are {}", names().collect::<Vec<_>>().join(", ")),
            };
            return Err(Diagnostic::error("run::profile", message).at(span, "").help(help));
        }
        out.extend(found.into_iter().filter(|p| !out.contains(p)).collect::<Vec<_>>());
    }
    Ok(out)
}

/// Checks the name of an order of branch sides.
///
/// # Errors
/// Returns a diagnostic if there is no such order.
pub fn order_named(name: &str, span: Span) -> Result<String, Diagnostic> {
    let names = || Order::ALL.iter().map(|(name, _)| *name);
    if names().any(|known| known == name) {
        return Ok(name.to_owned());
    }
    let message = format!("there is no order `{}`", shortened(name));
    Err(Diagnostic::error("run::order", message).at(span, "").help(match nearest(name, names()) {
        Some(near) => format!("did you mean {near}?"),
        None => format!("orders are {}", names().collect::<Vec<_>>().join(", ")),
    }))
}
