//! Distances of addresses that a place in the code logs again and again.

use fast::RowPattern;
use vm::WARP_SIZE;

const LANES: usize = WARP_SIZE as usize;

/// Most patterns of a site.
const MOST: usize = 8;

/// Rows of a site that had none of its patterns before it gets no more.
const MOST_MISSES: u32 = 256;

/// The patterns of all sites of a launch.
#[derive(Default)]
pub(super) struct Patterns {
    sites: Vec<SitePatterns>,
    count: u32,
}

#[derive(Default)]
struct SitePatterns {
    known: Vec<(u32, RowPattern)>,
    misses: u32,
}

impl Patterns {
    /// Returns the pattern of the addresses of active lanes, at least one, if it is one of the few
    /// that are kept.
    #[inline(always)]
    pub(super) fn find(
        &mut self,
        site: usize,
        on: u32,
        at: &[u64; LANES],
    ) -> Option<(u64, &RowPattern)> {
        if self.sites.len() <= site {
            self.sites.resize_with(site + 1, SitePatterns::default);
        }
        let site = &mut self.sites[site];
        let first = at[on.trailing_zeros() as usize % LANES];
        let of = |(lanes, pattern): &(u32, RowPattern)| {
            if *lanes != on {
                return false;
            }
            let mut differ = 0;
            for (lane, (&at, &distance)) in at.iter().zip(&pattern.distances).enumerate() {
                let distance = i64::from(distance) as u64;
                let is_on = 0u64.wrapping_sub(u64::from(on >> lane & 1));
                differ |= (at.wrapping_sub(first) ^ distance) & is_on;
            }
            differ == 0
        };
        let mut found = site.known.iter().position(of);
        if found.is_none() {
            found = site.learn(&mut self.count, on, first, at);
        }
        let index = found?;
        // The last one comes first.
        if index > 0 {
            site.known.swap(0, index);
        }
        Some((first, &site.known[0].1))
    }
}

impl SitePatterns {
    /// Keeps another pattern, if there is room for it; returns where it is.
    #[cold]
    fn learn(&mut self, count: &mut u32, on: u32, first: u64, at: &[u64; LANES]) -> Option<usize> {
        self.misses += 1;
        if self.known.len() >= MOST || self.misses > MOST_MISSES {
            return None;
        }
        let mut distances = [0; LANES];
        for (lane, distance) in distances.iter_mut().enumerate() {
            if on >> lane & 1 != 0 {
                let bytes = at[lane].wrapping_sub(first) as i64;
                *distance = i32::try_from(bytes).ok().filter(|bytes| bytes.abs() < 1 << 30)?;
            }
        }
        let (low, high) = distances.iter().fold((0, 0), |(low, high): (i32, i32), &distance| {
            (low.min(distance), high.max(distance))
        });
        self.known.push((on, RowPattern { id: *count, distances, low, high }));
        *count += 1;
        Some(self.known.len() - 1)
    }
}
