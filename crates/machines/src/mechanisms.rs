//! Names of mechanisms as users write them.

use converge::Entry;
use inputs::elem::shortened;
use isa::suggest::nearest;
use isa::{Diagnostic, Span};

use crate::interface::Isa;

/// Parses a list of mechanisms such as `ipdom,min-pc`; `all` means all that the machine has.
/// Aliases of the catalogue are accepted. Returns each mechanism once, in the order of the list.
///
/// # Errors
/// Returns a diagnostic with the nearest known name if the machine does not have a mechanism.
pub fn mechanisms_named(machine: &Isa, list: &str, span: Span) -> Result<Vec<String>, Diagnostic> {
    let known = machine.mechanisms;
    let mut out: Vec<String> = Vec::new();
    for name in list.split(',').map(str::trim) {
        if name == "all" {
            out.extend(known.iter().map(|m| m.name.to_owned()));
        } else {
            out.push(one_mechanism(machine, name).map_err(|f| f.at(span, ""))?);
        }
    }
    let mut seen = Vec::new();
    out.retain(|name| {
        let new = !seen.contains(name);
        seen.push(name.clone());
        new
    });
    Ok(out)
}

/// Resolves a name or alias of a mechanism to the machine's name for it.
///
/// # Errors
/// Returns a diagnostic with the nearest known name if the machine does not have it.
pub fn one_mechanism(machine: &Isa, name: &str) -> Result<String, Diagnostic> {
    let known = machine.mechanisms;
    let has = |wanted: &str| known.iter().find(|m| m.name == wanted).map(|m| m.name.to_owned());
    let other = || Entry::find(name).ok().and_then(|entry| has(entry.name));
    if let Some(found) = has(name).or_else(other) {
        return Ok(found);
    }
    let message = format!("{} has no mechanism `{}`", machine.name, shortened(name));
    let names = || known.iter().map(|m| m.name);
    let near = nearest(name, names()).or_else(|| {
        let near = Entry::find(name).err().and_then(|unknown| unknown.nearest)?;
        has(near).and_then(|found| names().find(|n| *n == found)).or(Some(near))
    });
    Err(Diagnostic::error("run::mechanism", message).help(match near {
        Some(near) => format!("did you mean {near}?"),
        None => format!("mechanisms are {}", names().collect::<Vec<_>>().join(", ")),
    }))
}
