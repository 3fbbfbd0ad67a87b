//! Writes fat binaries: see `src/fat.rs` for their form.

/// An entry with PTX: architecture, flags, bytes of the text if it is compressed, content.
pub(crate) fn entry(arch: u32, flags: u64, unpacked: usize, content: &[u8]) -> Vec<u8> {
    let mut e = vec![0; 64];
    e[0] = 1;
    e[4] = 64;
    let padded = content.len().next_multiple_of(8);
    e[8..12].copy_from_slice(&(padded as u32).to_le_bytes());
    e[16..20].copy_from_slice(&(content.len() as u32).to_le_bytes());
    e[28..32].copy_from_slice(&arch.to_le_bytes());
    e[40..48].copy_from_slice(&flags.to_le_bytes());
    e[56..64].copy_from_slice(&(unpacked as u64).to_le_bytes());
    e.extend(content);
    e.resize(64 + padded, 0);
    e
}

/// A fat binary of these entries.
pub(crate) fn fat(entries: &[Vec<u8>]) -> Vec<u8> {
    let body = entries.concat();
    let mut fat = vec![0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0];
    fat.extend((body.len() as u64).to_le_bytes());
    fat.extend(body);
    fat
}

/// A Zstandard frame of one raw block of at most 255 bytes.
pub(crate) fn zstd(content: &[u8]) -> Vec<u8> {
    // Magic; one segment with a length of one byte; a last raw block.
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x20, content.len() as u8];
    frame.extend(&((content.len() as u32) << 3 | 1).to_le_bytes()[..3]);
    frame.extend(content);
    frame
}
