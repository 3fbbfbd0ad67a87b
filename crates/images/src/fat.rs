//! Fat binaries, in which `fatbinary` and `nvcc` wrap code for several architectures.
//!
//! Numbers are little-endian. A header (magic `ba55ed50`, 16-bit version, 16-bit length of the
//! header, 64-bit length of the rest) is followed by entries: 16-bit kind at offset 0 (1 is PTX, 8
//! is LTO-IR), 32-bit length of the entry's header at 4, 64-bit length of its content at 8, 32-bit
//! compressed length at 16, 32-bit architecture at 28 (80 is compute capability 8.0), 64-bit flags
//! at 40 (bit 13: LZ4, bit 15: Zstandard), 64-bit decompressed length at 56.

use std::io::Read as _;

use cuda_abi::{Outcome, Status};
use hostmem::{read_host, room_for_text};

use super::text::{Text, texts};

/// The maximum size of a fat binary in bytes.
const MAX_FAT: u64 = 1 << 30;
/// The maximum size of a decompressed text in bytes.
const MAX_TEXT: usize = 256 << 20;

pub(super) const MAGIC: [u8; 4] = [0x50, 0xed, 0x55, 0xba];
const PTX: u16 = 1;
const LTO_IR: u16 = 8;
const LZ4: u64 = 1 << 13;
const ZSTD: u64 = 1 << 15;

/// An entry.
struct Entry<'a> {
    kind: u16,
    arch: u32,
    flags: u64,
    /// The length of the content without padding; 0 if unknown.
    packed: usize,
    /// The length of the decompressed text; 0 if it is not compressed.
    unpacked: usize,
    content: &'a [u8],
}

/// Reads a fat binary at an address.
pub(super) fn at(address: u64, capability: (i32, i32)) -> Outcome<Vec<Text>> {
    let mut head = [0; 16];
    if read_host(address, &mut head) < 16 || head[..4] != MAGIC {
        return Err(Status::INVALID_IMAGE);
    }
    let total = total_len(&head).ok_or(Status::INVALID_IMAGE)?;
    let whole = read_client(address, total).ok_or(Status::INVALID_IMAGE)?;
    bytes(&whole, capability)
}

/// Returns a word of 8 bytes.
pub(super) fn word(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |word| u64::from_le_bytes(*word))
}

/// Returns the length of the fat binary at the beginning of some bytes, if its header is there.
pub(super) fn total_len(bytes: &[u8]) -> Option<usize> {
    let head = bytes.first_chunk::<16>()?;
    let header = u64::from(u16::from_le_bytes([head[6], head[7]]));
    usize::try_from(word(&head[8..]).checked_add(header).filter(|&t| t <= MAX_FAT)?).ok()
}

/// Reads the client's memory piece by piece, so that a wrong length fails at the first unreadable
/// piece instead of allocating the whole length. Returns `None` if a piece is unreadable.
#[must_use]
pub fn read_client(address: u64, len: usize) -> Option<Vec<u8>> {
    const PIECE: usize = 1 << 20;
    let mut out = Vec::new();
    while out.len() < len {
        let (start, end) = (out.len(), len.min(out.len() + PIECE));
        out.try_reserve(end - start).ok()?;
        out.resize(end, 0);
        if read_host(address.checked_add(start as u64)?, &mut out[start..]) < end - start {
            return None;
        }
    }
    Some(out)
}

/// Returns the PTX that suits a device best: the newest that is not newer than the device, else the
/// oldest.
pub(super) fn bytes(bytes: &[u8], (major, minor): (i32, i32)) -> Outcome<Vec<Text>> {
    let device = (major * 10 + minor) as u32;
    let mut found = entries(bytes).ok_or(Status::INVALID_IMAGE)?;
    found.retain(|e| e.kind == PTX);
    let suits = found.iter().filter(|e| e.arch <= device).max_by_key(|e| e.arch);
    let best = suits.or_else(|| found.iter().min_by_key(|e| e.arch));
    let entry = best.ok_or(Status::NO_BINARY_FOR_GPU)?;
    let longest =
        if entry.flags & (LZ4 | ZSTD) == 0 { entry.content.len() } else { entry.unpacked };
    if longest <= MAX_TEXT && !room_for_text(longest) {
        return Err(Status::OUT_OF_MEMORY);
    }
    let text = unpack(entry).ok_or(Status::INVALID_IMAGE)?;
    let end = text.iter().position(|&b| b == 0).unwrap_or(text.len());
    texts(&text[..end])
}

