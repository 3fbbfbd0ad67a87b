//! Copies and fills, in one, two and three dimensions.

use runtime::{Addr, ContextError, read_host, write_host};

use crate::driver::Driver;
use crate::host::{Ptr, Struct, structure};
use crate::memory::Kind;
use crate::status::{Outcome, Status};

/// One side of a copy.
#[derive(Clone, Copy, Debug)]
enum Side {
    Device(u64),
    Host(u64),
}

impl Side {
    fn plus(self, bytes: u64) -> Self {
        match self {
            Self::Device(at) => Self::Device(at.wrapping_add(bytes)),
            Self::Host(at) => Self::Host(at.wrapping_add(bytes)),
        }
    }
}

pub(crate) fn of_context(error: &ContextError) -> Status {
    match error {
        ContextError::Map(error) => crate::memory::of_map(error),
        ContextError::Module => Status::INVALID_HANDLE,
        ContextError::Access(_) | ContextError::Host(_) => Status::INVALID_VALUE,
    }
}

/// Which side an address is of: the device's, or the host's. Pinned and managed memory are the host's.
fn unified(d: &Driver, address: u64) -> Side {
    match d.memory.around(address) {
        Some((_, a)) if !matches!(a.kind, Kind::Device) => Side::Host(address),
        Some(_) => Side::Device(address),
        None if d.device.allocation(Addr(address)).is_some() => Side::Device(address),
        None => Side::Host(address),
    }
}

/// Memory that a device address must be of.
fn on_device(d: &Driver, address: u64) -> Outcome<Side> {
    match unified(d, address) {
        Side::Host(at) if d.memory.around(at).is_none() => Err(Status::INVALID_VALUE),
        side => Ok(side),
    }
}

fn run(d: &mut Driver, to: Side, from: Side, len: u64) -> Outcome {
    if len == 0 {
        return Ok(());
    }
    let end = match (to, from) {
        (Side::Device(to), Side::Host(from)) => d.device.write_from_host(Addr(to), from, len),
        (Side::Host(to), Side::Device(from)) => d.device.read_to_host(to, Addr(from), len),
        (Side::Device(to), Side::Device(from)) => d.device.copy(Addr(to), Addr(from), len),
        (Side::Host(to), Side::Host(from)) => return between_hosts(to, from, len),
    };
    end.map_err(|e| of_context(&e))
}

fn between_hosts(to: u64, from: u64, len: u64) -> Outcome {
    let mut buffer = vec![0; len.min(1 << 20) as usize];
    let mut done = 0;
    while done < len {
        let part = &mut buffer[..(len - done).min(1 << 20) as usize];
        let whole = read_host(from.wrapping_add(done), part) == part.len()
            && write_host(to.wrapping_add(done), part) == part.len();
        if !whole {
            return Err(Status::INVALID_VALUE);
        }
        done += part.len() as u64;
    }
    Ok(())
}

pub(crate) fn any(d: &mut Driver, to: u64, from: u64, len: usize) -> Outcome {
    d.usable()?;
    let (to, from) = (unified(d, to), unified(d, from));
    run(d, to, from, len as u64)
}

pub(crate) fn to_device(d: &mut Driver, to: u64, from: Ptr, len: usize) -> Outcome {
    d.usable()?;
    if len == 0 {
        return Ok(());
    }
    let (to, from) = (on_device(d, to)?, unified(d, from as u64));
    run(d, to, from, len as u64)
}

pub(crate) fn to_host(d: &mut Driver, to: Ptr, from: u64, len: usize) -> Outcome {
    d.usable()?;
    if len == 0 {
        return Ok(());
    }
    let (to, from) = (unified(d, to as u64), on_device(d, from)?);
    run(d, to, from, len as u64)
}

pub(crate) fn on_devices(d: &mut Driver, to: u64, from: u64, len: usize) -> Outcome {
    d.usable()?;
    if len == 0 {
        return Ok(());
    }
    let (to, from) = (on_device(d, to)?, on_device(d, from)?);
    run(d, to, from, len as u64)
}

pub(crate) fn peer(
    d: &mut Driver,
    to: u64,
    there: u64,
    from: u64,
    here: u64,
    len: usize,
) -> Outcome {
    d.context(there)?;
    d.context(here)?;
    on_devices(d, to, from, len)
}

// Boxes.

/// One side of a copy of a box.
struct Corner {
    side: Side,
    pitch: u64,
    height: u64,
    offset: [u64; 3],
}

impl Corner {
    /// The first byte of a row.
    fn row(&self, y: u64, z: u64) -> Outcome<Side> {
        let [x0, y0, z0] = self.offset;
        let at = || {
            let plane = z.checked_add(z0)?.checked_mul(self.height)?;
            let rows = plane.checked_add(y)?.checked_add(y0)?;
            rows.checked_mul(self.pitch)?.checked_add(x0)
        };
        Ok(self.side.plus(at().ok_or(Status::INVALID_VALUE)?))
    }
}

/// A copy of a box of bytes.
pub(crate) struct BoxCopy {
    to: Corner,
    from: Corner,
    width: u64,
    height: u64,
    depth: u64,
}

/// Which memory a structure says: 1 the host's, 2 the device's, 4 whichever the address is of.
fn corner_side(d: &Driver, kind: u32, host: u64, device: u64) -> Outcome<Side> {
    match kind {
        1 => Ok(unified(d, host)),
        2 => on_device(d, device),
        4 => Ok(unified(d, device)),
        3 => Err(d.unsupported("copies of arrays")),
        _ => Err(Status::INVALID_VALUE),
    }
}

