//! Textures and surfaces, by the definition that the exact engine has of them
//! ([`vm::texture_effect`]).
//!
//! An object is read from memory at each step, for kernels may write anything anywhere, but decoded
//! only if its bytes differ from those of the last ones. Lanes that sample one texture are sampled
//! together where [`texture::Plane`] can and nobody writes its elements. What the exact engine
//! would fault at declines the launch.

use crate::Declined;
use crate::code::{Dst, Memory, Src, Texture, commuting};
use crate::machine::Machine;
use crate::memory::{Location, WarpMemory};
use crate::row::{LANES, Narrow, lanes};
use crate::warp::Warp;
use ir::Ty;
use ir::mods::LevelMode;
use products::Level;
use simt::Pc;
use simt::memory::AccessKind;
use simt::observe::GroupId;
use texture::{BYTES, Descriptor, Places, Plane, Reads};
use vm::{TextureEffect, TextureKind, TextureMisuse, TexturePiece, TextureThread};

const MISUSE: Declined = Declined::Running("a texture or surface cannot be used so");

/// How many objects are kept.
const KEPT: usize = 16;

/// An object that was used.
#[derive(Debug)]
struct Object {
    bytes: [u8; BYTES],
    descriptor: Descriptor,
    /// What whole warps sample, if they can.
    plane: Option<Plane>,
}

/// Objects that were used last.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    kept: Vec<Object>,
    /// The next one to be replaced.
    oldest: usize,
}

impl Objects {
    /// Returns the number of the object with these bytes.
    fn find(&mut self, bytes: &[u8; BYTES]) -> Result<usize, Declined> {
        if let Some(at) = self.kept.iter().position(|kept| kept.bytes == *bytes) {
            return Ok(at);
        }
        let descriptor = Descriptor::decode(bytes).map_err(|_| MISUSE)?;
        let plane = Plane::new(&descriptor.resource, &descriptor.sampler);
        let object = Object { bytes: *bytes, descriptor, plane };
        if self.kept.len() < KEPT {
            self.kept.push(object);
            return Ok(self.kept.len() - 1);
        }
        self.oldest = (self.oldest + 1) % KEPT;
        self.kept[self.oldest] = object;
        Ok(self.oldest)
    }
}

/// A lane that executes an instruction.
struct Lane<'t, 'g, 'm> {
    memory: &'t mut WarpMemory<'g, 'm>,
    objects: &'t mut Objects,
    /// The handle that was used last, and the object's number.
    last: &'t mut Option<(u64, usize)>,
    warp: &'t Warp,
    accesses: &'t [Memory; 2],
    lane: usize,
}

impl Lane<'_, '_, '_> {
    fn place(&self, which: usize, at: u64, len: usize, write: bool) -> Result<Location, Declined> {
        let size = (len as u64, len.min(8) as u64);
        let thread = self.warp.first_thread as usize + self.lane;
        self.memory.place(&self.accesses[which], at, size, thread, write)
    }
}

impl TextureThread<Src> for Lane<'_, '_, '_> {
    type Error = Declined;

    #[inline]
    fn get(&self, src: Src) -> u64 {
        self.warp.lane(src, self.lane)
    }

    fn object(&mut self, handle: u64) -> Result<Descriptor, Declined> {
        let known = self.last.filter(|last| last.0 == handle);
        let number = match known {
            Some((_, number)) => number,
            None => {
                let place = self.place(0, handle, BYTES, false)?;
                let bytes = self.memory.bytes(place, BYTES).first_chunk().ok_or(MISUSE)?;
                self.objects.find(bytes)?
            }
        };
        *self.last = Some((handle, number));
        Ok(self.objects.kept[number].descriptor)
    }

    #[inline]
    fn read(&mut self, at: u64, len: usize) -> Result<[u8; 16], Declined> {
        let place = self.place(1, at, len, false)?;
        let mut out = [0; 16];
        out[..len].copy_from_slice(self.memory.bytes(place, len));
        Ok(out)
    }

    /// Stores find their place again when they are made, and decline there.
    fn check(&mut self, _: u64, _: usize, _: AccessKind) -> Result<(), Declined> {
        Ok(())
    }

    fn misuse(&self, _: u64, _: TextureMisuse) -> Declined {
        MISUSE
    }
}

