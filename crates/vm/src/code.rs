//! Linked code: what the engine executes.
//!
//! A [`Code`] is one instruction with everything resolved that can be resolved before a launch:
//! registers to rows of the register file, blocks and functions to places, lane operations to
//! function pointers. It holds no mask, no path and no state.

use crate::matrix::Matrix;
use crate::texture::TextureOp;
use compute::Computation;
use ir::mods::{
    AtomOp, Barrier, Bulk, Flag, Order, Proxy, Scope, Shuffle, Space, TensorMode, Vote,
};
use ir::module::MaskTest;
use ir::{LocId, Op, Origin, Sreg, Ty};
use products::GroupMultiply;
use simt::Pc;
use simt::mbarrier::Arrival;
use simt::memory::Width;
use simt::observe::AsyncGroups;
use smallvec::SmallVec;

/// The origin of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Src {
    /// A row of the lane's frame.
    Row(u32),
    /// The same bits in all lanes.
    Const(u64),
    /// A scalar of the group.
    Scalar(u32),
    /// The launch's address of a variable, plus an offset.
    Var(u32, i64),
}

/// A guard: a predicate row, and whether it must be false.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GuardRow {
    pub(crate) row: u32,
    pub(crate) negated: bool,
}

/// Rows of a register: one, or low and high of a 128-bit one.
pub(crate) type Rows = SmallVec<[u32; 2]>;

/// A per-lane computation and its operands.
#[derive(Clone, Debug)]
pub(crate) struct LaneOp {
    pub(crate) computation: Computation,
    /// Rows of the results, 128-bit ones as low, high. A discarded result is a scratch row.
    pub(crate) dst: Rows,
    pub(crate) src: SmallVec<[Src; 4]>,
    /// Whether the result goes to scalars of the group: executed once, for the group.
    pub(crate) uniform: bool,
}

/// A memory operation.
#[derive(Clone, Debug)]
pub(crate) struct MemOp {
    pub(crate) space: Space,
    pub(crate) addr: Src,
    pub(crate) offset: i64,
    /// Bytes of one element.
    pub(crate) size: u32,
    /// Width of an access to an element: 16-byte ones are two words.
    pub(crate) width: Width,
    /// Sign-extend loaded elements to the register's width.
    pub(crate) extend: Option<(Ty, u32)>,
    /// Rows of loaded elements, or sources of stored ones (two words each if 16 bytes).
    pub(crate) rows: SmallVec<[u32; 4]>,
    pub(crate) values: SmallVec<[Src; 4]>,
    pub(crate) order: Order,
    pub(crate) scope: Scope,
    /// Whether an address in shared memory may be that of another CTA of the cluster.
    pub(crate) cluster: bool,
}

/// A read-modify-write operation: `mem.values` are its operands, one or two for each element.
#[derive(Clone, Debug)]
pub(crate) struct AtomicOp {
    pub(crate) mem: MemOp,
    pub(crate) op: AtomOp,
    pub(crate) ty: Ty,
    /// Elements updated, each by itself.
    pub(crate) elements: u32,
}

/// An operation on a barrier in shared memory. Its operand is the first value of `mem`, its result
/// the one row; the second value of an arrival is the number of bytes that it expects.
#[derive(Clone, Debug)]
pub(crate) struct MbarrierOp {
    pub(crate) mem: MemOp,
    pub(crate) kind: MbarrierKind,
    /// Whether an arrival comes when the thread's copies are done.
    pub(crate) after_copies: bool,
}

/// The operation on a barrier in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are modifiers of the instruction")]
pub enum MbarrierKind {
    /// Initialises it; the operand is the count of arrivals.
    Init { v1: bool },
    /// Invalidates it.
    Inval,
    /// Arrives; the operand is the count, the result the state before.
    Arrive(Arrival),
    /// Expects bytes of transactions.
    Expect,
    /// Completes bytes of transactions.
    Complete,
    /// Tests whether the phase of a state, or of a parity, has completed.
    Test { parity: bool },
    /// Waits until it has completed, or gives up.
    Try { parity: bool },
    /// Tells whether it has a layout.
    Layout { v1: bool },
}

