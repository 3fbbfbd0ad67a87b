//! Runs a launch on both engines.

use super::observed::{Exact, HashingObserver, Observed, bytes, of_fast};
use super::resumed::resumed;
use fast::{Declined, Finished, LaunchObserver, Level, Threads};
use simt::machine::{Machine, Step};
use vm::{Engine, Launch, Program};

/// The outcomes of launches on the two engines.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Count {
    pub(crate) compared: u64,
    pub(crate) refused: u64,
    pub(crate) stopped: u64,
    /// Launches that several threads ran to their end, and launches that fell back to one thread.
    pub(crate) parallel: u64,
    pub(crate) sequential: u64,
    /// Launches that the exact engine resumed after committed CTAs.
    pub(crate) resumed: u64,
}

fn levels() -> Vec<Level> {
    let all = [Level::Portable, Level::Avx2];
    all.into_iter().filter(|l| l.is_available()).collect()
}

/// Runs a launch on both engines. The error says what differs.
pub(crate) fn compare(
    program: &Program,
    launch: &Launch<1>,
    count: &mut Count,
) -> Result<(), String> {
    let engine = Engine::<1>;
    let Ok(state) = engine.launch(program, launch.clone()) else { return Ok(()) };
    for assume in [true, false] {
        let Ok(kernel) = fast::prepare(program, &state, assume) else {
            count.refused += 1;
            return Ok(());
        };
        let mut exact: Option<Exact> = None;
        for level in levels() {
            let mut state = engine.launch(program, launch.clone()).map_err(|e| e.to_string())?;
            let (detailed, mut observer) = (level != Level::Avx2, HashingObserver::default());
            let run = fast::run(&kernel, &mut state, level, detailed, &mut observer);
            let exact = exact.get_or_insert_with(|| Exact::new(program, launch));
            match run {
                Ok(finished) => {
                    if exact.end != Step::Done {
                        let end = &exact.end;
                        return Err(format!("{level}: it ends, the exact engine says {end:?}"));
                    }
                    if bytes(&finished.memory) != exact.memory {
                        return Err(format!("{level}, assume {assume}: memory differs"));
                    }
                    if finished.output != exact.output {
                        return Err(format!("{level}: output differs"));
                    }
                    if finished.stats != exact.stats {
                        let stats = &exact.stats;
                        return Err(format!("{level}: {:#?}\nexact: {stats:#?}", finished.stats));
                    }
                    if let Some(detail) = &finished.detail {
                        let fast = of_fast(detail);
                        let Observed { counted, accesses } = &exact.observed;
                        if fast != *counted {
                            let exact = counted;
                            return Err(format!("{level}: {fast:#?}\nexact: {exact:#?}"));
                        }
                        // CTAs that do not meet may run one after the other.
                        if !observer.accesses.are_congruent(accesses) {
                            return Err(format!("{level}: its accesses differ"));
                        }
                    }
                    count.compared += 1;
                }
                Err(declined @ (Declined::Running(_) | Declined::Wrapped)) => {
                    let is_wrapped = matches!(declined, Declined::Wrapped) && assume;
                    if exact.end == Step::Done && !is_wrapped {
                        return Err(format!("{level}: {declined}, but the launch ends"));
                    }
                    if bytes(state.memory()) != bytes(&launch.memory) {
                        return Err(format!("{level}, assume {assume}: memory is not as before"));
                    }
                    count.stopped += 1;
                }
                Err(_) => count.refused += 1,
            }
        }
        if let Some(exact) = exact {
            on_threads(program, launch, assume, &exact, count)?;
            let level = Level::best();
            for detailed in [false, true] {
                let done = resumed(program, launch, &exact, detailed, |state: &mut _, observer| {
                    let kernel = fast::prepare(program, state, assume)?.commit_after(0);
                    fast::run(&kernel, state, level, detailed, observer)
                });
                count.resumed += u64::from(done?);
            }
        }
    }
    Ok(())
}

/// Runs a launch on 1, 2, 3 and 8 threads, with and without detail. The error says what differs
/// from the exact engine.
fn on_threads(
    program: &Program,
    launch: &Launch<1>,
    assume: bool,
    exact: &Exact,
    count: &mut Count,
) -> Result<(), String> {
    for (threads, detailed) in [(1, false), (2, true), (3, false), (8, false)] {
        let engine = Engine::<1>;
        let mut state = engine.launch(program, launch.clone()).map_err(|e| e.to_string())?;
        let kernel = fast::prepare(program, &state, assume).map_err(|e| e.to_string())?;
        let kernel = kernel.on_threads(threads).eagerly();
        let mut observer = HashingObserver::default();
        let dynamic: &mut dyn LaunchObserver = &mut observer;
        match fast::run(&kernel, &mut state, Level::best(), detailed, dynamic) {
            Ok(finished) => {
                if !is_same(&finished, &observer, exact) {
                    return Err(format!("{threads} threads, {:?}: it differs", finished.threads));
                }
                match finished.threads {
                    Threads::Many(_) => count.parallel += 1,
                    _ => count.sequential += 1,
                }
            }
            Err(_) if bytes(state.memory()) != bytes(&launch.memory) => {
                return Err(format!("{threads} threads: memory is not as before"));
            }
            Err(_) => {}
        }
    }
    Ok(())
}

/// Checks whether a launch has ended as on the exact engine, except for the order of accesses.
fn is_same(finished: &Finished, observer: &HashingObserver, exact: &Exact) -> bool {
    let detail = finished.detail.as_ref().is_none_or(|detail| {
        let Observed { counted, accesses } = &exact.observed;
        of_fast(detail) == *counted && observer.accesses.are_congruent(accesses)
    });
    let memory = bytes(&finished.memory) == exact.memory;
    detail
        && memory
        && exact.end == Step::Done
        && finished.stats == exact.stats
        && finished.output == exact.output
}
