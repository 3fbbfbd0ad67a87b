//! What code has to check before it does something by itself: the last word of an access, its
//! alignment, addresses that have changed since they were looked at, and members of collectives.
//! Each kernel goes right at first, so that code knows the region, and then reaches a little too
//! far for one lane.

use crate::harness::common::launches;
use crate::harness::common::observed::Exact;
use crate::harness::{Count, compare};
use ir::FuncId;
use simt::machine::Step;

/// Bytes of the buffer that accesses are to, and of shared memory.
const BYTES: u64 = 512;

/// How an access differs from the rounds before in the last of three rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    /// It goes right, too.
    Inside,
    /// Its last word lies behind the region.
    Behind,
    /// Its words are not aligned.
    Misaligned,
}

const LASTS: [Last; 3] = [Last::Inside, Last::Behind, Last::Misaligned];

/// How the addresses of the lanes lie, as the number of a word: one for all, the lane's own, or one
/// that is loaded.
const INDICES: [(&str, u64); 5] = [
    ("mov.b32 %zero", 0),
    ("mov.b32 %t", 31),
    ("sub.u32 31, %t\n  %i = xor.b32 %i, %x", 31),
    // One, though nothing says so.
    ("mov.b32 %x", 0),
    // Side by side, though nothing says so.
    ("add.u32 %t, %x", 31),
];

/// The rounds of a kernel whose access is at `%at`, `%off` bytes further each round.
fn rounds(index: &str, step: u64, first: u64, width: u64, access: &str) -> String {
    format!(
        "shared @s size {BYTES} align 16
kernel @k(a: u64 global, b: u64 global) {{
  reg %t, %x, %zero, %i, %k, %s, %o, %v: b32
  reg %more, %few: pred
  reg %a, %b, %at, %w: b64
entry:
  %a = ld.param.u64 [@a]
  %b = ld.param.u64 [@b]
  %s = mov.u32 @s
  %t = sreg.u32 tid.x
  %zero = mov.b32 0
  %k = mov.b32 0
  %v = mov.b32 3
  %w = mov.b64 5
  %at = mulwide.u32 %t, 4
  %at = add.u64 %at, %a
  %x = ld.global.u32 [%at]
  %i = {index}
  %few = setp.lt.u32 %i, 31
  %at = mulwide.u32 %i, {width}
  %at = add.u64 %at, %b
  %at = add.u64 %at, {first}
  %o = mad.u32 %i, {width}, %s
  %o = add.u32 %o, {first}
loop:
{access}
  %at = add.u64 %at, {step}
  %o = add.u32 %o, {step}
  %k = add.u32 %k, 1
  %more = setp.lt.u32 %k, 3
  @%more br loop
done:
  %at = mulwide.u32 %t, 8
  %at = add.u64 %at, %a
  %w = mad.u64 %w, 3, %w
  st.global.u64 [%at], %w
  st.global.u32 [%at + 256], %v
  ret
}}
"
    )
}

/// Compares a kernel of one warp; whether the exact engine runs it to its end.
fn run(text: &str, count: &mut Count) -> bool {
    let module = launches::parsed(text);
    let (program, mut launch) = launches::launch(&module, FuncId(0), 0);
    (launch.grid, launch.block) = ([1, 1, 1], [32, 1, 1]);
    launch.params.clear();
    // Nobody knows that the words of the first one are 0.
    for factor in [0, 1] {
        let buffer = launch.memory.allocate("buffer", BYTES).expect("room");
        let content: Vec<u8> = (0..BYTES).map(|byte| (factor * (byte * 37 + 5)) as u8).collect();
        launch.memory.host_write(buffer, &content).expect("it is there");
        launch.params.extend(buffer.0.to_le_bytes());
    }
    compare(&program, &launch, count).unwrap_or_else(|what| panic!("{what}\n{text}"));
    Exact::new(&program, &launch).end == Step::Done
}

/// Where the first round begins and how far it is to the next one, so that the last one ends as is
/// wanted: `last` is the number of the last lane's word.
fn distances(how: Last, width: u64, last: u64) -> (u64, u64) {
    let room = BYTES - width * (last + 1);
    match how {
        Last::Inside => (room - 2 * width, width),
        Last::Behind => (room - width, width),
        Last::Misaligned => (room / 2 / width * width, width / 4),
    }
}

