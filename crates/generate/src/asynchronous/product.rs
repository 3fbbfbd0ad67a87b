//! Asynchronous products of warp groups. Factors lie in shared memory in the canonical layouts of
//! the PTX ISA ("Asynchronous warpgroup level matrix operations"), or the left one in registers;
//! products are sums of small integers.

use super::bulk::{fill, half};
use super::writer::{Writer, emit};

/// A type of factors: its name, its bits, the elements along the depth of a product, the types of
/// its sums, and how a small number is encoded.
struct Factor {
    name: &'static str,
    bits: usize,
    depth: usize,
    sums: &'static [&'static str],
    least: i64,
    most: i64,
    encode: fn(i64) -> u64,
}

fn wide(n: i64) -> u64 {
    u64::from((n as f32).to_bits())
}

/// The 8 bits of a small number with so many bits of exponent.
fn eighth(n: i64, exponent_bits: u32) -> u64 {
    let sign = if n < 0 { 0x80 } else { 0 };
    let magnitude = n.unsigned_abs();
    if magnitude == 0 {
        return 0;
    }
    let exponent = magnitude.ilog2();
    let fraction_bits = 7 - exponent_bits;
    let fraction = (magnitude << fraction_bits >> exponent) & ((1 << fraction_bits) - 1);
    let bias = (1 << (exponent_bits - 1)) - 1;
    sign | u64::from(exponent + bias) << fraction_bits | fraction
}

const fn factor(
    (name, bits, depth): (&'static str, usize, usize),
    sums: &'static [&'static str],
    (least, most): (i64, i64),
    encode: fn(i64) -> u64,
) -> Factor {
    Factor { name, bits, depth, sums, least, most, encode }
}

const FACTORS: &[Factor] = &[
    factor(("f16", 16, 16), &["f32", "f16"], (-4, 4), half),
    factor(("bf16", 16, 16), &["f32"], (-4, 4), |n| wide(n) >> 16),
    factor(("tf32", 32, 8), &["f32"], (-4, 4), wide),
    factor(("e4m3", 8, 32), &["f32", "f16"], (-4, 4), |n| eighth(n, 4)),
    factor(("e5m2", 8, 32), &["f32", "f16"], (-4, 4), |n| eighth(n, 5)),
    factor(("s8", 8, 32), &["s32"], (-128, 127), |n| n as u64 & 0xff),
    factor(("u8", 8, 32), &["s32"], (0, 255), |n| n as u64),
    factor(("b1", 1, 256), &["s32"], (0, 1), |n| n as u64),
];

/// How a factor lies in shared memory: the bytes that a swizzle mode permutes (16 without one), and
/// the bytes between groups of 8 rows and between units along them.
struct Layout {
    span: usize,
    leading: usize,
    stride: usize,
    /// Whether elements of one row or column of the depth follow each other, and not of one depth.
    along_depth: bool,
    bits: usize,
    /// Bytes of one step of the depth's atoms, in swizzled layouts along the depth.
    atom: usize,
}

impl Layout {
    /// A layout for so many rows, and so many elements of the depth in all.
    fn new(writer: &mut Writer, bits: usize, rows: usize, depth: usize) -> (Self, usize) {
        let span = [16, 32, 64, 128][writer.rng.below(4)];
        let along_depth = bits != 16 || writer.rng.one_in(2);
        let gap = 16 * writer.rng.below(2);
        let units = depth * bits / 128;
        let (leading, stride, atom, bytes);
        if along_depth && span == 16 {
            // Groups of 8 rows, or units of the depth, follow each other.
            if writer.rng.one_in(2) {
                (leading, stride) = (128 * (rows / 8) + gap, 128);
            } else {
                (leading, stride) = (128, 128 * units + gap);
            }
            bytes = (rows / 8 - 1) * stride + (units - 1) * leading + 128;
            atom = 0;
        } else if along_depth {
            // Atoms of the span follow each other behind all rows.
            (leading, stride) = (16, 8 * span);
            atom = span * rows;
            bytes = atom * units.div_ceil(span / 16);
        } else {
            let (groups, steps) = (rows.div_ceil(span / 2), depth / 8);
            let block = 8 * span;
            // One of the strides is between blocks along the rows, the other along the depth.
            let (across, along) = match writer.rng.one_in(2) {
                true => (block, block * groups),
                false => (block * steps, block),
            };
            (leading, stride) = if span == 16 { (along, across) } else { (across, along) };
            atom = 0;
            bytes = block * groups * steps;
        }
        (Self { span, leading, stride, along_depth, bits, atom }, bytes)
    }

