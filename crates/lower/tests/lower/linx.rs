//! Random kernels on LinxISA store what each thread alone would store, at every width of groups,
//! whatever inactive lanes of a push get, and under either rule of the body's region.

use super::prf::{BLOCKS, THREADS, alone, words};
use super::programs::{
    body, collectives, comparisons, fixed, graph, graphs, kernel, launched_kernel,
    launched_straight, programs, rounds, shifts, straight, verified,
};
use crate::bundled::{
    Buffers, Run, count_equal, difference, files, folder_of, launches, map, module, read,
};
use crate::page::check_page;
use ::linx::{Inactive, Linx, Options, Region, TileOps};
use ir::{FuncId, VerifiedModule};
use lower::legal::Launch;
use lower::linx::{Assembly, linx};
use proptest::prelude::*;
use simt::machine::{Machine, Step};
use simt::memory::{Addr, MemoryMap, Permission};
use std::fmt::Write;

/// Where the results lie.
const OUT: u64 = 0x2000_0000;
/// Where the parameter block lies, if a program takes it in memory.
const PARAMETERS: Addr = Addr(0x1f00_0000);
const LAUNCH: Launch = Launch { grid: [BLOCKS, 1, 1], block: [THREADS, 1, 1], shared: 0 };

fn lowered(module: &VerifiedModule) -> Result<Assembly, lower::Refused> {
    linx(module, FuncId(0), LAUNCH, &|_| None)
}

/// Options that must not matter.
fn options() -> Vec<Options> {
    let set = |group_width, inactive, region| Options {
        group_width,
        inactive,
        region,
        ..Options::default()
    };
    vec![
        set(64, Inactive::Merge, Region::FirstTerminator),
        set(64, Inactive::Poison, Region::FirstTerminator),
        set(32, Inactive::Zero, Region::TakenPath),
        set(8, Inactive::Poison, Region::FirstTerminator),
        set(1, Inactive::Merge, Region::TakenPath),
    ]
}

/// What the machine stores.
fn on_machine(assembly: &Assembly, options: Options) -> Vec<u32> {
    let text = &assembly.text;
    let image = ::linx::assemble(isa::FileId::default(), text, TileOps::V04);
    let image = image.unwrap_or_else(|d| panic!("{text}\n{:#?}", d.iter().collect::<Vec<_>>()));
    let program = ::linx::Program::from_image(&image, TileOps::V04).unwrap();
    let warned = Linx::body_warnings(&program, &image);
    assert!(warned.iter().next().is_none(), "{text}\n{:#?}", warned.iter().collect::<Vec<_>>());
    let bytes = 4 * (THREADS * BLOCKS) as usize;
    let mut memory = MemoryMap::new();
    memory.map_at("out", Addr(OUT), bytes as u64, Permission::ReadWrite).unwrap();
    let launch = ::linx::Launch {
        memory,
        arguments: vec![OUT, 77],
        entry: None,
        demand: Vec::new(),
        options,
        command: Vec::new(),
        input: Vec::new(),
    };
    let machine = Linx::default();
    let mut state = machine.launch(&program, launch).unwrap();
    let end = machine.run_unobserved(&program, &mut state, 1 << 22);
    assert_eq!(end, Step::Done, "{text}");
    words(&state.memory, Addr(OUT), bytes)
}

#[track_caller]
fn check(text: &str) {
    check_with(text, &options());
}

#[track_caller]
fn check_with(text: &str, options: &[Options]) {
    let module = verified(text);
    let expected = alone(&module);
    let assembly = lowered(&module).unwrap_or_else(|e| panic!("{e}\n{text}"));
    for &options in options {
        let found = on_machine(&assembly, options);
        assert_eq!(found, expected, "{options:?}\n{text}\n{}", assembly.text);
    }
}

#[test]
fn fixed_kernels() {
    fixed().iter().for_each(|text| check(text));
}

#[test]
fn straight_code() {
    straight().iter().for_each(|text| check(text));
}

#[test]
fn values_of_earlier_rounds_are_kept() {
    rounds().iter().for_each(|text| check(text));
}

