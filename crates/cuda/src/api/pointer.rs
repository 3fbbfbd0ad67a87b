//! Attributes of addresses (`cuPointerGetAttribute`).

use cuda_abi::host::{Ptr, get_list, put_bytes, put_i32, put_u64};
use cuda_abi::{
    CUmem_range_attribute, CUmemAccess_flags, CUmemorytype, CUpointer_attribute, Outcome, Status,
};
use runtime::Addr;

use crate::state::Driver;
use crate::state::memory::AllocationKind;

/// The number in place of a device's for addresses and hints without a device.
const NO_DEVICE: i32 = -2;

/// The properties from which attributes are computed.
struct Target {
    start: u64,
    len: u64,
    context: u64,
    id: u64,
    host: bool,
    managed: bool,
    /// Whose memory it is.
    device: i32,
    /// Whether kernels of the current context can access it.
    accessible: bool,
    /// Whether the client has mapped it.
    mapped: bool,
    pool: u64,
}

/// Returns the device whose memory lies at an address, and whether kernels of the current context
/// can access it: memory of the host is that of its context's device, and all can.
fn device(d: &Driver, address: u64, context: u64) -> (i32, bool) {
    let Some((device, sharing)) = d.device.sharing(Addr(address)) else {
        return (d.contexts.get(&context).map_or(0, |c| c.device), true);
    };
    let current = d.current().and_then(|current| d.accessing(current));
    (device.into(), current.ok().is_none_or(|current| current.may(device, sharing)))
}

fn target(d: &Driver, address: u64) -> Option<Target> {
    if let Some((start, a)) = d.memory.around(address) {
        let host = matches!(a.kind, AllocationKind::Host(..) | AllocationKind::Registered(_));
        let managed = a.is_managed();
        let (device, accessible) = device(d, address, a.context);
        return Some(Target {
            start,
            len: a.len,
            context: a.context,
            id: a.id,
            host,
            managed,
            device,
            accessible,
            mapped: matches!(a.kind, AllocationKind::Mapped | AllocationKind::MappedShared),
            pool: a.pool,
        });
    }
    // A module's variable.
    let (start, len) = d.device.allocation(Addr(address))?;
    let module = d.modules.values().find(|m| {
        let is_here = |name: &str| d.device.variable(m.id, name).is_some_and(|(at, _)| at == start);
        m.code.variables().any(is_here)
    })?;
    let (host, managed) = (false, false);
    let (device, accessible) = device(d, address, module.context);
    Some(Target {
        start: start.0,
        len,
        context: module.context,
        id: start.0,
        host,
        managed,
        device,
        accessible,
        mapped: false,
        pool: 0,
    })
}

pub(crate) fn attribute(d: &mut Driver, out: Ptr, attribute: i32, address: u64) -> Outcome {
    let Some(target) = target(d, address) else { return Err(Status::INVALID_VALUE) };
    let bytes = value(CUpointer_attribute::of(attribute)?, address, &target)?;
    put_bytes(out, &bytes)
}

