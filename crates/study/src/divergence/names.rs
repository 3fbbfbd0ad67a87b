//! Parsing of warp sizes, orders, and what a single run is under.

use converge::Order;
use inputs::elem::{parse_any_integer, shortened};
use inputs::launch::Located;
use isa::suggest::nearest;
use isa::{Diagnostic, Span};
use lab::run::{Job, Variant, Word};
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

/// Returns the run of a job under the given mechanism, warp size and order of branch sides, each
/// that of the job if it is not given.
///
/// # Errors
/// Returns diagnostics for names that do not exist, and for lists of several.
pub fn variant_named(
    job: &Job,
    mechanism: &Word,
    warp_size: &Word,
    order: &Word,
) -> Result<Variant, Diagnostic> {
    let mechanism = match mechanism {
        None => job.mechanism().to_owned(),
        Some(word) => {
            let names = machines::mechanisms_named(job.machine(), &word.value, word.span)?;
            <[String; 1]>::try_from(names).map(|[name]| name).map_err(|_| {
                let finding = Diagnostic::error("run::mechanism", "one mechanism is looked at");
                finding.at(word.span, "").help("name one; `compare` takes many")
            })?
        }
    };
    let warp_size = match warp_size {
        None => job.warp_size(),
        Some(word) => match numbers_named(&word.value, word.span)?.as_slice() {
            [size] => *size,
            _ => {
                let finding = Diagnostic::error("run::number", "one warp size is looked at");
                return Err(finding.at(word.span, "").help("name one"));
            }
        },
    };
    let named = |word: &Located<String>| order_named(&word.value, word.span);
    let order = order.as_ref().map(named).transpose()?;
    Ok(Variant { order, ..Variant::of(&mechanism, warp_size) })
}

/// Returns the runs of a job under two mechanisms.
///
/// # Errors
/// As [`variant_named`], and if not two mechanisms are named.
pub fn variants_named(
    job: &Job,
    mechanisms: &Located<String>,
    warp_size: &Word,
    order: &Word,
) -> Result<[Variant; 2], Diagnostic> {
    let span = mechanisms.span;
    let names = machines::mechanisms_named(job.machine(), &mechanisms.value, span)?;
    let [a, b] = <[String; 2]>::try_from(names).map_err(|names| {
        let message = format!("two mechanisms are needed, not {}", names.len());
        Diagnostic::error("run::mechanism", message).at(span, "")
    })?;
    let named =
        |name: String| variant_named(job, &Some(Located { value: name, span }), warp_size, order);
    Ok([named(a)?, named(b)?])
}
