//! Random launches: kernels of the IR that are lowered, and programs that the tests of a machine
//! write for it.

use std::collections::BTreeMap;
use std::ops::Range;

use ::linx::{Inactive, Linx, Region, TileOps};
use ::pmask::Pmask;
use ::prf::{Prf, Profile, Words};
use debug::{Abilities, Code, Execution, Function, Instruction};
use ir::{FuncId, VerifiedModule};
use isa::testing::Rng;
use isa::{FileId, asm::Image};
use lower::legal::Launch;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use simt::Pc;
use simt::inspect::Inspect;
use simt::machine::Machine;
use simt::memory::{Addr, MemoryMap, Permission};

use super::campaign;
use super::log::Style;
use super::prf::THREADS;
use super::programs::{body, graph, graphs, kernel, launched_kernel, programs, verified};

const OUT: u64 = 0x2000_0000;
const ARGUMENTS: u64 = 0xf0_0000;
const BLOCKS: u32 = 2;
const LAUNCH: Launch = Launch { grid: [BLOCKS, 1, 1], block: [THREADS, 1, 1], shared: 0 };
const BYTES: u64 = 4 * (BLOCKS * THREADS) as u64;
/// Main memory of the hart: digests of states read all of it.
const RAM: u64 = 1 << 18;

/// A launch before its first issue.
pub(super) struct Case<M: Inspect<1>> {
    pub(super) machine: M,
    pub(super) program: M::Program,
    pub(super) first: M::State,
    /// How the assembly text says what an instruction writes.
    pub(super) style: Style<M>,
    /// Statements by address.
    pub(super) texts: BTreeMap<u64, String>,
    /// Memory that kernels store to.
    pub(super) buffers: Vec<Range<u64>>,
    masks: bool,
    symbols: Vec<(String, u64)>,
}

impl<M: Inspect<1>> Case<M> {
    /// The launch in the debugger.
    pub(super) fn execution(&self) -> Execution<'_, M, 1> {
        let explain = |cause: &M::Cause| cause.to_string();
        let instructions = self.texts.iter().map(|(&pc, text)| Instruction {
            pc: Pc(pc),
            text: text.as_str().into(),
            line: None,
            source: None,
        });
        let end = |entry: u64| self.symbols.iter().map(|s| s.1).filter(|&at| at > entry).min();
        let functions = self.symbols.iter().map(|(name, entry)| Function {
            name: name.clone(),
            entry: Pc(*entry),
            end: Pc(end(*entry).unwrap_or(u64::MAX)),
        });
        let code = Code::new("k.s", "", instructions.collect(), functions.collect());
        let abilities = Abilities { masks: self.masks, one_file: true, ..Abilities::default() };
        Execution::new(&self.machine, &self.program, self.first.clone(), explain, code)
            .with_abilities(abilities)
    }
}

