//! What `check` and `list` tell of a program, without the program.

use inputs::kernel::KernelInfo;
use isa::{Diagnostic, Diagnostics, SourceFile};

use crate::catalogue::on_stack_for;
use crate::interface::{Image, Isa};
use crate::program::{Dependence, Program};

/// The parts of a summary that are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SummaryParts {
    /// The kernels.
    Kernels,
    /// All parts.
    All,
}

/// A kernel whose results depend on the warp size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelDependence {
    /// The kernel's name.
    pub kernel: String,
    /// The first instruction that causes this.
    pub first: Dependence,
    /// The number of instructions that cause this.
    pub count: usize,
}

/// What can be told of a program that is right.
#[derive(Clone, Debug, Default)]
pub struct ProgramSummary {
    /// The kernels, in the order of the text.
    pub kernels: Vec<KernelInfo>,
    /// As [`Program::warnings`].
    pub warnings: Vec<Diagnostic>,
    /// Of the kernels, those whose results depend on the warp size.
    pub dependences: Vec<KernelDependence>,
    /// As [`Program::remarks`].
    pub remarks: Vec<String>,
}

impl ProgramSummary {
    /// Asks a loaded program.
    #[must_use]
    pub fn of(program: &dyn Program, parts: SummaryParts) -> Self {
        let mut summary = Self { kernels: program.kernels(), ..Self::default() };
        if parts == SummaryParts::All {
            summary.warnings = program.warnings();
            summary.remarks = program.remarks();
            let names = summary.kernels.iter().map(|kernel| kernel.name.as_str());
            summary.dependences = names.filter_map(|name| dependence(program, name)).collect();
        }
        summary
    }
}

impl ProgramSummary {
    /// Adds what is told of another part of the same program, behind this one.
    pub(crate) fn add(&mut self, other: Self) {
        self.kernels.extend(other.kernels);
        self.warnings.extend(other.warnings);
        self.dependences.extend(other.dependences);
        self.remarks.extend(other.remarks);
    }
}

/// Returns the dependence of a kernel's results on the warp size, if they depend on it.
pub(crate) fn dependence(program: &dyn Program, kernel: &str) -> Option<KernelDependence> {
    let all = program.warp_size_dependence(kernel);
    let count = all.len();
    let first = all.into_iter().next()?;
    Some(KernelDependence { kernel: kernel.to_owned(), first, count })
}

/// Looks over a program on a stack that suffices for any text. `source` is the program's file, if
/// it is text. Adds what is wrong to `found`; returns `None` only if there are errors.
pub fn summary(
    machine: &Isa,
    image: Image<'_>,
    source: Option<&SourceFile>,
    parts: SummaryParts,
    found: &mut Diagnostics,
) -> Option<ProgramSummary> {
    let look = |found: &mut Diagnostics| {
        if let (Some(summary), Some(source)) = (machine.summary, source)
            && let Some(summary) = summary(image, source, parts)
        {
            return Some(summary);
        }
        let program = (machine.load)(image, &[], found)?;
        (!found.has_errors()).then(|| ProgramSummary::of(program.as_ref(), parts))
    };
    on_stack_for(image.bytes.len(), image.file, found, look)
}
