//! Attempts to run a launch on the fast engine.

use std::sync::{Mutex, PoisonError};

use fast::{
    AccessSink, Declined, Detail, Exempt, Finished, ForkedSink, LaunchObserver, Level, Screen,
    ScreenedAccess, ScreenedLaunch, Verdict,
};
use simt::memory::MemoryMap;
use simt::observe::GroupId;
use simt::{Pc, WarpMask};
use vm::{Program, State};

use crate::cache::{Cache, Compile, Preparation};
use crate::counters::{AccessCounts, Counters};
use crate::monitor::{Monitor, Progress, Selected};
use crate::options::{Choice, Options};

/// Runs a launch on the fast engine. `counters` receives the counts of the CTAs that are committed,
/// which are all if the launch ends. Declined, the state is where the exact engine has to resume,
/// and memory is what it was then.
pub(crate) fn attempt(
    (program, cache): (&Program, &Mutex<Cache>),
    options: Options,
    state: &mut State<1>,
    memory: &mut MemoryMap,
    counters: &mut Counters,
    monitor: &mut dyn Monitor,
) -> Result<Finished, Declined> {
    let mut declined;
    let judges = monitor.screen().map(|screen| screen.judges_accesses());
    let screened = judges.or(fast::has_guards(state).then_some(false));
    let mut compile = match options.engine {
        _ if screened.is_some() && options.detailed => Compile::Never,
        Choice::Interpreted => Compile::Never,
        Choice::Compiled => Compile::AtOnce,
        _ if options.threads.eager => Compile::AtOnce,
        _ => Compile::Deferred,
    };
    // With assumptions about indices first, and without if one of them fails.
    let mut assume = true;
    loop {
        let preparation = Preparation {
            assume,
            level: options.level.unwrap_or_else(Level::best).or_less(),
            compile,
            detailed: options.detailed,
            threads: options.threads.count,
            eager: options.threads.eager,
            screened,
        };
        let ready =
            cache.lock().unwrap_or_else(PoisonError::into_inner).get(program, state, preparation);
        let ready = match ready {
            Ok(ready) => ready,
            Err(why) => {
                declined = why;
                break;
            }
        };
        let accesses = AccessCounts::default();
        let bounds = screened.map(|_| Bounds);
        let takes_back = options.takes_back;
        let mut observer =
            Observer { accesses, committed: counters, bounds, takes_back, monitor: &mut *monitor };
        std::mem::swap(state.memory_mut(), memory);
        let ran = ready.run(&mut *state, &mut observer);
        std::mem::swap(state.memory_mut(), memory);
        match ran {
            Ok(mut finished) => {
                if let Some(detail) = &finished.detail {
                    observer.commit();
                    observer.declined_after_commit(detail);
                }
                *memory = std::mem::take(&mut finished.memory);
                if finished.done {
                    monitor.screen().into_iter().for_each(Screen::ended);
                }
                let (level, threads) = (finished.level, finished.threads);
                let coverage = ready.coverage();
                monitor.selected(&Selected::Fast { level, coverage, threads });
                return Ok(finished);
            }
            Err(why) => declined = why,
        }
        match declined {
            // It begins again in code.
            Declined::Long => {}
            Declined::Wrapped if assume => assume = false,
            fast::DEPTH_LIMIT if compile != Compile::Never => compile = Compile::Never,
            _ => break,
        }
    }
    Err(declined)
}

/// The screen of launches in which accesses have to lie in shared variables, which the fast engine
/// sees to, and nothing else matters.
struct Bounds;

impl Screen for Bounds {
    fn begin(&mut self, _launch: &ScreenedLaunch) -> bool {
        true
    }

    fn judges_accesses(&self) -> bool {
        false
    }

    fn access(&mut self, _access: &ScreenedAccess<'_>) -> Verdict {
        Verdict::Idle
    }

    fn exempt(&mut self, access: &ScreenedAccess<'_>) -> Option<Exempt> {
        Some(Exempt::all(access))
    }

    fn barrier(&mut self, _cta: u64) {}

    fn cta_ended(&mut self, _cta: u64) {}

    fn ended(&mut self) {}
}

/// Counts accesses, and relays progress to the monitor.
struct Observer<'a> {
    /// Accesses since CTAs were last committed.
    accesses: AccessCounts,
    /// Counts of the committed CTAs.
    committed: &'a mut Counters,
    /// The screen of launches of which the monitor has none.
    bounds: Option<Bounds>,
    /// As in [`Options`].
    takes_back: bool,
    monitor: &'a mut dyn Monitor,
}

impl LaunchObserver for Observer<'_> {
    fn poll(&mut self, blocks_done: u64, issues: u64) -> bool {
        self.monitor.poll(Progress { blocks_done, issues })
    }

    fn wants_lanes(&mut self) -> bool {
        self.monitor.wants_lanes()
    }

    fn lanes(&mut self, lanes: &mut dyn Iterator<Item = (GroupId, WarpMask, Pc)>) {
        self.monitor.lanes(lanes);
    }

    fn screen(&mut self) -> Option<&mut dyn Screen> {
        let bounds = self.bounds.as_mut()?;
        Some(self.monitor.screen().unwrap_or(bounds))
    }

    fn accesses(&mut self) -> Option<&mut dyn AccessSink> {
        Some(&mut self.accesses)
    }

    fn can_commit(&self) -> bool {
        true
    }

    fn takes_all_back(&self) -> bool {
        self.takes_back
    }

    fn commit(&mut self) {
        self.committed.add_accesses(&std::mem::take(&mut self.accesses).finish());
    }

    fn declined_after_commit(&mut self, detail: &Detail) {
        self.committed.add_detail(detail);
    }

    fn fork(&self) -> Option<Box<dyn ForkedSink>> {
        Some(Box::new(AccessCounts::default()))
    }

    fn merge(&mut self, fork: Box<dyn ForkedSink>) {
        if let Ok(counts) = fork.into_any().downcast::<AccessCounts>() {
            self.accesses.merge(*counts);
        }
    }
}
