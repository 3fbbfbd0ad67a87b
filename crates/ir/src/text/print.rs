//! The printer of the text form.
//!
//! It prints any module, verified or not. Names need not be unique in a module, so that passes may
//! name registers and blocks as they like: the printer tells equal names apart by a number behind
//! them.

use super::literal::{quote, write as write_literal};
use super::names::{FunctionNames, ModuleNames, label, sigil, unknown};
use super::parse::argument_ty;
use crate::mods::Flag;
use crate::module::{
    BlockId, FuncId, Function, Guard, Inst, LaneReg, LocId, MaskRef, MaskTest, Module, Operand,
    Origin, Param, Reg, RegInfo, Signature, SourceLine, Symbol, Term, TermKind, Var, VarId,
};
use crate::op::{Class, Slot};
use crate::ty::{RegTy, Ty};
use std::fmt::Write;
use std::sync::Arc;

/// What the printer shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrintOptions {
    /// The source line of each instruction, as `!loc(file, line, column)`, with the inlined call
    /// that it belongs to.
    pub locs: bool,
    /// Why an instruction is there, where it is not from the source, as `!mask`.
    pub origins: bool,
}

impl Default for PrintOptions {
    fn default() -> Self {
        Self { locs: false, origins: true }
    }
}

/// The text of a module, without source lines.
#[must_use]
pub fn print(module: &Module) -> String {
    print_with(module, PrintOptions::default())
}

/// The text of a module.
#[must_use]
pub fn print_with(module: &Module, options: PrintOptions) -> String {
    let mut printer = Printer { module, options, out: String::new() };
    let names = Arc::new(ModuleNames::new(module));
    printer.items(&names);
    printer.out
}

/// The text of one instruction.
#[must_use]
pub fn print_inst(module: &Module, names: &FunctionNames, inst: &Inst) -> String {
    let mut printer = Printer { module, options: PrintOptions::default(), out: String::new() };
    printer.inst(names, inst);
    printer.out
}

/// The text of the end of a block.
#[must_use]
pub fn print_term(module: &Module, names: &FunctionNames, term: &Term) -> String {
    let mut printer = Printer { module, options: PrintOptions::default(), out: String::new() };
    printer.term(names, term);
    printer.out
}

struct Printer<'m> {
    module: &'m Module,
    options: PrintOptions,
    out: String,
}

/// `write!` to a `String`, which cannot fail.
macro_rules! put {
    ($self:ident, $($arg:tt)*) => { let _ = write!($self.out, $($arg)*); };
}

