//! The options of the machine: one for every choice that the XPHMG documents leave to an
//! implementation.
//!
//! The defaults are the recommended reading (see the book's page on PMASK). An option is set by
//! name ([`Config::set`]), so that command lines, launch files and tests share one list.

use std::fmt;

/// A conformance level of PMASK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// P0, clear, set, any, none, select, branches on P0.
    M1,
    /// All operations.
    M2,
}

/// The bit of `CAP.PREC.MODE` that is ZMODE: it was moved between versions of the documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZmodeBit {
    /// Bit 3, as in the field table.
    Bit3,
    /// Bit 11, as in the first public layout.
    Bit11,
}

impl ZmodeBit {
    /// The bit as a mask.
    #[must_use]
    pub const fn mask(self) -> u64 {
        match self {
            Self::Bit3 => 1 << 3,
            Self::Bit11 => 1 << 11,
        }
    }
}

/// The options. All combinations are possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is an independent option of the machine")]
pub struct Config {
    /// Whether PMASK exists at all.
    pub pmask: bool,
    /// Banks, the virtual bank 0 included: 1 to 4.
    pub banks: u8,
    /// Conformance level.
    pub level: Level,
    /// Bits of a bank: 1 to 64.
    pub maskw: u8,
    /// Most lanes: 8, 16, 32 or 64. VL is never above this nor above `maskw`.
    pub vlmax: u8,
    /// VL after reset, 0 for unset.
    pub vl: u8,
    /// ZMODE after reset: false merges, true zeroes.
    pub zero: bool,
    /// The position of ZMODE in `CAP.PREC.MODE`.
    pub zmode_bit: ZmodeBit,
    /// `bp.any` and `bp.none` (level M2 only).
    pub fused_branches: bool,
    /// `pmmov.to_p0` with a bank.
    pub to_p0_bank: bool,
    /// Tests with a destination bank are lane-wise under RSV.
    pub lane_forms: bool,
    /// `svcompress`, `svexpand`, `svpopcnt.pm`.
    pub cexp: bool,
    /// `pcmp` and `ptestnz` with a destination bank.
    pub pcmp_bank: bool,
    /// With one bank only, mask algebra on bank 0 acts on P0.
    pub scalar_algebra: bool,
    /// Tests compare whole banks instead of the lanes below VL.
    pub literal_tests: bool,
    /// `RT.BBOX`.
    pub rt: bool,
    /// Misaligned loads and stores trap instead of being carried out.
    pub misaligned_trap: bool,
    /// Fills P0 and the banks with pseudo-random bits of this seed at reset.
    pub reset_random: Option<u64>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            pmask: true,
            banks: 4,
            level: Level::M2,
            maskw: 64,
            vlmax: 64,
            vl: 0,
            zero: false,
            zmode_bit: ZmodeBit::Bit3,
            fused_branches: true,
            to_p0_bank: true,
            lane_forms: true,
            cexp: true,
            pcmp_bank: false,
            scalar_algebra: false,
            literal_tests: false,
            rt: false,
            misaligned_trap: false,
            reset_random: None,
        }
    }
}

/// An option and the values that it takes.
#[derive(Clone, Copy, Debug)]
pub struct OptionInfo {
    /// Its name, without dashes.
    pub name: &'static str,
    /// Its values; empty for a plain switch.
    pub values: &'static str,
    /// One line about it.
    pub about: &'static str,
}

/// All options.
pub const OPTIONS: &[OptionInfo] = &[
    OptionInfo {
        name: "profile",
        values: "full|p0-only",
        about: "all banks, or bank 0 alone with mask algebra on P0; give it first",
    },
    OptionInfo { name: "pmask", values: "on|off", about: "whether PMASK exists" },
    OptionInfo { name: "banks", values: "1..4", about: "mask banks, the virtual bank 0 included" },
    OptionInfo { name: "level", values: "m1|m2", about: "conformance level" },
    OptionInfo { name: "maskw", values: "1..64", about: "bits of a mask bank" },
    OptionInfo { name: "vlmax", values: "8|16|32|64", about: "most lanes" },
    OptionInfo { name: "vl", values: "0..64", about: "vector length after reset, 0 for unset" },
    OptionInfo { name: "zmode", values: "merge|zero", about: "what becomes of lanes that are off" },
    OptionInfo { name: "zmode-bit", values: "3|11", about: "the bit of CAP.PREC.MODE" },
    OptionInfo { name: "fused-branches", values: "on|off", about: "bp.any and bp.none" },
    OptionInfo { name: "to-p0-bank", values: "on|off", about: "pmmov.to_p0 with a bank" },
    OptionInfo { name: "lane-forms", values: "on|off", about: "lane data to masks under RSV" },
    OptionInfo { name: "cexp", values: "on|off", about: "svcompress, svexpand, svpopcnt.pm" },
    OptionInfo { name: "pcmp-bank", values: "on|off", about: "pcmp and ptestnz with a bank" },
    OptionInfo { name: "scalar-algebra", values: "on|off", about: "with one bank, algebra on P0" },
    OptionInfo { name: "literal-tests", values: "on|off", about: "tests look beyond VL" },
    OptionInfo { name: "rt", values: "on|off", about: "RT.BBOX" },
    OptionInfo { name: "misaligned", values: "allow|trap", about: "misaligned loads and stores" },
    OptionInfo { name: "reset-random", values: "SEED", about: "random predicates at reset" },
];

