//! Block issues of unstructured kernels against closed forms.
//!
//! The graphs are those of the microbenchmarks of the thread-frontier papers (short circuits,
//! exceptions that never happen, split merges), with 512 threads, for groups of 512 lanes (as those
//! papers counted) and of 32. A place is a block, so that an issue is a block's visit by a group.

use converge::planner::{FunctionFlow, plan};
use converge::{Entry, Event, Knobs, Layout, Order, Path, Priorities, Start};
use flow::Cfg;
use proptest::prelude::*;
use simt::{CtaMask, Pc};

const THREADS: usize = 512;
/// Rounds of the work that all threads do.
const WORK: usize = 100;

#[derive(Clone, Copy, Default)]
struct Lane {
    tid: usize,
    i: usize,
    j: usize,
    work: usize,
}

/// Blocks in layout order: name, and where to go on true and on false; the same twice for a jump,
/// nothing at the end.
struct Kernel {
    name: &'static str,
    blocks: &'static [(&'static str, &'static str, &'static str)],
    /// Whether the lane's condition holds in a block.
    condition: fn(&str, &mut Lane) -> bool,
}

fn bits(block: &str, lane: &mut Lane) -> bool {
    let order = ["A0", "A1", "A2", "B3", "B4", "B5", "C6", "C7", "C8"];
    order.iter().position(|&b| b == block).is_some_and(|bit| lane.tid >> bit & 1 != 0)
}

fn counted(lane: &mut Lane) -> bool {
    lane.j += 1;
    lane.j <= lane.work
}

const SHORT_CIRCUIT: Kernel = Kernel {
    name: "short_circuit",
    blocks: &[
        ("A0", "A1", "B3"),
        ("A1", "C6", "A2"),
        ("A2", "C6", "B3"),
        ("B3", "C6", "B4"),
        ("B4", "B5", "F"),
        ("B5", "C6", "F"),
        ("C6", "T", "C7"),
        ("C7", "C8", "F"),
        ("C8", "T", "F"),
        ("T", "X", "X"),
        ("F", "X", "X"),
        ("X", "", ""),
    ],
    condition: bits,
};

const EXCEPTION_LOOP: Kernel = Kernel {
    name: "exception_loop",
    blocks: &[
        ("E", "H", "H"),
        ("H", "B", "P"),
        ("B", "C", "I"),
        ("I", "H", "H"),
        ("P", "H2", "H2"),
        ("H2", "B2", "R"),
        ("B2", "H2", "H2"),
        ("R", "X", "X"),
        ("C", "X", "X"),
        ("X", "", ""),
    ],
    condition: |block, lane| match block {
        "H" => {
            lane.i += 1;
            lane.i <= lane.tid
        }
        "H2" => counted(lane),
        _ => false,
    },
};

const EXCEPTION_COND: Kernel = Kernel {
    name: "exception_cond",
    blocks: &[
        ("E", "A", "P"),
        ("A", "C", "A2"),
        ("A2", "P", "P"),
        ("P", "H2", "H2"),
        ("H2", "B2", "R"),
        ("B2", "H2", "H2"),
        ("R", "X", "X"),
        ("C", "X", "X"),
        ("X", "", ""),
    ],
    condition: |block, lane| match block {
        "E" => lane.tid % 2 == 1,
        "H2" => counted(lane),
        _ => false,
    },
};

const EXCEPTION_CALL: Kernel = Kernel {
    name: "exception_call",
    blocks: &[
        ("E", "F1", "F2"),
        ("F1", "C", "F1b"),
        ("F1b", "P", "P"),
        ("F2", "C", "F2b"),
        ("F2b", "P", "P"),
        ("P", "H2", "H2"),
        ("H2", "B2", "R"),
        ("B2", "H2", "H2"),
        ("R", "X", "X"),
        ("C", "X", "X"),
        ("X", "", ""),
    ],
    condition: |block, lane| match block {
        "E" => lane.tid == 0,
        "H2" => counted(lane),
        _ => false,
    },
};

const SPLIT_MERGE: Kernel = Kernel {
    name: "split_merge",
    blocks: &[
        ("A", "S0", "T"),
        ("S0", "F", "F"),
        ("T", "S1", "Z"),
        ("S1", "F", "F"),
        ("F", "H", "H"),
        ("H", "B", "D"),
        ("B", "H", "H"),
        ("D", "R0", "R1"),
        ("R0", "M", "M"),
        ("R1", "M", "M"),
        ("Z", "M", "M"),
        ("M", "X", "X"),
        ("X", "", ""),
    ],
    condition: |block, lane| match block {
        "A" => lane.tid % 2 == 1,
        "T" => lane.tid != 0,
        "H" => counted(lane),
        "D" => lane.tid % 2 == 1,
        _ => false,
    },
};

impl Kernel {
    fn index(&self, name: &str) -> u32 {
        u32::try_from(self.blocks.iter().position(|b| b.0 == name).unwrap()).unwrap()
    }

