//! Formats of `printf`: flags, widths, precisions, lengths, and the conversions
//! `d i u o x X c s p f F e E g G %`.

/// Longest field that a width or a precision makes.
const MOST: usize = 4096;
/// Longest text of one call.
const LONGEST: usize = 1 << 20;

/// A conversion: what stands between `%` and its letter.
#[derive(Clone, Copy, Default)]
struct Field {
    left: bool,
    zero: bool,
    plus: bool,
    blank: bool,
    other: bool,
    width: usize,
    precision: Option<usize>,
    /// Bits of an integer.
    bits: u32,
}

impl Field {
    /// Bytes of an integer among the arguments: short ones are promoted.
    fn bytes(&self) -> u64 {
        if self.bits == 64 { 8 } else { 4 }
    }
}

/// Returns the text of a format; `next` gives the next argument of 4 or 8 bytes.
///
/// `None` if an argument cannot be read or a conversion is unknown.
pub(super) fn format(
    format: &[u8],
    next: &mut dyn FnMut(u64) -> Option<u64>,
    string: &dyn Fn(u64) -> Option<Vec<u8>>,
) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut rest = format.iter().copied().peekable();
    while let Some(byte) = rest.next() {
        if out.len() > LONGEST {
            return None;
        }
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let mut field = Field { bits: 32, ..Field::default() };
        while let Some(flag) = rest.next_if(|b| b"-0+ #".contains(b)) {
            match flag {
                b'-' => field.left = true,
                b'0' => field.zero = true,
                b'+' => field.plus = true,
                b' ' => field.blank = true,
                _ => field.other = true,
            }
        }
        if let Some(width) = number(&mut rest, next)? {
            field.left |= width < 0;
            field.width = (width.unsigned_abs() as usize).min(MOST);
        }
        if rest.next_if_eq(&b'.').is_some() {
            let digits = number(&mut rest, next)?.unwrap_or(0);
            field.precision = usize::try_from(digits).ok().map(|p| p.min(MOST));
        }
        let mut halves = 0;
        while let Some(length) = rest.next_if(|b| b"hlLqjzt".contains(b)) {
            halves += u32::from(length == b'h');
            field.bits = match (length, halves) {
                (b'h', 1) => 16,
                (b'h', _) => 8,
                _ => 64,
            };
        }
        out.extend(convert(field, rest.next()?, next, string)?);
    }
    Some(out)
}

/// A number in digits or, for `*`, the next argument.
fn number(
    rest: &mut std::iter::Peekable<impl Iterator<Item = u8>>,
    next: &mut dyn FnMut(u64) -> Option<u64>,
) -> Option<Option<i32>> {
    if rest.next_if_eq(&b'*').is_some() {
        return Some(Some(next(4)? as i32));
    }
    let mut value = None;
    while let Some(digit) = rest.next_if(u8::is_ascii_digit) {
        let old: i32 = value.unwrap_or(0);
        value = Some(old.saturating_mul(10).saturating_add(i32::from(digit - b'0')));
    }
    Some(value)
}

fn convert(
    field: Field,
    letter: u8,
    next: &mut dyn FnMut(u64) -> Option<u64>,
    string: &dyn Fn(u64) -> Option<Vec<u8>>,
) -> Option<Vec<u8>> {
    Some(match letter {
        b'%' => b"%".to_vec(),
        b'c' => padded(field, String::new(), vec![next(4)? as u8], false),
        b's' => {
            let mut text = string(next(8)?)?;
            text.truncate(field.precision.unwrap_or(usize::MAX));
            padded(field, String::new(), text, false)
        }
        b'd' | b'i' => {
            let value = crate::compute::extend(next(field.bytes())?, field.bits, true) as i64;
            let digits = value.unsigned_abs().to_string();
            integer(field, sign(field, value < 0), digits)
        }
        b'u' | b'x' | b'X' | b'o' => {
            let value = crate::compute::extend(next(field.bytes())?, field.bits, false);
            let (prefix, digits) = match letter {
                b'u' => ("", value.to_string()),
                b'x' => ("0x", format!("{value:x}")),
                b'X' => ("0X", format!("{value:X}")),
                _ => ("0", format!("{value:o}")),
            };
            let prefix = if field.other && value != 0 { prefix } else { "" };
            integer(field, prefix.to_owned(), digits)
        }
        b'p' => padded(field, String::new(), format!("{:#x}", next(8)?).into_bytes(), false),
        b'f' | b'F' | b'e' | b'E' | b'g' | b'G' => {
            let value = f64::from_bits(next(8)?);
            let negative = value.is_sign_negative() && !value.is_nan();
            let text = real(field, letter, value.abs());
            padded(field, sign(field, negative), text.into_bytes(), value.is_finite())
        }
        _ => return None,
    })
}

