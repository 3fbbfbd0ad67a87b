//! Clusters of several blocks, against the exact engine: what depends on the order in which their
//! warps run, threads that end early, and accesses to memory of the block's own.

use crate::asynchronous::compare_grid;
use crate::harness::Count;
use ir::testing::Rng;
use std::fmt::Write as _;

/// A kernel that is being written. `%acc` is what each thread gives, `%next` the address of `box`
/// in the next block of the cluster.
struct Writer {
    rng: Rng,
    size: usize,
    warps: usize,
    text: String,
    labels: usize,
    /// Whether some threads have ended.
    ended: bool,
}

impl Writer {
    fn lines(&mut self, lines: &str) {
        for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let _ = writeln!(self.text, "  {line}");
        }
    }

    fn label(&mut self) -> String {
        self.labels += 1;
        format!("L{}", self.labels)
    }

    /// The barrier of the cluster, with something between arrival and wait; lanes of a warp may
    /// arrive one after the other.
    fn barrier(&mut self) {
        if self.rng.one_in(3) {
            let (odd, even) = (self.label(), self.label());
            let bit = [1, 2, 16][self.rng.below(3)];
            self.lines(&format!(
                "and.b32 %x, %lane, {bit};
                setp.ne.u32 %p, %x, 0;
                @%p bra {odd};
                barrier.cluster.arrive;
                bra {even};
                {odd}:
                add.u32 %acc, %acc, 1;
                barrier.cluster.arrive;
                {even}:"
            ));
        } else {
            self.lines("barrier.cluster.arrive;");
        }
        match self.rng.below(6) {
            0..3 => self.own(),
            // Threads that have arrived do not come back.
            3 => self.exit(),
            _ => {}
        }
        self.lines("barrier.cluster.wait;");
    }

    /// Accesses to the block's own memory, which only the thread itself writes.
    fn own(&mut self) {
        let (k, far) = (1 + self.rng.below(31), 4 * self.rng.below(64));
        let access = match self.rng.below(5) {
            0 => {
                "shl.b32 %x, %t, 4;
                mov.u32 %y, own;
                add.u32 %x, %x, %y;
                st.shared.v2.u32 [%x], {%acc, %t};
                ld.shared.v4.u32 {%x, %y, %z, %u}, [%x];
                mad.lo.u32 %acc, %x, 5, %y;"
            }
            1 => {
                "mul.wide.u32 %w, %t, 16;
                mov.u64 %v, own;
                add.u64 %w, %w, %v;
                st.shared.u32 [%w+8], %acc;
                ld.shared.u32 %x, [%w+8];
                add.u32 %acc, %x, %t;"
            }
            2 => {
                "shl.b32 %x, %t, 4;
                mov.u32 %y, own;
                add.u32 %x, %x, %y;
                atom.shared.add.u32 %y, [%x+12], %acc;
                xor.b32 %acc, %acc, %y;"
            }
            3 => {
                "mov.u64 %w, own;
                cvta.shared.u64 %w, %w;
                mad.wide.u32 %w, %t, 16, %w;
                st.u32 [%w+4], %acc;
                ld.u32 %x, [%w+4];
                add.u32 %acc, %x, 3;"
            }
            _ => {
                "mov.u32 %y, own;
                mad.lo.u32 %x, %t, 16, %y;
                st.shared.u8 [%x], %acc;
                ld.shared.s8 %x, [%x];
                sub.u32 %acc, %acc, %x;"
            }
        };
        self.lines(access);
        self.lines(&format!(
            "mov.u32 %x, few;
            ld.shared.u32 %y, [few+{far}];
            shl.b32 %z, %lane, 2;
            add.u32 %x, %x, %z;
            ld.shared.u32 %z, [%x+{}];
            xor.b32 %y, %y, %z;
            mad.lo.u32 %acc, %acc, {k}, %y;",
            4 * (k % 32)
        ));
    }

    /// Threads add to a number of the next block, and give what they find there.
    fn tickets(&mut self) {
        let by = 1 + self.rng.below(9);
        self.lines(&format!(
            "atom.shared::cluster.add.u32 %x, [%next], {by};
            mad.lo.u32 %acc, %acc, 33, %x;"
        ));
    }

    /// A thread of each block waits for one of the block before, and counts how often it looks.
    fn look(&mut self, round: usize) {
        let (again, behind) = (self.label(), self.label());
        let load = ["ld.volatile.shared.u32 %x, [box+4];", "ld.shared.u32 %x, [box+4];"];
        let load = load[self.rng.below(2)];
        self.lines(&format!(
            "setp.ne.u32 %p, %t, {};
            @%p bra {behind};
            st.shared::cluster.u32 [%next+4], {round};
            {again}:
            add.u32 %acc, %acc, 1;
            {load}
            setp.lt.u32 %p, %x, {round};
            @%p bra {again};
            {behind}:",
            32 * self.warps - 1
        ));
    }

    /// Some threads end, but not the last one of a block.
    fn exit(&mut self) {
        self.ended = true;
        let (a, b) = (self.rng.below(32 * self.warps), self.rng.below(self.size));
        let most = self.rng.below(32 * self.warps);
        self.lines(&format!(
            "setp.ge.u32 %p, %t, {a};
            setp.lt.and.u32 %p, %t, {most}, %p;
            setp.eq.or.u32 %p, %rank, {b}, %p;
            setp.ne.and.u32 %p, %t, {}, %p;
            @%p st.global.u32 [%at], %acc;
            @%p exit;",
            32 * self.warps - 1
        ));
    }
}

