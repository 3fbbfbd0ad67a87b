//! Timing of jobs.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use machines::probe::Probe;
use machines::{Choice, End, HostThreads, LaunchMonitor, Level, ProbedMonitor, Progress};

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
        self.time_probed((engine, level), threads, (detailed, wall_time), None)
    }

    /// Does the same as [`Self::time`] by another clock, and with a probe that observes the
    /// launches.
    ///
    /// # Errors
    /// As [`Self::time`].
    pub fn time_probed(
        &mut self,
        (engine, level): (Choice, Option<Level>),
        threads: HostThreads,
        (detailed, clock): (bool, Clock),
        probe: Option<&mut dyn Probe>,
    ) -> Result<Timing> {
        let best = std::mem::replace(&mut self.level, level);
        let kept = std::mem::replace(&mut self.engine, engine);
        let usual = std::mem::replace(&mut self.threads, threads);
        let mut engines = EngineNames::default();
        let settings = RunSettings { clock, ..RunSettings::of(self) };
        let outcome = match probe {
            None => self.launch_all(&settings, detailed, &mut engines),
            Some(probe) => {
                let monitor = &mut engines;
                self.launch_all(&settings, detailed, &mut ProbedMonitor { monitor, probe })
            }
        };
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

/// The time since any moment that stays the same.
pub type Clock = fn() -> Duration;

/// The time that has passed.
pub fn wall_time() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed()
}
