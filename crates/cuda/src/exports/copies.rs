//! Copies and fills, each as a synchronous function and in stream order.

use cuda_abi::host::Ptr;

use crate::api::capture::{submit_new, submit_now};
use crate::api::copy::Rows;
use crate::api::{batch, copy, wait_value};
use crate::execution::transfer::endpoint;
use crate::state::Driver;

/// Bytes of an array from an offset on.
pub(super) fn row_of(array: u64, offset: u64) -> Rows {
    Rows { array, offset: [offset, 0] }
}

/// Exports synchronous functions, and functions with a stream as their last argument, for each
/// body.
macro_rules! transfers {
    ($($($now:ident)|+, $($later:ident)|+ ($($arg:ident: $ty:ty),*)
        => |$d:ident| $body:expr;)+) => {
        exports! {
            // Writes of values, and waits for them, in stream order; the stream is the first
            // argument.
            cuStreamWriteValue32 | cuStreamWriteValue32_ptsz | cuStreamWriteValue32_v2 |
                cuStreamWriteValue32_v2_ptsz
                (stream: u64, to: u64, value: u32, _flags: u32)
                => |d| submit_new(d, stream, |d| copy::fill_row(d, to, value.to_ne_bytes(), 1));
            cuStreamWriteValue64 | cuStreamWriteValue64_ptsz | cuStreamWriteValue64_v2 |
                cuStreamWriteValue64_v2_ptsz
                (stream: u64, to: u64, value: u64, _flags: u32)
                => |d| submit_new(d, stream, |d| copy::fill_row(d, to, value.to_ne_bytes(), 1));
            cuStreamWaitValue32 | cuStreamWaitValue32_ptsz | cuStreamWaitValue32_v2 |
                cuStreamWaitValue32_v2_ptsz
                (stream: u64, at: u64, value: u32, flags: u32)
                => |d| {
                    let value = value.into();
                    submit_new(d, stream, |d| wait_value::waiting(d, at, value, 4, flags))
                };
            cuStreamWaitValue64 | cuStreamWaitValue64_ptsz | cuStreamWaitValue64_v2 |
                cuStreamWaitValue64_v2_ptsz
                (stream: u64, at: u64, value: u64, flags: u32)
                => |d| submit_new(d, stream, |d| wait_value::waiting(d, at, value, 8, flags));
            cuStreamBatchMemOp | cuStreamBatchMemOp_ptsz | cuStreamBatchMemOp_v2 |
                cuStreamBatchMemOp_v2_ptsz
                (stream: u64, count: u32, operations: Ptr, flags: u32)
                => |d| wait_value::batch(d, stream, count, operations, flags);
            // Batches of copies.
            cuMemcpyBatchAsync | cuMemcpyBatchAsync_ptsz
                (to: Ptr, from: Ptr, sizes: Ptr, count: usize, attributes: Ptr, indices: Ptr,
                 number: usize, failed: Ptr, stream: u64)
                => |d| {
                    let attributes = (attributes, indices, number);
                    batch::copies(d, (to, from, sizes, count), attributes, failed, stream)
                };
            cuMemcpyBatchAsync_v2 | cuMemcpyBatchAsync_v2_ptsz
                (to: Ptr, from: Ptr, sizes: Ptr, count: usize, attributes: Ptr, indices: Ptr,
                 number: usize, stream: u64)
                => |d| {
                    let attributes = (attributes, indices, number);
                    batch::copies(d, (to, from, sizes, count), attributes, 0, stream)
                };
            cuMemcpyWithAttributesAsync | cuMemcpyWithAttributesAsync_ptsz
                (to: u64, from: u64, len: usize, _attributes: Ptr, stream: u64)
                => |d| submit_new(d, stream, |d| copy::any(d, to, from, len));
            $(
                $($now)|+ ($($arg: $ty),*) => |$d| submit_now($d, |$d| $body);
                $($later)|+ ($($arg: $ty,)* stream: u64) => |$d| submit_new($d, stream, |$d| $body);
            )+
        }
    };
}

