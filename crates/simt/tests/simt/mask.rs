//! Lane masks against sets of numbers: every public function, for one, two and sixteen words.

use std::collections::BTreeSet;

use proptest::prelude::*;
use simt::LaneMask;

type Set = BTreeSet<usize>;

/// Lanes below `capacity`: anything from none to all, dense and sparse, with word boundaries often
/// at the edge.
fn set(capacity: usize) -> impl Strategy<Value = Set> {
    prop_oneof![
        prop::collection::btree_set(0..capacity, 0..8),
        prop::collection::btree_set(0..capacity, 0..capacity),
        (0..=capacity, 0..=capacity).prop_map(|(a, b)| (a.min(b)..a.max(b)).collect()),
        prop::collection::btree_set(0..capacity, 0..6)
            .prop_map(move |out| (0..capacity).filter(|l| !out.contains(l)).collect()),
        (0..capacity / 64).prop_map(|word| [64 * word, 64 * word + 63].into()),
    ]
}

/// A lane that may be far beyond the capacity.
fn any_lane(capacity: usize) -> impl Strategy<Value = usize> {
    prop_oneof![8 => 0..capacity, 4 => capacity - 2..capacity + 70, 1 => any::<usize>()]
}

/// The mask, made from words, without any of the functions under test but `from_words`.
fn mask<const N: usize>(set: &Set) -> LaneMask<N> {
    LaneMask::from_words(std::array::from_fn(|i| {
        (0..64).filter(|bit| set.contains(&(64 * i + bit))).map(|bit| 1u64 << bit).sum()
    }))
}

/// The set, read off the words, without any of the functions under test but `words`.
fn lanes<const N: usize>(mask: &LaneMask<N>) -> Set {
    let bit = |lane: &usize| mask.words()[lane / 64] & 1 << (lane % 64) != 0;
    (0..64 * N).filter(bit).collect()
}

/// What one set says about itself.
fn queries<const N: usize>(s: &Set, lane: usize) -> Result<(), TestCaseError> {
    let m = mask::<N>(s);
    prop_assert_eq!(&lanes(&m), s);
    prop_assert_eq!(LaneMask::<N>::CAPACITY, 64 * N);
    prop_assert_eq!(m.contains(lane), s.contains(&lane));
    prop_assert_eq!(m.count() as usize, s.len());
    prop_assert_eq!((m.is_empty(), m.any()), (s.is_empty(), !s.is_empty()));
    prop_assert_eq!((m.lowest(), m.highest()), (s.first().copied(), s.last().copied()));
    let all: Set = (0..64 * N).collect();
    prop_assert_eq!(lanes(&!m), &all - s);
    Ok(())
}

/// Iteration, in increasing order, and the ways back.
fn iteration<const N: usize>(s: &Set, skip: usize) -> Result<(), TestCaseError> {
    let m = mask::<N>(s);
    let expected: Vec<usize> = s.iter().copied().collect();
    prop_assert_eq!(m.iter().collect::<Vec<_>>(), &expected[..]);
    prop_assert_eq!((&m).into_iter().collect::<Vec<_>>(), &expected[..]);
    prop_assert_eq!(m.into_iter().collect::<Vec<_>>(), &expected[..]);
    let mut rest = m.iter();
    for _ in 0..skip {
        rest.next();
    }
    let left = expected.len().saturating_sub(skip);
    prop_assert_eq!((rest.len(), rest.size_hint()), (left, (left, Some(left))));
    prop_assert_eq!(rest.clone().collect::<Vec<_>>(), &expected[expected.len() - left..]);
    prop_assert_eq!(expected.iter().rev().copied().collect::<LaneMask<N>>(), m);
    Ok(())
}

