use super::*;
use simt::WarpMask;

fn lanes(bits: u64) -> WarpMask {
    WarpMask::from_bits(bits)
}

/// 0: if .. goto 3; 1: then; 2: goto 4; 3: else; 4: end
fn diamond(name: &str) -> Session {
    let mut s = Session::new(name).unwrap();
    let code = [Flow::Branch(Pc(3)), Flow::Next, Flow::Jump(Pc(4)), Flow::Next, Flow::End];
    s.set_graph(&code).unwrap();
    s.begin(Pc(0), lanes(15), 4).unwrap();
    s
}

fn run(s: &mut Session) -> u64 {
    while let Some(path) = s.now() {
        match path.pc.0 {
            0 => s.branch(path.lanes, path.lanes & lanes(12), Pc(3)),
            2 => s.jump(Pc(4)),
            4 => s.exit(path.lanes),
            _ => s.step(),
        }
        .unwrap();
    }
    s.statistics().issues
}

#[test]
fn three_algorithms_by_their_names() {
    // Apart to the end, the last instruction is issued twice.
    assert_eq!(run(&mut diamond("basic")), 6);
    assert_eq!(run(&mut diamond("cfg")), 5);
    // The region is short: each place is issued once, and no stack is used.
    let mut stack = diamond("stack");
    assert_eq!(run(&mut stack), 5);
    assert_eq!(stack.mechanism().name, "predicated-stack");
    let s = stack.statistics();
    assert_eq!((s.branches, s.divergent_branches, s.divergent_paths), (1, 1, 2));
    assert_eq!((s.charges.pushes, s.charges.predicated_regions, s.active_lanes), (0, 1, 14));
    let mut basic = diamond("basic");
    run(&mut basic);
    assert!(basic.statistics().to_string().ends_with("unsound splits             1"));
}

#[test]
fn a_graph_is_needed_and_checked() {
    let mut s = Session::<1>::new("cfg").unwrap();
    assert_eq!(s.begin(Pc(0), lanes(1), 4), Err(SessionError::NoGraph("ipdom")));
    let broken = s.set_graph(&[Flow::Branch(Pc(7)), Flow::End]).unwrap_err();
    assert_eq!(broken.to_string(), "the instruction at 0 goes to 7, but the last place is 1");
    assert_eq!(s.begin(Pc(0), lanes(1), 4), Err(SessionError::NoGraph("ipdom")));
    s.set_graph(&[Flow::Branch(Pc(1)), Flow::End]).unwrap();
    let outside = SessionError::OutOfRange { place: 2, last: 1 };
    assert_eq!(s.begin(Pc(2), lanes(1), 4), Err(outside));
    assert_eq!(s.begin(Pc(0), lanes(16), 4), Err(SessionError::Lanes));
    assert_eq!(s.begin(Pc(0), lanes(0), 4), Err(SessionError::Lanes));
}

#[test]
fn masks_and_targets_are_checked_and_nothing_changes() {
    let mut s = diamond("cfg");
    let before = s.now();
    let active = s.branch(lanes(7), lanes(1), Pc(3)).unwrap_err();
    assert_eq!(active.to_string(), "active lanes {0-2} are not those of the path that runs, {0-3}");
    assert_eq!(s.branch(lanes(15), lanes(16), Pc(3)), Err(SessionError::NotActive("{4}".into())));
    let outside = SessionError::OutOfRange { place: 99, last: 4 };
    assert_eq!(s.branch(lanes(15), lanes(1), Pc(99)), Err(outside));
    let inside = SessionError::NotABlock { at: 0, place: 2 };
    assert_eq!(s.branch(lanes(15), lanes(1), Pc(2)), Err(inside));
    assert_eq!(s.exit(lanes(16)), Err(SessionError::NotActive("{4}".into())));
    assert_eq!(
        s.switch(&[(Pc(1), lanes(3)), (Pc(3), lanes(6))]),
        Err(SessionError::NotActive("{1}".into()))
    );
    assert_eq!((s.now(), s.statistics().issues), (before, 0));
    run(&mut s);
    assert_eq!(s.step(), Err(SessionError::Idle));
}

#[test]
fn an_unknown_name_suggests_the_nearest() {
    let error = Session::<1>::new("stak").err().unwrap().to_string();
    assert!(error.starts_with("there is no mechanism `stak`: did you mean `stack`?"), "{error}");
}

#[test]
fn basic_starts_without_a_graph() {
    for name in ["basic", "min-pc", "serial", "barrier-only"] {
        let mut s = Session::new(name).unwrap();
        s.begin(Pc(0), lanes(15), 4).unwrap();
        let with = run(&mut diamond(name));
        assert_eq!(run(&mut s), with, "{name}");
        assert_eq!(s.statistics().charges.unsound_splits, 0, "{name}");
    }
}

#[test]
fn the_stack_and_reconvergence_times_can_be_had() {
    let mut s = diamond("ipdom");
    s.branch(lanes(15), lanes(12), Pc(3)).unwrap();
    // Both sides stand on the stack above the lanes' meeting place; the taken side runs.
    let rows = s.rows();
    let places: Vec<_> = rows.iter().map(|row| (row.pc.map(|pc| pc.0), row.lanes.bits())).collect();
    assert_eq!(places.last(), Some(&(Some(3), 12)), "{places:?}");
    assert!(places.contains(&(Some(1), 3)), "{places:?}");
    assert_eq!(s.now().map(|path| path.lanes.bits()), Some(12));
    run(&mut s);
    let done = s.statistics();
    // Three issues of the sides between the branch and the instruction at which all meet.
    assert_eq!((done.rejoined, done.rejoin_issues, done.never_rejoined), (1, 3, 0));
    assert_eq!(done.mean_reconvergence_time(), Some(3.0));
    assert!(
        done.to_string().contains("splits rejoined            1  (after 3.0 issues)"),
        "{done}"
    );
    assert_eq!(run(&mut diamond("barrier-only")), 6);
    let mut apart = diamond("barrier-only");
    run(&mut apart);
    assert_eq!(apart.statistics().mean_reconvergence_time(), None);
}

#[test]
fn knobs_choose_the_side_that_runs_first() {
    let mut s = Session::<1>::new("ipdom").unwrap();
    let code = [Flow::Branch(Pc(3)), Flow::Next, Flow::Jump(Pc(4)), Flow::Next, Flow::End];
    s.set_graph(&code).unwrap();
    s.set_knobs(Knobs { order: Some(crate::Order::Fallthrough), ..Knobs::default() });
    s.begin(Pc(0), lanes(15), 4).unwrap();
    s.branch(lanes(15), lanes(12), Pc(3)).unwrap();
    assert_eq!(s.now().map(|path| path.pc), Some(Pc(1)));
}
