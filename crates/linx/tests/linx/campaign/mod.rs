//! Random programs against second models, which read the programs' text.
//!
//! The models are written from the published description of the machine. They share nothing with
//! the crate: they parse lines, compute with the host's integers and keep memory of their own, so
//! that assembler, decoder and machine are compared at once. `SIMTLAB_LINX_PROGRAMS` says how many
//! programs a test takes:
//!
//! ```text
//! SIMTLAB_LINX_PROGRAMS=100000 cargo test -p simtlab-linx --release --test linx -- campaign
//! ```

mod foreign;
mod lanes;
mod lanes_programs;
mod programs;
mod scalar;

use isa::FileId;
use isa::testing::Rng;
use linx::{Conventions, Encoding, Launch, Linx, Options, Program, TileOps};
use simt::machine::{Machine, Step};
use simt::memory::{Addr, MemoryMap, Permission};

use crate::common::BASE;

/// Bytes of the memory that programs use, from [`BASE`] on.
const BYTES: usize = 0x800;

fn count(default: u64) -> u64 {
    let count = std::env::var("SIMTLAB_LINX_PROGRAMS").ok().and_then(|n| n.parse().ok());
    count.unwrap_or(default)
}

/// A line of a program.
#[derive(Clone, Debug, Default)]
struct Line {
    label: Option<String>,
    op: String,
    sources: Vec<Operand>,
    destinations: Vec<String>,
}

/// A source operand: `s1.sw.neg<<3` is `s1` with the modifiers `sw` and `neg`, shifted by 3.
#[derive(Clone, Debug)]
struct Operand {
    name: String,
    modifiers: Vec<String>,
    shift: u32,
}

impl Operand {
    fn has(&self, modifier: &str) -> bool {
        self.modifiers.iter().any(|m| m == modifier)
    }
}

fn operand(text: &str) -> Operand {
    let (text, shift) = text.split_once("<<").unwrap_or((text, "0"));
    let mut words = text.split('.').map(str::to_owned);
    let name = words.next().unwrap();
    Operand { name, modifiers: words.collect(), shift: shift.parse().unwrap() }
}

/// Reads a text with one instruction a line; labels stand before instructions.
fn lines(text: &str) -> Vec<Line> {
    let split = |list: &str| -> Vec<String> {
        let words = list.split(',').map(|w| w.trim().trim_matches(['[', ']']).to_owned());
        words.filter(|w| !w.is_empty()).collect()
    };
    let mut out = Vec::new();
    for line in text.lines().map(str::trim) {
        let (label, line) = match line.split_once(':') {
            Some((label, rest)) => (Some(label.to_owned()), rest.trim()),
            None => (None, line),
        };
        let (op, rest) = line.split_once(' ').unwrap_or((line, ""));
        let (sources, destinations) = rest.split_once("->").unwrap_or((rest, ""));
        let sources = split(sources).iter().map(|s| operand(s)).collect();
        out.push(Line { label, op: op.to_owned(), sources, destinations: split(destinations) });
    }
    out
}

/// The numbers that memory holds at first: registers, then data.
fn memory(random: &mut Rng, length: usize) -> Vec<u8> {
    (0..length / 8)
        .flat_map(|_| {
            let bits = random.bits();
            let value = match bits % 5 {
                0 => bits >> ((bits >> 8) % 60),
                1 => (bits as i64 >> ((bits >> 8) % 60)) as u64,
                2 => [0, 1, u64::MAX, 1 << 63, 0x8000_0000, 0x7fff_ffff][bits as usize / 8 % 6],
                _ => bits,
            };
            value.to_le_bytes()
        })
        .collect()
}

/// Runs a program whose `a0` holds [`BASE`]; gives its machine code and the memory it leaves.
fn run(text: &str, conventions: Conventions, bytes: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let encoding = Encoding { conventions, ..Encoding::from(TileOps::V04) };
    let image = isa::asm::assemble(linx::dialect(encoding, true), FileId::default(), text)
        .unwrap_or_else(|e| panic!("{:?}\n{text}", e.iter().map(|d| &d.message).next()));
    let program = Program::from_image(&image, encoding).unwrap();
    let mut memory = MemoryMap::new();
    memory.map_at("data", Addr(BASE), bytes.len() as u64, Permission::ReadWrite).unwrap();
    memory.host_write(Addr(BASE), bytes).unwrap();
    let options = Options::default();
    let launch = Launch { memory, arguments: vec![BASE], options, ..Launch::default() };
    let machine = Linx::default();
    let mut state = machine.launch(&program, launch).unwrap();
    match machine.run_unobserved(&program, &mut state, 1_000_000) {
        Step::Done => {}
        Step::Fault(fault) => panic!("{}\n{text}", fault.cause),
        end => panic!("{end:?}\n{text}"),
    }
    let mut out = vec![0; bytes.len()];
    state.memory.read_bytes(Addr(BASE), &mut out).unwrap();
    (image.segments[0].bytes.clone(), out)
}

/// Compares two memories; tells of the first word that differs.
fn same(seed: u64, text: &str, ours: &[u8], theirs: &[u8]) {
    let words = ours.chunks(8).zip(theirs.chunks(8)).enumerate();
    for (i, (a, b)) in words {
        assert!(a == b, "seed {seed}, bytes from {:#x}: {a:x?}, not {b:x?}\n{text}", 8 * i);
    }
    assert_eq!(ours.len(), theirs.len());
}

#[test]
fn scalar_programs_agree_with_a_second_model() {
    for seed in 0..count(150) {
        for conventions in [Conventions::V04, Conventions::Compiler] {
            let mut random = Rng::new(seed);
            let text = programs::scalar(&mut random, programs::Set::All);
            let bytes = memory(&mut random, BYTES);
            let (_, ours) = run(&text, conventions, &bytes);
            let theirs = scalar::run(&lines(&text), conventions == Conventions::Compiler, bytes);
            same(seed, &text, &ours, &theirs);
        }
    }
}

#[test]
fn kernel_bodies_agree_with_a_second_model() {
    for seed in 0..count(150) {
        let text = lanes_programs::kernel(seed);
        let bytes = memory(&mut Rng::new(seed), lanes_programs::BYTES);
        let (_, ours) = run(&text, Conventions::V04, &bytes);
        let theirs = lanes::run(&lines(&text), bytes);
        same(seed, &text, &ours, &theirs);
    }
}
