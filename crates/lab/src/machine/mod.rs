//! What the laboratory asks of a machine, and the list of machines.
//!
//! The command line, launch files and file tests know machines only through [`Isa`]: an instruction set that loads programs
//! and, as far as it can, assembles, disassembles and proves its conformance. A machine that does not support a command
//! says so; nothing else in the laboratory depends on which machines there are. To add one, implement [`Isa`] and enter it in
//! [`all`].

mod graph;
mod launch;

use std::fmt;

pub use graph::{ControlFlow, FlowBlock, PostDominator};
use isa::{Diagnostic, Diagnostics, FileId, Span};
pub use launch::{
    Choice, End, HANGS, HostThreads, LaunchProblem, LaunchRequest, LaunchResult, Level, Progress,
    Schedule, Stop, Subject, Unwatched, Watch,
};
use simt::memory::MemoryMap;

use crate::launch::{Located, MachineOption, OptionValue};
use isa::suggest::nearest;

/// What a user can ask of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Run a program.
    Run,
    /// Check a program without running it.
    Check,
    /// List a program's kernels.
    List,
    /// Show a kernel's control-flow graph.
    Cfg,
    /// Turn assembly text into a binary.
    Asm,
    /// Turn a binary into assembly text.
    Disasm,
    /// Run the machine's own conformance suite.
    Conform,
}

impl Command {
    /// The command's name on the command line.
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

/// A program's file: its bytes, and its place in the source map if it is text.
#[derive(Clone, Copy, Debug)]
pub struct Image<'a> {
    /// All bytes.
    pub bytes: &'a [u8],
    /// Where spans point.
    pub file: FileId,
}

impl<'a> Image<'a> {
    /// The text, for machines that read text.
    ///
    /// # Errors
    /// If the bytes are not UTF-8.
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

/// A name and what it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named {
    /// The name that users write.
    pub name: &'static str,
    /// One line about it.
    pub about: &'static str,
}

/// An option of a machine that comparisons vary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    /// The option's name.
    pub name: &'static str,
    /// Values worth a row each, the default first.
    pub values: &'static [&'static str],
    /// Whether the value is the number of lanes of a group.
    pub width: bool,
}

impl Axis {
    /// An option with its values, the default first.
    #[must_use]
    pub const fn new(name: &'static str, values: &'static [&'static str]) -> Self {
        Self { name, values, width: false }
    }

    /// As [`Axis::new`], of a number of lanes.
    #[must_use]
    pub const fn width(name: &'static str, values: &'static [&'static str]) -> Self {
        Self { name, values, width: true }
    }
}

/// An instruction set as the laboratory sees it.
pub trait Isa: Sync {
    /// The name used by `--isa` and by `machine` in launch files.
    fn name(&self) -> &'static str;

    /// One line about it.
    fn about(&self) -> &'static str;

    /// File name extensions of its programs, without the dot.
    fn extensions(&self) -> &'static [&'static str];

    /// What it supports.
    fn commands(&self) -> &'static [Command];

    /// Convergence mechanisms, the default one first.
    fn mechanisms(&self) -> Vec<Named>;

    /// Mechanisms under which programs run without having been made for them: what tests try when they name none.
    fn usual_mechanisms(&self) -> &'static [&'static str];

    /// Warp size when nothing else is said.
    fn default_warp_size(&self) -> u64 {
        32
    }

    /// Mechanism and warp size whose results `compare` holds the others against: `serial` where there is one, else the
    /// first mechanism.
    fn reference(&self) -> (&'static str, u64) {
        let known = self.mechanisms();
        let serial = known.iter().find(|m| m.name == "serial");
        (serial.or(known.first()).map_or("", |m| m.name), self.default_warp_size())
    }

    /// Whether a launch has a grid of blocks; else both extents are 1.
    fn has_grid(&self) -> bool {
        true
    }

    /// The machine's own options: keys of `options` in launch files, and of `--option` on the command line.
    fn options(&self) -> Vec<Named> {
        Vec::new()
    }

