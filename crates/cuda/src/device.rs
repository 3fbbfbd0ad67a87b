//! Devices: names, limits, attributes.

use ir::device::{CONSTANT, Device, MAX_BLOCK, MAX_GRID, MAX_THREADS, STATIC_SHARED};

use crate::driver::Driver;
use crate::host::{Ptr, put, put_i32, put_if, put_u64};
use crate::status::{Outcome, Status};

/// Multiprocessors that a device reports.
pub(crate) const MULTIPROCESSORS: i32 = ir::device::MULTIPROCESSORS as i32;
/// The number of 32-bit registers of a multiprocessor, and of a block.
const REGISTERS: i32 = 65536;
/// Threads of a warp.
const WARP: i32 = vm::WARP_SIZE as i32;

/// The highest attribute number of the interface.
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

/// Returns `CUdevprop`.
pub(crate) fn properties(d: &mut Driver, out: Ptr, device: i32) -> Outcome {
    d.device(device)?;
    // Its fields are attributes 1 to 14: threads of a block, in all and in x, y and z; blocks in x,
    // y and z; shared and constant memory; warp size, pitch, registers, clock rate, texture
    // alignment.
    let bytes = (1..=14).flat_map(|n| value(n, d.settings.device(), (8, 0), device).to_ne_bytes());
    put(out, &bytes.collect::<Vec<u8>>())
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

/// Returns whether the devices differ: each can access all others, because they share one memory.
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
        // Access and native atomics are supported; arrays are not.
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
    put_i32(out, value(attribute, d.settings.device(), d.settings.capability, device))
}

/// Returns an attribute (`CUdevice_attribute`). Those not listed are 0: the device lacks what they
/// describe.
fn value(attribute: i32, held: &Device, (major, minor): (i32, i32), device: i32) -> i32 {
    match attribute {
        // Threads of a block, in all and in x, y and z; blocks in x, y and z.
        1 => MAX_THREADS as i32,
        2..=4 => MAX_BLOCK[attribute as usize - 2] as i32,
        5..=7 => MAX_GRID[attribute as usize - 5] as i32,
        8 => STATIC_SHARED as i32,
        // Constant memory, warp size, pitch, registers of a block, clock rate in kHz.
        9 => CONSTANT as i32,
        10 => WARP,
        11 => i32::MAX,
        12 => REGISTERS,
        13 => 1_000_000,
        // Texture alignment, texture pitch alignment.
        14 | 51 => 512,
        // Copies during kernels, mapped host memory, concurrent kernels, copy engines.
        15 | 19 | 31 | 40 => 1,
        16 => MULTIPROCESSORS,
        // PCI bus 33, device 34, domain 50.
        33 => device + 1,
        // Memory clock rate in kHz, memory bus width in bits, L2 cache size in bytes.
        36 => 1_000_000,
        37 => 256,
        38 => 4 << 20,
        39 => held.threads as i32,
        // Unified addressing.
        41 => 1,
        75 => major,
        76 => minor,
        // Stream priorities, L1 caching of global and of local memory.
        78..=80 => 1,
        81 => held.shared as i32,
        82 => REGISTERS,
        // Managed memory; native atomics of the host: none; ratio of single to double precision
        // performance.
        83 => 1,
        85 => 0,
        87 => 2,
        // Pageable memory access, concurrent managed access.
        88 | 89 => 0,
        90 => 0,
        // Registered host memory has the same address on the device.
        91 => 1,
        // Cooperative launches.
        95 => 1,
        97 => held.shared_opt_in as i32,
        106 => held.blocks as i32,
        // Shared memory that the system reserves per block.
        111 => held.shared_reserved as i32,
        // Memory pools.
        115 => 1,
        _ => 0,
    }
}
