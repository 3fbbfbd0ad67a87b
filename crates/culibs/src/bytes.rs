//! Values as bytes.

use bytemuck::Pod;

/// Returns the value with these bytes, if they are as many as it has.
#[must_use]
pub fn from_bytes<T: Pod>(bytes: &[u8]) -> Option<T> {
    bytemuck::try_pod_read_unaligned(bytes).ok()
}
