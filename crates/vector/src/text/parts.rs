//! What the text of an operation consists of, in both directions: words with dots between them,
//! numbers behind the arguments, and attributes in braces.
//!
//! ```text
//! v5: row32 = load.global.adjacent v0, v3, v4 {bytes 4, step 7, operands s2}
//! v6: row32 = line v5, 4
//! ```
//!
//! One table a type (`names`) gives the printer and the parser their words.

use crate::op::{
    Access, Atomic, Await, Barrier, BlockCounts, Copy, Extend, Home, Interpreted, InterpretedEnd,
    Scale, Sreg, Standing,
};
use std::fmt::Display;

/// The parts of an operation that is printed.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub(super) words: Vec<&'static str>,
    pub(super) numbers: Vec<String>,
    pub(super) attributes: Vec<String>,
}

impl Parts {
    fn attribute(&mut self, name: &str, value: impl Display) {
        self.attributes.push(format!("{name} {value}"));
    }

    /// Adds a number unless it is zero.
    fn unless_zero(&mut self, name: &str, value: u32) {
        if value != 0 {
            self.attribute(name, value);
        }
    }

    fn list<T: Display>(&mut self, name: &str, values: impl IntoIterator<Item = T>) {
        let values: Vec<String> = values.into_iter().map(|v| v.to_string()).collect();
        if !values.is_empty() {
            self.attribute(name, values.join(" "));
        }
    }
}

/// The parts of an operation that is parsed, the first ones first.
#[derive(Debug)]
pub(super) struct Found<'t> {
    pub(super) words: std::vec::IntoIter<&'t str>,
    pub(super) numbers: std::vec::IntoIter<&'t str>,
    /// Names with their values.
    pub(super) attributes: Vec<(&'t str, Vec<&'t str>)>,
}

impl<'t> Found<'t> {
    fn take(&mut self, name: &str) -> Option<Vec<&'t str>> {
        let at = self.attributes.iter().position(|a| a.0 == name)?;
        Some(self.attributes.remove(at).1)
    }

    fn number(&mut self, name: &str) -> Option<u32> {
        match self.take(name)?[..] {
            [value] => number(value)?.try_into().ok(),
            _ => None,
        }
    }

    /// Takes a number that is zero if it is not there.
    fn or_zero(&mut self, name: &str) -> Option<u32> {
        self.optional(name).map(Option::unwrap_or_default)
    }

    /// Takes a number that need not be there.
    fn optional(&mut self, name: &str) -> Option<Option<u32>> {
        match self.attributes.iter().any(|a| a.0 == name) {
            true => self.number(name).map(Some),
            false => Some(None),
        }
    }

    fn homes(&mut self, name: &str) -> Option<Vec<Home>> {
        self.take(name).unwrap_or_default().into_iter().map(home).collect()
    }
}

/// Reads a number: decimal, with a sign or not, or hexadecimal.
pub(super) fn number(text: &str) -> Option<i128> {
    let (digits, negative) = match text.strip_prefix('-') {
        Some(digits) => (digits, true),
        None => (text, false),
    };
    let value = match digits.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok()?,
        None => digits.parse().ok()?,
    };
    Some(if negative { -i128::from(value) } else { i128::from(value) })
}

impl Display for Home {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (letter, number) = match self {
            Self::Narrow(i) => ('n', i),
            Self::Wide(i) => ('w', i),
            Self::Pred(i) => ('p', i),
            Self::Scalar(i) => ('s', i),
        };
        write!(f, "{letter}{number}")
    }
}

fn home(text: &str) -> Option<Home> {
    let mut letters = text.chars();
    let letter = letters.next()?;
    let number = letters.as_str().parse().ok()?;
    Some(match letter {
        'n' => Home::Narrow(number),
        'w' => Home::Wide(number),
        'p' => Home::Pred(number),
        's' => Home::Scalar(number),
        _ => return None,
    })
}

/// A part of an operation.
pub(super) trait Part: Sized {
    fn put(&self, to: &mut Parts);

