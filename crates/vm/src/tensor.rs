//! Tensor copies: a tensor map says which bytes an operation moves.
//!
//! The map is read, and all addresses are checked, when the instruction is issued; the bytes move
//! in the steps of [`crate::asynchronous`]. Source: PTX ISA 9.1, `cp.async.bulk.tensor` and
//! `cp.reduce.async.bulk.tensor`.

use crate::access::{check_place, read};
use crate::asynchronous::{Completion, Effect, Issuer, Location, Operation, Source, Transfer};
use crate::bulk::{Barriers, issue_each, located, slots_of};
use crate::cause::Cause;
use crate::code::{Src, TensorOp};
use crate::control::value;
use crate::engine::{Executed, Now};
use crate::state::{Cta, State};
use compute::space_of;
use ir::Ty;
use ir::mods::{AtomOp, Bulk, Space, TensorMode};
use simt::memory::{AccessKind, Width};
use simt::observe::AsyncGroups;
use simt::tensor::{BYTES, Coordinates, EncodingError, Mode, Run, TensorElement, TensorMap};
use smallvec::SmallVec;
use thiserror::Error;

/// Bytes that a copy moves at most: more than any CTA has of shared memory.
const MOST_BYTES: u64 = 1 << 20;

/// A tensor copy that the PTX ISA leaves undefined, or that is not supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum TensorMisuse {
    /// The map.
    #[error("the tensor map at {address:#x}: {error}")]
    Map {
        /// Its generic address.
        address: u64,
        /// What is wrong with it.
        error: EncodingError,
    },
    /// The instruction is for another mode.
    #[error("the tensor map is not of the mode `.{0}` that the instruction has")]
    Mode(&'static str),
    /// The instruction is for another rank.
    #[error("the tensor map has {map} dimensions, the instruction {given}")]
    Rank {
        /// Dimensions of the map.
        map: u32,
        /// Coordinates of the instruction.
        given: usize,
    },
    /// The address in shared memory.
    #[error("the address {0:#x} in shared memory is not a multiple of 128")]
    Address(u64),
    /// The box.
    #[error("a box of {0} bytes is larger than shared memory")]
    Size(u64),
    /// Elements that cannot be combined.
    #[error("elements of this type have no reduction `.{0}`")]
    Reduction(&'static str),
    /// Interleaved channels.
    #[error("interleaved channels are not supported: no text says where their slices lie")]
    Unsupported,
    /// Pixels beyond those of a column.
    #[error("{0} halo pixels are not supported: no text says which follow the end of an image")]
    Halo(u16),
    /// Packed elements whose copies begin within a group, or go the wrong way.
    #[error(
        "packed elements with gaps are loaded from a multiple of 128 on, and those of 6 bits stored"
    )]
    Packed,
    /// A map of rows.
    #[error("four rows are copied by a map of 2 dimensions whose box has 1 row")]
    Rows,
}

/// What a thread's tensor copy moves.
#[derive(Clone, Debug)]
pub struct TensorPlan {
    /// The tensor map.
    pub map: TensorMap,
    /// Bytes that it moves, those out of bounds among them.
    pub bytes: u64,
    /// Where it begins: coordinates and offsets, or a column and rows.
    at: SmallVec<[i32; 5]>,
    offsets: SmallVec<[u16; 3]>,
    rows: Option<[i32; 5]>,
    /// The place in shared memory.
    pub shared: u64,
}

impl TensorPlan {
    fn coordinates(&self) -> Coordinates<'_> {
        match &self.rows {
            Some(rows) => Coordinates::Rows(rows),
            None => Coordinates::At(&self.at, &self.offsets),
        }
    }

    /// The runs of bytes that it moves, in the order of shared memory before the swizzle.
    #[must_use]
    pub fn runs(&self) -> Vec<Run> {
        self.map.runs(&self.coordinates(), self.shared)
    }

    /// Tells of the bytes of each line, as [`TensorMap::lines_of_bytes`].
    pub fn lines_of_bytes(&self, tell: impl FnMut(Run)) -> Option<()> {
        self.map.lines_of_bytes(&self.coordinates(), self.shared, tell)
    }
}

/// Where runs are in global memory, and how long they are.
fn global_of(runs: &[Run]) -> impl Iterator<Item = (u64, u64)> {
    runs.iter().filter_map(|run| run.global.map(|at| (at, run.bytes)))
}

