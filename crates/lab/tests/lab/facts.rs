//! The facts of the analyses hold at every issue of the bundled kernels.

use std::path::{Path, PathBuf};

use inputs::launch::{Located, MachineOption, OptionValue};
use isa::SourceMap;
use lab::run::{Job, JobParts, Settings};
use machines::{LaunchMonitor, Progress};

/// Stops the launch at once: facts are checked on a copy of it, before.
struct Stopped;

impl LaunchMonitor for Stopped {
    fn poll(&mut self, _: Progress) -> bool {
        false
    }
}

fn kernels() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels");
    let entries = std::fs::read_dir(folder).expect("bundled kernels");
    let mut files: Vec<PathBuf> =
        entries.filter_map(|e| Some(e.ok()?.path().join("launch.toml"))).collect();
    files.retain(|f| f.is_file());
    files.sort();
    files
}

fn check(path: &Path, launches: usize) -> bool {
    let mut sources = SourceMap::new();
    let mut parts = JobParts::from_launch_file(path, None, &mut sources).expect("a launch file");
    if parts.machine.name != "ptx" {
        return false;
    }
    parts.launches.truncate(launches);
    let span = parts.module_span;
    let option = MachineOption {
        key: Located { value: "check-facts".to_owned(), span },
        value: Located { value: OptionValue::String("yes".to_owned()), span },
    };
    parts.options.push(option.clone());
    for launch in parts.launches.iter_mut().filter(|l| !l.options.is_empty()) {
        launch.options.push(option.clone());
    }
    let settings = Settings {
        mechanism: Some(Located { value: "ipdom".to_owned(), span }),
        ..Settings::default()
    };
    let job = Job::prepare(parts, &settings, &mut sources).expect("it can be prepared");
    if let Err(found) = job.run(false, &mut Stopped) {
        panic!("{}: {:#?}", path.display(), found.iter().collect::<Vec<_>>());
    }
    true
}

#[test]
fn facts_hold_in_small_bundled_kernels() {
    let small = ["reduce", "transpose", "compaction", "dp4a", "printf", "match_any", "recursion"];
    let named = |f: &Path| small.iter().any(|s| f.parent().is_some_and(|d| d.ends_with(s)));
    let count = kernels().iter().filter(|f| named(f)).filter(|f| check(f, 1)).count();
    assert!(count >= 5, "{count}");
}

/// `cargo test -p simtlab-lab --release --test lab -- --ignored --nocapture facts::`.
#[test]
#[ignore = "minutes"]
fn facts_hold_in_all_bundled_kernels() {
    let count = kernels().iter().filter(|f| check(f, usize::MAX)).count();
    assert!(count > 20, "{count}");
}
