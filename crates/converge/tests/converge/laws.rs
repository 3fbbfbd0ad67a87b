//! Laws of divergence that hold under every mechanism that brings lanes together again.

use converge::{CATALOGUE, Entry, Flow, Scope, Session};
use proptest::prelude::*;
use simt::{Pc, WarpMask};

/// Mechanisms that meet at the end of a switch.
fn meeting() -> impl Iterator<Item = &'static Entry> {
    CATALOGUE.iter().filter(|e| {
        // Under `max-pc`, lanes that have come to the end are the first to run on.
        let apart = ["serial", "basic", "barrier-only", "convergence-barriers", "max-pc"];
        e.scope == Scope::Group && !apart.contains(&e.name) && e.parts_lanes()
    })
}

/// Issues in the ways of a switch, and active lanes there; `w` lanes take `k` ways of `s` places
/// each.
fn switch(mechanism: &str, w: u64, k: u64, s: u64) -> (u64, u64) {
    let mut session = Session::<1>::new(mechanism).unwrap();
    let meet = 1 + k * s;
    let mut code = vec![Flow::Switch((0..k).map(|way| Pc(1 + way * s)).collect())];
    for _ in 0..k {
        code.extend((1..s).map(|_| Flow::Next));
        code.push(Flow::Jump(Pc(meet)));
    }
    code.push(Flow::End);
    session.set_graph(&code).unwrap();
    session.begin(Pc(0), WarpMask::first(w as usize), w as u32).unwrap();
    let (mut issues, mut active) = (0, 0);
    while let Some(path) = session.now() {
        match path.pc.0 {
            0 => {
                let ways = (0..k).map(|way| {
                    let lanes = path.lanes.filter(|lane| lane as u64 % k == way);
                    (Pc(1 + way * s), lanes)
                });
                session.switch(&ways.collect::<Vec<_>>()).unwrap();
            }
            pc if pc == meet => {
                assert_eq!(u64::from(path.lanes.count()), w, "{mechanism}: all meet");
                session.exit(path.lanes).unwrap();
            }
            pc => {
                issues += 1;
                active += u64::from(path.lanes.count());
                if pc % s == 0 { session.jump(Pc(meet)) } else { session.step() }.unwrap();
            }
        }
    }
    (issues, active)
}

/// Issues of the body of a loop that lane `i` goes round `trips[i]` times, active lanes there, and
/// issues in all.
fn rounds(mechanism: &str, trips: &[u64]) -> (u64, u64) {
    let mut session = Session::<1>::new(mechanism).unwrap();
    session.set_graph(&[Flow::Next, Flow::Branch(Pc(0)), Flow::End]).unwrap();
    let w = trips.len();
    session.begin(Pc(0), WarpMask::first(w), w as u32).unwrap();
    let mut left = trips.to_vec();
    let (mut issues, mut active) = (0, 0);
    while let Some(path) = session.now() {
        match path.pc.0 {
            0 => {
                issues += 1;
                active += u64::from(path.lanes.count());
                path.lanes.iter().for_each(|lane| left[lane] -= 1);
                session.step().unwrap();
            }
            1 => {
                let again = path.lanes.filter(|lane| left[lane] > 0);
                session.branch(path.lanes, again, Pc(0)).unwrap();
            }
            _ => session.exit(path.lanes).unwrap(),
        }
    }
    (issues, active)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    /// The cost of divergence is linear in the number of ways, T(k) = s k, and W/k lanes are
    /// active.
    #[test]
    fn divergence_costs_what_its_ways_cost(w in 1u64..=64, k in 1u64..=64, s in 1u64..6) {
        let k = k.min(w);
        for entry in meeting() {
            let (issues, active) = switch(entry.name, w, k, s);
            prop_assert_eq!(issues, s * k, "{}", entry.name);
            prop_assert_eq!(active, s * w, "{}", entry.name);
        }
    }

    /// Lane efficiency of a loop is the mean of its lanes' trips over their maximum.
    #[test]
    fn loop_efficiency_is_mean_over_max(trips in prop::collection::vec(1u64..60, 1..64)) {
        let (sum, max) = (trips.iter().sum::<u64>(), *trips.iter().max().unwrap());
        // The loop's branch goes back, so even `basic` meets where it must.
        for entry in meeting().chain([Entry::find("basic").unwrap()]) {
            let (issues, active) = rounds(entry.name, &trips);
            prop_assert_eq!((issues, active), (max, sum), "{}", entry.name);
        }
    }
}

#[test]
fn thirty_two_ways_leave_one_lane() {
    for (k, lanes) in [(1, 32), (2, 16), (4, 8), (8, 4), (16, 2), (32, 1)] {
        let (issues, active) = switch("ipdom", 32, k, 8);
        assert_eq!((issues, active / issues), (8 * k, lanes));
    }
}
