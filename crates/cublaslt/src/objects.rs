//! Descriptors: lists of attributes, each of a size. A client has a descriptor's handle, or memory
//! that the descriptor was made in, which then holds the handle.

use std::collections::BTreeMap;

use culibs::device::{get_host, get_host_list, put_host, put_host_list};
use culibs::handles::Handles;
use culibs::{Error, Outcome, Pod, Ptr};

/// A kind of descriptor: the size of each attribute in bytes, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ObjectKind {
    Layout,
    Matmul,
    Transform,
    Preference,
}

impl ObjectKind {
    fn size(self, attribute: i32) -> Outcome<usize> {
        let size = match (self, attribute) {
            (Self::Layout, 0 | 1 | 5 | 8) => Some(4),
            (Self::Layout, 2 | 3 | 4 | 6 | 7) => Some(8),
            (Self::Matmul, 0..=7 | 15 | 22 | 26..=28 | 31..=35 | 37) => Some(4),
            (Self::Matmul, 25) => Some(1),
            (Self::Matmul, 8 | 10..=14 | 17..=21 | 23 | 24 | 29 | 30 | 36) => Some(8),
            (Self::Transform, 0..=3) => Some(4),
            (Self::Preference, 0 | 3 | 5..=9) => Some(4),
            (Self::Preference, 1 | 12) => Some(8),
            (Self::Matmul, 38..=41) | (Self::Preference, 13..=15) => {
                return Err(Error::Refused(c"of groups and of emulated arithmetic"));
            }
            _ => None,
        };
        size.ok_or(Error::InvalidValue)
    }
}

/// A descriptor: the attributes that were set, as bytes.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    kind: ObjectKind,
    values: BTreeMap<i32, Vec<u8>>,
}

static OBJECTS: Handles<Object> = Handles::new(0x60_0000_0000);

/// What memory of a client begins with that a descriptor was made in; then comes the handle.
const MARK: u64 = 0x7369_6d74_6c61_624c;

impl Object {
    pub(crate) fn new(kind: ObjectKind) -> Self {
        Self { kind, values: BTreeMap::new() }
    }

    /// Sets an attribute.
    #[must_use]
    pub(crate) fn with<T: Pod>(mut self, attribute: i32, value: T) -> Self {
        self.values.insert(attribute, culibs::bytes_of(&value).to_vec());
        self
    }

    /// Returns an attribute, or zero if it was not set.
    pub(crate) fn get<T: Pod>(&self, attribute: i32) -> T {
        self.get_or(attribute, T::zeroed())
    }

    /// Returns an attribute, or another value if it was not set.
    pub(crate) fn get_or<T: Pod>(&self, attribute: i32, other: T) -> T {
        self.values.get(&attribute).and_then(|bytes| culibs::from_bytes(bytes)).unwrap_or(other)
    }
}

pub(crate) fn create(out: Ptr, object: Object) -> Outcome {
    let handle = OBJECTS.add(object);
    put_host(out, handle).inspect_err(|_| drop(OBJECTS.remove(handle)))
}

/// Makes a descriptor in memory of the client.
pub(crate) fn make(at: Ptr, size: usize, object: Object) -> Outcome {
    if size < 64 {
        return Err(Error::InvalidValue);
    }
    let handle = OBJECTS.add(object);
    put_host_list(at, &[MARK, handle]).inspect_err(|_| drop(OBJECTS.remove(handle)))
}

/// Returns the handle of a descriptor that a client passes.
fn handle(descriptor: u64) -> Outcome<u64> {
    if OBJECTS.has(descriptor) {
        return Ok(descriptor);
    }
    match get_host::<[u64; 2]>(descriptor as Ptr)? {
        [MARK, handle] => Ok(handle),
        _ => Err(Error::InvalidValue),
    }
}

pub(crate) fn destroy(descriptor: u64) -> Outcome {
    OBJECTS.remove(handle(descriptor)?).map(drop).map_err(|_| Error::InvalidValue)
}

/// Returns a descriptor of a kind.
pub(crate) fn find(descriptor: u64, kind: ObjectKind) -> Outcome<Object> {
    let object = OBJECTS.get(handle(descriptor)?).map_err(|_| Error::InvalidValue)?;
    if object.kind == kind { Ok(object) } else { Err(Error::InvalidValue) }
}

pub(crate) fn set(
    descriptor: u64,
    kind: ObjectKind,
    attribute: i32,
    from: Ptr,
    size: usize,
) -> Outcome {
    find(descriptor, kind)?;
    let needed = kind.size(attribute)?;
    if size < needed {
        return Err(Error::InvalidValue);
    }
    let value: Vec<u8> = get_host_list(from, needed)?;
    OBJECTS.with(handle(descriptor)?, |object| {
        object.values.insert(attribute, value);
        Ok(())
    })
}

/// Writes an attribute, or its size if `size` is 0.
pub(crate) fn get(
    descriptor: u64,
    kind: ObjectKind,
    attribute: i32,
    to: Ptr,
    size: usize,
    written: Ptr,
) -> Outcome {
    let object = find(descriptor, kind)?;
    let needed = kind.size(attribute)?;
    if size != 0 && size < needed {
        return Err(Error::InvalidValue);
    }
    if size != 0 {
        let value = object.values.get(&attribute).cloned().unwrap_or_else(|| vec![0; needed]);
        put_host_list(to, &value)?;
    }
    if written != 0 || size == 0 {
        put_host(written, needed)?;
    }
    Ok(())
}