impl MbarrierKind {
    /// Its order unless the instruction has another.
    #[must_use]
    pub fn order(self) -> Order {
        match self {
            Self::Arrive(_) => Order::Release,
            Self::Test { .. } | Self::Try { .. } => Order::Acquire,
            Self::Expect | Self::Complete => Order::Relaxed,
            _ => Order::Weak,
        }
    }
}

/// A bulk copy, with operands as an engine has them.
#[derive(Clone, Debug)]
pub struct BulkOp<S> {
    /// Between which spaces it copies.
    pub kind: Bulk,
    /// The destination's address.
    pub to: S,
    /// Bytes added to it.
    pub offset: i64,
    /// The source's address.
    pub from: S,
    /// How many bytes.
    pub bytes: S,
    /// The barrier in shared memory at which it completes.
    pub barrier: Option<S>,
    /// The CTAs of a multicast, or the bytes of each 16 that are written.
    pub mask: Option<S>,
    /// Whether it is a multicast.
    pub multicast: bool,
    /// Bytes at the beginning and at the end that are not copied.
    pub trimmed: Option<[S; 2]>,
    /// The operation and type with which elements are combined.
    pub combine: Option<(AtomOp, Ty)>,
}

impl<S: Copy> BulkOp<S> {
    /// All operands.
    pub fn sources(&self) -> impl Iterator<Item = S> + '_ {
        let rest = self.barrier.into_iter().chain(self.mask);
        let rest = rest.chain(self.trimmed.into_iter().flatten());
        [self.to, self.from, self.bytes].into_iter().chain(rest)
    }
}

/// A tensor copy, with operands as an engine has them.
#[derive(Clone, Debug)]
pub struct TensorOp<S: Copy> {
    /// [`Bulk::Load`] or [`Bulk::Store`].
    pub kind: Bulk,
    /// What the box is.
    pub mode: TensorMode,
    /// The address in shared memory.
    pub shared: S,
    /// Bytes added to it.
    pub offset: i64,
    /// The generic address of the tensor map.
    pub map: S,
    /// The barrier in shared memory at which it completes.
    pub barrier: Option<S>,
    /// Coordinates from the innermost dimension on.
    pub at: SmallVec<[S; 5]>,
    /// Offsets along W, H, D.
    pub offsets: SmallVec<[S; 3]>,
    /// The CTAs of a multicast.
    pub mask: Option<S>,
    /// The operation with which elements are combined.
    pub combine: Option<AtomOp>,
}

impl<S: Copy> TensorOp<S> {
    /// What it reads.
    pub fn sources(&self) -> impl Iterator<Item = S> + '_ {
        let rest = self.at.iter().chain(&self.offsets).copied();
        [self.shared, self.map].into_iter().chain(self.barrier).chain(self.mask).chain(rest)
    }
}

/// Returns the bulk copy of an instruction, whose operands a function gives by their numbers;
/// `None` if there is no such copy.
///
/// # Errors
/// Those of the function.
pub fn bulk_copy<S, E>(
    inst: &ir::Inst,
    mut operand: impl FnMut(usize) -> Result<S, E>,
) -> Result<Option<BulkOp<S>>, E> {
    let Some(kind) = inst.mods.bulk else { return Ok(None) };
    let (flags, store) = (inst.mods.flags, kind == Bulk::Store);
    let combine = inst.mods.atom.map(|op| (op, inst.ty.unwrap_or(Ty::B8)));
    if combine.is_some_and(|(op, ty)| !crate::atomic::combines(op, ty)) {
        return Ok(None);
    }
    let at = 3 + usize::from(!store);
    let trimmed = match flags.has(Flag::Trimmed) {
        true => Some([operand(at)?, operand(at + 1)?]),
        false => None,
    };
    let mask = inst.operands.get(at).filter(|_| trimmed.is_none());
    let mask = mask.map(|_| operand(at)).transpose()?;
    Ok(Some(BulkOp {
        kind,
        to: operand(0)?,
        offset: inst.offset,
        from: operand(1)?,
        bytes: operand(2)?,
        barrier: if store { None } else { Some(operand(3)?) },
        mask,
        multicast: flags.has(Flag::Multicast),
        trimmed,
        combine,
    }))
}

