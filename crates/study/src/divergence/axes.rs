//! The axes of a machine: options that a comparison varies, in addition to mechanisms and warp
//! sizes.
//!
//! A machine lists its axes ([`Isa::axes`]): options with the values that comparisons use, the
//! default first. By default a comparison tries each value of each axis by itself, with all other
//! axes at their defaults; if the user names axes, it tries all combinations of their values.

use inputs::elem::shortened;
use isa::suggest::nearest;
use isa::{Diagnostic, Span};
use machines::{Axis, Isa};

/// Most settings of one comparison.
const MOST: usize = 256;

/// Values of axes, by name. Empty for the defaults.
pub type Settings = Vec<(String, String)>;

/// Returns the settings of a comparison for which the user names none.
#[must_use]
pub fn default_settings(machine: &Isa) -> Vec<Settings> {
    let mut out = vec![Settings::new()];
    for axis in machine.axes.iter().filter(|axis| !axis.on_request) {
        let others = axis.values.iter().skip(1);
        out.extend(others.map(|v| vec![(axis.name.to_owned(), (*v).to_owned())]));
    }
    out
}

/// Returns all combinations of axes, each given as `NAME` (all its values) or
/// `NAME=VALUE,VALUE,..`. Values are checked only when a row is run.
///
/// # Errors
/// Returns a diagnostic if an axis does not exist or is named twice, if a value is empty, or if
/// there are too many combinations.
pub fn settings_named(
    machine: &Isa,
    given: &[(String, Span)],
) -> Result<Vec<Settings>, Diagnostic> {
    let axes = machine.axes;
    let mut out = vec![Settings::new()];
    let mut seen: Vec<&str> = Vec::new();
    for (word, span) in given {
        let (name, values) =
            word.split_once('=').map_or((word.as_str(), None), |(n, v)| (n, Some(v)));
        let axis = find(machine, axes, name).map_err(|finding| finding.at(*span, ""))?;
        if seen.contains(&axis.name) {
            let message = format!("the axis {} is named twice", axis.name);
            return Err(Diagnostic::error("run::axis", message)
                .at(*span, "")
                .help("write all its values at once"));
        }
        seen.push(axis.name);
        let values: Vec<String> = match values {
            None => axis.values.iter().map(|&v| v.to_owned()).collect(),
            Some(list) => list.split(',').map(|v| v.trim().to_owned()).collect(),
        };
        if values.iter().any(String::is_empty) {
            let help = format!("values of {} are {}", axis.name, axis.values.join(", "));
            let finding =
                Diagnostic::error("run::axis", format!("a value of {} is missing", axis.name));
            return Err(finding.at(*span, "").help(help));
        }
        if out.len().saturating_mul(values.len()) > MOST {
            let finding = Diagnostic::error("run::axis", format!("more than {MOST} combinations"));
            return Err(finding.at(*span, "with this one").help("name fewer values"));
        }
        let with = |setting: &Settings| -> Vec<Settings> {
            let one =
                |v: &String| [setting.clone(), vec![(axis.name.to_owned(), v.clone())]].concat();
            values.iter().map(one).collect()
        };
        out = out.iter().flat_map(with).collect();
    }
    Ok(out)
}

fn find<'a>(machine: &Isa, axes: &'a [Axis], name: &str) -> Result<&'a Axis, Diagnostic> {
    axes.iter().find(|axis| axis.name == name).ok_or_else(|| {
        let message = format!("{} has no axis `{}`", machine.name, shortened(name));
        let names = || axes.iter().map(|axis| axis.name);
        Diagnostic::error("run::axis", message).help(
            match (nearest(name, names()), axes.is_empty()) {
                (_, true) => "its mechanisms and warp sizes are what is compared".to_owned(),
                (Some(near), _) => format!("did you mean {near}?"),
                (None, _) => format!("axes are {}", names().collect::<Vec<_>>().join(", ")),
            },
        )
    })
}

/// Returns the group width that a setting determines, if it does.
#[must_use]
pub(super) fn width(machine: &Isa, settings: &Settings) -> Option<u64> {
    let axes = machine.axes;
    let of = |name: &str| axes.iter().any(|axis| axis.name == name && axis.width);
    settings.iter().find(|(name, _)| of(name)).and_then(|(_, value)| value.parse().ok())
}

/// Formats settings as `zmode=zero banks=2`; empty for the defaults.
#[must_use]
pub(super) fn describe(settings: &Settings) -> String {
    settings.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use machines::find;

    fn named(list: &[&str]) -> Result<Vec<Settings>, Diagnostic> {
        let words: Vec<(String, Span)> =
            list.iter().map(|w| ((*w).to_owned(), Span::default())).collect();
        settings_named(find("pmask").expect("there is one"), &words)
    }

    #[test]
    fn settings_are_the_default_and_each_value_by_itself() {
        let pmask = find("pmask").expect("there is one");
        let all = default_settings(pmask);
        let by_default = pmask.axes.iter().filter(|axis| !axis.on_request);
        let values: usize = by_default.map(|axis| axis.values.len() - 1).sum();
        assert_eq!(all.len(), 1 + values);
        assert!(all[0].is_empty() && all.iter().all(|s| s.len() < 2));
        assert_eq!(default_settings(find("ptx").expect("there is one")), [Settings::new()]);
    }

    #[test]
    fn named_axes_are_combined() {
        let all = named(&["zmode=merge,zero", "lane-forms"]).expect("known");
        assert_eq!(
            all.iter().map(describe).collect::<Vec<_>>()[..2],
            ["zmode=merge lane-forms=on", "zmode=merge lane-forms=off"]
        );
        assert_eq!(all.len(), 4);
    }

    #[test]
    fn errors_name_the_axis_or_value() {
        let help = |list: &[&str]| named(list).expect_err("wrong").help.unwrap_or_default();
        assert_eq!(help(&["zmod=zero"]), "did you mean zmode?");
        assert!(help(&["zmode="]).starts_with("values of zmode are merge"));
        assert_eq!(help(&["zmode", "zmode"]), "write all its values at once");
        let many = vec!["1"; 300].join(",");
        assert_eq!(help(&[&format!("vlmax={many}")]), "name fewer values");
        let none = settings_named(
            find("ptx").expect("there is one"),
            &[("x=1".to_owned(), Span::default())],
        );
        assert!(none.expect_err("no axes").help.is_some());
    }
}
