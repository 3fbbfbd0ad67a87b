//! Runs launches on compiled code and on the exact engine, and compares: memory, and statistics number by number.

#[allow(dead_code, reason = "the interpreter's own tests use the rest")]
#[path = "../../../fast/tests/common/mod.rs"]
pub(crate) mod common;

use common::observed::{Exact, Noting, bytes, of_fast};
use common::resumed::resumed;
use fast::{Declined, Finished, Level, Threads};
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
    /// Launches that the exact engine went on with after CTAs.
    pub(crate) resumed: u64,
    pub(crate) native: usize,
    pub(crate) steps: usize,
}

/// The first instruction that a host of the AVX2 level may lack.
#[cfg(all(target_arch = "x86_64", unix))]
fn beyond_avx2(code: &[u8]) -> Option<String> {
    use iced_x86::{CpuidFeature, Decoder, DecoderOptions, EncodingKind};
    const HAS: [CpuidFeature; 13] = [
        CpuidFeature::INTEL8086,
        CpuidFeature::INTEL186,
        CpuidFeature::INTEL386,
        CpuidFeature::X64,
        CpuidFeature::CMOV,
        CpuidFeature::MULTIBYTENOP,
        CpuidFeature::AVX,
        CpuidFeature::AVX2,
        CpuidFeature::FMA,
        CpuidFeature::BMI1,
        CpuidFeature::BMI2,
        CpuidFeature::LZCNT,
        CpuidFeature::POPCNT,
    ];
    let found = Decoder::new(64, code, DecoderOptions::NONE).into_iter().find(|instruction| {
        instruction.is_invalid()
            || instruction.encoding() == EncodingKind::EVEX
            || instruction.cpuid_features().iter().any(|f| !HAS.contains(f))
    });
    found.map(|i| format!("{:?} needs {:?}", i.code(), i.cpuid_features()))
}

#[cfg(not(all(target_arch = "x86_64", unix)))]
fn beyond_avx2(_: &[u8]) -> Option<String> {
    None
}

/// Whether the host has no compiled tier, so that there is nothing to compare.
fn absent(refused: &Refused) -> bool {
    *refused == Refused::Host
}

/// The levels that there is code for.
pub(crate) const LEVELS: [Level; 2] = [Level::Avx512, Level::Avx2];

/// Those of them that are to be tested: `LEVEL=avx2` or `LEVEL=avx512` names one.
fn levels() -> impl Iterator<Item = Level> {
    let wanted = std::env::var("LEVEL").ok();
    LEVELS.into_iter().filter(move |l| wanted.as_ref().is_none_or(|w| w == l.name()))
}

/// Runs a launch on both, at each level of the host that there is code for; what differs.
pub(crate) fn compare(
    program: &Program,
    launch: &Launch<1>,
    count: &mut Count,
) -> Result<(), String> {
    let engine = Engine::<1>;
    let Ok(state) = engine.launch(program, launch.clone()) else { return Ok(()) };
    let mut exact: Option<Exact> = None;
    for level in levels() {
        for (assume, detailed) in [(true, false), (true, true), (false, false)] {
            let Ok(kernel) = fast::prepare(program, &state, assume) else {
                count.refused += 1;
                return Ok(());
            };
            let compiled = match Compiled::at(kernel, level, detailed) {
                Ok(compiled) => {
                    if let Some(beyond) =
                        beyond_avx2(compiled.code()).filter(|_| level == Level::Avx2)
                    {
                        return Err(format!("code for AVX2: {beyond}"));
                    }
                    compiled.coverage()
                }
                Err((_, refused)) if absent(&refused) => break,
                Err((_, refused)) => return Err(refused.to_string()),
            };
            count.native += compiled.native;
            count.steps += compiled.steps;
            for threads in [1, 3] {
                let again =
                    fast::prepare(program, &state, assume).map_err(|why| why.to_string())?;
                let again = Compiled::at(again.on_threads(threads).eagerly(), level, detailed);
                let compiled = again.map_err(|(_, refused)| refused.to_string())?;
                let state = engine.launch(program, launch.clone()).map_err(|e| e.to_string())?;
                let mut noting = Noting::default();
                match compiled.run(state, &mut noting) {
                    Ok(finished) => {
                        let exact = exact.get_or_insert_with(|| Exact::new(program, launch));
                        let place = format!(
                            "{level}, assume {assume}, detailed {detailed}, {threads} threads"
                        );
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
            if !detailed {
                let exact = exact.get_or_insert_with(|| Exact::new(program, launch));
                let done = resumed(program, launch, exact, |state: &mut _| {
                    let kernel = fast::prepare(program, state, assume)?.final_after(0);
                    jit::Ready::new(kernel, level, false).run(state, &mut |_, _| true)
                });
                count.resumed += u64::from(done.map_err(|what| format!("{level}: {what}"))?);
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
