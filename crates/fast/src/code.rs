//! A kernel decoded for one launch: steps over rows, masks and scalars.
//!
//! Webs (`flow::analysis`) that are uniform are one scalar; affine ones are the base of a line, a
//! scalar too; predicates are masks; all others are rows. A step says where its operands are and
//! whether its result must leave lanes that are off alone.

use crate::frames::StackBytes;
use crate::lines::Lines;
use crate::ops::{Logic, Native, Op32, Op64, Rare, Test};
use compute::Computation;
use flow::footprint::Footprints;
use ir::Sreg;
use ir::Ty;
use ir::mods::{AtomOp, Barrier, BoolOp, Order, Scope, Space};
use products::Multiply;
use simt::observe::AccessKind;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use vm::DetachedCollective;

/// Where an operand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Src {
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
    /// The same bits in all lanes.
    Const(u64),
    /// Two constants: low and high words.
    ConstPair(u64, u64),
}

/// Where a result goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dst {
    /// Nowhere.
    None,
    /// A row of 32-bit or narrower values.
    Narrow(u32),
    /// A row of 64-bit values.
    Wide(u32),
    /// Two rows: low and high words.
    Pair(u32, u32),
    /// A mask.
    Pred(u32),
    /// A scalar.
    Scalar(u32),
}

/// A guard: lanes in which the predicate holds, or does not.
#[derive(Clone, Copy, Debug)]
pub struct Guard {
    /// The predicate.
    pub pred: Src,
    /// Whether it must not hold.
    pub negated: bool,
}

/// One instruction.
#[derive(Clone, Debug)]
pub struct Step {
    /// Which of the block's lanes execute it; all, if there is none.
    pub guard: Option<Guard>,
    /// Whether lanes that are off keep what they have.
    pub blend: bool,
    /// What it does.
    pub kind: Kind,
}

impl Step {
    /// What memory it accesses, and how.
    #[must_use]
    pub fn access(&self) -> Option<(&Memory, AccessKind)> {
        Some(match &self.kind {
            Kind::Load(memory) => (memory, AccessKind::Load),
            Kind::Store(memory) => (memory, AccessKind::Store),
            Kind::Atomic(atomic) => (&atomic.memory, AccessKind::Atomic),
            _ => return None,
        })
    }
}

