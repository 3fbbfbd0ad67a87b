//! Textures and surfaces: the object of a handle, what a thread reads or writes by it.
//!
//! A handle is the generic address of a descriptor. It is read, and all places are checked, for all
//! lanes before any result is written. Source: PTX ISA 9.1, "Texture Instructions" and "Surface
//! Instructions"; what a value is made of is `texture`'s. [`texture_effect`] is the one definition,
//! for any engine that says how a thread reads memory.

use crate::access::{check_place, observe_at, read, refuse, write};
use crate::atomic;
use crate::cause::Cause;
use crate::code::{MemOp, Src, TextureAccess};
use crate::control::{fail, value};
use crate::engine::{Executed, Failure, Now, Outcome};
use crate::state::{Cta, State};
use ir::mods::{AtomOp, Bounds, Component, Flag, Geometry, LevelMode, Query, Space};
use ir::texture::HANDLES;
use ir::{Inst, Op, Ty};
use simt::LaneMask;
use simt::memory::{AccessKind, Width};
use simt::observe::{Events, Observer};
use smallvec::SmallVec;
use texture::{
    BYTES, Channel, Descriptor, DescriptorError, Request, SurfaceError, Texel, gather, place,
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

/// An instruction on a texture or a surface, with operands as an engine has them.
#[derive(Clone, Debug)]
pub struct TextureOp<S> {
    /// What it does.
    pub kind: TextureKind,
    /// The geometry of the texture or surface.
    pub geometry: Geometry,
    /// The handle.
    pub handle: S,
    /// The handle of the sampler.
    pub sampler: S,
    /// Coordinates, and what follows them.
    pub at: SmallVec<[S; 8]>,
    /// What is stored or combined.
    pub values: SmallVec<[S; 4]>,
    /// Bytes of a value that is loaded or stored.
    pub width: usize,
    /// How many values are loaded.
    pub results: usize,
}

impl<S: Copy> TextureOp<S> {
    /// What it reads but for what it stores.
    pub fn sources(&self) -> impl Iterator<Item = S> + '_ {
        [self.handle, self.sampler].into_iter().chain(self.at.iter().copied())
    }
}

/// What is done with a texture or a surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextureKind {
    /// `tex`
    Sample {
        /// Whether coordinates are integers.
        whole: bool,
        /// How the level is given.
        lod: Option<LevelMode>,
        /// Whether offsets follow.
        offset: bool,
        /// The type of the results.
        ty: Ty,
    },
    /// `tld4`
    Gather {
        /// The component.
        component: Component,
        /// Whether offsets follow.
        offset: bool,
    },
    /// `txq` and `suq`
    Query(Query),
    /// `suld`
    Load(Bounds),
    /// `sust`
    Store {
        /// What becomes of a place outside.
        bounds: Bounds,
        /// Whether values are converted to the format.
        formatted: bool,
    },
    /// `sured`
    Reduce {
        /// What becomes of a place outside.
        bounds: Bounds,
        /// Whether an element is combined as its format says.
        formatted: bool,
        /// The operation.
        op: AtomOp,
        /// The type of the value.
        ty: Ty,
    },
}

impl TextureKind {
    /// Returns whether it is for surfaces.
    #[must_use]
    pub fn is_surface(self) -> bool {
        matches!(self, Self::Load(_) | Self::Store { .. } | Self::Reduce { .. })
    }

    /// Returns whether it writes memory.
    #[must_use]
    pub fn writes(self) -> bool {
        self.access() != AccessKind::Load
    }

    /// Returns how it accesses memory.
    #[must_use]
    pub fn access(self) -> AccessKind {
        match self {
            Self::Reduce { .. } => AccessKind::Atomic,
            Self::Store { .. } => AccessKind::Store,
            _ => AccessKind::Load,
        }
    }
}

