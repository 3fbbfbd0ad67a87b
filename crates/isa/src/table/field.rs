//! Fields: how a value lies in the bits of an instruction.
//!
//! A field is one value assembled from pieces, each a run of instruction bits at some place of the
//! value. The value of a field is `raw * scale + bias`, where `raw` is the assembled bits,
//! sign-extended if the field is signed. So a branch distance in half-words has scale 2 (or its
//! lowest piece starts at value bit 1), and a three-bit register number that means `x8` to `x15`
//! has bias 8.
//!
//! Always holds for a field of a [`Table`](super::Table): pieces overlap neither in the instruction
//! nor in the value, and every raw value gives a value that fits `i64`.

use std::fmt;

/// A run of instruction bits and its place in the value of its field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Lowest instruction bit, 0 for the least significant.
    pub insn_lsb: u8,
    /// How many bits, at least 1.
    pub width: u8,
    /// Bit of the raw value that `insn_lsb` holds.
    pub value_lsb: u8,
}

impl Piece {
    /// The instruction bits of this piece.
    #[must_use]
    pub const fn insn_mask(self) -> u64 {
        ones(self.width) << self.insn_lsb
    }

    /// The bits of the raw value that this piece holds.
    #[must_use]
    pub const fn value_mask(self) -> u64 {
        ones(self.width) << self.value_lsb
    }
}

/// The `width` lowest bits set; `width` is at most 64.
const fn ones(width: u8) -> u64 {
    if width >= 64 { u64::MAX } else { (1 << width) - 1 }
}

/// A named value in an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The name that syntax templates and errors use.
    pub name: String,
    /// Where its bits lie, in any order.
    pub pieces: Vec<Piece>,
    /// Whether the raw value is two's complement.
    pub signed: bool,
    /// What a raw value of 1 stands for; at least 1.
    pub scale: u32,
    /// The value of raw 0.
    pub bias: i64,
    /// The values that exist, as inclusive ranges; empty: all that the bits can hold.
    /// A word with any other value is not this form.
    pub legal: Vec<(i64, i64)>,
    /// The value when the text does not say one; see [`Self::default_value`].
    pub default: Option<i64>,
}

impl Field {
    /// An unsigned field of one piece.
    #[must_use]
    pub fn new(name: impl Into<String>, insn_lsb: u8, width: u8) -> Self {
        let pieces = vec![Piece { insn_lsb, width, value_lsb: 0 }];
        let name = name.into();
        Self { name, pieces, signed: false, scale: 1, bias: 0, legal: Vec::new(), default: None }
    }

    /// The value when the text does not say one: as declared, else that of all bits zero, else
    /// (where that is reserved) the first legal one.
    #[must_use]
    pub fn default_value(&self) -> i64 {
        let zero = self.value_of(0);
        let legal = self.legal.first().filter(|_| !self.is_legal(zero));
        self.default.unwrap_or(legal.map_or(zero, |&(low, _)| low))
    }

    /// All instruction bits of the field.
    #[must_use]
    pub fn insn_mask(&self) -> u64 {
        self.pieces.iter().fold(0, |m, p| m | p.insn_mask())
    }

    /// All bits of the raw value that can be other than zero (before sign extension).
    #[must_use]
    pub fn value_mask(&self) -> u64 {
        self.pieces.iter().fold(0, |m, p| m | p.value_mask())
    }

    /// Width of the raw value, from bit 0 to its highest piece.
    #[must_use]
    pub fn value_bits(&self) -> u32 {
        64 - self.value_mask().leading_zeros()
    }

    /// Least and greatest raw value.
    pub(super) fn raw_range(&self) -> (i64, i64) {
        let (mask, bits) = (self.value_mask(), self.value_bits());
        if self.signed && bits > 0 {
            let sign = 1i64.wrapping_shl(bits - 1);
            (sign.wrapping_neg(), (mask & !(sign as u64)) as i64)
        } else {
            (0, mask as i64)
        }
    }

    /// Least and greatest value that the bits can hold; both are reachable. See also
    /// [`Self::legal`].
    #[must_use]
    pub fn range(&self) -> (i64, i64) {
        let (low, high) = self.raw_range();
        (self.value_of(low), self.value_of(high))
    }

    /// Every value is the bias plus a multiple of this.
    #[must_use]
    pub fn multiple(&self) -> u64 {
        u64::from(self.scale) << self.value_mask().trailing_zeros().min(32)
    }

    fn value_of(&self, raw: i64) -> i64 {
        raw.wrapping_mul(i64::from(self.scale)).wrapping_add(self.bias)
    }

    /// The value of this field in an instruction word.
    #[must_use]
    #[inline]
    pub fn extract(&self, word: u64) -> i64 {
        let mut raw = 0u64;
        for piece in &self.pieces {
            raw |= (word >> piece.insn_lsb & ones(piece.width)) << piece.value_lsb;
        }
        let unused = 64 - self.value_bits();
        let raw =
            if self.signed && unused < 64 { (raw << unused) as i64 >> unused } else { raw as i64 };
        self.value_of(raw)
    }

    /// Whether the value is among [`Self::legal`].
    #[must_use]
    pub fn is_legal(&self, value: i64) -> bool {
        self.legal.is_empty() || self.legal.iter().any(|&(lo, hi)| (lo..=hi).contains(&value))
    }

