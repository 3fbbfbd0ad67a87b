//! What an instruction's result is, given what its operands are.
//!
//! Sums, differences, products with known numbers and shifts by them keep strides. A value whose
//! lanes' part fits below the base's zeros (`separate`) keeps its stride under masks and loses it
//! under shifts. Widening a 32-bit value keeps the stride if the lanes' values do not wrap in
//! between; where that is likely but not certain, the fact holds under an *assumption*, which
//! whoever relies on it must test at each execution.

use super::shape::Shape;
use super::value::{Class, Value, ones};
use ir::mods::{AtomOp, Flag, Space};
use ir::{Function, Inst, Op, Operand, Reg, RegTy, Ty};
use smallvec::SmallVec;

/// A result, and whether it stands under the assumption that its (first) operand does not wrap over
/// the lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Derived {
    pub(super) value: Value,
    pub(super) assumed: bool,
}

impl From<Value> for Derived {
    fn from(value: Value) -> Self {
        Self { value, assumed: false }
    }
}

/// What the rules may use.
#[derive(Clone, Copy)]
pub(super) struct Rules<'a> {
    pub(super) function: &'a Function,
    pub(super) shape: Shape,
    /// Whether widened values may be assumed not to wrap.
    pub(super) assume: bool,
}

/// Operand values of an instruction.
type Values = SmallVec<[Value; 4]>;