/// Masks made and changed.
fn making<const N: usize>(s: &Set, lane: usize, on: bool) -> Result<(), TestCaseError> {
    let inside = lane % (64 * N);
    prop_assert_eq!(lanes(&LaneMask::<N>::EMPTY), Set::new());
    prop_assert_eq!(LaneMask::<N>::default(), LaneMask::EMPTY);
    prop_assert_eq!(lanes(&LaneMask::<N>::lane(inside)), Set::from([inside]));
    prop_assert_eq!(lanes(&LaneMask::<N>::first(lane)), (0..lane.min(64 * N)).collect::<Set>());

    let (mut m, mut expected) = (mask::<N>(s), s.clone());
    m.set(inside, on);
    if on {
        expected.insert(inside)
    } else {
        expected.remove(&inside)
    };
    prop_assert_eq!(lanes(&m), expected.clone());
    m.insert(inside);
    expected.insert(inside);
    prop_assert_eq!(lanes(&m), expected.clone());
    m.remove(lane);
    expected.remove(&lane);
    prop_assert_eq!(lanes(&m), expected.clone());
    m.set(lane.max(64 * N), false);
    prop_assert_eq!(lanes(&m), expected, "taking out a lane beyond the capacity changes nothing");
    Ok(())
}

/// The algebra of two sets.
fn algebra<const N: usize>(a: &Set, b: &Set) -> Result<(), TestCaseError> {
    let (x, y) = (mask::<N>(a), mask::<N>(b));
    prop_assert_eq!((lanes(&(x & y)), lanes(&(x | y))), (a & b, a | b));
    prop_assert_eq!((lanes(&(x ^ y)), lanes(&(x - y))), (a ^ b, a - b));
    let (mut and, mut or, mut xor, mut sub) = (x, x, x, x);
    and &= y;
    or |= y;
    xor ^= y;
    sub -= y;
    prop_assert_eq!((and, or, xor, sub), (x & y, x | y, x ^ y, x - y));
    for (m, s) in [(x, a), (x & y, &(a & b)), (x - y, &(a - b)), (x | y, &(a | b))] {
        prop_assert_eq!(m.is_subset(&y), s.is_subset(b));
        prop_assert_eq!(y.is_subset(&m), b.is_subset(s));
        prop_assert_eq!(m.is_disjoint(&y), s.is_disjoint(b));
    }
    prop_assert_eq!(x == y, a == b);
    prop_assert_eq!(x.cmp(&y).is_eq(), a == b);
    prop_assert_eq!(x.cmp(&y), y.cmp(&x).reverse());
    Ok(())
}

/// `filter` asks each lane once, in order.
fn filtering<const N: usize>(a: &Set, b: &Set) -> Result<(), TestCaseError> {
    let mut asked = Vec::new();
    let kept = mask::<N>(a).filter(|lane| {
        asked.push(lane);
        b.contains(&lane)
    });
    prop_assert_eq!(lanes(&kept), a & b);
    prop_assert_eq!(asked, a.iter().copied().collect::<Vec<_>>());
    Ok(())
}

/// Sixty-four lanes at a time, at any lane.
fn windows<const N: usize>(s: &Set, lane: usize, bits: u64) -> Result<(), TestCaseError> {
    let m = mask::<N>(s);
    let on = |i: &usize| lane.checked_add(*i).is_some_and(|l| s.contains(&l));
    let expected: u64 = (0..64).filter(on).map(|i| 1u64 << i).sum();
    prop_assert_eq!(m.window(lane), expected);

    let placed = (0..64).filter(|i| bits >> i & 1 != 0).filter_map(|i| lane.checked_add(i));
    let expected: Set = placed.filter(|&l| l < 64 * N).collect();
    prop_assert_eq!(lanes(&LaneMask::<N>::from_window(lane, bits)), expected);
    Ok(())
}

