//! Where lanes stand in the grid, as users name it.

use simt::LaneMask;
use simt::observe::GroupId;
use std::fmt;

/// Lanes of a group of a launch, with their block and threads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Site {
    /// The block, in x, y, z.
    pub block: [u64; 3],
    /// The group in its block.
    pub warp: u32,
    /// Lanes of the group, in increasing order.
    pub lanes: Vec<u32>,
    /// The threads of the first and the last of these lanes: their indices in the block, in x, y,
    /// z. `None` without lanes.
    pub threads: Option<[[u64; 3]; 2]>,
}

impl Site {
    /// Lanes of a group of a launch with these extents of grid and block.
    #[must_use]
    pub fn new<const N: usize>(
        group: GroupId,
        lanes: &LaneMask<N>,
        grid: [u64; 3],
        block: [u64; 3],
    ) -> Self {
        let thread = |lane: usize| unrank(u64::from(group.first_thread) + lane as u64, block);
        let (first, last) = (lanes.iter().next(), lanes.iter().last());
        Self {
            block: unrank(group.cta, grid),
            warp: group.group,
            lanes: lanes.iter().map(|lane| lane as u32).collect(),
            threads: first.zip(last).map(|(first, last)| [thread(first), thread(last)]),
        }
    }
}

/// The coordinates of a linear index.
fn unrank(index: u64, extents: [u64; 3]) -> [u64; 3] {
    let [x, y, _] = extents.map(|extent| extent.max(1));
    [index % x, index / x % y, index / x / y]
}

/// Coordinates as `(x,y,z)`.
struct Point([u64; 3]);

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.0;
        write!(f, "({x},{y},{z})")
    }
}

/// `block (1,0,0), warp 0, lanes {1-3}, threads (1,0,0) to (3,0,0)`.
impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lanes: LaneMask<16> = self.lanes.iter().map(|&lane| lane as usize).collect();
        write!(f, "block {}, warp {}, lanes {lanes}", Point(self.block), self.warp)?;
        match self.threads {
            None => Ok(()),
            Some([first, last]) if first == last => write!(f, ", thread {}", Point(first)),
            Some([first, last]) => write!(f, ", threads {} to {}", Point(first), Point(last)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_a_block_in_three_dimensions() {
        let group = GroupId { cta: 7, group: 1, first_thread: 32 };
        let site = |lanes: u64| {
            Site::new(group, &LaneMask::<1>::from_bits(lanes), [4, 2, 1], [5, 4, 3]).to_string()
        };
        assert_eq!(site(1), "block (3,1,0), warp 1, lanes {0}, thread (2,2,1)");
        assert_eq!(
            site(0x8000_0006),
            "block (3,1,0), warp 1, lanes {1-2,31}, threads (3,2,1) to (3,0,3)"
        );
        assert_eq!(site(0), "block (3,1,0), warp 1, lanes {}");
    }
}
