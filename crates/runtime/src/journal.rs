//! What a process has run, as lines of JSON that another process can add up.
//!
//! Each event is written at once and in one piece, so that nothing is lost with a process that ends in whatever way, and
//! processes can share a file.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use serde::{Deserialize, Serialize};
use simt::slots::SlotCause;

use crate::launch::Report;
use crate::stop::{Stop, StopKind};
use engine::Ran;

/// The kind of a stop where the engines differ.
pub const DIFFERENCE: &str = "difference";

/// Something worth telling about a process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// The library was initialised.
    Start {
        /// The process.
        process: u32,
        /// Which interface: `cuda` or `ptx_run`.
        interface: String,
    },
    /// A launch has ended.
    Launch {
        /// The process.
        process: u32,
        /// The kernel.
        kernel: String,
        /// Blocks.
        grid: [u32; 3],
        /// Threads of a block.
        block: [u32; 3],
        /// Why the exact engine ran it; nothing if the fast one did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exact: Option<String>,
        /// Seconds.
        seconds: f64,
        /// Counts.
        totals: LaunchTotals,
    },
    /// A launch has stopped.
    Stop {
        /// The process.
        process: u32,
        /// The kernel.
        kernel: String,
        /// `fault`, `hang` or `difference`.
        kind: String,
        /// Stable short name of the cause.
        code: String,
        /// All of it, as text.
        text: String,
        /// The kernel's name in its source, if the other is mangled.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// Block, in x, y, z.
        #[serde(default)]
        block: [u64; 3],
        /// The first and the last thread in the block, in x, y, z.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        threads: Option<[[u64; 3]; 2]>,
    },
    /// A launch has run for a while. The last of these tells where a launch was whose process has
    /// ended in it.
    Running {
        /// The process.
        process: u32,
        /// The kernel.
        kernel: String,
        /// Seconds since it began.
        seconds: f64,
        /// How far it is, and where its lanes are, as text.
        text: String,
    },
    /// A call has failed.
    Failed {
        /// The process.
        process: u32,
        /// The function.
        call: String,
        /// Its arguments, as text.
        arguments: String,
        /// What it has answered.
        status: i32,
        /// The name of that.
        name: String,
        /// More about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// A call that is not supported.
    Unsupported {
        /// The process.
        process: u32,
        /// The function, or function and option.
        call: String,
    },
    /// A module, or a kernel of it, that cannot run.
    Refused {
        /// The process.
        process: u32,
        /// Why.
        text: String,
    },
}

/// Counts of one or more launches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchTotals {
    /// Blocks run.
    pub blocks: u64,
    /// Threads run.
    pub threads: u64,
    /// Instructions issued to warps.
    pub issues: u64,
    /// Instructions executed by lanes.
    pub lane_instructions: u64,
    /// Lane slots of all issues.
    pub lane_slots: u64,
    /// Branches issued.
    pub branches: u64,
    /// Those that diverged.
    pub divergent_branches: u64,
    /// Memory instructions issued.
    pub memory_instructions: u64,
    /// Block barriers completed.
    pub barriers: u64,
}

impl LaunchTotals {
    /// Counts of a launch.
    #[must_use]
    pub fn of(stats: &vm::Stats) -> Self {
        Self {
            blocks: stats.ctas,
            threads: stats.threads,
            issues: stats.slots.issues(),
            lane_instructions: stats.slots.of(SlotCause::On),
            lane_slots: stats.slots.width,
            branches: stats.branches,
            divergent_branches: stats.divergent_branches,
            memory_instructions: stats.memory_instructions,
            barriers: stats.barriers,
        }
    }

    /// Adds those of another.
    pub fn add(&mut self, other: &Self) {
        self.blocks += other.blocks;
        self.threads += other.threads;
        self.issues += other.issues;
        self.lane_instructions += other.lane_instructions;
        self.lane_slots += other.lane_slots;
        self.branches += other.branches;
        self.divergent_branches += other.divergent_branches;
        self.memory_instructions += other.memory_instructions;
        self.barriers += other.barriers;
    }
}

impl Event {
    /// The event of a launch that has ended.
    #[must_use]
    pub fn launch(kernel: &str, shape: &crate::Shape, report: &Report) -> Self {
        Self::Launch {
            process: std::process::id(),
            kernel: kernel.to_owned(),
            grid: shape.grid,
            block: shape.block,
            exact: match report.ran {
                Ran::Fast(_) => None,
                Ran::Exact(Some(why)) => Some(why.to_string()),
                Ran::Exact(None) => Some("asked for".to_owned()),
                Ran::Retried => Some("it hangs unless every lane goes on by itself".to_owned()),
            },
            seconds: report.time.as_secs_f64(),
            totals: LaunchTotals::of(&report.stats),
        }
    }

    /// The event of a launch that runs.
    #[must_use]
    pub fn running(standing: &crate::Standing) -> Self {
        Self::Running {
            process: std::process::id(),
            kernel: standing.kernel.clone(),
            seconds: standing.time.as_secs_f64(),
            text: standing.to_string(),
        }
    }

    /// The event of a launch that has stopped.
    #[must_use]
    pub fn stop(stop: &Stop) -> Self {
        let kind = match stop.kind {
            StopKind::Fault => "fault",
            StopKind::Hang => "hang",
            StopKind::Difference => DIFFERENCE,
        };
        Self::Stop {
            process: std::process::id(),
            kernel: stop.kernel.clone(),
            kind: kind.to_owned(),
            code: stop.code.to_owned(),
            text: stop.to_string(),
            name: places::demangled(&stop.kernel),
            block: stop.place.site.block,
            threads: stop.place.site.threads,
        }
    }
}

/// A file of events.
#[derive(Debug)]
pub struct Journal {
    file: File,
}

impl Journal {
    /// Opens a file, to write at its end.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { file: OpenOptions::new().append(true).create(true).open(path)? })
    }

    /// Writes an event. What cannot be written is lost: a client does not fail for want of its record.
    pub fn write(&self, event: &Event) {
        let Ok(mut line) = serde_json::to_string(event) else { return };
        line.push('\n');
        // One write of a whole line, so that lines of several processes do not mix; lost if the disk is full.
        let _ = (&self.file).write_all(line.as_bytes());
    }

    /// The events of a file's text; lines that are none are left out.
    pub fn read(text: &str) -> impl Iterator<Item = Event> {
        text.lines().filter_map(|line| serde_json::from_str(line).ok())
    }
}
