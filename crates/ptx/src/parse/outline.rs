//! Reads a file without its bodies, and bodies when they are asked for.
//!
//! A file may have thousands of kernels. An [`Outline`] holds what stands outside of bodies; bodies
//! and the initialisers of module variables are only found. They are read by name, with all that
//! they name: a definition counts as reached if its name, or an alias of it, stands in one that is
//! read, which is more than can be called, never less. [`Outline::forget`] gives back what was
//! read, so that the whole file is seen with little memory.
//!
//! Whatever is wrong outside of bodies, and whatever a text without syntax errors cannot have, ends
//! this: [`parse`] tells best what is wrong with a whole file.

use isa::{Diagnostics, FileId};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::{Parser, parse};
use crate::ast::{Declarator, Function, FunctionKind, Item, Module, Sizes};
use crate::lexer::{Token, TokenKind, closing};
use crate::names::Symbol;
use crate::pool::{Id, Run};

/// Section with the names of inlined functions.
pub(crate) const STRINGS: &str = ".debug_str";

/// The node that a skipped part of the text belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    Body(Id<Function>),
    Init(Id<Declarator>),
}

/// A body or an initialiser that was skipped: from its opening brace to the end of its closing one.
#[derive(Clone, Copy, Debug)]
struct Skipped {
    start: u32,
    end: u32,
    owner: Owner,
    /// Whether it has been read before.
    again: bool,
}

/// Bytes of text that were read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BytesRead {
    /// Those that had not been read before.
    pub(crate) first: usize,
    /// Those that had.
    pub(crate) again: usize,
}

impl std::ops::AddAssign for BytesRead {
    fn add_assign(&mut self, other: Self) {
        self.first += other.first;
        self.again += other.again;
    }
}

/// What a parser skips, and the names that it looks for.
#[derive(Clone, Debug, Default)]
pub(super) struct Skipping {
    /// Whether bodies and initialisers are to be skipped.
    on: bool,
    /// Whether the strings of debug data are to be kept all the same.
    strings: bool,
    /// Whether a part without an end was met.
    failed: bool,
    /// The part whose owner is still to be made.
    pending: Option<(u32, u32)>,
    parts: Vec<Skipped>,
    /// By symbol: whether a definition of this name is still to be read.
    wanted: Vec<bool>,
    /// Names that were wanted and stood in the text.
    reached: Vec<Symbol>,
}

impl Skipping {
    /// Says that the part skipped last belongs to a node.
    pub(super) fn owner(&mut self, owner: Owner) {
        if let Some(part) = self.pending.take() {
            self.own(part, owner);
        }
    }

    /// Takes the part skipped last, whose owner is given later.
    pub(super) fn take_pending(&mut self) -> Option<(u32, u32)> {
        self.pending.take()
    }

    /// Says to which node a part belongs.
    pub(super) fn own(&mut self, (start, end): (u32, u32), owner: Owner) {
        self.parts.push(Skipped { start, end, owner, again: false });
    }

    /// Whether the contents of this section are to be kept.
    pub(super) fn keeps_section(&self, name: &str) -> bool {
        !self.on || self.strings && name == STRINGS
    }

    /// Notes a name that stands in the text.
    #[inline]
    pub(super) fn note(&mut self, name: Symbol) {
        if let Some(wanted) = self.wanted.get_mut(name.index())
            && std::mem::take(wanted)
        {
            self.reached.push(name);
        }
    }
}

/// A definition of a file: a function's body or a variable's initialiser.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Definition {
    pub(crate) name: Symbol,
    /// The function; `None` for a variable.
    pub(crate) function: Option<Id<Function>>,
    /// Bytes of text.
    pub(crate) bytes: u32,
}

/// A file whose bodies and initialisers are read when they are asked for.
#[derive(Clone)]
pub(crate) struct Outline<'a> {
    parser: Parser<'a>,
    /// By name, the part of the text that defines it.
    parts: FxHashMap<Symbol, Skipped>,
    /// The functions that other names stand for.
    aliases: FxHashMap<Symbol, SmallVec<[Symbol; 1]>>,
    /// The names that have been looked at since what was read was forgotten.
    read: Vec<Symbol>,
    /// The tree's size without them.
    sizes: Sizes,
}

impl<'a> Outline<'a> {
    /// Finds the parts of a file. `None` if something is wrong outside of them, if two have the
    /// same name, or if one does not end before the next.
    ///
    /// Of debug data, only the names of inlined functions are kept, and only with `strings`.
    pub(crate) fn new(file: FileId, text: &'a str, strings: bool) -> Option<Self> {
        u32::try_from(text.len()).ok()?;
        let mut parser = Parser::new(file, text);
        parser.skipping.on = true;
        parser.skipping.strings = strings;
        parser.module();
        if parser.diagnostics.has_errors() || parser.skipping.failed {
            return None;
        }
        let mut skipping = std::mem::take(&mut parser.skipping);
        let module = &parser.module;
        let mut parts = FxHashMap::default();
        for part in std::mem::take(&mut skipping.parts) {
            let name = match part.owner {
                Owner::Body(id) => module.functions[id].signature.name.symbol,
                Owner::Init(id) => module.declarators[id].name.symbol,
            };
            if parts.insert(name, part).is_some() {
                return None;
            }
        }
        let mut aliases: FxHashMap<Symbol, SmallVec<[Symbol; 1]>> = FxHashMap::default();
        for item in &module.items {
            if let Item::Alias { alias, aliasee, .. } = item {
                // It would take the place of the function.
                if parts.contains_key(&alias.symbol) {
                    return None;
                }
                aliases.entry(alias.symbol).or_default().push(aliasee.symbol);
            }
        }
        skipping.wanted = vec![false; module.names.len()];
        for name in parts.keys().chain(aliases.keys()) {
            skipping.wanted[name.index()] = true;
        }
        skipping.on = false;
        let sizes = module.sizes();
        parser.skipping = skipping;
        Some(Self { parser, parts, aliases, read: Vec::new(), sizes })
    }

