//! Construction of IR: registers, blocks, labels.
//!
//! Branches name labels until all blocks are known; [`Code::into_function`] then turns them into
//! blocks. Labels at the same place share a block.

use ir::module::{Block, LocalVar, RegInfo, Signature, Term, TermKind};
use ir::{BlockId, Inst, LaneReg, LocId, Op, Operand, Origin, RegTy};

use super::names::Label;

/// A function's code under construction.
pub(super) struct Code {
    regs: Vec<RegInfo>,
    locals: Vec<LocalVar>,
    blocks: Vec<Block>,
    /// The block that instructions go to.
    open: Option<Block>,
    /// Name of each label, and its block once it is placed.
    labels: Vec<(String, Option<u32>)>,
}

impl Code {
    pub(super) fn new() -> Self {
        Self {
            regs: Vec::new(),
            locals: Vec::new(),
            blocks: Vec::new(),
            open: None,
            labels: Vec::new(),
        }
    }

    /// A new register.
    pub(super) fn register(&mut self, name: String, ty: RegTy) -> LaneReg {
        self.regs.push(RegInfo { name, ty });
        LaneReg(self.regs.len() as u32 - 1)
    }

    /// A register that the program does not have.
    pub(super) fn temporary(&mut self, ty: RegTy) -> LaneReg {
        let name = format!("t{}", self.regs.len());
        self.register(name, ty)
    }

    pub(super) fn reg_ty(&self, reg: LaneReg) -> RegTy {
        self.regs.get(reg.index()).map_or(RegTy::B32, |r| r.ty)
    }

    pub(super) fn local(&mut self, local: LocalVar) -> u32 {
        self.locals.push(local);
        self.locals.len() as u32 - 1
    }

    /// Bytes of the thread's variables so far.
    pub(super) fn frame_size(&self) -> u64 {
        self.locals.last().map_or(0, |l| u64::from(l.offset) + u64::from(l.size))
    }

    /// A new label, not yet placed.
    pub(super) fn label(&mut self, name: &str) -> Label {
        self.labels.push((name.to_owned(), None));
        Label(self.labels.len() as u32 - 1)
    }

    /// Places a label here.
    pub(super) fn place(&mut self, label: Label) {
        // A block without instructions is this place, too.
        if self.open.as_ref().is_some_and(|b| !b.insts.is_empty()) {
            self.close(Term::new(TermKind::Fall));
        }
        let index = self.blocks.len() as u32;
        let Some((name, block)) = self.labels.get_mut(label.0 as usize) else { return };
        *block = Some(index);
        let name = std::mem::take(name);
        let open = self.open.get_or_insert_with(|| new_block(String::new()));
        if open.name.is_empty() {
            open.name = name;
        }
    }

    /// Adds an instruction.
    pub(super) fn push(&mut self, inst: Inst) {
        self.open.get_or_insert_with(|| new_block(String::new())).insts.push(inst);
    }

    /// Ends the block.
    pub(super) fn end(&mut self, kind: TermKind, origin: Origin, loc: LocId) {
        self.open.get_or_insert_with(|| new_block(String::new()));
        self.close(Term { kind, origin, loc });
    }

    fn close(&mut self, term: Term) {
        if let Some(mut block) = self.open.take() {
            block.term = term;
            self.blocks.push(block);
        }
    }

    /// Returns whether control can fall to here, or nothing is here yet.
    pub(super) fn is_open(&self) -> bool {
        self.open.is_some() || self.blocks.last().is_none_or(|b| b.term.falls())
    }

    /// The function, once its last block is ended.
    pub(super) fn into_function(mut self, name: &str, signature: Signature) -> ir::Function {
        let places: Vec<u32> = self.labels.iter().map(|(_, block)| block.unwrap_or(0)).collect();
        let resolve = |block: &mut BlockId| {
            *block = BlockId(places.get(block.index()).copied().unwrap_or(0));
        };
        for (index, block) in self.blocks.iter_mut().enumerate() {
            block.term.targets_mut().iter_mut().for_each(resolve);
            if block.name.is_empty() {
                block.name = format!("bb{index}");
            }
        }
        let mut function = ir::Function::new(name, signature);
        function.regs = self.regs;
        function.locals = self.locals;
        function.blocks = self.blocks;
        function
    }
}

fn new_block(name: String) -> Block {
    Block { name, insts: Vec::new(), term: Term::new(TermKind::Fall) }
}

/// An instruction of one result and some operands.
pub(super) fn inst(op: Op, ty: Option<ir::Ty>, result: LaneReg, operands: &[Operand]) -> Inst {
    let mut inst = Inst::new(op).result(ir::Reg::Lane(result));
    inst.ty = ty;
    inst.operands.extend_from_slice(operands);
    inst
}
