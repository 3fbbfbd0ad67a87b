//! Instructions of one machine instruction: operands, masks, and forms that lowering uses often.

use super::function::{
    Address, AddressBase, Function, Inst, MAX_OPERANDS, Machine, Micro, Modifiers, Piece, Span,
};
use super::operand::{Base, Mem, Source, Sources};
use super::register::{INT, VReg, View, int};
use iced_x86::{Code as Op, RoundingControl};
use regalloc2::{Operand, OperandConstraint, OperandKind, OperandPos};

impl Function {
    pub(super) fn push(&mut self, operand: Operand) -> u8 {
        let index = self.operands.len() as u32 - self.open.0;
        self.operands.push(operand);
        if index >= MAX_OPERANDS {
            self.failed = Some("an instruction has too many operands");
        }
        index as u8
    }

    /// Adds a value whose place is recorded. No machine instruction names it.
    pub(super) fn record(&mut self, register: VReg) -> u16 {
        let index = self.operands.len() as u32 - self.open.0;
        let any = OperandConstraint::Any;
        self.operands.push(Operand::new(register, any, OperandKind::Use, OperandPos::Late));
        if index > u32::from(u16::MAX) {
            self.failed = Some("an instruction has too many operands");
        }
        index as u16
    }

    /// Returns the index of the operand for a virtual register. A source whose register a result
    /// takes is not one: it has its value at the beginning only.
    pub(super) fn find(&self, register: VReg) -> Option<u8> {
        let list = &self.operands[self.open.0 as usize..];
        let is_tied = |i: usize| {
            let next = list.get(i + 1).map(|operand| operand.constraint());
            next == Some(OperandConstraint::Reuse(i))
        };
        let found = (0..list.len()).find(|&i| list[i].vreg() == register && !is_tied(i));
        found.map(|index| index as u8)
    }

    pub(super) fn read(
        &mut self,
        register: VReg,
        constraint: OperandConstraint,
        pos: OperandPos,
    ) -> u8 {
        self.push(Operand::new(register, constraint, OperandKind::Use, pos))
    }

    pub(super) fn piece(&mut self, source: Source, pos: OperandPos) -> Piece {
        let find = pos == OperandPos::Late;
        let reg = OperandConstraint::Reg;
        let full = |register: VReg| View::full(register.class());
        match source {
            Source::Reg(r, view) => {
                let known = if find { self.find(r) } else { None };
                let index = known.unwrap_or_else(|| self.read(r, reg, pos));
                Piece::Reg(index, view.unwrap_or(full(r)))
            }
            Source::Any(r, view) => {
                let known = if find { self.find(r) } else { None };
                let any = if find { reg } else { OperandConstraint::Any };
                let index = known.unwrap_or_else(|| self.read(r, any, pos));
                Piece::Reg(index, view.unwrap_or(full(r)))
            }
            Source::Fixed(r, view, register) => {
                let fixed = OperandConstraint::FixedReg(int(register));
                let known = if find { self.find(r) } else { None };
                Piece::Reg(known.unwrap_or_else(|| self.read(r, fixed, pos)), view)
            }
            Source::Mem(memory) => Piece::Mem(self.address(memory, pos)),
            Source::Imm(value) => Piece::Imm(value),
        }
    }

    fn address(&mut self, memory: Mem, pos: OperandPos) -> Address {
        let base = match memory.base {
            Base::Reg(r) => match self.piece(r.into(), pos) {
                Piece::Reg(index, _) => AddressBase::Reg(index),
                _ => unreachable!("registers are registers"),
            },
            Base::Frame => AddressBase::Frame,
            Base::Pool => AddressBase::Pool,
            Base::Seat => AddressBase::Seat,
        };
        let index =
            memory.index.and_then(|(r, view)| match self.piece(Source::Reg(r, view), pos) {
                Piece::Reg(index, view) => Some((index, view)),
                _ => None,
            });
        let Mem { scale, displacement, broadcast, .. } = memory;
        Address { base, index, scale, broadcast, displacement }
    }

    /// Adds a machine instruction with the operands after `first`.
    pub(super) fn machine(&mut self, op: Op, first: usize, mask: Option<u8>) {
        let Modifiers { zeroing, rounding, quiet, .. } = std::mem::take(&mut self.modifiers);
        self.micros.push(Micro::Op(Machine {
            op,
            pieces: first as u32,
            count: (self.pieces.len() - first) as u8,
            mask,
            zeroing,
            rounding: rounding.unwrap_or(RoundingControl::None),
            quiet,
        }));
    }

    /// Ends the open instruction; its code from `outside` on is emitted out of line.
    pub(super) fn close(&mut self) {
        self.close_pseudo(None, 0);
    }