transfers! {
    cuMemcpy | cuMemcpy_ptds, cuMemcpyAsync | cuMemcpyAsync_ptsz (to: u64, from: u64, len: usize)
        => |d| copy::any(d, to, from, len);
    cuMemcpyHtoD_v2 | cuMemcpyHtoD_v2_ptds, cuMemcpyHtoDAsync_v2 | cuMemcpyHtoDAsync_v2_ptsz
        (to: u64, from: Ptr, len: usize)
        => |d| copy::to_device(d, to, from, len);
    cuMemcpyDtoH_v2 | cuMemcpyDtoH_v2_ptds, cuMemcpyDtoHAsync_v2 | cuMemcpyDtoHAsync_v2_ptsz
        (to: Ptr, from: u64, len: usize)
        => |d| copy::to_host(d, to, from, len);
    cuMemcpyDtoD_v2 | cuMemcpyDtoD_v2_ptds, cuMemcpyDtoDAsync_v2 | cuMemcpyDtoDAsync_v2_ptsz
        (to: u64, from: u64, len: usize)
        => |d| copy::on_devices(d, to, from, len);
    cuMemcpyPeer | cuMemcpyPeer_ptds, cuMemcpyPeerAsync | cuMemcpyPeerAsync_ptsz
        (to: u64, there: u64, from: u64, here: u64, len: usize)
        => |d| copy::peer(d, to, there, from, here, len);
    cuMemcpy2D_v2 | cuMemcpy2D_v2_ptds | cuMemcpy2DUnaligned_v2 | cuMemcpy2DUnaligned_v2_ptds,
        cuMemcpy2DAsync_v2 | cuMemcpy2DAsync_v2_ptsz
        (params: Ptr)
        => |d| copy::two(d, params);
    cuMemcpy3D_v2 | cuMemcpy3D_v2_ptds, cuMemcpy3DAsync_v2 | cuMemcpy3DAsync_v2_ptsz (params: Ptr)
        => |d| copy::three(d, params);
    cuMemcpy3DPeer | cuMemcpy3DPeer_ptds, cuMemcpy3DPeerAsync | cuMemcpy3DPeerAsync_ptsz
        (params: Ptr)
        => |d| copy::three_peers(d, params);
    cuMemcpyHtoA_v2 | cuMemcpyHtoA_v2_ptds, cuMemcpyHtoAAsync_v2 | cuMemcpyHtoAAsync_v2_ptsz
        (array: u64, offset: u64, from: Ptr, len: usize)
        => |d| {
            let from = |d: &Driver| Ok(endpoint(d, from as u64));
            copy::with_array(d, row_of(array, offset), from, len, true)
        };
    cuMemcpyAtoH_v2 | cuMemcpyAtoH_v2_ptds, cuMemcpyAtoHAsync_v2 | cuMemcpyAtoHAsync_v2_ptsz
        (to: Ptr, array: u64, offset: u64, len: usize)
        => |d| {
            let to = |d: &Driver| Ok(endpoint(d, to as u64));
            copy::with_array(d, row_of(array, offset), to, len, false)
        };
    cuMemsetD8_v2 | cuMemsetD8_v2_ptds, cuMemsetD8Async | cuMemsetD8Async_ptsz
        (to: u64, value: u8, count: usize)
        => |d| copy::fill_row(d, to, value.to_ne_bytes(), count);
    cuMemsetD16_v2 | cuMemsetD16_v2_ptds, cuMemsetD16Async | cuMemsetD16Async_ptsz
        (to: u64, value: u16, count: usize)
        => |d| copy::fill_row(d, to, value.to_ne_bytes(), count);
    cuMemsetD32_v2 | cuMemsetD32_v2_ptds, cuMemsetD32Async | cuMemsetD32Async_ptsz
        (to: u64, value: u32, count: usize)
        => |d| copy::fill_row(d, to, value.to_ne_bytes(), count);
    cuMemsetD2D8_v2 | cuMemsetD2D8_v2_ptds, cuMemsetD2D8Async | cuMemsetD2D8Async_ptsz
        (to: u64, pitch: usize, value: u8, width: usize, height: usize)
        => |d| copy::fill_rows(d, to, pitch, value.to_ne_bytes(), width, height);
    cuMemsetD2D16_v2 | cuMemsetD2D16_v2_ptds, cuMemsetD2D16Async | cuMemsetD2D16Async_ptsz
        (to: u64, pitch: usize, value: u16, width: usize, height: usize)
        => |d| copy::fill_rows(d, to, pitch, value.to_ne_bytes(), width, height);
    cuMemsetD2D32_v2 | cuMemsetD2D32_v2_ptds, cuMemsetD2D32Async | cuMemsetD2D32Async_ptsz
        (to: u64, pitch: usize, value: u32, width: usize, height: usize)
        => |d| copy::fill_rows(d, to, pitch, value.to_ne_bytes(), width, height);
}
