//! Launches that are screened, in compiled code of each level and on the interpreter, have the
//! findings that they have with all events, and the same launches are refused: random kernels whose
//! threads meet in shared and global memory, with barriers, atomics, divergent paths, early
//! exits and values that nobody has written.
//!
//! `KERNELS=100000 cargo test --release --workspace --test screening -- --ignored` tries many;
//! `SEED` makes others of them.

#![allow(clippy::expect_used, clippy::panic, reason = "a test")]

use std::fmt::Write as _;

use engine::{Choice, EngineUsed, Level};
use findings::CheckSet;
use proptest::test_runner::{Config, RngSeed, TestRunner};

use runtime::{Context, Module, Settings, Shape};

/// Words of shared memory, and of each buffer.
const WORDS: u32 = 256;

/// What is done in a phase; numbers choose indices, sizes and lanes.
#[derive(Clone, Copy, Debug)]
enum Act {
    Load {
        shared: bool,
        index: u8,
        bytes: u8,
    },
    Store {
        shared: bool,
        index: u8,
        bytes: u8,
    },
    Atomic {
        shared: bool,
        index: u8,
        scope: u8,
    },
    /// Of 64 bits, or of two words.
    Wide {
        store: bool,
        shared: bool,
        index: u8,
    },
    Local {
        store: bool,
    },
    Barrier,
    Shuffle,
    /// The next act is done by some threads alone.
    Some(u8),
    /// Some threads end.
    Exit(u8),
    Fence,
    Volatile,
    /// A register is read that was never written.
    Unwritten,
}

/// Which threads a number chooses, as the comparison that `%p` holds.
fn some(which: u8) -> &'static str {
    match which % 8 {
        0 => "setp.lt.u32 %p, %t, 32;",
        1 => "setp.lt.u32 %p, %t, 16;",
        2 => "setp.eq.u32 %p, %t, 0;",
        3 => "setp.eq.u32 %p, %c, 0;",
        4 => "setp.ge.u32 %p, %t, 48;",
        5 => "and.b32 %x, %t, 1; setp.eq.u32 %p, %x, 0;",
        6 => "setp.ne.u32 %p, %c, 1;",
        _ => "setp.eq.u32 %p, %c, 1;",
    }
}

/// The index of the word, in `%x`.
fn index(which: u8) -> &'static str {
    match which % 9 {
        0..=3 => "mov.u32 %x, %all;",
        4 => "mov.u32 %x, %t;",
        5 => "xor.b32 %x, %t, 1;",
        6 => "add.u32 %x, %t, 1; and.b32 %x, %x, 63;",
        7 => "mov.u32 %x, 5;",
        _ => "shr.u32 %x, %t, 1;",
    }
}

fn access(text: &mut String, what: &str, (shared, which): (bool, u8)) {
    let base = if shared { "%words" } else { "%out" };
    let _ = writeln!(
        text,
        "{} cvt.u64.u32 %a, %x; shl.b64 %a, %a, 2; add.u64 %a, %a, {base};\n{what}",
        index(which)
    );
}

/// An access of 8 bytes.
fn wide_access(text: &mut String, store: bool, (shared, which): (bool, u8)) {
    let (base, space) = if shared { ("%words", "shared") } else { ("%out", "global") };
    let _ = writeln!(
        text,
        "{} and.b32 %x, %x, 127; mul.wide.u32 %a, %x, 8; add.u64 %a, %a, {base};",
        index(which)
    );
    let what = match (store, which % 2) {
        (true, 0) => format!("st.{space}.v2.b32 [%a], {{%v, %t}};"),
        (true, _) => format!("cvt.u64.u32 %b, %v; st.{space}.b64 [%a], %b;"),
        (false, 0) => format!("ld.{space}.v2.b32 {{%v, %w}}, [%a];"),
        (false, _) => format!("ld.{space}.b64 %b, [%a]; cvt.u32.u64 %v, %b;"),
    };
    let _ = writeln!(text, "{what}");
}

