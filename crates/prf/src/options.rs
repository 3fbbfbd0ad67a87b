//! Options by name, as launch files and command lines give them.

use crate::config::{Config, Polarity, PredicateWrites, Profile};
use crate::encoding::{JalUnit, JpnzForm, Predicates};
use crate::launch::BLOCK_THREADS;
use crate::timing::{Hazards, Params, ParamsError, Timed};

/// An option's name and one line about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionInfo {
    /// The name.
    pub name: &'static str,
    /// A description, with the values that it takes.
    pub about: &'static str,
}

/// All options.
pub const OPTIONS: &[OptionInfo] = &[
    OptionInfo { name: "profile", about: "founding, cardinal or clean; give it first" },
    OptionInfo {
        name: "predicates",
        about: "registers of a warp, instead of the profile's: 16, 32",
    },
    OptionInfo { name: "writes", about: "lanes outside the mask of a predicate write: and, merge" },
    OptionInfo { name: "jpnz", about: "encoding: cardinal, compiler, bytes, register" },
    OptionInfo { name: "jpnz-jumps", about: "when any or none of the lanes is left" },
    OptionInfo { name: "jal", about: "unit of its distance: halfwords, bytes" },
    OptionInfo { name: "strict-halt", about: "predicate field 31 of halt means p31: on, off" },
    OptionInfo { name: "argument", about: "what special register 3 holds" },
    OptionInfo { name: "entry", about: "where to start" },
    OptionInfo { name: "threads", about: "threads of a block: 1 to 1024" },
    OptionInfo { name: "blocks", about: "number of blocks" },
    OptionInfo { name: "total", about: "threads in all, for a shorter last block" },
    OptionInfo { name: "heap", about: "bytes of memory at 0x10000000" },
    OptionInfo {
        name: "map",
        about: "ranges ADDRESS+LENGTH, by commas, that are mapped before the launch",
    },
    OptionInfo {
        name: "timing",
        about: "the cycle-level model: on, off; on if one of the following is given",
    },
    OptionInfo {
        name: "hazards",
        about: "what orders a warp's instructions: faithful, interlocked",
    },
    OptionInfo { name: "scheduler", about: "which warp fetches: round-robin, greedy-then-oldest" },
    OptionInfo {
        name: "params",
        about: "sizes and latencies, as a text of TOML; single ones by dotted names: memory.latency",
    },
    OptionInfo { name: "trace", about: "keep the cycles of all stages for a timeline: on, off" },
    OptionInfo {
        name: "vcd",
        about: "a file for the value changes of stages, registers and predicates",
    },
    OptionInfo { name: "changes", about: "a file for registers and predicates by cycle, as text" },
];

/// The values of the options.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The profile that was named.
    pub profile: Profile,
    /// The functional choices.
    pub config: Config,
    /// The value of special register 3.
    pub argument: Option<u32>,
    /// The address to start at.
    pub entry: Option<u32>,
    /// Threads of a block.
    pub threads: Option<u32>,
    /// Blocks.
    pub blocks: Option<u32>,
    /// Threads in all.
    pub total: Option<u64>,
    /// Bytes of memory at the start of the heap.
    pub heap: Option<u64>,
    /// Further ranges to map: start and length.
    pub map: Vec<(u32, u32)>,
    /// Whether the cycle-level model was requested, or refused.
    pub timing: Option<bool>,
    /// Whether an option was set that only the cycle-level model has.
    pub timing_details: bool,
    /// The rule that orders the instructions of a warp.
    pub hazards: Hazards,
    /// Sizes and latencies.
    pub params: Params,
    /// Whether to record a timeline.
    pub trace: bool,
    /// Whether to record a value change dump.
    pub vcd: bool,
    /// Whether to record changes as text.
    pub changes: bool,
}

/// The reason that an option is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// No such option.
    #[error("there is no option `{0}`")]
    Unknown(String),
    /// A value that it does not take.
    #[error("`{value}` is not a value of `{name}`: {about}")]
    Value {
        /// The option.
        name: String,
        /// The value given.
        value: String,
        /// The values that it takes.
        about: &'static str,
    },
    /// A parameter of the cycle-level model.
    #[error("parameters: {0}")]
    Params(#[from] ParamsError),
}

/// A decimal or `0x` number.
fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

