//! Products of warp groups: `wgmma`, `wgmmareg`, `wgmmacommit`, `wgmmawait`.
//!
//! Four warps execute one product, each when it comes to it, and none waits for the others there.
//! The product takes effect when the last of them has issued it: only then is shared memory read
//! and are registers read and written. A warp that waits for its products waits for the other
//! warps, too. So one thread may release the memory that a product reads as soon as it has waited,
//! which is what kernels do.
//!
//! Products of a warp group take effect in the order in which each of its warps issues them. What a
//! product needs is checked when a warp arrives, so that it cannot fail later.
//!
//! Source: PTX ISA 9.1, "Asynchronous warpgroup level matrix instructions".

use crate::access::{check_place, generic_address};
use crate::announce::lanes_of_warp;
use crate::cause::Cause;
use crate::code::{CollectiveOp, Src, WarpGroupOp};
use crate::control::{fail, value};
use crate::engine::{Failure, Now, Outcome, Release};
use crate::state::{Cta, LaunchInfo, Parked, State, Waiting};
use ir::mods::Space;
use products::{Factors, GroupMultiply, Level, Tile};
use simt::matrix::{Descriptor, GroupProduct, LANES, Role, THREADS, WARPS};
use simt::memory::AccessKind;
use simt::observe::{AsyncEvent, AsyncGroups};
use simt::{LaneMask, Pc};
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::ops::Range;

/// Bytes that a product reads together.
const UNIT: u64 = 16;

/// What a warp group has issued.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WarpGroup {
    /// Products that some of the warps have issued, the oldest first.
    pending: VecDeque<Pending>,
    warps: [Issued; WARPS],
}

impl WarpGroup {
    /// Returns what is wrong with the next product of a warp, if another warp has issued it
    /// otherwise.
    #[must_use]
    pub fn difference(&self, warp: usize, pc: Pc, descriptors: &[u64]) -> Option<&'static str> {
        let pending = self.pending.get(self.warps[warp % WARPS].ahead)?;
        if pending.pc != pc {
            return Some("its warps execute different instructions");
        }
        (*pending.descriptors != *descriptors).then_some("its warps have different descriptors")
    }

    /// Adds a warp to those that have issued a product, or the product if it is the first; `begin`
    /// gives its number and the room for frames of threads. `adds` are the threads whose sums begin
    /// with what their registers hold.
    fn add(
        &mut self,
        warp: usize,
        (pc, descriptors, adds): (Pc, SmallVec<[u64; 2]>, u32),
        begin: impl FnOnce() -> (u64, Vec<u32>),
    ) -> &mut Pending {
        let (warp, issued) = (warp % WARPS, &mut self.warps[warp % WARPS]);
        let at = issued.ahead;
        issued.ahead += 1;
        issued.open += 1;
        if self.pending.len() == at {
            let (number, base) = begin();
            let adds = [0; WARPS];
            self.pending.push_back(Pending { pc, number, warps: 0, descriptors, adds, base });
        }
        let pending = &mut self.pending[at];
        pending.warps |= 1 << warp;
        pending.adds[warp] = adds;
        pending
    }

    /// Takes the oldest product if all warps have issued it.
    fn take_complete(&mut self) -> Option<Pending> {
        self.pending.front().filter(|pending| pending.warps == (1 << WARPS) - 1)?;
        self.warps.iter_mut().for_each(Issued::finish_one);
        self.pending.pop_front()
    }

    /// Records that a warp has issued a product. If all warps have, it takes effect now: returns
    /// for each warp the threads whose sums begin with what their registers hold.
    pub fn issue(
        &mut self,
        warp: usize,
        (pc, descriptors, adds): (Pc, &[u64], u32),
    ) -> Option<[u32; WARPS]> {
        self.add(warp, (pc, descriptors.into(), adds), || (0, Vec::new()));
        self.take_complete().map(|pending| pending.adds)
    }

    /// Makes a group of the products that a warp has issued since its last group.
    pub fn commit(&mut self, warp: usize) {
        self.warps[warp % WARPS].commit();
    }

    /// Returns whether at most so many groups of a warp are unfinished.
    #[must_use]
    pub fn is_done(&self, warp: usize, most: u32) -> bool {
        self.warps[warp % WARPS].is_done(most)
    }

    /// Returns whether all warps have issued all products.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.pending.is_empty()
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.pending.clear();
        self.warps.iter_mut().for_each(|warp| *warp = Issued::default());
    }
}

