//! The kernels of the suite `sync`. See [`text`](super::text) for the registers that they begin
//! with.

/// A kernel.
#[derive(Clone, Copy)]
pub(super) struct Probe {
    pub(super) name: &'static str,
    /// What its end or its output tells.
    pub(super) question: &'static str,
    pub(super) blocks: usize,
    pub(super) threads: usize,
    pub(super) target: &'static str,
    pub(super) body: &'static str,
}

const fn probe(
    name: &'static str,
    question: &'static str,
    threads: usize,
    body: &'static str,
) -> Probe {
    Probe { name, question, blocks: 1, threads, target: "sm_70", body }
}

const fn with(blocks: usize, target: &'static str, probe: Probe) -> Probe {
    Probe { blocks, target, ..probe }
}

pub(super) const PROBES: &[Probe] = &[
    probe(
        "lock-textbook",
        "Does a spin lock end whose holder waits at the end of the loop for those that spin?",
        32,
        "SPIN: atom.global.cas.b32 %x0, [%f], 0, 1;\nsetp.ne.u32 %p0, %x0, 0;\n@%p0 bra SPIN;\n\
         ld.volatile.global.u32 %x1, [%f+4];\nadd.u32 %x1, %x1, 1;\n\
         st.volatile.global.u32 [%f+4], %x1;\nmembar.gl;\natom.global.exch.b32 %x2, [%f], 0;\n\
         st.global.u32 [%a], 1;",
    ),
    probe(
        "lock-released-in-the-loop",
        "Does a spin lock end that is released before the loop goes on?",
        32,
        "SPIN: atom.global.cas.b32 %x0, [%f], 0, 1;\nsetp.ne.u32 %p0, %x0, 0;\n@%p0 bra NEXT;\n\
         ld.volatile.global.u32 %x1, [%f+4];\nadd.u32 %x1, %x1, 1;\n\
         st.volatile.global.u32 [%f+4], %x1;\nmembar.gl;\natom.global.exch.b32 %x2, [%f], 0;\n\
         NEXT: @%p0 bra SPIN;\nst.global.u32 [%a], 1;",
    ),
    probe(
        "lock-with-nanosleep",
        "Does a textbook lock end that sleeps between its tries?",
        32,
        "SPIN: atom.global.cas.b32 %x0, [%f], 0, 1;\nsetp.eq.u32 %p0, %x0, 0;\n@%p0 bra TAKEN;\n\
         nanosleep.u32 100;\nbra SPIN;\nTAKEN: ld.volatile.global.u32 %x1, [%f+4];\n\
         add.u32 %x1, %x1, 1;\nst.volatile.global.u32 [%f+4], %x1;\nmembar.gl;\n\
         atom.global.exch.b32 %x2, [%f], 0;\nst.global.u32 [%a], 1;",
    ),
    with(
        4,
        "sm_70",
        probe(
            "lock-across-blocks",
            "Does a lock end that one thread of each block takes?",
            32,
            "setp.ne.u32 %p1, %t, 0;\n@%p1 bra DONE;\nSPIN: atom.global.cas.b32 %x0, [%f], 0, 1;\n\
             setp.ne.u32 %p0, %x0, 0;\n@%p0 bra SPIN;\nld.volatile.global.u32 %x1, [%f+4];\n\
             add.u32 %x1, %x1, 1;\nst.volatile.global.u32 [%f+4], %x1;\nmembar.gl;\n\
             atom.global.exch.b32 %x2, [%f], 0;\nDONE: st.global.u32 [%a], 1;",
        ),
    ),
    probe(
        "producer-then",
        "Does a consumer end whose producer is on the side that jumps?",
        32,
        "setp.eq.u32 %p0, %l, 0;\n@%p0 bra PRODUCE;\nWAIT: ld.volatile.global.u32 %x0, [%f];\n\
         setp.eq.u32 %p1, %x0, 0;\n@%p1 bra WAIT;\nst.global.u32 [%a], %x0;\nbra END;\n\
         PRODUCE: st.volatile.global.u32 [%f], 7;\nst.global.u32 [%a], 1;\nEND:",
    ),
    probe(
        "producer-else",
        "Does a consumer end whose producer is on the side that falls through?",
        32,
        "setp.ne.u32 %p0, %l, 31;\n@%p0 bra WAIT;\nst.volatile.global.u32 [%f], 7;\n\
         st.global.u32 [%a], 1;\nbra END;\nWAIT: ld.volatile.global.u32 %x0, [%f];\n\
         setp.eq.u32 %p1, %x0, 0;\n@%p1 bra WAIT;\nst.global.u32 [%a], %x0;\nEND:",
    ),
    probe(
        "producer-behind-the-join",
        "Does a consumer end whose producer writes behind the place where both meet?",
        32,
        "setp.eq.u32 %p0, %l, 0;\n@%p0 bra JOIN;\nWAIT: ld.volatile.global.u32 %x0, [%f];\n\
         setp.eq.u32 %p1, %x0, 0;\n@%p1 bra WAIT;\nst.global.u32 [%a], %x0;\n\
         JOIN: @%p0 st.volatile.global.u32 [%f], 7;",
    ),
    probe(
        "ping-pong",
        "Do two lanes end that wait for each other by turns?",
        2,
        "mov.u32 %x1, 0;\nTURN: ld.volatile.global.u32 %x0, [%f];\nand.b32 %x2, %x0, 1;\n\
         setp.ne.u32 %p0, %x2, %l;\n@%p0 bra TURN;\nadd.u32 %x0, %x0, 1;\n\
         st.volatile.global.u32 [%f], %x0;\nadd.u32 %x1, %x1, 1;\nsetp.lt.u32 %p1, %x1, 20;\n\
         @%p1 bra TURN;\nst.global.u32 [%a], %x1;",
    ),
    probe(
        "flag-between-warps",
        "Does a warp end that waits for another one of its block?",
        64,
        "setp.eq.u32 %p0, %w, 1;\n@%p0 bra PRODUCE;\nWAIT: ld.volatile.global.u32 %x0, [%f];\n\
         setp.eq.u32 %p1, %x0, 0;\n@%p1 bra WAIT;\nst.global.u32 [%a], %x0;\nbra END;\n\
         PRODUCE: st.volatile.global.u32 [%f], 7;\nEND:",
    ),
    with(
        2,
        "sm_70",
        probe(
            "flag-between-blocks",
            "Does a block end that waits for a later one?",
            32,
            "setp.eq.u32 %p0, %b, 1;\n@%p0 bra PRODUCE;\nWAIT: ld.volatile.global.u32 %x0, [%f];\n\
             setp.eq.u32 %p1, %x0, 0;\n@%p1 bra WAIT;\nst.global.u32 [%a], %x0;\nbra END;\n\
             PRODUCE: st.volatile.global.u32 [%f], 7;\nEND:",
        ),
    ),
    probe(
        "flag-of-nobody",
        "A flag that nobody sets: the watchdog stops it.",
        32,
        "WAIT: ld.volatile.global.u32 %x0, [%f];\nsetp.eq.u32 %p1, %x0, 0;\n@%p1 bra WAIT;\n\
         st.global.u32 [%a], %x0;",
    ),
    probe(
        "barrier-of-a-partial-warp",
        "Does a barrier of 40 threads end?",
        40,
        "mul.lo.u32 %x0, %t, 3;\nmov.u32 %x1, sm;\nmad.lo.u32 %x1, %t, 4, %x1;\n\
         st.shared.u32 [%x1], %x0;\nbar.sync 0;\nxor.b32 %x2, %t, 1;\nmov.u32 %x1, sm;\n\
         mad.lo.u32 %x1, %x2, 4, %x1;\nld.shared.u32 %x3, [%x1];\nst.global.u32 [%a], %x3;",
    ),
    probe(
        "barrier-on-both-sides",
        "Do the two sides of a branch meet at barriers at two places?",
        64,
        "setp.lt.u32 %p0, %l, 16;\n@%p0 bra LOW;\nbarrier.sync 0;\nst.global.u32 [%a], 2;\n\
         bra END;\nLOW: barrier.sync 0;\nst.global.u32 [%a], 1;\nEND:",
    ),
    probe(
        "barrier-on-one-side",
        "Does a barrier hang that half of the lanes of each warp do not come to, but end?",
        64,
        "setp.lt.u32 %p0, %l, 16;\n@%p0 bra END;\nbarrier.sync 0;\nst.global.u32 [%a], 2;\nEND:",
    ),
    probe(
        "barrier-after-exits",
        "Are exited lanes waited for at a barrier of the block?",
        64,
        "setp.lt.u32 %p0, %l, 16;\n@%p0 exit;\nbar.sync 0;\nst.global.u32 [%a], 2;",
    ),
    probe(
        "barrier-after-a-warp-exited",
        "Is an exited warp waited for at a barrier of the block?",
        96,
        "setp.eq.u32 %p0, %w, 1;\n@%p0 exit;\nbar.sync 0;\nst.global.u32 [%a], 2;",
    ),
    probe(
        "barrier-count-after-exits",
        "What does a barrier count of whose lanes some have exited?",
        64,
        "setp.lt.u32 %p0, %l, 16;\n@%p0 exit;\nsetp.ne.u32 %p1, %l, 20;\n\
         barrier.red.popc.u32 %x0, 0, %p1;\nst.global.u32 [%a], %x0;",
    ),
    probe(
        "barrier-that-a-warp-skips",
        "A barrier to which a warp never comes: the watchdog stops it.",
        64,
        "setp.eq.u32 %p0, %w, 1;\n@%p0 bra SPIN;\nbar.sync 0;\nst.volatile.global.u32 [%f], 1;\n\
         bra END;\nSPIN: ld.volatile.global.u32 %x0, [%f];\nsetp.eq.u32 %p1, %x0, 0;\n\
         @%p1 bra SPIN;\nEND: st.global.u32 [%a], 2;",
    ),
    probe(
        "barriers-of-other-numbers",
        "Two warps at barriers of different numbers: the watchdog stops them.",
        64,
        "setp.eq.u32 %p0, %w, 1;\n@%p0 bra OTHER;\nbar.sync 0;\nst.global.u32 [%a], 1;\nbra END;\n\
         OTHER: bar.sync 1;\nst.global.u32 [%a], 2;\nEND:",
    ),
    probe(
        "barrier-arrive",
        "Does a warp that arrives let one go on that waits?",
        64,
        "setp.eq.u32 %p0, %w, 1;\n@%p0 bra PRODUCE;\nbar.sync 1, 64;\n\
         ld.volatile.global.u32 %x0, [%f];\nst.global.u32 [%a], %x0;\nbra END;\n\
         PRODUCE: st.volatile.global.u32 [%f], 7;\nmembar.cta;\nbar.arrive 1, 64;\nEND:",
    ),
    with(
        1,
        "sm_80",
        probe(
            "barrier-in-memory",
            "Does a barrier in shared memory end once all lanes have arrived?",
            64,
            "mov.u32 %x0, sm;\nsetp.ne.u32 %p0, %t, 0;\n@%p0 bra READY;\n\
             mbarrier.init.shared.b64 [%x0], 64;\nREADY: bar.sync 0;\n\
             mbarrier.arrive.shared.b64 %i, [%x0];\n\
             WAIT: mbarrier.test_wait.shared.b64 %p1, [%x0], %i;\n@!%p1 bra WAIT;\n\
             st.global.u32 [%a], 1;",
        ),
    ),
    with(
        1,
        "sm_80",
        probe(
            "barrier-in-memory-on-both-sides",
            "Does one side of a branch arrive at a barrier in memory while the other one waits?",
            32,
            "mov.u32 %x0, sm;\nsetp.ne.u32 %p0, %t, 0;\n@%p0 bra READY;\n\
             mbarrier.init.shared.b64 [%x0], 32;\nREADY: bar.sync 0;\n\
             setp.lt.u32 %p0, %l, 16;\n@%p0 bra LOW;\nmbarrier.arrive.shared.b64 %i, [%x0];\n\
             WAIT: mbarrier.test_wait.shared.b64 %p1, [%x0], %i;\n@!%p1 bra WAIT;\n\
             st.global.u32 [%a], 2;\nbra END;\nLOW: mbarrier.arrive.shared.b64 %i, [%x0];\n\
             st.global.u32 [%a], 1;\nEND:",
        ),
    ),
    probe(
        "warp-barrier-on-both-sides",
        "Do the two sides of a branch meet at `bar.warp.sync` at two places?",
        32,
        "setp.lt.u32 %p0, %l, 16;\n@%p0 bra LOW;\nbar.warp.sync 0xffffffff;\n\
         st.global.u32 [%a], 2;\nbra END;\nLOW: bar.warp.sync 0xffffffff;\n\
         st.global.u32 [%a], 1;\nEND:",
    ),
    probe(
        "warp-barrier-after-exits",
        "Are exited lanes waited for that a mask names: `bar.warp.sync`?",
        32,
        "setp.lt.u32 %p0, %l, 16;\n@%p0 exit;\nbar.warp.sync 0xffffffff;\n\
         st.global.u32 [%a], 2;",
    ),
    probe(
        "vote-after-exits",
        "Are exited lanes waited for that a mask names, and how do they vote?",
        32,
        "setp.lt.u32 %p0, %l, 16;\n@%p0 exit;\nsetp.ne.u32 %p1, %l, 20;\n\
         vote.sync.ballot.b32 %x0, %p1, 0xffffffff;\nst.global.u32 [%a], %x0;",
    ),
    probe(
        "shuffle-after-exits",
        "Does a shuffle end whose mask names exited lanes?",
        32,
        "setp.lt.u32 %p0, %l, 16;\n@%p0 exit;\nmul.lo.u32 %x0, %l, 3;\n\
         shfl.sync.bfly.b32 %x1, %x0, 1, 31, 0xffffffff;\nst.global.u32 [%a], %x1;",
    ),
    probe(
        "match-after-exits",
        "Does `match` end whose mask names exited lanes, and does it name them?",
        32,
        "setp.lt.u32 %p0, %l, 16;\n@%p0 exit;\nand.b32 %x0, %l, 3;\n\
         match.any.sync.b32 %x1, %x0, 0xffffffff;\nst.global.u32 [%a], %x1;",
    ),
    with(
        1,
        "sm_80",
        probe(
            "redux-after-exits",
            "Does `redux` end whose mask names exited lanes, and what does it add?",
            32,
            "setp.lt.u32 %p0, %l, 16;\n@%p0 exit;\nredux.sync.add.u32 %x1, %l, 0xffffffff;\n\
             st.global.u32 [%a], %x1;",
        ),
    ),
    probe(
        "exits-while-others-wait",
        "Do lanes go on that wait at `bar.warp.sync` when those missing exit later?",
        32,
        "setp.lt.u32 %p0, %l, 16;\n@%p0 bra LATE;\nbar.warp.sync 0xffffffff;\n\
         st.global.u32 [%a], 2;\nbra END;\nLATE: mov.u32 %x0, 0;\nAGAIN: add.u32 %x0, %x0, 1;\n\
         setp.lt.u32 %p1, %x0, 100;\n@%p1 bra AGAIN;\nst.global.u32 [%a], 1;\nexit;\nEND:",
    ),
    probe(
        "vote-mask-without-me",
        "What happens where a mask does not name the lane that executes the vote?",
        32,
        "setp.ne.u32 %p1, %l, 20;\nvote.sync.ballot.b32 %x0, %p1, 0x0000ffff;\n\
         st.global.u32 [%a], %x0;",
    ),
    probe(
        "vote-masks-that-differ",
        "What happens where lanes name different masks?",
        32,
        "setp.lt.u32 %p0, %l, 16;\nselp.u32 %x1, 0x0000ffff, 0xffff0000, %p0;\n\
         setp.ne.u32 %p1, %l, 20;\nvote.sync.ballot.b32 %x0, %p1, %x1;\nst.global.u32 [%a], %x0;",
    ),
    probe(
        "votes-on-both-sides",
        "Do the two sides of a branch meet at votes of all lanes at two places?",
        32,
        "setp.ne.u32 %p1, %l, 20;\nsetp.lt.u32 %p0, %l, 16;\n@%p0 bra LOW;\n\
         vote.sync.ballot.b32 %x0, %p1, 0xffffffff;\nst.global.u32 [%a], %x0;\nbra END;\n\
         LOW: vote.sync.ballot.b32 %x0, %p1, 0xffffffff;\nst.global.u32 [%a], %x0;\nEND:",
    ),
    probe(
        "active-mask-of-sides",
        "Which lanes run together on the sides of a branch?",
        32,
        "and.b32 %x1, %l, 1;\nsetp.eq.u32 %p0, %x1, 0;\n@%p0 bra EVEN;\nactivemask.b32 %x0;\n\
         st.global.u32 [%a], %x0;\nbra END;\nEVEN: activemask.b32 %x0;\nst.global.u32 [%a], %x0;\n\
         END:",
    ),
    probe(
        "active-mask-behind-a-branch",
        "Which lanes run together behind a branch?",
        32,
        "and.b32 %x1, %l, 1;\nsetp.eq.u32 %p0, %x1, 0;\n@%p0 bra EVEN;\n\
         st.volatile.global.u32 [%f], 1;\nbra END;\nEVEN: st.volatile.global.u32 [%f+4], 1;\n\
         END: activemask.b32 %x0;\nst.global.u32 [%a], %x0;",
    ),
    probe(
        "active-mask-behind-a-loop",
        "Which lanes run together behind a loop that lanes leave after different numbers of trips?",
        32,
        "mov.u32 %x1, %l;\nAGAIN: ld.volatile.global.u32 %x2, [%f];\nsetp.eq.u32 %p0, %x1, 0;\n\
         @%p0 bra END;\nsub.u32 %x1, %x1, 1;\nbra AGAIN;\nEND: activemask.b32 %x0;\n\
         st.global.u32 [%a], %x0;",
    ),
    probe(
        "active-mask-of-returns",
        "Which lanes run together after some have ended?",
        32,
        "setp.lt.u32 %p0, %l, 5;\n@%p0 ret;\nactivemask.b32 %x0;\nst.global.u32 [%a], %x0;",
    ),
    probe(
        "active-mask-after-a-warp-barrier",
        "Which lanes run together behind `bar.warp.sync`?",
        32,
        "and.b32 %x1, %l, 1;\nsetp.eq.u32 %p0, %x1, 0;\n@%p0 bra EVEN;\n\
         st.volatile.global.u32 [%f], 1;\nbra END;\nEVEN: st.volatile.global.u32 [%f+4], 1;\n\
         END: bar.warp.sync 0xffffffff;\nactivemask.b32 %x0;\nst.global.u32 [%a], %x0;",
    ),
    probe(
        "active-mask-of-short-circuits",
        "Which lanes run together at a place that two branches jump to?",
        32,
        "and.b32 %x1, %l, 1;\nsetp.eq.u32 %p0, %x1, 0;\n@%p0 bra TAKEN;\n\
         st.volatile.global.u32 [%f], 1;\nsetp.lt.u32 %p1, %l, 16;\n@%p1 bra TAKEN;\n\
         activemask.b32 %x0;\nst.global.u32 [%a], %x0;\nbra END;\n\
         TAKEN: activemask.b32 %x0;\nst.global.u32 [%a], %x0;\nEND:",
    ),
    probe(
        "fault-address",
        "Which result has a load from an address at which nothing is?",
        32,
        "mov.u64 %i, 16;\nld.global.u32 %x0, [%i];\nst.global.u32 [%a], %x0;",
    ),
    probe(
        "fault-alignment",
        "Which result has a load from an address that is not a multiple of its size?",
        32,
        "ld.global.u32 %x0, [%a+2];\nst.global.u32 [%a], %x0;",
    ),
    probe("fault-trap", "Which result has `trap`?", 32, "setp.eq.u32 %p0, %l, 7;\n@%p0 trap;"),
];
