//! Memory of kernel bodies: bridged global memory, tile memory, atomics, queues in memory.
//!
//! Every lane's access is checked before the first takes effect, so that a trap leaves all lanes as
//! they were. Lanes then access in ascending order: of overlapping stores the highest lane wins,
//! atomics see each other.

use simt::mask::WarpMask;
use simt::memory::{AccessKind, Space};
use simt::observe::{Access, Events, Observer, Pc};

use crate::action::{Simt, VOp};
use crate::body::Stop;
use crate::compute::{extend, ones};
use crate::conflict::{Commuting, Shared, Usage};
use crate::insn::Insn;
use crate::regid::{Place, Reg, Source};
use crate::state::State;
use crate::trap::Trap;
use crate::vector::{LANES, Lanes, Operands};

/// The memory that an access addresses.
#[derive(Clone, Copy)]
enum Target {
    Global,
    /// A tile by its id.
    Tile(u8),
}

impl State {
    pub(crate) fn execute_memory<O: Observer<1>>(
        &mut self,
        i: &Insn,
        op: VOp,
        ops: &Operands,
        lanes: Lanes,
        pc: u64,
        observer: &mut O,
    ) -> Result<(), Stop> {
        let base = base(i, op, ops);
        let target = self
            .target(op, base)
            .map_err(|why| (Trap::illegal(pc, why).in_body(), WarpMask::EMPTY))?;
        if i.local && matches!(target, Target::Global) {
            return Err((
                Trap::illegal(pc, "a bridged access with .local").in_body(),
                WarpMask::EMPTY,
            ));
        }
        if matches!(op, VOp::QPush | VOp::QPop) {
            return self.queue(op, ops, lanes, pc);
        }
        let log2 = match op {
            VOp::Load(log2, ..) | VOp::Store(log2, ..) | VOp::Atomic(_, log2, _) => log2,
            _ => 0,
        };
        let size = 1u64 << log2;
        let mut at = [0; LANES];
        for lane in lanes.on {
            at[lane] = self.address(i, op, ops, base, log2, lane);
        }
        let kind = match op {
            VOp::Load(..) => AccessKind::Load,
            VOp::Store(..) => AccessKind::Store,
            _ => AccessKind::Atomic,
        };
        self.check_lanes(target, kind, &at, size, lanes.on, pc)?;
        self.note_lanes(target, op, ops, &at, size, lanes.on, pc);
        if let Target::Global = target {
            self.tell(kind, &at, size, lanes.on, pc, observer);
        }
        self.perform(op, ops, lanes, target, &at, pc)
    }

