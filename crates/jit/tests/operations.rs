//! Every operation that is compiled, against the exact engine: on special values, in lanes that are all on, guarded, or in one side of
//! a branch; operands that vary, lie on a line, are uniform or constant; loads and stores of all widths and patterns.

mod harness;

use harness::{Count, with_buffers};
use ir::testing::Rng;
use std::fmt::Write as _;
use std::io::Write;

const SPECIAL: [u32; 28] = [
    0,
    1,
    2,
    31,
    32,
    33,
    63,
    64,
    0xff,
    0x8000,
    0x7fff_ffff,
    0x8000_0000,
    0x8000_0001,
    0xffff_ffff,
    0xffff_fffe,
    // 1, -1, infinities, NaNs of all kinds, subnormals, least and greatest.
    0x3f80_0000,
    0xbf80_0000,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0001,
    0xffc0_0000,
    0x7f80_0001,
    0x0000_0007,
    0x8040_0000,
    0x0080_0000,
    0x7f7f_ffff,
    0x4f00_0000,
    0xcb80_0001,
];

const SPECIAL64: [u64; 16] = [
    0,
    1,
    63,
    64,
    u64::MAX,
    1 << 63,
    (1 << 63) - 1,
    1 << 32,
    0xffff_ffff,
    0x3ff0_0000_0000_0000,
    0x7ff0_0000_0000_0000,
    0xfff0_0000_0000_0000,
    0x7ff8_0000_0000_0001,
    0x7ff0_0000_0000_0001,
    0x0000_0000_0000_0003,
    0x8010_0000_0000_0000,
];

/// Operations on 32-bit values, by their operands.
const NARROW: [(&str, usize); 83] = [
    ("add.u32", 2),
    ("sub.u32", 2),
    ("mul.u32", 2),
    ("mad.u32", 3),
    ("mulhi.u32", 2),
    ("mulhi.s32", 2),
    ("and.b32", 2),
    ("or.b32", 2),
    ("xor.b32", 2),
    ("not.b32", 1),
    ("neg.s32", 1),
    ("abs.s32", 1),
    ("shl.b32", 2),
    ("shr.u32", 2),
    ("shr.s32", 2),
    ("min.u32", 2),
    ("max.u32", 2),
    ("min.s32", 2),
    ("max.s32", 2),
    ("popc.b32", 1),
    ("clz.b32", 1),
    ("mov.b32", 1),
    ("add.rn.f32", 2),
    ("sub.rn.f32", 2),
    ("mul.rn.f32", 2),
    ("fma.rn.f32", 3),
    ("div.rn.f32", 2),
    ("rcp.rn.f32", 1),
    ("sqrt.rn.f32", 1),
    ("abs.f32", 1),
    ("neg.f32", 1),
    ("cvt.rn.f32.u32", 1),
    ("cvt.rn.f32.s32", 1),
    ("min.f32", 2),
    ("max.f32", 2),
    ("div.s32", 2),
    ("rem.s32", 2),
    ("div.u32", 2),
    ("rem.u32", 2),
    ("cvt.rzi.s32.f32", 1),
    ("cvt.rzi.u32.f32", 1),
    ("add.ftz.f32", 2),
    ("mul.ftz.f32", 2),
    ("fma.rn.ftz.f32", 3),
    ("mul.rz.f32", 2),
    ("brev.b32", 1),
    ("add.rz.f32", 2),
    ("sub.rm.f32", 2),
    ("mul.rp.f32", 2),
    ("fma.rm.f32", 3),
    ("fma.rp.ftz.f32", 3),
    ("div.rz.f32", 2),
    ("div.rn.ftz.f32", 2),
    ("sqrt.rm.f32", 1),
    ("sqrt.rn.ftz.f32", 1),
    ("rcp.rp.f32", 1),
    ("rcp.rn.ftz.f32", 1),
    ("add.sat.f32", 2),
    ("mul.sat.ftz.f32", 2),
    ("fma.rn.sat.f32", 3),
    ("cvt.sat.f32.f32", 1),
    ("cvt.rni.f32.f32", 1),
    ("cvt.rmi.ftz.f32.f32", 1),
    ("cvt.rpi.f32.f32", 1),
    ("cvt.rzi.f32.f32", 1),
    ("cvt.rni.s32.f32", 1),
    ("cvt.rmi.u32.f32", 1),
    ("cvt.rpi.s32.f32", 1),
    ("ex2.approx.f32", 1),
    ("ex2.approx.ftz.f32", 1),
    ("lg2.approx.f32", 1),
    ("lg2.approx.ftz.f32", 1),
    ("sin.approx.f32", 1),
    ("cos.approx.ftz.f32", 1),
    ("tanh.approx.f32", 1),
    ("rsqrt.approx.f32", 1),
    ("rsqrt.approx.ftz.f32", 1),
    ("rcp.approx.ftz.f32", 1),
    ("rcp.approx.f32", 1),
    ("sqrt.approx.f32", 1),
    ("div.approx.f32", 2),
    ("div.approx.ftz.f32", 2),
    ("div.full.f32", 2),
];

