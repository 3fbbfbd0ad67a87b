//! What clients give as code: PTX, what the linker here has made, and what cannot run.

use runtime::{host_string, read_host};

use crate::host::Ptr;
use crate::status::{Outcome, Status};

/// Longest text, in bytes.
const MAX_TEXT: usize = 256 << 20;
/// Most bytes of a fat binary.
const MAX_FAT: u64 = 1 << 30;

/// How images begin that this driver's linker has made: several texts in one, each after a line with its length.
const LINKED: &str = "//simtlab-linked ";

/// A text with its name.
pub(crate) type Text = (String, String);

/// Reads an image at an address, of whose length the client says nothing.
pub(crate) fn read(at: Ptr) -> Outcome<Vec<Text>> {
    let mut head = [0; 16];
    if at == 0 || read_host(at as u64, &mut head[..4]) < 4 {
        return Err(Status::INVALID_VALUE);
    }
    match head[..4] {
        [0x7f, b'E', b'L', b'F'] => return Err(Status::NO_BINARY_FOR_GPU),
        // A fat binary, or its wrapper that says where it is.
        [0x50, 0xed, 0x55, 0xba] => return fat(at as u64),
        [0xb1, 0x43, 0x62, 0x46] => {
            return match read_host(at as u64, &mut head) {
                16 => fat(u64::from_le_bytes(tail(&head))),
                _ => Err(Status::INVALID_IMAGE),
            };
        }
        _ => {}
    }
    let bytes = host_string(at as u64, MAX_TEXT).ok_or(Status::INVALID_IMAGE)?;
    texts(&bytes)
}

/// Reads an image of a known length.
pub(crate) fn from_bytes(bytes: &[u8]) -> Outcome<Vec<Text>> {
    if bytes.starts_with(b"\x7fELF") {
        return Err(Status::NO_BINARY_FOR_GPU);
    }
    if bytes.starts_with(&[0x50, 0xed, 0x55, 0xba]) {
        return fat_bytes(bytes);
    }
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    texts(&bytes[..end])
}

fn tail(head: &[u8; 16]) -> [u8; 8] {
    let mut out = [0; 8];
    out.copy_from_slice(&head[8..]);
    out
}

/// The texts of an image that is text.
fn texts(bytes: &[u8]) -> Outcome<Vec<Text>> {
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

/// Puts texts into one image.
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

/// Reads a fat binary at an address.
fn fat(at: u64) -> Outcome<Vec<Text>> {
    let mut head = [0; 16];
    if read_host(at, &mut head) < 16 || head[..4] != [0x50, 0xed, 0x55, 0xba] {
        return Err(Status::INVALID_IMAGE);
    }
    let header = u64::from(u16::from_le_bytes([head[6], head[7]]));
    let len = u64::from_le_bytes(tail(&head));
    let total = len.checked_add(header).filter(|&t| t <= MAX_FAT).ok_or(Status::INVALID_IMAGE)?;
    let mut bytes = vec![0; total as usize];
    if read_host(at, &mut bytes) < bytes.len() {
        return Err(Status::INVALID_IMAGE);
    }
    fat_bytes(&bytes)
}

/// The newest PTX of a fat binary. Entries: kind (1 is PTX), length of header and of content at 4 and 8, architecture at 28,
/// flags at 40 (0x2000 and 0x8000: compressed).
fn fat_bytes(bytes: &[u8]) -> Outcome<Vec<Text>> {
    let word16 = |at: usize| bytes.get(at..at + 2).map(|b| u16::from_le_bytes([b[0], b[1]]));
    let word32 =
        |at: usize| bytes.get(at..at + 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    let word64 = |at: usize| Some(u64::from(word32(at)?) | u64::from(word32(at + 4)?) << 32);
    let mut at = usize::from(word16(6).ok_or(Status::INVALID_IMAGE)?);
    let mut best: Option<(u32, &[u8])> = None;
    let mut compressed = false;
    while at < bytes.len() {
        let entry = || {
            Some((
                word16(at)?,
                word32(at + 4)?,
                word64(at + 8)?,
                word32(at + 28)?,
                word64(at + 40)?,
            ))
        };
        let (kind, header, len, arch, flags) = entry().ok_or(Status::INVALID_IMAGE)?;
        let start = at.checked_add(header as usize).ok_or(Status::INVALID_IMAGE)?;
        let end = usize::try_from(len).ok().and_then(|len| start.checked_add(len));
        let content = end.and_then(|end| bytes.get(start..end)).ok_or(Status::INVALID_IMAGE)?;
        if kind == 1 && flags & 0xa000 != 0 {
            compressed = true;
        } else if kind == 1 && best.is_none_or(|(known, _)| arch > known) {
            best = Some((arch, content));
        }
        if header == 0 {
            return Err(Status::INVALID_IMAGE);
        }
        at = start + content.len();
    }
    match best {
        Some((_, text)) => {
            let end = text.iter().position(|&b| b == 0).unwrap_or(text.len());
            texts(&text[..end])
        }
        None if compressed => Err(Status::NOT_SUPPORTED),
        None => Err(Status::NO_BINARY_FOR_GPU),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_linked_comes_apart_again() {
        let given =
            [("a".to_owned(), "text of a\n".to_owned()), ("b c".to_owned(), "ü".to_owned())];
        let image = link(&given);
        assert_eq!(read(image.as_ptr().addr()), Ok(given.to_vec()));
        assert_eq!(from_bytes(&image), Ok(given.to_vec()));
        assert_eq!(from_bytes(b"//simtlab-linked 999 a\nshort"), Err(Status::INVALID_IMAGE));
    }

    #[test]
    fn what_is_no_text_is_told_apart() {
        assert_eq!(from_bytes(b"\x7fELF\x02\x01"), Err(Status::NO_BINARY_FOR_GPU));
        assert_eq!(from_bytes(b"\xff\xfe\xfd"), Err(Status::INVALID_IMAGE));
        assert_eq!(from_bytes(b""), Err(Status::INVALID_IMAGE));
        assert_eq!(read(0), Err(Status::INVALID_VALUE));
        assert_eq!(read(64), Err(Status::INVALID_VALUE));
        let cut = [0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0, 255, 255, 255, 255, 255, 0, 0, 0];
        assert_eq!(read(cut.as_ptr().addr()), Err(Status::INVALID_IMAGE));
        assert_eq!(from_bytes(&cut), Err(Status::NO_BINARY_FOR_GPU));
        assert_eq!(from_bytes(&cut[..5]), Err(Status::INVALID_IMAGE));
    }

    #[test]
    fn the_newest_ptx_of_a_fat_binary() {
        let entry = |arch: u32, text: &[u8]| {
            let mut e = vec![0; 64];
            e[0] = 1;
            e[4] = 64;
            e[8..12].copy_from_slice(&(text.len() as u32).to_le_bytes());
            e[28..32].copy_from_slice(&arch.to_le_bytes());
            e.extend(text);
            e
        };
        let body = [entry(70, b"old\0"), entry(80, b"new\0")].concat();
        let mut fat = vec![0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0];
        fat.extend((body.len() as u64).to_le_bytes());
        fat.extend(body);
        let new = Ok(vec![("ptx".to_owned(), "new".to_owned())]);
        assert_eq!(read(fat.as_ptr().addr()), new);
        assert_eq!(from_bytes(&fat), new);
    }
}
