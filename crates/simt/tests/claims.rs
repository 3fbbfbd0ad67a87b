//! Claims of host threads on words, under all interleavings of their atomic operations.
//!
//! `loom` runs each model once for every order of atomic operations that the memory model of C11
//! allows, and reports accesses to a cell that race. Models of more than two steps have a bound
//! on the number of preemptions.

#![allow(dead_code, reason = "`claims` is compiled for what these models use of it")]

/// What `claims` uses of `std::sync`, as the model checker's types.
mod sync {
    pub(crate) use loom::sync::Mutex;
    pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64};
}

/// Storage of the model checker's words.
mod zeroed {
    use std::ops::Deref;

    use crate::sync::AtomicU64;

    #[derive(Debug)]
    pub(crate) struct Words(Vec<AtomicU64>);

    impl Words {
        #[allow(clippy::unnecessary_wraps, reason = "the signature of the type it stands for")]
        pub(crate) fn zeroed(count: usize) -> Result<Self, ()> {
            Ok(Self((0..count).map(|_| AtomicU64::new(0)).collect()))
        }
    }

    impl Deref for Words {
        type Target = [AtomicU64];

        fn deref(&self) -> &[AtomicU64] {
            &self.0
        }
    }
}

#[path = "../src/memory/claims.rs"]
mod claims;

use claims::{Claim, Claims};
use loom::cell::UnsafeCell;
use loom::sync::Arc;

use Claim::{Change, Read, Write};

/// Bytes of the region: two words of one line.
const BYTES: usize = 8;

/// The claims on a region, and the two words that it has.
struct Region {
    claims: Claims,
    words: [UnsafeCell<u32>; 2],
}

impl Region {
    fn new() -> Self {
        let claims = Claims::new([BYTES].into_iter(), &[]);
        // The standard library's `OnceLock` allocates the entries, which the model checker does
        // not see. An empty claim makes it do so before the threads begin.
        let owner = claims.owner().unwrap();
        assert!(claims.claim(owner, 0, (0, 0), Read));
        Self { claims, words: [UnsafeCell::new(0), UnsafeCell::new(0)] }
    }

    /// Claims a word and, if that is granted, accesses it, so that the model checker reports two
    /// owners that race.
    fn access(&self, owner: u32, word: usize, claim: Claim) -> bool {
        let granted = self.claims.claim(owner, 0, (4 * word, 4), claim);
        if granted {
            match claim {
                Read => self.words[word].with(|at| assert!(!at.is_null())),
                Write => self.words[word].with_mut(|at| assert!(!at.is_null())),
                // These are atomic operations of the host.
                Change(_) => {}
            }
        }
        granted
    }
}

/// Runs the steps of each owner in a thread of its own, under all interleavings, and passes to
/// `check` which steps of each were granted.
fn model<const N: usize>(
    trusting: bool,
    steps: [&'static [(usize, Claim)]; N],
    check: impl Fn([Vec<bool>; N], &Claims) + Send + Sync + 'static,
) {
    let mut builder = loom::model::Builder::new();
    // All orders of two steps; of more, those with at most so many preemptions.
    let count: usize = steps.iter().map(|steps| steps.len()).sum();
    builder.preemption_bound = (count > 2).then_some(2);
    builder.check(move || {
        let region = Arc::new(Region::new());
        if trusting {
            region.claims.trust();
        }
        let threads = steps.map(|steps| {
            let region = Arc::clone(&region);
            let owner = region.claims.owner().unwrap();
            loom::thread::spawn(move || {
                let run = |&(word, claim): &(usize, Claim)| region.access(owner, word, claim);
                steps.iter().map(run).collect::<Vec<bool>>()
            })
        });
        let granted = threads.map(|thread| thread.join().unwrap());
        check(granted, &region.claims);
    });
}

/// Two owners that claim one word get it both if, and only if, both read it or both change it by
/// one operation.
#[test]
fn a_word_is_granted_to_compatible_claims() {
    const CLAIMS: [&[(usize, Claim)]; 4] =
        [&[(0, Read)], &[(0, Write)], &[(0, Change(1))], &[(0, Change(2))]];
    for first in CLAIMS {
        for second in CLAIMS {
            let (a, b) = (first[0].1, second[0].1);
            let compatible = a == b && a != Write;
            model(false, [first, second], move |[a, b], claims| {
                let granted = usize::from(a[0]) + usize::from(b[0]);
                assert_eq!(granted, if compatible { 2 } else { 1 });
                assert_eq!(claims.refused(), !compatible);
            });
        }
    }
}

#[test]
fn adjacent_words_of_a_line_are_independent() {
    const CLAIMS: [Claim; 3] = [Read, Write, Change(1)];
    for i in 0..CLAIMS.len() {
        let steps: [&[(usize, Claim)]; 3] = [&[(0, Read)], &[(0, Write)], &[(0, Change(1))]];
        model(false, [steps[i], &[(1, Write)]], |[a, b], claims| {
            assert!(a[0] && b[0] && !claims.refused());
        });
    }
}

#[test]
fn an_owner_that_reads_alone_may_write() {
    model(false, [&[(0, Read), (0, Write)], &[(1, Write), (1, Read)]], |granted, claims| {
        assert!(granted.iter().flatten().all(|&granted| granted) && !claims.refused());
    });
    model(false, [&[(0, Read), (0, Write)], &[(0, Read)]], |[a, b], claims| {
        assert!(!(a[1] && b[0]), "one writes what another reads");
        assert!(claims.refused());
    });
}

#[test]
fn unwritten_regions_have_no_writer() {
    model(true, [&[(0, Read)], &[(1, Write)]], |[a, b], claims| {
        // The reader may have declared the whole region unwritten.
        assert!(a[0] || b[0]);
        assert_eq!(claims.refused(), !(a[0] && b[0]));
        assert!(!b[0] || !claims.is_unwritten(0));
    });
    model(true, [&[(0, Read), (0, Read)], &[(0, Write)]], |[a, b], claims| {
        assert!(!((a[0] || a[1]) && b[0]), "one writes what another reads");
        assert!(claims.refused());
    });
}

#[test]
fn three_owners_on_one_line() {
    model(false, [&[(0, Read)], &[(0, Write)], &[(1, Write)]], |[a, b, c], _| {
        assert!(c[0] && a[0] != b[0]);
    });
    model(false, [&[(0, Change(1))], &[(0, Change(1))], &[(0, Read)]], |[a, b, c], _| {
        assert!(a[0] == b[0] && a[0] != c[0]);
    });
}
