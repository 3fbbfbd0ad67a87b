//! The facts of `flow::analysis` hold of what the exact engine does: on random kernels, and of
//! single rules.

use converge::catalogue::Entry;
use converge::mechanism::{Knobs, Order};
use flow::analysis::{Access, Class, Facts, Options, Shape};
use ir::FuncId;
use ir::module::Module;
use ir::testing::{KERNEL_WORDS, KernelShape, Rng, random_kernel, random_module};
use ir::text::print;
use simt::machine::{Machine, Step};
use vm::{Engine, FactCheck, Launch, Program, catalogued, load_variables};

const ORDERS: [Option<Order>; 4] =
    [None, Some(Order::Fallthrough), Some(Order::Minority), Some(Order::Majority)];

/// Runs a launch with every fact checked; facts checked.
fn checked(
    program: &Program,
    launch: Launch<1>,
    options: Options<'_>,
    most: u64,
) -> Result<u64, String> {
    let shape = Shape { grid: launch.grid, block: launch.block, width: launch.width };
    let mut check = FactCheck::new(program, shape, options).map_err(|e| e.to_string())?;
    let Ok(mut state) = Engine::<1>.launch(program, launch) else { return Ok(0) };
    for _ in 0..most {
        match check.step(program, &mut state) {
            Ok(Step::Issued) => {}
            Ok(_) => break,
            Err(violation) => return Err(violation.to_string()),
        }
    }
    Ok(check.checked())
}

fn launch(module: &Module, kernel: FuncId, seed: u64) -> (Program, Launch<1>) {
    let program = Program::link(module.clone()).expect("it links");
    let entry = Entry::find("ipdom").expect("it is in the catalogue");
    let mut launch = Launch::new(kernel, catalogued(entry));
    launch.variables = load_variables(&program, &mut launch.memory).expect("room");
    launch.knobs = Knobs { order: ORDERS[seed as usize % 4], ..Knobs::default() };
    launch.width = [32, 8, 64, 32, 4][seed as usize % 5];
    let blocks =
        [[7, 1, 1], [32, 1, 1], [70, 1, 1], [64, 2, 1], [8, 4, 3], [1, 40, 1], [16, 16, 1]];
    launch.block = blocks[seed as usize % 7];
    (program, launch)
}

fn random(seeds: std::ops::Range<u64>) -> u64 {
    let mut facts = 0;
    for seed in seeds {
        for shape in KernelShape::ALL {
            let module = random_kernel(&mut Rng::new(seed), shape);
            let (program, mut launch) =
                launch(&module, FuncId(module.functions.len() as u32 - 1), seed);
            launch.grid = [2, 1, 1];
            let threads: u32 = launch.block.iter().product();
            let bytes = 4 * KERNEL_WORDS as u64 * u64::from(2 * threads);
            let out = launch.memory.allocate("out", bytes).expect("room");
            launch.params = out.0.to_le_bytes().to_vec();
            let options = Options { assume: seed % 3 != 0, ..Options::default() };
            let found = checked(&program, launch, options, 1 << 22);
            facts += found.unwrap_or_else(|e| panic!("{shape:?} {seed}: {e}\n{}", print(&module)));
        }
    }
    facts
}

fn random_any(seeds: std::ops::Range<u64>) -> u64 {
    let mut facts = 0;
    for seed in seeds {
        let mut rng = Rng::new(seed);
        let module = random_module(&mut rng);
        if Program::link(module.clone()).is_err() {
            continue;
        }
        for (i, function) in module.functions.iter().enumerate().filter(|(_, f)| f.is_kernel()) {
            let (program, mut launch) = launch(&module, FuncId(i as u32), seed);
            let size = function.params().iter().map(|p| p.offset + p.size).max().unwrap_or(0);
            launch.params = (0..size).map(|_| rng.bits() as u8).collect();
            launch.limit = 2000;
            let found = checked(&program, launch, Options::default(), 4000);
            facts += found.unwrap_or_else(|e| panic!("{seed}: {e}\n{}", print(&module)));
        }
    }
    facts
}

#[test]
fn facts_hold_in_random_kernels() {
    let facts = random(0..30);
    assert!(facts > 50_000, "{facts}");
}

#[test]
fn facts_hold_in_any_module() {
    let facts = random_any(0..450);
    assert!(facts > 5_000, "{facts}");
}

/// `FACTS=100000 cargo test -p simtlab-vm --release --test vm -- --ignored facts::`.
#[test]
#[ignore = "a campaign"]
fn facts_hold_in_many_kernels() {
    let count = std::env::var("FACTS").ok().and_then(|n| n.parse().ok()).unwrap_or(2000);
    assert!(random(1000..1000 + count) + random_any(1000..1000 + 4 * count) > 0);
}

/// The facts of a kernel that begins with a prologue of common registers.
fn facts(block: [u32; 3], assume: bool, body: &str) -> (Module, Facts) {
    let text = format!(
        "kernel @k(n: u32, p: u64 global) {{
           reg %n, %t, %c, %b, %g, %i, %j, %x, %y: b32
           reg %p, %a, %w, %v: b64
           reg %q, %r: pred
         entry:
           %n = ld.param.u32 [@n]
           %p = ld.param.u64 [@p]
           %t = sreg.u32 tid.x
           %c = sreg.u32 ctaid.x
           %b = sreg.u32 ntid.x
           %g = mad.u32 %c, %b, %t
         {body}
         }}"
    );
    let module = ir::text::parse(isa::FileId::default(), &text)
        .unwrap_or_else(|d| panic!("{:#?}", d.iter().collect::<Vec<_>>()));
    assert!(ir::verify(&module).is_ok(), "{:?}", ir::verify(&module));
    let shape = Shape { grid: [1 << 20, 1, 1], block, width: 32 };
    let facts =
        Facts::new(&module.functions[0], shape, Options { assume, ..Options::default() }).unwrap();
    (module, facts)
}