    pub(super) fn close_pseudo(&mut self, outside: Option<u32>, labels: u8) {
        let (operands, micros) = (self.operands.len() as u32, self.micros.len() as u32);
        let in_line = self.open.1 as usize..outside.unwrap_or(micros) as usize;
        let switches = self.micros[in_line].iter().any(|micro| match micro {
            Micro::Leave(leave) => self.leaves[*leave as usize].resume.is_some(),
            _ => false,
        });
        self.insts.push(Inst {
            operands: Span { start: self.open.0, end: operands },
            micros: Span { start: self.open.1, end: micros },
            outside: outside.unwrap_or(micros),
            labels,
            leaves: self.leaves.len() as u32 > self.open.2,
            switches,
        });
        self.open = (operands, micros, self.leaves.len() as u32);
    }

    // What applies to the next instruction.

    /// The next instruction writes the lanes of a mask; the others have the values of `old`.
    pub(crate) fn merge(&mut self, mask: VReg, old: VReg) -> &mut Self {
        (self.modifiers.mask, self.modifiers.old) = (Some(mask), Some(old));
        self
    }

    /// The next instruction writes the lanes of a mask; the others become zero.
    pub(crate) fn zero(&mut self, mask: VReg) -> &mut Self {
        (self.modifiers.mask, self.modifiers.zeroing) = (Some(mask), true);
        self
    }

    /// The next instruction is masked: a compare, a store, or one whose first source is also what
    /// the other lanes keep.
    pub(crate) fn masked(&mut self, mask: VReg) -> &mut Self {
        self.modifiers.mask = Some(mask);
        self
    }

    /// The next instruction rounds so, and raises no flags.
    pub(crate) fn round(&mut self, rounding: RoundingControl) -> &mut Self {
        self.modifiers.rounding = Some(rounding);
        self
    }

    /// The next instruction raises no flags of floating point (`{sae}`).
    pub(crate) fn quiet(&mut self) -> &mut Self {
        self.modifiers.quiet = true;
        self
    }

    // Instructions.

    /// Adds an instruction that writes a register.
    ///
    /// `tied` is a source that the instruction reads from the register that it writes.
    fn write(
        &mut self,
        op: Op,
        view: View,
        tied: Option<VReg>,
        sources: impl Sources,
        convert: impl Fn(Source) -> Source,
    ) -> VReg {
        let first = self.pieces.len();
        let result = self.register(view.class());
        let mask = self.modifiers.mask;
        let tied = tied.or(self.modifiers.old);
        let to = if let Some(tied) = tied {
            let input = self.read(tied, OperandConstraint::Reg, OperandPos::Early);
            self.push(Operand::reg_reuse_def(result, input.into()))
        } else {
            self.push(Operand::reg_def(result))
        };
        self.pieces.push(Piece::Reg(to, view));
        sources.each(|source| {
            let piece = self.piece(convert(source), OperandPos::Early);
            self.pieces.push(piece);
        });
        let mask = mask.map(|k| self.read(k, OperandConstraint::Reg, OperandPos::Early));
        self.machine(op, first, mask);
        self.close();
        result
    }

    /// `to = op sources`.
    pub(crate) fn def(&mut self, op: Op, view: View, sources: impl Sources) -> VReg {
        self.write(op, view, None, sources, |source| source)
    }

    /// `to = op to, sources`, with `to` being `tied` before.
    pub(crate) fn tied(&mut self, op: Op, view: View, tied: VReg, sources: impl Sources) -> VReg {
        self.write(op, view, Some(tied), sources, |source| source)
    }

    /// `to = op to, sources` on a part of general registers.
    pub(crate) fn alu(&mut self, op: Op, view: View, tied: VReg, sources: impl Sources) -> VReg {
        self.write(op, view, Some(tied), sources, |source| part(source, view))
    }

    /// `to = op sources` on a part of general registers.
    pub(crate) fn int(&mut self, op: Op, view: View, sources: impl Sources) -> VReg {
        self.write(op, view, None, sources, |source| part(source, view))
    }

    /// An instruction of full vectors with one source.
    pub(crate) fn v2(&mut self, op: Op, a: impl Into<Source>) -> VReg {
        self.def(op, View::V, (a,))
    }

    /// An instruction of full vectors with one source and an immediate.
    pub(crate) fn v2i(&mut self, op: Op, a: impl Into<Source>, imm: i32) -> VReg {
        self.def(op, View::V, (a, imm))
    }

    /// An instruction of full vectors with two sources; the second may be in memory.
    pub(crate) fn v3(&mut self, op: Op, a: VReg, b: impl Into<Source>) -> VReg {
        let b = self.folded(b.into());
        self.def(op, View::V, (a, b))
    }

    /// An instruction of full vectors with two sources, of which the second may be in memory, and
    /// an immediate.
    pub(crate) fn v3i(&mut self, op: Op, a: VReg, b: impl Into<Source>, imm: i32) -> VReg {
        let b = self.folded(b.into());
        self.def(op, View::V, (a, b, imm))
    }

    /// An instruction of full vectors with three sources, of which the first is overwritten, and
    /// the third may be in memory: multiply-adds, permutations of two vectors.
    pub(crate) fn v4(&mut self, op: Op, a: VReg, b: VReg, c: impl Into<Source>) -> VReg {
        let c = self.folded(c.into());
        self.tied(op, View::V, a, (b, c))
    }