fn kernel(seed: u64) -> (String, usize, usize, Rng) {
    let mut rng = Rng::new(seed);
    let (size, warps) = (2 + rng.below(3), 1 + rng.below(4));
    let mut writer = Writer { rng, size, warps, text: String::new(), labels: 0, ended: false };
    let threads = 32 * warps;
    writer.barrier();
    for round in 1..2 + writer.rng.below(5) {
        match writer.rng.below(6) {
            0 => writer.own(),
            1 if !writer.ended => writer.lines("bar.sync 0;"),
            1 | 2 => writer.tickets(),
            3 => writer.look(round),
            4 => writer.exit(),
            _ => writer.barrier(),
        }
    }
    // No block ends before others have accessed its memory.
    writer.lines("barrier.cluster.arrive;\nbarrier.cluster.wait;");
    (program(&writer.text, size, threads), size, threads, writer.rng)
}

/// A kernel with a body, for blocks of so many threads in clusters of so many blocks.
fn program(body: &str, size: usize, threads: usize) -> String {
    format!(
        ".version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 n, .param .u64 a, .param .u64 b) .reqnctapercluster {size} {{
  .reg .pred %p, %q;
  .reg .b32 %t, %lane, %rank, %acc, %next, %x, %y, %z, %u;
  .reg .b64 %at, %v, %w;
  .shared .align 16 .b8 few[512];
  .shared .align 16 .b8 own[{}];
  .shared .align 8 .b8 box[8];
  mov.u32 %t, %tid.x;
  and.b32 %lane, %t, 31;
  mov.u32 %rank, %cluster_ctarank;
  ld.param.u64 %at, [a];
  mov.u32 %x, %ctaid.x;
  mad.lo.u32 %x, %x, {threads}, %t;
  mad.wide.u32 %at, %x, 4, %at;
  add.u32 %acc, %x, %rank;
  add.u32 %x, %rank, 1;
  rem.u32 %x, %x, {size};
  mov.u32 %y, box;
  mapa.shared::cluster.u32 %next, %y, %x;
{body}  st.global.u32 [%at], %acc;
  ret;
}}
",
        16 * threads
    )
}

/// Compares kernels of seeds on all engines.
fn campaign(seeds: std::ops::Range<u64>) -> Count {
    let mut count = Count::default();
    for seed in seeds {
        let (text, size, threads, mut rng) = kernel(seed);
        let grid = (size * (1 + rng.below(4))) as u32;
        let same = compare_grid(&text, (grid, threads), &mut rng, &mut count);
        same.unwrap_or_else(|what| panic!("seed {seed}: {what}\ngrid {grid}\n{text}"));
    }
    count
}