    fn target(&self, op: VOp, base: Option<Source>) -> Result<Target, &'static str> {
        let Some((body, _)) = self.body_group() else { return Err("no kernel runs") };
        let tiles = (body.inputs.len(), body.outputs.len());
        let bound = target(op, base.map(|b| b.reg), body.simt, tiles)?;
        Ok(match bound {
            Bound::Global => Target::Global,
            Bound::Input(i) => Target::Tile(body.inputs.get(i).copied().unwrap_or(0)),
            Bound::Output(i) => Target::Tile(body.outputs.get(i).copied().unwrap_or(0)),
        })
    }

    /// Base, lane term and index; for tiles the offset.
    fn address(
        &self,
        i: &Insn,
        op: VOp,
        ops: &Operands,
        base: Option<Source>,
        log2: u8,
        lane: usize,
    ) -> u64 {
        let start = base.map_or(0, |b| match op {
            VOp::Atomic(..) => self.value(Some(b), lane),
            _ => self.raw(b.reg, lane),
        });
        if matches!(op, VOp::Atomic(..)) {
            return start;
        }
        let term = if i.lane_term { self.raw(Reg::Lc(0), lane) << log2 } else { 0 };
        let index = if i.has_imm {
            i.imm as u64
        } else {
            let scaled = matches!(op, VOp::Store(_, true, _));
            let shift = i.shift + if scaled { u32::from(log2) } else { 0 };
            self.value(ops.r, lane).checked_shl(shift).unwrap_or(0)
        };
        start.wrapping_add(term).wrapping_add(index)
    }

    fn check_lanes(
        &self,
        target: Target,
        kind: AccessKind,
        at: &[u64; LANES],
        size: u64,
        on: WarpMask,
        pc: u64,
    ) -> Result<(), Stop> {
        let check = |lane: usize| match target {
            Target::Global => self.check_access(pc, at[lane], size, kind, true),
            Target::Tile(id) => {
                let length = self.tiles.bytes(id).len() as u64;
                if at[lane].checked_add(size).is_some_and(|end| end <= length) {
                    Ok(())
                } else {
                    let why = format!("offset {} in a tile of {length} bytes", at[lane] as i64);
                    Err(Trap::parameter(pc, at[lane], why).in_body())
                }
            }
        };
        let wrong = on.filter(|lane| check(lane).is_err());
        match wrong.lowest() {
            Some(lane) => check(lane).map_err(|trap| (trap, wrong)),
            None => Ok(()),
        }
    }

    fn tell<O: Observer<1>>(
        &self,
        kind: AccessKind,
        at: &[u64; LANES],
        size: u64,
        on: WarpMask,
        pc: u64,
        observer: &mut O,
    ) {
        if !observer.wants(Events::ACCESS) {
            return;
        }
        let lanes: Vec<(u16, u64)> = on.iter().map(|lane| (lane as u16, at[lane])).collect();
        observer.access(&Access {
            group: self.group_id(),
            pc: Pc(pc),
            kind,
            space: Space::Global,
            owner: self.group_id().cta,
            order: Default::default(),
            scope: Default::default(),
            size: size as u32,
            lanes: &lanes,
            values: &[],
        });
    }

    /// Records the bytes that lanes use, if conflicts are checked.
    #[allow(clippy::too_many_arguments, reason = "what an access consists of")]
    fn note_lanes(
        &mut self,
        target: Target,
        op: VOp,
        ops: &Operands,
        at: &[u64; LANES],
        size: u64,
        on: WarpMask,
        pc: u64,
    ) {
        if self.checked_group().is_none() {
            return;
        }
        let data = if ops.a.is_some() { ops.a } else { ops.l };
        for lane in on {
            let value = self.value(data, lane).to_le_bytes();
            for offset in 0..size {
                let byte = at[lane].wrapping_add(offset);
                let shared = match target {
                    Target::Global => Shared::Memory(byte),
                    Target::Tile(id) => Shared::Tile(id, byte),
                };
                let stored = value.get(offset as usize).copied();
                self.note(shared, usage(op, ops, stored), pc);
            }
        }
    }

    fn perform(
        &mut self,
        op: VOp,
        ops: &Operands,
        lanes: Lanes,
        target: Target,
        at: &[u64; LANES],
        pc: u64,
    ) -> Result<(), Stop> {
        let mut out = [0; LANES];
        for lane in lanes.on {
            let one = match op {
                VOp::Load(log2, signed, _) => self
                    .load_from(target, pc, at[lane], 1 << log2)
                    .map(|value| extend(value, 8 << log2, signed)),
                VOp::Store(log2, ..) => {
                    let data = if ops.a.is_some() { ops.a } else { ops.l };
                    let value = self.value(data, lane);
                    self.store_to(target, pc, at[lane], 1 << log2, value).map(|()| 0)
                }
                VOp::Atomic(op, log2, _) => {
                    let operand = self.value(ops.r, lane);
                    let old = self.read_modify_write(pc, at[lane], log2, op, operand, true);
                    old.map(|old| extend(old, 8 << log2, true))
                }
                _ => Ok(0),
            };
            // The checks above leave nothing to fail here.
            out[lane] = one.map_err(|trap| (trap, WarpMask::lane(lane)))?;
        }
        self.put(ops, lanes, &out);
        Ok(())
    }

    fn load_from(&self, target: Target, pc: u64, at: u64, size: u64) -> Result<u64, Trap> {
        match target {
            Target::Global => self.load(pc, at, size, true),
            Target::Tile(id) => {
                let mut bytes = [0; 8];
                let start = at as usize;
                if let Some(found) = self.tiles.bytes(id).get(start..start + size as usize) {
                    bytes[..found.len()].copy_from_slice(found);
                }
                Ok(u64::from_le_bytes(bytes))
            }
        }
    }

    fn store_to(
        &mut self,
        target: Target,
        pc: u64,
        at: u64,
        size: u64,
        value: u64,
    ) -> Result<(), Trap> {
        match target {
            Target::Global => self.store(pc, at, size, value, true),
            Target::Tile(id) => {
                self.changes += 1;
                let start = at as usize;
                if let Some(place) = self.tiles.bytes_mut(id).get_mut(start..start + size as usize)
                {
                    place.copy_from_slice(&value.to_le_bytes()[..size as usize]);
                }
                Ok(())
            }
        }
    }

    /// A queue in memory: head, tail and capacity as 32-bit words, data of 32-bit words from byte
    /// 16 on; one entry stays free.
    fn queue(&mut self, op: VOp, ops: &Operands, lanes: Lanes, pc: u64) -> Result<(), Stop> {
        let push = op == VOp::QPush;
        let mut out = [0; LANES];
        // Words as they were, to be put back if a later lane traps.
        let mut undo = Vec::new();
        for lane in lanes.on {
            let (queue, value) = (self.value(ops.l, lane), self.value(ops.r, lane));
            // The first lane gets the first entry: the order of groups matters.
            let mut at = [0; LANES];
            at[lane] = queue;
            self.note_lanes(Target::Global, op, ops, &at, 8, WarpMask::lane(lane), pc);
            let result = if push {
                self.queue_push(pc, queue, value, &mut undo)
            } else {
                self.queue_pop(pc, queue, &mut undo)
            };
            match result {
                Ok(value) => out[lane] = value,
                Err(trap) => {
                    for (address, word) in undo.into_iter().rev() {
                        self.store(pc, address, 4, word, true)
                            .map_err(|t| (t, WarpMask::lane(lane)))?;
                    }
                    return Err((trap, WarpMask::lane(lane)));
                }
            }
        }
        self.put(ops, lanes, &out);
        Ok(())
    }

    fn queue_state(&self, pc: u64, queue: u64) -> Result<(u64, u64, u64), Trap> {
        let word = |offset| self.load(pc, queue.wrapping_add(offset), 4, true);
        Ok((word(0)?, word(4)?, word(8)?))
    }

    /// Stores a word and remembers the old one.
    fn replace(
        &mut self,
        pc: u64,
        at: u64,
        value: u64,
        undo: &mut Vec<(u64, u64)>,
    ) -> Result<(), Trap> {
        let old = self.load(pc, at, 4, true)?;
        self.store(pc, at, 4, value, true)?;
        undo.push((at, old));
        Ok(())
    }

    fn queue_push(
        &mut self,
        pc: u64,
        queue: u64,
        value: u64,
        undo: &mut Vec<(u64, u64)>,
    ) -> Result<u64, Trap> {
        let (head, tail, capacity) = self.queue_state(pc, queue)?;
        if capacity == 0 || (tail + 1) % capacity == head {
            return Ok(0);
        }
        let slot = queue.wrapping_add(16).wrapping_add(4 * tail);
        self.replace(pc, slot, value & ones(32), undo)?;
        self.replace(pc, queue.wrapping_add(4), (tail + 1) % capacity, undo)?;
        Ok(1)
    }

    fn queue_pop(&mut self, pc: u64, queue: u64, undo: &mut Vec<(u64, u64)>) -> Result<u64, Trap> {
        let (head, tail, capacity) = self.queue_state(pc, queue)?;
        if head == tail || capacity == 0 {
            return Ok(0);
        }
        let value = self.load(pc, queue.wrapping_add(16).wrapping_add(4 * head), 4, true)?;
        self.replace(pc, queue, (head + 1) % capacity, undo)?;
        Ok(value)
    }
}

