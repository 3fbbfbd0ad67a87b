//! Entry points by name and version (`cuGetProcAddress`).
//!
//! A name denotes different functions in different versions of the API. In the table
//! `data/versions.tsv`, it denotes the function of the row with the largest version that does not
//! exceed the requested one.

use std::sync::OnceLock;

use cuda_abi::host::{Ptr, name, put_i32, put_u64};
use cuda_abi::{CUdriverProcAddress_flags, CUdriverProcAddressQueryResult, Outcome, Status};
use rustc_hash::FxHashMap;

const TABLE: &str = include_str!("../data/versions.tsv");

/// The default stream that a function refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Streams {
    Legacy,
    PerThread,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
struct Row {
    version: i32,
    streams: Streams,
    symbol: &'static str,
}

fn rows() -> &'static FxHashMap<&'static str, Vec<Row>> {
    static ROWS: OnceLock<FxHashMap<&'static str, Vec<Row>>> = OnceLock::new();
    ROWS.get_or_init(|| {
        let mut rows: FxHashMap<&str, Vec<Row>> = FxHashMap::default();
        for (name, row) in table() {
            rows.entry(name).or_default().push(row);
        }
        rows
    })
}

fn table() -> impl Iterator<Item = (&'static str, Row)> {
    TABLE.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let mut fields = line.split('\t');
        let (name, version) = (fields.next()?, fields.next()?.parse().ok()?);
        let streams = if fields.next()? == "-" { Streams::Legacy } else { Streams::PerThread };
        Some((name, Row { version, streams, symbol: fields.next()? }))
    })
}

/// Iterates over all symbols in the table.
pub fn symbols() -> impl Iterator<Item = &'static str> {
    table().map(|(_, row)| row.symbol)
}

/// Returns the symbol that a name denotes in a version of the API.
pub(crate) fn symbol(name: &str, version: i32, streams: Streams) -> Outcome<&'static str> {
    let rows = rows().get(name).ok_or(Status::NOT_FOUND)?;
    let newest = |wanted: Streams| {
        let fit = rows.iter().filter(|r| r.streams == wanted && r.version <= version);
        fit.max_by_key(|r| r.version).map(|r| r.symbol)
    };
    let per_thread = if streams == Streams::PerThread { newest(Streams::PerThread) } else { None };
    per_thread.or_else(|| newest(Streams::Legacy)).ok_or(Status::NOT_SUPPORTED)
}

/// Looks up a function, whose address `find` returns by symbol. `result` receives the outcome.
pub(crate) fn get(
    text: Ptr,
    out: Ptr,
    version: i32,
    flags: u64,
    result: Ptr,
    find: impl FnOnce(&str) -> Option<usize>,
) -> Outcome {
    const PER_THREAD: u64 = CUdriverProcAddress_flags::PER_THREAD_DEFAULT_STREAM as u64;
    if out == 0 || flags > PER_THREAD {
        return Err(Status::INVALID_VALUE);
    }
    let streams = if flags == PER_THREAD { Streams::PerThread } else { Streams::Legacy };
    let found = symbol(&name(text)?, version, streams);
    let found = found.and_then(|s| find(s).ok_or(Status::NOT_FOUND));
    let (address, code) = match found {
        Ok(address) => (address, CUdriverProcAddressQueryResult::SUCCESS),
        Err(Status::NOT_SUPPORTED) => (0, CUdriverProcAddressQueryResult::VERSION_NOT_SUFFICIENT),
        Err(_) => (0, CUdriverProcAddressQueryResult::SYMBOL_NOT_FOUND),
    };
    put_u64(out, address as u64)?;
    if result != 0 {
        return put_i32(result, code as i32);
    }
    // Without `result`, the status reports the outcome.
    found.map(drop).map_err(|_| Status::NOT_FOUND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_select_the_symbol() {
        let of = |name: &str, version: i32| symbol(name, version, Streams::Legacy);
        assert_eq!(of("cuCtxCreate", 3020), Ok("cuCtxCreate_v2"));
        assert_eq!(of("cuCtxCreate", 12000), Ok("cuCtxCreate_v3"));
        assert_eq!(of("cuCtxCreate", 12050), Ok("cuCtxCreate_v4"));
        assert_eq!(of("cuDeviceGetUuid", 9020), Ok("cuDeviceGetUuid"));
        assert_eq!(of("cuDeviceGetUuid", 13000), Ok("cuDeviceGetUuid_v2"));
        assert_eq!(of("cuGraphInstantiate", 12000), Ok("cuGraphInstantiateWithFlags"));
        assert_eq!(of("cuEventElapsedTime", 12080), Ok("cuEventElapsedTime_v2"));
        assert_eq!(of("cuMemAlloc", 1000), Err(Status::NOT_SUPPORTED));
        assert_eq!(of("cuNothing", 13000), Err(Status::NOT_FOUND));
    }

    #[test]
    fn per_thread_streams_select_the_symbol() {
        let of = |name: &str| symbol(name, 12000, Streams::PerThread);
        assert_eq!(of("cuLaunchKernel"), Ok("cuLaunchKernel_ptsz"));
        assert_eq!(of("cuMemcpyHtoD"), Ok("cuMemcpyHtoD_v2_ptds"));
        assert_eq!(of("cuMemAlloc"), Ok("cuMemAlloc_v2"));
    }
}
