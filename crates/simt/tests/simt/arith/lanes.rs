//! The lane combinators against a model that reads and writes one element at a time.

use proptest::prelude::*;
use simt::LaneMask;
use simt::arith::lanes::{
    Inactive, Operand, Order, Source, Window, Windows, fill, map, map_columns, map_windows,
};

/// Lanes of a group: several words, the last one partly used.
const LANES: usize = 150;

fn mask() -> impl Strategy<Value = LaneMask<3>> {
    let any_bits = any::<[u64; 3]>();
    let dense = any_bits.prop_map(|words| words.map(|w| w | w.rotate_left(7) | w.rotate_left(23)));
    prop_oneof![
        Just(LaneMask::from_words([u64::MAX; 3])),
        Just(LaneMask::EMPTY),
        any_bits.prop_map(LaneMask::from_words),
        dense.prop_map(LaneMask::from_words),
        any_bits.prop_map(|w| LaneMask::from_words([w[0], u64::MAX, w[2]])),
    ]
}

fn inactive() -> impl Strategy<Value = Inactive> {
    prop_oneof![Just(Inactive::Merge), Just(Inactive::Zero)]
}

/// What the destination becomes, by definition, given every result.
fn merged(
    mask: &LaneMask<3>,
    inactive: Inactive,
    old: &[u64],
    result: impl Fn(usize) -> u64,
) -> Vec<u64> {
    let lanes = old.iter().enumerate();
    lanes
        .map(|(lane, &value)| match (mask.contains(lane), inactive) {
            (true, _) => result(lane),
            (false, Inactive::Merge) => value,
            (false, Inactive::Zero) => 0,
        })
        .collect()
}

fn combine([a, b]: [u64; 2]) -> u64 {
    a.wrapping_mul(3).wrapping_add(b)
}

proptest! {
    #[test]
    fn map_is_lane_by_lane(
        mask in mask(), inactive in inactive(), a in prop::collection::vec(any::<u64>(), LANES),
        b: u64,
    ) {
        let mut out: Vec<u64> = (0..LANES as u64).collect();
        let wanted = merged(&mask, inactive, &out, |i| combine([a[i], b]));
        let mut calls = 0;
        map(&mask, inactive, &mut out, [Source::Column(&a), Source::Uniform(b)], |x| {
            calls += 1;
            combine(x)
        });
        prop_assert_eq!(out, wanted);
        prop_assert_eq!(calls, (0..LANES).filter(|&i| mask.contains(i)).count());
    }

    #[test]
    fn fill_asks_lanes_that_are_on_in_order(mask in mask(), inactive in inactive()) {
        let mut out = vec![7u64; LANES];
        let wanted = merged(&mask, inactive, &out, |i| i as u64 * 5);
        let mut asked = Vec::new();
        fill(&mask, inactive, &mut out, |lane| {
            asked.push(lane);
            lane as u64 * 5
        });
        prop_assert_eq!(out, wanted);
        prop_assert_eq!(asked, mask.iter().filter(|&lane| lane < LANES).collect::<Vec<_>>());
    }

    /// Sources before, after, equal to and partly over the destination: all are read before
    /// anything is written.
    #[test]
    fn columns_are_read_before_written(
        mask in mask(),
        inactive in inactive(),
        destination in 0..=3 * LANES,
        a in 0..=3 * LANES,
        b in prop_oneof![Just(None), (0..=3 * LANES).prop_map(Some)],
        aligned: bool,
    ) {
        let snap = |at: usize| if aligned { at / LANES * LANES } else { at };
        let (destination, a, b) = (snap(destination), snap(a), b.map(snap));
        let old = (0..4 * LANES as u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let old: Vec<u64> = old.collect();
        let mut file = old.clone();
        let value = |lane: usize| b.map_or(99, |b| old[b + lane]);
        let mut wanted = old.clone();
        let before = &old[destination..][..LANES];
        let results = merged(&mask, inactive, before, |i| combine([old[a + i], value(i)]));
        wanted[destination..][..LANES].copy_from_slice(&results);
        let second = b.map_or(Operand::Uniform(99), Operand::Column);
        let operands = [Operand::Column(a), second];
        map_columns(&mask, inactive, LANES, &mut file, destination, operands, combine);
        prop_assert_eq!(file, wanted);
    }

    /// Windows with any strides, wrapping around a file of 32 registers, in both orders.
    #[test]
    fn windows_in_both_orders(
        mask in mask(),
        inactive in inactive(),
        starts in any::<[u8; 3]>(),
        steps in prop::array::uniform3(-130isize..130),
        ascending: bool,
        lanes in 0usize..80,
    ) {
        let window = |k: usize| Window { first: starts[k].into(), step: steps[k], modulus: 32 };
        let index = |k: usize, lane: usize| {
            (isize::from(starts[k]) + lane as isize * steps[k]).rem_euclid(32) as usize
        };
        let old: Vec<u64> = (0..40u64).map(|i| i * i + 1).collect();
        let mut wanted = old.clone();
        for lane in 0..lanes {
            let place = index(0, lane);
            if mask.contains(lane) {
                let from = if ascending { wanted.clone() } else { old.clone() };
                wanted[place] = combine([from[index(1, lane)], from[index(2, lane)]]);
            } else if inactive == Inactive::Zero {
                wanted[place] = 0;
            }
        }
        let order = if ascending { Order::Ascending } else { Order::Simultaneous };
        let windows = Windows { order, destination: window(0), sources: [window(1), window(2)] };
        let mut file = old;
        map_windows(&mask, inactive, lanes, &mut file, windows, combine);
        prop_assert_eq!(file, wanted);
    }
}

/// The difference between the orders, by hand: a running sum against a shift.
#[test]
fn ascending_lanes_see_earlier_results() {
    let windows = |order| Windows {
        order,
        destination: Window { first: 1, step: 1, modulus: 8 },
        sources: [Window { first: 0, step: 1, modulus: 8 }],
    };
    let run = |order| {
        let mut file = [1u64, 10, 20, 30, 0, 0, 0, 0];
        let mask = LaneMask::<1>::first(4);
        map_windows(&mask, Inactive::Merge, 4, &mut file, windows(order), |[x]| x + 1);
        file
    };
    assert_eq!(run(Order::Ascending), [1, 2, 3, 4, 5, 0, 0, 0]);
    assert_eq!(run(Order::Simultaneous), [1, 2, 11, 21, 31, 0, 0, 0]);
}
