//! States at all positions, however they are reached.

use debug::{Debugger, Direction, Follow, Look as _, Reason, Session, Step, Target as _};
use ir::testing::Rng;
use simt::inspect::Inspect as _;
use simt::observe::Blind;

use crate::common::{Case, ENGINE, random};

const MOST: u64 = 300;

/// The digest of the state at each position, without the debugger.
fn digests(case: &Case) -> Vec<u64> {
    let mut out = Vec::new();
    case.run(&mut Blind, MOST, |_, state, _| out.push(ENGINE.digest(state)));
    out
}

#[test]
fn jumps_give_the_states_of_a_plain_run() {
    for seed in 0..40 {
        let case = random(seed);
        let wanted = digests(&case);
        let mut rng = Rng::new(seed);
        let mut execution = case.execution().with_gap([3, 50, 400][rng.below(3)]);
        if rng.one_in(2) {
            // So little that almost all snapshots go.
            execution.set_budget(1 << 16);
        }
        for _ in 0..12 {
            let position = rng.below(wanted.len());
            execution.seek(position as u64).expect("restored");
            let at = execution.position();
            assert_eq!(at, position as u64, "seed {seed}");
            assert_eq!(execution.digest(), wanted[position], "seed {seed}, issue {position}");
        }
    }
}

#[test]
fn n_steps_forward_and_n_back_are_none() {
    for seed in 0..25 {
        let case = random(seed + 1000);
        let wanted = digests(&case);
        let mut rng = Rng::new(seed);
        let mut execution = case.execution().with_gap(20);
        let mut debugger = Debugger::default();
        debugger.follow = Follow::Launch;
        let mut session = Session::new(&mut debugger, &mut execution);
        for _ in 0..3 {
            let from = rng.below(wanted.len().saturating_sub(1).max(1)) as u64;
            session.goto(from).expect("restored");
            let steps = 1 + rng.below(40) as u64;
            let mut taken = 0;
            for _ in 0..steps {
                let report = session.step(Step::Issue, Direction::Forward).expect("stepped");
                taken = report.position - from;
                if report.reason != Reason::Step {
                    break;
                }
            }
            assert!(session.look().position() == from + taken && taken <= steps);
            for _ in 0..taken {
                session.step(Step::Issue, Direction::Backward).expect("stepped back");
            }
            assert_eq!(session.look().position(), from, "seed {seed}");
            assert_eq!(session.look().digest(), wanted[from as usize], "seed {seed} at {from}");
        }
    }
}

/// Lines, calls and rejoin points: stepping back along a line leads to places at which stepping
/// forwards stops, too.
#[test]
fn reverse_steps_stop_at_begins_of_lines() {
    for seed in 0..20 {
        let case = random(seed + 5000);
        let mut execution = case.execution().with_gap(100);
        let mut debugger = Debugger::default();
        let mut session = Session::new(&mut debugger, &mut execution);
        session.step(Step::Issue, Direction::Forward).expect("stepped");
        let (mut stops, focus) = (vec![], session.focus());
        for _ in 0..30 {
            let report = session.step(Step::Line, Direction::Forward).expect("stepped");
            if report.reason != Reason::Step {
                break;
            }
            stops.push(report.position);
        }
        let Some(&last) = stops.last() else { continue };
        // The warp may have ended since.
        session.goto(last).expect("there");
        session.set_focus(focus).expect("resident");
        for &wanted in stops.iter().rev().skip(1) {
            let report = session.step(Step::Line, Direction::Backward).expect("stepped back");
            assert_eq!(report.position, wanted, "seed {seed}: {stops:?}");
        }
    }
}

#[test]
fn changes_begin_branches_and_leave_the_old_one() {
    let case = random(7);
    let wanted = digests(&case);
    let mut execution = case.execution().with_gap(10);
    let mut debugger = Debugger::default();
    let mut session = Session::new(&mut debugger, &mut execution);
    let middle = wanted.len() as u64 / 2;
    session.goto(middle).expect("there");
    let answer = session.command("set [out]:u32 = 0x1234").text;
    assert_eq!(answer, format!("branch 1 begins at issue {middle}\n"));
    assert_ne!(session.look().digest(), wanted[middle as usize]);
    let changed = session.look().digest();
    // Back before the change, and forwards to it again.
    session.goto(middle - 1).expect("there");
    assert_eq!(session.look().digest(), wanted[middle as usize - 1]);
    session.goto(middle).expect("there");
    assert_eq!(session.look().digest(), changed);
    session.command("branch 0");
    session.goto(middle).expect("there");
    assert_eq!(session.look().digest(), wanted[middle as usize]);
}
