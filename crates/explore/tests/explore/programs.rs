//! Exhaustive exploration reaches exactly the ends that all interleavings have.

use std::fmt::Write as _;

use explore::{Ending, Exploration, How, Plan};
use lab::run::Job;
use machines::Unmonitored;

use crate::common::{Random, ptx};
use crate::enumerate::{Ends, Left, Op, Threads, WORDS, ends};

/// Results that a thread can keep.
const KEPT: usize = 8;

/// Returns a program's text: its threads are those of a block, or blocks of one thread.
fn text(threads: &Threads, blocks: bool) -> String {
    let mut out = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n\
         .visible .entry k(.param .u64 mem, .param .u64 out) {{\n\
         .reg .pred %p;\n.reg .b32 %t, %v, %r<{KEPT}>;\n.reg .b64 %mem, %out;\n\
         ld.param.u64 %mem, [mem];\nld.param.u64 %out, [out];\nmov.u32 %t, %{}.x;\n",
        if blocks { "ctaid" } else { "tid" }
    );
    for (t, ops) in threads.iter().enumerate() {
        let _ = writeln!(out, "setp.ne.u32 %p, %t, {t};\n@%p bra N{t};");
        let mut kept = 0;
        for (i, op) in ops.iter().enumerate() {
            let _ = match *op {
                Op::Write(w, v) => {
                    writeln!(out, "st.relaxed.gpu.global.u32 [%mem+{}], {v};", 4 * w)
                }
                Op::Read(w) => {
                    writeln!(out, "ld.relaxed.gpu.global.u32 %r{kept}, [%mem+{}];", 4 * w)
                }
                Op::Add(w, v) => {
                    writeln!(out, "atom.global.add.u32 %r{kept}, [%mem+{}], {v};", 4 * w)
                }
                Op::Red(w, v) => writeln!(out, "red.global.add.u32 [%mem+{}], {v};", 4 * w),
                Op::Exchange(w, v) => {
                    writeln!(out, "atom.global.exch.b32 %r{kept}, [%mem+{}], {v};", 4 * w)
                }
                Op::Swap(w, a, b) => {
                    writeln!(out, "atom.global.cas.b32 %r{kept}, [%mem+{}], {a}, {b};", 4 * w)
                }
                Op::Lock(w) => writeln!(
                    out,
                    "L{t}_{i}:\natom.global.cas.b32 %v, [%mem+{}], 0, 1;\n\
                     setp.ne.u32 %p, %v, 0;\n@%p bra L{t}_{i};",
                    4 * w
                ),
                Op::Await(w) => writeln!(
                    out,
                    "L{t}_{i}:\nld.relaxed.gpu.global.u32 %v, [%mem+{}];\n\
                     setp.eq.u32 %p, %v, 0;\n@%p bra L{t}_{i};",
                    4 * w
                ),
                Op::Barrier => writeln!(out, "barrier.sync 0;"),
            };
            kept += usize::from(matches!(
                op,
                Op::Read(_) | Op::Add(..) | Op::Exchange(..) | Op::Swap(..)
            ));
        }
        for k in 0..kept {
            let _ = writeln!(out, "st.global.u32 [%out+{}], %r{k};", 4 * (t * KEPT + k));
        }
        let _ = writeln!(out, "ret;\nN{t}:");
    }
    out + "ret;\n}\n"
}

fn job(name: &str, threads: &Threads, blocks: bool) -> Job {
    let count = threads.len();
    let (grid, block) = if blocks { (count, 1) } else { (1, count) };
    let launch = format!(
        "[buffers]\nmem = \"u32[{WORDS}]:zeros\"\nout = \"u32[{}]:zeros\"\n[[launch]]\n\
         kernel = \"k\"\ngrid = [{grid}]\nblock = [{block}]\nargs = [\"&mem\", \"&out\"]\n",
        count * KEPT
    );
    ptx(name, &text(threads, blocks), &launch)
}

fn explored(job: &mut Job, how: How) -> Exploration {
    let mechanisms = vec!["serial".to_owned()];
    let plan = Plan { mechanisms, order: None, how, schedules: 20_000, seed: 0 };
    explore::explore(job, &plan, &mut Unmonitored).expect("begins").expect("is not interrupted")
}

/// The ends that an exploration has reached.
fn reached(found: &Exploration, threads: &Threads) -> Ends {
    let mut out = Ends::default();
    for class in found.rows.iter().flat_map(|row| &row.classes) {
        match class.outcome.ending {
            Ending::Hang => out.hangs = true,
            Ending::Fault => panic!("no program faults"),
            Ending::Done => drop(out.left.insert(left(class, threads))),
        }
    }
    out
}

fn left(class: &explore::Class, threads: &Threads) -> Left {
    let words = |name: &str| -> Vec<u32> {
        class.buffer(name).expect("is there").iter().map(|word| word as u32).collect()
    };
    let out = words("out");
    let kept = threads.iter().enumerate().map(|(t, ops)| {
        let count = ops
            .iter()
            .filter(|op| matches!(op, Op::Read(_) | Op::Add(..) | Op::Exchange(..) | Op::Swap(..)));
        out[t * KEPT..][..count.count()].to_vec()
    });
    (words("mem"), kept.collect())
}

/// Makes a program of a few operations in each of two or three threads.
fn random(random: &mut Random, barriers: bool) -> Threads {
    let count = 2 + random.below(2) as usize;
    let most = if count == 2 { 4 } else { 3 };
    let phases = if barriers { 1 + random.below(2) } else { 0 };
    let mut threads = vec![Vec::new(); count];
    for phase in 0..=phases {
        for ops in &mut threads {
            for _ in 0..random.below(most / (1 + phases) + 1) {
                let (w, v) = (random.below(2) as usize, 1 + random.below(3) as u32);
                ops.push(match random.below(8) {
                    0 | 1 => Op::Write(w, v),
                    2 | 3 => Op::Read(w),
                    4 => Op::Add(w, v),
                    5 => Op::Red(w, v),
                    6 => Op::Exchange(w, v),
                    _ => Op::Swap(w, 0, v),
                });
            }
            if phase < phases {
                ops.push(Op::Barrier);
            }
        }
    }
    threads
}

/// Makes a program whose threads also wait for each other in loops.
fn waiting(random: &mut Random) -> Threads {
    let count = 2 + random.below(2) as usize;
    let mut threads = vec![Vec::new(); count];
    for ops in &mut threads {
        let (a, b) = (random.below(2) as usize, random.below(2) as usize);
        match random.below(3) {
            0 => ops.extend([Op::Lock(a), Op::Red(2, 1), Op::Write(a, 0)]),
            1 => ops.extend([Op::Await(a), Op::Write(b, 2)]),
            _ => ops.extend([Op::Write(a, 1), Op::Lock(b)]),
        }
    }
    threads
}

fn compare(name: &str, threads: &Threads, blocks: bool, bound: Option<u32>) {
    let found = explored(&mut job(name, threads, blocks), How::Exhaustive(bound));
    assert!(found.rows[0].complete, "{threads:?}");
    let (got, wanted) = (reached(&found, threads), ends(threads, bound));
    assert_eq!(got, wanted, "{threads:?}, bound {bound:?}\n{}", text(threads, blocks));
}

#[test]
fn all_ends_are_reached() {
    let mut numbers = Random(1);
    for number in 0..60 {
        let blocks = number % 2 == 0;
        let threads = random(&mut numbers, !blocks);
        compare("ends", &threads, blocks, None);
    }
}

#[test]
fn all_ends_within_a_bound_are_reached() {
    let mut numbers = Random(2);
    for number in 0..40 {
        let threads = random(&mut numbers, false);
        compare("bounded-ends", &threads, true, Some(number % 3));
    }
}

#[test]
fn threads_that_wait_in_loops_end_or_hang() {
    waits_in_loops(Random(3));
}

#[test]
fn more_threads_that_wait_in_loops_end_or_hang() {
    waits_in_loops(Random(4));
}

fn waits_in_loops(mut numbers: Random) {
    for _ in 0..3 {
        let threads = waiting(&mut numbers);
        compare("waiting", &threads, true, None);
    }
}

/// The same on many programs.
#[test]
#[ignore = "a campaign of minutes"]
fn campaign() {
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1000);
    let count = std::env::var("COUNT").ok().and_then(|count| count.parse().ok()).unwrap_or(1000);
    let mut numbers = Random(seed);
    for number in 0..count {
        let blocks = numbers.below(2) == 0;
        let threads = random(&mut numbers, !blocks);
        compare("campaign", &threads, blocks, None);
        let threads = random(&mut numbers, false);
        compare("campaign", &threads, true, Some(number % 4));
        compare("campaign", &waiting(&mut numbers), true, None);
    }
}

