//! Loaded programs, and the memory in which their kernels run.

use inputs::kernel::KernelInfo;
use isa::Diagnostic;
use simt::memory::MemoryMap;

use crate::graph::ControlFlow;
use crate::launch::{LaunchProblem, LaunchRequest, LaunchResult, Schedule};
use crate::monitor::LaunchMonitor;

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

    /// Returns what `check` tells of a program that is right: a sentence a line.
    fn remarks(&self) -> Vec<String> {
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

/// A range of guest addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryRange {
    /// The first address.
    pub start: u64,
    /// Length in bytes.
    pub length: u64,
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

    /// Returns the ranges of memory that guests may write, ascending: what a dump of all memory
    /// holds. Empty on machines without such dumps.
    fn ranges(&self) -> Vec<MemoryRange> {
        Vec::new()
    }

    /// Returns the value of a symbol of the program.
    fn symbol(&self, _name: &str) -> Option<u64> {
        None
    }

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
