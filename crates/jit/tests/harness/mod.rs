//! Runs launches on compiled code and on the exact engine, and compares: memory, and statistics number by number.

#[allow(dead_code, reason = "the interpreter's own tests use the rest")]
#[path = "../../../fast/tests/common/mod.rs"]
pub(crate) mod common;

use common::observed::{Exact, Noting, bytes, of_fast};
use fast::{Declined, Finished, Threads};
use jit::{Compiled, Refused};
use simt::machine::{Machine, Step};
use vm::{Engine, Launch, Program};

/// How launches went.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Count {
    pub(crate) compared: u64,
    pub(crate) refused: u64,
    pub(crate) stopped: u64,
    /// Launches that several threads ran to their end.
    pub(crate) together: u64,
    pub(crate) native: usize,
    pub(crate) steps: usize,
}

/// Whether the host has no compiled tier, so that there is nothing to compare.
fn absent(refused: &Refused) -> bool {
    *refused == Refused::Host
}

/// Runs a launch on both; what differs.
pub(crate) fn compare(
    program: &Program,
    launch: &Launch<1>,
    count: &mut Count,
) -> Result<(), String> {
    let engine = Engine::<1>;
    let Ok(state) = engine.launch(program, launch.clone()) else { return Ok(()) };
    let mut exact: Option<Exact> = None;
    for (assume, detailed) in [(true, false), (true, true), (false, false)] {
        let Ok(kernel) = fast::prepare(program, &state, assume) else {
            count.refused += 1;
            return Ok(());
        };
        let compiled = match Compiled::new(kernel, detailed) {
            Ok(compiled) => compiled.coverage(),
            Err((_, refused)) if absent(&refused) => return Ok(()),
            Err((_, refused)) => return Err(refused.to_string()),
        };
        count.native += compiled.native;
        count.steps += compiled.steps;
        for threads in [1, 3] {
            let again = fast::prepare(program, &state, assume).map_err(|why| why.to_string())?;
            let again = Compiled::new(again.on_threads(threads).eagerly(), detailed);
            let compiled = again.map_err(|(_, refused)| refused.to_string())?;
            let state = engine.launch(program, launch.clone()).map_err(|e| e.to_string())?;
            let mut noting = Noting::default();
            match compiled.run(state, &mut noting) {
                Ok(finished) => {
                    let exact = exact.get_or_insert_with(|| Exact::new(program, launch));
                    let place = format!("assume {assume}, detailed {detailed}, {threads} threads");
                    differs(&finished, &noting, exact)
                        .map_err(|what| format!("{place}: {what}"))?;
                    count.compared += 1;
                    count.together += u64::from(matches!(finished.threads, Threads::Many(_)));
                }
                // A fault or a hang, which the exact engine reports.
                Err(Declined::Running(_) | Declined::Wrapped) => count.stopped += 1,
                Err(_) => count.refused += 1,
            }
        }
    }
    Ok(())
}

/// What differs from how the exact engine ends.
fn differs(finished: &Finished, noting: &Noting, exact: &Exact) -> Result<(), String> {
    if exact.end != Step::Done {
        return Err(format!("it ends, the exact engine says {:?}", exact.end));
    }
    let memory = bytes(&finished.memory);
    if memory != exact.memory {
        let at = memory.iter().zip(&exact.memory).enumerate().find_map(|(r, (a, b))| {
            let byte = a.iter().zip(b).position(|(a, b)| a != b)?;
            let word = byte / 4 * 4;
            Some((r, word, a[word..word + 4].to_vec(), b[word..word + 4].to_vec()))
        });
        return Err(format!("memory differs: {at:x?}"));
    }
    if finished.stats != exact.stats {
        return Err(format!("{:#?}\nexact: {:#?}", finished.stats, exact.stats));
    }
    if let Some(detail) = &finished.detail {
        let counted = of_fast(detail, &finished.stats);
        if counted != exact.observed.counted {
            return Err(format!("{counted:#?}\nexact: {:#?}", exact.observed.counted));
        }
        if !noting.accesses.are_like(&exact.observed.accesses) {
            let (fast, exact) = (&noting.accesses, &exact.observed.accesses);
            return Err(format!("its accesses differ: {fast:?}\nexact: {exact:?}"));
        }
    }
    Ok(())
}

/// Compares a text's kernel with parameters `n`, `a`, `b`: buffers of random words.
pub(crate) fn with_buffers(text: &str, rng: &mut ir::testing::Rng, seed: u64, count: &mut Count) {
    let mut one = |program: &_, launch: &_| compare(program, launch, count);
    common::launches::with_buffers(text, rng, seed, &mut one);
}
