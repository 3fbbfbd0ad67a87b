//! The registers that the instruction at a place would read and write: what a debugger asks before
//! it is issued.
//!
//! Under RSV a lane has the registers of its windows, and a lane that is off writes zero under
//! ZMODE. An instruction that traps writes nothing, so accesses are tried. CSRs that are not
//! registers of the debugger are left out.

use simt::inspect::Effects;

use crate::csr;
use crate::decode::{Inst, decode};
use crate::exec::{float_is_on, mem, rsv};
use crate::inspect::{FLOATS, P0, SVSTATE};
use crate::machine::fetch_at;
use crate::op::{CsrOp, File, FpOp, Op, PmOp, Test};
use crate::state::State;

/// Registers in the order in which they are found.
#[derive(Default)]
struct Found {
    reads: Vec<u32>,
    writes: Vec<u32>,
}

impl Found {
    /// Reads integer registers; x0 is a number.
    fn x(&mut self, registers: &[u8]) {
        self.reads.extend(registers.iter().filter(|&&r| r != 0).map(|&r| u32::from(r & 31)));
    }

    fn f(&mut self, registers: &[u8]) {
        self.reads.extend(registers.iter().map(|&r| FLOATS + u32::from(r & 31)));
    }

    /// Reads a bank; bank 0 is as many ones as SVSTATE says.
    fn bank(&mut self, bank: u8) {
        self.reads.push(if bank == 0 { SVSTATE } else { P0 + u32::from(bank) });
    }

    fn write_x(&mut self, register: u8) {
        self.writes.extend((register != 0).then_some(u32::from(register & 31)));
    }

    fn write_bank(&mut self, bank: u8) {
        self.writes.extend((bank != 0).then_some(P0 + u32::from(bank)));
    }

    fn effects(mut self) -> Effects {
        for list in [&mut self.reads, &mut self.writes] {
            list.sort_unstable();
            list.dedup();
        }
        // Lanes that are off write where they are told to.
        Effects {
            reads: self.reads,
            writes: self.writes,
            unmasked: true,
            momentary: true,
            ..Effects::default()
        }
    }
}

/// The effects of the instruction at an address for a lane; none if there is no instruction.
pub(crate) fn of(state: &State, pc: u64, lane: u32) -> Effects {
    let mut found = Found::default();
    let Ok(word) = fetch_at(state, pc) else { return found.effects() };
    let inst = decode(word, &state.config);
    let lanes = rsv::lanes(state);
    if rsv::affects(state, &inst) {
        if lane < u32::from(lanes.count) {
            of_lane(state, &inst, (lane as u8, lanes), &mut found);
        }
    } else if lane == 0 {
        of_scalar(state, &inst, &mut found);
    }
    found.effects()
}

/// A lane of an instruction that runs lane by lane.
fn of_lane(state: &State, inst: &Inst, (lane, lanes): (u8, rsv::Lanes), found: &mut Found) {
    let own = rsv::of_lane(&state.rsv, inst, lane);
    let (on, before) = (lanes.on >> lane & 1 == 1, lanes.on & ((1 << lane) - 1));
    let zero = state.rsv.control.map_or(state.rsv.zero, |control| control.zero);
    found.bank(state.rsv.pbank);
    found.reads.push(SVSTATE);
    found.writes.push(SVSTATE);
    match inst.op {
        Op::Compress | Op::Expand => {
            let source = |lane: u8| state.rsv.source_a.register(inst.rs1, lane);
            let packed = u32::from(lane) < lanes.on.count_ones();
            // The source of this place: the true lane of this rank, or the lane of this rank.
            let from = match inst.op {
                Op::Compress => {
                    (0..lanes.count).filter(|l| lanes.on >> l & 1 == 1).nth(lane.into())
                }
                _ => on.then(|| before.count_ones() as u8),
            };
            found.x(&from.map(source).into_iter().collect::<Vec<_>>());
            if zero || if inst.op == Op::Compress { packed } else { on } {
                found.write_x(own.rd);
            }
        }
        Op::Test(test) if on => {
            of_test(test, &own, found);
            found.bank(inst.bank);
        }
        Op::Test(_) => {}
        _ if on => of_data(state, &own, offset(state, inst, lane), found),
        _ if zero => destination(&own, found),
        _ => {}
    }
}

/// What is added to the address of an access of a lane.
fn offset(state: &State, inst: &Inst, lane: u8) -> u64 {
    match state.rsv.source_a.step {
        0 => u64::from(lane) * inst.op.access().map_or(0, simt::memory::Width::bytes),
        _ => 0,
    }
}

fn of_test(test: Test, inst: &Inst, found: &mut Found) {
    found.x(&[inst.rs1]);
    if test != Test::NonZero {
        found.x(&[inst.rs2]);
    }
    found.writes.push(P0);
    found.write_bank(inst.bank);
}

fn destination(inst: &Inst, found: &mut Found) {
    match inst.op.destination() {
        Some((File::X, _)) => found.write_x(inst.rd),
        Some((File::F, _)) => found.writes.push(FLOATS + u32::from(inst.rd & 31)),
        None => {}
    }
}