/// A product that has not taken effect.
#[derive(Clone, Debug, PartialEq)]
struct Pending {
    pc: Pc,
    /// Its number among the asynchronous operations of the launch.
    number: u64,
    /// Warps that have issued it, as bits.
    warps: u32,
    /// Descriptors, of B last.
    descriptors: SmallVec<[u64; 2]>,
    /// Threads whose sums begin with what their registers hold.
    adds: [u32; WARPS],
    /// The first row of each thread's frame when it issued the product.
    base: Vec<u32>,
}

/// The products of a warp.
#[derive(Clone, Debug, Default, PartialEq)]
struct Issued {
    /// Those that have not taken effect.
    ahead: usize,
    /// How many of them are in no group.
    open: u32,
    /// How many of them are in each group, the oldest group first.
    groups: VecDeque<u32>,
}

impl Issued {
    /// The oldest product has taken effect.
    fn finish_one(&mut self) {
        self.ahead -= 1;
        match self.groups.iter_mut().find(|left| **left > 0) {
            Some(left) => *left -= 1,
            None => self.open -= 1,
        }
        self.settle();
    }

    fn commit(&mut self) {
        self.groups.push_back(std::mem::take(&mut self.open));
        self.settle();
    }

    /// Forgets groups that are finished.
    fn settle(&mut self) {
        while self.groups.front() == Some(&0) {
            self.groups.pop_front();
        }
    }

    fn is_done(&self, most: u32) -> bool {
        self.groups.len() <= most as usize
    }
}

/// Sources of a product, apart.
struct Sources<'s> {
    adds: Src,
    descriptors: &'s [Src],
    left: &'s [Src],
    sums: &'s [Src],
    metadata: &'s [Src],
}

fn sources<'s>(
    op: &'s CollectiveOp,
    product: &GroupProduct,
    registers: bool,
) -> Option<Sources<'s>> {
    let (adds, rest) = op.src.split_first()?;
    let (descriptors, rest) = rest.split_at_checked(if registers { 1 } else { 2 })?;
    let left = if registers { simt::matrix::A_REGISTERS } else { 0 };
    let (left, rest) = rest.split_at_checked(left)?;
    let (sums, metadata) = rest.split_at_checked(product.registers())?;
    Some(Sources { adds: *adds, descriptors, left, sums, metadata })
}

/// Checks lanes that arrive: that their warp group is whole, and that the product is one that they
/// can compute together.
pub(crate) fn arrive<const N: usize>(
    state: &State<N>,
    now: &Now<N>,
    kind: WarpGroupOp,
    op: &CollectiveOp,
) -> Result<(), Failure<N>> {
    // A warp that has its results may end before others form their group of products.
    let WarpGroupOp::Multiply { multiply, registers } = kind else { return Ok(()) };
    let product = multiply.product();
    let Some(cta) = state.resident[now.slot].as_deref() else { return Ok(()) };
    let mut warps: SmallVec<[usize; 2]> = SmallVec::new();
    for lane in now.on {
        let warp = cta.groups[now.group].thread(lane) / LANES;
        if !warps.contains(&warp) {
            warps.push(warp);
        }
    }
    for warp in warps {
        let lanes = now.on.filter(|lane| cta.groups[now.group].thread(lane) / LANES == warp);
        let first = warp / WARPS * THREADS;
        let gone = |thread: usize| cta.exited.get(thread).is_none_or(|&exited| exited);
        let partial = |w: &usize| (0..LANES).any(|lane| gone(first + w * LANES + lane));
        let missing = (0..WARPS).filter(partial).fold(0, |bits, w| bits | 1 << w);
        if missing != 0 {
            return Err(fail(Cause::PartialWarpGroup { missing }, lanes));
        }
        if let Some(sources) = sources(op, product, registers) {
            check(state, now, (cta, warp, lanes), product, &sources)?;
        }
    }
    Ok(())
}

