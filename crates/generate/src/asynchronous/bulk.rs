//! Bulk copies between global and shared memory, and reductions.

use super::barriers::copy;
use super::writer::{INPUT, Writer, emit};

/// Lanes copy pieces to shared memory, which all threads read.
pub(super) fn loads(writer: &mut Writer) {
    let n = writer.number();
    let (bar, data) = (format!("loaded{n}"), format!("data{n}"));
    let rng = &mut writer.rng;
    let (lanes, units, step) = (1 + rng.below(32), 1 + rng.below(5), rng.below(40));
    let (warp, rounds) = (rng.below(writer.threads / 32), 1 + rng.below(2));
    let (from, gap) = (16 * rng.below(100), 16 * (units + rng.below(3)));
    // Of each piece, bytes at the ends that are not copied.
    let cut = if rng.one_in(3) { Some([rng.below(16), rng.below(16)]) } else { None };
    let bytes = gap * lanes * rounds;
    writer.shared(&data, bytes, 128);
    writer.barriers(&[(&bar, 1, lanes)]);
    let behind = writer.label();
    emit!(
        writer,
        "mov.u32 %r3, {bar};
        mov.u32 %r4, {data};"
    );
    // What no copy writes is zero.
    clear(writer, bytes / 4);
    emit!(writer, "fence.proxy.async.shared::cta;");
    writer.everyone();
    let source = |block: usize, lane: usize, round: usize| {
        from + 16 * (lane * step + 40 * round + 32 * block)
    };
    let size = |lane: usize| 16 * (1 + lane % units);
    emit!(
        writer,
        "setp.ne.u32 %p1, %warp, {warp};
        setp.ge.or.u32 %p1, %lane, {lanes}, %p1;
        @%p1 bra {behind};
        rem.u32 %r5, %lane, {units};
        mad.lo.u32 %r5, %r5, 16, 16;
        mul.lo.u32 %r6, %r5, {rounds};
        mbarrier.arrive.expect_tx.shared.b64 _, [%r3], %r6;"
    );
    for round in 0..rounds {
        emit!(
            writer,
            "mad.lo.u32 %r7, %lane, {}, {};
            mad.lo.u32 %r7, %cta, 512, %r7;
            cvt.u64.u32 %w0, %r7;
            add.u64 %w0, %in, %w0;
            mad.lo.u32 %r8, %lane, {gap}, {};
            add.u32 %r8, %r8, %r4;",
            16 * step,
            from + 640 * round,
            gap * lanes * round
        );
        match cut {
            None => copy(writer, ["%r8", "%w0"], "%r5", "%r3"),
            Some([left, right]) => emit!(
                writer,
                "mov.u32 %r9, {left};
                cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.ignore_oob \
                 [%r8], [%w0], %r5, %r9, {right}, [%r3];"
            ),
        }
    }
    emit!(writer, "{behind}:");
    writer.noise(|_| true);
    writer.wait("%r3", "0");
    let mut found = vec![vec![0u8; bytes]; writer.grid];
    for (block, found) in found.iter_mut().enumerate() {
        for (lane, round) in (0..lanes).flat_map(|lane| (0..rounds).map(move |r| (lane, r))) {
            let [left, right] = cut.unwrap_or_default();
            let (to, at) = (gap * (lanes * round + lane), source(block, lane, round));
            let end = (size(lane) - right).max(left);
            found[to + left..to + end].copy_from_slice(&writer.input[at + left..at + end]);
        }
    }
    debug_assert!(source(writer.grid, lanes, rounds) + size(lanes) < INPUT, "beyond the input");
    give_words(writer, &data, &found);
}

/// Sets words of shared memory at `%r4` to zero.
fn clear(writer: &mut Writer, words: usize) {
    let (again, behind) = (writer.label(), writer.label());
    emit!(
        writer,
        "mov.u32 %r0, %thread;
        {again}:
        setp.ge.u32 %p1, %r0, {words};
        @%p1 bra {behind};
        mad.lo.u32 %r1, %r0, 4, %r4;
        st.shared.u32 [%r1], 0;
        add.u32 %r0, %r0, {};
        bra {again};
        {behind}:",
        writer.threads
    );
}

