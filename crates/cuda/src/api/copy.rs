//! Creates copies and fills in one, two and three dimensions.

use cuda_abi::host::{Ptr, get};
use cuda_abi::{CUDA_MEMCPY2D, CUDA_MEMCPY3D, CUmemorytype, Outcome, Status};

use crate::execution::transfer::{device_endpoint, endpoint};
use crate::state::Driver;
use crate::state::action::{Action, BoxCopy, Copy, Corner, Endpoint, Fill};

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
    row(d, |d| Ok(endpoint(d, to)), |d| Ok(endpoint(d, from)), len)
}

pub(crate) fn to_device(d: &Driver, to: u64, from: Ptr, len: usize) -> Outcome<Action> {
    row(d, |d| device_endpoint(d, to), |d| Ok(endpoint(d, from as u64)), len)
}

pub(crate) fn to_host(d: &Driver, to: Ptr, from: u64, len: usize) -> Outcome<Action> {
    row(d, |d| Ok(endpoint(d, to as u64)), |d| device_endpoint(d, from), len)
}

pub(crate) fn on_devices(d: &Driver, to: u64, from: u64, len: usize) -> Outcome<Action> {
    row(d, |d| device_endpoint(d, to), |d| device_endpoint(d, from), len)
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

/// Returns the side that a structure's memory type names.
fn corner_endpoint(d: &Driver, kind: u32, host: u64, device: u64) -> Outcome<Endpoint> {
    match CUmemorytype::of(kind as i32)? {
        CUmemorytype::HOST => Ok(endpoint(d, host)),
        CUmemorytype::DEVICE => device_endpoint(d, device),
        CUmemorytype::UNIFIED => Ok(endpoint(d, device)),
        CUmemorytype::ARRAY => Err(d.unsupported("copies of arrays")),
    }
}

/// Returns a size, or the usual one in place of zero.
fn size_or(given: u64, usual: u64) -> u64 {
    if given == 0 { usual } else { given }
}

pub(crate) fn two(d: &Driver, at: Ptr) -> Outcome<Action> {
    d.usable()?;
    let c = get::<CUDA_MEMCPY2D>(at)?;
    let width = c.WidthInBytes;
    let from = Corner {
        side: corner_endpoint(d, c.srcMemoryType, c.srcHost, c.srcDevice)?,
        pitch: size_or(c.srcPitch, width),
        height: 0,
        offset: [c.srcXInBytes, c.srcY, 0],
    };
    let to = Corner {
        side: corner_endpoint(d, c.dstMemoryType, c.dstHost, c.dstDevice)?,
        pitch: size_or(c.dstPitch, width),
        height: 0,
        offset: [c.dstXInBytes, c.dstY, 0],
    };
    checked(BoxCopy { to, from, width, height: c.Height, depth: 1 })
}

pub(crate) fn three(d: &Driver, at: Ptr) -> Outcome<Action> {
    d.usable()?;
    of_box(d, &get(at)?)
}

/// Creates the copy that a structure describes. Its levels of detail apply to arrays only, which
/// are not supported.
fn of_box(d: &Driver, c: &CUDA_MEMCPY3D) -> Outcome<Action> {
    let (width, height, depth) = (c.WidthInBytes, c.Height, c.Depth);
    let from = Corner {
        side: corner_endpoint(d, c.srcMemoryType, c.srcHost, c.srcDevice)?,
        pitch: size_or(c.srcPitch, width),
        height: size_or(c.srcHeight, height),
        offset: [c.srcXInBytes, c.srcY, c.srcZ],
    };
    let to = Corner {
        side: corner_endpoint(d, c.dstMemoryType, c.dstHost, c.dstDevice)?,
        pitch: size_or(c.dstPitch, width),
        height: size_or(c.dstHeight, height),
        offset: [c.dstXInBytes, c.dstY, c.dstZ],
    };
    checked(BoxCopy { to, from, width, height, depth })
}

/// Checks the sizes of a copy.
fn checked(copy: BoxCopy) -> Outcome<Action> {
    let narrow = copy.to.pitch < copy.width || copy.from.pitch < copy.width;
    let rows = copy.height.checked_mul(copy.depth).ok_or(Status::INVALID_VALUE)?;
    if (narrow && rows > 1) || (copy.width > 0 && rows > 1 << 32) {
        return Err(Status::INVALID_VALUE);
    }
    Ok(Action::Box(copy))
}

// Fills.

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
