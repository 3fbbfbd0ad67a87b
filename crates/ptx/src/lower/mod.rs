//! From the syntax tree to the kernel IR.
//!
//! [`lower`] lowers a file, or the part that one kernel can reach; [`check`] reports everything
//! that is wrong or not supported in a file. Both find every error, not only the first, each at its
//! place. The result must pass the IR's verifier.
//!
//! Rules that hold throughout:
//! - One PTX instruction becomes one IR instruction of [`ir::Origin::Source`]; further instructions
//!   that express it (a complemented predicate, packing of arguments) have
//!   [`ir::Origin::Lowering`].
//! - Registers are made when first used, so a declaration `%r<N>` costs nothing.
//! - `.param` variables of calls are registers: an aggregate travels in chunks of at most four
//!   bytes (see `params`).
//! - Names are resolved in the innermost scope that declares them; labels are known in their whole
//!   scope, also before their place.

mod address;
mod bulk;
mod call;
mod constant;
mod copy;
mod device;
mod emit;
mod function;
mod initialiser;
mod instruction;
mod lines;
mod matrix;
mod mbarrier;
mod memory;
mod modifiers;
mod moves;
mod names;
mod object;
mod operand;
mod params;
mod parts;
mod policy;
mod spilled;
mod symbols;
mod tensor;
mod tensor_map;
mod texture;
mod variable;
mod video;
mod wgmma;

pub use device::{target, version, versions};
pub use object::{Binding, Object, lower_object};
pub use parts::{Part, lower_parts, lower_parts_of};

use std::rc::Rc;

use ir::device::Limits;
use ir::{FuncId, VarId};
use isa::{Diagnostic, Diagnostics, Span};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::ast::{Declaration, Declarator, Function, FunctionKind, Module};
use crate::names::Symbol;
use crate::pool::Id;
use crate::spelling::{Form, Spelled};

/// Registers of arguments, targets of indexed branches, and 64ths of zeros between initialised
/// bytes of one file. A few words of text can ask for many of them, again and again; real programs
/// stay far below.
const BUDGET: usize = 1 << 20;

/// Most bytes of a thread's variables.
const MAX_FRAME_BYTES: u64 = ir::device::LOCAL;

/// The parts of a file to lower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Select<'a> {
    /// Every function that has a body.
    All,
    /// One kernel and the functions and variables that it can reach. Errors elsewhere are not
    /// reported.
    Kernel(&'a str),
    /// These kernels and what they can reach, likewise.
    Kernels(&'a [&'a str]),
    /// These functions and variables of the module, and what they can reach, likewise.
    Parts {
        /// Names of kernels and of other functions with a body.
        functions: &'a [&'a str],
        /// Names of variables.
        variables: &'a [&'a str],
    },
}

/// An error that was reported.
#[derive(Clone, Copy, Debug)]
struct Failed;

type Lowering<T> = Result<T, Failed>;

/// Lowers a file, or one kernel of it, for devices of its target.
///
/// The module is `None` if there was an error. The tree may be incomplete; errors that the parser
/// reported are not repeated.
#[must_use]
pub fn lower(tree: &Module, select: Select<'_>) -> (Option<ir::Module>, Diagnostics) {
    lower_for(tree, select, Limits::OfTarget)
}

/// The same for devices with other limits, or without any.
#[must_use]
pub fn lower_for(
    tree: &Module,
    select: Select<'_>,
    limits: Limits,
) -> (Option<ir::Module>, Diagnostics) {
    let mut lowerer = Lowerer::new(tree);
    lowerer.limits = limits;
    lowerer.header();
    lowerer.collect();
    lowerer.roots(select);
    lowerer.run(select);
    lowerer.device_limits();
    let Lowerer { out, diagnostics, .. } = lowerer;
    let module = (!diagnostics.has_errors()).then_some(out);
    (module, diagnostics)
}

/// Everything that is wrong or not supported in a file, with its places.
#[must_use]
pub fn check(tree: &Module) -> Diagnostics {
    lower(tree, Select::All).1
}

/// The meaning of a name of the module.
#[derive(Clone, Copy, Debug)]
enum Global {
    Variable(Id<Declaration>, Id<Declarator>),
    Function(Id<Function>),
}

