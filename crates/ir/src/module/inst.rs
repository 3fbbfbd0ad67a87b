//! Instructions, their operands, and what ends a block.

use super::{BlockId, FuncId, LaneReg, LocId, VarId, WarpReg};
use crate::mods::Mods;
use crate::op::Op;
use crate::sreg::Sreg;
use crate::ty::Ty;
use smallvec::SmallVec;

/// A register of either file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reg {
    /// One value a lane.
    Lane(LaneReg),
    /// One value for the group.
    Warp(WarpReg),
}

/// What a symbol names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Symbol {
    /// A variable of the module: its address in its space.
    Var(VarId),
    /// A local variable of the function, by index: its address in local space.
    Local(u32),
    /// A kernel parameter, by index: its offset in parameter space.
    Param(u32),
    /// A function: its address for indirect calls.
    Func(FuncId),
}

/// An operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// A register.
    Reg(Reg),
    /// Bits, zero-extended.
    Imm(u128),
    /// Address of a symbol plus a byte offset.
    Symbol(Symbol, i64),
    /// A special register.
    Sreg(Sreg),
    /// A function to call.
    Func(FuncId),
    /// A block.
    Block(BlockId),
}

impl Operand {
    /// A per-lane register.
    #[must_use]
    pub const fn lane(reg: LaneReg) -> Self {
        Self::Reg(Reg::Lane(reg))
    }

    /// A warp register.
    #[must_use]
    pub const fn warp(reg: WarpReg) -> Self {
        Self::Reg(Reg::Warp(reg))
    }
}

/// A guard: the instruction is off in lanes where the predicate does not hold (or holds, if
/// negated).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Guard {
    /// A predicate register.
    pub pred: LaneReg,
    /// `@!p`.
    pub negated: bool,
}

/// Why an instruction is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// The program said so.
    #[default]
    Source,
    /// A front end needed it to express the program.
    Lowering,
    /// Mask handling that replaces a branch.
    Mask,
    /// A predicate or mask was spilled or filled.
    Spill,
    /// Structurising: a branch or flag that the program did not have.
    Structure,
    /// A copy of another block's instruction.
    Copy,
    /// A synchronisation operation that a pass placed.
    Sync,
}

impl Origin {
    /// All origins with their words in the text form.
    pub const ALL: [(Self, &'static str); 7] = [
        (Self::Source, "source"),
        (Self::Lowering, "lowering"),
        (Self::Mask, "mask"),
        (Self::Spill, "spill"),
        (Self::Structure, "structure"),
        (Self::Copy, "copy"),
        (Self::Sync, "sync"),
    ];
}

/// An instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct Inst {
    /// In which lanes it is on.
    pub guard: Option<Guard>,
    /// What it does.
    pub op: Op,
    /// The type it works on, if it takes one.
    pub ty: Option<Ty>,
    /// Its second (source) type, if it takes one.
    pub ty2: Option<Ty>,
    /// Modifiers.
    pub mods: Mods,
    /// Byte offset added to its address operand.
    pub offset: i64,
    /// Results; `None` discards.
    pub results: SmallVec<[Option<Reg>; 2]>,
    /// Operands.
    pub operands: SmallVec<[Operand; 4]>,
    /// Why it is there.
    pub origin: Origin,
    /// Where it came from.
    pub loc: LocId,
}

impl Inst {
    /// An unguarded instruction without type, modifiers or operands.
    #[must_use]
    pub fn new(op: Op) -> Self {
        Self {
            guard: None,
            op,
            ty: None,
            ty2: None,
            mods: Mods::default(),
            offset: 0,
            results: SmallVec::new(),
            operands: SmallVec::new(),
            origin: Origin::Source,
            loc: LocId(0),
        }
    }

    /// Whether a result is a warp register. A computation then executes once for its group.
    #[must_use]
    pub fn is_uniform(&self) -> bool {
        self.results.iter().any(|r| matches!(r, Some(Reg::Warp(_))))
    }