#[test]
fn both_results_of_joined_comparisons() {
    comparisons().iter().for_each(|text| check(text));
}

#[test]
fn shifts_by_any_amount() {
    shifts().iter().for_each(|text| check(text));
}

#[test]
fn doubles_are_rounded_in_every_direction() {
    for mode in ["rz", "rm", "rp"] {
        let body = format!(
            "  %u = cvt.f64.s32.rn %h\n  %v = mul.f64.{mode} %u, 0x3fb999999999999a\n  \
             %u = div.f64.{mode} %v, 0xc008000000000000\n  \
             %v = fma.f64.{mode} %u, %v, 0x3ff0000000000001\n  %v = add.f64.{mode} %v, %u\n  \
             %u = abs.f64 %u\n  %u = sqrt.f64.{mode} %u\n  %v = sub.f64.{mode} %v, %u\n  \
             %x = cvt.f32.f64.{mode} %v\n  %y = cvt.s32.f64.rmi %v\n  %n = cvt.u32.u64 %v\n  \
             %h = mad.u32 %x, 31, %n\n  %h = mad.u32 %h, 31, %y\n  st.global.u32 [%at], %h\n"
        );
        check(&kernel(&body));
    }
}

#[test]
fn straight_code_of_launches() {
    launched_straight().iter().for_each(|text| check(text));
}

#[test]
fn collectives_are_those_of_warps_of_32() {
    collectives().iter().for_each(|text| check(text));
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 5, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn structured_kernels(code in programs()) {
        check(&kernel(&body(&code)));
    }

    #[test]
    fn launched_kernels(code in programs()) {
        check(&launched_kernel(&body(&code)));
    }

    #[test]
    fn graphs_of_any_shape(ends in graphs()) {
        check(&graph(&ends));
    }
}

/// The campaign: kernels of all kinds, each under options of its own.
#[test]
#[ignore = "an hour"]
fn campaign() {
    let options = options();
    super::programs::campaign(|_, text, pick| check_with(text, &[options[pick % options.len()]]));
}

/// Memory after a launch of a bundled kernel.
fn bundled_on_machine(
    assembly: &Assembly,
    run: &Run<'_>,
    options: Options,
) -> Result<Buffers, String> {
    let image = ::linx::assemble(isa::FileId::default(), &assembly.text, TileOps::V04);
    let image = image.map_err(|e| format!("{:?}", e.iter().next()))?;
    let program = ::linx::Program::from_image(&image, TileOps::V04).map_err(|e| e.to_string())?;
    let mut memory = MemoryMap::new();
    map(&mut memory, &run.before);
    let argument = |param: &ir::module::Param| {
        let mut bytes = [0; 8];
        let from = param.offset as usize;
        let size = (param.size as usize).min(8);
        bytes[..size].copy_from_slice(&run.params[from..from + size]);
        u64::from_le_bytes(bytes)
    };
    let params = run.module.functions[run.kernel.index()].params();
    let mut arguments: Vec<u64> = params.iter().map(argument).collect();
    if assembly.block {
        memory
            .map_at("parameters", PARAMETERS, run.params.len() as u64, Permission::ReadOnly)
            .unwrap();
        memory.host_write(PARAMETERS, &run.params).unwrap();
        arguments = vec![PARAMETERS.0];
    }
    let launch = ::linx::Launch {
        memory,
        arguments,
        entry: None,
        demand: Vec::new(),
        options,
        command: Vec::new(),
        input: Vec::new(),
    };
    let machine = Linx::default();
    let mut state = machine.launch(&program, launch).map_err(|e| e.to_string())?;
    match machine.run_unobserved(&program, &mut state, 50_000_000) {
        Step::Done => Ok(read(&state.memory, &run.before)),
        Step::Fault(fault) => Err(format!("{}", fault.cause)),
        _ => Err("it does not end".to_owned()),
    }
}

