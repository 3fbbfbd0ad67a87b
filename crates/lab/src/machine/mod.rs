//! The interface of machines, and the list of them.
//!
//! The command line, launch files and file tests know machines only through [`Isa`]: an instruction
//! set that loads programs and, if it can, assembles, disassembles and runs a conformance suite. A
//! machine reports commands that it does not support; nothing else in the laboratory depends on the
//! set of machines. To add one, implement [`Isa`] and enter it in [`all`].

mod graph;
mod launch;

use std::fmt;

pub use graph::{ControlFlow, FlowBlock, PostDominator};
use isa::{Diagnostic, Diagnostics, FileId, Span};
pub use launch::{
    Choice, End, HANGS, HostThreads, LaunchMonitor, LaunchProblem, LaunchRequest, LaunchResult,
    Level, Progress, Schedule, Stop, Subject, Unmonitored,
};
use simt::memory::MemoryMap;

use crate::launch::{Located, MachineOption, OptionValue};
use isa::suggest::nearest;

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

/// Loads a program on a stack that suffices for any text, whatever the caller's is: what is wrong
/// is added to `found`. None if it cannot run.
pub fn load(
    machine: &dyn Isa,
    image: Image<'_>,
    wanted: &[Located<String>],
    found: &mut Diagnostics,
) -> Option<Box<dyn Program>> {
    let bytes = image.bytes.len();
    if !hostmem::room_for_text(bytes) {
        let message = format!(
            "a program of {} is too large for the memory that this process may have",
            crate::limits::human_bytes(bytes as u128)
        );
        found.push(
            Diagnostic::error("input::memory", message)
                .at(Span::new(image.file, 0, 0), "")
                .help("raise the limit (`ulimit -v`), or split the program"),
        );
        return None;
    }
    let loaded = hostmem::on_own_stack(|| machine.load(image, wanted, found));
    loaded.unwrap_or_else(|| {
        found.push(Diagnostic::error("input::memory", "the host has no thread to load it on"));
        None
    })
}

/// One case of a conformance suite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConformCase {
    /// The behaviour under test.
    pub name: String,
    /// The failure, if the case failed.
    pub failure: Option<String>,
}

/// Returns the error for a command that a machine does not support.
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
    /// Returns the kernels, in the order of the text.
    fn kernels(&self) -> Vec<KernelInfo>;

    /// Returns the numbers of a kernel's parameters that are pointers through which 32-bit floats
    /// alone are accessed, as far as that is known before the kernel runs: only parameters all of
    /// whose accesses are known.
    fn float_pointers(&self, _kernel: &str) -> Vec<usize> {
        Vec::new()
    }

    /// Returns a kernel's control-flow graph; `None` if the kernel is unknown or the machine has no
    /// graphs.
    fn control_flow(&self, kernel: &str) -> Option<ControlFlow>;

    /// Returns the functions that a kernel calls directly or indirectly, by the names that
    /// [`Program::control_flow`] accepts.
    fn called(&self, _kernel: &str) -> Vec<String> {
        Vec::new()
    }

    /// Returns the instructions that make a kernel's results depend on the warp size that it sees,
    /// such as those that read lane numbers or shuffle.
    fn warp_size_dependence(&self, _kernel: &str) -> Vec<Dependence> {
        Vec::new()
    }

    /// Returns the kernel IR to which the program was lowered, if it was.
    fn module(&self) -> Option<&ir::Module> {
        None
    }

    /// Returns warnings about problems that may occur at run time.
    fn warnings(&self) -> Vec<Diagnostic> {
        Vec::new()
    }

    /// Creates a context for launches: memory that contains the program's variables.
    ///
    /// # Errors
    /// Returns a diagnostic if there is no memory for them.
    fn context(&self) -> Result<Box<dyn Context + '_>, Diagnostic>;

    /// Creates a context on the memory that another context of this or another program left. Takes
    /// the memory out of `saved`. Returns `None` if the machine does not support this.
    ///
    /// # Errors
    /// Returns a diagnostic if there is no room for the program's variables.
    fn resume(
        &self,
        _saved: &mut ContextState,
    ) -> Result<Option<Box<dyn Context + '_>>, Diagnostic> {
        Ok(None)
    }
}

