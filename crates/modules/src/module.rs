//! Modules: programs linked from PTX texts.

use std::sync::Arc;

use hostmem::on_own_stack;
use ir::device::Capability;
use ir::module::{Param, Signature};
use ir::{FuncId, Function, LocId};
use isa::{Diagnostic, Diagnostics, SourceMap};
use places::{Source, TextLine};
use ptx::ast::{FunctionKind, Item, Linkage};
use ptx::link::LinkError;
use ptx::{Object, Select};
use simt::Pc;
use thiserror::Error;

use crate::device_runtime::{self, link_inputs};

/// The reasons why PTX cannot be loaded, with places.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", .findings.join("\n"))]
pub struct LoadError {
    /// The findings, as `name:line:column: message`.
    pub findings: Vec<String>,
}

impl LoadError {
    fn no_thread() -> Self {
        Self { findings: vec!["the host has no thread to read the text on".to_owned()] }
    }
}

/// A kind of definition that may be unusable while the rest of its text is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolKind {
    /// A kernel.
    Kernel,
    /// Another function, of a text that is linked with others.
    Function,
    /// A module variable.
    Variable,
}

/// What a variable of the type `.texref`, `.samplerref` or `.surfref` refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferenceKind {
    /// A texture with its sampler.
    Texture,
    /// A sampler.
    Sampler,
    /// A surface.
    Surface,
}

/// A kernel, function or variable of the text that cannot be used, and the reasons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// What it is.
    pub kind: SymbolKind,
    /// Its name.
    pub name: String,
    /// The reasons, as in [`LoadError`].
    pub findings: Vec<String>,
}

/// Prints `the kernel x cannot run`, then one finding per line.
impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (what, cannot) = match self.kind {
            SymbolKind::Kernel => ("kernel", "run"),
            SymbolKind::Function => ("function", "run"),
            SymbolKind::Variable => ("variable", "be made"),
        };
        write!(f, "the {what} `{}` cannot {cannot}:\n{}", self.name, self.findings.join("\n"))
    }
}

/// What the directives at the beginning of a text say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The version of PTX.
    pub version: Option<(u32, u32)>,
    /// The target.
    pub target: Option<Capability>,
}

/// A program with its text. It is immutable, and shared by all contexts that load it.
#[derive(Debug)]
pub struct Module {
    program: vm::Program,
    /// The newest target that a text names, if any does.
    target: Option<Capability>,
    sources: SourceMap,
    refused: Vec<Refused>,
    /// The names of variables that the host accesses, too, at their own addresses
    /// (`.attribute(.managed)`).
    managed: Vec<String>,
    /// The names of references to textures, samplers and surfaces.
    references: Vec<(String, ReferenceKind)>,
}

impl Module {
    /// Loads a PTX text. `name` appears in messages.
    ///
    /// A kernel that uses an unsupported feature, and a variable whose initial value does, do not
    /// affect the rest of the text; they are listed in [`Self::refused`].
    ///
    /// # Errors
    /// Returns an error if the text cannot be parsed, or nothing in it can run.
    pub fn load(name: &str, text: &str) -> Result<Arc<Self>, LoadError> {
        Self::link(&[(name, text)])
    }

    fn load_on_this_stack(name: &str, text: &str) -> Result<Arc<Self>, LoadError> {
        let mut sources = SourceMap::new();
        let file = sources.add(name, text);
        let (tree, found) = ptx::parse(file, text);
        refuse(&found, &sources)?;
        let (module, found) = ptx::lower(&tree, Select::All);
        let mut refused = Vec::new();
        let module = match module {
            Some(module) => module,
            None => {
                let (rest, broken) = LowerableParts::new(&tree, &sources).lower();
                refused = broken;
                rest.ok_or_else(|| LoadError { findings: findings(&found, &sources) })?
            }
        };
        let managed = managed_names(&tree).collect();
        let references = references(&tree).collect();
        let target = ptx::target(&tree);
        // The tree is as large as the code that linking makes.
        drop(tree);
        let program = linked(module)?;
        Ok(Arc::new(Self { program, target, sources, refused, managed, references }))
    }

