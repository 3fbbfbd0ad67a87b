//! Loads, stores and atomics.
//!
//! Global and constant memory are regions of the memory map; shared memory belongs to the CTA,
//! local memory to the thread, and parameters to the launch. Every access of a lane is checked
//! before it is made. A launch with an access that is not allowed is declined
//! ([`Declined::Running`]), so no effect needs to be undone here.
//!
//! A uniform address is one access. Affine addresses of adjacent words are one range, checked once
//! from the first active lane to the last. All other addresses are accessed lane by lane, in
//! increasing order.

use crate::Declined;
use crate::code::{Atomic, Dst, Memory, Src};
use crate::cta::Cta;
use crate::local::LocalMemory;
use crate::row::{LANES, lanes};
use crate::warp::Warp;
use ir::Ty;
use ir::mods::{AtomOp, Space};
use simt::memory::{Addr, DirectMemory, LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW};

/// The memory that the lanes of a warp can access.
pub(crate) struct WarpMemory<'a, 'm> {
    pub(crate) global: &'a mut DirectMemory<'m>,
    /// Shared memory of the CTA, and its first address.
    pub(crate) shared: &'a mut [u8],
    pub(crate) base: u64,
    /// Where the other CTAs of its cluster are, if there are any.
    pub(crate) cluster: Option<Cluster<'a>>,
    pub(crate) local: &'a mut LocalMemory,
    pub(crate) params: &'a [u8],
}

/// The other CTAs of a cluster: those of lower ranks, and those of higher ones.
pub(crate) struct Cluster<'a> {
    pub(crate) before: &'a mut [Cta],
    pub(crate) after: &'a mut [Cta],
}

impl Cluster<'_> {
    /// Returns the CTA of another rank, if it has not ended.
    fn cta(&self, rank: usize) -> Option<&Cta> {
        let after = || self.after.get(rank.checked_sub(self.before.len() + 1)?);
        self.before.get(rank).or_else(after).filter(|cta| cta.alive)
    }

    fn cta_mut(&mut self, rank: usize) -> Option<&mut Cta> {
        match rank.checked_sub(self.before.len()) {
            None => self.before.get_mut(rank),
            Some(after) => self.after.get_mut(after.checked_sub(1)?),
        }
    }
}

/// A checked access.
#[derive(Clone, Copy)]
pub(crate) enum Location {
    Global(simt::memory::Place),
    Shared(usize),
    /// In the shared memory of another CTA of the cluster, by its rank.
    Cluster(usize, usize),
    Local(usize),
    Param(usize),
}

/// Returns the first of some lanes, and the number of lanes from it to the last one.
#[inline(always)]
fn span(on: u32) -> (usize, usize) {
    let (first, last) = (on.trailing_zeros() as usize, 31 - on.leading_zeros() as usize);
    (first, last - first + 1)
}

const NOT_ALLOWED: Declined = Declined::Running("a memory access is not allowed");

impl WarpMemory<'_, '_> {
    /// Checks an access of a thread to `bytes` bytes at `value` plus the operand's offset.
    #[inline(always)]
    pub(crate) fn place(
        &self,
        op: &Memory,
        value: u64,
        (bytes, align): (u64, u64),
        thread: usize,
        write: bool,
    ) -> Result<Location, Declined> {
        let address = value.wrapping_add_signed(op.offset);
        let (space, at) = match op.space {
            Space::Global | Space::Const => (Space::Global, address),
            Space::Generic => match Space::of(Addr(address)) {
                window @ (Space::Shared | Space::Local | Space::Param) => {
                    (window, address & 0xffff_ffff)
                }
                _ => (Space::Global, address),
            },
            window => (window, address & 0xffff_ffff),
        };
        if at & (align - 1) != 0 {
            return Err(NOT_ALLOWED);
        }
        let at = if space == Space::Shared { at.wrapping_sub(self.base) } else { at };
        let inside = |len: usize| at.checked_add(bytes).is_some_and(|end| end <= len as u64);
        match space {
            Space::Shared if inside(self.shared.len()) => Ok(Location::Shared(at as usize)),
            Space::Shared => self.place_in_cluster(op, at.wrapping_add(self.base), bytes),
            Space::Local => {
                let place = self.local.place(thread, at, bytes, write);
                place.map(Location::Local).ok_or(NOT_ALLOWED)
            }
            Space::Param if inside(self.params.len()) && !write => Ok(Location::Param(at as usize)),
            Space::Global => {
                // Addresses in windows of spaces are not global addresses, and no region lies
                // there.
                let hint = op.hint.get();
                let place = if op.has_footprint {
                    self.global.own_place(hint, at, bytes, write)
                } else {
                    self.global.place(hint, at, bytes, write)
                };
                let place = place.ok_or(NOT_ALLOWED)?;
                op.hint.set(place.region());
                Ok(Location::Global(place))
            }
            _ => Err(NOT_ALLOWED),
        }
    }

