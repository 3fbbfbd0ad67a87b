//! Random kernels on LinxISA store what each thread alone would store, at every width of groups,
//! whatever inactive lanes of a push get, and under either rule of the body's region.

use super::prf::{BLOCKS, THREADS, alone, words};
use super::programs::{Code, emit, kernel, programs, verified, work};
use ::linx::{Inactive, Linx, Options, Region, TileOps};
use ir::{FuncId, VerifiedModule};
use lower::linx::{Assembly, Launch, linx};
use proptest::prelude::*;
use simt::machine::{Machine, Step};
use simt::memory::{Addr, MemoryMap, Permission};
use simt::observe::Blind;
use std::fmt::Write;

/// Where the results lie.
const OUT: u64 = 0x2000_0000;
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
    let end = machine.run(&program, &mut state, &mut Blind, 1 << 22);
    assert_eq!(end, Step::Done, "{text}");
    words(&state.memory, Addr(OUT), bytes)
}

#[track_caller]
fn check(text: &str) {
    let module = verified(text);
    let expected = alone(&module);
    let assembly = lowered(&module).unwrap_or_else(|e| panic!("{e}\n{text}"));
    for options in options() {
        let found = on_machine(&assembly, options);
        assert_eq!(found, expected, "{options:?}\n{text}\n{}", assembly.text);
    }
}

fn any_code(code: &Code) {
    let mut out = String::new();
    emit(code, &mut out, &mut 0, None);
    check(&kernel(&out));
}

fn any_graph(ends: &[(u8, u32)]) {
    let n = ends.len() as u32;
    let mut out = "  br b0\n".to_owned();
    for (i, &(kind, to)) in ends.iter().enumerate() {
        let _ = writeln!(out, "b{i}:");
        work(&mut out, (to >> 8) as usize % 997);
        let _ = writeln!(out, "  @%q exit\nb{i}.end:");
        let _ = match kind {
            0 => writeln!(out, "  br b{}", to % n),
            1 | 2 => writeln!(out, "  @%p br b{}", to % n),
            _ => {
                let names: Vec<String> =
                    (0..4).map(|k| format!("b{}", (to >> (8 * k)) % n)).collect();
                writeln!(out, "  switch %x, [{}]", names.join(", "))
            }
        };
    }
    out.push_str("last:\n");
    check(&kernel(&out));
}

fn graphs() -> impl Strategy<Value = Vec<(u8, u32)>> {
    prop::collection::vec((0u8..4, any::<u32>()), 1..7)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 24, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn structured_kernels(code in programs()) {
        any_code(&code);
    }

    #[test]
    fn graphs_of_any_shape(ends in graphs()) {
        any_graph(&ends);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 5000, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    #[ignore = "a campaign of ten thousand kernels"]
    fn campaign_of_structured_kernels(code in programs()) {
        any_code(&code);
    }

    #[test]
    #[ignore = "a campaign of ten thousand kernels"]
    fn campaign_of_graphs(ends in graphs()) {
        any_graph(&ends);
    }
}
