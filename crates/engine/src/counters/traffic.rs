//! Memory traffic by instruction: requests and sectors of global memory, passes over the banks of
//! shared memory.
//!
//! The model is that of NVIDIA's devices from Maxwell on, without caches. A *request* is one access
//! of a group with at least one lane on. Global memory moves in *sectors* of 32 bytes: a request
//! takes as many as its lanes touch, each counted once. Shared memory has 32 banks of 4 bytes: in
//! one *pass* each bank delivers one word to any number of lanes. Accesses of 8 bytes a lane are
//! served by half-warps, those of 16 bytes by quarter-warps, so they take 2 and 4 passes without
//! conflicts; further passes are *bank conflicts*. An atomic operation on shared memory takes a
//! pass for each lane that names the same word.

use std::collections::BTreeMap;

use super::small_set::SmallSet;
use fast::StridedAccess;
use simt::counts::{SECTOR, Traffic};
use simt::observe::{Access, AccessKind, Space};

/// Banks of shared memory.
pub(super) const BANKS: usize = 32;
/// Size of a bank's word in bytes.
pub(super) const WORD: u64 = 4;
/// Lanes that share a pass if none accesses more than a word.
const WARP: u64 = 32;

/// Program counters below this bound index a vector; others are keys of a map.
const DENSE: u64 = 1 << 16;

/// Traffic by program counter.
#[derive(Clone, Debug, Default)]
pub struct PcTraffic {
    dense: Vec<Traffic>,
    sparse: BTreeMap<u64, Traffic>,
    /// Scratch space of one access, kept to reuse its allocation, like the three fields below.
    starts: Vec<u64>,
    words: Vec<u64>,
    elements: SmallSet,
    sectors: SmallSet,
}

impl PartialEq for PcTraffic {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl PcTraffic {
    /// Counts an access and returns its traffic.
    pub fn access(&mut self, access: &Access<'_>) -> Traffic {
        self.congruent_accesses(access, 1)
    }

    /// Counts `access` and `times - 1` others with congruent addresses, and returns their traffic.
    pub fn congruent_accesses(&mut self, access: &Access<'_>, times: u64) -> Traffic {
        let found = match access.space {
            Space::Global => self.global(access),
            Space::Shared => self.shared(access),
            _ => return Traffic::default(),
        };
        let found = found.times(times);
        self.at(access.pc.0).add(&found);
        found
    }

    /// Counts accesses of the pattern `line` and returns their traffic. Returns `None`, having
    /// counted nothing, if the pattern is neither contiguous nor a broadcast, or if it accesses
    /// shared memory atomically or with more than 16 bytes a lane.
    pub(crate) fn strided_access(&mut self, line: &StridedAccess) -> Option<Traffic> {
        let (size, count) = (u64::from(line.size), u64::from(line.lanes));
        // The bytes covered: contiguous elements, or one element for all lanes.
        let bytes = if line.stride == size as i64 {
            count * size
        } else if line.stride == 0 {
            size
        } else {
            return None;
        };
        let found = match line.space {
            Space::Global if bytes > 0 => {
                let last = line.at.checked_add(bytes - 1)?;
                Traffic {
                    global_requests: 1,
                    global_sectors: last / SECTOR - line.at / SECTOR + 1,
                    global_bytes: bytes,
                    ..Traffic::default()
                }
            }
            // Contiguous words, or one word for all lanes, do not conflict among lanes that share a
            // pass.
            Space::Shared if count > 0 && size <= 16 && line.kind != AccessKind::Atomic => {
                let team = |lane: u64| (u64::from(line.first_thread) + lane) / lanes_per_pass(size);
                let passes = team(count - 1) - team(0) + 1;
                Traffic { shared_requests: 1, shared_passes: passes, ..Traffic::default() }
            }
            Space::Global | Space::Shared => return None,
            _ => return Some(Traffic::default()),
        };
        let found = found.times(line.times);
        self.at(line.pc.0).add(&found);
        Some(found)
    }

    /// Adds counts of the same program.
    pub(crate) fn add(&mut self, other: &Self) {
        for (pc, traffic) in other.iter() {
            self.at(pc).add(traffic);
        }
    }

    /// Adds `traffic` to that of `pc`.
    pub(crate) fn add_at(&mut self, pc: u64, traffic: &Traffic) {
        self.at(pc).add(traffic);
    }

    fn at(&mut self, pc: u64) -> &mut Traffic {
        if pc >= DENSE {
            return self.sparse.entry(pc).or_default();
        }
        let index = pc as usize;
        if index >= self.dense.len() {
            self.dense.resize(index + 1, Traffic::default());
        }
        &mut self.dense[index]
    }

