//! Integer arithmetic.

use simt::arith::int::{self, DivByZero, Int, Overshift};

use crate::op::Alu;

/// The result of an operation on two 64-bit values.
#[inline]
pub(crate) fn alu(op: Alu, a: u64, b: u64) -> u64 {
    match op {
        Alu::Add => int::add::<u64>(a, b),
        Alu::Sub => int::sub::<u64>(a, b),
        Alu::Sll => int::shl::<u64>(a, b & 63, Overshift::Wrap),
        Alu::Slt => u64::from((a as i64) < b as i64),
        Alu::Sltu => u64::from(a < b),
        Alu::Xor => int::xor::<u64>(a, b),
        Alu::Srl => int::shr::<u64>(a, b & 63, Overshift::Wrap),
        Alu::Sra => int::shr::<i64>(a, b & 63, Overshift::Wrap),
        Alu::Or => int::or::<u64>(a, b),
        Alu::And => int::and::<u64>(a, b),
        Alu::AddW => i32::extend(int::add::<u32>(a, b)),
        Alu::SubW => i32::extend(int::sub::<u32>(a, b)),
        Alu::SllW => i32::extend(int::shl::<u32>(a, b & 31, Overshift::Wrap)),
        Alu::SrlW => i32::extend(int::shr::<u32>(a, b & 31, Overshift::Wrap)),
        Alu::SraW => i32::extend(int::shr::<i32>(a, b & 31, Overshift::Wrap)),
        Alu::Mul => int::mul_lo::<u64>(a, b),
        Alu::Mulh => int::mul_hi::<i64>(a, b),
        Alu::Mulhsu => int::mul_hi_signed_unsigned::<i64>(a, b),
        Alu::Mulhu => int::mul_hi::<u64>(a, b),
        Alu::Div => int::div::<i64>(a, b, DivByZero::AllOnes),
        Alu::Divu => int::div::<u64>(a, b, DivByZero::AllOnes),
        Alu::Rem => int::rem::<i64>(a, b),
        Alu::Remu => int::rem::<u64>(a, b),
        Alu::MulW => i32::extend(int::mul_lo::<u32>(a, b)),
        Alu::DivW => i32::extend(int::div::<i32>(a, b, DivByZero::AllOnes)),
        Alu::DivuW => i32::extend(int::div::<u32>(a, b, DivByZero::AllOnes)),
        Alu::RemW => i32::extend(int::rem::<i32>(a, b)),
        Alu::RemuW => i32::extend(int::rem::<u32>(a, b)),
        _ => bits(op, a, b),
    }
}

/// Zba, Zbb, Zbc and Zbs.
fn bits(op: Alu, a: u64, b: u64) -> u64 {
    let low = u32::extend(a);
    match op {
        Alu::ShAdd(n) => (a << n).wrapping_add(b),
        Alu::ShAddUw(n) => (low << n).wrapping_add(b),
        Alu::SllUw => low << (b & 63),
        Alu::Andn => a & !b,
        Alu::Orn => a | !b,
        Alu::Xnor => !(a ^ b),
        Alu::Min => int::min::<i64>(a, b),
        Alu::Minu => int::min::<u64>(a, b),
        Alu::Max => int::max::<i64>(a, b),
        Alu::Maxu => int::max::<u64>(a, b),
        Alu::Rol => a.rotate_left(b as u32 & 63),
        Alu::Ror => a.rotate_right(b as u32 & 63),
        Alu::RolW => i32::extend((a as u32).rotate_left(b as u32 & 31).into()),
        Alu::RorW => i32::extend((a as u32).rotate_right(b as u32 & 31).into()),
        Alu::Clz => int::clz::<u64>(a),
        Alu::Ctz => int::ctz::<u64>(a),
        Alu::Cpop => int::popc::<u64>(a),
        Alu::ClzW => int::clz::<u32>(a),
        Alu::CtzW => int::ctz::<u32>(a),
        Alu::CpopW => int::popc::<u32>(a),
        Alu::SextB => i8::extend(a),
        Alu::SextH => i16::extend(a),
        Alu::ZextH => u16::extend(a),
        Alu::OrcB => {
            u64::from_le_bytes(a.to_le_bytes().map(|byte| if byte == 0 { 0 } else { 0xff }))
        }
        Alu::Bclr => a & !(1 << (b & 63)),
        Alu::Bext => a >> (b & 63) & 1,
        Alu::Binv => a ^ 1 << (b & 63),
        Alu::Bset => a | 1 << (b & 63),
        Alu::Clmul => carry_less_product(a, b) as u64,
        Alu::ClmulH => (carry_less_product(a, b) >> 64) as u64,
        Alu::ClmulR => (carry_less_product(a, b) >> 63) as u64,
        // The others are in `alu`.
        _ => a.swap_bytes(),
    }
}

/// The product of two polynomials over GF(2), whose coefficients are the bits of the values.
fn carry_less_product(a: u64, b: u64) -> u128 {
    let terms = (0..u64::BITS).filter(|i| b >> i & 1 != 0);
    terms.fold(0, |product, i| product ^ u128::from(a) << i)
}
