//! Vectorized counting of the traffic of whole warps with arbitrary addresses.
//!
//! The sectors that an access touches, and the passes that it takes over the banks, follow from the
//! number of distinct keys among its lanes, which is easy to count in a sorted list. Sixteen
//! accesses are sorted at once by a sorting network: the same sequence of compare-exchange
//! operations for each, so that every operation is a vector operation across the accesses. The
//! results equal those of [`PcTraffic::access`](super::PcTraffic::access) for each access.
//!
//! Atomic operations take a pass for each word of a bank, equal ones too, so that nothing has to be
//! sorted: the words of all banks are counted at once by bitwise adders.

use fast::{WarpAccess, WarpAccesses};
use simt::counts::{SECTOR, Traffic};
use simt::observe::{AccessKind, Space};

use super::traffic::{BANKS, WORD, lanes_per_pass};

/// Accesses that are sorted at once.
const SIDE: usize = 16;
/// Keys of an access.
const LANES: usize = 32;

/// The key of one lane in each access.
type Row = [u32; SIDE];

/// The key of a lane that is off.
const NONE: u32 = u32::MAX;

/// Bits of a bank's number: the most significant bits of the key of a word of shared memory.
const BANK_BITS: u32 = BANKS.trailing_zeros();

/// Runs a block for each pair of adjacent numbers, unrolled.
macro_rules! neighbours {
    ($numbers:ident, |$a:ident, $b:ident| $body:block) => {
        neighbours!(@ $numbers, $a, $b, $body,
            0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30)
    };
    (@ $numbers:ident, $a:ident, $b:ident, $body:block, $($lane:literal)*) => {
        $(
            let ($a, $b) = ($numbers[$lane], $numbers[$lane + 1]);
            $body
        )*
    };
}

/// An access in a table, without its keys.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    pc: u64,
    times: u64,
    size: u64,
    /// Whether this is the first part of its request, the one that counts as a request.
    first: bool,
}

/// Accesses whose traffic is counted together.
#[derive(Clone, Debug)]
struct Table {
    /// Keys by access, then by lane.
    numbers: Box<[[u32; LANES]; SIDE]>,
    /// By access to global memory: the shift that turns a key into a sector number.
    shift: Row,
    entries: [Entry; SIDE],
    count: usize,
}

impl Default for Table {
    fn default() -> Self {
        let (shift, entries) = ([0; SIDE], [Entry::default(); SIDE]);
        Self { numbers: Box::new([[0; LANES]; SIDE]), shift, entries, count: 0 }
    }
}

impl Table {
    /// Adds an access; returns whether the table is full.
    #[inline(always)]
    fn push(&mut self, numbers: &[u32; LANES], shift: u32, entry: Entry) -> bool {
        let i = self.count % SIDE;
        self.numbers[i] = *numbers;
        (self.shift[i], self.entries[i]) = (shift, entry);
        self.count = i + 1;
        self.count == SIDE
    }

    /// Returns the keys transposed: by lane, then by access.
    #[inline(always)]
    fn transposed(&self) -> [Row; LANES] {
        // An element's index consists of the bits of its access, then those of its lane. Each
        // shuffle of the two halves rotates the most significant bit of the index to the bottom;
        // after as many shuffles as the access has bits, the lane comes first.
        let (mut from, mut to) = ([0; SIDE * LANES], [0; SIDE * LANES]);
        shuffle(self.numbers.as_flattened(), &mut from);
        for _ in 1..SIDE.trailing_zeros() {
            shuffle(&from, &mut to);
            std::mem::swap(&mut from, &mut to);
        }
        let (rows, _) = from.as_chunks();
        std::array::from_fn(|lane| rows[lane])
    }

