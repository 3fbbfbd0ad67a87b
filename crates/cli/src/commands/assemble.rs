//! `asm` and `disasm`.

use std::path::Path;

use isa::{Diagnostic, Diagnostics, SourceMap};
use lab::machine::{Image, Isa};
use lab::run::{MAX_PROGRAM_BYTES, read_input};

use super::{choose_isa, refuse};
use crate::args::{Asm, Disasm, IsaChoice};
use crate::line::Line;
use crate::out::{Exit, Out};

/// Reads the file and lets `work` have it.
fn with_input<T>(
    command: &str,
    path: &Path,
    choice: &IsaChoice,
    out: &mut Out,
    work: impl FnOnce(&'static dyn Isa, Image<'_>) -> Result<T, Diagnostics>,
) -> Result<T, Exit> {
    let mut sources = SourceMap::new();
    let mut line = Line::new(command);
    let span = line.path(path);
    let isa_span = choice.isa.as_ref().map(|name| line.option("isa", name));
    line.enter(&mut sources);
    let named = choice.isa.as_deref().zip(isa_span);
    let isa = choose_isa(named, path, span).map_err(|finding| refuse(&finding, &sources, out))?;
    let bytes = read_input(path, MAX_PROGRAM_BYTES, Some(span))
        .map_err(|finding| refuse(&finding, &sources, out))?;
    let file = sources.add(path.display().to_string(), std::str::from_utf8(&bytes).unwrap_or(""));
    work(isa, Image { bytes: &bytes, file }).map_err(|found| {
        out.findings(&found, &sources);
        Exit::Usage
    })
}

/// Text to binary.
pub(crate) fn asm(args: &Asm, out: &mut Out) -> Exit {
    match with_input("asm", &args.file, &args.isa, out, <dyn Isa>::assemble) {
        Ok(binary) => match std::fs::write(&args.output, binary) {
            Ok(()) => Exit::Ok,
            Err(error) => {
                let message = format!("cannot write {}: {error}", args.output.display());
                refuse(&Diagnostic::error("cli::output", message), &SourceMap::new(), out)
            }
        },
        Err(exit) => exit,
    }
}

/// Binary to text.
pub(crate) fn disasm(args: &Disasm, out: &mut Out) -> Exit {
    match with_input("disasm", &args.file, &args.isa, out, <dyn Isa>::disassemble) {
        Ok(text) => {
            out.text(&text);
            Exit::Ok
        }
        Err(exit) => exit,
    }
}
