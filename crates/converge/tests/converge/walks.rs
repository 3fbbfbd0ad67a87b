//! Every mechanism driven by events alone: lanes walk random programs, and after each event the
//! contract's invariants hold.
//!
//! A lane's choices depend on the seed, the lane and how many steps it has made, never on the
//! mechanism, so every mechanism must give each lane the walk that it takes alone.

use converge::planner::{FunctionFlow, plan};
use converge::{
    CATALOGUE, Entry, Event, Knobs, Layout, Mechanism, Order, Path, PathId, Plan, Policy,
    Priorities, Start,
};
use flow::{Cfg, CfgBuilder};
use proptest::prelude::*;
use simt::{Pc, WarpMask};

/// Two functions: the first is run, and calls the second.
#[derive(Clone, Debug)]
struct Program {
    functions: Vec<Cfg>,
    places: Vec<Vec<std::ops::Range<u64>>>,
    /// What each place does.
    code: Vec<Code>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Code {
    Plain,
    Bar,
    Call,
    /// The end of a block of a function.
    End(usize, flow::Node),
}

impl Program {
    fn new(functions: Vec<Cfg>, bodies: &[Vec<u8>]) -> Self {
        let mut code = Vec::new();
        let mut places = Vec::new();
        for (f, cfg) in functions.iter().enumerate() {
            places.push(
                cfg.nodes()
                    .map(|n| {
                        let first = code.len() as u64;
                        for op in &bodies[n.index() % bodies.len()] {
                            code.push(match op {
                                0 => Code::Bar,
                                1 if f == 0 => Code::Call,
                                _ => Code::Plain,
                            });
                        }
                        code.push(Code::End(f, n));
                        first..code.len() as u64
                    })
                    .collect(),
            );
        }
        Self { functions, places, code }
    }

    fn plan(&self) -> Plan {
        let flows: Vec<FunctionFlow<'_>> = self
            .functions
            .iter()
            .zip(&self.places)
            .map(|(cfg, places)| FunctionFlow { cfg, places, notes: &[], written: 0 })
            .collect();
        plan(&flows).unwrap()
    }

    fn entry(&self, function: usize) -> Pc {
        let entry = self.functions[function].entry();
        Pc(self.places[function][entry.index()].start)
    }

    fn block(&self, function: usize, node: flow::Node) -> Pc {
        Pc(self.places[function][node.index()].start)
    }
}

#[derive(Clone, Debug)]
struct Lane {
    pc: Pc,
    returns: Vec<Pc>,
    steps: u64,
    walk: Vec<u64>,
    live: bool,
    parked: bool,
}

/// After so many steps a lane ends wherever it is.
const STEPS: u64 = 40;

/// What a lane does next.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    Go(Pc),
    Call(Pc),
    Return(Pc),
    Park,
    Exit,
}

fn hash(seed: u64, lane: u64, step: u64) -> u64 {
    let mut z =
        seed ^ lane.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ step.wrapping_mul(0xd1b5_4a32_d192_ed03);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

struct Run<'a> {
    program: &'a Program,
    seed: u64,
    /// Lanes choose alike.
    together: bool,
    lanes: Vec<Lane>,
}

impl<'a> Run<'a> {
    fn new(program: &'a Program, seed: u64, width: usize, together: bool) -> Self {
        let lane = Lane {
            pc: program.entry(0),
            returns: Vec::new(),
            steps: 0,
            walk: Vec::new(),
            live: true,
            parked: false,
        };
        Self { program, seed, together, lanes: vec![lane; width] }
    }

    fn step(&self, index: usize) -> Step {
        let lane = &self.lanes[index];
        let who = if self.together { 0 } else { index as u64 };
        let choice = hash(self.seed, who, lane.steps);
        let next = Pc(lane.pc.0 + 1);
        match self.program.code[lane.pc.0 as usize] {
            _ if lane.steps >= STEPS => Step::Exit,
            Code::Plain => Step::Go(next),
            Code::Bar if choice.is_multiple_of(3) => Step::Park,
            Code::Bar => Step::Go(next),
            Code::Call => Step::Call(self.program.entry(1)),
            Code::End(f, n) => {
                let cfg = &self.program.functions[f];
                let out = cfg.successors(n);
                if out.is_empty() || cfg.is_exit(n) && choice.is_multiple_of(4) {
                    return lane.returns.last().map_or(Step::Exit, |&pc| Step::Return(pc));
                }
                Step::Go(self.program.block(f, out[choice as usize / 4 % out.len()]))
            }
        }
    }