    /// Links PTX texts into one program: external declarations of one refer to definitions of
    /// another, or of CUDA's device runtime.
    ///
    /// What cannot be lowered takes no part, and is listed in [`Self::refused`].
    ///
    /// # Errors
    /// As [`Self::load`]; also if an external name has no definition.
    pub fn link(texts: &[(&str, &str)]) -> Result<Arc<Self>, LoadError> {
        Self::link_with(texts, true)
    }

    /// Does the same as [`Self::link`], but without the device runtime if `runtime` is false.
    ///
    /// # Errors
    /// As [`Self::link`].
    pub fn link_with(texts: &[(&str, &str)], runtime: bool) -> Result<Arc<Self>, LoadError> {
        let link = || match texts {
            [(name, text)] if !(runtime && device_runtime::is_needed(text)) => {
                Self::load_on_this_stack(name, text)
            }
            _ => Self::link_on_this_stack(texts, runtime),
        };
        on_own_stack(link).unwrap_or_else(|| Err(LoadError::no_thread()))
    }

    fn link_on_this_stack(texts: &[(&str, &str)], runtime: bool) -> Result<Arc<Self>, LoadError> {
        let mut sources = SourceMap::new();
        let mut files = Vec::new();
        let (mut managed, mut references) = (Vec::new(), Vec::new());
        let mut targets = Vec::new();
        let mut refused = Vec::new();
        for (name, text) in texts {
            let file = sources.add(*name, *text);
            let (tree, found) = ptx::parse(file, text);
            refuse(&found, &sources)?;
            managed.extend(managed_names(&tree));
            references.extend(self::references(&tree));
            targets.extend(ptx::target(&tree));
            files.push((*name, object(&tree, &sources, &mut refused)?));
        }
        let libraries = match runtime {
            true => device_runtime::libraries(&files, &mut sources)?,
            false => Vec::new(),
        };
        let module = ptx::link::link(&link_inputs(&files), &link_inputs(&libraries))
            .map_err(|errors| link_error(&errors, &refused))?;
        let program = linked(module)?;
        let target = targets.into_iter().max();
        Ok(Arc::new(Self { program, target, sources, refused, managed, references }))
    }

    /// Does the same as [`Self::link_with`], but a single text is linked, too: what it refers to
    /// and does not define is an error in the linker's words.
    ///
    /// # Errors
    /// As [`Self::link`].
    pub fn link_objects(texts: &[(&str, &str)], runtime: bool) -> Result<Arc<Self>, LoadError> {
        on_own_stack(|| Self::link_on_this_stack(texts, runtime))
            .unwrap_or_else(|| Err(LoadError::no_thread()))
    }

    /// Checks that something of a text can be linked, and returns what its header says.
    ///
    /// # Errors
    /// Returns an error if the text cannot be parsed, or nothing in it can run.
    pub fn check_object(name: &str, text: &str) -> Result<Header, LoadError> {
        let check = || {
            let mut sources = SourceMap::new();
            let file = sources.add(name, text);
            let (tree, found) = ptx::parse(file, text);
            refuse(&found, &sources)?;
            let mut refused = Vec::new();
            let object = object(&tree, &sources, &mut refused)?;
            if object.module.functions.is_empty() && !refused.is_empty() {
                let findings = refused.into_iter().flat_map(|refused| refused.findings).collect();
                return Err(LoadError { findings });
            }
            Ok(header(&tree))
        };
        on_own_stack(check).unwrap_or_else(|| Err(LoadError::no_thread()))
    }

    /// Parses a text without loading it, and returns what its header says.
    ///
    /// # Errors
    /// Returns an error if the text cannot be parsed.
    pub fn check(name: &str, text: &str) -> Result<Header, LoadError> {
        let check = || {
            let mut sources = SourceMap::new();
            let file = sources.add(name, text);
            let (tree, found) = ptx::parse(file, text);
            refuse(&found, &sources)?;
            Ok(header(&tree))
        };
        on_own_stack(check).unwrap_or_else(|| Err(LoadError::no_thread()))
    }

    /// Returns the target that the module was compiled for.
    #[must_use]
    pub fn target(&self) -> Option<Capability> {
        self.target
    }

    /// Returns the linked program.
    #[must_use]
    pub fn program(&self) -> &vm::Program {
        &self.program
    }

    /// Returns the texts, to which places refer.
    #[must_use]
    pub fn sources(&self) -> &SourceMap {
        &self.sources
    }

