//! A campaign of about an hour: every bundled PTX kernel under every mechanism.

use std::path::{Path, PathBuf};

use machines::Unmonitored;
use study::divergence::{Plan, Row, Verdict, compare};

use crate::divergence::common::bundled;

/// Folders whose launch files state which mechanisms hang.
const ABOUT_HANGS: [&str; 5] =
    ["spinlock", "spin_lock", "producer_consumer", "lock_order", "barriers"];

/// Collects the launch files of PTX kernels below a folder.
fn launch_files(folder: &Path, out: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("can be listed")
        .map(|e| e.expect("an entry").path())
        .collect();
    entries.sort();
    for path in entries {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            if !ABOUT_HANGS.contains(&name.as_str()) {
                launch_files(&path, out);
            }
        } else if name.ends_with(".toml")
            && std::fs::read_to_string(&path).expect("is text").contains("machine = \"ptx\"")
        {
            out.push(path);
        }
    }
}

/// Returns whether the mechanism may have this verdict on a correct kernel.
fn allowed(row: &Row) -> bool {
    let equal = row.equal == Some(true);
    match row.verdict {
        Verdict::Ok => equal,
        Verdict::OrderDependent | Verdict::Racy => true,
        // Lanes that jump forward run separately to their end, and hang at barriers.
        Verdict::Unsound => row.mechanism == "basic" && equal,
        Verdict::Hang => row.mechanism == "basic",
        // Compile-time mechanisms give a reason.
        Verdict::Unsupported => row.report.is_some(),
        Verdict::Fault => false,
    }
}

/// `cargo test --release -p simtlab-study --test study -- --ignored --nocapture divergence::
/// every_bundled_kernel`
#[test]
#[ignore = "a campaign of an hour"]
#[allow(clippy::print_stdout, reason = "a campaign says how far it is")]
fn every_bundled_kernel_under_every_mechanism() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels");
    let mut files = Vec::new();
    launch_files(&root, &mut files);
    assert!(files.len() > 40, "{}", files.len());
    for file in files {
        let name = file.strip_prefix(&root).unwrap_or(&file).display().to_string();
        let job = bundled(&name);
        let known = job.machine().mechanisms;
        let mechanisms = known.iter().map(|m| m.name.to_owned()).collect();
        let plan = Plan {
            mechanisms,
            warp_sizes: vec![32],
            order: None,
            settings: vec![Vec::new()],
            star: false,
            record_views: false,
            profiles: Vec::new(),
            jobs: 0,
        };
        let found = compare(&job, &plan, &mut Unmonitored).expect("begins").expect("ends");
        for row in &found.rows {
            let slots = row.stats.as_ref().is_none_or(|s| s.counts.slots.identity_holds());
            assert!(slots && allowed(row), "{name} under {}: {:?}", row.mechanism, row.verdict);
        }
        println!("{name}: {} mechanisms", found.rows.len());
    }
}
