//! Modules, functions, blocks, instructions.
//!
//! Values are registers, not SSA names: each is written any number of times, and a front end gives
//! one register to each web where it can. Blocks stand in layout order, which is the order of
//! places (`Pc`) when the module is linked; a block that falls through falls into the next one.

use crate::ty::{RegTy, Ty};
use isa::{FileId, Span};
use rustc_hash::FxHashMap;
use simt::observe::Space;
use smallvec::SmallVec;
use std::sync::Arc;

mod inst;

pub use inst::{
    Block, Guard, Inst, MaskRef, MaskTest, Operand, Origin, Reg, Symbol, Term, TermKind,
};

macro_rules! index {
    ($($(#[$doc:meta])* $name:ident)+) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);
        impl $name {
            /// As an index into its table.
            #[must_use]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    )+ };
}

index! {
    /// A per-lane register of a function.
    LaneReg
    /// A warp register of a function: a mask or a warp-uniform scalar.
    WarpReg
    /// A block of a function.
    BlockId
    /// A function of a module.
    FuncId
    /// A variable of a module.
    VarId
    /// An entry of a module's table of source places.
    LocId
    /// An entry of a module's table of inlined calls.
    InlinedId
}

/// A register's declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegInfo {
    /// Its name, without a sigil.
    pub name: String,
    /// What it holds.
    pub ty: RegTy,
}

/// A kernel parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// Its name.
    pub name: String,
    /// The type it was declared with; aggregates are `b8`.
    pub ty: Ty,
    /// Bytes from the start of the parameter block.
    pub offset: u32,
    /// Bytes.
    pub size: u32,
    /// Alignment in bytes.
    pub align: u32,
    /// Whether it was declared as a pointer, and into which space.
    pub pointer: Option<Space>,
}

/// A variable of one thread, in a function's frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalVar {
    /// Its name.
    pub name: String,
    /// Bytes from the start of the frame.
    pub offset: u32,
    /// Bytes.
    pub size: u32,
    /// Alignment in bytes.
    pub align: u32,
}

/// Launch bounds that a kernel declares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaunchBounds {
    /// Most threads in each dimension.
    pub max: Option<[u32; 3]>,
    /// Exactly these threads.
    pub required: Option<[u32; 3]>,
    /// CTAs of a cluster in each dimension.
    pub cluster: Option<[u32; 3]>,
    /// Most CTAs of a cluster.
    pub max_cluster: Option<u32>,
    /// Whether a launch has to say what clusters are, if the kernel does not.
    pub explicit_cluster: bool,
    /// Whether the sizes of a grid are numbers of clusters.
    pub blocks_are_clusters: bool,
}

/// What a function is to its callers.
#[derive(Clone, Debug, PartialEq)]
pub enum Signature {
    /// Launched from outside; parameters are in parameter space.
    Kernel {
        /// Parameters in order.
        params: Vec<Param>,
        /// Launch bounds.
        bounds: LaunchBounds,
    },
    /// Called; parameters and results are registers.
    Device {
        /// Registers that receive the arguments.
        params: Vec<LaneReg>,
        /// Registers whose values are returned.
        results: Vec<LaneReg>,
    },
}

/// A function.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// How it is called.
    pub signature: Signature,
    /// Per-lane registers.
    pub regs: Vec<RegInfo>,
    /// Warp registers.
    pub warp_regs: Vec<RegInfo>,
    /// Variables of a thread.
    pub locals: Vec<LocalVar>,
    /// Spill slots for predicates that the group needs.
    pub spill_slots: u32,
    /// Blocks in layout order; the first is the entry.
    pub blocks: Vec<Block>,
    /// Where it was declared.
    pub loc: LocId,
}

impl Function {
    /// An empty function.
    #[must_use]
    pub fn new(name: impl Into<String>, signature: Signature) -> Self {
        Self {
            name: name.into(),
            signature,
            regs: Vec::new(),
            warp_regs: Vec::new(),
            locals: Vec::new(),
            spill_slots: 0,
            blocks: Vec::new(),
            loc: LocId(0),
        }
    }

    /// Whether it is a kernel.
    #[must_use]
    pub fn is_kernel(&self) -> bool {
        matches!(self.signature, Signature::Kernel { .. })
    }

    /// The parameters of a kernel; none of a device function.
    #[must_use]
    pub fn params(&self) -> &[Param] {
        match &self.signature {
            Signature::Kernel { params, .. } => params,
            Signature::Device { .. } => &[],
        }
    }

    /// A new per-lane register.
    pub fn new_reg(&mut self, name: impl Into<String>, ty: RegTy) -> LaneReg {
        self.regs.push(RegInfo { name: name.into(), ty });
        LaneReg(self.regs.len() as u32 - 1)
    }

    /// A new warp register.
    pub fn new_warp_reg(&mut self, name: impl Into<String>, ty: RegTy) -> WarpReg {
        self.warp_regs.push(RegInfo { name: name.into(), ty });
        WarpReg(self.warp_regs.len() as u32 - 1)
    }

    /// The blocks that control can go to from a block: the fall-through first, then targets in
    /// order, each once.
    #[must_use]
    pub fn successors(&self, block: BlockId) -> SmallVec<[BlockId; 2]> {
        let mut out = SmallVec::new();
        let Some(b) = self.blocks.get(block.index()) else { return out };
        let fall = b.term.falls().then_some(BlockId(block.0 + 1));
        for target in fall.into_iter().chain(b.term.targets().iter().copied()) {
            if !out.contains(&target) {
                out.push(target);
            }
        }
        out
    }

