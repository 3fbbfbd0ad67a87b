//! Approximate functions by way of the vector IR, whose sums and products are fused: bits are those
//! of the published sequences for all operands.

use crate::harness::common::launches;
use crate::harness::common::observed::{HashingObserver, bytes};
use fast::Level;
use ir::FuncId;
use jit::Compiled;
use simt::arith::{F32, FpEnv, approx};
use simt::machine::Machine;
use vm::Engine;

type Function = fn(u64, FpEnv) -> u64;

const FUNCTIONS: [(&str, Function); 6] = [
    ("ex2", approx::ex2::<F32>),
    ("lg2", approx::lg2::<F32>),
    ("tanh", approx::tanh::<F32>),
    ("sin", approx::sin::<F32>),
    ("cos", approx::cos::<F32>),
    ("rsqrt", approx::rsqrt::<F32>),
];

/// Compares a function for so many operands from a first one on.
fn compare(name: &str, function: Function, first: u32, operands: u32) {
    let text = format!(
        "kernel @k(a: u64 global, first: u32) {{
  reg %t, %c, %x, %r: b32
  reg %a, %e: b64
entry:
  %a = ld.param.u64 [@a]
  %x = ld.param.u32 [@first]
  %t = sreg.u32 tid.x
  %c = sreg.u32 ctaid.x
  %t = mad.u32 %c, 256, %t
  %x = add.u32 %x, %t
  %r = {name}.approx.f32 %x
  %e = mulwide.u32 %t, 4
  %e = add.u64 %e, %a
  st.global.u32 [%e], %r
  ret
}}
"
    );
    let module = launches::parsed(&text);
    let (program, mut launch) = launches::launch(&module, FuncId(0), 0);
    (launch.grid, launch.block) = ([operands / 256, 1, 1], [256, 1, 1]);
    let buffer = launch.memory.allocate("buffer", 4 * u64::from(operands)).expect("room");
    launch.params = buffer.0.to_le_bytes().into_iter().chain(first.to_le_bytes()).collect();
    let state = Engine::<1>.launch(&program, launch).expect("it can be launched");
    let kernel = fast::prepare(&program, &state, true).expect("the fast engine has it");
    let Ok(compiled) = Compiled::at(kernel, Level::best(), false) else {
        return;
    };
    let finished = compiled.run(state, &mut HashingObserver::default());
    let finished = finished.unwrap_or_else(|what| panic!("{what:?}"));
    let memory = bytes(&finished.memory);
    let found = memory.iter().find(|region| region.len() == 4 * operands as usize);
    let words = found.expect("the buffer").chunks_exact(4);
    for (operand, word) in (first..=u32::MAX).zip(words) {
        let word = u32::from_le_bytes(word.try_into().expect("four bytes"));
        let expected = function(operand.into(), FpEnv::PTX) as u32;
        assert_eq!(word, expected, "{name} of {operand:#x}: {word:#x}, not {expected:#x}");
    }
}

#[test]
fn some_approximations_are_the_published_ones() {
    for (name, function) in FUNCTIONS {
        for part in 0..64 {
            compare(name, function, part << 26 | part << 13, 1 << 12);
        }
    }
}

/// `FUNCTION=NAME` for one of them alone.
#[test]
#[ignore = "all operands"]
fn every_binary32_approximation_is_the_published_one() {
    let wanted = std::env::var("FUNCTION").ok();
    for (name, function) in FUNCTIONS {
        if wanted.as_deref().is_none_or(|wanted| wanted == name) {
            (0..1 << 11).for_each(|part: u32| compare(name, function, part << 21, 1 << 21));
        }
    }
}
