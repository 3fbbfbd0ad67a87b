//! Atomic operations on words of 32 and of 64 bits.

use super::memory::has_address;
use super::step::On;
use super::{Translator, Untranslated};
use crate::function::Type;
use crate::op::{Atomic, Home, Op, Shape};
use fast::code::{self, Code, Dst, Kind, Src};
use ir::Ty;
use ir::mods::{AtomOp, Space};

/// Returns whether an atomic operation has a form.
fn has_form(code: &Code, detailed: bool, atomic: &code::Atomic) -> bool {
    let memory = &atomic.memory;
    let (word, float) = (memory.word, matches!(atomic.ty, Ty::F32 | Ty::F64));
    let integer = matches!(atomic.ty, Ty::U32 | Ty::S32 | Ty::B32 | Ty::U64 | Ty::S64 | Ty::B64);
    let has_op = match atomic.op {
        AtomOp::Add => integer || float,
        AtomOp::Inc | AtomOp::Dec => integer && word == 4,
        _ => integer,
    };
    let result = matches!(
        (memory.dst.as_slice(), word),
        ([] | [Dst::None], _) | ([Dst::Narrow(_)], 4) | ([Dst::Wide(_)], 8)
    );
    let operands = if atomic.op == AtomOp::Cas { 2 } else { 1 };
    let whole = |s: &Src| !matches!(s, Src::Pair(..) | Src::ConstPair(..));
    has_op
        && result
        && matches!(word, 4 | 8)
        && memory.src.len() == operands
        && memory.src.iter().all(whole)
        && memory.space != Space::Local
        && has_address(code, detailed, memory)
}

impl Translator<'_> {
    pub(super) fn atomic(
        &mut self,
        atomic: &code::Atomic,
        kind: &Kind,
        on: On,
    ) -> Result<(), Untranslated> {
        if !has_form(self.code, self.detailed, atomic) {
            return self.interpret(kind, on);
        }
        let memory = &atomic.memory;
        let shape = match memory.address {
            Src::Const(_) | Src::Line(_, 0, _) => Shape::One,
            _ => Shape::Any,
        };
        let address = self.address(memory, shape);
        let (access, operands) = self.access(memory, kind, shape);
        let (ty, dst) = (access.row_type(), memory.dst.first().copied());
        let this = Atomic { access, op: atomic.op, ty: atomic.ty };
        let home = match dst {
            Some(Dst::Narrow(i)) => Some(Home::Narrow(i)),
            Some(Dst::Wide(i)) => Some(Home::Wide(i)),
            _ => None,
        };
        let mut args = vec![on.lanes, address];
        for &src in &memory.src {
            args.push(if ty == Type::Row64 { self.row64(src) } else { self.row32(src) });
        }
        args.extend(operands);
        let op = Op::Atomic(Box::new(this));
        match home {
            Some(home) => {
                let old = self.one(op, &args, ty);
                self.put(home, old, on);
            }
            None => self.effect(op, &args),
        }
        Ok(())
    }
}
