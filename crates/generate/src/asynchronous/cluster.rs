//! The shared memory of other blocks of a cluster: stores with bytes, copies, multicasts, plain
//! accesses.

use super::bulk::{fill, give_words};
use super::writer::{Writer, emit};

/// Sets a register to the address of a shared variable in the block `distance` on in the cluster.
fn map(writer: &mut Writer, register: &str, variable: &str, distance: usize) {
    let size = writer.cluster;
    emit!(
        writer,
        "add.u32 %r20, %rank, {distance};
        rem.u32 %r20, %r20, {size};
        mov.u32 %r21, {variable};
        mapa.shared::cluster.u32 {register}, %r21, %r20;"
    );
}

/// The block `distance` before another in its cluster.
pub(super) fn before(writer: &Writer, block: usize, distance: usize) -> usize {
    let (first, rank) = (block / writer.cluster * writer.cluster, block % writer.cluster);
    first + (rank + writer.cluster - distance % writer.cluster) % writer.cluster
}

/// A word that a thread sends.
fn sent(block: usize, thread: usize, seed: u32) -> u32 {
    (block as u32).wrapping_mul(0x9e37).wrapping_add(thread as u32).wrapping_mul(seed)
}

/// Has `%r8` be the word that a thread sends.
fn send_word(writer: &mut Writer, seed: u32) {
    emit!(
        writer,
        "mad.lo.u32 %r8, %cta, {}, %thread;
        mul.lo.u32 %r8, %r8, {seed};",
        0x9e37
    );
}

/// Threads store words, or reduce them, in the memory of another block, which waits for the bytes.
pub(super) fn stores(writer: &mut Writer) {
    let n = writer.number();
    let (bar, data) = (format!("awaited{n}"), format!("received{n}"));
    let (seed, threads) = (writer.rng.bits() as u32 | 1, writer.threads);
    let distance = 1 + writer.rng.below(writer.cluster - 1);
    let reduction = match writer.rng.below(7) {
        0 => Some("add.u32"),
        1 => Some("xor.b32"),
        2 => Some("min.u32"),
        3 => Some("max.s32"),
        _ => None,
    };
    let vector = reduction.is_none() && writer.rng.one_in(2);
    let words = if vector { 2 * threads } else { threads };
    let begin: Vec<u8> = (0..4 * words).map(|_| writer.rng.bits() as u8).collect();
    let from = writer.provide(&begin);
    writer.shared(&data, 4 * words, 128);
    fill(writer, &data, (from, 0), 4 * words);
    writer.barriers(&[(&bar, 1, 1)]);
    let behind = writer.label();
    emit!(
        writer,
        "setp.ne.u32 %p1, %thread, 0;
        @%p1 bra {behind};
        mov.u32 %r3, {bar};
        mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], {};
        {behind}:",
        4 * words
    );
    writer.whole_cluster();
    map(writer, "%r5", &data, distance);
    map(writer, "%r6", &bar, distance);
    send_word(writer, seed);
    let wide = if vector { 8 } else { 4 };
    emit!(writer, "mad.lo.u32 %r5, %thread, {wide}, %r5;");
    let generic = writer.rng.one_in(3);
    if generic {
        emit!(
            writer,
            "cvt.u64.u32 %w0, %r5;
            cvta.shared::cluster.u64 %w0, %w0;
            cvt.u64.u32 %w1, %r6;
            cvta.shared::cluster.u64 %w1, %w1;"
        );
    }
    let ([to, at], space) = match generic {
        true => (["%w0", "%w1"], ""),
        false => (["%r5", "%r6"], "shared::cluster."),
    };
    let bytes = format!("{space}mbarrier::complete_tx::bytes");
    match (reduction, vector) {
        (Some(op), _) => {
            let (op, ty) = op.split_once('.').unwrap_or((op, "u32"));
            emit!(writer, "red.async.relaxed.cluster.{bytes}.{op}.{ty} [{to}], %r8, [{at}];");
        }
        (None, true) => emit!(
            writer,
            "add.u32 %r9, %r8, 1;
            st.async.weak.{bytes}.v2.b32 [{to}], {{%r8, %r9}}, [{at}];"
        ),
        (None, false) => emit!(writer, "st.async.weak.{bytes}.u32 [{to}], %r8, [{at}];"),
    }
    writer.wait_in_cluster(&bar, "0");
    let word = |i: usize| u32::from_le_bytes([0, 1, 2, 3].map(|k| begin[4 * i + k]));
    let found: Vec<Vec<u8>> = (0..writer.grid)
        .map(|block| {
            let from = before(writer, block, distance);
            let left = |i: usize| {
                let new = match vector {
                    true => sent(from, i / 2, seed).wrapping_add(i as u32 % 2),
                    false => sent(from, i, seed),
                };
                match reduction {
                    Some("add.u32") => word(i).wrapping_add(new),
                    Some("xor.b32") => word(i) ^ new,
                    Some("min.u32") => word(i).min(new),
                    Some(_) => word(i).cast_signed().max(new.cast_signed()).cast_unsigned(),
                    None => new,
                }
            };
            (0..words).flat_map(|i| left(i).to_le_bytes()).collect()
        })
        .collect();
    give_words(writer, &data, &found);
    writer.whole_cluster();
}

