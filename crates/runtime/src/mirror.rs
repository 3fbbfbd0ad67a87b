//! Host memory that guests access: at its own addresses, or at those of guest memory that it backs.
//!
//! Between launches, the host's bytes are authoritative. While the host waits for a launch and
//! nothing else runs, the launch accesses them in place; so does a launch whose atomic operations
//! have to meet those of the host's threads. Otherwise guests never access host memory directly, so
//! that a launch can be taken back without the host's having seen anything of it, and without
//! touching what the host writes meanwhile: its bytes are copied into guest memory before the
//! launch. After a launch that has ended, the words of 4 bytes that it has changed are copied back,
//! and no others, so that the host's own changes elsewhere in the range persist. (The unit is not a
//! byte because each run of changed units is one system call, and numbers often change in some of
//! their bytes only.)
#![allow(unsafe_code, reason = "memory of the host is lent to guests through its address")]

use std::collections::BTreeMap;
use std::ptr::NonNull;

use simt::memory::{
    AccessKind, Addr, Backing, HostRange, MapError, MemoryMap, PAGE_BYTES, Permission,
    RegionSnapshot, Sharing,
};

use hostmem::{Extents, read_host, write_host};

/// Bytes compared at a time.
const PAGE: usize = PAGE_BYTES as usize;
/// Bytes read from the host at a time.
const CHUNK: usize = 1 << 18;
/// Memory of the client that is at least this long is accessed in place: below, copies take less
/// time than to ask the system whether it is there.
const LONG: u64 = 1 << 20;

/// The bytes that are copied back together if one of them has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// One byte: the host may change those beside it.
    Byte = 1,
    /// A word of 4 bytes, so that there are fewer runs.
    Word = 4,
}

/// What the host does while a launch runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HostActivity {
    /// Its threads may access the memory that it shares with the launch.
    #[default]
    Runs,
    /// They may, by atomic operations on the words on which the launch has some of system scope.
    Shares,
    /// It waits, and nothing else in its process runs that could access that memory.
    Waits,
}

/// Who decides about mapped host memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostOwner {
    /// The caller, who keeps it, for reads and writes, until it is unmapped, and no other process
    /// sees it.
    Caller,
    /// The client of the caller, who may give it back to the system at any time.
    Client,
    /// Others besides: launches never access it in place.
    Others,
}

/// A range of host memory: its length in bytes, its address in the host, and its owner.
#[derive(Clone, Copy, Debug)]
struct Range {
    len: u64,
    host: u64,
    owner: HostOwner,
}

/// Mapped ranges of host memory, by start in guest memory.
#[derive(Debug, Default)]
pub(crate) struct Mirrors {
    ranges: BTreeMap<u64, Range>,
}

/// The content of the host ranges that were copied when a launch began.
#[derive(Default)]
pub(crate) struct HostSnapshot {
    /// Addresses in guest memory and in the host, and the bytes.
    ranges: Vec<(u64, u64, RegionSnapshot)>,
    /// Whether guest memory was not the same before.
    pub(crate) changed: bool,
}

impl HostSnapshot {
    /// Returns whether memory has other bytes now.
    pub(crate) fn differs_from(&self, memory: &MemoryMap) -> bool {
        self.ranges.iter().any(|(address, _, pages)| {
            let same = |_, then: &[u8], now: &[u8]| if then == now { Ok(()) } else { Err(()) };
            memory.changed_pages(Addr(*address), pages, same).is_err()
        })
    }
}

/// A range that the host no longer has.
#[derive(Debug)]
pub(crate) struct HostUnmapped {
    pub(crate) address: u64,
}

impl Mirrors {
    pub(crate) fn add(
        &mut self,
        memory: &mut MemoryMap,
        name: &str,
        (address, len): (u64, u64),
        permission: Permission,
        owner: HostOwner,
    ) -> Result<(), MapError> {
        memory.map_at(name, Addr(address), len, permission)?;
        memory.set_sharing(Addr(address), Sharing::All)?;
        self.ranges.insert(address, Range { len, host: address, owner });
        Ok(())
    }

    /// Backs a region of guest memory by host memory that others see, too, and which receives its
    /// content.
    pub(crate) fn back(
        &mut self,
        memory: &MemoryMap,
        address: u64,
        len: u64,
        host: u64,
    ) -> Result<(), HostUnmapped> {
        self.ranges.insert(address, Range { len, host, owner: HostOwner::Others });
        self.copy_initial(memory, address).inspect_err(|_| {
            self.ranges.remove(&address);
        })
    }

    /// The same, but the region receives the content of the host memory.
    pub(crate) fn show(&mut self, address: u64, len: u64, host: u64) {
        self.ranges.insert(address, Range { len, host, owner: HostOwner::Others });
    }

    pub(crate) fn remove(&mut self, memory: &mut MemoryMap, address: u64) -> Result<(), MapError> {
        memory.free(Addr(address))?;
        self.ranges.remove(&address);
        Ok(())
    }

