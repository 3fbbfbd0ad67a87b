//! Speed of the exact engine on three IR kernels: thread-instructions a second, one core.
//!
//! `cargo bench -p simtlab-vm --bench engine`. Each row is the median of nine runs; the last column
//! is the time of one issue.

use converge::catalogue::Entry;
use simt::machine::{Machine, Step};
use std::io::Write;
use std::time::Instant;
use vm::{Engine, Launch, Program, catalogued, load_variables};

/// Integer loop with divergent trip counts.
const COLLATZ: &str = "
kernel @k(out: u64 global) {
  reg %t, %n, %steps, %odd: b32
  reg %p: pred
  reg %at, %wide: b64
entry:
  %at = ld.param.u64 [@out]
  %t = sreg.u32 ctaid.x
  %n = sreg.u32 ntid.x
  %steps = sreg.u32 tid.x
  %t = mad.u32 %t, %n, %steps
  %n = add.u32 %t, 1
  %steps = mov.u32 0
head:
  %p = setp.eq.u32 %n, 1
  @%p br done
body:
  %odd = and.b32 %n, 1
  %p = setp.eq.u32 %odd, 0
  @%p br even
odd:
  %n = mad.u32 %n, 3, 1
  br next
even:
  %n = shr.u32 %n, 1
next:
  %steps = add.u32 %steps, 1
  br head
done:
  %wide = mulwide.u32 %t, 4
  %at = add.u64 %at, %wide
  st.global.u32 [%at], %steps
  ret
}
";

/// Floating-point loop without divergence.
const POLYNOMIAL: &str = "
kernel @k(out: u64 global) {
  reg %t, %n, %i: b32
  reg %x, %y: b32
  reg %p: pred
  reg %at, %wide: b64
entry:
  %at = ld.param.u64 [@out]
  %t = sreg.u32 ctaid.x
  %n = sreg.u32 ntid.x
  %i = sreg.u32 tid.x
  %t = mad.u32 %t, %n, %i
  %x = cvt.rn.f32.u32 %t
  %x = mul.rn.f32 %x, 0x38000000
  %y = mov.b32 0
  %i = mov.u32 0
head:
  %y = fma.rn.f32 %y, %x, 0x3f000000
  %y = mul.rn.f32 %y, %x
  %y = add.rn.f32 %y, 0x3e000000
  %y = sub.rn.f32 %y, %x
  %i = add.u32 %i, 1
  %p = setp.lt.u32 %i, 100
  @%p br head
done:
  %wide = mulwide.u32 %t, 4
  %at = add.u64 %at, %wide
  st.global.f32 [%at], %y
  ret
}
";

/// Loads and stores, adjacent lanes at adjacent addresses.
const COPY: &str = "
kernel @k(out: u64 global) {
  reg %t, %n, %i: b32
  reg %p: pred
  reg %at, %wide: b64
entry:
  %at = ld.param.u64 [@out]
  %t = sreg.u32 ctaid.x
  %n = sreg.u32 ntid.x
  %i = sreg.u32 tid.x
  %t = mad.u32 %t, %n, %i
  %wide = mulwide.u32 %t, 4
  %at = add.u64 %at, %wide
  %i = mov.u32 0
head:
  %n = ld.global.u32 [%at]
  %n = add.u32 %n, 1
  st.global.u32 [%at], %n
  %i = add.u32 %i, 1
  %p = setp.lt.u32 %i, 100
  @%p br head
done:
  ret
}
";

fn measure(name: &str, text: &str, out: &mut impl Write) -> std::io::Result<()> {
    let module = ir::text::parse(isa::FileId::default(), text).expect("the kernel parses");
    let program = Program::link(module).expect("the kernel links");
    let entry = Entry::find("ipdom").expect("a mechanism");
    let mut times = Vec::new();
    let (mut threads, mut issues) = (0, 0);
    for _ in 0..9 {
        let kernel = program.module().function("k").expect("a kernel k");
        let mut launch = Launch::<1>::new(kernel, catalogued(entry));
        let buffer = launch.memory.allocate("out", 4 << 14).expect("room");
        launch.variables = load_variables(&program, &mut launch.memory).expect("room");
        launch.params = buffer.0.to_le_bytes().to_vec();
        (launch.grid, launch.block) = ([64, 1, 1], [256, 1, 1]);
        let engine = Engine::<1>;
        let mut state = engine.launch(&program, launch).expect("it launches");
        let start = Instant::now();
        assert_eq!(engine.run_unobserved(&program, &mut state, u64::MAX), Step::Done);
        times.push(start.elapsed().as_secs_f64());
        let slots = &state.stats().slots;
        (threads, issues) = (slots.active(), slots.vector_issues);
    }
    times.sort_by(f64::total_cmp);
    let time = times[times.len() / 2];
    let (rate, each) = (threads as f64 / time / 1e6, time / issues as f64 * 1e9);
    writeln!(out, "{name:12} {rate:8.1} M thread-instructions/s   {each:6.1} ns an issue")
}

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout();
    measure("collatz", COLLATZ, &mut out)?;
    measure("polynomial", POLYNOMIAL, &mut out)?;
    measure("copy", COPY, &mut out)
}
