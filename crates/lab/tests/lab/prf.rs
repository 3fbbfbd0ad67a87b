//! All models of the predicate-register-file GPU yield the same results and lane slots on its
//! bundled kernels.

use std::path::{Path, PathBuf};

use inputs::launch::{Located, MachineOption, OptionValue};
use isa::{SourceMap, Span};
use lab::run::{Job, JobParts, Report, Settings, Verdict};
use machines::Unmonitored;

fn kernels() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/prf");
    let entries = std::fs::read_dir(folder).expect("the folder of kernels");
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path().join("launch.toml"))
        .filter(|file| file.is_file())
        .collect();
    files.sort();
    assert!(files.len() >= 10, "{files:?}");
    files
}

/// Runs a launch file with additional options.
fn run(file: &Path, options: &[(&str, &str)]) -> Report {
    let mut sources = SourceMap::new();
    let mut parts = JobParts::from_launch_file(file, None, &mut sources).expect("a launch file");
    let span = Span::default();
    parts.options.extend(options.iter().map(|(key, value)| MachineOption {
        key: Located { value: (*key).to_owned(), span },
        value: Located { value: OptionValue::String((*value).to_owned()), span },
    }));
    let job = Job::prepare(parts, &Settings::default(), &mut sources).expect("it is ready");
    let report = job.run(true, &mut Unmonitored).expect("it runs");
    assert_eq!(report.verdict(), Verdict::Met, "{} with {options:?}", file.display());
    report
}

#[test]
fn kernels_end_equal_on_all_models() {
    for file in kernels() {
        let functional = run(&file, &[]);
        // Warps of the search read distances that other warps write: their order decides which warp
        // finds a vertex first, but not which vertices are found.
        let races = file.to_string_lossy().contains("bfs_step");
        let variants: [&[(&str, &str)]; 4] = [
            &[("timing", "on")],
            &[("hazards", "interlocked")],
            &[("hazards", "interlocked"), ("scheduler", "greedy-then-oldest"), ("sm.warps", "8")],
            &[("timing", "on"), ("memory.latency", "9"), ("writeback.shared-port", "true")],
        ];
        for options in variants {
            let timed = run(&file, options);
            assert_eq!(functional.buffers, timed.buffers, "{} {options:?}", file.display());
            for (a, b) in functional.stats.launches.iter().zip(&timed.stats.launches) {
                assert!(
                    races || a.counts.slots == b.counts.slots,
                    "{} {options:?}",
                    file.display()
                );
                let own = |name: &str| b.own.iter().find(|(n, _)| n == name).map_or(0, |(_, c)| *c);
                assert_eq!(own("issued"), b.counts.slots.issues());
                assert_eq!(own("hazards"), 0, "{} {options:?}", file.display());
                let lost = |table: &str| -> u64 {
                    b.own.iter().filter(|(n, _)| n.starts_with(table)).map(|(_, c)| *c).sum()
                };
                assert_eq!(own("fetched") + lost("fetch_lost."), b.counts.cycles);
                assert_eq!(own("issued") + lost("issue_lost."), b.counts.cycles);
            }
        }
    }
}

#[test]
fn nested_20_spills_beyond_sixteen_predicates() {
    let file = kernels().into_iter().find(|f| f.to_string_lossy().contains("nested_20"));
    let report = run(&file.expect("the kernel"), &[("timing", "on")]);
    let launch = &report.stats.launches[0];
    let own = |name: &str| launch.own.iter().find(|(n, _)| n == name).map_or(0, |(_, c)| *c);
    // Seven masks in each of 16 warps.
    assert_eq!((own("spills"), own("fills")), (7 * 16, 7 * 16));
}

#[test]
fn timelines_have_every_instruction_and_its_stages() {
    let file = kernels().remove(0);
    let report = run(&file, &[("trace", "on")]);
    let issued: u64 = report.stats.launches.iter().map(|l| l.counts.slots.issues()).sum();
    let text = lab::trace_events::document(&report.stats);
    let document: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let events = document["traceEvents"].as_array().expect("events");
    let of = |category: &str| events.iter().filter(|e| e["cat"] == category).count() as u64;
    assert_eq!((of("instruction"), of("stage")), (issued, 6 * issued));
    for event in events.iter().filter(|e| e["ph"] == "X") {
        assert!(event["ts"].is_u64() && event["dur"].is_u64() && event["tid"].is_u64(), "{event}");
    }
    let launches = report.stats.launches.len() as u64;
    assert!(events.iter().all(|e| (1..=launches).contains(&e["pid"].as_u64().unwrap_or(0))));
}
