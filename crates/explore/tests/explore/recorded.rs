//! Recorded schedules: their text form, and what is wrong with one.

use explore::{Deviation, RecordedSchedule};
use isa::FileId;
use vm::Choice;

fn schedule() -> RecordedSchedule {
    let path = |cta, thread| Choice::Path { cta, thread };
    RecordedSchedule {
        mechanism: "serial".to_owned(),
        warp_size: 32,
        order: Some("taken".to_owned()),
        deviations: vec![
            Deviation { launch: 0, instead_of: path(0, 3), step: 5, choice: path(2, 32) },
            Deviation { launch: 1, instead_of: path(2, 32), step: 0, choice: path(0, 3) },
        ],
    }
}

#[test]
fn the_text_form_is_read_back() {
    let text = schedule().to_string();
    assert!(text.contains("launch 0 block 0 thread 3 step 5 -> block 2 thread 32\n"), "{text}");
    assert_eq!(RecordedSchedule::parse(FileId::default(), &text).ok(), Some(schedule()));
    let commented = text.replace('\n', "  # why\n\n");
    assert_eq!(RecordedSchedule::parse(FileId::default(), &commented).ok(), Some(schedule()));
}

#[test]
fn other_text_is_refused() {
    let good = schedule().to_string();
    let bad = [
        String::new(),
        "mechanism serial\n".to_owned(),
        good.replace("simtlab-schedule 1", "simtlab-schedule 2"),
        good.replace("warp-size 32", "warp-size many"),
        good.replace("warp-size 32\n", ""),
        good.replace("step 5", "step"),
        good.replace("->", "to"),
        good.replace("block 2", "block 99999999999999999999"),
        good.replace("thread 3 ", "lane 3 "),
        format!("{good}run 3\n"),
    ];
    for text in bad {
        assert!(RecordedSchedule::parse(FileId::default(), &text).is_err(), "{text}");
    }
}
