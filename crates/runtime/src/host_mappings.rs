//! Chooses the host memory that is mapped for a guest that has nothing but addresses.
//!
//! A mapping is a run of mapped pages. It never exceeds the extent that the system lists around it
//! (`hostmem::Extents`): code and the system's own memory are not mapped, and guests cannot write
//! memory that the host cannot write. If an access misses the mappings, the nearest one grows to it
//! and by at least its own size, and gaps between mappings close at the same rate. The number of
//! repeated launches is therefore logarithmic in the memory that a launch uses. How far a launch
//! went beyond each of its arguments is remembered for the next launch.

use std::sync::{Mutex, PoisonError};

use hostmem::{Extent, Extents, readable};
use rustc_hash::FxHashMap;
use simt::memory::{MapError, Permission};

use crate::context::Context;

/// Bytes mapped from the first access to a place on.
const FIRST_MAPPING: u64 = 64 << 10;
/// The least number of bytes that a mapping grows by: mapping too much costs less than another
/// attempt.
const LEAST_GROWTH: u64 = 32 << 20;
/// An access farther than this from all mappings starts a new one.
const MAX_GAP: u64 = 64 << 20;
/// The maximum number of addresses whose extent is remembered.
const MAX_HINTS: usize = 1 << 12;
const PAGE: u64 = 4096;

/// How far beyond the addresses in their arguments earlier launches have gone. It affects only how
/// often a launch is repeated: no more is mapped than the host has.
#[derive(Debug, Default)]
pub struct MappingHints(Mutex<FxHashMap<u64, (u64, u64)>>);

impl MappingHints {
    /// Returns the bytes before and after an address that are worth mapping at once.
    fn of(&self, address: u64) -> (u64, u64) {
        let extents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        extents.get(&address).copied().unwrap_or((0, FIRST_MAPPING))
    }

    /// Remembers the mappings at the end of a launch with these arguments, which are in increasing
    /// order.
    fn record(&self, arguments: &[u64], mapped: &[Extent]) {
        let mut extents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if extents.len() >= MAX_HINTS {
            extents.clear();
        }
        for (i, &address) in arguments.iter().enumerate() {
            let Some(mapping) = mapped.iter().find(|w| w.start <= address && address < w.end)
            else {
                continue;
            };
            // Up to the next argument, where that one's extent begins.
            let next = arguments.get(i + 1).map_or(mapping.end, |&next| next.min(mapping.end));
            let first = i.checked_sub(1).is_none_or(|before| arguments[before] < mapping.start);
            let before = if first { address - mapping.start } else { 0 };
            extents.insert(address, (before, (next - address).max(FIRST_MAPPING)));
        }
    }
}

/// The host's memory when a launch began, and its ranges that are mapped.
pub(crate) struct HostMappings<'a> {
    extents: Option<Extents>,
    hints: &'a MappingHints,
    arguments: Vec<u64>,
    mapped: Vec<Extent>,
}

