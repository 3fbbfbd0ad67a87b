//! Reading of user-supplied files.

use std::io::Read;
use std::path::Path;

use isa::{Diagnostic, Span};

use crate::limits::human_bytes;

/// Size limit of programs in bytes.
pub const MAX_PROGRAM_BYTES: u64 = 256 << 20;

/// Describes an I/O error, if possible in words that do not depend on the operating system.
#[must_use]
pub fn io_reason(error: &std::io::Error) -> String {
    use std::io::ErrorKind;
    match error.kind() {
        ErrorKind::NotFound => "there is no such file".to_owned(),
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        ErrorKind::IsADirectory => "it is a directory".to_owned(),
        _ => error.to_string(),
    }
}

/// Reads a file of at most `cap` bytes. `named` is the place that names it.
///
/// # Errors
/// Returns a diagnostic if the file cannot be read or is larger.
pub fn read_input(path: &Path, cap: u64, named: Option<Span>) -> Result<Vec<u8>, Diagnostic> {
    let fail = |reason: String, help: &str| {
        let message = format!("cannot read {}: {reason}", path.display());
        let finding = Diagnostic::error("input::file", message).help(help);
        match named {
            Some(span) => finding.at(span, "named here"),
            None => finding,
        }
    };
    let check = "check the path and its permissions";
    let file = std::fs::File::open(path).map_err(|e| fail(io_reason(&e), check))?;
    if file.metadata().is_ok_and(|m| m.is_dir()) {
        return Err(fail("it is a directory".to_owned(), "name a file in it"));
    }
    let mut bytes = Vec::new();
    file.take(cap.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|e| fail(io_reason(&e), check))?;
    if bytes.len() as u64 > cap {
        let reason = format!("it has more than {}", human_bytes(u128::from(cap)));
        return Err(fail(reason, "this is not a file to run"));
    }
    Ok(bytes)
}
