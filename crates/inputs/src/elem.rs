//! Element types of buffers and scalars, and the text form of their values.
//!
//! A value is represented by its bit pattern in the low bits of a `u64`; bits above the type's
//! width are zero. Argument specifications, launch files and reports share the text forms.

use std::fmt;

use half::{bf16, f16};

/// The family of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ElemKind {
    /// Unsigned integers, `u8` to `u64`.
    Unsigned,
    /// Two's complement integers, `s8` to `s64`.
    Signed,
    /// IEEE 754 binary formats and bfloat16.
    Float,
    /// Bits without a declared type, `b8` to `b64`.
    Bits,
}

macro_rules! elem_types {
    ($($variant:ident $name:literal $bytes:literal $kind:ident $doc:literal;)*) => {
        /// The type of one element, named as PTX names it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ElemType {
            $(#[doc = $doc] $variant,)*
        }

        impl ElemType {
            /// All types, in the order in which messages list them.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Returns the type's name in text.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Returns the size in bytes: 1, 2, 4 or 8.
            #[must_use]
            pub const fn bytes(self) -> usize {
                match self { $(Self::$variant => $bytes,)* }
            }

            /// Returns the type's family.
            #[must_use]
            pub const fn kind(self) -> ElemKind {
                match self { $(Self::$variant => ElemKind::$kind,)* }
            }
        }
    };
}

elem_types! {
    U8 "u8" 1 Unsigned "Unsigned, 8 bits.";
    U16 "u16" 2 Unsigned "Unsigned, 16 bits.";
    U32 "u32" 4 Unsigned "Unsigned, 32 bits.";
    U64 "u64" 8 Unsigned "Unsigned, 64 bits.";
    S8 "s8" 1 Signed "Signed, 8 bits.";
    S16 "s16" 2 Signed "Signed, 16 bits.";
    S32 "s32" 4 Signed "Signed, 32 bits.";
    S64 "s64" 8 Signed "Signed, 64 bits.";
    F16 "f16" 2 Float "IEEE 754 binary16.";
    Bf16 "bf16" 2 Float "bfloat16: the upper half of a binary32.";
    F32 "f32" 4 Float "IEEE 754 binary32.";
    F64 "f64" 8 Float "IEEE 754 binary64.";
    B8 "b8" 1 Bits "Untyped, 8 bits.";
    B16 "b16" 2 Bits "Untyped, 16 bits.";
    B32 "b32" 4 Bits "Untyped, 32 bits.";
    B64 "b64" 8 Bits "Untyped, 64 bits.";
}