impl Rules<'_> {
    /// An operand that is not a register.
    pub(super) fn operand(&self, operand: &Operand) -> Value {
        match *operand {
            Operand::Imm(bits) => match u64::try_from(bits) {
                Ok(bits) => Value::constant(bits),
                Err(_) => Value::uniform(),
            },
            Operand::Symbol(ir::Symbol::Local(_), _) if !self.function.is_kernel() => {
                Value::varying()
            }
            _ => Value::uniform(),
        }
    }

    /// The results of an instruction whose operands have these values, in order.
    pub(super) fn results(&self, inst: &Inst, operands: &Values) -> SmallVec<[Derived; 2]> {
        use ir::op::Class as Kind;
        let all_uniform = operands.iter().all(Value::is_uniform);
        let count = inst.results.len();
        let first: Derived = match inst.op.info().class {
            Kind::Compute if inst.op == Op::Sreg => self.sreg(inst).into(),
            Kind::Compute => self.compute(inst, operands, all_uniform),
            Kind::Memory => self.memory(inst, operands).into(),
            Kind::Collective => self.collective(inst, operands).into(),
            Kind::Barrier => barrier(inst, operands).into(),
            _ => Value::varying().into(),
        };
        let mut out: SmallVec<[Derived; 2]> = SmallVec::from_elem(first, count.min(1));
        let uniform_too = first.value.is_uniform()
            && match inst.op.info().class {
                Kind::Compute | Kind::Memory => true,
                // The second result of a collective may be the lane's own.
                _ => false,
            };
        let other = if uniform_too { Value::uniform() } else { Value::varying() };
        for index in 1..count {
            out.push(other.truncated(self.result_bits(inst, index)).into());
        }
        if let Some(first) = out.first_mut() {
            first.value = first.value.truncated(self.result_bits(inst, 0));
        }
        out
    }

    fn result_bits(&self, inst: &Inst, index: usize) -> u32 {
        match inst.results.get(index) {
            Some(Some(Reg::Lane(reg))) => {
                self.function.regs.get(reg.index()).map_or(64, |r| r.ty.bits().min(64))
            }
            _ => 64,
        }
    }

    fn sreg(&self, inst: &Inst) -> Value {
        match inst.operands.first() {
            Some(Operand::Sreg(reg)) => self.shape.sreg(*reg, self.result_bits(inst, 0)),
            _ => Value::varying(),
        }
    }

    /// A load gives all lanes the same where all read one place that is the same place for all.
    fn memory(&self, inst: &Inst, operands: &Values) -> Value {
        let one_place = operands.first().is_some_and(Value::is_uniform)
            && matches!(
                inst.mods.space,
                Some(Space::Global | Space::Const | Space::Param | Space::Shared)
            );
        let bits = inst.ty.map_or(64, Ty::bits);
        match inst.op {
            Op::Ld => {
                let value = if one_place { Value::uniform() } else { Value::varying() };
                let signed = inst.ty.is_some_and(Ty::is_signed);
                if signed || bits >= 64 { value } else { value.with_max(ones(bits)) }
            }
            _ => Value::varying(),
        }
    }

    /// Votes and reductions give all members the same; who the members are must be the same for
    /// all.
    fn collective(&self, inst: &Inst, operands: &Values) -> Value {
        let one_warp = self.shape.width <= 32 || self.shape.threads() <= 32;
        let together = inst.mods.flags.has(Flag::NoMask);
        let members = operands.last().is_none_or(Value::is_uniform);
        let agree =
            matches!(inst.op, Op::Vote | Op::Ballot | Op::Redux | Op::ActiveMask | Op::Elect);
        if one_warp && agree && (together || members) { Value::uniform() } else { Value::varying() }
    }

    fn compute(&self, inst: &Inst, operands: &Values, all_uniform: bool) -> Derived {
        let ty = inst.ty.unwrap_or(Ty::B32);
        let bits = ty.bits();
        let plain = integer(ty) && bits >= 32 && !inst.mods.flags.has(Flag::Sat);
        let by_rule = match (inst.op, operands.as_slice()) {
            (Op::Mov, [a]) if bits <= 64 => Some(Derived::from(*a)),
            (Op::CvtaTo | Op::CvtaFrom, [a]) => {
                // A window's base is added or taken away.
                let zeros = a.zeros.min(32);
                Some(Value { known: None, max: u64::MAX, zeros, ..*a }.into())
            }
            (Op::Selp, [a, b, p]) if p.is_uniform() => Some(a.join(b).into()),
            (Op::Selp, [a, b, _]) => Some(a.join(b).mixed().into()),
            (Op::Cvt, [a]) => inst.ty2.and_then(|from| self.convert(inst, ty, from, a)),
            (Op::Add, [a, b]) if plain => Some(add(a, b, bits).into()),
            (Op::Sub, [a, b]) if plain => Some(add(a, &negated(b), bits).into()),
            (Op::Neg, [a]) if plain => Some(negated(a).truncated(bits).into()),
            (Op::Mul, [a, b]) if plain => multiply(a, b, bits).map(Derived::from),
            (Op::Mad, [a, b, c]) if plain => {
                multiply(a, b, bits).map(|product| add(&product, c, bits).into())
            }
            (Op::MulWide, [a, b]) if plain => self.multiply_wide(ty, a, b),
            (Op::MadWide, [a, b, c]) if plain => self
                .multiply_wide(ty, a, b)
                .map(|product| Derived { value: add(&product.value, c, 2 * bits), ..product }),
            (Op::Shl, [a, n]) if plain => shift_left(a, n, bits).map(Derived::from),
            (Op::Shr, [a, n]) if plain => self.shift_right(ty, a, n).map(Derived::from),
            (Op::And, [a, b]) if plain => self.and(a, b).map(Derived::from),
            (Op::Or, [a, b]) if plain => self.or(a, b).map(Derived::from),
            (Op::Min, [a, b]) if plain && !ty.is_signed() => {
                Some(Value::varying().with_max(a.max.min(b.max)).into())
            }
            (Op::Rem, [a, b]) if plain && !ty.is_signed() && b.known.is_some_and(|k| k > 0) => {
                Some(Value::varying().with_max(a.max.min(b.max - 1)).into())
            }
            (Op::Setp | Op::Popc | Op::Clz, _) => Some(Value::varying().with_max(64).into()),
            _ => None,
        };
        let mut derived = by_rule.unwrap_or_else(|| Value::varying().into());
        if all_uniform && !derived.value.is_uniform() {
            derived = Value::uniform().with_max(derived.value.max).into();
        }
        derived
    }

    /// Whether no two lanes' values of `bits` bits lie on different sides of a wrap, as numbers
    /// with or without sign.
    fn keeps_order(&self, a: &Value, bits: u32, signed: bool) -> bool {
        let last = self.shape.last_lane();
        if a.separate(last).is_some_and(|part| part < bits) {
            return true;
        }
        let top = if signed { ones(bits) >> 1 } else { ones(bits) };
        match a.class {
            Class::Uniform => true,
            Class::Varying => false,
            Class::Affine(stride) => {
                let reach = last.saturating_mul(stride.unsigned_abs());
                // Upwards the greatest value would be beyond the top; downwards, values would be
                // after a wrap.
                a.max <= top && top - a.max >= reach
            }
        }
    }

    /// A value of `bits` bits, extended to 64 by its sign or by zeros.
    fn extend(&self, a: &Value, bits: u32, signed: bool) -> Derived {
        let top = ones(bits) >> 1;
        let positive = !signed || a.max <= top;
        if let Some(known) = a.known {
            let shift = 64 - bits;
            let bits = if signed { ((known << shift) as i64 >> shift) as u64 } else { known };
            return Value::constant(bits).into();
        }
        let max = if positive { a.max.min(ones(bits)) } else { u64::MAX };
        let in_order = self.keeps_order(a, bits, signed);
        match a.class {
            Class::Uniform => Value { max, ..*a }.into(),
            Class::Affine(stride) if in_order || self.assume => {
                let reach = self.shape.last_lane().saturating_mul(stride.unsigned_abs());
                // Of the sum's zeros only those below the sign are zeros of a base taken to 64
                // bits.
                let zeros = if a.zeros >= bits { bits - 1 } else { a.zeros };
                let value = Value { class: a.class, known: None, zeros, max, span: reach };
                Derived { value, assumed: !in_order }
            }
            _ => {
                let span = if positive { max } else { ones(bits) };
                Value::varying().with_max(max).with_span(span).into()
            }
        }
    }

    fn convert(&self, inst: &Inst, to: Ty, from: Ty, a: &Value) -> Option<Derived> {
        let whole = integer(to) && integer(from) && !inst.mods.flags.has(Flag::Sat);
        let result = self.result_bits(inst, 0);
        if !whole || to.bits() > result {
            return None;
        }
        // The value as the source type reads it, then as the result's register holds it.
        let source = a.truncated(from.bits());
        if from.bits() < 32 && a.known.is_none() {
            let value = if a.is_uniform() { Value::uniform() } else { Value::varying() };
            let narrow = !from.is_signed() && to.bits() >= from.bits() && !to.is_signed();
            return Some(if narrow { value.with_max(ones(from.bits())) } else { value }.into());
        }
        if to.bits() <= from.bits() {
            let cut = source.truncated(to.bits());
            if to.bits() == result {
                return Some(cut.into());
            }
            let uniform = if a.is_uniform() { Value::uniform() } else { Value::varying() };
            return Some(uniform.into());
        }
        if to.bits() != result {
            return Some(if a.is_uniform() { Value::uniform() } else { Value::varying() }.into());
        }
        Some(self.extend(&source, from.bits(), from.is_signed()))
    }

    fn multiply_wide(&self, ty: Ty, a: &Value, b: &Value) -> Option<Derived> {
        let (bits, signed) = (ty.bits(), ty.is_signed());
        let (a, b) = if a.known.is_some() { (b, a) } else { (a, b) };
        let factor = self.extend(b, bits, signed).value;
        let left = self.extend(a, bits, signed);
        let product = multiply(&left.value, &factor, 64)?;
        Some(Derived { value: product, assumed: left.assumed })
    }

    fn shift_right(&self, ty: Ty, a: &Value, n: &Value) -> Option<Value> {
        let by = n.known?;
        if by >= u64::from(ty.bits()) {
            return None;
        }
        let by = by as u32;
        let positive = !ty.is_signed() || a.max <= ones(ty.bits()) >> 1;
        let max = if positive { a.max.min(ones(ty.bits())) >> by } else { u64::MAX };
        if let Some(known) = a.known.filter(|_| positive) {
            return Some(Value::constant(known >> by));
        }
        let zeros = a.zeros.min(ty.bits()).saturating_sub(by);
        match (a.class, a.separate(self.shape.last_lane())) {
            (Class::Uniform, _) => Some(Value::uniform().with_max(max).with_zeros(zeros)),
            // The lanes' part falls out as a whole, or keeps its place in the zeros.
            (Class::Affine(_), Some(part)) if part <= by => {
                Some(Value::uniform().with_max(max).with_zeros(zeros))
            }
            // A lane's part that reaches the sign does not keep its value.
            (Class::Affine(stride), Some(part))
                if stride.trailing_zeros() >= by && (part < ty.bits() || !ty.is_signed()) =>
            {
                Some(Value::affine(stride >> by).with_max(max).with_zeros(zeros))
            }
            _ => Some(Value::varying().with_max(max)),
        }
    }

    fn and(&self, a: &Value, b: &Value) -> Option<Value> {
        let (a, b) = if a.known.is_some() { (b, a) } else { (a, b) };
        let max = a.max.min(b.max);
        let Some(mask) = b.known else { return Some(Value::varying().with_max(max)) };
        if let Some(known) = a.known {
            return Some(Value::constant(known & mask));
        }
        let zeros = a.zeros.max(mask.trailing_zeros());
        Some(match (a.class, a.separate(self.shape.last_lane())) {
            (Class::Uniform, _) => Value::uniform().with_max(max).with_zeros(zeros),
            (Class::Affine(_), Some(part)) if mask & ones(part) == 0 => {
                Value::uniform().with_max(max).with_zeros(zeros)
            }
            (Class::Affine(stride), Some(part)) if mask & ones(part) == ones(part) => {
                // The base keeps the zeros that it has, and is nothing but zeros if the mask ends
                // below them.
                let zeros = if 64 - mask.leading_zeros() <= a.zeros { 64 } else { a.zeros };
                Value::affine(stride).with_max(max).with_zeros(zeros)
            }
            _ => Value::varying().with_max(max),
        })
    }

    /// Of numbers that share no set bit, `or` is the sum.
    fn or(&self, a: &Value, b: &Value) -> Option<Value> {
        let apart = |low: &Value, high: &Value| high.is_uniform() && low.max <= ones(high.zeros);
        let sum = apart(a, b) || apart(b, a);
        sum.then(|| add(a, b, 64))
    }
}