    fn apply(&mut self, index: usize, step: Step) {
        let lane = &mut self.lanes[index];
        lane.walk.push(lane.pc.0);
        lane.steps += 1;
        match step {
            Step::Go(pc) => lane.pc = pc,
            Step::Call(pc) => {
                lane.returns.push(Pc(lane.pc.0 + 1));
                lane.pc = pc;
            }
            Step::Return(pc) => {
                lane.returns.pop();
                lane.pc = pc;
            }
            Step::Park => lane.parked = true,
            Step::Exit => lane.live = false,
        }
    }

    fn lanes_at(&self, lanes: WarpMask, keep: impl Fn(Step) -> bool) -> WarpMask {
        lanes.filter(|l| keep(self.step(l)))
    }

    /// Targets of the lanes for which `to` gives a place, in increasing order.
    fn targets(&self, lanes: WarpMask, to: impl Fn(Step) -> Option<Pc>) -> Vec<(Pc, WarpMask)> {
        let mut out: Vec<(Pc, WarpMask)> = Vec::new();
        for lane in lanes {
            let Some(pc) = to(self.step(lane)) else { continue };
            match out.binary_search_by_key(&pc, |t| t.0) {
                Ok(i) => out[i].1.insert(lane),
                Err(i) => out.insert(i, (pc, WarpMask::lane(lane))),
            }
        }
        out
    }

    /// Issues one instruction on a path.
    fn issue(&mut self, m: &mut dyn Mechanism<1>, plan: &Plan, path: Path<1>) {
        let (at, next) = (path.pc, Pc(path.pc.0 + 1));
        let ends = self.lanes_at(path.lanes, |s| s == Step::Exit);
        let parks = self.lanes_at(path.lanes, |s| s == Step::Park);
        let code = self.program.code[at.0 as usize];
        if path.lanes.is_empty() {
            let event = match code {
                Code::Plain | Code::Bar => Event::Advance { next },
                Code::Call | Code::End(..) => Event::Branch { at, targets: &[] },
            };
            return m.event(plan, path.id, &event).unwrap();
        }
        let mut moved = path.lanes;
        let go = |s| if let Step::Go(pc) = s { Some(pc) } else { None };
        // Lanes that are out of steps end in front of the instruction, in an issue of their own.
        let out_of_steps = path.lanes.filter(|l| self.lanes[l].steps >= STEPS);
        if out_of_steps.any() {
            moved = out_of_steps;
            m.event(plan, path.id, &Event::Exit { at, lanes: ends & moved, next: at }).unwrap();
        } else {
            match code {
                Code::Plain => m.event(plan, path.id, &Event::Advance { next }),
                Code::Bar => m.event(plan, path.id, &Event::Park { at, lanes: parks, next }),
                Code::Call => {
                    let targets = self.targets(path.lanes, |s| {
                        if let Step::Call(pc) = s { Some(pc) } else { None }
                    });
                    m.event(plan, path.id, &Event::Call { at, targets: &targets, return_to: next })
                }
                Code::End(f, n) if self.program.functions[f].is_exit(n) => {
                    let back = self.targets(path.lanes, |s| {
                        if let Step::Return(pc) = s { Some(pc) } else { None }
                    });
                    let on = self.targets(path.lanes, go);
                    // A guarded exit or return leaves the others at one place: the first of theirs;
                    // the rest parts later.
                    if on.len() > 1 {
                        moved = ends;
                        back.iter().for_each(|b| moved |= b.1);
                    }
                    let others = path.lanes - moved;
                    let rest = if others.any() { Some((at, others)) } else { on.first().copied() };
                    if !back.is_empty() {
                        m.event(plan, path.id, &Event::Return { at, targets: &back, rest })
                    } else if ends.any() {
                        m.event(
                            plan,
                            path.id,
                            &Event::Exit { at, lanes: ends, next: rest.map_or(next, |r| r.0) },
                        )
                    } else {
                        moved = path.lanes;
                        m.event(plan, path.id, &Event::Branch { at, targets: &on })
                    }
                }
                Code::End(..) => {
                    let targets = self.targets(path.lanes, go);
                    m.event(plan, path.id, &Event::Branch { at, targets: &targets })
                }
            }
            .unwrap();
        }
        for lane in moved {
            let step = self.step(lane);
            self.apply(lane, step);
        }
    }

