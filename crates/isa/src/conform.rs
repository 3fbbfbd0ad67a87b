//! Conformance tables: facts about a machine, one a line, that its assembler, disassembler and
//! executor must reproduce.
//!
//! Columns are separated by tabs; lines that are empty or start with `#` are skipped. The first
//! column says what the fact is. These kinds are the same for all machines; a machine adds its own,
//! such as programs with their results.
//!
//! | kind | columns | fact |
//! |---|---|---|
//! | `both` | bytes, text[, address] | the text assembles to the bytes, the bytes disassemble to the text |
//! | `asm` | bytes, text[, address] | the text assembles to the bytes |
//! | `dis` | bytes, text[, address] | the bytes disassemble to the text |
//! | `not-code` | bytes | no instruction starts with the bytes |
//! | `not-text` | text, code[, address] | the first error of assembling the text has this code |
//!
//! Bytes are hexadecimal in the order of memory. The address, of the text's first byte, is 0 if it
//! is not given. A target may be an address or a distance such as `.+8`; blanks other than those
//! between words do not matter.

use crate::asm::{Dialect, PrintContext, assemble};
use crate::span::FileId;

/// What checking a table came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The facts, in the order of the table.
    pub cases: Vec<Case>,
}

/// A fact, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Line of the table, from 1.
    pub line: u32,
    /// The fact as it stands in the table, shortened.
    pub fact: String,
    /// What is different, if the fact was not reproduced.
    pub failure: Option<String>,
}

/// A fact is shown with this many characters at most.
const SHOWN: usize = 80;

/// Checks every fact of a table. `own` checks the machine's own kinds of facts from their columns
/// (the kind is the first); it gives `None` for a kind that it does not know.
#[must_use]
pub fn check(
    dialect: Dialect<'_>,
    table: &str,
    mut own: impl FnMut(&[&str]) -> Option<Result<(), String>>,
) -> Report {
    let mut report = Report::default();
    for (line, number) in table.lines().zip(1u32..) {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let columns: Vec<&str> = line.split('\t').map(str::trim).collect();
        let result = common(dialect, &columns).or_else(|| own(&columns));
        let unknown =
            || Err(format!("`{}` is not a kind of fact, or has too few columns", columns[0]));
        let failure = result.unwrap_or_else(unknown).err();
        let fact = columns.join(" ").chars().take(SHOWN).collect();
        report.cases.push(Case { line: number, fact, failure });
    }
    report
}

/// A fact of a kind that all machines have.
fn common(dialect: Dialect<'_>, columns: &[&str]) -> Option<Result<(), String>> {
    let (kind, a, b) = (columns.first()?, columns.get(1)?, columns.get(2).copied());
    let address = columns.get(3).map_or(Ok(0), |text| number(text));
    let with = |f: &dyn Fn(u64) -> Result<(), String>| address.clone().and_then(f);
    let bytes = || bytes(a);
    Some(match (*kind, b) {
        ("both", Some(text)) => with(&|at| {
            assembles(dialect, text, at, &bytes()?)?;
            disassembles(dialect, &bytes()?, at, text)
        }),
        ("asm", Some(text)) => with(&|at| assembles(dialect, text, at, &bytes()?)),
        ("dis", Some(text)) => with(&|at| disassembles(dialect, &bytes()?, at, text)),
        ("not-code", _) => bytes().and_then(|b| match dialect.table.decode_bytes(&b) {
            Ok(found) => Err(format!("{a} is `{}`", dialect.print(found, 0))),
            Err(_) => Ok(()),
        }),
        ("not-text", Some(code)) => with(&|at| rejects(dialect, a, at, code)),
        _ => return None,
    })
}

fn number(text: &str) -> Result<u64, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| format!("`{text}` is not a number"))
}

fn bytes(hex: &str) -> Result<Vec<u8>, String> {
    let wrong = || format!("`{hex}` is not bytes in hexadecimal");
    if hex.is_empty() || !hex.len().is_multiple_of(2) || !hex.bytes().all(|b| b.is_ascii_hexdigit())
    {
        return Err(wrong());
    }
    (0..hex.len())
        .step_by(2)
        .map(|i| u8::from_str_radix(&hex[i..i + 2], 16).map_err(|_| wrong()))
        .collect()
}

fn assembles(dialect: Dialect<'_>, text: &str, at: u64, expected: &[u8]) -> Result<(), String> {
    let source = format!(".org {at:#x}\n{text}\n");
    let image = assemble(dialect, FileId::default(), &source).map_err(|errors| {
        let first = errors.iter().next().map_or("", |d| d.message.as_str());
        format!("`{text}` does not assemble: {first}")
    })?;
    let got = image.bytes_at(at).unwrap_or_default();
    if got == expected {
        Ok(())
    } else {
        Err(format!("`{text}` assembles to {}, not {}", hex(got), hex(expected)))
    }
}

fn disassembles(dialect: Dialect<'_>, bytes: &[u8], at: u64, text: &str) -> Result<(), String> {
    let found = match dialect.table.decode_bytes(bytes) {
        Ok(found) if dialect.table.form(found.form).bytes() == bytes.len() => found,
        Ok(found) => {
            return Err(format!("{} starts with `{}`", hex(bytes), dialect.print(found, at)));
        }
        Err(error) => return Err(format!("{}: {error}", hex(bytes))),
    };
    let got = dialect.print(found, at);
    let relative = |target: u64| Some(format!(".{:+}", target.wrapping_sub(at) as i64));
    let by_distance = dialect.print_at(found, &PrintContext { address: at, label: &relative });
    if [&got, &by_distance].iter().any(|printed| tight(printed) == tight(text)) {
        Ok(())
    } else {
        Err(format!("{} disassembles to `{got}`, not `{text}`", hex(bytes)))
    }
}

/// The text with blanks only between words: texts are the same if they differ in other blanks.
fn tight(text: &str) -> String {
    let wordy = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '#');
    let mut out = String::new();
    for token in text.split_whitespace() {
        if out.ends_with(wordy) && token.starts_with(wordy) {
            out.push(' ');
        }
        out.push_str(token);
    }
    out
}

fn rejects(dialect: Dialect<'_>, text: &str, at: u64, code: &str) -> Result<(), String> {
    let source = format!(".org {at:#x}\n{text}\n");
    match assemble(dialect, FileId::default(), &source) {
        Ok(_) => Err(format!("`{text}` assembles, but should fail with {code}")),
        Err(errors) => match errors.iter().next() {
            Some(first) if first.code == code => Ok(()),
            Some(first) => Err(format!("`{text}` fails with {}, not {code}", first.code)),
            None => Err(format!("`{text}` fails without an error")),
        },
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

impl Report {
    /// How many facts were reproduced.
    #[must_use]
    pub fn passed(&self) -> usize {
        self.cases.iter().filter(|case| case.failure.is_none()).count()
    }

    /// Line and reason of each fact that was not.
    pub fn failures(&self) -> impl Iterator<Item = (u32, &str)> {
        self.cases.iter().filter_map(|case| Some((case.line, case.failure.as_deref()?)))
    }

    /// Whether every fact was reproduced and there was at least one.
    #[must_use]
    pub fn ok(&self) -> bool {
        self.failures().next().is_none() && !self.cases.is_empty()
    }
}

/// Shows `12 of 13 passed` and then each failure with its line.
impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {} passed", self.passed(), self.cases.len())?;
        for (line, reason) in self.failures() {
            write!(f, "\nline {line}: {reason}")?;
        }
        Ok(())
    }
}
