//! The file format of requests and records: a JSON index and raw bytes.
//!
//! ```text
//! 8 bytes    the kind of file: `SLREQST1` or `SLRECRD1`
//! u32        version of the format
//! u32        n, the number of blocks of raw bytes
//! u64        bytes of the index
//! u64 * n    bytes of each block
//! index      JSON
//! blocks     one behind the other
//! u64        FNV-1a hash of everything before
//! ```
//!
//! Integers are little-endian. Nothing is allocated from a length in the file: all lengths are held
//! against the bytes that exist.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::hash::Hash;

/// The version that this crate writes, and the only one that it reads.
pub const VERSION: u32 = 1;

/// Bytes before the table of lengths.
const HEAD: usize = 24;

/// Kinds of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// What a device is asked to run.
    Request,
    /// What a device has given back.
    Record,
}

impl FileKind {
    const fn magic(self) -> &'static [u8; 8] {
        match self {
            Self::Request => b"SLREQST1",
            Self::Record => b"SLRECRD1",
        }
    }
}

/// Why bytes are not a bundle.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BundleError {
    /// Another kind of file.
    #[error("it is not a file of this kind")]
    Kind,
    /// Another version of the format.
    #[error("it has version {found} of the format; this program reads version {VERSION}")]
    Version {
        /// The version in the file.
        found: u32,
    },
    /// The file ends early, or lengths in it are wrong.
    #[error("it is cut short or damaged: {needed} bytes are needed, there are {got}")]
    Length {
        /// Bytes that the lengths in the file ask for.
        needed: u64,
        /// Bytes that there are.
        got: u64,
    },
    /// The bytes are not those that were written.
    #[error("it is damaged: the checksum is wrong")]
    Checksum,
    /// The index is not what it has to be.
    #[error("its index cannot be read: {0}")]
    Index(String),
}

/// The bytes of a bundle.
///
/// # Errors
/// If the index cannot be written as JSON.
pub fn write(
    kind: FileKind,
    index: &impl Serialize,
    blocks: &[&[u8]],
) -> Result<Vec<u8>, BundleError> {
    let index = serde_json::to_vec(index).map_err(|e| BundleError::Index(e.to_string()))?;
    let mut out = kind.magic().to_vec();
    out.extend(VERSION.to_le_bytes());
    out.extend((blocks.len() as u32).to_le_bytes());
    out.extend((index.len() as u64).to_le_bytes());
    for block in blocks {
        out.extend((block.len() as u64).to_le_bytes());
    }
    out.extend(index);
    for block in blocks {
        out.extend_from_slice(block);
    }
    let mut hash = Hash::new();
    hash.add(&out);
    out.extend(hash.value().to_le_bytes());
    Ok(out)
}

/// Reads a bundle: its index and its blocks.
///
/// # Errors
/// If it is none, is damaged, or has another version.
pub fn read<T: DeserializeOwned>(
    kind: FileKind,
    bytes: &[u8],
) -> Result<(T, Vec<&[u8]>), BundleError> {
    let got = bytes.len() as u64;
    let short = |needed: u64| BundleError::Length { needed, got };
    if bytes.get(..8) != Some(kind.magic().as_slice()) {
        return Err(BundleError::Kind);
    }
    let head = bytes.get(8..HEAD).ok_or(short(HEAD as u64))?;
    let version = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
    if version != VERSION {
        return Err(BundleError::Version { found: version });
    }
    let count = u32::from_le_bytes([head[4], head[5], head[6], head[7]]) as usize;
    let table = bytes.get(8 + 8..).map_or(0, |rest| rest.len() / 8);
    if count >= table {
        return Err(short((HEAD as u64).saturating_add(8 * count as u64)));
    }
    // The length of the index, then those of the blocks.
    let lengths: Vec<u64> = bytes[16..16 + 8 * (count + 1)]
        .chunks_exact(8)
        .map(|word| word.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
        .collect();
    let start = 16 + 8 * (count + 1);
    let sum = lengths.iter().fold(start as u64 + 8, |sum, &length| sum.saturating_add(length));
    if sum != got {
        return Err(short(sum));
    }
    let end = bytes.len() - 8;
    let mut hash = Hash::new();
    hash.add(&bytes[..end]);
    if bytes[end..] != hash.value().to_le_bytes() {
        return Err(BundleError::Checksum);
    }
    let mut at = start;
    let mut parts = lengths.iter().map(|&length| {
        // The sum of all lengths is the number of bytes, so each fits.
        let from = at;
        at += length as usize;
        &bytes[from..at]
    });
    let index = parts.next().unwrap_or_default();
    let blocks = parts.collect();
    let index = serde_json::from_slice(index).map_err(|e| BundleError::Index(e.to_string()))?;
    Ok((index, blocks))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let bytes = write(FileKind::Record, &[1, 2], &[b"one", b"", b"three"]).unwrap();
        let (index, blocks): (Vec<u32>, _) = read(FileKind::Record, &bytes).unwrap();
        assert_eq!((index, blocks), (vec![1, 2], vec![&b"one"[..], b"", b"three"]));
        assert_eq!(read::<Vec<u32>>(FileKind::Request, &bytes), Err(BundleError::Kind));
    }

    #[test]
    fn damage_is_found() {
        let bytes = write(FileKind::Record, &"index", &[b"block"]).unwrap();
        for length in 0..bytes.len() {
            assert!(read::<String>(FileKind::Record, &bytes[..length]).is_err(), "{length}");
        }
        for at in 0..bytes.len() {
            let mut other = bytes.clone();
            other[at] ^= 0x10;
            assert!(read::<String>(FileKind::Record, &other).is_err(), "{at}");
        }
        let mut newer = bytes.clone();
        newer[8] = 2;
        assert_eq!(
            read::<String>(FileKind::Record, &newer),
            Err(BundleError::Version { found: 2 })
        );
        // Lengths beyond all reason.
        let mut huge = bytes;
        huge[12..16].fill(0xff);
        assert!(matches!(read::<String>(FileKind::Record, &huge), Err(BundleError::Length { .. })));
    }
}
