//! Kernels that wait in a loop.

use super::launches;
use fast::{Declined, Finished, Kernel, LaunchObserver};
use ir::FuncId;
use simt::machine::Machine;
use vm::{Engine, State};

/// How an engine runs a launch.
type Run<'r> =
    &'r dyn Fn(Kernel, &mut State<1>, &mut dyn LaunchObserver) -> Result<Finished, Declined>;

/// Returns how a kernel ends with one block of two warps and a buffer, where it is stopped after
/// so many issues.
pub(crate) fn ends(text: &str, issues: u64, run: Run<'_>) -> Result<bool, Declined> {
    let module = ir::text::parse(isa::FileId::default(), text)
        .unwrap_or_else(|d| panic!("{:#?}", d.iter().collect::<Vec<_>>()));
    let (program, mut launch) = launches::launch(&module, FuncId(0), 0);
    (launch.grid, launch.block) = ([1, 1, 1], [64, 1, 1]);
    let buffer = launch.memory.allocate("a", 256).expect("room");
    let content: Vec<u8> = (0..256u32).map(|i| (i * 37) as u8).collect();
    launch.memory.host_write(buffer, &content).expect("it is there");
    launch.params = buffer.0.to_le_bytes().to_vec();
    let mut state = Engine::<1>.launch(&program, launch).expect("it launches");
    let kernel = fast::prepare(&program, &state, true).expect("it is taken");
    let mut observer = |_, issued| issued < issues;
    run(kernel, &mut state, &mut observer).map(|finished| finished.done)
}

/// Lanes wait for a word to become 0; `%i` counts, by row `%v` too. `%at` differs by
/// lane, `%z` is 0.
pub(crate) fn spin(test: &str) -> String {
    format!(
        "kernel @k(a: u64 global) {{
  reg %t, %i, %v, %n, %w, %z: b32
  reg %a, %at: b64
  reg %p: pred
entry:
  %a = ld.param.u64 [@a]
  %t = sreg.u32 tid.x
  %i = mov.b32 0
  %z = and.b32 %t, 128
  %v = and.b32 %t, 7
  %at = mulwide.u32 %v, 4
  %at = add.u64 %at, %a
  %v = mov.b32 %t
  %p = setp.lt.u32 %t, 40
  @%p br again
other:
  %t = add.u32 %t, 1
again:
  %n = ld.volatile.global.u32 [%a+4]
  %i = add.u32 %i, 1
  %v = mad.u32 %v, %v, %i
{test}
  @%p br again
done:
  st.global.u32 [%a], %i
  st.global.u32 [%a+4], %v
  ret
}}
"
    )
}
