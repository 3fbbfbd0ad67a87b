//! SIMD video instructions: `vadd2`, `vset4` and their kin.
//!
//! They become arithmetic on 32-bit integers, element by element, in the steps of the PTX ISA
//! ("SIMD Video Instructions"): selectors take halves or bytes of both sources, which are extended
//! by their types; one operation gives a result that 18 bits hold; `.sat` clamps it to an
//! element's range. Results of the elements in the mask replace those of the third operand, or
//! `.add` adds them to it.

use ir::{Op, Operand as Value, Origin, RegTy, Ty};

use crate::ast::{Instruction, Operand, OperandKind, Type};
use crate::lower::Lowering;
use crate::lower::emit::inst;
use crate::lower::function::Body;
use crate::names::Symbol;
use crate::spelling::{Kind, Spelled};

/// How an instruction divides words.
#[derive(Clone, Copy, Debug)]
struct Elements {
    /// How many a word has.
    count: u32,
    /// The letter of their selectors.
    letter: char,
}

impl Elements {
    fn of(opcode: &str) -> Self {
        match opcode.ends_with('4') {
            true => Self { count: 4, letter: 'b' },
            false => Self { count: 2, letter: 'h' },
        }
    }

    fn bits(self) -> u32 {
        32 / self.count
    }

    /// Returns the digits of a selector below `limit`, the last one first.
    fn digits(self, word: &str, limit: u32) -> Option<Vec<u32>> {
        let digits = word.strip_prefix(self.letter)?.chars().rev();
        digits.map(|digit| digit.to_digit(limit)).collect()
    }
}

impl Body<'_, '_> {
    pub(super) fn video_elements(&mut self, s: &Spelled, i: &Instruction) -> Lowering<()> {
        self.count(i, 4, 4)?;
        let all = &self.cx.tree.operands[i.operands];
        let named = |o: &&Operand| matches!(o.kind, OperandKind::Name(_) | OperandKind::Member(..));
        if let Some(constant) = all.iter().find(|operand| !named(operand)) {
            let message = "SIMD video instructions take registers only";
            return self.cx.error("ptx::operand", message, constant.span, "not a register");
        }
        let elements = Elements::of(s.form.opcode);
        let (to, mask) = self.element_mask(&all[0], elements)?;
        let to = self.destination(&to, Type::U32, false, false)?;
        let compares = s.form.opcode.starts_with("vset");
        let types = if compares { &s.types[..] } else { &s.types[1..] };
        let (a, from_a) = self.element_selector(&all[1], elements, 0)?;
        let (b, from_b) = self.element_selector(&all[2], elements, elements.count)?;
        let a = self.source(&a, Type::U32, false)?;
        let b = self.source(&b, Type::U32, false)?;
        let mut result = self.source(&all[3], Type::U32, false)?;
        let Some(to) = to else { return Ok(()) };
        for at in mask {
            let part = |from: &[u32], of: usize| (from[at as usize], types[of]);
            let x = self.element([a, b], elements, part(&from_a, 0));
            let y = self.element([a, b], elements, part(&from_b, 1));
            let mut value = self.element_result(s, x, y);
            if s.has(Kind::Sat) {
                value = self.element_in_range(value, s.ty() == Type::S32, elements.bits());
            }
            result = match s.has(Kind::Accumulate) {
                true => self.word(Op::Add, Ty::S32, &[result, value]),
                false => {
                    let place = [at * elements.bits(), elements.bits()];
                    let [at, bits] = place.map(|bits| Value::Imm(bits.into()));
                    self.word(Op::Bfi, Ty::B32, &[value, result, at, bits])
                }
            };
        }
        self.emit(inst(Op::Mov, Some(Ty::B32), to, &[result]), Origin::Source);
        Ok(())
    }

    /// An element of the two sources, the second one's behind the first one's, in 32 bits.
    fn element(&mut self, of: [Value; 2], by: Elements, (number, ty): (u32, Type)) -> Value {
        let source = of[(number / by.count) as usize];
        let place = [number % by.count * by.bits(), by.bits()];
        let [at, bits] = place.map(|bits| Value::Imm(bits.into()));
        let ty = if ty == Type::S32 { Ty::S32 } else { Ty::U32 };
        self.word(Op::Bfe, ty, &[source, at, bits])
    }