fn integer(ty: Ty) -> bool {
    use Ty::{B8, B16, B32, B64, S8, S16, S32, S64, U8, U16, U32, U64};
    matches!(ty, U8 | U16 | U32 | U64 | S8 | S16 | S32 | S64 | B8 | B16 | B32 | B64)
}

fn add(a: &Value, b: &Value, bits: u32) -> Value {
    if let (Some(a), Some(b)) = (a.known, b.known) {
        return Value::constant(a.wrapping_add(b) & ones(bits));
    }
    let max = a.max.checked_add(b.max).filter(|&m| m <= ones(bits)).unwrap_or(u64::MAX);
    let span = a.span.saturating_add(b.span);
    let out = match (a.stride(), b.stride()) {
        (Some(x), Some(y)) => Value::affine(x.wrapping_add(y)).with_zeros(a.zeros.min(b.zeros)),
        _ => Value::varying(),
    };
    out.with_span(span).with_max(max).truncated(bits)
}

fn negated(a: &Value) -> Value {
    if let Some(known) = a.known {
        return Value { max: u64::MAX, ..Value::constant(known.wrapping_neg()) };
    }
    let out = match a.stride() {
        Some(stride) => Value::affine(stride.wrapping_neg()).with_zeros(a.zeros),
        None => Value::varying(),
    };
    out.with_span(a.span)
}

