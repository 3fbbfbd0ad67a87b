//! Textures and surfaces: the object of a handle, what a thread reads or writes by it.
//!
//! A handle is the generic address of a descriptor. It is read, and all places are checked, for all
//! lanes before any result is written. Source: PTX ISA 9.1, "Texture Instructions" and "Surface
//! Instructions"; what a value is made of is `texture`'s.

use crate::access::{check_place, observe_at, read, refuse, write};
use crate::atomic;
use crate::cause::Cause;
use crate::code::{Src, TextureKind, TextureOp};
use crate::control::{fail, value};
use crate::engine::{Executed, Failure, Now, Outcome};
use crate::state::{Cta, State};
use ir::Ty;
use ir::mods::{AtomOp, Geometry, LevelMode, Space};
use simt::LaneMask;
use simt::memory::{AccessKind, Width};
use simt::observe::{Events, Observer};
use smallvec::SmallVec;
use texture::{
    BYTES, Channel, Descriptor, DescriptorError, Request, SurfaceError, accepts, gather, place,
    query, sample,
};
use thiserror::Error;

/// A use of a texture or surface that cannot be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum TextureMisuse {
    /// The handle.
    #[error(transparent)]
    Object(#[from] DescriptorError),
    /// The other kind of object.
    #[error("it is a {}, and the instruction is for a {}", kind(*.surface), kind(!*.surface))]
    Kind {
        /// Whether the object is a surface.
        surface: bool,
    },
    /// Another geometry.
    #[error(
        "its geometry is `.{}`, that of the instruction `.{}`",
        .object.word(), .instruction.word()
    )]
    Geometry {
        /// That of the object.
        object: Geometry,
        /// That of the instruction.
        instruction: Geometry,
    },
    /// The place in a surface.
    #[error(transparent)]
    Surface(#[from] SurfaceError),
}

fn kind(surface: bool) -> &'static str {
    if surface { "surface" } else { "texture" }
}

/// Bytes that a lane accesses.
pub(crate) struct Piece {
    pub(crate) at: u64,
    pub(crate) len: usize,
    bytes: [u8; 16],
}

/// What an instruction does in a lane.
pub(crate) struct Effect {
    lane: usize,
    /// Values of the result rows; of stores and reductions none.
    pub(crate) results: SmallVec<[u64; 4]>,
    /// What is read, or where is written what.
    pub(crate) pieces: SmallVec<[Piece; 2]>,
    /// The type in which a reduction combines.
    ty: Option<Ty>,
}

/// A thread, and what it reads.
struct Thread<'a, const N: usize> {
    state: &'a State<N>,
    cta: &'a Cta<N>,
    group: usize,
    thread: usize,
}

impl<const N: usize> Thread<'_, N> {
    fn get(&self, src: Src) -> u64 {
        value(self.cta, self.group, &self.state.info.vars, src, self.thread)
    }

    fn check(&self, at: u64, len: usize, kind: AccessKind) -> Result<(), Cause> {
        let align = len.min(8) as u64;
        let place = (Space::Global, at, false);
        check_place(self.state, self.cta, self.thread, place, kind, (len as u64, align))
    }

    /// Bytes at an address: 1, 2, 4, 8 or 16.
    fn read(&self, at: u64, len: usize) -> Result<[u8; 16], Cause> {
        self.check(at, len, AccessKind::Load)?;
        let mut out = [0; 16];
        let width = width_of(len);
        let slot = self.cta.place.slot();
        for (i, part) in out[..len].chunks_exact_mut(width.bytes() as usize).enumerate() {
            let place = (Space::Global, at + i as u64 * width.bytes());
            let word = read(self.state, slot, self.thread, place, width);
            part.copy_from_slice(&word.to_le_bytes()[..part.len()]);
        }
        Ok(out)
    }

    fn object(&self, handle: u64) -> Result<Descriptor, Cause> {
        let misuse = |misuse| Cause::Texture { handle, misuse };
        let mut bytes = [0; BYTES];
        for (i, part) in bytes.chunks_exact_mut(16).enumerate() {
            let at = handle.wrapping_add(16 * i as u64);
            let found = self.read(at, 16).map_err(|_| misuse(DescriptorError::Magic.into()))?;
            part.copy_from_slice(&found);
        }
        Descriptor::decode(&bytes).map_err(|error| misuse(error.into()))
    }

    /// The object of the instruction, which has its kind and geometry.
    fn fitting(&self, op: &TextureOp) -> Result<Descriptor, Cause> {
        let handle = self.get(op.mem.addr);
        let found = self.object(handle)?;
        let surface = op.kind.is_surface();
        let geometry = found.resource.shape.geometry;
        let misuse = if found.surface != surface {
            TextureMisuse::Kind { surface: found.surface }
        } else if !accepts(op.geometry, geometry, surface) {
            TextureMisuse::Geometry { object: geometry, instruction: op.geometry }
        } else {
            return Ok(found);
        };
        Err(Cause::Texture { handle, misuse })
    }
}