/// Checks the product of lanes of a warp.
fn check<const N: usize>(
    state: &State<N>,
    now: &Now<N>,
    (cta, warp, lanes): (&Cta<N>, usize, LaneMask<N>),
    product: &GroupProduct,
    sources: &Sources<'_>,
) -> Result<(), Failure<N>> {
    let of = |src: Src, lane: usize| {
        let thread = cta.groups[now.group].thread(lane);
        value(cta, now.group, &state.info.vars, src, thread)
    };
    let Some(first) = lanes.lowest() else { return Ok(()) };
    let named: SmallVec<[u64; 2]> = sources.descriptors.iter().map(|&src| of(src, first)).collect();
    let differs = |what| Err(fail(Cause::WarpGroupDiffers { what }, lanes));
    let differ = |(&src, &bits): (&Src, &u64)| lanes.iter().any(|lane| of(src, lane) != bits);
    if sources.descriptors.iter().zip(&named).any(differ) {
        return differs("lanes of a warp have different descriptors");
    }
    if let Some(what) = cta.warp_groups[warp / WARPS].difference(warp, now.pc, &named) {
        return differs(what);
    }
    let roles: &[Role] = if sources.left.is_empty() { &[Role::A, Role::B] } else { &[Role::B] };
    let thread = cta.groups[now.group].thread(first);
    for (&bits, &role) in named.iter().zip(roles) {
        let descriptor = Descriptor::parse(bits)
            .map_err(|misuse| fail(Cause::MatrixDescriptor { bits, misuse }, lanes))?;
        let end = u64::from(product.end(&descriptor, role));
        if state.info.shared.guards == 0 && end <= cta.shared.len() {
            continue;
        }
        for offset in product.places(&descriptor, role) {
            let at = cta.place.base() + u64::from(offset);
            let place = (Space::Shared, generic_address(Space::Shared, at), false);
            check_place(state, cta, thread, place, AccessKind::Load, (16, 16))
                .map_err(|error| fail(error, lanes))?;
        }
    }
    check_metadata(product, sources, lanes, of)
}

/// Checks that metadata of a sparse factor means something.
fn check_metadata<const N: usize>(
    product: &GroupProduct,
    sources: &Sources<'_>,
    lanes: LaneMask<N>,
    of: impl Fn(Src, usize) -> u64,
) -> Result<(), Failure<N>> {
    let (Some(metadata), &[word, selector]) = (product.metadata(), sources.metadata) else {
        return Ok(());
    };
    for lane in lanes {
        let word = of(word, lane) as u32;
        if metadata.is_read(lane % LANES, of(selector, lane))
            && let Some(misuse) = metadata.misuse(word)
        {
            return Err(fail(Cause::SparsityMetadata { word, misuse }, LaneMask::lane(lane)));
        }
    }
    Ok(())
}

/// A whole warp has issued an operation on products.
pub(crate) fn issued<const N: usize>(
    state: &mut State<N>,
    slot: usize,
    warp: u32,
    (kind, op): (WarpGroupOp, &CollectiveOp),
    pc: Pc,
) {
    let (group, warp) = (warp as usize / WARPS, warp as usize % WARPS);
    let info = std::sync::Arc::clone(&state.info);
    let Some(cta) = state.resident[slot].as_deref_mut() else { return };
    let (multiply, registers) = match kind {
        WarpGroupOp::Fence => {
            announce(state, (slot, group, warp), pc, AsyncEvent::RegisterFence);
            return;
        }
        WarpGroupOp::Commit => {
            cta.warp_groups[group].warps[warp].commit();
            let event = AsyncEvent::Commit(AsyncGroups::Products);
            announce(state, (slot, group, warp), pc, event);
            return;
        }
        WarpGroupOp::Multiply { multiply, registers } => (multiply, registers),
    };
    let Some(sources) = sources(op, multiply.product(), registers) else { return };
    let first = group * THREADS + warp * LANES;
    let of =
        |src: Src, thread: usize| value(cta, thread / info.width as usize, &info.vars, src, thread);
    let adds = (0..LANES)
        .fold(0, |bits, lane| bits | u32::from(of(sources.adds, first + lane) & 1 != 0) << lane);
    let descriptors = sources.descriptors.iter().map(|&src| of(src, first)).collect();
    let base: Vec<u32> = cta.frames.base[first..first + LANES].to_vec();
    let queue = &mut state.queue;
    let begin = || (queue.number(), vec![0; THREADS]);
    let pending = cta.warp_groups[group].add(warp, (pc, descriptors, adds), begin);
    pending.base[warp * LANES..][..LANES].copy_from_slice(&base);
    let operation = pending.number;
    let groups = Some(AsyncGroups::Products);
    let event = AsyncEvent::Issue { operation, generic: false, group: groups, barrier: None };
    announce(state, (slot, group, warp), pc, event);
    let Some(cta) = state.resident[slot].as_deref_mut() else { return };
    if let Some(pending) = cta.warp_groups[group].take_complete() {
        announce_reads(state, (slot, group, warp), multiply.product(), &sources, &pending);
        multiply_whole(state, (slot, group), &multiply, (op, &sources), &pending);
    }
}

/// Announces an event of a warp of a group of warps.
fn announce<const N: usize>(
    state: &mut State<N>,
    (slot, group, warp): (usize, usize, usize),
    pc: Pc,
    event: AsyncEvent,
) {
    if !state.scratch.announced.wanted() {
        return;
    }
    let Some(cta) = state.resident[slot].as_deref() else { return };
    for (group, lanes) in lanes_of_warp(cta, group * WARPS + warp) {
        state.scratch.announced.add(group, pc, lanes, event);
    }
}

