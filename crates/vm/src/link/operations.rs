//! Operations other than per-lane computations and calls, and ends of blocks.

use super::frame::Frame;
use super::{Linked, operand_error};
use crate::code::{
    AsyncStore, AtomicOp, BulkOp, CollectiveKind, CollectiveOp, CopyOp, Exec, GroupWait, GuardRow,
    MaskBrSrc, MaskOp, MaskSrc, MbarrierOp, MemOp, Src, TensorOp, WarpGroupOp, bulk_copy,
    mbarrier_kind, tensor_copy,
};
use crate::matrix::Matrix;
use crate::program::LinkErrorKind;
use ir::mods::{Flag, MatrixLayout, Order, Scope, Space};
use ir::module::{MaskRef, TermKind};
use ir::{BlockId, Guard, Inst, Op, Operand, Reg, RegTy, Term, Ty};
use products::{GroupMultiply, Multiply};
use simt::Pc;
use simt::memory::Width;
use simt::observe::AsyncGroups;
use smallvec::SmallVec;

impl Frame<'_> {
    pub(super) fn sreg(&mut self, inst: &Inst) -> Linked<Exec> {
        let Some(Operand::Sreg(reg)) = inst.operands.first() else {
            return Err(operand_error(inst, 0));
        };
        let dst = self.results(inst)?[0];
        Ok(Exec::Sreg { reg: *reg, dst, bits: self.result_ty(inst).bits() })
    }

    pub(super) fn is_mask_op(&self, inst: &Inst) -> bool {
        inst.ty == Some(Ty::Mask)
    }

    pub(super) fn mask_src(&self, inst: &Inst, index: usize) -> Linked<MaskSrc> {
        match inst.operands.get(index) {
            Some(Operand::Reg(Reg::Warp(reg))) => Ok(MaskSrc::Reg(self.warp[reg.index()])),
            Some(Operand::Imm(bits)) => Ok(MaskSrc::Const(*bits as u64)),
            _ => Err(operand_error(inst, index)),
        }
    }

    pub(super) fn mask_dst(&self, inst: &Inst) -> Linked<u32> {
        match inst.results.first() {
            Some(Some(Reg::Warp(reg))) => Ok(self.warp[reg.index()]),
            _ => Err(LinkErrorKind::Unsupported(inst.op.name())),
        }
    }

    /// Moves and logic on masks.
    pub(super) fn mask_logic(&mut self, inst: &Inst) -> Linked<Exec> {
        let known = matches!(inst.op, Op::Mov | Op::Not | Op::And | Op::Or | Op::Xor | Op::AndNot);
        if !known {
            return Err(LinkErrorKind::Unsupported(inst.op.name()));
        }
        let a = self.mask_src(inst, 0)?;
        let b = if inst.operands.len() > 1 { self.mask_src(inst, 1)? } else { MaskSrc::Const(0) };
        Ok(Exec::Mask(MaskOp::Logic { op: inst.op, dst: self.mask_dst(inst)?, a, b }))
    }

    pub(super) fn exec_mask(&mut self, inst: &Inst) -> Linked<Exec> {
        Ok(Exec::Mask(match inst.op {
            Op::ExecRead => MaskOp::Read(self.mask_dst(inst)?),
            Op::ExecWrite => MaskOp::Write(self.mask_src(inst, 0)?),
            Op::ExecAndSave => {
                MaskOp::AndSave { save: self.mask_dst(inst)?, pred: self.operand(inst, 0)? }
            }
            Op::ExecAndNot => MaskOp::AndNot(self.operand(inst, 0)?),
            Op::ExecXor => MaskOp::Xor(self.mask_src(inst, 0)?),
            Op::ExecOr => MaskOp::Or(self.mask_src(inst, 0)?),
            Op::MaskOf => MaskOp::Of { dst: self.mask_dst(inst)?, pred: self.operand(inst, 0)? },
            Op::PredOf => {
                MaskOp::PredOf { dst: self.results(inst)?[0], mask: self.mask_src(inst, 0)? }
            }
            Op::PredSpill => MaskOp::Spill {
                slot: self.spill_base + self.immediate(inst, 0)?,
                pred: self.operand(inst, 1)?,
            },
            Op::PredFill => MaskOp::Fill {
                slot: self.spill_base + self.immediate(inst, 0)?,
                dst: self.results(inst)?[0],
            },
            _ => return Err(LinkErrorKind::Unsupported(inst.op.name())),
        }))
    }

    pub(super) fn converge(&mut self, inst: &Inst) -> Linked<Exec> {
        let barrier = |frame: &Self| {
            let index = frame.immediate(inst, 0)?;
            u16::try_from(index).map_err(|_| operand_error(inst, 0))
        };
        Ok(match inst.op {
            Op::Split => Exec::Split(self.operand(inst, 0)?),
            Op::Join => Exec::Join,
            Op::CbSet => {
                let Some(Operand::Block(block)) = inst.operands.get(1) else {
                    return Err(operand_error(inst, 1));
                };
                Exec::BarrierSet { barrier: barrier(self)?, rejoin: self.pc(*block) }
            }
            Op::CbWait => Exec::BarrierWait(barrier(self)?),
            Op::CbBreak => Exec::BarrierBreak(barrier(self)?),
            Op::Yield => Exec::Yield,
            _ => return Err(LinkErrorKind::Unsupported(inst.op.name())),
        })
    }

    pub(super) fn pc(&self, block: BlockId) -> Pc {
        self.block_pcs.get(block.index()).copied().unwrap_or_default()
    }

    pub(super) fn memory(&mut self, inst: &Inst) -> Linked<Exec> {
        match inst.op {
            Op::Fence => {
                let order = inst.mods.order.unwrap_or(Order::SeqCst);
                let scope = inst.mods.scope.unwrap_or(Scope::Gpu);
                return Ok(Exec::Fence(order, scope, inst.mods.proxy));
            }
            Op::Alloca => {
                let (dst, size) = (self.results(inst)?[0], self.operand(inst, 0)?);
                return Ok(Exec::Alloca { dst, size, align: self.immediate(inst, 1)? });
            }
            op if op.is_mbarrier() => return self.mbarrier(inst).map(Exec::Mbarrier),
            Op::BulkCopy => return self.bulk(inst).map(Exec::Bulk),
            Op::TensorCopy => return self.tensor(inst).map(Exec::Tensor),
            Op::Tex
            | Op::TexGather
            | Op::TexQuery
            | Op::SurfLoad
            | Op::SurfStore
            | Op::SurfReduce => return self.texture(inst).map(Exec::Texture),
            Op::BulkCommit => return Ok(Exec::GroupCommit(AsyncGroups::Bulk)),
            Op::BulkWait => {
                let pending = Some(u64::from(self.immediate(inst, 0)?));
                let reads = inst.mods.flags.has(Flag::Read);
                let groups = AsyncGroups::Bulk;
                return Ok(Exec::GroupWait(GroupWait { groups, pending, reads }));
            }
            _ => {}
        }
        let ty = inst.ty.ok_or(LinkErrorKind::Unsupported(inst.op.name()))?;
        let addr = self.operand(inst, 0)?;
        let mut values = SmallVec::new();
        let asynchronous = matches!(inst.op, Op::StAsync | Op::RedAsync);
        for (i, operand) in inst.operands.iter().enumerate().skip(1 + usize::from(asynchronous)) {
            self.flatten(operand, Some(ty), &mut values).map_err(|()| operand_error(inst, i))?;
        }
        let size = ty.bytes();
        let signed_load = inst.op == Op::Ld && ty.is_signed();
        if inst.op == Op::CpAsync {
            return self.copy(inst, size).map(Exec::Copy);
        }
        let mem = MemOp {
            space: inst.mods.space.unwrap_or(Space::Generic),
            addr,
            offset: inst.offset,
            size,
            width: Width::from_bytes(u64::from(size.min(8)))
                .ok_or(LinkErrorKind::Unsupported(inst.op.name()))?,
            extend: signed_load.then(|| (ty, self.result_ty(inst).bits())),
            rows: self.results(inst)?.iter().copied().collect(),
            values,
            order: inst.mods.order.unwrap_or(Order::Weak),
            scope: inst.mods.scope.unwrap_or(Scope::Gpu),
            cluster: inst.mods.flags.has(Flag::Cluster) || asynchronous,
        };
        Ok(match inst.op {
            Op::StAsync | Op::RedAsync => {
                let barrier = self.operand(inst, 1)?;
                let combine = inst.mods.atom.map(|op| (op, ty));
                if combine.is_some_and(|(op, ty)| !crate::atomic::supported(op, ty)) {
                    return Err(LinkErrorKind::Unsupported(inst.op.name()));
                }
                Exec::AsyncStore(AsyncStore { mem, barrier, combine })
            }
            Op::Ld => Exec::Load(mem),
            Op::St => Exec::Store(mem),
            Op::Atom | Op::AtomVec => {
                let op = inst.mods.atom.ok_or(LinkErrorKind::Unsupported(inst.op.name()))?;
                let elements =
                    if inst.op == Op::AtomVec { inst.operands.len() as u32 - 1 } else { 1 };
                if !crate::atomic::supported(op, ty) {
                    return Err(LinkErrorKind::Unsupported(inst.op.name()));
                }
                let mem = MemOp { order: inst.mods.order.unwrap_or(Order::Relaxed), ..mem };
                Exec::Atomic(AtomicOp { mem, op, ty, elements })
            }
            _ => return Err(LinkErrorKind::Unsupported(inst.op.name())),
        })
    }

    /// An operation on a barrier in shared memory.
    fn mbarrier(&mut self, inst: &Inst) -> Linked<MbarrierOp> {
        let flags = inst.mods.flags;
        let kind = mbarrier_kind(inst).ok_or(LinkErrorKind::Unsupported(inst.op.name()))?;
        let operands = 1..inst.operands.len();
        let values = operands.map(|i| self.operand(inst, i)).collect::<Linked<_>>()?;
        let mem = MemOp {
            space: inst.mods.space.unwrap_or(Space::Generic),
            addr: self.operand(inst, 0)?,
            offset: inst.offset,
            size: 8,
            width: Width::B8,
            extend: None,
            values,
            rows: self.results(inst)?.iter().copied().collect(),
            order: inst.mods.order.unwrap_or(kind.order()),
            scope: inst.mods.scope.unwrap_or(Scope::Cta),
            cluster: flags.has(Flag::Cluster),
        };
        Ok(MbarrierOp { mem, kind, after_copies: flags.has(Flag::Copies) })
    }

    fn bulk(&mut self, inst: &Inst) -> Linked<BulkOp<Src>> {
        let made = bulk_copy(inst, |i| self.operand(inst, i))?;
        made.ok_or(LinkErrorKind::Unsupported(inst.op.name()))
    }

    fn tensor(&mut self, inst: &Inst) -> Linked<TensorOp<Src>> {
        let made = tensor_copy(inst, |i| self.operand(inst, i))?;
        made.ok_or(LinkErrorKind::Unsupported(inst.op.name()))
    }

    fn copy(&mut self, inst: &Inst, size: u32) -> Linked<CopyOp> {
        let width = Width::from_bytes(u64::from(size.min(8)))
            .ok_or(LinkErrorKind::Unsupported(inst.op.name()))?;
        let to = MemOp {
            space: Space::Shared,
            addr: self.operand(inst, 0)?,
            offset: inst.offset,
            size,
            width,
            extend: None,
            rows: SmallVec::new(),
            values: SmallVec::new(),
            order: Order::Weak,
            scope: Scope::Gpu,
            cluster: false,
        };
        let Some(&Operand::Imm(offset)) = inst.operands.get(2) else {
            return Err(operand_error(inst, 2));
        };
        let from = MemOp {
            space: Space::Global,
            addr: self.operand(inst, 1)?,
            offset: offset as i64,
            ..to.clone()
        };
        let bytes = inst.operands.get(3).map(|_| self.operand(inst, 3)).transpose()?;
        Ok(CopyOp { from, to, bytes })
    }

    pub(super) fn collective(&mut self, inst: &Inst) -> Linked<Exec> {
        let mods = &inst.mods;
        let unsupported = || LinkErrorKind::Unsupported(inst.op.name());
        // The index of the member mask among the operands.
        let (kind, members_at) = match inst.op {
            Op::Shfl => (CollectiveKind::Shuffle(mods.shuffle.ok_or_else(unsupported)?), Some(3)),
            Op::Vote => (CollectiveKind::Vote(mods.vote.ok_or_else(unsupported)?), Some(1)),
            Op::Ballot => (CollectiveKind::Vote(ir::mods::Vote::Ballot), Some(1)),
            Op::Match => {
                let bits = inst.ty.map_or(32, Ty::bits);
                (CollectiveKind::Match { all: mods.flags.has(Flag::All), bits }, Some(1))
            }
            Op::Redux => {
                let op = mods.atom.ok_or_else(unsupported)?;
                let ty = inst.ty.ok_or_else(unsupported)?;
                (CollectiveKind::Redux { op, ty, nan: mods.flags.has(Flag::Nan) }, Some(1))
            }
            Op::Elect => (CollectiveKind::Elect, Some(0)),
            Op::ActiveMask => (CollectiveKind::ActiveMask, None),
            Op::WarpSync => (CollectiveKind::Sync, Some(0)),
            Op::WgmmaFence | Op::Wgmma | Op::WgmmaReg | Op::WgmmaCommit => {
                return self.warp_group(inst);
            }
            Op::WgmmaWait => return Ok(Exec::WaitProducts(self.immediate(inst, 0)?)),
            _ => return self.matrix(inst),
        };
        let together = mods.flags.has(Flag::NoMask) || members_at.is_none();
        let members = match members_at {
            Some(at) if !together => Some(self.operand(inst, at)?),
            _ => None,
        };
        let values = members_at.unwrap_or(0).min(inst.operands.len());
        let src = (0..values).map(|i| self.operand(inst, i)).collect::<Linked<_>>()?;
        let dst = self.results(inst)?;
        Ok(Exec::Collective(CollectiveOp { kind, members, dst, src, mem: None }))
    }

    /// An operation of a warp on products of its warp group.
    fn warp_group(&mut self, inst: &Inst) -> Linked<Exec> {
        let op = match inst.op {
            Op::WgmmaFence => WarpGroupOp::Fence,
            Op::WgmmaCommit => WarpGroupOp::Commit,
            _ => WarpGroupOp::Multiply {
                multiply: GroupMultiply::new(
                    ir::matrix::group_product(inst)
                        .ok_or(LinkErrorKind::Unsupported(inst.op.name()))?,
                ),
                registers: inst.op == Op::WgmmaReg,
            },
        };
        let sources = 0..inst.operands.len();
        let src = sources.map(|i| self.operand(inst, i)).collect::<Linked<_>>()?;
        let (kind, members) = (CollectiveKind::WarpGroup(op), Some(Src::Const(u32::MAX.into())));
        let dst = self.results(inst)?;
        Ok(Exec::Collective(CollectiveOp { kind, members, dst, src, mem: None }))
    }

    /// An instruction on matrices: all lanes of the warp are its members.
    fn matrix(&mut self, inst: &Inst) -> Linked<Exec> {
        let unsupported = || LinkErrorKind::Unsupported(inst.op.name());
        let fragment = || ir::matrix::fragment(inst).ok_or_else(unsupported);
        let columns = inst.mods.layout == Some(MatrixLayout::Col);
        let matrix = match inst.op {
            Op::Mma => {
                let product = ir::matrix::product(&inst.mods).ok_or_else(unsupported)?;
                Matrix::Multiply(Multiply::new(product))
            }
            Op::MovMatrix => Matrix::Transpose,
            Op::LdMatrix | Op::StMatrix => {
                Matrix::Tiles(ir::matrix::tiles(inst).ok_or_else(unsupported)?)
            }
            Op::WmmaLoad => Matrix::LoadFragment(fragment()?, columns),
            Op::WmmaStore => Matrix::StoreFragment(fragment()?, columns),
            _ => return Err(unsupported()),
        };
        let mem = match matrix.is_memory() {
            true => Some(Box::new(MemOp {
                space: inst.mods.space.unwrap_or(Space::Generic),
                addr: self.operand(inst, 0)?,
                offset: inst.offset,
                size: 16,
                width: Width::B8,
                extend: None,
                rows: SmallVec::new(),
                values: SmallVec::new(),
                order: Order::Weak,
                scope: Scope::Gpu,
                cluster: false,
            })),
            false => None,
        };
        let sources = usize::from(mem.is_some())..inst.operands.len();
        let src = sources.map(|i| self.operand(inst, i)).collect::<Linked<_>>()?;
        let (kind, members) = (CollectiveKind::Matrix(matrix), Some(Src::Const(u32::MAX.into())));
        Ok(Exec::Collective(CollectiveOp { kind, members, dst: self.results(inst)?, src, mem }))
    }

    pub(super) fn barrier(&mut self, inst: &Inst) -> Linked<Exec> {
        match inst.op {
            Op::ClusterArrive => return Ok(Exec::ClusterArrive),
            Op::ClusterWait => return Ok(Exec::ClusterWait),
            _ => {}
        }
        let kind = inst.mods.barrier.ok_or(LinkErrorKind::Unsupported(inst.op.name()))?;
        // The predicate of a reduction is the last operand; the count before it is optional.
        let is_pred = |o: &Operand| match o {
            Operand::Reg(Reg::Lane(r)) => {
                (self.reg_ty(*r) == RegTy::Pred).then(|| self.rows[r.index()])
            }
            _ => None,
        };
        let pred = inst.operands.iter().skip(1).find_map(is_pred);
        let has_count = inst.operands.len() > 1 + usize::from(pred.is_some());
        let count = if has_count { Some(self.operand(inst, 1)?) } else { None };
        let dst = self.results(inst)?.first().copied();
        let pred = pred.map(|row| GuardRow { row, negated: false });
        Ok(Exec::Bar { kind, dst, id: self.operand(inst, 0)?, count, pred })
    }

    pub(super) fn system(&mut self, inst: &Inst) -> Linked<Exec> {
        let dst = self.results(inst)?.first().copied();
        Ok(match inst.op {
            Op::Nop | Op::Nanosleep => Exec::Nop,
            Op::CopyCommit => Exec::GroupCommit(AsyncGroups::Copies),
            Op::CopyWait => {
                let pending = inst.operands.first().map(|_| self.immediate(inst, 0)).transpose()?;
                let (groups, pending) = (AsyncGroups::Copies, pending.map(u64::from));
                Exec::GroupWait(GroupWait { groups, pending, reads: false })
            }
            Op::Printf => {
                Exec::Printf { dst, format: self.operand(inst, 0)?, args: self.operand(inst, 1)? }
            }
            Op::AssertFail => Exec::AssertFail {
                message: self.operand(inst, 0)?,
                file: self.operand(inst, 1)?,
                line: self.operand(inst, 2)?,
                function: self.operand(inst, 3)?,
            },
            Op::Malloc => {
                Exec::Malloc { dst: dst.unwrap_or(self.scratch), size: self.operand(inst, 0)? }
            }
            Op::Free => Exec::Free(self.operand(inst, 0)?),
            Op::Trap => Exec::Trap,
            Op::Brkpt => Exec::Breakpoint,
            _ => return Err(LinkErrorKind::Unsupported(inst.op.name())),
        })
    }

    pub(super) fn term(&mut self, term: &Term) -> Linked<(Exec, Option<GuardRow>)> {
        let guard = |frame: &Self, g: Option<Guard>| g.map(|g| frame.guard(g));
        Ok(match &term.kind {
            TermKind::Fall => (Exec::Nop, None),
            TermKind::Br(b) => (Exec::Br(self.pc(*b)), None),
            TermKind::CondBr(g, b) => (Exec::CondBr(self.pc(*b)), guard(self, Some(*g))),
            TermKind::Switch(index, targets) => {
                let index = self.src(index).ok_or(LinkErrorKind::Operand("switch", 0))?;
                let targets = targets.iter().map(|&b| self.pc(b)).collect();
                (Exec::Switch { index, targets }, None)
            }
            TermKind::MaskBr(test, mask, target) => {
                let mask = match *mask {
                    MaskRef::Exec => MaskBrSrc::Exec,
                    MaskRef::Reg(r) => MaskBrSrc::Reg(self.warp[r.index()]),
                    MaskRef::Pred(r) => MaskBrSrc::Pred(self.rows[r.index()]),
                };
                (Exec::MaskBr { test: *test, mask, target: self.pc(*target) }, None)
            }
            TermKind::Ret(g) => (Exec::Ret, guard(self, *g)),
            TermKind::Exit(g) => (Exec::Exit, guard(self, *g)),
        })
    }
}