/// Returns the tensor copy of an instruction, as [`bulk_copy`].
///
/// # Errors
/// Those of the function.
pub fn tensor_copy<S: Copy, E>(
    inst: &ir::Inst,
    mut operand: impl FnMut(usize) -> Result<S, E>,
) -> Result<Option<TensorOp<S>>, E> {
    let kind = inst.mods.bulk.filter(|kind| *kind != Bulk::Send);
    let (Some(kind), Some(mode)) = (kind, inst.mods.tensor) else { return Ok(None) };
    let load = kind == Bulk::Load;
    let multicast = load && inst.mods.flags.has(Flag::Multicast);
    let end = inst.operands.len().saturating_sub(usize::from(multicast));
    let given = end.saturating_sub(3);
    let rank = match mode {
        // A load in im2col mode has two offsets fewer than coordinates, along W two offsets.
        TensorMode::Im2col if load => (given + 2) / 2,
        TensorMode::Im2colWide | TensorMode::Im2colWide128 => given.saturating_sub(2),
        _ => given,
    };
    if !(1..=5).contains(&rank) {
        return Ok(None);
    }
    Ok(Some(TensorOp {
        kind,
        mode,
        shared: operand(0)?,
        offset: inst.offset,
        map: operand(1)?,
        barrier: if load { Some(operand(2)?) } else { None },
        at: (3..3 + rank).map(&mut operand).collect::<Result<_, E>>()?,
        offsets: (3 + rank..end).map(&mut operand).collect::<Result<_, E>>()?,
        mask: if multicast { Some(operand(end)?) } else { None },
        combine: inst.mods.atom,
    }))
}

/// Returns the operation of an instruction on a barrier in shared memory, if it is one.
#[must_use]
pub fn mbarrier_kind(inst: &ir::Inst) -> Option<MbarrierKind> {
    let flags = inst.mods.flags;
    Some(match inst.op {
        Op::MbarInit => MbarrierKind::Init { v1: flags.has(Flag::LayoutV1) },
        Op::MbarLayout => MbarrierKind::Layout { v1: flags.has(Flag::LayoutV1) },
        Op::MbarInval => MbarrierKind::Inval,
        Op::MbarArrive => MbarrierKind::Arrive(Arrival {
            drop: flags.has(Flag::Drop),
            no_complete: flags.has(Flag::NoComplete),
            counted: flags.has(Flag::Counted),
        }),
        Op::MbarExpect => MbarrierKind::Expect,
        Op::MbarComplete => MbarrierKind::Complete,
        Op::MbarTry => MbarrierKind::Try { parity: flags.has(Flag::Parity) },
        Op::MbarTest => MbarrierKind::Test { parity: flags.has(Flag::Parity) },
        _ => return None,
    })
}

/// An instruction on a texture or a surface: the rows of `mem` are its results.
#[derive(Clone, Debug)]
pub(crate) struct TextureAccess {
    pub(crate) mem: MemOp,
    pub(crate) op: TextureOp<Src>,
}

/// An asynchronous store of `mem.values`, or a reduction, in the shared memory of the cluster.
#[derive(Clone, Debug)]
pub(crate) struct AsyncStore {
    pub(crate) mem: MemOp,
    pub(crate) barrier: Src,
    pub(crate) combine: Option<(AtomOp, Ty)>,
}

/// A wait for groups of copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GroupWait {
    pub(crate) groups: AsyncGroups,
    /// Groups that may be unfinished; if absent, all copies are to be done, committed or not.
    pub(crate) pending: Option<u64>,
    /// Whether it is enough that sources have been read.
    pub(crate) reads: bool,
}

/// A copy from global to shared memory.
#[derive(Clone, Debug)]
pub(crate) struct CopyOp {
    /// The access that reads, without rows.
    pub(crate) from: MemOp,
    /// The access that writes, without values.
    pub(crate) to: MemOp,
    /// Bytes that are read; all of them if absent. The others are zero.
    pub(crate) bytes: Option<Src>,
}

