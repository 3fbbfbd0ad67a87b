//! Memory that processes of one user share: an anonymous file, which the others open by the
//! creator's process number and file descriptor, or by a descriptor that they were sent.
//!
//! A name says nothing about who wrote it, nor does a descriptor. Opening checks that the file is
//! one of these, with the token and the length that the name tells, before anything of it is used.

use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher as _, Hasher as _};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::fs::OpenOptionsExt as _;

use memmap2::MmapRaw;

use crate::{read_host, write_host};

/// Bytes before the content: the token, the mark, the note, then zeros up to a page.
const HEAD: usize = 4096;

/// What follows the token in files of this kind.
const MARK: [u8; 8] = *b"simt-shm";

/// The name of shared memory, which another process can open while its creator has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedName {
    /// The creator's process number.
    pub process: u32,
    /// Its file descriptor.
    pub descriptor: u32,
    /// Bytes of the content.
    pub len: u64,
    /// A number that no other memory has.
    pub token: [u64; 2],
}

/// Memory that other processes can map, too. It is accessed by [`read_host`] and [`write_host`].
#[derive(Debug)]
pub struct SharedMemory {
    /// Keeps the descriptor that the name tells.
    file: File,
    map: MmapRaw,
    name: SharedName,
}

impl SharedMemory {
    /// Creates zeroed memory. Returns `None` if the system has none.
    #[must_use]
    pub fn new(len: u64) -> Option<Self> {
        Self::with_note(len, 0)
    }

    /// Creates zeroed memory with a note, which tells those who open it what it is.
    #[must_use]
    pub fn with_note(len: u64, note: u64) -> Option<Self> {
        let file = anonymous()?;
        file.set_len(len.checked_add(HEAD as u64)?).ok()?;
        let random = || std::hash::RandomState::new().build_hasher().finish();
        let (process, descriptor) = (std::process::id(), file.as_raw_fd().cast_unsigned());
        let name = SharedName { process, descriptor, len, token: [random(), random()] };
        let map = MmapRaw::map_raw(&file).ok()?;
        let shared = Self { map, file, name };
        let mut head = [0; 32];
        head[..16].copy_from_slice(&token_bytes(name));
        head[16..24].copy_from_slice(&MARK);
        head[24..].copy_from_slice(&note.to_ne_bytes());
        (write_host(shared.head(), &head) == head.len()).then_some(shared)
    }

    /// Maps memory of another process, or of this one. Returns `None` if the name is not that of
    /// such memory.
    #[must_use]
    pub fn open(name: SharedName) -> Option<Self> {
        let path = format!("/proc/{}/fd/{}", name.process, name.descriptor);
        let whole = name.len.checked_add(HEAD as u64)?;
        let is_it = |m: std::fs::Metadata| m.is_file() && m.len() == whole;
        // Opening what is no file could have effects.
        std::fs::metadata(&path).ok().filter(|m| is_it(m.clone()))?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
        let file = options.open(&path).ok()?;
        file.metadata().ok().filter(|m| is_it(m.clone()))?;
        let map = MmapRaw::map_raw(&file).ok()?;
        let shared = Self { map, file, name };
        let mut token = [0; 16];
        let read = read_host(shared.head(), &mut token);
        (read == 16 && token == token_bytes(name)).then_some(shared)
    }

    /// Maps the memory of a file descriptor, and returns it with its note. The descriptor stays the
    /// caller's. Returns `None` if it is not that of such memory.
    #[must_use]
    pub fn adopt(descriptor: i32) -> Option<(Self, u64)> {
        // SAFETY: the call takes any number; one that is no descriptor is an error.
        let own = unsafe { libc::fcntl(descriptor, libc::F_DUPFD_CLOEXEC, 0) };
        if own < 0 {
            return None;
        }
        // SAFETY: the descriptor is new, and nobody else has it.
        let file = unsafe { File::from_raw_fd(own) };
        let metadata = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
        let len = metadata.len().checked_sub(HEAD as u64)?;
        let map = MmapRaw::map_raw(&file).ok()?;
        let (process, descriptor) = (std::process::id(), own.cast_unsigned());
        let name = SharedName { process, descriptor, len, token: [0; 2] };
        let mut shared = Self { map, file, name };
        let mut head = [0; 32];
        if read_host(shared.head(), &mut head) != head.len() || head[16..24] != MARK {
            return None;
        }
        let word = |at: usize| head[at..at + 8].try_into().map(u64::from_ne_bytes).ok();
        shared.name.token = [word(0)?, word(8)?];
        Some((shared, word(24)?))
    }