impl BoxCopy {
    /// Reads `CUDA_MEMCPY2D`.
    pub(crate) fn two(d: &Driver, at: Ptr) -> Outcome<Self> {
        let s = structure(at, 128)?;
        let (width, height) = (s.u64(112), s.u64(120));
        let corner = |o: usize| -> Outcome<Corner> {
            let side = corner_side(d, s.u32(o + 16), s.u64(o + 24), s.u64(o + 32))?;
            let pitch = if s.u64(o + 48) == 0 { width } else { s.u64(o + 48) };
            Ok(Corner { side, pitch, height: 0, offset: [s.u64(o), s.u64(o + 8), 0] })
        };
        Self { from: corner(0)?, to: corner(56)?, width, height, depth: 1 }.checked()
    }

    /// Bytes of `CUDA_MEMCPY3D`.
    pub(crate) const THREE: usize = 200;

    /// Understands `CUDA_MEMCPY3D`, whose levels of detail are of arrays alone.
    pub(crate) fn three(d: &Driver, s: &Struct) -> Outcome<Self> {
        let (width, height, depth) = (s.u64(176), s.u64(184), s.u64(192));
        let corner = |o: usize| -> Outcome<Corner> {
            let side = corner_side(d, s.u32(o + 32), s.u64(o + 40), s.u64(o + 48))?;
            let or = |given: u64, usual: u64| if given == 0 { usual } else { given };
            let (pitch, rows) = (or(s.u64(o + 72), width), or(s.u64(o + 80), height));
            let offset = [s.u64(o), s.u64(o + 8), s.u64(o + 16)];
            Ok(Corner { side, pitch, height: rows, offset })
        };
        Self { from: corner(0)?, to: corner(88)?, width, height, depth }.checked()
    }

    fn checked(self) -> Outcome<Self> {
        let narrow = self.to.pitch < self.width || self.from.pitch < self.width;
        let rows = self.height.checked_mul(self.depth).ok_or(Status::INVALID_VALUE)?;
        if (narrow && rows > 1) || (self.width > 0 && rows > 1 << 32) {
            return Err(Status::INVALID_VALUE);
        }
        Ok(self)
    }

    /// Runs the copy, row by row; rows without gaps between them as one.
    pub(crate) fn run(&self, d: &mut Driver) -> Outcome {
        let (mut width, mut height) = (self.width, self.height);
        if width == 0 {
            return Ok(());
        }
        let dense = self.to.pitch == width && self.from.pitch == width;
        if dense && let Some(all) = width.checked_mul(height) {
            (width, height) = (all, height.min(1));
        }
        for z in 0..self.depth {
            for y in 0..height {
                run(d, self.to.row(y, z)?, self.from.row(y, z)?, width)?;
            }
        }
        Ok(())
    }
}

pub(crate) fn two(d: &mut Driver, at: Ptr) -> Outcome {
    d.usable()?;
    BoxCopy::two(d, at)?.run(d)
}

pub(crate) fn three(d: &mut Driver, at: Ptr) -> Outcome {
    d.usable()?;
    let s = structure(at, BoxCopy::THREE)?;
    BoxCopy::three(d, &s)?.run(d)
}

// Fills.

fn fill(d: &mut Driver, to: u64, pattern: &[u8], count: u64) -> Outcome {
    if !to.is_multiple_of(pattern.len() as u64) {
        return Err(Status::INVALID_VALUE);
    }
    if count == 0 {
        return Ok(());
    }
    match on_device(d, to)? {
        Side::Device(at) => d.device.fill(Addr(at), pattern, count).map_err(|e| of_context(&e)),
        Side::Host(at) => {
            let len = count.saturating_mul(pattern.len() as u64);
            let fits = |(start, a): (u64, &crate::memory::Allocation)| len <= start + a.len - at;
            if !d.memory.around(at).is_some_and(fits) {
                return Err(Status::INVALID_VALUE);
            }
            let bytes = pattern.repeat(count as usize);
            if write_host(at, &bytes) < bytes.len() { Err(Status::INVALID_VALUE) } else { Ok(()) }
        }
    }
}

/// Fills rows; the body of all forms.
pub(crate) fn fill_rows(
    d: &mut Driver,
    to: u64,
    pitch: u64,
    pattern: &[u8],
    width: u64,
    height: u64,
) -> Outcome {
    if height > 1 && pitch < width.saturating_mul(pattern.len() as u64) {
        return Err(Status::INVALID_VALUE);
    }
    for y in 0..height {
        let row =
            pitch.checked_mul(y).and_then(|o| to.checked_add(o)).ok_or(Status::INVALID_VALUE)?;
        fill(d, row, pattern, width)?;
    }
    Ok(())
}

macro_rules! fills {
    ($($ty:ty: $one:ident $rows:ident;)+) => { $(
        pub(crate) fn $one(d: &mut Driver, to: u64, value: $ty, count: usize) -> Outcome {
            d.usable()?;
            fill(d, to, &value.to_ne_bytes(), count as u64)
        }

        pub(crate) fn $rows(
            d: &mut Driver,
            to: u64,
            pitch: usize,
            value: $ty,
            width: usize,
            height: usize,
        ) -> Outcome {
            d.usable()?;
            fill_rows(d, to, pitch as u64, &value.to_ne_bytes(), width as u64, height as u64)
        }
    )+ };
}

fills! {
    u8: fill8 fill8_rows;
    u16: fill16 fill16_rows;
    u32: fill32 fill32_rows;
}