    /// Returns the kernels and variables of the text that cannot be used.
    #[must_use]
    pub fn refused(&self) -> &[Refused] {
        &self.refused
    }

    /// Iterates over all kernels that can run, in the order of the text.
    pub fn kernels(&self) -> impl Iterator<Item = (FuncId, &Function)> {
        let functions = self.program.module().functions.iter().enumerate();
        functions
            .filter(|(_, f)| matches!(f.signature, Signature::Kernel { .. }))
            .map(|(i, f)| (FuncId(i as u32), f))
    }

    /// Iterates over the indices and sizes of managed variables.
    pub fn managed(&self) -> impl Iterator<Item = (usize, u64)> {
        let vars = self.program.module().vars.iter().enumerate();
        vars.filter(|(_, v)| self.managed.contains(&v.name)).map(|(i, v)| (i, v.size))
    }

    /// Finds a kernel by name.
    #[must_use]
    pub fn kernel(&self, name: &str) -> Option<FuncId> {
        self.kernels().find(|(_, f)| f.name == name).map(|(id, _)| id)
    }

    /// Returns a function by id.
    #[must_use]
    pub fn function(&self, id: FuncId) -> Option<&Function> {
        self.program.module().functions.get(id.index())
    }

    /// Returns a kernel's parameters; empty for an unknown id.
    #[must_use]
    pub fn params(&self, kernel: FuncId) -> &[Param] {
        self.function(kernel).map_or(&[], Function::params)
    }

    /// Returns the size of a kernel's parameter block in bytes.
    #[must_use]
    pub fn param_bytes(&self, kernel: FuncId) -> usize {
        self.params(kernel).iter().map(|p| (p.offset + p.size) as usize).max().unwrap_or(0)
    }

    /// Returns the total size in bytes of the statically sized shared variables that the kernel's
    /// own instructions name.
    #[must_use]
    pub fn shared_bytes(&self, kernel: FuncId) -> u64 {
        let module = self.program.module();
        let Some(function) = self.function(kernel) else { return 0 };
        let insts = function.blocks.iter().flat_map(|b| &b.insts);
        let mut named: Vec<usize> = insts
            .flat_map(|i| &i.operands)
            .filter_map(|operand| match operand {
                ir::Operand::Symbol(ir::Symbol::Var(var), _) => Some(var.index()),
                _ => None,
            })
            .collect();
        named.sort_unstable();
        named.dedup();
        let vars = named.into_iter().filter_map(|v| module.vars.get(v));
        vars.filter(|v| v.space == ir::mods::Space::Shared).map(|v| v.size).sum()
    }

    /// Returns the block size that a kernel's text requires, else the maximum that it declares.
    #[must_use]
    pub fn block_bounds(&self, kernel: FuncId) -> Option<[u32; 3]> {
        match self.function(kernel)?.signature {
            Signature::Kernel { bounds, .. } => bounds.required.or(bounds.max),
            _ => None,
        }
    }

    /// Returns the blocks of a cluster that a kernel's text requires.
    #[must_use]
    pub fn cluster(&self, kernel: FuncId) -> Option<[u32; 3]> {
        match self.function(kernel)?.signature {
            Signature::Kernel { bounds, .. } => bounds.cluster,
            _ => None,
        }
    }

    /// Returns the total size of the module's constant variables in bytes.
    #[must_use]
    pub fn constant_bytes(&self) -> u64 {
        let vars = self.program.module().vars.iter();
        let sizes = vars.filter(|v| v.space == ir::mods::Space::Const).map(|v| v.size);
        sizes.fold(0, u64::saturating_add)
    }