    /// Reads what [`Self::put`] wrote.
    fn take(from: &mut Found<'_>) -> Option<Self>;
}

impl Part for [u32; 32] {
    fn put(&self, to: &mut Parts) {
        to.list("lanes", self);
    }

    fn take(from: &mut Found<'_>) -> Option<Self> {
        let list = from.take("lanes")?;
        let numbers: Option<Vec<u32>> =
            list.into_iter().map(|text| number(text)?.try_into().ok()).collect();
        numbers?.try_into().ok()
    }
}

impl Part for Sreg {
    fn put(&self, to: &mut Parts) {
        to.attribute("register", self.reg.name());
        to.attribute("step", self.step);
    }

    fn take(from: &mut Found<'_>) -> Option<Self> {
        let [name] = from.take("register")?[..] else { return None };
        Some(Self { reg: ir::Sreg::from_name(name)?, step: from.number("step")? })
    }
}

impl Part for Scale {
    fn put(&self, to: &mut Parts) {
        to.words.push(if self.signed { "s" } else { "u" });
        to.unless_zero("shift", self.shift.into());
    }

    fn take(from: &mut Found<'_>) -> Option<Self> {
        let signed = match from.words.next()? {
            "s" => true,
            "u" => false,
            _ => return None,
        };
        Some(Self { signed, shift: from.or_zero("shift")?.try_into().ok()? })
    }
}

impl Part for Access {
    fn put(&self, to: &mut Parts) {
        self.space.put(to);
        self.shape.put(to);
        to.attribute("bytes", self.word);
        if self.words != 1 {
            to.attribute("words", self.words);
        }
        if let Extend::Sign(bits) = self.extend {
            to.attribute("sign", bits);
        }
        if self.offset != 0 {
            to.attribute("offset", self.offset);
        }
        to.list("row", self.row);
        self.step.put(to);
    }

    fn take(from: &mut Found<'_>) -> Option<Self> {
        let (space, shape) = (Part::take(from)?, Part::take(from)?);
        let word = from.number("bytes")?.try_into().ok()?;
        let words = match from.or_zero("words")? {
            0 => 1,
            words => words.try_into().ok()?,
        };
        let extend = match from.or_zero("sign")? {
            0 => Extend::Zero,
            bits => Extend::Sign(bits),
        };
        let offset = match from.take("offset") {
            Some(values) => number(values.first()?)?.try_into().ok()?,
            None => 0,
        };
        let row = from.homes("row")?.pop();
        let step = Part::take(from)?;
        Some(Self { step, row, space, shape, word, words, extend, offset })
    }
}

impl Part for ir::Ty {
    fn put(&self, to: &mut Parts) {
        to.words.push(self.name());
    }

    fn take(from: &mut Found<'_>) -> Option<Self> {
        Self::from_name(from.words.next()?)
    }
}

impl Part for Atomic {
    fn put(&self, to: &mut Parts) {
        self.op.put(to);
        self.ty.put(to);
        self.access.put(to);
    }

    fn take(from: &mut Found<'_>) -> Option<Self> {
        let (op, ty) = (Part::take(from)?, Part::take(from)?);
        Some(Self { access: Part::take(from)?, op, ty })
    }
}

impl Part for Copy {
    fn put(&self, to: &mut Parts) {
        self.from.shape.put(to);
        let Access { offset, row, step, .. } = &self.to;
        to.attribute("bytes", self.from.word);
        if self.from.offset != 0 {
            to.attribute("from", self.from.offset);
        }
        if *offset != 0 {
            to.attribute("to", offset);
        }
        debug_assert!(row.is_none(), "the interpreter reads it as an operand");
        to.list("row", self.from.row);
        step.put(to);
    }