/// Launch files that take seconds.
const SLOW: [&str; 16] = [
    "bfs",
    "switch32",
    "sha256",
    "kmeans",
    "nqueens",
    "dynamic_shared",
    "divergence/regex",
    "bitonic_sort",
    "early_exit",
    "edit_distance",
    "mandelbrot",
    "nbody",
    "raymarch",
    "sgemm_tiled",
    "lock_order",
    "textbook",
];

/// Kernels whose results depend on the order of threads, which is another one on a machine that
/// ends each group before the next.
const ORDERED: [&str; 1] = ["hash_table"];

/// What comes of a launch: the program, or why its buffers are not those of the engine.
pub(crate) fn outcome(
    run: &Run<'_>,
    after: Option<&Buffers>,
    options: Options,
) -> Result<Assembly, String> {
    let made = linx(run.module, run.kernel, run.launch, &|_| None);
    let assembly = made.map_err(|e| e.to_string())?;
    let Some(after) = after else { return Err("it does not end under ipdom".to_owned()) };
    let found = bundled_on_machine(&assembly, run, options);
    match difference(after, &found.map_err(|e| format!("FAULT {e}"))?) {
        Some(difference) => Err(format!("WRONG {difference}")),
        None => Ok(assembly),
    }
}

fn bundled(asked: impl Fn(&str) -> bool, options: Options) -> usize {
    count_equal(&ORDERED, asked, |run, after| {
        outcome(run, after, options).map(|made| made.instructions)
    })
}

#[test]
fn bundled_kernels_store_what_the_engine_stores() {
    let options = Options { inactive: Inactive::Poison, ..Options::default() };
    let same = bundled(|name| !SLOW.iter().any(|slow| name.contains(slow)), options);
    assert!(same >= 30 || std::env::var_os("ONLY").is_some(), "{same}");
}

#[test]
#[ignore = "takes minutes"]
fn bundled_kernels_store_the_same_in_narrow_groups() {
    let options = Options { group_width: 4, region: Region::TakenPath, ..Options::default() };
    bundled(|_| true, options);
}

const PAGE: &str = include_str!("../../../../docs/linx-lowering.md");
const MARK: &str = "<!-- generated below -->\n";

/// The table of bundled kernels, each for its first launch, and how many lower.
fn table() -> (String, usize, usize) {
    let mut seen = std::collections::BTreeSet::new();
    let (mut out, mut done) = (String::new(), 0);
    let mut refused = String::new();
    for file in &files() {
        let (path, launches) = launches(file);
        let module = module(&path);
        let folder = folder_of(&path);
        for (kernel, launch) in launches {
            let named =
                |f: &&ir::Function| f.is_kernel() && kernel.as_ref().is_none_or(|k| *k == f.name);
            let name = module.functions.iter().find(named).unwrap().name.clone();
            if !seen.insert((path.clone(), name.clone())) {
                continue;
            }
            let id = module.function(&name).unwrap();
            match linx(&module, id, launch, &|_| None) {
                Ok(made) => {
                    done += 1;
                    let Assembly { instructions, bytes, slots, stores, reloads, masks, .. } = made;
                    let _ = writeln!(
                        out,
                        "| {folder} | `{name}` | {instructions} | {bytes} | {slots} | {stores} | {reloads} | {masks} |"
                    );
                }
                Err(why) => {
                    let _ = writeln!(refused, "| {folder} | `{name}` | {why} |");
                }
            }
        }
    }
    let count = seen.len();
    let page = format!(
        "## Bundled kernels\n\n{done} of {count} kernels lower, each for its first launch.\n\n\
         | folder | kernel | instructions | bytes | values in the frame | stores | loads | masks |\n\
         |---|---|---|---|---|---|---|---|\n{out}\n\
         ## Refused\n\n| folder | kernel | what it needs |\n|---|---|---|\n{refused}"
    );
    (page, done, count)
}

#[test]
fn the_page_has_the_bundled_kernels() {
    let (table, done, count) = table();
    assert!(done >= 40, "{done} of {count}");
    let start = PAGE.find(MARK).map(|at| at + MARK.len()).unwrap();
    let page = format!("{}\n{table}", &PAGE[..start]);
    check_page("linx-lowering.md", PAGE, &page);
}
