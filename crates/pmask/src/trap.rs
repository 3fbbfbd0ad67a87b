//! Traps of the hart, and the ends of a run.

use simt::trap::Cause;

/// The cause of a trap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TrapCause {
    /// 1: an instruction is not in memory.
    FetchFault,
    /// 2: not an instruction of this machine, or not in this mode.
    Illegal,
    /// 3: `ebreak`.
    Breakpoint,
    /// 4: a misaligned load.
    LoadMisaligned,
    /// 5: a load outside memory.
    LoadFault,
    /// 6: a misaligned store or atomic.
    StoreMisaligned,
    /// 7: a store or atomic outside memory.
    StoreFault,
    /// 8: `ecall` in user mode.
    UserCall,
    /// 11: `ecall` in machine mode.
    MachineCall,
}

impl TrapCause {
    /// The value of `mcause`.
    #[must_use]
    pub const fn number(self) -> u64 {
        match self {
            Self::FetchFault => 1,
            Self::Illegal => 2,
            Self::Breakpoint => 3,
            Self::LoadMisaligned => 4,
            Self::LoadFault => 5,
            Self::StoreMisaligned => 6,
            Self::StoreFault => 7,
            Self::UserCall => 8,
            Self::MachineCall => 11,
        }
    }

    /// Returns whether it comes from a data access, so that it has a lane.
    #[must_use]
    pub const fn is_access(self) -> bool {
        matches!(
            self,
            Self::LoadMisaligned | Self::LoadFault | Self::StoreMisaligned | Self::StoreFault
        )
    }

    /// Stable short name.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::FetchFault => "instruction-access-fault",
            Self::Illegal => "illegal-instruction",
            Self::Breakpoint => "breakpoint",
            Self::LoadMisaligned => "load-address-misaligned",
            Self::LoadFault => "load-access-fault",
            Self::StoreMisaligned => "store-address-misaligned",
            Self::StoreFault => "store-access-fault",
            Self::UserCall | Self::MachineCall => "environment-call",
        }
    }
}

/// A trap that is about to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trap {
    /// The cause.
    pub cause: TrapCause,
    /// The value of `mtval`: an address or an instruction.
    pub value: u64,
}

impl Trap {
    pub(crate) const fn new(cause: TrapCause, value: u64) -> Self {
        Self { cause, value }
    }
}

/// The reason that a run stops although the program has not ended it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StopCause {
    /// A trap while no handler is set.
    #[error(
        "{} (mcause {}, mepc {pc:#x}, mtval {:#x}) with no trap handler set: {hint}",
        .trap.cause.code(),
        .trap.cause.number(),
        .trap.value
    )]
    Trap {
        /// The trap.
        trap: Trap,
        /// The instruction.
        pc: u64,
        /// A likely reason, and a remedy.
        hint: String,
    },
    /// The program prints without end.
    #[error("the program has printed more than {limit} bytes")]
    OutputLimit {
        /// The limit in bytes.
        limit: usize,
    },
}

impl Cause for StopCause {
    fn code(&self) -> &'static str {
        match self {
            Self::Trap { trap, .. } => trap.cause.code(),
            Self::OutputLimit { .. } => "output-limit",
        }
    }
}
