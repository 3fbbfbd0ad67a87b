//! Conformance tables: what passes, and what is said of rows that do not.

use linx::{TileOps, conform};

/// Failures by line, and the last line of the report.
fn failures(table: &str, tile_ops: TileOps) -> (Vec<(u32, String)>, String) {
    let report = conform(table, tile_ops);
    let failed = report.rows.iter().filter_map(|r| Some((r.line, r.failure.clone()?))).collect();
    let text = report.to_string();
    (failed, text.lines().last().unwrap_or_default().to_owned())
}

#[test]
fn opcode_maps_of_other_projects() {
    let map = "name\tnumber\nTADD\t0x00\nTADDS\t0x20\nTSHRS\t42\nV.ADD\t0x000000050000007f\n";
    assert_eq!(failures(map, TileOps::V04), (Vec::new(), "4 passed, 0 failed".to_owned()));
    // A word that several forms share stands for any of them, and for no other.
    let shared = "name\tnumber\nBSTART.STD\t0x3001\nBSTART.STD\t0x21\nBSTART CALL\t0x50160002\nB.DIM\t0x1043\n\
                  C.BSTART\t0x4\nB.IOTI\t0x7013\nBSTART.TMATMUL\t0x231181\nB.DIM\t0x3043\n";
    let (failed, count) = failures(shared, TileOps::V04);
    assert_eq!(count, "6 passed, 2 failed");
    let says = ["expected 0x231181, got 0x31181", "expected 0x3043, got 0x43 or 0x1043 or 0x2043"];
    assert_eq!(failed.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>(), says);
    // Without a header, by commas or blanks; in the other numbering.
    let old = "# v0.3\nTADDS, 0x040\nTCOLEXPAND 0x0c1\nTEXP,0x040\nTNONE 3\nTADD\n";
    let (failed, count) = failures(old, TileOps::V03);
    assert_eq!(count, "1 passed, 4 failed");
    let says = [
        (3, "expected 0xc1, got 0xc0"),
        (4, "TEXP has no encoding in the v0.3 numbering: 0x040 is TADDS"),
        (5, "`TNONE` is not a tile operation"),
        (6, "expected a name and a number"),
    ];
    assert_eq!(failed, says.map(|(line, text)| (line, text.to_owned())));
}

#[test]
fn rows_that_differ_say_expected_and_got() {
    let table = "addr\tbytes\tbits\ttext\tstatus\tsrc\n\
                 -\t0c09\t16\tc.addi a2, 1,->t\tok\tX\n\
                 -\t0c09\t16\tc.addi a2, 2,->t\tok\tX\n\
                 -\t0c0\t16\tc.addi a2, 1,->t\tok\tX\n\
                 -\tfdffffff\t32\tnothing\tok\tX\n";
    let (failed, count) = failures(table, TileOps::V04);
    assert_eq!(count, "1 passed, 3 failed");
    assert!(
        failed[0].1.contains("expected text `c.addi a2, 2,->t`, got `c.addi a2, 1, ->t`"),
        "{}",
        failed[0].1
    );
    assert!(failed[1].1.contains("`0c0` is not bytes in hexadecimal"), "{}", failed[1].1);
    assert!(failed[2].1.starts_with("expected an instruction, got: "), "{}", failed[2].1);
}

#[test]
fn cases_are_known_by_name_and_by_their_results() {
    let head = "name\tblock\tlaunch\timports\tkernel\texpected_replay\texpected_exec\tnote\n";
    let row = |name: &str, replay: &str, exec: &str| {
        format!("{head}{name}\t-\t-\t-\t-\t{replay}\t{exec}\t-\n")
    };
    assert!(failures(&row("scalar_once", "a7 = 32", "a7 = 1 here"), TileOps::V04).0.is_empty());
    let (failed, _) = failures(&row("scalar_once", "a7 = 31", "a7 = 1"), TileOps::V04);
    assert_eq!(failed[0].1, "expected replay `a7 = 31`, got `a7 = 32`");
    let (failed, count) = failures(&row("no_such_case", "1", "1"), TileOps::V04);
    assert_eq!(
        (failed[0].1.as_str(), count.as_str()),
        ("there is no program for this case", "0 passed, 1 failed")
    );
    let (failed, _) = failures(&format!("{head}branch_z\tMSEQ\n"), TileOps::V04);
    assert_eq!(failed[0].1, "2 columns are too few");
}