impl Printer<'_> {
    fn items(&mut self, names: &Arc<ModuleNames>) {
        let mut gap = "";
        for file in &self.module.files {
            put!(self, "source ");
            quote(&mut self.out, file);
            self.out.push('\n');
            gap = "\n";
        }
        let inlined = if self.options.locs { &self.module.inlined[..] } else { &[] };
        for inlined in inlined {
            put!(self, "inlined ");
            quote(&mut self.out, &inlined.function);
            self.out.push(' ');
            self.source_line(&inlined.call);
            self.out.push('\n');
            gap = "\n";
        }
        if !self.module.vars.is_empty() {
            self.out.push_str(gap);
            gap = "\n";
        }
        for (i, var) in self.module.vars.iter().enumerate() {
            self.var(names, VarId(i as u32), var);
        }
        for (i, function) in self.module.functions.iter().enumerate() {
            self.out.push_str(gap);
            gap = "\n";
            let names = FunctionNames::of(names, function);
            self.function(&names, FuncId(i as u32), function);
        }
    }

    fn var(&mut self, names: &ModuleNames, id: VarId, var: &Var) {
        put!(self, "{} {}", var.space.word(), sigil("@", &names.vars[id.index()]));
        if var.dynamic {
            put!(self, " dynamic");
        }
        if !var.dynamic || var.size != 0 {
            put!(self, " size {}", var.size);
        }
        put!(self, " align {}", var.align);
        if !var.init.is_empty() {
            self.initialiser(&var.init);
        }
        self.out.push('\n');
        for reloc in &var.relocs {
            let ty = match reloc.size {
                1 => "u8",
                4 => "u32",
                _ => "u64",
            };
            let generic = if reloc.generic { "generic " } else { "" };
            let name = names.symbol(reloc.symbol).map(|n| sigil("@", n));
            let name =
                name.unwrap_or_else(|| format!("@{}", unknown(&format!("{:?}", reloc.symbol))));
            put!(self, "  reloc {}: {ty} {generic}{name}{}", reloc.offset, offset(reloc.addend));
            if reloc.byte != 0 {
                put!(self, " byte {}", reloc.byte);
            }
            self.out.push('\n');
        }
    }

    fn initialiser(&mut self, bytes: &[u8]) {
        const LINE: usize = 32;
        let lines = bytes.len() > LINE;
        put!(self, " = [");
        for (i, chunk) in bytes.chunks(LINE).enumerate() {
            self.out.push_str(match (lines, i) {
                (false, _) => "",
                (true, 0) => "\n  ",
                (true, _) => ",\n  ",
            });
            put!(self, "hex \"");
            for byte in chunk {
                put!(self, "{byte:02x}");
            }
            self.out.push('"');
        }
        self.out.push_str(if lines { "\n]" } else { "]" });
    }

    fn function(&mut self, names: &FunctionNames, id: FuncId, function: &Function) {
        let name = names.module.symbol(Symbol::Func(id)).unwrap_or_default();
        let declared = match &function.signature {
            Signature::Kernel { params, bounds } => {
                put!(self, "kernel {}(", sigil("@", name));
                self.params(names, params);
                let sizes = [
                    ("maxntid", bounds.max),
                    ("reqntid", bounds.required),
                    ("cluster", bounds.cluster),
                ];
                for (word, dims) in sizes {
                    if let Some([x, y, z]) = dims {
                        put!(self, " {word}({x}, {y}, {z})");
                    }
                }
                if let Some(most) = bounds.max_cluster {
                    put!(self, " maxcluster {most}");
                }
                for (word, is) in [
                    ("explicitcluster", bounds.explicit_cluster),
                    ("blocksareclusters", bounds.blocks_are_clusters),
                ] {
                    if is {
                        put!(self, " {word}");
                    }
                }
                0
            }
            Signature::Device { params, results } => {
                put!(self, "func {}(", sigil("@", name));
                let declared = self.head_regs(names, function, params, 0);
                if results.is_empty() {
                    declared
                } else {
                    put!(self, " -> (");
                    self.head_regs(names, function, results, declared)
                }
            }
        };
        self.attributes(Origin::Source, function.loc);
        self.out.push_str(" {\n");
        self.declarations(names, function, declared);
        for (i, block) in function.blocks.iter().enumerate() {
            put!(self, "{}:\n", names.block(BlockId(i as u32)));
            for inst in &block.insts {
                self.out.push_str("  ");
                self.inst(names, inst);
                self.attributes(inst.origin, inst.loc);
                self.out.push('\n');
            }
            self.block_end(names, &block.term);
        }
        self.out.push_str("}\n");
    }

    /// A plain fall-through of the program needs no word.
    fn block_end(&mut self, names: &FunctionNames, term: &Term) {
        let line = self.options.locs && self.module.loc(term.loc).line.is_some();
        let origin = self.options.origins && term.origin != Origin::Source;
        if term.kind == TermKind::Fall && !line && !origin {
            return;
        }
        self.out.push_str("  ");
        self.term(names, term);
        self.attributes(term.origin, term.loc);
        self.out.push('\n');
    }

    fn params(&mut self, names: &FunctionNames, params: &[Param]) {
        let mut end = 0u32;
        for (i, param) in params.iter().enumerate() {
            let separator = if i == 0 { "" } else { ", " };
            put!(self, "{separator}{}: {}", label(&names.params[i]), param.ty);
            if let Some(space) = param.pointer {
                put!(self, " {}", space.word());
            }
            if param.size != param.ty.bytes() {
                put!(self, " size {}", param.size);
            }
            if param.align != param.ty.bytes() {
                put!(self, " align {}", param.align);
            }
            if end.checked_next_multiple_of(param.align.max(1)) != Some(param.offset) {
                put!(self, " offset {}", param.offset);
            }
            end = param.offset.saturating_add(param.size);
        }
        self.out.push(')');
    }

    /// Registers in a function's head: declared there as long as they are the next ones, else only
    /// named. Gives how many are declared.
    fn head_regs(
        &mut self,
        names: &FunctionNames,
        function: &Function,
        regs: &[LaneReg],
        mut declared: usize,
    ) -> usize {
        for (i, reg) in regs.iter().enumerate() {
            let separator = if i == 0 { "" } else { ", " };
            put!(self, "{separator}{}", names.reg(Reg::Lane(*reg)));
            if reg.index() == declared
                && let Some(info) = function.regs.get(declared)
            {
                put!(self, ": {}", info.ty);
                declared += 1;
            }
        }
        self.out.push(')');
        declared
    }

    fn declarations(&mut self, names: &FunctionNames, function: &Function, declared: usize) {
        let lane = function.regs.get(declared..).unwrap_or_default();
        self.registers("reg", &names.regs[declared..], lane);
        self.registers("warp", &names.warp_regs, &function.warp_regs);
        let mut end = 0u32;
        for (local, name) in function.locals.iter().zip(&names.locals) {
            put!(self, "  local {} size {} align {}", sigil("@", name), local.size, local.align);
            if end.checked_next_multiple_of(local.align.max(1)) != Some(local.offset) {
                put!(self, " offset {}", local.offset);
            }
            self.out.push('\n');
            end = local.offset.saturating_add(local.size);
        }
        if function.spill_slots > 0 {
            put!(self, "  spills {}\n", function.spill_slots);
        }
    }

    /// Lines of registers of one type, each of a bearable length.
    fn registers(&mut self, word: &str, names: &[String], infos: &[RegInfo]) {
        const WIDTH: usize = 100;
        let mut line: Option<(RegTy, usize)> = None;
        for (name, info) in names.iter().zip(infos) {
            let name = sigil("%", name);
            let length = name.len() + 2;
            match line {
                Some((ty, used)) if ty == info.ty && used + length <= WIDTH => {
                    put!(self, ", {name}");
                    line = Some((ty, used + length));
                }
                _ => {
                    if let Some((ty, _)) = line {
                        put!(self, ": {ty}\n");
                    }
                    put!(self, "  {word} {name}");
                    line = Some((info.ty, length));
                }
            }
        }
        if let Some((ty, _)) = line {
            put!(self, ": {ty}\n");
        }
    }

    fn guard(&mut self, names: &FunctionNames, guard: Option<Guard>) {
        if let Some(Guard { pred, negated }) = guard {
            let not = if negated { "!" } else { "" };
            put!(self, "@{not}{} ", names.reg(Reg::Lane(pred)));
        }
    }

    fn inst(&mut self, names: &FunctionNames, inst: &Inst) {
        self.guard(names, inst.guard);
        for (i, result) in inst.results.iter().enumerate() {
            let separator = if i == 0 { "" } else { ", " };
            let name = result.map_or("_".to_owned(), |r| names.reg(r));
            put!(self, "{separator}{name}");
        }
        if !inst.results.is_empty() {
            put!(self, " = ");
        }
        self.operation(inst);
        let call = inst.op.info().class == Class::Call;
        for index in 0..inst.operands.len() {
            self.out.push_str(match (call, index) {
                (_, 0) => " ",
                (true, 1) => "(",
                _ => ", ",
            });
            self.operand(names, inst, index);
        }
        match (call, inst.operands.len()) {
            (true, 0 | 1) => self.out.push_str("()"),
            (true, _) => self.out.push(')'),
            _ => {}
        }
    }

    fn operation(&mut self, inst: &Inst) {
        self.out.push_str(inst.op.name());
        let kinds = crate::mods::Kind::ALL.iter().filter_map(|&k| inst.mods.word(k));
        let flags = inst.mods.flags.iter().map(Flag::word);
        let types = inst.ty.iter().chain(&inst.ty2).map(|t| t.name());
        for word in kinds.chain(flags).chain(types) {
            put!(self, ".{word}");
        }
    }

    fn operand(&mut self, names: &FunctionNames, inst: &Inst, index: usize) {
        let slot = inst.operand_slot(index);
        let operand = inst.operands[index];
        if slot == Some(Slot::Addr) {
            self.out.push('[');
            self.value(names, operand, Some(Ty::B64));
            if inst.offset != 0 {
                if matches!(operand, Operand::Symbol(_, 0)) {
                    put!(self, " + 0");
                }
                put!(self, "{}", offset(inst.offset));
            }
            self.out.push(']');
            return;
        }
        let ty = match slot {
            Some(Slot::Any) => argument_ty(self.module, inst, index),
            Some(slot) => inst.slot_ty(slot),
            None => None,
        };
        self.value(names, operand, ty);
    }

    fn value(&mut self, names: &FunctionNames, operand: Operand, ty: Option<Ty>) {
        match operand {
            Operand::Reg(reg) => self.out.push_str(&names.reg(reg)),
            Operand::Imm(bits) => write_literal(&mut self.out, bits, ty),
            Operand::Symbol(symbol, off) => {
                put!(self, "{}{}", names.symbol(symbol), offset(off));
            }
            Operand::Sreg(sreg) => self.out.push_str(sreg.name()),
            Operand::Func(id) => self.out.push_str(&names.symbol(Symbol::Func(id))),
            Operand::Block(id) => self.out.push_str(&names.block(id)),
        }
    }

    fn term(&mut self, names: &FunctionNames, term: &Term) {
        match &term.kind {
            TermKind::Fall => self.out.push_str("fall"),
            TermKind::Br(target) => {
                put!(self, "br {}", names.block(*target));
            }
            TermKind::CondBr(guard, target) => {
                self.guard(names, Some(*guard));
                put!(self, "br {}", names.block(*target));
            }
            TermKind::Switch(index, targets) => {
                put!(self, "switch ");
                self.value(names, *index, Some(Ty::B32));
                let targets: Vec<_> = targets.iter().map(|t| names.block(*t)).collect();
                put!(self, ", [{}]", targets.join(", "));
            }
            TermKind::MaskBr(test, mask, target) => {
                let test = match test {
                    MaskTest::Any => "any",
                    MaskTest::None => "none",
                };
                let mask = match *mask {
                    MaskRef::Exec => "exec".to_owned(),
                    MaskRef::Reg(reg) => names.reg(Reg::Warp(reg)),
                    MaskRef::Pred(reg) => names.reg(Reg::Lane(reg)),
                };
                put!(self, "maskbr.{test} {mask}, {}", names.block(*target));
            }
            TermKind::Ret(guard) => {
                self.guard(names, *guard);
                self.out.push_str("ret");
            }
            TermKind::Exit(guard) => {
                self.guard(names, *guard);
                self.out.push_str("exit");
            }
        }
    }

    fn attributes(&mut self, origin: Origin, loc: LocId) {
        if self.options.origins && origin != Origin::Source {
            let word = Origin::ALL.iter().find(|o| o.0 == origin).map_or("source", |o| o.1);
            put!(self, " !{word}");
        }
        if self.options.locs
            && let Some(line) = &self.module.loc(loc).line
        {
            self.out.push_str(" !loc");
            self.source_line(line);
        }
    }

    /// `(0, 12, 5)`; with the number of an `inlined` as `(0, 12, 5, 1)`.
    fn source_line(&mut self, line: &SourceLine) {
        put!(self, "({}, {}, {}", line.file, line.line, line.column);
        if let Some(inlined) = line.inlined {
            put!(self, ", {}", inlined.0);
        }
        self.out.push(')');
    }
}

/// ` + 4`, ` - 4`, or nothing for 0.
fn offset(offset: i64) -> String {
    match offset {
        0 => String::new(),
        1.. => format!(" + {offset}"),
        _ => format!(" - {}", offset.unsigned_abs()),
    }
}