impl<'a> HostMappings<'a> {
    /// Maps memory around all words of a parameter block that look like pointers.
    pub(crate) fn open(context: &mut Context, hints: &'a MappingHints, params: &[u8]) -> Self {
        let extents = Extents::now();
        let mut mappings = Self { extents, hints, arguments: Vec::new(), mapped: Vec::new() };
        let words = params.chunks_exact(8);
        let words = words.map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default()));
        mappings.arguments = words.filter(|&a| mappings.around(a).is_some()).collect();
        mappings.arguments.sort_unstable();
        mappings.arguments.dedup();
        mappings.map_arguments(context);
        mappings
    }

    /// Maps memory around the arguments again, after the host has unmapped some of what was mapped.
    ///
    /// A mapping covers more than the allocation of the argument, so another thread of the host may
    /// unmap a part of it at any time.
    ///
    /// # Errors
    /// Returns an error if the memory map refuses to unmap the former mappings.
    pub(crate) fn refresh(&mut self, context: &mut Context) -> Result<(), MapError> {
        self.hints.record(&self.arguments, &self.mapped);
        self.unmap(context)?;
        self.extents = Extents::now();
        self.map_arguments(context);
        Ok(())
    }

    fn map_arguments(&mut self, context: &mut Context) {
        for address in self.arguments.clone() {
            let (before, after) = self.hints.of(address);
            let (start, end) = (address.saturating_sub(before), address.saturating_add(after));
            self.map(context, address, start, end);
        }
    }

    /// Maps memory around an access that missed. Returns whether more is mapped now.
    pub(crate) fn map_missed(&mut self, context: &mut Context, address: u64, size: u64) -> bool {
        let Some(extent) = self.around(address) else { return false };
        let after = match address.checked_add(size) {
            Some(after) if after <= extent.end => after,
            _ => return false,
        };
        let inside = |w: &&Extent| extent.start <= w.start && w.end <= extent.end;
        let mut near = self.mapped.iter().filter(inside);
        if near.clone().any(|w| w.start <= address && after <= w.end) {
            return false;
        }
        let below = near.clone().filter(|w| w.start <= address).max_by_key(|w| w.start);
        let above = near.find(|w| w.start > address);
        let below = below.map(|w| (address.saturating_sub(w.end), *w));
        let above = above.map(|w| (w.start.saturating_sub(after), *w));
        let up = below.is_some_and(|(gap, _)| above.is_none_or(|(other, _)| gap <= other));
        let nearer = if up { below } else { above };
        let (start, end) = match nearer.filter(|&(gap, _)| gap <= MAX_GAP) {
            None => (address, after + FIRST_MAPPING),
            Some((gap, w)) => {
                let more = gap.max(w.end - w.start).max(LEAST_GROWTH);
                if up { (w.start, after + more) } else { (address.saturating_sub(more), w.end) }
            }
        };
        self.map(context, address, start, end)
    }

    /// Unmaps all mappings, because the host may free or move anything from now on.
    pub(crate) fn close(mut self, context: &mut Context) -> Result<(), MapError> {
        self.hints.record(&self.arguments, &self.mapped);
        self.unmap(context)
    }

    fn unmap(&mut self, context: &mut Context) -> Result<(), MapError> {
        self.mapped.drain(..).try_for_each(|w| context.unmap_host(w.start))
    }

    /// Returns the extent around an address. If the system lists no extents, these are the readable
    /// pages from the address on.
    fn around(&self, address: u64) -> Option<Extent> {
        if let Some(extents) = &self.extents {
            return extents.around(address);
        }
        let start = address & !(PAGE - 1);
        let there = if start == 0 { 0 } else { readable(start, FIRST_MAPPING) & !(PAGE - 1) };
        (there > 0).then_some(Extent { start, end: start + there, writable: true })
    }

    /// Maps the pages of a range around `address`, as far as they are readable, and joins it with
    /// the mappings that it touches. Returns whether more is mapped now.
    fn map(&mut self, context: &mut Context, address: u64, start: u64, end: u64) -> bool {
        let Some(extent) = self.around(address) else { return false };
        let page = address & !(PAGE - 1);
        let mut start = (start & !(PAGE - 1)).max(extent.start).min(page);
        let mut end = end.saturating_add(PAGE - 1) & !(PAGE - 1);
        end = end.min(extent.end).max(page);
        // The last pages of a mapped file may lie beyond its end.
        let there = start + readable(start, end - start);
        if there < end {
            if there <= address {
                start = page;
            }
            end = start + (readable(start, end - start) & !(PAGE - 1));
        }
        if end <= address {
            return false;
        }
        let Extent { writable, .. } = extent;
        let touches = |w: &Extent| w.writable == writable && w.start <= end && start <= w.end;
        let (touching, others): (Vec<Extent>, Vec<Extent>) =
            self.mapped.iter().partition(|w| touches(w));
        if touching.iter().any(|w| w.start <= start && end <= w.end) {
            return false;
        }
        let whole = touching.iter().fold(Extent { start, end, writable }, |all, w| Extent {
            start: all.start.min(w.start),
            end: all.end.max(w.end),
            writable,
        });
        self.mapped = others;
        let hidden = touching.iter().all(|w| context.unmap_host(w.start).is_ok());
        let may = if writable { Permission::ReadWrite } else { Permission::ReadOnly };
        if !hidden || context.map_host_as(whole.start, whole.end - whole.start, may).is_err() {
            return false;
        }
        let at = self.mapped.partition_point(|w| w.start < whole.start);
        self.mapped.insert(at, whole);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Settings;

    fn words(addresses: &[u64]) -> Vec<u8> {
        addresses.iter().flat_map(|a| a.to_le_bytes()).collect()
    }

    #[test]
    fn any_order_of_accesses_maps_a_buffer_in_few_attempts() {
        let buffer = vec![1_u8; 48 << 20];
        let base = buffer.as_ptr() as u64;
        let places = buffer.len() as u64 / 16;
        let orders: [&dyn Fn(u64) -> u64; 4] = [
            &|i| i,
            &|i| places - 1 - i,
            // An odd multiplier visits every place once, in distant steps.
            &|i| i.wrapping_mul(0x9e37_79b1) % places,
            &|i| (i % 1024) * (places / 1024) + i / 1024,
        ];
        for order in orders {
            let hints = MappingHints::default();
            for expected in [20, 0] {
                let mut context = Context::new(Settings::default());
                let mut mappings =
                    HostMappings::open(&mut context, &hints, &words(&[base, 3, u64::MAX]));
                let mut repeats = 0;
                for address in (0..places).step_by(7).map(|i| base + 16 * order(i)) {
                    if context.check(simt::memory::Addr(address), 16).is_err() {
                        assert!(mappings.map_missed(&mut context, address, 16));
                        repeats += 1;
                    }
                }
                assert!(repeats <= expected, "{repeats} repeats");
                mappings.close(&mut context).unwrap();
                assert_eq!(context.host_around(base), None);
            }
        }
        std::hint::black_box(buffer);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn code_and_constants_are_not_written() {
        let mut context = Context::new(Settings::default());
        let hints = MappingHints::default();
        static CONSTANT: [u64; 4] = [7; 4];
        let constant = CONSTANT.as_ptr() as u64;
        let code: fn() = code_and_constants_are_not_written;
        let code = code as usize as u64;
        let mut mappings = HostMappings::open(&mut context, &hints, &words(&[constant, code]));
        let mut out = [0; 8];
        context.read(simt::memory::Addr(constant), &mut out).unwrap();
        assert_eq!(u64::from_le_bytes(out), 7);
        let mapped = mappings.mapped.iter().find(|w| w.start <= constant && constant < w.end);
        assert!(mapped.is_some_and(|w| !w.writable));
        assert_eq!(context.host_around(code), None);
        assert!(!mappings.map_missed(&mut context, code, 4));
        assert!(!mappings.map_missed(&mut context, u64::MAX - 2, 4));
        mappings.close(&mut context).unwrap();
    }
}
