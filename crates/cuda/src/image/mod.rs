//! Code images: PTX, fat binaries, the output of this driver's linker, and what cannot run.

mod fat;
mod text;

use cuda_abi::host::Ptr;
use cuda_abi::{Outcome, Status};
use runtime::{host_string, read_host};

pub use fat::fat_binary_texts;
use text::texts;
pub(crate) use text::{Text, link};

/// The maximum size of a text in bytes.
const MAX_TEXT: usize = 256 << 20;

/// Reads an image of unknown length for a device of a compute capability.
pub(crate) fn read(at: Ptr, capability: (i32, i32)) -> Outcome<Vec<Text>> {
    let mut head = [0; 16];
    if at == 0 || read_host(at as u64, &mut head[..4]) < 4 {
        return Err(Status::INVALID_VALUE);
    }
    match head[..4] {
        [0x7f, b'E', b'L', b'F'] => return Err(Status::NO_BINARY_FOR_GPU),
        // A fat binary, or the wrapper that points to one.
        [0x50, 0xed, 0x55, 0xba] => return fat::at(at as u64, capability),
        [0xb1, 0x43, 0x62, 0x46] => {
            return match read_host(at as u64, &mut head) {
                16 => fat::at(fat::second_word(&head), capability),
                _ => Err(Status::INVALID_IMAGE),
            };
        }
        _ => {}
    }
    let bytes = host_string(at as u64, MAX_TEXT).ok_or(Status::INVALID_IMAGE)?;
    texts(&bytes)
}

/// Reads an image of a known length.
pub(crate) fn from_bytes(bytes: &[u8], capability: (i32, i32)) -> Outcome<Vec<Text>> {
    if bytes.starts_with(b"\x7fELF") {
        return Err(Status::NO_BINARY_FOR_GPU);
    }
    if bytes.starts_with(&[0x50, 0xed, 0x55, 0xba]) {
        return fat::bytes(bytes, capability);
    }
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    texts(&bytes[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linked_texts_are_split_again() {
        let given =
            [("a".to_owned(), "text of a\n".to_owned()), ("b c".to_owned(), "ü".to_owned())];
        let image = link(&given);
        assert_eq!(read(image.as_ptr().addr(), (8, 0)), Ok(given.to_vec()));
        assert_eq!(from_bytes(&image, (8, 0)), Ok(given.to_vec()));
        assert_eq!(
            from_bytes(b"//simtlab-linked 999 a\nshort", (8, 0)),
            Err(Status::INVALID_IMAGE)
        );
    }

    #[test]
    fn images_without_text_are_recognised() {
        assert_eq!(from_bytes(b"\x7fELF\x02\x01", (8, 0)), Err(Status::NO_BINARY_FOR_GPU));
        assert_eq!(from_bytes(b"\xff\xfe\xfd", (8, 0)), Err(Status::INVALID_IMAGE));
        assert_eq!(from_bytes(b"", (8, 0)), Err(Status::INVALID_IMAGE));
        assert_eq!(read(0, (8, 0)), Err(Status::INVALID_VALUE));
        assert_eq!(read(64, (8, 0)), Err(Status::INVALID_VALUE));
        let cut = [0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0, 255, 255, 255, 255, 255, 0, 0, 0];
        assert_eq!(read(cut.as_ptr().addr(), (8, 0)), Err(Status::INVALID_IMAGE));
        assert_eq!(from_bytes(&cut, (8, 0)), Err(Status::NO_BINARY_FOR_GPU));
        assert_eq!(from_bytes(&cut[..5], (8, 0)), Err(Status::INVALID_IMAGE));
    }
}