    /// The same with an immediate: `vpternlog`.
    pub(crate) fn v4i(&mut self, op: Op, a: VReg, b: VReg, c: impl Into<Source>, i: i32) -> VReg {
        let c = self.folded(c.into());
        self.tied(op, View::V, a, (b, c, i))
    }

    /// Compares full vectors, of which the second may be in memory; the result is a mask.
    pub(crate) fn compare(&mut self, op: Op, a: VReg, b: impl Into<Source>, imm: i32) -> VReg {
        let b = self.folded(b.into());
        self.def(op, View::K, (a, b, imm))
    }

    /// Tests full vectors, of which the second may be in memory; the result is a mask.
    pub(crate) fn test(&mut self, op: Op, a: VReg, b: impl Into<Source>) -> VReg {
        let b = self.folded(b.into());
        self.def(op, View::K, (a, b))
    }

    /// An instruction of masks with one source.
    pub(crate) fn k2(&mut self, op: Op, a: impl Into<Source>) -> VReg {
        self.def(op, View::K, (a,))
    }

    /// An instruction of masks with two sources.
    pub(crate) fn k3(&mut self, op: Op, a: VReg, b: VReg) -> VReg {
        self.def(op, View::K, (a, b))
    }

    /// A shift of a mask.
    pub(crate) fn k2i(&mut self, op: Op, a: VReg, imm: i32) -> VReg {
        self.def(op, View::K, (a, imm))
    }

    /// An instruction whose sources are the register that it writes, and do not matter: zeros by
    /// exclusive or, ones by `kxnor`.
    pub(crate) fn same(&mut self, op: Op, view: View, sources: usize) -> VReg {
        let first = self.pieces.len();
        let result = self.register(view.class());
        let to = self.push(Operand::reg_def(result));
        self.pieces.extend((0..=sources).map(|_| Piece::Reg(to, view)));
        self.machine(op, first, None);
        self.close();
        result
    }

    /// A number in a general register.
    pub(crate) fn constant(&mut self, value: u64) -> VReg {
        let narrow = value <= u64::from(u32::MAX);
        let (op, view) = match value {
            0 => return self.same(Op::Xor_r32_rm32, View::R32, 1),
            _ if narrow => (Op::Mov_r32_imm32, View::R32),
            _ => (Op::Mov_r64_imm64, View::R64),
        };
        let first = self.pieces.len();
        let result = self.register(INT);
        let to = self.push(Operand::reg_def(result));
        let imm = if narrow { Piece::Imm(value as i32) } else { Piece::Imm64(value) };
        self.pieces.extend([Piece::Reg(to, view), imm]);
        self.machine(op, first, None);
        self.close();
        result
    }

    /// The address of memory.
    pub(crate) fn lea(&mut self, memory: Mem) -> VReg {
        self.def(Op::Lea_r64_m, View::R64, (memory,))
    }

    /// Adds an instruction without a result: a store, an addition to memory.
    pub(crate) fn effect(&mut self, op: Op, sources: impl Sources) {
        let first = self.pieces.len();
        let mask = self.modifiers.mask;
        sources.each(|source| {
            let piece = self.piece(source, OperandPos::Early);
            self.pieces.push(piece);
        });
        let mask = mask.map(|k| self.read(k, OperandConstraint::Reg, OperandPos::Early));
        self.machine(op, first, mask);
        self.close();
    }

    /// Stores a register.
    pub(crate) fn store(&mut self, op: Op, to: Mem, from: impl Into<Source>) {
        self.effect(op, (to, from));
    }

    /// Gathers the lanes of a mask; the others have the values of `old`.
    pub(crate) fn gather(&mut self, op: Op, view: View, from: Mem, mask: VReg, old: VReg) -> VReg {
        let mut p = self.pseudo();
        let to = p.output_tied(view, old);
        let left = p.output_tied(View::K, mask);
        p.masked(left).op(op, (Source::Reg(to, Some(view)), from));
        p.end();
        to
    }

    /// Scatters the lanes of a mask.
    pub(crate) fn scatter(&mut self, op: Op, to: Mem, mask: VReg, from: impl Into<Source>) {
        let mut p = self.pseudo();
        let left = p.output_tied(View::K, mask);
        p.masked(left).op(op, (to, from));
        p.end();
    }

    /// Returns an operand that may stay in its spill slot, unless the next instruction rounds in a
    /// given way, which only registers allow.
    fn folded(&self, source: Source) -> Source {
        match source {
            Source::Reg(r, view) if self.modifiers.rounding.is_none() && !self.modifiers.quiet => {
                Source::Any(r, view)
            }
            _ => source,
        }
    }
}

/// Names the part of a general register if none is named.
pub(super) fn part(source: Source, view: View) -> Source {
    let view = |r: VReg, given: Option<View>| {
        if r.class() == INT { given.or(Some(view)) } else { given }
    };
    match source {
        Source::Reg(r, given) => Source::Reg(r, view(r, given)),
        Source::Any(r, given) => Source::Any(r, view(r, given)),
        other => other,
    }
}
