//! Constant expressions.
//!
//! Integers have 64 bits, signed unless a part is unsigned (PTX ISA, section 4.6). Depth is limited
//! by the parser.

use isa::Diagnostic;

use crate::ast::{Integer, Module, Operand, OperandKind, Operator, Type};
use crate::names::kw;

/// The value of a constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Constant {
    /// An integer.
    Int(Integer),
    /// An f32, written by its bits.
    F32(u32),
    /// An f64.
    F64(u64),
}

const fn int(bits: u64, unsigned: bool) -> Constant {
    Constant::Int(Integer { bits, unsigned })
}

/// The value of an operand, if it is a constant.
///
/// # Errors
/// Returns a diagnostic if it has no value; a name that is not a constant gives `Ok(None)`.
pub(super) fn evaluate(tree: &Module, operand: &Operand) -> Result<Option<Constant>, Diagnostic> {
    match operand.kind {
        OperandKind::Integer(i) => Ok(Some(Constant::Int(i))),
        OperandKind::F32(bits) => Ok(Some(Constant::F32(bits))),
        OperandKind::F64(bits) => Ok(Some(Constant::F64(bits))),
        OperandKind::Name(kw::WARP_SZ) => Ok(Some(int(32, false))),
        OperandKind::Sum(kw::WARP_SZ, offset) => {
            Ok(Some(int(32_i64.wrapping_add(offset) as u64, false)))
        }
        OperandKind::Neg(kw::WARP_SZ) => Ok(Some(int((-32_i64) as u64, false))),
        OperandKind::Expression(id) => {
            let expression = &tree.expressions[id];
            let args = &tree.operands[expression.args];
            let mut values = [None; 3];
            for (value, arg) in values.iter_mut().zip(args) {
                *value = evaluate(tree, arg)?;
                if value.is_none() {
                    return Ok(None);
                }
            }
            apply(expression.op, values, operand).map(Some)
        }
        _ => Ok(None),
    }
}

fn apply(
    op: Operator,
    values: [Option<Constant>; 3],
    operand: &Operand,
) -> Result<Constant, Diagnostic> {
    let error = |text: &str| {
        Err(Diagnostic::error("ptx::constant", "the constant has no value").at(operand.span, text))
    };
    match (op, values) {
        (Operator::Choose, [Some(Constant::Int(c)), Some(yes), Some(no)]) => {
            Ok(if c.bits != 0 { yes } else { no })
        }
        (_, [Some(Constant::Int(a)), None, _]) => Ok(unary(op, a)),
        (_, [Some(Constant::Int(a)), Some(Constant::Int(b)), _]) => match binary(op, a, b) {
            Some(value) => Ok(value),
            None => error("division by zero, or a call of what is not a function"),
        },
        (_, [Some(a), Some(b), _]) => match float(op, number(a), number(b)) {
            Some(value) => Ok(value),
            None => error("not an operator of floating-point numbers"),
        },
        (Operator::Not, [Some(a), ..]) => Ok(int(u64::from(number(a) == 0.0), false)),
        _ => error("not an operator of floating-point numbers"),
    }
}

fn unary(op: Operator, a: Integer) -> Constant {
    match op {
        Operator::Neg => int(a.bits.wrapping_neg(), a.unsigned),
        Operator::Complement => int(!a.bits, a.unsigned),
        Operator::Not => int(u64::from(a.bits == 0), false),
        Operator::CastU64 => int(a.bits, true),
        Operator::CastS64 => int(a.bits, false),
        _ => Constant::Int(a),
    }
}

fn binary(op: Operator, a: Integer, b: Integer) -> Option<Constant> {
    let unsigned = a.unsigned || b.unsigned;
    let (x, y) = (a.bits, b.bits);
    let (sx, sy) = (x as i64, y as i64);
    let less = if unsigned { x < y } else { sx < sy };
    let truth = |t: bool| int(u64::from(t), false);
    let amount = u32::try_from(y).unwrap_or(u32::MAX);
    Some(match op {
        Operator::Mul => int(x.wrapping_mul(y), unsigned),
        Operator::Add => int(x.wrapping_add(y), unsigned),
        Operator::Sub => int(x.wrapping_sub(y), unsigned),
        Operator::Div if unsigned => int(x.checked_div(y)?, true),
        Operator::Rem if unsigned => int(x.checked_rem(y)?, true),
        Operator::Div if y != 0 => int(sx.wrapping_div(sy) as u64, false),
        Operator::Rem if y != 0 => int(sx.wrapping_rem(sy) as u64, false),
        Operator::Shl => int(x.checked_shl(amount).unwrap_or(0), a.unsigned),
        Operator::Shr if a.unsigned => int(x.checked_shr(amount).unwrap_or(0), true),
        Operator::Shr => int((sx >> amount.min(63)) as u64, false),
        Operator::And => int(x & y, unsigned),
        Operator::Or => int(x | y, unsigned),
        Operator::Xor => int(x ^ y, unsigned),
        Operator::Lt => truth(less),
        Operator::Ge => truth(!less),
        Operator::Gt => truth(!less && x != y),
        Operator::Le => truth(less || x == y),
        Operator::Eq => truth(x == y),
        Operator::Ne => truth(x != y),
        Operator::AndAnd => truth(x != 0 && y != 0),
        Operator::OrOr => truth(x != 0 || y != 0),
        _ => return None,
    })
}