    /// The byte of an element before addresses are permuted.
    fn place(&self, row: usize, depth: usize) -> usize {
        let (units, group) = (self.span / 16, row / 8);
        if self.along_depth {
            let byte = depth * self.bits / 8;
            let (unit, within) = (byte / 16, byte % 16);
            return match self.span {
                16 => row % 8 * 16 + group * self.stride + unit * self.leading + within,
                span => {
                    let within = unit % units * 16 + within;
                    row % 8 * span + group * self.stride + unit / units * self.atom + within
                }
            };
        }
        let within = row % 8 * 2 + group % units * 16 + depth % 8 * self.span;
        match self.span {
            16 => within + group * self.stride + depth / 8 * self.leading,
            _ => within + group / units * self.leading + depth / 8 * self.stride,
        }
    }

    /// The bytes with bits 4 to 6 of their addresses changed by bits 7 to 9.
    fn permuted(&self, at: usize) -> usize {
        at ^ (at >> 7 & (self.span / 16 - 1)) << 4
    }

    fn descriptor(&self) -> u64 {
        let mode = match self.span {
            128 => 1,
            64 => 2,
            32 => 3,
            _ => 0u64,
        };
        mode << 62 | (self.stride as u64 / 16) << 32 | (self.leading as u64 / 16) << 16
    }
}

/// A product, step by step of its depth.
struct Product {
    factors: [&'static Factor; 2],
    sum: &'static str,
    columns: usize,
    steps: usize,
    signs: [i64; 2],
    registers: bool,
    /// Whether the first step begins with zero.
    clears: bool,
}

impl Product {
    fn new(writer: &mut Writer) -> Self {
        let rng = &mut writer.rng;
        let left = &FACTORS[rng.below(FACTORS.len())];
        // Types of 8 bits mix within floats and within integers.
        let same = |f: &&Factor| {
            f.bits == left.bits && f.sums[0] == left.sums[0] && (f.bits == 8 || f.name == left.name)
        };
        let rights: Vec<&Factor> = FACTORS.iter().filter(same).collect();
        let right = rights[rng.below(rights.len())];
        let columns = match (left.bits, left.sums[0]) {
            // Products of integers have fewer widths.
            (_, "s32") => [8, 16, 24, 32, 48, 64][rng.below(6)],
            _ => {
                let most = [4, 8, 12, 32][rng.below(4)];
                8 * (1 + rng.below(most))
            }
        };
        let sign = |rng: &mut ir::testing::Rng| if rng.one_in(3) { -1 } else { 1 };
        let is_float = left.sums[0] != "s32";
        let signs = if is_float { [sign(rng), sign(rng)] } else { [1, 1] };
        Self {
            factors: [left, right],
            sum: left.sums[rng.below(left.sums.len())],
            columns,
            steps: 1 + rng.below(4),
            signs,
            registers: rng.one_in(3),
            clears: rng.one_in(2),
        }
    }

    fn depth(&self) -> usize {
        self.factors[0].depth
    }

    /// Registers of sums.
    fn sums(&self) -> usize {
        if self.sum == "f16" { self.columns / 4 } else { self.columns / 2 }
    }

