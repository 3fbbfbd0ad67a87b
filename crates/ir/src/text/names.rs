//! The names that a module's text gives its parts: each different from the others, and written so
//! that it is read as itself.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::lex::{is_plain, is_word};
use super::literal::quote;
use crate::module::{BlockId, FuncId, Function, Module, Param, Reg, RegInfo, Signature, Symbol};

/// Tells equal names apart.
#[derive(Default)]
struct Unique {
    taken: FxHashSet<String>,
    tries: FxHashMap<String, u32>,
}

impl Unique {
    fn name(&mut self, name: &str, fallback: impl FnOnce() -> String) -> String {
        let base = if name.is_empty() { fallback() } else { name.to_owned() };
        if self.taken.insert(base.clone()) {
            return base;
        }
        let tries = self.tries.entry(base.clone()).or_default();
        loop {
            *tries += 1;
            let candidate = format!("{base}.{tries}");
            if self.taken.insert(candidate.clone()) {
                return candidate;
            }
        }
    }
}

/// Names of a module's symbols as they are printed.
pub(super) struct ModuleNames {
    pub(super) vars: Vec<String>,
    functions: Vec<String>,
}

impl ModuleNames {
    pub(super) fn new(module: &Module) -> Self {
        let mut unique = Unique::default();
        let vars = module.vars.iter().enumerate();
        let functions = module.functions.iter().enumerate();
        Self {
            vars: vars.map(|(i, v)| unique.name(&v.name, || format!("v{i}"))).collect(),
            functions: functions.map(|(i, f)| unique.name(&f.name, || format!("f{i}"))).collect(),
        }
    }

    pub(super) fn symbol(&self, symbol: Symbol) -> Option<&str> {
        let name = match symbol {
            Symbol::Var(id) => self.vars.get(id.index()),
            Symbol::Func(id) => self.functions.get(id.index()),
            Symbol::Local(_) | Symbol::Param(_) => None,
        };
        name.map(String::as_str)
    }
}

/// The names of a function's registers, blocks and symbols as they are printed.
pub struct FunctionNames {
    pub(super) regs: Vec<String>,
    pub(super) warp_regs: Vec<String>,
    blocks: Vec<String>,
    pub(super) params: Vec<String>,
    pub(super) locals: Vec<String>,
    pub(super) module: Arc<ModuleNames>,
    /// Names that mean a symbol of the function.
    own: FxHashSet<String>,
}

impl FunctionNames {
    /// The names of one function of a module; if there is no such function, of an empty one.
    #[must_use]
    pub fn new(module: &Module, function: FuncId) -> Self {
        let names = Arc::new(ModuleNames::new(module));
        match module.functions.get(function.index()) {
            Some(function) => Self::of(&names, function),
            None => {
                let signature = Signature::Device { params: Vec::new(), results: Vec::new() };
                Self::of(&names, &Function::new("", signature))
            }
        }
    }

    pub(super) fn of(module: &Arc<ModuleNames>, function: &Function) -> Self {
        let mut regs = Unique::default();
        let mut reg_names = |infos: &[RegInfo], letter: char| -> Vec<String> {
            let infos = infos.iter().enumerate();
            infos.map(|(i, r)| regs.name(&r.name, || format!("{letter}{i}"))).collect()
        };
        let (lane, warp) = (reg_names(&function.regs, 'r'), reg_names(&function.warp_regs, 'w'));
        let mut blocks = Unique::default();
        let block_names = function.blocks.iter().enumerate();
        let blocks = block_names.map(|(i, b)| blocks.name(&b.name, || format!("bb{i}"))).collect();
        let params: &[Param] = match &function.signature {
            Signature::Kernel { params, .. } => params,
            Signature::Device { .. } => &[],
        };
        let mut own = Unique::default();
        let params = params.iter().enumerate();
        let params = params.map(|(i, p)| own.name(&p.name, || format!("p{i}"))).collect();
        let locals = function.locals.iter().enumerate();
        let locals = locals.map(|(i, l)| own.name(&l.name, || format!("l{i}"))).collect();
        Self {
            regs: lane,
            warp_regs: warp,
            blocks,
            params,
            locals,
            module: Arc::clone(module),
            own: own.taken,
        }
    }

    /// A register with its sigil.
    #[must_use]
    pub fn reg(&self, reg: Reg) -> String {
        let name = match reg {
            Reg::Lane(r) => self.regs.get(r.index()),
            Reg::Warp(r) => self.warp_regs.get(r.index()),
        };
        match name {
            Some(name) => sigil("%", name),
            None => format!("%{}", unknown(&format!("{reg:?}"))),
        }
    }

    /// A block's label.
    #[must_use]
    pub fn block(&self, block: BlockId) -> String {
        match self.blocks.get(block.index()) {
            Some(name) => label(name),
            None => unknown(&format!("{block:?}")),
        }
    }

    /// A symbol with its sigil.
    #[must_use]
    pub fn symbol(&self, symbol: Symbol) -> String {
        let own = match symbol {
            Symbol::Param(i) => self.params.get(i as usize),
            Symbol::Local(i) => self.locals.get(i as usize),
            Symbol::Var(_) | Symbol::Func(_) => None,
        };
        if let Some(name) = own {
            return sigil("@", name);
        }
        match self.module.symbol(symbol) {
            Some(name) if self.own.contains(name) => sigil("@@", name),
            Some(name) => sigil("@", name),
            None => format!("@{}", unknown(&format!("{symbol:?}"))),
        }
    }
}

/// What stands for an index out of range; no name that is defined.
pub(super) fn unknown(what: &str) -> String {
    let mut out = String::new();
    quote(&mut out, &format!("?{what}"));
    out
}

pub(super) fn sigil(sigil: &str, name: &str) -> String {
    let mut out = sigil.to_owned();
    if is_plain(name) {
        out.push_str(name);
    } else {
        quote(&mut out, name);
    }
    out
}

/// A name without a sigil.
pub(super) fn label(name: &str) -> String {
    if is_word(name) {
        return name.to_owned();
    }
    let mut out = String::new();
    quote(&mut out, name);
    out
}
