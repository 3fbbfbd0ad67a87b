//! A kernel decoded for one launch: steps over rows, masks and scalars.
//!
//! Webs (`flow::analysis`) that are uniform are one scalar; affine ones are the base of a line, a scalar too; predicates are masks; all
//! others are rows. A step says where its operands are and whether its result must leave lanes that are off alone.

use crate::ops::{Logic, Native, Op32, Op64, Test};
use flow::analysis::{Facts, Web};
use ir::Sreg;
use ir::Ty;
use ir::mods::{AtomOp, Barrier, BoolOp, Order, Scope, Space};
use vm::{DetachedCollective, DetachedLanes};

/// Where an operand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Src {
    /// A row of 32-bit or narrower values.
    Narrow(u32),
    /// A row of 64-bit values.
    Wide(u32),
    /// Two rows: low and high words.
    Pair(u32, u32),
    /// A mask.
    Pred(u32),
    /// `scalar + lane * stride`, cut to the bits of a mask.
    Line(u32, i64, u64),
    Const(u64),
    /// Two constants: low and high words.
    ConstPair(u64, u64),
}

/// Where a result goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dst {
    None,
    Narrow(u32),
    Wide(u32),
    Pair(u32, u32),
    Pred(u32),
    Scalar(u32),
}

/// A guard: lanes in which the predicate holds, or does not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guard {
    pub(crate) pred: Src,
    pub(crate) negated: bool,
}

/// One instruction.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) guard: Option<Guard>,
    /// Whether lanes that are off keep what they have.
    pub(crate) blend: bool,
    pub(crate) kind: Kind,
}

/// What a step does.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Narrow {
        op: Op32,
        dst: u32,
        src: [Src; 3],
    },
    Wide {
        op: Op64,
        dst: u32,
        src: [Src; 3],
    },
    Low {
        dst: u32,
        src: Src,
    },
    Test {
        test: Test,
        wide: bool,
        combine: Option<BoolOp>,
        dst: u32,
        src: [Src; 3],
    },
    Select {
        wide: bool,
        dst: u32,
        src: [Src; 3],
    },
    Logic {
        op: Logic,
        dst: u32,
        src: [Src; 2],
    },
    /// A scalar computed from scalars.
    Scalar {
        native: Native,
        dst: u32,
        src: [Src; 3],
    },
    /// A scalar that is a 32-bit one widened over its lanes, times a factor, plus an addend.
    Widen {
        signed: bool,
        dst: u32,
        base: u32,
        stride: i64,
        factor: u64,
        addend: Src,
    },
    /// Anything per lane, by the exact engine's function.
    Generic(Box<Generic>),
    Sreg {
        reg: Sreg,
        dst: Dst,
        bits: u32,
    },
    Load(Box<Memory>),
    Store(Box<Memory>),
    Atomic(Box<Atomic>),
    Collective(Box<Collective>),
    Barrier {
        kind: Barrier,
        id: Src,
        pred: Option<Src>,
        dst: Dst,
    },
    Nothing,
    /// Counted, and nothing more.
    Fence,
    /// The exact engine has to see to this.
    Leave(&'static str),
}

#[derive(Clone, Debug)]
pub(crate) struct Generic {
    pub(crate) lanes: DetachedLanes,
    /// Sources by row: 128-bit ones have been taken apart.
    pub(crate) src: Vec<Src>,
    pub(crate) dst: Vec<Dst>,
}

#[derive(Clone, Debug)]
pub(crate) struct Memory {
    pub(crate) space: Space,
    pub(crate) addr: Src,
    pub(crate) offset: i64,
    /// Bytes of a word, and words of the whole access.
    pub(crate) word: u32,
    pub(crate) words: u32,
    /// Sign-extend a loaded word of so many bits to so many.
    pub(crate) extend: Option<(u32, u32)>,
    /// Where loaded words go; a 16-byte element is two.
    pub(crate) dst: Vec<Dst>,
    /// Stored words, or operands of an atomic.
    pub(crate) src: Vec<Src>,
    pub(crate) order: Order,
    pub(crate) scope: Scope,
    /// The region of the last access.
    pub(crate) hint: std::cell::Cell<u32>,
}

