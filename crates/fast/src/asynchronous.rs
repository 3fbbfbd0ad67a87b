//! Asynchronous operations whose steps are all done where they stand, and what tells that they have
//! completed: barriers in shared memory, groups of products.
//!
//! That is the order of the exact engine where no other is asked for (`vm::Asynchrony`). A warp
//! that tries a phase which has not completed, or whose products other warps of its group have not
//! issued, is parked as at a barrier, and goes on when an operation completes what it waits for.
//! What the exact engine would fault at, and waits whose lanes may go on apart, decline the launch.

use crate::Declined;
use crate::code::{AsyncOp, Asynchronous, Dst, Memory, Src};
use crate::counted_barriers::CountedBarrier;
use crate::machine::{Cta, Machine};
use crate::memory::Location;
use crate::row::{LANES, lanes};
use crate::step::StepOutcome;
use crate::sync::BARRIERS;
use crate::warp::Warp;
use ir::Ty;
use ir::mods::{AtomOp, Bulk};
use products::{Factors, GroupMultiply, Tile};
use simt::matrix::{A_REGISTERS, Descriptor, Role, THREADS, WARPS};
use simt::mbarrier::{Mbarrier, Misuse};
use simt::memory::AccessKind;
use simt::tensor::{BYTES, TensorElement};
use simt::{GroupId, Pc};
use vm::{BulkOp, MbarrierKind, TensorOp, TensorPlan, WARP_SIZE, WarpGroup, WarpGroupOp};

const MISUSE: Declined = Declined::Running("an asynchronous operation is not defined");
const APART: Declined = Declined::Running("lanes of a warp wait for different phases");

/// A warp that waits.
#[derive(Clone, Debug)]
struct Waiter {
    /// Its number in the CTA, and its lanes.
    warp: usize,
    on: u32,
    wait: Wait,
}

#[derive(Clone, Debug)]
pub(crate) enum Wait {
    /// For the threads of a counted barrier.
    Threads(usize),
    /// For a phase of the barrier at an offset in shared memory.
    Phase { at: usize, kind: MbarrierKind, operand: u64, dst: Dst, pc: u64 },
    /// Until at most so many groups of its products are unfinished.
    Products(u32),
}

/// What the warps of a CTA wait for, and what its warp groups have issued.
#[derive(Clone, Debug, Default)]
pub(crate) struct AsyncState {
    waiters: Vec<Waiter>,
    pub(crate) barriers: [CountedBarrier; BARRIERS],
    groups: Vec<WarpGroup>,
}

impl AsyncState {
    /// Forgets everything.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.waiters.clear();
        self.barriers = Default::default();
        self.groups.iter_mut().for_each(WarpGroup::clear);
    }

    /// Returns whether all warps have issued all products of their groups.
    #[inline]
    pub(crate) fn is_finished(&self) -> bool {
        self.groups.iter().all(WarpGroup::is_finished)
    }

    fn group(&mut self, index: usize) -> &mut WarpGroup {
        if self.groups.len() <= index {
            self.groups.resize_with(index + 1, WarpGroup::default);
        }
        &mut self.groups[index]
    }
}

impl Cta {
    /// The word of a barrier at a checked offset.
    fn barrier_word(&self, at: usize) -> u64 {
        self.shared.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |b| u64::from_le_bytes(*b))
    }

    fn set_barrier_word(&mut self, at: usize, word: u64) {
        if let Some(bytes) = self.shared.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
            *bytes = word.to_le_bytes();
        }
    }
}

