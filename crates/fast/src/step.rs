//! Executes one step for the active lanes.

use crate::code::{Dst, Generic, Kind, Memory, Src, Step};
use crate::machine::Machine;
use crate::memory::{Cluster, WarpMemory};
use crate::ops::{Native, Test};
use crate::row::{LANES, Narrow, Wide, lanes};
use crate::warp::Warp;
use crate::{Declined, StridedAccess, WarpAccess};
use ir::mods::BoolOp;
use simt::Pc;
use simt::memory::{Addr, SHARED_WINDOW, Space};
use simt::observe::{Access, AccessKind, GroupId};

/// The bits of an offset in a space with a window.
const OFFSET: u64 = 0xffff_ffff;

/// What a warp does after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepOutcome {
    Next,
    /// The warp waits at a barrier.
    Park,
}

impl Warp {
    /// Executes a step that accesses only the warp's own registers; returns `false` for any other
    /// step.
    #[inline(always)]
    pub(crate) fn compute(&mut self, step: &Step, on: u32) -> Result<bool, Declined> {
        let blend = step.blend;
        match &step.kind {
            Kind::Narrow { op, dst, src } => {
                let (mut x, mut y, mut z) = (None, None, None);
                let row = op.all(
                    self.narrow_in(src[0], &mut x),
                    self.narrow_in(src[1], &mut y),
                    self.narrow_in(src[2], &mut z),
                );
                self.put_narrow(*dst, &row, on, blend);
            }
            Kind::Rare { op, dst, src } => {
                let row = op.all(&self.narrow(src[0]), &self.narrow(src[1]), &self.narrow(src[2]));
                self.put_narrow(*dst, &row, on, blend);
            }
            Kind::Wide { op, dst, src } => {
                let (mut x, mut y, mut z) = (None, None, None);
                let row = op.all(
                    self.wide_in(src[0], &mut x),
                    self.wide_in(src[1], &mut y),
                    self.wide_in(src[2], &mut z),
                );
                self.put_wide(*dst, &row, on, blend);
            }
            Kind::Low { dst, src } => {
                let row = self.wide(*src).narrow();
                self.put_narrow(*dst, &row, on, blend);
            }
            Kind::Test { test, wide, combine, dst, src } => {
                let holds = self.test(*test, *wide, [src[0], src[1]]);
                let mask = combined(*combine, holds, self.pred(src[2]));
                self.put_pred(*dst, mask, on);
            }
            Kind::Select { wide, dst, src } => {
                let pred = self.pred(src[2]);
                if *wide {
                    let (mut row, first) = (self.wide(src[1]), self.wide(src[0]));
                    row.blend(&first, pred);
                    self.put_wide(*dst, &row, on, blend);
                } else {
                    let (mut row, first) = (self.narrow(src[1]), self.narrow(src[0]));
                    row.blend(&first, pred);
                    self.put_narrow(*dst, &row, on, blend);
                }
            }
            Kind::Logic { op, dst, src } => {
                let mask = op.of(self.pred(src[0]), self.pred(src[1]));
                self.put_pred(*dst, mask, on);
            }
            Kind::Scalar { native, dst, src } => {
                let value = self.one(*native, *src);
                self.scalars[*dst as usize] = value;
            }
            Kind::Widen { signed, dst, base, stride, factor, addend } => {
                let line = self.widen(*signed, *base, *stride, on)?;
                let value = line.wrapping_mul(*factor).wrapping_add(self.scalar(*addend));
                self.scalars[*dst as usize] = value;
            }
            Kind::Generic(generic) => self.generic(generic, on),
            Kind::Nothing | Kind::Fence => {}
            _ => return Ok(false),
        }
        Ok(true)
    }

    #[inline(always)]
    fn test(&self, test: Test, wide: bool, [a, b]: [Src; 2]) -> u32 {
        if wide {
            let (mut x, mut y) = (None, None);
            test.wide(self.wide_in(a, &mut x), self.wide_in(b, &mut y))
        } else {
            let (mut x, mut y) = (None, None);
            test.narrow(self.narrow_in(a, &mut x), self.narrow_in(b, &mut y))
        }
    }