/// Widths in bits of the registers that a function takes and gives.
#[derive(Debug)]
struct Widths {
    params: Vec<u32>,
    results: Vec<u32>,
}

/// Opcode and modifiers of an instruction, and its number of operands.
type SpellingKey = (SmallVec<[Symbol; 8]>, usize);

/// The lowering of a module.
struct Lowerer<'t> {
    tree: &'t Module,
    out: ir::Module,
    diagnostics: Diagnostics,
    globals: FxHashMap<Symbol, Global>,
    /// Functions that have an id; in the order of ids.
    queue: Vec<Id<Function>>,
    function_ids: FxHashMap<Id<Function>, FuncId>,
    /// Variables whose content is still to be read.
    contents: Vec<(VarId, Id<Declaration>, Id<Declarator>)>,
    /// Names of functions and variables of the output.
    taken: FxHashSet<String>,
    /// `None` for those that could not be made.
    variable_ids: FxHashMap<Id<Declarator>, Option<VarId>>,
    /// Spellings of instructions seen before.
    spellings: FxHashMap<SpellingKey, Option<Rc<Spelled>>>,
    forms: FxHashMap<Symbol, Rc<[&'static Form]>>,
    /// Files and lines of the source.
    lines: lines::Lines,
    /// Version and target of the file, to be compared with what forms need.
    version: (u32, u32),
    sm: u32,
    /// Widths of parameters and results, by the place of the signature's name.
    signatures: FxHashMap<u32, Rc<Widths>>,
    /// What is left of the budget for output larger than its text: see [`BUDGET`].
    budget: usize,
    /// Forms that were reported as too new for the file, or as removed from its target.
    gated: Vec<*const Form>,
    /// Whether external names may stay undefined.
    object: bool,
    /// The limits that hold.
    limits: Limits,
    /// The declaration of each variable of the output.
    var_spans: Vec<Span>,
}

impl<'t> Lowerer<'t> {
    fn new(tree: &'t Module) -> Self {
        Self {
            tree,
            out: ir::Module::new(),
            diagnostics: Diagnostics::new(),
            globals: FxHashMap::default(),
            queue: Vec::new(),
            function_ids: FxHashMap::default(),
            contents: Vec::new(),
            taken: FxHashSet::default(),
            variable_ids: FxHashMap::default(),
            spellings: FxHashMap::default(),
            forms: FxHashMap::default(),
            lines: lines::Lines::default(),
            version: (u32::MAX, 0),
            sm: u32::MAX,
            signatures: FxHashMap::default(),
            budget: BUDGET,
            gated: Vec::new(),
            object: false,
            limits: Limits::default(),
            var_spans: Vec::new(),
        }
    }

    /// Reports an error.
    fn fail(&mut self, diagnostic: Diagnostic) -> Failed {
        self.diagnostics.push(diagnostic);
        Failed
    }

    /// Reports an error with a message and a place.
    fn error<T>(
        &mut self,
        code: &'static str,
        message: impl Into<String>,
        span: Span,
        label: impl Into<String>,
    ) -> Lowering<T> {
        Err(self.fail(Diagnostic::error(code, message).at(span, label)))
    }

    /// Takes from the budget; an error when it is used up.
    fn spend(&mut self, amount: usize, span: Span) -> Lowering<()> {
        if let Some(rest) = self.budget.checked_sub(amount) {
            self.budget = rest;
            return Ok(());
        }
        self.budget = 0;
        let message = "the file makes more of its few words than is reasonable";
        let label = "too many arguments, targets or initialised bytes up to here";
        self.error("ptx::budget", message, span, label)
    }

    fn roots(&mut self, select: Select<'_>) {
        let tree = self.tree;
        match select {
            Select::All => {
                for id in self.all_functions() {
                    if self.is_kernel(id) {
                        self.function_id(id);
                    } else if tree.functions[id].body.is_none() {
                        // Checked for errors.
                        let _ = self.signature_widths(&tree.functions[id].signature);
                    }
                }
                self.all_variables();
            }
            Select::Kernel(name) => self.kernel(name),
            Select::Kernels(names) => names.iter().for_each(|name| self.kernel(name)),
            Select::Parts { functions, variables } => {
                functions.iter().for_each(|name| self.named_function(name));
                variables.iter().for_each(|name| self.named_variable(name));
            }
        }
    }

