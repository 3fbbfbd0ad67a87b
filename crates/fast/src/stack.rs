//! The stack of `converge`'s mechanism `ipdom`, by blocks instead of places.
//!
//! Lanes rejoin at first instructions of blocks alone, so only ends of blocks are events here. Rules and charges are those of
//! `converge::ipdom`, entry by entry; a test runs both side by side.

use crate::code::Rejoin;
use converge::mechanism::{Charges, Order};
use simt::{LaneMask, Pc};

/// Lanes that stand at the beginning of a block, or wait for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) block: u32,
    rejoin: Option<u32>,
    pub(crate) lanes: u32,
    /// Split levels above it, itself counted.
    pub(crate) depth: u32,
}

/// The stack of a warp.
#[derive(Clone, Debug)]
pub(crate) struct Stack {
    entries: Vec<Entry>,
    order: Order,
    pub(crate) charges: Charges,
}

/// A target of a branch: its block, the place where that begins, lanes.
pub(crate) type Target = (u32, u64, u32);

impl Entry {
    /// The block at which its lanes wait for others.
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

    /// No lanes anywhere: takes no memory.
    pub(crate) fn vacant() -> Self {
        Self { entries: Vec::new(), order: Order::Taken, charges: Charges::default() }
    }

    /// Lanes at the beginning again.
    pub(crate) fn reset(&mut self, block: u32, lanes: u32) {
        self.charges = Charges { max_depth: 1, ..Charges::default() };
        self.entries.clear();
        self.entries.push(Entry { block, rejoin: None, lanes, depth: 1 });
    }

    /// The entry that runs.
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
        self.charges.max_depth = self.charges.max_depth.max(self.entries.len() as u32);
    }

    /// Takes entries off that are empty or have reached their rejoin block.
    fn settle(&mut self) {
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

    /// All lanes of the top go to a block.
    #[inline(always)]
    pub(crate) fn go(&mut self, block: u32) {
        if let Some(top) = self.entries.last_mut() {
            top.block = block;
            if top.rejoin != Some(block) {
                return;
            }
        }
        self.settle();
    }

    /// Has other entries now.
    pub(crate) fn replace(&mut self, entries: impl Iterator<Item = Entry>) {
        self.entries.clear();
        self.entries.extend(entries);
    }

    /// The lanes of the top stand somewhere in a block, at whose beginning none of them waited.
    pub(crate) fn stand(&mut self, block: u32) {
        if let Some(top) = self.entries.last_mut() {
            top.block = block;
        }
    }

    /// Lanes of the top part at the branch at place `at`. There are two targets or more, in order of their places.
    pub(crate) fn part(&mut self, at: u64, targets: &[Target], rejoin: Rejoin) {
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
        let mut sorted: Vec<(Pc, LaneMask<1>)> =
            targets.iter().map(|t| (Pc(t.1), LaneMask::from_bits(t.2.into()))).collect();
        self.order.sort(Pc(at), &mut sorted);
        for (pc, lanes) in sorted.iter().rev() {
            let block = targets.iter().find(|t| t.1 == pc.0).map_or(0, |t| t.0);
            if Some(block) != rejoin {
                self.push(Entry { block, rejoin, lanes: lanes.bits() as u32, depth });
            }
        }
        self.settle();
    }

    /// The lanes of the top are called, and wait for each other at a block at which nobody else does.
    pub(crate) fn call(&mut self, to: u32, back: u32) {
        let Some(top) = self.entries.last_mut() else { return };
        top.block = back;
        let (lanes, depth) = (top.lanes, top.depth);
        self.push(Entry { block: to, rejoin: None, lanes, depth });
    }

    /// Lanes of the top return to where the others wait that they were called with; the others of the top go on to a block.
    pub(crate) fn come_back(&mut self, lanes: u32, next: u32, back: u32) {
        let Some(top) = self.entries.last_mut() else { return };
        let rest = top.lanes & !lanes;
        if rest != 0 {
            top.block = next;
        }
        let caller = self.entries.iter().rposition(|e| e.block == back);
        for entry in &mut self.entries[caller.map_or(0, |c| c + 1)..] {
            entry.lanes &= !lanes;
        }
        self.charges.splits += u64::from(rest != 0);
        self.settle();
    }

    /// Lanes end; the others of the top go on to a block.
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
        self.settle();
    }
}