/// Returns how an access uses its bytes. The order of atomics is visible in the values that they
/// return.
fn usage(op: VOp, ops: &Operands, stored: Option<u8>) -> Usage {
    match op {
        VOp::Load(..) => Usage::Read,
        VOp::Store(..) => Usage::Write(stored),
        VOp::Atomic(op, _, result) => {
            let dropped = ops.dest.is_none_or(|d| matches!(d.place, Place::None(_)));
            Usage::Update((!result || dropped).then_some(Commuting::Atomic(op)))
        }
        _ => Usage::Update(None),
    }
}

/// The memory that an access addresses, in terms of the header.
#[derive(Clone, Copy)]
pub(crate) enum Bound {
    Global,
    Input(usize),
    Output(usize),
}

/// Returns the memory that an access of a kernel addresses, whose header binds this many source and
/// destination tiles.
///
/// # Errors
/// The reason that it addresses none.
pub(crate) fn target(
    op: VOp,
    base: Option<Reg>,
    simt: Simt,
    (inputs, outputs): (usize, usize),
) -> Result<Bound, &'static str> {
    let (bridged, store) = match op {
        VOp::Load(_, _, bridged) => (bridged, false),
        VOp::Store(_, _, bridged) => (bridged, true),
        // Atomics and queues are global, which a tile base is not.
        _ => {
            let tile = matches!(base, Some(Reg::TileIn(_) | Reg::TileOut(_)));
            return if tile || simt.is_linear() {
                Err("atomics and queues are in global memory")
            } else {
                Ok(Bound::Global)
            };
        }
    };
    if bridged && simt.is_linear() {
        return Err("a bridged access in a body that has tile memory only");
    }
    match base {
        Some(Reg::Ri(_)) if bridged => Ok(Bound::Global),
        _ if bridged => Err("the base of a bridged access is an import"),
        Some(Reg::TileIn(_)) if store => Err("a store to a source tile"),
        Some(Reg::TileIn(i)) if usize::from(i) < inputs => Ok(Bound::Input(i.into())),
        Some(Reg::TileIn(_)) => Err("the header binds no such source tile"),
        Some(Reg::TileOut(i)) if usize::from(i) < outputs => Ok(Bound::Output(i.into())),
        Some(Reg::TileOut(_)) => Err("the header binds no such destination tile"),
        _ => Err("the base of a local access is a tile"),
    }
}

/// The address base: the right source in stores with an immediate, else the left one.
pub(crate) fn base(i: &Insn, op: VOp, ops: &Operands) -> Option<Source> {
    match op {
        VOp::Store(..) if i.has_imm => ops.r,
        _ => ops.l,
    }
}
