//! Runs in a recorded schedule.

use isa::Diagnostics;
use lab::run::{Job, Report};
use machines::{LaunchMonitor, ScheduledMonitor};
use thiserror::Error;

use crate::recorded::{Deviation, RecordedSchedule};
use crate::recorder::Recorder;
use crate::replay::Replay;

/// A schedule does not belong to a program, its arguments or its settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the schedule is not of this run: `{0}` could not be done")]
pub struct Unfit(Deviation);

/// Runs a job in a recorded schedule, and says whether it belongs to the job. Mechanism, warp size
/// and order of the schedule have to be the job's.
///
/// # Errors
/// Returns diagnostics if the launches cannot start.
pub fn run_recorded(
    job: &Job,
    schedule: &RecordedSchedule,
    detailed: bool,
    monitor: &mut dyn LaunchMonitor,
) -> Result<(Report, Result<(), Unfit>), Diagnostics> {
    let mut replay = Replay::new(&schedule.deviations);
    let mut recorder = Recorder::new(&mut replay, &[]);
    let mut monitor = ScheduledMonitor { monitor, strategy: &mut recorder };
    let report = job.run(detailed, &mut monitor)?;
    let fits = replay.unused().map_or(Ok(()), |deviation| Err(Unfit(deviation)));
    Ok((report, fits))
}
