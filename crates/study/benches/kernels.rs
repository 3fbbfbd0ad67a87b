//! Speed of the exact engine on bundled PTX kernels in thread-instructions per second.
//!
//! `cargo bench -p simtlab-study --bench kernels [NAME...]`. Each row is the median of five runs of
//! a launch file, including buffers and checks: without statistics (`plain`), and the cost of
//! observation as a multiple of that: with statistics by line (`lines`, as `--stats text`), and
//! with reconvergence times in addition (`apart`, as `--stats json`).

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use isa::SourceMap;
use lab::run::{Job, JobParts, Settings, Verdict};
use machines::{ProbedMonitor, Unmonitored};
use probes::Rejoins;

/// The launch files that run if the command line names none.
const KERNELS: [&str; 6] = [
    "saxpy/launch.toml",
    "mandelbrot/small.toml",
    "sgemm/launch.toml",
    "collatz/launch.toml",
    "reduce/launch.toml",
    "histogram/launch.toml",
];

const RUNS: usize = 5;

/// The statistics that are collected.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Measurement {
    Plain,
    Lines,
    ReconvergenceTimes,
}

/// Returns the median of the seconds of a run, and the thread-instructions that it executed.
fn measure(file: &Path, measurement: Measurement) -> (f64, u64) {
    let mut sources = SourceMap::new();
    let parts = JobParts::from_launch_file(file, None, &mut sources).expect("a launch file");
    let job = Job::prepare(parts, &Settings::default(), &mut sources).expect("it is ready");
    let mut times = Vec::new();
    let mut executed = 0;
    for _ in 0..RUNS {
        let (mut rejoins, mut monitor) = (Rejoins::default(), Unmonitored);
        let mut probed = ProbedMonitor { monitor: &mut monitor, probe: &mut rejoins };
        let start = Instant::now();
        let report = match measurement {
            Measurement::Plain => job.run(false, &mut Unmonitored),
            Measurement::Lines => job.run(true, &mut Unmonitored),
            Measurement::ReconvergenceTimes => job.run(true, &mut probed),
        };
        let report = report.expect("it runs");
        times.push(start.elapsed().as_secs_f64());
        assert_eq!(report.verdict(), Verdict::Met, "{}", file.display());
        executed = report.stats.launches.iter().map(|l| l.counts.slots.active()).sum();
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
        "{:28} {:>14} {:>12} {:>8} {:>8}",
        "launch", "thread-inst", "plain, M/s", "lines", "apart"
    )?;
    let all = KERNELS.iter().map(|k| (*k).to_owned()).collect();
    for name in if named.is_empty() { all } else { named } {
        let file = kernels.join(&name);
        let (plain, executed) = measure(&file, Measurement::Plain);
        let [lines, apart] = [Measurement::Lines, Measurement::ReconvergenceTimes]
            .map(|measurement| measure(&file, measurement).0 / plain);
        let rate = executed as f64 / plain / 1e6;
        writeln!(out, "{name:28} {executed:>14} {rate:>12.1} {lines:>8.2} {apart:>8.2}")?;
    }
    Ok(())
}
