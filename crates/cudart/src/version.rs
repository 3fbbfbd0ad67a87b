//! Which version of the interface this library is: that of the name under which it was loaded.

use std::sync::OnceLock;

/// The first version whose structures and arguments are others.
const NEW: i32 = 13;

/// 12 or 13.
pub(crate) fn major() -> i32 {
    static MAJOR: OnceLock<i32> = OnceLock::new();
    *MAJOR.get_or_init(|| match crate::driver::own_file() {
        Some(file) if file.ends_with(".13") || file.contains(".so.13.") => NEW,
        _ => 12,
    })
}

/// Whether it is version 13 or later.
pub(crate) fn is_new() -> bool {
    major() >= NEW
}

/// As CUDA writes it.
pub(crate) fn number() -> i32 {
    if is_new() { 13000 } else { 12090 }
}