impl ElemType {
    /// Returns the type of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|t| t.name() == name)
    }

    /// Returns the type that `name` denotes in other languages, for a suggestion.
    #[must_use]
    pub fn from_foreign_name(name: &str) -> Option<Self> {
        Some(match name {
            "i8" | "int8" | "char" => Self::S8,
            "i16" | "int16" | "short" => Self::S16,
            "i32" | "int32" | "int" => Self::S32,
            "i64" | "int64" | "long" => Self::S64,
            "uint8" | "byte" | "bool" => Self::U8,
            "uint16" => Self::U16,
            "uint32" | "uint" | "unsigned" => Self::U32,
            "uint64" | "size_t" | "ptr" | "usize" => Self::U64,
            "half" | "float16" => Self::F16,
            "bfloat16" => Self::Bf16,
            "float" | "float32" | "single" => Self::F32,
            "double" | "float64" => Self::F64,
            _ => return None,
        })
    }

    /// Returns the width in bits.
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.bytes() as u32 * 8
    }

    /// Returns a mask of the type's width.
    #[must_use]
    pub const fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }

    /// Returns the smallest and the largest value of an integer or untyped type, the latter as
    /// unsigned; `None` for floats.
    #[must_use]
    pub fn integer_range(self) -> Option<(i128, i128)> {
        match self.kind() {
            ElemKind::Unsigned | ElemKind::Bits => Some((0, i128::from(self.mask()))),
            ElemKind::Signed => Some((-(1 << (self.bits() - 1)), (1 << (self.bits() - 1)) - 1)),
            ElemKind::Float => None,
        }
    }

    /// Returns the bit pattern of an integer, wrapped to the type's width.
    #[must_use]
    pub const fn wrap(self, value: i128) -> u64 {
        value as u64 & self.mask()
    }

    /// Returns the bit pattern nearest to `value` (ties to even); `None` for types other than
    /// floats.
    #[must_use]
    pub fn round(self, value: f64) -> Option<u64> {
        Some(match self {
            Self::F16 => u64::from(f16::from_f64(value).to_bits()),
            Self::Bf16 => u64::from(bf16::from_f64(value).to_bits()),
            Self::F32 => u64::from((value as f32).to_bits()),
            Self::F64 => value.to_bits(),
            _ => return None,
        })
    }

    /// Returns the value of a float's bit pattern, which `f64` represents exactly; `None` for other
    /// types.
    #[must_use]
    pub fn to_f64(self, bits: u64) -> Option<f64> {
        Some(match self {
            Self::F16 => f16::from_bits(bits as u16).to_f64(),
            Self::Bf16 => bf16::from_bits(bits as u16).to_f64(),
            Self::F32 => f64::from(f32::from_bits(bits as u32)),
            Self::F64 => f64::from_bits(bits),
            _ => return None,
        })
    }

    /// Returns the value of an integer's bit pattern, with untyped ones as unsigned; `None` for
    /// floats.
    #[must_use]
    pub fn to_int(self, bits: u64) -> Option<i128> {
        let bits = bits & self.mask();
        match self.kind() {
            ElemKind::Unsigned | ElemKind::Bits => Some(i128::from(bits)),
            ElemKind::Signed => {
                let shift = 64 - self.bits();
                Some(i128::from((bits << shift) as i64 >> shift))
            }
            ElemKind::Float => None,
        }
    }

    /// Returns whether the bit pattern is a NaN of this type.
    #[must_use]
    pub fn is_nan(self, bits: u64) -> bool {
        self.to_f64(bits).is_some_and(f64::is_nan)
    }

    /// Returns the canonical quiet NaN: positive, with only the quiet bit of the payload set;
    /// `None` for types other than floats.
    #[must_use]
    pub const fn canonical_nan(self) -> Option<u64> {
        match self {
            Self::F16 => Some(0x7e00),
            Self::Bf16 => Some(0x7fc0),
            Self::F32 => Some(0x7fc0_0000),
            Self::F64 => Some(0x7ff8_0000_0000_0000),
            _ => None,
        }
    }

    /// Returns whether data stored as `stored` can be used as this type without change.
    ///
    /// Equal types can, and so can an untyped type and any other of its size. Unsigned 16-bit words
    /// also serve as `bf16`, because NumPy has no bfloat16; it stores such arrays as two untyped
    /// bytes.
    #[must_use]
    pub fn accepts(self, stored: Self) -> bool {
        let untyped = self.kind() == ElemKind::Bits || stored.kind() == ElemKind::Bits;
        self == stored
            || (untyped && self.bytes() == stored.bytes())
            || (self == Self::Bf16 && stored == Self::U16)
    }
}

impl fmt::Display for ElemType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The reason why a literal is not a value of its type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LiteralError {
    /// The literal is empty.
    #[error("a value of type {0} is missing")]
    Empty(ElemType),
    /// Not a number.
    #[error("`{text}` is not a value of type {ty}")]
    Syntax {
        /// The expected type.
        ty: ElemType,
        /// The literal, shortened.
        text: String,
    },
    /// A number out of the type's range.
    #[error("{text} does not fit {ty}")]
    Range {
        /// The expected type.
        ty: ElemType,
        /// The literal, shortened.
        text: String,
    },
    /// A bit pattern of a float with the wrong number of digits.
    #[error("a bit pattern of type {ty} has {} hexadecimal digits, not {digits}", ty.bytes() * 2)]
    PatternWidth {
        /// The expected type.
        ty: ElemType,
        /// Number of digits in the literal.
        digits: usize,
    },
}

