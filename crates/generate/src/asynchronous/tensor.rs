//! Copies of tensors: boxes, columns of pixels, rows; one element after the other, by the text of
//! the PTX ISA ("Tensors") and its figures of swizzles.

use super::bulk::{Element, combine, element, fill, give_words};
use super::cluster::before;
use super::writer::{Place, Writer, emit};

/// Numbers of units of 16 bytes in lines of 128 bytes, by the figures of the swizzle modes, and the
/// bytes of a box's inner dimension.
const SWIZZLES: [(usize, &[[usize; 8]]); 7] = [
    (0, &[[0, 1, 2, 3, 4, 5, 6, 7]]),
    (32, &[[0, 1, 2, 3, 4, 5, 6, 7], [1, 0, 3, 2, 5, 4, 7, 6]]),
    (
        64,
        &[
            [0, 1, 2, 3, 4, 5, 6, 7],
            [1, 0, 3, 2, 5, 4, 7, 6],
            [2, 3, 0, 1, 6, 7, 4, 5],
            [3, 2, 1, 0, 7, 6, 5, 4],
        ],
    ),
    (
        128,
        &[
            [0, 1, 2, 3, 4, 5, 6, 7],
            [1, 0, 3, 2, 5, 4, 7, 6],
            [2, 3, 0, 1, 6, 7, 4, 5],
            [3, 2, 1, 0, 7, 6, 5, 4],
            [4, 5, 6, 7, 0, 1, 2, 3],
            [5, 4, 7, 6, 1, 0, 3, 2],
            [6, 7, 4, 5, 2, 3, 0, 1],
            [7, 6, 5, 4, 3, 2, 1, 0],
        ],
    ),
    (128, ATOMS_OF_32),
    // In every second line, the halves of 16 bytes change places.
    (128, ATOMS_OF_32),
    (128, &[[0, 1, 2, 3, 4, 5, 6, 7], [4, 5, 6, 7, 0, 1, 2, 3]]),
];

const ATOMS_OF_32: &[[usize; 8]] = &[
    [0, 1, 2, 3, 4, 5, 6, 7],
    [2, 3, 0, 1, 6, 7, 4, 5],
    [4, 5, 6, 7, 0, 1, 2, 3],
    [6, 7, 4, 5, 2, 3, 0, 1],
];

/// Types of elements: their number in a map, what reductions name, and the NaN that takes the
/// place of elements out of bounds.
const TYPES: &[(u8, &str, Option<u64>)] = &[
    (0, "u8", None),
    (1, "u16", None),
    (2, "u32", None),
    (3, "s32", None),
    (4, "u64", None),
    (5, "s64", None),
    (6, "f16", Some(0x7fff)),
    (7, "f32", Some(0x7fff_ffff)),
    (8, "f64", Some(0x7fff_ffff_ffff_ffff)),
    (9, "bf16", Some(0x7fff)),
];

/// Reductions of tensors, and the types that they have.
const REDUCTIONS: &[(&str, &[&str])] = &[
    ("add", &["u32", "s32", "u64", "f16", "bf16", "f32"]),
    ("min", &["u32", "s32", "u64", "s64", "f16", "bf16"]),
    ("max", &["u32", "s32", "u64", "s64", "f16", "bf16"]),
    ("inc", &["u32"]),
    ("dec", &["u32"]),
    ("and", &["u32", "s32", "u64", "s64"]),
    ("or", &["u32", "s32", "u64", "s64"]),
    ("xor", &["u32", "s32", "u64", "s64"]),
];

enum Mode {
    Box,
    /// Four rows.
    Rows([i64; 4]),
    /// Pixels between corners, and the offsets of a filter.
    Column {
        lower: Vec<i64>,
        upper: Vec<i64>,
        pixels: i64,
        offsets: Vec<i64>,
    },
}

struct Tensor {
    number: u8,
    element: Element,
    /// What elements out of bounds are.
    fill: u64,
    nan: bool,
    swizzle: usize,
    extents: Vec<i64>,
    /// Bytes from one to the next, of all dimensions.
    strides: Vec<i64>,
    sizes: Vec<i64>,
    steps: Vec<i64>,
    at: Vec<i64>,
    mode: Mode,
}

