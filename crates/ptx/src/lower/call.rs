//! Branches, calls, returns.

use std::rc::Rc;

use ir::module::TermKind;
use ir::{BlockId, FuncId, Guard, Inst, LaneReg, Op, Origin, Reg, RegTy};
use isa::{Diagnostic, Span};

use super::function::Body;
use super::names::{Found, LabelMeaning, Meaning};
use super::{Global, Lowerer, Lowering, Widths};
use crate::ast::{
    Declaration, Function, FunctionKind, Instruction, Module, Operand, OperandKind, Signature,
    Space, Statement, Type,
};
use crate::names::Symbol;
use crate::pool::Id;

/// Most targets of an indexed branch.
const MAX_TARGETS: usize = 1 << 16;

/// Functions that the system provides, by name, with widths of their parameters and result in bits.
const SYSTEM: &[(&str, Op, &[u32], Option<u32>)] = &[
    ("vprintf", Op::Printf, &[64, 64], Some(32)),
    ("__assertfail", Op::AssertFail, &[64, 64, 32, 64, 64], None),
    ("malloc", Op::Malloc, &[64], Some(64)),
    ("free", Op::Free, &[64], None),
];

impl Lowerer<'_> {
    /// The id of a function that has a body here.
    pub(super) fn defined_function(&mut self, id: Id<Function>, user: Span) -> Lowering<FuncId> {
        let tree = self.tree;
        let function = &tree.functions[id];
        let name = function.signature.name;
        if function.body.is_none() && !self.object {
            let text = tree.name(name.symbol);
            let message = format!("the function `{text}` is not defined in this file");
            let diagnostic = Diagnostic::error("ptx::undefined", message)
                .at(user, "used here")
                .also(name.span, "only declared here")
                .help("give the file that defines it, too");
            return Err(self.fail(diagnostic));
        }
        Ok(self.function_id(id))
    }
}

impl Lowerer<'_> {
    /// Widths of what a function takes and gives; worked out once.
    pub(super) fn signature_widths(&mut self, signature: &Signature) -> Lowering<Rc<Widths>> {
        let key = signature.name.span.start;
        if let Some(known) = self.signatures.get(&key) {
            return Ok(Rc::clone(known));
        }
        let tree = self.tree;
        let params = self.widths(&tree.declarations[signature.params])?;
        let results = self.widths(&tree.declarations[signature.returns])?;
        let widths = Rc::new(Widths { params, results });
        self.signatures.insert(key, Rc::clone(&widths));
        Ok(widths)
    }

    /// Widths of the registers that parameters travel in.
    fn widths(&mut self, params: &[Declaration]) -> Lowering<Vec<u32>> {
        let tree = self.tree;
        let mut out = Vec::new();
        for d in params {
            let Some(declarator) = tree.declarators[d.declarators].first() else { continue };
            if d.space == Space::Reg {
                let ty = self.declared_type(d)?;
                let bits = super::function::register_ty(ty).bits();
                out.extend(std::iter::repeat_n(bits, d.vector.unwrap_or(1).into()));
                continue;
            }
            let layout = self.layout(d, declarator)?;
            let chunks = super::params::chunk_sizes(layout, d.vector).unwrap_or_default();
            self.spend(chunks.len(), d.span)?;
            out.extend(chunks.iter().map(|(_, bytes)| *bytes as u32 * 8));
        }
        Ok(out)
    }
}

impl Body<'_, '_> {
    pub(super) fn branch(&mut self, i: &Instruction) -> Lowering<()> {
        self.count(i, 1, 1)?;
        let tree = self.cx.tree;
        let [target] = &tree.operands[i.operands] else { return Ok(()) };
        let OperandKind::Name(name) = target.kind else {
            let message = "a label is needed here";
            return self.cx.error("ptx::label", message, target.span, "not a label");
        };
        let block = self.label_block(name, target.span)?;
        match self.context.guard {
            None => self.end(TermKind::Br(block), Origin::Source),
            Some(guard) => self.end(TermKind::CondBr(guard, block), Origin::Source),
        }
        Ok(())
    }

    /// Runs `lower` so that only lanes whose guard holds execute its code.
    fn guarded(&mut self, lower: impl FnOnce(&mut Self) -> Lowering<()>) -> Lowering<()> {
        let Some(Guard { pred, negated }) = self.context.guard else { return lower(self) };
        let after = self.code.label("");
        let skip = Guard { pred, negated: !negated };
        self.end(TermKind::CondBr(skip, BlockId(after.0)), Origin::Lowering);
        self.context.guard = None;
        let result = lower(self);
        self.code.place(after);
        result
    }

