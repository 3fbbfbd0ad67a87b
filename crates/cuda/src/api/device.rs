//! Devices: names, limits, attributes.

use cuda_abi::host::{Ptr, name as read_name, put, put_bytes, put_i32, put_if, put_u64};
use cuda_abi::{
    CUdevice_P2PAttribute, CUdevice_attribute, CUdevprop, DeviceStatus, Outcome, Status,
};
use runtime::device::{
    CONSTANT, Device, MAX_BLOCK, MAX_GRID, MAX_THREADS, MULTIPROCESSORS, STATIC_SHARED,
};

use crate::settings::Settings;
use crate::state::Driver;
use crate::state::process::FILE_DESCRIPTOR;
use crate::state::usage::USAGE;
use crate::visible;
use runtime::WARP_SIZE;

/// The number of 32-bit registers of a multiprocessor, and of a block.
const REGISTERS: i32 = 65536;

pub(crate) fn get(d: &mut Driver, out: Ptr, ordinal: i32) -> Outcome {
    let device = d.device(ordinal)?;
    put_i32(out, device)
}

pub(crate) fn count(d: &mut Driver, out: Ptr) -> Outcome {
    put_i32(out, d.settings.visible.len() as i32)
}

pub(crate) fn name(d: &mut Driver, out: Ptr, room: i32, device: i32) -> Outcome {
    d.device(device)?;
    let room = usize::try_from(room).ok().filter(|&r| r > 0).ok_or(Status::INVALID_VALUE)?;
    let mut text = device_name(d.settings.of_machine(device)).into_bytes();
    text.truncate(room - 1);
    text.push(0);
    put_bytes(out, &text)
}

pub(crate) fn uuid(d: &mut Driver, out: Ptr, device: i32) -> Outcome {
    d.device(device)?;
    put(out, &visible::uuid(d.settings.of_machine(device)))
}

fn device_name(device: i32) -> String {
    format!("Simtlab virtual device {device}")
}

/// Describes a device of the machine and its use by this process, which a child of `fork` has none
/// of.
pub(crate) fn status(settings: &Settings, device: i32, is_child: bool) -> Outcome<DeviceStatus> {
    use CUdevice_attribute as A;
    if !(0..settings.devices).contains(&device) {
        return Err(Status::INVALID_DEVICE);
    }
    let get =
        |attribute| value(attribute, settings.device(), settings.capability, device).unsigned_abs();
    let mut name = [0; 96];
    let text = device_name(device);
    let len = text.len().min(name.len() - 1);
    name[..len].copy_from_slice(&text.as_bytes()[..len]);
    let used = |count: u64| if is_child { 0 } else { count };
    Ok(DeviceStatus {
        name,
        uuid: visible::uuid(device),
        devices: settings.devices.unsigned_abs(),
        contexts: used(USAGE.contexts(device).into()) as u32,
        major: get(A::COMPUTE_CAPABILITY_MAJOR),
        minor: get(A::COMPUTE_CAPABILITY_MINOR),
        pci_domain: get(A::PCI_DOMAIN_ID),
        pci_bus: get(A::PCI_BUS_ID),
        pci_device: get(A::PCI_DEVICE_ID),
        version: settings.version.unsigned_abs(),
        clock: get(A::CLOCK_RATE),
        memory_clock: get(A::MEMORY_CLOCK_RATE),
        bus_width: get(A::GLOBAL_MEMORY_BUS_WIDTH),
        multiprocessors: get(A::MULTIPROCESSOR_COUNT),
        memory: settings.memory,
        used: used(USAGE.memory(device)),
        busy: used(USAGE.busy()),
    })
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

pub(crate) fn properties(d: &mut Driver, out: Ptr, device: i32) -> Outcome {
    use CUdevice_attribute as A;
    d.device(device)?;
    let get = |attribute| value(attribute, d.settings.device(), d.settings.capability, device);
    let properties = CUdevprop {
        maxThreadsPerBlock: get(A::MAX_THREADS_PER_BLOCK),
        maxThreadsDim: [A::MAX_BLOCK_DIM_X, A::MAX_BLOCK_DIM_Y, A::MAX_BLOCK_DIM_Z].map(get),
        maxGridSize: [A::MAX_GRID_DIM_X, A::MAX_GRID_DIM_Y, A::MAX_GRID_DIM_Z].map(get),
        sharedMemPerBlock: get(A::MAX_SHARED_MEMORY_PER_BLOCK),
        totalConstantMemory: get(A::TOTAL_CONSTANT_MEMORY),
        SIMDWidth: get(A::WARP_SIZE),
        memPitch: get(A::MAX_PITCH),
        regsPerBlock: get(A::MAX_REGISTERS_PER_BLOCK),
        clockRate: get(A::CLOCK_RATE),
        textureAlign: get(A::TEXTURE_ALIGNMENT),
    };
    put(out, &properties)
}

pub(crate) fn pci_bus_id(d: &mut Driver, out: Ptr, room: i32, device: i32) -> Outcome {
    d.device(device)?;
    let text = format!("0000:{:02X}:00.0\0", d.settings.of_machine(device) + 1);
    if usize::try_from(room).is_ok_and(|room| room >= text.len()) {
        return put_bytes(out, text.as_bytes());
    }
    Err(Status::INVALID_VALUE)
}

pub(crate) fn by_pci_bus_id(d: &mut Driver, out: Ptr, id: Ptr) -> Outcome {
    let text = read_name(id)?;
    let bus = text.rsplit(':').nth(1).and_then(|bus| i32::from_str_radix(bus, 16).ok());
    let device = bus.and_then(|bus| bus.checked_sub(1)).ok_or(Status::INVALID_VALUE)?;
    let ordinal = d.settings.visible.iter().position(|&visible| visible == device);
    put_i32(out, ordinal.ok_or(Status::INVALID_DEVICE)? as i32)
}

/// Returns whether the devices differ: each can be let access the memory of all others.
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
    let value = match CUdevice_P2PAttribute::of(attribute)? {
        CUdevice_P2PAttribute::ACCESS_SUPPORTED
        | CUdevice_P2PAttribute::NATIVE_ATOMIC_SUPPORTED => 1,
        CUdevice_P2PAttribute::PERFORMANCE_RANK
        | CUdevice_P2PAttribute::CUDA_ARRAY_ACCESS_SUPPORTED => 0,
    };
    put_i32(out, value)
}

