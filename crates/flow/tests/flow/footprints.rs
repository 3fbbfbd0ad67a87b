//! Random kernels: their footprints are held against the bytes that each thread accesses.

use flow::analysis::Webs;
use flow::footprint::{Arguments, Footprints};
use flow::kernel::graph_of;
use isa::FileId;
use proptest::prelude::*;
use std::collections::HashMap;
use std::io::Write;

/// Coordinates: those of the CTA, then those of the thread.
const AXES: usize = 6;
const CTA_AXES: usize = 3;

#[derive(Clone, Copy, Debug)]
enum Value {
    /// Registers of 32 and 64 bits, and predicates.
    Narrow(usize),
    Wide(usize),
    Pred(usize),
    Known(u64),
}

use Value::{Known, Narrow, Pred, Wide};

/// A predicate, and what it has to be.
type Guard = Option<(usize, bool)>;

#[derive(Clone, Debug)]
struct Inst {
    name: &'static str,
    to: Value,
    from: Vec<Value>,
    guard: Guard,
}

#[derive(Clone, Debug)]
struct Access {
    /// The register of the address.
    at: usize,
    offset: i64,
    bits: u32,
    words: u32,
    writes: bool,
    guard: Guard,
}

#[derive(Clone, Debug)]
struct Kernel {
    grid: [u32; 3],
    block: [u32; 3],
    /// The parameters: an address, and a number.
    base: u64,
    limit: u32,
    insts: Vec<Inst>,
    /// What threads that do any access have to fulfil.
    branch: (usize, bool),
    accesses: Vec<Access>,
    narrow: usize,
    wide: usize,
    preds: usize,
}

/// What footprints tell.
struct Told {
    /// Of each range, whether it is written, and whether it is disjoint.
    ranges: Vec<(bool, bool)>,
    /// The accesses that have footprints.
    accesses: Vec<Access>,
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(0x14057b7ef767814f);
        let mixed = (self.0 ^ self.0 >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ mixed >> 32) % n
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }

    fn size(&mut self) -> u32 {
        self.pick(&[1, 1, 2, 3, 4])
    }

    fn factor(&mut self) -> Value {
        Known(self.pick(&[1, 2, 3, 4, 4, 5, 8, 8, 12, 16, 0xffff_fffc, 1 << 30]))
    }
}

const COORDINATES: [&str; AXES] = ["ctaid.x", "ctaid.y", "ctaid.z", "tid.x", "tid.y", "tid.z"];
const NARROW: [&str; 18] = [
    "add.u32",
    "add.u32",
    "sub.u32",
    "mul.u32",
    "mad.u32",
    "mad.u32",
    "shl.b32",
    "shr.u32",
    "shr.s32",
    "and.b32",
    "or.b32",
    "min.u32",
    "max.s32",
    "div.u32",
    "rem.u32",
    "neg.s32",
    "selp.b32",
    "cvt.u32.u64",
];
const WIDE: [&str; 11] = [
    "mulwide.u32",
    "mulwide.s32",
    "mulwide.u32",
    "mulwide.s32",
    "cvt.u64.u32",
    "cvt.s64.s32",
    "madwide.u32",
    "madwide.s32",
    "add.u64",
    "sub.u64",
    "and.b64",
];
const COMPARE: [&str; 9] = [
    "setp.lt.u32",
    "setp.le.u32",
    "setp.gt.u32",
    "setp.ge.u32",
    "setp.eq.u32",
    "setp.ne.u32",
    "setp.lt.s32",
    "setp.ge.s32",
    "setp.gt.u64",
];
/// Registers of 32 bits that hold the coordinates, then the parameter, then the number of the
/// thread in x and y of the grid.
const LIMIT: usize = AXES;
const X: usize = AXES + 1;
const Y: usize = AXES + 2;

