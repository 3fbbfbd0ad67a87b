//! Parsing of mechanisms, warp sizes and orders, and the catalogue as text.

use converge::{CATALOGUE, Entry, Order};
use isa::suggest::nearest;
use isa::{Diagnostic, Span};

use crate::elem::{parse_any_integer, shortened};
use crate::machine::{Isa, Named};

/// Largest issue group in lanes.
const WIDEST: u64 = 1024;

/// Parses a list of mechanisms such as `ipdom,min-pc`; `all` means all that the machine has.
/// Aliases of the catalogue are accepted. Returns each mechanism once, in the order of the list.
///
/// # Errors
/// Returns a diagnostic with the nearest known name if the machine does not have a mechanism.
pub fn mechanisms_named(
    machine: &dyn Isa,
    list: &str,
    span: Span,
) -> Result<Vec<String>, Diagnostic> {
    let known = machine.mechanisms();
    let mut out: Vec<String> = Vec::new();
    for name in list.split(',').map(str::trim) {
        if name == "all" {
            out.extend(known.iter().map(|m| m.name.to_owned()));
        } else {
            out.push(one_mechanism(machine, &known, name).map_err(|f| f.at(span, ""))?);
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
pub(crate) fn one_mechanism(
    machine: &dyn Isa,
    known: &[Named],
    name: &str,
) -> Result<String, Diagnostic> {
    let has = |wanted: &str| known.iter().find(|m| m.name == wanted).map(|m| m.name.to_owned());
    let other = || Entry::find(name).ok().and_then(|entry| has(entry.name));
    if let Some(found) = has(name).or_else(other) {
        return Ok(found);
    }
    let message = format!("{} has no mechanism `{}`", machine.name(), shortened(name));
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

/// Renders the catalogue: each mechanism with its source, state and limits.
#[must_use]
pub fn catalogue_text() -> String {
    let mut out = String::new();
    for entry in CATALOGUE {
        out.push_str(entry.name);
        if !entry.aliases.is_empty() {
            out.push_str(&format!(" (also {})", entry.aliases.join(", ")));
        }
        out.push('\n');
        paragraph(&mut out, "", entry.summary);
        paragraph(&mut out, "source: ", entry.source);
        paragraph(&mut out, "state:  ", entry.state);
        paragraph(&mut out, "limits: ", entry.limits);
        if !entry.knobs.is_empty() {
            paragraph(&mut out, "knobs:  ", &entry.knobs.join(", "));
        }
        out.push('\n');
    }
    out.pop();
    out
}

/// Appends text in lines of at most 80 columns, indented by two, with `label` before the first.
pub(super) fn paragraph(out: &mut String, label: &str, text: &str) {
    let indent = 2 + label.chars().count();
    let mut line = format!("  {label}");
    let mut empty = true;
    for word in text.split_whitespace() {
        if !empty && line.chars().count() + 1 + word.chars().count() > 80 {
            out.push_str(&line);
            out.push('\n');
            line = " ".repeat(indent);
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    out.push_str(line.trim_end());
    out.push('\n');
}