    /// Copies the guest's initial content of a range to the host.
    pub(crate) fn copy_initial(
        &self,
        memory: &MemoryMap,
        address: u64,
    ) -> Result<(), HostUnmapped> {
        let Some(&Range { len, host, .. }) = self.ranges.get(&address) else {
            return Err(HostUnmapped { address });
        };
        let mut bytes = vec![0; len as usize];
        let read = memory.read_bytes(Addr(address), &mut bytes).is_ok();
        let written = read && write_host(host, &bytes) == bytes.len();
        if written { Ok(()) } else { Err(HostUnmapped { address }) }
    }

    /// Returns the start and length of the range around an address.
    pub(crate) fn around(&self, address: u64) -> Option<(u64, u64)> {
        let (&start, &Range { len, .. }) = self.ranges.range(..=address).next_back()?;
        (address - start < len).then_some((start, len))
    }

    /// Returns the host's address of a byte of a range.
    pub(crate) fn host_address(&self, address: u64) -> Option<u64> {
        let (start, &Range { len, host, .. }) = self.ranges.range(..=address).next_back()?;
        (address - start < len).then(|| host + (address - start))
    }

    /// Lets guests access the host's bytes in place where that is possible, and gives the other
    /// ranges bytes of the guest's own. Returns whether a range has got its own.
    pub(crate) fn place(
        &self,
        memory: &mut MemoryMap,
        host: HostActivity,
    ) -> Result<bool, MapError> {
        let in_place = host != HostActivity::Runs;
        let least = if host == HostActivity::Shares { 0 } else { LONG };
        let has_long = |r: &Range| r.owner == HostOwner::Client && r.len >= least;
        let asks = in_place && self.ranges.values().any(has_long);
        let private = if asks { Extents::private() } else { Extents::default() };
        let mut has_changed = false;
        for (&address, range) in &self.ranges {
            let may = match range.owner {
                HostOwner::Caller => in_place,
                HostOwner::Client => has_long(range) && private.has(range.host, range.len),
                HostOwner::Others => false,
            };
            // Without memory for its bookkeeping it is copied.
            if !(may && lend(memory, Addr(address), *range)) {
                has_changed |= is_lent(memory, address);
                memory.use_own(Addr(address))?;
            }
        }
        Ok(has_changed)
    }

    /// Copies the host's bytes into guest memory that does not show them.
    pub(crate) fn copy_in(&self, memory: &mut MemoryMap) -> Result<HostSnapshot, HostUnmapped> {
        let mut before = HostSnapshot::default();
        let mut bytes = Vec::new();
        for (&address, &Range { len, host, .. }) in &self.ranges {
            // A range that is hidden from the device of the launch stays as it is.
            let is_hidden = memory.check(AccessKind::Load, Addr(address), len, 1).is_err();
            if is_hidden || is_lent(memory, address) {
                continue;
            }
            bytes.resize(CHUNK, 0);
            for offset in (0..len).step_by(CHUNK) {
                let bytes = &mut bytes[..(len - offset).min(CHUNK as u64) as usize];
                if read_host(host + offset, bytes) < bytes.len() {
                    return Err(HostUnmapped { address });
                }
                before.changed |= update(memory, address + offset, bytes);
            }
            if let Ok(pages) = memory.snapshot_region(Addr(address)) {
                before.ranges.push((address, host, pages));
            }
        }
        Ok(before)
    }

    /// Returns the bytes of the ranges that launches access in place.
    pub(crate) fn snapshot(&self, memory: &mut MemoryMap) -> HostSnapshot {
        let mut shown = HostSnapshot::default();
        for (&address, &Range { host, .. }) in &self.ranges {
            if is_lent(memory, address)
                && let Ok(pages) = memory.snapshot_region(Addr(address))
            {
                shown.ranges.push((address, host, pages));
            }
        }
        shown
    }

    /// Copies the units that have changed since `before` to the host.
    pub(crate) fn copy_out(
        &self,
        memory: &MemoryMap,
        before: &HostSnapshot,
        unit: Unit,
    ) -> Result<(), HostUnmapped> {
        for (address, host, pages) in &before.ranges {
            memory.changed_pages(Addr(*address), pages, |offset, then, now| {
                for (start, end) in changed(then, now, unit) {
                    let (at, run) = (offset + start as u64, &now[start..end]);
                    if write_host(host + at, run) < run.len() {
                        return Err(HostUnmapped { address: address + at });
                    }
                }
                Ok(())
            })?;
        }
        Ok(())
    }
}

/// Makes a region show the host's bytes; returns whether it does.
fn lend(memory: &mut MemoryMap, address: Addr, range: Range) -> bool {
    if is_lent(memory, address.0) {
        return memory.host_wrote(address).is_ok();
    }
    let start = usize::try_from(range.host).ok().map(std::ptr::with_exposed_provenance_mut);
    let (Some(start), Ok(len)) = (start.and_then(NonNull::new), usize::try_from(range.len)) else {
        return false;
    };
    // SAFETY: the caller keeps the range until it is unmapped here, or the system has just said
    // that it can be read and written and is nobody else's; and the host waits for the launch.
    // Between launches the region's bytes are reached through `read_host` and `write_host` alone.
    let range = unsafe { HostRange::new(start, len) };
    memory.use_host(address, range).is_ok()
}

