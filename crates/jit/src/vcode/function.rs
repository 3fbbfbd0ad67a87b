//! A function: blocks of instructions on virtual registers.
//!
//! An instruction of the allocator is a list of machine instructions on the same operands, with
//! jumps among them, and perhaps a second list that is emitted out of line. No moves come between
//! them, so that flags and temporaries live within one instruction alone.

use super::build::part;
use super::operand::Sources;
use super::register::{VReg, View};
use crate::asm::Label;
use fast::Level;
use iced_x86::{Code as Op, RoundingControl};
use regalloc2::{Operand, OperandPos, RegClass};
use std::ops::Range;

/// Most operands of an instruction, so that a word has a bit for each.
pub(super) const MAX_OPERANDS: u32 = u64::BITS;

/// A block of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block(pub(super) u32);

/// A block to go to, with the values of its parameters.
pub(crate) type To<'a> = (Block, &'a [VReg]);

/// A range of an arena.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span {
    pub(super) start: u32,
    pub(super) end: u32,
}

impl Span {
    pub(super) fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// An instruction as the allocator sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inst {
    pub(super) operands: Span,
    pub(super) micros: Span,
    /// The part of `micros` that is emitted out of line begins here.
    pub(super) outside: u32,
    /// Number of its labels.
    pub(super) labels: u8,
    /// Whether it leaves the warp.
    pub(super) leaves: bool,
    /// Whether its code in line ends the turn.
    pub(super) switches: bool,
}

/// A machine instruction, or something else in its place.
#[derive(Clone, Copy, Debug)]
pub(super) enum Micro {
    Op(Machine),
    /// A jump to a label of the same instruction.
    Local(Op, u8),
    Bind(u8),
    /// A jump to other code.
    Stub(Op, Label),
    /// A call of the host, or the end of a turn: an index into the function's list.
    Leave(u32),
}

/// A machine instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Machine {
    pub(super) op: Op,
    pub(super) pieces: u32,
    pub(super) count: u8,
    /// The operand that is the mask.
    pub(super) mask: Option<u8>,
    pub(super) zeroing: bool,
    pub(super) rounding: RoundingControl,
    pub(super) quiet: bool,
}

/// An operand of a machine instruction: operands of the instruction by their index.
#[derive(Clone, Copy, Debug)]
pub(super) enum Piece {
    Reg(u8, View),
    Mem(Address),
    Imm(i32),
    Imm64(u64),
}

/// A memory operand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Address {
    pub(super) base: AddressBase,
    pub(super) index: Option<(u8, View)>,
    pub(super) scale: u8,
    pub(super) broadcast: bool,
    pub(super) displacement: i64,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum AddressBase {
    Reg(u8),
    Frame,
    Pool,
    Seat,
}

/// Code that leaves the warp, with what lives in registers saved in its seat.
#[derive(Clone, Debug)]
pub(super) struct Leave {
    pub(super) stub: Label,
    /// The point at which the warp continues, if another one may run before.
    pub(super) resume: Option<u32>,
    pub(super) arguments: [Option<Argument>; 4],
    /// Operands that are not saved, as bits: the code after it writes them.
    pub(super) results: u64,
    /// Values whose places are recorded.
    pub(super) recorded: Vec<u16>,
}

/// An argument of a stub.
#[derive(Clone, Copy, Debug)]
pub(super) enum Argument {
    Imm(u32),
    /// An operand of the instruction.
    Operand(u8),
}

/// How a block ends.
#[derive(Clone, Copy, Debug)]
pub(super) enum End {
    /// The block is empty.
    Open,
    Jump(Edge),
    Branch(Op, Edge, Edge),
    Exit,
}

/// A way to a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub(super) to: Block,
    pub(super) arguments: Span,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct BlockData {
    pub(super) params: Span,
    pub(super) insts: Span,
    pub(super) end: End,
    pub(super) cold: bool,
    begun: bool,
}

/// What applies to the next machine instruction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Modifiers {
    pub(super) mask: Option<VReg>,
    /// The value of lanes that the mask leaves out.
    pub(super) old: Option<VReg>,
    pub(super) zeroing: bool,
    pub(super) rounding: Option<RoundingControl>,
    pub(super) quiet: bool,
}

/// A function that is being built. Its first block is the entry.
#[derive(Debug)]
pub(crate) struct Function {
    pub(super) level: Level,
    pub(super) registers: u32,
    pub(super) operands: Vec<Operand>,
    pub(super) micros: Vec<Micro>,
    pub(super) pieces: Vec<Piece>,
    pub(super) leaves: Vec<Leave>,
    pub(super) insts: Vec<Inst>,
    pub(super) blocks: Vec<BlockData>,
    /// Block parameters and arguments.
    pub(super) values: Vec<VReg>,
    /// Blocks in the order in which they were begun.
    pub(super) order: Vec<Block>,
    /// Bytes of the seat that are reserved.
    pub(super) reserved: u32,
    /// A rule that the builder has broken.
    pub(super) failed: Option<&'static str>,
    pub(super) current: Option<Block>,
    /// Where operands, machine instructions and leaves of the next instruction begin.
    pub(super) open: (u32, u32, u32),
    pub(super) modifiers: Modifiers,
}

