//! The 740 forms: counts, round trips, samples, fuzzing.

use isa::testing;
use linx::{TileOps, dialect, table};

#[test]
fn the_catalogue_has_740_forms() {
    let forms = table(TileOps::V04).forms();
    assert_eq!(forms.len(), 740);
    let of = |bits: u32| forms.iter().filter(|f| f.bits == bits).count();
    assert_eq!([of(16), of(32), of(48), of(64)], [39, 317, 200, 184]);
}

#[test]
fn every_form_goes_round_with_random_fields() {
    for tile_ops in [TileOps::V04, TileOps::V03] {
        let done = testing::round_trip(dialect(tile_ops, true), 24, 7).unwrap();
        assert_eq!((done.forms, done.words), (740, 740 * 24));
    }
}

/// Codec B: the same forms with untyped operands.
#[test]
fn every_form_goes_round_in_the_other_codec() {
    let done = testing::round_trip(linx::other_dialect(), 12, 7).unwrap();
    assert_eq!((done.forms, done.words), (740, 740 * 12));
}

fn passes(table: &str, rows: usize) {
    let report = linx::conform(table, TileOps::V04);
    assert_eq!((report.passed(), report.failed()), (rows, 0), "{report}");
}

#[test]
fn listing_samples_both_ways() {
    passes(include_str!("../data/golden.tsv"), 383);
}

#[test]
fn samples_of_the_other_assembler() {
    passes(include_str!("../data/golden_llvm.tsv"), 19);
}

#[test]
fn worked_examples() {
    passes(include_str!("../data/worked_examples.tsv"), 45);
}

#[test]
fn random_bytes_come_back() {
    testing::random_bytes(dialect(TileOps::V04, true), 300, 11).unwrap();
}

#[test]
fn token_soup_never_panics() {
    let (accepted, rejected) = testing::token_soup(dialect(TileOps::V04, true), 2000, 5);
    assert_eq!(accepted + rejected, 2000);
}
