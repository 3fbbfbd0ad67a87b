//! Control and status registers.
//!
//! Machine and user mode of the privileged specification as far as a machine without interrupts and
//! address translation has them; CAP (0x7C0 to 0x7F7: unused numbers read zero and ignore writes),
//! RSV (0x7F8 to 0x7FF; 0x7FC and 0x7FD trap) and this project's 0xFC0, which holds what does not
//! fit into 0x7C7. The book's page lists layouts.

use crate::config::{Config, Level};
use crate::pmp::Pmp;
use crate::state::{Mode, State};

/// The number of SVSTATE.
pub(crate) const SVSTATE: u16 = 0x7f8;

/// CSR numbers with names, for assembler and disassembler.
const NAMES: &[(&str, u16)] = &[
    ("fflags", 0x001),
    ("frm", 0x002),
    ("fcsr", 0x003),
    ("cycle", 0xc00),
    ("time", 0xc01),
    ("instret", 0xc02),
    ("mvendorid", 0xf11),
    ("marchid", 0xf12),
    ("mimpid", 0xf13),
    ("mhartid", 0xf14),
    ("mconfigptr", 0xf15),
    ("mstatus", 0x300),
    ("misa", 0x301),
    ("medeleg", 0x302),
    ("mideleg", 0x303),
    ("mie", 0x304),
    ("mtvec", 0x305),
    ("mcounteren", 0x306),
    ("menvcfg", 0x30a),
    ("mcountinhibit", 0x320),
    ("mscratch", 0x340),
    ("mepc", 0x341),
    ("mcause", 0x342),
    ("mtval", 0x343),
    ("mip", 0x344),
    ("pmpcfg0", 0x3a0),
    ("pmpaddr0", 0x3b0),
    ("pmpaddr1", 0x3b1),
    ("pmpaddr2", 0x3b2),
    ("pmpaddr3", 0x3b3),
    ("mcycle", 0xb00),
    ("minstret", 0xb02),
    ("satp", 0x180),
    ("cap.id", 0x7c0),
    ("cap.vers", 0x7c1),
    ("cap.flags", 0x7c2),
    ("cap.pmask.cap", 0x7c7),
    ("cap.prec.mode", 0x7d0),
    ("cap.prec.alt", 0x7d1),
    ("cap.prec.stat", 0x7d2),
    ("svmbase", 0x7f0),
    ("svmidx", 0x7f1),
    ("svmscl", 0x7f2),
    ("svmlen", 0x7f3),
    ("svmmode", 0x7f4),
    ("svstate", SVSTATE),
    ("svsrca", 0x7f9),
    ("svsrcb", 0x7fa),
    ("svdst", 0x7fb),
    ("svsat", 0x7fe),
    ("svfaulti", 0x7ff),
    ("xpm.info", 0xfc0),
];

/// The number of a CSR's name; upper and lower case are the same, and so are `.` and `_`.
#[must_use]
pub fn number(name: &str) -> Option<u16> {
    let name = name.to_ascii_lowercase();
    let name = name.strip_prefix("cap.xmem.").unwrap_or(&name).replace('_', ".");
    NAMES.iter().find(|(n, _)| *n == name).map(|(_, number)| *number)
}

/// The name of a CSR.
#[must_use]
pub fn name(number: u16) -> Option<&'static str> {
    NAMES.iter().find(|(_, n)| *n == number).map(|(name, _)| *name)
}

/// `mstatus` bits.
pub(crate) mod mstatus {
    pub(crate) const MIE: u64 = 1 << 3;
    pub(crate) const MPIE: u64 = 1 << 7;
    pub(crate) const MPP: u64 = 3 << 11;
    pub(crate) const FS: u64 = 3 << 13;
    pub(crate) const MPRV: u64 = 1 << 17;
    pub(crate) const TW: u64 = 1 << 21;
    pub(crate) const WRITABLE: u64 = MIE | MPIE | MPP | FS | MPRV | TW;
    /// User mode has 64-bit registers.
    pub(crate) const UXL: u64 = 2 << 32;
    pub(crate) const SD: u64 = 1 << 63;
}

/// Extensions A, C, D, F, I, M, user mode, non-standard ones; 64 bits.
const MISA: u64 = 2 << 62 | 1 | 1 << 2 | 1 << 3 | 1 << 5 | 1 << 8 | 1 << 12 | 1 << 20 | 1 << 23;

/// The interrupts that a mask may enable: software, timer, external of machine mode.
const MIE_BITS: u64 = 1 << 3 | 1 << 7 | 1 << 11;

/// CSRs of the machine level that are plain storage or derived from little.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Csrs {
    /// `mstatus` without its read-only bits.
    pub mstatus: u64,
    /// `mtvec`; 0 until a program sets it.
    pub mtvec: u64,
    /// `mepc`.
    pub mepc: u64,
    /// `mcause`.
    pub mcause: u64,
    /// `mtval`.
    pub mtval: u64,
    /// `mscratch`.
    pub mscratch: u64,
    /// `mie`.
    pub mie: u64,
    /// `mcounteren`.
    pub mcounteren: u64,
    /// Physical memory protection.
    pub pmp: Pmp,
    /// `fflags`.
    pub fflags: u8,
    /// `frm`.
    pub frm: u8,
    pub(crate) cycle: Counter,
    pub(crate) instret: Counter,
}

