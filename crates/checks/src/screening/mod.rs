//! Judges accesses of launches that run without events.
//!
//! The barriers of a block part its launch into phases. In a launch that is not suspicious, a word
//! that a thread writes is accessed by no other thread in the same phase, and by no other block,
//! except where all of these accesses are atomics; and nothing is read that nobody has written.
//! Such a launch has no race by the memory model of PTX, whatever fences and atomics order besides,
//! and no undefined value anywhere. Other launches need not have a defect.
//!
//! The words that one block accesses are judged 32 at a time ([`line`]). For others, the last write
//! and the last read are kept ([`stamp`]), as HiRace (Jacobson, Burtscher and Gopalakrishnan, SC
//! 2024) keeps the state of an address.

mod global;
mod line;
mod stamp;
mod touches;

use engine::{Exempt, ExemptUntil, ScreenedAccess, ScreenedLaunch, Verdict};
use findings::{Check, CheckSet};
use rustc_hash::FxHashMap;
use simt::WarpMask;
use simt::observe::{AccessKind, Order, Scope, Space};
use std::ops::Range;
use vm::UndefinedMemory;

use self::global::Pages;
use self::line::{Line, Touch, WORDS, run_around};
use self::stamp::{MOST_PHASES, SEVERAL, THREAD_BITS};
use self::touches::{WordPattern, touches};

/// Most bytes of local memory of a block that are followed.
const MOST_LOCAL: usize = 16 << 20;

/// A block.
#[derive(Default)]
struct Block {
    /// Its first phase. Lines of earlier phases are those of a block that has ended.
    first_phase: u32,
    phase: u32,
    shared: Vec<Line>,
    /// Which bytes of local memory were written, by thread.
    local: Vec<bool>,
}

/// What is asked of accesses.
#[derive(Clone, Copy, Debug)]
struct Rules {
    /// Whether they have to be ordered.
    race: bool,
    /// Whether values have to be written before they are read.
    init: bool,
}

impl Rules {
    /// Judges an access to a line. `is_defined` tells whether words that the launch has not written
    /// have contents.
    #[inline]
    fn judge(
        self,
        line: &mut Line,
        kind: AccessKind,
        now: (u32, u32),
        touch: &Touch<'_>,
        is_defined: impl FnOnce(u32) -> bool,
    ) -> Verdict {
        let unknown = touch.words & !line.defined;
        if unknown != 0 && kind != AccessKind::Store && !is_defined(unknown) {
            return Verdict::Refused;
        }
        line.defined |= unknown;
        if kind != AccessKind::Load {
            line.stored |= touch.words;
        }
        match self.race {
            true => line.access(kind, now, touch),
            false if unknown == 0 => Verdict::Idle,
            false => Verdict::Passed,
        }
    }
}

/// The lowest address of an access.
fn lowest(access: &ScreenedAccess<'_>) -> u64 {
    let lanes = WarpMask::from_bits(access.on.into()).into_iter();
    lanes.map(|lane| access.at.of(lane)).min().unwrap_or(0)
}

/// Judges the accesses of launches.
pub(crate) struct Screening {
    rules: Rules,
    launch: ScreenedLaunch,
    /// The binary logarithm of the bytes of a word.
    word: u32,
    pages: Pages,
    /// Words of rows of addresses, by number.
    patterns: Vec<Option<Box<WordPattern>>>,
    /// Blocks that have begun, and where they are.
    blocks: Vec<Block>,
    resident: FxHashMap<u64, usize>,
    /// The last block that accessed anything.
    last: (u64, usize),
    /// Blocks that have ended, whose storage others use.
    spare: Vec<usize>,
}

impl Screening {
    /// Returns what judges accesses for these checks, or `None` if one of them needs all events.
    pub(crate) fn new(checks: CheckSet) -> Option<Self> {
        checks.observes().then_some(())?;
        (!checks.has(Check::Volatile)).then(|| Self {
            rules: Rules { race: checks.has(Check::Race), init: checks.has(Check::Init) },
            launch: ScreenedLaunch::default(),
            word: 0,
            pages: Pages::default(),
            patterns: Vec::new(),
            blocks: Vec::new(),
            resident: FxHashMap::default(),
            last: (u64::MAX, 0),
            spare: Vec::new(),
        })
    }

