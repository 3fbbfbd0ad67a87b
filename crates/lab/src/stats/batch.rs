//! Accesses of whole warps whose addresses lie anyhow, counted side by side.
//!
//! To know how many sectors an access touches, and how often it has to pass over the banks, is to know how many different numbers there are
//! among those of its lanes: plain once they are sorted. Sixteen accesses are sorted at once, by a network that does the same to all of them, so that each step of
//! it is one of vectors. What comes out is what [`PcTraffic::access`](super::PcTraffic::access) says of each.

use fast::WarpAccess;
use simt::observe::{AccessKind, Space};

use super::memory::{BANKS, SECTOR, Traffic, WORD, together};

/// Accesses side by side.
const SIDE: usize = 16;
/// Numbers of an access.
const LANES: usize = 32;

/// One number of each access.
type Row = [u32; SIDE];

/// No number: the lane is off.
const NONE: u32 = u32::MAX;

/// Bits of a bank's number, which is at the top of a word's key.
const BANK_BITS: u32 = BANKS.trailing_zeros();

/// Pairs of a network that sorts: Batcher's, of odd and even merges.
const NETWORK: [(u8, u8); 191] = {
    let mut pairs = [(0, 0); 191];
    let (mut count, mut p) = (0, 1);
    while p < LANES {
        let mut k = p;
        while k >= 1 {
            let mut j = k % p;
            while j + k < LANES {
                let mut i = 0;
                while i < k && i + j + k < LANES {
                    if (i + j) / (2 * p) == (i + j + k) / (2 * p) {
                        pairs[count] = ((i + j) as u8, (i + j + k) as u8);
                        count += 1;
                    }
                    i += 1;
                }
                j += 2 * k;
            }
            k /= 2;
        }
        p *= 2;
    }
    assert!(count == pairs.len(), "all of them");
    pairs
};

/// What is known of an access beside its numbers.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    pc: u64,
    times: u64,
    size: u64,
    /// Whether it is the first part of its request.
    first: bool,
}

/// Accesses side by side.
#[derive(Clone, Debug)]
struct Table {
    rows: Box<[Row; LANES]>,
    /// By access: how far a number is to be shifted to be a sector's; or all bits if equal words take turns.
    extra: Row,
    entries: [Entry; SIDE],
    count: usize,
}

impl Default for Table {
    fn default() -> Self {
        let (extra, entries) = ([0; SIDE], [Entry::default(); SIDE]);
        Self { rows: Box::new([[0; SIDE]; LANES]), extra, entries, count: 0 }
    }
}

impl Table {
    /// Puts an access in; whether it is full.
    #[inline(always)]
    fn put(&mut self, numbers: &[u32; LANES], extra: u32, entry: Entry) -> bool {
        let i = self.count % SIDE;
        for (row, &number) in self.rows.iter_mut().zip(numbers) {
            row[i] = number;
        }
        (self.extra[i], self.entries[i]) = (extra, entry);
        self.count = i + 1;
        self.count == SIDE
    }

    #[inline(always)]
    fn sort(&mut self) {
        for (a, b) in NETWORK {
            let (a, b) = (usize::from(a) % LANES, usize::from(b) % LANES);
            let (x, y) = (self.rows[a], self.rows[b]);
            for i in 0..SIDE {
                self.rows[a][i] = x[i].min(y[i]);
                self.rows[b][i] = x[i].max(y[i]);
            }
        }
    }

    /// The accesses that are in, no longer.
    fn take(&mut self) -> impl Iterator<Item = (usize, Entry)> {
        let entries = self.entries;
        (0..std::mem::take(&mut self.count)).map(move |i| (i, entries[i]))
    }
}

/// Accesses that have not been counted yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Batch {
    global: Table,
    shared: Table,
}

impl Batch {
    /// Takes an access, if it is of a kind that can be counted here: of naturally aligned words of global memory that are no more than 4 GiB
    /// apart, or of words of shared memory. `told` is told of accesses by where they are, once so many are there that counting them pays.
    #[inline(always)]
    pub(crate) fn take(&mut self, access: &WarpAccess<'_>, told: impl FnMut(u64, Traffic)) -> bool {
        match access.space {
            _ if access.on == 0 => false,
            Space::Global => self.global(access, told),
            Space::Shared => self.shared(access, told),
            _ => true,
        }
    }