fn entries(bytes: &[u8]) -> Option<Vec<Entry<'_>>> {
    let word16 = |at: usize| Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let word32 = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let word64 = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    let mut found = Vec::new();
    let mut at = usize::from(word16(6)?);
    while at < bytes.len() {
        let (kind, header) = (word16(at)?, word32(at + 4)? as usize);
        let start = at.checked_add(header).filter(|&start| start > at)?;
        let end = start.checked_add(usize::try_from(word64(at + 8)?).ok()?)?;
        let content = bytes.get(start..end)?;
        let (arch, flags) = (word32(at + 28)?, word64(at + 40)?);
        let compressed = flags & (LZ4 | ZSTD) != 0;
        let packed = if compressed { word32(at + 16)? as usize } else { 0 };
        let unpacked = if compressed { usize::try_from(word64(at + 56)?).ok()? } else { 0 };
        found.push(Entry { kind, arch, flags, packed, unpacked, content });
        at = end;
    }
    Some(found)
}

/// Returns whether a fat binary holds LTO-IR.
pub(super) fn has_lto_ir(bytes: &[u8]) -> bool {
    entries(bytes).is_some_and(|found| found.iter().any(|e| e.kind == LTO_IR))
}

/// Returns the text of an entry, or `None` if it is damaged or too long.
fn unpack(entry: &Entry<'_>) -> Option<Vec<u8>> {
    if entry.flags & (LZ4 | ZSTD) == 0 {
        return Some(entry.content.to_vec());
    }
    if entry.unpacked > MAX_TEXT {
        return None;
    }
    let packed = match entry.packed {
        0 => entry.content,
        len => entry.content.get(..len)?,
    };
    let mut text = Vec::new();
    text.try_reserve_exact(entry.unpacked).ok()?;
    if entry.flags & LZ4 != 0 {
        text.resize(entry.unpacked, 0);
        let len = lz4_flex::block::decompress_into(packed, &mut text).ok()?;
        text.truncate(len);
        return Some(text);
    }
    let decoder = ruzstd::decoding::StreamingDecoder::new(packed).ok()?;
    decoder.take(entry.unpacked as u64).read_to_end(&mut text).ok()?;
    (text.len() == entry.unpacked).then_some(text)
}

/// Returns the texts of a fat binary for a device of a compute capability; for fuzzing. No input
/// may panic.
#[doc(hidden)]
#[must_use]
pub fn fat_binary_texts(image: &[u8], capability: (i32, i32)) -> Option<Vec<(String, String)>> {
    bytes(image, capability).ok()
}

#[cfg(test)]
#[path = "../tests/common/writer.rs"]
pub(super) mod writer;

#[cfg(test)]
mod tests {
    use super::writer::{entry, fat, zstd};
    use super::*;

    fn text(text: &str) -> Outcome<Vec<Text>> {
        Ok(vec![("ptx".to_owned(), text.to_owned())])
    }

    #[test]
    fn the_text_that_suits_the_device_is_chosen() {
        let fat = fat(&[
            entry(70, 0, 0, b"old\0"),
            entry(80, 0, 0, b"new\0"),
            entry(90, 0, 0, b"newest\0"),
        ]);
        assert_eq!(at(fat.as_ptr().addr() as u64, (8, 0)), text("new"));
        assert_eq!(bytes(&fat, (8, 9)), text("new"));
        assert_eq!(bytes(&fat, (7, 5)), text("old"));
        assert_eq!(bytes(&fat, (12, 0)), text("newest"));
        assert_eq!(bytes(&fat, (5, 0)), text("old"));
    }

    #[test]
    fn compressed_texts_are_unpacked() {
        let long = "ld.global ".repeat(50);
        let packed = lz4_flex::block::compress(long.as_bytes());
        assert_eq!(bytes(&fat(&[entry(80, LZ4, long.len(), &packed)]), (8, 0)), text(&long));
        let short = "a text of PTX";
        let packed = zstd(short.as_bytes());
        assert_eq!(bytes(&fat(&[entry(80, ZSTD, short.len(), &packed)]), (8, 0)), text(short));
    }

    #[test]
    fn damaged_fat_binaries_return_a_status() {
        let invalid = Err(Status::INVALID_IMAGE);
        let packed = lz4_flex::block::compress(b"some text, some text, some text");
        // Wrong lengths, and huge ones.
        for (flags, unpacked) in [(LZ4, 3), (LZ4, usize::MAX), (ZSTD, 40), (ZSTD, 1 << 40)] {
            assert_eq!(bytes(&fat(&[entry(80, flags, unpacked, &packed)]), (8, 0)), invalid);
        }
        let good = fat(&[entry(80, LZ4, 31, &packed), entry(80, ZSTD, 4, &zstd(b"text"))]);
        // Any changed byte and any truncation yields a result.
        for i in 0..good.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut bad = good.clone();
                bad[i] = value;
                let _ = bytes(&bad, (8, 0));
            }
            let _ = bytes(&good[..i], (8, 0));
        }
        // A header whose length exceeds memory.
        let mut endless = good;
        endless[8..16].copy_from_slice(&(1_u64 << 29).to_le_bytes());
        assert_eq!(at(endless.as_ptr().addr() as u64, (8, 0)), invalid);
    }
}
