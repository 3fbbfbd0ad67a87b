//! Kernels that call functions: inlined where results stay the same, declined otherwise.

use crate::common::both::{Count, compare};
use crate::common::calls::{LEFT, OWN_VARIABLE, TAKEN};
use crate::common::launches::with_buffers;
use crate::common::observed::Exact;
use fast::{Declined, Level};
use ir::testing::Rng;
use simt::machine::{Machine, Step};
use vm::{Engine, Launch, Program};

#[test]
fn calls_end_the_same() {
    for (name, text) in TAKEN {
        for seed in 0..14 {
            let mut count = Count::default();
            let mut one = |program: &_, launch: &_| {
                compare(program, launch, &mut count).map_err(|what| format!("{name}: {what}"))
            };
            with_buffers(text, &mut Rng::new(seed), seed, &mut one);
            assert!(count.compared > 0 && count.refused == 0, "{name}, {seed}: {count:?}");
        }
    }
}

#[test]
fn some_calls_are_declined() {
    for (why, text) in LEFT {
        let mut one = |program: &Program, launch: &Launch<1>| {
            let state = Engine::<1>.launch(program, launch.clone()).map_err(|e| e.to_string())?;
            let refused = fast::prepare(program, &state, true).map(|_| ());
            assert_eq!(refused, Err(Declined::Kernel(why)));
            Ok(())
        };
        with_buffers(text, &mut Rng::new(1), 1, &mut one);
    }
}

/// Functions that all may call each other: copies would take time and memory with the square of
/// their number.
#[test]
fn calls_by_address_to_many_functions_are_declined() {
    let text = |count: usize| {
        let mut text = format!("global @table size {} align 8\n", 8 * count);
        (0..count).for_each(|i| text += &format!("  reloc {}: u64 @f{i}\n", 8 * i));
        text += "kernel @k(n: u32, a: u64 global, b: u64 global) {
  reg %f: b64
entry:
  %f = ld.global.u64 [@table]
  calli %f()
  ret
}
";
        for i in 0..count {
            text += &format!(
                "func @f{i}() {{
  reg %f: b64
entry:
  %f = ld.global.u64 [@table + {}]
  calli %f()
  ret
}}
",
                8 * (i * 7 % count)
            );
        }
        text
    };
    let reasons = [
        (10, None),
        (500, Some("it becomes too large with what it calls")),
        (600, Some("its calls by address may lead to no function, or to too many")),
    ];
    for (count, reason) in reasons {
        let mut one = |program: &Program, launch: &Launch<1>| {
            let state = Engine::<1>.launch(program, launch.clone()).map_err(|e| e.to_string())?;
            let declined = fast::prepare(program, &state, true).map(|_| ()).err();
            assert_eq!(declined, reason.map(Declined::Kernel), "{count}");
            Ok(())
        };
        with_buffers(&text(count), &mut Rng::new(1), 1, &mut one);
    }
}

/// The stack of recursion depends on the lanes: a launch is declined while it runs.
#[test]
fn a_stack_overflow_of_recursion_is_declined() {
    let recursive = TAKEN.iter().filter(|(name, _)| name.contains("itself"));
    for (name, text) in recursive {
        let mut both = [0; 2];
        let mut one = |program: &Program, launch: &Launch<1>| {
            for limit in (0..3000).step_by(56) {
                let launch = Launch { stack_limit: limit, ..launch.clone() };
                let mut state =
                    Engine::<1>.launch(program, launch.clone()).map_err(|e| e.to_string())?;
                let fits = Exact::new(program, &launch).end == Step::Done;
                let mut go_on = |_, _| true;
                let ran = fast::prepare(program, &state, true).and_then(|kernel| {
                    fast::run(&kernel, &mut state, Level::best(), false, &mut go_on)
                });
                // A function that it might call may need more than there is.
                assert!(fits || ran.is_err(), "{name}: {limit} bytes");
                both[usize::from(ran.is_ok())] += 1;
            }
            Ok(())
        };
        with_buffers(text, &mut Rng::new(1), 1, &mut one);
        assert!(both.iter().all(|&n| n > 2), "{name}: {both:?}");
    }
}

/// Local memory has room for frames of recursion up to a size; the exact engine allocates more.
#[test]
fn frames_beyond_local_memory_are_declined() {
    let frame = 256;
    let text = OWN_VARIABLE.replace("size 8 align 8", &format!("size {frame} align 8"));
    for (calls, fits) in [(60, true), (63, true), (64, false), (70, false)] {
        let text = text.replace("call @down(%lane)", "call @down(%t)");
        let text = text.replace("  %v = call", &format!("  %t = mov.u32 {calls}\n  %v = call"));
        let mut one = |program: &Program, launch: &Launch<1>| {
            let mut state =
                Engine::<1>.launch(program, launch.clone()).map_err(|e| e.to_string())?;
            assert_eq!(Exact::new(program, launch).end, Step::Done);
            let kernel = fast::prepare(program, &state, true).expect("it is taken");
            let mut go_on = |_, _| true;
            let ran = fast::run(&kernel, &mut state, Level::best(), false, &mut go_on);
            let why = "its calls need more local memory than a thread has";
            assert_eq!(ran.err(), (!fits).then_some(Declined::Running(why)), "{calls} calls");
            Ok(())
        };
        with_buffers(&text, &mut Rng::new(1), 1, &mut one);
    }
}

#[test]
fn a_stack_overflow_is_declined() {
    let (_, text) = TAKEN[2];
    let mut both = [0; 2];
    let mut one = |program: &Program, launch: &Launch<1>| {
        for limit in (0..400).step_by(8) {
            let launch = Launch { stack_limit: limit, ..launch.clone() };
            let state = Engine::<1>.launch(program, launch.clone()).map_err(|e| e.to_string())?;
            let fits = Exact::new(program, &launch).end == Step::Done;
            assert_eq!(fast::prepare(program, &state, true).is_ok(), fits, "{limit} bytes");
            both[usize::from(fits)] += 1;
        }
        Ok(())
    };
    with_buffers(text, &mut Rng::new(1), 1, &mut one);
    assert!(both.iter().all(|&n| n > 5), "{both:?}");
}