    fn live(&self) -> WarpMask {
        (0..self.lanes.len()).filter(|&l| self.lanes[l].live).collect()
    }

    fn parked(&self) -> WarpMask {
        (0..self.lanes.len()).filter(|&l| self.lanes[l].live && self.lanes[l].parked).collect()
    }

    fn release(&mut self, m: &mut dyn Mechanism<1>, plan: &Plan, choice: u64) {
        let parked: Vec<usize> = self.parked().iter().collect();
        let pc = self.lanes[parked[choice as usize % parked.len()]].pc;
        let at: WarpMask = parked.into_iter().filter(|&l| self.lanes[l].pc == pc).collect();
        let some = at.filter(|l| !hash(choice, l as u64, 1).is_multiple_of(3));
        let lanes = if some.any() && !self.together { some } else { at };
        m.release(plan, lanes, Pc(pc.0 + 1));
        for l in lanes {
            self.lanes[l].parked = false;
            self.lanes[l].pc = Pc(pc.0 + 1);
        }
    }

    /// The invariants of [`Mechanism`].
    fn check(&self, name: &str, m: &dyn Mechanism<1>) {
        let (mut paths, mut runnable) = (Vec::new(), Vec::new());
        m.paths(&mut paths);
        m.runnable(&mut runnable);
        let mut all = WarpMask::EMPTY;
        for p in &paths {
            assert!(p.lanes.any() && p.lanes.is_disjoint(&all), "{name}: {paths:?}");
            all |= p.lanes;
            for l in p.lanes {
                assert_eq!(self.lanes[l].pc, p.pc, "{name}: lane {l}, {paths:?}");
            }
        }
        assert_eq!(all, self.live(), "{name}: {paths:?}");
        for r in &runnable {
            assert!(r.lanes.is_disjoint(&self.parked()), "{name}: parked lanes run");
            assert!(
                r.lanes.is_empty()
                    || paths.iter().any(|p| p.pc == r.pc && r.lanes.is_subset(&p.lanes)),
                "{name}"
            );
        }
        assert_eq!(m.preferred(), runnable.first().copied(), "{name}");
        assert!(
            self.parked().any() || self.live().is_empty() || !runnable.is_empty(),
            "{name}: stuck"
        );
    }

    fn run(mut self, name: &str, m: &mut dyn Mechanism<1>, mut policy: Policy) -> Vec<Vec<u64>> {
        let plan = self.program.plan();
        let mut runnable = Vec::new();
        for issue in 0..200_000u64 {
            self.check(name, m);
            if self.live().is_empty() {
                m.runnable(&mut runnable);
                assert!(runnable.is_empty(), "{name}: runs on without lanes");
                return self.lanes.into_iter().map(|l| l.walk).collect();
            }
            m.runnable(&mut runnable);
            let choice = hash(self.seed, 77, issue);
            if self.parked().any() && (runnable.is_empty() || choice.is_multiple_of(8)) {
                self.release(m, &plan, choice >> 8);
                continue;
            }
            let path = runnable[policy.pick(&runnable)];
            self.issue(m, &plan, path);
        }
        panic!("{name}: no end");
    }
}

/// Mechanisms that keep lanes together, and refuse what parts them.
fn together(entry: &Entry) -> bool {
    !entry.parts_lanes()
}

fn cfgs() -> impl Strategy<Value = Cfg> {
    (1u32..9).prop_flat_map(|n| {
        let block = (prop::collection::vec(0..n, 0..4), prop::bool::weighted(0.15));
        prop::collection::vec(block, n as usize).prop_map(|blocks| {
            let mut b = CfgBuilder::new();
            for (mut list, exits) in blocks {
                list.truncate(3);
                if exits { b.exiting_block(list) } else { b.block(list) }.unwrap();
            }
            b.build(0).unwrap()
        })
    })
}

fn programs() -> impl Strategy<Value = Program> {
    (cfgs(), cfgs(), prop::collection::vec(prop::collection::vec(0u8..7, 0..3), 1..6))
        .prop_map(|(a, b, bodies)| Program::new(vec![a, b], &bodies))
}

fn knobs() -> impl Strategy<Value = Knobs> {
    let orders: Vec<Option<Order>> =
        std::iter::once(None).chain(Order::ALL.map(|o| Some(o.1))).collect();
    (prop::sample::select(orders), 0u64..5).prop_map(|(order, slice)| Knobs {
        order,
        slice,
        predicate: slice * 3,
        priorities: Priorities::ALL[(slice % 2) as usize].1,
        layout: Layout::ALL[(slice % 3) as usize].1,
    })
}

