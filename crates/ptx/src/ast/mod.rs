//! The syntax tree of a PTX file.
//!
//! It records what is written, not what it means: opcodes and modifiers are names with places,
//! operands have one generic form for all opcodes, and nothing is resolved. Bodies are flat lists
//! of statements with [`Statement::Open`] and [`Statement::Close`] for scopes, so no depth of
//! nesting costs stack.
//!
//! Always holds (the parser ensures it, even for broken text): scopes in a body are balanced; the
//! lists of an initialiser are balanced; expressions are at most [`MAX_DEPTH`] deep; operands nest
//! at most [`MAX_DEPTH`] deep; the tree's size is proportional to the text's.

use isa::{FileId, Span};

use crate::names::{Names, Symbol};
use crate::pool::{Id, Pool, Run};
pub use crate::types::{Space, Type};
pub use operand::{Expression, Integer, Operand, OperandKind, Operator};

mod operand;

/// Most levels to which expressions and operands may nest.
pub const MAX_DEPTH: u16 = 200;

/// A whole file.
#[derive(Clone, Debug, PartialEq)]
pub struct Module {
    /// The file that the spans are in.
    pub file: FileId,
    /// All names.
    pub names: Names,
    /// The items of the file, in order.
    pub items: Vec<Item>,
    /// Nodes that the items refer to.
    pub functions: Pool<Function>,
    /// Variables, registers and parameters.
    pub declarations: Pool<Declaration>,
    /// The names that declarations declare.
    pub declarators: Pool<Declarator>,
    /// Parts of initialisers, and values in `.section` blocks.
    pub inits: Pool<Init>,
    /// Function directives such as `.maxntid`, and directives not known.
    pub directives: Pool<Directive>,
    /// Bodies of all functions, one after the other.
    pub statements: Pool<Statement>,
    /// All instructions.
    pub instructions: Pool<Instruction>,
    /// Modifiers of all instructions.
    pub modifiers: Pool<Name>,
    /// Operands and parts of operands.
    pub operands: Pool<Operand>,
    /// Operators of expressions.
    pub expressions: Pool<Expression>,
    /// `.loc` directives.
    pub locs: Pool<Loc>,
    /// Lists of names (branch targets, call targets).
    pub name_lists: Pool<Name>,
    /// Contents of `.section` blocks.
    pub section_lines: Pool<SectionLine>,
    /// Whether something was left out because it could not be read.
    pub incomplete: bool,
}

impl Module {
    /// A file without anything in it.
    #[must_use]
    pub fn new(file: FileId) -> Self {
        Self {
            file,
            names: Names::new(),
            items: Vec::new(),
            functions: Pool::default(),
            declarations: Pool::default(),
            declarators: Pool::default(),
            inits: Pool::default(),
            directives: Pool::default(),
            statements: Pool::default(),
            instructions: Pool::default(),
            modifiers: Pool::default(),
            operands: Pool::default(),
            expressions: Pool::default(),
            locs: Pool::default(),
            name_lists: Pool::default(),
            section_lines: Pool::default(),
            incomplete: false,
        }
    }

    /// The text of a name.
    #[must_use]
    pub fn name(&self, symbol: Symbol) -> &str {
        self.names.get(symbol)
    }

    /// The functions in order, prototypes included.
    pub fn functions(&self) -> impl Iterator<Item = &Function> {
        self.functions.iter()
    }

    /// The statements of a function; empty for a prototype.
    #[must_use]
    pub fn body(&self, function: &Function) -> &[Statement] {
        function.body.map_or(&[], |run| &self.statements[run])
    }
}

/// Numbers of names and of nodes of each kind: what a tree held at some time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    names: usize,
    pools: [usize; 12],
}

impl Module {
    /// What the tree holds now.
    pub(crate) fn sizes(&self) -> Sizes {
        let pools = [
            self.declarations.len(),
            self.declarators.len(),
            self.inits.len(),
            self.directives.len(),
            self.statements.len(),
            self.instructions.len(),
            self.modifiers.len(),
            self.operands.len(),
            self.expressions.len(),
            self.locs.len(),
            self.name_lists.len(),
            self.section_lines.len(),
        ];
        Sizes { names: self.names.len(), pools }
    }

    /// Drops what has come since. Functions and items must be as they were.
    pub(crate) fn truncate(&mut self, sizes: &Sizes) {
        self.names.truncate(sizes.names);
        let [
            declarations,
            declarators,
            inits,
            directives,
            statements,
            instructions,
            modifiers,
            operands,
            expressions,
            locs,
            name_lists,
            section_lines,
        ] = sizes.pools;
        self.declarations.truncate(declarations);
        self.declarators.truncate(declarators);
        self.inits.truncate(inits);
        self.directives.truncate(directives);
        self.statements.truncate(statements);
        self.instructions.truncate(instructions);
        self.modifiers.truncate(modifiers);
        self.operands.truncate(operands);
        self.expressions.truncate(expressions);
        self.locs.truncate(locs);
        self.name_lists.truncate(name_lists);
        self.section_lines.truncate(section_lines);
    }
}