/// A counter that programs may write and stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counter {
    offset: u64,
    stopped: Option<u64>,
}

impl Counter {
    fn read(self, events: u64) -> u64 {
        self.stopped.unwrap_or_else(|| events.wrapping_add(self.offset))
    }

    /// Makes the next instruction read `value`: the writing instruction does not count.
    fn write(&mut self, value: u64, events: u64) {
        match &mut self.stopped {
            Some(stopped) => *stopped = value,
            None => self.offset = value.wrapping_sub(events.wrapping_add(1)),
        }
    }

    fn stop(&mut self, stop: bool, events: u64) {
        match (stop, self.stopped) {
            (true, None) => self.stopped = Some(self.read(events)),
            (false, Some(value)) => {
                self.stopped = None;
                self.write(value, events);
            }
            _ => {}
        }
    }
}

/// An access that is not possible: it traps as an illegal instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoAccess;

/// Checks an access against the mode that a CSR's number requires, and whether the CSR is
/// read-only.
fn check(state: &State, number: u16, write: bool) -> Result<(), NoAccess> {
    let (lowest, read_only) = (number >> 8 & 3, number >> 10 == 3);
    let privileged = state.mode == Mode::Machine || lowest == 0;
    if privileged && !(write && read_only) { Ok(()) } else { Err(NoAccess) }
}

/// Reads a CSR; `write` says whether it will also be written.
///
/// # Errors
/// Returns [`NoAccess`] if it does not exist, or not in this mode.
pub fn read(state: &State, number: u16, write: bool) -> Result<u64, NoAccess> {
    check(state, number, write)?;
    let csr = &state.csr;
    let counter = |bit: u32, value: u64| {
        let allowed = state.mode == Mode::Machine || csr.mcounteren >> bit & 1 == 1;
        if allowed { Ok(value) } else { Err(NoAccess) }
    };
    Ok(match number {
        0x001..=0x003 if csr.mstatus & mstatus::FS == 0 => return Err(NoAccess),
        0x001 => csr.fflags.into(),
        0x002 => csr.frm.into(),
        0x003 => u64::from(csr.frm) << 5 | u64::from(csr.fflags),
        0xc00 => counter(0, csr.cycle.read(state.cycles))?,
        0xc01 => counter(1, state.cycles)?,
        0xc02 => counter(2, csr.instret.read(state.retired))?,
        0xb00 => csr.cycle.read(state.cycles),
        0xb02 => csr.instret.read(state.retired),
        // Further counters and their events do not count.
        0xb03..=0xb1f | 0x323..=0x33f => 0,
        0xc03..=0xc1f => counter(u32::from(number - 0xc00), 0)?,
        0x300 => {
            let dirty = csr.mstatus & mstatus::FS == mstatus::FS;
            csr.mstatus | mstatus::UXL | if dirty { mstatus::SD } else { 0 }
        }
        0x301 => MISA,
        0x304 => csr.mie,
        0x305 => csr.mtvec,
        0x306 => csr.mcounteren,
        // No trigger is of any type.
        0x30a | 0x344 | 0x7a0..=0x7a3 => 0,
        0x320 => {
            u64::from(csr.cycle.stopped.is_some()) | u64::from(csr.instret.stopped.is_some()) << 2
        }
        0x340 => csr.mscratch,
        0x3a0 => csr.pmp.config(),
        0x3a2..=0x3ae if number & 1 == 0 => 0,
        0x3b0..=0x3ef => csr.pmp.address(usize::from(number - 0x3b0)),
        0x341 => csr.mepc,
        0x342 => csr.mcause,
        0x343 => csr.mtval,
        0xf11..=0xf15 => 0,
        0x7c0..=0x7f7 => read_cap(state, number),
        SVSTATE..=0x7ff => read_rsv(state, number)?,
        0xfc0 => info(&state.config),
        _ => return Err(NoAccess),
    })
}

/// Returns whether a CSR changes without being written.
pub(crate) fn counts(number: u16) -> bool {
    matches!(number, 0xb00 | 0xb02 | 0xc00..=0xc02)
}

fn read_cap(state: &State, number: u16) -> u64 {
    match number {
        // "SLAB" and the version 0.1.1 of the documents.
        0x7c0 => 0x534c_4142,
        0x7c1 => 0x0001_0100,
        0x7c7 => capabilities(&state.config),
        0x7d0 if state.rsv.zero => state.config.zmode_bit.mask(),
        0x7d2 => u64::from(state.rsv.zero) << 11,
        0x7f2 => u64::from(state.rsv.first_fault) << 4,
        _ => 0,
    }
}