    /// Iterates over the names of all variables.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.program.module().vars.iter().map(|v| v.name.as_str())
    }

    /// Returns what the variable of this name refers to, if it is a reference.
    #[must_use]
    pub fn reference(&self, name: &str) -> Option<ReferenceKind> {
        self.references.iter().find(|(known, _)| known == name).map(|&(_, kind)| kind)
    }

    /// Finds a variable's index by name.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<usize> {
        self.program.module().vars.iter().position(|v| v.name == name)
    }

    /// The place of an instruction in the text.
    #[must_use]
    pub fn ptx_line(&self, loc: LocId) -> Option<TextLine> {
        if loc == LocId(0) {
            return None;
        }
        let span = self.program.module().loc(loc).span;
        let file = self.sources.get(span.file)?;
        let line = file.line_col(span.start).line;
        let text = file.text().lines().nth(line as usize - 1).unwrap_or("").trim().to_owned();
        Some(TextLine { name: file.name().to_owned(), line, text })
    }

    /// The source line behind a place.
    #[must_use]
    pub fn source_line(&self, loc: LocId) -> Option<Source> {
        Source::of(self.program.module(), loc)
    }

    /// Returns the place of a program counter.
    #[must_use]
    pub fn loc_of(&self, pc: Pc) -> LocId {
        self.program.at(pc).map_or(LocId(0), vm::Code::loc)
    }
}

fn header(tree: &ptx::Module) -> Header {
    Header { version: ptx::version(tree), target: ptx::target(tree) }
}

/// Lowers a text that is linked with others, or those of its definitions that can be lowered; the
/// others are added to `refused`.
fn object(
    tree: &ptx::Module,
    sources: &SourceMap,
    refused: &mut Vec<Refused>,
) -> Result<Object, LoadError> {
    let (object, found) = ptx::lower_object(tree, Select::All);
    if let Some(object) = object {
        return Ok(object);
    }
    let (rest, broken) = LowerableParts::new(tree, sources).lower_object();
    refused.extend(broken);
    rest.ok_or_else(|| LoadError { findings: findings(&found, sources) })
}

/// The findings of a failed link. What is undefined because it cannot be lowered has its reasons.
fn link_error(errors: &[LinkError], refused: &[Refused]) -> LoadError {
    let describe = |error: &LinkError| {
        let reason = match error {
            LinkError::Undefined { name, .. } => refused.iter().find(|r| r.name == *name),
            _ => None,
        };
        match reason {
            Some(reason) => format!("{error}\n{reason}"),
            None => error.to_string(),
        }
    };
    LoadError { findings: errors.iter().map(describe).collect() }
}

fn linked(module: ir::Module) -> Result<vm::Program, LoadError> {
    vm::Program::link(module).map_err(|errors| {
        let findings = errors.iter().map(ToString::to_string).collect();
        LoadError { findings }
    })
}

/// Returns the names of all managed variables.
fn managed_names(tree: &ptx::Module) -> impl Iterator<Item = String> {
    let managed = |d: &&ptx::ast::Declaration| {
        tree.directives[d.attributes].iter().any(|a| tree.name(a.name.symbol) == "managed")
    };
    let names = |d: &ptx::ast::Declaration| &tree.declarators[d.declarators];
    tree.declarations
        .iter()
        .filter(managed)
        .flat_map(names)
        .map(|d| tree.name(d.name.symbol).to_owned())
}

/// Returns the names of all references.
fn references(tree: &ptx::Module) -> impl Iterator<Item = (String, ReferenceKind)> {
    let kind = |d: &ptx::ast::Declaration| match tree.name(d.ty?.symbol) {
        "texref" => Some(ReferenceKind::Texture),
        "samplerref" => Some(ReferenceKind::Sampler),
        "surfref" => Some(ReferenceKind::Surface),
        _ => None,
    };
    let found = tree.declarations.iter().filter_map(move |d| Some((d, kind(d)?)));
    found.flat_map(move |(d, kind)| {
        let names = tree.declarators[d.declarators].iter();
        names.map(move |declared| (tree.name(declared.name.symbol).to_owned(), kind))
    })
}

/// Separates the definitions of a text that can be lowered from those that cannot.
struct LowerableParts<'t> {
    tree: &'t ptx::Module,
    sources: &'t SourceMap,
    /// Whether external names may stay undefined.
    object: bool,
    refused: Vec<Refused>,
}

impl<'t> LowerableParts<'t> {
    fn new(tree: &'t ptx::Module, sources: &'t SourceMap) -> Self {
        Self { tree, sources, object: false, refused: Vec::new() }
    }

    /// Lowers all kernels and variables that can be lowered, and returns the others. Returns no
    /// module if no kernel is left.
    fn lower(mut self) -> (Option<ir::Module>, Vec<Refused>) {
        let kernels = self.lowerable(SymbolKind::Kernel, &self.kernels());
        if kernels.is_empty() {
            return (None, self.refused);
        }
        let variables = self.lowerable(SymbolKind::Variable, &self.variables());
        let parts = Select::Parts { functions: &kernels, variables: &variables };
        (ptx::lower(self.tree, parts).0, self.refused)
    }

