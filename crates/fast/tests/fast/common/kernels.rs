//! Random kernels with everything that the fast engine executes itself: arithmetic on special
//! values, memory of all spaces, barriers, atomics, collectives, divergence. They race, and may
//! fault or hang; the engines must agree nevertheless, because both keep the canonical schedule.

mod memory;
mod tiles;

use ir::testing::Rng;
use std::fmt::Write;

/// Words in each of the two buffers.
pub(crate) const WORDS: u32 = 1 << 12;
/// Bytes of shared memory.
const SHARED: u32 = 1 << 10;

const WORDS32: usize = 7;
const WORDS64: usize = 3;
const PREDS: usize = 4;
/// Registers with long-lived values: more than a processor has vector registers.
const HELD: usize = 44;

const VALUES: [u32; 16] = [
    0,
    1,
    2,
    31,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x3f80_0000,
    0xbf80_0000,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0001,
    1 << 20,
    0x0080_0000,
    0x8000_0001,
    0x4b80_0001,
];

struct Builder<'r> {
    rng: &'r mut Rng,
    text: String,
    labels: usize,
    wild: bool,
    /// The operation by which all threads change some words, if each thread is otherwise to write
    /// only a word of its own, and to read other words only from the buffer that is not written.
    independent: Option<&'static str>,
}

/// Creates the text of a kernel `k` with a parameter `n: u32` and buffers `a` and `b` of [`WORDS`]
/// words.
pub(crate) fn kernel(rng: &mut Rng) -> String {
    let wild = rng.one_in(12);
    build(Builder { rng, text: String::new(), labels: 0, wild, independent: None })
}

/// Creates the text of such a kernel whose CTAs mostly access different words.
pub(crate) fn independent_kernel(rng: &mut Rng) -> String {
    let op = ["add.u32", "and.b32", "or.b32", "xor.b32", "min.s32", "max.u32"][rng.below(6)];
    build(Builder { rng, text: String::new(), labels: 0, wild: false, independent: Some(op) })
}

fn build(mut b: Builder<'_>) -> String {
    b.prologue();
    let statements = 3 + b.rng.below(8);
    b.statements(statements, 3);
    if b.independent.is_none() && b.rng.one_in(8) {
        b.late_fault();
    }
    for i in 0..WORDS32 {
        let _ = writeln!(b.text, "  %g = mad.u32 %g, 5, %r{i}");
    }
    let _ = writeln!(b.text, "  st.global.u32 [%out], %g\n  ret\n}}");
    b.text
}