/// The width of the words in which bytes are accessed.
fn width_of(len: usize) -> Width {
    Width::from_bytes(len.min(8) as u64).unwrap_or(Width::B1)
}

/// The operands behind the handles, one after another.
struct Operands<'a, const N: usize> {
    thread: &'a Thread<'a, N>,
    rest: std::slice::Iter<'a, Src>,
}

impl<const N: usize> Operands<'_, N> {
    fn word(&mut self) -> u32 {
        self.rest.next().map_or(0, |&src| self.thread.get(src) as u32)
    }

    fn words(&mut self, count: usize) -> [u32; 3] {
        std::array::from_fn(|i| if i < count { self.word() } else { 0 })
    }

    fn floats(&mut self, count: usize) -> [f32; 3] {
        self.words(count).map(f32::from_bits)
    }

    fn layer(&mut self, geometry: Geometry) -> u32 {
        if geometry.is_layered() { self.word() } else { 0 }
    }
}

/// What the instruction does in a thread.
pub(crate) fn effect<const N: usize>(
    state: &State<N>,
    cta: &Cta<N>,
    (group, lane): (usize, usize),
    op: &TextureOp,
) -> Result<Effect, Cause> {
    let thread = &Thread { state, cta, group, thread: cta.groups[group].thread(lane) };
    let mut made = Effect { lane, results: SmallVec::new(), pieces: SmallVec::new(), ty: None };
    let operands = Operands { thread, rest: op.at.iter() };
    match op.kind {
        TextureKind::Query(asked) => {
            let handle = thread.get(op.mem.addr);
            let level = op.at.first().map_or(0, |&src| thread.get(src) as u32);
            made.results.push(query(&thread.object(handle)?, asked, level).into());
        }
        TextureKind::Sample { .. } | TextureKind::Gather { .. } => {
            sampled(thread, op, operands, &mut made)?;
        }
        TextureKind::Load(_) | TextureKind::Store { .. } | TextureKind::Reduce { .. } => {
            accessed(thread, op, operands, &mut made)?;
        }
    }
    Ok(made)
}

fn sampled<const N: usize>(
    thread: &Thread<'_, N>,
    op: &TextureOp,
    mut operands: Operands<'_, N>,
    made: &mut Effect,
) -> Result<(), Cause> {
    let object = thread.fitting(op)?;
    // The sampler is the texture's own unless the instruction names another.
    let sampler = match thread.get(op.sampler) {
        handle if handle == thread.get(op.mem.addr) => object.sampler,
        handle => thread.object(handle)?.sampler,
    };
    let (geometry, count) = (op.geometry, op.geometry.dimensions());
    let layer = operands.layer(geometry);
    let at = operands.words(count);
    let pieces = &mut made.pieces;
    let fetch = |at: u64, len: usize| {
        let bytes = thread.read(at, len)?;
        pieces.push(Piece { at, len, bytes });
        Ok::<_, Cause>(bytes)
    };
    let floats = at.map(f32::from_bits);
    let offsets = |operands: &mut Operands<'_, N>, given: bool| {
        operands.words(if given { count } else { 0 }).map(u32::cast_signed)
    };
    match op.kind {
        TextureKind::Gather { component, offset } => {
            let offsets = offsets(&mut operands, offset);
            let place = (layer, floats, offsets);
            let found = gather(&object.resource, &sampler, place, component, fetch)?;
            made.results.extend(found.map(u64::from));
        }
        TextureKind::Sample { whole, lod, offset, ty } => {
            let level = if lod == Some(LevelMode::Level) { operands.word() } else { 0 };
            let derivatives = (lod == Some(LevelMode::Grad))
                .then(|| [operands.floats(count), operands.floats(count)]);
            let offsets = offsets(&mut operands, offset);
            let request = match whole {
                true => {
                    let at = at.map(u32::cast_signed);
                    Request::Element { layer, at, level: level.cast_signed(), offsets }
                }
                false => {
                    let lod = f32::from_bits(level);
                    Request::At { layer, at: floats, lod, derivatives, offsets }
                }
            };
            let found = sample(&object.resource, &sampler, &request, fetch)?;
            match ty {
                Ty::F16 => made.results.extend(found.halves().map(u64::from)),
                Ty::F16x2 => {
                    let [a, b, c, d] = found.halves().map(u64::from);
                    made.results.extend([b << 16 | a, d << 16 | c]);
                }
                _ => made.results.extend(found.bits().map(u64::from)),
            }
        }
        _ => {}
    }
    Ok(())
}

