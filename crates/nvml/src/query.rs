//! Queries of devices.

use cuda_abi::host::{Ptr, get, get_bytes, name as read_name, put, put_bytes};
use cuda_abi::{Abi as _, read_at};

use crate::abi::*;
use crate::library::{Device, by_index, device, devices};
use crate::status::{Outcome, Status};
use crate::system::field;

/// Writes a number.
pub(crate) fn put_u32(out: Ptr, value: u32) -> Outcome {
    Ok(put(out, &value)?)
}

/// Checks the device, and writes a number that all devices have in common.
pub(crate) fn constant(handle: u64, out: Ptr, value: u32) -> Outcome {
    device(handle)?;
    put_u32(out, value)
}

/// The answer to a query of what the device has not.
pub(crate) fn unsupported(handle: u64) -> Outcome {
    device(handle)?;
    Err(Status::NOT_SUPPORTED)
}

// Handles.

pub(crate) fn count(out: Ptr) -> Outcome {
    put_u32(out, by_index(0)?.status.devices)
}

fn put_handle(out: Ptr, device: &Device) -> Outcome {
    Ok(put(out, &device.handle())?)
}

pub(crate) fn handle_by_index(index: u32, out: Ptr) -> Outcome {
    put_handle(out, &by_index(index)?)
}

/// Finds a device.
fn find(out: Ptr, is_meant: impl Fn(&Device) -> bool) -> Outcome {
    let found = devices()?.into_iter().find(is_meant);
    put_handle(out, &found.ok_or(Status::NOT_FOUND)?)
}

pub(crate) fn handle_by_uuid(uuid: Ptr, out: Ptr) -> Outcome {
    let uuid = read_name(uuid)?;
    find(out, |device| device.uuid() == uuid)
}

/// The same with the identifier in a structure.
pub(crate) fn handle_by_uuid_struct(uuid: Ptr, out: Ptr) -> Outcome {
    checked_version::<nvmlUUID_v1_t>(uuid, 1)?;
    let uuid: nvmlUUID_v1_t = get(uuid)?;
    match uuid.r#type {
        NVML_UUID_TYPE_ASCII => {
            let text = uuid.value.split(|&byte| byte == 0).next().unwrap_or_default();
            find(out, |device| device.uuid().as_bytes() == text)
        }
        NVML_UUID_TYPE_BINARY => find(out, |device| device.status.uuid == uuid.value[..16]),
        _ => Err(Status::INVALID_ARGUMENT),
    }
}

/// Devices have no serial numbers, so that none has this one.
pub(crate) fn handle_by_serial(serial: Ptr, out: Ptr) -> Outcome {
    read_name(serial)?;
    find(out, |_| false)
}

/// Reads `domain:bus:device.function` or `bus:device.function`, in hexadecimal digits.
fn parse_bus_id(text: &str) -> Option<[u32; 3]> {
    let (place, function) = text.rsplit_once('.').unwrap_or((text, "0"));
    let number = |text: &str| u32::from_str_radix(text, 16).ok();
    let parts: Option<Vec<u32>> = place.split(':').map(number).collect();
    match (parts?.as_slice(), number(function)?) {
        (&[domain, bus, device], 0) => Some([domain, bus, device]),
        (&[bus, device], 0) => Some([0, bus, device]),
        _ => None,
    }
}

pub(crate) fn handle_by_bus_id(id: Ptr, out: Ptr) -> Outcome {
    let place = parse_bus_id(&read_name(id)?).ok_or(Status::NOT_FOUND)?;
    find(out, |Device { status: s, .. }| place == [s.pci_domain, s.pci_bus, s.pci_device])
}

pub(crate) fn index(handle: u64, out: Ptr) -> Outcome {
    put_u32(out, device(handle)?.index)
}

// What a device is.

pub(crate) fn name(handle: u64, out: Ptr, room: u32) -> Outcome {
    let status = device(handle)?.status;
    let text = status.name.split(|&byte| byte == 0).next().unwrap_or_default();
    crate::system::put_text(out, room, &String::from_utf8_lossy(text))
}

pub(crate) fn uuid(handle: u64, out: Ptr, room: u32) -> Outcome {
    crate::system::put_text(out, room, &device(handle)?.uuid())
}

pub(crate) fn capability(handle: u64, major: Ptr, minor: Ptr) -> Outcome {
    let status = device(handle)?.status;
    put_u32(major, status.major)?;
    put_u32(minor, status.minor)
}

