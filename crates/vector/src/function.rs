//! Functions: blocks, instructions and values.

use crate::op::Op;
use smallvec::SmallVec;

macro_rules! index {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u32);

        impl $name {
            pub(crate) fn new(index: usize) -> Self {
                // Kernels have fewer steps than this (`jit::MAX_STEPS`).
                Self(index as u32)
            }

            /// Returns the index, from 0 on.
            #[must_use]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

index! {
    /// A value.
    Value
}
index! {
    /// A block.
    Block
}
index! {
    /// An instruction.
    Inst
}

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// 64 bits that are the same in all lanes; narrower values are zero-extended.
    Scalar,
    /// 32 lanes of 32 bits; narrower values are zero-extended.
    Row32,
    /// 32 lanes of 64 bits.
    Row64,
    /// One bit for each of 32 lanes.
    Mask,
}

/// An instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct InstData {
    /// The operation.
    pub op: Op,
    /// Its arguments.
    pub args: SmallVec<[Value; 4]>,
    /// Its results.
    pub results: SmallVec<[Value; 2]>,
}

/// A block with the values of its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The block.
    pub block: Block,
    /// The parameters' values.
    pub args: Vec<Value>,
}

/// What a branch tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Whether a lane of the mask is set.
    Any(Value),
    /// Whether the lowest bit of the scalar is set.
    Bit(Value),
}

/// The end of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Terminator {
    /// To a block.
    Jump(Target),
    /// To the first block if the condition holds, else to the second.
    Branch(Condition, Target, Target),
    /// To the block with the scalar's number, else to the last one. Numbers ascend.
    Switch(Value, Vec<(u64, Target)>, Target),
    /// The warp has ended.
    End,
}

impl Terminator {
    /// Returns the targets.
    pub fn targets(&self) -> impl Iterator<Item = &Target> {
        let (cases, a, b): (&[(u64, Target)], _, _) = match self {
            Self::Jump(a) => (&[], Some(a), None),
            Self::Branch(_, a, b) => (&[], Some(a), Some(b)),
            Self::Switch(_, cases, a) => (cases, Some(a), None),
            Self::End => (&[], None, None),
        };
        cases.iter().map(|case| &case.1).chain(a).chain(b)
    }

    /// Returns the targets, to be changed.
    pub fn targets_mut(&mut self) -> impl Iterator<Item = &mut Target> {
        let (cases, a, b): (&mut [(u64, Target)], _, _) = match self {
            Self::Jump(a) => (&mut [], Some(a), None),
            Self::Branch(_, a, b) => (&mut [], Some(a), Some(b)),
            Self::Switch(_, cases, a) => (cases, Some(a), None),
            Self::End => (&mut [], None, None),
        };
        cases.iter_mut().map(|case| &mut case.1).chain(a).chain(b)
    }

    /// Returns the value that decides between the targets.
    #[must_use]
    pub fn tested(&self) -> Option<Value> {
        match self {
            Self::Branch(Condition::Any(value) | Condition::Bit(value), ..)
            | Self::Switch(value, ..) => Some(*value),
            Self::Jump(_) | Self::End => None,
        }
    }

    /// Calls a function for each value that is used.
    pub fn uses(&self, mut f: impl FnMut(Value)) {
        self.tested().into_iter().for_each(&mut f);
        self.targets().flat_map(|t| &t.args).for_each(|&v| f(v));
    }

    /// Replaces each value that is used.
    pub fn map_uses(&mut self, mut f: impl FnMut(Value) -> Value) {
        if let Self::Branch(Condition::Any(value) | Condition::Bit(value), ..)
        | Self::Switch(value, ..) = self
        {
            *value = f(*value);
        }
        self.targets_mut().flat_map(|t| &mut t.args).for_each(|v| *v = f(*v));
    }
}

/// A block.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockData {
    /// Parameters.
    pub params: Vec<Value>,
    /// Instructions.
    pub insts: Vec<Inst>,
    /// The end.
    pub end: Terminator,
}

/// A kernel as one warp executes it. The first block is the entry, whose parameter is the mask of
/// the lanes that were launched.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Function {
    blocks: Vec<BlockData>,
    insts: Vec<InstData>,
    types: Vec<Type>,
}

impl Function {
    /// The entry.
    pub const ENTRY: Block = Block(0);

    /// Adds a block that ends the warp until its end is set.
    pub fn add_block(&mut self) -> Block {
        let (params, insts, end) = (Vec::new(), Vec::new(), Terminator::End);
        self.blocks.push(BlockData { params, insts, end });
        Block::new(self.blocks.len() - 1)
    }