/// Returns the operation on a texture or surface of an instruction, with operands as `operand`
/// finds them; `None` if it is not one that exists.
///
/// # Errors
/// Those of the function.
pub fn texture_op<S: Copy, E>(
    inst: &Inst,
    mut operand: impl FnMut(usize) -> Result<S, E>,
) -> Result<Option<TextureOp<S>>, E> {
    let Some(kind) = kind_of(inst) else { return Ok(None) };
    let all = inst.operands.len();
    let (handles, coordinates) = match kind {
        TextureKind::Query(_) => (1, all),
        TextureKind::Sample { .. } | TextureKind::Gather { .. } => (HANDLES, all),
        _ => (1, 4),
    };
    let at = (handles..coordinates).map(&mut operand).collect::<Result<_, E>>()?;
    let values = (coordinates..all).map(&mut operand).collect::<Result<_, E>>()?;
    Ok(Some(TextureOp {
        kind,
        geometry: inst.mods.geometry.unwrap_or(Geometry::D1),
        at,
        values,
        handle: operand(0)?,
        sampler: operand(handles - 1)?,
        width: match (kind.is_surface(), inst.ty) {
            (true, Some(ty)) => ty.bytes() as usize,
            _ => 4,
        },
        results: inst.results.len(),
    }))
}

fn kind_of(inst: &Inst) -> Option<TextureKind> {
    let mods = &inst.mods;
    let (offset, formatted) = (mods.flags.has(Flag::Offset), mods.flags.has(Flag::Formatted));
    Some(match inst.op {
        Op::TexQuery => TextureKind::Query(mods.query?),
        Op::TexGather => TextureKind::Gather { component: mods.component?, offset },
        Op::Tex => {
            let (whole, lod) = (inst.ty2 == Some(Ty::S32), mods.lod);
            TextureKind::Sample { whole, lod, offset, ty: inst.ty? }
        }
        Op::SurfLoad => TextureKind::Load(mods.bounds?),
        Op::SurfStore => TextureKind::Store { bounds: mods.bounds?, formatted },
        Op::SurfReduce => {
            let (bounds, op, ty) = (mods.bounds?, mods.atom?, inst.ty?);
            // Untyped minima are those of elements' integers, which a formatted one has.
            if !formatted && !atomic::supported(op, ty) {
                return None;
            }
            TextureKind::Reduce { bounds, formatted, op, ty }
        }
        _ => return None,
    })
}

/// A thread that accesses a texture or a surface.
pub trait TextureThread<S> {
    /// Why an access is not made.
    type Error;

    /// Returns the value of an operand.
    fn get(&self, src: S) -> u64;

    /// Returns the object of a handle.
    ///
    /// # Errors
    /// If there is none.
    fn object(&mut self, handle: u64) -> Result<Descriptor, Self::Error>;

    /// Reads 1, 2, 4, 8 or 16 bytes.
    ///
    /// # Errors
    /// If they cannot be read.
    fn read(&mut self, at: u64, len: usize) -> Result<[u8; 16], Self::Error>;

    /// Checks bytes that will be written.
    ///
    /// # Errors
    /// If they cannot be.
    fn check(&mut self, at: u64, len: usize, kind: AccessKind) -> Result<(), Self::Error>;

    /// Returns the error for a use that cannot be done.
    fn misuse(&self, handle: u64, misuse: TextureMisuse) -> Self::Error;
}

/// Bytes that a thread reads, or with which it writes.
#[derive(Clone, Copy, Debug)]
pub struct TexturePiece {
    /// The address.
    pub at: u64,
    len: u8,
    bytes: [u8; 16],
}

impl TexturePiece {
    fn new(at: u64, len: usize, bytes: [u8; 16]) -> Self {
        Self { at, len: len as u8, bytes }
    }

    /// Returns the bytes read, or the operand of a store or reduction.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// What an instruction on a texture or a surface does in a thread.
#[derive(Clone, Debug, Default)]
pub struct TextureEffect {
    /// Values of the results; of stores and reductions none.
    pub results: SmallVec<[u64; 4]>,
    /// What is read, or where is written what.
    pub pieces: SmallVec<[TexturePiece; 4]>,
    /// The operation of a reduction, and the type in which it combines.
    pub combine: Option<(AtomOp, Ty)>,
}

impl TextureEffect {
    /// Returns the word to be stored from an operand and what is there.
    #[must_use]
    pub fn stored(&self, old: u64, operand: u64) -> u64 {
        match self.combine {
            Some((op, ty)) => atomic::apply(op, ty, old, &[operand]),
            None => operand,
        }
    }
}

/// Returns the object of the instruction, which has its kind and geometry.
fn fitting<S: Copy, T: TextureThread<S>>(
    thread: &mut T,
    op: &TextureOp<S>,
) -> Result<Descriptor, T::Error> {
    let handle = thread.get(op.handle);
    let found = thread.object(handle)?;
    match misfit(op, &found) {
        Some(misuse) => Err(thread.misuse(handle, misuse)),
        None => {
            let mut found = found;
            if found.resource.is_row_for(op.geometry) {
                found.resource.shape.geometry = op.geometry;
            }
            Ok(found)
        }
    }
}

/// Returns why an instruction cannot be done on an object, if its kind or geometry differ.
#[must_use]
pub fn misfit<S>(op: &TextureOp<S>, found: &Descriptor) -> Option<TextureMisuse> {
    let (surface, geometry) = (op.kind.is_surface(), found.resource.shape.geometry);
    if found.surface != surface {
        Some(TextureMisuse::Kind { surface: found.surface })
    } else if !found.resource.accepts(op.geometry, surface) {
        Some(TextureMisuse::Geometry { object: geometry, instruction: op.geometry })
    } else {
        None
    }
}

/// The operands behind the handles, one after another.
struct Operands<'a, S, T> {
    thread: &'a T,
    rest: std::slice::Iter<'a, S>,
}

