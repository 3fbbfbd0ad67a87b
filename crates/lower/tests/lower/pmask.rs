//! Kernels on RISC-V with PMASK store what each thread alone would store.

use super::prf::{BLOCKS, THREADS, alone};
use super::programs::{body, graph, graphs, kernel, programs, verified, work};
use ::pmask::{Config, Pmask};
use ir::{FuncId, VerifiedModule};
use lower::pmask::{Assembly, Options, pmask};
use proptest::prelude::*;
use simt::machine::{Machine, Step};
use simt::memory::{Addr, Permission};
use simt::observe::Blind;

const OUT: u64 = 0x2000_0000;

/// The machine that a program is written for.
pub(crate) fn config(options: Options) -> Config {
    Config {
        banks: options.banks as u8,
        lane_forms: options.lane_forms,
        fused_branches: options.fused,
        // What the program has not written itself must not matter.
        reset_random: Some(7),
        ..Config::default()
    }
}

/// A launch's extents, shared memory and parameters.
pub(crate) struct Launch<'a> {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared: u32,
    pub(crate) params: &'a [u8],
}

/// Runs a program with buffers at their addresses, which it changes; returns its exit code.
pub(crate) fn run(
    assembly: &Assembly,
    options: Options,
    launch: &Launch<'_>,
    buffers: &mut [(u64, Vec<u8>)],
) -> i64 {
    let machine = Pmask { config: config(options) };
    let text = &assembly.text();
    let program = ::pmask::Program::from_text(isa::FileId::default(), text);
    let program = program.unwrap_or_else(|d| panic!("{text}\n{:#?}", d.iter().next()));
    let program = ::pmask::Program { entry: program.symbol("k.start").unwrap(), ..program };
    let mut state = machine.launch(&program, ::pmask::Launch::default()).unwrap();
    let at = program.symbol("k.launch").unwrap();
    let words = [launch.grid, launch.block].concat();
    let words: Vec<u8> =
        words.iter().chain(&[launch.shared]).flat_map(|word| word.to_le_bytes()).collect();
    state.memory.host_write(Addr(at), &words).unwrap();
    let at = program.symbol("k.params").unwrap();
    state.memory.host_write(Addr(at), launch.params).unwrap();
    for (address, bytes) in &*buffers {
        let size = (bytes.len() as u64).next_multiple_of(16).max(16);
        state.memory.map_at("buffer", Addr(*address), size, Permission::ReadWrite).unwrap();
        state.memory.host_write(Addr(*address), bytes).unwrap();
    }
    let end = machine.run(&program, &mut state, &mut Blind, 1 << 33);
    if let Step::Fault(fault) = &end {
        let line = program.span_at(fault.pc.0).map(|span| text[span.range()].to_owned());
        panic!("{:?} at {:#x}: {line:?}\n{text}", fault.cause, fault.pc.0);
    }
    assert_eq!(end, Step::Done, "{text}");
    for (address, bytes) in buffers {
        state.memory.read_bytes(Addr(*address), bytes).unwrap();
    }
    state.host.exit.unwrap_or(-1)
}

pub(crate) fn lowered(module: &VerifiedModule, options: Options) -> Assembly {
    pmask(module, FuncId(0), options, &|_| None).unwrap_or_else(|e| panic!("{e}"))
}

/// All machines and widths that must not matter.
pub(crate) fn options() -> impl Iterator<Item = Options> {
    let usual = Options::default();
    [
        usual,
        Options { lanes: 4, ..usual },
        Options { lanes: 2, fused: false, ..usual },
        Options { lanes: 1, ..usual },
        Options { banks: 3, lane_forms: false, ..usual },
        Options { banks: 2, ..usual },
        Options { banks: 2, lanes: 4, lane_forms: false, fused: false },
    ]
    .into_iter()
}

#[track_caller]
fn check(text: &str) {
    let module = verified(text);
    let expected = alone(&module);
    let params = [OUT.to_le_bytes(), 77u64.to_le_bytes()].concat();
    for options in options() {
        let assembly = lowered(&module, options);
        let launch = Launch {
            grid: [BLOCKS, 1, 1],
            block: [THREADS, 1, 1],
            shared: 0,
            params: &params[..12],
        };
        let mut buffers = [(OUT, vec![0; 4 * (THREADS * BLOCKS) as usize])];
        let code = run(&assembly, options, &launch, &mut buffers);
        assert_eq!(code, 0, "{options:?}\n{text}\n{}", assembly.text());
        let words = buffers[0].1.chunks(4);
        let found: Vec<u32> = words.map(|w| u32::from_le_bytes(w.try_into().unwrap())).collect();
        assert_eq!(found, expected, "{options:?}\n{text}\n{}", assembly.text());
    }
}

#[test]
fn straight_code() {
    for index in 0..16 {
        let mut out = String::new();
        work(&mut out, index);
        check(&kernel(&out));
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 12, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn structured_kernels(code in programs()) {
        check(&kernel(&body(&code)));
    }

    #[test]
    fn any_graph(ends in graphs()) {
        check(&graph(&ends));
    }
}
