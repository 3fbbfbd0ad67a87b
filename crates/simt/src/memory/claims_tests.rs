//! Tests of `claims`. They are a file beside it because `tests/claims.rs` compiles that one alone.

use super::claims::{Claim, Claims};
use Claim::{Change, Read, Write};

fn claims() -> Claims {
    Claims::new([1000, 100].into_iter(), &[])
}

#[test]
fn one_owner_writes_or_many_read() {
    let claims = claims();
    let [a, b, c] = [(); 3].map(|()| claims.owner().unwrap());
    assert!(claims.claim(a, 0, (0, 128), Write) && claims.claim(a, 0, (4, 4), Read));
    // Adjacent words in one line.
    assert!(claims.claim(b, 0, (128, 4), Write) && claims.claim(c, 0, (132, 4), Write));
    assert!(claims.claim(b, 0, (136, 4), Read) && claims.claim(c, 0, (136, 4), Read));
    assert!(claims.claim(b, 0, (128, 4), Read) && claims.claim(a, 0, (136, 4), Read));
    assert!(!claims.refused());
    for (owner, at, claim) in
        [(c, 128, Read), (b, 136, Write), (a, 132, Write), (b, 64, Read), (b, 131, Change(1))]
    {
        assert!(!claims.claim(owner, 0, (at, 1), claim), "{owner} {at} {claim:?}");
    }
    assert!(claims.refused());
    assert_eq!((claims.written(), claims.followed()), (vec![0], 13));
}

#[test]
fn who_reads_may_write_if_nobody_else_reads() {
    let claims = claims();
    let [a, b] = [(); 2].map(|()| claims.owner().unwrap());
    assert!(claims.claim(a, 0, (8, 8), Read) && claims.claim(a, 0, (8, 8), Write));
    assert!(claims.claim(a, 0, (64, 8), Read) && claims.claim(b, 0, (68, 8), Read));
    assert!(claims.claim(a, 0, (64, 4), Write) && !claims.claim(a, 0, (68, 4), Write));
}

#[test]
fn one_operation_changes_a_word() {
    let claims = claims();
    let [a, b] = [(); 2].map(|()| claims.owner().unwrap());
    assert!(claims.claim(a, 1, (0, 4), Change(3)) && claims.claim(b, 1, (0, 4), Change(3)));
    assert!(claims.claim(b, 1, (4, 4), Change(2)));
    assert!(!claims.claim(b, 1, (0, 4), Change(2)));
    assert!(!claims.claim(a, 1, (4, 4), Read) && !claims.claim(b, 1, (4, 4), Write));
}

#[test]
fn unwritten_regions_stay_so() {
    let claims = claims();
    let [a, b] = [(); 2].map(|()| claims.owner().unwrap());
    assert!(claims.claim(a, 0, (0, 4), Read) && !claims.is_unwritten(0));
    claims.trust();
    assert!(claims.claim(b, 1, (0, 4), Write) && !claims.is_unwritten(1));
    assert!(claims.claim(b, 0, (4, 4), Read));
    assert!(claims.is_unwritten(0) && !claims.refused());
    assert!(!claims.claim(b, 0, (0, 4), Write) && claims.refused());
    assert_eq!(claims.written(), [0, 1]);
    let again = Claims::new([1000, 100].into_iter(), &claims.written());
    again.trust();
    assert!(again.claim(b, 0, (0, 4), Read) && again.claim(b, 0, (0, 4), Write));
}