    pub(super) fn indexed_branch(&mut self, i: &Instruction) -> Lowering<()> {
        self.count(i, 2, 2)?;
        let tree = self.cx.tree;
        let [index, list] = &tree.operands[i.operands] else { return Ok(()) };
        let index = self.source(index, Type::U32, false);
        let statement = match list.kind {
            OperandKind::Name(name) => match self.scopes.label(name) {
                Some(LabelMeaning::Statement(statement)) => Some(statement),
                _ => None,
            },
            _ => None,
        };
        let targets = statement.and_then(|s| match tree.statements.iter().nth(s) {
            Some(Statement::Targets(targets)) if !targets.calls => Some(targets),
            _ => None,
        });
        let Some(targets) = targets else {
            let message = "the name of a `.branchtargets` list is needed here";
            return self.cx.error("ptx::label", message, list.span, "not such a list");
        };
        let mut blocks = Vec::new();
        self.cx.spend(targets.targets.len(), list.span)?;
        for target in &tree.declarators[targets.targets] {
            let name = target.name;
            match target.count {
                None => blocks.push(self.label_block(name.symbol, name.span)?),
                Some(count) => self.label_range(name.symbol, count, name.span, &mut blocks)?,
            }
        }
        let index = index?;
        self.guarded(|body| {
            body.end(TermKind::Switch(index, blocks), Origin::Source);
            Ok(())
        })
    }

    /// `L<5>`: the labels `L0` to `L4`.
    fn label_range(
        &mut self,
        stem: Symbol,
        count: u64,
        span: Span,
        out: &mut Vec<BlockId>,
    ) -> Lowering<()> {
        let tree = self.cx.tree;
        for number in 0..count {
            let text = format!("{}{number}", tree.name(stem));
            let known = tree.names.find(&text).filter(|s| self.scopes.label(*s).is_some());
            match known {
                Some(label) if out.len() < MAX_TARGETS => {
                    self.cx.spend(1, span)?;
                    out.push(self.label_block(label, span)?);
                }
                _ => {
                    let message = format!("the label `{text}` is not defined");
                    return self.cx.error("ptx::undefined-label", message, span, "in this range");
                }
            }
        }
        Ok(())
    }

    pub(super) fn ret(&mut self, i: &Instruction) -> Lowering<()> {
        self.count(i, 0, 0)?;
        self.fetch_results();
        let guard = self.context.guard;
        self.end(TermKind::Ret(guard), Origin::Source);
        Ok(())
    }

    // Calls.

    pub(super) fn call(&mut self, i: &Instruction) -> Lowering<()> {
        let tree = self.cx.tree;
        let parts = Parts::of(tree, &tree.operands[i.operands]);
        let Some(parts) = parts else {
            let diagnostic = Diagnostic::error("ptx::call", "a call names no function")
                .at(i.span, "write `call (result), function, (arguments);`");
            return Err(self.cx.fail(diagnostic));
        };
        self.guarded(|body| body.unguarded_call(i, &parts))
    }

    fn unguarded_call(&mut self, i: &Instruction, parts: &Parts<'_>) -> Lowering<()> {
        let tree = self.cx.tree;
        let target = parts.target;
        let OperandKind::Name(name) = target.kind else {
            let message = "a function or register is needed here";
            return self.cx.error("ptx::call", message, target.span, "not a function");
        };
        if let Some(Found::Register(..)) = self.scopes.find(tree, name) {
            return self.indirect_call(i, parts);
        }
        match self.cx.globals.get(&name).copied() {
            Some(Global::Function(id)) => {
                let function = &tree.functions[id];
                let text = tree.name(name);
                let system = SYSTEM.iter().find(|s| s.0 == text && function.body.is_none());
                match system {
                    Some(system) => {
                        let result = !function.signature.returns.is_empty();
                        self.system_call(i, parts, system, result)
                    }
                    None => self.direct_call(i, parts, id),
                }
            }
            Some(Global::Variable(..)) => {
                let message = format!("`{}` is a variable, not a function", tree.name(name));
                self.cx.error("ptx::call", message, target.span, "cannot be called")
            }
            None => Err(self.undefined(name, target.span)),
        }
    }

