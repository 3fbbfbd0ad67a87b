//! A log of what a process has run, as lines of JSON that another process can sum up.
//!
//! Each event is one write, made at once, so that none is lost when the process ends, and several
//! processes can share a file.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

mod totals;

pub use totals::LaunchTotals;

/// The kind of a stop because the engines differ.
pub const DIFFERENCE: &str = "difference";

/// An event in the life of a process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// The library was initialised.
    Start {
        /// The process's id.
        process: u32,
        /// The interface: `cuda` or `ptx_run`.
        interface: String,
    },
    /// A launch has ended.
    Launch {
        /// The process's id.
        process: u32,
        /// The kernel's name.
        kernel: String,
        /// The grid's extents, in blocks.
        grid: [u32; 3],
        /// The block's extents, in threads.
        block: [u32; 3],
        /// The reason why the exact engine ran it; `None` if the fast engine did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exact: Option<String>,
        /// The duration in seconds.
        seconds: f64,
        /// The launch's counts.
        totals: LaunchTotals,
    },
    /// A launch has stopped.
    Stop {
        /// The process's id.
        process: u32,
        /// The kernel's name.
        kernel: String,
        /// `fault`, `hang` or `difference`.
        kind: String,
        /// The stable short name of the cause.
        code: String,
        /// The whole report, as text.
        text: String,
        /// The demangled kernel name, if `kernel` is mangled.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// The block's coordinates: x, y, z.
        #[serde(default)]
        block: [u64; 3],
        /// The coordinates of the first and the last thread in the block: x, y, z.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        threads: Option<[[u64; 3]; 2]>,
        /// The instruction.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        instruction: Option<Instruction>,
    },
    /// A launch went on from refused accesses of an instruction.
    Tolerated {
        /// The process's id.
        process: u32,
        /// The kernel's name.
        kernel: String,
        /// The stable short name of the cause.
        code: String,
        /// The report of the first access, as text.
        text: String,
        /// The line of the instruction in the program's text, or 0.
        line: u32,
        /// The number of issues of the instruction with refused accesses.
        issues: u64,
    },
    /// A check has found something for the first time in this process.
    Finding {
        /// The process's id.
        process: u32,
        /// The number of the finding in the process, from 0.
        number: usize,
        /// The finding, in the form of the JSON report.
        finding: serde_json::Value,
    },
    /// The same was found again.
    FoundAgain {
        /// The process's id.
        process: u32,
        /// The number of the finding.
        number: usize,
        /// How often it was found.
        count: u64,
    },
    /// Findings were not kept, for there were too many of their kind.
    FindingsOmitted {
        /// The process's id.
        process: u32,
        /// The kind's name.
        kind: String,
        /// Their number.
        count: u64,
    },
    /// The client has allocated memory, and leaks are looked for.
    Allocated {
        /// The process's id.
        process: u32,
        /// The first address.
        address: u64,
        /// The bytes that were asked for.
        bytes: u64,
        /// The call.
        call: String,
    },
    /// The client has freed memory.
    Freed {
        /// The process's id.
        process: u32,
        /// The first address.
        address: u64,
    },
    /// After a launch, and where leaks are looked for: what a kernel has allocated by `malloc` and
    /// nobody has freed.
    HeapHeld {
        /// The process's id.
        process: u32,
        /// The context's handle.
        context: u64,
        /// The kernel's name.
        kernel: String,
        /// The number of blocks.
        blocks: u64,
        /// Their bytes.
        bytes: u64,
    },
    /// A context has ended, and its memory with it.
    Abandoned {
        /// The process's id.
        process: u32,
        /// The first addresses of what the client has not freed.
        addresses: Vec<u64>,
    },
    /// A check could not follow all of a launch.
    Incomplete {
        /// The process's id.
        process: u32,
        /// The check's name.
        check: String,
    },
    /// A launch still runs. If the process ends during a launch, the last of these events says
    /// where the launch was.
    Running {
        /// The process's id.
        process: u32,
        /// The kernel's name.
        kernel: String,
        /// Seconds since it began.
        seconds: f64,
        /// The progress of the launch and the positions of its lanes, as text.
        text: String,
    },
    /// A call of the interface has failed.
    Failed {
        /// The process's id.
        process: u32,
        /// The function's name.
        call: String,
        /// Its arguments, as text.
        arguments: String,
        /// The status that it returned.
        status: i32,
        /// The status's name.
        name: String,
        /// A further explanation.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// A client called something that is not supported.
    Unsupported {
        /// The process's id.
        process: u32,
        /// The function, or the function and the option.
        call: String,
    },
    /// A plug-in of a framework has computed operators on the host.
    HostWork {
        /// The process's id.
        process: u32,
        /// The operator's name, as `aten::mm`.
        operator: String,
        /// How often it ran.
        calls: u64,
        /// The seconds that the calls took.
        seconds: f64,
    },
    /// A module, or a kernel of one, cannot run.
    Refused {
        /// The process's id.
        process: u32,
        /// The reason.
        text: String,
    },
}

/// An instruction of a loaded program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instruction {
    /// Its text.
    pub text: String,
    /// Its line in the program's text, from 1.
    pub line: u32,
    /// File and line of the source behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<(String, u32)>,
}

/// A file that receives events.
#[derive(Debug)]
pub struct EventLog {
    file: File,
}

impl EventLog {
    /// Opens a file to append events.
    ///
    /// # Errors
    /// Returns an error if the file cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { file: OpenOptions::new().append(true).create(true).open(path)? })
    }

    /// Appends an event. Errors are ignored: a client must not fail because its log cannot be
    /// written.
    pub fn write(&self, event: &Event) {
        let Ok(mut line) = serde_json::to_string(event) else { return };
        line.push('\n');
        // One write of a whole line keeps the lines of several processes apart.
        let _ = (&self.file).write_all(line.as_bytes());
    }

    /// Parses the events in the text of a file; skips lines that are not events.
    pub fn read(text: &str) -> impl Iterator<Item = Event> {
        text.lines().filter_map(|line| serde_json::from_str(line).ok())
    }
}
