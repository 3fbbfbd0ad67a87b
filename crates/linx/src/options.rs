//! Options by name, as the command line and launch files give them.

use crate::state::{Inactive, Linear, Options, Region};

/// An option's name and one line about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionInfo {
    /// The option's spelling.
    pub name: &'static str,
    /// A one-line description.
    pub about: &'static str,
}

const fn info(name: &'static str, about: &'static str) -> OptionInfo {
    OptionInfo { name, about }
}

/// All options that [`Options::set`] takes.
pub const OPTIONS: [OptionInfo; 20] = [
    info("group-width", "lanes of a group: 1, 2, 4, ... 64 (64)"),
    info("inactive", "inactive lanes of a pushed entry: merge, zero, poison (merge)"),
    info("region", "where a body may go: first-terminator, taken-path (first-terminator)"),
    info("replay", "one lane at a time, p only a branch flag: on, off (off)"),
    info(
        "linear-groups",
        "groups are cut from the linearised space: on, off, attr: by B.ATTR.DR (off)",
    ),
    info(
        "lc0",
        "the counter lc0 makes an instruction lane-wise, or reads the first lane's: lane, group (lane)",
    ),
    info("import-order", "what takes an index among imports: sources, exports too (sources)"),
    info("order", "seed of the order of the groups of parallel kernels, 0 in order (0)"),
    info("align", "misaligned data traps: on, off (off)"),
    info("lenient-dim", "a kernel without B.DIM has one lane: on, off (off)"),
    info("lenient-arg", "TMATMUL needs no B.ARG: on, off (off)"),
    info("lenient-tiles", "headers may bind other numbers of tiles and scalars: on, off (off)"),
    info("linear-end", "what a block marker does in a linear body: end, illegal (end)"),
    info("gpr-writes", "general registers written in a parallel kernel: reject, warn (reject)"),
    info("l-bstop", "L.BSTOP of older versions ends a block: on, off (off)"),
    info("strict-branches", "compares of body branches reject queue entries: on, off (off)"),
    info("conflicts", "compare the accesses of groups of parallel kernels: on, off (off)"),
    info(
        "calls",
        "a program that is not compiled may call the host as compiled ones do: on, off (off)",
    ),
    info("clock", "instructions of a second, for programs that ask for the time (100000000)"),
    info("check", "tell of reads of queue entries that nothing was pushed to: on, off (off)"),
];

impl Options {
    /// Sets an option from text.
    ///
    /// # Errors
    /// Returns the list of options, or the values that the option takes.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let number = || value.parse::<u64>().map_err(|_| format!("`{value}` is not a number"));
        let switch = || match value {
            "on" | "true" | "1" => Ok(true),
            "off" | "false" | "0" => Ok(false),
            _ => Err(format!("`{value}`: {name} is on or off")),
        };
        match name {
            "group-width" => {
                let width = number()?;
                let width = u32::try_from(width).ok().filter(|w| w.is_power_of_two() && *w <= 64);
                self.group_width = width.ok_or("groups have 1, 2, 4, 8, 16, 32 or 64 lanes")?;
            }
            "inactive" => {
                self.inactive = match value {
                    "merge" => Inactive::Merge,
                    "zero" => Inactive::Zero,
                    "poison" => Inactive::Poison,
                    _ => return Err(format!("`{value}`: inactive is merge, zero or poison")),
                };
            }
            "region" => {
                self.region = match value {
                    "first-terminator" => Region::FirstTerminator,
                    "taken-path" => Region::TakenPath,
                    _ => {
                        return Err(format!("`{value}`: region is first-terminator or taken-path"));
                    }
                };
            }
            "replay" => self.replay = switch()?,
            "linear-groups" if value == "attr" => self.linear_groups = Linear::Attribute,
            "linear-groups" => {
                self.linear_groups = if switch()? { Linear::On } else { Linear::Off };
            }
            "lc0" => self.lc0_group = choice(name, value, ["lane", "group"])?,
            "import-order" => {
                self.exports_import = choice(name, value, ["sources", "exports"])?;
            }
            "gpr-writes" => self.warn_gpr_writes = choice(name, value, ["reject", "warn"])?,
            "lenient-arg" => self.lenient_arg = switch()?,
            "lenient-tiles" => self.lenient_tiles = switch()?,
            "linear-end" => self.strict_linear = choice(name, value, ["end", "illegal"])?,
            "l-bstop" => self.l_bstop = switch()?,
            "check" => self.check = switch()?,
            "order" => self.seed = number()?,
            "align" => self.align = switch()?,
            "calls" => self.calls = switch()?,
            "clock" => self.clock = number()?,
            "lenient-dim" => self.lenient_dim = switch()?,
            "strict-branches" => self.strict_branches = switch()?,
            "conflicts" => self.conflicts = switch()?,
            _ => {
                let names: Vec<&str> = OPTIONS.iter().map(|o| o.name).collect();
                return Err(format!("there is no option `{name}`; there are {}", names.join(", ")));
            }
        }
        Ok(())
    }
}

/// Returns whether the value is the second of two words.
///
/// # Errors
/// Returns a message if it is neither.
fn choice(name: &str, value: &str, words: [&str; 2]) -> Result<bool, String> {
    match words.iter().position(|word| *word == value) {
        Some(index) => Ok(index == 1),
        None => Err(format!("`{value}`: {name} is {} or {}", words[0], words[1])),
    }
}
