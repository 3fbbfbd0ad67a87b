//! Launch files: programs, launches, and expected results.
//!
//! A launch file is TOML, with the same format for every machine: a program, buffers, a sequence of
//! launches that share the buffers, and expectations. Settings of a single machine are in tables
//! named `options`, which that machine reads. `docs/launch-files.md` documents the format, and
//! `docs/schemas/launch.schema.json` describes it; a test checks the key lists of this module
//! against both.
//!
//! [`LaunchFile::parse`] reads text only and reports all errors of a file at once, with their
//! places. It resolves names of buffers; types and sizes are checked when a run is prepared.

mod read;
mod schema_keys;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use isa::Span;

use crate::argspec::{ArgSpec, BufferSpec};
use crate::elem::ElemType;
pub use crate::toml_reader::Located;
pub use schema_keys::{EXPECT_KEYS, LAUNCH_KEYS, ROOT_KEYS, RUN_KEYS};

/// The version of the format that this crate supports.
pub const SCHEMA_VERSION: u64 = 1;

/// Size limit of launch files in bytes.
pub const MAX_FILE_BYTES: u64 = 16 << 20;

/// A launch file.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchFile {
    /// Name of the machine (`ptx`, `toy`, ...).
    pub machine: Located<String>,
    /// Path of the program, relative to the launch file.
    pub module: Located<PathBuf>,
    /// Settings that the command line may override.
    pub run: RunDefaults,
    /// Options for the machine.
    pub options: Vec<MachineOption>,
    /// Buffers in the order in which they are written.
    pub buffers: Vec<NamedBuffer>,
    /// Launches, in order.
    pub launches: Vec<LaunchEntry>,
    /// The expected results.
    pub expectations: Vec<Expectation>,
}

/// Settings that the command line overrides.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunDefaults {
    /// Convergence mechanism.
    pub mechanism: Option<Located<String>>,
    /// Width of an issue group in lanes.
    pub warp_size: Option<Located<u64>>,
    /// Seed of the scheduling policy and of random buffers.
    pub seed: Option<Located<u64>>,
    /// Limit of issues.
    pub limit: Option<Located<u64>>,
}

/// An entry of an `options` table.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineOption {
    /// The key.
    pub key: Located<String>,
    /// Its value.
    pub value: Located<OptionValue>,
}

/// The value of a machine option.
#[derive(Clone, Debug, PartialEq)]
pub enum OptionValue {
    /// A string.
    String(String),
    /// An integer.
    Integer(i64),
    /// A float.
    Float(f64),
    /// A boolean.
    Boolean(bool),
}

/// A buffer that launches refer to as `&name`.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedBuffer {
    /// Its name.
    pub name: Located<String>,
    /// The specification of its contents.
    pub spec: BufferSpec,
}

/// One launch.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchEntry {
    /// The kernel's name; optional if the program has only one.
    pub kernel: Option<Located<String>>,
    /// Size of the grid in x, y, z, in blocks.
    pub grid: Option<Located<[u64; 3]>>,
    /// Size of a block in x, y, z, in threads.
    pub block: Option<Located<[u64; 3]>>,
    /// Dynamic shared memory in bytes.
    pub shared: Option<Located<u64>>,
    /// Arguments.
    pub args: Vec<ArgSpec>,
    /// The place of the argument list.
    pub args_span: Span,
    /// Options for the machine.
    pub options: Vec<MachineOption>,
    /// The whole entry.
    pub span: Span,
}

/// One expectation.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// Mechanisms to which the expectation applies; all if empty.
    pub mechanisms: Vec<Located<String>>,
    /// Warp sizes to which the expectation applies; all if empty.
    pub warp_sizes: Vec<u64>,
    /// What is expected.
    pub what: Expected,
    /// The whole entry.
    pub span: Span,
}

/// The subject of an expectation.
#[derive(Clone, Debug, PartialEq)]
pub enum Expected {
    /// A buffer's contents after the last launch.
    Buffer(ExpectedBuffer),
    /// Guest memory at an address after the last launch.
    Memory(ExpectedMemory),
    /// The value of a statistic.
    Statistic(ExpectedStatistic),
    /// A fault that ends a launch.
    Trap(ExpectedTrap),
    /// A hang of a kind: `deadlock`, `repeats` or `limit`.
    Hang {
        /// The kind of hang.
        kind: Located<String>,
        /// Index of the launch; any if `None`.
        launch: Option<u64>,
    },
}

/// A buffer's expected contents.
#[derive(Clone, Debug, PartialEq)]
pub struct ExpectedBuffer {
    /// The buffer's name.
    pub buffer: Located<String>,
    /// The contents.
    pub contents: ExpectedContents,
    /// Bounds within which values match.
    pub tolerance: crate::tolerance::Tolerance,
    /// Whether contents are compared as multisets.
    pub multiset: bool,
    /// The compared elements, as start and count in flat order; all if `None`.
    pub range: Option<Located<[u64; 2]>>,
}

/// Expected contents of guest memory.
#[derive(Clone, Debug, PartialEq)]
pub struct ExpectedMemory {
    /// An address, or a symbol of the program.
    pub place: Located<String>,
    /// The type of its elements.
    pub ty: ElemType,
    /// The contents.
    pub contents: ExpectedContents,
    /// Number of elements, where the contents do not tell.
    pub count: Option<Located<u64>>,
    /// Bounds within which values match.
    pub tolerance: crate::tolerance::Tolerance,
}

/// The source of expected contents.
#[derive(Clone, Debug, PartialEq)]
pub enum ExpectedContents {
    /// An `.npy` file, relative to the launch file.
    File(Located<PathBuf>),
    /// Literals of the buffer's type.
    Values(Located<Vec<Located<String>>>),
    /// The same literal for all elements.
    Fill(Located<String>),
}

/// Bounds on a statistic.
#[derive(Clone, Debug, PartialEq)]
pub struct ExpectedStatistic {
    /// Its name.
    pub name: Located<String>,
    /// Index of the launch; the sum over all if `None`.
    pub launch: Option<u64>,
    /// Required value.
    pub equals: Option<f64>,
    /// Lower bound.
    pub min: Option<f64>,
    /// Upper bound.
    pub max: Option<f64>,
}

/// An expected fault.
#[derive(Clone, Debug, PartialEq)]
pub struct ExpectedTrap {
    /// The trap's short name, such as `out-of-bounds`.
    pub code: Located<String>,
    /// Index of the launch; any if `None`.
    pub launch: Option<u64>,
    /// Required line of the program.
    pub line: Option<u64>,
    /// Text that the message has to contain.
    pub message: Option<String>,
}