    /// The machine that reads programs as an option says, such as with another numbering of opcodes; none for options
    /// that say nothing about reading.
    ///
    /// # Errors
    /// What the option can be.
    fn variant(&self, _option: &str, _value: &str) -> Result<Option<&'static dyn Isa>, String> {
        Ok(None)
    }

    /// The option that an argument sets which is a number and nothing else (`--arg 0x20000000`), on machines whose programs
    /// get the address of their arguments in a register.
    fn bare_argument(&self) -> Option<&'static str> {
        None
    }

    /// What comparisons vary beside mechanisms and warp sizes.
    fn axes(&self) -> Vec<Axis> {
        Vec::new()
    }

    /// Values of axes of the reference, where mechanism and warp size do not say it.
    fn reference_settings(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// Reads a program: the wanted kernels and what they can reach, or everything if none is named. Findings are
    /// collected; without errors there is a program.
    fn load(
        &self,
        image: Image<'_>,
        wanted: &[Located<String>],
        found: &mut Diagnostics,
    ) -> Option<Box<dyn Program>>;

    /// Assembles text to a binary.
    ///
    /// # Errors
    /// What is wrong with the text, or that the machine has no assembler.
    fn assemble(&self, _image: Image<'_>) -> Result<Vec<u8>, Diagnostics> {
        Err(unsupported(self.name(), Command::Asm))
    }

    /// The listing of an assembly text: addresses and bytes. By default it is the disassembly of the binary.
    ///
    /// # Errors
    /// What is wrong with the text, or that the machine has no assembler or no listing.
    fn listing(&self, image: Image<'_>) -> Result<String, Diagnostics> {
        let bytes = self.assemble(image)?;
        self.disassemble(Image { bytes: &bytes, file: image.file })
    }

    /// Disassembles a binary to text.
    ///
    /// # Errors
    /// What is wrong with the binary, or that the machine has no disassembler.
    fn disassemble(&self, _image: Image<'_>) -> Result<String, Diagnostics> {
        Err(unsupported(self.name(), Command::Disasm))
    }

    /// Runs the machine's conformance suite.
    ///
    /// # Errors
    /// If the machine has none.
    fn conform(&self) -> Result<Vec<ConformCase>, Diagnostics> {
        Err(unsupported(self.name(), Command::Conform))
    }

    /// Runs the rows of a conformance table of the machine's own form.
    ///
    /// # Errors
    /// If it is no such table, or the machine reads none.
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
    /// What is tested.
    pub name: String,
    /// What went wrong, if anything did.
    pub failure: Option<String>,
}

/// The error for a command that a machine does not support.
#[must_use]
pub fn unsupported(machine: &str, command: Command) -> Diagnostics {
    let with: Vec<&str> =
        all().iter().filter(|m| m.commands().contains(&command)).map(|m| m.name()).collect();
    let mut found = Diagnostics::new();
    let finding =
        Diagnostic::error("isa::command", format!("{machine} does not support `{command}`"));
    found.push(match with.as_slice() {
        [] => finding.help("no machine does yet"),
        names => finding.help(format!("these do: {}", names.join(", "))),
    });
    found
}

/// A loaded program.
pub trait Program: Send + Sync {
    /// Its kernels, in the order of the text.
    fn kernels(&self) -> Vec<KernelInfo>;

    /// A kernel's control-flow graph; none if the kernel is unknown or the machine has no such graph.
    fn control_flow(&self, kernel: &str) -> Option<ControlFlow>;

    /// Functions that a kernel calls, directly or not, by the names that [`Program::control_flow`] takes.
    fn called(&self, _kernel: &str) -> Vec<String> {
        Vec::new()
    }

    /// Where a kernel's results depend on how many lanes the warp has that it sees: on lane numbers, on shuffle distances.
    fn warp_size_dependence(&self, _kernel: &str) -> Vec<Dependence> {
        Vec::new()
    }

    /// The kernel IR that it was lowered to, if it was.
    fn module(&self) -> Option<&ir::Module> {
        None
    }

    /// What may go wrong when it runs, as far as that can be told before.
    fn warnings(&self) -> Vec<Diagnostic> {
        Vec::new()
    }

    /// A context in which the program can be launched: its memory, with the program's own variables in it.
    ///
    /// # Errors
    /// If the host has no memory for them.
    fn context(&self) -> Result<Box<dyn Context + '_>, Diagnostic>;

    /// A context on memory that outlives it, as another context of this or another program left it. The memory is taken; none if
    /// the machine's contexts cannot outlive themselves.
    ///
    /// # Errors
    /// If there is no room for the program's variables.
    fn resume(&self, _left: &mut Left) -> Result<Option<Box<dyn Context + '_>>, Diagnostic> {
        Ok(None)
    }
}

/// What a context leaves behind.
#[derive(Debug, Default)]
pub struct Left {
    /// Memory, with everything in it.
    pub memory: MemoryMap,
    /// Where the program's own variables are in it; none before its first context.
    pub variables: Option<vm::Variables>,
}