    fn take(from: &mut Found<'_>) -> Option<Self> {
        let shape = Part::take(from)?;
        let word = from.number("bytes")?.try_into().ok()?;
        let mut offset = |name: &str| match from.take(name) {
            Some(values) => number(values.first()?)?.try_into().ok(),
            None => Some(0),
        };
        let (source, target) = (offset("from")?, offset("to")?);
        let row = from.homes("row")?.pop();
        let step: Interpreted = Part::take(from)?;
        Some(Self::new(step, word, (shape, source, row), target))
    }
}

impl Part for Home {
    fn put(&self, to: &mut Parts) {
        to.list("home", [*self]);
    }

    fn take(from: &mut Found<'_>) -> Option<Self> {
        from.homes("home")?.pop()
    }
}

/// Adds the places of results, of which some are not read.
fn put_results(results: &[Option<Home>], to: &mut Parts) {
    let result = |home: &Option<Home>| home.map_or("_".to_owned(), |home| home.to_string());
    to.list("results", results.iter().map(result));
}

fn take_results(from: &mut Found<'_>) -> Option<Vec<Option<Home>>> {
    let results = from.take("results").unwrap_or_default().into_iter();
    let result = |text: &str| match text {
        "_" => Some(None),
        text => home(text).map(Some),
    };
    results.map(result).collect()
}

impl Part for Interpreted {
    fn put(&self, to: &mut Parts) {
        to.attribute("step", self.step);
        to.list("operands", &self.operands);
        put_results(&self.results, to);
        if let Some(operand) = self.moves {
            to.attribute("moves", operand);
        }
    }

    fn take(from: &mut Found<'_>) -> Option<Self> {
        let (step, operands) = (from.number("step")?, from.homes("operands")?);
        let results = take_results(from)?;
        Some(Self { step, operands, results, moves: from.optional("moves")? })
    }
}

impl Part for Await {
    fn put(&self, to: &mut Parts) {
        put_results(&self.results, to);
        self.standing.put(to);
    }

    fn take(from: &mut Found<'_>) -> Option<Self> {
        Some(Self { results: take_results(from)?, standing: Part::take(from)? })
    }
}

impl Part for InterpretedEnd {
    fn put(&self, to: &mut Parts) {
        to.attribute("block", self.block);
        to.list("operands", &self.operands);
    }

    fn take(from: &mut Found<'_>) -> Option<Self> {
        Some(Self { block: from.number("block")?, operands: from.homes("operands")? })
    }
}

impl Part for Standing {
    fn put(&self, to: &mut Parts) {
        to.attribute("block", self.block);
        if let Some(step) = self.step {
            to.attribute("step", step);
        }
        to.list("homes", &self.homes);
    }

    fn take(from: &mut Found<'_>) -> Option<Self> {
        let block = from.number("block")?;
        let step = from.optional("step")?;
        Some(Self { block, step, homes: from.homes("homes")? })
    }
}

impl Part for Barrier {
    fn put(&self, to: &mut Parts) {
        self.kind.put(to);
        self.standing.put(to);
    }

    fn take(from: &mut Found<'_>) -> Option<Self> {
        Some(Self { kind: Part::take(from)?, standing: Part::take(from)? })
    }
}

impl Part for BlockCounts {
    fn put(&self, to: &mut Parts) {
        to.attribute("block", self.block);
        to.unless_zero("first", self.first);
        to.unless_zero("issues", self.issues);
        to.unless_zero("heads", self.head.into());
        to.unless_zero("memory", self.memory);
        to.unless_zero("branches", self.branches);
        let [splits, pushes, merges] = self.splits;
        to.unless_zero("splits", splits);
        to.unless_zero("pushes", pushes);
        to.unless_zero("merges", merges);
        to.unless_zero("depth", self.depth);
    }

    fn take(from: &mut Found<'_>) -> Option<Self> {
        Some(Self {
            block: from.number("block")?,
            first: from.or_zero("first")?,
            issues: from.or_zero("issues")?,
            head: from.or_zero("heads")? != 0,
            memory: from.or_zero("memory")?,
            branches: from.or_zero("branches")?,
            splits: [from.or_zero("splits")?, from.or_zero("pushes")?, from.or_zero("merges")?],
            depth: from.or_zero("depth")?,
        })
    }
}