impl LiteralError {
    /// Returns the help text of a diagnostic.
    #[must_use]
    pub fn help(&self) -> String {
        match self {
            Self::Empty(ty) | Self::Syntax { ty, .. } if ty.kind() == ElemKind::Float => {
                let digits = "0".repeat(ty.bytes() * 2);
                format!("write a decimal number, inf, -inf, nan, or the bit pattern 0x{digits}")
            }
            Self::Empty(_) | Self::Syntax { .. } => {
                "write a decimal, 0x hexadecimal, 0o octal or 0b binary integer".to_owned()
            }
            Self::Range { ty, .. } => match ty.integer_range() {
                Some((lo, hi)) => format!("{ty} holds {lo} to {hi}"),
                None => "write inf or -inf if that is what is meant".to_owned(),
            },
            Self::PatternWidth { .. } => {
                "hexadecimal digits of a float type are its bit pattern, all of them".to_owned()
            }
        }
    }
}

/// Truncates text of arbitrary length for use in messages.
#[must_use]
pub fn shortened(text: &str) -> String {
    const KEEP: usize = 40;
    match text.char_indices().nth(KEEP) {
        Some((cut, _)) => format!("{}...", &text[..cut]),
        None => text.to_owned(),
    }
}

/// Parses a value: integers in decimal, `0x`, `0o` or `0b` (with `_` between digits); floats in
/// decimal, as `inf`, `nan` (the canonical quiet NaN) or as `0x` with all digits of their bit
/// pattern.
///
/// Decimal `f16` and `bf16` are rounded to `f64` and then to the type, each time to nearest even,
/// as in NumPy. `s` types accept a hexadecimal, octal or binary literal as a bit pattern; `b` types
/// accept negative decimals too.
///
/// # Errors
/// Returns an error if the text is not a number or the type cannot represent it.
pub fn parse_literal(ty: ElemType, text: &str) -> Result<u64, LiteralError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(LiteralError::Empty(ty));
    }
    match ty.kind() {
        ElemKind::Float => parse_float(ty, text),
        _ => parse_integer(ty, text),
    }
}

/// Parses an integer, saturating at the bounds of `i128`. The second result is whether it is not in
/// decimal, and hence a bit pattern.
fn integer_text(text: &str) -> Option<(i128, bool)> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let lower = digits.get(..2).map(str::to_ascii_lowercase);
    let (radix, digits) = match lower.as_deref() {
        Some("0x") => (16, &digits[2..]),
        Some("0o") => (8, &digits[2..]),
        Some("0b") => (2, &digits[2..]),
        _ => (10, digits),
    };
    let inner = !digits.is_empty() && !digits.starts_with('_') && !digits.ends_with('_');
    if !inner || digits.contains("__") || !digits.chars().all(|c| c == '_' || c.is_digit(radix)) {
        return None;
    }
    // Saturation keeps a number of any length out of the range of every type.
    let mut value: i128 = 0;
    for digit in digits.chars().filter_map(|c| c.to_digit(radix)) {
        value = value.saturating_mul(i128::from(radix)).saturating_add(i128::from(digit));
    }
    Some((if negative { -value } else { value }, radix != 10))
}

/// Parses an integer without a type: decimal, `0x`, `0o`, `0b`, with `_` between digits, saturating
/// at the bounds of `i128`.
#[must_use]
pub fn parse_any_integer(text: &str) -> Option<i128> {
    integer_text(text.trim()).map(|(value, _)| value)
}

fn parse_integer(ty: ElemType, text: &str) -> Result<u64, LiteralError> {
    let Some((value, pattern)) = integer_text(text) else {
        return Err(LiteralError::Syntax { ty, text: shortened(text) });
    };
    let (lo, hi) = ty.integer_range().unwrap_or((0, 0));
    let half = -(i128::from(ty.mask() >> 1) + 1);
    let lo = if ty.kind() == ElemKind::Bits { half } else { lo };
    let hi = if pattern { i128::from(ty.mask()) } else { hi };
    if value < lo || value > hi {
        return Err(LiteralError::Range { ty, text: shortened(text) });
    }
    Ok(ty.wrap(value))
}