/// Accesses by addresses of all kinds, with all lanes, and without the one that reaches too far.
#[test]
fn no_lane_reaches_beyond_a_region() {
    let mut count = Count::default();
    for (index, last) in INDICES {
        for how in LASTS {
            for width in [4, 8] {
                let (ty, value) = if width == 4 { ("u32", "%v") } else { ("u64", "%w") };
                let (first, step) = distances(how, width, last);
                for (space, at) in [("global", "%at"), ("shared", "%o")] {
                    for guard in ["", "@%few "] {
                        for access in [
                            format!("  {guard}{value} = ld.{space}.{ty} [{at}]"),
                            format!("  {guard}st.{space}.{ty} [{at}], {value}"),
                            format!("  {guard}{value} = atom.add.{space}.{ty} [{at}], {value}"),
                        ] {
                            let text = rounds(index, step, first, width, &access);
                            let ends = run(&text, &mut count);
                            // The last lane alone is too far.
                            let off = !guard.is_empty() && how == Last::Behind && last > 0;
                            assert_eq!(ends, how == Last::Inside || off, "{how:?}\n{text}");
                        }
                    }
                }
            }
        }
    }
    assert!(count.stopped > 100 && count.compared > 400 || count.steps == 0, "{count:?}");
}

/// Accesses to shared memory by one row of addresses, and a little further on.
#[test]
fn addresses_that_were_looked_at_once_are_checked_each_time() {
    let mut count = Count::default();
    for (index, last) in INDICES {
        for how in LASTS {
            let further = match how {
                Last::Inside => BYTES - 4 * (last + 1),
                Last::Behind => BYTES - 4 * last,
                Last::Misaligned => 0,
            };
            let first = u64::from(how == Last::Misaligned);
            for second in [
                format!("  %v = ld.shared.u32 [%o + {further}]"),
                format!("  st.shared.u32 [%o + {further}], %v"),
            ] {
                let access = format!("  st.shared.u32 [%o], %v\n{second}");
                let ends = run(&rounds(index, 0, first, 4, &access), &mut count);
                assert_eq!(ends, how == Last::Inside, "{how:?} {index} {access}");
            }
        }
        // The row is written between two accesses.
        for change in ["%o = xor.b32 %o, 12", "@%few %o = add.u32 %o, 8", "%o = mad.u32 %x, 4, %s"]
        {
            let access = format!(
                "  st.shared.u32 [%o], %v\n  %v = add.u32 %v, %t\n  st.shared.u32 [%o + 64], %v\n  \
                 {change}\n  st.shared.u32 [%o], %t\n  %v = ld.shared.u32 [%o + 64]\n  \
                 %w = mulwide.u32 %v, 7"
            );
            assert!(run(&rounds(index, 0, 0, 4, &access), &mut count), "{access}");
        }
    }
    assert!(count.stopped > 50 && count.compared > 50 || count.steps == 0, "{count:?}");
}

/// Collectives of lanes that do not name themselves, that name lanes which come later, and that
/// name lanes which have ended.
#[test]
fn collectives_wait_for_their_members() {
    let mut count = Count::default();
    for collective in [
        "%v = shfl.idx.b32 %t, 5, 31, MEMBERS",
        "%more = vote.any %few, MEMBERS",
        "%v = redux.add.u32 %t, MEMBERS",
    ] {
        let some = |members: &str, guard: &str, before: &str| {
            let collective = collective.replace("MEMBERS", members);
            format!("{before}  {guard}{collective}\n  %w = mulwide.u32 %v, 3")
        };
        for (access, ends) in [
            (some("0xffffffff", "", ""), true),
            (some("0x7fffffff", "@%few ", ""), true),
            (some("0x7fffffff", "", ""), false),
            (some("0x3fffffff", "@%few ", ""), false),
            (some("0xffffffff", "", "  @!%few ret\nrest:\n"), true),
        ] {
            let text = rounds("mov.b32 %t", 0, 0, 4, &access);
            assert_eq!(run(&text, &mut count), ends, "{text}");
        }
        // Lane 31 comes by another way.
        let apart = some("0xffffffff", "", "");
        let text = format!("  @%few br one\nother:\n{apart}\n  br meet\none:\n{apart}\nmeet:");
        run(&rounds("mov.b32 %t", 0, 0, 4, &text), &mut count);
    }
    assert!(count.stopped > 10 && count.compared > 10 || count.steps == 0, "{count:?}");
}
