//! Copies and fills.

use hostmem::Argument;

use crate::driver::{
    cuMemcpy2DAsync_v2, cuMemcpy3DAsync_v2, cuMemcpyAsync, cuMemcpyDtoDAsync_v2,
    cuMemcpyDtoHAsync_v2, cuMemcpyHtoDAsync_v2, cuMemsetD2D8Async, cuMemsetD8Async,
};
use crate::error::{Error, Outcome};
use crate::host::{Block, Ptr, structure};
use crate::registry::variable;
use crate::state::context;

/// Values of `cudaMemcpyKind`. With the last one, the driver infers the direction.
const HOST_TO_HOST: i32 = 0;
const HOST_TO_DEVICE: i32 = 1;
const DEVICE_TO_HOST: i32 = 2;
const DEVICE_TO_DEVICE: i32 = 3;
const DEFAULT: i32 = 4;

/// Values of the driver's `CUmemorytype`.
const HOST: u64 = 1;
const DEVICE: u64 = 2;
const UNIFIED: u64 = 4;

/// `cudaPitchedPtr`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Pitched {
    /// The address of the first byte.
    pub at: u64,
    /// Bytes from one row to the next.
    pub pitch: usize,
    /// Bytes per row.
    pub width: usize,
    /// The number of rows.
    pub height: usize,
}

/// `cudaExtent`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// Bytes per row.
    pub width: usize,
    /// The number of rows.
    pub height: usize,
    /// The number of layers.
    pub depth: usize,
}

impl Argument for Pitched {
    fn text(&self, _: &str) -> String {
        let Self { at, pitch, width, height } = self;
        format!("{at:#x} with a pitch of {pitch}, {width} x {height}")
    }
}

impl Argument for Extent {
    fn text(&self, _: &str) -> String {
        format!("{} x {} x {}", self.width, self.height, self.depth)
    }
}

pub(crate) fn line(to: u64, from: u64, len: usize, kind: i32, stream: u64) -> Outcome {
    context()?;
    match kind {
        HOST_TO_HOST | DEFAULT => cuMemcpyAsync(to, from, len, stream),
        HOST_TO_DEVICE => cuMemcpyHtoDAsync_v2(to, from as Ptr, len, stream),
        DEVICE_TO_HOST => cuMemcpyDtoHAsync_v2(to as Ptr, from, len, stream),
        DEVICE_TO_DEVICE => cuMemcpyDtoDAsync_v2(to, from, len, stream),
        _ => Err(Error::INVALID_MEMCPY_DIRECTION),
    }
}

/// Copies between devices. They share one memory, so this is an ordinary copy.
pub(crate) fn peer(to: u64, there: i32, from: u64, here: i32, len: usize, stream: u64) -> Outcome {
    crate::state::known_device(there)?;
    crate::state::known_device(here)?;
    line(to, from, len, DEVICE_TO_DEVICE, stream)
}

/// Returns the memory types of destination and source.
fn types(kind: i32) -> Outcome<(u64, u64)> {
    match kind {
        HOST_TO_HOST => Ok((HOST, HOST)),
        HOST_TO_DEVICE => Ok((DEVICE, HOST)),
        DEVICE_TO_HOST => Ok((HOST, DEVICE)),
        DEVICE_TO_DEVICE => Ok((DEVICE, DEVICE)),
        DEFAULT => Ok((UNIFIED, UNIFIED)),
        _ => Err(Error::INVALID_MEMCPY_DIRECTION),
    }
}

pub(crate) fn rows(
    (to, to_pitch): (u64, usize),
    (from, from_pitch): (u64, usize),
    (width, height): (usize, usize),
    kind: i32,
    stream: u64,
) -> Outcome {
    context()?;
    let (to_type, from_type) = types(kind)?;
    if width > to_pitch || width > from_pitch {
        return Err(Error::INVALID_PITCH);
    }
    if width == 0 || height == 0 {
        return Ok(());
    }
    // `CUDA_MEMCPY2D`: each side has a type, then its address both as the host's and as the
    // device's.
    let mut b = Block::new(128);
    b.set(16, from_type);
    b.set(24, from);
    b.set(32, from);
    b.set(48, from_pitch as u64);
    b.set(72, to_type);
    b.set(80, to);
    b.set(88, to);
    b.set(104, to_pitch as u64);
    b.set(112, width as u64);
    b.set(120, height as u64);
    cuMemcpy2DAsync_v2(b.at(), stream)
}

/// The offsets of the source's and the destination's fields in `CUDA_MEMCPY3D`.
const FROM: usize = 0;
const TO: usize = 88;

/// Creates a `CUDA_MEMCPY3D` with an extent: bytes per row, rows, layers.
fn of_extent([width, height, depth]: [u64; 3]) -> Block {
    let mut b = Block::new(200);
    b.set(176, width);
    b.set(184, height);
    b.set(192, depth);
    b
}

