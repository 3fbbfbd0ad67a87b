//! Program files: words in hexadecimal, and the memory that they describe.
//!
//! Two layouts, distinguished by the first line: a *word list*, one word a line from address 0 on
//! (8 hexadecimal digits or 32 binary ones), and *addressed* words, `0xADDR 0xDATA` (the data also
//! 32 binary digits). `//` and `#` start comments.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use isa::asm::Image;

/// Most words of a file.
const MOST_WORDS: usize = 16 << 20;

/// Words by address; addresses are multiples of 4.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words(pub BTreeMap<u32, u32>);

/// An error in a file of words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct HexError {
    /// Line, from 1.
    pub line: usize,
    /// The error.
    pub problem: String,
}

/// The line without its comment.
fn bare(line: &str) -> &str {
    let end = [line.find("//"), line.find('#')].into_iter().flatten().min();
    line[..end.unwrap_or(line.len())].trim()
}

fn word(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    match digits {
        Some(hex) => hexadecimal(hex),
        None if text.len() == 32 => u32::from_str_radix(text, 2).ok(),
        None => hexadecimal(text),
    }
}

fn hexadecimal(digits: &str) -> Option<u32> {
    let plain = digits.bytes().all(|b| b.is_ascii_hexdigit());
    plain.then(|| u32::from_str_radix(digits, 16).ok()).flatten()
}

impl Words {
    /// Returns whether a text is words rather than assembly: every line is.
    #[must_use]
    pub fn looks_like(text: &str) -> bool {
        let mut lines = text.lines().map(bare).filter(|l| !l.is_empty());
        let first = lines.next().is_some_and(|l| l.split_whitespace().all(|t| word(t).is_some()));
        first && lines.next().is_none_or(|l| l.split_whitespace().all(|t| word(t).is_some()))
    }

    /// Reads either layout.
    ///
    /// # Errors
    /// Returns the first line that fits neither, an address that is not a multiple of 4 or that is
    /// repeated, or too many words.
    pub fn parse(text: &str) -> Result<Self, HexError> {
        let mut words = BTreeMap::new();
        let mut next = 0u32;
        let mut addressed = None;
        for (line, number) in text.lines().zip(1..) {
            let wrong = |problem: String| HexError { line: number, problem };
            let tokens: Vec<&str> = bare(line).split_whitespace().collect();
            let (address, data) = match tokens.as_slice() {
                [] => continue,
                [data] if addressed != Some(true) => (None, *data),
                [address, data] if addressed != Some(false) => (Some(*address), *data),
                _ => {
                    return Err(wrong(
                        "expected one word, or an address and a word, on every line".into(),
                    ));
                }
            };
            addressed = Some(address.is_some());
            let read = |text: &str| {
                word(text).ok_or_else(|| wrong(format!("`{}` is no 32-bit word", shown(text))))
            };
            let at = address.map_or(Ok(next), read)?;
            if !at.is_multiple_of(4) {
                return Err(wrong(format!("address {at:#x} is not a multiple of 4")));
            }
            if words.insert(at, read(data)?).is_some() {
                return Err(wrong(format!("address {at:#x} is there twice")));
            }
            if words.len() > MOST_WORDS {
                return Err(wrong(format!("more than {MOST_WORDS} words")));
            }
            next = at.wrapping_add(4);
        }
        Ok(Self(words))
    }

    /// The words of an assembled program, incomplete ones filled with zeros.
    #[must_use]
    pub fn assembled(image: &Image) -> Self {
        let mut words: BTreeMap<u32, u32> = BTreeMap::new();
        for segment in &image.segments {
            for (address, &byte) in (segment.address..).zip(&segment.bytes) {
                // The assembler of this machine refuses addresses beyond 32 bits.
                let address = address as u32;
                let shift = 8 * (address & 3);
                *words.entry(address & !3).or_default() |= u32::from(byte) << shift;
            }
        }
        Self(words)
    }

    /// Addressed words, ascending.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        for (address, word) in &self.0 {
            let _ = writeln!(out, "{address:#010x} {word:#010x}");
        }
        out
    }

    /// The runs of consecutive words, as address and bytes.
    #[must_use]
    pub fn runs(&self) -> Vec<(u32, Vec<u8>)> {
        let mut runs: Vec<(u32, Vec<u8>)> = Vec::new();
        for (&address, word) in &self.0 {
            let follows = |(start, bytes): &&mut (u32, Vec<u8>)| {
                u64::from(*start) + bytes.len() as u64 == u64::from(address)
            };
            match runs.last_mut().filter(follows) {
                Some((_, bytes)) => bytes.extend(word.to_le_bytes()),
                None => runs.push((address, word.to_le_bytes().to_vec())),
            }
        }
        runs
    }
}

fn shown(text: &str) -> String {
    text.chars().take(40).collect()
}