fn number(value: Constant) -> f64 {
    match value {
        Constant::Int(Integer { bits, unsigned: true }) => bits as f64,
        Constant::Int(Integer { bits, unsigned: false }) => bits as i64 as f64,
        Constant::F32(bits) => f64::from(f32::from_bits(bits)),
        Constant::F64(bits) => f64::from_bits(bits),
    }
}

fn float(op: Operator, a: f64, b: f64) -> Option<Constant> {
    let truth = |t: bool| Some(int(u64::from(t), false));
    let value = match op {
        Operator::Mul => a * b,
        Operator::Div => a / b,
        Operator::Add => a + b,
        Operator::Sub => a - b,
        Operator::Lt => return truth(a < b),
        Operator::Le => return truth(a <= b),
        Operator::Gt => return truth(a > b),
        Operator::Ge => return truth(a >= b),
        Operator::Eq => return truth(a == b),
        Operator::Ne => return truth(a != b),
        _ => return None,
    };
    Some(Constant::F64(value.to_bits()))
}

/// Returns the bits of a constant as a type, or why it cannot be that type.
pub(super) fn bits_as(value: Constant, ty: Type) -> Result<u128, &'static str> {
    let float = matches!(ty, Type::F32 | Type::F64);
    let half = matches!(
        ty,
        Type::F16 | Type::Bf16 | Type::F16x2 | Type::Bf16x2 | Type::F32x2 | Type::Tf32
    );
    let width = ty.bits();
    match value {
        Constant::Int(i) if ty == Type::Pred => Ok(u128::from(i.bits != 0)),
        Constant::Int(_) if float => Err("an integer; write it as `1.0` or `0f3F800000`"),
        _ if half => Err("a constant; move its bits into a register with `mov.b16` or `mov.b32`"),
        Constant::Int(i) => {
            let wide = if i.unsigned { u128::from(i.bits) } else { i.bits as i64 as i128 as u128 };
            Ok(if width >= 128 { wide } else { wide & ((1 << width) - 1) })
        }
        Constant::F32(bits) => match ty {
            Type::F32 | Type::B32 => Ok(bits.into()),
            Type::F64 => Ok(f64::from(f32::from_bits(bits)).to_bits().into()),
            _ => Err("a floating-point number"),
        },
        Constant::F64(bits) => match ty {
            Type::F64 | Type::B64 => Ok(bits.into()),
            #[allow(clippy::cast_possible_truncation, reason = "PTX rounds constants to the type")]
            Type::F32 => Ok((f64::from_bits(bits) as f32).to_bits().into()),
            _ => Err("a floating-point number"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<Option<Constant>, String> {
        let text = format!(".entry k() {{ x {text}; }}");
        let (tree, found) = crate::parse(isa::FileId(0), &text);
        assert!(found.is_empty(), "{text}: {found:?}");
        let first = tree.instructions.iter().next().unwrap().operands;
        evaluate(&tree, &tree.operands[first][0]).map_err(|d| d.message)
    }

    fn integer(text: &str) -> i64 {
        match value(text) {
            Ok(Some(Constant::Int(i))) => i.bits as i64,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn operators_follow_c() {
        for (text, expected) in [
            ("1+2*3", 7),
            ("(1+2)*3", 9),
            ("7-2-1", 4),
            ("1<<4|1", 17),
            ("-7/2", -3),
            ("-7 % 4", -3),
            ("-1>>1", -1),
            ("-1U>>63", 1),
            ("1<<64", 0),
            ("~0", -1),
            ("!5", 0),
            ("-1<0U", 0),
            ("-1<0", 1),
            ("2>1?3:4", 3),
            ("WARP_SZ*2", 64),
            ("WARP_SZ-1", 31),
            ("-9223372036854775807-1", i64::MIN),
            ("(-9223372036854775807-1)/-1", i64::MIN),
        ] {
            assert_eq!(integer(text), expected, "{text}");
        }
        assert_eq!(value("1.5*2"), Ok(Some(Constant::F64(3.0_f64.to_bits()))));
        assert_eq!(value("a+1"), Ok(None));
        assert!(value("1/0").is_err());
        assert!(value("1.5<<2").is_err());
    }

    #[test]
    fn constants_become_bits_of_a_type() {
        let minus_one = int(u64::MAX, false);
        assert_eq!(bits_as(minus_one, Type::U16), Ok(0xffff));
        assert_eq!(bits_as(minus_one, Type::B128), Ok(u128::MAX));
        assert_eq!(bits_as(minus_one, Type::Pred), Ok(1));
        assert_eq!(bits_as(Constant::F64(1.0_f64.to_bits()), Type::F32), Ok(0x3f80_0000));
        assert!(bits_as(minus_one, Type::F32).is_err());
        assert!(bits_as(Constant::F64(0), Type::B32).is_err());
    }
}
