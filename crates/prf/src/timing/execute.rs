//! The functional units: a dispatched instruction enters its unit in the next cycle and leaves it
//! after the unit's latency.
//!
//! Units take an instruction each cycle, except for the load/store unit, which serves one after the
//! other. An instruction computes when it enters; a load or store when it has been served, so that
//! accesses happen in the order of dispatch. Instructions whose mask is empty pass through their
//! unit like all others.

use std::collections::{BTreeSet, VecDeque};

use simt::mask::WarpMask;
use simt::memory::MemoryMap;

use crate::config::Config;
use crate::counts::participants;
use crate::exec::{Effect, Effects, Inputs, Special, Stop, compute, store};
use crate::op::{Insn, Op, Unit};
use crate::timing::flight::{Flight, Stage};
use crate::timing::stats::Stall;
use prf_parameters::{LoadStore, Params, Units};

/// A unit, and the queue of its results.
#[derive(Clone, Debug, PartialEq)]
struct Pipe {
    unit: Unit,
    latency: u32,
    /// Dispatched in the last cycle, or held up since.
    input: Option<Box<Flight>>,
    /// Inside, with the cycles left; the load/store unit serves the first only.
    inside: VecDeque<(Box<Flight>, u32)>,
    /// Came out in the last cycle, or held up since.
    result: Option<Box<Flight>>,
    pub(crate) queue: VecDeque<Box<Flight>>,
}

/// All units.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Execute {
    pipes: Vec<Pipe>,
    queue: usize,
    waiting_accesses: usize,
    params: Params,
    /// Lines of the data cache that were stored to since the last flush.
    dirty: BTreeSet<u32>,
}

/// The event of an instruction that has been computed.
pub(crate) struct Computed<'a> {
    pub(crate) flight: &'a Flight,
    pub(crate) target: Option<u32>,
}

/// The inputs of a computation besides the instruction.
pub(crate) struct Bench<'a> {
    pub(crate) config: Config,
    pub(crate) memory: &'a mut MemoryMap,
    /// The special registers of the warp in a slot.
    pub(crate) special: &'a dyn Fn(usize) -> Special,
}

impl Execute {
    pub(crate) fn new(params: &Params) -> Self {
        let pipe = |&unit: &Unit| Pipe {
            unit,
            latency: latency(&params.units, unit),
            input: None,
            inside: VecDeque::new(),
            result: None,
            queue: VecDeque::new(),
        };
        Self {
            pipes: Unit::ALL.iter().map(pipe).collect(),
            queue: params.writeback.queue as usize,
            waiting_accesses: params.load_store.queue as usize,
            params: params.clone(),
            dirty: BTreeSet::new(),
        }
    }

    /// Counts times from a cycle on, so that states of different cycles can be compared.
    pub(crate) fn count_from(&mut self, cycle: u64) {
        for pipe in &mut self.pipes {
            let single = pipe.input.iter_mut().chain(&mut pipe.result);
            let inside = pipe.inside.iter_mut().map(|(flight, _)| flight);
            single.chain(inside).chain(&mut pipe.queue).for_each(|f| f.count_from(cycle));
        }
    }

    /// Returns the cycles that writing back dirty lines takes, and marks all lines clean.
    pub(crate) fn flush(&mut self) -> u64 {
        let lines = std::mem::take(&mut self.dirty).len() as u64;
        let LoadStore { flush_first, flush_next, .. } = self.params.load_store;
        let more = lines.saturating_sub(1);
        if lines == 0 { 0 } else { u64::from(flush_first) + u64::from(flush_next) * more }
    }

    /// Returns why the unit of an instruction does not take it.
    pub(crate) fn takes(&self, flight: &Flight) -> Option<Stall> {
        let pipe = &self.pipes[flight.insn.op.unit() as usize];
        let memory = pipe.unit == Unit::LoadStore;
        if memory && pipe.inside.len() + usize::from(pipe.input.is_some()) >= self.waiting_accesses
        {
            return Some(Stall::Memory);
        }
        pipe.input.as_ref()?;
        let behind = pipe.result.is_some() && pipe.queue.len() >= self.queue;
        Some(if behind { Stall::QueueFull } else { Stall::UnitBusy })
    }

