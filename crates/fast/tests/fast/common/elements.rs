//! Launches of kernels that compute one element in each thread, at the edges of what is allowed:
//! buffers that are some bytes too short, addresses that are not aligned, and numbers that wrap
//! around.

use super::launches::{launch, parsed};
use ir::FuncId;
use ir::testing::Rng;
use vm::{Launch, Program};

/// Values of `%j`; `%i` is the number of a thread. The last one is loaded.
const NUMBERS: [&str; 8] = [
    "%j = mov.b32 %i",
    "%j = add.u32 %i, 3",
    "%j = sub.u32 %i, 2",
    "%j = sub.u32 %last, %i",
    "%j = mul.u32 %i, 2",
    "%j = xor.b32 %i, 1",
    "%j = add.u32 %i, 0xfffffff0",
    "%w = cvt.u64.u32 %i\n%w = mul.u64 %w, 4\n%w = add.u64 %w, %x\n%j = ld.global.u32 [%w]",
];

/// Returns a launch of at least 1,024 threads.
pub(crate) fn of_elements(rng: &mut Rng) -> (String, Program, Launch<1>) {
    let block = [32, 33, 64, 256][rng.below(4)];
    let grid = 1024_u32.div_ceil(block) + rng.below(6) as u32;
    let threads = grid * block;
    let n = [threads, threads - 1, threads - 40, threads + 1, threads / 2, 1][rng.below(6)];
    let bytes = [1, 2, 4, 8][rng.below(4)];
    let text = kernel(rng, bytes);
    let module = parsed(&text);
    let (program, mut launch) = launch(&module, FuncId(0), rng.below(28) as u64);
    (launch.grid, launch.block) = ([grid, 1, 1], [block, 1, 1]);
    launch.params.clear();
    for name in ["x", "y"] {
        let spare = [0, 0, 4, 64, 8192][rng.below(5)] + 16;
        let missing = [0, 0, 0, 1, 4][rng.below(5)];
        let len = u64::from(n.max(4)) * bytes.max(4) + spare - missing;
        let buffer = launch.memory.allocate(name, len).expect("room");
        let words: Vec<u8> = (0..len).map(|_| rng.value() as u8 & 7).collect();
        launch.memory.host_write(buffer, &words).expect("it is there");
        // Some stores begin at other places.
        let shift = [0, 0, 0, 4, 2][rng.below(5)];
        launch.params.extend((buffer.0 + shift).to_le_bytes());
    }
    launch.params.extend(n.to_le_bytes());
    (text, program, launch)
}

fn kernel(rng: &mut Rng, bytes: u64) -> String {
    let guard = ["%p = setp.ge.u32 %i, %n\n@%p br done", "%p = setp.gt.s32 %i, %last\n@%p br done"];
    let guard = [guard[0], guard[0], guard[1], guard[1], ""][rng.below(5)];
    let plain = if rng.below(3) > 0 { 1 } else { NUMBERS.len() };
    let number = NUMBERS[rng.below(plain)];
    let widened = match rng.below(3) {
        0 => format!("%at = mulwide.u32 %j, {bytes}"),
        1 => format!("%at = mulwide.s32 %j, {bytes}"),
        _ => format!("%at = cvt.u64.u32 %j\n%at = shl.b64 %at, {}", bytes.trailing_zeros()),
    };
    let offset = [0, 0, 0, 1, 4, 16][rng.below(6)];
    let bits = 8 * bytes;
    let value = if bits == 64 { "%w" } else { "%v" };
    // The number of a thread, shifted to the end of its type, is stored as well.
    let last = if rng.below(4) == 0 {
        "%j = add.u32 %i, 0xfffffff0\n%w = cvt.u64.u32 %j\n%v = cvt.u32.u64 %w"
    } else {
        ""
    };
    format!(
        "kernel @k(x: u64 global, y: u64 global, n: u32) {{
  reg %i, %j, %n, %t, %v, %last: b32
  reg %x, %y, %at, %w: b64
  reg %p: pred
entry:
  %x = ld.param.u64 [@x]
  %y = ld.param.u64 [@y]
  %n = ld.param.u32 [@n]
  %last = sub.u32 %n, 1
  %i = sreg.u32 ctaid.x
  %j = sreg.u32 ntid.x
  %t = sreg.u32 tid.x
  %i = mad.u32 %i, %j, %t
  {guard}
work:
  {number}
  {widened}
  %x = add.u64 %x, %at
  %y = add.u64 %y, %at
  {value} = ld.global.u{bits} [%x]
  {last}
  st.global.u{bits} [%y+{offset}], {value}
done:
  ret
}}
"
    )
}
