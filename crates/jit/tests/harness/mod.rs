//! Runs launches on compiled code and on the exact engine, and compares: memory, and statistics number by number.

use converge::catalogue::Entry;
use converge::mechanism::{Knobs, Order};
use fast::Declined;
use ir::FuncId;
use ir::module::Module;
use ir::testing::Rng;
use jit::{Compiled, Refused};
use simt::machine::{Machine, Step};
use simt::memory::MemoryMap;
use simt::observe::Blind;
use vm::{Engine, Launch, Program, catalogued, load_variables};

/// Words of each of the two buffers.
const WORDS: u32 = 1 << 12;

const ORDERS: [Option<Order>; 4] =
    [None, Some(Order::Fallthrough), Some(Order::Minority), Some(Order::Majority)];

/// How launches went.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Count {
    pub(crate) compared: u64,
    pub(crate) refused: u64,
    pub(crate) stopped: u64,
    pub(crate) native: usize,
    pub(crate) steps: usize,
}

/// All bytes of a map's regions.
fn bytes(memory: &MemoryMap) -> Vec<Vec<u8>> {
    let region = |r: &simt::memory::Region| {
        let mut out = vec![0; r.len() as usize];
        if r.is_live() && !r.is_empty() {
            memory.read_bytes(r.base(), &mut out).expect("a live region");
        }
        out
    };
    memory.regions().iter().map(region).collect()
}

/// Whether the host has no compiled tier, so that there is nothing to compare.
fn absent(refused: &Refused) -> bool {
    *refused == Refused::Host
}

/// Runs a launch on both; what differs.
pub(crate) fn compare(
    program: &Program,
    launch: &Launch<1>,
    count: &mut Count,
) -> Result<(), String> {
    let engine = Engine::<1>;
    let Ok(state) = engine.launch(program, launch.clone()) else { return Ok(()) };
    for assume in [true, false] {
        let Ok(kernel) = fast::prepare(program, &state, assume) else {
            count.refused += 1;
            return Ok(());
        };
        let compiled = match Compiled::new(kernel) {
            Ok(compiled) => compiled,
            Err((_, refused)) if absent(&refused) => return Ok(()),
            Err((_, refused)) => return Err(refused.to_string()),
        };
        count.native += compiled.coverage().native;
        count.steps += compiled.coverage().steps;
        let state = engine.launch(program, launch.clone()).map_err(|e| e.to_string())?;
        match compiled.run(state, &mut |_, _| true) {
            Ok(finished) => {
                let mut state = engine.launch(program, launch.clone()).expect("it launches");
                let end = engine.run(program, &mut state, &mut Blind, u64::MAX);
                let stats = *state.stats();
                let memory = bytes(&state.into_memory());
                if end != Step::Done {
                    return Err(format!("it ends, the exact engine says {end:?}"));
                }
                if bytes(&finished.memory) != memory {
                    let all = bytes(&finished.memory);
                    let at = all.iter().zip(&memory).enumerate().find_map(|(r, (a, b))| {
                        let byte = a.iter().zip(b).position(|(a, b)| a != b)?;
                        let word = byte / 4 * 4;
                        Some((r, word, a[word..word + 4].to_vec(), b[word..word + 4].to_vec()))
                    });
                    return Err(format!("assume {assume}: memory differs: {at:x?}"));
                }
                if finished.stats != stats {
                    return Err(format!("{:#?}\nexact: {stats:#?}", finished.stats));
                }
                count.compared += 1;
            }
            // A fault or a hang, which the exact engine reports.
            Err(Declined::Running(_) | Declined::Wrapped) => count.stopped += 1,
            Err(_) => count.refused += 1,
        }
    }
    Ok(())
}

pub(crate) fn launch(module: &Module, kernel: FuncId, seed: u64) -> (Program, Launch<1>) {
    let program = Program::link(module.clone()).expect("it links");
    let entry = Entry::find("ipdom").expect("it is in the catalogue");
    let mut launch = Launch::new(kernel, catalogued(entry));
    launch.variables = load_variables(&program, &mut launch.memory).expect("room");
    launch.knobs = Knobs { order: ORDERS[seed as usize % 4], ..Knobs::default() };
    let blocks =
        [[7, 1, 1], [32, 1, 1], [70, 1, 1], [64, 2, 1], [8, 4, 3], [1, 40, 1], [16, 16, 1]];
    launch.block = blocks[seed as usize % 7];
    (program, launch)
}

/// Runs a text's kernel with parameters `n`, `a`, `b`: buffers of random words.
pub(crate) fn with_buffers(text: &str, rng: &mut Rng, seed: u64, count: &mut Count) {
    let module = ir::text::parse(isa::FileId::default(), text)
        .unwrap_or_else(|d| panic!("{text}\n{:#?}", d.iter().collect::<Vec<_>>()));
    let (program, mut launch) = launch(&module, FuncId(0), seed);
    launch.grid = [1 + (seed % 20) as u32, 1, 1];
    launch.limit = 100_000;
    let mut params = (rng.below(9) as u64).to_le_bytes().to_vec();
    for name in ["a", "b"] {
        let buffer = launch.memory.allocate(name, 4 * u64::from(WORDS)).expect("room");
        let content: Vec<u8> =
            (0..WORDS).flat_map(|_| (rng.value() as u32).to_le_bytes()).collect();
        launch.memory.host_write(buffer, &content).expect("it is there");
        params.extend(buffer.0.to_le_bytes());
    }
    launch.params = params;
    if let Err(what) = compare(&program, &launch, count) {
        panic!("{seed}: {what}\n{text}");
    }
}
