//! Pinned host memory of launches.
//!
//! Memory that is mapped while other threads of the client run costs a copy, so that a launch sees
//! only what its parameters point to, and what launches have reached in another way before. If it
//! accesses other pinned memory, it is taken back, and repeated with that memory. While the client
//! waits, mapping costs little, and all pinned memory is there unless it has many parts. So is it
//! for a launch whose atomic operations are on words that the client's threads may change, which
//! cannot be taken back.

use runtime::{AtomicTargets, HostActivity, HostOwner, KernelId, ModuleId, pointer_words};

use crate::state::Driver;
use crate::state::memory::{Allocation, AllocationKind, pages_of};

/// Most allocations that are all mapped for each launch while the client waits.
const MAX_MAPPED: usize = 64;

/// The pinned memory of a launch.
pub(super) struct Pinned {
    /// Ranges of whole pages that are mapped for it.
    mapped: Vec<Range>,
}

/// A range of whole pages around pinned memory.
#[derive(Clone, Copy)]
struct Range {
    start: u64,
    len: u64,
    owner: HostOwner,
}

impl Range {
    fn of(address: u64, allocation: &Allocation) -> Self {
        let (start, len) = pages_of(address, allocation.len);
        let owner = match allocation.kind {
            AllocationKind::Registered(_) => HostOwner::Client,
            _ => HostOwner::Caller,
        };
        Self { start, len, owner }
    }

    fn end(self) -> u64 {
        self.start + self.len
    }

    fn has(self, address: u64) -> bool {
        address.wrapping_sub(self.start) < self.len
    }
}

impl Pinned {
    /// Maps the memory that a launch with these parameters needs, and tells the device about the
    /// rest.
    pub(super) fn map(d: &mut Driver, kernel: (ModuleId, KernelId), params: &[u8]) -> Self {
        let host = activity(d, kernel, params);
        d.device.set_host_activity(host);
        let all = host != HostActivity::Runs && d.memory.pinned().nth(MAX_MAPPED).is_none();
        let is_argument =
            |(at, len): (u64, u64)| pointer_words(params).any(|word| word.wrapping_sub(at) < len);
        let needed = d
            .memory
            .pinned()
            .filter(|&(at, a)| all || a.is_reached || is_argument((at, a.len)))
            .map(|(at, a)| Range::of(at, a));
        let mut pinned = Self { mapped: Vec::new() };
        for range in merged(needed) {
            pinned.add(d, range);
        }
        Self::tell(d);
        pinned
    }

    /// Maps memory that a launch has accessed although it was not mapped.
    pub(super) fn map_missed(&mut self, d: &mut Driver, address: u64) {
        // Several, if they share a page.
        let touched = d.memory.pinned().filter(|&(at, a)| Range::of(at, a).has(address));
        let touched: Vec<u64> = touched.map(|(at, _)| at).collect();
        for at in touched {
            if let Some(allocation) = d.memory.live.get_mut(&at) {
                allocation.is_reached = true;
            }
        }
        let ranges = std::mem::take(&mut self.mapped);
        unmap(d, ranges.iter().map(|range| range.start));
        let reached =
            d.memory.pinned().filter(|(_, a)| a.is_reached).map(|(at, a)| Range::of(at, a));
        for range in merged(ranges.into_iter().chain(reached)) {
            self.add(d, range);
        }
        Self::tell(d);
    }

    /// Ends the launch, or the first part of one that waits. Returns the addresses of the mapped
    /// ranges.
    pub(super) fn end(self, d: &mut Driver) -> Vec<u64> {
        d.device.set_unmapped(Vec::new());
        self.mapped.into_iter().map(|range| range.start).collect()
    }

    fn add(&mut self, d: &mut Driver, range: Range) {
        // Launches that wait may have mapped it before.
        let Range { start, len, owner } = range;
        if d.device.map_host("pinned memory", start, len, owner).is_ok() {
            self.mapped.push(range);
        }
    }

    /// Tells the device which pinned memory is not mapped. What cannot be mapped is not, either: a
    /// launch that was repeated for it would be again.
    fn tell(d: &mut Driver) {
        let is_mapped = |(at, len): (u64, u64)| {
            d.device.host_around(at).is_some_and(|(start, all)| len <= all - (at - start))
        };
        let hidden = d.memory.pinned().filter(|&(at, a)| !a.is_reached && !is_mapped((at, a.len)));
        let hidden = hidden.map(|(at, a)| (at, a.len)).collect();
        d.device.set_unmapped(hidden);
    }
}

/// Returns what the client does during a launch.
fn activity(d: &Driver, (id, kernel): (ModuleId, KernelId), params: &[u8]) -> HostActivity {
    let mut on_host = d.memory.live.iter().filter(|(_, a)| !a.is_on_device()).peekable();
    if on_host.peek().is_none() {
        return HostActivity::Runs;
    }
    if d.pending.is_only_client() {
        return HostActivity::Waits;
    }
    let shares = match d.device.system_atomics(id, kernel, params) {
        Ok(AtomicTargets::Any) => true,
        Ok(AtomicTargets::Around(words)) => {
            on_host.any(|(&at, a)| words.iter().any(|word| word.wrapping_sub(at) < a.len))
        }
        Err(_) => false,
    };
    if shares { HostActivity::Shares } else { HostActivity::Runs }
}

/// Merges ranges that overlap: buffers of a client may share a page.
fn merged(ranges: impl Iterator<Item = Range>) -> Vec<Range> {
    let mut ranges: Vec<Range> = ranges.collect();
    ranges.sort_unstable_by_key(|range| range.start);
    let mut merged: Vec<Range> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start < last.end() => {
                last.len = last.len.max(range.end() - last.start);
                if range.owner == HostOwner::Client {
                    last.owner = range.owner;
                }
            }
            _ => merged.push(range),
        }
    }
    merged
}

/// Unmaps the ranges that were mapped for a launch, by their addresses.
pub(super) fn unmap(d: &mut Driver, addresses: impl IntoIterator<Item = u64>) {
    for address in addresses {
        let unmapped = d.device.unmap_host(address);
        debug_assert!(unmapped.is_ok());
    }
}