/// What a step does.
#[derive(Clone, Debug)]
pub enum Kind {
    /// 32-bit values.
    Narrow {
        /// The operation.
        op: Op32,
        /// The row of the result.
        dst: u32,
        /// Operands; those beyond the operation's are 0.
        src: [Src; 3],
    },
    /// 64-bit values.
    Wide {
        /// The operation.
        op: Op64,
        /// The row of the result.
        dst: u32,
        /// Operands; those beyond the operation's are 0.
        src: [Src; 3],
    },
    /// On 32-bit values, but rarer.
    Rare {
        /// The operation.
        op: Rare,
        /// The row of the result.
        dst: u32,
        /// Operands.
        src: [Src; 3],
    },
    /// Low words of 64-bit values.
    Low {
        /// The row of the result.
        dst: u32,
        /// The values.
        src: Src,
    },
    /// A comparison, combined with a predicate if it says how.
    Test {
        /// The comparison.
        test: Test,
        /// Whether it compares 64-bit values.
        wide: bool,
        /// How its outcome is combined with the third operand.
        combine: Option<BoolOp>,
        /// The mask of the result.
        dst: u32,
        /// What is compared, and the predicate.
        src: [Src; 3],
    },
    /// The first operand where the third, a predicate, holds; else the second.
    Select {
        /// Whether values have 64 bits.
        wide: bool,
        /// The row of the result.
        dst: u32,
        /// Two values and the predicate.
        src: [Src; 3],
    },
    /// Logic on predicates.
    Logic {
        /// The operation.
        op: Logic,
        /// The mask of the result.
        dst: u32,
        /// Operands.
        src: [Src; 2],
    },
    /// A scalar computed from scalars.
    Scalar {
        /// The operation.
        native: Native,
        /// The scalar of the result.
        dst: u32,
        /// Operands: what lane 0 has, or would have.
        src: [Src; 3],
    },
    /// A scalar that is a 32-bit one widened over its lanes, times a factor, plus an addend. It
    /// must not wrap over the lanes that are on.
    Widen {
        /// Whether it is widened with its sign.
        signed: bool,
        /// The scalar of the result.
        dst: u32,
        /// The scalar that is widened.
        base: u32,
        /// What it grows by from lane to lane.
        stride: i64,
        /// What it is multiplied by.
        factor: u64,
        /// What is added.
        addend: Src,
    },
    /// Anything per lane, by the exact engine's function.
    Generic(Box<Generic>),
    /// A special register.
    Sreg {
        /// Which.
        reg: Sreg,
        /// Where it goes.
        dst: Dst,
        /// Bits of the register that it goes to.
        bits: u32,
    },
    /// A clock: the issues of the CTA before this one.
    Clock {
        /// Whether it is the high half.
        high: bool,
        /// Where it goes.
        dst: Dst,
        /// Bits of the register that it goes to.
        bits: u32,
    },
    /// A load.
    Load(Box<Memory>),
    /// A store.
    Store(Box<Memory>),
    /// A read-modify-write operation.
    Atomic(Box<Atomic>),
    /// A warp collective.
    Collective(Box<Collective>),
    /// An instruction on matrices of the whole warp.
    Matrix(Box<Bulk>),
    /// A copy from global to shared memory.
    Copy(Box<Copy>),
    /// An asynchronous operation, all of whose steps are done where it stands, or an operation on
    /// what tells that one has completed.
    Asynchronous(Box<Asynchronous>),
    /// An instruction on a texture or a surface.
    Texture(Box<Texture>),
    /// Output of each lane.
    Print(Box<Print>),
    /// Keeps registers of a function that may be entered again before the call returns.
    SaveFrame(Box<SaveFrame>),
    /// Puts back what lanes have kept at a call.
    RestoreFrame(Vec<Dst>),
    /// A barrier of all threads of the CTA.
    Barrier {
        /// What it gives back.
        kind: Barrier,
        /// Its number.
        id: Src,
        /// What is reduced.
        pred: Option<Src>,
        /// Where the outcome goes.
        dst: Dst,
    },
    /// Nothing.
    Nothing,
    /// Counted, and nothing more.
    Fence,
    /// The exact engine has to see to this.
    Leave(&'static str),
}

/// A per-lane computation of the exact engine's.
#[derive(Clone, Debug)]
pub struct Generic {
    /// The instruction.
    pub inst: ir::Inst,
    pub(crate) computation: Computation,
    /// Bits of the register of the first result.
    pub bits: u32,
    /// Sources by row: 128-bit ones have been taken apart.
    pub src: Vec<Src>,
    /// Where results go.
    pub dst: Vec<Dst>,
}

/// A memory access.
#[derive(Clone, Debug)]
pub struct Memory {
    /// The space that the address is in.
    pub space: Space,
    /// The address.
    pub address: Src,
    /// What is added to it.
    pub offset: i64,
    /// Bytes of a word.
    pub word: u32,
    /// Words of the access.
    pub words: u32,
    /// Sign-extend a loaded word of so many bits to so many.
    pub extend: Option<(u32, u32)>,
    /// Where loaded words go; a 16-byte element is two.
    pub dst: Vec<Dst>,
    /// Stored words, or operands of an atomic.
    pub src: Vec<Src>,
    /// Its order.
    pub order: Order,
    /// Among whom.
    pub scope: Scope,
    /// Whether an address in shared memory may be that of another CTA of the cluster.
    pub reaches_cluster: bool,
    /// The region of the last access.
    pub(crate) hint: Hint,
    /// Whether it has a footprint.
    pub(crate) has_footprint: bool,
}

/// The number of the region that an access reached last. Threads may share it: any value will do.
#[derive(Debug, Default)]
pub(crate) struct Hint(AtomicU32);

impl Clone for Hint {
    fn clone(&self) -> Self {
        Self(AtomicU32::new(self.get()))
    }
}

impl Hint {
    #[inline(always)]
    pub(crate) fn get(&self) -> u32 {
        self.0.load(Relaxed)
    }

    /// Written only where it changes, for threads that have the same would wait for each other.
    #[inline(always)]
    pub(crate) fn set(&self, region: u32) {
        if self.get() != region {
            self.0.store(region, Relaxed);
        }
    }
}

impl Memory {
    /// Bytes of the whole access.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        u64::from(self.word) * u64::from(self.words)
    }

    /// Bytes of a lane's access of this kind: an atomic has one word.
    pub(crate) fn lane_bytes(&self, kind: AccessKind) -> u32 {
        if kind == AccessKind::Atomic { self.word } else { self.bytes() as u32 }
    }

