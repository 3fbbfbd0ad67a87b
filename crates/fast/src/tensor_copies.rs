//! Tensor copies, which are done where they stand ([`crate::asynchronous`]).

use crate::Declined;
use crate::asynchronous::UNDEFINED;
use crate::code::{Memory, Src};
use crate::machine::Machine;
use crate::memory::{Location, WarpMemory};
use crate::row::lanes;
use crate::warp::Warp;
use ir::mods::{AtomOp, Bulk};
use simt::tensor::{BYTES, Run, TensorElement, TensorSwizzle};
use vm::{TensorOp, TensorPlan};

/// Bytes of units that are copied one by one.
const UNIT: usize = 16;
/// Bytes of shared memory within which swizzles move units.
const LINE: usize = 128;
/// The bits of an address in the shared memory of a cluster that are the rank of a CTA.
const RANK: u64 = 0xff00_0000;

impl Machine<'_> {
    /// Executes tensor copies, one for each lane that is on.
    pub(crate) fn tensor_copies(
        &mut self,
        warp: &Warp,
        op: &TensorOp<Src>,
        [map, tensor]: &[Memory; 2],
        on: u32,
    ) -> Result<(), Declined> {
        self.stats.memory_instructions += 1;
        self.progress = true;
        for lane in lanes(on) {
            let get = |src: Src| warp.lane(src, lane);
            let (thread, address) = (warp.first_thread as usize + lane, get(op.map));
            let content = self.with_memory(|memory| -> Result<[u8; BYTES], Declined> {
                let place = memory.place(map, address, (BYTES as u64, 64), thread, false)?;
                memory.bytes(place, BYTES).first_chunk().copied().ok_or(UNDEFINED)
            })?;
            let plan = vm::plan_copy(op, (address, &content), get).map_err(|_| UNDEFINED)?;
            let barrier = |at| self.barrier_place(warp, at, lane, true);
            let barrier = op.barrier.map(barrier).transpose()?;
            let targets = match op.mask.map(get) {
                Some(mask) => Some(self.ctas_of(mask)?),
                None => None,
            };
            match op.kind {
                Bulk::Load => self.load_tensor(&plan, tensor, thread, targets.as_deref())?,
                _ => self.store_tensor(&plan, op.combine, tensor, thread)?,
            }
            self.complete_all(barrier, targets.as_deref(), plan.bytes)?;
        }
        Ok(())
    }

    /// Moves what a load reads.
    fn load_tensor(
        &mut self,
        plan: &TensorPlan,
        tensor: &Memory,
        thread: usize,
        targets: Option<&[usize]>,
    ) -> Result<(), Declined> {
        // What is multicast has to have a place in the CTA whose address it names, too.
        let (slot, _) = self.home(plan.shared, true)?;
        let first = self.cluster_of(self.slot).start;
        let Some(ranks) = targets else { return self.load_tensor_to(slot, plan, tensor, thread) };
        if ranks.is_empty() {
            return Err(Declined::Running("a multicast has no destination"));
        }
        ranks.iter().try_for_each(|rank| self.load_tensor_to(first + rank, plan, tensor, thread))
    }

    /// Moves what a load reads into the shared memory of the CTA in a slot.
    fn load_tensor_to(
        &mut self,
        slot: usize,
        plan: &TensorPlan,
        tensor: &Memory,
        thread: usize,
    ) -> Result<(), Declined> {
        let fill = plan.map.filling();
        // All of it lies in the window of one CTA.
        let base = if self.context.cluster_size == 1 { 0 } else { plan.shared & RANK };
        self.with_memory_of(slot, |memory| -> Result<(), Declined> {
            let mut done = Ok(());
            let mut load = |bytes: Run, swizzle: TensorSwizzle| {
                if done.is_ok() {
                    done = load_units(memory, (tensor, thread), (bytes, swizzle, base), fill);
                }
            };
            if plan.lines_of_bytes(|line| load(line, plan.map.swizzle)).is_none() {
                plan.runs().into_iter().for_each(|run| load(run, TensorSwizzle::None));
            }
            done
        })
    }

    fn store_tensor(
        &mut self,
        plan: &TensorPlan,
        combine: Option<AtomOp>,
        tensor: &Memory,
        thread: usize,
    ) -> Result<(), Declined> {
        if plan.map.element == TensorElement::U6x16Align16 {
            return Err(Declined::Running("a tensor copy packs elements"));
        }
        let combine = match combine {
            Some(op) => Some((op, vm::tensor_reduction(plan.map.element, op).ok_or(UNDEFINED)?)),
            None => None,
        };
        self.with_memory(|memory| -> Result<(), Declined> {
            for run in plan.runs() {
                let Some(global) = run.global else { continue };
                let at = ((run.shared & 0xffff_ffff).wrapping_sub(memory.base)) as usize;
                let len = run.bytes as usize;
                if at.checked_add(len).is_none_or(|end| end > memory.shared.len()) {
                    return Err(UNDEFINED);
                }
                let to = memory.place(tensor, global, (run.bytes, 1), thread, true)?;
                memory.copy_or_reduce(Location::Shared(at), to, len, combine);
            }
            Ok(())
        })
    }
}

