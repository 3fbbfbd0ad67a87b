//! Barriers in shared memory: rings of stages, turns of all threads, counts, copies of threads.

use super::writer::{INPUT, Writer, emit};

/// The choices of a ring of stages.
struct Ring {
    number: usize,
    depth: usize,
    rounds: usize,
    /// Lanes of a warp that copy a piece of each stage, the first of them, and the warp.
    pieces: usize,
    lane: usize,
    warp: usize,
    /// Bytes of a piece.
    piece: usize,
    /// Where a round begins to read the input, in units of 16 bytes: of blocks and rounds.
    steps: [usize; 3],
    release: Release,
}

/// Which threads of the consumers release a stage.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Release {
    All,
    /// A lane of each warp, with one arrival, or 32 at once.
    Lane(usize, usize),
}

impl Ring {
    fn new(writer: &mut Writer) -> Self {
        let number = writer.number();
        let rng = &mut writer.rng;
        let pieces = [1, 1, 2, 4][rng.below(4)];
        let release = match rng.below(3) {
            0 => Release::All,
            1 => Release::Lane(rng.below(32), 1),
            _ => Release::Lane(rng.below(32), 32),
        };
        Self {
            number,
            depth: 1 + rng.below(4),
            rounds: 1 + rng.below(9),
            pieces,
            lane: rng.below(33 - pieces),
            warp: rng.below(writer.threads / 32),
            piece: 16 * (1 + rng.below(12)),
            steps: [rng.below(90), rng.below(90), rng.below(90)],
            release,
        }
    }

    fn bytes(&self) -> usize {
        self.pieces * self.piece
    }

    /// Where a stage begins in the input.
    fn source(&self, block: usize, round: usize) -> usize {
        let [a, b, c] = self.steps;
        (a * block + b * round + c) % ((INPUT - self.bytes()) / 16) * 16
    }

    /// Sets the slot, parity and addresses of the round `%r0`: `%r1` to `%r5`.
    fn place(&self, writer: &mut Writer) {
        let (n, depth, bytes) = (self.number, self.depth, self.bytes().next_multiple_of(128));
        emit!(
            writer,
            "rem.u32 %r1, %r0, {depth};
            div.u32 %r2, %r0, {depth};
            and.b32 %r2, %r2, 1;
            mov.u32 %r3, full{n};
            mad.lo.u32 %r3, %r1, 8, %r3;
            mov.u32 %r4, empty{n};
            mad.lo.u32 %r4, %r1, 8, %r4;
            mov.u32 %r5, stages{n};
            mad.lo.u32 %r5, %r1, {bytes}, %r5;"
        );
    }

    fn produce(&self, writer: &mut Writer) {
        let (again, piece, [a, b, c]) = (writer.label(), self.piece, self.steps);
        emit!(writer, "mov.u32 %r0, 0;\n{again}:");
        self.place(writer);
        emit!(writer, "xor.b32 %r2, %r2, 1;");
        writer.wait("%r4", "%r2");
        let space = writer.space();
        let expect = match writer.rng.below(3) {
            0 => format!("mbarrier.arrive.expect_tx{space}.b64 _, [%r3], {piece};"),
            1 => format!(
                "mbarrier.expect_tx.relaxed.cta{space}.b64 [%r3], {piece};
                mbarrier.arrive{space}.b64 %w1, [%r3];"
            ),
            _ => format!(
                "mbarrier.expect_tx.relaxed.cluster{space}.b64 [%r3], {};
                mbarrier.arrive.expect_tx.release.cta{space}.b64 %w1, [%r3], 16;",
                piece - 16
            ),
        };
        let most = (INPUT - self.bytes()) / 16;
        let (lane, first) = (self.lane, if self.rng_cut(writer) { piece / 32 * 16 } else { 0 });
        emit!(
            writer,
            "{expect}
            mad.lo.u32 %r6, %cta, {a}, {c};
            mad.lo.u32 %r6, %r0, {b}, %r6;
            rem.u32 %r6, %r6, {most};
            shl.b32 %r6, %r6, 4;
            sub.u32 %r7, %lane, {lane};
            mul.lo.u32 %r7, %r7, {piece};
            add.u32 %r6, %r6, %r7;
            add.u32 %r5, %r5, %r7;
            cvt.u64.u32 %w0, %r6;
            add.u64 %w0, %in, %w0;"
        );
        if first > 0 {
            copy(writer, ["%r5", "%w0"], &first.to_string(), "%r3");
            emit!(writer, "add.u32 %r5, %r5, {first};\nadd.u64 %w0, %w0, {first};");
        }
        copy(writer, ["%r5", "%w0"], &(piece - first).to_string(), "%r3");
        emit!(
            writer,
            "add.u32 %r0, %r0, 1;
            setp.lt.u32 %p1, %r0, {};
            @%p1 bra {again};",
            self.rounds
        );
    }