    /// Whether it has a footprint (`flow::footprint`). Such accesses make no claims in regions of
    /// which each CTA accesses bytes of its own, so others may not use what was found for them.
    #[must_use]
    pub fn has_footprint(&self) -> bool {
        self.has_footprint
    }
}

/// An atomic.
#[derive(Clone, Debug)]
pub struct Atomic {
    /// What it reaches; the operands are its stored words.
    pub memory: Memory,
    /// The operation.
    pub op: AtomOp,
    /// The type of the values.
    pub ty: Ty,
}

impl Atomic {
    /// The number of the operation and its type, if any order of such operations on a word leaves
    /// the same there, and nobody is told what was there before.
    pub(crate) fn commutes(&self) -> Option<u8> {
        if self.memory.dst.iter().any(|d| *d != Dst::None) || self.memory.src.len() != 1 {
            return None;
        }
        commuting(self.op, self.ty, self.memory.word)
    }
}

/// Returns the number of an operation on words of so many bytes and its type, if any order of such
/// operations on a word leaves the same there.
pub(crate) fn commuting(op: AtomOp, ty: Ty, word: u32) -> Option<u8> {
    if !matches!(word, 4 | 8) {
        return None;
    }
    let sort = match op {
        AtomOp::Add => 0,
        AtomOp::And => 1,
        AtomOp::Or => 2,
        AtomOp::Xor => 3,
        AtomOp::Min => 4,
        AtomOp::Max => 5,
        _ => return None,
    };
    // Signed and unsigned words are not ordered alike.
    let signed = match ty {
        Ty::S32 | Ty::S64 => true,
        Ty::B32 | Ty::B64 | Ty::U32 | Ty::U64 => false,
        _ => return None,
    };
    Some(sort << 2 | u8::from(signed) << 1 | u8::from(word == 8))
}

/// A warp collective.
#[derive(Clone, Debug)]
pub struct Collective {
    /// Which.
    pub what: DetachedCollective,
    /// Of a shuffle with a constant pattern: the lane that each lane reads, and in which lanes that
    /// is inside of the segment.
    pub pattern: Option<([u8; 32], u32)>,
    /// Its members, if it names them.
    pub members: Option<Src>,
    /// Operands.
    pub src: Vec<Src>,
    /// Where results go.
    pub dst: Vec<Dst>,
}

/// An instruction on matrices.
#[derive(Clone, Debug)]
pub struct Bulk {
    /// What it does.
    pub what: vm::Matrix,
    /// Its form for a whole warp at once, if it has one.
    pub direct: Option<Direct>,
    /// Where it loads from or stores to.
    pub memory: Option<Memory>,
    /// Operands behind the address.
    pub src: Vec<Src>,
    /// Where results go.
    pub dst: Vec<Dst>,
}

impl Bulk {
    /// Returns whether no value of an operand makes the step fault, access memory, or end
    /// otherwise than with results.
    pub(crate) fn only_computes(&self) -> bool {
        let sparse = matches!(self.what, vm::Matrix::Multiply(of) if of.product().sparse.is_some());
        self.memory.is_none() && !sparse
    }
}

/// A form of an instruction on matrices for a whole warp at once.
#[derive(Clone, Debug)]
pub enum Direct {
    /// A product.
    Multiply(Multiply),
    /// A load or store of a fragment by lines.
    Lines(Lines),
    /// A load or store of tiles of 16-bit elements, transposed or not.
    Tiles(bool),
}

impl Direct {
    /// Returns the form of an instruction, if it has one.
    pub(crate) fn new(what: vm::Matrix) -> Option<Self> {
        use simt::matrix::TileElement;
        use vm::Matrix::{LoadFragment, Multiply as Product, StoreFragment, Tiles};
        match what {
            Product(multiply) => multiply.is_direct().then_some(Self::Multiply(multiply)),
            Tiles(tiles) => {
                (tiles.element == TileElement::Bits16).then_some(Self::Tiles(tiles.transposed))
            }
            LoadFragment(fragment, columns) | StoreFragment(fragment, columns) => {
                Lines::new(fragment, columns).map(Self::Lines)
            }
            vm::Matrix::Transpose => None,
        }
    }
}

/// An instruction on a texture or a surface.
#[derive(Clone, Debug)]
pub struct Texture {
    /// What it does.
    pub op: vm::TextureOp<Src>,
    /// Where results go.
    pub dst: Vec<Dst>,
    /// The accesses to objects and to elements, without address and size.
    pub(crate) accesses: [Memory; 2],
}

