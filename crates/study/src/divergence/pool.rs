//! Runs on several host threads, in the order of a list.
//!
//! Each run has its own state, so results do not depend on the number of threads. The calling
//! thread runs nothing: it asks the monitor, which need not be shared between threads, whether to
//! go on, and tells it how far the runs are.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use machines::{LaunchMonitor, Progress};

/// How often the monitor is asked.
const PERIOD: Duration = Duration::from_millis(25);

/// Stack of a thread that runs launches: programs nest as deep as their text does.
const STACK: usize = 32 << 20;

/// Returns the number of threads for a wish, 0 for all cores.
#[must_use]
pub fn jobs(wish: usize) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    if wish == 0 { cores() } else { wish }
}

/// The monitor of one run.
pub struct SharedMonitor<'a> {
    stop: &'a AtomicBool,
    issues: &'a AtomicU64,
    /// Issues of the current launch that are in `issues`.
    told: u64,
}

impl<'a> SharedMonitor<'a> {
    /// Creates a monitor that stops at a flag and adds to a number of issues.
    #[must_use]
    pub fn new(stop: &'a AtomicBool, issues: &'a AtomicU64) -> Self {
        Self { stop, issues, told: 0 }
    }
}

impl LaunchMonitor for SharedMonitor<'_> {
    fn poll(&mut self, progress: Progress) -> bool {
        let more = match progress.issues.checked_sub(self.told) {
            Some(more) => more,
            // The next launch.
            None => progress.issues,
        };
        self.told = progress.issues;
        self.issues.fetch_add(more, Ordering::Relaxed);
        !self.stop.load(Ordering::Relaxed)
    }
}

/// Runs `each` on all items. Returns the results in the order of the items, or `None` if the
/// monitor stopped the runs.
pub fn run<T: Sync, R: Send>(
    items: &[T],
    threads: usize,
    monitor: &mut dyn LaunchMonitor,
    each: impl Fn(&T, &mut dyn LaunchMonitor) -> R + Sync,
) -> Option<Vec<R>> {
    let (stop, issues, next) = (AtomicBool::new(false), AtomicU64::new(0), AtomicUsize::new(0));
    let mut out: Vec<Option<R>> = items.iter().map(|_| None).collect();
    let (sender, receiver) = channel();
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, items.len().max(1)) {
            let sender = sender.clone();
            let (stop, issues, next, each) = (&stop, &issues, &next, &each);
            let work = move || {
                while !stop.load(Ordering::Relaxed) {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else { break };
                    let result = each(item, &mut SharedMonitor::new(stop, issues));
                    if sender.send((index, result)).is_err() {
                        break;
                    }
                }
            };
            let builder = std::thread::Builder::new().stack_size(STACK);
            // Without threads the results stay away, which the caller reads as a stop.
            let _ = builder.spawn_scoped(scope, work);
        }
        drop(sender);
        let mut done = 0;
        loop {
            match receiver.recv_timeout(PERIOD) {
                Ok((index, result)) => {
                    out[index] = Some(result);
                    done += 1;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if !monitor.rows(done, items.len() as u64, issues.load(Ordering::Relaxed)) {
                stop.store(true, Ordering::Relaxed);
            }
        }
    });
    if stop.load(Ordering::Relaxed) {
        return None;
    }
    out.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use machines::Unmonitored;

    #[test]
    fn results_are_in_the_order_of_the_items() {
        let items: Vec<u64> = (0..100).collect();
        let squares = run(&items, 3, &mut Unmonitored, |n, _| n * n).expect("not stopped");
        assert_eq!(squares, items.iter().map(|n| n * n).collect::<Vec<_>>());
        assert_eq!(run(&[] as &[u64], 3, &mut Unmonitored, |n, _| *n), Some(Vec::new()));
    }

    #[test]
    fn a_monitor_stops_what_runs() {
        struct Stop;
        impl LaunchMonitor for Stop {
            fn poll(&mut self, progress: Progress) -> bool {
                progress.blocks_done < 2
            }
        }
        let endless = |n: &u64, monitor: &mut dyn LaunchMonitor| {
            while *n > 1 && monitor.poll(Progress::default()) {}
        };
        assert_eq!(run(&[0, 1, 2, 3, 4], 2, &mut Stop, endless), None);
    }
}
