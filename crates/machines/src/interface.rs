//! The interface of machines.
//!
//! The laboratory, launch files and file tests know machines only as [`Isa`]s: descriptions of
//! instruction sets that load programs and, if they can, assemble, disassemble and run a
//! conformance suite. Nothing else depends on the set of machines. To add one, describe it in a
//! folder of `adapters` and enter it in [`all`](crate::all).

use std::fmt;

use inputs::launch::{Located, MachineOption};
use isa::{Diagnostic, Diagnostics, FileId, SourceFile, Span};

use crate::program::Program;
use crate::summary::{ProgramSummary, SummaryParts};

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
    /// All commands, in the order in which machines list them.
    pub const ALL: [Self; 7] =
        [Self::Run, Self::Check, Self::List, Self::Cfg, Self::Asm, Self::Disasm, Self::Conform];

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
    /// Whether it is a knob: a setting of those mechanisms that read it. Other axes belong to the
    /// machine.
    pub knob: bool,
    /// Whether comparisons vary it only if they are asked to.
    pub on_request: bool,
}

impl Axis {
    /// Creates an axis from an option and its values, the default first.
    #[must_use]
    pub const fn new(name: &'static str, values: &'static [&'static str]) -> Self {
        Self { name, values, width: false, knob: false, on_request: false }
    }

    /// Creates an axis like [`Axis::new`] whose values are numbers of lanes.
    #[must_use]
    pub const fn width(name: &'static str, values: &'static [&'static str]) -> Self {
        Self { name, values, width: true, knob: false, on_request: false }
    }

    /// Creates an axis like [`Axis::new`] for a knob of mechanisms.
    #[must_use]
    pub const fn knob(name: &'static str, values: &'static [&'static str]) -> Self {
        Self { name, values, width: false, knob: true, on_request: true }
    }

    /// Creates an axis like [`Axis::new`] that comparisons vary only if they are asked to.
    #[must_use]
    pub const fn on_request(name: &'static str, values: &'static [&'static str]) -> Self {
        Self { name, values, width: false, knob: false, on_request: true }
    }
}

/// A real machine as a choice of mechanism, width and options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The name that users write.
    pub name: &'static str,
    /// The machine, in one line.
    pub about: &'static str,
    /// What is known of it, and from where.
    pub source: &'static str,
    /// Where the model is known or likely to differ.
    pub limits: &'static str,
    /// The mechanism.
    pub mechanism: &'static str,
    /// Lanes of a group.
    pub warp_size: u64,
    /// Values of options.
    pub settings: &'static [(&'static str, &'static str)],
}

/// The reference of comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The mechanism.
    pub mechanism: &'static str,
    /// The width of a group in lanes.
    pub warp_size: u64,
    /// Values of axes.
    pub settings: &'static [(&'static str, &'static str)],
}

/// The machine to use for an option that changes how programs are read; `None` for other options.
/// The error gives the possible values.
pub type Variant = Result<Option<&'static Isa>, String>;

/// Loads the wanted kernels of a program, or all; adds diagnostics.
pub type Load = fn(Image<'_>, &[Located<String>], &mut Diagnostics) -> Option<Box<dyn Program>>;

/// Looks over a program that is this file; `None` if it has errors, or if only loading it tells all
/// of it.
pub type Summary = fn(Image<'_>, &SourceFile, SummaryParts) -> Option<ProgramSummary>;

/// Runs the rows of a conformance table, given its name and contents.
pub type ConformTable = fn(&str, Image<'_>) -> Result<Vec<ConformCase>, Diagnostics>;

/// Describes a configured machine as text; the error gives the index of the option at fault.
pub type Configuration = fn(&[MachineOption]) -> Result<String, (usize, String)>;

/// An instruction set as the laboratory sees it.
#[derive(Clone, Copy, Debug)]
pub struct Isa {
    /// The name used by `--isa` and by `machine` in launch files.
    pub name: &'static str,
    /// A one-line description.
    pub about: &'static str,
    /// The file name extensions of its programs, without the dot.
    pub extensions: &'static [&'static str],
    /// The convergence mechanisms, the default one first.
    pub mechanisms: &'static [Named],
    /// The mechanisms that run programs not written for them. Tests that name no mechanism use
    /// these.
    pub default_mechanisms: &'static [&'static str],
    /// The mechanism under which an option runs a launch again that hangs, if there is such an
    /// option.
    pub retry_mechanism: Option<&'static str>,
    /// The default warp size.
    pub default_warp_size: u64,
    /// What comparisons compare with.
    pub reference: Reference,
    /// The options that comparisons vary in addition to mechanisms and warp sizes.
    pub axes: &'static [Axis],
    /// The real machines that comparisons know.
    pub profiles: &'static [Profile],
    /// The machine's own options, in groups: keys of `options` in launch files, and of `--option`
    /// on the command line.
    pub options: &'static [&'static [Named]],
    /// The option that a bare number as argument sets (`--arg 0x20000000`), on machines whose
    /// programs get the address of their arguments in a register.
    pub bare_argument: Option<&'static str>,
    /// Whether launches have a grid of blocks. If not, both extents are 1.
    pub has_grid: bool,
    /// Whether programs have control-flow graphs.
    pub has_graphs: bool,
    /// Whether the events of launches suffice for checks: accesses with their spaces, barriers and
    /// collectives with their lanes.
    pub has_checks: bool,
    /// The register that is the mask of a group, on machines whose vector issues all obey one.
    pub group_mask: Option<&'static str>,
    /// Describes the machine that options make, as its programs find it; `None` where options make
    /// no other machine.
    pub configuration: Option<Configuration>,
    /// Returns the machine that an option and its value select, such as another numbering of
    /// opcodes.
    pub variant: fn(&str, &str) -> Variant,
    /// Loads the wanted kernels and all that they can reach, or the whole program if none is named.
    /// Adds diagnostics; returns `None` only if there are errors. [`load`](crate::load) calls it on
    /// a stack that suffices.
    pub load: Load,
    /// Says the same of a program as a loaded one does, with less time and memory; `None` on
    /// machines that have nothing better than to load it. [`summary`](crate::summary) calls it.
    pub summary: Option<Summary>,
    /// The assembler, the disassembler and the conformance suite, on machines that have them.
    pub tools: Option<Tools>,
}

/// The assembler, the disassembler and the conformance suite of a machine. All return diagnostics
/// if the text, the binary or the table is malformed.
#[derive(Clone, Copy, Debug)]
pub struct Tools {
    /// Assembles text to a binary.
    pub assemble: fn(Image<'_>) -> Result<Vec<u8>, Diagnostics>,
    /// Returns the listing of an assembly text, with addresses and bytes; if absent, it is the
    /// disassembly of the binary.
    pub listing: Option<fn(Image<'_>) -> Result<String, Diagnostics>>,
    /// Disassembles a binary to text.
    pub disassemble: fn(Image<'_>) -> Result<String, Diagnostics>,
    /// Runs the machine's conformance suite.
    pub conform: fn() -> Result<Vec<ConformCase>, Diagnostics>,
    /// Runs the rows of a table in the machine's own format, given its name and contents.
    pub conform_table: Option<ConformTable>,
}

/// The variants of a machine that has none.
pub(crate) fn no_variant(_option: &str, _value: &str) -> Variant {
    Ok(None)
}

impl Isa {
    /// Returns whether an option is a knob of mechanisms.
    #[must_use]
    pub fn is_knob(&self, option: &str) -> bool {
        self.axes.iter().any(|axis| axis.knob && axis.name == option)
    }

    /// Returns whether a mechanism reads an option. Options other than knobs are the machine's, and
    /// belong to all.
    #[must_use]
    pub fn reads(&self, mechanism: &str, option: &str) -> bool {
        let read = |entry: &converge::Entry| entry.knobs.contains(&option);
        !self.is_knob(option) || converge::Entry::find(mechanism).is_ok_and(read)
    }

    /// Returns whether the machine supports a command.
    #[must_use]
    pub fn supports(&self, command: Command) -> bool {
        match command {
            Command::Run | Command::Check | Command::List => true,
            Command::Cfg => self.has_graphs,
            Command::Asm | Command::Disasm | Command::Conform => self.tools.is_some(),
        }
    }

    /// Returns the supported commands.
    pub fn commands(&self) -> impl Iterator<Item = Command> {
        Command::ALL.into_iter().filter(|command| self.supports(*command))
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