    fn cfg(&self) -> Cfg {
        let successors = |&(_, t, f): &(&str, &str, &str)| {
            let mut list: Vec<u32> =
                [t, f].iter().filter(|n| !n.is_empty()).map(|n| self.index(n)).collect();
            list.dedup();
            list
        };
        Cfg::new(0, &self.blocks.iter().map(successors).collect::<Vec<_>>()).unwrap()
    }

    /// Block issues of all groups of `width` lanes.
    fn issues(&self, mechanism: &str, width: usize, knobs: Knobs) -> u64 {
        self.sized(mechanism, width, knobs, (THREADS, WORK))
    }

    /// The same for so many threads and rounds of work.
    fn sized(
        &self,
        mechanism: &str,
        width: usize,
        knobs: Knobs,
        (threads, work): (usize, usize),
    ) -> u64 {
        let cfg = self.cfg();
        let places: Vec<_> = (0..self.blocks.len() as u64).map(|i| i..i + 1).collect();
        let plan =
            plan(&[FunctionFlow { cfg: &cfg, places: &places, notes: &[], written: 0 }]).unwrap();
        let mut issues = 0;
        for first in (0..threads).step_by(width) {
            let mut lanes: Vec<Lane> =
                (0..width).map(|l| Lane { tid: first + l, work, ..Lane::default() }).collect();
            let start = Start::at(Pc(0), CtaMask::first(width), u32::try_from(width).unwrap());
            let mut m = Entry::find(mechanism).unwrap().build(&start, knobs).unwrap();
            while let Some(path) = m.preferred() {
                issues += 1;
                let targets = self.targets(&path, &mut lanes);
                let event = if targets.is_empty() && path.lanes.any() {
                    Event::Exit { at: path.pc, lanes: path.lanes, next: path.pc }
                } else {
                    Event::Branch { at: path.pc, targets: &targets }
                };
                m.event(&plan, path.id, &event).unwrap();
            }
        }
        issues
    }

    fn targets(&self, path: &Path<16>, lanes: &mut [Lane]) -> Vec<(Pc, CtaMask)> {
        let (name, on_true, on_false) = self.blocks[path.pc.0 as usize];
        let mut targets: Vec<(Pc, CtaMask)> = Vec::new();
        for lane in path.lanes {
            let to = if (self.condition)(name, &mut lanes[lane]) { on_true } else { on_false };
            if to.is_empty() {
                continue;
            }
            let pc = Pc(u64::from(self.index(to)));
            match targets.binary_search_by_key(&pc, |t| t.0) {
                Ok(i) => targets[i].1.insert(lane),
                Err(i) => targets.insert(i, (pc, CtaMask::lane(lane))),
            }
        }
        targets
    }
}

#[test]
fn block_issues() {
    // (kernel, group width, [serial, barrier-only, ipdom, tf-sandy, tf-stack]); min-pc is as
    // tf-stack in these layouts
    let expected: [(&Kernel, usize, [u64; 5]); 10] = [
        (&SHORT_CIRCUIT, 512, [3166, 83, 56, 12, 12]),
        (&SHORT_CIRCUIT, 32, [3166, 540, 428, 192, 166]),
        (&EXCEPTION_CALL, 512, [105_984, 413, 412, 209, 209]),
        (&EXCEPTION_CALL, 32, [105_984, 3518, 3517, 3314, 3314]),
        (&EXCEPTION_LOOP, 512, [497_920, 105_983, 105_472, 1741, 1739]),
        (&EXCEPTION_LOOP, 32, [497_920, 117_488, 116_992, 16_336, 16_304]),
        (&EXCEPTION_COND, 512, [104_960 + 2 * 256, 411, 410, 207, 207]),
        (&EXCEPTION_COND, 32, [104_960 + 2 * 256, 6576, 6560, 3312, 3312]),
        (&SPLIT_MERGE, 512, [106_548, 419, 415, 213, 212]),
        (&SPLIT_MERGE, 32, [106_548, 6659, 6625, 3393, 3377]),
    ];
    let names = ["serial", "barrier-only", "ipdom", "tf-sandy", "tf-stack"];
    for (kernel, width, expected) in expected {
        let issues = |m| kernel.issues(m, width, Knobs::default());
        assert_eq!(names.map(issues), expected, "{} {width}", kernel.name);
        for same in ["min-pc", "min-sp-pc"] {
            assert_eq!(issues(same), expected[4], "{same} {} {width}", kernel.name);
        }
        let layout = Knobs { priorities: Priorities::Layout, ..Knobs::default() };
        assert_eq!(kernel.issues("tf-stack", width, layout), expected[4], "{}", kernel.name);
        assert_eq!(kernel.issues("tf-sandy", width, layout), expected[3], "{}", kernel.name);
        let ordered = Knobs { layout: Layout::Compiler, ..Knobs::default() };
        assert_eq!(kernel.issues("min-pc", width, ordered), expected[4], "{}", kernel.name);
    }
}

