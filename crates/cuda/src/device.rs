//! Devices: names, limits, attributes.

use crate::driver::Driver;
use crate::host::{Ptr, put, put_i32, put_if, put_u64};
use crate::status::{Outcome, Status};

/// Multiprocessors that a device reports.
pub(crate) const MULTIPROCESSORS: i32 = 16;
/// Threads that a multiprocessor is said to hold.
pub(crate) const THREADS_PER_MULTIPROCESSOR: i32 = 2048;
/// Blocks that a multiprocessor is said to hold.
pub(crate) const BLOCKS_PER_MULTIPROCESSOR: i32 = 32;
/// Bytes of shared memory of a multiprocessor.
pub(crate) const SHARED_PER_MULTIPROCESSOR: i32 = 164 << 10;
/// Bytes of shared memory that a block may have without asking for more.
pub(crate) const SHARED_PER_BLOCK: i32 = 48 << 10;
/// Bytes of shared memory that a block may ask for.
pub(crate) const SHARED_OPT_IN: i32 = 163 << 10;

/// The last attribute that is known.
const LAST_ATTRIBUTE: i32 = 148;

pub(crate) fn get(d: &mut Driver, out: Ptr, ordinal: i32) -> Outcome {
    let device = d.device(ordinal)?;
    put_i32(out, device)
}

pub(crate) fn count(d: &mut Driver, out: Ptr) -> Outcome {
    put_i32(out, d.settings.devices)
}

pub(crate) fn name(d: &mut Driver, out: Ptr, room: i32, device: i32) -> Outcome {
    d.device(device)?;
    let room = usize::try_from(room).ok().filter(|&r| r > 0).ok_or(Status::INVALID_VALUE)?;
    let mut text = format!("Simtlab virtual device {device}").into_bytes();
    text.truncate(room - 1);
    text.push(0);
    put(out, &text)
}

pub(crate) fn uuid(d: &mut Driver, out: Ptr, device: i32) -> Outcome {
    d.device(device)?;
    let mut uuid = *b"simtlab-device-\0";
    uuid[15] = device as u8;
    put(out, &uuid)
}

pub(crate) fn total_memory(d: &mut Driver, out: Ptr, device: i32) -> Outcome {
    d.device(device)?;
    put_u64(out, d.settings.memory)
}

pub(crate) fn capability(d: &mut Driver, major: Ptr, minor: Ptr, device: i32) -> Outcome {
    d.device(device)?;
    put_i32(major, d.settings.capability.0)?;
    put_i32(minor, d.settings.capability.1)
}

/// The fields of `CUdevprop`.
pub(crate) fn properties(d: &mut Driver, out: Ptr, device: i32) -> Outcome {
    d.device(device)?;
    let numbers = [
        1024,
        1024,
        1024,
        64,
        i32::MAX,
        65535,
        65535,
        SHARED_PER_BLOCK,
        65536,
        32,
        i32::MAX,
        65536,
        1_000_000,
        512,
    ];
    let bytes: Vec<u8> = numbers.iter().flat_map(|n: &i32| n.to_ne_bytes()).collect();
    put(out, &bytes)
}

pub(crate) fn pci_bus_id(d: &mut Driver, out: Ptr, room: i32, device: i32) -> Outcome {
    d.device(device)?;
    let text = format!("0000:{:02X}:00.0\0", device + 1);
    if usize::try_from(room).is_ok_and(|room| room >= text.len()) {
        return put(out, text.as_bytes());
    }
    Err(Status::INVALID_VALUE)
}

pub(crate) fn by_pci_bus_id(d: &mut Driver, out: Ptr, id: Ptr) -> Outcome {
    let text = crate::host::name(id)?;
    let bus = text.rsplit(':').nth(1).and_then(|bus| i32::from_str_radix(bus, 16).ok());
    let device = d.device(bus.ok_or(Status::INVALID_VALUE)? - 1)?;
    put_i32(out, device)
}

/// Devices of one process share their memory, so each may use the others'.
pub(crate) fn can_access_peer(d: &mut Driver, out: Ptr, device: i32, peer: i32) -> Outcome {
    let (device, peer) = (d.device(device)?, d.device(peer)?);
    put_i32(out, i32::from(device != peer))
}

pub(crate) fn p2p_attribute(
    d: &mut Driver,
    out: Ptr,
    attribute: i32,
    from: i32,
    to: i32,
) -> Outcome {
    let (from, to) = (d.device(from)?, d.device(to)?);
    if from == to {
        return Err(Status::INVALID_DEVICE);
    }
    let value = match attribute {
        // Access and native atomics; not arrays.
        2 | 3 => 1,
        1 | 4 => 0,
        _ => return Err(Status::INVALID_VALUE),
    };
    put_i32(out, value)
}

pub(crate) fn exec_affinity(d: &mut Driver, out: Ptr, _kind: i32, device: i32) -> Outcome {
    d.device(device)?;
    put_i32(out, 0)
}

pub(crate) fn luid(d: &mut Driver, luid: Ptr, mask: Ptr, device: i32) -> Outcome {
    d.device(device)?;
    put_if(luid, &[0; 8])?;
    put_if(mask, &1_u32.to_ne_bytes())
}

pub(crate) fn attribute(d: &mut Driver, out: Ptr, attribute: i32, device: i32) -> Outcome {
    d.device(device)?;
    if !(1..=LAST_ATTRIBUTE).contains(&attribute) {
        return Err(Status::INVALID_VALUE);
    }
    put_i32(out, value(attribute, d.settings.capability, device))
}

/// Attributes by their numbers; those that are not here are things that the device has not.
fn value(attribute: i32, (major, minor): (i32, i32), device: i32) -> i32 {
    match attribute {
        // Threads of a block, all and in x, y, z; blocks in x, y, z.
        1..=3 => 1024,
        4 => 64,
        5 => i32::MAX,
        6 | 7 => 65535,
        8 => SHARED_PER_BLOCK,
        // Constant memory, warp size, pitch, registers of a block, clock rate in kHz.
        9 => 65536,
        10 => 32,
        11 => i32::MAX,
        12 => 65536,
        13 => 1_000_000,
        // Alignment of textures.
        14 | 51 => 512,
        // Copies beside kernels, host memory, concurrent kernels, engines of copies.
        15 | 19 | 31 | 40 => 1,
        16 => MULTIPROCESSORS,
        // Bus 33, device 34, domain 50.
        33 => device + 1,
        // Clock of memory, width of its bus, bytes of the second cache.
        36 => 1_000_000,
        37 => 256,
        38 => 4 << 20,
        39 => THREADS_PER_MULTIPROCESSOR,
        // One address space for device and host.
        41 => 1,
        75 => major,
        76 => minor,
        // Priorities of streams, caches of global and local memory.
        78..=80 => 1,
        81 => SHARED_PER_MULTIPROCESSOR,
        82 => 65536,
        // Managed memory, native atomics of the host no, single to double precision.
        83 => 1,
        85 => 0,
        87 => 2,
        // Managed memory is not used by both sides at once.
        88 | 89 => 0,
        90 => 0,
        // Registered host memory has the host's address.
        91 => 1,
        // Cooperative launches.
        95 => 1,
        97 => SHARED_OPT_IN,
        106 => BLOCKS_PER_MULTIPROCESSOR,
        // Memory pools.
        115 => 1,
        _ => 0,
    }
}
