//! Addresses of 64 bits that are a scalar plus 32-bit numbers times a power of two: accesses to
//! these compute with the numbers, half as many vectors.

use crate::function::{Function, Inst, Type, Value};
use crate::op::{LaneOp, Op, Scale, Shape};
use fast::ops::{Native, Op64};

/// Greatest depth of sums that are taken apart.
const MAX_DEPTH: usize = 8;

/// Turns rows of addresses into scalars and rows of 32-bit numbers.
pub fn index_addresses(function: &mut Function) {
    let defined = function.definitions();
    for block in function.reverse_postorder() {
        let mut insts = Vec::new();
        for inst in std::mem::take(&mut function.block_mut(block).insts) {
            if let Some((address, word)) = scattered(function, inst)
                && let Some(sum) = sum(function, &defined, address, word, 0)
            {
                let (base, row) = sum.build(function, &mut insts);
                let at = address_of(function, inst);
                let data = function.inst_mut(inst);
                match &mut data.op {
                    Op::Load(access) | Op::Store(access) => {
                        access.shape = Shape::Indexed(sum.scale);
                    }
                    Op::Atomic(atomic) => {
                        atomic.access.shape = Shape::Indexed(sum.scale);
                    }
                    Op::Copy(copy) => copy.from.shape = Shape::Indexed(sum.scale),
                    _ => {}
                }
                data.args[at] = base;
                data.args.insert(at + 1, row);
            }
            insts.push(inst);
        }
        function.block_mut(block).insts = insts;
    }
}

/// Returns the number of the argument that is the address, or its first part.
fn address_of(function: &Function, inst: Inst) -> usize {
    if let Op::Copy(_) = function.inst(inst).op { 2 } else { 1 }
}

/// Returns the row of 64-bit addresses of an access, and the bytes of a word.
fn scattered(function: &Function, inst: Inst) -> Option<(Value, u8)> {
    let data = function.inst(inst);
    let access = match &data.op {
        Op::Load(access) | Op::Store(access) => access,
        Op::Atomic(atomic) => &atomic.access,
        Op::Copy(copy) => &copy.from,
        _ => return None,
    };
    let at = address_of(function, inst);
    let wide = access.shape == Shape::Any && function.ty(data.args[at]) == Type::Row64;
    wide.then(|| (data.args[at], access.word))
}

/// A scalar plus scaled numbers.
struct Sum {
    /// Scalars, added or subtracted.
    scalars: Vec<(Value, bool)>,
    constant: u64,
    numbers: Numbers,
    scale: Scale,
}

#[derive(Clone, Copy)]
enum Numbers {
    Row(Value),
    /// Multiples of the lane's number.
    Line(i64),
}

fn sum(
    function: &Function,
    defined: &[Option<Inst>],
    value: Value,
    word: u8,
    depth: usize,
) -> Option<Sum> {
    if depth == MAX_DEPTH {
        return None;
    }
    let op = |value: Value| {
        let inst = function.inst((*defined.get(value.index())?)?);
        Some((&inst.op, &inst.args[..]))
    };
    let known = |value: Value| match op(value) {
        Some((Op::Const(bits), _)) => Some(*bits),
        _ => None,
    };
    let of = |numbers, signed, shift| {
        let scale = Scale { signed, shift };
        Some(Sum { scalars: Vec::new(), constant: 0, numbers, scale })
    };
    // The operand of an extension, and whether it keeps signs.
    let extended = |value: Value| match op(value)? {
        (Op::ZeroExtend, &[row]) => Some((row, false)),
        (Op::SignExtend, &[row]) => Some((row, true)),
        _ => None,
    };
    let scaled = |row: Value, by: u64, signed: Option<bool>| {
        let (row, extends) = extended(row)?;
        by.is_power_of_two().then(|| (row, signed.unwrap_or(extends), by.trailing_zeros() as u8))
    };
    let (this, args) = op(value)?;
    match (this, args) {
        (Op::ZeroExtend | Op::SignExtend, &[row]) => {
            of(Numbers::Row(row), matches!(this, Op::SignExtend), 0)
        }
        (Op::Line(stride), &[base]) => {
            let shift = word.trailing_zeros();
            if stride.unsigned_abs().trailing_zeros() < shift || stride.unsigned_abs() >= 1 << 24 {
                return None;
            }
            let mut sum = of(Numbers::Line(stride >> shift), true, shift as u8)?;
            sum.scalars.push((base, true));
            Some(sum)
        }
        (Op::Lanes(LaneOp::Add), &[a, b]) => {
            let (uniform, rest) = if is_uniform(op(b)) { (b, a) } else { (a, b) };
            let mut sum = sum(function, defined, rest, word, depth + 1)?;
            sum.add(op(uniform)?, true)?;
            Some(sum)
        }
        (Op::Lanes(LaneOp::Sub), &[a, b]) => {
            let mut sum = sum(function, defined, a, word, depth + 1)?;
            sum.add(op(b)?, false)?;
            Some(sum)
        }
        (Op::Lanes(LaneOp::Shl), &[row, by]) => {
            let by = known(by).filter(|&by| by < 32)?;
            let (row, signed, shift) = scaled(row, 1 << by, None)?;
            of(Numbers::Row(row), signed, shift)
        }
        (Op::Lanes(product @ (LaneOp::Mul | LaneOp::MulLowU | LaneOp::MulLowS)), &[a, b]) => {
            // Products of low words extend these themselves.
            let signed = match product {
                LaneOp::MulLowU => Some(false),
                LaneOp::MulLowS => Some(true),
                _ => None,
            };
            let (row, by) = if known(b).is_some() { (a, b) } else { (b, a) };
            let by = known(by).filter(|&by| by < 1 << 31)?;
            let (row, signed, shift) = scaled(row, by, signed)?;
            of(Numbers::Row(row), signed, shift)
        }
        _ => None,
    }
}

fn is_uniform(op: Option<(&Op, &[Value])>) -> bool {
    matches!(op, Some((Op::Splat | Op::Const(_), _)))
}

impl Sum {
    /// Adds or subtracts a row that is the same in all lanes.
    fn add(&mut self, (op, args): (&Op, &[Value]), plus: bool) -> Option<()> {
        match op {
            Op::Const(bits) if plus => self.constant = self.constant.wrapping_add(*bits),
            Op::Const(bits) => self.constant = self.constant.wrapping_sub(*bits),
            Op::Splat => self.scalars.push((args[0], plus)),
            _ => return None,
        }
        Some(())
    }

    /// Adds instructions that compute the scalar and the row of numbers.
    fn build(&self, function: &mut Function, insts: &mut Vec<Inst>) -> (Value, Value) {
        let mut add = |op: Op, args: &[Value], ty| {
            let inst = function.add_inst(op, args, &[ty]);
            insts.push(inst);
            function.inst(inst).results[0]
        };
        let zero = add(Op::Const(0), &[], Type::Scalar);
        let mut base = None;
        if self.constant != 0 {
            base = Some(add(Op::Const(self.constant), &[], Type::Scalar));
        }
        for &(scalar, plus) in &self.scalars {
            let native = Native::Wide(if plus { Op64::Add } else { Op64::Sub });
            base = Some(match base {
                None if plus => scalar,
                _ => {
                    let args = [base.unwrap_or(zero), scalar, zero];
                    add(Op::Scalar(native), &args, Type::Scalar)
                }
            });
        }
        let row = match self.numbers {
            Numbers::Row(row) => row,
            Numbers::Line(stride) => add(Op::Line(stride), &[zero], Type::Row32),
        };
        (base.unwrap_or(zero), row)
    }
}