/// The state that a context leaves to its successor.
#[derive(Debug, Default)]
pub struct ContextState {
    /// Guest memory with its contents.
    pub memory: MemoryMap,
    /// Addresses of the program's variables in it; `None` before the program's first context.
    pub variables: Option<vm::Variables>,
}

/// An instruction that causes a dependence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependence {
    /// The text of the instruction.
    pub text: String,
    /// Its line in the program.
    pub line: Option<u32>,
}

/// The properties of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelInfo {
    /// Its name.
    pub name: String,
    /// Its parameters, in order.
    pub params: Vec<ParamInfo>,
    /// Number of trailing parameters that may be omitted; they default to 0.
    pub optional: usize,
    /// Declared shared memory in bytes.
    pub shared: u64,
    /// Local memory per thread in bytes, without that of callees.
    pub local: u64,
    /// Its declaration.
    pub span: Option<Span>,
}

/// A parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamInfo {
    /// Its name.
    pub name: String,
    /// Its type as the program spells it.
    pub spelling: String,
    /// Offset in the parameter block in bytes.
    pub offset: u64,
    /// Size in bytes.
    pub size: u64,
    /// The kind of value that it accepts.
    pub kind: ParamKind,
}

/// The kind of value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamKind {
    /// An integer; may be an address if it has 8 bytes.
    Integer,
    /// A floating-point number.
    Float,
    /// Bits without a declared type.
    Bits,
    /// A structure or an array, by value.
    Aggregate,
}

/// Memory and launches of one program.
pub trait Context {
    /// Allocates a buffer with the contents `data` in memory that all launches share, and returns
    /// its address.
    ///
    /// # Errors
    /// Returns the reason as a sentence if the buffer cannot be allocated.
    fn allocate(&mut self, name: &str, data: &[u8]) -> Result<u64, String>;

    /// Reads `length` bytes at `address`.
    ///
    /// # Errors
    /// Returns the reason as a sentence if the bytes cannot be read.
    fn read(&self, address: u64, length: usize) -> Result<Vec<u8>, String>;

    /// Returns the names and contents of the program's global variables, in program order.
    fn variables(&self) -> Vec<(String, Vec<u8>)> {
        Vec::new()
    }

    /// Describes the order in which a launch of this request issues its groups.
    fn schedule(&self, _request: &LaunchRequest<'_>) -> Schedule {
        Schedule { class: "sequential", about: "one instruction after the other".to_owned() }
    }

    /// Runs a kernel until it ends or `monitor` stops it.
    ///
    /// # Errors
    /// Returns the problem if the machine cannot run the request.
    fn launch(
        &mut self,
        request: &LaunchRequest<'_>,
        monitor: &mut dyn LaunchMonitor,
    ) -> Result<LaunchResult, LaunchProblem>;

    /// Gives up the memory that [`Program::resume`] took, and the addresses of the program's
    /// variables. The context is empty afterwards.
    fn take_state(&mut self) -> ContextState {
        ContextState::default()
    }
}

/// Returns all machines, in the order in which messages list them.
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

/// Returns the machine of this name.
///
/// # Errors
/// Returns a diagnostic without a location if there is none; it suggests the nearest name.
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

/// Returns the machine that reads programs as the options specify. Ignores other options.
///
/// # Errors
/// Returns a diagnostic if an option has an invalid value.
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

/// Returns the machine whose programs have this file name extension.
#[must_use]
pub fn by_extension(extension: &str) -> Option<&'static dyn Isa> {
    all().iter().copied().find(|m| m.extensions().contains(&extension))
}
