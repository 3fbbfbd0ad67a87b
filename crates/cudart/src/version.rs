//! The version of the interface, which follows the name under which this library was loaded.

use std::sync::OnceLock;

/// The first version with the new structures and arguments.
const NEW: i32 = 13;

/// Returns the major version: 12 or 13.
pub(crate) fn major() -> i32 {
    static MAJOR: OnceLock<i32> = OnceLock::new();
    *MAJOR.get_or_init(|| match crate::driver::own_file() {
        Some(file) if file.ends_with(".13") || file.contains(".so.13.") => NEW,
        _ => 12,
    })
}

/// Returns whether it is version 13 or later.
pub(crate) fn is_new() -> bool {
    major() >= NEW
}

/// Returns the version in CUDA's form.
pub(crate) fn number() -> i32 {
    if is_new() { 13000 } else { 12090 }
}
