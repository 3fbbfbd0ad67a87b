//! Undefined bits that loads, stores, atomic operations and copies move.

use super::cta::{Bits, CtaBits};
use super::origins::{Decides, MOST, Origin, OriginId};
use super::{At, Definedness, ones};
use crate::code::{AtomicOp, BulkOp, CopyOp, MemOp, Src, TensorOp, TextureAccess};
use crate::system::printed;
use compute::space_of;
use ir::mods::{Bulk, Space};
use simt::memory::AccessKind;
use smallvec::SmallVec;

impl Definedness {
    /// The origin of what a thread reads that nobody has written.
    fn read_unwritten<const N: usize>(
        &mut self,
        at: &At<'_, N>,
        (space, kind): (Space, AccessKind),
        address: u64,
        thread: usize,
    ) -> OriginId {
        if let Some(&known) = self.known.get(&(at.pc, space)) {
            self.origins[known.0 as usize - 1].count += 1;
            return known;
        }
        if self.origins.len() >= MOST {
            self.lossy = true;
            return OriginId::UNWRITTEN;
        }
        let thread = (at.cta.index, thread as u32);
        let (launch, pc, count) = (self.launch, Some(at.pc), 1);
        self.origins.push(Origin { launch, pc, space, kind, address, thread, count });
        let id = OriginId(self.origins.len() as u32);
        self.known.insert((at.pc, space), id);
        id
    }

    /// Reads the undefined bits of bytes at a distance from a thread's place.
    fn read<const N: usize>(
        &mut self,
        bits: &CtaBits,
        at: &At<'_, N>,
        (op, kind): (&MemOp, AccessKind),
        thread: usize,
        (distance, out): (u64, &mut [u8]),
    ) -> OriginId {
        let generic = at.address(op, thread).wrapping_add(distance);
        self.read_at(bits, at, (generic, kind), thread, out)
    }

    /// Reads the undefined bits of bytes at a generic address.
    pub(super) fn read_at<const N: usize>(
        &mut self,
        bits: &CtaBits,
        at: &At<'_, N>,
        (generic, kind): (u64, AccessKind),
        thread: usize,
        out: &mut [u8],
    ) -> OriginId {
        let (space, offset) = (space_of(generic), generic & u64::from(u32::MAX));
        let stored = match space {
            // That of another CTA of the cluster counts as defined.
            Space::Shared if offset >> 24 != 0 => {
                out.fill(0);
                None
            }
            Space::Shared => bits.shared.read(offset, out),
            Space::Local => bits.local[thread].read(offset, out),
            Space::Param => {
                out.fill(0);
                None
            }
            _ => self.memory.read(generic, out),
        };
        let Some(first) = out.iter().position(|&bits| bits != 0) else {
            return OriginId::UNWRITTEN;
        };
        match stored.filter(|&origin| origin != OriginId::UNWRITTEN) {
            Some(origin) => origin,
            None => {
                let own = matches!(space, Space::Shared | Space::Local);
                let address = if own { offset } else { generic } + first as u64;
                self.read_unwritten(at, (space, kind), address, thread)
            }
        }
    }

    /// Sets the undefined bits of bytes at a distance from a thread's place.
    pub(super) fn write<const N: usize>(
        &mut self,
        bits: &mut CtaBits,
        at: &At<'_, N>,
        op: &MemOp,
        thread: usize,
        (distance, undefined, origin): (u64, &[u8], OriginId),
    ) {
        let generic = at.address(op, thread).wrapping_add(distance);
        self.write_at(bits, generic, thread, undefined, origin);
    }

    pub(super) fn write_at(
        &mut self,
        bits: &mut CtaBits,
        generic: u64,
        thread: usize,
        undefined: &[u8],
        origin: OriginId,
    ) {
        let offset = generic & u64::from(u32::MAX);
        match space_of(generic) {
            Space::Shared => bits.shared.write(offset, undefined, origin),
            Space::Local => bits.local[thread].write(offset, undefined, origin),
            Space::Param => {}
            _ if self.memory.is_empty() && undefined.iter().all(|&bits| bits == 0) => {}
            _ => self.memory.write(generic, undefined, origin),
        }
    }

    /// Makes bytes defined, in shared memory of any CTA of the cluster. Asynchronous operations
    /// count as done where they are issued.
    pub(super) fn define_bytes<const N: usize>(
        &mut self,
        bits: &mut CtaBits,
        at: &At<'_, N>,
        generic: u64,
        len: u64,
    ) {
        if space_of(generic) != Space::Shared {
            return self.memory.define(generic, len);
        }
        let place = at.cta.place;
        match place.home(generic & u64::from(u32::MAX), true) {
            Ok((slot, offset)) if slot == place.slot() => bits.shared.define(offset, len),
            Ok((slot, offset)) => self.define_in(at, slot, offset, len),
            Err(_) => {}
        }
    }