/// Sets the type and the address of one side, the latter both as the host's and as the device's.
fn set_side(b: &mut Block, side: usize, kind: u64, address: u64) {
    b.set(side + 32, kind);
    b.set(side + 40, address);
    b.set(side + 48, address);
}

/// Creates the driver's structure for a copy of adjacent bytes.
pub(crate) fn of_line(to: u64, from: u64, len: usize, kind: i32) -> Outcome<Block> {
    let (to_type, from_type) = types(kind)?;
    let mut b = of_extent([len as u64, 1, 1]);
    set_side(&mut b, FROM, from_type, from);
    set_side(&mut b, TO, to_type, to);
    Ok(b)
}

/// Creates the driver's structure for a copy that `cudaMemcpy3DParms` describes: source array,
/// position, pitched pointer; the same of the destination at 64; extent at 128; kind at 152.
pub(crate) fn of_layers(params: Ptr) -> Outcome<Block> {
    let s = structure(params, 160)?;
    if s.u64(0) != 0 || s.u64(64) != 0 {
        crate::driver::note_unsupported(c"cudaMemcpy3D of arrays");
        return Err(Error::NOT_SUPPORTED);
    }
    let (to_type, from_type) = types(s.u32(152) as i32)?;
    let mut b = of_extent([s.u64(128), s.u64(136), s.u64(144)]);
    for (to, from, kind) in [(FROM, 8, from_type), (TO, 72, to_type)] {
        let pointer = from + 24;
        b.set(to, s.u64(from));
        b.set(to + 8, s.u64(from + 8));
        b.set(to + 16, s.u64(from + 16));
        set_side(&mut b, to, kind, s.u64(pointer));
        b.set(to + 72, s.u64(pointer + 8));
        b.set(to + 80, s.u64(pointer + 24));
    }
    Ok(b)
}

pub(crate) fn layers(params: Ptr, stream: u64) -> Outcome {
    context()?;
    cuMemcpy3DAsync_v2(of_layers(params)?.at(), stream)
}

/// Returns the address of a part of a variable.
fn part(symbol: Ptr, len: usize, offset: usize) -> Outcome<u64> {
    context()?;
    let (at, size) = variable(symbol)?;
    match offset.checked_add(len) {
        Some(end) if end <= size => Ok(at + offset as u64),
        _ => Err(Error::INVALID_VALUE),
    }
}

pub(crate) fn to_symbol(
    symbol: Ptr,
    from: u64,
    len: usize,
    offset: usize,
    kind: i32,
    stream: u64,
) -> Outcome {
    if !matches!(kind, HOST_TO_DEVICE | DEVICE_TO_DEVICE | DEFAULT) {
        return Err(Error::INVALID_MEMCPY_DIRECTION);
    }
    line(part(symbol, len, offset)?, from, len, kind, stream)
}

pub(crate) fn from_symbol(
    to: u64,
    symbol: Ptr,
    len: usize,
    offset: usize,
    kind: i32,
    stream: u64,
) -> Outcome {
    if !matches!(kind, DEVICE_TO_HOST | DEVICE_TO_DEVICE | DEFAULT) {
        return Err(Error::INVALID_MEMCPY_DIRECTION);
    }
    line(to, part(symbol, len, offset)?, len, kind, stream)
}

pub(crate) fn fill(to: u64, value: i32, len: usize, stream: u64) -> Outcome {
    context()?;
    if len == 0 {
        return Ok(());
    }
    cuMemsetD8Async(to, value as u8, len, stream)
}

pub(crate) fn fill_rows(
    to: u64,
    pitch: usize,
    value: i32,
    width: usize,
    height: usize,
    stream: u64,
) -> Outcome {
    context()?;
    if width > pitch && height > 1 {
        return Err(Error::INVALID_PITCH);
    }
    if width == 0 || height == 0 {
        return Ok(());
    }
    cuMemsetD2D8Async(to, pitch, value as u8, width, height, stream)
}

pub(crate) fn fill_layers(to: Pitched, value: i32, extent: Extent, stream: u64) -> Outcome {
    let layer = to.pitch.checked_mul(to.height).ok_or(Error::INVALID_VALUE)?;
    if extent.depth > 1 && extent.height > to.height {
        return Err(Error::INVALID_VALUE);
    }
    if extent.depth > 1 && layer == 0 {
        return Err(Error::INVALID_PITCH);
    }
    for z in 0..extent.depth {
        let at = layer.checked_mul(z).and_then(|o| to.at.checked_add(o as u64));
        let at = at.ok_or(Error::INVALID_VALUE)?;
        fill_rows(at, to.pitch, value, extent.width, extent.height, stream)?;
    }
    Ok(())
}
