//! The `options` of launch files for machines that lower to the kernel IR.
//!
//! | option | |
//! |---|---|
//! | `order` | side of a branch to run first: `taken`, `fallthrough`, `minority`, `majority` |
//! | `slice` | issues after which a fair mechanism switches to another path; 0 means never |
//! | `predicate` | longest forward branch that is run as predicated code |
//! | `priorities` | block priorities of thread frontiers: `compiler`, `layout` |
//! | `layout` | layout in which places are compared: `kernel-first`, `file`, `compiler` |
//! | `barriers` | who arrives at barriers: `per-thread`, `per-warp` |
//! | `policy` | choice among runnable paths: `first`, `round-robin`, `random` (seeded) |
//! | `resident` | number of resident blocks |
//! | `stack` | limit of a thread's registers and local variables, in bytes |
//! | `heap` | limit of the heap of `malloc`, in bytes |
//! | `forward-progress` | `yes`: run a launch that hangs again under `serial` |
//! | `check-facts` | `yes`: check every fact of the analyses at each issue |
//! | `limits-of` | whose limits hold: a compute capability such as `9.0`, `target` or `none` |
//! | `cluster` | blocks of a cluster in x, y and z, such as `2` or `2,2,1` |
//! | `async` | when asynchronous copies are done: `early`, `late` or `random:SEED` |
//! | `warp` | lanes of the warp that the program sees; see "Warp sizes" in the book's page on PTX |

use converge::{Layout, Order, Policy, Priorities};
use inputs::elem::shortened;
use inputs::launch::{MachineOption, OptionValue};
use ir::device::{Capability, Limits};
use isa::suggest::nearest;
use vm::{Launch, Resident};

use crate::interface::{Axis, Named};
use crate::launch::{LaunchProblem, Subject};

const NAMES: [&str; 17] = [
    "order",
    "slice",
    "predicate",
    "policy",
    "priorities",
    "layout",
    BARRIERS,
    "resident",
    "stack",
    "heap",
    "warp",
    "cluster",
    "async",
    "matrix-sums",
    FORWARD_PROGRESS,
    CHECK_FACTS,
    LIMITS_OF.name,
];

/// Who arrives at barriers.
pub(super) const BARRIERS: &str = "barriers";

const BARRIER_RULES: [(&str, bool); 2] = [("per-thread", false), ("per-warp", true)];

/// The options that comparisons vary; all but `barriers` are knobs of mechanisms.
pub(in super::super) const AXES: &[Axis] = &[
    Axis::knob("order", &["fallthrough", "taken", "minority", "majority"]),
    Axis::knob("slice", &["4096", "0", "64"]),
    Axis::knob("predicate", &["12", "0", "4", "32"]),
    Axis::knob("policy", &["first", "round-robin", "random"]),
    Axis::knob("priorities", &["compiler", "layout"]),
    Axis::knob("layout", &["kernel-first", "file", "compiler"]),
    Axis::on_request(BARRIERS, &["per-thread", "per-warp"]),
];

/// The options in lists for users.
pub(in super::super) const OPTIONS: &[Named] = &[
    Named { name: "order", about: "side of a branch that runs first" },
    Named { name: "slice", about: "issues after which a fair mechanism goes to another path" },
    Named { name: "predicate", about: "longest forward branch that runs as predicated code" },
    Named { name: "policy", about: "choice among runnable paths: first, round-robin, random" },
    Named { name: "priorities", about: "block priorities of thread frontiers: compiler, layout" },
    Named {
        name: "layout",
        about: "layout in which places are compared: kernel-first, file, compiler",
    },
    Named { name: BARRIERS, about: "who arrives at barriers: per-thread, per-warp" },
];

/// The option that runs launches that hang again, under a fair mechanism.
pub(super) const FORWARD_PROGRESS: &str = "forward-progress";

/// The option that selects the device whose limits hold.
pub(in crate::adapters) const LIMITS_OF: Named = Named {
    name: "limits-of",
    about: "compute capability of the device whose limits hold; `target`, or `none` for no limits",
};

/// Help for launches that exceed a limit of the device.
pub(super) const OTHER_DEVICE: &str = "the option `limits-of` names another device by its compute capability, such as 9.0; \
     `none` lifts the limits of devices";

