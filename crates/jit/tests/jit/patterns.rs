//! Patterns of instructions that stand for an operation or two of the vector IR: each in a kernel
//! without anything else, on random and special values, in whole warps and in parts of them.

use crate::harness::common::launches;
use crate::harness::{Count, compare};
use fast::Level;
use ir::FuncId;
use ir::testing::Rng;
use jit::Compiled;
use simt::machine::Machine;
use vm::{Engine, Launch, Program};

/// What a kernel computes: `%x`, `%y` are words of the lane, `%v`, `%w` its 64-bit words, `%c` a
/// predicate of the lane, `%u` a word of all lanes. Results are in `%r` and `%d`.
const BODIES: &[&str] = &[
    // Selections of zero, of constants and of equal values.
    "%d = selp.b64 %v, 0, %c\n  %r = selp.b32 %x, 0, %c",
    "%d = selp.b64 0, %v, %c\n  %r = selp.b32 0, %x, %c",
    "%d = selp.b64 %w, 5, %c\n  %r = selp.b32 7, %y, %c",
    // Bits of conjunctions.
    "%z = and.b32 %x, 8\n  %p = setp.eq.u32 %z, 8\n  %r = selp.b32 %y, 1, %p",
    "%z = and.b32 %x, 8\n  %p = setp.ne.u32 %z, 8\n  %r = selp.b32 %y, 1, %p",
    "%z = and.b32 %x, %y\n  %p = setp.eq.s32 %z, 0\n  %r = selp.b32 2, 1, %p",
    "%e = and.b64 %v, 1\n  %p = setp.eq.u64 %e, 1\n  %d = selp.b64 %w, 1, %p",
    "%e = and.b64 %v, %w\n  %p = setp.ne.u64 %e, 0\n  %d = selp.b64 %v, 3, %p",
    "%z = and.b32 %x, 12\n  %p = setp.eq.u32 %z, 12\n  %r = selp.b32 %z, 1, %p",
    // Products by constants.
    "%r = mul.u32 %x, 16\n  %d = mul.u64 %v, 1024",
    "%r = mul.u32 %x, 3\n  %d = mul.u64 %v, 9",
    "%r = mul.u32 %x, 7\n  %d = mul.u64 %v, 31",
    "%r = mul.u32 %x, 0\n  %d = mul.u64 %v, 0",
    "%r = mul.u32 %x, 11\n  %d = mul.u64 %v, 1000003",
    "%r = mul.u32 %x, %y\n  %d = mul.u64 %v, %w",
    "%r = mulhi.u32 %x, %y\n  %d = mulwide.u32 %x, %y",
    "%r = mulhi.s32 %x, %y\n  %d = mulwide.s32 %x, %y",
    "%d = madwide.s32 %x, %y, %v\n  %r = mad.u32 %x, %y, %u",
    // Shifts by constants and by amounts beyond the width.
    "%r = shl.b32 %x, 31\n  %d = shl.b64 %v, 63",
    "%r = shr.s32 %x, 40\n  %d = shr.s64 %v, 70",
    "%r = shr.u32 %x, 32\n  %d = shr.u64 %v, 64",
    "%z = and.b32 %y, 63\n  %r = shl.b32 %x, %z\n  %d = shr.s64 %v, %z",
    // Scalars in lanes, and operations on scalars.
    "%r = add.u32 %x, %u\n  %s = mul.u32 %u, %u\n  %s = shr.u32 %s, 3\n  %r = xor.b32 %r, %s",
    "%s = shl.b32 %u, 5\n  %s = min.s32 %s, %u\n  %s = abs.s32 %s\n  %r = add.u32 %s, %t",
    "%s = and.b32 %u, 63\n  %z = shl.b32 %u, %s\n  %r = add.u32 %x, %z\n  %z = shr.u32 %u, %s\n  \
     %r = xor.b32 %r, %z\n  %z = shr.s32 %u, %s\n  %r = add.u32 %r, %z",
    "%f = cvt.u64.u32 %u\n  %f = shl.b64 %f, 33\n  %d = add.u64 %v, %f",
    "%p = setp.lt.u32 %u, 1000\n  %r = selp.b32 %x, %y, %p\n  %d = selp.b64 %v, %w, %p",
    // Steps under a guard that is the same in all lanes, and under one that is not.
    "%p = setp.eq.u32 %u, 12345\n  @%p %r = add.u32 %x, 1\n  @!%p %d = add.u64 %v, 1",
    "@%c %r = add.u32 %x, 1\n  @!%c %d = add.u64 %v, 1",
    // Signed distances from an address.
    "%z = and.b32 %x, 63\n  %z = sub.u32 %z, 64\n  %e = cvt.s64.s32 %z\n  %e = add.u64 %e, %a\n  \
     %r = ld.global.u8 [%e + 128]",
    // Parameters of fewer bits than their registers.
    "%s = ld.param.s8 [@u + 1]\n  %r = add.u32 %x, %s",
    "%s = ld.param.s16 [@u + 2]\n  %r = add.u32 %x, %s",
    // Operations under a mask.
    "%r = mov.b32 %y\n  @%c %r = add.u32 %x, 1\n  @!%c %r = xor.b32 %r, %x\n  %d = mov.b64 %w\n  \
     @%c %d = shl.b64 %v, 3",
    // Widened and narrowed lanes.
    "%d = cvt.s64.s32 %x\n  %r = cvt.u32.u64 %w",
    "%d = cvt.u64.u32 %x\n  %d = add.u64 %d, %w\n  %r = cvt.u32.u64 %d",
    // Masks.
    "%p = setp.lt.s32 %x, %y\n  %q = setp.gt.u64 %v, %w\n  %p = xor.pred %p, %q\n  %p = andn.pred %p, %c\n  \
     %r = selp.b32 %x, %y, %p",
    "%p = not.pred %c\n  %q = or.pred %p, %c\n  %r = selp.b32 %x, %y, %q\n  %d = selp.b64 %v, %w, %p",
    // Masks that are complements, signs or single bits, in lanes of both widths.
    "%p = setp.lt.s32 %x, 0\n  %r = selp.b32 %y, 0, %p\n  %d = selp.b64 %v, 0, %p",
    "%p = setp.ge.s64 %v, 0\n  %d = selp.b64 0, %w, %p\n  %r = selp.b32 0, %y, %p",
    "%e = and.b64 %v, 2\n  %p = setp.eq.u64 %e, 2\n  %r = selp.b32 %y, 0, %p\n  %d = selp.b64 %w, 0, %p",
    "%p = setp.ne.u32 %x, %y\n  %q = setp.ge.s32 %x, %u\n  %p = and.pred %p, %q\n  %r = selp.b32 %x, %y, %p",
    "%p = setp.lt.s32 %x, %y\n  %q = setp.ne.u32 %x, %u\n  %p = or.pred %p, %q\n  %r = selp.b32 %x, %y, %p",
    "%p = setp.ne.u32 %x, %u\n  %q = setp.lt.s32 %x, %y\n  %p = andn.pred %p, %q\n  %d = selp.b64 %v, %w, %p",
    "%p = setp.le.u32 %x, %y\n  %q = setp.gt.u32 %x, %u\n  %p = xor.pred %p, %q\n  %r = selp.b32 %x, %y, %p",
    "%p = setp.gt.u64 %v, 9223372036854775807\n  %q = setp.le.u64 %v, %w\n  %r = selp.b32 %x, %y, %p\n  \
     %d = selp.b64 %v, %w, %q",
    "%p = setp.lt.u32 %x, %u\n  @%p st.global.u32 [%b + 1280], 3\n  %q = setp.ge.s64 %v, %w\n  \
     @%q st.global.u32 [%b + 1284], 4",
    // The extremes, counts of bits, and floats of integers.
    "%d = max.u64 %v, %w\n  %r = min.u32 %x, %y",
    "%d = min.s64 %v, %w\n  %r = max.s32 %x, %y",
    "%d = max.s64 %v, %w\n  %r = clz.b32 %x",
    "%d = min.u64 %v, %w\n  %r = popc.b32 %x",
    "%r = cvt.rn.f32.u32 %x",
    "%r = cvt.rn.f32.s32 %x",
    // Floats.
    "%r = fma.rn.f32 %x, %y, %u\n  %d = fma.rn.f64 %v, %w, %v",
    "%z = xor.b32 %x, %u\n  %z = fma.rn.f32 %x, %y, %z\n  %r = xor.b32 %z, %x",
];