impl<S: Copy, T: TextureThread<S>> Operands<'_, S, T> {
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

/// Returns what an instruction does in a thread.
///
/// # Errors
/// Those of the thread.
pub fn texture_effect<S: Copy, T: TextureThread<S>>(
    op: &TextureOp<S>,
    thread: &mut T,
) -> Result<TextureEffect, T::Error> {
    match op.kind {
        TextureKind::Query(asked) => {
            let handle = thread.get(op.handle);
            let level = op.at.first().map_or(0, |&src| thread.get(src) as u32);
            let answer = query(&thread.object(handle)?, asked, level);
            let results = [answer.into()].into_iter().collect();
            Ok(TextureEffect { results, ..TextureEffect::default() })
        }
        TextureKind::Sample { .. } | TextureKind::Gather { .. } => sampled(op, thread),
        TextureKind::Load(_) | TextureKind::Store { .. } | TextureKind::Reduce { .. } => {
            accessed(op, thread)
        }
    }
}

/// What a texture is sampled for.
enum Asked {
    Value(Request, Ty),
    Gathered((u32, [f32; 3], [i32; 3]), Component),
}

fn asked<S: Copy, T: TextureThread<S>>(op: &TextureOp<S>, thread: &T) -> Option<Asked> {
    let operands = &mut Operands { thread, rest: op.at.iter() };
    let (geometry, count) = (op.geometry, op.geometry.dimensions());
    let layer = operands.layer(geometry);
    let at = operands.words(count);
    let floats = at.map(f32::from_bits);
    let offsets = |operands: &mut Operands<'_, S, T>, given: bool| {
        operands.words(if given { count } else { 0 }).map(u32::cast_signed)
    };
    Some(match op.kind {
        TextureKind::Gather { component, offset } => {
            Asked::Gathered((layer, floats, offsets(operands, offset)), component)
        }
        TextureKind::Sample { whole, lod, offset, ty } => {
            let level = if lod == Some(LevelMode::Level) { operands.word() } else { 0 };
            let derivatives = (lod == Some(LevelMode::Grad))
                .then(|| [operands.floats(count), operands.floats(count)]);
            let offsets = offsets(operands, offset);
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
            Asked::Value(request, ty)
        }
        _ => return None,
    })
}

fn sampled<S: Copy, T: TextureThread<S>>(
    op: &TextureOp<S>,
    thread: &mut T,
) -> Result<TextureEffect, T::Error> {
    let mut made = TextureEffect::default();
    let object = fitting(thread, op)?;
    // The sampler is the texture's own unless the instruction names another.
    let sampler = match thread.get(op.sampler) {
        handle if handle == thread.get(op.handle) => object.sampler,
        handle => thread.object(handle)?.sampler,
    };
    let Some(asked) = asked(op, thread) else { return Ok(made) };
    let pieces = &mut made.pieces;
    let fetch = |at: u64, len: usize| {
        let bytes = thread.read(at, len)?;
        pieces.push(TexturePiece::new(at, len, bytes));
        Ok(bytes)
    };
    match asked {
        Asked::Gathered(place, component) => {
            let found = gather(&object.resource, &sampler, place, component, fetch)?;
            made.results.extend(found.map(u64::from));
        }
        Asked::Value(request, ty) => {
            let found = sample(&object.resource, &sampler, &request, fetch)?;
            made.results.extend(components(found, ty));
        }
    }
    Ok(made)
}