fn sign(field: Field, negative: bool) -> String {
    let text = match field {
        _ if negative => "-",
        Field { plus: true, .. } => "+",
        Field { blank: true, .. } => " ",
        _ => "",
    };
    text.to_owned()
}

fn integer(field: Field, prefix: String, digits: String) -> Vec<u8> {
    let Some(least) = field.precision else {
        return padded(field, prefix, digits.into_bytes(), true);
    };
    let digits = if least == 0 && digits == "0" { String::new() } else { digits };
    padded(field, prefix, format!("{digits:0>least$}").into_bytes(), false)
}

/// The text in its width; zeros go between prefix and digits where they are asked for and allowed.
fn padded(field: Field, prefix: String, text: Vec<u8>, zeros: bool) -> Vec<u8> {
    let missing = field.width.saturating_sub(prefix.len() + text.len());
    let mut out = Vec::new();
    let zeros = zeros && field.zero && !field.left;
    if !field.left && !zeros {
        out.resize(missing, b' ');
    }
    out.extend(prefix.into_bytes());
    if zeros {
        out.resize(out.len() + missing, b'0');
    }
    out.extend(text);
    if field.left {
        out.resize(out.len() + missing, b' ');
    }
    out
}

/// A number that is not negative.
fn real(field: Field, letter: u8, value: f64) -> String {
    let upper = letter.is_ascii_uppercase();
    let case = |text: String| if upper { text.to_ascii_uppercase() } else { text };
    if value.is_nan() {
        return case("nan".to_owned());
    }
    if value.is_infinite() {
        return case("inf".to_owned());
    }
    let digits = field.precision.unwrap_or(6);
    case(match letter.to_ascii_lowercase() {
        b'f' => format!("{value:.digits$}"),
        b'e' => exponential(value, digits),
        _ => general(field, value, digits.max(1)),
    })
}

/// `1.5e+00`: at least two digits of the exponent.
fn exponential(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
}

fn general(field: Field, value: f64, digits: usize) -> String {
    let text = exponential(value, digits - 1);
    let exponent: i32 = text.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
    let plain = exponent >= -4 && exponent < digits as i32;
    let text = if plain {
        let places = (digits as i32 - 1 - exponent).max(0) as usize;
        format!("{value:.places$}")
    } else {
        text
    };
    if field.other {
        return text;
    }
    let (mantissa, rest) = match text.find('e') {
        Some(at) => text.split_at(at),
        None => (text.as_str(), ""),
    };
    if !mantissa.contains('.') {
        return text;
    }
    format!("{}{rest}", mantissa.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::format;

    fn printed(text: &str, values: &[u64]) -> String {
        let mut values = values.iter().copied();
        let text = format(text.as_bytes(), &mut |_| values.next(), &|_| Some(b"name".to_vec()));
        String::from_utf8(text.unwrap()).unwrap()
    }

    /// Expected texts are those of glibc.
    #[test]
    fn conversions_print_as_the_c_standard_says() {
        assert_eq!(printed("%d %5d|%-5d|%05d", &[u64::MAX, 42, 42, 42]), "-1    42|42   |00042");
        assert_eq!(printed("%u %x %#X %o", &[u64::MAX, 255, 255, 8]), "4294967295 ff 0XFF 10");
        assert_eq!(printed("%lu %hhd %.3d", &[u64::MAX, 0x80, 7]), "18446744073709551615 -128 007");
        assert_eq!(printed("%+d % d %c%%", &[5, 6, 65]), "+5  6 A%");
        assert_eq!(printed("[%6s] [%-6.2s] %p", &[1, 1, 16]), "[  name] [na    ] 0x10");
        let f = |x: f64| x.to_bits();
        assert_eq!(printed("%f %.1f %8.2f", &[f(1.5), f(-0.25), f(3.0)]), "1.500000 -0.2     3.00");
        assert_eq!(printed("%e %.2E", &[f(12345.678), f(0.001)]), "1.234568e+04 1.00E-03");
        assert_eq!(printed("%g %g %g", &[f(0.0001), f(1e10), f(2.5)]), "0.0001 1e+10 2.5");
        assert_eq!(printed("%g %F", &[f(f64::NAN), f(f64::INFINITY)]), "nan INF");
        assert_eq!(printed("%*d|%-*d|", &[4, 1, 3, 2]), "   1|2  |");
    }

    #[test]
    fn what_is_unknown_or_cut_has_no_text() {
        assert_eq!(format(b"%n", &mut |_| Some(0), &|_| None), None);
        assert_eq!(format(b"%", &mut |_| Some(0), &|_| None), None);
        assert_eq!(format(b"%d", &mut |_| None, &|_| None), None);
        let long = format(b"%999999999d", &mut |_| Some(1), &|_| None).unwrap();
        assert_eq!(long.len(), super::MOST);
    }
}
