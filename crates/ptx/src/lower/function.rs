//! Functions: parameters, bodies, scopes, blocks.

use ir::device::Limits;
use ir::module::{LaunchBounds, LocalVar, Param, Signature, SourceLine};
use ir::{BlockId, LaneReg, RegTy};
use isa::{Diagnostic, Span};
use rustc_hash::FxHashMap;

use super::constant::{Constant, evaluate};
use super::emit::Code;
use super::instruction::Context;
use super::names::{
    LabelMeaning, Meaning, Range, RegisterKey, ScopeLabel, Scopes, labels_by_scope,
};
use super::params::ParamVar;
use super::{Failed, Lowerer, Lowering, MAX_FRAME_BYTES};
use crate::ast::{Declaration, Declarator, Function, FunctionKind, Space, Statement, Type};
use crate::names::{Symbol, kw};
use crate::pool::Id;

/// The lowering of a function.
pub(super) struct Body<'a, 't> {
    pub(super) cx: &'a mut Lowerer<'t>,
    pub(super) kernel: bool,
    pub(super) scopes: Scopes,
    pub(super) code: Code,
    /// Registers that were used.
    pub(super) registers: FxHashMap<(RegisterKey, u8), LaneReg>,
    families: u32,
    /// `.param` variables that are registers.
    pub(super) params: Vec<ParamVar>,
    /// Those that the function returns.
    pub(super) returns: Vec<u32>,
    /// Those of them that are in local variables, because their address is taken.
    pub(super) spilled_results: Vec<(u32, Vec<super::params::Chunk>)>,
    /// The carry flag.
    pub(super) carry: Option<LaneReg>,
    /// Guard and place of the instruction being lowered.
    pub(super) context: Context,
    /// The line of the source that the latest `.loc` gives.
    pub(super) line: Option<SourceLine>,
    scope_labels: std::vec::IntoIter<Vec<ScopeLabel>>,
    name: Symbol,
}

/// Lowers a function. `None` if there is an error, which was reported.
pub(super) fn lower(cx: &mut Lowerer<'_>, id: Id<Function>) -> Option<ir::Function> {
    let tree = cx.tree;
    let function = &tree.functions[id];
    let run = function.body?;
    let before = cx.diagnostics.error_count();
    let mut body = Body {
        kernel: function.kind == FunctionKind::Entry,
        scopes: Scopes::new(),
        code: Code::new(),
        registers: FxHashMap::default(),
        families: 0,
        params: Vec::new(),
        returns: Vec::new(),
        spilled_results: Vec::new(),
        carry: None,
        context: Context::default(),
        line: None,
        scope_labels: labels_by_scope(tree, run).into_iter(),
        name: function.signature.name.symbol,
        cx,
    };
    body.scopes.enter();
    let signature = body.signature(function);
    body.enter();
    if !body.kernel && signature.is_ok() {
        let addressed = super::spilled::addressed(tree, run);
        let params = &tree.declarations[function.signature.params];
        let results = &tree.declarations[function.signature.returns];
        // Errors have been reported.
        let _ = body.spill_params(params, results, &addressed);
    }
    for statement in &tree.statements[run] {
        // Errors have been reported; the rest is checked all the same.
        let _ = body.statement(statement);
    }
    body.finish(function.span);
    body.cx.lines.leave_function();
    let Body { code, cx, .. } = body;
    if cx.diagnostics.error_count() > before {
        return None;
    }
    let mut out = code.into_function(tree.name(function.signature.name.symbol), signature.ok()?);
    out.loc = cx.loc(function.head, None);
    Some(out)
}