/// Statements by address, and symbols of the text.
fn listing(image: &Image, text: &str) -> (BTreeMap<u64, String>, Vec<(String, u64)>) {
    let written = |line: &isa::asm::Line| {
        let text = text.get(line.span.range()).unwrap_or_default();
        (line.address, line.length, text.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let mut texts = BTreeMap::new();
    for (address, length, text) in image.lines.iter().map(written) {
        // A pseudo-instruction stands for several instructions of four bytes.
        for at in (address..address + length.max(1)).step_by(4) {
            texts.insert(at, text.clone());
        }
    }
    let symbols = image.symbols.iter().map(|s| (s.name.clone(), s.value));
    (texts, symbols.filter(|(name, _)| !name.contains('.')).collect())
}

/// Makes launches.
pub(super) struct Source {
    runner: TestRunner,
    rng: Rng,
}

impl Source {
    pub(super) fn new(seed: u64) -> Self {
        let config = Config { rng_seed: RngSeed::Fixed(seed), ..Config::default() };
        Self { runner: TestRunner::new(config), rng: Rng::new(seed) }
    }

    /// A kernel of the IR; with memory of the block and the thread, and atomics.
    fn module(&mut self, number: u32) -> (VerifiedModule, bool) {
        let launched = number % 3 == 2;
        let text = match number % 3 {
            0 => self.pick(graphs().prop_map(|ends| graph(&ends))),
            1 => self.pick(programs().prop_map(|code| kernel(&body(&code)))),
            _ => self.pick(programs().prop_map(|code| launched_kernel(&body(&code)))),
        };
        (verified(&text), launched)
    }

    fn pick(&mut self, texts: impl Strategy<Value = String>) -> String {
        texts.new_tree(&mut self.runner).expect("a kernel").current()
    }

    pub(super) fn linx(&mut self, number: u32) -> Case<Linx> {
        let (module, _) = self.module(number);
        let made = lower::linx::linx(&module, FuncId(0), LAUNCH, &|_| None);
        let text = made.expect("lowered").text;
        let image = ::linx::assemble(FileId::default(), &text, TileOps::V04).expect("assembled");
        let program = ::linx::Program::from_image(&image, TileOps::V04).expect("a program");
        let mut memory = MemoryMap::new();
        memory.map_at("out", Addr(OUT), BYTES, Permission::ReadWrite).expect("room");
        let inactive = [Inactive::Merge, Inactive::Zero, Inactive::Poison];
        let options = ::linx::Options {
            group_width: [64, 32, 8, 1][self.rng.below(4) as usize],
            inactive: inactive[self.rng.below(3) as usize],
            region: [Region::FirstTerminator, Region::TakenPath][self.rng.below(2) as usize],
            ..::linx::Options::default()
        };
        let arguments = vec![OUT, 77];
        let launch = ::linx::Launch { memory, arguments, options, ..::linx::Launch::default() };
        let machine = Linx::default();
        let first = machine.launch(&program, launch).expect("launched");
        let buffers = std::iter::once(OUT..OUT + BYTES).collect();
        let (texts, symbols) = listing(&image, &text);
        let (style, masks) = (super::log::linx as Style<Linx>, true);
        Case { machine, program, first, style, texts, buffers, masks, symbols }
    }

    pub(super) fn pmask(&mut self, number: u32) -> Case<Pmask> {
        let (module, _) = self.module(number);
        let options = lower::pmask::Options {
            banks: [2, 3, 4][self.rng.below(3) as usize],
            lanes: [1, 2, 4, 8][self.rng.below(4) as usize],
            lane_forms: self.rng.below(2) == 0,
            fused: self.rng.below(2) == 0,
        };
        let made = lower::pmask::pmask(&module, FuncId(0), options, &LAUNCH, &|_| None);
        let text = made.expect("lowered").text();
        let program = ::pmask::Program::from_text(FileId::default(), &text).expect("assembled");
        let symbol = |end: &str| program.symbol(&format!("k{end}")).expect("the symbol");
        let (entry, params) = (symbol(".start"), symbol(".params"));
        let program = ::pmask::Program { entry, ..program };
        let config = ::pmask::Config {
            banks: options.banks as u8,
            lane_forms: options.lane_forms,
            fused_branches: options.fused,
            reset_random: Some(self.rng.bits()),
            ..::pmask::Config::default()
        };
        let machine = Pmask { config };
        let launch = ::pmask::Launch { ram: RAM, ..::pmask::Launch::default() };
        let mut first = machine.launch(&program, launch).expect("launched");
        let bytes = [OUT.to_le_bytes(), 77u64.to_le_bytes()].concat();
        first.memory.host_write(Addr(params), &bytes[..12]).expect("there");
        first.memory.map_at("out", Addr(OUT), BYTES, Permission::ReadWrite).expect("room");
        let image = program.image.as_ref().expect("it was text");
        let (texts, symbols) = listing(image, &text);
        let data = program.segments.iter().map(|s| s.address..s.address + s.size);
        let buffers = std::iter::once(OUT..OUT + BYTES).chain(data).collect();
        let (style, masks) = (super::log::pmask as Style<Pmask>, true);
        Case { machine, program, first, style, texts, buffers, masks, symbols }
    }

    pub(super) fn prf(&mut self, number: u32) -> Case<Prf> {
        let (module, _) = self.module(number);
        let predicates = [3, 5, 16, 31][self.rng.below(4) as usize];
        let made = lower::prf::prf_for(&module, FuncId(0), predicates, &LAUNCH, &|_| None);
        let text = made.expect("lowered").0.text;
        let mut memory = MemoryMap::new();
        memory.map_at("out", Addr(OUT), BYTES, Permission::ReadWrite).expect("room");
        memory.map_at("arguments", Addr(ARGUMENTS), 4096, Permission::ReadWrite).expect("room");
        let arguments = [OUT.to_le_bytes()[..4].to_vec(), vec![77, 0, 0, 0]].concat();
        memory.host_write(Addr(ARGUMENTS), &arguments).expect("there");
        let launch = ::prf::Launch {
            threads: THREADS,
            blocks: BLOCKS,
            total: None,
            argument: ARGUMENTS as u32,
            entry: None,
            memory,
        };
        let profile = if predicates <= 16 { Profile::Founding } else { Profile::Cardinal };
        prf_case(profile, &text, launch, std::iter::once(OUT..OUT + BYTES).collect())
    }

    /// A program that the machine's own tests write for it, with loops, jumps and calls.
    pub(super) fn written_for_prf(&mut self) -> Case<Prf> {
        let mut random = campaign::Random(self.rng.bits());
        let statements = 4 + random.below(40);
        let size = campaign::Size::random(&mut random);
        let text = campaign::Writer::new(&mut random).program(statements, None);
        let profiles = [Profile::Founding, Profile::Cardinal];
        let profile = profiles[self.rng.below(2) as usize];
        let launch = size.launch();
        let regions = launch.memory.regions().iter();
        let buffers = regions.map(|region| region.base().0..region.end().0).collect();
        prf_case(profile, &text, launch, buffers)
    }
}

fn prf_case(
    profile: Profile,
    text: &str,
    launch: ::prf::Launch,
    buffers: Vec<Range<u64>>,
) -> Case<Prf> {
    let config = profile.config();
    let image = ::prf::assemble(config.encoding, FileId::default(), text).expect("assembled");
    let program = ::prf::Program::new(&Words::assembled(&image), config).expect("a program");
    let machine = Prf { config };
    let first = machine.launch(&program, launch).expect("launched");
    let (texts, symbols) = listing(&image, text);
    let (style, masks) = (super::log::prf as Style<Prf>, false);
    Case { machine, program, first, style, texts, buffers, masks, symbols }
}