    /// Empties the table. Calls `emit` with the traffic of its accesses, summed over runs of
    /// accesses with the same program counter.
    #[inline(always)]
    fn drain(
        &mut self,
        found: impl Fn(usize, &Entry) -> Traffic,
        emit: &mut impl FnMut(u64, Traffic),
    ) {
        let entries = &self.entries[..std::mem::take(&mut self.count).min(SIDE)];
        let (mut pc, mut sum) = (0, Traffic::default());
        for (i, entry) in entries.iter().enumerate() {
            if entry.pc != pc {
                emit(pc, std::mem::take(&mut sum));
                pc = entry.pc;
            }
            sum.add_times(&found(i, entry), entry.times);
        }
        emit(pc, sum);
    }
}

/// Accesses that are not counted yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Batch {
    global: Table,
    shared: Table,
    /// Atomic operations on shared memory, whose keys are bits of banks, none for lanes that are
    /// off.
    atomics: Table,
}

/// The properties that the lanes of an access share.
#[derive(Clone, Copy, Debug)]
struct AccessKey {
    pc: u64,
    kind: AccessKind,
    size: u64,
    times: u64,
}

impl Batch {
    /// Accepts an access if it is a naturally aligned access to global memory whose addresses agree
    /// in their upper 32 bits, or an access to shared memory. Counting waits until a table is full;
    /// `emit` then receives traffic by program counter. Returns whether the access was accepted.
    #[inline(always)]
    pub(crate) fn push(
        &mut self,
        access: &WarpAccess<'_>,
        mut emit: impl FnMut(u64, Traffic),
    ) -> bool {
        let &WarpAccess { pc, kind, space, size, on, at, times } = access;
        let page = at[on.trailing_zeros() as usize % LANES] >> u32::BITS;
        let mut others = 0;
        for (lane, at) in at.iter().enumerate() {
            others |= (at >> u32::BITS ^ page) & 0_u64.wrapping_sub(u64::from(on >> lane & 1));
        }
        if others != 0 && space == Space::Global {
            return false;
        }
        let key = AccessKey { pc: pc.0, kind, size: size.into(), times };
        let Some(found) = self.push_one(key, space, on, &at.map(|at| at as u32), &mut emit) else {
            return false;
        };
        emit(pc.0, found);
        true
    }

    /// Accepts the longest possible prefix of `accesses`, all of one instruction; returns its
    /// length.
    #[inline(always)]
    pub(crate) fn push_prefix(
        &mut self,
        accesses: &WarpAccesses<'_>,
        mut emit: impl FnMut(u64, Traffic),
    ) -> usize {
        let &WarpAccesses { pc, kind, space, size, on, at, .. } = accesses;
        let key = AccessKey { pc: pc.0, kind, size: size.into(), times: 1 };
        let (mut sum, mut count) = (Traffic::default(), 0);
        for (&on, at) in on.iter().zip(at) {
            let Some(found) = self.push_one(key, space, on, at, &mut emit) else { break };
            sum.add(&found);
            count += 1;
        }
        emit(pc.0, sum);
        count
    }

    /// Accepts an access given by the low halves of its addresses. Returns the traffic that is
    /// known at once (none if the access was put into a table), or `None` if the access cannot be
    /// counted here.
    #[inline(always)]
    fn push_one(
        &mut self,
        key: AccessKey,
        space: Space,
        on: u32,
        at: &[u32; LANES],
        emit: &mut impl FnMut(u64, Traffic),
    ) -> Option<Traffic> {
        match space {
            _ if on == 0 => None,
            Space::Global => self.global(key, on, at, emit),
            Space::Shared => self.shared(key, on, at, emit),
            _ => Some(Traffic::default()),
        }
    }

    #[inline(always)]
    fn global(
        &mut self,
        AccessKey { pc, size, times, .. }: AccessKey,
        on: u32,
        at: &[u32; LANES],
        emit: &mut impl FnMut(u64, Traffic),
    ) -> Option<Traffic> {
        if !size.is_power_of_two() || size > SECTOR {
            return None;
        }
        let first = at[on.trailing_zeros() as usize % LANES];
        let shift = size.trailing_zeros();
        let (mut bits, mut numbers) = (0, [0; LANES]);
        for lane in 0..LANES {
            // A lane that is off repeats the address of the first active lane, which adds no key.
            let off = (on >> lane & 1).wrapping_sub(1);
            let at = at[lane] & !off | first & off;
            bits |= at;
            numbers[lane] = at >> shift;
        }
        if u64::from(bits) & (size - 1) != 0 {
            return None;
        }
        let entry = Entry { pc, times, size, first: true };
        if self.global.push(&numbers, SECTOR.trailing_zeros() - shift, entry) {
            self.count_global(emit);
        }
        Some(Traffic::default())
    }