/// Operations on 64-bit values; those that end in `shift` take a 32-bit amount.
const WIDE: [(&str, usize); 21] = [
    ("add.u64", 2),
    ("sub.u64", 2),
    ("mul.u64", 2),
    ("mad.u64", 3),
    ("and.b64", 2),
    ("or.b64", 2),
    ("xor.b64", 2),
    ("not.b64", 1),
    ("neg.s64", 1),
    ("mov.b64", 1),
    ("add.rn.f64", 2),
    ("sub.rn.f64", 2),
    ("mul.rn.f64", 2),
    ("fma.rn.f64", 3),
    ("div.rn.f64", 2),
    ("min.s64", 2),
    ("max.u64", 2),
    ("min.u64", 2),
    ("max.s64", 2),
    ("div.s64", 2),
    ("sqrt.rn.f64", 1),
];

const FLOAT_RELATIONS: [&str; 14] =
    ["eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "isnan"];

struct Builder<'r> {
    rng: &'r mut Rng,
    text: String,
    labels: usize,
}

impl Builder<'_> {
    fn one_of<'s>(&mut self, list: &[&'s str]) -> &'s str {
        list[self.rng.below(list.len())]
    }

    fn value(&mut self) -> String {
        match self.rng.below(9) {
            0 => format!("{:#x}", SPECIAL[self.rng.below(SPECIAL.len())]),
            1 => "%t".to_owned(),
            2 => "%n".to_owned(),
            3 => "%u".to_owned(),
            4 => "%line".to_owned(),
            _ => format!("%r{}", self.rng.below(6)),
        }
    }

    fn wide(&mut self) -> String {
        match self.rng.below(8) {
            0 => format!("{:#x}", SPECIAL64[self.rng.below(SPECIAL64.len())]),
            1 => "%ul".to_owned(),
            2 => "%wl".to_owned(),
            _ => format!("%w{}", self.rng.below(4)),
        }
    }

    fn pred(&mut self) -> String {
        match self.rng.below(6) {
            0 => "%up".to_owned(),
            _ => format!("%p{}", self.rng.below(4)),
        }
    }

    fn guard(&mut self) -> String {
        let not = if self.rng.one_in(2) { "!" } else { "" };
        format!("@{not}{} ", self.pred())
    }

    fn line(&mut self, text: &str) {
        let guard = if self.rng.one_in(4) { self.guard() } else { String::new() };
        let _ = writeln!(self.text, "  {guard}{text}");
    }

    fn statement(&mut self) {
        let (d, w, p) = (self.rng.below(6), self.rng.below(4), self.rng.below(4));
        let (a, b, c) = (self.value(), self.value(), self.value());
        let (x, y, z) = (self.wide(), self.wide(), self.wide());
        let q = self.pred();
        // Now and then a scalar's turn: its operands are the same in all lanes.
        let text = match self.rng.below(20) {
            0..=5 => {
                let (op, operands) = NARROW[self.rng.below(NARROW.len())];
                format!("%r{d} = {op} {}", [a, b, c][..operands].join(", "))
            }
            6 | 7 => {
                let (op, operands) = WIDE[self.rng.below(WIDE.len())];
                format!("%w{w} = {op} {}", [x, y, z][..operands].join(", "))
            }
            8 => {
                let op = self.one_of(&["shl.b64", "shr.u64", "shr.s64"]);
                format!("%w{w} = {op} {x}, {b}")
            }
            9 => {
                let op = self.one_of(&["mulwide.u32", "mulwide.s32"]);
                format!("%w{w} = {op} {a}, {b}")
            }
            10 => {
                let op = self.one_of(&["madwide.u32", "madwide.s32"]);
                format!("%w{w} = {op} {a}, {b}, {z}")
            }
            11 => {
                let op = self.one_of(&["cvt.u64.u32", "cvt.s64.s32", "cvt.u64.s32"]);
                format!("%w{w} = {op} {a}")
            }
            12 => format!("%r{d} = cvt.u32.u64 {x}"),
            13 => {
                let (cmp, ty) = (self.one_of(&FLOAT_RELATIONS[..6]), self.one_of(&["u32", "s32"]));
                self.compare(p, cmp, ty, &a, &b)
            }
            14 => {
                let cmp = self.one_of(&FLOAT_RELATIONS);
                self.compare(p, cmp, "f32", &a, &b)
            }
            15 => {
                let (cmp, ty) = (self.one_of(&FLOAT_RELATIONS[..6]), self.one_of(&["u64", "s64"]));
                self.compare(p, cmp, ty, &x, &y)
            }
            16 => {
                let op = self.one_of(&["and", "or", "xor", "andn"]);
                format!("%p{p} = {op}.pred {q}, %p{}", self.rng.below(4))
            }
            17 if self.rng.one_in(2) => format!("%p{p} = not.pred {q}"),
            17 => format!("%r{d} = selp.b32 {a}, {b}, {q}"),
            18 => format!("%w{w} = selp.b64 {x}, {y}, {q}"),
            _ => self.scalar(),
        };
        self.line(&text);
    }

    fn compare(&mut self, p: usize, cmp: &str, ty: &str, a: &str, b: &str) -> String {
        if self.rng.one_in(2) {
            return format!("%p{p} = setp.{cmp}.{ty} {a}, {b}");
        }
        let (how, q) = (self.one_of(&["and", "or", "xor"]), self.pred());
        format!("%p{p} = setp.{cmp}.{how}.{ty} {a}, {b}, {q}")
    }

    /// An operation whose operands are the same in all lanes.
    fn scalar(&mut self) -> String {
        let one = |s: &mut Self| match s.rng.below(3) {
            0 => "%n".to_owned(),
            1 => format!("{:#x}", SPECIAL[s.rng.below(SPECIAL.len())]),
            _ => "%u".to_owned(),
        };
        let (a, b, c) = (one(self), one(self), one(self));
        match self.rng.below(6) {
            0..=2 => {
                let (op, operands) = NARROW[self.rng.below(NARROW.len())];
                format!("%u = {op} {}", [a, b, c][..operands].join(", "))
            }
            3 => {
                let (op, operands) = WIDE[self.rng.below(WIDE.len())];
                let x = format!("{:#x}", SPECIAL64[self.rng.below(SPECIAL64.len())]);
                format!("%ul = {op} {}", ["%ul", &x, "%ul"][..operands].join(", "))
            }
            4 => {
                let op = self.one_of(&["shl.b64", "shr.u64", "shr.s64"]);
                format!("%ul = {op} %ul, {b}")
            }
            _ => {
                let (cmp, ty) = (self.one_of(&FLOAT_RELATIONS), "f32");
                format!("%up = setp.{cmp}.{ty} {a}, {b}")
            }
        }
    }

    /// A register with an index: on a line, any, the same in all lanes, or in runs of lanes side by side.
    fn index(&mut self) -> String {
        match self.rng.below(6) {
            0 | 1 => "%i".to_owned(),
            2 => format!("%r{}", self.rng.below(6)),
            3 => "%n".to_owned(),
            4 => {
                let by = [3, 4, 5][self.rng.below(3)];
                let _ = writeln!(self.text, "  %f = shr.u32 %t, {by}");
                "%f".to_owned()
            }
            _ => {
                let (op, by) =
                    [("xor", 16), ("xor", 1), ("and", 15), ("and", 7)][self.rng.below(4)];
                let _ = writeln!(self.text, "  %f = {op}.b32 %t, {by}");
                "%f".to_owned()
            }
        }
    }

    /// A read-modify-write operation on global or shared words.
    fn atomic(&mut self) {
        let shared = self.rng.one_in(2);
        let wide = self.rng.one_in(3);
        let size = if wide { 8 } else { 4 };
        let index = self.index();
        let _ = writeln!(self.text, "  %f = and.b32 {index}, {}", 2048 / size - 1);
        let at = if shared {
            let _ = writeln!(self.text, "  %at32 = mad.u32 %f, {size}, %s");
            "%at32"
        } else {
            let _ = writeln!(self.text, "  %wide = mulwide.u32 %f, {size}");
            let _ = writeln!(self.text, "  %at = add.u64 %b, %wide");
            "%at"
        };
        let space = if shared { "shared" } else { "global" };
        let op = self.one_of(&["add", "min", "max", "and", "or", "xor", "exch", "cas", "inc"]);
        let sign = match op {
            "min" | "max" => self.one_of(&["u", "s"]),
            "add" | "inc" => "u",
            _ => "b",
        };
        let op = if wide && op == "inc" { "add" } else { op };
        let bits = 8 * size;
        let reg = |b: &mut Self| match wide {
            true => format!("%w{}", b.rng.below(4)),
            false => format!("%r{}", b.rng.below(6)),
        };
        let (d, mut x) = (reg(self), reg(self));
        if op == "cas" {
            x = format!("{x}, {}", reg(self));
        }
        self.line(&format!("{d} = atom.{op}.{space}.{sign}{bits} [{at}], {x}"));
    }

    /// A collective, of all lanes or of those that happen to be on.
    fn collective(&mut self) {
        let [d, a, l] = std::array::from_fn(|_| format!("%r{}", self.rng.below(6)));
        let [p, q] = std::array::from_fn(|_| format!("%p{}", self.rng.below(4)));
        let members = ["0xffffffff", "%u", "0xffff"][self.rng.below(12).saturating_sub(9)];
        let mode = self.one_of(&["up", "down", "bfly", "idx"]);
        let lane = match self.rng.below(4) {
            0 => l,
            1 => "%lane".to_owned(),
            2 => "%n".to_owned(),
            _ => format!("{}", self.rng.below(40)),
        };
        let clamp = [31, 0, 0x1c1f, 0x101f, 0x1800, 7][self.rng.below(6)];
        let vote = self.one_of(&["any", "all", "uni"]);
        let op = self.one_of(&["add", "min", "max", "and", "or", "xor"]);
        let ty = match op {
            "add" => "u32",
            "min" | "max" => self.one_of(&["u32", "s32"]),
            _ => "b32",
        };
        let text = match self.rng.below(8) {
            0 | 1 => format!("{d} = shfl.{mode}.b32 {a}, {lane}, {clamp}, {members}"),
            2 => format!("{d}, {q} = shfl.{mode}.b32 {a}, {lane}, {clamp}, {members}"),
            3 => format!("{d} = ballot {p}, {members}"),
            4 => format!("{q} = vote.{vote} {p}, {members}"),
            5 => format!("{d} = redux.{op}.{ty} {a}, {members}"),
            6 => format!("{d} = match.b32 {a}, {members}"),
            _ => format!("{d} = activemask"),
        };
        let _ = writeln!(self.text, "  {text}");
    }

    /// An access of so many elements of a type: its address is adjacent, the same, far apart, or any.
    fn access(&mut self) {
        let shared = self.rng.one_in(3);
        let (ty, bytes) = [("u8", 1), ("s8", 1), ("u16", 2), ("s16", 2), ("u32", 4), ("u64", 8)]
            [self.rng.below(6)];
        let elements = if bytes >= 4 && self.rng.one_in(3) { 2 } else { 1 };
        let size = bytes * elements;
        let index = self.index();
        let mask = if shared { 2048 / size - 1 } else { 8192 / size - 1 };
        let _ = writeln!(self.text, "  %f = and.b32 {index}, {mask}");
        let stride = if self.rng.one_in(5) { size * 2 } else { size };
        let at = if shared {
            let _ = writeln!(self.text, "  %at32 = mad.u32 %f, {stride}, %s");
            "%at32"
        } else {
            let buffer = self.one_of(&["%a", "%b"]);
            let _ = writeln!(self.text, "  %wide = mulwide.u32 %f, {stride}");
            let _ = writeln!(self.text, "  %at = add.u64 {buffer}, %wide");
            "%at"
        };
        let space = if shared { "shared" } else { self.one_of(&["global", "generic"]) };
        let regs: Vec<String> = (0..elements)
            .map(|i| match bytes {
                8 => format!("%w{}", (self.rng.below(2) + 2 * i as usize) % 4),
                _ => format!("%r{}", (self.rng.below(3) + 3 * i as usize) % 6),
            })
            .collect();
        let regs = regs.join(", ");
        let offset = if self.rng.one_in(3) { format!(" + {size}") } else { String::new() };
        let text = if self.rng.one_in(2) && ty.starts_with('u') {
            format!("st.{space}.{ty} [{at}{offset}], {regs}")
        } else {
            format!("{regs} = ld.{space}.{ty} [{at}{offset}]")
        };
        self.line(&text);
    }

    fn body(&mut self, count: usize, depth: usize) {
        for _ in 0..count {
            if depth > 0 && self.rng.one_in(8) {
                self.labels += 1;
                let (id, guard) = (self.labels, self.guard());
                let _ = writeln!(self.text, "  {guard}br e{id}\nt{id}:");
                self.body(3, depth - 1);
                let _ = writeln!(self.text, "  br j{id}\ne{id}:");
                self.body(2, depth - 1);
                let _ = writeln!(self.text, "j{id}:");
            } else if self.rng.one_in(3) {
                self.access();
            } else if self.rng.one_in(8) {
                self.atomic();
            } else if depth > 1 && self.rng.one_in(8) {
                self.collective();
            } else {
                self.statement();
            }
        }
    }
}

