//! The analysis of values on large functions: near-linear, whatever their shape.

use flow::analysis::{Facts, Options, Shape};
use std::fmt::Write;
use std::time::{Duration, Instant};

const SHAPE: Shape = Shape { grid: [64, 1, 1], block: [256, 1, 1], width: 32 };

fn facts(body: &str, extra: &str) -> (Facts, Duration) {
    let text = format!(
        "kernel @k(p: u64 global) {{
           reg %t, %x, %y: b32
           reg %q: pred
           {extra}
         entry:
           %t = sreg.u32 tid.x
         {body}
           ret
         }}"
    );
    let module = ir::text::parse(isa::FileId::default(), &text).expect("it parses");
    assert!(ir::verify(&module).is_ok());
    let start = Instant::now();
    let facts = Facts::new(&module.functions[0], SHAPE, Options::default()).unwrap();
    (facts, start.elapsed())
}

/// Far more than it takes in an unoptimised build on a busy machine, far less than a quadratic
/// algorithm would.
const LIMIT: Duration = Duration::from_secs(20);

#[test]
fn many_divergent_branches() {
    let mut body = String::new();
    for i in 0..6000 {
        let _ = write!(
            body,
            "  %q = setp.gt.u32 %t, {i}\n  @%q br j{i}\n t{i}:\n  %x = add.u32 %x, %t\n  %y = add.u32 %y, 1\n j{i}:\n"
        );
    }
    let (facts, time) = facts(&body, "");
    assert!(time < LIMIT, "{time:?}");
    assert!(facts.partial(1) && !facts.partial(2) && facts.blends(1, 1, 0));
}

#[test]
fn early_exits_from_everywhere() {
    let mut body = String::new();
    for i in 0..3000 {
        let _ = write!(
            body,
            "  %q = setp.gt.u32 %t, {i}\n  @%q br j{i}\n t{i}:\n  %x = add.u32 %x, 7\n  ret\n j{i}:\n  %x = add.u32 %x, 1\n"
        );
    }
    let (_, time) = facts(&body, "");
    assert!(time < LIMIT, "{time:?}");
}

#[test]
fn deep_nests_of_divergent_branches() {
    let depth = 3000;
    let mut body = String::new();
    for i in 0..depth {
        let _ = write!(
            body,
            "  %q = setp.gt.u32 %t, {i}\n  @%q br j{i}\n t{i}:\n  %x = add.u32 %x, 1\n"
        );
    }
    for i in (0..depth).rev() {
        let _ = write!(body, "  %y = add.u32 %y, %x\n j{i}:\n");
    }
    let (facts, time) = facts(&body, "");
    assert!(time < LIMIT, "{time:?}");
    assert!(facts.partial(1) && facts.blends(1, 0, 0));
}

#[test]
fn one_block_of_ten_thousand_and_five_hundred_live_values() {
    let mut regs = String::new();
    let mut body = String::new();
    for i in 0..500 {
        let _ = writeln!(regs, "  reg %r{i}: b32");
        let _ = writeln!(body, "  %r{i} = add.u32 %t, {i}");
    }
    for i in 0..10_000 {
        let _ =
            writeln!(body, "  %r{} = add.u32 %r{}, %r{}", i % 500, (i + 7) % 500, (i + 101) % 500);
    }
    // All of them live around a loop.
    body.push_str(" loop:\n");
    for i in 0..500 {
        let _ = writeln!(body, "  %r{i} = add.u32 %r{i}, %r{}", (i + 1) % 500);
    }
    body.push_str("  %q = setp.gt.u32 %r0, %r499\n  @%q br loop\n done:\n");
    let (facts, time) = facts(&body, &regs);
    assert!(time < LIMIT, "{time:?}");
    assert!(facts.webs().len() > 10_000);
}
