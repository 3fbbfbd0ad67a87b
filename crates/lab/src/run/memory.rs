//! Contents of guest memory after a run, by address.

use machines::{Context, MemoryRange};

/// A part of guest memory to keep after a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryRequest {
    /// All that guests may write.
    All,
    /// What is mapped of a range.
    Range(MemoryRange),
    /// From one symbol of the program to another; all of it must be mapped.
    Between(String, String),
}

/// Bytes of guest memory: the mapped pieces of what was requested, ascending, with their addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryContents {
    /// Address and bytes of each piece.
    pub pieces: Vec<(u64, Vec<u8>)>,
}

/// Reads what was requested; the error is a sentence.
pub(super) fn read(
    context: &dyn Context,
    request: &MemoryRequest,
) -> Result<MemoryContents, String> {
    let all = context.ranges();
    let ranges = match request {
        MemoryRequest::All => all,
        MemoryRequest::Range(wanted) => all.iter().filter_map(|r| common(*r, *wanted)).collect(),
        MemoryRequest::Between(first, last) => vec![between(context, first, last)?],
    };
    let piece = |r: MemoryRange| {
        let length = usize::try_from(r.length).map_err(|_| "it is too long".to_owned())?;
        Ok((r.start, context.read(r.start, length)?))
    };
    let pieces: Result<_, String> = ranges.into_iter().map(piece).collect();
    Ok(MemoryContents { pieces: pieces? })
}

/// What two ranges have in common.
fn common(a: MemoryRange, b: MemoryRange) -> Option<MemoryRange> {
    let start = a.start.max(b.start);
    let end = a.start.saturating_add(a.length).min(b.start.saturating_add(b.length));
    (start < end).then(|| MemoryRange { start, length: end - start })
}

fn between(context: &dyn Context, first: &str, last: &str) -> Result<MemoryRange, String> {
    let symbol = |name: &str| {
        context.symbol(name).ok_or_else(|| format!("the program has no symbol `{name}`"))
    };
    let (start, end) = (symbol(first)?, symbol(last)?);
    let length = end
        .checked_sub(start)
        .ok_or_else(|| format!("`{last}` ({end:#x}) lies before `{first}` ({start:#x})"))?;
    let range = MemoryRange { start, length };
    let mapped: u64 =
        context.ranges().iter().filter_map(|r| common(*r, range)).map(|r| r.length).sum();
    if mapped != length {
        return Err(format!("not all memory from {start:#x} to {end:#x} is mapped and writable"));
    }
    Ok(range)
}

impl MemoryContents {
    /// Words at multiples of 4 that are not 0, as `0xADDRESS 0xWORD` lines; bytes that are not
    /// there count as 0.
    #[must_use]
    pub fn to_hex(&self) -> String {
        use std::fmt::Write as _;
        let mut words = std::collections::BTreeMap::<u64, u32>::new();
        for (start, bytes) in &self.pieces {
            for (address, byte) in (*start..).zip(bytes).filter(|(_, byte)| **byte != 0) {
                *words.entry(address & !3).or_default() |= u32::from(*byte) << (8 * (address & 3));
            }
        }
        let mut out = String::new();
        for (address, word) in words {
            let _ = writeln!(out, "{address:#010x} {word:#010x}");
        }
        out
    }

    /// The bytes as a signature of architecture tests: one little-endian word of `size` bytes a
    /// line, in hexadecimal without a prefix; the last one filled with zeros.
    #[must_use]
    pub fn to_signature(&self, size: usize) -> String {
        let bytes: Vec<u8> = self.pieces.iter().flat_map(|(_, bytes)| bytes).copied().collect();
        let mut out = String::new();
        for word in bytes.chunks(size.max(1)) {
            let mut full = word.to_vec();
            full.resize(size.max(1), 0);
            full.iter().rev().for_each(|byte| out.push_str(&format!("{byte:02x}")));
            out.push('\n');
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_meet_or_do_not() {
        let range = |start, length| MemoryRange { start, length };
        assert_eq!(common(range(0, 16), range(8, 16)), Some(range(8, 8)));
        assert_eq!(common(range(0, 8), range(8, 8)), None);
        assert_eq!(common(range(u64::MAX, 8), range(0, u64::MAX)), None);
    }

    #[test]
    fn words_are_little_endian() {
        let bytes = vec![1, 2, 3, 4, 0, 0, 0, 0, 9];
        let contents = MemoryContents { pieces: vec![(0x1000_0000, bytes)] };
        assert_eq!(contents.to_hex(), "0x10000000 0x04030201\n0x10000008 0x00000009\n");
        assert_eq!(contents.to_signature(4), "04030201\n00000000\n00000009\n");
        assert_eq!(contents.to_signature(8), "0000000004030201\n0000000000000009\n");
    }
}
