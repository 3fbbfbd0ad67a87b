//! The origin of a refused address: the kernel's parameter that points there.

use ir::module::Param;
use simt::memory::AccessError;

/// The distance in bytes within which an address is taken to be computed from a pointer.
const REACH: u64 = 1 << 32;

/// A parameter of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its number, from 1.
    pub number: usize,
    /// The number of the kernel's parameters.
    pub count: usize,
    /// Its name in the PTX.
    pub name: String,
    /// Its value, a pointer.
    pub value: u64,
}

/// Returns the only parameter that points into the allocation nearest to a refused access, or, if
/// the access is far from all allocations, close to its address. Returns `None` if there is no such
/// parameter or more than one.
pub(crate) fn parameter(params: &[Param], block: &[u8], access: &AccessError) -> Option<Parameter> {
    if access.space.window().is_some() {
        return None;
    }
    let points = |value: u64| match &access.nearest {
        Some(nearest) if !places::is_far(access) => {
            value.wrapping_sub(nearest.base) < nearest.len.max(1)
        }
        _ => access.addr.abs_diff(value) < REACH,
    };
    let pointer = |(index, param): (usize, &Param)| {
        let start = param.offset as usize;
        let bytes = block.get(start..start.checked_add(8)?).filter(|_| param.size == 8)?;
        let value = u64::from_le_bytes(bytes.try_into().ok()?);
        let name = param.name.clone();
        points(value).then_some(Parameter { number: index + 1, count: params.len(), name, value })
    };
    let mut found = params.iter().enumerate().filter_map(pointer);
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ir::Ty;
    use simt::memory::{AccessKind, Addr, MemoryMap, Request};

    #[test]
    fn the_parameter_that_points_to_the_access_is_found() {
        let mut map = MemoryMap::new();
        let [a, b] = ["a", "b"].map(|n| map.allocate_with(Request::global(n, 64)).unwrap().0);
        let param = |name: &str, offset| Param {
            name: name.to_owned(),
            ty: Ty::U64,
            offset,
            size: 8,
            align: 8,
            pointer: None,
        };
        let params = [param("x", 0), param("y", 8)];
        let host = 0x7ffd_0000_1000u64;
        let found = |values: [u64; 2], addr: u64| {
            let block = values.map(u64::to_le_bytes).concat();
            let error = map.check(AccessKind::Store, Addr(addr), 4, 4).unwrap_err();
            parameter(&params, &block, &error).map(|p| (p.number, p.name))
        };
        assert_eq!(found([a, b], b + 64), Some((2, "y".to_owned())));
        assert_eq!(found([a, b + 8], b + 64), Some((2, "y".to_owned())));
        assert_eq!(found([b, b], b + 64), None);
        assert_eq!(found([a, 7], b + 64), None);
        assert_eq!(found([a, host], host + 40), Some((2, "y".to_owned())));
    }
}
