//! The bundled launches on the predicate-register-file GPU.

use crate::bundled::{Buffers, Run, count_equal, difference, map, read};
use ::prf::timing::Timed;
use ::prf::{Params, Policy, Prf, Profile, Words};
use lower::prf::{Assembly, prf_for};
use simt::machine::{Machine, Step};
use simt::memory::{Addr, MemoryMap, Permission};

const ARGUMENTS: u64 = 0xf0_0000;

/// Most cycles of a launch: two blocks of `histogram` or `nbody` take tens of millions.
const CYCLES: u64 = 200_000_000;

/// Memory after a launch.
fn on_machine(assembly: &Assembly, run: &Run<'_>, timed: bool) -> Result<Buffers, String> {
    let config = Profile::Cardinal.config();
    let assembled = ::prf::assemble(config.encoding, isa::FileId::default(), &assembly.text)
        .map_err(|e| format!("{e:?}"))?;
    let program =
        ::prf::Program::new(&Words::assembled(&assembled), config).map_err(|e| e.to_string())?;
    let mut memory = MemoryMap::new();
    map(&mut memory, &run.before);
    memory.map_at("arguments", Addr(ARGUMENTS), 4096, Permission::ReadWrite).unwrap();
    for (index, &(offset, bytes)) in assembly.arguments.iter().enumerate() {
        let mut word = [0; 4];
        let from = offset as usize;
        word[..bytes as usize].copy_from_slice(&run.params[from..from + bytes as usize]);
        memory.host_write(Addr(ARGUMENTS + 4 * index as u64), &word).unwrap();
    }
    let launch = ::prf::Launch {
        threads: run.launch.threads(),
        blocks: run.launch.blocks(),
        total: None,
        argument: ARGUMENTS as u32,
        entry: None,
        memory,
    };
    let hazards = ::prf::hazard::check(&program);
    if let Some(hazard) = hazards.first() {
        return Err(format!("hazard {hazard}"));
    }
    if timed {
        return on_cycle_model(&program, &launch, &run.before);
    }
    let machine = Prf { config };
    let mut state = machine.launch(&program, launch).map_err(|e| e.to_string())?;
    match machine.run_unobserved(&program, &mut state, 100_000_000) {
        Step::Done => Ok(read(&state.memory, &run.before)),
        Step::Fault(fault) => Err(format!("{:?}", fault.cause)),
        _ => Err("it does not end".to_owned()),
    }
}

/// As [`on_machine`], cycle by cycle, under each policy.
fn on_cycle_model(
    program: &::prf::Program,
    launch: &::prf::Launch,
    before: &Buffers,
) -> Result<Buffers, String> {
    let mut ends = Vec::new();
    for scheduler in [Policy::RoundRobin, Policy::GreedyThenOldest] {
        let profile = Profile::Cardinal;
        let params = Params { scheduler, ..Params::default() };
        let timed = Timed { config: profile.config(), profile, params, ..Timed::default() };
        let mut state = timed.launch(program, launch.clone()).map_err(|e| e.to_string())?;
        let end = loop {
            match timed.run_unobserved(program, &mut state, 1 << 20) {
                Step::Issued if state.timing().cycles < CYCLES => {}
                end => break end,
            }
        };
        match end {
            Step::Done => ends.push(read(&state.memory, before)),
            end => return Err(format!("{scheduler:?}: {end:?}")),
        }
        if let Some(met) = state.hazards().first() {
            return Err(format!("{scheduler:?}: {met:?}"));
        }
    }
    match difference(&ends[0], &ends[1]) {
        None => Ok(ends.remove(0)),
        Some(difference) => Err(format!("policies differ: {difference}")),
    }
}

/// What comes of a launch: how many instructions its program has, or why not.
pub(crate) fn outcome(
    run: &Run<'_>,
    after: Option<&Buffers>,
    timed: bool,
) -> Result<usize, String> {
    outcome_with(run, after, 32, timed)
}

/// The same with so many predicate registers.
pub(crate) fn outcome_with(
    run: &Run<'_>,
    after: Option<&Buffers>,
    predicates: u32,
    timed: bool,
) -> Result<usize, String> {
    let made = prf_for(run.module, run.kernel, predicates, &run.launch, &|_| None);
    let (assembly, _) = made.map_err(|e| e.to_string())?;
    let Some(after) = after else { return Err("it does not end under ipdom".to_owned()) };
    match difference(after, &on_machine(&assembly, run, timed).map_err(|e| format!("FAULT {e}"))?) {
        Some(difference) => Err(format!("WRONG {difference}")),
        None => Ok(assembly.instructions),
    }
}

/// Launch files that take seconds.
const SLOW: [&str; 13] = [
    "bitonic_sort",
    "early_exit",
    "edit_distance",
    "exception_loop",
    "histogram",
    "kmeans",
    "monte_carlo_pi",
    "nbody",
    "raymarch",
    "sgemm_tiled",
    "spmv",
    "switch32",
    "textbook",
];

/// Which thread has the lock next is open: warps have their turns when they have jumped back.
const OPEN: [&str; 1] = ["spinlock"];

/// Compares the launches of the files that are asked for.
fn compare(timed: bool, asked: impl Fn(&str) -> bool) -> usize {
    count_equal(&OPEN, asked, |run, after| outcome(run, after, timed))
}

#[test]
fn what_the_machine_stores_is_what_the_engine_stores() {
    let same = compare(false, |name| !SLOW.iter().any(|slow| name.contains(slow)));
    assert!(same >= 45 || std::env::var_os("ONLY").is_some(), "{same}");
}

#[test]
#[ignore = "takes a minute"]
fn what_the_machine_stores_is_what_the_engine_stores_in_long_launches() {
    compare(false, |name| SLOW.iter().any(|slow| name.contains(slow)));
}

/// Files whose results are the same in any order of warps: their warps run at one time here.
const TIMED: [&str; 6] =
    ["axpy_f16", "dynamic_shared", "match_any", "reduce", "split_merge", "transpose"];

#[test]
fn the_cycle_model_stores_the_same_under_each_policy() {
    let same = compare(true, |name| TIMED.iter().any(|timed| name.contains(timed)));
    assert!(same >= 6 || std::env::var_os("ONLY").is_some(), "{same}");
}
