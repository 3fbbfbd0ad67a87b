//! Texture and surface references: module variables that the client binds to memory.

use cuda_abi::{CUDA_TEXTURE_DESC, CUarray_format};

/// A texture or surface reference.
#[derive(Clone, Debug)]
pub(crate) struct Reference {
    pub(crate) context: u64,
    /// The module and the variable's address; `None` for a reference that the client has made.
    pub(crate) variable: Option<(u64, u64)>,
    pub(crate) surface: bool,
    pub(crate) bound: Bound,
    /// The format and the number of channels of memory that is no array.
    pub(crate) format: (i32, u32),
    /// How it is sampled.
    pub(crate) texture: CUDA_TEXTURE_DESC,
}

impl Reference {
    /// A reference to nothing.
    pub(crate) fn new(context: u64, variable: Option<(u64, u64)>, surface: bool) -> Self {
        Self {
            context,
            variable,
            surface,
            bound: Bound::Nothing,
            format: (CUarray_format::FLOAT as i32, 1),
            texture: cuda_abi::Abi::zeroed(),
        }
    }
}

/// What a reference is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bound {
    Nothing,
    Array(u64),
    Mipmapped(u64),
    Linear { address: u64, bytes: u64 },
    Pitched { address: u64, width: u64, height: u64, pitch: u64 },
}
