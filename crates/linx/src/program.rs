//! Loaded programs: code, decoded once where it is reached, and data.
//!
//! Code is immutable: what a program stores over its text is not fetched. A flat binary is code
//! from [`TEXT`], zeros up to [`DATA`] and data from there on.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use isa::asm::Image;
use isa::elf::{ProgramHeaders, Segment};

use crate::encoding::{Conventions, Encoding};
use crate::insn::Insn;
use crate::names::TileOps;
use crate::{DATA, TEXT};

/// The longest binary.
const IMAGE_LIMIT: usize = 16 << 20;

/// A range of code.
#[derive(Debug)]
pub(crate) struct Code {
    /// The address where `bytes` start.
    pub(crate) base: u64,
    pub(crate) bytes: Vec<u8>,
    decoded: Vec<OnceLock<Option<Box<Insn>>>>,
}

impl Code {
    fn new(base: u64, bytes: Vec<u8>) -> Self {
        let decoded = (0..bytes.len().div_ceil(2)).map(|_| OnceLock::new()).collect();
        Self { base, bytes, decoded }
    }
}

/// Data that lies in memory before the program starts.
#[derive(Debug)]
pub(crate) struct Data {
    pub(crate) address: u64,
    pub(crate) bytes: Vec<u8>,
    /// Length in memory.
    pub(crate) size: u64,
    pub(crate) writable: bool,
}

/// What a compiled program finds around it: a console, system calls, functions of the host.
#[derive(Clone, Debug, Default)]
pub struct Process {
    /// The program headers, for start-up code; `None` if the program starts at `main`.
    pub(crate) headers: Option<ProgramHeaders>,
    /// The first address behind the program.
    pub(crate) end: u64,
    /// Names of functions by address.
    pub functions: BTreeMap<u64, String>,
    /// Symbols by name.
    pub symbols: BTreeMap<String, u64>,
    /// Functions of the C library that the host stands for.
    pub provided: Vec<String>,
}

/// A loaded program.
#[derive(Debug)]
pub struct Program {
    /// Ranges of code, ascending.
    pub(crate) code: Vec<Code>,
    pub(crate) data: Vec<Data>,
    /// The address where execution starts.
    pub entry: u64,
    encoding: Encoding,
    /// For ELF files.
    pub process: Option<Process>,
}

/// The reason that a program is not loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// Too long.
    #[error("a program of {0} bytes; the longest is {IMAGE_LIMIT}")]
    TooLong(u64),
    /// No code.
    #[error("the program has no code")]
    Empty,
}

/// The content of an address.
pub(crate) enum Fetched {
    Insn(Insn),
    /// Bytes that are not an instruction.
    Illegal,
    /// No code at this address.
    Unmapped(u64),
}

impl Program {
    /// Reads a flat binary.
    ///
    /// # Errors
    /// If it is too long or empty.
    pub fn from_binary(bytes: &[u8], encoding: impl Into<Encoding>) -> Result<Self, LoadError> {
        let room = (DATA - TEXT) as usize;
        let (text, data) = bytes.split_at(bytes.len().min(room));
        let text = if data.is_empty() { text } else { trimmed(text) };
        let data = if data.is_empty() { Vec::new() } else { vec![(DATA, data.to_vec())] };
        Self::new(text.to_vec(), TEXT, data, None, encoding.into())
    }

    /// Takes an assembled program: its section `.text` is code, all else data. It starts at
    /// `_start`, or at the first marker.
    ///
    /// # Errors
    /// If it is too long or has no code.
    pub fn from_image(image: &Image, encoding: impl Into<Encoding>) -> Result<Self, LoadError> {
        let (mut first, mut end) = (u64::MAX, 0u64);
        let (code, data): (Vec<_>, Vec<_>) =
            image.segments.iter().partition(|s| s.section == ".text");
        for segment in &code {
            first = first.min(segment.address);
            end = end.max(segment.address.saturating_add(segment.bytes.len() as u64));
        }
        if first >= end {
            return Err(LoadError::Empty);
        }
        let length = usize::try_from(end - first).ok().filter(|&l| l <= IMAGE_LIMIT);
        let mut text = vec![0; length.ok_or(LoadError::TooLong(end - first))?];
        for segment in code {
            let at = (segment.address - first) as usize;
            text[at..at + segment.bytes.len()].copy_from_slice(&segment.bytes);
        }
        let data = data.into_iter().map(|s| (s.address, s.bytes.clone())).collect();
        let start = image.symbol("_start").map(|s| s.value);
        Self::new(text, first, data, start, encoding.into())
    }

    fn new(
        text: Vec<u8>,
        base: u64,
        data: Vec<(u64, Vec<u8>)>,
        start: Option<u64>,
        encoding: Encoding,
    ) -> Result<Self, LoadError> {
        let size = text.len() + data.iter().map(|(_, d)| d.len()).sum::<usize>();
        if size > IMAGE_LIMIT {
            return Err(LoadError::TooLong(size as u64));
        }
        if text.is_empty() {
            return Err(LoadError::Empty);
        }
        let data = data.into_iter().map(|(address, bytes)| {
            let size = bytes.len() as u64;
            Data { address, bytes, size, writable: true }
        });
        let (code, data) = (vec![Code::new(base, text)], data.collect());
        let mut program = Self { code, data, entry: base, encoding, process: None };
        program.entry = start.or_else(|| program.first_marker()).unwrap_or(base);
        Ok(program)
    }

