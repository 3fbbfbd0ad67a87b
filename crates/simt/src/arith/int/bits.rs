//! Logic, shifts, bit fields, counts and permutes.

use super::{Int, Overshift};

/// Bitwise and.
#[must_use]
#[inline]
pub fn and<T: Int>(a: u64, b: u64) -> u64 {
    T::truncate(a & b)
}

/// Bitwise or.
#[must_use]
#[inline]
pub fn or<T: Int>(a: u64, b: u64) -> u64 {
    T::truncate(a | b)
}

/// Bitwise exclusive or.
#[must_use]
#[inline]
pub fn xor<T: Int>(a: u64, b: u64) -> u64 {
    T::truncate(a ^ b)
}

/// Bitwise complement.
#[must_use]
#[inline]
pub fn not<T: Int>(a: u64) -> u64 {
    T::truncate(!a)
}

/// C's logical negation: 1 if `a` is zero, else 0. PTX `cnot`.
#[must_use]
#[inline]
pub fn cnot<T: Int>(a: u64) -> u64 {
    u64::from(T::truncate(a) == 0)
}

/// `a << amount`; the amount is the low 32 bits of its carrier, unsigned. PTX `shl` with
/// [`Overshift::Clamp`].
#[must_use]
#[inline]
pub fn shl<T: Int>(a: u64, amount: u64, rule: Overshift) -> u64 {
    let amount = amount as u32;
    match rule {
        Overshift::Wrap => T::truncate(a << (amount & (T::BITS - 1))),
        Overshift::Clamp if amount >= T::BITS => 0,
        Overshift::Clamp => T::truncate(a << amount),
    }
}

/// `a >> amount`, filled with the sign for signed types, with zeros otherwise; the amount is the
/// low 32 bits of its carrier, unsigned. PTX `shr` with [`Overshift::Clamp`].
#[must_use]
#[inline]
pub fn shr<T: Int>(a: u64, amount: u64, rule: Overshift) -> u64 {
    let amount = amount as u32;
    let a = T::of(a);
    match rule {
        Overshift::Wrap => a.shift_right(amount & (T::BITS - 1)).bits(),
        Overshift::Clamp if amount < T::BITS => a.shift_right(amount).bits(),
        Overshift::Clamp if T::SIGNED => a.shift_right(T::BITS - 1).bits(),
        Overshift::Clamp => 0,
    }
}

/// Direction of a funnel shift.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FunnelShift {
    /// PTX `shf.l`: the upper word of the shifted pair.
    Left,
    /// PTX `shf.r`: the lower word of the shifted pair.
    Right,
}

/// Shifts the 64-bit value with `high` in bits 63..32 and `low` in bits 31..0 by an amount clamped
/// to 32, or taken modulo 32, and takes one word of it. PTX `shf.{l,r}.{clamp,wrap}.b32 d, low,
/// high, amount`.
#[must_use]
#[inline]
pub fn funnel_shift(
    low: u64,
    high: u64,
    amount: u64,
    direction: FunnelShift,
    rule: Overshift,
) -> u64 {
    let pair = high << 32 | u64::from(low as u32);
    let amount = match rule {
        Overshift::Clamp => (amount as u32).min(32),
        Overshift::Wrap => amount as u32 & 31,
    };
    match direction {
        FunnelShift::Left => pair << amount >> 32,
        FunnelShift::Right => pair >> amount & 0xffff_ffff,
    }
}

/// Extracts `length` bits of `a` from bit `start` on (each taken modulo 256), extended by the
/// field's sign for signed types. A field reaching beyond the type ends at its top bit; one
/// starting beyond it is all sign. PTX `bfe`.
#[must_use]
#[inline]
pub fn bfe<T: Int>(a: u64, start: u64, length: u64) -> u64 {
    let (start, length) = (start as u32 & 0xff, length as u32 & 0xff);
    let top = T::BITS - 1;
    let a = T::truncate(a);
    let sign = T::SIGNED && length != 0 && a >> (start + length - 1).min(top) & 1 != 0;
    let present = length.min(T::BITS.saturating_sub(start));
    let field_mask = low_mask(present);
    let field = a.checked_shr(start).unwrap_or(0) & field_mask;
    if sign { field | T::MASK & !field_mask } else { field }
}