/// Collectives of whole warps and of lanes that are active together.
const COLLECTIVES: [&str; 17] = [
    "%r = shfl.idx.b32 %x, %y, 31, 0xffffffff",
    "%r, %p = shfl.up.b32 %x, %y, 0, 0xffffffff\n  @%p %d = add.u64 %v, 1",
    "%r, %p = shfl.down.b32 %x, 5, 0x1807, 0xffffffff\n  @!%p %d = add.u64 %v, 1",
    "%r, %p = shfl.bfly.b32 %x, %y, %x, 0xffffffff\n  @%p %d = add.u64 %v, 1",
    "%r = shfl.idx.b32 %x, %y, %u, 0xffffffff",
    "%r = ballot %c, 0xffffffff\n  %p = vote.any %c, 0xffffffff\n  %q = vote.all %c, 0xffffffff\n  \
     %d = selp.b64 %v, %w, %p\n  @%q %d = add.u64 %d, 1\n  %p = vote.uni %c, 0xffffffff\n  @%p %r = add.u32 %r, 1",
    "%c = setp.ge.u32 %x, 0\n  %p = vote.uni %c, 0xffffffff\n  @%p %r = add.u32 %x, 1",
    "%z = and.b32 %x, 3\n  %r = match.b32 %z, 0xffffffff",
    "%z = and.b32 %x, 0\n  %r, %p = match.all_equal.b32 %z, 0xffffffff\n  @%p %d = add.u64 %v, 1",
    "%r, %p = match.all_equal.b32 %x, 0xffffffff\n  @%p %d = add.u64 %v, 1",
    "%e = and.b64 %v, 0x300000001\n  %r = match.b64 %e, 0xffffffff",
    "%r = redux.add.u32 %x, 0xffffffff\n  %z = redux.min.s32 %x, 0xffffffff\n  %r = xor.b32 %r, %z\n  \
     %z = redux.max.u32 %x, 0xffffffff\n  %r = add.u32 %r, %z",
    "%r = redux.xor.b32 %x, 0xffffffff\n  %z = redux.and.b32 %x, 0xffffffff\n  %r = add.u32 %r, %z\n  \
     %z = redux.or.b32 %x, 0xffffffff\n  %r = add.u32 %r, %z\n  %z = redux.max.s32 %x, 0xffffffff\n  %r = xor.b32 %r, %z",
    "%r, %p = elect 0xffffffff\n  @%p %d = add.u64 %v, 1",
    // Lanes of one side of a branch.
    "@%c br join\nside:\n  %z = activemask\n  %r = shfl.bfly.b32 %x, 1, 31, %z\n  %s = ballot %c, %z\n  \
     %r = add.u32 %r, %s\n  warpsync %z\njoin:",
    "@%c br join\nside:\n  %z = activemask\n  %s = and.b32 %x, 1\n  %r = match.b32 %s, %z\n  \
     %s = redux.add.u32 %y, %z\n  %r = add.u32 %r, %s\n  %s, %p = elect %z\n  %r = add.u32 %r, %s\n  \
     @%p %d = add.u64 %v, 1\njoin:",
    // Lanes that name others, or have left some behind.
    "%p = setp.lt.u32 %t, 20\n  @%p br join\nside:\n  %z = shl.b32 0xffffffff, 20\n  %p = setp.lt.u32 %t, 32\n  \
     %z = selp.b32 %z, 0xffffffff, %p\n  %r = shfl.up.b32 %x, 1, 0, %z\njoin:",
];