impl Texture {
    /// Returns all operands.
    pub fn operands(&self) -> impl Iterator<Item = Src> + '_ {
        self.op.sources().chain(self.op.values.iter().copied())
    }
}

/// A frame of a caller that is kept while lanes are in a function that calls itself, or in one that
/// calls such a function.
#[derive(Clone, Debug)]
pub struct SaveFrame {
    /// The registers.
    pub src: Vec<Src>,
    /// The stack below the caller's frame, but for frames that are kept.
    pub(crate) below: StackBytes,
    /// The stack that the caller takes, and the callee with what it calls, but for functions that
    /// call themselves.
    pub(crate) caller: StackBytes,
    pub(crate) callee: StackBytes,
    /// Bytes of a thread's stack.
    pub(crate) limit: u64,
}

/// Output by a format.
#[derive(Clone, Debug)]
pub struct Print {
    /// The generic address of the format.
    pub format: Src,
    /// The generic address of the arguments.
    pub args: Src,
    /// Where the number of arguments goes.
    pub dst: Dst,
    /// An access to what is read, without address and size.
    pub(crate) memory: Memory,
}

/// A copy from global to shared memory.
#[derive(Clone, Debug)]
pub struct Copy {
    /// What it reads.
    pub from: Memory,
    /// What it writes.
    pub to: Memory,
    /// Bytes of a lane that it writes.
    pub size: u32,
    /// Bytes of them that it reads, if not all; the others are zero.
    pub bytes: Option<Src>,
}

/// An asynchronous operation, or one on what tells that such an operation has completed.
#[derive(Clone, Debug)]
pub struct Asynchronous {
    /// What it does; operands are among `src`.
    pub what: AsyncOp,
    /// Operands, in the instruction's order.
    pub src: Vec<Src>,
    /// Where results go.
    pub dst: Vec<Dst>,
    /// Whether another product of the same sums follows in the same block and turn, before anything
    /// can see the sums.
    pub is_followed: bool,
}

impl Asynchronous {
    /// Returns whether a warp may wait after the step.
    #[must_use]
    pub fn may_wait(&self) -> bool {
        match self.what {
            AsyncOp::Mbarrier(kind, _) => matches!(kind, vm::MbarrierKind::Try { .. }),
            AsyncOp::CountedBarrier { waits, .. } => waits,
            AsyncOp::ClusterBarrier { waits } => waits,
            AsyncOp::WaitProducts(_) => true,
            _ => false,
        }
    }

    /// Returns the registers that it may read or write after the step, in the turn of another warp:
    /// operands, and results.
    #[must_use]
    pub fn in_flight(&self) -> (&[Src], &[Dst]) {
        match self.what {
            AsyncOp::WarpGroup(vm::WarpGroupOp::Multiply { registers, .. }) => {
                let first = if registers { 2 } else { 3 };
                (self.src.get(first..).unwrap_or_default(), &self.dst)
            }
            _ => (&[], &[]),
        }
    }

    /// The accesses that it names, without those of tensor copies.
    fn accesses(&self) -> impl Iterator<Item = &Memory> {
        match &self.what {
            AsyncOp::Mbarrier(_, memory) => std::slice::from_ref(memory).iter(),
            AsyncOp::Bulk(_, accesses) | AsyncOp::Tensor(_, accesses) => accesses.iter(),
            AsyncOp::Store(store) => std::slice::from_ref(&store.memory).iter(),
            AsyncOp::CountedBarrier { .. }
            | AsyncOp::ClusterBarrier { .. }
            | AsyncOp::WarpGroup(..)
            | AsyncOp::WaitProducts(_) => [].iter(),
        }
    }

    /// Returns whether all operands and results of its parts are in the lists.
    #[must_use]
    pub fn is_consistent(&self) -> bool {
        let known = |src: Src| matches!(src, Src::Const(_)) || self.src.contains(&src);
        let copy = match &self.what {
            AsyncOp::Bulk(op, _) => op.sources().all(known),
            AsyncOp::Tensor(op, _) => op.sources().all(known),
            AsyncOp::Store(op) => known(op.barrier) && op.values.iter().all(|&src| known(src)),
            _ => true,
        };
        copy && self.accesses().all(|m| known(m.address) && m.src.is_empty() && m.dst.is_empty())
    }
}

