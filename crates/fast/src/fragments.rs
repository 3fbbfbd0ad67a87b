//! Loads and stores of matrices by whole lines.
//!
//! What is not of this form, an address or a stride that lanes do not share, local memory or an
//! access that is not allowed, is left to the accesses lane by lane (`bulk`).

use crate::Declined;
use crate::code::{Bulk, Dst, Memory, Src};
use crate::lines::{Lines, MOST_BYTES, register_of_rows, rows_of_register};
use crate::machine::Machine;
use crate::memory::Location;
use crate::row::LANES;
use crate::warp::Warp;
use ir::mods::Space;

impl Machine<'_> {
    /// Loads or stores a fragment by lines. Returns `false`, having changed nothing, if that is not
    /// possible.
    pub(crate) fn move_lines(
        &mut self,
        warp: &mut Warp,
        op: &Bulk,
        memory: &Memory,
        lines: &Lines,
    ) -> bool {
        let stores = op.what.stores();
        let stride = op.src.first().and_then(|&src| warp.uniform(src));
        let distance = stride.and_then(|stride| lines.distance(stride));
        let (Some(address), Some(distance)) = (warp.uniform(memory.address), distance) else {
            return false;
        };
        // Where lines overlap, the order of stores tells.
        if stores && distance < lines.bytes as u64 {
            return false;
        }
        let mut content = [0; MOST_BYTES];
        if stores {
            for (register, &src) in op.src[1..].iter().enumerate().take(lines.distinct()) {
                lines.store(&mut content, register, &warp.wide(src).0);
            }
        }
        let first = warp.first_thread as usize;
        let size = (lines.bytes as u64, lines.unit as u64);
        let done = self.with_memory(|warp_memory| {
            let mut places = [Location::Param(0); LANES];
            for (line, place) in places.iter_mut().enumerate().take(lines.count) {
                let at = address.wrapping_add(line as u64 * distance);
                match warp_memory.place(memory, at, size, first, stores) {
                    Ok(Location::Local(_)) | Err(_) => return false,
                    Ok(found) => *place = found,
                }
            }
            let lines = content.chunks_exact_mut(lines.bytes).take(lines.count);
            for (line, place) in lines.zip(places) {
                match stores {
                    true => warp_memory.bytes_mut(place, line.len()).copy_from_slice(line),
                    false => line.copy_from_slice(warp_memory.bytes(place, line.len())),
                }
            }
            true
        });
        if done && !stores {
            for (register, &dst) in op.dst.iter().enumerate() {
                let row = lines.load(&content, register % lines.distinct());
                warp.put_each(dst, u32::MAX, |lane| row[lane]);
            }
        }
        done
    }

    /// Loads or stores matrices of eight rows of 16 bytes.
    pub(crate) fn move_tiles(
        &mut self,
        warp: &mut Warp,
        op: &Bulk,
        memory: &Memory,
        transposed: bool,
    ) -> Result<(), Declined> {
        let stores = op.what.stores();
        let count = if stores { op.src.len() } else { op.dst.len() };
        let mut results = [[0; LANES]; 4];
        let mut tiles = [[[0; 16]; 8]; 4];
        if !stores && self.shared_tiles(warp, memory, &mut tiles[..count]) {
            for (result, rows) in results.iter_mut().zip(&tiles[..count]) {
                *result = register_of_rows(rows, transposed);
            }
            put_tiles(warp, op, &results);
            return Ok(());
        }
        for (matrix, result) in results.iter_mut().enumerate().take(count) {
            let mut rows = [[0; 16]; 8];
            if stores {
                rows = rows_of_register(&warp.narrow(op.src[matrix]).0, transposed);
            }
            self.with_memory(|warp_memory| -> Result<(), Declined> {
                for (row, bytes) in rows.iter_mut().enumerate() {
                    let lane = 8 * matrix + row;
                    let thread = warp.first_thread as usize + lane;
                    let at = warp.lane(memory.address, lane);
                    let place = warp_memory.place(memory, at, (16, 16), thread, stores)?;
                    match stores {
                        true => warp_memory.bytes_mut(place, 16).copy_from_slice(bytes),
                        false => bytes.copy_from_slice(warp_memory.bytes(place, 16)),
                    }
                }
                Ok(())
            })?;
            if !stores {
                *result = register_of_rows(&rows, transposed);
            }
        }
        put_tiles(warp, op, &results);
        Ok(())
    }

    /// Reads tiles whose addresses are of shared memory alone. Returns `false` if an access is not
    /// allowed.
    fn shared_tiles(&self, warp: &Warp, memory: &Memory, tiles: &mut [[[u8; 16]; 8]]) -> bool {
        if memory.space != Space::Shared {
            return false;
        }
        let shared = &self.ctas[self.slot].storage.shared;
        let offset = (memory.offset as u32).wrapping_sub(self.window_of(self.slot) as u32);
        let addresses = warp.narrow(memory.address);
        let rows = tiles.as_flattened_mut().iter_mut().zip(&addresses.0);
        rows.map(|(row, address)| {
            let at = address.wrapping_add(offset) as usize;
            let bytes = shared.get(at..).and_then(<[u8]>::first_chunk);
            bytes.filter(|_| at.is_multiple_of(16)).map(|bytes| *row = *bytes)
        })
        .all(|done| done.is_some())
    }
}

/// Writes the registers of tiles.
fn put_tiles(warp: &mut Warp, op: &Bulk, results: &[[u32; LANES]; 4]) {
    for (&dst, row) in op.dst.iter().zip(results) {
        match dst {
            Dst::Narrow(i) => warp.narrow[i as usize].0 = *row,
            _ => warp.put_each(dst, u32::MAX, |lane| row[lane].into()),
        }
    }
}

impl Warp {
    /// The value of an operand, if all lanes have the same.
    pub(crate) fn uniform(&self, src: Src) -> Option<u64> {
        let same = match src {
            Src::Const(_) | Src::ConstPair(..) | Src::Line(_, 0, _) => true,
            Src::Narrow(i) => is_uniform(&self.narrow[i as usize].0),
            Src::Wide(i) | Src::Pair(i, _) => is_uniform(&self.wide[i as usize].0),
            _ => (1..LANES).all(|lane| self.lane(src, lane) == self.lane(src, 0)),
        };
        same.then(|| self.lane(src, 0))
    }
}

/// Returns whether all lanes have the same value.
fn is_uniform<T: Copy + PartialEq>(row: &[T; LANES]) -> bool {
    row.iter().fold(true, |same, value| same & (*value == row[0]))
}
