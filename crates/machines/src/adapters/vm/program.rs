//! Linked programs with their text.

use std::sync::{Arc, Mutex, OnceLock};

use inputs::kernel::{KernelInfo, ParamInfo, ParamKind};
use ir::device::Capability;
use ir::{Block, FuncId, Function, LocId, Module, Term, TermKind, Ty};
use isa::{SourceFile, Span};
use places::{Source, TextLine};
use simt::Pc;

use crate::probe::Place;

/// A linked program with its text.
pub(super) struct VmProgram {
    pub(super) program: vm::Program,
    /// The text that spans refer to.
    pub(super) text: SourceFile,
    /// The target for which the program is compiled, if the text names one.
    pub(super) target: Option<Capability>,
    /// Launches decoded and compiled before.
    pub(super) cache: Mutex<engine::Cache>,
    /// The places of all code, made when a probe first asks for them.
    places: OnceLock<Arc<[Place]>>,
}

impl VmProgram {
    pub(super) fn new(program: vm::Program, text: SourceFile, target: Option<Capability>) -> Self {
        Self { program, text, target, cache: Mutex::default(), places: OnceLock::new() }
    }

    pub(super) fn module(&self) -> &Module {
        self.program.module()
    }

    /// Returns the module without the code of other kernels than this one. Functions, variables and
    /// places keep their numbers.
    pub(super) fn module_of(&self, kernel: FuncId) -> Module {
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
    pub(super) fn span(&self, loc: LocId) -> Option<Span> {
        (loc != LocId(0)).then(|| self.module().loc(loc).span)
    }

    /// Returns the line of the text at which a span starts.
    pub(super) fn line(&self, span: Span) -> u32 {
        self.text.line_col(span.start).line
    }

    /// Returns the location of an instruction.
    pub(super) fn loc_of(&self, pc: Pc) -> LocId {
        self.program.at(pc).map_or(LocId(0), vm::Code::loc)
    }

    /// Returns the source line of a location, if the program has a line table.
    pub(super) fn source(&self, loc: LocId) -> Option<Source> {
        Source::of(self.module(), loc)
    }

    /// Returns the line of the text at a location, with the instruction as written there.
    pub(super) fn text_line(&self, loc: LocId) -> Option<TextLine> {
        let span = self.span(loc)?;
        let text = self.written(span)?;
        Some(TextLine { name: self.text.name().to_owned(), line: self.line(span), text })
    }

    pub(super) fn kernel_info(&self, function: &Function) -> KernelInfo {
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
    pub(super) fn shared_bytes(&self, function: &Function) -> u64 {
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

    /// Returns the text of a span on one line.
    pub(super) fn written(&self, span: Span) -> Option<String> {
        checks::code::written(&self.text, span)
    }

    /// Returns the places of all code, by program counter.
    pub(super) fn places(&self) -> &Arc<[Place]> {
        let made = || checks::code::places(&self.program, &|_| Some(&self.text));
        self.places.get_or_init(made)
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