fn accessed<const N: usize>(
    thread: &Thread<'_, N>,
    op: &TextureOp,
    mut operands: Operands<'_, N>,
    made: &mut Effect,
) -> Result<(), Cause> {
    let resource = thread.fitting(op)?.resource;
    let handle = thread.get(op.mem.addr);
    let misuse = |misuse: SurfaceError| Cause::Texture { handle, misuse: misuse.into() };
    let format = resource.shape.format;
    let layer = operands.layer(op.geometry);
    let at = operands.words(op.geometry.dimensions()).map(u32::cast_signed);
    let values: SmallVec<[u64; 4]> = op.mem.values.iter().map(|&src| thread.get(src)).collect();
    let element = op.mem.width.bytes() as usize;
    let (len, formatted, bounds) = match op.kind {
        TextureKind::Load(bounds) => (element * op.mem.rows.len(), false, bounds),
        TextureKind::Store { bounds, formatted: true } => (format.bytes(), true, bounds),
        TextureKind::Store { bounds, .. } => (element * values.len(), false, bounds),
        TextureKind::Reduce { bounds, formatted, ty, .. } => {
            let ty = if formatted { signed_as(ty, format.channel) } else { ty };
            if formatted && (ty.bits() != 32 || !matches_single(&resource, ty)) {
                return Err(misuse(SurfaceError::Reduction));
            }
            made.ty = Some(ty);
            (element, formatted, bounds)
        }
        _ => return Ok(()),
    };
    let found = place(&resource, layer, at, (len as u64, formatted), bounds).map_err(misuse)?;
    let Some(at) = found else {
        made.results.extend(op.mem.rows.iter().map(|_| 0));
        return Ok(());
    };
    let mut bytes = [0; 16];
    match op.kind {
        TextureKind::Load(_) => {
            bytes = thread.read(at, len)?;
            for part in bytes[..len].chunks_exact(element) {
                let mut word = [0; 8];
                word[..element].copy_from_slice(part);
                made.results.push(u64::from_le_bytes(word));
            }
        }
        TextureKind::Store { formatted: true, .. } => {
            thread.check(at, len, AccessKind::Store)?;
            let words: SmallVec<[u32; 4]> = values.iter().map(|&word| word as u32).collect();
            bytes = texture::convert(format, &words);
        }
        _ => {
            let writes = if made.ty.is_some() { AccessKind::Atomic } else { AccessKind::Store };
            thread.check(at, len, writes)?;
            for (to, word) in bytes.chunks_exact_mut(element).zip(values) {
                to.copy_from_slice(&word.to_le_bytes()[..element]);
            }
        }
    }
    made.pieces.push(Piece { at, len, bytes });
    Ok(())
}

/// The integers that a reduction on elements combines: those of the format.
fn signed_as(ty: Ty, channel: Channel) -> Ty {
    match (ty.bits(), channel.is_signed()) {
        (64, true) => Ty::S64,
        (64, false) => Ty::U64,
        (_, true) => Ty::S32,
        (_, false) => Ty::U32,
    }
}

fn matches_single(resource: &texture::Resource, ty: Ty) -> bool {
    let format = resource.shape.format;
    let whole = matches!(format.channel, Channel::U32 | Channel::S32);
    whole && format.bytes() == ty.bytes() as usize
}

