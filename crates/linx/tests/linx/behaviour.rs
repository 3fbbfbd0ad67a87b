//! Small kernels with known results, under the EXEC mask and in the replay schedule.

use linx::TileOps;

#[test]
fn behaviour_cases_in_both_modes() {
    let report = linx::conform(include_str!("../data/behaviour_cases.tsv"), TileOps::V04);
    assert_eq!((report.passed(), report.failed()), (15, 0), "{report}");
}
