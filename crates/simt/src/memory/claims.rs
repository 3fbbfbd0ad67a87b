//! Claims on the words of a map by several host threads that run parts of one launch at once.
//!
//! Each part (an *owner*) claims words before it accesses them. A word can be read by any number of
//! owners, or read and written by one, or changed by any number of owners with one and the same
//! commuting operation. A claim that conflicts with an earlier one is refused, and the words must
//! not be accessed. So as long as no claim is refused, no result depends on the order in which the
//! owners ran, and no two threads race.
//!
//! Claims are kept by line of 64 bytes: as masks of words in one host word where the line has one
//! owner, else word by word in a table. A region that nobody has written yet can be declared
//! unwritten for good; its loads then need no claims. A region can be declared so, or disjoint,
//! before any claim; where it is disjoint, accesses that are known to keep to bytes of their owner
//! make no claims, and all claims on it are refused.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{OnceLock, PoisonError};

use rustc_hash::FxHashMap;

// `tests/claims.rs` compiles this file with the types of a model checker for these.
use super::sync::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Mutex};
use super::zeroed::Words;

const LINE: usize = 64;
const WORD: usize = 4;
const WORDS: usize = LINE / WORD;
/// Most owners: their numbers have 29 bits and begin at 1.
const OWNERS: u32 = (1 << 29) - 1;

/// A line's entry: words read, words written, the owner; or this bit alone, if the line is in the
/// table.
const SPREAD: u64 = 1 << 63;
const OWNER_SHIFT: u32 = 32;

/// A word's entry in the table: an owner's number, and this bit if it writes; or one of the two
/// below.
const WRITES: u32 = 1 << 31;
/// Any number of owners read it.
const MANY: u32 = 1 << 30;
/// Any number of owners change it by the operation whose number is in the low bits.
const CHANGED: u32 = 1 << 30 | 1 << 29;

/// The state of a region: not declared yet.
const UNKNOWN: u8 = 0;
/// Nobody has written it, and nobody may: loads need no claims.
const UNWRITTEN: u8 = 1;
const WRITTEN: u8 = 2;
/// Its owners access different bytes of it.
const DISJOINT: u8 = 3;

const SHARDS: usize = 64;

/// The access that a claim is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// Reads its words.
    Read,
    /// Writes its words, and may read them.
    Write,
    /// Changes its words by the commuting operation of this number, without returning the old
    /// values.
    Change(u8),
}

/// The claims of all owners.
#[derive(Debug)]
pub(super) struct Claims {
    regions: Vec<Lines>,
    spread: [Mutex<Table>; SHARDS],
    owners: AtomicU32,
    /// Whether loads may declare regions unwritten.
    trusting: AtomicBool,
    refused: AtomicBool,
}

#[derive(Debug)]
struct Lines {
    state: AtomicU8,
    count: usize,
    /// Allocated by the first claim.
    entries: OnceLock<Option<Words>>,
    /// Accesses that made claims, until loads may declare regions unwritten.
    followed: AtomicU64,
}

type Table = FxHashMap<(u32, usize), [u32; WORDS]>;

impl Claims {
    /// Makes an empty set of claims on regions of these lengths. Those numbered in `written` count
    /// as written.
    pub(super) fn new(bytes: impl Iterator<Item = usize>, written: &[u32]) -> Self {
        let lines = |(i, bytes): (usize, usize)| Lines {
            state: AtomicU8::new(if written.contains(&(i as u32)) { WRITTEN } else { UNKNOWN }),
            count: bytes.div_ceil(LINE),
            entries: OnceLock::new(),
            followed: AtomicU64::new(0),
        };
        Self {
            regions: bytes.enumerate().map(lines).collect(),
            spread: std::array::from_fn(|_| Mutex::new(Table::default())),
            owners: AtomicU32::new(1),
            trusting: AtomicBool::new(false),
            refused: AtomicBool::new(false),
        }
    }

    /// Returns the number of a new owner; `None` if there are too many.
    pub(super) fn owner(&self) -> Option<u32> {
        let owner = self.owners.fetch_add(1, Relaxed);
        if owner >= OWNERS {
            self.owners.store(OWNERS, Relaxed);
            self.refused.store(true, Relaxed);
            return None;
        }
        Some(owner)
    }

    /// Declares a region unwritten for good.
    pub(super) fn declare_unwritten(&mut self, region: u32) {
        self.regions[region as usize].state.store(UNWRITTEN, Relaxed);
    }

    /// Declares a region disjoint.
    pub(super) fn declare_disjoint(&mut self, region: u32) {
        self.regions[region as usize].state.store(DISJOINT, Relaxed);
    }

    /// Returns whether a region is disjoint.
    #[inline]
    pub(super) fn is_disjoint(&self, region: u32) -> bool {
        self.regions[region as usize].state.load(Relaxed) == DISJOINT
    }

    /// Lets loads declare unwritten regions as unwritten for good from now on.
    pub(super) fn trust(&self) {
        self.trusting.store(true, Relaxed);
    }

    /// Returns whether a claim was refused.
    pub(super) fn refused(&self) -> bool {
        self.refused.load(Relaxed)
    }

    /// Returns the numbers of the regions that owners have written, or tried to write.
    pub(super) fn written(&self) -> Vec<u32> {
        let all = (0..).zip(&self.regions);
        all.filter(|(_, lines)| lines.state.load(Relaxed) == WRITTEN).map(|(i, _)| i).collect()
    }