fn act(text: &mut String, act: Act) {
    let space = |shared: bool| if shared { "shared" } else { "global" };
    let ty = |bytes: u8| ["u8", "u16", "u32", "u32", "u32"][usize::from(bytes) % 5];
    match act {
        Act::Load { shared, index, bytes } => {
            let what = format!("ld.{}.{} %v, [%a];", space(shared), ty(bytes));
            access(text, &what, (shared, index));
        }
        Act::Store { shared, index, bytes } => {
            let what = format!("st.{}.{} [%a], %v;", space(shared), ty(bytes));
            access(text, &what, (shared, index));
        }
        Act::Atomic { shared, index, scope } => {
            let scope =
                [".relaxed.gpu", "", ".relaxed.cta", ".acq_rel.gpu"][usize::from(scope) % 4];
            let what = format!("atom{scope}.{}.add.u32 %v, [%a], 1;", space(shared));
            access(text, &what, (shared, index));
        }
        Act::Wide { store, shared, index } => wide_access(text, store, (shared, index)),
        Act::Local { store: true } => text.push_str("st.local.u32 [frame], %v;\n"),
        Act::Local { store: false } => text.push_str("ld.local.u32 %v, [frame];\n"),
        Act::Barrier => text.push_str("bar.sync 0;\n"),
        Act::Shuffle => text.push_str("shfl.sync.bfly.b32 %v, %v, 1, 31, -1;\n"),
        Act::Fence => text.push_str("fence.acq_rel.gpu;\n"),
        Act::Unwritten => text.push_str("mov.u32 %v, %u;\n"),
        Act::Volatile => access(text, "ld.volatile.shared.u32 %v, [%a];", (true, 0)),
        Act::Some(_) | Act::Exit(_) => {}
    }
}

/// A kernel that does something so many times, with a buffer of which a part has no contents.
fn kernel(acts: &[Act], times: u32) -> String {
    let mut text = format!(
        ".version 7.5\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out)\n{{\n\
         .reg .b32 %t, %c, %n, %all, %x, %v, %w, %u; .reg .b64 %a, %b, %out, %words;\n\
         .reg .pred %p, %q;\n\
         .shared .align 8 .b32 words[{WORDS}]; .local .align 4 .b32 frame[1];\n\
         ld.param.u64 %out, [out]; cvta.to.global.u64 %out, %out; mov.u64 %words, words;\n\
         mov.u32 %t, %tid.x; mov.u32 %c, %ctaid.x; mov.u32 %v, %t;\n\
         mad.lo.u32 %all, %c, 64, %t; mov.u32 %n, 0;\nagain:\n"
    );
    let mut guarded = None;
    for (number, &one) in acts.iter().enumerate() {
        if let Some(which) = guarded.take() {
            let _ = writeln!(text, "{} @!%p bra L{number};", some(which));
            act(&mut text, one);
            let _ = writeln!(text, "L{number}:");
        } else {
            act(&mut text, one);
        }
        match one {
            Act::Some(which) => guarded = Some(which),
            Act::Exit(which) => {
                let _ = writeln!(text, "{} @%p exit;", some(which));
            }
            _ => {}
        }
    }
    let _ = writeln!(text, "add.u32 %n, %n, 1; setp.lt.u32 %q, %n, {times};\n@%q bra again;");
    // What was computed decides something.
    text.push_str("setp.eq.u32 %q, %v, 77;\n@%q st.global.u32 [%out], %v;\nret;\n}\n");
    text
}

/// Findings as JSON, what the buffer holds, and whether all launches ran on the fast engine.
type Run = (Vec<serde_json::Value>, Vec<u8>, bool);

/// What runs launches: the exact engine, and what screens accesses.
type Runner = (Choice, Option<Level>);

const EXACT: Runner = (Choice::Exact, None);
const SCREENED: [Runner; 3] =
    [(Choice::Compiled, None), (Choice::Compiled, Some(Level::Avx2)), (Choice::Interpreted, None)];

