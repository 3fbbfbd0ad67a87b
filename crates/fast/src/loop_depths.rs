//! Loop depths of blocks.

use crate::code::{Code, End};

impl Code {
    /// Returns the number of loops around each block. A jump to an earlier place is taken for a
    /// loop around all blocks between its target and its source.
    #[must_use]
    pub fn loop_depths(&self) -> Vec<u32> {
        let count = self.blocks.len();
        let mut change = vec![0i64; count + 1];
        let mut by_place: Vec<usize> = (0..count).collect();
        by_place.sort_by_key(|&b| (self.blocks[b].first, b));
        let mut rank = vec![0; count];
        by_place.iter().enumerate().for_each(|(r, &b)| rank[b] = r);
        let mut heads = vec![None; count];
        for (b, block) in self.blocks.iter().enumerate() {
            // Calls and returns can go to any place without being loops.
            let jumps = !matches!(
                block.end,
                End::Call(..) | End::CallByAddress(..) | End::Return(..) | End::ReturnBy(..)
            );
            for to in block.end.targets().filter(|_| jumps) {
                let (from, to) = (rank[b], rank[to as usize]);
                if to <= from {
                    let last = heads[to].get_or_insert(from);
                    *last = from.max(*last);
                }
            }
        }
        for (head, last) in heads.iter().enumerate() {
            if let Some(last) = last {
                change[head] += 1;
                change[last + 1] -= 1;
            }
        }
        let mut depths = vec![0; count];
        let mut depth = 0;
        for (r, &b) in by_place.iter().enumerate() {
            depth += change[r];
            depths[b] = depth.max(0) as u32;
        }
        depths
    }
}
