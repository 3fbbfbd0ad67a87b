//! Screens against the rule in words: every pair of accesses to a word is compared.
//!
//! A screen may refuse what the rule allows, but never let pass what it forbids.

use checks::Checker;
use engine::{
    Exempt, ExemptUntil, RowPattern, Screen, ScreenedAccess, ScreenedAddresses, ScreenedLaunch,
    Verdict,
};
use findings::CheckSet;
use ir::testing::Rng;
use simt::observe::{AccessKind, Order, Scope, Space};

const BLOCKS: usize = 3;
const WARPS: u32 = 2;
const LANES: usize = 32;
/// How many cases are run.
const SEEDS: u64 = 12_000;

/// An access of a thread to a word.
#[derive(Clone, Copy, Debug)]
struct Seen {
    block: usize,
    phase: u32,
    thread: u32,
    shared: bool,
    word: u64,
    kind: AccessKind,
}

impl Seen {
    /// Returns whether the rule forbids two accesses.
    fn conflicts(&self, other: &Self) -> bool {
        let apart = self.block != other.block;
        let same_word = (self.shared, self.word) == (other.shared, other.word);
        let both_atomic = self.kind == AccessKind::Atomic && other.kind == AccessKind::Atomic;
        let reads = self.kind == AccessKind::Load && other.kind == AccessKind::Load;
        same_word
            && !(self.shared && apart)
            && (apart || self.thread != other.thread && self.phase == other.phase)
            && !both_atomic
            && !reads
    }
}

/// Words from the common ones to the counters.
const REGION: u64 = 40;

/// A random access: its space, the word of each lane, and how many words each lane accesses.
struct Made {
    kind: AccessKind,
    shared: bool,
    on: u32,
    words: [u64; LANES],
    size: u64,
}

/// Threads have words of their own, read common ones, and change counters; now and then they do
/// something else.
fn made(rng: &mut Rng, block: usize, warp: u32) -> Made {
    let shared = rng.one_in(2);
    let place = rng.below(3);
    let usual = [AccessKind::Store, AccessKind::Load, AccessKind::Atomic][place];
    let any = [AccessKind::Load, AccessKind::Store, AccessKind::Atomic];
    let kind = match place {
        0 if rng.one_in(2) => AccessKind::Load,
        2 if rng.one_in(30) => AccessKind::Store,
        _ if rng.one_in(25) => any[rng.below(3)],
        _ => usual,
    };
    let on = match rng.below(4) {
        0 => 1 << rng.below(LANES),
        1 => rng.bits() as u32 | 1,
        _ => u32::MAX,
    };
    let size = if rng.one_in(5) { 2 } else { 1 };
    // Words of a thread's own: 40 of each warp, so that warps and blocks meet in lines.
    let own = 1000 + 40 * (u64::from(WARPS) * block as u64 + u64::from(warp));
    let astray = if rng.one_in(25) { [1, 8, 16, 40, 40][rng.below(5)] } else { 0 };
    let together = kind == AccessKind::Load && rng.one_in(8);
    let (first, step) = match place {
        0 if together => (own + u64::from(on.trailing_zeros()), 0),
        0 => (own + astray, size),
        place => (REGION * place as u64 + rng.below(4) as u64, [0, 0, 1, size][rng.below(4)]),
    };
    // Pairs of words have room for half of the lanes.
    let on = if place == 0 && size == 2 { on & 0xffff | 1 } else { on };
    let mut words: [u64; LANES] = std::array::from_fn(|lane| first + step * lane as u64);
    if rng.one_in(3) && place != 0 {
        words.rotate_left(rng.below(LANES));
    }
    // Words that a block reads in one phase and a thread writes in a later one.
    if place == 1 && rng.one_in(12) {
        words = [REGION + rng.below(8) as u64; LANES];
        return Made { kind, shared: true, on: 1 << rng.below(LANES), words, size };
    }
    Made { kind, shared, on, words, size }
}

/// Accesses that are not judged: their kind, their space and the block.
struct Unjudged {
    kind: AccessKind,
    shared: bool,
    block: usize,
    exempt: Exempt,
}

impl Unjudged {
    fn has(&self, made: &Made, block: usize) -> bool {
        let inside = |lane: usize| {
            let (start, bytes) = (4 * made.words[lane], &self.exempt.bytes);
            bytes.start <= start && start + 4 * made.size <= bytes.end
        };
        (self.kind, self.shared) == (made.kind, made.shared)
            && (block == self.block || self.exempt.until == ExemptUntil::LaunchEnd)
            && (0..LANES).filter(|lane| made.on >> lane & 1 != 0).all(inside)
    }
}