fn policies() -> impl Strategy<Value = Policy> {
    prop_oneof![
        2 => Just(Policy::First),
        1 => Just(Policy::RoundRobin { turn: 0 }),
        2 => any::<u64>().prop_map(|state| Policy::Random { state }),
    ]
}

/// The lane's walk alone: the definition.
fn alone(program: &Program, seed: u64, width: usize, together: bool) -> Vec<Vec<u64>> {
    let mut run = Run::new(program, seed, width, together);
    for lane in 0..width {
        while run.lanes[lane].live {
            let step = run.step(lane);
            run.apply(lane, step);
            if step == Step::Park {
                run.lanes[lane].pc.0 += 1;
            }
        }
    }
    run.lanes.into_iter().map(|l| l.walk).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn walks_do_not_depend_on_the_mechanism(
        program in programs(), seed in any::<u64>(), width in 1usize..9, slots in 1u32..9,
        knobs in knobs(), policy in policies(),
    ) {
        let expected = alone(&program, seed, width, false);
        for entry in CATALOGUE.iter().filter(|e| !together(e)) {
            let start = Start { slots, ..Start::at(program.entry(0), WarpMask::first(width), 8) };
            let mut m = entry.build(&start, knobs).unwrap();
            let walks = Run::new(&program, seed, width, false).run(entry.name, &mut *m, policy);
            prop_assert_eq!(&walks, &expected, "{}", entry.name);
        }
    }

    #[test]
    fn uniform_lanes_stay_together_everywhere(
        program in programs(), seed in any::<u64>(), width in 1usize..9,
    ) {
        let expected = alone(&program, seed, width, true);
        for entry in CATALOGUE {
            let start = Start::at(program.entry(0), WarpMask::first(width), 8);
            let mut m = entry.build(&start, Knobs::default()).unwrap();
            let run = Run::new(&program, seed, width, true);
            let walks = run.run(entry.name, &mut *m, Policy::First);
            prop_assert_eq!(&walks, &expected, "{}", entry.name);
            if entry.name != "serial" {
                prop_assert_eq!(m.charges().splits, 0, "{}", entry.name);
            }
        }
    }

    /// Equal images, equal behaviour; a clone goes on to the same end; what one exports another can
    /// take over.
    #[test]
    fn clones_images_and_hand_over(
        program in programs(), seed in any::<u64>(), width in 1usize..9, cut in 0u64..60,
    ) {
        let expected = alone(&program, seed, width, false);
        let plan = program.plan();
        for entry in CATALOGUE.iter().filter(|e| !together(e)) {
            let start = Start::at(program.entry(0), WarpMask::first(width), 8);
            let mut m = entry.build(&start, Knobs::default()).unwrap();
            let mut run = Run::new(&program, seed, width, false);
            for _ in 0..cut {
                let Some(path) = m.preferred() else { break };
                run.issue(&mut *m, &plan, path);
            }
            let copy = m.clone();
            let (mut a, mut b) = (Vec::new(), Vec::new());
            m.image(&mut a);
            copy.image(&mut b);
            prop_assert_eq!(a, b);
            let mut paths = Vec::new();
            m.paths(&mut paths);
            let parked = run.parked();
            for next in CATALOGUE.iter().filter(|e| !together(e)) {
                let paths = paths.iter().map(|p| (p.pc, p.lanes)).collect();
                let handed = Start { width: 8, paths, parked, slots: 4 };
                let mut taken = next.build(&handed, Knobs::default()).unwrap();
                let lanes = run.lanes.clone();
                let run = Run { program: &program, seed, together: false, lanes };
                let walks = run.run(next.name, &mut *taken, Policy::First);
                prop_assert_eq!(&walks, &expected, "{} to {}", entry.name, next.name);
            }
            let mut copy = copy;
            let walks = run.run(entry.name, &mut *copy, Policy::First);
            prop_assert_eq!(&walks, &expected, "{}", entry.name);
        }
    }
}

#[test]
fn an_unknown_path_is_refused_by_all() {
    for entry in CATALOGUE {
        let start = Start::at(Pc(0), WarpMask::first(4), 4);
        let mut m = Entry::find(entry.name).unwrap().build(&start, Knobs::default()).unwrap();
        let refusal = m.event(&Plan::default(), PathId(50), &Event::Advance { next: Pc(1) });
        assert!(refusal.is_err(), "{}", entry.name);
    }
}
