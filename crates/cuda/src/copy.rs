//! Copies and fills in one, two and three dimensions.

use runtime::{Addr, ContextError, read_host, write_host};

use crate::action::Action;
use crate::driver::Driver;
use crate::host::{Ptr, structure};
use crate::memory::AllocationKind;
use crate::status::{Outcome, Status};

/// One side of a copy.
#[derive(Clone, Copy, Debug)]
enum Endpoint {
    Device(u64),
    Host(u64),
}

impl Endpoint {
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
        ContextError::Access(_) | ContextError::Host(_) | ContextError::HostUnmapped(_) => {
            Status::INVALID_VALUE
        }
    }
}

/// Returns the side that an address belongs to. Pinned and managed memory belong to the host.
fn unified(d: &Driver, address: u64) -> Endpoint {
    match d.memory.around(address) {
        Some((_, a)) if !matches!(a.kind, AllocationKind::Device) => Endpoint::Host(address),
        Some(_) => Endpoint::Device(address),
        None if d.device.allocation(Addr(address)).is_some() => Endpoint::Device(address),
        None => Endpoint::Host(address),
    }
}

/// Returns the side of an address that must be valid on the device.
fn on_device(d: &Driver, address: u64) -> Outcome<Endpoint> {
    match unified(d, address) {
        Endpoint::Host(at) if d.memory.around(at).is_none() => Err(Status::INVALID_VALUE),
        side => Ok(side),
    }
}

