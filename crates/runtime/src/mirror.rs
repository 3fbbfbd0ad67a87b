//! Host memory that guests access: at its own addresses, or at those of guest memory that it backs.
//!
//! Between launches, the host's bytes are authoritative. They are copied into guest memory before a
//! launch. After a launch that has ended, the words of 8 bytes that it has changed are copied back,
//! and no others, so that the host's own changes elsewhere in the range persist. Guests never
//! access host memory directly, so a racing host cannot break the engine. (The unit is not a byte
//! because each run of changed units is one system call, and numbers often change in some of their
//! bytes only.)

use std::collections::BTreeMap;

use simt::memory::{AccessKind, Addr, MapError, MemoryMap, Permission, Sharing};

use hostmem::{read_host, write_host};

/// Bytes compared at a time.
const PAGE: usize = 4096;

/// The bytes that are copied back together if one of them has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// One byte: the host may change those beside it.
    Byte = 1,
    /// A word of 8 bytes, so that there are fewer runs.
    Word = 8,
}

/// A range of host memory: its length in bytes, and its address in the host.
#[derive(Clone, Copy, Debug)]
struct Range {
    len: u64,
    host: u64,
}

/// Mapped ranges of host memory, by start in guest memory.
#[derive(Debug, Default)]
pub(crate) struct Mirrors {
    ranges: BTreeMap<u64, Range>,
}

/// The content of the host ranges when a launch began.
pub(crate) struct HostSnapshot {
    /// Addresses in guest memory and in the host, and the bytes.
    ranges: Vec<(u64, u64, Vec<u8>)>,
    /// Whether guest memory was not the same before.
    pub(crate) changed: bool,
}

/// A range that the host no longer has.
pub(crate) struct HostUnmapped {
    pub(crate) address: u64,
}

impl Mirrors {
    pub(crate) fn add(
        &mut self,
        memory: &mut MemoryMap,
        name: &str,
        address: u64,
        len: u64,
        permission: Permission,
    ) -> Result<(), MapError> {
        memory.map_at(name, Addr(address), len, permission)?;
        memory.set_sharing(Addr(address), Sharing::All)?;
        self.ranges.insert(address, Range { len, host: address });
        Ok(())
    }

    /// Backs a region of guest memory by host memory, which receives its content.
    pub(crate) fn back(
        &mut self,
        memory: &MemoryMap,
        address: u64,
        len: u64,
        host: u64,
    ) -> Result<(), HostUnmapped> {
        self.ranges.insert(address, Range { len, host });
        self.copy_initial(memory, address).inspect_err(|_| {
            self.ranges.remove(&address);
        })
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
        let missing = Range { len: 0, host: address };
        let Range { len, host } = self.ranges.get(&address).copied().unwrap_or(missing);
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
        let (start, &Range { len, host }) = self.ranges.range(..=address).next_back()?;
        (address - start < len).then(|| host + (address - start))
    }

    /// Copies the host's bytes into guest memory.
    pub(crate) fn copy_in(&self, memory: &mut MemoryMap) -> Result<HostSnapshot, HostUnmapped> {
        let mut before = Vec::new();
        let mut changed = false;
        let mut held = [0; PAGE];
        for (&address, &Range { len, host }) in &self.ranges {
            // A range that is hidden from the device of the launch stays as it is.
            if memory.check(AccessKind::Load, Addr(address), len, 1).is_err() {
                continue;
            }
            let mut bytes = vec![0; len as usize];
            if read_host(host, &mut bytes) < bytes.len() {
                return Err(HostUnmapped { address });
            }
            for (i, page) in bytes.chunks(PAGE).enumerate() {
                let at = Addr(address + (i * PAGE) as u64);
                let held = &mut held[..page.len()];
                // A page that has not changed stays unmarked for the next snapshot. The write
                // succeeds, because the region has these addresses.
                let same = memory.read_bytes(at, held).is_ok() && held == page;
                changed |= !same;
                let written = same || memory.host_write(at, page).is_ok();
                debug_assert!(written);
            }
            before.push((address, host, bytes));
        }
        Ok(HostSnapshot { ranges: before, changed })
    }

    /// Copies the units that have changed since `before` to the host.
    pub(crate) fn copy_out(
        &self,
        memory: &MemoryMap,
        before: &HostSnapshot,
        unit: Unit,
    ) -> Result<(), HostUnmapped> {
        let mut now = [0; PAGE];
        for (address, host, bytes) in &before.ranges {
            for (i, page) in bytes.chunks(PAGE).enumerate() {
                let (at, host) = (address + (i * PAGE) as u64, host + (i * PAGE) as u64);
                let now = &mut now[..page.len()];
                if memory.read_bytes(Addr(at), now).is_err() || now == page {
                    continue;
                }
                for (start, end) in changed(page, now, unit) {
                    let run = &now[start..end];
                    if write_host(host + start as u64, run) < run.len() {
                        return Err(HostUnmapped { address: at + start as u64 });
                    }
                }
            }
        }
        Ok(())
    }
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
        assert_eq!(changed(&before, &now, Unit::Word), [(8, 24), (40, 43)]);
        assert_eq!(changed(&before, &now, Unit::Byte), [(9, 10), (16, 17), (40, 41)]);
        assert_eq!(changed(&before, &before, Unit::Word), []);
    }

    #[test]
    fn only_changed_words_are_copied_back() {
        let mut host = vec![7_u8; 4096 + 64];
        let at = (host.as_mut_ptr() as u64).next_multiple_of(16);
        let mut memory = MemoryMap::new();
        let mut mirrors = Mirrors::default();
        mirrors.add(&mut memory, "host", at, 4096, Permission::ReadWrite).unwrap();
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
}