impl Function {
    pub(crate) fn new(level: Level) -> Self {
        Self {
            level,
            registers: 0,
            operands: Vec::new(),
            micros: Vec::new(),
            pieces: Vec::new(),
            leaves: Vec::new(),
            insts: Vec::new(),
            blocks: Vec::new(),
            values: Vec::new(),
            order: Vec::new(),
            reserved: 0,
            failed: None,
            current: None,
            open: (0, 0, 0),
            modifiers: Modifiers::default(),
        }
    }

    /// Reserves memory of the seat: bytes, and a power of two up to 64 to align them to. Returns
    /// the offset.
    pub(crate) fn reserve(&mut self, bytes: u32, align: u32) -> i64 {
        let at = self.reserved.next_multiple_of(align);
        self.reserved = at + bytes;
        i64::from(at)
    }

    /// Number of instructions as the allocator sees them.
    pub(crate) fn len(&self) -> usize {
        self.insts.len()
    }

    pub(super) fn register(&mut self, class: RegClass) -> VReg {
        let register = VReg::new(self.registers as usize, class);
        self.registers += 1;
        register
    }

    /// Creates a block with parameters.
    pub(crate) fn block(&mut self, params: &[View]) -> Block {
        let start = self.values.len() as u32;
        for view in params {
            let param = self.register(view.class());
            self.values.push(param);
        }
        let params = Span { start, end: self.values.len() as u32 };
        let block = Block(self.blocks.len() as u32);
        let insts = Span::default();
        let (end, cold, begun) = (End::Open, false, false);
        self.blocks.push(BlockData { params, insts, end, cold, begun });
        block
    }

    /// Creates a block that is emitted after all others.
    pub(crate) fn cold_block(&mut self, params: &[View]) -> Block {
        let block = self.block(params);
        self.blocks[block.0 as usize].cold = true;
        block
    }

    /// Returns a parameter of a block.
    pub(crate) fn param(&self, block: Block, index: usize) -> VReg {
        self.values[self.blocks[block.0 as usize].params.range()][index]
    }

    /// Begins a block: all that follows belongs to it. Blocks are to be begun in an order in which
    /// loops are contiguous, and a block comes after the first of its predecessors.
    pub(crate) fn begin(&mut self, block: Block) {
        if self.current.is_some() {
            self.failed = Some("a block begins before the last one ends");
        }
        let start = self.insts.len() as u32;
        let data = &mut self.blocks[block.0 as usize];
        data.insts = Span { start, end: start };
        if std::mem::replace(&mut data.begun, true) {
            self.failed = Some("a block begins twice");
        }
        self.order.push(block);
        self.current = Some(block);
    }

    // Ends of blocks.

    pub(super) fn edge(&mut self, to: To<'_>) -> Edge {
        if self.blocks[to.0.0 as usize].params.range().len() != to.1.len() {
            self.failed = Some("a block has another number of parameters");
        }
        let start = self.values.len() as u32;
        self.values.extend_from_slice(to.1);
        Edge { to: to.0, arguments: Span { start, end: self.values.len() as u32 } }
    }

    pub(super) fn finish(&mut self, end: End) {
        self.close();
        self.end_block(end);
    }

    pub(super) fn end_block(&mut self, end: End) {
        if let Some(block) = self.current.take() {
            let data = &mut self.blocks[block.0 as usize];
            (data.insts.end, data.end) = (self.insts.len() as u32, end);
        }
    }

    /// Goes to a block.
    pub(crate) fn jump(&mut self, to: To<'_>) {
        let edge = self.edge(to);
        self.finish(End::Jump(edge));
    }

    /// Compares and goes to a block: `yes` if the jump is taken, otherwise `no`. Sources that are
    /// general registers are the parts `view` of them, if no other part is named.
    pub(crate) fn branch(
        &mut self,
        compare: (Op, View),
        sources: impl Sources,
        jump: Op,
        yes: To<'_>,
        no: To<'_>,
    ) {
        let first = self.pieces.len();
        sources.each(|source| {
            let piece = self.piece(part(source, compare.1), OperandPos::Early);
            self.pieces.push(piece);
        });
        self.machine(compare.0, first, None);
        let (yes, no) = (self.edge(yes), self.edge(no));
        self.finish(End::Branch(jump, yes, no));
    }

    /// Goes to code outside the function, and does not return: the turn of this warp is over.
    pub(crate) fn exit(&mut self, stub: Label) {
        self.micros.push(Micro::Stub(Op::Jmp_rel32_64, stub));
        self.finish(End::Exit);
    }
}
