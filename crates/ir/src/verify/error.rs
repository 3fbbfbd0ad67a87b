//! Violations: which rule, where, why.

use crate::module::{BlockId, FuncId, LocId, Module, Reg, VarId};
use crate::text::{FunctionNames, print_inst, print_term};
use crate::ty::{RegTy, Ty};
use isa::Diagnostic;
use simt::observe::Space;
use std::fmt;
use thiserror::Error;

macro_rules! rules {
    ($($variant:ident $code:literal $name:literal)+) => {
        /// A rule of the verifier; the module's documentation says what each demands.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[expect(missing_docs, reason = "the module's documentation lists them")]
        pub enum Rule { $($variant),+ }

        impl Rule {
            /// All rules.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Its number, such as `V12`. Stable.
            #[must_use]
            pub const fn number(self) -> &'static str {
                match self { $(Self::$variant => $code),+ }
            }

            /// Its name, such as `target`. Stable.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            /// The code of its diagnostics, such as `ir::verify::target`. Stable.
            #[must_use]
            pub const fn code(self) -> &'static str {
                match self { $(Self::$variant => concat!("ir::verify::", $name)),+ }
            }
        }
    };
}

rules! {
    Name "V1" "name"
    Variable "V2" "variable"
    Reloc "V3" "reloc"
    Place "V4" "place"
    Signature "V5" "signature"
    Parameter "V6" "parameter"
    Local "V7" "local"
    Limit "V8" "limit"
    RegisterType "V9" "register-type"
    NoEntry "V10" "no-entry"
    FallsOff "V11" "falls-off"
    Target "V12" "target"
    Register "V13" "register"
    Guard "V14" "guard"
    Type "V15" "type"
    Modifier "V16" "modifier"
    Count "V17" "count"
    Operand "V18" "operand"
    Result "V19" "result"
    Immediate "V20" "immediate"
    Symbol "V21" "symbol"
    Uniform "V22" "uniform"
    Call "V23" "call"
    Memory "V24" "memory"
    SpillSlot "V25" "spill-slot"
    Offset "V26" "offset"
}

