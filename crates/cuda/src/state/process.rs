//! What processes share: memory and events with handles of 64 bytes.

use std::hash::Hasher as _;

pub(crate) use hostmem::SharedMemory;
use hostmem::{SharedName, read_host, write_host};
use rustc_hash::FxHasher;

/// Bytes of a handle.
pub(crate) const HANDLE: usize = 64;

/// What a handle names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SharedKind {
    Memory,
    Event,
}

impl SharedKind {
    /// The first bytes of handles.
    fn mark(self) -> [u8; 8] {
        match self {
            Self::Memory => *b"simt-mem",
            Self::Event => *b"simt-evt",
        }
    }
}

/// Returns the handle of shared memory of a kind, for memory of `len` bytes.
pub(crate) fn handle(kind: SharedKind, name: SharedName, len: u64) -> [u8; HANDLE] {
    let ids = u64::from(name.process) | u64::from(name.descriptor) << 32;
    let mut handle = [0; HANDLE];
    handle[..8].copy_from_slice(&kind.mark());
    let words = [ids, name.len, name.token[0], name.token[1], len];
    for (part, word) in handle[8..].chunks_exact_mut(8).zip(words) {
        part.copy_from_slice(&word.to_le_bytes());
    }
    let (bytes, sum) = handle.split_at_mut(HANDLE - 8);
    sum.copy_from_slice(&checksum(bytes));
    handle
}

/// Returns the last bytes of a handle, by which one that was changed on its way is known.
fn checksum(bytes: &[u8]) -> [u8; 8] {
    let mut hasher = FxHasher::default();
    hasher.write(bytes);
    hasher.finish().to_le_bytes()
}

/// Returns the shared memory that a handle of a kind names, and the bytes of what is shared.
pub(crate) fn named(kind: SharedKind, handle: &[u8; HANDLE]) -> Option<(SharedName, u64)> {
    let mut words = [0; 6];
    for (word, part) in words.iter_mut().zip(handle[8..].chunks_exact(8)) {
        *word = u64::from_le_bytes(part.try_into().ok()?);
    }
    let [ids, len, first, second, bytes, rest] = words;
    let name = SharedName {
        process: ids as u32,
        descriptor: (ids >> 32) as u32,
        len,
        token: [first, second],
    };
    let (all, sum) = handle.split_at(HANDLE - 8);
    let is_one = handle[..8] == kind.mark() && rest == 0 && *sum == checksum(all);
    (is_one && bytes <= len).then_some((name, bytes))
}

/// The records of an event, counted by all processes together: how many were asked for, and the
/// last one that was done.
#[derive(Debug)]
pub(crate) struct SharedCounts(SharedMemory);

impl SharedCounts {
    /// Bytes of the two counts.
    pub(crate) const LEN: u64 = 16;

    pub(crate) fn new(memory: SharedMemory) -> Self {
        Self(memory)
    }

    pub(crate) fn name(&self) -> SharedName {
        self.0.name()
    }

    /// The counts; zeros if another process has cut the memory off.
    pub(crate) fn counts(&self) -> [u64; 2] {
        let mut bytes = [0; 16];
        let _ = read_host(self.0.address(), &mut bytes);
        let (first, second) = bytes.split_at(8);
        [first, second].map(|word| word.try_into().map_or(0, u64::from_ne_bytes))
    }

    /// Sets a count.
    pub(crate) fn set(&self, index: u64, count: u64) {
        let _ = write_host(self.0.address() + 8 * index, &count.to_ne_bytes());
    }
}