/// Replaces `length` bits of `b` from bit `start` on (each taken modulo 256) by the low bits of
/// `a`; bits beyond the type are dropped. PTX `bfi`.
#[must_use]
#[inline]
pub fn bfi<T: Int>(a: u64, b: u64, start: u64, length: u64) -> u64 {
    let (start, length) = (start as u32 & 0xff, length as u32 & 0xff);
    let mask = low_mask(length).checked_shl(start).unwrap_or(0);
    let field = a.checked_shl(start).unwrap_or(0);
    T::truncate(b & !mask | field & mask)
}

/// The low `bits` bits; all of them from 64 on.
#[inline]
const fn low_mask(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

/// Position of the most significant bit that differs from the sign (of the most significant 1, for
/// unsigned types), or `0xffffffff` if there is none; with `shift_amount`, how far left it must be
/// shifted to become the top bit. PTX `bfind`.
#[must_use]
#[inline]
pub fn bfind<T: Int>(a: u64, shift_amount: bool) -> u64 {
    let value = T::extend(a);
    let value = if T::SIGNED && (value as i64) < 0 { !value } else { value };
    match (value.checked_ilog2(), shift_amount) {
        (None, _) => 0xffff_ffff,
        (Some(position), false) => u64::from(position),
        (Some(position), true) => u64::from(T::BITS - 1 - position),
    }
}

/// Bits in reverse order. PTX `brev`.
#[must_use]
#[inline]
pub fn brev<T: Int>(a: u64) -> u64 {
    a.reverse_bits() >> (64 - T::BITS)
}

/// Number of ones. PTX `popc`.
#[must_use]
#[inline]
pub fn popc<T: Int>(a: u64) -> u64 {
    u64::from(T::truncate(a).count_ones())
}

/// Number of zeros above the highest one; the width if `a` is zero. PTX `clz`.
#[must_use]
#[inline]
pub fn clz<T: Int>(a: u64) -> u64 {
    u64::from(T::truncate(a).leading_zeros() - (64 - T::BITS))
}

/// Number of zeros below the lowest one; the width if `a` is zero.
#[must_use]
#[inline]
pub fn ctz<T: Int>(a: u64) -> u64 {
    u64::from(T::truncate(a).trailing_zeros().min(T::BITS))
}

/// Any function of three bits, bit by bit: entry `4a + 2b + c` of the truth table `table`. PTX
/// `lop3.b32`.
#[must_use]
#[inline]
pub fn lop3<T: Int>(a: u64, b: u64, c: u64, table: u8) -> u64 {
    let mut out = 0;
    for row in 0..8u8 {
        let pick = |x: u64, bit: u8| if row >> bit & 1 != 0 { x } else { !x };
        let hit = pick(a, 2) & pick(b, 1) & pick(c, 0);
        out |= if table >> row & 1 != 0 { hit } else { 0 };
    }
    T::truncate(out)
}

/// A run of `width` ones from bit `position` on, of 32 bits. Amounts of 32 and more clamp (no bit
/// is in reach, or the run ends at bit 31) or are taken modulo 32. PTX `bmsk`.
#[must_use]
#[inline]
pub fn bmsk(position: u64, width: u64, rule: Overshift) -> u64 {
    let (position, width) = match rule {
        Overshift::Clamp => (u64::from(position as u32).min(32), u64::from(width as u32).min(32)),
        Overshift::Wrap => (position & 31, width & 31),
    };
    low_mask(width as u32) << position & 0xffff_ffff
}

/// The low `bits` bits of `a`, extended as `T` (`u32` or `i32`) says; none gives zero. 32 bits and
/// more keep `a` (clamp) or are taken modulo 32. PTX `szext`.
#[must_use]
#[inline]
pub fn szext<T: Int>(a: u64, bits: u64, rule: Overshift) -> u64 {
    let bits = match rule {
        Overshift::Clamp => (bits as u32).min(T::BITS),
        Overshift::Wrap => bits as u32 & (T::BITS - 1),
    };
    let mask = low_mask(bits);
    let negative = T::SIGNED && bits != 0 && a >> (bits - 1) & 1 != 0;
    T::truncate(if negative { a | !mask } else { a & mask })
}

/// Position of the `|offset|`-th one of the 32-bit `mask`, counting from bit `base` upwards
/// (`offset` positive) or downwards (negative), `base` included; `base` itself if it is set and
/// `offset` is zero; `0xffffffff` if there is none. A base above 31, undefined in PTX, finds
/// nothing. PTX `fns`.
#[must_use]
#[inline]
pub fn fns(mask: u64, base: u64, offset: u64) -> u64 {
    const NONE: u64 = 0xffff_ffff;
    let (mask, base, offset) = (mask as u32, base as u32, offset as i32);
    if base > 31 {
        return NONE;
    }
    let (mut rest, wanted) = match offset {
        0 => (mask & 1 << base, 1),
        1.. => (mask & u32::MAX << base, offset.unsigned_abs()),
        _ => (mask & u32::MAX >> (31 - base), offset.unsigned_abs()),
    };
    if rest.count_ones() < wanted {
        return NONE;
    }
    for _ in 1..wanted {
        // Drops the one nearest to the base.
        rest &= if offset < 0 { !(1 << (31 - rest.leading_zeros())) } else { rest - 1 };
    }
    let found = if offset < 0 { 31 - rest.leading_zeros() } else { rest.trailing_zeros() };
    u64::from(found)
}

crate::word_enums! {
    /// Modes of [`prmt`] whose control operand picks one of four selections of bytes.
    pub enum PermuteMode {
        /// Forward 4 extract.
        Forward4 "f4e",
        /// Backward 4 extract.
        Backward4 "b4e",
        /// Replicate 8.
        Replicate8 "rc8",
        /// Edge clamp left.
        EdgeClampLeft "ecl",
        /// Edge clamp right.
        EdgeClampRight "ecr",
        /// Replicate 16.
        Replicate16 "rc16",
    }
}

impl PermuteMode {
    /// The control operand that makes the generic mode select what this mode selects with
    /// `control`.
    #[must_use]
    #[inline]
    pub fn generic_control(self, control: u64) -> u64 {
        let s = control & 3;
        let bytes = match self {
            Self::Forward4 => [s, s + 1, s + 2, s + 3],
            Self::Backward4 => [s, s + 7, s + 6, s + 5],
            Self::Replicate8 => [s; 4],
            Self::EdgeClampLeft => [s, s.max(1), s.max(2), 3],
            Self::EdgeClampRight => [0, s.min(1), s.min(2), s],
            Self::Replicate16 => {
                let half = 2 * (s & 1);
                [half, half + 1, half, half + 1]
            }
        };
        bytes.iter().enumerate().fold(0, |all, (i, byte)| all | (byte & 7) << (4 * i))
    }
}

/// Permutes the eight bytes of `b:a` (those of `a` are 0 to 3) into a 32-bit word. PTX `prmt.b32`.
///
/// Without a mode, `control` holds four selectors of four bits: three pick the byte, the top one
/// replicates its sign.
#[must_use]
#[inline]
pub fn prmt(a: u64, b: u64, control: u64, mode: Option<PermuteMode>) -> u64 {
    let bytes = (b << 32 | u64::from(a as u32)).to_le_bytes();
    let control = mode.map_or(control, |mode| mode.generic_control(control));
    let picked: [u8; 4] = std::array::from_fn(|i| {
        let selector = control >> (4 * i);
        let byte = bytes[selector as usize & 7];
        if selector & 8 == 0 { byte } else { (byte as i8 >> 7) as u8 }
    });
    u64::from(u32::from_le_bytes(picked))
}