    #[inline(always)]
    fn shared(
        &mut self,
        AccessKey { pc, kind, size, times }: AccessKey,
        on: u32,
        at: &[u32; LANES],
        emit: &mut impl FnMut(u64, Traffic),
    ) -> Option<Traffic> {
        if !size.is_power_of_two() || size > 4 * WORD {
            return None;
        }
        if kind == AccessKind::Atomic {
            self.shared_atomic(AccessKey { pc, kind, size, times }, on, at, emit);
            return Some(Traffic::default());
        }
        let (team, words) = (lanes_per_pass(size) as usize, size.div_ceil(WORD) as usize);
        let key = |word: u32| word.rotate_right(BANK_BITS);
        if words == 1 {
            // The common case, which compiles to vector loops.
            let (mut numbers, mut banks) = ([NONE; LANES], 0);
            for lane in 0..LANES {
                let off = (on >> lane & 1).wrapping_sub(1);
                let word = at[lane] / WORD as u32;
                banks |= 1_u32.wrapping_shl(word) & !off;
                numbers[lane] = key(word) | off;
            }
            if banks.count_ones() == on.count_ones() {
                // Each lane uses a bank of its own.
                let alone = Traffic { shared_requests: 1, shared_passes: 1, ..Traffic::default() };
                return Some(alone.times(times));
            }
            if self.shared.push(&numbers, 0, Entry { pc, times, size, first: true }) {
                self.count_shared(emit);
            }
            return Some(Traffic::default());
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
                let word = (at[(start + lane) % LANES] / WORD as u32) + (i % words) as u32;
                *number = if here >> lane & 1 != 0 { key(word) } else { NONE };
            }
            if self.shared.push(&numbers, 0, Entry { pc, times, size, first }) {
                self.count_shared(emit);
            }
            first = false;
        }
        Some(Traffic::default())
    }

    /// Accepts an atomic operation on words of up to four banks.
    #[inline(always)]
    fn shared_atomic(
        &mut self,
        AccessKey { pc, size, times, .. }: AccessKey,
        on: u32,
        at: &[u32; LANES],
        emit: &mut impl FnMut(u64, Traffic),
    ) {
        let (team, words) = (lanes_per_pass(size) as usize, size.div_ceil(WORD) as usize);
        let mut first = true;
        if words == 1 {
            // The common case, which compiles to vector loops.
            let mut banks = [0; LANES];
            for lane in 0..LANES {
                banks[lane] = (on >> lane & 1).wrapping_shl(at[lane] / WORD as u32);
            }
            if self.atomics.push(&banks, 0, Entry { pc, times, size, first }) {
                self.count_atomics(emit);
            }
            return;
        }
        for start in (0..LANES).step_by(team) {
            let here = on >> start & (u32::MAX >> (LANES - team));
            if here == 0 {
                continue;
            }
            let mut banks = [0; LANES];
            for (i, bank) in banks.iter_mut().enumerate() {
                let lane = i / words;
                let word = (at[(start + lane) % LANES] / WORD as u32) + (i % words) as u32;
                *bank = (here >> lane & 1).wrapping_shl(word);
            }
            if self.atomics.push(&banks, 0, Entry { pc, times, size, first }) {
                self.count_atomics(emit);
            }
            first = false;
        }
    }

    /// Counts the accesses that are still in the tables.
    #[inline(always)]
    pub(crate) fn finish(&mut self, mut emit: impl FnMut(u64, Traffic)) {
        self.count_global(&mut emit);
        self.count_shared(&mut emit);
        self.count_atomics(&mut emit);
    }

    #[inline(always)]
    fn count_global(&mut self, emit: &mut impl FnMut(u64, Traffic)) {
        if self.global.count == 0 {
            return;
        }
        let table = &mut self.global;
        let rows = table.transposed();
        let (mut elements, mut sectors) = ([0_u32; SIDE], [0_u32; SIDE]);
        for i in 0..SIDE {
            let numbers = sorted(&rows, i);
            let shift = table.shift[i] & 31;
            let (mut different, mut apart) = (1, 1);
            neighbours!(numbers, |a, b| {
                different += u32::from(a != b);
                apart += u32::from(a >> shift != b >> shift);
            });
            (elements[i], sectors[i]) = (different, apart);
        }
        let found = |i: usize, entry: &Entry| Traffic {
            global_requests: 1,
            global_sectors: sectors[i].into(),
            global_bytes: u64::from(elements[i]) * entry.size,
            ..Traffic::default()
        };
        table.drain(found, emit);
    }

    #[inline(always)]
    fn count_shared(&mut self, emit: &mut impl FnMut(u64, Traffic)) {
        if self.shared.count == 0 {
            return;
        }
        let table = &mut self.shared;
        let rows = table.transposed();
        let mut passes = [0_u32; SIDE];
        for (i, passes) in passes.iter_mut().enumerate() {
            let numbers = sorted(&rows, i);
            // Words wanted of the current bank, and the most of any bank so far.
            let (mut words, mut most) = (1_u32, 1_u32);
            neighbours!(numbers, |a, b| {
                let other = u32::from(a != b);
                let same_bank = (a ^ b) >> (u32::BITS - BANK_BITS) == 0;
                words = if same_bank { words + other } else { 1 };
                most = most.max(if b == NONE { 1 } else { words });
            });
            *passes = most;
        }
        table.drain(|i, entry| shared_traffic(entry, passes[i]), emit);
    }

    #[inline(always)]
    fn count_atomics(&mut self, emit: &mut impl FnMut(u64, Traffic)) {
        if self.atomics.count == 0 {
            return;
        }
        let table = &mut self.atomics;
        let rows = table.transposed();
        let mut passes = [0_u32; SIDE];
        for (i, passes) in passes.iter_mut().enumerate() {
            *passes = most_often(&rows, i);
        }
        table.drain(|i, entry| shared_traffic(entry, passes[i]), emit);
    }
}

