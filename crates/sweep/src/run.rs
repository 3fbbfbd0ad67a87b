//! Runs of all rows of a shard, on several host threads.
//!
//! A thread takes the next row of a group that is open, or opens the next group: reads it and runs
//! its reference. So the rows of one large kernel run on all threads, and at most as many groups
//! are open as there are threads, and one for each that is being finished. Rows go to the calling
//! thread, which alone writes.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use study::divergence::Baseline;
use study::divergence::pool::SharedMonitor;

use crate::group::OpenGroup;
use crate::record::Record;
use crate::store::{Shard, Store, StoreError};
use crate::suite::{Group, Suite};

/// How often the caller is asked whether to go on.
const PERIOD: Duration = Duration::from_millis(50);
/// Stack of a thread that runs launches.
const STACK: usize = 32 << 20;

/// How far a sweep is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Rows that are finished, those of earlier runs included.
    pub done: usize,
    /// Rows finished in this run.
    pub new: usize,
    /// Rows of the shard.
    pub all: usize,
    /// Instructions issued in this run.
    pub issues: u64,
    /// Time since the start.
    pub elapsed: Duration,
}

/// A group whose reference has run, and the cells that are left.
struct Ready<'s> {
    group: Arc<(OpenGroup<'s>, Result<Baseline, String>)>,
    left: VecDeque<usize>,
}

/// What is left to do.
struct Queue<'s> {
    /// The next group, with the number of its first row.
    next: usize,
    first_row: usize,
    ready: VecDeque<Ready<'s>>,
    /// Groups that are being opened.
    opening: usize,
}

enum Task<'s> {
    Row(Arc<(OpenGroup<'s>, Result<Baseline, String>)>, usize),
    Open(&'s Group, usize),
}

struct Shared<'s> {
    suite: &'s Suite,
    shard: Shard,
    queue: Mutex<Queue<'s>>,
    changed: Condvar,
    stop: AtomicBool,
    issues: AtomicU64,
    /// Rows that were there already.
    found: AtomicUsize,
}

impl<'s> Shared<'s> {
    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Returns what to do next; waits while only others know.
    fn task(&self) -> Option<Task<'s>> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if self.stopped() {
                return None;
            }
            if let Some(ready) = queue.ready.front_mut() {
                let group = Arc::clone(&ready.group);
                let index = ready.left.pop_front();
                if ready.left.is_empty() {
                    queue.ready.pop_front();
                }
                match index {
                    Some(index) => return Some(Task::Row(group, index)),
                    None => continue,
                }
            }
            if let Some(group) = self.suite.groups.get(queue.next) {
                let first = queue.first_row;
                queue.next += 1;
                queue.first_row += group.cells;
                queue.opening += 1;
                return Some(Task::Open(group, first));
            }
            if queue.opening == 0 {
                return None;
            }
            let waited = self.changed.wait_timeout(queue, PERIOD);
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn opened(&self, ready: Option<Ready<'s>>) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.opening -= 1;
        queue.ready.extend(ready);
        self.changed.notify_all();
    }

    /// Opens a group, if rows of it are left.
    fn open(
        &self,
        group: &'s Group,
        first: usize,
        has: &dyn Fn(&str) -> bool,
    ) -> Option<Ready<'s>> {
        let mine: Vec<usize> = (0..group.cells).filter(|c| self.shard.has(first + c)).collect();
        if mine.is_empty() {
            return None;
        }
        let open = OpenGroup::new(self.suite, group);
        let keys: Vec<&str> = open.keys().collect();
        let (found, left): (Vec<usize>, Vec<usize>) =
            mine.into_iter().partition(|&cell| keys.get(cell).is_some_and(|key| has(key)));
        self.found.fetch_add(found.len(), Ordering::Relaxed);
        if left.is_empty() {
            return None;
        }
        let mut monitor = SharedMonitor::new(&self.stop, &self.issues);
        let baseline = open.baseline(&mut monitor)?;
        Some(Ready { group: Arc::new((open, baseline)), left: left.into() })
    }
}

/// Runs all rows of a shard that the store has not, on so many threads. `progress` is called at
/// intervals and returns whether to go on. Returns whether the shard is finished.
///
/// # Errors
/// Returns an error if rows cannot be written; those before are kept.
pub fn run(
    suite: &Suite,
    shard: Shard,
    store: &mut Store,
    threads: usize,
    progress: &mut dyn FnMut(Progress) -> bool,
) -> Result<bool, StoreError> {
    let queue = Queue { next: 0, first_row: 0, ready: VecDeque::new(), opening: 0 };
    let shared = Shared {
        suite,
        shard,
        queue: Mutex::new(queue),
        changed: Condvar::new(),
        stop: AtomicBool::new(false),
        issues: AtomicU64::new(0),
        found: AtomicUsize::new(0),
    };
    let started = Instant::now();
    let all = shard.rows(suite.rows());
    let (sender, receiver) = channel::<Record>();
    let mut failed = None;
    let mut new = 0;
    // Rows of this run are never looked for.
    let known = store.finished();
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            let (sender, shared, known) = (sender.clone(), &shared, &known);
            let work = move || {
                let has = |key: &str| known.contains(key);
                while let Some(task) = shared.task() {
                    match task {
                        Task::Open(group, first) => {
                            let ready = shared.open(group, first, &has);
                            shared.opened(ready);
                        }
                        Task::Row(group, index) => {
                            let mut monitor = SharedMonitor::new(&shared.stop, &shared.issues);
                            let row = group.0.row(index, &group.1, &mut monitor);
                            if let Some(row) = row.filter(|_| !shared.stopped())
                                && sender.send(row).is_err()
                            {
                                break;
                            }
                        }
                    }
                }
            };
            // Without any thread no row comes, and the shard is not finished.
            let _ = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
        }
        drop(sender);
        loop {
            match receiver.recv_timeout(PERIOD) {
                Ok(record) => match store.append(&record) {
                    Ok(()) => new += 1,
                    Err(error) => {
                        failed = Some(error);
                        shared.stop.store(true, Ordering::Relaxed);
                        break;
                    }
                },
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            let done = new + shared.found.load(Ordering::Relaxed);
            let issues = shared.issues.load(Ordering::Relaxed);
            let now = Progress { done, new, all, issues, elapsed: started.elapsed() };
            if !progress(now) {
                shared.stop.store(true, Ordering::Relaxed);
                shared.changed.notify_all();
            }
        }
    });
    if let Some(error) = failed {
        return Err(error);
    }
    store.sync()?;
    let done = new + shared.found.load(Ordering::Relaxed);
    Ok(!shared.stopped() && done == all)
}
