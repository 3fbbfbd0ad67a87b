//! Timing of jobs.

use std::time::Instant;

use machines::{Choice, End, HostThreads, LaunchMonitor, Level, Progress};

use super::execute::RunSettings;
use super::job::{Job, Result};

/// One run of a job's launches.
#[derive(Clone, Debug, PartialEq)]
pub struct Timing {
    /// Total time of all launches in seconds, including the decoding and compilation of new
    /// kernels.
    pub seconds: f64,
    /// Instructions issued, summed over the active lanes.
    pub thread_instructions: u64,
    /// The engine of each launch, as described to [`LaunchMonitor::engine_selected`].
    pub engines: Vec<String>,
    /// Whether all launches completed.
    pub done: bool,
}

#[derive(Default)]
struct EngineNames(Vec<String>);

impl LaunchMonitor for EngineNames {
    fn poll(&mut self, _: Progress) -> bool {
        true
    }

    fn engine_selected(&mut self, engine: &str) {
        self.0.push(engine.to_owned());
    }
}

impl Job {
    /// Times the launches on the given engine, level and host threads. `detailed` requests
    /// statistics beyond the lane slots.
    ///
    /// # Errors
    /// Returns diagnostics like [`Job::run`].
    pub fn time(
        &mut self,
        (engine, level): (Choice, Option<Level>),
        threads: HostThreads,
        detailed: bool,
    ) -> Result<Timing> {
        let best = std::mem::replace(&mut self.level, level);
        let kept = std::mem::replace(&mut self.engine, engine);
        let usual = std::mem::replace(&mut self.threads, threads);
        let mut engines = EngineNames::default();
        let outcome = self.launch_all(&RunSettings::of(self), detailed, &mut engines);
        (self.engine, self.level, self.threads) = (kept, best, usual);
        let outcome = outcome?;
        let slots = outcome.results.iter().map(|r| r.stats.counts.slots.active());
        Ok(Timing {
            seconds: outcome.seconds,
            thread_instructions: slots.sum(),
            engines: engines.0,
            done: outcome.results.iter().all(|r| matches!(r.end, End::Done)),
        })
    }
}

/// Returns the time since `start` in seconds.
pub(super) fn since(start: Instant) -> f64 {
    start.elapsed().as_secs_f64()
}