/// Returns a sampled value as registers of a type hold it.
fn components(found: Texel, ty: Ty) -> SmallVec<[u64; 4]> {
    match ty {
        Ty::F16 => found.halves().map(u64::from).into(),
        Ty::F16x2 => {
            let [a, b, c, d] = found.halves().map(u64::from);
            [b << 16 | a, d << 16 | c].into_iter().collect()
        }
        _ => found.bits().map(u64::from).into(),
    }
}

fn accessed<S: Copy, T: TextureThread<S>>(
    op: &TextureOp<S>,
    thread: &mut T,
) -> Result<TextureEffect, T::Error> {
    let mut made = TextureEffect::default();
    let resource = fitting(thread, op)?.resource;
    let handle = thread.get(op.handle);
    let format = resource.shape.format;
    let (layer, at) = {
        let mut operands = Operands { thread, rest: op.at.iter() };
        (operands.layer(op.geometry), operands.words(op.geometry.dimensions()))
    };
    let at = at.map(u32::cast_signed);
    let values: SmallVec<[u64; 4]> = op.values.iter().map(|&src| thread.get(src)).collect();
    let element = op.width;
    let (len, formatted, bounds) = match op.kind {
        TextureKind::Load(bounds) => (element * op.results, false, bounds),
        TextureKind::Store { bounds, formatted: true } => (format.bytes(), true, bounds),
        TextureKind::Store { bounds, .. } => (element * values.len(), false, bounds),
        TextureKind::Reduce { bounds, formatted, op, ty } => {
            let ty = if formatted { signed_as(ty, format.channel) } else { ty };
            if formatted && (ty.bits() != 32 || !matches_single(&resource, ty)) {
                return Err(thread.misuse(handle, SurfaceError::Reduction.into()));
            }
            made.combine = Some((op, ty));
            (element, formatted, bounds)
        }
        _ => return Ok(made),
    };
    let found = place(&resource, layer, at, (len as u64, formatted), bounds);
    let Some(at) = found.map_err(|misuse| thread.misuse(handle, misuse.into()))? else {
        made.results.extend((0..op.results).map(|_| 0));
        return Ok(made);
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
            thread.check(at, len, op.kind.access())?;
            for (to, word) in bytes.chunks_exact_mut(element).zip(values) {
                to.copy_from_slice(&word.to_le_bytes()[..element]);
            }
        }
    }
    made.pieces.push(TexturePiece::new(at, len, bytes));
    Ok(made)
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

/// A thread of the exact engine.
struct Thread<'a, const N: usize> {
    state: &'a State<N>,
    cta: &'a Cta<N>,
    group: usize,
    thread: usize,
}

impl<const N: usize> TextureThread<Src> for Thread<'_, N> {
    type Error = Cause;

    fn get(&self, src: Src) -> u64 {
        value(self.cta, self.group, &self.state.info.vars, src, self.thread)
    }

    fn check(&mut self, at: u64, len: usize, kind: AccessKind) -> Result<(), Cause> {
        let align = len.min(8) as u64;
        let place = (Space::Global, at, false);
        check_place(self.state, self.cta, self.thread, place, kind, (len as u64, align))
    }

    fn read(&mut self, at: u64, len: usize) -> Result<[u8; 16], Cause> {
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

    fn object(&mut self, handle: u64) -> Result<Descriptor, Cause> {
        let misuse = |misuse| Cause::Texture { handle, misuse };
        let mut bytes = [0; BYTES];
        for (i, part) in bytes.chunks_exact_mut(16).enumerate() {
            let at = handle.wrapping_add(16 * i as u64);
            let found = self.read(at, 16).map_err(|_| misuse(DescriptorError::Magic.into()))?;
            part.copy_from_slice(&found);
        }
        Descriptor::decode(&bytes).map_err(|error| misuse(error.into()))
    }

    fn misuse(&self, handle: u64, misuse: TextureMisuse) -> Cause {
        Cause::Texture { handle, misuse }
    }
}

/// The width of the words in which bytes are accessed.
fn width_of(len: usize) -> Width {
    Width::from_bytes(len.min(8) as u64).unwrap_or(Width::B1)
}

/// What the instruction does in a lane.
pub(crate) fn effect_in<const N: usize>(
    state: &State<N>,
    cta: &Cta<N>,
    (group, lane): (usize, usize),
    op: &TextureOp<Src>,
) -> Result<TextureEffect, Cause> {
    let thread = cta.groups[group].thread(lane);
    texture_effect(op, &mut Thread { state, cta, group, thread })
}

/// The effects of lanes.
type Effects = Vec<(usize, TextureEffect)>;