pub(crate) fn execute<const N: usize, O: Observer<N>>(
    state: &mut State<N>,
    now: &Now<N>,
    op: &TextureOp,
    observer: &mut O,
) -> Executed<N> {
    state.stats.memory_instructions += u64::from(now.on.any());
    let effects = effects(state, now, op)?;
    if observer.wants(Events::ACCESS) {
        observe(state, now, op, &effects, observer);
    }
    let Some(cta) = state.resident[now.slot].as_deref_mut() else { return Ok(Outcome::Advance) };
    let first = cta.groups[now.group].first_thread as usize;
    for lane in now.on {
        // Lanes that were refused, in a tolerant launch, read zeros.
        let made = effects.iter().find(|effect| effect.lane == lane);
        for (i, &row) in op.mem.rows.iter().enumerate() {
            let value = made.and_then(|effect| effect.results.get(i)).copied().unwrap_or(0);
            cta.set_row(row, first + lane, value);
        }
    }
    if op.kind.writes() {
        effects.iter().for_each(|effect| commit(state, now, op, first, effect));
    }
    Ok(Outcome::Advance)
}

fn effects<const N: usize>(
    state: &mut State<N>,
    now: &Now<N>,
    op: &TextureOp,
) -> Result<Vec<Effect>, Failure<N>> {
    let Some(cta) = state.resident[now.slot].as_deref() else { return Ok(Vec::new()) };
    let (mut made, mut bad, mut first) = (Vec::new(), LaneMask::EMPTY, None);
    for lane in now.on {
        match effect(state, cta, (now.group, lane), op) {
            Ok(effect) => made.push(effect),
            Err(cause) => {
                bad.insert(lane);
                first.get_or_insert(cause);
            }
        }
    }
    if let Some(cause) = first {
        refuse(state, fail(cause, bad))?;
    }
    Ok(made)
}

/// Writes what a lane stores.
fn commit<const N: usize>(
    state: &mut State<N>,
    now: &Now<N>,
    op: &TextureOp,
    first: usize,
    effect: &Effect,
) {
    let thread = first + effect.lane;
    for piece in &effect.pieces {
        let width = width_of(piece.len);
        let parts = piece.bytes[..piece.len].chunks_exact(width.bytes() as usize);
        for (i, part) in parts.enumerate() {
            let at = piece.at + i as u64 * width.bytes();
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            let mut word = u64::from_le_bytes(word);
            if let (TextureKind::Reduce { op, .. }, Some(ty)) = (op.kind, effect.ty) {
                let old = read(state, now.slot, thread, (Space::Global, at), width);
                word = combined(op, ty, old, word);
            }
            write(state, now.slot, thread, (Space::Global, at, width, word));
        }
    }
}

fn combined(op: AtomOp, ty: Ty, old: u64, operand: u64) -> u64 {
    atomic::apply(op, ty, old, &[operand])
}

/// Reports accesses: the first piece of all lanes, then the second, and so on.
fn observe<const N: usize, O: Observer<N>>(
    state: &State<N>,
    now: &Now<N>,
    op: &TextureOp,
    effects: &[Effect],
    observer: &mut O,
) {
    let kind = match op.kind {
        TextureKind::Reduce { .. } => AccessKind::Atomic,
        kind if kind.writes() => AccessKind::Store,
        _ => AccessKind::Load,
    };
    let most = effects.iter().map(|effect| effect.pieces.len()).max().unwrap_or(0);
    for i in 0..most {
        let pieces = || effects.iter().filter_map(|e| e.pieces.get(i).map(|p| (e.lane, p)));
        let mut sizes: SmallVec<[usize; 2]> = pieces().map(|(_, piece)| piece.len).collect();
        sizes.sort_unstable();
        sizes.dedup();
        // Handles may differ by lane, and so may sizes.
        for size in sizes {
            let same = || pieces().filter(|(_, piece)| piece.len == size);
            let places = same().map(|(lane, piece)| (lane as u16, piece.at)).collect();
            let words = same().flat_map(|(_, piece)| {
                let whole = piece.bytes.as_chunks::<8>().0;
                whole[..size.div_ceil(8)].iter().map(|word| u64::from_le_bytes(*word))
            });
            let values: Vec<u64> =
                if observer.wants(Events::VALUES) { words.collect() } else { Vec::new() };
            observe_at(state, now, (&op.mem, kind, size as u32), places, &values, observer);
        }
    }
}
