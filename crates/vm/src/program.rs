//! Linked programs, and errors of linking.

use crate::code::Rows;
use crate::code::{Code, CollectiveKind, Exec};
use converge::plan::{Plan, PlanError};
use flow::GraphError;
use ir::{LocId, Module};
use simt::Pc;
use thiserror::Error;

/// First address of functions: function `i` is at `FUNCTION_BASE + 16 * i`. Nothing is mapped
/// there.
pub const FUNCTION_BASE: u64 = 0x2_0000;

/// Returns the address of a function.
#[must_use]
pub fn function_address(function: u32) -> u64 {
    FUNCTION_BASE + 16 * u64::from(function)
}

/// The reason that an instruction cannot be linked.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LinkErrorKind {
    /// The module breaks a rule of the IR.
    #[error("{0}")]
    Invalid(Box<ir::verify::VerifyError>),
    /// The engine has no function for this operation with these types and modifiers.
    #[error("`{0}` is not supported with these types and modifiers")]
    Unsupported(&'static str),
    /// An operand is not of a kind that the operation takes.
    #[error("operand {1} of `{0}` is not of a kind that it takes")]
    Operand(&'static str, usize),
    /// The function's flow graph is broken.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// The program's plan is broken.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// More code, rows or blocks than indices can count.
    #[error("the program is too large: {0}")]
    TooLarge(&'static str),
}

/// An instruction that cannot be linked, with its place.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{kind} (in function `{function}`)")]
pub struct LinkError {
    /// The function.
    pub function: String,
    /// The instruction's place in the module's text.
    pub loc: LocId,
    /// The reason.
    pub kind: LinkErrorKind,
}

/// The reason that the text form of a module cannot be loaded.
#[derive(Clone, Debug, Error)]
pub enum LoadError {
    /// It is not UTF-8.
    #[error("not a text: a byte is not UTF-8")]
    NotText,
    /// The text has errors.
    #[error("the text has {} errors", .0.error_count())]
    Text(isa::Diagnostics),
    /// The module cannot be linked.
    #[error("{} instructions cannot be linked", .0.len())]
    Link(Vec<LinkError>),
}

/// The linker's result for a function.
#[derive(Clone, Debug)]
pub(crate) struct FuncInfo {
    pub(crate) entry: Pc,
    pub(crate) end: Pc,
    /// Rows of a frame.
    pub(crate) rows: u32,
    /// Bytes of local variables in a frame, a multiple of 16.
    pub(crate) local_bytes: u32,
    /// Bytes of local variables in the frames of the function and of what it calls, of a kernel and
    /// of functions that kernels reach.
    pub(crate) local_need: u32,
    /// Rows that hold addresses of local variables: row, offset in the frame.
    pub(crate) local_rows: Vec<(u32, i64)>,
    /// Rows that receive arguments, 128-bit ones as two.
    pub(crate) params: Rows,
    /// Rows that are 0 when it is called: it may read them before it has written them.
    pub(crate) cleared: Rows,
    /// Rows that are returned.
    pub(crate) results: Rows,
    pub(crate) kernel: bool,
    /// Functions that it calls directly; all functions whose address is taken, if it calls
    /// indirectly.
    pub(crate) callees: Vec<u32>,
    /// Shared variables that it names.
    pub(crate) shared: Vec<u32>,
    /// Whether it asks where the shared memory is that the system keeps.
    pub(crate) reserved_shared: bool,
}

/// The stack that a call of a function needs per thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameSize {
    /// Rows of 8 bytes for registers.
    pub rows: u32,
    /// Bytes of local variables, a multiple of 16.
    pub local_bytes: u32,
}

/// A linked program: immutable, shared by all launches.
#[derive(Clone, Debug)]
pub struct Program {
    pub(crate) module: Module,
    pub(crate) code: Vec<Code>,
    pub(crate) functions: Vec<FuncInfo>,
    pub(crate) plan: Plan,
    /// Sizes of the group's files: scalars, masks, spill slots.
    pub(crate) scalars: u32,
    pub(crate) masks: u32,
    pub(crate) spills: u32,
    /// Whether some instruction reads a clock: then equal states need not repeat.
    pub(crate) reads_clock: bool,
    /// Functions whose address is taken, by instructions or in variables.
    pub(crate) addressed: Vec<u32>,
}

impl Program {
    /// The module it was linked from.
    #[must_use]
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// All code in order of places.
    #[must_use]
    pub fn code(&self) -> &[Code] {
        &self.code
    }

    /// Whether a kernel, or what it may call, has asynchronous operations or waits for them.
    pub(crate) fn has_asynchronous_operations(&self, kernel: u32) -> bool {
        let is_asynchronous = |code: &Code| match &code.exec {
            Exec::Copy(_) | Exec::Mbarrier(_) | Exec::Bulk(_) | Exec::Tensor(_) => true,
            Exec::Collective(op) => matches!(op.kind, CollectiveKind::WarpGroup(_)),
            Exec::AsyncStore(_) | Exec::WaitProducts(_) => true,
            _ => false,
        };
        self.reachable(kernel).any(|f| self.code_of(f).iter().any(is_asynchronous))
    }

    /// The static plan of its control flow.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the functions whose address is taken, by instructions or in variables: those that
    /// calls by address may lead to. In order, each once.
    #[must_use]
    pub fn addressed(&self) -> &[u32] {
        &self.addressed
    }

    /// The instruction at a place.
    #[must_use]
    pub fn at(&self, pc: Pc) -> Option<&Code> {
        self.code.get(usize::try_from(pc.0).ok()?)
    }

    /// Returns the stack that a call of a function needs, by index.
    #[must_use]
    pub fn frame_size(&self, function: usize) -> Option<FrameSize> {
        let FuncInfo { rows, local_bytes, .. } = *self.functions.get(function)?;
        Some(FrameSize { rows, local_bytes })
    }

    /// The entry of a function, by index.
    #[must_use]
    pub fn entry(&self, function: usize) -> Option<Pc> {
        self.functions.get(function).map(|f| f.entry)
    }
}

impl Program {
    /// A function and all that it may call, each once, itself first.
    pub fn reachable(&self, function: u32) -> impl Iterator<Item = u32> + use<> {
        let mut found = vec![function];
        let mut seen = vec![false; self.functions.len()];
        let mut next = 0;
        while let Some(&f) = found.get(next) {
            next += 1;
            let Some(info) = self.functions.get(f as usize) else { continue };
            seen[f as usize] = true;
            for &callee in &info.callees {
                if !std::mem::replace(&mut seen[callee as usize], true) {
                    found.push(callee);
                }
            }
        }
        found.into_iter()
    }

    /// The code of a function, by index. Instructions that a kernel can reach whose results depend
    /// on how many lanes the architectural warp has.
    pub fn warp_size_dependence(&self, kernel: ir::FuncId) -> Vec<&Code> {
        let code = self.reachable(kernel.0).flat_map(|f| self.code_of(f));
        code.filter(|code| code.shows_warp_size()).collect()
    }

    pub(crate) fn code_of(&self, function: u32) -> &[Code] {
        let Some(info) = self.functions.get(function as usize) else { return &[] };
        &self.code[info.entry.0 as usize..info.end.0 as usize]
    }
}