    /// Checks an access to the shared memory of another CTA of the cluster.
    #[cold]
    fn place_in_cluster(&self, op: &Memory, at: u64, bytes: u64) -> Result<Location, Declined> {
        let reaches = op.reaches_cluster || op.space == Space::Generic;
        let cluster = self.cluster.as_ref().filter(|_| reaches).ok_or(NOT_ALLOWED)?;
        let (rank, at) = ((at / vm::CTA_WINDOW) as usize, (at % vm::CTA_WINDOW) as usize);
        let cta = cluster.cta(rank).ok_or(NOT_ALLOWED)?;
        let inside =
            at.checked_add(bytes as usize).is_some_and(|end| end <= cta.storage.shared.len());
        if inside { Ok(Location::Cluster(rank, at)) } else { Err(NOT_ALLOWED) }
    }

    /// Returns the place at the same offset in the shared memory of the CTA of a rank.
    pub(crate) fn at_rank(&self, place: Location, to: usize) -> Location {
        match place {
            Location::Shared(at) | Location::Cluster(_, at) => {
                let own = self.cluster.as_ref().map_or(0, |cluster| cluster.before.len());
                if to == own { Location::Shared(at) } else { Location::Cluster(to, at) }
            }
            other => other,
        }
    }

    #[inline(always)]
    pub(crate) fn bytes(&self, place: Location, len: usize) -> &[u8] {
        match place {
            Location::Global(place) => self.global.bytes(place),
            Location::Cluster(rank, at) => {
                let cta = self.cluster.as_ref().and_then(|cluster| cluster.cta(rank));
                cta.map_or(&[][..], |cta| &cta.storage.shared[at..at + len])
            }
            Location::Shared(at) => &self.shared[at..at + len],
            Location::Local(at) => &self.local.bytes[at..at + len],
            Location::Param(at) => &self.params[at..at + len],
        }
    }

    #[inline(always)]
    pub(crate) fn bytes_mut(&mut self, place: Location, len: usize) -> &mut [u8] {
        match place {
            Location::Global(place) => self.global.bytes_mut(place),
            Location::Cluster(rank, at) => {
                let cta = self.cluster.as_mut().and_then(|cluster| cluster.cta_mut(rank));
                cta.map_or(&mut [][..], |cta| &mut cta.storage.shared[at..at + len])
            }
            Location::Shared(at) => &mut self.shared[at..at + len],
            Location::Local(at) => &mut self.local.bytes[at..at + len],
            // `place` never returns a parameter for a write.
            Location::Param(_) => &mut [],
        }
    }

    /// Copies bytes, or combines their elements with those that are there.
    pub(crate) fn copy_or_reduce(
        &mut self,
        from: Location,
        to: Location,
        len: usize,
        how: Option<(AtomOp, Ty)>,
    ) {
        match (from, to, how) {
            (Location::Global(from), Location::Shared(at), None) => {
                self.shared[at..at + len].copy_from_slice(self.global.bytes(from));
            }
            (Location::Shared(at), Location::Global(to), None) => {
                self.global.bytes_mut(to).copy_from_slice(&self.shared[at..at + len]);
            }
            _ => {
                let bytes = self.bytes(from, len).to_vec();
                let to = self.bytes_mut(to, len);
                match how {
                    Some(how) => crate::asynchronous::reduce_bytes(how, &bytes, to),
                    None => to.copy_from_slice(&bytes),
                }
            }
        }
    }