/// Where runs are in shared memory.
fn shared_of(runs: &[Run]) -> impl Iterator<Item = (u64, u64)> {
    runs.iter().map(|run| (run.shared, run.bytes))
}

/// Reads the tensor map of a thread, and finds what is to be moved.
pub(crate) fn plan<const N: usize>(
    state: &State<N>,
    cta: &Cta<N>,
    (group, thread): (usize, usize),
    op: &TensorOp<Src>,
) -> Result<TensorPlan, Cause> {
    let get = |src| value(cta, group, &state.info.vars, src, thread);
    let address = get(op.map);
    let bytes = tensor_map(state, cta, thread, address)?;
    Ok(plan_copy(op, (address, &bytes), get)?)
}

/// Finds what a tensor copy moves, by the tensor map at its address and the values of operands.
///
/// # Errors
/// If the copy is not defined or not supported.
pub fn plan_copy<S: Copy>(
    op: &TensorOp<S>,
    (address, bytes): (u64, &[u8; BYTES]),
    get: impl Fn(S) -> u64,
) -> Result<TensorPlan, TensorMisuse> {
    let map = TensorMap::decode(bytes).map_err(|error| TensorMisuse::Map { address, error })?;
    let at: SmallVec<[i32; 5]> = op.at.iter().map(|&src| get(src) as i32).collect();
    let offsets: SmallVec<[u16; 3]> = op.offsets.iter().map(|&src| get(src) as u16).collect();
    let rows = check_map(&map, op, &at)?;
    let wide = matches!(map.mode, Mode::Im2colWide { .. });
    if let Some(&halo) = offsets.first().filter(|&&halo| wide && halo != 0) {
        return Err(TensorMisuse::Halo(halo));
    }
    let bytes = size(&map, rows.is_some());
    if bytes > MOST_BYTES {
        return Err(TensorMisuse::Size(bytes));
    }
    let shared = match get(op.shared).wrapping_add_signed(op.offset) {
        generic if space_of(generic) == Space::Shared => generic,
        // Offsets wrap at 32 bits, as addresses of a window do.
        offset => u64::from(offset as u32),
    };
    if !shared.is_multiple_of(128) {
        return Err(TensorMisuse::Address(shared));
    }
    Ok(TensorPlan { map, bytes, at, offsets, rows, shared })
}

/// The mode as instructions name it.
fn spelled(mode: TensorMode) -> &'static str {
    match mode {
        TensorMode::Tile => "tile",
        TensorMode::Rows => "tile::gather4",
        TensorMode::Im2col => "im2col",
        TensorMode::Im2colWide => "im2col::w",
        TensorMode::Im2colWide128 => "im2col::w::128",
    }
}

/// Checks that a map goes with an instruction. Returns the column and rows of one that moves rows.
fn check_map<S: Copy>(
    map: &TensorMap,
    op: &TensorOp<S>,
    at: &[i32],
) -> Result<Option<[i32; 5]>, TensorMisuse> {
    let goes = match map.mode {
        Mode::Tiled { .. } => matches!(op.mode, TensorMode::Tile | TensorMode::Rows),
        Mode::Im2col { .. } => op.mode == TensorMode::Im2col,
        Mode::Im2colWide { wide128: false, .. } => op.mode == TensorMode::Im2colWide,
        Mode::Im2colWide { wide128: true, .. } => op.mode == TensorMode::Im2colWide128,
    };
    if !goes {
        return Err(TensorMisuse::Mode(spelled(op.mode)));
    }
    if !map.is_movable() {
        return Err(TensorMisuse::Unsupported);
    }
    let stores = op.kind == Bulk::Store;
    let packed = map.element.is_padded();
    let whole = at.first().is_some_and(|first| first % 128 == 0);
    if packed && (!whole || stores && map.element != TensorElement::U6x16Align16) {
        return Err(TensorMisuse::Packed);
    }
    if op.mode == TensorMode::Rows {
        let flat = matches!(map.mode, Mode::Tiled { extents } if extents[1] == 1);
        let rows = <[i32; 5]>::try_from(at).ok().filter(|_| flat && map.rank == 2);
        return rows.map(Some).ok_or(TensorMisuse::Rows);
    }
    if map.rank as usize != at.len() {
        return Err(TensorMisuse::Rank { map: map.rank, given: at.len() });
    }
    Ok(None)
}