const SPECIAL: [u64; 12] = [
    0,
    1,
    u64::MAX,
    1 << 63,
    1 << 31,
    0x7fff_ffff,
    0x7fff_ffff_ffff_ffff,
    0x7f80_0000_7fc0_0000,
    0xff80_0001_0000_0008,
    0x3f80_0000_bf80_0000,
    0x7ff0_0000_0000_0000,
    0x0000_0001_0000_000c,
];

fn kernel(body: &str) -> String {
    format!(
        "kernel @k(a: u64 global, b: u64 global, u: u32) {{
  reg %t, %x, %y, %z, %u, %s, %r: b32
  reg %p, %q, %c: pred
  reg %a, %b, %v, %w, %e, %f, %d, %at: b64
entry:
  %a = ld.param.u64 [@a]
  %b = ld.param.u64 [@b]
  %u = ld.param.u32 [@u]
  %t = sreg.u32 tid.x
  %at = mulwide.u32 %t, 8
  %e = add.u64 %at, %a
  %v = ld.global.u64 [%e]
  %w = ld.global.u64 [%e + 512]
  %f = mulwide.u32 %t, 4
  %f = add.u64 %f, %a
  %x = ld.global.u32 [%f + 1024]
  %y = ld.global.u32 [%f + 1280]
  %c = setp.lt.u32 %x, %y
  %r = mov.b32 17
  %d = mov.b64 18
  {body}
  %at = add.u64 %at, %b
  st.global.u64 [%at], %d
  %f = sub.u64 %f, %a
  %f = add.u64 %f, %b
  st.global.u32 [%f + 512], %r
  ret
}}
"
    )
}