/// Lanes copy pieces of their block's memory to another's, in rounds, which that one releases.
pub(super) fn sends(writer: &mut Writer) {
    let n = writer.number();
    let (lanes, piece) = (1 + writer.rng.below(8), 16 * (1 + writer.rng.below(6)));
    let (rounds, bytes) = (1 + writer.rng.below(5), lanes * piece);
    let distance = 1 + writer.rng.below(writer.cluster - 1);
    let content: Vec<u8> = (0..writer.grid * bytes).map(|_| writer.rng.bits() as u8).collect();
    let from = writer.provide(&content);
    let [source, data] = ["own", "other"].map(|name| format!("{name}{n}"));
    let [full, empty] = ["arrived", "released"].map(|name| format!("{name}{n}"));
    writer.shared(&source, bytes, 128);
    writer.shared(&data, bytes, 128);
    fill(writer, &source, (from, bytes), bytes);
    emit!(writer, "fence.proxy.async;");
    writer.barriers(&[(&full, 1, 1), (&empty, 1, writer.threads)]);
    writer.whole_cluster();
    map(writer, "%r5", &data, distance);
    map(writer, "%r6", &full, distance);
    // Who fills the memory of this block waits until all of its threads have read it.
    let back = writer.cluster - distance;
    map(writer, "%r7", &empty, back);
    let (again, behind) = (writer.label(), writer.label());
    emit!(
        writer,
        "mov.u32 %r0, 0;
        mov.u32 %acc, 1;
        {again}:
        and.b32 %r2, %r0, 1;
        setp.ge.u32 %p1, %thread, {lanes};
        @%p1 bra {behind};
        xor.b32 %r1, %r2, 1;"
    );
    writer.wait_in_cluster(&empty, "%r1");
    emit!(
        writer,
        "setp.ne.u32 %p2, %thread, 0;
        mov.u32 %r3, {full};
        @!%p2 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], {bytes};
        mul.lo.u32 %r9, %thread, {piece};
        add.u32 %r10, %r5, %r9;
        mov.u32 %r11, {source};
        add.u32 %r11, %r11, %r9;
        cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r10], [%r11], \
         {piece}, [%r6];
        {behind}:"
    );
    writer.wait_in_cluster(&full, "%r2");
    emit!(
        writer,
        "rem.u32 %r9, %thread, {};
        mov.u32 %r10, {data};
        mad.lo.u32 %r9, %r9, 4, %r10;
        ld.shared.u32 %r9, [%r9];
        mul.lo.u32 %acc, %acc, 33;
        xor.b32 %acc, %acc, %r9;
        mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r7];
        add.u32 %r0, %r0, 1;
        setp.lt.u32 %p1, %r0, {rounds};
        @%p1 bra {again};",
        bytes / 4
    );
    let values: Vec<u32> = (0..writer.grid * writer.threads)
        .map(|i| {
            let (block, thread) = (i / writer.threads, i % writer.threads);
            let at = before(writer, block, distance) * bytes + thread % (bytes / 4) * 4;
            let word = u32::from_le_bytes([0, 1, 2, 3].map(|k| content[at + k]));
            (0..rounds).fold(1u32, |acc, _| acc.wrapping_mul(33) ^ word)
        })
        .collect();
    let threads = writer.threads;
    writer.give("%acc", |block, thread| values[block * threads + thread]);
    writer.whole_cluster();
}

