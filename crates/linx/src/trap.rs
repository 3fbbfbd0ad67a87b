//! Traps: number, cause, argument, place.
//!
//! TRAPNO is `E[63] ARGV[62] CAUSE[47:24] TRAPNUM[5:0]`. Where v0.4 does not define the cause of an
//! event, it is 0 here and no bits are invented; further facts are in `detail`, outside of the
//! architecture.

use simt::memory::AccessError;
use simt::trap::Cause;

/// Major classes that this machine raises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum TrapNum {
    /// A return from a trap that was not taken, or that cannot be resumed.
    ExecStateCheck = 0,
    /// Illegal instruction or encoding.
    IllegalInst = 4,
    /// Block format or control-flow integrity.
    Block = 5,
    /// `acrc`.
    ServiceCall = 6,
    /// Fetch from an address that is not mapped.
    InstPageFault = 33,
    /// Misaligned data, where the option asks for it.
    DataAlignFault = 34,
    /// Data at an address that is not mapped, or must not be written.
    DataPageFault = 35,
    /// `ebreak` other than `ebreak 0`.
    Breakpoint = 50,
    /// `assert` of zero.
    AssertFail = 52,
}

/// A trap.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{}: {detail} (TRAPNO {:#018x}, TRAPARG0 {}, BI {}, TPC {tpc:#x})",
    self.name(),
    self.trapno(),
    arg_text(*.arg),
    u8::from(*.bi)
)]
pub struct Trap {
    /// Major class.
    pub num: TrapNum,
    /// 24-bit cause.
    pub cause: u32,
    /// TRAPARG0, if it is valid.
    pub arg: Option<u64>,
    /// Whether it happened in a body rather than in a header or scalar block.
    pub bi: bool,
    /// The instruction.
    pub tpc: u64,
    /// A description of the event.
    pub detail: String,
    /// Whether no handler and no action can resume it.
    pub fatal: bool,
    /// The number that a variant gives its cause.
    pub reported: Option<u32>,
}

/// The causes with numbers of their own, by the names of reports.
pub(crate) const CAUSES: [(&str, TrapNum, u32); 6] = [
    ("illegal-instruction", TrapNum::IllegalInst, 0x100),
    ("illegal-parameter", TrapNum::IllegalInst, 0x200),
    ("cfi-bad-target", TrapNum::Block, 0x101),
    ("cfi-missing-marker", TrapNum::Block, 0x103),
    ("block-format", TrapNum::Block, 0x200),
    ("body-fetch", TrapNum::Block, 0x300),
];

fn arg_text(arg: Option<u64>) -> String {
    arg.map_or_else(|| "not valid".to_owned(), |arg| format!("{arg:#x}"))
}

/// Families of header descriptors in TRAPARG0 of a format trap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Family {
    /// None in particular.
    Generic = 0,
    /// Dimensions.
    Dim = 1,
    /// The body.
    Text = 2,
    /// The argument word.
    Arg = 3,
    /// Scalars.
    Ior = 4,
    /// Tiles.
    Iot = 5,
}

/// The error of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Detail {
    /// It is missing.
    Missing = 0,
    /// It is there with a value that is out of range.
    Invalid = 1,
    /// It must not be there.
    Illegal = 2,
}

impl Trap {
    fn new(
        num: TrapNum,
        cause: u32,
        arg: Option<u64>,
        tpc: u64,
        detail: impl Into<String>,
    ) -> Self {
        let detail = detail.into();
        Self { num, cause, arg, bi: false, tpc, detail, fatal: false, reported: None }
    }

    /// The 64-bit trap number.
    #[must_use]
    pub fn trapno(&self) -> u64 {
        let cause = self.reported.unwrap_or(self.cause);
        u64::from(self.arg.is_some()) << 62 | u64::from(cause) << 24 | self.num as u64
    }

    /// Returns whether mapping its address can resolve it.
    #[must_use]
    pub fn is_page_fault(&self) -> bool {
        matches!(self.num, TrapNum::DataPageFault | TrapNum::InstPageFault)
    }

    /// The same, in a body.
    #[must_use]
    pub fn in_body(self) -> Self {
        Self { bi: true, ..self }
    }