impl Tensor {
    fn rank(&self) -> usize {
        self.extents.len()
    }

    fn new(writer: &mut Writer, load: bool, reduction: Option<&[&str]>) -> Self {
        let rank = 1 + writer.rng.below(5);
        let newer = !writer.groups;
        let kind = match reduction {
            Some(types) => {
                let name = types[writer.rng.below(types.len())];
                TYPES.iter().position(|t| t.1 == name).unwrap_or(0)
            }
            None => writer.rng.below(TYPES.len()),
        };
        let (number, name, nan) = TYPES[kind];
        let element = element(name);
        let size = element.bytes as i64;
        let swizzle = writer.rng.below(if newer { 7 } else { 4 });
        let rng = &mut writer.rng;
        let inner = match SWIZZLES[swizzle].0 {
            0 => 16 * (1 + rng.below(6)) as i64 / size,
            span => span as i64 / size,
        };
        let mode = match rank {
            2 if newer && rng.one_in(2) => {
                let first = rng.below(6) as i64 - 2;
                Mode::Rows([0, 3, 1, 2].map(|row| first + row))
            }
            3.. if rng.one_in(3) => Self::column(writer, rank, load),
            _ => Mode::Box,
        };
        let rng = &mut writer.rng;
        let is_box = matches!(mode, Mode::Box);
        let most = [1, 12, 6, 4, 3][rank - 1];
        let mut extents = vec![(rng.below(3) + 1) as i64 * inner / 2 + 16 / size];
        extents.extend((1..rank).map(|_| 1 + rng.below(most + 1) as i64));
        let (mut sizes, mut steps, mut at) = (vec![inner], vec![1], Vec::new());
        at.push((rng.below(5) as i64 - 2) * 16 / size);
        for &extent in &extents[1..] {
            let step = if is_box && rng.one_in(3) { 1 + rng.below(3) as i64 } else { 1 };
            let box_size = if is_box { 1 + rng.below(most) as i64 } else { 1 };
            sizes.push(box_size);
            steps.push(step);
            at.push(rng.below((extent + 2) as usize) as i64 - 1);
        }
        if let Mode::Column { lower, upper, .. } = &mode {
            for i in 0..rank - 2 {
                extents[i + 1] += 3;
                let range = extents[i + 1] + upper[i] - lower[i];
                at[i + 1] = lower[i] + rng.below(range as usize) as i64;
            }
            at[rank - 1] = at[rank - 1].max(0);
        }
        let mut strides = vec![size];
        let mut bytes = (extents[0] * size + 15) / 16 * 16;
        for &extent in &extents[1..] {
            bytes += 16 * rng.below(2) as i64;
            strides.push(bytes);
            bytes *= extent;
        }
        let has_nan = load && nan.is_some() && rng.one_in(2);
        let fill = if has_nan { nan.unwrap_or(0) } else { 0 };
        let nan = has_nan;
        Self { number, element, fill, nan, swizzle, extents, strides, sizes, steps, at, mode }
    }

    fn column(writer: &mut Writer, rank: usize, load: bool) -> Mode {
        let rng = &mut writer.rng;
        let mut corner = |low: i64| (0..rank - 2).map(|_| rng.below(3) as i64 + low).collect();
        let (lower, upper) = (corner(-1), corner(-1));
        let offsets = (0..rank - 2).map(|_| if load { rng.below(3) as i64 } else { 0 }).collect();
        Mode::Column { lower, upper, pixels: 1 + rng.below(24) as i64, offsets }
    }

    /// Bytes of the whole tensor.
    fn bytes(&self) -> usize {
        let last = self.rank() - 1;
        let bytes = if last == 0 {
            self.extents[0] * self.strides[0]
        } else {
            self.strides[last] * self.extents[last]
        };
        bytes as usize
    }