    fn rng_cut(&self, writer: &mut Writer) -> bool {
        self.piece >= 32 && writer.rng.one_in(2)
    }

    /// Reads words of each stage, and releases it; returns how words are chosen and how many.
    fn consume(&self, writer: &mut Writer) -> ([usize; 2], usize) {
        let again = writer.label();
        let (choice, words) = ([writer.rng.below(9), writer.rng.below(9)], self.bytes() / 4);
        let count = 1 + writer.rng.below(3);
        emit!(writer, "mov.u32 %r0, 0;\nmov.u32 %acc, 1;\n{again}:");
        self.place(writer);
        writer.wait("%r3", "%r2");
        for i in 0..count {
            emit!(
                writer,
                "mad.lo.u32 %r6, %thread, {}, {};
                rem.u32 %r6, %r6, {words};
                mad.lo.u32 %r6, %r6, 4, %r5;
                ld.shared.u32 %r7, [%r6];
                mul.lo.u32 %acc, %acc, 33;
                xor.b32 %acc, %acc, %r7;",
                choice[0],
                choice[1] + i
            );
        }
        let (space, order) = (writer.space(), writer.release());
        match self.release {
            Release::All => emit!(writer, "mbarrier.arrive{order}{space}.b64 _, [%r4];"),
            Release::Lane(lane, arrivals) => emit!(
                writer,
                "bar.warp.sync -1;
                setp.eq.u32 %p2, %lane, {lane};
                @%p2 mbarrier.arrive{order}{space}.b64 %w1, [%r4]{};",
                if arrivals == 1 { String::new() } else { format!(", {arrivals}") }
            ),
        }
        emit!(
            writer,
            "add.u32 %r0, %r0, 1;
            setp.lt.u32 %p1, %r0, {};
            @%p1 bra {again};",
            self.rounds
        );
        (choice, count)
    }
}

/// A copy from global to shared memory that completes at a barrier.
pub(super) fn copy(writer: &mut Writer, [to, from]: [&str; 2], bytes: &str, barrier: &str) {
    let space = ["shared::cluster", "shared::cta"][writer.rng.below(2)];
    emit!(
        writer,
        "cp.async.bulk.{space}.global.mbarrier::complete_tx::bytes [{to}], [{from}], {bytes}, \
         [{barrier}];"
    );
}

/// A warp copies stages that all others read, ring after ring.
pub(super) fn ring(writer: &mut Writer) {
    let ring = Ring::new(writer);
    let (n, warps) = (ring.number, writer.threads / 32);
    writer.shared(&format!("stages{n}"), ring.depth * ring.bytes().next_multiple_of(128), 128);
    let consumers = warps - 1;
    let arrivals = match ring.release {
        Release::All => 32 * consumers,
        Release::Lane(_, count) => count * consumers,
    };
    let (full, empty) = (format!("full{n}"), format!("empty{n}"));
    // Without consumers, nobody waits for what they release.
    let (depth, rounds) = (ring.depth, if consumers == 0 { ring.depth } else { ring.rounds });
    let ring = Ring { rounds: rounds.min(ring.rounds), ..ring };
    writer.barriers(&[(&full, depth, ring.pieces), (&empty, depth, arrivals.max(1))]);
    let (consume, done) = (writer.label(), writer.label());
    emit!(
        writer,
        "mov.u32 %acc, 0;
        setp.ne.u32 %p1, %warp, {};
        @%p1 bra {consume};
        sub.u32 %r0, %lane, {};
        setp.ge.u32 %p1, %r0, {};
        @%p1 bra {done};",
        ring.warp,
        ring.lane,
        ring.pieces
    );
    ring.produce(writer);
    emit!(writer, "bra {done};\n{consume}:");
    let ([step, first], count) = ring.consume(writer);
    emit!(writer, "{done}:");
    if consumers == 0 {
        // All copies complete before the block ends.
        for stage in 0..ring.rounds {
            writer.wait(&format!("{full}+{}", 8 * stage), "0");
        }
    }
    let values: Vec<u32> = (0..writer.grid * writer.threads)
        .map(|i| {
            let (block, thread) = (i / writer.threads, i % writer.threads);
            let mut acc = 1u32;
            for round in 0..ring.rounds {
                for k in 0..count {
                    let word = (thread * step + first + k) % (ring.bytes() / 4);
                    let word = writer.word(ring.source(block, round) + 4 * word);
                    acc = acc.wrapping_mul(33) ^ word;
                }
            }
            if thread / 32 == ring.warp { 0 } else { acc }
        })
        .collect();
    let threads = writer.threads;
    writer.give("%acc", |block, thread| values[block * threads + thread]);
}

