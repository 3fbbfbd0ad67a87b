//! The measured speeds of a kernel's launches on one host thread and on several.
//!
//! Threads take time to start, share caches and the bandwidth of memory, and wait where the host
//! has other work. What that costs is not known before. The first launch of a kernel that is long
//! enough runs on all threads, the next one on one, and later ones in the way that has taken less
//! time for an instruction. The other way is tried again after ever more launches, because launches
//! and the load of the host change. Results do not depend on the way.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The longest launch on several threads after which one on a single thread is tried.
const MAX_TRIAL: Duration = Duration::from_millis(20);
/// The number of launches between two trials, at first and at most.
const TRIAL_PERIODS: (u32, u32) = (32, 4096);
/// The weight of the latest launch in a speed, unless it was faster: the first ones compile code
/// and find out what accesses are like.
const LATEST: f64 = 0.25;
/// Threads must save at least this part of the time.
const LEAST_GAIN: f64 = 0.05;

/// Where a launch runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// On one thread.
    One,
    /// On all threads.
    Many,
}

/// The speeds of a kernel's launches.
#[derive(Debug, Default)]
pub(crate) struct Speeds(Mutex<Measured>);

#[derive(Debug, Default)]
struct Measured {
    /// Nanoseconds an issue, on one thread and on several.
    one: Option<f64>,
    many: Option<f64>,
    /// The time of the latest launch on several threads.
    latest: Duration,
    /// The number of launches until the next trial, and between two trials.
    left: u32,
    period: u32,
}

impl Speeds {
    /// Returns where the next launch runs.
    pub(crate) fn choose(&self) -> Choice {
        self.measured().choose()
    }

    /// Takes the time of a launch into account.
    pub(crate) fn record(&self, way: Choice, issues: u64, time: Duration) {
        if issues > 0 {
            self.measured().record(way, time.as_nanos() as f64 / issues as f64, time);
        }
    }

    fn measured(&self) -> MutexGuard<'_, Measured> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Measured {
    fn choose(&mut self) -> Choice {
        let Some(many) = self.many else { return Choice::Many };
        let may_try_one = self.latest <= MAX_TRIAL;
        let Some(one) = self.one else {
            return if may_try_one { Choice::One } else { Choice::Many };
        };
        let best = if many < one * (1.0 - LEAST_GAIN) { Choice::Many } else { Choice::One };
        if self.left > 0 {
            self.left -= 1;
            return best;
        }
        self.period = (2 * self.period).clamp(TRIAL_PERIODS.0, TRIAL_PERIODS.1);
        self.left = self.period;
        match best {
            Choice::One => Choice::Many,
            Choice::Many if may_try_one => Choice::One,
            Choice::Many => Choice::Many,
        }
    }

    fn record(&mut self, way: Choice, now: f64, time: Duration) {
        let speed = match way {
            Choice::One => &mut self.one,
            Choice::Many => {
                self.latest = time;
                &mut self.many
            }
        };
        if self.period == 0 {
            (self.period, self.left) = (TRIAL_PERIODS.0, TRIAL_PERIODS.0);
        }
        let next = |before: f64| if now < before { now } else { before + LATEST * (now - before) };
        *speed = Some(speed.map_or(now, next));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns where launches run that take so many nanoseconds an issue in each way.
    fn ways(launches: usize, (one, many): (f64, f64), issues: u64) -> Vec<Choice> {
        let speeds = Speeds::default();
        let launch = |_| {
            let way = speeds.choose();
            let each = if way == Choice::One { one } else { many };
            speeds.record(way, issues, Duration::from_nanos((each * issues as f64) as u64));
            way
        };
        (0..launches).map(launch).collect()
    }

    #[test]
    fn launches_run_by_the_faster_choice() {
        for (times, best) in [((2.0, 5.0), Choice::One), ((5.0, 3.0), Choice::Many)] {
            let ways = ways(1000, times, 1_000_000);
            assert_eq!(ways[..2], [Choice::Many, Choice::One]);
            let others = ways[2..].iter().filter(|way| **way != best).count();
            assert!((3..=6).contains(&others), "{others}");
        }
    }

    #[test]
    fn long_launches_are_not_tried_on_one_thread() {
        assert_eq!(ways(500, (9.0, 3.0), 10_000_000), [Choice::Many; 500]);
    }

    #[test]
    fn a_choice_changes_with_the_speeds() {
        let mut measured = Measured::default();
        let mut launch = |one: f64, many: f64| {
            let way = measured.choose();
            let now = if way == Choice::One { one } else { many };
            measured.record(way, now, Duration::from_millis(1));
            way
        };
        (0..100).for_each(|_| {
            launch(2.0, 5.0);
        });
        let later: Vec<Choice> = (0..4000).map(|_| launch(6.0, 2.0)).collect();
        assert_eq!(later.last(), Some(&Choice::Many));
    }
}