/// Partial-order reduction: threads that share nothing have one schedule, and updates commute.
#[test]
fn what_commutes_has_one_schedule() {
    let apart = vec![vec![Op::Write(0, 1), Op::Add(0, 1)], vec![Op::Write(1, 1), Op::Add(1, 1)]];
    let updates = vec![vec![Op::Red(0, 1)], vec![Op::Red(0, 2)], vec![Op::Red(0, 4)]];
    for threads in [apart, updates] {
        let found = explored(&mut job("commutes", &threads, true), How::Exhaustive(None));
        assert_eq!(found.rows[0].schedules, 1, "{threads:?}");
        assert!(found.rows[0].complete);
    }
}

/// A thread that adds up what it reads is not one that only waits: each number of reads before the
/// write is a result of its own.
#[test]
fn loops_that_count_do_not_spin() {
    let mut job = ptx("counting", COUNTING, COUNTING_LAUNCH);
    let found = explored(&mut job, How::Exhaustive(None));
    assert!(found.rows[0].complete);
    let mut sums: Vec<u64> = found.rows[0]
        .classes
        .iter()
        .map(|class| class.buffer("out").and_then(|out| out.get(0)).expect("is there"))
        .collect();
    sums.sort_unstable();
    assert_eq!(sums, [0, 1, 2, 3, 4, 5, 6]);
}