    fn direct_call(
        &mut self,
        i: &Instruction,
        parts: &Parts<'_>,
        id: Id<Function>,
    ) -> Lowering<()> {
        let tree = self.cx.tree;
        let function = &tree.functions[id];
        if function.kind == FunctionKind::Entry {
            let message = "a kernel cannot be called";
            return self.cx.error("ptx::call", message, parts.target.span, "this is an `.entry`");
        }
        let func = self.cx.defined_function(id, parts.target.span)?;
        let widths = self.cx.signature_widths(&function.signature)?;
        let head = function.head;
        let args = self.call_values(parts.args, Some(&widths.params), i, head)?;
        let results = self.call_results(parts.results, Some(&widths.results), i, head)?;
        self.cx.spend(args.len() + results.len(), i.span)?;
        let mut inst = Inst::new(Op::Call);
        inst.operands.push(ir::Operand::Func(func));
        inst.operands.extend(args);
        inst.results.extend(results);
        self.emit(inst, Origin::Source);
        Ok(())
    }

    fn indirect_call(&mut self, i: &Instruction, parts: &Parts<'_>) -> Lowering<()> {
        let tree = self.cx.tree;
        let target = self.source(parts.target, Type::U64, false)?;
        let mut widths = None;
        let mut head = i.span;
        if let Some(last) = parts.prototype {
            let statement = match last.kind {
                OperandKind::Name(name) => self.scopes.label(name),
                _ => None,
            };
            let statement = match statement {
                Some(LabelMeaning::Statement(s)) => tree.statements.iter().nth(s),
                _ => None,
            };
            match statement {
                Some(Statement::Prototype(prototype)) => {
                    widths = Some(self.cx.signature_widths(&prototype.signature)?);
                    head = prototype.span;
                }
                Some(Statement::Targets(targets)) if targets.calls => {
                    for target in &tree.declarators[targets.targets] {
                        self.call_target(target.name.symbol, target.name.span)?;
                    }
                }
                _ => {
                    let message = "a `.callprototype` or `.calltargets` is needed here";
                    return self.cx.error("ptx::call", message, last.span, "neither");
                }
            }
        }
        let (wanted, given) = match &widths {
            Some(widths) => (Some(widths.params.as_slice()), Some(widths.results.as_slice())),
            None => (None, None),
        };
        let args = self.call_values(parts.args, wanted, i, head)?;
        let results = self.call_results(parts.results, given, i, head)?;
        self.cx.spend(args.len() + results.len(), i.span)?;
        let mut inst = Inst::new(Op::CallInd);
        inst.operands.push(target);
        inst.operands.extend(args);
        inst.results.extend(results);
        self.emit(inst, Origin::Source);
        Ok(())
    }

    /// Requests a function in a `.calltargets` list: it must be lowered, because its address may
    /// come from elsewhere.
    fn call_target(&mut self, name: Symbol, span: Span) -> Lowering<()> {
        match self.cx.globals.get(&name).copied() {
            Some(Global::Function(id)) => self.cx.defined_function(id, span).map(|_| ()),
            _ => Err(self.undefined(name, span)),
        }
    }

    fn system_call(
        &mut self,
        i: &Instruction,
        parts: &Parts<'_>,
        (_, op, params, result): &(&str, Op, &[u32], Option<u32>),
        declared_result: bool,
    ) -> Lowering<()> {
        // The count of arguments printed may be left out of the declaration.
        let left_out = *op == Op::Printf && !declared_result;
        let given: Vec<u32> = result.iter().copied().filter(|_| !left_out).collect();
        let args = self.call_values(parts.args, Some(params), i, i.span)?;
        let results = self.call_results(parts.results, Some(&given), i, i.span)?;
        let mut inst = Inst::new(*op);
        inst.operands.extend(args);
        inst.results.extend(results);
        self.emit(inst, Origin::Source);
        Ok(())
    }

    /// Registers of an operand that is a parameter variable or register.
    fn passed(&mut self, operand: &Operand) -> Lowering<Option<Vec<LaneReg>>> {
        let OperandKind::Name(name) = operand.kind else { return Ok(None) };
        match self.scopes.find(self.cx.tree, name) {
            Some(Found::Other(Meaning::Param(index), _)) => {
                let mut regs = Vec::new();
                if let Some(param) = self.params.get(index as usize) {
                    param.registers_into(&mut regs);
                }
                Ok(Some(regs))
            }
            Some(Found::Register(key, ty, vector, _)) => {
                let regs = (0..vector).map(|part| self.register(key, part, ty, name)).collect();
                Ok(Some(regs))
            }
            _ => Ok(None),
        }
    }

