//! Launches on large buffers whose pages are journalled window by window, and committed while the
//! launch runs.

use crate::harness::common::launches;
use crate::harness::common::observed::Exact;
use crate::harness::common::resumed::resumed;
use crate::harness::{Count, LEVELS, compare};
use ir::FuncId;
use simt::machine::Step;
use vm::{Launch, Program};

/// Words of the buffer.
const WORDS: u32 = 1 << 19;

/// Returns a launch of blocks of 256 threads, each of which changes the word at `index`; the thread
/// numbered `fault` accesses an address beyond all buffers.
fn program(index: &str, fault: u32) -> (Program, Launch<1>) {
    let text = format!(
        "kernel @k(a: u64 global) {{
  reg %t, %c, %i, %j, %v: b32
  reg %a, %at: b64
  reg %p: pred
entry:
  %a = ld.param.u64 [@a]
  %t = sreg.u32 tid.x
  %c = sreg.u32 ctaid.x
  %i = mad.u32 %c, 256, %t
{index}
  %at = mulwide.u32 %j, 4
  %at = add.u64 %a, %at
  %v = ld.global.u32 [%at]
  %v = mad.u32 %v, 5, %i
  st.global.u32 [%at], %v
  %p = setp.eq.u32 %i, {fault}
  @%p %at = add.u64 %at, 0x1000000000
  st.global.u32 [%at], %v
  ret
}}
"
    );
    let module = launches::parsed(&text);
    let (program, mut launch) = launches::launch(&module, FuncId(0), 0);
    (launch.grid, launch.block) = ([WORDS / 256, 1, 1], [256, 1, 1]);
    let buffer = launch.memory.allocate("a", 4 * u64::from(WORDS)).expect("room");
    let content: Vec<u8> = (0..WORDS).flat_map(|i| (i ^ i << 9).to_le_bytes()).collect();
    launch.memory.host_write(buffer, &content).expect("it is there");
    launch.params = buffer.0.to_le_bytes().to_vec();
    (program, launch)
}

/// Contiguous, reversed, and scattered.
const INDICES: [&str; 3] = [
    "  %j = mov.b32 %i",
    "  %j = sub.u32 524287, %i",
    "  %j = mul.u32 %i, 77777\n  %j = and.b32 %j, 524287",
];

#[test]
fn the_exact_engine_resumes_after_committed_ctas() {
    for (index, goes_through) in INDICES.into_iter().zip([true, true, false]) {
        for fault in [WORDS - 300, u32::MAX] {
            let (program, launch) = program(index, fault);
            let exact = Exact::new(&program, &launch);
            assert_eq!(matches!(exact.end, Step::Fault(_)), fault != u32::MAX);
            for level in LEVELS {
                for detailed in [false, true] {
                    let done =
                        resumed(&program, &launch, &exact, detailed, |state: &mut _, observer| {
                            let kernel = fast::prepare(&program, state, true)?;
                            jit::Ready::new(kernel, level, detailed).run(state, observer)
                        });
                    let done = done.unwrap_or_else(|what| panic!("{index} {level}: {what}"));
                    // With scattered stores, the journal keeps the whole buffer; the launch need
                    // not commit before its end.
                    assert!(!done || fault != u32::MAX);
                    assert!(done || fault == u32::MAX || !goes_through, "{index} {level}");
                }
            }
        }
    }
}

#[test]
fn windows_do_not_change_results() {
    for index in INDICES {
        let (program, launch) = program(index, u32::MAX);
        let mut count = Count::default();
        compare(&program, &launch, &mut count).unwrap_or_else(|what| panic!("{index}: {what}"));
    }
}

#[test]
fn ctas_with_bytes_of_their_own_run_at_once() {
    // CTAs write words that other CTAs write, too, which claims would refuse.
    let work = "%at = mulwide.u32 %i, 2
         %y = add.u64 %y, %at
         %j = ld.global.u16 [%y]
         %j = add.u32 %j, %t
         st.global.u16 [%y], %j";
    let mut count = Count::default();
    let (program, launch) = launches::of_ctas(work);
    compare(&program, &launch, &mut count).unwrap();
    assert!(count.compared == 2 * count.parallel, "{count:?}");
}