/// Parses the value of `limits-of`.
pub(in crate::adapters) fn limits(value: &str) -> Result<Limits, String> {
    value.parse().map_err(|error| {
        format!("`{}`: {error}; `limits-of` can also be target or none", shortened(value))
    })
}

const CHECK_FACTS: &str = "check-facts";

/// Returns whether facts of the analyses are checked.
pub(super) fn checks_facts(options: &[MachineOption]) -> bool {
    is_yes(options, CHECK_FACTS)
}

/// Returns whether a launch that hangs is run again.
pub(super) fn needs_progress(options: &[MachineOption]) -> bool {
    is_yes(options, FORWARD_PROGRESS)
}

/// Returns whether warps, not threads, arrive at barriers.
pub(super) fn counts_warps(options: &[MachineOption]) -> bool {
    let last = options.iter().rfind(|o| o.key.value == BARRIERS);
    last.is_some_and(|o| one_of(o, &BARRIER_RULES) == Ok(true))
}

fn is_yes(options: &[MachineOption], name: &str) -> bool {
    let last = options.iter().rfind(|o| o.key.value == name);
    last.is_some_and(|o| one_of(o, &YES_OR_NO) == Ok(true))
}

const YES_OR_NO: [(&str, bool); 2] = [("yes", true), ("no", false)];

/// Applies the options to a launch. Later options override earlier ones.
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

/// An error message and its help.
type OptionError = (String, String);

fn set<const N: usize>(
    launch: &mut Launch<N>,
    option: &MachineOption,
    seed: u64,
    target: Option<Capability>,
) -> Result<(), OptionError> {
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
        "priorities" => launch.knobs.priorities = one_of(option, &Priorities::ALL)?,
        "layout" => launch.knobs.layout = one_of(option, &Layout::ALL)?,
        BARRIERS => launch.warp_barriers = one_of(option, &BARRIER_RULES)?,
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
        "cluster" => launch.cluster = Some(cluster(option)?),
        "async" => {
            let OptionValue::String(text) = &option.value.value else {
                return Err((vm::NotAnOrder.to_string(), "write one of them".to_owned()));
            };
            let order = text.parse::<vm::Asynchrony>();
            let order = order.map_err(|error| (error.to_string(), "write one of them".to_owned()));
            launch.asynchrony = Some(order?);
        }
        "matrix-sums" => {
            let wrong = || (vm::NotMatrixSums.to_string(), "write one of them".to_owned());
            let OptionValue::String(text) = &option.value.value else { return Err(wrong()) };
            launch.matrix_sums = text.parse().map_err(|_| wrong())?;
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

/// Blocks of a cluster in x, y and z.
fn cluster(option: &MachineOption) -> Result<[u32; 3], OptionError> {
    let wrong = || {
        let message = "`cluster` takes one to three whole numbers".to_owned();
        (message, "write the blocks of a cluster in x, y and z, such as 2 or 2,2,1".to_owned())
    };
    let text = match &option.value.value {
        OptionValue::Integer(value) => value.to_string(),
        OptionValue::String(text) => text.clone(),
        _ => return Err(wrong()),
    };
    let mut out = [1; 3];
    let mut sizes = text.split([',', 'x']);
    for (size, text) in out.iter_mut().zip(&mut sizes) {
        *size = text.trim().parse().ok().filter(|&size| size > 0).ok_or_else(wrong)?;
    }
    if sizes.next().is_some() { Err(wrong()) } else { Ok(out) }
}

fn whole(option: &MachineOption, least: u64) -> Result<u64, OptionError> {
    let value = match &option.value.value {
        OptionValue::Integer(value) => u64::try_from(*value).ok(),
        // The command line passes values as text.
        OptionValue::String(text) => text.parse().ok(),
        _ => None,
    };
    value.filter(|&v| v >= least).ok_or_else(|| {
        let message = format!("`{}` takes a whole number", option.key.value);
        (message, format!("write a number from {least} up"))
    })
}

fn one_of<T: Copy>(option: &MachineOption, known: &[(&'static str, T)]) -> Result<T, OptionError> {
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