/// The result of a reduction is the same for all threads that wait at one barrier together.
fn barrier(inst: &Inst, operands: &Values) -> Value {
    let reduces = inst.mods.barrier.is_some_and(ir::mods::Barrier::reduces);
    let names = operands.len().saturating_sub(usize::from(reduces));
    let one = operands.iter().take(names).all(Value::is_uniform);
    if one { Value::uniform() } else { Value::varying() }
}

/// A product; `None` if no operand is known.
fn multiply(a: &Value, b: &Value, bits: u32) -> Option<Value> {
    let (a, b) = if a.known.is_some() { (b, a) } else { (a, b) };
    let product = a.max.checked_mul(b.max).filter(|&m| m <= ones(bits)).unwrap_or(u64::MAX);
    let zeros = a.zeros.min(64) + b.zeros.min(64);
    if a.is_uniform() && b.is_uniform() {
        if let (Some(a), Some(b)) = (a.known, b.known) {
            return Some(Value::constant(a.wrapping_mul(b) & ones(bits)));
        }
        return Some(Value::uniform().with_max(product).with_zeros(zeros.min(bits)));
    }
    let factor = b.known?;
    let span = if (factor as i64) >= 0 { a.span.saturating_mul(factor) } else { u64::MAX };
    let out = match a.stride() {
        Some(stride) => {
            Value::affine(stride.wrapping_mul(factor as i64)).with_zeros(zeros.min(bits))
        }
        None => Value::varying(),
    };
    Some(out.with_span(span).with_max(product).truncated(bits))
}

fn shift_left(a: &Value, n: &Value, bits: u32) -> Option<Value> {
    let by = n.known.filter(|&n| n < u64::from(bits))?;
    multiply(a, &Value::constant(1 << by), bits)
}

/// Whether an atomic's updates commute, so that the order of lanes and groups cannot be told from
/// memory alone.
#[must_use]
pub fn commutes(op: AtomOp, ty: Ty) -> bool {
    match op {
        AtomOp::Add | AtomOp::Min | AtomOp::Max => !ty.is_float(),
        AtomOp::And | AtomOp::Or | AtomOp::Xor => true,
        AtomOp::Exch | AtomOp::Cas | AtomOp::Inc | AtomOp::Dec => false,
    }
}

/// Registers whose values facts are about: 128-bit ones are not.
pub(super) fn tracked(ty: RegTy) -> bool {
    !matches!(ty, RegTy::B128 | RegTy::Mask)
}