/// `if` and `else` whose join is written before its sides: the layout puts the join first, a
/// compiler's priorities put it last.
const JOIN_FIRST: Kernel = Kernel {
    name: "join_first",
    blocks: &[
        ("A", "S0", "S1"),
        ("M", "X", "X"),
        ("X", "", ""),
        ("S0", "M", "M"),
        ("S1", "M", "M"),
    ],
    condition: |_, lane| lane.tid % 2 == 1,
};

#[test]
fn priorities_are_not_the_layout() {
    let issues = |mechanism, knobs| JOIN_FIRST.sized(mechanism, 32, knobs, (32, 0));
    let default = Knobs::default();
    let layout = Knobs { priorities: Priorities::Layout, ..default };
    let ordered = Knobs { layout: Layout::Compiler, ..default };
    assert_eq!(issues("ipdom", default), 5);
    assert_eq!(issues("tf-stack", default), 5);
    assert_eq!(issues("tf-sandy", default), 5);
    assert_eq!(issues("tf-stack", layout), 7);
    assert_eq!(issues("min-pc", default), 7);
    assert_eq!(issues("min-pc", ordered), 5);
    assert_eq!(issues("max-pc", default), 5);
    assert_eq!(issues("max-pc", ordered), 7);
}

#[test]
fn the_order_of_sides_does_not_change_the_counts() {
    for kernel in [&SHORT_CIRCUIT, &EXCEPTION_CALL, &EXCEPTION_COND, &SPLIT_MERGE] {
        for (_, order) in Order::ALL {
            let knobs = Knobs { order: Some(order), ..Knobs::default() };
            let default = kernel.issues("ipdom", 32, Knobs::default());
            assert_eq!(kernel.issues("ipdom", 32, knobs), default, "{} {order:?}", kernel.name);
        }
    }
}

/// Closed forms for one group of `n` threads with `j` rounds of work, by mechanism:
/// serial, barrier-only, ipdom, tf-stack.
fn forms(kernel: &str, n: u64, j: u64) -> [u64; 4] {
    // From P to R: the work.
    let tail = 2 * j + 3;
    match kernel {
        // One lane leaves the first loop in each round, and the edge that is never taken keeps the
        // loop's branch from rejoining before the end: each lane runs the tail alone.
        "exception_loop" => {
            let head = 1 + n + 2 * (n - 1);
            let serial = n * (3 + tail) + 3 * n * (n - 1) / 2;
            [serial, head + n * (tail + 1), head + n * tail + 1, head + tail + 1]
        }
        // Two sides of the branch, each with the tail.
        "exception_cond" => {
            let odd = n / 2;
            [n * (tail + 2) + 2 * odd, 3 + 2 * (tail + 1), 3 + 2 * tail + 1, 3 + tail + 1]
        }
        "exception_call" => [n * (tail + 4), 5 + 2 * (tail + 1), 5 + 2 * tail + 1, 5 + tail + 1],
        // From F to D with one of R0, R1: 2 j + 4 blocks, behind S0 and behind S1.
        _ => {
            let side = 2 * j + 5;
            let odd = n / 2;
            let even = n - odd - 1;
            let serial = odd * (side + 3) + even * (side + 4) + 5;
            [serial, 2 + (side + 2) + 2 + (side + 1) + 2, 5 + 2 * side, 2 * j + 12]
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// The forms hold for all sizes in which both sides of each branch have threads.
    #[test]
    fn closed_forms(n in 3usize..200, j in 0usize..60) {
        let mechanisms = ["serial", "barrier-only", "ipdom", "tf-stack"];
        for kernel in [&EXCEPTION_LOOP, &EXCEPTION_COND, &EXCEPTION_CALL, &SPLIT_MERGE] {
            let expected = forms(kernel.name, n as u64, j as u64);
            for (mechanism, expected) in mechanisms.iter().zip(expected) {
                let found = kernel.sized(mechanism, n, Knobs::default(), (n, j));
                prop_assert_eq!(found, expected, "{} {} {} {}", kernel.name, mechanism, n, j);
            }
            // Meeting only at post-dominators, any interleaving of splits costs the same.
            for slice in [0, 1, 7] {
                let knobs = Knobs { slice, ..Knobs::default() };
                prop_assert_eq!(kernel.sized("multi-path", n, knobs, (n, j)), expected[2]);
            }
        }
    }
}

#[test]
fn the_forms_give_the_published_counts() {
    assert_eq!(forms("exception_loop", 512, 100), [497_920, 105_983, 105_472, 1739]);
    assert_eq!(forms("exception_cond", 512, 100), [105_472, 411, 410, 207]);
    assert_eq!(forms("exception_call", 512, 100), [105_984, 413, 412, 209]);
    assert_eq!(forms("split_merge", 512, 100), [106_548, 419, 415, 212]);
}
