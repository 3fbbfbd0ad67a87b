//! Joins the modules of linked files. Places stay those of the original files.

use ir::module::{Function, Signature, SourceLine, Var};
use ir::{FuncId, LocId, Module, Op, Operand, Symbol, VarId};
use rustc_hash::FxHashSet;

use super::LinkInput;
use super::resolve::{Number, Resolved};
use crate::lower::Object;

/// The numbers of an object's functions, variables, places and files in the output.
struct Numbers<'r> {
    functions: &'r [Number],
    vars: &'r [Number],
    /// The offsets that are added to the numbers of places and files.
    locs: u32,
    files: u32,
    inlined: u32,
}

pub(super) fn merge(inputs: &[LinkInput<'_>], resolved: &Resolved) -> Module {
    let mut out = Module::new();
    let mut taken = FxHashSet::default();
    for (i, input) in inputs.iter().enumerate() {
        let numbers = Numbers {
            functions: &resolved.functions[i],
            vars: &resolved.vars[i],
            locs: out.locs.len() as u32 - 1,
            files: out.files.len() as u32,
            inlined: out.inlined.len() as u32,
        };
        add(&mut out, input.object, &numbers, &mut taken);
    }
    fit_results(&mut out);
    out
}

/// Makes calls have as many results as their callees. A file may declare a function with a result
/// that the definition in another file lacks, or the other way round. Devices do not notice:
/// a missing result is not written, and an unused one is dropped.
fn fit_results(module: &mut Module) {
    let counts: Vec<Option<usize>> = module
        .functions
        .iter()
        .map(|f| match &f.signature {
            Signature::Device { results, .. } => Some(results.len()),
            Signature::Kernel { .. } => None,
        })
        .collect();
    let blocks = module.functions.iter_mut().flat_map(|f| &mut f.blocks);
    for inst in blocks.flat_map(|b| &mut b.insts).filter(|inst| inst.op == Op::Call) {
        let Some(Operand::Func(callee)) = inst.operands.first() else { continue };
        if let Some(&Some(count)) = counts.get(callee.index()) {
            inst.results.resize(count, None);
        }
    }
}

/// Adds the kept definitions of an object, in the order of their numbers.
fn add(out: &mut Module, object: &Object, numbers: &Numbers<'_>, taken: &mut FxHashSet<String>) {
    out.locs.extend(object.module.locs.iter().skip(1).map(|loc| {
        let mut loc = loc.clone();
        if let Some(line) = &mut loc.line {
            numbers.line(line);
        }
        loc
    }));
    out.inlined.extend(object.module.inlined.iter().map(|inlined| {
        let mut inlined = inlined.clone();
        numbers.line(&mut inlined.call);
        inlined
    }));
    out.files.extend(object.module.files.iter().cloned());
    // Numbers were given in this order.
    for (function, number) in object.module.functions.iter().zip(numbers.functions) {
        if number.kept {
            let mut function = function.clone();
            function.name = free_name(&function.name, taken);
            numbers.renumber(&mut function);
            out.functions.push(function);
        }
    }
    for (var, number) in object.module.vars.iter().zip(numbers.vars) {
        if number.kept {
            let mut var: Var = var.clone();
            var.name = free_name(&var.name, taken);
            var.relocs.iter_mut().for_each(|r| numbers.symbol(&mut r.symbol));
            out.vars.push(var);
        }
    }
}

/// Returns the name, or a new one made from it if it is taken.
fn free_name(name: &str, taken: &mut FxHashSet<String>) -> String {
    let mut free = name.to_owned();
    while !taken.insert(free.clone()) {
        free = format!("{name}.{}", taken.len());
    }
    free
}

impl Numbers<'_> {
    fn loc(&self, loc: &mut LocId) {
        if loc.0 != 0 {
            loc.0 += self.locs;
        }
    }

    fn line(&self, line: &mut SourceLine) {
        line.file += self.files;
        if let Some(inlined) = &mut line.inlined {
            inlined.0 += self.inlined;
        }
    }

    fn symbol(&self, symbol: &mut Symbol) {
        match symbol {
            Symbol::Func(id) => *id = FuncId(self.functions[id.index()].index),
            Symbol::Var(id) => *id = VarId(self.vars[id.index()].index),
            Symbol::Local(_) | Symbol::Param(_) => {}
        }
    }

    fn renumber(&self, function: &mut Function) {
        self.loc(&mut function.loc);
        for block in &mut function.blocks {
            for inst in &mut block.insts {
                self.loc(&mut inst.loc);
                for operand in &mut inst.operands {
                    match operand {
                        Operand::Func(id) => *id = FuncId(self.functions[id.index()].index),
                        Operand::Symbol(symbol, _) => self.symbol(symbol),
                        _ => {}
                    }
                }
            }
            self.loc(&mut block.term.loc);
        }
    }
}
