//! Barriers in memory: phases against counters that are kept apart, and every misuse.

use simt::mbarrier::{Arrival, MAX_COUNT, MAX_COUNT_V1, Mbarrier, Misuse, pending_count};

const PLAIN: Arrival = Arrival { drop: false, no_complete: false, counted: false };
const DROP: Arrival = Arrival { drop: true, ..PLAIN };
const COUNTED: Arrival = Arrival { counted: true, ..PLAIN };
const OPEN: Arrival = Arrival { no_complete: true, ..PLAIN };

/// The same, with a number for each field.
struct Model {
    pending: u32,
    expected: u32,
    phase: u64,
}

#[test]
fn phases_follow_the_counts() {
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move |below: u32| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
        (random >> 33) as u32 % below
    };
    for _ in 0..200 {
        let first = 1 + next(9);
        let mut model = Model { pending: first, expected: first, phase: 0 };
        let v1 = next(2) != 0;
        let new = if v1 { Mbarrier::new_v1 } else { Mbarrier::new };
        let mut barrier = new(first).unwrap();
        for _ in 0..60 {
            if model.expected == 0 {
                break;
            }
            let count = 1 + next(model.pending);
            let how = [PLAIN, PLAIN, DROP, COUNTED][next(4) as usize];
            let (state, phase) = (barrier.word(), model.phase);
            assert_eq!(pending_count(state), model.pending);
            barrier = barrier.arrive(count, how).unwrap();
            model.expected -= if how.drop { count } else { 0 };
            model.pending -= if how.counted { 0 } else { count };
            if model.pending == 0 {
                model.pending = model.expected;
                model.phase += 1;
            }
            assert_eq!(barrier.pending(), model.pending);
            assert_eq!(barrier.expected(), model.expected);
            assert_eq!(barrier.has_completed(state), Ok(model.phase != phase));
            for parity in [0, 1] {
                assert_eq!(barrier.has_completed_parity(parity), model.phase % 2 != parity);
            }
            assert_eq!(Mbarrier::load(barrier.word()), Ok(barrier));
            assert_eq!(barrier.is_v1(), v1);
        }
    }
}

#[test]
fn misuse_is_told() {
    assert_eq!(Mbarrier::new(0), Err(Misuse::Count(0)));
    assert_eq!(Mbarrier::new(MAX_COUNT + 1), Err(Misuse::Count(MAX_COUNT + 1)));
    assert_eq!(Mbarrier::load(0), Err(Misuse::NotInitialised));
    let two = Mbarrier::new(2).unwrap();
    assert_eq!(two.arrive(0, PLAIN), Err(Misuse::Count(0)));
    assert_eq!(two.arrive(3, PLAIN), Err(Misuse::TooMany { count: 3, left: 2 }));
    assert_eq!(two.arrive(2, OPEN), Err(Misuse::Completes));
    assert_eq!(two.arrive(1, OPEN).map(Mbarrier::pending), Ok(1));
    let full = Mbarrier::new(MAX_COUNT).unwrap();
    assert_eq!(full.arrive(1, COUNTED), Err(Misuse::Count(MAX_COUNT + 1)));
    assert_eq!(Mbarrier::new_v1(MAX_COUNT_V1 + 1), Err(Misuse::CountV1(MAX_COUNT_V1 + 1)));
    let full = Mbarrier::new_v1(MAX_COUNT_V1).unwrap();
    assert_eq!(full.arrive(1, COUNTED), Err(Misuse::CountV1(MAX_COUNT_V1 + 1)));
    assert_eq!(full.complete(16).map(Mbarrier::transactions), Ok(-16));
    let one = two.arrive(1, DROP).unwrap();
    assert_eq!((one.pending(), one.expected()), (1, 1));
    assert_eq!(two.has_completed(0), Err(Misuse::State));
    // A state of the phase before the last one.
    let later = two.arrive(2, PLAIN).unwrap().arrive(2, PLAIN).unwrap();
    assert_eq!(later.has_completed(two.word()), Err(Misuse::State));
}
