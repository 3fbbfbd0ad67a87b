//! The command `ptxas`: a substitute for programs that require an assembler. It checks that PTX can
//! run, and copies it.

use std::ffi::OsString;
use std::path::PathBuf;

use modules::Module;

use crate::out::{Exit, Out};

/// Output of `--version`, from which programs derive the PTX version that they generate.
const VERSION: &str = "ptxas: the stand-in of Simtlab, which passes PTX on\n\
                       Cuda compilation tools, release 12.9, V12.9.0\n";

/// Options whose value is a separate word.
const WITH_VALUE: [&str; 8] = [
    "-o",
    "--output-file",
    "-arch",
    "--gpu-name",
    "-O",
    "--opt-level",
    "-maxrregcount",
    "--maxrregcount",
];

pub(crate) fn ptxas(args: &[OsString], out: &mut Out) -> Exit {
    match run(args, out) {
        Ok(()) => Exit::Ok,
        Err(message) => {
            out.note(&format!("ptxas fatal   : {message}\n"));
            Exit::Child(255)
        }
    }
}

fn run(args: &[OsString], out: &mut Out) -> Result<(), String> {
    let mut input: Option<PathBuf> = None;
    let mut output = PathBuf::from("elf.o");
    let mut words = args.iter();
    while let Some(word) = words.next() {
        match word.to_str() {
            Some("--version" | "-V") => {
                out.text(VERSION);
                return Ok(());
            }
            Some("-o" | "--output-file") => {
                output = words.next().ok_or("an output file is missing")?.into();
            }
            Some(option) if WITH_VALUE.contains(&option) => {
                words.next();
            }
            Some(option) if option.starts_with('-') => {}
            _ => input = Some(word.into()),
        }
    }
    let input = input.ok_or("no input file is given")?;
    let named = input.display().to_string();
    let text = std::fs::read_to_string(&input).map_err(|e| format!("{named}: {e}"))?;
    let module = Module::load(&named, &text).map_err(|e| e.to_string())?;
    let refused: Vec<&str> =
        module.refused().iter().flat_map(|r| &r.findings).map(String::as_str).collect();
    if !refused.is_empty() {
        return Err(refused.join("\n"));
    }
    std::fs::write(&output, text).map_err(|e| format!("{}: {e}", output.display()))
}
