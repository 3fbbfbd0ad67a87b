//! The verifier: what holds of every module that runs.
//!
//! Front ends and passes make modules; [`VerifiedModule`] is the only way from there into an engine
//! or a pass. The verifier reports all violations, up to [`VerifyErrors::CAP`], each with its rule,
//! place and cause. These are the rules:
//!
//! Modules
//! - **V1** (`name`): names of functions and variables, and of a kernel's parameters, are not empty
//!   and are unique.
//! - **V2** (`variable`): a variable lies in global, constant or shared space; its alignment is a
//!   power of two; its size is not 0 unless it stands for dynamic shared memory, which has size 0;
//!   its initial bytes fit; a shared one has none.
//! - **V3** (`reloc`): an address in an initialiser takes 4 or 8 bytes, lies in its variable, and
//!   is that of a variable or function of the module.
//! - **V4** (`place`): places, source files and inlined calls that anything refers to are in their
//!   tables; an inlined call refers to earlier ones.
//!
//! Functions
//! - **V5** (`signature`): parameters and results of a device function are per-lane registers of
//!   it, parameters distinct.
//! - **V6** (`parameter`): kernel parameters are aligned to powers of two, do not overlap, stand in
//!   order of their offsets, have the size of their type unless they are aggregates (`b8`), and
//!   take at most [`MAX_PARAM_BYTES`]; pointers have 32 or 64 bits; launch bounds are not 0.
//! - **V7** (`local`): local variables are aligned to powers of two, do not overlap, stand in order
//!   of their offsets, are not empty, and take at most [`MAX_FRAME_BYTES`].
//! - **V8** (`limit`): at most [`MAX_REGS`] registers of each file, [`MAX_BLOCKS`] blocks,
//!   [`MAX_SPILL_SLOTS`] spill slots.
//! - **V9** (`register-type`): masks are in the warp file only.
//! - **V10** (`no-entry`): a function has at least one block, its entry.
//! - **V11** (`falls-off`): a block that falls through has a block behind it.
//! - **V12** (`target`): targets of branches are blocks of the function; a switch has at least one.
//!
//! Instructions
//! - **V13** (`register`): registers exist.
//! - **V14** (`guard`): a guard is a per-lane predicate; instructions that execute for the whole
//!   group have none: uniform ones, EXEC-mask operations, calls, and convergence operations other
//!   than `cb_break`.
//! - **V15** (`type`): an instruction has the types that its row takes, and none if it takes none.
//! - **V16** (`modifier`): it has the modifiers that its row requires, none that the row does not
//!   take, and they fit its types (rounding and the float flags need a float; comparisons,
//!   approximations and read-modify-write operations exist for the types for which the PTX ISA has
//!   them).
//! - **V17** (`count`): it has as many results and operands as its row takes; vectors have 1, 2, 4
//!   or 8 elements and at most 256 bits, and are loaded into registers of one type; parts add up to
//!   the whole, also of packed pairs; a collective has a member mask or says `nomask`; modifiers
//!   that go with an operand come with it.
//! - **V18** (`operand`): each operand is of the kind and type that its slot asks for. Registers
//!   have exactly the type's width, but stores and conversions may read wider ones.
//! - **V19** (`result`): likewise each result; loads and conversions may write wider registers. No
//!   register is written twice, and no mask is discarded.
//! - **V20** (`immediate`): immediates fit what they are read as.
//! - **V21** (`symbol`): symbols exist, and an address is used in the space it belongs to (global
//!   and constant addresses are generic ones, too).
//! - **V22** (`uniform`): an instruction with a warp register as a result is a computation or
//!   EXEC-mask operation, and a computation reads only warp registers and immediates then.
//! - **V23** (`call`): a call's function is a device function, and arguments and results are as
//!   many and of the types as its own.
//! - **V24** (`memory`): space, order and scope are such as the operation can have; parameter space
//!   only in kernels.
//! - **V25** (`spill-slot`): spill slots exist.
//! - **V26** (`offset`): a byte offset comes with an address.

mod error;
mod function;
mod inst;
mod memory;
mod module;
mod rules;

pub use error::{Place, Rule, VerifyError, VerifyErrors, Violation};