    /// The tree: with bodies and initialisers as far as they have been read. A kernel whose body
    /// was not read has an empty one, any other function none.
    pub(crate) fn tree(&self) -> &Module {
        &self.parser.module
    }

    /// All definitions that were skipped, in the order of the text.
    pub(crate) fn definitions(&self) -> Vec<Definition> {
        let mut all: Vec<_> = self.parts.iter().collect();
        all.sort_unstable_by_key(|(_, part)| part.start);
        let definition = |(&name, part): (&Symbol, &Skipped)| Definition {
            name,
            function: match part.owner {
                Owner::Body(id) => Some(id),
                Owner::Init(_) => None,
            },
            bytes: part.end - part.start,
        };
        all.into_iter().map(definition).collect()
    }

    /// Reads what defines a name, and all that it names. `None` if something is wrong there.
    pub(crate) fn read(&mut self, name: Symbol) -> Option<BytesRead> {
        self.parser.skipping.note(name);
        let mut bytes = BytesRead::default();
        while let Some(name) = self.parser.skipping.reached.pop() {
            self.read.push(name);
            for &aliasee in self.aliases.get(&name).into_iter().flatten() {
                self.parser.skipping.note(aliasee);
            }
            let Some(part) = self.parts.get_mut(&name) else { continue };
            let length = (part.end - part.start) as usize;
            match std::mem::replace(&mut part.again, true) {
                false => bytes.first += length,
                true => bytes.again += length,
            }
            let part = *part;
            self.part(part)?;
        }
        Some(bytes)
    }

    fn part(&mut self, part: Skipped) -> Option<()> {
        let parser = &mut self.parser;
        parser.jump(part.start);
        match part.owner {
            Owner::Body(id) => {
                let body = parser.body();
                parser.module.functions[id].body = Some(body);
            }
            Owner::Init(id) => {
                parser.module.declarators[id].init = parser.initialiser().ok()?;
            }
        }
        // It ends where it was taken to end: nothing of it was skipped for something else.
        let whole = parser.prev_end == part.end && !parser.diagnostics.has_errors();
        whole.then_some(())
    }

    /// Gives back all that has been read.
    pub(crate) fn forget(&mut self) {
        let module = &mut self.parser.module;
        for name in self.read.drain(..) {
            self.parser.skipping.wanted[name.index()] = true;
            let Some(part) = self.parts.get(&name) else { continue };
            match part.owner {
                Owner::Body(id) => {
                    let kernel = module.functions[id].kind == FunctionKind::Entry;
                    module.functions[id].body = kernel.then(Run::empty);
                }
                Owner::Init(id) => module.declarators[id].init = Run::empty(),
            }
        }
        module.truncate(&self.sizes);
    }
}

/// Reads a PTX file as [`parse`] does, but skips bodies and initialisers that kernels of these
/// names cannot reach. Errors in these are not reported.
///
/// A kernel whose body was skipped has an empty one, any other function none; a variable whose
/// initialiser was skipped has none.
#[must_use]
pub fn parse_kernels(file: FileId, text: &str, kernels: &[&str]) -> (Module, Diagnostics) {
    // The whole file tells best what is wrong.
    parse_some(file, text, kernels).unwrap_or_else(|| parse(file, text))
}

fn parse_some(file: FileId, text: &str, kernels: &[&str]) -> Option<(Module, Diagnostics)> {
    let mut outline = Outline::new(file, text, true)?;
    for name in kernels {
        if let Some(name) = outline.tree().names.find(name) {
            outline.read(name)?;
        }
    }
    Some((outline.parser.module, outline.parser.diagnostics))
}

impl Parser<'_> {
    /// Skips the part that begins here with a brace, if parts are to be skipped. The node to which
    /// it belongs must be given next.
    pub(super) fn skip_part(&mut self) -> bool {
        if !self.skipping.on || self.kind() != TokenKind::OpenBrace {
            return false;
        }
        let start = self.token.start;
        let Some(end) = closing(self.text, start) else {
            self.skipping.failed = true;
            return false;
        };
        self.jump(end);
        self.skipping.pending = Some((start, end));
        true
    }

    /// Goes on at a place in the text.
    fn jump(&mut self, to: u32) {
        self.lexer.seek(to);
        self.token = Token { kind: TokenKind::End, start: to, end: to };
        self.bump();
    }
}