/// How the arrivals of a turn are made.
#[derive(Clone, Copy)]
enum Arrivals {
    One,
    /// One of a thread's two must not complete the phase.
    Two,
    /// Of each warp, lane 0 arrives for all.
    Warp,
    /// A thread expects bytes that another completes.
    Bytes(usize),
}

/// All threads write, arrive, wait, and read what another has written; some drop out.
pub(super) fn turns(writer: &mut Writer) {
    let (n, threads) = (writer.number(), writer.threads);
    let rng = &mut writer.rng;
    let (rounds, step) = (1 + rng.below(6), 1 + rng.below(70));
    let kind = [Arrivals::One, Arrivals::Two, Arrivals::Warp, Arrivals::Bytes(1 + rng.below(900))];
    let kind = kind[rng.below(4)];
    // From a round on, fewer threads take part.
    let left = match kind {
        Arrivals::One if rng.one_in(2) => 1 + rng.below(threads),
        _ => threads,
    };
    let last = rng.below(rounds);
    let count = match kind {
        Arrivals::One | Arrivals::Bytes(_) => threads,
        Arrivals::Two => threads + 1,
        Arrivals::Warp => threads / 32,
    };
    writer.shared(&format!("turn{n}"), 8 * threads, 16);
    let bar = format!("turns{n}");
    writer.barriers(&[(&bar, 1, count)]);
    let (again, done) = (writer.label(), writer.label());
    emit!(
        writer,
        "mov.u32 %r3, {bar};
        mov.u32 %r0, 0;
        mov.u32 %acc, 1;
        {again}:
        and.b32 %r1, %r0, 1;
        mad.lo.u32 %r2, %r1, {}, 0;
        mov.u32 %r4, turn{n};
        add.u32 %r4, %r2, %r4;
        mad.lo.u32 %r5, %thread, 4, %r4;
        mad.lo.u32 %acc, %acc, 33, %thread;
        st.shared.u32 [%r5], %acc;",
        4 * threads
    );
    if left < threads {
        let space = writer.space();
        let count = if writer.rng.one_in(2) { ", 1" } else { "" };
        emit!(
            writer,
            "setp.ne.u32 %p1, %r0, {last};
            setp.lt.or.u32 %p1, %thread, {left}, %p1;
            @!%p1 mbarrier.arrive_drop{space}.b64 %w1, [%r3]{count};
            @!%p1 bra {done};"
        );
    }
    arrive(writer, kind);
    emit!(
        writer,
        "setp.ge.u32 %p2, %r0, {last};
        selp.u32 %r6, {left}, {threads}, %p2;
        add.u32 %r7, %thread, {step};
        rem.u32 %r7, %r7, %r6;
        mad.lo.u32 %r7, %r7, 4, %r4;
        ld.shared.u32 %r8, [%r7];
        xor.b32 %acc, %acc, %r8;
        add.u32 %r0, %r0, 1;
        setp.lt.u32 %p1, %r0, {rounds};
        @%p1 bra {again};
        {done}:"
    );
    let mut acc = vec![1u32; threads];
    for round in 0..rounds {
        let active = |thread: usize| round <= last || thread < left;
        for (thread, acc) in acc.iter_mut().enumerate().filter(|(t, _)| active(*t)) {
            *acc = acc.wrapping_mul(33).wrapping_add(thread as u32);
        }
        let (written, among) = (acc.clone(), if round >= last { left } else { threads });
        for (thread, acc) in acc.iter_mut().enumerate() {
            if round < last || thread < left {
                *acc ^= written[(thread + step) % among];
            }
        }
    }
    writer.give("%acc", |_, thread| acc[thread]);
}