    fn define_in<const N: usize>(&mut self, at: &At<'_, N>, slot: usize, offset: u64, len: u64) {
        let Some(cta) = at.state.resident[slot].as_deref() else { return };
        let rows = &self.rows[at.state.info.kernel as usize];
        let bits = self.ctas.entry(cta.index).or_insert_with(|| CtaBits::new(cta, rows));
        bits.shared.define(offset, len);
    }

    /// Makes what an access writes in other CTAs of the cluster defined.
    pub(super) fn define_remote<const N: usize>(&mut self, at: &At<'_, N>, op: &MemOp, len: u64) {
        let place = at.cta.place;
        if place.size <= 1 {
            return;
        }
        for thread in at.threads() {
            let address = at.value(op.addr, thread).wrapping_add_signed(op.offset);
            let generic = crate::access::generic_address(op.space, address);
            if space_of(generic) != Space::Shared {
                continue;
            }
            match place.home(generic & u64::from(u32::MAX), true) {
                Ok((slot, offset)) if slot != place.slot() => {
                    self.define_in(at, slot, offset, len);
                }
                _ => {}
            }
        }
    }

    /// A bulk copy makes its destination defined.
    pub(super) fn bulk<const N: usize>(
        &mut self,
        bits: &mut CtaBits,
        at: &At<'_, N>,
        op: &BulkOp<Src>,
    ) {
        for src in op.sources() {
            self.decide(bits, at, src, Decides::Address);
        }
        for thread in at.threads() {
            let len = u64::from(at.value(op.bytes, thread) as u32);
            let to = at.value(op.to, thread).wrapping_add_signed(op.offset);
            let ends = op.trimmed.map(|both| both.map(|src| at.value(src, thread) as u32));
            let (left, len) = crate::bulk::trim(len, ends.unwrap_or_default());
            let to = to.wrapping_add(left);
            let mask = op.mask.filter(|_| op.multicast).map(|mask| at.value(mask, thread));
            match (op.kind, mask) {
                (Bulk::Store, _) => self.memory.define(to, len),
                (_, mask) => self.define_copied(bits, at, (to, len), mask),
            }
        }
    }

    /// A tensor copy makes its destination defined.
    pub(super) fn tensor<const N: usize>(
        &mut self,
        bits: &mut CtaBits,
        at: &At<'_, N>,
        op: &TensorOp<Src>,
    ) {
        for src in op.sources() {
            self.decide(bits, at, src, Decides::Address);
        }
        for thread in at.threads() {
            let Ok(plan) = crate::tensor::plan(at.state, at.cta, (at.group, thread), op) else {
                continue;
            };
            let mask = op.mask.map(|mask| at.value(mask, thread));
            for run in plan.runs() {
                match (op.kind, mask) {
                    (Bulk::Store, _) => {
                        run.global.into_iter().for_each(|to| self.memory.define(to, run.bytes));
                    }
                    (_, mask) => {
                        self.define_copied(bits, at, (run.shared, run.bytes), mask);
                    }
                }
            }
        }
    }

    /// A texture or surface: what is made of undefined elements is undefined, and so is what is
    /// made of undefined values.
    pub(super) fn texture<const N: usize>(
        &mut self,
        bits: &mut CtaBits,
        at: &At<'_, N>,
        TextureAccess { mem, op }: &TextureAccess,
    ) {
        for src in op.sources() {
            self.decide(bits, at, src, Decides::Address);
        }
        for lane in at.on {
            let thread = at.thread(lane);
            let Ok(effect) = crate::texture::effect_in(at.state, at.cta, (at.group, lane), op)
            else {
                continue;
            };
            let mut stored = op.values.iter().map(|&src| bits.source(at.cta, src, thread));
            let mut found = stored.find(|bits| bits.any()).unwrap_or(Bits::DEFINED);
            for piece in &effect.pieces {
                let mut old = vec![0; piece.bytes().len()];
                let place = (piece.at, AccessKind::Load);
                let origin = self.read_at(bits, at, place, thread, &mut old);
                let reads = op.kind.access() != AccessKind::Store;
                if reads && !found.any() && old.iter().any(|&bits| bits != 0) {
                    found = Bits { bits: u64::MAX, origin };
                }
                if op.kind.writes() {
                    let fill = if found.any() { 0xff } else { 0 };
                    self.memory.write(piece.at, &vec![fill; piece.bytes().len()], found.origin);
                }
            }
            let whole = ones(8 * mem.width.bytes() as u32);
            let all = Bits { bits: if found.any() { whole } else { 0 }, ..found };
            mem.rows.iter().for_each(|&row| bits.set_row(at.cta, row, thread, all));
        }
    }

    /// Makes the bytes defined that a copy writes to shared memory: in the CTAs of a multicast,
    /// else at the address.
    fn define_copied<const N: usize>(
        &mut self,
        bits: &mut CtaBits,
        at: &At<'_, N>,
        (to, len): (u64, u64),
        multicast: Option<u64>,
    ) {
        let Some(mask) = multicast else {
            let generic = crate::access::generic_address(Space::Shared, to);
            return self.define_bytes(bits, at, generic, len);
        };
        let (place, to) = (at.cta.place, to & 0xff_ffff);
        for rank in (0..place.size).filter(|rank| mask >> rank & 1 != 0) {
            match rank == place.rank {
                true => bits.shared.define(to, len),
                false => self.define_in(at, place.first_slot + rank as usize, to, len),
            }
        }
    }

