//! Loads modules under a limit of the address space: the status is that of a device without memory,
//! and the process continues.

#![cfg(target_os = "linux")]

use std::process::Command;

use crate::common::{at, is, ok};
use cuda::Status;
use cuda::exports::code::cuModuleLoadData;
use cuda::exports::free::cuInit;
use cuda::exports::general::cuCtxCreate_v2;

/// The address space of the limited process in KiB.
const LIMIT: usize = 1 << 20;

#[test]
fn texts_that_need_more_memory_than_there_is_are_refused() {
    let script = format!(
        "ulimit -v {LIMIT} && exec \"$0\" --exact memory_limit::under_a_limit --ignored --nocapture"
    );
    let this = std::env::current_exe().unwrap();
    let child = Command::new("sh").arg("-c").arg(script).arg(this).output().unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && said.contains("1 passed"), "{child:?}");
}

#[test]
#[ignore = "run by the other test, in a process with a limit"]
fn under_a_limit() {
    ok(cuInit(0));
    let mut context = 0_u64;
    ok(cuCtxCreate_v2(at(&mut context), 0, 0));
    let load = |instructions: usize| {
        let body = "mov.u32 %r1, %r2;\n".repeat(instructions);
        let text = format!(
            ".version 8.0 .target sm_80 .address_size 64 .entry k() {{ .reg .b32 %r<3>; {body} ret; }}\0"
        );
        let mut module = 0_u64;
        cuModuleLoadData(at(&mut module), text.as_ptr().addr())
    };
    // 36 MB of text, which would take more than 1 GiB to read.
    is(load(2_000_000), Status::OUT_OF_MEMORY);
    ok(load(10));
}
