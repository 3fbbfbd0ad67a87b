//! Tensor maps.

use cuda_abi::host::Ptr;

use crate::api::tensor::{Column, Tensor, replace_address, supported};

exports! {
    cuTensorMapEncodeTiled(
        out: Ptr, element: i32, rank: u32, address: u64, extents: Ptr, strides: Ptr, boxes: Ptr,
        steps: Ptr, interleave: i32, swizzle: i32, promotion: i32, fill: i32
    ) => |d| supported(d).and_then(|()| Tensor {
        out, element, rank, address, extents, strides, steps, interleave, swizzle, promotion, fill
    }.tiled(boxes));
    cuTensorMapEncodeIm2col(
        out: Ptr, element: i32, rank: u32, address: u64, extents: Ptr, strides: Ptr, lower: Ptr,
        upper: Ptr, channels: u32, pixels: u32, steps: Ptr, interleave: i32, swizzle: i32,
        promotion: i32, fill: i32
    ) => |d| supported(d).and_then(|()| Tensor {
        out, element, rank, address, extents, strides, steps, interleave, swizzle, promotion, fill
    }.im2col([lower, upper], Column { channels, pixels }));
    cuTensorMapEncodeIm2colWide(
        out: Ptr, element: i32, rank: u32, address: u64, extents: Ptr, strides: Ptr, lower: i32,
        upper: i32, channels: u32, pixels: u32, steps: Ptr, interleave: i32, mode: i32,
        swizzle: i32, promotion: i32, fill: i32
    ) => |d| supported(d).and_then(|()| Tensor {
        out, element, rank, address, extents, strides, steps, interleave, swizzle, promotion, fill
    }.im2col_wide([lower, upper], Column { channels, pixels }, mode));
    cuTensorMapReplaceAddress(map: Ptr, address: u64)
        => |d| supported(d).and_then(|()| replace_address(map, address));
}
