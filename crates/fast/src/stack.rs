//! The reconvergence stack of `converge`'s mechanism `ipdom`, in terms of blocks instead of places.
//!
//! Lanes merge only at the first instructions of blocks, so only the ends of blocks are events
//! here. Rules and charges equal those of `converge::ipdom`, entry by entry; a test compares them.

use crate::Declined;
use crate::code::{Code, Rejoin};
use crate::row::lanes;
use converge::mechanism::{Charges, Order};
use simt::{LaneMask, Pc};
use smallvec::SmallVec;

/// Lanes at the beginning of a block, or waiting for other lanes there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) block: u32,
    rejoin: Option<u32>,
    pub(crate) lanes: u32,
    /// The number of split levels that the lanes are in, counted from 1.
    pub(crate) depth: u32,
}

/// The reconvergence stack of a warp.
#[derive(Clone, Debug)]
pub(crate) struct Stack {
    entries: Vec<Entry>,
    order: Order,
    pub(crate) charges: Charges,
}

/// A target of a branch: its block, the block's place, and the lanes that go there.
pub(crate) type Target = (u32, u64, u32);

impl Code {
    /// Returns the targets of lanes that go to the blocks that `to` gives, in order of their
    /// places.
    pub(crate) fn targets(
        &self,
        on: u32,
        to: impl Fn(usize) -> Result<u32, Declined>,
    ) -> Result<SmallVec<[Target; 8]>, Declined> {
        let mut targets: SmallVec<[Target; 8]> = SmallVec::new();
        for lane in lanes(on) {
            let to = to(lane)?;
            let place = self.blocks[to as usize].first;
            match targets.binary_search_by_key(&place, |target| target.1) {
                Ok(i) => targets[i].2 |= 1 << lane,
                Err(i) => targets.insert(i, (to, place, 1 << lane)),
            }
        }
        Ok(targets)
    }
}

impl Entry {
    /// Returns the block at which the lanes wait for others.
    pub(crate) fn rejoin(&self) -> Option<u32> {
        self.rejoin
    }

    pub(crate) fn new(block: u32, rejoin: Option<u32>, lanes: u32, depth: u32) -> Self {
        Self { block, rejoin, lanes, depth }
    }
}

impl Stack {
    pub(crate) fn new(block: u32, lanes: u32, order: Option<Order>) -> Self {
        let charges = Charges { max_depth: 1, ..Charges::default() };
        let entries = vec![Entry { block, rejoin: None, lanes, depth: 1 }];
        Self { entries, order: order.unwrap_or(Order::Taken), charges }
    }

    /// Creates an empty stack without an allocation.
    pub(crate) fn vacant() -> Self {
        Self { entries: Vec::new(), order: Order::Taken, charges: Charges::default() }
    }

    /// Restarts with one entry.
    pub(crate) fn reset(&mut self, block: u32, lanes: u32) {
        self.charges = Charges { max_depth: 1, ..Charges::default() };
        self.entries.clear();
        self.entries.push(Entry { block, rejoin: None, lanes, depth: 1 });
    }

