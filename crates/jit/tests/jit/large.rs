//! Kernels at the limits: many steps, one long block, hundreds of live values, hundreds of
//! branches.

use crate::harness::{Count, with_buffers};
use ir::testing::Rng;
use std::fmt::Write;

/// Returns a kernel of `count` operations on `regs` registers, with a branch after every `every`.
fn kernel(rng: &mut Rng, count: usize, regs: usize, every: usize) -> String {
    let mut text = "kernel @k(n: u32, a: u64 global, b: u64 global) {\n".to_owned();
    for r in 0..regs {
        let _ = writeln!(text, "  reg %r{r}: b32");
    }
    text.push_str(
        "  reg %t, %g: b32
  reg %p: pred
  reg %a, %b, %wide: b64
entry:
  %a = ld.param.u64 [@a]
  %b = ld.param.u64 [@b]
  %t = sreg.u32 tid.x
  %g = sreg.u32 ctaid.x
  %g = mad.u32 %g, 64, %t
  %g = and.b32 %g, 1023
  %wide = mulwide.u32 %g, 4
  %a = add.u64 %a, %wide
  %b = add.u64 %b, %wide
  %p = setp.gt.u32 %t, 3
",
    );
    for r in 0..regs {
        let _ = writeln!(text, "  %r{r} = ld.global.u32 [%a + {}]", 4 * (r % 64));
    }
    for i in 0..count {
        let [d, a, b, c] = std::array::from_fn(|_| rng.below(regs));
        let op = ["add.u32", "xor.b32", "mul.rn.f32", "min.s32", "sub.u32"][rng.below(5)];
        let _ = match rng.below(6) {
            0 => writeln!(text, "  %r{d} = fma.rn.f32 %r{a}, %r{b}, %r{c}"),
            1 => writeln!(text, "  @%p %r{d} = {op} %r{a}, %r{b}"),
            _ => writeln!(text, "  %r{d} = {op} %r{a}, %r{b}"),
        };
        if i % every == every - 1 {
            let _ = writeln!(text, "  %p = setp.lt.s32 %r{a}, %r{b}\n  @%p br j{i}\nf{i}:");
            let _ = writeln!(text, "  %r{c} = add.u32 %r{c}, 1\nj{i}:");
        }
    }
    for r in 0..regs {
        let _ = writeln!(text, "  %g = mad.u32 %g, 5, %r{r}");
    }
    text.push_str("  st.global.u32 [%b], %g\n  ret\n}\n");
    text
}

fn run(count: usize, regs: usize, every: usize) {
    let mut compared = Count::default();
    let mut rng = Rng::new(count as u64);
    let text = kernel(&mut rng, count, regs, every);
    // A block of 32 threads, and one CTA.
    with_buffers(&text, &mut rng, 1, &mut compared);
    assert!(compared.compared > 0 || compared.steps == 0, "{compared:?}");
}

#[test]
fn a_block_of_ten_thousand_steps_runs() {
    run(10_000, 60, usize::MAX);
}

#[test]
fn five_hundred_live_values_fit() {
    run(3_000, 500, 100);
}

#[test]
fn thirty_thousand_instructions_compile() {
    run(29_000, 40, 50);
}