    /// Bytes of a thread's frame.
    #[must_use]
    pub fn frame_size(&self) -> u32 {
        self.locals.iter().map(|l| l.offset.saturating_add(l.size)).max().unwrap_or(0)
    }
}

/// Bytes of an initialiser that hold the address of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reloc {
    /// Byte offset of the address in the variable.
    pub offset: u32,
    /// Bytes of the address that are stored: 1, 4 or 8.
    pub size: u32,
    /// The first of them, counted from the lowest byte of the address.
    pub byte: u32,
    /// What it is the address of.
    pub symbol: Symbol,
    /// Added to the address.
    pub addend: i64,
    /// Whether it is the generic address.
    pub generic: bool,
}

/// A variable of the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Var {
    /// Its name.
    pub name: String,
    /// Its space: global, constant or shared.
    pub space: Space,
    /// Bytes; 0 for the dynamically sized shared array.
    pub size: u64,
    /// Alignment in bytes: a power of two.
    pub align: u32,
    /// First bytes of its content; the rest is zero. Empty for shared variables.
    pub init: Vec<u8>,
    /// Addresses in its content.
    pub relocs: Vec<Reloc>,
    /// Whether it stands for dynamic shared memory.
    pub dynamic: bool,
}

/// A line of the program that the module's text was made from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SourceLine {
    /// Index into [`Module::files`].
    pub file: u32,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1; 0 if unknown.
    pub column: u32,
    /// The inlined call that the line belongs to, if it does not belong to the function itself.
    pub inlined: Option<InlinedId>,
}

/// A call that a compiler has replaced by the body of the called function.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Inlined {
    /// The called function: its symbol, mangled where its language mangles; empty if unknown.
    pub function: Arc<str>,
    /// The line of the call, which may itself belong to an inlined call: an earlier entry of the
    /// table.
    pub call: SourceLine,
}

/// Entry 0 of a table of places.
static NOWHERE: Loc = Loc { span: Span::new(FileId(0), 0, 0), line: None };

/// A place in the module's text, and the source line behind it if the text names one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Loc {
    /// In the module's text.
    pub span: Span,
    /// In the program that the text was compiled from.
    pub line: Option<SourceLine>,
}

/// A module.
#[derive(Clone, Debug, PartialEq)]
pub struct Module {
    /// Functions.
    pub functions: Vec<Function>,
    /// Variables.
    pub vars: Vec<Var>,
    /// Places; entry 0 is "nowhere".
    pub locs: Vec<Loc>,
    /// Names of the source files that places refer to.
    pub files: Vec<String>,
    /// Inlined calls that source lines belong to.
    pub inlined: Vec<Inlined>,
}

impl Default for Module {
    fn default() -> Self {
        Self {
            functions: Vec::new(),
            vars: Vec::new(),
            locs: vec![Loc::default()],
            files: Vec::new(),
            inlined: Vec::new(),
        }
    }
}

impl Module {
    /// An empty module.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A function by name.
    #[must_use]
    pub fn function(&self, name: &str) -> Option<FuncId> {
        self.functions.iter().position(|f| f.name == name).map(|i| FuncId(i as u32))
    }

    /// A place by id; unknown ids are nowhere.
    #[must_use]
    pub fn loc(&self, id: LocId) -> &Loc {
        self.locs.get(id.index()).or(self.locs.first()).unwrap_or(&NOWHERE)
    }

    /// Enters a place, reusing the last one if it is the same.
    pub fn add_loc(&mut self, loc: Loc) -> LocId {
        if self.locs.last() != Some(&loc) {
            self.locs.push(loc);
        }
        LocId(self.locs.len() as u32 - 1)
    }

    /// The inlined calls that a source line belongs to, from the innermost to the outermost.
    pub fn inlined_calls(&self, line: &SourceLine) -> impl Iterator<Item = &Inlined> {
        let mut next = line.inlined;
        std::iter::from_fn(move || {
            let id = next?;
            let inlined = self.inlined.get(id.index())?;
            // The verifier holds this; a module that was not verified still ends.
            next = inlined.call.inlined.filter(|outer| *outer < id);
            Some(inlined)
        })
    }

    /// Whether the two are equal apart from places in their texts. Source lines count unless
    /// `lines` is false.
    #[must_use]
    pub fn same(&self, other: &Self, lines: bool) -> bool {
        self.without_spans(lines) == other.without_spans(lines)
    }

    /// A copy whose places have no spans, and source lines only if `lines` says so.
    #[must_use]
    pub fn without_spans(&self, lines: bool) -> Self {
        let mut out = Self { locs: vec![Loc::default()], ..self.clone() };
        let mut known: FxHashMap<SourceLine, LocId> = FxHashMap::default();
        let mut locs = Vec::new();
        let mut intern = |id: LocId| match self.loc(id).line.clone().filter(|_| lines) {
            None => LocId(0),
            Some(line) => *known.entry(line.clone()).or_insert_with(|| {
                locs.push(Loc { span: Span::default(), line: Some(line) });
                LocId(locs.len() as u32)
            }),
        };
        for function in &mut out.functions {
            function.loc = intern(function.loc);
            for block in &mut function.blocks {
                for inst in &mut block.insts {
                    inst.loc = intern(inst.loc);
                }
                block.term.loc = intern(block.term.loc);
            }
        }
        out.locs.append(&mut locs);
        if !lines {
            out.inlined.clear();
        }
        out
    }
}
