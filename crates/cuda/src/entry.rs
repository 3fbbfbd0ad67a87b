//! The entry of calls into the driver.
//!
//! One lock guards all state: calls of several threads are serialised, and a launch has ended when
//! its call returns, unless it waits for memory to change. Then each call looks whether it goes on,
//! and a thread does so between calls. In a child of `fork`, calls return
//! `CUDA_ERROR_NOT_INITIALIZED`, as on hardware, without touching the lock.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use cuda_abi::{Arguments, Outcome, Status};

use crate::client::{self, call};
use crate::execution::order::{self, BLOCKED};
use crate::failure;
use crate::profile;
use crate::settings::Settings;
use crate::state::pending::{ClientCall, Item, Work};
use crate::state::usage::USAGE;
use crate::state::{Driver, calls};

/// The driver, once it is initialised.
static DRIVER: Mutex<Option<Driver>> = Mutex::new(None);
/// The id of the process that initialised the driver; 0 before.
static OWNER: AtomicU32 = AtomicU32::new(0);

/// Returns whether another process initialised the driver, so that this one is its child.
pub(crate) fn is_child() -> bool {
    let owner = OWNER.load(Ordering::Relaxed);
    owner != 0 && owner != std::process::id()
}

/// Returns the settings, which are available before the driver is initialised.
pub(crate) fn settings() -> Settings {
    Settings::new(|name| std::env::var(name).ok())
}

/// Initialises the driver.
pub(crate) fn initialise(flags: u32) -> i32 {
    if is_child() {
        return Status::NOT_INITIALIZED.0;
    }
    let end = catch_unwind(|| {
        let mut driver = DRIVER.lock().unwrap_or_else(PoisonError::into_inner);
        if flags != 0 {
            return Status::INVALID_VALUE.0;
        }
        if driver.is_none() && settings().visible.is_empty() {
            return Status::NO_DEVICE.0;
        }
        if driver.is_none() {
            *driver = Some(Driver::new());
            OWNER.store(std::process::id(), Ordering::Relaxed);
        }
        Status::SUCCESS.0
    });
    end.unwrap_or(Status::UNKNOWN.0)
}

/// Runs a call that needs the driver. A panic yields `CUDA_ERROR_UNKNOWN`.
pub(crate) fn enter(name: &str, body: impl FnMut(&mut Driver) -> Outcome) -> i32 {
    enter_with(name, Arguments(&[]), body)
}

/// Does the same as [`enter`], and records the arguments if the call fails.
///
/// A call that has to wait for work on a stream ([`BLOCKED`]) is made again until it has not.
pub(crate) fn enter_with(
    name: &str,
    arguments: Arguments<'_>,
    body: impl FnMut(&mut Driver) -> Outcome,
) -> i32 {
    if is_child() {
        return Status::NOT_INITIALIZED.0;
    }
    let told = if calls::is_within() { None } else { profile::Call::of_driver(name, arguments) };
    let status = run(name, arguments, body);
    if let Some(told) = told {
        told.end(status);
    }
    status
}

/// Runs a call until it has not to wait.
fn run(name: &str, arguments: Arguments<'_>, mut body: impl FnMut(&mut Driver) -> Outcome) -> i32 {
    let mut patience: Option<Patience> = None;
    loop {
        let end = catch_unwind(AssertUnwindSafe(|| {
            let mut driver = DRIVER.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(driver) = driver.as_mut() else {
                return (Status::NOT_INITIALIZED, ClientCalls::default());
            };
            if patience.is_none() {
                driver.calls.begin(name);
            }
            order::progress(driver);
            let mut status = body(driver).err().unwrap_or(Status::SUCCESS);
            // What the stream of the client's function does next waits for the function.
            if status == BLOCKED && client::is_called() {
                status = Status::NOT_PERMITTED;
            }
            if status == BLOCKED {
                let patience = patience.get_or_insert_with(Patience::default);
                if patience.is_over(driver) {
                    order::give_up(driver);
                }
            } else if status != Status::SUCCESS {
                failure::record(driver, name, status, arguments);
            }
            if status != BLOCKED && driver.settings.trace {
                driver.print_error(&format!("{name} = {}", status.0));
            }
            (status, leave(driver))
        }));
        let Ok((status, calls)) = end else { return Status::UNKNOWN.0 };
        let was_idle = calls.is_empty();
        calls.make();
        if status != BLOCKED {
            return status.0;
        }
        if was_idle && let Some(patience) = &mut patience {
            patience.pause();
        }
    }
}