    /// Takes the segments of a compiled program.
    pub(crate) fn from_segments(
        segments: Vec<Segment>,
        entry: u64,
        encoding: Encoding,
        process: Process,
    ) -> Self {
        let (mut code, mut data) = (Vec::new(), Vec::new());
        for segment in segments {
            if segment.executable {
                code.push(Code::new(segment.address, segment.bytes));
            } else {
                let Segment { address, bytes, size, writable, .. } = segment;
                data.push(Data { address, bytes, size, writable });
            }
        }
        code.sort_by_key(|c| c.base);
        Self { code, data, entry, encoding, process: Some(process) }
    }

    fn first_marker(&self) -> Option<u64> {
        let mut at = self.code.first()?.base;
        loop {
            match self.fetch(at) {
                Fetched::Insn(insn) if insn.starts_block() => return Some(at),
                Fetched::Insn(insn) => at += insn.length,
                Fetched::Illegal => at += 2,
                Fetched::Unmapped(_) => return None,
            }
        }
    }

    /// The range of code that holds an address, and the offset in it.
    fn range(&self, at: u64) -> Option<(&Code, usize)> {
        let next = self.code.partition_point(|c| c.base <= at);
        let code = self.code.get(next.checked_sub(1)?)?;
        let offset = usize::try_from(at - code.base).ok().filter(|&o| o < code.bytes.len())?;
        Some((code, offset))
    }

    /// The instruction at an address. A misaligned address has none. An instruction that the end
    /// of the code cuts is not mapped from there on.
    pub(crate) fn fetch(&self, at: u64) -> Fetched {
        let Some((code, offset)) = self.range(at) else { return Fetched::Unmapped(at) };
        if !at.is_multiple_of(2) {
            return Fetched::Illegal;
        }
        let Some(cell) = code.decoded.get(offset / 2) else { return Fetched::Unmapped(at) };
        let bytes = &code.bytes[offset..code.bytes.len().min(offset + 8)];
        match cell.get_or_init(|| Insn::decode(bytes, self.encoding).map(Box::new)) {
            Some(insn) => Fetched::Insn(**insn),
            None => {
                let end = code.base.wrapping_add(code.bytes.len() as u64);
                let needs = crate::insn::length(bytes);
                if end - at < needs { Fetched::Unmapped(end) } else { Fetched::Illegal }
            }
        }
    }

    /// Returns whether control may enter at an address.
    pub(crate) fn is_marker(&self, at: u64) -> bool {
        matches!(self.fetch(at), Fetched::Insn(insn) if insn.starts_block())
    }

    /// Returns how the program is encoded.
    #[must_use]
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Returns the conventions of the program.
    #[must_use]
    pub fn conventions(&self) -> Conventions {
        self.encoding.conventions
    }

    /// Numbers of tile operations in use.
    #[must_use]
    pub fn tile_ops(&self) -> TileOps {
        self.encoding.tile_ops
    }

    /// The function that an address lies in, with the distance from its start, in programs that
    /// have symbols.
    #[must_use]
    pub fn place(&self, address: u64) -> Option<String> {
        isa::elf::place(&self.process.as_ref()?.functions, address)
    }

    /// The text of the instruction at an address.
    #[must_use]
    pub fn text_at(&self, address: u64) -> Option<String> {
        let (code, offset) = self.range(address)?;
        let bytes = &code.bytes[offset..code.bytes.len().min(offset + 8)];
        let found = crate::table(self.encoding).decode_bytes(bytes).ok()?;
        Some(crate::dialect(self.encoding, false).print(found, address))
    }

    /// The ranges of code: addresses and bytes.
    pub fn code(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.code.iter().map(|c| (c.base, c.bytes.as_slice()))
    }
}

/// Without zeros at the end, but for those that may belong to the last instruction.
fn trimmed(bytes: &[u8]) -> &[u8] {
    let used = bytes.iter().rposition(|&b| b != 0).map_or(0, |last| last + 1);
    &bytes[..(used + 8).min(bytes.len())]
}

/// Returns the flat binary of an assembled program.
///
/// # Errors
/// Returns an error if code and data are not where a flat binary has them.
pub fn binary(image: &Image) -> Result<Vec<u8>, LoadError> {
    let end = image.segments.iter().map(|s| s.address.saturating_add(s.bytes.len() as u64)).max();
    let end = end.filter(|&end| end > TEXT).ok_or(LoadError::Empty)?;
    let length = usize::try_from(end - TEXT).ok().filter(|&l| l <= IMAGE_LIMIT);
    let mut out = vec![0; length.ok_or(LoadError::TooLong(end - TEXT))?];
    for segment in &image.segments {
        let at =
            segment.address.checked_sub(TEXT).ok_or(LoadError::TooLong(segment.address))? as usize;
        out[at..at + segment.bytes.len()].copy_from_slice(&segment.bytes);
    }
    Ok(out)
}