/// What an asynchronous operation does.
#[derive(Clone, Debug)]
pub enum AsyncOp {
    /// An operation on a barrier in shared memory. Operands behind the address are a count, a state
    /// or a parity, and bytes.
    Mbarrier(vm::MbarrierKind, Memory),
    /// A barrier of a number of threads. Operands are its number and the threads.
    CountedBarrier {
        /// Whether the warp waits, or arrives alone.
        waits: bool,
        /// The barriers that are of all threads, as bits.
        plain: u16,
    },
    /// A bulk copy, and the accesses of its destination and source.
    Bulk(vm::BulkOp<Src>, [Memory; 2]),
    /// A store, or a reduction, in the shared memory of the cluster.
    Store(AsyncStore),
    /// The barrier of the cluster: an arrival, or a wait.
    ClusterBarrier {
        /// Whether the warp waits.
        waits: bool,
    },
    /// A tensor copy, and the accesses of its map and of the tensor.
    Tensor(vm::TensorOp<Src>, [Memory; 2]),
    /// An operation on products of a warp group.
    WarpGroup(vm::WarpGroupOp),
    /// Waits until at most so many groups of products of the warp are unfinished.
    WaitProducts(u32),
}

/// A store, or a reduction, in the shared memory of the cluster, and what it completes.
#[derive(Clone, Debug)]
pub struct AsyncStore {
    /// Where it stores.
    pub memory: Memory,
    /// The barrier in shared memory at which the bytes complete.
    pub barrier: Src,
    /// The words.
    pub values: Vec<Src>,
    /// How they are combined with those that are there, and their type.
    pub combine: Option<(AtomOp, Ty)>,
}

/// How a block ends.
#[derive(Clone, Debug)]
pub enum End {
    /// Goes on to a block.
    Go(u32),
    /// Lanes where the guard holds go to the first block, the others to the second.
    Branch(Guard, u32, u32),
    /// Each lane goes to the block of its index.
    Switch(Src, Vec<u32>),
    /// Lanes where the guard holds, or all, end; the others go on to the block.
    Exit(Option<Guard>, u32),
    /// All lanes go to the first block, and then wait for each other at the second.
    Call(u32, u32),
    /// Each lane goes to the block of its function's address, and then waits for the others at the
    /// last block.
    CallByAddress(Src, Vec<(u64, u32)>, u32),
    /// Lanes where the guard holds, or all, are back at the second block, where those wait that
    /// they were called with; the others go on to the first.
    Return(Option<Guard>, u32, u32),
    /// In place of the block that a [`Self::Return`] leads to: the lanes are back at the block of
    /// their number, which is the same in all of them. No lanes come here.
    ReturnBy(Src, Vec<u32>),
}

/// Where lanes that part at the end of a block meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejoin {
    /// At the beginning of a block.
    At(u32),
    /// Where those wait that parted before them.
    Enclosing,
    /// The same in a function: at the latest where it returns to.
    Return(u32),
}

/// A basic block.
#[derive(Clone, Debug)]
pub struct Block {
    /// Its steps.
    pub steps: std::ops::Range<usize>,
    /// How it ends.
    pub end: End,
    /// Whether the end takes an issue.
    pub end_issues: bool,
    /// Where lanes meet again that part at its end.
    pub rejoin: Rejoin,
    /// The place of the end.
    pub pc: u64,
    /// The first place of the block.
    pub first: u64,
    /// Whether its steps belong to a call: they take no issues.
    pub is_free: bool,
    /// Whether a basic block of the program begins with it.
    pub is_head: bool,
}

impl End {
    /// The blocks that lanes can go to.
    pub fn targets(&self) -> impl Iterator<Item = u32> {
        let (some, table): ([Option<u32>; 2], &[u32]) = match self {
            Self::Go(to) | Self::Exit(_, to) | Self::Return(None, _, to) | Self::Call(to, _) => {
                ([Some(*to), None], &[])
            }
            Self::Branch(_, to, next) | Self::Return(Some(_), next, to) => {
                ([Some(*to), Some(*next)], &[])
            }
            Self::Switch(_, targets) | Self::ReturnBy(_, targets) => ([None; 2], targets),
            Self::CallByAddress(..) => ([None; 2], &[]),
        };
        let called = match self {
            Self::CallByAddress(_, callees, _) => callees.as_slice(),
            _ => &[],
        };
        let table = table.iter().copied().chain(called.iter().map(|callee| callee.1));
        some.into_iter().flatten().chain(table)
    }
}

