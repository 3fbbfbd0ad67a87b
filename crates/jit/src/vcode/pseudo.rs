//! Instructions of several machine instructions.

use super::build::part;
use super::function::{Argument, End, Function, Leave, Micro, Piece, To};
use super::operand::{Source, Sources};
use super::register::{INT, VReg, View, int};
use crate::asm::Label;
use iced_x86::Code as Op;
use regalloc2::{Operand, OperandConstraint, OperandKind, OperandPos};

/// A label within a pseudo-instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Local(u8);

/// An argument of a stub: a constant, or all of a general register.
#[derive(Clone, Copy, Debug)]
pub(crate) enum StubArgument {
    Imm(u32),
    Reg(VReg),
}

/// An instruction of several machine instructions.
///
/// Registers that it names and that are not its own are read, and keep their values to its end.
#[derive(Debug)]
pub(crate) struct Pseudo<'f> {
    function: &'f mut Function,
    outside: Option<u32>,
    labels: u8,
}

impl Function {
    /// Begins an instruction of several machine instructions.
    pub(crate) fn pseudo(&mut self) -> Pseudo<'_> {
        Pseudo { function: self, outside: None, labels: 0 }
    }
}

impl Pseudo<'_> {
    /// A register that is written last: the registers of `early` sources may become results.
    pub(crate) fn output(&mut self, view: View) -> VReg {
        let result = self.function.register(view.class());
        self.function.push(Operand::reg_def(result));
        result
    }

    /// A result in the register of a source.
    pub(crate) fn output_tied(&mut self, view: View, source: VReg) -> VReg {
        let f = &mut *self.function;
        let result = f.register(view.class());
        let input = f.read(source, OperandConstraint::Reg, OperandPos::Early);
        f.push(Operand::reg_reuse_def(result, input.into()));
        result
    }

    /// A result in a certain general register.
    pub(crate) fn output_fixed(&mut self, register: iced_x86::Register) -> VReg {
        let result = self.function.register(INT);
        self.function.push(Operand::reg_fixed_def(result, int(register)));
        result
    }

    /// A register that has no value before and after.
    pub(crate) fn temp(&mut self, view: View) -> VReg {
        let temp = self.function.register(view.class());
        self.function.push(Operand::reg_temp(temp));
        temp
    }

    /// A certain general register that has no value before and after.
    pub(crate) fn temp_fixed(&mut self, register: iced_x86::Register) -> VReg {
        let temp = self.function.register(INT);
        self.function.push(Operand::reg_fixed_def_at_start(temp, int(register)));
        temp
    }

    /// Makes a source one that is not read any more when the first result is written.
    pub(crate) fn early(&mut self, source: VReg) -> &mut Self {
        self.function.read(source, OperandConstraint::Reg, OperandPos::Early);
        self
    }

    /// Makes a source one that may be in its spill slot: all machine instructions have to take it
    /// from memory, too.
    pub(crate) fn any(&mut self, source: VReg) -> &mut Self {
        if self.function.find(source).is_none() {
            self.function.read(source, OperandConstraint::Any, OperandPos::Late);
        }
        self
    }

    /// The same in a certain general register.
    pub(crate) fn early_fixed(&mut self, source: VReg, register: iced_x86::Register) -> &mut Self {
        let fixed = OperandConstraint::FixedReg(int(register));
        self.function.read(source, fixed, OperandPos::Early);
        self
    }

    /// Puts a source into a certain general register, where it stays to the end.
    pub(crate) fn fixed(&mut self, source: VReg, register: iced_x86::Register) -> &mut Self {
        let fixed = OperandConstraint::FixedReg(int(register));
        self.function.read(source, fixed, OperandPos::Late);
        self
    }

    /// The next machine instruction is masked, and merges.
    pub(crate) fn masked(&mut self, mask: VReg) -> &mut Self {
        self.function.masked(mask);
        self
    }

    /// The next machine instruction is masked, and zeroes the other lanes.
    pub(crate) fn zero(&mut self, mask: VReg) -> &mut Self {
        self.function.zero(mask);
        self
    }

    /// Adds a machine instruction with all its operands, those that it writes included.
    pub(crate) fn op(&mut self, op: Op, operands: impl Sources) -> &mut Self {
        let f = &mut *self.function;
        let first = f.pieces.len();
        let mask = f.modifiers.mask;
        operands.each(|operand| {
            let piece = f.piece(operand, OperandPos::Late);
            f.pieces.push(piece);
        });
        let mask = mask.map(|k| match f.piece(k.into(), OperandPos::Late) {
            Piece::Reg(index, _) => index,
            _ => unreachable!("registers are registers"),
        });
        f.machine(op, first, mask);
        self
    }

    /// Adds a machine instruction on a part of general registers.
    pub(crate) fn int(&mut self, op: Op, view: View, operands: impl Sources) -> &mut Self {
        let mut list = [Source::Imm(0); 5];
        let mut count = 0;
        operands.each(|operand| {
            list[count] = part(operand, view);
            count += 1;
        });
        self.op(op, &list[..count])
    }

    /// Creates a label.
    pub(crate) fn label(&mut self) -> Local {
        self.labels += 1;
        Local(self.labels - 1)
    }

    /// Binds a label to the next machine instruction.
    pub(crate) fn bind(&mut self, label: Local) -> &mut Self {
        self.function.micros.push(Micro::Bind(label.0));
        self
    }

    /// Jumps to a label.
    pub(crate) fn jump(&mut self, op: Op, to: Local) -> &mut Self {
        self.function.micros.push(Micro::Local(op, to.0));
        self
    }

    /// Jumps to code outside the function that does not return.
    pub(crate) fn jump_out(&mut self, op: Op, to: Label) -> &mut Self {
        self.function.micros.push(Micro::Stub(op, to));
        self
    }

    /// What follows is emitted after all blocks, and has to jump back.
    pub(crate) fn out_of_line(&mut self) -> &mut Self {
        debug_assert!(self.outside.is_none());
        self.outside = Some(self.function.micros.len() as u32);
        self
    }

    /// Calls a stub that returns: arguments in `rsi`, `rdx`, `rcx` and `r9`. It may change all
    /// registers that the System V convention does not preserve. Everything that is live is saved,
    /// except for `results`, which the code after this writes.
    pub(crate) fn call(
        &mut self,
        stub: Label,
        arguments: &[StubArgument],
        results: &[VReg],
    ) -> &mut Self {
        self.leave(stub, None, arguments, results, &[])
    }

    /// Ends the turn: saves everything that is live, stores the address of what follows in the
    /// warp's context, and jumps to a stub with arguments as in [`Self::call`]. When the warp is
    /// taken again, with frame, pool and seat set, it continues after this. `resume` names the
    /// place. The places of `recorded` values in the seat are a result of compiling.
    pub(crate) fn switch(
        &mut self,
        stub: Label,
        arguments: &[StubArgument],
        resume: u32,
        recorded: &[VReg],
    ) -> &mut Self {
        self.leave(stub, Some(resume), arguments, &[], recorded)
    }

    fn leave(
        &mut self,
        stub: Label,
        resume: Option<u32>,
        arguments: &[StubArgument],
        results: &[VReg],
        recorded: &[VReg],
    ) -> &mut Self {
        let f = &mut *self.function;
        debug_assert!(arguments.len() <= 4, "too many arguments");
        let mut list = [None; 4];
        for (to, argument) in list.iter_mut().zip(arguments) {
            *to = Some(match *argument {
                StubArgument::Imm(value) => Argument::Imm(value),
                StubArgument::Reg(r) => match f.piece(r.into(), OperandPos::Late) {
                    Piece::Reg(index, _) => Argument::Operand(index),
                    _ => unreachable!("registers are registers"),
                },
            });
        }
        let mask = results.iter().filter_map(|&r| f.find(r)).fold(0, |bits, i| bits | 1 << i);
        let recorded = recorded.iter().map(|&r| f.record(r)).collect();
        f.micros.push(Micro::Leave(f.leaves.len() as u32));
        f.leaves.push(Leave { stub, resume, arguments: list, results: mask, recorded });
        self
    }

    /// Ends the instruction, which has no results, and the block: goes to a block, `yes` if the
    /// jump is taken, otherwise `no`.
    pub(crate) fn branch(self, jump: Op, yes: To<'_>, no: To<'_>) {
        let late = |o: &Operand| (o.kind(), o.pos()) == (OperandKind::Def, OperandPos::Late);
        if self.function.operands[self.function.open.0 as usize..].iter().any(late) {
            self.function.failed = Some("a branch has a result");
        }
        let (yes, no) = (self.function.edge(yes), self.function.edge(no));
        self.function.close_pseudo(self.outside, self.labels);
        self.function.end_block(End::Branch(jump, yes, no));
    }

    /// Ends the instruction.
    pub(crate) fn end(self) {
        self.function.close_pseudo(self.outside, self.labels);
    }
}
