//! Launches of random kernels, to compare engines.

use super::kernels;
use converge::catalogue::Entry;
use converge::mechanism::{Knobs, Order};
use ir::FuncId;
use ir::module::Module;
use ir::testing::{KERNEL_WORDS, KernelShape, Rng, random_kernel};
use ir::text::print;
use vm::{Launch, Program, catalogued, load_variables};

const ORDERS: [Option<Order>; 4] =
    [None, Some(Order::Fallthrough), Some(Order::Minority), Some(Order::Majority)];

/// Begins a kernel of [`with_buffers`]: `%v` is a word of the thread, which is at `%at`; `%lane` is
/// its lane, `%t` its number in the CTA, `%n` the first parameter.
macro_rules! load_own_word {
    () => {
        "  %t = sreg.u32 tid.x
  %lane = sreg.u32 laneid
  %n = sreg.u32 ctaid.x
  %i = sreg.u32 ntid.x
  %i = mad.u32 %n, %i, %t
  %i = and.b32 %i, 4095
  %b = ld.param.u64 [@b]
  %wide = mulwide.u32 %i, 4
  %at = add.u64 %b, %wide
  %v = ld.global.u32 [%at]
  %n = ld.param.u32 [@n]
"
    };
}

pub(crate) use load_own_word;

/// Runs a launch on two engines. The error says what differs.
pub(crate) type Compare<'c> = &'c mut dyn FnMut(&Program, &Launch<1>) -> Result<(), String>;

/// Returns the module of a text that is right.
pub(crate) fn parsed(text: &str) -> Module {
    ir::text::parse(isa::FileId::default(), text)
        .unwrap_or_else(|d| panic!("{text}\n{:#?}", d.iter().collect::<Vec<_>>()))
}

/// Creates a launch of a kernel; the seed determines its block size and knobs.
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

/// Compares kernels of all control-flow shapes.
pub(crate) fn structured(seeds: std::ops::Range<u64>, compare: Compare<'_>) {
    for seed in seeds {
        for shape in KernelShape::ALL {
            let module = random_kernel(&mut Rng::new(seed), shape);
            let (program, mut launch) =
                launch(&module, FuncId(module.functions.len() as u32 - 1), seed);
            launch.grid = [1 + (seed % 40) as u32, 1, 1];
            let threads = u64::from(launch.block.iter().product::<u32>() * launch.grid[0]);
            let out =
                launch.memory.allocate("out", 4 * KERNEL_WORDS as u64 * threads).expect("room");
            launch.params = out.0.to_le_bytes().to_vec();
            if let Err(what) = compare(&program, &launch) {
                panic!("{shape:?} {seed}: {what}\n{}", print(&module));
            }
        }
    }
}

/// Compares kernels with all kinds of operations.
pub(crate) fn mixed(seeds: std::ops::Range<u64>, compare: Compare<'_>) {
    for seed in seeds {
        let mut rng = Rng::new(seed);
        let text = kernels::kernel(&mut rng);
        with_buffers(&text, &mut rng, seed, compare);
    }
}

/// Compares kernels whose CTAs mostly access different words.
pub(crate) fn independent(seeds: std::ops::Range<u64>, compare: Compare<'_>) {
    for seed in seeds {
        let mut rng = Rng::new(seed);
        let text = kernels::independent_kernel(&mut rng);
        with_buffers(&text, &mut rng, seed, compare);
    }
}

/// Compares a kernel with parameters `n`, `a` and `b`, of which the last two are buffers of random
/// words.
pub(crate) fn with_buffers(text: &str, rng: &mut Rng, seed: u64, compare: Compare<'_>) {
    let module = parsed(text);
    let (program, mut launch) = launch(&module, FuncId(0), seed);
    launch.grid = [1 + (seed % 20) as u32, 1, 1];
    launch.limit = 100_000;
    let mut params = (rng.below(9) as u64).to_le_bytes().to_vec();
    for name in ["a", "b"] {
        let buffer = launch.memory.allocate(name, 4 * u64::from(kernels::WORDS)).expect("room");
        let content: Vec<u8> =
            (0..kernels::WORDS).flat_map(|_| (rng.value() as u32).to_le_bytes()).collect();
        launch.memory.host_write(buffer, &content).expect("it is there");
        params.extend(buffer.0.to_le_bytes());
    }
    launch.params = params;
    if let Err(what) = compare(&program, &launch) {
        panic!("{seed}: {what}\n{text}");
    }
}

/// Returns a launch of 100 CTAs of 33 threads, of which 3,201 work. `%i` is a thread's number in
/// the grid, `%t` in its CTA; `%x` and `%y` are buffers of a word for each.
pub(crate) fn of_ctas(work: &str) -> (Program, Launch<1>) {
    let text = format!(
        "kernel @k(x: u64 global, y: u64 global, n: u32) {{
          reg %i, %j, %n, %t: b32
          reg %x, %y, %at: b64
          reg %p: pred
        entry:
          %x = ld.param.u64 [@x]
          %y = ld.param.u64 [@y]
          %n = ld.param.u32 [@n]
          %i = sreg.u32 ctaid.x
          %j = sreg.u32 ntid.x
          %t = sreg.u32 tid.x
          %i = mad.u32 %i, %j, %t
          %p = setp.ge.u32 %i, %n
          @%p br done
        work:
          {work}
        done:
          ret
        }}"
    );
    let module = ir::text::parse(isa::FileId::default(), &text).expect("it is right");
    let (program, mut launch) = launch(&module, FuncId(0), 0);
    (launch.grid, launch.block) = ([100, 1, 1], [33, 1, 1]);
    launch.params.clear();
    for name in ["x", "y"] {
        let buffer = launch.memory.allocate(name, 4 * 3201).expect("room");
        let words: Vec<u8> = (0..3201u32)
            .flat_map(|i| (i.wrapping_mul(2_654_435_761) >> 8 & 0xfff).to_le_bytes())
            .collect();
        launch.memory.write_bytes(buffer, &words).expect("it is there");
        launch.params.extend(buffer.0.to_le_bytes());
    }
    launch.params.extend(3201u32.to_le_bytes());
    (program, launch)
}

/// Reads a number from the environment, for campaigns.
pub(crate) fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}
