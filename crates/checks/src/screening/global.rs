//! The lines of global memory.

use std::ops::Range;

use rustc_hash::FxHashMap;
use vm::UndefinedMemory;

use super::line::{Line, WORDS};

/// Bytes of a page of global memory.
const PAGE: u64 = 4096;

/// Most pages of global memory that are followed: 256 MiB.
const MOST_PAGES: usize = 1 << 16;

/// Most lines of these, which take 128 MiB of the host, and few more than that.
const MOST_LINES: usize = 1 << 21;

/// Pages that were accessed lately, by the low bits of their numbers.
const RECENT: usize = 64;

/// Most pages on either side that [`Pages::common_around`] looks at.
const MOST_AROUND: u64 = 64;

/// The lines of a page.
struct Page {
    number: u64,
    lines: Box<[Line]>,
    /// Whether it had undefined bytes when the launch began.
    undefined: bool,
    /// Whether all of its words are known to be ones that several blocks read, and none writes.
    common: bool,
}

/// Most lines that are kept for the next launch: 64 MiB.
const MOST_SPARE: usize = 1 << 20;

/// The pages that a launch accesses.
pub(super) struct Pages {
    pages: Vec<Page>,
    /// Lines of pages of earlier launches.
    spare: Vec<Box<[Line]>>,
    numbers: FxHashMap<u64, usize>,
    recent: [(u64, usize); RECENT],
}

impl Default for Pages {
    fn default() -> Self {
        let recent = [(u64::MAX, 0); RECENT];
        let (pages, spare) = (Vec::new(), Vec::new());
        Self { pages, spare, numbers: FxHashMap::default(), recent }
    }
}

/// The binary logarithm of the lines of a page, for words of so many bits of an address.
fn line_bits(word: u32) -> u32 {
    (PAGE as usize / WORDS).trailing_zeros() - word
}

impl Pages {
    /// Begins a launch.
    pub(super) fn clear(&mut self) {
        let spare = self.pages.drain(..).map(|page| page.lines);
        self.spare.extend(spare);
        let mut room = MOST_SPARE;
        self.spare.retain(|lines| {
            let kept = lines.len() <= room;
            room -= if kept { lines.len() } else { 0 };
            kept
        });
        self.numbers.clear();
        self.recent = [(u64::MAX, 0); RECENT];
    }

    /// Returns a line, if there is room for it.
    #[inline]
    pub(super) fn line(
        &mut self,
        number: u64,
        word: u32,
        undefined: Option<&UndefinedMemory>,
    ) -> Option<&mut Line> {
        let bits = line_bits(word);
        let page = number >> bits;
        let (last, mut index) = self.recent[page as usize % RECENT];
        if last != page {
            index = self.find(page, bits, undefined)?;
            self.recent[page as usize % RECENT] = (page, index);
        }
        self.pages.get_mut(index)?.lines.get_mut((number & ((1 << bits) - 1)) as usize)
    }

    /// Returns the index of a page, which is made if there is room for it.
    fn find(
        &mut self,
        number: u64,
        bits: u32,
        undefined: Option<&UndefinedMemory>,
    ) -> Option<usize> {
        let next = self.pages.len();
        if let Some(&index) = self.numbers.get(&number) {
            return Some(index);
        }
        if next >= MOST_PAGES || (next + 1) << bits > MOST_LINES {
            return None;
        }
        let defined = |memory: &UndefinedMemory| memory.is_defined(number * PAGE, PAGE);
        let undefined = !undefined.is_none_or(defined);
        let line = if undefined { 0 } else { u32::MAX };
        let lines = match self.spare.pop().filter(|lines| lines.len() == 1 << bits) {
            Some(mut lines) => {
                lines.iter_mut().for_each(|last| last.reset(line));
                lines
            }
            None => vec![Line::new(line); 1 << bits].into(),
        };
        self.pages.push(Page { number, lines, undefined, common: false });
        self.numbers.insert(number, next);
        Some(next)
    }

    /// Returns the words around one that several blocks read, and none writes.
    pub(super) fn common_around(&mut self, at: u64, word: u32) -> Range<u64> {
        let bits = line_bits(word);
        let line = at / WORDS as u64;
        let page = line >> bits;
        if !self.is_common(page) {
            return super::line::run_around(at, |line| {
                let page = self.numbers.get(&(line >> bits)).and_then(|&at| self.pages.get(at));
                let line =
                    page.and_then(|page| page.lines.get((line & ((1 << bits) - 1)) as usize));
                line.map_or(0, Line::common)
            });
        }
        let before = (1..=MOST_AROUND)
            .take_while(|&by| page.checked_sub(by).is_some_and(|page| self.is_common(page)));
        let start = page - before.count() as u64;
        let after = (1..=MOST_AROUND).take_while(|by| self.is_common(page + by));
        let end = page + 1 + after.count() as u64;
        let first = |page: u64| (page << bits) * WORDS as u64;
        first(start)..first(end)
    }

    /// Returns whether several blocks read each word of a page, and none writes it.
    fn is_common(&mut self, number: u64) -> bool {
        let page = self.numbers.get(&number).and_then(|&index| self.pages.get_mut(index));
        let Some(page) = page else { return false };
        // They stay so, or the launch is refused.
        page.common |= page.lines.iter().all(|line| line.common() == u32::MAX);
        page.common
    }

    /// Makes the words defined that the launch has written.
    pub(super) fn define_stored(&self, word: u32, undefined: &mut UndefinedMemory) {
        for page in self.pages.iter().filter(|page| page.undefined) {
            let words = page
                .lines
                .iter()
                .flat_map(|line| (0..WORDS).map(|word| line.stored >> word & 1 != 0));
            let words: Vec<bool> = words.collect();
            let mut at = page.number * PAGE;
            for run in words.chunk_by(|a, b| a == b) {
                let len = (run.len() as u64) << word;
                if run[0] {
                    undefined.define(at, len);
                }
                at += len;
            }
        }
    }
}

/// Returns whether words of a line had contents when the launch began.
#[cold]
pub(super) fn is_defined(
    number: u64,
    word: u32,
    words: u32,
    undefined: Option<&UndefinedMemory>,
) -> bool {
    let Some(memory) = undefined else { return true };
    let start = |index: u32| (number * WORDS as u64 + u64::from(index)) << word;
    (0..WORDS as u32)
        .filter(|index| words >> index & 1 != 0)
        .all(|index| memory.is_defined(start(index), 1 << word))
}
