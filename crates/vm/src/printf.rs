//! C format strings, as device `printf` takes them.
//!
//! Arguments lie one after another, each naturally aligned: 4 bytes for `int` and narrower, 8 for
//! `long`, pointers, strings' addresses and floating point (which C passes as `double`).
//! Conversions: `d i u x X o c s p f F e E g G a A %` with flags, width, precision (`*` too) and
//! length modifiers.

use simt::memory::Width;

/// Widest field and longest precision: a format cannot make more output than this at once.
const FIELD_LIMIT: usize = 4096;
/// Longest string that is read, as a format or as an argument.
pub(crate) const STRING_LIMIT: usize = 4096;

/// Reads a value of a width at a generic address.
pub(crate) type Read<'a, E> = dyn FnMut(u64, Width) -> Result<u64, E> + 'a;

/// A conversion's flags and sizes.
#[derive(Default)]
struct Spec {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
    /// 8-byte integer.
    long: bool,
    /// Bits of an integer narrower than `int`.
    short: Option<u32>,
}

/// Arguments, read in order.
struct Args<'a, 'r, E> {
    at: u64,
    count: u32,
    read: &'a mut Read<'r, E>,
}

impl<E> Args<'_, '_, E> {
    fn next(&mut self, bytes: u64) -> Result<u64, E> {
        let at = self.at.wrapping_add(bytes - 1) & !(bytes - 1);
        self.at = at.wrapping_add(bytes);
        self.count += 1;
        (self.read)(at, if bytes == 8 { Width::B8 } else { Width::B4 })
    }
}

/// Formats as a thread's `printf` does: appends to `out`, and returns the number of arguments that
/// were used, which is what device `printf` returns. `format` and `args` are the generic addresses
/// of the format, whose bytes past 4096 are not read, and of the arguments. `read` reads a value of
/// a width in the thread's memory.
///
/// # Errors
/// Returns the first error of `read`; what was appended to `out` before it stays.
pub fn print_formatted<E>(
    format: u64,
    args: u64,
    out: &mut Vec<u8>,
    read: &mut dyn FnMut(u64, Width) -> Result<u64, E>,
) -> Result<u32, E> {
    let text = c_string(read, format, STRING_LIMIT)?;
    print(&text, args, out, read)
}

/// Returns the bytes of a C string without its end, `limit` bytes at most.
pub(crate) fn c_string<E>(read: &mut Read<'_, E>, at: u64, limit: usize) -> Result<Vec<u8>, E> {
    let mut text = Vec::new();
    while text.len() < limit {
        let byte = read(at.wrapping_add(text.len() as u64), Width::B1)?;
        if byte == 0 {
            break;
        }
        text.push(byte as u8);
    }
    Ok(text)
}

/// As [`print_formatted`], with the bytes of the format.
pub(crate) fn print<E>(
    format: &[u8],
    args: u64,
    out: &mut Vec<u8>,
    read: &mut Read<'_, E>,
) -> Result<u32, E> {
    let mut args = Args { at: args, count: 0, read };
    let mut rest = format;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let spec = spec(&mut rest, &mut args)?;
        let Some((&conversion, after)) = rest.split_first() else { break };
        rest = after;
        convert(conversion, &spec, &mut args, out)?;
    }
    Ok(args.count)
}

fn spec<E>(rest: &mut &[u8], args: &mut Args<'_, '_, E>) -> Result<Spec, E> {
    let mut spec = Spec::default();
    while let Some((&byte, after)) = rest.split_first() {
        match byte {
            b'-' => spec.left = true,
            b'+' => spec.plus = true,
            b' ' => spec.space = true,
            b'#' => spec.alternate = true,
            b'0' => spec.zero = true,
            _ => break,
        }
        *rest = after;
    }
    if let Some(width) = number(rest, args)? {
        spec.left |= width < 0;
        spec.width = width.unsigned_abs().min(FIELD_LIMIT as u64) as usize;
    }
    if let Some(after) = rest.strip_prefix(b".") {
        *rest = after;
        let precision = number(rest, args)?.unwrap_or(0);
        spec.precision = usize::try_from(precision).ok().map(|p| p.min(FIELD_LIMIT));
    }
    while let Some((&byte, after)) = rest.split_first() {
        match byte {
            b'l' | b'j' | b'z' | b't' | b'q' | b'L' => spec.long = true,
            b'h' if spec.short.is_some() => spec.short = Some(8),
            b'h' => spec.short = Some(16),
            _ => break,
        }
        *rest = after;
    }
    Ok(spec)
}