pub(crate) fn execute<const N: usize, O: Observer<N>>(
    state: &mut State<N>,
    now: &Now<N>,
    TextureAccess { mem, op }: &TextureAccess,
    observer: &mut O,
) -> Executed<N> {
    state.stats.memory_instructions += u64::from(now.on.any());
    let effects = effects(state, now, op)?;
    if observer.wants(Events::ACCESS) {
        observe(state, now, (mem, op.kind.access()), &effects, observer);
    }
    let Some(cta) = state.resident[now.slot].as_deref_mut() else { return Ok(Outcome::Advance) };
    let first = cta.groups[now.group].first_thread as usize;
    for lane in now.on {
        // Lanes that were refused, in a tolerant launch, read zeros.
        let made = effects.iter().find(|effect| effect.0 == lane);
        for (i, &row) in mem.rows.iter().enumerate() {
            let value = made.and_then(|(_, effect)| effect.results.get(i)).copied().unwrap_or(0);
            cta.set_row(row, first + lane, value);
        }
    }
    if op.kind.writes() {
        effects.iter().for_each(|(lane, effect)| commit(state, now, first + lane, effect));
    }
    Ok(Outcome::Advance)
}

fn effects<const N: usize>(
    state: &mut State<N>,
    now: &Now<N>,
    op: &TextureOp<Src>,
) -> Result<Effects, Failure<N>> {
    let Some(cta) = state.resident[now.slot].as_deref() else { return Ok(Vec::new()) };
    let (mut made, mut bad, mut first) = (Vec::new(), LaneMask::EMPTY, None);
    for lane in now.on {
        match effect_in(state, cta, (now.group, lane), op) {
            Ok(effect) => made.push((lane, effect)),
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

/// Writes what a thread stores.
fn commit<const N: usize>(
    state: &mut State<N>,
    now: &Now<N>,
    thread: usize,
    effect: &TextureEffect,
) {
    for piece in &effect.pieces {
        let width = width_of(piece.bytes().len());
        let parts = piece.bytes().chunks_exact(width.bytes() as usize);
        for (i, part) in parts.enumerate() {
            let at = piece.at + i as u64 * width.bytes();
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            let mut word = u64::from_le_bytes(word);
            if effect.combine.is_some() {
                let old = read(state, now.slot, thread, (Space::Global, at), width);
                word = effect.stored(old, word);
            }
            write(state, now.slot, thread, (Space::Global, at, width, word));
        }
    }
}

/// Reports accesses: the first piece of all lanes, then the second, and so on.
fn observe<const N: usize, O: Observer<N>>(
    state: &State<N>,
    now: &Now<N>,
    (mem, kind): (&MemOp, AccessKind),
    effects: &Effects,
    observer: &mut O,
) {
    for (size, same) in texture_accesses(effects) {
        let places = same.iter().map(|&(lane, piece)| (lane as u16, piece.at)).collect();
        let words = same.iter().flat_map(|(_, piece)| {
            let whole = piece.bytes.as_chunks::<8>().0;
            whole[..size.div_ceil(8)].iter().map(|word| u64::from_le_bytes(*word))
        });
        let values: Vec<u64> =
            if observer.wants(Events::VALUES) { words.collect() } else { Vec::new() };
        observe_at(state, now, (mem, kind, size as u32), places, &values, observer);
    }
}

/// Accesses of so many bytes, by lane.
type SameAccesses<'e> = (usize, SmallVec<[(usize, &'e TexturePiece); 32]>);

/// Returns the accesses of lanes as observers see them: the first pieces of all lanes, then the
/// second, and so on; handles may differ by lane, and so may sizes, in increasing order.
#[must_use]
pub fn texture_accesses(effects: &[(usize, TextureEffect)]) -> Vec<SameAccesses<'_>> {
    let most = effects.iter().map(|(_, effect)| effect.pieces.len()).max().unwrap_or(0);
    let mut all = Vec::new();
    for i in 0..most {
        let pieces = effects.iter().filter_map(|(lane, e)| e.pieces.get(i).map(|p| (*lane, p)));
        let mut sizes: SmallVec<[usize; 2]> =
            pieces.clone().map(|(_, piece)| piece.bytes().len()).collect();
        sizes.sort_unstable();
        sizes.dedup();
        for size in sizes {
            all.push((size, pieces.clone().filter(|(_, p)| p.bytes().len() == size).collect()));
        }
    }
    all
}
