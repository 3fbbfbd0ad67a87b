//! Attributes of addresses (`cuPointerGetAttribute`).

use runtime::Addr;

use crate::driver::Driver;
use crate::host::{Ptr, put, put_i32, put_u64};
use crate::memory::AllocationKind;
use crate::status::{Outcome, Status};

/// Values of `CUmemorytype`.
const HOST: i32 = 1;
const DEVICE: i32 = 2;

/// The properties from which attributes are computed.
struct Target {
    start: u64,
    len: u64,
    context: u64,
    id: u64,
    host: bool,
    managed: bool,
    pool: u64,
}

fn target(d: &Driver, address: u64) -> Option<Target> {
    if let Some((start, a)) = d.memory.around(address) {
        let host = matches!(a.kind, AllocationKind::Host(..) | AllocationKind::Registered(_));
        let managed = a.is_managed();
        return Some(Target {
            start,
            len: a.len,
            context: a.context,
            id: a.id,
            host,
            managed,
            pool: a.pool,
        });
    }
    // A module's variable.
    let (start, len) = d.device.allocation(Addr(address))?;
    let module = d.modules.values().find(|m| {
        let vars = &m.code.program().module().vars;
        vars.iter().any(|v| d.device.variable(m.id, &v.name).is_some_and(|(at, _)| at == start))
    })?;
    let (host, managed) = (false, false);
    Some(Target {
        start: start.0,
        len,
        context: module.context,
        id: start.0,
        host,
        managed,
        pool: 0,
    })
}

pub(crate) fn attribute(d: &mut Driver, out: Ptr, attribute: i32, address: u64) -> Outcome {
    let Some(target) = target(d, address) else { return Err(Status::INVALID_VALUE) };
    let bytes = value(d, attribute, address, &target)?;
    put(out, &bytes)
}

/// Returns the bytes of an attribute's value.
fn value(d: &Driver, attribute: i32, address: u64, target: &Target) -> Outcome<Vec<u8>> {
    let int = |value: i32| Ok(value.to_ne_bytes().to_vec());
    let word = |value: u64| Ok(value.to_ne_bytes().to_vec());
    let flag = |value: bool| Ok(vec![u8::from(value)]);
    match attribute {
        1 => word(target.context),
        2 => int(if target.host { HOST } else { DEVICE }),
        3 => word(address),
        4 if target.host || target.managed => word(address),
        // 4 is the host's address of memory that the host cannot access; 5 is a token for other
        // drivers.
        4 | 5 => Err(Status::INVALID_VALUE),
        6 => flag(true),
        7 => word(target.id),
        8 => flag(target.managed),
        9 => int(d.contexts.get(&target.context).map_or(0, |c| c.device)),
        10 | 15 => flag(false),
        11 => word(target.start),
        12 => word(target.len),
        13 => flag(true),
        14 => word(0),
        // Readable and writable.
        16 => int(3),
        17 if target.pool != 0 => word(target.pool),
        17 => word(0),
        18..=20 => word(0),
        _ => Err(Status::INVALID_VALUE),
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
    let places = crate::host::get_u64s(values, count as usize)?;
    let mut kinds = vec![0; 4 * count as usize];
    crate::host::get(attributes, &mut kinds)?;
    let target = target(d, address);
    for (kind, place) in kinds.chunks_exact(4).zip(places) {
        let kind = i32::from_ne_bytes([kind[0], kind[1], kind[2], kind[3]]);
        let given = target.as_ref().and_then(|k| value(d, kind, address, k).ok());
        let zero = match kind {
            2 | 16 => vec![0; 4],
            9 => (-2_i32).to_ne_bytes().to_vec(),
            6 | 8 | 10 | 13 | 15 => vec![0],
            1 | 3..=5 | 7 | 11 | 12 | 14 | 17..=20 => vec![0; 8],
            _ => return Err(Status::INVALID_VALUE),
        };
        put(place as Ptr, &given.unwrap_or(zero))?;
    }
    Ok(())
}

/// Accepts an attribute without an effect: all copies are synchronous.
pub(crate) fn set_attribute(d: &mut Driver, _value: Ptr, attribute: i32, address: u64) -> Outcome {
    let settable = attribute == 6 && target(d, address).is_some();
    if settable { Ok(()) } else { Err(Status::INVALID_VALUE) }
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
    match (attribute, size) {
        // Not read-mostly; no preferred location and no last prefetch location.
        (1, 4) => put_i32(out, 0),
        (2 | 4, 4) => put_i32(out, -2),
        (_, 8) => put_u64(out, 0),
        _ => Err(Status::INVALID_VALUE),
    }
}