    /// Returns the entry whose lanes run.
    #[inline(always)]
    pub(crate) fn top(&self) -> Option<&Entry> {
        self.entries.last()
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    fn push(&mut self, entry: Entry) {
        self.entries.push(entry);
        self.charges.pushes += 1;
        self.charges.max_depth = self.charges.max_depth.max(self.entries.len() as u64);
    }

    /// Pops entries that are empty or have reached their reconvergence point.
    fn pop_merged(&mut self) {
        loop {
            let height = self.entries.len();
            let Some(top) = self.entries.last() else { return };
            if top.lanes == 0 {
                self.entries.pop();
            } else if top.rejoin == Some(top.block) && height > 1 {
                self.entries.pop();
                self.charges.merges += 1;
            } else {
                return;
            }
            self.charges.pops += 1;
        }
    }

    /// Moves all lanes of the top to a block.
    #[inline(always)]
    pub(crate) fn go(&mut self, block: u32) {
        if let Some(top) = self.entries.last_mut() {
            top.block = block;
            if top.rejoin != Some(block) {
                return;
            }
        }
        self.pop_merged();
    }

    /// Replaces all entries.
    pub(crate) fn replace(&mut self, entries: impl Iterator<Item = Entry>) {
        self.entries.clear();
        self.entries.extend(entries);
    }

    /// Sets the block of the top. Its lanes are inside the block, so none merge.
    pub(crate) fn set_block(&mut self, block: u32) {
        if let Some(top) = self.entries.last_mut() {
            top.block = block;
        }
    }

    /// Splits the lanes of the top at the branch at place `at`. `targets` has at least two
    /// elements, in order of their places.
    pub(crate) fn split(&mut self, at: u64, targets: &[Target], rejoin: Rejoin) {
        let Some(&top) = self.entries.last() else { return };
        let (rejoin, depth) = match rejoin {
            Rejoin::At(r) if top.rejoin != Some(r) => {
                if let Some(top) = self.entries.last_mut() {
                    top.block = r;
                }
                (Some(r), top.depth + 1)
            }
            _ => {
                self.entries.pop();
                (top.rejoin, top.depth)
            }
        };
        self.charges.splits += 1;
        for (block, lanes) in self.last_first(at, targets) {
            if Some(block) != rejoin {
                self.push(Entry { block, rejoin, lanes, depth });
            }
        }
        self.pop_merged();
    }

    /// Returns the blocks and lanes of targets of the instruction at place `at`, the one that runs
    /// first last.
    fn last_first(&self, at: u64, targets: &[Target]) -> Vec<(u32, u32)> {
        let mut sorted: Vec<(Pc, LaneMask<1>)> =
            targets.iter().map(|t| (Pc(t.1), LaneMask::from_bits(t.2.into()))).collect();
        self.order.sort(Pc(at), &mut sorted);
        let block = |pc: Pc| targets.iter().find(|t| t.1 == pc.0).map_or(0, |t| t.0);
        sorted.iter().rev().map(|&(pc, lanes)| (block(pc), lanes.bits() as u32)).collect()
    }

    /// Moves the lanes of the top to a callee; they will wait for each other at `back`, where no
    /// other lanes wait.
    pub(crate) fn call(&mut self, to: u32, back: u32) {
        let Some(top) = self.entries.last_mut() else { return };
        top.block = back;
        let (lanes, depth) = (top.lanes, top.depth);
        self.push(Entry { block: to, rejoin: None, lanes, depth });
    }

    /// Moves the lanes of the top to several callees, which are in order of their places, by the
    /// call at place `at`; they will wait for each other at `back`, where no other lanes wait.
    pub(crate) fn call_each(&mut self, at: u64, targets: &[Target], back: u32) {
        let Some(top) = self.entries.last_mut() else { return };
        top.block = back;
        let depth = top.depth + 1;
        self.charges.splits += 1;
        for (block, lanes) in self.last_first(at, targets) {
            self.push(Entry { block, rejoin: None, lanes, depth });
        }
    }

    /// Returns `lanes` of the top to the entry that waits at `back`; the other lanes of the top go
    /// on to `next`.
    pub(crate) fn return_lanes(&mut self, lanes: u32, next: u32, back: u32) {
        let Some(top) = self.entries.last_mut() else { return };
        let rest = top.lanes & !lanes;
        if rest != 0 {
            top.block = next;
        }
        // The top may still have the block at which its lanes went on, which may be the same.
        let below = &self.entries[..self.entries.len() - 1];
        let caller = below.iter().rposition(|e| e.block == back);
        for entry in &mut self.entries[caller.map_or(0, |c| c + 1)..] {
            entry.lanes &= !lanes;
        }
        self.charges.splits += u64::from(rest != 0);
        self.pop_merged();
    }

    /// Removes lanes whose threads end; the other lanes of the top go on to `next`.
    pub(crate) fn exit(&mut self, lanes: u32, next: u32) {
        let Some(top) = self.entries.last_mut() else { return };
        top.block = next;
        for entry in &mut self.entries {
            entry.lanes &= !lanes;
        }
        let top = self.entries.len() - 1;
        let mut index = 0;
        self.entries.retain(|e| {
            index += 1;
            e.lanes != 0 || index > top
        });
        self.pop_merged();
    }
}
