//! A list of x86-64 instructions with labels, encoded when it is complete.
//!
//! A thin layer over iced-x86. The target of a jump is the number of a label until the code is
//! encoded. Instructions are encoded once: jumps alone depend on where they are (`relax`), and
//! nothing else does.

mod relax;

use iced_x86::{Code as Op, Encoder, IcedError, Instruction, MemoryOperand, OpKind, Register};

use relax::{Bound, Jump, LongCode};

/// A place in the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Label(u64);

/// A memory operand of base and displacement.
pub(crate) fn at(base: Register, displacement: i64) -> MemoryOperand {
    MemoryOperand::with_base_displ(base, displacement)
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
    }

    fn push(&mut self, instruction: Result<Instruction, IcedError>) {
        match instruction {
            Ok(instruction) => self.list.push(instruction),
            Err(error) => {
                self.failed.get_or_insert(error);
            }
        }
    }

    /// Adds an instruction.
    pub(crate) fn instruction(&mut self, instruction: Result<Instruction, IcedError>) {
        self.push(instruction);
    }

    /// Loads the address of a label.
    pub(crate) fn address(&mut self, to: Register, label: Label) {
        self.rm(Op::Lea_r64_m, to, at(Register::RIP, label.0 as i64));
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

    pub(crate) fn mi(&mut self, op: Op, a: MemoryOperand, b: i32) {
        self.push(Instruction::with2(op, a, b));
    }

    pub(crate) fn rrr(&mut self, op: Op, a: Register, b: Register, c: Register) {
        self.push(Instruction::with3(op, a, b, c));
    }

    pub(crate) fn rrm(&mut self, op: Op, a: Register, b: Register, c: MemoryOperand) {
        self.push(Instruction::with3(op, a, b, c));
    }

    pub(crate) fn jump(&mut self, op: Op, to: Label) {
        self.push(Instruction::with_branch(op, to.0));
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
            } else if instruction.is_ip_rel_memory_operand() {
                // The displacement is last here, too, and cannot be short.
                let target = Label(instruction.ip_rel_memory_address());
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