impl Memory {
    pub(crate) fn bytes(&self) -> u64 {
        u64::from(self.word) * u64::from(self.words)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Atomic {
    pub(crate) memory: Memory,
    pub(crate) op: AtomOp,
    pub(crate) ty: Ty,
}

#[derive(Clone, Debug)]
pub(crate) struct Collective {
    pub(crate) what: DetachedCollective,
    pub(crate) members: Option<Src>,
    pub(crate) src: Vec<Src>,
    pub(crate) dst: Vec<Dst>,
}

/// How a block ends.
#[derive(Clone, Debug)]
pub(crate) enum End {
    /// Goes on to a block.
    Go(u32),
    /// Lanes where the guard holds go to the first block, the others to the second.
    Branch(Guard, u32, u32),
    Switch(Src, Vec<u32>),
    /// Lanes where the guard holds, or all, end; the others go on to the block.
    Exit(Option<Guard>, u32),
}

/// Where lanes that part at the end of a block meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rejoin {
    At(u32),
    Enclosing,
}

#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) steps: std::ops::Range<usize>,
    pub(crate) end: End,
    /// Whether the end takes an issue.
    pub(crate) end_issues: bool,
    pub(crate) rejoin: Rejoin,
    /// The place of the end.
    pub(crate) pc: u64,
    /// The first place of the block.
    pub(crate) first: u64,
}

/// A decoded kernel.
#[derive(Debug)]
pub(crate) struct Code {
    pub(crate) blocks: Vec<Block>,
    pub(crate) steps: Vec<Step>,
    pub(crate) entry: u32,
    pub(crate) narrow: u32,
    pub(crate) wide: u32,
    pub(crate) preds: u32,
    pub(crate) scalars: u32,
    pub(crate) local_bytes: usize,
}

/// Storage of webs.
#[derive(Clone, Debug)]
pub(crate) struct Storage {
    of: Vec<Src>,
    pub(crate) narrow: u32,
    pub(crate) wide: u32,
    pub(crate) preds: u32,
    pub(crate) scalars: u32,
}

impl Storage {
    pub(crate) fn new(function: &ir::Function, facts: &Facts) -> Self {
        let mut this = Self { of: Vec::new(), narrow: 0, wide: 0, preds: 0, scalars: 0 };
        let next = |n: &mut u32| {
            *n += 1;
            *n - 1
        };
        for web in 0..facts.webs().len() as u32 {
            let (web, ty) = (Web(web), function.regs[facts.webs().reg(Web(web)).index()].ty);
            let src = match (facts.value(web).stride(), ty) {
                (_, ir::RegTy::B128) => Src::Pair(next(&mut this.wide), next(&mut this.wide)),
                (Some(stride), _) => {
                    let mask = u64::MAX >> (64 - ty.bits().clamp(1, 64));
                    Src::Line(next(&mut this.scalars), stride, mask)
                }
                (None, ir::RegTy::Pred) => Src::Pred(next(&mut this.preds)),
                (None, ir::RegTy::B64) => Src::Wide(next(&mut this.wide)),
                (None, _) => Src::Narrow(next(&mut this.narrow)),
            };
            this.of.push(src);
        }
        this
    }

    pub(crate) fn src(&self, web: Web) -> Src {
        self.of[web.index()]
    }

    pub(crate) fn dst(&self, web: Option<Web>) -> Dst {
        match web.map(|w| self.of[w.index()]) {
            None => Dst::None,
            Some(Src::Narrow(i)) => Dst::Narrow(i),
            Some(Src::Wide(i)) => Dst::Wide(i),
            Some(Src::Pair(a, b)) => Dst::Pair(a, b),
            Some(Src::Pred(i)) => Dst::Pred(i),
            Some(Src::Line(i, ..)) => Dst::Scalar(i),
            Some(Src::Const(_) | Src::ConstPair(..)) => Dst::None,
        }
    }
}
