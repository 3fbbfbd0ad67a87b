//! Compares launches on several host threads with the exact engine: memory and statistics must be
//! equal for any kernel.

use crate::common::both::{Count, compare};
use crate::common::launches::{independent, number, of_ctas};
use fast::{Level, Threads};
use simt::machine::Machine;
use std::io::Write;
use vm::Engine;

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let mut count = Count::default();
    independent(0..80, &mut |program, launch| compare(program, launch, &mut count));
    assert!(count.parallel > 60 && count.sequential > 100, "{count:?}");
}

/// Returns the number of threads that run the work of a launch, after a comparison with the exact
/// engine.
fn threads_of(work: &str) -> Threads {
    let (program, launch) = of_ctas(work);
    compare(&program, &launch, &mut Count::default()).expect("no difference");
    let state = Engine::<1>.launch(&program, launch).expect("it launches");
    let kernel = fast::prepare(&program, &state, true).expect("it is decoded");
    let kernel = kernel.on_threads(3).eagerly();
    let ended = fast::run(&kernel, state, Level::Portable, false, &mut |_, _| true);
    ended.expect("it ends").threads
}

#[test]
fn ctas_with_bytes_of_their_own_run_at_once() {
    // CTAs write words that other CTAs write, too, which claims would refuse.
    let apart = [
        "%at = cvt.u64.u32 %i
         %y = add.u64 %y, %at
         st.global.u8 [%y], %t",
        "%at = mulwide.u32 %i, 2
         %y = add.u64 %y, %at
         %j = ld.global.u16 [%y]
         %j = add.u32 %j, %t
         st.global.u16 [%y], %j",
        // In turns of all CTAs: a CTA has every hundredth group of bytes.
        "again:
         %at = cvt.u64.u32 %i
         %at = add.u64 %y, %at
         st.global.u8 [%at], %t
         %i = add.u32 %i, 3300
         %p = setp.lt.u32 %i, 9900
         @%p br again",
    ];
    for work in apart {
        assert_eq!(threads_of(work), Threads::Many(3), "{work}");
    }
}

#[test]
fn ctas_that_meet_do_not_run_at_once() {
    // A CTA reads what others write: at a loaded place, at a place that a loop has computed, and a
    // word further. In the last one, a CTA changes a word that another one stores.
    let meet = [
        "%at = mulwide.u32 %i, 4
         %x = add.u64 %x, %at
         %j = ld.global.u32 [%x]
         %j = min.u32 %j, 3200
         %x = mulwide.u32 %j, 4
         %x = add.u64 %y, %x
         %j = ld.global.u32 [%x]
         %y = add.u64 %y, %at
         st.global.u32 [%y], %j",
        "%at = mulwide.u32 %i, 4
         %at = add.u64 %y, %at
        again:
         %j = ld.global.u32 [%y]
         %t = add.u32 %t, %j
         %y = add.u64 %y, 1024
         %p = setp.lt.u64 %y, %at
         @%p br again
        end:
         st.global.u32 [%at], %t",
        "again:
         %at = cvt.u64.u32 %i
         %at = add.u64 %y, %at
         st.global.u8 [%at], %t
         %i = add.u32 %i, 3190
         %p = setp.lt.u32 %i, 9900
         @%p br again",
        "%j = add.u32 %i, 1
         %j = min.u32 %j, 3200
         %at = mulwide.u32 %j, 4
         %at = add.u64 %y, %at
         %t = ld.global.u32 [%at]
         %at = mulwide.u32 %i, 4
         %at = add.u64 %y, %at
         st.global.u32 [%at], %t",
        "%at = mulwide.u32 %i, 4
         %at = add.u64 %y, %at
         st.global.u32 [%at], %t
         %j = sub.u32 3200, %i
         %at = mulwide.u32 %j, 4
         %at = add.u64 %y, %at
         atom.add.global.u32 [%at], %i",
    ];
    for work in meet {
        assert!(matches!(threads_of(work), Threads::One(_)), "{work}");
    }
}

/// Run with `KERNELS=100000 SEED=1 cargo test -p simtlab-fast --release --test threads -- --ignored
/// --nocapture`.
#[test]
#[ignore = "a campaign"]
fn many_kernels_end_the_same() {
    let (first, kernels) = (number("SEED", 1) << 32, number("KERNELS", 1000));
    let mut count = Count::default();
    independent(first..first + kernels, &mut |program, launch| {
        compare(program, launch, &mut count)
    });
    assert!(count.parallel > 0, "{count:?}");
    let _ = writeln!(std::io::stdout(), "{count:?}");
}
