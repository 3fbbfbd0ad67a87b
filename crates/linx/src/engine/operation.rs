//! The 43 tile operations on whole tiles, element by element.

use simt::arith::{Cmp, Flags, FpEnv};

use super::Shape;
use super::element::{Element, wide};
use crate::action::{Alu, Float};
use crate::compute::{self, FloatType, alu, extend, float_op, ones};
use crate::names::TileOp;

/// A tile operation with what it works on.
pub(super) struct Context {
    pub(super) op: TileOp,
    pub(super) element: Element,
    pub(super) shape: Shape,
    pub(super) scalar: u64,
    pub(super) env: FpEnv,
}

impl Context {
    /// The elements of the result; `None` where the operation has none of this type.
    pub(super) fn run(
        &self,
        inputs: &[Vec<u64>],
        out: Element,
        flags: &mut Flags,
    ) -> Option<Vec<u64>> {
        let Shape { columns, rows } = self.shape;
        let a = |i: usize| inputs.first().and_then(|t| t.get(i)).copied().unwrap_or(0);
        let b = |i: usize| inputs.get(1).and_then(|t| t.get(i)).copied().unwrap_or(0);
        let all = 0..columns * rows;
        let name = self.op.name;
        Some(match name {
            "TEXPANDS" => all.map(|_| self.cut(self.scalar)).collect(),
            "TRESHAPE" => all.map(a).collect(),
            "TTRANSPOSE" => all.map(|i| a(i % rows * columns + i / rows)).collect(),
            "TCOLEXPAND" => all.map(|i| a(i / columns)).collect(),
            "TROWEXPAND" => all.map(|i| a(i % columns)).collect(),
            "TGATHER" => all
                .clone()
                .map(|i| if all.contains(&(b(i) as usize)) { a(b(i) as usize) } else { 0 })
                .collect(),
            "TSCATTER" => {
                let mut values = vec![0; columns * rows];
                for i in all {
                    if let Some(place) = values.get_mut(b(i) as usize) {
                        *place = a(i);
                    }
                }
                values
            }
            "TCVT" => all.map(|i| self.convert(a(i), out, flags)).collect(),
            _ if name.starts_with("TROW") => {
                let line = |r: usize, flags: &mut Flags| {
                    self.fold(&name[4..], (0..columns).map(|c| a(r * columns + c)), flags)
                };
                (0..rows).map(|r| line(r, flags)).collect::<Option<_>>()?
            }
            _ if name.starts_with("TCOL") => {
                let line = |c: usize, flags: &mut Flags| {
                    self.fold(&name[4..], (0..rows).map(|r| a(r * columns + c)), flags)
                };
                (0..columns).map(|c| line(c, flags)).collect::<Option<_>>()?
            }
            _ => {
                let scalar = self.op.v04 >= 0x20;
                let second = |i: usize| if scalar { self.cut(self.scalar) } else { b(i) };
                let stem = if scalar { name.strip_suffix('S')? } else { name };
                all.map(|i| self.one(stem, a(i), second(i), flags)).collect::<Option<_>>()?
            }
        })
    }

    /// Returns the status that a division writes through the export of its descriptor: bit 0, a
    /// divisor was zero; bit 1, a quotient overflowed; bit 2, a result is NaN.
    pub(super) fn division_status(&self, inputs: &[Vec<u64>], results: &[u64]) -> u64 {
        let divisor = |i: usize| match inputs.get(1) {
            Some(tile) => tile.get(i).copied().unwrap_or(0),
            None => self.cut(self.scalar),
        };
        let dividend = |i: usize| inputs.first().and_then(|t| t.get(i)).copied().unwrap_or(0);
        let mut status = 0;
        for (i, &result) in results.iter().enumerate() {
            status |= match self.element {
                Element::Int(..) if divisor(i) == 0 => 1,
                Element::Int(bits, true) => {
                    let least = extend(1 << (bits - 1), bits, true);
                    u64::from(dividend(i) == least && divisor(i) == u64::MAX) << 1
                }
                Element::Int(..) => 0,
                Element::Float(ty, bits) => {
                    let zero = divisor(i) & (ones(bits) >> 1) == 0;
                    u64::from(zero) | u64::from(ty.is_nan(result)) << 2
                }
            };
        }
        status
    }

    /// The scalar's low bits, with the element's sign.
    fn cut(&self, value: u64) -> u64 {
        match self.element {
            Element::Int(bits, signed) => extend(value, bits, signed),
            Element::Float(_, bits) => value & ones(bits),
        }
    }

    fn fold(&self, op: &str, values: impl Iterator<Item = u64>, flags: &mut Flags) -> Option<u64> {
        let op = match op {
            "MAX" => "TMAX",
            "MIN" => "TMIN",
            _ => "TADD",
        };
        let mut total = None;
        for value in values {
            total = Some(match total {
                None => value,
                Some(sum) => self.one(op, sum, value, flags)?,
            });
        }
        Some(total.unwrap_or(0))
    }