/// Returns the bytes of an attribute's value.
fn value(attribute: CUpointer_attribute, address: u64, target: &Target) -> Outcome<Vec<u8>> {
    use CUpointer_attribute as A;
    let int = |value: i32| Ok(value.to_ne_bytes().to_vec());
    let word = |value: u64| Ok(value.to_ne_bytes().to_vec());
    let flag = |value: bool| Ok(vec![u8::from(value)]);
    match attribute {
        A::CONTEXT => word(target.context),
        A::MEMORY_TYPE if target.host => int(CUmemorytype::HOST as i32),
        A::MEMORY_TYPE => int(CUmemorytype::DEVICE as i32),
        A::DEVICE_POINTER if target.accessible => word(address),
        A::HOST_POINTER if target.host || target.managed => word(address),
        // The host or the device cannot access the memory; there are no tokens for other drivers.
        A::DEVICE_POINTER | A::HOST_POINTER | A::P2P_TOKENS => Err(Status::INVALID_VALUE),
        A::SYNC_MEMOPS | A::MAPPED => flag(true),
        A::BUFFER_ID => word(target.id),
        A::IS_MANAGED => flag(target.managed),
        A::DEVICE_ORDINAL => int(target.device),
        A::IS_LEGACY_CUDA_IPC_CAPABLE | A::IS_GPU_DIRECT_RDMA_CAPABLE => flag(false),
        A::RANGE_START_ADDR => word(target.start),
        A::RANGE_SIZE => word(target.len),
        A::ACCESS_FLAGS if target.accessible => int(CUmemAccess_flags::READWRITE as i32),
        A::ACCESS_FLAGS => int(CUmemAccess_flags::NONE as i32),
        A::MEMPOOL_HANDLE => word(target.pool),
        A::MAPPING_SIZE if target.mapped => word(target.len),
        A::MAPPING_BASE_ADDR if target.mapped => word(target.start),
        A::ALLOWED_HANDLE_TYPES | A::MAPPING_SIZE | A::MAPPING_BASE_ADDR | A::MEMORY_BLOCK_ID => {
            word(0)
        }
    }
}

/// Returns several attributes at once. For an unknown address, they are zero or the value for none.
pub(crate) fn attributes(
    d: &mut Driver,
    count: u32,
    attributes: Ptr,
    values: Ptr,
    address: u64,
) -> Outcome {
    let places = get_list::<u64>(values, count as usize)?;
    let kinds = get_list::<i32>(attributes, count as usize)?;
    let target = target(d, address);
    for (kind, place) in kinds.into_iter().zip(places) {
        let kind = CUpointer_attribute::of(kind)?;
        let given = target.as_ref().and_then(|k| value(kind, address, k).ok());
        put_bytes(place as Ptr, &given.unwrap_or_else(|| absent(kind)))?;
    }
    Ok(())
}

/// Returns the bytes of an attribute that an address does not have.
fn absent(attribute: CUpointer_attribute) -> Vec<u8> {
    use CUpointer_attribute as A;
    match attribute {
        A::MEMORY_TYPE | A::ACCESS_FLAGS => vec![0; 4],
        A::DEVICE_ORDINAL => NO_DEVICE.to_ne_bytes().to_vec(),
        A::SYNC_MEMOPS
        | A::IS_MANAGED
        | A::IS_LEGACY_CUDA_IPC_CAPABLE
        | A::MAPPED
        | A::IS_GPU_DIRECT_RDMA_CAPABLE => vec![0],
        _ => vec![0; 8],
    }
}

/// Accepts an attribute without an effect: all copies are synchronous.
pub(crate) fn set_attribute(d: &mut Driver, _value: Ptr, attribute: i32, address: u64) -> Outcome {
    let settable = CUpointer_attribute::of(attribute)? == CUpointer_attribute::SYNC_MEMOPS;
    if settable && target(d, address).is_some() { Ok(()) } else { Err(Status::INVALID_VALUE) }
}

/// Returns an attribute of a range of managed memory.
pub(crate) fn range_attribute(
    d: &mut Driver,
    out: Ptr,
    size: usize,
    attribute: i32,
    address: u64,
    _len: usize,
) -> Outcome {
    if !target(d, address).is_some_and(|k| k.managed) {
        return Err(Status::INVALID_VALUE);
    }
    match (CUmem_range_attribute::of(attribute), size) {
        (Ok(CUmem_range_attribute::READ_MOSTLY), 4) => put_i32(out, 0),
        (
            Ok(
                CUmem_range_attribute::PREFERRED_LOCATION
                | CUmem_range_attribute::LAST_PREFETCH_LOCATION,
            ),
            4,
        ) => put_i32(out, NO_DEVICE),
        (_, 8) => put_u64(out, 0),
        _ => Err(Status::INVALID_VALUE),
    }
}
