//! Programs of the kernel IR, for every machine that lowers to it.

mod context;
mod flow;
mod options;
mod places;
mod report;
mod spin;

use std::sync::{Arc, Mutex, OnceLock};

use ::places::{Source, TextLine};
use inputs::kernel::{KernelInfo, ParamInfo, ParamKind};
use ir::device::Capability;
use ir::module::Signature;
use ir::{Block, FuncId, Function, LocId, Module, Term, TermKind, Ty};
use isa::{Diagnostic, Diagnostics, SourceFile, Span};
use simt::Pc;

use crate::graph::ControlFlow;
use crate::interface::Named;
use crate::program::{Context, ContextState, Dependence, Program};
pub(super) use options::{LIMITS_OF, limits};

/// The default mechanism.
const DEFAULT_MECHANISM: &str = "ipdom";

/// The mechanisms that run any program: `convergence-barriers` merges paths only where a program
/// has barriers, and `uniform` requires a pass that makes control flow uniform.
pub(super) const USUAL_MECHANISMS: &[&str] = &["serial", "ipdom", "min-pc"];

/// Returns all run-time mechanisms, the default one first.
pub(super) fn mechanisms() -> Vec<Named> {
    let named = |e: &converge::Entry| Named { name: e.name, about: e.summary };
    let mut all: Vec<Named> = converge::CATALOGUE.iter().map(named).collect();
    all.sort_by_key(|m| m.name != DEFAULT_MECHANISM);
    all
}

/// A linked program with its text.
pub(super) struct VmProgram {
    program: vm::Program,
    /// The text that spans refer to.
    text: SourceFile,
    /// The target for which the program is compiled, if the text names one.
    target: Option<Capability>,
    /// Launches decoded and compiled before.
    cache: Mutex<engine::Cache>,
    /// The places of all code, made when a probe first asks for them.
    places: OnceLock<Arc<[crate::probe::Place]>>,
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

impl VmProgram {
    fn new(program: vm::Program, text: SourceFile, target: Option<Capability>) -> Self {
        Self { program, text, target, cache: Mutex::default(), places: OnceLock::new() }
    }

    fn module(&self) -> &Module {
        self.program.module()
    }

    /// Returns the module without the code of other kernels than this one. Functions, variables and
    /// places keep their numbers.
    fn module_of(&self, kernel: FuncId) -> Module {
        let module = self.module();
        let function = |(index, function): (usize, &Function)| match function.is_kernel() {
            true if index != kernel.index() => without_code(function),
            _ => function.clone(),
        };
        Module {
            functions: module.functions.iter().enumerate().map(function).collect(),
            vars: module.vars.clone(),
            locs: module.locs.clone(),
            files: module.files.clone(),
            inlined: module.inlined.clone(),
        }
    }

    /// Returns the span of a location; `None` if the location is unknown.
    fn span(&self, loc: LocId) -> Option<Span> {
        (loc != LocId(0)).then(|| self.module().loc(loc).span)
    }

    /// Returns the line of the text at which a span starts.
    fn line(&self, span: Span) -> u32 {
        self.text.line_col(span.start).line
    }

    /// Returns the location of an instruction.
    fn loc_of(&self, pc: Pc) -> LocId {
        self.program.at(pc).map_or(LocId(0), vm::Code::loc)
    }

    /// Returns the source line of a location, if the program has a line table.
    fn source(&self, loc: LocId) -> Option<Source> {
        Source::of(self.module(), loc)
    }

    /// Returns the line of the text at a location, with the instruction as written there.
    fn text_line(&self, loc: LocId) -> Option<TextLine> {
        let span = self.span(loc)?;
        let text = places::written(self, span)?;
        Some(TextLine { name: self.text.name().to_owned(), line: self.line(span), text })
    }

    fn kernel_info(&self, function: &Function) -> KernelInfo {
        let shared = self.shared_bytes(function);
        KernelInfo {
            name: function.name.clone(),
            params: function.params().iter().map(param_info).collect(),
            optional: 0,
            shared,
            local: u64::from(function.frame_size()),
            span: self.span(function.loc),
        }
    }

    /// Returns the size in bytes of the shared variables that the function itself names.
    fn shared_bytes(&self, function: &Function) -> u64 {
        let vars = &self.module().vars;
        let mut used: Vec<usize> = function
            .blocks
            .iter()
            .flat_map(|b| &b.insts)
            .flat_map(|i| &i.operands)
            .filter_map(|o| match o {
                ir::Operand::Symbol(ir::Symbol::Var(v), _) => Some(v.index()),
                _ => None,
            })
            .collect();
        used.sort_unstable();
        used.dedup();
        let shared = used.into_iter().filter_map(|v| vars.get(v));
        shared.filter(|v| v.space == ir::mods::Space::Shared).map(|v| v.size).sum()
    }
}

/// Returns a kernel that ends at once.
fn without_code(kernel: &Function) -> Function {
    let end = Term::new(TermKind::Exit(None));
    let block = Block { name: "entry".to_owned(), insts: Vec::new(), term: end };
    Function {
        blocks: vec![block],
        loc: kernel.loc,
        ..Function::new(kernel.name.clone(), kernel.signature.clone())
    }
}

fn param_info(param: &ir::module::Param) -> ParamInfo {
    let scalar = param.size == param.ty.bytes();
    let kind = match param.ty {
        _ if !scalar => ParamKind::Aggregate,
        ty if ty.is_float() => ParamKind::Float,
        Ty::B8 | Ty::B16 | Ty::B32 | Ty::B64 | Ty::B128 => ParamKind::Bits,
        _ => ParamKind::Integer,
    };
    let spelling = match scalar {
        true => format!(".{}", param.ty.name()),
        false => format!(".{}[{}]", param.ty.name(), param.size / param.ty.bytes().max(1)),
    };
    ParamInfo {
        name: param.name.clone(),
        spelling,
        offset: u64::from(param.offset),
        size: u64::from(param.size),
        kind,
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
        code.map(|code| {
            let span = self.span(code.loc());
            let written = span.and_then(|s| places::written(self, s));
            let name = || code.op().map_or("", ir::Op::name).to_owned();
            Dependence { text: written.unwrap_or_else(name), line: span.map(|s| self.line(s)) }
        })
        .collect()
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
