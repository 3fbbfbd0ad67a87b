//! Functions that return the addresses of functions, their own included.

use std::sync::OnceLock;

use cuda_abi::host::Ptr;
use rustc_hash::FxHashMap;

use super::table;
use crate::entry::outside;
use crate::proc_address;

/// Returns the address of an exported function.
fn address(symbol: &str) -> Option<usize> {
    static ADDRESSES: OnceLock<FxHashMap<&'static str, usize>> = OnceLock::new();
    let all = || table::implemented().chain(table::missing()).chain(list()).collect();
    ADDRESSES.get_or_init(all).get(symbol).copied()
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGetProcAddress(name: Ptr, out: Ptr, version: i32, flags: u64) -> i32 {
    outside(|| proc_address::get(name, out, version, flags, 0, address))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGetProcAddress_v2(
    name: Ptr,
    out: Ptr,
    version: i32,
    flags: u64,
    result: Ptr,
) -> i32 {
    outside(|| proc_address::get(name, out, version, flags, result, address))
}

cuda_abi::exports_list! { cuGetProcAddress cuGetProcAddress_v2 }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_symbol_of_the_versions_exists() {
        let missing: Vec<&str> = proc_address::symbols().filter(|s| address(s).is_none()).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