/// A block copies to the memory of several blocks at once.
pub(super) fn multicast(writer: &mut Writer) {
    let n = writer.number();
    let (piece, size) = (16 * (1 + writer.rng.below(20)), writer.cluster);
    // Each block sends a piece to those of its mask.
    let masks: Vec<usize> = (0..size).map(|_| 1 + writer.rng.below((1 << size) - 1)).collect();
    let [data, bar] = ["parts", "parted"].map(|name| format!("{name}{n}"));
    let content: Vec<u8> = (0..writer.grid * piece).map(|_| writer.rng.bits() as u8).collect();
    let from = writer.provide(&content);
    let empty = vec![0; size * piece];
    let zeros = writer.provide(&empty);
    writer.shared(&data, size * piece, 128);
    fill(writer, &data, (zeros, 0), size * piece);
    emit!(writer, "fence.proxy.async;");
    writer.barriers(&[(&bar, 1, 1)]);
    let received = |rank: usize| masks.iter().filter(|mask| *mask >> rank & 1 != 0).count();
    emit!(writer, "mov.u32 %r8, 0;\nmov.u32 %r9, 0;");
    for (rank, mask) in masks.iter().enumerate() {
        emit!(
            writer,
            "setp.eq.u32 %p1, %rank, {rank};
            @%p1 mov.u32 %r8, {};
            @%p1 mov.u32 %r9, {mask};",
            received(rank) * piece
        );
    }
    let (first, behind) = (writer.label(), writer.label());
    emit!(
        writer,
        "mov.u32 %r3, {bar};
        setp.ne.u32 %p2, %thread, 0;
        @%p2 bra {first};
        mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], %r8;
        {first}:"
    );
    writer.whole_cluster();
    emit!(
        writer,
        "@%p2 bra {behind};
        cvt.u16.u32 %h0, %r9;
        mov.u32 %r4, {data};
        mad.lo.u32 %r4, %rank, {piece}, %r4;
        mad.wide.u32 %w0, %cta, {piece}, %in;
        add.u64 %w0, %w0, {from};
        cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster \
         [%r4], [%w0], {piece}, [%r3], %h0;
        {behind}:"
    );
    writer.wait_in_cluster(&bar, "0");
    let found: Vec<Vec<u8>> = (0..writer.grid)
        .map(|block| {
            let (first, rank) = (block / size * size, block % size);
            let part = |sender: usize| match masks[sender] >> rank & 1 {
                0 => vec![0; piece],
                _ => content[(first + sender) * piece..][..piece].to_vec(),
            };
            (0..size).flat_map(part).collect()
        })
        .collect();
    give_words(writer, &data, &found);
    writer.whole_cluster();
}

