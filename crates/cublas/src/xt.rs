//! cuBLASXt: products of matrices that are on the host, or on the device.
//!
//! Devices share their memory here, so there is nothing to divide: operands on the host are copied
//! to the device, cuBLAS's function runs, and the result is copied back before the call returns.
//! Settings are kept, and change nothing.

use cuda_abi::host::written;
use culibs::device::{get_host_list, put_host};
use culibs::driver::{
    cuCtxSynchronize, cuDeviceGetCount, cuMemAlloc_v2, cuMemFree_v2, cuMemcpyDtoH_v2,
    cuMemcpyHtoD_v2, cuPointerGetAttribute,
};
use culibs::handles::Handles;
use culibs::{Error, Outcome, Ptr};
use operands::{op, right, stored};

use crate::checked::Stepped;
use crate::handle;

/// What a handle stands for.
#[derive(Clone, Copy, Debug)]
struct Xt {
    /// cuBLAS's handle.
    blas: u64,
    block: i32,
    pinning: i32,
}

static HANDLES: Handles<Xt> = Handles::new(0x62_0000_0000);

/// Rows and columns of blocks that a new handle has.
const BLOCK: i32 = 2048;

/// `CU_POINTER_ATTRIBUTE_MEMORY_TYPE`.
const MEMORY_TYPE: i32 = 2;

/// `CU_MEMORYTYPE_DEVICE`.
const DEVICE_MEMORY: i32 = 2;

pub(crate) fn create(out: Ptr) -> Outcome {
    let new = HANDLES.add(Xt { blas: handle::create()?, block: BLOCK, pinning: 0 });
    put_host(out, new).inspect_err(|_| {
        let _ = destroy(new);
    })
}

pub(crate) fn destroy(xt: u64) -> Outcome {
    let xt = HANDLES.remove(xt)?;
    handle::HANDLES.remove(xt.blas).map(drop)
}

/// Checks the numbers of devices.
pub(crate) fn select(xt: u64, count: i32, list: Ptr) -> Outcome {
    HANDLES.get(xt)?;
    devices(count, list).map(drop)
}

fn devices(count: i32, list: Ptr) -> Outcome<Vec<i32>> {
    let there = written(0_i32, cuDeviceGetCount).map_err(|_| Error::Handle)?;
    let count = culibs::count(count.into())?;
    let list = get_host_list::<i32>(list, count)?;
    let is_known = |&id: &i32| (0..there).contains(&id);
    if count > 0 && list.iter().all(is_known) { Ok(list) } else { Err(Error::InvalidValue) }
}

/// Each device is a board of its own.
pub(crate) fn boards(count: i32, list: Ptr, out: Ptr) -> Outcome {
    put_host(out, devices(count, list)?.len() as i32)
}

pub(crate) fn most_boards(out: Ptr) -> Outcome {
    let there = written(0_i32, cuDeviceGetCount).map_err(|_| Error::Handle)?;
    put_host(out, there)
}

pub(crate) fn set_block(xt: u64, block: i32) -> Outcome {
    if block <= 0 {
        return Err(Error::InvalidValue);
    }
    HANDLES.with(xt, |xt| {
        xt.block = block;
        Ok(())
    })
}

pub(crate) fn block(xt: u64, out: Ptr) -> Outcome {
    put_host(out, HANDLES.get(xt)?.block)
}

pub(crate) fn set_pinning(xt: u64, mode: i32) -> Outcome {
    if !matches!(mode, 0 | 1) {
        return Err(Error::InvalidValue);
    }
    HANDLES.with(xt, |xt| {
        xt.pinning = mode;
        Ok(())
    })
}

pub(crate) fn pinning(xt: u64, out: Ptr) -> Outcome {
    put_host(out, HANDLES.get(xt)?.pinning)
}

/// A matrix of a call: its address, the distance of columns in elements, and bytes from the first
/// element to the end of the last one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operand {
    at: u64,
    ld: i64,
    bytes: usize,
}

impl Operand {
    /// A matrix with so many rows and columns of elements of a type.
    pub(crate) fn new<T>([rows, columns]: [usize; 2], at: u64, ld: usize) -> Outcome<Self> {
        let gaps = columns.saturating_sub(1).checked_mul(ld);
        let elements = if columns == 0 { Some(0) } else { gaps.and_then(|g| g.checked_add(rows)) };
        let bytes = elements.and_then(|e| e.checked_mul(size_of::<T>()));
        let bytes = bytes.filter(|&bytes| bytes <= isize::MAX as usize);
        let ld = i64::try_from(ld).map_err(|_| Error::InvalidValue)?;
        Ok(Self { at, ld, bytes: bytes.ok_or(Error::InvalidValue)? })
    }

    /// The first factor of a product or an update.
    pub(crate) fn factor<T>(trans: i32, size: [usize; 2], at: u64, ld: usize) -> Outcome<Self> {
        Self::new::<T>(stored(op(trans)?, size[0], size[1]), at, ld)
    }

    /// A square matrix on a side of one of `size`.
    pub(crate) fn sided<T>(side: i32, size: [usize; 2], at: u64, ld: usize) -> Outcome<Self> {
        let order = size[usize::from(right(side)?)];
        Self::new::<T>([order, order], at, ld)
    }
}

/// Device memory that is freed at the end.
struct Staged(u64);

impl Drop for Staged {
    fn drop(&mut self) {
        let _ = cuMemFree_v2(self.0);
    }
}

/// Calls a function of cuBLAS with operands in device memory, of which the last is the result.
pub(crate) fn run<const N: usize>(
    xt: u64,
    operands: [Operand; N],
    call: impl FnOnce(u64, [Stepped; N]) -> Outcome,
) -> Outcome {
    let blas = HANDLES.get(xt)?.blas;
    handle::get(blas)?;
    let mut on_device = operands.map(|operand| (operand.at, operand.ld));
    let mut staged = Vec::new();
    for (operand, (at, _)) in operands.iter().zip(&mut on_device) {
        let memory = written(0_i32, |out| cuPointerGetAttribute(out, MEMORY_TYPE, operand.at));
        if operand.bytes == 0 || memory == Ok(DEVICE_MEMORY) {
            continue;
        }
        let copy = written(0_u64, |out| cuMemAlloc_v2(out, operand.bytes));
        let copy = Staged(copy.map_err(|_| Error::OutOfMemory)?);
        cuMemcpyHtoD_v2(copy.0, operand.at as Ptr, operand.bytes)
            .map_err(|_| Error::InvalidValue)?;
        *at = copy.0;
        staged.push(copy);
    }
    call(blas, on_device)?;
    cuCtxSynchronize().map_err(|_| Error::Execution)?;
    match (operands.last(), on_device.last()) {
        (Some(result), Some(&(at, _))) if at != result.at => {
            cuMemcpyDtoH_v2(result.at as Ptr, at, result.bytes).map_err(|_| Error::InvalidValue)
        }
        _ => Ok(()),
    }
}
