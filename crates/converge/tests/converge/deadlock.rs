//! A spin lock whose lanes wait for each other, at the level of three places: which mechanism ends,
//! after how many steps.
//!
//! 0 begins; 1 tries to take the lock and goes back to itself if another lane has it; 2 lets go and
//! ends. Four lanes. A run hangs if its state repeats: the mechanism's image, and who has the lock.

use converge::{CATALOGUE, Entry, Event, Flow, Knobs, Listing, Order, Policy, Start};
use simt::{Pc, WarpMask};
use std::collections::HashSet;

/// Steps until all lanes have ended; none if the run hangs.
fn steps(mechanism: &str, knobs: Knobs, mut policy: Policy) -> Option<u64> {
    let code = [Flow::Next, Flow::Branch(Pc(1)), Flow::End];
    let plan = Listing::new(&code).unwrap().plan().unwrap();
    let start = Start::at(Pc(0), WarpMask::first(4), 4);
    let mut m = Entry::find(mechanism).unwrap().build(&start, knobs).unwrap();
    let mut held = false;
    let mut seen = HashSet::new();
    let mut runnable = Vec::new();
    for steps in 0.. {
        m.runnable(&mut runnable);
        if runnable.is_empty() {
            return Some(steps);
        }
        // A turn taken by counting has a state of its own.
        let turn = if policy == Policy::First { 0 } else { policy.image() % 12 };
        let mut image = vec![u64::from(held), turn];
        m.image(&mut image);
        if !seen.insert(image) {
            return None;
        }
        let path = runnable[policy.pick(&runnable)];
        let targets;
        let event = match path.pc.0 {
            0 => Event::Advance { next: Pc(1) },
            1 => {
                let winner = path.lanes.lowest().filter(|_| !held);
                let gets = winner.map_or(WarpMask::EMPTY, WarpMask::lane);
                held |= gets.any();
                targets = [(Pc(1), path.lanes - gets), (Pc(2), gets)];
                let some = targets.iter().filter(|t| t.1.any()).count();
                let first = usize::from(targets[0].1.is_empty());
                Event::Branch { at: Pc(1), targets: &targets[first..first + some] }
            }
            _ => {
                held = false;
                Event::Exit { at: Pc(2), lanes: path.lanes, next: Pc(3) }
            }
        };
        m.event(&plan, path.id, &event).unwrap();
    }
    None
}

fn first(mechanism: &str) -> Option<u64> {
    steps(mechanism, Knobs { slice: 0, ..Knobs::default() }, Policy::First)
}

#[test]
fn lanes_alone_end_and_stacks_hang_in_either_order() {
    assert_eq!(first("serial"), Some(12));
    for (_, order) in Order::ALL {
        let knobs = Knobs { order: Some(order), slice: 0, ..Knobs::default() };
        for stack in ["ipdom", "predicated-stack", "multi-path", "basic"] {
            assert_eq!(steps(stack, knobs, Policy::First), None, "{stack} {order:?}");
        }
    }
}

#[test]
fn what_prefers_the_loop_starves_the_owner() {
    for mechanism in ["min-pc", "min-sp-pc", "tf-stack", "tf-sandy", "compaction"] {
        assert_eq!(first(mechanism), None, "{mechanism}");
    }
    // The other way round every owner gets through.
    assert_eq!(first("max-pc"), Some(9));
}

#[test]
fn turns_let_every_path_through() {
    let robin = Policy::RoundRobin { turn: 0 };
    assert_eq!(steps("min-pc", Knobs::default(), robin), Some(10));
    // Splits that never merge: order decides, and turns help.
    let taken = Knobs { order: Some(Order::Taken), ..Knobs::default() };
    assert_eq!(steps("barrier-only", taken, Policy::First), None);
    let on = Knobs { order: Some(Order::Fallthrough), ..Knobs::default() };
    assert_eq!(steps("barrier-only", on, Policy::First), Some(9));
    assert!(steps("barrier-only", taken, robin).is_some());
    // Interleaved or not, lanes that wait behind the loop wait for lanes that wait for them.
    assert_eq!(steps("multi-path", Knobs { slice: 1, ..Knobs::default() }, robin), None);
}

#[test]
fn a_lane_that_is_left_alone_repeats_after_one_round() {
    let plan = Listing::new(&[Flow::Next, Flow::Branch(Pc(1)), Flow::End]).unwrap();
    let plan = plan.plan().unwrap();
    for entry in CATALOGUE {
        let start = Start::at(Pc(0), WarpMask::first(4), 4);
        let mut m = entry.build(&start, Knobs::default()).unwrap();
        // All but one lane exit at their first place, under `serial` one after another.
        let last = WarpMask::lane(3);
        while let Some(path) = m.preferred().filter(|path| (path.lanes - last).any()) {
            let exit = Event::Exit { at: path.pc, lanes: path.lanes - last, next: Pc(1) };
            m.event(&plan, path.id, &exit).unwrap();
        }
        let mut round = || {
            let mut image = Vec::new();
            let path = m.preferred().unwrap();
            let targets = [(Pc(1), path.lanes)];
            m.event(&plan, path.id, &Event::Branch { at: Pc(1), targets: &targets }).unwrap();
            m.image(&mut image);
            image
        };
        let first = round();
        assert_eq!(first, round(), "{}", entry.name);
    }
}