    /// Coordinates of the first element of each line of shared memory, in order.
    fn lines(&self, at: &[i64]) -> Vec<Vec<i64>> {
        match &self.mode {
            Mode::Rows(rows) => rows.iter().map(|&row| vec![at[0], row]).collect(),
            Mode::Box => {
                let mut lines = vec![vec![at[0]]];
                let count = |i: usize| (self.sizes[i] + self.steps[i] - 1) / self.steps[i];
                // The last dimension changes slowest.
                for (i, &first) in at.iter().enumerate().skip(1) {
                    let slower = (0..count(i)).flat_map(|k| {
                        lines.iter().map(move |line| {
                            let next = first + k * self.steps[i];
                            line.iter().copied().chain([next]).collect()
                        })
                    });
                    lines = slower.collect();
                }
                lines
            }
            Mode::Column { lower, upper, pixels, offsets } => {
                let mut base = at[1..].to_vec();
                let mut lines = Vec::new();
                for _ in 0..*pixels {
                    let moved = base.iter().zip(offsets).map(|(c, o)| c + o);
                    let image = base[base.len() - 1];
                    lines.push([at[0]].into_iter().chain(moved).chain([image]).collect());
                    self.next_pixel(&mut base, lower, upper);
                }
                lines
            }
        }
    }

    /// The next pixel of a bounding box, along W first, then of the next image.
    fn next_pixel(&self, base: &mut [i64], lower: &[i64], upper: &[i64]) {
        for i in 0..lower.len() {
            base[i] += self.steps[i + 1];
            if base[i] < self.extents[i + 1] + upper[i] {
                return;
            }
            base[i] = lower[i];
        }
        base[lower.len()] += 1;
    }

    /// The byte in shared memory of each element, and the one in global memory unless it is out of
    /// bounds.
    fn elements(&self, at: &[i64]) -> Vec<(usize, Option<usize>)> {
        let (size, inner) = (self.element.bytes, self.sizes[0] as usize);
        let pattern = SWIZZLES[self.swizzle].1;
        let mut out = Vec::new();
        for (number, first) in self.lines(at).iter().enumerate() {
            for k in 0..inner {
                let linear = (number * inner + k) * size;
                let (row, unit) = (linear / 128, linear / 16 % 8);
                let mut shared = row * 128 + pattern[row % pattern.len()][unit] * 16 + linear % 16;
                if self.swizzle == 5 && row % 2 == 1 {
                    shared ^= 8;
                }
                let coordinates = [first[0] + k as i64].into_iter().chain(first[1..].to_vec());
                let mut place = Some(0);
                for (i, c) in coordinates.enumerate() {
                    let inside = (0..self.extents[i]).contains(&c);
                    place = place.filter(|_| inside).map(|at| at + (c * self.strides[i]) as usize);
                }
                out.push((shared, place));
            }
        }
        out
    }

    /// The tensor map, without its address.
    fn map(&self) -> Vec<u8> {
        let mut out = vec![0; 128];
        out[..4].copy_from_slice(b"STM1");
        let rank = self.rank();
        out[4] = u8::from(matches!(self.mode, Mode::Column { .. }));
        (out[5], out[6]) = (rank as u8 - 1, self.number);
        (out[8], out[11]) = (self.swizzle.min(3) as u8, self.swizzle.saturating_sub(3) as u8);
        out[10] = u8::from(self.nan);
        for i in 0..rank {
            let extent = self.extents[i] as u32 - 1;
            out[24 + 4 * i..28 + 4 * i].copy_from_slice(&extent.to_le_bytes());
            out[44 + i] = self.steps[i] as u8 - 1;
        }
        for (i, stride) in self.strides[1..].iter().enumerate() {
            out[64 + 8 * i..72 + 8 * i].copy_from_slice(&stride.to_le_bytes());
        }
        let mut number = |at: usize, n: i64| {
            out[at..at + 2].copy_from_slice(&(n as i16).to_le_bytes());
        };
        match &self.mode {
            Mode::Column { lower, upper, pixels, .. } => {
                for i in 0..rank - 2 {
                    number(96 + 2 * i, lower[i]);
                    number(102 + 2 * i, upper[i]);
                }
                number(108, self.sizes[0] - 1);
                number(110, pixels - 1);
            }
            _ => (0..rank).for_each(|i| number(96 + 2 * i, self.sizes[i] - 1)),
        }
        out
    }