/// A name at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name {
    /// The name; of a dotted word without its dot.
    pub symbol: Symbol,
    /// Its place.
    pub span: Span,
}

/// An item of a file.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// `.version 8.5`
    Version {
        /// Before the dot.
        major: u32,
        /// After the dot.
        minor: u32,
        /// The directive.
        span: Span,
    },
    /// `.target sm_80, debug`
    Target {
        /// The words.
        words: Run<Name>,
        /// The directive.
        span: Span,
    },
    /// `.address_size 64`
    AddressSize {
        /// Bits.
        bits: u64,
        /// The directive.
        span: Span,
    },
    /// `.file`, which also occurs in bodies.
    File(File),
    /// A module variable.
    Variable(Id<Declaration>),
    /// A kernel or function, or its prototype.
    Function(Id<Function>),
    /// `.alias a, b;`
    Alias {
        /// The new name.
        alias: Name,
        /// The function that it stands for.
        aliasee: Name,
        /// The directive.
        span: Span,
    },
    /// `.section .debug_str { ... }`
    Section(Section),
    /// `.pragma` and directives that the parser does not know.
    Directive(Id<Directive>),
}

/// `.file 1 "a.cu", 123, 456`: a source file for `.loc`.
#[derive(Clone, Debug, PartialEq)]
pub struct File {
    /// The number that `.loc` uses.
    pub index: u64,
    /// The path as written, without quotes; escapes are kept.
    pub path: Symbol,
    /// Time stamp and size, when given.
    pub stamp: Option<(u64, u64)>,
    /// The directive.
    pub span: Span,
}

/// `.section NAME { lines }`: debug data.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// The name, with its dot when it has one.
    pub name: Symbol,
    /// The contents.
    pub lines: Run<SectionLine>,
    /// The whole block.
    pub span: Span,
}

/// One line of a `.section` block.
#[derive(Clone, Debug, PartialEq)]
pub enum SectionLine {
    /// `label:`
    Label(Name),
    /// `.b8 1, 2, 3`
    Data {
        /// The type's name.
        ty: Name,
        /// The values.
        values: Run<Init>,
    },
}

/// `.entry` or `.func`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionKind {
    /// A kernel.
    Entry,
    /// A device function.
    Func,
}

/// The visibility of a name to other modules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linkage {
    /// Defined elsewhere.
    Extern,
    /// Visible to other modules.
    Visible,
    /// Visible to others, gives way to a `.visible` one.
    Weak,
    /// Visible to others, merged with definitions of the same name.
    Common,
}

/// Returns, name and parameters: of a function or of a `.callprototype`.
#[derive(Clone, Debug, PartialEq)]
pub struct Signature {
    /// Return parameters, one declarator each.
    pub returns: Run<Declaration>,
    /// The name; `_` in a prototype.
    pub name: Name,
    /// Parameters, one declarator each.
    pub params: Run<Declaration>,
}

/// A kernel or device function.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Kernel or device function.
    pub kind: FunctionKind,
    /// `.visible` and the like.
    pub linkage: Option<Linkage>,
    /// `.attribute(...)`.
    pub attributes: Run<Directive>,
    /// Returns, name, parameters.
    pub signature: Signature,
    /// `.maxntid` and the like, between the parameters and the body.
    pub directives: Run<Directive>,
    /// The body without its outer braces; `None` for a prototype.
    pub body: Option<Run<Statement>>,
    /// From the first word to the parameters.
    pub head: Span,
    /// From the first word to the closing brace or semicolon.
    pub span: Span,
}

/// A directive in its general form: a name and operands.
#[derive(Clone, Debug, PartialEq)]
pub struct Directive {
    /// The name without its dot.
    pub name: Name,
    /// The operands, up to the next directive, `{` or `;`.
    pub args: Run<Operand>,
}

/// `.ptr .global .align 4` of a kernel parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PtrQualifier {
    /// The space that it points to; generic when absent.
    pub space: Option<Name>,
    /// The alignment of what it points to.
    pub align: Option<u64>,
}