/// Calls of the client that are to be made without the lock.
#[derive(Default)]
struct ClientCalls {
    /// Calls that no work waits for.
    plain: Vec<ClientCall>,
    /// Calls on streams, with their tickets.
    due: Vec<(ClientCall, u64)>,
}

impl ClientCalls {
    fn is_empty(&self) -> bool {
        self.plain.is_empty() && self.due.is_empty()
    }

    /// Makes the calls, and those that are due after them.
    fn make(mut self) {
        while !self.is_empty() {
            self.plain.into_iter().for_each(call);
            let mut next = Self::default();
            for (made, ticket) in self.due {
                call(made);
                let mut driver = DRIVER.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(driver) = driver.as_mut() {
                    order::returned(driver, ticket);
                    let more = leave(driver);
                    next.plain.extend(more.plain);
                    next.due.extend(more.due);
                }
            }
            self = next;
        }
    }
}

/// Ends a stay with the lock: returns the calls that are due, and sees to work that waits.
fn leave(driver: &mut Driver) -> ClientCalls {
    let waits = |item: &Item| !matches!(item.work, Work::Calling { .. });
    if driver.pending.thread.is_none() && driver.pending.items.iter().any(waits) {
        let thread = std::thread::Builder::new().name("simtlab-streams".to_owned());
        // Without a thread, the client's calls do the work.
        driver.pending.thread = thread.spawn(attend).ok().map(|attendant| attendant.thread().id());
    }
    for (device, &of_machine) in (0..).zip(&driver.settings.visible) {
        let contexts = driver.contexts.values().filter(|c| c.device == device).count();
        USAGE.note(of_machine, driver.memory_use(device).0, contexts as u32);
    }
    let plain = std::mem::take(&mut driver.shared.calls);
    let due = std::mem::take(&mut driver.pending.due);
    ClientCalls { plain, due }
}

/// Tries the work that waits, while the client's threads do something else, until there is none.
fn attend() {
    let mut pause = SHORTEST_PAUSE;
    loop {
        std::thread::sleep(pause);
        let end = catch_unwind(AssertUnwindSafe(|| {
            let mut driver = DRIVER.lock().unwrap_or_else(PoisonError::into_inner);
            let driver = driver.as_mut()?;
            if driver.pending.items.is_empty() {
                driver.pending.thread = None;
                return None;
            }
            let seen = activity(driver);
            order::progress(driver);
            Some((leave(driver), activity(driver) != seen))
        }));
        let Ok(Some((calls, has_changed))) = end else { return };
        calls.make();
        pause = if has_changed { SHORTEST_PAUSE } else { (pause * 2).min(LONGEST_PAUSE) };
    }
}

/// The shortest and the longest time between two looks at work that waits.
const SHORTEST_PAUSE: Duration = Duration::from_micros(200);
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// How long a call waits for work, where other threads of the process could still change what it
/// waits for.
const PATIENCE: Duration = Duration::from_secs(10);

/// Numbers that change with everything that could let waiting work go on.
fn activity(driver: &Driver) -> [u64; 3] {
    [driver.pending.done, driver.device.host_changes(), driver.calls.begun()]
}

/// How long a call has waited without a sign that it will go on.
struct Patience {
    seen: Option<[u64; 3]>,
    since: Instant,
    pause: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { seen: None, since: Instant::now(), pause: SHORTEST_PAUSE }
    }
}

impl Patience {
    /// Returns whether the work will wait forever: nothing has happened for long, or this is the
    /// only thread, and nothing has happened since it looked last.
    fn is_over(&mut self, driver: &Driver) -> bool {
        let now = Some(activity(driver));
        if std::mem::replace(&mut self.seen, now) != now {
            (self.since, self.pause) = (Instant::now(), SHORTEST_PAUSE);
            return false;
        }
        let is_calling =
            driver.pending.items.iter().any(|item| matches!(item.work, Work::Calling { .. }));
        let is_shared =
            driver.memory.may_be_shared() || driver.events.values().any(|e| e.shared.is_some());
        let is_alone = driver.pending.is_only_client() && !is_shared;
        !is_calling && (is_alone || self.since.elapsed() >= PATIENCE)
    }

    fn pause(&mut self) {
        std::thread::sleep(self.pause);
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
    }
}

/// Runs a call that does not need the driver.
pub(crate) fn outside(body: impl FnOnce() -> Outcome) -> i32 {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(end) => end.err().unwrap_or(Status::SUCCESS).0,
        Err(_) => Status::UNKNOWN.0,
    }
}

/// Runs an exported function that is not implemented.
pub(crate) fn unsupported(name: &str) -> i32 {
    enter(name, |driver| Err(driver.unsupported(name)))
}
