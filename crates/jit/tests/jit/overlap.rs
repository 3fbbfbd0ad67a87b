//! Words that a warp stores where it has loaded others: every lane must load the old values, in
//! whatever order code processes the lanes.

use crate::harness::{Count, at_least, per_level, with_buffers};
use ir::testing::Rng;

/// Returns a kernel that loads at one offset from a buffer's middle and stores a function of the
/// value at another.
fn kernel(space: &str, loaded: (u32, i64), stored: (u32, i64)) -> String {
    let ((load, from), (store, to)) = (loaded, stored);
    let base = if space == "shared" { "%s" } else { "%b" };
    format!(
        "shared @s size 8192 align 16
kernel @k(n: u32, a: u64 global, b: u64 global) {{
  reg %t, %o, %v: b32
  reg %b, %s, %at, %from, %to, %w: b64
entry:
  %b = ld.param.u64 [@b]
  %o = mov.u32 @s
  %s = cvt.u64.u32 %o
  %t = sreg.u32 tid.x
  %from = mulwide.u32 %t, {load}
  %from = add.u64 %from, {base}
  %to = mulwide.u32 %t, {store}
  %to = add.u64 %to, {base}
  st.{space}.u64 [%to + 1024], %to
  %w = ld.{space}.u{} [%from + {}]
  %w = add.u64 %w, %from
  %v = cvt.u32.u64 %w
  st.{space}.u{} [%to + {}], {}
  %at = mulwide.u32 %t, 4
  %at = add.u64 %at, %b
  st.global.u32 [%at], %v
  ret
}}
",
        8 * load,
        1024 + from,
        8 * store,
        1024 + to,
        if store == 8 { "%w" } else { "%v" },
    )
}

#[test]
fn overlapping_loads_precede_stores() {
    let mut count = Count::default();
    let mut rng = Rng::new(1);
    for space in ["shared", "global"] {
        for (load, store) in [(4, 4), (8, 8), (4, 8), (8, 4)] {
            for distance in [-256, -128, -64, -8, 0, 8, 16, 64, 96, 120, 128, 248, 256] {
                let text = kernel(space, (load, 0), (store, distance));
                with_buffers(&text, &mut rng, 1, &mut count);
            }
        }
    }
    assert!(count.compared > at_least(per_level(500)) / 2 || count.steps == 0, "{count:?}");
}
