//! Mechanisms and options.

use ::linx::{Inactive, OPTIONS, Options, Region};
use inputs::elem::shortened;

use super::super::shared::{AddressRange, address_ranges, option_text, problem};
use super::program::LinxProgram;
use crate::interface::Named;
use crate::launch::{LaunchProblem, LaunchRequest, Subject};

/// A mechanism.
pub(super) struct Mechanism {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    /// The defaults that it sets; options may change them.
    set: fn(&mut Options),
}

const fn mechanism(name: &'static str, about: &'static str, set: fn(&mut Options)) -> Mechanism {
    Mechanism { name, about, set }
}

/// The mechanisms, the default one first.
pub(super) const MECHANISMS: [Mechanism; 5] = [
    mechanism("exec", "a program counter a group; lanes by the EXEC mask p", |_| {}),
    mechanism("exec-zero", "the same; inactive lanes of a pushed entry become 0", |o| {
        o.inactive = Inactive::Zero;
    }),
    mechanism(
        "exec-poison",
        "the same; inactive lanes of a pushed entry become a recognisable value",
        |o| {
            o.inactive = Inactive::Poison;
        },
    ),
    mechanism("exec-taken-path", "the same; a body goes where its taken path leads", |o| {
        o.region = Region::TakenPath;
    }),
    mechanism(
        "replay",
        "the upstream emulator's schedule: one lane at a time, p only a branch flag",
        |o| {
            o.replay = true;
        },
    ),
];

/// Options of the file or the run, as opposed to those of the machine.
pub(super) const RUN_OPTIONS: [Named; 8] = [
    Named {
        name: "map",
        about: "ranges ADDRESS+LENGTH, by commas, that are mapped when a trap reports an address \
                there",
    },
    Named {
        name: "entry",
        about: "address or label to start at instead of _start or the first marker",
    },
    Named { name: "arguments", about: "words of the command line of a compiled program" },
    Named { name: "input", about: "what a compiled program can read from its console" },
    Named {
        name: "conventions",
        about: "SrcRType, addtpc, *.pcr and frames as in: v0.4, compiler, auto by the kind of \
                file; for the whole file (auto)",
    },
    Named {
        name: "tile-ops",
        about: "numbers of the tile operations: v0.4, v0.3; for the whole file (v0.4)",
    },
    Named {
        name: "table",
        about: "a file (TSV) that gives forms other bits, bodies other terminators and causes of \
                traps other numbers; for the whole file",
    },
    Named {
        name: "codec",
        about: "how operands of 64-bit forms are read: regid10; b, without types, not to be run \
                (regid10)",
    },
];

/// The parsed options of a launch.
pub(super) struct Choices {
    pub(super) machine: Options,
    /// Ranges of the option `map`, which are mapped when a trap reports an address in them.
    pub(super) mapped: Vec<AddressRange>,
    pub(super) entry: Option<u64>,
    /// Words of the command line.
    pub(super) command: Vec<String>,
    pub(super) input: Vec<u8>,
}

/// Parses the options of a request.
pub(super) fn configure(
    program: &LinxProgram,
    request: &LaunchRequest<'_>,
) -> Result<Choices, LaunchProblem> {
    let width = u32::try_from(request.warp_size).unwrap_or(u32::MAX);
    let mut machine = Options { group_width: width, seed: request.seed, ..Options::default() };
    if let Some(Mechanism { set, .. }) = MECHANISMS.iter().find(|m| m.name == request.mechanism) {
        set(&mut machine);
    }
    let command = vec!["program".to_owned()];
    let mut choices =
        Choices { machine, mapped: Vec::new(), entry: None, command, input: Vec::new() };
    for (index, option) in request.options.iter().enumerate() {
        let value = option_text(option);
        let refuse = |why: String| problem(Subject::Option(index), why);
        match &*shortened(&option.key.value) {
            "map" => choices.mapped.extend(address_ranges(&value).map_err(refuse)?),
            "entry" => choices.entry = Some(program.place(&value).map_err(refuse)?),
            "tile-ops" => program.read_with(&value).map_err(refuse)?,
            // A program in codec B does not load, so it never gets here.
            "codec" => {}
            "table" => program.table_is(&value).map_err(refuse)?,
            "conventions" => program.conventions_are(&value).map_err(refuse)?,
            "arguments" => {
                choices.command.extend(value.split_whitespace().map(str::to_owned));
            }
            "input" => choices.input = value.into_bytes(),
            name if OPTIONS.iter().any(|o| o.name == name) => {
                choices.machine.set(name, &value).map_err(refuse)?;
            }
            name => {
                let known = OPTIONS.iter().map(|o| o.name).chain(RUN_OPTIONS.map(|o| o.name));
                let known = known.collect::<Vec<_>>().join(", ");
                return Err(refuse(format!("there is no option `{name}`; there are {known}")));
            }
        }
    }
    Ok(choices)
}