    fn instruction(&self, layouts: [&Layout; 2]) -> String {
        let list = |name: &str, count: usize| {
            let names: Vec<String> = (0..count).map(|i| format!("%{name}{i}")).collect();
            format!("{{{}}}", names.join(", "))
        };
        let [left, right] = self.factors;
        let a = if self.registers { list("a", 4) } else { "%w2".to_owned() };
        let signs = match self.sum {
            "s32" => String::new(),
            _ => format!(", {}, {}", self.signs[0], self.signs[1]),
        };
        let major = |layout: &Layout| format!(", {}", u8::from(!layout.along_depth));
        let majors = match (left.bits, self.registers) {
            (16, true) => major(layouts[1]),
            (16, false) => major(layouts[0]) + &major(layouts[1]),
            _ => String::new(),
        };
        let op = if left.bits == 1 { ".and.popc" } else { "" };
        format!(
            "wgmma.mma_async.sync.aligned.m64n{}k{}.{}.{}.{}{op} {}, {a}, %w3, %p3{signs}{majors};",
            self.columns,
            self.depth(),
            self.sum,
            left.name,
            right.name,
            list("d", self.sums())
        )
    }
}

/// A factor: its numbers by row and depth.
type Numbers = Vec<Vec<i64>>;

fn numbers(writer: &mut Writer, factor: &Factor, rows: usize, depth: usize) -> Numbers {
    let range = (factor.most - factor.least + 1) as usize;
    let mut row = |_| (0..depth).map(|_| factor.least + writer.rng.below(range) as i64).collect();
    (0..rows).map(&mut row).collect()
}

/// Puts a factor into bytes, as a layout has it; the others are random.
fn placed(
    writer: &mut Writer,
    factor: &Factor,
    (layout, bytes): (&Layout, usize),
    numbers: &Numbers,
) -> Vec<u8> {
    let mut out: Vec<u8> = (0..bytes).map(|_| writer.rng.bits() as u8).collect();
    for (row, numbers) in numbers.iter().enumerate() {
        for (k, &number) in numbers.iter().enumerate() {
            let (at, bits) = (layout.permuted(layout.place(row, k)), (factor.encode)(number));
            match factor.bits {
                1 => {
                    let mask = 1 << (k % 8);
                    out[at] = out[at] & !mask | (bits as u8) << (k % 8);
                }
                bits_of => {
                    let bytes = bits_of / 8;
                    out[at..at + bytes].copy_from_slice(&bits.to_le_bytes()[..bytes]);
                }
            }
        }
    }
    out
}

/// Warp groups multiply, step by step, and give their sums.
pub(super) fn product(writer: &mut Writer) {
    let n = writer.number();
    let product = Product::new(writer);
    let depth = product.depth() * product.steps;
    let (rows, columns) = (64, product.columns);
    let [left, right] = product.factors;
    let (a_layout, a_bytes) = Layout::new(writer, left.bits, rows, depth);
    let (b_layout, b_bytes) = Layout::new(writer, right.bits, columns, depth);
    let a = numbers(writer, left, rows, depth);
    let b = numbers(writer, right, columns, depth);
    let a_from = if product.registers {
        0
    } else {
        let placed = placed(writer, left, (&a_layout, a_bytes), &a);
        writer.provide(&placed)
    };
    let b_placed = placed(writer, right, (&b_layout, b_bytes), &b);
    let b_from = writer.provide(&b_placed);
    let groups = writer.threads / 128;
    if !product.registers {
        writer.shared(&format!("a{n}"), a_bytes, 1024);
        fill(writer, &format!("a{n}"), (a_from, 0), a_bytes);
    }
    writer.shared(&format!("b{n}"), b_bytes, 1024);
    fill(writer, &format!("b{n}"), (b_from, 0), b_bytes);
    emit!(writer, "fence.proxy.async.shared::cta;");
    writer.everyone();
    let behind = writer.label();
    emit!(
        writer,
        "setp.ge.u32 %p1, %thread, {};
        @%p1 bra {behind};",
        128 * groups
    );
    // What registers hold before, which sums may begin with.
    let begin = |i: usize| i as i64 % 7 - 3;
    for i in 0..product.sums() {
        let bits = match product.sum {
            "f16" => half(begin(2 * i)) | half(begin(2 * i + 1)) << 16,
            "f32" => wide(begin(i)),
            _ => begin(i) as u64 & 0xffff_ffff,
        };
        emit!(writer, "mov.b32 %d{i}, {bits};");
    }
    let pieces = if writer.rng.one_in(2) { 1 } else { product.steps };
    let layouts = [&a_layout, &b_layout];
    steps(writer, (n, &product, layouts), &a, pieces);
    for i in 0..product.sums() {
        let sums = |_: usize, thread: usize| {
            let column = |i: usize| 8 * (i / 4) + thread % 4 * 2 + i % 2;
            let row = |i: usize| thread / 32 % 4 * 16 + thread % 32 / 4 + i / 2 % 2 * 8;
            let sum = |i: usize| {
                let products = a[row(i)].iter().zip(&b[column(i)]).map(|(a, b)| a * b);
                let before = if product.clears { 0 } else { begin(i) };
                before + product.signs[0] * product.signs[1] * products.sum::<i64>()
            };
            match product.sum {
                "f16" => (half(sum(2 * i)) | half(sum(2 * i + 1)) << 16) as u32,
                "f32" => wide(sum(i)) as u32,
                _ => sum(i) as u32,
            }
        };
        writer.give_some(&format!("%d{i}"), 128 * groups, sums);
    }
    emit!(writer, "{behind}:");
}

/// Issues the products of all steps, in one group or one each.
fn steps(
    writer: &mut Writer,
    (n, product, layouts): (usize, &Product, [&Layout; 2]),
    a: &Numbers,
    pieces: usize,
) {
    let per_register = 32 / product.factors[0].bits;
    if !product.registers {
        emit!(writer, "wgmma.fence.sync.aligned;");
    }
    for step in 0..product.steps {
        let depth = step * product.depth();
        if product.registers {
            // The fragment of a row's warp: rows of lanes, then 8 rows on, then half of the depth
            // on.
            let registers: Vec<Vec<u32>> = (0..4)
                .map(|i| {
                    let word = |thread: usize| {
                        let row = thread / 32 % 4 * 16 + thread % 32 / 4 + i % 2 * 8;
                        let k = depth + (thread % 4 + i / 2 * 4) * per_register;
                        (0..per_register).fold(0, |word, e| {
                            let bits = (product.factors[0].encode)(a[row][k + e]) as u32;
                            word | bits << (e * product.factors[0].bits)
                        })
                    };
                    (0..128).map(word).collect()
                })
                .collect();
            let bytes: Vec<u8> =
                registers.iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
            let from = writer.provide(&bytes);
            emit!(
                writer,
                "and.b32 %r0, %thread, 127;
                mad.wide.u32 %w0, %r0, 4, %in;"
            );
            for i in 0..4 {
                emit!(writer, "ld.global.b32 %a{i}, [%w0+{}];", from + 512 * i);
            }
            emit!(writer, "wgmma.fence.sync.aligned;");
        }
        for (name, layout, register) in [("a", layouts[0], "%w2"), ("b", layouts[1], "%w3")] {
            if name == "a" && product.registers {
                continue;
            }
            let start = layout.place(0, depth);
            emit!(
                writer,
                "mov.u32 %r1, {name}{n};
                add.u32 %r1, %r1, {start};
                shr.u32 %r1, %r1, 4;
                and.b32 %r1, %r1, 16383;
                cvt.u64.u32 {register}, %r1;
                or.b64 {register}, {register}, {};",
                layout.descriptor()
            );
        }
        let adds = step > 0 || !product.clears;
        emit!(
            writer,
            "setp.{}.u32 %p3, %thread, %thread;
            {}",
            if adds { "eq" } else { "ne" },
            product.instruction(layouts)
        );
        if pieces > 1 || step + 1 == product.steps || product.registers {
            emit!(writer, "wgmma.commit_group.sync.aligned;");
        }
        if product.registers {
            emit!(writer, "wgmma.wait_group.sync.aligned 0;");
        } else if pieces > 1 && writer.rng.one_in(3) {
            emit!(writer, "wgmma.wait_group.sync.aligned 1;");
        }
    }
    emit!(writer, "wgmma.wait_group.sync.aligned 0;");
}
