//! The book's chapter on predication: its tables are what the pass does and the machine takes.

use crate::bundled::{self, files as launch_files, files_below, launches, lowered, root};
use ::prf::timing::Timed;
use ::prf::{Prf, Profile, Words};
use flow::passes::predicate::{Options, Predicated, predicate};
use lower::legal::Launch;
use lower::nested::{nested, stored};
use lower::prf::{prf, prf_for};
use simt::machine::{Machine, Step};
use simt::memory::{Addr, MemoryMap, Permission};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

const PAGE: &str = include_str!("../../../../docs/predication.md");

/// One kernel: its file, name, what the pass did to it and the functions it calls, or why not, and
/// the instructions of its program for the machine, or what the machine lacks.
type Row = (String, String, Result<Vec<Predicated>, String>, Result<usize, String>);

fn rows(predicates: u32) -> Vec<Row> {
    let root = root();
    // A kernel's first launch: its file's, by the program's path.
    let mut launched: BTreeMap<(PathBuf, Option<String>), Launch> = BTreeMap::new();
    for file in launch_files() {
        let (module, launches) = launches(&file);
        for (kernel, launch) in launches {
            launched.entry((module.clone(), kernel)).or_insert(launch);
        }
    }
    let mut rows = Vec::new();
    for file in files_below(&root, "ptx") {
        let Some(module) = lowered(&file) else { continue };
        for id in bundled::kernels(&module) {
            let kernel = id.index();
            let options = Options { predicates, ..Options::default() };
            let done = predicate(&module, id, options);
            let name = file.strip_prefix(&root).unwrap().with_extension("");
            let done = done.map(|d| d.1).map_err(|e| e.to_string());
            let launch = [Some(module.functions[kernel].name.clone()), None]
                .into_iter()
                .find_map(|name| launched.get(&(file.clone(), name)));
            let made = match launch {
                Some(launch) => prf_for(&module, id, 32, launch, &|_| None),
                None => prf(&module, id, 32),
            };
            let made = made.map(|made| made.0.instructions).map_err(|e| e.to_string());
            let name = name.display().to_string();
            rows.push((name, module.functions[kernel].name.clone(), done, made));
        }
    }
    rows
}

/// Figures of a kernel with its functions: needed, spilled, stores, loads, added, before.
fn sums(done: &[Predicated]) -> (u32, u32, u64, u64, i64, u64) {
    let sum = |f: fn(&Predicated) -> u64| done.iter().map(f).sum::<u64>();
    (
        done.iter().map(|d| d.peak).max().unwrap_or(1),
        done.iter().map(|d| d.spilled).sum(),
        sum(|d| d.spills),
        sum(|d| d.fills),
        done.iter().map(Predicated::added).sum(),
        sum(|d| d.before),
    )
}

fn kernels() -> String {
    let rows = rows(16);
    let taken: Vec<_> = rows.iter().filter_map(|r| r.2.as_ref().ok()).collect();
    let over = |n: u32| taken.iter().filter(|d| sums(d).0 > n).count();
    let assembled = rows.iter().filter(|r| r.3.is_ok()).count();
    let spilled = taken.iter().filter(|d| sums(d).1 > 0).count();
    let most = taken.iter().map(|d| sums(d).0).max().unwrap_or(0);
    let mut out = format!(
        "Of {} kernels the pass takes {}. Most predicates needed at once: {most}. More than 16 need {}, more than 32 {}; \
         {spilled} spill at 16 (a call leaves no predicate in its register). The machine takes {assembled}.\n\n\
         | program | kernel | predicates needed | spilled at 16 | stores, loads | instructions | added | on the machine |\n|---|---|---|---|---|---|---|---|\n",
        rows.len(),
        taken.len(),
        over(16),
        over(32),
    );
    for (file, kernel, done, made) in &rows {
        let made = match made {
            Ok(instructions) => instructions.to_string(),
            Err(why) => why.clone(),
        };
        let _ = match done {
            Ok(done) => {
                let (peak, spilled, stores, loads, added, before) = sums(done);
                let percent = added * 100 / before.max(1).cast_signed();
                writeln!(
                    out,
                    "| {file} | `{kernel}` | {peak} | {spilled} | {stores}, {loads} | {before} | {added} ({percent}%) | {made} |"
                )
            }
            Err(why) => writeln!(out, "| {file} | `{kernel}` | refused: {why} | | | | | {made} |"),
        };
    }
    out
}

