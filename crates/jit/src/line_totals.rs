//! Accesses of some lanes of a warp to contiguous words in global memory, added up.

use std::mem::offset_of;

/// Bytes of a sector of global memory.
const SECTOR: u64 = 32;
/// Words of a sector.
const WORDS: u64 = SECTOR / LineTotals::WORD;

/// What accesses of some lanes, each to the word of its place in a line, take together. Code counts
/// it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct LineTotals {
    /// The number of accesses.
    times: u64,
    /// The sum of their active lanes, if these have words of their own; else `times`.
    lanes: u64,
    /// The sum of the sectors that they touch.
    sectors: u64,
}

impl LineTotals {
    /// Bytes of a word.
    pub(crate) const WORD: u64 = 4;
    pub(crate) const TIMES: i64 = offset_of!(Self, times) as i64;
    pub(crate) const LANES: i64 = offset_of!(Self, lanes) as i64;
    pub(crate) const SECTORS: i64 = offset_of!(Self, sectors) as i64;

    /// Returns a few accesses that, each repeated so often, take as much: active lanes, lane 0's
    /// address in the page of `at`, times. The words are [`Self::WORD`] bytes apart.
    pub(crate) fn examples(&self, at: u64) -> impl Iterator<Item = (u32, u64, u64)> {
        // As many sectors each as the average, rounded down or up.
        let (least, more) =
            (self.sectors.checked_div(self.times), |least| self.sectors - least * self.times);
        let classes = least.map(|least| {
            let (few, many) = ((least, self.times - more(least)), (least + 1, more(least)));
            // The second class takes all the lanes that it can.
            let spare = self.lanes.saturating_sub(few.0 * few.1);
            let lanes = spare.min(most_lanes(many.0) * many.1);
            [(few, self.lanes - lanes), (many, lanes)]
        });
        let base = at / (4 * SECTOR) * (4 * SECTOR);
        classes.into_iter().flatten().filter(|((_, times), _)| *times > 0).flat_map(
            move |((sectors, times), lanes)| {
                let (least, more) = (lanes / times, lanes % times);
                // Five sectors begin with the last word of one.
                let first = if sectors > 4 { SECTOR - Self::WORD } else { 0 };
                [(least, times - more), (least + 1, more)]
                    .into_iter()
                    .filter(|class| class.1 > 0)
                    .map(move |(lanes, times)| {
                        (active(sectors, first / Self::WORD, lanes), base + first, times)
                    })
            },
        )
    }
}

/// Returns the most lanes that access a number of sectors, if not all of the warp are active.
fn most_lanes(sectors: u64) -> u64 {
    (WORDS * sectors).min(31)
}

/// Returns active lanes, so many that they touch so many sectors, if lane 0 has word `first` of
/// one.
fn active(sectors: u64, first: u64, lanes: u64) -> u32 {
    let word = |lane: u64| lane + first;
    let sector = |lane: u64| word(lane) / WORDS;
    let is_first = |lane: &u64| *lane == 0 || sector(*lane) != sector(lane - 1);
    let within = |lane: &u64| sector(*lane) < sectors;
    let firsts = (0..32).filter(within).filter(is_first);
    let others = (0..32).filter(within).filter(|lane| !is_first(lane));
    firsts.chain(others).take(lanes as usize).fold(0, |on, lane| on | 1 << lane)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// The totals of accesses by active lanes and lane 0's address.
    fn totals(accesses: impl IntoIterator<Item = (u32, u64, u64)>) -> LineTotals {
        let mut sum = LineTotals::default();
        for (on, at, times) in accesses {
            let lanes = (0..32).filter(|lane| on >> lane & 1 != 0);
            let sectors: BTreeSet<u64> = lanes.map(|lane| (at + 4 * lane) / SECTOR).collect();
            sum.times += times;
            sum.lanes += times * u64::from(on.count_ones());
            sum.sectors += times * sectors.len() as u64;
        }
        sum
    }

    #[test]
    fn examples_take_what_accesses_took() {
        let mut random = 1_u64;
        let mut next = move || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            random >> 33
        };
        for round in 0..20_000 {
            let accesses: Vec<_> = (0..1 + next() % 6)
                .map(|_| {
                    let on = match next() % 4 {
                        0 => 1 << (next() % 32),
                        1 => u32::MAX ^ 1 << (next() % 32),
                        2 => 0xff << (next() % 25),
                        _ => (next() as u32 ^ (next() as u32) << 16).clamp(1, u32::MAX - 1),
                    };
                    (on, 0x7000 + next() % 32 * 4, 1 + next() % 3)
                })
                .collect();
            let taken = totals(accesses.iter().copied());
            let examples: Vec<_> = taken.examples(0x1_2345_6789).collect();
            assert_eq!(totals(examples.iter().copied()), taken, "{round}: {accesses:x?}");
            assert!(examples.len() <= 4 && examples.iter().all(|e| e.0 != u32::MAX));
            assert!(examples.iter().all(|e| e.1 >> 32 == 1 && e.1 % 4 == 0));
        }
        assert_eq!(LineTotals::default().examples(0).count(), 0);
    }
}