fn tensor_map<const N: usize>(
    state: &State<N>,
    cta: &Cta<N>,
    thread: usize,
    address: u64,
) -> Result<[u8; BYTES], Cause> {
    let place = (Space::Generic, address, false);
    check_place(state, cta, thread, place, AccessKind::Load, (BYTES as u64, 64))?;
    let mut bytes = [0; BYTES];
    for (i, word) in bytes.chunks_exact_mut(8).enumerate() {
        let place = (Space::Generic, address + 8 * i as u64);
        let found = read(state, cta.place.slot(), thread, place, Width::B8);
        word.copy_from_slice(&found.to_le_bytes());
    }
    Ok(bytes)
}

/// Bytes of all elements that a copy of the map moves.
fn size(map: &TensorMap, rows: bool) -> u64 {
    let lines = match map.mode {
        Mode::Tiled { .. } if rows => 4,
        Mode::Tiled { extents } => {
            let all = extents.iter().zip(map.steps).take(map.rank as usize).skip(1);
            all.map(|(&extent, step)| u64::from(extent.div_ceil(step))).product()
        }
        Mode::Im2col { .. } | Mode::Im2colWide { .. } => u64::from(map.pixels()),
    };
    lines * map.inner() * map.element.bits() / 8
}

/// Returns the type with which elements of a tensor are combined by an operation, if they can be.
#[must_use]
pub fn combined(element: TensorElement, op: AtomOp) -> Option<Ty> {
    use TensorElement as E;
    let bits = matches!(op, AtomOp::And | AtomOp::Or | AtomOp::Xor);
    let ty = match element {
        E::U32 | E::S32 if bits => Ty::B32,
        E::U64 | E::S64 if bits => Ty::B64,
        E::U32 => Ty::U32,
        E::S32 => Ty::S32,
        E::U64 => Ty::U64,
        // The sum of signed and of unsigned integers is the same.
        E::S64 if op == AtomOp::Add => Ty::U64,
        E::S64 => Ty::S64,
        E::F16 => Ty::F16,
        E::Bf16 => Ty::Bf16,
        E::F32 | E::F32Ftz => Ty::F32,
        E::F64 => Ty::F64,
        _ => return None,
    };
    crate::atomic::combines(op, ty).then_some(ty)
}

/// Issues tensor copies, one for each lane that is on.
pub(crate) fn copy<const N: usize>(
    state: &mut State<N>,
    now: &Now<N>,
    op: &TensorOp<Src>,
) -> Executed<N> {
    issue_each(state, now, |state, lane| operation(state, now, op, lane))
}

fn operation<const N: usize>(
    state: &State<N>,
    now: &Now<N>,
    op: &TensorOp<Src>,
    lane: usize,
) -> Result<Option<Operation>, Cause> {
    let Some(cta) = state.resident[now.slot].as_deref() else { return Ok(None) };
    let thread = cta.groups[now.group].thread(lane);
    let get = |src| value(cta, now.group, &state.info.vars, src, thread);
    let plan = plan(state, cta, (now.group, thread), op)?;
    let (transfers, completion) = match op.barrier {
        None => {
            let groups = AsyncGroups::Bulk;
            let number = crate::groups::current(cta, thread, groups);
            (stores(state, (cta, thread), op, &plan)?, Completion::Group(groups, number))
        }
        Some(barrier) => {
            let place = (Space::Shared, get(barrier), true);
            let at = located(state, (cta, thread), place, AccessKind::Atomic, 8)?;
            let Location::Shared { slot, offset } = at else { return Ok(None) };
            let bytes = plan.bytes as u32;
            let mut transfers = loads(state, (cta, thread), &plan)?;
            let mut barriers: Barriers = smallvec::smallvec![(slot, offset, bytes)];
            if let Some(mask) = op.mask.map(get) {
                let to = plan.shared & 0xff_ffff;
                let slots = slots_of(state, cta, mask as u16, to)?;
                barriers = slots.iter().map(|&slot| (slot, offset, bytes)).collect();
                transfers = slots.iter().flat_map(|&slot| moved(&transfers, slot)).collect();
            }
            (transfers, Completion::Mbarriers(barriers))
        }
    };
    let issuer = Issuer::of(state, now, lane);
    Ok(Some(Operation { issuer, number: 0, generic: false, transfers, completion }))
}