/// Announces what a product reads of shared memory, in ranges without gaps.
fn announce_reads<const N: usize>(
    state: &mut State<N>,
    at: (usize, usize, usize),
    product: &GroupProduct,
    sources: &Sources<'_>,
    pending: &Pending,
) {
    if !state.scratch.announced.wanted() {
        return;
    }
    let roles: &[Role] = if sources.left.is_empty() { &[Role::A, Role::B] } else { &[Role::B] };
    let parsed = pending.descriptors.iter().filter_map(|&d| Descriptor::parse(d).ok());
    let mut units: Vec<u64> = parsed
        .zip(roles)
        .flat_map(|(d, &role)| product.places(&d, role).map(u64::from).collect::<Vec<_>>())
        .collect();
    units.sort_unstable();
    units.dedup();
    let Some(owner) = state.resident[at.0].as_deref().map(|cta| cta.index) else { return };
    let (operation, space, kind) = (pending.number, Space::Shared, AccessKind::Load);
    for range in units.chunk_by(|a, b| a + UNIT == *b) {
        let (address, bytes) = (range[0], range.len() as u64 * UNIT);
        let event =
            AsyncEvent::Access { operation, kind, space, owner, address, bytes, words: None };
        announce(state, at, pending.pc, event);
    }
    announce(state, at, pending.pc, AsyncEvent::Complete { operation });
}

/// The event of a wait for all but the last groups of products.
pub(crate) fn waited(most: u32) -> AsyncEvent {
    let (groups, pending) = (AsyncGroups::Products, u64::from(most));
    AsyncEvent::Wait { groups, pending, reads: false }
}

/// Computes a product.
fn multiply_whole<const N: usize>(
    state: &mut State<N>,
    (slot, group): (usize, usize),
    multiply: &GroupMultiply,
    (op, sources): (&CollectiveOp, &Sources<'_>),
    pending: &Pending,
) {
    let info = std::sync::Arc::clone(&state.info);
    let Some(cta) = state.resident[slot].as_deref_mut() else { return };
    let registers = Registers { first: group * THREADS, info: &info, pending };
    let Some(mut factors) = factors(cta, multiply, sources, &registers) else { return };
    let mut sums = Vec::with_capacity(WARPS * sources.sums.len());
    for warp in 0..WARPS {
        let adds = pending.adds[warp];
        sums.extend(sources.sums.iter().map(|&src| match adds {
            0 => [0; LANES],
            _ => registers.read(cta, src, warp, adds),
        }));
    }
    let factors = std::slice::from_mut(&mut factors);
    let mut tiles: Vec<&mut Tile> = sums.iter_mut().collect();
    multiply.multiply(Level::best(), info.matrix_sums, factors, &mut tiles);
    for (warp, sums) in sums.chunks(op.dst.len().max(1)).enumerate() {
        for (&row, values) in op.dst.iter().zip(sums) {
            registers.write(cta, row, warp, values);
        }
    }
}

/// The factors of a product, whose operands have been checked when warps arrived.
fn factors<const N: usize>(
    cta: &Cta<N>,
    multiply: &GroupMultiply,
    sources: &Sources<'_>,
    registers: &Registers<'_, N>,
) -> Option<Factors> {
    let descriptors = &registers.pending.descriptors;
    let mut parsed = descriptors.iter().filter_map(|&bits| Descriptor::parse(bits).ok());
    let eight = |places: [u32; 8]| {
        let mut units = [0; LANES];
        for (words, at) in units.as_chunks_mut::<4>().0.iter_mut().zip(places) {
            let unit = cta.shared.load_u128(at.into()).unwrap_or(0);
            *words = std::array::from_fn(|word| (unit >> (32 * word)) as u32);
        }
        units
    };
    let of = |src, warp| registers.read(cta, src, warp, u32::MAX);
    let mut factors = Factors::default();
    match sources.left {
        [] => multiply.read(&parsed.next()?, Role::A, eight, &mut factors),
        left => multiply.read_registers(|warp, index| of(left[index], warp), &mut factors),
    }
    multiply.read(&parsed.next()?, Role::B, eight, &mut factors);
    if let [word, selector] = *sources.metadata {
        factors.metadata = Some(std::array::from_fn(|warp| [of(word, warp), of(selector, warp)]));
    }
    Some(factors)
}

/// The registers of the threads of a warp group, as they were when these issued a product.
struct Registers<'p, const N: usize> {
    /// The first thread.
    first: usize,
    info: &'p LaunchInfo<N>,
    pending: &'p Pending,
}