impl Builder<'_> {
    fn prologue(&mut self) {
        let _ = write!(
            self.text,
            "shared @s size {SHARED} align 16
kernel @k(n: u32, a: u64 global, b: u64 global) {{
  reg %r0, %r1, %r2, %r3, %r4, %r5, %r6: b32
  reg %t, %g, %n, %i, %j, %f, %lane: b32
  reg {}: b32
  reg %w0, %w1, %w2, %at, %out, %a, %b, %wide: b64
  reg %p0, %p1, %p2, %p3, %go: pred
entry:
  %f = mov.u32 @s
  %n = ld.param.u32 [@n]
  %a = ld.param.u64 [@a]
  %b = ld.param.u64 [@b]
  %t = sreg.u32 tid.x
  %r0 = sreg.u32 ctaid.x
  %r1 = sreg.u32 ntid.x
  %g = mad.u32 %r0, %r1, %t
  %lane = sreg.u32 laneid
  %i = and.b32 %g, {}
  %wide = mulwide.u32 %i, 4
  %out = add.u64 %b, %wide
  %r2 = mul.u32 %g, 0x9e3779b1
  %r3 = mov.b32 %t
  %r4 = sreg.u32 tid.y
  %r5 = mov.b32 {:#x}
  %r6 = shr.u32 %r2, {}
  %w0 = cvt.u64.u32 %g
  %w1 = cvt.s64.s32 %r2
  %w2 = mulwide.u32 %r2, %r6
  %p0 = setp.lt.u32 %t, {}
  %p1 = setp.eq.u32 %r1, 64
  %p2 = setp.gt.s32 %r2, 0
  %p3 = setp.ne.u32 %n, 3
",
            (0..HELD).map(|i| format!("%s{i}")).collect::<Vec<_>>().join(", "),
            WORDS - 1,
            self.rng.bits() as u32,
            self.rng.below(32),
            self.rng.below(70),
        );
    }

    fn reg(&mut self) -> String {
        match self.rng.below(10) {
            0 => "%t".to_owned(),
            1 => "%g".to_owned(),
            2 => "%lane".to_owned(),
            n => format!("%r{}", n % WORDS32),
        }
    }

    fn target(&mut self) -> String {
        format!("%r{}", self.rng.below(WORDS32))
    }

    fn value(&mut self) -> String {
        match self.rng.below(5) {
            0 => format!("{:#x}", VALUES[self.rng.below(VALUES.len())]),
            1 => format!("{:#x}", self.rng.below(64)),
            _ => self.reg(),
        }
    }

    fn wide(&mut self) -> String {
        if self.rng.one_in(5) {
            return format!("{:#x}", self.rng.value());
        }
        format!("%w{}", self.rng.below(WORDS64))
    }

    fn pred(&mut self) -> String {
        format!("%p{}", self.rng.below(PREDS))
    }

    fn guard(&mut self) -> String {
        let not = if self.rng.one_in(2) { "!" } else { "" };
        format!("@{not}{} ", self.pred())
    }

    fn one_of(&mut self, list: &[&str]) -> String {
        list[self.rng.below(list.len())].to_owned()
    }

    fn line(&mut self, text: &str) {
        let guard = if self.rng.one_in(5) { self.guard() } else { String::new() };
        let _ = writeln!(self.text, "  {guard}{text}");
    }

    fn label(&mut self) -> usize {
        self.labels += 1;
        self.labels
    }

    fn statements(&mut self, count: usize, depth: usize) {
        for _ in 0..count {
            match self.rng.below(16) {
                0 if depth > 0 && self.rng.one_in(2) => self.short(),
                1 if depth > 0 && self.rng.one_in(3) => self.held(depth - 1),
                0 | 1 if depth > 0 => self.conditional(depth - 1),
                2 if depth > 0 => self.repeat(depth - 1),
                3 if depth == 3 => self.barrier(),
                4 if self.rng.one_in(8) => {
                    let guard = self.guard();
                    let next = self.label();
                    let _ = writeln!(self.text, "  {guard}exit\nx{next}:");
                }
                4 | 5 => self.collective(),
                6..=9 => self.memory(),
                10..=12 => self.float(),
                _ => self.integer(),
            }
        }
    }

    /// Emits a barrier, or a loop with the same number of rounds in all threads and a barrier in
    /// each round.
    fn barrier(&mut self) {
        if self.rng.one_in(3) {
            return self.rounds();
        }
        let (d, p, q) = (self.target(), self.pred(), self.pred());
        let id = if self.rng.one_in(4) { self.rng.below(16) } else { 0 };
        let text = match self.rng.below(8) {
            0 => format!("{d} = bar.popc {id}, {p}"),
            1 => format!("{q} = bar.and {id}, {p}"),
            2 => format!("{q} = bar.or {id}, {p}"),
            _ => format!("bar.sync {id}"),
        };
        let guard = if self.rng.one_in(12) { self.guard() } else { String::new() };
        let _ = writeln!(self.text, "  {guard}{text}");
    }

    fn rounds(&mut self) {
        let (id, d) = (self.label(), self.target());
        let rounds = if self.rng.one_in(4) { 70 } else { 1 + self.rng.below(9) };
        let _ = writeln!(self.text, "  %j = mov.u32 0\nl{id}:");
        for _ in 0..1 + self.rng.below(2) {
            let count = self.rng.below(3);
            self.statements(count, 1);
            match self.rng.below(6) {
                0 => {
                    let p = self.pred();
                    let _ = writeln!(self.text, "  {d} = bar.popc {}, {p}", self.rng.below(2));
                }
                n => {
                    let _ = writeln!(self.text, "  bar.sync {}", n / 5);
                }
            }
        }
        let _ = write!(
            self.text,
            "  %j = add.u32 %j, 1
  %go = setp.lt.u32 %j, {rounds}
  @%go br l{id}
d{id}:
"
        );
    }

    fn conditional(&mut self, depth: usize) {
        let (id, guard) = (self.label(), self.guard());
        let _ = writeln!(self.text, "  {guard}br e{id}\nt{id}:");
        let count = 1 + self.rng.below(3);
        self.statements(count, depth);
        let _ = writeln!(self.text, "  br j{id}\ne{id}:");
        if self.rng.one_in(2) {
            self.statements(1, depth);
        }
        let _ = writeln!(self.text, "j{id}:");
    }

    /// Emits a store to an unmapped address in one CTA other than the first.
    fn late_fault(&mut self) {
        let _ = writeln!(
            self.text,
            "  %n = sreg.u32 ctaid.x
  %go = setp.eq.u32 %n, {}
  %at = mov.u64 8
  @%go st.global.u32 [%at], %g",
            1 + self.rng.below(4)
        );
    }

    /// Emits a branch whose sides have a few operations on registers, or none. One side may consist
    /// of several blocks.
    fn short(&mut self) {
        let (id, guard) = (self.label(), self.guard());
        let _ = writeln!(self.text, "  {guard}br e{id}\nt{id}:");
        for _ in 0..self.rng.below(4) {
            self.plain();
        }
        let _ = writeln!(self.text, "  br j{id}\ne{id}:");
        for _ in 0..self.rng.below(4) {
            self.plain();
        }
        if self.rng.one_in(3) {
            let _ = writeln!(self.text, "  br m{id}\nm{id}:");
            self.plain();
        }
        let _ = writeln!(self.text, "j{id}:");
    }

    /// Emits an unguarded operation on registers.
    fn plain(&mut self) {
        let (d, a, b) = (self.target(), self.value(), self.value());
        let (w, x, y) = (format!("%w{}", self.rng.below(WORDS64)), self.wide(), self.wide());
        let (p, q) = (self.pred(), self.pred());
        let cmp = self.one_of(&["eq", "ne", "lt", "le", "gt", "ge"]);
        let text = match self.rng.below(12) {
            0 => format!("{d} = sub.u32 {a}, {b}"),
            1 => format!("{d} = mad.u32 {a}, {b}, {a}"),
            2 => format!("{d} = fma.f32 {a}, {b}, {d}"),
            3 => format!("{d} = add.f32 {a}, {b}"),
            4 => format!("{w} = add.u64 {x}, {y}"),
            5 => format!("{w} = max.u64 {x}, {y}"),
            6 => format!("{w} = mulwide.u32 {a}, {b}"),
            7 => format!("{d} = cvt.u32.u64 {x}"),
            8 => format!("{d} = selp.b32 {a}, {b}, {q}"),
            9 => format!("{p} = setp.{cmp}.s64 {x}, {y}"),
            10 => format!("{p} = setp.{cmp}.f32 {a}, {b}"),
            _ => format!("{p} = xor.pred {p}, {q}"),
        };
        let _ = writeln!(self.text, "  {text}");
    }

    /// Emits many values that are read after other statements.
    fn held(&mut self, depth: usize) {
        let count = if self.rng.one_in(4) { HELD } else { 2 + self.rng.below(12) };
        for i in 0..count {
            let (a, b) = (self.value(), self.value());
            let op = self.one_of(&["add.u32", "xor.b32", "mul.u32", "mul.f32", "add.f32"]);
            let _ = writeln!(self.text, "  %s{i} = {op} {a}, {b}");
        }
        let between = self.rng.below(3);
        self.statements(between, depth);
        for i in 0..count {
            let (d, a) = (self.target(), self.value());
            let text = match self.rng.below(5) {
                0 => format!("{d} = fma.f32 %s{i}, {a}, {d}"),
                1 => format!("%s{i} = fma.f32 {d}, %s{i}, {a}\n  {d} = xor.b32 {d}, %s{i}"),
                2 => format!("{d} = sub.u32 %s{i}, {d}"),
                3 => format!("{d} = add.f32 {d}, %s{i}"),
                _ => format!("{d} = xor.b32 {d}, %s{i}"),
            };
            self.line(&text);
        }
    }

    fn repeat(&mut self, depth: usize) {
        let id = self.label();
        let bound = self.value();
        let rounds = 1 + self.rng.below(9);
        let _ = writeln!(self.text, "  %i = mov.u32 0\nl{id}:");
        let count = 1 + self.rng.below(3);
        // Loops inside use the same counter. They only end sooner, because it grows.
        self.statements(count, depth.min(1));
        let _ = write!(
            self.text,
            "  %i = add.u32 %i, 1
  %f = and.b32 {bound}, 7
  %f = add.u32 %f, {rounds}
  %go = setp.lt.u32 %i, %f
  @%go br l{id}
d{id}:
"
        );
    }

    fn integer(&mut self) {
        let (d, a, b, c) = (self.target(), self.value(), self.value(), self.value());
        let (w, x, y) = (format!("%w{}", self.rng.below(WORDS64)), self.wide(), self.wide());
        let (p, q) = (self.pred(), self.pred());
        let cmp = self.one_of(&["eq", "ne", "lt", "le", "gt", "ge"]);
        let text = match self.rng.below(30) {
            26 => format!("{d} = div.u32 {a}, {b}"),
            27 => format!("{d} = rem.s32 {a}, {b}"),
            28 => format!("{d} = shfl2.b32 {a}, {b}, {c}"),
            29 => format!("{d} = shfr2.wrap.b32 {a}, {b}, {c}"),
            0 => format!("{d} = sub.u32 {a}, {b}"),
            1 => format!("{d} = mul.u32 {a}, {b}"),
            2 => format!("{d} = mad.u32 {a}, {b}, {c}"),
            3 => format!("{d} = xor.b32 {a}, {b}"),
            4 => format!("{d} = and.b32 {a}, {b}"),
            5 => format!("{d} = or.b32 {a}, {b}"),
            6 => format!("{d} = shl.b32 {a}, {}", self.rng.below(40)),
            7 => format!("{d} = shr.u32 {a}, {b}"),
            8 => format!("{d} = shr.s32 {a}, {}", self.rng.below(40)),
            9 => format!("{d} = min.s32 {a}, {b}"),
            10 => format!("{d} = max.u32 {a}, {b}"),
            11 => format!("{d} = popc.b32 {a}"),
            12 => format!("{d} = div.s32 {a}, {b}"),
            13 => format!("{d} = rem.u32 {a}, {b}"),
            14 => format!("{w} = add.u64 {x}, {y}"),
            15 => format!("{w} = mul.u64 {x}, {y}"),
            16 => format!("{w} = mulwide.s32 {a}, {b}"),
            17 => format!("{w} = madwide.u32 {a}, {b}, {x}"),
            18 => format!("{w} = cvt.u64.u32 {a}"),
            19 => format!("{d} = cvt.u32.u64 {x}"),
            20 => format!("{w} = shr.u64 {x}, {}", self.rng.below(70)),
            21 => format!("{p} = setp.{cmp}.u32 {a}, {b}"),
            22 => format!("{p} = setp.{cmp}.and.s32 {a}, {b}, {q}"),
            23 => format!("{p} = setp.{cmp}.s64 {x}, {y}"),
            24 => format!("{d} = selp.b32 {a}, {b}, {q}"),
            _ => format!("{p} = xor.pred {p}, {q}"),
        };
        self.line(&text);
    }

    fn float(&mut self) {
        let (d, a, b, c, p) =
            (self.target(), self.value(), self.value(), self.value(), self.pred());
        let (w, x, y) = (format!("%w{}", self.rng.below(WORDS64)), self.wide(), self.wide());
        let cmp = self.one_of(&[
            "eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num",
            "isnan",
        ]);
        let one = self.one_of(&[
            "ex2.approx.ftz",
            "lg2.approx",
            "sin.approx.ftz",
            "cos.approx",
            "tanh.approx",
            "rsqrt.approx",
            "rcp.approx.ftz",
            "sqrt.rm",
            "rcp.rz.ftz",
            "cvt.sat.f32",
            "cvt.rmi.f32",
            "cvt.rni.ftz.f32",
        ]);
        let two = self.one_of(&[
            "add.ftz",
            "mul.rp.ftz",
            "sub.sat",
            "add.rm",
            "div.approx",
            "div.full.ftz",
            "div.rz",
            "mul.sat.ftz",
        ]);
        let three = self.one_of(&["fma.rm", "fma.rn.ftz", "fma.rz.sat"]);
        let text = match self.rng.below(26) {
            20 | 21 => format!("{d} = {one}.f32 {a}"),
            22 | 23 => format!("{d} = {two}.f32 {a}, {b}"),
            24 => format!("{d} = {three}.f32 {a}, {b}, {c}"),
            25 => format!("{d} = cvt.rpi.u32.f32 {a}"),
            0 | 1 => format!("{d} = add.rn.f32 {a}, {b}"),
            2 => format!("{d} = sub.rn.f32 {a}, {b}"),
            3 | 4 => format!("{d} = mul.rn.f32 {a}, {b}"),
            5 | 6 => format!("{d} = fma.rn.f32 {a}, {b}, {c}"),
            7 => format!("{d} = div.rn.f32 {a}, {b}"),
            8 => format!("{d} = sqrt.rn.f32 {a}"),
            9 if self.rng.one_in(2) => format!("{d} = max.f32 {a}, {b}"),
            9 => format!("{d} = min.f32 {a}, {b}"),
            10 => format!("{d} = neg.f32 {a}"),
            11 => format!("{d} = cvt.rn.f32.s32 {a}"),
            12 => format!("{d} = cvt.rzi.s32.f32 {a}"),
            13 => format!("{p} = setp.{cmp}.f32 {a}, {b}"),
            14 => format!("{d} = mul.rz.f32 {a}, {b}"),
            15 => format!("{d} = ex2.approx.f32 {a}"),
            16 => format!("{w} = fma.rn.f64 {x}, {y}, {x}"),
            17 => format!("{w} = add.rn.f64 {x}, {y}"),
            18 => format!("{d} = rcp.rn.f32 {a}"),
            _ => format!("{w} = div.rn.f64 {x}, {y}"),
        };
        self.line(&text);
    }

    fn collective(&mut self) {
        let (d, a, p, q) = (self.target(), self.value(), self.pred(), self.pred());
        let mask = if self.rng.one_in(8) { "0xffff" } else { "0xffffffff" };
        let mode = self.one_of(&["up", "down", "bfly", "idx"]);
        let lane = match self.rng.below(6) {
            0 => self.reg(),
            n => format!("{}", n * 7 % 32),
        };
        let clamp = [31, 0, 0x1c1f, 0x101f, 0x1800, 7][self.rng.below(6)];
        let vote = self.one_of(&["any", "all", "uni"]);
        let text = match self.rng.below(8) {
            0 | 1 => format!("{d} = shfl.{mode}.b32 {a}, {lane}, {clamp}, {mask}"),
            2 => format!("{d} = ballot {p}, {mask}"),
            3 => format!("{q} = vote.{vote} {p}, {mask}"),
            7 => format!("{d}, {q} = shfl.{mode}.b32 {a}, {lane}, {clamp}, {mask}"),
            4 => format!("{d} = redux.add.u32 {a}, {mask}"),
            5 => format!("{d} = match.b32 {a}, {mask}"),
            _ => format!("{d} = activemask"),
        };
        let _ = writeln!(self.text, "  {text}");
    }
}
