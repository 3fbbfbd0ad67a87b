//! Literals: numbers read and written by the type they stand for, and quoted strings.
//!
//! Hexadecimal and binary literals are bits. Decimal integers are values of integer types, negative
//! ones in two's complement of the type's width; literals with a point or exponent are values of
//! floating-point types, rounded to nearest. An integer where a float is expected is refused rather
//! than guessed at.

use crate::ty::Ty;
use simt::arith::{BF16, F16, F32, F64, Format, FpEnv, float};
use std::fmt::Write;

/// The bits of a number literal read as `ty`; without a type, up to 128 bits and no negative ones.
pub(super) fn read(text: &str, negative: bool, ty: Option<Ty>) -> Result<u128, String> {
    let text = text.replace('_', "");
    if let Some(bits) = radix(&text) {
        return int(bits.ok_or_else(|| bad(&text))?, negative, ty);
    }
    if text.bytes().all(|b| b.is_ascii_digit()) {
        if let Some(ty) = ty.filter(|t| t.is_float()) {
            return Err(format!(
                "an integer where {ty} is expected: write `{text}.0` for the value or `0x...` for bits"
            ));
        }
        return int(text.parse().map_err(|_| bad(&text))?, negative, ty);
    }
    float(&text, negative, ty)
}

fn bad(text: &str) -> String {
    if text.bytes().all(|b| b.is_ascii_hexdigit() || matches!(b, b'x' | b'X' | b'b' | b'B')) {
        format!("`{text}` is too large or not a number")
    } else {
        format!("`{text}` is not a number")
    }
}

/// A literal in base 16 or 2; `Some(None)` if its digits are wrong or too many.
fn radix(text: &str) -> Option<Option<u128>> {
    let (base, digits) = match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &text[2..]),
        [b'0', b'b' | b'B', ..] => (2, &text[2..]),
        _ => return None,
    };
    // `from_str_radix` would take a sign.
    let plain = digits.bytes().all(|b| b.is_ascii_alphanumeric());
    Some(u128::from_str_radix(digits, base).ok().filter(|_| plain))
}

fn int(value: u128, negative: bool, ty: Option<Ty>) -> Result<u128, String> {
    let bits = ty.map_or(128, Ty::bits);
    let max = u128::MAX >> (128 - bits);
    let name = ty.map_or("128 bits".to_owned(), |t| t.to_string());
    if !negative {
        return if value <= max { Ok(value) } else { Err(format!("{value} does not fit {name}")) };
    }
    if ty.is_none() {
        return Err("a negative number needs a type here: write its bits as `0x...`".to_owned());
    }
    if value > 1 << (bits - 1) {
        return Err(format!("-{value} does not fit {name}"));
    }
    Ok(value.wrapping_neg() & max)
}

fn float(text: &str, negative: bool, ty: Option<Ty>) -> Result<u128, String> {
    // `parse` would take `inf` and `nan`; a literal begins with a digit, so these never come here.
    let signed = |digits: &str| if negative { format!("-{digits}") } else { digits.to_owned() };
    let value: f64 = signed(text).parse().map_err(|_| bad(text))?;
    let bits: u128 = match ty {
        Some(Ty::F64) => value.to_bits().into(),
        Some(Ty::F32) => {
            let single: f32 = signed(text).parse().map_err(|_| bad(text))?;
            single.to_bits().into()
        }
        Some(Ty::F16) => float::convert::<F64, F16>(value.to_bits(), FpEnv::PTX).into(),
        Some(Ty::Bf16) => float::convert::<F64, BF16>(value.to_bits(), FpEnv::PTX).into(),
        Some(ty) => return Err(format!("`{text}` cannot be a {ty}: write its bits as `0x...`")),
        None => return Err(format!("`{text}` needs a floating-point type here")),
    };
    Ok(bits)
}

/// Writes bits as a literal that [`read`] takes back for the same type.
pub(super) fn write(out: &mut String, bits: u128, ty: Option<Ty>) {
    // Writing to a `String` cannot fail.
    let _ = match ty {
        Some(ty) if ty.bits() < 128 && bits >> ty.bits() != 0 => write!(out, "{bits:#x}"),
        Some(ty) if ty.is_float() => match decimal(bits, ty) {
            Some(text) => write!(out, "{text}"),
            None => write!(out, "{bits:#0w$x}", w = 2 + ty.bits() as usize / 4),
        },
        Some(ty) if ty.is_signed() => {
            let unused = 128 - ty.bits();
            write!(out, "{}", (bits << unused).cast_signed() >> unused)
        }
        Some(Ty::Pred) => write!(out, "{}", if bits == 0 { "false" } else { "true" }),
        Some(Ty::U8 | Ty::U16 | Ty::U32 | Ty::U64) => write!(out, "{bits}"),
        _ if bits < 1024 => write!(out, "{bits}"),
        _ => write!(out, "{bits:#x}"),
    };
}