    /// The word with this field set to a value.
    ///
    /// # Errors
    /// When the field cannot hold the value; the error says what it can hold.
    pub fn insert(&self, word: u64, value: i64) -> Result<u64, FieldError> {
        let (min, max) = self.range();
        if value < min || value > max {
            return Err(FieldError::OutOfRange { field: self.name.clone(), value, min, max });
        }
        let misaligned = || FieldError::Misaligned {
            field: self.name.clone(),
            value,
            multiple: self.multiple(),
            bias: self.bias,
        };
        let distance = i128::from(value) - i128::from(self.bias);
        let scale = i128::from(self.scale);
        if distance % scale != 0 {
            return Err(misaligned());
        }
        // The range check bounds the quotient by the raw range, so these bits are all of it.
        let raw = (distance / scale) as u64 & ones(self.value_bits() as u8);
        if raw & !self.value_mask() != 0 {
            return Err(misaligned());
        }
        if !self.is_legal(value) {
            let legal = LegalRanges(&self.legal).to_string();
            return Err(FieldError::Reserved { field: self.name.clone(), value, legal });
        }
        let mut out = word & !self.insn_mask();
        for piece in &self.pieces {
            out |= (raw >> piece.value_lsb & ones(piece.width)) << piece.insn_lsb;
        }
        Ok(out)
    }
}

/// Why a field cannot hold a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FieldError {
    /// Beyond what the bits can say.
    #[error("{value} does not fit `{field}`, which holds {min} to {max}")]
    OutOfRange {
        /// The field.
        field: String,
        /// The value that was given.
        value: i64,
        /// Least value.
        min: i64,
        /// Greatest value.
        max: i64,
    },
    /// Between two values that the bits can say.
    #[error("{value} does not fit `{field}`, which holds multiples of {multiple}{}", plus(*.bias))]
    Misaligned {
        /// The field.
        field: String,
        /// The value that was given.
        value: i64,
        /// The distance between two values.
        multiple: u64,
        /// What is added to each multiple.
        bias: i64,
    },
    /// The bits can say it, but the instruction set reserves it.
    #[error("{value} is reserved in `{field}`, which holds {legal}")]
    Reserved {
        /// The field.
        field: String,
        /// The value that was given.
        value: i64,
        /// The values that exist, such as `1..255`.
        legal: String,
    },
}

fn plus(bias: i64) -> String {
    if bias == 0 { String::new() } else { format!(" plus {bias}") }
}

/// Shows legal ranges as `-32..-1|1..31`.
pub(crate) struct LegalRanges<'a>(pub(crate) &'a [(i64, i64)]);

impl fmt::Display for LegalRanges<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (lo, hi)) in self.0.iter().enumerate() {
            let bar = if i == 0 { "" } else { "|" };
            if lo == hi { write!(f, "{bar}{lo}")? } else { write!(f, "{bar}{lo}..{hi}")? }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The branch distance of RISC-V's B format.
    fn branch() -> Field {
        let piece = |insn_lsb, width, value_lsb| Piece { insn_lsb, width, value_lsb };
        let pieces = vec![piece(31, 1, 12), piece(7, 1, 11), piece(25, 6, 5), piece(8, 4, 1)];
        Field { pieces, signed: true, ..Field::new("off", 0, 1) }
    }

    #[test]
    fn scattered_signed_pieces_as_in_riscv() {
        let field = branch();
        assert_eq!(field.range(), (-4096, 4094));
        // beq x0, x0, -4 is 0xfe000ee3; beq x0, x0, 2048 is 0x000000e3 with bit 11 in bit 7.
        assert_eq!(field.extract(0xfe00_0ee3), -4);
        assert_eq!(field.insert(0x63, -4), Ok(0xfe00_0ee3));
        assert_eq!(field.insert(0x63, 2048), Ok(0xe3));
    }

    #[test]
    fn errors_name_range_and_value() {
        let text = |v| branch().insert(0, v).unwrap_err().to_string();
        assert_eq!(text(4096), "4096 does not fit `off`, which holds -4096 to 4094");
        assert_eq!(text(3), "3 does not fit `off`, which holds multiples of 2");
        let field = Field { legal: vec![(-2, -1), (1, 1)], signed: true, ..Field::new("n", 0, 2) };
        let text = field.insert(0, 0).unwrap_err().to_string();
        assert_eq!(text, "0 is reserved in `n`, which holds -2..-1|1");
    }

    #[test]
    fn scale_and_bias() {
        let field = Field { scale: 4, bias: 8, ..Field::new("n", 2, 3) };
        assert_eq!(field.range(), (8, 36));
        assert_eq!(field.insert(0, 16), Ok(2 << 2));
        assert_eq!(field.extract(2 << 2), 16);
        let text = field.insert(0, 14).unwrap_err().to_string();
        assert_eq!(text, "14 does not fit `n`, which holds multiples of 4 plus 8");
    }

    #[test]
    fn every_raw_value_round_trips() {
        for signed in [false, true] {
            let field = Field { signed, scale: 2, bias: -3, ..branch() };
            for raw in 0..1u64 << 12 {
                let word = (raw & 1) << 7 | (raw >> 1 & 15) << 8 | (raw >> 5) << 25;
                assert_eq!(field.insert(0, field.extract(word)), Ok(word));
            }
        }
    }
}