/// The class of the result of instruction `inst` of a block.
fn class(facts: &Facts, block: usize, inst: usize) -> Class {
    facts.value(facts.webs().result(block, inst, 0).expect("a result")).class
}

#[test]
fn an_address_of_the_global_index_is_contiguous() {
    let body = "
      %w = mulwide.u32 %g, 4
      %a = add.u64 %p, %w
      %x = ld.global.u32 [%a]
      st.global.u32 [%a], %x
      ret";
    let (module, facts) = facts([256, 1, 1], false, body);
    let function = &module.functions[0];
    assert_eq!(facts.access(function, 0, 8), Some(Access::Contiguous));
    assert_eq!(facts.access(function, 0, 9), Some(Access::Contiguous));
    assert!(!facts.has_assumptions());
}

#[test]
fn a_matrix_index_is_contiguous_if_it_does_not_wrap() {
    // Row times an argument plus column.
    let body = "
      %i = mul.u32 %c, %n
      %j = add.u32 %i, %t
      %w = mulwide.s32 %j, 4
      %a = add.u64 %p, %w
      %x = ld.global.u32 [%a]
      st.global.u32 [%p], %x
      ret";
    for (assume, expected) in [(true, Access::Contiguous), (false, Access::Any)] {
        let (module, facts) = facts([256, 1, 1], assume, body);
        assert_eq!(facts.access(&module.functions[0], 0, 10), Some(expected));
        assert_eq!(facts.assumed(0, 8), assume);
    }
}

#[test]
fn masks_and_shifts_of_an_aligned_index() {
    let body = "
      %i = and.b32 %g, 511
      %j = shr.u32 %g, 9
      %x = and.b32 %g, 3
      %y = shr.u32 %g, 2
      ret";
    let (_, facts) = facts([256, 1, 1], false, body);
    let found = [6, 7, 8, 9].map(|i| class(&facts, 0, i));
    assert_eq!(found, [Class::Affine(1), Class::Uniform, Class::Varying, Class::Varying]);
}

#[test]
fn a_counter_of_a_divergent_loop_varies_behind_it() {
    let body = "
      %i = mov.u32 0
      %j = mov.u32 0
    loop:
      %i = add.u32 %i, 1
      %j = add.u32 %j, 3
      %y = mul.u32 %j, 5
      %q = setp.lt.u32 %i, %t
      @%q br loop
    done:
      %x = add.u32 %i, 7
      ret";
    let (_, facts) = facts([256, 1, 1], true, body);
    assert!(facts.parts(1) && facts.partial(1) && !facts.partial(2));
    // Live behind the loop: varies, and lanes that have left keep theirs. `j` is read in the loop
    // alone.
    assert_eq!(class(&facts, 1, 0), Class::Varying);
    assert!(facts.blends(1, 0, 0) && !facts.blends(1, 1, 0));
    assert_eq!((class(&facts, 1, 1), class(&facts, 1, 2)), (Class::Uniform, Class::Uniform));
    assert_eq!(class(&facts, 2, 0), Class::Varying);
}

#[test]
fn a_uniform_loop_keeps_its_counter() {
    let body = "
      %i = mov.u32 0
    loop:
      %i = add.u32 %i, 1
      %q = setp.lt.u32 %i, %n
      @%q br loop
    done:
      %x = add.u32 %i, 7
      ret";
    let (_, facts) = facts([256, 1, 1], true, body);
    assert!(!facts.parts(1) && !facts.partial(1));
    assert_eq!(class(&facts, 2, 0), Class::Uniform);
}

#[test]
fn registers_used_again_are_other_webs() {
    let body = "
      %x = mov.u32 1
      %i = add.u32 %x, 1
      %x = ld.global.u32 [%p]
      %x = mul.u32 %t, %x
      %j = add.u32 %x, 1
      ret";
    let (_, facts) = facts([256, 1, 1], true, body);
    let found = [6, 7, 8, 9, 10].map(|i| class(&facts, 0, i));
    let (u, v) = (Class::Uniform, Class::Varying);
    assert_eq!(found, [u, u, u, v, v]);
    let webs = facts.webs();
    assert_ne!(webs.result(0, 6, 0), webs.result(0, 8, 0));
}

#[test]
fn a_write_on_one_side_that_the_other_reads_blends() {
    let body = "
      %x = mov.u32 1
      %y = mov.u32 2
      %q = setp.lt.u32 %t, %n
      @%q br then
    other:
      %i = add.u32 %x, 1
      %y = mov.u32 3
      br end
    then:
      %x = mov.u32 5
      %j = add.u32 %x, 1
    end:
      st.global.u32 [%p], %y
      ret";
    let (_, facts) = facts([256, 1, 1], true, body);
    // `x` of `then` is a web of its own; `y` is read where all meet.
    assert!(!facts.blends(2, 0, 0));
    assert!(facts.blends(1, 1, 0));
    assert_eq!((class(&facts, 2, 1), class(&facts, 1, 0)), (Class::Uniform, Class::Uniform));
    assert_eq!(class(&facts, 1, 1), Class::Varying);
}