#[test]
fn clusters_of_blocks_are_exact() {
    let count = campaign(0..60);
    assert!(count.refused == 0 && count.stopped == 0 && count.parallel > 0, "{count:?}");
}

#[test]
#[ignore = "a campaign"]
fn clusters_campaign() {
    let number = |name: &str, or| std::env::var(name).map_or(or, |n| n.parse().unwrap_or(or));
    let (first, kernels) = (number("SEED", 0), number("KERNELS", 1000));
    let count = campaign(first..first + kernels);
    assert!(count.refused == 0 && count.stopped == 0, "{count:?}");
}

/// Two blocks let each other go on, so often that positions are looked at between the end of a wait
/// and the warp's next turn. `%acc` counts the looks at the barrier.
const IN_TURNS: &str = "setp.eq.u32 %p, %t, 0;
    @%p mbarrier.init.shared.b64 [box], 1;
    barrier.cluster.arrive;
    barrier.cluster.wait;
    mov.u32 %x, 0;
    ld.param.u64 %v, [n];
    setp.eq.u64 %q, %v, 0;
    setp.eq.u32 %p, %rank, 1;
    @%p bra wait;
    round:
    setp.eq.u32 %p, %t, 0;
    @%p mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%next];
    wait:
    and.b32 %y, %x, 1;
    setp.ne.u32 %p, %x, %x;
    look:
    add.u32 %acc, %acc, 1;
    @%q mbarrier.try_wait.parity.shared::cta.b64 %p, [box], %y;
    @!%p bra look;
    add.u32 %x, %x, 1;
    setp.lt.u32 %p, %x, 1200;
    @%p bra round;
    setp.eq.u32 %p, %t, 0;
    setp.eq.and.u32 %p, %rank, 1, %p;
    @%p mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%next];
    barrier.cluster.arrive;
    barrier.cluster.wait;
";

/// Each block prints a string of its own, and one of the next.
const STRINGS: &str = "setp.eq.u32 %p, %t, 0;
    add.u32 %x, %rank, 97;
    @%p st.shared.u32 [box], %x;
    barrier.cluster.arrive;
    barrier.cluster.wait;
    mov.u32 %x, box;
    cvt.u64.u32 %v, %x;
    cvta.shared.u64 %v, %v;
    st.local.u64 [strings], %v;
    cvt.u64.u32 %v, %next;
    cvta.shared.u64 %v, %v;
    st.local.u64 [strings+8], %v;
    mov.u64 %v, format;
    cvta.global.u64 %v, %v;
    mov.u64 %w, strings;
    cvta.local.u64 %w, %w;
    { .param .b64 p0; .param .b64 p1;
    st.param.b64 [p0], %v; st.param.b64 [p1], %w;
    call vprintf, (p0, p1); }
    barrier.cluster.arrive;
    barrier.cluster.wait;
";

#[test]
fn strings_of_other_blocks_are_printed() {
    let (mut rng, mut count) = (Rng::new(0), Count::default());
    let text = program(STRINGS, 2, 32)
        .replace(
            ".visible .entry",
            ".extern .func vprintf (.param .b64 f, .param .b64 a);
.global .align 1 .b8 format[7] = {37, 115, 37, 115, 10, 0, 0};
.visible .entry",
        )
        .replace("  .reg .pred", "  .local .align 8 .b8 strings[16];\n  .reg .pred");
    let same = compare_grid(&text, (4, 32), &mut rng, &mut count);
    same.unwrap_or_else(|what| panic!("{what}\n{text}"));
    assert!(count.compared > 0 && count.stopped == 0, "{count:?}");
}

#[test]
fn positions_are_looked_at_after_waits() {
    let (mut rng, mut count) = (Rng::new(0), Count::default());
    let same = compare_grid(&program(IN_TURNS, 2, 32), (2, 32), &mut rng, &mut count);
    same.unwrap_or_else(|what| panic!("{what}"));
    assert!(count.compared > 0 && count.stopped == 0, "{count:?}");
}