    pub(super) fn load<const N: usize>(&mut self, bits: &mut CtaBits, at: &At<'_, N>, op: &MemOp) {
        self.decide(bits, at, op.addr, Decides::Address);
        let step = op.width.bytes() as usize;
        for thread in at.threads() {
            let mut loaded = SmallVec::<[Bits; 4]>::new();
            for i in 0..op.rows.len() {
                let mut word = [0; 8];
                let part = ((i * step) as u64, &mut word[..step]);
                let origin = self.read(bits, at, (op, AccessKind::Load), thread, part);
                let word = u64::from_le_bytes(word);
                let word = match op.extend {
                    Some((ty, to)) => {
                        let shift = 64 - ty.bits();
                        ((word << shift) as i64 >> shift) as u64 & ones(to)
                    }
                    None => word,
                };
                loaded.push(Bits { bits: word, origin });
            }
            for (&row, to) in op.rows.iter().zip(loaded) {
                bits.set_row(at.cta, row, thread, to);
            }
        }
    }

    pub(super) fn store<const N: usize>(&mut self, bits: &mut CtaBits, at: &At<'_, N>, op: &MemOp) {
        self.decide(bits, at, op.addr, Decides::Address);
        let step = op.width.bytes();
        for thread in at.threads() {
            for (i, &src) in op.values.iter().enumerate() {
                let stored = bits.source(at.cta, src, thread);
                let word = stored.bits.to_le_bytes();
                let part = (i as u64 * step, &word[..step as usize], stored.origin);
                self.write(bits, at, op, thread, part);
            }
        }
    }

    pub(super) fn atomic<const N: usize>(
        &mut self,
        bits: &mut CtaBits,
        at: &At<'_, N>,
        op: &AtomicOp,
    ) {
        let mem = &op.mem;
        self.decide(bits, at, mem.addr, Decides::Address);
        let step = mem.width.bytes() as usize;
        let elements = if mem.size == 16 { 2 } else { op.elements as usize };
        let exchanges = op.op == ir::mods::AtomOp::Exch;
        for thread in at.threads() {
            let operands = mem.values.iter().map(|&src| bits.source(at.cta, src, thread));
            let operands: SmallVec<[Bits; 4]> = operands.collect();
            let operand = operands.iter().copied().find(|bits| bits.any());
            for i in 0..elements {
                let mut old = [0; 8];
                let part = ((i * step) as u64, &mut old[..step]);
                let origin = self.read(bits, at, (mem, AccessKind::Atomic), thread, part);
                let old = u64::from_le_bytes(old);
                let new = match operand {
                    Some(operand) => Bits { bits: ones(8 * step as u32), ..operand },
                    None if exchanges || old == 0 => Bits::DEFINED,
                    None => Bits { bits: ones(8 * step as u32), origin },
                };
                let word = new.bits.to_le_bytes();
                let part = ((i * step) as u64, &word[..step], new.origin);
                self.write(bits, at, mem, thread, part);
                if let Some(&row) = mem.rows.get(i) {
                    bits.set_row(at.cta, row, thread, Bits { bits: old, origin });
                }
            }
        }
    }

    pub(super) fn copy<const N: usize>(&mut self, bits: &mut CtaBits, at: &At<'_, N>, op: &CopyOp) {
        self.decide(bits, at, op.from.addr, Decides::Address);
        self.decide(bits, at, op.to.addr, Decides::Address);
        op.bytes.iter().for_each(|&count| self.decide(bits, at, count, Decides::Address));
        let size = u64::from(op.to.size);
        for thread in at.threads() {
            let read = op.bytes.map_or(size, |count| u64::from(at.value(count, thread) as u32));
            let mut copied = [0; 16];
            let part = (0, &mut copied[..read.min(size) as usize]);
            let origin = self.read(bits, at, (&op.from, AccessKind::Load), thread, part);
            self.write(bits, at, &op.to, thread, (0, &copied[..size as usize], origin));
        }
    }

    /// Reports the arguments of `printf` that are undefined.
    pub(super) fn print<const N: usize>(
        &mut self,
        bits: &CtaBits,
        at: &At<'_, N>,
        format: Src,
        args: Src,
    ) {
        let group = (at.state.turn.slot, at.group);
        for lane in at.on {
            let thread = at.thread(lane);
            let addresses = (at.value(format, thread), at.value(args, thread));
            for (place, width) in printed(at.state, group, lane, addresses) {
                let mut word = [0; 8];
                let word = &mut word[..width.bytes() as usize];
                let origin = self.read_at(bits, at, (place, AccessKind::Load), thread, word);
                if word.iter().any(|&bits| bits != 0) {
                    self.report(at, origin, Decides::Output, thread);
                }
            }
        }
    }
}
