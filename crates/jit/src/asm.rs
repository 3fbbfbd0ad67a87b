//! A list of x86-64 instructions with labels, encoded when it is complete.
//!
//! A thin layer over iced-x86. The target of a jump is the number of a label until the code is
//! encoded. Instructions are encoded once: jumps alone depend on where they are (`relax`), and
//! nothing else does.

mod relax;

use iced_x86::{
    Code as Op, Encoder, IcedError, Instruction, MemoryOperand, OpKind, Register, RoundingControl,
};

use relax::{Bound, Jump, LongCode};

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
    /// The byte offsets of labels, in increasing order of labels.
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
    /// Whether a label is bound to the next instruction.
    bound: bool,
    /// Labels in the order in which they were bound, with the indices of their instructions.
    order: Vec<(Label, usize)>,
    failed: Option<IcedError>,
}

impl Asm {
    pub(crate) fn label(&mut self) -> Label {
        self.labels += 1;
        Label(self.labels)
    }

    /// Binds a label to the next instruction.
    pub(crate) fn bind(&mut self, label: Label) {
        self.order.push((label, self.list.len()));
        self.bound = true;
    }

    /// Number of instructions so far.
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// Returns the index of the next instruction, or `None` if a label is bound to it, so that
    /// other paths reach it.
    pub(crate) fn mark(&self) -> Option<usize> {
        (!self.bound).then_some(self.list.len())
    }

    fn push(&mut self, instruction: Result<Instruction, IcedError>) {
        match instruction {
            Ok(instruction) => {
                self.bound = false;
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

    /// Encodes the instructions. The bytes are position-independent.
    pub(crate) fn encode(self) -> Result<Encoded, String> {
        if let Some(error) = self.failed {
            return Err(error.to_string());
        }
        let code = self.long_code().map_err(|error| error.to_string())?;
        code.relaxed().map_err(|_| "a jump goes nowhere".to_owned())
    }

    /// Encodes the instructions with jumps to nowhere.
    fn long_code(&self) -> Result<LongCode, IcedError> {
        let mut encoder = Encoder::new(64);
        let (mut jumps, mut labels) = (Vec::new(), Vec::with_capacity(self.order.len()));
        let (mut order, mut end) = (self.order.iter().peekable(), 0);
        for (i, instruction) in self.list.iter().enumerate() {
            while let Some(&(label, _)) = order.next_if(|&&(_, index)| index == i) {
                labels.push(Bound { label, offset: end, jumps: jumps.len() });
            }
            let start = end;
            // The targets of jumps are numbers of labels, which are near 0.
            end += encoder.encode(instruction, 0)?;
            if instruction.op0_kind() == OpKind::NearBranch64 {
                let target = Label(instruction.near_branch64());
                jumps.push(Jump { start, end, target });
            }
        }
        for &(label, _) in order {
            labels.push(Bound { label, offset: end, jumps: jumps.len() });
        }
        Ok(LongCode { bytes: encoder.take_buffer(), jumps, labels })
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

    /// Decodes nothing: each jump's displacement is compared with the distance of its label.
    #[test]
    fn jumps_are_as_short_as_they_can_be() {
        for gap in [0, 1, 126, 127, 128, 129, 130, 200] {
            let mut asm = Asm::default();
            let [start, middle, end] = [(); 3].map(|()| asm.label());
            asm.bind(start);
            asm.jump(Op::Jne_rel32_64, end);
            asm.bind(middle);
            (0..gap).for_each(|_| asm.op0(Op::Nopd));
            asm.jump(Op::Jmp_rel32_64, middle);
            asm.bind(end);
            asm.jump(Op::Call_rel32_64, start);
            let code = asm.encode().unwrap();
            let [middle, end] = [middle, end].map(|label| code.offset(label).unwrap() as usize);
            // From the end of a short jump: forwards over `gap` and a jump, backwards over both.
            let (back, forwards) = (end - middle, end - middle);
            let first = if forwards <= 127 { 2 } else { 6 };
            let second = if gap + 2 <= 128 { 2 } else { 5 };
            assert_eq!((code.offset(start), middle, end), (Some(0), first, first + gap + second));
            let rel32 =
                |at: usize| i32::from_le_bytes(code.bytes[at - 4..at].try_into().unwrap()) as isize;
            let jump = if first == 2 { code.bytes[1] as i8 as isize } else { rel32(6) };
            assert_eq!(jump, forwards as isize);
            let opcode = if first == 2 { &[0x75][..] } else { &[0x0f, 0x85] };
            assert!(code.bytes.starts_with(opcode));
            let jump = if second == 2 { code.bytes[end - 1] as i8 as isize } else { rel32(end) };
            assert_eq!(jump, -(back as isize));
            assert_eq!(code.bytes[middle + gap], if second == 2 { 0xeb } else { 0xe9 });
            assert_eq!((code.bytes[end], rel32(end + 5)), (0xe8, -((end + 5) as isize)));
            assert_eq!(code.bytes.len(), end + 5);
        }
    }
}
