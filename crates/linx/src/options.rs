//! Options by name, as the command line and launch files give them.

use crate::state::{Inactive, Options, Region};

/// An option's name and one line about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionInfo {
    /// As it is written.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
}

const fn info(name: &'static str, about: &'static str) -> OptionInfo {
    OptionInfo { name, about }
}

/// All options that [`Options::set`] takes.
pub const OPTIONS: [OptionInfo; 10] = [
    info("group-width", "lanes of a group: 1, 2, 4, ... 64 (64)"),
    info("inactive", "inactive lanes of a pushed entry: merge, zero, poison (merge)"),
    info("region", "where a body may go: first-terminator, taken-path (first-terminator)"),
    info("replay", "one lane at a time, p only a branch flag: on, off (off)"),
    info("linear-groups", "groups are cut from the linearised space: on, off (off)"),
    info("order", "seed of the order of the groups of parallel kernels, 0 in order (0)"),
    info("align", "misaligned data traps: on, off (off)"),
    info("lenient-dim", "a kernel without B.DIM has one lane: on, off (off)"),
    info("strict-branches", "compares of body branches reject queue entries: on, off (off)"),
    info("conflicts", "compare the accesses of groups of parallel kernels: on, off (off)"),
];

impl Options {
    /// Sets an option from text.
    ///
    /// # Errors
    /// Which options there are, or what the option can be.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let number = || value.parse::<u64>().map_err(|_| format!("`{value}` is no number"));
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
            "linear-groups" => self.linear_groups = switch()?,
            "order" => self.seed = number()?,
            "align" => self.align = switch()?,
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
