//! Speed of the exact engine on bundled PTX kernels: thread-instructions a second.
//!
//! `cargo bench -p simtlab-lab --bench kernels [NAME...]`. Each row is the median of five runs of a launch file, buffers and
//! checks included, without the statistics by line (`plain`) and with them (`lines`).

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use isa::SourceMap;
use lab::machine::Unwatched;
use lab::run::{Job, JobParts, Settings, Verdict};

/// The launch files that run without names on the command line.
const KERNELS: [&str; 6] = [
    "saxpy/launch.toml",
    "mandelbrot/small.toml",
    "sgemm/launch.toml",
    "collatz/launch.toml",
    "reduce/launch.toml",
    "histogram/launch.toml",
];

const RUNS: usize = 5;

/// Median seconds of a run, and thread-instructions executed.
fn measure(file: &Path, detailed: bool) -> (f64, u64) {
    let mut sources = SourceMap::new();
    let parts = JobParts::from_launch_file(file, None, &mut sources).expect("a launch file");
    let job = Job::prepare(parts, &Settings::default(), &mut sources).expect("it is ready");
    let mut times = Vec::new();
    let mut executed = 0;
    for _ in 0..RUNS {
        let start = Instant::now();
        let report = job.run(detailed, &mut Unwatched).expect("it runs");
        times.push(start.elapsed().as_secs_f64());
        assert_eq!(report.verdict(), Verdict::Met, "{}", file.display());
        executed = report.stats.launches.iter().map(|l| l.slots.active()).sum();
    }
    times.sort_by(f64::total_cmp);
    (times[RUNS / 2], executed)
}

fn main() -> std::io::Result<()> {
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels");
    let named: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let mut out = std::io::stdout();
    writeln!(
        out,
        "{:28} {:>14} {:>16} {:>16}",
        "launch", "thread-inst", "plain, M/s", "lines, M/s"
    )?;
    let all = KERNELS.iter().map(|k| (*k).to_owned()).collect();
    for name in if named.is_empty() { all } else { named } {
        let file = kernels.join(&name);
        let ((plain, executed), (lines, _)) = (measure(&file, false), measure(&file, true));
        let rate = |seconds: f64| executed as f64 / seconds / 1e6;
        writeln!(out, "{name:28} {executed:>14} {:>16.1} {:>16.1}", rate(plain), rate(lines))?;
    }
    Ok(())
}