/// A mask operation of the group.
#[derive(Clone, Debug)]
pub(crate) enum MaskOp {
    Read(u32),
    Write(MaskSrc),
    AndSave { save: u32, pred: Src },
    AndNot(Src),
    Xor(MaskSrc),
    Or(MaskSrc),
    Of { dst: u32, pred: Src },
    PredOf { dst: u32, mask: MaskSrc },
    Logic { op: Op, dst: u32, a: MaskSrc, b: MaskSrc },
    Spill { slot: u32, pred: Src },
    Fill { slot: u32, dst: u32 },
}

/// A mask operand.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MaskSrc {
    Reg(u32),
    /// The low lanes by bits.
    Const(u64),
}

/// A warp collective.
#[derive(Clone, Debug)]
pub(crate) struct CollectiveOp {
    pub(crate) kind: CollectiveKind,
    /// Member mask; `None` means the lanes that execute it together.
    pub(crate) members: Option<Src>,
    pub(crate) dst: SmallVec<[u32; 2]>,
    pub(crate) src: SmallVec<[Src; 4]>,
    /// The memory access of an instruction on matrices, if it has one: without rows and values.
    pub(crate) mem: Option<Box<MemOp>>,
}

/// The kind of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are modifiers of the instruction")]
pub enum CollectiveKind {
    /// Another lane's value.
    Shuffle(Shuffle),
    /// A vote.
    Vote(Vote),
    /// Lanes with the same value.
    Match { all: bool, bits: u32 },
    /// All values as one.
    Redux { op: AtomOp, ty: Ty, nan: bool },
    /// One of the lanes.
    Elect,
    /// The lanes that execute it.
    ActiveMask,
    /// Only the rendezvous.
    Sync,
    /// An operation on matrices that the whole warp holds.
    Matrix(Matrix),
    /// An operation of a warp on products of its warp group.
    WarpGroup(WarpGroupOp),
}

/// An operation of a warp on products of its warp group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "what is copied is little beside the product")]
pub enum WarpGroupOp {
    /// Orders accesses before the products that follow.
    Fence,
    /// Multiplies; sources are the predicate, descriptors, then registers.
    Multiply {
        /// What is computed.
        multiply: GroupMultiply,
        /// Whether the left factor is in registers.
        registers: bool,
    },
    /// Makes a group of the products so far.
    Commit,
}

/// A call: argument `i` is copied from its source to the row of the callee's frame, 128-bit values
/// as two.
#[derive(Clone, Debug)]
pub(crate) struct CallOp {
    pub(crate) target: CallTarget,
    pub(crate) args: SmallVec<[Src; 4]>,
    pub(crate) results: SmallVec<[u32; 2]>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum CallTarget {
    Func(u32),
    Address(Src),
}

/// The execution of an instruction.
#[derive(Clone, Debug)]
pub(crate) enum Exec {
    Lanes(LaneOp),
    Sreg {
        reg: Sreg,
        dst: u32,
        bits: u32,
    },
    Load(MemOp),
    Store(MemOp),
    Atomic(AtomicOp),
    Copy(CopyOp),
    Mbarrier(MbarrierOp),
    Bulk(BulkOp<Src>),
    Tensor(TensorOp<Src>),
    Texture(TextureAccess),
    /// Makes groups of the threads' copies.
    GroupCommit(AsyncGroups),
    GroupWait(GroupWait),
    AsyncStore(AsyncStore),
    ClusterArrive,
    ClusterWait,
    Fence(Order, Scope, Option<Proxy>),
    Alloca {
        dst: u32,
        size: Src,
        align: u32,
    },
    Collective(CollectiveOp),
    /// Waits until at most so many groups of products of the warp are unfinished.
    WaitProducts(u32),
    Bar {
        kind: Barrier,
        dst: Option<u32>,
        id: Src,
        count: Option<Src>,
        pred: Option<GuardRow>,
    },
    Mask(MaskOp),
    Split(Src),
    Join,
    BarrierSet {
        barrier: u16,
        rejoin: Pc,
    },
    BarrierWait(u16),
    BarrierBreak(u16),
    Yield,
    Call(CallOp),
    Br(Pc),
    CondBr(Pc),
    Switch {
        index: Src,
        targets: Vec<Pc>,
    },
    MaskBr {
        test: MaskTest,
        mask: MaskBrSrc,
        target: Pc,
    },
    Ret,
    Exit,
    Nop,
    Printf {
        dst: Option<u32>,
        format: Src,
        args: Src,
    },
    AssertFail {
        message: Src,
        file: Src,
        line: Src,
        function: Src,
    },
    Malloc {
        dst: u32,
        size: Src,
    },
    Free(Src),
    Trap,
    Breakpoint,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum MaskBrSrc {
    Exec,
    Reg(u32),
    Pred(u32),
}

/// One linked instruction.
#[derive(Clone, Debug)]
pub struct Code {
    pub(crate) exec: Exec,
    pub(crate) guard: Option<GuardRow>,
    pub(crate) op: Option<Op>,
    pub(crate) block_head: bool,
    pub(crate) function: u32,
    pub(crate) origin: Origin,
    pub(crate) loc: LocId,
}

impl Code {
    /// The reason that the instruction exists.
    #[must_use]
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// The instruction's origin, as an entry of the module's table of places.
    #[must_use]
    pub fn loc(&self) -> LocId {
        self.loc
    }