impl Kernel {
    fn random(seed: u64) -> Self {
        let mut random = Random(seed);
        let [grid, block] = [(); 2].map(|()| [(); 3].map(|()| random.size()));
        let base = random.pick(&[1 << 20, 1 << 20, 1 << 20, (1 << 32) - 64, 64, u64::MAX - 200]);
        let limit = 1 + random.below(30) as u32;
        let mut kernel = Self {
            grid,
            block,
            base,
            limit,
            insts: Vec::new(),
            branch: (0, true),
            accesses: Vec::new(),
            narrow: LIMIT + 1,
            wide: 1,
            preds: 0,
        };
        for (axis, size) in block.into_iter().enumerate().take(2) {
            let size = Known(size.into());
            kernel.push("mad.u32", vec![Narrow(axis), size, Narrow(CTA_AXES + axis)]);
        }
        for _ in 0..2 {
            kernel.compare(&mut random);
        }
        for _ in 0..random.below(6) {
            kernel.compute(&mut random);
        }
        kernel.combine(&mut random);
        kernel.branch = (random.below(kernel.preds as u64) as usize, random.one_in(2));
        for _ in 0..1 + random.below(3) {
            kernel.access(&mut random);
        }
        kernel
    }

    fn push(&mut self, name: &'static str, from: Vec<Value>) -> usize {
        let counter = match name {
            _ if WIDE.contains(&name) => &mut self.wide,
            _ if name.starts_with("setp") || name.ends_with("pred") => &mut self.preds,
            _ => &mut self.narrow,
        };
        *counter += 1;
        let to = *counter - 1;
        let to_value = match name {
            _ if WIDE.contains(&name) => Wide(to),
            _ if name.starts_with("setp") || name.ends_with("pred") => Pred(to),
            _ => Narrow(to),
        };
        self.insts.push(Inst { name, to: to_value, from, guard: None });
        to
    }

    fn narrow(&self, random: &mut Random) -> Value {
        match random.below(3) {
            0 => Narrow(random.pick(&[X, Y, 0, 3])),
            1 => random.factor(),
            _ => Narrow(random.below(self.narrow as u64) as usize),
        }
    }

    fn compare(&mut self, random: &mut Random) {
        let name = random.pick(&COMPARE);
        let from = if name.ends_with("64") {
            vec![Wide(random.below(self.wide as u64) as usize), Known(self.base + 40)]
        } else {
            let left = if random.one_in(2) { Narrow(X) } else { self.narrow(random) };
            let right = if random.one_in(2) { Narrow(LIMIT) } else { self.narrow(random) };
            if random.one_in(3) { vec![right, left] } else { vec![left, right] }
        };
        self.push(name, from);
    }

    fn combine(&mut self, random: &mut Random) {
        let name = random.pick(&["and.pred", "or.pred", "not.pred"]);
        let count = if name == "not.pred" { 1 } else { 2 };
        let from = (0..count).map(|_| Pred(random.below(self.preds as u64) as usize)).collect();
        self.push(name, from);
    }

    /// Adds an instruction that computes a number of 32 bits.
    fn compute(&mut self, random: &mut Random) {
        let name = random.pick(&NARROW);
        let any = self.narrow(random);
        let pred = Pred(random.below(self.preds as u64) as usize);
        let from = match name {
            "neg.s32" => vec![any],
            "cvt.u32.u64" => vec![Wide(random.below(self.wide as u64) as usize)],
            "shl.b32" | "shr.u32" | "shr.s32" => vec![any, Known(random.below(5))],
            "and.b32" => vec![any, Known(random.pick(&[0, 1, 3, 7, 12, 31, 0xffff_fff8]))],
            "div.u32" | "rem.u32" => vec![any, Known(1 + random.below(9))],
            "mul.u32" if random.one_in(2) => vec![any, Narrow(LIMIT)],
            "mul.u32" => vec![any, random.factor()],
            "mad.u32" => vec![any, random.pick(&[Narrow(LIMIT), Known(4)]), self.narrow(random)],
            "selp.b32" => vec![any, self.narrow(random), pred],
            _ => vec![any, self.narrow(random)],
        };
        self.push(name, from);
        let Some(inst) = self.insts.last_mut() else { return };
        // Registers that are written twice, or in some lanes.
        if random.one_in(12) && self.narrow > Y + 2 {
            inst.to = Narrow(Y + 1);
            inst.guard = Some((0, random.one_in(2)));
        }
    }

    /// Adds an access, and what computes its address.
    fn access(&mut self, random: &mut Random) {
        let again = !self.accesses.is_empty() && random.one_in(2);
        let at = if again { self.accesses[0].at } else { self.address(random) };
        let guard = random.one_in(3).then(|| (random.below(self.preds as u64) as usize, true));
        let offset = random.pick(&[0, 0, 0, 4, 8, -4, 64]);
        let (bits, words) = random.pick(&[(32, 1), (32, 1), (8, 1), (16, 1), (64, 1), (32, 2)]);
        let writes = random.one_in(2);
        self.accesses.push(Access { at, offset, bits, words, writes, guard });
    }