#[test]
fn patterns_compute_their_operations() {
    compute(BODIES);
}

#[test]
fn collectives_compute_their_results() {
    compute(&COLLECTIVES);
}

/// Returns an error if a host with AVX-512 leaves steps of the vector IR to the interpreter.
fn has_code(program: &Program, launch: &Launch<1>) -> Result<(), String> {
    let state = Engine::<1>.launch(program, launch.clone()).map_err(|what| format!("{what:?}"))?;
    let kernel = fast::prepare(program, &state, true).map_err(|what| format!("{what:?}"))?;
    match Compiled::at(kernel, Level::Avx512, false) {
        Ok(code) if code.interpreted_steps().next().is_some() => Err("interpreted".to_owned()),
        Err((_, refused)) if Level::Avx512.is_available() => Err(refused.to_string()),
        _ => Ok(()),
    }
}

/// Compares kernels of these bodies with the exact engine.
fn compute(bodies: &[&str]) {
    let mut count = Count::default();
    let mut rng = Rng::new(7);
    for body in bodies {
        let text = kernel(body);
        let module = launches::parsed(&text);
        for threads in [64, 40, 64, 40, 64, 40] {
            let (program, mut launch) = launches::launch(&module, FuncId(0), 0);
            (launch.grid, launch.block) = ([1, 1, 1], [threads, 1, 1]);
            launch.params.clear();
            for fill in [true, false] {
                let buffer = launch.memory.allocate("buffer", 1536).expect("room");
                let word = |rng: &mut Rng| match rng.below(3) {
                    0 => rng.bits(),
                    1 => rng.bits() & 0xffff_0000_ffff,
                    _ => SPECIAL[rng.below(SPECIAL.len())],
                };
                let words = (0..192).map(|_| if fill { word(&mut rng) } else { 0 });
                let content: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
                launch.memory.host_write(buffer, &content).expect("it is there");
                launch.params.extend(buffer.0.to_le_bytes());
            }
            launch.params.extend((rng.bits() as u32).to_le_bytes());
            has_code(&program, &launch).unwrap_or_else(|what| panic!("{what}\n{text}"));
            compare(&program, &launch, &mut count).unwrap_or_else(|what| panic!("{what}\n{text}"));
        }
    }
    assert!(count.compared > 2 * bodies.len() as u64 || count.steps == 0, "{count:?}");
}

/// Both sides of a branch store to one word, so that memory tells which ran last.
#[test]
fn the_taken_side_runs_first() {
    let mut count = Count::default();
    for branch in ["@%c br other", "@!%c br other"] {
        let body = format!(
            "{branch}\nfirst:\n  st.global.u32 [%b + 1024], 1\n  br join\nother:\n  \
             st.global.u32 [%b + 1024], 2\njoin:"
        );
        let text = kernel(&body);
        let module = launches::parsed(&text);
        let (program, mut launch) = launches::launch(&module, FuncId(0), 0);
        (launch.grid, launch.block) = ([1, 1, 1], [32, 1, 1]);
        launch.params.clear();
        for factor in [37u64, 0] {
            let buffer = launch.memory.allocate("buffer", 1536).expect("room");
            let content: Vec<u8> =
                (0..1536).map(|byte| ((byte * byte * factor) >> 3) as u8).collect();
            launch.memory.host_write(buffer, &content).expect("it is there");
            launch.params.extend(buffer.0.to_le_bytes());
        }
        launch.params.extend(7u32.to_le_bytes());
        compare(&program, &launch, &mut count).unwrap_or_else(|what| panic!("{what}\n{text}"));
    }
    assert!(count.compared > 2 || count.steps == 0, "{count:?}");
}
