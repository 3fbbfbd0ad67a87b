//! Every instruction that the front end generates, on special values, under full and partial masks,
//! on every engine, compared bit by bit with the exact engine. [`left`] lists the instructions that
//! cannot be executed so, with the reasons.

mod engines;
mod exclusions;
mod form;
mod kernel;
mod operands;
mod others;
mod page;
mod values;

use crate::harness::common::launches::number;
use engines::{Count, Problem, run};
use exclusions::EXCLUSIONS;
use form::{Form, Threads};
use kernel::{EXEC_MODES, ExecMode, PIECES, kernel};
use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Returns the instructions of the front end, each once.
fn forms() -> Vec<Form> {
    let mut seen = HashSet::new();
    let all = ptx::testing::instructions();
    let once = all.into_iter().filter(|(_, text)| seen.insert(text.clone()));
    // Products of warp groups and asynchronous copies have tests of their own, and so have textures
    // and surfaces, which need objects; `multimem` becomes `ld`, `st` and `red`.
    let asynchronous = ["mma_async", "mbarrier::complete_tx", ".bulk_group"];
    let opcodes = ["multimem", "tex", "tld4", "txq", "suld", "sust", "sured", "suq"];
    let other = |text: &str| {
        asynchronous.iter().any(|word| text.contains(word))
            || opcodes.contains(&text.split('.').next().unwrap_or_default())
    };
    let once = once.filter(|(_, text)| !other(text));
    once.map(|(_, text)| Form::new(&text)).collect()
}

/// Runs forms in one kernel and, on a problem, each alone; returns the forms with a problem.
fn wrong(
    forms: &[&Form],
    modes: &[ExecMode],
    seed: u64,
    count: &mut Count,
) -> Vec<(String, Problem)> {
    let Err(problem) = run(&kernel(forms, modes, seed), seed, count) else { return Vec::new() };
    let alone = |form: &&Form| {
        let problem = run(&kernel(&[form], modes, seed), seed, &mut Count::default()).err()?;
        Some((form.text.clone(), problem))
    };
    let parts: Vec<_> = forms.iter().filter_map(alone).collect();
    let names = || forms.iter().map(|f| &*f.text).collect::<Vec<_>>().join(" ");
    if parts.is_empty() { vec![(names(), problem)] } else { parts }
}

/// Runs forms in one kernel. Forms with a carry flag also run in a kernel of their own, where no
/// other instruction writes the flag.
fn together(forms: &[&Form], seed: u64, count: &mut Count) -> Vec<(String, Problem)> {
    let mut found = Vec::new();
    for round in 0..number("ROUNDS", 1) {
        let seed = seed ^ round << 32;
        found.extend(wrong(forms, EXEC_MODES, seed, count));
        for form in forms.iter().filter(|f| f.has_carry()) {
            found.extend(wrong(&[form], &[ExecMode::Scalar, ExecMode::Uniform], seed, count));
            found.extend(wrong(&[form], &[ExecMode::Uniform], !seed, count));
        }
    }
    found
}

/// Groups forms by the threads that can execute them together.
fn groups(forms: &[Form]) -> Vec<Vec<&Form>> {
    let mut out: Vec<Vec<&Form>> = Vec::new();
    for threads in [Threads::Any, Threads::Warp, Threads::Block] {
        let such: Vec<&Form> = forms.iter().filter(|f| f.threads() == threads).collect();
        out.extend(such.chunks(PIECES as usize).map(<[&Form]>::to_vec));
    }
    out
}

/// Runs jobs on as many threads as the host has.
fn on_threads<T: Send>(jobs: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let one = || {
        let mut out = Vec::new();
        loop {
            let job = next.fetch_add(1, Ordering::Relaxed);
            if job >= jobs {
                return out;
            }
            out.push(work(job));
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(one)).collect();
        workers.into_iter().flat_map(|w| w.join().expect("it ends")).collect()
    })
}

/// Forms of an opcode that run by default, about.
const SHARE: usize = 60;

/// Of so many groups, one is compiled with its register allocations examined.
const CHECKED_SHARE: usize = 4;

/// Keeps about [`SHARE`] forms of each opcode, chosen by the hash of their text: opcodes with
/// thousands of forms combine the same few modifiers and types.
fn draw(all: &mut Vec<Form>) {
    let mut forms: HashMap<String, usize> = HashMap::new();
    for form in &*all {
        *forms.entry(form.opcode.clone()).or_default() += 1;
    }
    all.retain(|form| {
        let hash = form.text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        (hash >> 32).is_multiple_of(forms[&form.opcode].div_ceil(SHARE) as u64)
    });
}

/// `ROUNDS=100 ONLY=atom cargo test --workspace --test jit every_form` runs some of them often;
/// with `ONLY`, which may be empty, no form is left out by [`draw`].
#[test]
fn every_form_gives_the_same_on_all_engines() {
    let only = std::env::var("ONLY");
    let mut all = forms();
    let total = all.len();
    assert!(total > 4000, "{total}");
    all.retain(|f| !EXCLUSIONS.iter().any(|l| (l.covers)(f)));
    match only {
        Ok(only) => all.retain(|f| f.text.starts_with(&only)),
        Err(_) => draw(&mut all),
    }
    let groups = groups(&all);
    let outcome = on_threads(groups.len(), |job| {
        jit::check_allocations(job.is_multiple_of(CHECKED_SHARE));
        let mut count = Count::default();
        (together(&groups[job], job as u64, &mut count), count)
    });
    let mut count = Count::default();
    let mut wrong = Vec::new();
    for (found, more) in outcome {
        count.add(&more);
        wrong.extend(found.into_iter().map(|(form, problem)| format!("{form}\n    {problem}")));
    }
    wrong.sort();
    let _ = writeln!(std::io::stdout(), "{} of {total} forms: {count:?}", all.len());
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// `SIMTLAB_BLESS=1` writes the page anew.
#[test]
fn the_page_of_operations_by_engine_is_current() {
    let (excluded, all): (Vec<Form>, Vec<Form>) =
        forms().into_iter().partition(|f| EXCLUSIONS.iter().any(|left| (left.covers)(f)));
    let by_opcode: Vec<&[Form]> = all.chunk_by(|a, b| a.opcode == b.opcode).collect();
    let mut groups: Vec<Vec<&Form>> = by_opcode.into_iter().flat_map(groups).collect();
    groups.extend(excluded.iter().map(|form| vec![form]));
    let mut operations = page::Operations::others();
    for more in on_threads(groups.len(), |job| page::Operations::of(&groups[job])) {
        operations.add(more);
    }
    let page = operations.page();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/operations-by-engine.md");
    if std::env::var_os("SIMTLAB_BLESS").is_some() {
        std::fs::write(&path, &page).expect("the page can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == page, "docs/operations-by-engine.md is not current: use SIMTLAB_BLESS=1");
}

#[test]
fn excluded_forms_fail_for_the_stated_reason() {
    let all = forms();
    let mut wrong = Vec::new();
    for left in EXCLUSIONS {
        let such: Vec<&Form> = all.iter().filter(|f| (left.covers)(f)).collect();
        if such.is_empty() {
            wrong.push(format!("nothing is left out because {}", left.reason));
        }
        for form in such {
            match run(&kernel(&[form], EXEC_MODES, 1), 1, &mut Count::default()) {
                Err(problem) if left.expects(&problem) => {}
                Err(problem) => wrong.push(format!("{}: {problem}", form.text)),
                Ok(()) => wrong.push(format!("{} can be run, though {}", form.text, left.reason)),
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
