//! Sizes and latencies of the cycle model of the predicate-register-file GPU, read from TOML.
//!
//! Parameters that a file omits have the value of the published model. A single value can be set by
//! its dotted name (`memory.latency`), with the same checks.

use serde::{Deserialize, Serialize};

/// The rule for the warp that is offered the next fetch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Group after group, the even then the odd warp of each.
    #[default]
    RoundRobin,
    /// One group for as long as it can fetch, then the one that started longest ago.
    GreedyThenOldest,
}

/// The rule that orders the instructions of a warp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hazards {
    /// Only packets: a warp fetches up to the end of a packet, then waits until all of it is
    /// written.
    #[default]
    Faithful,
    /// A scoreboard on registers and predicates; packet bits mean nothing.
    Interlocked,
}

/// What goes to waiting instructions before it is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Forwarding {
    /// Nothing.
    #[default]
    None,
    /// Predicates.
    Predicates,
    /// Predicates and registers.
    All,
}

/// All sizes and latencies; cycles, bytes or entries.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    /// The rule for the warp that fetches.
    pub scheduler: Policy,
    /// The multiprocessor.
    pub sm: Sm,
    /// The instruction cache.
    pub icache: Icache,
    /// Memory behind it.
    pub memory: Memory,
    /// DECODE + PREDICATION.
    pub decode: Decode,
    /// The instruction buffers.
    pub buffer: Buffer,
    /// ISSUE.
    pub issue: IssueStage,
    /// Cycles from dispatch to result.
    pub units: Units,
    /// The load/store unit.
    pub load_store: LoadStore,
    /// Write-back.
    pub writeback: Writeback,
}

