//! Operand kinds: how the value of an operand looks in assembly text.
//!
//! Four kinds are always there: `int` and `hex` (an expression, printed in decimal or hexadecimal),
//! `target` (the expression is an address, the field holds its distance from the instruction) and
//! `distance` (a plain number is the distance itself, an expression with a label or `.` is a
//! target). A table adds sets of names, such as registers and rounding modes, as data, and `custom`
//! kinds that the machine's [`Operands`](crate::asm::Operands) reads and prints.

use std::collections::BTreeMap;

/// Index of a kind in its [`Table`](super::Table).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KindId(pub(super) u16);

/// A named kind of operand.
#[derive(Clone, Debug)]
pub struct KindDef {
    /// The name that templates use, as in `{rd:NAME}`.
    pub name: String,
    /// What it does.
    pub kind: Kind,
}

/// What an operand kind does.
#[derive(Clone, Debug)]
pub enum Kind {
    /// An expression, printed in decimal.
    Int,
    /// An expression, printed in hexadecimal.
    Hex,
    /// An address; the field holds its distance from the instruction's own address.
    Target,
    /// A number that is the distance itself, or an expression with a label that is a target;
    /// printed as a number.
    Distance,
    /// One name for each value.
    Names(Names),
    /// Read and printed by the machine.
    Custom,
}

/// Names and the values that they stand for.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// As written, in order of declaration.
    names: Vec<(String, i64)>,
    /// Lower case to index in `names`.
    by_text: BTreeMap<String, usize>,
    /// Value to index of the first name for it: the one that is printed.
    by_value: BTreeMap<i64, usize>,
    longest: usize,
    /// Whether no symbol may have one of these names: registers.
    pub reserved: bool,
}

/// The most names that one set may have.
const MOST_NAMES: i64 = 1 << 16;

impl Names {
    /// Names with their values; the first name of a value is the one that is printed.
    ///
    /// # Errors
    /// The name that was given twice (upper and lower case count as the same) or is empty.
    pub fn new(
        names: impl IntoIterator<Item = (String, i64)>,
        reserved: bool,
    ) -> Result<Self, String> {
        let mut out = Self { reserved, ..Self::default() };
        for (text, value) in names {
            let index = out.names.len();
            if out.by_text.insert(text.to_ascii_lowercase(), index).is_some() {
                return Err(text);
            }
            if text.is_empty() {
                return Err(text);
            }
            out.longest = out.longest.max(text.len());
            out.by_value.entry(value).or_insert(index);
            out.names.push((text, value));
        }
        Ok(out)
    }

    /// Reads `x0..x31`, `ra=1` and bare names (one more than the name before, from 0).
    ///
    /// # Errors
    /// What is wrong with which item.
    pub fn parse(text: &str, reserved: bool) -> Result<Self, String> {
        let mut names = Vec::new();
        let mut next = 0i64;
        for item in text.split_whitespace() {
            let (name, value) = match item.split_once('=') {
                Some((name, value)) => {
                    let value = parse_int(value).ok_or(format!("`{item}`: not a number"))?;
                    (name, value)
                }
                None => (item, next),
            };
            let (first, last) = match name.split_once("..") {
                Some((first, last)) => {
                    let (_, low) = split_number(first).ok_or(format!("`{item}`: not a range"))?;
                    let (_, high) = split_number(last).ok_or(format!("`{item}`: not a range"))?;
                    (low, high)
                }
                None => (0, 0),
            };
            if last < first || last - first >= MOST_NAMES || value.checked_add(MOST_NAMES).is_none()
            {
                return Err(format!("`{item}`: not a range of at most {MOST_NAMES} names"));
            }
            let stem = name.split_once("..").and_then(|(low, _)| split_number(low)).map(|n| n.0);
            for i in 0..=last - first {
                let text = stem.map_or(name.to_owned(), |s| format!("{s}{}", first + i));
                names.push((text, value + i));
            }
            next = value + (last - first) + 1;
        }
        Self::new(names, reserved).map_err(|name| format!("`{name}` is empty or there twice"))
    }

    /// The value of a name. With `fold`, upper and lower case are the same.
    #[must_use]
    pub fn value(&self, name: &str, fold: bool) -> Option<i64> {
        let (text, value) = self.names.get(*self.by_text.get(&name.to_ascii_lowercase())?)?;
        (fold || text == name).then_some(*value)
    }

    /// The longest name that `text` starts with, and its value. A name that ends in a letter or
    /// digit must end there.
    #[must_use]
    pub fn prefix(&self, text: &str, fold: bool) -> Option<(usize, i64)> {
        let wordy = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$');
        (1..=self.longest.min(text.len())).rev().find_map(|length| {
            let (name, rest) = text.split_at_checked(length)?;
            let ends = !(name.ends_with(wordy) && rest.starts_with(wordy));
            let value = if ends { self.value(name, fold) } else { None };
            value.map(|value| (length, value))
        })
    }

    /// The name that is printed for a value.
    #[must_use]
    pub fn name(&self, value: i64) -> Option<&str> {
        self.by_value.get(&value).and_then(|&i| self.names.get(i)).map(|(text, _)| text.as_str())
    }

    /// All names with their values, in order of declaration.
    pub fn iter(&self) -> impl Iterator<Item = (&str, i64)> {
        self.names.iter().map(|(text, value)| (text.as_str(), *value))
    }

    /// What an error says was expected, such as `x0 to x31` or `eq, ne, lt`.
    #[must_use]
    pub fn describe(&self) -> String {
        let shown: Vec<&str> = self.by_value.values().map(|&i| self.names[i].0.as_str()).collect();
        match shown.as_slice() {
            [] => "nothing".to_owned(),
            few if few.len() <= 8 => few.join(", "),
            [first, second, .., last] => format!("{first}, {second}, ... {last}"),
            _ => shown.join(", "),
        }
    }
}

/// `x31` as `("x", 31)`.
fn split_number(text: &str) -> Option<(&str, i64)> {
    let stem = text.trim_end_matches(|c: char| c.is_ascii_digit());
    Some((stem, text[stem.len()..].parse().ok()?))
}

/// A decimal or `0x` integer with an optional minus sign.
pub(super) fn parse_int(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    if !digits.starts_with(|c: char| c.is_ascii_hexdigit()) {
        return None;
    }
    let magnitude = match digits.strip_prefix("0x") {
        Some(hex) => i128::from(u64::from_str_radix(hex, 16).ok()?),
        None => digits.parse().ok()?,
    };
    i64::try_from(if negative { -magnitude } else { magnitude }).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_values_and_counting_on() {
        let names = Names::parse("zero ra=1 x0..x3=0 p", true).unwrap();
        assert_eq!(names.name(0), Some("zero"));
        assert_eq!(names.name(2), Some("x2"));
        assert_eq!(names.value("x1", false), Some(1));
        assert_eq!(names.value("p", false), Some(4));
        assert_eq!(names.value("P", false), None);
        assert_eq!(names.value("P", true), Some(4));
        assert_eq!(names.describe(), "zero, ra, x2, x3, p");
    }

    #[test]
    fn bad_sets_are_named() {
        assert!(Names::parse("a b A", true).unwrap_err().contains("`A`"));
        assert!(Names::parse("x9..x1", true).is_err());
        assert!(Names::parse("x0..x99999999999999999999", true).is_err());
        assert!(Names::parse("x0..x9223372036854775807", true).is_err());
        assert!(Names::parse("a=zz", true).is_err());
        assert!(Names::parse("a=9223372036854775807", true).is_err());
    }
}