fn read_rsv(state: &State, number: u16) -> Result<u64, NoAccess> {
    Ok(match number {
        SVSTATE => state.rsv.svstate(),
        0x7f9 => state.rsv.source_a.bits(),
        0x7fa => state.rsv.source_b.bits(),
        0x7fb => state.rsv.dest.bits(),
        0x7fe => 0,
        0x7ff => state.rsv.fault_index,
        _ => return Err(NoAccess),
    })
}

/// Returns the value of 0x7C7: PMASK exists, programmable banks, mask algebra.
fn capabilities(config: &Config) -> u64 {
    match config.pmask {
        true => 1 | u64::from(config.banks - 1) << 1 | 1 << 4,
        false => 0,
    }
}

/// Returns the values of 0x7C7 and 0xFC0.
pub(crate) fn discovery(config: &Config) -> (u64, u64) {
    (capabilities(config), info(config))
}

/// Returns the value of 0xFC0: level 1:0, fused branches 2, `pmmov.to_p0` with a bank 3, lane forms
/// 4, CEXP 5, tests with a bank 6, `RT.BBOX` 7, MASKW 14:8, VLMAX 22:16.
fn info(config: &Config) -> u64 {
    let level = match (config.pmask, config.level) {
        (false, _) => 0,
        (true, Level::M1) => 1,
        (true, Level::M2) => 2,
    };
    let bit = |on: bool, at: u32| u64::from(on && config.pmask) << at;
    level
        | bit(config.has("FUSED"), 2)
        | bit(config.to_p0_bank, 3)
        | bit(config.lane_forms, 4)
        | u64::from(config.cexp) << 5
        | bit(config.pcmp_bank, 6)
        | u64::from(config.rt) << 7
        | if config.pmask { u64::from(config.maskw) << 8 } else { 0 }
        | u64::from(config.most_lanes()) << 16
}

/// Writes a CSR; fields that cannot hold a value keep theirs.
///
/// # Errors
/// If it does not exist, is read-only, or does not exist in this mode.
pub fn write(state: &mut State, number: u16, value: u64) -> Result<(), NoAccess> {
    check(state, number, true)?;
    let (cycles, retired) = (state.cycles, state.retired);
    let csr = &mut state.csr;
    match number {
        0x001..=0x003 => {
            if csr.mstatus & mstatus::FS == 0 {
                return Err(NoAccess);
            }
            csr.mstatus |= mstatus::FS;
            match number {
                0x001 => csr.fflags = value as u8 & 0x1f,
                0x002 => csr.frm = value as u8 & 7,
                _ => (csr.fflags, csr.frm) = (value as u8 & 0x1f, (value >> 5) as u8 & 7),
            }
        }
        0x300 => {
            let mut new = value & mstatus::WRITABLE;
            // Only machine mode (3) and user mode (0) exist.
            if !matches!(new & mstatus::MPP, 0 | mstatus::MPP) {
                new = new & !mstatus::MPP | csr.mstatus & mstatus::MPP;
            }
            csr.mstatus = new;
        }
        0x304 => csr.mie = value & MIE_BITS,
        0x305 => csr.mtvec = value & !2,
        0x306 => csr.mcounteren = value & 7,
        0x320 => {
            csr.cycle.stop(value & 1 != 0, cycles);
            csr.instret.stop(value & 4 != 0, retired);
        }
        0x340 => csr.mscratch = value,
        0x3a0 => csr.pmp.set_config(value),
        0x3a2..=0x3ae if number & 1 == 0 => {}
        0x3b0..=0x3ef => csr.pmp.set_address(usize::from(number - 0x3b0), value),
        0x341 => csr.mepc = value & !1,
        0x342 => csr.mcause = value,
        0x343 => csr.mtval = value,
        0xb00 => csr.cycle.write(value, cycles),
        0xb02 => csr.instret.write(value, retired),
        0x301 | 0x30a | 0x344 | 0x7a0..=0x7a3 | 0xb03..=0xb1f | 0x323..=0x33f => {}
        0x7c0..=0x7f7 => write_cap(state, number, value),
        0x7f8..=0x7ff => write_rsv(state, number, value)?,
        _ => return Err(NoAccess),
    }
    state.locked = state.csr.pmp.locks();
    Ok(())
}

fn write_cap(state: &mut State, number: u16, value: u64) {
    match number {
        // Takes effect only with APPLY0.
        0x7d0 if value >> 63 == 1 => {
            state.rsv.zero = value & state.config.zmode_bit.mask() != 0;
        }
        0x7f2 => state.rsv.first_fault = value >> 4 & 1 == 1,
        _ => {}
    }
}

fn write_rsv(state: &mut State, number: u16, value: u64) -> Result<(), NoAccess> {
    let State { rsv, config, .. } = state;
    match number {
        0x7f8 => rsv.set_svstate(value, config),
        0x7f9 => rsv.source_a.set(value),
        0x7fa => rsv.source_b.set(value),
        0x7fb => rsv.dest.set(value),
        0x7fe => {}
        0x7ff => rsv.fault_index = value,
        _ => return Err(NoAccess),
    }
    Ok(())
}