/// A decoded kernel.
#[derive(Debug)]
pub struct Code {
    /// The blocks.
    pub blocks: Vec<Block>,
    /// The steps of all blocks.
    pub steps: Vec<Step>,
    /// The first block.
    pub entry: u32,
    /// Rows of 32-bit values.
    pub narrow: u32,
    /// Rows of 64-bit values.
    pub wide: u32,
    /// Masks.
    pub preds: u32,
    /// Scalars.
    pub scalars: u32,
    /// Bytes of parameters, which every launch gives.
    pub param_bytes: usize,
    /// Bytes of local memory of a thread, and how many of them are in use from the start.
    pub local_bytes: usize,
    pub(crate) local_reach: usize,
    /// What is read before it is written somewhere: only that has to be zero in the beginning.
    pub cleared: Vec<Src>,
    /// Whether functions that it calls were inlined, whose unwritten registers calls set to zero.
    pub(crate) has_calls: bool,
    /// Of a kernel in clusters of several CTAs: the step that reads the CTA's rank. Its shared
    /// addresses begin at as many times `vm::CTA_WINDOW`.
    pub rank_step: Option<usize>,
    /// Whether it has barriers of clusters: they see that threads end.
    pub has_cluster_barriers: bool,
    /// The computations of addresses in global memory, as far as they are linear.
    pub footprints: Box<Footprints>,
    /// Whether something may decline a launch whose footprints show nothing wrong.
    pub(crate) may_decline: bool,
    /// Whether launches are [screened](crate::Screen), and which accesses are judged.
    pub screened: Option<Judged>,
}

/// The accesses of a screened launch that its screen judges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Judged {
    /// None: barriers and collectives alone matter.
    Nothing,
    /// Those to shared memory, which have to lie in its variables.
    Shared,
    /// All.
    All,
}

impl Judged {
    /// Returns whether accesses in a state space are judged.
    #[must_use]
    pub fn includes(self, space: Space) -> bool {
        match (self, space) {
            (Self::Nothing, _) | (_, Space::Param | Space::Const) => false,
            (Self::Shared, space) => matches!(space, Space::Shared | Space::Generic),
            (Self::All, _) => true,
        }
    }
}

impl Code {
    /// Returns how many issues a tier counts from a step of a block on, counted from its beginning:
    /// to the next step after which the warp may wait, which it returns, too, or to the block's
    /// end.
    #[must_use]
    pub fn issues_from(&self, number: u32, first: usize) -> (usize, Option<usize>) {
        let block = &self.blocks[number as usize];
        let steps = &self.steps[block.steps.clone()];
        let wait = steps[first..].iter().position(Step::may_wait).map(|at| first + at + 1);
        let issues = match wait {
            Some(end) => end - first,
            None => steps.len() - first + usize::from(block.end_issues),
        };
        (if block.is_free { 0 } else { issues }, wait)
    }

    /// Returns how many issues have been counted that a step, counted from the beginning of its
    /// block, stands before: itself and those behind it.
    #[must_use]
    pub fn issues_ahead(&self, number: u32, index: usize) -> usize {
        let steps = &self.steps[self.blocks[number as usize].steps.clone()];
        let first = steps[..index].iter().rposition(Step::may_wait).map_or(0, |at| at + 1);
        self.issues_from(number, first).0 - (index - first)
    }

    /// Returns the block of each step.
    #[must_use]
    pub fn block_of_steps(&self) -> Vec<u32> {
        let mut of = vec![0; self.steps.len()];
        for (b, block) in self.blocks.iter().enumerate() {
            of[block.steps.clone()].fill(b as u32);
        }
        of
    }

    /// Whether warps may wait for others of their CTA.
    pub(crate) fn has_barriers(&self) -> bool {
        self.steps
            .iter()
            .any(|step| matches!(step.kind, Kind::Barrier { .. } | Kind::Asynchronous(_)))
    }

    /// Whether a block can come again.
    #[must_use]
    pub fn has_loops(&self) -> bool {
        self.blocks.iter().enumerate().any(|(b, block)| match &block.end {
            // On to the next block, if lanes are left; to a copy of a function and back, all of
            // them further on.
            End::Exit(..) | End::Call(..) | End::CallByAddress(..) | End::Return(..) => false,
            // Functions that call themselves.
            End::ReturnBy(..) => true,
            // What is behind a call.
            End::Go(_) if block.is_free => false,
            end => end.targets().any(|to| to as usize <= b),
        })
    }
}