    /// Iterates over the program counters with traffic, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &Traffic)> {
        let dense = self.dense.iter().enumerate().map(|(pc, traffic)| (pc as u64, traffic));
        let all = dense.chain(self.sparse.iter().map(|(pc, traffic)| (*pc, traffic)));
        all.filter(|(_, traffic)| **traffic != Traffic::default())
    }

    fn global(&mut self, access: &Access<'_>) -> Traffic {
        let size = u64::from(access.size.max(1));
        let (sectors, bytes) =
            self.aligned(access.lanes, size).unwrap_or_else(|| self.any(access.lanes, size));
        Traffic {
            global_requests: 1,
            global_sectors: sectors,
            global_bytes: bytes,
            ..Traffic::default()
        }
    }

    /// Returns sectors and bytes of at most [`SmallSet::CAPACITY`] aligned elements, none of which
    /// crosses a sector boundary; `None` if the lanes do not fit that description.
    fn aligned(&mut self, lanes: &[(u16, u64)], size: u64) -> Option<(u64, u64)> {
        let (mut low, mut high, mut bits) = (u64::MAX, 0, 0);
        for &(_, at) in lanes {
            (low, high, bits) = (low.min(at), high.max(at), bits | at);
        }
        if !size.is_power_of_two()
            || size > SECTOR
            || bits % size != 0
            || lanes.len() > SmallSet::CAPACITY
        {
            return None;
        }
        let shift = size.trailing_zeros();
        let base = low / SECTOR * SECTOR;
        if high.wrapping_sub(base) < 64 * SECTOR && size >= WORD {
            // All within 64 sectors: one bit for each sector and one for each element.
            let (mut sectors, mut elements) = (0_u64, [0_u64; (64 * SECTOR / WORD / 64) as usize]);
            for &(_, at) in lanes {
                let from = at - base;
                sectors |= 1 << (from / SECTOR);
                let element = from >> shift;
                elements[element as usize / 64 % elements.len()] |= 1 << (element % 64);
            }
            let count: u32 = elements.iter().map(|e| e.count_ones()).sum();
            return Some((sectors.count_ones().into(), u64::from(count) * size));
        }
        self.elements.clear();
        self.sectors.clear();
        let (mut sectors, mut elements) = (0, 0);
        for &(_, at) in lanes {
            if self.elements.insert(at) {
                elements += 1;
                sectors += u64::from(self.sectors.insert(at / SECTOR));
            }
        }
        Some((sectors, elements * size))
    }

    /// Returns sectors and bytes of arbitrary accesses.
    fn any(&mut self, lanes: &[(u16, u64)], size: u64) -> (u64, u64) {
        self.starts.clear();
        self.starts.extend(lanes.iter().map(|(_, at)| *at));
        if !self.starts.is_sorted() {
            self.starts.sort_unstable();
        }
        let (mut sectors, mut bytes) = (0, 0);
        // Exclusive ends of the bytes and of the sector numbers counted so far.
        let (mut covered, mut next_sector) = (0, 0);
        for &start in &self.starts {
            let end = start.saturating_add(size);
            bytes += end.saturating_sub(start.max(covered));
            covered = covered.max(end);
            let (first, last) = (start / SECTOR, (end - 1) / SECTOR + 1);
            sectors += last.saturating_sub(first.max(next_sector));
            next_sector = next_sector.max(last);
        }
        (sectors, bytes)
    }

    /// Returns the traffic of an access to shared memory.
    fn shared(&mut self, access: &Access<'_>) -> Traffic {
        let size = u64::from(access.size.max(1));
        let words = size.div_ceil(WORD);
        let team = |lane: u16| {
            (u64::from(access.group.first_thread) + u64::from(lane)) / lanes_per_pass(size)
        };
        let atomic = access.kind == AccessKind::Atomic;
        if let (Some(&(first, _)), Some(&(last, _))) = (access.lanes.first(), access.lanes.last())
            && words == 1
            && team(first) == team(last)
            && let Some(passes) = single_words(access.lanes, atomic)
        {
            let bank_conflicts = passes - 1;
            return Traffic {
                shared_requests: 1,
                shared_passes: passes,
                bank_conflicts,
                ..Traffic::default()
            };
        }
        let (mut passes, mut least) = (0, 0);
        let mut rest = access.lanes;
        while let Some(&(first, _)) = rest.first() {
            let count = rest.iter().take_while(|(lane, _)| team(*lane) == team(first)).count();
            let (here, after) = rest.split_at(count);
            self.words.clear();
            let wanted = here
                .iter()
                .flat_map(|(_, at)| (0..words).map(move |k| (at / WORD).saturating_add(k)));
            self.words.extend(wanted);
            passes += passes_of(&mut self.words, &mut self.elements, atomic);
            least += 1;
            rest = after;
        }
        Traffic {
            shared_requests: 1,
            shared_passes: passes,
            bank_conflicts: passes - least,
            ..Traffic::default()
        }
    }
}