/// An instruction that something depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependence {
    /// The instruction as it is written.
    pub text: String,
    /// Its line in the program.
    pub line: Option<u32>,
}

/// What a kernel takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelInfo {
    /// Its name.
    pub name: String,
    /// Its parameters, in order.
    pub params: Vec<ParamInfo>,
    /// How many of the last parameters need no argument; they are 0 then.
    pub optional: usize,
    /// Bytes of shared memory that it declares.
    pub shared: u64,
    /// Bytes of local memory for each thread, without calls.
    pub local: u64,
    /// Where it is declared.
    pub span: Option<Span>,
}

/// One parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamInfo {
    /// Its name.
    pub name: String,
    /// Its type as the program spells it.
    pub spelling: String,
    /// Bytes from the start of the parameter block.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
    /// What may be passed.
    pub kind: ParamKind,
}

/// What a parameter holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamKind {
    /// A number that is not a float; may be an address if it has 8 bytes.
    Integer,
    /// A float.
    Float,
    /// Bits without a declared meaning.
    Bits,
    /// A structure or an array by value.
    Aggregate,
}

/// Memory and launches of one program.
pub trait Context {
    /// Makes a buffer of these bytes in memory that all launches share. Gives its address.
    ///
    /// # Errors
    /// Why there is no room, as a sentence.
    fn allocate(&mut self, name: &str, data: &[u8]) -> Result<u64, String>;

    /// Reads back `length` bytes.
    ///
    /// # Errors
    /// Why they cannot be read, as a sentence.
    fn read(&self, address: u64, length: usize) -> Result<Vec<u8>, String>;

    /// The program's own variables in global memory with their contents, in the order of the program.
    fn variables(&self) -> Vec<(String, Vec<u8>)> {
        Vec::new()
    }

    /// In which order a launch of this request lets its groups run.
    fn schedule(&self, _request: &LaunchRequest<'_>) -> Schedule {
        Schedule { class: "sequential", about: "one instruction after the other".to_owned() }
    }

    /// Runs a kernel to its end, or until `watch` says to stop.
    ///
    /// # Errors
    /// What about the request cannot be had.
    fn launch(
        &mut self,
        request: &LaunchRequest<'_>,
        watch: &mut dyn Watch,
    ) -> Result<LaunchResult, LaunchProblem>;

    /// Gives up what [`Program::resume`] took, and where the program's variables are: the context is empty after that.
    fn leave(&mut self) -> Left {
        Left::default()
    }
}

/// All machines, in the order in which messages list them.
#[must_use]
pub fn all() -> &'static [&'static dyn Isa] {
    &[
        &crate::machines::Ptx::LIMITED,
        &crate::machines::IrText,
        &crate::machines::ToyMachine,
        &crate::machines::PmaskMachine,
        &crate::machines::LinxMachine::V04,
        &crate::machines::LinxMachine::V03,
        &crate::machines::PrfMachine,
    ]
}

/// The machine of this name.
///
/// # Errors
/// If there is none; the finding names the nearest, and has no place yet.
pub fn find(name: &str) -> Result<&'static dyn Isa, Diagnostic> {
    let names = || all().iter().map(|m| m.name());
    all().iter().copied().find(|m| m.name() == name).ok_or_else(|| {
        let finding = Diagnostic::error(
            "isa::unknown",
            format!("there is no machine `{}`", crate::elem::shortened(name)),
        );
        finding.help(match nearest(name, names()) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("machines are {}", names().collect::<Vec<_>>().join(", ")),
        })
    })
}

/// The machine that reads programs as the options say; options of other kinds do not matter.
///
/// # Errors
/// If an option says what there is not.
pub fn configured(
    machine: &'static dyn Isa,
    options: &[MachineOption],
) -> Result<&'static dyn Isa, Diagnostic> {
    let mut machine = machine;
    for option in options {
        let OptionValue::String(value) = &option.value.value else { continue };
        match machine.variant(&option.key.value, value) {
            Ok(found) => machine = found.unwrap_or(machine),
            Err(why) => {
                return Err(Diagnostic::error("isa::option", why).at(option.value.span, ""));
            }
        }
    }
    Ok(machine)
}

/// The machine whose programs have this file name extension.
#[must_use]
pub fn by_extension(extension: &str) -> Option<&'static dyn Isa> {
    all().iter().copied().find(|m| m.extensions().contains(&extension))
}