/// The transfers to the same places in the shared memory of another CTA.
fn moved(transfers: &[Transfer], slot: usize) -> Vec<Transfer> {
    let mut out = transfers.to_vec();
    for transfer in &mut out {
        if let Location::Shared { slot: to, .. } = &mut transfer.to {
            *to = slot;
        }
    }
    out
}

/// One side of a copy's runs: a space, whether it may be in another CTA, and what is done there.
#[derive(Clone, Copy)]
struct Side {
    space: Space,
    reach: bool,
    kind: AccessKind,
}

impl Side {
    /// All bytes from the first one of the runs to the last one, if all of them can be accessed:
    /// the address of the first, and its place.
    fn hull<const N: usize>(
        self,
        state: &State<N>,
        by: (&Cta<N>, usize),
        runs: impl Iterator<Item = (u64, u64)>,
    ) -> Option<(u64, Location)> {
        let ends = runs.map(|(at, bytes)| Some((at, at.checked_add(bytes)?)));
        let (first, end) =
            ends.reduce(|a, b| a.zip(b).map(|(a, b)| (a.0.min(b.0), a.1.max(b.1))))??;
        let place = (self.space, first, self.reach);
        let at = located(state, by, place, self.kind, end - first).ok()?;
        Some((first, at))
    }

    /// The place of bytes, if they can be accessed.
    fn located<const N: usize>(
        self,
        state: &State<N>,
        by: (&Cta<N>, usize),
        hull: Option<(u64, Location)>,
        (at, bytes): (u64, u64),
    ) -> Result<Location, Cause> {
        match hull {
            Some((first, place)) => Ok(place.plus(at - first)),
            None => located(state, by, (self.space, at, self.reach), self.kind, bytes),
        }
    }
}

fn loads<const N: usize>(
    state: &State<N>,
    by: (&Cta<N>, usize),
    plan: &TensorPlan,
) -> Result<Vec<Transfer>, Cause> {
    let read = Side { space: Space::Global, reach: false, kind: AccessKind::Load };
    let written = Side { space: Space::Shared, reach: true, kind: AccessKind::Store };
    let runs = plan.runs();
    let sources = read.hull(state, by, global_of(&runs));
    let targets = written.hull(state, by, shared_of(&runs));
    let one = |run: &Run| {
        let to = written.located(state, by, targets, (run.shared, run.bytes))?;
        let from = match run.global {
            Some(global) => {
                Source::Memory(read.located(state, by, sources, (global, run.bytes))?)
            }
            None => {
                let fill = plan.map.filling();
                let byte = |i: u64| fill[((run.shared + i) % 8) as usize];
                Source::Bytes((0..run.bytes).map(byte).collect())
            }
        };
        Ok(Transfer { from, to, bytes: run.bytes, effect: Effect::Copy })
    };
    runs.iter().map(one).collect()
}

fn stores<const N: usize>(
    state: &State<N>,
    by: (&Cta<N>, usize),
    op: &TensorOp<Src>,
    plan: &TensorPlan,
) -> Result<Vec<Transfer>, Cause> {
    let (effect, writes) = match op.combine {
        None => (Effect::Copy, AccessKind::Store),
        Some(op) => {
            let misuse = TensorMisuse::Reduction(op.word());
            let ty = combined(plan.map.element, op).ok_or(misuse)?;
            (Effect::Combine(op, ty), AccessKind::Atomic)
        }
    };
    let read = Side { space: Space::Shared, reach: false, kind: AccessKind::Load };
    let written = Side { space: Space::Global, reach: false, kind: writes };
    let runs = plan.runs();
    let targets = written.hull(state, by, global_of(&runs));
    // Elements of 6 bits are bytes in shared memory.
    let packs = plan.map.element == TensorElement::U6x16Align16;
    let effect = if packs { Effect::Pack } else { effect };
    let one = |run: &Run| {
        let bytes = if packs { 16 } else { run.bytes };
        let from = read.located(state, by, None, (run.shared, bytes));
        let to =
            run.global.map(|global| written.located(state, by, targets, (global, run.bytes)))?;
        let transfer = |from, to| Transfer { from, to, bytes, effect };
        Some(from.and_then(|from| Ok(transfer(Source::Memory(from), to?))))
    };
    runs.iter().filter_map(one).collect()
}
