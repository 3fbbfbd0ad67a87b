//! Launch files: what to run, on what, and what should come of it.
//!
//! A launch file is TOML and the same for every machine: a program, buffers, launches in order that share the buffers, and
//! expectations. What only one machine understands stands in tables named `options`, which that machine reads. The format is
//! documented in `docs/launch-files.md` and described by `docs/schemas/launch.schema.json`; a test holds the key lists
//! here against both.
//!
//! [`LaunchFile::parse`] reports everything wrong with a file at once, each finding with its place; it reads text only.
//! Names are resolved here (a launch may refer to declared buffers only), types and sizes when a run is prepared.

mod read;
mod schema_keys;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use isa::Span;

pub use crate::toml_reader::Located;
pub use schema_keys::{EXPECT_KEYS, LAUNCH_KEYS, ROOT_KEYS, RUN_KEYS};

use crate::argspec::{ArgSpec, BufferSpec};

/// The version of the format that this crate reads.
pub const SCHEMA_VERSION: u64 = 1;

/// Largest launch file that is read, in bytes.
pub const MAX_FILE_BYTES: u64 = 16 << 20;

/// A launch file.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchFile {
    /// Which machine runs it (`ptx`, `toy`, ...).
    pub machine: Located<String>,
    /// The program, relative to the launch file.
    pub module: Located<PathBuf>,
    /// How to run it unless the command line says otherwise.
    pub run: RunDefaults,
    /// What only the machine understands.
    pub options: Vec<MachineOption>,
    /// Buffers in the order in which they are written.
    pub buffers: Vec<NamedBuffer>,
    /// Launches, in order.
    pub launches: Vec<LaunchEntry>,
    /// What should come of them.
    pub expectations: Vec<Expectation>,
}

/// Settings that the command line overrides.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunDefaults {
    /// Convergence mechanism.
    pub mechanism: Option<Located<String>>,
    /// Lanes of an issue group.
    pub warp_size: Option<Located<u64>>,
    /// Seed for everything random.
    pub seed: Option<Located<u64>>,
    /// Most issues of one launch.
    pub limit: Option<Located<u64>>,
}

/// One key of an `options` table.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineOption {
    /// The key.
    pub key: Located<String>,
    /// Its value.
    pub value: Located<OptionValue>,
}

/// A value that a machine reads.
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
    /// How it is made.
    pub spec: BufferSpec,
}

/// One launch.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchEntry {
    /// The kernel; may be left away where the program has only one.
    pub kernel: Option<Located<String>>,
    /// Blocks in x, y, z.
    pub grid: Option<Located<[u64; 3]>>,
    /// Threads of a block in x, y, z.
    pub block: Option<Located<[u64; 3]>>,
    /// Bytes of dynamic shared memory.
    pub shared: Option<Located<u64>>,
    /// Arguments.
    pub args: Vec<ArgSpec>,
    /// Where the arguments stand.
    pub args_span: Span,
    /// What only the machine understands.
    pub options: Vec<MachineOption>,
    /// The whole entry.
    pub span: Span,
}

/// One expectation.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// Under which mechanisms it is checked; none means all.
    pub mechanisms: Vec<Located<String>>,
    /// At which warp sizes it is checked; none means all.
    pub warp_sizes: Vec<u64>,
    /// What is expected.
    pub what: Expected,
    /// The whole entry.
    pub span: Span,
}

/// What an expectation is about.
#[derive(Clone, Debug, PartialEq)]
pub enum Expected {
    /// A buffer's contents after the last launch.
    Buffer(ExpectedBuffer),
    /// A number of the run's statistics.
    Statistic(ExpectedStatistic),
    /// That a launch ends in a fault.
    Trap(ExpectedTrap),
    /// That a launch hangs, and how that is known (`deadlock`, `repeats`, `limit`).
    Hang {
        /// The kind of hang.
        kind: Located<String>,
        /// Which launch, from 0; none means any.
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
    /// How far a float may be off.
    pub tolerance: crate::compare::Tolerance,
    /// Whether order does not matter.
    pub multiset: bool,
    /// The elements compared, as start and count in flat order; all if none.
    pub range: Option<Located<[u64; 2]>>,
}

/// Where expected contents come from.
#[derive(Clone, Debug, PartialEq)]
pub enum ExpectedContents {
    /// An `.npy` file, relative to the launch file.
    File(Located<PathBuf>),
    /// These literals, read as the buffer's type.
    Values(Located<Vec<Located<String>>>),
    /// The same literal everywhere.
    Fill(Located<String>),
}

/// A statistic and what it should be.
#[derive(Clone, Debug, PartialEq)]
pub struct ExpectedStatistic {
    /// Its name.
    pub name: Located<String>,
    /// Which launch, from 0; none means all together.
    pub launch: Option<u64>,
    /// Exactly this.
    pub equals: Option<f64>,
    /// At least this.
    pub min: Option<f64>,
    /// At most this.
    pub max: Option<f64>,
}

/// A fault that should occur.
#[derive(Clone, Debug, PartialEq)]
pub struct ExpectedTrap {
    /// The trap's short name, such as `out-of-bounds`.
    pub code: Located<String>,
    /// Which launch, from 0; none means any.
    pub launch: Option<u64>,
    /// The line of the program at which it should occur.
    pub line: Option<u64>,
    /// Text that the message should contain.
    pub message: Option<String>,
}