/// Has the threads give all words of a shared variable.
pub(super) fn give_words(writer: &mut Writer, variable: &str, found: &[Vec<u8>]) {
    let (again, behind) = (writer.label(), writer.label());
    let (words, at) = (found[0].len() / 4, writer.results(found[0].len()));
    emit!(
        writer,
        "mov.u32 %r0, %thread;
        mov.u32 %r4, {variable};
        {again}:
        setp.ge.u32 %p1, %r0, {words};
        @%p1 bra {behind};
        mad.lo.u32 %r1, %r0, 4, %r4;
        ld.shared.u32 %r1, [%r1];
        mad.wide.u32 %w0, %r0, 4, %out;
        st.global.u32 [%w0+{at}], %r1;
        add.u32 %r0, %r0, {};
        bra {again};
        {behind}:",
        writer.threads
    );
    for (block, found) in found.iter().enumerate() {
        writer.result(block, at, found);
    }
}

/// Has the threads copy bytes of the input, at a place and so many bytes a block from there, to a
/// shared variable.
pub(super) fn fill(
    writer: &mut Writer,
    variable: &str,
    (from, stride): (usize, usize),
    bytes: usize,
) {
    let (again, behind) = (writer.label(), writer.label());
    emit!(
        writer,
        "mov.u32 %r0, %thread;
        mov.u32 %r4, {variable};
        mad.wide.u32 %w1, %cta, {stride}, %in;
        {again}:
        setp.ge.u32 %p1, %r0, {};
        @%p1 bra {behind};
        mad.wide.u32 %w0, %r0, 4, %w1;
        ld.global.u32 %r2, [%w0+{from}];
        mad.lo.u32 %r1, %r0, 4, %r4;
        st.shared.u32 [%r1], %r2;
        add.u32 %r0, %r0, {};
        bra {again};
        {behind}:",
        bytes / 4,
        writer.threads
    );
}

/// A type of elements: its name, its bytes, and how a number is encoded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Element {
    pub(super) name: &'static str,
    pub(super) bytes: usize,
    encode: fn(i64) -> u64,
    /// Whether all bits mean something, and not only small numbers.
    all: bool,
}

const fn integer(name: &'static str, bytes: usize) -> Element {
    Element { name, bytes, encode: |n| n as u64, all: true }
}

/// The 16 bits of a small number, as `f16`.
pub(super) fn half(n: i64) -> u64 {
    let sign = if n < 0 { 0x8000 } else { 0 };
    let magnitude = n.unsigned_abs();
    if magnitude == 0 {
        return 0;
    }
    let exponent = u64::from(magnitude.ilog2());
    let fraction = (magnitude << 10 >> exponent) & 0x3ff;
    sign | (exponent + 15) << 10 | fraction
}

fn float(n: i64) -> u64 {
    u64::from((n as f32).to_bits())
}

fn double(n: i64) -> u64 {
    (n as f64).to_bits()
}

/// The types that have a minimum and a maximum.
const ORDERED: &[Element] = &[
    integer("u32", 4),
    integer("s32", 4),
    integer("u64", 8),
    integer("s64", 8),
    Element { name: "f16", bytes: 2, encode: half, all: false },
    Element { name: "bf16", bytes: 2, encode: |n| float(n) >> 16, all: false },
];

/// Operations and the types that they have towards global memory.
const REDUCTIONS: &[(&str, &[Element])] = &[
    ("and", &[integer("b32", 4), integer("b64", 8)]),
    ("or", &[integer("b32", 4), integer("b64", 8)]),
    ("xor", &[integer("b32", 4), integer("b64", 8)]),
    (
        "add",
        &[
            integer("u32", 4),
            integer("s32", 4),
            integer("u64", 8),
            Element { name: "f32", bytes: 4, encode: float, all: false },
            Element { name: "f64", bytes: 8, encode: double, all: false },
            Element { name: "noftz.f16", bytes: 2, encode: half, all: false },
            Element { name: "noftz.bf16", bytes: 2, encode: |n| float(n) >> 16, all: false },
        ],
    ),
    ("inc", &[integer("u32", 4)]),
    ("dec", &[integer("u32", 4)]),
    ("min", ORDERED),
    ("max", ORDERED),
];

