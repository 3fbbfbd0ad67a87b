//! The progress bar, and interruption.
//!
//! The bar appears on standard error if that is a terminal and the run takes longer than half a
//! second; it disappears at the end of the run. The first Ctrl-C stops the run in an orderly way,
//! the second one at once.

use std::io::{IsTerminal, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use machines::{LaunchMonitor, Progress};

/// Time without a bar at the start of a run.
const PATIENCE: Duration = Duration::from_millis(500);

/// Time between lines where there is no terminal.
const INTERVAL: Duration = Duration::from_secs(10);

/// Set by the first Ctrl-C.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// A monitor that shows progress and handles interruption.
pub(crate) struct ProgressMonitor {
    started: Instant,
    terminal: bool,
    bar: Option<ProgressBar>,
    engines: Vec<String>,
    /// What the bar counts.
    unit: &'static str,
    /// When a line was last written where there is no terminal.
    said: Instant,
}

impl ProgressMonitor {
    /// Starts the clock, and installs the handler for Ctrl-C.
    pub(crate) fn new() -> Self {
        // Without a handler Ctrl-C ends the process, which is acceptable.
        let _ = ctrlc::set_handler(|| {
            if INTERRUPTED.swap(true, Ordering::SeqCst) {
                std::process::exit(130);
            }
        });
        Self {
            started: Instant::now(),
            terminal: std::io::stderr().is_terminal(),
            bar: None,
            engines: Vec::new(),
            unit: "blocks",
            said: Instant::now(),
        }
    }

    /// Removes the bar; returns the engines of the launches, in order.
    pub(crate) fn finish(mut self) -> Vec<String> {
        std::mem::take(&mut self.engines)
    }

    fn show(&mut self, progress: Progress) {
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::with_draw_target(
                Some(progress.blocks),
                ProgressDrawTarget::stderr_with_hz(8),
            );
            let unit = self.unit;
            let template = format!(
                "{{bar:24}} {{human_pos}}/{{human_len}} {unit}  {{per_sec}}  {{eta}} left  {{msg}}"
            );
            if let Ok(style) = ProgressStyle::with_template(&template) {
                bar.set_style(style);
            }
            bar
        });
        bar.set_length(progress.blocks);
        bar.set_position(progress.blocks_done);
        bar.set_message(format!("{} issued", indicatif::HumanCount(progress.issues)));
    }
}

impl LaunchMonitor for ProgressMonitor {
    fn poll(&mut self, progress: Progress) -> bool {
        if self.terminal && (self.bar.is_some() || self.started.elapsed() > PATIENCE) {
            self.show(progress);
        }
        !INTERRUPTED.load(Ordering::Relaxed)
    }

    fn rows(&mut self, done: u64, all: u64, issues: u64) -> bool {
        if all > 1 {
            self.unit = "runs";
        }
        if !self.terminal && self.said.elapsed() > INTERVAL {
            self.said = Instant::now();
            let issues = indicatif::HumanCount(issues);
            // A log shall show that something happens.
            let _ = writeln!(std::io::stderr(), "{done} of {all} runs, {issues} issued");
        }
        self.poll(Progress { blocks_done: done, blocks: all, issues })
    }

    fn engine_selected(&mut self, engine: &str) {
        self.engines.push(engine.to_owned());
    }
}

impl Drop for ProgressMonitor {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
