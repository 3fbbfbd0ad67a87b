//! The exported functions: names, arguments, and implementations.
//!
//! Pointers and handles are numbers here. Names with `_ptds` and `_ptsz` are for programs compiled
//! for a default stream per thread. Arguments that differ between versions of the interface are
//! words, which each version reads in its own way.
#![allow(unsafe_code, reason = "functions with C names")]
#![allow(non_snake_case, reason = "names as C programs write them")]
#![allow(missing_docs, reason = "the public documentation of these functions is CUDA's")]
#![allow(clippy::too_many_arguments, reason = "as many as the interface says")]

/// Converts a literal to a C string.
macro_rules! c_name {
    ($name:expr) => {
        const {
            match std::ffi::CStr::from_bytes_with_nul(concat!($name, "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => c"",
            }
        }
    };
}

/// Exports functions that return a status.
macro_rules! exports {
    ($($($name:ident)|+ ($($args:tt)*) => $body:expr;)+) => {
        $(exports!(@names [$($name)|+] ($($args)*) $body);)+

        /// Names of these functions.
        pub(super) const NAMES: &[&str] = &[$($(stringify!($name)),+),+];
    };
    (@names [$($name:ident)|+] $args:tt $body:expr) => {
        $(exports!(@one $name $args $body);)+
    };
    (@one $name:ident ($($arg:ident: $ty:ty),* $(,)?) $body:expr) => {
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($($arg: $ty),*) -> i32 {
            $crate::state::call(
                c_name!(stringify!($name)),
                &|| hostmem::arguments(&[$((stringify!($arg), stringify!($ty), &$arg)),*]),
                || $body,
            )
        }
    };
}

pub mod code;
pub mod general;
pub mod graphs;
pub mod memory;
pub mod missing;
pub mod plain;

/// Returns the names of all exported functions, and whether each is implemented.
#[must_use]
pub fn names() -> Vec<(&'static str, bool)> {
    let done = [general::NAMES, graphs::NAMES, memory::NAMES, code::NAMES, plain::NAMES];
    let done = done.into_iter().flatten().map(|&name| (name, true));
    done.chain(missing::NAMES.iter().map(|&name| (name, false))).collect()
}
