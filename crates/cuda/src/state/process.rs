//! What processes share: memory and events with handles of 64 bytes.

use std::hash::Hasher as _;
use std::os::fd::{AsRawFd as _, IntoRawFd as _};

use cuda_abi::host::{Ptr, put_i32};
use cuda_abi::{Outcome, Status};

pub(crate) use hostmem::SharedMemory;
pub(crate) use hostmem::SharedName;
use hostmem::{read_host, write_host};
use rustc_hash::FxHasher;

/// Bytes of a handle.
pub(crate) const HANDLE: usize = 64;

/// The type of handles that are file descriptors (`CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR`).
pub(crate) const FILE_DESCRIPTOR: i32 = 1;

/// What a handle names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SharedKind {
    Memory,
    Event,
    /// An allocation of a pool.
    Pointer,
}

impl SharedKind {
    /// The first bytes of handles.
    fn mark(self) -> [u8; 8] {
        match self {
            Self::Memory => *b"simt-mem",
            Self::Event => *b"simt-evt",
            Self::Pointer => *b"simt-ptr",
        }
    }
}

/// Returns the handle of shared memory of a kind, for memory of `len` bytes.
pub(crate) fn handle(kind: SharedKind, name: SharedName, len: u64) -> [u8; HANDLE] {
    handle_within(kind, name, len, 0)
}

/// The same for what belongs to something with a number.
pub(crate) fn handle_within(
    kind: SharedKind,
    name: SharedName,
    len: u64,
    owner: u64,
) -> [u8; HANDLE] {
    let ids = u64::from(name.process) | u64::from(name.descriptor) << 32;
    let mut handle = [0; HANDLE];
    handle[..8].copy_from_slice(&kind.mark());
    let words = [ids, name.len, name.token[0], name.token[1], len, owner];
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
    named_within(kind, handle, 0)
}

/// The same for what belongs to something with a number.
pub(crate) fn named_within(
    kind: SharedKind,
    handle: &[u8; HANDLE],
    owner: u64,
) -> Option<(SharedName, u64)> {
    let mut words = [0; 6];
    for (word, part) in words.iter_mut().zip(handle[8..].chunks_exact(8)) {
        *word = u64::from_le_bytes(part.try_into().ok()?);
    }
    let [ids, len, first, second, bytes, found] = words;
    let name = SharedName {
        process: ids as u32,
        descriptor: (ids >> 32) as u32,
        len,
        token: [first, second],
    };
    let (all, sum) = handle.split_at(HANDLE - 8);
    let is_one = handle[..8] == kind.mark() && found == owner && *sum == checksum(all);
    (is_one && bytes <= len).then_some((name, bytes))
}

/// What a file descriptor for other processes leads to, on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shareable {
    Physical,
    Pool,
}

impl Shareable {
    /// Creates its memory.
    pub(crate) fn create(self, len: u64, device: i32) -> Outcome<SharedMemory> {
        let note = (self as u64) << 32 | u64::from(device.cast_unsigned());
        SharedMemory::with_note(len, note).ok_or(Status::OUT_OF_MEMORY)
    }

    /// Opens the memory of a client's descriptor, and returns its device.
    pub(crate) fn open(self, descriptor: i32) -> Outcome<(SharedMemory, i32)> {
        let (memory, note) = SharedMemory::adopt(descriptor).ok_or(Status::INVALID_VALUE)?;
        let is_one = note >> 32 == self as u64;
        if is_one { Ok((memory, note as i32)) } else { Err(Status::INVALID_VALUE) }
    }
}

/// Writes a new file descriptor of shared memory, which is the client's.
pub(crate) fn put_descriptor(out: Ptr, memory: &SharedMemory) -> Outcome {
    let descriptor = memory.descriptor().ok_or(Status::OPERATING_SYSTEM)?;
    put_i32(out, descriptor.as_raw_fd())?;
    let _ = descriptor.into_raw_fd();
    Ok(())
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