    fn address(&mut self, random: &mut Random) -> usize {
        if random.one_in(2) {
            // As compilers make them.
            let row = vec![Narrow(Y), Narrow(LIMIT), Narrow(X)];
            let number = if random.one_in(2) { self.push("mad.u32", row) } else { X };
            let scaled = self.push("mulwide.u32", vec![Narrow(number), Known(4)]);
            return self.push("add.u64", vec![Wide(0), Wide(scaled)]);
        }
        let name = random.pick(&WIDE[..8]);
        let last = Narrow(self.narrow - 1);
        let any = if random.one_in(2) { last } else { self.narrow(random) };
        let wide = Wide(random.below(self.wide as u64) as usize);
        let from = match name {
            _ if name.starts_with("cvt") => vec![any],
            _ if name.starts_with("mad") => vec![any, random.factor(), wide],
            _ => vec![any, random.factor()],
        };
        let scaled = self.push(name, from);
        let name = random.pick(&["add.u64", "add.u64", "sub.u64"]);
        let sum = self.push(name, vec![Wide(0), Wide(scaled)]);
        if random.one_in(6) {
            return self.push("and.b64", vec![Wide(sum), Known(random.pick(&[!15, !3, 0xffff]))]);
        }
        sum
    }

    fn text(&self) -> String {
        let list = |name: char, count: usize| {
            (0..count).map(|i| format!("%{name}{i}")).collect::<Vec<_>>().join(", ")
        };
        let show = |value: &Value, wide: bool| match *value {
            Narrow(i) => format!("%n{i}"),
            Wide(i) => format!("%w{i}"),
            Pred(i) => format!("%p{i}"),
            Known(bits) if wide => format!("{bits}"),
            Known(bits) => format!("{}", bits as u32),
        };
        let guard = |guard: Guard| match guard {
            Some((i, holds)) => format!("@{}%p{i} ", if holds { "" } else { "!" }),
            None => String::new(),
        };
        let mut text = format!(
            "kernel @k(x: u64, n: u32) {{\nreg {}: b32\nreg {}: b64\nreg {}: pred\nentry:\n\
             %w0 = ld.param.u64 [@x]\n%n{LIMIT} = ld.param.u32 [@n]\n",
            list('n', self.narrow),
            list('w', self.wide),
            list('p', self.preds)
        );
        for (axis, name) in COORDINATES.iter().enumerate() {
            text += &format!("%n{axis} = sreg.u32 {name}\n");
        }
        for Inst { name, to, from, guard: when } in &self.insts {
            let wide = name.ends_with("64") && !name.starts_with("cvt");
            let from: Vec<String> = from.iter().map(|value| show(value, wide)).collect();
            let (when, to) = (guard(*when), show(to, false));
            text += &format!("{when}{to} = {name} {}\n", from.join(", "));
        }
        let (branch, holds) = self.branch;
        text += &format!("{}br done\nwork:\n", guard(Some((branch, !holds))));
        for access in &self.accesses {
            let Access { at, offset, bits, words, writes, .. } = *access;
            let place = format!("[%w{at}{offset:+}]");
            let name = if bits == 64 { "w" } else { "n" };
            let when = guard(access.guard);
            text += &match (writes, words) {
                (true, 1) => format!("{when}st.global.u{bits} {place}, %{name}0\n"),
                (true, _) => format!("{when}st.global.u{bits} {place}, %{name}0, %{name}0\n"),
                (false, 1) => format!("{when}_ = ld.global.u{bits} {place}\n"),
                (false, _) => format!("{when}_, %n0 = ld.global.u{bits} {place}\n"),
            };
        }
        text + "done:\nret\n}\n"
    }

