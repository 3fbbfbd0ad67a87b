//! RSV: a scalar instruction repeated over the lanes of register windows, under the mask of a bank.
//!
//! Lanes run one after another, ascending, each seeing the results of those before it. A lane that
//! is off does nothing but, with ZMODE set, zero its destination. A fault in lane k leaves the
//! lanes before it done, k and later ones not started, SVFAULTI = k, and the instruction to be
//! started again from lane 0; a first-fault load that faults after its first true lane stops there
//! without a trap.

use simt::LaneMask;
use simt::memory::Width;
use simt::observe::Observer;

use crate::decode::Inst;
use crate::exec::{Context, data, pm};
use crate::op::{File, Op, Test};
use crate::state::{Rsv, State, ones};
use crate::trap::Trap;

/// The lanes of an instruction about to run.
#[derive(Clone, Copy)]
pub(crate) struct Lanes {
    /// Number of lanes, at least 1.
    pub(crate) count: u8,
    /// The lanes that are on.
    pub(crate) on: u64,
}

/// Returns the lanes that an affected instruction would run now.
pub(crate) fn lanes(state: &State) -> Lanes {
    let count = state.rsv.vl.max(1);
    Lanes { count, on: state.lanes(state.rsv.pbank) & ones(count) }
}

/// Returns whether the instruction runs lane by lane now.
pub(crate) fn affects(state: &State, inst: &Inst) -> bool {
    state.rsv.enabled
        && match inst.op {
            Op::Test(_) => inst.bank > 0 && state.config.lane_forms,
            op => op.lane_wise(),
        }
}

/// Runs an affected instruction and uses up its one-shot or its place in the block.
pub(crate) fn run<O: Observer<1>>(
    state: &mut State,
    inst: &Inst,
    lanes: Lanes,
    context: &mut Context<'_, O>,
) -> Result<(), Trap> {
    let rsv = state.rsv;
    let zero = rsv.control.map_or(rsv.zero, |c| c.zero);
    match inst.op {
        Op::Compress => compress(state, inst, lanes, zero),
        Op::Expand => expand(state, inst, lanes, zero),
        Op::Test(test) => lane_test(state, test, inst, lanes),
        _ => each_lane(state, inst, lanes, zero, context)?,
    }
    state.rsv.consume();
    Ok(())
}

/// The instruction with the registers of one lane.
pub(crate) fn of_lane(rsv: &Rsv, inst: &Inst, lane: u8) -> Inst {
    Inst {
        rd: rsv.dest.register(inst.rd, lane),
        rs1: rsv.source_a.register(inst.rs1, lane),
        rs2: rsv.source_b.register(inst.rs2, lane),
        rs3: rsv.dest.register(inst.rs3, lane),
        ..*inst
    }
}

fn each_lane<O: Observer<1>>(
    state: &mut State,
    inst: &Inst,
    lanes: Lanes,
    zero: bool,
    context: &mut Context<'_, O>,
) -> Result<(), Trap> {
    let rsv = state.rsv;
    let load = matches!(inst.op, Op::Load(..) | Op::FLoad(_));
    let first_fault = rsv.first_fault && load;
    // A base register that is the same for all lanes means consecutive elements.
    let stride = if rsv.source_a.step == 0 { inst.op.access().map_or(0, Width::bytes) } else { 0 };
    let mut some_done = false;
    for lane in 0..lanes.count {
        let of_lane = of_lane(&rsv, inst, lane);
        if lanes.on >> lane & 1 == 0 {
            if zero {
                write_zero(state, &of_lane);
            }
            continue;
        }
        context.lane = lane.into();
        if let Err(trap) = data(state, &of_lane, u64::from(lane) * stride, context) {
            if trap.cause.is_access() {
                state.rsv.fault_index = lane.into();
                if first_fault && some_done {
                    return Ok(());
                }
            }
            return Err(trap);
        }
        some_done = true;
    }
    if first_fault {
        state.rsv.fault_index = lanes.count.into();
    }
    Ok(())
}

/// Zero of the destination's format.
fn write_zero(state: &mut State, inst: &Inst) {
    match inst.op.destination() {
        Some((File::X, zero)) => state.set_x(inst.rd, zero),
        Some((File::F, zero)) => state.f[usize::from(inst.rd & 31)] = zero,
        None => {}
    }
}

/// True lanes of the source, packed from lane 0 on; the lanes behind them are merged or zeroed.
fn compress(state: &mut State, inst: &Inst, lanes: Lanes, zero: bool) {
    let rsv = state.rsv;
    let source = |lane: u8| state.x[usize::from(rsv.source_a.register(inst.rs1, lane))];
    let mut packed = [0; 64];
    let on = (0..lanes.count).filter(|lane| lanes.on >> lane & 1 == 1);
    let mut count = 0u8;
    for (slot, lane) in packed.iter_mut().zip(on) {
        *slot = source(lane);
        count += 1;
    }
    for (lane, value) in (0..lanes.count).zip(packed) {
        if lane < count || zero {
            state.set_x(rsv.dest.register(inst.rd, lane), value);
        }
    }
}

/// Lanes of the source from lane 0 on, spread over the true lanes; the others are merged or zeroed.
fn expand(state: &mut State, inst: &Inst, lanes: Lanes, zero: bool) {
    let rsv = state.rsv;
    let mut sources = [0; 64];
    for (slot, lane) in sources.iter_mut().zip(0..lanes.count) {
        *slot = state.x[usize::from(rsv.source_a.register(inst.rs1, lane))];
    }
    let mut next = sources.into_iter();
    for lane in 0..lanes.count {
        let on = lanes.on >> lane & 1 == 1;
        let value = if on { next.next().unwrap_or(0) } else { 0 };
        if on || zero {
            state.set_x(rsv.dest.register(inst.rd, lane), value);
        }
    }
}

/// A test of each true lane into its bit of a bank, the other bits staying; P0 becomes bit 0.
fn lane_test(state: &mut State, test: Test, inst: &Inst, lanes: Lanes) {
    let rsv = state.rsv;
    let holds = |lane: u8| {
        let a = state.x[usize::from(rsv.source_a.register(inst.rs1, lane))];
        let b = state.x[usize::from(rsv.source_b.register(inst.rs2, lane))];
        pm::holds(test, a, b)
    };
    let on = LaneMask::<1>::from_bits(lanes.on);
    let result = on.filter(|lane| holds(lane as u8)).bits();
    let new = state.bank(inst.bank) & !lanes.on | result;
    state.set_bank(inst.bank, new);
    state.masks.p0 = new & 1 == 1;
}