    /// The first result that is not discarded.
    #[must_use]
    pub fn first_written(&self) -> Option<Reg> {
        self.results.iter().copied().flatten().next()
    }

    /// With a type.
    #[must_use]
    pub fn ty(mut self, ty: Ty) -> Self {
        self.ty = Some(ty);
        self
    }

    /// With one more result.
    #[must_use]
    pub fn result(mut self, reg: Reg) -> Self {
        self.results.push(Some(reg));
        self
    }

    /// With one more operand.
    #[must_use]
    pub fn operand(mut self, operand: Operand) -> Self {
        self.operands.push(operand);
        self
    }

    /// With an origin.
    #[must_use]
    pub fn origin(mut self, origin: Origin) -> Self {
        self.origin = origin;
        self
    }
}

/// How a branch on a mask decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MaskTest {
    /// Some lane is on.
    Any,
    /// No lane is on.
    None,
}

/// What ends a block.
#[derive(Clone, Debug, PartialEq)]
pub enum TermKind {
    /// Falls into the next block. Issues nothing.
    Fall,
    /// Jumps.
    Br(BlockId),
    /// Lanes where the guard holds jump, the others fall into the next block.
    CondBr(Guard, BlockId),
    /// Each lane jumps to the target that its index picks; an index beyond the table is a fault.
    Switch(Operand, Vec<BlockId>),
    /// The whole group jumps if the test holds of the mask, else falls into the next block.
    /// Uniform.
    MaskBr(MaskTest, MaskRef, BlockId),
    /// Returns from the function; from a kernel, ends the thread. With a guard, the other lanes
    /// fall into the next block.
    Ret(Option<Guard>),
    /// Ends the thread. With a guard, the other lanes fall into the next block.
    Exit(Option<Guard>),
}

/// The mask that a [`TermKind::MaskBr`] tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MaskRef {
    /// EXEC.
    Exec,
    /// A mask register.
    Reg(WarpReg),
    /// The lanes that are on and whose predicate holds.
    Pred(LaneReg),
}

/// The end of a block with its origin and place.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// What it does.
    pub kind: TermKind,
    /// Why it is there.
    pub origin: Origin,
    /// Where it came from.
    pub loc: LocId,
}

impl Term {
    /// A source-level end without a place.
    #[must_use]
    pub fn new(kind: TermKind) -> Self {
        Self { kind, origin: Origin::Source, loc: LocId(0) }
    }

    /// Whether it falls into the next block, for some lanes at least.
    #[must_use]
    pub fn falls(&self) -> bool {
        matches!(
            self.kind,
            TermKind::Fall
                | TermKind::CondBr(..)
                | TermKind::MaskBr(..)
                | TermKind::Ret(Some(_))
                | TermKind::Exit(Some(_))
        )
    }

    /// Whether it takes an issue: all but a plain fall-through do.
    #[must_use]
    pub fn issues(&self) -> bool {
        self.kind != TermKind::Fall
    }

    /// Blocks it jumps to, without the fall-through, in order.
    #[must_use]
    pub fn targets(&self) -> &[BlockId] {
        match &self.kind {
            TermKind::Br(b) | TermKind::CondBr(_, b) | TermKind::MaskBr(_, _, b) => {
                std::slice::from_ref(b)
            }
            TermKind::Switch(_, targets) => targets,
            TermKind::Fall | TermKind::Ret(_) | TermKind::Exit(_) => &[],
        }
    }

    /// The same, to be changed.
    pub fn targets_mut(&mut self) -> &mut [BlockId] {
        match &mut self.kind {
            TermKind::Br(b) | TermKind::CondBr(_, b) | TermKind::MaskBr(_, _, b) => {
                std::slice::from_mut(b)
            }
            TermKind::Switch(_, targets) => targets,
            TermKind::Fall | TermKind::Ret(_) | TermKind::Exit(_) => &mut [],
        }
    }
}

/// Instructions with one entry and one end.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// Its label.
    pub name: String,
    /// Its instructions.
    pub insts: Vec<Inst>,
    /// Its end.
    pub term: Term,
}
