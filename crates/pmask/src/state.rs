//! The architectural state.

use calls::Calls;
use simt::memory::{AccessResult, Addr, MemoryMap};
use simt::slots::LaneSlots;

use crate::code::Decoded;
use crate::config::Config;
use crate::csr::{Csrs, mstatus};
use crate::host::Host;
use crate::pmp::Need;

/// A privilege mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// User mode.
    User,
    /// Machine mode.
    Machine,
}

/// Predicate state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Masks {
    /// The scalar predicate: a bit of its own, no alias of a bank's.
    pub p0: bool,
    /// Banks 1 to 3; bits at and above MASKW are zero, and so are banks that do not exist.
    pub banks: [u64; 3],
}

/// `count` ones from bit 0 on; at most 64.
#[must_use]
#[inline]
pub const fn ones(count: u8) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}

/// A register window: the register of each lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Added to the register number of the instruction.
    pub offset: u8,
    /// Registers from lane to lane; 0 is broadcast.
    pub step: i8,
}

impl Window {
    /// The CSR's value: OFFSET 4:0, STEP 15:8.
    #[must_use]
    pub fn bits(self) -> u64 {
        u64::from(self.offset) | u64::from(self.step as u8) << 8
    }

    pub(crate) fn set(&mut self, bits: u64) {
        self.offset = bits as u8 & 31;
        self.step = (bits >> 8) as u8 as i8;
    }

    /// The register of a lane, modulo 32.
    #[must_use]
    #[inline]
    pub fn register(self, field: u8, lane: u8) -> u8 {
        let distance = i32::from(lane) * i32::from(self.step);
        ((i32::from(field) + i32::from(self.offset) + distance) & 31) as u8
    }
}

/// Overrides of `svon.fpctl`, until the next affected instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FpControl {
    /// Rounding mode for instructions that use the dynamic one.
    pub rounding: u8,
    /// Suppression of exceptions: kept, without effect.
    pub sae: bool,
    /// ZMODE.
    pub zero: bool,
}

/// RSV state, with the bits of CAP and XMEM that govern lanes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rsv {
    /// Lanes are enabled.
    pub enabled: bool,
    /// For one affected instruction only.
    pub one_shot: bool,
    /// The bank that predicates lanes.
    pub pbank: u8,
    /// Vector length; 0 is unset.
    pub vl: u8,
    /// Affected instructions left of a block; 0 without one.
    pub block: u16,
    /// `enabled` at the last trap.
    pub saved_enabled: bool,
    /// `one_shot` at the last trap.
    pub saved_one_shot: bool,
    /// Window of `rs1`.
    pub source_a: Window,
    /// Window of `rs2`.
    pub source_b: Window,
    /// Window of `rd`, and of `rs3`.
    pub dest: Window,
    /// SVFAULTI.
    pub fault_index: u64,
    /// `SVMSCL.FOF`: loads stop at a fault that is not their first true lane's.
    pub first_fault: bool,
    /// ZMODE: false merges, true zeroes.
    pub zero: bool,
    /// A pending `svon.fpctl`.
    pub control: Option<FpControl>,
}

impl Rsv {
    /// The value of SVSTATE.
    #[must_use]
    pub fn svstate(&self) -> u64 {
        u64::from(self.enabled)
            | u64::from(self.one_shot) << 1
            | u64::from(self.pbank) << 2
            | u64::from(self.vl) << 8
            | u64::from(self.block) << 16
            | u64::from(self.saved_enabled) << 28
            | u64::from(self.saved_one_shot) << 29
    }

    /// Writes SVSTATE: a bank that does not exist leaves PBANK, VL and BLK are clamped.
    pub(crate) fn set_svstate(&mut self, value: u64, config: &Config) {
        self.enabled = value & 1 != 0;
        self.one_shot = value & 2 != 0;
        let bank = (value >> 2) as u8 & 3;
        let banks = if config.pmask { config.banks } else { 1 };
        if bank < banks {
            self.pbank = bank;
        }
        self.vl = ((value >> 8) as u8 & 0x7f).min(config.most_lanes());
        self.block = ((value >> 16) as u16 & 0x1ff).min(256);
        self.saved_enabled = value >> 28 & 1 != 0;
        self.saved_one_shot = value >> 29 & 1 != 0;
    }

    /// Ends one affected instruction: uses up the one-shot or one of the block.
    pub(crate) fn consume(&mut self) {
        self.control = None;
        if self.one_shot {
            (self.enabled, self.one_shot) = (false, false);
        } else if self.block > 0 {
            self.block -= 1;
            self.enabled = self.block > 0;
        }
    }
}