/// Threads store to, add to and load from the memory of other blocks, between barriers of the
/// cluster.
pub(super) fn accesses(writer: &mut Writer) {
    let n = writer.number();
    let (data, sum) = (format!("words{n}"), format!("sum{n}"));
    let (seed, threads) = (writer.rng.bits() as u32 | 1, writer.threads);
    let [to, from] = [0, 1].map(|_| writer.rng.below(writer.cluster));
    writer.shared(&data, 4 * threads, 16);
    writer.shared(&sum, 4, 4);
    let generic = writer.rng.one_in(2);
    emit!(
        writer,
        "mov.u32 %r3, {sum};
        setp.eq.u32 %p1, %thread, 0;
        @%p1 st.shared.u32 [%r3], 5;"
    );
    writer.whole_cluster();
    map(writer, "%r5", &data, to);
    map(writer, "%r6", &sum, to);
    send_word(writer, seed);
    emit!(writer, "mad.lo.u32 %r5, %thread, 4, %r5;");
    match generic {
        true => emit!(
            writer,
            "cvt.u64.u32 %w0, %r5;
            cvta.shared::cluster.u64 %w0, %w0;
            st.u32 [%w0], %r8;"
        ),
        false => emit!(writer, "st.shared::cluster.u32 [%r5], %r8;"),
    }
    emit!(writer, "red.relaxed.cluster.shared::cluster.add.u32 [%r6], %r8;");
    writer.whole_cluster();
    map(writer, "%r5", &data, from);
    map(writer, "%r6", &sum, from);
    emit!(
        writer,
        "mad.lo.u32 %r5, %thread, 4, %r5;
        ld.shared::cluster.u32 %acc, [%r5];
        ld.shared::cluster.u32 %r7, [%r6];
        mul.lo.u32 %acc, %acc, 33;
        xor.b32 %acc, %acc, %r7;"
    );
    let values: Vec<u32> = (0..writer.grid * threads)
        .map(|i| {
            let (block, thread) = (i / threads, i % threads);
            // The block that is read, and the one that has written to it.
            let (first, rank) = (block / writer.cluster * writer.cluster, block % writer.cluster);
            let read = first + (rank + from) % writer.cluster;
            let writer_of = before(writer, read, to);
            let sum = (0..threads).fold(5u32, |s, t| s.wrapping_add(sent(writer_of, t, seed)));
            sent(writer_of, thread, seed).wrapping_mul(33) ^ sum
        })
        .collect();
    writer.give("%acc", |block, thread| values[block * threads + thread]);
    writer.whole_cluster();
}

/// How threads choose blocks of their cluster: thread `t` of rank `r` has that of rank `r + t *
/// step + first`.
#[derive(Clone, Copy)]
struct Choice {
    step: usize,
    first: usize,
}

impl Choice {
    fn new(writer: &mut Writer) -> Self {
        Self { step: writer.rng.below(writer.cluster), first: writer.rng.below(writer.cluster) }
    }

    /// Sets a register to the place of an address, in `%r21`, in the block that each thread has.
    fn map(self, writer: &mut Writer, register: &str) {
        let (Self { step, first }, size) = (self, writer.cluster);
        emit!(
            writer,
            "mad.lo.u32 %r20, %thread, {step}, %rank;
            add.u32 %r20, %r20, {first};
            rem.u32 %r20, %r20, {size};
            mapa.shared::cluster.u32 {register}, %r21, %r20;"
        );
    }

    /// The rank that a thread of a block has.
    fn of(self, writer: &Writer, block: usize, thread: usize) -> usize {
        (block + thread * self.step + self.first) % writer.cluster
    }

    /// The block whose thread of a number has another block.
    fn source(self, writer: &Writer, block: usize, thread: usize) -> usize {
        before(writer, block, thread * self.step + self.first)
    }
}