/// Returns the number of lanes that share a pass if each accesses `size` bytes.
pub(super) fn lanes_per_pass(size: u64) -> u64 {
    (WARP / size.div_ceil(WORD).max(1)).max(1)
}

/// Returns the passes of lanes that share a pass and access one word each. Returns `None` if a bank
/// has to deliver several words to an access that is not atomic, or if there are too many lanes.
fn single_words(lanes: &[(u16, u64)], atomic: bool) -> Option<u64> {
    if atomic {
        let mut banks = [0_u8; BANKS];
        let mut most = 0;
        if lanes.len() > usize::from(u8::MAX) {
            return None;
        }
        for &(_, at) in lanes {
            let bank = &mut banks[(at / WORD) as usize % BANKS];
            *bank += 1;
            most = most.max(*bank);
        }
        return Some(most.into());
    }
    let mut first = [u64::MAX; BANKS];
    let mut alone = true;
    for &(_, at) in lanes {
        let word = at / WORD;
        let kept = &mut first[word as usize % BANKS];
        alone &= *kept == u64::MAX || *kept == word;
        *kept = word;
    }
    alone.then_some(1)
}

/// Returns the most words that one bank has to deliver, at least 1.
fn passes_of(wanted: &mut Vec<u64>, seen: &mut SmallSet, atomic: bool) -> u64 {
    let mut banks = [0_u64; BANKS];
    if !atomic {
        // The common case: each bank delivers one word.
        let mut first = [u64::MAX; BANKS];
        let alone = wanted.iter().all(|&word| {
            let kept = &mut first[word as usize % BANKS];
            *kept = if *kept == u64::MAX { word } else { *kept };
            *kept == word
        });
        if alone {
            return 1;
        }
        if wanted.len() <= SmallSet::CAPACITY {
            seen.clear();
            wanted.retain(|&word| seen.insert(word));
        } else {
            wanted.sort_unstable();
            wanted.dedup();
        }
    }
    for &word in &*wanted {
        banks[word as usize % BANKS] += 1;
    }
    banks.into_iter().max().unwrap_or(0).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use simt::observe::{GroupId, Order, Pc, Scope};

    fn traffic(space: Space, kind: AccessKind, size: u32, at: impl Fn(u64) -> u64) -> Traffic {
        let lanes: Vec<(u16, u64)> = (0..32).map(|lane| (lane, at(lane.into()))).collect();
        let mut all = PcTraffic::default();
        let found = all.access(&Access {
            group: GroupId::default(),
            pc: Pc(7),
            kind,
            space,
            owner: 0,
            order: Order::Weak,
            scope: Scope::Gpu,
            size,
            lanes: &lanes,
            values: &[],
        });
        assert_eq!(all.iter().collect::<Vec<_>>(), [(7, &found)]);
        found
    }

    #[test]
    fn sectors_are_counted_once_a_request() {
        for (size, stride, offset, sectors, bytes) in [
            (4, 4, 0, 4, 128),
            (4, 4, 4, 5, 128),
            (4, 0, 0, 1, 4),
            (4, 128, 0, 32, 128),
            (16, 16, 0, 16, 512),
            (8, 8, 28, 9, 256),
            (1, 1, 0, 1, 32),
            (4, 8, 0, 8, 128),
            (4, 2, 0, 3, 66),
        ] {
            let found = traffic(Space::Global, AccessKind::Load, size, |l| offset + l * stride);
            let got = (found.global_sectors, found.global_bytes);
            assert_eq!(got, (sectors, bytes), "{size} bytes every {stride} from {offset}");
        }
    }

    #[test]
    fn sectors_agree_with_a_set() {
        // The definition, on scattered and overlapping addresses, aligned and misaligned, near and
        // far.
        for seed in 1..1200_u64 {
            let size = [1, 2, 4, 8, 16][seed as usize % 5];
            let of = [61, 397, 997, 4001, 1 << 20, 1 << 40][seed as usize / 5 % 6];
            let unit = if seed % 2 == 0 { u64::from(size) } else { 1 };
            let at = |l: u64| (l * seed * 7919 + seed * 31) % of / unit * unit;
            let found = traffic(Space::Global, AccessKind::Store, size, at);
            let bytes: std::collections::BTreeSet<u64> =
                (0..32).flat_map(|l| at(l)..at(l) + u64::from(size)).collect();
            let sectors: std::collections::BTreeSet<u64> =
                bytes.iter().map(|b| b / SECTOR).collect();
            assert_eq!(found.global_bytes, bytes.len() as u64);
            assert_eq!(found.global_sectors, sectors.len() as u64);
        }
    }

    #[test]
    fn passes_agree_with_lists_of_words() {
        // The definition: the wanted words by team and bank.
        for seed in 1..600_u64 {
            let size = [1, 2, 4, 8, 16][seed as usize % 5];
            let kind = [AccessKind::Load, AccessKind::Atomic][seed as usize / 5 % 2];
            let of = [32, 64, 997, 4001, 1 << 16][seed as usize / 10 % 5];
            let at = |l: u64| (l * seed * 7919 + seed * 31) % of * u64::from(size);
            let found = traffic(Space::Shared, kind, size, at);
            let lanes_per_pass = 32 / u64::from(size).div_ceil(4).max(1);
            let mut teams: BTreeMap<u64, BTreeMap<u64, Vec<u64>>> = BTreeMap::new();
            for lane in 0..32 {
                for word in at(lane) / 4..(at(lane) + u64::from(size)).div_ceil(4) {
                    let banks = teams.entry(lane / lanes_per_pass).or_default();
                    let words = banks.entry(word % 32).or_default();
                    if kind == AccessKind::Atomic || !words.contains(&word) {
                        words.push(word);
                    }
                }
            }
            let most = |banks: &BTreeMap<u64, Vec<u64>>| banks.values().map(Vec::len).max();
            let passes: usize = teams.values().filter_map(most).sum();
            assert_eq!(found.shared_passes, passes as u64, "{size} bytes, {kind:?}, {seed}");
            assert_eq!(found.bank_conflicts, (passes - teams.len()) as u64);
        }
    }

    #[test]
    fn strided_accesses_count_as_their_lanes() {
        let (mut simple, mut all) = (0, 0);
        for case in 0..4000_u64 {
            let pick = |n: u64, of: u64| case.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> n & (of - 1);
            let size = 1 << pick(59, 8).min(4);
            let stride = [0, i64::from(size), 4, 8][pick(50, 4) as usize];
            let space = [Space::Global, Space::Shared, Space::Local][(case % 3) as usize];
            let kind =
                [AccessKind::Load, AccessKind::Store, AccessKind::Atomic][(case / 3 % 3) as usize];
            let (first, count) = (pick(40, 32) as u16, 1 + pick(30, 32) as u16);
            let at = 4096 + pick(20, 64) * u64::from(size);
            let line = StridedAccess {
                pc: Pc(3),
                kind,
                space,
                size,
                first_thread: 32 + u32::from(first),
                lanes: count,
                at,
                stride,
                times: 1,
            };
            let lanes: Vec<(u16, u64)> = (0..count)
                .map(|i| (first + i, at.wrapping_add_signed(i64::from(i) * stride)))
                .collect();
            let (group, order) = (GroupId { first_thread: 32, ..GroupId::default() }, Order::Weak);
            let scope = Scope::Gpu;
            let access = Access {
                group,
                pc: Pc(3),
                kind,
                space,
                owner: 0,
                order,
                scope,
                size,
                lanes: &lanes,
                values: &[],
            };
            let (mut a, mut b) = (PcTraffic::default(), PcTraffic::default());
            let expected = a.access(&access);
            all += 1;
            if let Some(found) = b.strided_access(&line) {
                assert_eq!((found, &b), (expected, &a), "{line:?}");
                simple += 1;
            }
        }
        assert!(simple * 3 > all, "{simple} of {all}");
    }

    #[test]
    fn lanes_that_share_a_bank_are_serialised() {
        let read = |size, stride| {
            let found = traffic(Space::Shared, AccessKind::Load, size, |l| l * stride);
            (found.shared_passes, found.bank_conflicts)
        };
        assert_eq!(read(4, 4), (1, 0), "a word each");
        assert_eq!(read(4, 0), (1, 0), "the same word");
        assert_eq!(read(4, 8), (2, 1), "every other bank");
        assert_eq!(read(4, 128), (32, 31), "one bank");
        assert_eq!(read(4, 132), (1, 0), "a padded column");
        assert_eq!(read(1, 1), (1, 0), "bytes of a word");
        assert_eq!(read(8, 8), (2, 0), "half-warps");
        assert_eq!(read(16, 16), (4, 0), "quarter-warps");
        assert_eq!(read(8, 16), (4, 2), "half-warps in every other pair of banks");
        let add = traffic(Space::Shared, AccessKind::Atomic, 4, |_| 12);
        assert_eq!((add.shared_passes, add.bank_conflicts), (32, 31), "turns at one word");
    }
}