impl Machine<'_> {
    /// Executes an instruction on a texture or a surface.
    #[inline(never)]
    pub(crate) fn texture(
        &mut self,
        warp: &mut Warp,
        op: &Texture,
        pc: u64,
        on: u32,
    ) -> Result<(), Declined> {
        self.screen_other()?;
        self.stats.memory_instructions += 1;
        let (mut objects, mut last) = (std::mem::take(&mut self.objects), None);
        let together = match Sampled::new(warp, &op.op, on) {
            Some(sampled) => self.sample_together(warp, op, &mut objects, (&sampled, on), pc),
            None => Ok(false),
        };
        if !matches!(together, Ok(false)) {
            self.objects = objects;
            return together.map(|_| ());
        }
        let effects = self.with_memory(|memory| -> Result<Vec<_>, Declined> {
            let effect = |lane| {
                let (objects, last) = (&mut objects, &mut last);
                let accesses = &op.accesses;
                let mut it = Lane { memory, objects, last, warp, accesses, lane };
                Ok((lane, vm::texture_effect(&op.op, &mut it)?))
            };
            lanes(on).map(effect).collect()
        });
        self.objects = objects;
        let effects = effects?;
        if self.detail.is_some() {
            self.report_texture(warp, op, pc, &effects);
        }
        for (lane, effect) in &effects {
            for (&dst, &value) in op.dst.iter().zip(&effect.results) {
                warp.put_lane(dst, *lane, value);
            }
        }
        if op.op.kind.writes() {
            let changed = self.with_memory(|memory| commit(memory, warp, op, &effects))?;
            self.progress |= changed || op.op.kind.access() == AccessKind::Store;
        }
        Ok(())
    }

    /// Samples a texture in all lanes that are on at a time. Returns `false`, having done nothing,
    /// if it cannot be sampled so.
    fn sample_together(
        &mut self,
        warp: &mut Warp,
        op: &Texture,
        objects: &mut Objects,
        (sampled, on): (&Sampled, u32),
        pc: u64,
    ) -> Result<bool, Declined> {
        let (level, detailed) = (self.context.level, self.detail.is_some());
        let (accesses, lane) = (&op.accesses, on.trailing_zeros() as usize % LANES);
        let mut reads = detailed.then(Reads::default);
        let rows = self.with_memory(|memory| -> Result<_, Declined> {
            let mut last = None;
            let mut it = Lane { memory, objects, last: &mut last, warp, accesses, lane };
            let found = it.object(sampled.handle)?;
            if vm::misfit(&op.op, &found).is_some() {
                return Err(MISUSE);
            }
            let number = last.map_or(0, |(_, number)| number);
            let Some(mut plane) = objects.kept[number].plane.as_ref() else { return Ok(None) };
            let row;
            if found.resource.is_row_for(op.op.geometry) {
                row = plane.row();
                plane = &row;
            }
            let Some(bytes) = bytes_of(memory, &op.accesses[1], plane) else { return Ok(None) };
            let rows = sampled.rows(level, plane, bytes, reads.as_mut());
            Ok(Some((rows, plane.element_bytes())))
        })?;
        let Some((rows, size)) = rows else { return Ok(false) };
        if let Some(reads) = &mut reads {
            self.report_reads(warp, (op, size), pc, reads);
        }
        for (&dst, row) in op.dst.iter().zip(rows) {
            match dst {
                Dst::Narrow(dst) => warp.put_narrow(dst, &Narrow(row), on, true),
                dst => warp.put_each(dst, on, |lane| row[lane].into()),
            }
        }
        Ok(true)
    }

    /// Reports what lanes that were sampled together have read.
    fn report_reads(
        &mut self,
        warp: &Warp,
        (op, size): (&Texture, usize),
        pc: u64,
        reads: &mut Reads,
    ) {
        for (i, at) in reads.at.iter_mut().enumerate() {
            let has = |lane: usize| u32::from(usize::from(reads.count[lane]) > i) << lane;
            let on = (0..LANES).map(has).sum::<u32>();
            if on == 0 {
                return;
            }
            self.report_elements(warp, (op, size), pc, (on, at));
        }
    }

    /// Reports accesses of so many bytes to the observer.
    fn report_elements(
        &mut self,
        warp: &Warp,
        (op, size): (&Texture, usize),
        pc: u64,
        (on, at): (u32, &mut [u64; LANES]),
    ) {
        let (cta, kind) = (self.ctas[self.slot].index, op.op.kind.access());
        let group = GroupId { cta, group: self.group as u32, first_thread: warp.first_thread };
        let mut memory = op.accesses[1].clone();
        memory.word = size as u32;
        let what = (&memory, kind, Pc(pc));
        if !self.offer_warp(what, on, at, 1) {
            self.report_lanes(what, group, (on, |lane: usize| at[lane]), 1);
        }
    }

    /// Reports the accesses of an instruction to the observer.
    fn report_texture(
        &mut self,
        warp: &Warp,
        op: &Texture,
        pc: u64,
        effects: &[(usize, TextureEffect)],
    ) {
        for (size, pieces) in vm::texture_accesses(effects) {
            let (mut on, mut at) = (0, [0; LANES]);
            for (lane, piece) in pieces {
                (on, at[lane]) = (on | 1 << lane, piece.at);
            }
            self.report_elements(warp, (op, size), pc, (on, &mut at));
        }
    }
}