    /// Executes a load.
    #[inline(always)]
    pub(crate) fn load(
        &self,
        warp: &mut Warp,
        op: &Memory,
        on: u32,
        blend: bool,
    ) -> Result<(), Declined> {
        let (word, whole) = (op.word as usize, (op.bytes(), op.bytes()));
        if let Src::Line(..) | Src::Const(_) = op.address {
            let stride = if let Src::Line(_, stride, _) = op.address { stride } else { 0 };
            let first = on.trailing_zeros() as usize;
            let thread = warp.first_thread as usize + first;
            let local = matches!(op.space, Space::Local | Space::Generic);
            if stride == 0 && !local {
                let place = self.place(op, warp.scalar(op.address), whole, thread, false)?;
                let bytes = self.bytes(place, op.bytes() as usize);
                for (i, &dst) in op.dst.iter().enumerate() {
                    let value = extend(op, read(bytes, i * word, word));
                    warp.put_all(dst, value, if blend { on } else { u32::MAX });
                }
                return Ok(());
            }
            if stride == word as i64
                && op.dst.len() == 1
                && matches!(op.space, Space::Global | Space::Const | Space::Shared)
                && op.extend.is_none()
                && self.load_adjacent(warp, op, on, blend)?
            {
                return Ok(());
            }
        }
        if let ([Dst::Narrow(dst)], 4, None) = (op.dst.as_slice(), word, op.extend)
            && self.gather(warp, op, *dst, on)
        {
            return Ok(());
        }
        for lane in lanes(on) {
            let thread = warp.first_thread as usize + lane;
            let place = self.place(op, address(warp, op, lane), whole, thread, false)?;
            let bytes = self.bytes(place, op.bytes() as usize);
            if let ([Dst::Narrow(dst)], 4, None) = (op.dst.as_slice(), word, op.extend) {
                warp.narrow[*dst as usize].0[lane] = read(bytes, 0, 4) as u32;
                continue;
            }
            for (i, &dst) in op.dst.iter().enumerate() {
                warp.put_lane(dst, lane, extend(op, read(bytes, i * word, word)));
            }
        }
        Ok(())
    }

    /// Loads 32-bit words at arbitrary addresses in shared memory or in the region of the last
    /// access. Returns `false`, having loaded nothing, if a lane's word is elsewhere or misaligned.
    #[inline(always)]
    fn gather(&self, warp: &mut Warp, op: &Memory, dst: u32, on: u32) -> bool {
        let (bytes, places, bad) = match op.space {
            Space::Shared => {
                let (places, bad) = shared_offsets(warp, op, self.base, self.shared.len());
                (&*self.shared, places, bad)
            }
            Space::Global | Space::Generic => {
                let Some((base, bytes)) = self.global.region(op.hint.get()) else { return false };
                let (places, bad) = region_offsets(warp, op, base, bytes.len());
                (bytes, places, bad)
            }
            _ => return false,
        };
        if bad & on != 0 {
            return false;
        }
        let row = &mut warp.narrow[dst as usize];
        for lane in lanes(on) {
            row.0[lane] = read(bytes, places[lane] as usize, 4) as u32;
        }
        true
    }

    /// Loads adjacent words as one range. Returns `false`, having loaded nothing, if their
    /// addresses wrap around.
    #[inline(always)]
    fn load_adjacent(
        &self,
        warp: &mut Warp,
        op: &Memory,
        on: u32,
        blend: bool,
    ) -> Result<bool, Declined> {
        let (first, count) = span(on);
        let word = op.word as usize;
        let Some(place) = self.range(warp, op, on, false)? else { return Ok(false) };
        let bytes = self.bytes(place, count * word);
        match (op.dst[0], word) {
            (Dst::Narrow(dst), 4) => {
                let to = &mut warp.narrow[dst as usize];
                if count == 32 && (on == u32::MAX || !blend) {
                    for (to, from) in to.0.iter_mut().zip(bytes.chunks_exact(4)) {
                        *to = u32::from_le_bytes([from[0], from[1], from[2], from[3]]);
                    }
                } else {
                    for lane in lanes(on) {
                        to.0[lane] = read(bytes, (lane - first) * 4, 4) as u32;
                    }
                }
            }
            (Dst::Wide(dst), 8) => {
                let to = &mut warp.wide[dst as usize];
                for lane in lanes(on) {
                    to.0[lane] = read(bytes, (lane - first) * 8, 8);
                }
            }
            (dst, _) => {
                for lane in lanes(on) {
                    warp.put_lane(dst, lane, read(bytes, (lane - first) * word, word));
                }
            }
        }
        Ok(true)
    }

    /// Checks an access to adjacent words from the first active lane to the last. Returns `None` if
    /// their addresses wrap around, or words of lanes between them may belong to another CTA.
    #[inline(always)]
    fn range(
        &self,
        warp: &Warp,
        op: &Memory,
        on: u32,
        write: bool,
    ) -> Result<Option<Location>, Declined> {
        let (first, count) = span(on);
        if op.has_footprint && on.count_ones() as usize != count && self.global.is_part() {
            return Ok(None);
        }
        let word = u64::from(op.word);
        let (low, high) = (address(warp, op, first), address(warp, op, first + count - 1));
        if high.wrapping_sub(low) != word * (count as u64 - 1) || high < low {
            return Ok(None);
        }
        let thread = warp.first_thread as usize + first;
        self.place(op, low, (word * count as u64, word), thread, write).map(Some)
    }