/// Variables, registers or a parameter: one directive, any number of declarators.
#[derive(Clone, Debug, PartialEq)]
pub struct Declaration {
    /// `.extern` and the like.
    pub linkage: Option<Linkage>,
    /// The state space.
    pub space: Space,
    /// The bank of `.const[2]`.
    pub bank: Option<u64>,
    /// `.align`, as written.
    pub align: Option<(u64, Span)>,
    /// `.attribute(...)`.
    pub attributes: Run<Directive>,
    /// `.v2`, `.v4`, `.v8`: the number of elements.
    pub vector: Option<u8>,
    /// The type's name; `None` when it is missing.
    pub ty: Option<Name>,
    /// `.ptr`.
    pub ptr: Option<PtrQualifier>,
    /// The names declared.
    pub declarators: Run<Declarator>,
    /// The directive.
    pub span: Span,
}

/// One declared name.
#[derive(Clone, Debug, PartialEq)]
pub struct Declarator {
    /// The name.
    pub name: Name,
    /// `N` of `%r<N>`: declares `%r0` to `%rN-1`. Never expanded.
    pub count: Option<u64>,
    /// Array dimensions; [`OperandKind::Absent`] for `[]`.
    pub dims: Run<Operand>,
    /// The initialiser; empty when there is none.
    pub init: Run<Init>,
}

/// A part of an initialiser; lists are flat with `Open` and `Close`.
#[derive(Clone, Debug, PartialEq)]
pub struct Init {
    /// The part.
    pub kind: InitKind,
    /// Its place.
    pub span: Span,
}

/// The kinds of parts of an initialiser.
#[derive(Clone, Debug, PartialEq)]
pub enum InitKind {
    /// `{`
    Open,
    /// `}`
    Close,
    /// `addr_mode_0 =`, before its value.
    Field(Symbol),
    /// A number, a symbol's address, an expression.
    Value(OperandKind),
}

/// A statement of a body.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// `{`
    Open(Span),
    /// `}`
    Close(Span),
    /// `name:`
    Label(Name),
    /// An instruction.
    Instruction(Id<Instruction>),
    /// Registers or variables.
    Declaration(Id<Declaration>),
    /// `.loc`; the instructions that follow refer to it as well.
    Loc(Id<Loc>),
    /// `.file`, rare here.
    File(Box<File>),
    /// `.section`, rare here.
    Section(Box<Section>),
    /// `label: .branchtargets a, b;` or `label: .calltargets f, g;`
    Targets(Box<Targets>),
    /// `label: .callprototype ...;`
    Prototype(Box<Prototype>),
    /// `.pragma` and directives that the parser does not know.
    Directive(Id<Directive>),
}

/// A named list of labels or functions.
#[derive(Clone, Debug, PartialEq)]
pub struct Targets {
    /// The list's name.
    pub label: Name,
    /// Whether these are functions (`.calltargets`).
    pub calls: bool,
    /// The labels or functions; one with a count (`L<5>`) stands for `L0` to `L4`.
    pub targets: Run<Declarator>,
    /// The directive.
    pub span: Span,
}

/// A named function type for indirect calls.
#[derive(Clone, Debug, PartialEq)]
pub struct Prototype {
    /// The prototype's name.
    pub label: Name,
    /// Returns and parameters.
    pub signature: Signature,
    /// `.noreturn` and the like.
    pub directives: Run<Directive>,
    /// The directive.
    pub span: Span,
}

/// `.loc`: the place in the source language of what follows.
#[derive(Clone, Debug, PartialEq)]
pub struct Loc {
    /// Number of a `.file`.
    pub file: u32,
    /// Line from 1; 0 when unknown.
    pub line: u32,
    /// Column from 1; 0 when unknown.
    pub column: u32,
    /// The call at which the function that holds this was inlined.
    pub inlined: Option<InlinedAt>,
    /// The directive.
    pub span: Span,
}

/// The `function_name` and `inlined_at` parts of `.loc`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InlinedAt {
    /// A label in `.debug_str` for the inlined function's name.
    pub function: Name,
    /// An offset from it.
    pub offset: u64,
    /// Number of a `.file`.
    pub file: u32,
    /// Line of the call.
    pub line: u32,
    /// Column of the call.
    pub column: u32,
}

/// `@p` or `@!p`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// Whether `!` is there.
    pub negated: bool,
    /// The predicate.
    pub register: Name,
}

/// An instruction: an opcode, modifiers and operands of any kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction {
    /// The guard.
    pub guard: Option<Guard>,
    /// The first word.
    pub opcode: Name,
    /// The dotted words after it, in source order, without dots.
    pub modifiers: Run<Name>,
    /// The operands in order.
    pub operands: Run<Operand>,
    /// The `.loc` in force.
    pub loc: Option<Id<Loc>>,
    /// From guard to semicolon.
    pub span: Span,
}
