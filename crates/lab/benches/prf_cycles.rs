//! Speed of the cycle-level model of the predicate-register-file GPU: simulated cycles and
//! instructions per second of host time, on its bundled kernels.
//!
//! `cargo bench -p simtlab-lab --bench prf_cycles`. Each figure is the median of seven runs of a
//! launch file, including buffers and checks.

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use inputs::launch::{Located, MachineOption, OptionValue};
use isa::{SourceMap, Span};
use lab::run::{Job, JobParts, Settings, Verdict};
use machines::Unmonitored;

const KERNELS: [&str; 5] = ["monte_carlo_pi", "mandelbrot", "collatz", "nested_20", "kmeans_step"];
const RUNS: usize = 7;

/// Returns the median of the seconds of a run, its cycles and its instructions.
fn measure(kernel: &str, option: (&str, &str)) -> (f64, u64, u64) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/prf").join(kernel);
    let mut sources = SourceMap::new();
    let mut parts = JobParts::from_launch_file(&folder.join("launch.toml"), None, &mut sources)
        .expect("a launch file");
    let located = |text: &str| Located { value: text.to_owned(), span: Span::default() };
    let value = Located { value: OptionValue::String(option.1.to_owned()), span: Span::default() };
    parts.options.push(MachineOption { key: located(option.0), value });
    let job = Job::prepare(parts, &Settings::default(), &mut sources).expect("it is ready");
    let (mut times, mut cycles, mut instructions) = (Vec::new(), 0, 0);
    for _ in 0..RUNS {
        let start = Instant::now();
        let report = job.run(false, &mut Unmonitored).expect("it runs");
        times.push(start.elapsed().as_secs_f64());
        assert_eq!(report.verdict(), Verdict::Met, "{kernel}");
        let total = report.stats.total();
        (cycles, instructions) = (total.counts.cycles, total.counts.slots.issues());
    }
    times.sort_by(f64::total_cmp);
    (times[RUNS / 2], cycles, instructions)
}

fn main() {
    let mut out = std::io::stdout();
    let _ = writeln!(
        out,
        "{:<18}{:<13}{:>10}{:>13}{:>16}{:>16}",
        "kernel", "model", "cycles", "instructions", "cycles/s", "instructions/s"
    );
    let models = [("timing", "on"), ("hazards", "interlocked"), ("timing", "off")];
    for kernel in KERNELS {
        for (model, option) in ["faithful", "interlocked", "functional"].iter().zip(models) {
            let (seconds, cycles, instructions) = measure(kernel, option);
            let rate = |count: u64| count as f64 / seconds;
            let _ = writeln!(
                out,
                "{kernel:<18}{model:<13}{cycles:>10}{instructions:>13}{:>16.0}{:>16.0}",
                rate(cycles),
                rate(instructions)
            );
        }
    }
}
