//! The bundled PTX kernels on RISC-V with PMASK: which the machine takes, and that their buffers
//! are bit by bit those that the launch file gives on PTX.

#![allow(clippy::print_stderr, reason = "ignored tests tell how far they are")]

use super::pmask::run;
use crate::bundled::{
    self, Run, count_equal, difference, files, files_below, kernels, launches, root,
};
use crate::page::check_page;
use lower::legal::Launch;
use lower::pmask::{Assembly, Options, pmask};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

const PAGE: &str = include_str!("../../../../docs/pmask.md");
/// Instructions of a launch at most.
const LIMIT: u64 = 1 << 32;

/// What comes of a launch: the program, or why its buffers are not those of the engine.
pub(crate) fn outcome(
    launch: &Run<'_>,
    after: Option<&bundled::Buffers>,
    options: Options,
) -> Result<Assembly, String> {
    let made = pmask(launch.module, launch.kernel, options, &launch.launch, &|_| None);
    let assembly = made.map_err(|e| e.to_string())?;
    let Some(after) = after else { return Err("it does not end under ipdom".to_owned()) };
    let mut buffers = launch.before.clone();
    match run(&assembly, options, (&launch.params, LIMIT), &mut buffers) {
        Ok(0) => {}
        Ok(code) => return Err(format!("FAULT code {code}")),
        Err(why) => return Err(format!("FAULT {why}")),
    }
    match difference(after, &buffers) {
        Some(difference) => Err(format!("WRONG {difference}")),
        None => Ok(assembly),
    }
}

/// Kernels whose results depend on the order of threads, which is another one on a machine that
/// ends each warp before the next.
const ORDERED: [&str; 1] = ["hash_table"];

/// Compares the launches of the files that are asked for.
fn compare(options: Options, asked: impl Fn(&str) -> bool) -> usize {
    count_equal(&ORDERED, asked, |run, after| {
        outcome(run, after, options).map(|made| made.instructions)
    })
}

/// Folders of kernels that take a moment each.
const QUICK: [&str; 9] = [
    "bitonic_sort",
    "divergence/nested",
    "divergence/switch_k",
    "divergence/trip_count",
    "dp4a",
    "histogram",
    "saxpy",
    "switch32",
    "transpose",
];

#[test]
fn quick_kernels_are_bit_equal() {
    let same = compare(Options::default(), |name| QUICK.iter().any(|quick| name.contains(quick)));
    assert!(same >= QUICK.len() || std::env::var_os("ONLY").is_some(), "{same}");
}

/// All of them; `ONLY` names a folder.
#[test]
#[ignore = "minutes"]
fn bundled_kernels_are_bit_equal() {
    let same = compare(Options::default(), |_| true);
    eprintln!("{same} launches are bit-equal");
}

/// A kernel's first launch in launch files, by the program's path; else one of 64 threads.
fn first_launches() -> BTreeMap<(PathBuf, Option<String>), Launch> {
    let mut launched = BTreeMap::new();
    for file in files() {
        let (module, launches) = launches(&file);
        for (kernel, launch) in launches {
            launched.entry((module.clone(), kernel)).or_insert(launch);
        }
    }
    launched
}

fn table() -> String {
    let found = files_below(&root(), "ptx");
    let launched = first_launches();
    let (mut rows, mut taken, mut all) = (String::new(), 0, 0);
    for path in found {
        let Some(module) = bundled::lowered(&path) else { continue };
        let program = path.strip_prefix(root()).unwrap().with_extension("");
        for kernel in kernels(&module) {
            all += 1;
            let name = &module.functions[kernel.index()].name;
            let launch = [Some(name.clone()), None]
                .into_iter()
                .find_map(|name| launched.get(&(path.clone(), name)).copied())
                .unwrap_or(Launch { grid: [1; 3], block: [64, 1, 1], shared: 0 });
            let lowered = |options| pmask(&module, kernel, options, &launch, &|_| None);
            let row = match lowered(Options::default()) {
                Ok(made) => {
                    taken += 1;
                    let bank = lowered(Options { banks: 2, ..Options::default() });
                    let bank = bank.map_or(0, |made| made.instructions);
                    format!(
                        "{} | {} | {} | {} | {} | {} | {}",
                        made.instructions,
                        made.lane_wise,
                        made.mask_moves,
                        bank as i64 - made.instructions as i64,
                        made.slots,
                        made.spills,
                        made.masks
                    )
                }
                Err(why) => format!("{why} | | | | | |"),
            };
            let _ = writeln!(rows, "| {} | `{name}` | {row} |", program.display());
        }
    }
    format!(
        "Of {all} kernels the machine takes {taken}.\n\n| program | kernel | instructions | repeated \
         over lanes | mask moves | more with one bank | frame slots | spills in blocks | saved masks \
         |\n|---|---|---|---|---|---|---|---|---|\n{rows}"
    )
}

#[test]
fn the_page_is_current() {
    let (begin, end) = ("<!-- kernels -->\n", "<!-- end of kernels -->");
    let start = PAGE.find(begin).expect("the page has the place of the table") + begin.len();
    let stop = PAGE.find(end).expect("the page has the end of the table");
    let new = format!("{}\n{}\n{}", &PAGE[..start], table(), &PAGE[stop..]);
    check_page("pmask.md", PAGE, &new);
}