fn is_lent(memory: &MemoryMap, address: u64) -> bool {
    memory.region_at(Addr(address)).is_some_and(|region| region.backing() == Backing::Host)
}

/// Writes the pages that differ; returns whether there are any.
fn update(memory: &mut MemoryMap, address: u64, bytes: &[u8]) -> bool {
    let mut held = [0; PAGE];
    let mut changed = false;
    for (i, page) in bytes.chunks(PAGE).enumerate() {
        let at = Addr(address + (i * PAGE) as u64);
        let held = &mut held[..page.len()];
        // A page that has not changed stays unmarked for the next snapshot. The write succeeds,
        // because the region has these addresses.
        let same = memory.read_bytes(at, held).is_ok() && held == page;
        changed |= !same;
        let written = same || memory.host_write(at, page).is_ok();
        debug_assert!(written);
    }
    changed
}

/// Returns the runs of units that differ, as byte ranges.
fn changed(before: &[u8], now: &[u8], unit: Unit) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    let unit = unit as usize;
    let units = before.chunks(unit).zip(now.chunks(unit)).enumerate();
    for (i, (_, bytes)) in units.filter(|(_, (before, now))| before != now) {
        let (start, end) = (i * unit, i * unit + bytes.len());
        match runs.last_mut() {
            Some((_, last)) if *last == start => *last = end,
            _ => runs.push((start, end)),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_returns_runs_of_words() {
        let before = [1; 43];
        let mut now = before;
        (now[9], now[16], now[40]) = (2, 2, 2);
        assert_eq!(changed(&before, &now, Unit::Word), [(8, 12), (16, 20), (40, 43)]);
        assert_eq!(changed(&before, &now, Unit::Byte), [(9, 10), (16, 17), (40, 41)]);
        assert_eq!(changed(&before, &before, Unit::Word), []);
    }

    #[test]
    fn only_changed_words_are_copied_back() {
        let mut host = vec![7_u8; 4096 + 64];
        let at = (host.as_mut_ptr() as u64).next_multiple_of(16);
        let mut memory = MemoryMap::new();
        let mut mirrors = Mirrors::default();
        let owner = HostOwner::Client;
        mirrors.add(&mut memory, "host", (at, 4096), Permission::ReadWrite, owner).unwrap();
        mirrors.place(&mut memory, HostActivity::Waits).unwrap();
        let before = mirrors.copy_in(&mut memory).ok().unwrap();
        memory.write_bytes(Addr(at + 8), &[1, 2]).unwrap();
        // The host changes another word meanwhile.
        assert_eq!(write_host(at + 100, &[9]), 1);
        mirrors.copy_out(&memory, &before, Unit::Word).ok().unwrap();
        let mut now = vec![0; 4096];
        assert_eq!(read_host(at, &mut now), 4096);
        assert_eq!((now[7], now[8], now[9], now[10], now[100]), (7, 1, 2, 7, 9));
        drop(host);
    }

    #[test]
    fn memory_is_in_place_while_the_host_waits() {
        let host = vec![7_u64; 2 * LONG as usize / 8];
        let at = host.as_ptr().expose_provenance() as u64;
        let mut memory = MemoryMap::new();
        for (owner, len, in_place) in [
            (HostOwner::Caller, 4096, true),
            (HostOwner::Client, LONG - 8, false),
            (HostOwner::Client, LONG, true),
            (HostOwner::Others, LONG, false),
        ] {
            let mut mirrors = Mirrors::default();
            let at = at.next_multiple_of(16);
            mirrors.add(&mut memory, "host", (at, len), Permission::ReadWrite, owner).unwrap();
            for (waits, value) in [(true, 8_u64), (false, 9), (true, 10)] {
                let host = if waits { HostActivity::Waits } else { HostActivity::Runs };
                mirrors.place(&mut memory, host).unwrap();
                assert_eq!(is_lent(&memory, at), waits && in_place, "{owner:?}");
                let before = mirrors.copy_in(&mut memory).unwrap();
                assert_eq!(before.ranges.is_empty(), waits && in_place);
                memory.write_bytes(Addr(at + 8), &value.to_le_bytes()).unwrap();
                mirrors.copy_out(&memory, &before, Unit::Word).unwrap();
                let mut now = [0; 24];
                assert_eq!(read_host(at, &mut now), 24);
                assert_eq!((now[0], now[8], now[16]), (7, value as u8, 7), "{owner:?}");
                // The host changes it, too.
                assert_eq!(write_host(at + 16, &[7, value as u8]), 2);
            }
            mirrors.place(&mut memory, HostActivity::Waits).unwrap();
            mirrors.copy_in(&mut memory).unwrap();
            let mut now = [0; 2];
            memory.read_bytes(Addr(at + 16), &mut now).unwrap();
            assert_eq!(now, [7, 10]);
            assert_eq!(write_host(at + 16, &[7, 7]), 2);
            mirrors.remove(&mut memory, at).unwrap();
        }
        drop(host);
    }
}
