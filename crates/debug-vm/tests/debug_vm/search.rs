//! Searches, against probes that see the whole launch.

use checks::probe::{LaunchStart, Probe as _, Shape, SinkObserver};
use checks::race;
use debug::{Catch, Debugger, Direction, Reason, Search, Session, What};
use simt::observe::{Events, GroupId, Issue, Observer};
use simt::{Pc, WarpMask};

use crate::case::Case;

/// Each lane adds its neighbour's word to its own, without a barrier between, and again.
const RACES: &str = "
.visible .entry k(.param .u64 out) {
  .reg .b32 %t, %v;
  .reg .b64 %a;
  .reg .pred %p;
  ld.param.u64 %a, [out];
  mov.u32 %t, %tid.x;
  mad.wide.u32 %a, %t, 4, %a;
  st.global.u32 [%a], %t;
  ld.global.u32 %v, [%a+4];
  add.u32 %v, %v, 1;
  st.global.u32 [%a], %v;
  setp.lt.u32 %p, %t, 3;
  @%p bra SMALL;
  add.u32 %v, %v, 1;
  bra DONE;
SMALL:
  add.u32 %v, %v, 2;
DONE:
  st.global.u32 [%a+4], %v;
  ret;
}";

fn case() -> Case {
    Case::new(RACES, (2, [32, 1, 1]), 4 * 65)
}

/// The positions of issues that race.
fn racing(case: &Case) -> Vec<u64> {
    let mut races = race::Races::default();
    let shape = Shape { grid: [2, 1, 1], block: [32, 1, 1], width: 32 };
    races.begin(&LaunchStart { kernel: "k", shape, places: &case.places });
    let mut out = Vec::new();
    let mut observer = RacesOf(races);
    case.run("ipdom", &mut observer, |issue, _, _, observer| {
        if !observer.0.take().is_empty() {
            out.push(issue - 1);
        }
    });
    out
}

/// The race detector as an observer.
struct RacesOf(race::Races);

impl Observer<1> for RacesOf {
    const EVENTS: Events = Events::ALL;

    fn issue(&mut self, issue: &Issue<'_, 1>) {
        SinkObserver(&mut self.0).issue(issue);
    }

    fn access(&mut self, access: &simt::observe::Access<'_>) {
        Observer::<1>::access(&mut SinkObserver(&mut self.0), access);
    }

    fn sync(&mut self, sync: &simt::observe::Sync<'_, 1>) {
        SinkObserver(&mut self.0).sync(sync);
    }

    fn cta(&mut self, cta: u64, event: simt::observe::CtaEvent) {
        Observer::<1>::cta(&mut SinkObserver(&mut self.0), cta, event);
    }
}

/// The positions at which a catch stops, forwards from the start and backwards from the end.
fn stops(case: &Case, mechanism: &str, search: Search) -> [Vec<u64>; 2] {
    let begin = |name: &str| case.begin(name);
    let kernel = case.kernel(mechanism, &begin);
    let mut execution = case.execution(&kernel).with_far(0);
    let mut debugger = Debugger::default();
    let mut session = Session::new(&mut debugger, &mut execution);
    session.add_point(What::Catch(Catch::Search(search)), "search", None, false);
    [Direction::Forward, Direction::Backward].map(|direction| {
        let mut out = Vec::new();
        loop {
            let report = session.resume(direction).expect("moves");
            let Reason::Told { .. } = report.reason else { return out };
            // Forwards it stops behind the issue, backwards before it.
            out.push(report.position - u64::from(direction == Direction::Forward));
        }
    })
}

#[test]
fn catches_stop_at_the_races_that_the_check_sees() {
    let case = case();
    let wanted = racing(&case);
    assert!(wanted.len() >= 3, "{wanted:?}");
    let [forward, mut backward] = stops(&case, "ipdom", Search::Race);
    backward.reverse();
    assert_eq!(forward, wanted);
    assert_eq!(backward, wanted);
}

/// All issues, by group.
#[derive(Default)]
struct Log(Vec<(GroupId, Pc, WarpMask)>);

impl Observer<1> for Log {
    const EVENTS: Events = Events::ISSUE;

    fn issue(&mut self, issue: &Issue<'_, 1>) {
        self.0.push((issue.group, issue.pc, issue.lanes.unmasked));
    }
}

#[test]
fn the_first_difference_is_that_of_two_full_logs() {
    let case = case();
    let log = |mechanism: &str| {
        let mut log = Log::default();
        case.run(mechanism, &mut log, |_, _, _, _| {});
        log.0
    };
    for (one, other) in [("ipdom", "min-pc"), ("min-pc", "ipdom"), ("ipdom", "serial")] {
        let (ours, theirs) = (log(one), log(other));
        // The n-th issue of a group against the n-th there.
        let nth = |index: usize| {
            let group = ours[index].0;
            let before = ours[..index].iter().filter(|(g, ..)| *g == group).count();
            theirs.iter().filter(|(g, ..)| *g == group).nth(before)
        };
        let differs = |&index: &usize| nth(index).is_none_or(|other| *other != ours[index]);
        let wanted = (0..ours.len()).find(differs).map(|index| index as u64);
        let [forward, backward] = stops(&case, one, Search::Difference(other.into()));
        assert_eq!(forward, Vec::from_iter(wanted), "{one} {other}");
        assert_eq!(backward, Vec::from_iter(wanted), "{one} {other}");
        assert!(wanted.is_some(), "{one} {other}");
    }
}