/// What is wrong. Operands and results are counted from 1 in messages and from 0 in fields.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum Violation {
    #[error("two {what}s are named `{name}`")]
    DuplicateName { what: &'static str, name: String },
    #[error("a {what} has no name")]
    NoName { what: &'static str },
    #[error("{why}")]
    Variable { why: &'static str },
    #[error("address {index} of the initialiser {why}")]
    Reloc { index: usize, why: &'static str },
    #[error("{what} {index} is not in its table")]
    Place { what: &'static str, index: u32 },
    #[error("{what} {index} of the function {why}")]
    Signature { what: &'static str, index: usize, why: &'static str },
    #[error("parameter {index} {why}")]
    Parameter { index: usize, why: &'static str },
    #[error("the launch bounds contain a 0")]
    Bounds,
    #[error("local variable {index} {why}")]
    Local { index: usize, why: &'static str },
    #[error("the function has {count} {what}; {limit} is the most")]
    Limit { what: &'static str, count: usize, limit: usize },
    #[error("per-lane register {index} holds a mask")]
    RegisterType { index: usize },
    #[error("the function has no block")]
    NoEntry,
    #[error("the last block falls through")]
    FallsOff,
    #[error("there is no block {}", .target.0)]
    NoSuchBlock { target: BlockId },
    #[error("a switch needs a target")]
    EmptySwitch,
    #[error("there is no register {reg:?}")]
    NoSuchRegister { reg: Reg },
    #[error("the guard is not a predicate")]
    GuardType,
    #[error("`{op}` executes for the whole group: it cannot have a guard")]
    GuardNotAllowed { op: &'static str },
    #[error("`{op}` cannot have {}", ty.map_or("no type".to_owned(), |t| format!("the type {t}")))]
    Type { op: &'static str, ty: Option<Ty> },
    #[error("`{op}` cannot have {}", ty.map_or("no second type".to_owned(), |t| format!("the second type {t}")))]
    Type2 { op: &'static str, ty: Option<Ty> },
    #[error("`{op}` needs {what}")]
    ModifierMissing { op: &'static str, what: &'static str },
    #[error("`{op}` takes no `{word}`")]
    ModifierNotTaken { op: &'static str, word: &'static str },
    #[error("`{word}` does not go with the type {ty}")]
    ModifierType { word: &'static str, ty: Ty },
    #[error("`{op}` has {count} {what}s")]
    Count { op: &'static str, what: &'static str, count: usize },
    #[error("{why}")]
    Parts { why: &'static str },
    #[error("operand {} must be {expected}", index + 1)]
    OperandKind { index: usize, expected: &'static str },
    #[error("operand {} is read as {ty}, but its register holds {found}", index + 1)]
    OperandType { index: usize, ty: Ty, found: RegTy },
    #[error("result {} must be {expected}", index + 1)]
    ResultKind { index: usize, expected: &'static str },
    #[error("result {} is {ty}, but its register holds {found}", index + 1)]
    ResultType { index: usize, ty: Ty, found: RegTy },
    #[error("result {} goes into the same register as one before it", index + 1)]
    ResultTwice { index: usize },
    #[error("operand {}: {value:#x} does not fit {what}", index + 1)]
    Immediate { index: usize, value: u128, what: String },
    #[error("operand {}: there is no such symbol", index + 1)]
    NoSuchSymbol { index: usize },
    #[error("operand {}: the symbol cannot be read as {}", index + 1, ty.map_or("this", Ty::name))]
    SymbolType { index: usize, ty: Option<Ty> },
    #[error(
        "operand {}: the symbol lies in {found} space, the access is to {space} space",
        index + 1,
        found = (*.found).word(),
        space = (*.space).word()
    )]
    SymbolSpace { index: usize, found: Space, space: Space },
    #[error("`{op}` cannot have a warp register as a result")]
    NotUniform { op: &'static str },
    #[error(
        "operand {}: a uniform instruction reads warp registers and immediates only",
        index + 1
    )]
    UniformOperand { index: usize },
    #[error("{why}")]
    Call { why: &'static str },
    #[error("argument {index} is of another type than the function's parameter")]
    ArgumentType { index: usize },
    #[error("result {} is of another type than the function's", index + 1)]
    CallResultType { index: usize },
    #[error("`{op}` {why}")]
    Memory { op: &'static str, why: &'static str },
    #[error("there is no spill slot {slot}: the function has {slots}")]
    SpillSlot { slot: u128, slots: u32 },
    #[error("`{op}` has a byte offset but no address")]
    Offset { op: &'static str },
}

impl Violation {
    /// The rule that is violated.
    #[must_use]
    pub const fn rule(&self) -> Rule {
        match self {
            Self::DuplicateName { .. } | Self::NoName { .. } => Rule::Name,
            Self::Variable { .. } => Rule::Variable,
            Self::Reloc { .. } => Rule::Reloc,
            Self::Place { .. } => Rule::Place,
            Self::Signature { .. } => Rule::Signature,
            Self::Parameter { .. } | Self::Bounds => Rule::Parameter,
            Self::Local { .. } => Rule::Local,
            Self::Limit { .. } => Rule::Limit,
            Self::RegisterType { .. } => Rule::RegisterType,
            Self::NoEntry => Rule::NoEntry,
            Self::FallsOff => Rule::FallsOff,
            Self::NoSuchBlock { .. } | Self::EmptySwitch => Rule::Target,
            Self::NoSuchRegister { .. } => Rule::Register,
            Self::GuardType | Self::GuardNotAllowed { .. } => Rule::Guard,
            Self::Type { .. } | Self::Type2 { .. } => Rule::Type,
            Self::ModifierMissing { .. }
            | Self::ModifierNotTaken { .. }
            | Self::ModifierType { .. } => Rule::Modifier,
            Self::Count { .. } | Self::Parts { .. } => Rule::Count,
            Self::OperandKind { .. } | Self::OperandType { .. } => Rule::Operand,
            Self::ResultKind { .. } | Self::ResultType { .. } | Self::ResultTwice { .. } => {
                Rule::Result
            }
            Self::Immediate { .. } => Rule::Immediate,
            Self::NoSuchSymbol { .. } | Self::SymbolType { .. } | Self::SymbolSpace { .. } => {
                Rule::Symbol
            }
            Self::NotUniform { .. } | Self::UniformOperand { .. } => Rule::Uniform,
            Self::Call { .. } | Self::ArgumentType { .. } | Self::CallResultType { .. } => {
                Rule::Call
            }
            Self::Memory { .. } => Rule::Memory,
            Self::SpillSlot { .. } => Rule::SpillSlot,
            Self::Offset { .. } => Rule::Offset,
        }
    }
}

/// Where in a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// The module.
    Module,
    /// A variable.
    Var(VarId),
    /// A function's head.
    Function(FuncId),
    /// An instruction: function, block, index in the block.
    Inst(FuncId, BlockId, usize),
    /// The end of a block.
    End(FuncId, BlockId),
}

impl Place {
    /// The function, if it is in one.
    #[must_use]
    pub fn function(self) -> Option<FuncId> {
        match self {
            Self::Module | Self::Var(_) => None,
            Self::Function(f) | Self::Inst(f, ..) | Self::End(f, _) => Some(f),
        }
    }
}

/// A violation and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyError {
    /// Where.
    pub place: Place,
    /// The place in the text.
    pub loc: LocId,
    /// What.
    pub violation: Violation,
}

impl VerifyError {
    /// For a user: the violation at its place in the text, with the names of what it is about.
    #[must_use]
    pub fn diagnostic(&self, module: &Module) -> Diagnostic {
        let out = Diagnostic::error(self.violation.rule().code(), self.violation.to_string());
        let span = module.loc(self.loc).span;
        let out = if self.loc == LocId(0) { out } else { out.at(span, "") };
        match self.describe(module) {
            Some(place) => out.note(place),
            None => out,
        }
    }

    /// The place by names, with the instruction's text.
    fn describe(&self, module: &Module) -> Option<String> {
        let in_block = |f: FuncId, b: BlockId| {
            let names = FunctionNames::new(module, f);
            let function = module.functions.get(f.index())?;
            let block = function.blocks.get(b.index())?;
            Some((format!("in `{}`, block `{}`", function.name, names.block(b)), names, block))
        };
        match self.place {
            Place::Module => None,
            Place::Var(v) => Some(format!("variable `{}`", module.vars.get(v.index())?.name)),
            Place::Function(f) => {
                Some(format!("function `{}`", module.functions.get(f.index())?.name))
            }
            Place::Inst(f, b, index) => {
                let (place, names, block) = in_block(f, b)?;
                let text = print_inst(module, &names, block.insts.get(index)?);
                Some(format!("{place}: `{text}`"))
            }
            Place::End(f, b) => {
                let (place, names, block) = in_block(f, b)?;
                Some(format!("{place}: `{}`", print_term(module, &names, &block.term)))
            }
        }
    }
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Place::Module => {}
            Place::Var(v) => write!(f, "variable {}: ", v.0)?,
            Place::Function(id) => write!(f, "function {}: ", id.0)?,
            Place::Inst(id, b, index) => {
                write!(f, "function {}, block {}, instruction {index}: ", id.0, b.0)?;
            }
            Place::End(id, b) => write!(f, "function {}, end of block {}: ", id.0, b.0)?,
        }
        let rule = self.violation.rule();
        write!(f, "{} ({} {})", self.violation, rule.number(), rule.name())
    }
}

impl std::error::Error for VerifyError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.violation)
    }
}

/// All violations found; at least one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifyErrors {
    list: Vec<VerifyError>,
    dropped: usize,
}

impl VerifyErrors {
    /// More than this are counted, not kept.
    pub const CAP: usize = 200;

    pub(super) fn push(&mut self, error: VerifyError) {
        if self.list.len() < Self::CAP {
            self.list.push(error);
        } else {
            self.dropped += 1;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Those that were kept, in order of their places.
    pub fn iter(&self) -> std::slice::Iter<'_, VerifyError> {
        self.list.iter()
    }

    /// How many were not kept.
    #[must_use]
    pub fn dropped(&self) -> usize {
        self.dropped
    }
}

impl<'a> IntoIterator for &'a VerifyErrors {
    type Item = &'a VerifyError;
    type IntoIter = std::slice::Iter<'a, VerifyError>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for VerifyErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.list.iter().enumerate() {
            let separator = if i == 0 { "" } else { "\n" };
            write!(f, "{separator}{error}")?;
        }
        if self.dropped > 0 {
            write!(f, "\nand {} more", self.dropped)?;
        }
        Ok(())
    }
}

impl std::error::Error for VerifyErrors {}
