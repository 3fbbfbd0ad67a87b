//! Which accesses of screened launches code need not log, and until when.

use crate::screen_log::{ExemptCell, ExemptSite};
use fast::{Exempt, ExemptUntil};

/// Most idle accesses of a cell that pass before the screen is asked again.
const MOST_WAIT: u32 = 4096;

/// A cell that is not for the whole launch: its site, until when it is, and its value.
type KeptCell = (usize, ExemptUntil, ExemptCell);

/// The cells that code reads, with what the host knows of each.
#[derive(Default)]
pub(super) struct ExemptCells {
    cells: Box<[ExemptCell]>,
    waits: Box<[Wait]>,
    /// Cells that are not for the whole launch, and until when they are.
    short: Vec<(usize, ExemptUntil)>,
    /// The slot that is visited.
    slot: usize,
    /// By slot: the CTA, and between visits what is exempt for it alone.
    kept: Vec<(u64, Vec<KeptCell>)>,
}

/// When the screen is asked: less often the more often it was.
#[derive(Clone, Copy, Default)]
struct Wait {
    left: u32,
    interval: u32,
}

impl ExemptCells {
    pub(super) fn new(sites: usize) -> Self {
        Self {
            cells: vec![ExemptCell::NONE; sites].into(),
            waits: vec![Wait::default(); sites].into(),
            short: Vec::new(),
            slot: 0,
            kept: vec![(u64::MAX, Vec::new())],
        }
    }

    /// Begins a visit to a CTA: others have exempt accesses of their own.
    pub(super) fn begin(&mut self, slot: usize, cta: u64) {
        if slot == self.slot && self.kept[slot].0 == cta {
            return;
        }
        let kept = &mut self.kept[self.slot].1;
        for (index, until) in self.short.drain(..) {
            kept.push((index, until, self.cells[index]));
            (self.cells[index], self.waits[index]) = (ExemptCell::NONE, Wait::default());
        }
        if self.kept.len() <= slot {
            self.kept.resize(slot + 1, (u64::MAX, Vec::new()));
        }
        self.slot = slot;
        let (last, kept) = &mut self.kept[slot];
        let is_same = std::mem::replace(last, cta) == cta;
        for (index, until, cell) in kept.drain(..).filter(|_| is_same) {
            self.cells[index] = cell;
            self.short.push((index, until));
        }
    }

    /// Returns the cells for code.
    pub(super) fn table(&mut self) -> *mut ExemptCell {
        self.cells.as_mut_ptr()
    }

    /// Returns whether the screen is to be asked about an idle access.
    #[inline]
    pub(super) fn is_asked(&mut self, cell: u32) -> bool {
        let Some(wait) = self.waits.get_mut(cell as usize) else { return false };
        if wait.left > 0 {
            wait.left -= 1;
            return false;
        }
        wait.interval = (2 * wait.interval + 1).min(MOST_WAIT);
        wait.left = wait.interval;
        true
    }

    /// Tells code of exempt accesses.
    pub(super) fn set(&mut self, index: u32, site: ExemptSite, exempt: &Exempt) {
        let index = index as usize;
        let Some(new) = site.cell(exempt.bytes.start, exempt.bytes.end) else { return };
        let Some(cell) = self.cells.get_mut(index).filter(|_| new.count > 0) else { return };
        *cell = new;
        self.short.retain(|known| known.0 != index);
        if exempt.until < ExemptUntil::LaunchEnd {
            self.short.push((index, exempt.until));
        }
    }

    /// Ends what was exempt until something.
    pub(super) fn end(&mut self, until: ExemptUntil) {
        self.short.retain(|&(index, last)| {
            if last <= until {
                self.cells[index] = ExemptCell::NONE;
                self.waits[index] = Wait::default();
            }
            last > until
        });
    }
}