    /// Returns the addresses and lengths of what a thread accesses by some accesses, and whether it
    /// writes.
    fn thread(&self, at: [u32; AXES], accesses: &[Access]) -> Vec<(u64, u64, bool)> {
        let mut narrow = vec![0u32; self.narrow];
        let (mut wide, mut preds) = (vec![self.base; self.wide], vec![false; self.preds]);
        narrow[..AXES].copy_from_slice(&at);
        narrow[LIMIT] = self.limit;
        for inst in &self.insts {
            if inst.guard.is_some_and(|(i, holds)| preds[i] != holds) {
                continue;
            }
            let value = |value: &Value| match *value {
                Narrow(i) => narrow[i].into(),
                Wide(i) => wide[i],
                Pred(i) => preds[i].into(),
                Known(bits) => bits,
            };
            let from: Vec<u64> = inst.from.iter().map(value).collect();
            let result = compute(inst.name, &from);
            match inst.to {
                Narrow(i) => narrow[i] = result as u32,
                Wide(i) => wide[i] = result,
                Pred(i) => preds[i] = result & 1 != 0,
                Known(_) => {}
            }
        }
        if preds[self.branch.0] != self.branch.1 {
            return Vec::new();
        }
        let done = accesses.iter().filter(|a| a.guard.is_none_or(|(i, on)| preds[i] == on));
        done.map(|access| {
            let at = wide[access.at].wrapping_add_signed(access.offset);
            (at, u64::from(access.bits / 8 * access.words), access.writes)
        })
        .collect()
    }

    /// Returns whether any CTA writes a byte of a range, and whether another one accesses it, by
    /// some accesses.
    fn uses(&self, (base, len): (u64, u64), accesses: &[Access]) -> (bool, bool) {
        /// The first CTA, whether there is another one, and whether any writes.
        type Users = (u32, bool, bool);
        let mut users: HashMap<u64, Users> = HashMap::new();
        let ([cx, cy, cz], [tx, ty, tz]) = (self.grid, self.block);
        for cta in 0..cx * cy * cz {
            for thread in 0..tx * ty * tz {
                let [x, y, z] = [thread % tx, thread / tx % ty, thread / tx / ty];
                let at = [cta % cx, cta / cx % cy, cta / cx / cy, x, y, z];
                for (at, bytes, writes) in self.thread(at, accesses) {
                    for byte in (0..bytes).map(|i| at.wrapping_add(i)) {
                        if byte < base || byte - base >= len {
                            continue;
                        }
                        let user = users.entry(byte).or_insert((cta, false, false));
                        *user = (user.0, user.1 || user.0 != cta, user.2 || writes);
                    }
                }
            }
        }
        let written = users.values().any(|user| user.2);
        (written, users.values().any(|&(_, several, writes)| several && writes))
    }

    /// Returns what footprints tell of ranges, as far as they are known.
    fn told(&self, ranges: &[(u64, u64)]) -> Option<Told> {
        let params = [&self.base.to_le_bytes()[..], &self.limit.to_le_bytes()].concat();
        let arguments = Arguments { grid: self.grid, block: self.block, params: &params };
        let module = ir::text::parse(FileId(0), &self.text()).expect("it is right");
        let function = &module.functions[0];
        let graph = graph_of(function).expect("it has a graph");
        let footprints = Footprints::new(function, &graph, &Webs::new(function, &graph));
        let found = footprints.in_launch(&arguments)?;
        let accesses = (0..).zip(&self.accesses).filter(|(i, _)| footprints.has(1, *i));
        let accesses = accesses.map(|(_, access)| access.clone());
        let told =
            |&(at, len): &(u64, u64)| (found.is_written(at, len), found.is_disjoint(at, len));
        Some(Told { ranges: ranges.iter().map(told).collect(), accesses: accesses.collect() })
    }
}