impl Machine<'_> {
    /// Executes an asynchronous operation, or one on what tells that it has completed.
    #[inline(never)]
    pub(crate) fn asynchronous(
        &mut self,
        warp: &mut Warp,
        op: &Asynchronous,
        pc: u64,
        on: u32,
    ) -> Result<StepOutcome, Declined> {
        self.screen_other()?;
        match &op.what {
            AsyncOp::Mbarrier(kind, memory) => {
                return self.mbarrier(warp, (*kind, memory, op), pc, on);
            }
            &AsyncOp::CountedBarrier { waits, plain } => {
                return self.counted_barrier(warp, op, (waits, plain), on);
            }
            AsyncOp::WaitProducts(most) => return Ok(self.wait_products(warp, *most, on)),
            AsyncOp::Bulk(copy, memories) => self.bulk_copies(warp, copy, memories, on)?,
            AsyncOp::Tensor(copy, memories) => self.tensor_copies(warp, copy, memories, on)?,
            AsyncOp::WarpGroup(what) => self.warp_group(warp, what, op, pc, on)?,
        }
        Ok(StepOutcome::Next)
    }

    /// Executes an operation on barriers for the active lanes, each on the word that those below it
    /// left.
    fn mbarrier(
        &mut self,
        warp: &mut Warp,
        (kind, memory, op): (MbarrierKind, &Memory, &Asynchronous),
        pc: u64,
        on: u32,
    ) -> Result<StepOutcome, Declined> {
        self.stats.memory_instructions += 1;
        let access = match kind {
            MbarrierKind::Init { .. } | MbarrierKind::Inval => AccessKind::Store,
            MbarrierKind::Arrive(_) | MbarrierKind::Expect | MbarrierKind::Complete => {
                AccessKind::Atomic
            }
            _ => AccessKind::Load,
        };
        let operand = |lane: usize, i: usize| op.src.get(i).map_or(0, |&src| warp.lane(src, lane));
        let (mut results, mut places, mut changed) = ([0; LANES], [0; LANES], false);
        for lane in lanes(on) {
            let at = self.shared_place(warp, memory, lane, 8)?;
            let cta = &mut self.ctas[self.slot];
            let old = cta.barrier_word(at);
            let made = vm::mbarrier_effect(kind, old, operand(lane, 1), operand(lane, 2) as u32);
            let (word, result) = made.map_err(|_: Misuse| MISUSE)?;
            if let Some(word) = word {
                cta.set_barrier_word(at, word);
                changed |= word != old;
            }
            (results[lane], places[lane]) = (result, at);
        }
        self.progress |= changed;
        if matches!(kind, MbarrierKind::Try { .. }) && lanes(on).all(|lane| results[lane] == 0) {
            let first = on.trailing_zeros() as usize % LANES;
            let (at, operand_of) = (places[first], operand(first, 1));
            let phase = |operand: u64| vm::awaited_phase(kind, operand);
            if lanes(on).any(|l| places[l] != at || phase(operand(l, 1)) != phase(operand_of)) {
                return Err(APART);
            }
            let dst = op.dst.first().copied().unwrap_or(Dst::None);
            let wait = Wait::Phase { at, kind, operand: operand_of, dst, pc };
            return Ok(self.begin_wait(warp, on, wait));
        }
        self.report_access(warp, memory, access, pc, on);
        if let Some(&dst) = op.dst.first() {
            warp.put_each(dst, on, |lane| results[lane]);
        }
        if access == AccessKind::Atomic {
            self.release_warps();
        }
        Ok(StepOutcome::Next)
    }

    /// Returns the offset in shared memory of a lane's access.
    fn shared_place(
        &mut self,
        warp: &Warp,
        memory: &Memory,
        lane: usize,
        bytes: u64,
    ) -> Result<usize, Declined> {
        let (thread, value) = (warp.first_thread as usize + lane, warp.lane(memory.addr, lane));
        match self.with_memory(|m| m.place(memory, value, (bytes, bytes), thread, false))? {
            Location::Shared(at) => Ok(at),
            _ => Err(MISUSE),
        }
    }

    pub(crate) fn begin_wait(&mut self, warp: &mut Warp, on: u32, wait: Wait) -> StepOutcome {
        let waiter = Waiter { warp: self.group, on, wait };
        self.ctas[self.slot].asynchronous.waiters.push(waiter);
        warp.parked = true;
        StepOutcome::Park
    }

    /// Lets the warps go on whose wait is over. None of them is the running one.
    pub(crate) fn release_warps(&mut self) {
        let cta = &mut self.ctas[self.slot];
        if cta.asynchronous.waiters.is_empty() {
            return;
        }
        let waiters = std::mem::take(&mut cta.asynchronous.waiters);
        let is_over = |waiter: &Waiter| match waiter.wait {
            Wait::Threads(id) => cta.asynchronous.barriers[id].is_open(),
            Wait::Phase { at, kind, operand, .. } => {
                let answer = vm::mbarrier_effect(kind, cta.barrier_word(at), operand, 0);
                answer.is_ok_and(|(_, done)| done != 0)
            }
            Wait::Products(most) => {
                let group = cta.asynchronous.groups.get(waiter.warp / WARPS);
                group.is_none_or(|group| group.is_done(waiter.warp, most))
            }
        };
        let (over, rest): (Vec<_>, Vec<_>) = waiters.into_iter().partition(is_over);
        cta.asynchronous.waiters = rest;
        for Waiter { warp, on, wait } in over {
            let waiting = &mut self.ctas[self.slot].warps[warp];
            waiting.parked = false;
            self.progress = true;
            self.released.push(warp);
            if let Wait::Phase { at, dst, pc, .. } = wait {
                waiting.put_all(dst, 1, on);
                self.report_wait(warp, (at, pc), on);
            }
        }
    }

    /// Reports the accesses of lanes whose wait for a phase is over.
    fn report_wait(&mut self, warp: usize, (at, pc): (usize, u64), on: u32) {
        if self.detail.is_none() {
            return;
        }
        let code = self.context.code;
        let holds = |b: &&crate::code::Block| (b.first..=b.pc).contains(&pc);
        let step = code.blocks.iter().find(holds).and_then(|block| {
            code.steps.get(block.steps.start + (pc - block.first) as usize).map(|step| &step.kind)
        });
        let Some(crate::code::Kind::Asynchronous(op)) = step else { return };
        if let AsyncOp::Mbarrier(_, memory) = &op.what {
            let cta = self.ctas[self.slot].index;
            let first_thread = warp as u32 * WARP_SIZE;
            let group = GroupId { cta, group: warp as u32, first_thread };
            let at = simt::memory::SHARED_WINDOW.start + at as u64;
            self.report_lanes((memory, AccessKind::Load, Pc(pc)), group, (on, |_| at), 1);
        }
    }

    /// Completes bytes at a barrier in shared memory.
    fn complete_bytes(&mut self, at: usize, bytes: u64) -> Result<(), Declined> {
        let cta = &mut self.ctas[self.slot];
        let barrier = Mbarrier::load(cta.barrier_word(at)).map_err(|_| MISUSE)?;
        let barrier = barrier.complete(bytes as u32).map_err(|_| MISUSE)?;
        cta.set_barrier_word(at, barrier.word());
        self.release_warps();
        Ok(())
    }

    /// Returns the offset of the barrier that an address names.
    fn barrier_place(&mut self, warp: &Warp, barrier: Src, lane: usize) -> Result<usize, Declined> {
        let at = (warp.lane(barrier, lane) & 0xffff_ffff) as usize;
        let cta = &self.ctas[self.slot];
        let inside = at.checked_add(8).is_some_and(|end| end <= cta.shared.len());
        if inside { Ok(at) } else { Err(MISUSE) }
    }

    fn bulk_copies(
        &mut self,
        warp: &Warp,
        op: &BulkOp<Src>,
        [to, from]: &[Memory; 2],
        on: u32,
    ) -> Result<(), Declined> {
        self.stats.memory_instructions += 1;
        self.progress = true;
        for lane in lanes(on) {
            let get = |src: Src| warp.lane(src, lane);
            let bytes = get(op.bytes) & 0xffff_ffff;
            let target = get(op.to).wrapping_add_signed(op.offset);
            let [left, right] = op.trimmed.map_or([0; 2], |both| both.map(get));
            let (left, right) = (left & 0xffff_ffff, right & 0xffff_ffff);
            let whole = [bytes, target, get(op.from)].iter().all(|n| n.is_multiple_of(16));
            let mask = op.mask.map(get);
            if !whole || left > 15 || right > 15 || op.multicast && mask != Some(1) {
                return Err(MISUSE);
            }
            // A write of some bytes of each 16 is left to the exact engine.
            if op.kind == Bulk::Store && mask.is_some() {
                return Err(Declined::Running("a bulk copy has a byte mask"));
            }
            let left = left.min(bytes);
            let copied = (bytes - left).saturating_sub(right);
            let barrier = op.barrier.map(|at| self.barrier_place(warp, at, lane)).transpose()?;
            let thread = warp.first_thread as usize + lane;
            let source = get(op.from).wrapping_add(left);
            self.with_memory(|memory| -> Result<(), Declined> {
                let from = memory.place(from, source, (copied, 1), thread, false)?;
                memory.place(to, get(op.to), (bytes, 1), thread, true)?;
                if copied > 0 {
                    let at = get(op.to).wrapping_add(left);
                    let to = memory.place(to, at, (copied, 1), thread, true)?;
                    memory.copy_or_reduce(from, to, copied as usize, op.combine);
                }
                Ok(())
            })?;
            if let Some(at) = barrier {
                self.complete_bytes(at, bytes)?;
            }
        }
        Ok(())
    }

    fn tensor_copies(
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
            if op.mask.is_some_and(|mask| get(mask) & 0xffff != 1) {
                return Err(MISUSE);
            }
            let (thread, address) = (warp.first_thread as usize + lane, get(op.map));
            let content = self.with_memory(|memory| -> Result<[u8; BYTES], Declined> {
                let place = memory.place(map, address, (BYTES as u64, 64), thread, false)?;
                memory.bytes(place, BYTES).first_chunk().copied().ok_or(MISUSE)
            })?;
            let plan = vm::plan_copy(op, (address, &content), get).map_err(|_| MISUSE)?;
            let barrier = op.barrier.map(|at| self.barrier_place(warp, at, lane)).transpose()?;
            match op.kind {
                Bulk::Load => self.load_tensor(&plan, tensor, thread)?,
                _ => self.store_tensor(&plan, op.combine, tensor, thread)?,
            }
            if let Some(at) = barrier {
                self.complete_bytes(at, plan.bytes)?;
            }
        }
        Ok(())
    }

    /// Moves the runs of a load. Those that follow each other in global memory are checked
    /// together.
    fn load_tensor(
        &mut self,
        plan: &TensorPlan,
        tensor: &Memory,
        thread: usize,
    ) -> Result<(), Declined> {
        let fill = plan.map.filling();
        self.with_memory(|memory| -> Result<(), Declined> {
            for runs in plan.runs.chunk_by(|a, b| match (a.global, b.global) {
                (Some(first), Some(next)) => first.checked_add(a.bytes) == Some(next),
                (None, None) => true,
                _ => false,
            }) {
                let bytes: u64 = runs.iter().map(|run| run.bytes).sum();
                let source = runs[0].global;
                let place = source.map(|at| memory.place(tensor, at, (bytes, 1), thread, false));
                let source = match place.transpose()? {
                    Some(Location::Global(place)) => Some(memory.global.bytes(place)),
                    Some(_) => return Err(MISUSE),
                    None => None,
                };
                let mut done = 0;
                for run in runs {
                    let (at, len) = ((run.shared & 0xffff_ffff) as usize, run.bytes as usize);
                    let to = memory.shared.get_mut(at..at + len).ok_or(MISUSE)?;
                    match source.and_then(|source| source.get(done..done + len)) {
                        Some(from) => to.copy_from_slice(from),
                        None => {
                            for (i, byte) in to.iter_mut().enumerate() {
                                *byte = fill[((run.shared + i as u64) % 8) as usize];
                            }
                        }
                    }
                    done += len;
                }
            }
            Ok(())
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
            Some(op) => Some((op, vm::tensor_reduction(plan.map.element, op).ok_or(MISUSE)?)),
            None => None,
        };
        self.with_memory(|memory| -> Result<(), Declined> {
            for run in &plan.runs {
                let Some(global) = run.global else { continue };
                let (at, len) = ((run.shared & 0xffff_ffff) as usize, run.bytes as usize);
                if memory.shared.get(at..at + len).is_none() {
                    return Err(MISUSE);
                }
                let to = memory.place(tensor, global, (run.bytes, 1), thread, true)?;
                memory.copy_or_reduce(Location::Shared(at), to, len, combine);
            }
            Ok(())
        })
    }

    /// Executes an operation of a whole warp on products of its group.
    fn warp_group(
        &mut self,
        warp: &mut Warp,
        what: &WarpGroupOp,
        op: &Asynchronous,
        pc: u64,
        on: u32,
    ) -> Result<(), Declined> {
        if on != u32::MAX {
            return Err(Declined::Running("an operation of a warp group without whole warps"));
        }
        let (group, number) = (self.group / WARPS, self.group % WARPS);
        match what {
            WarpGroupOp::Fence => {}
            WarpGroupOp::Commit => {
                self.ctas[self.slot].asynchronous.group(group).commit(number);
            }
            WarpGroupOp::Multiply { multiply, registers } => {
                self.check_group(warp)?;
                let count = if *registers { 1 } else { 2 };
                let sources = Sources::new(op, multiply, count).ok_or(MISUSE)?;
                let descriptors = self.descriptors(warp, multiply, &sources)?;
                let named = &descriptors[..count];
                let adds = warp.pred(sources.adds);
                let products = self.ctas[self.slot].asynchronous.group(group);
                if products.difference(number, Pc(pc), named).is_some() {
                    return Err(MISUSE);
                }
                if let Some(adds) = products.issue(number, (Pc(pc), named, adds)) {
                    self.multiply(warp, (multiply, adds), &sources, (named, &op.dst))?;
                    self.release_warps();
                }
            }
        }
        if let Some(detail) = &mut self.detail {
            detail.counts.collectives += 1;
        }
        self.stats.member_collectives += 1;
        Ok(())
    }

    /// Declines the launch unless all threads of the running warp's group are there.
    fn check_group(&self, warp: &Warp) -> Result<(), Declined> {
        let first = self.group / WARPS * WARPS;
        let cta = &self.ctas[self.slot];
        let is_whole = |of: &Warp| of.launched == u32::MAX && (of.stale || of.exited == 0);
        let mut others = (first..first + WARPS).filter(|&other| other != self.group);
        let whole = others.all(|other| cta.warps.get(other).is_some_and(is_whole));
        let threads = self.context.threads as usize;
        if whole && is_whole(warp) && (first / WARPS + 1) * THREADS <= threads {
            return Ok(());
        }
        Err(Declined::Running("a warp group is not whole"))
    }

    /// The descriptors of a product, which are the same in all lanes and name shared memory.
    fn descriptors(
        &self,
        warp: &Warp,
        multiply: &GroupMultiply,
        sources: &Sources<'_>,
    ) -> Result<[u64; 2], Declined> {
        let product = multiply.product();
        let mut out = [0; 2];
        let roles: &[Role] = if sources.left.is_empty() { &[Role::A, Role::B] } else { &[Role::B] };
        for ((&src, &role), out) in sources.descriptors.iter().zip(roles).zip(&mut out) {
            *out = warp.uniform(src).ok_or(MISUSE)?;
            let descriptor = Descriptor::parse(*out).map_err(|_| MISUSE)?;
            let len = self.ctas[self.slot].shared.len();
            let is_inside = |offset: u32| offset as usize + 16 <= len;
            // The end is a bound: lines may begin within the units that a swizzle exchanges.
            if product.end(&descriptor, role) as usize > len
                && !product.places(&descriptor, role).all(is_inside)
            {
                return Err(MISUSE);
            }
        }
        if let (Some(metadata), &[word, selector]) = (product.metadata(), sources.metadata) {
            let is_wrong = |lane: usize| {
                metadata.is_read(lane, warp.lane(selector, lane))
                    && metadata.misuse(warp.lane(word, lane) as u32).is_some()
            };
            if (0..LANES).any(is_wrong) {
                return Err(MISUSE);
            }
        }
        Ok(out)
    }

    /// Computes a product, whose registers are those of the four warps now; `running` is one of
    /// them. `adds` are the lanes of each whose sums begin with what their registers hold.
    fn multiply(
        &mut self,
        running: &mut Warp,
        (multiply, adds): (&GroupMultiply, [u32; WARPS]),
        sources: &Sources<'_>,
        (descriptors, dst): (&[u64], &[Dst]),
    ) -> Result<(), Declined> {
        let (level, rule) = (self.context.products, self.context.matrix_sums);
        let (first, own) = (self.group / WARPS * WARPS, self.group % WARPS);
        let cta = &mut self.ctas[self.slot];
        let shared = cta.shared.as_slice();
        let unit = |offset: u32| {
            let bytes = shared.get(offset as usize..).and_then(<[u8]>::first_chunk);
            bytes.map_or(0, |bytes| u128::from_le_bytes(*bytes))
        };
        let others = &mut cta.warps[first..first + WARPS];
        let row = |warp: usize, src: Src| match warp == own {
            true => running.narrow(src).0,
            false => others[warp].narrow(src).0,
        };
        let mut parsed = descriptors.iter().filter_map(|&bits| Descriptor::parse(bits).ok());
        let left = match sources.left {
            [] => multiply.read(&parsed.next().ok_or(MISUSE)?, Role::A, unit),
            left => multiply.of_registers(|warp, index| row(warp, left[index])),
        };
        let right = multiply.read(&parsed.next().ok_or(MISUSE)?, Role::B, unit);
        let metadata = match *sources.metadata {
            [word, selector] => Some(std::array::from_fn(|w| [row(w, word), row(w, selector)])),
            _ => None,
        };
        let mut sums: Vec<Tile> = Vec::with_capacity(WARPS * sources.sums.len());
        for (warp, adds) in adds.into_iter().enumerate() {
            sums.extend(sources.sums.iter().map(|&src| match adds {
                0 => [0; LANES],
                u32::MAX => row(warp, src),
                _ => {
                    let row = row(warp, src);
                    std::array::from_fn(|lane| if adds >> lane & 1 != 0 { row[lane] } else { 0 })
                }
            }));
        }
        let factors = Factors::new(left, right, metadata);
        multiply.multiply(level, rule, factors, &mut sums);
        for (number, sums) in sums.chunks(dst.len().max(1)).enumerate() {
            let warp = if number == own { &mut *running } else { &mut others[number] };
            for (&dst, values) in dst.iter().zip(sums) {
                match dst {
                    Dst::Narrow(i) => warp.narrow[i as usize].0 = *values,
                    _ => warp.put_each(dst, u32::MAX, |lane| values[lane].into()),
                }
            }
        }
        Ok(())
    }

    /// Waits until at most so many groups of the warp's products are unfinished.
    fn wait_products(&mut self, warp: &mut Warp, most: u32, on: u32) -> StepOutcome {
        let (group, number) = (self.group / WARPS, self.group % WARPS);
        if self.ctas[self.slot].asynchronous.group(group).is_done(number, most) {
            return StepOutcome::Next;
        }
        self.begin_wait(warp, on, Wait::Products(most))
    }
}