/// Launches a kernel twice, with a buffer of which the first half has contents.
fn run(text: &str, checks: &str, runner: Runner, shape: (u32, u32)) -> Run {
    run_with(4 * WORDS as usize, text, checks, runner, shape)
}

/// The same with a buffer of so many bytes.
fn run_with(
    bytes: usize,
    text: &str,
    checks: &str,
    (engine, level): Runner,
    (blocks, threads): (u32, u32),
) -> Run {
    let module = Module::load("t", text).expect("it is a module");
    let checks = CheckSet::parse(checks).expect("it is a set");
    let settings = Settings { checks, engine, level, limit: 1 << 20, ..Settings::default() };
    let mut context = Context::new(settings);
    let id = context.load(&module).expect("it is loaded");
    let out = context.allocate("out", bytes as u64).expect("there is memory");
    context.write(out, &vec![7; bytes / 2]).expect("it is in bounds");
    let grid = [blocks, 1, 1];
    let shape =
        Shape { grid, block: [threads, 1, 1], shared: 0, cooperative: false, cluster: None };
    let mut fast = true;
    for _ in 0..2 {
        let kernel = module.kernel("k").expect("it has one");
        let end = context.launch(id, kernel, shape, &out.0.to_le_bytes());
        fast &= end.is_ok_and(|report| matches!(report.ran, EngineUsed::Fast(_)));
    }
    let mut bytes = vec![0; bytes];
    context.read(out, &mut bytes).expect("it is in bounds");
    let call = places::ApiCall { function: "copy".into(), number: 1 };
    context.note_copied_to_host(out, bytes.len() as u64, &call);
    let found = context.take_findings();
    let found = found.iter().map(findings::report::finding_to_json).collect();
    (found, bytes, fast)
}

fn acts() -> impl proptest::strategy::Strategy<Value = Vec<Act>> {
    use proptest::prelude::*;
    let one = (any::<bool>(), any::<u8>(), any::<u8>());
    let act = prop_oneof![
        6 => one.prop_map(|(shared, index, bytes)| Act::Load { shared, index, bytes }),
        8 => one.prop_map(|(shared, index, bytes)| Act::Store { shared, index, bytes }),
        3 => one.prop_map(|(shared, index, scope)| Act::Atomic { shared, index, scope }),
        2 => (any::<bool>(), any::<bool>(), any::<u8>())
            .prop_map(|(store, shared, index)| Act::Wide { store, shared, index }),
        1 => any::<bool>().prop_map(|store| Act::Local { store }),
        6 => Just(Act::Barrier),
        1 => Just(Act::Shuffle),
        3 => any::<u8>().prop_map(Act::Some),
        1 => any::<u8>().prop_map(Act::Exit),
        1 => Just(Act::Fence),
        1 => Just(Act::Volatile),
        1 => Just(Act::Unwritten),
    ];
    proptest::collection::vec(act, 1..14)
}

/// How many kernels there were, how many of them ran on the fast engine, and how many have
/// findings.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    kernels: u32,
    screened: u32,
    found: u32,
}