pub(crate) fn architecture(handle: u64, out: Ptr) -> Outcome {
    let status = device(handle)?.status;
    let architecture = match (status.major, status.minor) {
        (3, _) => NVML_DEVICE_ARCH_KEPLER,
        (5, _) => NVML_DEVICE_ARCH_MAXWELL,
        (6, _) => NVML_DEVICE_ARCH_PASCAL,
        (7, 5) => NVML_DEVICE_ARCH_TURING,
        (7, _) => NVML_DEVICE_ARCH_VOLTA,
        (8, 9) => NVML_DEVICE_ARCH_ADA,
        (8, _) => NVML_DEVICE_ARCH_AMPERE,
        (9, _) => NVML_DEVICE_ARCH_HOPPER,
        (10..=12, _) => NVML_DEVICE_ARCH_BLACKWELL,
        _ => NVML_DEVICE_ARCH_UNKNOWN,
    };
    put_u32(out, architecture)
}

/// Returns where a device is. No vendor or kind of device has the number 0.
fn pci(device: &Device) -> nvmlPciInfo_t {
    let status = &device.status;
    nvmlPciInfo_t {
        busIdLegacy: field(&device.bus_id(4)),
        domain: status.pci_domain,
        bus: status.pci_bus,
        device: status.pci_device,
        pciDeviceId: 0,
        pciSubSystemId: 0,
        busId: field(&device.bus_id(8)),
    }
}

pub(crate) fn pci_info(handle: u64, out: Ptr) -> Outcome {
    Ok(put(out, &pci(&device(handle)?))?)
}

/// The same in the layouts of versions 1 and 2, which are the first fields of the newest.
pub(crate) fn old_pci_info(handle: u64, out: Ptr, fields: usize) -> Outcome {
    let len = [
        std::mem::offset_of!(nvmlPciInfo_t, pciSubSystemId),
        std::mem::offset_of!(nvmlPciInfo_t, busId),
    ][fields.min(1)];
    let bytes = pci(&device(handle)?).to_bytes();
    Ok(put_bytes(out, &bytes[..len])?)
}

pub(crate) fn extended_pci_info(handle: u64, out: Ptr) -> Outcome {
    let device = device(handle)?;
    let version = checked_version::<nvmlPciInfoExt_v1_t>(out, 1)?;
    let info = nvmlPciInfoExt_v1_t {
        version,
        domain: device.status.pci_domain,
        bus: device.status.pci_bus,
        device: device.status.pci_device,
        pciDeviceId: 0,
        pciSubSystemId: 0,
        // A display controller, for no screen.
        baseClass: 3,
        subClass: 2,
        busId: field(&device.bus_id(8)),
    };
    Ok(put(out, &info)?)
}

/// Reads the version at the beginning of a structure.
fn checked_version<T>(at: Ptr, number: u32) -> Outcome<u32> {
    let given: u32 = get(at)?;
    if given == version::<T>(number) { Ok(given) } else { Err(Status::ARGUMENT_VERSION_MISMATCH) }
}

// What a device does.

pub(crate) fn memory(handle: u64, out: Ptr) -> Outcome {
    let status = device(handle)?.status;
    let (total, used) = (status.memory, status.used);
    Ok(put(out, &nvmlMemory_t { total, free: total.saturating_sub(used), used })?)
}

/// The same, and that nothing is reserved.
pub(crate) fn memory_with_version(handle: u64, out: Ptr) -> Outcome {
    let status = device(handle)?.status;
    let version = checked_version::<nvmlMemory_v2_t>(out, 2)?;
    let (total, used, reserved) = (status.memory, status.used, 0);
    let free = total.saturating_sub(used);
    Ok(put(out, &nvmlMemory_v2_t { version, total, reserved, free, used })?)
}

/// Writes a clock rate in MHz, which never changes.
pub(crate) fn clock(handle: u64, kind: u32, out: Ptr) -> Outcome {
    let status = device(handle)?.status;
    match kind {
        NVML_CLOCK_GRAPHICS | NVML_CLOCK_SM => put_u32(out, status.clock / 1000),
        NVML_CLOCK_MEM => put_u32(out, status.memory_clock / 1000),
        NVML_CLOCK_VIDEO => Err(Status::NOT_SUPPORTED),
        _ => Err(Status::INVALID_ARGUMENT),
    }
}

/// The same of a clock by what it is for.
pub(crate) fn clock_by_id(handle: u64, kind: u32, id: u32, out: Ptr) -> Outcome {
    match id {
        NVML_CLOCK_ID_CURRENT | NVML_CLOCK_ID_CUSTOMER_BOOST_MAX => clock(handle, kind, out),
        _ if id < NVML_CLOCK_ID_CUSTOMER_BOOST_MAX => unsupported(handle),
        _ => Err(Status::INVALID_ARGUMENT),
    }
}

