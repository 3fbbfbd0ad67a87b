//! The list of machines.

use inputs::elem::shortened;
use inputs::launch::{Located, MachineOption, OptionValue};
use inputs::limits::human_bytes;
use isa::suggest::nearest;
use isa::{Diagnostic, Diagnostics, FileId, Span};

use crate::adapters::{IR, LINX, LINX_TILES_V03, PMASK, PRF, PTX, TOY};
use crate::interface::{Command, ConformCase, Image, Isa, Tools};
use crate::program::Program;

/// Returns all machines, in the order in which messages list them.
#[must_use]
pub fn all() -> &'static [&'static Isa] {
    static ALL: [&Isa; 7] = [&PTX, &IR, &TOY, &PMASK, &LINX, &LINX_TILES_V03, &PRF];
    &ALL
}

/// Returns the machine of this name.
///
/// # Errors
/// Returns a diagnostic without a location if there is none; it suggests the nearest name.
pub fn find(name: &str) -> Result<&'static Isa, Diagnostic> {
    let names = || all().iter().map(|m| m.name);
    all().iter().copied().find(|m| m.name == name).ok_or_else(|| {
        let finding =
            Diagnostic::error("isa::unknown", format!("there is no machine `{}`", shortened(name)));
        finding.help(match nearest(name, names()) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("machines are {}", names().collect::<Vec<_>>().join(", ")),
        })
    })
}

/// Returns the machine that reads programs as the options specify. Ignores other options.
///
/// # Errors
/// Returns a diagnostic if an option has an invalid value.
pub fn configured(
    machine: &'static Isa,
    options: &[MachineOption],
) -> Result<&'static Isa, Diagnostic> {
    let mut machine = machine;
    for option in options {
        let OptionValue::String(value) = &option.value.value else { continue };
        match (machine.variant)(&option.key.value, value) {
            Ok(found) => machine = found.unwrap_or(machine),
            Err(why) => {
                return Err(Diagnostic::error("isa::option", why).at(option.value.span, ""));
            }
        }
    }
    Ok(machine)
}

/// Returns the machine whose programs have this file name extension.
#[must_use]
pub fn by_extension(extension: &str) -> Option<&'static Isa> {
    all().iter().copied().find(|m| m.extensions.contains(&extension))
}
/// Loads a program on a stack that suffices for any text, whatever the caller's is: what is wrong
/// is added to `found`. None if it cannot run.
pub fn load(
    machine: &Isa,
    image: Image<'_>,
    wanted: &[Located<String>],
    found: &mut Diagnostics,
) -> Option<Box<dyn Program>> {
    let bytes = image.bytes.len();
    on_stack_for(bytes, image.file, found, |found| (machine.load)(image, wanted, found))
}

/// Runs work on a text of so many bytes on a stack that suffices for it, if there is memory enough.
pub(crate) fn on_stack_for<T: Send>(
    bytes: usize,
    file: FileId,
    found: &mut Diagnostics,
    work: impl FnOnce(&mut Diagnostics) -> Option<T> + Send,
) -> Option<T> {
    if !hostmem::room_for_text(bytes) {
        let message = format!(
            "a program of {} is too large for the memory that this process may have",
            human_bytes(bytes as u128)
        );
        found.push(
            Diagnostic::error("input::memory", message)
                .at(Span::new(file, 0, 0), "")
                .help("raise the limit (`ulimit -v`), or split the program"),
        );
        return None;
    }
    let loaded = hostmem::on_own_stack(|| work(found));
    loaded.unwrap_or_else(|| {
        found.push(Diagnostic::error("input::memory", "the host has no thread to load it on"));
        None
    })
}

/// Returns the error for a command that a machine does not support.
#[must_use]
pub fn unsupported(machine: &str, command: Command) -> Diagnostics {
    let with: Vec<&str> = all().iter().filter(|m| m.supports(command)).map(|m| m.name).collect();
    let mut found = Diagnostics::new();
    let finding =
        Diagnostic::error("isa::command", format!("{machine} does not support `{command}`"));
    found.push(match with.as_slice() {
        [] => finding.help("no machine does yet"),
        names => finding.help(format!("these do: {}", names.join(", "))),
    });
    found
}

impl Isa {
    /// Returns the tools for a command, or the error for a machine that has none.
    fn tools_for(&self, command: Command) -> Result<&Tools, Diagnostics> {
        self.tools.as_ref().ok_or_else(|| unsupported(self.name, command))
    }

    /// Assembles text to a binary.
    ///
    /// # Errors
    /// Returns diagnostics if the text does not assemble or the machine has no assembler.
    pub fn assemble(&self, image: Image<'_>) -> Result<Vec<u8>, Diagnostics> {
        (self.tools_for(Command::Asm)?.assemble)(image)
    }

    /// Returns the listing of an assembly text, with addresses and bytes.
    ///
    /// # Errors
    /// Returns diagnostics if the text does not assemble or the machine has no assembler.
    pub fn listing(&self, image: Image<'_>) -> Result<String, Diagnostics> {
        let tools = self.tools_for(Command::Asm)?;
        if let Some(listing) = tools.listing {
            return listing(image);
        }
        let bytes = (tools.assemble)(image)?;
        (tools.disassemble)(Image { bytes: &bytes, file: image.file })
    }

    /// Disassembles a binary to text.
    ///
    /// # Errors
    /// Returns diagnostics if the binary does not load or the machine has no disassembler.
    pub fn disassemble(&self, image: Image<'_>) -> Result<String, Diagnostics> {
        (self.tools_for(Command::Disasm)?.disassemble)(image)
    }

    /// Runs the machine's conformance suite.
    ///
    /// # Errors
    /// Returns diagnostics if the machine has none.
    pub fn conform(&self) -> Result<Vec<ConformCase>, Diagnostics> {
        (self.tools_for(Command::Conform)?.conform)()
    }

    /// Runs the rows of a conformance table in the machine's own format.
    ///
    /// # Errors
    /// Returns diagnostics if the table is malformed or the machine reads none.
    pub fn conform_table(
        &self,
        name: &str,
        image: Image<'_>,
    ) -> Result<Vec<ConformCase>, Diagnostics> {
        match self.tools_for(Command::Conform)?.conform_table {
            Some(conform) => conform(name, image),
            None => Err(unsupported(self.name, Command::Conform)),
        }
    }
}
