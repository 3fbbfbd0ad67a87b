//! A list of x86-64 instructions with labels, encoded when it is complete.
//!
//! A thin layer over iced-x86: before encoding, the address of an instruction is the number of the
//! label bound to it.

use iced_x86::{
    BlockEncoder, BlockEncoderOptions, Code as Op, IcedError, Instruction, InstructionBlock,
    MemoryOperand, OpKind, Register, RoundingControl,
};

/// A place in the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Label(u64);

/// The last operand of a vector instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum V {
    /// A register.
    Z(Register),
    /// A full vector in memory: base and displacement.
    M(Register, i64),
    /// One element in memory, broadcast to all lanes.
    B(Register, i64),
}

/// A memory operand of base and displacement.
pub(crate) fn at(base: Register, displacement: i64) -> MemoryOperand {
    MemoryOperand::with_base_displ(base, displacement)
}

/// A memory operand of base and index.
pub(crate) fn indexed(base: Register, index: Register) -> MemoryOperand {
    MemoryOperand::new(base, index, 1, 0, 1, false, Register::None)
}

fn operand(base: Register, displacement: i64, broadcast: bool) -> MemoryOperand {
    MemoryOperand { is_broadcast: broadcast, ..at(base, displacement) }
}

/// Encoded code.
pub(crate) struct Encoded {
    pub(crate) bytes: Vec<u8>,
    offsets: Vec<(u64, u32)>,
}

impl Encoded {
    /// Returns the byte offset of a label.
    pub(crate) fn offset(&self, label: Label) -> Option<u32> {
        let found = self.offsets.binary_search_by_key(&label.0, |o| o.0).ok()?;
        Some(self.offsets[found].1)
    }
}

/// The instructions emitted so far.
#[derive(Default)]
pub(crate) struct Asm {
    list: Vec<Instruction>,
    labels: u64,
    bound: Option<Label>,
    /// Labels in the order in which they were bound.
    order: Vec<(u64, usize)>,
    failed: Option<IcedError>,
}

impl Asm {
    pub(crate) fn label(&mut self) -> Label {
        self.labels += 1;
        Label(self.labels)
    }

    /// Binds a label to the next instruction.
    pub(crate) fn bind(&mut self, label: Label) {
        if self.bound.is_some() {
            self.push(Ok(Instruction::with(Op::Nopd)));
        }
        self.order.push((label.0, self.list.len()));
        self.bound = Some(label);
    }

    /// Number of instructions so far.
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// Returns the index of the next instruction, or `None` if a label is bound to it, so that
    /// other paths reach it.
    pub(crate) fn mark(&self) -> Option<usize> {
        self.bound.is_none().then_some(self.list.len())
    }

    fn push(&mut self, instruction: Result<Instruction, IcedError>) {
        match instruction {
            Ok(mut instruction) => {
                if let Some(label) = self.bound.take() {
                    instruction.set_ip(label.0);
                }
                self.list.push(instruction);
            }
            Err(error) => {
                self.failed.get_or_insert(error);
            }
        }
    }

    pub(crate) fn op0(&mut self, op: Op) {
        self.push(Ok(Instruction::with(op)));
    }

    pub(crate) fn r(&mut self, op: Op, a: Register) {
        self.push(Instruction::with1(op, a));
    }

    pub(crate) fn m(&mut self, op: Op, a: MemoryOperand) {
        self.push(Instruction::with1(op, a));
    }

    pub(crate) fn rr(&mut self, op: Op, a: Register, b: Register) {
        self.push(Instruction::with2(op, a, b));
    }

    pub(crate) fn rm(&mut self, op: Op, a: Register, b: MemoryOperand) {
        self.push(Instruction::with2(op, a, b));
    }

    pub(crate) fn mr(&mut self, op: Op, a: MemoryOperand, b: Register) {
        self.push(Instruction::with2(op, a, b));
    }

    pub(crate) fn ri(&mut self, op: Op, a: Register, b: i32) {
        self.push(Instruction::with2(op, a, b));
    }

    /// Moves an immediate into a 64-bit register.
    pub(crate) fn ri64(&mut self, a: Register, b: u64) {
        if b <= u64::from(u32::MAX) {
            let low = Register::EAX + (a as u32 - Register::RAX as u32);
            self.push(Instruction::with2(Op::Mov_r32_imm32, low, b as u32));
        } else {
            self.push(Instruction::with2(Op::Mov_r64_imm64, a, b));
        }
    }

    pub(crate) fn mi(&mut self, op: Op, a: MemoryOperand, b: i32) {
        self.push(Instruction::with2(op, a, b));
    }

    pub(crate) fn rrr(&mut self, op: Op, a: Register, b: Register, c: Register) {
        self.push(Instruction::with3(op, a, b, c));
    }

    pub(crate) fn rri(&mut self, op: Op, a: Register, b: Register, c: i32) {
        self.push(Instruction::with3(op, a, b, c));
    }

    pub(crate) fn jump(&mut self, op: Op, to: Label) {
        self.push(Instruction::with_branch(op, to.0));
    }

    fn masked(
        &mut self,
        instruction: Result<Instruction, IcedError>,
        mask: Option<Register>,
        zero: bool,
    ) {
        self.push(instruction.map(|mut i| {
            if let Some(mask) = mask {
                i.set_op_mask(mask);
                i.set_zeroing_masking(zero);
            }
            i
        }));
    }

    /// Emits a vector instruction with one source.
    pub(crate) fn v2(&mut self, op: Op, to: Register, b: V, mask: Option<Register>) {
        let instruction = match b {
            V::Z(b) => Instruction::with2(op, to, b),
            V::M(base, d) => Instruction::with2(op, to, operand(base, d, false)),
            V::B(base, d) => Instruction::with2(op, to, operand(base, d, true)),
        };
        self.masked(instruction, mask, false);
    }