/// `ADDRESS+LENGTH`, some bytes within the 32-bit addresses.
fn range(text: &str) -> Option<(u32, u32)> {
    let (start, length) = text.trim().split_once('+')?;
    let (start, length) = (number(start.trim())?, number(length.trim())?);
    let fits = length > 0 && start.checked_add(length)? <= 1 << 32;
    Some((u32::try_from(start).ok()?, u32::try_from(length).ok()?)).filter(|_| fits)
}

fn one_of<T: Copy>(value: &str, choices: &[(&str, T)]) -> Option<T> {
    choices.iter().find(|(name, _)| *name == value).map(|(_, choice)| *choice)
}

impl Options {
    /// Sets an option.
    ///
    /// # Errors
    /// If there is no such option or it does not take the value.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), OptionError> {
        if name.contains('.') || matches!(name, "params" | "scheduler") {
            self.timing_details = true;
            if name == "params" {
                self.params = Params::parse(value)?;
            } else {
                self.params.set(name, value)?;
            }
            return Ok(());
        }
        let info = OPTIONS.iter().find(|o| o.name == name);
        let info = info.ok_or_else(|| OptionError::Unknown(name.chars().take(80).collect()))?;
        self.apply(name, value).ok_or_else(|| OptionError::Value {
            name: name.to_owned(),
            value: value.chars().take(80).collect(),
            about: info.about,
        })
    }

    fn apply(&mut self, name: &str, value: &str) -> Option<()> {
        let small = |value: &str| number(value).and_then(|n| u32::try_from(n).ok());
        let encoding = &mut self.config.encoding;
        match name {
            "profile" => {
                self.profile = Profile::ALL.into_iter().find(|p| p.name() == value)?;
                encoding.predicates = self.profile.config().encoding.predicates;
            }
            "predicates" => {
                let choices = [("16", Predicates::P16), ("32", Predicates::P32)];
                encoding.predicates = one_of(value, &choices)?;
            }
            "writes" => {
                let choices = [("and", PredicateWrites::And), ("merge", PredicateWrites::Merge)];
                self.config.writes = one_of(value, &choices)?;
            }
            "jpnz" => {
                let choices = [
                    ("cardinal", JpnzForm::Cardinal),
                    ("compiler", JpnzForm::Compiler),
                    ("bytes", JpnzForm::Bytes),
                    ("register", JpnzForm::Register),
                ];
                encoding.jpnz = one_of(value, &choices)?;
            }
            "jpnz-jumps" => {
                let choices = [("any", Polarity::AnyLane), ("none", Polarity::NoLane)];
                self.config.polarity = one_of(value, &choices)?;
            }
            "jal" => {
                let choices = [("halfwords", JalUnit::HalfWords), ("bytes", JalUnit::Bytes)];
                encoding.jal = one_of(value, &choices)?;
            }
            "strict-halt" => {
                self.config.strict_halt = one_of(value, &[("on", true), ("off", false)])?;
            }
            "argument" => self.argument = Some(small(value)?),
            "entry" => self.entry = Some(small(value)?),
            "threads" => {
                self.threads = Some(small(value).filter(|n| (1..=BLOCK_THREADS).contains(n))?);
            }
            "blocks" => self.blocks = Some(small(value).filter(|&n| n > 0)?),
            "total" => self.total = Some(number(value)?),
            "heap" => self.heap = Some(number(value).filter(|&n| n <= 1 << 31)?),
            "map" => self.map = value.split(',').map(range).collect::<Option<_>>()?,
            "timing" => self.timing = Some(one_of(value, &[("on", true), ("off", false)])?),
            "hazards" => {
                let choices =
                    [("faithful", Hazards::Faithful), ("interlocked", Hazards::Interlocked)];
                self.hazards = one_of(value, &choices)?;
                self.timing_details = true;
            }
            "trace" | "vcd" | "changes" => {
                let on = one_of(value, &[("on", true), ("off", false)])?;
                match name {
                    "trace" => self.trace = on,
                    "vcd" => self.vcd = on,
                    _ => self.changes = on,
                }
                self.timing_details |= on;
            }
            _ => return None,
        }
        Some(())
    }

    /// Returns whether the cycle-level model runs the launch.
    #[must_use]
    pub fn timing(&self) -> bool {
        self.timing.unwrap_or(self.timing_details)
    }

    /// The cycle-level model that the options describe.
    #[must_use]
    pub fn timed(&self) -> Timed {
        let Self { config, profile, hazards, .. } = *self;
        Timed { config, profile, params: self.params.clone(), hazards, ..Timed::default() }
    }
}