/// Threads arrive at barriers of other blocks, one warp at several of them, and tell of their place
/// in the cluster.
pub(super) fn arrivals(writer: &mut Writer) {
    let n = writer.number();
    let (bar, count) = (format!("met{n}"), 1 + writer.rng.below(3));
    writer.barriers(&[(&bar, 1, writer.threads * count)]);
    emit!(writer, "mov.u32 %acc, 1;");
    let mut chosen = Vec::new();
    for round in 0..1 + writer.rng.below(3) {
        writer.whole_cluster();
        let choice = Choice::new(writer);
        emit!(writer, "mov.u32 %r21, {bar};");
        choice.map(writer, "%r5");
        emit!(
            writer,
            "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r5], {count};
            getctarank.shared::cluster.u32 %r6, %r5;
            mad.lo.u32 %acc, %acc, 33, %r6;
            cvt.u64.u32 %w0, %r5;
            cvta.shared::cluster.u64 %w0, %w0;
            isspacep.shared::cta %p1, %w0;
            isspacep.shared::cluster %p2, %w0;
            selp.u32 %r6, 2, 0, %p1;
            @%p2 add.u32 %r6, %r6, 1;
            mad.lo.u32 %acc, %acc, 33, %r6;"
        );
        writer.wait_in_cluster(&bar, ["0", "1"][round % 2]);
        chosen.push(choice);
    }
    let (size, grid) = (writer.cluster, writer.grid);
    let registers = [
        "cluster_ctaid.x",
        "cluster_nctaid.x",
        "cluster_ctarank",
        "cluster_nctarank",
        "clusterid.x",
        "nclusterid.x",
    ];
    for register in registers {
        emit!(writer, "mov.u32 %r6, %{register};\nmad.lo.u32 %acc, %acc, 33, %r6;");
    }
    let value = |block: usize, thread: usize| {
        let ranks = chosen.iter().flat_map(|choice| {
            let rank = choice.of(writer, block, thread);
            [rank, if rank == block % size { 3 } else { 1 }]
        });
        let place = [block % size, size, block % size, size, block / size, grid / size];
        ranks.chain(place).fold(1u32, |acc, of| acc.wrapping_mul(33).wrapping_add(of as u32))
    };
    let threads = writer.threads;
    let values: Vec<u32> = (0..grid * threads).map(|i| value(i / threads, i % threads)).collect();
    writer.give("%acc", |block, thread| values[block * threads + thread]);
    writer.whole_cluster();
}

/// Threads of one warp access the memory of several blocks, and their own.
pub(super) fn lanes(writer: &mut Writer) {
    let n = writer.number();
    let (data, seed) = (format!("scattered{n}"), writer.rng.bits() as u32 | 1);
    let threads = writer.threads;
    writer.shared(&data, 8 * threads, 16);
    let [stored, changed] = [0, 1].map(|_| Choice::new(writer));
    let (generic, vector) = (writer.rng.one_in(3), writer.rng.one_in(2));
    send_word(writer, seed);
    emit!(writer, "mov.u32 %r21, {data};\nmad.lo.u32 %r21, %thread, 8, %r21;");
    writer.whole_cluster();
    stored.map(writer, "%r5");
    let (at, space) = if generic { ("%w0", "") } else { ("%r5", ".shared::cluster") };
    if generic {
        emit!(writer, "cvt.u64.u32 %w0, %r5;\ncvta.shared::cluster.u64 %w0, %w0;");
    }
    match vector {
        true => emit!(writer, "st{space}.v2.u32 [{at}], {{%r8, %thread}};"),
        false => {
            emit!(writer, "st{space}.u32 [{at}], %r8;\nst{space}.u32 [{at}+4], %thread;");
        }
    }
    writer.whole_cluster();
    emit!(writer, "ld.shared.v2.u32 {{%acc, %r6}}, [%r21];\nmad.lo.u32 %acc, %acc, 33, %r6;");
    writer.whole_cluster();
    changed.map(writer, "%r5");
    emit!(
        writer,
        "atom.relaxed.cluster.shared::cluster.add.u32 %r6, [%r5], %r8;
        mad.lo.u32 %acc, %acc, 33, %r6;
        ld.shared::cluster.u32 %r6, [%r5+4];
        mad.lo.u32 %acc, %acc, 33, %r6;"
    );
    writer.whole_cluster();
    emit!(writer, "ld.shared::cta.u32 %r6, [%r21];\nmad.lo.u32 %acc, %acc, 33, %r6;");
    let word =
        |block: usize, thread: usize| sent(stored.source(writer, block, thread), thread, seed);
    let value = |block: usize, thread: usize| {
        let first = block / writer.cluster * writer.cluster;
        let other = first + changed.of(writer, block, thread);
        let by = sent(changed.source(writer, block, thread), thread, seed);
        let after = word(block, thread).wrapping_add(by);
        let found = [thread as u32, word(other, thread), thread as u32, after];
        let mix = |acc: u32, of: u32| acc.wrapping_mul(33).wrapping_add(of);
        found.into_iter().fold(word(block, thread), mix)
    };
    let values: Vec<u32> =
        (0..writer.grid * threads).map(|i| value(i / threads, i % threads)).collect();
    writer.give("%acc", |block, thread| values[block * threads + thread]);
    writer.whole_cluster();
}
