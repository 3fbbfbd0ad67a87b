//! The exported functions: names, arguments, and implementations.
#![allow(unsafe_code, reason = "functions with C names")]
#![allow(non_snake_case, reason = "names as C programs write them")]
#![allow(missing_docs, reason = "the public documentation of these functions is NVIDIA's")]

use std::panic::{AssertUnwindSafe, catch_unwind};

use cuda_abi::host::{Ptr, get_list, name_bytes};
use cuda_abi::{Outcome, Status};

pub mod jit_link;
pub mod ptx_compiler;

/// The maximum size of an input in bytes.
const MAX_INPUT: usize = 1 << 30;

/// Runs a call, and returns its status; `internal` is that of a panic.
fn enter(internal: i32, body: impl FnOnce() -> Result<(), i32>) -> i32 {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(Err(internal)).err().unwrap_or(0)
}

/// Reads a list of C strings. What is not UTF-8 is replaced: no option has it.
fn words(count: usize, list: Ptr) -> Outcome<Vec<String>> {
    if count == 0 {
        return Ok(Vec::new());
    }
    let addresses = get_list::<u64>(list, count)?;
    addresses.into_iter().map(|address| text(address as Ptr)).collect()
}

fn text(at: Ptr) -> Outcome<String> {
    Ok(String::from_utf8_lossy(&name_bytes(at)?).into_owned())
}

/// Reads an input.
fn input(at: Ptr, len: usize) -> Outcome<Vec<u8>> {
    if at == 0 || len == 0 || len > MAX_INPUT {
        return Err(Status::INVALID_VALUE);
    }
    images::read_client(at as u64, len).ok_or(Status::INVALID_VALUE)
}