/// What an instruction computes, written from its definition.
fn compute(name: &str, from: &[u64]) -> u64 {
    let [a, b, c] = std::array::from_fn(|i| from.get(i).copied().unwrap_or(0));
    let (n, m, k) = (a as u32, b as u32, c as u32);
    let (s, t) = (n.cast_signed(), m.cast_signed());
    let narrow = match name {
        "add.u32" => n.wrapping_add(m),
        "sub.u32" => n.wrapping_sub(m),
        "mul.u32" => n.wrapping_mul(m),
        "mad.u32" => n.wrapping_mul(m).wrapping_add(k),
        "shl.b32" => n << m,
        "shr.u32" => n >> m,
        "shr.s32" => (s >> m).cast_unsigned(),
        "and.b32" => n & m,
        "or.b32" => n | m,
        "min.u32" => n.min(m),
        "max.s32" => s.max(t).cast_unsigned(),
        "div.u32" => n / m,
        "rem.u32" => n % m,
        "neg.s32" => n.wrapping_neg(),
        "selp.b32" if c != 0 => n,
        "selp.b32" => m,
        "cvt.u32.u64" => n,
        "setp.lt.u32" => (n < m).into(),
        "setp.le.u32" => (n <= m).into(),
        "setp.gt.u32" => (n > m).into(),
        "setp.ge.u32" => (n >= m).into(),
        "setp.eq.u32" => (n == m).into(),
        "setp.ne.u32" => (n != m).into(),
        "setp.lt.s32" => (s < t).into(),
        "setp.ge.s32" => (s >= t).into(),
        "setp.gt.u64" => (a > b).into(),
        "and.pred" => n & m,
        "or.pred" => n | m,
        "not.pred" => n ^ 1,
        _ => return compute_wide(name, [a, b, c], [i64::from(s), i64::from(t)]),
    };
    narrow.into()
}

fn compute_wide(name: &str, [a, b, c]: [u64; 3], [s, t]: [i64; 2]) -> u64 {
    let low = |bits: u64| bits & 0xffff_ffff;
    match name {
        "mulwide.u32" => low(a) * low(b),
        "mulwide.s32" => (s * t).cast_unsigned(),
        "cvt.u64.u32" => low(a),
        "cvt.s64.s32" => s.cast_unsigned(),
        "madwide.u32" => (low(a) * low(b)).wrapping_add(c),
        "madwide.s32" => (s * t).cast_unsigned().wrapping_add(c),
        "add.u64" => a.wrapping_add(b),
        "sub.u64" => a.wrapping_sub(b),
        "and.b64" => a & b,
        _ => unreachable!("{name}"),
    }
}

/// All memory, and a part of it near the base.
fn ranges(kernel: &Kernel, seed: u64) -> [(u64, u64); 3] {
    let (before, len) = (seed % 64, seed / 64 % 256);
    [(0, u64::MAX), (kernel.base - before, len), (kernel.base.saturating_add(before), len)]
}

/// Returns the numbers of ranges that are called disjoint, and not written, of a kernel that has
/// footprints.
fn check(seed: u64) -> Result<[usize; 2], String> {
    let kernel = Kernel::random(seed);
    let ranges = ranges(&kernel, seed);
    let Some(Told { ranges: told, accesses }) = kernel.told(&ranges) else { return Ok([0; 2]) };
    let mut claims = [0; 2];
    for (range, (written, disjoint)) in ranges.into_iter().zip(told) {
        if written && !disjoint || accesses.is_empty() {
            continue;
        }
        claims[usize::from(!disjoint)] += 1;
        let (is_written, meet) = kernel.uses(range, &accesses);
        if meet || is_written && !written {
            return Err(format!("{range:?} of {kernel:?}\n{}", kernel.text()));
        }
    }
    Ok(claims)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn kernels_keep_to_what_footprints_tell(seed in any::<u64>()) {
        let checked = check(seed);
        prop_assert!(checked.is_ok(), "{}", checked.unwrap_err());
    }
}

/// The property above would hold, too, if nothing were told.
#[test]
fn much_is_told_of_random_kernels() {
    let claims = (0..600).map(|seed| check(seed * 0x9e37_79b9).unwrap());
    let [disjoint, unwritten] = claims.fold([0; 2], |all, some| [0, 1].map(|i| all[i] + some[i]));
    assert!(disjoint > 60 && unwritten > 60, "{disjoint}, {unwritten}");
}

/// Run with `KERNELS=1000000 cargo test -p simtlab-flow --test flow -- --ignored footprints`.
#[test]
#[ignore = "a campaign"]
fn more_kernels_keep_to_what_footprints_tell() {
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse::<u64>().ok());
    let (count, first) = (number("KERNELS").unwrap_or(1_000_000), number("SEED").unwrap_or(0));
    let mut all = [0; 2];
    for seed in first..first + count {
        let claims = check(seed).unwrap();
        all = [0, 1].map(|i| all[i] + claims[i]);
    }
    let what = "ranges called disjoint, and not written";
    writeln!(std::io::stderr(), "{what}, of {count} kernels: {all:?}").expect("it can be written");
}
