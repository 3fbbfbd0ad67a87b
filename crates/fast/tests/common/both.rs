//! A launch on both engines.

#[path = "observed.rs"]
mod observed;

use fast::{Declined, Level};
use observed::{Noting, Observed, of_fast};
use simt::machine::{Machine, Step};
use simt::memory::MemoryMap;
use vm::{Engine, Launch, Program, Stats};

/// How a launch went on the two engines.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Count {
    pub(crate) compared: u64,
    pub(crate) refused: u64,
    pub(crate) stopped: u64,
}

/// All bytes of a map's regions.
pub(crate) fn bytes(memory: &MemoryMap) -> Vec<Vec<u8>> {
    let region = |r: &simt::memory::Region| {
        let mut out = vec![0; r.len() as usize];
        if r.is_live() && !r.is_empty() {
            memory.read_bytes(r.base(), &mut out).expect("a live region");
        }
        out
    };
    memory.regions().iter().map(region).collect()
}

fn levels() -> Vec<Level> {
    let all = [Level::Portable, Level::Avx2, Level::Avx512];
    all.into_iter().filter(|l| l.is_available()).collect()
}

/// How the exact engine ends: memory, statistics, events.
type Exact = (Step<vm::Cause>, Vec<Vec<u8>>, Stats, Observed);

/// Runs a launch on both; what differs.
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
            let (detailed, mut noting) = (level != Level::Avx2, Noting::default());
            let run = fast::run(&kernel, &mut state, level, detailed, &mut noting);
            let (end, memory, stats, observed) = exact.get_or_insert_with(|| {
                let mut state = engine.launch(program, launch.clone()).expect("it launches");
                let mut observed = Observed::default();
                let end = engine.run(program, &mut state, &mut observed, u64::MAX);
                let stats = *state.stats();
                (end, bytes(&state.into_memory()), stats, observed)
            });
            match run {
                Ok(finished) => {
                    if *end != Step::Done {
                        return Err(format!("{level}: it ends, the exact engine says {end:?}"));
                    }
                    if bytes(&finished.memory) != *memory {
                        return Err(format!("{level}, assume {assume}: memory differs"));
                    }
                    if finished.stats != *stats {
                        return Err(format!("{level}: {:#?}\nexact: {stats:#?}", finished.stats));
                    }
                    if let Some(detail) = &finished.detail {
                        let fast = of_fast(detail, &finished.stats);
                        if fast != observed.counted {
                            let exact = &observed.counted;
                            return Err(format!("{level}: {fast:#?}\nexact: {exact:#?}"));
                        }
                        if noting.accesses != observed.accesses {
                            return Err(format!("{level}: its accesses differ"));
                        }
                    }
                    count.compared += 1;
                }
                Err(Declined::Running(_) | Declined::Wrapped) => {
                    if bytes(state.memory()) != bytes(&launch.memory) {
                        return Err(format!("{level}, assume {assume}: memory is not as before"));
                    }
                    count.stopped += 1;
                }
                Err(_) => count.refused += 1,
            }
        }
    }
    Ok(())
}