/// Operands of a product, apart.
struct Sources<'s> {
    adds: Src,
    descriptors: &'s [Src],
    left: &'s [Src],
    sums: &'s [Src],
    metadata: &'s [Src],
}

impl<'s> Sources<'s> {
    fn new(op: &'s Asynchronous, multiply: &GroupMultiply, descriptors: usize) -> Option<Self> {
        let (adds, rest) = op.src.split_first()?;
        let left = if descriptors == 1 { A_REGISTERS } else { 0 };
        let (descriptors, rest) = rest.split_at_checked(descriptors)?;
        let (left, rest) = rest.split_at_checked(left)?;
        let (sums, metadata) = rest.split_at_checked(multiply.product().registers())?;
        Some(Self { adds: *adds, descriptors, left, sums, metadata })
    }
}

/// Combines elements with those that are there.
pub(crate) fn reduce_bytes((op, ty): (AtomOp, Ty), from: &[u8], to: &mut [u8]) {
    let size = ty.bytes() as usize;
    let word =
        |bytes: &[u8]| bytes.iter().rev().fold(0u64, |word, &byte| word << 8 | u64::from(byte));
    for (from, to) in from.chunks_exact(size).zip(to.chunks_exact_mut(size)) {
        let value = vm::atomic_result(op, ty, word(to), &[word(from)]);
        to.copy_from_slice(&value.to_le_bytes()[..size]);
    }
}
