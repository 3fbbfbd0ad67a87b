//! Sequences of accesses to shared memory with one row of addresses and different offsets, as in
//! tiled kernels.

use super::{Builder, SHARED};
use std::fmt::Write;

impl Builder<'_> {
    /// Emits a row of addresses, and a few accesses with it.
    pub(super) fn tile(&mut self) {
        let row = self.addresses();
        let _ = writeln!(self.text, "  {row}");
        let wide = self.rng.one_in(2);
        let by = if wide { "%at" } else { "%f" };
        if wide {
            let _ = writeln!(self.text, "  %at = cvt.u64.u32 %f");
        }
        for _ in 0..2 + self.rng.below(4) {
            let (d, a) = (self.target(), self.value());
            let off = match self.rng.below(60) {
                0 => SHARED,
                1 => SHARED - 4,
                2 => 2,
                n => 4 * (n % 16) as u32,
            };
            let text = match self.rng.below(12) {
                0..=6 => format!("{d} = ld.shared.u32 [{by} + {off}]"),
                7..=9 => format!("st.shared.u32 [{by} + {off}], {a}"),
                10 if wide => "%at = add.u64 %at, 4".to_owned(),
                10 => "%f = add.u32 %f, 4".to_owned(),
                _ => format!("{d} = xor.b32 {d}, {a}"),
            };
            self.line(&text);
        }
    }

    /// Computes addresses in `%f`: adjacent words, equal addresses in each half, quarter or smaller
    /// part of a warp, short distances, or arbitrary addresses.
    fn addresses(&mut self) -> String {
        let mask = [3, 7, 15, 31][self.rng.below(4)];
        match self.rng.below(10) {
            0..=2 => format!("%f = and.b32 %t, {mask}\n  %f = shl.b32 %f, 2"),
            3..=5 => {
                let by = 2 + self.rng.below(4);
                format!("%f = shr.u32 %t, {by}\n  %f = and.b32 %f, 7\n  %f = shl.b32 %f, 6")
            }
            6 => format!(
                "%f = xor.b32 %t, {}\n  %f = and.b32 %f, 127\n  %f = shl.b32 %f, 2",
                1 + mask
            ),
            7 => {
                let low = self.rng.below(40);
                let low = if low < 3 { low } else { 0 };
                format!("%f = and.b32 %t, {mask}\n  %f = shl.b32 %f, 2\n  %f = add.u32 %f, {low}")
            }
            _ => {
                let index = self.reg();
                format!("%f = and.b32 {index}, 127\n  %f = shl.b32 %f, 2")
            }
        }
    }
}