/// An instruction on data, once; `offset` is added to the address of an access.
fn of_data(state: &State, inst: &Inst, offset: u64, found: &mut Found) {
    let address = state.x[usize::from(inst.rs1 & 31)];
    let address = address.wrapping_add_signed(inst.imm).wrapping_add(offset);
    let loads = || inst.op.access().is_some_and(|w| mem::load(state, address, w).is_ok());
    let mut completes = true;
    match inst.op {
        Op::Alu(_) => found.x(&[inst.rs1, if inst.has_imm { 0 } else { inst.rs2 }]),
        Op::Lui => {}
        Op::Load(..) => {
            found.x(&[inst.rs1]);
            completes = loads();
        }
        Op::FLoad(_) => {
            found.x(&[inst.rs1]);
            completes = float_is_on(state) && loads();
        }
        Op::Store(_) => found.x(&[inst.rs1, inst.rs2]),
        Op::FStore(_) => {
            found.x(&[inst.rs1]);
            found.f(&[inst.rs2]);
        }
        Op::Fp(op, _) => {
            match op {
                FpOp::FromInt(_) | FpOp::MoveFromInt => found.x(&[inst.rs1]),
                FpOp::Madd | FpOp::Msub | FpOp::Nmsub | FpOp::Nmadd => {
                    found.f(&[inst.rs1, inst.rs2, inst.rs3]);
                }
                FpOp::Sqrt | FpOp::Class | FpOp::ToInt(_) | FpOp::Convert | FpOp::MoveToInt => {
                    found.f(&[inst.rs1]);
                }
                _ => found.f(&[inst.rs1, inst.rs2]),
            }
            completes = float_is_on(state);
        }
        _ => {}
    }
    if completes {
        destination(inst, found);
    }
}

/// An instruction that runs once.
fn of_scalar(state: &State, inst: &Inst, found: &mut Found) {
    match inst.op {
        Op::Auipc | Op::Jal => found.write_x(inst.rd),
        Op::Jalr => {
            found.x(&[inst.rs1]);
            found.write_x(inst.rd);
        }
        Op::Branch(_) => found.x(&[inst.rs1, inst.rs2]),
        Op::BranchP0(_) => found.reads.push(P0),
        Op::BranchBank(_) => found.bank(inst.bank),
        Op::Lr(_) | Op::Sc(_) | Op::Amo(..) => {
            found.x(&[inst.rs1]);
            if !matches!(inst.op, Op::Lr(_)) {
                found.x(&[inst.rs2]);
            }
            let address = state.x[usize::from(inst.rs1 & 31)];
            let there = inst.op.access().is_some_and(|w| mem::load(state, address, w).is_ok());
            if there && !state.rsv.enabled {
                found.write_x(inst.rd);
            }
        }
        Op::Csr(op) => of_csr(state, inst, op == CsrOp::Write || inst.rs1 != 0, found),
        Op::CsrImm(op) => of_csr(state, inst, op == CsrOp::Write || inst.imm != 0, found),
        // Calls of the host: their number and arguments, and their result.
        Op::Ecall | Op::Ebreak => {
            found.x(&[10, 11, 12, 13, 14, 15, 16, 17]);
            if state.csr.mtvec == 0 {
                found.write_x(10);
            }
        }
        Op::Mret => found.writes.push(SVSTATE),
        Op::Pm(op) => of_mask(state, op, inst, found),
        Op::Test(test) => {
            of_test(test, inst, found);
            // The other bits of the bank stay.
            if inst.bank > 0 {
                found.bank(inst.bank);
            }
        }
        Op::Psel => {
            found.x(&[inst.rs1, inst.rs2]);
            found.reads.push(P0);
            found.write_x(inst.rd);
        }
        Op::Compress | Op::Expand => {
            found.x(&[inst.rs1]);
            found.write_x(inst.rd);
        }
        Op::SvPopcnt => {
            found.bank(state.rsv.pbank);
            found.reads.push(SVSTATE);
            found.write_x(inst.rd);
        }
        Op::SetVl | Op::SetVlImm => {
            found.x(&[inst.rs1]);
            found.write_x(inst.rd);
            found.reads.push(SVSTATE);
            found.writes.push(SVSTATE);
        }
        Op::SvOne | Op::SvBlk | Op::SvEnd | Op::SvStep => {
            found.reads.push(SVSTATE);
            found.writes.push(SVSTATE);
        }
        Op::RtBbox => {
            found.x(&[inst.rs1]);
            found.writes.push(P0);
            found.write_x(inst.rd);
        }
        _ => of_data(state, inst, 0, found),
    }
}

fn of_csr(state: &State, inst: &Inst, writes: bool, found: &mut Found) {
    if matches!(inst.op, Op::Csr(_)) {
        found.x(&[inst.rs1]);
    }
    if inst.csr == csr::SVSTATE {
        found.reads.push(SVSTATE);
    }
    if csr::read(state, inst.csr, writes).is_ok() {
        found.write_x(inst.rd);
        if inst.csr == csr::SVSTATE && writes {
            found.writes.push(SVSTATE);
        }
    }
}

/// An operation on P0 and the banks.
fn of_mask(state: &State, op: PmOp, inst: &Inst, found: &mut Found) {
    let bank = inst.bank;
    match op {
        PmOp::Clr | PmOp::Set => {
            if op == PmOp::Set {
                found.reads.push(SVSTATE);
            }
            if bank > 0 {
                found.write_bank(bank);
                found.writes.push(P0);
            }
        }
        PmOp::Not | PmOp::And | PmOp::Or | PmOp::Xor | PmOp::Andn => {
            found.x(&[inst.rs1]);
            if bank > 0 {
                found.bank(bank);
                found.write_bank(bank);
                found.writes.push(P0);
            } else if state.config.scalar_algebra && state.config.banks == 1 {
                found.reads.push(P0);
                found.writes.push(P0);
            }
        }
        PmOp::LowWr | PmOp::HighWr => {
            found.x(&[inst.rs1]);
            found.bank(bank);
            found.write_bank(bank);
        }
        PmOp::P0 => {
            found.reads.push(P0);
            found.write_x(inst.rd);
        }
        PmOp::LowRd | PmOp::HighRd | PmOp::Any | PmOp::None | PmOp::All | PmOp::Popcnt => {
            found.bank(bank);
            found.reads.push(SVSTATE);
            found.write_x(inst.rd);
        }
    }
}