    fn one(&self, op: &str, a: u64, b: u64, flags: &mut Flags) -> Option<u64> {
        match self.element {
            Element::Int(bits, signed) => Some(self.cut(integer(op, a, b, bits, signed)?)),
            Element::Float(FloatType::Bf16, _) => {
                let (x, y) = (
                    wide(self.element, a, self.env, flags),
                    wide(self.element, b, self.env, flags),
                );
                let value = real(op, x, y, 32, self.env, flags)?;
                Some(compute::float_to_float(
                    value,
                    FloatType::Fp32,
                    FloatType::Bf16,
                    self.env,
                    flags,
                ))
            }
            Element::Float(_, bits) => real(op, a, b, bits, self.env, flags),
        }
    }

    fn convert(&self, value: u64, to: Element, flags: &mut Flags) -> u64 {
        let env = self.env;
        match (self.element, to) {
            (Element::Float(from, _), Element::Float(to, _)) => {
                compute::float_to_float(value, from, to, env, flags)
            }
            (Element::Float(from, _), Element::Int(bits, signed)) => {
                let env = env.with_rounding(simt::arith::Rounding::TowardZero);
                compute::float_to_int(value, from, bits, signed, env, flags)
            }
            (Element::Int(_, signed), Element::Float(to, _)) => {
                compute::int_to_float(value, signed, to, env, flags)
            }
            (Element::Int(..), Element::Int(bits, signed)) => extend(value, bits, signed),
        }
    }
}

/// Integer elements: x/0 and MIN/-1 give 0.
fn integer(op: &str, a: u64, b: u64, bits: u32, signed: bool) -> Option<u64> {
    let least = extend(1 << (bits - 1), bits, true);
    Some(match op {
        "TADD" => a.wrapping_add(b),
        "TSUB" => a.wrapping_sub(b),
        "TMUL" => a.wrapping_mul(b),
        "TDIV" if signed && a == least && b == u64::MAX => 0,
        "TDIV" => compute::divide(a, b, bits, signed).0,
        "TMAX" => alu(Alu::Max, a, b, bits, !signed),
        "TMIN" => alu(Alu::Min, a, b, bits, !signed),
        "TAND" => a & b,
        "TOR" => a | b,
        "TXOR" => a ^ b,
        "TSHL" => a << (b % u64::from(bits)),
        "TSHR" => alu(if signed { Alu::Sra } else { Alu::Srl }, a, b, bits, !signed),
        "TRELU" => alu(Alu::Max, a, 0, bits, !signed),
        "TPRELU" => {
            if compute::holds(Cmp::Lt, signed, 0, a) {
                a
            } else {
                a.wrapping_mul(b)
            }
        }
        _ => return None,
    })
}

/// Float elements.
fn real(op: &str, a: u64, b: u64, bits: u32, env: FpEnv, flags: &mut Flags) -> Option<u64> {
    let mut apply = |op, x, y| float_op(op, bits, x, y, 0, env, flags);
    Some(match op {
        "TADD" => apply(Float::Add, a, b),
        "TSUB" => apply(Float::Sub, a, b),
        "TMUL" => apply(Float::Mul, a, b),
        "TDIV" => apply(Float::Div, a, b),
        "TMAX" => apply(Float::Max, a, b),
        "TMIN" => apply(Float::Min, a, b),
        "TRELU" => apply(Float::Max, a, 0),
        "TPRELU" => {
            let positive = apply(Float::Compare(Cmp::Lt, false), 0, a) != 0;
            if positive { a } else { apply(Float::Mul, a, b) }
        }
        "TEXP" => apply(Float::Exp, a, 0),
        "TLOG" => logarithm(a, bits, env, flags),
        "TSQRT" => apply(Float::Sqrt, a, 0),
        "TRSQRT" => {
            let root = apply(Float::Sqrt, a, 0);
            apply(Float::Recip, root, 0)
        }
        "TRECIP" => apply(Float::Recip, a, 0),
        _ => return None,
    })
}

/// The natural logarithm by libm's binary64, rounded to the format.
fn logarithm(a: u64, bits: u32, env: FpEnv, flags: &mut Flags) -> u64 {
    let format = match bits {
        64 => FloatType::Fp64,
        32 => FloatType::Fp32,
        _ => FloatType::Fp16,
    };
    let x = compute::float_to_float(a, format, FloatType::Fp64, env, flags);
    let value = libm::log(f64::from_bits(x));
    let value = if value.is_nan() { 0x7ff8_0000_0000_0000 } else { value.to_bits() };
    compute::float_to_float(value, FloatType::Fp64, format, env, flags)
}