    /// Adds a value without a definition.
    pub fn add_value(&mut self, ty: Type) -> Value {
        self.types.push(ty);
        Value::new(self.types.len() - 1)
    }

    /// Adds a parameter to a block.
    pub fn add_param(&mut self, block: Block, ty: Type) -> Value {
        let value = self.add_value(ty);
        self.blocks[block.index()].params.push(value);
        value
    }

    /// Adds an instruction without a place in a block.
    pub fn add_inst(&mut self, op: Op, args: &[Value], results: &[Type]) -> Inst {
        let results = results.iter().map(|&ty| self.add_value(ty)).collect();
        self.insts.push(InstData { op, args: args.into(), results });
        Inst::new(self.insts.len() - 1)
    }

    /// Adds an instruction whose values exist, without a place in a block.
    pub(crate) fn add_data(&mut self, data: InstData) -> Inst {
        self.insts.push(data);
        Inst::new(self.insts.len() - 1)
    }

    /// Sets the type of a value.
    pub(crate) fn set_ty(&mut self, value: Value, ty: Type) {
        self.types[value.index()] = ty;
    }

    /// Adds an instruction at the end of a block.
    pub fn append(&mut self, block: Block, op: Op, args: &[Value], results: &[Type]) -> Inst {
        let inst = self.add_inst(op, args, results);
        self.blocks[block.index()].insts.push(inst);
        inst
    }

    /// Sets the end of a block.
    pub fn set_end(&mut self, block: Block, end: Terminator) {
        self.blocks[block.index()].end = end;
    }

    /// Returns the blocks, in the order of their numbers.
    pub fn blocks(&self) -> impl Iterator<Item = (Block, &BlockData)> {
        self.blocks.iter().enumerate().map(|(i, data)| (Block::new(i), data))
    }

    /// Returns the number of blocks.
    #[must_use]
    pub fn block_count(&self) -> usize {
        self.blocks.len()
    }

    /// Returns a block.
    #[must_use]
    pub fn block(&self, block: Block) -> &BlockData {
        &self.blocks[block.index()]
    }

    /// Returns a block, to be changed.
    pub fn block_mut(&mut self, block: Block) -> &mut BlockData {
        &mut self.blocks[block.index()]
    }

    /// Returns an instruction.
    #[must_use]
    pub fn inst(&self, inst: Inst) -> &InstData {
        &self.insts[inst.index()]
    }

    /// Returns an instruction, to be changed.
    pub fn inst_mut(&mut self, inst: Inst) -> &mut InstData {
        &mut self.insts[inst.index()]
    }

    /// Returns the number of instructions, including those without a place.
    #[must_use]
    pub fn inst_count(&self) -> usize {
        self.insts.len()
    }

    /// Returns the number of values.
    #[must_use]
    pub fn value_count(&self) -> usize {
        self.types.len()
    }

    /// Returns the type of a value.
    #[must_use]
    pub fn ty(&self, value: Value) -> Type {
        self.types[value.index()]
    }

    /// Returns for each value the instruction in a block that defines it.
    #[must_use]
    pub fn definitions(&self) -> Vec<Option<Inst>> {
        let mut defined = vec![None; self.value_count()];
        for &inst in self.blocks.iter().flat_map(|block| &block.insts) {
            self.inst(inst).results.iter().for_each(|r| defined[r.index()] = Some(inst));
        }
        defined
    }

    /// Replaces each value that is used, in instructions and at the ends of blocks.
    pub fn map_uses(&mut self, mut f: impl FnMut(Value) -> Value) {
        for block in &mut self.blocks {
            for &inst in &block.insts {
                self.insts[inst.index()].args.iter_mut().for_each(|v| *v = f(*v));
            }
            block.end.map_uses(&mut f);
        }
    }

    /// Returns the blocks that control can reach, each before its successors but for back-edges.
    #[must_use]
    pub fn reverse_postorder(&self) -> Vec<Block> {
        let mut seen = vec![false; self.blocks.len()];
        let (mut order, mut stack) = (Vec::new(), vec![(Self::ENTRY, 0)]);
        seen[0] = true;
        while let Some((block, next)) = stack.last_mut() {
            let to = self.blocks[block.index()].end.targets().nth(*next).map(|t| t.block);
            *next += 1;
            match to {
                Some(to) if !std::mem::replace(&mut seen[to.index()], true) => stack.push((to, 0)),
                Some(_) => {}
                None => {
                    order.push(*block);
                    stack.pop();
                }
            }
        }
        order.reverse();
        order
    }
}