    /// Sets coordinates in registers, those of the last dimension by the block, and returns the
    /// operand `[map, {..}]` with the map at `%w0`.
    fn operand(&self, writer: &mut Writer, varies: bool) -> String {
        if let Mode::Rows(rows) = &self.mode {
            let rows = rows.map(|row| row.to_string()).join(", ");
            return format!("[%w0, {{{}, {rows}}}]", self.at[0]);
        }
        let last = self.rank() - 1;
        let mut list: Vec<String> = self.at.iter().map(ToString::to_string).collect();
        if varies {
            emit!(writer, "add.s32 %r10, %cta, {};", self.at[last]);
            list[last] = "%r10".to_owned();
        }
        format!("[%w0, {{{}}}]", list.join(", "))
    }

    /// The coordinates in a block.
    fn at(&self, block: usize, varies: bool) -> Vec<i64> {
        let mut at = self.at.clone();
        if varies && let Some(last) = at.last_mut() {
            *last += block as i64;
        }
        at
    }
}

/// Appends a map; returns its offset.
fn add_map(writer: &mut Writer, map: &[u8], place: Place) -> usize {
    let at = writer.maps.len();
    writer.maps.extend(map);
    writer.addresses.push((at + 16, place));
    at
}

/// Tensor copies to shared memory, whose bytes all threads read.
pub(super) fn load(writer: &mut Writer) {
    load_to(writer, None);
}

/// The same into the memory of a block of the cluster.
pub(super) fn multicast(writer: &mut Writer) {
    let distance = writer.rng.below(writer.cluster);
    load_to(writer, Some(distance));
}

/// A load into the memory of the block itself, or of the one so many on in the cluster.
fn load_to(writer: &mut Writer, distance: Option<usize>) {
    let n = writer.number();
    let t = Tensor::new(writer, true, None);
    let (bar, data) = (format!("boxed{n}"), format!("box{n}"));
    let from = 16 * writer.rng.below(16);
    let content: Vec<u8> = (0..from + t.bytes()).map(|_| writer.rng.bits() as u8).collect();
    let place = writer.provide(&content) + from;
    let map = add_map(writer, &t.map(), Place::Input(place));
    let varies = !matches!(t.mode, Mode::Rows(_)) && t.rank() > 1 && writer.rng.one_in(2);
    let bytes = t.elements(&t.at).len() * t.element.bytes;
    writer.shared(&data, bytes.next_multiple_of(16), 1024);
    writer.barriers(&[(&bar, 1, 1)]);
    let (behind, thread) = (writer.label(), writer.rng.below(writer.threads));
    emit!(
        writer,
        "mov.u32 %r3, {bar};
        mov.u32 %r4, {data};
        add.u64 %w0, %maps, {map};
        setp.ne.u32 %p1, %thread, {thread};"
    );
    let arm = format!("mbarrier.arrive.expect_tx.shared.b64 _, [%r3], {bytes};");
    if let Some(distance) = distance {
        let size = writer.cluster;
        emit!(
            writer,
            "@!%p1 {arm}
            add.u32 %r5, %rank, {distance};
            rem.u32 %r5, %r5, {size};
            shl.b32 %r5, 1, %r5;
            cvt.u16.u32 %h0, %r5;"
        );
        writer.whole_cluster();
    }
    emit!(writer, "@%p1 bra {behind};");
    if writer.rng.one_in(3) {
        emit!(writer, "prefetch.tensormap [%w0];");
    }
    let operand = t.operand(writer, varies);
    let (mode, offsets) = match &t.mode {
        Mode::Box => (["", ".tile"][writer.rng.below(2)], String::new()),
        Mode::Rows(_) => (".tile::gather4", String::new()),
        Mode::Column { offsets, .. } => {
            let list: Vec<String> = offsets.iter().map(ToString::to_string).collect();
            (".im2col", format!(", {{{}}}", list.join(", ")))
        }
    };
    let (space, arm, how, mask) = match distance {
        Some(_) => ("shared::cluster", "", ".multicast::cluster", ", %h0"),
        None => (["shared::cluster", "shared::cta"][writer.rng.below(2)], arm.as_str(), "", ""),
    };
    emit!(
        writer,
        "{arm}
        cp.async.bulk.tensor.{}d.{space}.global{mode}.mbarrier::complete_tx::bytes{how} [%r4], \
         {operand}, [%r3]{offsets}{mask};
        {behind}:",
        t.rank()
    );
    writer.noise(|_| true);
    match distance {
        Some(_) => writer.wait_in_cluster("%r3", "0"),
        None => writer.wait("%r3", "0"),
    }
    let size = t.element.bytes;
    let found: Vec<Vec<u8>> = (0..writer.grid)
        .map(|block| {
            let mut out = vec![0; bytes.next_multiple_of(16)];
            let from_block = distance.map_or(block, |by| before(writer, block, by));
            for (shared, global) in t.elements(&t.at(from_block, varies)) {
                let element = match global {
                    Some(at) => &content[from + at..from + at + size],
                    None => &t.fill.to_le_bytes()[..size],
                };
                out[shared..shared + size].copy_from_slice(element);
            }
            out
        })
        .collect();
    give_words(writer, &data, &found);
    if distance.is_some() {
        writer.whole_cluster();
    }
}

