//! Creates copies and fills in one, two and three dimensions.

use cuda_abi::host::{Ptr, get};
use cuda_abi::{
    Abi as _, CUDA_MEMCPY2D, CUDA_MEMCPY3D, CUDA_MEMCPY3D_PEER, CUmemorytype, Outcome, Status,
};

use crate::api::array::array;
use crate::execution::transfer::{device_endpoint, endpoint};
use crate::state::Driver;
use crate::state::action::{Action, BoxCopy, Copy, Corner, Endpoint, Fill};
use crate::state::array::Array;

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

/// One side of a copy, as a structure has it.
struct Side {
    kind: u32,
    host: u64,
    device: u64,
    array: u64,
    pitch: u64,
    height: u64,
    offset: [u64; 3],
}

impl Side {
    /// Returns the place of a box; that in an array is in the array.
    fn corner(self, d: &Driver, [width, height, depth]: [u64; 3]) -> Outcome<Corner> {
        let side = match CUmemorytype::of(self.kind as i32)? {
            CUmemorytype::HOST => endpoint(d, self.host),
            CUmemorytype::DEVICE => device_endpoint(d, self.device)?,
            CUmemorytype::UNIFIED => endpoint(d, self.device),
            CUmemorytype::ARRAY => {
                let array = array(d, self.array)?;
                return in_array(array, self.offset, [width, height, depth]);
            }
        };
        let (pitch, height) = (size_or(self.pitch, width), size_or(self.height, height));
        Ok(Corner { side, pitch, height, offset: self.offset })
    }
}

/// Returns the place of a box in an array.
fn in_array(array: &Array, offset: [u64; 3], size: [u64; 3]) -> Outcome<Corner> {
    let shape = &array.shape;
    let [width, rows, slices] = shape.extents.map(u64::from);
    let all = [width * shape.format.bytes() as u64, rows, slices * u64::from(shape.layers)];
    let fits = |i: usize| offset[i].checked_add(size[i]).is_some_and(|end| end <= all[i]);
    if !(0..3).all(fits) {
        return Err(Status::INVALID_VALUE);
    }
    let side = Endpoint::Device(array.address);
    Ok(Corner { side, pitch: shape.pitch_at(0), height: rows, offset })
}

/// The part of an array's rows that a copy of adjacent bytes takes, from a byte of a row on.
#[derive(Clone, Copy)]
pub(crate) struct Rows {
    pub(crate) array: u64,
    pub(crate) offset: [u64; 2],
}

/// Creates a copy of adjacent bytes into the rows of an array, or out of them.
pub(crate) fn with_array(
    d: &Driver,
    rows: Rows,
    other: impl FnOnce(&Driver) -> Outcome<Endpoint>,
    len: usize,
    into: bool,
) -> Outcome<Action> {
    d.usable()?;
    let found = array(d, rows.array)?;
    let row = u64::from(found.shape.extents[0]) * found.shape.format.bytes() as u64;
    let [x, mut y] = rows.offset;
    let (mut x, mut left) = (x % row, len as u64);
    y = y.checked_add(rows.offset[0] / row).ok_or(Status::INVALID_VALUE)?;
    if left == 0 {
        return Ok(Action::Nothing);
    }
    let side = other(d)?;
    let mut parts = Vec::new();
    let mut done = 0;
    // The rest of a row, whole rows, the beginning of one.
    while left > 0 {
        let whole = x == 0 && left >= row;
        let width = if whole { row } else { left.min(row - x) };
        let height = if whole { left / row } else { 1 };
        let inside = in_array(found, [x, y, 0], [width, height, 1])?;
        let outside = Corner { side, pitch: width, height, offset: [done, 0, 0] };
        let (to, from) = if into { (inside, outside) } else { (outside, inside) };
        parts.push(BoxCopy { to, from, width, height, depth: 1 });
        (x, y) = (0, y + height);
        done += width * height;
        left -= width * height;
    }
    Ok(Action::Boxes(parts))
}

/// Creates a copy of adjacent bytes of one array to another.
pub(crate) fn between_arrays(
    d: &Driver,
    (to, to_offset): (u64, u64),
    (from, from_offset): (u64, u64),
    len: usize,
) -> Outcome<Action> {
    d.usable()?;
    let size = [len as u64, 1, 1];
    let to = in_array(array(d, to)?, [to_offset, 0, 0], size)?;
    let from = in_array(array(d, from)?, [from_offset, 0, 0], size)?;
    checked(BoxCopy { to, from, width: len as u64, height: 1, depth: 1 })
}

/// Returns a size, or the usual one in place of zero.
fn size_or(given: u64, usual: u64) -> u64 {
    if given == 0 { usual } else { given }
}

pub(crate) fn two(d: &Driver, at: Ptr) -> Outcome<Action> {
    d.usable()?;
    let c = get::<CUDA_MEMCPY2D>(at)?;
    let width = c.WidthInBytes;
    let size = [width, c.Height, 1];
    let from = Side {
        kind: c.srcMemoryType,
        host: c.srcHost,
        device: c.srcDevice,
        array: c.srcArray,
        pitch: c.srcPitch,
        height: 0,
        offset: [c.srcXInBytes, c.srcY, 0],
    };
    let to = Side {
        kind: c.dstMemoryType,
        host: c.dstHost,
        device: c.dstDevice,
        array: c.dstArray,
        pitch: c.dstPitch,
        height: 0,
        offset: [c.dstXInBytes, c.dstY, 0],
    };
    let (to, from) = (to.corner(d, size)?, from.corner(d, size)?);
    checked(BoxCopy { to, from, width, height: c.Height, depth: 1 })
}

pub(crate) fn three(d: &Driver, at: Ptr) -> Outcome<Action> {
    d.usable()?;
    of_box(d, &get(at)?)
}

/// Creates a copy between contexts, whose memory is one: those of memory of devices must be some.
pub(crate) fn three_peers(d: &Driver, at: Ptr) -> Outcome<Action> {
    d.usable()?;
    let c = get::<CUDA_MEMCPY3D_PEER>(at)?;
    for (kind, context) in [(c.srcMemoryType, c.srcContext), (c.dstMemoryType, c.dstContext)] {
        if CUmemorytype::of(kind as i32)? == CUmemorytype::DEVICE {
            d.context(context)?;
        }
    }
    // The contexts take the place of what is reserved.
    of_box(d, &CUDA_MEMCPY3D::from_bytes(&c.to_bytes()))
}

/// Creates the copy that a structure describes. Its levels of detail must be 0: each level is an
/// array.
fn of_box(d: &Driver, c: &CUDA_MEMCPY3D) -> Outcome<Action> {
    let (width, height, depth) = (c.WidthInBytes, c.Height, c.Depth);
    let size = [width, height, depth];
    let from = Side {
        kind: c.srcMemoryType,
        host: c.srcHost,
        device: c.srcDevice,
        array: c.srcArray,
        pitch: c.srcPitch,
        height: c.srcHeight,
        offset: [c.srcXInBytes, c.srcY, c.srcZ],
    };
    let to = Side {
        kind: c.dstMemoryType,
        host: c.dstHost,
        device: c.dstDevice,
        array: c.dstArray,
        pitch: c.dstPitch,
        height: c.dstHeight,
        offset: [c.dstXInBytes, c.dstY, c.dstZ],
    };
    if c.srcLOD != 0 || c.dstLOD != 0 {
        return Err(Status::INVALID_VALUE);
    }
    let (to, from) = (to.corner(d, size)?, from.corner(d, size)?);
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