/// Moves bytes that are neighbours in global memory, and that the swizzle has still to place in
/// shared memory.
fn load_units(
    memory: &mut WarpMemory<'_, '_>,
    (tensor, thread): (&Memory, usize),
    (bytes, swizzle, base): (Run, TensorSwizzle, u64),
    fill: [u8; 8],
) -> Result<(), Declined> {
    let place = |at| memory.place(tensor, at, (bytes.bytes, 1), thread, false);
    let source = match bytes.global.map(place).transpose()? {
        Some(Location::Global(place)) => Some(memory.global.bytes(place)),
        Some(_) => return Err(UNDEFINED),
        None => None,
    };
    if let Some((units, [])) = source.map(<[u8]>::as_chunks::<UNIT>)
        && swizzle.keeps(UNIT as u64)
        && bytes.shared.is_multiple_of(UNIT as u64)
    {
        return put_units(memory.shared, (bytes.shared, base), units, swizzle);
    }
    let mut done = 0;
    for unit in swizzle.units(bytes) {
        let at = ((unit.shared & 0xffff_ffff) ^ base) as usize;
        let len = unit.bytes as usize;
        let to = memory.shared.get_mut(at..at + len).ok_or(UNDEFINED)?;
        match source.and_then(|source| source.get(done..done + len)) {
            Some(from) => to.copy_from_slice(from),
            None => {
                for (i, byte) in to.iter_mut().enumerate() {
                    *byte = fill[((unit.shared + i as u64) % 8) as usize];
                }
            }
        }
        done += len;
    }
    Ok(())
}

/// Writes units that follow each other from an address on before the swizzle, a line at a time:
/// all units of a line change places in one way.
fn put_units(
    shared: &mut [u8],
    (mut address, base): (u64, u64),
    mut units: &[[u8; UNIT]],
    swizzle: TensorSwizzle,
) -> Result<(), Declined> {
    while !units.is_empty() {
        let first = (address % LINE as u64) as usize / UNIT;
        let (these, rest) = units.split_at(units.len().min(LINE / UNIT - first));
        let flip = (swizzle.place(address) ^ address) as usize / UNIT;
        let line = (((address - (first * UNIT) as u64) & 0xffff_ffff) ^ base) as usize;
        let places = (first..).map(|unit| (unit ^ flip) % (LINE / UNIT));
        if let Some(line) = shared.get_mut(line..).and_then(<[u8]>::first_chunk_mut::<LINE>) {
            let (line, _) = line.as_chunks_mut::<UNIT>();
            for (from, to) in these.iter().zip(places) {
                line[to] = *from;
            }
        } else {
            for (from, to) in these.iter().zip(places) {
                let to = shared.get_mut(line + to * UNIT..).and_then(<[u8]>::first_chunk_mut);
                *to.ok_or(UNDEFINED)? = *from;
            }
        }
        address += (these.len() * UNIT) as u64;
        units = rest;
    }
    Ok(())
}