    fn call_values(
        &mut self,
        operands: &[Operand],
        wanted: Option<&[u32]>,
        i: &Instruction,
        head: Span,
    ) -> Lowering<Vec<ir::Operand>> {
        let mut out = Vec::new();
        for operand in operands {
            if let Some(regs) = self.passed(operand)? {
                out.extend(regs.into_iter().map(ir::Operand::lane));
                continue;
            }
            // A constant has the width of its parameter; without a prototype it is not known.
            let bits = wanted.and_then(|w| w.get(out.len()).copied());
            let ty = match bits {
                Some(8) => Type::B8,
                Some(16) => Type::B16,
                Some(64) => Type::B64,
                Some(128) => Type::B128,
                _ => Type::B32,
            };
            let value = self.source(operand, ty, false)?;
            out.push(if bits == Some(128) { self.wide_constant(value) } else { value });
        }
        if let Some(wanted) = wanted {
            let given: Vec<Option<u32>> = out.iter().map(|o| self.width(*o)).collect();
            self.compare(&given, wanted, "argument", i, head)?;
        }
        Ok(out)
    }

    /// Puts a constant of 128 bits into a register, because a call takes none of that width.
    fn wide_constant(&mut self, value: ir::Operand) -> ir::Operand {
        let reg = self.code.temporary(RegTy::B128);
        let mov = super::emit::inst(Op::Mov, Some(ir::Ty::B128), reg, &[value]);
        self.emit(mov, Origin::Lowering);
        ir::Operand::lane(reg)
    }

    fn width(&self, operand: ir::Operand) -> Option<u32> {
        match operand {
            ir::Operand::Reg(Reg::Lane(reg)) => Some(reg_bits(self.code.reg_ty(reg))),
            _ => None,
        }
    }

    fn call_results(
        &mut self,
        operands: &[Operand],
        given: Option<&[u32]>,
        i: &Instruction,
        head: Span,
    ) -> Lowering<Vec<Option<Reg>>> {
        let mut out = Vec::new();
        for operand in operands {
            if operand.kind == OperandKind::Sink {
                out.push(None);
                continue;
            }
            match self.passed(operand)? {
                Some(regs) => out.extend(regs.into_iter().map(|r| Some(Reg::Lane(r)))),
                None => return Err(self.not_a_value(operand)),
            }
        }
        if let Some(given) = given {
            let regs: Vec<Option<u32>> =
                out.iter().map(|r| r.and_then(|r| self.width(ir::Operand::Reg(r)))).collect();
            self.compare(&regs, given, "result", i, head)?;
        }
        Ok(out)
    }

    /// Compares the registers of a call with those of the function.
    fn compare(
        &mut self,
        given: &[Option<u32>],
        wanted: &[u32],
        what: &str,
        i: &Instruction,
        head: Span,
    ) -> Lowering<()> {
        let alike = given.len() == wanted.len()
            && given.iter().zip(wanted).all(|(g, w)| g.is_none_or(|g| g == *w));
        if alike {
            return Ok(());
        }
        let message = format!("the {what}s of the call are not those of the function");
        let mut diagnostic = Diagnostic::error("ptx::call", message)
            .at(i.span, format!("{what}s of {}", sizes(given.iter().map(|g| g.unwrap_or(32)))));
        if head != i.span {
            let label = format!("declared with {what}s of {}", sizes(wanted.iter().copied()));
            diagnostic = diagnostic.also(head, label);
        }
        Err(self.cx.fail(diagnostic))
    }
}

fn reg_bits(ty: RegTy) -> u32 {
    ty.bits()
}

/// Widths, for a message.
fn sizes(bits: impl Iterator<Item = u32>) -> String {
    let list: Vec<_> = bits.take(20).map(|b| b.to_string()).collect();
    if list.is_empty() { "none".to_owned() } else { format!("{} bits", list.join(", ")) }
}

/// The parts of a call's operands.
struct Parts<'o> {
    results: &'o [Operand],
    target: &'o Operand,
    args: &'o [Operand],
    prototype: Option<&'o Operand>,
}

impl<'o> Parts<'o> {
    /// `[(results),] target [, (arguments)] [, prototype]`
    fn of(tree: &'o Module, operands: &'o [Operand]) -> Option<Self> {
        let list = |operand: Option<&Operand>| match operand?.kind {
            OperandKind::List(parts) => Some(&tree.operands[parts]),
            _ => None,
        };
        let mut rest = operands;
        let results = list(rest.first());
        if results.is_some() {
            rest = &rest[1..];
        }
        let (target, mut rest) = rest.split_first()?;
        let args = list(rest.first());
        if args.is_some() {
            rest = &rest[1..];
        }
        let prototype = match rest {
            [] => None,
            [only] => Some(only),
            _ => return None,
        };
        let (results, args) = (results.unwrap_or(&[]), args.unwrap_or(&[]));
        Some(Self { results, target, args, prototype })
    }
}