/// Cycles of the nest on one warp of the machine, results checked.
fn cycles(depth: u32, predicates: u32) -> u64 {
    let profile = if predicates <= 16 { Profile::Founding } else { Profile::Cardinal };
    let (assembly, _) = nested(depth, predicates).unwrap();
    let config = profile.config();
    let assembled =
        ::prf::assemble(config.encoding, isa::FileId::default(), &assembly.text).unwrap();
    let program = ::prf::Program::new(&Words::assembled(&assembled), config).unwrap();
    let launch = || {
        let mut memory = MemoryMap::new();
        memory.map_at("out", Addr(0x2000_0000), 4 * 64, Permission::ReadWrite).unwrap();
        memory.map_at("arguments", Addr(0xf0_0000), 4096, Permission::ReadWrite).unwrap();
        memory.host_write(Addr(0xf0_0000), &0x2000_0000u32.to_le_bytes()).unwrap();
        let (threads, blocks, argument) = (64, 1, 0xf0_0000);
        ::prf::Launch { threads, blocks, total: None, argument, entry: None, memory }
    };
    let check = |memory: &MemoryMap| {
        let mut content = vec![0; 4 * 64];
        memory.read_bytes(Addr(0x2000_0000), &mut content).unwrap();
        for (t, word) in content.chunks(4).enumerate() {
            let found = u32::from_le_bytes(word.try_into().unwrap());
            assert_eq!(found, stored(depth, t as u32), "depth {depth}, thread {t}");
        }
    };
    let machine = Prf { config };
    let mut state = machine.launch(&program, launch()).unwrap();
    assert_eq!(machine.run_unobserved(&program, &mut state, 1 << 20), Step::Done);
    check(&state.memory);
    let timed = Timed { config, profile, ..Timed::default() };
    let mut state = timed.launch(&program, launch()).unwrap();
    let end = loop {
        match timed.run_unobserved(&program, &mut state, 1 << 20) {
            Step::Issued => {}
            end => break end,
        }
    };
    assert!(matches!(end, Step::Done), "{depth}");
    check(&state.memory);
    assert!(state.hazards().is_empty());
    state.timing().cycles
}

fn depths() -> String {
    let mut out = "| depth | predicates needed | spilled at 16 | stores, loads | added at 16 | cycles at 16 | spilled at 32 | cycles at 32 |\n|---|---|---|---|---|---|---|---|\n".to_owned();
    for depth in 1..=40 {
        let (_, at16) = nested(depth, 16).unwrap();
        // p31 as the predicate of `halt` would mean all lanes; no nest ends lanes under it.
        let (_, at32) = nested(depth, 32).unwrap();
        let _ = writeln!(
            out,
            "| {depth} | {} | {} | {}, {} | {} | {} | {} | {} |",
            at16.peak,
            at16.spilled,
            at16.spills,
            at16.fills,
            at16.added(),
            cycles(depth, 16),
            at32.spilled,
            cycles(depth, 32)
        );
    }
    out
}

#[test]
fn the_page_is_true() {
    let mut page = PAGE.to_owned();
    for (name, content) in [("kernels", kernels()), ("depths", depths())] {
        let (start, end) = (format!("<!-- {name} -->\n\n"), format!("\n<!-- end of {name} -->"));
        let (before, rest) = page.split_once(&start).expect("has the mark");
        let (_, after) = rest.split_once(&end).expect("has the mark");
        page = format!("{before}{start}{content}{end}{after}");
    }
    check_page("predication.md", PAGE, &page);
}

/// Compares a page of the book with what it should be, or renews it.
pub(crate) fn check_page(name: &str, page: &str, expected: &str) {
    if std::env::var_os("SIMTLAB_BLESS").is_some_and(|v| !v.is_empty() && v != "0") {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
        std::fs::write(path, expected).unwrap();
        return;
    }
    assert!(
        page == expected,
        "SIMTLAB_BLESS=1 renews docs/{name}, which should read:\n\n{expected}"
    );
}