/// Returns the traffic of an access to shared memory, or of its part, of at least one pass.
fn shared_traffic(entry: &Entry, passes: u32) -> Traffic {
    let (shared_requests, passes) = (entry.first.into(), u64::from(passes));
    let (shared_passes, bank_conflicts) = (passes, passes - 1);
    Traffic { shared_requests, shared_passes, bank_conflicts, ..Traffic::default() }
}

/// Adds numbers that have a bit in each element, by the position of the bits, from the lowest
/// element on.
macro_rules! adder {
    ($name:ident, $bits:literal, $sum:literal) => {
        #[inline(always)]
        fn $name(a: [u32; $bits], b: [u32; $bits]) -> [u32; $sum] {
            let (mut sum, mut carry) = ([0; $sum], 0);
            for i in 0..$bits {
                let either = a[i] ^ b[i];
                sum[i] = either ^ carry;
                carry = a[i] & b[i] | either & carry;
            }
            sum[$bits] = carry;
            sum
        }
    };
}

adder!(add_1, 1, 2);
adder!(add_2, 2, 3);
adder!(add_3, 3, 4);
adder!(add_4, 4, 5);
adder!(add_5, 5, 6);

/// Returns how often the bit is set in the keys of one access that is set most often. As in
/// [`sorted`], operations do not depend on the keys.
#[inline(always)]
fn most_often(rows: &[Row; LANES], i: usize) -> u32 {
    macro_rules! sum {
        (1, $lane:expr) => {
            [rows[$lane][i]]
        };
        (2, $lane:expr) => {
            add_1(sum!(1, $lane), sum!(1, $lane + 1))
        };
        (4, $lane:expr) => {
            add_2(sum!(2, $lane), sum!(2, $lane + 2))
        };
        (8, $lane:expr) => {
            add_3(sum!(4, $lane), sum!(4, $lane + 4))
        };
        (16, $lane:expr) => {
            add_4(sum!(8, $lane), sum!(8, $lane + 8))
        };
        (32) => {
            add_5(sum!(16, 0), sum!(16, 16))
        };
    }
    let digits = sum!(32);
    // Bits whose counts agree with the greatest one in the digits so far.
    let (mut greatest, mut among) = (0, u32::MAX);
    macro_rules! digit {
        ($($digit:literal)*) => { $(
            let ones = among & digits[$digit];
            greatest = 2 * greatest + u32::from(ones != 0);
            among = if ones != 0 { ones } else { among };
        )* };
    }
    digit!(5 4 3 2 1);
    2 * greatest + u32::from(among & digits[0] != 0)
}

