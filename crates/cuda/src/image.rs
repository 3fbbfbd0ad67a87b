//! Code images: PTX, fat binaries, the output of this driver's linker, and what cannot run.

use runtime::{host_string, read_host, room_for_text};

use crate::host::Ptr;
use crate::status::{Outcome, Status};

/// The maximum size of a text in bytes.
const MAX_TEXT: usize = 256 << 20;
/// The beginning of images that this driver's linker makes: several texts, each after a line with
/// its length.
const LINKED: &str = "//simtlab-linked ";

/// A text with its name.
pub(crate) type Text = (String, String);

/// Reads an image of unknown length for a device of a compute capability.
pub(crate) fn read(at: Ptr, capability: (i32, i32)) -> Outcome<Vec<Text>> {
    let mut head = [0; 16];
    if at == 0 || read_host(at as u64, &mut head[..4]) < 4 {
        return Err(Status::INVALID_VALUE);
    }
    match head[..4] {
        [0x7f, b'E', b'L', b'F'] => return Err(Status::NO_BINARY_FOR_GPU),
        // A fat binary, or the wrapper that points to one.
        [0x50, 0xed, 0x55, 0xba] => return crate::fat::at(at as u64, capability),
        [0xb1, 0x43, 0x62, 0x46] => {
            return match read_host(at as u64, &mut head) {
                16 => crate::fat::at(u64::from_le_bytes(tail(&head)), capability),
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
        return crate::fat::bytes(bytes, capability);
    }
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    texts(&bytes[..end])
}

pub(crate) fn tail(head: &[u8; 16]) -> [u8; 8] {
    let mut out = [0; 8];
    out.copy_from_slice(&head[8..]);
    out
}

/// Splits an image of text into its texts.
pub(crate) fn texts(bytes: &[u8]) -> Outcome<Vec<Text>> {
    // Checked before any copy, because the front end aborts the process if an allocation fails.
    if !room_for_text(bytes.len()) {
        return Err(Status::OUT_OF_MEMORY);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| Status::INVALID_IMAGE)?;
    if text.trim().is_empty() {
        return Err(Status::INVALID_IMAGE);
    }
    if !text.starts_with(LINKED) {
        return Ok(vec![("ptx".to_owned(), text.to_owned())]);
    }
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(line) = rest.strip_prefix(LINKED) {
        let (head, body) = line.split_once('\n').ok_or(Status::INVALID_IMAGE)?;
        let (len, name) = head.split_once(' ').ok_or(Status::INVALID_IMAGE)?;
        let len: usize = len.parse().map_err(|_| Status::INVALID_IMAGE)?;
        let text = body.get(..len).ok_or(Status::INVALID_IMAGE)?;
        found.push((name.to_owned(), text.to_owned()));
        rest = &body[len..];
    }
    Ok(found)
}

/// Joins texts to one image.
pub(crate) fn link(texts: &[Text]) -> Vec<u8> {
    let mut image = String::new();
    for (name, text) in texts {
        let name = name.replace(['\n', '\r', '\0'], " ");
        image.push_str(&format!("{LINKED}{} {name}\n{text}", text.len()));
    }
    let mut bytes = image.into_bytes();
    bytes.push(0);
    bytes
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