    /// The operation; `None` for the end of a block.
    #[must_use]
    pub fn op(&self) -> Option<Op> {
        self.op
    }

    /// Index of the function it belongs to.
    #[must_use]
    pub fn function(&self) -> usize {
        self.function as usize
    }
}

/// What an instruction exposes to the program of the schedule, or of the lanes that run together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ScheduleDependence {
    /// `activemask`, and collectives without named members: the lanes that execute together.
    ActiveLanes,
    /// `elect`: the lane that is chosen.
    Elected,
    /// The value of a clock, a timer, or the processor's number.
    Clock,
    /// The old value of an atomic operation, hence the order of updates.
    ReturnedAtomic,
    /// The result of a floating-point atomic operation, hence the order of updates.
    FloatAtomic,
    /// An address that `malloc` returned.
    Allocation,
    /// The order of output.
    PrintOrder,
}

impl ScheduleDependence {
    /// Returns the name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ActiveLanes => "active lanes",
            Self::Elected => "elected lane",
            Self::Clock => "clock",
            Self::ReturnedAtomic => "returned atomic",
            Self::FloatAtomic => "float atomic",
            Self::Allocation => "allocation address",
            Self::PrintOrder => "print order",
        }
    }
}

impl Code {
    /// Returns the result's dependence on the schedule, if any.
    #[must_use]
    pub fn schedule_dependence(&self) -> Option<ScheduleDependence> {
        match &self.exec {
            Exec::Collective(c) if c.kind == CollectiveKind::Elect => {
                Some(ScheduleDependence::Elected)
            }
            Exec::Collective(c) if c.members.is_none() => Some(ScheduleDependence::ActiveLanes),
            Exec::Sreg { reg, .. } if reg.observes_schedule() => Some(ScheduleDependence::Clock),
            Exec::Atomic(a) if a.ty.is_float() && a.op == AtomOp::Add => {
                Some(ScheduleDependence::FloatAtomic)
            }
            Exec::Atomic(a) if !a.mem.rows.is_empty() => Some(ScheduleDependence::ReturnedAtomic),
            Exec::Mbarrier(m) if !m.mem.rows.is_empty() => Some(ScheduleDependence::ReturnedAtomic),
            Exec::Malloc { .. } => Some(ScheduleDependence::Allocation),
            Exec::Printf { .. } => Some(ScheduleDependence::PrintOrder),
            _ => None,
        }
    }
}