    /// Does the same for a text that is linked with others, with all of its functions.
    fn lower_object(mut self) -> (Option<Object>, Vec<Refused>) {
        self.object = true;
        let kernels = self.kernels();
        let mut functions = self.lowerable(SymbolKind::Kernel, &kernels);
        functions.extend(self.lowerable(SymbolKind::Function, &self.device_functions()));
        let variables = self.lowerable(SymbolKind::Variable, &self.variables());
        let parts = Select::Parts { functions: &functions, variables: &variables };
        (ptx::lower_object(self.tree, parts).0, self.refused)
    }

    fn device_functions(&self) -> Vec<&'t str> {
        let device = |f: &&ptx::ast::Function| f.kind == FunctionKind::Func && f.body.is_some();
        let functions = self.tree.functions().filter(device);
        functions.map(|f| self.tree.name(f.signature.name.symbol)).collect()
    }

    fn kernels(&self) -> Vec<&'t str> {
        let kernel = |f: &&ptx::ast::Function| f.kind == FunctionKind::Entry && f.body.is_some();
        let kernels = self.tree.functions().filter(kernel);
        kernels.map(|f| self.tree.name(f.signature.name.symbol)).collect()
    }

    /// Returns the module variables that the text defines.
    fn variables(&self) -> Vec<&'t str> {
        let tree = self.tree;
        let declarations = tree.items.iter().filter_map(|item| match item {
            Item::Variable(id) => Some(&tree.declarations[*id]),
            _ => None,
        });
        let defined = declarations.filter(|d| d.linkage != Some(Linkage::Extern));
        let names = defined.flat_map(|d| &tree.declarators[d.declarators]);
        names.map(|d| tree.name(d.name.symbol)).collect()
    }

    /// Returns those of `names` that can be lowered. Bisects the list where lowering fails.
    fn lowerable(&mut self, kind: SymbolKind, names: &[&'t str]) -> Vec<&'t str> {
        let parts = match kind {
            SymbolKind::Kernel | SymbolKind::Function => {
                Select::Parts { functions: names, variables: &[] }
            }
            SymbolKind::Variable => Select::Parts { functions: &[], variables: names },
        };
        let (lowers, found) = match self.object {
            true => {
                let (object, found) = ptx::lower_object(self.tree, parts);
                (object.is_some(), found)
            }
            false => {
                let (module, found) = ptx::lower(self.tree, parts);
                (module.is_some(), found)
            }
        };
        match (lowers, names) {
            (true, _) => names.to_vec(),
            (false, []) => Vec::new(),
            (false, [name]) => {
                let (name, findings) = ((*name).to_owned(), findings(&found, self.sources));
                self.refused.push(Refused { kind, name, findings });
                Vec::new()
            }
            (false, _) => {
                let (first, second) = names.split_at(names.len() / 2);
                let mut good = self.lowerable(kind, first);
                good.extend(self.lowerable(kind, second));
                good
            }
        }
    }
}

fn refuse(found: &Diagnostics, sources: &SourceMap) -> Result<(), LoadError> {
    if found.has_errors() {
        return Err(LoadError { findings: findings(found, sources) });
    }
    Ok(())
}

/// Returns the text of all errors.
pub(crate) fn findings(found: &Diagnostics, sources: &SourceMap) -> Vec<String> {
    let errors = found.iter().filter(|d| d.severity == isa::Severity::Error);
    errors.map(|d| describe(d, sources)).collect()
}

/// Formats a finding as `name:line:column: message: label (help)`.
fn describe(finding: &Diagnostic, sources: &SourceMap) -> String {
    let mut text = String::new();
    if let Some(label) = &finding.primary {
        text = format!("{}: ", sources.describe(label.span));
    }
    text.push_str(&finding.message);
    if let Some(label) = finding.primary.as_ref().filter(|l| !l.text.is_empty()) {
        text = format!("{text}: {}", label.text);
    }
    if let Some(help) = &finding.help {
        text = format!("{text} ({help})");
    }
    text
}
