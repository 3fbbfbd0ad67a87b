//! Instructions on matrices in the exact engine.
//!
//! All 32 lanes of the architectural warp participate; where one is missing for good, the lanes
//! that arrive fault. Accesses are checked when their lanes arrive, before anything is read or
//! written; the instruction takes effect when the last lane has arrived.

use crate::access::{self, check_place, generic_address};
use crate::cause::Cause;
use crate::code::{CollectiveKind, CollectiveOp, MemOp, Src};
use crate::control::{fail, value};
use crate::engine::{Failure, Now};
use crate::matrix::{Matrix, Registers, Values};
use crate::state::{Cta, State};
use rustc_hash::FxHashMap;
use simt::LaneMask;
use simt::matrix::LANES;
use simt::memory::{AccessKind, Width};
use simt::observe::{Events, Observer};

/// Checks, when lanes arrive at an instruction on matrices, that their warps are whole and that
/// their accesses are allowed.
pub(crate) fn arrive<const N: usize, O: Observer<N>>(
    state: &mut State<N>,
    now: &Now<N>,
    matrix: Matrix,
    op: &CollectiveOp,
    observer: &mut O,
) -> Result<(), Failure<N>> {
    let Some(cta) = state.resident[now.slot].as_deref() else { return Ok(()) };
    let warp_of = |lane| cta.groups[now.group].thread(lane) / LANES;
    for lane in now.on {
        let warp = warp_of(lane);
        let gone = |bit: &usize| cta.exited.get(warp * LANES + bit).copied().unwrap_or(true);
        let missing = (0..LANES).filter(gone).fold(0, |mask, bit| mask | 1 << bit);
        if missing != 0 {
            let lanes = now.on.filter(|lane| warp_of(lane) == warp);
            return Err(fail(Cause::PartialWarp { missing }, lanes));
        }
    }
    check_metadata(state, cta, now, matrix, op)?;
    let Some(mem) = op.mem.as_deref() else { return Ok(()) };
    state.stats.memory_instructions += u64::from(now.on.any());
    let kind = if matrix.stores() { AccessKind::Store } else { AccessKind::Load };
    let Some(cta) = state.resident[now.slot].as_deref() else { return Ok(()) };
    let (mut bad, mut first) = (LaneMask::EMPTY, None);
    let mut events: Vec<(u32, Vec<(u16, u64)>)> = Vec::new();
    let mut values: Vec<Vec<u64>> = Vec::new();
    let wants_values = observer.wants(Events::VALUES);
    // What a lane stores may be in registers of others, which have theirs when all are here.
    let stored = (wants_values && matrix.stores()).then(|| stored(state, now, matrix, op));
    for lane in now.on {
        let thread = cta.groups[now.group].thread(lane);
        for (i, piece) in pieces(state, cta, matrix, op, mem, thread).into_iter().enumerate() {
            let bytes = u64::from(piece.bytes);
            if let Err(error) = check_place(
                state,
                cta,
                thread,
                (mem.space, piece.at, access::reaches(mem)),
                kind,
                (bytes, bytes),
            ) {
                // In a tolerant launch the piece is zero, or is not stored.
                bad.insert(lane);
                first.get_or_insert(error);
                continue;
            }
            if events.len() <= i {
                events.resize(i + 1, (piece.bytes, Vec::new()));
                values.resize(i + 1, Vec::new());
            }
            events[i].1.push((lane as u16, piece.at));
            if wants_values {
                let value = match &stored {
                    Some(stored) => stored.get(&thread).and_then(|pieces| pieces.get(i)).copied(),
                    None => Some(read_piece(state, now.slot, thread, mem, (piece.bytes, piece.at))),
                };
                let words =
                    (0..piece.bytes.div_ceil(8)).map(|i| value.map(|v| (v >> (64 * i)) as u64));
                values[i].extend(words.flatten());
            }
        }
    }
    if let Some(error) = first {
        access::refuse(state, fail(error, bad))?;
    }
    if observer.wants(Events::ACCESS) {
        for ((bytes, places), values) in events.into_iter().zip(values) {
            // Of all lanes, or of none.
            let whole = values.len() == places.len() * bytes.div_ceil(8) as usize;
            let values = if whole { &values[..] } else { &[] };
            access::observe_at(state, now, (mem, kind, bytes), places, values, observer);
        }
    }
    Ok(())
}

/// Returns the pieces that threads are about to store, for the warps of which all lanes are here.
fn stored<const N: usize>(
    state: &State<N>,
    now: &Now<N>,
    matrix: Matrix,
    op: &CollectiveOp,
) -> FxHashMap<usize, Values> {
    let mut out = FxHashMap::default();
    let Some(cta) = state.resident[now.slot].as_deref() else { return out };
    let mut warps: FxHashMap<usize, usize> = FxHashMap::default();
    for lane in now.on {
        *warps.entry(cta.groups[now.group].thread(lane) / LANES).or_default() += 1;
    }
    let skip = matrix.address_operands() - 1;
    for (warp, _) in warps.into_iter().filter(|(_, lanes)| *lanes == LANES) {
        let sources = op.src.get(skip..).unwrap_or(&[]);
        let values = matrix.stored(&registers(state, now.slot, warp * LANES, sources));
        out.extend(values.into_iter().enumerate().map(|(lane, v)| (warp * LANES + lane, v)));
    }
    out
}

/// Reads a checked piece.
fn read_piece<const N: usize>(
    state: &State<N>,
    slot: usize,
    thread: usize,
    mem: &MemOp,
    (bytes, at): (u32, u64),
) -> u128 {
    let mut value = 0;
    for (i, (width, at)) in words(bytes, at).enumerate() {
        let word = access::read(state, slot, thread, (mem.space, at), width);
        value |= u128::from(word) << (64 * i);
    }
    value
}