    /// Emits a vector instruction with one source in memory that zeroes inactive lanes.
    pub(crate) fn v2z(&mut self, op: Op, to: Register, b: MemoryOperand, mask: Register) {
        self.masked(Instruction::with2(op, to, b), Some(mask), true);
    }

    /// Emits a masked move of a register to memory.
    pub(crate) fn store(&mut self, op: Op, to: MemoryOperand, from: Register, mask: Register) {
        self.masked(Instruction::with2(op, to, from), Some(mask), false);
    }

    /// Emits a gather under a mask register.
    pub(crate) fn gather(&mut self, op: Op, to: Register, from: MemoryOperand, mask: Register) {
        self.masked(Instruction::with2(op, to, from), Some(mask), false);
    }

    /// Emits a gather whose mask is the vector `by`, which the instruction clears.
    pub(crate) fn gather_by(&mut self, op: Op, to: Register, from: MemoryOperand, by: Register) {
        self.push(Instruction::with3(op, to, from, by));
    }

    /// Emits a store under a mask in a vector register.
    pub(crate) fn mrr(&mut self, op: Op, to: MemoryOperand, mask: Register, from: Register) {
        self.push(Instruction::with3(op, to, mask, from));
    }

    /// Emits a vector instruction with two sources.
    pub(crate) fn v3(&mut self, op: Op, to: Register, a: Register, b: V, mask: Option<Register>) {
        let instruction = match b {
            V::Z(b) => Instruction::with3(op, to, a, b),
            V::M(base, d) => Instruction::with3(op, to, a, operand(base, d, false)),
            V::B(base, d) => Instruction::with3(op, to, a, operand(base, d, true)),
        };
        self.masked(instruction, mask, false);
    }

    /// Emits a vector instruction with a static rounding mode.
    pub(crate) fn rounded(&mut self, op: Op, operands: &[Register], rounding: RoundingControl) {
        let instruction = match *operands {
            [to, a] => Instruction::with2(op, to, a),
            [to, a, b] => Instruction::with3(op, to, a, b),
            _ => return,
        };
        self.push(instruction.map(|mut i| {
            i.set_rounding_control(rounding);
            i
        }));
    }

    /// Emits a vector instruction with two sources and an immediate.
    pub(crate) fn v3i(
        &mut self,
        op: Op,
        to: Register,
        a: Register,
        b: V,
        imm: i32,
        mask: Option<Register>,
    ) {
        let instruction = match b {
            V::Z(b) => Instruction::with4(op, to, a, b, imm),
            V::M(base, d) => Instruction::with4(op, to, a, operand(base, d, false), imm),
            V::B(base, d) => Instruction::with4(op, to, a, operand(base, d, true), imm),
        };
        self.masked(instruction, mask, false);
    }

    /// Emits a vector instruction with two sources and a register that selects between them by
    /// lane.
    pub(crate) fn v3r(&mut self, op: Op, to: Register, a: Register, b: Register, by: Register) {
        self.push(Instruction::with4(op, to, a, b, by));
    }

    /// Emits the same with the second source in memory.
    pub(crate) fn v3mr(
        &mut self,
        op: Op,
        to: Register,
        a: Register,
        b: MemoryOperand,
        by: Register,
    ) {
        self.push(Instruction::with4(op, to, a, b, by));
    }

    /// Emits a vector instruction with one source and an immediate.
    pub(crate) fn v2i(&mut self, op: Op, to: Register, a: Register, imm: i32) {
        self.push(Instruction::with3(op, to, a, imm));
    }

    /// Returns whether the targets of all jumps are bound; the encoder would take an unbound
    /// label's number for an address.
    fn is_closed(&self) -> bool {
        let mut stands = vec![false; self.labels as usize + 1];
        self.order.iter().for_each(|&(label, _)| stands[label as usize] = true);
        let goes_somewhere = |i: &Instruction| {
            let jumps = i.op_count() == 1 && i.op0_kind() == OpKind::NearBranch64;
            !jumps || stands.get(i.near_branch64() as usize).is_some_and(|&stands| stands)
        };
        self.list.iter().all(goes_somewhere)
    }

    /// Encodes the instructions. The bytes are position-independent.
    pub(crate) fn encode(self) -> Result<Encoded, String> {
        if let Some(error) = self.failed {
            return Err(error.to_string());
        }
        if !self.is_closed() {
            return Err("a jump goes nowhere".to_owned());
        }
        let block = InstructionBlock::new(&self.list, 0);
        let options = BlockEncoderOptions::RETURN_NEW_INSTRUCTION_OFFSETS;
        let result = BlockEncoder::encode(64, block, options).map_err(|e| e.to_string())?;
        let at = |&(label, index): &(u64, usize)| {
            (label, result.new_instruction_offsets.get(index).copied().unwrap_or(u32::MAX))
        };
        let mut offsets: Vec<(u64, u32)> = self.order.iter().map(at).collect();
        offsets.sort_unstable();
        Ok(Encoded { offsets, bytes: result.code_buffer })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jumps_to_unplaced_labels_are_refused() {
        let mut asm = Asm::default();
        let (first, other) = (asm.label(), asm.label());
        asm.bind(first);
        asm.jump(Op::Jmp_rel32_64, first);
        asm.jump(Op::Jmp_rel32_64, other);
        assert!(asm.encode().is_err());
        let mut asm = Asm::default();
        let first = asm.label();
        asm.bind(first);
        asm.jump(Op::Jmp_rel32_64, first);
        assert!(asm.encode().is_ok_and(|code| code.offset(first) == Some(0)));
    }
}