    #[inline(always)]
    fn global(&mut self, access: &WarpAccess<'_>, mut told: impl FnMut(u64, Traffic)) -> bool {
        let &WarpAccess { pc, on, at, times, .. } = access;
        let size = u64::from(access.size);
        if !size.is_power_of_two() || size > SECTOR {
            return false;
        }
        let first = at[on.trailing_zeros() as usize % LANES];
        let wrong = (u64::MAX << 32) | (size - 1);
        let mut bits = first & (size - 1);
        let mut numbers = [0; LANES];
        let shift = size.trailing_zeros();
        for lane in 0..LANES {
            // Lanes that are off ask for what the first asks for.
            let at = if on >> lane & 1 != 0 { at[lane] } else { first };
            bits |= (at ^ first) & wrong;
            numbers[lane] = at as u32 >> shift;
        }
        if bits != 0 {
            return false;
        }
        let entry = Entry { pc: pc.0, times, size, first: true };
        if self.global.put(&numbers, SECTOR.trailing_zeros() - shift, entry) {
            self.count_global(&mut told);
        }
        true
    }

    #[inline(always)]
    fn shared(&mut self, access: &WarpAccess<'_>, mut told: impl FnMut(u64, Traffic)) -> bool {
        let &WarpAccess { pc, on, at, times, .. } = access;
        let size = u64::from(access.size);
        if !size.is_power_of_two() || size > 4 * WORD {
            return false;
        }
        let turns = if access.kind == AccessKind::Atomic { u32::MAX } else { 0 };
        let (team, words) = (together(size) as usize, size.div_ceil(WORD) as usize);
        let key = |word: u32| word.rotate_right(BANK_BITS);
        if words == 1 {
            // Mostly: and these are loops of vectors.
            let mut numbers = [NONE; LANES];
            for lane in 0..LANES {
                let off = (on >> lane & 1).wrapping_sub(1);
                numbers[lane] = key(at[lane] as u32 / WORD as u32) | off;
            }
            if self.shared.put(&numbers, turns, Entry { pc: pc.0, times, size, first: true }) {
                self.count_shared(&mut told);
            }
            return true;
        }
        let mut first = true;
        for start in (0..LANES).step_by(team) {
            let here = on >> start & (u32::MAX >> (LANES - team));
            if here == 0 {
                continue;
            }
            let mut numbers = [NONE; LANES];
            for (i, number) in numbers.iter_mut().enumerate() {
                let lane = i / words;
                let word = (at[(start + lane) % LANES] as u32 / WORD as u32) + (i % words) as u32;
                *number = if here >> lane & 1 != 0 { key(word) } else { NONE };
            }
            let entry = Entry { pc: pc.0, times, size, first };
            if self.shared.put(&numbers, turns, entry) {
                self.count_shared(&mut told);
            }
            first = false;
        }
        true
    }

    /// Counts what has not been.
    #[inline(always)]
    pub(crate) fn finish(&mut self, mut told: impl FnMut(u64, Traffic)) {
        self.count_global(&mut told);
        self.count_shared(&mut told);
    }

    #[inline(always)]
    fn count_global(&mut self, told: &mut impl FnMut(u64, Traffic)) {
        let table = &mut self.global;
        table.sort();
        let (mut elements, mut sectors) = ([1_u32; SIDE], [1_u32; SIDE]);
        for pair in table.rows.windows(2) {
            for i in 0..SIDE {
                let (a, b) = (pair[0][i], pair[1][i]);
                elements[i] += u32::from(a != b);
                let shift = table.extra[i] & 31;
                sectors[i] += u32::from(a >> shift != b >> shift);
            }
        }
        for (i, entry) in table.take() {
            let found = Traffic {
                global_requests: 1,
                global_sectors: sectors[i].into(),
                global_bytes: u64::from(elements[i]) * entry.size,
                ..Traffic::default()
            };
            told(entry.pc, found.times(entry.times));
        }
    }