/// Arrives at the barrier `%r3` in the round `%r0`, whose parity is `%r1`, and waits.
fn arrive(writer: &mut Writer, kind: Arrivals) {
    let (space, order) = (writer.space(), writer.release());
    let mut state = true;
    match kind {
        Arrivals::One => emit!(writer, "mbarrier.arrive{order}{space}.b64 %w0, [%r3];"),
        Arrivals::Two => emit!(
            writer,
            "setp.eq.u32 %p1, %thread, {};
            @%p1 mbarrier.arrive.noComplete.release.cta{space}.b64 %w1, [%r3], 1;
            mbarrier.arrive{order}{space}.b64 %w0, [%r3];",
            writer.threads / 2
        ),
        Arrivals::Warp => {
            state = false;
            emit!(
                writer,
                "bar.warp.sync -1;
                setp.eq.u32 %p1, %lane, 0;
                @%p1 mbarrier.arrive{order}{space}.b64 %w0, [%r3];"
            );
        }
        Arrivals::Bytes(bytes) => emit!(
            writer,
            "setp.eq.u32 %p1, %thread, 0;
            setp.eq.u32 %p2, %thread, {};
            @%p1 mbarrier.expect_tx.relaxed.cta{space}.b64 [%r3], {bytes};
            @%p2 mbarrier.complete_tx.relaxed.cta{space}.b64 [%r3], {bytes};
            mbarrier.arrive{order}{space}.b64 %w0, [%r3];",
            writer.threads - 1
        ),
    }
    if state && writer.rng.one_in(2) {
        writer.wait_state("%r3", "%w0");
    } else {
        writer.wait("%r3", "%r1");
    }
}

/// A barrier as the PTX ISA describes it: arrivals and bytes that are pending, arrivals of each
/// phase, completed phases.
struct Counted {
    pending: i64,
    expected: i64,
    bytes: i64,
    phase: u32,
}

impl Counted {
    fn settle(&mut self) {
        if self.pending == 0 && self.bytes == 0 {
            self.phase += 1;
            self.pending = self.expected;
        }
    }
}

/// A thread alone counts at a barrier, and tells what it sees.
pub(super) fn counts(writer: &mut Writer) {
    let n = writer.number();
    let bar = format!("counts{n}");
    writer.shared(&bar, 8, 8);
    let thread = writer.rng.below(writer.threads);
    let (behind, steps) = (writer.label(), 3 + writer.rng.below(14));
    emit!(
        writer,
        "mov.u32 %acc, 0;
        mov.u32 %r3, {bar};
        setp.ne.u32 %p1, %thread, {thread};
        @%p1 bra {behind};"
    );
    let (mut acc, mut objects) = (1u32, 1 + writer.rng.below(2));
    emit!(writer, "mov.u32 %acc, 1;");
    while objects > 0 {
        objects -= 1;
        let count = 2 + writer.rng.below(300) as i64;
        emit!(writer, "mbarrier.init.shared.b64 [%r3], {count};");
        let mut object = Counted { pending: count, expected: count, bytes: 0, phase: 0 };
        for _ in 0..steps {
            count_step(writer, &mut object, &mut acc);
        }
        if object.bytes > 0 {
            emit!(writer, "mbarrier.complete_tx.relaxed.cta.shared.b64 [%r3], {};", object.bytes);
        }
        if objects > 0 {
            emit!(writer, "mbarrier.inval.shared.b64 [%r3];");
        }
    }
    emit!(writer, "{behind}:");
    writer.give("%acc", |_, t| if t == thread { acc } else { 0 });
}

/// Mixes the word `%r8` into `%acc`.
fn mix(writer: &mut Writer, acc: &mut u32, value: u32) {
    emit!(writer, "mul.lo.u32 %acc, %acc, 33;\nxor.b32 %acc, %acc, %r8;");
    *acc = acc.wrapping_mul(33) ^ value;
}

fn count_step(writer: &mut Writer, object: &mut Counted, acc: &mut u32) {
    let space = writer.space();
    let bits = [4, 10, 18][writer.rng.below(3)];
    let bytes = writer.rng.below(1 << bits) as i64;
    match writer.rng.below(7) {
        0 if object.bytes + bytes < 1 << 20 => {
            emit!(writer, "mbarrier.expect_tx.relaxed.cta{space}.b64 [%r3], {bytes};");
            object.bytes += bytes;
        }
        1 if object.bytes > 0 => {
            let bytes = 1 + writer.rng.below(object.bytes as usize) as i64;
            let bytes = if writer.rng.one_in(2) { object.bytes } else { bytes };
            emit!(writer, "mbarrier.complete_tx.relaxed.cta{space}.b64 [%r3], {bytes};");
            object.bytes -= bytes;
            object.settle();
        }
        2..=4 => count_arrival(writer, object, acc),
        _ => {
            let parity = writer.rng.below(2) as u32;
            emit!(
                writer,
                "mbarrier.test_wait.parity{space}.b64 %p2, [%r3], {parity};
                selp.u32 %r8, 1, 0, %p2;"
            );
            mix(writer, acc, u32::from(object.phase & 1 != parity));
        }
    }
}

