//! Building the blocks of a function anew, in order.

use ir::module::MaskTest;
use ir::{
    Block, BlockId, Function, Inst, LaneReg, LocId, Op, Operand, Origin, Reg, RegTy, Term,
    TermKind, Ty, WarpReg,
};

/// A place to jump to, placed before or after jumps to it are emitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::passes) struct Label(u32);

/// Emits blocks. Targets of the ends it is given are labels until [`Emitter::finish`].
pub(in crate::passes) struct Emitter {
    function: Function,
    /// The block being filled; `None` right after an end.
    open: Option<Block>,
    labels: Vec<Option<u32>>,
    /// Where inserted operations are said to come from.
    pub(in crate::passes) loc: LocId,
    origin: Origin,
}

impl Emitter {
    /// For a function with the source's registers and no blocks.
    /// Operations it inserts are marked with `origin`.
    pub(in crate::passes) fn new(source: &Function, origin: Origin) -> Self {
        let function = Function { blocks: Vec::new(), ..source.clone() };
        Self { function, open: None, labels: Vec::new(), loc: source.loc, origin }
    }

    pub(in crate::passes) fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(u32::try_from(self.labels.len() - 1).unwrap_or(u32::MAX))
    }

    /// A block with this name starts here.
    pub(in crate::passes) fn start(&mut self, name: &str) {
        if let Some(block) = self.open.as_mut().filter(|b| b.insts.is_empty()) {
            name.clone_into(&mut block.name);
            return;
        }
        self.close();
        let term = Term::new(TermKind::Fall);
        self.open = Some(Block { name: name.to_owned(), insts: Vec::new(), term });
    }

    fn close(&mut self) {
        if let Some(block) = self.open.take() {
            self.function.blocks.push(block);
        }
    }

    /// The label names this place.
    pub(in crate::passes) fn place(&mut self, label: Label, name: &str) {
        if self.open.as_ref().is_none_or(|b| !b.insts.is_empty()) {
            self.start(name);
        }
        self.labels[label.0 as usize] = u32::try_from(self.function.blocks.len()).ok();
    }

    fn block(&mut self) -> &mut Block {
        if self.open.is_none() {
            self.start("on");
        }
        self.open.get_or_insert_with(|| Block {
            name: String::new(),
            insts: Vec::new(),
            term: Term::new(TermKind::Fall),
        })
    }

    /// Copies an instruction.
    pub(in crate::passes) fn copy(&mut self, inst: &Inst) {
        self.block().insts.push(inst.clone());
    }

    /// Inserts an operation.
    pub(in crate::passes) fn insert(
        &mut self,
        op: Op,
        ty: Option<Ty>,
        result: Option<Reg>,
        operands: &[Operand],
    ) {
        let mut inst = Inst::new(op).origin(self.origin);
        inst.ty = ty;
        inst.loc = self.loc;
        inst.results.extend(result.map(Some));
        inst.operands.extend_from_slice(operands);
        self.block().insts.push(inst);
    }

    /// Ends the block with an end of the source.
    pub(in crate::passes) fn end(&mut self, term: Term) {
        self.block().term = term;
        self.close();
    }

    fn end_with(&mut self, kind: TermKind) {
        let loc = self.loc;
        self.end(Term { kind, origin: self.origin, loc });
    }

    /// Jumps if the test holds of a mask; EXEC if none is named.
    pub(in crate::passes) fn branch_if(
        &mut self,
        test: MaskTest,
        mask: Option<WarpReg>,
        to: Label,
    ) {
        let mask = mask.map_or(ir::module::MaskRef::Exec, ir::module::MaskRef::Reg);
        self.end_with(TermKind::MaskBr(test, mask, BlockId(to.0)));
    }

    /// Jumps if a predicate holds in some lane.
    pub(in crate::passes) fn branch_if_some(&mut self, pred: LaneReg, to: Label) {
        let mask = ir::module::MaskRef::Pred(pred);
        self.end_with(TermKind::MaskBr(MaskTest::Any, mask, BlockId(to.0)));
    }

    /// A label as the target of an end of the source.
    pub(in crate::passes) fn target(&self, label: Label) -> BlockId {
        BlockId(label.0)
    }

    /// A label as an operand of an inserted operation.
    pub(in crate::passes) fn block_operand(&self, label: Label) -> Operand {
        Operand::Block(BlockId(label.0))
    }

    /// Lanes for which the guard holds leave a convergence barrier.
    pub(in crate::passes) fn guarded_break(&mut self, guard: ir::Guard, register: u16) {
        self.insert(Op::CbBreak, None, None, &[Operand::Imm(u128::from(register))]);
        if let Some(inst) = self.block().insts.last_mut() {
            inst.guard = Some(guard);
        }
    }

    pub(in crate::passes) fn jump(&mut self, to: Label) {
        self.end_with(TermKind::Br(BlockId(to.0)));
    }

    /// Ends the lanes that are on; the others fall into what follows.
    pub(in crate::passes) fn exit_lanes_on(&mut self, source: &Term) {
        let pred = self.function.new_reg("on", RegTy::Pred);
        self.insert(Op::Mov, Some(Ty::Pred), Some(Reg::Lane(pred)), &[Operand::Imm(1)]);
        let guard = ir::Guard { pred, negated: false };
        self.end(Term { kind: TermKind::Exit(Some(guard)), ..source.clone() });
    }

    /// Returns from the function, or ends the kernel.
    pub(in crate::passes) fn ret(&mut self) {
        self.end_with(TermKind::Ret(None));
    }

    pub(in crate::passes) fn mask_reg(&mut self, name: &str) -> WarpReg {
        self.function.new_warp_reg(name, RegTy::Mask)
    }

    /// A new per-lane register.
    pub(in crate::passes) fn lane_reg(&mut self, name: &str, ty: RegTy) -> LaneReg {
        self.function.new_reg(name, ty)
    }

    /// The function, with labels made block numbers.
    pub(in crate::passes) fn finish(mut self) -> Function {
        self.close();
        let placed = |label: BlockId| {
            BlockId(self.labels.get(label.index()).copied().flatten().unwrap_or(u32::MAX))
        };
        for block in &mut self.function.blocks {
            for target in block.term.targets_mut() {
                *target = placed(*target);
            }
            for operand in block.insts.iter_mut().flat_map(|i| &mut i.operands) {
                if let Operand::Block(label) = operand {
                    *label = placed(*label);
                }
            }
        }
        self.function
    }
}