fn kernel(rng: &mut Rng) -> String {
    let mut b = Builder { rng, text: String::new(), labels: 0 };
    let [s0, s1] = std::array::from_fn(|_| SPECIAL[b.rng.below(SPECIAL.len())]);
    let s2 = SPECIAL64[b.rng.below(SPECIAL64.len())];
    let _ = write!(
        b.text,
        "shared @s size 4352 align 16
kernel @k(n: u32, a: u64 global, b: u64 global) {{
  reg %r0, %r1, %r2, %r3, %r4, %r5: b32
  reg %t, %g, %n, %u, %i, %f, %line, %lane, %at32, %s: b32
  reg %w0, %w1, %w2, %w3, %ul, %wl, %at, %out, %a, %b, %wide: b64
  reg %p0, %p1, %p2, %p3, %up, %loop: pred
entry:
  %n = ld.param.u32 [@n]
  %s = mov.u32 @s
  %a = ld.param.u64 [@a]
  %b = ld.param.u64 [@b]
  %t = sreg.u32 tid.x
  %lane = sreg.u32 laneid
  %r0 = sreg.u32 ctaid.x
  %r1 = sreg.u32 ntid.x
  %g = mad.u32 %r0, %r1, %t
  %i = and.b32 %g, 1023
  %line = mad.u32 %t, {}, {s0:#x}
  %u = xor.b32 %n, {s1:#x}
  %ul = mov.b64 {s2:#x}
  %wl = cvt.u64.u32 %t
  %wide = mulwide.u32 %i, 8
  %out = add.u64 %b, %wide
  %w0 = ld.global.u64 [%out]
  %w1 = ld.global.u64 [%out + 64]
  %at = add.u64 %a, %wide
  %r0, %r1 = ld.global.u32 [%at]
  %r2, %r3 = ld.global.u32 [%at + 4096]
  %r4 = mov.b32 {s1:#x}
  %r5 = mul.u32 %g, 0x9e3779b1
  %w2 = mulwide.u32 %r0, %r5
  %w3 = madwide.s32 %r1, %r2, %w0
  %p0 = setp.lt.u32 %r0, %r1
  %p1 = setp.lt.f32 %r2, %r3
  %p2 = setp.gt.s32 %r5, 0
  %p3 = setp.ne.u32 %r0, %r2
  %up = setp.gt.u32 %n, 3
again:
",
        [1, 4, 3, -1i32 as u32, 0x4000_0000][b.rng.below(5)],
    );
    b.body(14, 2);
    // A second round, so that there are rows in registers.
    b.text.push_str("  %line = add.u32 %line, 1\n  %loop = setp.lt.u32 %line, 0x80000002\n");
    let rounds = b.rng.below(3);
    let _ = writeln!(b.text, "  %n = add.u32 %n, 4\n  %loop = setp.lt.u32 %n, {}", 4 * rounds);
    b.text.push_str("  @%loop br again\nend:\n");
    for i in 0..6 {
        let _ = writeln!(b.text, "  %g = mad.u32 %g, 5, %r{i}");
    }
    for i in 0..4 {
        let _ = writeln!(b.text, "  %wl = mad.u64 %wl, 7, %w{i}");
        let _ = writeln!(b.text, "  @%p{i} %g = xor.b32 %g, {}", 1 << i);
    }
    let _ = writeln!(b.text, "  %wide = cvt.u64.u32 %u\n  %wl = add.u64 %wl, %wide");
    let _ = writeln!(b.text, "  %wl = add.u64 %wl, %ul\n  @%up %g = not.b32 %g");
    let _ = writeln!(b.text, "  st.global.u32 [%out], %g\n  st.global.u64 [%out + 8192], %wl");
    b.text.push_str("  ret\n}\n");
    b.text
}

fn all(seeds: std::ops::Range<u64>, count: &mut Count) {
    for seed in seeds {
        let mut rng = Rng::new(seed);
        let text = kernel(&mut rng);
        with_buffers(&text, &mut rng, seed, count);
    }
}

#[test]
fn operations_on_special_values_are_exact() {
    let mut count = Count::default();
    all(0..150, &mut count);
    assert!(count.compared > 150 || count.steps == 0, "{count:?}");
}

/// `KERNELS=100000 SEED=1 cargo test -p simtlab-jit --release --test operations -- --ignored --nocapture`.
#[test]
#[ignore = "a campaign"]
fn many_operations_are_exact() {
    let number = |name: &str, default| {
        std::env::var(name).ok().and_then(|n| n.parse::<u64>().ok()).unwrap_or(default)
    };
    let (first, kernels) = (number("SEED", 1) << 32, number("KERNELS", 1000));
    let mut count = Count::default();
    all(first..first + kernels, &mut count);
    let _ = writeln!(std::io::stdout(), "{count:?}");
}