    /// The name that specification texts use.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match (self.num, self.cause) {
            (TrapNum::ExecStateCheck, _) => "EXEC_STATE_CHECK",
            (TrapNum::IllegalInst, 0x200) => "ILLEGAL_INST(EC_PARAM)",
            (TrapNum::IllegalInst, _) => "ILLEGAL_INST",
            (TrapNum::Block, 0x100..=0x1ff) => "E_BLOCK(EC_CFI)",
            (TrapNum::Block, 0x200..=0x2ff) => "E_BLOCK(EC_BLOCKFMT)",
            (TrapNum::Block, _) => "E_BLOCK(EC_BFETCH)",
            (TrapNum::ServiceCall, _) => "SCALL",
            (TrapNum::InstPageFault, _) => "E_DATA(INST_PAGE_FAULT)",
            (TrapNum::DataAlignFault, _) => "DATA_ALIGN_FAULT",
            (TrapNum::DataPageFault, _) => "E_DATA(DATA_PAGE_FAULT)",
            (TrapNum::Breakpoint, _) => "SW_BREAKPOINT",
            (TrapNum::AssertFail, _) => "ASSERT_FAIL",
        }
    }

    pub(crate) fn illegal(tpc: u64, detail: impl Into<String>) -> Self {
        Self::new(TrapNum::IllegalInst, 0x100, Some(tpc), tpc, detail)
    }

    pub(crate) fn parameter(tpc: u64, offset: u64, detail: impl Into<String>) -> Self {
        Self::new(TrapNum::IllegalInst, 0x200, Some(offset), tpc, detail)
    }

    pub(crate) fn bad_target(source: u64, target: u64) -> Self {
        let detail = format!("{target:#x} is not a block start marker");
        Self::new(TrapNum::Block, 0x101, Some(source), source, detail)
    }

    pub(crate) fn missing_marker(source: u64, at: u64) -> Self {
        let detail = format!("a block start marker must stand at {at:#x}");
        Self::new(TrapNum::Block, 0x103, Some(source), source, detail)
    }

    pub(crate) fn format(
        tpc: u64,
        family: Family,
        detail: Detail,
        words: impl Into<String>,
    ) -> Self {
        let arg = family as u64 | (detail as u64) << 8;
        Self::new(TrapNum::Block, 0x200, Some(arg), tpc, words)
    }

    pub(crate) fn body_fetch(tpc: u64, target: u64, words: impl Into<String>) -> Self {
        let trap = Self::new(TrapNum::Block, 0x300, Some(target), tpc, words);
        Self { fatal: true, bi: true, ..trap }
    }

    /// No code at `at`, where the instruction at `tpc` starts or goes on.
    pub(crate) fn fetch(tpc: u64, at: u64) -> Self {
        Self::new(TrapNum::InstPageFault, 0, Some(at), tpc, format!("no code at {at:#x}"))
    }

    pub(crate) fn data(tpc: u64, address: u64, error: &AccessError) -> Self {
        Self::new(TrapNum::DataPageFault, 0, Some(address), tpc, error.to_string())
    }

    /// An address that cannot be translated.
    pub(crate) fn translation(tpc: u64, address: u64) -> Self {
        Self::new(TrapNum::DataPageFault, 0, Some(address), tpc, "")
    }

    pub(crate) fn align(tpc: u64, address: u64, size: u64) -> Self {
        let detail = format!("{address:#x} is not a multiple of {size}");
        Self::new(TrapNum::DataAlignFault, 0, Some(address), tpc, detail)
    }

    pub(crate) fn plain(num: TrapNum, tpc: u64, detail: impl Into<String>) -> Self {
        Self::new(num, 0, None, tpc, detail)
    }
}

impl Cause for Trap {
    fn code(&self) -> &'static str {
        match (self.num, self.cause) {
            (TrapNum::ExecStateCheck, _) => "exec-state-check",
            (TrapNum::IllegalInst, 0x200) => "illegal-parameter",
            (TrapNum::IllegalInst, _) => "illegal-instruction",
            (TrapNum::Block, 0x101) => "cfi-bad-target",
            (TrapNum::Block, 0x100..=0x1ff) => "cfi-missing-marker",
            (TrapNum::Block, 0x200..=0x2ff) => "block-format",
            (TrapNum::Block, _) => "body-fetch",
            (TrapNum::ServiceCall, _) => "service-call",
            (TrapNum::InstPageFault, _) => "instruction-page-fault",
            (TrapNum::DataAlignFault, _) => "data-align-fault",
            (TrapNum::DataPageFault, _) => "data-page-fault",
            (TrapNum::Breakpoint, _) => "breakpoint",
            (TrapNum::AssertFail, _) => "assert-fail",
        }
    }
}