    #[inline(always)]
    fn count_shared(&mut self, told: &mut impl FnMut(u64, Traffic)) {
        let table = &mut self.shared;
        table.sort();
        // Words of the bank at hand, and the most of any bank so far.
        let (mut words, mut most) = ([1_u32; SIDE], [1_u32; SIDE]);
        for pair in table.rows.windows(2) {
            for i in 0..SIDE {
                let (a, b) = (pair[0][i], pair[1][i]);
                let other = u32::from(a != b) | table.extra[i] & 1;
                let same_bank = (a ^ b) >> (u32::BITS - BANK_BITS) == 0;
                words[i] = if same_bank { words[i] + other } else { 1 };
                let counted = if b == NONE { 1 } else { words[i] };
                most[i] = most[i].max(counted);
            }
        }
        for (i, entry) in table.take() {
            let passes = u64::from(most[i]);
            let found = Traffic {
                shared_requests: entry.first.into(),
                shared_passes: passes,
                bank_conflicts: passes - 1,
                ..Traffic::default()
            };
            told(entry.pc, found.times(entry.times));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::memory::PcTraffic;
    use super::*;
    use simt::observe::{Access, GroupId, Order, Pc, Scope};

    #[test]
    fn the_network_sorts() {
        let mut table = Table::default();
        let mut seed = 1_u32;
        for row in table.rows.iter_mut() {
            for number in row {
                seed = seed.wrapping_mul(0x9e37_79b9).rotate_left(7) ^ 0x55;
                // Some of them equal.
                *number = seed >> (seed % 29);
            }
        }
        table.sort();
        for i in 0..SIDE {
            assert!(table.rows.iter().map(|row| row[i]).is_sorted());
        }
    }

    #[test]
    fn accesses_come_to_the_same_as_one_by_one() {
        let (mut batch, mut all, mut one_by_one) =
            (Batch::default(), PcTraffic::default(), PcTraffic::default());
        let mut sum = |pc, found: Traffic| all.found(pc, &found);
        let mut taken = 0;
        for case in 1..6000_u64 {
            let mix = case.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let pick = |n: u64, of: u64| mix.rotate_left(n as u32) % of;
            let size = [1, 2, 4, 8, 16, 32][pick(3, 6) as usize];
            let space = [Space::Global, Space::Shared, Space::Local][pick(11, 3) as usize];
            let kind =
                [AccessKind::Load, AccessKind::Store, AccessKind::Atomic][pick(19, 3) as usize];
            let on = match pick(23, 3) {
                0 => u32::MAX,
                1 => (mix >> 17) as u32 | 1 << pick(5, 32),
                _ => 1 << pick(5, 32),
            };
            let of = [1, 3, 40, 64, 997, 1 << 16, 1 << 40][pick(29, 7) as usize];
            let base = if space == Space::Global { pick(31, 1 << 40) / 256 * 256 } else { 0 };
            let unit = if pick(37, 9) == 0 { 1 } else { u64::from(size) };
            let at: [u64; LANES] = std::array::from_fn(|lane| {
                let at = base + (lane as u64 * (mix >> 40) + case) % of * unit;
                if space == Space::Global { at } else { at & 0xff_ffff }
            });
            let (pc, times) = (case % 5, 1 + case % 3);
            let told = &mut sum;
            let access = WarpAccess { pc: Pc(pc), kind, space, size, on, at: &at, times };
            if !batch.take(&access, told) {
                continue;
            }
            taken += 1;
            let lanes: Vec<(u16, u64)> =
                (0..32).filter(|l| on >> l & 1 != 0).map(|l| (l, at[usize::from(l)])).collect();
            let (group, order, scope) = (GroupId::default(), Order::Weak, Scope::Gpu);
            let lanes = &lanes[..];
            let access = Access { group, pc: Pc(pc), kind, space, order, scope, size, lanes };
            one_by_one.accesses(&access, times);
        }
        batch.finish(sum);
        assert!(taken > 4000, "{taken}");
        assert_eq!(all, one_by_one);
    }
}
