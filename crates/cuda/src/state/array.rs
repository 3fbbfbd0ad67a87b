//! Arrays, and texture and surface objects.

use std::collections::BTreeMap;

use runtime::texture::Shape;

/// An array, with levels or as one of them.
#[derive(Clone, Debug)]
pub(crate) struct Array {
    pub(crate) shape: Shape,
    /// Where its elements are.
    pub(crate) address: u64,
    pub(crate) context: u64,
    /// The flags with which it was made.
    pub(crate) flags: u32,
    /// The number of its format, as the client gave it.
    pub(crate) format: i32,
    /// The mipmapped array of which it is a level; 0 for an array of its own.
    pub(crate) parent: u64,
}

/// A texture or surface object: its handle is its address on the device.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    pub(crate) context: u64,
    /// The client's descriptions: of the resource, of the texture, of the view if there is one.
    pub(crate) resource: Vec<u8>,
    pub(crate) texture: Vec<u8>,
    pub(crate) view: Option<Vec<u8>>,
}

/// All of them by handle.
#[derive(Debug, Default)]
pub(crate) struct Textures {
    pub(crate) arrays: BTreeMap<u64, Array>,
    pub(crate) mipmapped: BTreeMap<u64, Array>,
    pub(crate) objects: BTreeMap<u64, Object>,
    pub(crate) surfaces: BTreeMap<u64, Object>,
}