    /// Returns the number of accesses to regions that owners have written.
    pub(super) fn followed(&self) -> u64 {
        let written = self.regions.iter().filter(|lines| lines.state.load(Relaxed) == WRITTEN);
        written.map(|lines| lines.followed.load(Relaxed)).sum()
    }

    /// Returns whether a region is one that nobody writes.
    #[inline]
    pub(super) fn is_unwritten(&self, region: u32) -> bool {
        self.regions[region as usize].state.load(Relaxed) == UNWRITTEN
    }

    /// Returns whether a region that is about to be read is unwritten for good; declares it so if
    /// loads may.
    #[inline]
    fn stays_unwritten(&self, state: &AtomicU8) -> bool {
        match state.load(Relaxed) {
            UNWRITTEN => true,
            UNKNOWN if self.trusting.load(Relaxed) => {
                // The first declaration or write decides for good.
                let was = state.compare_exchange(UNKNOWN, UNWRITTEN, Relaxed, Relaxed);
                matches!(was, Ok(_) | Err(UNWRITTEN))
            }
            _ => false,
        }
    }

    /// Claims bytes of a region for an owner.
    #[inline]
    pub(super) fn claim(
        &self,
        owner: u32,
        region: u32,
        (offset, size): (usize, usize),
        claim: Claim,
    ) -> bool {
        let lines = &self.regions[region as usize];
        let writes = claim != Claim::Read;
        if !writes && self.stays_unwritten(&lines.state) {
            return true;
        }
        if self.is_disjoint(region) {
            self.refused.store(true, Relaxed);
            return false;
        }
        let granted = !(writes && self.begins_writing(lines)) && {
            // Nobody asks for their number later, and owners would share the line that holds it.
            if !self.trusting.load(Relaxed) {
                lines.followed.fetch_add(1, Relaxed);
            }
            self.claim_lines(owner, region, lines, (offset, size), claim)
        };
        if !granted {
            self.refused.store(true, Relaxed);
        }
        granted
    }

    /// Marks a region as written; returns whether others rely on it being unwritten.
    fn begins_writing(&self, lines: &Lines) -> bool {
        match lines.state.load(Relaxed) {
            WRITTEN => false,
            _ => lines.state.swap(WRITTEN, Relaxed) == UNWRITTEN,
        }
    }

    fn claim_lines(
        &self,
        owner: u32,
        region: u32,
        lines: &Lines,
        (offset, size): (usize, usize),
        claim: Claim,
    ) -> bool {
        let entries = lines.entries.get_or_init(|| Words::zeroed(lines.count).ok());
        let Some(entries) = entries else { return false };
        if size == 0 {
            return true;
        }
        let last = offset + size - 1;
        (offset / LINE..=last / LINE).all(|line| {
            let first = offset.max(line * LINE) % LINE / WORD;
            let end = last.min(line * LINE + LINE - 1) % LINE / WORD;
            let words = (u16::MAX >> (WORDS - 1 - end)) & (u16::MAX << first);
            self.claim_line(owner, (region, line), &entries[line], words, claim)
        })
    }

    fn claim_line(
        &self,
        owner: u32,
        at: (u32, usize),
        entry: &AtomicU64,
        words: u16,
        claim: Claim,
    ) -> bool {
        let mut now = entry.load(Relaxed);
        loop {
            let mask = match claim {
                Claim::Read => u64::from(words),
                Claim::Write => u64::from(words) << WORDS,
                Claim::Change(_) => break,
            };
            let mine = u64::from(owner) << OWNER_SHIFT;
            if now & SPREAD != 0 || (now != 0 && now >> OWNER_SHIFT != u64::from(owner)) {
                break;
            }
            if now & mask == mask {
                return true;
            }
            match entry.compare_exchange_weak(now, now | mine | mask, Relaxed, Relaxed) {
                Ok(_) => return true,
                Err(other) => now = other,
            }
        }
        self.claim_words(owner, at, entry, words, claim)
    }

    /// Claims words of a line that has several owners, or is about to.
    #[cold]
    #[inline(never)]
    fn claim_words(
        &self,
        owner: u32,
        at: (u32, usize),
        entry: &AtomicU64,
        words: u16,
        claim: Claim,
    ) -> bool {
        let shard = at.1.wrapping_mul(0x9e37_79b1) >> 8;
        let table = &self.spread[shard % SHARDS];
        let mut table = table.lock().unwrap_or_else(PoisonError::into_inner);
        if table.try_reserve(1).is_err() {
            return false;
        }
        let all = table.entry(at).or_default();
        let before = entry.swap(SPREAD, Relaxed);
        if before & SPREAD == 0 {
            // The claims of its one owner so far.
            for (i, word) in all.iter_mut().enumerate() {
                let (read, written) = (before >> i & 1 != 0, before >> (WORDS + i) & 1 != 0);
                let number = (before >> OWNER_SHIFT) as u32;
                *word = match (read, written) {
                    (_, true) => number | WRITES,
                    (true, false) => number,
                    _ => 0,
                };
            }
        }
        let chosen = all.iter_mut().enumerate().filter(|(i, _)| words >> i & 1 != 0);
        for (_, word) in chosen {
            let mine = *word & !WRITES == owner;
            *word = match claim {
                Claim::Read if *word == 0 => owner,
                Claim::Read if mine || *word == MANY => *word,
                Claim::Read if *word & (WRITES | MANY) == 0 => MANY,
                Claim::Write if *word == 0 || mine => owner | WRITES,
                Claim::Change(op) if *word == 0 => CHANGED | u32::from(op),
                Claim::Change(op) if *word == CHANGED | u32::from(op) => *word,
                _ => return false,
            };
        }
        true
    }
}
