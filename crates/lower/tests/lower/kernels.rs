//! The bundled PTX kernels on RISC-V with PMASK: which the machine takes, and that their buffers
//! are bit by bit those that the launch file gives on PTX.

#![allow(clippy::print_stderr, reason = "ignored tests tell how far they are")]

use crate::bundled::{self, files_below, kernels, root};
use crate::page::check_page;
use ir::{FuncId, VerifiedModule};
use isa::SourceMap;
use lab::run::{Job, JobParts, Report, Settings};
use lower::pmask::{Assembly, Options, pmask, program};
use machines::{End, LaunchMonitor, Progress};
use std::fmt::Write;
use std::path::{Path, PathBuf};

const PAGE: &str = include_str!("../../../../docs/pmask.md");
/// Steps of a launch at most, in the long test.
const LIMIT: u64 = 4_000_000_000;

struct Quiet;

impl LaunchMonitor for Quiet {
    fn poll(&mut self, _: Progress) -> bool {
        true
    }
}

fn lowered(
    module: &VerifiedModule,
    kernel: FuncId,
    options: Options,
) -> Result<Assembly, lower::Refused> {
    pmask(module, kernel, options, &|_| None)
}

/// The launch files of PTX, without what they expect.
fn launches(folder: &str) -> Vec<(PathBuf, JobParts)> {
    let found = files_below(&root().join(folder), "toml");
    let parts = |path: PathBuf| {
        let parts = JobParts::from_launch_file(&path, None, &mut SourceMap::new()).ok()?;
        (parts.machine.name == "ptx").then_some((path, parts))
    };
    found.into_iter().filter_map(parts).collect()
}

fn run(parts: JobParts, limit: Option<u64>) -> Report {
    let settings = Settings { limit, ..Settings::default() };
    let job = Job::prepare(parts, &settings, &mut SourceMap::new());
    let job = job.unwrap_or_else(|e| panic!("{:#?}", e.iter().next()));
    job.run(false, &mut Quiet).unwrap_or_else(|e| panic!("{:#?}", e.iter().next()))
}

/// How a launch file fares: the buffers are equal; or why its kernels are not taken; or how the
/// machine's run ends otherwise.
fn outcome(path: &Path, mut parts: JobParts, options: Options) -> Result<(), String> {
    parts.expectations.clear();
    let module = bundled::lowered(&parts.module).ok_or("the module is not lowered")?;
    let names: Vec<Option<String>> =
        parts.launches.iter().map(|launch| launch.kernel.clone().map(|name| name.value)).collect();
    let mut texts = Vec::new();
    for kernel in kernels(&module) {
        let name = &module.functions[kernel.index()].name;
        if names.iter().any(|wanted| wanted.as_ref().is_none_or(|wanted| wanted == name)) {
            texts.push(lowered(&module, kernel, options).map_err(|e| e.to_string())?);
        }
    }
    let folder = std::env::temp_dir().join(format!("simtlab-pmask-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let stem = path.with_extension("").display().to_string().replace(['/', '.'], "_");
    let file = folder.join(format!("{stem}.s"));
    std::fs::write(&file, program(&texts)).unwrap();
    let mut other = parts_for(path);
    other.expectations.clear();
    other.machine = machines::find("pmask").unwrap();
    other.module.clone_from(&file);
    other.run.mechanism = None;
    other.run.warp_size = None;
    other.options.clear();
    let expected = run(parts, None);
    if !expected.ends.iter().all(|end| matches!(end, End::Done)) {
        return Err("the kernel ends in a fault or hang".to_owned());
    }
    let found = run(other, Some(LIMIT));
    std::fs::remove_file(&file).unwrap();
    if let Some(end) = found.ends.iter().find(|end| !matches!(end, End::Done)) {
        let text = format!("{end:?}");
        return Err(format!(
            "the run ends otherwise: {}",
            text.chars().take(300).collect::<String>()
        ));
    }
    for buffer in &expected.buffers {
        if found.buffer(&buffer.name) != Some(&buffer.contents) {
            return Err(format!("buffer {} differs", buffer.name));
        }
    }
    Ok(())
}

fn parts_for(path: &Path) -> JobParts {
    JobParts::from_launch_file(path, None, &mut SourceMap::new()).unwrap()
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
    for folder in QUICK {
        for (path, parts) in launches(folder) {
            let done = outcome(&path, parts, Options::default());
            assert_eq!(done, Ok(()), "{}", path.display());
        }
    }
}

/// All of them; `ONLY` names a folder.
#[test]
#[ignore = "minutes"]
fn bundled_kernels_are_bit_equal() {
    let only = std::env::var("ONLY").unwrap_or_default();
    let mut wrong = Vec::new();
    let mut equal = 0;
    for (path, parts) in launches(&only) {
        let began = std::time::Instant::now();
        let name = path.strip_prefix(root()).unwrap().display().to_string();
        let done = std::panic::catch_unwind(|| outcome(&path, parts, Options::default()));
        let done = done.unwrap_or_else(|_| Err("panicked".to_owned()));
        eprintln!("{name}: {done:?} in {:?}", began.elapsed());
        match done {
            Ok(()) => equal += 1,
            Err(why) if why.starts_with("the machine has no") => {}
            Err(why) if why.starts_with("function `") => {}
            Err(why) => wrong.push(format!("{name}: {why}")),
        }
    }
    eprintln!("{equal} launch files are bit-equal");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn table() -> String {
    let found = files_below(&root(), "ptx");
    let (mut rows, mut taken, mut all) = (String::new(), 0, 0);
    for path in found {
        let Some(module) = bundled::lowered(&path) else { continue };
        let program = path.strip_prefix(root()).unwrap().with_extension("");
        for kernel in kernels(&module) {
            all += 1;
            let name = &module.functions[kernel.index()].name;
            let row = match lowered(&module, kernel, Options::default()) {
                Ok(made) => {
                    taken += 1;
                    let bank = lowered(&module, kernel, Options { banks: 2, ..Options::default() });
                    let bank = bank.map_or(0, |made| made.instructions);
                    format!(
                        "{} | {} | {} | {} | {} | {}",
                        made.instructions,
                        made.lane_wise,
                        bank as i64 - made.instructions as i64,
                        made.slots,
                        made.spills,
                        made.masks
                    )
                }
                Err(why) => format!("{why} | | | | |"),
            };
            let _ = writeln!(rows, "| {} | `{name}` | {row} |", program.display());
        }
    }
    format!(
        "Of {all} kernels the machine takes {taken}.\n\n| program | kernel | instructions | repeated \
         over lanes | more with one bank | frame slots | spills in blocks | saved masks \
         |\n|---|---|---|---|---|---|---|---|\n{rows}"
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