pub(crate) fn bus_width(handle: u64, out: Ptr) -> Outcome {
    put_u32(out, device(handle)?.status.bus_width)
}

pub(crate) fn board(handle: u64, out: Ptr) -> Outcome {
    put_u32(out, device(handle)?.status.pci_bus << 8)
}

pub(crate) fn temperature(handle: u64, sensor: u32) -> Outcome {
    device(handle)?;
    let is_known = sensor <= NVML_TEMPERATURE_GPU + 1;
    Err(if is_known { Status::NOT_SUPPORTED } else { Status::INVALID_ARGUMENT })
}

/// Writes the two states, now and after the next start, of a feature that is off.
pub(crate) fn off(handle: u64, current: Ptr, pending: Ptr) -> Outcome {
    device(handle)?;
    put_u32(current, 0)?;
    put_u32(pending, 0)
}

/// There are no parts of a device by MIG.
pub(crate) fn no_part(handle: u64) -> Outcome {
    device(handle)?;
    Err(Status::NOT_FOUND)
}

/// Answers each of a list of queries by number that the device does not know it.
pub(crate) fn fields(handle: u64, count: i32, values: Ptr) -> Outcome {
    device(handle)?;
    let count = usize::try_from(count).ok().filter(|&n| n > 0 && n <= 1 << 16);
    let each = size_of::<nvmlFieldValue_t>();
    let mut bytes = vec![0; count.ok_or(Status::INVALID_ARGUMENT)? * each];
    get_bytes(values, &mut bytes)?;
    for one in bytes.chunks_exact_mut(each) {
        let refused = Status::NOT_SUPPORTED.0;
        nvmlFieldValue_t { nvmlReturn: refused, ..read_at(one, 0) }.write_to(one);
    }
    Ok(put_bytes(values, &bytes)?)
}

// How devices are connected.

pub(crate) fn same_board(one: u64, other: u64, out: Ptr) -> Outcome {
    put_u32(out, u32::from(device(one)?.index == device(other)?.index))
}

/// Devices share a host bridge.
pub(crate) fn common_ancestor(one: u64, other: u64, out: Ptr) -> Outcome {
    let is_same = device(one)?.index == device(other)?.index;
    put_u32(out, if is_same { NVML_TOPOLOGY_INTERNAL } else { NVML_TOPOLOGY_HOSTBRIDGE })
}

/// Writes the devices that are as near as this. `count` says how much room there is, and then how
/// many there are.
pub(crate) fn nearest(handle: u64, level: u32, count: Ptr, out: Ptr) -> Outcome {
    let here = device(handle)?.index;
    let room: u32 = get(count)?;
    let others = match level {
        NVML_TOPOLOGY_INTERNAL
        | NVML_TOPOLOGY_SINGLE
        | NVML_TOPOLOGY_MULTIPLE
        | NVML_TOPOLOGY_NODE
        | NVML_TOPOLOGY_SYSTEM => Vec::new(),
        NVML_TOPOLOGY_HOSTBRIDGE => devices()?,
        _ => return Err(Status::INVALID_ARGUMENT),
    };
    let others = others.iter().filter(|device| device.index != here).map(Device::handle);
    let others: Vec<u64> = others.collect();
    let written = others.len().min(room as usize);
    put_u32(count, others.len() as u32)?;
    let bytes: Vec<u8> = others[..written].iter().flat_map(cuda_abi::Abi::to_bytes).collect();
    if bytes.is_empty() { Ok(()) } else { Ok(put_bytes(out, &bytes)?) }
}

/// Writes whether two devices can access each other's memory in a way: all but NVLink.
pub(crate) fn p2p_status(one: u64, other: u64, way: u32, out: Ptr) -> Outcome {
    let (one, other) = (device(one)?, device(other)?);
    let status = match way {
        NVML_P2P_CAPS_INDEX_READ
        | NVML_P2P_CAPS_INDEX_WRITE
        | NVML_P2P_CAPS_INDEX_ATOMICS
        | NVML_P2P_CAPS_INDEX_PCI
            if one.index != other.index =>
        {
            NVML_P2P_STATUS_OK
        }
        0..=NVML_P2P_CAPS_INDEX_PCI => NVML_P2P_STATUS_NOT_SUPPORTED,
        _ => return Err(Status::INVALID_ARGUMENT),
    };
    put_u32(out, status)
}