impl Code {
    /// Returns whether threads can affect each other through it: it accesses memory that they
    /// share, waits for others, prints, or reads what depends on the order of threads. Issues of
    /// other instructions commute with those of other threads.
    #[must_use]
    pub fn interacts(&self) -> bool {
        let shared = |op: &MemOp| !matches!(op.space, Space::Local | Space::Param | Space::Const);
        match &self.exec {
            Exec::Load(op) | Exec::Store(op) => shared(op),
            Exec::GroupCommit(groups) | Exec::GroupWait(GroupWait { groups, .. }) => {
                *groups != AsyncGroups::Copies
            }
            Exec::Atomic(_)
            | Exec::Copy(_)
            | Exec::Mbarrier(_)
            | Exec::Bulk(_)
            | Exec::Tensor(_)
            | Exec::Texture(_)
            | Exec::AsyncStore(_)
            | Exec::ClusterArrive
            | Exec::ClusterWait
            | Exec::Collective(_)
            | Exec::WaitProducts(_)
            | Exec::Bar { .. }
            | Exec::Malloc { .. }
            | Exec::Free(_)
            | Exec::Printf { .. }
            | Exec::AssertFail { .. }
            | Exec::Trap => true,
            Exec::Sreg { reg, .. } => reg.observes_schedule(),
            _ => false,
        }
    }
}

impl Code {
    /// Returns the special register that it reads, if that is a mask of lanes.
    pub(crate) fn lane_mask(&self) -> Option<&'static str> {
        use ir::Sreg::{LaneMaskEq, LaneMaskGe, LaneMaskGt, LaneMaskLe, LaneMaskLt};
        match &self.exec {
            Exec::Sreg {
                reg: reg @ (LaneMaskEq | LaneMaskGe | LaneMaskGt | LaneMaskLe | LaneMaskLt),
                ..
            } => Some(reg.name()),
            _ => None,
        }
    }

    /// Returns whether its result depends on the number of lanes of the architectural warp: on lane
    /// numbers, on shuffle distances, on the lanes that take part.
    #[must_use]
    pub fn shows_warp_size(&self) -> bool {
        use ir::Sreg::{LaneId, NWarpId, WarpId};
        match &self.exec {
            Exec::Collective(c) => c.kind != CollectiveKind::Sync,
            Exec::Sreg { reg: LaneId | WarpId | NWarpId, .. } => true,
            _ => self.lane_mask().is_some(),
        }
    }

    /// Returns whether it needs all 32 lanes of a warp.
    pub(crate) fn needs_whole_warp(&self) -> bool {
        matches!(
            &self.exec,
            Exec::Collective(c)
                if matches!(c.kind, CollectiveKind::Matrix(_) | CollectiveKind::WarpGroup(_))
        )
    }

    /// Returns whether lanes of the architectural warp wait for each other here.
    pub(crate) fn is_collective(&self) -> bool {
        matches!(&self.exec, Exec::Collective(_))
    }
}

impl Code {
    /// Returns whether it decides where lanes go: its guard, if any, is a condition rather than a
    /// mask.
    pub(crate) fn is_control(&self) -> bool {
        matches!(
            self.exec,
            Exec::Br(_)
                | Exec::CondBr(_)
                | Exec::Switch { .. }
                | Exec::MaskBr { .. }
                | Exec::Call(_)
                | Exec::Ret
                | Exec::Exit
        )
    }

    /// Returns whether it counts as a branch issue: it may send lanes to more than one place.
    pub(crate) fn is_branch(&self) -> bool {
        match &self.exec {
            Exec::CondBr(_) | Exec::Switch { .. } | Exec::MaskBr { .. } => true,
            Exec::Call(call) => matches!(call.target, CallTarget::Address(_)),
            _ => false,
        }
    }

    /// Returns whether it executes once for its group.
    pub(crate) fn is_uniform(&self) -> bool {
        match &self.exec {
            Exec::Lanes(op) => op.uniform,
            Exec::MaskBr { .. } => true,
            Exec::Mask(op) => !matches!(op, MaskOp::PredOf { .. } | MaskOp::Fill { .. }),
            Exec::Join
            | Exec::BarrierSet { .. }
            | Exec::BarrierWait(_)
            | Exec::BarrierBreak(_)
            | Exec::Yield => true,
            _ => false,
        }
    }
}
