//! The parser of what a buffer holds: `zeros`, `iota(start=1)`, `[1, 2]`, `@file`.

use isa::suggest::nearest;

use super::parse::{Parser, Result};
use super::random::Range;
use super::{Contents, Progression};
use crate::elem::{ElemKind, ElemType, shortened};

/// The kinds of contents, for suggestions.
const CONTENTS: [&str; 5] = ["zeros", "ones", "fill", "iota", "random"];

impl Parser<'_> {
    pub(super) fn contents(
        &mut self,
        ty: ElemType,
        count: u64,
        declared: std::ops::Range<usize>,
    ) -> Result<Contents> {
        if self.consume('@') {
            return self.file();
        }
        if self.consume('[') {
            return self.values(ty, count, declared);
        }
        let (word, range) = self.word();
        match word {
            "zeros" => Ok(Contents::Zeros),
            "ones" => Ok(Contents::Fill(ty.round(1.0).unwrap_or(1))),
            "fill" => self.fill_value(ty),
            "iota" => self.iota(ty),
            "random" => self.random(ty),
            "" => Err(self
                .unexpected("the contents are missing", "what the buffer holds")
                .help("write zeros, ones, fill(v), iota, random, [v, v, ...] or @file.npy")),
            _ => {
                let help = match nearest(word, CONTENTS) {
                    Some(name) => format!("did you mean {name}?"),
                    None => {
                        "contents are zeros, ones, fill(v), iota, random, [v, v, ...] or @file.npy"
                            .to_owned()
                    }
                };
                let message = format!("`{}` is not a way to fill a buffer", shortened(word));
                Err(self.error("arg::contents", range, message, "").help(help))
            }
        }
    }

    /// Parses a literal up to one of the characters in `ends`, which is not consumed.
    fn literal_until(&mut self, ty: ElemType, ends: &[char]) -> Result<u64> {
        self.skip_space();
        let length = self.rest().find(ends).unwrap_or(self.rest().len());
        let range = self.at..self.at + length;
        self.at = range.end;
        self.literal(ty, range)
    }

    fn fill_value(&mut self, ty: ElemType) -> Result<Contents> {
        self.expect('(', "fill needs the value")
            .map_err(|e| e.help("write fill(7), or zeros or ones"))?;
        let bits = self.literal_until(ty, &[')'])?;
        self.expect(')', "fill is not closed")?;
        Ok(Contents::Fill(bits))
    }

    fn values(
        &mut self,
        ty: ElemType,
        count: u64,
        declared: std::ops::Range<usize>,
    ) -> Result<Contents> {
        let start = self.at - 1;
        let mut values = Vec::new();
        while !self.consume(']') {
            values.push(self.literal_until(ty, &[',', ']'])?);
            if !self.consume(',') {
                self.expect(']', "the list of values is not closed")?;
                break;
            }
        }
        if values.len() as u64 != count {
            let message = format!("there are {} values for {count} elements", values.len());
            return Err(self
                .error("arg::shape", start..self.at, message, "")
                .also(self.place(declared), format!("{count} elements here"))
                .help("give as many values as the shape has elements"));
        }
        Ok(Contents::Values(values))
    }

    /// Parses `(key=text, ...)`, where all keys are optional and listed in `known`. Returns the
    /// range of each key's text.
    pub(super) fn options<const N: usize>(
        &mut self,
        of: &str,
        known: [&'static str; N],
    ) -> Result<[Option<std::ops::Range<usize>>; N]> {
        let mut found = [const { None }; N];
        if !self.consume('(') {
            return Ok(found);
        }
        while !self.consume(')') {
            let (key, range) = self.word();
            let Some(index) = known.iter().position(|k| *k == key) else {
                let help = match nearest(key, known) {
                    Some(name) => format!("did you mean {name}?"),
                    None => format!("{of} takes {}", known.join(", ")),
                };
                let message = format!("{of} has no option `{}`", shortened(key));
                return Err(self.error("arg::option", range, message, "").help(help));
            };
            if found[index].is_some() {
                let message = format!("{key} is given twice");
                return Err(self.error("arg::option", range, message, "second time here"));
            }
            self.expect('=', "an option needs its value")?;
            self.skip_space();
            let length = option_length(self.rest());
            found[index] = Some(self.at..self.at + length);
            self.at += length;
            if !self.consume(',') {
                self.expect(')', "the options are not closed")?;
                break;
            }
        }
        Ok(found)
    }

    fn iota(&mut self, ty: ElemType) -> Result<Contents> {
        let [start, step] = self.options("iota", ["start", "step"])?;
        Ok(Contents::Iota(if ty.kind() == ElemKind::Float {
            Progression::Float {
                start: self.float_option(start, 0.0)?,
                step: self.float_option(step, 1.0)?,
            }
        } else {
            Progression::Int {
                start: self.int_option(ty, start, 0)?,
                step: self.int_option(ElemType::S64, step, 1)?,
            }
        }))
    }

    fn random(&mut self, ty: ElemType) -> Result<Contents> {
        let [seed, lo, hi] = self.options("random", ["seed", "lo", "hi"])?;
        let bounds = lo.clone().or(hi.clone()).unwrap_or(0..0);
        let seed = match seed {
            Some(range) => Some(self.literal(ElemType::U64, range)?),
            None => None,
        };
        let range = if let Some((least, most)) = ty.integer_range() {
            let lo = self.int_option(ty, lo, least)?;
            Range::Int { lo, hi: self.int_option(ty, hi, most)? }
        } else {
            let lo = self.float_option(lo, 0.0)?;
            Range::Float { lo, hi: self.float_option(hi, 1.0)? }
        };
        let (fits, rule) = match range {
            Range::Int { lo, hi } => (lo <= hi, "lo must not be above hi"),
            Range::Float { lo, hi } => {
                (self.float_range_fits(ty, lo, hi), "lo must be below hi, and both must be finite")
            }
        };
        if !fits {
            return Err(self
                .error("arg::value", bounds, "no number lies in this range", "")
                .help(rule));
        }
        Ok(Contents::Random { seed, range })
    }

    /// Returns whether the type can represent both bounds, and `lo < hi` at a finite distance.
    fn float_range_fits(&self, ty: ElemType, lo: f64, hi: f64) -> bool {
        let held = |value: f64| {
            ty.round(value).and_then(|bits| ty.to_f64(bits)).is_some_and(f64::is_finite)
        };
        lo < hi && (hi - lo).is_finite() && held(lo) && held(hi)
    }

    fn int_option(
        &self,
        ty: ElemType,
        range: Option<std::ops::Range<usize>>,
        default: i128,
    ) -> Result<i128> {
        let Some(range) = range else { return Ok(default) };
        let bits = self.literal(ty, range)?;
        Ok(ty.to_int(bits).unwrap_or(0))
    }

    fn float_option(&self, range: Option<std::ops::Range<usize>>, default: f64) -> Result<f64> {
        let Some(range) = range else { return Ok(default) };
        let value = f64::from_bits(self.literal(ElemType::F64, range.clone())?);
        if value.is_finite() {
            return Ok(value);
        }
        Err(self
            .error("arg::value", range, "the value is not finite", "")
            .help("write a finite number"))
    }
}

/// Returns the length of an option's value: up to a comma or parenthesis outside of brackets.
fn option_length(text: &str) -> usize {
    let mut depth = 0_usize;
    let ends = |c: char| {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && matches!(c, ',' | ')')
    };
    text.find(ends).unwrap_or(text.len())
}