    pub(crate) fn dispatch(&mut self, flight: Box<Flight>) {
        let unit = flight.insn.op.unit() as usize;
        self.pipes[unit].input = Some(flight);
    }

    /// Moves results of the last cycle to the queues of their units.
    pub(crate) fn enqueue_results(&mut self) {
        for pipe in &mut self.pipes {
            if pipe.queue.len() < self.queue {
                pipe.queue.extend(pipe.result.take());
            }
        }
    }

    /// Calls `each` for the instructions that their units have output in this cycle.
    pub(crate) fn computed(&mut self, mut each: impl FnMut(&mut Flight)) {
        self.pipes.iter_mut().filter_map(|pipe| pipe.result.as_deref_mut()).for_each(&mut each);
    }

    /// The queues of results, in the order of [`Unit::ALL`].
    pub(crate) fn heads(&self) -> impl Iterator<Item = (usize, usize, &Flight)> {
        let pipes = self.pipes.iter().enumerate();
        pipes.filter_map(|(unit, p)| Some((unit, p.queue.len(), &**p.queue.front()?)))
    }

    pub(crate) fn pop(&mut self, unit: usize) -> Option<Box<Flight>> {
        self.pipes.get_mut(unit)?.queue.pop_front()
    }

    /// Returns whether the load/store unit has work.
    pub(crate) fn accesses(&self) -> bool {
        let pipe = &self.pipes[Unit::LoadStore as usize];
        pipe.input.is_some() || !pipe.inside.is_empty()
    }