/// Digits, or `*` for an argument.
fn number<E>(rest: &mut &[u8], args: &mut Args<'_, '_, E>) -> Result<Option<i64>, E> {
    if let Some(after) = rest.strip_prefix(b"*") {
        *rest = after;
        return Ok(Some(i64::from(args.next(4)? as i32)));
    }
    let mut value = None;
    while let Some((&digit @ b'0'..=b'9', after)) = rest.split_first() {
        let so_far: i64 = value.unwrap_or(0);
        value = Some(so_far.saturating_mul(10).saturating_add(i64::from(digit - b'0')));
        *rest = after;
    }
    Ok(value)
}

fn convert<E>(
    conversion: u8,
    spec: &Spec,
    args: &mut Args<'_, '_, E>,
    out: &mut Vec<u8>,
) -> Result<(), E> {
    let integer = |args: &mut Args<'_, '_, E>| args.next(if spec.long { 8 } else { 4 });
    match conversion {
        b'%' => out.push(b'%'),
        b'd' | b'i' => {
            let value = signed(integer(args)?, spec);
            let digits = value.unsigned_abs().to_string();
            number_field(spec, sign(spec, value < 0), &digits, true, out);
        }
        b'u' | b'x' | b'X' | b'o' => {
            let value = unsigned(integer(args)?, spec);
            let (prefix, digits) = match conversion {
                b'x' => ("0x", format!("{value:x}")),
                b'X' => ("0X", format!("{value:X}")),
                b'o' => ("0", format!("{value:o}")),
                _ => ("", value.to_string()),
            };
            let prefix = if spec.alternate && value != 0 { prefix } else { "" };
            number_field(spec, prefix, &digits, true, out);
        }
        b'p' => {
            let value = args.next(8)?;
            number_field(spec, "0x", &format!("{value:x}"), true, out);
        }
        b'c' => {
            let byte = args.next(4)? as u8;
            pad(spec, &[byte], out);
        }
        b's' => {
            let at = args.next(8)?;
            let text = string(args, at, spec.precision.unwrap_or(STRING_LIMIT).min(STRING_LIMIT))?;
            pad(spec, &text, out);
        }
        b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => {
            let value = f64::from_bits(args.next(8)?);
            float(conversion, spec, value, out);
        }
        // An unknown conversion prints itself, as device printf does.
        other => out.extend([b'%', other]),
    }
    Ok(())
}

fn string<E>(args: &mut Args<'_, '_, E>, at: u64, limit: usize) -> Result<Vec<u8>, E> {
    if at == 0 {
        return Ok(b"(null)".to_vec());
    }
    c_string(args.read, at, limit)
}

fn signed(bits: u64, spec: &Spec) -> i64 {
    match spec {
        Spec { long: true, .. } => bits as i64,
        Spec { short: Some(8), .. } => i64::from(bits as i8),
        Spec { short: Some(_), .. } => i64::from(bits as i16),
        _ => i64::from(bits as i32),
    }
}

fn unsigned(bits: u64, spec: &Spec) -> u64 {
    match spec {
        Spec { long: true, .. } => bits,
        Spec { short: Some(8), .. } => bits & 0xff,
        Spec { short: Some(_), .. } => bits & 0xffff,
        _ => bits & 0xffff_ffff,
    }
}