/// An arrival, with what it returns: the pending count, and whether its phase has completed.
fn count_arrival(writer: &mut Writer, object: &mut Counted, acc: &mut u32) {
    let (space, order) = (writer.space(), writer.release());
    if object.pending == 0 {
        return;
    }
    let all = writer.rng.one_in(2);
    let mut count =
        if all { object.pending } else { 1 + writer.rng.below(object.pending as usize) as i64 };
    let (before, phase) = (object.pending, object.phase);
    match writer.rng.below(4) {
        0 if object.expected > count => {
            emit!(writer, "mbarrier.arrive_drop{order}{space}.b64 %w0, [%r3], {count};");
            object.expected -= count;
        }
        1 if count > 1 || object.bytes > 0 => {
            if object.bytes == 0 {
                count -= i64::from(count == object.pending);
            }
            emit!(writer, "mbarrier.arrive.noComplete.release.cta{space}.b64 %w0, [%r3], {count};");
        }
        2 if object.bytes < 1 << 19 && count == 1 => {
            let bytes = writer.rng.below(1 << 12) as i64;
            emit!(writer, "mbarrier.arrive.expect_tx{order}{space}.b64 %w0, [%r3], {bytes};");
            object.bytes += bytes;
        }
        _ => emit!(writer, "mbarrier.arrive{order}{space}.b64 %w0, [%r3], {count};"),
    }
    object.pending -= count;
    object.settle();
    emit!(writer, "mbarrier.pending_count.b64 %r8, %w0;");
    mix(writer, acc, before as u32);
    emit!(
        writer,
        "mbarrier.test_wait{space}.b64 %p2, [%r3], %w0;
        selp.u32 %r8, 1, 0, %p2;"
    );
    mix(writer, acc, u32::from(object.phase != phase));
}

/// Threads copy with `cp.async`, and their copies arrive.
pub(super) fn thread_copies(writer: &mut Writer) {
    let (n, threads) = (writer.number(), writer.threads);
    let size = [4, 8, 16][writer.rng.below(3)];
    let (rounds, counted) = (1 + writer.rng.below(3), writer.rng.one_in(2));
    let (step, from) = (1 + writer.rng.below(70), 16 * writer.rng.below(500));
    let bar = format!("copied{n}");
    writer.shared(&format!("copies{n}"), 2 * size * threads, 128);
    // An arrival that is not counted adds to those that a phase waits for.
    writer.barriers(&[(&bar, 1, threads)]);
    let again = writer.label();
    let cached = if size == 16 && writer.rng.one_in(2) { "cg" } else { "ca" };
    let space = writer.space();
    emit!(
        writer,
        "mov.u32 %r3, {bar};
        mov.u32 %r0, 0;
        mov.u32 %acc, 1;
        {again}:
        and.b32 %r1, %r0, 1;
        mov.u32 %r5, copies{n};
        mad.lo.u32 %r4, %r1, {}, %r5;
        mad.lo.u32 %r5, %thread, {size}, %r4;
        mad.lo.u32 %r6, %r0, {threads}, %thread;
        mad.wide.u32 %w0, %r6, {size}, %in;
        cp.async.{cached}.shared.global [%r5], [%w0+{from}], {size};",
        size * threads
    );
    match counted {
        true => emit!(writer, "cp.async.mbarrier.arrive.noinc{space}.b64 [%r3];"),
        false => emit!(
            writer,
            "cp.async.mbarrier.arrive{space}.b64 [%r3];
            mbarrier.arrive{space}.b64 %w1, [%r3];"
        ),
    }
    writer.wait("%r3", "%r1");
    emit!(
        writer,
        "add.u32 %r7, %thread, {step};
        rem.u32 %r7, %r7, {threads};
        mad.lo.u32 %r7, %r7, {size}, %r4;
        ld.shared.u32 %r8, [%r7+{}];
        mul.lo.u32 %acc, %acc, 33;
        xor.b32 %acc, %acc, %r8;
        add.u32 %r0, %r0, 1;
        setp.lt.u32 %p1, %r0, {rounds};
        @%p1 bra {again};",
        size - 4
    );
    let value = |writer: &Writer, thread: usize| {
        (0..rounds).fold(1u32, |acc, round| {
            let at = (round * threads + (thread + step) % threads) * size + size - 4;
            acc.wrapping_mul(33) ^ writer.word(from + at)
        })
    };
    let values: Vec<u32> = (0..threads).map(|thread| value(writer, thread)).collect();
    writer.give("%acc", |_, thread| values[thread]);
}