/// Has the screen judge an access unless it is exempt; returns whether it passes. `way` chooses how
/// its addresses are given.
fn judge(
    (screen, unjudged): (&mut Checker, &mut Vec<Unjudged>),
    made: &Made,
    block: usize,
    warp: u32,
    way: usize,
) -> bool {
    if unjudged.iter().any(|it| it.has(made, block)) {
        return true;
    }
    let at: [u64; LANES] = std::array::from_fn(|lane| 4 * made.words[lane]);
    let lead = made.on.trailing_zeros() as usize;
    let stride = at[1].wrapping_sub(at[0]).cast_signed();
    let is_line =
        (0..LANES).all(|lane| at[lane] == at[0].wrapping_add_signed(stride * lane as i64));
    let mut distances = [0; LANES];
    for lane in (0..LANES).filter(|lane| made.on >> lane & 1 != 0) {
        distances[lane] = (at[lane].cast_signed() - at[lead].cast_signed()) as i32;
    }
    let low = *distances.iter().min().expect("there are lanes");
    let high = *distances.iter().max().expect("there are lanes");
    // Patterns are those of one access each.
    let pattern = RowPattern { id: way as u32, distances, low, high };
    let at = match way % 3 {
        0 if is_line => ScreenedAddresses::Line { first: at[0], stride },
        1 => ScreenedAddresses::Pattern { at: at[lead], pattern: &pattern },
        _ => ScreenedAddresses::Each(&at),
    };
    let access = ScreenedAccess {
        cta: block as u64,
        first_thread: 32 * warp,
        kind: made.kind,
        order: Order::Weak,
        scope: Scope::Gpu,
        space: if made.shared { Space::Shared } else { Space::Global },
        size: 4 * made.size as u32,
        on: made.on,
        at,
    };
    let verdict = screen.access(&access);
    let found = if verdict == Verdict::Idle { screen.exempt(&access) } else { None };
    let (kind, shared) = (made.kind, made.shared);
    unjudged.extend(found.map(|exempt| Unjudged { kind, shared, block, exempt }));
    verdict != Verdict::Refused
}

/// Outcomes of cases.
#[derive(Debug, Default)]
struct Count {
    accesses: u32,
    /// Those that are exempt.
    exempt: u32,
    /// Cases that end without a refusal.
    passed: u32,
    /// Refusals of what the rule allows, and of what it forbids.
    needless: u32,
    needed: u32,
}

fn run(seed: u64, count: &mut Count) {
    let mut rng = Rng::new(seed);
    let mut screen = Checker::new("oracle", CheckSet::parse("race").expect("a check"));
    let launch = ScreenedLaunch {
        ctas: BLOCKS as u64,
        threads: 32 * WARPS,
        shared_bytes: 8192,
        local_bytes: 0,
        smallest_word: 4,
    };
    assert!(Screen::begin(&mut screen, &launch));
    let mut phases = [1; BLOCKS];
    let mut seen: Vec<Seen> = Vec::new();
    let mut unjudged: Vec<Unjudged> = Vec::new();
    for way in 0..60 {
        let block = rng.below(BLOCKS);
        if rng.one_in(6) {
            screen.barrier(block as u64);
            unjudged.retain(|it| it.block != block || it.exempt.until > ExemptUntil::Barrier);
            phases[block] += 1;
            continue;
        }
        let warp = rng.below(WARPS as usize) as u32;
        let made = made(&mut rng, block, warp);
        let before = seen.len();
        for lane in (0..LANES).filter(|lane| made.on >> lane & 1 != 0) {
            seen.extend((0..made.size).map(|more| Seen {
                block,
                phase: phases[block],
                thread: 32 * warp + lane as u32,
                shared: made.shared,
                word: made.words[lane] + more,
                kind: made.kind,
            }));
        }
        let forbidden =
            (before..seen.len()).any(|new| (0..new).any(|old| seen[new].conflicts(&seen[old])));
        count.accesses += 1;
        count.exempt += u32::from(unjudged.iter().any(|it| it.has(&made, block)));
        let fine = judge((&mut screen, &mut unjudged), &made, block, warp, way);
        assert!(!(fine && forbidden), "seed {seed}: access {way} of block {block} passes");
        match (fine, forbidden) {
            (true, _) => {}
            (false, true) => return count.needed += 1,
            (false, false) => return count.needless += 1,
        }
    }
    count.passed += 1;
}

#[test]
fn no_forbidden_access_passes() {
    let mut count = Count::default();
    (0..SEEDS).for_each(|seed| run(seed, &mut count));
    // The screen is of use, and cases are of all kinds.
    assert!(count.needed > 300 && count.passed > 30, "{count:?}");
    assert!(count.needless * 3 < count.needed && count.exempt > 100, "{count:?}");
}

/// All threads of a warp read a word, and one of them alone reads the next one.
#[test]
fn words_that_one_thread_reads_are_not_exempt() {
    let mut screen = Checker::new("one", CheckSet::parse("race").expect("a check"));
    let (ctas, threads) = (1, 32);
    let launch =
        ScreenedLaunch { ctas, threads, shared_bytes: 256, local_bytes: 0, smallest_word: 4 };
    assert!(Screen::begin(&mut screen, &launch));
    let read = |first, on| ScreenedAccess {
        cta: 0,
        first_thread: 0,
        kind: AccessKind::Load,
        order: Order::Weak,
        scope: Scope::Gpu,
        space: Space::Shared,
        size: 4,
        on,
        at: ScreenedAddresses::Line { first, stride: 0 },
    };
    assert_eq!(screen.access(&read(8, u32::MAX)), Verdict::Passed);
    assert_eq!(screen.access(&read(12, 4)), Verdict::Passed);
    assert_eq!(screen.access(&read(8, u32::MAX)), Verdict::Idle);
    let until = ExemptUntil::Barrier;
    assert_eq!(screen.exempt(&read(8, u32::MAX)), Some(Exempt { bytes: 8..12, until }));
}
