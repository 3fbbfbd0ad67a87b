//! Programs of the kernel IR, for every machine that lowers to it.

mod context;
mod debugged;
mod flow;
mod mechanisms;
mod options;
mod profiles;
mod program;
mod report;
mod spin;
mod statistics;

pub(super) use mechanisms::{MECHANISMS, REFERENCE, RETRY_MECHANISM, USUAL_MECHANISMS};
pub(super) use options::{AXES, LIMITS_OF, OPTIONS, limits};
pub(super) use profiles::PROFILES;

use inputs::kernel::KernelInfo;
use ir::device::Capability;
use ir::module::Signature;
use ir::{LocId, Module};
use isa::{Diagnostic, Diagnostics, SourceFile};

use crate::graph::ControlFlow;
use crate::program::{Context, ContextState, Dependence, Program};
use crate::summary::{ProgramSummary, SummaryParts, dependence};
use program::VmProgram;

/// Says of a linked part of a program what [`ProgramSummary::of`] says of a whole one, of its first
/// `kernels` functions. `None` if there is something to tell of any other function: only the whole
/// program puts that in its place.
pub(super) fn summary(
    module: Module,
    source: &SourceFile,
    (kernels, parts): (usize, SummaryParts),
    to: &mut ProgramSummary,
) -> Option<()> {
    let program = vm::Program::link(module).ok()?;
    let program = VmProgram::new(program, source.clone(), None);
    let functions = &program.module().functions[..kernels];
    to.kernels.extend(functions.iter().map(|f| program.kernel_info(f)));
    if parts == SummaryParts::All {
        to.warnings.extend(spin::warnings_of(&program, kernels)?);
        let names = functions.iter().map(|f| f.name.as_str());
        to.dependences.extend(names.filter_map(|name| dependence(&program, name)));
    }
    Some(())
}

/// Verifies and links a module whose spans refer to `text`. Adds errors to `found`.
pub(super) fn link(
    module: Module,
    text: &str,
    target: Option<Capability>,
    found: &mut Diagnostics,
) -> Option<Box<dyn Program>> {
    // Linking verifies too, but consumes the module, from which messages take their names.
    if let Err(errors) = ir::verify(&module) {
        errors.iter().for_each(|e| found.push(e.diagnostic(&module)));
        return None;
    }
    let places = module.locs.clone();
    match vm::Program::link(module) {
        Ok(program) => Some(Box::new(VmProgram::new(program, SourceFile::new("", text), target))),
        Err(errors) => {
            for error in errors {
                let span = places.get(error.loc.index()).map(|l| l.span);
                let finding = Diagnostic::error("vm::unsupported", error.kind.to_string());
                let finding = finding.note(format!("in function `{}`", error.function));
                found.push(match span {
                    Some(span) if error.loc != LocId(0) => finding.at(span, "not supported"),
                    _ => finding,
                });
            }
            None
        }
    }
}

impl Program for VmProgram {
    fn kernels(&self) -> Vec<KernelInfo> {
        let kernels = self.module().functions.iter();
        kernels
            .filter(|f| matches!(f.signature, Signature::Kernel { .. }))
            .map(|f| self.kernel_info(f))
            .collect()
    }

    fn module(&self) -> Option<&Module> {
        Some(self.module())
    }

    fn float_pointers(&self, kernel: &str) -> Vec<usize> {
        let function = self.module().function(kernel);
        let function = function.and_then(|id| self.module().functions.get(id.index()));
        function.map(::flow::params::float_pointers).unwrap_or_default()
    }

    fn control_flow(&self, kernel: &str) -> Option<ControlFlow> {
        flow::control_flow(self, kernel)
    }

    fn called(&self, kernel: &str) -> Vec<String> {
        flow::called(self.module(), kernel)
    }

    fn warp_size_dependence(&self, kernel: &str) -> Vec<Dependence> {
        let Some(kernel) = self.module().function(kernel) else { return Vec::new() };
        let code = self.program.warp_size_dependence(kernel);
        let dependence = |code: &vm::Code| {
            let span = self.span(code.loc());
            let written = span.and_then(|s| self.written(s));
            let name = || code.op().map_or("", ir::Op::name).to_owned();
            Dependence { text: written.unwrap_or_else(name), line: span.map(|s| self.line(s)) }
        };
        code.into_iter().map(dependence).collect()
    }

    fn warnings(&self) -> Vec<Diagnostic> {
        spin::warnings(self)
    }

    fn context(&self) -> Result<Box<dyn Context + '_>, Diagnostic> {
        context::VmContext::new(self).map(|c| Box::new(c) as Box<dyn Context>)
    }

    fn resume(
        &self,
        saved: &mut ContextState,
    ) -> Result<Option<Box<dyn Context + '_>>, Diagnostic> {
        let context = context::VmContext::resume(self, saved)?;
        Ok(Some(Box::new(context)))
    }
}