    fn clear(&mut self) {
        self.pages.clear();
        self.patterns.clear();
        (self.blocks, self.spare) = (Vec::new(), Vec::new());
        self.resident.clear();
        self.last = (u64::MAX, 0);
    }

    pub(crate) fn begin(&mut self, launch: &ScreenedLaunch) -> bool {
        self.clear();
        self.launch = *launch;
        self.word = launch.smallest_word.trailing_zeros();
        let local = (launch.threads as usize).saturating_mul(launch.local_bytes);
        let ctas = launch.ctas < u64::from(SEVERAL);
        ctas && launch.threads < 1 << THREAD_BITS && local <= MOST_LOCAL
    }

    /// Returns whether accesses matter at all.
    pub(crate) fn judges_accesses(&self) -> bool {
        self.rules.race || self.rules.init
    }

    /// Judges an access of a warp.
    pub(crate) fn access(
        &mut self,
        access: &ScreenedAccess<'_>,
        undefined: Option<&UndefinedMemory>,
    ) -> Verdict {
        let &ScreenedAccess { kind, order, space, .. } = access;
        if !self.judges_accesses() {
            return Verdict::Idle;
        }
        if self.rules.race && kind != AccessKind::Atomic && order != Order::Weak {
            return Verdict::Refused;
        }
        match space {
            Space::Global => self.global(access, undefined),
            Space::Shared => self.shared(access),
            Space::Local if self.rules.init && self.local(access) => Verdict::Passed,
            Space::Local if !self.rules.init && kind != AccessKind::Atomic => Verdict::Idle,
            Space::Local => Verdict::Refused,
            _ if kind == AccessKind::Load => Verdict::Idle,
            _ => Verdict::Refused,
        }
    }

    fn global(
        &mut self,
        access: &ScreenedAccess<'_>,
        undefined: Option<&UndefinedMemory>,
    ) -> Verdict {
        let &ScreenedAccess { cta, kind, scope, .. } = access;
        let (rules, bits) = (self.rules, self.word);
        if rules.race && kind == AccessKind::Atomic && scope == Scope::Cta {
            return Verdict::Refused;
        }
        let Some(phase) = self.block(cta).map(|block| block.phase) else {
            return Verdict::Refused;
        };
        let pages = &mut self.pages;
        touches(access, bits, &mut self.patterns, |number, touch| {
            let Some(line) = pages.line(number, bits, undefined) else { return Verdict::Refused };
            rules.judge(line, kind, (cta as u32, phase), touch, |words| {
                global::is_defined(number, bits, words, undefined)
            })
        })
    }

    fn shared(&mut self, access: &ScreenedAccess<'_>) -> Verdict {
        let (kind, bits, rules) = (access.kind, self.word, self.rules);
        let defined = if rules.init { 0 } else { u32::MAX };
        let mut patterns = std::mem::take(&mut self.patterns);
        let Some(block) = self.block(access.cta) else { return Verdict::Refused };
        let now = (0, block.phase);
        let verdict = touches(access, bits, &mut patterns, |number, touch| {
            let line = usize::try_from(number).ok().and_then(|line| block.shared.get_mut(line));
            let Some(line) = line else { return Verdict::Refused };
            line.begin_at(block.first_phase, defined);
            rules.judge(line, kind, now, touch, |_| false)
        });
        self.patterns = patterns;
        verdict
    }

