//! Links several lowered files into one module.
//!
//! A name that a file declares as external refers to another file's definition. Of several weak
//! definitions one is kept. Local names stay local to their file, and are renamed if another file
//! has them. Places stay those of the original files.

use ir::module::{Function, Signature, SourceLine, Var};
use ir::{FuncId, LocId, Module, Op, Operand, Symbol, VarId};
use ptx::{Binding, Object};
use rustc_hash::{FxHashMap, FxHashSet};

/// The number of a name in the output, and whether the output takes this definition of it.
#[derive(Clone, Copy)]
struct Number {
    index: u32,
    kept: bool,
}

/// The numbers of an object's functions, variables, places and files in the output.
struct Numbers {
    functions: Vec<Number>,
    vars: Vec<Number>,
    /// The offsets that are added to the numbers of places and files.
    locs: u32,
    files: u32,
    inlined: u32,
}

/// The names of one kind with their bindings, object by object.
type Names<'o> = Vec<Vec<(&'o str, Binding)>>;

/// Links objects. The error lists all findings.
pub(crate) fn link(objects: &[Object]) -> Result<Module, Vec<String>> {
    let functions: Names<'_> = objects
        .iter()
        .map(|o| {
            o.module
                .functions
                .iter()
                .map(|f| f.name.as_str())
                .zip(o.functions.iter().copied())
                .collect()
        })
        .collect();
    let vars: Names<'_> = objects
        .iter()
        .map(|o| {
            o.module.vars.iter().map(|v| v.name.as_str()).zip(o.vars.iter().copied()).collect()
        })
        .collect();
    let mut wrong = Vec::new();
    let function_numbers = number("function", &functions, &mut wrong);
    let var_numbers = number("variable", &vars, &mut wrong);
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let mut out = Module::new();
    let mut taken = FxHashSet::default();
    for (i, object) in objects.iter().enumerate() {
        let numbers = Numbers {
            functions: function_numbers[i].clone(),
            vars: var_numbers[i].clone(),
            locs: out.locs.len() as u32 - 1,
            files: out.files.len() as u32,
            inlined: out.inlined.len() as u32,
        };
        add(&mut out, object, &numbers, &mut taken);
    }
    fit_results(&mut out);
    Ok(out)
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

/// Numbers all names in the output, in the order in which definitions are kept.
fn number(what: &str, names: &Names<'_>, wrong: &mut Vec<String>) -> Vec<Vec<Number>> {
    // The kept definition of each name: a strong one before a weak one, the first before others.
    let mut chosen: FxHashMap<&str, (usize, usize, Binding)> = FxHashMap::default();
    for (o, object) in names.iter().enumerate() {
        for (i, &(name, binding)) in object.iter().enumerate() {
            let known = chosen.get(name).map(|c| c.2);
            match (binding, known) {
                (Binding::Strong, Some(Binding::Strong)) => {
                    wrong.push(format!("the {what} `{name}` is defined twice"));
                }
                (Binding::Strong, _) | (Binding::Weak, None) => {
                    chosen.insert(name, (o, i, binding));
                }
                _ => {}
            }
        }
    }
    let mut next = 0;
    let none = Number { index: u32::MAX, kept: false };
    let mut numbers: Vec<Vec<Number>> =
        names.iter().map(|object| vec![none; object.len()]).collect();
    for (o, object) in names.iter().enumerate() {
        for (i, &(name, binding)) in object.iter().enumerate() {
            let own = chosen.get(name).is_some_and(|c| (c.0, c.1) == (o, i));
            if binding == Binding::Local || own {
                numbers[o][i] = Number { index: next, kept: true };
                next += 1;
            }
        }
    }
    for (o, object) in names.iter().enumerate() {
        for (i, &(name, _)) in object.iter().enumerate() {
            if numbers[o][i].kept {
                continue;
            }
            match chosen.get(name) {
                Some(&(there, index, _)) => numbers[o][i].index = numbers[there][index].index,
                None => {
                    let message =
                        format!("the {what} `{name}` is declared as external and nowhere defined");
                    if !wrong.contains(&message) {
                        wrong.push(message);
                    }
                }
            }
        }
    }
    numbers
}

/// Adds the kept definitions of an object, in the order of their numbers.
fn add(out: &mut Module, object: &Object, numbers: &Numbers, taken: &mut FxHashSet<String>) {
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
    for (function, number) in object.module.functions.iter().zip(&numbers.functions) {
        if number.kept {
            let mut function = function.clone();
            function.name = free_name(&function.name, taken);
            numbers.renumber(&mut function);
            out.functions.push(function);
        }
    }
    for (var, number) in object.module.vars.iter().zip(&numbers.vars) {
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

impl Numbers {
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