fn parse_float(ty: ElemType, text: &str) -> Result<u64, LiteralError> {
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return match u64::from_str_radix(digits, 16) {
            Ok(bits) if digits.len() == ty.bytes() * 2 && !digits.starts_with('+') => Ok(bits),
            Ok(_) => Err(LiteralError::PatternWidth { ty, digits: digits.len() }),
            Err(_) => Err(LiteralError::Syntax { ty, text: shortened(text) }),
        };
    }
    let (sign, magnitude) = match text.strip_prefix('-') {
        Some(rest) => (1_u64 << (ty.bits() - 1), rest),
        None => (0, text.strip_prefix('+').unwrap_or(text)),
    };
    if magnitude.eq_ignore_ascii_case("nan") {
        return Ok(sign | ty.canonical_nan().unwrap_or(0));
    }
    let starts = magnitude.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    let named = magnitude.eq_ignore_ascii_case("inf") || magnitude.eq_ignore_ascii_case("infinity");
    let syntax = || LiteralError::Syntax { ty, text: shortened(text) };
    if !starts && !named {
        return Err(syntax());
    }
    // Parses `f32` directly: going through `f64` could round twice.
    let bits = if ty == ElemType::F32 {
        u64::from(magnitude.parse::<f32>().map_err(|_| syntax())?.to_bits())
    } else {
        ty.round(magnitude.parse::<f64>().map_err(|_| syntax())?).unwrap_or(0)
    };
    if !named && ty.to_f64(bits).is_some_and(f64::is_infinite) {
        return Err(LiteralError::Range { ty, text: shortened(text) });
    }
    Ok(sign | bits)
}

/// Formats a value so that [`parse_literal`] yields the same bits.
///
/// Floats have the fewest digits that identify them. NaNs other than the canonical ones are
/// formatted as bit patterns, untyped values in hexadecimal.
#[must_use]
pub fn format_bits(ty: ElemType, bits: u64) -> String {
    if ty.is_nan(bits) {
        let unsigned = bits & (ty.mask() >> 1);
        if ty.canonical_nan() == Some(unsigned) {
            return if bits == unsigned { "nan".to_owned() } else { "-nan".to_owned() };
        }
        return format!("0x{bits:0width$x}", width = ty.bytes() * 2);
    }
    match ty {
        ElemType::F64 => float_text(&f64::from_bits(bits)),
        ElemType::F16 => float_text(&f16::from_bits(bits as u16)),
        ElemType::Bf16 => float_text(&bf16::from_bits(bits as u16)),
        ElemType::F32 => float_text(&f32::from_bits(bits as u32)),
        _ if ty.kind() == ElemKind::Bits => format!("0x{bits:0width$x}", width = ty.bytes() * 2),
        _ => ty.to_int(bits).unwrap_or(0).to_string(),
    }
}

/// Formats a float in Rust's shortest form; in scientific notation if the positional form is long.
fn float_text<T: fmt::Display + fmt::LowerExp>(value: &T) -> String {
    let plain = value.to_string();
    if plain.len() <= 20 { plain } else { format!("{value:e}") }
}

/// One value with its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Scalar {
    /// Its type.
    pub ty: ElemType,
    /// Its bit pattern.
    pub bits: u64,
}