    /// Executes a store.
    #[inline(always)]
    pub(crate) fn store(&mut self, warp: &Warp, op: &Memory, on: u32) -> Result<(), Declined> {
        let (word, whole) = (op.word as usize, (op.bytes(), op.bytes()));
        if let Src::Line(_, stride, _) = op.address
            && stride == word as i64
            && op.src.len() == 1
            && matches!(op.space, Space::Global | Space::Shared)
        {
            let (first, count) = span(on);
            if let Some(place) = self.range(warp, op, on, true)? {
                let bytes = self.bytes_mut(place, count * word);
                if word == 4 && on == u32::MAX {
                    let row = warp.narrow(op.src[0]);
                    for (to, from) in bytes.chunks_exact_mut(4).zip(&row.0) {
                        to.copy_from_slice(&from.to_le_bytes());
                    }
                } else {
                    for lane in lanes(on) {
                        write(bytes, (lane - first) * word, word, warp.lane(op.src[0], lane));
                    }
                }
                return Ok(());
            }
        }
        if let ([src], 4, Space::Shared) = (op.src.as_slice(), word, op.space) {
            let (places, bad) = shared_offsets(warp, op, self.base, self.shared.len());
            if bad & on == 0 {
                for lane in lanes(on) {
                    write(self.shared, places[lane] as usize, 4, warp.lane(*src, lane));
                }
                return Ok(());
            }
        }
        for lane in lanes(on) {
            let thread = warp.first_thread as usize + lane;
            let place = self.place(op, address(warp, op, lane), whole, thread, true)?;
            let bytes = self.bytes_mut(place, op.bytes() as usize);
            for (i, &src) in op.src.iter().enumerate() {
                write(bytes, i * word, word, warp.lane(src, lane));
            }
        }
        Ok(())
    }

    /// Executes an atomic for active lanes in increasing order. Returns whether memory has changed.
    pub(crate) fn atomic(
        &mut self,
        warp: &mut Warp,
        atomic: &Atomic,
        on: u32,
    ) -> Result<bool, Declined> {
        let op = &atomic.memory;
        let word = op.word as usize;
        let mask = u64::MAX >> (64 - 8 * word);
        let mut changed = false;
        // Several threads may change the same words if the operations commute and have no results.
        let anywhere = matches!(op.space, Space::Global | Space::Generic);
        let among = atomic.commutes().filter(|_| anywhere && self.global.is_part());
        let sums = atomic.op == AtomOp::Add && matches!(atomic.ty, Ty::U32 | Ty::S32 | Ty::U64);
        for lane in lanes(on) {
            let thread = warp.first_thread as usize + lane;
            let size = (word as u64, word as u64);
            if let Some(number) = among {
                let at = address(warp, op, lane).wrapping_add_signed(op.offset);
                let window = op.space == Space::Generic && Space::of(Addr(at)) != Space::Global;
                if !window {
                    changed |= self.change_word(warp, atomic, (number, at), lane)?;
                    continue;
                }
            }
            let place = self.place(op, address(warp, op, lane), size, thread, true)?;
            let mut operands = [0; 2];
            for (to, &src) in operands.iter_mut().zip(&op.src) {
                *to = warp.lane(src, lane);
            }
            let operands = &operands[..op.src.len().min(2)];
            let bytes = self.bytes_mut(place, word);
            let old = read(bytes, 0, word);
            let new = match operands {
                [by, ..] if sums => old.wrapping_add(*by),
                _ => vm::atomic_result(atomic.op, atomic.ty, old, operands),
            } & mask;
            changed |= new != old;
            write(bytes, 0, word, new);
            if let Some(&dst) = op.dst.first() {
                warp.put_lane(dst, lane, old);
            }
        }
        Ok(changed)
    }

    /// Executes one lane's operation on a word of global memory that other threads may change by
    /// the same operation at any time.
    fn change_word(
        &mut self,
        warp: &Warp,
        atomic: &Atomic,
        (number, at): (u8, u64),
        lane: usize,
    ) -> Result<bool, Declined> {
        let op = &atomic.memory;
        let word = u64::from(op.word);
        let mask = u64::MAX >> (64 - 8 * word);
        let by = op.src.first().map_or(0, |&src| warp.lane(src, lane));
        let new = |old| vm::atomic_result(atomic.op, atomic.ty, old, &[by]) & mask;
        self.change(op, (at, word, number), new)
    }