/// Compares random kernels, each on all that screen accesses, or on one of them.
fn compare(kernels: u32, seed: u64, each: bool) -> Tally {
    use proptest::prelude::*;
    let rng_seed = RngSeed::Fixed(seed);
    let config =
        Config { cases: kernels, failure_persistence: None, rng_seed, ..Config::default() };
    let tally = std::cell::Cell::new(Tally::default());
    let shapes = prop::sample::select(vec![(1, 32), (1, 64), (2, 64), (2, 32), (1, 40), (3, 16)]);
    let checks = prop::sample::select(vec!["all", "race", "init", "sync", "race,init"]);
    let times = prop::sample::select(vec![1, 1, 3]);
    let outcome = TestRunner::new(config).run(
        &(acts(), times, shapes, checks),
        |(acts, times, shape, checks)| {
            let text = kernel(&acts, times);
            let mut now = tally.get();
            now.kernels += 1;
            let all = run(&text, checks, EXACT, shape);
            let which = now.kernels as usize % SCREENED.len();
            let runners = if each { &SCREENED[..] } else { &SCREENED[which..=which] };
            let one = |&runner: &Runner| run(&text, checks, runner, shape);
            let screened: Vec<Run> = runners.iter().map(one).collect();
            for (one, runner) in screened.iter().zip(runners) {
                if *one != (all.0.clone(), all.1.clone(), screened[0].2) {
                    let (found, fast) = (&one.0, [one.2, screened[0].2]);
                    let why = format!("{checks}, {shape:?}, {runner:?}, {fast:?}\n{text}");
                    let why = format!("{why}\n{:#?}\n{found:#?}", all.0);
                    return Err(TestCaseError::fail(why));
                }
            }
            now.screened += u32::from(screened[0].2);
            now.found += u32::from(!all.0.is_empty());
            tally.set(now);
            Ok(())
        },
    );
    outcome.unwrap_or_else(|error| panic!("{error}"));
    tally.get()
}

#[test]
fn screened_launches_have_the_findings_of_all_events() {
    let tally = compare(400, 1, true);
    let Tally { kernels, screened, found } = tally;
    assert!(screened * 8 > kernels && found * 4 > kernels, "{tally:?}");
}

/// Threads store a word each, the last ones end, and the others read their neighbours' words behind
/// a barrier.
#[test]
fn barriers_do_not_order_threads_that_have_ended() {
    let store = Act::Store { shared: true, index: 4, bytes: 2 };
    let load = Act::Load { shared: true, index: 6, bytes: 2 };
    let text = kernel(&[store, Act::Exit(4), Act::Barrier, load], 1);
    let all = run(&text, "race", EXACT, (1, 64));
    for runner in SCREENED {
        assert_eq!(all.0, run(&text, "race", runner, (1, 64)).0, "{runner:?}");
    }
    assert!(all.0.iter().any(|found| found["kind"] == "race-in-warp"), "{:?}", all.0);
}

/// A visit to a block has more accesses than the log of compiled code has room for; the last ones
/// race, or are behind a barrier.
#[test]
fn logs_longer_than_their_room_are_judged_to_their_end() {
    let store = Act::Store { shared: true, index: 4, bytes: 2 };
    let load = Act::Load { shared: true, index: 5, bytes: 2 };
    for (fine, between) in [(false, Act::Fence), (true, Act::Barrier)] {
        let acts: Vec<Act> = std::iter::repeat_n(store, 700).chain([between, load]).collect();
        let text = kernel(&acts, 1);
        let all = run(&text, "race", EXACT, (1, 64));
        assert_eq!(all.0.is_empty(), fine, "{:?}", all.0);
        for runner in SCREENED {
            let one = run(&text, "race", runner, (1, 64));
            assert_eq!((one.0, one.2), (all.0.clone(), fine), "{runner:?}");
        }
    }
}

/// More blocks than are resident at once, each on the shared memory of one that has ended.
#[test]
fn blocks_do_not_see_what_ended_ones_wrote() {
    let store = Act::Store { shared: true, index: 4, bytes: 2 };
    let load = Act::Load { shared: true, index: 4, bytes: 2 };
    // The first block alone stores.
    let text = kernel(&[Act::Some(3), store, Act::Barrier, load], 1);
    let all = run(&text, "init", EXACT, (40, 32));
    assert!(!all.0.is_empty());
    for runner in SCREENED {
        assert_eq!(run(&text, "init", runner, (40, 32)).0, all.0, "{runner:?}");
    }
    let text = kernel(&[store, Act::Barrier, load], 1);
    for runner in SCREENED {
        assert!(run(&text, "race,init", runner, (40, 32)).2, "{runner:?}");
    }
}