fn run(d: &mut Driver, to: Endpoint, from: Endpoint, len: u64) -> Outcome {
    if len == 0 {
        return Ok(());
    }
    let end = match (to, from) {
        (Endpoint::Device(to), Endpoint::Host(from)) => {
            d.device.write_from_host(Addr(to), from, len)
        }
        (Endpoint::Host(to), Endpoint::Device(from)) => d.device.read_to_host(to, Addr(from), len),
        (Endpoint::Device(to), Endpoint::Device(from)) => d.device.copy(Addr(to), Addr(from), len),
        (Endpoint::Host(to), Endpoint::Host(from)) => return between_hosts(to, from, len),
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

/// A copy of adjacent bytes.
#[derive(Clone, Debug)]
pub(crate) struct Copy {
    to: Endpoint,
    from: Endpoint,
    len: u64,
}

impl Copy {
    pub(crate) fn run(&self, d: &mut Driver) -> Outcome {
        run(d, self.to, self.from, self.len)
    }
}

/// Creates a copy; one of no bytes does nothing, and its addresses are not checked.
fn row(
    d: &Driver,
    to: impl FnOnce(&Driver) -> Outcome<Endpoint>,
    from: impl FnOnce(&Driver) -> Outcome<Endpoint>,
    len: usize,
) -> Outcome<Action> {
    d.usable()?;
    if len == 0 {
        return Ok(Action::Nothing);
    }
    Ok(Action::Copy(Copy { to: to(d)?, from: from(d)?, len: len as u64 }))
}

pub(crate) fn any(d: &Driver, to: u64, from: u64, len: usize) -> Outcome<Action> {
    row(d, |d| Ok(unified(d, to)), |d| Ok(unified(d, from)), len)
}

pub(crate) fn to_device(d: &Driver, to: u64, from: Ptr, len: usize) -> Outcome<Action> {
    row(d, |d| on_device(d, to), |d| Ok(unified(d, from as u64)), len)
}

pub(crate) fn to_host(d: &Driver, to: Ptr, from: u64, len: usize) -> Outcome<Action> {
    row(d, |d| Ok(unified(d, to as u64)), |d| on_device(d, from), len)
}

pub(crate) fn on_devices(d: &Driver, to: u64, from: u64, len: usize) -> Outcome<Action> {
    row(d, |d| on_device(d, to), |d| on_device(d, from), len)
}

pub(crate) fn peer(
    d: &Driver,
    to: u64,
    there: u64,
    from: u64,
    here: u64,
    len: usize,
) -> Outcome<Action> {
    d.context(there)?;
    d.context(here)?;
    on_devices(d, to, from, len)
}

// Copies of boxes.

/// One side of a copy of a box.
#[derive(Clone, Debug)]
struct Corner {
    side: Endpoint,
    pitch: u64,
    height: u64,
    offset: [u64; 3],
}

impl Corner {
    /// Returns the address of a row's first byte.
    fn row(&self, y: u64, z: u64) -> Outcome<Endpoint> {
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
#[derive(Clone, Debug)]
pub(crate) struct BoxCopy {
    to: Corner,
    from: Corner,
    width: u64,
    height: u64,
    depth: u64,
}

/// Returns the side that a structure's `CUmemorytype` names: 1 is the host, 2 the device, 4 the
/// side that the address belongs to.
fn corner_endpoint(d: &Driver, kind: u32, host: u64, device: u64) -> Outcome<Endpoint> {
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
    fn two(d: &Driver, at: Ptr) -> Outcome<Self> {
        let s = structure(at, 128)?;
        let (width, height) = (s.u64(112), s.u64(120));
        let corner = |o: usize| -> Outcome<Corner> {
            let side = corner_endpoint(d, s.u32(o + 16), s.u64(o + 24), s.u64(o + 32))?;
            let pitch = if s.u64(o + 48) == 0 { width } else { s.u64(o + 48) };
            Ok(Corner { side, pitch, height: 0, offset: [s.u64(o), s.u64(o + 8), 0] })
        };
        Self { from: corner(0)?, to: corner(56)?, width, height, depth: 1 }.checked()
    }

    /// Reads `CUDA_MEMCPY3D`. Its levels of detail apply to arrays only, which are not supported.
    fn three(d: &Driver, at: Ptr) -> Outcome<Self> {
        let s = structure(at, 200)?;
        let (width, height, depth) = (s.u64(176), s.u64(184), s.u64(192));
        let corner = |o: usize| -> Outcome<Corner> {
            let side = corner_endpoint(d, s.u32(o + 32), s.u64(o + 40), s.u64(o + 48))?;
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

    /// Runs the copy row by row, or plane by plane if there are no gaps between rows.
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

pub(crate) fn two(d: &Driver, at: Ptr) -> Outcome<Action> {
    d.usable()?;
    BoxCopy::two(d, at).map(Action::Box)
}

pub(crate) fn three(d: &Driver, at: Ptr) -> Outcome<Action> {
    d.usable()?;
    BoxCopy::three(d, at).map(Action::Box)
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
        Endpoint::Device(at) => d.device.fill(Addr(at), pattern, count).map_err(|e| of_context(&e)),
        Endpoint::Host(at) => {
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

/// A fill of rows with a pattern. `width` counts patterns, `pitch` bytes.
#[derive(Clone, Debug)]
pub(crate) struct Fill {
    pub(crate) to: u64,
    pub(crate) pitch: u64,
    pub(crate) pattern: Vec<u8>,
    pub(crate) width: u64,
    pub(crate) height: u64,
}

impl Fill {
    pub(crate) fn run(&self, d: &mut Driver) -> Outcome {
        let row_bytes = self.width.saturating_mul(self.pattern.len() as u64);
        if self.height > 1 && self.pitch < row_bytes {
            return Err(Status::INVALID_VALUE);
        }
        for y in 0..self.height {
            let row = self.pitch.checked_mul(y).and_then(|o| self.to.checked_add(o));
            fill(d, row.ok_or(Status::INVALID_VALUE)?, &self.pattern, self.width)?;
        }
        Ok(())
    }
}

/// Creates a fill of `count` adjacent elements of 1, 2 or 4 bytes.
pub(crate) fn fill_row<const N: usize>(
    d: &Driver,
    to: u64,
    value: [u8; N],
    count: usize,
) -> Outcome<Action> {
    fill_rows(d, to, 0, value, count, 1)
}

pub(crate) fn fill_rows<const N: usize>(
    d: &Driver,
    to: u64,
    pitch: usize,
    value: [u8; N],
    width: usize,
    height: usize,
) -> Outcome<Action> {
    d.usable()?;
    let (pitch, width, height) = (pitch as u64, width as u64, height as u64);
    Ok(Action::Fill(Fill { to, pitch, pattern: value.to_vec(), width, height }))
}
