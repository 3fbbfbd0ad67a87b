//! Random kernels of any shape: what a block does, and how blocks lead to each other.

use proptest::prelude::*;
use std::fmt::Write;

/// Declarations and first block of a random kernel.
pub(crate) const HEAD: &str = "
  reg %tid, %h, %n, %x: b32
  reg %p, %q: pred
  reg %at, %wide: b64
start:
  %at = ld.param.u64 [@out]
  %tid = sreg.u32 tid.x
  %wide = mulwide.u32 %tid, 4
  %at = add.u64 %at, %wide
  %h = mul.u32 %tid, 0x9e3779b1
  %n = mov.u32 0
";

/// A block's work: mixes the state, counts, stores; then `%p` is one bit in four of it, or true
/// after 60 blocks.
pub(crate) fn work(out: &mut String, index: usize) {
    let _ = write!(
        out,
        "  %h = mad.u32 %h, 1664525, {}
  %n = add.u32 %n, 1
  st.global.u32 [%at], %h
  %x = shr.b32 %h, 13
  %x = and.b32 %x, 3
  %q = setp.gt.u32 %n, 60
  %p = setp.eq.or.u32 %x, {}, %q
",
        1_013_904_223 + index * 12_345,
        index % 4
    );
}

/// The end of a block of a random graph.
#[derive(Clone, Debug)]
pub(crate) enum End {
    Fall,
    Br(usize),
    If(bool, usize),
    Switch(Vec<usize>),
    Ret,
    RetIf(bool),
    ExitIf(bool),
}

/// The ends of the blocks of a random graph.
pub(crate) fn ends() -> impl Strategy<Value = Vec<End>> {
    let end = |n: usize| {
        prop_oneof![
            3 => Just(End::Fall),
            2 => (0..n).prop_map(End::Br),
            6 => (any::<bool>(), 0..n).prop_map(|(negated, to)| End::If(negated, to)),
            2 => prop::collection::vec(0..n, 4).prop_map(End::Switch),
            1 => Just(End::Ret),
            1 => any::<bool>().prop_map(End::RetIf),
            1 => any::<bool>().prop_map(End::ExitIf),
        ]
    };
    (1usize..10).prop_flat_map(move |n| prop::collection::vec(end(n), n))
}

/// A kernel `k` of any shape, or a function of any shape that it calls. Each block ends lanes that
/// have run for long, so that every loop ends.
pub(crate) fn graph(ends: &[End], device: bool) -> String {
    let mut body = String::new();
    for (i, end) in ends.iter().enumerate() {
        let _ = writeln!(body, "b{i}:");
        work(&mut body, i);
        let stop = if device { "ret" } else { "exit" };
        let _ = writeln!(body, "  @%q {stop}\nb{i}.end:\n  @%p st.global.u32 [%at], %n");
        let not = |negated: &bool| if *negated { "!" } else { "" };
        let _ = match end {
            End::Fall => writeln!(body, "  nop"),
            End::Br(to) => writeln!(body, "  br b{to}"),
            End::If(negated, to) => writeln!(body, "  @{}%p br b{to}", not(negated)),
            End::Switch(to) => {
                let names: Vec<String> = to.iter().map(|t| format!("b{t}")).collect();
                writeln!(body, "  switch %x, [{}]", names.join(", "))
            }
            End::Ret => writeln!(body, "  ret"),
            End::RetIf(negated) => writeln!(body, "  @{}%p ret", not(negated)),
            End::ExitIf(negated) => writeln!(body, "  @{}%p exit", not(negated)),
        };
    }
    if !device {
        return format!("kernel @k(out: u64 global) {{{HEAD}\n  br b0\n{body}last:\n  ret\n}}\n");
    }
    let head =
        HEAD.replace("  %at = ld.param.u64 [@out]\n", "").replace("reg %at, %wide", "reg %wide");
    format!("{CALLER}func @f(%at: b64) -> (%h) {{{head}\n  br b0\n{body}last:\n  ret\n}}\n")
}

const CALLER: &str = "kernel @k(out: u64 global) {
  reg %a: b64
  reg %t, %r: b32
  reg %p: pred
entry:
  %a = ld.param.u64 [@out]
  %t = sreg.u32 tid.x
  %p = setp.lt.u32 %t, 5
  @%p br few
all:
  %t = call @f(%a)
few:
  %r = call @f(%a)
  %t = add.u32 %t, %r
  %a = ld.param.u64 [@out]
  %r = sreg.u32 tid.x
  %r = shl.b32 %r, 2
  %a = madwide.u32 %r, 1, %a
  st.global.u32 [%a], %t
  ret
}
";
