//! Checks that every machine's tests run over its own table.
//!
//! They live here rather than behind `cfg(test)` so that other crates can use them; they need no
//! test framework and are deterministic in their seed.

use std::fmt::Write as _;

use crate::asm::{Dialect, assemble};
use crate::disasm::disassemble;
use crate::span::FileId;
use crate::table::{Field, Form, FormId};

/// A small deterministic generator (SplitMix64).
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// The generator of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`; 0 if `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        self.bits().checked_rem(n).unwrap_or(0)
    }

    /// One of the items.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len() as u64) as usize)
    }

    /// A legal value of a field: often its least, greatest or default one.
    pub fn field_value(&mut self, field: &Field) -> i64 {
        for _ in 0..64 {
            let (low, high) = field.legal.first().copied().unwrap_or(field.range());
            let (low, high) = match field.legal.len() {
                0 | 1 => (low, high),
                n => field.legal.get(self.below(n as u64) as usize).copied().unwrap_or((low, high)),
            };
            let value = match self.below(8) {
                0 => low,
                1 => high,
                2 => field.default_value(),
                _ => field.extract(self.bits()),
            };
            if field.insert(0, value).is_ok() {
                return value;
            }
        }
        field.default_value()
    }
}

/// What [`round_trip`] has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTrip {
    /// Forms, all of the table.
    pub forms: usize,
    /// Words that went the whole way round.
    pub words: usize,
    /// Words of a form that another form wins: they went round as that one.
    pub as_other: usize,
}

/// The address at which round trips take place: far enough from both ends for every branch.
const ADDRESS: u64 = 0x4000_0000;

/// Takes every form of a table round `per_form` times with random legal field values: encode,
/// decode, disassemble, assemble, compare the bytes. Fields that the syntax does not write keep
/// their defaults.
///
/// # Errors
/// The first word that does not come back, with all that is known of it.
pub fn round_trip(dialect: Dialect<'_>, per_form: usize, seed: u64) -> Result<RoundTrip, String> {
    let mut rng = Rng::new(seed);
    let mut done = RoundTrip { forms: 0, words: 0, as_other: 0 };
    for (id, form) in dialect.table.iter() {
        done.forms += 1;
        let mut reached = form.attribute("assembly-only").is_some();
        for _ in 0..per_form {
            let same = one_round(dialect, id, form, &mut rng)?;
            reached |= same;
            done.words += 1;
            done.as_other += usize::from(!same);
        }
        if !reached && per_form >= 16 {
            return Err(format!("{}: none of {per_form} words decodes as this form", form.name));
        }
    }
    Ok(done)
}

/// One word; says whether it decodes as the form it was encoded as.
fn one_round(dialect: Dialect<'_>, id: FormId, form: &Form, rng: &mut Rng) -> Result<bool, String> {
    let table = dialect.table;
    let mut values: Vec<i64> = form.fields.iter().map(Field::default_value).collect();
    form.syntax.for_each_field(|i| values[i] = rng.field_value(&form.fields[i]));
    let context =
        |what: &str, detail: &str| format!("{}: {what}: {detail} (values {values:?})", form.name);
    let encoded = table.encode(id, &values).map_err(|e| context("encode", &e.to_string()))?;
    // What lies behind an instruction must not change how it decodes, unless both are one fused
    // form.
    let garbage = rng.bits() & !form.width_mask();
    let decoded =
        table.decode(encoded.word | garbage, 64).map_err(|e| context("decode", &e.to_string()))?;
    let winner = table.form(decoded.form);
    if winner.bits != form.bits && winner.attribute("fused").is_some() {
        return Ok(false);
    }
    if decoded.word != encoded.word {
        return Err(context("decode", &format!("another word, as {}", winner.name)));
    }
    let bytes = encoded.to_bytes(table);
    let text = dialect.print(decoded, ADDRESS);
    let source = format!(".org {ADDRESS:#x}\n{text}\n");
    let image = assemble(dialect, FileId::default(), &source).map_err(|errors| {
        let first = errors.iter().next().map_or("", |d| d.message.as_str());
        context("assemble", &format!("`{text}`: {first}"))
    })?;
    if image.bytes_at(ADDRESS) != Some(&bytes[..]) {
        let got = image.bytes_at(ADDRESS).unwrap_or_default();
        return Err(context("assemble", &format!("`{text}` gives {got:02x?}, not {bytes:02x?}")));
    }
    let listed = disassemble(dialect, &bytes, ADDRESS);
    match listed.as_slice() {
        [line] if line.comment.is_none() && line.bytes == bytes => Ok(decoded.form == id),
        _ => Err(context("disassemble", &format!("{listed:?}"))),
    }
}

/// Disassembles random bytes and assembles the text: the same bytes must come back. Some words are
/// near forms of the table, some are not.
///
/// # Errors
/// The first bytes that do not come back.
pub fn random_bytes(dialect: Dialect<'_>, rounds: usize, seed: u64) -> Result<(), String> {
    let mut rng = Rng::new(seed);
    for _ in 0..rounds {
        let mut bytes = Vec::new();
        for _ in 0..rng.below(8) {
            let noise = rng.bits();
            let word = match rng.pick(dialect.table.forms()) {
                Some(form) if noise & 3 != 0 => noise & !form.mask | form.pattern,
                _ => noise,
            };
            bytes.extend(&word.to_le_bytes()[..1 + rng.below(8) as usize]);
        }
        let lines = disassemble(dialect, &bytes, ADDRESS);
        let source = crate::disasm::source(dialect, &lines);
        let image = assemble(dialect, FileId::default(), &source)
            .map_err(|e| format!("{bytes:02x?}\n{source}\n{:?}", e.iter().next()))?;
        let got = image.bytes_at(ADDRESS).unwrap_or_default();
        if got != bytes {
            return Err(format!("{bytes:02x?} came back as {got:02x?} from\n{source}"));
        }
    }
    Ok(())
}

/// Assembles random texts made of the tokens of the language: none may panic. Returns how many were
/// accepted and how many rejected.
#[must_use]
pub fn token_soup(dialect: Dialect<'_>, rounds: usize, seed: u64) -> (usize, usize) {
    const SIGNS: [&str; 44] = [
        "(",
        ")",
        "[",
        "]",
        ",",
        ":",
        "=",
        "+",
        "-",
        "*",
        "/",
        "%",
        "<<",
        ">>",
        "&",
        "|",
        "^",
        "~",
        ".",
        "1",
        "0x7fffffffffffffff",
        "-1",
        "1b",
        "1f",
        "1:",
        "x",
        "x:",
        "y",
        "\"a\"",
        "'",
        "\"",
        "/*",
        ".equ",
        ".set",
        ".org",
        ".align",
        ".space",
        ".byte",
        ".word",
        ".data",
        ".text",
        "->",
        "{",
        "\\",
    ];
    let mut rng = Rng::new(seed);
    let mnemonics: Vec<&str> = dialect.table.mnemonics().collect();
    let (mut accepted, mut rejected) = (0, 0);
    for _ in 0..rounds {
        let mut text = String::new();
        for _ in 0..rng.below(40) {
            let token = match rng.below(8) {
                0 => "\n",
                1 | 2 => rng.pick(&mnemonics).copied().unwrap_or("x"),
                3 => "r1",
                _ => rng.pick(&SIGNS).copied().unwrap_or(","),
            };
            let blank = if rng.below(4) == 0 { "" } else { " " };
            let _ = write!(text, "{token}{blank}");
        }
        match assemble(dialect, FileId::default(), &text) {
            Ok(_) => accepted += 1,
            Err(_) => rejected += 1,
        }
    }
    (accepted, rejected)
}
