//! The interface of machines.
//!
//! The laboratory, launch files and file tests know machines only through [`Isa`]: an instruction
//! set that loads programs and, if it can, assembles, disassembles and runs a conformance suite. A
//! machine reports commands that it does not support; nothing else depends on the set of machines.
//! To add one, implement [`Isa`] and enter it in [`all`](crate::all).

use std::fmt;

use inputs::launch::Located;
use isa::{Diagnostic, Diagnostics, FileId, Span};

use crate::catalogue::unsupported;
use crate::program::Program;

/// A command that a machine may support.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Runs a program.
    Run,
    /// Checks a program without running it.
    Check,
    /// Lists a program's kernels.
    List,
    /// Shows a kernel's control-flow graph.
    Cfg,
    /// Assembles text to a binary.
    Asm,
    /// Disassembles a binary to text.
    Disasm,
    /// Runs the machine's conformance suite.
    Conform,
}

impl Command {
    /// Returns the command's name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Check => "check",
            Self::List => "list",
            Self::Cfg => "cfg",
            Self::Asm => "asm",
            Self::Disasm => "disasm",
            Self::Conform => "conform",
        }
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The contents of a program's file.
#[derive(Clone, Copy, Debug)]
pub struct Image<'a> {
    /// All bytes.
    pub bytes: &'a [u8],
    /// The file's entry in the source map, for spans.
    pub file: FileId,
}

impl<'a> Image<'a> {
    /// Returns the text, for machines that read text.
    ///
    /// # Errors
    /// Returns a diagnostic if the bytes are not UTF-8.
    pub fn text(&self) -> Result<&'a str, Diagnostic> {
        std::str::from_utf8(self.bytes).map_err(|error| {
            let at = error.valid_up_to();
            let byte = self.bytes.get(at).copied().unwrap_or(0);
            Diagnostic::error(
                "input::not-text",
                format!("the file is not text: byte {byte:#04x} at offset {at}"),
            )
            .at(Span::new(self.file, 0, 0), "")
            .help("this machine reads UTF-8 text; is this a binary?")
        })
    }
}

/// A name with its description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named {
    /// The name that users write.
    pub name: &'static str,
    /// A one-line description.
    pub about: &'static str,
}

/// An option of a machine that comparisons vary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    /// The option's name.
    pub name: &'static str,
    /// The values that comparisons use, the default first.
    pub values: &'static [&'static str],
    /// Whether the value is the number of lanes of a group.
    pub width: bool,
}

impl Axis {
    /// Creates an axis from an option and its values, the default first.
    #[must_use]
    pub const fn new(name: &'static str, values: &'static [&'static str]) -> Self {
        Self { name, values, width: false }
    }

    /// Creates an axis like [`Axis::new`] whose values are numbers of lanes.
    #[must_use]
    pub const fn width(name: &'static str, values: &'static [&'static str]) -> Self {
        Self { name, values, width: true }
    }
}

/// An instruction set as the laboratory sees it.
pub trait Isa: Sync {
    /// Returns the name used by `--isa` and by `machine` in launch files.
    fn name(&self) -> &'static str;

    /// Returns a one-line description.
    fn about(&self) -> &'static str;

    /// Returns the file name extensions of its programs, without the dot.
    fn extensions(&self) -> &'static [&'static str];

    /// Returns the supported commands.
    fn commands(&self) -> &'static [Command];

    /// Returns the convergence mechanisms, the default one first.
    fn mechanisms(&self) -> Vec<Named>;

    /// Returns the mechanisms that run programs not written for them. Tests that name no mechanism
    /// use these.
    fn default_mechanisms(&self) -> &'static [&'static str];

    /// Returns the default warp size.
    fn default_warp_size(&self) -> u64 {
        32
    }

    /// Returns the mechanism and the warp size of the reference in comparisons: `serial` if it
    /// exists, otherwise the first mechanism.
    fn reference(&self) -> (&'static str, u64) {
        let known = self.mechanisms();
        let serial = known.iter().find(|m| m.name == "serial");
        (serial.or(known.first()).map_or("", |m| m.name), self.default_warp_size())
    }

    /// Returns whether launches have a grid of blocks. If not, both extents are 1.
    fn has_grid(&self) -> bool {
        true
    }

    /// Returns the machine's own options: keys of `options` in launch files, and of `--option` on
    /// the command line.
    fn options(&self) -> Vec<Named> {
        Vec::new()
    }

    /// Returns the machine to use for an option that changes how programs are read, such as another
    /// numbering of opcodes; `None` for other options.
    ///
    /// # Errors
    /// Returns the possible values if `value` is not one of them.
    fn variant(&self, _option: &str, _value: &str) -> Result<Option<&'static dyn Isa>, String> {
        Ok(None)
    }

    /// Returns the option that a bare number as argument sets (`--arg 0x20000000`), on machines
    /// whose programs get the address of their arguments in a register.
    fn bare_argument(&self) -> Option<&'static str> {
        None
    }

    /// Returns the options that comparisons vary in addition to mechanisms and warp sizes.
    fn axes(&self) -> Vec<Axis> {
        Vec::new()
    }

    /// Returns the values of axes that define the reference, in addition to mechanism and warp
    /// size.
    fn reference_settings(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// Loads the wanted kernels and all that they can reach, or the whole program if none is named.
    /// Adds diagnostics to `found`; returns `None` only if there are errors.
    fn load(
        &self,
        image: Image<'_>,
        wanted: &[Located<String>],
        found: &mut Diagnostics,
    ) -> Option<Box<dyn Program>>;

    /// Assembles text to a binary.
    ///
    /// # Errors
    /// Returns diagnostics if the text does not assemble or the machine has no assembler.
    fn assemble(&self, _image: Image<'_>) -> Result<Vec<u8>, Diagnostics> {
        Err(unsupported(self.name(), Command::Asm))
    }

    /// Returns the listing of an assembly text, with addresses and bytes. The default is the
    /// disassembly of the binary.
    ///
    /// # Errors
    /// Returns diagnostics if the text does not assemble or the machine has no assembler or
    /// disassembler.
    fn listing(&self, image: Image<'_>) -> Result<String, Diagnostics> {
        let bytes = self.assemble(image)?;
        self.disassemble(Image { bytes: &bytes, file: image.file })
    }

    /// Disassembles a binary to text.
    ///
    /// # Errors
    /// Returns diagnostics if the binary does not load or the machine has no disassembler.
    fn disassemble(&self, _image: Image<'_>) -> Result<String, Diagnostics> {
        Err(unsupported(self.name(), Command::Disasm))
    }

    /// Runs the machine's conformance suite.
    ///
    /// # Errors
    /// Returns diagnostics if the machine has none.
    fn conform(&self) -> Result<Vec<ConformCase>, Diagnostics> {
        Err(unsupported(self.name(), Command::Conform))
    }

    /// Runs the rows of a conformance table in the machine's own format.
    ///
    /// # Errors
    /// Returns diagnostics if the table is malformed or the machine reads none.
    fn conform_table(
        &self,
        _name: &str,
        _image: Image<'_>,
    ) -> Result<Vec<ConformCase>, Diagnostics> {
        Err(unsupported(self.name(), Command::Conform))
    }
}

/// One case of a conformance suite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConformCase {
    /// The behaviour under test.
    pub name: String,
    /// The failure, if the case failed.
    pub failure: Option<String>,
}