/// Interleaves the first half of `from` with the second.
#[inline(always)]
fn shuffle(from: &[u32], to: &mut [u32; SIDE * LANES]) {
    let (first, second) = from.split_at(to.len() / 2);
    let (pairs, _) = to.as_chunks_mut::<2>();
    for ((pair, &a), &b) in pairs.iter_mut().zip(first).zip(second) {
        *pair = [a, b];
    }
}

/// Returns the keys of one access in ascending order. The sequence of operations does not depend on
/// the keys, so a loop over all accesses is vectorized, provided that each key is a local variable:
/// hence the unrolled network.
#[inline(always)]
fn sorted(rows: &[Row; LANES], i: usize) -> [u32; LANES] {
    macro_rules! columns {
        ($($lane:literal)*) => { [$(rows[$lane][i]),*] };
    }
    macro_rules! order {
        ($numbers:ident: $($a:literal $b:literal),*) => {
            $(
                let (a, b) = ($numbers[$a], $numbers[$b]);
                ($numbers[$a], $numbers[$b]) = (a.min(b), a.max(b));
            )*
        };
    }
    let mut numbers = columns!(
        0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
    );
    // Batcher's odd-even merge sort.
    order!(numbers:
        0 1, 2 3, 4 5, 6 7, 8 9, 10 11, 12 13, 14 15, 16 17, 18 19, 20 21, 22 23, 24 25, 26 27,
            28 29, 30 31,
        0 2, 1 3, 4 6, 5 7, 8 10, 9 11, 12 14, 13 15, 16 18, 17 19, 20 22, 21 23, 24 26, 25 27,
            28 30, 29 31,
        1 2, 5 6, 9 10, 13 14, 17 18, 21 22, 25 26, 29 30, 0 4, 1 5, 2 6, 3 7, 8 12, 9 13, 10 14,
            11 15, 16 20,
        17 21, 18 22, 19 23, 24 28, 25 29, 26 30, 27 31, 2 4, 3 5, 10 12, 11 13, 18 20, 19 21,
            26 28, 27 29,
        1 2, 3 4, 5 6, 9 10, 11 12, 13 14, 17 18, 19 20, 21 22, 25 26, 27 28, 29 30, 0 8, 1 9, 2 10,
            3 11, 4 12,
        5 13, 6 14, 7 15, 16 24, 17 25, 18 26, 19 27, 20 28, 21 29, 22 30, 23 31, 4 8, 5 9, 6 10,
            7 11, 20 24,
        21 25, 22 26, 23 27, 2 4, 3 5, 6 8, 7 9, 10 12, 11 13, 18 20, 19 21, 22 24, 23 25, 26 28,
            27 29, 1 2,
        3 4, 5 6, 7 8, 9 10, 11 12, 13 14, 17 18, 19 20, 21 22, 23 24, 25 26, 27 28, 29 30, 0 16,
            1 17, 2 18,
        3 19, 4 20, 5 21, 6 22, 7 23, 8 24, 9 25, 10 26, 11 27, 12 28, 13 29, 14 30, 15 31, 8 16,
            9 17, 10 18,
        11 19, 12 20, 13 21, 14 22, 15 23, 4 8, 5 9, 6 10, 7 11, 12 16, 13 17, 14 18, 15 19, 20 24,
            21 25,
        22 26, 23 27, 2 4, 3 5, 6 8, 7 9, 10 12, 11 13, 14 16, 15 17, 18 20, 19 21, 22 24, 23 25,
            26 28, 27 29,
        1 2, 3 4, 5 6, 7 8, 9 10, 11 12, 13 14, 15 16, 17 18, 19 20, 21 22, 23 24, 25 26, 27 28,
            29 30
    );
    numbers
}