    /// Computes an operation on scalars.
    fn one(&self, native: Native, src: [Src; 3]) -> u64 {
        let [a, b, c] = src.map(|s| self.scalar(s));
        match native {
            Native::Narrow(op) => u64::from(op.one(a as u32, b as u32, c as u32)),
            Native::Wide(op) => op.one(a, b, c),
            Native::Low => a & 0xffff_ffff,
            Native::Test { test, wide, combine } => {
                // All lanes of these rows are equal; the result is that of any lane.
                let holds = if wide {
                    test.wide(&Wide::splat(a), &Wide::splat(b))
                } else {
                    test.narrow(&Narrow::splat(a as u32), &Narrow::splat(b as u32))
                };
                u64::from(combined(combine, holds, c as u32) & 1)
            }
            Native::Select { .. } => {
                if c & 1 != 0 {
                    a
                } else {
                    b
                }
            }
            Native::Logic(op) => u64::from(op.of(a as u32, b as u32) & 1),
        }
    }

    /// Widens an affine 32-bit value to 64 bits; returns its base, or declines the launch if the
    /// value wraps around over the active lanes.
    fn widen(&self, signed: bool, base: u32, stride: i64, on: u32) -> Result<u64, Declined> {
        let (first, last) = (i64::from(on.trailing_zeros()), 31 - i64::from(on.leading_zeros()));
        let value = (self.scalars[base as usize] as i64).wrapping_add(first * stride) as u32;
        let value = if signed { i64::from(value as i32) } else { i64::from(value) };
        let (least, most) = match signed {
            true => (i64::from(i32::MIN), i64::from(i32::MAX)),
            false => (0, i64::from(u32::MAX)),
        };
        let end = value + (last - first) * stride;
        if end < least || end > most {
            return Err(Declined::Wrapped);
        }
        Ok(value.wrapping_sub(first * stride) as u64)
    }

    /// Executes the exact engine's function on rows of the active lanes, without gaps; a result
    /// that is one scalar alone is computed once.
    #[inline(never)]
    fn generic(&mut self, generic: &Generic, on: u32) {
        let scalar = generic.dst.iter().all(|d| matches!(d, Dst::Scalar(_) | Dst::None))
            && generic.dst.iter().any(|d| matches!(d, Dst::Scalar(_)));
        let count = if scalar { 1 } else { on.count_ones() as usize };
        let words = (generic.src.len() + generic.dst.len()) * count;
        let mut room = [0u64; 8 * LANES];
        let mut more = Vec::new();
        let file: &mut [u64] = if words <= room.len() {
            &mut room[..words]
        } else {
            more.resize(words, 0);
            &mut more
        };
        let (sources, results) = file.split_at_mut(generic.src.len() * count);
        for (to, &src) in sources.chunks_exact_mut(count).zip(&generic.src) {
            if scalar {
                to[0] = self.scalar(src);
            } else if count == LANES {
                to.copy_from_slice(&self.wide(src).0);
            } else {
                let row = self.wide(src).0;
                for (to, lane) in to.iter_mut().zip(lanes(on)) {
                    *to = row[lane];
                }
            }
        }
        generic.computation.run(sources, results, count);
        for (from, &dst) in results.chunks_exact(count).zip(&generic.dst).rev() {
            if scalar || matches!(dst, Dst::Scalar(_)) {
                self.put_lane(dst, 0, from[0]);
                continue;
            }
            for (&value, lane) in from.iter().zip(lanes(on)) {
                self.put_lane(dst, lane, value);
            }
        }
    }
}

/// Combines the outcome of a comparison with a predicate.
#[inline(always)]
fn combined(how: Option<BoolOp>, holds: u32, pred: u32) -> u32 {
    match how {
        None => holds,
        Some(BoolOp::And) => holds & pred,
        Some(BoolOp::Or) => holds | pred,
        Some(BoolOp::Xor) => holds ^ pred,
    }
}

