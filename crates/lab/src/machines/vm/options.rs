//! The `options` of launch files that the exact engine reads.
//!
//! | option | |
//! |---|---|
//! | `order` | which side of a divergent branch runs first: `taken`, `fallthrough`, `minority`, `majority` |
//! | `slice` | issues after which a fair mechanism lets another path run; 0 means never |
//! | `predicate` | longest forward branch that is run as predicated code |
//! | `policy` | which of several runnable paths runs: `first`, `round-robin`, `random` (seeded) |
//! | `resident` | blocks resident at once |
//! | `stack` | bytes of registers and local variables that a thread may have |
//! | `heap` | bytes that `malloc` gives out |
//! | `forward-progress` | `yes`: a launch that hangs runs again under `serial`, where every lane goes on |
//! | `check-facts` | `yes`: every fact of the analyses that faster engines rest on is checked at each issue |
//! | `limits-of` | compute capability of the device whose limits hold, such as `9.0`; `target`: the program's own; `none`: no limits |
//! | `warp` | lanes of the warp that the program sees: 32 on every device; see "Warp sizes" in the book's page on PTX |

use converge::{Order, Policy};
use ir::device::{Capability, Limits};
use vm::{Launch, Resident};

use crate::elem::shortened;
use crate::launch::{MachineOption, OptionValue};
use crate::machine::{LaunchProblem, Named, Subject};
use isa::suggest::nearest;

const NAMES: [&str; 11] = [
    "order",
    "slice",
    "predicate",
    "policy",
    "resident",
    "stack",
    "heap",
    "warp",
    FORWARD_PROGRESS,
    CHECK_FACTS,
    LIMITS_OF.name,
];

/// The option under which launches that hang run again.
pub(super) const FORWARD_PROGRESS: &str = "forward-progress";

/// The option that says whose limits hold.
pub(in super::super) const LIMITS_OF: Named = Named {
    name: "limits-of",
    about: "compute capability of the device whose limits hold; `target`, or `none` for no limits",
};

/// What helps where a launch asks for more than the device has.
pub(super) const OTHER_DEVICE: &str = "the option `limits-of` names another device by its compute capability, such as 9.0; \
     `none` lifts the limits of devices";

/// Whose limits hold, as the option says.
pub(in super::super) fn limits(value: &str) -> Result<Limits, String> {
    value.parse().map_err(|error| {
        format!("`{}`: {error}; `limits-of` can also be target or none", shortened(value))
    })
}

const CHECK_FACTS: &str = "check-facts";

/// Whether facts of the analyses are to be checked.
pub(super) fn checks_facts(options: &[MachineOption]) -> bool {
    says_yes(options, CHECK_FACTS)
}

/// Whether a launch that hangs is to run again where every lane goes on.
pub(super) fn needs_progress(options: &[MachineOption]) -> bool {
    says_yes(options, FORWARD_PROGRESS)
}

fn says_yes(options: &[MachineOption], name: &str) -> bool {
    let last = options.iter().rfind(|o| o.key.value == name);
    last.is_some_and(|o| one_of(o, &YES_OR_NO) == Ok(true))
}

const YES_OR_NO: [(&str, bool); 2] = [("yes", true), ("no", false)];

/// Writes the options into the launch.
pub(super) fn apply<const N: usize>(
    launch: &mut Launch<N>,
    options: &[MachineOption],
    seed: u64,
    target: Option<Capability>,
) -> Result<(), LaunchProblem> {
    launch.device = Limits::default().device(target);
    for (index, option) in options.iter().enumerate() {
        set(launch, option, seed, target).map_err(|(message, help)| LaunchProblem {
            about: Subject::Option(index),
            message,
            help: Some(help),
            span: None,
        })?;
    }
    Ok(())
}

/// A message and a way out.
type Refused = (String, String);

fn set<const N: usize>(
    launch: &mut Launch<N>,
    option: &MachineOption,
    seed: u64,
    target: Option<Capability>,
) -> Result<(), Refused> {
    let name = option.key.value.as_str();
    match name {
        "order" => launch.knobs.order = Some(one_of(option, &Order::ALL)?),
        "slice" => launch.knobs.slice = whole(option, 0)?,
        "predicate" => launch.knobs.predicate = whole(option, 0)?,
        "policy" => {
            let policies = [
                ("first", Policy::First),
                ("round-robin", Policy::RoundRobin { turn: 0 }),
                ("random", Policy::Random { state: seed }),
            ];
            launch.policy = one_of(option, &policies)?;
        }
        "resident" => {
            let count = u32::try_from(whole(option, 1)?).unwrap_or(u32::MAX);
            launch.resident = Resident::Fixed(count);
        }
        "stack" => launch.stack_limit = whole(option, 1)?,
        "heap" => launch.heap_limit = whole(option, 0)?,
        CHECK_FACTS | FORWARD_PROGRESS => drop(one_of(option, &YES_OR_NO)?),
        "limits-of" => {
            let text = match &option.value.value {
                OptionValue::String(text) => text.clone(),
                // A launch file may write 9.0 as a number.
                OptionValue::Float(number) => format!("{number:?}"),
                _ => String::new(),
            };
            let help = "write a compute capability such as 9.0, target or none".to_owned();
            let limits = limits(&text).map_err(|message| (message, help))?;
            launch.device = limits.device(target);
        }
        "warp" => launch.warp = u32::try_from(whole(option, 1)?).unwrap_or(u32::MAX),
        _ => {
            let help = match nearest(name, NAMES) {
                Some(near) => format!("did you mean {near}?"),
                None => format!("options are {}", NAMES.join(", ")),
            };
            return Err((format!("there is no option `{}`", shortened(name)), help));
        }
    }
    Ok(())
}

fn whole(option: &MachineOption, least: u64) -> Result<u64, Refused> {
    let value = match &option.value.value {
        OptionValue::Integer(value) => u64::try_from(*value).ok(),
        // The command line knows only text.
        OptionValue::String(text) => text.parse().ok(),
        _ => None,
    };
    value.filter(|&v| v >= least).ok_or_else(|| {
        let message = format!("`{}` takes a whole number", option.key.value);
        (message, format!("write a number from {least} up"))
    })
}

fn one_of<T: Copy>(option: &MachineOption, known: &[(&'static str, T)]) -> Result<T, Refused> {
    let value = match &option.value.value {
        OptionValue::String(text) => known.iter().find(|(name, _)| name == text),
        _ => None,
    };
    value.map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        let message = format!("`{}` has no such value", option.key.value);
        (message, format!("write one of {}", names.join(", ")))
    })
}