/// Accesses that the exact engine faults at, each in a body of its own.
const ACCESSES: &[&str] = &[
    // The memory of another block, by accesses to that of the own one.
    "ld.shared.u32 %acc, [%next];",
    "setp.eq.u32 %p, %rank, 0;
    @%p ld.shared.u32 %acc, [%next];",
    "mov.u32 %x, box;
    add.u32 %x, %x, 0x1000000;
    setp.eq.u32 %p, %rank, 0;
    @%p ld.shared.u32 %acc, [%x];",
    "setp.eq.u32 %p, %rank, 0;
    @%p st.shared.u32 [%next], %acc;",
    "st.shared.u32 [%next], %acc;",
    "shl.b32 %x, %lane, 2;
    add.u32 %x, %next, %x;
    st.shared.u32 [%x], %acc;",
    "mov.u64 %w, box;
    add.u64 %w, %w, 0x1000000;
    ld.shared.u32 %acc, [%w];",
    "mov.u32 %x, own;
    mad.lo.u32 %x, %t, 16, %x;
    setp.eq.u32 %p, %t, 7;
    @%p add.u32 %x, %x, 0x1000000;
    ld.shared.v2.u32 {%acc, %y}, [%x];",
    "atom.shared.add.u32 %acc, [%next], 1;",
    // No memory.
    "ld.shared.u32 %acc, [own+0x8000];",
    "setp.ne.u32 %p, %rank, 0;
    @%p ld.shared.u32 %acc, [4];",
    "mov.u32 %x, own;
    mad.lo.u32 %x, %t, 16, %x;
    sub.u32 %x, %x, 0x4000;
    st.shared.u32 [%x], %t;",
    "add.u32 %x, %next, 0x1000000;
    ld.shared::cluster.u32 %acc, [%x];",
    "ld.shared::cluster.u32 %acc, [%next+0x8000];",
    "mov.u32 %x, box;
    ld.shared.u32 %acc, [%x+2];",
];

/// What else it faults or hangs at.
const OTHERS: &[&str] = &[
    "barrier.cluster.wait;",
    "barrier.cluster.arrive;
    barrier.cluster.arrive;",
    "setp.ne.u32 %p, %rank, 0;
    @%p barrier.cluster.arrive;
    @%p barrier.cluster.wait;
    again:
    ld.volatile.shared.u32 %x, [box];
    setp.eq.u32 %p, %x, 0;
    @%p bra again;",
    "setp.ne.u32 %p, %rank, 0;
    @%p barrier.cluster.arrive;
    @%p barrier.cluster.wait;
    @!%p bar.sync 1, 1024;",
    // A block that has ended.
    "setp.ne.u32 %p, %rank, 0;
    @%p exit;
    mov.u32 %x, 300;
    again:
    sub.u32 %x, %x, 1;
    setp.ne.u32 %p, %x, 0;
    @%p bra again;
    ld.shared::cluster.u32 %acc, [%next];",
];

#[test]
fn what_blocks_of_a_cluster_may_not_do_is_left_to_the_exact_engine() {
    let mut rng = Rng::new(1);
    // No block ends before others have accessed its memory.
    let behind = "barrier.cluster.arrive;\nbarrier.cluster.wait;\n";
    let accesses = ACCESSES.iter().map(|body| format!("{body}\n{behind}"));
    for body in accesses.chain(OTHERS.iter().map(|&body| body.to_owned())) {
        for (size, threads) in [(2, 64), (3, 32)] {
            let (mut count, text) = (Count::default(), program(&body, size, threads));
            let same = compare_grid(&text, (2 * size as u32, threads), &mut rng, &mut count);
            same.unwrap_or_else(|what| panic!("{what}\n{text}"));
            let stopped = count.refused == 0 && count.compared == 0 && count.stopped > 0;
            assert!(stopped, "{count:?}\n{text}");
        }
    }
}
