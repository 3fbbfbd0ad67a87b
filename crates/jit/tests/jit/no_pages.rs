//! Kernels run on a host that refuses pages for code. The refusal is permanent for its process, so
//! the test runs itself again in a process of its own.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

use crate::harness::LEVELS;
use crate::harness::common::launches;
use crate::harness::common::observed::{Exact, bytes};
use ir::FuncId;
use jit::{Ready, Refused};
use std::process::Command;

/// Forbids executable pages to this process from now on; returns whether the host supports that.
#[allow(unsafe_code, reason = "there is no other way to ask for it")]
fn refuse_code() -> bool {
    // SAFETY: the call takes only numbers, and this process needs no new code: its libraries are
    // loaded.
    unsafe { libc::prctl(libc::PR_SET_MDWE, libc::PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0) == 0 }
}

/// Set in the process that refuses pages.
const REFUSING: &str = "SIMTLAB_TEST_REFUSES_CODE";

#[test]
fn the_interpreter_runs_if_code_pages_are_refused() {
    if std::env::var_os(REFUSING).is_none() {
        let this = std::env::current_exe().expect("this program has a path");
        let test = "no_pages::the_interpreter_runs_if_code_pages_are_refused";
        let child = Command::new(this).args(["--exact", test]).env(REFUSING, "1").output();
        let child = child.expect("it starts again");
        let output = String::from_utf8_lossy(&child.stdout);
        assert!(child.status.success() && output.contains("1 passed"), "{output}");
        return;
    }
    // Linux supports it since 6.3.
    if !refuse_code() {
        return;
    }
    let text = "kernel @k(a: u64 global) {
  reg %t: b32
  reg %a, %wide: b64
entry:
  %a = ld.param.u64 [@a]
  %t = sreg.u32 tid.x
  %wide = mulwide.u32 %t, 4
  %a = add.u64 %a, %wide
  st.global.u32 [%a], %t
  ret
}
";
    let module = ir::text::parse(isa::FileId::default(), text).expect("it is right");
    let (program, mut launch) = launches::launch(&module, FuncId(0), 0);
    launch.block = [100, 1, 1];
    let buffer = launch.memory.allocate("a", 400).expect("room");
    launch.params = buffer.0.to_le_bytes().to_vec();
    let exact = Exact::new(&program, &launch);
    for level in LEVELS.into_iter().filter(|level| level.is_available()) {
        for detailed in [false, true] {
            let mut state = vm::begin_bare(&program, launch.clone()).expect("it launches");
            let kernel = fast::prepare(&program, &state, true).expect("it is taken");
            let ready = Ready::new(kernel, level, detailed);
            let coverage = ready.coverage();
            assert!(matches!(coverage, Some(Err(Refused::Memory(_)))), "{coverage:?}");
            let finished = ready.run(&mut state, &mut |_, _| true).expect("it ends");
            assert_eq!(
                (finished.stats, bytes(&finished.memory)),
                (exact.stats, exact.memory.clone())
            );
        }
    }
}
