//! The text form of values: literals of a type, and their bit patterns as text.

use std::fmt;

use super::{ElemKind, ElemType};

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
        // `f32` represents every value of these, and its shortest digits identify them.
        ElemType::F16 | ElemType::Bf16 => float_text(&(ty.to_f64(bits).unwrap_or_default() as f32)),
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
