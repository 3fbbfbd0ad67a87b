//! Every compiled operation against the exact engine: on special values; in convergent, guarded and
//! divergent lanes; with varying, affine, uniform and constant operands; loads and stores of all
//! widths and patterns.

mod alone;
pub(crate) mod table;

use crate::harness::common::launches::number;
use crate::harness::{Count, with_buffers};
use ir::testing::Rng;
use std::fmt::Write as _;
use std::io::Write;
use table::{FLOAT_RELATIONS, MIXED, NARROW, SPECIAL, SPECIAL64, WIDE};

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

    fn short(&mut self) -> String {
        match self.rng.below(6) {
            0 => format!("{:#x}", SPECIAL[self.rng.below(SPECIAL.len())] & 0xffff),
            1 => "%uh".to_owned(),
            _ => format!("%h{}", self.rng.below(4)),
        }
    }

    fn byte(&mut self) -> String {
        format!("{:#x}", [0, 1, 5, 8, 16, 31, 32, 40, 0x96, 0xca, 0xe8, 0xff][self.rng.below(12)])
    }

    /// Returns an operation on values of several kinds.
    fn mixed(&mut self) -> String {
        let (results, op, operands) = MIXED[self.rng.below(MIXED.len())];
        let mut first = self.rng.below(6);
        let results: Vec<String> = results
            .chars()
            .map(|kind| {
                // The results of one instruction go to different registers.
                first += 1;
                format!("%{kind}{}", first % if kind == 'r' { 6 } else { 4 })
            })
            .collect();
        let operands: Vec<String> = operands
            .chars()
            .map(|kind| match kind {
                // A literal must have the type that is converted.
                kind if op.starts_with("cvt") => format!("%{kind}{}", self.rng.below(4)),
                'h' => self.short(),
                'r' => self.value(),
                'w' => self.wide(),
                'p' => self.pred(),
                _ => self.byte(),
            })
            .collect();
        format!("{} = {op} {}", results.join(", "), operands.join(", "))
    }

    /// The same with uniform values.
    fn uniform(&mut self) -> String {
        let with = |kinds: &str| !kinds.contains('p') || kinds == "p";
        let fits = |m: &&(&str, &str, &str)| m.0.len() == 1 && with(m.2);
        let list: Vec<_> = MIXED.iter().filter(fits).collect();
        let (result, op, operands) = list[self.rng.below(list.len())];
        let number = !op.starts_with("cvt");
        let result = match *result {
            "h" => "%uh",
            "r" => "%u",
            "w" => "%ul",
            _ => "%up",
        };
        let operands: Vec<String> = operands
            .chars()
            .map(|kind| match kind {
                'h' if number && self.rng.one_in(2) => {
                    format!("{:#x}", SPECIAL[self.rng.below(SPECIAL.len())] & 0xffff)
                }
                'h' => "%uh".to_owned(),
                'r' if number && self.rng.one_in(2) => {
                    format!("{:#x}", SPECIAL[self.rng.below(SPECIAL.len())])
                }
                'r' => "%u".to_owned(),
                'w' if number && self.rng.one_in(2) => {
                    format!("{:#x}", SPECIAL64[self.rng.below(SPECIAL64.len())])
                }
                'w' => "%ul".to_owned(),
                'p' => "%up".to_owned(),
                _ => self.byte(),
            })
            .collect();
        format!("{result} = {op} {}", operands.join(", "))
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
        // Sometimes an operation with uniform operands.
        let text = match self.rng.below(34) {
            20..=31 => self.mixed(),
            32 | 33 => self.uniform(),
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

    /// Returns an operation with uniform operands.
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

    /// Returns a register with an index: affine, random, uniform, or equal in runs of neighbouring
    /// lanes.
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

    /// Emits a read-modify-write operation on global or shared words.
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
        let op = self.one_of(&[
            "add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec", "fadd",
        ]);
        let sign = match op {
            "min" | "max" => self.one_of(&["u", "s"]),
            "add" | "inc" | "dec" => "u",
            "fadd" => "f",
            _ => "b",
        };
        let op = match op {
            "fadd" => "add",
            "inc" | "dec" if wide => "add",
            op => op,
        };
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

    /// Emits a collective, of all lanes or of the active ones.
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

    /// Emits an access to elements of a type, at adjacent, equal, strided or arbitrary addresses.
    fn access(&mut self) {
        let [shared, local] = [3, 5].map(|n| self.rng.one_in(n));
        let (ty, bytes) = [("u8", 1), ("s8", 1), ("u16", 2), ("s16", 2), ("u32", 4), ("u64", 8)]
            [self.rng.below(6)];
        let elements = if bytes >= 4 && self.rng.one_in(3) { 2 } else { 1 };
        let size = bytes * elements;
        let index = self.index();
        let mask = match (local, shared) {
            (true, _) => 64 / size - 1,
            (_, true) => 2048 / size - 1,
            _ => 8192 / size - 1,
        };
        let _ = writeln!(self.text, "  %f = and.b32 {index}, {mask}");
        let stride = if self.rng.one_in(5) { size * 2 } else { size };
        // Sometimes one address in all lanes, which is another word in each lane.
        let same = local && self.rng.one_in(2);
        let at = if same {
            "%own"
        } else if local {
            let _ = writeln!(self.text, "  %at32 = mad.u32 %f, {stride}, %own");
            "%at32"
        } else if shared {
            let _ = writeln!(self.text, "  %at32 = mad.u32 %f, {stride}, %s");
            "%at32"
        } else {
            let buffer = self.one_of(&["%a", "%b"]);
            let _ = writeln!(self.text, "  %wide = mulwide.u32 %f, {stride}");
            let _ = writeln!(self.text, "  %at = add.u64 {buffer}, %wide");
            "%at"
        };
        let space = match (local, shared) {
            (true, _) => "local",
            (_, true) => "shared",
            _ => self.one_of(&["global", "generic"]),
        };
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

pub(crate) fn kernel(rng: &mut Rng) -> String {
    let mut b = Builder { rng, text: String::new(), labels: 0 };
    let [s0, s1] = std::array::from_fn(|_| SPECIAL[b.rng.below(SPECIAL.len())]);
    let s2 = SPECIAL64[b.rng.below(SPECIAL64.len())];
    let _ = write!(
        b.text,
        "shared @s size 4352 align 16
kernel @k(n: u32, a: u64 global, b: u64 global) {{
  local @own size 152 align 16
  reg %r0, %r1, %r2, %r3, %r4, %r5: b32
  reg %t, %g, %n, %u, %i, %f, %line, %lane, %at32, %s, %own: b32
  reg %w0, %w1, %w2, %w3, %ul, %wl, %at, %out, %a, %b, %wide: b64
  reg %h0, %h1, %h2, %h3, %uh: b16
  reg %p0, %p1, %p2, %p3, %up, %loop: pred
entry:
  %n = ld.param.u32 [@n]
  %s = mov.u32 @s
  %own = mov.u32 @own
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
  %r5 = sreg.u32 tid.y
  %r5 = mad.u32 %g, 0x9e3779b1, %r5
  %w2 = mulwide.u32 %r0, %r5
  %w3 = madwide.s32 %r1, %r2, %w0
  %uh = cvt.u16.u32 %u
  %h0, %h1 = unpack.b32.b16 %r2
  %h2 = cvt.u16.u32 %t
  %h3 = cvt.u16.u32 %r0
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
    // A second iteration, with rows in registers.
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
    for i in 0..4 {
        let _ = writeln!(b.text, "  %f = cvt.u32.u16 %h{i}\n  %g = mad.u32 %g, 3, %f");
    }
    b.text.push_str("  %f = cvt.u32.u16 %uh\n  %g = xor.b32 %g, %f\n");
    let _ = writeln!(b.text, "  %wide = cvt.u64.u32 %u\n  %wl = add.u64 %wl, %wide");
    let _ = writeln!(b.text, "  %wl = add.u64 %wl, %ul\n  @%up %g = not.b32 %g");
    let _ = writeln!(b.text, "  st.global.u32 [%out], %g\n  st.global.u64 [%out + 8192], %wl");
    b.text.push_str("  ret\n}\n");
    b.text
}

fn all(seeds: std::ops::Range<u64>, count: &mut Count) {
    for seed in seeds {
        jit::check_allocations(seed.is_multiple_of(8));
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

/// `KERNELS=100000 SEED=1 cargo test -p simtlab-jit --release --test jit operations -- --ignored
/// --nocapture`.
#[test]
#[ignore = "a campaign"]
fn many_operations_are_exact() {
    let (first, kernels) = (number("SEED", 1) << 32, number("KERNELS", 1000));
    let mut count = Count::default();
    all(first..first + kernels, &mut count);
    let _ = writeln!(std::io::stdout(), "{count:?}");
}