/// Everything that changes while a program runs.
#[derive(Clone, Debug)]
pub struct State {
    /// Integer registers; x0 stays 0.
    pub x: [u64; 32],
    /// Floating-point registers; a binary32 is NaN-boxed.
    pub f: [u64; 32],
    /// Address of the next instruction.
    pub pc: u64,
    /// Privilege mode.
    pub mode: Mode,
    /// Control and status registers.
    pub csr: Csrs,
    /// P0 and the banks.
    pub masks: Masks,
    /// Lanes.
    pub rsv: Rsv,
    /// Guest memory. Code that writes it other than through [`write`](Self::write) must not write
    /// to code that has run.
    pub memory: MemoryMap,
    /// Console, exit, host interfaces.
    pub host: Host,
    /// The options of the machine.
    pub config: Config,
    /// Instructions completed.
    pub retired: u64,
    /// Steps made, those that trapped included.
    pub cycles: u64,
    /// Address and bytes of a load-reserved that still holds.
    pub reservation: Option<(u64, u64)>,
    /// Where the lanes of every issue went.
    pub slots: LaneSlots,
    /// Memory protection holds for machine mode too.
    pub(crate) locked: bool,
    pub(crate) decoded: Decoded,
    /// Stores, reads of counters and calls of the host: what may make the same registers go on
    /// differently.
    pub(crate) involved: u64,
    /// The instruction jumped to itself without changing anything.
    pub(crate) stuck: bool,
    /// The calls that the program is in, for debuggers.
    pub(crate) calls: Calls,
}

impl State {
    /// Reset, with this memory.
    #[must_use]
    pub fn new(config: Config, memory: MemoryMap) -> Self {
        let mut masks = Masks::default();
        if let (Some(seed), true) = (config.reset_random, config.pmask) {
            let mut random = seed;
            masks.p0 = mix(&mut random) & 1 == 1;
            let programmable = usize::from(config.banks.saturating_sub(1));
            for bank in masks.banks.iter_mut().take(programmable) {
                *bank = mix(&mut random) & ones(config.maskw);
            }
        }
        let vl = config.vl.min(config.most_lanes());
        Self {
            x: [0; 32],
            f: [0; 32],
            pc: 0,
            mode: Mode::Machine,
            // Floating point is on: the reset value of FS is left open, and programs without an
            // operating system use it.
            csr: Csrs { mstatus: 1 << 13 | mstatus::MPP, ..Csrs::default() },
            masks,
            rsv: Rsv { vl, zero: config.zero, ..Rsv::default() },
            memory,
            host: Host::default(),
            config,
            retired: 0,
            cycles: 0,
            reservation: None,
            slots: LaneSlots::default(),
            locked: false,
            decoded: Decoded::default(),
            involved: 0,
            stuck: false,
            calls: Calls::default(),
        }
    }

    /// Returns whether memory protection allows a data access.
    #[inline]
    pub(crate) fn may_access(&self, addr: u64, size: u64, need: Need) -> bool {
        let csr = &self.csr;
        let as_user = csr.mstatus & (mstatus::MPRV | mstatus::MPP) == mstatus::MPRV;
        let machine = self.mode == Mode::Machine && !as_user;
        (machine && !self.locked) || csr.pmp.allows(machine, addr, size, need)
    }

    /// Returns whether memory protection allows an instruction fetch.
    #[inline]
    pub(crate) fn may_fetch(&self, addr: u64, size: u64) -> bool {
        let machine = self.mode == Mode::Machine;
        (machine && !self.locked) || self.csr.pmp.allows(machine, addr, size, Need::Execute)
    }

    /// Writes guest memory, under the guest's rules.
    ///
    /// # Errors
    /// If the bytes are not all inside memory; then nothing is written.
    pub fn write(&mut self, addr: u64, bytes: &[u8]) -> AccessResult<()> {
        self.memory.write_bytes(Addr(addr), bytes)?;
        self.changed(addr, bytes.len() as u64);
        Ok(())
    }

    /// Notes that guest memory was written.
    #[inline]
    pub(crate) fn changed(&mut self, addr: u64, size: u64) {
        self.involved += 1;
        self.decoded.forget(addr, size);
    }

    /// Writes an integer register; writes to x0 vanish.
    #[inline]
    pub fn set_x(&mut self, register: u8, value: u64) {
        if register != 0 {
            self.x[usize::from(register & 31)] = value;
        }
    }

    /// The effective vector length of mask operations: VL, or MASKW while VL is unset.
    #[must_use]
    #[inline]
    pub fn evl(&self) -> u8 {
        if self.rsv.vl == 0 { self.config.maskw } else { self.rsv.vl }
    }

    /// A bank as it reads: bank 0 has evl ones.
    #[must_use]
    #[inline]
    pub fn bank(&self, bank: u8) -> u64 {
        match bank.checked_sub(1).and_then(|i| self.masks.banks.get(usize::from(i))) {
            Some(bits) => *bits,
            None => ones(self.evl()),
        }
    }

    /// Writes a bank; writes to bank 0 vanish.
    #[inline]
    pub fn set_bank(&mut self, bank: u8, value: u64) {
        let value = value & ones(self.config.maskw);
        if let Some(bits) =
            bank.checked_sub(1).and_then(|i| self.masks.banks.get_mut(usize::from(i)))
        {
            *bits = value;
        }
    }

    /// The lanes of a bank that count: those below evl.
    #[must_use]
    #[inline]
    pub fn lanes(&self, bank: u8) -> u64 {
        self.bank(bank) & ones(self.evl())
    }
}

/// SplitMix64.
fn mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