/// The text forms, read back by hand.
fn texts<const N: usize>(s: &Set) -> Result<(), TestCaseError> {
    let m = mask::<N>(s);
    let text = m.to_string();
    prop_assert_eq!(format!("{m:?}"), text.clone());
    let inner = text.strip_prefix('{').and_then(|t| t.strip_suffix('}')).unwrap();
    let mut read = Set::new();
    let mut last_end = None;
    for part in inner.split(',').filter(|p| !p.is_empty()) {
        let number = |t: &str| t.parse::<usize>().unwrap();
        let (first, last) = match part.split_once('-') {
            Some((first, last)) => (number(first), number(last)),
            None => (number(part), number(part)),
        };
        prop_assert!(!part.contains('-') || first < last, "a range has at least two lanes: {text}");
        prop_assert!(
            last_end.is_none_or(|end| first > end + 1),
            "ranges are as long as can be: {text}"
        );
        last_end = Some(last);
        read.extend(first..=last);
    }
    prop_assert_eq!(&read, s);

    let hex = format!("{m:x}");
    prop_assert_eq!(format!("{m:#x}"), format!("0x{hex}"));
    prop_assert!(hex == "0" || !hex.starts_with('0'), "no leading zeros: {}", hex);
    let digits = hex.chars().rev().enumerate();
    let bits = digits
        .flat_map(|(i, c)| (0..4).map(move |b| (4 * i + b, c.to_digit(16).unwrap() >> b & 1)));
    prop_assert_eq!(&bits.filter(|&(_, bit)| bit != 0).map(|(lane, _)| lane).collect::<Set>(), s);
    Ok(())
}

macro_rules! for_words {
    ($module:ident $n:literal) => {
        mod $module {
            use super::*;
            const CAPACITY: usize = 64 * $n;

            proptest! {
                #[test]
                fn queries_agree(s in set(CAPACITY), lane in any_lane(CAPACITY)) {
                    queries::<$n>(&s, lane)?;
                }

                #[test]
                fn iteration_agrees(s in set(CAPACITY), skip in 0..CAPACITY + 2) {
                    iteration::<$n>(&s, skip)?;
                }

                #[test]
                fn making_agrees(s in set(CAPACITY), lane in any_lane(CAPACITY), on: bool) {
                    making::<$n>(&s, lane, on)?;
                }

                #[test]
                fn algebra_agrees(a in set(CAPACITY), b in set(CAPACITY)) {
                    algebra::<$n>(&a, &b)?;
                    algebra::<$n>(&a, &a)?;
                }

                #[test]
                fn filter_agrees(a in set(CAPACITY), b in set(CAPACITY)) {
                    filtering::<$n>(&a, &b)?;
                }

                #[test]
                fn windows_agree(s in set(CAPACITY), lane in any_lane(CAPACITY), bits: u64) {
                    windows::<$n>(&s, lane, bits)?;
                }

                #[test]
                fn texts_agree(s in set(CAPACITY)) {
                    texts::<$n>(&s)?;
                }
            }

            #[test]
            fn inserting_beyond_the_capacity_panics() {
                let insert =
                    |lane| std::panic::catch_unwind(|| LaneMask::<$n>::lane(lane)).is_err();
                assert!(!insert(CAPACITY - 1));
                assert!(insert(CAPACITY) && insert(usize::MAX));
            }

            #[test]
            fn the_edges_agree() {
                let all: Set = (0..CAPACITY).collect();
                for s in [Set::new(), all, Set::from([0]), Set::from([CAPACITY - 1])] {
                    for lane in [0, 63, 64, CAPACITY - 1, CAPACITY, usize::MAX - 1, usize::MAX] {
                        queries::<$n>(&s, lane).unwrap();
                        making::<$n>(&s, lane, true).unwrap();
                        windows::<$n>(&s, lane, u64::MAX).unwrap();
                    }
                    iteration::<$n>(&s, 1).unwrap();
                    algebra::<$n>(&s, &s).unwrap();
                    texts::<$n>(&s).unwrap();
                }
            }
        }
    };
}

for_words!(one_word 1);
for_words!(two_words 2);
for_words!(sixteen_words 16);

proptest! {
    /// A warp's mask is its bits.
    #[test]
    fn one_word_is_its_bits(bits: u64) {
        let m = LaneMask::from_bits(bits);
        prop_assert_eq!((m.bits(), m), (bits, LaneMask::from_words([bits])));
        prop_assert_eq!(lanes(&m), (0..64).filter(|i| bits >> i & 1 != 0).collect::<Set>());
    }
}