/// The shortest decimal literal of a finite float.
fn decimal(bits: u128, ty: Ty) -> Option<String> {
    // The casts keep all bits: the caller has checked the width.
    let text = match ty {
        Ty::F64 => format!("{:?}", Some(f64::from_bits(bits as u64)).filter(|v| v.is_finite())?),
        Ty::F32 => format!("{:?}", Some(f32::from_bits(bits as u32)).filter(|v| v.is_finite())?),
        Ty::F16 => format!("{:?}", Some(single::<F16>(bits as u64)).filter(|v| v.is_finite())?),
        Ty::Bf16 => format!("{:?}", Some(single::<BF16>(bits as u64)).filter(|v| v.is_finite())?),
        _ => return None,
    };
    Some(text)
}

/// The value of a narrow float.
fn single<F: Format>(bits: u64) -> f32 {
    float::f32_value(float::convert::<F, F32>(bits, FpEnv::PTX))
}

/// The bytes of a quoted string, quotes included in `text`.
pub(super) fn unquote(text: &str) -> Result<Vec<u8>, String> {
    let inner = text.strip_prefix('"').and_then(|t| t.strip_suffix('"')).unwrap_or(text);
    let mut out = Vec::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        if c == '\\' {
            escape(&mut chars, &mut out)?;
        } else {
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
    Ok(out)
}

fn escape(chars: &mut std::str::Chars<'_>, out: &mut Vec<u8>) -> Result<(), String> {
    let unknown = "unknown escape: there are \\n \\t \\r \\0 \\\\ \\\" \\xHH \\u{H}".to_owned();
    match chars.next() {
        Some('n') => out.push(b'\n'),
        Some('t') => out.push(b'\t'),
        Some('r') => out.push(b'\r'),
        Some('0') => out.push(0),
        Some(c @ ('\\' | '"')) => out.push(c as u8),
        Some('x') => {
            let hex = chars.as_str().get(..2).ok_or_else(|| unknown.clone())?;
            out.push(u8::from_str_radix(hex, 16).map_err(|_| unknown)?);
            chars.nth(1);
        }
        Some('u') => {
            let (hex, rest) = chars
                .as_str()
                .strip_prefix('{')
                .and_then(|t| t.split_once('}'))
                .ok_or_else(|| unknown.clone())?;
            let c = u32::from_str_radix(hex, 16).ok().and_then(char::from_u32).ok_or(unknown)?;
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            *chars = rest.chars();
        }
        _ => return Err(unknown),
    }
    Ok(())
}

/// Writes a string in quotes.
pub(super) fn quote(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(out, "\\u{{{:x}}}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn both(text: &str, ty: Ty, bits: u128) {
        let (digits, negative) = text.strip_prefix('-').map_or((text, false), |t| (t, true));
        assert_eq!(read(digits, negative, Some(ty)), Ok(bits));
        let mut out = String::new();
        write(&mut out, bits, Some(ty));
        assert_eq!(out, text);
    }

    #[test]
    fn numbers_are_read_and_written_by_their_type() {
        both("-1", Ty::S32, 0xffff_ffff);
        both("-128", Ty::S8, 0x80);
        both("4294967295", Ty::U32, 0xffff_ffff);
        both("0xffffffff", Ty::B32, 0xffff_ffff);
        both("1.5", Ty::F32, 0x3fc0_0000);
        both("-0.0", Ty::F64, 1 << 63);
        both("1e-7", Ty::F32, 1e-7f32.to_bits().into());
        both("0x7fc00001", Ty::F32, 0x7fc0_0001);
        both("0x00010002", Ty::F16x2, 0x0001_0002);
        both("0.099975586", Ty::F16, 0x2e66);
        both("-1.5", Ty::Bf16, 0xbfc0);
    }

    #[test]
    fn every_half_comes_back() {
        for ty in [Ty::F16, Ty::Bf16] {
            for bits in 0..=0xffff_u128 {
                let mut out = String::new();
                write(&mut out, bits, Some(ty));
                let (digits, negative) =
                    out.strip_prefix('-').map_or((&out[..], false), |t| (t, true));
                assert_eq!(read(digits, negative, Some(ty)), Ok(bits), "{out}");
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for (text, negative, ty) in [
            ("256", false, Some(Ty::U8)),
            ("129", true, Some(Ty::S8)),
            ("0x1ffffffff", false, Some(Ty::B32)),
            ("1", false, Some(Ty::F32)),
            ("1.0", false, Some(Ty::U32)),
            ("1", true, None),
            ("0x", false, None),
            ("0xg", false, None),
            ("12ab", false, Some(Ty::F32)),
            ("999999999999999999999999999999999999999999", false, None),
        ] {
            assert!(read(text, negative, ty).is_err(), "{text}");
        }
    }

    #[test]
    fn strings_come_back() {
        for text in ["", "a \"b\" \\ \u{1}\n\u{85}ü"] {
            let mut out = String::new();
            quote(&mut out, text);
            assert_eq!(unquote(&out).unwrap(), text.as_bytes());
        }
        assert_eq!(unquote("\"\\xff\\0\\n\"").unwrap(), [0xff, 0, 10]);
        for bad in ["\"\\q\"", "\"\\x1\"", "\"\\u{110000}\"", "\"\\u1\"", "\"\\xé\""] {
            assert!(unquote(bad).is_err(), "{bad}");
        }
    }
}