fn sign(spec: &Spec, negative: bool) -> &'static str {
    match (negative, spec.plus, spec.space) {
        (true, ..) => "-",
        (_, true, _) => "+",
        (.., true) => " ",
        _ => "",
    }
}

/// Sign or prefix, zeros, digits, in the field's width.
fn number_field(spec: &Spec, prefix: &str, digits: &str, integer: bool, out: &mut Vec<u8>) {
    let least = if integer { spec.precision.unwrap_or(1) } else { 0 };
    // Precision zero prints no digits for the value zero.
    let digits = if integer && spec.precision == Some(0) && digits == "0" { "" } else { digits };
    let mut zeros = least.saturating_sub(digits.len());
    if spec.zero && !spec.left && !(integer && spec.precision.is_some()) {
        zeros = zeros.max(spec.width.saturating_sub(prefix.len() + digits.len()));
    }
    let text = format!("{prefix}{}{digits}", "0".repeat(zeros));
    pad(spec, text.as_bytes(), out);
}

/// Pads with spaces on the side that the flags name.
fn pad(spec: &Spec, text: &[u8], out: &mut Vec<u8>) {
    let spaces = spec.width.saturating_sub(text.len());
    if !spec.left {
        out.extend(std::iter::repeat_n(b' ', spaces));
    }
    out.extend(text);
    if spec.left {
        out.extend(std::iter::repeat_n(b' ', spaces));
    }
}

fn float(conversion: u8, spec: &Spec, value: f64, out: &mut Vec<u8>) {
    let upper = conversion.is_ascii_uppercase();
    let case = |text: String| if upper { text.to_uppercase() } else { text };
    let sign = sign(spec, value.is_sign_negative() && !value.is_nan());
    if !value.is_finite() {
        let name = if value.is_nan() { "nan" } else { "inf" };
        let plain = Spec { zero: false, width: spec.width, left: spec.left, ..Spec::default() };
        return pad(&plain, format!("{sign}{}", case(name.to_owned())).as_bytes(), out);
    }
    let magnitude = value.abs();
    let precision = spec.precision.unwrap_or(6);
    let digits = match conversion.to_ascii_lowercase() {
        b'f' => format!("{magnitude:.precision$}"),
        b'e' => exponential(magnitude, precision),
        b'a' => hexadecimal(magnitude, spec.precision),
        _ => general(magnitude, precision, spec.alternate),
    };
    number_field(spec, sign, &case(digits), false, out);
}

/// `d.ddde+xx`: Rust writes the exponent without sign and padding.
fn exponential(value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, digits) = match exponent.strip_prefix('-') {
        Some(digits) => ('-', digits),
        None => ('+', exponent),
    };
    format!("{mantissa}e{sign}{digits:0>2}")
}

/// The shorter of the two others, without trailing zeros.
fn general(value: f64, precision: usize, alternate: bool) -> String {
    let precision = precision.max(1);
    let rounded = format!("{value:.*e}", precision - 1);
    let exponent: i32 = rounded.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
    let fixed = exponent >= -4 && exponent < precision as i32;
    let text = if fixed {
        let decimals = (precision as i32 - 1 - exponent).max(0) as usize;
        format!("{value:.decimals$}")
    } else {
        exponential(value, precision - 1)
    };
    if alternate || !text.contains('.') {
        return text;
    }
    let (mantissa, tail) =
        text.split_once('e').map_or((text.as_str(), None), |(m, e)| (m, Some(e)));
    let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
    tail.map_or_else(|| mantissa.to_owned(), |e| format!("{mantissa}e{e}"))
}

