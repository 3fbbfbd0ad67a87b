//! The published vectors: encodings both ways, one-instruction semantics, words that must trap.

use pmask::config::{Config, Level};
use pmask::conform::conform;

const ENCODING: &str = include_str!("../vectors/encoding_vectors.tsv");
const SEMANTIC: &str = include_str!("../vectors/semantic_vectors.tsv");
const ILLEGAL: &str = include_str!("../vectors/illegal_vectors.tsv");

fn all_pass(table: &str, config: &Config) -> usize {
    let report = conform(table, config).unwrap();
    assert!(report.failed.is_empty(), "{}", report.render());
    report.passed
}

/// Checks RSV-6-a, PM-4.1-a, PM-4.3-a, PM-4.8-b, PM-4.6.2-b.
#[test]
fn encodings_both_ways() {
    assert_eq!(all_pass(ENCODING, &Config::default()), ENCODING.lines().count() - 1);
}

/// Checks PM-4.4.1-a, PM-4.4.1-b, PM-4.4.1-c, PM-4.4.1-d, PM-4.4.2-a, PM-4.4.2-b, PM-4.5-a,
/// PM-4.5.1-a, PM-4.5.2-a, PM-4.6.1-a, PM-4.6.1-b, PM-4.6.1-c, PM-4.6.1-d, PM-4.6.2-a, PM-4.6.2-c,
/// PM-4.7-a, PM-3.2-d, PM-3.3.2-a, PM-3.3.2-b. Options that a row does not speak of make no
/// difference to it.
#[test]
fn semantics_under_every_option_they_apply_to() {
    let rows = SEMANTIC.lines().count() - 1;
    let default = Config::default();
    let same = [
        default,
        Config { fused_branches: false, ..default },
        Config { lane_forms: false, ..default },
        Config { cexp: false, ..default },
        Config { pcmp_bank: true, ..default },
        Config { rt: true, ..default },
        Config { zero: true, ..default },
        Config { misaligned_trap: true, ..default },
        Config { reset_random: Some(11), ..default },
        Config { scalar_algebra: true, ..default },
    ];
    for config in same {
        assert_eq!(all_pass(SEMANTIC, &config), rows);
    }
}

/// Under level M1, without banks in `pmmov.to_p0` and without PMASK, rows of what is missing trap
/// and the others do not change. Checks PM-7.1-a, PM-7.1-b, CAP-4.2.1.1-c.
#[test]
fn semantics_of_lesser_machines() {
    let m2 = [
        "pmnot",
        "pmand",
        "pmor",
        "pmxor",
        "pmandn",
        "pmlow.rd",
        "pmhigh.rd",
        "pmlow.wr",
        "pmhigh.wr",
        "pmall",
        "pmpopcnt",
    ];
    let m1 = Config { level: Level::M1, ..Config::default() };
    let no_bank = Config { to_p0_bank: false, ..Config::default() };
    let off = Config { pmask: false, ..Config::default() };
    let (header, rows) = SEMANTIC.split_once('\n').unwrap();
    for row in rows.lines() {
        let columns: Vec<&str> = row.split('\t').collect();
        let (mnemonic, bank) = (columns[1], columns[4]);
        let expected_to_trap = [
            (m1, m2.contains(&mnemonic)),
            (no_bank, mnemonic == "pmmov.to_p0" && !matches!(bank, "-" | "0")),
            (off, true),
        ];
        for (config, traps) in expected_to_trap {
            let mut columns = columns.clone();
            if traps {
                // The state after is the state before.
                (columns[9], columns[10], columns[11], columns[12]) =
                    (columns[5], columns[6], "-", "2");
            }
            if config.pmask || bank == "-" {
                all_pass(&format!("{header}\n{}", columns.join("\t")), &config);
            }
        }
    }
}

/// Checks PM-9-a, RSV-6-b, PM-3.3.1-a, CEXP-d.
#[test]
fn illegal_words_trap() {
    let rows = ILLEGAL.lines().count() - 1;
    assert_eq!(all_pass(ILLEGAL, &Config::default()), rows);
    assert_eq!(all_pass(ILLEGAL, &Config { zero: true, vl: 8, ..Config::default() }), rows);
}

/// A wrong row is reported by its name, and rows that are not rows do no harm.
#[test]
fn failures_are_told() {
    let header = SEMANTIC.lines().next().unwrap();
    let wrong =
        "X1\tpmset\t4\t8\t1\t0\t0x0\t-\t-\t1\t0xfe\t-\t-\ttext\nX2\tpmset\nX3\tpmset\t9\t8\t1";
    let report = conform(&format!("{header}\n{wrong}"), &Config::default()).unwrap();
    assert_eq!((report.passed, report.failed.len()), (0, 3));
    assert!(report.render().starts_with("X1: `pmset 1`: the bank is 0xff, not 0xfe\n"));
    assert!(report.render().ends_with("0 passed, 3 failed\n"));
    assert!(conform("what\tis\tthis", &Config::default()).is_err());
}
