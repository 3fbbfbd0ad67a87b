//! On structured code laid out in priority order, the stack and thread frontiers bring lanes
//! together at the same places.

use converge::planner::{FunctionFlow, plan};
use converge::{Entry, Event, Knobs, Order, Start};
use flow::{BlockOrder, Cfg, Loops, Structure};
use proptest::prelude::*;
use simt::{Pc, WarpMask};

/// Nested statements: sequences, branches and loops with one entry and one exit.
#[derive(Clone, Debug)]
enum Code {
    Plain,
    Seq(Vec<Code>),
    If(Box<Code>, Option<Box<Code>>),
    While(Box<Code>),
    DoWhile(Box<Code>),
    Switch(Vec<Code>),
}

fn programs() -> impl Strategy<Value = Code> {
    Just(Code::Plain).prop_recursive(5, 30, 4, |inner| {
        let code = || inner.clone().prop_map(Box::new);
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(Code::Seq),
            (code(), prop::option::of(code())).prop_map(|(a, b)| Code::If(a, b)),
            code().prop_map(Code::While),
            code().prop_map(Code::DoWhile),
            prop::collection::vec(inner, 3..5).prop_map(Code::Switch),
        ]
    })
}

/// Blocks in layout order; the last successor of a loop's test leaves the loop.
#[derive(Default)]
struct Program {
    successors: Vec<Vec<u32>>,
    tests: Vec<bool>,
}

impl Program {
    fn block(&mut self, test: bool) -> u32 {
        self.successors.push(Vec::new());
        self.tests.push(test);
        u32::try_from(self.tests.len() - 1).unwrap()
    }

    fn edge(&mut self, from: u32, to: u32) {
        self.successors[from as usize].push(to);
    }

    /// Adds the code's blocks: the first, and the one that it is left from.
    fn emit(&mut self, code: &Code) -> (u32, u32) {
        match code {
            Code::Plain => {
                let b = self.block(false);
                (b, b)
            }
            Code::Seq(list) => {
                let parts: Vec<_> = list.iter().map(|c| self.emit(c)).collect();
                for w in parts.windows(2) {
                    self.edge(w[0].1, w[1].0);
                }
                (parts[0].0, parts[parts.len() - 1].1)
            }
            Code::If(a, b) => {
                let head = self.block(false);
                let sides: Vec<_> = std::iter::once(a).chain(b).map(|c| self.emit(c)).collect();
                let join = self.block(false);
                for &(first, last) in &sides {
                    self.edge(head, first);
                    self.edge(last, join);
                }
                if sides.len() == 1 {
                    self.edge(head, join);
                }
                (head, join)
            }
            Code::Switch(sides) => {
                let head = self.block(false);
                let sides: Vec<_> = sides.iter().map(|c| self.emit(c)).collect();
                let join = self.block(false);
                for (first, last) in sides {
                    self.edge(head, first);
                    self.edge(last, join);
                }
                (head, join)
            }
            Code::While(body) => {
                let head = self.block(true);
                let (first, last) = self.emit(body);
                let exit = self.block(false);
                self.edge(head, first);
                self.edge(head, exit);
                self.edge(last, head);
                (head, exit)
            }
            Code::DoWhile(body) => {
                let (first, last) = self.emit(body);
                let test = self.block(true);
                let exit = self.block(false);
                self.edge(last, test);
                self.edge(test, first);
                self.edge(test, exit);
                (first, exit)
            }
        }
    }
}

/// Where a lane goes: by chance, and out of loops after 50 blocks.
fn choice(seed: u64, lane: usize, step: u64, ways: usize, test: bool) -> usize {
    let mut z = seed
        ^ (lane as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ step.wrapping_mul(0xd1b5_4a32_d192_ed03);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z ^= z >> 27;
    if test && step > 50 { ways - 1 } else { (z % ways as u64) as usize }
}

fn issues(program: &Program, cfg: &Cfg, mechanism: &str, knobs: Knobs, seed: u64) -> u64 {
    let places: Vec<_> = (0..cfg.len() as u64).map(|i| i..i + 1).collect();
    let plan = plan(&[FunctionFlow { cfg, places: &places, notes: &[], written: 0 }]).unwrap();
    let start = Start::at(Pc(u64::from(cfg.entry().get())), WarpMask::first(8), 8);
    let mut m = Entry::find(mechanism).unwrap().build(&start, knobs).unwrap();
    let mut steps = [0u64; 8];
    let mut issues = 0;
    while let Some(path) = m.preferred() {
        issues += 1;
        let block = usize::try_from(path.pc.0).unwrap();
        let ways = &program.successors[block];
        let mut targets: Vec<(Pc, WarpMask)> = Vec::new();
        for lane in path.lanes.iter().filter(|_| !ways.is_empty()) {
            let way = choice(seed, lane, steps[lane], ways.len(), program.tests[block]);
            steps[lane] += 1;
            let pc = Pc(u64::from(ways[way]));
            match targets.binary_search_by_key(&pc, |t| t.0) {
                Ok(i) => targets[i].1.insert(lane),
                Err(i) => targets.insert(i, (pc, WarpMask::lane(lane))),
            }
        }
        let event = if ways.is_empty() && path.lanes.any() {
            Event::Exit { at: path.pc, lanes: path.lanes, next: path.pc }
        } else {
            Event::Branch { at: path.pc, targets: &targets }
        };
        m.event(&plan, path.id, &event).unwrap();
    }
    issues
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_same_issues(code in programs(), seed in any::<u64>()) {
        let mut program = Program::default();
        let (entry, _) = program.emit(&code);
        let cfg = Cfg::new(entry, &program.successors).unwrap();
        prop_assert!(Structure::new(&cfg).is_ok());
        // The layout is one in which only loops go back, and loops stand together.
        let order = BlockOrder::structured(&cfg, &Loops::new(&cfg));
        prop_assert_eq!(order, BlockOrder::layout(&cfg));
        let count = |name, knobs| issues(&program, &cfg, name, knobs, seed);
        let expected = count("ipdom", Knobs::default());
        for name in ["tf-stack", "min-pc", "min-sp-pc"] {
            prop_assert_eq!(count(name, Knobs::default()), expected, "{}", name);
        }
        for (_, order) in Order::ALL {
            let knobs = Knobs { order: Some(order), ..Knobs::default() };
            prop_assert_eq!(count("ipdom", knobs), expected);
        }
        prop_assert!(count("tf-sandy", Knobs::default()) >= expected);
        prop_assert!(count("serial", Knobs::default()) >= count("barrier-only", Knobs::default()));
        prop_assert!(count("barrier-only", Knobs::default()) >= expected);
    }
}