/// An option that cannot be set this way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigError {
    /// There is no such option.
    Unknown(String),
    /// It does not take this value.
    Value {
        /// The option.
        option: &'static OptionInfo,
        /// The value given.
        value: String,
    },
}

impl PartialEq for OptionInfo {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for OptionInfo {}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(name) => {
                let names: Vec<&str> = OPTIONS.iter().map(|o| o.name).collect();
                write!(f, "pmask has no option `{name}`; there are {}", names.join(", "))
            }
            Self::Value { option, value } => {
                write!(f, "`{value}` is not a value of {}: it takes {}", option.name, option.values)
            }
        }
    }
}

impl std::error::Error for ConfigError {}

impl Config {
    /// Sets an option by name; an empty value means `on`.
    ///
    /// # Errors
    /// If there is no such option, or it does not take this value.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), ConfigError> {
        let option = OPTIONS.iter().find(|o| o.name == name);
        let option = option.ok_or_else(|| ConfigError::Unknown(name.to_owned()))?;
        self.apply(name, value)
            .ok_or_else(|| ConfigError::Value { option, value: value.to_owned() })
    }

    fn apply(&mut self, name: &str, value: &str) -> Option<()> {
        let switch = || match value {
            "on" | "" | "true" => Some(true),
            "off" | "false" => Some(false),
            _ => None,
        };
        let number =
            |low: u8, high: u8| value.parse::<u8>().ok().filter(|n| (low..=high).contains(n));
        match name {
            "profile" => {
                (self.banks, self.scalar_algebra) = match value {
                    "full" => (Self::default().banks, false),
                    "p0-only" => (1, true),
                    _ => return None,
                };
            }
            "pmask" => self.pmask = switch()?,
            "banks" => self.banks = number(1, 4)?,
            "level" => {
                self.level = match value {
                    "m1" | "M1" => Level::M1,
                    "m2" | "M2" => Level::M2,
                    _ => return None,
                };
            }
            "maskw" => self.maskw = number(1, 64)?,
            "vlmax" => self.vlmax = number(8, 64).filter(|n| n.is_power_of_two())?,
            "vl" => self.vl = number(0, 64)?,
            "zmode" => {
                self.zero = match value {
                    "merge" => false,
                    "zero" => true,
                    _ => return None,
                };
            }
            "zmode-bit" => {
                self.zmode_bit = match value {
                    "3" => ZmodeBit::Bit3,
                    "11" => ZmodeBit::Bit11,
                    _ => return None,
                };
            }
            "fused-branches" => self.fused_branches = switch()?,
            "to-p0-bank" => self.to_p0_bank = switch()?,
            "lane-forms" => self.lane_forms = switch()?,
            "cexp" => self.cexp = switch()?,
            "pcmp-bank" => self.pcmp_bank = switch()?,
            "scalar-algebra" => self.scalar_algebra = switch()?,
            "literal-tests" => self.literal_tests = switch()?,
            "rt" => self.rt = switch()?,
            "misaligned" => {
                self.misaligned_trap = match value {
                    "allow" => false,
                    "trap" => true,
                    _ => return None,
                };
            }
            "reset-random" => {
                self.reset_random = match value {
                    "off" => None,
                    seed => Some(seed.parse().ok()?),
                };
            }
            _ => return None,
        }
        Some(())
    }

    /// The greatest VL.
    #[must_use]
    pub fn most_lanes(&self) -> u8 {
        if self.pmask { self.vlmax.min(self.maskw) } else { self.vlmax }.max(1)
    }

    /// Returns whether forms of this extension (attribute `ext` of the table) exist.
    #[must_use]
    pub fn has(&self, ext: &str) -> bool {
        let m2 = self.pmask && self.level == Level::M2;
        match ext {
            "P" | "M1" => self.pmask,
            "M2" => m2,
            "FUSED" => m2 && self.fused_branches,
            "PCMPB" => self.pmask && self.pcmp_bank,
            "CEXP" => self.cexp,
            "RT" => self.rt,
            // Forms that only the assembler knows.
            "none" => false,
            _ => true,
        }
    }
}
