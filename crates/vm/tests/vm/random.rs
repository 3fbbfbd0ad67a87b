//! Random programs: kernels against a scalar reference under every mechanism, and any verified
//! module without a panic.

use converge::{BuildMechanism, CATALOGUE, Entry, Knobs, Order, Policy, Start};
use ir::testing::{
    KERNEL_WORDS, KernelShape, Rng, expected, mutate_module, random_kernel, random_module,
};
use ir::text::print;
use ir::{FuncId, Module, VerifiedModule};
use simt::machine::{Machine, Step};
use vm::{Compiled, Engine, Launch, Program, State, catalogued, load_variables, prepare};

/// Issues after which a run is taken to hang. Predicated code runs both sides of branches, and
/// bodies of functions for no lane: a kernel that takes thousands of issues lane by lane may take
/// millions so.
const ISSUES: u64 = 1 << 28;

/// How a random kernel is launched.
#[derive(Clone, Copy, Debug)]
struct Shape {
    width: u32,
    grid: u32,
    block: u32,
    order: Option<Order>,
    policy: Policy,
}

/// The words of all threads, or how it ended otherwise. The module is one that the mechanism's pass
/// has prepared.
fn words<const N: usize>(
    module: &Module,
    entry: &'static Entry,
    shape: Shape,
) -> Result<Vec<u32>, Step<vm::Cause, N>>
where
    Start<N>: BuildMechanism<N>,
    State<N>: Compiled<N>,
{
    let program = Program::link(module.clone()).expect("random kernels link");
    let kernel = FuncId(module.functions.len() as u32 - 1);
    let mut launch = Launch::<N>::new(kernel, catalogued(entry));
    let bytes = 4 * KERNEL_WORDS * (shape.grid * shape.block) as usize;
    let out = launch.memory.allocate("out", bytes as u64).unwrap();
    launch.params = out.0.to_le_bytes().to_vec();
    (launch.grid, launch.block) = ([shape.grid, 1, 1], [shape.block, 1, 1]);
    (launch.width, launch.policy) = (shape.width, shape.policy);
    launch.scope = entry.scope;
    launch.knobs = Knobs { order: shape.order, ..Knobs::default() };
    let mut state = Engine::<N>.launch(&program, launch).expect("it launches");
    let end = Engine::<N>.run_unobserved(&program, &mut state, ISSUES);
    if end != Step::Done {
        return Err(end);
    }
    assert!(state.stats().slots.identity_holds());
    let mut content = vec![0; bytes];
    state.memory().read_bytes(out, &mut content).unwrap();
    Ok(content.chunks(4).map(|w| u32::from_le_bytes(w.try_into().unwrap())).collect())
}

fn reference(module: &Module, grid: u32, block: u32) -> Vec<u32> {
    let threads = (0..grid).flat_map(|cta| (0..block).map(move |tid| (cta, tid)));
    let words = threads.flat_map(|(cta, tid)| expected(module, cta, block, tid).unwrap());
    words.collect()
}

/// A launch for the kernel of a seed: one block, or two small ones.
fn launch_of(seed: u64) -> Shape {
    let mut rng = Rng::new(!seed);
    let (grid, block) = [(2, 7), (1, 32), (1, 70)][rng.below(3)];
    let width = [1, 4, 8, 32, 64][rng.below(5)];
    let order = [None, Some(Order::Taken), Some(Order::Minority)][rng.below(3)];
    let policy = [Policy::First, Policy::Random { state: seed }][rng.below(2)];
    Shape { width, grid, block, order, policy }
}

/// The mechanisms that random kernels run under: `uniform` runs what a pass has made, and stands
/// for none by itself.
fn mechanisms() -> impl Iterator<Item = &'static Entry> {
    CATALOGUE.iter().filter(|e| e.name != "uniform")
}

/// How many kernels each mechanism took.
type Taken = std::collections::BTreeMap<&'static str, u64>;

/// Runs a random kernel under every mechanism, and holds what it stores against the scalar
/// reference. Counts the mechanisms that took it.
fn under_every_mechanism(seed: u64, shape: KernelShape, taken: &mut Taken) {
    let module = random_kernel(&mut Rng::new(seed), shape);
    let launch = launch_of(seed);
    let words_expected = reference(&module, launch.grid, launch.block);
    let verified = VerifiedModule::new(module.clone()).unwrap();
    let kernel = FuncId(module.functions.len() as u32 - 1);
    for entry in mechanisms() {
        // A pass may refuse what it cannot take: graphs without structure, early ends in callees.
        let Ok(module) = prepare(&verified, kernel, entry.pass) else {
            assert!(entry.pass.is_some());
            continue;
        };
        let context = || format!("{} {shape:?} {seed} {launch:?}", entry.name);
        let found = words::<16>(&module, entry, launch)
            .unwrap_or_else(|end| panic!("{}: {end:?}\n{}", context(), print(&module)));
        if found != words_expected {
            let at = found.iter().zip(&words_expected).position(|(a, b)| a != b);
            panic!("{}: word {at:?}\n{}", context(), print(&module));
        }
        *taken.entry(entry.name).or_default() += 1;
    }
}

