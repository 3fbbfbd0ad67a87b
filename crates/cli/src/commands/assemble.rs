//! The commands `asm` and `disasm`.

use std::path::Path;

use inputs::file::{MAX_PROGRAM_BYTES, read_input};
use isa::{Diagnostic, Diagnostics, SourceMap, Span};
use machines::{Image, Isa};

use super::{choose_isa, reading, refuse};
use crate::args::{Asm, Disasm, IsaChoice};
use crate::line::Line;
use crate::out::{Exit, Out};

/// The input of a command.
#[derive(Clone, Copy)]
enum Input<'a> {
    File(&'a Path),
    /// Bytes in hexadecimal.
    Hex(&'a str),
}

impl Input<'_> {
    /// Returns the name and the bytes of the input; `span` is its place in the command line.
    fn read(self, span: Span) -> Result<(String, Vec<u8>), Diagnostic> {
        match self {
            Input::File(path) => {
                let bytes = read_input(path, MAX_PROGRAM_BYTES, Some(span))?;
                Ok((path.display().to_string(), bytes))
            }
            Input::Hex(text) => {
                let wrong = || {
                    Diagnostic::error("cli::hex", "these are not bytes in hexadecimal")
                        .at(span, "")
                        .help("write two digits a byte, in memory order: -x 7f026b0105004000")
                };
                Ok((String::new(), hex_bytes(text).ok_or_else(wrong)?))
            }
        }
    }
}

/// Parses two digits a byte; skips white space and a leading `0x`.
fn hex_bytes(text: &str) -> Option<Vec<u8>> {
    let digits: String = text.split_whitespace().collect();
    let digits = digits.strip_prefix("0x").unwrap_or(&digits);
    let digits: Vec<u8> =
        digits.chars().map(|c| Some(c.to_digit(16)? as u8)).collect::<Option<_>>()?;
    let whole = !digits.is_empty() && digits.len().is_multiple_of(2);
    whole.then(|| digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

/// Reads the input and passes it to `work`.
fn with_input<T>(
    command: &str,
    input: Input<'_>,
    (choice, codec): (&IsaChoice, &Option<String>),
    out: &mut Out,
    work: impl FnOnce(&'static Isa, Image<'_>) -> Result<T, Diagnostics>,
) -> Result<T, Exit> {
    let mut sources = SourceMap::new();
    let mut line = Line::new(command);
    let (path, span) = match input {
        Input::File(path) => (path, line.path(path)),
        Input::Hex(text) => (Path::new(""), line.option("hex", text)),
    };
    let isa_span = choice.isa.as_ref().map(|name| line.option("isa", name));
    let places: Vec<Span> =
        choice.reading().map(|(name, value)| line.option(name, value)).collect();
    let codec = codec.as_deref().map(|value| (value, line.option("codec", value)));
    line.enter(&mut sources);
    let named = choice.isa.as_deref().zip(isa_span);
    let isa = choose_isa(named, path, span)
        .and_then(|isa| {
            let mut given = choice.reading().zip(&places);
            given.try_fold(isa, |isa, ((name, value), at)| reading(isa, name, Some((value, *at))))
        })
        .and_then(|isa| reading(isa, "codec", codec))
        .map_err(|finding| refuse(&finding, &sources, out))?;
    let (name, bytes) = input.read(span).map_err(|finding| refuse(&finding, &sources, out))?;
    let file = sources.add(name, std::str::from_utf8(&bytes).unwrap_or(""));
    work(isa, Image { bytes: &bytes, file }).map_err(|found| {
        out.findings(&found, &sources);
        Exit::Usage
    })
}

/// Assembles text to a binary, and prints a listing if requested.
pub(crate) fn asm(args: &Asm, out: &mut Out) -> Exit {
    let work = |isa: &'static Isa, image: Image<'_>| {
        let listing = args.listing.then(|| isa.listing(image)).transpose()?;
        Ok((isa.assemble(image)?, listing))
    };
    let (binary, listing) =
        match with_input("asm", Input::File(&args.file), (&args.isa, &args.codec), out, work) {
            Ok(made) => made,
            Err(exit) => return exit,
        };
    if let Some(path) = &args.output
        && let Err(error) = std::fs::write(path, binary)
    {
        let message = format!("cannot write {}: {error}", path.display());
        return refuse(&Diagnostic::error("cli::output", message), &SourceMap::new(), out);
    }
    out.text(&listing.unwrap_or_default());
    Exit::Ok
}

/// Disassembles a binary to text.
pub(crate) fn disasm(args: &Disasm, out: &mut Out) -> Exit {
    let input = match (&args.hex, &args.file) {
        (Some(hex), _) => Input::Hex(hex),
        (None, Some(path)) => Input::File(path),
        // The command line's grammar requires one of them.
        (None, None) => return Exit::Usage,
    };
    match with_input("disasm", input, (&args.isa, &args.codec), out, Isa::disassemble) {
        Ok(text) => {
            out.text(&text);
            Exit::Ok
        }
        Err(exit) => exit,
    }
}

#[cfg(test)]
mod tests {
    use super::hex_bytes;

    #[test]
    fn hexadecimal_bytes_are_parsed() {
        assert_eq!(hex_bytes("7f02 6b01"), Some(vec![0x7f, 2, 0x6b, 1]));
        assert_eq!(hex_bytes("0xAA"), Some(vec![0xaa]));
        for wrong in ["", "0x", "abc", "zz", "12é4"] {
            assert_eq!(hex_bytes(wrong), None, "{wrong}");
        }
    }
}