    /// Changes a word of so many bytes of global memory, which other threads may change by the
    /// operation of the same number at any time. Returns whether it has changed.
    pub(crate) fn change(
        &mut self,
        op: &Memory,
        (at, word, number): (u64, u64, u8),
        new: impl Fn(u64) -> u64,
    ) -> Result<bool, Declined> {
        if at & (word - 1) != 0 {
            return Err(NOT_ALLOWED);
        }
        let place =
            self.global.place_to_change(op.hint.get(), at, word, number).ok_or(NOT_ALLOWED)?;
        op.hint.set(place.region());
        Ok(self.global.change(place, new))
    }
}

/// Returns a lane's value of the address operand as its register holds it.
#[inline(always)]
fn address(warp: &Warp, op: &Memory, lane: usize) -> u64 {
    let value = warp.lane(op.address, lane);
    match op.space {
        // Window offsets have 32 bits; an affine value may exceed them before it is truncated here.
        Space::Shared | Space::Local | Space::Param => value & 0xffff_ffff,
        _ => value,
    }
}

/// Returns the offsets of all lanes' 32-bit words in the shared memory of the CTA, of which the
/// first address is given, and the mask of lanes whose word is misaligned or out of bounds.
#[inline(always)]
fn shared_offsets(warp: &Warp, op: &Memory, base: u64, len: usize) -> ([u64; LANES], u32) {
    let Some(last) = len.checked_sub(4) else { return ([0; LANES], u32::MAX) };
    let offset = (op.offset as u32).wrapping_sub(base as u32);
    let (last, row) = (last as u64, warp.narrow(op.address));
    let (mut places, mut bad) = ([0; LANES], [0u32; LANES]);
    for lane in 0..LANES {
        let at = u64::from(row.0[lane].wrapping_add(offset));
        places[lane] = at;
        bad[lane] = u32::from((at & 3 != 0) | (at > last)) << lane;
    }
    (places, bad.iter().fold(0, |all, one| all | one))
}

/// Returns the offsets in a region of all lanes' 32-bit words, and the mask of lanes whose word is
/// misaligned or out of bounds.
#[inline(always)]
fn region_offsets(warp: &Warp, op: &Memory, base: u64, len: usize) -> ([u64; LANES], u32) {
    let Some(last) = len.checked_sub(4) else { return ([0; LANES], u32::MAX) };
    let (last, row) = (last as u64, warp.wide(op.address));
    let (mut places, mut bad) = ([0; LANES], [0u32; LANES]);
    for lane in 0..LANES {
        let address = row.0[lane].wrapping_add_signed(op.offset);
        let at = address.wrapping_sub(base);
        places[lane] = at;
        bad[lane] = u32::from((address & 3 != 0) | (at > last)) << lane;
    }
    (places, bad.iter().fold(0, |all, one| all | one))
}

#[inline(always)]
pub(crate) fn read(bytes: &[u8], at: usize, word: usize) -> u64 {
    let mut out = [0; 8];
    match word {
        4 => out[..4].copy_from_slice(&bytes[at..at + 4]),
        8 => out.copy_from_slice(&bytes[at..at + 8]),
        2 => out[..2].copy_from_slice(&bytes[at..at + 2]),
        _ => out[0] = bytes[at],
    }
    u64::from_le_bytes(out)
}

#[inline(always)]
fn write(bytes: &mut [u8], at: usize, word: usize, value: u64) {
    let value = value.to_le_bytes();
    match word {
        4 => bytes[at..at + 4].copy_from_slice(&value[..4]),
        8 => bytes[at..at + 8].copy_from_slice(&value),
        2 => bytes[at..at + 2].copy_from_slice(&value[..2]),
        _ => bytes[at] = value[0],
    }
}

/// Extends a loaded word to the width of its register.
#[inline(always)]
fn extend(op: &Memory, value: u64) -> u64 {
    match op.extend {
        None => value,
        Some((from, to)) => {
            let shift = 64 - from;
            ((value << shift) as i64 >> shift) as u64 & u64::MAX >> (64 - to)
        }
    }
}

/// `WarpMemory::place` takes the low 32 bits of an address for the offset in its window.
const _: () = assert!(
    SHARED_WINDOW.start >> 32 == 1
        && LOCAL_WINDOW.start >> 32 == 2
        && PARAM_WINDOW.start >> 32 == 3
);