impl<'t> Body<'_, 't> {
    // Signatures.

    fn signature(&mut self, function: &Function) -> Lowering<Signature> {
        let tree = self.cx.tree;
        let params = &tree.declarations[function.signature.params];
        if self.kernel {
            let params = self.kernel_params(params);
            let bounds = self.bounds(function);
            return Ok(Signature::Kernel { params: params?, bounds: bounds? });
        }
        let mut regs = Vec::new();
        for d in params {
            let index = self.device_param(d)?;
            self.params[index as usize].registers_into(&mut regs);
        }
        let mut results = Vec::new();
        for d in &tree.declarations[function.signature.returns] {
            let index = self.device_param(d)?;
            self.returns.push(index);
            self.params[index as usize].registers_into(&mut results);
        }
        Ok(Signature::Device { params: regs, results })
    }

    fn kernel_params(&mut self, params: &[Declaration]) -> Lowering<Vec<Param>> {
        let tree = self.cx.tree;
        let mut out = Vec::new();
        let mut offset = 0_u64;
        for d in params {
            let Some(declarator) = tree.declarators[d.declarators].first() else { continue };
            let layout = self.cx.layout(d, declarator)?;
            let name = declarator.name;
            if d.space != Space::Param || matches!(layout.ty, Type::Pred) {
                let message = "a kernel's parameters are in `.param`, and not predicates";
                return self.cx.error("ptx::parameter", message, d.span, "not possible");
            }
            if layout.size == 0 {
                let message = "a parameter of no bytes";
                return self.cx.error("ptx::parameter", message, d.span, "give it a size");
            }
            if matches!(layout.ty, Type::Texref | Type::Samplerref | Type::Surfref) {
                let message = format!("`.{}` parameters are not supported", layout.ty.word());
                return self.cx.error("ptx::unsupported", message, d.span, "not supported");
            }
            let align = u64::from(layout.align);
            offset = offset.next_multiple_of(align);
            let end = offset + layout.size;
            self.parameter_limit(end, d.span)?;
            let aggregate = layout.array || d.vector.is_some();
            let ty = if aggregate { ir::Ty::B8 } else { self.ir_ty(layout.ty, d.span)? };
            let pointer =
                d.ptr.map(|ptr| match ptr.space.and_then(|s| Space::from_symbol(s.symbol)) {
                    Some(Space::Global) => ir::mods::Space::Global,
                    Some(Space::Shared) => ir::mods::Space::Shared,
                    Some(Space::Const) => ir::mods::Space::Const,
                    Some(Space::Local) => ir::mods::Space::Local,
                    _ => ir::mods::Space::Generic,
                });
            let index = out.len() as u32;
            let meaning = Meaning::KernelParam { index, element: layout.element };
            self.declare(name.symbol, meaning, name.span);
            out.push(Param {
                name: tree.name(name.symbol).to_owned(),
                ty,
                offset: offset as u32,
                size: layout.size as u32,
                align: layout.align,
                pointer: pointer.filter(|_| layout.size == 8),
            });
            offset = end;
        }
        Ok(out)
    }

    /// A parameter or result of a device function.
    fn device_param(&mut self, d: &Declaration) -> Lowering<u32> {
        let tree = self.cx.tree;
        let Some(declarator) = tree.declarators[d.declarators].first() else { return Err(Failed) };
        match d.space {
            Space::Param => self.param_variable(d, declarator),
            Space::Reg => {
                let ty = self.cx.declared_type(d)?;
                let family = self.new_family();
                let vector = d.vector.unwrap_or(1);
                let name = declarator.name;
                self.declare(name.symbol, Meaning::Register { family, ty, vector }, name.span);
                let key = RegisterKey { family, index: 0 };
                let regs =
                    (0..vector).map(|part| self.register(key, part, ty, name.symbol)).collect();
                self.params.push(ParamVar::of_registers(regs, ty, name.span));
                Ok(self.params.len() as u32 - 1)
            }
            other => {
                let message = format!("parameters cannot be in `.{}`", other.word());
                self.cx.error("ptx::parameter", message, d.span, "use `.param`")
            }
        }
    }

    /// Reports parameters that end beyond the limit.
    fn parameter_limit(&mut self, end: u64, at: Span) -> Lowering<()> {
        let most = ir::device::parameter_bytes(self.cx.version, self.cx.sm);
        let held = ir::verify::MAX_PARAM_BYTES.into();
        let lifted = self.cx.limits == Limits::None;
        if end <= if lifted { held } else { most } {
            return Ok(());
        }
        let message = format!("a kernel's parameters have at most {most} bytes");
        let finding = Diagnostic::error("ptx::parameter", message).at(at, "too many here");
        Err(self.cx.fail(match end <= held {
            true => finding.help(format!(
                "up to {held} bytes are possible with `.version 8.1` and `.target sm_70`, or with the option `limits-of=none`"
            )),
            false => finding.help("pass a pointer to a buffer"),
        }))
    }

    fn bounds(&mut self, function: &Function) -> Lowering<LaunchBounds> {
        let tree = self.cx.tree;
        let mut bounds = LaunchBounds::default();
        for directive in &tree.directives[function.directives] {
            let cluster = directive.name.symbol == kw::REQNCTAPERCLUSTER;
            let ranked = directive.name.symbol == kw::MAXCLUSTERRANK;
            let mut ranks = None;
            let field = match directive.name.symbol {
                kw::MAXNTID => &mut bounds.max,
                kw::REQNTID => &mut bounds.required,
                kw::REQNCTAPERCLUSTER => &mut bounds.cluster,
                kw::MAXCLUSTERRANK => &mut ranks,
                kw::EXPLICITCLUSTER => {
                    bounds.explicit_cluster = true;
                    continue;
                }
                kw::BLOCKSARECLUSTERS => {
                    bounds.blocks_are_clusters = true;
                    continue;
                }
                _ => continue,
            };
            let mut threads = [1_u32; 3];
            let args = &tree.operands[directive.args];
            for (slot, arg) in threads.iter_mut().zip(args) {
                match evaluate(tree, arg) {
                    Ok(Some(Constant::Int(i))) if (1..=1 << 31).contains(&i.bits) => {
                        *slot = i.bits as u32;
                    }
                    _ => {
                        let message = match cluster || ranked {
                            true => "a number of CTAs from 1 on is needed",
                            false => "a number of threads from 1 on is needed",
                        };
                        return self.cx.error("ptx::bounds", message, arg.span, "not possible");
                    }
                }
            }
            *field = Some(threads);
            if ranked {
                bounds.max_cluster = Some(threads[0]);
            } else if !cluster {
                self.cx.thread_limit(function, threads, directive.name.span);
            }
        }
        Ok(bounds)
    }

    // Names.

    fn new_family(&mut self) -> u32 {
        self.families += 1;
        self.families - 1
    }

    pub(super) fn declare(&mut self, name: Symbol, meaning: Meaning, span: Span) {
        if let Some(first) = self.scopes.declare(name, meaning, span) {
            self.cx.twice(name, span, Some(first));
        }
    }

    /// The IR register of a register, made when first used.
    pub(super) fn register(
        &mut self,
        key: RegisterKey,
        part: u8,
        ty: Type,
        name: Symbol,
    ) -> LaneReg {
        if let Some(&known) = self.registers.get(&(key, part)) {
            return known;
        }
        let text = self.cx.tree.name(name).trim_start_matches('%').to_owned();
        let text = if part == 0 { text } else { format!("{text}.{part}") };
        let reg = self.code.register(text, register_ty(ty));
        self.registers.insert((key, part), reg);
        reg
    }

    /// Returns the IR's type for a type, if there is one.
    pub(super) fn ir_ty(&mut self, ty: Type, span: Span) -> Lowering<ir::Ty> {
        match ir::Ty::from_name(ty.word()) {
            Some(ty) => Ok(ty),
            None => {
                let message = format!("the type `.{}` is not supported", ty.word());
                self.cx.error("ptx::unsupported", message, span, "not supported")
            }
        }
    }

    // Statements.

    fn enter(&mut self) {
        self.scopes.enter();
        for label in self.scope_labels.next().unwrap_or_default() {
            let meaning = if label.place {
                let name = self.cx.tree.name(label.name);
                LabelMeaning::Place(self.code.label(name))
            } else {
                LabelMeaning::Statement(label.statement)
            };
            if let Some(first) = self.scopes.declare_label(label.name, meaning, label.span) {
                self.cx.twice(label.name, label.span, Some(first));
            }
        }
    }

    fn statement(&mut self, statement: &Statement) -> Lowering<()> {
        let tree = self.cx.tree;
        match statement {
            Statement::Open(_) => self.enter(),
            Statement::Close(_) => self.scopes.leave(),
            Statement::Label(name) => {
                if let Some(LabelMeaning::Place(label)) = self.scopes.label(name.symbol) {
                    self.code.place(label);
                }
            }
            Statement::Instruction(id) => return self.instruction(&tree.instructions[*id]),
            Statement::Declaration(id) => return self.declaration(*id),
            Statement::Directive(id) => self.cx.directive(&tree.directives[*id]),
            Statement::Loc(id) => self.line = self.cx.source_line(*id),
            Statement::File(_)
            | Statement::Section(_)
            | Statement::Targets(_)
            | Statement::Prototype(_) => {}
        }
        Ok(())
    }

    fn declaration(&mut self, id: Id<Declaration>) -> Lowering<()> {
        let tree = self.cx.tree;
        let d = &tree.declarations[id];
        for declarator in d.declarators.ids() {
            let declared = &tree.declarators[declarator];
            match d.space {
                Space::Reg => self.register_declaration(d, declared)?,
                Space::Local => self.local_variable(d, declared)?,
                Space::Param => {
                    self.param_variable(d, declared)?;
                }
                Space::Global | Space::Const | Space::Shared => {
                    self.static_variable(id, declarator)?;
                }
                Space::Sreg | Space::Tex => {
                    let message = format!("`.{}` declarations are not supported", d.space.word());
                    return self.cx.error("ptx::unsupported", message, d.span, "not supported");
                }
            }
        }
        Ok(())
    }

    fn register_declaration(&mut self, d: &Declaration, declarator: &Declarator) -> Lowering<()> {
        let ty = self.cx.declared_type(d)?;
        let name = declarator.name;
        if !declarator.dims.is_empty() || !declarator.init.is_empty() {
            let label = if declarator.dims.is_empty() {
                "a register has no initial value"
            } else {
                "an array of registers is not possible"
            };
            let message = "a register is declared by its name, or by a name and a count";
            return self.cx.error("ptx::register", message, name.span, label);
        }
        let family = self.new_family();
        let vector = d.vector.unwrap_or(1);
        let first = match declarator.count {
            Some(count) => {
                let range = Range { family, ty, count, vector };
                self.scopes.declare_range(name.symbol, range, name.span)
            }
            None => {
                let meaning = Meaning::Register { family, ty, vector };
                self.scopes.declare(name.symbol, meaning, name.span)
            }
        };
        if first.is_some() {
            self.cx.twice(name.symbol, name.span, first);
        }
        Ok(())
    }

    fn local_variable(&mut self, d: &Declaration, declarator: &Declarator) -> Lowering<()> {
        let layout = self.cx.layout(d, declarator)?;
        let name = declarator.name;
        let offset = self.code.frame_size().next_multiple_of(u64::from(layout.align));
        let size = layout.size.max(1);
        if offset.saturating_add(size) > MAX_FRAME_BYTES {
            let message = format!("a thread's variables have at most {MAX_FRAME_BYTES} bytes");
            return self.cx.error("ptx::frame", message, name.span, "too many here");
        }
        if !declarator.init.is_empty() {
            let message = "local memory cannot be initialised";
            return self.cx.error("ptx::initialiser", message, name.span, "not possible");
        }
        let index = self.code.local(LocalVar {
            name: self.cx.tree.name(name.symbol).to_owned(),
            offset: offset as u32,
            size: size as u32,
            align: layout.align,
        });
        let meaning = Meaning::Local { index, element: layout.element };
        self.declare(name.symbol, meaning, name.span);
        Ok(())
    }

    /// A variable of the module that only this scope can name.
    fn static_variable(&mut self, d: Id<Declaration>, declarator: Id<Declarator>) -> Lowering<()> {
        let tree = self.cx.tree;
        let declared = &tree.declarators[declarator];
        let name = declared.name;
        let text = tree.name(name.symbol);
        let outer = tree.name(self.name);
        let taken = self.cx.taken.contains(text);
        let full = if taken { format!("{outer}.{text}") } else { text.to_owned() };
        let id = self.cx.make_variable(d, declarator, full, None)?;
        let element = self.cx.layout(&tree.declarations[d], declared)?.element;
        self.declare(name.symbol, Meaning::Variable { id, element }, name.span);
        Ok(())
    }

    /// A `.param` variable that is registers.
    fn param_variable(&mut self, d: &Declaration, declarator: &Declarator) -> Lowering<u32> {
        let layout = self.cx.layout(d, declarator)?;
        let name = declarator.name;
        let text = self.cx.tree.name(name.symbol);
        if layout.ty == Type::Pred {
            let message = "predicates cannot be passed";
            return self.cx.error("ptx::parameter", message, d.span, "not possible");
        }
        self.cx.spend((layout.size as usize).min(MAX_FRAME_BYTES as usize), name.span)?;
        let Some(param) = ParamVar::new(&mut self.code, text, layout, d.vector, name.span) else {
            let message = "a parameter of a function has at most 4096 bytes";
            return self.cx.error("ptx::parameter", message, d.span, "too large");
        };
        self.params.push(param);
        let index = self.params.len() as u32 - 1;
        self.declare(name.symbol, Meaning::Param(index), name.span);
        Ok(index)
    }

    /// The implicit return at the end.
    fn finish(&mut self, span: Span) {
        if self.code.is_open() {
            let end = Span::new(span.file, span.end.saturating_sub(1), span.end);
            let loc = self.cx.loc(end, None);
            self.context = Context { guard: None, loc };
            self.fetch_results();
            self.code.end(ir::module::TermKind::Ret(None), ir::Origin::Source, loc);
        }
    }

    /// A label's block, for a branch.
    pub(super) fn label_block(&mut self, name: Symbol, span: Span) -> Lowering<BlockId> {
        match self.scopes.label(name) {
            Some(LabelMeaning::Place(label)) => Ok(BlockId(label.0)),
            Some(LabelMeaning::Statement(_)) => {
                let message = format!("`{}` is a list, not a label", self.cx.tree.name(name));
                self.cx.error("ptx::label", message, span, "a label is needed")
            }
            None => {
                let message = format!("the label `{}` is not defined", self.cx.tree.name(name));
                self.cx.error("ptx::undefined-label", message, span, "no such label in reach")
            }
        }
    }
}

/// Returns the type of the register that holds a type.
pub(super) fn register_ty(ty: Type) -> RegTy {
    match (ty, ty.bits()) {
        (Type::Pred, _) => RegTy::Pred,
        (_, 8) => RegTy::B8,
        (_, 16) => RegTy::B16,
        (_, 32) => RegTy::B32,
        (_, 64) => RegTy::B64,
        _ => RegTy::B128,
    }
}
