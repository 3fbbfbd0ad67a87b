//! Instructions on more than one value per lane: matrices of a whole warp, and copies from global
//! to shared memory.
//!
//! Products are computed by [`products`] on the rows of registers where it has them; all other
//! results by the exact engine's functions ([`vm::Matrix`]). A matrix instruction that lacks a lane
//! of its warp and an access that is not allowed are declined.

use crate::Declined;
use crate::code::{Bulk, Copy, Direct, Dst, Memory, Src};
use crate::machine::Machine;
use crate::row::{LANES, Narrow, Wide, lanes};
use crate::warp::Warp;
use ir::mods::Space;
use products::{Level, Multiply, RESULTS, wide};
use simt::Pc;
use simt::matrix::MatrixSums;
use simt::memory::{AccessKind, Addr};
use simt::observe::{Access, GroupId};
use smallvec::SmallVec;
use vm::{Registers, Values};

impl Machine<'_> {
    /// Executes a matrix instruction.
    #[inline(never)]
    pub(crate) fn matrix(
        &mut self,
        warp: &mut Warp,
        op: &Bulk,
        pc: u64,
        on: u32,
    ) -> Result<(), Declined> {
        if on != u32::MAX {
            return Err(Declined::Running("a matrix instruction without all lanes of its warp"));
        }
        let wrong = |lane| op.what.misuse(lane, |k| warp.lane(op.src[k], lane)).is_some();
        let sparse = matches!(op.what, vm::Matrix::Multiply(of) if of.product().sparse.is_some());
        if sparse && (0..LANES).any(wrong) {
            return Err(Declined::Running("undefined metadata of a sparse matrix"));
        }
        if let Some(detail) = &mut self.detail {
            detail.counts.collectives += 1;
        }
        self.stats.member_collectives += 1;
        let how = (self.context.level, self.context.matrix_sums);
        let results = match (&op.direct, &op.memory) {
            (Some(Direct::Multiply(product)), _) if warp.product(how, product, op) => {
                return Ok(());
            }
            (_, None) => op.what.computed(how.1, &registers(warp, &op.src)),
            (direct, Some(memory)) => {
                self.screen_other()?;
                self.stats.memory_instructions += 1;
                if self.detail.is_some() {
                    self.report_pieces(warp, op, memory, pc);
                }
                self.progress |= op.what.stores();
                match direct {
                    Some(Direct::Tiles(transposed)) => {
                        return self.move_tiles(warp, op, memory, *transposed);
                    }
                    Some(Direct::Lines(lines)) if self.move_lines(warp, op, memory, lines) => {
                        return Ok(());
                    }
                    _ => self.fragments(warp, op, memory)?,
                }
            }
        };
        for (&dst, row) in op.dst.iter().zip(&results) {
            warp.put_each(dst, on, |lane| row[lane]);
        }
        Ok(())
    }

    /// Executes a step if it is a product whose operands cannot be wrong, as [`Self::matrix`] does.
    /// Returns `false`, having changed nothing, if it is not, or if only the model can multiply
    /// these numbers.
    #[inline(always)]
    pub(crate) fn product(&mut self, warp: &mut Warp, op: &Bulk) -> bool {
        let Some(Direct::Multiply(product)) = &op.direct else { return false };
        let how = (self.context.level, self.context.matrix_sums);
        if !op.only_computes() || !warp.product(how, product, op) {
            return false;
        }
        if let Some(detail) = &mut self.detail {
            detail.counts.collectives += 1;
        }
        self.stats.member_collectives += 1;
        true
    }

    /// Reports the accesses of a load or store of a matrix.
    fn report_pieces(&mut self, warp: &Warp, op: &Bulk, memory: &Memory, pc: u64) {
        let kind = if op.what.stores() { AccessKind::Store } else { AccessKind::Load };
        let pieces = pieces(warp, op, memory);
        for i in 0..pieces.iter().map(vm::Pieces::len).max().unwrap_or(0) {
            let size = pieces.iter().find_map(|p| p.get(i)).map_or(0, |p| p.bytes);
            let here = pieces.iter().enumerate().filter_map(|(lane, p)| Some((lane, p.get(i)?.at)));
            self.report_addresses(warp, memory, (kind, size), pc, here.collect());
        }
    }

    /// Loads or stores a matrix lane by lane; returns the registers that a load yields.
    fn fragments(
        &mut self,
        warp: &Warp,
        op: &Bulk,
        memory: &Memory,
    ) -> Result<Registers, Declined> {
        let stores = op.what.stores();
        let pieces = pieces(warp, op, memory);
        let mut values: [Values; LANES] = std::array::from_fn(|_| Values::new());
        let skip = op.what.address_operands() - 1;
        let stored = match stores {
            true => op.what.stored(&registers(warp, &op.src[skip..])),
            false => Vec::new(),
        };
        for (lane, pieces) in pieces.iter().enumerate() {
            let thread = warp.first_thread as usize + lane;
            for (i, piece) in pieces.iter().enumerate() {
                let size = (piece.bytes.into(), piece.bytes.into());
                self.with_memory(|warp_memory| -> Result<(), Declined> {
                    let place = warp_memory.place(memory, piece.at, size, thread, stores)?;
                    if stores {
                        let bytes = warp_memory.bytes_mut(place, piece.bytes as usize);
                        bytes.copy_from_slice(&stored[lane][i].to_le_bytes()[..bytes.len()]);
                    } else {
                        let mut value = [0; 16];
                        let bytes = warp_memory.bytes(place, piece.bytes as usize);
                        value[..bytes.len()].copy_from_slice(bytes);
                        values[lane].push(u128::from_le_bytes(value));
                    }
                    Ok(())
                })?;
            }
        }
        Ok(op.what.loaded(&values))
    }

    /// Executes a copy from global to shared memory.
    #[inline(never)]
    pub(crate) fn copy(
        &mut self,
        warp: &Warp,
        op: &Copy,
        pc: u64,
        on: u32,
    ) -> Result<(), Declined> {
        self.screen_other()?;
        self.stats.memory_instructions += 1;
        self.progress = true;
        let size = u64::from(op.size);
        let bytes = |lane| op.bytes.map_or(size, |b| (warp.lane(b, lane) & 0xffff_ffff).min(size));
        if self.detail.is_some() {
            let of = |memory: &Memory, lane| warp.lane(memory.address, lane);
            let read = lanes(on).filter(|&lane| bytes(lane) != 0);
            let read = read.map(|lane| (lane, of(&op.from, lane))).collect();
            self.report_addresses(warp, &op.from, (AccessKind::Load, op.size), pc, read);
            let written = lanes(on).map(|lane| (lane, of(&op.to, lane))).collect();
            self.report_addresses(warp, &op.to, (AccessKind::Store, op.size), pc, written);
        }
        for lane in lanes(on) {
            let thread = warp.first_thread as usize + lane;
            let count = bytes(lane);
            self.with_memory(|warp_memory| -> Result<(), Declined> {
                let mut value = [0; 16];
                if count > 0 {
                    let at = warp.lane(op.from.address, lane);
                    let from = warp_memory.place(&op.from, at, (count, size), thread, false)?;
                    value[..count as usize]
                        .copy_from_slice(warp_memory.bytes(from, count as usize));
                } else if !warp
                    .lane(op.from.address, lane)
                    .wrapping_add_signed(op.from.offset)
                    .is_multiple_of(size)
                {
                    // The exact engine decides whether this is allowed.
                    return Err(Declined::Running("a misaligned copy of nothing"));
                }
                let at = warp.lane(op.to.address, lane);
                let to = warp_memory.place(&op.to, at, (size, size), thread, true)?;
                warp_memory.bytes_mut(to, size as usize).copy_from_slice(&value[..size as usize]);
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Reports accesses of lanes at addresses without the operand's offset: one event for each
    /// space.
    fn report_addresses(
        &mut self,
        warp: &Warp,
        memory: &Memory,
        (kind, size): (AccessKind, u32),
        pc: u64,
        places: Vec<(usize, u64)>,
    ) {
        let cta = &self.ctas[self.slot];
        let group =
            GroupId { cta: cta.index, group: self.group as u32, first_thread: warp.first_thread };
        let window = memory.space.window();
        let place = |address: u64| {
            let address = address.wrapping_add_signed(memory.offset);
            window.as_ref().map_or(address, |w| w.start + u64::from(address as u32))
        };
        let mut rest: Vec<(u16, u64)> =
            places.into_iter().map(|(lane, at)| (lane as u16, place(at))).collect();
        let clustered = self.context.cluster_size > 1;
        // CTAs of a cluster have parts of shared memory.
        let part = |at: u64| match Space::of(Addr(at)) {
            Space::Shared if clustered => (Space::Shared, at / vm::CTA_WINDOW),
            space => (space, 0),
        };
        while let Some(&(_, first)) = rest.first() {
            let (space, number) = part(first);
            let mask = match space {
                Space::Shared if clustered => vm::CTA_WINDOW - 1,
                space if space.window().is_some() => 0xffff_ffff,
                _ => u64::MAX,
            };
            let is_here = |at: u64| part(at) == (space, number);
            let here = rest.iter().filter(|p| is_here(p.1)).map(|p| (p.0, p.1 & mask));
            let here: Vec<(u16, u64)> = here.collect();
            rest.retain(|p| !is_here(p.1));
            let (order, scope, lanes) = (memory.order, memory.scope, here.as_slice());
            let (pc, values) = (Pc(pc), &[][..]);
            let owner = group.cta;
            let access =
                Access { group, pc, kind, space, owner, order, scope, size, lanes, values };
            if let Some(sink) = self.observer.accesses() {
                sink.access(&access);
            }
        }
    }
}

/// Rows at addresses that vectors are best stored at.
#[repr(align(64))]
struct Aligned<const R: usize>([[u32; LANES]; R]);

/// Most operands of a product of words: eight registers of each matrix, metadata and selector.
const OPERANDS: usize = 26;

/// The pieces of memory that each lane accesses.
fn pieces(warp: &Warp, op: &Bulk, memory: &Memory) -> [vm::Pieces; LANES] {
    let stride = |lane| op.src.first().map_or(0, |&src| warp.lane(src, lane));
    std::array::from_fn(|lane| op.what.pieces(lane, warp.lane(memory.address, lane), stride(lane)))
}

/// References to the rows of operands; most products have fewer.
type Rows<'r, T> = SmallVec<[&'r [T; LANES]; 24]>;

impl Warp {
    /// Executes a product. Returns `false`, having written nothing, if only the model can multiply
    /// these numbers.
    fn product(&mut self, how: (Level, MatrixSums), multiply: &Multiply, op: &Bulk) -> bool {
        // Rows are copied as vectors.
        wide(
            #[inline(always)]
            || match op.dst.len() {
                _ if multiply.is_wide() => {
                    self.multiply_wide(how.0, multiply, op);
                    true
                }
                ..=4 => self.multiply::<4>(how, multiply, op),
                _ => self.multiply::<RESULTS>(how, multiply, op),
            },
        )
    }

    /// Executes a product of words, with at most so many results.
    #[inline(always)]
    fn multiply<const R: usize>(
        &mut self,
        (level, rule): (Level, MatrixSums),
        multiply: &Multiply,
        op: &Bulk,
    ) -> bool {
        let is_row = |src: &&Src| matches!(src, Src::Narrow(_));
        let mut room = Vec::new();
        if !op.src.iter().all(|src| is_row(&src)) {
            room.extend(op.src.iter().filter(|src| !is_row(src)).map(|&src| self.narrow(src)));
        }
        let mut made = room.iter();
        let mut rows = [&Narrow::ZERO.0; OPERANDS];
        let Some(rows) = rows.get_mut(..op.src.len()) else { return false };
        for (row, src) in rows.iter_mut().zip(&op.src) {
            *row = match src {
                Src::Narrow(i) => &self.narrow[*i as usize].0,
                _ => made.next().map_or(&Narrow::ZERO.0, |row| &row.0),
            };
        }
        let mut results = Aligned([[0; LANES]; R]);
        let done = multiply.narrow(level, rule, rows, &mut results.0).is_some();
        for (&dst, row) in op.dst.iter().zip(&results.0).filter(|_| done) {
            match dst {
                Dst::Narrow(i) => self.narrow[i as usize].0 = *row,
                _ => self.put_each(dst, u32::MAX, |lane| row[lane].into()),
            }
        }
        done
    }

    /// Executes a product of doubles.
    fn multiply_wide(&mut self, level: Level, multiply: &Multiply, op: &Bulk) {
        let made = op.src.iter().filter(|src| !matches!(src, Src::Wide(_)));
        let room: Vec<Wide> = made.map(|&src| self.wide(src)).collect();
        let mut results = [[0; LANES]; RESULTS];
        let mut made = room.iter();
        let row = |&src: &Src| match src {
            Src::Wide(i) => &self.wide[i as usize].0,
            _ => made.next().map_or(&Wide::ZERO.0, |row| &row.0),
        };
        let rows: Rows<'_, u64> = op.src.iter().map(row).collect();
        multiply.wide(level, &rows, &mut results);
        drop(rows);
        for (&dst, row) in op.dst.iter().zip(&results) {
            match dst {
                Dst::Wide(i) => self.wide[i as usize].0 = *row,
                _ => self.put_each(dst, u32::MAX, |lane| row[lane]),
            }
        }
    }
}

/// Reads the values of registers in all lanes.
fn registers(warp: &Warp, sources: &[Src]) -> Registers {
    sources.iter().map(|&src| std::array::from_fn(|lane| warp.lane(src, lane))).collect()
}
