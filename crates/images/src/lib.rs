//! Images of device code: PTX, fat binaries, what linkers of this project make, objects and
//! libraries of the host with device code, and what cannot run.
//!
//! Whatever loads or links device code reads it here, so that all of it takes the same images.

mod fat;
mod form;
mod host_object;
mod text;

use cuda_abi::host::Ptr;
use cuda_abi::{Outcome, Status};
use hostmem::{host_string, read_host};
use modules::is_device_runtime;

pub use fat::{fat_binary_texts, read_client};
pub use form::{Form, form, has_device_code, has_lto_ir};
use text::texts;
pub use text::{Text, link};

/// The maximum size of a text in bytes.
const MAX_TEXT: usize = 256 << 20;

/// Reads an image of unknown length for a device of a compute capability.
///
/// # Errors
/// `INVALID_VALUE` if nothing can be read at the address, `NO_BINARY_FOR_GPU` if the image holds no
/// PTX, `OUT_OF_MEMORY` if there is no room for its text, else `INVALID_IMAGE`.
pub fn read(at: Ptr, capability: (i32, i32)) -> Outcome<Vec<Text>> {
    let mut head = [0; 16];
    if at == 0 || read_host(at as u64, &mut head[..4]) < 4 {
        return Err(Status::INVALID_VALUE);
    }
    match head[..4] {
        [0x7f, b'E', b'L', b'F'] => return Err(Status::NO_BINARY_FOR_GPU),
        // A fat binary, or the wrapper that points to one, or to several that are to be linked.
        [0x50, 0xed, 0x55, 0xba] => return fat::at(at as u64, capability),
        [0xb1, 0x43, 0x62, 0x46] => return wrapped(at as u64, capability),
        _ => {}
    }
    let bytes = host_string(at as u64, MAX_TEXT).ok_or(Status::INVALID_IMAGE)?;
    texts(&bytes)
}

/// The version of a wrapper (`fatbinary_section.h`) whose code was linked: a list of the fat
/// binaries from which it was linked stands beside it.
const LINKED_VERSION: u32 = 2;

/// The maximum number of fat binaries that are linked.
const MOST_LINKED: usize = 1 << 16;

/// Reads what a wrapper points to: 32-bit magic and version, the address of a fat binary, and that
/// of a list of addresses that ends with null.
fn wrapped(at: u64, capability: (i32, i32)) -> Outcome<Vec<Text>> {
    let mut wrapper = [0; 24];
    if read_host(at, &mut wrapper) < 24 {
        return Err(Status::INVALID_IMAGE);
    }
    let version = u32::from_le_bytes([wrapper[4], wrapper[5], wrapper[6], wrapper[7]]);
    let word = |at: usize| fat::word(&wrapper[at..at + 8]);
    if version != LINKED_VERSION {
        return fat::at(word(8), capability);
    }
    let mut texts = Vec::new();
    for i in 0..MOST_LINKED {
        let mut address = [0; 8];
        let place = word(16).checked_add(8 * i as u64).ok_or(Status::INVALID_IMAGE)?;
        if read_host(place, &mut address) < 8 {
            return Err(Status::INVALID_IMAGE);
        }
        match fat::word(&address) {
            0 => return relocatable(texts),
            address => add_relocatable(&mut texts, fat::at(address, capability))?,
        }
    }
    Err(Status::INVALID_IMAGE)
}

/// Adds texts that are to be linked. What holds machine code alone takes no part: the link names
/// what is missing then. NVIDIA's device runtime is replaced by ours.
fn add_relocatable(texts: &mut Vec<Text>, found: Outcome<Vec<Text>>) -> Outcome {
    match found {
        Ok(found) => {
            texts.extend(found.into_iter().filter(|(_, text)| !is_device_runtime(text)));
            Ok(())
        }
        Err(Status::NO_BINARY_FOR_GPU) => Ok(()),
        Err(status) => Err(status),
    }
}

/// Names texts that are to be linked by their numbers.
fn relocatable(mut texts: Vec<Text>) -> Outcome<Vec<Text>> {
    if texts.is_empty() {
        return Err(Status::NO_BINARY_FOR_GPU);
    }
    if texts.len() > 1 {
        texts.iter_mut().zip(1..).for_each(|((name, _), i)| *name = format!("ptx {i}"));
    }
    Ok(texts)
}

/// Reads an image of a known length.
///
/// # Errors
/// As [`read`].
pub fn from_bytes(bytes: &[u8], capability: (i32, i32)) -> Outcome<Vec<Text>> {
    if let Some(binaries) = host_object::fat_binaries(bytes) {
        let mut texts = Vec::new();
        for binary in binaries {
            add_relocatable(&mut texts, fat::bytes(binary, capability))?;
        }
        return relocatable(texts);
    }
    if bytes.starts_with(&[0x50, 0xed, 0x55, 0xba]) {
        return fat::bytes(bytes, capability);
    }
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    texts(&bytes[..end])
}

#[cfg(test)]
mod tests {
    use super::fat::writer::{entry, fat};
    use super::*;

    /// A wrapper of a version, with the address of a fat binary and of a list.
    fn wrapper(version: u32, code: &[u8], list: &[usize]) -> Vec<u8> {
        let mut bytes = vec![0xb1, 0x43, 0x62, 0x46];
        bytes.extend(version.to_le_bytes());
        bytes.extend((code.as_ptr().addr() as u64).to_le_bytes());
        bytes.extend((list.as_ptr().addr() as u64).to_le_bytes());
        bytes
    }

    #[test]
    fn the_texts_from_which_an_image_was_linked_are_read() {
        let runtime = b".visible .func (.param .b32 r) __cudaCDP2LaunchDeviceV2(\n) {}";
        let binaries = [
            fat(&[entry(80, 0, 0, b"first\0")]),
            fat(&[entry(121, 0, 0, runtime)]),
            fat(&[]),
            fat(&[entry(70, 0, 0, b"old\0"), entry(80, 0, 0, b"second\0")]),
        ];
        let mut list: Vec<usize> = binaries.iter().map(|b| b.as_ptr().addr()).collect();
        list.push(0);
        let code = fat(&[entry(80, 0, 0, b"not this\0")]);
        let text = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        let image = wrapper(2, &code, &list);
        let read_at = |image: &[u8]| read(image.as_ptr().addr(), (8, 0));
        assert_eq!(read_at(&image), Ok(vec![text("ptx 1", "first"), text("ptx 2", "second")]));
        let image = wrapper(1, &code, &list);
        assert_eq!(read_at(&image), Ok(vec![text("ptx", "not this")]));
        // Machine code alone, a list that is not there, and one that does not hold what it should.
        let list_of_one = [binaries[2].as_ptr().addr(), 0];
        let image = wrapper(2, &code, &list_of_one);
        assert_eq!(read_at(&image), Err(Status::NO_BINARY_FOR_GPU));
        let mut image = wrapper(2, &code, &list);
        image[16..24].copy_from_slice(&64_u64.to_le_bytes());
        assert_eq!(read_at(&image), Err(Status::INVALID_IMAGE));
        let wrong = [image.as_ptr().addr(), 0];
        let image = wrapper(2, &code, &wrong);
        assert_eq!(read_at(&image), Err(Status::INVALID_IMAGE));
    }

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