macro_rules! section {
    ($(#[$about:meta])* $name:ident {
        $($(#[$doc:meta])* $field:ident: $ty:ty = $default:expr,)*
    }) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
        pub struct $name { $($(#[$doc])* pub $field: $ty,)* }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }
    };
}

section! {
    /// The multiprocessor.
    Sm {
        /// Warps that it holds, an even number; two warps are a group.
        warps: u32 = 32,
        /// Cycles from the last write of all resident blocks until their slots are free, or the
        /// kernel has ended.
        finish: u32 = 5,
    }
}
section! {
    /// The instruction cache: direct mapped, one miss at a time.
    Icache {
        /// Bytes.
        bytes: u32 = 32 << 10,
        /// Bytes of a line.
        line: u32 = 4,
    }
}
section! {
    /// Memory behind the instruction cache.
    Memory {
        /// Cycles from accepting a request to the answer.
        latency: u32 = 2,
    }
}
section! {
    /// DECODE + PREDICATION.
    Decode {
        /// Instructions whose mask is empty and that would change nothing leave the pipeline
        /// (faithful).
        skip_empty: bool = false,
    }
}
section! {
    /// ISSUE.
    IssueStage {
        /// Results that units hand to waiting instructions before they are written (interlocked).
        forwarding: Forwarding = Forwarding::None,
        /// Operands that a collector reads from its bank in a cycle.
        read_ports: u32 = 1,
    }
}
section! {
    /// The instruction buffers, one for each group.
    Buffer {
        /// Entries.
        entries: u32 = 4,
        /// Entries from which on the warps of the group fetch nothing.
        full: u32 = 2,
    }
}
section! {
    /// Cycles from dispatch to result of the units that have a fixed latency.
    Units {
        /// Integer arithmetic and logic.
        int_alu: u32 = 1,
        /// Integer multiplication.
        int_mul: u32 = 2,
        /// Integer division.
        int_div: u32 = 17,
        /// Float addition, subtraction, comparison.
        float_alu: u32 = 1,
        /// Float multiplication.
        float_mul: u32 = 4,
        /// Float division.
        float_div: u32 = 24,
        /// Sine and cosine.
        trig: u32 = 16,
        /// Inverse square root.
        inverse_sqrt: u32 = 12,
        /// Conversions.
        convert: u32 = 1,
        /// Comparisons that write predicates, and `halt`.
        branch: u32 = 2,
        /// Jumps.
        jump: u32 = 2,
    }
}
section! {
    /// The load/store unit: one instruction at a time, one request for each address that its lanes
    /// name.
    LoadStore {
        /// Instructions that can wait, the one in service included.
        queue: u32 = 32,
        /// Cycles from dispatch to the answer to the first request of a load.
        load_first: u32 = 17,
        /// More for each further request of a load.
        load_next: u32 = 3,
        /// Cycles from dispatch to the first request of a store.
        store_first: u32 = 8,
        /// More for each further request of a store.
        store_next: u32 = 1,
        /// Requests of a store that are buffered.
        store_buffer: u32 = 16,
        /// More for each request beyond them.
        store_late: u32 = 3,
        /// Bytes of a line of the data cache.
        line: u32 = 128,
        /// More until the end if a line has to be written back.
        flush_first: u32 = 5,
        /// More for each further line.
        flush_next: u32 = 1,
    }
}
section! {
    /// Write-back.
    Writeback {
        /// Results that wait for each unit.
        queue: u32 = 8,
        /// Whether the predicate port looks for the identifier of register bank 0; if not said, as
        /// the profile has it.
        shared_port: Option<bool> = None,
    }
}

/// An error in parameters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParamsError {
    /// Not TOML, an unknown key, or a value of the wrong kind.
    #[error("{}{message}", line.map(|l| format!("line {l}: ")).unwrap_or_default())]
    Toml {
        /// Line of the text, from 1, if one is at fault.
        line: Option<usize>,
        /// The error.
        message: String,
    },
    /// There is no parameter of this name.
    #[error("there is no parameter `{0}`")]
    Unknown(String),
    /// A value out of range.
    #[error("`{name}` is {value}, but {rule}")]
    Range {
        /// The parameter.
        name: &'static str,
        /// Its value.
        value: u32,
        /// The rule for it.
        rule: String,
    },
}

/// Largest latency.
const MOST_CYCLES: u32 = 100_000;
/// Most entries of a queue or a buffer.
const MOST_ENTRIES: u32 = 1024;

fn toml_error(error: &toml::de::Error, text: &str) -> ParamsError {
    let line = error.span().map(|span| {
        let before = text.as_bytes().get(..span.start).unwrap_or_default();
        before.iter().filter(|&&b| b == b'\n').count() + 1
    });
    // The first line is the message; the others repeat the text.
    let message = error.message().lines().next().unwrap_or("no TOML").chars().take(200).collect();
    ParamsError::Toml { line, message }
}

impl Params {
    /// Reads a text of TOML.
    ///
    /// # Errors
    /// Returns the first error.
    pub fn parse(text: &str) -> Result<Self, ParamsError> {
        let params: Self = toml::from_str(text).map_err(|e| toml_error(&e, text))?;
        params.check()?;
        Ok(params)
    }

    /// Sets one parameter by its dotted name.
    ///
    /// # Errors
    /// If there is none of this name, or it does not take the value.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), ParamsError> {
        let shown = || name.chars().take(80).collect::<String>();
        let mut table = toml::Table::try_from(&*self)
            .map_err(|e| ParamsError::Toml { line: None, message: e.to_string() })?;
        let value = match (value.parse::<i64>(), value) {
            (Ok(number), _) => toml::Value::Integer(number),
            (_, "true" | "on") => toml::Value::Boolean(true),
            (_, "false" | "off") => toml::Value::Boolean(false),
            _ => toml::Value::String(value.chars().take(80).collect()),
        };
        let optional = name == "writeback.shared-port";
        let slot = match name.split_once('.') {
            None => table.get_mut(name),
            Some((section, key)) => {
                let section = table.get_mut(section).and_then(toml::Value::as_table_mut);
                section.and_then(|section| {
                    if optional {
                        section.entry(key).or_insert(toml::Value::Boolean(false));
                    }
                    section.get_mut(key)
                })
            }
        };
        let slot = slot.filter(|slot| !slot.is_table());
        *slot.ok_or_else(|| ParamsError::Unknown(shown()))? = value;
        let params: Self = table.try_into().map_err(|e: toml::de::Error| {
            let message = e.message().lines().next().unwrap_or_default().to_owned();
            ParamsError::Toml { line: None, message: format!("`{}`: {message}", shown()) }
        })?;
        params.check()?;
        *self = params;
        Ok(())
    }

    /// The parameters as a text that [`Params::parse`] reads.
    #[must_use]
    pub fn to_text(&self) -> String {
        toml::to_string(self).unwrap_or_default()
    }

    fn check(&self) -> Result<(), ParamsError> {
        let sizes = |low: u32, high: u32| (low..=high, format!("possible are {low} to {high}"));
        let (cycles, entries) = (sizes(1, MOST_CYCLES), sizes(1, MOST_ENTRIES));
        let (more, warps) = (sizes(0, MOST_CYCLES), sizes(2, 64));
        let (u, l) = (&self.units, &self.load_store);
        let ports = sizes(1, 2);
        let values = [
            ("issue.read-ports", self.issue.read_ports, &ports),
            ("sm.warps", self.sm.warps, &warps),
            ("sm.finish", self.sm.finish, &more),
            ("memory.latency", self.memory.latency, &cycles),
            ("buffer.entries", self.buffer.entries, &entries),
            ("buffer.full", self.buffer.full, &entries),
            ("units.int-alu", u.int_alu, &cycles),
            ("units.int-mul", u.int_mul, &cycles),
            ("units.int-div", u.int_div, &cycles),
            ("units.float-alu", u.float_alu, &cycles),
            ("units.float-mul", u.float_mul, &cycles),
            ("units.float-div", u.float_div, &cycles),
            ("units.trig", u.trig, &cycles),
            ("units.inverse-sqrt", u.inverse_sqrt, &cycles),
            ("units.convert", u.convert, &cycles),
            ("units.branch", u.branch, &cycles),
            ("units.jump", u.jump, &cycles),
            ("load-store.queue", l.queue, &entries),
            ("load-store.load-first", l.load_first, &cycles),
            ("load-store.load-next", l.load_next, &more),
            ("load-store.store-first", l.store_first, &cycles),
            ("load-store.store-next", l.store_next, &more),
            ("load-store.store-buffer", l.store_buffer, &more),
            ("load-store.store-late", l.store_late, &more),
            ("load-store.flush-first", l.flush_first, &more),
            ("load-store.flush-next", l.flush_next, &more),
            ("writeback.queue", self.writeback.queue, &entries),
        ];
        for (name, value, (range, rule)) in values {
            if !range.contains(&value) {
                return Err(ParamsError::Range { name, value, rule: rule.clone() });
            }
        }
        let range = |name, value, rule: &str| {
            Err(ParamsError::Range { name, value, rule: rule.to_owned() })
        };
        if !self.sm.warps.is_multiple_of(2) {
            return range("sm.warps", self.sm.warps, "two warps are a group: it is even");
        }
        if self.buffer.full + 2 > self.buffer.entries {
            let rule = "two more instructions are on their way when a buffer counts as full: \
                        `buffer.entries` is larger by 2 at least";
            return range("buffer.full", self.buffer.full, rule);
        }
        let (bytes, line) = (self.icache.bytes, self.icache.line);
        for (name, line) in [("icache.line", line), ("load-store.line", l.line)] {
            if !(line.is_power_of_two() && (4..=1024).contains(&line)) {
                return range(name, line, "it is a power of two from 4 to 1024");
            }
        }
        if !(bytes.is_power_of_two() && bytes >= line && bytes <= 1 << 20) {
            return range("icache.bytes", bytes, "it is a power of two from a line to 1048576");
        }
        Ok(())
    }
}
