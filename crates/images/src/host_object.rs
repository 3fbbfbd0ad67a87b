//! Object files and libraries of the host, in whose sections compilers put fat binaries.

use object::read::archive::ArchiveFile;
use object::read::elf::ElfFile64;
use object::{Endianness, Object as _, ObjectSection as _};

/// Sections with fat binaries: as they run, and as they are to be linked.
const SECTIONS: [&str; 2] = [".nv_fatbin", "__nv_relfatbin"];

const ELF: &[u8] = b"\x7fELF";
const ARCHIVE: &[u8] = b"!<arch>\n";

/// The most files of a library that are looked at.
const MOST_MEMBERS: usize = 1 << 16;

/// The number of NVIDIA's devices in the header of an object file, and its place.
const DEVICE: ([u8; 2], std::ops::Range<usize>) = ([190, 0], 18..20);

/// Returns whether some bytes are an object file.
pub(super) fn is_object(bytes: &[u8]) -> bool {
    bytes.starts_with(ELF)
}

/// Returns whether an object file is for NVIDIA's devices.
pub(super) fn is_of_device(bytes: &[u8]) -> bool {
    bytes.get(DEVICE.1).is_some_and(|number| number == DEVICE.0)
}

/// Returns whether some bytes are a static library.
pub(super) fn is_library(bytes: &[u8]) -> bool {
    bytes.starts_with(ARCHIVE)
}

/// Returns the fat binaries of an object file or a library, in order; `None` for other files. An
/// object file of the device has none.
pub(super) fn fat_binaries(bytes: &[u8]) -> Option<Vec<&[u8]>> {
    if is_object(bytes) {
        return Some(of_object(bytes));
    }
    if !is_library(bytes) {
        return None;
    }
    let Ok(archive) = ArchiveFile::parse(bytes) else { return Some(Vec::new()) };
    let members = archive.members().take(MOST_MEMBERS).filter_map(Result::ok);
    Some(members.filter_map(|member| member.data(bytes).ok()).flat_map(of_object).collect())
}

fn of_object(bytes: &[u8]) -> Vec<&[u8]> {
    let Ok(file) = ElfFile64::<Endianness>::parse(bytes) else { return Vec::new() };
    let sections = file.sections().filter(|s| s.name().is_ok_and(|name| SECTIONS.contains(&name)));
    sections.filter_map(|section| section.data().ok()).flat_map(split).collect()
}

/// Splits a section into its fat binaries, between which there may be padding.
fn split(mut section: &[u8]) -> Vec<&[u8]> {
    let mut found = Vec::new();
    while let Some(start) = section.windows(4).step_by(8).position(|w| w == super::fat::MAGIC) {
        let rest = &section[8 * start..];
        let Some(len) = super::fat::total_len(rest).filter(|&len| len <= rest.len()) else { break };
        found.push(&rest[..len]);
        section = &rest[len.next_multiple_of(8).min(rest.len())..];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_files_have_no_binaries() {
        assert_eq!(fat_binaries(b"PTX"), None);
        assert_eq!(fat_binaries(b"\x7fELF\x02\x01"), Some(Vec::new()));
        assert_eq!(fat_binaries(b"!<arch>\nnonsense"), Some(Vec::new()));
        let huge = [&super::super::fat::MAGIC[..], &[0, 0, 16, 0], &[0xff; 8]].concat();
        assert!(split(&huge).is_empty());
        let empty = [&super::super::fat::MAGIC[..], &[0, 0, 16, 0], &[0; 8]].concat();
        let two = [&empty[..], &[0; 24], &empty].concat();
        assert_eq!(split(&two), [&empty[..], &empty]);
    }
}