/// Whether the metadata that lanes bring of a sparse matrix means anything.
fn check_metadata<const N: usize>(
    state: &State<N>,
    cta: &Cta<N>,
    now: &Now<N>,
    matrix: Matrix,
    op: &CollectiveOp,
) -> Result<(), Failure<N>> {
    let (mut bad, mut first) = (LaneMask::EMPTY, None);
    for lane in now.on {
        let thread = cta.groups[now.group].thread(lane);
        let operand = |at: usize| op.src.get(at).map_or(0, |&s| operand(state, cta, s, thread));
        if let Some(wrong) = matrix.misuse(thread % LANES, operand) {
            bad.insert(lane);
            first.get_or_insert(wrong);
        }
    }
    match first {
        Some((word, misuse)) => Err(fail(Cause::SparsityMetadata { word, misuse }, bad)),
        None => Ok(()),
    }
}

/// Returns the pieces of memory that a thread accesses, at generic addresses.
fn pieces<const N: usize>(
    state: &State<N>,
    cta: &Cta<N>,
    matrix: Matrix,
    op: &CollectiveOp,
    mem: &MemOp,
    thread: usize,
) -> super::Pieces {
    let of = |src| operand(state, cta, src, thread);
    let address = of(mem.addr).wrapping_add_signed(mem.offset);
    let stride = op.src.first().map_or(0, |&src| of(src));
    let mut out = matrix.pieces(thread % LANES, address, stride);
    for piece in &mut out {
        piece.at = generic_address(mem.space, piece.at);
    }
    out
}

fn operand<const N: usize>(state: &State<N>, cta: &Cta<N>, src: Src, thread: usize) -> u64 {
    value(cta, thread / state.info.width as usize, &state.info.vars, src, thread)
}

/// Executes the instruction for a whole warp.
pub(crate) fn finish<const N: usize>(
    state: &mut State<N>,
    slot: usize,
    warp: u32,
    op: &CollectiveOp,
) {
    let CollectiveKind::Matrix(matrix) = op.kind else { return };
    let first = warp as usize * LANES;
    let results = match op.mem.as_deref() {
        None => matrix.computed(state.info.matrix_sums, &registers(state, slot, first, &op.src)),
        Some(mem) if matrix.stores() => {
            store(state, slot, first, matrix, op, mem);
            return;
        }
        Some(mem) => load(state, slot, first, matrix, op, mem),
    };
    let Some(cta) = state.resident[slot].as_deref_mut() else { return };
    for (&row, lanes) in op.dst.iter().zip(&results) {
        for (lane, &value) in lanes.iter().enumerate() {
            cta.set_row(row, first + lane, value);
        }
    }
}

fn registers<const N: usize>(
    state: &State<N>,
    slot: usize,
    first: usize,
    sources: &[Src],
) -> Registers {
    let Some(cta) = state.resident[slot].as_deref() else { return Registers::new() };
    let of = |&src: &Src| std::array::from_fn(|lane| operand(state, cta, src, first + lane));
    sources.iter().map(of).collect()
}

fn load<const N: usize>(
    state: &State<N>,
    slot: usize,
    first: usize,
    matrix: Matrix,
    op: &CollectiveOp,
    mem: &MemOp,
) -> Registers {
    let mut values: [Values; LANES] = std::array::from_fn(|_| Values::new());
    let Some(cta) = state.resident[slot].as_deref() else { return matrix.loaded(&values) };
    for (lane, values) in values.iter_mut().enumerate() {
        let thread = first + lane;
        for piece in pieces(state, cta, matrix, op, mem, thread) {
            let bytes = u64::from(piece.bytes);
            let place = (mem.space, piece.at, access::reaches(mem));
            // Another group may have freed the block since its lane arrived.
            let there =
                check_place(state, cta, thread, place, AccessKind::Load, (bytes, bytes)).is_ok();
            let piece = (piece.bytes, piece.at);
            values.push(if there { read_piece(state, slot, thread, mem, piece) } else { 0 });
        }
    }
    matrix.loaded(&values)
}

fn store<const N: usize>(
    state: &mut State<N>,
    slot: usize,
    first: usize,
    matrix: Matrix,
    op: &CollectiveOp,
    mem: &MemOp,
) {
    let skip = matrix.address_operands() - 1;
    let values = matrix.stored(&registers(state, slot, first, op.src.get(skip..).unwrap_or(&[])));
    for (lane, values) in values.into_iter().enumerate() {
        let thread = first + lane;
        let Some(cta) = state.resident[slot].as_deref() else { return };
        let places = pieces(state, cta, matrix, op, mem, thread);
        for (piece, value) in places.into_iter().zip(values) {
            let Some(cta) = state.resident[slot].as_deref() else { return };
            let bytes = u64::from(piece.bytes);
            let place = (mem.space, piece.at, access::reaches(mem));
            if check_place(state, cta, thread, place, AccessKind::Store, (bytes, bytes)).is_err() {
                continue;
            }
            for (i, (width, at)) in words(piece.bytes, piece.at).enumerate() {
                let word = (value >> (64 * i)) as u64;
                access::write(state, slot, thread, (mem.space, at, width, word));
            }
        }
    }
}

/// A piece as words.
fn words(bytes: u32, at: u64) -> impl Iterator<Item = (Width, u64)> {
    let width = Width::from_bytes(u64::from(bytes.min(8))).unwrap_or(Width::B1);
    (0..bytes.div_ceil(8)).map(move |i| (width, at + 8 * u64::from(i)))
}
