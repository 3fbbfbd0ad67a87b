//! Files of guest memory that `run` writes: dumps in hexadecimal, and signatures of architecture
//! tests.

use std::path::PathBuf;

use inputs::elem::parse_any_integer;
use inputs::launch::Located;
use isa::{Diagnostic, Diagnostics, Span};
use lab::run::{MemoryContents, MemoryRequest, Report};
use machines::MemoryRange;

/// The bytes of a line of a signature.
const SIGNATURE_WORD: usize = 4;

/// The layout of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// Addressed words.
    Hex,
    /// Words alone.
    Signature,
}

/// A file to write, and what it holds.
#[derive(Debug)]
pub(super) struct MemoryFile {
    pub(super) request: MemoryRequest,
    layout: Layout,
    path: PathBuf,
    span: Span,
}

/// Reads the values of `--dump-hex` and `--signature`.
pub(super) fn files(
    (dumps, signatures): (&[Located<String>], &[Located<String>]),
    found: &mut Diagnostics,
) -> Vec<MemoryFile> {
    let mut files = Vec::new();
    for word in dumps {
        let (request, path) = match word.value.split_once('=') {
            None => (Some(MemoryRequest::All), word.value.as_str()),
            Some((range, path)) => (parse(range).map(MemoryRequest::Range), path),
        };
        match request.filter(|_| !path.is_empty()) {
            Some(request) => files.push(file(request, Layout::Hex, path, word.span)),
            None => {
                let message = "--dump-hex takes a file, or a range of addresses and a file";
                let finding = Diagnostic::error("cli::dump", message).at(word.span, "");
                found.push(finding.help("write --dump-hex 0x10000000+4096=FILE"));
            }
        }
    }
    for word in signatures {
        let between = ["begin_signature", "end_signature"].map(str::to_owned);
        let [first, last] = between;
        let request = MemoryRequest::Between(first, last);
        files.push(file(request, Layout::Signature, &word.value, word.span));
    }
    files
}

fn file(request: MemoryRequest, layout: Layout, path: &str, span: Span) -> MemoryFile {
    MemoryFile { request, layout, path: path.into(), span }
}

/// Parses `ADDRESS+LENGTH`.
fn parse(text: &str) -> Option<MemoryRange> {
    let number = |text: &str| u64::try_from(parse_any_integer(text.trim())?).ok();
    let (start, length) = text.split_once('+')?;
    Some(MemoryRange { start: number(start)?, length: number(length)? })
}

/// Writes the files; `report` has the contents in the order of `files`.
pub(super) fn write(files: &[MemoryFile], report: &Report) -> Vec<Diagnostic> {
    let each = files.iter().zip(&report.memory);
    each.filter_map(|(file, contents)| file.write(contents).err()).collect()
}

impl MemoryFile {
    fn write(&self, contents: &Result<MemoryContents, String>) -> Result<(), Diagnostic> {
        let contents = contents.as_ref().map_err(|why| {
            let message = format!("there is no memory for {}: {why}", self.path.display());
            Diagnostic::error("cli::dump", message).at(self.span, "")
        })?;
        let text = match self.layout {
            Layout::Hex => contents.to_hex(),
            Layout::Signature => contents.to_signature(SIGNATURE_WORD),
        };
        std::fs::write(&self.path, text).map_err(|error| {
            let message = format!("cannot write {}: {error}", self.path.display());
            Diagnostic::error("cli::output", message).at(self.span, "")
        })
    }
}