    /// Returns another descriptor of the memory, which a client can send to other processes.
    #[must_use]
    pub fn descriptor(&self) -> Option<OwnedFd> {
        self.file.try_clone().ok().map(OwnedFd::from)
    }

    /// The name by which others open it.
    #[must_use]
    pub fn name(&self) -> SharedName {
        self.name
    }

    /// The address of the first byte of the content in this process, the start of a page.
    #[must_use]
    pub fn address(&self) -> u64 {
        (self.map.as_ptr().expose_provenance() + HEAD) as u64
    }

    fn head(&self) -> u64 {
        self.address() - HEAD as u64
    }

    /// Bytes of the content.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.name.len
    }

    /// Returns whether there is no content.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.name.len == 0
    }
}

/// Creates a file without a name. Returns `None` on systems that have none.
fn anonymous() -> Option<File> {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: the name is a C string; the function has no other conditions.
        let descriptor = unsafe { libc::memfd_create(c"simtlab".as_ptr(), libc::MFD_CLOEXEC) };
        // SAFETY: a descriptor that is not negative is new, and nobody else has it.
        (descriptor >= 0).then(|| unsafe { File::from_raw_fd(descriptor) })
    }
    #[cfg(not(target_os = "linux"))]
    None
}

fn token_bytes(name: SharedName) -> [u8; 16] {
    let mut bytes = [0; 16];
    for (part, word) in bytes.chunks_exact_mut(8).zip(name.token) {
        part.copy_from_slice(&word.to_ne_bytes());
    }
    bytes
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn both_mappings_are_one_memory() {
        let first = SharedMemory::new(10_000).unwrap();
        let second = SharedMemory::open(first.name()).unwrap();
        assert_ne!(first.address(), second.address());
        assert_eq!(write_host(first.address() + 9_998, &[7, 8]), 2);
        let mut read = [1; 3];
        assert_eq!(read_host(second.address() + 9_997, &mut read), 3);
        assert_eq!(read, [0, 7, 8]);
        drop(first);
        assert_eq!(read_host(second.address() + 9_997, &mut read), 3);
        assert!(SharedMemory::open(second.name()).is_none());
    }

    #[test]
    fn a_descriptor_leads_to_the_same_memory_and_its_note() {
        let first = SharedMemory::with_note(5000, 77).unwrap();
        let sent = first.descriptor().unwrap();
        let (second, note) = SharedMemory::adopt(sent.as_raw_fd()).unwrap();
        drop(sent);
        assert_eq!((second.len(), note), (5000, 77));
        assert_eq!(second.name().token, first.name().token);
        assert_eq!(write_host(first.address() + 4999, &[9]), 1);
        let mut read = [0];
        assert_eq!(read_host(second.address() + 4999, &mut read), 1);
        assert_eq!(read, [9]);
    }

    #[test]
    fn descriptors_of_other_files_are_not_adopted() {
        let plain = anonymous().unwrap();
        assert!(SharedMemory::adopt(plain.as_raw_fd()).is_none());
        plain.set_len(3 * HEAD as u64).unwrap();
        assert!(SharedMemory::adopt(plain.as_raw_fd()).is_none());
        let program = File::open("/proc/self/exe").unwrap();
        assert!(SharedMemory::adopt(program.as_raw_fd()).is_none());
        let folder = File::open("/proc/self").unwrap();
        assert!(SharedMemory::adopt(folder.as_raw_fd()).is_none());
        assert!(SharedMemory::adopt(-1).is_none());
        assert!(SharedMemory::adopt(i32::MAX).is_none());
    }

    #[test]
    fn other_files_are_not_mapped() {
        let memory = SharedMemory::new(4096).unwrap();
        let name = memory.name();
        let file = File::open("/proc/self/exe").unwrap();
        let other = file.as_raw_fd().cast_unsigned();
        for wrong in [
            SharedName { len: 4095, ..name },
            SharedName { len: u64::MAX, ..name },
            SharedName { token: [name.token[0], !name.token[1]], ..name },
            SharedName { descriptor: other, ..name },
            SharedName { descriptor: u32::MAX, ..name },
            SharedName { process: u32::MAX, ..name },
        ] {
            assert!(SharedMemory::open(wrong).is_none(), "{wrong:?}");
        }
    }
}