const COUNTING: &str = "
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 word, .param .u64 out) {
  .reg .pred %p;
  .reg .b32 %b, %v, %n, %sum;
  .reg .b64 %word, %out;
  ld.param.u64 %word, [word];
  ld.param.u64 %out, [out];
  mov.u32 %b, %ctaid.x;
  setp.eq.u32 %p, %b, 1;
  @%p bra WRITE;
  mov.u32 %n, 6;
  mov.u32 %sum, 0;
LOOP:
  ld.relaxed.gpu.global.u32 %v, [%word];
  add.u32 %sum, %sum, %v;
  sub.u32 %n, %n, 1;
  setp.ne.u32 %p, %n, 0;
  @%p bra LOOP;
  st.global.u32 [%out], %sum;
  ret;
WRITE:
  st.relaxed.gpu.global.u32 [%word], 1;
  ret;
}
";

const COUNTING_LAUNCH: &str = "
[buffers]
word = \"u32[1]:zeros\"
out = \"u32[1]:zeros\"
[[launch]]
kernel = \"k\"
grid = [2]
block = [1]
args = [\"&word\", \"&out\"]
";

/// A sum that only one order in several hundred loses is found at random, too.
#[test]
fn random_schedules_find_a_lost_update() {
    let mut job = ptx("lost", LOST_UPDATE, LOST_LAUNCH);
    let found = explored(&mut job, How::Random);
    let results = found.rows[0].classes.len();
    assert!(results > 1, "{}", explore::to_text(&found));
    let schedule = found.witnesses().next().expect("is shown");
    assert!(schedule.deviations.len() <= 2, "{schedule}");
}

const LOST_UPDATE: &str = "
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 sum) {
  .reg .b32 %v;
  .reg .b64 %sum;
  ld.param.u64 %sum, [sum];
  ld.relaxed.gpu.global.u32 %v, [%sum];
  add.u32 %v, %v, 1;
  st.relaxed.gpu.global.u32 [%sum], %v;
  ret;
}
";

const LOST_LAUNCH: &str = "
[buffers]
sum = \"u32[1]:zeros\"
[[launch]]
kernel = \"k\"
grid = [8]
block = [1]
args = [\"&sum\"]
";
