//! What stops a launch: faults and hangs, as data.

use std::fmt;

use simt::machine::{Hang, HangKind};
use simt::memory::AccessError;
use simt::observe::GroupId;
use simt::trap::{Cause as _, Fault};

use vm::Recheck;

use crate::launch::Shape;
use crate::module::Module;

/// Whether something went wrong or nothing went on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopKind {
    /// An instruction faulted.
    Fault,
    /// The launch hangs, or has reached the limit of instructions.
    Hang,
    /// The engines differ: a fault of this project's, not of the program's.
    Difference,
}

/// A line of PTX.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PtxLine {
    /// The name that the text was loaded under.
    pub name: String,
    /// The line, from 1.
    pub line: u32,
    /// The line itself, without the space around it.
    pub text: String,
}

/// Why and where a launch stopped.
#[derive(Clone, Debug, PartialEq)]
pub struct Stop {
    /// Fault or hang.
    pub kind: StopKind,
    /// Stable short name, such as `out-of-bounds`.
    pub code: &'static str,
    /// What is wrong, in a sentence.
    pub message: String,
    /// The kernel.
    pub kernel: String,
    /// Block, in x, y, z.
    pub block: [u64; 3],
    /// Warp in its block.
    pub warp: u32,
    /// Lanes, as `{0-3,7}`.
    pub lanes: String,
    /// The instruction.
    pub ptx: Option<PtxLine>,
    /// The source line behind it: file and line.
    pub source: Option<(String, u32)>,
    /// The access that was refused, if that is the fault.
    pub access: Option<Box<AccessError>>,
}

impl Stop {
    pub(crate) fn fault<const N: usize>(
        module: &Module,
        kernel: &str,
        shape: &Shape,
        fault: &Fault<vm::Cause, N>,
    ) -> Self {
        let loc = module.loc_of(fault.pc);
        let access = match &fault.cause {
            vm::Cause::Access(error) => Some(error.clone()),
            _ => None,
        };
        Self {
            kind: StopKind::Fault,
            code: fault.cause.code(),
            message: fault.cause.to_string(),
            kernel: kernel.to_owned(),
            block: block_of(fault.group, shape),
            warp: fault.group.group,
            lanes: fault.lanes.to_string(),
            ptx: module.ptx_line(loc),
            source: module.source_line(loc),
            access,
        }
    }

    pub(crate) fn hang<const N: usize>(
        module: &Module,
        kernel: &str,
        shape: &Shape,
        hang: &Hang<N>,
    ) -> Self {
        let (code, message) = match hang.kind {
            HangKind::Deadlock => ("deadlock", "the kernel hangs: no lane can go on"),
            HangKind::Repeats => ("repeats", "the kernel hangs: its complete state repeats"),
            HangKind::Limit => {
                ("limit", "the kernel has reached the limit of instructions: it may hang")
            }
        };
        let first = hang.waiters.first();
        let loc = first.map_or(ir::LocId(0), |w| module.loc_of(w.pc));
        let message =
            first.map_or_else(|| message.to_owned(), |w| format!("{message}: a path {}", w.wait));
        Self {
            kind: StopKind::Hang,
            code,
            message,
            kernel: kernel.to_owned(),
            block: first.map_or([0; 3], |w| block_of(w.group, shape)),
            warp: first.map_or(0, |w| w.group.group),
            lanes: first.map_or_else(String::new, |w| w.lanes.to_string()),
            ptx: module.ptx_line(loc),
            source: module.source_line(loc),
            access: None,
        }
    }
}

impl Stop {
    /// What differs between the engines, if anything does.
    pub(crate) fn difference(
        module: &Module,
        kernel: &str,
        shape: &Shape,
        came: &Recheck,
    ) -> Option<Self> {
        let writer = match came {
            Recheck::Memory(difference) => difference.writer,
            _ => None,
        };
        let loc = writer.map_or(ir::LocId(0), |w| module.loc_of(w.pc));
        Some(Self {
            kind: StopKind::Difference,
            code: vm::DIFFER,
            message: came.to_string(),
            kernel: kernel.to_owned(),
            block: writer.map_or([0; 3], |w| block_of(w.group, shape)),
            warp: writer.map_or(0, |w| w.group.group),
            lanes: writer.map_or_else(String::new, |w| format!("{{{}}}", w.lane)),
            ptx: module.ptx_line(loc),
            source: module.source_line(loc),
            access: None,
        })
        .filter(|_| !matches!(came, Recheck::Same | Recheck::Stopped))
    }
}

pub(crate) fn block_of(group: GroupId, shape: &Shape) -> [u64; 3] {
    let (x, y) = (u64::from(shape.grid[0].max(1)), u64::from(shape.grid[1].max(1)));
    [group.cta % x, group.cta / x % y, group.cta / x / y]
}

/// Several lines: what, where in the grid, where in the text.
impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { code, message, kernel, block: [x, y, z], warp, lanes, .. } = self;
        writeln!(f, "{message} [{code}]")?;
        write!(f, "  in kernel `{kernel}`")?;
        if !lanes.is_empty() {
            write!(f, ", block ({x},{y},{z}), warp {warp}, lanes {lanes}")?;
        }
        if let Some(PtxLine { name, line, text }) = &self.ptx {
            write!(f, "\n  at {name}:{line}: {text}")?;
        }
        if let Some((file, line)) = &self.source {
            write!(f, "\n  compiled from {file}:{line}")?;
        }
        Ok(())
    }
}
