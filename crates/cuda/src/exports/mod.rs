//! The exported functions: names, arguments, and implementations.
//!
//! Pointers and handles are numbers here: this crate does not dereference a client's pointer,
//! except to call a function that the client passes. Names with `_ptds` and `_ptsz` are for
//! programs compiled for a default stream per thread.
#![allow(unsafe_code, reason = "functions with C names, and calls of functions that clients give")]
#![allow(non_snake_case, reason = "names as C programs write them")]
#![allow(missing_docs, reason = "the public documentation of these functions is CUDA's")]
#![allow(clippy::too_many_arguments, reason = "as many as the interface says")]

use std::sync::OnceLock;

use rustc_hash::FxHashMap;

/// Exports functions that enter the driver.
macro_rules! exports {
    ($($($name:ident)|+ ($($args:tt)*) => |$d:ident| $body:expr;)+) => {
        $(exports!(@names [$($name)|+] ($($args)*) $d $body);)+

        /// Lists names and addresses.
        pub(super) fn list() -> Vec<(&'static str, usize)> {
            vec![$($((stringify!($name), $name as *const () as usize)),+),+]
        }
    };
    (@names [$($name:ident)|+] $args:tt $d:ident $body:expr) => {
        $(exports!(@one $name $args $d $body);)+
    };
    (@one $name:ident ($($arg:ident: $ty:ty),* $(,)?) $d:ident $body:expr) => {
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($($arg: $ty),*) -> i32 {
            $crate::driver::enter_with(
                stringify!($name),
                &|| runtime::arguments(&[$((stringify!($arg), stringify!($ty), &$arg)),*]),
                |$d| $body,
            )
        }
    };
}

pub mod code;
pub mod copies;
pub mod free;
pub mod general;
pub mod graphs;
pub mod memory;
pub mod missing;

/// Iterates over the names and addresses of the implemented functions.
fn done() -> impl Iterator<Item = (&'static str, usize)> {
    let lists = [
        general::list(),
        memory::list(),
        copies::list(),
        code::list(),
        graphs::list(),
        free::list(),
    ];
    lists.into_iter().flatten()
}

/// Returns the address of an exported function.
pub(crate) fn address(symbol: &str) -> Option<usize> {
    static ADDRESSES: OnceLock<FxHashMap<&'static str, usize>> = OnceLock::new();
    let addresses = ADDRESSES.get_or_init(|| done().chain(missing::list()).collect());
    addresses.get(symbol).copied()
}

/// Returns the names of all exported functions, and whether each is implemented.
#[must_use]
pub fn names() -> Vec<(&'static str, bool)> {
    let done = done().map(|(name, _)| (name, true));
    done.chain(missing::list().into_iter().map(|(name, _)| (name, false))).collect()
}