impl<const N: usize> Registers<'_, N> {
    /// The place of a register of a warp's lanes, one after another, if their frames begin at one
    /// row.
    fn row(&self, cta: &Cta<N>, row: u32, warp: usize) -> Option<Range<usize>> {
        let base = &self.pending.base[warp * LANES..][..LANES];
        let same = base.iter().all(|&row| row == base[0]);
        let at = (base[0] + row) as usize * cta.parked.len() + self.first + warp * LANES;
        same.then_some(at..at + LANES)
    }

    /// A register of a lane.
    fn at(&self, cta: &Cta<N>, row: u32, thread: usize) -> usize {
        (self.pending.base[thread] + row) as usize * cta.parked.len() + self.first + thread
    }

    /// Words of a warp's lanes; zeros where `lanes` has none.
    fn read(&self, cta: &Cta<N>, src: Src, warp: usize, lanes: u32) -> Tile {
        if let (Src::Row(row), u32::MAX) = (src, lanes)
            && let Some(range) = self.row(cta, row, warp)
            && let Some(values) = cta.file.get(range)
        {
            let mut out = [0; LANES];
            for (to, &value) in out.iter_mut().zip(values) {
                *to = value as u32;
            }
            return out;
        }
        std::array::from_fn(|lane| {
            let thread = warp * LANES + lane;
            let value = match src {
                _ if lanes >> lane & 1 == 0 => 0,
                Src::Row(row) => cta.file[self.at(cta, row, thread)],
                _ => {
                    let thread = self.first + thread;
                    value(cta, thread / self.info.width as usize, &self.info.vars, src, thread)
                }
            };
            value as u32
        })
    }

    /// Writes words of a warp's lanes.
    fn write(&self, cta: &mut Cta<N>, row: u32, warp: usize, values: &Tile) {
        if let Some(range) = self.row(cta, row, warp)
            && let Some(file) = cta.file.get_mut(range)
        {
            for (to, &value) in file.iter_mut().zip(values) {
                *to = value.into();
            }
            return;
        }
        for (lane, &value) in values.iter().enumerate() {
            let at = self.at(cta, row, warp * LANES + lane);
            cta.file[at] = value.into();
        }
    }
}

/// Lanes wait for products of their warp.
pub(crate) fn wait<const N: usize>(state: &mut State<N>, now: &Now<N>, most: u32) -> Outcome<N> {
    let Some(cta) = state.resident[now.slot].as_deref_mut() else { return Outcome::Advance };
    let mut parked = LaneMask::EMPTY;
    for lane in now.on {
        let thread = cta.groups[now.group].thread(lane);
        if !is_done(cta, thread, most) {
            parked.insert(lane);
            cta.parked[thread] = Some(Parked { pc: now.pc, wait: Waiting::Products { most } });
        }
    }
    let group = cta.group_id(now.group);
    state.scratch.announced.add(group, now.pc, now.on - parked, waited(most));
    if parked.is_empty() { Outcome::Advance } else { Outcome::Park(parked) }
}

fn is_done<const N: usize>(cta: &Cta<N>, thread: usize, most: u32) -> bool {
    cta.warp_groups[thread / THREADS].warps[thread % THREADS / LANES].is_done(most)
}

/// Releases threads of a warp's group whose products are finished.
pub(crate) fn wake<const N: usize>(
    state: &mut State<N>,
    slot: usize,
    warp: u32,
    releases: &mut SmallVec<[Release<N>; 2]>,
) {
    let width = state.info.width as usize;
    let Some(cta) = state.resident[slot].as_deref_mut() else { return };
    let first = warp as usize / WARPS * THREADS;
    for thread in first..(first + THREADS).min(cta.parked.len()) {
        let Some(Parked { pc, wait: Waiting::Products { most } }) = cta.parked[thread] else {
            continue;
        };
        if !is_done(cta, thread, most) {
            continue;
        }
        cta.parked[thread] = None;
        let (group, lane) = (thread / width, thread % width);
        match releases.iter_mut().find(|r| (r.slot, r.group, r.pc) == (slot, group, pc)) {
            Some(release) => release.lanes.insert(lane),
            None => releases.push(Release { slot, group, lanes: LaneMask::lane(lane), pc }),
        }
    }
}

/// The warps, as bits, that have not issued the oldest product for which a thread waits.
pub(crate) fn missing<const N: usize>(cta: &Cta<N>, thread: usize) -> u32 {
    let oldest = cta.warp_groups[thread / THREADS].pending.front();
    oldest.map_or(0, |pending| !pending.warps & ((1 << WARPS) - 1))
}