    fn named_variable(&mut self, name: &str) {
        let found = self.tree.names.find(name).and_then(|s| self.globals.get(&s).copied());
        if let Some(Global::Variable(id, declarator)) = found {
            // Errors have been reported.
            let _ = self.variable(id, declarator, None);
        } else {
            let message = format!("there is no variable `{name}`");
            self.fail(Diagnostic::error("ptx::undefined", message));
        }
    }

    fn named_function(&mut self, name: &str) {
        let found = self.tree.names.find(name).and_then(|s| self.globals.get(&s).copied());
        match found {
            Some(Global::Function(id)) if self.tree.functions[id].body.is_some() => {
                self.function_id(id);
            }
            _ => self.no_kernel(name),
        }
    }

    fn kernel(&mut self, name: &str) {
        let found = self.tree.names.find(name).and_then(|s| self.globals.get(&s).copied());
        match found {
            Some(Global::Function(id)) if self.is_kernel(id) => {
                self.function_id(id);
            }
            _ => self.no_kernel(name),
        }
    }

    fn is_kernel(&self, id: Id<Function>) -> bool {
        let function = &self.tree.functions[id];
        function.kind == FunctionKind::Entry && function.body.is_some()
    }

    fn no_kernel(&mut self, name: &str) {
        let tree = self.tree;
        let kernels: Vec<_> = tree
            .functions()
            .filter(|f| f.kind == FunctionKind::Entry && f.body.is_some())
            .map(|f| tree.name(f.signature.name.symbol))
            .collect();
        let message = format!("there is no kernel `{name}`");
        let diagnostic = Diagnostic::error("ptx::no-kernel", message);
        let diagnostic = match (kernels.as_slice(), isa::suggest::nearest(name, kernels.clone())) {
            ([], _) => diagnostic.note("the file has no kernel"),
            (_, Some(near)) => diagnostic.help(format!("did you mean `{near}`?")),
            (some, None) => {
                diagnostic.help(format!("the file has: {}", some[..some.len().min(20)].join(", ")))
            }
        };
        self.fail(diagnostic);
    }

    /// Lowers functions and fills variables until none is left; each can ask for others.
    ///
    /// Functions of a whole file are in the order that those of one kernel have: kernels, then what
    /// they call, in the order of the calls. So their addresses are the same whatever was selected.
    /// Functions that no kernel reaches come last.
    fn run(&mut self, select: Select<'_>) {
        let mut next = 0;
        let mut unreached = match select {
            Select::All => self.all_functions(),
            _ => Vec::new(),
        }
        .into_iter();
        loop {
            while let Some((id, d, declarator)) = self.contents.pop() {
                // Errors have been reported.
                let _ = self.initialise(id, d, declarator);
            }
            let Some(&id) = self.queue.get(next) else {
                let tree = self.tree;
                let Some(id) = unreached.find(|&id| tree.functions[id].body.is_some()) else {
                    return;
                };
                self.function_id(id);
                continue;
            };
            let function = function::lower(self, id);
            if let (Some(slot), Some(function)) = (self.out.functions.get_mut(next), function) {
                *slot = function;
            }
            next += 1;
        }
    }

    /// The id of a function, which will be lowered.
    fn function_id(&mut self, id: Id<Function>) -> FuncId {
        if let Some(&known) = self.function_ids.get(&id) {
            return known;
        }
        let func = FuncId(self.queue.len() as u32);
        self.queue.push(id);
        self.function_ids.insert(id, func);
        let name = self.tree.name(self.tree.functions[id].signature.name.symbol);
        let nothing = ir::module::Signature::Device { params: Vec::new(), results: Vec::new() };
        self.out.functions.push(ir::Function::new(name, nothing));
        func
    }

    /// Returns the entry for a place in the output's table.
    fn loc(&mut self, span: Span, line: Option<ir::module::SourceLine>) -> ir::LocId {
        self.out.add_loc(ir::module::Loc { span, line })
    }
}