/// What lanes that sample one texture sample.
struct Sampled {
    handle: u64,
    places: Places,
    /// Whether coordinates are those of elements.
    whole: bool,
}

impl Sampled {
    /// Returns what lanes sample if all of them sample one texture for 32-bit values.
    fn new(warp: &Warp, op: &vm::TextureOp<Src>, on: u32) -> Option<Self> {
        let TextureKind::Sample { whole, lod, offset, ty } = op.kind else { return None };
        let lane = on.trailing_zeros() as usize % LANES;
        let handle = warp.lane(op.handle, lane);
        let is_same = |src| match src {
            Src::Const(_) | Src::Line(_, 0, _) => warp.lane(src, lane) == handle,
            _ => lanes(on).all(|lane| warp.lane(src, lane) == handle),
        };
        let one = is_same(op.handle) && (op.sampler == op.handle || is_same(op.sampler));
        if !one || matches!(ty, Ty::F16 | Ty::F16x2) || op.geometry.is_cube() {
            return None;
        }
        let (count, mut rest) = (op.geometry.dimensions(), op.at.iter());
        let mut row = |there: bool| match there {
            true => rest.next().map_or([0; LANES], |&src| warp.narrow(src).0),
            false => [0; LANES],
        };
        let layer = row(op.geometry.is_layered());
        let at = [0, 1, 2].map(|i| row(i < count));
        let level = row(lod == Some(LevelMode::Level));
        if lod == Some(LevelMode::Grad) {
            // There is one level.
            (0..2 * count).for_each(|_| _ = row(true));
        }
        let offsets = offset.then(|| [0, 1, 2].map(|i| row(i < count)));
        Some(Self { handle, places: Places { layer, at, offsets, level, on }, whole })
    }

    /// Returns the values, by component and lane.
    fn rows(
        &self,
        level: Level,
        plane: &Plane,
        bytes: &[u8],
        reads: Option<&mut Reads>,
    ) -> [[u32; LANES]; 4] {
        products::at(
            level,
            #[inline(always)]
            || match self.whole {
                true => plane.elements(bytes, &self.places, reads),
                false => plane.sample(bytes, &self.places, reads),
            },
        )
    }
}

/// Returns the bytes of a texture, if all of them are there and no other thread may write them.
fn bytes_of<'m>(
    memory: &'m WarpMemory<'_, '_>,
    elements: &Memory,
    plane: &Plane,
) -> Option<&'m [u8]> {
    let (base, len) = plane.extent();
    let within = |(start, bytes): (u64, &'m [u8])| {
        let at = usize::try_from(base.checked_sub(start)?).ok()?;
        bytes.get(at..at.checked_add(usize::try_from(len).ok()?)?)
    };
    let region = |number| memory.global.region(number).and_then(within);
    region(elements.hint.get()).or_else(|| {
        let place = memory.global.place(elements.hint.get(), base, 1, false)?;
        elements.hint.set(place.region());
        region(place.region())
    })
}

/// Writes what lanes store, in their order. Returns whether memory has changed.
fn commit(
    memory: &mut WarpMemory<'_, '_>,
    warp: &Warp,
    op: &Texture,
    effects: &[(usize, TextureEffect)],
) -> Result<bool, Declined> {
    let mut changed = false;
    for (lane, effect) in effects {
        let thread = warp.first_thread as usize + lane;
        for piece in &effect.pieces {
            changed |= write(memory, (&op.accesses[1], thread), effect, piece)?;
        }
    }
    Ok(changed)
}

fn write(
    memory: &mut WarpMemory<'_, '_>,
    (elements, thread): (&Memory, usize),
    effect: &TextureEffect,
    piece: &TexturePiece,
) -> Result<bool, Declined> {
    let from = piece.bytes();
    let size = (from.len() as u64, from.len().min(8) as u64);
    let Some((op, ty)) = effect.combine else {
        let place = memory.place(elements, piece.at, size, thread, true)?;
        let to = memory.bytes_mut(place, from.len());
        let changed = *to != *from;
        to.copy_from_slice(from);
        return Ok(changed);
    };
    let operand = word_of(from);
    if let Some(number) = commuting(op, ty, size.0 as u32).filter(|_| memory.global.is_part()) {
        let new = |old| effect.stored(old, operand) & u64::MAX >> (64 - 8 * size.0);
        return memory.change(elements, (piece.at, size.0, number), new);
    }
    let place = memory.place(elements, piece.at, size, thread, true)?;
    let to = memory.bytes_mut(place, from.len());
    let new = effect.stored(word_of(to), operand).to_le_bytes();
    let changed = *to != new[..from.len()];
    to.copy_from_slice(&new[..from.len()]);
    Ok(changed)
}

/// The word of at most 8 bytes.
fn word_of(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}
