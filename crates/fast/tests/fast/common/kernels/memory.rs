//! Accesses to global and shared memory, at arbitrary addresses or at words that other CTAs do not
//! access.

use super::{Builder, SHARED, VALUES, WORDS, WORDS64};
use std::fmt::Write;

impl Builder<'_> {
    /// Computes an aligned address of `bytes` bytes in a buffer.
    fn address(&mut self, buffer: &str, bytes: u32) {
        let index = match self.rng.below(5) {
            0 | 1 => "%g".to_owned(),
            2 => "%t".to_owned(),
            _ => self.value(),
        };
        // Wild kernels may leave the buffer or wrap around.
        let mask =
            if self.wild && self.rng.one_in(6) { u32::MAX >> 1 } else { WORDS * 4 / bytes - 1 };
        let wide = self.one_of(&["u32", "s32"]);
        if mask == u32::MAX >> 1 && self.rng.one_in(2) {
            let addend = VALUES[self.rng.below(VALUES.len())];
            let _ = writeln!(self.text, "  %f = add.u32 {index}, {addend:#x}");
        } else {
            let _ = writeln!(self.text, "  %f = and.b32 {index}, {mask:#x}");
        }
        let _ = writeln!(self.text, "  %wide = mulwide.{wide} %f, {bytes}");
        let _ = writeln!(self.text, "  %at = add.u64 {buffer}, %wide");
    }

    /// Emits an access to a word that no other thread accesses, or that all threads change by the
    /// same operation.
    fn independent_access(&mut self, op: &str) {
        let (d, a) = (self.target(), self.value());
        let own = |b: &mut Self| {
            let _ = writeln!(b.text, "  %f = and.b32 %g, {}", WORDS / 2 - 1);
            let _ = writeln!(b.text, "  %wide = mulwide.u32 %f, 4\n  %at = add.u64 %b, %wide");
        };
        match self.rng.below(8) {
            0 | 1 => {
                self.address("%a", 4);
                self.line(&format!("{d} = ld.global.u32 [%at]"));
            }
            2 | 3 => {
                own(self);
                self.line(&format!("st.global.u32 [%at], {a}"));
            }
            4 => {
                own(self);
                self.line(&format!("{d} = ld.global.u32 [%at]"));
            }
            5 => {
                own(self);
                self.line(&format!("{d} = ld.generic.u8 [%at + 3]"));
            }
            _ => {
                let (index, (op, ty)) = (self.reg(), op.split_once('.').unwrap_or((op, "u32")));
                let first = WORDS - 64;
                let _ = write!(
                    self.text,
                    "  %f = and.b32 {index}, 63
  %f = add.u32 %f, {first}
  %wide = mulwide.u32 %f, 4
  %at = add.u64 %b, %wide
"
                );
                self.line(&format!("atom.{op}.global.{ty} [%at], {a}"));
            }
        }
    }

    pub(super) fn memory(&mut self) {
        if let Some(op) = self.independent
            && !self.rng.one_in(60)
        {
            return self.independent_access(op);
        }
        let buffer = self.one_of(&["%a", "%b"]);
        let (d, a) = (self.target(), self.value());
        let w = format!("%w{}", self.rng.below(WORDS64));
        match self.rng.below(11) {
            0..=2 => {
                self.address(&buffer, 4);
                self.line(&format!("{d} = ld.global.u32 [%at]"));
            }
            3 | 4 => {
                self.address("%b", 4);
                self.line(&format!("st.global.u32 [%at], {a}"));
            }
            5 => {
                self.address(&buffer, 8);
                self.line(&format!("{w} = ld.global.u64 [%at]"));
            }
            6 => {
                self.address("%b", 1);
                let ty = self.one_of(&["u8", "s8", "u8", "st.u8"]);
                let from = self.reg();
                self.line(&match ty.as_str() {
                    "st.u8" => format!("st.global.u8 [%at], {from}"),
                    ty => format!("{d} = ld.global.{ty} [%at]"),
                });
            }
            7 if self.rng.one_in(3) => {
                self.address("%b", 2);
                let (ty, from) = (self.one_of(&["u16", "s16"]), self.reg());
                let text = match self.rng.one_in(2) {
                    true => format!("st.global.u16 [%at], {from}"),
                    false => format!("{d} = ld.global.{ty} [%at]"),
                };
                self.line(&text);
            }
            7 => {
                self.address("%b", 4);
                let op = self.one_of(&["add", "min", "max"]);
                self.line(&format!("{d} = atom.{op}.global.u32 [%at], {a}"));
                if self.rng.one_in(2) {
                    self.on_shared(&d, &a, &w);
                }
            }
            8 | 9 if self.rng.one_in(2) => self.tile(),
            8 => {
                let index = self.value();
                let _ = writeln!(self.text, "  %f = and.b32 {index}, {}", SHARED / 4 - 1);
                let _ = writeln!(self.text, "  %f = shl.b32 %f, 2");
                self.line(&format!("st.shared.u32 [%f], {a}"));
            }
            9 => {
                let index = self.value();
                let _ = writeln!(self.text, "  %f = and.b32 {index}, {}", SHARED / 4 - 1);
                let _ = writeln!(self.text, "  %f = shl.b32 %f, 2");
                self.line(&format!("{d} = ld.shared.u32 [%f]"));
            }
            _ => {
                self.address("%b", 4);
                self.line(&format!("{d} = ld.generic.u32 [%at]"));
            }
        }
    }

    /// Emits a read-modify-write operation on shared memory.
    fn on_shared(&mut self, d: &str, a: &str, w: &str) {
        let (index, wide) = (self.value(), self.rng.one_in(3));
        let (bytes, ty) = if wide { (8, "64") } else { (4, "32") };
        let _ = writeln!(self.text, "  %f = and.b32 {index}, {}", SHARED / bytes - 1);
        let _ = writeln!(self.text, "  %f = mul.u32 %f, {bytes}");
        let op = self.one_of(&[
            "add.shared.u",
            "min.shared.s",
            "max.shared.u",
            "and.shared.b",
            "xor.shared.b",
        ]);
        let (to, from) =
            if wide { (w.to_owned(), self.wide()) } else { (d.to_owned(), a.to_owned()) };
        match self.rng.below(4) {
            0 => self.line(&format!("{to} = atom.cas.shared.b{ty} [%f], {from}, {to}")),
            1 => self.line(&format!("{to} = atom.exch.shared.b{ty} [%f], {from}")),
            _ => self.line(&format!("{to} = atom.{op}{ty} [%f], {from}")),
        }
    }
}