    /// Returns which accesses around an idle one are as idle, and will be.
    pub(crate) fn exempt(
        &mut self,
        access: &ScreenedAccess<'_>,
        undefined: Option<&UndefinedMemory>,
    ) -> Option<Exempt> {
        let Rules { race, init } = self.rules;
        match access.space {
            Space::Global | Space::Shared if race && access.kind != AccessKind::Load => None,
            Space::Global if race => {
                let common = self.pages.common_around(lowest(access) >> self.word, self.word);
                Some(self.exempt_words(common, ExemptUntil::LaunchEnd))
            }
            Space::Global if init && undefined.is_some_and(|memory| !memory.is_empty()) => {
                let at = lowest(access);
                let bytes = undefined?.defined_around(at..at + u64::from(access.size))?;
                Some(Exempt { bytes, until: ExemptUntil::LaunchEnd })
            }
            Space::Shared if race || init => {
                let (at, block) = (lowest(access) >> self.word, self.block(access.cta)?);
                let (first, phase) = (block.first_phase, block.phase);
                let having = |line: u64| {
                    let line = block.shared.get(line as usize);
                    line.map_or(0, |line| match race {
                        true => line.several_in(phase),
                        false => line.defined_since(first),
                    })
                };
                let until = if race { ExemptUntil::Barrier } else { ExemptUntil::CtaEnd };
                let words = run_around(at, having);
                Some(self.exempt_words(words, until))
            }
            Space::Local if init => None,
            _ => Some(Exempt::all(access)),
        }
    }

    fn exempt_words(&self, words: Range<u64>, until: ExemptUntil) -> Exempt {
        Exempt { bytes: words.start << self.word..words.end << self.word, until }
    }

    /// Judges an access to local memory where values have to be written before they are read.
    fn local(&mut self, access: &ScreenedAccess<'_>) -> bool {
        let &ScreenedAccess { cta, first_thread, kind, size, .. } = access;
        let bytes = self.launch.local_bytes;
        let Some(block) = self.block(cta) else { return false };
        for lane in WarpMask::from_bits(access.on.into()) {
            let from = access.at.of(lane) as usize;
            if from.saturating_add(size as usize) > bytes {
                return false;
            }
            let start = (first_thread as usize + lane) * bytes + from;
            let written = &mut block.local[start..start + size as usize];
            match kind {
                AccessKind::Load if !written.iter().all(|&written| written) => return false,
                AccessKind::Load => {}
                AccessKind::Store => written.fill(true),
                AccessKind::Atomic => return false,
            }
        }
        true
    }

    /// Returns a block, or `None` if it has too many phases.
    #[inline]
    fn block(&mut self, cta: u64) -> Option<&mut Block> {
        if self.last.0 != cta {
            self.last = (cta, self.find(cta));
        }
        let block = &mut self.blocks[self.last.1];
        (block.phase < MOST_PHASES).then_some(block)
    }

    /// Returns where a block is, which may begin now.
    fn find(&mut self, cta: u64) -> usize {
        if let Some(&index) = self.resident.get(&cta) {
            return index;
        }
        let ScreenedLaunch { threads, shared_bytes, local_bytes, .. } = self.launch;
        let index = self.spare.pop().unwrap_or_else(|| {
            self.blocks.push(Block::default());
            self.blocks.len() - 1
        });
        let block = &mut self.blocks[index];
        let lines = (shared_bytes as usize >> self.word).div_ceil(WORDS);
        block.shared.resize_with(lines, || Line::new(0));
        block.local.clear();
        if self.rules.init {
            block.local.resize(threads as usize * local_bytes, false);
        }
        block.phase += 1;
        block.first_phase = block.phase;
        self.resident.insert(cta, index);
        index
    }

    pub(crate) fn barrier(&mut self, cta: u64) {
        self.block(cta).into_iter().for_each(|block| block.phase += 1);
    }

    pub(crate) fn cta_ended(&mut self, cta: u64) {
        self.last = (u64::MAX, 0);
        let Some(index) = self.resident.remove(&cta) else { return };
        if self.blocks[index].phase > MOST_PHASES / 2 {
            self.blocks[index] = Block::default();
        }
        self.spare.push(index);
    }

    /// Makes the words defined that the launch has written.
    pub(crate) fn ended(&mut self, undefined: Option<&mut UndefinedMemory>) {
        if let Some(undefined) = undefined {
            self.pages.define_stored(self.word, undefined);
        }
        self.clear();
    }
}