/// Two blocks meet in words of global memory, in ways that are races and in ways that are none.
#[test]
fn blocks_meet_in_words_as_the_rules_say() {
    let store = |index| Act::Store { shared: false, index, bytes: 2 };
    let load = |index| Act::Load { shared: false, index, bytes: 2 };
    let atomic = |index| Act::Atomic { shared: false, index, scope: 0 };
    let (first, second) = (Act::Some(3), Act::Some(7));
    let cases: [(&[Act], bool); 7] = [
        // A block reads what another one has written, and the other way round.
        (&[first, store(0), load(4)], false),
        (&[second, load(4), Act::Barrier, first, store(4)], false),
        // Both read, and one of them writes.
        (&[load(4), Act::Barrier, first, store(4)], false),
        // Atomics of a block meet those of another one that has written before.
        (&[first, store(4), Act::Barrier, atomic(4)], false),
        (&[load(4), load(0)], true),
        (&[atomic(7), atomic(4)], true),
        (&[store(0), Act::Barrier, store(0), load(0)], true),
    ];
    for (acts, fine) in cases {
        let text = kernel(acts, 1);
        let all = run(&text, "race,strict", EXACT, (2, 64));
        assert_eq!(all.0.is_empty(), fine, "{acts:?}: {:?}", all.0);
        for runner in SCREENED {
            let one = run(&text, "race,strict", runner, (2, 64));
            assert_eq!((one.0, one.2), (all.0.clone(), fine), "{runner:?}, {acts:?}");
        }
    }
}

/// Accesses between shared variables are refused where `memory` is asked for, and others are not.
#[test]
fn accesses_between_shared_variables_are_refused() {
    let text = |at: u32| {
        format!(
            ".version 7.5\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out)\n\
             {{\n.reg .b32 %t, %v; .reg .b64 %a, %out;\n\
             .shared .align 8 .b32 first[64], second[64];\n\
             mov.u32 %t, %tid.x; mul.wide.u32 %a, %t, 4; mov.u64 %out, first;\n\
             add.u64 %out, %out, %a; st.shared.u32 [%out+{at}], %t;\n\
             mov.u64 %out, second; add.u64 %out, %out, %a; st.shared.u32 [%out], %t;\nret;\n}}\n"
        )
    };
    for checks in ["memory", "memory,sync", "memory,race"] {
        for (at, fine) in [(0, true), (4, false)] {
            for runner in SCREENED {
                let one = run(&text(at), checks, runner, (1, 64));
                assert_eq!(one.2, fine, "{checks}, {at}, {runner:?}");
            }
        }
    }
}

/// A loop of accesses to shared memory at an address that `%i` counts, and what else is done in it.
fn loop_of(access: &str, at: &str, times: u32, more: &str) -> String {
    format!(
        ".version 7.5\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out)\n{{\n\
         .reg .b32 %t, %v, %w, %i, %j, %x; .reg .b64 %a, %b, %c; .reg .pred %p, %q;\n\
         .shared .align 8 .b32 first[64], second[64];\n\
         mov.u32 %t, %tid.x; mov.u32 %v, %t; mov.u32 %i, 0; mov.u64 %b, first;\nagain:\n\
         {at} mul.wide.u32 %a, %x, 4; add.u64 %a, %a, %b;\n{access}\n{more}\n\
         add.u32 %i, %i, 1; setp.lt.u32 %q, %i, {times};\n@%q bra again;\nret;\n}}\n"
    )
}

/// One address for all lanes, contiguous ones, and others.
const LOOP_ADDRESSES: [&str; 3] =
    ["mov.u32 %x, %i;", "add.u32 %x, %t, %i;", "xor.b32 %x, %t, 1; add.u32 %x, %x, %i;"];

/// Accesses go from one variable's beginning to its end, and beyond.
#[test]
fn exempt_accesses_end_with_their_variable() {
    for (number, at) in LOOP_ADDRESSES.into_iter().enumerate() {
        let generic = "cvta.shared.u64 %a, %a; st.u32 [%a], %v;";
        for access in ["st.shared.u32 [%a], %v;", "ld.shared.u32 %v, [%a];", generic] {
            let last = if number == 0 { 64 } else { 33 };
            for (times, fine) in [(last, true), (last + 1, false)] {
                for runner in SCREENED {
                    // Both variables are used, so that there are bytes between them.
                    let more = "mov.u64 %c, second; ld.shared.u32 %w, [%c]; bar.sync 0;";
                    let text = loop_of(access, at, times, more);
                    let one = run(&text, "memory", runner, (1, 32));
                    assert_eq!(one.2, fine, "{access} {at} {times} {runner:?}");
                }
            }
        }
    }
}

