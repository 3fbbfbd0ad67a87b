//! Virtual memory management: reserved addresses, physical memory, mappings.

use cuda::Status;
use cuda::exports::copies::*;
use cuda::exports::free::*;
use cuda::exports::general::*;
use cuda::exports::memory::*;
use cuda_abi::{Abi, CUmemAccessDesc, CUmemAllocationProp, CUmemLocation};

use crate::common::{at, is, ok, written};

const DEVICE: CUmemLocation = CUmemLocation { r#type: 1, id: 0 };
const NONE: i32 = 0;
const READWRITE: i32 = 3;

fn device_memory() -> CUmemAllocationProp {
    CUmemAllocationProp { r#type: 1, location: DEVICE, ..Abi::zeroed() }
}

fn created(len: u64) -> u64 {
    written(|out| cuMemCreate(out, len as usize, at(&mut device_memory()), 0))
}

fn set_access(address: u64, len: u64, flags: i32) -> i32 {
    let mut access = CUmemAccessDesc { location: DEVICE, flags };
    cuMemSetAccess(address, len as usize, at(&mut access), 1)
}

fn word(address: u64) -> Result<u32, Status> {
    let mut word = 0_u32;
    match cuMemcpyDtoH_v2(at(&mut word), address, 4) {
        0 => Ok(*std::hint::black_box(&word)),
        status => Err(Status(status)),
    }
}

#[test]
fn mapped_memory_keeps_its_content() {
    ok(cuInit(0));
    let context = written(|out| cuCtxCreate_v2(out, 0, 0));
    let unit = written(|out| cuMemGetAllocationGranularity(out, at(&mut device_memory()), 0));
    let base = written(|out| cuMemAddressReserve(out, 4 * unit as usize, 0, 0, 0));
    assert!(base.is_multiple_of(unit));
    let [first, second] = [created(unit), created(2 * unit)];
    ok(cuMemMap(base, unit as usize, 0, first, 0));
    ok(cuMemMap(base + unit, 2 * unit as usize, 0, second, 0));
    // Nothing can be accessed before the client allows it.
    assert_eq!(word(base), Err(Status::INVALID_VALUE));
    ok(set_access(base, 3 * unit, READWRITE));
    assert_eq!(word(base + 3 * unit - 4), Ok(0));
    assert_eq!(word(base + 3 * unit), Err(Status::INVALID_VALUE));
    let mut flags = written(|out| cuMemGetAccess(out, at(&mut { DEVICE }), base + unit));
    assert_eq!(flags, READWRITE as u64);
    // Fills and copies go over the end of a mapping.
    ok(cuMemsetD32_v2(base, 7, 3 * unit as usize / 4));
    ok(cuMemcpyDtoD_v2(base + 4, base + unit - 8, 64));
    ok(cuMemcpyDtoD_v2(base + unit - 4, base + 2 * unit, 64));
    assert_eq!([0, unit - 4, unit, 3 * unit - 4].map(|at| word(base + at)), [Ok(7); 4]);
    // The handle is found by an address, with another reference.
    assert_eq!(written(|out| cuMemRetainAllocationHandle(out, base + 5)), first);
    ok(cuMemRelease(first));
    let mut properties = CUmemAllocationProp::zeroed();
    ok(cuMemGetAllocationPropertiesFromHandle(at(&mut properties), first));
    assert_eq!(std::hint::black_box(properties), device_memory());
    // Mapped elsewhere, the memory is as it was.
    ok(cuMemsetD32_v2(base, 9, 1));
    is(cuMemAddressFree(base, 4 * unit as usize), Status::INVALID_VALUE);
    ok(cuMemUnmap(base, unit as usize));
    ok(cuMemMap(base + 3 * unit, unit as usize, 0, first, 0));
    ok(set_access(base + 3 * unit, unit, READWRITE));
    assert_eq!([word(base + 3 * unit), word(base)], [Ok(9), Err(Status::INVALID_VALUE)]);
    ok(set_access(base + 3 * unit, unit, NONE));
    assert_eq!(word(base + 3 * unit), Err(Status::INVALID_VALUE));
    ok(set_access(base + 3 * unit, unit, READWRITE));
    assert_eq!(word(base + 3 * unit), Ok(9));
    flags = written(|out| cuPointerGetAttribute(out, 19, base + 3 * unit + 8));
    assert_eq!(flags, base + 3 * unit);
    // Without references, memory lives as long as its mapping.
    [first, second].into_iter().for_each(|handle| ok(cuMemRelease(handle)));
    is(cuMemRelease(first), Status::INVALID_VALUE);
    assert_eq!(word(base + unit), Ok(7));
    ok(cuMemUnmap(base + unit, 3 * unit as usize));
    is(cuMemGetAllocationPropertiesFromHandle(at(&mut properties), first), Status::INVALID_VALUE);
    ok(cuMemAddressFree(base, 4 * unit as usize));
    is(cuMemAddressFree(base, 4 * unit as usize), Status::INVALID_VALUE);
    ok(cuCtxDestroy_v2(context));
}

#[test]
fn mappings_are_checked() {
    ok(cuInit(0));
    let context = written(|out| cuCtxCreate_v2(out, 0, 0));
    let unit = 2_usize << 20;
    let invalid = Status::INVALID_VALUE;
    let mut out = 0_u64;
    let plain = written(|out| cuMemAlloc_v2(out, unit));
    let base = written(|out| cuMemAddressReserve(out, 2 * unit, 0, 0, 0));
    let len = unit as u64;
    let handle = created(len);
    // Sizes, alignments and options.
    is(cuMemAddressReserve(at(&mut out), unit / 2, 0, 0, 0), invalid);
    is(cuMemAddressReserve(at(&mut out), 0, 0, 0, 0), invalid);
    is(cuMemAddressReserve(at(&mut out), unit, 3 * unit, 0, 0), invalid);
    is(cuMemAddressReserve(at(&mut out), 1 << 60, 0, 0, 0), Status::OUT_OF_MEMORY);
    is(cuMemCreate(at(&mut out), unit + 1, at(&mut device_memory()), 0), invalid);
    is(cuMemCreate(at(&mut out), 1 << 50, at(&mut device_memory()), 0), Status::OUT_OF_MEMORY);
    let mut shared = CUmemAllocationProp { requestedHandleTypes: 8, ..device_memory() };
    is(cuMemCreate(at(&mut out), unit, at(&mut shared), 0), Status::NOT_SUPPORTED);
    let mut elsewhere = CUmemLocation { r#type: 1, id: 99 };
    let mut other = CUmemAllocationProp { location: elsewhere, ..device_memory() };
    is(cuMemCreate(at(&mut out), unit, at(&mut other), 0), Status::INVALID_DEVICE);
    // Where memory can be mapped.
    for (address, size, offset, handle) in [
        (plain, unit, 0, handle),
        (base + 4096, unit, 0, handle),
        (base + 2 * len, unit, 0, handle),
        (base, 2 * unit, 0, handle),
        (base, unit, unit, handle),
        (base, unit, 0, handle + 1),
    ] {
        is(cuMemMap(address, size, offset, handle, 0), invalid);
    }
    is(set_access(base, len, READWRITE), invalid);
    ok(cuMemMap(base, unit, 0, handle, 0));
    is(cuMemMap(base, unit, 0, created(len), 0), invalid);
    is(cuMemMap(base + len, unit, 0, handle, 0), Status::NOT_SUPPORTED);
    is(set_access(base, len / 2, READWRITE), invalid);
    is(set_access(base, 2 * len, READWRITE), invalid);
    is(set_access(base, len, 1), Status::NOT_SUPPORTED);
    is(set_access(base, len, 2), invalid);
    is(cuMemGetAccess(at(&mut out), at(&mut elsewhere), base), Status::INVALID_DEVICE);
    is(cuMemUnmap(base, 2 * unit), invalid);
    ok(set_access(base, len, READWRITE));
    // It is no allocation.
    is(cuMemFree_v2(base), invalid);
    ok(cuMemUnmap(base, unit));
    is(cuMemUnmap(base, unit), invalid);
    // An address that is wished for is given if it is free.
    let wish = base + (1 << 30);
    assert_eq!(written(|out| cuMemAddressReserve(out, unit, 0, wish, 0)), wish);
    assert_ne!(written(|out| cuMemAddressReserve(out, unit, 0, wish, 0)), wish);
    assert_ne!(written(|out| cuMemAddressReserve(out, unit, 0, 0x1000, 0)), 0x1000);
    ok(cuCtxDestroy_v2(context));
}
