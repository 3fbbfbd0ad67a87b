//! Loaded programs: code, decoded once where it is reached, and data.
//!
//! Code is immutable: what a program stores over its text is not fetched. A flat binary is code
//! from [`TEXT`], zeros up to [`DATA`] and data from there on.

use std::sync::OnceLock;

use isa::asm::Image;

use crate::insn::Insn;
use crate::names::TileOps;
use crate::{DATA, TEXT};

/// The longest binary.
const IMAGE_LIMIT: usize = 16 << 20;

/// A loaded program.
#[derive(Debug)]
pub struct Program {
    pub(crate) text: Vec<u8>,
    /// The address where `text` starts.
    pub(crate) base: u64,
    /// Address and bytes.
    pub(crate) data: Vec<(u64, Vec<u8>)>,
    /// The address where execution starts.
    pub entry: u64,
    tile_ops: TileOps,
    decoded: Vec<OnceLock<Option<Insn>>>,
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
    /// No code.
    Unmapped,
}

impl Program {
    /// Reads a flat binary.
    ///
    /// # Errors
    /// If it is too long or empty.
    pub fn from_binary(bytes: &[u8], tile_ops: TileOps) -> Result<Self, LoadError> {
        let room = (DATA - TEXT) as usize;
        let (text, data) = bytes.split_at(bytes.len().min(room));
        let text = if data.is_empty() { text } else { trimmed(text) };
        let data = if data.is_empty() { Vec::new() } else { vec![(DATA, data.to_vec())] };
        Self::new(text.to_vec(), TEXT, data, None, tile_ops)
    }

    /// Takes an assembled program: its section `.text` is code, all else data. It starts at
    /// `_start`, or at the first marker.
    ///
    /// # Errors
    /// If it is too long or has no code.
    pub fn from_image(image: &Image, tile_ops: TileOps) -> Result<Self, LoadError> {
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
        Self::new(text, first, data, start, tile_ops)
    }

    fn new(
        text: Vec<u8>,
        base: u64,
        data: Vec<(u64, Vec<u8>)>,
        start: Option<u64>,
        tile_ops: TileOps,
    ) -> Result<Self, LoadError> {
        let size = text.len() + data.iter().map(|(_, d)| d.len()).sum::<usize>();
        if size > IMAGE_LIMIT {
            return Err(LoadError::TooLong(size as u64));
        }
        if text.is_empty() {
            return Err(LoadError::Empty);
        }
        let decoded = (0..text.len().div_ceil(2)).map(|_| OnceLock::new()).collect();
        let mut program = Self { text, base, data, entry: base, tile_ops, decoded };
        program.entry = start.or_else(|| program.first_marker()).unwrap_or(base);
        Ok(program)
    }

    fn first_marker(&self) -> Option<u64> {
        let mut at = self.base;
        loop {
            match self.fetch(at) {
                Fetched::Insn(insn) if insn.starts_block() => return Some(at),
                Fetched::Insn(insn) => at += insn.length,
                Fetched::Illegal => at += 2,
                Fetched::Unmapped => return None,
            }
        }
    }

    /// The instruction at an address. A misaligned address has none.
    pub(crate) fn fetch(&self, at: u64) -> Fetched {
        let offset = at.checked_sub(self.base).and_then(|o| usize::try_from(o).ok());
        let Some(offset) = offset.filter(|&o| o < self.text.len()) else {
            return Fetched::Unmapped;
        };
        if !at.is_multiple_of(2) {
            return Fetched::Illegal;
        }
        let Some(cell) = self.decoded.get(offset / 2) else { return Fetched::Unmapped };
        let decode = || {
            let bytes = &self.text[offset..self.text.len().min(offset + 8)];
            Insn::decode(bytes, self.tile_ops)
        };
        cell.get_or_init(decode).map_or(Fetched::Illegal, Fetched::Insn)
    }

    /// Returns whether control may enter at an address.
    pub(crate) fn is_marker(&self, at: u64) -> bool {
        matches!(self.fetch(at), Fetched::Insn(insn) if insn.starts_block())
    }

    /// Numbers of tile operations in use.
    #[must_use]
    pub fn tile_ops(&self) -> TileOps {
        self.tile_ops
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