/// The element type of a name without its modifier.
pub(super) fn element(name: &'static str) -> Element {
    match name {
        "f16" => Element { name, bytes: 2, encode: half, all: false },
        "bf16" => Element { name, bytes: 2, encode: |n| float(n) >> 16, all: false },
        "f32" => Element { name, bytes: 4, encode: float, all: false },
        "f64" => Element { name, bytes: 8, encode: double, all: false },
        "u8" => integer(name, 1),
        "u16" => integer(name, 2),
        "u32" | "s32" => integer(name, 4),
        _ => integer(name, 8),
    }
}

/// What a reduction leaves: of numbers whose bits are elements, or of small numbers.
pub(super) fn combine(op: &str, element: &Element, old: i64, new: i64) -> i64 {
    let bits = 8 * element.bytes as u32;
    let unsigned = |n: i64| if bits == 64 { n as u64 } else { n as u64 & ((1 << bits) - 1) };
    let signed = |n: i64| n << (64 - bits) >> (64 - bits);
    let is_signed = !element.all || element.name.starts_with('s');
    let less = match is_signed {
        true if element.all => signed(old) < signed(new),
        true => old < new,
        false => unsigned(old) < unsigned(new),
    };
    match op {
        "and" => old & new,
        "or" => old | new,
        "xor" => old ^ new,
        "add" => old.wrapping_add(new),
        "inc" if unsigned(old) >= unsigned(new) => 0,
        "inc" => old.wrapping_add(1),
        "dec" if unsigned(old) == 0 || unsigned(old) > unsigned(new) => new,
        "dec" => old.wrapping_sub(1),
        "min" if less => old,
        "max" if !less => old,
        _ => new,
    }
}

impl Element {
    /// A random number of this type.
    pub(super) fn number(&self, writer: &mut Writer) -> i64 {
        match self.all {
            true if writer.rng.one_in(2) => writer.rng.value() as i64,
            true => writer.rng.bits() as i64,
            // Sums of some of them have at most 8 bits.
            false => writer.rng.below(9) as i64 - 4,
        }
    }

    pub(super) fn encode(&self, numbers: &[i64]) -> Vec<u8> {
        let bytes = |&n: &i64| (self.encode)(n).to_le_bytes()[..self.bytes].to_vec();
        numbers.iter().flat_map(bytes).collect()
    }
}

/// What a store does.
#[derive(Clone, Copy)]
enum Store {
    Plain,
    Masked(u16),
    Reduce(&'static str, Element),
}

impl Store {
    fn new(writer: &mut Writer) -> Self {
        let rng = &mut writer.rng;
        match rng.below(5) {
            0 => Self::Plain,
            1 if !writer.groups => Self::Masked(rng.bits() as u16),
            1 => Self::Plain,
            _ => {
                let (op, elements) = REDUCTIONS[rng.below(REDUCTIONS.len())];
                Self::Reduce(op, elements[rng.below(elements.len())])
            }
        }
    }

    /// Whether blocks may store to the same bytes.
    fn commutes(self) -> bool {
        matches!(self, Self::Reduce(op, _) if op != "inc" && op != "dec")
    }

    fn text(self) -> String {
        match self {
            Self::Plain => "cp.async.bulk.global.shared::cta.bulk_group".to_owned(),
            Self::Masked(_) => "cp.async.bulk.global.shared::cta.bulk_group.cp_mask".to_owned(),
            Self::Reduce(op, element) => {
                format!("cp.reduce.async.bulk.global.shared::cta.bulk_group.{op}.{}", element.name)
            }
        }
    }