use crate::module::{BlockId, FuncId, Function, Inst, LocId, Module, Reg};
use crate::ty::RegTy;
use std::ops::Deref;

/// Most bytes of a kernel's parameters (as in PTX from version 8.1 on).
pub const MAX_PARAM_BYTES: u32 = 32_764;
/// Most bytes of a thread's local variables (as on the devices that PTX describes).
pub const MAX_FRAME_BYTES: u32 = crate::device::LOCAL as u32;
/// Most registers of a function in each file.
pub const MAX_REGS: usize = 1 << 20;
/// Most blocks of a function: enough for a million branches as passes write them.
pub const MAX_BLOCKS: usize = 1 << 22;
/// Most spill slots of a function.
pub const MAX_SPILL_SLOTS: u32 = 1 << 12;
/// CTA barriers.
pub const BARRIERS: u128 = 16;

/// Checks all rules.
///
/// # Errors
/// The violations, in order of their places.
pub fn verify(module: &Module) -> Result<(), VerifyErrors> {
    let mut checker = Checker { module, errors: VerifyErrors::default() };
    checker.module();
    for (i, function) in module.functions.iter().enumerate() {
        let id = FuncId(i as u32);
        checker.function(id, function);
        for (b, block) in function.blocks.iter().enumerate() {
            let block_id = BlockId(b as u32);
            for (index, inst) in block.insts.iter().enumerate() {
                let place = Place::Inst(id, block_id, index);
                checker.inst(&At { function, place, loc: inst.loc }, inst);
            }
            let place = Place::End(id, block_id);
            checker.end(&At { function, place, loc: block.term.loc }, block_id, &block.term);
        }
    }
    if checker.errors.is_empty() { Ok(()) } else { Err(checker.errors) }
}

/// Checks one instruction as one of the function's, whether or not it stands in it. Nothing else is
/// checked.
///
/// # Errors
/// Its violations.
pub(crate) fn inst_violations(
    module: &Module,
    function: FuncId,
    inst: &Inst,
) -> Result<(), VerifyErrors> {
    let mut checker = Checker { module, errors: VerifyErrors::default() };
    let place = Place::Function(function);
    let at = At { function: &module.functions[function.index()], place, loc: inst.loc };
    checker.inst(&at, inst);
    if checker.errors.is_empty() { Ok(()) } else { Err(checker.errors) }
}

/// A module that keeps all rules: what engines and passes take.
#[derive(Clone, Debug, PartialEq)]
pub struct VerifiedModule(Module);

impl VerifiedModule {
    /// Verifies a module.
    ///
    /// # Errors
    /// The violations. To keep the module in that case, call [`verify`] first.
    pub fn new(module: Module) -> Result<Self, VerifyErrors> {
        verify(&module)?;
        Ok(Self(module))
    }

    /// The module, to be changed and verified again.
    #[must_use]
    pub fn into_inner(self) -> Module {
        self.0
    }
}

impl Deref for VerifiedModule {
    type Target = Module;
    fn deref(&self) -> &Module {
        &self.0
    }
}

impl AsRef<Module> for VerifiedModule {
    fn as_ref(&self) -> &Module {
        &self.0
    }
}

/// Where the checker is.
struct At<'m> {
    function: &'m Function,
    place: Place,
    loc: LocId,
}

impl At<'_> {
    /// The type of a register, if the function has it.
    fn reg_ty(&self, reg: Reg) -> Option<RegTy> {
        let info = match reg {
            Reg::Lane(r) => self.function.regs.get(r.index()),
            Reg::Warp(r) => self.function.warp_regs.get(r.index()),
        };
        info.map(|i| i.ty)
    }
}

struct Checker<'m> {
    module: &'m Module,
    errors: VerifyErrors,
}

impl Checker<'_> {
    fn report(&mut self, at: &At<'_>, violation: Violation) {
        self.errors.push(VerifyError { place: at.place, loc: at.loc, violation });
    }

    /// Reports unless `holds`.
    fn check(&mut self, at: &At<'_>, holds: bool, violation: impl FnOnce() -> Violation) {
        if !holds {
            self.report(at, violation());
        }
    }
}