impl Machine<'_> {
    /// Executes a step of the running warp for the active lanes, at least one.
    #[inline(always)]
    pub(crate) fn step(
        &mut self,
        warp: &mut Warp,
        step: &Step,
        pc: u64,
        on: u32,
    ) -> Result<StepOutcome, Declined> {
        if warp.compute(step, on)? {
            return Ok(StepOutcome::Next);
        }
        match &step.kind {
            Kind::Load(op) => {
                self.stats.memory_instructions += 1;
                if self.screened {
                    self.screen_access(warp, op, AccessKind::Load, on)?;
                }
                self.report_access(warp, op, AccessKind::Load, pc, on);
                self.with_memory(
                    #[inline(always)]
                    |warp_memory| warp_memory.load(warp, op, on, step.blend),
                )?;
            }
            Kind::Store(op) => {
                self.stats.memory_instructions += 1;
                self.progress = true;
                if self.screened {
                    self.screen_access(warp, op, AccessKind::Store, on)?;
                }
                self.report_access(warp, op, AccessKind::Store, pc, on);
                self.with_memory(
                    #[inline(always)]
                    |warp_memory| warp_memory.store(warp, op, on),
                )?;
            }
            Kind::Atomic(op) => {
                self.stats.memory_instructions += 1;
                if self.screened {
                    self.screen_access(warp, &op.memory, AccessKind::Atomic, on)?;
                }
                self.report_access(warp, &op.memory, AccessKind::Atomic, pc, on);
                self.progress |= self.with_memory(
                    #[inline(always)]
                    |warp_memory| warp_memory.atomic(warp, op, on),
                )?;
            }
            Kind::Clock { high, dst, bits } => {
                let clock = self.clock(warp, pc) >> if *high { 32 } else { 0 };
                warp.put_all(*dst, clock & u64::MAX >> (64 - (*bits).clamp(1, 64)), on);
            }
            Kind::Sreg { reg, dst, bits } => self.sreg(warp, *reg, *dst, *bits, on),
            Kind::Collective(op) => self.collective(warp, op, on)?,
            Kind::Matrix(op) => self.matrix(warp, op, pc, on)?,
            Kind::Copy(op) => self.copy(warp, op, pc, on)?,
            Kind::Texture(op) => self.texture(warp, op, pc, on)?,
            Kind::Print(op) => self.print(warp, op, on)?,
            Kind::SaveFrame(frame) => self.save_frame(warp, frame, on)?,
            Kind::RestoreFrame(dst) => warp.restore_frame(dst, on),
            Kind::Asynchronous(op) => {
                self.released.clear();
                return self.asynchronous(warp, op, pc, on);
            }
            Kind::Barrier { kind, id, pred, dst } => {
                return self.barrier(warp, *kind, *id, *pred, *dst, on);
            }
            Kind::Leave(what) => return Err(Declined::Running(what)),
            _ => {}
        }
        Ok(StepOutcome::Next)
    }

    /// Reports an access to the observer in a launch in detail: one event for each space that lanes
    /// access.
    #[inline(always)]
    pub(crate) fn report_access(
        &mut self,
        warp: &Warp,
        op: &Memory,
        kind: AccessKind,
        pc: u64,
        on: u32,
    ) {
        if self.detail.is_some()
            && (self.reaches_cluster(op) || !self.offer_strided(warp, op, kind, pc, on))
        {
            self.report_by_lane(warp, op, kind, pc, on);
        }
    }

    /// Offers an access of adjacent lanes with affine addresses to the observer. Returns `false` if
    /// it has another shape or the observer did not take it.
    fn offer_strided(
        &mut self,
        warp: &Warp,
        op: &Memory,
        kind: AccessKind,
        pc: u64,
        on: u32,
    ) -> bool {
        let stride = match op.address {
            Src::Line(_, stride, _) => stride,
            Src::Const(_) => 0,
            _ => return false,
        };
        let (first, count) = (on.trailing_zeros(), on.count_ones());
        if 32 - on.leading_zeros() - first != count {
            return false;
        }
        let window = op.space.window();
        let place = |lane: u32| {
            let address = warp.lane(op.address, lane as usize).wrapping_add_signed(op.offset);
            window.as_ref().map_or(address, |w| w.start + u64::from(address as u32))
        };
        let (low, high) = (place(first), place(first + count - 1));
        // Both ends are in one space and nothing between them wraps around, so all addresses are in
        // that space.
        let space = Space::of(Addr(low));
        let along = (i64::from(count) - 1).checked_mul(stride);
        if along.and_then(|by| low.checked_add_signed(by)) != Some(high)
            || Space::of(Addr(high)) != space
        {
            return false;
        }
        let mask = if space.window().is_some() { 0xffff_ffff } else { u64::MAX };
        let access = StridedAccess {
            pc: Pc(pc),
            kind,
            space,
            size: op.lane_bytes(kind),
            first_thread: warp.first_thread + first,
            lanes: count as u16,
            at: low & mask,
            stride,
            times: 1,
        };
        self.observer.accesses().is_none_or(|sink| sink.strided_access(&access))
    }

    #[inline(never)]
    fn report_by_lane(&mut self, warp: &Warp, op: &Memory, kind: AccessKind, pc: u64, on: u32) {
        let cta = self.ctas[self.slot].index;
        let group = GroupId { cta, group: self.group as u32, first_thread: warp.first_thread };
        let address = |lane| warp.lane(op.address, lane).wrapping_add_signed(op.offset);
        let (what, mut at) = ((op, kind, Pc(pc)), std::array::from_fn(address));
        if self.reaches_cluster(op) {
            self.report_in_cluster(what, group, (on, &at));
        } else if !self.offer_warp(what, on, &mut at, 1) {
            self.report_lanes(what, group, (on, address), 1);
        }
    }

    /// Returns whether an access may be to shared memory that several CTAs have.
    pub(crate) fn reaches_cluster(&self, op: &Memory) -> bool {
        self.context.cluster_size > 1 && matches!(op.space, Space::Shared | Space::Generic)
    }

    /// Reports an access at addresses without a window: one event for each space, and for each CTA
    /// of the cluster whose shared memory is accessed.
    #[cold]
    pub(crate) fn report_in_cluster(
        &mut self,
        what: (&Memory, AccessKind, Pc),
        group: GroupId,
        (on, at): (u32, &[u64; LANES]),
    ) {
        let window = what.0.space.window().map(|window| window.start);
        let place = |lane: usize| match window {
            Some(start) => start + (at[lane] & OFFSET),
            None => at[lane],
        };
        let owner = |lane: usize| {
            let space = Space::of(Addr(place(lane)));
            let is_shared = space == Space::Shared;
            (space, if is_shared { (at[lane] & OFFSET) / vm::CTA_WINDOW } else { 0 })
        };
        let mut rest = on;
        while rest != 0 {
            let of = owner(rest.trailing_zeros() as usize);
            let here: u32 = lanes(rest).filter(|&lane| owner(lane) == of).map(|l| 1 << l).sum();
            let offset = |lane: usize| match of.0 {
                Space::Shared => SHARED_WINDOW.start + place(lane) % vm::CTA_WINDOW,
                _ => place(lane),
            };
            self.report_lanes(what, group, (here, offset), 1);
            rest &= !here;
        }
    }

    /// Offers accesses of the same lanes at the same addresses to the observer, if all are in one
    /// space; returns whether the observer has taken them. Turns addresses in `at` into offsets
    /// where the space has a window.
    #[inline(always)]
    pub(crate) fn offer_warp(
        &mut self,
        (op, kind, pc): (&Memory, AccessKind, Pc),
        on: u32,
        at: &mut [u64; LANES],
        times: u64,
    ) -> bool {
        // Each space consists of whole pages with addresses of this many bits.
        let page = at[on.trailing_zeros() as usize % LANES] >> u32::BITS;
        let mut others = 0;
        for (lane, at) in at.iter().enumerate() {
            let mask = 0_u64.wrapping_sub(u64::from(on >> lane & 1));
            others |= (at >> u32::BITS ^ page) & mask;
        }
        let window = op.space.window().map(|window| window.start);
        if window.is_none() && others != 0 {
            return false;
        }
        let space = Space::of(Addr(window.unwrap_or(page << u32::BITS)));
        if space.window().is_some() {
            at.iter_mut().for_each(|at| *at &= OFFSET);
        }
        let size = op.lane_bytes(kind);
        let access = WarpAccess { pc, kind, space, size, on, at, times };
        self.observer.accesses().is_none_or(|sink| sink.warp_access(&access))
    }

    /// Reports accesses of the same lanes at the same addresses to the observer, one event for each
    /// space.
    #[inline(always)]
    pub(crate) fn report_lanes(
        &mut self,
        (op, kind, pc): (&Memory, AccessKind, Pc),
        group: GroupId,
        (on, address): (u32, impl Fn(usize) -> u64),
        times: u64,
    ) {
        let size = op.lane_bytes(kind);
        let (order, scope) = (op.order, op.scope);
        let mut report = |space: Space, lanes: &[(u16, u64)]| {
            let values = &[][..];
            let owner = group.cta;
            let access =
                Access { group, pc, kind, space, owner, order, scope, size, lanes, values };
            if let Some(sink) = self.observer.accesses() {
                sink.repeated_access(&access, times);
            }
        };
        let (window, mut here, mut count) = (op.space.window(), [(0, 0); LANES], 0);
        // Each space consists of whole pages with addresses of this many bits.
        let page = |address: u64| address >> u32::BITS;
        let first = page(address(on.trailing_zeros() as usize));
        let mut others = 0;
        for lane in lanes(on) {
            let address = address(lane);
            others |= page(address) ^ first;
            here[count] = (lane as u16, address);
            count += 1;
        }
        let here = &mut here[..count];
        let offsets = |here: &mut [(u16, u64)]| here.iter_mut().for_each(|l| l.1 &= OFFSET);
        if let Some(window) = window {
            offsets(here);
            return report(Space::of(Addr(window.start)), here);
        }
        if others == 0 {
            let space = Space::of(Addr(first << u32::BITS));
            if space.window().is_some() {
                offsets(here);
            }
            return report(space, here);
        }
        let (mut reported, mut part) = (0_u32, [(0, 0); LANES]);
        for (i, &(_, address)) in here.iter().enumerate() {
            if reported >> i & 1 != 0 {
                continue;
            }
            let space = Space::of(Addr(address));
            let mut count = 0;
            for (j, &(lane, address)) in here.iter().enumerate().skip(i) {
                if Space::of(Addr(address)) == space {
                    part[count] = (lane, address);
                    (count, reported) = (count + 1, reported | 1 << j);
                }
            }
            if space.window().is_some() {
                offsets(&mut part[..count]);
            }
            report(space, &part[..count]);
        }
    }

    #[inline(always)]
    pub(crate) fn with_memory<T>(&mut self, f: impl FnOnce(&mut WarpMemory<'_, '_>) -> T) -> T {
        self.with_memory_of(self.slot, f)
    }

    /// Calls a function with the memory that a warp of the CTA in a slot can access.
    #[inline(always)]
    pub(crate) fn with_memory_of<T>(
        &mut self,
        slot: usize,
        f: impl FnOnce(&mut WarpMemory<'_, '_>) -> T,
    ) -> T {
        let (cta, cluster, base) = match self.context.cluster_size {
            1 => (&mut self.ctas[slot], None, 0),
            size => {
                let (first, rank) = (slot - slot % size, slot % size);
                let (before, rest) = self.ctas[first..first + size].split_at_mut(rank);
                let Some((cta, after)) = rest.split_first_mut() else { unreachable!("a slot") };
                (cta, Some(Cluster { before, after }), rank as u64 * vm::CTA_WINDOW)
            }
        };
        let mut warp_memory = WarpMemory {
            global: &mut self.memory,
            shared: &mut cta.storage.shared,
            base,
            cluster,
            local: &mut cta.storage.local,
            params: &self.context.params,
        };
        f(&mut warp_memory)
    }
}