/// Tensor copies and reductions to global memory, to tensors of each block.
pub(super) fn store(writer: &mut Writer) {
    let n = writer.number();
    let reduction = match writer.rng.one_in(2) {
        true => Some(REDUCTIONS[writer.rng.below(REDUCTIONS.len())]),
        false => None,
    };
    let t = Tensor::new(writer, false, reduction.map(|r| r.1));
    let data = format!("boxes{n}");
    let elements = t.elements(&t.at);
    let (size, count) = (t.element.bytes, elements.len());
    let to = writer.written(t.bytes());
    let mut maps = Vec::new();
    let mut content = Vec::new();
    for block in 0..writer.grid {
        maps.push(add_map(writer, &t.map(), Place::Written { block, at: to }));
        let numbers: Vec<i64> = (0..count).map(|_| t.element.number(writer)).collect();
        let held: Vec<i64> = (0..t.bytes() / size).map(|_| t.element.number(writer)).collect();
        let source = t.element.encode(&numbers);
        let before = t.element.encode(&held);
        content.extend(&source);
        content.resize(content.len().next_multiple_of(128), 0);
        for side in &mut writer.mem[block] {
            side[to..to + before.len()].copy_from_slice(&before);
        }
        for &(shared, global) in &elements {
            let Some(at) = global else { continue };
            let new = numbers[shared / size];
            let left = match reduction {
                Some((op, _)) => combine(op, &t.element, held[at / size], new),
                None => new,
            };
            let left = t.element.encode(&[left]);
            writer.mem[block][1][to + at..to + at + size].copy_from_slice(&left);
        }
    }
    let from = writer.provide(&content);
    let stride = content.len() / writer.grid;
    writer.shared(&data, (count * size).next_multiple_of(16), 1024);
    fill(writer, &data, (from, stride), count * size);
    emit!(writer, "fence.proxy.async;");
    writer.everyone();
    let (behind, thread) = (writer.label(), writer.rng.below(writer.threads));
    emit!(
        writer,
        "mad.wide.u32 %w0, %cta, 128, %maps;
        add.u64 %w0, %w0, {};
        setp.ne.u32 %p1, %thread, {thread};
        @%p1 bra {behind};",
        maps[0]
    );
    let operand = t.operand(writer, false);
    let mode = match &t.mode {
        Mode::Box => ["", ".tile"][writer.rng.below(2)],
        Mode::Rows(_) => ".tile::scatter4",
        Mode::Column { .. } => ".im2col_no_offs",
    };
    let (reduce, op) = match reduction {
        Some((op, _)) => (".reduce", format!(".{op}")),
        None => ("", String::new()),
    };
    emit!(
        writer,
        "cp{reduce}.async.bulk.tensor.{}d.global.shared::cta{op}{mode}.bulk_group {operand}, [%r4];
        cp.async.bulk.commit_group;
        cp.async.bulk.wait_group 0;
        {behind}:",
        t.rank()
    );
}