/// A run-time mechanism takes every kernel; a compile-time one most of them.
fn each_took_its_share(taken: &Taken, kernels: u64) {
    for entry in mechanisms() {
        let found = taken.get(entry.name).copied().unwrap_or(0);
        let least = if entry.pass.is_none() { kernels } else { kernels / 4 };
        assert!(found >= least, "{} took {found} of {kernels}", entry.name);
    }
}

#[test]
fn random_kernels_store_what_the_reference_says_under_every_mechanism() {
    let mut taken = Taken::new();
    for &shape in &KernelShape::ALL {
        for seed in 0..20 {
            under_every_mechanism(seed, shape, &mut taken);
        }
    }
    each_took_its_share(&taken, 20 * KernelShape::ALL.len() as u64);
}

/// The long campaign: `SIMTLAB_FUZZ_COUNT` kernels (100,000) from `SIMTLAB_FUZZ_SEED` (0) on,
/// printed as it goes.
///
/// `cargo test -p simtlab-vm --test vm -- --ignored --nocapture fuzz_campaign`
#[test]
#[ignore = "a campaign of an hour"]
#[allow(clippy::print_stdout, reason = "a campaign says how far it is")]
fn fuzz_campaign() {
    let number = |name: &str, default: u64| {
        std::env::var(name).map_or(default, |v| v.parse().expect("a whole number"))
    };
    let (count, first) = (number("SIMTLAB_FUZZ_COUNT", 100_000), number("SIMTLAB_FUZZ_SEED", 0));
    let mut taken = Taken::new();
    for seed in first..first + count {
        let shape = KernelShape::ALL[seed as usize % KernelShape::ALL.len()];
        under_every_mechanism(seed, shape, &mut taken);
        let done = seed + 1 - first;
        if done.is_multiple_of(10_000) || done == count {
            let runs: u64 = taken.values().sum();
            println!("{done} kernels, {runs} runs equal to the reference, slots add up in each");
        }
    }
    println!("kernels that each mechanism took: {taken:?}");
    each_took_its_share(&taken, count);
}

#[test]
fn random_kernels_in_cta_wide_groups() {
    let entry = Entry::find("ipdom").unwrap();
    for seed in 0..20 {
        let module = random_kernel(&mut Rng::new(seed), KernelShape::Graph);
        let policy = Policy::First;
        let shape = Shape { width: 256, grid: 2, block: 100, order: None, policy };
        let found = words::<16>(&module, entry, shape).unwrap_or_else(|e| panic!("{seed}: {e:?}"));
        assert_eq!(found, reference(&module, 2, 100), "{seed}\n{}", print(&module));
    }
}

/// Runs every kernel of a module for a while, with parameters that point anywhere.
fn exercise(rng: &mut Rng, module: &Module) -> (u32, u32) {
    let Ok(program) = Program::link(module.clone()) else { return (0, 0) };
    let mut ends = (0, 0);
    for (i, function) in module.functions.iter().enumerate().filter(|(_, f)| f.is_kernel()) {
        let entry = &CATALOGUE[rng.below(CATALOGUE.len())];
        let mut launch = Launch::<1>::new(FuncId(i as u32), catalogued(entry));
        launch.variables = load_variables(&program, &mut launch.memory).unwrap();
        let size = function.params().iter().map(|p| p.offset + p.size).max().unwrap_or(0);
        launch.params = (0..size).map(|_| rng.bits() as u8).collect();
        launch.block = [1 + rng.below(40) as u32, 1, 1];
        launch.width = 1 + rng.below(64) as u32;
        launch.limit = 2000;
        let Ok(mut state) = Engine::<1>.launch(&program, launch) else { continue };
        match Engine::<1>.run_unobserved(&program, &mut state, 4000) {
            Step::Fault(_) => ends.0 += 1,
            _ => ends.1 += 1,
        }
        assert!(state.stats().slots.identity_holds());
    }
    ends
}

#[test]
fn any_verified_module_runs_or_is_refused() {
    let (mut faults, mut others) = (0, 0);
    for seed in 0..500 {
        let mut rng = Rng::new(seed);
        let module = random_module(&mut rng);
        let ends = exercise(&mut rng, &module);
        faults += ends.0;
        others += ends.1;
    }
    assert!(faults > 20 && others > 20, "{faults} faults, {others} other ends");
}

#[test]
fn any_module_at_all_is_linked_or_refused() {
    for seed in 0..500 {
        let mut rng = Rng::new(seed);
        let mut module = random_module(&mut rng);
        mutate_module(&mut rng, &mut module);
        exercise(&mut rng, &module);
    }
}
