//! Code for hosts that lack the instructions which only some hosts of a level have, against the
//! exact engine.

use crate::harness::beyond;
use crate::harness::common::launches::with_buffers;
use crate::harness::common::observed::{Exact, bytes};
use fast::Level;
use ir::testing::Rng;
use jit::Compiled;
use simt::machine::Machine;
use vm::{Engine, Launch, Program};

/// Counts of the bits of 32-bit and 64-bit words, in some lanes and in all.
const POPULATIONS: &str = "kernel @k(n: u32, a: u64 global, b: u64 global) {
  reg %t, %v, %c: b32
  reg %a, %b, %at, %w: b64
  reg %p: pred
entry:
  %a = ld.param.u64 [@a]
  %b = ld.param.u64 [@b]
  %t = sreg.u32 tid.x
  %at = mulwide.u32 %t, 8
  %at = add.u64 %at, %b
  %w = ld.global.u64 [%at]
  %v = ld.global.u32 [%at + 4]
  %p = setp.lt.u32 %v, 0x70000000
  %c = popc.b64 %w
  %v = popc.b32 %v
  @%p %v = popc.b32 %t
  %at = mulwide.u32 %t, 8
  %at = add.u64 %at, %a
  st.global.u32 [%at], %c
  st.global.u32 [%at + 4], %v
  ret
}
";

/// Compares a launch with the exact engine; returns whether this host has the level.
fn compare(program: &Program, launch: &Launch<1>, level: Level) -> Result<bool, String> {
    let state = Engine::<1>.launch(program, launch.clone()).map_err(|e| e.to_string())?;
    let kernel = fast::prepare(program, &state, true).map_err(|e| e.to_string())?;
    let compiled = match Compiled::at_baseline(kernel, level, false) {
        Ok(compiled) => compiled,
        Err((_, jit::Refused::Host)) => return Ok(false),
        Err((_, refused)) => return Err(refused.to_string()),
    };
    if let Some(beyond) = beyond(level, false, compiled.code()) {
        return Err(format!("code for {level}: {beyond}"));
    }
    let finished = compiled.run(state, &mut |_, _| true).map_err(|e| e.to_string())?;
    let exact = Exact::new(program, launch);
    let same = bytes(&finished.memory) == exact.memory && finished.stats == exact.stats;
    if same { Ok(true) } else { Err("memory or statistics differ".to_owned()) }
}

#[test]
fn population_counts_need_no_instruction_of_their_own() {
    for level in [Level::Avx2, Level::Avx512] {
        for seed in 0..20 {
            let mut rng = Rng::new(seed);
            with_buffers(POPULATIONS, &mut rng, seed, &mut |program, launch| {
                compare(program, launch, level).map(|has| assert!(has || !level.is_available()))
            });
        }
    }
}
