//! Faults and hangs of launches, as data.

use std::fmt;

use places::{BlockHistory, Place, Site};
use simt::machine::{Hang, HangKind};
use simt::memory::AccessError;
use simt::observe::GroupId;
use simt::trap::{Cause as _, Fault};
use simt::{LaneMask, Pc};

use vm::Recheck;

use crate::blocks::Blocks;
use crate::launch::Shape;
use crate::origin::{Parameter, parameter};
use modules::Module;

/// The kind of a stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopKind {
    /// An instruction faulted.
    Fault,
    /// The launch hangs, or has reached its limit of issues.
    Hang,
    /// The engines differ. This is a defect of the engines, not of the program.
    Difference,
}

/// The cause and place of a stop.
#[derive(Clone, Debug, PartialEq)]
pub struct Stop {
    /// The kind of the stop.
    pub kind: StopKind,
    /// The stable short name of the cause, such as `out-of-bounds`.
    pub code: &'static str,
    /// The cause in a sentence.
    pub message: String,
    /// The kernel's name.
    pub kernel: String,
    /// Where it is; of a hang, where the first path waits.
    pub place: Place,
    /// The refused access, if that is the cause.
    pub access: Option<Box<AccessError>>,
    /// The kernel parameter that the refused address came from, if known.
    pub parameter: Option<Parameter>,
    /// The calls that allocated and freed the block that is nearest to the refused access, if the
    /// client has told them.
    pub block: Option<BlockHistory>,
}

impl Stop {
    pub(crate) fn fault<const N: usize>(
        module: &Module,
        kernel: &str,
        shape: &Shape,
        fault: &Fault<vm::Cause, N>,
    ) -> Self {
        let access = match &fault.cause {
            vm::Cause::Access(error) => Some(error.clone()),
            _ => None,
        };
        Self {
            kind: StopKind::Fault,
            code: fault.cause.code(),
            message: match &fault.cause {
                vm::Cause::Access(error) => places::explain(error),
                other => other.to_string(),
            },
            kernel: kernel.to_owned(),
            place: place(module, fault.pc, site(fault.group, &fault.lanes, shape)),
            access,
            parameter: None,
            block: None,
        }
    }

    /// Adds which parameter of the kernel the refused address came from, given the parameter block,
    /// and who allocated and freed the memory there.
    pub(crate) fn traced(
        mut self,
        function: Option<&ir::Function>,
        block: &[u8],
        blocks: &Blocks,
    ) -> Self {
        if let Some(access) = &self.access {
            self.parameter = function.and_then(|f| parameter(f.params(), block, access));
            self.block = blocks.of(access);
        }
        self
    }

    /// The refused access of a library's function, which works on device memory as a kernel does.
    /// `block` is what is known of the memory there.
    #[must_use]
    pub fn of_library(
        function: &str,
        access: Box<AccessError>,
        block: Option<BlockHistory>,
    ) -> Self {
        Self {
            kind: StopKind::Fault,
            code: access.violation.code(),
            message: places::explain(&access),
            kernel: function.to_owned(),
            place: Place::default(),
            access: Some(access),
            parameter: None,
            block,
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
        let message =
            first.map_or_else(|| message.to_owned(), |w| format!("{message}: a path {}", w.wait));
        Self {
            kind: StopKind::Hang,
            code,
            message,
            kernel: kernel.to_owned(),
            place: first.map_or_else(Place::default, |w| {
                place(module, w.pc, site(w.group, &w.lanes, shape))
            }),
            access: None,
            parameter: None,
            block: None,
        }
    }
}

impl Stop {
    /// What differs between the engines.
    pub(crate) fn difference(
        module: &Module,
        kernel: &str,
        shape: &Shape,
        recheck: &Recheck,
    ) -> Self {
        let writer = match recheck {
            Recheck::Memory(difference) => difference.writer,
            _ => None,
        };
        Self {
            kind: StopKind::Difference,
            code: vm::DIFFER,
            message: recheck.to_string(),
            kernel: kernel.to_owned(),
            place: writer.map_or_else(Place::default, |w| {
                let lane = LaneMask::<1>::lane(w.lane.into());
                place(module, w.pc, site(w.group, &lane, shape))
            }),
            access: None,
            parameter: None,
            block: None,
        }
    }
}

pub(crate) fn site<const N: usize>(group: GroupId, lanes: &LaneMask<N>, shape: &Shape) -> Site {
    Site::new(group, lanes, shape.grid.map(u64::from), shape.block.map(u64::from))
}

/// Lanes at an instruction.
pub(crate) fn place(module: &Module, pc: Pc, site: Site) -> Place {
    let loc = module.loc_of(pc);
    Place { site, text: module.ptx_line(loc), source: module.source_line(loc) }
}

/// Prints the cause, then the place in the grid, then the place in the text.
impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { code, message, place, .. } = self;
        writeln!(f, "{message} [{code}]")?;
        write!(f, "  in kernel `{}`", places::shown(&self.kernel))?;
        if !place.site.lanes.is_empty() {
            write!(f, ", {}", place.site)?;
        }
        place.write_lines(f, "  ")?;
        if self.code == "limit" {
            f.write_str(
                "\n  raise the limit with `--limit` or SIMTLAB_LIMIT if the kernel needs longer",
            )?;
        }
        if let Some(Parameter { number, count, name, value }) = &self.parameter {
            write!(f, "\n  parameter {number} of {count}, `{name}`, is {value:#x}")?;
        }
        if let Some(history) = &self.block {
            write!(f, "\n  the memory was {history}")?;
        }
        Ok(())
    }
}