pub(crate) fn exec_affinity(d: &mut Driver, out: Ptr, _kind: i32, device: i32) -> Outcome {
    d.device(device)?;
    put_i32(out, 0)
}

pub(crate) fn luid(d: &mut Driver, luid: Ptr, mask: Ptr, device: i32) -> Outcome {
    d.device(device)?;
    put_if(luid, &0_u64)?;
    put_if(mask, &1_u32)
}

pub(crate) fn attribute(d: &mut Driver, out: Ptr, attribute: i32, device: i32) -> Outcome {
    d.device(device)?;
    let attribute = CUdevice_attribute::of(attribute)?;
    let device = d.settings.of_machine(device);
    put_i32(out, value(attribute, d.settings.device(), d.settings.capability, device))
}

/// Returns an attribute of the first device by number; 0 for one that does not exist.
pub(crate) fn attribute_value(d: &Driver, attribute: i32) -> i32 {
    let known = CUdevice_attribute::of(attribute).ok();
    known.map_or(0, |a| value(a, d.settings.device(), d.settings.capability, 0))
}

/// Returns an attribute of a device of the machine. Those not listed are 0: the device lacks what
/// they describe.
fn value(
    attribute: CUdevice_attribute,
    held: &Device,
    (major, minor): (i32, i32),
    device: i32,
) -> i32 {
    use CUdevice_attribute as A;
    match attribute {
        A::MAX_THREADS_PER_BLOCK => MAX_THREADS as i32,
        A::MAX_BLOCK_DIM_X => MAX_BLOCK[0] as i32,
        A::MAX_BLOCK_DIM_Y => MAX_BLOCK[1] as i32,
        A::MAX_BLOCK_DIM_Z => MAX_BLOCK[2] as i32,
        A::MAX_GRID_DIM_X => MAX_GRID[0] as i32,
        A::MAX_GRID_DIM_Y => MAX_GRID[1] as i32,
        A::MAX_GRID_DIM_Z => MAX_GRID[2] as i32,
        A::MAX_SHARED_MEMORY_PER_BLOCK => STATIC_SHARED as i32,
        A::TOTAL_CONSTANT_MEMORY => CONSTANT as i32,
        A::WARP_SIZE => WARP_SIZE as i32,
        A::MAX_PITCH => i32::MAX,
        A::MAX_REGISTERS_PER_BLOCK | A::MAX_REGISTERS_PER_MULTIPROCESSOR => REGISTERS,
        // In kHz.
        A::CLOCK_RATE | A::MEMORY_CLOCK_RATE => 1_000_000,
        // That of every allocation.
        A::TEXTURE_ALIGNMENT | A::SURFACE_ALIGNMENT => 256,
        A::TEXTURE_PITCH_ALIGNMENT => 32,
        A::MAXIMUM_TEXTURE1D_WIDTH | A::MAXIMUM_TEXTURE2D_WIDTH => 1 << 17,
        A::MAXIMUM_TEXTURE2D_HEIGHT => 1 << 16,
        A::MAXIMUM_TEXTURE3D_WIDTH
        | A::MAXIMUM_TEXTURE3D_HEIGHT
        | A::MAXIMUM_TEXTURE3D_DEPTH
        | A::MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE => 1 << 14,
        A::MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE | A::MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE => 1 << 13,
        A::MAXIMUM_TEXTURE1D_LAYERED_WIDTH
        | A::MAXIMUM_TEXTURE2D_LAYERED_WIDTH
        | A::MAXIMUM_TEXTURE2D_LAYERED_HEIGHT
        | A::MAXIMUM_TEXTURE2D_GATHER_WIDTH
        | A::MAXIMUM_TEXTURE2D_GATHER_HEIGHT
        | A::MAXIMUM_TEXTURECUBEMAP_WIDTH
        | A::MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH
        | A::MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH
        | A::MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH
        | A::MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT
        | A::MAXIMUM_SURFACE1D_WIDTH
        | A::MAXIMUM_SURFACE1D_LAYERED_WIDTH
        | A::MAXIMUM_SURFACE2D_LAYERED_WIDTH
        | A::MAXIMUM_SURFACE2D_LAYERED_HEIGHT
        | A::MAXIMUM_SURFACECUBEMAP_WIDTH
        | A::MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH => 1 << 15,
        A::MAXIMUM_SURFACE2D_WIDTH | A::MAXIMUM_TEXTURE2D_LINEAR_WIDTH => 1 << 17,
        A::MAXIMUM_SURFACE2D_HEIGHT | A::MAXIMUM_TEXTURE2D_LINEAR_HEIGHT => 1 << 16,
        A::MAXIMUM_SURFACE3D_WIDTH | A::MAXIMUM_SURFACE3D_HEIGHT | A::MAXIMUM_SURFACE3D_DEPTH => {
            1 << 14
        }
        A::MAXIMUM_TEXTURE1D_LAYERED_LAYERS
        | A::MAXIMUM_TEXTURE2D_LAYERED_LAYERS
        | A::MAXIMUM_SURFACE1D_LAYERED_LAYERS
        | A::MAXIMUM_SURFACE2D_LAYERED_LAYERS => 2048,
        A::MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS | A::MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS => 2046,
        A::MAXIMUM_TEXTURE1D_LINEAR_WIDTH => 1 << 28,
        A::MAXIMUM_TEXTURE2D_LINEAR_PITCH => (1 << 21) - 32,
        A::MULTIPROCESSOR_COUNT => MULTIPROCESSORS as i32,
        A::PCI_BUS_ID => device + 1,
        // In bits.
        A::GLOBAL_MEMORY_BUS_WIDTH => 256,
        A::L2_CACHE_SIZE => 4 << 20,
        A::MAX_THREADS_PER_MULTIPROCESSOR => held.threads as i32,
        A::COMPUTE_CAPABILITY_MAJOR => major,
        A::COMPUTE_CAPABILITY_MINOR => minor,
        A::MAX_SHARED_MEMORY_PER_MULTIPROCESSOR => held.shared as i32,
        A::SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO => 2,
        A::MAX_SHARED_MEMORY_PER_BLOCK_OPTIN | A::MAX_OVERSIZED_SHARED_MEMORY_PER_BLOCK => {
            held.shared_opt_in as i32
        }
        A::MAX_BLOCKS_PER_MULTIPROCESSOR => held.blocks as i32,
        A::RESERVED_SHARED_MEMORY_PER_BLOCK => held.shared_reserved as i32,
        A::CLUSTER_LAUNCH => i32::from(major >= 9),
        A::GPU_OVERLAP
        | A::CAN_MAP_HOST_MEMORY
        | A::CAN_TEX2D_GATHER
        | A::CONCURRENT_KERNELS
        | A::ASYNC_ENGINE_COUNT
        | A::UNIFIED_ADDRESSING
        | A::STREAM_PRIORITIES_SUPPORTED
        | A::GLOBAL_L1_CACHE_SUPPORTED
        | A::LOCAL_L1_CACHE_SUPPORTED
        | A::MANAGED_MEMORY
        | A::CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM
        | A::COOPERATIVE_LAUNCH
        | A::CAN_USE_STREAM_MEM_OPS_V1
        | A::CAN_USE_64_BIT_STREAM_MEM_OPS_V1
        | A::CAN_USE_STREAM_WAIT_VALUE_NOR_V1
        | A::CAN_USE_64_BIT_STREAM_MEM_OPS
        | A::CAN_USE_STREAM_WAIT_VALUE_NOR
        | A::VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED
        | A::MEMORY_POOLS_SUPPORTED
        | A::IPC_EVENT_SUPPORTED => 1,
        // Memory can be shared by anonymous files.
        A::HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED => i32::from(cfg!(target_os = "linux")),
        A::MEMPOOL_SUPPORTED_HANDLE_TYPES if cfg!(target_os = "linux") => FILE_DESCRIPTOR,
        _ => 0,
    }
}