    /// Runs one cycle of all units. `computed` receives each instruction when it takes effect on
    /// memory or control.
    pub(crate) fn cycle(
        &mut self,
        cycle: u64,
        bench: &mut Bench<'_>,
        computed: &mut dyn FnMut(Computed<'_>),
    ) -> Result<(), (Stop, Box<Flight>)> {
        let Self { pipes, params, dirty, .. } = self;
        for pipe in pipes {
            if pipe.result.is_some() {
                continue;
            }
            if pipe.unit == Unit::LoadStore {
                pipe.serve(cycle, (params, dirty), bench, computed)?;
            } else {
                pipe.advance(cycle, bench, computed)?;
            }
        }
        Ok(())
    }
}

impl Pipe {
    fn advance(
        &mut self,
        cycle: u64,
        bench: &mut Bench<'_>,
        computed: &mut dyn FnMut(Computed<'_>),
    ) -> Result<(), (Stop, Box<Flight>)> {
        for (_, left) in &mut self.inside {
            *left -= 1;
        }
        if let Some(flight) = self.input.take() {
            let flight = execute(flight, bench, computed)?;
            self.inside.push_back((flight, self.latency - 1));
        }
        if self.inside.front().is_some_and(|(_, left)| *left == 0) {
            self.put_out(cycle);
        }
        Ok(())
    }

    fn serve(
        &mut self,
        cycle: u64,
        (params, dirty): (&Params, &mut BTreeSet<u32>),
        bench: &mut Bench<'_>,
        computed: &mut dyn FnMut(Computed<'_>),
    ) -> Result<(), (Stop, Box<Flight>)> {
        if let Some(flight) = self.input.take() {
            let cycles = access_cycles(&params.load_store, stores(&flight.insn), requests(&flight));
            self.inside.push_back((flight, cycles));
        }
        let Some((_, left)) = self.inside.front_mut() else { return Ok(()) };
        *left -= 1;
        if *left > 0 {
            return Ok(());
        }
        if let Some((flight, _)) = self.inside.pop_front() {
            let flight = execute(flight, bench, computed)?;
            touch(&flight, params.load_store.line, dirty);
            self.inside.push_front((flight, 0));
        }
        self.put_out(cycle);
        Ok(())
    }

    fn put_out(&mut self, cycle: u64) {
        self.result = self.inside.pop_front().map(|(mut flight, _)| {
            flight.pass(Stage::Result, cycle);
            flight
        });
    }
}

/// Computes, and writes memory.
fn execute(
    mut flight: Box<Flight>,
    bench: &mut Bench<'_>,
    computed: &mut dyn FnMut(Computed<'_>),
) -> Result<Box<Flight>, (Stop, Box<Flight>)> {
    if flight.fault.is_some() {
        return Ok(flight);
    }
    let inputs = inputs(&flight, (bench.special)(flight.slot));
    let done = compute(&inputs, bench.config, bench.memory)
        .and_then(|effects| store(&effects.effect, bench.memory).map(|()| effects));
    match done {
        Ok(Effects { effect, target }) => {
            flight.effect = effect;
            computed(Computed { flight: &flight, target });
            Ok(flight)
        }
        Err(stop) => Err((stop, flight)),
    }
}

/// Returns the inputs of an instruction.
pub(crate) fn inputs(flight: &Flight, special: Special) -> Inputs<'_> {
    let Flight { insn, pc, live, predicate, ref a, ref b, .. } = *flight;
    Inputs { insn, pc, special, predicate, live, a, b }
}

pub(crate) fn stores(insn: &Insn) -> bool {
    matches!(insn.op, Op::Sw | Op::Sh | Op::Sb | Op::Prsw)
}

/// The address of each lane that accesses memory, and the bytes of an access; none for other
/// instructions.
pub(crate) fn addresses(flight: &Flight) -> Option<(WarpMask, [u32; 32], u32)> {
    let insn = &flight.insn;
    let (base, size) = match insn.op {
        Op::Lw | Op::Sw => (&flight.a, 4),
        Op::Lh | Op::Sh => (&flight.a, 2),
        Op::Lb | Op::Sb => (&flight.a, 1),
        Op::Prlw | Op::Prsw => (&flight.b, 4),
        _ => return None,
    };
    let on = participants(insn, flight.predicate, flight.live);
    Some((on, base.map(|b| b.wrapping_add_signed(insn.imm)), size))
}

/// Most lines that the cache holds: older ones have been written back.
const LINES: usize = 256;

/// Records the lines that a store writes.
fn touch(flight: &Flight, line: u32, dirty: &mut BTreeSet<u32>) {
    let Some((on, addresses, _)) = addresses(flight).filter(|_| stores(&flight.insn)) else {
        return;
    };
    for lane in on {
        if dirty.len() < LINES {
            dirty.insert(addresses[lane] / line);
        }
    }
}

/// Requests of a load or store: one for each different address.
fn requests(flight: &Flight) -> u32 {
    let Some((on, addresses, _)) = addresses(flight) else { return 0 };
    let mut named: Vec<u32> = on.iter().map(|lane| addresses[lane]).collect();
    named.sort_unstable();
    named.dedup();
    // At most 32.
    named.len() as u32
}

/// Returns whether an effect stays within the instruction's mask, as every effect must.
pub(crate) fn changes_only_its_lanes(flight: &Flight) -> bool {
    let on = participants(&flight.insn, flight.predicate, flight.live);
    match &flight.effect {
        Effect::Register { lanes, .. } | Effect::Store { lanes, .. } => lanes.is_subset(&on),
        Effect::Predicate { set, .. } => set.is_subset(&on),
        Effect::Retire(_) | Effect::None | Effect::Mask { .. } => true,
    }
}

/// Cycles from dispatch to result; those of the load/store unit depend on the addresses.
fn latency(units: &Units, unit: Unit) -> u32 {
    match unit {
        Unit::IntAlu => units.int_alu,
        Unit::IntMul => units.int_mul,
        Unit::IntDiv => units.int_div,
        Unit::FloatAlu => units.float_alu,
        Unit::FloatMul => units.float_mul,
        Unit::FloatDiv => units.float_div,
        Unit::Trig => units.trig,
        Unit::InverseSqrt => units.inverse_sqrt,
        Unit::Convert => units.convert,
        Unit::Branch => units.branch,
        Unit::Jump => units.jump,
        Unit::LoadStore => u32::MAX,
    }
}

/// Returns the cycles from dispatch to result of a load or store with this many requests; one
/// without a lane takes as long as the first.
fn access_cycles(unit: &LoadStore, store: bool, requests: u32) -> u32 {
    let more = requests.saturating_sub(1);
    if !store {
        return unit.load_first + unit.load_next * more;
    }
    let late = requests.saturating_sub(unit.store_buffer).min(more);
    unit.store_first + unit.store_next * (more - late) + unit.store_late * late
}
