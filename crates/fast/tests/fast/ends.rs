//! Launches that always end run without a journal: none of them may be declined.

use super::common::both::{Count, compare};
use super::common::elements::of_elements;
use super::common::launches::{number, of_ctas};
use super::common::observed::{Exact, bytes};
use fast::{Level, Threads};
use ir::testing::Rng;
use simt::machine::{Machine, Step};
use std::io::Write;
use vm::{Engine, Launch, Program};

fn always_ends(program: &Program, launch: &Launch<1>) -> bool {
    let mut state = Engine::<1>.launch(program, launch.clone()).expect("it launches");
    let kernel = fast::prepare(program, &state, true).expect("it is decoded");
    kernel.always_ends(&mut state)
}

/// Compares launches of random kernels; returns how many always end, and how many others end.
fn compare_elements(seeds: std::ops::Range<u64>) -> (u64, u64) {
    let (mut always, mut others) = (0, 0);
    for seed in seeds {
        let (text, program, launch) = of_elements(&mut Rng::new(seed));
        let ends = Exact::new(&program, &launch).end == Step::Done;
        let known = always_ends(&program, &launch);
        assert!(ends || !known, "{seed}: it does not end\n{text}");
        (always, others) = (always + u64::from(known), others + u64::from(ends && !known));
        compare(&program, &launch, &mut Count::default())
            .unwrap_or_else(|what| panic!("{seed}: {what}\n{text}"));
    }
    (always, others)
}

#[test]
fn launches_that_always_end_are_not_declined() {
    let (always, others) = compare_elements(0..120);
    assert!(always > 20 && others > 5, "{always} always end, {others} others end");
}

#[test]
fn accesses_decide_when_a_launch_always_ends() {
    let store = |before: &str, address: &str| format!("{before}\nst.global.u32 [{address}], %t");
    let own = "%at = mulwide.u32 %i, 4\n%at = add.u64 %y, %at";
    let cases = [
        (store(own, "%at"), true),
        (store("%at = mulwide.u32 %t, 4\n%at = add.u64 %y, %at", "%at"), true),
        // Beyond the end, before the beginning, and not aligned.
        (store(own, "%at+4"), false),
        (store(own, "%at-4"), false),
        (store("%at = mulwide.u32 %i, 2\n%at = add.u64 %y, %at", "%at"), false),
        // A place that memory tells.
        (
            store(
                "%at = mulwide.u32 %i, 4\n%at = add.u64 %x, %at\n%j = ld.global.u32 [%at]\n\
                 %at = mulwide.u32 %j, 2\n%at = add.u64 %y, %at",
                "%at",
            ),
            false,
        ),
        (
            store(
                &format!(
                    "%at = mulwide.u32 %i, 4\n%at = add.u64 %x, %at\n%j = ld.global.u32 [%at]\n\
                     %at = mulwide.u32 %j, 4\n%at = add.u64 %x, %at\n%t = ld.global.u32 [%at]\n{own}"
                ),
                "%at",
            ),
            false,
        ),
        // A number that wraps around between the threads of a warp.
        (
            store(
                &format!(
                    "{own}\n%j = add.u32 %i, 0xfffffff0\n%x = cvt.u64.u32 %j\n%t = cvt.u32.u64 %x"
                ),
                "%at",
            ),
            false,
        ),
        // A loop.
        (
            store(
                &format!(
                    "{own}\n%x = mov.u64 0\nagain:\n%x = add.u64 %x, 1\n\
                     %p = setp.lt.u64 %x, 9\n@%p br again\nend:"
                ),
                "%at",
            ),
            false,
        ),
        (store(&format!("{own}\nbar.sync 0"), "%at"), false),
    ];
    for (work, ends) in cases {
        let (program, launch) = of_ctas(&work);
        assert_eq!(always_ends(&program, &launch), ends, "{work}");
        compare(&program, &launch, &mut Count::default())
            .unwrap_or_else(|what| panic!("{what}\n{work}"));
    }
}

/// CTAs of the first launch all write one byte: the footprints of the kernel count as
/// of no use then. In the second launch, CTAs write different bytes of one word.
#[test]
fn a_launch_ends_after_one_whose_blocks_meet() {
    let work = "%j = sub.u32 %n, 3201
         %j = mul.u32 %i, %j
         %at = cvt.u64.u32 %j
         %y = add.u64 %y, %at
         st.global.u8 [%y], %t
         %at = mulwide.u32 %i, 2
         %x = add.u64 %x, %at
         st.global.u16 [%x], %t";
    let (program, first) = of_ctas(work);
    let mut second = first.clone();
    second.params[16..20].copy_from_slice(&3202u32.to_le_bytes());
    let begin = |launch: &Launch<1>| Engine::<1>.launch(&program, launch.clone()).expect("begins");
    let kernel = fast::prepare(&program, &begin(&first), true).expect("it is decoded");
    let kernel = kernel.on_threads(3).eagerly();
    for (launch, many) in [(&first, false), (&second, false)] {
        assert!(kernel.always_ends(&mut begin(launch)));
        let ended = fast::run(&kernel, begin(launch), Level::best(), false, &mut |_, _| true);
        let ended = ended.expect("it ends");
        assert_eq!(matches!(ended.threads, Threads::Many(_)), many);
        assert_eq!(bytes(&ended.memory), Exact::new(&program, launch).memory);
    }
    // Without the first launch, the second one runs on all threads.
    let fresh = fast::prepare(&program, &begin(&second), true).expect("it is decoded");
    let fresh = fresh.on_threads(3).eagerly();
    let ended = fast::run(&fresh, begin(&second), Level::best(), false, &mut |_, _| true);
    assert_eq!(ended.expect("it ends").threads, Threads::Many(3));
}

/// Run with `KERNELS=100000 SEED=1 cargo test --release --test fast -- --ignored --nocapture ends`.
#[test]
#[ignore = "a campaign"]
fn many_launches_that_always_end_are_not_declined() {
    let (first, kernels) = (number("SEED", 1) << 32, number("KERNELS", 1000));
    let (always, others) = compare_elements(first..first + kernels);
    let _ = writeln!(std::io::stdout(), "{always} always end, {others} others end");
}
