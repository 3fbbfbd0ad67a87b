//! States at all positions, however they are reached.

use std::collections::HashMap;

use debug::{Debugger, Direction, Follow, Reason, Session, Step};
use isa::testing::Rng;
use simt::LaneMask;
use simt::inspect::Inspect;
use simt::machine::Step as Stepped;

use super::cases::Case;
use super::log::{Key, registers};
use super::{Check, campaign, each_machine};

/// Issues of a launch, at most.
const MOST: u64 = 300;
/// States of a launch that are compared.
const STATES: u64 = 5;

/// Jumps, steps forwards, and as many back.
struct Travel;

/// Digests and registers of some positions, without the debugger.
fn plain<M: Inspect<1>>(case: &Case<M>) -> Vec<(u64, u64, HashMap<Key, u128>)> {
    let (mut state, mut out) = (case.first.clone(), Vec::new());
    for position in 0..MOST {
        let there = case.machine.upcoming(&case.program, &mut state).is_ok();
        if position % (MOST / STATES) == 7 {
            out.push((
                position,
                case.machine.digest(&state),
                registers(case, &state, !LaneMask::EMPTY),
            ));
        }
        if !there {
            break;
        }
        let step = case.machine.run_unobserved(&case.program, &mut state, 1);
        assert!(matches!(step, Stepped::Issued), "a kernel that ends");
    }
    out
}

/// The same registers by the session.
fn seen(session: &Session<'_>, wanted: &HashMap<Key, u128>) -> HashMap<Key, u128> {
    let mut out = HashMap::new();
    for group in session.look().groups() {
        for lane in group.launched - group.exited {
            let at = simt::inspect::FramePlace { group: group.id, lane: lane as u32, frame: 0 };
            for key in wanted.keys() {
                let own = super::writers::of(key, at);
                if let (true, Ok(value)) = (own, session.look().register(at, key.1)) {
                    out.insert(*key, value);
                }
            }
        }
    }
    out
}

impl Check for Travel {
    fn check<M: Inspect<1>>(&self, case: &Case<M>, rng: &mut Rng) {
        let states = plain(case);
        let mut execution = case.execution().with_gap([3, 50, 400][rng.below(3) as usize]);
        if rng.below(2) == 0 {
            // So little that almost all snapshots go.
            debug::Target::set_budget(&mut execution, 1 << 16);
        }
        let mut debugger = Debugger::default();
        debugger.follow = Follow::Launch;
        let mut session = Session::new(&mut debugger, &mut execution);
        for _ in 0..STATES {
            let Some((position, digest, values)) = rng.pick(&states) else { return };
            session.goto(*position).expect("restored");
            assert_eq!(session.look().position(), *position);
            assert_eq!(session.look().digest(), *digest, "a jump to issue {position}");
            assert!(seen(&session, values) == *values, "registers at issue {position}");
            let mut taken = 0;
            for _ in 0..rng.below(25) {
                let report = session.step(Step::Issue, Direction::Forward).expect("stepped");
                if report.reason != Reason::Step {
                    break;
                }
                taken += 1;
            }
            assert_eq!(session.look().position(), position + taken);
            for _ in 0..taken {
                session.step(Step::Issue, Direction::Backward).expect("stepped back");
            }
            assert_eq!(session.look().position(), *position);
            assert_eq!(session.look().digest(), *digest, "{taken} from issue {position} and back");
        }
    }
}

#[test]
fn n_steps_forward_and_n_back_are_none() {
    each_machine(&Travel, 6, 17);
}

#[test]
#[ignore = "minutes"]
fn n_steps_forward_and_n_back_on_many_kernels() {
    campaign(&Travel);
}