/// `0x1.8p+1`.
fn hexadecimal(value: f64, precision: Option<usize>) -> String {
    let bits = value.to_bits();
    let (mut fraction, biased) = (bits & ((1 << 52) - 1), (bits >> 52 & 0x7ff) as i32);
    let (mut lead, exponent) = match (biased, fraction) {
        (0, 0) => (0u64, 0),
        (0, _) => (0, -1022),
        _ => (1, biased - 1023),
    };
    let mut digits = 13;
    if let Some(wanted) = precision.filter(|&p| p < 13) {
        // Round to nearest even at the last digit kept.
        let drop = 4 * (13 - wanted) as u32;
        let whole = lead << 52 | fraction;
        let (kept, rest) = (whole >> drop, whole & ((1 << drop) - 1));
        let half = 1u64 << (drop - 1);
        let kept = kept + u64::from(rest > half || rest == half && kept & 1 == 1);
        lead = kept >> (4 * wanted as u32);
        fraction = kept & ((1u64 << (4 * wanted as u32)) - 1);
        digits = wanted;
    }
    let mut text = if digits == 0 { String::new() } else { format!("{fraction:0digits$x}") };
    match precision {
        None => text.truncate(text.trim_end_matches('0').len()),
        Some(p) => text.extend(std::iter::repeat_n('0', p.saturating_sub(13))),
    }
    let point = if text.is_empty() { "" } else { "." };
    format!("0x{lead}{point}{text}p{exponent:+}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Formats with arguments from a buffer at address 0, strings at 1000.
    fn print(text: &str, args: &[u8]) -> String {
        let mut memory = args.to_vec();
        memory.resize(1000, 0);
        memory.extend(b"hello\0");
        memory.resize(2000, 0);
        let mut read = |at: u64, width: Width| -> Result<u64, ()> {
            let (at, n) = (at as usize, width.bytes() as usize);
            let mut bytes = [0; 8];
            bytes[..n].copy_from_slice(&memory[at..at + n]);
            Ok(u64::from_le_bytes(bytes))
        };
        let mut out = Vec::new();
        super::print(text.as_bytes(), 0, &mut out, &mut read).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn integers() {
        let n = (-42i32).to_le_bytes();
        assert_eq!(print("[%d|%6d|%-6d|%06d|%+d]", &n.repeat(5)), "[-42|   -42|-42   |-00042|-42]");
        assert_eq!(print("%x %#X %o %5.3u", &[255, 0, 0, 0].repeat(4)), "ff 0XFF 377   255");
        assert_eq!(print("%hhd %hu", &[0xff, 0xff, 0, 0, 0xff, 0xff, 0xff, 0xff]), "-1 65535");
        assert_eq!(print("%lld", &(-5i64).to_le_bytes()), "-5");
    }

    #[test]
    fn floats() {
        let f = |x: f64| x.to_le_bytes();
        assert_eq!(
            print("%f %.2f %8.1f|", &[f(1.5), f(0.125), f(-2.0)].concat()),
            "1.500000 0.12     -2.0|"
        );
        assert_eq!(print("%e %E", &[f(12345.678), f(0.0)].concat()), "1.234568e+04 0.000000E+00");
        assert_eq!(
            print("%g %g %g %g", &[f(100000.0), f(1e6), f(0.0001), f(1e-5)].concat()),
            "100000 1e+06 0.0001 1e-05"
        );
        assert_eq!(print("%a %a", &[f(3.0), f(0.0)].concat()), "0x1.8p+1 0x0p+0");
        assert_eq!(print("%05.1f|%5f", &[f(-1.0), f(f64::INFINITY)].concat()), "-01.0|  inf");
    }

    #[test]
    fn text_and_oddities() {
        let at = 1000u64.to_le_bytes();
        assert_eq!(print("%s|%8s|%.2s", &at.repeat(3)), "hello|   hello|he");
        assert_eq!(print("%c%c%%", &[b'a', 0, 0, 0, b'b', 0, 0, 0]), "ab%");
        assert_eq!(print("100%", &[]), "100");
        assert_eq!(print("%*d|", &[5, 0, 0, 0, 7, 0, 0, 0]), "    7|");
        assert_eq!(print("%999999999d", &[1, 0, 0, 0]).len(), FIELD_LIMIT);
    }
}