    /// Elements of what is stored, or of bytes.
    fn element(self) -> Element {
        match self {
            Self::Reduce(_, element) => element,
            _ => integer("b8", 1),
        }
    }
}

/// Lanes store pieces of shared memory to global memory, or reduce them.
pub(super) fn stores(writer: &mut Writer) {
    let n = writer.number();
    let store = Store::new(writer);
    let (lanes, units) = (1 + writer.rng.below(8), 1 + writer.rng.below(6));
    let rounds = match store {
        Store::Reduce(..) => 1 + writer.rng.below(3),
        _ => 1,
    };
    let warp = writer.rng.below(writer.threads / 32);
    let common = store.commutes() && writer.rng.one_in(2);
    let (bytes, element) = (16 * units * lanes, store.element());
    let count = bytes / element.bytes;
    let blocks = writer.grid;
    let source: Vec<Vec<i64>> =
        (0..blocks).map(|_| (0..count).map(|_| element.number(writer)).collect()).collect();
    let content: Vec<u8> = source.iter().flat_map(|numbers| element.encode(numbers)).collect();
    let from = writer.provide(&content);
    let to = writer.written(bytes);
    let mut held: Vec<Vec<i64>> =
        (0..blocks).map(|_| (0..count).map(|_| element.number(writer)).collect()).collect();
    for (block, numbers) in held.iter().enumerate() {
        let bytes = element.encode(numbers);
        for side in &mut writer.mem[block] {
            side[to..to + bytes.len()].copy_from_slice(&bytes);
        }
    }
    for (block, numbers) in source.iter().enumerate() {
        let of = if common { 0 } else { block };
        for (k, (old, &new)) in held[of].iter_mut().zip(numbers).enumerate() {
            for _ in 0..rounds {
                *old = match store {
                    Store::Plain => new,
                    Store::Masked(mask) if mask >> (k % 16) & 1 == 0 => *old,
                    Store::Masked(_) => new,
                    Store::Reduce(op, element) => combine(op, &element, *old, new),
                };
            }
        }
    }
    for (block, numbers) in held.iter().enumerate() {
        let bytes = element.encode(numbers);
        writer.mem[block][1][to..to + bytes.len()].copy_from_slice(&bytes);
    }
    let data = format!("stored{n}");
    writer.shared(&data, bytes, 128);
    fill(writer, &data, (from, bytes), bytes);
    emit!(writer, "fence.proxy.async;");
    writer.everyone();
    issue(writer, store, (lanes, 16 * units, warp), (to, common, rounds));
}

/// Issues stores of lanes of a warp, at `%r4`, and waits for them.
fn issue(
    writer: &mut Writer,
    store: Store,
    (lanes, piece, warp): (usize, usize, usize),
    (to, common, rounds): (usize, bool, usize),
) {
    let behind = writer.label();
    let base = if common { "%every" } else { "%mem" };
    emit!(
        writer,
        "setp.ne.u32 %p1, %warp, {warp};
        setp.ge.or.u32 %p1, %lane, {lanes}, %p1;
        @%p1 bra {behind};
        mul.lo.u32 %r5, %lane, {piece};
        add.u32 %r6, %r4, %r5;
        cvt.u64.u32 %w0, %r5;
        add.u64 %w0, {base}, %w0;
        add.u64 %w0, %w0, {to};"
    );
    let mask = match store {
        Store::Masked(mask) => format!(", {mask}"),
        _ => String::new(),
    };
    let separate = writer.rng.one_in(2);
    for _ in 0..rounds {
        emit!(writer, "{} [%w0], [%r6], {piece}{mask};", store.text());
        if separate {
            emit!(writer, "cp.async.bulk.commit_group;");
        }
    }
    emit!(writer, "cp.async.bulk.commit_group;");
    if writer.rng.one_in(2) {
        emit!(
            writer,
            "cp.async.bulk.wait_group.read 0;
            st.shared.u32 [%r6], %thread;"
        );
    }
    emit!(writer, "cp.async.bulk.wait_group 0;\n{behind}:");
}
