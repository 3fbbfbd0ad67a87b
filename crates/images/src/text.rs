//! Texts of PTX, alone or linked to one image.

use cuda_abi::{Outcome, Status};
use hostmem::room_for_text;

/// The beginning of images that linkers make: several texts, each after a line with its length.
pub(super) const LINKED: &str = "//simtlab-linked ";

/// A text with its name.
pub type Text = (String, String);

/// Splits an image of text into its texts.
pub(super) fn texts(bytes: &[u8]) -> Outcome<Vec<Text>> {
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
#[must_use]
pub fn link(texts: &[Text]) -> Vec<u8> {
    let mut image = String::new();
    for (name, text) in texts {
        let name = name.replace(['\n', '\r', '\0'], " ");
        image.push_str(&format!("{LINKED}{} {name}\n{text}", text.len()));
    }
    let mut bytes = image.into_bytes();
    bytes.push(0);
    bytes
}