    /// Computes the result of an element before it is clamped.
    fn element_result(&mut self, s: &Spelled, a: Value, b: Value) -> Value {
        let opcode = s.form.opcode.trim_end_matches(['2', '4']);
        let op = match opcode {
            "vadd" | "vavrg" => Op::Add,
            "vsub" | "vabsdiff" => Op::Sub,
            "vmin" => Op::Min,
            "vmax" => Op::Max,
            _ => return self.comparison(s, Ty::S32, RegTy::B32, [a, b]),
        };
        let value = self.word(op, Ty::S32, &[a, b]);
        match opcode {
            "vabsdiff" => self.word(Op::Abs, Ty::S32, &[value]),
            "vavrg" => self.half_of(value),
            _ => value,
        }
    }

    /// Half of a sum, rounded up; that of a negative sum is rounded down.
    fn half_of(&mut self, sum: Value) -> Value {
        let sign = self.word(Op::Shr, Ty::S32, &[sum, Value::Imm(31)]);
        let sum = self.word(Op::Add, Ty::S32, &[sum, Value::Imm(1)]);
        let sum = self.word(Op::Add, Ty::S32, &[sum, sign]);
        self.word(Op::Shr, Ty::S32, &[sum, Value::Imm(1)])
    }

    fn element_in_range(&mut self, value: Value, signed: bool, bits: u32) -> Value {
        let range = 1_i32 << bits;
        let (least, most) = if signed { (-range / 2, range / 2 - 1) } else { (0, range - 1) };
        let [least, most] = [least, most].map(|v| Value::Imm(v.cast_unsigned().into()));
        let value = self.word(Op::Max, Ty::S32, &[value, least]);
        self.word(Op::Min, Ty::S32, &[value, most])
    }

    /// Splits the destination into the register and the elements in its mask, the lowest first.
    fn element_mask(&mut self, operand: &Operand, by: Elements) -> Lowering<(Operand, Vec<u32>)> {
        let (register, word) = self.element_word(operand);
        let Some(word) = word else { return Ok((register, (0..by.count).collect())) };
        let word = self.cx.tree.name(word);
        let falls = |digits: &Vec<u32>| !digits.is_empty() && digits.is_sorted_by(|a, b| a < b);
        if let Some(digits) = by.digits(word, by.count).filter(falls) {
            return Ok((register, digits));
        }
        let message = format!("`.{word}` is no mask of elements");
        let most = if by.count == 4 { "b3210" } else { "h10" };
        let label = format!("some of the digits of `.{most}` in this order are possible");
        self.cx.error("ptx::operand", message, operand.span, &label)
    }

    /// Splits a source into the register and the elements that its selector takes, the lowest
    /// first: by default those from `first` on.
    fn element_selector(
        &mut self,
        operand: &Operand,
        by: Elements,
        first: u32,
    ) -> Lowering<(Operand, Vec<u32>)> {
        let (register, word) = self.element_word(operand);
        let Some(word) = word else {
            return Ok((register, (first..first + by.count).collect()));
        };
        let word = self.cx.tree.name(word);
        let all = |digits: &Vec<u32>| digits.len() == by.count as usize;
        if let Some(digits) = by.digits(word, 2 * by.count).filter(all) {
            return Ok((register, digits));
        }
        let message = format!("`.{word}` selects no elements of the sources");
        let Elements { count, letter } = by;
        let label =
            format!("`.{letter}` and {count} digits from 0 to {} are possible", 2 * count - 1);
        self.cx.error("ptx::operand", message, operand.span, &label)
    }

    /// Splits an operand into the register and the word behind it.
    fn element_word(&self, operand: &Operand) -> (Operand, Option<Symbol>) {
        match operand.kind {
            OperandKind::Member(name, word) if self.is_scalar_register(name) => {
                let kind = OperandKind::Name(name);
                (Operand { kind, span: operand.span }, Some(word))
            }
            _ => (operand.clone(), None),
        }
    }
}
