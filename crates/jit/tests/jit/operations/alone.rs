//! Each operation on values of several kinds alone: it must have code, and give the exact engine's
//! results.

use super::table::{MIXED, SPECIAL, SPECIAL64};
use crate::harness::common::launches::number;
use crate::harness::{Count, RunConfig, compare_in, levels, supported};
use converge::catalogue::Entry;
use fast::code::Kind;
use ir::testing::Rng;
use jit::Compiled;
use simt::machine::Machine;
use vm::{Engine, Launch, Program, catalogued, load_variables};

/// Returns a kernel of one of these operations.
fn kernel_of(results: &str, op: &str, operands: &str) -> String {
    let register = |kind: char, i: usize| match kind {
        'b' => "0x2d".to_owned(),
        kind => format!("%{kind}{i}"),
    };
    let list = |kinds: &str| {
        let all: Vec<String> = kinds.chars().enumerate().map(|(i, k)| register(k, i)).collect();
        all.join(", ")
    };
    format!(
        "kernel @k(n: u32, a: u64 global, b: u64 global) {{
  reg %r0, %r1, %r2, %r3, %t: b32
  reg %h0, %h1, %h2, %h3: b16
  reg %w0, %w1, %w2, %w3, %a: b64
  reg %p0, %p1, %p2, %p3, %p4: pred
entry:
  %a = ld.param.u64 [@a]
  %t = sreg.u32 tid.x
  %w0 = mulwide.u32 %t, 32
  %a = add.u64 %a, %w0
  %r0, %r1, %r2, %r3 = ld.global.u32 [%a]
  %w0, %w1 = ld.global.u64 [%a]
  %w2, %w3 = ld.global.u64 [%a + 16]
  %h0, %h1 = unpack.b32.b16 %r0
  %h2, %h3 = unpack.b32.b16 %r1
  %p2 = setp.lt.u32 %r0, %r1
  %p3 = setp.lt.u32 %r2, %r1
  %p4 = setp.lt.u32 %r2, %r3
  {} = {op} {}
  st.global.u32 [%a], %r0, %r1
  st.global.u64 [%a + 8], %w0
  %r0 = pack.b32.b16 %h0, %h1
  %r1 = pack.b32.b16 %h2, %h3
  st.global.u32 [%a + 16], %r0, %r1
  %t = selp.u32 3, 4, %p0
  @%p1 %t = xor.b32 %t, 16
  st.global.u32 [%a + 24], %t
  ret
}}
",
        list(results),
        list(operands)
    )
}

/// Returns a launch of such a kernel on special and random values.
fn on_special_values(program: &Program, rng: &mut Rng) -> Launch<1> {
    let entry = Entry::find("ipdom").expect("it is in the catalogue");
    let mut launch = Launch::<1>::new(ir::FuncId(0), catalogued(entry));
    launch.variables = load_variables(program, &mut launch.memory).expect("room");
    (launch.grid, launch.block) = ([4, 1, 1], [64, 1, 1]);
    let word = |rng: &mut Rng| match rng.below(5) {
        0 => SPECIAL64[rng.below(SPECIAL64.len())],
        1 => rng.value(),
        2 => u64::from(SPECIAL[rng.below(SPECIAL.len())]) << 32 | rng.below(70) as u64,
        _ => {
            let [a, b] = std::array::from_fn(|_| u64::from(SPECIAL[rng.below(SPECIAL.len())]));
            // Sometimes half a word of another value.
            if rng.one_in(2) { a << 32 | b } else { (a << 48 | b) ^ (b << 13 & 0xffff_0000) }
        }
    };
    let content: Vec<u8> = (0..4 * 64 * 4).flat_map(|_| word(rng).to_le_bytes()).collect();
    let buffer = launch.memory.allocate("a", content.len() as u64).expect("room");
    launch.memory.host_write(buffer, &content).expect("it is there");
    launch.params = [0, buffer.0, buffer.0].iter().flat_map(|p| p.to_le_bytes()).collect();
    launch
}

/// Returns an error if an operation is unknown, has no code, or differs from the exact engine.
fn wrong_of((results, op, operands): (&str, &str, &str), launches: u64) -> Result<(), String> {
    let text = kernel_of(results, op, operands);
    let module = ir::text::parse(isa::FileId::default(), &text)
        .map_err(|d| format!("{:?}", d.iter().map(|d| &d.message).collect::<Vec<_>>()))?;
    let program = Program::link(module).map_err(|what| format!("{what:?}"))?;
    let mut rng = Rng::new(launches);
    let launch = on_special_values(&program, &mut rng);
    let state = Engine::<1>.launch(&program, launch).map_err(|what| format!("{what:?}"))?;
    for level in supported() {
        let kernel = fast::prepare(&program, &state, true).map_err(|w| format!("{w:?}"))?;
        let compiled = Compiled::at(kernel, level, false);
        let compiled = compiled.map_err(|(_, refused)| format!("{level}: {refused}"))?;
        if compiled.interpreted_steps().any(|(_, s)| matches!(s.kind, Kind::Generic(_))) {
            return Err(format!("no code with {level}"));
        }
    }
    let mut count = Count::default();
    for _ in 0..launches {
        let launch = on_special_values(&program, &mut rng);
        let configs = levels().map(|level| RunConfig {
            compiled: true,
            level,
            assume: true,
            detailed: false,
            threads: 1,
        });
        compare_in(configs, &program, &launch, &mut count)?;
    }
    if count.compared == 0 && count.steps > 0 {
        return Err(format!("{count:?}"));
    }
    Ok(())
}

/// `LAUNCHES=1000 cargo test -p simtlab-jit --release --test jit operations::alone`.
#[test]
fn operations_on_values_of_several_kinds_have_code_and_are_exact() {
    let launches = number("LAUNCHES", 2);
    let wrong = |&m| wrong_of(m, launches).err().map(|what| format!("{m:?}: {what}"));
    let wrong: Vec<String> = MIXED.iter().filter_map(wrong).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}