/// Many threads read words again and again, and in the second of three phases a thread writes one
/// of them.
#[test]
fn exempt_reads_are_judged_again_after_a_barrier() {
    let reads = [
        "mov.u32 %x, 3;",
        "shr.u32 %x, %t, 1; and.b32 %x, %x, 7;",
        "and.b32 %x, %t, 3; add.u32 %x, %x, 1;",
    ];
    for at in reads {
        for (writes, fine) in [(7, true), (1, false)] {
            // So many reads that the log is judged in each phase.
            let more = format!(
                "mov.u32 %j, 0;\nread:\nld.shared.u32 %v, [%a]; add.u32 %j, %j, 1;\n\
                 setp.lt.u32 %p, %j, 200;\n@%p bra read;\n\
                 setp.eq.u32 %p, %i, {writes}; @!%p bra done;\n\
                 setp.eq.u32 %p, %t, 9; @!%p bra done;\nst.shared.u32 [%a], %t;\n\
                 done: bar.sync 0;"
            );
            let text = loop_of("", at, 3, &more);
            let all = run(&text, "race", EXACT, (1, 64));
            assert_eq!(all.0.is_empty(), fine, "{:?}", all.0);
            for runner in SCREENED {
                let one = run(&text, "race", runner, (1, 64));
                assert_eq!((one.0, one.2), (all.0.clone(), fine), "{at} {runner:?}");
            }
        }
    }
}

/// Words at one base by one row of indices, in units of a word and of 64 words: in a late round,
/// the second ones were never written.
#[test]
fn exempt_reads_in_other_units_are_judged_apart() {
    let bytes = 1 << 15;
    for (more, fine) in [(0, true), (64, false)] {
        let text = format!(
            ".version 7.5\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out)\n\
             {{\n.reg .b32 %t, %i, %x, %y, %v, %w; .reg .b64 %a, %b, %out; .reg .pred %p;\n\
             ld.param.u64 %out, [out]; cvta.to.global.u64 %out, %out;\n\
             mov.u32 %t, %tid.x; mov.u32 %i, 0; mov.u32 %v, 0;\nagain:\n\
             setp.eq.u32 %p, %i, 900; selp.u32 %y, {more}, 0, %p;\n\
             xor.b32 %x, %t, 1; add.u32 %x, %x, %y;\n\
             mad.wide.u32 %a, %x, 4, %out; mad.wide.u32 %b, %x, 256, %out;\n\
             ld.global.u32 %w, [%a]; add.u32 %v, %v, %w;\n\
             ld.global.u32 %w, [%b]; add.u32 %v, %v, %w;\n\
             add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 1000;\n@%p bra again;\n\
             setp.lt.s32 %p, %v, 0;\n@%p st.global.u32 [%out], %t;\nret;\n}}\n"
        );
        let all = run_with(bytes, &text, "init", EXACT, (1, 32));
        // The copy of the buffer is a finding in any case.
        assert_eq!(all.0.len() == 1, fine, "{:?}", all.0);
        for runner in SCREENED {
            let one = run_with(bytes, &text, "init", runner, (1, 32));
            assert_eq!((one.0, one.2), (all.0.clone(), fine), "{runner:?}");
        }
    }
}

#[test]
#[ignore = "minutes"]
#[allow(clippy::print_stderr, reason = "the campaign tells how many kernels were compared")]
fn campaign() {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let kernels = number("KERNELS").unwrap_or(100_000) as u32;
    eprintln!("{:?}", compare(kernels, number("SEED").unwrap_or(2), false));
}