impl Scalar {
    /// Returns the value as in guest memory: little-endian, as many bytes as the type has.
    #[must_use]
    pub fn to_le_bytes(self) -> Vec<u8> {
        self.bits.to_le_bytes()[..self.ty.bytes()].to_vec()
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.ty, format_bits(self.ty, self.bits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ok(ty: ElemType, text: &str) -> u64 {
        parse_literal(ty, text).unwrap_or_else(|e| panic!("{ty}:{text}: {e}"))
    }

    #[test]
    fn integers_in_all_spellings() {
        assert_eq!(ok(ElemType::U32, "1024"), 1024);
        assert_eq!(ok(ElemType::U32, "0xFFFF_FFFF"), 0xffff_ffff);
        assert_eq!(ok(ElemType::S8, "-128"), 0x80);
        assert_eq!(ok(ElemType::S8, "0xff"), 0xff);
        assert_eq!(ok(ElemType::B16, "-1"), 0xffff);
        assert_eq!(ok(ElemType::U64, "0b101"), 5);
        assert_eq!(ok(ElemType::U64, "18446744073709551615"), u64::MAX);
        assert_eq!(ok(ElemType::S64, "-9223372036854775808"), 1 << 63);
    }

    #[test]
    fn integers_that_do_not_fit_are_errors() {
        for (ty, text) in [
            (ElemType::U8, "256"),
            (ElemType::U8, "-1"),
            (ElemType::S8, "128"),
            (ElemType::S8, "0x100"),
            (ElemType::B8, "-129"),
            (ElemType::U64, "18446744073709551616"),
            (ElemType::U64, &"9".repeat(4096)),
            (ElemType::S64, &format!("-{}", "9".repeat(4096))),
        ] {
            assert!(
                matches!(parse_literal(ty, text), Err(LiteralError::Range { .. })),
                "{ty}:{text}"
            );
        }
        for text in ["", "x", "0x", "1.5", "_1", "1_", "1__0", "--1", "+-1", "0xg", "١", "-"] {
            assert!(
                matches!(
                    parse_literal(ElemType::U32, text),
                    Err(LiteralError::Syntax { .. } | LiteralError::Empty(_))
                ),
                "{text:?}"
            );
        }
    }

    #[test]
    fn floats_decimal_special_and_patterns() {
        assert_eq!(ok(ElemType::F32, "2.5"), u64::from(2.5_f32.to_bits()));
        assert_eq!(ok(ElemType::F32, "-2"), u64::from((-2.0_f32).to_bits()));
        assert_eq!(ok(ElemType::F32, "-inf"), 0xff80_0000);
        assert_eq!(ok(ElemType::F32, "nan"), 0x7fc0_0000);
        assert_eq!(ok(ElemType::F32, "-nan"), 0xffc0_0000);
        assert_eq!(ok(ElemType::F32, "0x7fc00001"), 0x7fc0_0001);
        assert_eq!(ok(ElemType::F16, "65504"), 0x7bff);
        assert_eq!(ok(ElemType::Bf16, "1"), 0x3f80);
        assert_eq!(ok(ElemType::F64, "-0.0"), 1 << 63);
        // Just above the midpoint of two f32 values, but at the midpoint in f64: must round up.
        assert_eq!(ok(ElemType::F32, "1.000000059604644775390626"), 0x3f80_0001);
    }

    #[test]
    fn invalid_floats_are_errors() {
        for text in ["1e39", "3.5e38"] {
            let error = parse_literal(ElemType::F32, text);
            assert!(matches!(error, Err(LiteralError::Range { .. })), "{text}: {error:?}");
        }
        assert!(matches!(parse_literal(ElemType::F16, "65520"), Err(LiteralError::Range { .. })));
        for text in ["", "x", "1.2.3", "0x1", "0x+fc00001", "0xzz", "e5", "--1", "1 2", "infx"] {
            assert!(parse_literal(ElemType::F32, text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn names_are_unique_and_found() {
        for &ty in ElemType::ALL {
            assert_eq!(ElemType::from_name(ty.name()), Some(ty));
        }
        assert_eq!(ElemType::from_name("i32"), None);
        assert_eq!(ElemType::from_foreign_name("i32"), Some(ElemType::S32));
    }

    proptest! {
        #[test]
        fn every_pattern_survives_its_text(index in 0..ElemType::ALL.len(), bits in any::<u64>()) {
            let ty = ElemType::ALL[index];
            let bits = bits & ty.mask();
            prop_assert_eq!(parse_literal(ty, &format_bits(ty, bits)), Ok(bits));
        }

        #[test]
        fn no_text_panics(index in 0..ElemType::ALL.len(), text in ".{0,24}") {
            let _ = parse_literal(ElemType::ALL[index], &text);
        }
    }
}