#[cfg(test)]
mod tests {
    use super::super::traffic::PcTraffic;
    use super::*;
    use simt::observe::{Access, GroupId, Order, Pc, Scope};

    #[test]
    fn the_network_sorts() {
        let mut rows = [[0; SIDE]; LANES];
        let mut seed = 1_u32;
        for row in &mut rows {
            for number in row {
                seed = seed.wrapping_mul(0x9e37_79b9).rotate_left(7) ^ 0x55;
                // Some keys are equal.
                *number = seed >> (seed % 29);
            }
        }
        for i in 0..SIDE {
            let numbers = sorted(&rows, i);
            let mut expected: Vec<u32> = rows.iter().map(|row| row[i]).collect();
            expected.sort_unstable();
            assert_eq!(numbers[..], expected);
        }
    }

    #[test]
    fn adders_find_the_bit_that_is_set_most_often() {
        let mut rows = [[0; SIDE]; LANES];
        let mut random = 1_u32;
        for round in 0..40 {
            for number in rows.as_flattened_mut() {
                random = random.wrapping_mul(0x9e37_79b9).rotate_left(9) ^ 0x77;
                // Few lanes, few banks, one bank.
                *number = match round % 4 {
                    0 => 1 << (random % 32),
                    1 => (random >> 9 & 1) << (random % 32),
                    2 => 1 << (random % 4),
                    _ => 1 << (round % 32),
                };
            }
            for i in 0..SIDE {
                let count = |bit: u32| rows.iter().filter(|row| row[i] >> bit & 1 != 0).count();
                assert_eq!(Some(most_often(&rows, i) as usize), (0..32).map(count).max());
            }
        }
    }

    #[test]
    fn batches_count_as_single_accesses() {
        let (mut batch, mut all, mut one_by_one) =
            (Batch::default(), PcTraffic::default(), PcTraffic::default());
        let mut sum = |pc, found: Traffic| all.add_at(pc, &found);
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
            let emit = &mut sum;
            let access = WarpAccess { pc: Pc(pc), kind, space, size, on, at: &at, times };
            let page = at[0] >> 32;
            let taken_now = if times == 1 && at.iter().all(|at| at >> 32 == page) {
                let (page, at, pc) = (page as u32, &[at.map(|at| at as u32)], Pc(pc));
                let all = WarpAccesses { pc, kind, space, size, on: &[on], at, page };
                batch.push_prefix(&all, emit) == 1
            } else {
                batch.push(&access, emit)
            };
            if !taken_now {
                continue;
            }
            taken += 1;
            let lanes: Vec<(u16, u64)> =
                (0..32).filter(|l| on >> l & 1 != 0).map(|l| (l, at[usize::from(l)])).collect();
            let (group, order, scope) = (GroupId::default(), Order::Weak, Scope::Gpu);
            let (lanes, values, pc) = (&lanes[..], &[][..], Pc(pc));
            let owner = group.cta;
            let access =
                Access { group, pc, kind, space, owner, order, scope, size, lanes, values };
            one_by_one.congruent_accesses(&access, times);
        }
        batch.finish(sum);
        assert!(taken > 4000, "{taken}");
        assert_eq!(all, one_by_one);
    }
}
